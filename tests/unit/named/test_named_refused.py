"""Mistakes with named axes: each is refused in words that name axes and show the way."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poplite as pl
import poplite.named as ng
from helpers.depth import deep
from helpers.named_messages import INTERNAL, LINE, axes_of
from helpers.named_oracle import evaluate
from poplite.errors import (
    AxisError,
    AxisLengthError,
    DuplicateAxisError,
    ElementTypeError,
    ImplicitOuterProductError,
    InvalidOption,
    InvalidTileMapping,
    MissingAxisError,
    SizeOverflowError,
    TensorIndexError,
)

# -- traps -----------------------------------------------------------------------------------------
# The numbers of defects and traps are those of the design. What other files of this folder show
# is not shown again: defects 1, 4, 5, 6, 7, 14, 17 and 19 in `test_axes`, 10 in `test_effects`, 20
# in `test_named_layout`, and 21 in `test_documents`; traps 3, 4, 5 and 20 in `test_effects`, 6, 8
# and 24 in `test_documents`, 7, 17, 19 and 21 in `test_transformer`, 9 and 23 in
# `test_named_layout`.


H, W = ng.make_axis(3, "H"), ng.make_axis(4, "W")
X = ng.placeholder([H, W], name="x")
VALUES = np.arange(12, dtype=np.float32).reshape(3, 4)


def run(*results: Any) -> list[Any]:
    return list(ng.make_transformer(tiles=3).computation(list(results), X)(VALUES))


# -- defects of the original -----------------------------------------------------------------------


def test_a_flattened_transpose_or_slice_shows_the_right_elements() -> None:
    """Defect 2: the smallest stride was taken, whatever the order and the padding."""
    turned = ng.axes_with_order(X, [W, H])
    found = run(ng.flatten(turned), ng.flatten(X[W, 1:3]), ng.flatten(ng.expand_dims(X[H, 0], H)))
    assert found[0].tolist() == VALUES.T.ravel().tolist()
    assert found[1].tolist() == VALUES[:, 1:3].ravel().tolist()
    assert found[2].tolist() == list(range(4)) * 3


def test_slices_of_reversed_slices_are_those_of_python() -> None:
    """Defect 3: the stride's absolute value was taken. Trap 10."""
    found = run(X[H, ::-1][H, 1], X[H, ::-1][H, ::-1], X[W, ::-2][W, 1:])
    for value, expected in zip(found, [VALUES[1], VALUES, VALUES[:, ::-2][:, 1:]], strict=True):
        assert value.tolist() == expected.tolist()


@pytest.mark.parametrize("index", [3, -4, 100])
def test_indices_are_checked(index: int) -> None:
    """Defect 8."""
    with pytest.raises(TensorIndexError, match=f"axis 'H' has length 3: .* no index {index}"):
        X[H, index]
    assert run(X[H, -1])[0].tolist() == VALUES[-1].tolist()
    assert run(X[1])[0].tolist() == VALUES[1].tolist()  # `x[1]` raised a TypeError


def test_constants_of_another_shape_are_refused() -> None:
    """Defect 9: they were accepted, or got other axes."""
    with pytest.raises(AxisLengthError, match="axis 'H' has length 3, but the value has 2"):
        ng.constant(np.ones((2, 4)), [H, W])
    with pytest.raises(AxisError, match=r"the array has shape \(3,\), but there are 2 axes"):
        ng.constant(np.ones(3), [H, W])
    assert run(ng.constant(2.0, [H]))[0].tolist() == [2, 2, 2]


def test_types_are_those_of_the_operands() -> None:
    """Defect 11: everything was float32."""
    i, half = ng.constant([1, 2, 3], [H]), ng.constant(np.ones(3, np.float16), [H])
    assert [(i + 1).dtype, (half * 2).dtype, (i > 1).dtype] == [pl.INT, pl.HALF, pl.BOOL]
    assert ng.argmax(X, [H]).dtype is pl.INT
    with pytest.raises(ElementTypeError, match="add: cannot mix FLOAT and INT") as caught:
        X + i
    assert caught.value.found.count("test_named_refused.py") == 2
    with pytest.raises(ElementTypeError, match="values of dtype <U1"):
        ng.constant("a")


def test_the_gradient_of_softmax_sums_along_its_own_axes() -> None:
    """Defect 12."""
    p = ng.softmax(X, [W])
    (found,) = evaluate([ng.deriv(p, X, p)], {X: VALUES.astype(float)})
    q = np.exp(VALUES - VALUES.max(1, keepdims=True)).astype(float)
    q /= q.sum(1, keepdims=True)
    np.testing.assert_allclose(found, q * (q - (q * q).sum(1, keepdims=True)), 1e-6, 1e-9)


