"""How a matrix product is best shared among tiles: all ways are priced, the cheapest is taken.

A cut of the depth makes partials that must be added up, a cut of the rows sends the right matrix to
more tiles, a cut of the columns the left one (`poplite.ops.matmul.grid` has a picture).  Where
blocks are too large for the memory of tiles, the product is made in several passes over parts of
its rows or columns.

What a way costs: bytes at the rate of the exchange, and what goes before them; the AMP unit as in
`poplite.vertices.amp`; the vertices that add up.  Poplar's planner goes by the same sum (poplibs,
lib/poplin/ConvPlan.cpp).  Operands count as lying where the plan wants them.

    >>> from poplite.machine.target import Target
    >>> from poplite.types import HALF
    >>> print(plan_matmul(Target(architecture="bow"), HALF, 1024, 1024, 256, partials=HALF))
    1,024 x 1,024 times 1,024 x 256, HALF with partials of HALF
      grid    32 x 22 x 2, 1,408 tiles
      block   32 x 48 times 48 x 128, 31,744 B
      cycles  10,487 = exchange 2,577 + product 4,401 + addition 3,509
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from operator import itemgetter
from typing import Any

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.machine.target import Target
from poplite.ops.matmul.checks import check_request
from poplite.ops.matmul.grid import MatMulPlan, Three
from poplite.types import FLOAT, ElementType, ElementTypeLike, element_type
from poplite.vertices.amp import amp_cycles
from poplite.vertices.partials import partials_cycles

Columns = tuple[Int64, Int64, Int64]
"""Three numbers of each way."""


def plan_matmul(
    target: Target,
    element: ElementTypeLike,
    rows: int,
    depth: int,
    columns: int,
    *,
    partials: ElementTypeLike = FLOAT,
) -> MatMulPlan:
    """Return the cheapest way to multiply matrices of [rows, depth] and [depth, columns].

    Args:
        target: the machine; of several IPUs one is used.
        element: HALF or FLOAT.
        rows: of the left matrix.
        depth: columns of the left matrix, rows of the right one.
        columns: of the right matrix.
        partials: the type in which tiles add up, FLOAT or that of the matrices. HALF takes less
            memory and less exchange, and is rounded after every 16 products.

    Returns:
        The plan, for equal arguments the same.  Of equal ways it is that with the fewest tiles,
        then the least memory, then the fewest cuts of the depth; where no way fits, that with the
        least memory.

    Raises:
        InvalidMachineModel: for something that is no target.
        ElementTypeError: for types that the AMP unit does not multiply.
        TensorCreationError: for a size that is no whole number from 0.
        SizeOverflowError: for more than 2**50 multiplications.

    >>> plan = plan_matmul(Target(tiles=4), FLOAT, 64, 64, 64)
    >>> plan.grid, plan.block, plan.passes
    ((4, 1, 1), (16, 64, 64), (1, 1))
    """
    kind, partial = element_type(element), element_type(partials)
    sizes = check_request(target, kind, partial, (rows, depth, columns))
    return _planned(target, kind, partial, *sizes)


@lru_cache(maxsize=256)
def _planned(
    target: Target,
    element: type[ElementType[Any]],
    partials: type[ElementType[Any]],
    rows: int,
    depth: int,
    columns: int,
) -> MatMulPlan:
    """Go from one pass to twice as many over the rows or the columns, as long as that helps."""
    some = max(1, rows), max(1, depth), max(1, columns)  # no elements are shared out like one
    planner = _Planner(target, element, partials, some)
    rank, plan = planner.best(1, 1)
    while True:
        down, along = plan.passes
        passes = (2 * down, along), (down, 2 * along)
        found = min((planner.best(*each) for each in passes), key=itemgetter(0))
        if found[0] >= rank:
            return replace(plan, rows=rows, depth=depth, columns=columns)
        rank, plan = found


class _Planner:
    """Prices the ways to make one product, all at once."""

    def __init__(
        self,
        target: Target,
        element: type[ElementType[Any]],
        partials: type[ElementType[Any]],
        shape: Three,
    ) -> None:
        self.target, self.element, self.partials, self.shape = target, element, partials, shape

    def best(self, down: int, along: int) -> tuple[tuple[int, ...], MatMulPlan]:
        """Return the best way in some passes over the rows and the columns, behind its rank.

        The lower the rank, the better.
        """
        block, grid = self._ways((down, 1, along))
        (height, deep, width), (tall, cuts, wide) = block, grid
        rows, _, columns = self.shape
        passes = -(-rows // (height * tall)), -(-columns // (width * wide))
        size = self.element.size_bytes
        exchange, addition = self._exchange(block, grid), self._addition(block, grid)
        product = amp_cycles(height, deep, width, size, self.target)
        cycles = passes[0] * passes[1] * (exchange + product + addition)
        made = height * width * self.partials.size_bytes * self._adds(cuts)
        held = (height + width) * deep * size + made * np.where(cuts > 1, 2, 1)
        limit = self.target.cost("matmul_memory_share") * self.target.tile_memory_bytes
        rank = np.where(held > limit, held, 0), cycles, tall * cuts * wide, held, cuts
        best = int(np.lexsort(rank[::-1])[0])

        def of(numbers: tuple[Int64, ...]) -> Any:
            return tuple(int(column[best]) for column in numbers)

        plan = MatMulPlan(
            *(self.element, self.partials, *self.shape, of(block), of(grid), of(passes)),
            *of((exchange, product, addition, held)),
        )
        return of(rank), plan

    def _ways(self, passes: Three) -> tuple[Columns, Columns]:
        """Return sizes of blocks by rows, depth and columns, and how many there are of them."""
        inputs = int(self.target.cost("amp_inputs_bytes")) // self.element.size_bytes
        grains, tiles = (int(self.target.cost("amp_outputs")), inputs, 1), self.target.tiles_per_ipu
        (height, tall), (deep, cuts), (width, wide) = (
            _sizes(*each, tiles) for each in zip(self.shape, passes, grains, strict=True)
        )
        i, j = np.nonzero(tall[:, None] * cuts <= tiles)
        both, k = np.nonzero((tall[i] * cuts[j])[:, None] * wide <= tiles)
        i, j = i[both], j[both]
        return (height[i], deep[j], width[k]), (tall[i], cuts[j], wide[k])

    def _exchange(self, block: Columns, grid: Columns) -> Int64:
        """Return the cycles in which tiles get the operands, and put their own part in between."""
        (height, deep, width), (tall, _, wide) = block, grid
        cost, row = self.target.cost, self.element.size_bytes * deep
        pair = int(cost("pair_tiles"))
        right = width * (tall - 1) / tall / np.where(tall % pair == 0, pair, 1)
        received = row * (height * (wide - 1) / wide + right)
        own = row * (height / wide * (wide > 1) + width / tall * (tall > 1))
        copied = np.ceil(own / cost("memcpy_bytes_per_cycle")) + cost("worker_call")
        return self._moved(received) + np.where(own > 0, copied, 0).astype(np.int64)

    def _addition(self, block: Columns, grid: Columns) -> Int64:
        """Return the cycles of adding up partials, on the tiles that made them."""
        (height, _, width), (_, cuts, _) = block, grid
        outputs, kinds = np.ceil(height * width / cuts), (self.partials, self.element)
        added = partials_cycles(outputs, cuts - 1, *kinds, self.target)
        received = height * width * self.partials.size_bytes * (cuts - 1) / cuts
        return self._moved(received) + np.where(self._adds(cuts), added, 0)

    def _adds(self, cuts: Int64) -> Any:
        """Tell which ways write partials that are added up, or rounded."""
        return (cuts > 1) | (self.partials is not self.element)

    def _moved(self, received: Any) -> Int64:
        """Return the cycles of an exchange by the bytes that a tile receives in it."""
        start = self.target.cost("sync_cycles") + self.target.cost("latency_cycles")
        cycles = np.ceil(received / self.target.exchange_bytes_per_cycle) + start
        moved: Int64 = np.where(received > 0, cycles, 0).astype(np.int64)
        return moved


def _sizes(size: int, passes: int, grain: int, most: int) -> tuple[Int64, Int64]:
    """Return sizes of equal parts of a pass, in whole grains, and how many of each there are.

    >>> [numbers.tolist() for numbers in _sizes(100, 1, 16, 1000)]
    [[16, 32, 48, 64, 100], [7, 4, 3, 2, 1]]
    """
    grains = -(-size // (grain * passes))
    part = np.unique(-(-grains // np.arange(1, min(grains, most) + 1)))
    return np.minimum(part * grain, size), -(-grains // part)
