"""The cost of the lines of a body, from the prices of PopLibs' own vertices.

    v0 = a0 * a1        ("multiply", FLOAT, FLOAT, "vv")      both operands are vectors
    v1 = v0 + k0        ("add", FLOAT, FLOAT, "vn")           the second operand is one number

Maps, sums of products and the choice of stored values (`poplite.ops.fuse.storing`) use these
prices. Operations without a published price have no price; vertices with such an operation are
estimated from their compiled code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

from poplite.expr.tree import ElementClass
from poplite.machine.target import Target
from poplite.ops.fuse.recipe import Body, Line, OperandPart, ReductionRecipe
from poplite.types import BOOL, FLOAT, HALF, INT
from poplite.vertices.estimators import MapOperation, is_priced, own_slots

Found = TypeVar("Found")

_NAMES = {
    "absolute": "abs",
    "bitwise_and": "bit_and",
    "bitwise_not": "bit_not",
    "bitwise_or": "bit_or",
    "bitwise_xnor": "bit_xnor",
    "bitwise_xor": "bit_xor",
    "count_leading_zeros": "leading_zeros",
    "divide_trunc": "divide",
    "floor_divide": "divide",
    "logical_and": "and",
    "logical_not": "not",
    "logical_or": "or",
    "logical_xor": "not_equal",
    "negative": "negate",
    "reciprocal": "inverse",
    "remainder_trunc": "remainder",
    "round": "nearby_int",
    "round_half_away": "round",
    "shift_left": "left_shift",
    "shift_right": "right_shift",
    "shift_right_logical": "right_shift",
    "sign_popops": "sign",
    "sqrt_trunc": "sqrt",
}
"""Operations that have different names in PopLibs' tables."""

_OF_BOOL = {
    "bitwise_and": "and",
    "bitwise_not": "not",
    "bitwise_or": "or",
    "bitwise_xnor": "equal",
    "bitwise_xor": "not_equal",
}
"""The names of bitwise operations on truth values."""

UNKNOWN_SLOTS = 100
"""Slots of an operation that is not in PopLibs' tables; all of these are function calls."""

KINDS = {
    OperandPart.ELEMENTS: "v",
    OperandPart.ROWS: "v",
    OperandPart.ROW: "r",
    OperandPart.COLUMN: "c",
    OperandPart.NUMBER: "n",
}
"""The letter for an operand in `poplite.vertices.estimators.MapOperation`."""


def step_of(
    operation: str, element: ElementClass, result: ElementClass, operands: str
) -> MapOperation | None:
    """Return an operation under its name in PopLibs' tables; None if it has no price.

    >>> from poplite.types import FLOAT
    >>> step_of("negative", FLOAT, FLOAT, "v").operation
    'negate'
    """
    name = _NAMES.get(operation, operation)
    if element is BOOL:
        name = _OF_BOOL.get(operation, name)
    elif operation == "shift_right" and element.dtype.kind == "i":
        name = "right_shift_signed"
    elif operation == "floor_divide" and element.is_floating_point:
        return None
    step = MapOperation(name, element, result, operands)
    return step if is_priced(step) else None


def walked(body: Body, kinds: Sequence[str]) -> Iterator[MapOperation]:
    """Yield the lines of a body as steps, with the names of `poplite.ops`.

    `kinds` has a letter of `KINDS` for each tensor: the part of it that a vertex reads.
    """
    types = body.types()
    known = {f"a{n}": kind for n, kind in enumerate(kinds)}
    known |= dict.fromkeys((f"k{n}" for n in range(len(body.numbers))), "n")
    for number, line in enumerate(body.lines):
        operands = "".join([known[each] for each in line.operands])
        step = MapOperation(line.operation, types[line.operands[0]], line.element_type, operands)
        known[f"v{number}"] = step.kind
        yield step


def steps_of(body: Body, kinds: Sequence[str]) -> list[MapOperation] | None:
    """Return the lines of a body as operations of PopLibs' tables; None if one has no price.

    >>> from poplite.ops.fuse.recipe import Line
    >>> from poplite.types import FLOAT
    >>> body = Body((Line("negative", FLOAT, ("a0",)),), "v0", (FLOAT,), ())
    >>> [(step.operation, step.operands) for step in steps_of(body, "v")]
    [('negate', 'v')]
    """
    made: list[MapOperation] = []
    for each in walked(body, kinds):
        step = step_of(*each)
        if step is None:
            return None
        made.append(step)
    return made


