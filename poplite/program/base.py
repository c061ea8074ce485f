"""What all programs have in common."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from poplite.display import Displayed
from poplite.errors import ControlProgramError
from poplite.source import SourceLocation, here
from poplite.text import clipped, of_type

if TYPE_CHECKING:
    from poplite.graph.tensor.tensor import Tensor


# Compared by identity: trees share sub-trees, and comparing those by content would visit
# each of them once for every path that leads to it.
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Program(Displayed):
    """A program that does nothing; base of the others.

    Attributes:
        location: the user's line that made it.
        num_steps: leaves under it, each place counted, whether and how often they run or not.
        is_empty: whether it does nothing.

    >>> Program()
    <Program empty>
    """

    location: SourceLocation = field(init=False)
    num_steps: int = field(init=False)
    is_empty: bool = field(init=False)

    def __post_init__(self) -> None:
        set_once(self, num_steps=0)

    @property
    def children(self) -> tuple[Program, ...]:
        """The programs directly under it, in order."""
        return ()

    @property
    def decided_by(self) -> Tensor | None:
        """The scalar that decides which of its children runs next, if there is one."""
        return None

    @property
    def reads(self) -> tuple[Tensor, ...]:
        """Tensors that it reads itself, without those that vertices read."""
        return () if self.decided_by is None else (self.decided_by,)

    @property
    def writes(self) -> tuple[Tensor, ...]:
        """Tensors that it writes itself, without those that vertices write."""
        return ()

    def mark_used(self, at: SourceLocation) -> None:
        """Note that it became part of another program, so that it does not change any more."""

    def __repr__(self) -> str:
        return "<Program empty>"

    def isEmpty(self) -> bool:
        """C++ spelling of `is_empty`."""
        return self.is_empty


def set_once(program: Program, /, **attributes: object) -> None:
    """Fill in a frozen program while it is being made; adds the user's location."""
    object.__setattr__(program, "location", here())
    for name, value in {"is_empty": not attributes["num_steps"], **attributes}.items():
        object.__setattr__(program, name, value)


def child(value: object, where: str) -> Program:
    """Return a program that becomes part of another, and cannot change from then on.

    Args:
        value: what the user gave.
        where: which call and part of it, for the message.

    Raises:
        ControlProgramError: when it is no program.

    >>> child(Program(), "Repeat, body")
    <Program empty>
    """
    return parts([(value, where)])[0]


def parts(given: Iterable[tuple[object, str]]) -> list[Program]:
    """Return programs that become part of another; none of them does where one is no program.

    Args:
        given: what the user gave, each with the call and part of it, for the message.

    Raises:
        ControlProgramError: when one of them is no program.

    >>> parts([(Program(), "If, true body"), (Program(), "If, false body")])
    [<Program empty>, <Program empty>]
    """
    programs = [checked(value, where) for value, where in given]
    at = here()
    for program in programs:
        program.mark_used(at)
    return programs


def checked(value: object, where: str) -> Program:
    """Return what the user gave, if it is a program.

    Args:
        value: what the user gave.
        where: which call and part of it, for the message.

    Raises:
        ControlProgramError: when it is no program.

    >>> checked(Program(), "Repeat, body")
    <Program empty>
    """
    if isinstance(value, Program):
        return value
    raise ControlProgramError(
        f"{where}: {clipped(value, 80)} is no program",
        at=here(),
        found=of_type(value),
        fix="wrap a compute set in Execute(cs); build sequences as Sequence(a, b)",
    )
