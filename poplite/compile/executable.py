"""From a graph and its programs to an executable: checked, lowered, not yet bound to memory.

An executable holds no address and no compiled code: it is what an engine needs to allocate
its arena, compile its drivers and run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from poplite.compile.check import check_program
from poplite.compile.edges import EdgeTable, edge_table
from poplite.compile.layout import ArenaLayout
from poplite.compile.lower import lower_compute_sets, lower_copy
from poplite.compile.opcodes import AGAIN, CALL, END, LAUNCH, REPEAT
from poplite.compile.step import ComputeStep, CopyStep
from poplite.compute_set import ComputeSet
from poplite.errors import ControlProgramError, UnknownName
from poplite.graph import Graph
from poplite.program import Copy, Execute, PrintTensor, Program, Repeat, distinct_steps
from poplite.source import here

Integers = npt.NDArray[np.int64]
Programs = Program | Iterable[Program] | Mapping[str, Program]

MAX_STEPS = 1 << 22
"""Most steps of one program; beyond it lies a mistake, such as a loop written out."""

Checks = Literal["strict", "fast"]

STRICT_LIMIT = 1_000_000
"""Connected elements up to which index checks are on by default."""

GATHER, SAVE, COMPUTE, SCATTER = range(4)
"""Phases of a compute set; a copy has the first only."""


@dataclass(frozen=True, slots=True)
class Code:
    """One program as ops.

    Attributes:
        ops: int64[rows, 4]; a LAUNCH names step and phase in its first two operands.
        step_numbers: int64[rows], number of the program's step that a row belongs to.
        num_steps: steps of the program.
        num_loops: Repeats in it.
    """

    ops: Integers
    step_numbers: Integers
    num_steps: int
    num_loops: int


@dataclass(frozen=True, slots=True)
class Executable:
    """A compiled graph.

    Attributes:
        graph: the graph it was made from.
        layout: where everything lies in the arena.
        steps: lowered compute sets and copies.
        programs: the ops of each program.
        prints: what the host callbacks print, by number.
        compute_sets: the compute set of each compute step, by step.
        checks: whether indices are checked.
        elements_per_tile: fewest and most variable elements on one tile.
    """

    graph: Graph
    layout: ArenaLayout
    steps: tuple[ComputeStep | CopyStep, ...]
    programs: Mapping[str, Code]
    prints: tuple[PrintTensor, ...]
    compute_sets: tuple[ComputeSet, ...]
    checks: Checks
    elements_per_tile: tuple[int, int]


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
    prints = tuple(p for p in leaves if isinstance(p, PrintTensor))
    if checks is None:
        connected = sum(int(edges_of(compute_set).length.sum()) for compute_set in sets)
        checks = "strict" if connected <= STRICT_LIMIT else "fast"
    layout = ArenaLayout(graph.variables)
    steps: list[ComputeStep | CopyStep] = []
    with_edges = [(compute_set, edges_of(compute_set)) for compute_set in sets]
    checked = interpret or checks == "strict"
    steps += lower_compute_sets(with_edges, layout, checked=checked)
    steps += [lower_copy(copy, layout) for copy in copies]
    number_of: dict[object, int] = {leaf: n for n, leaf in enumerate([*sets, *copies])}
    number_of |= {leaf: n for n, leaf in enumerate(prints)}
    return Executable(
        graph=graph,
        layout=layout,
        steps=tuple(steps),
        programs={name: _Emitter(steps, number_of).code(p) for name, p in named.items()},
        prints=prints,
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


class _Emitter:
    """Writes a program tree down as ops.

    Args:
        steps: the lowered steps.
        number_of: step number of compute sets and copies, callback number of prints.
    """

    def __init__(
        self, steps: list[ComputeStep | CopyStep], number_of: Mapping[object, int]
    ) -> None:
        self._steps, self._number_of = steps, number_of
        self._ops: list[list[int]] = []
        self._step_numbers: list[int] = []
        self._step = 0
        self._loops = 0

    def code(self, program: Program) -> Code:
        """Return a program as ops."""
        # A stack instead of recursion: programs may be as deep as they are long.
        pending: list[Program | int] = [program]
        while pending:
            item = pending.pop()
            if isinstance(item, int):
                self._close(item)
            elif isinstance(item, Repeat):
                if item.is_empty:
                    self._step += item.num_steps
                else:
                    pending += [self._open(item.count), item.body]
            elif item.children:
                pending.extend(reversed(item.children))
            else:
                self._step += item.num_steps
                self._leaf(item)
        self._emit(END)
        return Code(
            np.array(self._ops, np.int64),
            np.array(self._step_numbers, np.int64),
            program.num_steps,
            self._loops,
        )

    def _emit(self, op: int, a: int = 0, b: int = 0, c: int = 0) -> None:
        self._ops.append([op, a, b, c])
        self._step_numbers.append(self._step)

    def _open(self, count: int) -> int:
        self._emit(REPEAT, self._loops, count)
        self._loops += 1
        return len(self._ops) - 1

    def _close(self, row: int) -> None:
        self._emit(AGAIN, self._ops[row][1], row + 1)
        self._ops[row][3] = len(self._ops)

    def _leaf(self, leaf: Program) -> None:
        if isinstance(leaf, Execute):
            number = self._number_of[leaf.compute_set]
            step = self._steps[number]
            assert isinstance(step, ComputeStep)
            optional = {GATHER: step.gather, SAVE: step.save, SCATTER: step.scatter}
            for phase in (GATHER, SAVE, COMPUTE, SCATTER):
                if phase == COMPUTE or len(optional[phase].records):
                    self._emit(LAUNCH, number, phase)
        elif isinstance(leaf, Copy):
            self._emit(LAUNCH, self._number_of[leaf], GATHER)
        elif isinstance(leaf, PrintTensor):
            self._emit(CALL, self._number_of[leaf])
        elif not leaf.is_empty:
            raise AssertionError(f"no op for {leaf!r}")
