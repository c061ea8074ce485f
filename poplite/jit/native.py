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
from typing import TYPE_CHECKING, Any

from poplite.jit import build, digest

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_ELEMENTS = {"Int64s": "int64", "Int32s": "int32", "Bytes": "uint8"}


@cache
def native(
    function: Callable[..., int], maker: str = __name__, prepare: Callable[[], None] | None = None
) -> Callable[..., int]:
    """Return the compiled form of a kernel.

    Args:
        function: from `poplite.jit.kernels`; its annotations say which arguments are pointers.
        maker: name of a module that the code depends on too, with all that it imports.
        prepare: called first when it must be compiled.

    Returns:
        Takes the address of an array for each pointer, and an int for each `int`.
    """
    kinds = [kind for name, kind in function.__annotations__.items() if name != "return"]

    def source() -> tuple[Callable[..., Any], Sequence[Any], Any]:
        from numba.core import types

        if prepare is not None:
            prepare()

        def numba_type(kind: str) -> Any:
            return types.int64 if kind == "int" else types.CPointer(getattr(types, _ELEMENTS[kind]))

        return function, [numba_type(kind) for kind in kinds], types.int64

    arguments = [ctypes.c_int64 if kind == "int" else ctypes.c_void_p for kind in kinds]
    name = digest([__name__, maker, function.__module__], "kernel", function.__qualname__)
    place = build(name, source)
    return ctypes.CFUNCTYPE(ctypes.c_int64, *arguments)(place)


def address(array: npt.NDArray[np.generic]) -> int:
    """Return where the elements of a contiguous array are; the caller keeps the array alive."""
    place: int = array.__array_interface__["data"][0]
    return place
