"""What a vertex class is: fields, layouts, templates; `compute` is the language of its work."""

from poplite.vertex.vertex import InOut, Input, MultiVertex, Output, State, Vector, Vertex

__all__ = ["InOut", "Input", "MultiVertex", "Output", "State", "Vector", "Vertex"]
