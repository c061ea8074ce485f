"""Make the report of an engine from its executable and its counts.

Per-tile numbers remain in stored form, and trees and memory are made on demand, so that a report of
a thousand steps on a thousand tiles takes milliseconds.

The bytes of variables that each step accesses are computed from the lowered steps, so that files
without a graph have them as well, and only on request. A vertex accesses the bytes of its fields.
If a field is gathered in temporaries, the bytes that are copied to the temporaries and back count
as accessed::

    vertex 0    x  [0, 16)    y  [64, 80)
    vertex 1    x  [T, T+8)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Series, compact, counting
from poplite.cost.memory_plan import ControlCode, addresses_of
from poplite.cost.step_cost import JoinedCopyCost, StepCost
from poplite.errors import ControlProgramError, ProfilingDisabled
from poplite.executable import encoding as op
from poplite.executable.encoding import COUNT_WORD, Code, Moves, positions
from poplite.executable.executable import Executable
from poplite.executable.parts import (
    Action,
    ArenaLayout,
    CodeUse,
    ComputeStep,
    CopyStep,
    Equal,
    Fail,
    HostTensor,
    NoCase,
    Origins,
    Print,
    RowTransfer,
    Stamp,
    StoredVariable,
    Transfer,
    Undefine,
    Vertices,
    action_text,
)
from poplite.executable.program_trees import planned_counts, program_trees
from poplite.report.compilation import (
    Access,
    Compilation,
    ComputeSet,
    ComputeSetVertices,
    GraphCounts,
    JoinedCopies,
    StepAccesses,
    Variable,
    VertexType,
)
from poplite.report.diff import steps_since
from poplite.report.execution import Execution, ExecutionStep
from poplite.report.memory import Memory
from poplite.report.per_tile import LateSequence, LazySequence, PerTile
from poplite.report.program_tree import Programs
from poplite.report.report import Instrumentation, Report
from poplite.report.trace import Trace
from poplite.simulator.accounts import Accounts, elapsed, type_names
from poplite.simulator.compiled_program import EnginePrograms
from poplite.simulator.run.touched import field_rows, numbers_within, starts_and_lengths
from poplite.simulator.running import Recording
from poplite.source import SourceLocation, files_of
from poplite.text import clipped, integer_or_none, of_type
from poplite.vertex.fields import Field
from poplite.vertex.vertex import Vertex

# -- accessed bytes --------------------------------------------------------------------------------


class Stretches(NamedTuple):
    """Stretches of bytes of the arena, adjacent to each other or not.

    Attributes:
        begin: int64[n], first byte of each stretch.
        size: int64[n], its number of bytes.
    """

    begin: Int64
    size: Int64


class FieldBytes(NamedTuple):
    """The bytes that vertices access through a field, in one form of access."""

    field: Field
    read: Stretches
    written: Stretches


NOTHING = Stretches(np.zeros(0, np.int64), np.zeros(0, np.int64))


def bytes_of_fields(step: ComputeStep, layout: ArenaLayout) -> Iterator[FieldBytes]:
    """Yield the bytes that all vertices access, by field."""
    into, gathered = moved(step.gather)
    scattered, out_of = moved(step.scatter)
    for group in step.groups:
        for field, touched in _fields(group, layout):
            is_placed = touched.begin >= layout.temporary_base
            own = Stretches(*(side[~is_placed] for side in touched))
            placed = Stretches(*(side[is_placed] for side in touched))
            read = [own, _across(into, gathered, placed)] if field.reads else []
            written = [own, _across(out_of, scattered, placed)] if field.writes else []
            yield FieldBytes(field, _joined(read), _joined(written))


def moved(moves: Moves) -> tuple[Stretches, Stretches]:
    """Return the destinations and the sources of copies, block by block."""
    to, start, size = moves.blocks()
    return Stretches(to, size), Stretches(start, size)


def _joined(some: list[Stretches]) -> Stretches:
    if not some:
        return NOTHING
    return Stretches(*(np.concatenate(side) for side in zip(*some, strict=True)))


def _across(there: Stretches, here: Stretches, wanted: Stretches) -> Stretches:
    """Return the counterparts of `wanted` stretches by copies that pair `there` with `here`."""
    if not len(wanted.begin) or not len(there.begin):
        return NOTHING
    order = np.argsort(wanted.begin, kind="stable")
    begin, end = wanted.begin[order], (wanted.begin + wanted.size)[order]
    first = np.searchsorted(end, there.begin, side="right")
    last = np.searchsorted(begin, there.begin + there.size, side="left")
    count = np.maximum(last - first, 0)
    block = np.repeat(np.arange(len(count)), count)
    which = first[block] + numbers_within(count)
    low = np.maximum(there.begin[block], begin[which])
    high = np.minimum(there.begin[block] + there.size[block], end[which])
    return Stretches(here.begin[block] + low - there.begin[block], high - low)


def _fields(group: Vertices, layout: ArenaLayout) -> Iterator[tuple[Field, Stretches]]:
    """Yield the bytes of each field that is connected to tensors.

    Rows that are read in place count as contiguous from the first byte, although there may be gaps
    between them: the gaps are in the same variable, and only sizes matter.
    """
    rows = group.cls.strided_rows
    for found in field_rows(group):
        field, count = found.field, found.length
        if rows is not None and field.name == rows.field:
            numbers = starts_and_lengths(group)
            at, columns = numbers[rows.stride][0], numbers[rows.columns][1]
            stride = layout.state_at(at, group.cls.fields[rows.stride].element.dtype)
            count = _connected(count, columns, stride)
        some, width = count > 0, field.element.size_bytes
        yield field, Stretches(found.start[some] * width, count[some] * width)


def _connected(length: Int64, columns: Int64, stride: Int64) -> Int64:
    """Return how many elements of a field are connected; rows may have gaps between them."""
    behind, step = length - columns, np.maximum(stride, 1)
    has_gaps = (columns > 0) & (columns < stride) & (behind >= 0) & (behind % step == 0)
    return np.where(has_gaps, (behind // step + 1) * columns, length)


# -- steps -----------------------------------------------------------------------------------------


DECIDING = {op.JUMP_IF_ZERO: "If", op.JUMP_IF_NONZERO: "If", op.SWITCH: "Switch"}
"""Ops that depend on a scalar, with the program that they belong to if they do not jump back."""


def variables_of(executable: Executable) -> tuple[Variable, ...]:
    """Return the variables in ascending order of address."""
    return tuple(map(_variable, executable.layout.variables))


def _variable(variable: StoredVariable) -> Variable:
    pieces = variable.pieces
    return Variable(
        variable.name,
        variable.element_type.__name__,
        variable.shape,
        variable.constant,
        variable.location.portable,
        None if pieces is None else _listed(pieces.first),
        None if pieces is None else _listed(pieces.tile),
    )


def _listed(numbers: Series) -> PerTile:
    return PerTile(numbers.count, counting(0, numbers.count), numbers)


class _Place(NamedTuple):
    """The place of a step or a condition in a program, with its rows of the code."""

    number: int
    rows: tuple[int, ...]


def accesses_of(executable: Executable) -> tuple[StepAccesses, ...]:
    """Return the accesses of steps, in program order; equal accesses occur once."""
    found: dict[object, StepAccesses] = {}
    for name, code in executable.programs.items():
        for place in _places(code):
            step = _step(executable, code, place)
            if not step.accesses:
                continue
            step = replace(step, places=((name, place.number),))
            is_alone = step.kind not in ("execute", "copy")
            own = step.places if is_alone else ()
            key: object = step.kind, step.name, step.accesses, own
            if step.compute_set is not None:  # its results may be stored in several places
                key = step.compute_set
            if key in found:
                earlier = found[key]
                places = (*earlier.places, *step.places)
                both = dict.fromkeys((*earlier.accesses, *step.accesses))
                step = replace(earlier, places=places, accesses=tuple(both))
            found[key] = step
    return tuple(found.values())


def _places(code: Code) -> Iterator[_Place]:
    """Yield the steps and conditions of a program, in order."""
    kinds, numbers = code.ops[:, 0].tolist(), code.first_numbers.tolist()
    rows: dict[int, list[int]] = defaultdict(list)
    found: list[tuple[int, int, tuple[int, ...]]] = []
    for row, kind in enumerate(kinds):
        if kind in (op.LAUNCH, op.CALLBACK, op.COLLECT):
            rows[numbers[row]].append(row)
        elif kind in DECIDING:
            to = int(code.ops[row, 1])
            if kinds[row + 1] == op.CALLBACK and to == row + 2:
                continue  # the row belongs to the step that ends the run
            before = to - 1 if kind != op.SWITCH and to <= row else row
            first = min(numbers[before] + 1, code.num_steps)
            found.append((first, 0, (row,)))
    found += [(number, 1, tuple(own)) for number, own in rows.items()]
    yield from (_Place(number, own) for number, _, own in sorted(found))


def _step(executable: Executable, code: Code, place: _Place) -> StepAccesses:
    """Return the step or condition at a place, with its accesses."""
    total, name = _Total(executable.layout), ""
    kind: Literal["execute", "copy", "host", "control"] = "control"
    compute_set: int | None = None
    at = code.locations[place.rows[0]].portable if code.locations else ""
    for row in place.rows:
        what, first, second = code.ops[row, :3].tolist()
        if what in DECIDING:
            is_loop = what != op.SWITCH and first <= row
            name = "RepeatWhile" if is_loop else DECIDING[what]
            total.add_scalar(second, reads=True)
        elif what == op.COLLECT:
            total.add_scalar(second, reads=False)
        elif what == op.CALLBACK:
            action = executable.actions[first]
            if not isinstance(action, Equal | CodeUse | NoCase) or not name:
                kind = "copy" if isinstance(action, Transfer | RowTransfer) else "host"
                name = action_text(action)
            total.add_action(action)
        else:
            step = executable.steps[first]
            if isinstance(step, CopyStep):
                if not name:
                    kind, name = "copy", step.name
                total.add_copy(step)
            elif compute_set is None:  # its launches are consecutive
                kind, name, compute_set = "execute", step.name, first
                at = _line_of(executable, first) or at
                total.add_compute(step)
    return StepAccesses(name, kind, (), compute_set, at, total.accesses())


def _line_of(executable: Executable, number: int) -> str:
    """Return the user's line that added the first vertices of a compute set."""
    lines = executable.origins[number].locations
    return lines[0].portable if lines else ""


