"""From a Python function to the address of its native code."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from poplite.jit import objects

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_loaded: dict[str, int] = {}
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
    with _lock:
        if name not in _loaded:
            content = objects.find(name)
            if content is None:
                if announce is not None:
                    announce()
                from poplite.jit.context import compile_object

                exported = f"poplite_{name}"
                code, needed = compile_object(exported, *source())
                content = objects.pack(code, exported, needed)
                objects.store(name, content)
            _loaded[name] = objects.load(content)
        return _loaded[name]
