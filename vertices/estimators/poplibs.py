"""The cycles of vertices by the estimators of PopLibs, Graphcore's library.

A function returns the slots of one worker for its share of the elements; `of_tile` returns the
cycles of a vertex that shares them among all workers of its tile, as most vertices of PopLibs do::

    add of 1,536 FLOAT on a tile      each worker 256 elements, 128 vectors of 64 bits
                                      29 + 128 * (1 + 2) = 413 slots
                                      11 + 6 * 413 = 2,489 cycles

The constants and loops, with their sources, are in `poplite.machine.library_facts`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd
from typing import Any, TypeVar

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import ElementTypeError, did_you_mean
from poplite.machine.library_facts import (
    BINARY,
    BINARY_IN_PLACE,
    BROADCAST,
    UNARY,
    UNARY_IN_PLACE,
    LibraryLoop,
    Loops,
)
from poplite.machine.target import Target
from poplite.types import FLOAT, HALF, ElementType

Element = type[ElementType[Any]]

FAST = frozenset(("add", "subtract", "multiply"))
"""Operations whose loops over floats are written in assembly."""

Count = TypeVar("Count", int, Int64)
"""A number, or those of several vertices."""

LANES: Mapping[Element, str] = {FLOAT: "reduce_float_lanes", HALF: "reduce_half_lanes"}
"""The cost that says how many numbers the accumulators add at once; other types go one by one."""


def share(elements: int, target: Target) -> int:
    """Return the elements of the busiest worker of a tile.

    Args:
        elements: those of all workers.
        target: the machine.
    """
    return -(-elements // target.workers)


def of_tile(slots: int, target: Target) -> int:
    """Return the tile cycles of a vertex that runs on all workers.

    Args:
        slots: of the slowest worker.
        target: the machine.

    >>> target = Target()
    >>> of_tile(binary("add", FLOAT, share(1536, target), target), target)
    2489
    """
    return int(target.cost("supervisor_overhead")) + target.workers * slots


def unary(
    operation: str, element: Element, elements: int, target: Target, *, in_place: bool = False
) -> int:
    """Return the slots of an operation of one argument: `UnaryOp1D`.

    Args:
        operation: as in `poplite.machine.library_facts.UNARY`.
        element: the element type.
        elements: how many the worker has.
        target: the machine.
        in_place: whether the results replace the argument.

    Raises:
        ElementTypeError: for an operation, or an element type of it, that is not in the table.

    >>> unary("exp", FLOAT, 256, Target())
    801
    """
    loop = _loop(UNARY_IN_PLACE if in_place else UNARY, operation, element)
    entry = "unary_exp_entry" if operation == "exp" else "unary_entry"
    entry = "unary_in_place_entry" if in_place else entry
    return _looped(loop, entry, "unary_loop", element, elements, target)


def binary(
    operation: str, element: Element, elements: int, target: Target, *, in_place: bool = False
) -> int:
    """Return the slots of an operation of two arguments: `BinaryOp1D`.

    Args:
        operation: as in `poplite.machine.library_facts.BINARY`.
        element: the element type.
        elements: how many the worker has.
        target: the machine.
        in_place: whether the results replace the first argument.

    Raises:
        ElementTypeError: for an operation, or an element type of it, that is not in the table.

    >>> binary("add", FLOAT, 256, Target()), binary("divide", HALF, 256, Target())
    (413, 1370)
    """
    loop = _loop(BINARY_IN_PLACE if in_place else BINARY, operation, element)
    entry = "binary_float_entry" if element is FLOAT else "binary_entry"
    entry = "binary_in_place_entry" if in_place else entry
    extra = "binary_fast_loop" if is_fast(operation, element) else "binary_loop"
    return _looped(loop, entry, extra, element, elements, target)


def broadcast(operation: str, element: Element, elements: int, target: Target) -> int:
    """Return the slots of an operation of a vector and one number: `BroadcastScalar1D`.

    Args:
        operation: as in `poplite.machine.library_facts.BROADCAST`.
        element: the element type.
        elements: of the vector.
        target: the machine.

    Raises:
        ElementTypeError: for an operation, or an element type of it, that is not in the table.

    >>> broadcast("multiply", HALF, 256, Target())
    148
    """
    extra = "broadcast_fast_loop" if is_fast(operation, element) else "broadcast_loop"
    loop = _loop(BROADCAST, operation, element)
    return _looped(loop, "broadcast_entry", extra, element, elements, target)


def reduce_one(element: Element, result: Element, elements: Count, target: Target) -> Count:
    """Return the slots of joining all elements of a vector: a `Reduce` of a single input.

    Args:
        element: the element type.
        result: the element type of the result.
        elements: how many.
        target: the machine.

    >>> reduce_one(FLOAT, FLOAT, 1000, Target())
    517
    """
    lanes, loaded = _lanes(element, target)
    slots = int(target.cost("reduce_one_entry")) + elements // loaded + elements % lanes
    return slots if result is FLOAT else slots + int(target.cost("reduce_one_not_float"))


def reduce_rows(element: Element, outputs: Count, length: Count, target: Target) -> Count:
    """Return the slots of joining equal parts of a vector: a `Reduce` of continuous regions.

    Args:
        element: the element type.
        outputs: how many parts.
        length: elements of each.
        target: the machine.

    >>> reduce_rows(FLOAT, 4, 100, Target())
    265
    """
    cost, (_, loaded) = target.cost, _lanes(element, target)
    odd = length % 2 * int(cost("reduce_rows_odd"))
    each = length // loaded + int(cost("reduce_rows_output"))
    return int(cost("reduce_rows_entry")) + outputs * each + odd


def reduce_columns(
    element: Element,
    result: Element,
    outputs: Count,
    rows: Count,
    stride: Count,
    target: Target,
    *,
    adds: bool,
) -> Count:
    """Return the slots of joining the rows of a matrix, column by column: a `StridedReduce`.

    Args:
        element: the element type.
        result: the element type of the results.
        outputs: number of columns.
        rows: number of rows.
        stride: elements from one row to the next.
        target: the machine.
        adds: whether the elements are added up.

    >>> reduce_columns(FLOAT, FLOAT, 32, 10, 32, Target(), adds=True)
    335
    """
    cost, (_, loaded) = target.cost, _lanes(element, target)
    if element is HALF:
        end = "reduce_columns_widened" if adds and result is FLOAT else "reduce_columns_half"
    else:
        end = "reduce_columns_sum" if adds else "reduce_columns_other"
    inner = int(cost("reduce_columns_inner")) + rows - 1
    column = int(cost("reduce_columns_outer")) + int(cost(end)) + inner
    # Loads that are not aligned in every row bring one element each.
    return int(cost("reduce_columns_entry")) + words(outputs, loaded, stride) * column


def words(outputs: Count, loaded: int, stride: Count) -> Count:
    """Return the loads of a row of a matrix, which are aligned alike in all rows.

    Args:
        outputs: elements of the row.
        loaded: how many a load brings at most.
        stride: elements from one row to the next.

    >>> words(5, 4, 8), words(5, 4, 6), words(5, 4, 7)
    (2, 3, 5)
    """
    if isinstance(stride, int):
        return -(-outputs // gcd(loaded, stride))
    return -(-outputs // np.gcd(loaded, stride))


def fill(element: Element, elements: int, target: Target) -> int:
    """Return the slots of writing one number everywhere: `Fill`.

    Args:
        element: the element type.
        elements: how many.
        target: the machine.

    >>> fill(FLOAT, 256, Target()), fill(HALF, 256, Target())
    (151, 90)
    """
    cost, size = target.cost, element.size_bytes
    if size > FLOAT.size_bytes:
        return int(cost("fill_words_entry")) + elements
    if size < HALF.size_bytes:
        if elements < cost("fill_many_bytes"):
            return int(cost("fill_bytes_entry")) + elements // int(cost("fill_bytes_at_once"))
        return int(cost("fill_many_bytes_entry")) + elements // target.vector_width(element)
    if element is not HALF:
        width = target.vector_width(FLOAT)  # of 16 bits as well
        return int(cost("fill_entry")) + elements // width + (elements % width == 1)
    few = {1: "fill_half_one", 2: "fill_half_two"}
    if elements in few:
        return int(cost(few[elements]))
    return int(cost("fill_half_entry")) + elements // target.vector_width(HALF)


def fill_rows(element: Element, rows: Sequence[int], target: Target) -> int:
    """Return the slots of writing one number everywhere in several vectors: `Fill2d`.

    Args:
        element: the element type.
        rows: elements of each vector.
        target: the machine.

    >>> fill_rows(FLOAT, [256, 256], Target()), fill_rows(HALF, [256, 256], Target())
    (302, 181)
    """
    less = int(element is HALF or element.size_bytes > FLOAT.size_bytes)
    each = sum(fill(element, row, target) for row in rows)
    taken = (int(target.cost("fill_row_less")) - less) * len(rows)
    return int(target.cost("fill_rows_entry")) - less + each - taken


def iota(element: Element, rows: Sequence[int], target: Target) -> int:
    """Return the slots of counting through vectors: `Iota`.

    Args:
        element: the element type.
        rows: elements of each vector.
        target: the machine.

    >>> iota(FLOAT, [256], Target())
    398
    """
    cost, width = target.cost, target.vector_width(element)
    vectors = sum(-(-row // width) for row in rows)
    return int(cost("iota_entry") + cost("iota_row") * len(rows) + cost("iota_loop") * vectors)


def is_fast(operation: str, element: Element) -> bool:
    """Return whether the loop of an operation of two arguments is written in assembly.

    Args:
        operation: as in `poplite.machine.library_facts.BINARY`.
        element: the element type.

    >>> is_fast("add", FLOAT), is_fast("divide", FLOAT)
    (True, False)
    """
    return operation in FAST and element in (FLOAT, HALF)


def _loop(loops: Loops, operation: str, element: Element) -> LibraryLoop:
    loop = loops.get((operation, repr(element)))
    if loop is None:
        types = [kind for name, kind in loops if name == operation]
        names = sorted({name for name, _ in loops})
        meant = "" if types else did_you_mean(operation, names)
        raise ElementTypeError(
            f"no estimate of '{operation}' of {element!r}{meant}",
            found=f"there are some of {', '.join(types or names)}",
            fix="a cycles method that returns slots of its own, or none",
        )
    return loop


def _looped(
    loop: LibraryLoop, entry: str, extra: str, element: Element, elements: int, target: Target
) -> int:
    """Return the slots of a worker that enters and runs a loop."""
    each = loop.slots if loop.is_whole else loop.slots + int(target.cost(extra))
    width = loop.elements or target.vector_width(element)
    return int(target.cost(entry)) + -(-elements // width) * each


def loaded_at_once(element: Element, target: Target) -> int:
    """Return how many elements of a reduction one load brings.

    Args:
        element: the element type.
        target: the machine.

    >>> loaded_at_once(FLOAT, Target()), loaded_at_once(HALF, Target())
    (2, 4)
    """
    return _lanes(element, target)[1]


def _lanes(element: Element, target: Target) -> tuple[int, int]:
    """Return how many elements the accumulators add in a loop, and how many one load brings."""
    lanes = int(target.cost(LANES[element])) if element in LANES else 1
    return lanes, min(lanes, target.vector_width(element))
