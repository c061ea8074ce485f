"""Addresses of the compiled parts of the engine, found or compiled on first use.

This is the engine's side of `poplite.jit`: it names the code (so that the cache can find it)
and knows which module to import when it must be compiled.  Numba is imported only then, and
by `thread_entry_points`.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.compile.descriptor import Forms
from poplite.errors import VertexCompileError
from poplite.jit import build, digest
from poplite.simulator.identity import code_identity
from poplite.source import SourceLocation
from poplite.vertex import Vertex

_Source = tuple[Callable[..., Any], Sequence[Any], Any]


def driver(cls: type[Vertex], forms: Forms, checked: bool) -> int:
    """Return the address of a vertex class's driver."""

    def source() -> _Source:
        from poplite.simulator.driver import driver_source

        return driver_source(cls, forms, checked)

    name = digest("driver", code_identity(cls), forms, checked)
    try:
        return build(name, source)
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
def mover() -> int:
    """Return the address of the driver that moves bytes."""

    def source() -> _Source:
        from poplite.simulator.copies import move_source

        return move_source()

    return build(digest("mover"), source)


@cache
def chunk_kernel() -> int:
    """Return the address of the function that one thread runs on its chunks."""

    def source() -> _Source:
        from poplite.simulator.interpreter import run_chunks_source

        return run_chunks_source()

    return build(digest("chunk kernel"), source)


@cache
def interpreter() -> Callable[..., int]:
    """Return the compiled interpreter; it releases the GIL while it runs."""

    def source() -> _Source:
        from poplite.simulator.interpreter import interpret_source

        return interpret_source()

    arguments = [ctypes.c_void_p] * 6 + [ctypes.c_int64] * 2
    return ctypes.CFUNCTYPE(ctypes.c_int64, *arguments)(build(digest("interpreter"), source))


@cache
def thread_entry_points() -> npt.NDArray[np.int64]:
    """Start Numba's threading layer and return its entry points.

    Returns:
        int64[2]: addresses of `parallel_for` and `get_num_threads`.
    """
    # GNU OpenMP spins for milliseconds between launches unless told otherwise, which costs
    # whole scheduler slices when another process wants the core.  Read when it loads.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    import llvmlite.binding as llvm
    from numba.np.ufunc import parallel

    parallel._launch_threads()
    names = ("numba_parallel_for", "get_num_threads")
    return np.array([llvm.address_of_symbol(name) for name in names], np.int64)
