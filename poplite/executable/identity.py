"""Whether two executables are of the same programs: a digest of each variable, step and program.

Lines and paths of source do not count, nor do initial values, which one rank alone may have read,
nor how much is checked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from poplite.executable.executable import Executable
from poplite.executable.moves import Moves
from poplite.executable.step import ComputeStep, CopyStep

Part = tuple[str, bytes]
"""What messages call a part, and its digest."""


def parts_of(executable: Executable) -> Iterator[Part]:
    """Yield the parts of an executable in an order that does not depend on the process."""
    for variable in executable.layout.variables:
        pieces = variable.pieces
        tiles = () if pieces is None else (pieces.first.array(), pieces.tile.array())
        of = variable.element_type.__name__, variable.shape, variable.base, variable.constant
        yield f"variable '{variable.name}'", digest(variable.name, *of, *tiles)
    for number, step in enumerate(executable.steps):
        yield f"step {number:,}, '{step.name}'", _of_step(step)
    for number, origins in enumerate(executable.origins):
        yield f"tiles of vertices of compute set {number:,}", digest(origins.tile_of.array())
    saving = [isinstance(step, ComputeStep) and step.may_fault for step in executable.steps]
    yield "what steps save before they overwrite it, more with interpret,", digest(saving)
    for name, code in executable.programs.items():
        yield f"program '{name}'", digest(name, code.ops)
    yield "options", digest(executable.float_modes, executable.layout.replicas)


def constants_of(executable: Executable) -> Iterator[Part]:
    """Yield the values of constants, which are never copied from an engine to another."""
    for replica in range(executable.layout.replicas):
        for at, values in executable.layout.constants(replica):
            name = executable.layout.variable_at(at)[0].name
            yield f"values of constant '{name}'", digest(values)


def _of_step(step: ComputeStep | CopyStep) -> bytes:
    if isinstance(step, CopyStep):
        return digest(step.name, *_of_moves(step.moves), step.replica_map)
    groups = [
        digest(group.cls.__qualname__, group.rows, *group.tables.values()) for group in step.groups
    ]
    return digest(step.name, *_of_moves(step.gather), *_of_moves(step.scatter), *groups)


def _of_moves(moves: Moves) -> tuple[object, object]:
    return moves.records, moves.pieces


def digest(*values: object) -> bytes:
    """Return the SHA-256 of some values, of arrays by their bytes."""
    found = hashlib.sha256()
    for value in values:
        if isinstance(value, np.ndarray):
            found.update(repr((value.shape, value.dtype.str)).encode())
            found.update(np.ascontiguousarray(value).view(np.uint8).data)
        else:
            found.update(repr(value).encode())
        found.update(b"\0")
    return found.digest()
