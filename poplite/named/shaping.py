"""Operations that keep elements: other axes, parts, concatenation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import EllipsisType
from typing import Any

from poplite.errors import (
    AxisError,
    AxisLengthError,
    DuplicateAxisError,
    ElementTypeError,
    TensorIndexError,
    checked_kind,
)
from poplite.named import changed_axes, layout
from poplite.named.axes import (
    Axes,
    AxesLike,
    Axis,
    AxisRoot,
    axes_of,
    check_axis_name,
    check_lengths,
    chosen,
    leaves,
    missing,
    some,
)
from poplite.named.changed_axes import (
    ALL,
    AxesMap,
    Part,
    axis_part,
    by_roles,
    one_name,
    only_axis,
    spelled,
    without,
)
from poplite.named.description import TensorDescription
from poplite.named.elementwise import (
    AxisPositions,
    NumberOp,
    StopGradient,
    apply,
    cast,
    check_number,
    mixed_types_error,
)
from poplite.named.op import Op, as_op, makes, texts_of
from poplite.named.tensors import TensorOp
from poplite.source import here
from poplite.text import amount, clipped, integer_or_none, of_type
from poplite.types import BOOL, FLOAT, INT
from poplite.walks import bottom_up


class Broadcast(Op):
    """The elements in another order of axes, repeated along new axes."""

    __slots__ = ()
    what = "broadcast"


class Relabelled(Op):
    """The same elements with axes that replace the original ones one-to-one."""

    __slots__ = ()
    what = "cast_axes"


class Regrouped(Op):
    """The same elements, in row-major order, with axes that join or split those of the operand."""

    __slots__ = ()
    what = "flatten"


def broadcast(x: Any, axes: AxesLike) -> Op:
    """Return x with additional axes, or with its axes in another order.

    Args:
        x: a tensor or a number.
        axes: all axes of x, and others along which it is repeated.

    Raises:
        MissingAxisError: if an axis of x is not listed.
        AxisLengthError: for an axis whose length differs.

    >>> import poplite.named as ng
    >>> H, W = ng.make_axis(3, "H"), ng.make_axis(4, "W")
    >>> broadcast(ng.placeholder([H]), [W, H])
    <broadcast (W:4, H:3) FLOAT>
    """
    operand = as_op(x, "broadcast")
    listed = changed_axes.broader(operand.axes, axes, operand)
    return operand if operand.axes == listed else Broadcast(listed, operand.dtype, (operand,))


def axes_with_order(x: Any, axes: AxesLike) -> Op:
    """Return x with its axes in another order.

    Args:
        x: a tensor.
        axes: all of its axes; `...` for the unlisted ones.

    Raises:
        MissingAxisError: for an axis that x lacks, or an axis of x that is not listed.

    >>> import poplite.named as ng
    >>> H, W, N = (ng.make_axis(length, name) for length, name in ((3, "H"), (4, "W"), (8, "N")))
    >>> ng.axes_with_order(ng.placeholder([H, W, N]), [N, ...])
    <broadcast (N:8, H:3, W:4) FLOAT>
    """
    return with_axes_order(as_op(x, "axes_with_order"), axes, "axes_with_order")


def with_axes_order(operand: Op, axes: AxesLike, what: str) -> Op:
    """Return an operand with its axes in the order that a user listed for `what`."""
    listed = changed_axes.ordered_axes(operand.axes, axes, operand, what)
    return operand if operand.axes == listed else Broadcast(listed, operand.dtype, (operand,))


def expand_dims(x: Any, axis: Axis, pos: int = 0) -> Op:
    """Return x repeated along one more axis, at a position; x itself if it already has the axis.

    Args:
        x: a tensor or a number.
        axis: the axis along which it is repeated.
        pos: its position among the axes of the result.

    Raises:
        AxisError: for a position out of range.

    >>> import poplite.named as ng
    >>> H, N = ng.make_axis(3, "H"), ng.make_axis(8, "N")
    >>> x = ng.placeholder([H])
    >>> ng.expand_dims(x, N), ng.expand_dims(x, N, -1)
    (<broadcast (N:8, H:3) FLOAT>, <broadcast (H:3, N:8) FLOAT>)
    """
    operand = as_op(x, "expand_dims")
    new = changed_axes.only_axis(axes_of(axis), "expand_dims")
    if new in operand.axes:
        return operand
    return broadcast(operand, _with_one_more("expand_dims", operand.axes, new, pos, operand.text))


def _with_one_more(what: str, axes: Axes, new: Axis, pos: object, found: str) -> list[Axis]:
    """Return axes with a new one at a position; negative positions count from the end."""
    place = integer_or_none(pos)
    if place is None or not -len(axes) - 1 <= place <= len(axes):
        raise AxisError(
            f"{what}: position {clipped(pos)} is out of range for {len(axes) + 1} axes",
            found=found,
            fix=f"pass a position from {-len(axes) - 1} to {len(axes)}",
        )
    items = list(axes)
    items.insert(place if place >= 0 else place + len(axes) + 1, new)
    return items


def cast_axes(x: Any, axes: AxesLike) -> Op:
    """Return x with its axes replaced one-to-one by others; elements are not moved.

    Args:
        x: a tensor.
        axes: the new axes, one for each axis of x, of equal lengths.

    Raises:
        AxisLengthError: for a length that differs.
        AxisError: for the wrong number of axes.

    >>> import poplite.named as ng
    >>> C, D = ng.make_axis(3, "C"), ng.make_axis(3, "D")
    >>> cast_axes(ng.placeholder([C]), [D])
    <cast_axes (D:3) FLOAT>
    """
    return _relabelled(as_op(x, "cast_axes"), axes, "cast_axes")


def _relabelled(operand: Op, axes: AxesLike, what: str) -> Op:
    """Return an operand with other axes that a user gave for `what`."""
    listed = changed_axes.relabelled(operand.axes, axes, operand, what)
    return operand if operand.axes == listed else Relabelled(listed, operand.dtype, (operand,))


def map_roles(x: Any, axes_map: AxesMap) -> Op:
    """Return x with axes renamed by a map; axes that it does not name stay.

    Args:
        x: a tensor.
        axes_map: an `ng.AxesMap`, with the new axis for each name.

    Raises:
        AxisError: if `axes_map` is not an `AxesMap`.
        AxisLengthError: if a new axis has a different length.
        DuplicateAxisError: if two axes would become one.

    >>> import poplite.named as ng
    >>> H, P, N = ng.make_axis(3, "H"), ng.make_axis(3, "P"), ng.make_axis(8, "N")
    >>> ng.map_roles(ng.placeholder([H, N]), ng.AxesMap({H: P}))
    <cast_axes (P:3, N:8) FLOAT>
    """
    operand = as_op(x, "map_roles")
    if not isinstance(axes_map, AxesMap):
        raise AxisError(
            f"map_roles: {clipped(axes_map)} is not an AxesMap",
            found=operand.text,
            fix=f"ng.map_roles({spelled(operand)}, "
            f"ng.AxesMap({{{one_name(operand.axes)}: other}}))",
        )
    return _relabelled(operand, axes_map.map_axes(operand.axes), "map_roles")


def cast_role(x: Any, axes: AxesLike) -> Op:
    """Return x with other axes in place of its own, with the lengths that x has.

    Args:
        x: a tensor.
        axes: the new axes, one for each axis of x, in its order.

    Raises:
        AxisError: for the wrong number of axes.

    >>> import poplite.named as ng
    >>> H, P = ng.make_axis(3, "H"), ng.make_axis(5, "P")
    >>> ng.cast_role(ng.placeholder([H]), [P])
    <cast_axes (P:3) FLOAT>
    """
    operand, listed = as_op(x, "cast_role"), axes_of(axes)
    if len(listed) != operand.rank:
        return _relabelled(operand, listed, "cast_role")  # raises an error
    lengths = zip(listed, operand.axes, strict=True)
    made = [new if new.length == own.length else _as_long(new, own) for new, own in lengths]
    return _relabelled(operand, made, "cast_role")


def _as_long(new: Axis, own: Axis) -> Axis:
    return new.resized(own.known_length(f"cast_role to '{new.name}'"))


def axes_by_role(x: Any, roles: Any) -> Op:
    """Return x with its axes in the order of their roles, with length 1 for missing roles.

    Args:
        x: a tensor.
        roles: the roles, in the order of the result's axes.

    Raises:
        DuplicateAxisError: if two axes have the same role.
        MissingAxisError: for an axis that has none of the roles.

    >>> import poplite.named as ng
    >>> Height, Width = ng.make_axis_role("Height"), ng.make_axis_role("Width")
    >>> H, W = ng.make_axis(3, "H", roles=[Height]), ng.make_axis(4, "W", roles=[Width])
    >>> ng.axes_by_role(ng.placeholder([H, W]), [Width, Height])
    <broadcast (W:4, H:3) FLOAT>
    """
    operand = as_op(x, "axes_by_role")
    return broadcast(operand, by_roles(operand.axes, roles))


# -- joined axes -----------------------------------------------------------------------------------


def flatten(x: Any, axes: AxesLike = None, name: str | None = None) -> Op:
    """Return x with several adjacent axes joined into one.

    Args:
        x: a tensor.
        axes: the axes, in their order in x; by default, all of them.
        name: the name of the new axis in messages.

    Raises:
        AxisError: for axes that are not adjacent in x in this order.

    >>> import poplite.named as ng
    >>> x = ng.placeholder(ng.make_axes({"N": 8, "H": 3, "W": 4}))
    >>> flatten(x, x.axes[1:])
    <flatten (N:8, (H,W):12) FLOAT>
    """
    operand = as_op(x, "flatten")
    check_axis_name(name)
    made, _ = changed_axes.joined_axes(operand.axes, axes, name, operand, here())
    return Regrouped(made, operand.dtype, (operand,))


def unflatten(x: Any, axis: Axis | None = None) -> Op:
    """Return x with a flattened axis replaced by its parts; by default, all flattened axes.

    A slice of a flattened axis is not flattened, unless it has all indices in order.

    Args:
        x: a tensor.
        axis: the flattened axis.

    Raises:
        AxisError: for an axis that is not flattened.

    >>> import poplite.named as ng
    >>> x = ng.placeholder(ng.make_axes({"N": 8, "H": 3, "W": 4}))
    >>> flat = ng.flatten(x, x.axes[1:])
    >>> flat, ng.unflatten(flat)
    (<flatten (N:8, (H,W):12) FLOAT>, <flatten (N:8, H:3, W:4) FLOAT>)
    """
    operand = as_op(x, "unflatten")
    whole = changed_axes.unsliced(operand.axes, operand)
    if whole is not operand.axes:
        operand = Relabelled(whole, operand.dtype, (operand,))
    made = changed_axes.parted_axes(operand.axes, axis, operand)
    return Regrouped(made, operand.dtype, (operand,))


def regrouped(x: Op, axes: Axes) -> Op:
    """Return x with axes that join or split its own, of the same parts in the same order."""
    if x.axes == axes:
        return x
    if [each.root for each in leaves(x.axes)] != [each.root for each in leaves(axes)]:
        raise AxisError(
            f"{axes} are not the axes {x.axes}, joined or split",
            found=x.text,
            fix="use the same parts in the same order",
        )
    return Regrouped(axes, x.dtype, (x,))


def as_flattened(x: Op, axes: Axes) -> Op:
    """Return x with axes equal to its own, in which complete slices are flattened axes again."""
    is_same = [each.root for each in leaves(x.axes)] == [each.root for each in leaves(axes)]
    return x if is_same else Relabelled(axes, x.dtype, (x,))


def check_axis_is_new(what: str, value: object, x: Op) -> Axis:
    """Return an axis that x lacks; raises DuplicateAxisError for an axis that it has."""
    fix = "pass an axis from ng.make_axis(length, name) that the tensor does not have"
    axis = checked_kind(value, Axis, f"{what}:", fix, "an axis", error=AxisError)
    if axis in x.axes:
        raise DuplicateAxisError(
            f"{what}: the tensor already has axis '{axis.name}'",
            found=x.text,
            fix=f"use another axis, such as {axis.name}.fresh()",
        )
    return axis


# -- parts -----------------------------------------------------------------------------------------
#
#     x[H, 0]                    without axis H
#     x[H, 1:3]                  H has length 2, and still pairs with H
#     x[{H: slice(None, None, -1), W: 2}]
#     x[0, 1:]                   in the order of the axes


class Slice(Op):
    """Some indices of axes.

    Attributes:
        parts: the parts, by the roots of axes.
    """

    __slots__ = ("parts",)
    what = "slice"

    def __init__(self, x: Op, parts: dict[AxisRoot, Part]) -> None:
        super().__init__(without(x.axes, parts), x.dtype, (x,))
        self.parts: dict[AxisRoot, Part] = parts


def tensor_slice(x: Any, slices: Sequence[Part], axes: AxesLike = None) -> Op:
    """Return some indices of a tensor.

    Args:
        x: a tensor.
        slices: for each axis a slice, with a step of any sign, or an index, which drops the axis.
        axes: the axes of the slices; by default, all axes of x in order.

    Raises:
        TensorIndexError: for an index out of range of an axis.
        AxisError: if the number of slices differs from that of axes.

    >>> import poplite.named as ng
    >>> H, W = ng.make_axis(3, "H"), ng.make_axis(4, "W")
    >>> tensor_slice(ng.placeholder([H, W]), [0, slice(1, None, 2)])
    <slice (W[1::2]:2) FLOAT>
    """
    operand = as_op(x, "tensor_slice")
    listed = operand.axes if axes is None else chosen(axes, operand.axes, "tensor_slice")
    if not isinstance(slices, list | tuple):
        raise AxisError(
            f"tensor_slice: {clipped(slices)} is not a list of slices",
            found=operand.text,
            fix=f"pass a slice for each of [{', '.join(listed.names)}]; slice(None) takes all",
        )
    if len(slices) != len(listed):
        raise AxisError(
            f"tensor_slice: {amount(len(slices), 'slice')} for "
            f"{amount(len(listed), 'axis', 'axes')}",
            found=operand.text,
            fix=f"pass a slice for each of [{', '.join(listed.names)}]; slice(None) takes all",
        )
    return sliced_op(operand, dict(zip(listed, slices, strict=True)))


def slice_along_axis(x: Any, axis: Axis, index: int) -> Op:
    """Return one index along an axis: a tensor without the axis.

    Args:
        x: a tensor.
        axis: one of its axes.
        index: the index along the axis; negative ones count from the end.

    Raises:
        MissingAxisError: for an axis that x lacks.
        TensorIndexError: for an index out of range.

    >>> import poplite.named as ng
    >>> H, W = ng.make_axis(3, "H"), ng.make_axis(4, "W")
    >>> ng.slice_along_axis(ng.placeholder([H, W]), H, -1)
    <slice (W:4) FLOAT>
    """
    operand = as_op(x, "slice_along_axis")
    own = only_axis(chosen(axis, operand.axes, "slice_along_axis"), "slice_along_axis")
    return sliced_op(operand, {own: index})


def sliced_op(x: Op, parts: Mapping[Axis, Any]) -> Op:
    """Return some indices along axes of x; x itself if all are taken."""
    made: dict[AxisRoot, Part] = {}
    for axis, part in parts.items():
        if isinstance(part, Op):
            raise TensorIndexError(
                f"axis '{axis.name}': a tensor cannot be an index",
                found=part.text,
                fix=f"use ng.where({spelled(part, 'p')}, {spelled(x)}, 0) for a mask, "
                f"ng.take({spelled(x)}, {spelled(part, 'i')}, {axis.name}) for rows",
            )
        found = axis_part(axis, part, x)
        if found != ALL:
            made[axis.root] = found
    return Slice(x, made) if made else x


@makes("slice")
def by_key(x: Op, key: Any) -> Op:
    """Return the result of `x[key]`."""
    return sliced_op(x, parts_by_axis(x, key))


def parts_by_axis(x: Op, key: Any) -> dict[Axis, Any]:
    """Return the axes in a key between brackets, each with its part."""
    if isinstance(key, Mapping):
        return {_own(x, axis): part for axis, part in key.items()}
    items = key if isinstance(key, tuple) else (key,)
    if items and isinstance(items[0], Axis):
        if len(items) % 2:
            last = next(each for each in items[::-1] if isinstance(each, Axis))
            raise AxisError(
                f"x[{clipped(key)}]: axis '{last.name}' has no index",
                found=x.text,
                fix=f"{spelled(x)}[{last.name}, 0]",
            )
        return _by_axis(x, key, items)
    if items and isinstance(items[0], str):
        named = items[0] if items[0] in x.axes.names else one_name(x.axes)
        raise AxisError(
            f"x[{clipped(key)}]: a name cannot be used in place of an axis",
            found=x.text,
            fix=f"write {spelled(x)}[{named}, 0] with the axis itself, or x.axes.find({named!r})",
        )
    dots = [n for n, each in enumerate(items) if isinstance(each, EllipsisType)]
    if len(dots) > 1:
        raise TensorIndexError(
            "'...' occurs twice in brackets",
            found=x.text,
            fix=f"write {spelled(x)}[..., 0], with one '...' for all axes without an index",
        )
    if len(items) - len(dots) > x.rank:
        raise TensorIndexError(
            f"{amount(len(items), 'index', 'indices')} for {amount(x.rank, 'axis', 'axes')}",
            found=x.text,
            fix=f"pass at most one for each of [{', '.join(x.axes.names)}]",
        )
    if dots:
        n = dots[0]
        items = (*items[:n], *[ALL] * (x.rank - len(items) + 1), *items[n + 1 :])
    return dict(zip(x.axes, items, strict=False))


def _by_axis(x: Op, key: Any, items: tuple[Any, ...]) -> dict[Axis, Any]:
    """Return the axes in a key that lists each axis before its index, with their parts."""
    made: dict[Axis, Any] = {}
    for axis, part in zip(items[::2], items[1::2], strict=True):
        own = _own(x, axis)
        if own in made:
            raise DuplicateAxisError(
                f"x[{clipped(key)}]: axis '{own.name}' occurs twice",
                found=x.text,
                fix=f"list each axis once; for a part of a part, write "
                f"{spelled(x)}[{own.name}, 1:][{own.name}, 0]",
            )
        made[own] = part
    return made


def _own(x: Op, axis: Any) -> Axis:
    (own,) = chosen([axis], x.axes, f"x[{clipped(axis)}, ...]")
    return own


# -- concatenation ---------------------------------------------------------------------------------


class Concat(Op):
    """Operands concatenated along one axis, of the same type and in the same order of axes.

    Attributes:
        along: the axis, with the length of the result.
        lengths: the length of the axis in each operand.
    """

    __slots__ = ("along", "lengths")
    what = "concat"

    def __init__(self, args: tuple[Op, ...], along: Axis, axes: Axes) -> None:
        super().__init__(axes, args[0].dtype, args)
        self.along: Axis = along
        self.lengths: list[int | None] = [each.axes.own(along).length for each in args]


def concat(xs: Sequence[Any], axis: Axis) -> Op:
    """Return tensors concatenated along an axis that all have.

    Args:
        xs: tensors with the same axes, in any order, whose lengths differ only along `axis`.
        axis: the axis along which they are concatenated.

    Returns:
        A tensor with the axes in the order of the first tensor. Its axis pairs with `axis` if
        the lengths are equal.

    Raises:
        MissingAxisError: for a tensor without an axis that others have.
        UnsetLengthError: if the length along the axis is not known.

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
        check_lengths("concat", first.axes - axis, each.axes - axis, (first, each))
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
            f"{what}: {clipped(xs)} is not a list of tensors",
            found=of_type(xs),
            fix=f"ng.{what}([x, y], axis)",
        )
    if not xs:
        raise AxisError(f"{what}: the list of tensors is empty", fix=f"ng.{what}([x, y], axis)")
    args = tuple(as_op(each, what) for each in xs)
    for each in args:
        if each.dtype is not args[0].dtype and None not in (each.dtype, args[0].dtype):
            raise mixed_types_error(what, args[0], each)
    return args


