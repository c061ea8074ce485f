"""What a generated vertex class computes, as plain data that a file can hold.

A class that operations make stands in no module. So the file of an executable holds its recipe, and
whoever loads the file makes the class anew, from the same recipe with the same code: no text of a
file is ever run. All that a recipe says is a name of a table, an element type, or an earlier line,
and is checked as such (`fault_of`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from poplite.expr.operations import OPERATIONS, ElementOperation, kind_of
from poplite.types import BOOL, FLOAT, HALF, ElementType

MOST_LINES = 1 << 14
"""Lines of a recipe that a file may hold."""


class OperandPart(Enum):
    """What a vertex has of an operand."""

    ELEMENTS = "elements"
    ROWS = "rows"
    ROW = "row"
    COLUMN = "column"
    NUMBER = "number"


@dataclass(frozen=True, slots=True)
class Line:
    """An operation: `v2 = a0 - v1` is `Line("subtract", FLOAT, ("a0", "v1"))`.

    Attributes:
        operation: its name in `OPERATIONS`, or "cast".
        element_type: of the result.
        operands: names of tensors, numbers, and lines before this one.
    """

    operation: str
    element_type: type[ElementType[Any]]
    operands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Body:
    """An expression as lines, in an order in which they can run.

    Attributes:
        lines: `v0`, `v1`, ...
        result: the name of the result: a line, a tensor or a number.
        tensors: element types of `a0`, `a1`, ...
        numbers: element types of `k0`, `k1`, ...
    """

    lines: tuple[Line, ...]
    result: str
    tensors: tuple[type[ElementType[Any]], ...]
    numbers: tuple[type[ElementType[Any]], ...]

    def types(self) -> dict[str, type[ElementType[Any]]]:
        """Return the element type of each name."""
        found = {f"a{n}": each for n, each in enumerate(self.tensors)}
        found |= {f"k{n}": each for n, each in enumerate(self.numbers)}
        return found | {f"v{n}": line.element_type for n, line in enumerate(self.lines)}


@dataclass(frozen=True, slots=True)
class MapRecipe:
    """The vertex class of a map.

    Attributes:
        body: what it computes of each element.
        parts: what a vertex has of each tensor.
        out: the element type of the result.
        in_place: the number of the tensor that the result replaces; None for none.
    """

    body: Body
    parts: tuple[OperandPart, ...]
    out: type[ElementType[Any]]
    in_place: int | None = None


@dataclass(frozen=True, slots=True)
class ReductionRecipe:
    """The vertex class that computes elements and joins them.

    Attributes:
        body: what it computes of each element.
        scalars: numbers of the tensors of one element, rising.
        how: how elements are joined: a name of `JOINS`.
        out: the element type of the result.
        is_columns: whether rows are joined element by element (`poplite.vertices.reduce`).
    """

    body: Body
    scalars: tuple[int, ...]
    how: str
    out: type[ElementType[Any]]
    is_columns: bool


@dataclass(frozen=True, slots=True)
class SumRecipe:
    """The vertex class that adds up slices of a product, and computes something of each sum.

    Attributes:
        body: what it computes.
        parts: what a vertex has of each tensor; the sum counts as elements.
        out: the element type of the result.
        total: the number of the tensor that stands for the sum; its type is that of the slices.
    """

    body: Body
    parts: tuple[OperandPart, ...]
    out: type[ElementType[Any]]
    total: int


Recipe = MapRecipe | ReductionRecipe | SumRecipe

JOINS = {
    "add": "{0} + {1}",
    "mul": "{0} * {1}",
    "min": "np.minimum({0}, {1})",
    "max": "np.maximum({0}, {1})",
    "logical_and": "{0} & {1}",
    "logical_or": "{0} | {1}",
}
"""Lanes of two, as the vertices of `poplite.vertices.reduce` join them."""


def fault_of(recipe: Recipe) -> str | None:
    """Return what a recipe from a file says that no expression makes; None for a sound one.

    >>> from poplite.types import FLOAT
    >>> body = Body((Line("negative", FLOAT, ("a1",)),), "v0", (FLOAT,), ())
    >>> fault_of(MapRecipe(body, (OperandPart.ELEMENTS,), FLOAT))
    "line 0 of its recipe uses 'a1'"
    """
    return next(_faults(recipe), None)


def _faults(recipe: Recipe) -> Iterator[str]:
    body = recipe.body
    if len(body.lines) > MOST_LINES:
        yield f"its recipe has {len(body.lines):,} lines, at most {MOST_LINES:,} are read"
        return
    yield from _faults_of_lines(body)
    types = body.types()
    if body.result not in types:
        yield f"its recipe results in {body.result!r}"
        return
    numbers = range(len(body.tensors))
    if isinstance(recipe, MapRecipe | SumRecipe):
        if types[body.result] is not recipe.out:
            yield f"its recipe gives {types[body.result]!r}, not {recipe.out!r}"
        if len(recipe.parts) != len(body.tensors):
            yield f"its recipe has {len(body.tensors)} tensors and {len(recipe.parts)} parts"
    if isinstance(recipe, SumRecipe):
        if OperandPart.ROWS in recipe.parts:
            yield "its recipe has lists of rows beside a sum"
        if recipe.total not in numbers or body.tensors[recipe.total] not in (FLOAT, HALF):
            yield f"its recipe adds up tensor {recipe.total}"
        return
    if isinstance(recipe, MapRecipe):
        if recipe.in_place is not None and recipe.in_place not in numbers:
            yield f"its recipe replaces tensor {recipe.in_place}"
        elif recipe.in_place is not None and body.tensors[recipe.in_place] is not recipe.out:
            yield "its recipe replaces a tensor of another type"
        return
    if not set(recipe.scalars) < set(numbers):
        yield f"its recipe has scalars {recipe.scalars} of {len(numbers)} tensors"
    is_logical = types[body.result] is BOOL
    if recipe.how not in JOINS or recipe.how.startswith("logical") != is_logical:
        yield f"its recipe joins elements of {types[body.result]!r} by {recipe.how!r}"


def _faults_of_lines(body: Body) -> Iterator[str]:
    types, known = body.types(), {f"a{n}" for n in range(len(body.tensors))}
    known |= {f"k{n}" for n in range(len(body.numbers))}
    if any(kind_of(types[each]) is None for each in known):
        yield "its recipe has tensors of a type that expressions do not take"
        return
    for number, line in enumerate(body.lines):
        where = f"line {number} of its recipe"
        operation, unknown = OPERATIONS.get(line.operation), set(line.operands) - known
        if unknown:
            yield f"{where} uses {min(unknown)!r}"
            return
        operands = [types[each] for each in line.operands]
        if line.operation == "cast":
            is_sound = len(operands) == 1 and kind_of(line.element_type) is not None
        else:
            is_sound = operation is not None and _is_sound(operation, operands, line.element_type)
        if not is_sound:
            taken = ", ".join(map(repr, operands))
            yield f"{where} says {line.operation!r} of {taken} as {line.element_type!r}"
            return
        known.add(f"v{number}")


def _is_sound(
    operation: ElementOperation,
    operands: list[type[ElementType[Any]]],
    result: type[ElementType[Any]],
) -> bool:
    """Tell whether an operation takes operands of these types, and gives that one."""
    if len(operands) != operation.arity:
        return False
    same = operands[:2] if operation.name == "select" else operands
    if operation.name == "select" and operands[2] is not BOOL:
        return False
    element = same[0]
    return (
        all(each is element for each in same)
        and operation.text_for(element) is not None
        and result is (BOOL if operation.gives == "bool" else element)
    )
