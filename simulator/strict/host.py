"""What the host reads and writes, seen by strict checks.

What the host writes counts as written; a warning tells of elements that it reads and that nothing
has written.  `uninitialized` says which elements those are::

    engine.read of 'x': nothing has written 2 of its 8 elements
      the first is [6]
"""

from __future__ import annotations

import numpy as np

from poplite.errors import UninitializedWarning
from poplite.executable.actions import Action, Print, Stamp
from poplite.executable.host_tensor import HostTensor
from poplite.executable.transfers import Block, HostFunctionCall, RowTransfer, Transfer
from poplite.graph.mapping.tile_mapping import ranges
from poplite.simulator.host.connections import view_of
from poplite.simulator.run.interpreted_vertices import move_between
from poplite.simulator.strict.patterns import Mask
from poplite.simulator.strict.shadow import Shadow, are_written, shadow_of_written
from poplite.source import SourceLocation
from poplite.text import amount


def look_at_action(shadow: Shadow, action: Action, where: str) -> list[UninitializedWarning]:
    """Note what an action is about to write; return warnings about what it is about to read."""
    reads: list[tuple[str, SourceLocation | None, list[Mask]]] = []
    match action:
        case Print(title=title, tensor=tensor):
            reads.append((f"PrintTensor '{title}'", None, of_tensor(shadow, tensor)))
        case Stamp(tensor=tensor, since=since):
            if since is not None:
                reads.append((action.program, action.location, of_tensor(shadow, since)))
            _write_tensor(shadow, tensor)
        case Transfer(stream=stream, block=block) if stream.to_device:
            _write(shadow, block)
        case RowTransfer(to_device=True):
            pass  # rows know themselves what is written of them
        case Transfer(program=program, location=at, block=block):
            reads.append((program, at, _of_block(shadow, block)))
        case RowTransfer(program=program, location=at, block=block):
            reads.append((program, at, _of_block(shadow, block)))
        case HostFunctionCall(program=program, location=at, inputs=inputs, outputs=outputs):
            reads += [(program, at, _of_block(shadow, block)) for block in inputs]
            for block in outputs:
                _write(shadow, block)
    found = (uninitialized(*read, where=where) for read in reads)
    return [warning for warning in found if warning is not None]


def uninitialized(
    what: str, at: SourceLocation | None, written: list[Mask], *, where: str = ""
) -> UninitializedWarning | None:
    """Return the warning of elements that are read though nothing has written them, or None.

    `written` has the shape of what is read, for each replica; `where` is the step of the program.
    """
    if all(own.all() for own in written):
        return None
    each = np.stack(written)
    lacking = ~each.all(axis=0)
    count, first = int(lacking.sum()), np.argwhere(lacking)[0].tolist()
    found = [f"the first is [{', '.join(f'{i:,}' for i in first)}]"] if first else []
    if len(each) > 1:
        some = [n for n, own in enumerate(each) if not own.all()]
        found.append(f"in {'replica' if len(some) == 1 else 'replicas'} {ranges(some)}")
    return UninitializedWarning(
        f"{what}: nothing has written {count:,} of {amount(each[0].size, 'element')}",
        at=at,
        where=where,
        found="\n".join([*found, "memory is zero there now; on a machine it may hold anything"]),
        fix="write them before, give the variable an initial_value, or leave them out",
    )


def of_tensor(shadow: Shadow, tensor: HostTensor) -> list[Mask]:
    """Return which elements of a tensor are written, in each replica."""
    found = []
    for part in shadow.parts:
        stored = np.empty(tensor.shape, tensor.element_type.dtype)
        move_between(tensor.moves, stored.reshape(-1).view(np.uint8), part)
        found.append(are_written(stored))
    return found


def _of_block(shadow: Shadow, block: Block) -> list[Mask]:
    return [are_written(view_of(block, part)) for part in shadow.parts]


def _write_tensor(shadow: Shadow, tensor: HostTensor) -> None:
    element = tensor.element_type
    written = np.full(tensor.shape, shadow_of_written(element), element.dtype)
    for part in shadow.parts:
        move_between(tensor.moves.reversed(), part, written.reshape(-1).view(np.uint8))


def _write(shadow: Shadow, block: Block) -> None:
    for part in shadow.parts:
        view_of(block, part)[...] = shadow_of_written(block.element_type)
