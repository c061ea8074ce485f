"""Bind the steps of an executable, as launches, to the addresses of an engine.

The code of a vertex class checks indices unless all are known in advance to be in range. The source
of `compute` determines the conditions on lengths and numbers for this
(`poplite.vertex.compute.bounds`). Here the conditions are evaluated for all vertices, from their
descriptor rows; if they all hold, the code of the class makes no checks.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.executable import encoding as op
from poplite.executable.encoding import COUNT_WORD, Code, Column, Columns, Moves, positions
from poplite.executable.executable import Executable
from poplite.executable.parts import ComputeStep, CopyStep, Vertices, phases_of, vertex_classes
from poplite.frozen import frozen
from poplite.jit.build import Builds
from poplite.machine.target import Target
from poplite.simulator import compiled_parts
from poplite.simulator.codegen.compute_code import Counting, Variant, is_lowered, modes_of
from poplite.simulator.compiled_parts import Driver
from poplite.simulator.run import launches
from poplite.simulator.run.arena import Arena, typed
from poplite.simulator.run.interpreted_vertices import Compute, InterpretedSteps, Record, move
from poplite.simulator.run.launches import LaunchTable, Part
from poplite.simulator.run.slot_counts import SlotCounts, counting_candidates
from poplite.simulator.run.touched import numbers_within
from poplite.simulator.running import Progress, announcer
from poplite.vertex.compute.bounds import NUMBER_BITS
from poplite.vertex.compute.dialect import OPERATIONS
from poplite.vertex.compute.meaning import FasterForm, FasterForms, meaning_of
from poplite.vertex.fields import fields_of
from poplite.vertex.vertex import Field, MultiVertex, Vertex

ELEMENTS_PER_NS = 10
"""Elements that simple vertices process per nanosecond, to estimate the time of launches that have
not run."""

PATIENCE_NS = 250_000_000
"""Running time after which threads are started for launches whose estimate was too low."""


class CompiledSteps:
    """The steps of an executable as launches.

    Attributes:
        table: the launches; phase p of step s is in `launches[s, p]`.
        forms: the faster forms that run; deferred ones are added when they start to run.
        slot_counts: the counting of vertices.
        spoiled: the fault that stopped a vertex and left memory undefined; None if there was none.
    """

    def __init__(
        self,
        executable: Executable,
        arena: Arena,
        computes: Mapping[type[Vertex], Compute],
        interpreted: InterpretedSteps,
        forms: FasterForms,
        progress: Progress,
    ) -> None:
        self.executable, self.arena, self.computes = executable, arena, computes
        self.interpreted = interpreted
        self.spoiled: str | None = None
        checked = checked_classes(executable, arena, forms)
        stopping = checked | {cls for cls, form in forms.items() if form.vertex in checked}
        steps = [_in_order_of_memory(step, stopping) for step in executable.steps]
        phases = [phases_of(step) for step in steps]
        kinds = _Kinds(executable, steps, interpreted, forms, checked)
        with Builds() as builds:
            _add_first(executable, kinds, builds)
            in_python = interpreted.classes
            self.slot_counts = SlotCounts(executable, arena.addresses, in_python, checked)
            drivers = _drivers(kinds, self.slot_counts, builds, progress)
        ran = {kind[0] for kind in drivers if kind[-1]}
        self.forms: FasterForms = {cls: form for cls, form in forms.items() if cls in ran}
        self._kinds, self._drivers = kinds, drivers
        self._quickened: set[int] = set()

        defined = [n for n, step in enumerate(steps) if self._is_looked_at(step)]
        is_defined = False
        counting: Mapping[type[Vertex], Counting] = {}

        def driver(group: Vertices) -> int:
            cls, counts = group.cls, counting.get(group.cls)
            is_logged = is_defined and issubclass(cls, MultiVertex)
            is_faster = not is_defined and counts is None and cls in self.forms
            is_logged |= counts is None and kinds.is_put_off(cls)  # until it is replaced
            return drivers[cls, group.columns, is_logged, counts, is_faster]

        rows = sum(map(len, phases)) + len(defined) + len(self.slot_counts)
        floats = arena.floats.address
        self.table = LaunchTable(rows, arena.addresses, driver, compiled_parts.mover, floats)
        self.launches = np.zeros((len(executable.steps), op.DEFINED + 1), np.int64)
        for number, step in enumerate(steps):
            may_fault = isinstance(step, ComputeStep) and (
                step.may_fault or any(self._checks(group.cls, checked) for group in step.groups)
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
                        assert isinstance(step, ComputeStep), "only compute sets have vertices"
                        parts = tuple(group for group in step.groups if group.cls in counting)
                if phase == op.COMPUTE:
                    parts = interpreted.others(number, parts)
                log = self._log(parts) if phase == op.COMPUTE else 0
                launch = self.table.add(parts, checked=looks, replica_map=to, slots=slots, log=log)
                self.launches[number, phase] = launch
                counting = {}
        is_defined = True
        self.launches[:, op.DEFINED] = self.launches[:, op.COMPUTE]
        for number in defined:
            parts = interpreted.others(number, phases[number][op.COMPUTE])
            launch = self.table.add(parts, checked=True, log=self._log(parts))
            self.launches[number, op.DEFINED] = launch
        self.slot_counts.add_to(self.table)
        self._ran_ns = 0
        self._may_share = np.ones(len(self.table.launches), np.bool_)
        guesses = np.array([launch.work for launch in self.table.launches]) / ELEMENTS_PER_NS
        self._share(guesses)

    def _checks(self, cls: type[Vertex], checked: frozenset[type[Vertex]]) -> bool:
        """Return whether the code of a class, or of the faster form that runs, checks indices."""
        return cls in checked or (cls in self.forms and self.forms[cls].vertex in checked)

    def _is_looked_at(self, step: ComputeStep | CopyStep) -> bool:
        """Return whether strict checks run a step as DEFINED."""
        if self.executable.checks != "strict" or not isinstance(step, ComputeStep):
            return False
        return any(group.cls in self.forms or _has_workers(group) for group in step.groups)

    def _log(self, parts: Sequence[Part]) -> int:
        """Return the log of vertices' accesses, as in a chunk; 0 if there is none."""
        logs = self.executable.checks == "strict" and any(map(_has_workers, parts))
        return self.arena.accesses.shift if logs else 0

    def end_looks(self, step: int) -> None:
        """Make a step that strict checks no longer check run its deferred forms."""
        lowered = self.executable.steps[step]
        if step in self._quickened or not isinstance(lowered, ComputeStep):
            return
        self._quickened.add(step)
        others: dict[int, int] = {}
        for group in lowered.groups:
            cls, columns = group.cls, group.columns
            logging = self._drivers.get((cls, columns, True, None, False))
            if logging is not None and self._kinds.is_put_off(cls):
                form = self._kinds.forms.get(cls)
                kind = cls, columns, False, None, form is not None
                others[logging] = self._kinds.driver(kind).address()
                self.forms = self.forms if form is None else {**self.forms, cls: form}
        if others:
            self.table.replace_drivers(self.launches[step, op.COMPUTE], others)

    def forms_of(self, step: int, phase: int) -> FasterForms:
        """Return the faster forms that a launch runs; vertices that count themselves run none."""
        counting = self.slot_counts.counting(step)
        counts = {cls for cls, each in counting.items() if not each.on_copies}
        is_faster = phase == op.COMPUTE
        return {cls: form for cls, form in self.forms.items() if is_faster and cls not in counts}

    def chunks_of_vertices(self, step: int) -> Iterator[npt.NDArray[np.int64]]:
        """Yield the chunks with the results of the vertices of a compute set."""
        for number in np.unique(self.launches[step, [op.COMPUTE, op.DEFINED]]).tolist():
            launch = self.table.launches[number]
            yield from (launch.chunks, launch.shares)

    def launch_of(self, code: Code, row: int) -> int:
        """Return the launch of a LAUNCH row; each row that sums slots has its own."""
        step, phase = code.ops[row, 1:3].tolist()
        own = self.slot_counts.launch_of(code, row)
        return self.launches[step, phase] if own is None else own

    def share_slow(self, ran_ns: int) -> None:
        """Cut launches that have proved to be slow for threads, after a run of `ran_ns`."""
        self._ran_ns += ran_ns
        if launches.has_threads() or self._ran_ns > PATIENCE_NS:
            words = self.table.words[: len(self.table.launches)]
            self._share(np.maximum(words[:, op.LAUNCH_COST], words[:, op.LAUNCH_SPENT]))

    def _share(self, taken_ns: npt.NDArray[np.float64 | np.int64]) -> None:
        """Cut launches for threads, by the time of each on one thread."""
        count = launches.thread_count()
        candidates = np.flatnonzero((taken_ns >= launches.LEAST_NS) & self._may_share)
        self._may_share[candidates] = [self.table.is_shareable(n) for n in candidates.tolist()]
        candidates = candidates[self._may_share[candidates]]
        if count > 1 and len(candidates):
            pays = launches.pays_ns()
            for number in candidates[taken_ns[candidates] >= pays].tolist():
                self.table.share(number, count)
                self._may_share[number] = False

    def take_fault(self, step: int, phase: int) -> Record:
        """Return the fault of the first vertex that faulted in a launch, and clear all faults."""
        return Record(*min(self.table.take_faults(self.launches[step, phase])))

    def settle(self, code: Code, row: int) -> None:
        """Make memory well defined after the launch in `row` was interrupted.

        A compute set is undone if its elements were saved; otherwise each vertex has run completely
        or not at all, and the launches that follow the vertices run.
        """
        step, phase = code.ops[row, 1:3].tolist()
        number, lowered = self.launches[step, phase], self.executable.steps[step]
        self.table.take_faults(number)
        self.table.words[self.launch_of(code, row), op.LAUNCH_SPENT] = 0
        if isinstance(lowered, ComputeStep) and phase >= op.COMPUTE:
            is_undone = phase in (op.COMPUTE, op.DEFINED) and lowered.may_fault
            move(lowered.restore if is_undone else lowered.scatter, self.arena)
            if phase in (op.SCATTER, op.SUM_SLOTS):
                self.slot_counts.finish(code, row)


