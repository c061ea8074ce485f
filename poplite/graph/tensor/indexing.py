"""Checked arguments for tensors: indices, ranges and dimensions, in both dialects.

`t[...]` follows NumPy's basic indexing: negative indices count from the end, slices are clamped
and may have a step (also backwards), `None` adds a dimension, `...` stands for the dimensions that
are not named. `t.slice()` and the other methods follow Poplar: integers from 0, and an error for
anything outside.

    t[1:5, ::2]      t[-1]      t[..., None]      t.slice(1, 5)      t[pl.Interval(1, 5)]

Index arrays are refused: a view has no gather.  Source: NumPy manual, "Basic indexing";
Poplar API reference, `Tensor::slice`.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

import numpy as np

from poplite.arrays.intervals import Interval
from poplite.errors import PopliteError, SizeOverflowError, TensorIndexError
from poplite.expr.operand import Operand
from poplite.text import amount, clipped, number_text
from poplite.types import BOOL, INT, UNSIGNED_INT

if TYPE_CHECKING:
    from poplite.view import View

IndexItem = int | builtins.slice | EllipsisType | None
Index = IndexItem | tuple[IndexItem, ...]
"""The argument of `t[...]`."""

MOST_ELEMENTS = 2**62
"""Elements of the largest tensor; every index fits a 64-bit integer."""

_INDICES = INT, UNSIGNED_INT

_LISTS = (tuple, list, Sequence)  # checking the first two alone is fast


class NamedView(Protocol):
    """The parts of a tensor that checks need: its elements, and its name for messages."""

    @property
    def name(self) -> str:
        """Name of the variable below, or of several; may be empty without elements."""

    @property
    def view(self) -> View:
        """The elements and their order."""


def described(tensor: NamedView) -> str:
    """Return the line of an error that says which tensor it is about."""
    name = tensor.name
    return f"{repr(name) if name else 'the tensor'} has shape {tensor.view.shape}"


def number(value: object, what: str, tensor: NamedView) -> int:
    """Return an argument as an integer from 0, or refuse it; `what` is its name.

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
            f"{what} is {number_text(result)}, but the least is 0",
            found=described(tensor),
            fix="count from 0; only t[...] takes negative indices",
        )
    return result


def _by_number(*indices: object) -> str:
    """Return the remedy where an index is known only to the running program, else nothing."""
    if any(isinstance(each, Operand) and each.element_type is BOOL for each in indices):
        return "ops.where(condition, t, 0) chooses; a view has the same elements in each run"
    numbers = [
        each for each in indices if isinstance(each, Operand) and each.element_type in _INDICES
    ]
    if any(each.num_elements != 1 for each in numbers if each.element_type):
        return "ops.embedding(t, rows), or ops.multi_slice(t, rows, dim), reads rows by number"
    if numbers:
        return "ops.dynamic_slice(t, i, dims=[0], sizes=[1]) reads a slice whose number is computed"
    return ""


def positive(value: object, what: str, tensor: NamedView, zero: str, fix: str) -> int:
    """Return an argument as an integer from 1; `zero` and `fix` are the message's for 0."""
    if type(value) is int and value > 0:
        return value
    result = number(value, what, tensor)
    if result == 0:
        raise TensorIndexError(f"{zero}, but the least is 1", found=described(tensor), fix=fix)
    return result


def check_size(size: int, tensor: NamedView, fix: str = "repeat fewer times") -> None:
    """Refuse more elements than a tensor may have."""
    if size > MOST_ELEMENTS:
        raise SizeOverflowError(
            f"a tensor of {number_text(size, ',')} elements, but the most is {MOST_ELEMENTS:,}",
            found=described(tensor),
            fix=fix,
        )


def numbers(values: Sequence[int], what: str, tensor: NamedView) -> list[int]:
    """Return an argument as a list of integers from 0, or refuse it."""
    if are_counts(values):
        return list(values)
    if not is_sequence(values):
        raise TensorIndexError(
            f"{what} is {clipped(values)}, not a list of whole numbers",
            found=described(tensor),
            fix=f"pass a list, as in {what}=[{clipped(values)}]",
        )
    return [number(value, f"{what}[{i}]", tensor) for i, value in enumerate(values)]


def are_counts(values: object) -> TypeGuard[Sequence[int]]:
    """Tell whether values need no further checks: a list of plain ints from 0."""
    if not isinstance(values, tuple | list):
        return False
    for value in values:  # noqa: SIM110  (all() takes as long as everything else here)
        if type(value) is not int or value < 0:
            return False
    return True


