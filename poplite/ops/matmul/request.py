"""What a plan is asked for: sizes, types, memory, and what is fixed beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from poplite.errors import (
    ElementTypeError,
    InvalidOption,
    SizeOverflowError,
    TensorCreationError,
    did_you_mean,
)
from poplite.text import clipped, integer_or_none, of_type
from poplite.types import FLOAT, HALF, ElementType, ElementTypeLike, element_type

MOST_PRODUCTS = 2**50
"""Multiplications of two elements; cycles of more might not fit 64 bits."""

CONSTRAINTS = {
    "pm": "tiles over the rows of the left matrix",
    "pk": "tiles over the depth",
    "pn": "tiles over the columns of the right matrix",
    "pg": "sets of tiles over the groups",
    "split_m": "passes over the rows",
    "split_n": "passes over the columns",
}
"""What a plan can be held to."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a product is planned, as a user says it.

    Attributes:
        partials: in which tiles add up; None for FLOAT.
        result: of the product; None for the type of the matrices.
        memory: share of a tile's memory.
        constraints: pairs of a name and a number, sorted.
        what: the call, for messages.
    """

    partials: type[ElementType[Any]] | None = None
    result: type[ElementType[Any]] | None = None
    memory: float = 0.6
    constraints: tuple[tuple[str, int], ...] = ()
    what: str = field(default="ops.matmul", compare=False)


@dataclass(frozen=True, slots=True)
class ProductRequest:
    """A product of `groups` pairs of matrices, [m, k] by [k, n].

    Attributes:
        element_type: of the matrices.
        result: of the products.
        partials: of what tiles come to before it is added up.
        memory: share of a tile's memory that blocks and partials may take.
        constraints: pairs of a name and a number, sorted.
    """

    groups: int
    m: int
    k: int
    n: int
    element_type: type[ElementType[Any]]
    result: type[ElementType[Any]]
    partials: type[ElementType[Any]]
    memory: float
    constraints: tuple[tuple[str, int], ...]

    @property
    def sizes(self) -> tuple[int, int, int]:
        """m, k and n."""
        return self.m, self.k, self.n

    @property
    def kinds(self) -> tuple[type[ElementType[Any]], type[ElementType[Any]]]:
        """The types that the unit multiplies, and sums up in."""
        return self.element_type, self.partials

    @property
    def is_empty(self) -> bool:
        """Whether nothing is multiplied."""
        return min(self.groups, *self.sizes) == 0

    def __str__(self) -> str:
        groups = f"{self.groups:,} of " if self.groups != 1 else ""
        result = f" to {self.result!r}" if self.result is not self.element_type else ""
        return (
            f"{groups}{self.m:,} x {self.k:,} times {self.k:,} x {self.n:,}, "
            f"{self.element_type!r}{result} with partials of {self.partials!r}"
        )


def checked_share(what: str, memory: object) -> float:
    """Return the share of a tile's memory that a plan may take; `what` is for messages."""
    is_share = isinstance(memory, int | float) and not isinstance(memory, bool)
    if not is_share or not 0 < memory <= 1:  # type: ignore[operator]
        raise InvalidOption(
            f"{what}: memory={clipped(memory)}",
            found="it is the share of a tile's memory that blocks and partials may take",
            fix="memory=0.6",
        )
    return float(memory)  # type: ignore[arg-type]


def checked_options(
    what: str,
    partials: ElementTypeLike | None,
    result: ElementTypeLike | None,
    memory: object,
    constraints: object,
) -> Options:
    """Return options that a user gave; `what` is the operation, for messages."""
    share = checked_share(what, memory)
    if constraints is not None and not isinstance(constraints, Mapping):
        raise InvalidOption(
            f"{what}: constraints={clipped(constraints)}",
            found=of_type(constraints),
            fix='constraints={"pk": 1}',
        )
    fixed = []
    for name, value in (constraints or {}).items():
        if name not in CONSTRAINTS:
            near = did_you_mean(name, CONSTRAINTS) if isinstance(name, str) else ""
            raise InvalidOption(
                f"{what}: {clipped(name)} is no constraint{near}",
                found="; ".join(f"{each}: {about}" for each, about in CONSTRAINTS.items()),
                fix='constraints={"pk": 1}',
            )
        number = integer_or_none(value)
        if number is None or number < 1:
            raise InvalidOption(
                f"{what}: constraint {name} is {clipped(value)}",
                found=f"{CONSTRAINTS[name]}: a whole number from 1",
                fix=f'constraints={{"{name}": 1}}',
            )
        fixed.append((name, number))
    return Options(
        None if partials is None else element_type(partials),
        None if result is None else element_type(result),
        share,
        tuple(sorted(fixed)),
        what,
    )


def request_of(
    sizes: tuple[object, object, object, object],
    element: type[ElementType[Any]],
    options: Options,
) -> ProductRequest:
    """Return what is planned of groups, m, k and n, or refuse it."""
    what = options.what
    result = options.result or element
    partials = FLOAT if options.partials is None else options.partials
    if element in (HALF, FLOAT) and result not in (element, FLOAT):
        raise ElementTypeError(
            f"{what} of {element!r} with a result of {result!r}",
            found="products are of the type of the matrices, or FLOAT",
            fix=f"ops.cast(product, {result!r})",
        )
    if element not in (HALF, FLOAT) or partials not in (element, FLOAT):
        raise ElementTypeError(
            f"{what} of {element!r} with partials of {partials!r}",
            found="the AMP unit multiplies HALF with partials of HALF or FLOAT, FLOAT with FLOAT",
            fix="ops.cast(x, FLOAT) of integers, exact up to 2**24",
        )
    groups, m, k, n = (integer_or_none(size) for size in sizes)
    shown = [clipped(size) for size in sizes]
    about = f"{what}: {shown[0]} of " if groups != 1 else f"{what}: "
    about += f"[{shown[1]}, {shown[2]}] by [{shown[2]}, {shown[3]}]"
    if groups is None or m is None or k is None or n is None or min(groups, m, k, n) < 0:
        raise TensorCreationError(
            about,
            found="sizes are whole numbers from 0",
            fix="plan_matmul(graph, m=64, k=128, n=32, type=pl.HALF)",
        )
    if groups * m * k * n > MOST_PRODUCTS:
        raise SizeOverflowError(
            about,
            found=f"that multiplies {groups * m * k * n:,} times, but the most is "
            f"{MOST_PRODUCTS:,}",
            fix="smaller matrices",
        )
    if result is FLOAT:
        partials = FLOAT  # as in PopLibs
    return ProductRequest(
        groups, m, k, n, element, result, partials, options.memory, options.constraints
    )
