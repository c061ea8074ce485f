"""Lifetimes of variables, by liveness analysis over the steps of programs.

    step 0   Execute 'scale'     x -> a          a lives in steps 0 to 1
    step 1   Execute 'add'       a, x -> b       b in steps 1 to 2
    step 2   Copy 'b' -> 'y'                     x and y always

A variable is always live if one of its values may outlast a run: it has initial values or a host
handle, or is constant; a program may read it before writing it; a step writes it and no later step
reads it, so that only the host can; or no program uses it at all. Every other variable is live from
a write to the last read of the value, on any path of control flow, and shares its memory with
variables that are live at other times.

Programs are trees, so one pass up from their leaves and one pass down suffice. For each sub-tree:

    reads     pieces that may be read before it writes them
    ends      pieces that it certainly writes, or makes undefined
    before  = reads | (after & ~ends)            live before it, from the pieces live after it

A program in several places is treated as if control continued from all of them.

A variable is cut into pieces wherever an interval that some step accesses begins or ends. Every
step therefore accesses complete pieces, and a set of pieces is represented by the bits of an
integer::

    variable            x  0        8        16           y  0        4
    Copy(x[8:12], y)                -reads-               -- writes ---
    pieces                 |---0----|--1--|-2-|              |----4----|

    reads of the Copy  0b00010,  writes  0b10000         (piece 3 is the gap between variables)

Vertices are assumed to read everything that their Inputs and InOuts are connected to, and to write
everything that their Outputs and InOuts are connected to.

The accesses of a step are a few intervals, some of which it certainly accesses completely:

    x[2:6]                  may access [2, 6)      certainly [2, 6)
    x[::2] of 10^6          may access [0, 10^6)   certainly nothing

Addresses that would need many intervals are described by a few that contain them, none of which is
certainly accessed: liveness computed from them is still safe.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import chain, pairwise, repeat
from operator import and_, or_
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64, overlay, union
from poplite.frozen import frozen
from poplite.program import (
    Execute,
    If,
    Program,
    Repeat,
    RepeatWhile,
    Step,
    Switch,
    WriteUndef,
    children_first,
    distinct_steps,
)
from poplite.program.control import runs_in_order
from poplite.report.memory import Steps as Stretches
from poplite.view import Storage, View, num_runs, runs, storages

if TYPE_CHECKING:
    from poplite.arrays.series import Digit
    from poplite.graph.compute_sets.compute_set import ComputeSet
    from poplite.graph.compute_sets.edge_table import EdgeTable, FieldEdges
    from poplite.graph.graph import Graph
    from poplite.graph.space import Variable
    from poplite.graph.tensor.tensor import Tensor

LISTED = 4096
"""Maximum number of runs of a view or a field for which intervals are listed."""


class AddressIntervals(NamedTuple):
    """Addresses as sorted, disjoint intervals, none of which are adjacent.

    Attributes:
        begin: int64[n], first addresses.
        end: int64[n], one past the last addresses.
    """

    begin: Int64
    end: Int64


class TouchedAddresses(NamedTuple):
    """Addresses that a step reads, or that it writes.

    Attributes:
        some: intervals that contain all of them.
        all: intervals in which the step accesses every address.
    """

    some: AddressIntervals
    all: AddressIntervals


NONE = AddressIntervals(np.zeros(0, np.int64), np.zeros(0, np.int64))
NOTHING = TouchedAddresses(NONE, NONE)


def of_views(views: Iterable[View]) -> TouchedAddresses:
    """Return the addresses of the given views.

    >>> from poplite.view import all_of
    >>> matrix = all_of(Storage(0, 100, 12), (3, 4))
    >>> [each.tolist() for each in of_views([matrix.slice(1, 2, 0), matrix.slice(2, 3, 0)]).all]
    [[104], [112]]
    """
    return joined([_of_view(view) for view in views if view.num_elements])


def of_edges(table: EdgeTable) -> tuple[TouchedAddresses, TouchedAddresses]:
    """Return the addresses that vertices read and write; no two edges write the same element."""
    reads, writes = [], []
    for part in table.fields:
        if part.field.reads:
            reads.append(_of_edges(part, disjoint=False))
        if part.field.writes:
            writes.append(_of_edges(part, disjoint=True))
    return joined(reads), joined(writes)


def joined(parts: Sequence[TouchedAddresses]) -> TouchedAddresses:
    """Return the union of several sets of addresses."""
    if not parts:
        return NOTHING
    if len(parts) == 1:
        return parts[0]
    return TouchedAddresses(
        _union([part.some for part in parts]),
        _union([part.all for part in parts]),
    )


def _union(parts: Sequence[AddressIntervals]) -> AddressIntervals:
    begin, end = (np.concatenate(side) for side in zip(*parts, strict=True))
    return AddressIntervals(*union(begin, end)) if len(begin) else NONE


def solid(view: View) -> tuple[int, int] | None:
    """Return the interval that a nonempty view covers completely; None if that is not obvious.

    >>> from poplite.view import all_of
    >>> solid(all_of(Storage(0, 100, 12), (3, 4)).slice(1, 2, 0))
    (104, 108)
    """
    space = view.space
    if not isinstance(space, Storage):
        return None
    digits = view.flat_digits()
    if len(digits) == 1 and digits[0][1] == 1:
        first = space.base + view.off
        return first, first + digits[0][0]
    return _span(space.base + view.off, digits) if is_solid(digits) else None


def _of_view(view: View) -> TouchedAddresses:
    span = solid(view)
    if span is not None:
        return _solid(*span)
    if num_runs(view) <= LISTED:
        begin, size = runs(view)
        return _listed(begin, begin + size)
    owners = storages(view)
    begin = np.sort(np.array([storage.base for storage in owners]))
    end = np.sort(np.array([storage.base + storage.num_elements for storage in owners]))
    return TouchedAddresses(AddressIntervals(begin, end), NONE)


def _of_edges(part: FieldEdges, *, disjoint: bool) -> TouchedAddresses:
    """Return the addresses of a field's edges; `disjoint` if no two share an element."""
    edges = part.edges
    if edges.num_vertices == 1 and edges.start is not None and edges.length.count == 1:
        return _solid(edges.start.low, edges.start.low + edges.length.low)
    elements = edges.elements()
    if elements is not None and is_solid(elements.digits):
        return _solid(elements.low, elements.high + 1)
    low, high = part.envelope
    if disjoint and edges.num_elements == high - low:
        return _solid(low, high)
    if elements is not None and elements.count > LISTED:
        return TouchedAddresses(AddressIntervals(np.array([low]), np.array([high])), NONE)
    _, begin, size = part.runs
    return _listed(begin, begin + size)


