"""What a vertex class is: fields, layouts, templates; `compute` is the language of its work."""

from poplite.vertex.vertex import (
    Field as Field,
    InOut as InOut,
    Input as Input,
    Output as Output,
    State as State,
    Vector as Vector,
    Vertex as Vertex,
)
