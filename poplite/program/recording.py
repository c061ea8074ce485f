"""Recording of steps: the blocks of `graph.steps()` or a Sequence, to which operations append.

    with graph.steps("update") as update:       operations below are recorded here
        ops.assign(w, w - rate * g)
        update.add(Execute(by_hand))

    with sequence:                              the same, for the graph of the first operation

    with virtual.steps() as other:              operations below use only its tiles

The steps of a block become part of its Sequence when the block ends, unless it ends with an
exception. Blocks may be nested; each is a separate program, and one that is created inside a
loop, a branch or a function must be added to it. A block is open only in the thread, or the
asynchronous task, that entered it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain
from typing import ClassVar, NamedTuple, Self

from poplite.errors import SHOWN_FAULTS, ControlProgramError, GraphCycleError
from poplite.expr.tree import Expr
from poplite.graph.compute_sets.compute_set import ComputeSet, RecordedOperation
from poplite.graph.graph import Graph, home_graph, mapping_graph, working_graph
from poplite.graph.tensor.tensor import Tensor
from poplite.program.base import OPEN, Program, checked, fill
from poplite.program.control import Sequence, check_appended
from poplite.program.steps import Execute
from poplite.source import SourceLocation, here, is_called_by_user
from poplite.text import amount
from poplite.view.aliases import ViewIndex

_OVER: ContextVar[Graph | None] = ContextVar("graph of operations", default=None)
"""The graph that determines the tiles of operations, if a call names one."""

_NO_OTHERS = 2
"""The references to an object that only one local variable and `sys.getrefcount` refer to."""

_OPERATION = "operation"
"""The kind of name for operations, whose names are unique."""


class RecordedSteps(Sequence):
    """A Sequence to which operations append while its block is open.

    It is created by `graph.steps(name)`. A block may be entered again; new steps follow the others.

    Args:
        graph: the graph whose operations append to it; a virtual graph determines their tiles.
            None for the graph of the first operation.
        name: shown in messages.
        around: the block that contains a loop or a branch; programs added to that block are added
            here while this one is the innermost.
        is_function: whether it is the body of a function.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> x = graph.add_variable(pl.FLOAT, (4,), "x", mapping="linear")
    >>> with graph.steps("double") as step:
    ...     _ = pl.ops.assign(x, x + x)
    >>> step
    <Sequence 'double' 1 step>
    """

    _graph: Graph | None
    _blocks: list[list[Program]]
    _around: RecordedSteps | None
    _is_part: bool  # of a loop, a branch or a function
    _made_inside: list[Sequence]
    _written: list[Program]  # the programs that the user's own lines have created in the block
    _over: Graph | None  # the first virtual graph that determined the tiles of an operation

    def __init__(
        self,
        graph: Graph | None,
        name: str = "",
        around: RecordedSteps | None = None,
        *,
        is_function: bool = False,
    ) -> None:
        super().__init__(name=name)
        is_part = is_function or around is not None
        fill(self, _graph=graph, _around=around, _blocks=[])
        fill(self, _is_part=is_part, _made_inside=[], _written=[], _over=None)

    @property
    def graph(self) -> Graph:
        """The graph whose operations append to it."""
        known = self._known_graph
        if known is None:
            raise ControlProgramError(
                f"{self}: its graph is not known before an operation on a tensor is recorded in it",
                fix="use `with graph.steps() as step:` in place of a Sequence's block",
            )
        return known

    @property
    def _known_graph(self) -> Graph | None:
        if self._graph is None and self._around is not None:
            return self._around._known_graph
        return self._graph

    def takes(self, graph: Graph) -> bool:
        """Return whether operations on a graph append to it; the first one determines its graph."""
        known = self._known_graph
        if known is None:
            self._work_on(graph.top_level_graph)
        return known is None or known.top_level_graph is graph.top_level_graph

    def take_graph_of(self, operands: Iterable[object]) -> None:
        """Set its graph to the graph of operands, if it is not known yet."""
        for operand in operands if self._known_graph is None else ():
            for each in operand.leaves if isinstance(operand, Expr) else (operand,):
                graph = each if isinstance(each, Graph) else getattr(each, "graph", None)
                if isinstance(graph, Graph):
                    self.takes(graph)

    def _work_on(self, graph: Graph) -> None:
        """Set the graph of the block and of the enclosing blocks."""
        fill(self, _graph=graph)
        if self._around is not None and self._around._known_graph is None:
            self._around._work_on(graph)

    @property
    def works_over(self) -> Graph:
        """The graph whose tiles it uses: its own, or the one used to create its operands."""
        return self._over or self.graph

    def note_over(self, graph: Graph) -> None:
        """Record the graph that determines an operation's tiles, also in the enclosing blocks."""
        block: RecordedSteps | None = self
        while block is not None and block._over is None and block.graph is graph.top_level_graph:
            fill(block, _over=mapping_graph(graph))
            block = block._around

    def __enter__(self) -> Self:
        self._check_not_open(is_open=bool(self._blocks))
        self._blocks.append([])
        OPEN.set((*OPEN.get(), self))
        return self

    def __exit__(self, *failure: object) -> None:
        recorded = self._blocks.pop()
        OPEN.set(tuple(each for each in OPEN.get() if each is not self))
        created, self._made_inside[:] = [*self._made_inside], []
        written, self._written[:] = self._written[::-1], []
        if failure[0] is None:
            for program in recorded:
                super().add(program)
            self._check_used(created)
            self._check_kept(written)

    def note_made(self, program: Program) -> None:
        """Record a program that was created while this block is the innermost."""
        if self._is_part and isinstance(program, Sequence):
            self._made_inside.append(program)
        if is_called_by_user():
            self._written.append(program)

    def _check_kept(self, written: list[Program]) -> None:
        """Refuse programs that nothing refers to: they would never run, without a word."""
        while written:
            program = written.pop()
            if sys.getrefcount(program) == _NO_OTHERS and not program.is_empty:
                raise ControlProgramError(
                    f"{program!r} was created inside {self!r}, but not added to it",
                    at=program.location,
                    found="only operations append to an open block; nothing refers to this program",
                    fix="call block.add(program), with the block of `with graph.steps() as block:`",
                )

    def _check_used(self, created: Iterable[Sequence]) -> None:
        """Refuse steps recorded inside a loop, a branch or a function but not added to it."""
        for each in created:
            if isinstance(each, RecordedSteps) and each._is_part:
                continue  # checked when that block ends
            if each.used_at is None and not each.is_empty:
                raise ControlProgramError(
                    f"{each!r} was created inside '{self.name}', but not added to it",
                    at=each.location,
                    found="each block of graph.steps() and each Sequence is a separate program",
                    fix="record the steps in the open block, without graph.steps() or program=, "
                    "or call block.add(sequence)",
                )

    def add(self, program: Program) -> Self:
        """Append a program, as the next step if the block is open.

        Inside a loop or a branch of the block, it becomes a step of that loop or branch.
        """
        if not self._blocks:
            super().add(program)
            return self
        innermost = OPEN.get()[-1] if OPEN.get() else self
        if innermost is not self and innermost._is_in(self):
            innermost.add(program)
            return self
        self._blocks[-1].append(checked(program, f"Sequence, program {len(self._blocks[-1])}"))
        return self

    def _is_in(self, block: RecordedSteps) -> bool:
        """Return whether it is a loop or a branch inside a block, at any depth."""
        around = self._around
        while around is not None and around is not block:
            around = around._around
        return around is block

    def mark_used(self, at: SourceLocation) -> None:
        """Record that it has become part of a program or an engine; refused in its own block."""
        if self._blocks:
            raise self._used_while_open(at)
        super().mark_used(at)

    def replace_last(self, old: Program, new: Program) -> bool:
        """Replace the last program of an open block; return False if that is not `old`."""
        block = self._blocks[-1] if self._blocks else []
        if not block or block[-1] is not old:
            return False
        block[-1] = new
        return True


