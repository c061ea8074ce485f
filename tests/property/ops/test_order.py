"""Sorting, the largest elements, running sums and positions, against NumPy with equal bits."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import deep, examples, forms, interpreted, thinned, values_only
from helpers.running import interpreted_sooner, words_of
from poplite import ops
from poplite.ops.sorting import ORDERED, NetworkBlocks, Rows, SortPlan, exchanges, sort_plan
from poplite.vertices.order import key_rule
from poplite.vertices.scans import running_reference

Array = npt.NDArray[Any]

SHAPES = [
    *[((0,), 0), ((1,), 0), ((7,), -1), ((700,), 0), ((3, 50), 1)],
    *[((50, 3), 0), ((2, 65, 4), 1), ((0, 3), 1), ((3, 0), 1)],
]
"""Shapes, and a dimension of each."""

TYPES = ["float32", "float16", "int32", "uint32", "int8"]

SOONER = forms()[0]
"""The form that is tried where a test names none: by default the interpreted one."""

OPTIONS = {"debug.allowOutOfMemory": True}

SMALL, LARGE = 1024, 624 * 1024
"""Bytes of a tile: rows of more than a few elements do not fit, or all do."""


def drawn(seed: int, shape: tuple[int, ...], dtype: str) -> Array:
    """Draw elements with ties, and floats with zeros of both signs, NaNs and infinities."""
    rng, kind = np.random.default_rng(seed), np.dtype(dtype)
    if kind.kind == "f":
        few = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1, 2, -7], kind)
        x = np.where(rng.random(shape) < 0.5, rng.choice(few, shape), rng.normal(size=shape))
    else:
        limits = np.iinfo(kind)
        x = rng.integers(limits.min, limits.max, shape, kind, endpoint=True)
        x = np.where(rng.random(shape) < 0.5, x, rng.integers(0, 4, shape))
    found: Array = x.astype(kind)
    return found


def placed(graph: pl.Graph, values: Array, run: int, name: str = "x") -> pl.Tensor:
    """Return a variable whose runs of so many elements are on tiles that do not follow."""
    x = graph.add_variable(values.dtype, values.shape, name, initial_value=values)
    for begin in range(0, x.num_elements, run):
        graph.set_tile_mapping(x.flatten()[begin : begin + run], begin * 5 % graph.target.tiles)
    return x


def computed(
    record: Callable[[pl.Graph, pl.Sequence], list[pl.Tensor]],
    interpret: bool = SOONER,
    memory: int = LARGE,
) -> list[Array]:
    """Return what steps compute."""
    graph, program = pl.Graph(pl.Target(tiles=5, tile_memory_bytes=memory)), pl.Sequence()
    results = record(graph, program)
    engine = pl.Engine(graph, program, interpret=interpret, options=OPTIONS | values_only())
    engine.run()
    return [engine.read(each) for each in results]


def order_of(x: Array, dim: int, descending: bool) -> Array:
    """Return the stable order along a dimension."""
    if not descending:
        return np.argsort(x, axis=dim, kind="stable")
    backwards = np.argsort(np.flip(x, dim), axis=dim, kind="stable")
    return np.flip(x.shape[dim] - 1 - backwards, dim)


def same_bits(found: Array, expected: Array) -> None:
    """Compare bits; any NaN is as good as another."""
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    if found.dtype.kind == "f":
        np.testing.assert_array_equal(
            np.signbit(found) & ~np.isnan(found), np.signbit(expected) & ~np.isnan(expected)
        )


@interpreted_sooner
@examples(40, quick=2)
@given(
    where=st.sampled_from(SHAPES),
    dtype=st.sampled_from(TYPES),
    seed=st.integers(0, 99),
    descending=st.booleans(),
    run=st.sampled_from([1, 7, 64, 1000]),
    memory=st.sampled_from([SMALL, LARGE]),
)
def test_sorted_elements_and_their_positions(
    interpret: bool,
    where: tuple[tuple[int, ...], int],
    dtype: str,
    seed: int,
    descending: bool,
    run: int,
    memory: int,
) -> None:
    (shape, dim), k = where, seed % 40
    values = drawn(seed, shape, dtype)
    k = min(k, shape[dim])

    def record(graph: pl.Graph, program: pl.Sequence) -> list[pl.Tensor]:
        x = placed(graph, values, run)
        top = ops.top_k(x, k, dim, largest=descending, program=program)
        some = ops.top_k(x, k, dim, largest=descending, sorted=False, program=program)
        y = ops.sort(x, dim, descending=descending, program=program)
        z = ops.argsort(x, dim, descending=descending, program=program)
        return [y, z, *top, some.indices]

    y, z, best, indices, others = computed(record, interpret, memory)
    order = order_of(values, dim, descending)
    first = np.take(order, range(k), axis=dim)
    np.testing.assert_array_equal(z, order)
    np.testing.assert_array_equal(indices, first)
    np.testing.assert_array_equal(np.sort(others, axis=dim), np.sort(first, axis=dim))
    same_bits(y, np.take_along_axis(values, order, dim))
    same_bits(best, np.take_along_axis(values, first, dim))


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13, 31, 64])
def test_the_network_sorts_any_number_of_places(count: int) -> None:
    rng = np.random.default_rng(count)
    for _ in range(20):
        x = rng.permutation(count)
        for low, high in exchanges(count):
            assert len(set(low) | set(high)) == 2 * len(low)
            x[low], x[high] = np.minimum(x[low], x[high]), np.maximum(x[low], x[high])
        assert x.tolist() == list(range(count))


@interpreted_sooner
@examples(20)
@given(
    where=st.sampled_from(SHAPES),
    dtype=st.sampled_from(["float32", "float16", "int32", "uint8", "int64"]),
    seed=st.integers(0, 99),
    exclusive=st.booleans(),
    run=st.sampled_from([1, 7, 1000]),
)
def test_running_sums_and_products_have_the_bits_of_their_reference(
    interpret: bool,
    where: tuple[tuple[int, ...], int],
    dtype: str,
    seed: int,
    exclusive: bool,
    run: int,
) -> None:
    shape, dim = where
    values = (3 * np.random.default_rng(seed).normal(size=shape)).astype(dtype)

    def record(graph: pl.Graph, program: pl.Sequence) -> list[pl.Tensor]:
        x = placed(graph, values, run)
        sums = [
            each(x, dim, exclusive=exclusive, program=program)
            for each in (ops.cumulative_sum, ops.cumulative_product)
        ]
        return [*sums, ops.cumulative_max(x, dim, program=program)]

    rows = np.moveaxis(values, dim, -1)
    found = computed(record, interpret)
    np.testing.assert_array_equal(found.pop(), np.maximum.accumulate(values, dim))
    with np.errstate(over="ignore", invalid="ignore"):
        for result, join, none in zip(found, (np.add, np.multiply), (0, 1), strict=True):
            expected = running_reference(join, rows, exclusive=exclusive, none=none)
            same_bits(result, np.moveaxis(expected, -1, dim))


def test_a_running_sum_is_as_exact_as_numpys() -> None:
    values = np.random.default_rng(0).normal(size=5000).astype(np.float32)
    (found,) = computed(lambda g, p: [ops.cumulative_sum(placed(g, values, 77), program=p)])
    exact = np.cumsum(values, dtype=np.float64)
    assert abs(found - exact).max() <= abs(np.cumsum(values) - exact).max()


UNIQUE = [
    (interpret, dtype, size, memory)
    for interpret in (False, True)
    for dtype in TYPES
    for size, memory in [(0, LARGE), (1, LARGE), (300, SMALL), (500, LARGE)]
]


@pytest.mark.parametrize(
    ("interpret", "dtype", "size", "memory"),
    thinned(UNIQUE, [case for case in UNIQUE if case[0] and case[1] in ("float16", "int32")]),
)
def test_unique_elements_are_packed(interpret: bool, dtype: str, size: int, memory: int) -> None:
    values = np.sort(drawn(size, (size,), dtype), kind="stable")
    values[: size // 2] = values[0] if size else 0

    def record(graph: pl.Graph, program: pl.Sequence) -> list[pl.Tensor]:
        return list(ops.unique_sorted(placed(graph, values, 9), program=program))

    found, length = computed(record, interpret, memory)
    is_new = np.ones(size, bool)
    both = np.isnan(values[1:]) & np.isnan(values[:-1])
    is_new[1:] = (values[1:] != values[:-1]) & ~both
    assert length == is_new.sum()
    same_bits(found[:length], values[is_new])
    assert not found[length:].any()


@interpreted_sooner
@pytest.mark.parametrize("memory", [SMALL, LARGE])
@pytest.mark.parametrize(("shape", "dim"), SHAPES)
def test_values_move_with_their_keys_and_elements_are_taken(
    interpret: bool, shape: tuple[int, ...], dim: int, memory: int
) -> None:
    rng = np.random.default_rng(len(shape))
    keys, values = rng.integers(0, 5, shape, np.int8), rng.random(shape) < 0.5
    size = shape[dim]
    count = 4 if size else 0
    few = list(shape)
    few[dim] = count
    indices = rng.integers(-size, max(size, 1), few, np.int32)

    def record(graph: pl.Graph, program: pl.Sequence) -> list[pl.Tensor]:
        x, y, at = (placed(graph, each, 7) for each in (keys, values, indices))
        taken = ops.take_along_axis(x, at, dim, program=program)
        return [*ops.sort_key_value(x, y, dim, program=program), taken]

    first, second, taken = computed(record, interpret, memory)
    order = np.argsort(keys, axis=dim, kind="stable")
    np.testing.assert_array_equal(first, np.take_along_axis(keys, order, dim))
    np.testing.assert_array_equal(second, np.take_along_axis(values, order, dim))
    np.testing.assert_array_equal(taken, np.take_along_axis(keys, indices, dim))


def test_dimension_none_is_all_elements() -> None:
    values = drawn(3, (4, 5), "int32")

    def record(graph: pl.Graph, program: pl.Sequence) -> list[pl.Tensor]:
        x = placed(graph, values, 3)
        at = ops.argsort(x, None, program=program)
        y = ops.take_along_axis(x, at, None, program=program)
        return [y, ops.sort(x, None, program=program), ops.cumulative_sum(x, None, program=program)]

    taken, found, sums = computed(record)
    np.testing.assert_array_equal(found, np.sort(values, None))
    np.testing.assert_array_equal(taken, found)
    np.testing.assert_array_equal(sums, np.cumsum(values, dtype=np.int32))


def test_characters_are_numbers_as_signed_ones_are() -> None:
    values = drawn(5, (4, 9), "int8")

    def record(graph: pl.Graph, program: pl.Sequence) -> list[pl.Tensor]:
        x = placed(graph, values, 3).reinterpret(pl.CHAR)
        at = ops.argsort(x, 1, program=program)
        largest, _ = ops.top_k(x, 3, program=program)
        sums = ops.cumulative_sum(x, 1, program=program)
        return [ops.take_along_axis(x, at, 1, program=program), largest, sums]

    taken, largest, sums = computed(record)
    np.testing.assert_array_equal(taken, np.sort(values, 1))
    np.testing.assert_array_equal(largest, -np.sort(-values.astype(int), 1)[:, :3])
    np.testing.assert_array_equal(sums, np.cumsum(values, 1, dtype=np.int8))


def test_views_and_expressions_are_sorted() -> None:
    values = drawn(4, (6, 8), "int32")

    def record(graph: pl.Graph, program: pl.Sequence) -> list[pl.Tensor]:
        x = placed(graph, values, 5)
        with graph.steps() as step:
            results = [ops.sort(x.T[::2]), *ops.top_k(x * 0 - x, 2, 0)]
        program.add(step)
        return results

    found, best, indices = computed(record)
    np.testing.assert_array_equal(found, np.sort(values.T[::2]))
    order = order_of(-values, 0, descending=True)[:2]
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(best, np.take_along_axis(-values, order, 0))


def test_a_file_changes_no_bits(tmp_path: Path) -> None:
    values = drawn(5, (3, 700), "float32")
    graph, program = pl.Graph(pl.Target(tiles=7, tile_memory_bytes=SMALL)), pl.Sequence()
    x = placed(graph, values, 13)
    results = {
        "top": ops.top_k(x, 20, program=program).values,
        "sorted": ops.sort(x, program=program),
        "sums": ops.cumulative_sum(x, program=program),
    }
    for name, each in results.items():
        graph.create_host_read(name, each)
    pl.compile_graph(graph, program, options=OPTIONS | values_only()).save(
        tmp_path / "order.poplite"
    )
    saved = pl.Executable.load(tmp_path / "order.poplite")
    how = interpreted() | {"options": OPTIONS | values_only()}
    engines = [pl.Engine(graph, program, **how), pl.Engine(saved, **how)]
    for engine in engines:
        engine.run()
    for name in results:
        bits = {engine.read(name).tobytes() for engine in engines}
        assert len(bits) == 1


def test_an_index_outside_of_a_row_stops_the_program() -> None:
    graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    x = graph.add_variable(pl.FLOAT, (4,), "x", mapping=0, initial_value=1)
    at = graph.add_variable(pl.INT, (2,), "at", mapping=1, initial_value=[1, 4])
    ops.take_along_axis(x, at, program=program)
    with pytest.raises(pl.ApplicationRuntimeError, match="IndexError: index 4 of 4 elements"):
        pl.Engine(graph, program, **interpreted()).run()


def no_order(graph: pl.Graph, x: pl.Tensor, program: pl.Sequence) -> list[Callable[[], object]]:
    """Return calls that are refused."""
    long = graph.add_variable(pl.LONGLONG, (4,), "long", mapping=0)
    at = graph.add_variable(pl.INT, (3, 3), "at", mapping=0)
    none = graph.add_variable(pl.FLOAT, (2, 0), "none", mapping=0)
    one = graph.add_variable(pl.INT, (2, 1), "one", mapping=0)
    truth: Any = "no"
    return [
        lambda: ops.top_k(x, 7, program=program),
        lambda: ops.top_k(x, -1, program=program),
        lambda: ops.top_k(x, 1.5, program=program),  # type: ignore[arg-type]
        lambda: ops.sort(x, 2, program=program),
        lambda: ops.sort(x, "first", program=program),  # type: ignore[arg-type]
        lambda: ops.sort(long, program=program),
        lambda: ops.sort(3.0, program=program),  # type: ignore[arg-type]
        lambda: ops.argsort(x),
        lambda: ops.sort_key_value(x, long, program=program),
        lambda: ops.take_along_axis(x, at, program=program),
        lambda: ops.take_along_axis(x, x, program=program),
        lambda: ops.take_along_axis(none, one, program=program),
        lambda: ops.unique_sorted(x, program=program),
        lambda: ops.cumulative_sum(x > 0, program=program),
        lambda: ops.cumulative_sum(x, exclusive=truth, program=program),
        lambda: ops.sort(x, descending=truth, program=program),
        lambda: ops.top_k(x, 1, largest=truth, program=program),
    ]


REFUSED = [
    (pl.SizeOverflowError, "k is 7, but a row has 6 elements"),
    (pl.SizeOverflowError, "k is -1"),
    (pl.InvalidOption, "k is 1.5"),
    (pl.TensorIndexError, "there is no dimension 2 in 'x', which has 2"),
    (pl.TensorIndexError, "dim='first' is not a dimension"),
    (pl.ElementTypeError, "'long' is LONGLONG"),
    (pl.ElementTypeError, "float is not a tensor"),
    (pl.ControlProgramError, "called outside its graph's steps"),
    (pl.TensorCreationError, r"values have shape \(4,\), but keys have \(2, 6\)"),
    (pl.TensorCreationError, r"indices have shape \(3, 3\), but 'x' has \(2, 6\)"),
    (pl.ElementTypeError, "'x' is FLOAT"),
    (pl.TensorCreationError, "cannot take 2 elements from rows without elements"),
    (pl.TensorCreationError, "'x' has rank 2"),
    (pl.ElementTypeError, "is BOOL"),
    (pl.ElementTypeError, "exclusive is 'no'"),
    (pl.ElementTypeError, "descending is 'no'"),
    (pl.ElementTypeError, "largest is 'no'"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_is_refused_is_named_with_its_numbers(number: int) -> None:
    graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    x = graph.add_variable(pl.FLOAT, (2, 6), "x", mapping=0)
    calls = no_order(graph, x, program)
    assert len(calls) == len(REFUSED)
    error, text = REFUSED[number]
    with pytest.raises(error, match=text):
        calls[number]()


def test_a_row_of_many_elements_takes_few_stages() -> None:
    graph, program = pl.Graph(pl.Target(tiles=64)), pl.Sequence()
    x = graph.add_variable(pl.FLOAT, (40_000,), "x", mapping="linear")
    ops.top_k(x, 16, program=program)
    stages = len(graph.compute_sets)
    assert stages <= math.ceil(math.log2(64))


@deep
def test_bits_are_the_same_on_any_number_of_threads(tmp_path: Path) -> None:
    script = """
