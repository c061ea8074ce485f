"""Vertex classes: fields, layouts and templates; the package `compute` is for their code."""

from poplite.vertex.vertex import (
    Field as Field,
    InOut as InOut,
    Input as Input,
    Output as Output,
    State as State,
    Vector as Vector,
    Vertex as Vertex,
)
