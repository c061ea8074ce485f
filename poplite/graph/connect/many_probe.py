"""The vertex that stands for many while they are checked: rules for one, faults of all.

probe.refuse([3, 7, 9], check)      check(3) raises, for vertex 3; 7 and 9 are named below
probe.check_each(check)             the same of those that the rule refuses
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn

from poplite.errors import SHOWN_FAULTS, PopliteError
from poplite.graph.compute_sets.compute_set import ComputeSet, VertexInstance
from poplite.graph.compute_sets.vertex_tiles import VertexTiles
from poplite.source import SourceLocation
from poplite.vertex.vertex import Vertex

if TYPE_CHECKING:
    from poplite.arrays.intervals import Int64

Rule = Callable[[int], None]
"""Takes the position of a vertex among those that are added, and raises what is wrong with it."""


class Probe:
    """One of many vertices that are being added: the one a message would name.

    Args:
        compute_set: where they go.
        vertex_class: their class.
        at: the user's line.

    Attributes:
        vertex: what stands for the one.
        at: the user's line.
        count: how many there are, once it is known.
        tiles: where they run, once it is known.
    """

    def __init__(
        self, compute_set: ComputeSet, vertex_class: type[Vertex], at: SourceLocation
    ) -> None:
        self.vertex, self.at = VertexInstance(compute_set, vertex_class, at), at
        self.graph, self._first = compute_set.graph, self.vertex.index
        self.count = 0
        self.tiles: VertexTiles | None = None

    @property
    def name(self) -> str:
        """Name of the class."""
        return self.vertex.vertex_class.__name__

    @property
    def names(self) -> str:
        """The class and the numbers of all."""
        return f"{self.name} {self._first} to {self._first + self.count - 1}"

    def move_to(self, k: int) -> None:
        """Stand for vertex `k` from now on."""
        self.vertex.index = self._first + k
        if self.tiles is not None and self.count:
            self.vertex.tile = self.tiles.at(k)

    def check_each(self, check: Rule) -> None:
        """Apply a rule to all vertices."""
        faulty = []
        for k in range(self.count):
            try:
                check(k)
            except PopliteError:
                faulty.append(k)
        self.refuse(faulty, check)

    def refuse(self, faulty: Sequence[int] | Int64, check: Rule) -> None:
        """Raise for the first of some vertices, and name the others; none of them is no fault.

        Args:
            faulty: positions of vertices at fault, rising.
            check: the rule, which raises for all of them.
        """
        if not len(faulty):
            return
        self.move_to(int(faulty[0]))
        try:
            check(int(faulty[0]))
        except PopliteError as error:
            self._raise(error, faulty)
        raise AssertionError(f"the rule for one vertex passes {self.vertex}")

    def _raise(self, error: PopliteError, faulty: Sequence[int] | Int64) -> NoReturn:
        others = [self._first + int(k) for k in faulty[1:SHOWN_FAULTS]]
        if not others:
            raise error
        more = len(faulty) - 1 - len(others)
        names = ", ".join(map(str, others)) + (f" and {more:,} more" if more else "")
        raise type(error)(
            error.what,
            at=error.at,
            found=f"{error.found}\nthe same of {self.name} {names}".lstrip("\n"),
            fix=error.fix,
        ) from None
