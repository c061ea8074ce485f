"""The slots of vertices without a formula.

    slots_of(Axpy, shapes, target)    Priced([80, 289], "estimated", "10 + 4.35 len(x)")

The class is compiled once on each machine, as drivers are, and is priced again without Numba.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import VertexCompileError
from poplite.graph.compute_sets.shape_fields import WORDS, fields_of
from poplite.jit import digest
from poplite.jit.build import Builds, Native, built
from poplite.jit.job import Job
from poplite.machine.facts import CODE_FACTS
from poplite.machine.target import Target
from poplite.simulator.pricing.formula import formula_text
from poplite.simulator.pricing.parameters import parameters_of
from poplite.simulator.pricing.schedule import PARTS
from poplite.simulator.pricing.slot_function import MOST_SLOTS, OVER
from poplite.simulator.pricing.taint import DATA
from poplite.vertex.compute import Checked, code_identity, remembered
from poplite.vertex.vertex import MultiVertex, Vertex


@dataclass(frozen=True, slots=True, eq=False)
class Priced:
    """What vertices of a class take.

    Attributes:
        slots: int64[shapes], worker slots; for a MultiVertex tile cycles.
        source: "estimated" from the compiled code; or "guessed", where data decide what is done:
            then the slots are those of vertices whose data are all zero. Also for what takes longer
            than `MOST_SLOTS`, and what is never compiled, as it prints.
        formula: the slots in terms of lengths and integers, as text; None where there is no
            simple formula.
    """

    slots: Int64
    source: Literal["estimated", "guessed"]
    formula: str | None


def slots_of(cls: type[Vertex], shapes: Int64, target: Target) -> Priced:
    """Return what vertices of a class take, by their compiled code.

    `shapes`, int64[shapes, words], are those of `poplite.graph.compute_sets.vertex_shapes`.  Raises
    `VertexCompileError` when `compute` is outside the dialect.

    >>> from poplite.types import FLOAT
    >>> from poplite.vertex import InOut, Vector
    >>> class Twice(Vertex):
    ...     x: InOut[Vector[FLOAT]]
    ...     def compute(self) -> None:
    ...         for i in range(len(self.x)):
    ...             self.x[i] = 2.0 * self.x[i]
    >>> priced = slots_of(Twice, np.array([[10], [100]]), Target())
    >>> priced.slots.tolist(), priced.source, priced.formula
    ([40, 310], 'estimated', '10 + 3 len(x)')
    """
    taking = _taking(cls, target)
    if taking is None:
        return Priced(np.full(len(shapes), int(target.cost("slot_entry"))), "guessed", None)
    parts = taking.parts(shapes)
    is_over = parts == OVER
    slots = np.where(is_over, MOST_SLOTS, (parts + PARTS // 2) // PARTS)
    if issubclass(cls, MultiVertex):
        slots = int(target.cost("supervisor_overhead")) + target.workers * slots
    guessed = is_data_dependent(cls, target) or bool(is_over.any())
    return Priced(slots, "guessed" if guessed else "estimated", _formula(cls, target))


def is_data_dependent(cls: type[Vertex], target: Target) -> bool:
    """Tell whether data decide how long vertices of a class take, if it is ever compiled."""
    taking = _taking(cls, target)
    return taking is not None and DATA in taking.deciding


def deciding_fields(cls: type[Vertex], target: Target) -> frozenset[str]:
    """Return the edges whose data decide how long vertices of a class take."""
    taking = _taking(cls, target)
    if taking is None or DATA not in taking.deciding:
        return frozenset()
    edges = {name: field for name, field in cls.fields.items() if field.is_edge}
    found = {name for name in taking.deciding if name in edges}
    if any(edges[name].writes for name in found):  # what is there may come from all others
        found |= {name for name, field in edges.items() if field.reads}
    return frozenset(found)


@dataclass(frozen=True, slots=True, eq=False)
class _Taking:
    """The native code that returns the slots of a class.

    Attributes:
        workers: how many run each vertex.
        deciding: names of the arguments on which the slots depend, and `DATA`.
    """

    code: Native
    workers: int
    deciding: tuple[str, ...]

    def parts(self, shapes: Int64) -> Int64:
        """Return 64ths of a slot for each shape, or `OVER`."""
        table = np.ascontiguousarray(shapes, np.int64)
        found = np.empty(len(table), np.int64)
        words = [ctypes.c_void_p, *[ctypes.c_int64] * 4, ctypes.c_void_p]
        call = ctypes.CFUNCTYPE(None, *words)(self.code.address)
        sizes = (*table.shape, self.workers, MOST_SLOTS * PARTS)
        call(table.ctypes.data, *sizes, found.ctypes.data)
        return found


def _taking(cls: type[Vertex], target: Target) -> _Taking | None:
    """Return the code for the slots of a class; None for a class that is never compiled."""

    def made(checked: Checked) -> _Taking | None:
        return _compiled(checked.vertex, target)

    try:
        return remembered(cls, ("slots", target), made)
    except VertexCompileError:
        return None


def _compiled(cls: type[Vertex], target: Target) -> _Taking | None:
    try:
        code = built(_name(cls, target), partial(_job, cls, target))
    except Exception as error:
        # Recognized by their module, as importing Numba's error classes would import Numba.
        if type(error).__module__.startswith("numba."):
            return None  # nor will there be a driver: the class only runs as plain Python
        raise
    workers = target.workers if issubclass(cls, MultiVertex) else 1
    return _Taking(code, workers, tuple(code.about["deciding"]))


def add_slots(builds: Builds, cls: type[Vertex], target: Target) -> None:
    """Add the code for the slots of a class to what is being compiled.

    Raises `VertexCompileError` when `compute` is outside the dialect.
    """
    builds.add(_name(cls, target), partial(_job, cls, target))


def _job(cls: type[Vertex], target: Target) -> Job:
    from poplite.simulator.pricing.native_slots import slots_job

    return slots_job(_name(cls, target), cls, _costs(target))


def _name(cls: type[Vertex], target: Target) -> str:
    return digest([__name__], "slots", code_identity(cls), _costs(target))


def _costs(target: Target) -> dict[str, float]:
    return {name: target.cost(name) for name in CODE_FACTS}


def _formula(cls: type[Vertex], target: Target) -> str | None:
    """Return the slots of a class as text, if the shapes of its vertices decide them."""
    taking = _taking(cls, target)
    if taking is None or DATA in taking.deciding or issubclass(cls, MultiVertex):
        return None  # the slowest worker decides, so that there is no simple formula
    parameters = [p for p in parameters_of(cls) if p.name in taking.deciding]
    names = [_display(p.field, p.what, p.kind == "rows") for p in parameters]
    words = sum(WORDS[field.kind] for field in fields_of(cls))

    def take(values: Sequence[Sequence[int]]) -> list[int]:
        shapes = np.ones((len(values), words), np.int64)
        for k, parameter in enumerate(parameters):
            column = [row[k] for row in values]
            if parameter.kind == "rows" and parameter.what == "length":
                shapes[:, parameter.word + 1] = column
            else:
                shapes[:, parameter.word] = column
        for field in fields_of(cls):
            if field.kind == "rows":
                shapes[:, field.first_word + 1] *= shapes[:, field.first_word]
        taken: list[int] = taking.parts(shapes).tolist()
        return taken

    return formula_text(take, names, PARTS)


def _display(field: str, what: str, in_rows: bool) -> str:
    if what == "value":
        return field
    return f"len({field}[0])" if in_rows and what == "length" else f"len({field})"