class _Total:
    """Sums up the accesses of a step, by variable and field."""

    def __init__(self, layout: ArenaLayout) -> None:
        self._layout = layout
        self._read: dict[tuple[int, str], int] = defaultdict(int)
        self._written: dict[tuple[int, str], int] = defaultdict(int)

    def add_scalar(self, position: int, *, reads: bool) -> None:
        """Add the scalar at a byte of the arena."""
        (owner,) = self._layout.owners(np.array([position])).tolist()
        if owner >= 0:
            size = self._layout.variables[owner].element_type.size_bytes
            (self._read if reads else self._written)[owner, ""] += size

    def add_copy(self, step: CopyStep) -> None:
        """Add the copies."""
        written, read = moved(step.moves)
        self._add(self._read, read)
        self._add(self._written, written)

    def add_compute(self, step: ComputeStep) -> None:
        """Add the bytes that the vertices of a compute set access."""
        for field, read, written in bytes_of_fields(step, self._layout):
            self._add(self._read, read, field.name)
            self._add(self._written, written, field.name)

    def add_action(self, action: Action) -> None:
        """Add the tensors that Python reads or writes; copies before and after it are steps."""
        read: list[HostTensor | None] = []
        written: list[HostTensor | None] = []
        match action:
            case Print(tensor=tensor) | NoCase(control=tensor) | Equal(tensor=tensor):
                read = [tensor]
            case Fail(shown=shown, predicate=predicate):
                read = [shown, predicate]
            case RowTransfer(offset=offset):
                read = [offset]
            case Stamp(tensor=tensor, since=since):
                read, written = [since], [tensor]
            case Undefine(tensor=tensor):
                written = [tensor]
        for tensors, total in ((read, self._read), (written, self._written)):
            for each in tensors:
                if each is not None:
                    self._add(total, moved(each.moves)[1])

    def accesses(self) -> tuple[Access, ...]:
        """Return the sums, ordered by variable, then by field."""
        keys = sorted(dict.fromkeys((*self._read, *self._written)), key=lambda key: key[0])
        return tuple(
            Access(*key, self._read.get(key, 0), self._written.get(key, 0)) for key in keys
        )

    def _add(self, total: dict[tuple[int, str], int], some: Stretches, field: str = "") -> None:
        owner = self._layout.owners(some.begin)
        size = np.bincount(owner + 1, some.size, len(self._layout.variables) + 1)[1:]
        for number in np.flatnonzero(size).tolist():
            total[number, field] += int(size[number])


