"""Where elements that nothing has written come from: back through the Copies that moved them.

b                   nothing has written it
Copy(b, r)          so r is unwritten, too
Copy(r, v)          and v: whoever reads v is to hear of b
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poplite.executable.executable import Executable
from poplite.executable.layout import StoredVariable
from poplite.executable.step import CopyStep
from poplite.simulator.run.field_elements import element_name, moved_from
from poplite.simulator.strict.shadow import Shadow


class Origin(NamedTuple):
    """An unwritten element that was copied to where it is missed.

    Attributes:
        name: the element, as the graph calls it.
        variable: the one that holds it.
        through: the elements that it was copied to, the last one first.
    """

    name: str
    variable: StoredVariable
    through: tuple[str, ...]


class UnwrittenCopies:
    """The Copies that moved unwritten elements, in the order of their last times."""

    def __init__(self, executable: Executable, shadow: Shadow) -> None:
        self._executable, self._shadow = executable, shadow
        self._steps: dict[int, None] = {}

    def note(self, number: int) -> None:
        """Note that a step moved unwritten elements just now."""
        self._steps.pop(number, None)
        self._steps[number] = None

    def origin(self, position: int) -> Origin:
        """Return where an unwritten element comes from, by its first byte.

        It is looked for up to what has been written since, or what the host's blocks held.
        """
        layout, passed = self._executable.layout, [position]
        end = layout.end_of_variables(len(layout.variables))
        for number in reversed(self._steps):
            step = self._executable.steps[number]
            assert isinstance(step, CopyStep)
            source = int(moved_from(step.moves, np.array([passed[-1]]))[0])
            if source < 0:
                continue
            if source >= end or self._shadow.holds(source, 1):
                break
            passed.append(source)
        variables = [layout.variable_at(each) for each in passed]
        *through, name = [element_name(variable, index) for variable, index in variables]
        return Origin(name, variables[-1][0], tuple(through))