def _in_order_of_memory(step: Step, stopping: Container[type[Vertex]]) -> Step:
    """Return a step whose vertices run in memory order, if no vertex of their class may stop.

    If vertices may stop, they run in order of number, so that the first one that stops is reported.
    """
    if isinstance(step, CopyStep) or step.may_fault:
        return step
    groups = (
        group if group.cls in stopping else launches.in_order_of_memory(group)
        for group in step.groups
    )
    return replace(step, groups=tuple(groups))


def _has_workers(part: Part) -> bool:
    return isinstance(part, Vertices) and issubclass(part.cls, MultiVertex)


Step = ComputeStep | CopyStep

_Kind = tuple[type[Vertex], Columns, bool, Counting | None, bool]
"""Vertex class, columns, whether workers log their accesses, how vertices are counted, and
whether they run the faster form of the class."""


@frozen(eq=False)
class _Kinds:
    """The drivers that an executable needs, for `steps` in the form that runs.

    `checked` are the classes whose code checks indices.
    """

    executable: Executable
    steps: Sequence[Step]
    interpreted: InterpretedSteps
    forms: FasterForms
    checked: frozenset[type[Vertex]]

    def needed(self, counting_of: Callable[[int], Mapping[type[Vertex], Counting]]) -> list[_Kind]:
        """Return the drivers that are needed, each once."""
        kinds: dict[_Kind, None] = {}
        for number, step in enumerate(self.steps):
            for group in step.groups if isinstance(step, ComputeStep) else ():
                cls, columns = group.cls, group.columns
                counting = counting_of(number).get(cls)
                if counting is not None:
                    kinds[cls, columns, False, counting, False] = None
                if cls in self.interpreted.classes[number]:
                    continue
                is_counted = counting is not None and not counting.on_copies
                if not is_counted and not self.is_put_off(cls):
                    kinds[cls, columns, False, None, cls in self.forms] = None
                if self.executable.checks == "strict":  # which check the definition
                    kinds[cls, columns, issubclass(cls, MultiVertex), None, False] = None
        return list(kinds)

    def is_put_off(self, cls: type[Vertex]) -> bool:
        """Return whether the code that runs after strict checks is compiled only when they end.

        Strict checks run code that logs the accesses of workers for a long time.
        """
        if self.executable.checks != "strict" or not issubclass(cls, MultiVertex):
            return False
        return cls not in self.forms or is_put_off(self.forms[cls])

    def driver(self, kind: _Kind) -> Driver:
        """Return a driver that is needed."""
        cls, columns, logged, counting, is_faster = kind
        if counting is not None:
            return Driver(cls, columns, Variant(counting=counting))
        form = self.forms[cls] if is_faster else None
        is_checked = (cls if form is None else form.vertex) in self.checked
        modes = modes_of(cls, self.executable.float_modes)
        rows = None if form is None else cls.strided_rows
        fetched = None if rows is None else rows.field
        variant = Variant(is_checked, logged, modes, fetched, cls._scattered)
        return Driver(cls, columns, variant, form)


