"""The ways to share a product among tiles: all are priced at once, the cheapest few are kept.

A cut of k makes partials that must be added up, a cut of m sends the right matrix to more tiles, a
cut of n the left one. Where blocks are too large for the memory of tiles, the product is made in
several passes over parts of m or n.

What a way costs: bytes at the rate of the exchange, and what goes before them; the AMP unit as in
`poplite.vertices.amp`; the vertices that add up. Poplar's planner goes by the same sum (poplibs,
lib/poplin/ConvPlan.cpp). Operands count as lying where the plan wants them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import GraphMemoryAllocationError
from poplite.machine.target import Target
from poplite.ops.matmul.layout import ProductLayout, ProductRequest, Three
from poplite.types import HALF
from poplite.vertices.amp import amp_cycles
from poplite.vertices.partials import partials_cycles

KEPT = 8
"""Ways that are kept."""

MOST_SETS = 12
"""Numbers of sets of tiles that are tried for several products."""

MOST_LISTED = 12
"""Numbers that a message lists."""

TERMS = (
    "the block of the left matrix",
    "the block of the right matrix",
    "partials",
    "partials that arrive",
)
"""What the memory of a tile is for."""

Columns = tuple[Int64, Int64, Int64]
"""Three numbers of each way."""


def cheapest_ways(target: Target, request: ProductRequest) -> list[ProductLayout]:
    """Return up to 8 ways that fit, the cheapest first.

    Of equal ones the one with the fewest tiles, then the least memory, then the fewest cuts of k.
    Raises GraphMemoryAllocationError where none fits.
    """
    search = _Search(target, request)
    best: list[_Ranked] = []
    least: _Ranked | None = None
    worse = 0
    for level in search.passes():
        found = [
            each for passes in level for sets in search.sets() for each in search.ways(passes, sets)
        ]
        fitting = [each for each in found if not each.rank[0]]
        if not fitting:
            least = min(
                [*found, *([least] if least else [])], key=lambda way: way.rank, default=None
            )
            continue
        before = best[0].rank if best else None
        best = sorted([*best, *fitting], key=lambda way: way.rank)[:KEPT]
        worse = worse + 1 if before == best[0].rank else 0
        if worse > 1:
            break
    if best:
        return [each.layout for each in best]
    if least is None:
        raise _impossible(search)
    raise _too_large(target, request, least.layout)


class _Ranked(NamedTuple):
    """A way, and what it is compared by: the lower the better."""

    rank: tuple[int, ...]
    layout: ProductLayout


def _ranked(request: ProductRequest, sets: int, numbers: tuple[int, ...]) -> _Ranked:
    """Return a way from its numbers: of its rank, then of its layout."""
    rank, block, grid, times, cycles, held = (
        numbers[begin:end] for begin, end in ((0, 5), (5, 8), (8, 11), (11, 13), (13, 16), (16, 20))
    )
    layout: Any = ProductLayout
    return _Ranked(rank, layout(request, block, grid, sets, times, cycles, held))


class _Search:
    """Prices the ways to make one product."""

    def __init__(self, target: Target, request: ProductRequest) -> None:
        self.target, self.request = target, request
        self.fixed = dict(request.constraints)
        # No elements are shared out like one.
        self.sizes = tuple(max(1, size) for size in request.sizes)
        self.groups = max(1, request.groups)
        self.tiles = target.tiles_per_ipu

    def passes(self) -> Iterator[list[tuple[int, int]]]:
        """Yield numbers of passes over m and n, by their product, which doubles."""
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
        for product in sorted(levels):
            yield levels[product]

    def sets(self) -> list[int]:
        """Return how many sets of tiles the groups may be shared among."""
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
        """Return what each constraint can be that is impossible by itself."""
        levels = [each for level in self.passes() for each in level]
        found = {}
        for name, size, grain, times in zip(
            ("pm", "pk", "pn"),
            self.sizes,
            self._grains(),
            ({down for down, _ in levels}, {1}, {along for _, along in levels}),
            strict=True,
        ):
            counts = [parts_of(size, each, grain, self.tiles)[1] for each in sorted(times)]
            found[name] = np.unique(np.concatenate(counts)).tolist()
        found["pg"] = list(range(1, min(self.groups, self.tiles) + 1))
        return {
            name: counts
            for name, counts in found.items()
            if self.fixed.get(name, counts[0]) not in counts
        }

    def ways(self, passes: tuple[int, int], sets: int) -> list[_Ranked]:
        """Return the best ways of some passes, on some sets of tiles."""
        request, target = self.request, self.target
        block, grid = self._grids((passes[0], 1, passes[1]), self.tiles // sets)
        if not len(block[0]):
            return []
        (height, deep, width), (tall, cuts, wide) = block, grid
        turns, size = -(-self.groups // sets), request.element_type.size_bytes
        exchange = self._exchange(block, grid, turns)
        product = turns * amp_cycles(height, deep, width, *request.kinds, target)
        addition = self._addition(block, grid, turns)
        m, _, n = self.sizes
        times = -(-m // (height * tall)), -(-n // (width * wide))
        cycles = times[0] * times[1] * (exchange + product + addition)
        made = turns * height * width * request.partials.size_bytes * self._adds(cuts)
        held = [turns * height * deep * size, turns * deep * width * size, made, made * (cuts > 1)]
        total = sum(held)
        limit = int(request.memory * target.tile_memory_bytes)
        over = np.where(total > limit, total, 0)
        # What does not fit is compared by its size alone.
        rank = over, cycles, sets * tall * cuts * wide, total, cuts
        order = _first(rank)
        columns = (*rank, *block, *grid, *times, exchange, product, addition, *held)
        few = np.stack([column[order].astype(np.int64) for column in columns], axis=1)
        return [_ranked(request, sets, tuple(numbers)) for numbers in few.tolist()]

    def _grids(self, passes: Three, tiles: int) -> tuple[Columns, Columns]:
        """Return sizes of blocks by m, k and n, and how many there are of them."""
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
        """Return of how many rows, products and columns parts have multiples."""
        element, partials = self.request.kinds
        inputs = int(self.target.cost("amp_inputs_bytes")) // element.size_bytes
        return self.target.getNumConvUnits(element, partials), inputs, 1

    def _parts(
        self, name: str, size: int, passes: int, grain: int, most: int
    ) -> tuple[Int64, Int64]:
        """Return sizes of parts and how many there are, those that a constraint allows."""
        part, count = parts_of(size, passes, grain, most)
        if name in self.fixed:
            is_allowed = count == self.fixed[name]
            part, count = part[is_allowed], count[is_allowed]
        return part, count

    def _exchange(self, block: Columns, grid: Columns, turns: int) -> Int64:
        """Return the cycles in which tiles get the operands, and put their own part in between."""
        (height, deep, width), (tall, _, wide) = block, grid
        cost, row = self.target.cost, turns * self.request.element_type.size_bytes * deep
        pair = int(cost("pair_tiles"))
        right = width * (tall - 1) / tall / np.where(tall % pair == 0, pair, 1)
        received = row * (height * (wide - 1) / wide + right)
        own = row * (height / wide * (wide > 1) + width / tall * (tall > 1))
        copied = np.ceil(own / cost("memcpy_bytes_per_cycle")) + cost("worker_call")
        return self._moved(received) + np.where(own > 0, copied, 0).astype(np.int64)

    def _addition(self, block: Columns, grid: Columns, turns: int) -> Int64:
        """Return the cycles of adding up partials, on the tiles that made them."""
        (height, _, width), (_, cuts, _) = block, grid
        request = self.request
        outputs = np.ceil(height * width / cuts)
        kinds = request.partials, request.result
        added = turns * partials_cycles(outputs, cuts - 1, *kinds, self.target)
        received = turns * height * width * request.partials.size_bytes * (cuts - 1) / cuts
        return self._moved(received) + np.where(self._adds(cuts), added, 0)

    def _adds(self, cuts: Int64) -> Any:
        """Tell which ways write partials that are added up, or rounded."""
        return (cuts > 1) | (self.request.partials is not self.request.result)

    def _moved(self, received: Any) -> Int64:
        """Return the cycles of an exchange by the bytes that a tile receives in it."""
        start = self.target.cost("sync_cycles") + self.target.cost("latency_cycles")
        cycles = np.ceil(received / self.target.exchange_bytes_per_cycle) + start
        moved: Int64 = np.where(received > 0, cycles, 0).astype(np.int64)
        return moved


def _first(rank: tuple[Int64, ...]) -> Int64:
    """Return the numbers of the 8 ways that are first by their ranks, in order.

    >>> _first((np.array([0, 0, 1, 0]), np.array([5, 3, 1, 3]))).tolist()
    [1, 3, 0, 2]
    """
    # Few are sorted: those that the first number, or the second one of equal first ones, chooses.
    some = np.arange(len(rank[0]))
    for column in rank[:2]:
        own = column[some]
        if len(some) > KEPT:
            some = some[own <= np.partition(own, KEPT - 1)[KEPT - 1]]
        if len(some) and (column[some] != column[some[0]]).any():
            break
    return some[np.lexsort([column[some] for column in rank[::-1]])[:KEPT]]


def parts_of(size: int, passes: int, grain: int, most: int) -> tuple[Int64, Int64]:
    """Return sizes of equal parts of a pass, in complete grains, and how many of each there are.

    >>> [numbers.tolist() for numbers in parts_of(100, 1, 16, 1000)]
    [[16, 32, 48, 64, 100], [7, 4, 3, 2, 1]]
    """
    grains = -(-size // (grain * passes))
    part = np.unique(-(-grains // np.arange(1, min(grains, most) + 1)))
    return np.minimum(part * grain, size), -(-grains // part)


def _impossible(search: _Search) -> GraphMemoryAllocationError:
    fixed = ", ".join(f"{name}={number}" for name, number in search.request.constraints)
    others = "; ".join(f"{name} can be {_listed(of)}" for name, of in search.possible().items())
    return GraphMemoryAllocationError(
        f"matmul {search.request}: no plan keeps to its constraints",
        found=f"{fixed}; {search.tiles:,} tiles; a grid has parts of equal size",
        fix=others or "fewer constraints, which together take no more than all tiles",
    )


def _listed(numbers: Sequence[int]) -> str:
    some = [f"{n:,}" for n in numbers]
    few = some if len(some) <= MOST_LISTED else [*some[: MOST_LISTED - 1], f"... {some[-1]}"]
    return ", ".join(few)


def _too_large(
    target: Target, request: ProductRequest, least: ProductLayout
) -> GraphMemoryAllocationError:
    limit = int(request.memory * target.tile_memory_bytes)
    terms = [(name, size) for name, size in zip(TERMS, least.held, strict=True) if size]
    parts = " + ".join(f"{size:,} B for {name}" for name, size in terms)
    largest, most = max(terms, key=lambda term: term[1])
    tries = []
    if least.bytes <= target.tile_memory_bytes:
        tries.append(f"memory={math.ceil(100 * least.bytes / target.tile_memory_bytes) / 100:g}")
    if request.partials is not HALF and request.element_type is HALF and "partials" in largest:
        tries.append("partials=pl.HALF")
    if request.constraints:
        tries.append("fewer constraints")
    tries.append("more tiles, or several products of parts of k, which are added")
    return GraphMemoryAllocationError(
        f"matmul {request} does not fit: a tile needs at least {least.bytes:,} B of "
        f"{limit:,} B ({request.memory:g} of its {target.tile_memory_bytes:,} B)",
        found=f"{parts}; the largest term is {largest}, {most:,} B",
        fix=", or ".join(tries),
    )
