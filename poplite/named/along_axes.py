"""Operations along axes: sums, extremes, norms, products, rows by index, lifted functions.

`nmap` applies functions or vertex classes along all axes that they do not name:

    nmap(lambda row: row / ng.sum(row, ...), x, axes=[W])       written for one row of x
    nmap(Sorted, x, axes=[W])                                   one vertex for each row of x
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from poplite.errors import AxisError, ElementTypeError, MissingAxisError, TensorCreationError
from poplite.expr.operations import kind_of
from poplite.expr.tree import ElementClass
from poplite.named import elementwise, shaping
from poplite.named.axes import (
    Axes,
    AxesLike,
    Axis,
    AxisRoot,
    axes_of,
    check_lengths,
    chosen,
    missing,
    some,
)
from poplite.named.changed_axes import only_axis, spelled
from poplite.named.op import Op, as_op, nodes_below, texts_of, written_as
from poplite.named.tensors import Gradient, Keep, PlacedByHint
from poplite.public import arguments_of
from poplite.text import amount, clipped, of_type, why_not_called
from poplite.types import BOOL, FLOAT, INT, UNSIGNED_INT
from poplite.vertex.fields import Field
from poplite.vertex.vertex import Vertex

DEFAULT: Any = type("Default", (), {"__repr__": lambda self: "all shared axes"})()
"""Default for axes where None has another meaning."""


class Reduce(Op):
    """Many elements along axes combined into one.

    Attributes:
        how: "add", "mul", "min", "max", "logical_and" or "logical_or".
        reduced: the axes of the operand that are reduced.
    """

    __slots__ = ("how", "reduced")
    how: str
    reduced: Axes

    def __init__(self, how: str, x: Op, reduced: Axes) -> None:
        super().__init__(x.axes - reduced, x.dtype, (x,))
        self.how, self.reduced = how, reduced

    @property
    def what(self) -> str:  # type: ignore[override]
        """The operation, for messages."""
        return {"add": "sum", "mul": "prod", "logical_and": "all", "logical_or": "any"}.get(
            self.how, self.how
        )


class Extreme(Op):
    """The position of the first largest or smallest element along one axis.

    Attributes:
        how: "argmax" or "argmin".
        reduced: the axis.
    """

    __slots__ = ("how", "reduced")
    how: str
    reduced: Axes

    def __init__(self, how: str, x: Op, reduced: Axes) -> None:
        super().__init__(x.axes - reduced, INT, (x,))
        self.how, self.reduced = how, reduced

    @property
    def what(self) -> str:  # type: ignore[override]
        """The operation, for messages."""
        return self.how


def reduced_axes(x: Op, reduction_axes: Any, out_axes: Any, what: str) -> tuple[Axes, Axes | None]:
    """Return the reduced axes, and the order of the remaining ones; None for the order of x."""
    if reduction_axes is None and out_axes is None:
        raise AxisError(
            f"{what}: reduction_axes or out_axes is required",
            found=x.text,
            fix=f"call ng.{what}({spelled(x)}, reduction_axes=...) for all axes, or list some of "
            f"[{', '.join(x.axes.names)}]",
        )
    out = None if out_axes is None else chosen(out_axes, x.axes, what)
    if reduction_axes is None:
        assert out is not None
        return x.axes - out, out
    reduced = chosen(reduction_axes, x.axes, what)
    if out is not None and (reduced & out or len(reduced) + len(out) != x.rank):
        raise AxisError(
            f"{what}: reduction_axes {reduced} and out_axes {out} do not list every axis once",
            found=x.text,
            fix="pass only one of the two lists",
        )
    return reduced, out


def _reduce(how: str, value: Any, reduction_axes: Any, out_axes: Any, what: str) -> Op:
    x = as_op(value, what)
    reduced, out = reduced_axes(x, reduction_axes, out_axes, what)
    is_logical = how.startswith("logical")
    if x.dtype is not None and (kind_of(x.dtype) == "bool") != is_logical:
        raise ElementTypeError(
            f"{what}: operands of {x.dtype!r} are not supported",
            found=x.text,
            fix=f"pass a comparison, such as {spelled(x)} > 0"
            if is_logical
            else f"ng.cast({spelled(x)}, pl.FLOAT)",
        )
    if how in ("min", "max"):
        check_not_empty(what, x, reduced)
    made = Reduce(how, x, reduced) if reduced.items else x
    return made if out is None else shaping.axes_with_order(made, out)


def check_not_empty(what: str, x: Op, reduced: Axes) -> None:
    """Reject axes of length 0, along which there is no maximum and no mean."""
    for axis in reduced:
        if axis.length == 0:
            raise TensorCreationError(
                f"{what}: axis '{axis.name}' has length 0",
                found=x.text,
                fix=f"use an axis '{axis.name}' of length 1 or more; ng.sum of no elements is 0",
            )


def sum(x: Any, reduction_axes: AxesLike = None, out_axes: AxesLike = None) -> Op:  # noqa: A001
    """Return the sum along axes; without elements it is 0.

    Args:
        x: a tensor.
        reduction_axes: the axes to reduce, in any order; `...` for all.
        out_axes: the remaining axes, in this order. At least one of the two lists is needed.

    Raises:
        AxisError: without either list, or if both together are not the axes of x.
        MissingAxisError: for an axis that x lacks.
        ElementTypeError: for BOOL.

    >>> import poplite.named as ng
    >>> H, W = ng.make_axis(3, "H"), ng.make_axis(4, "W")
    >>> sum(ng.placeholder([H, W]), reduction_axes=[H])
    <sum (W:4) FLOAT>
    """
    return _reduce("add", x, reduction_axes, out_axes, "sum")


@arguments_of(sum)
def prod(x: Any, reduction_axes: AxesLike = None, out_axes: AxesLike = None) -> Op:
    """Return the product along axes; without elements it is 1. See `sum`.

    Raises:
        whatever `sum` raises.

    >>> import poplite.named as ng
    >>> H, W = ng.make_axis(3, "H"), ng.make_axis(4, "W")
    >>> ng.prod(ng.placeholder([H, W]), [W])
    <prod (H:3) FLOAT>
    """
    return _reduce("mul", x, reduction_axes, out_axes, "prod")


@arguments_of(sum)
def max(x: Any, reduction_axes: AxesLike = None, out_axes: AxesLike = None) -> Op:  # noqa: A001
    """Return the largest element along axes, none of which may have length 0. See `sum`.

    Raises:
        TensorCreationError: for an axis of length 0.
        whatever `sum` raises.

    >>> import poplite.named as ng
    >>> H, W = ng.make_axis(3, "H"), ng.make_axis(4, "W")
    >>> ng.max(ng.placeholder([H, W]), out_axes=[W])
    <max (W:4) FLOAT>
    """
    return _reduce("max", x, reduction_axes, out_axes, "max")


@arguments_of(sum)
def min(x: Any, reduction_axes: AxesLike = None, out_axes: AxesLike = None) -> Op:  # noqa: A001
    """Return the smallest element along axes, none of which may have length 0. See `sum`.

    Raises:
        TensorCreationError: for an axis of length 0.
        whatever `sum` raises.

    >>> import poplite.named as ng
    >>> H, W = ng.make_axis(3, "H"), ng.make_axis(4, "W")
    >>> ng.min(ng.placeholder([H, W]), ...)
    <min () FLOAT>
    """
    return _reduce("min", x, reduction_axes, out_axes, "min")


@arguments_of(sum)
def all(x: Any, reduction_axes: AxesLike = None, out_axes: AxesLike = None) -> Op:  # noqa: A001
    """Return whether all elements along axes are true. See `sum`.

    Raises:
        ElementTypeError: for elements that are not BOOL.
        whatever `sum` raises for axes.

    >>> import poplite.named as ng
    >>> H, W = ng.make_axis(3, "H"), ng.make_axis(4, "W")
    >>> ng.all(ng.placeholder([H, W]) > 0, [H])
    <all (W:4) BOOL>
    """
    return _reduce("logical_and", x, reduction_axes, out_axes, "all")


@arguments_of(sum)
def any(x: Any, reduction_axes: AxesLike = None, out_axes: AxesLike = None) -> Op:  # noqa: A001
    """Return whether any element along axes is true. See `sum`.

    Raises:
        ElementTypeError: for elements that are not BOOL.
        whatever `sum` raises for axes.

    >>> import poplite.named as ng
    >>> H, W = ng.make_axis(3, "H"), ng.make_axis(4, "W")
    >>> ng.any(ng.placeholder([H, W]) > 0, [H])
    <any (W:4) BOOL>
    """
    return _reduce("logical_or", x, reduction_axes, out_axes, "any")


class Count(Op):
    """The number of elements along axes, as a number once their lengths are known.

    Attributes:
        counted: the axes.
    """

    __slots__ = ("counted",)
    what = "count"

    def __init__(self, counted: Axes, dtype: ElementClass) -> None:
        super().__init__(Axes(), dtype, ())
        self.counted: Axes = counted


@arguments_of(sum)
def mean(x: Any, reduction_axes: AxesLike = None, out_axes: AxesLike = None) -> Op:
    """Return the mean along axes, none of which may have length 0. See `sum`.

    Raises:
        ElementTypeError: for elements that are not FLOAT or HALF.
        TensorCreationError: for an axis of length 0.
        whatever `sum` raises for axes.

    >>> import poplite as pl, poplite.named as ng
    >>> H, W = ng.make_axis(3, "H"), ng.make_axis(4, "W")
    >>> ng.mean(ng.placeholder([H, W], pl.HALF), [H])
    <mean (W:4) HALF>
    """
    operand = elementwise.of_floats(x, "mean")
    reduced, out = reduced_axes(operand, reduction_axes, out_axes, "mean")
    check_not_empty("mean", operand, reduced)
    # HALF represents counts only up to 65,504.
    made = sum(as_type(operand, FLOAT), reduced) / Count(reduced, FLOAT)
    return _written("mean", made if operand.dtype is None else as_type(made, operand.dtype), out)


@arguments_of(sum)
def variance(x: Any, reduction_axes: AxesLike = None, out_axes: AxesLike = None) -> Op:
    """Return the mean squared difference from the mean along axes. See `sum`.

    Raises:
        whatever `mean` raises.

    >>> import poplite.named as ng
    >>> H, W, N = (ng.make_axis(length, name) for length, name in ((3, "H"), (4, "W"), (8, "N")))
    >>> ng.variance(ng.placeholder([H, W, N]), [H], out_axes=[N, W])
    <variance (N:8, W:4) FLOAT>
    """
    operand = elementwise.of_floats(x, "variance")
    reduced, out = reduced_axes(operand, reduction_axes, out_axes, "variance")
    check_not_empty("variance", operand, reduced)
    return _written(
        "variance", mean(elementwise.square(operand - mean(operand, reduced)), reduced), out
    )


@arguments_of(sum)
def squared_L2(x: Any, reduction_axes: AxesLike = None, out_axes: AxesLike = None) -> Op:
    """Return the sum of squares along axes. See `sum`.

    Raises:
        whatever `sum` raises.

    >>> import poplite.named as ng
    >>> H, W = ng.make_axis(3, "H"), ng.make_axis(4, "W")
    >>> ng.squared_L2(ng.placeholder([H, W]), [W])
    <squared_L2 (H:3) FLOAT>
    """
    operand = as_op(x, "squared_L2")
    reduced, out = reduced_axes(operand, reduction_axes, out_axes, "squared_L2")
    squares = elementwise.square(operand)
    return _written("squared_L2", _reduce("add", squares, reduced, None, "squared_L2"), out)


@arguments_of(sum)
def L2_norm(x: Any, reduction_axes: AxesLike = None, out_axes: AxesLike = None) -> Op:
    """Return the square root of the sum of squares along axes. See `sum`.

    The derivative with respect to x is 0 where the norm is 0.

    Raises:
        ElementTypeError: for elements that are not FLOAT or HALF.
        whatever `sum` raises for axes.

    >>> import poplite.named as ng
    >>> H, W = ng.make_axis(3, "H"), ng.make_axis(4, "W")
    >>> ng.L2_norm(ng.placeholder([H, W]), [W])
    <L2_norm (H:3) FLOAT>
    """
    operand = elementwise.of_floats(x, "L2_norm")
    reduced, out = reduced_axes(operand, reduction_axes, out_axes, "L2_norm")
    squares = elementwise.square(operand)
    return _written(
        "L2_norm", elementwise.sqrt(_reduce("add", squares, reduced, None, "L2_norm")), out
    )


@arguments_of(sum)
def L1_norm(x: Any, reduction_axes: AxesLike = None, out_axes: AxesLike = None) -> Op:
    """Return the sum of absolute values along axes. See `sum`.

    Raises:
        whatever `sum` raises.

    >>> import poplite.named as ng
    >>> H, W = ng.make_axis(3, "H"), ng.make_axis(4, "W")
    >>> ng.L1_norm(ng.placeholder([H, W]), ...)
    <L1_norm () FLOAT>
    """
    operand = as_op(x, "L1_norm")
    reduced, out = reduced_axes(operand, reduction_axes, out_axes, "L1_norm")
    sizes = elementwise.absolute(operand)
    return _written("L1_norm", _reduce("add", sizes, reduced, None, "L1_norm"), out)


def _written(name: str, made: Op, out: Axes | None) -> Op:
    """Return a new operation, named like the function, with its axes in the given order."""
    written_as(name, made)
    return made if out is None else written_as(name, shaping.axes_with_order(made, out))


@arguments_of(sum)
def argmax(x: Any, reduction_axes: AxesLike = None, out_axes: AxesLike = None) -> Op:
    """Return the position of the largest element along one axis, the first if several: INT.

    Raises:
        AxisError: for several axes, or none.
        ElementTypeError: for BOOL.
        TensorCreationError: for an axis of length 0.
        whatever `sum` raises for axes.

    >>> import poplite.named as ng
    >>> K, N = ng.make_axis(10, "K"), ng.make_axis(8, "N")
    >>> ng.argmax(ng.placeholder([K, N]), [K])
    <argmax (N:8) INT>
    """
    return _extreme("argmax", x, reduction_axes, out_axes)


@arguments_of(sum)
def argmin(x: Any, reduction_axes: AxesLike = None, out_axes: AxesLike = None) -> Op:
    """Return the position of the smallest element along one axis, the first if several: INT.

    Raises:
        whatever `argmax` raises.

    >>> import poplite.named as ng
    >>> K, N = ng.make_axis(10, "K"), ng.make_axis(8, "N")
    >>> ng.argmin(ng.placeholder([K, N]), out_axes=[N])
    <argmin (N:8) INT>
    """
    return _extreme("argmin", x, reduction_axes, out_axes)


def _extreme(how: str, value: Any, reduction_axes: Any, out_axes: Any) -> Op:
    x = as_op(value, how)
    reduced, out = reduced_axes(x, reduction_axes, out_axes, how)
    if len(reduced) != 1:
        raise AxisError(
            f"{how}: expected one axis; found {len(reduced)}, {reduced}",
            found=x.text,
            fix=f"pass one of [{', '.join(x.axes.names)}]; join several with "
            f"ng.flatten({spelled(x)}, axes)",
        )
    check_not_empty(how, x, reduced)
    if x.dtype is BOOL:
        fix = f"ng.cast({spelled(x)}, pl.INT)"
        what = f"{how}: operands of {x.dtype!r} are not supported"
        raise ElementTypeError(what, found=x.text, fix=fix)
    made = Extreme(how, x, reduced)
    return made if out is None else shaping.axes_with_order(made, out)


# -- products --------------------------------------------------------------------------------------


class DotProduct(Op):
    """The product of two tensors, summed along axes that both have.

    Attributes:
        summed: the summed axes.
    """

    __slots__ = ("summed",)
    what = "dot"

    def __init__(self, x: Op, y: Op, summed: Axes, axes: Axes) -> None:
        super().__init__(axes, FLOAT if x.dtype is None else x.dtype, (x, y))
        self.summed: Axes = summed


def dot(x: Any, y: Any, axes: AxesLike = DEFAULT, out_axes: AxesLike = None) -> Op:
    """Return the product of two tensors, summed along axes that both have.

    Args:
        x: a tensor or a number.
        y: a tensor or a number.
        axes: the shared axes to sum; by default, all of them. The others stay as batch axes: each
            of their indices has a separate product.
        out_axes: the order of the remaining axes; by default, that of x, then that of y.

    Raises:
        MissingAxisError: for an axis that one of the tensors lacks.
        AxisLengthError: for an axis with two lengths.

    >>> import poplite.named as ng
    >>> H, W, N = (ng.make_axis(length, name) for length, name in ((3, "H"), (4, "W"), (8, "N")))
    >>> dot(ng.placeholder([H, W]), ng.placeholder([W, N]))
    <dot (H:3, N:8) FLOAT>
    """
    one, other = as_op(x, "dot"), as_op(y, "dot")
    check_lengths("dot", one.axes, other.axes, (one, other))
    shared = one.axes & other.axes
    summed = shared if axes is DEFAULT else chosen(axes, shared, "dot: shared axes")
    if one.dtype is not other.dtype or one.dtype is not FLOAT:
        elementwise.result_type("multiply", (one, other), "dot")  # raises if the types do not match
    if not one.axes.items or not other.axes.items or not summed.items:
        made: Op = _multiplied(one, other)
    else:
        left = _without(one.axes, summed.root_set)
        right = _without(other.axes, one.axes.root_set)
        made = DotProduct(one, other, summed, some(left + right))
    return made if out_axes is None else shaping.with_axes_order(made, out_axes, "dot: out_axes")


def _multiplied(x: Op, y: Op) -> Op:
    """Return the product for a `dot` without summed axes: x's axes, then those that only y has."""
    if elementwise.is_strict_block():
        elementwise.check_no_outer("dot", x, x.axes, y)
    made = written_as("dot", elementwise.apply("multiply", x, y))
    return written_as("dot", shaping.axes_with_order(made, x.axes | y.axes))


