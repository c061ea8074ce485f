"""The ways to share a product among tiles: all are priced at once, the cheapest few are kept.

A cut of k makes partials that must be added up, a cut of m sends the right matrix to more tiles, a
cut of n the left one. Where blocks are too large for the memory of tiles, the product is made in
several passes over parts of m or n.

What a way costs: bytes at the rate of the exchange, and what goes before them; the AMP unit as in
`poplite.vertices.amp`; the vertices that add up. Poplar's planner goes by the same sum (poplibs,
lib/poplin/ConvPlan.cpp). Operands are assumed to have the plan's mapping.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.cost.exchange.latency import has_map, places, route
from poplite.errors import GraphMemoryAllocationError
from poplite.machine.target import Target
from poplite.ops.products.layout import ProductLayout, ProductRequest, Three, too_large
from poplite.ops.products.matmul_steps import grain_of, part_sizes
from poplite.types import HALF
from poplite.vertices.amp import amp_cycles
from poplite.vertices.partials import partials_cycles

# -- ways ------------------------------------------------------------------------------------------


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
    raise too_large(
        f"matmul {request}", target, request.memory, least.layout.held, TERMS, _tries(least)
    )


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
        for level in sorted(levels):
            yield levels[level]

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


def _tries(least: _Ranked) -> list[str]:
    """Return what a user may change of a product for which no way fits."""
    request, held, tries = least.layout.request, least.layout.held, []
    largest = held.index(max(held))
    if (
        request.partials is not HALF
        and request.element_type is HALF
        and "partials" in TERMS[largest]
    ):
        tries.append("partials=pl.HALF")
    if request.constraints:
        tries.append("fewer constraints")
    return [*tries, "more tiles, or several products of parts of k, which are added"]


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


# -- an upper bound --------------------------------------------------------------------------------
# Cycles that a layout takes at most by the cost model, in closed form.
#
# As the lower one in `poplite.ops.products.plan`, but blocks at the edges count as well, every
# stretch counts as put down in a place of its own, and the ways between tiles are looked up::
#
#     operands    to tile (i, j, l) from tiles (i, j, *) and (*, j, l)
#     sums        from tiles (i, *, l)
#
# Where one layout takes at most what another takes at least, neither has to be built and priced.


class _Load(NamedTuple):
    """What tiles receive of blocks, at most: in each of the layout's slots.

    Attributes:
        words: that come in.
        sent: that go out.
        pieces: stretches that come in; as many go out at most.
        longest: elements of a tile's own part.
    """

    words: int
    sent: int
    pieces: int
    longest: int


class _Way(NamedTuple):
    """From where tiles receive something.

    Attributes:
        tiles: those along the last axis receive from each other.
        is_whole: whether each of them surely sends something to every other one.
    """

    tiles: Int64
    is_whole: bool


def most_cycles(target: Target, layout: ProductLayout) -> int:
    """Return cycles of all passes that the cost model never goes above."""
    # A block at an edge may take longer: its workers may have to wait for weights.
    height, deep, width = np.meshgrid(*_sizes(layout))
    found = amp_cycles(height, deep, width, *layout.request.kinds, target)
    own = layout.slots * int(found.max())
    return layout.num_passes * (own + _operands(target, layout) + _sums(target, layout))


def _operands(target: Target, layout: ProductLayout) -> int:
    """Return the most cycles in which tiles get the operands, and put their own parts between."""
    request, (tall, cuts, wide) = layout.request, layout.grid
    size, (heights, depths, widths) = request.element_type.size_bytes, _sizes(layout)
    down, across = -(-request.m // layout.block[0]), -(-request.n // layout.block[2])
    # Both tiles of a pair want the same parts of the right block, or of the left one. Parts of
    # several slots may be joined on their way to one of them only.
    is_alone = layout.slots == 1
    is_left_shared = is_alone and tall * cuts == 1 and wide % 2 == 0 and across >= wide
    is_right_shared = is_alone and tall % 2 == 0 and down >= tall
    left = _most(
        [
            _gathered(target, layout, height * depth, wide, size, is_shared=is_left_shared)
            for height, depth in product(heights, depths)
        ]
    )
    right = _most(
        [
            _gathered(target, layout, depth * width, tall, size, is_shared=is_right_shared)
            for depth, width in product(depths, widths)
        ]
    )
    rows = [layout.slots * _row(target, size * part.longest) for part in (left, right)]
    copied = rows[0] * (left.pieces > 0) + rows[1] * (right.pieces > 0)
    call = int(target.cost("worker_call")) if copied else 0
    both = _Load(*(a + b for a, b in zip(left, right, strict=True)))
    grain, least = grain_of(target, request), (heights[0] * depths[0], depths[0] * widths[0])
    tiles = np.arange(layout.tiles).reshape(-1, wide, cuts, tall)
    ways = [
        _Way(order, -(-elements // grain) >= order.shape[-1])
        for order, elements, part in zip(
            (tiles.transpose(0, 2, 3, 1), tiles), least, (left, right), strict=True
        )
        if part.pieces
    ]
    return copied + call + _exchange(target, layout, both, size, ways)


def _sums(target: Target, layout: ProductLayout) -> int:
    """Return the most cycles in which tiles get partials, and add them up."""
    if not layout.has_partials:
        return 0
    request, (tall, cuts, wide) = layout.request, layout.grid
    (heights, _, widths), size = _sizes(layout), request.partials.size_bytes
    every = []
    for height, width in product(heights, widths):
        part = part_sizes(target, layout, height * width, cuts)
        words = _words(target, part * size)
        sent = int(words.sum() - words.min())
        every.append(_Load(int(words.max()) * (cuts - 1), sent, cuts - 1, int(part.max())))
    load, kinds = _most(every), (request.partials, request.result)
    added = layout.slots * int(partials_cycles(load.longest, cuts - 1, *kinds, target))
    tiles = np.arange(layout.tiles).reshape(-1, wide, cuts, tall)
    is_whole = -(-heights[0] * widths[0] // grain_of(target, request)) >= cuts
    ways = [_Way(tiles.transpose(0, 1, 3, 2), is_whole)]
    return added + _exchange(target, layout, load, size, ways)


def _sizes(layout: ProductLayout) -> list[list[int]]:
    """Return the rows, depths and columns of blocks: of complete ones, and of those at edges."""
    sizes = zip(layout.block, layout.request.sizes, strict=True)
    return [sorted({min(block, size), size % block or min(block, size)}) for block, size in sizes]


def _most(every: Sequence[_Load]) -> _Load:
    return _Load(*(max(column) for column in zip(*every, strict=True)))


def _gathered(
    target: Target, layout: ProductLayout, elements: int, parts: int, size: int, *, is_shared: bool
) -> _Load:
    """Return the elements that tiles receive of a block of which each has a part."""
    part = part_sizes(target, layout, elements, parts)
    words = _words(target, part * size)
    missing = words.sum() - words
    if is_shared:
        mate = np.arange(parts) ^ 1
        half = -(-words // 2)
        missing = half.sum() - half - half[mate] + words[mate]
    others = int(np.count_nonzero(part))
    pieces = others if others < parts or not part.any() else others - 1
    sent = int(words.max()) if parts > 1 else 0
    return _Load(int(missing.max()), sent, pieces if parts > 1 else 0, int(part.max()))


def _words(target: Target, num_bytes: Int64) -> Int64:
    return -(-num_bytes // int(target.cost("word_bytes")))


def _row(target: Target, num_bytes: int) -> int:
    """Return the cycles of copying a row, without the call of workers."""
    per_cycle = int(target.cost("memcpy_bytes_per_cycle"))
    return int(target.cost("copy_piece_cycles")) - (-num_bytes // per_cycle)


def _exchange(
    target: Target, layout: ProductLayout, load: _Load, size: int, ways: Sequence[_Way]
) -> int:
    """Return the most cycles of an exchange of elements of a size in bytes."""
    if not load.pieces:
        return 0
    cost, slots = target.cost, layout.slots
    # The tiles of a pair may send over one lane.
    lanes = max(1, int(cost("pair_tiles")) // int(cost("send_lanes")))
    words = slots * max(load.words, lanes * load.sent)
    payload = -(-words * int(cost("word_bytes")) // target.exchange_bytes_per_cycle)
    sends = 1 + words // int(cost("longest_send_words"))
    each = int(cost("receive_controls") + cost("pointer_controls") + cost("send_controls"))
    controls = slots * load.pieces * each + sends * int(cost("send_controls"))
    first, last = _latencies(target, layout, ways)
    longest = -(-slots * load.longest * size // int(cost("word_bytes")))
    return int(cost("sync_cycles")) + max(first + max(payload, controls), last + longest)


def _latencies(target: Target, layout: ProductLayout, ways: Sequence[_Way]) -> tuple[int, int]:
    """Return the longest times until the first word of a tile arrives, and until any one does."""
    if not has_map(target):
        return (int(target.cost("exchange_cycles")),) * 2
    first, last = np.full(layout.tiles, np.iinfo(np.int64).max), 0
    for tiles, is_whole in ways:
        some = tiles.reshape(-1, tiles.shape[-1])
        source, to = (
            np.ascontiguousarray(a) for a in np.broadcast_arrays(some[:, :, None], some[:, None])
        )
        time = route(target, source.ravel(), to.ravel()).reshape(source.shape)
        arrived = time + int(target.cost("row_cycles")) * places(target)[to, 0]
        arrived -= np.minimum(time.min(axis=2), 0)[:, :, None]
        last = max(last, int(arrived.max()))
        if is_whole:
            arrived[:, range(some.shape[1]), range(some.shape[1])] = last  # none from itself
        first[some] = np.minimum(first[some], arrived.min(1) if is_whole else arrived.max(1))
    start = int(target.cost("setup_cycles") + target.cost("arrival_cycles"))
    return start + int(first.max()), start + last