def dimension(value: object, tensor: NamedView, axis: object = None) -> int:
    """Return an argument as the number of an existing dimension, or refuse it.

    It may be given as `axis`, NumPy's name.
    """
    if axis is not None:
        value = one_of("dim", value, axis)
    dim = value if type(value) is int and value >= 0 else number(value, "dim", tensor)
    if dim < len(tensor.view.shape):
        return dim
    rank = len(tensor.view.shape)
    raise outside(f"dimension {number_text(dim)} of a tensor of rank {rank}", tensor, rank, "dim")


def one_of(name: str, value: Any, axis: Any) -> Any:
    """Return what is given by one of two names, or None."""
    if value is not None and axis is not None:
        raise TensorIndexError(
            "dimensions are given twice",
            found=f"{name}={clipped(value, 40)} and axis={clipped(axis, 40)} are the same argument",
            fix=f"{name}={clipped(value, 40)}",
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
    """Return the error for a number that is not below a size."""
    fix = f"use {kind} 0 to {size - 1}" if size else f"there is no valid {kind}: it has none"
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
        fix=f"0 <= begin <= end <= {size}; t[begin:end] clamps instead",
    )


def is_sequence(value: object) -> TypeGuard[Sequence[Any]]:
    """Tell whether a value is a list of others.

    >>> is_sequence([1]), is_sequence(np.arange(2)), is_sequence(np.array(2)), is_sequence("12")
    (True, True, False, False)
    """
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, _LISTS) and not isinstance(value, str | bytes)


def is_interval(value: object) -> TypeGuard[tuple[Any, Any]]:
    """Tell whether a value is a (begin, end) pair; lists of intervals are lists.

    >>> is_interval((2, 5)), is_interval([(2, 5)])
    (True, False)
    """
    return isinstance(value, tuple) and len(value) == 2 and not is_sequence(value[0])


def no_interval(value: object, tensor: NamedView) -> PopliteError:
    """Return the error for a value where an interval is needed."""
    return TensorIndexError(
        f"{clipped(value)} is not an interval",
        found=described(tensor),
        fix="an interval is a tuple (begin, end), or pl.Interval(begin, end)",
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
            fix=f"as many begins as ends, one for each leading dimension, at most {rank}",
        )
    view = tensor.view
    for d, (a, b) in enumerate(zip(first, last, strict=True)):
        view = view.slice(*span(a, b, d, tensor), d)
    return view


def leading_indices(indices: Sequence[int], tensor: NamedView) -> View:
    """Select one index of each leading dimension, which disappear."""
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
            fix=f"at most {amount(len(shape), 'index', 'indices')}; None adds a dimension",
        )
    if ellipses > 1:
        raise TensorIndexError(
            f"'...' stands {ellipses} times in one index, but once is the most",
            found=described(tensor),
            fix="keep one '...', and write ':' for single dimensions",
        )
    view, source, dim = tensor.view, 0, 0
    for item in items:
        if isinstance(item, slice):
            view = _range(view, item, dim, tensor)
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
            fix=_by_number(item)
            or "pl.concat(t.slices([...])) is a view of rows that are known now; "
            "ops.embedding(t, rows) reads those that a program computes",
        ) from None
    size = tensor.view.shape[dim]
    if -size <= i < size:
        return i + size if i < 0 else i
    raise TensorIndexError(
        f"index {number_text(i)} in dimension {dim} of size {size}",
        found=described(tensor),
        fix=f"use an index from {-size} to {size - 1}" if size else "there is nothing to index",
    )


def _range(view: View, item: slice, dim: int, tensor: NamedView) -> View:
    if item.start is None and item.stop is None and item.step is None:
        return view
    try:
        begin, end, step = item.indices(view.shape[dim])
    except (TypeError, ValueError):
        raise TensorIndexError(
            f"slice with begin {item.start!r}, end {item.stop!r}, step {item.step!r}",
            found=described(tensor),
            fix=_by_number(item.start, item.stop)
            or "begin, end and step are whole numbers, and step is not 0",
        ) from None
    if step < 0:
        # Select the same indices upwards, then reverse them.
        view = view.slice(min(end, begin) + 1, begin + 1, dim).reverse(dim)
    else:
        view = view.slice(begin, end if end > begin else begin, dim)
    return view if step == 1 else view.sub_sample(abs(step), dim)