def _listed(begin: Int64, end: Int64) -> TouchedAddresses:
    intervals = AddressIntervals(*union(begin, end))
    return TouchedAddresses(intervals, intervals)


def _solid(begin: int, end: int) -> TouchedAddresses:
    intervals = AddressIntervals(np.array([begin]), np.array([end]))
    return TouchedAddresses(intervals, intervals)


def _span(first: int, digits: Sequence[Digit]) -> tuple[int, int]:
    reach = [(extent - 1) * stride for extent, stride in digits]
    return first + sum(min(0, r) for r in reach), first + sum(max(0, r) for r in reach) + 1


def is_solid(digits: Sequence[Digit]) -> bool:
    """Return whether addresses with digits (extent, stride) have no gaps.

    >>> is_solid([(3, 4), (4, 1)]), is_solid([(3, 4), (2, 1)]), is_solid([(3, 4), (6, 1)])
    (True, False, True)
    """
    reach = 1
    for extent, stride in sorted(digits, key=lambda digit: abs(digit[1])):
        if extent > 1:
            if abs(stride) > reach:
                return False
            reach += (extent - 1) * abs(stride)
    return True


class IntervalLists:
    """Intervals of many steps, concatenated."""

    def __init__(self) -> None:
        self._leaf, self._begin, self._end = array("q"), array("q"), array("q")

    def add(self, leaf: int, intervals: AddressIntervals) -> None:
        """Add the intervals of a step."""
        begin, end = intervals
        self._begin.frombytes(np.ascontiguousarray(begin).data.cast("B"))
        self._end.frombytes(np.ascontiguousarray(end).data.cast("B"))
        self._leaf.extend(repeat(leaf, len(begin)))

    def add_one(self, leaf: int, begin: int, end: int) -> None:
        """Add one interval, [begin, end), of a step."""
        self._leaf.append(leaf)
        self._begin.append(begin)
        self._end.append(end)

    def ends(self) -> tuple[Int64, Int64]:
        """Return, of each interval, the first address and one past the last address."""
        return _int64(self._begin), _int64(self._end)

    def leaves(self) -> Int64:
        """Return the step number of each interval."""
        return _int64(self._leaf)


