"""Plans of matrix products: the cheapest of all ways to divide a product among tiles.

A cut of k makes partials that must be summed; a cut of m sends the right matrix to more tiles,
and a cut of n the left matrix. If blocks are too large for the memory of tiles, the product is
made in several passes over parts of m or n.

The cost of a way is estimated by formulas: for the exchange, its start and the bytes at its rate;
for the AMP unit, as in `poplite.vertices.amp`; and for the vertices that sum partials. Poplar's
planner adds the same costs (poplibs, lib/poplin/ConvPlan.cpp). Operands are assumed to have the
plan's mapping.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

import poplite.ops.planning as planning
from poplite.arrays.intervals import Int64
from poplite.cost.exchange_cycles import has_map
from poplite.errors import GraphMemoryAllocationError
from poplite.machine.target import Target
from poplite.ops.products.matmul_layout import (
    ProductLayout,
    ProductRequest,
    Three,
    mapping_of_left,
    mapping_of_partials,
    mapping_of_right,
    part_sizes,
    passes_of,
)
from poplite.types import HALF
from poplite.vertices.amp import amp_cycles
from poplite.vertices.reduce import partials_cycles

# -- search ----------------------------------------------------------------------------------------


MOST_SETS = 12
"""How many numbers of sets of tiles to try for several products."""

MOST_LISTED = 12
"""Maximum number of values that a message lists."""

HELD = ("left", "right", "partials", "arriving partials")
"""The uses of a tile's memory."""

Columns = tuple[Int64, Int64, Int64]
"""Three numbers for each way."""


@lru_cache(maxsize=256)
def cheapest_ways(target: Target, request: ProductRequest) -> tuple[ProductLayout, ...]:
    """Return the best few ways that fit, the cheapest first.

    Equally cheap ways are sorted by the number of tiles, then by memory, then by the number of cuts
    of k. Raises GraphMemoryAllocationError if no way fits.
    """
    search = _Search(target, request)
    best: list[planning.Ranked] = []
    least: planning.Ranked | None = None
    worse = 0
    for level in search.levels():
        tried = [search.ways(passes, sets) for passes in level for sets in search.sets()]
        several = [ways for ways in tried if ways]
        found = planning.cheapest(several) if several else []
        fitting = [each for each in found if each.fits]
        if not fitting:
            least = min([*found[:1], *([least] if least else [])], key=_rank, default=None)
            continue
        before = best[0].rank if best else None
        best = sorted([*best, *fitting], key=_rank)[: planning.KEPT]
        worse = worse + 1 if before == best[0].rank else 0
        if worse > 1:
            break
    if best:
        return tuple(each.layout for each in best)
    if least is None:
        raise _impossible(search)
    raise planning.too_large(
        f"matmul {request}", target, request.memory, least.layout.held, HELD, _tries(least.layout)
    )


def _rank(way: planning.Ranked) -> tuple[int, ...]:
    return way.rank


