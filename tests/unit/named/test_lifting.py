"""`nmap`: functions and vertices that see few axes, applied along all others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poplite as pl
import poplite.named as ng
from helpers.named_oracle import evaluate
from poplite.errors import AxisError, MissingAxisError

N, M, W, K = (
    ng.make_axis(length, name) for length, name in ((4, "N"), (2, "M"), (3, "W"), (5, "K"))
)
X, Y = ng.placeholder([W, N], name="x"), ng.placeholder([M, W, K], name="y")
random = np.random.default_rng(0)
VALUES = {each: random.uniform(0.5, 2, each.shape).astype(np.float32) for each in (X, Y)}


class RunningSum(pl.Vertex):
    """Sums of the elements so far."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        total = 0.0
        for i in range(len(self.x)):
            total += self.x[i]
            self.y[i] = total


class Scaled(pl.Vertex):
    """The greatest element, times a number."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    by: pl.Input[pl.FLOAT]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        most = self.x[0]
        for i in range(1, len(self.x)):
            most = max(most, self.x[i])
        self.y = most * self.by


def computed(*results: ng.Op) -> list[Any]:
    work = ng.make_transformer(tiles=3).computation(list(results), X, Y)
    return list(work(VALUES[X], VALUES[Y]))


FUNCTIONS: dict[str, Any] = {
    "a sum": lambda: ng.nmap(lambda row: row / ng.sum(row, ...), X, axes=[W]),
    "a number of each row": lambda: ng.nmap(lambda row: ng.max(row, [W]) - row[W, 0], X, axes=[W]),
    "two operands": lambda: ng.nmap(lambda a, b: ng.dot(a, b) + 1, X, Y, axes=[W]),
    "parts and joins": lambda: ng.nmap(
        lambda a: ng.concat([a[W, 1:], a[W, :1] * 2], W), X, axes=[W]
    ),
    "one for many": lambda: ng.nmap(
        lambda a: ng.flatten(a * ng.constant([1.0, 2.0], [M])), X, axes=[W]
    ),
    "softmax and its kin": lambda: ng.nmap(
        lambda a: ng.keep(ng.softmax(a, [W])) + ng.mean(ng.stop_gradient(a), [W]), X, axes=[W]
    ),
    "positions": lambda: ng.nmap(
        lambda a: ng.one_hot(ng.argmax(a, [W]), K) * ng.cast(ng.argmin(a, [W]), pl.FLOAT),
        *(X,),
        axes=[W],
    ),
    "other labels": lambda: ng.nmap(
        lambda a: ng.broadcast(ng.cast_axes(a, [M.resized(3)]), [K, M.resized(3)]), X, axes=[W]
    ),
}


def test_functions_are_applied_along_all_other_axes() -> None:
    roots = [make() for make in FUNCTIONS.values()]
    expected = evaluate(roots, VALUES)
    for name, root, found, values in zip(FUNCTIONS, roots, computed(*roots), expected, strict=True):
        assert found.shape == root.shape, name
        np.testing.assert_allclose(found, values, 1e-5, 1e-6, err_msg=name)
    x, y = VALUES[X].astype(float), VALUES[Y].astype(float)
    np.testing.assert_allclose(expected[0], (x / x.sum(0)).T)
    np.testing.assert_allclose(expected[2], np.einsum("wn,mwk->nmk", x, y) + 1)


def test_the_others_come_first_in_the_order_of_the_operands() -> None:
    assert ng.nmap(lambda a, b: a * b, X, Y, axes=[W]).axes == ng.make_axes([N, M, K, W])
    assert ng.nmap(lambda a, b: ng.dot(a, b), X, Y, axes=[W, M]).axes == ng.make_axes([N, K, M])


def test_a_vertex_for_each_index_of_the_others() -> None:
    sums = ng.nmap(RunningSum, X * 2, axes=[W])
    best = ng.nmap(Scaled, Y, ng.sum(Y, [W]), axes=[W])
    assert sums.axes == ng.make_axes([N, W])
    assert best.axes == ng.make_axes([M, K])
    device = ng.make_transformer(tiles=3)
    work = device.computation([sums + 0, best, sums[W, 2]], X, Y)
    found, most, last = work(VALUES[X], VALUES[Y])
    x, y = VALUES[X], VALUES[Y]
    np.testing.assert_allclose(found, np.cumsum(2 * x, 0).T, 1e-6)
    np.testing.assert_allclose(most, y.max(1) * y.sum(1), 1e-6)
    np.testing.assert_allclose(last, 2 * x.sum(0), 1e-6)
    counts = [
        sum(v.vertex_class is cls for each in device.graph.compute_sets for v in each.vertices)
        for cls in (RunningSum, Scaled)
    ]
    assert counts == [4, 10]


def test_vertices_inside_a_function_get_the_other_axes() -> None:
    made = ng.nmap(lambda row: ng.nmap(RunningSum, row * 2, axes=[W]) + 1, X, axes=[W])
    assert made.axes == ng.make_axes([N, W])
    (found,) = computed(made)
    np.testing.assert_allclose(found, np.cumsum(2 * VALUES[X], 0).T + 1, 1e-6)


def test_rows_stay_on_their_tiles() -> None:
    x = ng.placeholder([N, W], name="x")
    device = ng.make_transformer(tiles=4, map={N: "tiles"})
    work = device.computation(ng.nmap(RunningSum, x, axes=[W]), x)
    assert work(np.ones((4, 3))).tolist() == [[1, 2, 3]] * 4
    (step,) = device.graph.compute_sets
    assert [v.tile for v in step.vertices] == [0, 1, 2, 3]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(MissingAxisError, match=r"no axis 'K' among \(W:3, N:4\)") as missed:
        ng.nmap(lambda a: a, X, axes=[K])
    assert missed.value.what.startswith("nmap: a listed axis: ")
    assert missed.value.found.startswith("'x' (W:3, N:4), placeholder made at")
    with pytest.raises(AxisError, match="nmap: the function returned 3"):
        ng.nmap(lambda a: 3, X, axes=[W])
    with pytest.raises(AxisError, match="result has axis 'N', which it does not see") as caught:
        ng.nmap(lambda a: a * X, X, axes=[W])
    assert caught.value.fix == "list 'N' in axes, or give its tensor to nmap"
    with pytest.raises(AxisError, match="nmap: 3 is not a function"):
        ng.nmap(3, X, axes=[W])
    with pytest.raises(AxisError, match="RunningSum has 1 input and 1 output for 2 tensors"):
        ng.nmap(RunningSum, X, X, axes=[W])
    with pytest.raises(AxisError, match="field 'by' of Scaled does not take FLOAT along"):
        ng.nmap(Scaled, X, X, axes=[W])
    with pytest.raises(AxisError, match="field 'x' of RunningSum does not take INT"):
        ng.nmap(RunningSum, ng.placeholder([W], pl.INT), axes=[W])
