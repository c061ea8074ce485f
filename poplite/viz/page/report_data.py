"""From a report to the data of its page: names and numbers as JSON, and arrays packed separately.

    {"machine": {...}, "steps": [...], "memory": {...}, "programs": {...}, "findings": [...], ...}

Numbers are those of the report; what follows from them, such as peaks and waiting, is computed in
the page.  A report of what has not run shows what one run takes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from poplite.machine.target import limits_of
from poplite.report.compilation import Compilation, Variable
from poplite.report.execution import ExecutionStep, Phase, TilePairs, TypeCycles
from poplite.report.memory import MemoryStep
from poplite.report.per_tile import PerTile
from poplite.report.program_tree import Program, ProgramType
from poplite.report.report import Report
from poplite.viz.lines import line_list
from poplite.viz.page.pack import Arrays
from poplite.viz.steps import limits_text, rates_of


def report_data(
    report: Report, arrays: Arrays, *, rough: int = 0, source: bool = False
) -> dict[str, Any]:
    """Return the data of a report for the page; its arrays are added to `arrays`.

    `rough` leaves out what takes most room: addresses and tiles of elements from 1 on; of the
    numbers of each tile in phases all but three digits from 2 on; and from 3 on single tiles, of
    which blocks are kept.  `source` is whether the text of lines is in it.
    """
    compilation, execution = report.compilation, report.shown
    target = compilation.target
    marks = _marks(compilation)
    return {
        "machine": {
            "name": target.architecture,
            "tiles": target.tiles,
            "ipus": target.ipus,
            "limit": target.tile_memory_bytes,
            "workers": target.workers,
            "clock": target.clock_hz,
        },
        "replicas": compilation.replicas,
        "graph": {
            "variables": compilation.graph.num_variables,
            "compute sets": compilation.graph.num_compute_sets,
            "vertices": compilation.graph.num_vertices,
            "edges": compilation.graph.num_edges,
        },
        "options": [list(each) for each in compilation.options],
        "checks": report.instrumentation.checks,
        "interpreted": report.instrumentation.interpreted,
        "modelled": report.instrumentation.is_modelled,
        "run": report.is_run,
        "note": report.run_note,
        "fits": report.fit_words,
        "runs": report.runs,
        "verticesRun": execution.vertices,
        "stepsRun": execution.num_steps,
        "cycles": execution.cycles,
        "order": [list(each) for each in report.order],
        "rough": rough,
        "limits": list(limits_text(limits_of(target))),
        "steps": [_step(each, arrays, rough=rough) for each in execution.steps],
        "computeSets": [_compute_set(each, arrays) for each in compilation.compute_sets],
        "memory": _memory(compilation, arrays, marks, exact=rough == 0),
        "programs": {name: _tree(tree, name, marks) for name, tree in compilation.programs.items()},
        "programNames": list(compilation.programs),
        "findings": _findings(report),
        "ranks": [
            [e.name, e.program_name, e.row, e.at, e.executions, e.messages, e.bytes]
            for e in report.between_ranks
        ],
        "cut": list(report.cut),
        "types": _types(execution.vertex_types()),
        "operations": [
            [each.name, each.at, each.steps, each.cycles, each.bytes_received]
            for each in execution.operations()
        ],
        "sources": {
            each.name: [each.note, each.digest, [list(line) for line in each.text]]
            for each in (line_list(report, source=True).files if source else ())
        },
    }


# -- execution -------------------------------------------------------------------------------------


def _step(step: ExecutionStep, arrays: Arrays, *, rough: int) -> dict[str, Any]:
    return {
        "name": step.name,
        "kind": step.kind,
        "program": step.program_name,
        "row": step.row,
        "n": step.number,
        "at": step.at,
        "times": step.executions,
        "cycles": step.cycles,
        "op": step.operation,
        "set": step.compute_set,
        "phases": [_phase(each, arrays, rough=rough) for each in step.phases],
        "types": _types(step.vertex_types),
        "rates": list(rates_of(step)),
    }


def _types(found: Sequence[TypeCycles]) -> list[list[Any]]:
    return [[each.name, each.vertices, each.source, each.cycles] for each in found]


def _phase(phase: Phase, arrays: Arrays, *, rough: int) -> dict[str, Any]:
    add = (arrays.add, arrays.add, arrays.add_rounded, arrays.add_roughly)[rough]
    idle = PerTile.nothing(phase.tile_cycles.num_tiles) if phase.idle is None else phase.idle
    return {
        "kind": phase.kind,
        "cycles": phase.cycles,
        "sync": phase.sync,
        "busy": add(phase.tile_cycles.array()),
        "idle": add(idle.array()),
        "code": phase.code_bytes,
        "received": add(phase.received.array()),
        "sent": add(phase.sent.array()),
        "copied": add(phase.copied.array()),
        "causes": [
            [each.what, each.why, each.at, round(moved)]
            for each, moved in zip(phase.causes, phase.moved_for_causes(), strict=True)
        ],
        "pairs": None if phase.pairs is None else _pairs(phase.pairs, arrays),
    }


def _pairs(pairs: TilePairs, arrays: Arrays) -> dict[str, Any]:
    """Return the pairs that exchange something: the distance of each from the last, and bytes."""
    return {
        "block": pairs.block,
        "blocks": pairs.num_blocks,
        "count": pairs.bytes.num_used,
        "steps": arrays.add(np.diff(pairs.bytes.tiles.array(), prepend=0)),
        "bytes": arrays.add(pairs.bytes.values.array()),
        "largest": [list(each) for each in pairs.largest],
    }


def _compute_set(found: Any, arrays: Arrays) -> dict[str, Any]:
    types = [
        [each.type, arrays.add(each.count_by_tile.array()), each.at] for each in found.vertices
    ]
    return {"name": found.name, "types": types}


def _findings(report: Report) -> list[dict[str, Any]]:
    names = ("kind", "share", "steps", "tile", "at", "sentence")
    return [{name: getattr(each, name) for name in names} for each in report.insights.findings]


# -- memory and programs ---------------------------------------------------------------------------


Marks = Mapping[tuple[str, int], MemoryStep]


def _marks(compilation: Compilation) -> Marks:
    """Return steps that do nothing when they run, such as WriteUndef, by program and row.

    A program tree has neither their names nor numbers, and the plan of memory has not their rows;
    both have them in order, with their lines.
    """
    rest: dict[tuple[str, str], list[MemoryStep]] = {}
    memory = compilation.modelled
    for step in () if memory is None else memory.steps:
        if not step.rows:
            rest.setdefault((step.program, step.at), []).append(step)
    found = {}
    for name, tree in compilation.programs.items() if rest else ():
        nameless = [each for each in tree.walk() if each.type is ProgramType.MARK and not each.name]
        for node in reversed(sorted(nameless, key=lambda each: each.row)):
            if steps := rest.get((name, node.at)):
                found[name, node.row] = steps.pop()
    return found


def _memory(
    compilation: Compilation, arrays: Arrays, marks: Marks, *, exact: bool
) -> dict[str, Any] | None:
    memory = compilation.modelled
    if memory is None:
        return None
    kept: Sequence[Any] = memory.addresses if exact else ()
    variables = {each.name: each for each in compilation.variables if exact}
    nowhere: list[dict[str, int] | None] = [None] * len(memory.held)
    places = [arrays.add(each.array()) for each in kept] or nowhere
    rows = {step.number: row for (_, row), step in marks.items()}
    return {
        "needed": arrays.add(memory.including_gaps.array()),
        "addressed": bool(kept),
        "held": [
            {
                "name": held.name,
                "kind": held.category,
                "bytes": arrays.add(held.bytes.array()),
                "steps": None if held.steps is None else [list(each) for each in held.steps],
                "at": held.at,
                "shape": None if held.shape is None else list(held.shape),
                "type": held.element_type,
                "address": place,
                "pieces": None if held.shape is None else _pieces(variables.get(held.name), arrays),
            }
            for held, place in zip(memory.held, places, strict=True)
        ],
        "steps": [
            {
                "name": each.name,
                "program": each.program,
                "n": each.number,
                "rows": list(each.rows) or [rows[n] for n in (each.number,) if n in rows],
                "at": each.at,
            }
            for each in memory.steps
        ],
    }


def _pieces(variable: Variable | None, arrays: Arrays) -> dict[str, Any] | None:
    """Return which elements lie on which tile: how far apart pieces begin, and tiles from 1 on.

    Names of variables are unique, so that what lies in memory is joined with its variable by name.
    """
    if variable is None or variable.first is None or variable.tiles is None:
        return None
    first, tiles = variable.first.array(), variable.tiles.array()
    return {
        "count": len(first),
        "steps": arrays.add(np.diff(first, prepend=0)),
        "tiles": arrays.add(tiles + 1),
    }


def _tree(tree: Program, program: str, marks: Marks) -> list[list[Any]]:
    """Return the nodes of a program, each once, children by their numbers; the root is first."""
    nodes = list(tree.walk())

    def name_of(node: Program) -> str:
        mark = None if node.name or node.children else marks.get((program, node.row))
        words = "" if mark is None else mark.name
        return node.name or re.sub(r"^step \S+ of \S+: |, of program '.*'$", "", words)

    numbers = {id(node): number for number, node in enumerate(nodes)}
    return [
        [
            node.type.value,
            name_of(node),
            node.row,
            [numbers[id(child)] for child in node.children],
            node.at,
            node.role,
            node.count,
        ]
        for node in nodes
    ]