class OperationRecord:
    """Records everything that is added to a graph from now on as one operation."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph.top_level_graph
        parts = self._graph._parts
        self._sets, self._variables = len(parts.compute_sets), len(parts.space.variables)
        self._operations = len(parts.operations)

    @property
    def made(self) -> range:
        """The numbers of the variables created since."""
        return range(self._variables, len(self._graph.space.variables))

    def close(self, name: str) -> None:
        """Add the operation to its graph, replacing the operations that it consists of."""
        parts = self._graph._parts
        compute_sets = parts.compute_sets[self._sets :]
        if not compute_sets:
            return
        for inner in parts.operations[self._operations :]:
            parts.names.release(_OPERATION, inner.name)
        scope = f"{parts.names.full(name)}/"
        created = parts.space.variables[self._variables :]
        parts.operations[self._operations :] = [
            RecordedOperation(
                parts.names.unique(_OPERATION, name),
                here(),
                tuple(compute_sets),
                tuple(each for each in created if not each.name.startswith(scope)),
                tuple(each for each in created if each.name.startswith(scope)),
            )
        ]


class Recorder:
    """The steps of one operation, one after the other.

    Args:
        graph: the graph of the operation.
    """

    takes_programs: bool = True
    """Whether a step may be a program other than a compute set."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.steps: list[Program] = []
        self._record = OperationRecord(graph)

    def compute_set(self, name: str) -> ComputeSet:
        """Return the compute set of the next step."""
        compute_set = self.graph.add_compute_set(name)
        self.steps.append(Execute(compute_set))
        return compute_set

    def add(self, program: Program) -> None:
        """Add another step."""
        self.steps.append(program)

    def uses(self, name: str, reads: Iterable[Tensor], writes: Iterable[Tensor]) -> None:
        """Record the tensors that the operation reads and writes, for other operations."""

    def finish(self, target: Sequence, name: str) -> None:
        """Append the steps to a program, as a Sequence unless there is only one."""
        self._record.close(name)
        if len(self.steps) == 1:
            target.add(self.steps[0])
        elif self.steps:
            recorded = Sequence(*self.steps, name=name)
            fill(recorded, _made=self._record.made)
            target.add(recorded)