def test_ties_give_their_gradient_to_one_element() -> None:
    """Defect 13: a tied maximum gave none. Trap 13: not by the order of storage."""
    tied = ng.placeholder([H, W], name="tied")
    values = {tied: np.array([[1.0, 2, 2, 0], [2, 2, 0, 0], [0, 0, 0, 0]])}
    by_all, by_columns = (ng.deriv(ng.sum(ng.max(tied, axes), ...), tied) for axes in (..., [W, H]))
    by_max = ng.deriv(ng.sum(ng.maximum(tied, 2.0), ...), tied)
    found = evaluate([by_all, by_columns, by_max], values)
    assert np.argwhere(found[0]).tolist() == [[0, 1]]
    assert np.argwhere(found[1]).tolist() == [[1, 0]]  # W is listed first, and so outermost
    assert found[2].sum() == 4


@deep
def test_the_greatest_of_very_many_elements_has_the_gradient_alone() -> None:
    """FLOAT counts to 2^24 only."""
    count = 2**24 + 8
    axis = ng.make_axis(count, "N")
    x = ng.placeholder([axis], name="x")
    values = np.zeros(count)
    values[-3:] = 1
    (found,) = evaluate([ng.deriv(ng.max(x, [axis]), x)], {x: values})
    assert np.flatnonzero(found).tolist() == [count - 3]


@pytest.mark.parametrize("layout", [ng.row_major, ng.column_major])
def test_the_first_of_equal_elements_is_found_in_any_layout(layout: Any) -> None:
    """Trap 13: by the order of the axis, not by that of storage."""
    tied = ng.placeholder([H, W], name="tied", layout=layout([H, W]))
    work = ng.make_transformer(tiles=3).computation(
        [ng.argmax(tied, [H]), ng.argmin(tied, [W])], tied
    )
    found = work(np.array([[1, 2, 0, 0], [1, 2, 2, 0], [0, 2, 2, 0]], np.float32))
    assert [each.tolist() for each in found] == [[0, 0, 1, 0], [2, 3, 0]]


def test_a_product_with_zeros_has_the_products_of_the_others() -> None:
    y = ng.variable([H, W], [[2, 3, 0, 4], [0, 0, 5, 1], [1, 2, 3, 4]], name="y")
    found = ng.make_transformer(tiles=1).computation(ng.deriv(ng.sum(ng.prod(y, [W]), ...), y))()
    assert found.tolist() == [[0, 0, 24, 0], [0, 0, 0, 0], [24, 12, 8, 6]]


def test_slices_leave_the_axes_of_their_tensor_alone() -> None:
    """Defect 16, trap 15."""
    part = X[H, 1:]
    assert (part.axes[0].length, H.length, X.shape) == (2, 3, (3, 4))


def test_lengths_are_compared_by_every_operation() -> None:
    """Defect 4: the first operand's lengths were taken."""
    long = ng.placeholder([W.resized(5)], name="long")
    uses: list[Callable[[], object]] = [
        lambda: X + long,
        lambda: ng.dot(X, long),
        lambda: ng.broadcast(long, [H, W]),
        lambda: ng.assign(ng.variable([H, W]), long),
        lambda: ng.cast_axes(X, [H, ng.make_axis(5, "V")]),
        lambda: ng.TensorDescription([H, W]).cast([H, ng.make_axis(5, "V")]),
    ]
    for use in uses:
        with pytest.raises(AxisLengthError, match="(?s)4.*5|5.*4"):
            use()


def test_axes_and_tensors_have_no_transpose() -> None:
    """Defect 15: `T`, left over from dual axes, failed; an order of axes is `axes_with_order`."""
    assert [hasattr(each, "T") for each in (H + W, H, X)] == [False] * 3


def test_effects_stay_in_their_computation() -> None:
    """Defect 18: what a `sequential` assigns was assigned by other computations as well."""
    state = ng.variable([H], initial_value=1.0)
    work = ng.make_transformer(tiles=2)
    doubled = state * 2
    step = work.computation(ng.sequential([ng.assign(state, state + 1), doubled]))
    look = work.computation(doubled)
    found = [call().tolist()[0] for call in (look, look, step, look, step, look)]
    assert found == [2, 2, 4, 4, 6, 6]


def test_a_mean_divides_by_what_it_sums() -> None:
    """Defect 22."""
    assert run(ng.mean(X, [W]))[0].tolist() == VALUES.mean(1).tolist()