def stack(xs: Sequence[Any], axis: Axis, pos: int = 0) -> Op:
    """Return tensors with the same axes stacked along a new axis.

    Args:
        xs: one tensor for each index of the axis; their axes may be in any order.
        axis: the new axis.
        pos: its position in the result.

    Raises:
        AxisLengthError: for the wrong number of tensors.
        DuplicateAxisError: for an axis that a tensor has already.

    >>> import poplite.named as ng
    >>> H, N = ng.make_axis(3, "H"), ng.make_axis(2, "N")
    >>> x, y = ng.placeholder([H]), ng.placeholder([H])
    >>> ng.stack([x, y], N), ng.stack([x, y], N, pos=1)
    (<concat (N:2, H:3) FLOAT>, <broadcast (H:3, N:2) FLOAT>)
    """
    args = _operands(xs, "stack")
    for each in args:
        check_axis_is_new("stack", axis, each)
    axes = args[0].axes
    order = _with_one_more("stack", axes, axis, pos, f"the axes are {axes}")
    if axis.length is None:
        axis.length = len(args)
    if axis.length != len(args):
        raise AxisLengthError(
            f"stack: {amount(len(args), 'tensor')} for axis '{axis.name}' of length {axis.length}",
            found=texts_of(args[:5]),
            fix=f"use an axis of length {len(args)}",
        )
    one = axis.resized(1)
    made = concat([broadcast(each, [one, *axes]) for each in args], one)
    ordered = _with_axis(axes_with_order(made, order), axis)
    axis.keep_length(ordered.text)
    return ordered