def _without(axes: Axes, roots: frozenset[AxisRoot]) -> list[Any]:
    return [each for each in axes.items if each.root not in roots]


def num_elements_of(axes: Axes, what: str) -> int:
    """Return the number of elements along axes, whose lengths must be known."""
    return math.prod(axis.known_length(what) for axis in axes)


def as_type(x: Op, dtype: ElementClass) -> Op:
    """Return an operation in an element type; untyped numbers take it where they are used."""
    return x if x.dtype is None or x.dtype is dtype else elementwise.cast(x, dtype)


# -- softmax and cross entropies -------------------------------------------------------------------


class Softmax(Op):
    """A softmax, as a quotient; a logarithm of it uses its operand.

    Attributes:
        below_zero: the operand minus its largest element.
        total: the sum of the exponentials.
    """

    __slots__ = ("below_zero", "total")
    below_zero: Op
    total: Op
    what = "softmax"

    def __init__(self, value: Op, below_zero: Op, total: Op) -> None:
        super().__init__(value.axes, value.dtype, (value,))
        self.below_zero, self.total = below_zero, total


def softmax(x: Any, axes: AxesLike) -> Op:
    """Return `exp(x) / sum(exp(x))`, with the sum along the given axes.

    Args:
        x: FLOAT or HALF.
        axes: the axes along which the results sum to 1.

    Raises:
        ElementTypeError: for elements that are not FLOAT or HALF.
        MissingAxisError: for an axis that x lacks.
        TensorCreationError: for an axis of length 0.

    >>> import poplite.named as ng
    >>> K, N = ng.make_axis(10, "K"), ng.make_axis(8, "N")
    >>> softmax(ng.placeholder([K, N]), [K])
    <softmax (K:10, N:8) FLOAT>
    """
    return _softmax(x, axes, "softmax")


