"""Counts by bin, of whole numbers or of numbers between edges, and positions among sorted numbers.

    search    SearchSorted     positions of a share of the numbers in a part of the sorted ones
    parts     a sum            of the positions in all parts, where there are several

    bins      CountBins        the bins of a share of the elements; with weights, AddToBins
    counts    a sum            of all shares

So no element moves farther than to the worker that has its share, and nothing is scanned twice. The
numbers of parts and of shares are those with the fewest modelled cycles, and depend only on shapes
and the machine: so do the bits of sums of weights.
"""

from __future__ import annotations

from collections.abc import Sequence as List
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

import poplite.ops.operands as checks
from poplite.arrays.intervals import Int64
from poplite.errors import ElementTypeError
from poplite.expr.build import apply, cast, reduction, typed_number
from poplite.expr.operand import Operand
from poplite.graph.graph import Graph
from poplite.graph.host_values import check_room
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tile_mapping import TileMapping
from poplite.machine.target import Target
from poplite.ops.operands import INDICES, NUMBERS, Given
from poplite.ops.planning import received_cycles
from poplite.ops.random_numbers import number_of
from poplite.ops.record import map as stored, one_operation, zero
from poplite.ops.slices.dynamic import multi_update_add
from poplite.ops.slices.gather import as_tensor, check_indices, is_strict
from poplite.ops.sorting import ranges
from poplite.program import Execute, Sequence
from poplite.program.recording import recorder
from poplite.text import integer_or_none, items_or_none
from poplite.types import FLOAT, HALF, UNSIGNED_INT
from poplite.vertices.bins import AddToBins, CountBins, SearchSorted, bin_slots, search_slots

Numbers = npt.NDArray[Any]

SHARE = 4
"""Sorted numbers, or the bins of the workers of a tile, may take 1 / SHARE of a tile's memory."""


# -- positions -------------------------------------------------------------------------------------


def searchsorted(
    x: Operand,
    v: Operand,
    side: str = "left",
    *,
    name: str = "searchsorted",
    program: Sequence | None = None,
) -> Tensor:
    """Record steps that find where numbers belong among sorted ones: `numpy.searchsorted`.

    A NaN is greater than all numbers, as in NumPy.

    Args:
        x: numbers in ascending order, of rank 1 and any type except QUARTER.
        v: numbers of the same type and any shape.
        side: "left" for the number of elements that are less than v; "right" for the number of
            those that are less or equal.
        name: the name of the new variable and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        The positions, UNSIGNED_INT with the shape of v, spread over the tiles.

    Raises:
        ElementTypeError: for elements that are not numbers of one type.
        TensorCreationError: for an x whose rank is not 1.
        InvalidOption: for another side.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (4,), "x", mapping=0, initial_value=[1, 3, 3, 8])
    >>> v = graph.add_variable(pl.INT, (3,), "v", mapping=1, initial_value=[3, 0, 9])
    >>> y = searchsorted(x, v, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [1, 0, 4]
    """
    what = "ops.searchsorted"
    sorted_ = checks.operand(what, x, program, "x")
    checks.check_type(what, sorted_, NUMBERS, "x")
    graph = checks.graph_of(what, sorted_, program, v)
    given = checks.own_operand(what, graph, v, program, "v")
    checks.check_placed(sorted_, given)
    if sorted_.rank != 1:
        raise checks.unfit(what, "x", sorted_, "a vector, such as x.flatten()")
    if given.element_type is not sorted_.element_type:
        raise ElementTypeError(
            f"{what}: {checks.called(sorted_)} is {sorted_.element_type!r}, "
            f"{checks.called(given)} is {given.element_type!r}",
            fix=f"ops.cast(v, {sorted_.element_type!r})",
        )
    if not isinstance(side, str) or side not in ("left", "right"):
        raise checks.invalid_value(what, "side", side, '"left" or "right"')
    place = checks.steps_for(what, graph, name, program)
    with one_operation(graph, name, place):
        numbers, values = as_tensor(sorted_, "x", None), as_tensor(given, "v", None)
        return _positions(graph, numbers, values, side == "right")


