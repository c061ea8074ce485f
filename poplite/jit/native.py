"""Compiled kernels of the view algebra, found or compiled on first use.

    >>> import numpy as np
    >>> from poplite.jit.kernels.progressions import repeat_pattern
    >>> pattern, base, out = np.array([0, 1]), np.array([10, 20]), np.empty(4, np.int64)
    >>> native(repeat_pattern)(address(pattern), 2, address(base), 2, address(out), 4)
    4
    >>> out.tolist()
    [10, 11, 20, 21]

A call through ctypes costs about a microsecond and releases the interpreter lock.  Answers of a
few runs are therefore found without kernels, and never load or compile any.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from poplite.jit import digest
from poplite.jit.build import built
from poplite.jit.job import Job

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_ELEMENTS = {"Int64s": "int64", "Int32s": "int32", "Bytes": "uint8"}


@cache
def native(
    function: Callable[..., int], source: str = f"{__name__}:kernel_source"
) -> Callable[..., int]:
    """Return the compiled form of a kernel.

    Args:
        function: from `poplite.jit.kernels`; its annotations say which arguments are pointers.
        source: module and name of what `kernel_source` is, where more must be registered first.

    Returns:
        Takes the address of an array for each pointer, and an int for each `int`.
    """
    kinds = [kind for name, kind in function.__annotations__.items() if name != "return"]
    arguments = [ctypes.c_int64 if kind == "int" else ctypes.c_void_p for kind in kinds]
    job = job_of(function, source)
    place = built(job.name, lambda: job).address
    return ctypes.CFUNCTYPE(ctypes.c_int64, *arguments)(place)


def job_of(function: Callable[..., int], source: str) -> Job:
    """Return how a kernel is compiled.

    Args:
        function: from `poplite.jit.kernels`.
        source: see `native`.
    """
    module, name = function.__module__, function.__qualname__
    return Job(
        digest([__name__, source.partition(":")[0], module], "kernel", name),
        "poplite.jit.numba_context:function_object",
        (source, module, name),
    )


def kernel_source(module: str, name: str) -> tuple[Callable[..., Any], Sequence[Any], Any]:
    """Return a kernel, the Numba types of its arguments and that of its result.

    Args:
        module: where it is.
        name: of the kernel.
    """
    from numba.core import types

    def numba_type(kind: str) -> Any:
        return types.int64 if kind == "int" else types.CPointer(getattr(types, _ELEMENTS[kind]))

    function = getattr(import_module(module), name)
    kinds = [kind for name, kind in function.__annotations__.items() if name != "return"]
    return function, [numba_type(kind) for kind in kinds], types.int64


def address(array: npt.NDArray[np.generic]) -> int:
    """Return where the elements of a contiguous array are; the caller keeps the array alive."""
    place: int = array.__array_interface__["data"][0]
    return place
