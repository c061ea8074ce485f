"""Which neighbour Copies of a Sequence could be one Copy, and what that would take.

    Copy a[0] -> b[1]
    Copy a[1] -> b[0]       joined with the one before: one Copy of a[0], a[1] to b[1], b[0]
    Copy b[0] -> c          reads what was written, so that it begins anew

Copies that do not depend on each other may run in any order, so also at once: one sync and one
exchange, in which all tiles send together. Programs run as they were written; reports say what it
would take.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence as Several
from typing import Any

from poplite.cost.exchange.phases import phases_of_copy
from poplite.cost.step_cost import StepCost
from poplite.executable.joined import JoinedCopyCost
from poplite.graph.graph import Graph
from poplite.graph.tensor.concat import concat
from poplite.program import Copy, Program, Sequence, TensorCopy, children_first
from poplite.view import View, num_runs, runs
from poplite.view.contiguous.few_runs import few_runs

MOST_PIECES = 1 << 12
"""Pieces of memory of a Copy that is looked at: what sync and code take counts little beyond."""


def joined_copies(
    graph: Graph,
    programs: Iterable[Program],
    numbers: Mapping[Any, int],
) -> tuple[JoinedCopyCost, ...]:
    """Return neighbour Copies that do not depend on each other, each series once.

    `numbers` has the number of each Copy.
    """
    found: dict[tuple[int, ...], JoinedCopyCost] = {}
    for program in programs:
        for node in children_first(program):
            if isinstance(node, Sequence):
                for series in _series(node.children):
                    steps = tuple(numbers[each] for each in series)
                    if steps not in found:
                        found[steps] = JoinedCopyCost(steps, _cost(graph, series))
    return tuple(found.values())


def _series(children: Iterable[Program]) -> Iterator[list[TensorCopy]]:
    """Yield neighbours that do not depend on each other, at least two."""
    series: list[TensorCopy] = []
    read, written = _Elements(), _Elements()
    for child in children:
        copy = child if isinstance(child, TensorCopy) and child.num_elements else None
        pieces = None if copy is None else _pieces(copy)
        begins_anew = copy is None or pieces is None
        if pieces is not None and copy is not None:
            begins_anew = bool(series) and copy.source.element_type is not (
                series[0].source.element_type
            )
            begins_anew |= any(written.meet(*piece) for piece in (*pieces[0], *pieces[1]))
            begins_anew |= any(read.meet(*piece) for piece in pieces[1])
        if begins_anew:
            if len(series) > 1:
                yield series
            series, read, written = [], _Elements(), _Elements()
        if pieces is not None and copy is not None:
            series.append(copy)
            for elements, own in zip((read, written), pieces, strict=True):
                for piece in own:
                    elements.add(*piece)
    if len(series) > 1:
        yield series


def _pieces(copy: TensorCopy) -> tuple[list[tuple[int, int]], list[tuple[int, int]]] | None:
    """Return what a Copy reads and what it writes, as intervals; None where they are many."""
    views = copy.source.view, copy.destination.view
    if copy.num_elements > MOST_PIECES and any(num_runs(view) > MOST_PIECES for view in views):
        return None
    return _intervals(views[0]), _intervals(views[1])


def _intervals(view: View) -> list[tuple[int, int]]:
    few = few_runs(view)
    if few is None:
        begin, length = runs(view)
        few = begin.tolist(), length.tolist()
    return [(begin, begin + length) for begin, length in zip(*few, strict=True)]


class _Elements:
    """Elements of the graph, as intervals that rise and do not meet."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._ends: list[int] = []

    def meet(self, begin: int, end: int) -> bool:
        """Return whether some of an interval are among these."""
        at = bisect_right(self._ends, begin)
        return at < len(self._begins) and self._begins[at] < end

    def add(self, begin: int, end: int) -> None:
        """Add an interval."""
        first, last = bisect_left(self._ends, begin), bisect_right(self._begins, end)
        if first < last:
            begin, end = min(begin, self._begins[first]), max(end, self._ends[last - 1])
        self._begins[first:last] = [begin]
        self._ends[first:last] = [end]


def _cost(graph: Graph, series: Several[TensorCopy]) -> StepCost:
    """Return what one Copy costs in place of several."""
    source = concat([each.source.flatten() for each in series])
    one = Copy(source, concat([each.destination.flatten() for each in series]))
    assert isinstance(one, TensorCopy)
    return StepCost(phases_of_copy(graph, one))
