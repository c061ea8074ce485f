"""What the host reads and writes, seen by strict checks.

What the host writes counts as written; a warning tells of elements that it reads and that nothing
has written.  `uninitialized` says which elements those are::

    engine.read of 'x': nothing has written 2 of its 8 elements
      the first is [6]
      'x' was made at model.py:8
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from poplite.errors import SHOWN_FAULTS, UninitializedWarning, listed
from poplite.executable.actions import (
    Action,
    ArenaBlock,
    HostFunctionCall,
    HostTensor,
    Print,
    RowTransfer,
    Stamp,
    Transfer,
)
from poplite.graph.mapping.tile_mapping import ranges
from poplite.simulator.host.connections import view_of
from poplite.simulator.host.tensors import bytes_of
from poplite.simulator.run.interpreted_vertices import move_between
from poplite.simulator.run.touched import MOST_ELEMENTS
from poplite.simulator.strict.element_table import Mask
from poplite.simulator.strict.shadow import (
    Integers,
    Shadow,
    UnwrittenCopies,
    are_written,
    shadow_of_written,
)
from poplite.source import SourceLocation
from poplite.text import amount


class Read(NamedTuple):
    """What the host is about to read.

    Attributes:
        what: the call, or the program, that reads.
        at: the user's line of a program; else None, for where what is missed was made.
        written: which elements are written, for each replica.
        bytes_of: returns the first bytes of elements, which it takes by number.
    """

    what: str
    at: SourceLocation | None
    written: list[Mask]
    bytes_of: Callable[[Integers], Integers]


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
            pass  # rows know themselves what is written of them
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
