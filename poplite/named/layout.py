"""The layout of a tensor, and the steps from it to a view.

For example:

    (H:3, W:4)     row-major               strides 4, 1
                   column-major            strides 1, 3
                   row-major, sizes 4, 8   strides 8, 1     an index of H takes 8 of 32 elements
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Protocol

from poplite.arrays.series import locate
from poplite.errors import AxisError, AxisLengthError, checked_kind
from poplite.frozen import frozen
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.named.axes import Axes, AxesLike, AxisRoot, axes_of, leaves, missing, some
from poplite.named.changed_axes import Part
from poplite.text import amount, clipped, integer_or_none, items_or_none, of_type

SizesLike = Any
"""A dictionary of axes and sizes, a size for each axis, or None."""


class Layout:
    """The order in which axes are stored, and the room for each of them.

    Args:
        order: the axes in order of storage, the outermost first.
        sizes: the room for each, in elements along it, at least its length: a number for each axis
            of `order`, or a dictionary of those with more room than their length.

    Attributes:
        axes: the axes in the order of `strides`.
        order: the axes in order of storage, the outermost first.

    Raises:
        AxisLengthError: for a size below a length, or the wrong number of sizes.
        MissingAxisError: for the size of an axis that is not listed.

    Source: "Tensor descriptions" of seeds 000 and 003; strides are in elements.

    >>> import poplite.named as ng
    >>> H, W = ng.make_axis(3, "H"), ng.make_axis(4, "W")
    >>> Layout([H, W]).strides, Layout([W, H]).strides, Layout([H, W], {W: 8}).strides
    ((4, 1), (3, 1), (8, 1))
    """

    __slots__ = ("axes", "order", "_sizes")

    def __init__(self, order: AxesLike, sizes: SizesLike = None) -> None:
        self.order: Axes = axes_of(order)
        self.axes: Axes = self.order
        self._sizes = _sizes(self.order, sizes)
        self.check()

    def by(self, axes: Axes) -> Layout:
        """Return the same layout, with strides listed in another order of the axes.

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
                    f"layout: size {size} is less than the length {length} of axis '{axis.name}'",
                    found=f"the axes are {self.order}",
                    fix=f"pass a size of at least {length}, or none",
                )

    def size_of(self, root: AxisRoot) -> int | None:
        """Return the room for an axis; None as long as its length is not known."""
        given = self._sizes.get(root)
        return self.order.items[self.order.roots.index(root)].length if given is None else given

    @property
    def sizes(self) -> tuple[int | None, ...]:
        """The room for each of `axes`; None for an axis whose length is not set yet."""
        return tuple(map(self.size_of, self.axes.roots))

    @property
    def strides(self) -> tuple[int, ...]:
        """The distance between neighbouring indices, in elements, for each of `axes`.

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
        """The shape of the storage: the room for each axis, in the order of storage.

        Raises:
            UnsetLengthError: for a length that is not set yet.
            AxisLengthError: for a length, set later, that exceeds its room.
        """
        self.check()
        sizes = []
        for axis in self.order:
            given = self._sizes.get(axis.root)
            sizes.append(axis.known_length("a layout") if given is None else given)
        return tuple(sizes)

    @property
    def size(self) -> int:
        """The number of elements in the storage."""
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
        axes: the axes of the tensor.
        sizes: the room for each axis, as in `Layout`.

    >>> import poplite.named as ng
    >>> row_major(ng.make_axes({"A": 5, "B": 3, "C": 2})).strides
    (6, 2, 1)
    """
    return Layout(axes, sizes)