def _positions(graph: Graph, x: Tensor, v: Tensor, is_right: bool) -> Tensor:
    """Record the search of shares of v in parts of x, and the sum over parts."""
    size, count, target = x.num_elements, v.num_elements, graph.target
    parts = _best_parts(target, size, count, x.element_type.size_bytes)
    shares = max(1, min(count, target.tiles // parts * target.workers))
    part, share = np.divmod(np.arange(parts * shares), shares)
    low, high = (each * count // shares for each in (share, share + 1))
    first, last = (each * size // parts for each in (part, part + 1))
    tile = part * (target.tiles // parts) + share // target.workers
    out = _variable(graph, UNSIGNED_INT, "positions", tile, high - low)
    fields = {
        "x": ranges(x, first, last - first),
        "v": ranges(v, low, high - low),
        "out": ranges(out, part * count + low, high - low),
    }
    if count:
        _execute(graph, "search", SearchSorted, tile, right=is_right, **fields)
    if parts > 1:
        out = stored(reduction("add", out.reshape((parts, count)), 0, False), name="sum")
    return out.reshape(v.shape)


@lru_cache(maxsize=256)
def _best_parts(target: Target, size: int, count: int, element_bytes: int) -> int:
    """Return the cheapest number of parts of the sorted numbers, each of which tiles share."""
    memory, workers = target.tile_memory_bytes // SHARE, target.workers

    def cycles(parts: int) -> float:
        """Return the modelled cycles of receiving both, of searches, and of sums."""
        length, share = -(-size // parts), -(-count // max(1, target.tiles // parts))
        runs = workers * search_slots(-(-share // workers), length)
        added = received_cycles(target, 8 * parts * count / target.tiles) if parts > 1 else 0
        return runs + added + received_cycles(target, (length + share) * element_bytes)

    ways = [1 << k for k in range(target.tiles.bit_length()) if 1 << k <= target.tiles]
    fitting = [parts for parts in ways if -(-size // parts) * element_bytes <= memory]
    return min(fitting or ways[-1:], key=cycles)


def _variable(graph: Graph, element: Any, name: str, tile: Int64, length: Int64) -> Tensor:
    """Return a new variable with so many elements on each tile, in order."""
    mapping = TileMapping(graph.target.tiles, tile, length)
    return graph.add_variable(element, (int(length.sum()),), name, mapping=mapping)


def _execute(graph: Graph, name: str, vertex: Any, tile: Int64, **fields: Any) -> None:
    """Record a compute set of vertices in the open block."""
    work = graph.add_compute_set(name)
    graph.add_vertices(work, vertex, tile=tile, **fields)
    checks.steps_for(name, graph, name, None).add(Execute(work))


# -- bins ------------------------------------------------------------------------------------------


def bincount(
    x: Operand,
    length: int,
    weights: Operand | None = None,
    *,
    out_of_range: str = "error",
    name: str = "bincount",
    program: Sequence | None = None,
) -> Tensor:
    """Record steps that count how often 0, 1, ... occur: `numpy.bincount` of a fixed length.

    With weights, the weights of equal elements are added, in the order of the elements within each
    worker's share, and then of the shares, whose number depends only on shapes and the machine.
    HALF is added in FLOAT and rounded once.

    Args:
        x: INT or UNSIGNED_INT of any shape.
        length: the number of bins, as shapes are fixed in a graph.
        weights: numbers of the shape of x; by default, elements are counted.
        out_of_range: "error" stops the run at an element that is not a bin; "popops" skips it.
        name: the name of the new variable and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        The counts [length], UNSIGNED_INT, or the sums in the type of the weights.

    Raises:
        ElementTypeError: for an x that is not INT or UNSIGNED_INT, or weights that are not numbers.
        TensorCreationError: for weights of another shape.
        SizeOverflowError: for a negative length.
        InvalidOption: for a length that is not an integer, or another `out_of_range`.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (5,), "x", mapping="linear", initial_value=[3, 1, 3, 0, 3])
    >>> y = bincount(x, 4, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [1, 1, 0, 3]
    """
    what = "ops.bincount"
    given = checks.operand(what, x, program, "x")
    checks.check_type(what, given, INDICES, "x")
    graph = checks.graph_of(what, given, program, *([] if weights is None else [weights]))
    count = checks.count_of(what, "length", length)
    added = _weights(what, graph, weights, given, program)
    is_checked = is_strict(what, out_of_range)
    checks.check_placed(given)
    place = checks.steps_for(what, graph, name, program)
    with one_operation(graph, name, place):
        bins = as_tensor(given, "x", None).reinterpret(UNSIGNED_INT)
        if is_checked:
            _check(graph, bins, count)
        parts = None if added is None else as_tensor(added, "weights", None)
        return _counted(graph, bins.flatten(), count, parts)


def histogram(
    x: Operand,
    bins: int | List[float] | Tensor,
    range: tuple[float, float] | None = None,  # noqa: A002  (NumPy's name)
    *,
    name: str = "histogram",
    program: Sequence | None = None,
) -> Tensor:
    """Record steps that count elements between edges: the first result of `numpy.histogram`.

    A bin contains its lower edge, but not its upper one; only the last bin contains both. Elements
    outside all bins, and NaN, are not counted.

    Args:
        x: numbers of any type except QUARTER, of any shape.
        bins: the edges in ascending order, one more than bins, as numbers or a tensor of the type
            of x; or the number of bins of equal width in the range.
        range: the lowest and the highest edge, for a number of bins.
        name: the name of the new variable and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        The counts, UNSIGNED_INT, one for each bin.

    Raises:
        ElementTypeError: for elements that are not numbers, or edges that the type cannot hold.
        InvalidOption: for a number of bins without a range, or edges that do not ascend.
        TensorCreationError: for a tensor of edges of another type, or fewer than two.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> x = graph.add_variable(pl.FLOAT, (4,), "x", mapping=0, initial_value=[0.5, 1.0, 2.5, 3.0])
    >>> y = histogram(x, 3, (0, 3), program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [1, 1, 2]
    """
    what = "ops.histogram"
    given = checks.operand(what, x, program, "x")
    checks.check_type(what, given, NUMBERS, "x")
    tensors = [bins] if isinstance(bins, Tensor) else []
    graph = checks.graph_of(what, given, program, *tensors)
    edges = bins if isinstance(bins, Tensor) else _edges(what, graph, bins, range, given)
    for each in tensors:
        checks.own_operand(what, graph, each, program, "bins")
        if each.rank != 1 or each.shape[0] < 2 or each.element_type is not given.element_type:
            raise checks.unfit(what, "bins", each, f"two edges of {given.element_type!r} or more")
    checks.check_placed(given, *tensors)
    place = checks.steps_for(what, graph, name, program)
    with one_operation(graph, name, place):
        if not isinstance(edges, Tensor):
            shape = (len(edges),)
            edges = graph.add_constant(given.element_type, shape, edges, "edges", mapping=0)
        values = as_tensor(given, "x", None).flatten()
        count = edges.num_elements - 1
        above = apply("subtract", _positions(graph, edges, values, True), 1)
        own = apply("select", count - 1, above, apply("equal", values, edges[count]))
        return _counted(graph, stored(own, name="x bins"), count, None)


def _edges(what: str, graph: Graph, bins: object, limits: object, x: Given) -> Numbers:
    """Return edges in the type of x, or raise."""
    if integer_or_none(bins) is not None:
        count, ends = checks.count_of(what, "bins", bins, 1), items_or_none(limits)
        if ends is None or len(ends) != 2:
            raise checks.invalid_value(what, "range", limits, "the lowest and the highest edge")
        low, high = (number_of(what, "range", each) for each in ends)
        check_room(graph.space, x.element_type, (count + 1,), f"{what}: bins")
        edges = np.linspace(low, high, count + 1)
    else:
        listed = items_or_none(bins)
        if listed is None or len(listed) < 2:
            raise checks.invalid_value(what, "bins", bins, "a number of bins, or two edges or more")
        edges = np.array([number_of(what, "bins", each) for each in listed])
    if not (np.diff(edges) >= 0).all():
        raise checks.invalid_value(what, "bins", bins, "edges in ascending order")
    whole = [int(edge) if edge.is_integer() else edge for edge in edges.tolist()]
    found: Numbers = np.array([typed_number(each, x.element_type, what).value for each in whole])
    return found


def _weights(
    what: str, graph: Graph, weights: Operand | None, x: Given, program: Sequence | None
) -> Given | None:
    """Return the weights of elements, or raise."""
    if weights is None:
        return None
    found = checks.own_operand(what, graph, weights, program, "weights")
    checks.check_type(what, found, NUMBERS, "weights")
    checks.check_placed(found)
    if found.shape != x.shape:
        raise checks.unfit(what, "weights", found, f"weights of shape {x.shape}")
    return found


def _check(graph: Graph, bins: Tensor, count: int) -> None:
    """Record a check that stops the run at an element that is not a bin."""
    place = checks.steps_for("ops.bincount", graph, "check", None)
    record = recorder(graph, place)
    check_indices(record, bins, count, "bins")
    record.finish(place, "check")


def _counted(graph: Graph, bins: Tensor, length: int, weights: Tensor | None) -> Tensor:
    """Record the counts of shares and their sum; bins that do not exist are skipped."""
    element = UNSIGNED_INT if weights is None else weights.element_type
    wide = FLOAT if element is HALF else element
    shares = _best_shares(graph.target, bins.num_elements, length, wide.size_bytes)
    if not length or not bins.num_elements or not shares:
        return _by_rows(graph, bins, length, weights, element)
    share = np.arange(shares)
    low, high = (each * bins.num_elements // shares for each in (share, share + 1))
    tile = share * graph.target.tiles // shares
    out = _variable(graph, wide, "bins", tile, np.full(shares, length))
    fields = {
        "x": ranges(bins, low, high - low),
        "out": ranges(out, share * length, np.full(shares, length)),
    }
    if weights is not None:
        fields["weights"] = ranges(weights, low, high - low)
    zero(out, name="zero")
    _execute(graph, "count", CountBins if weights is None else AddToBins, tile, **fields)
    total = reduction("add", out.reshape((shares, length)), 0, False)
    return stored(cast(total, element), name="counts")


def _by_rows(
    graph: Graph, bins: Tensor, length: int, weights: Tensor | None, element: Any
) -> Tensor:
    """Record the counts as additions to rows of a table of one column, which has any length."""
    made = graph.add_variable(element, (length,), "counts", mapping="linear")
    if not length:
        return made
    zero(made, name="zero")
    if bins.num_elements:
        one = graph.add_constant(element, (1,), 1, "one", mapping=0)
        rows = one.broadcast(bins.num_elements, 0) if weights is None else weights.flatten()
        multi_update_add(made, rows, bins, out_of_range="popops", name="add")
    return made


@lru_cache(maxsize=256)
def _best_shares(target: Target, size: int, length: int, element_bytes: int) -> int:
    """Return the cheapest number of shares of the elements; 0 for more bins than elements."""
    tiles, workers = target.tiles, target.workers
    if length > size:
        return 0

    def cycles(shares: int) -> float:
        """Return the modelled cycles of counting, and of zeros and sums over shares."""
        runs = workers * bin_slots(-(-size // shares))
        added = shares * length / tiles
        received = (added + size / tiles) * element_bytes
        return runs + 3 * added + received_cycles(target, received, 2)

    ways = {1 << k for k in range((tiles * workers).bit_length())} | {tiles, tiles * workers}
    memory = target.tile_memory_bytes // SHARE
    fitting = [
        shares
        for shares in ways
        if -(-shares // tiles) * length * element_bytes <= memory and shares <= tiles * workers
    ]
    return min(sorted(fitting), key=cycles, default=0)
