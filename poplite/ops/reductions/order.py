"""The order in which the elements of a tensor are reduced: close to memory order.

Dimensions are split where their strides change and sorted by stride, the largest first, except
that reduced dimensions are adjacent. Dimensions that are kept come before and after them::

    x of shape (2, 3, 4), steps 12, 4, 1        outer   reduced   inner
    reduced along 1                             2       3         4
    along 0 and 2                               3       2 * 4     1
    along 0                                     1       2         3 * 4

The order among the elements of an output affects only float sums and products.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

from poplite.arrays.series import Dim, digits_of
from poplite.graph.tensor.tensor import Tensor


class Order(NamedTuple):
    """The order in which the elements of a tensor are reduced.

    Attributes:
        tensor: the tensor, flattened from `[outer, reduced, inner]`.
        reduced: the number of elements in each output.
        inner: the number of outputs whose elements are adjacent.
        extents: the sizes into which dimensions are split.
        gone: the split dimensions that are reduced.
        backwards: the split dimensions that have a negative stride.
        permutation: the order of the split dimensions.
    """

    tensor: Tensor
    reduced: int
    inner: int
    extents: list[int]
    gone: list[int]
    backwards: list[int]
    permutation: list[int]

    def arranged(self, tensor: Tensor) -> Tensor:
        """Return a tensor of the same shape, flattened in the same order."""
        return self._arranged(tensor, self.permutation)

    def result(self, tensor: Tensor) -> Tensor:
        """Return the result, flattened in the same way: `[outer, inner]`."""
        return self._arranged(tensor, [k for k in self.permutation if k not in self.gone])

    @property
    def is_row_major(self) -> bool:
        """Whether it is the row-major order of the tensor's elements."""
        return self.permutation == sorted(self.permutation) and not self.backwards

    def _arranged(self, tensor: Tensor, order: list[int]) -> Tensor:
        parts = sorted(order)
        tensor = tensor.reshape([self.extents[k] for k in parts])
        for k in self.backwards:
            if k in order:
                tensor = tensor.reverse(parts.index(k))
        return tensor.dim_shuffle([parts.index(k) for k in order]).flatten()


def ordered(tensor: Tensor, dims: Collection[int], steps: Sequence[Dim] | None = None) -> Order:
    """Arrange the elements of a tensor in an order close to memory order.

    Args:
        tensor: the operand, with at least one element.
        dims: the dimensions to reduce.
        steps: the strides by which to order, such as those of another tensor of the same shape; by
            default, those of the tensor.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, y = graph.add_variable(pl.INT, (2, 3, 4), "x"), graph.add_variable(pl.INT, (4, 3), "y")
    >>> order = ordered(x.T, [2])
    >>> order.reduced, order.inner, order.tensor.is_contiguous()
    (2, 12, True)
    >>> order.result(y) == y.T.flatten()
    <same elements: True (not ops.equal)>
    """
    by_dim = zip(tensor.shape, steps or tensor.view.dims, strict=True)
    digits = [
        (extent, step, d in dims)
        for d, (size, each) in enumerate(by_dim)
        for extent, step in digits_of(size, each)
    ]
    far = max((abs(step) for _, step, _ in digits), default=0) + 1  # broadcast dimensions go first
    order = sorted(range(len(digits)), key=lambda k: -(abs(digits[k][1]) or far))
    reduced = [k for k in order if digits[k][2]]
    inner = order[order.index(reduced[-1]) + 1 :] if reduced else order
    outer = [k for k in order if k not in reduced and k not in inner]
    found = Order(
        tensor,
        math.prod(digits[k][0] for k in reduced),
        math.prod(digits[k][0] for k in inner),
        [extent for extent, _, _ in digits],
        reduced,
        [k for k, (_, step, _) in enumerate(digits) if step < 0],
        [*outer, *reduced, *inner],
    )
    return found._replace(tensor=found.arranged(tensor))
