"""Roles of axes, independent of their length: the height of an image, or that of a filter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from poplite.errors import AxisError, DuplicateAxisError, MissingAxisError
from poplite.named.axes import (
    Axes,
    AxesLike,
    Axis,
    AxisRole,
    axes_of,
    check_axis_name,
    check_kind,
    checked_roles,
    make_axis,
    some,
)
from poplite.text import clipped, of_type


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


ar = Namespace()
"""Roles: Height, Width, Depth, Channel, Channelout, Time."""

ar.Height = make_axis_role()
ar.Width = make_axis_role()
ar.Depth = make_axis_role()
ar.Channel = make_axis_role()
ar.Channelout = make_axis_role()
ar.Time = make_axis_role()

ax = Namespace()
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
