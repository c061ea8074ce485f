"""What several readers want in other orders of its axes is made once, in the first one's."""

from __future__ import annotations

import numpy as np
import pytest

import poplite.named as ng

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
