"""What happens when a vertex indexes outside a field: memory restored, the line named.

A checked run saves what a compute set writes in place.  After a fault that is put back, the
vertex runs once more as plain Python, which raises at the very line of `compute`, and memory
is put back again: to the user it is as if the compute set had not run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import NoReturn

from poplite.compile.executable import Code, Executable
from poplite.compile.step import ComputeStep
from poplite.compute_set import VertexInstance
from poplite.errors import PopliteError, TensorIndexError
from poplite.simulator import plain
from poplite.simulator.memory import Arena
from poplite.source import SourceLocation
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
    place = where(executable, code, row)
    restore(step, arena)
    plain.move(step.gather, arena)
    try:
        for group in step.groups:
            plain.run_vertices(group, arena, computes[group.cls], only=record.vertex)
    except plain.VertexFault as fault:
        raise named(fault.error, vertex, place) from fault.error
    finally:
        restore(step, arena)
    # `exp` and its like may differ in the last place between the forms, and so may a branch.
    name = list(vertex.vertex_class.fields)[record.field]
    raise TensorIndexError(
        f"{vertex}: '{vertex.vertex_class.__name__}.{name}': index {record.index} of "
        f"{record.length} elements",
        at=vertex.vertex_class.location,
        where=place,
        found=f"the vertex was added at {vertex.location}; as plain Python it does not fault",
        fix="look for an index that hangs on the last digit of exp, log, sin, cos or tanh",
    )


def restore(step: ComputeStep, arena: Arena) -> None:
    """Put back what a compute set has written in place.

    Args:
        step: the lowered compute set, whose save phase has run.
        arena: the memory.
    """
    plain.move(step.restore, arena)


def where(executable: Executable, code: Code, row: int) -> str:
    """Return the step of a program that an op row belongs to, in words.

    Args:
        executable: what ran.
        code: the program.
        row: a launch of a compute set.
    """
    name = executable.compute_sets[code.ops[row, 1]].name
    return f"step {code.step_numbers[row]:,} of {code.num_steps:,}: Execute '{name}'"


def named(error: PopliteError, vertex: VertexInstance, place: str) -> PopliteError:
    """Return an error of `compute` with the vertex, the line and the step.

    Args:
        error: what the interpreted form raised.
        vertex: the vertex that ran.
        place: the step.
    """
    compute = vertex.vertex_class.compute.__code__
    line = _line_in(error.__traceback__, compute.co_filename) or compute.co_firstlineno
    return type(error)(
        f"{vertex}: {error.what}",
        at=SourceLocation(compute.co_filename, line, "compute"),
        where=place,
        found=f"the vertex was added at {vertex.location}",
        fix=error.fix,
    )


def _line_in(traceback: TracebackType | None, file: str) -> int | None:
    line = None
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == file:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line
