"""Make the report of an engine from its executable and its counts.

Per-tile numbers remain in stored form, and trees and memory are made on demand, so that a report of
a thousand steps on a thousand tiles takes milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.series import compact
from poplite.cost.liveness import addresses_of
from poplite.cost.memory_plan import ControlCode
from poplite.cost.step_cost import JoinedCopyCost, StepCost
from poplite.errors import ControlProgramError, ProfilingDisabled
from poplite.executable import encoding as op
from poplite.executable.encoding import COUNT_WORD, Code, positions
from poplite.executable.executable import Executable
from poplite.executable.program_trees import planned_counts, program_trees
from poplite.executable.steps import ComputeStep, Origins, Vertices
from poplite.report.compilation import (
    Compilation,
    ComputeSet,
    ComputeSetVertices,
    GraphCounts,
    JoinedCopies,
    VertexType,
)
from poplite.report.diff import steps_since
from poplite.report.execution import Execution, ExecutionStep
from poplite.report.memory import Memory
from poplite.report.per_tile import LateSequence, LazySequence, PerTile
from poplite.report.program_tree import Programs
from poplite.report.report import Instrumentation, Report
from poplite.report.trace import Trace
from poplite.simulator.accesses import accesses_of, variables_of
from poplite.simulator.accounts import Accounts, elapsed, type_names
from poplite.simulator.compiled_program import EnginePrograms
from poplite.simulator.running import Recording
from poplite.source import SourceLocation, files_of
from poplite.text import clipped, integer_or_none, of_type
from poplite.vertex.vertex import Vertex

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
