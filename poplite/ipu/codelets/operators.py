"""Operators, comparisons and choices of two numbers in C++, with the least parentheses.

Ints are `pl::Int`, whose operators wrap around; one operand of that class is enough, as the other
is converted. Where none is of it, the left one is made one.
"""

from __future__ import annotations

from poplite.ipu.codelets.spelling import NUMBERS
from poplite.ipu.codelets.terms import (
    ADDITION,
    AND,
    BITS,
    CHOICE,
    EQUALITY,
    OR,
    PRIMARY,
    PRODUCT,
    RELATION,
    SHIFT,
    UNARY,
    Term,
    literal_term,
)
from poplite.vertex.compute.typing.kinds import Kind

_LEVELS = {"+": ADDITION, "-": ADDITION, "*": PRODUCT, "/": PRODUCT}
_FUNCTIONS = {"//": "pl::floor_divide", "%": "pl::modulo"}


def binary_term(symbol: str, left: Term, right: Term) -> Term:
    """Return `left symbol right`, by the symbol of Python.

    >>> a, n = Term("a", Kind.F32), Term("n", Kind.INT, is_class=True)
    >>> binary_term("*", binary_term("+", a, n), literal_term(0.1, Kind.FLOAT)).code
    '(a + float(n)) * 0.1f'
    >>> binary_term("//", n, literal_term(2, Kind.INT)).code
    'pl::floor_divide(n, 2)'
    """
    wide = max(left.kind, right.kind)
    if symbol in ("<<", ">>"):
        return _shifted(symbol, left, right)
    if symbol in ("&", "|", "^"):
        one, other = _of_kind(wide, left, right)
        code = f"{one.within(UNARY)} {symbol} {other.within(UNARY)}"
        return Term(code, wide, BITS, is_class=wide is Kind.INT)
    if symbol == "**":
        kind = max(left.kind, Kind.INT)
        base = left.as_class() if kind is Kind.INT else left
        code = f"pl::power<{NUMBERS[kind]}>({base.code}, {right.code})"
        return Term(code, kind, is_class=kind is Kind.INT)
    kind = max(wide, Kind.FLOAT if symbol == "/" else Kind.INT)
    one, other = _of_kind(kind, left, right)
    if symbol in _FUNCTIONS:
        code = f"{_FUNCTIONS[symbol]}({one.code}, {other.code})"
        return Term(code, kind, is_class=kind is Kind.INT)
    level = _LEVELS[symbol]
    code = f"{one.within(level)} {symbol} {other.within(level - 1)}"
    return Term(code, kind, level, is_class=kind is Kind.INT)


def _of_kind(kind: Kind, left: Term, right: Term) -> tuple[Term, Term]:
    """Return both operands widened; of two ints at least one is a `pl::Int`."""
    one, other = left.to(kind), right.to(kind)
    if kind is Kind.INT and not (one.is_class or other.is_class):
        one = one.as_class()
    return one, other


def _shifted(symbol: str, left: Term, right: Term) -> Term:
    kind = max(left.kind, Kind.INT)
    if kind is Kind.INT:
        count = right.within(UNARY) if right.kind is Kind.INT else f"pl::Int({right.code})"
        code = f"{left.to(kind).as_class().within(UNARY)} {symbol} {count}"
        return Term(code, kind, SHIFT, is_class=True)
    count_code = right.within(UNARY) if right.number is not None else f"unsigned({right.code})"
    return Term(f"{left.within(UNARY)} {symbol} {count_code}", kind, SHIFT)


def unary_term(symbol: str, operand: Term) -> Term:
    """Return `symbol operand`, for `-`, `+` or `~`.

    >>> unary_term("-", Term("-x", Kind.F32, UNARY)).code
    '-(-x)'
    """
    kind = max(operand.kind, Kind.INT)
    value = operand.to(kind).as_class() if kind is Kind.INT else operand
    if symbol == "+":
        return value
    return Term(f"{symbol}{value.within(PRIMARY)}", kind, UNARY, is_class=kind is Kind.INT)


def compared_terms(symbol: str, left: Term, right: Term) -> Term:
    """Return a comparison; an int beside an unsigned one is compared by value.

    >>> compared_terms("<", Term("n", Kind.INT), Term("u", Kind.UINT)).code
    'pl::compared(pl::Int(n), u) < 0'
    """
    kind = max(left.kind, right.kind)
    level = EQUALITY if symbol in ("==", "!=") else RELATION
    if kind is Kind.UINT and left.kind is not right.kind:
        numbers = (left.number, right.number)
        if all(number is None or number >= 0 for number in numbers) and numbers != (None, None):
            one, other = left.to(kind), right.to(kind)
        else:
            one, other = (t.to(Kind.INT).as_class() if t.kind < kind else t for t in (left, right))
            return Term(f"pl::compared({one.code}, {other.code}) {symbol} 0", Kind.BOOL, level)
    else:
        one, other = left.to(kind), right.to(kind)
        if kind is Kind.INT and not (one.is_class or other.is_class):
            is_simple = level == EQUALITY and other.number is not None and other.number >= 0
            one = one if is_simple else one.as_class()
    code = f"{one.within(ADDITION)} {symbol} {other.within(ADDITION)}"
    return Term(code, Kind.BOOL, level)


def truth_term(term: Term) -> Term:
    """Return whether a number differs from zero; NaN does.

    >>> truth_term(Term("x", Kind.F32)).code
    'x != 0.0f'
    """
    if term.kind is Kind.BOOL:
        return term
    zero = literal_term(0, term.kind).code
    return Term(f"{term.within(ADDITION)} != {zero}", Kind.BOOL, EQUALITY)


def joined_tests(symbol: str, tests: list[Term]) -> Term:
    """Return conditions joined by `&&` or `||`."""
    if len(tests) == 1:
        return tests[0]
    level = AND if symbol == "&&" else OR
    code = f" {symbol} ".join(test.within(EQUALITY) for test in tests)
    return Term(code, Kind.BOOL, level)


def choice_term(test: Term, one: Term, other: Term, kind: Kind) -> Term:
    """Return `test ? one : other`, both of a kind.

    >>> one, other = literal_term(1, Kind.INT), Term("x", Kind.F32)
    >>> choice_term(Term("b", Kind.BOOL), one, other, Kind.F32).code
    'b ? 1.0f : x'
    """
    branches = [each.to(kind) for each in (one, other)]
    if kind is Kind.INT:
        branches = [each.as_class() for each in branches]
    code = f"{test.within(OR)} ? {branches[0].within(OR)} : {branches[1].within(OR)}"
    return Term(code, kind, CHOICE, is_class=kind is Kind.INT)
