"""Pieces of C++ expressions that know how tightly their last operator binds.

Term("a + b", ADDITION) as an operand of `*`      (a + b)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from poplite.ipu.codelets.spelling import NUMBERS, literal
from poplite.vertex.compute import arithmetic
from poplite.vertex.compute.typing.kinds import Kind

PRIMARY, UNARY, PRODUCT, ADDITION, SHIFT, RELATION, EQUALITY, BITS, AND, OR, CHOICE = range(11)
"""How tightly operators bind, the tightest first; `&`, `|` and `^` are one level here."""


class Term(NamedTuple):
    """An expression in C++.

    Attributes:
        level: of its last operator.
        is_class: whether it is a `pl::Int`, and not one of C++'s own integers; for ints only.
        number: its value, for a literal.
    """

    code: str
    kind: Kind
    level: int = PRIMARY
    is_class: bool = False
    number: bool | int | float | None = None

    def within(self, level: int) -> str:
        """Return its text as an operand of an operator of this level."""
        return self.code if self.level <= level else f"({self.code})"

    def to(self, kind: Kind) -> Term:
        """Return the same number widened to a kind, once."""
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
