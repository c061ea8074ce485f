"""The language of kernels, loops over runs or elements that `poplite.jit.build` compiles.

A kernel is a function of pointers and integers. It reads and writes `p[i]`, allocates nothing
and returns a number; the caller allocates its outputs. Its annotations are its types, as strings
(`from __future__ import annotations`), with pointers and integers in any order::

    def fill(out: Int64s, count: int, value: int) -> int:
        for i in range(count):
            out[i] = value
        return count

The same function also runs uncompiled, on NumPy arrays. Functions that kernels call are
inlined, and must also be in this package: the cache of compiled code depends on its sources.

Arrays of a kernel have one element for each of `count` items unless its docstring says otherwise.
"""

from collections.abc import Callable, MutableSequence
from typing import Any, TypeAlias, TypeVar

Int64s: TypeAlias = MutableSequence[int]
"""Pointer to int64."""

Int32s: TypeAlias = MutableSequence[int]
"""Pointer to int32."""

Bytes: TypeAlias = MutableSequence[int]
"""Pointer to uint8."""

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

simple_kernels: set[Callable[..., Any]] = set()


def simple(function: Kernel) -> Kernel:
    """Mark a kernel for less optimization, since its loops do not vectorize.

    It compiles in a third of the time, and is about as fast.
    """
    simple_kernels.add(function)
    return function
