"""Compiles the programs of a graph to an executable, whose code consists of ops.

Other modules of the package check, lower and price the parts of programs; this module combines the
results, and encodes the program tree as ops (`poplite.executable.encoding`)::

    Sequence                      0  REPEAT           loop 0, 9 times, else row 3
      Repeat 9 times              1    LAUNCH         'blur'
        Execute 'blur'            2  AGAIN            loop 0, row 1
      RepeatWhileTrue 'go_on'     3  JUMP             row 5
        Execute 'test'            4    LAUNCH         'work'
        Execute 'work'            5    LAUNCH         'test'
      Call 'f'                    6  JUMP_IF_NONZERO  row 4
                                  7  CALL             row 9
                                  8  END
                                  9    LAUNCH         of 'f'
                                 10  RETURN

Loops test their condition at the end, so that an iteration costs one op.  A function is encoded
once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from poplite.compile.checks import check_program
from poplite.compile.lower_compute_sets import origins_of, stored
from poplite.compile.options import EngineOptions, engine_options, interpreted_classes
from poplite.compile.program_parts import (
    LoweredParts,
    Numbers,
    Place,
    ProgramParts,
    host_tensor,
    lower_parts,
    numbers_of,
    parts_of,
)
from poplite.compile.races import check_orders
from poplite.cost.step_cost import JoinedCopyCost, StepCost, data_dependent_steps
from poplite.errors import ControlProgramError, ProfilingDisabled, UnknownName
from poplite.executable import encoding as op
from poplite.executable.encoding import Code, steps_before
from poplite.executable.executable import Checks, Executable
from poplite.executable.parts import ArenaLayout, ComputeStep, CopyStep
from poplite.expr.operand import Operand
from poplite.frozen import frozen
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.compute_sets.edge_table import EdgeTables
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.jit.build import no_collection
from poplite.machine.floating_point import STOCHASTIC, TRAPS, reachable
from poplite.program import (
    AbortOnCondition,
    Block,
    Call,
    Copy,
    CrossReplicaCopy,
    CycleStamp,
    Execute,
    Function,
    If,
    Loop,
    Mark,
    Program,
    RemoteCopy,
    Repeat,
    RepeatWhile,
    Sequence as Steps,
    SetMode,
    StreamCopy,
    Switch,
    TensorCopy,
    children_first,
)
from poplite.program.base import programs_or_none, unknown_kind, written_steps
from poplite.program.control import runs_in_order
from poplite.report.memory import Memory, Operation
from poplite.source import SourceLocation, here
from poplite.text import clipped, of_type
from poplite.vertex.vertex import Vertex
from poplite.view import addresses

Programs = Program | Iterable[Program] | Mapping[str, Program]

MAX_STEPS = 1 << 22
"""Maximum number of steps in one program, with each function counted once; more steps are a
mistake, such as an unrolled loop."""

MAX_NUMBER = 1 << 62
"""Maximum step number; the steps of a function are counted at each call to it."""

STRICT_LIMIT = 1_000_000
"""Maximum number of connected elements for which strict checks are on by default."""


@no_collection()
def compile_graph(
    graph: Graph,
    programs: Programs,
    checks: Checks | None = None,
    *,
    interpret: bool | Collection[str | type[Vertex]] = False,
    options: Mapping[str, object] | None = None,
) -> Executable:
    """Check and lower programs to an executable, which an `Engine` can run or a file can store.

    Args:
        graph: the graph the programs run on.
        programs: one program, a list of programs (named "0", "1", ...), or programs by name.
        checks: whether indices are checked, "strict" or "fast"; by default up to a million
            connected elements.
        interpret: whether vertices will run as plain Python, or the classes (also by name) and
            step names for which they will; indices are then always checked.
        options: options by name, as for an `Engine`.

    Raises:
        PopliteError: for the first kind of fault that the checks find, see
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
            fix="call compile_graph(graph, program)",
        )
    graph = graph.top_level_graph  # programs belong to it even if tensors are of virtual graphs
    return _compiled(graph, programs, engine_options(options, checks=checks, interpret=interpret))


