"""Expressions of `compute` in C++, by the rules of docs/arithmetic.md.

Every operand is widened by the table there; the widening is explicit where C++ would differ::

    (i + 0.5) * self.step     (i an int, step FLOAT)     float(double(i) + 0.5) * step
    self.n // 2               (n INT)                    pl::floor_divide(pl::Int(n), 2)
"""

from __future__ import annotations

import ast

from poplite.ipu.codelet_function import (
    ELEMENTS,
    NUMBERS,
    PRIMARY,
    ROW,
    UNARY,
    CodeletFunction,
    Term,
    binary_term,
    choice_term,
    compared_terms,
    joined_tests,
    literal,
    literal_term,
    truth_term,
    unary_term,
    version_of,
)
from poplite.types import BOOL, CHAR, FLOAT, HALF, LONGLONG, UNSIGNED_LONGLONG
from poplite.vertex.compute.arithmetic import Kind, literal_kind
from poplite.vertex.compute.dialect import (
    BINARY,
    COMPARISONS,
    STORED,
    UNARY as SYMBOLS,
    bind,
    helper_of,
    is_num_workers,
)
from poplite.vertex.compute.lanes import IDENTITIES, JOINS
from poplite.vertex.compute.mathematics import KERNELS
from poplite.vertex.compute.typed_facts import Checked, ElementsValue, LanesOf
from poplite.vertex.fields import Field


class ExpressionWriter:
    """Writes the expressions of one function."""

    def __init__(self, function: CodeletFunction) -> None:
        self.function = function
        self.facts = function.facts
        self.calls = CallWriter(function, self)

    # -- numbers -----------------------------------------------------------------------------------

    def term(self, node: ast.expr) -> Term:
        """Return the term of a number."""
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
        """Store a number in a variable, unless it is a literal."""
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
        """Compare a chain whose later parts may store; each part is evaluated only if needed."""
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
        """Write `and` or `or` of parts that may store; each part is evaluated only if needed."""
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
        """Write an `if`; functions write its blocks."""
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

    # -- conditions --------------------------------------------------------------------------------

    def test(self, node: ast.expr) -> Term:
        """Return a condition whose parts are tested one by one, not combined into a number."""
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

    # -- vectors and their elements ----------------------------------------------------------------

    def place(self, node: ast.Subscript) -> str:
        """Return `vector[index]`."""
        owner = self.vector(node.value)
        return self.function.element(owner, self.index(node.slice))

    def index(self, node: ast.expr) -> str:
        """Return an index; it is converted unless it is known to be within 0 to 2**32 - 1."""
        return index_of(self.term(node), self.function.counters, node)

    def vector(self, node: ast.expr) -> str:
        """Return the text of a vector or a list of vectors."""
        value = self.facts.containers[node]
        assert isinstance(value, ElementsValue)
        whole = self.function.member(value.field.name)
        if value.depth == value.field.depth:
            return whole
        return self.function.element(whole, self.row_index(node))

    def row_index(self, node: ast.expr) -> str:
        """Return the row number of a vector in its list, as an index."""
        if isinstance(node, ast.Name):
            return f"pl::index({self.function.variables.name(node.id, ROW)})"
        assert isinstance(node, ast.Subscript)
        return self.index(node.slice)

    def row(self, node: ast.expr) -> str:
        """Return the row number of a vector in its list, as a number."""
        if isinstance(node, ast.Name):
            return self.function.variables.name(node.id, ROW)
        assert isinstance(node, ast.Subscript)
        return self.term(node.slice).code


def index_of(term: Term, counters: set[str], node: ast.expr) -> str:
    """Return the text of a number as an index."""
    is_counter = isinstance(node, ast.Name) and node.id in counters
    is_small = isinstance(term.number, int) and 0 <= term.number < 2**31
    return term.code if is_counter or is_small else f"pl::index({term.code})"


def element_term(field: Field, code: str, is_dereferenced: bool = False) -> Term:
    """Return the number read from an element."""
    element = field.element
    if element is HALF:
        return Term(f"float({code})", Kind.F32)
    level = UNARY if is_dereferenced else PRIMARY
    if element is FLOAT:
        return Term(code, Kind.F32, level)
    if element is CHAR:  # char is unsigned on some machines
        return Term(f"static_cast<signed char>({code})", Kind.INT)
    kind = {BOOL: Kind.BOOL, UNSIGNED_LONGLONG: Kind.UINT}.get(element, Kind.INT)
    return Term(code, kind, level)


