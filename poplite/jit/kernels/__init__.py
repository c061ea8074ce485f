"""Loops over runs or elements, written to be compiled by `poplite.jit.native`.

A kernel is a function over pointers and integers.  It reads and writes `p[i]`, allocates
nothing and returns a number; the caller makes what it writes to.  Its annotations are its
types, as strings (`from __future__ import annotations`), pointers and integers in any order::

    def fill(out: Int64s, count: int, value: int) -> int:
        for i in range(count):
            out[i] = value
        return count

The same function also runs uncompiled, on NumPy arrays.  Functions that kernels call are
inlined, and must be in this package too: the cache of compiled code depends on its sources.

Arrays of a kernel hold one number for each of `count` items unless its text says otherwise.
"""

from collections.abc import MutableSequence
from typing import TypeAlias

Int64s: TypeAlias = MutableSequence[int]
"""Pointer to int64."""

Int32s: TypeAlias = MutableSequence[int]
"""Pointer to int32."""

Bytes: TypeAlias = MutableSequence[int]
"""Pointer to uint8."""