def column_major(axes: AxesLike, sizes: SizesLike = None) -> Layout:
    """Return the layout in which the first axis is the innermost.

    Args:
        axes: the axes of the tensor.
        sizes: the room for each axis, in the order of `axes`, or a dictionary.

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
            raise AxisError(f"layout: sizes is {clipped(sizes)}", found=of_type(sizes), fix=_FIX)
        if len(listed) != len(order):
            raise AxisLengthError(
                f"layout: {amount(len(listed), 'size')} for {amount(len(order), 'axis', 'axes')}",
                found=f"{order} and {clipped(listed)}",
                fix="pass a size for each axis, or a dictionary: {W: 8}",
            )
        sizes = dict(zip(order, listed, strict=True))
    made: dict[AxisRoot, int] = {}
    for axis, size in sizes.items():
        if axis not in order:
            raise missing("layout: a size", axis, order)
        number = integer_or_none(size)
        if number is None or number < 0 or isinstance(size, bool):
            raise AxisLengthError(
                f"layout: the size for axis '{axis.name}' is {clipped(size)}",
                found=of_type(size),
                fix=_FIX,
            )
        made[axis.root] = number
    return made


_FIX = "pass whole numbers of at least the lengths: sizes={W: 8}"


def checked_layout(value: object, axes: Axes, what: str) -> Layout | None:
    """Return the layout of axes that a user gave; None if there is none."""
    if value is None:
        return None
    fix = f"pass ng.row_major([{', '.join(axes.names)}]), ng.column_major or ng.Layout"
    return checked_kind(value, Layout, f"{what}: layout", fix, error=AxisError).by(axes)


# -- positions of the indices of an axis -----------------------------------------------------------
#
#     (12, 1)            index i is at i: one stride
#     (3, 8), (4, 1)     index i is at i // 4 * 8 + i % 4: the joined axis of 3 x 4 with room for 8
#
# Digits are listed from the outermost, as pairs of a length and a stride.


Digits = tuple[tuple[int, int], ...]


def fewest_digits(digits: Sequence[tuple[int, int]]) -> Digits:
    """Return equivalent digits, as few as possible.

    Digits of length 1 are dropped; two adjacent ones are merged if `stride == inner length * inner
    stride`. Source: seed 003, on flattening; the condition uses lengths, never sizes.
    """
    found: list[tuple[int, int]] = []
    for length, stride in digits:
        if length == 1:
            continue
        if not length:
            return ((0, 0),)
        if found and found[-1][1] == length * stride:
            found[-1] = found[-1][0] * length, stride
        else:
            found.append((length, stride))
    return tuple(found) or ((1, 0),)


def parted_digits(digits: Digits, lengths: Sequence[int]) -> list[Digits]:
    """Return the digits of the parts of an axis, whose length is the product of `lengths`."""
    if 0 in lengths:
        return [((length, 0),) for length in lengths]
    left = list(digits)
    found: list[Digits] = []
    for length in reversed(lengths):
        own: list[tuple[int, int]] = []
        need = length
        while need > 1:
            have, stride = left.pop()
            taken = math.gcd(have, need)
            assert taken in (have, need), (digits, lengths)
            own.insert(0, (taken, stride))
            if have > taken:
                left.append((have // taken, stride * taken))
            need //= taken
        found.insert(0, tuple(own) or ((1, 0),))
    return found


def digits_of_part(digits: Digits, part: range) -> Digits | None:
    """Return the digits of some indices of an axis; None if there are none."""
    if len(part) < 2:
        return ((len(part), 0),)
    if len(digits) == 1:
        ((_, stride),) = digits
        return ((len(part), stride * part.step),)
    if part == range(math.prod(length for length, _ in digits)):
        return digits
    return None


# -- the steps from storage to a view of it --------------------------------------------------------
#
# Each step defines three things: its effect on `pl.Tensor`s, its effect on strides, and the element
# of its operand for each element of its result.


Index = tuple[int, ...]


@frozen
class StridedAxes:
    """The positions of elements, if they are given by an offset and strides.

    Attributes:
        offset: the position of the element at index 0 of all axes.
        digits: the digits of each axis; None for an axis that has none.
    """

    offset: int
    digits: tuple[Digits | None, ...]

    @classmethod
    def of(cls, layout: Layout) -> StridedAxes:
        """Return the positions of the elements of storage."""
        lengths = [axis.known_length("strides") for axis in layout.axes]
        return cls(0, tuple((each,) for each in zip(lengths, layout.strides, strict=True)))

    @property
    def strides(self) -> tuple[int | None, ...]:
        """The stride of each axis; None for an axis with several strides."""
        return tuple(
            each[0][1] if each is not None and len(each) == 1 else None for each in self.digits
        )


class DescriptionStep(Protocol):
    """One step: from one or more tensors, with their axes, to a tensor with other axes."""

    @property
    def what(self) -> str:
        """Its effect, in a word or two."""

    def view(self, sources: Sequence[Axes], tensors: Sequence[Tensor], axes: Axes) -> Tensor:
        """Return the view of tensors whose dimensions are the axes of the sources."""

    def strided(self, source: Axes, where: StridedAxes, axes: Axes) -> StridedAxes | None:
        """Return the positions of the result's elements; None if no strides give them."""

    def origin(self, sources: Sequence[Axes], index: Index, axes: Axes) -> tuple[int, Index]:
        """Return the source of the element at an index of the result, and its index there."""


@frozen
class Ordered:
    """The axes in another order, with the elements repeated along new axes."""

    what: str

    def view(self, sources: Sequence[Axes], tensors: Sequence[Tensor], axes: Axes) -> Tensor:
        """Return the view: new dimensions are added in front, repeated, and reordered."""
        (source,), (view,) = sources, tensors
        new = [axis for axis in axes if axis not in source]
        view = view.reshape((1,) * len(new) + view.shape)
        for dim, axis in enumerate(new):
            view = view.broadcast(axis.known_length("broadcast"), dim)
        have = [axis.root for axis in (*new, *source)]
        return view.dim_shuffle([have.index(root) for root in axes.roots])

    def strided(self, source: Axes, where: StridedAxes, axes: Axes) -> StridedAxes:
        """Return the digits in order; those of new axes have stride 0."""
        have = dict(zip(source.roots, where.digits, strict=True))
        new = {a.root: ((a.known_length("broadcast"), 0),) for a in axes if a.root not in have}
        return StridedAxes(where.offset, tuple({**have, **new}[root] for root in axes.roots))

    def origin(self, sources: Sequence[Axes], index: Index, axes: Axes) -> tuple[int, Index]:
        """Return the indices along the axes of the source."""
        return 0, tuple(index[axes.roots.index(root)] for root in sources[0].roots)


