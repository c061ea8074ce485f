"""Programs that arrange others: one after the other, or again and again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import index as whole_number

from poplite.errors import ControlProgramError
from poplite.program.base import Program, set_once
from poplite.source import here
from poplite.words import clipped, counted, fitted


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Sequence(Program):
    """Programs that run in order.

    Args:
        *programs: the programs, or one list of them.
        name: for messages and drawings.

    Raises:
        ControlProgramError: when one of them is no program.

    >>> Sequence(Program(), Sequence(), name="main")
    <Sequence 'main' 0 steps>
    """

    programs: tuple[Program, ...]
    name: str

    def __init__(self, *programs: Program | Iterable[Program], name: str = "") -> None:
        if len(programs) == 1 and not isinstance(programs[0], Program):
            listed = programs[0]
            programs = tuple(listed) if isinstance(listed, Iterable) else programs
        children = tuple(_program(p, f"Sequence, program {i}") for i, p in enumerate(programs))
        steps = sum(child.num_steps for child in children)
        set_once(self, programs=children, name=name, num_steps=steps)

    @property
    def children(self) -> tuple[Program, ...]:
        """The programs, in order."""
        return self.programs

    def __repr__(self) -> str:
        steps = counted(self.num_steps, "step")
        return (
            fitted(f"<Sequence '{{}}' {steps}>", self.name) if self.name else f"<Sequence {steps}>"
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Repeat(Program):
    """A program that runs a fixed number of times.

    Args:
        count: how often; 0 is never.
        body: what runs.

    Raises:
        ControlProgramError: when `count` is no whole number from 0, or `body` no program.

    >>> Repeat(100, Sequence())
    <Repeat 100 times, 0 steps>
    """

    count: int
    body: Program

    def __init__(self, count: int, body: Program) -> None:
        try:
            times = whole_number(count)
        except TypeError:
            times = -1
        if not 0 <= times < 1 << 63:
            raise ControlProgramError(
                f"Repeat: {clipped(count)} times, but a whole number from 0 is needed",
                at=here(),
                fix="Repeat(100, body)",
            )
        child = _program(body, "Repeat, body")
        set_once(self, count=times, body=child, num_steps=child.num_steps)

    @property
    def children(self) -> tuple[Program, ...]:
        """The body."""
        return (self.body,)

    @property
    def is_empty(self) -> bool:
        """Whether it does nothing."""
        return self.count == 0 or self.num_steps == 0

    def __repr__(self) -> str:
        return f"<Repeat {counted(self.count, 'time')}, {counted(self.num_steps, 'step')}>"


def _program(value: object, where: str) -> Program:
    if isinstance(value, Program):
        return value
    raise ControlProgramError(
        f"{where}: {clipped(value, 80)} is no program",
        at=here(),
        fix="wrap a compute set in Execute(cs); build sequences as Sequence(a, b)",
    )
