"""Products of matrices: which shapes multiply, and what to write where they do not.

    [m, k] @ [k, n]             [m, n]
    [k] @ [k, n], [m, k] @ [k]  [n], [m]; of two vectors one number
    [g, m, k] @ [g, k, n]       [g, m, n]; dimensions before the last two are broadcast

The rules are those of `numpy.matmul`.
"""

from __future__ import annotations

import math
from itertools import zip_longest

Shape = tuple[int, ...]


def product_shape(one: Shape, other: Shape) -> Shape | None:
    """Return the shape of a product; None for shapes that do not fit.

    >>> product_shape((7, 1, 4, 6), (3, 6, 5))
    (7, 3, 4, 5)
    """
    if not one or not other or one[-1] != other[-2:][0]:
        return None
    groups: list[int] = []
    for a, b in zip_longest(one[-3::-1], other[-3::-1], fillvalue=1):
        if a != b and 1 not in (a, b):
            return None
        groups.append(b if a == 1 else a)
    return (*groups[::-1], *one[-2:-1], *(other[-1:] if len(other) > 1 else ()))


def misfit(one: Shape, other: Shape) -> str:
    """Return why two shapes do not fit."""
    if not one or not other:
        return "a number has no rows; a * b multiplies each element"
    if one[-1] == other[-2:][0]:
        return "dimensions before the last two are equal, or 1"
    return f"each row of the left has {one[-1]:,}, each column of the right {other[-2:][0]:,}"


def fitting(names: tuple[str, str] | None, one: Shape, other: Shape, call: str) -> str:
    """Return how two operands could be multiplied whose shapes do not fit.

    `names` are those of tensors, None where one is an expression; `call` multiplies them.
    """
    for left, shape in _as_matrix(names and names[0], "left", one, (1, *one)):
        for right, other_shape in _as_matrix(names and names[1], "right", other, (*other, 1)):
            if len(shape) == len(other_shape) == 2 and shape[1] == other_shape[0]:
                how = call.format(left, right) if names else f"{left}, by {right}"
                return f"{how}: {shape} by {other_shape}"
    depth = one[-1] if one else 1
    return f"a right operand of shape ({depth}, columns); no transposition of the two fits"


def _as_matrix(name: str | None, side: str, shape: Shape, vector: Shape) -> list[tuple[str, Shape]]:
    """Return the matrices that an operand may be meant as, with what makes them of it.

    `vector` is its shape where it is a vector, `side` which one it is, for words.
    """
    text = name or f"the {side} operand"
    transposed, reshaped = (".T", ".reshape") if name else (", transposed", ", reshaped to ")
    if len(shape) == 2:
        turned = text.removesuffix(".T") if text.endswith(".T") else f"{text}{transposed}"
        return [(text, shape), (turned, shape[::-1])]
    if len(shape) > 2 and side == "right":
        return [(text, shape)]
    rows = vector if len(shape) == 1 else (math.prod(shape[:-1]), *(shape[-1:] or (1,)))
    return [(f"{text}{reshaped}({rows})" if name else f"{text}{reshaped}{rows}", rows)]
