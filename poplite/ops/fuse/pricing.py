"""What the lines of a body take on the machine, by the prices of PopLibs' own vertices.

    v0 = a0 * a1        ("multiply", FLOAT, FLOAT, "vv")      both operands are vectors
    v1 = v0 + k0        ("add", FLOAT, FLOAT, "vn")           the second is one number

Maps, sums of products and the choice of what is stored (`poplite.ops.fuse.storing`) take them
from here. Operations without a published price have none: vertices with one are estimated from
their compiled code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from poplite.expr.tree import ElementClass
from poplite.machine.target import Target
from poplite.ops.fuse.recipe import Body, OperandPart
from poplite.types import BOOL, INT
from poplite.vertices.estimators.maps import MapOperation, is_priced, own_slots

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
"""Operations whose names in PopLibs' tables differ."""

_OF_BOOL = {
    "bitwise_and": "and",
    "bitwise_not": "not",
    "bitwise_or": "or",
    "bitwise_xnor": "equal",
    "bitwise_xor": "not_equal",
}
"""Operations on bits, as they are called for truth values."""

UNKNOWN_SLOTS = 100
"""Of an operation that PopLibs' tables do not have: those that remain are functions."""

KINDS = {
    OperandPart.ELEMENTS: "v",
    OperandPart.ROWS: "v",
    OperandPart.ROW: "r",
    OperandPart.COLUMN: "c",
    OperandPart.NUMBER: "n",
}
"""What an operand is to `poplite.vertices.estimators.maps.MapOperation`."""


def step_of(
    operation: str, element: ElementClass, result: ElementClass, operands: str
) -> MapOperation | None:
    """Return an operation as PopLibs' tables call it; None where they have no price.

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

    `kinds` says of each tensor what a vertex has of it, as letters of `KINDS`.
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
    """Return the lines of a body as PopLibs' tables call them; None where one has no price.

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

    Types that PopLibs has no vertices of count as INT.

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