class Together(RecordedSteps):
    """Merged steps of independent operations: all first steps, then all second steps, and so on.

    Operations in one block share compute sets, so that one synchronisation serves all of them.
    Other programs run where they are recorded, after the operations before them; operations before
    and after such a program share no compute sets.

    Args:
        around: the block that contains it.
    """

    takes_programs: ClassVar[bool] = True
    _levels: list[tuple[list[ComputeSet], list[Program]]]
    _reads: ViewIndex[_Use]
    _writes: ViewIndex[_Use]
    _names: dict[str, None]
    _record: OperationRecord | None

    def __init__(self, around: RecordedSteps) -> None:
        super().__init__(around._known_graph, "together", around)
        fill(self, _levels=[], _names={}, _record=None)
        self._forget_uses()
        if self._graph is not None:
            self._work_on(self._graph)

    def _work_on(self, graph: Graph) -> None:
        super()._work_on(graph)
        fill(self, _record=OperationRecord(graph))

    def __exit__(self, *failure: object) -> None:
        self.close_levels()
        super().__exit__(*failure)

    def add(self, program: Program) -> Self:
        """Append a program that is not an operation."""
        self.close_levels()
        return super().add(program)

    def at(self, level: int, graph: Graph, name: str) -> ComputeSet:
        """Return the compute set that the operations share in a step."""
        compute_sets, _ = self._level(level)
        if not compute_sets:
            compute_sets.append(graph.add_compute_set(name))
        return compute_sets[0]

    def put(self, level: int, program: Program) -> None:
        """Add another program to a step."""
        self._level(level)[1].append(program)

    def _level(self, level: int) -> tuple[list[ComputeSet], list[Program]]:
        """Return the compute set of a step, if it has one, and its other programs."""
        while len(self._levels) <= level:
            self._levels.append(([], []))
        return self._levels[level]

    def use(self, use: _Use) -> None:
        """Record that an operation reads or writes a tensor; refuse dependent operations.

        Raises:
            GraphCycleError: for elements that one operation writes and another reads or writes.
        """
        view = use.tensor.view
        others = [self._writes, self._reads] if use.is_write else [self._writes]
        for other in chain.from_iterable(each.meeting(view) for each in others):
            if other.by is not use.by:
                raise _dependent(use, other)
        (self._writes if use.is_write else self._reads).add(view, use)

    def finished(self, name: str) -> None:
        """Record the name of an operation whose steps the block has taken."""
        self._names[name] = None

    def close_levels(self) -> None:
        """Append the steps of the operations so far; later ones share no compute sets with them."""
        levels, self._levels[:] = [*self._levels], []
        self._forget_uses()
        if self._record is not None:
            if self._names:
                self._record.close(" + ".join(self._names))
                self._names.clear()
            fill(self, _record=OperationRecord(self.graph))
        for compute_sets, others in levels:
            for program in (*map(Execute, compute_sets), *others):
                super().add(program)

    def _forget_uses(self) -> None:
        fill(self, _reads=ViewIndex(), _writes=ViewIndex())


