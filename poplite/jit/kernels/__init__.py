"""Loops that visit runs or elements, written to be compiled by `poplite.jit.native`.

A kernel is a plain function over pointers and integers.  It reads and writes `p[i]`, allocates
nothing and returns a number; what it writes to is made by the caller.  Its annotations are its
types, as strings (`from __future__ import annotations`), pointers and integers in any order::

    def fill(out: Int64s, count: int, value: int) -> int:
        for i in range(count):
            out[i] = value
        return count

The same function also runs uncompiled, on NumPy arrays.  Functions that kernels call are
inlined, and must live in this package too: the cache of compiled code knows its sources.
`min` and `max` are not among them.
"""

from collections.abc import MutableSequence
from typing import TypeAlias

Int64s: TypeAlias = MutableSequence[int]
"""Pointer to int64."""

Int32s: TypeAlias = MutableSequence[int]
"""Pointer to int32."""

Bytes: TypeAlias = MutableSequence[int]
"""Pointer to uint8."""
