"""The functions that guards call; `poplite.simulator.codegen.accesses` emits their code."""

from __future__ import annotations

import ast
from typing import Any

NUMBER_BITS = 29
"""Bits of a small number, without its sign: the product of two, and some sums, fit 64 bits."""


def element(owner: Any, index: int, is_inside: bool) -> Any:
    """Return an element or a row; it is checked where `is_inside` is false."""
    raise NotImplementedError


def store(owner: Any, index: int, value: Any, is_inside: bool) -> None:
    """Store an element; it is checked where `is_inside` is false."""
    raise NotImplementedError


def lanes(owner: Any, first: int, count: int, is_inside: bool) -> Any:
    """Return lanes of a vector; they are checked where `is_inside` is false."""
    raise NotImplementedError


def holds(is_inside: bool) -> bool:
    """Return whether a guard holds: always in code without checks, of which one form is left."""
    raise NotImplementedError


def fits(owner: Any, least: int, most: int) -> bool:
    """Return whether indices from `least` to `most` are inside."""
    raise NotImplementedError


def row_fits(rows: Any, row: int, least: int, most: int) -> bool:
    """Return whether these indices are inside a row, and the row inside the list."""
    raise NotImplementedError


def rows_fit(rows: Any, least: int, most: int) -> bool:
    """Return whether these indices are inside all rows, which have one length."""
    raise NotImplementedError


def is_small(number: int) -> bool:
    """Return whether a number has at most `NUMBER_BITS` bits besides its sign."""
    raise NotImplementedError


FUNCTIONS = {
    f"@{each.__name__}": each
    for each in (element, store, lanes, holds, fits, row_fits, rows_fit, is_small)
}
"""By name in the text; the names are no identifiers, so no name of the user's can hide them."""


def call(name: str, *arguments: ast.expr) -> ast.Call:
    """Return a call of one of these functions."""
    return ast.Call(ast.Name(f"@{name}", ast.Load()), list(arguments), [])
