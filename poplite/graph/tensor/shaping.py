"""Checked arguments for tensors: permutations, shapes, and reinterpretations.

    t of shape (2, 3, 4)
    t.dim_shuffle((2, 0, 1))      a permutation of all dimensions
    t.reshape((6, 4))             sizes with the same product
    t.reshape_partial(1, 3, [12]) a range of dimensions, and their new sizes

Each function returns plain numbers for `View`, or raises or returns an error. Source: Poplar API
reference, "Tensor".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from poplite.errors import (
    ElementTypeError,
    PopliteError,
    SizeOverflowError,
    TensorCreationError,
    TensorIndexError,
)
from poplite.graph.tensor.indexing import (
    NamedView,
    are_counts,
    described,
    dimension,
    is_sequence,
    number,
    numbers,
    outside,
)
from poplite.text import amount, integer_or_none, shape_text
from poplite.types import ElementType
from poplite.view import MOST_LEVELS, View, one_level


def permutes(values: Iterable[object], rank: int) -> bool:
    """Tell whether a list holds each of the dimensions once, as plain ints.

    >>> permutes([1, 0], 2), permutes([1, True], 2), permutes([1], 2)
    (True, False, False)
    """
    try:
        return _permutes(rank, *values)
    except TypeError:  # not iterable, or of unhashable items
        return False


@lru_cache(typed=True)
def _permutes(rank: int, *values: object) -> bool:
    return {*map(type, values)} <= {int} and {*values} == {*range(rank)} and len(values) == rank


def permutation(values: Sequence[int], tensor: NamedView) -> list[int]:
    """Return a checked permutation of all dimensions."""
    order, rank = numbers(values, "permutation", tensor), len(tensor.view.shape)
    if sorted(order) != list(range(rank)):
        raise TensorCreationError(
            f"permutation by {order} of a tensor of rank {rank}",
            found=described(tensor),
            fix=f"list each of the dimensions {list(range(rank))} once",
        )
    return order


def moved(source: Sequence[int], destination: Sequence[int], tensor: NamedView) -> list[int]:
    """Return the permutation that moves some dimensions; the others keep their order."""
    dims = [dimension(d, tensor) for d in numbers(source, "source", tensor)]
    to = [dimension(d, tensor) for d in numbers(destination, "destination", tensor)]
    if len({*dims}) != len(to) or len({*to}) != len(dims):
        raise TensorCreationError(
            f"dim_shuffle_partial of dimensions {dims} to {to}",
            found=described(tensor),
            fix="as many destinations as sources, each dimension at most once",
        )
    rank = len(tensor.view.shape)
    others = iter([d for d in range(rank) if d not in dims])
    at = dict(zip(to, dims, strict=True))
    return [at[d] if d in at else next(others) for d in range(rank)]


def not_a_matrix(tensor: NamedView) -> PopliteError:
    """Return the error for the transpose of a tensor of another rank than 2."""
    return TensorCreationError(
        f"transpose of a tensor of rank {len(tensor.view.shape)}, but rank 2 is needed",
        found=described(tensor),
        fix="t.T reverses any number of dimensions, t.dim_shuffle([...]) permutes them",
    )


def new_shape(shape: int | Sequence[int], tensor: NamedView) -> tuple[int, ...]:
    """Return another shape for all elements."""
    count = math.prod(tensor.view.shape)
    given = shape if is_sequence(shape) else (shape,)
    new = tuple(_sizes(given, "shape", count, tensor))  # type: ignore[arg-type]
    if math.prod(new) != count:
        raise TensorCreationError(
            f"reshape to {shape_text(new)}: {amount(math.prod(new), 'element')}, "
            f"but the tensor has {count:,}",
            found=described(tensor),
            fix=f"a shape of {amount(count, 'element')}, such as ({count},)",
        )
    return new


def partly_new_shape(
    begin: int, end: int, new_dims: Sequence[int], tensor: NamedView
) -> tuple[int, ...]:
    """Return the shape with the dimensions [begin, end) replaced by others."""
    first, last = _dims_between(begin, end, tensor)
    shape = tensor.view.shape
    count = math.prod(shape[first:last])
    new = tuple(_sizes(new_dims, "new_dims", count, tensor))
    if math.prod(new) != count:
        raise TensorCreationError(
            f"reshape_partial of dimensions [{first}, {last}) to {new}: "
            f"{amount(math.prod(new), 'element')}, but {count:,} "
            f"{'is' if count == 1 else 'are'} replaced",
            found=described(tensor),
            fix=f"sizes whose product is {count:,}",
        )
    return (*shape[:first], *new, *shape[last:])


def flattened(begin: int | None, end: int | None, tensor: NamedView) -> tuple[int, ...]:
    """Return the shape with the dimensions [begin, end) merged; None for the first and the last."""
    shape = tensor.view.shape
    first, last = _dims_between(
        0 if begin is None else begin, len(shape) if end is None else end, tensor
    )
    return (*shape[:first], math.prod(shape[first:last]), *shape[last:])


def _dims_between(begin: object, end: object, tensor: NamedView) -> tuple[int, int]:
    first, last = number(begin, "dim_begin", tensor), number(end, "dim_end", tensor)
    rank = len(tensor.view.shape)
    if first <= last <= rank:
        return first, last
    raise TensorIndexError(
        f"dimensions [{first}, {last}) of a tensor of rank {rank}",
        found=described(tensor),
        fix=f"0 <= begin <= end <= {rank}",
    )


def places(indices: Sequence[int], tensor: NamedView) -> list[int]:
    """Return checked dimensions before which others are inserted; the rank is allowed too."""
    found, rank = numbers(indices, "indices", tensor), len(tensor.view.shape)
    for place in found:
        if place > rank:
            what = f"expand before dimension {place} of a tensor of rank {rank}"
            raise outside(what, tensor, rank + 1, "index")
    return found


def spread_out(values: tuple[Any, ...]) -> Any:
    """Return numbers that are given one by one, or in one list."""
    return values[0] if len(values) == 1 and is_sequence(values[0]) else values


def from_the_end(values: tuple[Any, ...], rank: int) -> Any:
    """Return dimensions of `transpose` counted from 0, as far as they are whole numbers."""
    spread = spread_out(values)
    if not is_sequence(spread):
        return spread
    found = [(each, integer_or_none(each)) for each in spread]
    return [each if n is None or not -rank <= n < 0 else n + rank for each, n in found]


def removed(indices: int | Sequence[int] | None, tensor: NamedView) -> list[int]:
    """Return checked dimensions of size 1, all of them for None."""
    if indices is None:
        return [d for d, size in enumerate(tensor.view.shape) if size == 1]
    if isinstance(indices, int):
        indices = [indices]
    found = [dimension(d, tensor) for d in numbers(indices, "indices", tensor)]
    for d in found:
        size = tensor.view.shape[d]
        if size != 1:
            raise TensorIndexError(
                f"squeeze of dimension {d} of size {size}, but size 1 is needed",
                found=described(tensor),
                fix=f"t[{':, ' * d}i] selects one index of dimension {d} and removes it",
            )
    return found


def _sizes(values: Sequence[int], what: str, count: int, tensor: NamedView) -> list[int]:
    """Return the sizes of a new shape of `count` elements; one that is -1 takes what is left."""
    if are_counts(values):
        return list(values)
    gaps: list[int] = []
    if is_sequence(values):
        gaps = [i for i, n in enumerate(values) if integer_or_none(n) == -1]
    if len(gaps) > 1:
        raise TensorCreationError(
            f"{what} {shape_text(tuple(values))}: {len(gaps)} sizes are -1, but one may be",
            found=described(tensor),
            fix=f"sizes whose product is {count:,}; -1 stands for what the others leave",
        )
    if not gaps:
        return numbers(values, what, tensor)
    others = numbers([n for i, n in enumerate(values) if i != gaps[0]], what, tensor)
    product = math.prod(others)
    if not product or count % product:
        raise TensorCreationError(
            f"{what} {shape_text(tuple(values))}: no size fits in the place of -1",
            found=f"{described(tensor)}; {amount(count, 'element')} are in the new shape, and the "
            f"product of the other sizes is {product:,}",
            fix=f"sizes whose product is {count:,}",
        )
    return [*others[: gaps[0]], count // product, *others[gaps[0] :]]


def of_other_size(
    new: type[ElementType[Any]], old: type[ElementType[Any]], tensor: NamedView
) -> PopliteError:
    """Return the error for reading the bits as elements of another size."""
    return ElementTypeError(
        f"reinterpret {old!r} of {old.size_bytes} bytes as {new!r} of {new.size_bytes}",
        found=described(tensor),
        fix=f"a type of equal size; ops.cast(t, {new!r}) is an expression of the same values",
    )


def of_one_level(view: View) -> View:
    """Return a view of too deeply nested concatenations as a single concatenation."""
    found = one_level(view)
    if found is None:
        raise SizeOverflowError(
            f"more than {MOST_LEVELS} concatenations and reshapes within each other",
            found=f"its {view.num_elements:,} elements are in too many pieces to be joined at once",
            fix="copy an intermediate tensor to a variable (pl.Copy), and go on from that",
        )
    return found
