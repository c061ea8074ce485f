"""What all programs have in common."""

from __future__ import annotations

from dataclasses import dataclass, field

from poplite.source import SourceLocation, here


# Compared by identity: trees share sub-trees, and comparing those by content would visit
# each of them once for every path that leads to it.
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Program:
    """A program that does nothing; base of the others.

    Attributes:
        location: the user's line that made it.
        num_steps: leaves under it, each place counted; the body of a Repeat counts once.

    >>> Program()
    <Program empty>
    """

    location: SourceLocation = field(init=False)
    num_steps: int = field(init=False)

    def __post_init__(self) -> None:
        set_once(self, num_steps=0)

    @property
    def children(self) -> tuple[Program, ...]:
        """The programs directly under it, in order."""
        return ()

    @property
    def is_empty(self) -> bool:
        """Whether it does nothing."""
        return self.num_steps == 0

    def __repr__(self) -> str:
        return "<Program empty>"

    def _repr_html_(self) -> str:
        from poplite.viz.notebook_graph import program_cell

        return program_cell(self)

    def isEmpty(self) -> bool:
        """C++ spelling of `is_empty`."""
        return self.is_empty


def set_once(program: Program, **attributes: object) -> None:
    """Fill in a frozen program while it is being made; adds the user's location."""
    object.__setattr__(program, "location", here())
    for name, value in attributes.items():
        object.__setattr__(program, name, value)