def _with_axis(x: Op, axis: Axis) -> Op:
    """Return an operation whose axis is the same object that a user passed."""
    x.axes = some([axis if each == axis else each for each in x.axes])
    return x


def pad(x: Any, widths: Mapping[Axis, Any], value: float = 0) -> Op:
    """Return x padded with a border along axes.

    Args:
        x: a tensor.
        widths: for each axis the numbers of elements before and after, or one number for both, from
            0.
        value: the value of the border, a number that the element type of x can hold.

    Returns:
        A tensor whose padded axes are longer, and no longer pair with those of x.

    Raises:
        AxisError: if a width is not a non-negative whole number.

    >>> import poplite.named as ng
    >>> H = ng.make_axis(3, "H")
    >>> pad(ng.placeholder([H]), {H: (1, 2)})
    <concat (H:6) FLOAT>
    """
    made = as_op(x, "pad")
    if made.dtype is BOOL and value == 0:
        value = False
    number = as_op(value, "pad: value")
    if not isinstance(number, NumberOp):
        raise ElementTypeError(
            f"pad: value is {clipped(value)}", found=number.text, fix="pass a number"
        )
    check_number("pad", number, made, made.element_type)
    if not isinstance(widths, Mapping):
        raise AxisError(
            f"pad: widths is {clipped(widths)}, which names no axis",
            found=of_type(widths),
            fix=f"ng.pad({spelled(made)}, {{{one_name(made.axes)}: (1, 2)}})",
        )
    for axis, width in widths.items():
        (own,) = chosen([axis], made.axes, "pad")
        before, behind = _width(own, width)
        made = pad_parts(made, own, before, behind, number.value)
    return made


