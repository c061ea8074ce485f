"""What guards call: functions for compilers, which say what they are in compiled code."""

from __future__ import annotations

import ast
from typing import Any

NUMBER_BITS = 32
"""Of a small number, beside its sign."""


def element(owner: Any, index: int, is_inside: bool) -> Any:
    """Return an element or a row; it is checked where `is_inside` is false."""
    raise NotImplementedError


def store(owner: Any, index: int, value: Any, is_inside: bool) -> None:
    """Store an element; it is checked where `is_inside` is false."""
    raise NotImplementedError


def fits(owner: Any, least: int, most: int) -> bool:
    """Tell whether indices from `least` to `most` are inside."""
    raise NotImplementedError


def row_fits(rows: Any, row: int, least: int, most: int) -> bool:
    """Tell whether they are inside a row, and the row inside the list."""
    raise NotImplementedError


def rows_fit(rows: Any, least: int, most: int) -> bool:
    """Tell whether they are inside all rows, which have one length."""
    raise NotImplementedError


def is_small(number: int) -> bool:
    """Tell whether a number has at most `NUMBER_BITS` bits beside its sign."""
    raise NotImplementedError


FUNCTIONS = {
    f"@{each.__name__}": each for each in (element, store, fits, row_fits, rows_fit, is_small)
}
"""By their names in the text; these are no identifiers, so no name of the user's can hide them."""


def call(name: str, *arguments: ast.expr) -> ast.Call:
    """Return a call of one of them."""
    return ast.Call(ast.Name(f"@{name}", ast.Load()), list(arguments), [])
