"""What descriptions say of themselves, and why a view of them needs a copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from poplite.errors import NeedsCopyError
from poplite.named.axes.axes import Axes
from poplite.named.axes.axis import Axis
from poplite.named.description.digits import Digits
from poplite.text import amount

if TYPE_CHECKING:
    from poplite.named.description.description import TensorDescription


NO_COPY = "; no copy"
"""What a view costs by itself."""


def explained(description: TensorDescription, pieces: int) -> str:
    """Return axes, layout and steps, and where elements lie; `pieces` is 0 where strides do."""
    name = description.name or ("view" if description.is_view else "tensor")
    lines = [f"{name} {description.axes} {description.dtype!r}"]
    taken: list[str] = []
    node = description
    while node.step is not None:
        taken.insert(0, node.step.what)
        node = node.sources[0]
    if description.is_view:
        names = ", ".join(f"{_quoted(each.name)}{each.axes}" for each in description.bases)
        lines.append(f"  view of {names}: {', '.join(taken)}{NO_COPY}")
    for base in description.bases:
        room = "layout free" if base.layout is None else repr(base.layout)
        lines.append(f"  {base.name or 'storage'}: {room}")
    if pieces:
        lines.append(f"  in {amount(pieces, 'piece')}: no strides tell it")
    elif description.offset is not None and description.rank:
        told = ", ".join("several" if s is None else str(s) for s in description.strides)
        lines.append(f"  strides {told}; offset {description.offset}")
    return "\n".join(lines)


def _quoted(name: str) -> str:
    return f"'{name}' " if name else ""


def needs_copy(
    text: str, axis: Axis, parts: Axes, digits: Sequence[Digits | None]
) -> NeedsCopyError:
    """Return the error for the first two parts of an axis that no stride joins."""
    fix = 'copy="view" for a view of several pieces, or another layout'
    long = [(p, own) for p, own in zip(parts, digits, strict=True) if p.length != 1]
    for (outer, left), (inner, right) in zip(long, long[1:], strict=False):
        if left is None or right is None or len(left) != 1 or len(right) != 1:
            continue
        ((_, have),), ((length, stride),) = left, right
        if have != length * stride:
            return NeedsCopyError(
                f"flatten: axis '{axis.name}' has no stride: '{outer.name}' has stride {have}, "
                f"and {length * stride} = {length} x {stride} is needed over '{inner.name}'",
                found=text,
                fix=fix,
            )
    return NeedsCopyError(
        f"flatten: axis '{axis.name}' has no stride: a part of it has several", found=text, fix=fix
    )
