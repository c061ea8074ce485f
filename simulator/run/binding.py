"""The steps of an executable as launches, bound to the addresses of an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from poplite.executable import opcodes as op
from poplite.executable.descriptor import Columns
from poplite.executable.executable import Executable
from poplite.executable.moves import Moves
from poplite.executable.opcodes import Code
from poplite.executable.step import ComputeStep, CopyStep, Vertices, phases_of, vertex_classes
from poplite.jit.build import Builds
from poplite.simulator import compiled_parts
from poplite.simulator.codegen.compute_code import is_lowered
from poplite.simulator.codegen.variant import Counting, Variant, modes_of
from poplite.simulator.compiled_parts import Driver
from poplite.simulator.counting.data_dependent import counting_candidates
from poplite.simulator.progress import Progress, announcer
from poplite.simulator.run import threads
from poplite.simulator.run.arena import Arena
from poplite.simulator.run.faults import Record
from poplite.simulator.run.interpreted_steps import InterpretedSteps
from poplite.simulator.run.interpreted_vertices import Compute
from poplite.simulator.run.launches import LaunchTable
from poplite.simulator.run.slot_counts import SlotCounts
from poplite.vertex.vertex import MultiVertex, Vertex

ELEMENTS_PER_NS = 10
"""Work of simple vertices in a nanosecond, to guess the cost of launches that have not run."""

PATIENCE_NS = 250_000_000
"""Running time after which threads are started for launches that were guessed too low."""


class CompiledSteps:
    """The steps of an executable as launches.

    Attributes:
        table: the launches; phase p of step s is in `launches[s, p]`.
        slot_counts: what counts vertices.
        spoiled: what stopped a vertex and left memory undefined; None where nothing did.
    """

    def __init__(
        self,
        executable: Executable,
        arena: Arena,
        computes: Mapping[type[Vertex], Compute],
        interpreted: InterpretedSteps,
        progress: Progress,
    ) -> None:
        self.executable, self.arena, self.computes = executable, arena, computes
        self.interpreted = interpreted
        self.spoiled: str | None = None
        phases = [phases_of(step) for step in executable.steps]
        from poplite.simulator.run.checked_classes import checked_classes  # needs `bounds`

        checked = checked_classes(executable, arena)
        with Builds() as builds:
            _add_first(executable, interpreted, checked, builds)
            in_python = interpreted.classes
            self.slot_counts = SlotCounts(executable, arena.addresses, in_python, checked)
            drivers = _drivers(executable, self.slot_counts, interpreted, checked, builds, progress)

        has_workers = [n for n, step in enumerate(executable.steps) if _may_race(executable, step)]
        falling = False
        counting: Mapping[type[Vertex], Counting] = {}

        def driver(group: Vertices) -> int:
            is_falling = falling and issubclass(group.cls, MultiVertex)
            return drivers[group.cls, group.columns, is_falling, counting.get(group.cls)]

        rows = sum(map(len, phases)) + len(has_workers) + len(self.slot_counts)
        floats = arena.floats.address
        self.table = LaunchTable(rows, arena.addresses, driver, compiled_parts.mover, floats)
        self.launches = np.zeros((len(executable.steps), op.FALLING + 1), np.int64)
        for number, step in enumerate(executable.steps):
            may_fault = isinstance(step, ComputeStep) and (
                step.may_fault or any(group.cls in checked for group in step.groups)
            )
            for phase, parts in enumerate(phases[number]):
                looks = may_fault and phase == op.COMPUTE
                to = step.replica_map if isinstance(step, CopyStep) else None
                slots: Mapping[int, int] = {}
                if phase in (op.COUNT, op.COMPUTE) and number in self.slot_counts.steps:
                    table, on_copies = self.slot_counts.steps[number], phase == op.COUNT
                    slots, found = table.slots, table.counting
                    counting = {
                        cls: each for cls, each in found.items() if each.on_copies == on_copies
                    }
                    if on_copies:
                        assert isinstance(step, ComputeStep), "nothing else has vertices"
                        parts = tuple(group for group in step.groups if group.cls in counting)
                if phase == op.COMPUTE:
                    parts = interpreted.others(number, parts)
                launch = self.table.add(parts, checked=looks, replica_map=to, slots=slots)
                self.launches[number, phase] = launch
                counting = {}
        falling = True
        for number in has_workers:
            parts = interpreted.others(number, phases[number][op.COMPUTE])
            self.launches[number, op.FALLING] = self.table.add(parts, checked=True)
        self.slot_counts.add_to(self.table)
        self._ran_ns = 0
        self._may_share = np.ones(len(self.table.launches), np.bool_)
        guesses = np.array([launch.work for launch in self.table.launches]) / ELEMENTS_PER_NS
        self._share(guesses)

    def launch_of(self, code: Code, row: int) -> int:
        """Return the launch of a LAUNCH row; each row that sums slots has its own."""
        step, phase = code.ops[row, 1:3].tolist()
        own = self.slot_counts.launch_of(code, row)
        return self.launches[step, phase] if own is None else own

    def share_slow(self, ran_ns: int) -> None:
        """Let threads share the launches that turned out slow; `ran_ns` passed since then."""
        self._ran_ns += ran_ns
        if threads.started() or self._ran_ns > PATIENCE_NS:
            words = self.table.words[: len(self.table.launches)]
            self._share(np.maximum(words[:, op.LAUNCH_COST], words[:, op.LAUNCH_SPENT]))

    def _share(self, taken_ns: npt.NDArray[np.float64 | np.int64]) -> None:
        """Cut launches for threads, by the time that each takes on one thread."""
        count = threads.count()
        candidates = np.flatnonzero((taken_ns >= threads.LEAST_NS) & self._may_share)
        self._may_share[candidates] = [self.table.is_shareable(n) for n in candidates.tolist()]
        candidates = candidates[self._may_share[candidates]]
        if count > 1 and len(candidates):
            pays = threads.pays_ns()
            for number in candidates[taken_ns[candidates] >= pays].tolist():
                self.table.share(number, count)
                self._may_share[number] = False

    def take_fault(self, step: int, phase: int) -> Record:
        """Return the fault of the first vertex that faulted in a launch, and forget all faults."""
        return Record(*min(self.table.take_faults(self.launches[step, phase])))

    def settle(self, code: Code, row: int) -> None:
        """Make memory well defined after the launch in `row` was left in the middle.

        A compute set is undone if anything of it was saved; else each vertex has run or has not.
        Then the launches behind the vertices run.
        """
        step, phase = code.ops[row, 1:3].tolist()
        number, lowered = self.launches[step, phase], self.executable.steps[step]
        self.table.take_faults(number)
        self.table.words[self.launch_of(code, row), op.LAUNCH_SPENT] = 0
        if isinstance(lowered, ComputeStep) and phase >= op.COMPUTE:
            is_undone = phase in (op.COMPUTE, op.FALLING) and lowered.may_fault
            self._move(lowered.restore if is_undone else lowered.scatter)
            if phase in (op.SCATTER, op.SUM_SLOTS):
                self.slot_counts.finish(code, row)

    def _move(self, moves: Moves) -> None:
        rows = moves.words()
        for address in self.arena.addresses:
            compiled_parts.move()(address, rows.ctypes.data, len(moves.records))


def _may_race(executable: Executable, step: ComputeStep | CopyStep) -> bool:
    """Tell whether strict checks may run the workers of a step in falling order as well."""
    if executable.checks != "strict" or not isinstance(step, ComputeStep):
        return False
    return any(issubclass(group.cls, MultiVertex) for group in step.groups)


_Kind = tuple[type[Vertex], Columns, bool, Counting | None]
"""Vertex class, columns, whether workers run in falling order, and how vertices are counted."""


def _add_first(
    executable: Executable,
    interpreted: InterpretedSteps,
    checked: frozenset[type[Vertex]],
    builds: Builds,
) -> None:
    """Compile what is needed in any case, and what decides which vertices are counted."""
    candidates = set(counting_candidates(executable))
    drivers: dict[type[Vertex], list[Driver]] = {}
    for kind in _kinds(executable, interpreted, lambda number: {}):
        own = drivers.setdefault(kind[0], [])
        # A class that is counted may need no driver beside the one that counts.
        if kind[0] not in candidates or executable.checks == "strict":
            own.append(_driver(executable, kind, checked))
    if (announcing := announcer()) is not None:
        announcing.expect(cls for cls in drivers if not _is_lowered(executable, cls))
    phases = (parts for step in executable.steps for parts in phases_of(step))
    moves = any(isinstance(part, Moves) and len(part.records) for parts in phases for part in parts)
    compiled_parts.add_own(builds, moves=moves, counts=bool(candidates))
    for cls, own in drivers.items():
        if cls in candidates:
            from poplite.simulator.pricing.class_slots import add_slots  # rarely needed

            with compiled_parts.compile_errors(cls):
                add_slots(builds, cls, executable.target)
        for driver in own:
            driver.add_to(builds)
    builds.finish()


def _is_lowered(executable: Executable, cls: type[Vertex]) -> bool:
    modes = modes_of(cls, executable.float_modes) or (0,)
    return all(is_lowered(cls, mode) for mode in modes)


def _drivers(
    executable: Executable,
    slot_counts: SlotCounts,
    interpreted: InterpretedSteps,
    checked: frozenset[type[Vertex]],
    builds: Builds,
    progress: Progress,
) -> dict[_Kind, int]:
    """Return the addresses of the drivers that an executable needs, and compile missing ones."""
    kinds = _kinds(executable, interpreted, slot_counts.counting)
    drivers = {kind: _driver(executable, kind, checked) for kind in kinds}
    for driver in drivers.values():
        driver.add_to(builds)
    builds.finish()
    progress.total = len(vertex_classes(executable.steps))
    progress.update(lambda: progress.total or 0)
    return {kind: driver.address() for kind, driver in drivers.items()}


def _kinds(
    executable: Executable,
    interpreted: InterpretedSteps,
    counting_of: Callable[[int], Mapping[type[Vertex], Counting]],
) -> list[_Kind]:
    """Return the drivers that an executable needs, each once."""
    kinds: dict[_Kind, None] = {}
    for number, step in enumerate(executable.steps):
        for group in step.groups if isinstance(step, ComputeStep) else ():
            counting = counting_of(number).get(group.cls)
            is_compiled = group.cls not in interpreted.classes[number]
            if is_compiled and (counting is None or counting.on_copies):
                kinds[group.cls, group.columns, False, None] = None
            if counting is not None:
                kinds[group.cls, group.columns, False, counting] = None
            if is_compiled and _may_race(executable, step) and issubclass(group.cls, MultiVertex):
                kinds[group.cls, group.columns, True, None] = None
    return list(kinds)


def _driver(executable: Executable, kind: _Kind, checked: frozenset[type[Vertex]]) -> Driver:
    cls, columns, falling, counting = kind
    if counting is not None:
        return Driver(cls, columns, Variant(counting=counting))
    modes = modes_of(cls, executable.float_modes)
    return Driver(cls, columns, Variant(cls in checked, falling, modes))
