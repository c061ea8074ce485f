"""Compiles the programs of a graph to an executable."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from poplite.compile.checks import check_program
from poplite.compile.emit import Emitter
from poplite.compile.lower import origins_of, stored
from poplite.compile.options import EngineOptions, engine_options, interpreted_classes
from poplite.compile.orders import check_orders
from poplite.compile.program_parts import (
    LoweredParts,
    Numbers,
    ProgramParts,
    host_tensor,
    lower_parts,
    numbers_of,
    parts_of,
)
from poplite.cost.step_cost import JoinedCopyCost, StepCost, data_dependent_steps
from poplite.errors import ControlProgramError, ProfilingDisabled, UnknownName
from poplite.executable.encoding import Code, steps_before
from poplite.executable.executable import Checks, Executable
from poplite.executable.layout import ArenaLayout
from poplite.expr.operand import Operand
from poplite.frozen import frozen
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.compute_sets.forms import EdgeTables
from poplite.graph.graph import Graph
from poplite.jit.build import no_collection
from poplite.machine.floating_point import STOCHASTIC, TRAPS, reachable
from poplite.program import CycleStamp, Program
from poplite.program.base import programs_or_none
from poplite.program.function import written_steps
from poplite.program.registers import SetMode
from poplite.report.memory import Memory, Operation
from poplite.source import here
from poplite.text import clipped, of_type
from poplite.vertex.vertex import Vertex

Programs = Program | Iterable[Program] | Mapping[str, Program]

MAX_STEPS = 1 << 22
"""Most steps of one program with each function once; beyond it lies a mistake, such as a loop
written out."""

MAX_NUMBER = 1 << 62
"""Greatest number of a step, where those of a function count in each place that calls it."""

STRICT_LIMIT = 1_000_000
"""Connected elements up to which strict checks are on by default."""


@no_collection()
def compile_graph(
    graph: Graph,
    programs: Programs,
    checks: Checks | None = None,
    *,
    interpret: bool | Collection[str | type[Vertex]] = False,
    options: Mapping[str, object] | None = None,
) -> Executable:
    """Check and lower programs, to be run by an `Engine` or saved to a file.

    Args:
        graph: the graph the programs run on.
        programs: one program, several in a list (named "0", "1", ...), or named ones.
        checks: whether indices are checked, "strict" or "fast"; by default up to a million
            connected elements.
        interpret: whether vertices will run as plain Python, or which classes and steps will, by
            themselves or by name; that always checks indices.
        options: by name, as of an `Engine`.

    Raises:
        PopliteError: the first kind of fault that the checks find, see
            `poplite.compile.checks`.

    >>> from poplite.program import Copy
    >>> graph = Graph()
    >>> a, b = (graph.add_variable("int32", (3,), mapping=0) for _ in range(2))
    >>> compile_graph(graph, {"there": Copy(a, b), "back": Copy(b, a)})
    <Executable 2 programs of 2 steps>
    """
    if not isinstance(graph, Graph):
        raise ControlProgramError(
            f"compile_graph: {clipped(graph, 60)} is not a graph",
            found=of_type(graph),
            fix="compile_graph(graph, program)",
        )
    graph = graph.top_level_graph  # programs are of it, whatever made their tensors
    return _compiled(graph, programs, engine_options(options, checks=checks, interpret=interpret))


@no_collection()
def compile_with_marks(
    graph: Graph,
    programs: Programs,
    checks: Checks,
    *,
    options: Mapping[str, object] | None = None,
) -> Executable:
    """Compile as `compile_graph`, and keep what programs say for strict checks alone."""
    asked = engine_options(options, checks=checks)
    return _compiled(graph.top_level_graph, programs, asked, keep_marks=True)


def _compiled(
    graph: Graph, programs: Programs, asked: EngineOptions, *, keep_marks: bool = False
) -> Executable:
    named = named_programs(programs)
    edges_of = EdgeTables(graph.space)
    check_program(graph, named, edges_of)

    parts = parts_of(named.values())
    checks = asked.checks or _default_checks(parts.compute_sets, edges_of)
    if checks == "strict":
        check_orders(graph, named.values(), edges_of)
    float_modes = _float_modes(asked, parts.leaves)
    layout = ArenaLayout(stored(graph.variables), graph.replication_factor)
    saved = _saved(asked, parts.compute_sets, edges_of, checks, float_modes)
    keep_marks |= checks == "strict"
    lowered = lower_parts(parts, graph, edges_of, layout, saved=saved, keep_marks=keep_marks)
    numbers = numbers_of(lowered)

    prices = _priced(graph, named, parts, lowered, edges_of, asked)
    joined = _joined(graph, named, prices, numbers)

    steps = lowered.all_steps()
    emitter = Emitter(
        steps,
        numbers,
        layout,
        is_random=any(mode & STOCHASTIC for mode in float_modes),
        data_dependent=data_dependent_steps(prices.steps),
    )
    codes = {name: emitter.code(p) for name, p in named.items()}
    for program in named.values():
        program.mark_used(here())
    return Executable(
        target=graph.target,
        layout=layout,
        steps=steps,
        programs=codes,
        actions=lowered.all_actions(),
        origins=tuple(map(origins_of, parts.compute_sets)),
        checks=checks,
        float_modes=float_modes,
        elements_per_tile=_balance(graph),
        host_reads={name: host_tensor(h.tensor, layout) for name, h in graph.host_reads.items()},
        host_writes={name: host_tensor(h.tensor, layout) for name, h in graph.host_writes.items()},
        costs=prices.steps,
        action_costs=prices.actions,
        memory=None if prices.memory is None else _with_rows(prices.memory, codes),
        operations=_operations(graph, parts.compute_sets),
        joined=joined,
    )


@no_collection()
def plan_memory(graph: Graph, programs: Programs) -> Memory:
    """Return what the memory of tiles holds when programs run, also where they have too little.

    Programs may change afterwards. Raises what `compile_graph` does.

    >>> from poplite.program import Copy
    >>> graph = Graph()
    >>> a, b = (graph.add_variable("int32", (3,), mapping=0) for _ in range(2))
    >>> plan_memory(graph, Copy(a, b)).including_gaps.worst_tile
    0
    """
    graph = graph.top_level_graph
    asked = engine_options({"debug.allowOutOfMemory": True}, checks="fast", interpret=False)
    named = named_programs(programs)
    edges_of = EdgeTables(graph.space)
    check_program(graph, named, edges_of)
    parts = parts_of(named.values())
    layout = ArenaLayout(stored(graph.variables), graph.replication_factor)
    saved = [False] * len(parts.compute_sets)
    lowered = lower_parts(parts, graph, edges_of, layout, saved=saved, keep_marks=False)
    memory = _priced(graph, named, parts, lowered, edges_of, asked).memory
    assert memory is not None
    return memory


def _joined(
    graph: Graph, named: Mapping[str, Program], prices: _Prices, numbers: Numbers
) -> tuple[JoinedCopyCost, ...]:
    """Return neighbour Copies that could be one, where costs are modelled."""
    if prices.memory is None:
        return ()
    # Loaded with the first graph, not with the package.
    from poplite.compile.joined_copies import joined_copies

    return joined_copies(graph, named.values(), numbers.steps)


@frozen(eq=False)
class _Prices:
    """What steps, actions and memory take: the costs of an `Executable`."""

    steps: tuple[StepCost, ...]
    actions: tuple[StepCost | None, ...]
    memory: Memory | None


def _priced(
    graph: Graph,
    named: Mapping[str, Program],
    parts: ProgramParts,
    lowered: LoweredParts,
    edges_of: EdgeTables,
    asked: EngineOptions,
) -> _Prices:
    if asked.instrument is False:
        _check_stamps(parts.leaves)
        return _Prices((), (), None)
    # Loaded with the first graph, not with the package.
    from poplite.cost.memory_plan import memory_of
    from poplite.cost.model import host_costs, step_costs

    acting = lowered.priced_programs()
    costs = step_costs(graph, parts.compute_sets, edges_of, parts.copies)
    action_costs = host_costs(graph, acting)
    cost_of: dict[object, StepCost | None] = dict(zip(acting, action_costs, strict=True))
    cost_of |= dict(zip([*parts.compute_sets, *parts.copies], costs, strict=True))
    may_overflow = asked.may_overflow is True
    memory = memory_of(graph, named, edges_of, cost_of, may_overflow=may_overflow)
    return _Prices(costs, action_costs, memory)


def _with_rows(memory: Memory, programs: Mapping[str, Code]) -> Memory:
    """Return memory of which each step says which rows of code do its work.

    A step that occurs in several places has a number in each, and is planned at the first one:
    the rows of the others do the same.
    """
    planned, before = {each.number for each in memory.steps}, steps_before(programs)
    rows: dict[int, list[int]] = {}
    for name, code in programs.items():
        numbers = (before[name] + code.first_numbers).tolist()
        work = list(map(tuple, code.ops[:, :2].tolist()))
        of_work: dict[tuple[int, ...], int] = {}
        for row in code.acting_rows:
            number = numbers[row]
            if number not in planned:
                number = of_work.get(work[row], number)
            of_work.setdefault(work[row], number)
            rows.setdefault(number, []).append(row)
    steps = (replace(each, rows=tuple(rows.get(each.number, ()))) for each in memory.steps)
    return replace(memory, steps=tuple(steps))


def _operations(graph: Graph, compute_sets: Sequence[ComputeSet]) -> tuple[Operation, ...]:
    """Return the operations of which programs execute something."""
    numbers = {each: number for number, each in enumerate(compute_sets)} if graph.operations else {}
    found = []
    for each in graph.operations:
        if steps := [numbers[one] for one in each.compute_sets if one in numbers]:
            sizes = [
                sum(one.num_elements * one.element_type.size_bytes for one in variables)
                for variables in (each.results, each.temporaries)
            ]
            found.append(Operation(each.name, each.location.portable, tuple(steps), *sizes))
    return tuple(found)


def _default_checks(compute_sets: Sequence[ComputeSet], edges_of: EdgeTables) -> Checks:
    connected = sum(edges_of(compute_set).num_elements for compute_set in compute_sets)
    return "strict" if connected <= STRICT_LIMIT else "fast"


def _float_modes(asked: EngineOptions, leaves: Iterable[Program]) -> tuple[int, ...]:
    """Return the modes that programs may be in, the one that they begin in first."""
    changes = [(leaf.clear, leaf.set) for leaf in leaves if isinstance(leaf, SetMode)]
    return reachable(asked.float_mode or 0, changes)


def _saved(
    asked: EngineOptions,
    compute_sets: Iterable[ComputeSet],
    edges_of: EdgeTables,
    checks: Checks,
    float_modes: Iterable[int],
) -> list[bool]:
    """Return for each compute set whether what it writes is saved first, as it may raise."""
    named = ((each.name, {f.cls for f in edges_of(each).families}) for each in compute_sets)
    every = checks == "strict" or any(mode & TRAPS for mode in float_modes)
    return [every or bool(classes) for classes in interpreted_classes(asked.interpret, named)]


def _check_stamps(leaves: Iterable[Program]) -> None:
    """Refuse to read a cycle counter that is not kept."""
    for stamp in leaves:
        if isinstance(stamp, CycleStamp):
            raise ProfilingDisabled(
                f"{stamp}: cycles are not modelled",
                at=stamp.location,
                found="the option debug.instrument is False",
                fix="leave that option out, or leave out cycle_count and cycle_stamp",
            )


def _balance(graph: Graph) -> tuple[int, int]:
    elements = np.zeros(graph.target.tiles, np.int64)
    of_one_tile: defaultdict[int, int] = defaultdict(int)
    for variable in graph.variables:
        if (tile := variable.only_tile) is not None:
            of_one_tile[tile] += variable.num_elements
            continue
        breaks, tiles = variable.mapping.pieces()
        mapped = tiles >= 0
        np.add.at(elements, tiles[mapped], np.diff(breaks)[mapped])
    for tile, count in of_one_tile.items():
        elements[tile] += count
    return int(elements.min()), int(elements.max())


def _instead_of_operand(value: object, call: str) -> str:
    """Return what to write where a tensor or an expression is given for a program; else nothing."""
    if not isinstance(value, Operand):
        return ""
    return f"with graph.steps() as program: t = ops.map(...); {call.format('program')}"


def named_programs(programs: object, call: str = "Engine(graph, {})") -> dict[str, Program]:
    """Return programs by name, or refuse them; those without a name are "0", "1", ...

    `call` is what the user wrote, with {} for the programs.
    """
    function = call.partition("(")[0]
    if isinstance(programs, Program):
        programs = (programs,)
    listed = programs if isinstance(programs, Mapping) else programs_or_none(programs)
    if listed is None:
        hint = "Execute(compute_set)" if isinstance(programs, ComputeSet) else "Sequence(...)"
        raise ControlProgramError(
            f"{function}: {clipped(programs, 60)} is not a program",
            found=of_type(programs),
            fix=_instead_of_operand(programs, call) or call.format(hint),
        )
    kind = type(programs).__name__
    if not isinstance(programs, Mapping):
        programs = {str(number): program for number, program in enumerate(listed)}
    for name, program in programs.items():
        if not isinstance(name, str):
            raise ControlProgramError(
                f"program name {clipped(name, 60)} is not a string",
                found=of_type(name),
                fix="name programs by strings",
            )
        if not isinstance(program, Program):
            raise ControlProgramError(
                f"program {name!r} is {clipped(program, 60)}, which is not a program",
                found=of_type(program),
                fix=_instead_of_operand(program, call) or call.format("{'main': Sequence(...)}"),
            )
        if program.num_steps > MAX_NUMBER:
            raise ControlProgramError(
                f"program {name!r} has more than {MAX_NUMBER:,} steps, which have no numbers",
                at=program.location,
                fix="write calls of functions in calls of functions as Repeat(count, body)",
            )
        steps = program.num_steps
        if steps > MAX_STEPS and (steps := written_steps(program)) > MAX_STEPS:
            raise ControlProgramError(
                f"program {name!r} has {steps:,} steps, more than {MAX_STEPS:,}",
                at=program.location,
                fix="write loops as Repeat(count, body), and what stands in many places as a "
                "function",
            )
    if not programs:
        raise UnknownName(
            f"{function} needs at least one program",
            found=f"an empty {kind}",
            fix=f"{call.format('Sequence()')} takes one that does nothing",
        )
    return dict(programs)