def pad_parts(x: Op, axis: Axis, before: int, behind: int, value: float = 0) -> Op:
    """Return x with elements of one value added before and after it along an axis."""
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
            f"pad: the width for axis '{axis.name}' is {clipped(width)}",
            found=of_type(width),
            fix=f"pass non-negative whole numbers, such as {{{axis.name}: (1, 2)}}",
        )
    return numbers[0] or 0, numbers[1] or 0


def one_hot(x: Any, axis: Axis) -> Op:
    """Return 1 where the index along a new axis is the number in x, and 0 elsewhere: FLOAT.

    Args:
        x: INT. A number out of range of the axis gives zeros only.
        axis: the new axis, which comes first.

    Raises:
        DuplicateAxisError: for an axis that x has already.

    >>> import poplite as pl, poplite.named as ng
    >>> N, K = ng.make_axis(8, "N"), ng.make_axis(10, "K")
    >>> one_hot(ng.placeholder([N], pl.INT), K)
    <cast (K:10, N:8) FLOAT>
    """
    operand = as_op(x, "one_hot")
    check_axis_is_new("one_hot", axis, operand)
    if operand.dtype is not None and operand.dtype.dtype.kind not in "iu":
        raise ElementTypeError(
            f"one_hot: x must be INT; found {operand.dtype!r}",
            found=operand.text,
            fix=f"ng.cast({spelled(operand)}, pl.INT)",
        )
    positions = cast(AxisPositions(Axes(axis)), operand.dtype or INT)
    wide = broadcast(operand, axis + operand.axes)  # all pairs are intended, even under `strict`
    return cast(apply("equal", positions, wide), FLOAT)


