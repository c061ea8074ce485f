"""The interpreted engine: programs bound to memory, every vertex as plain Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from poplite.compile.emit import COMPUTE, Code
from poplite.compile.executable import Executable
from poplite.compile.moves import Moves
from poplite.compile.step import ComputeStep, phases_of
from poplite.simulator import faults, plain
from poplite.simulator.memory import Arena
from poplite.vertex import Vertex


class InterpretedProgram:
    """One program, ready to run as plain Python.

    Args:
        executable: what it belongs to.
        code: its ops.
        counts: int64[rows], increased for each time a launch runs.
        arena: the memory.
        computes: the interpreted form of each vertex class.
    """

    def __init__(
        self,
        executable: Executable,
        code: Code,
        counts: npt.NDArray[np.int64],
        arena: Arena,
        computes: Mapping[type[Vertex], plain.Compute],
    ) -> None:
        self._executable, self._code, self._counts = executable, code, counts
        self._arena, self._computes = arena, computes

    def run(self, actions: Sequence[Callable[[], None]], watch: Callable[[], None]) -> None:
        """Run to the end.

        Args:
            actions: what Python does, by number.
            watch: called now and then while the program runs.

        Raises:
            TensorIndexError: when a vertex indexed outside a field.
            ApplicationRuntimeError: when a vertex raised an exception.
        """

        def launch(row: int, calls: list[int]) -> None:
            self._launch(row, calls)
            watch()

        plain.run_ops(self._code.ops, self._counts, self._scalar, launch, actions)

    def _scalar(self, position: int, size: int) -> int:
        stored = self._arena.bytes[position : position + size]
        return int(stored.view(np.uint8 if size == 1 else np.int32)[0])

    def _launch(self, row: int, calls: list[int]) -> None:
        number, phase = self._code.ops[row, 1:3].tolist()
        step = self._executable.steps[number]
        first: plain.VertexFault | None = None
        try:
            for part in phases_of(step)[phase]:
                if isinstance(part, Moves):
                    plain.move(part, self._arena)
                    continue
                try:
                    plain.run_vertices(part, self._arena, self._computes[part.cls])
                except plain.VertexFault as fault:
                    # Groups go by class: a later one may hold an earlier vertex.
                    if first is None or fault.number < first.number:
                        first = fault
        except BaseException:  # KeyboardInterrupt above all
            if isinstance(step, ComputeStep) and phase >= COMPUTE:
                plain.move(step.restore if phase == COMPUTE else step.scatter, self._arena)
            raise
        if first is not None:
            code = self._code.called_from(calls)
            faults.raise_plain(self._executable, code, row, first, self._arena)
