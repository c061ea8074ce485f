"""Operations that keep elements and change axes: order, broadcasts, other labels, one for many."""

from __future__ import annotations

from typing import Any

from poplite.errors import AxisError, DuplicateAxisError
from poplite.named.axes import changes
from poplite.named.axes.axes import Axes, AxesLike, axes_of
from poplite.named.axes.axis import Axis, check_name
from poplite.named.axes.changes import one_name, spelled
from poplite.named.axes.flattened import leaves
from poplite.named.axes.roles import AxesMap, by_roles
from poplite.named.ops.op import Op, as_op
from poplite.source import here
from poplite.text import clipped, integer_or_none, of_type


class Broadcast(Op):
    """The elements in another order of axes, and again for each index of axes that are new."""

    __slots__ = ()
    what = "broadcast"


class Relabelled(Op):
    """The same elements by other axes, one for one."""

    __slots__ = ()
    what = "cast_axes"


class Regrouped(Op):
    """The same elements, in row-major order, by axes that join or part those of the operand."""

    __slots__ = ()
    what = "flatten"


def broadcast(x: Any, axes: AxesLike) -> Op:
    """Return x by more axes, or the same in another order.

    Args:
        x: a tensor or a number.
        axes: all axes of x, and others along which it is repeated.

    Raises:
        MissingAxisError: for an axis of x that is not listed.
        AxisLengthError: for an axis whose length differs.

    >>> import poplite.named as ng
    >>> H, W = ng.make_axis(3, "H"), ng.make_axis(4, "W")
    >>> broadcast(ng.placeholder([H]), [W, H])
    <broadcast (W:4, H:3) FLOAT>
    """
    operand = as_op(x, "broadcast")
    listed = changes.broader(operand.axes, axes, operand)
    return operand if operand.axes == listed else Broadcast(listed, operand.dtype, (operand,))


def axes_with_order(x: Any, axes: AxesLike) -> Op:
    """Return x with its axes in another order.

    Args:
        x: a tensor.
        axes: all of its axes; `...` for those that are not listed.

    Raises:
        MissingAxisError: for an axis that x has not, and one that is not listed.
    """
    return in_order(as_op(x, "axes_with_order"), axes, "axes_with_order")


def in_order(operand: Op, axes: AxesLike, what: str) -> Op:
    """Return an operand with its axes in an order that a user listed for `what`."""
    listed = changes.ordered(operand.axes, axes, operand, what)
    return operand if operand.axes == listed else Broadcast(listed, operand.dtype, (operand,))


def expand_dims(x: Any, axis: Axis, pos: int = 0) -> Op:
    """Return x repeated along one more axis, which stands at a position; x itself if it has it."""
    operand = as_op(x, "expand_dims")
    new = changes.one_of(axes_of(axis), "expand_dims")
    if new in operand.axes:
        return operand
    place = integer_or_none(pos)
    if place is None or not -operand.rank - 1 <= place <= operand.rank:
        raise AxisError(
            f"expand_dims: position {clipped(pos)} of {operand.rank + 1}",
            found=operand.text,
            fix=f"from {-operand.rank - 1} to {operand.rank}",
        )
    items = list(operand.axes)
    items.insert(place if place >= 0 else place + operand.rank + 1, new)
    return broadcast(operand, items)


def cast_axes(x: Any, axes: AxesLike) -> Op:
    """Return x by other axes, in place of its own, one for one; elements stay where they are.

    Args:
        x: a tensor.
        axes: as many as x has, of equal lengths.

    Raises:
        AxisLengthError: for a length that differs.
        AxisError: for another number of axes.

    >>> import poplite.named as ng
    >>> C, D = ng.make_axis(3, "C"), ng.make_axis(3, "D")
    >>> cast_axes(ng.placeholder([C]), [D])
    <cast_axes (D:3) FLOAT>
    """
    return _relabelled(as_op(x, "cast_axes"), axes, "cast_axes")


def _relabelled(operand: Op, axes: AxesLike, what: str) -> Op:
    """Return an operand by other axes, that a user gave for `what`."""
    listed = changes.relabelled(operand.axes, axes, operand, what)
    return operand if operand.axes == listed else Relabelled(listed, operand.dtype, (operand,))


