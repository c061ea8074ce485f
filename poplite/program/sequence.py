"""Programs that run one after the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from poplite.program.base import Program, child, set_once
from poplite.words import counted, fitted


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
        children = tuple(child(p, f"Sequence, program {i}") for i, p in enumerate(programs))
        steps, is_empty = sum(p.num_steps for p in children), all(p.is_empty for p in children)
        set_once(self, programs=children, name=name, num_steps=steps, is_empty=is_empty)

    @property
    def children(self) -> tuple[Program, ...]:
        """The programs, in order."""
        return self.programs

    def __repr__(self) -> str:
        steps = counted(self.num_steps, "step")
        return (
            fitted(f"<Sequence '{{}}' {steps}>", self.name) if self.name else f"<Sequence {steps}>"
        )
