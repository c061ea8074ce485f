"""Tensors made of several: behind each other, on top of each other, with a border."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from poplite.errors import AxisError, AxisLengthError, ElementTypeError
from poplite.named.axes.axes import Axes, check_lengths, chosen, missing, some
from poplite.named.axes.axis import Axis
from poplite.named.axes.changes import one_name, spelled
from poplite.named.ops.element_types import NumberOp, check_number, mixed
from poplite.named.ops.elementwise import AxisPositions, apply, cast
from poplite.named.ops.op import Op, as_op, texts_of
from poplite.named.ops.shaping import axes_with_order, broadcast, check_axis_is_new
from poplite.text import amount, clipped, integer_or_none, of_type
from poplite.types import BOOL, FLOAT, INT


class Concat(Op):
    """Operands behind each other along one axis, of one type and one order of axes.

    Attributes:
        along: the axis, of the length of the result.
        lengths: of the axis in each operand.
    """

    __slots__ = ("along", "lengths")
    what = "concat"

    def __init__(self, args: tuple[Op, ...], along: Axis, axes: Axes) -> None:
        super().__init__(axes, args[0].dtype, args)
        self.along = along
        self.lengths = [each.axes.own(along).length for each in args]


def concat(xs: Sequence[Any], axis: Axis) -> Op:
    """Return tensors behind each other along an axis that all have.

    Args:
        xs: tensors of the same axes, in any order, whose lengths differ along `axis` only.
        axis: along which they stand.

    Returns:
        A tensor in the order of the first one. Its axis pairs with `axis` where lengths are equal.

    Raises:
        MissingAxisError: for a tensor without an axis that others have.
        UnsetLengthError: where the length along the axis is not known.

    >>> import poplite.named as ng
    >>> H, W = ng.make_axis(3, "H"), ng.make_axis(4, "W")
    >>> x = ng.placeholder([H, W])
    >>> concat([x, x[H, 1:]], H)
    <concat (H:5, W:4) FLOAT>
    """
    args = _operands(xs, "concat")
    first = args[0]
    for each in args:
        chosen([axis], each.axes, "concat")
        for one, other in ((first, each), (each, first)):
            left = one.axes - other.axes
            if left.items:
                raise missing(
                    f"concat: axes of '{other.name or other.called}'", left[0], other.axes
                )
        others = each.axes - axis
        check_lengths(
            "concat",
            first.axes - axis,
            others,
            lambda e=each: (first.text, e.text),  # type: ignore[misc]
        )
    whole = sum(each.axes.own(axis).known_length("concat") for each in args)
    own = first.axes.own(axis).origin
    along = own if own.length == whole and own.root is axis.root else own.resized(whole)
    if own.root is not axis.root:
        along = axis.resized(whole)
    ordered = tuple(axes_with_order(each, first.axes) for each in args)
    if len(ordered) == 1:
        return ordered[0]
    for each in args:
        each.axes.own(axis).keep_length(each.text)
    axes = some([along if each == axis else each for each in first.axes])
    return Concat(ordered, along, axes)


def _operands(xs: Sequence[Any], what: str) -> tuple[Op, ...]:
    if not isinstance(xs, Sequence):
        raise AxisError(
            f"{what}: {clipped(xs)} is no list of tensors",
            found=of_type(xs),
            fix=f"ng.{what}([x, y], axis)",
        )
    if not xs:
        raise AxisError(f"{what}: no tensor", fix=f"ng.{what}([x, y], axis)")
    args = tuple(as_op(each, what) for each in xs)
    for each in args:
        if each.dtype is not args[0].dtype and None not in (each.dtype, args[0].dtype):
            raise mixed(what, args[0], each)
    return args


def stack(xs: Sequence[Any], axis: Axis, pos: int = 0) -> Op:
    """Return tensors of the same axes on top of each other along a new axis.

    Args:
        xs: as many tensors as the axis is long; their axes may be in any order.
        axis: the new axis.
        pos: its position in the result.

    Raises:
        AxisLengthError: for another number of tensors.
        DuplicateAxisError: for an axis that a tensor has.
    """
    args = _operands(xs, "stack")
    for each in args:
        check_axis_is_new("stack", axis, each)
    axes = args[0].axes
    place = integer_or_none(pos)
    if place is None or not -len(axes) - 1 <= place <= len(axes):
        raise AxisError(
            f"stack: position {clipped(pos)} of {len(axes) + 1}",
            found=f"the axes are {axes}",
            fix=f"from {-len(axes) - 1} to {len(axes)}",
        )
    if axis.length is None:
        axis.length = len(args)
    if axis.length != len(args):
        raise AxisLengthError(
            f"stack: {amount(len(args), 'tensor')} along axis '{axis.name}' of {axis.length}",
            found=texts_of(args[:5]),
            fix=f"an axis of length {len(args)}",
        )
    one = axis.resized(1)
    made = concat([broadcast(each, [one, *axes]) for each in args], one)
    items = list(axes)
    items.insert(place if place >= 0 else place + len(axes) + 1, made.axes[0])
    ordered = _with_axis(axes_with_order(made, items), axis)
    axis.keep_length(ordered.text)
    return ordered


def _with_axis(x: Op, axis: Axis) -> Op:
    """Return an operation whose axis is the very object that a user gave."""
    x.axes = some([axis if each == axis else each for each in x.axes])
    return x


def pad(x: Any, widths: Mapping[Axis, Any], value: float = 0) -> Op:
    """Return x with a border along axes.

    Args:
        x: a tensor.
        widths: for each axis the elements before and behind, or one number for both, from 0.
        value: of the border, a number that the element type of x holds.

    Returns:
        A tensor whose padded axes are longer, and pair with x's no more.

    Raises:
        AxisError: for a width that is no whole number from 0.

    >>> import poplite.named as ng
    >>> H = ng.make_axis(3, "H")
    >>> pad(ng.placeholder([H]), {H: (1, 2)})
    <concat (H:6) FLOAT>
    """
    made = as_op(x, "pad")
    if made.dtype is BOOL and value == 0:
        value = False
    number = as_op(value, "pad: a border")
    if not isinstance(number, NumberOp):
        raise ElementTypeError(
            f"pad: a border of {clipped(value)}", found=number.text, fix="a number"
        )
    check_number("pad", number, made, made.element_type)
    if not isinstance(widths, Mapping):
        raise AxisError(
            f"pad: {clipped(widths)} says no axis",
            found=of_type(widths),
            fix=f"ng.pad({spelled(made)}, {{{one_name(made.axes)}: (1, 2)}})",
        )
    for axis, width in widths.items():
        (own,) = chosen([axis], made.axes, "pad")
        before, behind = _width(own, width)
        made = pad_parts(made, own, before, behind, number.value)
    return made


def pad_parts(x: Op, axis: Axis, before: int, behind: int, value: float = 0) -> Op:
    """Return x with elements of one value before and behind it along an axis."""
    own, parts = x.axes.own(axis), []
    for count in (before, behind):
        border = some([own.resized(count) if each == own else each for each in x.axes])
        typed = cast(NumberOp(value), x.element_type)
        parts.append([broadcast(typed, border)] if count else [])
    return concat([*parts[0], x, *parts[1]], own)


def _width(axis: Axis, width: Any) -> tuple[int, int]:
    pair = (width, width) if not isinstance(width, tuple | list) else tuple(width)
    numbers = [integer_or_none(each) for each in pair]
    if len(numbers) != 2 or any(each is None or each < 0 for each in numbers):
        raise AxisError(
            f"pad: {clipped(width)} for axis '{axis.name}'",
            found=of_type(width),
            fix=f"{{{axis.name}: (1, 2)}}, whole numbers from 0",
        )
    return numbers[0] or 0, numbers[1] or 0


def one_hot(x: Any, axis: Axis) -> Op:
    """Return 1 where the index along a new axis is the number in x, and 0 elsewhere: FLOAT.

    Args:
        x: INT. A number that the axis does not have is 1 nowhere.
        axis: the new axis, which comes first.

    Raises:
        DuplicateAxisError: for an axis of x.

    >>> import poplite as pl, poplite.named as ng
    >>> N, K = ng.make_axis(8, "N"), ng.make_axis(10, "K")
    >>> one_hot(ng.placeholder([N], pl.INT), K)
    <cast (K:10, N:8) FLOAT>
    """
    operand = as_op(x, "one_hot")
    check_axis_is_new("one_hot", axis, operand)
    if operand.dtype is not None and operand.dtype.dtype.kind not in "iu":
        raise ElementTypeError(
            f"one_hot: numbers of {operand.dtype!r} are no positions",
            found=operand.text,
            fix=f"ng.cast({spelled(operand)}, pl.INT)",
        )
    positions = cast(AxisPositions(Axes(axis)), operand.dtype or INT)
    wide = broadcast(operand, axis + operand.axes)  # all pairs are meant, under `strict` too
    return cast(apply("equal", positions, wide), FLOAT)
