"""The accounts of an engine's runs: executions of each row times the cost of one execution.

    rows                    executions     cost of one              total
    LAUNCH 'blur'           100            1,204 cycles             120,400
    CALLBACK stream 'in'    1              180,000                  180,000

No accounts are made while programs run: the interpreter counts rows anyway. Vertices without a
formula are priced on the first request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import compress
from typing import Literal, NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Series
from poplite.cost.exchange_cycles import pairs_of_several
from poplite.cost.memory_plan import EXCHANGE_CODE, add_exchange_code
from poplite.cost.step_cost import (
    PhaseCost,
    StepCost,
    VertexCosts,
    at_tiles,
    tile_cycles,
    tile_work,
    times,
)
from poplite.executable import encoding as op
from poplite.executable.encoding import Code, steps_before
from poplite.executable.executable import Executable
from poplite.executable.parts import (
    CodeLoad,
    ComputeStep,
    CopyStep,
    HostAction,
    Stamp,
    vertex_classes,
)
from poplite.executable.program_trees import program_trees
from poplite.frozen import frozen
from poplite.machine.target import Target
from poplite.report.execution import ExecutionStep, Phase, Source, TypeCycles
from poplite.report.per_tile import PerTile
from poplite.report.program_tree import Programs
from poplite.simulator.run.slot_counts import SlotTotals, cycles_around, known_flops, known_slots
from poplite.vertex.from_source import is_generated
from poplite.vertex.vertex import Vertex

SlotTotalsOf = Callable[[str, int], SlotTotals | None]


def _nothing(program: str, row: int) -> None:
    """Return None: no vertices were counted."""


@frozen(eq=False)
class _Priced:
    """The cost of one execution of a step.

    Attributes:
        phases: its phases in order.
        types: its vertices.
        cycles: cycles of all phases.
        idle: cycles in which workers of each tile have nothing to do while vertices run.
        code_bytes: for each phase, bytes of code on the tile with the most code.
    """

    phases: tuple[PhaseCost, ...]
    types: tuple[TypeCycles, ...]
    cycles: int
    idle: PerTile
    code_bytes: tuple[int, ...]


@frozen(eq=False)
class _Rows:
    """The rows of a program that have a cost, in ascending order.

    Attributes:
        priced: every such row, with the cost of one execution.
        known: int64[n], rows whose vertices are not counted while they run.
        cycles: int64[n], the cycles of one execution of each row in `known`.
        counted: the rows whose vertices are counted.
    """

    priced: tuple[tuple[int, _Priced], ...]
    known: Int64
    cycles: Int64
    counted: tuple[tuple[int, _Priced], ...]


class Work(NamedTuple):
    """Counts of executed work; gathered bytes are those moved to and from temporaries."""

    steps: int
    vertices: int
    bytes_copied: int
    bytes_gathered: int


class Accounts:
    """The accounts of an engine.

    `counts` returns how often each row of a program ran, int64[rows]; `slot_totals` returns the
    totals of the counted vertices for a program and row, None if there were none.
    """

    def __init__(
        self,
        executable: Executable,
        counts: Mapping[str, Int64],
        slot_totals: SlotTotalsOf = _nothing,
    ) -> None:
        self.executable, self._counts, self._slot_totals = executable, counts, slot_totals
        self._steps: dict[int, _Priced] = {}
        self._actions: dict[int, _Priced] = {}

    @property
    def are_kept(self) -> bool:
        """Whether costs are modelled."""
        return self.executable.memory is not None

    def work(self) -> Work:
        """Return the counts of executed work, whether costs are modelled or not."""
        steps = vertices = copied = gathered = 0
        for name, code in self.executable.programs.items():
            for row in code.step_rows.tolist():
                count = int(self._counts[name][row])
                step = self.executable.steps[code.ops[row, 1]]
                steps += count
                if isinstance(step, CopyStep):
                    copied += count * step.moves.size_bytes
                else:
                    vertices += count * step.num_vertices
                    gathered += count * (step.gather.size_bytes + step.scatter.size_bytes)
        return Work(steps, vertices, copied, gathered)

    def totals(self, programs: Programs | None = None) -> tuple[ExecutionStep, ...]:
        """Return the totals of each row that does the work of a step, even if it never ran.

        They are ordered by program and row; `programs` are the trees that contain the steps.
        """
        trees = programs or Programs(lambda: program_trees(self.executable))
        return tuple(
            self._total(name, row, count, priced, trees) for name, row, count, priced in self._ran()
        )

    def cycles(self) -> int:
        """Return the cycles of all runs so far."""
        total = 0
        for name, rows in self._rows.items():
            total += int(self._counts[name][rows.known] @ rows.cycles)
            for row, priced in rows.counted:
                total += self._cycles(name, row, int(self._counts[name][row]), priced)
        return total

    def exceed(self, cycles: int) -> bool:
        """Return whether all runs so far took more than `cycles` cycles, a number of any size."""
        return sum(count * priced.cycles for *_, count, priced in self._ran()) > cycles

    def _cycles(self, program: str, row: int, count: int, priced: _Priced) -> int:
        counted = self._slot_totals(program, row)
        if counted is None:
            return count * priced.cycles
        number = int(self.executable.programs[program].ops[row, 1])
        guess = cycles_around(self.executable.costs[number], self.executable.target.tiles)
        for phase in priced.phases:
            if phase.kind == "compute":
                guess += phase.cycles.array()
        return count * (priced.cycles - int(guess.max())) + counted.elapsed

    def _ran(self) -> Iterator[tuple[str, int, int, _Priced]]:
        """Yield program, row, executions and cost of all rows that have a cost."""
        for name, rows in self._rows.items():
            for row, priced in rows.priced:
                yield name, row, int(self._counts[name][row]), priced

    @cached_property
    def _rows(self) -> Mapping[str, _Rows]:
        """The rows of each program that have a cost."""
        found = {}
        for name, code in self.executable.programs.items():
            priced = tuple(self._costly(code))
            is_counted = [self._slot_totals(name, row) is not None for row, _ in priced]
            counted = tuple(compress(priced, is_counted))
            known = [pair for pair, own in zip(priced, is_counted, strict=True) if not own]
            found[name] = _Rows(
                priced,
                np.array([row for row, _ in known], np.int64),
                np.array([each.cycles for _, each in known], np.int64),
                counted,
            )
        return found

    def _costly(self, code: Code) -> Iterator[tuple[int, _Priced]]:
        costs, action_costs = self.executable.costs, self.executable.action_costs
        for row in code.acting_rows:
            kind, number = code.ops[row, :2].tolist()
            if kind == op.CALLBACK:
                cost = action_costs[number] if action_costs else None
                if cost is not None:
                    yield row, self._priced(self._actions, number, cost)
            elif number < len(costs):
                yield row, self._priced(self._steps, number, costs[number])

    def _priced(self, known: dict[int, _Priced], number: int, cost: StepCost) -> _Priced:
        if number not in known:
            known[number] = _price(cost, self.executable, self._names)
        return known[number]

    def _total(
        self, program: str, row: int, count: int, priced: _Priced, trees: Programs
    ) -> ExecutionStep:
        code = self.executable.programs[program]
        number, is_host = int(code.ops[row, 1]), bool(code.ops[row, 0] == op.CALLBACK)
        counted = self._slot_totals(program, row)
        kind = self._kind(number, is_host=is_host)
        phases = tuple(
            _phase(phase, priced, code_bytes, count)
            if counted is None or phase.kind != "compute"
            else _ran_for(counted)
            for phase, code_bytes in zip(priced.phases, priced.code_bytes, strict=True)
        )
        return ExecutionStep(
            name=self._host_name(number) if is_host else self.executable.steps[number].name,
            kind=kind,
            program_name=program,
            row=row,
            at=self._line_of(number if kind == "execute" else None, phases),
            executions=count,
            cycles=self._cycles(program, row, count, priced),
            phases=phases,
            vertex_types=tuple(
                TypeCycles(
                    each.name,
                    each.vertices * count,
                    _source(each, k, counted),
                    each.cycles * count if counted is None else counted.slots[k],
                    None if each.flops is None else each.flops * count,
                )
                for k, each in enumerate(priced.types)
            ),
            target=self.executable.target,
            programs=trees,
            operation=self._operations.get(number, "") if kind == "execute" else "",
            number=self._numbers[program][row],
            compute_set=number if kind == "execute" else None,
        )

    @cached_property
    def _names(self) -> dict[type[Vertex], str]:
        return type_names(self.executable)

    @cached_property
    def _operations(self) -> dict[int, str]:
        operations = self.executable.operations
        return {number: each.name for each in operations for number in each.compute_sets}

    @cached_property
    def _numbers(self) -> dict[str, list[int]]:
        """The number of each row's step, counted over all programs, by program."""
        programs = self.executable.programs
        before = steps_before(programs)
        return {
            name: (before[name] + code.first_numbers).tolist() for name, code in programs.items()
        }

    def _line_of(self, compute_set: int | None, phases: Sequence[Phase]) -> str:
        """Return the user's line that a step comes from."""
        if compute_set is not None and (lines := self.executable.origins[compute_set].locations):
            return lines[0].portable
        return next((each.at for phase in phases for each in phase.causes if each.at), "")

    def _kind(self, number: int, *, is_host: bool) -> Literal["execute", "copy", "host"]:
        if is_host:
            return "host"
        return "execute" if isinstance(self.executable.steps[number], ComputeStep) else "copy"

    def _host_name(self, number: int) -> str:
        action = self.executable.actions[number]
        assert isinstance(action, HostAction | Stamp), "other actions cost nothing"
        return f"load '{action.function}'" if isinstance(action, CodeLoad) else action.program


