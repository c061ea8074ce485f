"""The engine: a program bound to memory and compiled code, ready to run.

engine = Engine(graph, program)     checked, lowered, compiled, memory filled
engine.write(x, array)              host to device
engine.run()                        as often as you like; variables keep their values
engine.read(y)                      device to host
print(engine.report())
"""

from __future__ import annotations

import os
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

from poplite.compile.compiler import Programs, compile_graph
from poplite.compile.executable import Checks, Executable
from poplite.compile.step import ComputeStep, CopyStep
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
from poplite.simulator import native
from poplite.simulator.compiled import CompiledProgram, CompiledSteps
from poplite.simulator.host import Host
from poplite.simulator.interpreted import InterpretedProgram
from poplite.simulator.memory import Arena
from poplite.simulator.progress import Announcer, Progress, shown
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
        progress: tell on standard error what is being done. Without it only compiling is
            told, when it takes longer than a second.

    Raises:
        PopliteError: for every fault that can be found before running.

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
        progress: bool = False,
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
        with shown("engine", "vertex classes", wanted=progress) as bar:
            bar.note("checking and lowering")
            self._executable = compile_graph(graph, program, checks, interpret=interpret)
            self._make(interpret, bar)

    def _make(self, interpret: bool, progress: Progress) -> None:
        """Make ready what the executable needs."""
        self.checks: Checks = self._executable.checks
        self.interpret = interpret
        classes = _vertex_classes(self._executable)
        # Made now, so that later changes of the numbers they name do not reach this engine.
        replays = interpret or self.checks == "strict"
        self._computes = {
            cls: interpreted(cls) for cls in classes if replays or check_vertex(cls).raises
        }
        self._arena = Arena(self._executable.layout)
        self._host = Host(self._executable.actions, self._arena)
        self._counts = {
            name: np.zeros(len(code.ops), np.int64)
            for name, code in self._executable.programs.items()
        }
        self._runs = 0
        self._runs_now: dict[str, object] = {}
        with Announcer(progress) as announcer, native.announcing(announcer):
            self._programs = self._bound(progress)

    def _bound(
        self, progress: Progress
    ) -> dict[str, CompiledProgram] | dict[str, InterpretedProgram]:
        """Return the programs, ready to run."""
        executable, arena, computes = self._executable, self._arena, self._computes
        codes = executable.programs.items()
        if self.interpret:
            return {
                name: InterpretedProgram(executable, code, self._counts[name], arena, computes)
                for name, code in codes
            }
        steps = CompiledSteps(executable, arena, computes, progress)
        return {name: CompiledProgram(steps, code, self._counts[name]) for name, code in codes}

    # -- running -----------------------------------------------------------------------------

    def run(self, program: str | int = 0, *, progress: bool = False) -> None:
        """Run a program to its end.

        Ctrl-C ends it early, and the engine can be used on: a compute set that was cut in the
        middle is undone where anything of it was saved (strict checks, or vertices that raise
        exceptions); of another one each vertex has run or has not. A Copy that was cut may have
        copied a part.

        Args:
            program: its name, or its position.
            progress: tell on standard error how many steps have run.

        Raises:
            UnknownName: when there is no such program.
            TensorIndexError: when a vertex indexes outside a field (strict checks).
            ApplicationRuntimeError: when a vertex raises an exception.
            ControlProgramError: when the engine is running already.
        """
        name = self._name(program)
        mine = object()
        try:
            # In one step, so that Ctrl-C finds the mark either made or not.
            if self._runs_now.setdefault("run", mine) is not mine:
                raise ControlProgramError(
                    f"engine.run({program!r}): the engine is running already",
                    at=here(),
                    found="called from its own print stream, or from a second thread",
                    fix="wait for the first run, or make a second engine",
                )
            if progress:
                self._run_shown(name)
            else:
                self._programs[name].run(self._host.calls, lambda: None)
        finally:
            if self._runs_now.get("run") is mine:
                del self._runs_now["run"]
        self._runs += 1

    def _run_shown(self, name: str) -> None:
        code, counts = self._executable.programs[name], self._counts[name]
        before = int(counts[code.step_rows].sum())
        with shown(f"run {name!r}", "steps", code.num_runs, wanted=True) as bar:
            self._programs[name].run(
                self._host.calls,
                lambda: bar.update(lambda: int(counts[code.step_rows].sum()) - before),
            )
            bar.update(lambda: int(counts[code.step_rows].sum()) - before)

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

    @property
    def print_stream(self) -> TextIO | None:
        """Where PrintTensor writes; None is standard error."""
        return self._host.print_stream

    @print_stream.setter
    def print_stream(self, stream: TextIO | None) -> None:
        self._host.print_stream = stream

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
            for row in code.step_rows.tolist():
                count = int(self._counts[name][row])
                step = self._executable.steps[code.ops[row, 1]]
                steps += count
                if isinstance(step, CopyStep):
                    copied += count * step.moves.size_bytes
                else:
                    vertices += count * step.num_vertices
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


def _vertex_classes(executable: Executable) -> list[type[Any]]:
    groups = (g for step in executable.steps if isinstance(step, ComputeStep) for g in step.groups)
    return list(dict.fromkeys(group.cls for group in groups))