def is_put_off(form: FasterForm) -> bool:
    """Return whether strict checks do not run a form until they no longer check its step.

    Strict checks run a `MultiVertex` for a long time with its `compute`. The library's tests
    compare its forms; compiling them for strict checks as well took half the time of a first matrix
    product.
    """
    return is_of_library(form.vertex) and issubclass(form.vertex, MultiVertex)


def is_of_library(cls: type[Vertex]) -> bool:
    """Return whether a vertex class, or the class of a faster form, belongs to poplite."""
    return cls.__module__.startswith("poplite.vertices.")


def _add_first(executable: Executable, kinds: _Kinds, builds: Builds) -> None:
    """Compile the parts that are always needed, and those that determine the counted steps."""
    candidates = set(counting_candidates(executable))
    drivers: dict[type[Vertex], list[Driver]] = {}
    for kind in kinds.needed(lambda number: {}):
        own = drivers.setdefault(kind[0], [])
        # A counted class may need no driver other than the one that counts.
        if kind[0] not in candidates or executable.checks == "strict":
            own.append(kinds.driver(kind))
    if (announcing := announcer()) is not None:
        classes = (each for cls, own in drivers.items() for each in _compiled(cls, own))
        announcing.expect(cls for cls in classes if not _is_lowered(executable, cls))
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