def _int64(values: array[int]) -> Int64:
    return np.array(values, np.int64)


MOST_PIECES = 1024
"""Maximum number of pieces of a variable; one with more pieces is not cut at all."""

FEW = 8
"""Maximum number of intervals that are converted to bits one by one.

Justified by benchmarks/compilation.py: `Copy of 10 elements with its costs, of 10,000` takes at
most 100 us.
"""

BLOCK = 1 << 15
"""Approximate number of pieces that are processed at a time; larger sets are slow to copy."""

_Ranges = tuple[Int64, Int64, Int64]
"""For each range: the step number, the first piece, and one past the last piece; int64[n] each."""


@frozen(eq=False)
class Flow:
    """The effect of a part of a program on the live pieces; sets of pieces are bits of integers.

    Attributes:
        reads: pieces that may be read before it writes them.
        ends: pieces that it certainly overwrites completely, or makes undefined.
    """

    reads: int
    ends: int

    def before(self, after: int) -> int:
        """Return the pieces that are live before it, from those that are live after it."""
        return self.reads | (after & ~self.ends)


@frozen(eq=False)
class PieceAccess(Flow):
    """The accesses of a step to pieces.

    Attributes:
        writes: pieces that it writes, wholly or in part.
        is_undefining: whether the values that it writes are undefined.
    """

    writes: int
    is_undefining: bool

    @property
    def touched(self) -> int:
        """Pieces that it reads, or whose values it produces."""
        return self.reads | (0 if self.is_undefining else self.writes)


