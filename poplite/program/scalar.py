"""The scalars that decide how a program goes on."""

from __future__ import annotations

from poplite.errors import ControlProgramError, ElementTypeError
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.text import type_and_shape
from poplite.source import here
from poplite.text import clipped, counted, of_type
from poplite.types import BOOL, INT, UNSIGNED_INT

NUMBERS = INT, UNSIGNED_INT
"""Element types that a Switch can tell apart."""


def deciding(tensor: object, program: str, role: str) -> Tensor:
    """Return a tensor that a program reads to decide.

    Args:
        tensor: what the user gave.
        program: the kind of program.
        role: "predicate", or "control" of a Switch, which cannot be BOOL.

    Raises:
        ElementTypeError: when it is no tensor of a type that decides.
        ControlProgramError: when it has not one element.

    >>> from poplite.graph import Graph
    >>> x = Graph().add_variable("float32", (), "x")
    >>> deciding(x, "If", "predicate")
    Traceback (most recent call last):
    ...
    poplite.errors.ElementTypeError: If: predicate 'x' is of FLOAT, not BOOL, INT or UNSIGNED_INT...
    """
    types = NUMBERS if role == "control" else (BOOL, *NUMBERS)
    *others, last = map(repr, types)
    names = f"{', '.join(others)} or {last}"
    if not isinstance(tensor, Tensor):
        raise ElementTypeError(
            f"{program}: {role} {clipped(tensor, 60)} is not a tensor",
            at=here(),
            found=of_type(tensor),
            fix=f"{role} = graph.add_variable({types[0]!r}, (), mapping=0); a vertex writes it",
        )
    if tensor.element_type not in types:
        raise ElementTypeError(
            f"{program}: {role} '{tensor.name}' is of {tensor.element_type!r}, not {names}",
            at=here(),
            found=type_and_shape(tensor),
            fix="let a vertex compare, and write the outcome to such a scalar",
        )
    if tensor.num_elements != 1:
        raise ControlProgramError(
            f"{program}: {role} '{tensor.name}' has {counted(tensor.num_elements, 'element')}, "
            "but one decides",
            at=here(),
            found=type_and_shape(tensor),
            fix="slice one element, t[0], or combine them in a vertex",
        )
    return tensor