def map_roles(x: Any, axes_map: AxesMap) -> Op:
    """Return x with axes renamed by a map; those that it does not name stay."""
    operand = as_op(x, "map_roles")
    if not isinstance(axes_map, AxesMap):
        raise AxisError(
            f"map_roles: {clipped(axes_map)} is no map of axes",
            found=operand.text,
            fix=f"ng.map_roles({spelled(operand)}, "
            f"ng.AxesMap({{{one_name(operand.axes)}: other}}))",
        )
    return _relabelled(operand, axes_map.map_axes(operand.axes), "map_roles")


def cast_role(x: Any, axes: AxesLike) -> Op:
    """Return x by other axes, in place of its own, with the lengths that x has."""
    operand, listed = as_op(x, "cast_role"), axes_of(axes)
    if len(listed) != operand.rank:
        return _relabelled(operand, listed, "cast_role")  # which refuses
    lengths = zip(listed, operand.axes, strict=True)
    made = [new if new.length == own.length else _as_long(new, own) for new, own in lengths]
    return _relabelled(operand, made, "cast_role")


def _as_long(new: Axis, own: Axis) -> Axis:
    return new.resized(own.known_length(f"cast_role to '{new.name}'"))


def axes_by_role(x: Any, roles: Any) -> Op:
    """Return x with its axes in the order of their roles, and axes of length 1 for the others."""
    operand = as_op(x, "axes_by_role")
    return broadcast(operand, by_roles(operand.axes, roles))


# -- one for many --------------------------------------------------------------------------------


def flatten(x: Any, axes: AxesLike = None, name: str | None = None) -> Op:
    """Return x with several axes, which stand side by side, as one.

    Args:
        x: a tensor.
        axes: the axes, in their order in x; left out, all of them.
        name: of the new axis, in messages.

    Raises:
        AxisError: for axes that do not stand side by side in x in this order.

    >>> import poplite.named as ng
    >>> x = ng.placeholder(ng.make_axes({"N": 8, "H": 3, "W": 4}))
    >>> flatten(x, x.axes[1:])
    <flatten (N:8, (H,W):12) FLOAT>
    """
    operand = as_op(x, "flatten")
    check_name(name)
    made, _ = changes.joined(operand.axes, axes, name, operand, here())
    return Regrouped(made, operand.dtype, (operand,))


def unflatten(x: Any, axis: Axis | None = None) -> Op:
    """Return x with a flattened axis as its parts again; left out, all flattened axes.

    A slice of a flattened axis is not flattened, unless it has all indices in their order.

    Raises:
        AxisError: for an axis that is not flattened.
    """
    operand = as_op(x, "unflatten")
    whole = changes.unsliced(operand.axes, operand)
    if whole is not operand.axes:
        operand = Relabelled(whole, operand.dtype, (operand,))
    made = changes.parted(operand.axes, axis, operand)
    return Regrouped(made, operand.dtype, (operand,))


def regrouped(x: Op, axes: Axes) -> Op:
    """Return x by axes that join or part its own, of the same leaves in the same order."""
    if x.axes == axes:
        return x
    return Regrouped(changes.regrouped(x.axes, axes, x), x.dtype, (x,))


def as_flattened(x: Op, axes: Axes) -> Op:
    """Return x by axes equal to its own, which slices of flattened axes are, but not flattened."""
    is_same = [each.root for each in leaves(x.axes)] == [each.root for each in leaves(axes)]
    return x if is_same else Relabelled(axes, x.dtype, (x,))


def check_axis_is_new(what: str, axis: object, x: Op) -> Axis:
    """Return an axis that x has not; raises DuplicateAxisError for one that it has."""
    if not isinstance(axis, Axis):
        raise AxisError(
            f"{what}: {clipped(axis)} is no axis",
            found=of_type(axis),
            fix="an axis of ng.make_axis(length, name) that the tensor does not have",
        )
    if axis in x.axes:
        raise DuplicateAxisError(
            f"{what}: axis '{axis.name}' is there already",
            found=x.text,
            fix=f"another axis, such as {axis.name}.fresh()",
        )
    return axis
