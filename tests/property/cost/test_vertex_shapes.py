"""Costs of vertices against plain Python: shapes vertex by vertex, workers with a queue."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from hypothesis import given, strategies as st

import poplite as pl
from poplite.arrays.series import compact
from poplite.cost.model import alike, vertex_costs
from poplite.cost.step_cost import pack_on, tile_cycles
from poplite.graph.compute_sets.edge_table import edge_table
from poplite.graph.compute_sets.perf_estimates import distinct, shapes_of, words_of, words_of_vertex
from poplite.jit.kernels_intervals import distinct as distinct_kernel
from poplite.jit.kernels_tiles import finish, pack

vertices = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 50)), max_size=40)


def queued(made: list[tuple[int, int]], workers: int) -> list[int]:
    """Return tile cycles by an event queue: (when it is free, worker) of each tile."""
    queues = [[(0, worker) for worker in range(workers)] for _ in range(4)]
    for tile, slots in made:
        free, worker = queues[tile][0]
        heapq.heapreplace(queues[tile], (free + slots, worker))
    return [workers * max(queue)[0] for queue in queues]


def packed(made: list[tuple[int, int]], workers: int) -> list[int]:
    cycles = np.zeros(4, np.int64)
    tiles, slots = np.array(made, np.int64).reshape(-1, 2).T
    pack_on(cycles, tiles.astype(np.int32), np.ascontiguousarray(slots), workers)
    return [int(cycle) for cycle in cycles]


@given(vertices, st.integers(1, 7), st.sampled_from([1, 5]))
def test_workers_are_given_vertices_as_they_get_free(
    made: list[tuple[int, int]], workers: int, times: int
) -> None:
    # Few are shared out in Python; five times as many, mostly by the kernel.
    assert packed(made * times, workers) == queued(made * times, workers)


@given(vertices, st.integers(1, 7))
def test_the_kernel_is_plain_python_too(made: list[tuple[int, int]], workers: int) -> None:
    busy, cycles = [0] * (4 * workers), [0] * 4
    tiles, slots = [tile for tile, _ in made], [each for _, each in made]
    pack(tiles, slots, len(made), workers, busy)
    assert finish(busy, 4, workers, cycles) == max(cycles)
    assert cycles == queued(made, workers)
    assert not any(busy)


@given(st.integers(1, 100), st.integers(0, 50), st.integers(1, 7))
def test_equal_slots_have_a_closed_form(count: int, slots: int, workers: int) -> None:
    assert packed([(0, slots)] * count, workers)[0] == -(-count // workers) * slots * workers


@given(vertices, st.integers(1, 7), st.data())
def test_less_work_takes_a_worker_no_longer_than_all(
    made: list[tuple[int, int]], workers: int, data: st.DataObject
) -> None:
    # Packing in order is not monotone vertex by vertex, but it stays between two bounds.
    tile = data.draw(st.integers(0, 3))
    own = [slots for at, slots in made if at == tile]
    most, total = max(own, default=0), sum(own)
    found = packed(made, workers)[tile]
    assert max(workers * most, total) <= found <= total + (workers - 1) * most


rows = st.lists(st.tuples(st.integers(-2, 2), st.integers(0, 1), st.integers(-1, 0)), min_size=1)


@given(rows, st.integers(1, 30))
def test_vertices_are_told_apart_by_all_words(made: list[tuple[int, int, int]], times: int) -> None:
    columns = list(np.array(made * times, np.int64).T)
    shapes, shape = shapes_of(columns, len(made) * times)
    assert [tuple(shapes[k].tolist()) for k in shape.array()] == made * times
    assert len({*map(tuple, shapes.tolist())}) == len(shapes)
    order = list(dict.fromkeys(made))
    assert [tuple(row) for row in shapes.tolist()] == order


@given(rows)
def test_the_kernel_that_tells_apart_is_plain_python_too(made: list[tuple[int, int, int]]) -> None:
    places = 4 << len(made).bit_length()
    columns = [int(word) << 40 for word in np.array(made).T.flat]
    first, index = [0] * len(made), [0] * len(made)
    table = [-1] * places
    found = distinct_kernel(columns, 3, len(made), table, places - 1, first, index)
    expected = distinct(list(np.array(made, np.int64).T << 40), len(made))
    assert (first[:found], index) == (expected[0].tolist(), expected[1].array().tolist())


@given(st.lists(st.lists(st.integers(0, 1), max_size=3), min_size=1, max_size=8))
def test_parts_of_equal_values_are_alike(parts: list[list[int]]) -> None:
    values = np.array([value for part in parts for value in part], np.int16)
    numbers = alike(values, compact(np.array([len(part) for part in parts])))
    found = [0] * len(parts) if isinstance(numbers, int) else numbers.tolist()
    assert all((a == b) == (x == y) for a, x in zip(parts, found) for b, y in zip(parts, found))  # noqa: B905


class Mixed(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    y: pl.Output[pl.FLOAT]
    n: pl.State[pl.INT]
    taps: pl.State[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        self.y = self.x[self.n]

    def cycles(self, target: pl.Target) -> int:
        slots = 3 + len(self.x) + 10 * sum(len(row) for row in self.rows)
        return slots + 1000 * len(self.taps) if self.n > 1 else slots


mixed = st.fixed_dictionaries(
    {
        "x": st.integers(1, 3),
        "rows": st.lists(st.integers(1, 3), max_size=3),
        "n": st.integers(0, 3),
        "taps": st.integers(0, 2),
        "tile": st.integers(0, 3),
    }
)


def added(graph: pl.Graph, all_fields: list[dict[str, Any]], *, block: bool) -> pl.ComputeSet:
    work = graph.add_compute_set("work")
    data = graph.add_variable(pl.FLOAT, (10,), mapping=0)
    y = graph.add_variable(pl.FLOAT, (len(all_fields),), mapping=0)
    made = [
        {
            "x": data[: fields["x"]],
            "rows": [data[:size] for size in fields["rows"]],
            "y": y[k],
            "n": fields["n"],
            "taps": [0.5] * fields["taps"],
        }
        for k, fields in enumerate(all_fields)
    ]
    tiles = [fields["tile"] for fields in all_fields]
    if block:
        columns = {name: [fields[name] for fields in made] for name in made[0]}
        graph.add_vertices(work, Mixed, tile=tiles, **(columns | {"y": y}))
    else:
        for tile, fields in zip(tiles, made, strict=True):
            graph.add_vertex(work, Mixed, tile=tile, **fields)
    return work


@given(st.lists(mixed, min_size=1, max_size=6), st.booleans())
def test_words_and_costs_are_those_of_each_vertex(
    all_fields: list[dict[str, Any]], block: bool
) -> None:
    target = pl.Target(tiles=4)
    graph = pl.Graph(target)
    work = added(graph, all_fields, block=block)
    (family,) = edge_table(work).families
    columns = words_of(family)
    words = [
        [c if isinstance(c, int) else int(c[k]) for c in columns] for k in range(len(all_fields))
    ]
    assert words == [words_of_vertex(vertex) for vertex in work.vertices]
    assert words == [
        [each["x"], len(each["rows"]), sum(each["rows"]), each["n"], each["taps"]]
        for each in all_fields
    ]
    (costs,) = vertex_costs(graph, edge_table(work))
    estimates = [graph.perf_estimate(vertex) for vertex in work.vertices]
    assert costs.slots is not None
    slots = costs.slots.array().tolist()
    assert slots == [each.cycles for each in estimates if each is not None]
    found = tile_cycles([costs], [costs.slots], target).array().tolist()
    assert found == queued(list(zip([f["tile"] for f in all_fields], slots, strict=True)), 6)


@given(st.lists(mixed, min_size=1, max_size=6))
def test_a_virtual_graph_costs_the_same_elsewhere(all_fields: list[dict[str, Any]]) -> None:
    whole = pl.Graph(pl.Target(tiles=8, ipus=2))
    parts = [whole.create_virtual_graph(0, 4), whole.create_virtual_graph(4, 8)]
    here, there = (
        tile_cycles([costs], [costs.slots], whole.target).array().tolist()
        for part in parts
        for work in [added(part, all_fields, block=True)]
        for costs in vertex_costs(whole, edge_table(work))
        if costs.slots is not None
    )
    assert here[:4] == there[4:]
    assert here[4:] == there[:4] == [0] * 4
