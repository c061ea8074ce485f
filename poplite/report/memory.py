"""What the memory of tiles holds: by category, and when.

    always live        code, constants, variables that keep their values
    not always live    what shares room with what other steps need; the most counts

>>> used = PerTile.of(np.array([640, 320]))
>>> plan = Memory(used, PerTile.nothing(2), (Held("x", used, "variable", None, ""),), ())
>>> tile = plan.tiles()[0]
>>> tile.total.including_gaps, tile.category.variable.total, tile.always_live_bytes
(640, 640, 640)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from poplite.arrays.intervals_part import Int64
from poplite.report.lazy import LazySequence
from poplite.report.per_tile import PerTile
from poplite.report.tile_memory import MemoryTotal, MemoryVariable, TileMemory

Steps = tuple[tuple[int, int], ...]
"""First and last step of each stretch of steps."""


@dataclass(frozen=True, slots=True)
class Held:
    """Something that lies in the memory of some tiles.

    Attributes:
        name: of the variable, or what it is.
        bytes: of it on each tile.
        category: what kind of thing it is.
        steps: when it is needed; None where it is always live.
        at: the user's line; empty where there is none.
    """

    name: str
    bytes: PerTile
    category: str
    steps: Steps | None
    at: str

    def is_in(self, step: int) -> bool:
        """Tell whether it shares its room with others, and has it in a step."""
        return any(first <= step <= last for first, last in self.steps or ())


@dataclass(frozen=True, slots=True)
class MemoryStep:
    """A step of a program, as memory sees it: one that stands in several places is one.

    Attributes:
        program: the name of the program.
        name: which step it is.
        at: the user's line.
        most: bytes that are not always live in it, on the tile that has most of them.
        tile: that tile.
    """

    program: str
    name: str
    at: str
    most: int
    tile: int


@dataclass(frozen=True, slots=True)
class NotAlwaysLive:
    """What a tile needs in one step, beside what is always live.

    Attributes:
        bytes: of all of it.
        variables: what it is.
    """

    bytes: int
    variables: tuple[MemoryVariable, ...]


@dataclass(frozen=True, slots=True)
class LivenessStep:
    """What a step of a program needs, beside what is always live.

    Attributes:
        number: of the step.
        step: which it is.
        held: all that lies in memory.
    """

    number: int
    step: MemoryStep
    held: tuple[Held, ...] = field(repr=False)

    @property
    def program(self) -> str:
        """The name of the step."""
        return self.step.name

    def not_always_live_memory_for_tile(self, tile: int) -> NotAlwaysLive:
        """Return what a tile needs in the step, beside what is always live.

        Args:
            tile: its number.
        """
        found = _on_tile((each for each in self.held if each.is_in(self.number)), tile)
        return NotAlwaysLive(sum(each.bytes for each in found), found)


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of all tiles.

    Attributes:
        including_gaps: bytes that each tile needs, with the gaps between things.
        not_always_live: bytes of each tile that are not always live, in the step that needs most.
        held: all that lies in memory.
        steps: the steps of all programs, one program after the other.
    """

    including_gaps: PerTile
    not_always_live: PerTile
    held: tuple[Held, ...]
    steps: tuple[MemoryStep, ...]

    @property
    def always_live(self) -> PerTile:
        """Bytes that each tile needs all the time."""
        return self._sum(each for each in self.held if each.steps is None)

    @property
    def excluding_gaps(self) -> PerTile:
        """Bytes that each tile needs, without gaps."""
        return PerTile.of(self.always_live.array() + self.not_always_live.array())

    def not_always_live_in(self, step: int) -> PerTile:
        """Return the bytes that each tile needs in a step, beside what is always live.

        Args:
            step: its number.
        """
        return self._sum(each for each in self.held if each.is_in(step))

    def categories(self) -> dict[str, PerTile]:
        """Return the bytes of each kind of thing by name, as if nothing shared its room."""
        kinds = dict.fromkeys(each.category for each in self.held)
        return {kind: self._sum(h for h in self.held if h.category == kind) for kind in kinds}

    def tiles(self) -> Sequence[TileMemory]:
        """Return the memory of each tile."""
        gaps, beside = self.including_gaps.array(), self.not_always_live.array()
        always = self.always_live.array()

        def of_tile(tile: int) -> TileMemory:
            sizes = int(always[tile]), int(beside[tile])
            total = MemoryTotal(int(gaps[tile]), sum(sizes))
            return TileMemory(total, *sizes, lambda: self.variables(tile))

        return LazySequence(len(gaps), of_tile)

    def variables(self, tile: int) -> tuple[MemoryVariable, ...]:
        """Return what lies on a tile.

        Args:
            tile: its number.
        """
        return _on_tile(self.held, tile)

    def liveness(self) -> Sequence[LivenessStep]:
        """Return what each step needs, beside what is always live."""
        return LazySequence(
            len(self.steps), lambda number: LivenessStep(number, self.steps[number], self.held)
        )

    def num_over(self, limit: int) -> int:
        """Return how many tiles need more than a number of bytes.

        Args:
            limit: that number.
        """
        return int((self.including_gaps.array() > limit).sum())

    def _sum(self, some: Iterable[Held]) -> PerTile:
        total: Int64 = np.zeros(len(self.including_gaps), np.int64)
        for each in some:
            total[each.bytes.tiles.array()] += each.bytes.values.array()
        return PerTile.of(total)


def _on_tile(some: Iterable[Held], tile: int) -> tuple[MemoryVariable, ...]:
    sized = ((each, each.bytes[tile]) for each in some)
    return tuple(
        MemoryVariable(each.name, size, each.category, each.steps is None, each.at)
        for each, size in sized
        if size
    )
