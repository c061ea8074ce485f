"""Programs that control others: in order, repeatedly, or one of several.

    Sequence(a, b)                            in order; in `with sequence:`, operations append to it
    Block(a, "forward")                       with a name

    Repeat(100, step)                         100 times
    RepeatWhileTrue(test, go_on, step)        test; while go_on: step, test
    RepeatWhileFalse(test, done, step)        test; while not done: step, test
    Loop(step)                                until engine.stop(), or an Abort in it

    If(is_large, shrink, grow)
    Switch(mode, {0: forward, 1: backward}, default=report)

Programs may be added to a Sequence or a Switch until it becomes part of another program or of
an engine. From then on it may not change, since its steps have been counted and checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import InitVar, field
from operator import index as whole_number
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from poplite.errors import (
    ControlProgramError,
    GraphRecursionError,
    SizeOverflowError,
    made_by,
    refuse_copies,
)
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.program.base import (
    Call,
    Program,
    check_name,
    checked,
    decides,
    deciding_tensor,
    declared,
    derived,
    distinct_steps,
    fill,
    functions_between,
    noted,
    part,
    programs_or_none,
    set_once,
    unknown_kind,
)
from poplite.source import SourceLocation, here
from poplite.text import amount, clipped, of_type
from poplite.types import INT

if TYPE_CHECKING:
    from poplite.program.recording import RecordedSteps


@made_by("Sequence(*programs), or Switch(control, cases)")
@refuse_copies("use the same parts: Sequence(*sequence.programs), Switch(control, switch.cases)")
@declared()
class Growing(Program):
    """Base of the programs with an `add` method.

    Attributes:
        used_at: the line at which it became part of another program or of an engine.
    """

    used_at: SourceLocation | None = derived()

    def mark_used(self, at: SourceLocation) -> None:
        """Record that it has become part of a program or an engine, so that it may not grow."""
        if self.used_at is None:
            fill(self, used_at=at)

    def _adopt(self, added: Program, what: str) -> None:
        """Make a program part of this one, which must not be in use; messages call it `what`."""
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
                found=f"through the functions {names}" if path else f"{what} is {added!r}",
                fix="use Repeat or RepeatWhileTrue for a loop: a program cannot contain itself",
            )
        return ControlProgramError(
            f"{self}: {what} cannot be added to a program that is already in use",
            found=f"it became part of a program or an engine at {self.used_at}",
            fix="add all parts before it is used",
        )


@declared(binds=False)
class Sequence(Growing):
    """Programs that run in order.

    Inside its `with` block, operations append to it, as to `graph.steps()`; the first one
    determines the graph. Programs may be added until the Sequence becomes part of another program
    or of an engine.

    Args:
        *programs: the programs, or one list of them.
        name: for messages and drawings; as in Poplar, it may follow the programs.

    Raises:
        ControlProgramError: when an argument is not a program.

    >>> Sequence(Program(), Sequence(), name="main")
    <Sequence 'main' 0 steps>
    """

    name: str = field(compare=False)
    _programs: list[Program] = field(metadata={"saved": "programs"})
    _made: range = noted("_made")  # numbers of variables that an operation created for these steps
    _block: RecordedSteps | None = field(init=False)  # takes steps while its `with` block is open

    def __init__(self, *programs: Program | Iterable[Program] | str, name: str = "") -> None:
        if len(programs) > 1 and isinstance(programs[-1], str):  # as in Poplar, a name comes last
            name = programs[-1]
            programs = programs[:-1]
        check_name(name, "Sequence")
        if len(programs) == 1 and not isinstance(programs[0], Program):
            found = programs_or_none(programs[0])
            programs = programs if found is None else tuple(found)
        listed = [checked(each, f"Sequence, program {i}") for i, each in enumerate(programs)]
        set_once(self, used_at=None, _programs=listed, name=name, _block=None, _made=range(0))

    def add(self, program: Program) -> Self:
        """Append a program.

        In Poplar, copies of a Sequence also show programs that are added later; here nothing is
        added to a Sequence that is in use.

        Args:
            program: the program to append.

        Returns:
            The Sequence, so that calls can be chained.

        Raises:
            ControlProgramError: when it is not a program, or the Sequence is part of another
                program or of an engine.
            GraphRecursionError: when the program runs this Sequence.

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
        from poplite.program.recording import RecordedSteps  # it imports this module

        self._check_not_open(is_open=self._block is not None)
        object.__setattr__(
            self, "_block", RecordedSteps(self._graph_of_steps, self.name).__enter__()
        )
        return self

    def __exit__(self, *failure: object) -> None:
        block = self._block
        assert block is not None
        block.__exit__(*failure)
        fill(self, _block=None)
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
        """Refuse to open its block if that is open, or if the sequence is in use."""
        if is_open:
            raise ControlProgramError(
                f"{self}: its block is already open",
                fix="use another block, graph.steps(), and add it with step.add(...)",
            )
        if self.used_at is not None:
            self.add(Sequence())  # refuses

    def mark_used(self, at: SourceLocation) -> None:
        """Record that it has become part of a program or an engine; refused in its own block."""
        if self._block is not None:
            raise self._used_while_open(at)
        Growing.mark_used(self, at)

    def _used_while_open(self, at: SourceLocation) -> ControlProgramError:
        return ControlProgramError(
            f"{self}: it cannot be used while its block is open",
            at=at,
            fix="use it after the `with` statement",
        )

    def _put_first(self, program: Program) -> None:
        """Add a program before the others."""
        self._adopt(program, "program 0")
        self._programs.insert(0, program)

    @property
    def children(self) -> tuple[Program, ...]:
        """The programs, in order."""
        return tuple(self._programs)

    @property
    def programs(self) -> tuple[Program, ...]:
        """The programs, in order."""
        return self.children

    def _titled(self) -> str:
        return "Sequence '{name}'" if self.name else "Sequence"

    def _detail(self) -> str:
        return f" {amount(self.num_steps, 'step')}"