def _softmax(x: Any, axes: AxesLike, called: str) -> Op:
    """Return a softmax for the function that the user called."""
    operand = elementwise.of_floats(x, called)
    summed = chosen(axes, operand.axes, called)
    check_not_empty(called, operand, summed)
    below = operand - elementwise.stop_gradient(max(operand, summed))
    powers = elementwise.exp(below)
    total = sum(powers, summed)
    quotient = written_as("softmax", powers / total)
    return Softmax(shaping.axes_with_order(quotient, operand.axes), below, total)


def log_softmax(x: Any, axes: AxesLike) -> Op:
    """Return the logarithm of `softmax`, computed without taking the logarithm of 0.

    Args:
        x: a tensor of FLOAT or HALF.
        axes: the axes along which the exponentials sum to 1.

    Raises:
        whatever `softmax` raises.

    >>> import poplite.named as ng
    >>> K, N = ng.make_axis(10, "K"), ng.make_axis(8, "N")
    >>> ng.log_softmax(ng.placeholder([K, N]), [K])
    <log_softmax (K:10, N:8) FLOAT>
    """
    return written_as("log_softmax", _log_of(_softmax(x, axes, "log_softmax")))


def _log_of(x: Op) -> Op:
    """Return the logarithm of probabilities; for a softmax or sigmoid, in its stable form."""
    if isinstance(x, Softmax):
        made = written_as("log_softmax", x.below_zero - elementwise.log(x.total))
        return shaping.axes_with_order(made, x.axes)
    if isinstance(x, elementwise.Elementwise) and x.operation == "sigmoid":
        return -elementwise.apply("softplus", -x.args[0])
    return elementwise.safelog(x)


