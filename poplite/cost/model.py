"""The costs of an executable's steps and actions, computed from its graph.

The cycles of vertices are known or computed from one of these sources:

    given        graph.set_perf_estimate(vertex, 120)             each vertex has its own number
    formula      graph.register_perf_estimator(Axpy, cost)        called once for vertices of equal
                 def cycles(self, target) of the class            sizes and equal state
    automatic    otherwise: the compiled code is priced later, once for each shape

An earlier row takes precedence over a later one. If there are two formulas, the one of the more
derived class is used; for the same class, the estimator. An estimator can read all of a vertex, but
is called for only one of many vertices with equal sizes and equal state: anything else that it
reads is that of this one vertex.

Copies that do not depend on each other may run in any order, and therefore also at once: with one
sync and one exchange, in which all tiles send at the same time. Programs run unchanged; reports
show the cost that the joined Copy would have::

    Copy a[0] -> b[1]
    Copy a[1] -> b[0]       joined with the one before: one Copy of a[0], a[1] to b[1], b[0]
    Copy b[0] -> c          reads elements that were written, so it starts a new series
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from poplite import view as views
from poplite.arrays.intervals import Int64
from poplite.arrays.series import Series, compact, constant, taken
from poplite.cost.exchange_phases import (
    Phases,
    phases_of_alike,
    phases_of_compute_set,
    phases_of_copy,
    phases_of_host,
)
from poplite.cost.step_cost import JoinedCopyCost, PhaseCost, SlotSource, StepCost, VertexCosts
from poplite.frozen import frozen
from poplite.graph.compute_sets.compute_set import ComputeSet, Vectors
from poplite.graph.compute_sets.perf_estimates import (
    Column,
    Estimator,
    VertexPerfEstimate,
    checked_estimate,
    cycles_of,
    distinct,
    estimator_for,
    shapes_of,
    words_of,
)
from poplite.graph.compute_sets.vertex_block import VertexBlock, VertexTiles
from poplite.graph.graph import Graph
from poplite.graph.space import metadata_of, same_meaning
from poplite.graph.tensor.tensor import Tensor
from poplite.program import (
    Copy,
    CrossReplicaCopy,
    CycleStamp,
    Program,
    Sequence as InOrder,
    TensorCopy,
    children_first,
)
from poplite.report.per_tile import PerTile
from poplite.types import QUARTER
from poplite.vertex.vertex import Vertex, has_cycles
from poplite.view import View, num_runs, runs
from poplite.view.intervals_of_view import few_runs

if TYPE_CHECKING:
    from poplite.graph.compute_sets.edge_table import EdgeTable, Family
    from poplite.machine.target import Target


Answers = dict[tuple[type[Vertex], tuple[int, ...]], tuple[VertexPerfEstimate, set[int]]]
"""Results of `cycles`, by class and by the words of a vertex, with the words that were read."""


def vertex_costs(
    graph: Graph, table: EdgeTable, known: Answers | None = None
) -> tuple[VertexCosts, ...]:
    """Return the costs of the vertices of a compute set, family by family.

    Estimators are those of `graph`, the top-level graph. `known` contains results of `cycles` for
    other compute sets; new ones are added. Raises ElementTypeError if an estimator returns no
    estimate, SizeOverflowError if it returns a negative one, and VertexDefinitionError if
    `cycles` reads data, raises, or does not return a whole number.
    """
    known = {} if known is None else known
    parts = [part for family in table.families for part in _parts(family, graph)]
    return tuple([part.costs(graph, known) for part in parts])


@frozen(eq=False)
class _Part:
    """Vertices of a family, either all or none of which have their own estimates.

    Attributes:
        family: the family.
        tiles: the tile of each vertex of the family.
        chosen: int64[n], the numbers of these vertices in the family; None for all.
        estimates: cycles and flops of each vertex, both int64[n]; None without own estimates.
    """

    family: Family
    tiles: VertexTiles
    chosen: Int64 | None = None
    estimates: tuple[Int64, Int64] | None = None

    @property
    def count(self) -> int:
        """The number of vertices."""
        return self.family.numbers.count if self.chosen is None else len(self.chosen)

    def costs(self, graph: Graph, known: Answers) -> VertexCosts:
        """Return the costs of these vertices."""
        cls, target = self.family.cls, graph.target
        if self.estimates is not None:
            cycles, flops = self.estimates
            return self._known("given", compact(cycles), compact(flops))
        estimator = estimator_for(cls, graph.perf_estimators)
        if estimator is not None:
            return self._estimated(estimator, graph)
        columns = self._columns(words_of(self.family))
        if not has_cycles(cls):
            shapes, shape = shapes_of(columns, self.count)
            return VertexCosts(cls, *self._places(), "automatic", None, None, shapes, shape)
        read: set[int] = set()
        while True:  # until the vertices of each kind agree in all words that `cycles` has read
            before = sorted(read)
            first, kind = distinct([columns[word] for word in before], self.count)
            answers = [_answer(cls, _words(columns, k), target, known, read) for k in first]
            if len(read) == len(before):
                return self._formula(answers, kind)

    def _estimated(self, estimator: Estimator, graph: Graph) -> VertexCosts:
        columns = self._columns([*words_of(self.family), *detail_columns(self.family)])
        first, kind = distinct(columns, self.count)
        answers = []
        for k in (first if self.chosen is None else self.chosen[first]).tolist():
            vertex = self.family.vertices[k]
            answer = estimator(vertex, graph.target)
            answers.append(checked_estimate(f"estimator of {vertex}", answer, 0))
        return self._formula(answers, kind)

    def _columns(self, columns: Sequence[Column]) -> list[Column]:
        if self.chosen is None:
            return list(columns)
        return [each if isinstance(each, int) else each[self.chosen] for each in columns]

    def _places(self) -> tuple[Series, VertexTiles]:
        """Return the number and the tile of each vertex."""
        if self.chosen is None:
            return self.family.numbers, self.tiles
        tiles = self.tiles.array()[self.chosen]
        return taken(self.family.numbers, self.chosen), VertexTiles.of(tiles, self.tiles.num_tiles)

    def _formula(self, answers: Sequence[VertexPerfEstimate], kind: Series) -> VertexCosts:
        """Return costs from an answer for each kind of vertices and the kind of each vertex."""
        cycles = _by_kind([answer.cycles for answer in answers], kind)
        return self._known("formula", cycles, _by_kind([answer.flops for answer in answers], kind))

    def _known(self, source: SlotSource, slots: Series, flops: Series) -> VertexCosts:
        # 0 is also the default of estimators that do not count operations.
        is_known = flops.high > 0 or not has_floats(self.family.cls)
        known = flops if is_known else None
        return VertexCosts(self.family.cls, *self._places(), source, slots, known, None, None)


def has_floats(cls: type[Vertex]) -> bool:
    """Return whether a vertex class has a field of floating-point numbers."""
    return any(field.element.is_floating_point for field in cls.fields.values())


def _words(columns: Sequence[Column], vertex: int) -> tuple[int, ...]:
    return tuple([each if isinstance(each, int) else int(each[vertex]) for each in columns])


def _answer(
    cls: type[Vertex], words: tuple[int, ...], target: Target, known: Answers, read: set[int]
) -> VertexPerfEstimate:
    """Return the result of `cycles`, called once for equal words; record the words it reads."""
    if (cls, words) not in known:
        own: set[int] = set()
        known[cls, words] = cycles_of(cls, words, target, own), own
    answer, own = known[cls, words]
    read |= own
    return answer


def _by_kind(numbers: Sequence[int], kind: Series) -> Series:
    if len(set(numbers)) == 1:
        return constant(numbers[0], kind.count)
    return compact(np.array(numbers, np.int64)[kind.array()])


def _parts(family: Family, graph: Graph) -> Iterator[_Part]:
    """Yield the vertices of a family that have estimates of their own, then the others."""
    vertices, num_tiles = family.vertices, graph.target.tiles
    if isinstance(vertices, VertexBlock):
        yield _Part(family, vertices.tiles, None, vertices.estimates)
        return
    tiles = family.tiles(num_tiles)
    estimates = [vertex.estimate for vertex in vertices]
    known = [(k, each) for k, each in enumerate(estimates) if each is not None]
    if not known:
        yield _Part(family, tiles)
        return
    numbers = np.array([(k, each.cycles, each.flops) for k, each in known], np.int64)
    others = np.array([k for k, each in enumerate(estimates) if each is None], np.int64)
    chosen = numbers[:, 0] if len(others) else None
    yield _Part(family, tiles, chosen, (numbers[:, 1], numbers[:, 2]))
    if len(others):
        yield _Part(family, tiles, others)


# -- facts that estimators may read besides shapes -------------------------------------------------


def detail_columns(family: Family) -> list[Column]:
    """Return columns that distinguish vertices of equal shapes.

    A column has equal numbers for equal values of state, or equal lengths of the rows of a list.
    The columns of `poplite.graph.compute_sets.perf_estimates` are used in addition.
    """
    columns: list[Column] = []
    for values in family.state.values():
        if isinstance(values, Vectors):
            columns.append(alike(values.values, values.length))
        elif isinstance(values, np.ndarray) and values.dtype.kind == "f":
            columns.append(_numbered(values[:, None]))
    for part in family.fields:
        if part.field.depth == 2 and part.edges.length.only is None:
            columns.append(alike(part.edges.length.array(), part.edges.rows))
    return columns


def alike(values: npt.NDArray[Any], lengths: Series) -> Column:
    """Number the parts of an array, given their lengths; bit-identical parts get equal numbers.

    >>> from poplite.arrays.series import compact
    >>> alike(np.array([1, 2, 3, 1, 2]), compact(np.array([2, 1, 2]))).tolist()
    [1, 0, 1]
    """
    count, length = lengths.count, lengths.only
    if length is not None:
        return _numbered(values.reshape(count, length)) if length else 0
    sizes = lengths.array()
    begins, numbers = np.cumsum(sizes) - sizes, np.zeros(count, np.int64)
    most = 0
    for size in np.unique(sizes):
        chosen = np.flatnonzero(sizes == size)
        if size:
            own = _numbered(values[begins[chosen, None] + np.arange(size)])
            numbers[chosen] = own + most
        most = int(numbers.max()) + 1
    return numbers


def _numbered(rows: npt.NDArray[Any]) -> Column:
    """Return a number for each row; bit-identical rows have the same number."""
    if (rows == rows[0]).all():
        return 0
    size = rows.dtype.itemsize * rows.shape[1]
    bits = np.ascontiguousarray(rows).view(np.dtype((np.void, size)))[:, 0]
    numbers = np.unique(bits, return_inverse=True)[1]
    return numbers.astype(np.int64)


def step_costs(
    graph: Graph,
    compute_sets: Iterable[ComputeSet],
    edges_of: Callable[[ComputeSet], EdgeTable],
    copies: Iterable[TensorCopy | CrossReplicaCopy],
) -> tuple[StepCost, ...]:
    """Return the costs of checked compute sets, followed by the costs of copies."""
    costs = []
    known: dict[EdgeTable, Phases] = {}
    answers: Answers = {}
    for compute_set in compute_sets:
        table = edges_of(compute_set)
        found = None
        if table.alike in known:
            found = phases_of_alike(known[table.alike], table.alike, table)
        if found is None:
            found = phases_of_compute_set(graph, table)
        before, after = known[table] = found
        costs.append(StepCost(before, vertex_costs(graph, table, answers), after))
    costs += [StepCost(phases_of_copy(graph, copy)) for copy in copies]
    return tuple(costs)


def host_costs(graph: Graph, programs: Sequence[Program | None]) -> tuple[StepCost | None, ...]:
    """Return the costs of programs that move data from or to the host or remote buffers.

    The cost is None for an action that costs nothing.
    """
    return tuple(None if p is None else _host_cost(graph, p) for p in programs)


def _host_cost(graph: Graph, program: Program) -> StepCost:
    if not isinstance(program, CycleStamp):
        return StepCost(phases_of_host(graph, program))
    cycles = np.zeros(graph.target.tiles, np.int64)
    cycles[graph.tile_mapping(program.tensor).tiles] = graph.target.cost("cycle_stamp_cycles")
    return StepCost((PhaseCost("compute", PerTile.of(cycles)),))


# -- joined copies ---------------------------------------------------------------------------------


MOST_PIECES = 1 << 12
"""Maximum number of pieces of memory in a Copy that is considered; with more pieces, the share of
sync and code in the cost is small.
"""

Pieces = tuple[list[int], list[int]]
"""Starts and lengths of pieces of memory, in elements."""


def joined_copies(
    graph: Graph,
    programs: Iterable[Program],
    numbers: Mapping[Any, int],
) -> tuple[JoinedCopyCost, ...]:
    """Return the costs of series of adjacent Copies that do not depend on each other.

    Each series occurs once. `numbers` contains the step number of each Copy.
    """
    found: dict[tuple[int, ...], JoinedCopyCost] = {}
    for program in programs:
        for node in children_first(program):
            if isinstance(node, InOrder):
                for series in _series(graph, node.children):
                    steps = tuple([numbers[each] for each in series])
                    if steps not in found:
                        found[steps] = JoinedCopyCost(steps, _cost(graph, series))
    return tuple(found.values())


def _series(graph: Graph, children: Iterable[Program]) -> Iterator[list[TensorCopy]]:
    """Yield series of at least two adjacent Copies that do not depend on each other."""
    series = _Series(graph)
    for child in children:
        copy = child if isinstance(child, TensorCopy) else None
        ends = None if copy is None else _pieces(copy)
        if copy is None or ends is None or not series.takes(copy, *ends):
            if len(series.copies) > 1:
                yield series.copies
            if series.copies:
                series = _Series(graph)
        if copy is not None and ends is not None:
            series.add(copy, *ends)
    if len(series.copies) > 1:
        yield series.copies


class _Series:
    """Adjacent independent Copies, and the elements that they read and write."""

    def __init__(self, graph: Graph) -> None:
        self.copies: list[TensorCopy] = []
        self._graph, self._read, self._written = graph, _Elements(), _Elements()

    def takes(self, copy: TensorCopy, read: Pieces, written: Pieces) -> bool:
        """Return whether one Copy may replace the series and this Copy."""
        if not self.copies:
            return True
        if not _are_alike(self._graph, self.copies[0].source, copy.source):
            return False
        meet = self._written.meet
        return not (meet(read) or meet(written) or self._read.meet(written))

    def add(self, copy: TensorCopy, read: Pieces, written: Pieces) -> None:
        """Add a Copy that reads and writes the given pieces."""
        self.copies.append(copy)
        self._read.add(read)
        self._written.add(written)


def _are_alike(graph: Graph, one: Tensor, other: Tensor) -> bool:
    """Return whether the elements of two tensors have the same meaning and can be joined."""
    if one.element_type is not QUARTER or other.element_type is not QUARTER:
        return one.element_type is other.element_type
    space = graph.space
    return same_meaning(space, *(metadata_of(space, each.view) for each in (one, other)))


def _pieces(copy: TensorCopy) -> tuple[Pieces, Pieces] | None:
    """Return the pieces that a Copy reads and writes; None if there are none, or too many."""
    read = _pieces_of(copy.source.view)
    written = None if read is None else _pieces_of(copy.destination.view)
    return None if read is None or written is None else (read, written)


def _pieces_of(view: View) -> Pieces | None:
    """Return the pieces of memory of a view; None if there are none, or too many."""
    few = few_runs(view)
    if few is not None:
        return few if few[0] else None
    if view.num_elements > MOST_PIECES and num_runs(view) > MOST_PIECES:
        return None
    begin, size = runs(view)
    return begin.tolist(), size.tolist()


class _Elements:
    """A set of elements of the graph, as ascending disjoint intervals."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._ends: list[int] = []

    def meet(self, pieces: Pieces) -> bool:
        """Return whether any elements of the pieces are in the set."""
        begins, ends = self._begins, self._ends
        for begin, size in zip(*pieces, strict=True):
            at = bisect_right(ends, begin)
            if at < len(begins) and begins[at] < begin + size:
                return True
        return False

    def add(self, pieces: Pieces) -> None:
        """Add the elements of the pieces."""
        begins, ends = self._begins, self._ends
        for begin, size in zip(*pieces, strict=True):
            end = begin + size
            first, last = bisect_left(ends, begin), bisect_right(begins, end)
            if first < last:
                begin, end = min(begin, begins[first]), max(end, ends[last - 1])
            begins[first:last] = [begin]
            ends[first:last] = [end]


def _cost(graph: Graph, series: Sequence[TensorCopy]) -> StepCost:
    """Return the cost of one Copy that replaces a series of Copies."""
    one = Copy(
        _joined(graph, [each.source for each in series]),
        _joined(graph, [each.destination for each in series]),
    )
    assert isinstance(one, TensorCopy)
    return StepCost(phases_of_copy(graph, one))


def _joined(graph: Graph, tensors: Sequence[Tensor]) -> Tensor:
    """Return the concatenated elements of tensors that can be joined."""
    flat = [_flat(each.view) for each in tensors]
    return Tensor(graph, tensors[0].element_type, views.concat(flat, 0))


def _flat(view: View) -> View:
    return view if len(view.shape) == 1 else view.reshape((view.num_elements,))
