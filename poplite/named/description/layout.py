"""Layouts: in which order the axes of a tensor are stored, and with how much room.

(H:3, W:4)     row-major               strides 4, 1
               column-major            strides 1, 3
               row-major, sizes 4, 8   strides 8, 1     an index of H takes 8 elements, of 32
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from poplite.errors import AxisError, AxisLengthError
from poplite.named.axes.axes import Axes, AxesLike, axes_of, missing, some
from poplite.named.axes.axis import AxisRoot
from poplite.text import amount, clipped, integer_or_none, items_or_none, of_type

SizesLike = Any
"""A dictionary of axes and numbers, a number for each axis, or None."""


class Layout:
    """The order in which axes are stored, and the room that each of them has.

    Args:
        order: the axes as they are stored, the outermost first.
        sizes: the room of each, in elements along it, at least its length: a number for each axis
            of `order`, or a dictionary of those that have more than their length.

    Attributes:
        axes: as `strides` lists them.
        order: as they are stored, the outermost first.

    Raises:
        AxisLengthError: for a size below a length, and for another number of sizes than axes.
        MissingAxisError: for the size of an axis that is not listed.

    Source: "Tensor descriptions" of seeds 000 and 003; strides are in elements.

    >>> import poplite.named as ng
    >>> H, W = ng.make_axis(3, "H"), ng.make_axis(4, "W")
    >>> Layout([H, W]).strides, Layout([W, H]).strides, Layout([H, W], {W: 8}).strides
    ((4, 1), (3, 1), (8, 1))
    """

    __slots__ = ("axes", "order", "_sizes")

    def __init__(self, order: AxesLike, sizes: SizesLike = None) -> None:
        self.order = axes_of(order)
        self.axes = self.order
        self._sizes = _sizes(self.order, sizes)
        self.check()

    def by(self, axes: Axes) -> Layout:
        """Return the same layout, which lists strides by axes in another order.

        Raises:
            MissingAxisError: for axes that are not those of the layout.
        """
        for one, other, what in (
            (axes, self.order, f"layout ({', '.join(self.order.names)}): its order"),
            (self.order, axes, f"layout ({', '.join(self.order.names)})"),
        ):
            left = one - other
            if left.items:
                raise missing(what, left[0], other)
        made = Layout.__new__(Layout)
        made.axes, made.order, made._sizes = axes, some(map(axes.own, self.order)), self._sizes
        made.check()
        return made

    def check(self) -> None:
        """Raise AxisLengthError for a size that is known to be below the length of its axis."""
        for axis in self.order:
            size, length = self._sizes.get(axis.root), axis.length
            if size is not None and length is not None and size < length:
                raise AxisLengthError(
                    f"layout: a size of {size} for axis '{axis.name}' of length {length}",
                    found=f"the axes are {self.order}",
                    fix=f"at least {length}, or no size",
                )

    def size_of(self, root: AxisRoot) -> int | None:
        """Return the room of an axis; None as long as its length is not known."""
        given = self._sizes.get(root)
        return self.order.items[self.order.roots.index(root)].length if given is None else given

    @property
    def sizes(self) -> tuple[int | None, ...]:
        """The room of each axis, by `axes`; None for one whose length is not set yet."""
        return tuple(map(self.size_of, self.axes.roots))

    @property
    def strides(self) -> tuple[int, ...]:
        """How far apart the elements of neighbouring indices are, in elements, by `axes`.

        Raises:
            UnsetLengthError: for a length that is not set yet.
        """
        steps: dict[AxisRoot, int] = {}
        step = 1
        for axis, size in zip(reversed(self.order.items), reversed(self.stored_shape), strict=True):
            steps[axis.root] = step
            step *= size
        return tuple(steps[root] for root in self.axes.roots)

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """The shape of the storage: the room of each axis, in the order of storage.

        Raises:
            UnsetLengthError: for a length that is not set yet.
            AxisLengthError: for a length, set later, that is above its room.
        """
        self.check()
        sizes = []
        for axis in self.order:
            given = self._sizes.get(axis.root)
            sizes.append(axis.known_length("a layout") if given is None else given)
        return tuple(sizes)

    @property
    def size(self) -> int:
        """Number of elements of the storage."""
        return math.prod(self.stored_shape)

    @property
    def is_padded(self) -> bool:
        """Whether an axis has more room than its length."""
        return any(self._sizes.get(a.root, a.length) != a.length for a in self.order)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Layout):
            return NotImplemented
        return self.order == other.order and self._sizes == other._sizes

    def __hash__(self) -> int:
        return hash((self.order, tuple(self._sizes.items())))

    def __repr__(self) -> str:
        names = ", ".join(self.order.names)
        kinds = {self.axes.roots[::-1]: "column-major", self.axes.roots: "row-major"}
        kind = kinds.get(self.order.roots, "stored as")
        if not self.is_padded:
            return f"{kind} ({names})"
        sizes = " x ".join("?" if each is None else str(each) for each in self.sizes)
        return f"{kind} ({names}) in room for {sizes}"


def row_major(axes: AxesLike, sizes: SizesLike = None) -> Layout:
    """Return the layout in which the last axis is the innermost.

    Args:
        axes: of the tensor.
        sizes: the room of each axis, as for `Layout`.

    >>> import poplite.named as ng
    >>> row_major(ng.make_axes({"A": 5, "B": 3, "C": 2})).strides
    (6, 2, 1)
    """
    return Layout(axes, sizes)


def column_major(axes: AxesLike, sizes: SizesLike = None) -> Layout:
    """Return the layout in which the first axis is the innermost.

    Args:
        axes: of the tensor.
        sizes: the room of each axis, in the order of `axes`, or a dictionary.

    >>> import poplite.named as ng
    >>> column_major(ng.make_axes({"A": 5, "B": 3, "C": 2})).strides
    (1, 5, 15)
    """
    listed = axes_of(axes)
    given = _sizes(listed, sizes)
    rooms = {axis: given[axis.root] for axis in listed if axis.root in given}
    return Layout(some(reversed(listed.items)), rooms).by(listed)


def _sizes(order: Axes, sizes: SizesLike) -> dict[AxisRoot, int]:
    """Return the sizes that a user gave, by root."""
    if sizes is None:
        return {}
    if not isinstance(sizes, Mapping):
        listed = items_or_none(sizes)
        if listed is None:
            raise AxisError(f"layout: sizes {clipped(sizes)}", found=of_type(sizes), fix=_FIX)
        if len(listed) != len(order):
            raise AxisLengthError(
                f"layout: {amount(len(listed), 'size')} for {amount(len(order), 'axis', 'axes')}",
                found=f"{order} and {clipped(listed)}",
                fix="a size for each axis, or a dictionary: {W: 8}",
            )
        sizes = dict(zip(order, listed, strict=True))
    made: dict[AxisRoot, int] = {}
    for axis, size in sizes.items():
        if axis not in order:
            raise missing("layout: a size", axis, order)
        number = integer_or_none(size)
        if number is None or number < 0 or isinstance(size, bool):
            raise AxisLengthError(
                f"layout: a size of {clipped(size)} for axis '{axis.name}'",
                found=of_type(size),
                fix=_FIX,
            )
        made[axis.root] = number
    return made


_FIX = "sizes={W: 8}: whole numbers, at least the lengths"


def layout_of(value: object, axes: Axes, what: str) -> Layout | None:
    """Return what a user gave as the layout of axes; None for none."""
    if value is None:
        return None
    if not isinstance(value, Layout):
        raise AxisError(
            f"{what}: a layout of {clipped(value)}",
            found=of_type(value),
            fix=f"ng.row_major([{', '.join(axes.names)}]), ng.column_major or ng.Layout of them",
        )
    return value.by(axes)