def cross_entropy_multi(p: Any, t: Any, axes: AxesLike = None, out_axes: AxesLike = None) -> Op:
    """Return the cross entropy of probabilities and targets: `-sum(t * log(p))`.

    Args:
        p: probabilities; for `ng.softmax`, the logarithm is computed from its operand.
        t: targets, with all axes of p, or with axes that p also has.
        axes: the axes of the classes, which are summed.
        out_axes: the remaining axes, in this order.

    Raises:
        AxisError: if neither has all axes of the other, or without either list of axes.
        MissingAxisError: for an axis that they lack.

    >>> import poplite as pl, poplite.named as ng
    >>> K, N = ng.make_axis(10, "K"), ng.make_axis(8, "N")
    >>> x, label = ng.placeholder([K, N]), ng.placeholder([N], pl.INT)
    >>> ng.cross_entropy_multi(ng.softmax(x, [K]), ng.one_hot(label, K), [K])
    <cross_entropy_multi (N:8) FLOAT>
    """
    one, other = _matched(p, t, "cross_entropy_multi")
    if axes is None and out_axes is None:
        raise AxisError(
            "cross_entropy_multi: axes or out_axes is required",
            found=one.text,
            fix=f"ng.cross_entropy_multi({spelled(one, 'p')}, t, axes), with the classes' axes",
        )
    made = -_reduce("add", other * _log_of(one), axes, out_axes, "cross_entropy_multi")
    return written_as("cross_entropy_multi", made)


