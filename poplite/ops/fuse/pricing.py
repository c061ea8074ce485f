"""Predicted cycles of generated vertices: the lines of their bodies, the data gathered for them.

    v0 = a0 * a1        ("multiply", FLOAT, FLOAT, "vv")      both operands are vectors
    v1 = v0 + k0        ("add", FLOAT, FLOAT, "vn")           the second operand is one number

Maps, sums of products and the choice of stored values (`poplite.ops.fuse.storing`) use these
prices, which are those of PopLibs' own vertices. Operations without a published price have no
price; vertices with such an operation are estimated from their compiled code.

Data that a vertex reads from several places of its tile are copied row by row and priced as in
`poplite.cost.moved_data`. Repeated elements are also copied, once for each vertex that reads
different elements::

    two columns of rows of five              0 1 | 5 6 | 10 11         rows of two
    a column next to a matrix of 2 columns   0 | 0 1 | 1 2 | 2         rows of two
    next to a matrix of 4 columns            0 | 0 | 0 | 0 1 | 1 | 1   rows of 1 and 2 alternately
    a matrix, transposed                     0 | 5 | 10 | 1 | 6 | 11   single elements at distances
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from poplite.arrays.intervals import Int64, Mask, overlay, repeated
from poplite.arrays.series import Digit
from poplite.expr.tree import ElementClass
from poplite.graph.tile_mapping import TileMapping
from poplite.machine.target import Target
from poplite.ops.fuse.recipe import Body, Line, OperandPart, ReductionRecipe
from poplite.ops.planning import received_cycles
from poplite.types import BOOL, FLOAT, HALF, INT
from poplite.vertices.estimators import MapOperation, Slots, is_priced, own_slots

Found = TypeVar("Found")

_NAMES = {
    "absolute": "abs",
    "bitwise_and": "bit_and",
    "bitwise_not": "bit_not",
    "bitwise_or": "bit_or",
    "bitwise_xnor": "bit_xnor",
    "bitwise_xor": "bit_xor",
    "count_leading_zeros": "leading_zeros",
    "divide_trunc": "divide",
    "floor_divide": "divide",
    "logical_and": "and",
    "logical_not": "not",
    "logical_or": "or",
    "logical_xor": "not_equal",
    "negative": "negate",
    "reciprocal": "inverse",
    "remainder_trunc": "remainder",
    "round": "nearby_int",
    "round_half_away": "round",
    "shift_left": "left_shift",
    "shift_right": "right_shift",
    "shift_right_logical": "right_shift",
    "sign_popops": "sign",
    "sqrt_trunc": "sqrt",
}
"""Operations that have different names in PopLibs' tables."""

_OF_BOOL = {
    "bitwise_and": "and",
    "bitwise_not": "not",
    "bitwise_or": "or",
    "bitwise_xnor": "equal",
    "bitwise_xor": "not_equal",
}
"""The names of bitwise operations on truth values."""

UNKNOWN_SLOTS = 100
"""Slots of an operation that is not in PopLibs' tables; all of these are function calls."""

KINDS = {
    OperandPart.ELEMENTS: "v",
    OperandPart.ROWS: "v",
    OperandPart.ROW: "r",
    OperandPart.COLUMN: "c",
    OperandPart.NUMBER: "n",
}
"""The letter for an operand in `poplite.vertices.estimators.MapOperation`."""


def step_of(
    operation: str, element: ElementClass, result: ElementClass, operands: str
) -> MapOperation | None:
    """Return an operation under its name in PopLibs' tables; None if it has no price.

    >>> from poplite.types import FLOAT
    >>> step_of("negative", FLOAT, FLOAT, "v").operation
    'negate'
    """
    name = _NAMES.get(operation, operation)
    if element is BOOL:
        name = _OF_BOOL.get(operation, name)
    elif operation == "shift_right" and element.dtype.kind == "i":
        name = "right_shift_signed"
    elif operation == "floor_divide" and element.is_floating_point:
        return None
    step = MapOperation(name, element, result, operands)
    return step if is_priced(step) else None


