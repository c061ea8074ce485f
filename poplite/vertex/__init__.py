"""What a vertex class is: fields, layouts, templates; `compute` is the language of its work."""

from poplite.vertex.vertex import Field, InOut, Input, Output, State, Vector, Vertex

__all__ = ["Field", "InOut", "Input", "Output", "State", "Vector", "Vertex"]
