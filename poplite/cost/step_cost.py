"""The costs of a step: of one execution at compile time, of all executions after a run.

    before      copies on tiles, sync, exchange, copies     bring inputs to the vertices
    vertices    one entry per family (`poplite.graph.compute_sets.edge_table`)
    after       copies, sync, exchange, copies              bring results back

A Copy has only a `before`. Slots of vertices without a formula are computed later from their
compiled code, or counted during runs if they depend on data (`data_dependent_steps`); everything
else in a `StepCost` is known when the graph is compiled. Reports contain the same phases, summed
over the executions of a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Series, Steps, compact, constant
from poplite.frozen import frozen
from poplite.graph.compute_sets.vertex_block import VertexTiles
from poplite.graph.variable_mapping import Int32
from poplite.jit.build import address, native
from poplite.jit.kernels_tiles import finish, pack
from poplite.report.execution import Cause, PhaseKind, TilePairs
from poplite.report.per_tile import PerTile
from poplite.vertex.compute.meaning import meaning_of
from poplite.vertex.vertex import MultiVertex, Vertex

if TYPE_CHECKING:
    from poplite.machine.target import Target


SlotSource = Literal["given", "formula", "automatic"]
"""The source of the slots of vertices: `set_perf_estimate`; the class's `cycles` method or its
registered estimator; or the compiled code."""

NOTHING: Any = None
"""Zero on every tile, in place of a `PerTile` for the number of tiles of the phase."""


@frozen(eq=False)
class PhaseCost:
    """One phase of a step.

    Attributes:
        kind: the kind of work.
        cycles: cycles that each tile takes.
        sync: cycles from the end of the previous phase on the last tile to the start of this phase;
            0 if no tile waits for the others.
        received: bytes that each tile receives.
        sent: bytes that each tile sends.
        copied: bytes that are rearranged on each tile.
        buffers: bytes that each tile needs until the step ends, to receive or rearrange data.
        causes: the largest causes of the phase, in descending order of bytes; the last one may
            combine all others, without a line.
        controls: number of instructions with which each tile sends and receives.
        pairs: bytes that tiles receive from each other in an exchange; None if there are none.
    """

    kind: PhaseKind
    cycles: PerTile
    sync: int = 0
    received: PerTile = NOTHING
    sent: PerTile = NOTHING
    copied: PerTile = NOTHING
    buffers: PerTile = NOTHING
    causes: tuple[Cause, ...] = ()
    controls: PerTile = NOTHING
    pairs: TilePairs | None = None

    def __post_init__(self) -> None:
        for name in ("received", "sent", "copied", "buffers", "controls"):
            if getattr(self, name) is NOTHING:
                object.__setattr__(self, name, PerTile.nothing(self.cycles.num_tiles))


@frozen(eq=False)
class VertexCosts:
    """The costs of the vertices of a family.

    Attributes:
        cls: the vertex class.
        numbers: position of each vertex in the compute set.
        tiles: the tile of each vertex.
        source: the source of `slots`.
        slots: worker slots of each vertex (tile cycles for a MultiVertex); None if the source is
            "automatic".
        flops: floating-point operations of each vertex; None if they were not given.
        shapes: int64[shapes, words], the distinct values that slots may depend on: see
            `poplite.graph.compute_sets.perf_estimates`. None if slots are known.
        shape: the row of `shapes` for each vertex; None if slots are known.
    """

    cls: type[Vertex]
    numbers: Series
    tiles: VertexTiles
    source: SlotSource
    slots: Series | None
    flops: Series | None
    shapes: Int64 | None
    shape: Series | None


@frozen(eq=False)
class StepCost:
    """The cost of one execution of a step: phases before its vertices, vertices, phases after."""

    before: tuple[PhaseCost, ...] = ()
    vertices: tuple[VertexCosts, ...] = ()
    after: tuple[PhaseCost, ...] = ()


def data_dependent_steps(costs: Sequence[StepCost]) -> frozenset[int]:
    """Return the numbers of the steps in which the work of vertices may depend on data."""
    automatic = {v.cls for cost in costs for v in cost.vertices if v.source == "automatic"}
    varying = {cls for cls in automatic if meaning_of(cls).flow.may_depend_on_data}
    return frozenset(
        number
        for number, cost in enumerate(costs)
        if any(each.source == "automatic" and each.cls in varying for each in cost.vertices)
    )


@frozen(eq=False)
class JoinedCopyCost:
    """One Copy in place of several.

    Attributes:
        steps: the step numbers of these Copies, in the order of the Sequence.
        cost: the modelled cost of one execution of the joined Copy.
    """

    steps: tuple[int, ...]
    cost: StepCost


# -- numbers by tile -------------------------------------------------------------------------------
# Most phases have nonzero numbers on a few tiles, or equal numbers on many tiles.
#
#     from a dense array     0 7 0 5
#     tiles                   1 3
#     values                  7 5


FEW = 8
"""Maximum number of tiles that are handled without arrays.

