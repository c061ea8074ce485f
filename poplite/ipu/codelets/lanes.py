"""Lanes of `compute` in C++: `pl::Lanes`, with its functions in `poplite/ipu/text/lanes.hpp`.

a + self.x.lanes(i)    pl::joined<float>(pl::added<float>, a, pl::load<float>(x, i))
a.sum()                pl::folded<float>(pl::added<float>, a, 0.0f)
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from poplite.ipu.codelets.function import CodeletFunction
from poplite.ipu.codelets.spelling import ELEMENTS, NUMBERS, literal
from poplite.ipu.codelets.terms import Term
from poplite.vertex.compute.lanes import IDENTITIES, JOINS
from poplite.vertex.compute.parse.dialect import BINARY
from poplite.vertex.compute.typing.kinds import Kind
from poplite.vertex.compute.typing.values import ElementsValue, LanesOf

if TYPE_CHECKING:
    from poplite.ipu.codelets.expressions import ExpressionWriter

_OPERATORS = {
    "+": "added",
    "-": "subtracted",
    "*": "multiplied",
    "/": "divided",
    "&": "both",
    "|": "either",
    "^": "one_of",
}
_FUNCTIONS = {
    "add": "added",
    "multiply": "multiplied",
    "smaller": "smaller",
    "larger": "larger",
    "bit_and": "both",
    "bit_or": "either",
}
"""C++ functions by names in `poplite.vertex.compute.arithmetic`."""


class LanesWriter:
    """Writes the lanes of one function."""

    def __init__(self, function: CodeletFunction, expressions: ExpressionWriter) -> None:
        self.function, self.facts = function, function.facts
        self.expressions = expressions

    def code(self, node: ast.expr) -> str:
        """Return an expression of lanes."""
        kind = self.kind(node)
        assert kind is not None
        number = NUMBERS[kind]
        if isinstance(node, ast.Name):
            return self.function.variables.name(node.id, LanesOf(kind))
        if isinstance(node, ast.BinOp):
            return self.joined(node, node.op, node.left, node.right)
        if isinstance(node, ast.UnaryOp):
            return f"pl::each<{number}>(pl::negative<{number}>, {self.code(node.operand)})"
        assert isinstance(node, ast.Call)
        if node in self.facts.helpers:
            return self.expressions.calls.helper(node)
        self._refuse_effects(node)
        if node in self.facts.lane_accesses:
            return self._load(node, number)
        name = self.facts.calls[node]
        if name == "full":
            return f"pl::Lanes<{number}>({self.expressions.term(node.args[0]).to(kind).code})"
        if name == "map":
            return self._mapped(node, kind)
        if name == "absolute":
            value = self.code(node.args[0])
            return f"pl::each<{number}>([](auto each) {{ return pl::absolute(each); }}, {value})"
        operands = ", ".join(self._operand(each, kind) for each in node.args)
        if name == "fma":
            return f"pl::fused({operands})"
        return f"pl::joined<{number}>(pl::{_FUNCTIONS[name]}<{number}>, {operands})"

    def kind(self, node: ast.expr) -> Kind | None:
        """Return the kind of lanes; None for a number."""
        value = self.facts.containers.get(node)
        return value.kind if isinstance(value, LanesOf) else None

    def joined(
        self, node: ast.expr | ast.AugAssign, op: ast.operator, left: ast.expr, right: ast.expr
    ) -> str:
        """Return an operation on lanes, or on lanes and a number."""
        self._refuse_effects(left)
        self._refuse_effects(right)
        kind = self.facts.lanes[node]
        number = NUMBERS[kind]
        operands = f"{self._operand(left, kind)}, {self._operand(right, kind)}"
        function = _OPERATORS[BINARY[type(op)]]
        return f"pl::joined<{number}>(pl::{function}<{number}>, {operands})"

    def _operand(self, node: ast.expr, kind: Kind) -> str:
        if self.kind(node) is not None:
            return self.code(node)
        return f"{NUMBERS[kind]}({self.expressions.term(node).to(kind).code})"

    def _refuse_effects(self, node: ast.AST) -> None:
        if self.function.has_effect(node):
            self.function.checked.scope.refuse(
                node,
                "a helper that stores, or may stop, is called in the middle of lanes",
                "assign what it returns to a local before",
            )

    def _load(self, node: ast.Call, number: str) -> str:
        assert isinstance(node.func, ast.Attribute)
        vector = self.expressions.vector(node.func.value)
        places = ", ".join(self.expressions.term(each).code for each in node.args)
        return f"pl::load<{number}>({vector}, {places})"

    def store(self, node: ast.Call) -> str:
        """Return the statement that stores lanes in a vector."""
        assert isinstance(node.func, ast.Attribute)
        self._refuse_effects(node)
        owner = self.facts.containers[node.func.value]
        assert isinstance(owner, ElementsValue)
        vector = self.expressions.vector(node.func.value)
        first, value = self.expressions.term(node.args[0]).code, self.code(node.args[1])
        return f"pl::store<{ELEMENTS[owner.field.element]}>({vector}, {first}, {value});"

    def _mapped(self, node: ast.Call, kind: Kind) -> str:
        """Return a call of a function for each lane; its numbers are evaluated once."""
        from poplite.ipu.codelets.calls import function_term

        called, facts = self.facts.mapped[node], self.facts
        lanes, parameters, terms = [], [], []
        for each in called.args:
            lane = self.kind(each)
            if lane is None:
                terms.append(self.expressions.kept(self.expressions.term(each)))
                continue
            name = self.function.variables.temporary("lane")
            lanes.append(self.code(each))
            parameters.append(f"{NUMBERS[lane]} {name}")
            terms.append(Term(name, lane, is_class=lane is Kind.INT))
        helper = facts.helpers.get(called)
        if helper is None:
            result = function_term(facts.calls[called], terms, self.function)
        else:
            assert helper.result is not None
            code = f"{self.function.names[helper]}({', '.join(term.code for term in terms)})"
            result = Term(code, helper.result.kind, is_class=helper.result.kind is Kind.INT)
        body = f"[&]({', '.join(parameters)}) {{ return {result.to(kind).code}; }}"
        return f"pl::each<{NUMBERS[kind]}>({body}, {', '.join(lanes)})"

    def fold(self, node: ast.Call) -> Term:
        """Return the number that all lanes are joined to."""
        assert isinstance(node.func, ast.Attribute)
        name, kind = self.facts.folds[node], self.facts.kinds[node]
        number, function = NUMBERS[kind], _FUNCTIONS[JOINS[name]]
        none = literal(_plain(IDENTITIES[name][kind]), kind)
        lanes = self.code(node.func.value)
        code = f"pl::folded<{number}>(pl::{function}<{number}>, {lanes}, {none})"
        return Term(code, kind, is_class=kind is Kind.INT)


def _plain(value: object) -> bool | int | float:
    """Return a number of NumPy as Python's."""
    if isinstance(value, bool | int | float):
        return value
    found: int | float = value.item()  # type: ignore[attr-defined]
    return found
