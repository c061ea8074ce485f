"""Terms of C++: numbers, types, names, and operators.

    FLOAT, HALF, INT        float, half, int            elements in memory
    F32, FLOAT, INT, UINT   float, double, pl::Int, pl::Unsigned     numbers inside `compute`
    0.1 with a float32      0.1f                        rounded when the text is written

A name that is reserved in C++ gets an underscore: the field `float` becomes `float_`. So does a
name that a header may define as a macro. Macros are spelled in capitals, so every name that starts
with a capital, followed by a capital, a digit or an underscore, gets an underscore, independently
of a compiler's headers; the few macros in lower case are listed. Ordinary names remain unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from poplite.types import UNSIGNED_INT, ElementType
from poplite.vertex.compute import arithmetic
from poplite.vertex.compute.arithmetic import Kind
from poplite.vertex.compute.dialect import STORED

ELEMENTS: dict[type[ElementType[Any]], str] = {
    **{element: element.toString() for element in STORED},
    UNSIGNED_INT: "unsigned",
}
"""The C++ type of each element type except QUARTER, in the order in which the host program numbers
them."""

NUMBERS: dict[Kind, str] = {
    Kind.BOOL: "bool",
    Kind.INT: "pl::Int",
    Kind.UINT: "pl::Unsigned",
    Kind.FLOAT: "double",
    Kind.F32: "float",
}
"""The C++ type of a number inside `compute`."""

_KEYWORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t
    char32_t char8_t class co_await co_return co_yield compl concept const const_cast consteval
    constexpr constinit continue decltype default delete do double dynamic_cast else enum
    explicit export extern false float for friend goto if inline int long mutable namespace new
    noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast requires return short signed sizeof static static_assert static_cast
    struct switch template this thread_local throw true try typedef typeid typename union
    unsigned using virtual void volatile wchar_t while xor xor_eq
"""
_RESERVED = frozenset(_KEYWORDS.split())
_MACROS = re.compile(
    r"[A-Z][A-Z0-9_]\w*|I|errno|assert\w*|std(in|out|err)|unix|linux|i386|complex|imaginary|noreturn"
    r"|va_\w+|setjmp|sigsetjmp|offsetof|alloca|math_errhandling|strdupa|strndupa|onexit|environ"
    r"|(sa|si|sigev|sched|pthread)_\w+|st_[acm]time\w*|h_(addr|errno)|s6_addr\w*|sigmask|major|minor|makedev"
    r"|[bl]e\d+toh|hto[bl]e\d+|hton[ls]|ntoh[ls]"
    r"|is(nan|inf|finite|normal|subnormal|zero|unordered|less\w*|greater\w*)|signbit|fpclassify"
    r"|(get|put)w?c(har)?|feof|ferror|clearerr|fileno|to(upper|lower)|is(al\w+|digit|\w*space|graph)"
)
"""Names of macros: all names in capitals, the macros of C and POSIX in lower case, and C functions
that may also be macros."""
_OURS = frozenset({"compute", "half", "numWorkers", "pl", "poplar", "std"})
"""Names that codelets use themselves."""


@lru_cache(maxsize=4096)
def identifier(name: str) -> str:
    """Return a valid C++ name for a Python name.

    >>> identifier("x"), identifier("float"), identifier("größe"), identifier("EOF")
    ('x', 'float_', 'gru00f6u00dfe', 'EOF_')
    """
    plain = re.sub(r"[^A-Za-z0-9_]", lambda found: f"u{ord(found[0]):04x}", name)
    plain = re.sub("__+", "_", plain)
    reserved = plain in _RESERVED or plain in _OURS or _MACROS.fullmatch(plain)
    return f"{plain}_" if reserved or re.match("_[A-Z]", plain) or plain == "_" else plain


def unused(name: str, names: Iterable[str]) -> str:
    """Return the name itself, or with the smallest number appended that makes it unique.

    >>> unused("row", {"row", "row_2"})
    'row_3'
    """
    taken, number, made = set(names), 1, name
    while made in taken:
        number += 1
        made = f"{name.rstrip('_')}_{number}"
    return made


