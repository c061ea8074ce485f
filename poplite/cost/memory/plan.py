"""The memory of tiles: what lies there, when, and at which addresses.

    always live      code, stacks, constants, vertices, and variables that keep their values
    not always live  variables and buffers that are needed only in some steps: they share the rest

    tile 3   |code|stack|vertices|weights|   scratch, steps 2-5   |
                                         | in, 0-1 | out, 1-4 |

Bytes do not include the gaps between things unless a name says so.  They are those of one replica.

Source of the terms: PopVision analysis library, "Memory".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Series, Steps
from poplite.cost.memory.addresses import placed, placing_of
from poplite.cost.spread import Spread
from poplite.source import SourceLocation

Category = Literal[
    "variable",
    "constant",
    "message",
    "rearrangement",
    "global_message",
    "host_message",
    "vertex_instance_state",
    "vertex_field_data",
    "vector_list_descriptor",
    "control_table",
    "control_code",
    "vertex_code",
    "internal_exchange_code",
    "global_exchange_code",
    "host_exchange_code",
    "stack",
]
"""What something in memory is: elements of tensors; buffers of a step that receive or rearrange
data; vertices; code; stacks."""

CATEGORIES: tuple[Category, ...] = get_args(Category)

NO_STEP = -1
"""Stands for the peak step of a tile on which everything is always live."""


@dataclass(slots=True, eq=False)  # frozen ones take twice as long to make, and there are many
class PlannedItem:
    """Something that lies in the memory of some tiles.

    Attributes:
        name: the name of the variable, or what the thing is.
        category: what kind of thing it is.
        bytes: its bytes on each tile.
        align: bytes that its address is a multiple of.
        interleaved: whether it is in interleaved memory.
        steps: the steps in which it is needed, ascending, as positions in `MemoryPlan.steps`; None
            where it is always live.
        why: why it is always live; empty where it is not.
        at: the user's line that made it; None where there is none.
        shape: of a variable or constant; None of other things.
        element_type: of its elements, such as "FLOAT"; empty for other things.
    """

    name: str
    category: Category
    bytes: Spread
    align: int
    interleaved: bool = False
    steps: Series | None = None
    why: str = ""
    at: SourceLocation | None = None
    shape: tuple[int, ...] | None = None
    element_type: str = ""


@dataclass(slots=True, eq=False)  # as of PlannedItem
class LiveStep:
    """A step of a program; a step that stands in several places of the program comes once.

    Attributes:
        program: the name of the program.
        name: the name of the step, as in messages.
        at: the user's line.
        most: bytes that are live in the step but not always, on the tile with the most of them.
        tile: that tile.
        number: of the step in its program, from 1, where it stands first; 0 in files that were
            written without.
    """

    program: str
    name: str
    at: SourceLocation
    most: int
    tile: int
    number: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class OnTile:
    """Something that lies in the memory of one tile.

    Attributes:
        held: the thing.
        bytes: its bytes there.
        address: where it begins, counted from the beginning of the tile's memory.
        element: the memory element in which it begins.
    """

    held: PlannedItem
    bytes: int
    address: int
    element: int


@dataclass(frozen=True, slots=True, eq=False)
class MemoryPlan:
    """What the memory of tiles holds.

    Attributes:
        num_tiles: how many tiles there are.
        tile_bytes: bytes of a tile's memory.
        element_bytes: bytes of a memory element.
        interleaved_begin: the address at which interleaved memory begins; 0 where a tile's memory
            ends before it.
        held: everything that lies there, starting with what is always live.
        steps: the steps of all programs, one program after the other.
        peak: the most bytes of each tile that are live in one step but not always.
        peak_step: int64[num_tiles], the first step that has this peak; `NO_STEP` where there is
            none.
        including_gaps: the bytes of each tile, with the gaps between things.
    """

    num_tiles: int
    tile_bytes: int
    element_bytes: int
    interleaved_begin: int
    held: tuple[PlannedItem, ...]
    steps: tuple[LiveStep, ...]
    peak: Spread
    peak_step: Int64
    including_gaps: Spread

    def excluding_gaps(self) -> Int64:
        """Return int64[num_tiles], bytes that are always live, and the peak of the others."""
        total = self.peak.dense(self.num_tiles)
        for held in self.held:
            if held.steps is None:
                held.bytes.add_to(total)
        return total

    def with_gaps(self) -> Int64:
        """Return int64[num_tiles], bytes that each tile needs, with gaps."""
        return self.including_gaps.dense(self.num_tiles)

    def on_tile(self, tile: int) -> tuple[OnTile, ...]:
        """Return everything that lies on a tile, by ascending address."""
        here = [(held, size) for held in self.held if (size := held.bytes.at(tile))]
        placing = placing_of([held for held, _ in here], self.interleaved_begin, self.tile_bytes)
        placed = [here[number] for number in placing.order.tolist()]
        sizes = np.array([size for _, size in placed], np.int64)
        addresses, _ = placing.addresses(sizes, [len(placed)])
        found = [
            OnTile(held, size, address, address // self.element_bytes)
            for (held, size), address in zip(placed, addresses.tolist(), strict=True)
        ]
        return tuple(sorted(found, key=lambda each: each.address))

    def addresses(self) -> list[Spread]:
        """Return where each thing of `held` begins on each tile; 0 where it is not there."""
        where = placed(self.held, self.num_tiles, self.interleaved_begin, self.tile_bytes)
        return where.of_each(len(self.held))

    def live_in(self, step: int, tile: int) -> tuple[tuple[PlannedItem, int], ...]:
        """Return the things that a tile holds in a step but not always, and their bytes there."""
        found = [
            (held, held.bytes.at(tile))
            for held in self.held
            if any(first <= step <= last for first, last in stretches(held.steps))
        ]
        return tuple((held, size) for held, size in found if size)

    @property
    def fullest(self) -> int:
        """The tile that needs the most bytes; the first one of several."""
        return int(self.with_gaps().argmax())

    @property
    def overflowing(self) -> Int64:
        """int64[n], the tiles that need more bytes than they have."""
        return np.flatnonzero(self.with_gaps() > self.tile_bytes)


def stretches(steps: Series | None) -> tuple[tuple[int, int], ...]:
    """Return the first and the last of each stretch of consecutive steps; none for no steps.

    >>> from poplite.arrays.series import compact
    >>> stretches(compact(np.array([0, 1, 2, 5])))
    ((0, 2), (5, 5))
    """
    if steps is None:
        return ()
    if isinstance(steps, Steps) and (steps.step == 1 or steps.count == 1):
        return ((steps.first, steps.first + steps.count - 1),)
    numbers = steps.array()
    jumps = np.flatnonzero(np.diff(numbers) > 1)
    ends = numbers[np.append(0, jumps + 1)], numbers[np.append(jumps, -1)]
    return tuple(zip(*(side.tolist() for side in ends), strict=True))
