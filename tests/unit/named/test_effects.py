"""Effects: the table of items, simultaneous writes, what keeps its value and what is read anew."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import poplite as pl
import poplite.named as ng
from helpers.depth import interpreted_everywhere
from poplite.errors import (
    AxisError,
    AxisLengthError,
    ElementTypeError,
    MissingAxisError,
    ReadOnlyError,
)
from poplite.jit.build import no_collection
from poplite.named.programs import Effect

H, W = ng.make_axis(3, "H"), ng.make_axis(2, "W")


def state(value: Any = 0, name: str = "x") -> ng.Op:
    return ng.variable([], value, name=name)


def run(*results: Any, **options: Any) -> list[Any]:
    """What one call returns, numbers as Python's."""
    found = ng.make_transformer(tiles=2, **options).computation(list(results))()
    return [None if each is None else each.tolist() for each in found]


def test_a_listed_expression_keeps_its_value_and_others_are_read_anew() -> None:
    """x0 = x+x; x1 = x+x; sequential([x0, assign(x, 2), x1, x0]) from x = 0 leaves 0 and 4.

    Trap 3.
    """
    x = state()
    x0, x1 = x + x, x + x
    assert run(ng.sequential([x0, ng.assign(x, 2), x1, x0]), x0, x1) == [0, 0, 4]
    x = state()
    x0, x1 = x + x, x + x
    assert run(x0, ng.assign(x, 2), x1, x0, x) == [0, None, 4, 0, 2]


def test_a_bare_variable_is_not_remembered() -> None:
    x = state(1)
    assert run(x, ng.assign(x, x + 1), x, ng.assign(x, x * 5), x) == [1, None, 2, None, 10]


def test_an_expression_inside_an_item_is_read_at_its_place_whole() -> None:
    """The loss after an update is that of the new weights, also where the update shared parts.

    Trap 4.
    """
    w = state(3, "w")
    error = w - 1
    loss = error * error
    gradient = ng.deriv(loss, w)
    assert run(ng.sequential([ng.assign(w, w - 0.25 * gradient), loss])) == [1]
    w = state(3, "w")
    loss = (w - 1) * (w - 1)
    update = ng.assign(w, w - 0.25 * ng.deriv(loss, w))
    assert run(loss, update, w) == [4, None, 2]


def test_parallel_reads_everything_before_it_writes_anything() -> None:
    """Trap 5."""
    x, y = state(1, "x"), state(10, "y")
    swap = ng.parallel([ng.assign(x, y), ng.assign(y, x)])
    assert run(swap, x, y) == [None, 10, 1]
    x, y = state(1, "x"), state(10, "y")
    assert run(ng.sequential([ng.assign(x, y), ng.assign(y, x)]), x, y) == [None, 10, 10]


@pytest.mark.parametrize("fuse", ["cost", "none"])
def test_parallel_reads_sums_of_what_it_writes_before(fuse: str) -> None:
    x = ng.variable([H], [1, 2, 3], name="x")
    y = ng.variable([H], [1, 1, 1], name="y")
    total = ng.sum(x * y, [H])
    both = ng.parallel([ng.assign(x, x + total), ng.assign(y, y * total + x)])
    assert run(both, x, y, fuse=fuse) == [None, [7, 8, 9], [7, 8, 9]]


def test_overlapping_writes_are_refused_with_both_lines() -> None:
    x = ng.variable([H], 0, name="x")
    both = ng.parallel([ng.assign(x[H, :2], 1), ng.assign(x[H, 1:], 2)])
    with pytest.raises(AxisError, match="two assignments write the same elements of 'x'") as caught:
        run(both)
    tensor, lines = caught.value.found.splitlines()
    assert tensor.startswith("'x' (H:3), variable made at")
    assert lines.count("test_effects.py") == 2
    x = ng.variable([H], 0, name="x")
    apart = ng.parallel([ng.assign(x[H, :1], 1), ng.assign(x[H, 1:], 2)])
    assert run(apart, x) == [None, [1, 2, 2]]


def test_repeat_does_an_item_again_and_remembers_nothing_of_it() -> None:
    x = state(1)
    twice = x + x
    assert run(ng.repeat(3, ng.assign(x, twice)), twice, x) == [None, 16, 8]
    x = state(1)
    assert run(ng.repeat(4, [ng.assign(x, x * 2), x + 1]), x, ng.repeat(0, ng.assign(x, 0)), x) == [
        *(None, 16, None, 16)
    ]


