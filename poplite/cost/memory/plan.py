"""The memory of tiles: what lies there, when, and at which addresses.

    always live      code, stack, constants, vertices, and the variables whose values are kept
    not always live  variables and buffers that are needed in some steps: they share the rest

    tile 3   |code|stack|vertices|weights|   scratch, steps 2-5   |
                                         | in, 0-1 | out, 1-4 |

Bytes are told without the gaps between things unless a name says otherwise.  Memory is counted for
one replica.

Source of the words: PopVision analysis library, "Memory".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Series
from poplite.cost.memory.allocation import Placing
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
"""What something in memory is: elements of tensors; what is received, and what is rearranged, until
a step ends; vertices; code; stacks."""

CATEGORIES: tuple[Category, ...] = get_args(Category)

NO_STEP = -1
"""Stands where a tile needs nothing that is not always there."""


@dataclass(slots=True, eq=False)  # frozen ones take twice as long to make, and there are many
class Held:
    """Something that lies in the memory of some tiles.

    Attributes:
        name: of the variable, or what it is.
        category: what kind of thing it is.
        bytes: what it takes on each tile.
        align: bytes that its address is a multiple of.
        interleaved: whether it is in interleaved memory.
        steps: the steps that it is needed in, rising, as `MemoryPlan.steps` counts them; None
            where it is always live.
        why: why it is always live; empty where it is not.
        at: the user's line that made it; None where there is none.
    """

    name: str
    category: Category
    bytes: Spread
    align: int
    interleaved: bool = False
    steps: Series | None = None
    why: str = ""
    at: SourceLocation | None = None


@dataclass(frozen=True, slots=True, eq=False)
class LiveStep:
    """A step of a program, as memory sees it: a step that stands in several places is one.

    Attributes:
        program: the name of the program.
        name: which step it is, as messages call it.
        at: the user's line.
        most: bytes that are not always live in it, on the tile that has most of them.
        tile: that tile.
    """

    program: str
    name: str
    at: SourceLocation
    most: int
    tile: int


@dataclass(frozen=True, slots=True, eq=False)
class OnTile:
    """Something that lies in the memory of one tile.

    Attributes:
        held: what it is.
        bytes: what it takes there.
        address: where it begins, from the beginning of the tile's memory.
        element: the memory element that it begins in.
    """

    held: Held
    bytes: int
    address: int
    element: int


@dataclass(frozen=True, slots=True, eq=False)
class MemoryPlan:
    """What the memory of tiles holds.

    Attributes:
        num_tiles: how many tiles there are.
        tile_bytes: the memory of a tile.
        element_bytes: of a memory element.
        interleaved_begin: where interleaved memory begins; at 0 where a tile has less than that.
        held: all that lies in it; what is always live first.
        steps: the steps of all programs, one program after the other.
        peak: the most bytes of each tile that are not always live, in one step.
        peak_step: int64[num_tiles], the first step in which they are; `NO_STEP` where there is
            nothing.
        including_gaps: the bytes of each tile, with the gaps between what lies there.
    """

    num_tiles: int
    tile_bytes: int
    element_bytes: int
    interleaved_begin: int
    held: tuple[Held, ...]
    steps: tuple[LiveStep, ...]
    peak: Spread
    peak_step: Int64
    including_gaps: Spread

    def always_live(self) -> Int64:
        """Return int64[num_tiles], bytes that each tile needs all the time."""
        return self._summed(held for held in self.held if held.steps is None)

    def not_always_live(self) -> Int64:
        """Return int64[num_tiles], the most bytes that each tile needs for a while, in one step."""
        return self.peak.dense(self.num_tiles)

    def not_always_live_in(self, step: int) -> Int64:
        """Return int64[num_tiles], bytes that each tile needs in a step, and not always.

        Args:
            step: its number in `steps`.
        """
        return self._summed(held for held in self.held if _is_in(held.steps, step))

    def excluding_gaps(self) -> Int64:
        """Return int64[num_tiles], bytes that each tile needs at most: always, and in a step."""
        return self.always_live() + self.not_always_live()

    def with_gaps(self) -> Int64:
        """Return int64[num_tiles], bytes that each tile needs, with gaps."""
        return self.including_gaps.dense(self.num_tiles)

    def by_category(self, *, always_live: bool) -> Mapping[Category, Spread]:
        """Return the bytes of each category, of those that have some.

        Args:
            always_live: whether what is always live is counted, or all else, as if it shared no
                memory.
        """
        found = {}
        for category in CATEGORIES:
            some = self._summed(
                held
                for held in self.held
                if held.category == category and (held.steps is None) == always_live
            )
            if some.any():
                found[category] = Spread.of(some)
        return found

    def on_tile(self, tile: int) -> tuple[OnTile, ...]:
        """Return what lies on a tile, by rising address.

        Args:
            tile: its number.
        """
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

    def live_in(self, step: int, tile: int) -> tuple[tuple[Held, int], ...]:
        """Return what a tile holds in a step that it does not hold always, and its bytes.

        Args:
            step: its number in `steps`.
            tile: its number.
        """
        found = [(held, held.bytes.at(tile)) for held in self.held if _is_in(held.steps, step)]
        return tuple((held, size) for held, size in found if size)

    @property
    def fullest(self) -> int:
        """The tile that needs the most bytes, the first of several."""
        return int(self.with_gaps().argmax())

    @property
    def overflowing(self) -> Int64:
        """int64[n], the tiles that need more bytes than they have."""
        return np.flatnonzero(self.with_gaps() > self.tile_bytes)

    def _summed(self, chosen: Iterable[Held]) -> Int64:
        total = np.zeros(self.num_tiles, np.int64)
        for held in chosen:
            held.bytes.add_to(total)
        return total


def placing_of(held: Sequence[Held], border: int, limit: int) -> Placing:
    """Return how things are placed.

    Args:
        held: the things.
        border: the address at which interleaved memory begins.
        limit: the bytes of a tile's memory.
    """
    return Placing(
        [each.align for each in held],
        [each.interleaved for each in held],
        [each.steps for each in held],
        border,
        limit,
    )


def _is_in(steps: Series | None, step: int) -> bool:
    return steps is not None and bool((steps.array() == step).any())
