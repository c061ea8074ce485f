"""Whether two executables are of the same programs: a digest of each variable, step and program.

Lines and paths of source do not count, nor do initial values, which one rank alone may have read,
nor how much is checked.  Where only the effect of programs matters, they are compared without
copies into temporaries and saves for faults, of which compiled code has fewer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from poplite.executable import opcodes as op
from poplite.executable.executable import Executable
from poplite.executable.moves import Moves
from poplite.executable.step import ComputeStep, CopyStep

Integers = npt.NDArray[np.int64]
Part = tuple[str, bytes]
"""What messages call a part, and its digest."""


def parts_of(executable: Executable) -> Iterator[Part]:
    """Yield the parts of an executable in an order that does not depend on the process."""
    yield from meaning_of(executable)
    saving = [isinstance(step, ComputeStep) and step.may_fault for step in executable.steps]
    yield "what steps save before they overwrite it, more with interpret,", digest(saving)


def meaning_of(executable: Executable) -> Iterator[Part]:
    """Yield the same without what vertices that run in Python have more of."""
    for variable in executable.layout.variables:
        pieces = variable.pieces
        tiles = () if pieces is None else (pieces.first.array(), pieces.tile.array())
        of = variable.element_type.__name__, variable.shape, variable.base, variable.constant
        yield f"variable '{variable.name}'", digest(variable.name, *of, *tiles)
    for number, step in enumerate(executable.steps):
        yield f"step {number:,}, '{step.name}'{_in_place(step)}", _of_step(step)
    for number, origins in enumerate(executable.origins):
        yield f"tiles of vertices of compute set {number:,}", digest(origins.tile_of.array())
    for name, code in executable.programs.items():
        yield f"program '{name}'", digest(name, _own_ops(executable, code.ops))
    yield "options", digest(executable.float_modes, executable.layout.replicas)


def constants_of(executable: Executable) -> Iterator[Part]:
    """Yield the values of constants, which are never copied from an engine to another."""
    for replica in range(executable.layout.replicas):
        for at, values in executable.layout.constants(replica):
            name = executable.layout.variable_at(at)[0].name
            yield f"values of constant '{name}'", digest(values)


def own_rows(executable: Executable, ops: Integers) -> Integers:
    """Return the rows of a program without those that copy into temporaries, and save.

    How often those run follows from the others.
    """
    is_compute_set = np.array([isinstance(step, ComputeStep) for step in executable.steps], bool)
    launches = np.flatnonzero(ops[:, 0] == op.LAUNCH)
    launches = launches[is_compute_set[ops[launches, 1]]]
    moved = launches[np.isin(ops[launches, 2], (op.GATHER, op.SAVE, op.SCATTER))]
    return np.setdiff1d(np.arange(len(ops)), moved)


def _own_ops(executable: Executable, ops: Integers) -> Integers:
    """Return these rows; what jumped to another one jumps to the first one behind it."""
    rows = own_rows(executable, ops)
    own = ops[rows]
    for kind, word in op.TARGETS.items():
        jumps = np.flatnonzero(own[:, 0] == kind)
        own[jumps, word] = np.searchsorted(rows, own[jumps, word])
    return own


def _in_place(step: ComputeStep | CopyStep) -> str:
    """Return why a step may be another one for Python, as part of its name."""
    groups = step.groups if isinstance(step, ComputeStep) else ()
    is_read = any(group.cls.strided_rows is not None for group in groups)
    return ", of which compiled code reads rows where they lie," if is_read else ""


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
