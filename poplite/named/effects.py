"""The items of a computation: expressions, and effects without a value.

For example:

    assign(l, r)        r in the current state, written to l
    sequential(items)   one after another; the value is that of the last
    parallel(items)     all right sides in the initial state, then all writes
    repeat(n, item)     n times

Source: `Sequential` and `Parallel` of nGraph's `op_graph`; the rules are in docs/named.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import EllipsisType
from typing import Any, ClassVar, NoReturn, TypeVar

import numpy as np

from poplite.errors import AxisError, AxisLengthError, ElementTypeError, ReadOnlyError
from poplite.named.axes import check_lengths, missing
from poplite.named.changed_axes import spelled
from poplite.named.elementwise import NumberOp, check_number
from poplite.named.op import Op, as_op, makes, nodes_below
from poplite.named.shaping import Broadcast, Regrouped, Relabelled, Slice, by_key
from poplite.named.tensors import TensorOp, constant
from poplite.source import SourceLocation, here
from poplite.text import clipped, integer_or_none, of_type


@dataclass(eq=False, repr=False, slots=True)
class Effect:
    """A side effect of a computation; it cannot be an operand.

    Attributes:
        line: the user's line that created it.
    """

    line: SourceLocation = field(init=False, default_factory=here)
    shown_type: ClassVar = "effect"
    is_effect: ClassVar = True

    def _operand(self, other: object = None) -> NoReturn:
        raise AxisError(
            f"{self!r} changes tensors, and has no value",
            found=f"it was made at {self.line}",
            fix="pass it to a computation, or put it in ng.sequential",
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _operand
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _operand
    __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __getitem__ = _operand
    __lt__ = __le__ = __gt__ = __ge__ = __neg__ = __abs__ = __bool__ = _operand


Item = Op | Effect


@dataclass(eq=False, repr=False, slots=True)
class Assign(Effect):
    """A value that is written to a tensor.

    Attributes:
        target: a tensor with storage, or a view of one.
        value: the value; the target has all of its axes.
    """

    target: Op
    value: Op

    def __repr__(self) -> str:
        return f"<assign to {self.target.text}>"


@dataclass(eq=False, repr=False, slots=True)
class Sequential(Effect):
    """Items that are executed one after another."""

    items: tuple[Item, ...]

    def __repr__(self) -> str:
        return f"<sequential of {len(self.items)} items>"


@dataclass(eq=False, repr=False, slots=True)
class Parallel(Effect):
    """Assignments that all read the state before any of them writes."""

    assigns: tuple[Assign, ...]

    def __repr__(self) -> str:
        return f"<parallel of {len(self.assigns)} assignments>"


@dataclass(eq=False, repr=False, slots=True)
class RepeatEffect(Effect):
    """An item that is repeated.

    Attributes:
        count: the number of repetitions.
        item: the item to repeat.
    """

    count: int
    item: Item

    def __repr__(self) -> str:
        return f"<repeat {self.count} times>"


OPEN: list[dict[int, Effect]] = []
"""The effects in the open blocks of `ng.steps()`, by identity, the innermost block last."""

E = TypeVar("E", bound=Effect)


def record_effect(effect: E, parts: Iterable[Any] = ()) -> E:
    """Return an effect, added to the innermost open block as an item that replaces its parts."""
    if OPEN:
        for part in parts:
            for block in OPEN:
                block.pop(id(part), None)
        OPEN[-1][id(effect)] = effect
    return effect


def assign(target: Op, value: Any) -> Assign:
    """Return the effect that writes a value to a tensor.

    Args:
        target: a variable, a persistent tensor, a placeholder, or a view of one.
        value: a tensor whose axes the target has, in any order; it is repeated along the others. Or
            a number, or an array with a dimension for each axis of the target.

    Raises:
        ReadOnlyError: for a target without storage, or a constant.
        MissingAxisError: for an axis of the value that the target lacks.
        AxisLengthError: for an axis with two lengths.
        ElementTypeError: if the target is not a tensor, or its element type differs or cannot hold
            the number.

    >>> import poplite.named as ng
    >>> w = ng.variable([ng.make_axis(3, "H")], name="w")
    >>> assign(w, w - 0.5)
    <assign to 'w' (H:3), variable made at ...>
    """
    if not isinstance(target, Op):
        raise ElementTypeError(
            f"assign: cannot write to {clipped(target)}",
            found=of_type(target),
            fix="pass a tensor from ng.variable or ng.persistent_tensor, and then its new value",
        )
    base = base_of(target)
    if base is None or base.read_only:
        what = "is a constant" if base is not None else "is computed, and has no storage"
        raise ReadOnlyError(
            f"assign: '{target.name or target.called}' {what}",
            found=target.text,
            fix=f"assign to an ng.variable([{', '.join(target.axes.names)}]), or to an "
            "ng.persistent_tensor with these axes",
        )
    if isinstance(value, np.ndarray) and value.ndim == target.rank:
        if None not in target.axes.lengths and value.shape != target.axes.lengths:
            raise AxisLengthError(
                f"assign: the array has shape {value.shape}, but the axes are {target.axes}",
                found=target.text,
                fix=f"pass an array of shape {target.axes.lengths}, or a number",
            )
        value = constant(value, target.axes, target.dtype)
    found = as_op(value, "assign")
    for axis in found.axes:
        if axis not in target.axes:
            texts = f"{target.text}\n{found.text}"
            raise missing("assign: axes of the target", axis, target.axes, texts)
    check_lengths("assign", target.axes, found.axes, (target, found))
    if isinstance(found, NumberOp):
        check_number("assign", found, target, target.element_type)
    elif found.dtype is not None and found.dtype is not target.dtype:
        raise ElementTypeError(
            f"assign: cannot assign {found.dtype!r} to {target.dtype!r}",
            found=f"{target.text}\n{found.text}",
            fix=f"ng.cast({spelled(found)}, pl.{target.dtype!r})",
        )
    return record_effect(Assign(target, found))


def base_of(target: Op) -> TensorOp | None:
    """Return the tensor with storage that a view shows; None for a computed tensor."""
    while isinstance(target, Slice | Relabelled | Regrouped | Broadcast):
        (inner,) = target.args
        if isinstance(target, Broadcast) and not inner.axes.is_equal_set(target.axes):
            return None  # it repeats elements
        target = inner
    return target if isinstance(target, TensorOp) else None


def sequential(items: Sequence[Any]) -> Sequential:
    """Return the effect of executing items in order; its value is that of the last item.

    Args:
        items: tensors and effects. A tensor is computed where it first occurs, and keeps that
            value later.

    Raises:
        AxisError: if items is not a list.

    >>> import poplite.named as ng
    >>> x = ng.variable([ng.make_axis(3, "H")], name="x")
    >>> ng.sequential([ng.assign(x, x + 1), x * 2])
    <sequential of 2 items>
    """
    found = tuple(checked_item(each, "sequential") for each in _list(items, "sequential"))
    return record_effect(Sequential(found), found)


def parallel(items: Sequence[Any]) -> Parallel:
    """Return the effect of assignments that all read the state before any of them writes.

    Args:
        items: assignments.

    Raises:
        AxisError: if an item is not an assignment.

    >>> import poplite.named as ng
    >>> H = ng.make_axis(3, "H")
    >>> x, y = ng.variable([H], name="x"), ng.variable([H], name="y")
    >>> ng.parallel([ng.assign(x, y), ng.assign(y, x)])
    <parallel of 2 assignments>
    """
    found: list[Assign] = []
    for each in _list(items, "parallel"):
        if isinstance(each, Parallel):
            found += each.assigns
        elif isinstance(each, Assign):
            found.append(each)
        else:
            raise AxisError(
                f"parallel: {clipped(each)} is not an assignment",
                found=of_type(each),
                fix="ng.parallel([ng.assign(w, x), ...]); ng.sequential accepts any item",
            )
    return record_effect(Parallel(tuple(found)), items)


def repeat(n: int, item: Any) -> RepeatEffect:
    """Return the effect of executing an item n times.

    Args:
        n: the number of times, 0 or more.
        item: an effect, or a list of several.

    Raises:
        AxisError: for an n that is not a whole number from 0.

    >>> import poplite.named as ng
    >>> x = ng.variable([ng.make_axis(3, "H")], name="x")
    >>> ng.repeat(10, ng.assign(x, x * 0.5))
    <repeat 10 times>
    """
    count = integer_or_none(n)
    if count is None or count < 0 or isinstance(n, bool):
        raise AxisError(
            f"repeat: n is {clipped(n)}",
            found=of_type(n),
            fix="pass a whole number from 0, and then the item",
        )
    many = isinstance(item, list | tuple)
    done = sequential(item) if many else checked_item(item, "repeat")
    return record_effect(RepeatEffect(count, done), [done])


def checked_item(value: Any, what: str) -> Item:
    """Return an item of a computation, or raise."""
    return value if isinstance(value, Effect) else as_op(value, what)


def _list(items: Any, what: str) -> Sequence[Any]:
    if isinstance(items, list | tuple):
        return items
    raise AxisError(
        f"{what}: {clipped(items)} is not a list", found=of_type(items), fix=f"ng.{what}([a, b])"
    )


# -- assignments in Python's syntax ----------------------------------------------------------------
#
#     x[...] = value      assign(x, value)
#     x -= 1              assign(x, x - 1), for a tensor that can be assigned to


@contextmanager
def steps() -> Iterator[Sequential]:
    """Record the effects that are created in a block, one after another.

    These are `x[...] = value`, augmented assignments (`x -= 1`, for a tensor that can be
    assigned to), and the results of `ng.assign`, `ng.sequential`, `ng.parallel` and `ng.repeat`; an
    effect that is part of another effect is executed only there. A nested block is an item of the
    outer one. Outside of a block, `x -= 1` is Python's `x = x - 1`: an expression.

    Raises:
        AxisError: for a block in which nothing was recorded.

    >>> import poplite.named as ng
    >>> x = ng.variable([ng.make_axis(3, "H")], name="x")
    >>> with steps() as update:
    ...     x[...] = x + 1
    ...     x *= 2
    >>> update
    <sequential of 2 items>
    """
    made = Sequential(())
    items: dict[int, Effect] = {}
    OPEN.append(items)
    try:
        yield made
    finally:
        OPEN.pop()
    if not items:
        raise AxisError(
            "steps: nothing was recorded in the block",
            found=f"the block began at {made.line}; computing x + 1 there changes nothing",
            fix="write x[...] = value, x -= value, or ng.assign(x, value) in the block",
        )
    made.items = tuple(items.values())
    record_effect(made)


@makes("assign")
def record_assignment(target: Op, key: Any, value: Any) -> None:
    """Record an assignment to a part of a tensor."""
    if not OPEN:
        name = spelled(target)
        raise AxisError(
            f"'{name}[...] = ' outside of ng.steps(): nothing is changed while a graph is built",
            found=target.text,
            fix=f"with ng.steps() as update: {name}[...] = value, or ng.assign({name}, value)",
        )
    is_part = isinstance(key, tuple | dict)  # keys contain axes, whose `==` means pairing
    is_whole = not is_part and (isinstance(key, EllipsisType) or key == slice(None))
    part = target if is_whole else by_key(target, key)
    if not _is_done(part, value):
        assign(part, value)


@makes("assign in place")
def assigned_in_place(name: str, target: Op, value: Any) -> bool:
    """Record `target -= value`; if the target is read-only, return False to use an expression."""
    base = base_of(target) if OPEN else None
    if base is None or base.read_only:
        return False
    assign(target, getattr(target, name)(value))
    return True


def _is_done(part: Op, value: Any) -> bool:
    """Return whether an assignment is the one with which Python completes `x[H, 0] -= 1`."""
    last = next(reversed(OPEN[-1].values()), None)
    if not isinstance(last, Assign) or last.target is not value:
        return False
    if part is value:
        return True
    if not isinstance(part, Slice) or not isinstance(value, Slice):
        return False
    return part.args == value.args and part.parts == value.parts


# -- reads and writes of items ---------------------------------------------------------------------


def listed_items(results: Any) -> list[Item]:
    """Return the items of results, in order."""
    if results is None:
        return []
    if isinstance(results, Op | Effect):
        return [results]
    if isinstance(results, Mapping):
        return [checked_item(each, "computation") for each in results.values()]
    if isinstance(results, list | tuple | set | frozenset):
        return [checked_item(each, "computation") for each in results]
    return [checked_item(results, "computation")]


def inside(items: Iterable[Item]) -> Iterator[Item]:
    """Yield items and their nested items."""
    waiting = list(items)
    while waiting:
        item = waiting.pop()
        yield item
        match item:
            case Assign():
                waiting += item.target, item.value
            case Sequential():
                waiting += item.items
            case Parallel():
                waiting += item.assigns
            case RepeatEffect():
                waiting.append(item.item)


def roots_of(items: Iterable[Item]) -> list[Op]:
    """Return the operations that items compute, and those that they write to."""
    return [each for each in inside(items) if isinstance(each, Op)]


def written_by(items: Iterable[Item]) -> list[tuple[Op, Op]]:
    """Return the targets of assignments among items, each with its value."""
    found = [each for each in inside(items) if isinstance(each, Assign)]
    return [(each.target, each.value) for each in found]


def needed(roots: list[Op]) -> list[TensorOp]:
    """Return the tensors from which operations are computed, in order of creation."""
    found = [each for each in nodes_below(roots) if isinstance(each, TensorOp)]
    return sorted(found, key=lambda each: each.number)


def no_parameter(value: Any) -> AxisError:
    """Return the error for a parameter that is not a placeholder or variable."""
    text = value.text if isinstance(value, Op) else clipped(value)
    return AxisError(
        f"computation: {text} is not a parameter",
        found=of_type(value),
        fix="pass each separately: computation(results, x, y)"
        if isinstance(value, list | tuple | dict | set)
        else "pass a placeholder, or a variable or persistent tensor that a call writes",
    )
