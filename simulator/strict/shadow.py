"""The shadow of an arena, which records for each byte whether it is written.

It has the layout of the arena, so every move of data moves the shadow in the same way::

    arena     x: 1.5  0.0  0.0      y: 0.0  0.0  0.0
    shadow    x: 1    0    0        y: 0    0    0          1: written, in each byte of an element
    Copy(x, y)
    shadow    x: 1    0    0        y: 1    0    0

Data that the host writes count as written; a warning reports unwritten elements that it reads.
`uninitialized` names those elements::

    engine.read of 'x': nothing has written 2 of its 8 elements
      the first is [6]
      'x' was made at model.py:8
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.errors import SHOWN_FAULTS, UninitializedWarning, listed
from poplite.executable.encoding import Moves
from poplite.executable.steps import (
    Action,
    ArenaBlock,
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
from poplite.simulator.run.touched import MOST_ELEMENTS
from poplite.simulator.strict.origins import UnwrittenCopies
from poplite.source import SourceLocation
from poplite.text import amount
from poplite.types import ElementType

Mask = npt.NDArray[np.bool_]


@frozen(eq=False)
class Moving:
    """Moves the shadow of bytes that a step moves.

    Attributes:
        calls: the kernel calls, one for each replica.
    """

    calls: tuple[BoundKernel, ...]

    def __call__(self) -> int:
        """Move it; return INCOMPLETE if bytes are unwritten, LOSSY if these replace written."""
        flags = 0
        for call in self.calls:
            flags |= call()
        return flags


class Shadow(Arena):
    """The written bytes of an arena: at first those of initial values, constants and state."""

    def _fill(self) -> None:
        """Mark the data that are written at first."""
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
        """Mark the BOOL at a byte position as written."""
        for part in self.parts:
            part[position] = 1

    def moving(
        self, moves: Moves, replica_map: Sequence[int] | None = None, *, known: int = MOVED
    ) -> Moving:
        """Return the function that moves the shadow like the data.

        `replica_map` gives the replica whose memory each replica writes. By default the shadow of
        the source is moved; otherwise all bytes that the moves write become `known`.
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
        """Return kernels that return whether all bytes that moves read are written, per replica."""
        kept = Moves(*map(np.ascontiguousarray, (moves.records, moves.pieces)))
        table = kept.records, len(kept.records), kept.pieces
        return [BoundKernel(moved_are_written, *table, part) for part in self.parts]

    def undefining(self, tensor: HostTensor) -> Moving:
        """Return the function that marks all elements of a tensor as unwritten."""
        return self.moving(tensor.moves.reversed(), known=0)


def are_written(shadows: npt.NDArray[Any]) -> Mask:
    """Return which elements are written, a bool array with the shape of their shadows."""
    size = shadows.itemsize
    return np.asarray(shadows.view(f"u{size}") == _full(size))


def shadow_of_written(element: type[ElementType[Any]]) -> Any:
    """Return the shadow of a written element."""
    return _full(element.size_bytes).view(element.dtype)


@cache
def _full(size: int) -> Any:
    return np.ones(size, np.uint8).view(f"u{size}")[0]


# -- accesses of the host --------------------------------------------------------------------------


class Read(NamedTuple):
    """A read that the host is about to perform.

    Attributes:
        what: the call or the program that reads.
        at: the user's line of a program; None for the line that made the missing data.
        written: the written elements, for each replica.
        bytes_of: returns the first bytes of elements, given by number.
    """

    what: str
    at: SourceLocation | None
    written: list[Mask]
    bytes_of: Callable[[Int64], Int64]


def look_at_action(shadow: Shadow, action: Action) -> list[Read]:
    """Mark the data that an action is about to write; return its reads."""
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
            pass  # remote buffers track their own written elements
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
    """Return the warning about unwritten elements that are read, or None.

    `where` is the step of the program, for the message.
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
    made = [f"{o.missed}{o.copied}; {o.made}" if o.copied else o.made for o in origins]
    found += [listed(made, "variables")] if made else []
    found += dict.fromkeys(text for origin in origins[:SHOWN_FAULTS] for text in origin.passed)
    names = ", ".join(str(origin.variable) for origin in origins[:SHOWN_FAULTS])
    value = ", give an initial_value" if all(each.takes_value for each in origins) else ""
    return UninitializedWarning(
        f"{read.what}: nothing has written {count:,} of {amount(each[0].size, 'element')}",
        at=read.at or next((origin.variable.location for origin in origins), None),
        where=where,
        found="\n".join([*found, "memory is zero there now; on a machine it is undefined"]),
        fix=f"write {names or 'them'} before{value}, or leave out the elements",
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
