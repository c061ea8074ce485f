"""All elements that the vertices of a compute set touch, as one table that kernels go through.

It is made once, with the addresses of all that the kernels work on::

    Pass.x     elements 0 ... 7      holes     1 1 0 0 0 0 0 0      nothing has written two of them
    Pass.y     elements 8 ... 15     old       their values before the vertices run
                                     result    their values afterwards
                                     others    their values after runs with other values

A compute set runs as memory is, then again with other values in their place.  The results say
about each element that vertices may write::

    first run   again   and again
    7           7       7             written: the result is the same
    0           -24001  24000         still unwritten: it holds what stood there before
    0           -24001  24000         or what stood at another such element: that was passed on
    3           -23998  24003         the result depends on what nothing has written
    1           0       1             and so does `n < 1`

The values of the two runs differ in sign, size and parity; those of integers have all bits between
them, and are not both multiples of anything.  An infinite value is lost in no sum.  There are
sixteen variants, so that comparing two such elements shows as well::

    integer     -24001 and 24000,  24052 and -24053,  -24105 and 24104 ...
    unsigned    1 and 32766,  32764 and 3,  5 and 32762 ...
    float       -inf and 24577,  24609 and -inf,  -inf and 24641 ...

They are no larger, as loops may count with them; for nested loops about a hundred iterations of
each are enough.  Where data decide how often a loop runs, floats are finite; where a `while` may
wait for one certain number, as in `while n != 0`, no value is negative.  An element that holds the
value by chance gets another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.jit.build import BoundKernel
from poplite.jit.kernels import written as kernels
from poplite.jit.kernels.written import VARIANTS
from poplite.simulator.run.arena import Arena
from poplite.simulator.run.touched import FieldElements
from poplite.simulator.strict.shadow import Shadow
from poplite.types import QUARTER, ElementType
from poplite.vertex.compute import NO_LOOPS, Loops, flow_of, loops_of

# -- values in place of unwritten elements ---------------------------------------------------------


Values = npt.NDArray[np.int64]
"""The bits of elements of any size."""

Numbers = npt.NDArray[Any]

Mask = npt.NDArray[np.bool_]

FIRST, SECOND, OUTPUT = range(3)
"""Which values: for the first and the second run again, and for Outputs in any state."""

FILLS = FIRST, SECOND
"""The values for elements that nothing has written."""

TAKEN, PUT = range(2)
"""Whether kernels read elements of the memory, or write them."""

_OUTPUTS = {"f": (-3.25, -5.25), "i": (4, 5)}

_TRUTHS = (True, False), (True, False)
_FALSE = (True, False), (False, False)
"""A truth value, and the one for an element that holds it already.  In half of the variants the
second run holds False only, so that comparing two elements shows."""


def _table(low: Sequence[Any], high: Sequence[Any]) -> Numbers:
    """Return [low or high, variant, a value or another one]."""
    columns = [np.broadcast_to(each, VARIANTS) for each in (*low, *high)]
    return np.array(columns).reshape(2, 2, VARIANTS).swapaxes(1, 2)


# From variant to variant low values fall and high ones rise, or the reverse, so that each of two
# elements is the larger one in one of the runs.
_NTH = np.arange(VARIANTS)
_WIDE, _SHORT = 24001 + 52 * _NTH, 91 + 2 * _NTH
_SIGNED = _table((-_WIDE, 2 - _WIDE), (_WIDE - 1, _WIDE - 3))
_SHORT_SIGNED = _table((-_SHORT, 2 - _SHORT), (_SHORT - 1, _SHORT - 3))

# Odd numbers without a factor of 2^15 - 1, so that the low and the high value share none.
_ODD, _OTHER = np.array([n for n in range(1, 76, 2) if n % 7 and n % 31]).reshape(2, VARIANTS)
_UNSIGNED = _table((_ODD, _OTHER), (32767 - _ODD, 32767 - _OTHER))
_SHORT_UNSIGNED = _table((_ODD, _OTHER), (127 - _ODD, 127 - _OTHER))
_QUARTERS = _table((128 + _ODD, 128 + _OTHER), (127 - _ODD, 127 - _OTHER))  # codes; 128 is the sign

# Odd numbers; a HALF rounds them to even ones, which still differ.
_LARGE = 24577 + 32 * _NTH
_INFINITE = _table((-np.inf, -32768), (_LARGE, _LARGE + 16))
_FINITE = _table((-961.5 - 4 * _NTH, -959.5 - 4 * _NTH), (_LARGE, _LARGE + 16))
_SHORT_FINITE = _table((-0.5 - _SHORT, 1.5 - _SHORT), (_SHORT - 1, _SHORT - 3))
_POSITIVE = _table((_ODD, _OTHER), (_LARGE[::-1], _LARGE[::-1] + 16))


def numbers_of(element: type[ElementType[Any]], fill: int, loops: Loops = NO_LOOPS) -> Numbers:
    """Return the values of a type, one for each variant, and an alternative to each.

    >>> from poplite.types import HALF
    >>> numbers_of(HALF, SECOND)[:2].tolist()
    [[24577.0, 24593.0], [-inf, -32768.0]]
    """
    kind = element.dtype.kind
    if kind == "b":
        return np.array(_FALSE if fill == SECOND else _TRUTHS).repeat(VARIANTS // 2, axis=0)
    if fill == OUTPUT:
        return np.broadcast_to(np.array(_OUTPUTS["f" if kind == "f" else "i"]), (VARIANTS, 2))
    if element is QUARTER:
        return np.asarray(_QUARTERS[(fill + _NTH) % 2, _NTH])
    may_be_negative = loops.ends != "perhaps"
    if kind != "f":
        has_sign = kind == "i" and may_be_negative
        tables = (_SHORT_SIGNED, _SIGNED) if has_sign else (_SHORT_UNSIGNED, _UNSIGNED)
    elif may_be_negative:
        tables = _SHORT_FINITE, _FINITE if loops.depth else _INFINITE
    else:
        tables = _SHORT_UNSIGNED, _POSITIVE
    is_short = element.size_bytes == 1 or loops.depth > 1
    return np.asarray(tables[0 if is_short else 1][(fill + _NTH) % 2, _NTH])


@cache
def passed(
    source: type[ElementType[Any]], element: type[ElementType[Any]], loops: Loops
) -> Values | None:
    """Return what an element holds to which one of type `source` was passed on.

    For each variant two values for each of FILLS and OUTPUT; None where elements are not passed on
    as they stand.
    """
    kinds = source.dtype.kind, element.dtype.kind
    is_same_kind = kinds == ("f", "f") or set(kinds) <= {"i", "u"}
    if not is_same_kind and source.size_bytes != element.size_bytes:
        return None
    to = element if is_same_kind else source
    numbers = [numbers_of(source, fill, loops) for fill in (*FILLS, OUTPUT)]
    return np.stack([_as_bits(each, to) for each in numbers], axis=1)


def filled(element: type[ElementType[Any]], fill: int, old: Values) -> Values:
    """Return values other than the old ones, in the first variant."""
    one, other = _as_bits(numbers_of(element, fill), element)[0]
    return np.asarray(np.where(old == one, other, one))


def _as_bits(numbers: Numbers, element: type[ElementType[Any]]) -> Values:
    """Return numbers as the bits of elements, as C converts integers."""
    exact = numbers if element.dtype.kind in "fb" else numbers.astype(np.int64)
    size = element.size_bytes
    return exact.astype(element.dtype).view(f"u{size}").astype(np.uint64).view(np.int64)


# -- element table ---------------------------------------------------------------------------------


class ElementTable:
    """The elements of some fields, in every replica.

    Attributes:
        parts: which elements are those of each field.
        total: number of elements in a replica.
        holes: bool[replicas, elements], those that nothing has written.
        old: int64[replicas, elements], their values before the vertices run; this and the next two
            only for fields that vertices write or, before they run, that have holes.
        result: their values after the run that counts.
        others: their values after two runs with other values.
        found: uint8[replicas, elements], what these say about results.
    """

    def __init__(self, fields: Sequence[FieldElements], arena: Arena, shadow: Shadow) -> None:
        replicas, sizes = len(arena.parts), [len(each.elements) for each in fields]
        ends = np.cumsum(sizes, dtype=np.int64).tolist()
        self.total = sum(sizes)
        self.parts = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
        shape = replicas, self.total
        self.holes: Mask = np.zeros(shape, np.bool_)
        self.old, self.result, *self.others = (np.zeros(shape, np.int64) for _ in range(4))
        self.found = np.full(shape, kernels.WRITTEN, np.uint8)

        rows = [
            (end, each.size, each.field.reads, each.field.writes, 0, _passes_on(each))
            for end, each in zip(ends, fields, strict=True)
        ]
        self._rows = np.array(rows, np.int64).reshape(-1, kernels.FIELD_WORDS)
        self._passes_on = bool(self._rows[:, kernels.FIELD_PASSES].any())
        self._places = np.zeros(self.total, np.int64)
        for each, part in zip(fields, self.parts, strict=True):
            self._places[part] = each.elements * each.size
        self._fills, self._ways = _fills_of(fields)
        self._held = np.zeros(replicas * self.total, np.int64)
        self._bind(arena, shadow)

    def _bind(self, arena: Arena, shadow: Shadow) -> None:
        """Bind all addresses to kernels once, so that an execution looks none up."""
        table = self._rows, len(self._rows), self._places, self.total
        places = arena.layout.size_bytes, len(arena.parts), *table
        memory = arena.block, *places
        fills = self._fills, self._ways
        old, result, (first, second) = self.old, self.result, self.others
        move, put_other = partial(BoundKernel, kernels.move_values, *memory), kernels.put_other
        self.take_old, self.put_old = move(0, old, TAKEN), move(0, old, PUT)
        self.take_result, self.put_result = move(1, result, TAKEN), move(1, result, PUT)
        self.take_other = [move(1, each, TAKEN) for each in self.others]
        self._put_other = BoundKernel(put_other, *memory, *fills, PUT, old)
        self.put_in_holes = [
            BoundKernel(put_other, *memory, *fills, PUT, old, fill, self.holes) for fill in FILLS
        ]
        self.find_holes = BoundKernel(kernels.find_holes, shadow.block, *places, self.holes)
        self._mark = BoundKernel(kernels.mark, shadow.block, *places, self.holes, self.found)
        rows = self._rows, len(self._rows), self.total
        tables = len(arena.parts), *rows, self._places, *fills, self.holes, self.found
        self._judge = BoundKernel(kernels.judge, *tables, old, result, first, second, self._held)
        self._gather_held = BoundKernel(kernels.gather_held, self.holes, old, old.size, self._held)
        self.mark_written = BoundKernel(kernels.mark_written, shadow.block, *places)
        kept = *memory, *fills, TAKEN, old, FILLS[0], self.holes
        self.count_kept = BoundKernel(put_other, *kept)

    def put_other(self, chosen: Mask, fill: int) -> None:
        """Write values other than the old ones where chosen: bool[replicas, elements]."""
        self._put_other(fill, chosen)

    def judge(self, runs: int) -> bool:
        """Note which results are written after runs with other values in all holes.

        One run suffices where no hole is read, otherwise there are two.  Returns whether all other
        results hold what nothing has written, and none depends on it.
        """
        count = 0
        if runs > 1 and self._passes_on:  # where nothing is passed on, nothing is looked up
            count = self._gather_held()
            self._held[:count].sort()
        return not self._judge(count, runs)

    def expect_written(self) -> None:
        """Let all results count as written."""
        self.found.fill(kernels.WRITTEN)

    def mark(self) -> int:
        """Write down which results are written.

        Returns INCOMPLETE when some elements are not, LOSSY when some were and are no longer.
        """
        return int(self._mark())


def _passes_on(field: FieldElements) -> bool:
    return field.field.writes and flow_of(field.cls).passes_on(field.field.name)


def _fills_of(fields: Sequence[FieldElements]) -> tuple[Values, int]:
    """Return the values of each field, as kernels take them, and the number of variants.

    The first variants are those of its own type.  It may also hold a value passed on from an
    element of another type, which may even be the same element.
    """
    loops = loops_of({each.cls for each in fields})
    types = list(dict.fromkeys(each.field.element for each in fields))
    found = []
    for each in fields:
        own = each.field.element
        sources = [own, *(other for other in types if other is not own)]
        ways = [passed(kind, own, loops) for kind in sources]
        found.append([ways[0] if way is None else way for way in ways])
    ways_of_each = kernels.VARIANTS * len(types)
    return np.array(found, np.int64).reshape(len(fields), ways_of_each, 3, 2), ways_of_each
