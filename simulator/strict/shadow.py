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

What the host writes counts as written; a warning tells of elements that it reads and that nothing
has written.  `uninitialized` says which elements those are::

    engine.read of 'x': nothing has written 2 of its 8 elements
      the first is [6]
      'x' was made at model.py:8
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.errors import SHOWN_FAULTS, UninitializedWarning, listed
from poplite.executable.encoding import Moves
from poplite.executable.executable import Executable
from poplite.executable.layout import StoredVariable
from poplite.executable.steps import (
    Action,
    ArenaBlock,
    CopyStep,
    HostFunctionCall,
    HostTensor,
    Print,
    RowTransfer,
    Stamp,
    Transfer,
)
from poplite.frozen import frozen
from poplite.graph.tile_mapping import ranges
from poplite.jit.build import BoundKernel
from poplite.jit.kernels.written import MOVED, carry, moved_are_written
from poplite.simulator.host.connections import view_of
from poplite.simulator.host.tensors import bytes_of
from poplite.simulator.run.arena import Arena
from poplite.simulator.run.interpreted_vertices import move_between
from poplite.simulator.run.touched import MOST_ELEMENTS, element_name, moved_from
from poplite.source import SourceLocation
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
        """Note the data that is written at first."""
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

        `replica_map` says whose memory each replica writes.  By default the shadow of the data read
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


# -- where unwritten elements come from ------------------------------------------------------------


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

    def origins(self, positions: Int64) -> list[CopyOrigin]:
        """Return one element of each variable that unwritten elements, by first bytes, are of.

        These are in the order in which the elements miss them. Of blocks that no variable was
        copied to there are none.
        """
        *_, last = self._passed(positions)
        owners, first = np.unique(self._executable.layout.owners(last), return_index=True)
        return [self.origin(int(positions[each])) for each in sorted(first[owners >= 0])]

    def _passed(self, positions: Int64) -> Iterator[Int64]:
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


# -- what the host reads, and writes ---------------------------------------------------------------


class Read(NamedTuple):
    """What the host is about to read.

    Attributes:
        what: the call, or the program, that reads.
        at: the user's line of a program; else None, for where the missing data was made.
        written: which elements are written, for each replica.
        bytes_of: returns the first bytes of elements, which it takes by number.
    """

    what: str
    at: SourceLocation | None
    written: list[Mask]
    bytes_of: Callable[[Int64], Int64]


def look_at_action(shadow: Shadow, action: Action) -> list[Read]:
    """Note what an action is about to write; return what it is about to read."""
    reads: list[Read] = []
    match action:
        case Print(title=title, tensor=tensor):
            reads.append(_of_tensor(f"PrintTensor '{title}'", None, shadow, tensor))
        case Stamp(tensor=tensor, since=since):
            if since is not None:
                reads.append(_of_tensor(action.program, action.location, shadow, since))
            _write_tensor(shadow, tensor)
        case Transfer(stream=stream, block=block) if stream.to_device:
            _write(shadow, block)
        case RowTransfer(to_device=True):
            pass  # rows know themselves which of their elements are written
        case Transfer(program=program, location=at, block=block):
            reads.append(_of_block(program, at, shadow, block))
        case RowTransfer(program=program, location=at, block=block):
            reads.append(_of_block(program, at, shadow, block))
        case HostFunctionCall(program=program, location=at, inputs=inputs, outputs=outputs):
            reads += [_of_block(program, at, shadow, block) for block in inputs]
            for block in outputs:
                _write(shadow, block)
    return reads


def uninitialized(
    read: Read, copies: UnwrittenCopies, where: str = ""
) -> UninitializedWarning | None:
    """Return the warning of elements that are read though nothing has written them, or None.

    `where` is the step of the program.
    """
    if all(own.all() for own in read.written):
        return None
    each = np.stack(read.written)
    lacking = ~each.all(axis=0)
    count, first = int(lacking.sum()), np.argwhere(lacking)[0].tolist()
    found = [f"the first is [{', '.join(f'{i:,}' for i in first)}]"] if first else []
    if len(each) > 1:
        some = [n for n, own in enumerate(each) if not own.all()]
        found.append(f"in {'replica' if len(some) == 1 else 'replicas'} {ranges(some)}")
    number = np.flatnonzero(lacking)[:MOST_ELEMENTS]
    origins = copies.origins(read.bytes_of(number))
    made = [f"{o.through[0]}{o.copied}; {o.made}" if o.through else o.made for o in origins]
    found += [listed(made, "variables")] if made else []
    names = ", ".join(f"'{origin.variable.name}'" for origin in origins[:SHOWN_FAULTS])
    return UninitializedWarning(
        f"{read.what}: nothing has written {count:,} of {amount(each[0].size, 'element')}",
        at=read.at or next((origin.variable.location for origin in origins), None),
        where=where,
        found="\n".join([*found, "memory is zero there now; on a machine it may hold anything"]),
        fix=f"write {names or 'them'} before, give an initial_value, or leave the elements out",
    )


def _of_tensor(what: str, at: SourceLocation | None, shadow: Shadow, tensor: HostTensor) -> Read:
    found = []
    for part in shadow.parts:
        stored = np.empty(tensor.shape, tensor.element_type.dtype)
        move_between(tensor.moves, stored.reshape(-1).view(np.uint8), part)
        found.append(are_written(stored))
    return Read(what, at, found, partial(bytes_of, tensor))


def _of_block(what: str, at: SourceLocation | None, shadow: Shadow, block: ArenaBlock) -> Read:
    written = [are_written(view_of(block, part)) for part in shadow.parts]
    size = block.element_type.size_bytes
    return Read(what, at, written, lambda number: block.at + number * size)


def _write_tensor(shadow: Shadow, tensor: HostTensor) -> None:
    element = tensor.element_type
    written = np.full(tensor.shape, shadow_of_written(element), element.dtype)
    for part in shadow.parts:
        move_between(tensor.moves.reversed(), part, written.reshape(-1).view(np.uint8))


def _write(shadow: Shadow, block: ArenaBlock) -> None:
    for part in shadow.parts:
        view_of(block, part)[...] = shadow_of_written(block.element_type)
