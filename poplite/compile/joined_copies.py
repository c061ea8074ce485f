"""Find adjacent Copies in a Sequence that could be one Copy.

    Copy a[0] -> b[1]
    Copy a[1] -> b[0]       joined with the one before: one Copy of a[0], a[1] to b[1], b[0]
    Copy b[0] -> c          reads elements that were written, so it starts a new series

Copies that do not depend on each other may run in any order, and therefore also at once: with one
sync and one exchange, in which all tiles send at the same time. Programs run unchanged; reports
show the cost that the joined Copy would have.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence as Several
from typing import Any

from poplite import view as views
from poplite.cost.exchange_phases import phases_of_copy
from poplite.cost.step_cost import JoinedCopyCost, StepCost
from poplite.graph.graph import Graph
from poplite.graph.space import metadata_of, same_meaning
from poplite.graph.tensor.tensor import Tensor
from poplite.program import Copy, Program, Sequence, TensorCopy, children_first
from poplite.types import QUARTER
from poplite.view import View, num_runs, runs
from poplite.view.contiguous_runs import few_runs

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

    Each series occurs once. `numbers` has the step number of each Copy.
    """
    found: dict[tuple[int, ...], JoinedCopyCost] = {}
    for program in programs:
        for node in children_first(program):
            if isinstance(node, Sequence):
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


def _cost(graph: Graph, series: Several[TensorCopy]) -> StepCost:
    """Return the cost of one Copy that replaces a series of Copies."""
    one = Copy(
        _joined(graph, [each.source for each in series]),
        _joined(graph, [each.destination for each in series]),
    )
    assert isinstance(one, TensorCopy)
    return StepCost(phases_of_copy(graph, one))


def _joined(graph: Graph, tensors: Several[Tensor]) -> Tensor:
    """Return the concatenated elements of tensors that can be joined."""
    flat = [_flat(each.view) for each in tensors]
    return Tensor(graph, tensors[0].element_type, views.concat(flat, 0))


def _flat(view: View) -> View:
    return view if len(view.shape) == 1 else view.reshape((view.num_elements,))
