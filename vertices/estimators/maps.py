"""The slots of a worker for maps.

What an operation takes of its own is its loop without the loads of its operands, and these are
words of 64 bits; the store of a result stays with the operation that makes it::

    tanh(a * b + c) of FLOAT     multiply     3 slots for 2 elements, 2 of them loads     1
                                 add          3, 2 of them loads                          1
                                 tanh        12, 1 of them a load                        11
                                 a, b, c                                                  3
                                             for 2 elements                              16

So an operation alone takes what its own vertex does in PopLibs, and several together never more
than theirs without the stores and loads between. The worker enters its loop once: that takes what
the vertex of the operation that takes longest would. Source: PopLibs, UnaryOp1D and 2D, BinaryOp1D
and 2D, BroadcastScalar1D and 2D, BroadcastVectorInner and Outer, Select, Clamp and Cast in
`lib/popops/popopsCycleEstimators.cpp`; its own estimate of fused maps (`ExpressionGenerator.cpp`)
counts each operation, a tanh like a sum, as one slot for a vector, and is not used.

One row that is joined with several takes `BroadcastVectorInner2D`, which PopLibs has for HALF,
where rows are whole vectors of 64 bits, and for divisions; sums and products of FLOAT take
`BinaryOp` with copies of the row, as rows of other lengths do::

    >>> inner(Joined("add", HALF, 6, 64), Target())     # 12 + 8 * (13 + 6 * 2)
    212
    >>> inner(Joined("add", FLOAT, 6, 64), Target()) is None
    True

Its source are the comments of `lib/popops/ElementWise.cpp` for the choice, and the functions
`vectorInner...CoreCycles` of `lib/popops/popopsCycleEstimators.cpp` for the slots.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from poplite.machine.library_facts import (
    BINARY,
    BINARY_IN_PLACE,
    BROADCAST,
    BROADCAST_IN_PLACE,
    NONLINEAR,
    TERNARY,
    UNARY,
    UNARY_IN_PLACE,
    LibraryLoop,
)
from poplite.machine.target import Target
from poplite.types import FLOAT, HALF
from poplite.vertices.estimators.poplibs import Element, cast_loop, is_fast

# -- one row that is joined with several -----------------------------------------------------------


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


# -- maps ------------------------------------------------------------------------------------------


class MapOperation(NamedTuple):
    """An operation of a map.

    Attributes:
        operation: as in the tables of `poplite.machine.library_facts`, or "cast".
        element: the element type of its operands.
        result: that of its result.
        operands: a letter for each: "v" for a vector, "r" for one row of all rows, "c" for a number
            of each row, "n" for one number.
    """

    operation: str
    element: Element
    result: Element
    operands: str

    @property
    def kind(self) -> str:
        """What its result is: a vector, a number of each row, or one number."""
        return next(each for each in ("v", "c", "n") if each in self.operands.replace("r", "v"))

    @property
    def vectors(self) -> int:
        """How many operands are vectors or rows."""
        return len(self.operands) - self.operands.count("c") - self.operands.count("n")


class Pass(NamedTuple):
    """One turn of a loop.

    Attributes:
        slots: that it takes, with loads and the store.
        elements: that it makes.
    """

    slots: int
    elements: int


def is_priced(step: MapOperation) -> bool:
    """Return whether PopLibs has an estimate of an operation.

    >>> is_priced(MapOperation("tanh", FLOAT, FLOAT, "v"))
    True
    >>> is_priced(MapOperation("acos", FLOAT, FLOAT, "v"))
    False
    """
    return step.operation == "cast" or _loop(step, in_place=False) is not None


def own_slots(step: MapOperation, target: Target) -> float:
    """Return the slots of an operation for 64 bits of its operands, without their loads.

    Args:
        step: an operation that `is_priced`.
        target: the machine.

    >>> own_slots(MapOperation("add", FLOAT, FLOAT, "vv"), Target())
    1.0
    """
    own = turn(step, target)
    return own.slots * target.vector_width(step.element) / own.elements - step.vectors


def turn(step: MapOperation, target: Target, *, in_place: bool = False) -> Pass:
    """Return the loop of an operation that has a vertex of its own.

    Args:
        step: an operation that `is_priced`.
        target: the machine.
        in_place: whether its result replaces its first operand.
    """
    if step.operation == "cast":
        return Pass(*cast_loop(step.element, step.result, target))
    loop = _loop(step, in_place)
    assert loop is not None, step
    elements = loop.elements or target.vector_width(step.element)
    if loop.is_whole:
        return Pass(loop.slots, elements)
    fast = "fast_" if is_fast(step.operation, step.element) else ""
    if len(step.operands) == 1:
        name = "unary_loop"
    else:
        name = f"broadcast_{fast}loop" if step.vectors == 1 else f"binary_{fast}loop"
    return Pass(loop.slots + int(target.cost(name)), elements)


def map_slots(
    rows: Sequence[int],
    steps: Iterable[tuple[str, Element, Element, str]],
    loads: Sequence[Element],
    target: Target,
    *,
    in_place: bool = False,
    is_listed: bool = False,
) -> int:
    """Return the slots of a worker for a map.

    Args:
        rows: elements of each range.
        steps: its operations, as in `MapOperation`.
        loads: the element types of the vectors that it loads; of its result where there are none.
        target: the machine.
        in_place: whether the result replaces a vector.
        is_listed: whether the vertex has a list of ranges.

    >>> map_slots([256], [("add", FLOAT, FLOAT, "vv")], [FLOAT, FLOAT], Target())
    413
    >>> map_slots([256], [("add", FLOAT, FLOAT, "vv")], [FLOAT] * 2, Target(), in_place=True)
    442
    >>> map_slots([256], [("multiply", FLOAT, FLOAT, "vv"), ("add", FLOAT, FLOAT, "vv"),
    ...     ("tanh", FLOAT, FLOAT, "v")], [FLOAT] * 3, Target())     # 29 + 128 * 16
    2077
    """
    made = [MapOperation(*each) for each in steps]
    is_replaced = in_place and len(made) == 1
    # Ranges that lie apart are so for all; else rows are for what is joined with one, or a column.
    with_rows = [step for step in made if {*step.operands} & {"r", "c"}]
    listed = {*(with_rows or made)} if is_listed else set[MapOperation]()
    inners = {
        step: (
            inner_entry(joined, target),
            slots - len(rows) * words(rows[0], step.element, target),
        )
        for step in with_rows
        if (joined := _joined(step, rows, is_replaced)) is not None
        and (slots := inner(joined, target)) is not None
    }
    others = [step for step in made if step not in inners]
    looped = [step for step in others if step.kind == "v"]
    entries = [_entry(step, target, in_place, step in listed) for step in others]
    entries += [entry for entry, _ in inners.values()]
    once = {
        kind: sum(turn(step, target).slots for step in others if step.kind == kind) for kind in "cn"
    }
    total = max(entries, default=int(target.cost("unary_entry"))) + once["n"]
    total += sum(max(0, inners[step][1]) for step in made if step in inners)
    for length in rows:
        row = max((_row(step, length, target) for step in others if step in listed), default=0)
        total += row + once["c"] + fused(looped, loads, length, target, in_place=is_replaced)
    return total


def least_slots(
    elements: int, steps: Sequence[MapOperation], loads: Sequence[Element], target: Target
) -> int:
    """Return slots that a map of so many elements takes at least, in whatever ranges.

    Args:
        elements: of all ranges together.
        steps: its operations.
        loads: the element types of the vectors that it loads; of its result where there are none.
        target: the machine.

    >>> steps = [MapOperation("add", FLOAT, FLOAT, "vr")]
    >>> least_slots(256, steps, [FLOAT], Target()), map_slots([16] * 16, steps, [FLOAT], Target())
    (389, 413)
    """
    made = [  # without those that may take a shorter loop, of several rows with one
        step
        for step in steps
        if (joined := _joined(step, [EIGHT] * 2, in_place=False)) is None
        or inner(joined, target) is None
    ]
    if not made:
        return sum(words(elements, each, target) for each in loads)
    return min(map_slots([elements], made, loads, target, is_listed=each) for each in (False, True))


def fused(
    steps: Sequence[MapOperation],
    loads: Sequence[Element],
    elements: int,
    target: Target,
    *,
    in_place: bool = False,
) -> int:
    """Return the slots of the loops of several operations, each tensor loaded once.

    Args:
        steps: operations whose results are vectors.
        loads: the element types of the vectors that are loaded.
        elements: of each.
        target: the machine.
        in_place: whether the result of the one operation replaces its first operand.

    >>> steps = [MapOperation(each, FLOAT, FLOAT, "vv") for each in ("multiply", "add")]
    >>> fused(steps, [FLOAT] * 3, 256, Target())  # 5 slots for 2 elements
    640
    """
    slots = sum(words(elements, each, target) for each in loads)
    for step in steps:
        own = turn(step, target, in_place=in_place)
        loaded = step.operands.count("v") * words(elements, step.element, target)
        slots += -(-elements // own.elements) * own.slots - loaded
    return slots


def words(elements: int, element: Element, target: Target) -> int:
    """Return the words of 64 bits of a vector, each one load.

    Args:
        elements: how many.
        element: the element type.
        target: the machine.

    >>> words(5, FLOAT, Target())
    3
    """
    return -(-elements // target.vector_width(element))


def _loop(step: MapOperation, in_place: bool) -> LibraryLoop | None:
    """Return the entry of an operation in PopLibs' tables."""
    key = step.operation, repr(step.element)
    if len(step.operands) == 1:
        return (UNARY_IN_PLACE if in_place else UNARY).get(key, NONLINEAR.get(key))
    if len(step.operands) > 2:
        return TERNARY.get(key)
    both = (BINARY_IN_PLACE if in_place else BINARY).get(key)
    if step.vectors != 1:
        return both
    return (BROADCAST_IN_PLACE if in_place else BROADCAST).get(key, both)


