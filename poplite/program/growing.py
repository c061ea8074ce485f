"""Programs that parts may be added to, until they become part of another program.

From then on others count their steps, and what has been checked must stay what it was.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from poplite.errors import ControlProgramError, GraphRecursionError
from poplite.program.base import Program
from poplite.program.function import functions_between
from poplite.source import SourceLocation, here


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
        """Make a program part of this one, which nobody else uses yet.

        Args:
            added: the part.
            what: what it is called in messages.

        Raises:
            GraphRecursionError: when the part runs this very program.
            ControlProgramError: when this program is part of something.
        """
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
                at=here(),
                found=f"by way of the functions {names}" if path else f"{what} is {added!r}",
                fix="a program cannot contain itself: loop with Repeat or RepeatWhileTrue",
            )
        return ControlProgramError(
            f"{self}: {what} is added after it became part of a program or an engine",
            at=here(),
            found=f"used at {self.used_at}",
            fix="add everything first",
        )
