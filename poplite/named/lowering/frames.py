"""Where the dimensions of a tensor go: parts of them, in another order, with some of size 1.

A *slot* is a dimension of what is asked for: the root of an axis, or None for a size of 1.

    tensor (N, H, W)   slots (W, None, N)   parts {H: 2}      tensor[:, 2].dim_shuffle, reshaped
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.named.axes.axes import Axes
from poplite.named.axes.axis import AxisRoot

Slots = tuple[AxisRoot | None, ...]

Parts = dict[AxisRoot, range | int]
"""What is taken of axes: the indices, as far as these are not all, or one index."""


@dataclass(frozen=True, slots=True)
class TensorFrame:
    """One view of one tensor.

    Attributes:
        shape: the tensor's dimensions, one for each axis; None for those it has.
        index: what is taken of each: `(start, stop, step)`, or a number, which drops it.
        order: of those that are left.
        sizes: the shape of the view, with dimensions of size 1.
    """

    shape: tuple[int, ...] | None
    index: tuple[tuple[int | None, int | None, int] | int, ...]
    order: tuple[int, ...]
    sizes: tuple[int, ...]

    def __call__(self, tensor: Tensor) -> Tensor:
        """Return the view."""
        view = tensor if self.shape is None else tensor.reshape(self.shape)
        index = tuple(slice(*each) if isinstance(each, tuple) else each for each in self.index)
        if any(each != slice(None, None, 1) for each in index):
            view = view[index]
        if self.order != tuple(range(len(self.order))):
            view = view.dim_shuffle(list(self.order))
        return view if view.shape == self.sizes else view.reshape(self.sizes)


@dataclass(frozen=True, slots=True)
class JoinedFrames:
    """Tensors behind each other along one dimension.

    Attributes:
        dim: the dimension.
    """

    dim: int

    def __call__(self, *tensors: Tensor) -> Tensor:
        """Return the view."""
        return concat(tensors, dim=self.dim)


@dataclass(frozen=True, slots=True)
class Stretched:
    """A tensor repeated along dimensions of size 1.

    Attributes:
        sizes: the shape of the view.
    """

    sizes: tuple[int, ...]

    def __call__(self, tensor: Tensor) -> Tensor:
        """Return the view."""
        view = tensor
        for dim, size in enumerate(self.sizes):
            if view.shape[dim] != size:
                assert view.shape[dim] == 1, (tensor, self.sizes)
                view = view.broadcast(size, dim)
        return view


def length_of(root: AxisRoot, axes: Axes, parts: Parts) -> int:
    """Return how many indices of an axis are taken."""
    taken = parts.get(root)
    if isinstance(taken, range):
        return len(taken)
    axis = axes.items[axes.roots.index(root)]
    return axis.known_length("storing a tensor")


def frame(
    roots: tuple[AxisRoot, ...], lengths: tuple[int, ...], slots: Slots, parts: Parts
) -> TensorFrame:
    """Return the view of a tensor whose dimensions are axes; slots of other axes have size 1."""
    index: list[tuple[int | None, int | None, int] | int] = []
    left: list[AxisRoot] = []
    sizes: dict[AxisRoot, int] = {}
    for root, length in zip(roots, lengths, strict=True):
        taken = parts.get(root)
        if isinstance(taken, int):
            index.append(taken)
            continue
        left.append(root)
        sizes[root] = length if taken is None else len(taken)
        index.append((None, None, 1) if taken is None else _ends(taken))
    order = tuple(left.index(root) for root in slots if root is not None and root in sizes)
    assert len(order) == len(left), (roots, slots, parts)
    shape = tuple(1 if root is None else sizes.get(root, 1) for root in slots)
    return TensorFrame(None, tuple(index), order, shape)


def _ends(taken: range) -> tuple[int | None, int | None, int]:
    """Return a range as the ends of a slice, which may not be below 0."""
    if not len(taken):
        return 0, 0, 1
    stop = taken[-1] + (1 if taken.step > 0 else -1)
    return taken.start, None if stop < 0 else stop, taken.step


def composed(part: slice | int, length: int, taken: range | int | None) -> range | int:
    """Return what is taken of an axis, of which a part is taken, of which something is taken."""
    if isinstance(part, int):
        return part
    whole = range(length)[part]
    if taken is None:
        return whole
    return whole[taken] if isinstance(taken, int) else _of(whole, taken)


def _of(whole: range, taken: range) -> range:
    if not len(taken):
        return range(0)
    step = whole.step * taken.step
    first = whole[taken[0]]
    return range(first, first + step * len(taken), step)


def volume(sizes: tuple[int, ...]) -> int:
    """Return how many elements a shape has."""
    return math.prod(sizes)