def _source(known: TypeCycles, family: int, counted: SlotTotals | None) -> Source:
    """Return the source of the cycles of a family's vertices."""
    if counted is None or not counted.is_counted[family]:
        return known.source
    return "guessed" if counted.is_cut[family] else "counted"


def _phase(phase: PhaseCost, priced: _Priced, code_bytes: int, count: int) -> Phase:
    """Return the phase with the totals of `count` executions."""
    idle = priced.idle if phase.kind == "compute" else None
    once = phase.cycles, phase.received, phase.sent, phase.copied
    cycles, received, sent, copied = (times(each, count) for each in once)
    return Phase(
        phase.kind,
        phase.cycles.most * count,
        phase.sync * count,
        cycles,
        received,
        sent,
        copied,
        phase.causes,
        phase.pairs and pairs_of_several(phase.pairs, count),
        times(idle, count) if idle is not None and idle.num_used else None,
        code_bytes,
    )


def _ran_for(counted: SlotTotals) -> Phase:
    """Return the phase in which counted vertices ran."""
    nothing = PerTile.nothing(len(counted.tile_cycles))
    busy, idle = PerTile.of(counted.tile_cycles), _divided_idle(counted)
    return Phase("compute", counted.slowest, 0, busy, nothing, nothing, nothing, (), idle=idle)


