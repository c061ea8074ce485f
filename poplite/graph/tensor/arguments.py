"""Checked arguments for tensors: indices, ranges, dimensions, shapes.

`t[...]` follows NumPy's basic indexing: negative indices count from the end, slices are clamped
and may have a step (also a negative one), `None` adds a dimension, `...` stands for the remaining
dimensions. `t.slice()` and the other methods follow Poplar: they take non-negative integers, and
raise an error for anything out of range.

    t[1:5, ::2]      t[-1]      t[..., None]      t.slice(1, 5)      t[pl.Interval(1, 5)]
    t.dim_shuffle((2, 0, 1))      a permutation of all dimensions
    t.reshape((6, 4))             sizes with the same product
    t.reshape_partial(1, 3, [12]) a range of dimensions, and their new sizes

Most functions check an argument and convert it to plain integers for `View`; others select a view,
or return an error to raise. Index arrays are refused, since a view cannot gather. A tensor has no
values, so assignments and conversions to a number are refused::

    t[0] = 1        ops.assign(t[0], 1), engine.write(t[0], 1) or graph.set_initial_value(t[0], 1)
    bool(t)         a tensor has no truth value

Source: NumPy manual, "Basic indexing"; Poplar API reference, "Tensor".
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from types import EllipsisType
from typing import Any, NoReturn, Protocol, TypeGuard, TypeVar

import numpy as np

from poplite.arrays.intervals import Interval
from poplite.errors import (
    ElementTypeError,
    PopliteError,
    SizeOverflowError,
    TensorCreationError,
    TensorIndexError,
    refuse_methods,
)
from poplite.expr.operand import Operand
from poplite.expr.tree import stored_first
from poplite.text import amount, clipped, integer_or_none, number_text, shape_text
from poplite.types import BOOL, INT, UNSIGNED_INT, ElementType
from poplite.view import MOST_LEVELS, View, one_level

IndexItem = int | builtins.slice | EllipsisType | None
Index = IndexItem | tuple[IndexItem, ...]
"""The argument of `t[...]`."""

MOST_ELEMENTS = 2**62
"""Number of elements of the largest tensor; every index fits a 64-bit integer."""

_INDICES = INT, UNSIGNED_INT

_LISTS = (tuple, list, Sequence)  # checking the first two alone is fast


class NamedView(Protocol):
    """The parts of a tensor that checks need: its view, and its name for messages."""

    @property
    def name(self) -> str:
        """Name of the underlying variable or variables; may be empty if there are no elements."""

    @property
    def view(self) -> View:
        """The elements and their order."""


def described(tensor: NamedView) -> str:
    """Return the line of an error that identifies its tensor."""
    name = tensor.name
    return f"{repr(name) if name else 'the tensor'} has shape {tensor.view.shape}"


def number(value: object, what: str, tensor: NamedView) -> int:
    """Return an argument as a non-negative integer, or refuse it; `what` is its name.

    >>> import poplite as pl
    >>> number(np.int32(3), "begin", pl.Graph().add_variable(pl.INT, (4,)))
    3
    """
    if type(value) is int and value >= 0:
        return value
    try:
        if isinstance(value, bool | np.bool_ | np.ndarray):
            raise TypeError
        result = operator.index(value)  # type: ignore[arg-type]  # checked by this very call
    except TypeError:
        raise TensorIndexError(
            f"{what} is {clipped(value)}, not a whole number",
            found=described(tensor),
            fix=_by_number(value) or f"pass an int as {what}",
        ) from None
    if result < 0:
        raise TensorIndexError(
            f"{what} is {number_text(result)}, but the minimum is 0",
            found=described(tensor),
            fix="count from 0; only t[...] accepts negative indices",
        )
    return result


def _by_number(*indices: object, dim: int = 0) -> str:
    """Return advice for an index that is known only at run time; "" for other indices."""
    if any(isinstance(each, Operand) and each.element_type is BOOL for each in indices):
        return "use ops.where(condition, t, 0), since a view has the same elements in each run"
    numbers = [
        each for each in indices if isinstance(each, Operand) and each.element_type in _INDICES
    ]
    if any(each.num_elements != 1 for each in numbers if each.element_type):
        return "read rows by index with ops.embedding(t, rows) or ops.multi_slice(t, rows, dim)"
    if numbers:
        call = f"ops.dynamic_slice(t, i, dims=[{dim}], sizes=[1])"
        return f"read a slice at a computed index: {call}"
    return ""


def positive(value: object, what: str, tensor: NamedView, zero: str, fix: str) -> int:
    """Return an argument as a positive integer; `zero` and `fix` are the message for 0."""
    if type(value) is int and value > 0:
        return value
    result = number(value, what, tensor)
    if result == 0:
        raise TensorIndexError(f"{zero}, but the minimum is 1", found=described(tensor), fix=fix)
    return result


def check_size(size: int, tensor: NamedView, fix: str = "repeat fewer times") -> None:
    """Refuse more elements than a tensor may have."""
    if size > MOST_ELEMENTS:
        raise SizeOverflowError(
            f"a tensor of {number_text(size, ',')} elements, but the maximum is {MOST_ELEMENTS:,}",
            found=described(tensor),
            fix=fix,
        )


def numbers(values: Sequence[int], what: str, tensor: NamedView) -> list[int]:
    """Return an argument as a list of non-negative integers, or refuse it."""
    if are_counts(values):
        return list(values)
    if not is_sequence(values):
        raise TensorIndexError(
            f"{what} is {clipped(values)}, not a list of whole numbers",
            found=described(tensor),
            fix=f"pass a list: {what}=[{clipped(values)}]",
        )
    return [number(value, f"{what}[{i}]", tensor) for i, value in enumerate(values)]


def are_counts(values: object) -> TypeGuard[Sequence[int]]:
    """Return whether values are a list of plain non-negative ints, which need no further checks."""
    if not isinstance(values, tuple | list):
        return False
    for value in values:  # noqa: SIM110  (all() would double the time of this function)
        if type(value) is not int or value < 0:
            return False
    return True


def dimension(value: object, tensor: NamedView, axis: object = None) -> int:
    """Return an argument as the number of an existing dimension, or refuse it.

    Negative numbers count from the end. The argument may be given as `axis`, NumPy's name.
    """
    if axis is not None:
        value = one_of("dim", value, axis)
    rank = len(tensor.view.shape)
    if type(value) is int and 0 <= value < rank:
        return value
    given = None if isinstance(value, np.ndarray) else integer_or_none(value)
    dim = number(value, "dim", tensor) if given is None else given
    if -rank <= dim < rank:
        return dim % rank
    raise outside(f"dimension {number_text(dim)} of a tensor of rank {rank}", tensor, rank, "dim")


def dimensions(values: Sequence[int], what: str, tensor: NamedView) -> list[int]:
    """Return an argument as the numbers of existing dimensions, or refuse it."""
    if not is_sequence(values):
        numbers(values, what, tensor)  # always raises
    return [dimension(each, tensor) for each in values]


def one_of(name: str, value: Any, axis: Any) -> Any:
    """Return the value of an argument with two names, or None."""
    if value is not None and axis is not None:
        raise TensorIndexError(
            "dimensions are given twice",
            found=f"{name}={clipped(value, 40)} and axis={clipped(axis, 40)} are the same argument",
            fix=f"pass only {name}={clipped(value, 40)}",
        )
    return axis if value is None else value


def index(value: object, size: int, tensor: NamedView, dim: int) -> int:
    """Return an argument as an index into a dimension, counted from 0, or refuse it."""
    i = number(value, "index", tensor)
    if i < size:
        return i
    raise outside(
        f"index {number_text(i)} in dimension {dim} of size {size}", tensor, size, "index"
    )


def outside(what: str, tensor: NamedView, size: int, kind: str) -> PopliteError:
    """Return the error for a number that is too large for a size."""
    fix = f"use {kind} 0 to {size - 1}" if size else f"no {kind} is valid, since there are none"
    return TensorIndexError(what, found=described(tensor), fix=fix)


def span(begin: object, end: object, dim: int, tensor: NamedView) -> tuple[int, int]:
    """Return the checked range [begin, end) of a dimension."""
    first, last = number(begin, "begin", tensor), number(end, "end", tensor)
    size = tensor.view.shape[dim]
    if first <= last <= size:
        return first, last
    raise TensorIndexError(
        f"slice [{number_text(first)}, {number_text(last)}) in dimension {dim} of size {size}",
        found=described(tensor),
        fix=f"use 0 <= begin <= end <= {size}, or t[begin:end], which clamps",
    )


def is_sequence(value: object) -> TypeGuard[Sequence[Any]]:
    """Return whether a value is a list of values.

    >>> is_sequence([1]), is_sequence(np.arange(2)), is_sequence(np.array(2)), is_sequence("12")
    (True, True, False, False)
    """
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, _LISTS) and not isinstance(value, str | bytes)


def is_interval(value: object) -> TypeGuard[tuple[Any, Any]]:
    """Return whether a value is a tuple (begin, end), not a list of intervals.

    >>> is_interval((2, 5)), is_interval([(2, 5)])
    (True, False)
    """
    return isinstance(value, tuple) and len(value) == 2 and not is_sequence(value[0])


def no_interval(value: object, tensor: NamedView) -> PopliteError:
    """Return the error for a value where an interval is needed."""
    return TensorIndexError(
        f"{clipped(value)} is not an interval",
        found=described(tensor),
        fix="pass a tuple (begin, end), or pl.Interval(begin, end)",
    )


def ranges(begin: Any, end: Any, dim: Any, tensor: NamedView) -> View:
    """Select a range of one dimension, or of each leading dimension; see `Tensor.slice`."""
    if is_sequence(begin):
        if is_sequence(end):
            return _leading_ranges(begin, end, dim, tensor)
        if not is_interval(begin):
            raise no_interval(begin, tensor)
        dim = end if dim is None else dim
        begin, end = begin
    d = dimension(0 if dim is None else dim, tensor)
    first, last = span(begin, end, d, tensor)
    return tensor.view.slice(first, last, d)


def _leading_ranges(
    begin: Sequence[int], end: Sequence[int], dim: object, tensor: NamedView
) -> View:
    rank = len(tensor.view.shape)
    first, last = numbers(begin, "begin", tensor), numbers(end, "end", tensor)
    if len(first) != len(last) or len(first) > rank or dim is not None:
        raise TensorIndexError(
            f"slice with {amount(len(first), 'begin')} and {amount(len(last), 'end')}"
            + (f" and dim={clipped(dim)}" if dim is not None else ""),
            found=described(tensor),
            fix=f"pass as many begins as ends, one for each leading dimension, at most {rank}",
        )
    view = tensor.view
    for d, (a, b) in enumerate(zip(first, last, strict=True)):
        view = view.slice(*span(a, b, d, tensor), d)
    return view


def leading_indices(indices: Sequence[int], tensor: NamedView) -> View:
    """Select one index of each leading dimension; these dimensions are removed."""
    chosen, shape = numbers(indices, "indices", tensor), tensor.view.shape
    if len(chosen) > len(shape):
        raise outside(
            f"{amount(len(chosen), 'index', 'indices')} for a tensor of rank {len(shape)}",
            tensor,
            len(shape),
            "dim",
        )
    view = tensor.view
    for d, i in enumerate(chosen):
        view = view.index(index(i, shape[d], tensor, d))
    return view


def select(key: object, tensor: NamedView) -> View:
    """Return the view that NumPy's basic indexing selects.

    >>> import poplite as pl
    >>> select((slice(None), -1), pl.Graph().add_variable(pl.INT, (4, 6))).shape
    (4,)
    """
    if isinstance(key, Interval):  # a tuple, but not of two indices
        return ranges(key, None, None, tensor)
    items = key if isinstance(key, tuple) else (key,)
    shape = tensor.view.shape
    named, ellipses = len(items), 0
    for item in items:
        if item is None:
            named -= 1
        elif item is Ellipsis:
            named -= 1
            ellipses += 1
    if named > len(shape):
        raise TensorIndexError(
            f"{amount(named, 'index', 'indices')} for a tensor of rank {len(shape)}",
            found=described(tensor),
            fix=f"use at most {amount(len(shape), 'index', 'indices')}; None adds a dimension",
        )
    if ellipses > 1:
        raise TensorIndexError(
            f"'...' occurs {ellipses} times in one index, but may occur only once",
            found=described(tensor),
            fix="use one '...', and write ':' for single dimensions",
        )
    view, source, dim = tensor.view, 0, 0
    for item in items:
        if isinstance(item, slice):
            view = _range(view, item, dim, source, tensor)
            source, dim = source + 1, dim + 1
        elif item is None:
            view = view.expand([dim])
            dim += 1
        elif item is Ellipsis:
            source += len(shape) - named
            dim += len(shape) - named
        else:
            i = _basic_index(item, source, tensor)
            view = view.slice(i, i + 1, dim).squeeze([dim]) if dim else view.index(i)
            source += 1
    return view


def _basic_index(item: object, dim: int, tensor: NamedView) -> int:
    try:
        if isinstance(item, bool | np.bool_ | np.ndarray):
            raise TypeError
        i = operator.index(item)  # type: ignore[arg-type]  # checked by this very call
    except TypeError:
        kind = "" if isinstance(item, Operand) else f"{type(item).__name__} "
        raise TensorIndexError(
            f"a tensor cannot be indexed with {kind}{clipped(item)}",
            found=described(tensor),
            fix=_by_number(item, dim=dim)
            or "use pl.concat(t.slices([...])) for rows that are known now, and "
            "ops.embedding(t, rows) for rows that a program computes",
        ) from None
    size = tensor.view.shape[dim]
    if -size <= i < size:
        return i + size if i < 0 else i
    raise TensorIndexError(
        f"index {number_text(i)} in dimension {dim} of size {size}",
        found=described(tensor),
        fix=f"use an index from {-size} to {size - 1}" if size else "do not index it: it is empty",
    )


def _range(view: View, item: slice, dim: int, source: int, tensor: NamedView) -> View:
    if item.start is None and item.stop is None and item.step is None:
        return view
    try:
        begin, end, step = item.indices(view.shape[dim])
    except (TypeError, ValueError):
        raise TensorIndexError(
            f"slice with begin {item.start!r}, end {item.stop!r}, step {item.step!r}",
            found=described(tensor),
            fix=_by_number(item.start, item.stop, dim=source)
            or "use whole numbers for begin, end and step, and a step other than 0",
        ) from None
    if step < 0:
        # Select the same indices in ascending order, then reverse them.
        view = view.slice(min(end, begin) + 1, begin + 1, dim).reverse(dim)
    else:
        view = view.slice(begin, end if end > begin else begin, dim)
    return view if step == 1 else view.sub_sample(abs(step), dim)


def permutes(values: Iterable[object], rank: int) -> bool:
    """Return whether a list contains each dimension once, as plain ints.

    >>> permutes([1, 0], 2), permutes([1, True], 2), permutes([1], 2)
    (True, False, False)
    """
    try:
        return _permutes(rank, *values)
    except TypeError:  # not iterable, or with unhashable items
        return False


@lru_cache(typed=True)
def _permutes(rank: int, *values: object) -> bool:
    return {*map(type, values)} <= {int} and {*values} == {*range(rank)} and len(values) == rank


def permutation(values: Sequence[int], tensor: NamedView) -> list[int]:
    """Return a checked permutation of all dimensions."""
    order, rank = dimensions(values, "permutation", tensor), len(tensor.view.shape)
    if sorted(order) != list(range(rank)):
        raise TensorCreationError(
            f"dim_shuffle by {order} of a tensor of rank {rank}",
            found=described(tensor),
            fix=f"list each of the dimensions {list(range(rank))} once",
        )
    return order


def moved(source: Sequence[int], destination: Sequence[int], tensor: NamedView) -> list[int]:
    """Return the permutation that moves some dimensions; the others keep their order."""
    dims = dimensions(source, "source", tensor)
    to = dimensions(destination, "destination", tensor)
    if len({*dims}) != len(to) or len({*to}) != len(dims):
        raise TensorCreationError(
            f"dim_shuffle_partial of dimensions {dims} to {to}",
            found=described(tensor),
            fix="pass as many destinations as sources, each dimension at most once",
        )
    rank = len(tensor.view.shape)
    others = iter([d for d in range(rank) if d not in dims])
    at = dict(zip(to, dims, strict=True))
    return [at[d] if d in at else next(others) for d in range(rank)]


def not_a_matrix(tensor: NamedView) -> PopliteError:
    """Return the error for the transpose of a tensor whose rank is not 2."""
    return TensorCreationError(
        f"transpose of a tensor of rank {len(tensor.view.shape)}, but rank 2 is needed",
        found=described(tensor),
        fix="use t.T to reverse any number of dimensions, or t.dim_shuffle([...]) to permute them",
    )


def new_shape(shape: int | Sequence[int], tensor: NamedView) -> tuple[int, ...]:
    """Return a checked new shape for all elements."""
    count = math.prod(tensor.view.shape)
    given = shape if is_sequence(shape) else (shape,)
    new = tuple(_sizes(given, "shape", count, tensor))  # type: ignore[arg-type]
    if math.prod(new) != count:
        raise TensorCreationError(
            f"reshape to {shape_text(new)}: {amount(math.prod(new), 'element')}, "
            f"but the tensor has {count:,}",
            found=described(tensor),
            fix=f"use a shape with {amount(count, 'element')}, such as ({count},)",
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
            fix=f"use sizes whose product is {count:,}",
        )
    return (*shape[:first], *new, *shape[last:])


def flattened(begin: int | None, end: int | None, tensor: NamedView) -> tuple[int, ...]:
    """Return the shape with the dimensions [begin, end) merged; None means no bound."""
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
        fix=f"use 0 <= begin <= end <= {rank}",
    )


def places(indices: Sequence[int], tensor: NamedView) -> list[int]:
    """Return checked positions, from 0 to the rank, at which to insert dimensions."""
    found, rank = numbers(indices, "indices", tensor), len(tensor.view.shape)
    for place in found:
        if place > rank:
            what = f"expand before dimension {place} of a tensor of rank {rank}"
            raise outside(what, tensor, rank + 1, "index")
    return found


def new_dimension(value: object, tensor: NamedView) -> int:
    """Return an argument as the number of a new, additional dimension, or refuse it."""
    given, after = integer_or_none(value), len(tensor.view.shape) + 1
    dim = number(value, "dim", tensor) if given is None else given
    if -after <= dim < after:
        return dim % after
    raise outside(f"dimension {number_text(dim)} of a stack of rank {after}", tensor, after, "dim")


def spread_out(values: tuple[Any, ...]) -> Any:
    """Return numbers that were passed as separate arguments or in one list."""
    return values[0] if len(values) == 1 and is_sequence(values[0]) else values


def removed(indices: int | Sequence[int] | None, tensor: NamedView) -> list[int]:
    """Return the checked dimensions of size 1 to remove; for None, all that have this size."""
    if indices is None:
        return [d for d, size in enumerate(tensor.view.shape) if size == 1]
    if isinstance(indices, int):
        indices = [indices]
    found = dimensions(indices, "indices", tensor)
    for d in found:
        size = tensor.view.shape[d]
        if size != 1:
            raise TensorIndexError(
                f"squeeze of dimension {d} of size {size}, but size 1 is needed",
                found=described(tensor),
                fix=f"use t[{':, ' * d}i] to select one index of dimension {d} and remove it",
            )
    return found


def _sizes(values: Sequence[int], what: str, count: int, tensor: NamedView) -> list[int]:
    """Return the sizes of a new shape of `count` elements; a size of -1 is inferred."""
    if are_counts(values):
        return list(values)
    gaps: list[int] = []
    if is_sequence(values):
        gaps = [i for i, n in enumerate(values) if integer_or_none(n) == -1]
    if len(gaps) > 1:
        raise TensorCreationError(
            f"{what} {shape_text(tuple(values))}: {len(gaps)} sizes are -1, but only one may be",
            found=described(tensor),
            fix=f"use sizes whose product is {count:,}; one of them may be -1, for the rest",
        )
    if not gaps:
        return numbers(values, what, tensor)
    others = numbers([n for i, n in enumerate(values) if i != gaps[0]], what, tensor)
    product = math.prod(others)
    if not product or count % product:
        raise TensorCreationError(
            f"{what} {shape_text(tuple(values))}: no size can replace -1",
            found=f"{described(tensor)}; the new shape has {amount(count, 'element')}, and the "
            f"product of the other sizes is {product:,}",
            fix=f"use sizes whose product is {count:,}",
        )
    return [*others[: gaps[0]], count // product, *others[gaps[0] :]]


def of_other_size(
    new: type[ElementType[Any]], old: type[ElementType[Any]], tensor: NamedView
) -> PopliteError:
    """Return the error for reinterpreting elements as a type of a different size."""
    return ElementTypeError(
        f"reinterpret: {old!r} has {amount(old.size_bytes, 'byte')}, "
        f"but {new!r} has {new.size_bytes}",
        found=described(tensor),
        fix=f"use a type of equal size; to convert values, use ops.cast(t, {new!r})",
    )


def of_one_level(view: View) -> View:
    """Flatten a view of too deeply nested concatenations to a single concatenation."""
    found = one_level(view)
    if found is None:
        raise SizeOverflowError(
            f"more than {MOST_LEVELS} concatenations and reshapes are nested",
            found=f"its {view.num_elements:,} elements are in too many pieces to be joined at once",
            fix="copy an intermediate tensor to a variable (pl.Copy), and use that",
        )
    return found


T = TypeVar("T")

_COMPUTE = "compute with poplite.ops, such as ops.sqrt(t), or call engine.read(t) after a run"
_ASSIGN = (
    "record the change with ops.assign(t[...], value), or set values from outside with "
    "engine.write(t[...], value) or graph.set_initial_value(t[...], value)"
)
_REFUSED = {
    "divmod rdivmod": ("divmod of a tensor", "use the expressions t // u and t % u"),
    "pos": ("unary '+' of a tensor", "use the tensor without '+'"),
    "round": ("round of a tensor", "use the expression ops.round(t)"),
    "contains": ("'in' a tensor", "use the expression ops.any(ops.equal(t, value))"),
    "float": ("a tensor is not a float", _COMPUTE),
    "int": ("a tensor is not an int", _COMPUTE),
    "complex": ("a tensor is not a complex number", _COMPUTE),
    "index": ("a tensor is not a whole number", _COMPUTE),
    "delitem": ("elements of a tensor cannot be assigned", _ASSIGN),
}


def refuse_operators(tensor_class: type[T]) -> type[T]:
    """Add to a class operators and conversions that raise an error.

    They are not defined in the class body, so that type checkers refuse them.
    """
    for names, (what, fix) in _REFUSED.items():
        refuse_methods(tensor_class, names, partial(no_values, what, fix=fix))
    setattr(tensor_class, "__setitem__", _refused_assignment)  # noqa: B010
    return tensor_class


def _refused_assignment(self: NamedView, key: object, value: object) -> NoReturn:
    """Refuse `t[key] = value`; the error suggests an operation for this kind of index."""
    fix, items = _ASSIGN, key if isinstance(key, tuple) else (key,)
    for place, item in enumerate(items):
        if isinstance(item, Operand):
            before = items[:place]
            dim = sum(each is not None for each in before)
            if Ellipsis in [each for each in before if not isinstance(each, Operand)]:
                dim = len(self.view.shape) - (len(items) - place)
            fix = _stored_by_number(item, dim) or fix
    raise no_values("elements of a tensor cannot be assigned", self, fix)


def _stored_by_number(index: Operand, dim: int) -> str:
    """Return how to store at an index known only at run time; "" if it is not an integer."""
    if index.element_type is BOOL:
        return "use ops.assign(t, ops.where(condition, value, t))"
    if index.element_type not in _INDICES:
        return ""
    if index.num_elements != 1:
        return f"use ops.multi_update(t, values, rows, dim={dim}) for rows by index"
    call = f"ops.dynamic_update(t, values, i, dims=[{dim}], sizes=[1])"
    return f"store a slice at a computed index: {call}"


def no_values(
    what: str,
    tensor: NamedView,
    fix: str = "call engine.read(t) after a run, or use t.num_elements for the number of values",
) -> PopliteError:
    """Return the error for an operation that needs the values of a tensor."""
    return ElementTypeError(
        f"{what}: it has no values while a graph is built", found=described(tensor), fix=fix
    )


def no_length(tensor: NamedView) -> PopliteError:
    """Return the error for the length of a tensor of rank 0."""
    return ElementTypeError(
        "a tensor of rank 0 has no length",
        found=described(tensor),
        fix="use t.num_elements, which is 1, or t.reshape((1,)), which has length 1",
    )


def no_tensor(what: str, value: object, fix: str = "") -> PopliteError:
    """Return the error for a value where the call `what` needs a tensor."""
    kind = value._kind if isinstance(value, Operand) else type(value).__name__
    fix = fix or "pass a tensor, such as the result of graph.add_variable(...)"
    if isinstance(value, list | tuple) and any(isinstance(each, Operand) for each in value):
        fix = "join several tensors with pl.stack([i, j]) or pl.concat([a, b])"
    return ElementTypeError(
        f"{what}: {kind} is not a tensor",
        found=f"it is {clipped(value, 80)}",
        fix=stored_first(value, fix),
    )
