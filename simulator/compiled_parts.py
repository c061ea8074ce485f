"""Addresses of the compiled parts of the engine, found or compiled on first use.

This is the engine's side of `poplite.jit`: it names the code (so that the cache can find it)
and knows which module to import when it must be compiled.  Numba is imported only then.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from poplite.errors import VertexCompileError
from poplite.executable.descriptor import Columns
from poplite.jit import build, digest
from poplite.jit.build import build_object
from poplite.simulator.codegen.variant import Variant
from poplite.source import SourceLocation
from poplite.vertex.compute import code_identity
from poplite.vertex.vertex import Vertex

_Source = tuple[Callable[..., Any], Sequence[Any], Any]

DRIVER = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 4, ctypes.c_void_p)
"""A driver as Python calls it: arena, rows, low, high, first, last, faults."""

_told: ContextVar[Callable[[str], None]] = ContextVar("told", default=lambda what: None)


@contextmanager
def announcing(told: Callable[[str], None]) -> Iterator[None]:
    """Tell what must be compiled, before it is.

    Args:
        told: takes what is compiled.
    """
    token = _told.set(told)
    try:
        yield
    finally:
        _told.reset(token)


def _built(what: str, name: str, source: Callable[[], _Source]) -> int:
    return build(name, source, lambda: _told.get()(what))


def driver(cls: type[Vertex], columns: Columns, variant: Variant, place: str = "") -> int:
    """Return the address of a vertex class's driver.

    Args:
        cls: the vertex class.
        columns: what the words of a descriptor row mean.
        variant: what the driver does.
        place: which of the drivers of an engine it is, for the announcement.
    """

    def make(exported: str) -> tuple[bytes, list[str], Mapping[str, Any]]:
        if variant.counting is not None:
            from poplite.simulator.counting.driver import compile_counting_driver

            return compile_counting_driver(cls, columns, variant.counting, exported)
        from poplite.simulator.codegen.driver import compile_driver

        return compile_driver(cls, columns, variant, exported)

    name = digest([__name__], "driver", code_identity(cls), columns, variant)
    try:
        return build_object(name, make, lambda: _told.get()(f"vertex {place}: {cls.__name__}"))[0]
    except Exception as error:
        # Named by module, as importing Numba's error classes would import Numba.
        if type(error).__module__.startswith("numba."):
            raise _compile_error(cls, error) from error
        raise


def _compile_error(cls: type[Vertex], error: Exception) -> VertexCompileError:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    cause = next((line for line in lines if not line.startswith("Failed in")), "no reason given")
    place = getattr(error, "loc", None)
    at = SourceLocation(place.filename, place.line, "compute") if place else cls.location
    return VertexCompileError(
        f"{cls.__name__}.compute cannot be compiled: {cause}",
        at=at,
        found="the compiler's whole message is this error's __cause__",
        fix="docs/vertices.md lists what compute may use",
    )


@cache
def mover(streamed: bool) -> int:
    """Return the address of the driver that moves bytes.

    Args:
        streamed: whether large blocks are written past the caches.
    """

    def source() -> _Source:
        from poplite.simulator.codegen.mover import move_source

        return move_source(streamed)

    return _built("the mover of copies", digest([__name__], "mover", streamed), source)


@cache
def slot_summer() -> int:
    """Return the address of the driver that writes down what a compute set took."""

    def source() -> _Source:
        from poplite.simulator.counting.slot_sums import sum_slots_source

        return sum_slots_source()

    return _built("the tally of compute sets", digest([__name__], "slot sums"), source)


@cache
def move() -> Callable[[int, int, int], None]:
    """Return what moves bytes: takes the addresses of arena and records, and their number."""
    call = DRIVER(mover(False))
    return lambda arena, records, number: call(arena, records, 0, number, 0, 0, 0)


@cache
def thread_kernel() -> int:
    """Return the address of the function that one thread runs on its chunks."""

    def source() -> _Source:
        from poplite.simulator.codegen.launcher import run_shares_source

        return run_shares_source()

    return _built("the kernel of threads", digest([__name__], "thread kernel"), source)


@cache
def interpreter() -> Callable[..., int]:
    """Return the compiled interpreter; it releases the GIL while it runs."""
    arguments = [ctypes.c_void_p] * 7
    return ctypes.CFUNCTYPE(ctypes.c_int64, *arguments)(interpreter_address())


@cache
def interpreter_address() -> int:
    """Return the address of the compiled interpreter."""

    def source() -> _Source:
        from poplite.simulator.codegen.interpreter import interpret_source

        return interpret_source()

    return _built("the interpreter", digest([__name__], "interpreter"), source)


@cache
def enter() -> Callable[[int], int]:
    """Return what runs the interpreter with the arguments and the address that lie at an address.

    It releases the GIL, as the interpreter does by itself.
    """

    def source() -> _Source:
        from poplite.simulator.codegen.interpreter import enter_source

        return enter_source()

    place = _built("the entry of the interpreter", digest([__name__], "enter"), source)
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(place)
