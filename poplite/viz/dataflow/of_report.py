"""What reads and writes what, as a report knows it: for saved files, which hold no graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from poplite.report.compilation import Compilation, ComputeSet, StepAccesses, Variable
from poplite.report.program_tree import num_steps
from poplite.report.report import Report
from poplite.types import ELEMENT_TYPES, type_text
from poplite.viz.dataflow.fold import Excerpt
from poplite.viz.dataflow.graph import Dataflow, dataflow_of_links
from poplite.viz.dataflow.links import Item, Kind, Links, Saved, scope_of, shared
from poplite.viz.dataflow.picture import dataflow_picture
from poplite.viz.draw.columns import names_in
from poplite.viz.draw.units import name_text
from poplite.viz.names import check_known, size_bytes
from poplite.viz.paint_svg import paint_svg
from poplite.viz.program_nodes import of_copy

KINDS: dict[str, Kind] = {
    "execute": "compute",
    "copy": "copy",
    "host": "host",
    "control": "control",
}
"""Kinds of steps as kinds of items."""

_NAMES = {each.__name__: type_text(each) for each in ELEMENT_TYPES}


def dataflow_of_report(
    report: Report, program: str | None = None, *, excerpt: Excerpt | None = None
) -> Dataflow:
    """Find what reads and writes what, in the order of programs, or of one of them.

    Raises UnknownName when the report does not know it, there is nothing of a name or scope in the
    excerpt, or no such program.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> x, y = (graph.add_variable(pl.INT, (4,), name, mapping=1) for name in "xy")
    >>> flow = dataflow_of_report(pl.Engine(graph, pl.Copy(x, y)).report())
    >>> [node.title for node in flow.nodes], [(e.tail, e.head, e.forward_bytes) for e in flow.edges]
    (['x', 'Copy', 'y'], [(0, 1, 16), (1, 2, 16)])
    """
    check_known(report)
    return dataflow_of_links(_links(report.compilation, program), excerpt or Excerpt())


def report_svg(report: Report) -> str:
    """Return the dataflow graph of a report as SVG, laid out in the same way everywhere.

    Empty where an older file does not know it.
    """
    if not len(report.compilation.variables):
        return ""
    return paint_svg(dataflow_picture(dataflow_of_report(report)))


def _links(compilation: Compilation, program: str | None) -> Links:
    if program is not None:
        _ = compilation.programs[program]  # raises where there is none
    place: dict[int, int] = {}
    items: list[Item] = []
    flows: list[tuple[int, int, int, int]] = []
    fields: dict[str, int] = {"": -1}

    def place_of(number: int) -> int:
        if number not in place:
            place[number] = len(items)
            items.append(_data_item(compilation.variables[number]))
        return place[number]

    for step, numbers in _numbered(compilation, program):
        for each in step.accesses:
            fields.setdefault(each.field, len(fields) - 1)
        read = [each for each in step.accesses if each.read]
        sources = [(place_of(each.variable), each) for each in read]
        own = len(items)
        items.append(_step_item(step, numbers, compilation))
        flows += [(source, own, each.read, fields[each.field]) for source, each in sources]
        flows += [
            (own, place_of(each.variable), each.written, fields[each.field])
            for each in step.accesses
            if each.written
        ]
    for number in range(len(compilation.variables)):
        place_of(number)
    tail, head, size, through = np.array(flows, np.int64).reshape(-1, 4).T
    count = sum(
        num_steps(tree) for name, tree in compilation.programs.items() if program in (None, name)
    )
    return Links(tuple(items), tail, head, size, through, tuple(fields)[1:], count)


def _numbered(
    compilation: Compilation, program: str | None
) -> Iterator[tuple[StepAccesses, tuple[int, ...]]]:
    """Yield the steps of all programs, or of one, with their numbers over all."""
    before, total = {}, 0
    for name in compilation.program_names:
        before[name] = total
        total += num_steps(compilation.programs[name])
    for step in compilation.accesses:
        numbers = [before[name] + n for name, n in step.places if program in (None, name)]
        if numbers:
            yield step, tuple(numbers)


def _data_item(variable: Variable) -> Item:
    kind: Kind = "constant" if variable.constant else "variable"
    tiles = set() if variable.tiles is None else set(variable.tiles.array().tolist())
    known = Saved(
        type_name=_NAMES[variable.element_type],
        shape=variable.shape,
        size_bytes=size_bytes(variable),
        tiles=tuple(sorted(tiles - {-1})),
        location=variable.at,
    )
    return Item(kind, variable.name, scope_of(variable.name), known, ())


def _step_item(step: StepAccesses, numbers: tuple[int, ...], compilation: Compilation) -> Item:
    kind = KINDS[step.kind]
    if step.compute_set is not None:
        operation = next(
            (o.name for o in compilation.operations if step.compute_set in o.compute_sets), ""
        )
        known = _of_compute_set(compilation.compute_sets[step.compute_set], step.at)
        return Item(kind, step.name, scope_of(step.name), known, numbers, operation)
    moved = sum(each.written for each in step.accesses) or sum(e.read for e in step.accesses)
    touched = [compilation.variables[each.variable].name for each in step.accesses]
    first = touched[0] if touched else step.name
    if kind == "copy":
        name, verb = " -> ".join(of_copy(step.name)[1]), ""
    elif kind == "control":
        name, verb, numbers = first, step.name, ()  # a decision is no step
    else:
        pattern, names = names_in(step.name)
        verb = pattern.partition(" ")[0].replace("PrintTensor", "Print")
        name = " -> ".join(names) or first
    known = Saved(size_bytes=moved, location=step.at, verb=name_text(verb))
    return Item(kind, name, shared(map(scope_of, touched)), known, numbers)


def _of_compute_set(found: ComputeSet, at: str) -> Saved:
    used = {t for each in found.vertices for t in each.count_by_tile.tiles.array().tolist()}
    counts: Counter[str] = Counter()
    for each in found.vertices:
        counts[each.type] += each.count_by_tile.total
    return Saved(vertices=tuple(counts.most_common()), tiles=tuple(sorted(used)), location=at)
