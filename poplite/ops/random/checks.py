"""What the arguments of draws have to be."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from poplite.errors import ElementTypeError, InvalidOption
from poplite.expr.tree import ElementClass
from poplite.graph.tensor.refused import no_tensor
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.operands import beside
from poplite.types import ElementTypeLike, element_type as type_of

TWO_32 = 1 << 32
"""Words there are."""

LARGEST = float(np.finfo(np.float32).max)


def drawn_type(
    what: str,
    shape: Any,
    element_type: ElementTypeLike,
    types: tuple[ElementClass, ...],
    out: Tensor | None,
) -> ElementClass:
    """Return the element type of what is drawn: of `out`, or as asked."""
    if (shape is None) == (out is None):
        raise InvalidOption(
            f"{what}: {'no shape, and no out' if out is None else 'a shape beside out'}",
            fix=f"{what}(key, shape), or {what}(key, out=tensor)",
        )
    if out is not None and not isinstance(out, Tensor):
        raise no_tensor(f"{what}, out", out)
    found = type_of(element_type) if out is None else out.element_type
    if found not in types:
        raise ElementTypeError(
            f"{what}: numbers of {found!r} are not drawn",
            fix="one of " + ", ".join(repr(each) for each in types),
        )
    return found


def number_of(what: str, name: str, value: object) -> float:
    """Return a number as a Python float."""
    if isinstance(value, (int, float, np.floating, np.integer)):
        with suppress(OverflowError):  # of an integer beyond floats
            return float(value)
    raise beside(what, name, value, f"a number, such as {name}=0.5")


def rounded(what: str, name: str, value: object, dtype: np.dtype[Any]) -> Any:
    """Return a finite number of a dtype."""
    number = number_of(what, name, value)
    with np.errstate(over="ignore"):
        rounded = dtype.type(number)
    if not np.isfinite(rounded):
        raise beside(what, name, value, f"a number that {dtype} has")
    return rounded


def threshold(what: str, name: str, value: object) -> int:
    """Return 2^32 times a probability."""
    number = number_of(what, name, value)
    if not 0 <= number <= 1:
        raise beside(what, name, value, "from 0 to 1")
    return round(number * TWO_32)
