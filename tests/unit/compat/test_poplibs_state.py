"""What functions of PopLibs do to what is there: programs that run them twice."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import poplite as pl
from helpers.depth import interpreted
from poplite.compat import poplin, popnn, popops, poprand
from poplite.compat.popops import Operation, ReduceParams, expr as pe

X = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
Y = np.array([[2, 0, 1], [1, 1, 2]], np.float32)

Call = Callable[[pl.Graph, pl.Tensor, pl.Tensor, pl.Tensor, pl.Sequence], object]


def conv(bias: bool) -> Call:
    """Return an update of weights [1, 2, 1, 2], or of 2 biases, by a gradient of all ones."""
    params = poplin.ConvParams(pl.FLOAT, 1, [3], [2], 1, 2, 1)

    def call(
        graph: pl.Graph, a: pl.Tensor, b: pl.Tensor, half: pl.Tensor, prog: pl.Sequence
    ) -> None:
        ones = graph.add_constant(pl.FLOAT, (1, 2, 2), 1, mapping=0)
        if bias:
            poplin.convolutionBiasUpdate(graph, ones, a[:, 0], half, {}, prog)
        else:
            weights = a[:, :2].reshape((1, 2, 1, 2))
            poplin.convolutionWeightUpdate(
                graph, ones, weights, b[:1].expand([1]), params, half, prog
            )

    return call


ROWS = np.array([[1], [0], [1]], np.uint32)
DOWN = np.array([[0.5, 0.5], [0.5, 0.5]], np.float32)

CASES: dict[str, tuple[Call, np.ndarray]] = {
    "addInPlace": (lambda g, a, b, h, p: popops.addInPlace(g, a, b, p), X + 2 * Y),
    "mapInPlace": (
        lambda g, a, b, h, p: popops.mapInPlace(g, pe._1 * pe.Const(2) + pe._2, [a, b], p),
        4 * X + 3 * Y,
    ),
    "mapWithOutput": (lambda g, a, b, h, p: popops.mapWithOutput(g, pe._1, [b], a, p), Y),
    "scaledAddTo": (lambda g, a, b, h, p: popops.scaledAddTo(g, a, b, h, p), X + Y),
    "scaledAddTo of both": (
        lambda g, a, b, h, p: popops.scaledAddTo(g, a, 0.5, b, 3.0, p),
        X / 4 + 4.5 * Y,
    ),
    "scaledSubtractFrom": (
        lambda g, a, b, h, p: popops.scaledSubtractFrom(g, a, b, 2.0, p),
        X - 4 * Y,
    ),
    "reduceWithOutput": (
        lambda g, a, b, h, p: popops.reduceWithOutput(g, b, a[0], [0], Operation.ADD, p),
        np.stack([Y.sum(0), X[1]]),
    ),
    "reduceWithOutput with update": (
        lambda g, a, b, h, p: popops.reduceWithOutput(
            g, b, a[0], [0], ReduceParams(Operation.ADD, True), p
        ),
        np.stack([X[0] + 2 * Y.sum(0), X[1]]),
    ),
    "multiUpdate": (
        lambda g, a, b, h, p: popops.multiUpdate(
            g,
            a,
            b.expand([1]),
            g.add_constant(pl.UNSIGNED_INT, (2, 1), [[1], [0]], mapping=0),
            [0],
            [1],
            p,
        ),
        Y[::-1],
    ),
    "multiUpdateAdd": (
        lambda g, a, b, h, p: popops.multiUpdateAdd(
            g,
            a,
            pl.concat([b, b[:1]]).expand([1]),
            g.add_constant(pl.UNSIGNED_INT, (3, 1), ROWS, mapping=0),
            h,
            [0],
            [1],
            p,
        ),
        X + np.stack([Y[1], 2 * Y[0]]),
    ),
    "updateScalarInRows": (
        lambda g, a, b, h, p: popops.updateScalarInRows(
            g, a, g.add_constant(pl.UNSIGNED_INT, (2,), [2, 0], mapping=0), p
        ),
        X - 2 * np.array([[0, 0, 1], [1, 0, 0]]),
    ),
    "encodeOneHot": (
        lambda g, a, b, h, p: popops.encodeOneHot(
            g, g.add_constant(pl.UNSIGNED_INT, (2,), [2, 0], mapping=0), a, p
        ),
        np.array([[0, 0, 1], [1, 0, 0]]),
    ),
    "matMulAcc": (
        lambda g, a, b, h, p: poplin.matMulAcc(
            g, a, h, g.add_constant(pl.FLOAT, (2, 2), DOWN, mapping=0), b, p
        ),
        X + DOWN @ Y,
    ),
    "addBias": (lambda g, a, b, h, p: poplin.addBias(g, a, b[0], p), X + 2 * Y[0]),
    "convolutionWeightUpdate": (
        conv(bias=False),
        np.c_[X[:, :2] + [Y[0, 0] + Y[0, 1], Y[0, 1] + Y[0, 2]], X[:, 2]],
    ),
    "convolutionBiasUpdate": (conv(bias=True), np.c_[X[:, 0] + 2, X[:, 1:]]),
    "batchNormParamUpdate": (
        lambda g, a, b, h, p: popnn.bn.batchNormParamUpdate(g, b[0], b[1], h, a[0], a[1], p),
        X + Y,
    ),
    "groupNormParamUpdate": (
        lambda g, a, b, h, p: popnn.gn.groupNormParamUpdate(g, b[0], b[1], -2.0, a[0], a[1], p),
        X - 4 * Y,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_there_is_changed_each_time(name: str) -> None:
    call, expected = CASES[name]
    graph, prog = pl.Graph(pl.Target(tiles=3)), pl.Sequence()
    a, b = (
        graph.add_variable(pl.FLOAT, X.shape, each, mapping="linear", initial_value=values)
        for each, values in (("a", X), ("b", Y))
    )
    half = graph.add_constant(pl.FLOAT, (), 0.5, mapping=1)
    call(graph, a, b, half, prog)
    engine = pl.Engine(graph, pl.Repeat(2, prog), **interpreted())
    engine.run()
    np.testing.assert_array_equal(engine.read(a), expected)


def test_q_is_multiplied() -> None:
    graph, prog = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    a, q = poplin.experimental.createQRFactorizationMatrices(graph, pl.FLOAT, 3, 2)
    poplin.experimental.QRFactorization(graph, a, q, prog)
    before = np.array([[1, 2, 0], [0, 1, 0], [3, 0, 1]], np.float32)
    engine = pl.Engine(graph, prog, **interpreted())
    engine.write(a, X.T)
    engine.write(q, before)
    engine.run()
    np.testing.assert_allclose(engine.read(q) @ engine.read(a), before @ X.T, rtol=1e-5, atol=1e-5)


def test_random_numbers_of_a_seed_repeat_and_those_without_go_on() -> None:
    graph, prog = pl.Graph(pl.Target(tiles=3)), pl.Sequence()
    seed = graph.add_constant(pl.UNSIGNED_INT, (2,), [1, 2], mapping=0)
    like = graph.add_variable(pl.FLOAT, (50,), "like", mapping="linear")
    same, other, free = (
        poprand.uniform(graph, which, modifier, like, pl.FLOAT, 0.0, 1.0, prog)
        for which, modifier in ((seed, 3), (seed, 4), (None, 0))
    )
    start = pl.Sequence()
    poprand.setSeed(graph, seed, 7, start)
    engine = pl.Engine(graph, [start, prog], **interpreted())
    drawn = []
    for programs in ((0, 1), (1,), (0, 1)):
        for number in programs:
            engine.run(number)
        drawn.append([engine.read(each) for each in (same, other, free)])
    first, second, again = drawn
    np.testing.assert_array_equal(first[0], second[0])
    assert (first[0] != first[1]).any()
    assert (first[2] != second[2]).any()
    np.testing.assert_array_equal(first[2], again[2])
    assert graph.tile_mapping(same) == graph.tile_mapping(free) == graph.tile_mapping(like)


def test_slices_have_a_least_number_of_elements_on_each_tile() -> None:
    graph = pl.Graph(pl.Target(tiles=16))

    def most_tiles(least: int) -> int:
        x = popops.createSliceableTensor(graph, pl.FLOAT, (5, 4, 12), [1], [1], least)
        assert x.shape == (5, 4, 12)
        return max(len(graph.tile_mapping(x[:, k]).tiles) for k in range(4))

    assert [most_tiles(least) for least in (1, 4, 7, 20, 60, 100)] == [15, 15, 6, 3, 1, 1]
    with pytest.raises(pl.PopliteError, match="min_grain_size is -1"):
        most_tiles(-1)
