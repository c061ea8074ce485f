"""What the NumPy references of vertex classes have in common."""

from __future__ import annotations

from typing import Any

import numpy as np

from poplite.errors import ElementTypeError
from poplite.vertex.templates import example
from poplite.vertex.vertex import Vertex, field_of


def dtype_of(cls: type[Vertex], name: str) -> np.dtype[Any]:
    """Return the NumPy type of a field of a class whose element types are named.

    Raises:
        ElementTypeError: for a template, which has no type yet.

    >>> from poplite.types import HALF
    >>> from poplite.vertices import Fill
    >>> dtype_of(Fill[HALF], "out")
    dtype('float16')
    """
    field = field_of(cls, name)
    if field.variable is not None:
        raise ElementTypeError(
            f"the element type of '{name}' of {cls.__name__} is not known",
            found=f"{cls.__name__} is a template",
            fix=f"name the type: {example(cls)}.reference(...)",
        )
    return np.dtype(field.element.dtype)
