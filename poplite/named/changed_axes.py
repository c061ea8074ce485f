"""Checked changes to a tensor's axes.

In all functions, `of` is the tensor that has the axes; it is used only in messages.
"""

from __future__ import annotations

import re
from types import EllipsisType
from typing import Any, Protocol

from poplite.errors import AxisError, AxisLengthError, MissingAxisError, TensorIndexError
from poplite.named.axes import (
    PLAIN,
    Axes,
    AxesLike,
    Axis,
    AxisRoot,
    FlattenedAxis,
    axes_of,
    check_lengths,
    chosen,
    missing,
    paired_axes,
    some,
)
from poplite.source import SourceLocation
from poplite.text import amount, clipped, integer_or_none, of_type

Part = slice | int
"""The indices to select from an axis: a slice keeps the axis, a single index drops it."""

_TAKEN = "use {0}[{1}, 0] or {0}[{1}, 1:3]; join several of them with ng.concat"

ALL = slice(None)
"""All indices of an axis."""


class Named(Protocol):
    """An object that is named in messages."""

    name: str

    @property
    def text(self) -> str:
        """Its description in messages: its axes, and where it was created."""


def spelled(of: Named, otherwise: str = "x") -> str:
    """Return a tensor's name for suggested fixes, or `otherwise` if the user did not name it."""
    is_automatic = re.fullmatch(r"(constant|placeholder|persistent|variable)\d+", of.name)
    return of.name if of.name.isidentifier() and not is_automatic else otherwise


def one_name(axes: Axes) -> str:
    """Return the name of a tensor's last axis, as an example; `axis` if it has none."""
    return axes.names[-1] if axes.items else "axis"


def broader(axes: Axes, like: AxesLike, of: Named) -> Axes:
    """Return the axes listed for `broadcast`, which must include all those of the tensor."""
    listed = axes_of(like)
    for axis in axes:
        if axis not in listed:
            raise missing("broadcast: the list", axis, listed)
    check_lengths("broadcast", axes, listed, (of, f"listed {listed}"))
    return listed


def ordered_axes(axes: Axes, like: AxesLike, of: Named, what: str) -> Axes:
    """Return a tensor's axes in the order listed; `...` means the axes that are not listed."""
    if like.__class__ is Axes and like.root_set == axes.root_set:
        own = dict(zip(axes.roots, axes.items, strict=True))
        return paired_axes([own[root] for root in like.roots], like)
    listed = chosen(like, axes, what)
    left = axes - listed
    if left.items:
        raise MissingAxisError(
            f"{what}: axis '{left[0].name}' is not listed",
            found=of.text,
            fix=f"list [{', '.join((*listed.names, *left.names))}], or '...' for the other axes",
        )
    return listed


def relabelled(axes: Axes, like: AxesLike, of: Named, what: str) -> Axes:
    """Return the listed axes, which replace those of a tensor one for one, with equal lengths."""
    listed = axes_of(like)
    if len(listed) != len(axes):
        raise AxisError(
            f"{what}: expected {amount(len(axes), 'axis', 'axes')}; found {len(listed)}, {listed}",
            found=of.text,
            fix=f"pass an axis in place of each of {', '.join(axes.names)}, in their order"
            if axes.items
            else "pass no axes",
        )
    for own, new in zip(axes, listed, strict=True):
        one, other = own.length, new.length
        if one != other and one is not None and other is not None:
            raise AxisLengthError(
                f"{what}: axis '{own.name}' has length {one}, but '{new.name}' has {other}",
                found=of.text,
                fix=f"replace '{own.name}' by an axis of length {one}; to change the order, call "
                f"ng.axes_with_order({spelled(of)}, [{', '.join(reversed(axes.names))}])",
            )
    return listed


def joined_axes(
    axes: Axes, like: AxesLike, name: str | None, of: Named, line: SourceLocation
) -> tuple[Axes, int]:
    """Return a tensor's axes with the listed axes flattened, and the position of the new axis.

    The listed axes must be adjacent. If `like` is None, all axes are flattened; an empty list adds
    an axis of length 1 at the end.
    """
    listed = axes if like is None else chosen(like, axes, "flatten")
    one = FlattenedAxis(listed, line)
    if name is not None and listed.items:  # the axis of an empty list is shared by all
        one.root.shown = name
    if not listed.items:
        return some([*axes.items, one]), len(axes)
    first = axes.index(listed[0])
    behind = first + len(listed)
    if axes.roots[first:behind] != listed.roots:
        raise AxisError(
            f"flatten: {listed} are not adjacent in this order",
            found=of.text,
            fix=f"call ng.axes_with_order({spelled(of)}, [..., {', '.join(listed.names)}]) first",
        )
    return some([*axes.items[:first], one, *axes.items[behind:]]), first


