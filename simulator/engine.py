"""The engine: a program bound to memory and compiled code, ready to run.

engine = Engine(graph, program)     checked, lowered, compiled, memory filled
engine.write(x, array)              host to device
engine.run()                        as often as you like; variables keep their values
engine.read(y)                      device to host
print(engine.report())
"""

from __future__ import annotations

import os
import sys
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

from poplite.compile.executable import (
    COMPUTE,
    Checks,
    Code,
    Executable,
    Programs,
    compile_graph,
)
from poplite.compile.opcodes import LAUNCH
from poplite.compile.step import ComputeStep, CopyStep, Moves, Vertices, phases_of
from poplite.compute import check as check_vertex
from poplite.compute import interpreted
from poplite.errors import (
    ControlProgramError,
    ElementTypeError,
    GraphConnectionError,
    TensorCreationError,
    UnknownName,
    did_you_mean,
)
from poplite.graph import Graph
from poplite.quarter import QuarterMetadata, decode
from poplite.report import Report
from poplite.simulator import faults, plain
from poplite.simulator.compiled import CompiledProgram, CompiledSteps
from poplite.simulator.memory import Arena
from poplite.simulator.printing import format_tensor
from poplite.source import here
from poplite.tensor import Tensor
from poplite.tensor_text import why_not_writeable
from poplite.types import QUARTER_METADATA
from poplite.values import elements
from poplite.view import storages
from poplite.words import counted


