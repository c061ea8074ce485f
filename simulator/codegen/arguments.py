"""The arguments of a lowered `compute`: what it takes for every field.

x: Input[Vector[FLOAT]]             x, x.length
rows: Input[Vector[Vector[HALF]]]   rows, rows.rows, rows.stride, rows.length, rows.table
y: Output[QUARTER]                  y, y.byte, its metadata
n: State[INT]                       n, n.value
the vertex itself                   self.about; for a MultiVertex also self.worker
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from llvmlite import ir

from poplite.simulator.codegen.accessors import INDEX, TRUTH, seen_type, storage_type
from poplite.vertex.vertex import Field, MultiVertex, Vertex

RESULT = ir.LiteralStructType([ir.IntType(32), TRUTH])
"""The result of `compute`: its status, and what it returned; true where it returns nothing."""

Part = Literal["data", "value", "length", "rows", "stride", "table", "metadata", "about", "worker"]

_PARTS: tuple[tuple[Part, ...], ...] = (
    ("data",),
    ("data", "length"),
    ("data", "rows", "stride", "length", "table"),
)


@dataclass(frozen=True, slots=True, eq=False)
class DriverArgument:
    """One argument: the number of its field (None for the vertex itself), and which part of it."""

    name: str
    field: int | None
    part: Part
    kind: ir.Type


def arguments_of(cls: type[Vertex]) -> list[DriverArgument]:
    """Return the arguments of a lowered `compute`, in order."""
    found = [
        DriverArgument(_name(name, part), number, part, _kind(field, part))
        for number, (name, field) in enumerate(cls.fields.items())
        for part in _parts(field)
    ]
    found.append(DriverArgument("self.about", None, "about", INDEX.as_pointer()))
    if issubclass(cls, MultiVertex):
        found.append(DriverArgument("self.worker", None, "worker", INDEX))
    return found


def _name(field: str, part: Part) -> str:
    # The metadata of field x is a field of its own, called x.metadata.
    return field if part == "data" else f"{field}.{'byte' if part == 'metadata' else part}"


def _parts(field: Field) -> tuple[Part, ...]:
    parts = _PARTS[field.depth]
    if field.role == "state" and not field.depth:
        parts = (*parts, "value")
    return (*parts, "metadata") if field.element.requires_metadata else parts


def _kind(field: Field, part: Part) -> ir.Type:
    if part == "data":
        return storage_type(field.element).as_pointer()
    if part == "value":
        return seen_type(field.element)
    if part == "metadata":
        return ir.IntType(8)
    return ir.IntType(8).as_pointer() if part == "table" else INDEX