def test_steps_record_what_is_assigned_in_python() -> None:
    """Seed 000: "values can be assigned to its elements, as in x[...] = y"."""
    x, y = ng.variable([H, W], 0, name="x"), ng.variable([W, H], [[1, 2, 3], [4, 5, 6]], name="y")
    with ng.steps() as update:
        x[...] = y
        x[H, 0] = -1.0
        x[W, 1] = x[W, 1] * 2
        x[0, 1] = 9
    assert run(update, x) == [None, [[-1, 9], [2, 10], [3, 12]]]
    with pytest.raises(AxisError, match=r"'x\[...\] = ' outside of ng.steps") as caught:
        x[...] = y
    assert "ng.assign(x, value)" in caught.value.fix
    assert "with ng.steps()" in caught.value.fix


def test_steps_record_operators_in_place() -> None:
    x = ng.variable([H, W], [[1, 2], [3, 4], [5, 6]], name="x")
    same = x
    with ng.steps() as update:
        x -= 1.0
        x[W, 0] *= 10
        x[...] /= 2
        turned = ng.axes_with_order(x, [W, H])
        turned += ng.constant([0.0, 1.0, 2.0], [H])
        total = x + 0
        total += 5  # what keeps no values is an expression, as in Python
    assert x is same
    assert len(update.items) == 4
    assert run(update, x, total) == [
        *(None, [[0, 0.5], [11, 2.5], [22, 4.5]], [[5, 5.5], [16, 7.5], [27, 9.5]])
    ]
    y = state(1, "y")
    with ng.steps() as update:
        first = x[H, 0]
        first += 1
        x[H, 1] = first  # another part than the one that was changed
        y += 1
    assert len(update.items) == 3
    x += 1
    assert x.called == "add"


def test_steps_record_every_effect_that_is_made_in_them() -> None:
    x, y = state(1, "x"), state(10, "y")
    with ng.steps() as update:
        ng.assign(x, 5)
        ng.parallel([ng.assign(x, y), ng.assign(y, x)])
        with ng.steps() as inner:
            x += 1
            y += 2
        ng.repeat(2, inner)
        ng.repeat(3, [ng.assign(y, y + 100)])
        with ng.steps():
            x *= 2
    assert [type(each).__name__ for each in update.items] == [
        *("Assign", "Parallel", "RepeatEffect", "RepeatEffect", "Sequential")
    ]
    assert run(update, x, y) == [None, 24, 309]
    x = state(1, "x")
    with ng.steps() as update:
        change = ng.assign(x, x * 2)
        with ng.steps():
            ng.repeat(3, change)  # part of the inner block, and of the outer one no more
    assert run(update, x) == [None, 8]
    with pytest.raises(AxisError, match="steps: nothing was recorded") as caught, ng.steps():
        _ = x + 1
    assert "x -= value" in caught.value.fix


def test_values_are_reordered_and_broadcast_to_the_target() -> None:
    x = ng.variable([H, W], 0, name="x")
    y = ng.constant([1.0, 2.0], [W])
    assert run(ng.assign(x, y), x) == [None, [[1, 2]] * 3]
    x = ng.variable([H, W], 0, name="x")
    assert run(ng.assign(x, np.arange(6.0).reshape(3, 2)), x) == [None, [[0, 1], [2, 3], [4, 5]]]


def test_views_of_a_target_are_written_through() -> None:
    x = ng.variable([H, W], 0, name="x")
    flat = ng.flatten(x)
    turned = ng.axes_with_order(x, [W, H])
    found = run(ng.assign(flat, np.arange(6.0)), ng.assign(turned[W, 0], 7), x)
    assert found == [None, None, [[7, 1], [7, 3], [7, 5]]]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (lambda x: x + 1, "'add' is computed, and has no storage"),
        (lambda x: ng.constant(1.0, [H], name="c"), "'c' is a constant"),
        (lambda x: ng.broadcast(x, [H, W]), "'broadcast' is computed"),
        (lambda x: ng.pad(x, {H: 1}), "'concat' is computed"),
    ],
)
def test_only_tensors_with_storage_take_values(target: Any, said: str) -> None:
    """Defect 10: values of sums and constants were assigned to."""
    x = ng.variable([H], 0, name="x")
    with pytest.raises(ReadOnlyError, match=said):
        ng.assign(target(x), 1)


