"""Compiled kernels of the view algebra, found or compiled on first use.

    >>> import numpy as np
    >>> from poplite.jit.kernels.intervals import repeat_pattern
    >>> pattern, base, out = np.array([0, 1]), np.array([10, 20]), np.empty(4, np.int64)
    >>> native(repeat_pattern)(address(pattern), 2, address(base), 2, address(out), 4)
    4
    >>> out.tolist()
    [10, 11, 20, 21]

A call through ctypes costs about a microsecond and releases the interpreter lock.  For a few runs
views therefore use no kernels, and never load or compile any.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from poplite.jit import digest
from poplite.jit.build import built
from poplite.jit.job import Job

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Argument: TypeAlias = int | npt.NDArray[Any]


@cache
def native(function: Callable[..., int]) -> Callable[..., int]:
    """Return the compiled form of a kernel from `poplite.jit.kernels`.

    It takes the address of an array for each pointer, and an int for each `int`, as the kernel's
    annotations say.
    """
    kinds = [kind for name, kind in function.__annotations__.items() if name != "return"]
    arguments = [ctypes.c_int64 if kind == "int" else ctypes.c_void_p for kind in kinds]
    return ctypes.CFUNCTYPE(ctypes.c_int64, *arguments)(address_of(function))


@cache
def address_of(function: Callable[..., int]) -> int:
    """Return the address of the compiled form of a kernel."""
    job = kernel_job(function.__module__, function.__name__)
    return built(job.name, lambda: job).address


class BoundKernel:
    """A kernel with its first arguments; it is compiled when it is first called.

    Attributes:
        kernel: from `poplite.jit.kernels`.
        arguments: numbers and contiguous arrays, which it keeps alive.
    """

    __slots__ = ("_native", "_places", "arguments", "kernel")

    def __init__(self, kernel: Callable[..., int], *arguments: Argument) -> None:
        self.kernel, self.arguments = kernel, arguments
        self._native: Callable[..., int] | None = None
        self._places: tuple[int, ...] = ()

    def places(self) -> tuple[int, ...]:
        """Return its arguments as compiled code takes them."""
        return _places(self.arguments)

    def __call__(self, *others: Argument) -> int:
        """Call it with its last arguments."""
        if self._native is None:
            self._places, self._native = self.places(), native(self.kernel)
        return self._native(*self._places, *_places(others))


def _places(arguments: tuple[Argument, ...]) -> tuple[int, ...]:
    """Return numbers as they are, arrays as their addresses."""
    return tuple([each if isinstance(each, int) else address(each) for each in arguments])


def kernel_job(module: str, name: str) -> Job:
    """Return the job that compiles a kernel."""
    maker = "poplite.jit.kernel_code:kernel_object"
    return Job(digest([__name__, module], "kernel", name), maker, (module, name))


def address(array: npt.NDArray[np.generic]) -> int:
    """Return the address of a contiguous array's elements; the caller keeps the array alive."""
    place: int = array.__array_interface__["data"][0]
    return place
