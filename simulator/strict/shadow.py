"""The shadow of an arena: for each of its bytes, whether anything has written it.

It is laid out as the arena, so whatever moves data moves what is known of it in the same way::

    arena     x: 1.5  0.0  0.0      y: 0.0  0.0  0.0
    shadow    x: 1    0    0        y: 0    0    0          1: written; each element has its bytes
    Copy(x, y)
    shadow    x: 1    0    0        y: 1    0    0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from poplite.executable.moves import Moves
from poplite.simulator.run.arena import Arena, Bytes
from poplite.simulator.run.touched import Touched, ranges
from poplite.types import ElementType

Mask = npt.NDArray[np.bool_]

PIECES = 1 << 14
"""Pieces of a list of copies that are moved at once."""


@dataclass(frozen=True, slots=True)
class Carried:
    """What came of moving a shadow.

    Attributes:
        is_complete: whether all that was moved is written.
        is_lossy: whether something written was overwritten by what is not.
    """

    is_complete: bool
    is_lossy: bool


class Shadow(Arena):
    """What is written of an arena: at first initial values, constants and state.

    Args:
        layout: where everything lies.
    """

    def _fill(self) -> None:
        """Note what is written at first."""
        for replica, part in enumerate(self.parts):
            for at, values in self.layout.initial_values(replica):
                part[at : at + values.nbytes] = 1
            part[self.layout.blocks] = 1  # by the host, before anything is copied out of them

    def holds(self, position: int, size: int) -> bool:
        """Tell whether a scalar is written, in every replica.

        Args:
            position: its first byte.
            size: its bytes.
        """
        return all(bool(part[position : position + size].all()) for part in self.parts)

    def write_scalar(self, position: int) -> None:
        """Note that a BOOL is written.

        Args:
            position: its byte.
        """
        for part in self.parts:
            part[position] = 1

    def move(self, moves: Moves, replica_map: Sequence[int] | None = None) -> Carried:
        """Move what is known, as the data move.

        Args:
            moves: copies within the arena of a replica.
            replica_map: for each replica the one whose memory is written; by default its own.
        """
        to = range(len(self.parts)) if replica_map is None else replica_map
        pairs = zip(to, self.parts, strict=True)
        carried = [_move(moves, self.parts[other], part) for other, part in pairs]
        return Carried(all(c.is_complete for c in carried), any(c.is_lossy for c in carried))

    def write_moved(self, moves: Moves, replica_map: Sequence[int] | None = None) -> None:
        """Note that all is written that copies write.

        Args:
            moves: as for `move`.
            replica_map: as for `move`.
        """
        for other in range(len(self.parts)) if replica_map is None else replica_map:
            _move(moves, self.parts[other], np.ones_like(self.parts[other]))

    def written(self, touched: Touched) -> Mask:
        """Return which elements of a field are written.

        Args:
            touched: the elements.

        Returns:
            bool[replicas, elements].
        """
        return np.stack([are_written(bits(p, touched.size)[touched.elements]) for p in self.parts])

    def mark(self, touched: Touched, written: Mask) -> None:
        """Note which elements of a field are written.

        Args:
            touched: the elements.
            written: bool[replicas, elements].
        """
        for part, own in zip(self.parts, written, strict=True):
            bits(part, touched.size)[touched.elements] = np.where(own, _full(touched.size), 0)


def _move(moves: Moves, there: Bytes, here: Bytes) -> Carried:
    is_complete, is_lossy = True, False
    for to, start, rows, size, far, near in moves.records.tolist():
        if size:
            destination = as_strided(there[to:], (rows, size), (far, 1))
            source = as_strided(here[start:], (rows, size), (near, 1))
            is_complete = is_complete and bool(source.all())
            is_lossy = is_lossy or bool((destination > source).any())
            destination[...] = source
            continue
        for first in range(far, far + rows, PIECES):
            pieces = moves.pieces[first : min(first + PIECES, far + rows)].astype(np.int64)
            written = ranges(to + pieces[:, 0], pieces[:, 2])
            moved = here[ranges(start + pieces[:, 1], pieces[:, 2])]
            is_complete = is_complete and bool(moved.all())
            is_lossy = is_lossy or bool((there[written] > moved).any())
            there[written] = moved
    return Carried(is_complete, is_lossy)


def bits(memory: Bytes, size: int) -> npt.NDArray[Any]:
    """Return a replica's memory as unsigned integers.

    Args:
        memory: all bytes of the replica.
        size: bytes of an integer.
    """
    return memory[: len(memory) // size * size].view(f"u{size}")


def are_written(shadows: npt.NDArray[Any]) -> Mask:
    """Tell which elements are written.

    Args:
        shadows: those of the elements, of any type of as many bytes.

    Returns:
        bool, of the same shape.
    """
    size = shadows.itemsize
    return np.asarray(shadows.view(f"u{size}") == _full(size))


def shadow_of_written(element: type[ElementType[Any]]) -> Any:
    """Return the shadow of a written element.

    Args:
        element: its type.
    """
    return _full(element.size_bytes).view(element.dtype)


@cache
def _full(size: int) -> Any:
    return np.ones(size, np.uint8).view(f"u{size}")[0]
