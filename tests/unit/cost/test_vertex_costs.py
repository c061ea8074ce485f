"""What vertices and their places cost, as far as is known without compiling them."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest

import poplite as pl
from poplite.arrays.series import Series, Steps, compact, constant, counting
from poplite.cost import locations
from poplite.cost.exchange_phases import phases_of_copy
from poplite.cost.locations import locations_of
from poplite.cost.model import vertex_costs
from poplite.cost.step_cost import PhaseCost, VertexCosts, tile_cycles
from poplite.graph.compute_sets.edge_table import edge_table
from poplite.graph.compute_sets.perf_estimates import distinct, shapes_of, words_of
from poplite.graph.compute_sets.vertex_block import VertexTiles
from poplite.vertex.fields import fields_of

# -- shapes, formulas, estimates -------------------------------------------------------------------


TARGET = pl.Target(tiles=8)


class Gather(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    y: pl.Output[pl.FLOAT]
    n: pl.State[pl.INT]
    scale: pl.State[pl.FLOAT]
    taps: pl.State[pl.Vector[pl.SHORT]]

    def compute(self) -> None:
        self.y = self.x[self.n]


class Twice(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = 2.0 * self.x[i]


class Counted(Twice):
    first: pl.State[pl.INT]

    def cycles(self, target: pl.Target) -> int:
        return 5 + 2 * len(self.x)


def costs_of(graph: pl.Graph, work: pl.ComputeSet) -> tuple[VertexCosts, ...]:
    return vertex_costs(graph, edge_table(work))


def gather(
    graph: pl.Graph, work: pl.ComputeSet, x: int, rows: list[int], n: int, scale: float, taps: int
) -> pl.VertexInstance:
    data = graph.add_variable(pl.FLOAT, (x + 1,), mapping=0)
    parts = [graph.add_variable(pl.FLOAT, (length,), mapping=0) for length in rows]
    fields: dict[str, Any] = {"x": data[:x], "rows": parts, "y": data[x], "n": n}
    return graph.add_vertex(work, Gather, tile=0, scale=scale, taps=[1] * taps, **fields)


def test_words_of_every_kind_of_field() -> None:
    told = [(field.name, field.kind, field.first_word) for field in fields_of(Gather)]
    assert told == [
        *[("x", "length", 0), ("rows", "rows", 1), ("y", "nothing", 3)],
        *[("n", "value", 3), ("scale", "nothing", 4), ("taps", "length", 4)],
    ]
    graph = pl.Graph(TARGET)
    work = graph.add_compute_set("work")
    gather(graph, work, 5, [2, 4], -3, 0.5, 3)
    gather(graph, work, 5, [6], 2, 0.5, 3)
    gather(graph, work, 5, [], 2, 0.5, 3)
    gather(graph, work, 5, [3, 3], -3, 1.5, 3)
    (family,) = edge_table(work).families
    columns = words_of(family)
    assert [each if isinstance(each, int) else each.tolist() for each in columns] == [
        *[5, [2, 1, 0, 2], [6, 6, 0, 6], [-3, 2, 2, -3], 3]
    ]
    shapes, shape = shapes_of(columns, 4)
    assert shapes.tolist() == [[5, 2, 6, -3, 3], [5, 1, 6, 2, 3], [5, 0, 0, 2, 3]]
    assert shape.array().tolist() == [0, 1, 2, 0]


def test_state_of_64_bits_wraps_and_truth_is_a_number() -> None:
    class Flags(pl.Vertex):
        y: pl.Output[pl.FLOAT]
        big: pl.State[pl.UNSIGNED_LONGLONG]
        on: pl.State[pl.BOOL]

        def compute(self) -> None:
            self.y = 1

    graph = pl.Graph(TARGET)
    y = graph.add_variable(pl.FLOAT, (6,), mapping=0)
    work = graph.add_compute_set("work")
    big = np.array([1, 2**64 - 1, 2**63], np.uint64)
    graph.add_vertices(work, Flags, tile=0, y=y[:3], big=big, on=True)
    graph.add_vertices(work, Flags, tile=0, y=y[3:], big=2**64 - 2, on=[True, False, True])
    found = [words_of(family) for family in edge_table(work).families]
    told = [[each if isinstance(each, int) else each.tolist() for each in row] for row in found]
    assert told == [[[1, -1, -(2**63)], 1], [-2, [1, 0, 1]]]


def test_regular_vertices_take_no_memory_by_vertex() -> None:
    graph = pl.Graph(TARGET)
    x = graph.add_variable(pl.FLOAT, (1000, 7), mapping=0)
    work = graph.add_compute_set("work")
    graph.add_vertices(work, Twice, tile=3, x=x)
    (costs,) = costs_of(graph, work)
    assert (costs.source, costs.slots, costs.flops) == ("automatic", None, None)
    assert costs.shapes is not None
    assert costs.shapes.tolist() == [[7]]
    assert costs.shape == constant(0, 1000)
    assert (costs.tiles.count, costs.tiles.at(999)) == (1000, 3)


@pytest.mark.parametrize("count", [20, 3000])
def test_irregular_vertices_are_told_apart(count: int) -> None:
    # Few are compared in Python, many by the kernel.
    made = np.random.default_rng(count)
    small, large = made.integers(0, 4, count), made.integers(-3, 3, count) << 40
    first, kind = distinct([small, 9, large], count)
    rows = [(small[k], large[k]) for k in range(count)]
    assert first.tolist() == sorted(rows.index(row) for row in set(rows))
    assert [rows[first[k]] for k in kind.array()] == rows


def singles(graph: pl.Graph, lengths: list[int]) -> tuple[pl.ComputeSet, list[pl.VertexInstance]]:
    work = graph.add_compute_set("work")
    made = []
    for k, length in enumerate(lengths):
        x = graph.add_variable(pl.FLOAT, (length,), mapping=0)
        made.append(graph.add_vertex(work, Twice, tile=k % 8, x=x))
    return work, made


def test_vertices_with_numbers_of_their_own_are_apart() -> None:
    graph = pl.Graph(TARGET)
    work, vertices = singles(graph, [3, 4, 3, 5, 4])
    graph.set_perf_estimate(vertices[1], 50, flops=8)
    graph.set_perf_estimate(vertices[3], 60)
    given, rest = costs_of(graph, work)
    assert (given.source, rest.source) == ("given", "automatic")
    assert (given.numbers.array().tolist(), rest.numbers.array().tolist()) == ([1, 3], [0, 2, 4])
    assert (given.tiles.array().tolist(), rest.tiles.array().tolist()) == ([1, 3], [0, 2, 4])
    assert given.slots is not None
    assert given.flops is not None
    assert (given.slots.array().tolist(), given.flops.array().tolist()) == ([50, 60], [8, 0])
    assert (given.shapes, given.shape) == (None, None)
    assert rest.shapes is not None
    assert rest.shape is not None
    assert rest.shapes.tolist() == [[3], [4]]
    assert rest.shape.array().tolist() == [0, 0, 1]


def test_all_have_numbers_of_their_own() -> None:
    graph = pl.Graph(TARGET)
    work, vertices = singles(graph, [3, 4])
    for cycles, vertex in enumerate(vertices):
        graph.set_perf_estimate(vertex, cycles)
    x = graph.add_variable(pl.FLOAT, (3, 2), mapping=0)
    graph.set_perf_estimate(graph.add_vertices(work, Twice, tile=1, x=x), [7, 8, 9], flops=2)
    single, block = costs_of(graph, work)
    assert single.slots is not None
    assert (single.source, single.slots.array().tolist(), single.flops) == ("given", [0, 1], None)
    assert block.slots is not None
    assert (block.slots.array().tolist(), block.flops) == ([7, 8, 9], Steps(2, ((3, 0),)))
    assert block.numbers == Steps(2, ((3, 1),))


def test_a_formula_is_asked_once_for_what_it_looks_at() -> None:
    asked = []

    class Noted(Counted):
        def cycles(self, target: pl.Target) -> int:
            asked.append(len(self.x))
            return super().cycles(target) + 100 * target.workers

    graph = pl.Graph(pl.Target(tiles=8, workers=4))
    x = graph.add_variable(pl.FLOAT, (1200,), mapping=0)
    work = graph.add_compute_set("work")
    parts = [x[6 * k : 6 * k + 3 + k % 3] for k in range(200)]
    graph.add_vertices(work, Noted, tile=np.arange(200) % 8, x=parts, first=np.arange(200) * 1000)
    (costs,) = costs_of(graph, work)
    assert costs.source == "formula"
    assert costs.slots is not None
    assert costs.slots.array().tolist() == [405 + 2 * (3 + k % 3) for k in range(200)]
    assert len(asked) <= 5  # the first, and one of each length; 200 differ in `first`
    assert (costs.shapes, costs.shape, costs.flops) == (None, None, None)


def test_an_estimator_is_asked_once_for_equal_sizes_and_state() -> None:
    graph = pl.Graph(TARGET)
    work = graph.add_compute_set("work")
    given: list[tuple[list[int], float, int]] = [
        *[([2, 4], 0.5, 2), ([3, 3], 0.5, 2), ([2, 4], 1.5, 2), ([2, 4], 0.5, 3), ([2, 4], 0.5, 2)]
    ]
    for rows, scale, taps in given:
        gather(graph, work, 5, rows, 1, scale, taps)
    asked = []

    def cost(vertex: pl.VertexInstance, target: pl.Target) -> pl.VertexPerfEstimate:
        asked.append(vertex.index)
        scale = vertex.field_info("scale").initial_value
        assert scale is not None
        return pl.VertexPerfEstimate(
            int(100 * scale) + vertex.field_info("rows").size_at(0), flops=target.workers
        )

    graph.register_perf_estimator(Gather, cost)
    (costs,) = costs_of(graph, work)
    assert costs.source == "formula"
    assert costs.slots is not None
    assert costs.slots.array().tolist() == [52, 53, 152, 52, 52]
    assert costs.flops == constant(6, 5)
    assert asked == [0, 1, 2, 3]


def test_an_estimator_is_asked_for_one_of_a_block() -> None:
    graph = pl.Graph(TARGET)
    x = graph.add_variable(pl.FLOAT, (1000, 4), mapping=0)
    work = graph.add_compute_set("work")
    graph.add_vertices(work, Counted, tile=0, x=x, first=7)
    asked = []

    def cost(vertex: pl.VertexInstance, target: pl.Target) -> int:
        asked.append(vertex.index)
        return 9 * vertex.field_info("x").size

    graph.register_perf_estimator(Twice, cost)
    assert costs_of(graph, work)[0].slots == constant(13, 1000)  # that of the nearer class
    graph.register_perf_estimator(Counted, cost)
    assert costs_of(graph, work)[0].slots == constant(36, 1000)
    assert asked == [0]


def test_only_vertices_without_a_number_ask_the_estimator() -> None:
    graph = pl.Graph(TARGET)
    work, vertices = singles(graph, [3, 4, 5])
    graph.set_perf_estimate(vertices[0], 1)
    graph.register_perf_estimator(Twice, lambda vertex, target: 10 * vertex.index)
    given, rest = costs_of(graph, work)
    assert given.slots == constant(1, 1)
    assert rest.slots is not None
    assert rest.slots.array().tolist() == [10, 20]


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (
            "12",
            pl.ElementTypeError,
            "estimator of vertex 0 of 'Twice' on tile 0: cycles='12' is not a whole",
        ),
        (
            -4,
            pl.SizeOverflowError,
            "estimator of vertex 0 of 'Twice' on tile 0: cycles=-4, but at least 0",
        ),
    ],
)
def test_an_estimator_returns_a_number(
    answer: Any, error: type[pl.PopliteError], message: str
) -> None:
    graph = pl.Graph(TARGET)
    work, _ = singles(graph, [3])
    graph.register_perf_estimator(Twice, lambda vertex, target: answer)
    with pytest.raises(error, match=message):
        costs_of(graph, work)


def added_on(make: Callable[[pl.Graph], pl.Graph]) -> list[int]:
    graph = pl.Graph(pl.Target(tiles=8, ipus=2))
    part = make(graph)
    work = part.add_compute_set("work")
    x = part.add_variable(pl.FLOAT, (4, 3), mapping=0)
    for k in (2, 1):
        part.add_vertex(work, Counted, tile=k, x=x[k], first=0)
    part.add_vertices(work, Counted, tile=[3, 0], x=x[::3], first=0)
    return [
        tile
        for costs in vertex_costs(graph.top_level_graph, edge_table(work))
        for tile in costs.tiles.array().tolist()
    ]


def test_tiles_are_those_of_the_top_level_graph() -> None:
    assert added_on(lambda graph: graph) == [2, 1, 3, 0]
    assert added_on(lambda graph: graph.create_virtual_graph(4, 8)) == [6, 5, 7, 4]
    assert added_on(lambda graph: graph.create_virtual_graph([6, 5, 1, 0])) == [1, 5, 0, 6]


def test_costs_of_replicas_are_those_of_one() -> None:
    graph = pl.Graph(pl.Target(tiles=8, ipus=2), replication_factor=2)
    work = graph.add_compute_set("work")
    graph.add_vertex(
        work, Counted, tile=3, x=graph.add_variable(pl.FLOAT, (2,), mapping=0), first=0
    )
    (costs,) = costs_of(graph, work)
    assert (costs.tiles.num_tiles, costs.tiles.array().tolist()) == (4, [3])


# -- workers of a tile -----------------------------------------------------------------------------


class One(pl.Vertex):
    x: pl.InOut[pl.FLOAT]

    def compute(self) -> None:
        self.x = 1


class All(pl.MultiVertex):
    x: pl.InOut[pl.FLOAT]

    def compute(self, worker: int) -> None:
        self.x = 1


FOUR_TILES = pl.Target(tiles=4)


def family(
    cls: type[pl.Vertex], tiles: list[int], slots: list[int], numbers: Series | None = None
) -> tuple[VertexCosts, Series]:
    placed = VertexTiles.of(np.array(tiles, np.int64), FOUR_TILES.tiles)
    given = compact(np.array(slots, np.int64))
    numbers = counting(0, len(tiles)) if numbers is None else numbers
    return VertexCosts(cls, numbers, placed, "given", given, None, None, None), given


def cycles(*families: tuple[VertexCosts, Series], target: pl.Target = FOUR_TILES) -> list[int]:
    costs, slots = [costs for costs, _ in families], [slots for _, slots in families]
    return [*map(int, tile_cycles(costs, slots, target).array())]


def test_nothing_takes_nothing() -> None:
    assert not tile_cycles([], [], FOUR_TILES).num_used
    costs, slots = family(One, [], [])
    assert not tile_cycles([costs], [slots], FOUR_TILES).num_used


def test_a_worker_with_nothing_to_do_lets_no_other_go_faster() -> None:
    assert cycles(family(One, [2], [100])) == [0, 0, 600, 0]
    assert cycles(family(One, [2] * 6, [100] * 6)) == [0, 0, 600, 0]
    assert cycles(family(One, [2] * 7, [100] * 7)) == [0, 0, 1200, 0]


def test_the_published_program_of_48_vertices_on_a_tile() -> None:
    # 48 dot products, then 9 that add up: 3,802 cycles in Graphcore's model, as tiles differ.
    dots, sums = family(One, [0] * 48, [77] * 48), family(One, [0] * 9, [9] * 9)
    assert cycles(dots)[0] + cycles(sums)[0] == 8 * 6 * 77 + 2 * 6 * 9 == 3_804


def test_each_goes_to_the_worker_that_is_free_first() -> None:
    target = pl.Target(tiles=4, workers=3)
    assert cycles(family(One, [0] * 5, [5, 3, 4, 4, 2]), target=target) == [21, 0, 0, 0]
    assert cycles(family(One, [0, 1] * 3, [9, 1, 9, 1, 9, 1]), target=target) == [27, 3, 0, 0]
    single = pl.Target(tiles=4, workers=1)
    assert cycles(family(One, [3] * 3, [5, 0, 2]), target=single) == [0, 0, 0, 7]


def test_families_start_in_the_order_of_their_numbers() -> None:
    target = pl.Target(tiles=4, workers=2)
    # 8 first, then 1 1 1 beside it; or 1 and 1, then 8 beside 1.
    short, long = [0, 0, 0], [0]
    in_front = family(One, short, [1] * 3, counting(1, 3)), family(One, long, [8], counting(0, 1))
    behind = family(One, short, [1] * 3, counting(0, 3)), family(One, long, [8], counting(3, 1))
    mixed = (
        family(One, short, [1] * 3, compact(np.array([0, 2, 3]))),
        family(One, long, [8], counting(1, 1)),
    )
    assert [cycles(*each, target=target)[0] for each in (in_front, behind, mixed)] == [16, 18, 16]
    assert cycles(*reversed(behind), target=target)[0] == 18


def test_families_of_equal_slots_share_workers() -> None:
    assert cycles(
        family(One, [0] * 4, [10] * 4), family(One, [0] * 3, [10] * 3, counting(4, 3))
    ) == [*(120, 0, 0, 0)]


def test_a_multi_vertex_has_its_tile_for_itself() -> None:
    assert cycles(family(All, [0, 0, 3], [101, 101, 101])) == [202, 0, 0, 101]
    assert cycles(family(All, [0, 0, 3], [101, 50, 7])) == [151, 0, 0, 7]
    assert cycles(family(One, [0], [10]), family(All, [0], [100], counting(1, 1)))[0] == 160


@pytest.mark.parametrize("equal", [True, False])
def test_many_vertices_are_shared_out(equal: bool) -> None:
    made = np.random.default_rng(3)
    tiles = made.integers(0, 4, 500).tolist()
    slots = [37] * 500 if equal else made.integers(0, 90, 500).tolist()
    found = cycles(family(One, tiles, slots))
    busy = [[0] * 6 for _ in range(4)]
    for tile, taken in zip(tiles, slots, strict=True):
        own = busy[tile]
        own[own.index(min(own))] += taken
    assert found == [6 * max(own) for own in busy]
    fewer = cycles(family(One, tiles, slots), family(One, [0], [1], counting(500, 1)))
    assert fewer[1:] == found[1:]


# -- places in the memory of tiles -----------------------------------------------------------------


def kinds(graph: pl.Graph, source: pl.Tensor, destination: pl.Tensor) -> list[str]:
    return [phase.kind for phase in phases_of_copy(graph, pl.Copy(source, destination))]


def gathered(sizes: list[int], tile: int) -> int:
    """Return the cycles of a Copy of four scalars, with other variables on a tile between them."""
    graph = pl.Graph(pl.Target(tiles=2))
    scalars = []
    for size in sizes:
        scalars.append(graph.add_variable(pl.FLOAT, (1,), mapping=0))
        if size:
            graph.add_variable(pl.FLOAT, (size,), mapping=tile)
    together = graph.add_variable(pl.FLOAT, (len(sizes),), mapping=0)
    (phase,) = phases_of_copy(graph, pl.Copy(pl.concat(scalars), together))
    return phase.cycles.most


def test_scalars_at_even_distances_in_memory_are_one_strided_copy() -> None:
    even = gathered([0, 0, 0, 0], 0)
    assert gathered([3, 3, 3, 0], 0) == even
    # What lies between them on their tile counts, what lies elsewhere does not.
    assert gathered([0, 5, 0, 0], 0) > even
    assert gathered([0, 5, 0, 0], 1) == even


def test_elements_on_no_tile_part_what_is_beside_them() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x, y = (graph.add_variable(pl.FLOAT, (size,)) for size in (6, 4))
    graph.set_tile_mapping(x, [[(0, 2), (4, 6)]])
    graph.set_tile_mapping(y, 0)
    (parted,) = phases_of_copy(graph, pl.Copy(pl.concat([x[:2], x[4:]]), y))
    graph.set_tile_mapping(x[2:4], 1)
    (joined,) = phases_of_copy(graph, pl.Copy(pl.concat([x[:2], x[4:]]), y))
    assert parted.copied.total == joined.copied.total == 16
    assert parted.cycles.most > joined.cycles.most


def test_a_mapping_that_changes_is_looked_at_again() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x, y = (graph.add_variable(pl.FLOAT, (8,), mapping=tile) for tile in (0, 1))
    assert kinds(graph, x, y) == ["exchange"]
    graph.set_tile_mapping(y, 0)
    assert kinds(graph, x, y) == ["copy"]
    graph.set_tile_mapping(y[4:], 2)
    assert kinds(graph, x, y) == ["copy", "exchange"]
    z = graph.add_variable(pl.FLOAT, (8,), mapping=3)
    assert kinds(graph, x, z) == ["exchange"]


def test_copies_alike_have_causes_of_their_own() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    tiles = {"a": 0, "b": 1, "c": 1}
    a, b, c = (graph.add_variable(pl.FLOAT, (8,), name, mapping=t) for name, t in tiles.items())
    one, other = (phases_of_copy(graph, pl.Copy(a, to))[0] for to in (b, c))
    assert one.cycles.array().tolist() == other.cycles.array().tolist()
    assert [phase.causes[0].what for phase in (one, other)] == ["'a' -> 'b'", "'a' -> 'c'"]
    longer = phases_of_copy(graph, pl.Copy(a[:4], c[4:]))[0]
    assert (longer.causes[0].bytes, longer.received.total) == (16, 16)


def test_what_is_found_does_not_keep_a_graph_alive() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    codes = graph.add_variable(pl.QUARTER, (4,), mapping=0, metadata=pl.QuarterMetadata("F143"))
    x, y = (graph.add_variable(pl.FLOAT, (4,), mapping=tile) for tile in (0, 1))
    assert kinds(graph, x, y) == ["exchange"]
    assert codes.metadata is not None
    lives = weakref.ref(graph)
    del graph, codes, x, y
    gc.collect()
    assert lives() is None


@pytest.mark.parametrize(("begin", "end"), [(0, 1), (5, 15), (3, 40), (0, 256), (255, 256)])
def test_slices_of_what_is_on_many_tiles(begin: int, end: int) -> None:
    graph = pl.Graph(pl.Target(tiles=64))
    x = graph.add_variable(pl.FLOAT, (256,), mapping="linear")
    y = graph.add_variable(pl.FLOAT, (256,))
    graph.set_tile_mapping(y, [[(4 * (k * 37 % 64), 4 * (k * 37 % 64) + 4)] for k in range(64)])
    for source, destination in ((x, y), (y, x)):
        copy = pl.Copy(source[begin:end], destination[: end - begin])
        phases = phases_of_copy(graph, copy)
        with mock.patch.object(locations, "FEW", 0):
            again = phases_of_copy(graph, copy)
        assert list(map(told, again)) == list(map(told, phases))
        assert sum(phase.received.total + phase.copied.total for phase in phases) == 4 * (
            end - begin
        )


def told(phase: PhaseCost) -> tuple[object, ...]:
    spreads = phase.cycles, phase.received, phase.sent, phase.copied, phase.controls
    return phase.kind, phase.causes, *[spread.array().tolist() for spread in spreads]


def test_tables_of_some_variables_say_what_that_of_all_does() -> None:
    graph = pl.Graph(pl.Target(tiles=8))
    tiles = np.random.default_rng(1).integers(0, 8, (20, 12))
    for own in tiles:
        graph.set_tile_mapping(
            graph.add_variable(pl.FLOAT, (12,)),
            [[(int(k), int(k) + 1) for k in np.flatnonzero(own == tile)] for tile in range(8)],
        )
    found = locations_of(graph)
    bases = np.array([variable.storage.base for variable in graph.variables])
    some, every = found.many(bases[[3, 5]]), found.many(np.repeat(bases, 12))
    assert len(some.tiles) < len(every.tiles)
    for number in (3, 5):
        for address in range(bases[number], bases[number] + 12):
            places = []
            for table in (some, every, found.few([address], [address + 1])):
                assert table is not None
                segment = int(np.searchsorted(table.breaks, address, side="right")) - 1
                places.append((table.tiles[segment], address + table.places[segment]))
            assert places[0] == places[1] == places[2]
            assert places[0][0] == tiles[number, address - bases[number]]


def test_reading_the_tiles_of_a_variable_leaves_what_is_known_of_the_graph() -> None:
    graph = pl.Graph(pl.Target(tiles=8))
    tensors = [graph.add_variable(pl.FLOAT, (4,), mapping=tile) for tile in range(8)]
    known = locations_of(graph)
    assert known.few([0], [4]) is not None
    assert graph.tile_mapping(tensors[1]).is_complete
    assert locations_of(graph) is known
    graph.set_tile_mapping(tensors[2], 3)
    assert locations_of(graph) is not known
