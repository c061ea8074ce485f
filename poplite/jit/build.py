"""From the description of code to the address of its native form."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import TYPE_CHECKING, Self

from poplite.jit import object_cache
from poplite.jit.garbage import no_collection
from poplite.jit.job import Job

if TYPE_CHECKING:
    from collections.abc import Callable

    from poplite.jit.side_by_side import SideBySide

_lock = threading.RLock()


class Native:
    """Native code that is in the cache, loaded when its address is needed.

    Attributes:
        about: facts that were kept with it, in values that JSON has.
    """

    def __init__(self, content: bytes) -> None:
        self._content, self.about = content, object_cache.about(content)

    @cached_property
    def address(self) -> int:
        """Address of the C function; valid while the process lives."""
        with _lock:
            place = object_cache.load(self._content)
            self._content = b""  # LLVM has its own
        return place


_known: dict[str, Native] = {}


def built(name: str, job: Callable[[], Job]) -> Native:
    """Return native code by the name of its job; `job` is called only if the code must be made."""
    with _lock:
        if not _is_found(name):
            with no_collection():
                _keep(name, job().content())
        return _known[name]


class Builds:
    """Native code of many jobs, made side by side.

    with Builds() as builds:
        builds.add(name, job)   made while more are added
        builds.finish()         all are there: `built` finds them
    """

    def __init__(self) -> None:
        self._pool: SideBySide | None = None
        self._contents: dict[str, Callable[[], bytes]] = {}

    def add(self, name: str, job: Callable[[], Job]) -> None:
        """Have code made unless it is there already; `job` is called only to make it."""
        if name in self._contents or _is_found(name):
            return
        if self._pool is None:
            from poplite.jit.side_by_side import SideBySide  # engines start sooner without it

            self._pool = SideBySide()
        with no_collection():
            self._contents[name] = self._pool.add(job())

    def finish(self) -> None:
        """Wait until all code that was added is there."""
        for name, content in self._contents.items():
            _keep(name, content())
        self._contents.clear()

    def __enter__(self) -> Self:
        _lock.acquire()
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.end()
        _lock.release()


def is_kept(name: str) -> bool:
    """Return whether there is a file of code or text of this name, or the code is loaded."""
    return name in _known or object_cache.has(name)


def kept_text(name: str, make: Callable[[], str]) -> str:
    """Return code as text; `make` is called only when no file of this name keeps it.

    `name` is the `digest` of everything on which the code depends.
    """
    with _lock:
        content = object_cache.find(name)
        if content is None:
            content = object_cache.pack(make().encode(), "", [])
            object_cache.store(name, content)
        return object_cache.code(content).decode()


def _is_found(name: str) -> bool:
    """Return whether code is known; if a file has it, it is loaded from now on."""
    if name not in _known:
        content = object_cache.find(name)
        if content is None:
            return False
        _known[name] = Native(content)
    return True


def _keep(name: str, content: bytes) -> None:
    _known[name] = Native(content)
    object_cache.store(name, content)  # where a user turned warnings into errors, this raises