class _Use(NamedTuple):
    """A tensor that an operation reads or writes."""

    by: Recorder
    name: str
    tensor: Tensor
    is_write: bool


def _dependent(use: _Use, other: _Use) -> GraphCycleError:
    verb, others = ("writes" if each.is_write else "reads" for each in (use, other))
    return GraphCycleError(
        f"ops.together(): '{use.name}' {verb} '{use.tensor.name}', "
        f"and '{other.name}' before it {others} the same elements",
        found=f"{use.tensor!r} and {other.tensor!r}; the operations of a block run in parallel",
        fix=f"record '{use.name}' after the block of ops.together()",
    )


class ComputeSetList(Sequence):
    """A user's compute sets in place of a Sequence: one for all first steps, and so on.

    The user executes them in this order. Operations that add vertices to them run in parallel.

    Args:
        compute_sets: existing compute sets; others are appended for further steps.
        most: the maximum number of compute sets; None for any number.
    """

    takes_programs: ClassVar[bool] = False
    _compute_sets: list[ComputeSet]
    _most: int | None

    def __init__(self, compute_sets: list[ComputeSet], most: int | None = None) -> None:
        super().__init__()
        fill(self, _compute_sets=compute_sets, _most=most)

    def at(self, level: int, graph: Graph, name: str) -> ComputeSet:
        """Return the compute set of a step."""
        if level == self._most:
            raise self._refused_step(f"another compute set, '{name}'")
        if level == len(self._compute_sets):
            self._compute_sets.append(graph.add_compute_set(name))
        return self._compute_sets[level]

    def add(self, program: Program) -> Self:
        """Refuse a program: a compute set has only vertices."""
        raise self._refused_step(repr(program))

    def put(self, level: int, program: Program) -> None:
        """Refuse a program, too."""
        self.add(program)

    def use(self, use: _Use) -> None:
        """Do nothing: the user decides the order."""

    def finished(self, name: str) -> None:
        """Do nothing: the user executes the compute sets."""

    def _refused_step(self, step: str) -> ControlProgramError:
        names = ", ".join(f"'{each.name}'" for each in self._compute_sets[:SHOWN_FAULTS])
        return ControlProgramError(
            f"an operation whose steps are added to compute sets needs {step}",
            found=f"it has {amount(len(self._compute_sets), 'compute set')}: {names or 'none'}",
            fix="pass a program, which takes all steps",
        )


