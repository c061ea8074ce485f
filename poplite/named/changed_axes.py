"""Changes to axes: by their roles, by names, or to those of one tensor, with checks.

A role does not depend on a length: the height of an image, or that of a filter. In functions that
check the axes of a tensor, `of` is the tensor that has the axes; it is used only in messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import EllipsisType
from typing import Any, Protocol

from poplite.errors import (
    AxisError,
    AxisLengthError,
    DuplicateAxisError,
    MissingAxisError,
    TensorIndexError,
)
from poplite.named.axes import (
    PLAIN,
    Axes,
    AxesLike,
    Axis,
    AxisRole,
    AxisRoot,
    FlattenedAxis,
    axes_of,
    check_axis_name,
    check_kind,
    check_lengths,
    checked_roles,
    chosen,
    make_axis,
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
    """Return the listed axes, which replace those of a tensor one-to-one, with equal lengths."""
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


# -- roles -----------------------------------------------------------------------------------------


def make_axis_role(name: str | None = None, docstring: str = "") -> AxisRole:
    """Return a new role.

    Args:
        name: the name in messages; by default, the name under which a `Namespace` keeps it.
        docstring: its purpose.

    >>> Height = make_axis_role("Height")
    >>> make_axis(3, "H", roles=[Height]).has_role(Height)
    True
    """
    check_axis_name(name)
    return AxisRole(name, docstring)


class Namespace:
    """Names for axes and roles; one without its own name is shown by its name in the namespace.

    >>> ax = Namespace()
    >>> ax.H = make_axis(3)
    >>> ax.H
    H:3
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Axis) and value.root.given is None:
            value.root.shown = name
        elif isinstance(value, AxisRole) and value.name is None:
            value.name = name
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"no axis or role is named '{name}'; the names are {', '.join(vars(self)) or 'none'}",
            name=name,
            obj=self,
        )


def by_roles(axes: Axes, roles: Iterable[AxisRole]) -> Axes:
    """Return axes in the order of their roles, with a new axis of length 1 for a role without one.

    Raises:
        DuplicateAxisError: if two axes have the same role.
        MissingAxisError: for an axis that has none of the roles.
    """
    wanted, found = list(checked_roles(roles)), []
    for role in wanted:
        having = axes.role_axes(role)
        if len(having) > 1:
            raise DuplicateAxisError(
                f"{having[0].name!r} and {having[1].name!r} both have the role {role!r}",
                found=f"the axes are {axes}",
                fix=f"use one axis for each role, and make '{having[1].name}' without it",
            )
        found.append(having[0] if having.items else make_axis(1, roles=[role]))
    left = axes - some(found)
    if left.items:
        raise MissingAxisError(
            f"axis '{left[0].name}' has none of the listed roles",
            found=f"'{left[0].name}' has {list(left[0].roles)}; the listed roles are {wanted}",
            fix=f"list a role of '{left[0].name}', or give it one: {left[0].name}.add_role(role)",
        )
    return Axes(found)


class AxesMap:
    """A renaming of axes; axes that it does not name are kept.

    Args:
        mapping: axes, or names of axes, and their replacements: an axis of equal length, or a
            name, for which a fresh axis is made and kept.

    Raises:
        DuplicateAxisError: if two axes would become one.
        AxisError: for keys and values that are neither axes nor names.

    >>> H, G = make_axis(3, "H"), make_axis(3, "G")
    >>> AxesMap({H: G}).map_axes([H, make_axis(4, "W")])
    (G:3, W:4)
    """

    def __init__(self, mapping: Mapping[Axis | str, Axis | str]) -> None:
        if not isinstance(mapping, Mapping):
            raise AxisError(
                f"AxesMap: mapping is {clipped(mapping)}",
                found=of_type(mapping),
                fix="pass axes or their names: ng.AxesMap({H: G})",
            )
        for each in (*mapping, *mapping.values()):
            if not isinstance(each, Axis | str):
                raise AxisError(
                    f"AxesMap: {clipped(each)} is neither an axis nor a name",
                    found=of_type(each),
                    fix="pass axes or their names: ng.AxesMap({H: G})",
                )
        self._to = dict(mapping)
        self._made: dict[Axis, Axis] = {}
        sources: dict[object, object] = {}
        for source, target in self._to.items():
            other = sources.setdefault(target, source)
            if other is not source:
                raise DuplicateAxisError(
                    f"{_text(other)} and {_text(source)} would both become {_text(target)}",
                    fix="use a different axis for each",
                )

    def map_axis(self, axis: Axis) -> Axis:
        """Return the new axis for an axis: the same one if the map does not name it."""
        check_kind(axis, Axis, "map_axis: axis", "pass an axis, such as ng.make_axis(3, 'H')")
        target = self._to.get(axis, self._to.get(axis.name, axis))
        if isinstance(target, Axis):
            return target
        if axis not in self._made:
            self._made[axis] = axis.fresh(target)
        return self._made[axis]

    def map_axes(self, axes: AxesLike) -> Axes:
        """Return the new axes for axes; raises DuplicateAxisError if two become one."""
        return Axes([self.map_axis(each) for each in axes_of(axes)])

    def __repr__(self) -> str:
        return f"AxesMap({{{', '.join(f'{_text(a)}: {_text(b)}' for a, b in self._to.items())}}})"


def _text(axis: object) -> str:
    return repr(axis.name if isinstance(axis, Axis) else axis)


# -- the standard axes of images, filters and sequences --------------------------------------------
#
# Source: seed 002 of nGraph's documentation, "Axes have context". Lengths are set by the user.


ar: Namespace = Namespace()
"""Roles: Height, Width, Depth, Channel, Channelout, Time."""

ar.Height = make_axis_role()
ar.Width = make_axis_role()
ar.Depth = make_axis_role()
ar.Channel = make_axis_role()
ar.Channelout = make_axis_role()
ar.Time = make_axis_role()

ax: Namespace = Namespace()
"""Axes: N; C D H W of an image; R S T J K of a filter; M P Q of a result; REC; Y."""

ax.N = make_axis(name="N", docstring="minibatch size")
ax.C = make_axis(roles=[ar.Channel], docstring="number of input feature maps")
ax.D = make_axis(roles=[ar.Depth], docstring="input image depth")
ax.H = make_axis(roles=[ar.Height], docstring="input image height")
ax.W = make_axis(roles=[ar.Width], docstring="input image width")

ax.R = make_axis(roles=[ar.Height], docstring="filter height")
ax.S = make_axis(roles=[ar.Width], docstring="filter width")
ax.T = make_axis(roles=[ar.Depth], docstring="filter depth")
ax.J = make_axis(roles=[ar.Channel], docstring="filter channel size (for crossmap pooling)")
ax.K = make_axis(roles=[ar.Channelout], docstring="number of output feature maps")

ax.M = make_axis(roles=[ar.Depth], docstring="output image depth")
ax.P = make_axis(roles=[ar.Height], docstring="output image height")
ax.Q = make_axis(roles=[ar.Width], docstring="output image width")

ax.REC = make_axis(name="R", roles=[ar.Time], docstring="recurrent axis")

ax.Y = make_axis(docstring="target")