# -- traps -----------------------------------------------------------------------------------------


def test_equal_names_pair_nothing() -> None:
    """Trap 1: nor do equal lengths; and an axis without a length stays what it was."""
    other, late = ng.make_axis(3, "H"), ng.make_axis(name="late")
    with pytest.raises(DuplicateAxisError, match="two different axes are named 'H'"):
        ng.placeholder([H]) * ng.placeholder([other])
    total = ng.placeholder([H]) * ng.placeholder([other.fresh("G")])
    assert total.rank == 2
    lengths = {H: 1, other: 2, late: 3}
    late.length = 3
    assert [lengths[each] for each in (H, other, late)] == [1, 2, 3]


def test_lengths_of_axes_that_go_away_are_compared_too() -> None:
    """Trap 2: the axis is not among those of the result."""
    with pytest.raises(AxisLengthError, match="dot: axis 'W' has length 4 in the left"):
        ng.dot(X, ng.placeholder([W.resized(5)], name="v"))


def test_a_broadcast_operand_has_its_adjoint_on_its_own_axes() -> None:
    """Trap 11: also where lengths would fit by luck."""
    S = ng.make_axis(3, "S")
    a, b = ng.placeholder([H], name="a"), ng.placeholder([S], name="b")
    by_a, by_b = ng.deriv(ng.sum(a * b * b, ...), [a, b])
    assert (by_a.axes, by_b.axes) == (a.axes, b.axes)
    found = evaluate([by_a, by_b], {a: [1.0, 2, 3], b: [1.0, 1, 2]})
    assert [each.tolist() for each in found] == [[6, 6, 6], [12, 12, 24]]


def test_no_axes_of_a_dot_are_not_all_of_them() -> None:
    """Trap 12."""
    assert ng.dot(X, X, axes=()).axes == X.axes
    assert ng.dot(X, X).rank == 0


def test_expressions_are_keys_and_have_no_truth() -> None:
    """Trap 14."""
    x, y = ng.placeholder([H]), ng.placeholder([H])
    assert {x: 1, y: 2}[x] == 1
    assert x != y
    with pytest.raises(AxisError, match="a named tensor has no truth value"):
        bool(x > y)
    for use in (len, list, float, np.sin, lambda op: np.ones(3) * op):
        with pytest.raises(AxisError):
            use(x)
    with pytest.raises(AxisError, match="'@' does not say which axes are summed"):
        _ = x @ y
    assert (np.float32(2) * x).axes == x.axes


def test_a_write_through_one_view_is_seen_by_all_others() -> None:
    """Trap 16: the version belongs to the storage, not to the view."""
    x = ng.variable([H, W], VALUES, name="x")
    corner, column = x[H, 0][W, 0] * 1, x[W, 0] * 1
    write = ng.assign(ng.flatten(x)[0:5], -1)
    after = x[H, 0][W, 0] * 1, ng.axes_with_order(x, [W, H])[W, 0] * 1
    device = ng.make_transformer(tiles=3)
    found = device.computation([corner, column, write, *after, corner])()
    expected = [0, [0, 4, 8], None, -1, [-1, -1, 8], 0]
    assert [None if each is None else each.tolist() for each in found] == expected


def test_no_elements_sum_to_zero_and_have_no_greatest() -> None:
    """Trap 18."""
    none = X[H, 1:1]
    found = run(ng.sum(none, [H]), ng.prod(none, [H]), none * 2, ng.dot(none, none, axes=[H]))
    assert [each.tolist() for each in found] == [[0] * 4, [1] * 4, [], [0] * 4]
    with pytest.raises(pl.TensorCreationError, match="max: axis 'H' has length 0"):
        ng.max(none, [H])


def test_padding_by_nothing_keeps_the_axis() -> None:
    """Trap 22."""
    assert ng.pad(X, {H: 0}).axes[0].length == 3
    assert (ng.pad(X, {H: 0}) + X).axes == X.axes
    with pytest.raises(AxisLengthError):
        ng.pad(X, {H: 1}) + X


def test_a_concatenation_that_makes_an_axis_again_pairs_with_it() -> None:
    """Trap 25: positions pair, there are no coordinates."""
    turned = ng.concat([X[H, 2:], X[H, :2]], H)
    assert turned.axes[0] is H
    assert run(turned + X)[0].tolist() == (np.roll(VALUES, 1, 0) + VALUES).tolist()


def test_operations_say_what_they_are_made_of() -> None:
    told = (X * 2 + ng.sum(X, [H])).explain().splitlines()
    assert [line.split()[0] for line in told] == ["x", "number1", "multiply2", "sum3", "add4"]
    assert "placeholder, layout free" in told[0]
    assert "add of multiply2, sum3" in told[4]
    assert all("test_named_refused.py" in line for line in told)


