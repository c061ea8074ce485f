"""PopLibs' slices, sorting, padding and random numbers: argument orders, shapes, ranges."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import interpreted
from poplite import ops
from poplite.compat import popops, poprand, poputil
from poplite.compat.popops import SortOrder, TopKParams
from poplite.vertices.random import words_reference

# -- slices, sorting, padding ----------------------------------------------------------------------


class Bench:
    """A graph, its program, and what tensors hold after a run."""

    def __init__(self) -> None:
        self.graph, self.prog = pl.Graph(pl.Target(tiles=4)), pl.Sequence()

    def tensor(self, values: Any, kind: Any = pl.FLOAT) -> pl.Tensor:
        values = np.asarray(values)
        return self.graph.add_variable(kind, values.shape, mapping="linear", initial_value=values)

    def after(self, *tensors: pl.Tensor) -> list[Any]:
        engine = pl.Engine(self.graph, self.prog, **interpreted())
        engine.run()
        return [engine.read(tensor).tolist() for tensor in tensors]


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_dynamic_slice_and_its_update(bench: Bench) -> None:
    graph, prog = bench.graph, bench.prog
    t = popops.createSliceableTensor(graph, pl.FLOAT, (4, 3), [0], [2])
    graph.set_initial_value(t, np.arange(12).reshape(4, 3))
    offset = bench.tensor([3], pl.UNSIGNED_INT)
    beyond = bench.tensor([4], pl.UNSIGNED_INT)
    found = popops.dynamicSlice(graph, t, offset, [0], [2], prog, "found")
    out = bench.tensor(np.ones((2, 3)))
    popops.dynamicSliceWithOutput(graph, out, t, beyond, [0], [2], prog)
    popops.dynamicUpdate(graph, t, bench.tensor(-np.ones((2, 3))), offset, [0], [2], prog)
    popops.dynamicUpdate(graph, t, bench.tensor(np.ones((2, 3))), beyond, [0], [2], prog)
    a, b, c = bench.after(found, out, t)
    assert a == [[9, 10, 11], [0, 1, 2]]
    assert b == [[0] * 3] * 2
    assert c == [[-1] * 3, [3, 4, 5], [6, 7, 8], [-1] * 3]


def test_many_slices_stand_in_front(bench: Bench) -> None:
    graph, prog = bench.graph, bench.prog
    t = bench.tensor(np.arange(12).reshape(3, 4))
    offsets = bench.tensor([[1], [3]], pl.UNSIGNED_INT)
    one = popops.multiSlice(graph, t, offsets, [1], [1], prog)
    two = popops.multiSlice(graph, t, bench.tensor([[1], [2]], pl.UNSIGNED_INT), [1], [2], prog)
    a, b = bench.after(one, two)
    assert (one.shape, two.shape) == ((2, 3, 1), (2, 3, 2))
    assert np.squeeze(a, 2).tolist() == [[1, 5, 9], [3, 7, 11]]
    assert b == [[[1, 2], [5, 6], [9, 10]], [[2, 3], [6, 7], [10, 11]]]


def test_many_updates(bench: Bench) -> None:
    graph, prog = bench.graph, bench.prog
    plan = popops.embedding.plan(graph, pl.FLOAT, 4, 2, 3, {"usedForSlice": "false"})
    tables = [plan.create_table(f"t{k}", initial_value=2) for k in range(4)]
    s = bench.tensor(np.array([1, 5, 3], np.float32).reshape(3, 1, 1).repeat(2, axis=2))
    offsets = bench.tensor([[0], [9], [0]], pl.UNSIGNED_INT)
    scale = bench.tensor(np.float32(0.5))
    popops.multiUpdate(graph, tables[0], s, offsets, [0], [1], prog, plan)
    popops.multiUpdateAdd(graph, tables[1], s, offsets, scale, [0], [1], prog, plan, {}, "add")
    popops.multiUpdateMax(graph, tables[2], s, offsets, [0], [1], prog)
    popops.multiUpdateMul(graph, tables[3], s, offsets, [0], [1], prog)
    found = bench.after(*tables)
    assert [table[0] for table in found] == [[3, 3], [4, 4], [3, 3], [6, 6]]
    assert all(row == [2, 2] for table in found for row in table[1:])


@pytest.mark.parametrize("kind", [pl.HALF, pl.FLOAT])
def test_products_of_half_are_rounded_before_they_are_added(bench: Bench, kind: Any) -> None:
    # The product is a little less than half a step of x, and half a step when it is rounded.
    odd, scale = 1 + 2.0**-10, (1 - 2.0**-10) * 2.0**-11
    graph, t = bench.graph, bench.tensor([[odd, odd]], pl.HALF)
    s, offsets = bench.tensor([[[odd]]], pl.HALF), bench.tensor([[1]], pl.UNSIGNED_INT)
    popops.multiUpdateAdd(graph, t, s, offsets, bench.tensor(scale, kind), [1], [1], bench.prog)
    assert np.float16(odd + odd * scale) == odd
    assert bench.after(t) == [[[odd, 1 + 2.0**-9]]]


def test_slices_of_half_have_no_scale_of_integers(bench: Bench) -> None:
    t, s = bench.tensor([[1.0]], pl.HALF), bench.tensor([[[1.0]]], pl.HALF)
    offsets, scale = bench.tensor([[0]], pl.UNSIGNED_INT), bench.tensor(1, pl.INT)
    with pytest.raises(pl.ElementTypeError, match="scale .* is int32"):
        popops.multiUpdateAdd(bench.graph, t, s, offsets, scale, [1], [1], bench.prog)


def test_a_sliceable_tensor_of_a_plan_is_its_table(bench: Bench) -> None:
    plan = popops.embedding.plan(bench.graph, pl.FLOAT, 40, 2, 3)
    rest = ([0], [1], plan, {"usedForUpdate": "true"}, "own")
    made = popops.createSliceableTensor(bench.graph, pl.FLOAT, (40, 2), *rest)
    mapping = bench.graph.tile_mapping
    assert made.name == "own"
    assert mapping(made) == mapping(plan.create_table())
    with pytest.raises(pl.InvalidOption, match="the plan was made for a different table"):
        popops.createSliceableTensor(bench.graph, pl.FLOAT, (41, 2), *rest)


def test_slices_of_several_rows_wrap_around_or_are_left_out(bench: Bench) -> None:
    graph, prog = bench.graph, bench.prog
    t = bench.tensor(np.arange(1, 5))
    offsets = bench.tensor([[3], [4], [2**32 - 1]], pl.UNSIGNED_INT)
    read = popops.multiSlice(graph, t, offsets, [0], [2], prog)
    popops.multiUpdate(
        graph, t, bench.tensor([[8, 9], [-1, -1], [-2, -2]]), offsets, [0], [2], prog
    )
    assert bench.after(read, t) == [[[4, 1], [0, 0], [0, 0]], [9, 2, 3, 8]]


def test_one_element_of_each_row(bench: Bench) -> None:
    graph, prog = bench.graph, bench.prog
    params = bench.tensor(np.arange(6).reshape(3, 2))
    indices = bench.tensor([1, 7, 2**32 - 1], pl.UNSIGNED_INT)
    encoded = bench.tensor(np.zeros((3, 2), np.int32), pl.INT)
    found = popops.selectScalarFromRows(graph, params, indices, prog)
    popops.encodeOneHot(graph, indices, encoded, prog, 5, -1)
    popops.updateScalarInRows(graph, params, indices, prog)
    a, b, c = bench.after(found, encoded, params)
    np.testing.assert_array_equal(a, [1, np.nan, 0])
    assert b == [[-1, 5], [-1, -1], [-1, -1]]
    np.testing.assert_array_equal(c, [[0, 0], [np.nan, np.nan], [4, 5]])


def test_what_is_not_there_is_refused(bench: Bench) -> None:
    t, k = bench.tensor(np.zeros((3, 2))), bench.tensor([[0]], pl.UNSIGNED_INT)
    options = {"remapOutOfBoundIndices": "true"}
    with pytest.raises(pl.InvalidOption, match="remapOutOfBoundIndices"):
        popops.multiSlice(bench.graph, t, k, [0], [1], bench.prog, None, options)
    with pytest.raises(pl.InvalidOption, match="one dimension and one size"):
        popops.multiSlice(bench.graph, t, k, [0, 1], [1, 1], bench.prog)


# -- popops order ----------------------------------------------------------------------------------
#
# PopLibs' names for sorting, the largest elements, padding, and linear mappings.


KEYS = np.array([[3, 1, 2, 3, -1], [0, -0.0, 5, 4, 5]], np.float32)
VALUES = np.arange(10, dtype=np.int32).reshape(2, 5)


def made() -> tuple[pl.Graph, pl.Sequence, pl.Tensor, pl.Tensor]:
    """Return a graph, a program, keys and values."""
    graph = pl.Graph(pl.Target(tiles=4))
    keys = graph.add_variable(pl.FLOAT, KEYS.shape, "k", mapping="linear", initial_value=KEYS)
    values = graph.add_variable(pl.INT, (2, 5), "v", mapping="linear", initial_value=VALUES)
    return graph, pl.Sequence(), keys, values


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("order", list(SortOrder))
def test_top_k_in_each_order(largest: bool, order: SortOrder) -> None:
    graph, prog, keys, values = made()
    params = TopKParams(3, largest, order)
    best, places = popops.topKWithPermutation(graph, prog, keys, params)
    _, chosen = popops.topKKeyValue(graph, prog, keys, values, params)
    alone = popops.topK(graph, prog, keys, params)
    engine = pl.Engine(graph, prog, **interpreted())
    engine.run()
    found = engine.read(best)
    expected = np.sort(KEYS)[:, -3:] if largest else np.sort(KEYS)[:, :3]
    np.testing.assert_array_equal(np.sort(found), expected)
    if order is not SortOrder.NONE:
        rising = found if order is SortOrder.ASCENDING else found[:, ::-1]
        np.testing.assert_array_equal(rising, expected)
    np.testing.assert_array_equal(np.take_along_axis(KEYS, engine.read(places), 1), found)
    np.testing.assert_array_equal(
        np.take_along_axis(VALUES, engine.read(places), 1), engine.read(chosen)
    )
    np.testing.assert_array_equal(engine.read(alone), found)


@pytest.mark.parametrize("dim", [0, 1])
def test_sorts(dim: int) -> None:
    graph, prog, keys, values = made()
    copies = poputil.duplicate(graph, keys, prog), poputil.duplicate(graph, values, prog)
    alone = poputil.duplicate(graph, keys, prog)
    y = popops.sort(graph, keys, dim, prog)
    moved = popops.sortKeyValue(graph, keys, values, dim, prog)
    popops.sortInPlace(graph, alone, dim, prog)
    popops.sortKeyValueInPlace(graph, *copies, dim, prog)
    engine = pl.Engine(graph, prog, **interpreted())
    engine.run()
    order = np.argsort(KEYS, axis=dim, kind="stable")
    for each in (y, alone, copies[0]):
        np.testing.assert_array_equal(engine.read(each), np.take_along_axis(KEYS, order, dim))
    for each in (moved, copies[1]):
        np.testing.assert_array_equal(engine.read(each), np.take_along_axis(VALUES, order, dim))


def test_pad() -> None:
    graph, prog, keys, _ = made()
    found = pl.ops.map(popops.pad(graph, keys, [1, -2], [0, 1], 7.0), program=prog)
    engine = pl.Engine(graph, prog, **interpreted())
    engine.run()
    expected = np.pad(KEYS[:, 2:], [(1, 0), (0, 1)], constant_values=7)
    np.testing.assert_array_equal(engine.read(found), expected)
    with pytest.raises(pl.InvalidOption, match="1 lower and 2 upper widths"):
        popops.pad(graph, keys, [1], [0, 1])


def test_linear_mappings_begin_elsewhere_and_may_fall() -> None:
    graph = pl.Graph(pl.Target(tiles=5))
    x = graph.add_variable(pl.FLOAT, (8,), "x")
    poputil.mapTensorLinearlyWithOffset(graph, x, 2, 2, 3, True)
    assert graph.tile_mapping(x) == [[(4, 6)], [(6, 8)], [], [(0, 2)], [(2, 4)]]
    poputil.mapTensorLinearlyWithOffset(graph, x, 2, 2, 3, False)
    assert graph.tile_mapping(x) == [[(2, 4)], [(0, 2)], [], [(6, 8)], [(4, 6)]]
    poputil.mapTensorLinearlyWithOffset(graph, x, 4, False)
    assert graph.tile_mapping(x) == [[(0, 8)], [], [], [], []]
    with pytest.raises(pl.ElementTypeError, match="Order is 2, not True or False"):
        poputil.mapTensorLinearlyWithOffset(graph, x, 3, True, 2, 2)


def test_linear_mappings_use_as_few_tiles_as_are_as_fast() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.FLOAT, (5,), "x")
    poputil.mapTensorLinearly(graph, x, 1, 1)
    assert graph.tile_mapping(x) == [[(0, 1)], [(1, 3)], [(3, 5)]]
    y = graph.add_variable(pl.FLOAT, (5,), "y")
    poputil.mapTensorLinearlyWithOffset(graph, y, 1, 1, 2)
    assert graph.tile_mapping(y) == [[(3, 5)], [], [(0, 1)], [(1, 3)]]
    none = graph.add_variable(pl.FLOAT, (0,), "none")
    poputil.mapTensorLinearly(graph, none)
    with pytest.raises(pl.InvalidOption, match=r"mapTensorLinearly: grain is 0"):
        poputil.mapTensorLinearly(graph, x, 1, 0)


@given(
    st.lists(st.integers(0, 9), max_size=4),
    st.integers(1, 5),
    st.integers(1, 8),
    st.integers(0, 12),
)
def test_regions_are_split_as_poplibs_does(
    sizes: list[int], grain: int, most: int, least: int
) -> None:
    ends = np.cumsum([size + 3 for size in sizes]).tolist()
    regions = [(end - size, end) for size, end in zip(sizes, ends, strict=True)]
    elements = [each for begin, end in regions for each in range(begin, end)]
    grains = math.ceil(len(elements) / grain)
    largest = math.ceil(grains / most)
    if least:
        largest = max(largest, math.ceil(grains / max(1, grains // math.ceil(least / grain))))
    parts = math.ceil(grains / largest) if grains else 0
    found = poputil.splitRegions(regions, grain, most, least)
    assert len(found) == parts
    for part, intervals in enumerate(found):
        begin, end = (part * grains // parts * grain, (part + 1) * grains // parts * grain)
        held = [each for low, high in intervals for each in range(low, high)]
        assert held == elements[begin:end]


def test_regions_are_split() -> None:
    parts = poputil.splitRegions([(0, 3)], 2, 5, 1)
    assert parts == [[(0, 2)], [(2, 3)]]
    parts = poputil.splitRegions([(0, 5), (8, 11)], 2, 3)
    assert parts == [[(0, 4)], [(4, 5), (8, 11)]]
    parts = poputil.splitRegions([(0, 10), (15, 20), (33, 60)], 4, 8, 6)
    assert [sum(end - begin for begin, end in part) for part in parts] == [8, 12, 12, 10]
    assert parts[:2] == [[(0, 8)], [(8, 10), (15, 20), (33, 38)]]
    with pytest.raises(pl.InvalidOption, match="splitRegions: parts is 0"):
        poputil.splitRegions([(0, 8)], 1, 0)
    parts = poputil.splitRegionsBetweenWorkers(pl.Target(workers=4), [(0, 8)], 1, 4)
    assert parts == [[(0, 4)], [(4, 8)]]


# -- random numbers --------------------------------------------------------------------------------


class SeededBench:
    """A graph, its program and a seed."""

    def __init__(self) -> None:
        self.graph, self.prog = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
        self.seed = self.graph.add_variable(
            pl.UNSIGNED_INT, (2,), "seed", mapping=1, initial_value=[5, 6]
        )
        self.reference = self.graph.add_variable(pl.FLOAT, (9, 7), "reference", mapping="linear")

    def after(self, *tensors: pl.Tensor) -> list[np.ndarray]:
        engine = pl.Engine(self.graph, self.prog, **interpreted())
        engine.run()
        return [engine.read(tensor) for tensor in tensors]


@pytest.fixture
def seeded() -> SeededBench:
    return SeededBench()


def test_equal_seeds_and_modifiers_give_equal_numbers(seeded: SeededBench) -> None:
    made = [
        poprand.uniform(
            seeded.graph, seeded.seed, k, seeded.reference, pl.FLOAT, -1, 3, seeded.prog
        )
        for k in (1, 1, 2)
    ]
    first, second, other = seeded.after(*made)
    np.testing.assert_array_equal(first, second)
    assert (first != other).mean() > 0.9
    assert first.min() >= -1
    assert first.max() <= 3
    units = (words_reference(63, [5, 6, 0, 1]) >> 8).astype(np.float32) * np.float32(2**-24)
    np.testing.assert_array_equal(first.ravel(), units * np.float32(4) - np.float32(1))


def test_without_a_seed_every_draw_differs_until_the_state_is_set(seeded: SeededBench) -> None:
    graph, prog, reference = seeded.graph, seeded.prog, seeded.reference

    def draw() -> pl.Tensor:
        return poprand.normal(graph, None, 9, reference, pl.FLOAT, 1, 2, prog)

    poprand.setSeed(graph, seeded.seed, 3, prog)
    first, second = draw(), draw()
    poprand.setSeed(graph, seeded.seed, 3, prog)
    third = draw()
    a, b, c = seeded.after(first, second, third)
    assert (a != b).mean() > 0.9
    np.testing.assert_array_equal(a, c)


@pytest.mark.parametrize(("least", "most"), [(-1, 1), (-1.5, 1.5)])
def test_integers_include_both_ends(seeded: SeededBench, least: float, most: float) -> None:
    made = poprand.uniform(
        seeded.graph, seeded.seed, 0, seeded.reference, pl.INT, least, most, seeded.prog, "few"
    )
    assert "few" in made.name
    assert set(seeded.after(made)[0].ravel().tolist()) == {-1, 0, 1}


def test_other_draws_lie_as_their_reference(seeded: SeededBench) -> None:
    graph, prog, reference = seeded.graph, seeded.prog, seeded.reference
    heads = poprand.bernoulli(graph, seeded.seed, 0, reference, pl.HALF, 0.5, prog)
    near = poprand.truncatedNormal(graph, seeded.seed, 0, reference, pl.FLOAT, 10, 1, 0.5, prog)
    assert graph.tile_mapping(heads) == graph.tile_mapping(near) == graph.tile_mapping(reference)
    some, close = seeded.after(heads, near)
    assert some.dtype == np.float16
    assert set(some.ravel().tolist()) == {0, 1}
    assert abs(close - 10).max() <= 0.5


def test_dropout_scales_what_it_keeps(seeded: SeededBench) -> None:
    x = seeded.graph.add_variable(pl.FLOAT, (9, 7), "x", mapping=3, initial_value=2)
    y = poprand.dropout(seeded.graph, seeded.seed, 1, x, seeded.reference, 0.75, 1.5, seeded.prog)
    kept = words_reference(63, [5, 6, 0, 1]) < 0.75 * 2**32
    np.testing.assert_array_equal(seeded.after(y)[0].ravel(), np.where(kept, 3, 0))
    assert seeded.graph.tile_mapping(y) == seeded.graph.tile_mapping(seeded.reference)


def test_dropout_that_keeps_all_does_not_scale(seeded: SeededBench) -> None:
    x = seeded.graph.add_variable(pl.FLOAT, (9, 7), "x", mapping=3, initial_value=2)
    y = poprand.dropout(seeded.graph, seeded.seed, 1, x, seeded.reference, 1.0, 1.5, seeded.prog)
    np.testing.assert_array_equal(seeded.after(y)[0], np.full((9, 7), 2))


def test_another_seed_is_refused(seeded: SeededBench) -> None:
    with pytest.raises(
        pl.ElementTypeError, match=r"seed must be UNSIGNED_INT\[2\][\s\S]*float32\[9, 7\]"
    ):
        poprand.setSeed(seeded.graph, seeded.reference, 0, seeded.prog)


@pytest.mark.parametrize(
    ("function", "arguments", "what"),
    [
        ("uniform", (pl.FLOAT, 2, 1), "min_val 2 and max_val 1 do not form a valid range of FLOAT"),
        ("uniform", (pl.FLOAT, 0, math.inf), "max_val is inf"),
        ("uniform", (pl.INT, 1.2, 1.8), "from min_val 1.2 to max_val 1.8 there are 0 whole"),
        ("uniform", (pl.INT, 0, 2**31), "max_val is 2147483648"),
        ("uniform", (pl.UNSIGNED_INT, -1, 3), "min_val is -1"),
        ("uniform", (pl.LONGLONG, 0, 2**32), "from min_val 0 to max_val 4294967296"),
        ("normal", (pl.FLOAT, 0, -1), "std_dev is -1"),
        ("truncatedNormal", (pl.FLOAT, 0, math.nan, 1), "std_dev is nan"),
        ("truncatedNormal", (pl.FLOAT, 0, 1, 0), "alpha is 0"),
    ],
)
def test_messages_have_the_names_that_the_caller_has(
    seeded: SeededBench, function: str, arguments: tuple[Any, ...], what: str
) -> None:
    call: Any = getattr(poprand, function)
    with pytest.raises((pl.InvalidOption, pl.SizeOverflowError)) as raised:
        call(seeded.graph, None, 0, seeded.reference, *arguments, seeded.prog)
    assert raised.value.what.startswith(f"poprand.{function}: {what}")
    with pytest.raises(pl.ElementTypeError, match=f"poprand.{function}: seed must be UNSIGNED_INT"):
        call(seeded.graph, seeded.reference, 0, seeded.reference, *arguments, seeded.prog)


def refused(bench: SeededBench) -> dict[str, Callable[[pl.Tensor | None], object]]:
    """Return draws that are refused, each of a seed or of the state of the graph."""
    graph, reference, prog = bench.graph, bench.reference, bench.prog
    f, i = pl.FLOAT, pl.INT
    return {
        "no range": lambda s: poprand.uniform(graph, s, 0, reference, f, 1, 1, prog),
        "no integers": lambda s: poprand.uniform(graph, s, 0, reference, i, 6, 1, prog),
        "no limit": lambda s: poprand.uniform(graph, s, 0, reference, i, 0, math.nan, prog),
        "modifier": lambda s: poprand.uniform(graph, s, 0.5, reference, f, 0, 1, prog),  # type: ignore[arg-type]
        "reference": lambda s: poprand.uniform(graph, s, 0, (9, 7), f, 0, 1, prog),  # type: ignore[arg-type]
        "bool": lambda s: poprand.uniform(graph, s, 0, reference, pl.BOOL, 0, 1, prog),
        "probability": lambda s: poprand.bernoulli(graph, s, 0, reference, f, 1.5, prog),
        "deviation": lambda s: poprand.normal(graph, s, 0, reference, f, 0, -1, prog),
        "of integers": lambda s: poprand.normal(graph, s, 0, reference, i, 0, 1, prog),
        "alpha": lambda s: poprand.truncatedNormal(graph, s, 0, reference, f, 0, 1, 0, prog),
        "other shape": lambda s: poprand.dropout(graph, s, 0, reference.T, reference, 0.5, 1, prog),
        "name": lambda s: poprand.dropout(graph, s, 0, reference, reference, 0.5, 1, prog, 3),  # type: ignore[arg-type]
        "keep": lambda s: poprand.dropout(graph, s, 0, reference, reference, 2, 1, prog),
    }


@pytest.mark.parametrize("name", refused(SeededBench()))
@pytest.mark.parametrize("has_seed", [True, False])
def test_a_refused_draw_leaves_the_graph_as_it_was(
    seeded: SeededBench, name: str, has_seed: bool
) -> None:
    before = len(seeded.graph.variables)
    with pytest.raises((pl.ElementTypeError, pl.InvalidOption, pl.TensorCreationError)):
        refused(seeded)[name](seeded.seed if has_seed else None)
    assert len(seeded.graph.variables) == before
    assert not seeded.prog.children


def test_another_seed_is_refused_before_anything_is_made(seeded: SeededBench) -> None:
    before = len(seeded.graph.variables)
    with pytest.raises(pl.ElementTypeError, match="seed must be UNSIGNED_INT"):
        poprand.normal(
            seeded.graph, seeded.reference, 0, seeded.reference, pl.FLOAT, 0, 1, seeded.prog
        )
    with pytest.raises(pl.ElementTypeError, match="seed must be UNSIGNED_INT"):
        poprand.setSeed(seeded.graph, seeded.reference, 0, seeded.prog)
    assert len(seeded.graph.variables) == before


def test_the_index_of_a_loop_is_a_tensor() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    table = np.arange(24, dtype=np.float32).reshape(6, 4)
    x = graph.add_variable(pl.FLOAT, (6, 4), "x", mapping="linear", initial_value=table)
    total = graph.add_variable(pl.FLOAT, (4,), "total", mapping=0, initial_value=0)
    with graph.steps() as program, ops.repeat(3) as i:
        body: Any = None  # the steps of the loop
        row = popops.dynamicSlice(graph, x, i, [0], [1], body)
        ops.assign(total, total + row.flatten() * popops.cast(graph, i, pl.FLOAT, body))
    engine = pl.Engine(graph, program, interpret=True)
    engine.run()
    assert engine.read(total).tolist() == (table[1] + 2 * table[2]).tolist()


@pytest.mark.parametrize("is_absolute", [False, True])
def test_histograms_have_open_ends_and_tests_find_nan(is_absolute: bool) -> None:
    graph, prog = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    values = np.array([-3, -1, 0, 0.5, 1, 2, 7, np.inf], np.float32)
    levels = np.array([-1, 0.5, 2], np.float32)
    x, edges = (
        graph.add_variable(pl.FLOAT, each.shape, name, mapping="linear", initial_value=each)
        for name, each in (("x", values), ("levels", levels))
    )
    counts = popops.histogram(graph, x, edges, is_absolute, prog)
    found = popops.hasNaN(graph, x, prog), popops.hasNaNOrInf(graph, x, prog)
    engine = pl.Engine(graph, prog)
    engine.run()
    kept = abs(values) if is_absolute else values
    bins = (kept[:, None] >= levels).sum(1)
    assert engine.read(counts).tolist() == np.bincount(bins, minlength=4).tolist()
    assert [bool(engine.read(each)) for each in found] == [False, True]
