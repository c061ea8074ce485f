"""Where elements that nothing has written come from: back through the Copies that moved them.

b                   nothing has written it
Copy(b, r)          so r is unwritten, too
Copy(r, v)          and v: whoever reads v is to hear of b

The blocks of streams and host functions are followed like variables, and not named.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from poplite.executable.executable import Executable
from poplite.executable.layout import StoredVariable
from poplite.executable.step import CopyStep
from poplite.simulator.run.field_elements import element_name, moved_from
from poplite.simulator.strict.shadow import Shadow
from poplite.text import amount

Integers = npt.NDArray[np.int64]


class CopyOrigin(NamedTuple):
    """An unwritten element that was copied to where it is missed.

    Attributes:
        name: the element, as the graph calls it.
        variable: the one that holds it.
        through: the elements that it was copied to, the last one first.
    """

    name: str
    variable: StoredVariable
    through: tuple[str, ...]

    @property
    def made(self) -> str:
        """Where its variable was made, in words."""
        return f"'{self.variable.name}' was made at {self.variable.location}"

    @property
    def copied(self) -> str:
        """What it was copied from, in words; none where it was not copied."""
        if not self.through:
            return ""
        between = [*reversed(self.through[1:])]
        several = "" if len(between) < 4 else f" and {amount(len(between) - 3, 'more element')}"
        via = f" by way of {', '.join(between[:3])}{several}" if between else ""
        return f", copied from {self.name}{via}"


class UnwrittenCopies:
    """The Copies that moved unwritten elements, in the order of their last times."""

    def __init__(self, executable: Executable, shadow: Shadow) -> None:
        self._executable, self._shadow = executable, shadow
        self._steps: dict[int, None] = {}

    def note(self, number: int) -> None:
        """Note that a step moved unwritten elements just now."""
        self._steps.pop(number, None)
        self._steps[number] = None

    def origin(self, position: int) -> CopyOrigin:
        """Return where an unwritten element comes from, by its first byte.

        It is looked for up to what has been written since, or what the host's blocks held.
        """
        layout = self._executable.layout
        passed = [each for (each,) in self._passed(np.array([position]))]
        end = layout.end_of_variables(len(layout.variables))
        # In a damaged file, vertices may read what lies behind all variables.
        inside = [each for each in dict.fromkeys(passed) if each < end] or [position]
        variables = [layout.variable_at(each) for each in inside]
        *through, name = [element_name(variable, index) for variable, index in variables]
        return CopyOrigin(name, variables[-1][0], tuple(through))

    def origins(self, positions: Integers) -> list[CopyOrigin]:
        """Return one element of each variable that unwritten elements, by first bytes, are of.

        These are in the order in which the elements miss them. Of blocks that no variable was
        copied to there are none.
        """
        *_, last = self._passed(positions)
        owners, first = np.unique(self._executable.layout.owners(last), return_index=True)
        return [self.origin(int(positions[each])) for each in sorted(first[owners >= 0])]

    def _passed(self, positions: Integers) -> Iterator[Integers]:
        """Yield where unwritten elements were, as they are followed back by their first bytes."""
        layout = self._executable.layout
        end = layout.end_of_variables(len(layout.variables))
        is_followed = np.ones(len(positions), np.bool_)
        yield positions
        for number in reversed(self._steps):
            step = self._executable.steps[number]
            assert isinstance(step, CopyStep)
            source = moved_from(step.moves, positions)
            is_moved = is_followed & (source >= 0)
            if not is_moved.any():
                continue
            within = np.minimum(source, end - 1)
            is_held = np.logical_and.reduce([part[within] != 0 for part in self._shadow.parts])
            is_followed &= ~is_moved | ((source < end) & ~is_held)
            positions = np.where(is_moved & is_followed, source, positions)
            yield positions