@frozen
class RelabelStep:
    """Other axes for the same elements."""

    what: str

    def view(self, sources: Sequence[Axes], tensors: Sequence[Tensor], axes: Axes) -> Tensor:
        """Return the tensor itself."""
        return tensors[0]

    def strided(self, source: Axes, where: StridedAxes, axes: Axes) -> StridedAxes:
        """Return the same positions."""
        return where

    def origin(self, sources: Sequence[Axes], index: Index, axes: Axes) -> tuple[int, Index]:
        """Return the same index."""
        return 0, index


@dataclass(slots=True, eq=False)
class PartsStep:
    """Some indices of axes; a single index drops an axis.

    Attributes:
        parts: the parts, by the roots of axes.
    """

    parts: dict[AxisRoot, Part]
    what: str = "slice"

    def _taken(self, source: Axes) -> list[range | int]:
        found: list[range | int] = []
        for axis in source:
            part = self.parts.get(axis.root, slice(None))
            length = axis.known_length("slice")
            found.append(part if isinstance(part, int) else range(length)[part])
        return found

    def view(self, sources: Sequence[Axes], tensors: Sequence[Tensor], axes: Axes) -> Tensor:
        """Return the part."""
        parts = [self.parts.get(root, slice(None)) for root in sources[0].roots]
        return tensors[0][tuple(parts)] if parts else tensors[0]

    def strided(self, source: Axes, where: StridedAxes, axes: Axes) -> StridedAxes | None:
        """Return the offset and digits of the part."""
        offset = where.offset
        digits: list[Digits | None] = []
        for own, part in zip(where.digits, self._taken(source), strict=True):
            if own is None:
                if isinstance(part, int) or part.start or part.step != 1:
                    return None
                digits.append(None)
                continue
            first = part if isinstance(part, int) else part[0] if len(part) else 0
            offset += locate(own, first) if math.prod(n for n, _ in own) else 0
            if isinstance(part, range):
                digits.append(digits_of_part(own, part))
        return StridedAxes(offset, tuple(digits))

    def origin(self, sources: Sequence[Axes], index: Index, axes: Axes) -> tuple[int, Index]:
        """Return the indices in the source."""
        own = iter(index)
        parts = self._taken(sources[0])
        return 0, tuple(each if isinstance(each, int) else each[next(own)] for each in parts)


@frozen
class RegroupStep:
    """Axes that join or split those of the source."""

    what: str

    def view(self, sources: Sequence[Axes], tensors: Sequence[Tensor], axes: Axes) -> Tensor:
        """Return the tensor in another shape."""
        return tensors[0].reshape(tuple(axis.known_length("flatten") for axis in axes))

    def strided(self, source: Axes, where: StridedAxes, axes: Axes) -> StridedAxes | None:
        """Return the digits of the parts, joined."""
        of_leaf: dict[AxisRoot, Digits | None] = {}
        for axis, digits in zip(source, where.digits, strict=True):
            parts = leaves(Axes(axis))
            if len(parts) == 1 and parts[0] is axis:
                of_leaf[axis.root] = digits
            elif digits is None:
                return None
            else:
                lengths = [each.known_length("flatten") for each in parts]
                own = parted_digits(digits, lengths)
                of_leaf.update(zip([each.root for each in parts], own, strict=True))
        made: list[Digits | None] = []
        for axis in axes:
            found = [of_leaf[each.root] for each in leaves(Axes(axis))]
            known = [digit for each in found if each is not None for digit in each]
            made.append(None if None in found else fewest_digits(known))
        return StridedAxes(where.offset, tuple(made))

    def origin(self, sources: Sequence[Axes], index: Index, axes: Axes) -> tuple[int, Index]:
        """Return the index of the element at the same position in row-major order."""
        flat = 0
        for axis, own in zip(axes, index, strict=True):
            flat = flat * axis.known_length("flatten") + own
        found: list[int] = []
        for axis in reversed(sources[0].items):
            flat, own = divmod(flat, axis.known_length("flatten"))
            found.insert(0, own)
        return 0, tuple(found)


@frozen
class ConcatStep:
    """Several tensors concatenated along an axis, each with the axes in the same order.

    Attributes:
        along: the root of the axis.
    """

    along: AxisRoot
    what: str = "concat"

    def view(self, sources: Sequence[Axes], tensors: Sequence[Tensor], axes: Axes) -> Tensor:
        """Return the concatenated tensors."""
        return concat(tensors, dim=axes.roots.index(self.along))

    def strided(self, source: Axes, where: StridedAxes, axes: Axes) -> None:
        """Return None: there are several allocations, or several positions in one."""

    def origin(self, sources: Sequence[Axes], index: Index, axes: Axes) -> tuple[int, Index]:
        """Return the source whose range contains the index."""
        dim = axes.roots.index(self.along)
        lengths = [each.items[dim].known_length("concat") for each in sources]
        ends = list(accumulate(lengths))
        which = next(n for n, end in enumerate(ends) if index[dim] < end)
        own = index[dim] - ends[which] + lengths[which]
        return which, (*index[:dim], own, *index[dim + 1 :])
