"""Programs that the documentation leads to, against NumPy: convolutions, recurrences, training."""

from __future__ import annotations

import numpy as np

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