def test_an_error_of_fewer_axes_counts_for_all_elements() -> None:
    """An operand that lacks an axis of the result has its adjoint added up along it."""
    a = ng.placeholder([W], name="a")
    by_a, by_x = ng.deriv(X + a, [a, X], 2.0)
    found = evaluate([by_a, by_x], {X: VALUES, a: np.ones(4)})
    assert [each.tolist() for each in found] == [[6] * 4, [[2] * 4] * 3]


def test_what_has_no_derivative_is_refused_not_zero() -> None:
    class Shifted(pl.Vertex):
        x: pl.Input[pl.Vector[pl.FLOAT]]
        y: pl.Output[pl.Vector[pl.FLOAT]]

        def compute(self) -> None:
            for i in range(len(self.x)):
                self.y[i] = self.x[i] + 1.0

    loss = ng.sum(ng.nmap(Shifted, X, axes=[W]), ...)
    with pytest.raises(AxisError, match="the derivative of vertex Shifted is not known"):
        ng.deriv(loss, X)
    (found,) = evaluate([ng.deriv(ng.sum(ng.stop_gradient(X) * X, ...), X)], {X: VALUES})
    assert found.tolist() == VALUES.tolist()


def test_lengths_of_a_broadcast_are_compared_when_they_are_known() -> None:
    N = ng.make_axis(name="N")
    x = ng.placeholder([N], name="x")
    wide = ng.broadcast(x, [N.resized(6), H])
    work = ng.make_transformer(tiles=2).computation(wide, x)
    N.length = 3
    with pytest.raises(AxisLengthError, match="broadcast: axis 'N' has length 3 in the left"):
        work([1, 2, 3])


USES: dict[str, Callable[[ng.Op, ng.Axis], Any]] = {
    "an index from the end": lambda x, A: x[A, -1],
    "concat": lambda x, A: ng.concat([x, x], A),
    "pad": lambda x, A: ng.pad(x, {A: 1}),
    "stack": lambda x, A: ng.stack([x[A, 0]] * 3, A),
    "the derivative of a part": lambda x, A: ng.deriv(ng.sum(x[A, 1:], ...), x),
    "the derivative of an index": lambda x, A: ng.deriv(x[A, 0], x),
    "the derivative of the greatest": lambda x, A: ng.deriv(
        ng.max(ng.broadcast(x, [H, A]), ...), x
    ),
}


@pytest.mark.parametrize("use", USES)
def test_a_length_that_is_counted_with_stays(use: str) -> None:
    A = ng.make_axis(3, "A")
    x = ng.placeholder([A], name="x")
    x[A, 0], x[A, 1:], x + ng.broadcast(1.0, [A])  # which hold for any length
    A.length = 4
    A.length = 3
    USES[use](x, A)
    A.length = 3
    with pytest.raises(AxisLengthError, match="axis 'A' has length 3, and .* relies on it") as info:
        A.length = 5
    assert info.value.fix == "use A.resized(5), or another axis"


def test_a_refused_stack_leaves_its_axis_alone() -> None:
    A = ng.make_axis(name="A")
    with pytest.raises(AxisError, match="stack: position 7 is out of range for 3 axes"):
        ng.stack([X, X], A, pos=7)
    assert A.length is None
    assert ng.stack([X, X], A, pos=2).axes.lengths == (3, 4, 2)


def test_a_dot_that_sums_nothing_has_the_axes_of_the_left_first() -> None:
    h = ng.placeholder([H], name="h")
    assert ng.dot(h, ng.axes_with_order(X, [W, H]), axes=[]).axes == ng.make_axes([H, W])
    assert ng.dot(X, h, axes=[]).axes == ng.make_axes([H, W])
    assert repr(ng.dot(h, X, axes=[])) == "<dot (H:3, W:4) FLOAT>"
    with ng.strict(), pytest.raises(ImplicitOuterProductError, match="^dot: only 'h' has axis"):
        ng.dot(h, ng.placeholder([W], name="w"))


def test_a_power_of_zero_has_no_derivative_where_it_is_zero() -> None:
    v = ng.variable([H], 0.0, name="v")
    (found,) = evaluate([ng.deriv(ng.sum(v**0 + 2 * v**1.0, ...), v)], {v: np.zeros(3)})
    assert found.tolist() == [2, 2, 2]