# -- calls -----------------------------------------------------------------------------------------
# math.exp(x)             pl::exp(x)                     the kernel, written to the same file
# max(self.a, 0)          pl::maximum<float>(*a, 0.0f)
# self.dot(x, row)        dot(row)                       a vector field is not an argument
#
# Lanes of `compute` in C++: `pl::Lanes`, with its functions in `poplite/ipu/text/lanes.hpp`.
#
# a + self.x.lanes(i)    pl::joined<float>(pl::added<float>, a, pl::load<float>(x, i))
# a.sum()                pl::folded<float>(pl::added<float>, a, 0.0f)


_WIDEST_OF_TWO = "minimum", "maximum", "smaller", "larger"
_ROUNDINGS = {
    "round_down": "pl::floor",
    "round_up": "pl::ceil",
    "round_to_zero": "pl::trunc",
    "round_to_even": "pl::rint",
}
_STORED = {f"as_{element.__name__}": element for element in STORED}


class CallWriter:
    """Writes the calls that one function makes."""

    def __init__(self, function: CodeletFunction, expressions: ExpressionWriter) -> None:
        self.function, self.facts = function, function.facts
        self.expressions = expressions
        self.lanes = LanesWriter(function, expressions)

    def term(self, node: ast.Call) -> Term:
        """Return the term of a call that returns a number."""
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
        """Return a call to a user's method or function."""
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
        """Return the argument for a parameter."""
        value = self.facts.containers.get(node)
        if value is None:
            return self.expressions.term(node).code
        if isinstance(value, LanesOf):
            return self.lanes.code(node)
        return self.expressions.row(node)


def function_term(name: str, terms: list[Term], function: CodeletFunction) -> Term:
    """Return a call to a function of the arithmetic, by its name there."""
    first, kinds = terms[0], [term.kind for term in terms]
    if name in _WIDEST_OF_TWO:
        kind = max(Kind.INT, *kinds)
        code, *others = (term.to(kind).code for term in terms)
        for other in others:
            code = f"pl::{name}<{NUMBERS[kind]}>({code}, {other})"
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
    """Return a number converted to int: truncated, or rounded down or up first."""
    if value.kind is Kind.UINT:
        return Term(f"pl::Int({value.code})", Kind.INT, is_class=True)
    if value.kind < Kind.UINT:
        return value.to(Kind.INT)
    rounded = value.code if name == "truncate" else f"pl::{name}({value.code})"
    return Term(f"pl::whole({rounded})", Kind.INT, is_class=True)


def _stored_term(name: str, value: Term) -> Term:
    """Return the value of an element after storing a number and reading it back."""
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
    """Return the C++ return type of a helper."""
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
"""C++ functions by their names in `poplite.vertex.compute.arithmetic`."""


class LanesWriter:
    """Writes the expressions on lanes of one function."""

    def __init__(self, function: CodeletFunction, expressions: ExpressionWriter) -> None:
        self.function, self.facts = function, function.facts
        self.expressions = expressions

    def code(self, node: ast.expr) -> str:
        """Return the text of an expression on lanes."""
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
                "an expression on lanes calls a helper that stores or may stop",
                "assign its result to a local variable first",
            )

    def _load(self, node: ast.Call, number: str) -> str:
        assert isinstance(node.func, ast.Attribute)
        vector = self.expressions.vector(node.func.value)
        places = ", ".join(self.expressions.term(each).code for each in node.args)
        return f"pl::load<{number}>({vector}, {places})"

    def store(self, node: ast.Call) -> str:
        """Return a statement that stores lanes in a vector."""
        assert isinstance(node.func, ast.Attribute)
        self._refuse_effects(node)
        owner = self.facts.containers[node.func.value]
        assert isinstance(owner, ElementsValue)
        vector = self.expressions.vector(node.func.value)
        first, value = self.expressions.term(node.args[0]).code, self.code(node.args[1])
        return f"pl::store<{ELEMENTS[owner.field.element]}>({vector}, {first}, {value});"

    def _mapped(self, node: ast.Call, kind: Kind) -> str:
        """Return a call to a function for each lane; number arguments are evaluated once."""
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
        """Return the result of reducing all lanes to one number."""
        assert isinstance(node.func, ast.Attribute)
        name, kind = self.facts.folds[node], self.facts.kinds[node]
        number, function = NUMBERS[kind], _FUNCTIONS[JOINS[name]]
        none = literal(_plain(IDENTITIES[name][kind]), kind)
        lanes = self.code(node.func.value)
        code = f"pl::folded<{number}>(pl::{function}<{number}>, {lanes}, {none})"
        return Term(code, kind, is_class=kind is Kind.INT)


def _plain(value: object) -> bool | int | float:
    """Return a NumPy number as a Python number."""
    if isinstance(value, bool | int | float):
        return value
    found: int | float = value.item()  # type: ignore[attr-defined]
    return found
