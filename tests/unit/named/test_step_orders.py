"""What runs before what: copies of views behind what makes it, reads of a tensor before writes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poplite.named as ng
from helpers.depth import interpreted_everywhere

H, K = ng.make_axis(2, "H"), ng.make_axis(2, "K")
E, D, N = ng.make_axis(2, "E"), ng.make_axis(3, "D"), ng.make_axis(8, "N")

RNG = np.random.default_rng(7)
ROWS, TARGETS = RNG.normal(size=(2, 8, 2, 3)), RNG.normal(size=(2, 8))


def state(values: Any, name: str = "x", **options: Any) -> ng.Op:
    return ng.variable([H], values, name=name, **options)


def run(*results: Any, tiles: int = 2, **options: Any) -> list[Any]:
    """What one call returns, arrays as lists."""
    found = ng.make_transformer(tiles=tiles, checks="strict", **options).computation(list(results))
    return [None if each is None else each.tolist() for each in found()]


SEEN: list[Any] = [
    pytest.param(
        ng.flatten, lambda rows: rows.reshape(8, 6), lambda g: g.reshape(2, 3), id="flatten"
    ),
    pytest.param(
        lambda x: ng.pad(x, {D: 1}),
        lambda rows: np.pad(rows, ((0, 0), (0, 0), (1, 1))).reshape(8, 10),
        lambda g: g.reshape(2, 5)[:, 1:4],
        id="pad",
    ),
    pytest.param(
        lambda x: ng.flatten(x)[1:5],
        lambda rows: rows.reshape(8, 6)[:, 1:5],
        lambda g: np.concatenate([[0], g, [0]]).reshape(2, 3),
        id="slice",
    ),
]


@pytest.mark.parametrize(("view", "rows_seen", "back"), SEEN)
@pytest.mark.parametrize(("tiles", "hint"), [(4, {D: "tiles"}), (1, 0)])
@pytest.mark.parametrize("is_alone", [True, False])
def test_a_gradient_through_a_view_is_that_of_its_call(
    view: Any, rows_seen: Any, back: Any, tiles: int, hint: Any, is_alone: bool
) -> None:
    """It came from the call before, where the variable has a hint."""
    x = ng.variable([E, D], np.ones((2, 3)), map=hint, name="x")
    seen = view(x)
    rows, targets = ng.placeholder([N, *seen.axes]), ng.placeholder([N])
    loss = ng.mean((ng.dot(rows, seen) - targets) ** 2, [N])
    gradient = ng.deriv(loss, x)
    device = ng.make_transformer(tiles=tiles, checks="strict")
    results = [gradient] if is_alone else [loss, gradient]
    work = device.computation(results, rows, targets)
    for given, right in zip(ROWS, TARGETS, strict=True):
        flat = rows_seen(given)
        ones = rows_seen(np.ones((1, *given.shape[1:])).repeat(8, 0))[0]
        expected = back(2 / 8 * (flat @ ones - right) @ flat)
        found = work(flat.reshape(rows.shape), right)[-1]
        np.testing.assert_allclose(found, expected, 1e-4, 1e-5)


JOINED: list[Any] = [
    pytest.param(lambda x: ng.concat([-x, x], H), [-1, -2, 1, 2], id="concat"),
    pytest.param(lambda x: ng.stack([-x, x], K), [[-1, -2], [1, 2]], id="stack"),
    pytest.param(lambda x: ng.concat([-x, x], H)[H, ::-1], [2, 1, -2, -1], id="slice"),
    pytest.param(
        lambda x: ng.axes_with_order(ng.stack([-x, x], K), [H, K]), [[-1, 1], [-2, 2]], id="order"
    ),
    pytest.param(lambda x: ng.flatten(ng.stack([-x, x], K)), [-1, -2, 1, 2], id="flatten"),
    pytest.param(lambda x: ng.pad(ng.concat([-x, x], H), {H: 1}), [0, -1, -2, 1, 2, 0], id="pad"),
]


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("fuse", ["cost", "none"])
@pytest.mark.parametrize(("joined", "expected"), JOINED)
def test_what_joins_a_plain_tensor_keeps_its_value(
    joined: Any, expected: Any, fuse: str, kept: bool
) -> None:
    """Its plain part was read behind the assignment that follows."""
    x = state([1, 2], map={H: "tiles"})
    item = ng.keep(joined(x)) if kept else joined(x)
    assert run(item, ng.assign(x, x * 10), item, x, fuse=fuse) == [
        *(expected, None, expected, [10, 20])
    ]


@pytest.mark.parametrize("order", [1, -1])
def test_parallel_reads_what_joins_before_it_writes(order: int) -> None:
    x, y = state([1, 2]), ng.variable([H.resized(4)], 0, name="y")
    writes = [ng.assign(x, x * 10), ng.assign(y, ng.concat([-x, x], H))]
    assert run(ng.parallel(writes[::order]), y, x) == [None, [-1, -2, 1, 2], [10, 20]]


def test_what_is_stored_for_an_item_is_stored_again_in_a_loop() -> None:
    """A `place` within another one had its value from before the loop in all rounds."""
    x = state([1, 2])
    inner = ng.place(x * 2, 0)
    outer = ng.place(inner + 1, 1)
    found = run(outer, ng.repeat(3, ng.assign(x, x + inner)), x)
    assert found == [[3, 5], None, [27, 54]]


def test_a_tensor_is_its_storage_where_a_copy_of_it_is_a_result() -> None:
    x = state([1, 2])
    device = ng.make_transformer(tiles=2)
    work = device.computation([x, ng.assign(x, x * 10)])
    assert work()[0].tolist() == [1, 2]
    assert work.engine.read(work.tensor(x)).tolist() == [10, 20]
    assert work.tensor(x).name == "x"


def _total(value: ng.Op) -> ng.Op:
    return ng.sum(value, reduction_axes=value.axes)


def _along_axis(x: Any, p: Any) -> list[Any]:
    row = x[1]
    return [ng.deriv(_total(row * row), x), row, ng.assign(x, p)]


def _joined(x: Any, p: Any) -> list[Any]:
    both = ng.concat([x, p, x], E)
    gradient = ng.deriv(_total(both * both * both), x)
    return [both, gradient, ng.assign(x, x + p), gradient]


def _stacked(x: Any, p: Any) -> list[Any]:
    all_of = ng.stack([x, p, -x], ng.make_axis(3, "S"))
    return [all_of, ng.deriv(_total(all_of * all_of), x), ng.assign(x, p * 2), all_of[0]]


def _descended(x: Any, p: Any) -> list[Any]:
    error = ng.dot(ng.flatten(p), ng.flatten(x)) - 1.0
    gradient = ng.deriv(error * error, x)
    return [gradient, ng.assign(x, x - 0.03125 * gradient), ng.flatten(gradient)]


def _descent(c: Any, p: Any) -> tuple[list[Any], Any]:
    gradient = 2 * ((c * p).sum() - 1) * p
    return [gradient, gradient.ravel()], c - 0.03125 * gradient


WRITTEN: dict[str, tuple[Any, Any]] = {
    "slice": (_along_axis, lambda c, p: ([np.stack([0 * c[0], 2 * c[1]]), c[1]], p)),
    "concat": (
        _joined,
        lambda c, p: ([np.concatenate([c, p, c]), 6 * c * c, 6 * c * c], c + p),
    ),
    "stack": (_stacked, lambda c, p: ([np.stack([c, p, -c]), 4 * c, c], 2 * p)),
    "flatten": (_descended, _descent),
}


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize(("fuse", "hint"), [("cost", {D: "tiles"}), ("none", {E: 1})])
def test_results_are_those_of_before_a_write_in_every_call(
    monkeypatch: pytest.MonkeyPatch, name: str, fuse: Any, hint: Any
) -> None:
    for variable, options in interpreted_everywhere().items():
        monkeypatch.setenv(variable, options)
    build, expect = WRITTEN[name]
    now = np.array([[1, -2, 0.5], [3, 0.25, -1]])
    x, p = ng.variable([E, D], now.copy(), map=hint, name="x"), ng.placeholder([E, D])
    work = ng.make_transformer(tiles=4, checks="strict", fuse=fuse).computation(build(x, p), p)
    for given in (now[::-1], now * 2, now - 1):
        expected, now = expect(now, given)
        found = [each for each in work(given) if each is not None]
        for value, right in zip(found, expected, strict=True):
            np.testing.assert_allclose(value, right, 1e-5)
