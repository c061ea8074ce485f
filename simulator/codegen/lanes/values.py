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
from numba import types

from poplite.jit.emission import Emission
from poplite.jit.rules import WidenedType, code_for_cast, held_in_one, held_in_parts
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


class LanesType(WidenedType):
    """Lanes of numbers of a type `lane`: boolean, int64, uint64 or float32; at most `width`."""

    def __init__(self, lane: Any, width: int = WIDTH) -> None:
        self.lane, self.width = lane, width
        super().__init__(f"Lanes({lane}, {width})")

    def is_within(self, other: Any) -> bool:
        """Return whether the other lanes are of the same type, and as wide or wider."""
        is_wider = isinstance(other, LanesType) and other.width >= self.width
        return is_wider and other.lane == self.lane


class _ValuesType(types.Type):
    def __init__(self, lane: Any, width: int) -> None:
        self.lane, self.width = lane, width
        super().__init__(f"LaneValues({lane}, {width})")


def lane_type(lane: Any) -> ir.Type:
    """LLVM type of one lane."""
    if lane == types.boolean:
        return TRUTH
    return ir.FloatType() if lane == types.float32 else INDEX


@held_in_one(_ValuesType)
def _register_of_values(kind: _ValuesType) -> ir.Type:
    return ir.VectorType(lane_type(kind.lane), kind.width)


@held_in_parts(LanesType)
def _parts_of_lanes(kind: LanesType) -> list[tuple[str, Any]]:
    return [("values", _ValuesType(kind.lane, kind.width)), ("count", types.int64)]


def made(code: Emission, values: Any, count: Any) -> Any:
    """Emit the lanes of a result from values and a count."""
    builder, nothing = code.builder, code.register(code.result)(ir.Undefined)
    return builder.insert_value(builder.insert_value(nothing, values, 0), count, 1)


def parts(builder: ir.IRBuilder, value: Any) -> tuple[Any, Any]:
    """Return the values and the count of lanes."""
    return builder.extract_value(value, 0), builder.extract_value(value, 1)


@code_for_cast(LanesType, LanesType)
def _emit_cast(code: Emission, value: Any) -> Any:
    values, count = parts(code.builder, value)
    values = widened(code.builder, values, code.result.width)
    return made(code, values, count)


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
