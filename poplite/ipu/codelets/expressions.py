"""Expressions of `compute` in C++, by the rules of docs/arithmetic.md.

Every operand is widened as the table says, and written where C++ would do something else::

    (i + 0.5) * self.step     (i an int, step FLOAT)     float(double(i) + 0.5) * step
    self.n // 2               (n INT)                    pl::floor_divide(pl::Int(n), 2)
"""

from __future__ import annotations

import ast

from poplite.ipu.codelets.calls import CallWriter
from poplite.ipu.codelets.function import CodeletFunction
from poplite.ipu.codelets.operators import (
    binary_term,
    choice_term,
    compared_terms,
    joined_tests,
    truth_term,
    unary_term,
)
from poplite.ipu.codelets.spelling import NUMBERS
from poplite.ipu.codelets.terms import PRIMARY, UNARY, Term, literal_term
from poplite.ipu.codelets.variables import ROW
from poplite.types import BOOL, CHAR, FLOAT, HALF, UNSIGNED_LONGLONG
from poplite.vertex.compute.parse.dialect import (
    BINARY,
    COMPARISONS,
    UNARY as SYMBOLS,
    is_num_workers,
)
from poplite.vertex.compute.typing.kinds import Kind, literal_kind
from poplite.vertex.compute.typing.values import ElementsValue
from poplite.vertex.fields import Field


