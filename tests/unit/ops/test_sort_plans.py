"""How rows are cut for sorting: cycles on many tiles and on few, and any plan sorts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples, interpreted, thinned
from poplite import ops
from poplite.ops.order.sorting import ORDERED, NetworkBlocks, Rows, SortPlan, sort_plan
from poplite.vertices.order import key_rule

LINES = [  # tiles, rows, elements, most cycles; with a row on a tile, or blocks of 1,024
    (1472, 1, 1_024, 12_500),  # 242,607
    (1472, 1, 4_096, 23_000),  # 938,818
    (1472, 1, 16_384, 55_000),  # 487,928
    (1472, 1, 65_536, 115_000),  # 707,902
    (1472, 100, 300, 13_000),  # 106,099
    (1472, 1472, 100, 16_500),  # 63,561
    (64, 1, 4_096, 33_000),  # 934,278
    (64, 20, 5_000, 360_000),  # 1,163,842
    (4, 1, 1_024, 53_000),  # 240,114
    (1, 1, 1_024, 180_000),  # 240,114
]


@pytest.mark.parametrize(
    ("tiles", "count", "size", "most"), thinned(LINES, keep=[LINES[0], LINES[8]])
)
def test_sorting_takes_the_cycles_of_its_plan(tiles: int, count: int, size: int, most: int) -> None:
    values = np.random.default_rng(size).standard_normal((count, size), np.float32)
    graph, program = pl.Graph(pl.Target(tiles=tiles)), pl.Sequence()
    x = graph.add_variable(pl.FLOAT, values.shape, "x", mapping="linear", initial_value=values)
    y = ops.sort(x, program=program)
    engine = pl.Engine(graph, program, checks="fast", interpret=False)
    engine.run()
    assert np.array_equal(engine.read(y), np.sort(values))
    cycles = engine.report().execution.cycles or 0
    assert 0 < cycles <= most
    assert sort_plan(graph.target, count, size, 4).cycles == pytest.approx(cycles, rel=0.15)


@examples(60, quick=8)
@given(
    tiles=st.sampled_from([1, 3, 8, 40]),
    count=st.integers(1, 3),
    size=st.integers(1, 60),
    blocks=st.integers(1, 12),
    levels=st.integers(0, 4),
    run=st.integers(1, 9),
    alternates=st.booleans(),
    dtype=st.sampled_from([np.float16, np.int32]),
    seed=st.integers(0, 99),
)
def test_rows_are_sorted_by_any_plan(
    tiles: int,
    count: int,
    size: int,
    blocks: int,
    levels: int,
    run: int,
    alternates: bool,
    dtype: type[np.float16] | type[np.int32],
    seed: int,
) -> None:
    values = np.random.default_rng(seed).integers(-9, 9, (count, size)).astype(dtype)
    graph, program = pl.Graph(pl.Target(tiles=tiles)), pl.Sequence()
    x = graph.add_variable(dtype, values.shape, "x", mapping="linear", initial_value=values)
    if blocks > 1 << levels:
        blocks -= blocks % (1 << levels)
    alternates = alternates and 2 * count * blocks <= tiles
    rows = Rows("sort", x, -1, ORDERED, "y", program)
    rows.begin()
    plan = SortPlan(blocks, run, levels, alternates, 0)
    words = NetworkBlocks(rows, key_rule(dtype), plan).sort()
    rows.finish([x], [words])
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    places = (engine.read(words)[:, :size] >> 1) & 0x7FFFFFFF
    assert places.tolist() == np.argsort(values, kind="stable").tolist()


def test_plans_fit_the_memory_and_the_tiles() -> None:
    for tiles, memory in ((5, 1024), (1472, 638_976), (40, 8_192)):
        target = pl.Target(tiles=tiles, tile_memory_bytes=memory)
        for count, size in ((1, 7), (1, 700), (6, 90), (2_000, 5)):
            plan = sort_plan(target, count, size, 4)
            block = -(-size // plan.blocks)
            assert 64 * block <= memory
            assert not plan.levels or 8 * block * min(2 << plan.levels, plan.blocks) <= memory
            assert not plan.alternates or 2 * count * plan.blocks <= tiles
            assert plan.blocks <= 1 << plan.levels or plan.blocks % (1 << plan.levels) == 0


def test_longer_syncs_are_answered_by_fewer_stages() -> None:
    dear = pl.Target(costs={"sync_cycles": 5_000})
    few, many = (sort_plan(target, 1, 16_384, 4) for target in (dear, pl.Target()))
    assert few.levels > many.levels


UNIQUE = [  # tiles, elements, distance between numbers
    (1472, 1_024, 1e-6),
    (1472, 65_536, 1e-6),
    (1472, 65_536, 0.5),  # a few numbers
    (1472, 4_096, 0.1),
    (64, 4_096, 1e-6),
    (1, 4_096, 0.1),
]


@pytest.mark.parametrize(("tiles", "size", "step"), thinned(UNIQUE, keep=[UNIQUE[0], UNIQUE[5]]))
def test_distinct_elements_cost_no_more_than_to_sort_them(
    tiles: int, size: int, step: float
) -> None:
    drawn = np.random.default_rng(size).standard_normal(size)
    values = (np.round(drawn / step) * step).astype(np.float32)
    graph, sorting, packing = pl.Graph(pl.Target(tiles=tiles)), pl.Sequence(), pl.Sequence()
    x = graph.add_variable(pl.FLOAT, values.shape, "x", mapping="linear", initial_value=values)
    found, length = ops.unique_sorted(ops.sort(x, program=sorting), program=packing)
    engine = pl.Engine(graph, [sorting, packing], checks="fast", interpret=False)
    engine.run(0)
    cycles = engine.report().execution.cycles or 0
    engine.run(1)
    distinct = np.unique(values)
    assert engine.read(length) == len(distinct)
    assert np.array_equal(engine.read(found)[: len(distinct)], distinct)
    assert not engine.read(found)[len(distinct) :].any()
    assert 0 < (engine.report().execution.cycles or 0) - cycles <= 0.9 * cycles


LARGEST = [(1_024, 16, True, 12_500), (100_000, 16, False, 120_000), (1_024, 512, True, 12_500)]


@pytest.mark.parametrize(("size", "k", "sorts", "most"), thinned(LARGEST, keep=LARGEST[:2]))
def test_the_largest_elements_are_sorted_where_that_is_cheaper(
    size: int, k: int, sorts: bool, most: int
) -> None:
    values = np.random.default_rng(k).standard_normal(size, np.float32)
    graph, program = pl.Graph(pl.Target()), pl.Sequence()
    x = graph.add_variable(pl.FLOAT, (size,), "x", mapping="linear", initial_value=values)
    found, _ = ops.top_k(x, k, program=program)
    assert any(each.name == "top_k/sort" for each in graph.compute_sets) is sorts
    engine = pl.Engine(graph, program, checks="fast", interpret=False)
    engine.run()
    assert np.array_equal(engine.read(found), np.sort(values)[: -k - 1 : -1])
    cycles = engine.report().execution.cycles or 0
    assert 0 < cycles <= most
    assert cycles <= 1.1 * sort_plan(graph.target, 1, size, 4).cycles


@pytest.mark.parametrize(
    ("rows", "size", "k", "most"), thinned([(3, 4096, 1, 4_600), (16, 1000, 4, 13_000)], keep=1)
)
def test_the_largest_take_no_longer_on_more_tiles(rows: int, size: int, k: int, most: int) -> None:
    values = np.random.default_rng(k).standard_normal((rows, size), np.float32)
    cycles = []
    for tiles in (64, 1472):
        graph, program = pl.Graph(pl.Target(tiles=tiles)), pl.Sequence()
        x = graph.add_variable(pl.FLOAT, values.shape, "x", mapping="linear", initial_value=values)
        found, _ = ops.top_k(x, k, program=program)
        engine = pl.Engine(graph, program, checks="fast", interpret=False)
        engine.run()
        assert np.array_equal(engine.read(found), np.sort(values)[:, : -k - 1 : -1])
        cycles.append(engine.report().execution.cycles or 0)
    assert 0 < cycles[1] <= min(most, cycles[0])


def test_rows_stay_on_one_ipu_where_that_has_the_memory() -> None:
    target = pl.Target(tiles=2944, ipus=2)
    assert target.tiles_per_ipu == 1472
    for size in (1_024, 4_096, 65_536, 1_000_000):
        plan = sort_plan(target, 1, size, 4)
        assert plan.blocks * (2 if plan.alternates else 1) <= 1472
    few = pl.Target(tiles=8, ipus=2, tile_memory_bytes=1024)
    assert sort_plan(few, 1, 128, 4).blocks == 8


def test_lists_fit_beside_what_is_sorted() -> None:
    """One tile holds 88 % of its memory of elements; its blocks are lists of what is left."""
    values = np.random.default_rng(0).random((2, 70_002)).astype(np.float32)
    graph = pl.Graph(pl.Target(tiles=64))
    x = graph.add_variable(pl.FLOAT, values.shape, "x", mapping=0, initial_value=values)
    with graph.steps() as program:
        result = ops.sort(x)
    engine = pl.Engine(graph, program, checks="fast")
    engine.run()
    np.testing.assert_array_equal(engine.read(result), np.sort(values))
