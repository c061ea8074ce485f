"""Whether all ranks have compiled the same: a digest of each variable, step and program.

Lines and paths of source do not count, nor do initial values, which one rank alone may have read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from poplite.errors import DeviceRuntimeError
from poplite.executable.executable import Executable
from poplite.executable.moves import Moves
from poplite.executable.step import ComputeStep, CopyStep
from poplite.mpi.ranks import Ranks, Word
from poplite.source import here

Part = tuple[str, bytes]
"""What messages call a part, and its digest."""


def check_same(executable: Executable, cut: tuple[int, ...], ranks: Ranks) -> None:
    """Refuse ranks that have compiled other graphs: a `DeviceRuntimeError` on all of them."""
    call = "engine = pl.Engine(...)"
    parts = [("cut of the device", _digest(cut)), *_parts(executable)]
    whole = _digest(*(digest for _, digest in parts))
    if len({word.value for word in ranks.share(Word(call, whole))}) == 1:
        return
    each = [word.value for word in ranks.share(Word(call, parts))]
    for number in range(max(map(len, each))):
        named = [parts[number] if number < len(parts) else ("nothing", b"") for parts in each]
        for rank, other in enumerate(named):
            if other != named[0]:
                raise DeviceRuntimeError(
                    f"rank {rank} has another graph than rank 0",
                    at=here(),
                    found=f"first difference: {named[0][0]} on rank 0, {other[0]} on rank {rank}",
                    fix="build the same graph on all ranks, without sets and hash(), whose order "
                    "differs; or save an executable on one of them, and load it on all",
                )


def _parts(executable: Executable) -> Iterator[Part]:
    for variable in executable.layout.variables:
        pieces = variable.pieces
        tiles = () if pieces is None else (pieces.first.array(), pieces.tile.array())
        of = variable.element_type.__name__, variable.shape, variable.base, variable.constant
        yield f"variable '{variable.name}'", _digest(variable.name, *of, *tiles)
    for number, step in enumerate(executable.steps):
        yield f"step {number:,}, '{step.name}'", _of_step(step)
    for number, origins in enumerate(executable.origins):
        yield f"tiles of vertices of compute set {number:,}", _digest(origins.tile_of.array())
    for name, code in executable.programs.items():
        yield f"program '{name}'", _digest(name, code.ops)
    yield "options", _digest(executable.checks, executable.float_modes, executable.layout.replicas)


def _of_step(step: ComputeStep | CopyStep) -> bytes:
    if isinstance(step, CopyStep):
        return _digest(step.name, *_of_moves(step.moves), step.replica_map)
    groups = [
        _digest(group.cls.__qualname__, group.rows, *group.tables.values()) for group in step.groups
    ]
    return _digest(step.name, *_of_moves(step.gather), *_of_moves(step.scatter), *groups)


def _of_moves(moves: Moves) -> tuple[object, object]:
    return moves.records, moves.pieces


def _digest(*values: object) -> bytes:
    found = hashlib.sha256()
    for value in values:
        if isinstance(value, np.ndarray):
            found.update(repr((value.shape, value.dtype.str)).encode())
            found.update(np.ascontiguousarray(value).view(np.uint8).data)
        else:
            found.update(repr(value).encode())
        found.update(b"\0")
    return found.digest()