def test_what_does_not_fit_a_target_is_refused() -> None:
    x = ng.variable([H], 0, name="x")
    with pytest.raises(ElementTypeError, match="assign: cannot write to 3") as caught:
        ng.assign(cast("Any", 3), 1)
    assert "pass a tensor from ng.variable or" in caught.value.fix
    with pytest.raises(AxisError, match="no axis is flattened") as caught_axis:
        ng.unflatten(ng.flatten(ng.placeholder([H, W]))[::-1])
    assert caught_axis.value.fix.startswith("call ng.unflatten before slicing H, W: '(H,W)[::-1]'")
    with pytest.raises(MissingAxisError, match="no axis 'W' among"):
        ng.assign(x, ng.constant([1.0, 2.0], [W]))
    with pytest.raises(AxisLengthError, match="assign: axis 'H' has length 3 in the left"):
        ng.assign(x, ng.constant([1.0, 2.0], [H.resized(2)]))
    with pytest.raises(AxisError, match=r"an array of shape \(2, 2\) has no axes"):
        ng.assign(x, np.ones((2, 2)))


def test_effects_take_no_part_in_formulas() -> None:
    x = state()
    update = ng.assign(x, 1)
    with pytest.raises(AxisError, match="changes tensors, and has no value"):
        x + update
    with pytest.raises(AxisError, match="parallel: .* is not an assignment"):
        ng.parallel([x + 1])
    with pytest.raises(AxisError, match="repeat: n is -1"):
        ng.repeat(-1, update)
    with pytest.raises(AxisError, match="sequential: .* is not a list"):
        ng.sequential(update)  # type: ignore[arg-type]