def test_the_derivative_of_a_square_takes_no_power() -> None:
    y = ng.placeholder([H, W], name="y")
    work = ng.make_transformer(tiles=2).computation(ng.deriv(ng.sum((X - y) ** 2, ...), X), X, y)
    assert work(VALUES, 1).tolist() == (2 * (VALUES - 1)).tolist()
    result = work.results[0]
    assert result is not None
    assert "stored: 2.0 * (x - y)," in pl.ops.explain(result)


def test_strict_takes_what_the_library_makes_itself() -> None:
    w = ng.variable([H, W], 2.0, name="w")
    v = ng.variable([W], 1.0, name="v")
    i = ng.variable([H], [0, 2, 5], pl.INT, name="i")
    with ng.strict():
        hot = ng.one_hot(i, W)
        made = [hot, *ng.deriv(ng.sum(ng.dot(w, v), ...), [w, v]), ng.deriv(ng.max(w, ...), w)]
        with pytest.raises(ImplicitOuterProductError):
            v + i[H, :1]
    found = ng.make_transformer(tiles=2, strict=True).computation(made)()
    assert found[0].T.tolist() == [[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]
    assert found[1].tolist() == [[1] * 4] * 3
    assert found[2].tolist() == [6] * 4
    assert found[3].tolist() == [[1, 0, 0, 0], [0] * 4, [0] * 4]


# -- calls as of NumPy -----------------------------------------------------------------------------


N = ng.make_axis(5, "N")
x = ng.placeholder([H, W], name="x")
v = ng.variable([H], 1, name="v")
i = ng.variable([H], 1, pl.INT, name="i")


def computation(results: Any, *params: Any, **options: Any) -> ng.Computation:
    return ng.make_transformer(tiles=4, **options).computation(results, *params)


def mapped(hint: Any) -> ng.Op:
    return ng.variable([H], map=hint, name="u")


untyped: Any = ng
"""For what a type checker refuses, too: an effect as an operand."""

Call = Callable[[], Any]

REFUSED: list[tuple[Call, type[Exception], str, str]] = [
    (lambda: ng.sum(x, "H"), AxisError, "sum: 'H' is not an axis", "axes.find('H') of (H:3, W:4)"),
    (lambda: ng.sum(x, ["H"]), AxisError, "sum: 'H' is not an axis", "axes.find('H')"),
    (lambda: ng.softmax(x, 1), AxisError, "softmax: 1 is not an axis", "the axes are (H:3, W:4)"),  # type: ignore[arg-type]
    (
        lambda: ng.sum(x, axis=1),  # type: ignore[call-arg]
        ElementTypeError,
        "ng.sum: got an",
        "ng.sum(..., reduction_axes=[W])",
    ),
    (lambda: ng.max(x, dims=[0, 1]), ElementTypeError, "ng.max: got", "reduction_axes=[H, W])"),  # type: ignore[call-arg]
    (
        lambda: ng.sum(x, axis=2),  # type: ignore[call-arg]
        ElementTypeError,
        "ng.sum: got an",
        "ng.sum(..., reduction_axes=[W])",
    ),
    (lambda: ng.sum(x, 0), AxisError, "sum: 0 is not an axis", "pass H; the axes are (H:3, W:4)"),  # type: ignore[arg-type]
    (lambda: ng.take(x), ElementTypeError, "ng.take: missing", "ng.take(x, indices, W)"),  # type: ignore[call-arg]
    (lambda: ng.take(x, i, dim=0), ElementTypeError, "ng.take: missing", "ng.take(..., axis=H)"),  # type: ignore[call-arg]
    (
        lambda: ng.take(i, x, W),
        MissingAxisError,
        "take: axis 'W' is in the indices, not in the table",
        "pass the table first: ng.take(x, i, W)",
    ),
    (
        lambda: ng.take(x, [0, 1], W),
        AxisError,
        "take: an array of shape (2,) has",
        "an axis of length 2",
    ),
    (
        lambda: ng.constant([1, 2]),
        AxisError,
        "constant: the array has shape (2,), but there are 0 axes",
        "[H",
    ),
    (
        lambda: x[None],
        TensorIndexError,
        "axis 'H': None is not an index",
        "ng.expand_dims(x, axis)",
    ),
    (lambda: x[H, 0, H, 2], DuplicateAxisError, "x[(H:3, 0, H:3, 2)]: axis 'H' occurs t", "once"),
    (lambda: x[H, [0, 2]], TensorIndexError, "axis 'H': [0, 2] is not an index", "with ng.concat"),
    (
        lambda: x[x > 0],
        TensorIndexError,
        "axis 'H': a tensor cannot be an index",
        "ng.where(p, x, 0)",
    ),
    (lambda: ng.concat([x, v], H), MissingAxisError, "concat: axes of 'v': no axis 'W' among", ""),
    (lambda: ng.concat([v, i], H), ElementTypeError, "concat: cannot mix FLOAT and INT", "(i,"),
    (lambda: ng.assign(v, x), MissingAxisError, "assign: axes of the target: no axis 'W'", ""),
    (
        lambda: ng.assign(v, i),
        ElementTypeError,
        "assign: cannot assign INT to FLOAT",
        "ng.cast(i, pl.FLOAT)",
    ),
    (
        lambda: ng.assign(i, 0.5),
        ElementTypeError,
        "assign: cannot mix 0.5 and INT",
        "a whole number",
    ),
    (lambda: ng.assign(i, 2**40), SizeOverflowError, "assign: 1099511627776 does not fit", ""),
    (lambda: -untyped.assign(v, 1), AxisError, "<assign to 'v' (H:3)", "ng.sequential"),
    (lambda: untyped.assign(v, 1) < 1, AxisError, "<assign to 'v' (H:3)", "ng.sequential"),
    (lambda: untyped.assign(v, 1) % 2, AxisError, "<assign to 'v' (H:3)", "ng.sequential"),
    (lambda: bool(ng.assign(v, 1)), AxisError, "<assign to 'v' (H:3)", "ng.sequential"),
    (lambda: untyped.assign(v, 1) + 1, AxisError, "<assign to 'v' (H:3)", "ng.sequential"),
    (
        lambda: 2 * untyped.repeat(2, v),
        AxisError,
        "<repeat 2 times> changes tensors",
        "ng.sequential",
    ),
    (lambda: computation(np.ones(3)), AxisError, "computation: an array of shape", "ng.constant"),
    (lambda: computation(each for each in [x]), ElementTypeError, "computation: <generator", ""),
    (lambda: ng.dot(x, v, out_axes=[H]), MissingAxisError, "dot: out_axes: no axis 'H'", "(W:4)"),
    (lambda: ng.dot(x, v, out_axes=[]), MissingAxisError, "dot: out_axes: axis 'W' is not", "[W]"),
    (lambda: ng.map_roles(x, ng.AxesMap({H: N})), AxisLengthError, "map_roles: axis 'H' has", ""),
    (
        lambda: ng.cast_role(x, [N]),
        AxisError,
        "cast_role: expected 2 axes; found 1, (N:5)",
        "of H, W",
    ),
    (
        lambda: computation(x, [x]),
        AxisError,
        "computation: [<placeholder x (H:",
        "pass each separately",
    ),
    (
        lambda: computation(x, x)(x),
        AxisError,
        "x: expected values; found a named tensor",
        "an array with axes",
    ),
    (lambda: ng.constant([1, 2]), AxisError, "constant: the array has shape (2,)", "(array, [H])"),
    (lambda: ng.variable(np.ones(3), [H]), AxisError, "np.float64(1.0) is no", "the axes before"),
    (
        lambda: ng.assign(v, np.ones(4)),
        AxisLengthError,
        "assign: the array has shape (4,), but the axes are (H:3)",
        "an array of shape (3,)",
    ),
    (
        lambda: ng.repeat(ng.assign(v, 1), 3),  # type: ignore[arg-type]
        AxisError,
        "repeat: n is <assign to",
        "pass a non-negative whole number",
    ),
    (lambda: x["W"], AxisError, "x['W']: a name cannot be used in place of an axis", "x[W, 0]"),
    (lambda: ng.deriv(x, v), AxisError, "deriv: y has axes", "ng.deriv(x, v, error)"),
    (lambda: x.axes[5], TensorIndexError, "there is no axis 5 among (H:3, W:4)", "from -2 to 1"),
    (lambda: computation(x, x, x), AxisError, "computation 'computation0': parameter 'x'", "once"),
    (lambda: computation(v, map={"N": 2}), AxisError, "make_transformer: map has 'N'", "{N: "),
    (
        lambda: computation(v, map={H: "all"}),
        AxisError,
        "make_transformer: map: cannot divide axis 'H' into",
        "",
    ),
    (
        lambda: computation(v, checks="zz"),
        InvalidOption,
        "make_transformer: checks is 'zz'",
        "fast",
    ),
    (lambda: mapped({W: "tiles"}), MissingAxisError, "map of 'u': no axis 'W' among", "(H:3)"),
    (lambda: mapped({W: 2}), MissingAxisError, "map of 'u': no axis 'W' among (H:3)", "(H:3)"),
    (
        lambda: mapped({H: -1}),
        AxisError,
        "map of 'u': cannot divide axis 'H' into -1 blocks",
        "{H: 4}",
    ),
    (
        lambda: mapped({H: "tile"}),
        AxisError,
        "map of 'u': cannot divide axis 'H' into 'tile' blocks",
        "tiles",
    ),
    (lambda: mapped("tiles"), AxisError, "map of 'u' (H:3) is 'tiles'", '{H: "tiles"}'),
    (lambda: mapped(1.5), AxisError, "map of 'u' (H:3) is 1.5", "a tile"),
    (lambda: mapped(-1), InvalidTileMapping, "map of 'u': there is no tile -1", "from 0"),
    (lambda: mapped(v + 1), AxisError, "map of 'u' (H:3) is <add (H:3) FLOAT>", "a named tensor"),
    (lambda: ng.place(x, {N: 2}), MissingAxisError, "place of 'x': no axis 'N' among (H:3,", ""),
    (
        lambda: computation(ng.variable([W], map=mapped({H: 2}))).program,
        MissingAxisError,
        "map",
        "",
    ),
]


@pytest.mark.parametrize(("call", "kind", "what", "fix"), REFUSED, ids=range(len(REFUSED)))
def test_a_call_is_refused_and_the_way_is_shown(
    call: Call, kind: type[pl.PopliteError], what: str, fix: str
) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    assert caught.value.what.startswith(what)
    assert fix in caught.value.fix


def test_an_operand_is_named_once() -> None:
    with pytest.raises(ElementTypeError) as caught:
        ng.logical_and(x, x)
    assert caught.value.found == x.text


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("T", "ng.axes_with_order(x, [W, H])"),
        ("sum", "ng.sum(x, reduction_axes=[W])"),
        ("reshape", "ng.flatten(x, [H, W]) and ng.unflatten"),
        ("sqrt", "ng.sqrt(x, ...)"),
        ("astype", "ng.cast(x, pl.INT)"),
    ],
)
def test_attributes_of_arrays_name_what_stands_for_them(name: str, way: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(way)) as caught:
        getattr(x + 1, name)
    assert "a named tensor has no" in str(caught.value)
    assert not hasattr(x, "colour")