class SharedRecorder(Recorder):
    """The steps of one operation, added to steps that other operations share."""

    graph: Graph

    def __init__(self, graph: Graph, shared: Together | ComputeSetList) -> None:
        # Steps and operation record are those of `shared`.
        self.graph, self._shared, self._level = graph, shared, 0
        self.takes_programs: bool = shared.takes_programs

    def compute_set(self, name: str) -> ComputeSet:
        """Return the compute set that the operations share in the next step."""
        self._level += 1
        return self._shared.at(self._level - 1, self.graph, name)

    def add(self, program: Program) -> None:
        """Add another step."""
        self._shared.put(self._level, program)
        self._level += 1

    def uses(self, name: str, reads: Iterable[Tensor], writes: Iterable[Tensor]) -> None:
        """Record the tensors that the operation reads and writes; refuse a dependent operation."""
        for is_write, tensors in enumerate((reads, writes)):
            for tensor in tensors:
                self._shared.use(_Use(self, name, tensor, bool(is_write)))

    def finish(self, target: Sequence, name: str) -> None:
        """Finish the operation; its steps are already in the shared steps."""
        self._shared.finished(name)


def recorder(graph: Graph, target: Sequence) -> Recorder:
    """Return the recorder for an operation that appends to a program."""
    if isinstance(target, Together | ComputeSetList):
        return SharedRecorder(graph, target)
    return Recorder(graph)


def target(graph: Graph, program: object, usage: str) -> Sequence:
    """Return the Sequence to which an operation appends; `usage` is its call, for messages."""
    if program is not None:
        check_appended(usage, graph, program)
        assert isinstance(program, Sequence)
        return program
    return open_steps(graph, usage)


def open_steps(graph: Graph, usage: str) -> RecordedSteps:
    """Return the innermost open block of a graph."""
    steps = _innermost_of(graph)
    if steps is not None:
        return steps
    raise _no_program(usage, graph, "; or program=pl.Sequence()")


def _innermost_of(graph: Graph) -> RecordedSteps | None:
    """Return the innermost open block of a graph or its virtual graphs, or None."""
    for steps in reversed(OPEN.get()):
        if steps.takes(graph):
            return steps
    return None


@contextmanager
def deciding_tiles(graph: Graph) -> Iterator[None]:
    """Let a graph determine the tiles of all operations in a `with` block."""
    token = _OVER.set(graph)
    try:
        yield
    finally:
        _OVER.reset(token)


def graph_for(
    graph: Graph, tensors: Iterable[Tensor], program: object, *, is_placed: bool = False
) -> Graph:
    """Return the graph whose tiles an operation uses, prepared for operations.

    It is the graph that a call names (`deciding_tiles`, or a virtual graph); else the graph of the
    block that takes the steps; else, unless the user placed the result (`is_placed`), the virtual
    graph used to create all operands; else the top-level graph.
    """
    top, named = graph.top_level_graph, _OVER.get()
    block = program if isinstance(program, RecordedSteps) else _innermost_of(graph)
    if named is not None and named.top_level_graph is top:
        graph = named
    elif graph is top and block is not None and block.graph is not graph:
        graph = block.graph
    elif graph is top and not is_placed:
        graph = home_graph(graph, tensors)
    if block is not None and graph is not top:
        block.note_over(graph)
    return working_graph(graph)


def innermost(usage: str) -> RecordedSteps:
    """Return the innermost open block of any graph."""
    if not OPEN.get():
        raise _no_program(usage)
    return OPEN.get()[-1]


def _no_program(usage: str, graph: Graph | None = None, instead: str = "") -> ControlProgramError:
    found = "no block of graph.steps() is open"
    if OPEN.get():
        found = f"it uses {graph!r}, but the open block uses {OPEN.get()[-1].graph!r}"
    return ControlProgramError(
        f"{usage}: it is called outside its graph's steps()",
        found=found,
        fix=f"with graph.steps() as step: ...{instead}",
    )