def _joined(step: MapOperation, rows: Sequence[int], in_place: bool) -> Joined | None:
    """Return an operation of vectors with one row, the second operand or any of two."""
    is_first = step.operands == "rv" and step.operation in ("add", "multiply")
    if not (step.operands == "vr" or is_first) or not rows:
        return None
    return Joined(step.operation, step.element, len(rows), rows[0], in_place)


def _is_outer(step: MapOperation) -> bool:
    """Return whether a number of each row is joined with the row by code in assembly."""
    return step.operands in ("vc", "cv") and is_fast(step.operation, step.element)


def _entry(step: MapOperation, target: Target, in_place: bool, is_listed: bool) -> int:
    """Return the slots of a worker before its first loop, in the vertex of an operation."""
    replaced = "_in_place" if in_place else ""
    if step.operation == "cast":
        name = "cast_rows_entry" if is_listed else "cast_entry"
    elif len(step.operands) > 2:
        row = 0 if is_listed else int(target.cost("choice_row"))
        return int(target.cost("choice_entry")) + row
    elif len(step.operands) == 1:
        kind = "_exp" if step.operation == "exp" and not in_place else replaced
        name = "unary_rows_entry" if is_listed else f"unary{kind}_entry"
    elif step.vectors == 1:
        name = "outer_entry" if _is_outer(step) else "broadcast_entry"
    elif is_listed:
        name = f"binary_rows{replaced}_entry"
    else:
        name = (
            "binary_float_entry"
            if step.element is FLOAT and not in_place
            else f"binary{replaced}_entry"
        )
    return int(target.cost(name))


def _row(step: MapOperation, length: int, target: Target) -> int:
    """Return the slots of a worker before each loop, in the vertex of an operation."""
    if step.operation == "cast":
        return int(target.cost("cast_row"))
    if len(step.operands) > 2:
        return int(target.cost("choice_row"))
    if len(step.operands) == 1 or step.vectors != 1:
        return 0
    if not _is_outer(step):
        return int(target.cost("broadcast_row"))
    is_apart = length % target.vector_width(step.element)
    return int(target.cost("outer_row_apart" if is_apart else "outer_row"))