def test_a_grid_may_have_axes_that_a_tensor_has_not() -> None:
    """Such a tensor lies on the first tile of each row of blocks."""
    u = ng.variable([H], map={H: 2, W: 2}, name="u")
    device = ng.make_transformer(tiles=4)
    work = device.computation(u)
    mapping = device.graph.tile_mapping(work.tensor(u))
    assert [tile for tile in range(4) if mapping.ptr[tile] < mapping.ptr[tile + 1]] == [0, 2]


def test_a_transformer_says_what_it_has() -> None:
    device = ng.make_transformer(tiles=4)
    device.computation(v)
    assert repr(device) == "<Transformer of 4 tiles, 1 computation>"


@pytest.mark.parametrize(
    ("call", "way"),
    [
        (lambda p, q: p & q, "ng.logical_and(p, q)"),
        (lambda p, q: True & q, "ng.logical_and(q, True)"),
        (lambda p, q: p | q, "ng.logical_or(p, q)"),
        (lambda p, q: p ^ q, "p ** q for a power, or ng.not_equal(p, q) for truth values"),
        (lambda p, q: (x - 1) ^ 2, "(...) ** 2 for a power"),
        (lambda p, q: 2 ^ x, "2 ** x for a power"),
        (lambda p, q: ~p, "ng.logical_not(p)"),
        (lambda p, q: x @ v, "use ng.dot(x, v) to sum over H"),
        (
            lambda p, q: p @ q,
            "use ng.dot(p, q) to sum over H and W, or ng.dot(p, q, axes=[W]) for W alone",
        ),
        (lambda p, q: len(x), "H.length, W.length"),
        (lambda p, q: list(x), "x[H, 0], x[H, 1], ..."),
    ],
)
def test_operators_name_the_functions_with_the_operands(call: Any, way: str) -> None:
    p, q = (ng.placeholder([H, W], pl.BOOL, name=name) for name in "pq")
    with pytest.raises(AxisError) as caught:
        call(p, q)
    assert caught.value.fix == way


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("AssignableTensorOp", "ng.variable makes such a tensor; it has the flags constant, pers"),
        ("matmul", "ng.dot(x, y)"),
        ("transpose", "axes pair in any order"),
        ("zeros", "ng.constant(0, axes)"),
    ],
)
def test_functions_of_other_libraries_name_what_stands_for_them(name: str, way: str) -> None:
    with pytest.raises(pl.AbsentMember, match=re.escape(way)):
        getattr(ng, name)
    with pytest.raises(AttributeError, match="module 'poplite.named' has no attribute 'colour'"):
        getattr(ng, "colour")  # noqa: B009