import hashlib
import numpy as np
import poplite as pl
from poplite import ops

graph, program = pl.Graph(pl.Target(tiles=300)), pl.Sequence()
values = np.random.default_rng(0).standard_normal(200_000)
x = graph.add_variable(pl.FLOAT, values.shape, "x", mapping="linear", initial_value=values)
found = [ops.top_k(x, 50, program=program).values, ops.sort(x, program=program)]
found.append(ops.cumulative_sum(x, program=program))
engine = pl.Engine(graph, program)
engine.run()
print(hashlib.sha256(b"".join(engine.read(each).tobytes() for each in found)).hexdigest())
"""
    found = [words_of(tmp_path, script, NUMBA_NUM_THREADS=threads) for threads in ("1", "3")]
    assert len({word for words in found for word in words}) == 1


# -- how rows are cut for sorting ------------------------------------------------------------------


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


TOLERATED = [  # tiles, elements, distance between numbers
    (1472, 1_024, 1e-6),
    (1472, 65_536, 1e-6),
    (1472, 65_536, 0.5),  # a few numbers
    (1472, 4_096, 0.1),
    (64, 4_096, 1e-6),
    (1, 4_096, 0.1),
]


@pytest.mark.parametrize(
    ("tiles", "size", "step"), thinned(TOLERATED, keep=[TOLERATED[0], TOLERATED[5]])
)
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
