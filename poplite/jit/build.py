"""From a Python function to the address of its native code."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from poplite.jit import object_cache

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_loaded: dict[str, tuple[int, Mapping[str, Any]]] = {}
_lock = threading.RLock()


def build(
    name: str,
    source: Callable[[], tuple[Callable[..., Any], Sequence[Any], Any]],
    announce: Callable[[], None] | None = None,
) -> int:
    """Return the address of compiled code, compiling it only when it is nowhere.

    Args:
        name: `digest` of everything the code depends on.
        source: called only to compile; returns the function, its Numba argument types and
            its Numba result type.
        announce: called first when it must be compiled.

    Returns:
        Address of a C function; valid while the process lives.
    """

    def make(exported: str) -> tuple[bytes, list[str], dict[str, Any]]:
        from poplite.jit.numba_context import compile_object

        return *compile_object(exported, *source()), {}

    return build_object(name, make, announce)[0]


def build_object(
    name: str,
    make: Callable[[str], tuple[bytes, list[str], Mapping[str, Any]]],
    announce: Callable[[], None] | None = None,
) -> tuple[int, Mapping[str, Any]]:
    """Return the address of native code and what is known of it, made only when it is nowhere.

    Args:
        name: `digest` of everything the code depends on.
        make: called only to make it, with the name of the C function to export; returns an object
            file, the symbols that it takes from the process, and what is to be kept with it:
            values that JSON has.
        announce: called first when it must be made.
    """
    with _lock:
        if name not in _loaded:
            content = object_cache.find(name)
            if content is None:
                if announce is not None:
                    announce()
                exported = f"poplite_{name}"
                code, needed, about = make(exported)
                content = object_cache.pack(code, exported, needed, about)
                object_cache.store(name, content)
            _loaded[name] = object_cache.load(content), object_cache.about(content)
        return _loaded[name]


def kept_text(name: str, make: Callable[[], str]) -> str:
    """Return code as text, made only when no file keeps it.

    Args:
        name: `digest` of everything that the code depends on.
        make: called only to make it.
    """
    with _lock:
        content = object_cache.find(name)
        if content is None:
            content = object_cache.pack(make().encode(), "", [])
            object_cache.store(name, content)
        return object_cache.code(content).decode()