@no_collection()
def compile_with_marks(
    graph: Graph,
    programs: Programs,
    checks: Checks,
    *,
    options: Mapping[str, object] | None = None,
) -> Executable:
    """Compile as `compile_graph` does, with the marks that only strict checks need."""
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
    """Return the memory plan of programs for each tile, even if tile memory is too small.

    Programs may still change afterwards. Raises the same errors as `compile_graph`.

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
    """Return the costs of adjacent Copies that could be one Copy, if costs are modelled."""
    if prices.memory is None:
        return ()
    # Loaded with the first graph, not with the package.
    from poplite.cost.model import joined_copies

    return joined_copies(graph, named.values(), numbers.steps)


@frozen(eq=False)
class _Prices:
    """The costs of an `Executable`: the costs of steps and actions, and the memory plan."""

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
    """Return the memory plan, with the code rows that do the work of each step.

    A step that occurs in several places has a number in each place; the plan has the first one,
    since the rows at all places do the same work.
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
    """Return the operations that have a compute set in the programs."""
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
    """Return the floating-point modes that programs may be in, the initial one first."""
    changes = [(leaf.clear, leaf.set) for leaf in leaves if isinstance(leaf, SetMode)]
    return reachable(asked.float_mode or 0, changes)


def _saved(
    asked: EngineOptions,
    compute_sets: Iterable[ComputeSet],
    edges_of: EdgeTables,
    checks: Checks,
    float_modes: Iterable[int],
) -> list[bool]:
    """Return, for each compute set, whether its outputs are saved first since it may raise."""
    named = ((each.name, {f.cls for f in edges_of(each).families}) for each in compute_sets)
    every = checks == "strict" or any(mode & TRAPS for mode in float_modes)
    return [every or bool(classes) for classes in interpreted_classes(asked.interpret, named)]


