"""The slots of vertices without a formula.

    slots_of(Axpy, shapes, target)    Priced([80, 289], "estimated", "10 + 4.35 len(x)")

The class is compiled once on each machine, like drivers, and pricing it again does not need Numba.

The slots are displayed as a polynomial in the lengths of the fields, if there is one::

    8 + 5 len(x)
    10 + 7 len(rows) + 10.41 len(rows) len(rows[0])
    12 + 2.5 n for n % 2 == 0; 14.5 + 2.5 n for n % 2 == 1

It is fitted exactly to a few lengths, and checked on others.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from math import prod
from typing import Literal

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import VertexCompileError
from poplite.frozen import frozen
from poplite.jit import digest
from poplite.jit.build import Builds, Job, Native, built
from poplite.machine.facts import CODE_FACTS
from poplite.machine.target import Target
from poplite.simulator.codegen.compute_code import DATA, MOST_SLOTS, OVER, PARTS, parameters_of
from poplite.vertex.compute.meaning import meaning_of
from poplite.vertex.fields import WORDS, fields_of
from poplite.vertex.vertex import MultiVertex, Vertex


@frozen(eq=False)
class Priced:
    """The slots of vertices of a class.

    Attributes:
        slots: int64[shapes], worker slots; for a MultiVertex, tile cycles.
        source: "estimated" from the compiled code; or "guessed", if branches depend on data: then
            the slots are those of vertices whose data are all zero. Also "guessed" for vertices
            that need more than `MOST_SLOTS`, and for classes that are never compiled because they
            print.
        formula: the slots in terms of lengths and integers, as text; None if there is no
            simple formula.
    """

    slots: Int64
    source: Literal["estimated", "guessed"]
    formula: str | None


def slots_of(cls: type[Vertex], shapes: Int64, target: Target) -> Priced:
    """Return the slots of vertices of a class, according to their compiled code.

    Args:
        cls: a vertex class.
        shapes: int64[shapes, words], those of `poplite.graph.compute_sets.perf_estimates`.
        target: the machine.

    Raises:
        VertexCompileError: when `compute` is outside the dialect.

    >>> from poplite.types import FLOAT
    >>> from poplite.vertex import InOut, Vector
    >>> class Twice(Vertex):
    ...     x: InOut[Vector[FLOAT]]
    ...     def compute(self) -> None:
    ...         for i in range(len(self.x)):
    ...             self.x[i] = 2.0 * self.x[i]
    >>> priced = slots_of(Twice, np.array([[10], [100]]), Target())
    >>> priced.slots.tolist(), priced.source, priced.formula
    ([40, 310], 'estimated', '10 + 3 len(x)')
    """
    taking = _taking(cls, target)
    if taking is None:
        return Priced(np.full(len(shapes), int(target.cost("slot_entry"))), "guessed", None)
    parts = taking.parts(shapes)
    is_over = parts == OVER
    slots = np.where(is_over, MOST_SLOTS, (parts + PARTS // 2) // PARTS)
    if issubclass(cls, MultiVertex):
        slots = int(target.cost("supervisor_overhead")) + target.workers * slots
    guessed = is_data_dependent(cls, target) or bool(is_over.any())
    return Priced(slots, "guessed" if guessed else "estimated", _formula(cls, target))


def flops_of(cls: type[Vertex], shapes: Int64, target: Target) -> Int64 | None:
    """Return the floating-point operations of vertices of a class, int64[shapes].

    None if they depend on data, or on which rows of lists are longer than others.

    >>> from poplite.types import FLOAT
    >>> from poplite.vertex import InOut, Vector
    >>> class Twice(Vertex):
    ...     x: InOut[Vector[FLOAT]]
    ...     def compute(self) -> None:
    ...         for i in range(len(self.x)):
    ...             self.x[i] = 2.0 * self.x[i]
    >>> flops_of(Twice, np.array([[10], [100]]), Target()).tolist()
    [10, 100]
    """
    taking = _taking(cls, target)
    if taking is None or is_data_dependent(cls, target) or (taking.parts(shapes) == OVER).any():
        return None
    for field in fields_of(cls):
        if field.kind == "rows":
            rows, elements = shapes[:, field.first_word], shapes[:, field.first_word + 1]
            if (elements % np.maximum(rows, 1)).any():
                return None
    return taking.parts(shapes, 0)


def is_data_dependent(cls: type[Vertex], target: Target, *, is_uneven: bool = False) -> bool:
    """Return whether the slots of a class depend on data; False if the class is never compiled.

    With `is_uneven`, rows of lists differ in length, so that the slots depend on which row a loop
    uses.
    """
    return DATA in _deciding(cls, target, is_uneven)


def deciding_fields(
    cls: type[Vertex], target: Target, *, is_uneven: bool = False
) -> frozenset[str]:
    """Return the edges on whose data the slots of a class depend."""
    deciding = _deciding(cls, target, is_uneven)
    if DATA not in deciding:
        return frozenset()
    edges = {name: field for name, field in cls.fields.items() if field.is_edge}
    found = {name for name in deciding if name in edges}
    if any(edges[name].writes for name in found):  # its elements may be computed from all others
        found |= {name for name, field in edges.items() if field.reads}
    return frozenset(found)


def _deciding(cls: type[Vertex], target: Target, is_uneven: bool) -> tuple[str, ...]:
    taking = _taking(cls, target)
    if taking is None:
        return ()
    return taking.uneven if is_uneven else taking.deciding


@frozen(eq=False)
class _Taking:
    """The native code that returns the slots of a class.

    Attributes:
        workers: how many workers run each vertex.
        deciding: names of the arguments on which the slots depend, and `DATA`.
        uneven: the value of `deciding` if the rows of lists are uneven.
    """

    code: Native
    workers: int
    deciding: tuple[str, ...]
    uneven: tuple[str, ...]

    def parts(self, shapes: Int64, budget: int = MOST_SLOTS * PARTS) -> Int64:
        """Return 64ths of a slot for each shape, or `OVER`; operations if the budget is 0."""
        table = np.ascontiguousarray(shapes, np.int64)
        found = np.empty(len(table), np.int64)
        words = [ctypes.c_void_p, *[ctypes.c_int64] * 4, ctypes.c_void_p]
        call = ctypes.CFUNCTYPE(None, *words)(self.code.address)
        sizes = (*table.shape, self.workers, budget)
        call(table.ctypes.data, *sizes, found.ctypes.data)
        return found


def _taking(cls: type[Vertex], target: Target) -> _Taking | None:
    """Return the code that computes slots of a class; None for a class that is never compiled."""
    try:
        return meaning_of(cls).remembered(("slots", target), partial(_compiled, cls, target))
    except VertexCompileError:
        return None


def _compiled(cls: type[Vertex], target: Target) -> _Taking | None:
    try:
        code = built(_name(cls, target), partial(_job, cls, target))
    except Exception as error:
        # Recognized by their module, as importing Numba's error classes would import Numba.
        if type(error).__module__.startswith("numba."):
            return None  # there is no driver either: the class only runs as plain Python
        raise
    if "unpriced" in code.about:
        if meaning_of(cls).may_lack_price:
            return None
        fix = "give the class a cycles method, or the vertex a perf estimate"
        raise VertexCompileError(
            code.about["unpriced"], at=cls.location, found=code.about["found"], fix=fix
        )
    workers = target.workers if issubclass(cls, MultiVertex) else 1
    return _Taking(code, workers, tuple(code.about["deciding"]), tuple(code.about["uneven"]))


def add_slots(builds: Builds, cls: type[Vertex], target: Target) -> None:
    """Add the code for the slots of a class to the code being compiled.

    Raises `VertexCompileError` when `compute` is outside the dialect.
    """
    builds.add(_name(cls, target), partial(_job, cls, target))


def _job(cls: type[Vertex], target: Target) -> Job:
    from poplite.simulator.pricing.native_slots import slots_job

    return slots_job(_name(cls, target), cls, _costs(target))


def _name(cls: type[Vertex], target: Target) -> str:
    return digest([__name__], "slots", meaning_of(cls).identity, _costs(target))


def _costs(target: Target) -> dict[str, float]:
    return {name: target.cost(name) for name in CODE_FACTS}


def _formula(cls: type[Vertex], target: Target) -> str | None:
    """Return the slots of a class as text, if they depend only on the shapes of its vertices."""
    taking = _taking(cls, target)
    if taking is None or DATA in taking.deciding or issubclass(cls, MultiVertex):
        return None  # the slots of the slowest worker have no simple formula
    parameters = [p for p in parameters_of(cls) if p.name in taking.deciding]
    names = [_display(p.field, p.what, p.kind == "rows") for p in parameters]
    words = sum(WORDS[field.kind] for field in fields_of(cls))

    def take(values: Sequence[Sequence[int]]) -> list[int]:
        shapes = np.ones((len(values), words), np.int64)
        for k, parameter in enumerate(parameters):
            column = [row[k] for row in values]
            if parameter.kind == "rows" and parameter.what == "length":
                shapes[:, parameter.word + 1] = column
            else:
                shapes[:, parameter.word] = column
        for field in fields_of(cls):
            if field.kind == "rows":
                shapes[:, field.first_word + 1] *= shapes[:, field.first_word]
        taken: list[int] = taking.parts(shapes).tolist()
        return taken

    return formula_text(take, names, PARTS)


def _display(field: str, what: str, in_rows: bool) -> str:
    if what == "value":
        return field
    return f"len({field}[0])" if in_rows and what == "length" else f"len({field})"


# -- formulas --------------------------------------------------------------------------------------


Take = Callable[[Sequence[Sequence[int]]], Sequence[int]]
"""Returns the slots of vertices for the given values of the variables."""

_DEGREES = (1, 2, 3)
_FIRST = 3
"""Minimum value to fit: short loops may take different paths."""

_CHECKS = 12
"""Number of points at which a polynomial is checked."""

_SPREAD = (7, 5, 17)
"""Determines these points: the step for each point and for each variable, and the period."""

_MODULI = (2, 4)
"""Remainders of a single variable that may have separate polynomials, for tails of loops."""

MOST_VARIABLES = 4
"""With more variables there is no formula; each shape is priced by itself."""


@frozen(eq=False)
class Polynomial:
    """A polynomial: each term has the exponent of each variable and a nonzero coefficient.

    Terms are in ascending order of degree.
    """

    terms: tuple[tuple[tuple[int, ...], Fraction], ...]

    def __call__(self, values: Sequence[int]) -> Fraction:
        """Return its value for the given variables."""
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
    """Return a formula for the slots of vertices, divided by `unit`; None if no simple one exists.

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
    """Return the polynomial for the slots of vertices, of degree 3 at most; None if there is none.

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
    if min(expected) < 0:  # OVER: it exceeds the budget
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
    """Return the unique solution of linear equations."""
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
