"""Lanes in compiled code: a vector of numbers, and how many of them are present.

    {<64 x float> values, i64 count}        self.x.lanes(i)
    {<16 x float> values, i64 count}        self.x.lanes(i, 16): a quarter of the registers

A vector has 64 numbers, or no more than `compute` asks for by a number in its text. Operations are
instructions on all lanes. Where the operands have different lanes, what only one of them has is
kept by a `select`, which LLVM removes where both counts are constants. What is in an absent lane is
defined, and means nothing. Sums are added in the order that the instructions say: no flag lets LLVM
reorder them, so they have the same bits on every processor.

What lanes mean: `poplite.vertex.compute.lanes`. Importing this module imports Numba.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.datamodel import models, register_default
from numba.core.typeconv import Conversion

from poplite.jit.numba_context import lowerings
from poplite.simulator.codegen.lanes.vectors import (
    BYTE,
    INDEX,
    TRUTH,
    array_of,
    loop,
    vector_of,
    widened,
)
from poplite.vertex.compute.lanes import WIDTH


class LanesType(types.Type):
    """Lanes of numbers of a type `lane`: boolean, int64, uint64 or float32; at most `width`."""

    def __init__(self, lane: Any, width: int = WIDTH) -> None:
        self.lane, self.width = lane, width
        super().__init__(f"Lanes({lane}, {width})")

    def unify(self, typingctx: Any, other: Any) -> LanesType | None:
        """Return the wider of two types: a variable may hold both."""
        if isinstance(other, LanesType) and other.lane == self.lane:
            return max(self, other, key=lambda each: each.width)
        return None

    def can_convert_to(self, typingctx: Any, other: Any) -> Conversion | None:
        """Tell how wider lanes are made of these."""
        is_wider = isinstance(other, LanesType) and other.width >= self.width
        return Conversion.safe if is_wider and other.lane == self.lane else None


class _ValuesType(types.Type):
    def __init__(self, lane: Any, width: int) -> None:
        self.lane, self.width = lane, width
        super().__init__(f"LaneValues({lane}, {width})")


def lane_type(lane: Any) -> ir.Type:
    """LLVM type of one lane."""
    if lane == types.boolean:
        return TRUTH
    return ir.FloatType() if lane == types.float32 else INDEX


@register_default(_ValuesType)
class _ValuesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: _ValuesType) -> None:
        super().__init__(manager, kind, ir.VectorType(lane_type(kind.lane), kind.width))


@register_default(LanesType)
class _LanesModel(models.StructModel):
    def __init__(self, manager: Any, kind: LanesType) -> None:
        values = _ValuesType(kind.lane, kind.width)
        super().__init__(manager, kind, [("values", values), ("count", types.int64)])


def made(context: Any, builder: ir.IRBuilder, kind: LanesType, values: Any, count: Any) -> Any:
    """Emit lanes of values and a count."""
    nothing = ir.Constant(context.get_value_type(kind), ir.Undefined)
    return builder.insert_value(builder.insert_value(nothing, values, 0), count, 1)


def parts(builder: ir.IRBuilder, value: Any) -> tuple[Any, Any]:
    """Return the values and the count of lanes."""
    return builder.extract_value(value, 0), builder.extract_value(value, 1)


@lowerings.lower_cast(LanesType, LanesType)
def _lower_cast(context: Any, builder: Any, own: Any, to: Any, value: Any) -> Any:
    values, count = parts(builder, value)
    return made(context, builder, to, widened(builder, values, to.width), count)


# -- lane by lane --------------------------------------------------------------------------------


def each_lane(
    builder: ir.IRBuilder,
    result: Any,
    emit: Callable[[Sequence[Any]], Any],
    arguments: Sequence[tuple[Any, Any]],
    count: Any,
) -> Any:
    """Emit a loop over lanes with what `emit` makes of their numbers; return the vector of results.

    `arguments` are pairs of a lane's type and a vector, or of None and a number. The numbers of a
    vector go by way of an array, which LLVM makes vectors again once it has unrolled the loop.
    """
    width = next(value.type.count for lane, value in arguments if lane is not None)
    arrays = [None if lane is None else array_of(builder, value) for lane, value in arguments]
    kind = ir.VectorType(lane_type(result), width)
    made = array_of(builder, ir.Constant(kind, None))
    with loop(builder, count) as place:
        numbers = [
            value if array is None else _element(builder, array, place, lane)
            for (lane, value), array in zip(arguments, arrays, strict=True)
        ]
        number = emit(numbers)
        if result == types.boolean:
            number = builder.zext(number, BYTE)
        builder.store(number, builder.gep(made, [INDEX(0), place], inbounds=True))
    return vector_of(builder, made, kind)


def _element(builder: ir.IRBuilder, array: Any, place: Any, lane: Any) -> Any:
    number = builder.load(builder.gep(array, [INDEX(0), place], inbounds=True))
    return builder.trunc(number, TRUTH) if lane == types.boolean else number
