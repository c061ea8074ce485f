"""The cycles of vertices by the estimators of PopLibs, Graphcore's library.

A function returns the slots of one worker for its share of the elements; `of_tile` returns the
cycles of a vertex that divides them among all workers of its tile, as most vertices of PopLibs do::

    add of 1,536 FLOAT on a tile      each worker 256 elements, 128 vectors of 64 bits
                                      29 + 128 * (1 + 2) = 413 slots
                                      11 + 6 * 413 = 2,489 cycles

The constants and loops, with their sources, are in `poplite.machine.library_cycles`.

Some vertices launch workers in their own way; functions for these return cycles of the tile::

    >>> scaled_add(FLOAT, 1536, Target())          # 57 cycles to launch, and 6 * 406
    2493

Rows of a table are priced as in `MultiSlice` and `MultiUpdateAdd` (PopLibs,
`lib/popops/PerformanceEstimation.cpp`). PopLibs has no vertex that sorts indices by owner; those
figures are poplite's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import gcd
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.errors import ElementTypeError, did_you_mean
from poplite.graph.compute_sets.perf_estimates import VertexPerfEstimate
from poplite.machine.library_cycles import (
    BINARY,
    BINARY_IN_PLACE,
    BROADCAST,
    BROADCAST_IN_PLACE,
    NONLINEAR,
    TERNARY,
    UNARY,
    UNARY_IN_PLACE,
    LibraryLoop,
    Loops,
)
from poplite.machine.target import Target
from poplite.types import (
    CHAR,
    FLOAT,
    HALF,
    INT,
    LONGLONG,
    SHORT,
    UNSIGNED_INT,
    UNSIGNED_LONGLONG,
    ElementType,
)

__all__ = [
    "binary",
    "broadcast",
    "fill",
    "of_tile",
    "reduce_columns",
    "reduce_one",
    "reduce_rows",
    "share",
    "unary",
]

Element = type[ElementType[Any]]

FAST = frozenset(("add", "subtract", "multiply"))
"""Operations whose loops over floats are written in assembly."""

Count = TypeVar("Count", int, Int64)
"""A number, or an array with a number for each vertex."""

LANES: Mapping[Element, str] = {FLOAT: "reduce_float_lanes", HALF: "reduce_half_lanes"}
"""The name of the cost for the number of elements added at once; others are added one by one."""


def __dir__() -> list[str]:
    return __all__


def share(elements: int, target: Target) -> int:
    """Return the elements of the busiest worker of a tile.

    Args:
        elements: number of elements of all workers.
        target: the machine.
    """
    return -(-elements // target.workers)


def of_tile(slots: int, target: Target) -> int:
    """Return the tile cycles of a vertex that runs on all workers.

    Args:
        slots: slots of the slowest worker.
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
        operation: name of the operation, as in `poplite.machine.library_cycles.UNARY`.
        element: the element type.
        elements: number of elements of the worker.
        target: the machine.
        in_place: whether the results replace the argument.

    Raises:
        ElementTypeError: for an operation or an element type that is not in the table.

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
        operation: name of the operation, as in `poplite.machine.library_cycles.BINARY`.
        element: the element type.
        elements: number of elements of the worker.
        target: the machine.
        in_place: whether the results replace the first argument.

    Raises:
        ElementTypeError: for an operation or an element type that is not in the table.

    >>> binary("add", FLOAT, 256, Target()), binary("divide", HALF, 256, Target())
    (413, 1370)
    """
    loop = _loop(BINARY_IN_PLACE if in_place else BINARY, operation, element)
    entry = "binary_float_entry" if element is FLOAT else "binary_entry"
    entry = "binary_in_place_entry" if in_place else entry
    extra = "binary_fast_loop" if is_fast(operation, element) else "binary_loop"
    return _looped(loop, entry, extra, element, elements, target)


def broadcast(operation: str, element: Element, elements: int, target: Target) -> int:
    """Return the slots of an operation on a vector and one number: `BroadcastScalar1D`.

    Args:
        operation: name of the operation, as in `poplite.machine.library_cycles.BROADCAST`.
        element: the element type.
        elements: number of elements of the vector.
        target: the machine.

    Raises:
        ElementTypeError: for an operation or an element type that is not in the table.

    >>> broadcast("multiply", HALF, 256, Target())
    148
    """
    extra = "broadcast_fast_loop" if is_fast(operation, element) else "broadcast_loop"
    loop = _loop(BROADCAST, operation, element)
    return _looped(loop, "broadcast_entry", extra, element, elements, target)


def reduce_one(element: Element, result: Element, elements: Count, target: Target) -> Count:
    """Return the slots of reducing a vector to one element: a `Reduce` with a single input.

    Args:
        element: the element type.
        result: the element type of the result.
        elements: number of elements.
        target: the machine.

    >>> reduce_one(FLOAT, FLOAT, 1000, Target())
    517
    """
    lanes, loaded = _lanes(element, target)
    slots = int(target.cost("reduce_one_entry")) + elements // loaded + elements % lanes
    return slots if result is FLOAT else slots + int(target.cost("reduce_one_not_float"))


def reduce_rows(element: Element, outputs: Count, length: Count, target: Target) -> Count:
    """Return the slots of reducing equal parts of a vector: a `Reduce` of contiguous regions.

    Args:
        element: the element type.
        outputs: number of parts.
        length: number of elements of each part.
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
    """Return the slots of reducing each column of a matrix: a `StridedReduce`.

    Args:
        element: the element type.
        result: the element type of the results.
        outputs: number of columns.
        rows: number of rows.
        stride: distance in elements between rows.
        target: the machine.
        adds: whether the elements are summed.

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
    # Loads that are not aligned in every row load one element each.
    return int(cost("reduce_columns_entry")) + words(outputs, loaded, stride) * column


def words(outputs: Count, loaded: int, stride: Count) -> Count:
    """Return the number of loads of a matrix row if they have the same alignment in all rows.

    Args:
        outputs: number of elements of the row.
        loaded: maximum number of elements of a load.
        stride: distance in elements between rows.

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
        elements: number of elements.
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
        width = target.vector_width(FLOAT)  # also for 16 bits
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
    """Return the slots of writing consecutive numbers to vectors: `Iota`.

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
        operation: name of the operation, as in `poplite.machine.library_cycles.BINARY`.
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
            f"there is no estimate for '{operation}' of {element!r}{meant}",
            found=f"there are estimates for {', '.join(types or names)}",
            fix="write a cycles method that returns its own slots, or none",
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
    """Return the number of elements per load of a reduction.

    Args:
        element: the element type.
        target: the machine.

    >>> loaded_at_once(FLOAT, Target()), loaded_at_once(HALF, Target())
    (2, 4)
    """
    return _lanes(element, target)[1]


def _lanes(element: Element, target: Target) -> tuple[int, int]:
    """Return the number of elements that a loop iteration adds, and the number of one load."""
    lanes = int(target.cost(LANES[element])) if element in LANES else 1
    return lanes, min(lanes, target.vector_width(element))


# -- reductions of rows and columns ----------------------------------------------------------------
# Computations on the elements take slots in addition to those of `Reduce` and `StridedReduce`, for
# each 64-bit vector that these reduce.

Slots = npt.NDArray[np.float64]


def of_rows(
    element: Element,
    result: Element,
    outputs: int,
    elements: int,
    target: Target,
    *,
    slots: float = 0,
    flops: int = 0,
) -> VertexPerfEstimate:
    """Return the estimate of reducing equal parts of a vector.

    Args:
        element: the element type of the vector.
        result: the element type of the results.
        outputs: number of parts.
        elements: number of elements of all parts.
        target: the machine.
        slots: slots to compute an element.
        flops: flops to compute an element.

    >>> from poplite.types import FLOAT
    >>> of_rows(FLOAT, FLOAT, 1, 1000, Target()).cycles
    517
    >>> of_rows(FLOAT, FLOAT, 1, 1000, Target(), slots=1).cycles     # of a product of two vectors
    1517
    """
    cycles = int(rows_slots(element, result, outputs, elements, target, slots))
    return VertexPerfEstimate(cycles, _flops(element, elements, outputs, flops))


def rows_slots(
    element: Element,
    result: Element,
    outputs: Int64 | int,
    elements: Int64 | int,
    target: Target,
    slots: float = 0,
) -> Slots:
    """Return the slots of vertices that reduce equal parts of vectors, as in `of_rows`.

    >>> from poplite.types import FLOAT
    >>> rows_slots(FLOAT, FLOAT, np.array([1, 4]), np.array([1000, 1000]), Target()).tolist()
    [517.0, 565.0]
    """
    count, joined = np.asarray(outputs), np.asarray(elements)
    length = joined // np.maximum(count, 1)
    loaded = loaded_at_once(element, target)
    made = np.where(
        count == 1,
        reduce_one(element, result, joined, target),
        reduce_rows(element, count, length, target),
    )
    computed = np.ceil(count * -(-length // loaded) * loaded * slots)
    return np.asarray(made + computed, np.float64)


def of_columns(
    element: Element,
    result: Element,
    outputs: int,
    elements: int,
    stride: int,
    target: Target,
    *,
    adds: bool,
    slots: float = 0,
    flops: int = 0,
) -> VertexPerfEstimate:
    """Return the estimate of reducing each column of a matrix.

    Args:
        element: the element type of the matrix.
        result: the element type of the results.
        outputs: number of columns.
        elements: number of elements from the first of the first row to the last of the last row.
        stride: elements from one row to the next.
        target: the machine.
        adds: whether the elements are summed.
        slots: slots to compute an element.
        flops: flops to compute an element.

    >>> from poplite.types import FLOAT
    >>> of_columns(FLOAT, FLOAT, 32, 320, 32, Target(), adds=True, slots=1)
    VertexPerfEstimate(cycles=655, flops=288)
    """
    rows = (elements - outputs) // stride + 1
    cycles = columns_slots(element, result, outputs, rows, stride, target, adds, slots)
    return VertexPerfEstimate(int(cycles), _flops(element, outputs * rows, outputs, flops))


def columns_slots(
    element: Element,
    result: Element,
    outputs: Count,
    rows: Count,
    stride: Count,
    target: Target,
    adds: bool,
    slots: float = 0,
) -> Slots:
    """Return the slots of vertices that reduce columns of matrices, as in `of_columns`.

    >>> from poplite.types import FLOAT
    >>> sizes = np.array([32, 31]), np.array([10, 10]), np.array([32, 31])
    >>> columns_slots(FLOAT, FLOAT, *sizes, Target(), adds=True, slots=1).tolist()
    [655.0, 1255.0]
    """
    joined = reduce_columns(element, result, outputs, rows, stride, target, adds=adds)
    loaded = loaded_at_once(element, target)
    computed = np.ceil(words(outputs, loaded, stride) * rows * loaded * slots)
    return np.asarray(joined + computed, np.float64)


def _flops(element: Element, elements: int, outputs: int, flops: int) -> int:
    joined = max(0, elements - outputs) if element.is_floating_point else 0
    return joined + elements * flops


# -- vertices on all workers, each with its own launch ---------------------------------------------

SIZES = (1, 2, 4)
"""Bytes of the elements that `multi_slice` moves."""

SIGNED = (INT, CHAR, SHORT)
"""Types that a cast to 64 bits sign-extends."""


def cast(element: Element, result: Element, elements: int, target: Target) -> int:
    """Return the tile cycles of converting elements: `Cast1D`.

    Args:
        element: the element type, of 16 or 32 bits.
        result: the element type of the results, of 16 or 32 bits.
        elements: number of elements.
        target: the machine.

    Raises:
        ElementTypeError: for other types, whose loops differ.

    >>> cast(FLOAT, HALF, 1536, Target()), cast(HALF, FLOAT, 1536, Target())
    (1014, 1008)
    """
    for kind in (element, result):
        if kind.size_bytes not in SIZES[1:]:
            raise _refused("cast", kind, "types of 16 and 32 bits")
    cost, own = target.cost, share(elements, target)
    each, width = cast_loop(element, result, target)
    slots = int(cost("cast_entry")) + own // width * each
    for part in range((width - 1).bit_length()):
        slots += int(cost("cast_rest"))
        if own % width >> part & 1:
            slots += int(cost("cast_rest_step"))
    return int(cost("cast_launch")) + target.workers * slots


def cast_loop(element: Element, result: Element, target: Target) -> tuple[int, int]:
    """Return the slots of one loop iteration of a `Cast`, and how many elements it converts.

    Args:
        element: the element type.
        result: the element type of the results.
        target: the machine.

    >>> cast_loop(FLOAT, HALF, Target()), cast_loop(INT, FLOAT, Target())
    ((2, 4), (2, 1))
    """
    if result in (LONGLONG, UNSIGNED_LONGLONG):
        more = target.cost("cast_wide_signed") if element in SIGNED else 0
        return int(target.cost("cast_wide") + more), 1
    if not {element, result} <= {FLOAT, HALF}:
        return 2, 1
    loaded, stored = target.vector_width(element), target.vector_width(result)
    width = min(2 * loaded, stored)
    return max(width // min(width, loaded), 1), width


def scaled_add(element: Element, elements: int, target: Target, *, constant: bool = False) -> int:
    """Return the tile cycles of `y += scale * x`: `ScaledAdd` with a single element type.

    Args:
        element: FLOAT or HALF.
        elements: number of elements.
        target: the machine.
        constant: whether the scale is known when the graph is built.

    Raises:
        ElementTypeError: for other types.

    >>> scaled_add(HALF, 1539, Target(), constant=True)
    1449
    """
    if element not in (FLOAT, HALF):
        raise _refused("scaled_add", element, "FLOAT and HALF")
    cost, width = target.cost, target.vector_width(element)
    rest, own = elements % width, elements // width // target.workers
    launch = cost("scaled_add_launch") + cost(f"scaled_add_{'rest' if rest else 'no_rest'}")
    if not constant:
        launch += cost("scaled_add_variable")
    slots = cost("scaled_add_entry")
    if own:
        slots += cost("scaled_add_first") + (own - 1) * cost("scaled_add_loop")
    if rest:
        left = ("half", "two_halves", "three_halves")[rest - 1] if element is HALF else "float"
        slots += cost(f"scaled_add_{left}")
    return int(launch) + of_tile(int(slots), target)


def dynamic_slice(element: Element, region: int, slices: int, target: Target) -> int:
    """Return the tile cycles of taking slices at offsets known at run time: `DynamicSlice1D`.

    Args:
        element: the element type.
        region: number of elements of a slice.
        slices: number of slices, taken one after another.
        target: the machine.

    >>> dynamic_slice(FLOAT, 600, 4, Target())
    3211
    """
    cost = target.cost
    kind = "slice_bytes" if element.size_bytes == 1 else "slice"
    if element.size_bytes == 1:
        width = int(cost("bytes_at_once"))
    else:
        width = target.vector_width(HALF if element is HALF else FLOAT)
    # An element of 64 bits counts as two of 32.
    own = share(region * max(1, element.size_bytes // FLOAT.size_bytes), target)
    each = cost(f"{kind}_each") + own // width * cost("slice_loop")
    slots = int(cost(f"{kind}_entry") + slices * each)
    return int(cost("slice_launch")) + of_tile(slots, target)


def multi_slice(element: Element, region: int, inside: int, outside: int, target: Target) -> int:
    """Return the tile cycles of gathering slices by a list of offsets: `MultiSlice`.

    Args:
        element: the element type, of up to 32 bits.
        region: elements of a slice.
        inside: offsets of the busiest worker whose slice is on the tile.
        outside: its other offsets.
        target: the machine.

    Raises:
        ElementTypeError: for a type of 64 bits.

    >>> multi_slice(FLOAT, 64, 10, 100, Target())
    9960
    """
    if element.size_bytes not in SIZES:
        raise _refused("multi_slice", element, "types of up to 32 bits")
    cost = target.cost
    if element.size_bytes == 1:
        width, loop = int(cost("bytes_at_once")), cost("multi_slice_bytes_loop")
    else:
        width, loop = target.vector_width(FLOAT), cost("multi_slice_loop")
    each = cost("multi_slice_each") + -(-region // width) * loop
    slots = cost("multi_slice_entry") + inside * each + outside * cost("multi_slice_outside")
    return target.workers * int(slots)


def cholesky(rows: int, target: Target) -> int:
    """Return the tile cycles of one worker that factors a matrix of FLOAT: `Cholesky`.

    These are cycles of the tile. PopLibs' own simulator takes them for slots, six times too many:
    each term of its fit of `TriangularInverse` is six times the slots that it counted before it was
    fitted to the machine.

    Args:
        rows: number of rows of the matrix.
        target: the machine.

    >>> cholesky(16, Target())
    31926
    """
    cost = target.cost
    terms = ("cholesky_entry", "cholesky_row", "cholesky_square", "cholesky_cube")
    return int(sum(cost(term) * rows**power for power, term in enumerate(terms)))


def triangular_solve(rows: int, target: Target, *, lower: bool) -> int:
    """Return the tile cycles of one worker that solves for a column of FLOAT: `TriangularSolve`.

    Like those of `cholesky`, these are cycles of the tile.

    Args:
        rows: number of rows of the triangle, whose diagonal is 1.
        target: the machine.
        lower: whether it is a lower triangle.

    >>> triangular_solve(16, Target(), lower=True), triangular_solve(16, Target(), lower=False)
    (3138, 4398)
    """
    cost, kind = target.cost, "lower" if lower else "upper"
    growing = (cost(f"solve_{kind}_square") * rows + cost(f"solve_{kind}_row")) * rows
    besides = -cost("solve_lower_less") if lower else cost("solve_upper_entry")
    return max(0, int(growing + besides))


def _refused(what: str, element: Element, known: str) -> ElementTypeError:
    return ElementTypeError(
        f"there is no estimate for '{what}' of {element!r}",
        found=f"there are estimates for {known}",
        fix="write a cycles method that returns its own cycles, or none",
    )


# -- rows of a table, on one worker each -----------------------------------------------------------


LIST_ENTRY = 30
"""Slots to start sorting indices."""

LIST_INDEX = 20
"""Slots to sort an index, which is divided twice, and stored with its place."""

LIST_OWNER = 9
"""Slots of an owner, in the loops over all of them."""

LISTED_LIST = 10
"""Slots to find an owner's part of a list."""