def only_axis(axes: Axes, what: str) -> Axis:
    """Return the only axis in a list."""
    if len(axes) != 1:
        raise AxisError(
            f"{what}: expected one axis; found {amount(len(axes), 'axis', 'axes')}",
            found=f"{axes}",
            fix="pass one axis, such as ng.make_axis(3, 'H')",
        )
    return axes[0]


def unsliced(axes: Axes, of: Named) -> Axes:
    """Return a tensor's axes with complete slices of flattened axes replaced by those axes."""
    found = [each.origin if _is_all_of_flattened(each) else each for each in axes]
    if all(one is other for one, other in zip(found, axes, strict=True)):
        return axes
    for each in axes:
        each.keep_length(of.text)
    return paired_axes(found, axes)


def _is_all_of_flattened(axis: Axis) -> bool:
    is_slice = isinstance(axis.origin, FlattenedAxis) and axis.origin is not axis
    return is_slice and axis.origin.root is axis.root and axis.has_all_in_order()


def parted_axes(axes: Axes, axis: Axis | None, of: Named) -> Axes:
    """Return a tensor's axes with one flattened axis replaced by its parts, or all of them."""
    listed = chosen(axis, axes, "unflatten") if axis is not None else axes
    flat = some([each for each in listed if isinstance(each, FlattenedAxis)])
    if not flat.items:
        raise AxisError(
            "unflatten: no axis is flattened", found=of.text, fix=_before_slices(listed, of)
        )
    items: list[Axis] = []
    for each in axes:
        items += each.axes if isinstance(each, FlattenedAxis) and each in flat else [each]
    return Axes(items)


def _before_slices(axes: Axes, of: Named) -> str:
    """Return the suggested fix for unflattening axes that are not flattened."""
    origins = {each: each.origin for each in axes if each.origin.root is each.root}
    sliced = [(each, one) for each, one in origins.items() if isinstance(one, FlattenedAxis)]
    if not sliced:
        return f"make one with ng.flatten({spelled(of)}, [{', '.join(axes.names)}])"
    part, origin = sliced[0]
    parts = ", ".join(origin.axes.names)
    return f"call ng.unflatten before slicing {parts}: '{part.text}' is a part of '{part.name}'"


def without(axes: Axes, parts: dict[AxisRoot, Part]) -> Axes:
    """Return a tensor's axes after indexing: a slice shortens an axis, a single index drops it."""
    items = list(axes.items)
    dropped = []
    for root, part in parts.items():
        where = axes.roots.index(root)
        if isinstance(part, int):
            dropped.append(where)
        else:
            items[where] = items[where].part(part)
    if not dropped:
        return paired_axes(items, axes)
    return some([each for n, each in enumerate(items) if n not in dropped])


def axis_part(axis: Axis, part: Any, of: Named) -> Part:
    """Return the indices that a user selects from an axis, with a negative index made positive."""
    if isinstance(part, slice):
        start, stop, step = part.start, part.stop, part.step
        if type(start) in PLAIN and type(stop) in PLAIN and type(step) in PLAIN and step != 0:
            is_all = stop is None and start in (None, 0) and step in (None, 1)
            return ALL if is_all else part
        axis.slice(part)  # raises if a bound or the step is not an integer
        numbers = [integer_or_none(each) for each in (part.start, part.stop, part.step)]
        return slice(*numbers)
    if isinstance(part, EllipsisType):
        return ALL
    index = integer_or_none(part)
    if index is None or isinstance(part, bool):
        name = spelled(of)
        raise TensorIndexError(
            f"axis '{axis.name}': {clipped(part)} is not an index",
            found=f"{of_type(part)}; {of.text}",
            fix=f"ng.expand_dims({name}, axis)" if part is None else _TAKEN.format(name, axis.name),
        )
    length = axis.known_length(f"index {index} of axis '{axis.name}'") if index < 0 else axis.length
    if length is not None and not -length <= index < length:
        raise TensorIndexError(
            f"axis '{axis.name}' has length {length}: there is no index {index}",
            found=of.text,
            fix=f"pass an index from {-length} to {length - 1}"
            if length
            else "use an axis of length 1 or more",
        )
    if index >= 0 or length is None:
        return index
    axis.keep_length(of.text)
    return index + length