def walked(body: Body, kinds: Sequence[str]) -> Iterator[MapOperation]:
    """Yield the lines of a body as steps, with the names of `poplite.ops`.

    `kinds` contains a letter of `KINDS` for each tensor: the part of it that a vertex reads.
    """
    types = body.types()
    known = {f"a{n}": kind for n, kind in enumerate(kinds)}
    known |= dict.fromkeys((f"k{n}" for n in range(len(body.numbers))), "n")
    for number, line in enumerate(body.lines):
        operands = "".join([known[each] for each in line.operands])
        step = MapOperation(line.operation, types[line.operands[0]], line.element_type, operands)
        known[f"v{number}"] = step.kind
        yield step


def steps_of(body: Body, kinds: Sequence[str]) -> list[MapOperation] | None:
    """Return the lines of a body as operations of PopLibs' tables; None if one has no price.

    >>> from poplite.ops.fuse.recipe import Line
    >>> from poplite.types import FLOAT
    >>> body = Body((Line("negative", FLOAT, ("a0",)),), "v0", (FLOAT,), ())
    >>> [(step.operation, step.operands) for step in steps_of(body, "v")]
    [('negate', 'v')]
    """
    made: list[MapOperation] = []
    for each in walked(body, kinds):
        step = step_of(*each)
        if step is None:
            return None
        made.append(step)
    return made