Justified by benchmarks/compilation.py: `100,000 compute sets of one vertex, built and compiled`.
"""

_ONE = ((1, 0),)
"""The digits of a series that repeats one number."""


def at_tiles(num_tiles: int, tiles: Int64, values: Int64) -> PerTile:
    """Return numbers that are `values` on `tiles`, 0 elsewhere; int64[n] each, tiles ascending."""
    if len(values) <= FEW:
        return at_few(num_tiles, tiles.tolist(), values.tolist())
    some = np.flatnonzero(values)
    if len(some) < len(values):
        tiles, values = tiles[some], values[some]
    return PerTile(num_tiles, compact(tiles), compact(values))


def at_few(num_tiles: int, tiles: Sequence[int], values: Sequence[int]) -> PerTile:
    """Return the numbers of a few tiles, given in ascending order.

    >>> found = at_few(4, [1, 2, 3], [7, 0, 5])
    >>> found.tiles, found.values
    (Steps(first=1, digits=((2, 2),)), Steps(first=7, digits=((2, -2),)))
    """
    if 0 in values:
        tiles = [tile for tile, value in zip(tiles, values, strict=True) if value]
        values = [value for value in values if value]
    return PerTile(num_tiles, _few(tiles), _few(values))


def at_tile(num_tiles: int, tile: int, value: int) -> PerTile:
    """Return numbers that are nonzero on one tile only."""
    return PerTile(num_tiles, Steps(tile, _ONE), Steps(value, _ONE))


def add_to(dense: Int64, spread: PerTile, times: int = 1) -> None:
    """Add numbers, multiplied by a factor, to int64[tiles].

    >>> total = np.array([1, 1, 1, 1])
    >>> add_to(total, PerTile.of(np.array([0, 7, 0, 5])), -1)
    >>> total.tolist()
    [1, -6, 1, -4]
    """
    tiles, values = spread.tiles, spread.values
    if isinstance(tiles, Steps) and tiles.digits == _ONE:
        dense[tiles.first] += times * values.at(0)
        return
    amount = values.array() if (only := _only(values)) is None else only
    if isinstance(tiles, Steps) and len(tiles.digits) == 1 and tiles.digits[0][1] == 1:
        dense[tiles.first : tiles.first + tiles.count] += times * amount
    else:
        dense[tiles.array()] += times * amount


def add_each_to(dense: Int64, spread: PerTile, number: int) -> None:
    """Add one number to int64[tiles] at every tile whose own number is not zero."""
    if spread.num_used:
        numbers = constant(number, spread.num_used)
        add_to(dense, PerTile(spread.num_tiles, spread.tiles, numbers))


def times(spread: PerTile, factor: int) -> PerTile:
    """Return the numbers multiplied by a nonnegative factor.

    >>> times(PerTile.of(np.array([0, 7, 0, 5])), 2).array().tolist()
    [0, 14, 0, 10]
    """
    if not factor or not spread.num_used:
        return PerTile.nothing(spread.num_tiles)
    values = spread.values
    product = (
        values.times(factor) if isinstance(values, Steps) else compact(values.array() * factor)
    )
    return PerTile(spread.num_tiles, spread.tiles, product)


def few(spread: PerTile) -> Sequence[tuple[int, int]] | None:
    """Return the tiles with their numbers, or None if there are more than `FEW`.

    >>> few(PerTile.of(np.array([0, 7, 0, 5])))
    [(1, 7), (3, 5)]
    """
    tiles, values = spread.tiles, spread.values
    if isinstance(tiles, Steps) and tiles.digits == _ONE:
        return [(tiles.first, values.at(0))]
    if tiles.count > FEW:
        return None
    return list(zip(tiles.array().tolist(), values.array().tolist(), strict=True))


def _few(numbers: Sequence[int]) -> Series:
    """Return the same result as `compact`, for a few numbers."""
    count = len(numbers)
    if count < 2:
        return Steps(numbers[0], _ONE) if count else constant(0, 0)
    step = numbers[1] - numbers[0]
    if count == 2 or all([b - a == step for a, b in pairwise(numbers)]):
        return Steps(numbers[0], ((count, step),))
    return compact(np.array(numbers, np.int64))


def _only(values: Series) -> int | None:
    """Return the number that all values equal, if it is evident from their form, else None."""
    if isinstance(values, Steps) and len(values.digits) == 1 and values.digits[0][1] == 0:
        return values.first
    return None


# -- the workers of a tile -------------------------------------------------------------------------
# How the vertices of a tile share its workers:
#
#     slots 5 3 4 4 2 on a tile with three workers    worker 0   5 . . . .
#                                                     worker 1   3 . . 4 . . .
#                                                     worker 2   4 . . . 2 .
# Vertices start in the order of their numbers, each on the worker that is free first. Workers take
# turns, so a slot takes one cycle for each worker, busy or not: the tile above takes 3 * 7 cycles.
# A `MultiVertex` has the tile to itself, for a known number of cycles.
# The start of a compute set is not counted: the known costs (`worker_call`, `amp_launch`) are for
# single kernels called one at a time, and are part of their formulas.
# Sources: IPU Programmer's Guide, "Programming model"; idle slots as in Graphcore's model
# (graphcore/examples, tut6_matrix_vector_opt: 3,802 cycles for 8 rounds of 77 and 2 of 9 slots).


def tile_cycles(
    vertices: Sequence[VertexCosts], slots: Sequence[Series], target: Target
) -> PerTile:
    """Return the cycles that each tile takes to run its vertices of a compute set.

    `slots` contains one series for each family: worker slots of each vertex, or tile cycles for a
    MultiVertex.
    """
    ran = [(each, taken) for each, taken in zip(vertices, slots, strict=True) if taken.count]
    if not ran:
        return PerTile.nothing(target.tiles)
    cycles = np.zeros(target.tiles, np.int64)
    shared = []
    for family, taken in ran:
        if issubclass(family.cls, MultiVertex):
            _add_one_by_one(cycles, family, taken)
        else:
            shared.append((family, taken))
    if shared:
        _add_shared(cycles, shared, target.workers)
    return PerTile.of(cycles)


def tile_work(vertices: Sequence[VertexCosts], slots: Sequence[Series]) -> Int64:
    """Return int64[tiles], the cycles that `tile_cycles` would return if no worker were ever idle.

    There is at least one family.
    """
    work: Int64 = np.zeros(vertices[0].tiles.num_tiles, np.int64)
    for family, taken in zip(vertices, slots, strict=True):
        if taken.count:
            _add_one_by_one(work, family, taken)
    return work


def _add_one_by_one(cycles: Int64, family: VertexCosts, taken: Series) -> None:
    if taken.only is not None:
        cycles += family.tiles.counts() * taken.only
    else:
        np.add.at(cycles, family.tiles.array(), taken.array())


def _add_shared(
    cycles: Int64, families: Sequence[tuple[VertexCosts, Series]], workers: int
) -> None:
    if len({taken.only for _, taken in families}) == 1 and families[0][1].only is not None:
        counts = np.sum([family.tiles.counts() for family, _ in families], axis=0)
        cycles += -(-counts // workers) * workers * families[0][1].only
        return
    tiles = np.concatenate([family.tiles.array() for family, _ in families])
    slots = np.concatenate([taken.array() for _, taken in families])
    numbers = [family.numbers for family, _ in families]
    if not all(a.high < b.low for a, b in zip(numbers, numbers[1:], strict=False)):
        order = np.argsort(np.concatenate([each.array() for each in numbers]), kind="stable")
        tiles, slots = tiles[order], slots[order]
    pack_on(cycles, tiles.astype(np.int32), slots, workers)


def pack_on(cycles: Int64, tiles: Int32, slots: Int64, workers: int) -> None:
    """Add to int64[tiles] the cycles of vertices that share the workers of their tiles.

    `tiles`, int32[vertices], is in the order in which the vertices start; `slots` is
    int64[vertices].

    >>> cycles = np.zeros(1, np.int64)
    >>> pack_on(cycles, np.zeros(5, np.int32), np.array([5, 3, 4, 4, 2]), 3)
    >>> cycles.tolist()
    [21]
    """
    busy_slots = np.zeros(len(cycles) * workers, np.int64)
    native(pack)(address(tiles), address(slots), len(tiles), workers, address(busy_slots))
    native(finish)(address(busy_slots), len(cycles), workers, address(cycles))


def slowest_tile(tiles: Int64, slots: npt.ArrayLike, target: Target) -> int:
    """Return the cycles of the slowest tile, for vertices that do not exist yet.

    Args:
        tiles: int64[n], the tile of each vertex, in the order in which they start.
        slots: [n], worker slots of each vertex; for a `MultiVertex`, which has its tile to itself,
            the slots of its slowest worker.
        target: the machine.

    >>> from poplite.machine.target import Target
    >>> slowest_tile(np.array([0, 0, 1]), [10, 30, 35], Target())
    210
    """
    taken = np.ceil(slots).astype(np.int64)
    if not len(taken):
        return 0
    if np.bincount(tiles).max() <= target.workers:
        return int(taken.max()) * target.workers
    cycles = np.zeros(target.tiles, np.int64)
    pack_on(cycles, tiles.astype(np.int32), taken, target.workers)
    return int(cycles.max())
