"""The program tree of a saved file, from what a report says of programs.

It knows what was compiled: names of blocks and sequences are gone, and what does nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from poplite.program.base import fill
from poplite.report.compilation import Compilation, StepAccesses
from poplite.report.program_tree import (
    Program,
    ProgramType,
    children_first,
    repeats,
    steps_below,
)
from poplite.report.report import Report
from poplite.source import location_from
from poplite.text import amount
from poplite.viz.draw.columns import pattern_of
from poplite.viz.draw.units import size_text
from poplite.viz.program.labels import NOWHERE, Label, SavedNode, Times
from poplite.viz.program.run_counts import times_below, times_of_run

KINDS = {
    ProgramType.EXECUTE: "compute",
    ProgramType.COPY: "copy",
    ProgramType.HOST_COPY: "copy",
    ProgramType.HOST_CALL: "host",
    ProgramType.HOST_ACTION: "host",
}
"""The looks of steps; of all else that of control."""


def saved_programs(report: Report) -> dict[str, SavedNode]:
    """Return the programs of a report by name, as pictures draw them.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> x, y = (graph.add_variable(pl.INT, (4,), name, mapping=1) for name in "xy")
    >>> programs = saved_programs(pl.Engine(graph, pl.Copy(x, y)).report())
    >>> programs["0"].label.title
    "Copy 'x' -> 'y'"
    """
    compilation = report.compilation
    trees = compilation.programs
    return {
        name: _tree(compilation, name, trees[name], times_of_run(report, name, trees[name]))
        for name in compilation.program_names
    }


def _tree(
    compilation: Compilation, name: str, root: Program, counted: Mapping[int, list[Times]]
) -> SavedNode:
    known = {
        number: step
        for step in compilation.accesses
        for program, number in step.places
        if program == name and step.kind != "control"
    }
    counts = steps_below(root)
    numbers = _first_numbers(root, counts)
    made: dict[int, SavedNode] = {}
    for node in children_first(root):
        step = None if node.children else known.get(numbers[id(node)])
        below: list[SavedNode] = []
        roles: list[str] = []
        times: list[Times] = []
        each_times = counted.get(id(node)) or [times_below(node)] * len(node.children)
        for child, runs in zip(node.children, each_times, strict=True):
            under = made[id(child)].below
            is_group = child.type is ProgramType.SEQUENCE
            if is_group and node.type is ProgramType.CALL:  # what the function holds
                below += under
                roles += [""] * len(under)
                times += [runs] * len(under)
            else:  # a group of one is that one
                below.append(under[0] if is_group and len(under) == 1 else made[id(child)])
                roles.append(child.role)
                times.append(runs)
        label = _label(node, step, compilation)
        new = SavedNode(label, tuple(below), tuple(roles), tuple(times))
        steps, location = counts[id(node)], location_from(node.at) or NOWHERE
        fill(new, num_steps=steps, is_empty=not steps, location=location)
        made[id(node)] = new
    whole = made[id(root)]
    return made[id(root.children[0])] if len(root.children) == 1 else whole


def _first_numbers(root: Program, counts: Mapping[int, int]) -> dict[int, int]:
    """Return the number of the first step under each program, where it stands first."""
    found: dict[int, int] = {}
    pending = [(root, 1)]
    while pending:
        node, number = pending.pop()
        if id(node) in found:
            continue
        found[id(node)] = number
        below = []
        for child in node.children:
            below.append((child, number))
            number += counts[id(child)]
        pending.extend(reversed(below))
    return found


def _label(node: Program, step: StepAccesses | None, compilation: Compilation) -> Label:
    kind, name = node.type, node.name
    look = KINDS.get(kind, "control")
    if kind is ProgramType.REPEAT:
        return Label("control", f"Repeat {name}", (), {"times": repeats(node)}, "")
    if kind is ProgramType.EXECUTE:
        numbers, words = _vertices(step, compilation)
        return Label(look, "Execute {}", (name,), numbers, words)
    if kind is ProgramType.COPY:
        return Label(look, *of_copy(name), *_moved(step))
    if node.children or kind.value in ("Loop", "If", "Switch", "Sequence", "RepeatWhile", "Call"):
        detail = "until it is stopped" if kind is ProgramType.LOOP else ""
        if not node.children:
            detail = "empty"
        is_named = name and kind is not ProgramType.SEQUENCE  # else a program's, or a case's
        names = (name,) if is_named else ()
        return Label("control", kind.value + " {}" * bool(names), names, {}, detail)
    text = step.name if step is not None else name or kind.value
    if kind is ProgramType.HOST_COPY and "'" not in text:
        text = f"Copy the code of '{text}'"
    return Label(look, *quoted(text), *_moved(step))


def _vertices(step: StepAccesses | None, compilation: Compilation) -> tuple[dict[str, int], str]:
    if step is None or step.compute_set is None:
        return {}, ""
    found = compilation.compute_sets[step.compute_set]
    count = sum(each.count_by_tile.total for each in found.vertices)
    return {"vertices": count}, amount(count, "vertex", "vertices")


def _moved(step: StepAccesses | None) -> tuple[dict[str, int], str]:
    """Return the bytes that a step writes, or else reads."""
    if step is None:
        return {}, ""
    size = sum(each.written for each in step.accesses) or sum(e.read for e in step.accesses)
    return ({"bytes": size}, size_text(size)) if size else ({}, "")


def of_copy(name: str) -> tuple[str, tuple[str, ...]]:
    """Return the pattern and the names of a copy, by its name.

    >>> of_copy("x to y"), of_copy("Copy 'images' -> 'x'")
    (('Copy {} -> {}', ('x', 'y')), ('Copy {} -> {}', ('images', 'x')))
    """
    if name.startswith("Copy '"):
        return quoted(name)
    ends = name.split(" to ")
    return ("Copy {} -> {}", tuple(ends)) if len(ends) == 2 else ("Copy {}", (name,))


def quoted(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a text with {} for each name in quotes, and these names.

    >>> quoted("Copy 'images' -> 'x'")
    ('Copy {} -> {}', ('images', 'x'))
    """
    parts = re.split(r"'(.*?)'(?=$|[ ,])", text, flags=re.DOTALL)
    return "{}".join(map(pattern_of, parts[::2])), tuple(parts[1::2])
