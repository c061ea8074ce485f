"""PopLibs' slices: their argument orders, shapes, and what they do out of range."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import interpreted
from poplite.compat import popops


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
    with pytest.raises(pl.InvalidOption, match="a plan of another table"):
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