@declared(binds=False)
class Block(Program):
    """A program with a name for messages, drawings and profiles, which does not affect the run.

    Args:
        program: the program.
        name: its name.

    Raises:
        ControlProgramError: when it is not a program, or the name is empty or not a string.

    >>> Block(Program(), "forward")
    <Block 'forward' 0 steps>
    """

    _title = "Block '{name}'"
    program: Program = part()
    name: str

    def _check(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ControlProgramError(
                f"Block: {clipped(self.name)} is not a valid name",
                found=f"{of_type(self.name)}; the program is {self.program!r}",
                fix="Block(program, 'forward')",
            )

    def _detail(self) -> str:
        return f" {amount(self.num_steps, 'step')}"


# -- loops, one of several -------------------------------------------------------------------------


MOST_TIMES = 2**32 - 1
"""The largest count of a Repeat, which Poplar stores in 32 bits."""

Cases = Mapping[int, Program] | Iterable[tuple[int, Program]]


@declared()
class Repeat(Program):
    """A program that runs a fixed number of times.

    Args:
        count: number of iterations; may be 0.
        body: the program to repeat.
        name: as in Poplar; it has no effect.

    Raises:
        ControlProgramError: when `count` is not a whole number from 0 to 2**32 - 1, or `body` is
            not a program.

    >>> Repeat(100, Program())
    <Repeat 100 times, 0 steps>
    """

    _block_instead = "ops.repeat(count)"
    count: int
    body: Program = part()
    name: InitVar[str] = ""

    def _check(self) -> None:
        count: object = self.count
        try:
            times = whole_number(count)  # type: ignore[arg-type]
        except TypeError:
            times = -1
        if not 0 <= times <= MOST_TIMES:
            raise ControlProgramError(
                f"Repeat: {clipped(count)} times, but a whole number from 0 to 2**32 - 1 is needed",
                found=of_type(count),
                fix="call counted_loop(graph, 0, count, 1, body) to read the count from a tensor"
                if isinstance(count, Tensor)
                else "nest two loops: Repeat(2**16, Repeat(2**16, body))"
                if times > MOST_TIMES
                else "Repeat(100, body)",
            )
        fill(self, count=times)

    def _does_nothing(self) -> bool:
        return self.count == 0 or self.body.is_empty

    def _titled(self) -> str:
        return f"Repeat {amount(self.count, 'time')}"


@declared()
class Loop(Program):
    """A program that runs repeatedly until the run ends.

    The run ends with `engine.stop()`, an `Abort` or `AbortOnCondition` in it, or an exception.

    Args:
        body: the program to repeat.
        name: as in Poplar; it has no effect.

    Raises:
        ControlProgramError: when `body` is not a program.

    >>> Loop(Program())
    <Loop 0 steps>
    """

    _title = "Loop"
    body: Program = part()
    name: InitVar[str] = ""

    def _does_nothing(self) -> bool:
        return False  # even with an empty body, since it does not end

    def _detail(self) -> str:
        return f" {amount(self.num_steps, 'step')}"


@made_by("RepeatWhileTrue(condition, predicate, body), or RepeatWhileFalse")
@declared()
class RepeatWhile(Program):
    """Base of the loops that a scalar ends.

    In each iteration `condition` runs, then the predicate is read; if that ends the loop, `body`
    does not run.  So `condition` runs at least once, and `body` possibly never.

    Attributes:
        times: number of runs of the body in a counted loop; None if it depends on data.
        goes_on_if: the value of the predicate for which the body runs.
    """

    _block_instead = "ops.while_(condition)"
    condition: Program = part("condition")
    predicate: Tensor = decides()
    body: Program = part("body")
    name: InitVar[str] = ""
    times: int | None = noted("times")

    goes_on_if: ClassVar[bool]

    def _check(self) -> None:
        fill(self, times=None)

    def _does_nothing(self) -> bool:
        return False  # a loop that does nothing may still not end


@declared()
class RepeatWhileTrue(RepeatWhile):
    """A loop that runs while a scalar is true; another program sets it before each iteration.

    Args:
        condition: the program that runs before each read of the predicate, at least once.
        predicate: one element of BOOL, INT or UNSIGNED_INT, true when it is not 0.
        body: the program that runs as long as the predicate is true, possibly never.
        name: as in Poplar; it has no effect.

    Raises:
        ControlProgramError: when `condition` or `body` is not a program, or the predicate is not
            one element.
        ElementTypeError: when the predicate is not a tensor of these types.

    >>> from poplite.graph import Graph
    >>> go_on = Graph().add_variable("bool", (), "go_on")
    >>> RepeatWhileTrue(Program(), go_on, Program())
    <RepeatWhileTrue 'go_on', 0 steps>
    """

    _title = "RepeatWhileTrue '{predicate.name}'"
    goes_on_if = True


@declared()
class RepeatWhileFalse(RepeatWhile):
    """A loop that runs until a scalar is true; another program sets it before each iteration.

    Args:
        condition: the program that runs before each read of the predicate, at least once.
        predicate: one element of BOOL, INT or UNSIGNED_INT, true when it is not 0.
        body: the program that runs as long as the predicate is false, possibly never.
        name: as in Poplar; it has no effect.

    Raises:
        ControlProgramError: when `condition` or `body` is not a program, or the predicate is not
            one element.
        ElementTypeError: when the predicate is not a tensor of these types.

    >>> from poplite.graph import Graph
    >>> done = Graph().add_variable("bool", (), "done")
    >>> RepeatWhileFalse(Program(), done, Program())
    <RepeatWhileFalse 'done', 0 steps>
    """

    _title = "RepeatWhileFalse '{predicate.name}'"
    goes_on_if = False


def with_times(loop: RepeatWhile, times: int | None) -> RepeatWhile:
    """Set the number of runs of a loop's body, and return the loop."""
    fill(loop, times=times)
    return loop


@declared()
class If(Program):
    """One of two programs.

    Args:
        predicate: one element of BOOL, INT or UNSIGNED_INT, true when it is not 0.
        true_body: the program that runs when it is true.
        false_body: the program that runs when it is false; `Sequence()` for nothing.
        name: as in Poplar; it has no effect.

    Raises:
        ControlProgramError: when a body is not a program, or the predicate is not one element.
        ElementTypeError: when the predicate is not a tensor of these types.

    >>> from poplite.graph import Graph
    >>> large = Graph().add_variable("bool", (), "large")
    >>> If(large, Program(), Program())
    <If 'large', 0 steps>
    """

    _title = "If '{predicate.name}'"
    _block_instead = "ops.if_(predicate)"
    predicate: Tensor = decides()
    true_body: Program = part("then")
    false_body: Program = part("else")
    name: InitVar[str] = ""


@declared()
class Switch(Growing):
    """One of several programs, chosen by the value of a scalar.

    Cases may be added until the Switch becomes part of another program, a function or an engine.

    Args:
        control: one element of INT or UNSIGNED_INT.
        cases: programs by the value that chooses them, or pairs of both.
        default: the program for any other value; by default nothing runs. As in Poplar, it may
            follow the control, if cases are added later.
        name: as in Poplar; it has no effect.

    Attributes:
        unmatched: treatment of any other value: "default", "error", or "unreachable".

    Raises:
        ControlProgramError: when a value is not a whole number or occurs twice, a case is not a
            program, or the control is not one element.
        ElementTypeError: when the control is not a tensor of these types.
        SizeOverflowError: when the control can never have a value.

    >>> from poplite.graph import Graph
    >>> mode = Graph().add_variable("int32", (), "mode")
    >>> Switch(mode, {0: Program()}).add(1, Program()).add(2, Program())
    <Switch 'mode', 3 cases, 0 steps>
    """

    _title = "Switch '{control.name}'"
    control: Tensor = decides()
    unmatched: Literal["default", "error", "unreachable"]
    default: Program = part("default")
    _cases: dict[int, Program] = field(metadata={"saved": "cases"})

    def __init__(
        self,
        control: Tensor,
        cases: Cases | Program | str = (),
        default: Program | str | None = None,
        name: str = "",
    ) -> None:
        other: Any = Program() if default is None else default
        if default is None and isinstance(cases, Program):
            other, cases = cases, ()
        self._fill(control, cases, "default", other)

    @classmethod
    def with_bounds_checking(cls, control: Tensor, cases: Cases = (), name: str = "") -> Self:
        """Create a Switch that stops the run with an error if no case matches.

        Args:
            control: one element of INT or UNSIGNED_INT.
            cases: programs by the value that chooses them, or pairs of both.
            name: as in Poplar; it has no effect.
        """
        check_name(name, "Switch")
        switch = cls.__new__(cls)
        switch._fill(control, cases, "error", Program())
        return switch

    @classmethod
    def with_unreachable_default(
        cls, control: Tensor, cases: Cases | str = (), name: str = ""
    ) -> Self:
        """Create a Switch for a control that always matches a case.

        Without a match, behaviour on a machine is undefined; here the run stops with an error.

        Args:
            control: one element of INT or UNSIGNED_INT.
            cases: programs by the value that chooses them, or pairs of both; as in Poplar, the
                name may follow the control, if cases are added later.
            name: as in Poplar; it has no effect.
        """
        if isinstance(cases, str):  # a name follows the control
            name, cases = cases, ()
        check_name(name, "Switch")
        switch = cls.__new__(cls)
        switch._fill(control, cases, "unreachable", Program())
        return switch

    def _fill(self, control: Tensor, cases: Any, unmatched: str, default: Program) -> None:
        control = deciding_tensor(control, "Switch", "control")  # before the cases are checked
        pairs = list(cases.items()) if isinstance(cases, Mapping) else _pairs(cases)
        known = {"control": control, "default": default, "unmatched": unmatched}
        set_once(self, **known, used_at=None, _cases=pairs)

    def _check(self) -> None:
        # All cases are checked before any of them becomes part of the Switch.
        given: Any = self._cases
        fill(self, _cases={})
        for value, program in given:
            number, part = self._case(value, program)
            self._cases[number] = part

    def add(self, value: int, program: Program) -> Self:
        """Add a case.

        Args:
            value: the value that chooses it.
            program: the program of the case.

        Returns:
            The Switch, so that calls can be chained.

        Raises:
            ControlProgramError: when the value is not a whole number or has a case already,
                `program` is not a program, or the Switch is part of another program.
            SizeOverflowError: when the control can never have that value.
            GraphRecursionError: when the program runs this Switch.
        """
        number, part = self._case(value, program)
        self._adopt(part, f"case {number:,}")
        self._cases[number] = part
        return self

    def _case(self, value: int, program: Program) -> tuple[int, Program]:
        """Return a value and its program after checking both."""
        number, part = self._number(value), checked(program, f"Switch, case {clipped(value)}")
        if self.used_at is None and number in self._cases:
            raise ControlProgramError(
                f"Switch '{self.control.name}': the value {number:,} has two programs",
                found=f"cases: {self.values_text()}",
                fix="use Sequence(first, second) to run both",
            )
        return number, part

    def _number(self, value: object) -> int:
        try:
            number = whole_number(value)  # type: ignore[arg-type]
        except TypeError:
            raise ControlProgramError(
                f"Switch: a case for {clipped(value)}, which is not a whole number",
                found=of_type(value),
                fix="Switch(control, {0: program})",
            ) from None
        low, high = (-(1 << 31), 1 << 31) if self.control.element_type is INT else (0, 1 << 32)
        if not low <= number < high:
            raise SizeOverflowError(
                f"Switch '{self.control.name}': a case for {number:,}, but "
                f"{self.control.element_type!r} ranges from {low:,} to {high - 1:,}",
                found=f"cases so far: {self.values_text()}",
                fix="use a value in that range",
            )
        return number

    def values_text(self) -> str:
        """Return the values of the cases as text; only the first few if there are many."""
        values = [f"{value:,}" for value in self._cases]
        more = f" and {len(values) - MOST_VALUES:,} more" if len(values) > MOST_VALUES else ""
        return ", ".join(values[:MOST_VALUES]) + more if values else "none"

    @property
    def cases(self) -> Mapping[int, Program]:
        """The programs by the value that chooses them, in the order in which they were added."""
        return MappingProxyType(self._cases)

    @property
    def children(self) -> tuple[Program, ...]:
        """The programs of the cases, then the default if there is one."""
        default = [self.default] if self.unmatched == "default" else []
        return (*self._cases.values(), *default)

    def _does_nothing(self) -> bool:
        return self.default.is_empty and self.unmatched == "default"

    def _detail(self) -> str:
        return f", {amount(len(self._cases), 'case')}, {amount(self.num_steps, 'step')}"

    switchWithBoundsChecking = with_bounds_checking
    switchWithUnreachableDefault = with_unreachable_default


def _pairs(cases: object) -> list[tuple[int, Program]]:
    found = programs_or_none(cases)
    for pair in [cases] if found is None else found:
        if found is None or not isinstance(pair, tuple | list) or len(pair) != 2:
            what = "cases" if found is None else "a value with its program"
            raise ControlProgramError(
                f"Switch: {clipped(pair, 60)} is not valid as {what}",
                found=of_type(pair),
                fix="Switch(control, {0: program}), or Switch(control, default=program)",
            )
    return found or []


MOST_VALUES = 8
"""Maximum number of values of cases that a message lists."""


# -- when parts run --------------------------------------------------------------------------------


def runs_in_order(program: Program, unknown: str = "there is no op for {}") -> bool:
    """Return whether all parts of a program run exactly once, in order, whenever it runs.

    Code that handles parts calls this, so that a new kind is refused until it is listed here;
    `unknown` is the message, as in `unknown_kind`.

    >>> runs_in_order(Sequence(Program())), runs_in_order(Repeat(1, Program()))
    (True, False)
    """
    if isinstance(program, Repeat | RepeatWhile | Loop | If | Switch):
        return False
    if program.children and not isinstance(program, Sequence | Block | Call):
        raise unknown_kind(program, unknown)
    return True


# -- arguments of functions that append to a sequence ----------------------------------------------


def check_appended(usage: str, graph: object, sequence: object) -> None:
    """Refuse invalid arguments of a function that appends to a sequence, before it does anything.

    `usage` is a call of the function, for messages.
    """
    check_graph(usage, graph)
    if isinstance(sequence, ComputeSet):
        raise ControlProgramError(
            f"{usage.partition('(')[0]}: compute set '{sequence.name}' is not a sequence",
            found="operations create their compute sets, one for each of their steps",
            fix="pass a Sequence; operations in a block of ops.together() share compute sets",
        )
    if not isinstance(sequence, Sequence):
        raise _is_not("sequence", usage, sequence)
    if sequence.used_at is not None:
        sequence.add(Sequence())  # refuses


def check_graph(usage: str, graph: object) -> None:
    """Refuse anything but a graph; `usage` is a call of the function, for messages."""
    if not isinstance(graph, Graph):
        raise _is_not("graph", usage, graph)


def _is_not(kind: str, usage: str, value: object) -> ControlProgramError:
    return ControlProgramError(
        f"{usage.partition('(')[0]}: {clipped(value, 60)} is not a {kind}",
        found=of_type(value),
        fix=usage,
    )