def literal(value: bool | int | float, kind: Kind) -> str:
    """Return a Python number as a literal of a kind, rounded by the rules of the arithmetic.

    >>> literal(0.1, Kind.F32), literal(0.1, Kind.FLOAT), literal(3, Kind.F32)
    ('0.1f', '0.1', '3.0f')
    >>> literal(-(2**63), Kind.INT), literal(1 << 40, Kind.INT), literal(True, Kind.BOOL)
    ('pl::LEAST', '1099511627776LL', 'true')
    """
    with np.errstate(all="ignore"):
        number: Any = arithmetic.cast(value, kind)
    if kind is Kind.BOOL:
        return "true" if number else "false"
    if kind is Kind.UINT:
        return f"{int(number)}ULL"
    if kind is Kind.INT:
        if number == arithmetic.INT_MIN:
            return "pl::LEAST"
        return str(int(number)) if abs(number) < 2**31 else f"{int(number)}LL"
    suffix = "f" if kind is Kind.F32 else ""
    if np.isnan(number):
        return f'__builtin_nan{suffix}("")'
    if np.isinf(number):
        return f"{'-' if number < 0 else ''}__builtin_inf{suffix}()"
    return _decimal(repr(float(number)) if kind is Kind.FLOAT else str(number)) + suffix


def _decimal(text: str) -> str:
    """Return the text of a float with a decimal point."""
    return text if "." in text or "e" in text else f"{text}.0"


# -- expressions with the precedence of their last operator ----------------------------------------
#
# Term("a + b", ADDITION) as an operand of `*`      (a + b)


PRIMARY, UNARY, PRODUCT, ADDITION, SHIFT, RELATION, EQUALITY, BITS, AND, OR, CHOICE = range(11)
"""Precedence levels of operators, the highest first; here, `&`, `|` and `^` share one level."""


class Term(NamedTuple):
    """An expression in C++.

    Attributes:
        level: the precedence level of its last operator.
        is_class: for ints, whether it is a `pl::Int` instead of a native C++ integer.
        number: its value, for a literal.
    """

    code: str
    kind: Kind
    level: int = PRIMARY
    is_class: bool = False
    number: bool | int | float | None = None

    def within(self, level: int) -> str:
        """Return its text as an operand of an operator of the given level."""
        return self.code if self.level <= level else f"({self.code})"

    def to(self, kind: Kind) -> Term:
        """Return the number widened to a kind; unchanged if it has that kind."""
        if self.number is not None:
            return literal_term(self.number, kind)
        if self.kind is kind:
            return self
        return Term(f"{NUMBERS[kind]}({self.code})", kind, is_class=kind is Kind.INT)

    def as_class(self) -> Term:
        """Return an int as a `pl::Int`, whose operators wrap around at 64 bits."""
        if self.is_class or self.kind is not Kind.INT:
            return self.to(Kind.INT) if self.kind is Kind.BOOL else self
        return Term(f"pl::Int({self.code})", Kind.INT, is_class=True)


def literal_term(value: bool | int | float, kind: Kind) -> Term:
    """Return a Python number as a literal of a kind.

    >>> literal_term(-0.5, Kind.F32).within(PRIMARY)
    '(-0.5f)'
    """
    with np.errstate(all="ignore"):
        number: Any = arithmetic.cast(value, kind)
    code = literal(number, kind)
    level = UNARY if code.startswith("-") else PRIMARY
    return Term(code, kind, level, is_class=code == "pl::LEAST", number=number)


# -- operators, comparisons, choices ---------------------------------------------------------------
#
# Ints are `pl::Int`, whose operators wrap around; one operand of that class suffices, since the
# other is converted. If neither operand is a `pl::Int`, the left one is converted explicitly.


_LEVELS = {"+": ADDITION, "-": ADDITION, "*": PRODUCT, "/": PRODUCT}
_FUNCTIONS = {"//": "pl::floor_divide", "%": "pl::modulo"}


def binary_term(symbol: str, left: Term, right: Term) -> Term:
    """Return `left symbol right`, for a Python operator symbol.

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
    """Return both operands widened; at least one of two ints becomes a `pl::Int`."""
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
    """Return a comparison; signed and unsigned ints are compared by value.

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
    """Return the test for a number that differs from zero, as NaN does.

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
    """Return `test ? one : other`, with both results widened to a kind.

    >>> one, other = literal_term(1, Kind.INT), Term("x", Kind.F32)
    >>> choice_term(Term("b", Kind.BOOL), one, other, Kind.F32).code
    'b ? 1.0f : x'
    """
    branches = [each.to(kind) for each in (one, other)]
    if kind is Kind.INT:
        branches = [each.as_class() for each in branches]
    code = f"{test.within(OR)} ? {branches[0].within(OR)} : {branches[1].within(OR)}"
    return Term(code, kind, CHOICE, is_class=kind is Kind.INT)