def _divided_idle(counted: SlotTotals) -> PerTile | None:
    """Return the idle cycles of counted vertices, divided among tiles by their cycles."""
    busy = np.cumsum(counted.tile_cycles)
    if not len(busy) or (idle := int(busy[-1]) - sum(counted.slots)) <= 0:
        return None
    # Cumulative sums are rounded, so that the parts add up to the total.
    return PerTile.of(np.diff(np.rint(busy * (idle / int(busy[-1]))).astype(np.int64), prepend=0))


def type_names(executable: Executable) -> dict[type[Vertex], str]:
    """Return the names of vertex classes, all different.

    Classes that share a name are qualified by their modules, except generated classes; names that
    are still equal get a number.
    """
    classes = vertex_classes(executable.steps)
    plain = Counter(cls.__name__ for cls in classes)
    full = {
        cls: cls.__name__
        if plain[cls.__name__] == 1 or is_generated(cls)
        else f"{cls.__module__}.{cls.__qualname__}"
        for cls in classes
    }
    count, seen = Counter(full.values()), Counter[str]()
    for cls, name in full.items():
        seen[name] += 1
        if count[name] > 1:
            full[cls] = f"{name}, class {seen[name]}"
    return full


def _price(cost: StepCost, executable: Executable, names: Mapping[type[Vertex], str]) -> _Priced:
    priced = [_slots(vertices, executable, names) for vertices in cost.vertices]
    phases, target = [*cost.before], executable.target
    idle = PerTile.nothing(target.tiles)
    if cost.vertices:
        slots = [slots for slots, _ in priced]
        cycles = tile_cycles(cost.vertices, slots, target)
        busy = cycles.tiles.array()
        work = tile_work(cost.vertices, slots)[busy]
        idle = at_tiles(target.tiles, busy, cycles.values.array() - work)
        phases.append(PhaseCost("compute", cycles))
    phases += cost.after
    types = tuple(vertex_type for _, vertex_type in priced)
    code_bytes = tuple(_code_bytes(phase, target) for phase in phases)
    return _Priced(tuple(phases), types, elapsed(phases, target.tiles), idle, code_bytes)


def _code_bytes(phase: PhaseCost, target: Target) -> int:
    """Return the bytes of code of an exchange on the tile with the most code."""
    if phase.kind not in EXCHANGE_CODE:
        return 0
    total = np.zeros(target.tiles, np.int64)
    add_exchange_code(total, phase, target)
    return int(total.max())


def _slots(
    vertices: VertexCosts, executable: Executable, names: Mapping[type[Vertex], str]
) -> tuple[Series, TypeCycles]:
    """Return the slots of each vertex of a family, and their sum."""
    slots, source = known_slots(vertices, executable.target)
    flops = known_flops(vertices, executable.target)
    count = vertices.numbers.count
    return slots, TypeCycles(names[vertices.cls], count, source, slots.total(), flops)


def elapsed(phases: Sequence[PhaseCost], num_tiles: int) -> int:
    """Return the cycles from the start of the first phase to the end of the last.

    A tile starts the next phase as soon as it has finished one, unless the phase has a sync.
    """
    elapsed, busy = 0, np.zeros(num_tiles, np.int64)
    for phase in phases:
        if phase.sync:
            elapsed += int(busy.max(initial=0)) + phase.sync
            busy[:] = 0
        busy[phase.cycles.tiles.array()] += phase.cycles.values.array()
    return elapsed + int(busy.max(initial=0))
