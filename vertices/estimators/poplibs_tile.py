"""The cycles of vertices for all workers by PopLibs' estimators, with launches of their own.

As `poplite.vertices.estimators.poplibs`, but in cycles of the tile; each vertex launches workers in
its own way.

    >>> scaled_add(FLOAT, 1536, Target())          # 57 cycles to launch, and 6 * 406
    2493
"""

from __future__ import annotations

from poplite.errors import ElementTypeError
from poplite.machine.target import Target
from poplite.types import CHAR, FLOAT, HALF, INT, LONGLONG, SHORT, UNSIGNED_LONGLONG
from poplite.vertices.estimators.poplibs import Element, of_tile, share

SIZES = (1, 2, 4)
"""Bytes of the elements that `multi_slice` moves."""

SIGNED = (INT, CHAR, SHORT)
"""Types whose sign a cast to 64 bits repeats."""


def cast(element: Element, result: Element, elements: int, target: Target) -> int:
    """Return the tile cycles of converting elements: `Cast1D`.

    Args:
        element: the element type, of 16 or 32 bits.
        result: the element type of the results, likewise.
        elements: how many.
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
    """Return the slots of one turn of the loop of a `Cast`, and how many elements it makes.

    Args:
        element: the element type.
        result: that of the results.
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
    """Return the tile cycles of `y += scale * x`: `ScaledAdd` of one type.

    Args:
        element: FLOAT or HALF.
        elements: how many.
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
    """Return the tile cycles of taking slices at offsets that are data: `DynamicSlice1D`.

    Args:
        element: the element type.
        region: elements of a slice.
        slices: how many, one after the other.
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

    They are of the tile, though PopLibs' own simulator takes them for slots, and so six times as
    long: its fit of `TriangularInverse` is to the last term six times the slots that it counted
    before it was fitted to the machine.

    Args:
        rows: of the matrix.
        target: the machine.

    >>> cholesky(16, Target())
    31926
    """
    cost = target.cost
    terms = ("cholesky_entry", "cholesky_row", "cholesky_square", "cholesky_cube")
    return int(sum(cost(term) * rows**power for power, term in enumerate(terms)))


def triangular_solve(rows: int, target: Target, *, lower: bool) -> int:
    """Return the tile cycles of one worker that solves for a column of FLOAT: `TriangularSolve`.

    As those of `cholesky` they are of the tile.

    Args:
        rows: of the triangle, whose diagonal is 1.
        target: the machine.
        lower: which triangle.

    >>> triangular_solve(16, Target(), lower=True), triangular_solve(16, Target(), lower=False)
    (3138, 4398)
    """
    cost, kind = target.cost, "lower" if lower else "upper"
    growing = (cost(f"solve_{kind}_square") * rows + cost(f"solve_{kind}_row")) * rows
    besides = -cost("solve_lower_less") if lower else cost("solve_upper_entry")
    return max(0, int(growing + besides))


def _refused(what: str, element: Element, known: str) -> ElementTypeError:
    return ElementTypeError(
        f"no estimate of '{what}' of {element!r}",
        found=f"there is one of {known}",
        fix="a cycles method that returns cycles of its own, or none",
    )
