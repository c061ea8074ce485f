"""Assignments as Python writes them, inside a block of `ng.steps()`.

x[...] = value      assign(x, value)
x -= 1              assign(x, x - 1), of a tensor that keeps values, or a view of one
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import EllipsisType
from typing import Any

from poplite.errors import AxisError
from poplite.named.axes.changes import spelled
from poplite.named.effects.items import OPEN, Assign, Effect, Sequential, assign, base_of, recorded
from poplite.named.ops.op import Op, makes
from poplite.named.ops.slicing import Slice, by_key


@contextmanager
def steps() -> Iterator[Sequential]:
    """Record the effects that are made in a block, one after the other.

    These are `x[...] = value`, operators in place (`x -= 1`, of a tensor that keeps values or a
    view of one), and what `ng.assign`, `ng.sequential`, `ng.parallel` and `ng.repeat` return; an
    effect that is part of another one is done where that one is. A block within a block is an item
    of the outer one. Outside of a block, `x -= 1` is Python's `x = x - 1`: an expression.

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
            fix="x[...] = value, x -= value, or ng.assign(x, value) in the block",
        )
    made.items = tuple(items.values())
    recorded(made)


@makes("assign")
def assigned(target: Op, key: Any, value: Any) -> None:
    """Record an assignment to a part of a tensor."""
    if not OPEN:
        name = spelled(target)
        raise AxisError(
            f"'{name}[...] = ' outside of steps: nothing is changed while a graph is built",
            found=target.text,
            fix=f"with ng.steps() as update: {name}[...] = value, or ng.assign({name}, value)",
        )
    whole = isinstance(key, EllipsisType) or key == slice(None) if not _has_axis(key) else False
    part = target if whole else by_key(target, key)
    if not _is_done(part, value):
        assign(part, value)


@makes("assign in place")
def assigned_in_place(name: str, target: Op, value: Any) -> bool:
    """Record `target -= value`; False where that is an expression: of what keeps no values."""
    base = base_of(target) if OPEN else None
    if base is None or base.read_only:
        return False
    assign(target, getattr(target, name)(value))
    return True


def _is_done(part: Op, value: Any) -> bool:
    """Tell whether this is the end of `x[H, 0] -= 1`, which Python ends by assigning the part."""
    last = next(reversed(OPEN[-1].values()), None)
    if not isinstance(last, Assign) or last.target is not value:
        return False
    if part is value:
        return True
    if not isinstance(part, Slice) or not isinstance(value, Slice):
        return False
    return part.args == value.args and part.parts == value.parts


def _has_axis(key: Any) -> bool:
    return isinstance(key, tuple | dict)
