"""The shadow of an arena: for each of its bytes, whether anything has written it.

It is laid out as the arena, so whatever moves data moves the shadow in the same way::

    arena     x: 1.5  0.0  0.0      y: 0.0  0.0  0.0
    shadow    x: 1    0    0        y: 0    0    0          1: written; each element has its bytes
    Copy(x, y)
    shadow    x: 1    0    0        y: 1    0    0

An unwritten element is followed back through the Copies that moved it::

    b                   nothing has written it
    Copy(b, r)          so r is unwritten, too
    Copy(r, v)          and v: whoever reads v is to hear of b

The blocks of streams and host functions are followed like variables, and not named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from poplite.executable.actions import HostTensor
from poplite.executable.executable import Executable
from poplite.executable.layout import StoredVariable
from poplite.executable.moves import Moves
from poplite.executable.step import CopyStep
from poplite.frozen import frozen
from poplite.jit.build import BoundKernel
from poplite.jit.kernels.written import MOVED, carry, moved_are_written
from poplite.simulator.run.arena import Arena
from poplite.simulator.run.touched import element_name, moved_from
from poplite.text import amount
from poplite.types import ElementType

Mask = npt.NDArray[np.bool_]


@frozen(eq=False)
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
        """Return whether a scalar is written, in every replica."""
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


# -- where unwritten elements come from --------------------------------------------------------


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
