"""Vertex classes: fields, layouts, templates; `compute` is the language of their code."""

from poplite.vertex.vertex import (
    Field as Field,
    InOut as InOut,
    Input as Input,
    Output as Output,
    State as State,
    Vector as Vector,
    Vertex as Vertex,
)