def cross_entropy_binary(p: Any, t: Any) -> Op:
    """Return the cross entropy of probabilities of two classes: `-t log(p) - (1 - t) log(1 - p)`.

    Args:
        p: probabilities; for `ng.sigmoid`, the logarithms are computed from its operand.
        t: targets, 0 or 1.

    Raises:
        AxisError: if neither has all axes of the other.

    >>> import poplite.named as ng
    >>> N = ng.make_axis(8, "N")
    >>> ng.cross_entropy_binary(ng.sigmoid(ng.placeholder([N])), ng.placeholder([N]))
    <cross_entropy_binary (N:8) FLOAT>
    """
    one, other = _matched(p, t, "cross_entropy_binary")
    if isinstance(one, elementwise.Elementwise) and one.operation == "sigmoid":
        x = one.args[0]
        made = elementwise.apply("softplus", x) - other * x
    else:
        made = -(other * elementwise.safelog(one) + (1 - other) * elementwise.safelog(1 - one))
    return written_as("cross_entropy_binary", made)


def _matched(p: Any, t: Any, what: str) -> tuple[Op, Op]:
    one, other = elementwise.of_floats(p, what), elementwise.of_floats(t, what)
    if not (one.axes.is_sub_set(other.axes) or other.axes.is_sub_set(one.axes)):
        raise AxisError(
            f"{what}: neither operand has all axes of the other",
            found=f"left  {one.text}\nright {other.text}",
            fix=f"use ng.broadcast({spelled(one, 'p')}, "
            f"[{', '.join((one.axes | other.axes).names)}]) if all pairs are intended",
        )
    return one, other


