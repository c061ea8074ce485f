"""Parts of tensors: indices and slices by axis.

x[H, 0]                    without axis H
x[H, 1:3]                  H has length 2, and pairs with H still
x[{H: slice(None, None, -1), W: 2}]
x[0, 1:]                   by the order of the axes
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import EllipsisType
from typing import Any

from poplite.errors import AxisError, DuplicateAxisError, TensorIndexError
from poplite.named.axes.axes import AxesLike, chosen
from poplite.named.axes.axis import Axis, AxisRoot
from poplite.named.axes.changes import ALL, Part, one_name, one_of, part_of, spelled, without
from poplite.named.ops.op import Op, as_op, makes
from poplite.text import amount, clipped


class Slice(Op):
    """Some indices of axes.

    Attributes:
        parts: by the roots of axes, what is taken of them.
    """

    __slots__ = ("parts",)
    what = "slice"

    def __init__(self, x: Op, parts: dict[AxisRoot, Part]) -> None:
        super().__init__(without(x.axes, parts), x.dtype, (x,))
        self.parts = parts


def tensor_slice(x: Any, slices: Sequence[Part], axes: AxesLike = None) -> Op:
    """Return some indices of a tensor.

    Args:
        x: a tensor.
        slices: for each axis a slice, with a step of any sign, or an index, which drops the axis.
        axes: which axes these are; left out, all of x in order.

    Raises:
        TensorIndexError: for an index that an axis has not.
        AxisError: for another number of slices than axes.

    >>> import poplite.named as ng
    >>> H, W = ng.make_axis(3, "H"), ng.make_axis(4, "W")
    >>> tensor_slice(ng.placeholder([H, W]), [0, slice(1, None, 2)])
    <slice (W[1::2]:2) FLOAT>
    """
    operand = as_op(x, "tensor_slice")
    listed = operand.axes if axes is None else chosen(axes, operand.axes, "tensor_slice")
    if not isinstance(slices, list | tuple):
        raise AxisError(
            f"tensor_slice: {clipped(slices)} is no list of slices",
            found=operand.text,
            fix=f"one for each of [{', '.join(listed.names)}]; slice(None) takes all of an axis",
        )
    if len(slices) != len(listed):
        raise AxisError(
            f"tensor_slice: {amount(len(slices), 'slice')} for "
            f"{amount(len(listed), 'axis', 'axes')}",
            found=operand.text,
            fix=f"one for each of [{', '.join(listed.names)}]; slice(None) takes all of an axis",
        )
    return sliced(operand, dict(zip(listed, slices, strict=True)))


def slice_along_axis(x: Any, axis: Axis, index: int) -> Op:
    """Return one index of an axis: a tensor without the axis."""
    operand = as_op(x, "slice_along_axis")
    own = one_of(chosen(axis, operand.axes, "slice_along_axis"), "slice_along_axis")
    return sliced(operand, {own: index})


def sliced(x: Op, parts: Mapping[Axis, Any]) -> Op:
    """Return some indices of axes of x; x itself for all of them."""
    made: dict[AxisRoot, Part] = {}
    for axis, part in parts.items():
        if isinstance(part, Op):
            raise TensorIndexError(
                f"axis '{axis.name}': a tensor is no index",
                found=part.text,
                fix=f"ng.where({spelled(part, 'p')}, {spelled(x)}, 0) for a mask, "
                f"ng.take({spelled(x)}, {spelled(part, 'i')}, {axis.name}) for rows",
            )
        found = part_of(axis, part, x)
        if found != ALL:
            made[axis.root] = found
    return Slice(x, made) if made else x


@makes("slice")
def by_key(x: Op, key: Any) -> Op:
    """Return what `x[key]` takes."""
    return sliced(x, parts_of(x, key))


def parts_of(x: Op, key: Any) -> dict[Axis, Any]:
    """Return what a key between brackets takes of which axes."""
    if isinstance(key, Mapping):
        return {_own(x, axis): part for axis, part in key.items()}
    items = key if isinstance(key, tuple) else (key,)
    if items and isinstance(items[0], Axis):
        if len(items) % 2:
            last = next(each for each in items[::-1] if isinstance(each, Axis))
            raise AxisError(
                f"x[{clipped(key)}]: an axis without an index",
                found=x.text,
                fix=f"{spelled(x)}[{last.name}, 0]",
            )
        return _by_axis(x, key, items)
    if items and isinstance(items[0], str):
        named = items[0] if items[0] in x.axes.names else one_name(x.axes)
        raise AxisError(
            f"x[{clipped(key)}]: a name where an axis is asked for",
            found=x.text,
            fix=f"{spelled(x)}[{named}, 0], by the axis itself, or by x.axes.find({named!r})",
        )
    dots = [n for n, each in enumerate(items) if isinstance(each, EllipsisType)]
    if len(dots) > 1:
        raise TensorIndexError(
            "'...' stands twice in brackets",
            found=x.text,
            fix=f"{spelled(x)}[..., 0]: once, for all axes that no other index takes",
        )
    if len(items) - len(dots) > x.rank:
        raise TensorIndexError(
            f"{amount(len(items), 'index', 'indices')} for {amount(x.rank, 'axis', 'axes')}",
            found=x.text,
            fix=f"at most one for each of [{', '.join(x.axes.names)}]",
        )
    if dots:
        n = dots[0]
        items = (*items[:n], *[ALL] * (x.rank - len(items) + 1), *items[n + 1 :])
    return dict(zip(x.axes, items, strict=False))


def _by_axis(x: Op, key: Any, items: tuple[Any, ...]) -> dict[Axis, Any]:
    """Return what a key of axes, each before its index, takes of which."""
    made: dict[Axis, Any] = {}
    for axis, part in zip(items[::2], items[1::2], strict=True):
        own = _own(x, axis)
        if own in made:
            raise DuplicateAxisError(
                f"x[{clipped(key)}]: axis '{own.name}' stands twice",
                found=x.text,
                fix=f"each axis once; {spelled(x)}[{own.name}, 1:][{own.name}, 0] takes a part of "
                "a part",
            )
        made[own] = part
    return made


def _own(x: Op, axis: Any) -> Axis:
    (own,) = chosen([axis], x.axes, f"x[{clipped(axis)}, ...]")
    return own