def _compiled(cls: type[Vertex], drivers: Sequence[Driver]) -> list[type[Vertex]]:
    """Return the classes that are compiled for a class: its faster form, if that is a class."""
    return list(dict.fromkeys(driver.vertex for driver in drivers)) or [cls]


def _is_lowered(executable: Executable, cls: type[Vertex]) -> bool:
    modes = modes_of(cls, executable.float_modes) or (0,)
    return all(is_lowered(cls, mode) for mode in modes)


def _drivers(
    kinds: _Kinds, slot_counts: SlotCounts, builds: Builds, progress: Progress
) -> dict[_Kind, int]:
    """Return the addresses of the drivers that an executable needs, and compile missing ones."""
    drivers = {kind: kinds.driver(kind) for kind in kinds.needed(slot_counts.counting)}
    for driver in drivers.values():
        driver.add_to(builds)
    builds.finish()
    progress.total = len(vertex_classes(kinds.executable.steps))
    progress.update(lambda: progress.total or 0)
    return {kind: driver.address() for kind, driver in drivers.items()}


# -- classes whose indices are checked -------------------------------------------------------------


def checked_classes(
    executable: Executable, arena: Arena, forms: FasterForms
) -> frozenset[type[Vertex]]:
    """Return the classes whose code checks indices, since these may be out of range.

    Classes of faster forms are included.
    """
    if executable.checks == "none":
        return frozenset()
    groups: dict[type[Vertex], list[Vertices]] = defaultdict(list)
    for step in executable.steps:
        for group in step.groups if isinstance(step, ComputeStep) else ():
            groups[group.cls].append(group)
            if group.cls in forms:
                groups[forms[group.cls].vertex].append(group)
    target = executable.target
    proved = {cls for cls, found in groups.items() if _is_proved(cls, found, arena, target)}
    return frozenset(groups.keys() - proved)


def _is_proved(cls: type[Vertex], groups: list[Vertices], arena: Arena, target: Target) -> bool:
    meaning, some = meaning_of(cls), [each for each in groups if len(each.rows)]
    needed = meaning.conditions
    if needed is None and not meaning.indices_follow_shapes:
        return False
    try:
        if needed is not None:
            return all(_Numbers(each, arena).hold(needed) for each in some if needed)
        from poplite.simulator.pricing.index_ranges import stays_inside  # for few classes

        return all(stays_inside(cls, _Numbers(each, arena).shapes(), target) for each in some)
    except KeyError:  # a number is known only at run time
        return False


