"""Compiled kernels of the view algebra, found or compiled on first use.

    >>> import numpy as np
    >>> from poplite.jit.kernels.progressions import repeat_pattern
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
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from poplite.jit import digest
from poplite.jit.build import Builds, built, is_kept
from poplite.jit.job import Job

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


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
    place = built(job.name, lambda: job).address
    _kept.add(function)
    return place


_kept: set[Callable[..., int]] = set()
"""Kernels that are known to be compiled: loaded, or in the cache."""


def are_kept(kernels: Sequence[Callable[..., int]]) -> bool:
    """Return whether the compiled forms of kernels are loaded, or in the cache."""
    others = [each for each in kernels if each not in _kept]
    if not all(is_kept(kernel_job(each.__module__, each.__name__).name) for each in others):
        return False
    _kept.update(others)
    return True


def compile_all(kernels: Sequence[Callable[..., int]]) -> None:
    """Compile the kernels that are not there already, side by side."""
    with Builds() as builds:
        for kernel in kernels:
            if kernel in _kept:
                continue
            builds.add_job(kernel_job(kernel.__module__, kernel.__name__))
        builds.finish()


def kernel_job(module: str, name: str) -> Job:
    """Return the job that compiles a kernel."""
    maker = "poplite.jit.kernel_code:kernel_object"
    return Job(digest([__name__, module], "kernel", name), maker, (module, name))


def address(array: npt.NDArray[np.generic]) -> int:
    """Return the address of a contiguous array's elements; the caller keeps the array alive."""
    place: int = array.__array_interface__["data"][0]
    return place
