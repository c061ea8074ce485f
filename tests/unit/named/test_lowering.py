"""Lowering of computations: programs of the documentation, `nmap`, what is told of each."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
import poplite.named as ng
from helpers.named_oracle import evaluate
from poplite.errors import AxisError, MissingAxisError

# -- programs of the documentation -----------------------------------------------------------------


def test_a_convolution_is_the_sum_of_products_over_taps() -> None:
    rng = np.random.default_rng(1)
    L, K, C, F = ng.make_axes({"L": 8, "K": 3, "C": 2, "F": 4})
    x = ng.placeholder([L, C], name="x")
    w = ng.variable([K, C, F], rng.normal(size=(3, 2, 4)), name="w")
    taps = [ng.dot(w[K, k], x[L, k : k + 6]) for k in range(3)]
    y = taps[0] + taps[1] + taps[2]
    loss = ng.sum(y * y, ...)
    results = [ng.axes_with_order(y, [L, F]), *ng.deriv(loss, [w, x])]
    rows, weights = rng.normal(size=(8, 2)), np.asarray(w.value)
    found = ng.make_transformer(tiles=4).computation(results, x)(rows)
    out = np.add.reduce([rows[k : k + 6] @ weights[k] for k in range(3)])
    slope = np.zeros_like(rows)
    for k in range(3):
        slope[k : k + 6] += 2 * out @ weights[k].T
    of_weights = np.stack([2 * rows[k : k + 6].T @ out for k in range(3)])
    for each, expected in zip(found, (out, of_weights, slope), strict=True):
        np.testing.assert_allclose(each, expected, 1e-4, 1e-4)


def test_a_recurrence_runs_on_the_device_and_takes_its_rows_by_a_counter() -> None:
    rng = np.random.default_rng(2)
    T, H = ng.make_axes({"T": 5, "H": 3})
    G = H.fresh("G")
    inputs, weights = rng.normal(size=(5, 3)), rng.normal(size=(3, 3)) / 2
    x = ng.placeholder([T, H], name="x")
    u = ng.constant(weights, [G, H])
    h, n = ng.variable([H], 0, name="h"), ng.variable([], 0, pl.INT, name="n")
    with ng.steps() as step:
        h[...] = ng.tanh(ng.take(x, n, T) + ng.dot(ng.cast_axes(h, [G]), u))
        n += 1
    work = ng.make_transformer(tiles=2).computation([ng.repeat(5, step), h, n], x)
    _, last, count = work(inputs)
    expected = np.zeros(3)
    for row in inputs:
        expected = np.tanh(row + expected @ weights)
    np.testing.assert_allclose(last, expected, 1e-5, 1e-5)
    assert count == 5


def test_a_step_of_adam_counts_and_changes_all_its_state() -> None:
    rng = np.random.default_rng(3)
    H, N = ng.make_axes({"H": 3, "N": 8})
    x, w = ng.placeholder([N, H], name="x"), ng.variable([H], 1.0, name="w")
    m, v = (ng.persistent_tensor([H], 0, name=name) for name in "mv")
    k = ng.variable([], 0, pl.INT, name="k")
    slope = ng.deriv(ng.mean((ng.dot(x, w) - 1) ** 2, [N]), w)
    with ng.steps() as step:
        k += 1
        ng.parallel([ng.assign(m, 0.9 * m + 0.1 * slope), ng.assign(v, 0.99 * v + 0.01 * slope**2)])
        count = ng.cast(k, pl.FLOAT)
        w -= 0.05 * (m / (1 - 0.9**count)) / (ng.sqrt(v / (1 - 0.99**count)) + 1e-8)
    rows = rng.normal(size=(8, 3))
    found = ng.make_transformer(tiles=2).computation([ng.repeat(4, step), w], x)(rows)[1]
    a, b, at = np.zeros(3), np.zeros(3), np.ones(3)
    for number in range(1, 5):
        by = 2 * (rows @ at - 1) @ rows / 8
        a, b = 0.9 * a + 0.1 * by, 0.99 * b + 0.01 * by**2
        at = at - 0.05 * (a / (1 - 0.9**number)) / (np.sqrt(b / (1 - 0.99**number)) + 1e-8)
    np.testing.assert_allclose(found, at, 1e-3, 1e-3)


# -- orders ----------------------------------------------------------------------------------------
#
# What several readers want in other orders of its axes is made once, in the first one's.


N, F, G = ng.make_axis(6, "N"), ng.make_axis(4, "F"), ng.make_axis(5, "G")


def products(work: ng.Computation) -> int:
    """Return how many products of matrices a computation makes."""
    return str(work.explain()).count("multiplied: ")


def test_gradients_read_the_layers_as_they_were_made() -> None:
    x = ng.placeholder([N, F], name="x")
    hidden: ng.Op = x
    weights = []
    for _ in range(3):
        w = ng.variable([F.fresh("G"), F], np.full((4, 4), 0.1), name="w")
        weights.append(w)
        hidden = ng.tanh(ng.dot(ng.cast_axes(hidden, [N, w.axes.items[0]]), w))
    loss = ng.sum(hidden, ...)
    device = ng.make_transformer(tiles=4)
    work = device.computation([loss, *ng.deriv(loss, weights)], x)
    given = np.linspace(-1, 1, 24, dtype=np.float32).reshape(6, 4)
    found = work(given)
    # Three products forwards, one for each gradient, and one back to each hidden layer.
    assert products(work) == 3 + 3 + 2

    layers = [given.astype(np.float64)]
    for _ in range(3):
        layers.append(np.tanh(layers[-1] @ np.full((4, 4), 0.1)))
    back = np.ones((6, 4))
    for number in (2, 1, 0):
        back = back * (1 - layers[number + 1] ** 2)
        np.testing.assert_allclose(found[number + 1], layers[number].T @ back, atol=1e-6)
        back = back @ np.full((4, 4), 0.1).T


@pytest.mark.parametrize("parts", [(), (slice(1, 4),), (slice(None, None, -2),), (2,)])
def test_a_function_read_in_two_orders_is_stored_once(parts: tuple[slice | int, ...]) -> None:
    x = ng.placeholder([N, F], name="x")
    y = ng.exp(x)
    part = y[dict(zip([F], parts, strict=False))] if parts else y
    one, other = ng.sum(y, [F]), ng.variance(part, [N])
    work = ng.make_transformer(tiles=3).computation([one, other, y * 2.0], x)
    given = np.linspace(-1, 1, 24, dtype=np.float32).reshape(6, 4)
    sums, variances, twice = work(given)
    exact = np.exp(given.astype(np.float64))
    np.testing.assert_allclose(sums, exact.sum(1), rtol=1e-5)
    np.testing.assert_allclose(twice, 2 * exact, rtol=1e-5)
    taken = exact[:, parts[0]] if parts else exact
    np.testing.assert_allclose(variances, taken.var(0), rtol=1e-4)
    assert str(work.explain()).count(": exp(x) (N:6, F:4)") == 1


def test_what_is_quick_is_computed_again() -> None:
    n, f = ng.make_axis(60, "N"), ng.make_axis(40, "F")
    x, y = (ng.placeholder([n, f], name=name) for name in "xy")
    near = x - y
    total = [ng.sum(near, [f]), ng.sum(near, [n])]
    work = ng.make_transformer(tiles=3).computation(total, x, y)
    assert " stored: x - y" not in str(work.explain())
    given = np.arange(2400, dtype=np.float32).reshape(60, 40)
    rows, columns = work(given, given[::-1])
    near_values = given - given[::-1]
    np.testing.assert_array_equal(rows, near_values.sum(1))
    np.testing.assert_array_equal(columns, near_values.sum(0))


def test_a_product_read_in_two_orders_is_made_once() -> None:
    x, w = ng.placeholder([N, F], name="x"), ng.variable([F, G], np.ones((4, 5)), name="w")
    product = ng.dot(x, w)
    other = ng.placeholder([G, N], name="other")
    device = ng.make_transformer(tiles=4)
    work = device.computation([product + other, ng.sum(product, [N])], x, other)
    given = np.arange(24, dtype=np.float32).reshape(6, 4)
    _, columns = work(given, np.zeros((5, 6), np.float32))
    assert products(work) == 1
    np.testing.assert_array_equal(columns, np.full(5, given.sum()))


def test_orders_are_forgotten_when_a_tensor_changes() -> None:
    x = ng.variable([N, F], np.zeros((6, 4)), name="x")
    y = ng.exp(x)
    work = ng.make_transformer(tiles=2).computation(
        ng.sequential(
            [ng.sum(y, [F]), ng.assign(x, x + 1.0), ng.sum(ng.axes_with_order(y, [F, N]), [N])]
        )
    )
    np.testing.assert_allclose(work(), np.full(4, 6 * np.e), rtol=1e-6)


def test_what_is_computed_of_numbers_alone_is_read_in_two_orders() -> None:
    waves = ng.sin(ng.broadcast(ng.exp(1.0), [N, F]))
    shares = ng.softmax(waves, [N])
    found = ng.make_transformer(tiles=2).computation([shares, ng.axes_with_order(waves, [F, N])])()
    np.testing.assert_allclose(found[0], np.full((6, 4), 1 / 6), rtol=1e-6)
    np.testing.assert_allclose(found[1], np.full((4, 6), np.sin(np.e)), rtol=1e-6)


# -- `nmap` ----------------------------------------------------------------------------------------


N4, M, W3, K = (
    ng.make_axis(length, name) for length, name in ((4, "N"), (2, "M"), (3, "W"), (5, "K"))
)
X, Y = ng.placeholder([W3, N4], name="x"), ng.placeholder([M, W3, K], name="y")
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
    "a sum": lambda: ng.nmap(lambda row: row / ng.sum(row, ...), X, axes=[W3]),
    "a number of each row": lambda: ng.nmap(
        lambda row: ng.max(row, [W3]) - row[W3, 0], X, axes=[W3]
    ),
    "two operands": lambda: ng.nmap(lambda a, b: ng.dot(a, b) + 1, X, Y, axes=[W3]),
    "parts and joins": lambda: ng.nmap(
        lambda a: ng.concat([a[W3, 1:], a[W3, :1] * 2], W3), X, axes=[W3]
    ),
    "one for many": lambda: ng.nmap(
        lambda a: ng.flatten(a * ng.constant([1.0, 2.0], [M])), X, axes=[W3]
    ),
    "softmax and its kin": lambda: ng.nmap(
        lambda a: ng.keep(ng.softmax(a, [W3])) + ng.mean(ng.stop_gradient(a), [W3]), X, axes=[W3]
    ),
    "positions": lambda: ng.nmap(
        lambda a: ng.one_hot(ng.argmax(a, [W3]), K) * ng.cast(ng.argmin(a, [W3]), pl.FLOAT),
        *(X,),
        axes=[W3],
    ),
    "other labels": lambda: ng.nmap(
        lambda a: ng.broadcast(ng.cast_axes(a, [M.resized(3)]), [K, M.resized(3)]), X, axes=[W3]
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
    assert ng.nmap(lambda a, b: a * b, X, Y, axes=[W3]).axes == ng.make_axes([N4, M, K, W3])
    assert ng.nmap(lambda a, b: ng.dot(a, b), X, Y, axes=[W3, M]).axes == ng.make_axes([N4, K, M])


def test_a_vertex_for_each_index_of_the_others() -> None:
    sums = ng.nmap(RunningSum, X * 2, axes=[W3])
    best = ng.nmap(Scaled, Y, ng.sum(Y, [W3]), axes=[W3])
    assert sums.axes == ng.make_axes([N4, W3])
    assert best.axes == ng.make_axes([M, K])
    device = ng.make_transformer(tiles=3)
    work = device.computation([sums + 0, best, sums[W3, 2]], X, Y)
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
    made = ng.nmap(lambda row: ng.nmap(RunningSum, row * 2, axes=[W3]) + 1, X, axes=[W3])
    assert made.axes == ng.make_axes([N4, W3])
    (found,) = computed(made)
    np.testing.assert_allclose(found, np.cumsum(2 * VALUES[X], 0).T + 1, 1e-6)


def test_rows_stay_on_their_tiles() -> None:
    x = ng.placeholder([N4, W3], name="x")
    device = ng.make_transformer(tiles=4, map={N4: "tiles"})
    work = device.computation(ng.nmap(RunningSum, x, axes=[W3]), x)
    assert work(np.ones((4, 3))).tolist() == [[1, 2, 3]] * 4
    (step,) = device.graph.compute_sets
    assert [v.tile for v in step.vertices] == [0, 1, 2, 3]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(MissingAxisError, match=r"no axis 'K' among \(W:3, N:4\)") as missed:
        ng.nmap(lambda a: a, X, axes=[K])
    assert missed.value.what.startswith("nmap: a listed axis: ")
    assert missed.value.found.startswith("'x' (W:3, N:4), placeholder made at")
    with pytest.raises(AxisError, match="nmap: the function returned 3"):
        ng.nmap(lambda a: 3, X, axes=[W3])
    with pytest.raises(AxisError, match="result has axis 'N', which it does not see") as caught:
        ng.nmap(lambda a: a * X, X, axes=[W3])
    assert caught.value.fix == "list 'N' in axes, or pass its tensor to nmap"
    with pytest.raises(AxisError, match="nmap: 3 is not a function"):
        ng.nmap(3, X, axes=[W3])
    with pytest.raises(
        AxisError, match="RunningSum has 1 input and 1 output, but nmap was given 2 tensors"
    ):
        ng.nmap(RunningSum, X, X, axes=[W3])
    with pytest.raises(AxisError, match="field 'by' of Scaled does not take FLOAT along"):
        ng.nmap(Scaled, X, X, axes=[W3])
    with pytest.raises(AxisError, match="field 'x' of RunningSum does not take INT"):
        ng.nmap(RunningSum, ng.placeholder([W3], pl.INT), axes=[W3])


# -- `explain()` -----------------------------------------------------------------------------------


H, W = ng.make_axis(3, "H"), ng.make_axis(2, "W")
FILE = Path(__file__).name


class Turned(pl.Vertex):
    """A row from its end to its beginning."""

    row: pl.Input[pl.Vector[pl.FLOAT]]
    out: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for n in range(len(self.row)):
            self.out[n] = self.row[len(self.row) - 1 - n]


def test_explain_tells_what_is_stored_and_why() -> None:
    x, y = ng.placeholder([H], name="x"), ng.placeholder([H], name="y")
    distance = ng.sum((x - y) ** 2, [H])
    work = ng.make_transformer(tiles=2).computation(distance, x, y)
    told = work.explain().splitlines()
    assert told[0] == (
        "computation 'computation0' (x, y): 1 compute set, 1 vertex class, 24 B of tensors, "
        "4 B of other variables"
    )
    assert told[1].split()[:6] == ["x", "(H:3)", "FLOAT", "placeholder,", "12", "B"]
    assert told[2] == "    row-major (H): no votes; linear over 1 tile"
    reduced, line = told[5].split("  ")[1:]
    assert reduced == (
        "reduced: sum((x - y) ** 2, [H]) (), 4 B (with its operand, which is not stored)"
    )
    assert FILE in line


def test_operations_are_named_with_their_axes_and_lines() -> None:
    """What the library calls its vertices, and the parts of a step, stand in no line."""
    x, y = ng.placeholder([H, W], name="x"), ng.placeholder([W, H], name="y")
    near = x - y
    roots = [
        *(ng.softmax(near, [W]), ng.dot(near, near, axes=[H]), ng.argmax(x, [W])),
        *(ng.sum(ng.concat([x, y], H), ...), ng.flatten(x) * 2, ng.keep(ng.exp(x))[H, ::-1]),
        *(ng.cross_entropy_binary(ng.sigmoid(x), y), ng.cast(x, pl.INT) ** 2, -x),
        ng.nmap(Turned, x, axes=[W]),
    ]
    work = ng.make_transformer(tiles=2).computation(roots, x, y)
    words = "stored|reduced|multiplied|copied|computed again"
    told = [line for line in work.explain().splitlines() if re.match(f"  ({words}): ", line)]
    assert len(told) > len(roots)
    for line in told:
        axes, size = r"\((\(H,W\):\d+|[HW]:\d+|, )*\)", r"(, \d+ B)?"
        assert re.search(rf" {axes}{size}(: | \(.+\)  ).*{FILE}:\d+", line), line
        assert not re.search(r"Map_|Sum|view\(|_softplus|[ak]\d|/value|\bpart\b", line), line
    text = "\n".join(told)
    assert "stored: -x (H:3, W:2), 24 B (a result, like x)" in text
    assert "stored: flatten(x) * 2 ((H,W):6), 24 B (a result, like x)" in text
    assert "stored: cast(x, INT) ** 2 (H:3, W:2)" in text
    assert "copied: nmap" not in text


A, B, C = ng.make_axes({"A": 5, "B": 3, "C": 2})


@pytest.mark.parametrize("tiles", [1, 3])
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([A, B], [C, A]),
        ([B, A], [A, C]),
        ([A, B], [A]),
        ([A, N4, B], [C, N4, A]),
        ([N4, B, A], [N4, A]),
    ],
)
def test_what_is_copied_is_what_the_engine_gathers(
    left: list[ng.Axis], right: list[ng.Axis], tiles: int
) -> None:
    """Of tensors whose layouts are given, and of what is computed of them."""
    x = ng.placeholder(left, name="x", layout=ng.row_major(left))
    y = ng.placeholder(right, name="y", layout=ng.row_major(right))
    for first in (x, ng.tanh(x)):
        work = ng.make_transformer(tiles=tiles).computation(ng.dot(first, y, axes=[A]), x, y)
        work(np.ones(x.shape), np.ones(y.shape))
        lines = re.findall(r"  copied: .* \(.*\), ([\d,]+) B: .*", work.explain())
        assert sum(int(each.replace(",", "")) for each in lines) == work.report().bytes_gathered


def test_what_is_copied_has_its_reader_and_the_reason() -> None:
    x, y = ng.placeholder([A, B], name="x"), ng.placeholder([C, A], name="y")
    work = ng.make_transformer(tiles=1).computation(ng.dot(x, y, axes=[A]), x, y)
    assert " copied: " not in work.explain()
    given = ng.placeholder([A, B], name="given", layout=ng.row_major([A, B]))
    work = ng.make_transformer(tiles=1).computation(ng.dot(given, y, axes=[A]), given, y)
    (line,) = [each for each in work.explain().splitlines() if " copied: " in each]
    assert line.startswith("  copied: 'given' (A:5, B:3), 60 B: dot at ")
    assert line.endswith("reads rows along 'A', whose elements are 3 apart")


def test_each_reader_is_told_of_what_it_gathers_and_no_view_of_that_is_free() -> None:
    x = ng.variable([A, C], 1, name="x", layout=ng.column_major([A, C], {A: 6, C: 4}))
    even, free = x[A, ::2] + 0, ng.axes_with_order(x, [C, A])[C, 0]
    roots = [even, ng.flatten(x) * 2, free]
    work = ng.make_transformer(tiles=1).computation(roots)
    work()
    told = work.explain()
    first, line = told.splitlines()[:2]
    assert ", 96 B of tensors, " in first
    assert "variable, 96 B, 40 B without padding" in line
    found = re.findall(rf"  copied: 'x' \(A:5, C:2\), (\d+) B: (.*) at \S*{FILE}:.* reads", told)
    assert sorted(found) == [("24", "x[A, ::2] + 0"), ("40", "flatten(x) * 2")]
    assert work.report().bytes_gathered == 64
    assert "slice; gathered, as described below" in told
    assert "flatten; gathered, as described below" in told
    assert "slice; no copy\n    strides 1; offset 0" in told


def test_a_description_without_a_name_has_no_quotes() -> None:
    view = ng.TensorDescription([A, B], layout=ng.row_major([A, B])).transpose()
    assert "  view of (A:5, B:3): transpose; no copy" in view.explain()


def test_what_has_a_tensor_of_its_own_is_a_result_there() -> None:
    x = ng.placeholder([H, W], name="x")
    placed, turned = ng.place(x, 1), ng.nmap(Turned, x, axes=[W])
    work = ng.make_transformer(tiles=2).computation([placed, turned, turned + placed], x)
    values = np.arange(6.0).reshape(3, 2)
    found = work(values)
    assert [each.tolist() for each in found[:2]] == [values.tolist(), values[:, ::-1].tolist()]
    assert found[2].tolist() == (values[:, ::-1] + values).tolist()
    assert work.report().bytes_copied == 24  # by `place`
    assert [each.num_elements for each in work.graph.variables] == [6] * 4


# -- names -----------------------------------------------------------------------------------------


H6, W4 = ng.make_axes({"H": 6, "W": 4})
input_6_4 = ng.placeholder([H6, W4], name="x")
t = ng.placeholder([H6, W4], name="t")

PAGE = Path(pl.__file__).resolve().parents[1] / "docs" / "named.md"


def test_the_page_lists_all_names() -> None:
    table = PAGE.read_text().partition("## All names")[2].partition("\n## ")[0]
    rows = [line.split("|")[2] for line in table.splitlines() if line.startswith("|")][2:]
    listed = [name for row in rows for name in re.findall(r"`(\w+)", row)]
    assert sorted(listed) == ng.__all__


COMPOSITES: dict[str, Callable[[], ng.Op]] = {
    "mean": lambda: ng.mean(input_6_4, [H6]),
    "variance": lambda: ng.variance(input_6_4, [H6]),
    "squared_L2": lambda: ng.squared_L2(input_6_4, [H6]),
    "L2_norm": lambda: ng.L2_norm(input_6_4, [H6]),
    "L1_norm": lambda: ng.L1_norm(input_6_4, [H6]),
    "softmax": lambda: ng.softmax(input_6_4, [H6]),
    "log_softmax": lambda: ng.log_softmax(input_6_4, [H6]),
    "safelog": lambda: ng.safelog(input_6_4),
    "cross_entropy_multi": lambda: ng.cross_entropy_multi(ng.softmax(input_6_4, [H6]), t, [H6]),
    "cross_entropy_binary": lambda: ng.cross_entropy_binary(ng.sigmoid(input_6_4), t),
}


@pytest.mark.parametrize("name", COMPOSITES)
def test_a_function_gives_its_name_to_what_is_stored(name: str) -> None:
    made = COMPOSITES[name]()
    assert repr(made).startswith(f"<{name} (")
    assert f", {name} made at" in made.text
    assert f"{name}" in made.explain().splitlines()[-1]
    work = ng.make_transformer(tiles=2).computation(made, "all")
    assert work.tensor(made).name == name
    assert any(line.strip().startswith(f"stored: {name} = ") for line in lines_of(work, name))


def lines_of(work: ng.Computation, name: str) -> list[str]:
    """Return what explain says; a sum is reduced, and so stored in its place."""
    return work.explain().replace(f"reduced: {name} = ", f"stored: {name} = ").splitlines()


def test_what_stands_within_another_one_has_its_own_name() -> None:
    made = ng.tanh(
        ng.dot(ng.softmax(input_6_4, [H6]), ng.variable([W4, H6.fresh("G")], 0.5, name="w"))
    )
    work = ng.make_transformer(tiles=2).computation(made, input_6_4)
    assert work.program
    names = [each.name for each in work.graph.variables]
    assert any(name.endswith("/softmax") for name in names)
    assert not any(name.endswith("/divide") for name in names)
    assert any("/softmax[" in each.name for each in work.graph.compute_sets)


def test_axes_in_another_order_keep_the_name() -> None:
    G = ng.make_axis(3, "G")
    y = ng.placeholder([G, H6, W4], name="y")
    made = ng.mean(y, reduction_axes=[H6], out_axes=[W4, G])
    assert repr(made) == "<mean (W:4, G:3) FLOAT>"
    work = ng.make_transformer(tiles=2).computation(made, y)
    assert work(np.ones((3, 6, 4))).tolist() == np.ones((4, 3)).tolist()
    assert work.tensor(made).name == "mean"


def test_what_a_user_wrote_is_left_as_it_is() -> None:
    one = input_6_4 / 2
    for function in (ng.mean, ng.variance, ng.L1_norm, ng.L2_norm, ng.softmax):
        function(one, [H6])
    ng.cross_entropy_binary(one, t)
    assert repr(one) == "<divide (H:6, W:4) FLOAT>"


def test_dots_may_stand_for_no_axis() -> None:
    assert (
        input_6_4[..., 0, 1].axes
        == input_6_4[0, 1, ...].axes
        == input_6_4[0, ..., 1].axes
        == ng.make_axes()
    )


# -- lines of users --------------------------------------------------------------------------------


D = ng.make_axis(4, "D")
state_3_4 = ng.variable([H, W4], name="x")
described = ng.TensorDescription([H, W4], layout=ng.row_major([H, W4]), name="described")

MAKERS: list[Callable[[], Any]] = [
    lambda: state_3_4 + state_3_4,
    lambda: 2 * state_3_4,
    lambda: -state_3_4,
    lambda: abs(state_3_4),
    lambda: state_3_4 < 1,
    lambda: state_3_4[H, 1:],
    lambda: ng.add(state_3_4, 1),
    lambda: ng.exp(state_3_4),
    lambda: ng.where(state_3_4 < 1, state_3_4, 2),
    lambda: ng.cast(state_3_4, int),
    lambda: ng.sum(state_3_4, [H]),
    lambda: ng.mean(state_3_4, ...),
    lambda: ng.argmax(state_3_4, [W4]),
    lambda: ng.dot(state_3_4, state_3_4),
    lambda: ng.broadcast(state_3_4, [H, W4, D]),
    lambda: ng.cast_axes(state_3_4, [H, D]),
    lambda: ng.axes_with_order(state_3_4, [W4, H]),
    lambda: ng.flatten(state_3_4),
    lambda: ng.stack([state_3_4, state_3_4], D.fresh("S").resized(2)),
    lambda: ng.pad(state_3_4, {H: (1, 0)}),
    lambda: ng.softmax(state_3_4, [W4]),
    lambda: ng.deriv(ng.sum(state_3_4 * state_3_4, ...), state_3_4),
    lambda: ng.constant(1.0),
    lambda: ng.placeholder([H]),
    lambda: ng.assign(state_3_4, 1),
    lambda: ng.keep(state_3_4),
    lambda: ng.TensorDescription([H]),
    lambda: described.transpose(),
    lambda: described.slice({H: 1}),
    lambda: described.flatten(),
    lambda: described.concat([described], H),
    lambda: described.pad({H: (1, 1)}),
    lambda: ng.make_axis(3),
    lambda: H.fresh(),
    lambda: H.resized(7),
]


@pytest.mark.parametrize("make", MAKERS, ids=range(len(MAKERS)))
def test_the_line_is_that_of_the_call(make: Callable[[], Any]) -> None:
    made = make()
    code = make.__code__
    assert (made.line.file, made.line.line) == (code.co_filename, code.co_firstlineno)