class AccessedPieces:
    """The pieces that the steps of programs read and write.

    `variables` are those of the graph, by ascending address; `leaves` are the steps, each once, and
    `deciding` the programs whose control flow depends on a scalar, each once. Variables that no
    step and no such program accesses have no pieces.
    """

    def __init__(
        self,
        variables: Sequence[Variable],
        leaves: Iterable[Program],
        deciding: Iterable[Program],
        edges_of: Callable[[ComputeSet], EdgeTable],
    ) -> None:
        self._leaves, self._deciding = list(leaves), list(deciding)
        of_sets: dict[ComputeSet, tuple[TouchedAddresses, TouchedAddresses]] = {}
        reads, writes, covered, scalars = (IntervalLists() for _ in range(4))
        for number, leaf in enumerate(self._leaves):
            read, written = NOTHING, NOTHING
            if isinstance(leaf, Execute):
                if leaf.compute_set not in of_sets:
                    of_sets[leaf.compute_set] = of_edges(edges_of(leaf.compute_set))
                read, written = of_sets[leaf.compute_set]
            _add(number, leaf.reads, read, reads)
            _add(number, leaf.writes, written, writes, covered)
        for number, program in enumerate(self._deciding):
            _add(number, program.reads, NOTHING, scalars)
        bases = np.array([variable.base for variable in variables], np.int64)
        self._numbers = _owners(bases, (reads, writes, scalars))
        self._bases = bases[self._numbers]
        sizes = [variables[number].num_elements for number in self._numbers.tolist()]
        self._ends = self._bases + np.array(sizes, np.int64)
        self._cuts = self._cut([*reads.ends(), *writes.ends()])
        held = [self._held_in(many) for many in (reads, writes, scalars)]
        kinds = *held, self._whole_in(covered)
        bounds = [np.searchsorted(self._cuts, side) for side in (self._bases, self._ends)]
        self._first, self._last = bounds
        starts = self._first[np.flatnonzero(np.diff(self._first // BLOCK, prepend=-1))]
        self._blocks = np.append(starts, len(self._cuts))
        self._kinds = [_by_block(kind, self._blocks) for kind in kinds]

    def blocks(self) -> Iterator[AccessBlock]:
        """Yield the accesses of steps, one block of variables at a time."""
        variable = self._numbers[np.searchsorted(self._bases, self._cuts[:-1], side="right") - 1]
        for number, (low, high) in enumerate(pairwise(self._blocks.tolist())):
            reads, writes, scalars, covered = (_bits(*kind[number], low) for kind in self._kinds)
            access = {
                self._leaves[n]: PieceAccess(
                    reads.get(n, 0),
                    covered.get(n, 0),
                    writes.get(n, 0),
                    isinstance(self._leaves[n], WriteUndef),
                )
                for n in sorted(reads.keys() | writes.keys())
            }
            first, last = self._first, self._last
            own = np.flatnonzero((first >= low) & (first < high))
            columns = self._numbers[own], first[own] - low, last[own] - low
            ranges = np.stack(columns, axis=1).tolist()
            scalar_of = {self._deciding[n]: bits for n, bits in scalars.items()}
            yield AccessBlock(access, variable[low:high].tolist(), ranges, scalar_of)

    def _cut(self, touched: Sequence[Int64]) -> Int64:
        """Return the addresses at which variables are cut, in ascending order."""
        points = _rising(touched)
        owner = np.searchsorted(self._bases, points, side="right") - 1
        fine = np.bincount(owner, minlength=len(self._bases)) <= MOST_PIECES
        return _rising([self._bases, self._ends, points[fine[owner]]])

    def _held_in(self, many: IntervalLists) -> _Ranges:
        """Return the pieces that have at least one element in the given intervals."""
        begin, end = many.ends()
        first = np.searchsorted(self._cuts, begin, side="right") - 1
        return many.leaves(), first, np.searchsorted(self._cuts, end, side="left")

    def _whole_in(self, many: IntervalLists) -> _Ranges:
        """Return the pieces all of whose elements are in the given intervals."""
        begin, end = many.ends()
        first = np.searchsorted(self._cuts, begin, side="left")
        last = np.searchsorted(self._cuts, end, side="right") - 1
        some = first < last
        return many.leaves()[some], first[some], last[some]


class AccessBlock:
    """The accesses of steps to a block of variables, whose pieces are numbered within the block.

    Attributes:
        access: the access of each step that accesses these variables.
        variable: the number of each piece's variable; a gap between variables counts as a piece of
            the variable before it.
        variables: the numbers of all variables, ascending.
    """

    def __init__(
        self,
        access: Mapping[Program, PieceAccess],
        variable: Sequence[int],
        ranges: Iterable[tuple[int, int, int]],
        scalar_of: Mapping[Program, int],
    ) -> None:
        # Each range is the number of a variable, its first piece, and one past its last piece.
        self.access, self.variable, self._scalar_of = access, variable, scalar_of
        self._range = {number: (first, last) for number, first, last in ranges}
        self.variables = tuple(self._range)

    def of_variable(self, number: int) -> int:
        """Return the pieces of the variable with this number."""
        first, last = self._range[number]
        return ((1 << (last - first)) - 1) << first

    def of_scalar(self, program: Program) -> int:
        """Return the piece of the scalar on which a program's control flow depends."""
        return self._scalar_of.get(program, 0)

    def variables_of(self, bits: int) -> list[int]:
        """Return the numbers of the variables that pieces belong to, ascending."""
        return sorted({self.variable[place] for place in places(bits)})


def _add(
    leaf: int,
    tensors: Sequence[Tensor],
    others: TouchedAddresses,
    some: IntervalLists,
    every: IntervalLists | None = None,
) -> None:
    """Add the addresses of tensors and `others` that a step accesses.

    `some` gets all addresses that it may access, `every` those that it certainly accesses.
    """
    views = [tensor.view for tensor in tensors if tensor.num_elements]
    if others is NOTHING and len(views) == 1 and (span := solid(views[0])) is not None:
        for intervals in (some, every):
            if intervals is not None:
                intervals.add_one(leaf, *span)
        return
    found = joined([others, of_views(views)]) if views else others
    some.add(leaf, found.some)
    if every is not None:
        every.add(leaf, found.all)


def _owners(bases: Int64, many: Iterable[IntervalLists]) -> Int64:
    """Return the numbers of the variables that overlap intervals, ascending."""
    begin, end = (np.concatenate(side) for side in zip(*[m.ends() for m in many], strict=True))
    first, last = (np.searchsorted(bases, at, side="right") - 1 for at in (begin, end - 1))
    begun, ended = (np.bincount(at, minlength=len(bases) + 1) for at in (first, last + 1))
    return np.flatnonzero(np.cumsum(begun - ended))


def _by_block(ranges: _Ranges, blocks: Int64) -> list[_Ranges]:
    """Return the ranges of pieces in each block."""
    leaf, first, last = ranges
    if len(blocks) == 2:
        return [ranges]
    source, block, first, last = overlay(first, last, blocks)
    order = np.argsort(block, kind="stable")
    stops = np.searchsorted(block[order], np.arange(1, len(blocks) - 1))
    columns = [np.split(column[order], stops) for column in (leaf[source], first, last)]
    return list(zip(*columns, strict=True))


def _bits(leaf: Int64, first: Int64, last: Int64, low: int) -> dict[int, int]:
    """Return the pieces in ranges as bits, by step; bit 0 is the piece with the number `low`."""
    found: dict[int, int] = {}
    first, last = first - low, last - low
    stops = np.append(np.flatnonzero(np.diff(leaf)) + 1, len(leaf)).tolist()
    leaves, firsts, lasts = leaf.tolist(), first.tolist(), last.tolist()
    end = 0
    for stop in stops if leaves else ():
        begin, end = end, stop
        if end - begin > FEW:
            marks = np.zeros(int(last[begin:end].max()) + 1, np.int64)
            np.add.at(marks, first[begin:end], 1)
            np.add.at(marks, last[begin:end], -1)
            found[leaves[begin]] = bits_of(np.cumsum(marks) > 0)
            continue
        bits = 0
        for one, other in zip(firsts[begin:end], lasts[begin:end], strict=True):
            bits |= ((1 << (other - one)) - 1) << one
        found[leaves[begin]] = bits
    return found


def _rising(numbers: Sequence[Int64]) -> Int64:
    """Return the distinct addresses, in ascending order."""
    found = np.sort(np.concatenate(numbers))
    return found[np.flatnonzero(np.diff(found, prepend=-1))]


def bits_of(mask: npt.NDArray[np.bool_]) -> int:
    """Return the integer whose bits are the elements of a mask, lowest bit first.

    >>> bits_of(np.array([True, False, True]))
    5
    """
    return int.from_bytes(np.packbits(mask, bitorder="little").tobytes(), "little")


def places(bits: int) -> list[int]:
    """Return the positions of the set bits of an integer, in ascending order.

    >>> places(0b101001)
    [0, 3, 5]
    """
    if not bits & (bits - 1):  # one, or none
        return [bits.bit_length() - 1] if bits else []
    data = bits.to_bytes((bits.bit_length() >> 3) + 1, "little")
    bits_set = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
    return np.flatnonzero(bits_set).tolist()


# -- lifetimes -------------------------------------------------------------------------------------

_IDLE = Flow(0, 0)
"""The effect of a program that does nothing."""


@frozen(eq=False)
class Lifetimes:
    """When variables are needed.

    Attributes:
        steps: the steps of all programs, each with the name of its program; a step that occurs in
            several places of a program is listed once.
        always: the reasons why variables are always live, by variable number.
        live: the steps in which the other variables are live, ascending, by variable number.
    """

    steps: Sequence[tuple[str, Step]]
    always: Mapping[int, str]
    live: Mapping[int, Stretches]


def lifetimes(
    graph: Graph,
    programs: Mapping[str, Program],
    edges_of: Callable[[ComputeSet], EdgeTable],
) -> Lifetimes:
    """Find when the variables of a graph are needed; all of them have tiles.

    >>> import poplite as pl
    >>> from poplite.graph.compute_sets.edge_table import edge_table
    >>> graph = pl.Graph()
    >>> a, b, c, d = (graph.add_variable(pl.INT, (4,), name, mapping=0) for name in "abcd")
    >>> found = lifetimes(graph, {"main": pl.Sequence(pl.Copy(a, b), pl.Copy(b, c), pl.Copy(c, d))},
    ...                   edge_table)
    >>> found.always
    {0: 'read before it is written', 3: 'a result that no step reads'}
    >>> found.live
    {1: ((0, 1),), 2: ((1, 2),)}
    """
    every = [(name, step) for name, program in programs.items() for step in distinct_steps(program)]
    nodes = {name: children_first(program) for name, program in programs.items()}
    deciding = (node for below in nodes.values() for node in below if node.decided_by is not None)
    leaves = dict.fromkeys(step.program for _, step in every)
    variables = graph.variables
    pieces = AccessedPieces(variables, leaves, dict.fromkeys(deciding), edges_of)
    reached = {name: _reached(below) for name, below in nodes.items()}
    steps = [(name, step) for name, step in every if id(step.program) in reached[name]]
    lasting = _lasting(graph)
    why, live = dict(lasting), dict[int, Stretches]()
    for block in pieces.blocks():
        flows: dict[int, Flow] = {}
        for node in chain.from_iterable(nodes.values()):
            if id(node) not in flows:
                flows[id(node)] = _flow(node, flows, block)
        after = {name: _after(below, flows, block) for name, below in nodes.items()}
        exposed = reduce(or_, [flows[id(program)].reads for program in programs.values()], 0)
        then = [after[name][id(step.program)] for name, step in steps]
        found = _always(block, exposed, steps, then, lasting)
        why |= found
        live |= _live(block, found, steps, then)
    always = {
        number: why.get(number, "used by no program")
        for number in range(len(variables))
        if number not in live
    }
    return Lifetimes(steps, always, live)


def _flow(node: Program, flows: Mapping[int, Flow], block: AccessBlock) -> Flow:
    """Return a program's effect on the live pieces, from the effects of its children."""
    if not node.children:
        return block.access.get(node, _IDLE)
    if isinstance(node, Repeat) and node.count == 0:
        return _IDLE
    below = [flows[id(child)] for child in node.children]
    if isinstance(node, RepeatWhile):
        test, body = Flow(below[0].before(block.of_scalar(node)), below[0].ends), below[1]
        return Flow(test.before(body.reads), test.ends)
    if isinstance(node, If | Switch):
        reads = reduce(or_, [each.reads for each in below], block.of_scalar(node))
        return Flow(reads, reduce(and_, [each.ends for each in below] or [0]))
    reads = ends = 0
    for each in reversed(below):
        if each is not _IDLE:
            reads, ends = each.before(reads), ends | each.ends
    return Flow(reads, ends) if reads or ends else _IDLE


def _reached(nodes: Sequence[Program]) -> set[int]:
    """Return the `id`s of the sub-trees that may run; the last of `nodes` is the whole program."""
    reached = {id(nodes[-1])}
    for node in reversed(nodes):
        if id(node) in reached and not (isinstance(node, Repeat) and node.count == 0):
            reached.update([id(child) for child in node.children])
    return reached


def _after(
    nodes: Sequence[Program], flows: Mapping[int, Flow], block: AccessBlock
) -> Mapping[int, int]:
    """Return, by `id`, the pieces that are live after any occurrence of each sub-tree."""
    after = {id(nodes[-1]): 0}
    for node in reversed(nodes):
        if not node.children or id(node) not in after:
            continue
        if isinstance(node, Repeat) and node.count == 0:
            continue  # its children never run
        then = after[id(node)]
        if isinstance(node, RepeatWhile):
            test, body = (flows[id(child)] for child in node.children)
            scalar = block.of_scalar(node)
            again = test.before(scalar | then | body.reads)
            _add_live(after, node.body, again)
            _add_live(after, node.condition, scalar | then | body.before(again))
        elif isinstance(node, If | Switch):
            for child in node.children:
                _add_live(after, child, then)
        else:
            if not runs_in_order(node) and not (isinstance(node, Repeat) and node.count == 1):
                then |= flows[id(node.children[0])].reads
            for child in reversed(node.children):
                _add_live(after, child, then)
                flow = flows[id(child)]
                if flow is not _IDLE:
                    then = flow.before(then)
    return after


def _add_live(after: dict[int, int], node: Program, then: int) -> None:
    known = after.get(id(node))
    after[id(node)] = then if not known else known | then


def _lasting(graph: Graph) -> dict[int, str]:
    """Return the variables that are always live independently of programs, and why."""
    why: dict[int, str] = {}
    handles = (*graph.host_reads.values(), *graph.host_writes.values())
    by_host = {s.id for handle in handles for s in storages(handle.tensor.view)}
    for number, variable in enumerate(graph.variables):
        if variable.constant:
            why[number] = "constant"
        elif number in by_host:
            why[number] = "has a host handle"
        elif variable.initial_value is not None or variable.replica_values:
            why[number] = "has initial values"
    return why


def _always(
    block: AccessBlock,
    exposed: int,
    steps: Sequence[tuple[str, Step]],
    after: Sequence[int],
    lasting: Mapping[int, str],
) -> dict[int, str]:
    """Return the variables of a block that are always live, and why.

    `exposed` are pieces that a program may read before it writes them, `after` the pieces that are
    live after each step, and `lasting` the variables that are always live independently of
    programs.
    """
    used, unread = exposed, set[int]()
    for (_, step), then in zip(steps, after, strict=True):
        access = block.access.get(step.program)
        if access is not None:
            used |= access.touched
            if access.writes & ~then and not access.is_undefining:
                written = block.variables_of(access.writes)
                unread.update([n for n in written if not then & block.of_variable(n)])
    read, touched = (set(block.variables_of(bits)) for bits in (exposed, used))
    why: dict[int, str] = {}
    for number in block.variables:
        if number in lasting:
            why[number] = lasting[number]
        elif number in read:
            why[number] = "read before it is written"
        elif number not in touched:
            why[number] = "used by no program"
        elif number in unread:
            why[number] = "a result that no step reads"
    return why


def _live(
    block: AccessBlock,
    always: Iterable[int],
    steps: Sequence[tuple[str, Step]],
    after: Sequence[int],
) -> dict[int, Stretches]:
    """Return the live steps, ascending, of the variables of a block that are not `always` live.

    `after` are the pieces that are live after each step.
    """
    kept = set(always)
    asked = reduce(or_, [block.of_variable(n) for n in block.variables if n not in kept], 0)
    pieces: dict[int, int] = {}  # live pieces of each variable
    since: dict[int, int] = {}
    spans: dict[int, list[tuple[int, int]]] = {}
    before = 0
    for count, live in enumerate([*after, 0]):
        access = block.access.get(steps[count][1].program) if count < len(steps) else None
        live = (live if access is None else live | access.touched) & asked
        if live == before:
            continue
        changed = live ^ before
        for place in places(changed & live):
            number = block.variable[place]
            pieces[number] = pieces.get(number, 0) + 1
            since.setdefault(number, count)
        for place in places(changed & before):
            number = block.variable[place]
            pieces[number] -= 1
            if not pieces[number]:
                spans.setdefault(number, []).append((since.pop(number), count - 1))
        before = live
    return {number: tuple(found) for number, found in sorted(spans.items())}