@lru_cache(maxsize=1 << 10)
def slots_of(operation: str, element: ElementClass, result: ElementClass, operands: str) -> float:
    """Return the slots of an operation for 64 bits of its operands, without their loads.

    Types for which PopLibs has no vertices are priced like INT.

    >>> from poplite.types import FLOAT
    >>> slots_of("add", FLOAT, FLOAT, "vv"), slots_of("acos", FLOAT, FLOAT, "v")
    (1.0, 100)
    """
    for like in (element, element if element.is_floating_point else INT):
        step = step_of(operation, like, result, operands)
        if step is not None:
            width = max(1, 8 // element.size_bytes) / max(1, 8 // like.size_bytes)
            return own_slots(step, Target(tiles=1)) * width
    return UNKNOWN_SLOTS


def is_float_operation(step: MapOperation) -> bool:
    """Return whether a step is a floating-point operation: no comparison, conversion or choice."""
    return step.result.is_floating_point and step.operation not in ("cast", "select")


# -- computation of reduced elements ---------------------------------------------------------------
# The slots of a reduction for computing an element, in addition to combining it.
#
#     sum(x * y)      one load of x or y, besides that of the reduction; one multiplication
#     sum(x ** 2)     no additional slots: PopLibs' `SQUARE_ADD` takes as long as its `ADD`
#     x @ y of HALF   one load and one multiplication of four elements, without a cast to FLOAT
#
# Operands are loaded once, by 64-bit words; operations take the slots that they take in a map
# (`poplite.ops.fuse.pricing`). Operations that are not in PopLibs' tables have no price here;
# vertices with such an operation are priced by their compiled code.


WORD = 8
"""Bytes of a load."""


class Computed(NamedTuple):
    """The computation of each element of a reduction, in addition to combining it.

    Attributes:
        joined: the element type that is combined; accumulators may square or widen it themselves.
        slots: number of slots per element.
        flops: number of operations per element.
    """

    joined: ElementClass
    slots: float
    flops: int

    @property
    def with_join(self) -> float:
        """Number of slots per element, including combining it."""
        return self.slots + _joined(self.joined) / WORD


def computed_of(recipe: ReductionRecipe) -> Computed | None:
    """Return the computation for each element of a reduction; None if an operation has no price.

    >>> from poplite.ops.fuse.recipe import Body
    >>> lines = Line("subtract", FLOAT, ("a0", "a1")), Line("square", FLOAT, ("v0",))
    >>> body = Body(lines, "v1", (FLOAT, FLOAT), ())
    >>> computed_of(ReductionRecipe(body, (), "add", FLOAT, is_columns=False))
    Computed(joined=FLOAT, slots=1.0, flops=2)
    """
    body, types = recipe.body, recipe.body.types()
    kinds = ["n" if n in recipe.scalars else "v" for n in range(len(body.tensors))]
    steps, joined = [*walked(body, kinds)], body.result
    flops = sum(map(is_float_operation, steps))
    if recipe.how == "add":
        steps, joined = _before_accumulators(body, steps)
    slots = _loads(recipe, types[joined])
    for step in steps:
        own = _slots(step)
        if own is None:
            return None
        slots += own
    return Computed(types[joined], slots, flops)


def _before_accumulators(body: Body, steps: list[MapOperation]) -> tuple[list[MapOperation], str]:
    """Return the operations before accumulators, and the operation that accumulators perform.

    Accumulators can add squares, add HALF to FLOAT, and add products of HALF (`f16v4cmac`).
    """
    lines, types, joined = [*body.lines], body.types(), body.result
    for is_done in (_squares, _widens):
        if lines and joined == f"v{len(lines) - 1}" and is_done(lines[-1], types):
            joined = lines.pop().operands[0]
    steps = steps[: len(lines)]
    if lines and joined == f"v{len(lines) - 1}" and (wide := _widened(lines, types)):
        product = MapOperation("multiply", HALF, HALF, steps[-1].operands)
        steps = [step for n, step in enumerate(steps[:-1]) if f"v{n}" not in wide]
        return [*steps, product], wide[lines[-1].operands[0]]
    return steps, joined


def _widened(lines: Sequence[Line], types: Mapping[str, ElementClass]) -> dict[str, str]:
    """Return the casts from HALF that only the product in the last line uses, by name there."""
    *others, last = lines
    casts = {f"v{n}": line.operands[0] for n, line in enumerate(others) if _widens(line, types)}
    read = {name for line in others for name in line.operands}
    if last.operation != "multiply" or not {*last.operands} <= casts.keys() - read:
        return {}
    return {name: casts[name] for name in last.operands}


def _squares(line: Line, types: Mapping[str, ElementClass]) -> bool:
    is_square = line.operation == "square" or (
        line.operation == "multiply" and line.operands[0] == line.operands[1]
    )
    return is_square and types[line.operands[0]] in (FLOAT, HALF)


def _widens(line: Line, types: Mapping[str, ElementClass]) -> bool:
    is_from_half = line.operation == "cast" and types[line.operands[0]] is HALF
    return is_from_half and line.element_type is FLOAT


def _joined(element: ElementClass) -> int:
    """Return the bytes of an element that a reduction loads; other types are loaded one by one."""
    return element.size_bytes if element in (FLOAT, HALF) else WORD


def _loads(recipe: ReductionRecipe, joined: ElementClass) -> float:
    """Return the slots for loading an element of each operand, without the reduction's own load."""
    tensors = enumerate(recipe.body.tensors)
    loaded = sum(each.size_bytes for n, each in tensors if n not in recipe.scalars)
    return max(0, loaded - _joined(joined)) / WORD


def _slots(step: MapOperation) -> float | None:
    """Return the slots of an operation per element; 0 if it has only numbers as operands."""
    found, target = step_of(*step), Target(tiles=1)
    if found is None:
        return None
    if step.kind == "n":
        return 0
    return own_slots(found, target) / target.vector_width(found.element)


# -- the cheaper of two ways -----------------------------------------------------------------------
# Exact prices are expensive, so each way yields a lower bound first, then ever tighter bounds.


class Remembered(Generic[Found]):
    """A bounded cache of results, by everything that they depend on.

    >>> known = Remembered[int](most=1)
    >>> [known.of(key, [].__len__) for key in ("a", "a", "b", None)]
    [0, 0, 0, 0]
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: dict[object, Found] = {}

    def of(self, key: object, find: Callable[[], Found]) -> Found:
        """Return the cached value of a key, or compute it; with None as key, it is not cached."""
        if key is None:
            return find()
        found = self._found.get(key)
        if found is None:
            if len(self._found) >= self._most:
                self._found.clear()
            found = self._found[key] = find()
        return found


class Bound(NamedTuple):
    """A lower bound on the cycles of a way; `is_exact` if it is exact."""

    cycles: float
    is_exact: bool = False

    def and_also(self, cycles: float) -> Bound:
        """Return the bound of a way that takes additional cycles."""
        return self._replace(cycles=self.cycles + cycles)

    def __str__(self) -> str:
        return f"{'' if self.is_exact else 'at least '}{self.cycles:,.0f}"


def followed(bounds: Iterator[Bound], cycles: Callable[[], float]) -> Iterator[Bound]:
    """Yield the bounds of a way followed by a step, whose cycles are added to the exact bound."""
    for each in bounds:
        yield each.and_also(cycles()) if each.is_exact else each


def compared(one: Iterator[Bound], other: Iterator[Bound]) -> tuple[Bound, Bound]:
    """Return bounds on the cycles of two ways, tight enough to know which takes fewer.

    Args:
        one: ascending bounds of the first way, which wins a tie; the last bound is exact.
        other: the bounds of the second way.

    >>> ways = [Bound(3), Bound(4, True)], [Bound(2), Bound(5), Bound(9, True)]
    >>> [str(each) for each in compared(*map(iter, ways))]
    ['4', 'at least 5']
    """
    a, b = next(one), next(other)
    while not (a if a.cycles <= b.cycles else b).is_exact:
        if a.cycles <= b.cycles:
            a = next(one)
        else:
            b = next(other)
    return a, b


# -- gathering -------------------------------------------------------------------------------------


class HeldShare(NamedTuple):
    """The fraction of a tensor that is on the tiles that read it.

    Attributes:
        share: the largest fraction of the tensor on one tile.
        tiles: the tiles that hold elements of it; None if each tile holds the elements it reads.
        read: the largest fraction of the tensor that a tile reads, if tiles read different parts.
        mapping: the mapping of the tensor; None if each tile holds the elements it reads.
    """

    share: float
    tiles: tuple[int, ...] | None = None
    read: float = 1
    mapping: TileMapping | None = None

    def of(self, digits: Sequence[Digit], size_bytes: int, *, is_in_order: bool) -> ReadOperand:
        """Return the elements that vertices read from the tensor, flattened to the given digits.

        `is_in_order` means that these are all elements of the tensor, in their own order.
        """
        is_read_by_all = len(digits) > 0 and digits[0][1] == 0
        share = self.share if is_read_by_all else min(1, self.share / self.read)
        mapping = self.mapping if is_in_order else None
        return ReadOperand(tuple(digits), size_bytes, share, self.tiles, mapping)


def held_elements(mapping: TileMapping, tile: Int64, begin: Int64, end: Int64) -> Int64:
    """Return how many elements of each interval of a tensor are on the given tile.

    >>> mapping = TileMapping(2, np.array([0, 1, 0]), np.array([2, 3, 4]))
    >>> held_elements(mapping, np.array([0, 0, 1]), np.array([0, 1, 2]), np.array([2, 6, 4]))
    array([2, 2, 2])
    """
    room = mapping.num_elements + 1  # the elements of a tile follow those of the tile before
    owner = room * np.repeat(np.arange(len(mapping)), np.diff(mapping.ptr))
    first, last = owner + mapping.begin, owner + mapping.end
    before = np.append(0, np.cumsum(last - first))

    def up_to(element: Int64) -> Int64:
        k = np.searchsorted(first, element, "right")
        beyond = np.where(k > 0, last[k - 1] - element, 0)
        return before[k] - np.maximum(beyond, 0)

    held: Int64 = up_to(room * tile + end) - up_to(room * tile + begin)
    return held


def exchange_cycles(
    target: Target, received: Slots | float, pieces: Slots | float, sent: Slots | float = 0
) -> float:
    """Return the cycles of an exchange, given the bytes of a tile and the pieces that it receives.

    For each piece, a tile must change the sender.

    >>> start = Target().cost("sync_cycles") + Target().cost("latency_cycles")
    >>> [exchange_cycles(Target(), 400, pieces) - start for pieces in (1, 100)]
    [100.0, 200.0]
    """
    turned = np.multiply(pieces, target.cost("receive_controls") * target.exchange_bytes_per_cycle)
    most = np.maximum(np.maximum(received, sent), turned).max()
    return float(received_cycles(target, most))


class MovedElements(NamedTuple):
    """The elements exchanged between tiles, by tile.

    Attributes:
        sent: elements for other tiles.
        received: elements from other tiles.
        pieces: the number of contiguous pieces received.
    """

    sent: Slots
    received: Slots
    pieces: Slots


def moves_of(
    tiles: int, owner: Int64, begin: Int64, end: Int64, breaks: Int64, tile: Int64
) -> MovedElements:
    """Return the traffic from the owners of intervals to the tiles of the ranges between breaks.

    >>> breaks = np.array([0, 2, 4])
    >>> moves_of(2, np.array([0]), np.array([1]), np.array([4]), breaks, np.arange(2)).received
    array([0., 2.])
    """
    source, segment, begin, end = overlay(begin, end, breaks)
    moves = owner[source] != tile[segment]
    elements, to = (end - begin)[moves], tile[segment][moves]
    one = np.ones(len(to))
    return MovedElements(
        *[
            np.bincount(at, weights, tiles).astype(np.float64)
            for at, weights in ((owner[source][moves], elements), (to, elements), (to, one))
        ]
    )


def common_share(one: TileMapping, other: TileMapping) -> float:
    """Return the fraction of elements that two tensors of the same shape have on the same tile.

    >>> one, other = (TileMapping(3, np.array([0, k]), np.array([2, 2])) for k in (1, 2))
    >>> common_share(one, other)
    0.5
    """
    begin, end, tile = one.in_order()
    low, high, its = other.in_order()
    source, segment, begin, end = overlay(begin, end, np.append(low, high[-1]))
    return float((end - begin)[tile[source] == its[segment]].sum()) / one.num_elements


class ReadOperand(NamedTuple):
    """The elements that vertices read from a tensor, flattened in the order of reading.

    Attributes:
        digits: extent and stride of each digit, the outermost first.
        size_bytes: size of an element.
        share: the fraction of the elements that a tile holds itself; others are received in place.
        tiles: the tiles that hold elements of the tensor; None for all tiles.
        mapping: the mapping of the elements; None if `share` is enough.
    """

    digits: tuple[Digit, ...]
    size_bytes: int
    share: float = 1
    tiles: tuple[int, ...] | None = None
    mapping: TileMapping | None = None


class VectorReads(NamedTuple):
    """The elements of vectors that vertices read, in a flattened tensor.

    Attributes:
        tile: int64[n], the tile of each vector.
        ptr: int64[n + 1]; vector `v` has the intervals from `ptr[v]` to `ptr[v + 1]`, exclusive.
        begin: int64[m], first elements of the intervals.
        end: int64[m], one past the last.
    """

    tile: Int64
    ptr: Int64
    begin: Int64
    end: Int64

    def held(self, mapping: TileMapping) -> tuple[VectorReads, Slots]:
        """Return the vectors with elements on their tiles, and the fraction of each that is there.

        >>> zero, two = np.zeros(2, np.int64), np.full(2, 2)
        >>> reads = VectorReads(np.arange(2), np.arange(3), zero, two + 2)
        >>> mapping = TileMapping(3, np.array([0, 2]), two)
        >>> [each.tolist() for each in (reads.held(mapping)[0].tile, reads.held(mapping)[1])]
        [[0], [0.5]]
        """
        vector, count = repeated(np.diff(self.ptr))[0], len(self.tile)
        own = held_elements(mapping, self.tile[vector], self.begin, self.end)
        share = _totals(vector, own, count) / _totals(vector, self.end - self.begin, count)
        return self.take(share > 0), share[share > 0]

    def take(self, vectors: Mask) -> VectorReads:
        """Return the vectors selected by a mask."""
        count = np.diff(self.ptr)
        some = np.repeat(vectors, count)
        ptr = np.append(0, np.cumsum(count[vectors]))
        return VectorReads(self.tile[vectors], ptr, self.begin[some], self.end[some])

    def in_memory(self, mapping: TileMapping) -> VectorReads:
        """Return the reads as positions in the memory of each tile, as if it held nothing else.

        >>> zeros, every = np.zeros(3, np.int64), np.arange(0, 6, 2)
        >>> columns = TileMapping(2, np.array([0, 1] * 3), np.ones(6, np.int64))
        >>> VectorReads(zeros, np.arange(4), every, every + 1).in_memory(columns).begin.tolist()
        [0, 1, 2]
        """
        before = np.cumsum(mapping.end - mapping.begin) - (mapping.end - mapping.begin)
        owner = np.repeat(np.arange(len(mapping)), np.diff(mapping.ptr))
        tile, total = np.repeat(self.tile, np.diff(self.ptr)), mapping.num_elements
        held = np.searchsorted(owner * total + mapping.begin, tile * total + self.begin, "right")
        moved = before[held - 1] - mapping.begin[held - 1]
        return self._replace(begin=self.begin + moved, end=self.end + moved)


def gathering_cycles(target: Target, operands: Sequence[tuple[VectorReads, ReadOperand]]) -> float:
    """Return the maximum number of cycles in which a tile gathers the elements its vertices read.

    >>> one, three = np.zeros(1, np.int64), np.array([3])
    >>> column = VectorReads(one, np.array([0, 1]), one, three), ReadOperand(((3, 100),), 4)
    >>> gathering_cycles(Target(), [column]) - Target().cost("worker_call")  # 10 + 2 + 2
    14.0
    """
    cycles = np.zeros(target.tiles)
    for reads, operand in operands:
        cycles += _of_operand(target, reads, operand)
    return float(target.cost("worker_call") + cycles.max()) if cycles.any() else 0


def _of_operand(target: Target, reads: VectorReads, operand: ReadOperand) -> Slots:
    """Return float64[tiles], the cycles of copying the elements of an operand that vertices read.

    Vertices of a tile that read the same elements share one copy.
    """
    share: Slots | float = operand.share
    if operand.tiles is not None:
        reads = reads.take(np.isin(reads.tile, operand.tiles))
    if operand.mapping is not None:
        reads, share = reads.held(operand.mapping)
        is_whole = (share == 1)[repeated(np.diff(reads.ptr))[0]]
        placed = reads.in_memory(operand.mapping)
        begin, end = np.where(is_whole, [placed.begin, placed.end], [reads.begin, reads.end])
        reads = reads._replace(begin=begin, end=end)
    count = len(reads.tile)
    if not count:
        return np.zeros(target.tiles)
    vector, _ = repeated(np.diff(reads.ptr))
    begin, end = reads.begin, reads.end
    length, stride = operand.digits[-1] if operand.digits else (1, 0)
    runs = (end - 1) // length - begin // length + 1
    runs[1:] -= (vector[1:] == vector[:-1]) & (begin[1:] == end[:-1]) & (begin[1:] % length > 0)
    pieces, elements = (_totals(vector, each, count) for each in (runs, end - begin))
    taken = copied_cycles(target, pieces, elements, operand)
    taken *= share  # local elements are copied into place, adjacent to those that arrive
    taken[(elements == 1) | (share == 1) & (pieces == 1) & (stride == 1)] = 0
    first = np.arange(count)
    if any(each == 0 for _, each in operand.digits):
        first = _distinct(reads, operand.digits, pieces <= np.diff(reads.ptr))
    return _totals(reads.tile[first], taken[first], target.tiles)


def _totals(of: Int64, values: Slots | Int64, count: int) -> Slots:
    """Return float64[count], the sum of the values for each index in `of`."""
    return np.bincount(of, values, count).astype(np.float64)


def copied_cycles(target: Target, runs: Slots, elements: Slots, operand: ReadOperand) -> Slots:
    """Return the cycles of copying vectors, given the runs and the elements of each."""
    cost = target.cost
    word = cost("data_path_bytes") / cost("strided_copy_bytes_per_cycle")
    new = cost("copy_piece_cycles") + 1 - word  # for a row at a different distance
    strides = [each for _, each in operand.digits] or [0]
    if strides[-1] == 1:
        size = np.ceil(elements / runs * operand.size_bytes / cost("data_path_bytes"))
        rows = runs * (cost("copy_piece_cycles") + size)
        return np.where(size > 1, rows, runs * word + new)
    if strides[-1] == 0 and strides[-2:-1] in ([], [1]):  # rows of one, and of two between runs
        of_two = np.where(elements == runs, new, (runs + 1) * word + 3 * new)
        mixed = elements * word + runs * (2 * new - word)
        several = np.where(elements <= 2 * runs, of_two, mixed)
        return np.where(runs > 1, several, elements * word + new)
    return elements * word + np.minimum(2 * runs - 1, elements) * new


def _distinct(reads: VectorReads, digits: Sequence[Digit], is_within: Mask) -> Int64:
    """Return one vector for each set of vectors on a tile that read the same elements.

    `is_within` marks the vectors all of whose intervals are within runs.
    """
    period = _period(digits)
    length, stride = digits[-1]
    begin = reads.begin[reads.ptr[:-1]] % period
    begin = np.where(is_within & (stride == 0), begin // length * length, begin)
    read = np.add.reduceat(reads.end - reads.begin, reads.ptr[:-1])
    keys = reads.tile, begin, read, np.diff(reads.ptr)
    order = np.lexsort(keys)
    is_new = np.ones(len(order), np.bool_)
    is_new[1:] = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
    return order[is_new]


def _period(digits: Sequence[Digit]) -> int:
    """Return the number of elements after which an operand repeats.

    >>> _period([(5, 0), (3, 2), (2, 0)])
    6
    """
    extents = [extent for extent, _ in digits]
    outer = next((k for k, (_, stride) in enumerate(digits) if stride), len(digits) - 1)
    return int(np.prod(extents[outer:]))