class _Search:
    """Estimates the cost of the ways to make one product."""

    def __init__(self, target: Target, request: ProductRequest) -> None:
        self.target, self.request = target, request
        self.fixed = dict(request.constraints)
        # An empty dimension is cut like one of a single element.
        self.sizes = tuple(max(1, size) for size in request.sizes)
        self.groups = max(1, request.groups)
        self.tiles = target.tiles_per_ipu

    def levels(self) -> Iterator[list[tuple[int, int]]]:
        """Yield lists of pairs of passes over m and n, one list for each total number of passes."""
        m, _, n = self.sizes
        grain = self._grains()[0]
        most = [(-(-m // grain) - 1).bit_length(), (n - 1).bit_length()]
        fixed = [self.fixed.get(name) for name in ("split_m", "split_n")]
        chosen = [
            [each] if each else [1 << i for i in range(limit + 1)]
            for each, limit in zip(fixed, most, strict=True)
        ]
        levels: dict[int, list[tuple[int, int]]] = {}
        for down in chosen[0]:
            for along in chosen[1]:
                levels.setdefault(down * along, []).append((down, along))
        for level in sorted(levels):
            yield levels[level]

    def sets(self) -> list[int]:
        """Return the numbers of sets of tiles to try for the groups."""
        if "pg" in self.fixed:
            return [self.fixed["pg"]] if self.fixed["pg"] <= min(self.groups, self.tiles) else []
        most = min(self.groups, self.tiles)
        if most == 1:
            return [1]
        turns = np.unique(np.geomspace(-(-self.groups // most), self.groups, MOST_SETS).astype(int))
        return sorted(
            {-(-self.groups // int(turn)) for turn in turns if -(-self.groups // int(turn)) <= most}
        )

    def possible(self) -> dict[str, list[int]]:
        """Return the possible values of each constraint that is impossible even on its own."""
        levels = [each for level in self.levels() for each in level]
        found = {}
        for name, size, grain, times in zip(
            ("pm", "pk", "pn"),
            self.sizes,
            self._grains(),
            ({down for down, _ in levels}, {1}, {along for _, along in levels}),
            strict=True,
        ):
            counts = [planning.parts_of(size, each, grain, self.tiles)[1] for each in sorted(times)]
            found[name] = np.unique(np.concatenate(counts)).tolist()
        found["pg"] = list(range(1, min(self.groups, self.tiles) + 1))
        return {
            name: counts
            for name, counts in found.items()
            if self.fixed.get(name, counts[0]) not in counts
        }

    def ways(self, passes: tuple[int, int], sets: int) -> planning.PricedWays[ProductLayout] | None:
        """Return the ways with given numbers of passes and sets of tiles, if there are any."""
        request, target = self.request, self.target
        block, grid = self._grids((passes[0], 1, passes[1]), self.tiles // sets)
        if not len(block[0]):
            return None
        (height, deep, width), (tall, cuts, wide) = block, grid
        turns, size = -(-self.groups // sets), request.element_type.size_bytes
        product = turns * amp_cycles(height, deep, width, *request.kinds, target)
        cycles = self._operands(block, grid, turns), product, self._sums(block, grid, turns)
        m, _, n = self.sizes
        times = -(-m // (height * tall)), -(-n // (width * wide))
        made = turns * height * width * request.partials.size_bytes * self._adds(cuts)
        held = turns * height * deep * size, turns * deep * width * size, made, made * (cuts > 1)
        total = held[0] + held[1] + held[2] + held[3]
        over = np.where(total > int(request.memory * target.tile_memory_bytes), total, 0)
        every = times[0] * times[1] * (cycles[0] + cycles[1] + cycles[2])

        def layout(way: int) -> ProductLayout:
            several = block, grid, times, cycles, held
            found: Any = [tuple(int(column[way]) for column in each) for each in several]
            return ProductLayout(request, found[0], found[1], sets, *found[2:])

        # Ways that do not fit are ranked only by their size.
        return planning.PricedWays((over, every, sets * tall * cuts * wide, total, cuts), layout)

    def _grids(self, passes: Three, tiles: int) -> tuple[Columns, Columns]:
        """Return the sizes of blocks along m, k and n, and their numbers."""
        (height, tall), (deep, cuts), (width, wide) = (
            self._parts(name, size, times, grain, tiles)
            for name, size, times, grain in zip(
                ("pm", "pk", "pn"), self.sizes, passes, self._grains(), strict=True
            )
        )
        i, j = np.nonzero(tall[:, None] * cuts <= tiles)
        both, k = np.nonzero((tall[i] * cuts[j])[:, None] * wide <= tiles)
        i, j = i[both], j[both]
        return (height[i], deep[j], width[k]), (tall[i], cuts[j], wide[k])

    def _grains(self) -> Three:
        """Return the grains along m, k and n; sizes of parts are multiples of them."""
        element, partials = self.request.kinds
        inputs = int(self.target.cost("amp_inputs_bytes")) // element.size_bytes
        return self.target.getNumConvUnits(element, partials), inputs, 1

    def _parts(
        self, name: str, size: int, passes: int, grain: int, most: int
    ) -> tuple[Int64, Int64]:
        """Return the sizes of parts and the numbers of parts that constraints allow."""
        part, count = planning.parts_of(size, passes, grain, most)
        if name in self.fixed:
            is_allowed = count == self.fixed[name]
            part, count = part[is_allowed], count[is_allowed]
        return part, count

    def _operands(self, block: Columns, grid: Columns, turns: int) -> Int64:
        """Return the cycles in which tiles receive operands and copy their own parts of them."""
        (height, deep, width), (tall, _, wide) = block, grid
        cost, row = self.target.cost, turns * self.request.element_type.size_bytes * deep
        pair = int(cost("pair_tiles"))
        right = width * (tall - 1) / tall / np.where(tall % pair == 0, pair, 1)
        received = row * (height * (wide - 1) / wide + right)
        own = row * (height / wide * (wide > 1) + width / tall * (tall > 1))
        copied = np.ceil(own / cost("memcpy_bytes_per_cycle")) + cost("worker_call")
        return planning.exchanged(self.target, received) + np.where(own > 0, copied, 0).astype(
            np.int64
        )

    def _sums(self, block: Columns, grid: Columns, turns: int) -> Int64:
        """Return the cycles of summing partials on the tiles that made them."""
        (height, _, width), (_, cuts, _) = block, grid
        request = self.request
        outputs = np.ceil(height * width / cuts)
        kinds = request.partials, request.result
        added = turns * partials_cycles(outputs, cuts - 1, *kinds, self.target)
        received = turns * height * width * request.partials.size_bytes * (cuts - 1) / cuts
        return planning.exchanged(self.target, received) + np.where(self._adds(cuts), added, 0)

    def _adds(self, cuts: Int64) -> Any:
        """Return which ways write partials, which are then summed or rounded."""
        return (cuts > 1) | (self.request.partials is not self.request.result)


def _tries(least: ProductLayout) -> list[str]:
    """Return suggestions for a product for which no way fits."""
    request, tries = least.request, []
    largest = least.held.index(max(least.held))
    if (
        request.partials is not HALF
        and request.element_type is HALF
        and "partials" in HELD[largest]
    ):
        tries.append("partials=pl.HALF")
    if request.constraints:
        tries.append("fewer constraints")
    return [*tries, "more tiles, or several products of parts of k, which are added"]


def _impossible(search: _Search) -> GraphMemoryAllocationError:
    fixed = ", ".join(f"{name}={number}" for name, number in search.request.constraints)
    others = "; ".join(f"{name} can be {_listed(of)}" for name, of in search.possible().items())
    return GraphMemoryAllocationError(
        f"matmul {search.request}: no plan satisfies the constraints",
        found=f"{fixed}; {search.tiles:,} tiles; a grid has parts of equal size",
        fix=others or "use fewer constraints, which together need no more than all tiles",
    )


def _listed(numbers: Sequence[int]) -> str:
    some = [f"{n:,}" for n in numbers]
    few = some if len(some) <= MOST_LISTED else [*some[: MOST_LISTED - 1], f"... {some[-1]}"]
    return ", ".join(few)


# -- lower bound -----------------------------------------------------------------------------------
# A lower bound on the cycles of a layout by the cost model.
#
#     of one tile   its own parts of its blocks are copied            worker call + a row for each
#                   the other parts arrive, in words or in controls   sync + latency + the larger
#                   its blocks are multiplied                         as in the exact cost
#                   its part of the partials arrives and is summed    both as above
#
# Only tiles with complete blocks are considered, at the shortest distance between any two tiles.


def least_cycles(target: Target, layout: ProductLayout) -> int:
    """Return a lower bound on the cycles of all passes by the cost model."""
    others = _least_of_operands(target, layout) + _least_of_sums(target, layout)
    return layout.num_passes * (layout.cycles[1] + others)


def _least_of_operands(target: Target, layout: ProductLayout) -> int:
    """Return the minimum cycles for receiving operands and copying a tile's own parts of them."""
    (height, deep, width), (tall, cuts, wide) = layout.block, layout.grid
    left = part_sizes(target, layout, height * deep, wide)
    right = part_sizes(target, layout, deep * width, tall)
    # Tiles (i, 0, l) of the first set, where blocks are complete.
    rows, columns = _complete(layout)
    i, l = np.arange(rows)[:, None], np.arange(columns)  # noqa: E741
    tile = l * cuts * tall + i
    mate = tile ^ 1
    # The tiles of a pair receive parts that both need together; each receives half of the words.
    from_left = _received(left, l, mate, has_mate=(tall * cuts == 1) & (mate < wide))
    from_right = _received(right, i, mate % tall, has_mate=mate // tall == tile // tall)
    size = layout.slots * layout.request.element_type.size_bytes
    sources = np.count_nonzero(left) - (left[l] > 0) + np.count_nonzero(right) - (right[i] > 0)
    copied = [
        np.where((part > 0) & (part < whole.sum()), layout.slots * _row(target, layout, part), 0)
        for whole, part in ((left, left[l]), (right, right[i]))
    ]
    rows_copied = copied[0] + copied[1]
    call = np.where(rows_copied > 0, target.cost("worker_call"), 0)
    return int((rows_copied + call).max()) + _exchange(
        target, size * (from_left + from_right), sources
    )


def _least_of_sums(target: Target, layout: ProductLayout) -> int:
    """Return the minimum cycles in which tiles receive partials and sum them."""
    if not layout.has_partials:
        return 0
    request, (height, _, width), (_, cuts, _) = layout.request, layout.block, layout.grid
    part = part_sizes(target, layout, height * width, cuts)
    received = layout.slots * request.partials.size_bytes * (cuts - 1) * part
    kinds = request.partials, request.result
    added = layout.slots * partials_cycles(part, cuts - 1, *kinds, target)
    return int(added.max()) + _exchange(target, received, (cuts - 1) * (part > 0))


def _received(parts: Int64, own: Int64, others: Int64, *, has_mate: Any) -> Any:
    """Return how many elements tiles with parts `own` receive, counting half those of a pair."""
    missing = parts.sum() - parts[own]
    of_mate = parts[np.minimum(others, len(parts) - 1)]
    return np.where(has_mate, (missing + of_mate) / 2, missing)


def _row(target: Target, layout: ProductLayout, elements: Int64) -> Any:
    """Return the cycles of copying a row, without the worker call."""
    size = elements * layout.request.element_type.size_bytes
    return target.cost("copy_piece_cycles") + np.ceil(size / target.cost("memcpy_bytes_per_cycle"))


def _complete(layout: ProductLayout) -> tuple[int, int]:
    """Return the numbers of rows and columns of tiles of the first set with complete blocks."""
    (height, _, width), (tall, _, wide) = layout.block, layout.grid
    return min(tall, layout.request.m // height), min(wide, layout.request.n // width)


def _exchange(target: Target, received: Any, sources: Int64) -> int:
    """Return the minimum cycles of an exchange, given bytes and numbers of sources for tiles."""
    if not received.any():
        return 0
    start = target.cost("sync_cycles")
    if has_map(target):
        start += target.cost("setup_cycles") + target.cost("arrival_cycles")
    else:
        start += target.cost("exchange_cycles")
    words = np.ceil(received / target.exchange_bytes_per_cycle)
    work = np.maximum(words, target.cost("receive_controls") * sources)
    return int(start + np.where(received > 0, work, 0).max())


# -- exact prices ----------------------------------------------------------------------------------
# The cost of a layout by the cost model. All passes are charged like the first, although the last
# may be smaller.


@lru_cache(maxsize=2048)
def exact_cycles(target: Target, layout: ProductLayout) -> int:
    """Return the cycles of all passes, for operands with the plan's mapping."""
    request, (height, _, width), (tall, _, wide) = layout.request, layout.block, layout.grid
    m, n = min(request.m, height * tall), min(request.n, width * wide)
    one = replace(layout, request=replace(request, m=m, n=n), passes=(1, 1))
    ((made, sums),) = passes_of(target, one, by_rows=False)
    size, tile, columns = request.element_type.size_bytes, made.tile, made.columns
    left = planning.Reads(mapping_of_left(target, one), tile, *made.left)
    right = planning.Reads(mapping_of_right(target, one), tile, *made.right)
    outputs, inputs = ((end - begin) // columns for begin, end in (made.out, made.right))
    taken = amp_cycles(outputs, inputs, columns, *request.kinds, target)
    cycles = planning.cycles_of_reads(target, [left, right], size) + _of_fullest(tile, taken)
    if sums is not None:
        vertex = np.repeat(sums.tile, np.diff(sums.first))
        size = request.partials.size_bytes
        slices = planning.Reads(mapping_of_partials(target, one), vertex, *sums.slices)
        kinds = request.partials, request.result
        added = sums.parts.end - sums.parts.begin
        taken = partials_cycles(added, layout.grid[1] - 1, *kinds, target)
        cycles += planning.cycles_of_reads(target, [slices], size, once=True) + _of_fullest(
            sums.tile, taken
        )
    return layout.num_passes * cycles


def _of_fullest(tile: Int64, cycles: Int64) -> int:
    """Return the total cycles of the vertices of the slowest tile."""
    return int(np.bincount(tile, cycles).max())
