"""What a vertex class is: fields, layouts, templates; `compute` is the language of its work."""

from poplite.vertex.vertex import (
    RESERVED_NAMES,
    Field,
    InOut,
    Input,
    MultiVertex,
    Output,
    State,
    Vector,
    Vertex,
    field_of,
    has_compute,
    has_cycles,
)

__all__ = [
    "RESERVED_NAMES",
    "Field",
    "InOut",
    "Input",
    "MultiVertex",
    "Output",
    "State",
    "Vector",
    "Vertex",
    "field_of",
    "has_compute",
    "has_cycles",
]