# -- rows by index ---------------------------------------------------------------------------------
#
#     take(table, words, V)        (N, D) from a table (V, D) and words (N)


class Take(Op):
    """Rows of a table by index.

    Attributes:
        along: the axis of the table to which the indices refer.
        rest: the other axes of the table.
    """

    __slots__ = ("along", "rest")
    along: Axis
    rest: Axes
    what = "take"

    def __init__(self, table: Op, indices: Op, along: Axis) -> None:
        self.along, self.rest = along, table.axes - along
        super().__init__(indices.axes + self.rest, table.dtype, (table, indices))

    @property
    def orders(self) -> tuple[tuple[AxisRoot, ...], ...]:
        """The order in which the axes of the operands are read."""
        return (self.along.root, *self.rest.roots), self.args[1].axes.roots


class AddRows(Op):
    """Zeros with rows added by index: the derivative of `take` with respect to its table.

    Attributes:
        rest: the axes of a row.
    """

    __slots__ = ("along", "rest")
    along: Axis
    rest: Axes
    what = "added rows"

    def __init__(self, rows: Op, indices: Op, along: Axis, rest: Axes) -> None:
        self.along, self.rest = along, rest
        super().__init__(some([along, *rest]), rows.dtype, (rows, indices))

    @property
    def orders(self) -> tuple[tuple[AxisRoot, ...], ...]:
        """The order in which the axes of the operands are read."""
        indices = self.args[1].axes.roots
        return (*indices, *self.rest.roots), indices


def take(table: Any, indices: Any, axis: Axis) -> Op:
    """Return rows of a table by index, at the cost of `ops.embedding`.

    Args:
        table: a tensor that has the axis.
        indices: INT or UNSIGNED_INT, without the other axes of the table.
        axis: the axis of the table to which they refer, counted from 0.

    Returns:
        A tensor with the axes of the indices, then the other axes of the table.

    Raises:
        MissingAxisError: for an axis that the table does not have.
        ElementTypeError: for indices that are not INT or UNSIGNED_INT.
        AxisError: for any other axis that both have.
        TensorIndexError: when the computation runs, for an index out of range of the axis.

    >>> import poplite as pl, poplite.named as ng
    >>> V, D, N = ng.make_axis(100, "V"), ng.make_axis(8, "D"), ng.make_axis(3, "N")
    >>> take(ng.placeholder([V, D]), ng.placeholder([N], pl.INT), V)
    <take (N:3, D:8) FLOAT>
    """
    rows, numbers = as_op(table, "take"), as_op(indices, "take")
    if isinstance(axis, Axis) and axis in numbers.axes and axis not in rows.axes:
        one, other = spelled(numbers, "table"), spelled(rows, "indices")
        raise MissingAxisError(
            f"take: axis '{axis.name}' is in the indices, not in the table",
            found=texts_of((rows, numbers)),
            fix=f"pass the table first: ng.take({one}, {other}, {axis.name})",
        )
    own = only_axis(chosen(axis, rows.axes, "take"), "take")
    if isinstance(numbers, elementwise.NumberOp):
        return shaping.sliced_op(rows, {own: numbers.value})
    if numbers.dtype not in (INT, UNSIGNED_INT):
        raise ElementTypeError(
            f"take: indices must be INT or UNSIGNED_INT; found {numbers.dtype!r}",
            found=numbers.text,
            fix=f"ng.cast({spelled(numbers, 'indices')}, pl.INT)",
        )
    both = (rows.axes - own) & numbers.axes
    if both.items:
        raise AxisError(
            f"take: the table and the indices both have axis '{both[0].name}'",
            found=texts_of((rows, numbers)),
            fix=f"pair it with ng.sum(ng.one_hot({spelled(numbers, 'indices')}, {own.name}) * "
            f"{spelled(rows, 'table')}, [{own.name}])",
        )
    own.known_length("take")
    return Take(rows, numbers, own)