class Engine:
    """Runs programs on the simulator.

    An engine is a snapshot: what is added to the graph or changed in it later is not part
    of it.

    Args:
        graph: the graph.
        program: one program, several in a list, or named ones in a dictionary.
        checks: "strict" checks every index while running, "fast" does not; by default
            strict up to a million connected elements.
        interpret: run every vertex as plain Python, for debugging; needs no Numba.

    Raises:
        PopliteError: for every fault that can be found before running.

    Attributes:
        print_stream: where PrintTensor writes; None is standard error.

    >>> from poplite.graph import Graph
    >>> from poplite.program import Copy
    >>> graph = Graph()
    >>> a = graph.add_variable("int32", (3,), "a", mapping=0, initial_value=[1, 2, 3])
    >>> b = graph.add_variable("int32", (3,), "b", mapping=0)
    >>> engine = Engine(graph, Copy(a, b))
    >>> engine.run()
    >>> engine.read(b)
    array([1, 2, 3], dtype=int32)
    """

    def __init__(
        self,
        graph: Graph,
        program: Programs,
        *,
        checks: Checks | None = None,
        interpret: bool = False,
    ) -> None:
        if checks not in ("strict", "fast", None):
            raise ControlProgramError(
                f"Engine: checks={checks!r}, but it is 'strict' or 'fast'",
                at=here(),
                fix="leave checks out for the default",
            )
        if not interpret and os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
            raise ControlProgramError(
                f"NUMBA_DISABLE_JIT={os.environ['NUMBA_DISABLE_JIT']} is set, "
                "so vertices cannot be compiled",
                at=here(),
                fix="Engine(..., interpret=True) runs vertices as plain Python",
            )
        if not isinstance(graph, Graph):
            raise ControlProgramError(
                f"Engine: {graph!r:.60} is not a graph", at=here(), fix="Engine(graph, program)"
            )
        self._executable = compile_graph(graph, program, checks, interpret=interpret)
        self.checks: Checks = self._executable.checks
        self.interpret = interpret
        self.print_stream: TextIO | None = None
        classes = _vertex_classes(self._executable)
        for cls in classes:
            check_vertex(cls)
        # Made now, so that later changes of the numbers they name do not reach this engine.
        replays = interpret or self.checks == "strict"
        self._computes = {cls: interpreted(cls) for cls in classes if replays}
        self._arena = Arena(self._executable.layout)
        self._counts = {
            name: np.zeros(len(code.ops), np.int64)
            for name, code in self._executable.programs.items()
        }
        self._runs = 0
        self._running = False
        self._programs: dict[str, CompiledProgram] = {}
        if not interpret:
            steps = CompiledSteps(self._executable, self._arena, self._computes)
            self._programs = {
                name: CompiledProgram(steps, code, self._counts[name])
                for name, code in self._executable.programs.items()
            }

    # -- running -----------------------------------------------------------------------------

    def run(self, program: str | int = 0) -> None:
        """Run a program to its end.

        Args:
            program: its name, or its position.

        Raises:
            UnknownName: when there is no such program.
            TensorIndexError: when a vertex indexes outside a field (strict checks).
            ControlProgramError: when the engine is running already.
        """
        name = self._name(program)
        if self._running:
            raise ControlProgramError(
                f"engine.run({program!r}): the engine is running already",
                at=here(),
                found="called from its own print stream, or from a second thread",
                fix="wait for the first run, or make a second engine",
            )
        self._running = True
        try:
            if self.interpret:
                self._run_plain(name)
            else:
                self._programs[name].run(self._print)
        finally:
            self._running = False
        self._runs += 1

    def _name(self, program: str | int) -> str:
        names = list(self._executable.programs)
        if isinstance(program, str) and program in names:
            return program
        if isinstance(program, int | np.integer) and 0 <= program < len(names):
            return names[program]
        hint = did_you_mean(program, names) if isinstance(program, str) else ""
        raise UnknownName(
            f"the engine has no program {program!r}{hint}",
            at=here(),
            found="programs: " + ", ".join(repr(name) for name in names),
            fix=f"engine.run({names[0]!r})",
        )

    def _run_plain(self, name: str) -> None:
        code = self._executable.programs[name]

        def launch(row: int) -> None:
            first: plain.VertexFault | None = None
            for part in parts_of(self._executable, code, row):
                if isinstance(part, Moves):
                    plain.move(part, self._arena)
                    continue
                try:
                    plain.run_vertices(part, self._arena, self._computes[part.cls])
                except plain.VertexFault as fault:
                    # Groups go by class: a later one may hold an earlier vertex.
                    if first is None or fault.number < first.number:
                        first = fault
            if first is not None:
                faults.raise_plain(self._executable, code, row, first, self._arena)

        plain.run_ops(code.ops, self._counts[name], launch, self._print)

    def _print(self, number: int) -> None:
        step = self._executable.prints[number]
        text = format_tensor(step.title, self.read(step.tensor))
        print(text, file=self.print_stream or sys.stderr)

    # -- host access -------------------------------------------------------------------------

    def write(self, tensor: Tensor, array: npt.ArrayLike | QuarterMetadata) -> None:
        """Write host values to a tensor.

        Args:
            tensor: any view without aliases and constants.
            array: values of its shape, or one number for all elements, under NumPy's
                same_kind casting; integers must lie in the range of the element type. For
                QUARTER_METADATA a `QuarterMetadata`.

        Raises:
            TensorCreationError: when the shapes differ.
            ElementTypeError: when the values are of a kind the tensor cannot hold.
            SizeOverflowError: when a value is out of range.
            GraphConnectionError: when the tensor may not be written.
        """
        self._check_owner(tensor, "engine.write")
        what = f"engine.write to '{tensor.name}'"
        if not tensor.is_parallel_writeable():
            reason, fact = why_not_writeable(tensor)
            fix = "write to the variable itself"
            if tensor.contains_constant():
                kind = repr(tensor.element_type)
                fix = f"make it a variable: graph.add_variable({kind}, {tensor.shape}, mapping=...)"
            raise GraphConnectionError(
                f"{what}: the tensor {reason}", at=here(), found=fact, fix=fix
            )
        metadata = self._metadata(tensor)
        values = elements(tensor.element_type, array, what=what, at=here(), metadata=metadata)
        if values.shape not in ((), tensor.shape):
            raise TensorCreationError(
                f"{what}: an array of shape {values.shape} for a tensor of shape {tensor.shape}",
                at=here(),
                fix=f"array.reshape({tensor.shape})"
                if values.size == tensor.num_elements
                else "slice the tensor or the array",
            )
        self._arena.write(tensor.view, tensor.element_type, values)

    def read(self, tensor: Tensor) -> npt.NDArray[Any]:
        """Return a copy of a tensor's values.

        Args:
            tensor: any view.

        Returns:
            Array of the tensor's shape and its element type's dtype; of QUARTER the values, as
            float32. The codes are those of `tensor.reinterpret(UNSIGNED_CHAR)`.
        """
        self._check_owner(tensor, "engine.read")
        stored = self._arena.read(tensor.view, tensor.element_type)
        metadata = self._metadata(tensor)
        return stored if metadata is None else decode(stored, metadata)

    def _metadata(self, tensor: Tensor) -> QuarterMetadata | None:
        """Return the format and scale that a tensor has now; None where it is not QUARTER."""
        if not tensor.element_type.requires_metadata:
            return None
        if tensor.metadata is None:  # of no elements, so that any will do
            return QuarterMetadata("F143")
        byte = self._arena.read(tensor.metadata.view, QUARTER_METADATA)
        return QuarterMetadata.from_byte(int(byte.item()))

    def _check_owner(self, tensor: Tensor, call: str) -> None:
        if not isinstance(tensor, Tensor):
            raise ElementTypeError(
                f"{call}: {tensor!r:.60} is not a tensor", at=here(), fix=f"{call}(t) of a tensor"
            )
        if tensor.graph is not self._executable.graph:
            raise GraphConnectionError(
                f"{call}: tensor '{tensor.name}' belongs to another graph than this engine's",
                at=here(),
                fix="use tensors of the graph the engine was made from",
            )
        late = [s for s in storages(tensor.view) if not self._executable.layout.holds(s)]
        if late:
            variable = self._executable.graph.variable_of(late[0])
            raise GraphConnectionError(
                f"{call}: '{variable.name}' was added to the graph after this engine was made",
                at=here(),
                found=f"added at {variable.location}",
                fix="make the engine after all variables are added",
            )

    # -- reporting ---------------------------------------------------------------------------

    def report(self) -> Report:
        """Return what has run so far, and how the variables are spread."""
        steps = vertices = copied = gathered = 0
        for name, code in self._executable.programs.items():
            for row, count in enumerate(self._counts[name].tolist()):
                if not count or code.ops[row, 0] != LAUNCH:
                    continue
                step = self._executable.steps[code.ops[row, 1]]
                if isinstance(step, CopyStep):
                    steps, copied = steps + count, copied + count * step.moves.size_bytes
                elif code.ops[row, 2] == COMPUTE:
                    steps, vertices = steps + count, vertices + count * step.num_vertices
                    gathered += count * (step.gather.size_bytes + step.scatter.size_bytes)
        return Report(
            runs=self._runs,
            steps=steps,
            vertices=vertices,
            bytes_copied=copied,
            bytes_gathered=gathered,
            tiles=self._executable.graph.target.tiles,
            elements_per_tile=self._executable.elements_per_tile,
        )

    def __repr__(self) -> str:
        programs = counted(len(self._executable.programs), "program")
        form = "interpreted" if self.interpret else "compiled"
        return (
            f"<Engine {programs} on "
            f"{self._executable.graph.target.tiles:,} tiles, {form}, {self.checks} checks>"
        )

    readTensor = read
    writeTensor = write


def parts_of(executable: Executable, code: Code, row: int) -> tuple[Moves | Vertices, ...]:
    """Return what the launch in an op row runs."""
    assert code.ops[row, 0] == LAUNCH
    step = executable.steps[code.ops[row, 1]]
    return phases_of(step)[int(code.ops[row, 2])]


def _vertex_classes(executable: Executable) -> list[type[Any]]:
    groups = (g for step in executable.steps if isinstance(step, ComputeStep) for g in step.groups)
    return list(dict.fromkeys(group.cls for group in groups))
