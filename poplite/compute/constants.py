"""Evaluates what is fixed before `compute` runs: literals, module numbers, class numbers.

A vertex is compiled with the values that such names have at that moment::

    TAPS = 9                            # a module number

    class Blur(Vertex):
        SCALE = 1 / 16                  # a class number, self.SCALE

Compilers drop branches under conditions made of these; `Constants.evaluate` finds every
condition that one might drop.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from poplite.compute.dialect import BINARY, COMPARISONS, FOLDED, UNARY, Scope, check_range

Constant = bool | int | float

_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_UNARY: Mapping[str, Callable[[Any], Constant]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "not": operator.not_,
}


class Constants:
    """The constants visible in one `compute`.

    Args:
        scope: the method.
        local: returns the constant that a local stands for at this point, or None.
    """

    def __init__(self, scope: Scope, local: Callable[[str], Constant | None]) -> None:
        self._scope = scope
        self._local = local

    def named(self, node: ast.expr) -> Constant | None:
        """Return the number that a name, or an attribute, stands for throughout.

        Args:
            node: any expression.

        Returns:
            Its value; None for locals, fields and whatever is not a name.

        Raises:
            VertexCompileError: for a name that stands for no number.
        """
        if isinstance(node, ast.Attribute) and is_self(node.value):
            return self._of_class(node)
        if not isinstance(node, (ast.Name, ast.Attribute)) or self._scope.is_local(node):
            return None
        value = self._scope.global_of(node)
        if isinstance(value, (bool, int, float)) and type(value).__module__ == "builtins":
            check_range(self._scope, node, value)
            return value
        return self._scope.refuse(
            node,
            f"'{ast.unparse(node)}' is {type(value).__name__}, not an int, float or bool",
            "convert it where it is defined",
        )

    def evaluate(self, node: ast.expr) -> Constant | None:
        """Evaluate an expression made of constants, and of locals that stand for them.

        Args:
            node: any expression whose names are known to be defined.

        Returns:
            Its value; None when it depends on anything else.
        """
        try:
            return self._evaluate(node)
        except (ArithmeticError, TypeError, KeyError, ValueError):
            return None

    def truth(self, node: ast.expr) -> bool | None:
        """Return what a condition always comes to, even if only some of it is constant.

        Args:
            node: any expression whose names are known to be defined.
        """
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                inner = self.truth(operand)
                return None if inner is None else not inner
            case ast.BoolOp(op=op, values=parts):
                return _joined([self.truth(part) for part in parts], isinstance(op, ast.Or))
            case ast.Compare(left=left, ops=ops, comparators=others):
                values = [self.evaluate(part) for part in (left, *others)]
                pairs = zip(ops, values, values[1:], strict=False)
                return _joined([_compared(op, a, b) for op, a, b in pairs], False)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                known, one, other = (self.truth(part) for part in (test, body, orelse))
                if known is None:
                    return one if one is other else None
                return one if known else other
        value = self.evaluate(node)
        return None if value is None else bool(value)

    def _of_class(self, node: ast.Attribute) -> Constant | None:
        vertex = self._scope.vertex
        if node.attr in vertex.fields:
            return None
        value = next((vars(c)[node.attr] for c in vertex.__mro__ if node.attr in vars(c)), None)
        if not isinstance(value, (bool, int, float)):
            return None
        check_range(self._scope, node, value)
        return value

    def _evaluate(self, node: ast.expr) -> Constant | None:
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return value
            case ast.Name(id=name) if name in self._scope.locals:
                return self._local(name)
            case ast.Name() | ast.Attribute():
                return self.named(node)
            case ast.UnaryOp(op=op, operand=operand):
                return _apply(_UNARY[UNARY[type(op)]], self._evaluate(operand))
            case ast.BinOp(left=left, op=op, right=right):
                function = FOLDED[BINARY[type(op)]]
                return _apply(function, self._evaluate(left), self._evaluate(right))
            case ast.Compare():
                return self.truth(node)
            case ast.BoolOp(op=op, values=parts):
                last: Constant | None = None
                for part in parts:
                    last = self._evaluate(part)
                    if last is None or bool(last) is isinstance(op, ast.Or):
                        break
                return last
            case ast.IfExp(test=test, body=body, orelse=orelse):
                chosen = self._evaluate(test)
                return None if chosen is None else self._evaluate(body if chosen else orelse)
        return None


def is_self(node: ast.expr) -> bool:
    """Whether a node is the name `self`.

    >>> is_self(ast.Name("self")), is_self(ast.Name("x"))
    (True, False)
    """
    return isinstance(node, ast.Name) and node.id == "self"


def _apply(function: Callable[..., Constant], *values: Constant | None) -> Constant | None:
    return None if None in values else function(*values)


def _compared(op: ast.cmpop, one: Constant | None, other: Constant | None) -> bool | None:
    if one is None or other is None or COMPARISONS[type(op)] not in _COMPARED:
        return None
    return _COMPARED[COMPARISONS[type(op)]](one, other)


def _joined(truths: list[bool | None], stops: bool) -> bool | None:
    """What `and` (stops at False) or `or` (stops at True) makes of its parts."""
    if stops in truths:
        return stops
    return None if None in truths else not stops
