"""What happens when a vertex indexes outside a field: memory restored, the line named.

A checked run saves what a compute set writes in place.  After a fault that is put back, the
vertex runs once more as plain Python, which raises at the very line of `compute`, and memory
is put back again: to the user it is as if the compute set had not run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from poplite.compile.executable import Code, Executable
from poplite.compile.step import ComputeStep
from poplite.compute import calls_in
from poplite.errors import TensorIndexError
from poplite.simulator import plain
from poplite.simulator.memory import Arena
from poplite.vertex import Vertex


@dataclass(frozen=True, slots=True)
class Record:
    """What a checked access leaves behind when its index is out of range.

    Attributes:
        vertex: position of the vertex in its compute set.
        field: position of the field in the vertex class.
        index: the index.
        length: elements of the field, or rows of the list.
    """

    vertex: int
    field: int
    index: int
    length: int


def raise_fault(
    executable: Executable,
    code: Code,
    row: int,
    record: Record,
    arena: Arena,
    computes: Mapping[type[Vertex], plain.Compute],
) -> NoReturn:
    """Restore memory and raise the error of a vertex that faulted.

    Args:
        executable: what ran.
        code: the program that ran.
        row: its row, the launch of a compute set's vertices.
        record: the fault.
        arena: the memory.
        computes: the interpreted form of each vertex class.

    Raises:
        PopliteError: what the vertex raises as plain Python, with its name and its step.
    """
    step = executable.steps[code.ops[row, 1]]
    assert isinstance(step, ComputeStep)
    vertex = executable.compute_sets[code.ops[row, 1]].vertices[record.vertex]
    plain.move(step.restore, arena)
    plain.move(step.gather, arena)
    try:
        for group in step.groups:
            plain.run_vertices(group, arena, computes[group.cls], only=record.vertex)
    except plain.VertexFault as fault:
        raise_plain(executable, code, row, fault, arena)
    finally:
        plain.move(step.restore, arena)
    # `exp` and its like may differ in the last place between the forms, and so may a branch.
    name = list(vertex.vertex_class.fields)[record.field]
    raise TensorIndexError(
        f"{vertex}: '{vertex.vertex_class.__name__}.{name}': index {record.index} of "
        f"{record.length} elements",
        at=vertex.vertex_class.location,
        where=_step(executable, code, row),
        found=f"the vertex was added at {vertex.location}; as plain Python it does not fault",
        fix="look for an index that hangs on the last digit of exp, log, sin, cos or tanh",
    )


def raise_plain(
    executable: Executable, code: Code, row: int, fault: plain.VertexFault, arena: Arena
) -> NoReturn:
    """Restore memory and raise the error of a vertex that ran as plain Python.

    Args:
        executable: what ran.
        code: the program that ran.
        row: its row, the launch of a compute set's vertices.
        fault: the vertex and its error.
        arena: the memory.

    Raises:
        PopliteError: the error with the vertex, the line of `compute` and the step.
    """
    step = executable.steps[code.ops[row, 1]]
    assert isinstance(step, ComputeStep)
    plain.move(step.restore, arena)
    vertex = executable.compute_sets[code.ops[row, 1]].vertices[fault.number]
    error = fault.error
    at, *callers = calls_in(error.__traceback__)
    calls = [f"called from {caller}" for caller in callers]
    worker = "" if fault.worker is None else f", worker {fault.worker}"
    raise type(error)(
        f"{vertex}{worker}: {error.what}",
        at=at,
        where=_step(executable, code, row),
        found="\n".join([*calls, f"the vertex was added at {vertex.location}"]),
        fix=error.fix,
    ) from error


def _step(executable: Executable, code: Code, row: int) -> str:
    name = executable.compute_sets[code.ops[row, 1]].name
    return f"step {code.step_numbers[row]:,} of {code.num_steps:,}: Execute '{name}'"