class Twice(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.y[i] = self.x[i] * 2.0


@pytest.mark.parametrize(
    "stored",
    [
        lambda x: ng.place(x * 2, 1),
        lambda x: ng.keep(x * 2),
        lambda x: ng.nmap(Twice, x, axes=[H]),
        lambda x: ng.sum(ng.dot(x, ng.constant(1.0, [W])), [W]),
    ],
    ids=["place", "keep", "nmap", "dot"],
)
def test_what_is_stored_within_an_expression_is_read_anew_after_a_write(stored: Any) -> None:
    x = ng.variable([H], 1, name="x")
    double = stored(x)
    change = ng.assign(x, double + 1)
    assert run(double + 0, change, double + 0, change, x) == [
        *([2, 2, 2], None, [6, 6, 6], None, [7, 7, 7])
    ]
    x = ng.variable([H], 1, name="x")
    double = stored(x)
    assert run(ng.assign(x, double + 1), double + 0) == [None, [6, 6, 6]]


def test_a_result_that_is_overwritten_later_is_that_of_its_place() -> None:
    """Trap 20: it is copied at its place."""
    x = ng.variable([H], [1, 2, 3], name="x")
    view, part = ng.axes_with_order(x, [H]), x[H, 1:]
    found = run(view, part, ng.assign(x, x * 10), part, x)
    assert found == [[1, 2, 3], [2, 3], None, [2, 3], [10, 20, 30]]


# -- many assignments ------------------------------------------------------------------------------


H4 = ng.make_axis(4, "H")


def turned(count: int) -> Effect:
    """Assign to each of some variables what the next one has."""
    each = [ng.variable([H4], 1, name=f"w{n}") for n in range(count)]
    return ng.parallel([ng.assign(w, each[(n + 1) % count] * 2) for n, w in enumerate(each)])


def rows(count: int) -> Effect:
    """Assign to each row of a tensor the one with which it changes places."""
    N = ng.make_axis(count, "N")
    t = ng.variable([N, H4], 1, name="t")
    return ng.parallel([ng.assign(t[N, n], t[N, -1 - n] - 1) for n in range(count)])


def columns(count: int) -> Effect:
    """Change each column of a tensor."""
    N = ng.make_axis(count, "N")
    t = ng.variable([H4, N], 1, name="t")
    return ng.parallel([ng.assign(t[N, n], t[N, n] - 1) for n in range(count)])


def chained(count: int) -> Effect:
    """Change variables one after the other, as Python writes it."""
    with ng.steps() as changes:
        for n in range(count):
            w = ng.variable([H4], 1, name=f"w{n}")
            w -= 0.5
    return changes


def calls_for(items: Callable[[int], Effect], count: int) -> int:
    """Return how many functions are called to record a computation."""
    calls = 0

    def counted(frame: object, event: str, arg: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    item = items(count)
    work = ng.make_transformer(tiles=1).computation(item)
    with no_collection():  # each one calls a function of Hypothesis, where a test has used it
        sys.setprofile(counted)
        try:
            _ = work.program
        finally:
            sys.setprofile(None)
    return calls


@pytest.mark.parametrize("items", [turned, rows, columns, chained])
def test_twice_as_many_assignments_take_twice_the_work(items: Callable[[int], Any]) -> None:
    calls_for(items, 2)
    few, some, many = (calls_for(items, count) for count in (16, 32, 64))
    assert (many - some) / (some - few) < 2.02


def test_many_assignments_read_all_before_they_write() -> None:
    N = ng.make_axis(40, "N")
    first = np.arange(160.0).reshape(40, 4)
    t = ng.variable([N, H4], first, name="t")
    each = [ng.variable([], n, name=f"w{n}") for n in range(6)]
    shared = each[0] + each[5]
    work = ng.make_transformer(tiles=4).computation(
        [
            ng.parallel(
                [
                    *[ng.assign(t[N, n], t[N, n - 1] + ng.sum(t[N, :2], [N])) for n in range(40)],
                    *[ng.assign(w, shared * each[(n + 1) % 6]) for n, w in enumerate(each)],
                ]
            ),
            t,
            *each,
        ]
    )
    _, rows_now, *numbers = work()
    assert np.array_equal(rows_now, np.roll(first, 1, axis=0) + first[:2].sum(axis=0))
    assert [each.item() for each in numbers] == [5, 10, 15, 20, 25, 0]


def test_of_many_assignments_the_two_that_write_the_same_elements_are_named() -> None:
    N = ng.make_axis(30, "N")
    t = ng.variable([H4, N], 0, name="t")
    apart = [ng.assign(t[N, n], 1) for n in range(1, 30)]
    last = ng.assign(t[H4, 2, N, 17], 2)
    with pytest.raises(AxisError, match="write the same elements of 't'") as caught:
        _ = ng.make_transformer(tiles=1).computation(ng.parallel([*apart, last])).program
    assert str(apart[16].line) in caught.value.found
    assert str(last.line) in caught.value.found


# -- orders of steps -------------------------------------------------------------------------------


H2, K = ng.make_axis(2, "H"), ng.make_axis(2, "K")
E, D, N = ng.make_axis(2, "E"), ng.make_axis(3, "D"), ng.make_axis(8, "N")

RNG = np.random.default_rng(7)
ROWS, TARGETS = RNG.normal(size=(2, 8, 2, 3)), RNG.normal(size=(2, 8))


def vector_state(values: Any, name: str = "x", **options: Any) -> ng.Op:
    return ng.variable([H2], values, name=name, **options)


def run_strict(*results: Any, tiles: int = 2, **options: Any) -> list[Any]:
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
    pytest.param(lambda x: ng.concat([-x, x], H2), [-1, -2, 1, 2], id="concat"),
    pytest.param(lambda x: ng.stack([-x, x], K), [[-1, -2], [1, 2]], id="stack"),
    pytest.param(lambda x: ng.concat([-x, x], H2)[H2, ::-1], [2, 1, -2, -1], id="slice"),
    pytest.param(
        lambda x: ng.axes_with_order(ng.stack([-x, x], K), [H2, K]), [[-1, 1], [-2, 2]], id="order"
    ),
    pytest.param(lambda x: ng.flatten(ng.stack([-x, x], K)), [-1, -2, 1, 2], id="flatten"),
    pytest.param(lambda x: ng.pad(ng.concat([-x, x], H2), {H2: 1}), [0, -1, -2, 1, 2, 0], id="pad"),
]


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("fuse", ["cost", "none"])
@pytest.mark.parametrize(("joined", "expected"), JOINED)
def test_what_joins_a_plain_tensor_keeps_its_value(
    joined: Any, expected: Any, fuse: str, kept: bool
) -> None:
    """Its plain part was read behind the assignment that follows."""
    x = vector_state([1, 2], map={H2: "tiles"})
    item = ng.keep(joined(x)) if kept else joined(x)
    assert run_strict(item, ng.assign(x, x * 10), item, x, fuse=fuse) == [
        *(expected, None, expected, [10, 20])
    ]


@pytest.mark.parametrize("order", [1, -1])
def test_parallel_reads_what_joins_before_it_writes(order: int) -> None:
    x, y = vector_state([1, 2]), ng.variable([H2.resized(4)], 0, name="y")
    writes = [ng.assign(x, x * 10), ng.assign(y, ng.concat([-x, x], H2))]
    assert run_strict(ng.parallel(writes[::order]), y, x) == [None, [-1, -2, 1, 2], [10, 20]]


def test_what_is_stored_for_an_item_is_stored_again_in_a_loop() -> None:
    """A `place` within another one had its value from before the loop in all rounds."""
    x = vector_state([1, 2])
    inner = ng.place(x * 2, 0)
    outer = ng.place(inner + 1, 1)
    found = run_strict(outer, ng.repeat(3, ng.assign(x, x + inner)), x)
    assert found == [[3, 5], None, [27, 54]]


def test_a_tensor_is_its_storage_where_a_copy_of_it_is_a_result() -> None:
    x = vector_state([1, 2])
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
