"""Programs that the documentation leads to, against NumPy: convolutions, recurrences, training."""

from __future__ import annotations

import numpy as np
import pytest

import poplite as pl
import poplite.named as ng


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
