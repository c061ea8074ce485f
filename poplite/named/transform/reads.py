"""What the items of computations read and write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from poplite.errors import AxisError
from poplite.named.effects.items import Assign, Effect, Item, item_of
from poplite.named.ops.op import Op, below
from poplite.named.ops.tensors import TensorOp
from poplite.text import clipped, of_type


def listed_items(results: Any) -> list[Item]:
    """Return the items of results, in order."""
    if results is None:
        return []
    if isinstance(results, Op | Effect):
        return [results]
    if isinstance(results, Mapping):
        return [item_of(each, "computation") for each in results.values()]
    if isinstance(results, list | tuple | set | frozenset):
        return [item_of(each, "computation") for each in results]
    return [item_of(results, "computation")]


def roots_of(items: list[Item]) -> list[Op]:
    """Return the operations that items compute, and those that they write to."""
    roots: list[Op] = []
    waiting: list[Any] = list(items)
    while waiting:
        item = waiting.pop()
        if isinstance(item, Op):
            roots.append(item)
        else:
            for name in ("target", "value", "item"):
                if hasattr(item, name):
                    waiting.append(getattr(item, name))
            waiting += [*getattr(item, "items", ()), *getattr(item, "assigns", ())]
    return roots


def written_by(items: list[Item]) -> list[tuple[Op, Op]]:
    """Return what is assigned by items: targets, and what is written to them."""
    found: list[tuple[Op, Op]] = []
    waiting: list[Any] = list(items)
    while waiting:
        item = waiting.pop()
        if isinstance(item, Assign):
            found.append((item.target, item.value))
        elif not isinstance(item, Op):
            waiting += [*getattr(item, "items", ()), *getattr(item, "assigns", ())]
            waiting += [item.item] if hasattr(item, "item") else []
    return found


def needed(roots: list[Op]) -> list[TensorOp]:
    """Return the tensors that operations are computed of, in order of creation."""
    found = [each for each in below(roots) if isinstance(each, TensorOp)]
    return sorted(found, key=lambda each: each.number)


def no_parameter(value: Any) -> AxisError:
    """Return the error for a parameter that is no tensor of its own."""
    text = value.text if isinstance(value, Op) else clipped(value)
    return AxisError(
        f"computation: {text} is no parameter",
        found=of_type(value),
        fix="each by itself: computation(results, x, y)"
        if isinstance(value, list | tuple | dict | set)
        else "a placeholder, or a variable or persistent tensor that a call writes",
    )
