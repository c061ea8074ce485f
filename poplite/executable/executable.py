"""Compiled programs: checked and lowered, but not yet bound to memory.

An executable contains no graph, no address and no compiled code, only plain data and the vertex
classes: all that an engine needs to allocate its arena, compile its drivers and run. Files contain
it unchanged (`poplite.executable.executable_file`); a new field of plain data needs no change in
that module.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, BinaryIO, Literal

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.cost.step_cost import JoinedCopyCost, StepCost
from poplite.errors import made_by
from poplite.executable import encoding as op
from poplite.executable.encoding import Code, Moves
from poplite.executable.parts import Action, ArenaLayout, ComputeStep, CopyStep, HostTensor, Origins
from poplite.files import check_stream, passing_file
from poplite.frozen import frozen
from poplite.machine.target import Target
from poplite.report.memory import Memory, Operation
from poplite.text import amount

if TYPE_CHECKING:
    from poplite.executable.executable_file import VertexSource


Checks = Literal["strict", "fast", "none"]


@made_by("pl.compileGraph(graph, program), or pl.Executable.load(path)")
@frozen(eq=False, repr=False)
class Executable:
    """A compiled graph.

    Attributes:
        target: the machine of its graph.
        layout: the layout of the arena.
        steps: lowered compute sets and copies.
        programs: the ops of each program.
        actions: the actions of Python at CALLBACK ops, by number.
        origins: for each compute step, the names of its vertices in messages.
        checks: the checks during runs: "strict", "fast" or "none", see `Engine`.
        float_modes: the floating-point modes of its programs (`poplite.machine.floating_point`),
            with the initial mode first.
        elements_per_tile: minimum and maximum number of variable elements on a tile.
        host_reads: the tensors that the host reads by handle.
        host_writes: the tensors that the host writes by handle.
        costs: the cost of one execution of each step; empty if costs are not modelled.
        action_costs: the cost of one execution of each action; None for actions that cost nothing.
        memory: the contents of the tiles' memory; None if costs are not modelled.
        operations: the operations that functions of `poplite.ops` recorded, with their steps.
        joined: adjacent Copies that could be one Copy; empty if costs are not modelled.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> a = graph.add_variable(pl.INT, (3,), "a", mapping=0, initial_value=[1, 2, 3])
    >>> b = graph.add_variable(pl.INT, (3,), "b", mapping=1)
    >>> graph.create_host_read("result", b)
    >>> executable = pl.compileGraph(graph, pl.Copy(a, b))
    >>> engine = pl.Engine(executable)
    >>> engine.run()
    >>> engine.read("result").tolist()
    [1, 2, 3]
    """

    target: Target = field(metadata={"lends": True})
    layout: ArenaLayout
    steps: tuple[ComputeStep | CopyStep, ...]
    programs: Mapping[str, Code]
    actions: tuple[Action, ...]
    origins: tuple[Origins, ...]
    checks: Checks
    float_modes: tuple[int, ...]
    elements_per_tile: tuple[int, int]
    host_reads: Mapping[str, HostTensor]
    host_writes: Mapping[str, HostTensor]
    costs: tuple[StepCost, ...]
    action_costs: tuple[StepCost | None, ...]
    memory: Memory | None
    operations: tuple[Operation, ...] = ()
    joined: tuple[JoinedCopyCost, ...] = ()

    def __post_init__(self) -> None:
        if len(self.programs) > 1:
            named = {
                name: replace(code, of_program=f", of program '{name}'")
                for name, code in self.programs.items()
            }
            object.__setattr__(self, "programs", named)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the executable to a file atomically.

        The file contains no code: the vertex classes must exist when it is loaded. Equal
        executables give equal bytes.

        Args:
            path: the file; an existing file is replaced. The usual suffix is `.poplite`.

        Raises:
            FileLoadError: if the file cannot be written, or a vertex class has no source text, with
                which its code is compared when the file is loaded.

        >>> import tempfile
        >>> from poplite.compile.compiler import compile_graph
        >>> from poplite.graph import Graph
        >>> from poplite.program import Copy
        >>> graph = Graph()
        >>> a = graph.add_variable("int32", (3,), "a", mapping=0, initial_value=[1, 2, 3])
        >>> b = graph.add_variable("int32", (3,), "b", mapping=0)
        >>> executable = compile_graph(graph, Copy(a, b))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     executable.save(f"{folder}/copy.poplite")
        ...     Executable.load(f"{folder}/copy.poplite")
        <Executable 1 program of 1 step>
        """
        from poplite.executable.executable_file import save

        save(self, path)

    @staticmethod
    def load(
        path: str | os.PathLike[str],
        vertices: Iterable[VertexSource] = (),
        *,
        codelets: bool = False,
    ) -> Executable:
        """Read an executable from a file that `save` wrote.

        Nothing in the file is executed, and no name in it is imported: vertex classes are looked up
        by name in `vertices`, among those that are already defined, and in `poplite.vertices`, and
        their code is compared with the saved code.

        Args:
            path: the file.
            vertices: vertex classes, and modules that contain vertex classes.
            codelets: whether the C++ text of codelets in the file may be compiled, where its code
                is not in the cache; as with any code, its origin should be trusted.

        Raises:
            FileLoadError: if there is no such file, it is damaged or has the wrong format, or a
                vertex class is not found or its code differs.
            ElementTypeError: if an item of `vertices` is neither a vertex class nor a module.
        """
        from poplite.executable.executable_file import load

        return load(path, vertices, codelets=codelets)

    def serialize(self, stream: BinaryIO) -> None:
        """Write to a binary stream what `save` writes to a file, as in Poplar.

        Args:
            stream: a binary stream, open for writing.

        Raises:
            FileLoadError: as for `save`.
            ElementTypeError: for anything but a file of bytes.
        """
        check_stream(stream, "executable.serialize", binary=True)
        with passing_file("executable") as path:
            self.save(path)
            stream.write(path.read_bytes())

    @staticmethod
    def deserialize(stream: BinaryIO, vertices: Iterable[VertexSource] = ()) -> Executable:
        """Read from a stream an executable that `serialize` wrote.

        Args:
            stream: a binary stream, open for reading; it is read to its end.
            vertices: as for `load`.

        Raises:
            FileLoadError: as for `load`.
            ElementTypeError: for anything but a file of bytes.
        """
        check_stream(stream, "Executable.deserialize", binary=True, reading=True)
        with passing_file("executable") as path:
            path.write_bytes(stream.read())
            return Executable.load(path, vertices)

    def __repr__(self) -> str:
        steps = amount(len(self.steps), "step")
        return f"<Executable {amount(len(self.programs), 'program')} of {steps}>"