def test_a_misspelt_attribute_names_the_near_one() -> None:
    with pytest.raises(AttributeError, match=r"has no 'axess' \(did you mean 'axes'\?\)\n  'x'"):
        x.axess  # type: ignore[attr-defined]  # noqa: B018


# -- messages that name an axis --------------------------------------------------------------------
# `conftest.py` looks at the messages of all tests of this folder; here stand those that no other
# test provokes.


described = ng.TensorDescription([H, W], name="d")
stored = ng.TensorDescription([H, W], layout=ng.row_major([H, W]), name="d")
anything: Any = object()

REFUSED_BY_AXES: list[tuple[Callable[[], Any], str]] = [
    (lambda: ng.cast_axes(x, [H]), "cast_axes: expected 2 axes; found 1, (H:3)"),
    (lambda: ng.slice_along_axis(x, [H, W], 0), "slice_along_axis: expected one axis; found 2"),  # type: ignore[arg-type]
    (lambda: ng.deriv(x, x), "deriv: y has axes (H:3, W:4), so an error"),
    (lambda: ng.deriv(v, v, x), "deriv: the error has axes (H:3, W:4), but y has (H:3)"),
    (lambda: ng.pad(x, {H: (1, 2, 3)}), "pad: the width for axis 'H' is (1, 2, 3)"),
    (lambda: ng.pad(x, {H: (-1, 2)}), "pad: "),
    (lambda: ng.pad(x, anything), "pad: widths is <object object"),
    (lambda: ng.pad(x, {H: anything}), "pad: the width for axis 'H' is <object object"),
    (lambda: described.at((1, 1)), "at: the layout is not fixed yet"),
    (lambda: stored.reorder([W, H]).flatten([W, H]), "flatten: axis '(W,H)' has no stride: 'W'"),
    (lambda: ng.row_major([H, W], anything), "layout: sizes is <object object"),
    (lambda: ng.concat(anything, H), "concat: <object object"),
    (lambda: ng.concat([], H), "concat: the list of tensors is empty"),
    (lambda: ng.stack([v, v], N), "stack: 2 tensors for axis 'N' of length 5"),
    (lambda: ng.stack([v] * 5, N, pos=4), "stack: position 4 is out of range for 2 axes"),
    (lambda: ng.one_hot(v, N), "one_hot: x must be INT; found FLOAT"),
    (lambda: ng.cross_entropy_multi(v, ng.placeholder([W]), [H]), "cross_entropy_multi: neither"),
    (lambda: ng.mean(x), "mean: reduction_axes or out_axes is required"),
    (lambda: ng.argmax(x, ...), "argmax: expected one axis; found 2, (H:3, W:4)"),
    (lambda: ng.expand_dims(x, N, 4), "expand_dims: position 4 is out of range for 3 axes"),
    (lambda: ng.expand_dims(x, anything), "<object object"),
    (lambda: ng.stack([v] * 3, H), "stack: the tensor already has axis 'H'"),
    (lambda: ng.tensor_slice(x, [0]), "tensor_slice: 1 slice for 2 axes"),
    (lambda: x[0, 1, 2], "3 indices for 2 axes"),
    (lambda: x[..., 0, ...], "'...' occurs twice in brackets"),
    (lambda: x[H], "x["),
    (lambda: ng.unflatten(x), "unflatten: no axis is flattened"),
    (
        lambda: ng.make_transformer(tiles=2).computation(
            ng.variable([H], map=anything, name="u")
        ).program,
        "map of 'u' (H:3) is <object object",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("call", "what"), REFUSED_BY_AXES, ids=range(len(REFUSED_BY_AXES)))
def test_a_call_is_refused_with_the_axes(call: Callable[[], Any], what: str) -> None:
    with pytest.raises(pl.PopliteError) as caught:
        call()
    assert caught.value.what.startswith(what)
    assert caught.value.fix


@pytest.mark.parametrize("text", ["Elementwise", "it is of type TensorOp", "x of _pair"])
def test_names_that_only_we_use_are_known(text: str) -> None:
    assert INTERNAL.search(text) is not None
    assert INTERNAL.search(LINE.sub("", "made at model.py:3 in _pair")) is None


def test_axes_are_found_in_what_a_function_holds() -> None:
    assert {*axes_of([[v], {"a": [H]}, ng.make_axes([W]), N.root])} == {"H", "W", "N"}
