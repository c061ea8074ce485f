"""Detect vertices that would never end with different values in unwritten elements.

Only a `while` loop may run forever, and compiled code cannot be stopped in such a loop::

    while i != self.n: i += 2      ends for n = 0, the value in memory, but never for n = 75

Before vertices with such loops run with different values, those that read any of the changed
elements run in Python, which counts iterations. The vertices of the library end for all values.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from poplite.executable.steps import ComputeStep
from poplite.simulator.run.arena import Arena, Floats
from poplite.simulator.run.binding import is_of_library
from poplite.simulator.run.interpreted_vertices import Values, described
from poplite.simulator.run.touched import numbers_and_rows
from poplite.vertex.compute import InterpretedSelf, TooManyTurns, bounded, flow_of
from poplite.vertex.vertex import MultiVertex, Vertex

Place = tuple[int, int]
"""The replica of a vertex, and its position in the compute set."""


class WhileLoops:
    """The vertices of a compute set that may never end."""

    def __init__(self, step: ComputeStep, arena: Arena) -> None:
        self._arena = arena
        self._groups = [
            (group, numbers_and_rows(group, with_state=True))
            for group in step.groups
            if flow_of(group.cls).may_not_end and not is_of_library(group.cls)
        ]
        self.classes = {group.cls for group, _ in self._groups}

    def first_endless(self, places: Collection[Place]) -> Place | None:
        """Run the vertices at `places`; return the first with too many iterations, if any."""
        for replica, memory in enumerate(self._arena.parts):
            for group, rows in self._groups:
                for number, values in described(group, memory, rows=rows):
                    place = replica, number
                    if place in places and _goes_on(group.cls, values, number, self._arena.floats):
                        return place
        return None


def _goes_on(cls: type[Vertex], values: Values, number: int, floats: Floats) -> bool:
    """Run a vertex; return whether it makes too many iterations."""
    form, turns = bounded(cls)
    turns.reset()
    try:
        with np.errstate(all="ignore"):
            vertex = InterpretedSelf(cls, values, floats.stores(number, 0))
            if not issubclass(cls, MultiVertex):
                form(vertex)
                return False
            for worker in range(vertex.num_workers):
                form(InterpretedSelf(cls, values, floats.stores(number, worker)), worker)
    except TooManyTurns:
        return True
    except Exception:
        return False  # the compiled form also stops
    return False
