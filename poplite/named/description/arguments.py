"""What the arguments of views of descriptions have to be."""

from __future__ import annotations

from collections.abc import ItemsView, Mapping, Sequence
from typing import Any

from poplite.errors import AxisLengthError, TensorIndexError
from poplite.named.axes.axes import Axes
from poplite.named.axes.axis import Axis, check_kind
from poplite.named.axes.changes import Named
from poplite.text import amount, clipped, integer_or_none


def listed(parts: Mapping[Axis, Any], what: str, fix: str) -> ItemsView[Axis, Any]:
    """Return axes, each with what is done with it."""
    try:
        return parts.items()
    except (AttributeError, TypeError):
        check_kind(parts, Mapping, what, f"description.{fix}")
        raise


def pair_of(pair: Sequence[int], own: Axis) -> Sequence[int]:
    """Return the widths of a border before and behind an axis."""
    fix = f"description.pad({{{own.name}: (1, 2)}})"
    check_kind(pair, (list, tuple), f"pad: the widths of '{own.name}'", fix)
    if len(pair) != 2:
        found = amount(len(pair), "width")
        raise AxisLengthError(f"pad: {found} for axis '{own.name}'", fix=fix)
    return pair


def index_of(index: Sequence[int], axes: Axes, of: Named) -> tuple[int, ...]:
    """Return the numbers of an element, each counted from the begin of its axis."""
    check_kind(index, (list, tuple), "at: an index", "description.at((0, 1))")
    numbers = [integer_or_none(each) for each in index]
    lengths = [axis.known_length("at") for axis in axes]
    is_inside = len(numbers) == len(lengths) and all(
        each is not None and -length <= each < length
        for each, length in zip(numbers, lengths, strict=True)
    )
    if not is_inside:
        raise TensorIndexError(
            f"at: there is no index {clipped(tuple(index))}",
            found=of.text,
            fix=f"one for each axis, below {tuple(lengths)}; -1 is the last",
        )
    return tuple((each or 0) % length for each, length in zip(numbers, lengths, strict=True))
