"""`x[...] = value` inside a block of `ng.steps()`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import EllipsisType
from typing import Any

from poplite.errors import AxisError
from poplite.named.effects.items import Item, Sequential, assign
from poplite.named.ops.op import Op, makes
from poplite.named.ops.slicing import by_key
from poplite.source import here

_OPEN: list[list[Item]] = []
"""What the open blocks have recorded, the innermost last."""


@contextmanager
def steps() -> Iterator[Sequential]:
    """Record assignments that are written as in Python, one after the other.

    >>> import poplite.named as ng
    >>> x = ng.variable([ng.make_axis(3, "H")], name="x")
    >>> with steps() as update:
    ...     x[...] = x + 1
    >>> update
    <sequential of 1 items>
    """
    made = Sequential(())
    items: list[Item] = []
    _OPEN.append(items)
    try:
        yield made
    finally:
        _OPEN.pop()
    made.items = tuple(items)


@makes("assign")
def assigned(target: Op, key: Any, value: Any) -> None:
    """Record an assignment to a part of a tensor."""
    if not _OPEN:
        name = target.name or "x"
        raise AxisError(
            f"'{name}[...] = ' outside of steps: nothing is changed while a graph is built",
            at=here(),
            found=target.text,
            fix=f"with ng.steps() as update: {name}[...] = value, or ng.assign({name}, value)",
        )
    whole = isinstance(key, EllipsisType) or key == slice(None) if not _has_axis(key) else False
    part = target if whole else by_key(target, key)
    _OPEN[-1].append(assign(part, value))


def _has_axis(key: Any) -> bool:
    return isinstance(key, tuple | dict)