class _Numbers:
    """Lengths and numbers of the vertices of a group; values of state are in the arena."""

    def __init__(self, group: Vertices, arena: Arena) -> None:
        self._group, self._arena = group, arena
        self._fields = list(group.cls.fields)
        self._columns: dict[tuple[int, str], tuple[int, Column, int]] = {
            (column.field, column.part): (number, column, at)
            for number, (column, at) in enumerate(positions(group.columns))
        }

    def hold(self, needed: list[ast.expr]) -> bool:
        """Return whether conditions hold for all vertices."""
        return all(bool(np.all(self._value(each))) for each in needed)

    def shapes(self) -> Int64:
        """Return the shape of each vertex, int64[vertices, words]."""
        count = int(self._group.rows[:, COUNT_WORD].sum())
        words: list[Any] = []
        for position, (field, of_shape) in enumerate(
            zip(self._group.cls.fields.values(), fields_of(self._group.cls), strict=True)
        ):
            if of_shape.kind == "length":
                words.append(self._words(position, "length"))
            elif of_shape.kind == "rows":
                rows = self._words(position, "rows")
                words += [rows, rows * self._words(position, "length")]
            elif of_shape.kind == "value":
                words.append(self._state_at(position, field))
        shapes = np.empty((count, len(words)), np.int64)
        for word, numbers in enumerate(words):
            shapes[:, word] = numbers
        return shapes

    def _value(self, node: ast.expr) -> Any:
        """Return the value of a part of a condition: one for all vertices, or one for each."""
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Attribute():
                return self._state(node)
            case ast.UnaryOp(operand=operand):
                return -self._value(operand)
            case ast.BinOp(left=left, op=op, right=right):
                return _OPERATIONS[type(op)](self._value(left), self._value(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return _OPERATIONS[type(op)](self._value(left), self._value(right))
            case ast.Call(func=ast.Name("len"), args=[owner]):
                return self._length(owner)
            case ast.Call(func=ast.Name("@row_length"), args=[owner]):
                return self._part(owner, "length")
            case ast.Call(func=ast.Name("@fits"), args=[owner, least, most]):
                return self._fits(least, most, self._length(owner))
            case ast.Call(func=ast.Name("@rows_fit"), args=[owner, least, most]):
                return self._fits(least, most, self._part(owner, "length"))
            case ast.Call(func=ast.Name("@row_fits"), args=[owner, row, least, most]):
                in_row = self._fits(least, most, self._part(owner, "length"))
                return np.logical_and(in_row, self._fits(row, row, self._length(owner)))
            case ast.Call(func=ast.Name("@is_small"), args=[number]):
                value, limit = self._value(number), 1 << NUMBER_BITS
                return np.logical_and(np.greater_equal(value, -limit), np.less(value, limit))
        raise KeyError(ast.dump(node))

    def _fits(self, least: ast.expr, most: ast.expr, length: Any) -> Any:
        from_zero = np.greater_equal(self._value(least), 0)
        return np.logical_and(from_zero, np.less(self._value(most), length))

    def _length(self, owner: ast.expr) -> Any:
        """Return the number of elements of a vector, or of rows of a list."""
        position = self._position(owner)
        depth = self._group.cls.fields[self._fields[position]].depth
        return self._part(owner, "rows" if depth == 2 else "length")

    def _position(self, node: ast.expr) -> int:
        if not isinstance(node, ast.Attribute):
            raise KeyError(ast.dump(node))
        return self._fields.index(node.attr)

    def _part(self, owner: ast.expr, part: str) -> Any:
        return self._words(self._position(owner), part)

    def _words(self, field: int, part: str) -> Any:
        """Return a number that describes a field: one for each run, or one for each vertex."""
        number, column, at = self._columns[field, part]
        rows, counts = self._group.rows, self._group.rows[:, COUNT_WORD]
        words = rows[:, at]
        if column.kind == "affine" and rows[:, at + 1].any():
            raise KeyError(part)
        if column.kind != "flat":
            return self._of_vertices(words)
        run = np.repeat(np.arange(len(counts)), counts)
        within = rows[run, at + 1] + numbers_within(counts)
        return words[run] + self._group.tables[number][within]

    def _of_vertices(self, words: Any) -> Any:
        """Return the words of runs as one word for each vertex, or as a single number if equal."""
        if (words == words[0]).all():
            return int(words[0])
        return np.repeat(words, self._group.rows[:, COUNT_WORD])

    def _state(self, node: ast.Attribute) -> Any:
        field = self._group.cls.fields[node.attr]
        if field.is_edge:
            raise KeyError(node.attr)
        return self._state_at(self._fields.index(node.attr), field)

    def _state_at(self, position: int, field: Field) -> Any:
        values = typed(self._arena.bytes, field.element)
        return values[self._words(position, "start")].astype(np.int64)


_NUMPYS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.cmpop)
_OPERATIONS: Mapping[type[ast.AST], Any] = {
    **{node: getattr(np, name) for node, name in OPERATIONS.items() if issubclass(node, _NUMPYS)},
    ast.BitOr: np.logical_or,
}