# -- reports ---------------------------------------------------------------------------------------


LAUNCHES = op.SUM_SLOTS + 1
"""Maximum number of rows of an Execute: one row for each phase."""


def report_of(
    accounts: Accounts,
    *,
    runs: int,
    runs_again: int,
    interpret: bool,
    faster: tuple[str, ...],
    options: tuple[tuple[str, str], ...],
) -> Report:
    """Return the current report of an engine; `runs` is the number of completed runs."""
    executable = accounts.executable
    work, compilation = accounts.work(), compilation_of(executable)
    compilation, beyond = replace(compilation, options=options), ""
    if accounts.are_kept and not (work.steps or runs):
        programs = compilation.programs
        beyond = _beyond_cycles(executable, programs)
        if not beyond:
            planned = LateSequence(lambda: planned_steps(executable, programs))
            compilation = replace(compilation, planned=planned)
    totals = accounts.totals(compilation.programs) if accounts.are_kept else ()
    execution = Execution(
        runs=runs,
        num_steps=work.steps,
        vertices=work.vertices,
        bytes_copied=work.bytes_copied,
        bytes_gathered=work.bytes_gathered,
        runs_again=runs_again,
        steps=execution_steps(totals),
        cycles=None if beyond or not accounts.are_kept else sum(each.cycles for each in totals),
        target=executable.target,
    )
    looked = Instrumentation(accounts.are_kept, executable.checks, interpret, faster)
    return Report(compilation, execution, looked, note=beyond)