@lru_cache(maxsize=1 << 10)
def slots_of(operation: str, element: ElementClass, result: ElementClass, operands: str) -> float:
    """Return the slots of an operation for 64 bits of its operands, without their loads.

    Types for which PopLibs has no vertices are priced like INT.

    >>> from poplite.types import FLOAT
    >>> slots_of("add", FLOAT, FLOAT, "vv"), slots_of("acos", FLOAT, FLOAT, "v")
    (1.0, 100)
    """
    for like in (element, element if element.is_floating_point else INT):
        step = step_of(operation, like, result, operands)
        if step is not None:
            width = max(1, 8 // element.size_bytes) / max(1, 8 // like.size_bytes)
            return own_slots(step, Target(tiles=1)) * width
    return UNKNOWN_SLOTS


def is_float_operation(step: MapOperation) -> bool:
    """Return whether a step is a floating-point operation: no comparison, conversion or choice."""
    return step.result.is_floating_point and step.operation not in ("cast", "select")


# -- computation of reduced elements ---------------------------------------------------------------
# The slots of a reduction for computing an element, in addition to combining it.
#
#     sum(x * y)      one load of x or y, besides that of the reduction; one multiplication
#     sum(x ** 2)     no additional slots: PopLibs' `SQUARE_ADD` takes as long as its `ADD`
#     x @ y of HALF   one load and one multiplication of four elements, without a cast to FLOAT
#
# Operands are loaded once, by 64-bit words; operations take the slots that they take in a map
# (`poplite.ops.fuse.pricing`). Operations that are not in PopLibs' tables have no price here;
# vertices with such an operation are priced by their compiled code.


WORD = 8
"""Bytes of a load."""


class Computed(NamedTuple):
    """The computation of each element of a reduction, in addition to combining it.

    Attributes:
        joined: the element type that is combined; accumulators may square or widen it themselves.
        slots: number of slots per element.
        flops: number of operations per element.
    """

    joined: ElementClass
    slots: float
    flops: int

    @property
    def with_join(self) -> float:
        """Number of slots per element, including combining it."""
        return self.slots + _joined(self.joined) / WORD


def computed_of(recipe: ReductionRecipe) -> Computed | None:
    """Return the computation for each element of a reduction; None if an operation has no price.

    >>> from poplite.ops.fuse.recipe import Body
    >>> lines = Line("subtract", FLOAT, ("a0", "a1")), Line("square", FLOAT, ("v0",))
    >>> body = Body(lines, "v1", (FLOAT, FLOAT), ())
    >>> computed_of(ReductionRecipe(body, (), "add", FLOAT, is_columns=False))
    Computed(joined=FLOAT, slots=1.0, flops=2)
    """
    body, types = recipe.body, recipe.body.types()
    kinds = ["n" if n in recipe.scalars else "v" for n in range(len(body.tensors))]
    steps, joined = [*walked(body, kinds)], body.result
    flops = sum(map(is_float_operation, steps))
    if recipe.how == "add":
        steps, joined = _before_accumulators(body, steps)
    slots = _loads(recipe, types[joined])
    for step in steps:
        own = _slots(step)
        if own is None:
            return None
        slots += own
    return Computed(types[joined], slots, flops)


def _before_accumulators(body: Body, steps: list[MapOperation]) -> tuple[list[MapOperation], str]:
    """Return the operations before accumulators, and the operation that accumulators perform.

    Accumulators can add squares, add HALF to FLOAT, and add products of HALF (`f16v4cmac`).
    """
    lines, types, joined = [*body.lines], body.types(), body.result
    for is_done in (_squares, _widens):
        if lines and joined == f"v{len(lines) - 1}" and is_done(lines[-1], types):
            joined = lines.pop().operands[0]
    steps = steps[: len(lines)]
    if lines and joined == f"v{len(lines) - 1}" and (wide := _widened(lines, types)):
        product = MapOperation("multiply", HALF, HALF, steps[-1].operands)
        steps = [step for n, step in enumerate(steps[:-1]) if f"v{n}" not in wide]
        return [*steps, product], wide[lines[-1].operands[0]]
    return steps, joined


def _widened(lines: Sequence[Line], types: Mapping[str, ElementClass]) -> dict[str, str]:
    """Return the casts from HALF that only the product in the last line uses, by name there."""
    *others, last = lines
    casts = {f"v{n}": line.operands[0] for n, line in enumerate(others) if _widens(line, types)}
    read = {name for line in others for name in line.operands}
    if last.operation != "multiply" or not {*last.operands} <= casts.keys() - read:
        return {}
    return {name: casts[name] for name in last.operands}


def _squares(line: Line, types: Mapping[str, ElementClass]) -> bool:
    is_square = line.operation == "square" or (
        line.operation == "multiply" and line.operands[0] == line.operands[1]
    )
    return is_square and types[line.operands[0]] in (FLOAT, HALF)


def _widens(line: Line, types: Mapping[str, ElementClass]) -> bool:
    is_from_half = line.operation == "cast" and types[line.operands[0]] is HALF
    return is_from_half and line.element_type is FLOAT


def _joined(element: ElementClass) -> int:
    """Return the bytes of an element that a reduction loads; other types are loaded one by one."""
    return element.size_bytes if element in (FLOAT, HALF) else WORD


def _loads(recipe: ReductionRecipe, joined: ElementClass) -> float:
    """Return the slots for loading an element of each operand, without the reduction's own load."""
    tensors = enumerate(recipe.body.tensors)
    loaded = sum(each.size_bytes for n, each in tensors if n not in recipe.scalars)
    return max(0, loaded - _joined(joined)) / WORD


def _slots(step: MapOperation) -> float | None:
    """Return the slots of an operation per element; 0 if it has only numbers as operands."""
    found, target = step_of(*step), Target(tiles=1)
    if found is None:
        return None
    if step.kind == "n":
        return 0
    return own_slots(found, target) / target.vector_width(found.element)


# -- the cheaper of two ways -----------------------------------------------------------------------
# Exact prices are expensive, so each way yields a lower bound first, then ever tighter bounds.


class Remembered(Generic[Found]):
    """A bounded cache of results, by everything that they depend on.

    >>> known = Remembered[int](most=1)
    >>> [known.of(key, [].__len__) for key in ("a", "a", "b", None)]
    [0, 0, 0, 0]
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: dict[object, Found] = {}

    def of(self, key: object, find: Callable[[], Found]) -> Found:
        """Return the cached value of a key, or compute it; with None as key, it is not cached."""
        if key is None:
            return find()
        found = self._found.get(key)
        if found is None:
            if len(self._found) >= self._most:
                self._found.clear()
            found = self._found[key] = find()
        return found


class Bound(NamedTuple):
    """A lower bound on the cycles of a way; `is_exact` if it is exact."""

    cycles: float
    is_exact: bool = False

    def and_also(self, cycles: float) -> Bound:
        """Return the bound of a way that takes additional cycles."""
        return self._replace(cycles=self.cycles + cycles)

    def __str__(self) -> str:
        return f"{'' if self.is_exact else 'at least '}{self.cycles:,.0f}"


def followed(bounds: Iterator[Bound], cycles: Callable[[], float]) -> Iterator[Bound]:
    """Yield the bounds of a way followed by a step, whose cycles are added to the exact bound."""
    for each in bounds:
        yield each.and_also(cycles()) if each.is_exact else each


def compared(one: Iterator[Bound], other: Iterator[Bound]) -> tuple[Bound, Bound]:
    """Return bounds on the cycles of two ways, tight enough to know which takes fewer.

    Args:
        one: ascending bounds of the first way, which wins a tie; the last bound is exact.
        other: the bounds of the second way.

    >>> ways = [Bound(3), Bound(4, True)], [Bound(2), Bound(5), Bound(9, True)]
    >>> [str(each) for each in compared(*map(iter, ways))]
    ['4', 'at least 5']
    """
    a, b = next(one), next(other)
    while not (a if a.cycles <= b.cycles else b).is_exact:
        if a.cycles <= b.cycles:
            a = next(one)
        else:
            b = next(other)
    return a, b