# -- comparison of executables ---------------------------------------------------------------------
# Two executables have the same programs if the digests of all variables, steps and programs agree.
#
# Source lines and paths do not count, nor do initial values, which only one rank may have read, nor
# the level of checks. If only the effect of programs matters, they are compared without copies to
# temporaries and saves for faults, because compiled code needs fewer of these.

Part = tuple[str, bytes]
"""The name of a part in messages, and its digest."""


def executable_parts(executable: Executable) -> Iterator[Part]:
    """Yield the parts of an executable in an order that does not depend on the process."""
    yield from meaning_of(executable)
    saving = [isinstance(step, ComputeStep) and step.may_fault for step in executable.steps]
    yield "elements that steps save before they overwrite them", digest(saving)


def meaning_of(executable: Executable) -> Iterator[Part]:
    """Yield the parts of an executable without additional copies for interpreted vertices."""
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
    """Yield the values of constants, which are never copied from one engine to another."""
    for replica in range(executable.layout.replicas):
        for at, values in executable.layout.constants(replica):
            name = executable.layout.variable_at(at)[0].name
            yield f"values of constant '{name}'", digest(values)


def program_rows(executable: Executable, ops: Int64) -> Int64:
    """Return the rows of a program without those that copy to temporaries or save.

    How often the omitted rows run follows from the other rows.
    """
    is_compute_set = np.array([isinstance(step, ComputeStep) for step in executable.steps], bool)
    launches = np.flatnonzero(ops[:, 0] == op.LAUNCH)
    launches = launches[is_compute_set[ops[launches, 1]]]
    moved = launches[np.isin(ops[launches, 2], (op.GATHER, op.SAVE, op.SCATTER))]
    return np.setdiff1d(np.arange(len(ops)), moved)


def _own_ops(executable: Executable, ops: Int64) -> Int64:
    """Return the rows of `program_rows`; a jump to an omitted row goes to the next one kept."""
    rows = program_rows(executable, ops)
    own = ops[rows]
    for kind, word in op.TARGETS.items():
        jumps = np.flatnonzero(own[:, 0] == kind)
        own[jumps, word] = np.searchsorted(rows, own[jumps, word])
    return own


def _in_place(step: ComputeStep | CopyStep) -> str:
    """Return text for the name of a step that may differ if its vertices are interpreted."""
    groups = step.groups if isinstance(step, ComputeStep) else ()
    is_read = any(group.cls.strided_rows is not None for group in groups)
    return ", whose rows compiled code reads in place," if is_read else ""


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
    """Return the SHA-256 of values; for arrays, that of their bytes."""
    found = hashlib.sha256()
    for value in values:
        if isinstance(value, np.ndarray):
            found.update(repr((value.shape, value.dtype.str)).encode())
            found.update(np.ascontiguousarray(value).view(np.uint8).data)
        else:
            found.update(repr(value).encode())
        found.update(b"\0")
    return found.digest()
