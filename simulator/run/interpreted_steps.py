"""Compute sets with interpreted vertices: all vertices, or those that the user asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from poplite.executable import opcodes as op
from poplite.executable.executable import Executable
from poplite.executable.moves import Moves
from poplite.executable.opcodes import Code
from poplite.executable.step import ComputeStep, Vertices
from poplite.simulator.run.arena import Arena
from poplite.simulator.run.interpreted_vertices import Compute, VertexFault, run_vertices
from poplite.simulator.run.vertex_runs import VertexRun
from poplite.vertex.vertex import Vertex


class InterpretedSteps:
    """Runs the interpreted vertices of compute sets; `classes` are those of each step."""

    def __init__(
        self,
        executable: Executable,
        arena: Arena,
        computes: Mapping[type[Vertex], Compute],
        classes: Sequence[Collection[type[Vertex]]],
    ) -> None:
        self.classes = tuple(frozenset(of_step) for of_step in classes)
        self._arena, self._computes = arena, computes
        self._groups: dict[int, list[Vertices]] = {
            number: [group for group in step.groups if group.cls in classes[number]]
            for number, step in enumerate(executable.steps)
            if isinstance(step, ComputeStep) and classes[number]
        }
        self._returned = [[True] * len(arena.parts) for _ in executable.steps]
        self._known: dict[tuple[int, int], dict[int, VertexRun]] | None = None

    def __iter__(self) -> Iterator[int]:
        """Yield the steps that have such vertices."""
        return iter(self._groups)

    def others(
        self, number: int, parts: Sequence[Moves | Vertices]
    ) -> tuple[Moves | Vertices, ...]:
        """Return the parts of a step that Python does not run."""
        in_python = self.classes[number]
        return tuple(p for p in parts if isinstance(p, Moves) or p.cls not in in_python)

    def returned(self, number: int) -> list[bool]:
        """Tell for each replica whether no interpreted vertex of a step returned false."""
        return list(self._returned[number])

    def set_returned(self, number: int, returned: Sequence[bool]) -> None:
        """Set what the vertices of a step returned, for each replica."""
        self._returned[number] = list(returned)

    def remember(self, code: Code) -> None:
        """Keep what vertices do in a launch of strict checks, which may run them once more.

        `code` is about to run; it begins with the vertices where they run once more.
        """
        is_first = int(code.ops[0, 2]) not in (op.COMPUTE, op.DEFINED)
        self._known = {} if is_first or self._known is None else self._known

    def forget(self) -> None:
        """Keep nothing."""
        self._known = None

    def run(self, number: int, watch: Callable[[], None]) -> VertexFault | None:
        """Run the interpreted vertices of a step; return the first fault by replica and vertex.

        Vertices behind the fault may not have run.  What `watch` raises ends the run.
        """
        first: VertexFault | None = None
        for replica, memory in enumerate(self._arena.parts):
            # Groups are by class, so a later group may hold an earlier vertex.
            for place, group in enumerate(self._groups[number]):
                known = (
                    None if self._known is None else self._known.setdefault((replica, place), {})
                )
                try:
                    self._returned[number][replica] &= run_vertices(
                        group,
                        memory,
                        self._computes[group.cls],
                        before=None if first is None else first.number,
                        watch=watch,
                        floats=self._arena.floats,
                        known=known,
                        log=None if known is None else self._arena.accesses,
                    )
                except VertexFault as fault:
                    fault.replica = replica
                    first = fault
            if first is not None:
                return first
        return None