class ExpressionWriter:
    """Writes the expressions of one function."""

    def __init__(self, function: CodeletFunction) -> None:
        self.function = function
        self.facts = function.facts
        self.calls = CallWriter(function, self)

    # -- numbers -----------------------------------------------------------------------------

    def term(self, node: ast.expr) -> Term:
        """Return a number."""
        if node in self.facts.constants:
            value = self.facts.constants[node]
            return literal_term(value, literal_kind(value))
        term: Term = getattr(self, f"_{type(node).__name__}")(node)
        return term

    def terms(self, *nodes: ast.expr) -> list[Term]:
        """Return the operands of one operation, evaluated from left to right."""
        last = max(
            (n for n, node in enumerate(nodes) if self.function.has_effect(node)), default=-1
        )
        terms = []
        for number, node in enumerate(nodes):
            term = self.term(node)
            if number <= last and len(nodes) > 1:
                term = self.kept(term)
            terms.append(term)
        return terms

    def kept(self, term: Term) -> Term:
        """Keep a number in a variable, unless it is a literal."""
        if term.number is not None:
            return term
        name = self.function.kept(NUMBERS[term.kind], term.code)
        return Term(name, term.kind, is_class=term.kind is Kind.INT)

    def _Constant(self, node: ast.Constant) -> Term:
        assert isinstance(node.value, bool | int | float)
        return literal_term(node.value, literal_kind(node.value))

    def _Name(self, node: ast.Name) -> Term:
        kind = self.facts.kinds[node]
        code = self.function.variables.name(node.id, kind)
        is_class = kind is Kind.INT and node.id not in self.function.counters
        return Term(code, kind, is_class=is_class)

    def _Attribute(self, node: ast.Attribute) -> Term:
        if is_num_workers(node):
            return Term("numWorkers()", Kind.INT)
        field = self.function.checked.vertex.fields[node.attr]
        code = self.function.member(node.attr)
        return element_term(field, f"*{code}" if field.is_edge else code, field.is_edge)

    def _Subscript(self, node: ast.Subscript) -> Term:
        owner = self.facts.containers[node.value]
        assert isinstance(owner, ElementsValue)
        return element_term(owner.field, self.place(node))

    def _BinOp(self, node: ast.BinOp) -> Term:
        return binary_term(BINARY[type(node.op)], *self.terms(node.left, node.right))

    def _UnaryOp(self, node: ast.UnaryOp) -> Term:
        if isinstance(node.op, ast.Not):
            return self.test(node)
        return unary_term(SYMBOLS[type(node.op)], self.term(node.operand))

    def _Compare(self, node: ast.Compare) -> Term:
        parts = [node.left, *node.comparators]
        symbols = [COMPARISONS[type(op)] for op in node.ops]
        if len(parts) > 2 and any(map(self.function.has_effect, parts[2:])):
            return self._compared_one_by_one(parts, symbols)
        terms = self.terms(*parts)
        pairs = zip(symbols, terms, terms[1:], strict=False)
        return joined_tests("&&", [compared_terms(*pair) for pair in pairs])

    def _compared_one_by_one(self, parts: list[ast.expr], symbols: list[str]) -> Term:
        """Compare a chain in which a later part may store: it is evaluated only where it counts."""
        result = self.function.variables.temporary("holds")
        left, right = (self.kept(self.term(part)) for part in parts[:2])
        self.function.add(f"bool {result} = {compared_terms(symbols[0], left, right).code};")

        def following(number: int, left: Term) -> None:
            right = self.kept(self.term(parts[number + 1]))
            self.function.add(f"{result} = {compared_terms(symbols[number], left, right).code};")
            if number + 1 < len(symbols):
                self._if(result, lambda: following(number + 1, right))

        self._if(result, lambda: following(1, right))
        return Term(result, Kind.BOOL)

    def _BoolOp(self, node: ast.BoolOp) -> Term:
        kind = self.facts.kinds[node]
        if all(self.facts.kinds[part] is Kind.BOOL for part in node.values):
            return self.test(node)
        is_and = isinstance(node.op, ast.And)
        if any(map(self.function.has_effect, node.values)):
            return self._chosen_one_by_one(node, kind)
        *firsts, result = [self.term(part) for part in node.values]
        for first in reversed(firsts):
            branches = (result, first) if is_and else (first, result)
            result = choice_term(truth_term(first), *branches, kind)
        return result

    def _chosen_one_by_one(self, node: ast.BoolOp, kind: Kind) -> Term:
        """Write `and` or `or` of parts that may store: each is evaluated only where it counts."""
        result = self._result(kind)
        is_and = isinstance(node.op, ast.And)

        def part(number: int) -> None:
            term = self.kept(self.term(node.values[number]))
            self.function.add(f"{result} = {term.to(kind).code};")
            if number + 1 < len(node.values):
                truth = truth_term(term)
                test = truth.code if is_and else f"!{truth.within(PRIMARY)}"
                self._if(test, lambda: part(number + 1))

        part(0)
        return Term(result, kind, is_class=kind is Kind.INT)

    def _result(self, kind: Kind) -> str:
        result = self.function.variables.temporary("chosen")
        self.function.add(f"{NUMBERS[kind]} {result} = {literal_term(0, kind).code};")
        return result

    def _if(self, test: str, write: object, otherwise: object = None) -> None:
        """Write an `if` whose blocks are written by functions."""
        assert callable(write)
        self.function.add(f"if ({test}) {{")
        self.function.lines += self.function.block(write)
        if otherwise is not None:
            assert callable(otherwise)
            self.function.add("} else {")
            self.function.lines += self.function.block(otherwise)
        self.function.add("}")

    def _IfExp(self, node: ast.IfExp) -> Term:
        kind = self.facts.kinds[node]
        test = self.test(node.test)
        if not (self.function.has_effect(node.body) or self.function.has_effect(node.orelse)):
            return choice_term(test, self.term(node.body), self.term(node.orelse), kind)
        result = self._result(kind)

        def branch(part: ast.expr) -> None:
            self.function.add(f"{result} = {self.term(part).to(kind).code};")

        self._if(test.code, lambda: branch(node.body), lambda: branch(node.orelse))
        return Term(result, kind, is_class=kind is Kind.INT)

    def _Call(self, node: ast.Call) -> Term:
        return self.calls.term(node)

    # -- conditions ----------------------------------------------------------------------------

    def test(self, node: ast.expr) -> Term:
        """Return a condition: its parts are tested one by one, not combined to a number."""
        if node in self.facts.constants:
            return truth_term(self.term(node))
        has_effect = self.function.has_effect
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Term(f"!{self.test(operand).within(PRIMARY)}", Kind.BOOL, UNARY)
            case ast.BoolOp(op=op, values=parts):
                if any(map(has_effect, parts[1:])):
                    return self._tested_one_by_one(node)
                symbol = "&&" if isinstance(op, ast.And) else "||"
                return joined_tests(symbol, [self.test(part) for part in parts])
            case ast.IfExp(test=test, body=body, orelse=orelse):
                if not (has_effect(body) or has_effect(orelse)):
                    one, other = self.test(body), self.test(orelse)
                    return choice_term(self.test(test), one, other, Kind.BOOL)
        return truth_term(self.term(node))

    def _tested_one_by_one(self, node: ast.BoolOp) -> Term:
        result = self._result(Kind.BOOL)
        negation = "" if isinstance(node.op, ast.And) else "!"

        def part(number: int) -> None:
            self.function.add(f"{result} = {self.test(node.values[number]).code};")
            if number + 1 < len(node.values):
                self._if(f"{negation}{result}", lambda: part(number + 1))

        part(0)
        return Term(result, Kind.BOOL)

    # -- vectors and their elements --------------------------------------------------------------

    def place(self, node: ast.Subscript) -> str:
        """Return `vector[index]`."""
        owner = self.vector(node.value)
        return self.function.element(owner, self.index(node.slice))

    def index(self, node: ast.expr) -> str:
        """Return an index: as it is where it cannot be negative, nor have more than 32 bits."""
        return index_of(self.term(node), self.function.counters, node)

    def vector(self, node: ast.expr) -> str:
        """Return a vector or a list of vectors."""
        value = self.facts.containers[node]
        assert isinstance(value, ElementsValue)
        whole = self.function.member(value.field.name)
        if value.depth == value.field.depth:
            return whole
        return self.function.element(whole, self.row_index(node))

    def row_index(self, node: ast.expr) -> str:
        """Return which row of a list a vector is, as an index."""
        if isinstance(node, ast.Name):
            return f"pl::index({self.function.variables.name(node.id, ROW)})"
        assert isinstance(node, ast.Subscript)
        return self.index(node.slice)

    def row(self, node: ast.expr) -> str:
        """Return which row of a list a vector is, as a number."""
        if isinstance(node, ast.Name):
            return self.function.variables.name(node.id, ROW)
        assert isinstance(node, ast.Subscript)
        return self.term(node.slice).code


def index_of(term: Term, counters: set[str], node: ast.expr) -> str:
    """Return a number as an index."""
    is_counter = isinstance(node, ast.Name) and node.id in counters
    is_small = isinstance(term.number, int) and 0 <= term.number < 2**31
    return term.code if is_counter or is_small else f"pl::index({term.code})"


def element_term(field: Field, code: str, is_dereferenced: bool = False) -> Term:
    """Return the number that reading an element gives."""
    element = field.element
    if element is HALF:
        return Term(f"float({code})", Kind.F32)
    level = UNARY if is_dereferenced else PRIMARY
    if element is FLOAT:
        return Term(code, Kind.F32, level)
    if element is CHAR:  # which is unsigned on some machines
        return Term(f"static_cast<signed char>({code})", Kind.INT)
    kind = {BOOL: Kind.BOOL, UNSIGNED_LONGLONG: Kind.UINT}.get(element, Kind.INT)
    return Term(code, kind, level)
