"""Programs that run in order, and programs with a name.

    with sequence:                  operations append to it, as to `graph.steps()`

Parts may be added to a Sequence, as to a Switch, until it becomes part of another program or of
an engine. From then on others count its steps, and what has been checked must stay what it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, ClassVar, Self

from poplite.errors import ControlProgramError, GraphRecursionError
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.graph import Graph
from poplite.graph.storage.copies import refuse_copies
from poplite.program.base import Program, check_name, checked, parts, programs_or_none, set_once
from poplite.program.function import functions_between
from poplite.program.walk import distinct_steps
from poplite.source import SourceLocation, here
from poplite.text import amount, clipped, fitted, of_type

if TYPE_CHECKING:
    from poplite.program.recording import RecordedSteps

OPEN: ContextVar[tuple[RecordedSteps, ...]] = ContextVar("open steps", default=())
"""The blocks that are open, the innermost last."""


@refuse_copies("Sequence(*sequence.programs) or Switch(control, switch.cases): the same parts")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Growing(Program):
    """Base of programs with an `add`.

    Attributes:
        used_at: the line that made it part of another program or of an engine.
    """

    used_at: SourceLocation | None = field(init=False)

    def mark_used(self, at: SourceLocation) -> None:
        """Note that it became part of something, so that nothing may be added."""
        if self.used_at is None:
            object.__setattr__(self, "used_at", at)

    def _adopt(self, added: Program, what: str) -> None:
        """Make a program part of this one, which nobody uses yet; `what` is for messages."""
        if self.used_at is not None or added is self:
            raise self._refused(added, what)
        added.mark_used(here())
        object.__setattr__(self, "num_steps", self.num_steps + added.num_steps)
        object.__setattr__(self, "is_empty", self.is_empty and added.is_empty)

    def _refused(self, added: Program, what: str) -> ControlProgramError | GraphRecursionError:
        path = functions_between(added, self)
        if path is not None:
            names = ", ".join(f"'{function.name}'" for function in path)
            return GraphRecursionError(
                f"{self}: {what} would run the {type(self).__name__} itself",
                found=f"by way of the functions {names}" if path else f"{what} is {added!r}",
                fix="a program cannot contain itself: loop with Repeat or RepeatWhileTrue",
            )
        return ControlProgramError(
            f"{self}: {what} is added after it became part of a program or an engine",
            found=f"used at {self.used_at}",
            fix="add everything first",
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Sequence(Growing):
    """Programs that run in order.

    In its `with` block operations append to it, as to `graph.steps()`; the first one decides the
    graph. Programs may be added until the Sequence becomes part of another program or of an engine.

    Args:
        *programs: the programs, or one list of them.
        name: for messages and drawings; as in Poplar it may come last, after the programs.

    Raises:
        ControlProgramError: when one of them is no program.

    >>> Sequence(Program(), Sequence(), name="main")
    <Sequence 'main' 0 steps>
    """

    name: str
    _block: RecordedSteps | None  # takes the steps of its `with` block while that is open
    _made: range  # the numbers of the variables that an operation made for these steps alone
    _programs: list[Program]

    def __init__(self, *programs: Program | Iterable[Program] | str, name: str = "") -> None:
        if len(programs) > 1 and isinstance(programs[-1], str):  # as in Poplar, a name comes last
            name = programs[-1]
            programs = programs[:-1]
        check_name(name, "Sequence")
        if len(programs) == 1 and not isinstance(programs[0], Program):
            listed = programs_or_none(programs[0])
            programs = programs if listed is None else tuple(listed)
        children = parts((p, f"Sequence, program {i}") for i, p in enumerate(programs))
        steps, is_empty = sum(p.num_steps for p in children), all(p.is_empty for p in children)
        set_once(
            self,
            used_at=None,
            _programs=children,
            name=name,
            _block=None,
            _made=range(0),
            num_steps=steps,
            is_empty=is_empty,
        )
        if blocks := OPEN.get():
            blocks[-1].note_made(self)

    def add(self, program: Program) -> Self:
        """Add a program behind the others.

        In Poplar whoever has a copy of the Sequence sees what is added later; here nothing is
        added to a Sequence that is in use.

        Args:
            program: what runs last.

        Returns:
            The Sequence, so that calls can be chained.

        Raises:
            ControlProgramError: when it is no program, or the Sequence is part of another
                program or of an engine.
            GraphRecursionError: when the program runs this very Sequence.

        >>> Sequence(name="main").add(Program()).add(Program())
        <Sequence 'main' 0 steps>
        """
        if self._block is not None:
            self._block.add(program)
            return self
        what = f"program {len(self._programs)}"
        part = checked(program, f"Sequence, {what}")
        self._adopt(part, what)
        self._programs.append(part)
        return self

    def __enter__(self) -> Self:
        from poplite.program.recording import RecordedSteps  # which are sequences themselves

        self._check_not_open(is_open=self._block is not None)
        object.__setattr__(
            self, "_block", RecordedSteps(self._graph_of_steps, self.name).__enter__()
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        block = self._block
        assert block is not None
        block.__exit__(kind, error, trace)
        object.__setattr__(self, "_block", None)
        block.mark_used(here())
        for program in block.programs:
            self.add(program)

    @property
    def _graph_of_steps(self) -> Graph | None:
        """The graph of the first of its steps that belongs to one."""
        for step in distinct_steps(self):
            program = step.program
            owners = (getattr(program, name, None) for name in ("compute_set", "function"))
            for owner in (*owners, *program.reads, *program.writes):
                graph = getattr(owner, "graph", None)
                if isinstance(graph, Graph):
                    return graph.top_level_graph
        return None

    def _check_not_open(self, *, is_open: bool) -> None:
        """Refuse to open its block, where that is open, or the sequence in use."""
        if is_open:
            raise ControlProgramError(
                f"{self}: its block is open already",
                fix="graph.steps() makes another one, which step.add(...) takes",
            )
        if self.used_at is not None:
            self.add(Sequence())  # refuses

    def mark_used(self, at: SourceLocation) -> None:
        """Note that it became part of something; refused while its block is open."""
        if self._block is not None:
            raise self._used_while_open(at)
        super(Sequence, self).mark_used(at)

    def _used_while_open(self, at: SourceLocation) -> ControlProgramError:
        return ControlProgramError(
            f"{self}: it is used while its block is open",
            at=at,
            fix="use it behind the `with` statement",
        )

    def _put_first(self, program: Program) -> None:
        """Add a program before the others."""
        self._adopt(program, "program 0")
        self._programs.insert(0, program)

    @property
    def programs(self) -> tuple[Program, ...]:
        """The programs, in order."""
        return tuple(self._programs)

    @property
    def children(self) -> tuple[Program, ...]:
        """The programs, in order."""
        return tuple(self._programs)

    def __str__(self) -> str:
        return f"Sequence '{self.name}'" if self.name else "Sequence"

    def __repr__(self) -> str:
        steps = amount(self.num_steps, "step")
        return (
            fitted(f"<Sequence '{{}}' {steps}>", self.name) if self.name else f"<Sequence {steps}>"
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Block(Program):
    """A program with a name, for messages, drawings and profiles; it runs as without.

    Args:
        program: what runs.
        name: what it is called.

    Raises:
        ControlProgramError: when it is no program, or the name no text or empty.

    >>> Block(Program(), "forward")
    <Block 'forward' 0 steps>
    """

    _name_counts: ClassVar[bool] = True
    program: Program
    name: str

    def __init__(self, program: Program, name: str) -> None:
        part = checked(program, "Block")
        if not isinstance(name, str) or not name:
            raise ControlProgramError(
                f"Block: {clipped(name)} is no name",
                found=f"{of_type(name)}; the program is {part!r}",
                fix="Block(program, 'forward')",
            )
        part.mark_used(here())
        steps, is_empty = part.num_steps, part.is_empty
        set_once(self, program=part, name=name, num_steps=steps, is_empty=is_empty)

    @property
    def children(self) -> tuple[Program, ...]:
        """The program."""
        return (self.program,)

    def __str__(self) -> str:
        return f"Block '{self.name}'"

    def __repr__(self) -> str:
        return fitted(f"<Block '{{}}' {amount(self.num_steps, 'step')}>", self.name)


def check_appended(usage: str, graph: object, sequence: object) -> None:
    """Refuse arguments of a function that appends to a sequence, before it makes anything.

    `usage` is a call of the function, for messages.
    """
    check_graph(usage, graph)
    if isinstance(sequence, ComputeSet):
        raise ControlProgramError(
            f"{usage.partition('(')[0]}: compute set '{sequence.name}' in place of a sequence",
            found="operations make compute sets of their own, one for each of their steps",
            fix="pass a Sequence; operations in a block of ops.together() share compute sets",
        )
    if not isinstance(sequence, Sequence):
        raise _is_no("sequence", usage, sequence)
    if sequence.used_at is not None:
        sequence.add(Sequence())  # refuses


def check_graph(usage: str, graph: object) -> None:
    """Refuse anything but a graph; `usage` is a call of the function, for messages."""
    if not isinstance(graph, Graph):
        raise _is_no("graph", usage, graph)


def _is_no(kind: str, usage: str, value: object) -> ControlProgramError:
    return ControlProgramError(
        f"{usage.partition('(')[0]}: {clipped(value, 60)} is no {kind}",
        found=of_type(value),
        fix=usage,
    )