def _check_stamps(leaves: Iterable[Program]) -> None:
    """Reject programs that read a cycle counter if cycles are not modelled."""
    for stamp in leaves:
        if isinstance(stamp, CycleStamp):
            raise ProfilingDisabled(
                f"{stamp}: cycles are not modelled",
                at=stamp.location,
                found="the option debug.instrument is False",
                fix="leave out that option, or leave out cycle_count and cycle_stamp",
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
    """Return advice for a tensor or an expression given as a program; "" for other values."""
    if not isinstance(value, Operand):
        return ""
    return f"with graph.steps() as program: t = ops.map(...); {call.format('program')}"


def named_programs(programs: object, call: str = "Engine(graph, {})") -> dict[str, Program]:
    """Check programs, and return them by name; programs without a name are "0", "1", ...

    `call` is the user's call, with {} for the programs.
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
                f"the name of a program must be a string; found {clipped(name, 60)}",
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
                f"program {name!r} has more than {MAX_NUMBER:,} steps, the greatest step number",
                at=program.location,
                fix="write nested calls of functions as Repeat(count, body)",
            )
        steps = program.num_steps
        if steps > MAX_STEPS and (steps := written_steps(program)) > MAX_STEPS:
            raise ControlProgramError(
                f"program {name!r} has {steps:,} steps, but may have at most {MAX_STEPS:,}",
                at=program.location,
                fix="write loops as Repeat(count, body), and repeated parts as functions",
            )
    if not programs:
        raise UnknownName(
            f"{function} needs at least one program",
            found=f"an empty {kind}",
            fix=f"pass a program that does nothing: {call.format('Sequence()')}",
        )
    return dict(programs)


# -- programs as ops -------------------------------------------------------------------------------

_Later = Callable[[], None]


class Emitter:
    """Encodes programs as ops.

    Args:
        steps: the lowered steps.
        numbers: the numbers of steps and actions.
        layout: the addresses of the scalars that control flow depends on.
        is_random: whether results depend on how many compute sets have run.
        data_dependent: numbers of the steps whose vertices are counted while they run.
    """

    def __init__(
        self,
        steps: Sequence[ComputeStep | CopyStep],
        numbers: Numbers,
        layout: ArenaLayout,
        *,
        is_random: bool = False,
        data_dependent: Collection[int] = (),
    ) -> None:
        self._steps, self._numbers, self._layout = steps, numbers, layout
        self._data_dependent = data_dependent
        self._is_random = is_random

    def code(self, program: Program) -> Code:
        """Return the ops of a program."""
        self._ops: list[list[int]] = []
        self._step_numbers: list[int] = []
        self._step_rows: list[int] = []
        self._locations: list[SourceLocation] = []
        self._location = program.location
        self._step = self._loops = 0
        self._calls: list[tuple[int, Function]] = []
        self._write(program)
        self._emit(op.END)
        begins: dict[Function, int] = {}
        for row, function in self._calls:  # the list grows, since functions call others
            if function not in begins:
                begins[function], self._step = len(self._ops), 0
                self._write(function.program)
                self._emit(op.RETURN)
            self._aim([row], begins[function])
        return Code(
            np.array(self._ops, np.int64),
            np.array(self._step_numbers, np.int64),
            np.array(self._step_rows, np.int64),
            program.num_steps,
            _num_runs(program),
            self._loops,
            len(begins),
            tuple(self._locations),
        )

    def _write(self, program: Program) -> None:
        # A stack instead of recursion: programs may be nested as deep as they are long.
        pending: list[tuple[Program | _Later, SourceLocation]] = [(program, program.location)]
        while pending:
            item, self._location = pending.pop()
            if not isinstance(item, Program):
                item()
            elif _is_written(item):
                self._location = at = item.location
                pending += [(each, at) for each in reversed(self._open(item))]

    def _open(self, node: Program) -> list[Program | _Later]:
        """Emit the start of a program; return its remainder, to be emitted later."""
        match node:
            case Repeat():
                return self._repeat(node)
            case Loop():
                begin = len(self._ops)
                return [node.body, lambda: self._aim([self._emit(op.JUMP)], begin)]
            case RepeatWhile():
                return self._repeat_while(node)
            case If():
                return self._if(node)
            case Switch():
                return self._switch(node)
            case Call(function=Function() as function):
                if node in self._numbers.actions:  # its code must be present
                    self._emit(op.CALLBACK, self._numbers.actions[node])
                self._calls.append((self._emit(op.CALL), function))
                self._step += node.num_steps
                return []
        if not node.children:
            self._step += node.num_steps
            self._leaf(node)
        elif not isinstance(node, Steps | Block):
            raise unknown_kind(node, "there is no op for {}")
        return list(node.children)

    def _emit(self, kind: int, a: int = 0, b: int = 0, c: int = 0) -> int:
        self._ops.append([kind, a, b, c])
        self._step_numbers.append(self._step)
        self._locations.append(self._location)
        return len(self._ops) - 1

    def _aim(self, rows: Sequence[int], target: int | None = None, word: int = 1) -> None:
        """Set the target of rows that jump, by default the next row."""
        for row in rows:
            self._ops[row][word] = len(self._ops) if target is None else target

    def _scalar(self, tensor: Tensor) -> tuple[int, int]:
        """Return the position and the size in bytes of a scalar."""
        where = self._layout.byte_positions(addresses(tensor.view).ravel())
        return int(where[0]), tensor.element_type.size_bytes

    def _agree(self, scalar: Tensor, otherwise: int | None, kind: int = op.AGREE) -> None:
        """Emit an action that runs if the values of a scalar differ between replicas."""
        if self._layout.replicas > 1 and otherwise is not None:
            row = self._emit(kind, 0, *self._scalar(scalar))
            self._emit(op.CALLBACK, otherwise)
            self._aim([row])

    def _repeat(self, node: Repeat) -> list[Program | _Later]:
        loop, self._loops = self._loops, self._loops + 1
        row = self._emit(op.REPEAT, loop, node.count)

        def close() -> None:
            self._emit(op.AGAIN, loop, row + 1)
            self._aim([row], word=3)

        return [node.body, close]

    def _repeat_while(self, node: RepeatWhile) -> list[Program | _Later]:
        begin = self._step
        jump = self._emit(op.JUMP)
        # The body is emitted first, but its steps are numbered after those of the condition.
        self._step += node.condition.num_steps

        def condition() -> None:
            self._aim([jump])
            self._step = begin

        def test() -> None:
            self._agree(node.predicate, self._numbers.agreements.get(node))
            kind = op.JUMP_IF_NONZERO if node.goes_on_if else op.JUMP_IF_ZERO
            self._emit(kind, jump + 1, *self._scalar(node.predicate))
            self._step = begin + node.num_steps

        return [node.body, condition, node.condition, test]

    def _if(self, node: If) -> list[Program | _Later]:
        self._agree(node.predicate, self._numbers.agreements.get(node))
        test = self._emit(op.JUMP_IF_ZERO, 0, *self._scalar(node.predicate))
        ends: list[int] = []

        def otherwise() -> None:
            if _is_written(node.false_body):
                ends.append(self._emit(op.JUMP))
            self._aim([test])

        return [node.true_body, otherwise, node.false_body, lambda: self._aim(ends)]

    def _switch(self, node: Switch) -> list[Program | _Later]:
        self._agree(node.control, self._numbers.agreements.get(node), op.SAME)
        switch = self._emit(op.SWITCH, len(node.cases), self._scalar(node.control)[0])
        # Values are compared as signed numbers with the same 32 bits.
        signed = {(value + (1 << 31)) % (1 << 32) - (1 << 31): value for value in node.cases}
        rows = {value: self._emit(op.CASE, number) for number, value in sorted(signed.items())}
        ends: list[int] = []

        def case(value: int) -> _Later:
            return lambda: self._aim([rows[value]], word=2)

        def leave() -> None:
            ends.append(self._emit(op.JUMP))

        def default() -> None:
            self._aim([switch], word=3)
            if node.unmatched != "default":
                self._emit(op.CALLBACK, self._numbers.actions[node])

        written: list[Program | _Later] = []
        for value, program in node.cases.items():
            written += [case(value), program, leave]
        return [*written, default, node.default, lambda: self._aim(ends)]

    def _leaf(self, leaf: Program) -> None:
        if isinstance(leaf, Execute):
            number = self._numbers.steps[leaf.compute_set]
            step = self._steps[number]
            assert isinstance(step, ComputeStep)
            if self._is_random:
                self._emit(op.FLOATS, 0, 0, 1)
            optional = {op.GATHER: step.gather, op.SAVE: step.save, op.SCATTER: step.scatter}
            wanted = {phase for phase, moves in optional.items() if len(moves.records)}
            wanted.add(op.COMPUTE)
            wanted |= {op.COUNT, op.SUM_SLOTS} if number in self._data_dependent else set()
            if leaf.result is not None:
                self._emit(op.EXPECT, number)
            for phase in sorted(wanted):
                row = self._emit(op.LAUNCH, number, phase)
                self._step_rows += [row] if phase == op.COMPUTE else []
            if leaf.result is not None:
                self._emit(op.COLLECT, number, self._scalar(leaf.result)[0])
        elif isinstance(leaf, TensorCopy | CrossReplicaCopy):
            self._step_rows.append(self._emit(op.LAUNCH, self._numbers.steps[leaf], op.GATHER))
        elif isinstance(leaf, Mark) and leaf not in self._numbers.actions:
            self._emit(op.MARK)
        elif isinstance(leaf, SetMode):
            self._emit(op.FLOATS, leaf.clear, leaf.set)
        elif isinstance(leaf, AbortOnCondition):
            self._agree(leaf.predicate, self._numbers.actions[leaf])
            test = self._emit(op.JUMP_IF_ZERO, 0, *self._scalar(leaf.predicate))
            self._emit(op.CALLBACK, self._numbers.actions[leaf])
            self._aim([test])
        elif leaf not in self._numbers.actions:
            raise unknown_kind(leaf, "there is no op for {}")
        else:
            self._copies(leaf, "before")
            self._emit(op.CALLBACK, self._numbers.actions[leaf])
            self._copies(leaf, "after")

    def _copies(self, leaf: Program, place: Place) -> None:
        """Emit the copies before or after a Python action, if there are any."""
        if (number := self._numbers.host_copies.get((leaf, place))) is not None:
            row = self._emit(op.LAUNCH, number, op.GATHER)
            self._step_rows += [row] if isinstance(leaf, Copy) else []


def _is_written(program: Program) -> bool:
    """Return whether a program has ops; steps that are repeated 0 times have them as well."""
    return program.num_steps > 0 or not program.is_empty


_WORK = Execute | TensorCopy | StreamCopy | RemoteCopy | CrossReplicaCopy
"""Programs whose work is done by code rows."""


def _num_runs(program: Program) -> int | None:
    """Return how many Executes and Copies run in a program; None if it depends on data."""
    runs: dict[int, int | None] = {}
    for node in children_first(program):
        below = [runs[id(part)] for part in node.children]
        known = [number for number in below if number is not None]
        number = sum(known) if len(known) == len(below) else None
        if isinstance(node, _WORK):
            number = 1
        elif isinstance(node, Repeat):
            number = 0 if node.count == 0 else number and number * node.count
        elif not runs_in_order(node) and number != 0:
            number = None
        runs[id(node)] = number
    return runs[id(program)]