# -- views of storage ------------------------------------------------------------------------------


@makes("description")
def description_of(op: Op) -> TensorDescription:
    """Return the description of an operation before it is stored."""
    return view_description(op, _allocation)


def view_description(op: Op, allocation: Callable[[Op], TensorDescription]) -> TensorDescription:
    """Return the description of an operation.

    Args:
        op: the operation.
        allocation: returns the description of a tensor with its own storage.
    """
    found: dict[Op, TensorDescription] = {}
    for node in bottom_up([op], lambda node: () if _step_of(node) is None else node.args):
        step = _step_of(node)
        if step is None:
            found[node] = allocation(node)
        else:
            first, *more = (found[each] for each in node.args)
            made = found[node] = first.seen(node.axes, step, *more)
            made.name, made.line = node.name, node.line
    return found[op]


def _allocation(op: Op) -> TensorDescription:
    if isinstance(op, TensorOp):
        return op.storage
    made = TensorDescription(op.axes, op.element_type, name=op.name or op.called, read_only=True)
    made.line = op.line
    return made


def _step_of(op: Op) -> layout.DescriptionStep | None:
    """Return the step that makes an operation a view of its operands; None if it is not one."""
    match op:
        case Broadcast() | Relabelled() | Regrouped():
            return _STEPS[type(op)]
        case StopGradient():
            return _STEPS[Relabelled]
        case Slice():
            return layout.PartsStep(op.parts)
        case Concat():
            return layout.ConcatStep(op.along.root)
    return None


_STEPS: dict[type[Op], layout.DescriptionStep] = {
    Broadcast: layout.Ordered("broadcast"),
    Relabelled: layout.RelabelStep("cast"),
    Regrouped: layout.RegroupStep("flatten"),
}
