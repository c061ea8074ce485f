"""What moving data costs: rows that were measured, the map of the die, and each rule by itself."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pytest

import poplite as pl
from poplite.cost import exchange_cycles as module
from poplite.cost.exchange_cycles import (
    MovedPieces,
    PairSums,
    exchange_phase,
    has_map,
    load_of,
    pairs_of_few,
    places,
    route,
    sum_of_pairs,
)
from poplite.cost.exchange_phases import phases_of_compute_set, phases_of_copy, phases_of_host
from poplite.cost.moved_data import CopiedRows, cycles_of
from poplite.cost.step_cost import PhaseCost
from poplite.graph.compute_sets.edge_table import edge_table
from poplite.source import portable_path

GC2 = pl.Target(architecture="gc2")
C600 = pl.Target(architecture="c600")


class Floats(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = self.x[i]


class Halves(pl.Vertex):
    x: pl.Input[pl.Vector[pl.HALF]]
    y: pl.Output[pl.Vector[pl.HALF]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = self.x[i]


class Halo(pl.Vertex):
    sides: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        self.y = self.sides[0][0]


class Twice(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    z: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        self.y = self.x[0] + self.z[0]


class Double(pl.Vertex):
    y: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = 2.0 * self.y[i]


Phases = tuple[PhaseCost, ...]


def phases_of(graph: pl.Graph, compute_set: pl.ComputeSet) -> tuple[Phases, Phases]:
    return phases_of_compute_set(graph, edge_table(compute_set))


def pieces(*rows: tuple[int, ...]) -> MovedPieces:
    """Make pieces of floats from (source, to, at, size, jumps)."""
    source, to, at, size, jumps = (np.array(column) for column in zip(*rows, strict=True))
    return MovedPieces(source, to, at, size, np.full(len(to), 4), jumps.astype(np.bool_))


# -- measured rows ---------------------------------------------------------------------------------


def blur(height: int, width: int, vertex: type[pl.Vertex], kind: Any) -> tuple[Phases, Phases]:
    """A Gaussian blur of an image of four channels on a grid of tiles of gc2.

    The six workers of a tile share its columns: what each reads and writes lies in many places.

    Args:
        height: pixels of a tile's block.
        width: the same.
        vertex: reads its columns with their halo, and writes them.
        kind: element type.
    """
    graph, rows, columns = pl.Graph(GC2), 4, 5
    shape = (rows * height, columns * width, 4)
    image, result = (graph.add_variable(kind, shape, name) for name in ("image", "result"))
    compute_set = graph.add_compute_set("blur")
    for tile in range(rows * columns):
        top, left = tile // columns * height, tile % columns * width
        block = slice(top, top + height)
        for tensor in (image, result):
            graph.set_tile_mapping(tensor[block, left : left + width], tile)
        for first, last in pairwise(left + width * worker // 6 for worker in range(7)):
            x = image[max(top - 1, 0) : top + height + 1, max(first - 1, 0) : last + 1].flatten()
            y = result[block, first:last].flatten()
            graph.add_vertex(compute_set, vertex, tile=tile, x=x, y=y)
    return phases_of(graph, compute_set)


@pytest.mark.parametrize(
    ("kind", "vertex", "pre", "exchange", "post"),
    [(pl.HALF, Halves, 5_741, 637, 4_826), (pl.FLOAT, Floats, 8_279, 1_173, 6_954)],
)
def test_phases_of_a_blur_are_the_measured_ones(
    kind: Any, vertex: type[pl.Vertex], pre: int, exchange: int, post: int
) -> None:
    (gathered, exchanged), (scattered,) = blur(47, 45, vertex, kind)
    assert [gathered.kind, exchanged.kind, scattered.kind] == ["copy", "exchange", "copy"]
    assert gathered.cycles.most == pytest.approx(pre, rel=0.06)
    assert exchanged.cycles.most == pytest.approx(exchange, rel=0.03)
    assert scattered.cycles.most == pytest.approx(post, rel=0.03)
    # 188 pixels of a halo.
    assert exchanged.received.most == 188 * 4 * kind.size_bytes


@pytest.mark.parametrize(
    ("kind", "vertex", "measured"), [(pl.HALF, Halves, 263), (pl.FLOAT, Floats, 397)]
)
def test_exchange_of_a_blur_on_many_ipus(kind: Any, vertex: type[pl.Vertex], measured: int) -> None:
    (_, exchanged), _ = blur(11, 12, vertex, kind)
    assert exchanged.cycles.most == pytest.approx(measured, rel=0.15)


@pytest.mark.parametrize(("size", "measured"), [(2, 289), (2_048, 1_308)])
def test_a_copy_on_a_tile_takes_what_it_took(size: int, measured: int) -> None:
    graph = pl.Graph(C600)
    a, b = (graph.add_variable(pl.FLOAT, (size,), name, mapping=3) for name in "ab")
    (phase,) = phases_of_copy(graph, pl.Copy(a, b))
    assert phase.kind == "copy"
    assert phase.cycles[3] == pytest.approx(measured, rel=0.04)


def test_a_block_of_a_tile_is_in_one_place() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x, y = (graph.add_variable(pl.FLOAT, (16, 16), name) for name in "xy")
    for tile in range(4):
        top, left = 8 * (tile // 2), 8 * (tile % 2)
        for tensor in (x, y):
            graph.set_tile_mapping(tensor[top : top + 8, left : left + 8], tile)
    compute_set = graph.add_compute_set("cs")
    graph.add_vertex(compute_set, Floats, tile=2, x=x[8:, :8].flatten(), y=y[8:, :8].flatten())
    assert phases_of(graph, compute_set) == ((), ())
    # Sent to another tile, it leaves in one stretch, too: 3 controls there, 1 here.
    other = graph.add_variable(pl.FLOAT, (64,), "other", mapping=0)
    (phase,) = phases_of_copy(graph, pl.Copy(x[8:, :8].flatten(), other))
    assert phase.cycles.most < 64 + 100
    assert phase.received[0] == 256


def test_halos_of_the_makers_model() -> None:
    # 284 cycles of exchange and 166 of sync for 302 words; both tiles of a pair send at once there.
    graph = pl.Graph(pl.Target(architecture="gc2", costs={"send_lanes": 2}))
    x, y = graph.add_variable(pl.FLOAT, (200, 2_000)), graph.add_variable(pl.FLOAT, (2, 20))
    compute_set = graph.add_compute_set("halo")
    for tile in range(40):
        row, column = divmod(tile, 20)
        rows, columns = slice(100 * row, 100 * row + 100), (100 * column, 100 * column + 100)
        graph.set_tile_mapping(x[rows, slice(*columns)], tile)
        graph.set_tile_mapping(y[row, column], tile)
        other = 99 + (1 - row)
        sides = [x[other, max(columns[0] - 1, 0) : columns[1] + 1]]
        sides += [x[rows, k] for k in (columns[0] - 1, columns[1]) if 0 <= k < 2_000]
        graph.add_vertex(compute_set, Halo, tile=tile, sides=sides, y=y[row, column])
    (before, *_), after = phases_of(graph, compute_set)
    assert after == ()
    assert before.kind == "exchange"
    assert before.received.most == 4 * 302
    assert before.cycles.most + before.sync == pytest.approx(284 + 166, rel=0.15)


def test_halos_between_ipus_are_about_the_measured_ones() -> None:
    # An image of 1,122 pixels across, cut among 16 IPUs: 3,043 cycles for 8 bytes a pixel, 4,017
    # for 16, both ways.
    for pixel, measured in ((8, 3_043), (16, 4_017)):
        graph = pl.Graph(pl.Target(tiles=1_600, ipus=16, architecture="gc2"))
        shape = (16, 1_124 * pixel // 4)
        x, up, down = (
            graph.add_variable(pl.FLOAT, shape, name, mapping="linear") for name in "xud"
        )
        both = pl.Copy(pl.concat([x[:-1], x[1:]]), pl.concat([down[1:], up[:-1]]))
        (phase,) = phases_of_copy(graph, both)
        assert phase.kind == "global exchange"
        assert phase.sync == 600
        assert phase.cycles.most == pytest.approx(measured, rel=0.3)


def test_a_stream_takes_what_it_took() -> None:
    # 40 MB in 2,641,488 cycles.
    graph = pl.Graph()
    x = graph.add_variable(pl.FLOAT, (10**7,), "x", mapping="linear")
    program = pl.Copy(graph.add_host_to_device_fifo("in", pl.FLOAT, 10**7), x)
    (phase,) = phases_of_host(graph, program)
    assert phase.kind == "host exchange"
    assert phase.cycles.most == pytest.approx(2_641_488, rel=0.01)
    assert (phase.received.total, phase.sent.total) == (4 * 10**7, 0)
    assert phase.causes[0].what == "'x'"


# -- the map of the die ----------------------------------------------------------------------------


def test_latencies_of_all_pairs() -> None:
    tiles = np.arange(1_472)
    source, to = (each.ravel() for each in np.meshgrid(tiles, tiles, indexing="ij"))
    others = source != to
    routes = route(C600, source, to)[others]
    assert (routes.min(), np.median(routes), routes.max()) == (-78, -12, 112)
    arrival = routes + 52 + 2 * places(C600)[to[others], 0]
    quantities = np.percentile(arrival, [0, 25, 50, 75, 95, 100])
    # SEND to memory, as found by evaluating ipu-stack's topology.rs.
    assert quantities == pytest.approx([19, 48, 63, 78, 109, 165], abs=1)
    assert arrival.mean() == pytest.approx(65, abs=1)
    phase = arrival + np.maximum(0, -routes) + 6
    assert (phase.min(), phase.max()) == (58, 170)
    assert phase.mean() == pytest.approx(C600.cost("latency_cycles"), abs=0.5)


def test_a_broadcast_waits_for_the_last_receiver() -> None:
    ends = []
    for tile in (0, 45, 700, 1_471):
        others = [(tile, to, 0, 1_000, 1) for to in range(1_472) if to != tile]
        ends.append(int(load_of(C600, [pieces(*others)]).last.max()) - 1_000)
    assert min(ends) >= 122
    assert max(ends) <= 199
    assert np.mean(ends) == pytest.approx(153, rel=0.15)  # over all tiles, as ipu-stack finds them


def test_tiles_lie_in_columns_up_and_down() -> None:
    table = places(C600)
    assert table[[0, 1, 44, 46, 90, 92, 1_471], 0].tolist() == [0, 0, 22, 22, 0, 0, 0]
    assert table[[0, 90, 92, 736, 1_471], 1].tolist() == [0, 0, 1, 7, 0]
    assert table[[735, 736], 2].tolist() == [0, 1]
    second_ipu = places(pl.Target(ipus=2, architecture="c600"))[1_472:]
    assert (second_ipu[:, :5] == table[:, :5]).all()
    assert (second_ipu[:, 5] == table[:, 5] + 736).all()


@pytest.mark.parametrize(
    ("target", "known"),
    [(C600, True), (pl.Target(), True), (pl.Target(tiles=5), True), (GC2, False)],
)
def test_machines_with_a_map(target: pl.Target, known: bool) -> None:
    assert has_map(target) is known


def test_beyond_the_map_latency_is_a_constant() -> None:
    target = pl.Target(tiles=1_474)
    assert not has_map(target)
    phase = exchange_phase(target, load_of(target, [pieces((0, 1_473, 0, 50, 1))]), ())
    assert phase.cycles.most == 50 + target.cost("exchange_cycles")


# -- each rule -------------------------------------------------------------------------------------


def test_controls_of_many_small_fragments() -> None:
    # The examples of ipu-stack, cost.rs: 100 words from as many tiles, side by side, or apart.
    side_by_side = [(source, 200, 0, 1, source == 0) for source in range(100)]
    assert load_of(C600, [pieces(*side_by_side)]).controls[-1] == 201
    apart = [(source, 200, 0, 1, 1) for source in range(100)]
    assert load_of(C600, [pieces(*apart)]).controls[-1] == 300
    long = [*side_by_side, (150, 200, 0, 1_000, 0)]
    assert load_of(C600, [pieces(*long)]).words_in[-1] == 1_100


def test_words_for_many_are_sent_once_and_shared_by_a_pair() -> None:
    load = load_of(GC2, [pieces(*((0, to, 0, 10, 1) for to in (2, 3, 5)))])
    assert load.tiles.tolist() == [0, 2, 3, 5]
    assert load.words_out.tolist() == [10, 0, 0, 0]
    assert load.words_in.tolist() == [0, 5, 5, 10]
    assert load.received.tolist() == [0, 40, 40, 40]
    assert load.sent.tolist() == [40, 0, 0, 0]


def test_a_long_send_is_several() -> None:
    assert load_of(C600, [pieces((0, 9, 0, 4_148, 1))]).controls.tolist() == [1, 3]
    assert load_of(C600, [pieces((0, 9, 0, 4_149, 1))]).controls.tolist() == [2, 3]


@pytest.mark.parametrize(("architecture", "cycles"), [("gc2", 300), ("gc200", 200)])
def test_the_tiles_of_a_pair_send_over_one_lane_or_two(
    architecture: Literal["gc2", "gc200"], cycles: int
) -> None:
    # 150 words from each tile of a pair to others, 50 between them.
    target = pl.Target(architecture=architecture, costs={"exchange_cycles": 0})
    moved = pieces((0, 1, 500, 50, 1), (0, 8, 0, 150, 1), (1, 9, 1_000, 150, 1))
    load = load_of(target, [moved])
    latency, spread = load.first, exchange_phase(target, load, ()).cycles
    assert spread[0] == cycles + latency[0]


def test_a_wider_exchange_takes_half() -> None:
    target = pl.Target(architecture="gc2", exchange_bytes_per_cycle=8)
    load = load_of(target, [pieces((0, 8, 0, 1_000, 1))])
    assert exchange_phase(target, load, ()).cycles[8] == 1_100
    assert exchange_phase(GC2, load, ()).cycles[8] == 1_100


def test_elements_of_a_column_are_one_strided_copy() -> None:
    one = np.ones(5, np.int64)
    column = CopiedRows(one, one, np.array([0, 9, 18, 27, 30]), np.arange(5), one, 4 * one)
    assert cycles_of(GC2, column).tolist() == [10, 2, 2, 2, 10]
    rows = column._replace(size=3 * one)
    assert cycles_of(GC2, rows).tolist() == [11] * 5
    apart = column._replace(group=np.arange(5))
    assert cycles_of(GC2, apart).tolist() == [10] * 5


def test_what_is_in_one_place_or_all_elsewhere_is_not_copied() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.FLOAT, (16,), "x", mapping="linear")
    y = graph.add_variable(pl.FLOAT, (2,), "y", mapping=0)
    compute_set = graph.add_compute_set("cs")
    graph.add_vertex(compute_set, Floats, tile=0, x=x[1:3], y=y[:1])
    graph.add_vertex(compute_set, Floats, tile=0, x=pl.concat([x[6:10], x[14:]]), y=y[1:])
    before, after = phases_of(graph, compute_set)
    assert [phase.kind for phase in before] == ["exchange"]
    assert before[0].received[0] == 24
    assert after == ()


def test_an_edge_of_several_places_is_put_together_once_for_a_tile() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.FLOAT, (16,), "x", mapping="linear")
    y = graph.add_variable(pl.FLOAT, (8,), "y", mapping=1)
    compute_set = graph.add_compute_set("cs")
    for number in range(2):
        at = {"x": x[2:8], "y": y[4 * number : 4 * number + 4]}
        graph.add_vertex(compute_set, Floats, tile=1, **at)
    (copied, exchanged), after = phases_of(graph, compute_set)
    assert (copied.copied[1], exchanged.received[1]) == (16, 8)
    assert (copied.buffers[1], exchanged.buffers[1]) == (16, 8)
    assert copied.cycles[1] == 288 + 9 + 2
    assert after == ()
    (cause,) = copied.causes
    assert (cause.what, cause.bytes) == ("field 'x' of Floats", 16)
    assert cause.why == "is gathered from several places"
    assert cause.at.startswith(f"{portable_path(__file__)}:")


def test_what_two_fields_read_comes_once() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.FLOAT, (16,), "x", mapping="linear")
    y = graph.add_variable(pl.FLOAT, (), "y", mapping=0)
    compute_set = graph.add_compute_set("cs")
    graph.add_vertex(compute_set, Twice, tile=0, x=x[4:10], z=x[6:12], y=y)
    (phase,), _ = phases_of(graph, compute_set)
    assert phase.received.array().tolist() == [32, 0, 0, 0]
    assert phase.sent.array().tolist() == [0, 16, 16, 0]
    assert [(cause.what, cause.bytes) for cause in phase.causes] == [
        ("field 'x' of Twice", 24),
        ("field 'z' of Twice", 24),
    ]


def test_what_is_read_and_written_comes_and_goes_in_one_buffer() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    y = graph.add_variable(pl.FLOAT, (16,), "y", mapping="linear")
    compute_set = graph.add_compute_set("cs")
    line = graph.add_vertex(compute_set, Double, tile=1, y=y[2:8]).location.line
    before, after = phases_of(graph, compute_set)
    assert [(p.kind, p.copied.total, p.received.total) for p in before] == [
        ("copy", 16, 0),
        ("exchange", 0, 8),
    ]
    assert [(p.kind, p.copied.total, p.received[0]) for p in after] == [
        ("copy", 16, 0),
        ("exchange", 0, 8),
    ]
    assert [sum(phase.buffers.total for phase in phases) for phases in (before, after)] == [24, 0]
    causes = [phase.causes[0] for phase in after]
    assert [cause.why for cause in causes] == [
        "is scattered to several places",
        "goes to other tiles",
    ]
    assert {int(cause.at.split(":")[1].split()[0]) for cause in causes if cause.at} == {line}


def test_a_regular_block_costs_what_its_vertices_do() -> None:
    counts = []
    for bulk in (True, False):
        graph = pl.Graph(pl.Target(tiles=6))
        x = graph.add_variable(pl.FLOAT, (60, 4), "x", mapping="linear")
        y = graph.add_variable(pl.FLOAT, (60, 4), "y", mapping=[[(0, 120)], [(120, 240)]])
        compute_set = graph.add_compute_set("cs")
        tiles = [5 - number // 10 for number in range(60)]
        if bulk:
            graph.add_vertices(compute_set, Floats, tile=tiles, x=x, y=y)
        else:
            for number, tile in enumerate(tiles):
                graph.add_vertex(compute_set, Floats, tile=tile, x=x[number], y=y[number])
        found = phases_of(graph, compute_set)
        counts.append(
            [
                (each.kind, each.cycles.array().tolist(), each.received.array().tolist())
                for phases in found
                for each in phases
            ]
        )
    assert counts[0] == counts[1]
    assert [kind for kind, *_ in counts[0]] == ["exchange", "exchange"]


def test_replicas_exchange_over_links() -> None:
    graph = pl.Graph(pl.Target(tiles=4, ipus=4), replication_factor=4)
    a, b = (graph.add_variable(pl.FLOAT, (1_000,), name, mapping=0) for name in "ab")
    (phase,) = phases_of_copy(graph, pl.CrossReplicaCopy(a, b, {0: 1, 1: 0, 2: 3, 3: 2}))
    assert phase.kind == "global exchange"
    assert phase.received[0] == phase.sent[0] == 4_000
    # Four links of a card take 43.92 bytes a cycle; the tile itself sends 4.
    assert phase.cycles[0] == 2_054 + 1_000
    (own,) = phases_of_copy(graph, pl.CrossReplicaCopy(a, b, {n: n for n in range(4)}))
    assert own.kind == "copy"


def test_what_goes_to_other_ipus_is_apart() -> None:
    graph = pl.Graph(pl.Target(tiles=8, ipus=2))
    a = graph.add_variable(pl.FLOAT, (8,), "a", mapping="linear")
    b = graph.add_variable(pl.FLOAT, (8,), "b", mapping=2)
    inside, across = phases_of_copy(graph, pl.Copy(a, b))[1:]
    assert (inside.kind, inside.received[2]) == ("exchange", 12)
    assert (across.kind, across.received[2]) == ("global exchange", 16)
    assert across.sync == 600


def test_what_several_tiles_of_an_ipu_want_passes_its_link_once() -> None:
    target = pl.Target(tiles=8, ipus=2)
    graph = pl.Graph(target)
    a = graph.add_variable(pl.FLOAT, (50_000,), "a", mapping=0)
    b = graph.add_variable(pl.FLOAT, (3, 50_000), "b", mapping=[[], [], [], [], [], *_thirds()])
    (phase,) = phases_of_copy(graph, pl.Copy(a.broadcast(3, 0), b.flatten()))
    assert (phase.sent[0], phase.received.total) == (200_000, 600_000)
    assert phase.cycles[0] == 2_054 + 50_000


def _thirds() -> list[list[tuple[int, int]]]:
    return [[(50_000 * k, 50_000 * k + 50_000)] for k in range(3)]


def test_a_copy_of_many_runs_is_added_up_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = pl.Graph(pl.Target(tiles=16))
    a, b = (graph.add_variable(pl.FLOAT, (64, 64), name, mapping="linear") for name in "ab")
    copy = pl.Copy(a.T, b)
    whole = phases_of_copy(graph, copy)
    monkeypatch.setattr("poplite.cost.moved_data.MOST_RUNS", 1_000)
    parts = phases_of_copy(graph, copy)
    assert (
        [phase.kind for phase in parts] == [phase.kind for phase in whole] == ["copy", "exchange"]
    )
    for one, other in zip(parts, whole, strict=True):
        for spread, expected in (
            (one.received, other.received),
            (one.sent, other.sent),
            (one.copied, other.copied),
        ):
            assert spread == expected
        assert one.causes == other.causes
    assert parts[1].cycles.most == pytest.approx(whole[1].cycles.most, rel=0.15)


def test_nothing_takes_nothing() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    a, b = (graph.add_variable(pl.FLOAT, (0,), name) for name in "ab")
    assert phases_of_copy(graph, pl.Copy(a, b)) == ()
    assert phases_of(graph, graph.add_compute_set("empty")) == ((), ())


def test_a_copy_costs_the_same_in_any_order() -> None:
    graph = pl.Graph(C600)
    x = graph.add_variable(pl.FLOAT, (9,), "x", mapping=0)
    y, z = (graph.add_variable(pl.FLOAT, (9,), mapping=tile) for tile in (0, 1))
    for to in (y, z):
        (one,) = phases_of_copy(graph, pl.Copy(x, to))
        (other,) = phases_of_copy(graph, pl.Copy(x.reverse(0), to.reverse(0)))
        assert one.cycles.most == other.cycles.most
        assert one.controls.total == other.controls.total


class Both(pl.Vertex):
    a: pl.Output[pl.Vector[pl.FLOAT]]
    b: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.a)):
            self.a[i] = 0.0
            self.b[i] = 0.0


def test_what_comes_home_lands_in_the_order_of_memory_whatever_field_it_is_of() -> None:
    graph = pl.Graph(C600)
    x = graph.add_variable(pl.FLOAT, (16,), "x", mapping=9)
    controls = []
    for order in ((0, 1, 2, 3), (0, 2, 1, 3)):
        compute_set = graph.add_compute_set()
        parts = [x[4 * k : 4 * k + 4] for k in order]
        for tile in (0, 1):
            a, b = parts[2 * tile : 2 * tile + 2]
            graph.add_vertex(compute_set, Both, tile=tile, a=a, b=b)
        _, (after,) = phases_of_compute_set(graph, edge_table(compute_set))
        controls.append(after.controls[9])
    assert controls == [5, 9]  # one place; turns to two tiles, or to one after the other again


# -- bytes from tile to tile -----------------------------------------------------------------------


Drawn = tuple[np.ndarray, np.ndarray, np.ndarray]


def drawn(tiles: int, count: int, seed: int) -> Drawn:
    rng = np.random.default_rng(seed)
    source, to = rng.integers(0, tiles, (2, count))
    return source, to, rng.integers(1, 9, count)


def pieces_of(columns: Drawn) -> MovedPieces:
    source, to, size = columns
    order = np.argsort(to, kind="stable")
    four = np.full(len(to), 4)
    jumps = np.ones(len(to), np.bool_)
    return MovedPieces(source[order], to[order], four, size[order], four, jumps)


def dense(tiles: int, *several: Drawn) -> np.ndarray:
    """The matrix by receiver and source, in NumPy."""
    found = np.zeros((tiles, tiles), np.int64)
    for source, to, size in several:
        moves = source != to
        np.add.at(found, (to[moves], source[moves]), 4 * size[moves])
    return found


@pytest.mark.parametrize("tiles", [2, 9, 40])
def test_pieces_add_up_by_pair(tiles: int) -> None:
    parts = [drawn(tiles, 200, seed) for seed in range(3)]
    sums = PairSums(tiles)
    for part in parts:
        sums.add(pieces_of(part))
    found = sums.pairs()
    assert found is not None
    expected = dense(tiles, *parts)
    assert (found.block, found.largest) == (1, ())
    assert found.matrix().tolist() == expected.tolist()
    few = pairs_of_few(tiles, [(s, t, 4 * n) for s, t, n in zip(*map(list, parts[0]), strict=True)])
    other = PairSums(tiles)
    other.add(pieces_of(parts[1]))
    both = sum_of_pairs(tiles, [few, other.pairs()])
    assert both is not None
    assert both.bytes.array().sum() == dense(tiles, *parts[:2]).sum()
    assert both.matrix().tolist() == dense(tiles, *parts[:2]).tolist()


def test_very_many_pairs_are_blocks_and_the_largest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_PAIRS", 50)
    monkeypatch.setattr(module, "MOST_BLOCKS", 4)
    monkeypatch.setattr(module, "LARGEST", 3)
    tiles, columns = 10, drawn(10, 300, 0)
    sums = PairSums(tiles)
    sums.add(pieces_of(columns))
    found, expected = sums.pairs(), dense(tiles, columns)
    assert found is not None
    assert found.block == 3  # blocks of tiles 0 to 2, 3 to 5, 6 to 8, and 9
    padded = np.zeros((12, 12), np.int64)
    padded[:10, :10] = expected
    blocks = padded.reshape(4, 3, 4, 3).sum(axis=(1, 3))
    assert found.matrix().tolist() == blocks.tolist()
    sizes = np.sort(expected.ravel())[:-4:-1]
    assert [size for _, _, size in found.largest] == sizes.tolist()
    assert all(expected[to, source] == size for source, to, size in found.largest)
    again = sum_of_pairs(tiles, [found, found])
    assert again is not None
    assert again.bytes.array().tolist() == (2 * found.bytes.array()).tolist()


class Total(pl.Vertex):
    """Adds up."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    total: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        total = 0.0
        for i in range(len(self.x)):
            total += self.x[i]
        self.total = total


