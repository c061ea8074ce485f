"""Joining tensors: one view of the elements of several.

    a of shape (2, 3), b of shape (2, 1)
    concat([a, b], 1)       (2, 4)      a a a b
                                        a a a b
    append(a, a[0])         (3, 3)      one more row

Nothing is copied. Joining the parts of a tensor again returns the original tensor. A million slices
(`t.slices(intervals)`) are joined as arrays.

Source: Poplar API reference, "concat", "append".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from poplite import view as views
from poplite.errors import ElementTypeError, TensorCreationError
from poplite.expr.numpy_names import repeated_argument
from poplite.expr.operand import as_read
from poplite.graph.space import check_same_metadata
from poplite.graph.tensor import arguments
from poplite.graph.tensor.arguments import described, no_tensor
from poplite.graph.tensor.tensor import Slices, Tensor
from poplite.text import items_or_none, shape_text
from poplite.types import QUARTER

_FEWER = "concatenate fewer or smaller tensors"


@overload
def concat(tensors: Sequence[Tensor], dim: int = 0, /) -> Tensor: ...
@overload
def concat(tensors: Sequence[Tensor], /, *, dim: int) -> Tensor: ...


@overload
def concat(tensors: Sequence[Tensor], /, *, axis: int) -> Tensor: ...
@overload
def concat(tensors: Tensor, other: Tensor, /, dim: int = 0) -> Tensor: ...


def concat(tensors: Any, other: Any = None, /, dim: Any = None, *, axis: Any = ...) -> Tensor:
    """Join tensors along one dimension.

    Args:
        tensors: a list of tensors, or the first of two.
        other: the dimension after a list, or the second tensor.
        dim: the dimension, by default 0; negative numbers count from the end.
        axis: NumPy's name for `dim`; None joins the flattened tensors, as in NumPy.

    Returns:
        A tensor that views all of them, in order.

    Raises:
        TensorCreationError: for an empty list, or different ranks or sizes.
        ElementTypeError: for different element types, or anything but tensors.
        TensorIndexError: when there is no such dimension, or it is given by both names.
        SizeOverflowError: for more than 2**62 elements.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (2, 3), "x")  # [[0, 1, 2], [3, 4, 5]]
    >>> pl.concat([x, x[:1]])  # [[0, 1, 2], [3, 4, 5], [0, 1, 2]]
    <Tensor concat(['x', 'x'[0].expand([0])]) float32[3, 3] on no tile, 6 distinct elements, 24 B>
    """
    items: Sequence[Any]
    if isinstance(tensors, Tensor):
        items, d = [tensors, other], _one_of("concat", dim, axis)
    else:
        listed = tensors if isinstance(tensors, Slices) else items_or_none(tensors)
        if listed is None:
            raise no_tensor("concat", tensors)
        items = listed if isinstance(listed, Slices) else [as_read(item) for item in listed]
        d = _one_of("concat", other, dim, axis)
    if axis is None:
        items = [item.flatten() if isinstance(item, Tensor) else item for item in items]
    if not items:
        raise TensorCreationError(
            "concat needs at least one tensor, which sets the element type", fix="pl.concat([x])"
        )
    if isinstance(items, Slices):
        joined = _concat_slices(items, arguments.dimension(d, items.tensor))
        if joined is not None:
            return joined
    for item in items:
        if not isinstance(item, Tensor):
            raise no_tensor("concat", item)
    d = arguments.dimension(d, items[0])
    for i, item in enumerate(items):
        _check_joinable(items[0], item, i, d)
    arguments.check_size(sum([item.num_elements for item in items]), items[0], _FEWER)
    return items[0]._of(views.concat([item.view for item in items], d))


def stack(tensors: Any, dim: int | None = None, *, axis: int | None = None) -> Tensor:
    """Join tensors of one shape along a new dimension.

    Args:
        tensors: a list of tensors.
        dim: the position of the new dimension, by default 0.
        axis: NumPy's name for `dim`.

    Returns:
        A tensor that views all of them, in order.

    Raises:
        TensorCreationError: for an empty list, or different shapes.
        ElementTypeError: for different element types, or anything but tensors.
        TensorIndexError: when there is no such dimension, or it is given by both names.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (2, 3), "x")  # [[0, 1, 2], [3, 4, 5]]
    >>> pl.stack([x, x], 2)  # [[[0, 0], [1, 1], [2, 2]], [[3, 3], [4, 4], [5, 5]]]
    <Tensor 'x'.expand([2]).broadcast(2, 2) float32[2, 3, 2] on no tile, 6 distinct elements, 24 B>
    """
    d = _one_of("stack", dim, axis)
    if isinstance(tensors, Tensor):
        raise TensorCreationError("stack needs a list of tensors, not one", fix="pl.stack([x, y])")
    listed = items_or_none(tensors)
    items = None if listed is None else [as_read(item) for item in listed]
    for item in [tensors] if items is None else items:
        if not isinstance(item, Tensor):
            raise no_tensor("stack", item)
    if not items:
        raise TensorCreationError(
            "stack needs at least one tensor, which sets the element type", fix="pl.stack([x])"
        )
    at = arguments.new_dimension(d, items[0])
    for item in items:
        if item.shape != items[0].shape:
            raise TensorCreationError(
                f"stack needs tensors of one shape, not {shape_text(items[0].shape)} and "
                f"{shape_text(item.shape)}",
                found=described(item),
                fix="pass tensors of one shape, or use pl.concat along an existing dimension",
            )
    return concat([item.expand([at]) for item in items], at)


def _one_of(what: str, *given: Any) -> Any:
    """Return the dimension, given by one of its two names; 0 by default."""
    named = [each for each in given if each is not None and each is not ...]
    if len(named) > 1:
        raise repeated_argument(what, "dim", named[0], named[1])
    return named[0] if named else 0


def _concat_slices(slices: Slices, axis: int) -> Tensor | None:
    """Join slices by their arrays; None if each is itself a concatenation across the axis."""
    tensor, dim = slices.tensor, slices.dim
    size = slices.sizes()
    if axis != dim:
        other = np.flatnonzero(size != size[0])
        if len(other):
            _check_joinable(slices[0], slices[int(other[0])], int(other[0]), axis)
        if slices.first is not None:
            return None
    # Only sums that may overflow need Python's integers.
    if float(size.sum(dtype=np.float64)) * tensor.num_elements >= arguments.MOST_ELEMENTS:
        others = tensor.num_elements // max(tensor.shape[dim], 1)
        arguments.check_size(sum(size.tolist()) * others, tensor, _FEWER)
    return tensor._of(views.concat_slices(tensor.view, slices.begin, slices.end, dim, axis))


def append(
    tensor: Tensor, other: Tensor, dim: int | None = None, *, axis: int | None = None
) -> Tensor:
    """Extend a dimension by one index.

    Args:
        tensor: the tensor to extend.
        other: the elements at the new, last index: a tensor with one dimension less.
        dim: the dimension to extend, by default 0; negative numbers count from the end.
        axis: NumPy's name for `dim`.

    Returns:
        A tensor that views both.

    Raises:
        TensorCreationError: when the shapes do not match.
        ElementTypeError: for different element types, or anything but tensors.
        TensorIndexError: when there is no such dimension.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (2, 3), "x")  # [[0, 1, 2], [3, 4, 5]]
    >>> pl.append(x, x[0])  # [[0, 1, 2], [3, 4, 5], [0, 1, 2]]
    <Tensor concat(['x', 'x'[0].expand([0])]) float32[3, 3] on no tile, 6 distinct elements, 24 B>
    """
    for item in (tensor, other):
        if not isinstance(item, Tensor):
            raise no_tensor("append", item)
    d = arguments.dimension(_one_of("append", dim, axis), tensor)
    if other.rank != tensor.rank - 1:
        raise TensorCreationError(
            f"append: a tensor of rank {other.rank} cannot extend one of rank {tensor.rank}",
            found=arguments.described(tensor) + "\n" + arguments.described(other),
            fix=f"append a tensor of rank {tensor.rank - 1}, or use concat for equal ranks",
        )
    return concat(tensor, other.expand([d]), d)


def _check_joinable(first: Tensor, item: Tensor, i: int, dim: int) -> None:
    if item.graph is not first.graph:
        raise TensorCreationError(
            f"concat: tensor {i} does not belong to the graph of tensor 0",
            found=f"{first!r}\n{item!r}",
            fix="copy through the host, or build both in one graph",
        )
    if item.element_type is not first.element_type:
        raise ElementTypeError(
            f"concat: tensor {i} is {item.element_type!r}, tensor 0 is {first.element_type!r}",
            found=f"{first!r}\n{item!r}",
            fix="pass tensors of one type; t.reinterpret(...) converts between equal sizes",
        )
    if first.element_type is QUARTER:
        check_same_metadata(
            f"concat of tensors 0 and {i}", first.graph.space, first.view, item.view
        )
    a, b = first.shape, item.shape
    if len(a) != len(b) or a[:dim] != b[:dim] or a[dim + 1 :] != b[dim + 1 :]:
        raise TensorCreationError(
            f"concat along dimension {dim}: tensor {i} has shape {b}, tensor 0 has {a}",
            found=f"{first!r}\n{item!r}",
            fix=f"use equal ranks, and equal sizes except in dimension {dim}",
        )
