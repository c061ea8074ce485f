"""Addresses of the compiled parts of the engine, which are loaded or compiled on first use.

This module connects the engine to `poplite.jit`: it names the code (so that the cache can find it)
and knows which module to import if it must be compiled. Numba is imported only then.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property, partial

from poplite.errors import VertexCompileError
from poplite.executable.encoding import Columns
from poplite.jit import digest, object_cache
from poplite.jit.build import Builds, Job, built, kernel_job
from poplite.simulator.codegen.compute_code import Variant
from poplite.simulator.running import announcer
from poplite.source import SourceLocation
from poplite.vertex.compute.meaning import FasterForm, meaning_of
from poplite.vertex.vertex import Vertex

DRIVER = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 4, ctypes.c_void_p)
"""A driver as a Python function of arena, rows, low, high, first, last, faults."""


# -- drivers ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Driver:
    """A driver of a class, for rows with the given columns, in one variant.

    Attributes:
        form: the faster form that it runs instead of `compute`, if any.
    """

    cls: type[Vertex]
    columns: Columns
    variant: Variant
    form: FasterForm | None = None

    @property
    def vertex(self) -> type[Vertex]:
        """The class whose `compute` it runs."""
        return self.cls if self.form is None else self.form.vertex

    def job(self) -> Job:
        """Return the job that compiles it; its class is typed and lowered only now."""
        name = self.name
        if self.variant.counting is not None:
            from poplite.simulator.pricing.counting_driver import counting_driver_job

            return counting_driver_job(name, self.cls, self.columns, self.variant.counting)
        from poplite.simulator.codegen.driver import driver_job

        return driver_job(name, self.vertex, self.columns, self.variant)

    @cached_property
    def name(self) -> str:
        """The name of its code; a faster form is compiled again if `compute` changes."""
        identity = [meaning_of(cls).identity for cls in dict.fromkeys((self.cls, self.vertex))]
        return digest([__name__], "driver", identity, self.columns, self.variant)

    def address(self) -> int:
        """Return its address; compile it if it is not cached.

        Raises `VertexCompileError` if `compute` cannot be compiled.
        """
        with compile_errors(self.vertex):
            return built(self.name, self.job).address

    def add_to(self, builds: Builds) -> None:
        """Add it to the code being compiled.

        Raises `VertexCompileError` if `compute` cannot be compiled.
        """
        with compile_errors(self.vertex):
            builds.add(self.name, self.job)


@contextmanager
def compile_errors(cls: type[Vertex]) -> Iterator[None]:
    """Convert the compiler's errors about a class to `VertexCompileError`."""
    try:
        yield
    except Exception as error:
        # Recognized by their module, since importing Numba's error classes would import Numba.
        if type(error).__module__.startswith("numba."):
            raise _compile_error(cls, error) from error
        raise


def _compile_error(cls: type[Vertex], error: Exception) -> VertexCompileError:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    cause = next((line for line in lines if not line.startswith("Failed in")), "no reason given")
    place = getattr(error, "loc", None)
    at = SourceLocation(place.filename, place.line, "compute") if place else cls.location
    return VertexCompileError(
        f"{cls.__name__}.{cls.compute.__name__} cannot be compiled: {cause}",
        at=at,
        found="the compiler's whole message is the __cause__ of this error",
        fix="see docs/vertices.md for the features that compute can use",
    )


# -- parts shared by programs ----------------------------------------------------------------------

_OWN = {
    **dict.fromkeys(("interpret", "look", "enter"), "poplite.simulator.codegen.interpreter"),
    **dict.fromkeys(
        ("run_shares", "move", "move_past_caches", "sum_slots"),
        "poplite.simulator.codegen.launcher",
    ),
}
"""The engine's kernels, with the module of each."""


def _announced(job: Job) -> Job:
    if (announcing := announcer()) is not None:
        is_kept = object_cache.write_fault() is None
        announcing.tell("poplite's own kernels" + (", once on this machine" if is_kept else ""))
    return job


@cache
def own(kernel: str) -> int:
    """Return the address of a kernel of the engine."""
    job = kernel_job(_OWN[kernel], kernel)
    return built(job.name, lambda: _announced(job)).address


def own_jobs(*, moves: bool, counts: bool) -> list[Job]:
    """Return the jobs for the parts that a program needs, the slowest first."""
    needed = ["interpret", "enter"]
    needed += ["sum_slots"] if counts else []
    needed += ["move"] if moves else []
    return [kernel_job(_OWN[kernel], kernel) for kernel in needed]


def add_own(builds: Builds, *, moves: bool, counts: bool) -> None:
    """Add the parts that a program needs to the code being compiled."""
    for job in own_jobs(moves=moves, counts=counts):
        builds.add(job.name, partial(_announced, job))


def mover(streamed: bool) -> int:
    """Return the address of the driver that moves bytes, optionally past the caches."""
    return own("move_past_caches" if streamed else "move")


@cache
def interpreter() -> Callable[..., int]:
    """Return the compiled interpreter; it releases the GIL while it runs."""
    arguments = [ctypes.c_void_p] * 7
    return ctypes.CFUNCTYPE(ctypes.c_int64, *arguments)(own("interpret"))


@cache
def enter() -> Callable[[int], int]:
    """Return the function that runs the interpreter, given the address of its words.

    It releases the GIL, like the interpreter itself.
    """
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(own("enter"))