# -- nmap ------------------------------------------------------------------------------------------


class Seen(Op):
    """The operand that a function receives, which has only the listed axes."""

    __slots__ = ()
    what = "argument of nmap"


class VertexMap(Op):
    """The output of a vertex for each index of the axes that it does not see.

    Attributes:
        vertex: the vertex class.
        inputs: the names of its input fields, one for each operand.
        output: the name of its output field.
        seen: the axes that a vertex sees.
        inner: the axes of its output.
    """

    __slots__ = ("vertex", "inputs", "output", "seen", "inner")
    vertex: type[Vertex]
    inputs: list[str]
    output: str
    seen: Axes
    inner: Axes
    what = "nmap"

    def __init__(
        self,
        vertex: type[Vertex],
        args: tuple[Op, ...],
        axes: Axes,
        dtype: ElementClass,
        fields: tuple[list[str], str],
        seen: Axes,
        inner: Axes,
    ) -> None:
        super().__init__(axes, dtype, args)
        self.vertex, self.seen, self.inner = vertex, seen, inner
        self.inputs, self.output = fields


def nmap(function: Any, *xs: Any, axes: AxesLike, out_axes: AxesLike = None) -> Op:
    """Apply a function of tensors with the listed axes to each index of all other axes.

    Args:
        function: takes a tensor for each of xs, which has only its listed axes, and returns one.
            Or a `pl.Vertex` class with an input field for each of xs and one output field: there is
            a vertex for each index of the other axes, and it sees the listed axes as one vector.
        xs: tensors. Axes that are not listed pair, as with operators.
        axes: the axes that the function sees.
        out_axes: the axes of a vertex's output, if they differ from the listed ones; none for a
            single number.

    Returns:
        A tensor with the unlisted axes, in the order of xs, then those of the function's result.

    Raises:
        AxisError: for a function that does not return a tensor, or returns a tensor with axes of xs
            that it did not receive; for a vertex class with other fields.
        MissingAxisError: for a listed axis that no tensor has.

    >>> import poplite.named as ng
    >>> N, W = ng.make_axis(8, "N"), ng.make_axis(3, "W")
    >>> nmap(lambda row: row / ng.sum(row, ...), ng.placeholder([W, N]), axes=[W])
    <broadcast (N:8, W:3) FLOAT>
    """
    args, seen = tuple(as_op(each, "nmap") for each in xs), axes_of(axes)
    others = some([])
    for each in args:
        check_lengths("nmap", others, each.axes)
        others = others | (each.axes - seen)
    has = some([])
    for each in args:
        has = has | each.axes
    for axis in seen:
        if axis not in has:
            raise missing("nmap: a listed axis", axis, has, texts_of(args))
    if isinstance(function, type) and issubclass(function, Vertex):
        return _of_vertices(function, args, others, seen, out_axes)
    if not callable(function):
        raise AxisError(
            f"nmap: {clipped(function)} is not a function",
            found=of_type(function),
            fix=_call_of(args, seen),
        )
    return _of_function(function, args, others, seen)


def _call_of(args: tuple[Op, ...], seen: Axes) -> str:
    """Return the text of a call with all tensors, for suggested fixes."""
    names = [spelled(each, f"x{n}") for n, each in enumerate(args, 1)]
    rows = ", ".join(f"{name}_row" for name in names)
    return f"ng.nmap(lambda {rows}: ..., {', '.join(names)}, axes=[{', '.join(seen.names)}])"


def _of_function(
    function: Callable[..., Any], args: tuple[Op, ...], others: Axes, seen: Axes
) -> Op:
    stand_ins = [Seen(each.axes & seen, each.dtype, ()) for each in args]
    if why := why_not_called(function, len(stand_ins)):
        raise AxisError(
            f"nmap: {clipped(function)} does not take {amount(len(stand_ins), 'tensor')}: {why}",
            found=of_type(function),
            fix=_call_of(args, seen),
        )
    found = function(*stand_ins)
    if not isinstance(found, Op):
        raise AxisError(
            f"nmap: the function returned {clipped(found)}",
            found=f"{of_type(found)}; its arguments have the axes {seen}",
            fix="return an expression of its arguments",
        )
    twice = found.axes & others
    if twice.items:
        raise AxisError(
            f"nmap: the function's result has axis '{twice[0].name}', which it does not see",
            found=found.text,
            fix=f"list '{twice[0].name}' in axes, or pass its tensor to nmap",
        )
    made: dict[Op, Op] = dict(zip(stand_ins, args, strict=True))
    for node in nodes_below([found]):
        if node not in made:
            made[node] = _again(node, tuple(made[each] for each in node.args))
    result = made[found]
    wide = [*(others & result.axes), *found.axes]
    return shaping.axes_with_order(result, wide) if wide else result


