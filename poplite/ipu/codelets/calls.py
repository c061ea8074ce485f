"""Calls of `compute` in C++: functions of numbers, of `math`, helpers, and folds of lanes.

math.exp(x)             pl::exp(x)                     the kernel, written into the same file
max(self.a, 0)          pl::maximum<float>(*a, 0.0f)
self.dot(x, row)        dot(row)                       a vector that is a field is no argument

Lanes of `compute` in C++: `pl::Lanes`, with its functions in `poplite/ipu/text/lanes.hpp`.

a + self.x.lanes(i)    pl::joined<float>(pl::added<float>, a, pl::load<float>(x, i))
a.sum()                pl::folded<float>(pl::added<float>, a, 0.0f)
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from poplite.ipu.codelets.function import CodeletFunction
from poplite.ipu.codelets.operators import truth_term
from poplite.ipu.codelets.spelling import ELEMENTS, NUMBERS, literal
from poplite.ipu.codelets.terms import PRIMARY, Term, literal_term
from poplite.ipu.codelets.variables import version_of
from poplite.types import BOOL, FLOAT, HALF, LONGLONG, UNSIGNED_LONGLONG
from poplite.vertex.compute.lanes import IDENTITIES, JOINS
from poplite.vertex.compute.mathematics.functions import KERNELS
from poplite.vertex.compute.parse.dialect import BINARY, STORED
from poplite.vertex.compute.parse.helpers import bind, helper_of
from poplite.vertex.compute.typing.facts import Checked
from poplite.vertex.compute.typing.kinds import Kind, literal_kind
from poplite.vertex.compute.typing.values import ElementsValue, LanesOf

if TYPE_CHECKING:
    from poplite.ipu.codelets.expressions import ExpressionWriter

_WIDEST_OF_TWO = {
    "minimum": "pl::minimum",
    "maximum": "pl::maximum",
    "smaller": "pl::smaller",
    "larger": "pl::larger",
}
_ROUNDINGS = {
    "round_down": "pl::floor",
    "round_up": "pl::ceil",
    "round_to_zero": "pl::trunc",
    "round_to_even": "pl::rint",
}
_STORED = {f"as_{element.__name__}": element for element in STORED}


class CallWriter:
    """Writes the calls of one function."""

    def __init__(self, function: CodeletFunction, expressions: ExpressionWriter) -> None:
        self.function, self.facts = function, function.facts
        self.expressions = expressions
        self.lanes = LanesWriter(function, expressions)

    def term(self, node: ast.Call) -> Term:
        """Return a call that gives a number."""
        if node in self.facts.folds:
            return self.lanes.fold(node)
        if node in self.facts.helpers:
            kind = self.facts.kinds[node]
            return Term(self.helper(node), kind, is_class=kind is Kind.INT)
        name = self.facts.calls.get(node)
        if name is None:
            return Term(f"{self.expressions.vector(node.args[0])}.size()", Kind.INT)
        if name == "as_bool":
            return self.expressions.test(node.args[0])
        return function_term(name, self.expressions.terms(*node.args), self.function)

    def helper(self, node: ast.Call) -> str:
        """Return a call of a method or function of the user's."""
        callee, scope = self.facts.helpers[node], self.function.checked.scope
        helper = helper_of(scope, node)
        assert helper is not None
        passed = [*node.args, *(keyword.value for keyword in node.keywords)]
        kept: dict[ast.expr, str] = {}
        effects = [n for n, each in enumerate(passed) if self.function.has_effect(each)]
        if effects and len(passed) > 1:
            kept = {each: self._kept(each) for each in passed[: effects[-1] + 1]}
        code = []
        for each, value in zip(bind(scope, node, helper), callee.arguments, strict=True):
            version = version_of(value)
            if version is None:
                continue
            if not isinstance(each, ast.expr):
                code.append(literal_term(each, literal_kind(each)).code)
            else:
                code.append(kept.get(each) or self.argument(each))
        return f"{self.function.names[callee]}({', '.join(code)})"

    def _kept(self, node: ast.expr) -> str:
        value = self.facts.containers.get(node)
        if value is None:
            return self.expressions.kept(self.expressions.term(node)).code
        type_name = f"pl::Lanes<{NUMBERS[value.kind]}>" if isinstance(value, LanesOf) else "pl::Int"
        is_field = isinstance(value, ElementsValue) and version_of(value) is None
        return "" if is_field else self.function.kept(type_name, self.argument(node))

    def argument(self, node: ast.expr) -> str:
        """Return what is passed for a parameter."""
        value = self.facts.containers.get(node)
        if value is None:
            return self.expressions.term(node).code
        if isinstance(value, LanesOf):
            return self.lanes.code(node)
        return self.expressions.row(node)