MOST_TRACED = 1 << 27
"""Maximum number of steps that are recorded."""


@contextmanager
def traced(
    accounts: Accounts,
    runs: EnginePrograms,
    limit: int,
    rows: Mapping[str, Int64] | None = None,
) -> Iterator[Trace]:
    """Record the first `limit` steps that run in a `with` statement, for `Engine.tracing`.

    `rows` has, for each program, the positions of its rows in the program of a rank, which has
    more rows.
    """
    if not accounts.are_kept:
        raise ProfilingDisabled(
            "engine.tracing: cycles are not modelled",
            found="the option debug.instrument is False",
            fix="leave out that option",
        )
    if (integer_or_none(limit) or 0) < 1 or limit > MOST_TRACED:
        raise ControlProgramError(
            f"engine.tracing: limit must be from 1 to {MOST_TRACED:,} steps; found "
            f"{clipped(limit)}",
            found=of_type(limit),
            fix="call engine.tracing() for the first 10,000 steps",
        )
    executable = accounts.executable
    trace = Trace(executable.target, replicas=executable.layout.replicas)
    trace.memory = memory_of(executable)
    recording = Recording(LAUNCHES * limit)
    programs = Programs(lambda: program_trees(executable))
    earlier = accounts.totals(programs)
    try:
        with runs.recorded(recording):
            yield trace
    finally:
        later = accounts.totals(programs)
        recorded = recording.rows() if rows is None else _without_others(recording.rows(), rows)
        ran = steps_between(earlier, later, list(recorded))
        trace.steps = ran[:limit]
        trace.is_complete = not recording.is_full and len(ran) <= limit


def _without_others(
    ran: Iterable[tuple[str, int]], rows: Mapping[str, Int64]
) -> Iterator[tuple[str, int]]:
    """Yield the rows of the original programs among the executed rows of a rank."""
    known = {
        (name, place): row for name, own in rows.items() for row, place in enumerate(own.tolist())
    }
    for name, place in ran:
        if (row := known.get((name, place))) is not None:
            yield name, row


