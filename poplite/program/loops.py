"""Programs that run again and again: a number of times, as a scalar says, or without end.

Repeat(100, step)                         100 times
RepeatWhileTrue(test, go_on, step)        test; while go_on: step, test
RepeatWhileFalse(test, done, step)        test; while not done: step, test
Loop(step)                                until engine.stop(), or an Abort in it
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import index as whole_number
from typing import ClassVar

from poplite.errors import ControlProgramError
from poplite.graph.tensor.tensor import Tensor
from poplite.program.base import Program, child, deciding, declared, parts, set_once
from poplite.text import amount, clipped, fitted, of_type

MOST_TIMES = 2**32 - 1
"""The largest number of a Repeat, which Poplar keeps in 32 bits."""


@declared
@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Repeat(Program):
    """A program that runs a fixed number of times.

    Args:
        count: how often; 0 is never.
        body: what runs.
        name: as in Poplar; it has no effect.

    Raises:
        ControlProgramError: when `count` is no whole number from 0 to 2**32 - 1, or `body` no
            program.

    >>> Repeat(100, Program())
    <Repeat 100 times, 0 steps>
    """

    _block_instead: ClassVar[str] = "ops.repeat(count)"
    count: int
    body: Program

    def __init__(self, count: int, body: Program, name: str = "") -> None:
        given: object = count
        try:
            times = whole_number(count)
        except TypeError:
            times = -1
        if not 0 <= times <= MOST_TIMES:
            raise ControlProgramError(
                f"Repeat: {clipped(count)} times, but a whole number from 0 to 2**32 - 1 is needed",
                found=of_type(count),
                fix="counted_loop(graph, 0, count, 1, body) reads how often from a tensor"
                if isinstance(given, Tensor)
                else "Repeat(2**16, Repeat(2**16, body)), one inside the other"
                if times > MOST_TIMES
                else "Repeat(100, body)",
            )
        part = child(body, "Repeat, body")
        is_empty = times == 0 or part.is_empty
        set_once(self, count=times, body=part, num_steps=part.num_steps, is_empty=is_empty)

    @property
    def children(self) -> tuple[Program, ...]:
        """The body."""
        return (self.body,)

    def __str__(self) -> str:
        return f"Repeat {amount(self.count, 'time')}"

    def __repr__(self) -> str:
        return f"<{self}, {amount(self.num_steps, 'step')}>"


@declared
@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Loop(Program):
    """A program that runs again and again, until the run is ended.

    What ends it is `engine.stop()`, an `Abort` or `AbortOnCondition` in it, or an exception.

    Args:
        body: what runs.
        name: as in Poplar; it has no effect.

    Raises:
        ControlProgramError: when `body` is no program.

    >>> Loop(Program())
    <Loop 0 steps>
    """

    body: Program

    def __init__(self, body: Program, name: str = "") -> None:
        part = child(body, "Loop, body")
        # Not empty even when the body is: it does not end.
        set_once(self, body=part, num_steps=part.num_steps, is_empty=False)

    @property
    def children(self) -> tuple[Program, ...]:
        """The body."""
        return (self.body,)

    def __str__(self) -> str:
        return "Loop"

    def __repr__(self) -> str:
        return f"<Loop {amount(self.num_steps, 'step')}>"


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class RepeatWhile(Program):
    """Base of the loops that a scalar ends.

    `condition` runs, then the predicate is read; where that ends the loop, `body` does not run
    any more.  So `condition` runs at least once, `body` maybe never.

    Attributes:
        times: how often the body runs, in a loop that is made to count; None where data decide.
        goes_on_if: what the predicate must be for the body to run.
    """

    _block_instead: ClassVar[str] = "ops.while_(condition)"
    condition: Program
    predicate: Tensor
    body: Program
    times: int | None

    goes_on_if: ClassVar[bool]

    def __init__(
        self, condition: Program, predicate: Tensor, body: Program, name: str = ""
    ) -> None:
        kind = type(self).__name__
        scalar = deciding(predicate, kind, "predicate")
        first, second = parts([(condition, f"{kind}, condition"), (body, f"{kind}, body")])
        set_once(
            self,
            condition=first,
            predicate=scalar,
            body=second,
            times=None,
            num_steps=first.num_steps + second.num_steps,
            is_empty=False,  # a loop that does nothing may still not end
        )

    @property
    def children(self) -> tuple[Program, ...]:
        """Condition and body."""
        return self.condition, self.body

    @property
    def decided_by(self) -> Tensor:
        """The predicate."""
        return self.predicate

    def __str__(self) -> str:
        return f"{type(self).__name__} '{self.predicate.name}'"

    def __repr__(self) -> str:
        steps = amount(self.num_steps, "step")
        return fitted(f"<{type(self).__name__} '{{}}', {steps}>", self.predicate.name)


@declared
class RepeatWhileTrue(RepeatWhile):
    """A program that runs while a scalar is true, which another program sets before each time.

    Args:
        condition: what runs before the predicate is read, each time; at least once.
        predicate: one element of BOOL, INT or UNSIGNED_INT, true when it is not 0.
        body: what runs as long as it is true; maybe never.
        name: as in Poplar; it has no effect.

    Raises:
        ControlProgramError: when `condition` or `body` is no program, or the predicate not one
            element.
        ElementTypeError: when the predicate is no tensor of these types.

    >>> from poplite.graph import Graph
    >>> go_on = Graph().add_variable("bool", (), "go_on")
    >>> RepeatWhileTrue(Program(), go_on, Program())
    <RepeatWhileTrue 'go_on', 0 steps>
    """

    __slots__ = ()
    goes_on_if = True


@declared
class RepeatWhileFalse(RepeatWhile):
    """A program that runs until a scalar is true, which another program sets before each time.

    Args:
        condition: what runs before the predicate is read, each time; at least once.
        predicate: one element of BOOL, INT or UNSIGNED_INT, true when it is not 0.
        body: what runs as long as it is false; maybe never.
        name: as in Poplar; it has no effect.

    Raises:
        ControlProgramError: when `condition` or `body` is no program, or the predicate not one
            element.
        ElementTypeError: when the predicate is no tensor of these types.

    >>> from poplite.graph import Graph
    >>> done = Graph().add_variable("bool", (), "done")
    >>> RepeatWhileFalse(Program(), done, Program())
    <RepeatWhileFalse 'done', 0 steps>
    """

    __slots__ = ()
    goes_on_if = False


def with_times(loop: RepeatWhile, times: int) -> RepeatWhile:
    """Note how often the body of a loop runs, and return the loop."""
    object.__setattr__(loop, "times", times)
    return loop
