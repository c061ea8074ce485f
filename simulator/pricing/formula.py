"""What vertices take as a polynomial in the lengths of their fields, where it is one.

    8 + 5 len(x)
    10 + 7 len(rows) + 10.41 len(rows) len(rows[0])
    12 + 2.5 n for n % 2 == 0; 14.5 + 2.5 n for n % 2 == 1

It is fitted exactly to a few lengths, and checked on others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod

Take = Callable[[Sequence[Sequence[int]]], Sequence[int]]
"""Returns what vertices take whose variables have these values."""

_DEGREES = (1, 2, 3)
_FIRST = 3
"""Least value to fit: short loops may take other paths."""

_CHECKS = 12
"""Points at which a polynomial is tried."""

_SPREAD = (7, 5, 17)
"""Their positions: the step for each point and for each variable, and the period."""

_MODULI = (2, 4)
"""Remainders of a single variable that may have polynomials of their own: tails of loops."""

MOST_VARIABLES = 4
"""With more there is no formula; each shape is priced by itself."""


@dataclass(frozen=True, slots=True, eq=False)
class Polynomial:
    """A polynomial: each term has the exponent of each variable and a coefficient that is not zero.

    Terms are in order of rising degree.
    """

    terms: tuple[tuple[tuple[int, ...], Fraction], ...]

    def __call__(self, values: Sequence[int]) -> Fraction:
        """Return its value."""
        powers = ((prod(map(pow, values, exponents)), factor) for exponents, factor in self.terms)
        return sum((power * factor for power, factor in powers), Fraction())

    def text(self, names: Sequence[str], unit: int = 1) -> str:
        """Return it as text, with coefficients divided by `unit` and shown to two decimals.

        >>> Polynomial((((0,), Fraction(8)), ((1,), Fraction(5, 2)))).text(["n"])
        '8 + 2.5 n'
        """
        parts = []
        for exponents, factor in self.terms:
            pairs = zip(names, exponents, strict=True)
            factors = [name if power == 1 else f"{name}^{power}" for name, power in pairs if power]
            number = f"{float(abs(factor) / unit):.2f}".rstrip("0").rstrip(".")
            sign = "-" if factor < 0 else "+"
            parts.append(f"{sign} {' '.join([number, *factors])}")
        text = " ".join(parts).removeprefix("+ ") or "0"
        return f"-{text[2:]}" if text.startswith("- ") else text


def formula_text(take: Take, names: Sequence[str], unit: int) -> str | None:
    """Return a formula for what vertices take, divided by `unit`; None if no simple one exists.

    >>> formula_text(lambda rows: [64 * (8 + 5 * n) for (n,) in rows], ["n"], 64)
    '8 + 5 n'
    """
    if len(names) > MOST_VARIABLES:
        return None
    polynomial = fitted(take, len(names))
    if polynomial is not None:
        return polynomial.text(names, unit)
    for modulus in _MODULI if len(names) == 1 else ():
        parts = [fitted(take, 1, modulus, remainder) for remainder in range(modulus)]
        found = [part for part in parts if part is not None]
        if len(found) == modulus:
            return "; ".join(
                f"{part.text(names, unit)} for {names[0]} % {modulus} == {remainder}"
                for remainder, part in enumerate(found)
            )
    return None


def fitted(take: Take, variables: int, modulus: int = 1, remainder: int = 0) -> Polynomial | None:
    """Return the polynomial for what vertices take, of degree 3 at most; None if there is none.

    It holds for values that leave `remainder` when divided by `modulus`.
    """
    first = _FIRST + (remainder - _FIRST) % modulus

    def values(steps: Sequence[int]) -> list[int]:
        return [first + modulus * step for step in steps]

    by_point, by_name, end = _SPREAD
    checks = [
        values([(by_point * check + by_name * k + check * check) % end for k in range(variables)])
        for check in range(_CHECKS)
    ]
    expected = take(checks)
    if min(expected) < 0:  # OVER: it takes longer than is followed
        return None
    for degree in _DEGREES:
        powers = product(range(degree + 1), repeat=variables)
        exponents = sorted((e for e in powers if sum(e) <= degree), key=lambda e: (sum(e), e[::-1]))
        samples = [values(each) for each in exponents]
        rows = [[Fraction(prod(map(pow, sample, e))) for e in exponents] for sample in samples]
        factors = _solved(rows, [Fraction(value) for value in take(samples)])
        pairs = zip(exponents, factors, strict=True)
        found = Polynomial(tuple((e, factor) for e, factor in pairs if factor))
        if all(map(lambda check, value: found(check) == value, checks, expected)):
            return found
    return None


def _solved(rows: list[list[Fraction]], values: list[Fraction]) -> list[Fraction]:
    """Return the only solution of linear equations."""
    size = len(rows)
    table = [[*row, value] for row, value in zip(rows, values, strict=True)]
    for column in range(size):
        pivot = next(r for r in range(column, size) if table[r][column])
        table[column], table[pivot] = table[pivot], table[column]
        lead = table[column][column]
        table[column] = [each / lead for each in table[column]]
        for r in range(size):
            if r != column and (factor := table[r][column]):
                pairs = zip(table[r], table[column], strict=True)
                table[r] = [each - factor * other for each, other in pairs]
    return [row[-1] for row in table]