def compilation_of(executable: Executable) -> Compilation:
    """Return the compiled part of a report."""
    steps = [step for step in executable.steps if isinstance(step, ComputeStep)]
    names = type_names(executable)
    groups = [group for step in steps for group in step.groups]
    counts = dict.fromkeys(names, 0)
    for group in groups:
        counts[group.cls] += int(group.rows[:, COUNT_WORD].sum())
    return Compilation(
        target=executable.target,
        replicas=executable.layout.replicas,
        graph=GraphCounts(
            num_vertices=sum(step.num_vertices for step in steps),
            num_edges=sum(map(_num_edges, groups)),
            num_variables=len(executable.layout.variables),
            num_compute_sets=len(steps),
            elements_per_tile=executable.elements_per_tile,
        ),
        vertex_types=tuple(VertexType(names[cls], count) for cls, count in counts.items()),
        compute_sets=LazySequence(
            len(steps),
            lambda number: ComputeSet(
                steps[number].name, _counts(executable.origins[number], names, executable)
            ),
        ),
        programs=Programs(lambda: program_trees(executable)),
        modelled=memory_of(executable),
        operations=executable.operations,
        variables=LateSequence(lambda: variables_of(executable)),
        accesses=LateSequence(lambda: accesses_of(executable)),
        joined=LateSequence(lambda: tuple(joined_copies(executable))),
        sources=LateSequence(lambda: files_of(_locations(executable))),
    )


def _locations(executable: Executable) -> Iterator[SourceLocation]:
    """Yield the lines of variables, of vertices and of programs."""
    yield from (variable.location for variable in executable.layout.variables)
    yield from (line for origins in executable.origins for line in origins.locations)
    yield from (line for code in executable.programs.values() for line in code.locations)


def memory_of(executable: Executable) -> Memory | None:
    """Return the contents of the tiles' memory with addresses; None if it is not modelled."""
    memory, target = executable.memory, executable.target
    if memory is None:
        return None
    return replace(memory, addresses=LateSequence(lambda: addresses_of(memory.held, target)))


def execution_steps(totals: Iterable[ExecutionStep]) -> tuple[ExecutionStep, ...]:
    """Return the steps that ran at least once, in order of their numbers."""
    return tuple(sorted((each for each in totals if each.executions), key=lambda t: t.number))


def planned_steps(executable: Executable, programs: Programs) -> tuple[ExecutionStep, ...]:
    """Return the steps of one run of each program as compiled, for a report without runs."""
    counts = _planned_counts(executable, programs)
    return execution_steps(Accounts(executable, counts).totals(programs))


def _planned_counts(executable: Executable, programs: Programs) -> dict[str, Int64]:
    return {
        name: planned_counts(code, programs[name]) for name, code in executable.programs.items()
    }


MOST_CYCLES = 1 << 60
"""Maximum number of cycles of one run in a report, whose per-tile numbers have 64 bits."""

FEW_RUNS = 31
"""Exponent of the largest power of two of runs of a step that stays within `MOST_CYCLES`."""


def _beyond_cycles(executable: Executable, programs: Programs) -> str:
    """Return text for a run of more than the countable cycles (centuries); empty if none is."""
    if all(_most_runs(code) < FEW_RUNS for code in executable.programs.values()):
        return ""
    counts = _planned_counts(executable, programs)
    once = {name: np.minimum(each, 1) for name, each in counts.items()}
    cycles: dict[str, int] = {}
    for total in Accounts(executable, once).totals():
        name, times = total.program_name, int(counts[total.program_name][total.row])
        cycles[name] = cycles.get(name, 0) + total.cycles * times
        if cycles[name] > MOST_CYCLES:
            return (
                f"one run of program '{name}' takes more than {MOST_CYCLES:,} cycles, the limit of "
                f"reports: {times:,} times {total.name}"
            )
    return ""


def _most_runs(code: Code) -> float:
    """Return a power of two that bounds the runs of a step, as if all loops were nested."""
    counts = code.ops[code.ops[:, 0] == op.REPEAT, 2]
    return float(np.log2(np.maximum(counts, 1)).sum() + np.log2(max(code.num_steps, 1)))


