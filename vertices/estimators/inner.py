"""The slots of a worker for one row that is joined with several: `BroadcastVectorInner2D`.

PopLibs takes these vertices for HALF, where rows are whole vectors of 64 bits, and for divisions;
sums and products of FLOAT take `BinaryOp` with copies of the row, as rows of other lengths do.

    >>> inner(Joined("add", HALF, 6, 64), Target())     # 12 + 8 * (13 + 6 * 2)
    212
    >>> inner(Joined("add", FLOAT, 6, 64), Target()) is None
    True

Source: PopLibs, the comments of `lib/popops/ElementWise.cpp` for the choice, the functions
`vectorInner...CoreCycles` of `lib/popops/popopsCycleEstimators.cpp` for the slots.
"""

from __future__ import annotations

from typing import NamedTuple

from poplite.machine.target import Target
from poplite.types import FLOAT, HALF
from poplite.vertices.estimators.poplibs import Element

EIGHT = 8
"""Halves that the accumulators add at once."""

FOUR = 4
"""Halves of 64 bits."""


class Joined(NamedTuple):
    """An operation of rows with one row.

    Attributes:
        operation: as in `poplite.machine.library_facts.BINARY`.
        element: the element type.
        rows: how many.
        columns: elements of each.
        in_place: whether the results replace the rows.
    """

    operation: str
    element: Element
    rows: int
    columns: int
    in_place: bool = False


def inner(joined: Joined, target: Target) -> int | None:
    """Return the slots of a worker that has entered; None where PopLibs takes another vertex.

    Args:
        joined: the operation.
        target: the machine.
    """
    operation, element, rows, columns, _ = joined
    if rows < 2 or operation not in ("add", "subtract", "multiply", "divide"):
        return None
    if operation == "divide":
        return _divided(joined, target)
    if element is not HALF or columns % FOUR:
        return None
    return _multiplied(joined, target) if operation == "multiply" else _added(joined, target)


def inner_entry(joined: Joined, target: Target) -> int:
    """Return the slots of a worker before that.

    Args:
        joined: an operation that `inner` prices.
        target: the machine.
    """
    half = "_half" if joined.operation == "divide" and joined.element is HALF else ""
    return int(target.cost(f"inner_{joined.operation}{half}_entry"))


def _added(joined: Joined, target: Target) -> int:
    cost, rows, columns = target.cost, joined.rows, joined.columns
    if columns > cost("inner_add_most"):
        each = cost("inner_one_entry") + rows * cost("inner_one_loop")
        return int(cost("inner_add_one") + columns * each)
    if columns % EIGHT == 0:
        each = cost("inner_add_eight_entry") + 2 * rows
        return int(cost("inner_add_eight") + columns // EIGHT * each)
    each = cost("inner_add_four_entry") + 2 * (rows // 2) + rows % 2
    return int(cost("inner_add_four") + columns // FOUR * each)


def _multiplied(joined: Joined, target: Target) -> int:
    cost, rows, columns = target.cost, joined.rows, joined.columns
    if joined.in_place:
        start, each = cost("inner_multiply_in_place"), cost("inner_multiply_apart") + 2 * rows
    elif columns > cost("inner_multiply_most"):
        start, each = cost("inner_multiply_long"), cost("inner_multiply_apart") + 2 * rows
    else:
        start, each = cost("inner_multiply"), cost("inner_multiply_piped") + rows
    return int(start + columns // FOUR * each)


def _divided(joined: Joined, target: Target) -> int | None:
    cost, element, rows, columns, _ = target.cost, *joined[1:]
    if element not in (FLOAT, HALF) or (element is HALF and columns % 2):
        return None  # odd rows of HALF: their estimate differs row by row
    if columns % 2:
        each = cost("inner_divide_pair") + rows * cost("inner_divide_odd_loop")
        return int(cost("inner_divide_odd") + columns * each)
    half = "_half" if element is HALF else ""
    each = cost("inner_divide_pair") + rows * cost(f"inner_divide{half}_loop")
    return int(cost(f"inner_divide{half}") + columns // 2 * each)
