"""All elements that the vertices of a compute set touch, as one table that kernels go through.

It is made once, with the addresses of all that the kernels work on::

    Pass.x     elements 0 ... 7      holes     1 1 0 0 0 0 0 0      nothing has written two of them
    Pass.y     elements 8 ... 15     old       their values before the vertices run
                                     result    their values afterwards
                                     others    their values after runs with other values
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poplite.jit.kernels import written as kernels
from poplite.jit.native import BoundKernel
from poplite.simulator.run.arena import Arena
from poplite.simulator.run.touched import FieldElements
from poplite.simulator.strict.patterns import FILLS, Mask, Values, passed
from poplite.simulator.strict.shadow import Shadow
from poplite.vertex.compute import flow_of, loops_of


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
        self.take_old = BoundKernel(kernels.take, *memory, 0, old)
        self.put_old = BoundKernel(kernels.put, *memory, 0, old)
        self.take_result = BoundKernel(kernels.take, *memory, 1, result)
        self.put_result = BoundKernel(kernels.put, *memory, 1, result)
        self.take_other = [BoundKernel(kernels.take, *memory, 1, each) for each in self.others]
        self._put_other = BoundKernel(kernels.put_other, *memory, *fills, old)
        self.put_in_holes = [
            BoundKernel(kernels.put_other, *memory, *fills, old, fill, self.holes) for fill in FILLS
        ]
        self.find_holes = BoundKernel(kernels.find_holes, shadow.block, *places, self.holes)
        self._mark = BoundKernel(kernels.mark, shadow.block, *places, self.holes, self.found)
        rows = self._rows, len(self._rows), self.total
        tables = len(arena.parts), *rows, self._places, *fills, self.holes, self.found
        self._judge = BoundKernel(kernels.judge, *tables, old, result, first, second, self._held)
        self._gather_held = BoundKernel(kernels.gather_held, self.holes, old, old.size, self._held)
        self.mark_written = BoundKernel(kernels.mark_written, shadow.block, *places)
        kept = *memory, *fills, old, FILLS[0], self.holes
        self.count_kept = BoundKernel(kernels.count_kept, *kept)

    def put_other(self, chosen: Mask, fill: int) -> None:
        """Write values other than the old ones where chosen: bool[replicas, elements]."""
        self._put_other(fill, chosen)

    def judge(self, runs: int) -> bool:
        """Note which results are written after runs with other values in all holes.

        One run suffices where no hole is read, otherwise there are two.  Returns whether all other
        results hold what nothing has written, and none depends on it.
        """
        others = self.others[:runs]
        if all(np.array_equal(each, self.result) for each in others):
            return True  # all are written, as `expect_written` noted
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
