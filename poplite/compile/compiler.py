"""From a graph and its programs to an executable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from poplite.compile.actions import Action, action_of
from poplite.compile.check import check_program
from poplite.compile.edges import EdgeTable, edge_table
from poplite.compile.emit import Emitter
from poplite.compile.executable import Checks, Executable
from poplite.compile.layout import ArenaLayout
from poplite.compile.lower import lower_compute_sets, lower_copy
from poplite.compile.step import ComputeStep, CopyStep
from poplite.compute_set import ComputeSet
from poplite.errors import ControlProgramError, UnknownName
from poplite.graph import Graph
from poplite.program import Copy, Execute, Program, distinct_decisions, distinct_steps
from poplite.source import here

Programs = Program | Iterable[Program] | Mapping[str, Program]

MAX_STEPS = 1 << 22
"""Most steps of one program; beyond it lies a mistake, such as a loop written out."""

STRICT_LIMIT = 1_000_000
"""Connected elements up to which index checks are on by default."""


def compile_graph(
    graph: Graph,
    programs: Programs,
    checks: Checks | None = None,
    *,
    interpret: bool = False,
) -> Executable:
    """Check and lower programs.

    Args:
        graph: the graph the programs run on.
        programs: one program, several in a list (named "0", "1", ...), or named ones.
        checks: whether indices are checked; by default up to a million connected elements.
        interpret: whether vertices will run as plain Python, which always checks indices.

    Raises:
        PopliteError: the first kind of fault that the checks find, see
            `poplite.compile.check`.
    """
    named = _named(programs)
    tables: dict[ComputeSet, EdgeTable] = {}

    def edges_of(compute_set: ComputeSet) -> EdgeTable:
        if compute_set not in tables:
            tables[compute_set] = edge_table(compute_set)
        return tables[compute_set]

    check_program(graph, named, edges_of)
    leaves = {step.program: None for p in named.values() for step in distinct_steps(p)}
    sets = list(dict.fromkeys(p.compute_set for p in leaves if isinstance(p, Execute)))
    copies = [p for p in leaves if isinstance(p, Copy)]
    decisions = dict.fromkeys(s.program for p in named.values() for s in distinct_decisions(p))
    if checks is None:
        connected = sum(edges_of(compute_set).num_elements for compute_set in sets)
        checks = "strict" if connected <= STRICT_LIMIT else "fast"
    layout = ArenaLayout(graph.variables)
    steps: list[ComputeStep | CopyStep] = []
    with_edges = [(compute_set, edges_of(compute_set)) for compute_set in sets]
    checked = interpret or checks == "strict"
    steps += lower_compute_sets(with_edges, layout, checked=checked)
    steps += [lower_copy(copy, layout) for copy in copies]
    number_of: dict[object, int] = {leaf: n for n, leaf in enumerate([*sets, *copies])}
    actions: list[Action] = []
    for program in [*leaves, *decisions]:
        if (action := action_of(program, layout)) is not None:
            number_of[program] = len(actions)
            actions.append(action)
    emitter = Emitter(steps, number_of, layout)
    return Executable(
        graph=graph,
        layout=layout,
        steps=tuple(steps),
        programs={name: emitter.code(p) for name, p in named.items()},
        actions=tuple(actions),
        compute_sets=tuple(sets),
        checks=checks,
        elements_per_tile=_balance(graph),
    )


def _balance(graph: Graph) -> tuple[int, int]:
    elements = np.zeros(graph.target.tiles, np.int64)
    for variable in graph.variables:
        breaks, tiles = variable.mapping.pieces()
        mapped = tiles >= 0
        np.add.at(elements, tiles[mapped], np.diff(breaks)[mapped])
    return int(elements.min()), int(elements.max())


def _named(programs: object) -> dict[str, Program]:
    if isinstance(programs, Program):
        programs = (programs,)
    if not isinstance(programs, Iterable):
        hint = "Execute(compute_set)" if isinstance(programs, ComputeSet) else "Sequence(...)"
        raise ControlProgramError(
            f"Engine: {programs!r:.60} is no program", at=here(), fix=f"Engine(graph, {hint})"
        )
    if not isinstance(programs, Mapping):
        programs = {str(number): program for number, program in enumerate(programs)}
    for name, program in programs.items():
        if not isinstance(name, str):
            raise ControlProgramError(
                f"program name {name!r:.60} is no text", at=here(), fix="name programs by strings"
            )
        if not isinstance(program, Program):
            raise ControlProgramError(
                f"program {name!r} is {program!r:.60}, which is no program",
                at=here(),
                fix="Engine(graph, {'main': Sequence(...)})",
            )
        if program.num_steps > MAX_STEPS:
            raise ControlProgramError(
                f"program {name!r} has {program.num_steps:,} steps, more than {MAX_STEPS:,}",
                at=program.location,
                fix="write loops as Repeat(count, body)",
            )
    if not programs:
        raise UnknownName("an engine needs at least one program", at=here(), fix="Sequence()")
    return dict(programs)