def steps_between(
    earlier: Sequence[ExecutionStep],
    later: Sequence[ExecutionStep],
    places: Sequence[tuple[str, int]],
) -> list[ExecutionStep]:
    """Return the steps at the given places (program and row), with totals between two moments.

    Places may occur in any order and several times; places that did not run in between are omitted.
    """
    wanted = set(places)
    before, after = (
        execution_steps(each for each in totals if (each.program_name, each.row) in wanted)
        for totals in (earlier, later)
    )
    steps = steps_since(after, before)
    return [steps[place] for place in places if place in steps]


def _counts(
    origins: Origins, names: dict[type[Vertex], str], executable: Executable
) -> tuple[ComputeSetVertices, ...]:
    """Return the number of vertices of each class and line on each tile."""
    if not len(origins):
        return ()
    tiles, classes = origins.tile_of.array(), origins.class_of.array()
    kinds = classes * len(origins.locations) + origins.location_of.array()
    order = np.argsort(kinds, kind="stable")
    there, first = np.unique(kinds[order], return_index=True)
    found = []
    for kind, part in zip(there.tolist(), np.split(tiles[order], first[1:]), strict=True):
        of_class, line = divmod(kind, len(origins.locations))
        on, count = np.unique(part, return_counts=True)
        by_tile = PerTile(executable.target.tiles, compact(on), compact(count))
        at = origins.locations[line].portable
        found.append(ComputeSetVertices(names[origins.classes[of_class]], by_tile, at))
    return tuple(found)


def _num_edges(group: Vertices) -> int:
    """Count the connected fields of vertices; each row of a list of edges is one."""
    fields = list(group.cls.fields.values())
    vertices = group.rows[:, COUNT_WORD]
    edges = int(vertices.sum()) * sum(f.role != "state" and f.depth < 2 for f in fields)
    for number, (column, at) in enumerate(positions(group.columns)):
        if column.part != "rows" or fields[column.field].role == "state":
            continue
        first, step = group.rows[:, at], group.rows[:, at + 1 : at + 2]
        edges += int((first * vertices).sum())
        if column.kind == "affine":
            edges += int((step[:, 0] * (vertices * (vertices - 1) // 2)).sum())
        elif column.kind == "flat":
            table = group.tables[number]
            runs = zip(step[:, 0].tolist(), vertices.tolist(), strict=True)
            edges += sum(int(table[begin : begin + count].sum()) for begin, count in runs)
    return edges


# -- adjacent Copies -------------------------------------------------------------------------------


_NO_TILES = np.zeros(0, np.int64)


def joined_copies(executable: Executable) -> Iterator[JoinedCopies]:
    """Yield adjacent Copies that could be one Copy, at each of their places in programs."""
    beginning: dict[int, list[JoinedCopyCost]] = {}
    for each in executable.joined:
        beginning.setdefault(each.steps[0], []).append(each)
    for name, code in executable.programs.items() if beginning else ():
        rows = code.step_rows.tolist()
        numbers = code.ops[code.step_rows, 1].tolist()
        for at, number in enumerate(numbers):
            for each in beginning.get(number, ()):
                end = at + len(each.steps)
                own = tuple(rows[at:end])
                if tuple(numbers[at:end]) == each.steps and own[-1] - own[0] == len(own) - 1:
                    yield _at_rows(executable, each, name, own)


def _at_rows(
    executable: Executable, copies: JoinedCopyCost, name: str, rows: tuple[int, ...]
) -> JoinedCopies:
    """Return the costs of one Copy that replaces the Copies at the given rows of a program."""
    apart = [executable.costs[number] for number in copies.steps]
    one, several = (_code_bytes(executable, each) for each in ([copies.cost], apart))
    cycles = elapsed(copies.cost.before, executable.target.tiles)
    return JoinedCopies(name, rows, cycles, one, several)


def _code_bytes(executable: Executable, costs: Iterable[StepCost]) -> int:
    """Return the bytes of code for the given Copies on the fullest tile."""
    code = ControlCode(executable.target)
    for cost in costs:
        code.step(cost, _NO_TILES)
    return int(np.sum(list(code.found().values()), axis=0).max())