def function_term(name: str, terms: list[Term], function: CodeletFunction) -> Term:
    """Return a function of the arithmetic, by its name there."""
    first, kinds = terms[0], [term.kind for term in terms]
    if name in _WIDEST_OF_TWO:
        kind = max(Kind.INT, *kinds)
        code, *others = (term.to(kind).code for term in terms)
        for other in others:
            code = f"{_WIDEST_OF_TWO[name]}<{NUMBERS[kind]}>({code}, {other})"
        is_class = kind is Kind.INT and (len(terms) > 1 or first.is_class)
        return Term(code, kind, is_class=is_class)
    if name in ("truncate", "floor", "ceil"):
        return _whole_term(name, first)
    if name in _STORED:
        return _stored_term(name, first)
    if name in KERNELS:
        kind = max(Kind.FLOAT, *kinds)
        function.mathematics.add((name, kind))
        return Term(f"pl::{name}({', '.join(term.to(kind).code for term in terms)})", kind)
    if name == "fma":
        kind = max(Kind.FLOAT, *kinds)
        return Term(f"pl::fma({', '.join(term.to(kind).code for term in terms)})", kind)
    if name in ("float_bits", "half_bits"):
        of_half = "<half>" if name == "half_bits" else ""
        code = f"pl::{name}{of_half}({first.to(Kind.F32).code})"
        return Term(f"pl::Int({code})", Kind.INT, is_class=True)
    if name in ("float_from_bits", "half_from_bits"):
        of_half = "<half>" if name == "half_from_bits" else ""
        code = f"pl::{name}{of_half}(static_cast<unsigned int>({first.code}))"
        return Term(code, Kind.F32)
    if name == "absolute":
        kind = max(first.kind, Kind.INT)
        value = first.to(kind).as_class() if kind is Kind.INT else first
        return Term(f"pl::absolute({value.code})", kind, is_class=kind is Kind.INT)
    kind = max(first.kind, Kind.FLOAT)
    value = first.to(kind)
    if name == "as_float":
        return value
    called = {"sqrt": "pl::sqrt", "fabs": "pl::absolute"}.get(name) or _ROUNDINGS[name]
    return Term(f"{called}({value.code})", kind)


def _whole_term(name: str, value: Term) -> Term:
    """Return an int made of a number: without its fraction, or rounded down or up before."""
    if value.kind is Kind.UINT:
        return Term(f"pl::Int({value.code})", Kind.INT, is_class=True)
    if value.kind < Kind.UINT:
        return value.to(Kind.INT)
    rounded = value.code if name == "truncate" else f"pl::{name}({value.code})"
    return Term(f"pl::whole({rounded})", Kind.INT, is_class=True)


def _stored_term(name: str, value: Term) -> Term:
    """Return what an element would hold after a store, read again."""
    element = _STORED[name]
    if element is BOOL:
        return truth_term(value)
    if element is UNSIGNED_LONGLONG:
        if value.kind > Kind.UINT:
            return Term(f"pl::whole_unsigned({value.code})", Kind.UINT)
        return value.to(Kind.UINT)
    if element is FLOAT:
        return value.to(Kind.F32)
    if element is HALF:
        return Term(f"float(half({value.to(Kind.F32).code}))", Kind.F32)
    if element is LONGLONG:
        return _whole_term("truncate", value)
    type_name = "signed char" if element.__name__ == "CHAR" else ELEMENTS[element]
    return Term(f"static_cast<{type_name}>({value.code})", Kind.INT, PRIMARY)


def returns(checked: Checked) -> str:
    """Return the C++ type of what a helper returns."""
    if checked.result is None:
        return "void"
    name = NUMBERS[checked.result.kind]
    return f"pl::Lanes<{name}>" if isinstance(checked.result, LanesOf) else name


# -- lanes -----------------------------------------------------------------------------------------


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