CHECK_ENTRY = 10
"""Slots to start checking indices."""

CHECK_INDEX = 3
"""Slots to check an index."""


def check_rows(indices: int) -> int:
    """Return the slots of checking that indices are in range.

    Args:
        indices: number of indices of the worker.

    >>> check_rows(100)
    310
    """
    return CHECK_ENTRY + indices * CHECK_INDEX


def gather_rows(element: Element, indices: int, width: int, target: Target) -> int:
    """Return the slots of `MultiSlice` if all indices are in range.

    Args:
        element: the element type.
        indices: number of indices of the worker.
        width: number of elements of a row.
        target: the machine.

    >>> from poplite.types import FLOAT
    >>> gather_rows(FLOAT, 10, 4, Target())
    260
    """
    if element.size_bytes > UNSIGNED_INT.size_bytes:
        element, width = UNSIGNED_INT, 2 * width
    return multi_slice(element, width, indices, 0, target) // target.workers


def update_rows(element: Element, inside: int, outside: int, width: int, target: Target) -> int:
    """Return the slots of `MultiUpdateAdd`.

    Args:
        element: the element type.
        inside: number of indices of rows that the worker has.
        outside: number of other indices, which it reads and skips.
        width: number of elements of a row.
        target: the machine.

    >>> from poplite.types import FLOAT
    >>> update_rows(FLOAT, 2, 8, 4, Target())
    115
    """
    cost = target.cost
    atoms = max(1, -(-width * element.size_bytes // UNSIGNED_INT.size_bytes))
    each = cost("multi_update_each") + cost("multi_update_loop") * (atoms - 1)
    slots = cost("multi_update_entry") + inside * each + outside * cost("multi_update_outside")
    return int(slots)


def list_rows(indices: int, owners: int) -> int:
    """Return the slots of sorting indices by owner.

    Args:
        indices: number of indices of the worker.
        owners: number of owners of rows.

    >>> list_rows(100, 10)
    2120
    """
    return LIST_ENTRY + indices * LIST_INDEX + owners * LIST_OWNER


def update_listed(
    element: Element, indices: int, owners: int, lists: int, width: int, target: Target
) -> int:
    """Return the slots of updating the rows that lists hold for one owner.

    Args:
        element: the element type.
        indices: number of indices of all owners, assumed to be spread evenly.
        owners: number of owners.
        lists: number of parts of the list.
        width: number of elements of a row.
        target: the machine.

    >>> from poplite.types import FLOAT
    >>> update_listed(FLOAT, 1000, 10, 2, 4, Target())
    2153
    """
    inside = -(-indices // max(1, owners))
    return update_rows(element, inside, 0, width, target) + LISTED_LIST * lists


# -- maps ------------------------------------------------------------------------------------------
# The cost of an operation alone is its loop without the loads of its operands, which are words of
# 64 bits; the store of a result counts with the operation that computes it::
#
#     tanh(a * b + c) of FLOAT     multiply     3 slots for 2 elements, 2 of them loads     1
#                                  add          3, 2 of them loads                          1
#                                  tanh        12, 1 of them a load                        11
#                                  a, b, c                                                  3
#                                              for 2 elements                              16
#
# So a single operation costs what its own vertex does in PopLibs, and several together never more
# than their vertices without the stores and loads in between. The worker enters its loop once, at
# the cost of the vertex whose entry takes longest.
#
# Source: PopLibs, UnaryOp1D and 2D, BinaryOp1D and 2D, BroadcastScalar1D and 2D,
# BroadcastVectorInner and Outer, Select, Clamp and Cast in `lib/popops/popopsCycleEstimators.cpp`;
# PopLibs' own estimate of fused maps (`ExpressionGenerator.cpp`) is not used: it counts each
# operation, whether a tanh or a sum, as one slot for a vector.
#
# One row combined with several uses `BroadcastVectorInner2D`, which PopLibs has for HALF, if rows
# are whole vectors of 64 bits, and for divisions; sums and products of FLOAT use `BinaryOp` with
# copies of the row, as do rows of other lengths::
#
#     >>> inner(Joined("add", HALF, 6, 64), Target())     # 12 + 8 * (13 + 6 * 2)
#     212
#     >>> inner(Joined("add", FLOAT, 6, 64), Target()) is None
#     True
#
# Its sources are the comments of `lib/popops/ElementWise.cpp` for the choice, and the functions
# `vectorInner...CoreCycles` of `lib/popops/popopsCycleEstimators.cpp` for the slots.

EIGHT = 8
"""Halves that the accumulators add at once."""

FOUR = 4
"""Halves in 64 bits."""


class Joined(NamedTuple):
    """An operation that combines each of several rows with one row.

    Attributes:
        operation: name of the operation, as in `poplite.machine.library_cycles.BINARY`.
        element: the element type.
        rows: number of rows.
        columns: number of elements of each.
        in_place: whether the results replace the rows.
    """

    operation: str
    element: Element
    rows: int
    columns: int
    in_place: bool = False


def inner(joined: Joined, target: Target) -> int | None:
    """Return a worker's slots after its entry; None if PopLibs uses a different vertex.

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
    """Return the slots of a worker's entry.

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
        return None  # odd rows of HALF: their estimate differs from row to row
    if columns % 2:
        each = cost("inner_divide_pair") + rows * cost("inner_divide_odd_loop")
        return int(cost("inner_divide_odd") + columns * each)
    half = "_half" if element is HALF else ""
    each = cost("inner_divide_pair") + rows * cost(f"inner_divide{half}_loop")
    return int(cost(f"inner_divide{half}") + columns // 2 * each)


# -- fused maps ------------------------------------------------------------------------------------


class MapOperation(NamedTuple):
    """An operation of a map.

    Attributes:
        operation: name of the operation, as in the tables of `poplite.machine.library_cycles`, or
            "cast".
        element: the element type of its operands.
        result: the element type of its result.
        operands: a letter for each: "v" for a vector, "r" for one row common to all rows, "c" for a
            number for each row, "n" for one number.
    """

    operation: str
    element: Element
    result: Element
    operands: str

    @property
    def kind(self) -> str:
        """The kind of its result: a vector, a number for each row, or one number."""
        return next(each for each in ("v", "c", "n") if each in self.operands.replace("r", "v"))

    @property
    def vectors(self) -> int:
        """How many operands are vectors or rows."""
        return len(self.operands) - self.operands.count("c") - self.operands.count("n")


class Pass(NamedTuple):
    """One iteration of a loop.

    Attributes:
        slots: number of slots, with loads and the store.
        elements: number of elements computed.
    """

    slots: int
    elements: int


def is_priced(step: MapOperation) -> bool:
    """Return whether PopLibs has an estimate for an operation.

    >>> is_priced(MapOperation("tanh", FLOAT, FLOAT, "v"))
    True
    >>> is_priced(MapOperation("acos", FLOAT, FLOAT, "v"))
    False
    """
    return step.operation == "cast" or _map_loop(step, in_place=False) is not None


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
    """Return the loop of an operation in its own vertex.

    Args:
        step: an operation that `is_priced`.
        target: the machine.
        in_place: whether its result replaces its first operand.
    """
    if step.operation == "cast":
        return Pass(*cast_loop(step.element, step.result, target))
    loop = _map_loop(step, in_place)
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
        loads: the element types of the vectors that it loads; if none, that of its result.
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
    # Ranges are charged to the operations that use a row or a column; if there are none, to all.
    with_rows = [step for step in made if {*step.operands} & {"r", "c"}]
    listed = {*(with_rows or made)} if is_listed else set[MapOperation]()
    inners = {
        step: (
            inner_entry(joined, target),
            slots - len(rows) * map_words(rows[0], step.element, target),
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
    """Return a lower bound on the slots of a map, for any division into ranges.

    Args:
        elements: total number of elements of all ranges.
        steps: its operations.
        loads: the element types of the vectors that it loads; if none, that of its result.
        target: the machine.

    >>> steps = [MapOperation("add", FLOAT, FLOAT, "vr")]
    >>> least_slots(256, steps, [FLOAT], Target()), map_slots([16] * 16, steps, [FLOAT], Target())
    (389, 413)
    """
    made = [  # without those that may use the shorter loop for several rows with one
        step
        for step in steps
        if (joined := _joined(step, [EIGHT] * 2, in_place=False)) is None
        or inner(joined, target) is None
    ]
    if not made:
        return sum(map_words(elements, each, target) for each in loads)
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
        elements: number of elements of each.
        target: the machine.
        in_place: whether the result of a single operation replaces its first operand.

    >>> steps = [MapOperation(each, FLOAT, FLOAT, "vv") for each in ("multiply", "add")]
    >>> fused(steps, [FLOAT] * 3, 256, Target())  # 5 slots for 2 elements
    640
    """
    slots = sum(map_words(elements, each, target) for each in loads)
    for step in steps:
        own = turn(step, target, in_place=in_place)
        loaded = step.operands.count("v") * map_words(elements, step.element, target)
        slots += -(-elements // own.elements) * own.slots - loaded
    return slots


def map_words(elements: int, element: Element, target: Target) -> int:
    """Return the number of 64-bit words of a vector, each one load.

    Args:
        elements: number of elements.
        element: the element type.
        target: the machine.

    >>> map_words(5, FLOAT, Target())
    3
    """
    return -(-elements // target.vector_width(element))


def _map_loop(step: MapOperation, in_place: bool) -> LibraryLoop | None:
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
    """Return an operation of vectors with one row, which must be second unless it commutes."""
    is_first = step.operands == "rv" and step.operation in ("add", "multiply")
    if not (step.operands == "vr" or is_first) or not rows:
        return None
    return Joined(step.operation, step.element, len(rows), rows[0], in_place)


def _is_outer(step: MapOperation) -> bool:
    """Return whether assembly code combines a number for each row with the row."""
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
