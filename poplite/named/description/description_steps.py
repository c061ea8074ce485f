"""The steps from the storage of a tensor to a view of it.

Each step says three things: what it makes of `pl.Tensor`s, of strides, and to which element of
what stands before it an element of its result belongs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.named.axes.axes import Axes
from poplite.named.axes.axis import AxisRoot
from poplite.named.axes.changes import Part
from poplite.named.axes.flattened import leaves
from poplite.named.description.digits import Digits, address, merged, parted, taken
from poplite.named.description.layout import Layout

Index = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StridedAxes:
    """Where elements lie, as far as an offset and strides tell it.

    Attributes:
        offset: of the element at index 0 of all axes.
        digits: of each axis; None for one that has none.
    """

    offset: int
    digits: tuple[Digits | None, ...]

    @classmethod
    def of(cls, layout: Layout) -> StridedAxes:
        """Return where the elements of storage lie."""
        lengths = [axis.known_length("strides") for axis in layout.axes]
        return cls(0, tuple((each,) for each in zip(lengths, layout.strides, strict=True)))

    @property
    def strides(self) -> tuple[int | None, ...]:
        """The stride of each axis; None for one that has several."""
        return tuple(
            each[0][1] if each is not None and len(each) == 1 else None for each in self.digits
        )


class DescriptionStep(Protocol):
    """One step: from one or more tensors, by their axes, to a tensor by others."""

    @property
    def what(self) -> str:
        """What it does, in a word or two."""

    def view(self, sources: Sequence[Axes], tensors: Sequence[Tensor], axes: Axes) -> Tensor:
        """Return the view of tensors whose dimensions are the sources' axes."""

    def strided(self, source: Axes, where: StridedAxes, axes: Axes) -> StridedAxes | None:
        """Return where the elements of the result lie; None where no strides tell it."""

    def origin(self, sources: Sequence[Axes], index: Index, axes: Axes) -> tuple[int, Index]:
        """Return which source has the element at an index of the result, and at which index."""


@dataclass(frozen=True, slots=True)
class Ordered:
    """The axes in another order, and the elements again for each index of new ones."""

    what: str

    def view(self, sources: Sequence[Axes], tensors: Sequence[Tensor], axes: Axes) -> Tensor:
        """Return it: new dimensions in front, then repeated, then in order."""
        (source,), (view,) = sources, tensors
        new = [axis for axis in axes if axis not in source]
        view = view.reshape((1,) * len(new) + view.shape)
        for dim, axis in enumerate(new):
            view = view.broadcast(axis.known_length("broadcast"), dim)
        have = [axis.root for axis in (*new, *source)]
        return view.dim_shuffle([have.index(root) for root in axes.roots])

    def strided(self, source: Axes, where: StridedAxes, axes: Axes) -> StridedAxes:
        """Return the digits in order; those of new axes do not move."""
        have = dict(zip(source.roots, where.digits, strict=True))
        new = {a.root: ((a.known_length("broadcast"), 0),) for a in axes if a.root not in have}
        return StridedAxes(where.offset, tuple({**have, **new}[root] for root in axes.roots))

    def origin(self, sources: Sequence[Axes], index: Index, axes: Axes) -> tuple[int, Index]:
        """Return the indices of the axes that the source has."""
        return 0, tuple(index[axes.roots.index(root)] for root in sources[0].roots)


@dataclass(frozen=True, slots=True)
class RelabelStep:
    """Other axes for the same elements."""

    what: str

    def view(self, sources: Sequence[Axes], tensors: Sequence[Tensor], axes: Axes) -> Tensor:
        """Return the tensor itself."""
        return tensors[0]

    def strided(self, source: Axes, where: StridedAxes, axes: Axes) -> StridedAxes:
        """Return the same."""
        return where

    def origin(self, sources: Sequence[Axes], index: Index, axes: Axes) -> tuple[int, Index]:
        """Return the same."""
        return 0, index


@dataclass(slots=True, eq=False)
class PartsStep:
    """Some indices of axes; one index drops an axis.

    Attributes:
        parts: by the roots of axes.
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
        """Return offset and digits by those of the source."""
        offset = where.offset
        digits: list[Digits | None] = []
        for own, part in zip(where.digits, self._taken(source), strict=True):
            if own is None:
                if isinstance(part, int) or part.start or part.step != 1:
                    return None
                digits.append(None)
                continue
            first = part if isinstance(part, int) else part[0] if len(part) else 0
            offset += address(own, first) if math.prod(n for n, _ in own) else 0
            if isinstance(part, range):
                digits.append(taken(own, part))
        return StridedAxes(offset, tuple(digits))

    def origin(self, sources: Sequence[Axes], index: Index, axes: Axes) -> tuple[int, Index]:
        """Return the indices that are taken."""
        own = iter(index)
        parts = self._taken(sources[0])
        return 0, tuple(each if isinstance(each, int) else each[next(own)] for each in parts)


@dataclass(frozen=True, slots=True)
class RegroupStep:
    """Axes that join or part those of the source."""

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
                own = parted(digits, lengths)
                of_leaf.update(zip([each.root for each in parts], own, strict=True))
        made: list[Digits | None] = []
        for axis in axes:
            found = [of_leaf[each.root] for each in leaves(Axes(axis))]
            known = [digit for each in found if each is not None for digit in each]
            made.append(None if None in found else merged(known))
        return StridedAxes(where.offset, tuple(made))

    def origin(self, sources: Sequence[Axes], index: Index, axes: Axes) -> tuple[int, Index]:
        """Return the index of the element that has the same place in row-major order."""
        flat = 0
        for axis, own in zip(axes, index, strict=True):
            flat = flat * axis.known_length("flatten") + own
        found: list[int] = []
        for axis in reversed(sources[0].items):
            flat, own = divmod(flat, axis.known_length("flatten"))
            found.insert(0, own)
        return 0, tuple(found)


@dataclass(frozen=True, slots=True)
class ConcatStep:
    """Several tensors behind each other along an axis, each with the axes in the same order.

    Attributes:
        along: the root of the axis.
    """

    along: AxisRoot
    what: str = "concat"

    def view(self, sources: Sequence[Axes], tensors: Sequence[Tensor], axes: Axes) -> Tensor:
        """Return them behind each other."""
        return concat(tensors, dim=axes.roots.index(self.along))

    def strided(self, source: Axes, where: StridedAxes, axes: Axes) -> None:
        """Return None: there are several storages, or several places of one."""

    def origin(self, sources: Sequence[Axes], index: Index, axes: Axes) -> tuple[int, Index]:
        """Return the source in whose range the index is."""
        dim = axes.roots.index(self.along)
        lengths = [each.items[dim].known_length("concat") for each in sources]
        ends = list(accumulate(lengths))
        which = next(n for n, end in enumerate(ends) if index[dim] < end)
        own = index[dim] - ends[which] + lengths[which]
        return which, (*index[:dim], own, *index[dim + 1 :])