@pytest.mark.parametrize("ipus", [1, 2])
def test_rows_add_up_to_what_tiles_receive(ipus: int) -> None:
    graph = pl.Graph(pl.Target(tiles=8, ipus=ipus))
    x = graph.add_variable(pl.FLOAT, (30,), "x", mapping="linear", initial_value=1)
    y = graph.add_variable(pl.FLOAT, (30,), "y", mapping=3)
    totals = graph.add_variable(pl.FLOAT, (8,), "totals", mapping=0)
    add = graph.add_compute_set("add")
    for tile in range(8):
        graph.add_vertex(add, Total, tile=tile, x=x[2 * tile : 2 * tile + 9], total=totals[tile])
    program = pl.Sequence(pl.Repeat(2, pl.Execute(add)), pl.Copy(x, y))
    engine = pl.Engine(graph, program)
    engine.run()
    report = engine.report()
    phases = [phase for step in report.execution.steps for phase in step.phases]
    moving = [phase for phase in phases if "exchange" in phase.kind]
    assert len(moving) >= (3 if ipus == 1 else 5)
    for phase in moving:
        assert phase.pairs is not None
        received = phase.pairs.matrix().sum(axis=1)
        assert received.tolist() == phase.received.array().tolist()
        sent = phase.pairs.matrix().sum(axis=0)
        assert (sent >= phase.sent.array()).all()
        assert not phase.pairs.matrix().diagonal().any()
    assert pl.Report.from_json(report.to_json()) == report
    with engine.tracing() as trace:
        engine.run()
    assert trace.steps[0].phases[0].pairs == phases[0].pairs


def test_the_copy_of_very_many_runs_has_pairs_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from poplite.cost import moved_data

    monkeypatch.setattr(moved_data, "MOST_RUNS", 16)
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.INT, (10, 10), "x", mapping="linear", initial_value=1)
    y = graph.add_variable(pl.INT, (10, 10), "y", mapping="linear")
    engine = pl.Engine(graph, pl.Copy(x.transpose(), y))
    engine.run()
    (step,) = engine.report().execution.steps
    (phase,) = (each for each in step.phases if each.kind == "exchange")
    assert phase.pairs is not None
    assert phase.pairs.matrix().sum(axis=1).tolist() == phase.received.array().tolist()
