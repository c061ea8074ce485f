"""The shadow of an arena: for each of its bytes, whether anything has written it.

It is laid out as the arena, so whatever moves data moves the shadow in the same way::

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

from poplite.executable.actions import HostTensor
from poplite.executable.moves import Moves
from poplite.jit.kernels.written import MOVED, carry, moved_are_written
from poplite.jit.native import BoundKernel
from poplite.simulator.run.arena import Arena
from poplite.types import ElementType

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Moving:
    """Moves the shadow of some bytes.

    Attributes:
        calls: one for each replica.
    """

    calls: tuple[BoundKernel, ...]

    def __call__(self) -> int:
        """Move it; return INCOMPLETE when some is unwritten, LOSSY when it replaces written."""
        flags = 0
        for call in self.calls:
            flags |= call()
        return flags


class Shadow(Arena):
    """Which bytes of an arena are written: at first initial values, constants and state."""

    def _fill(self) -> None:
        """Note what is written at first."""
        for replica, part in enumerate(self.parts):
            for at, values in self.layout.initial_values(replica):
                part[at : at + values.nbytes] = 1
            for at, has in self.layout.with_values(replica):
                part[at : at + len(has)] = has
            part[self.layout.blocks] = 1  # written by the host before they are copied

    def holds(self, position: int, size: int) -> bool:
        """Tell whether a scalar is written, in every replica."""
        return all(bool(part[position : position + size].all()) for part in self.parts)

    def write_scalar(self, position: int) -> None:
        """Note that the BOOL at a byte position is written."""
        for part in self.parts:
            part[position] = 1

    def moving(
        self, moves: Moves, replica_map: Sequence[int] | None = None, *, known: int = MOVED
    ) -> Moving:
        """Return what moves the shadow, as the data move.

        `replica_map` says whose memory each replica writes.  By default the shadow of what is read
        is moved; otherwise all that the moves write becomes `known`.
        """
        if not len(moves.records):
            return Moving(())
        kept = Moves(*map(np.ascontiguousarray, (moves.records, moves.pieces)))
        to = range(len(self.parts)) if replica_map is None else replica_map
        table = kept.records, len(kept.records), kept.pieces, known
        words = [part[: len(part) // 8 * 8].view(np.int64) for part in self.parts]
        calls = [
            BoundKernel(carry, *table, self.parts[other], part, words[other], own)
            for other, part, own in zip(to, self.parts, words, strict=True)
        ]
        return Moving(tuple(calls))

    def checking(self, moves: Moves) -> list[BoundKernel]:
        """Return what finds out whether all that some moves read is written, in each replica."""
        kept = Moves(*map(np.ascontiguousarray, (moves.records, moves.pieces)))
        table = kept.records, len(kept.records), kept.pieces
        return [BoundKernel(moved_are_written, *table, part) for part in self.parts]

    def undefining(self, tensor: HostTensor) -> Moving:
        """Return what lets all elements of a tensor count as unwritten."""
        return self.moving(tensor.moves.reversed(), known=0)


def are_written(shadows: npt.NDArray[Any]) -> Mask:
    """Return which elements are written, a bool array of the shape of their shadows."""
    size = shadows.itemsize
    return np.asarray(shadows.view(f"u{size}") == _full(size))


def shadow_of_written(element: type[ElementType[Any]]) -> Any:
    """Return the shadow of a written element."""
    return _full(element.size_bytes).view(element.dtype)


@cache
def _full(size: int) -> Any:
    return np.ones(size, np.uint8).view(f"u{size}")[0]