def _again(op: Op, args: tuple[Op, ...]) -> Op:
    """Return an operation on operands that have more axes than its original ones."""
    if [*map(id, args)] == [*map(id, op.args)]:
        return op
    more = args[0].axes - op.args[0].axes
    match op:
        case elementwise.Elementwise(operation="cast"):
            return elementwise.cast(args[0], op.element_type)
        case elementwise.Elementwise():
            return elementwise.apply(op.operation, *args)
        case Reduce():
            return Reduce(op.how, args[0], op.reduced)
        case Extreme():
            return Extreme(op.how, args[0], op.reduced)
        case DotProduct():
            return dot(args[0], args[1], axes=op.summed)
        case shaping.Broadcast():
            return shaping.broadcast(args[0], more + op.axes)
        case shaping.Relabelled():
            return shaping.cast_axes(
                shaping.axes_with_order(args[0], more + op.args[0].axes), more + op.axes
            )
        case shaping.Slice():
            return shaping.Slice(args[0], op.parts)
        case shaping.Regrouped():
            ordered = shaping.axes_with_order(args[0], more + op.args[0].axes)
            return shaping.Regrouped(more + op.axes, op.dtype, (ordered,))
        case shaping.Concat():
            wide = some([])
            for each, old in zip(args, op.args, strict=True):
                wide = wide | (each.axes - old.axes)
            parts = [
                shaping.broadcast(each, wide + old.axes)
                for each, old in zip(args, op.args, strict=True)
            ]
            return shaping.concat(parts, op.along)
        case Softmax() | Gradient():
            return args[0]
        case elementwise.StopGradient() | Keep():
            kind = Keep if isinstance(op, Keep) else elementwise.StopGradient
            return kind(args[0].axes, op.dtype, args)
        case PlacedByHint():
            return PlacedByHint(args[0], op.place)
        case Take():
            return take(args[0], args[1], op.along)
        case AddRows() if args[1] is op.args[1]:
            return AddRows(args[0], args[1], op.along, args[0].axes - args[1].axes)
        case AddRows():
            raise AxisError(
                "nmap: no derivative with respect to a table whose rows an argument selects",
                found=op.text,
                fix="call ng.deriv outside of the function",
            )
        case VertexMap():
            others = some([])
            for each in args:
                others = others | (each.axes - op.seen)
            fields = op.inputs, op.output
            wide = others + op.inner
            return VertexMap(op.vertex, args, wide, op.element_type, fields, op.seen, op.inner)
    raise AssertionError(type(op))


# -- vertices --------------------------------------------------------------------------------------


def _of_vertices(
    vertex: type[Vertex], args: tuple[Op, ...], others: Axes, seen: Axes, out_axes: AxesLike
) -> Op:
    fields = [each for each in vertex.fields.values() if each.is_edge]
    outputs = [each for each in fields if each.writes and not each.reads]
    inputs = [each for each in fields if each.reads and not each.writes]
    if len(outputs) != 1 or len(inputs) != len(args) or len(inputs) + 1 != len(fields):
        raise AxisError(
            f"nmap: {vertex.__name__} has {amount(len(inputs), 'input')} and "
            f"{amount(len(outputs), 'output')}, but nmap was given {amount(len(args), 'tensor')}",
            found=", ".join(each.name for each in fields) + "\n" + texts_of(args),
            fix="declare an Input field for each tensor, and one Output field",
        )
    for field, x in zip(inputs, args, strict=True):
        _check_field(vertex, field, x, x.axes & seen)
    (output,) = outputs
    inner = seen if out_axes is None and _is_vector(output) else axes_of(out_axes)
    names = [each.name for each in inputs], output.name
    return VertexMap(vertex, args, others + inner, output.element, names, seen, inner)


def _is_vector(field: Field) -> bool:
    return field.depth > 0


def _check_field(vertex: type[Vertex], field: Field, x: Op, seen: Axes) -> None:
    if bool(seen.items) != _is_vector(field) or field.element is not x.element_type:
        raise AxisError(
            f"nmap: field '{field.name}' of {vertex.__name__} does not take {x.element_type!r} "
            f"along {seen}",
            found=f"the field is {field!r}; {x.text}",
            fix="declare a Vector of that type for listed axes, or a number if there are none",
        )
