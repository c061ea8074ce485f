"""Evaluates what is fixed before `compute` runs: literals, module numbers, class numbers.

A vertex is compiled with the values that such names have at that moment::

    TAPS = 9                            # a module number

    class Blur(Vertex):
        SCALE = 1 / 16                  # a class number, self.SCALE

Negative indices, steps of ranges and shift counts are checked where they consist of these.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

import numpy as np

from poplite.poplar.callable_values import number_or_text
from poplite.vertex.compute.parse.dialect import BINARY, FOLDED, UNARY, Scope, check_range, is_self

Constant = bool | int | float
"""A number fixed before `compute` runs."""

_UNARY: Mapping[str, Callable[[Any], Constant]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
}


class Constants:
    """The constants visible in one function."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def named(self, node: ast.expr) -> Constant | None:
        """Return the number for which a name or an attribute stands.

        None for locals, fields and whatever is not a name.  Raises `VertexCompileError` for a name
        that stands for no number.
        """
        if isinstance(node, ast.Attribute) and is_self(node.value):
            return self._of_class(node)
        if not isinstance(node, (ast.Name, ast.Attribute)) or self._scope.is_local(node):
            return None
        value = number_or_text(self._scope.global_of(node))
        if _is_number(value):
            check_range(self._scope, node, value)
            return value
        is_table = isinstance(value, np.ndarray | list | tuple | dict)
        return self._scope.refuse(
            node,
            f"'{ast.unparse(node)}' is {type(value).__name__}, not an int, float or bool",
            "pass the values to a field: table: State[Vector[FLOAT]]; a vertex reads self.table[i]"
            if is_table
            else "convert it where it is defined",
        )

    def evaluate(self, node: ast.expr) -> Constant | None:
        """Evaluate an expression of constants; None when it depends on anything else."""
        try:
            return self._evaluate(node)
        except (ArithmeticError, TypeError, KeyError, ValueError):
            return None

    def _of_class(self, node: ast.Attribute) -> Constant | None:
        vertex = self._scope.vertex
        if node.attr in vertex.fields:
            return None
        value = next((vars(c)[node.attr] for c in vertex.__mro__ if node.attr in vars(c)), None)
        value = number_or_text(value)
        if not _is_number(value):
            return None
        check_range(self._scope, node, value)
        return value

    def _evaluate(self, node: ast.expr) -> Constant | None:
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return value
            case ast.Name() | ast.Attribute():
                return self.named(node)
            case ast.UnaryOp(op=op, operand=operand):
                return _apply(_UNARY[UNARY[type(op)]], self._evaluate(operand))
            case ast.BinOp(left=left, op=op, right=right):
                function = FOLDED[BINARY[type(op)]]
                return _apply(function, self._evaluate(left), self._evaluate(right))
        return None


def is_literal(node: ast.expr) -> bool:
    """Return whether a node is a literal, or `not` of one.

    >>> is_literal(ast.parse("not True", mode="eval").body)
    True
    """
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return is_literal(node.operand)
    return isinstance(node, ast.Constant)


def _is_number(value: object) -> TypeGuard[Constant]:
    """Return whether a value is a Python number: subclasses, as NumPy's, have other rules."""
    return type(value) in (bool, int, float)


def _apply(function: Callable[..., Constant], *values: Constant | None) -> Constant | None:
    return None if None in values else function(*values)
