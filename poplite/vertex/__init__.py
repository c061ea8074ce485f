"""What a vertex class is: fields, layouts, templates; `compute` is the language of its work."""

from poplite.vertex.vertex import Field as Field
from poplite.vertex.vertex import InOut as InOut
from poplite.vertex.vertex import Input as Input
from poplite.vertex.vertex import Output as Output
from poplite.vertex.vertex import State as State
from poplite.vertex.vertex import Vector as Vector
from poplite.vertex.vertex import Vertex as Vertex
