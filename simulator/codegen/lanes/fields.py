"""`self.x.lanes(i, count)` and `self.y.set_lanes(i, value)`, as Numba types and emits them.

Like all accesses they call small functions that each use of a class defines
(`poplite.simulator.codegen.lanes.accessors`)::

    field.span.0(first, count, length, about)    whether these elements are there; else compute ends
    field.lanes.0.64(address, count)             their numbers, widened to what compute sees
    field.set_lanes.2.64(address, values, count) the other way

The last number is the width of the vector. A number of lanes that `compute` says as such makes it
less than 64, the least power of two that is enough and fills a vector of most processors.

Importing this module imports Numba, and registers the rules with `poplite.jit.rules`.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from poplite.jit.emission import Emission
from poplite.jit.instructions import OUTSIDE_STATUS, call_named
from poplite.jit.rules import code_for, code_for_method, rule_for, rule_for_method
from poplite.simulator.codegen.accesses import companions
from poplite.simulator.codegen.accessors import LANES, SET_LANES, SPAN
from poplite.simulator.codegen.field_types import VectorType
from poplite.simulator.codegen.lanes.values import LanesType, lane_type, made, parts
from poplite.simulator.codegen.lanes.vectors import INDEX, TRUTH, smaller_of
from poplite.types import HALF
from poplite.vertex.compute.bounds import functions as guards
from poplite.vertex.compute.lanes import WIDTH

_UNKNOWN = ir.Constant(TRUTH, 0)
"""Stands for the guard of an access that has none."""

LEAST = 8
"""The least width of a vector: eight floats are 32 bytes."""


def width_of(count: int) -> int:
    """Return how wide the vector of a known number of lanes is.

    >>> [width_of(count) for count in (0, 8, 10, 64, 65)]
    [8, 8, 16, 64, 64]
    """
    return min(WIDTH, max(LEAST, 1 << (count - 1).bit_length())) if count > 0 else LEAST


def _lanes_of(kind: VectorType, count: Any = None) -> LanesType:
    """Return the type of lanes of a vector; `count` is the type of their number."""
    is_known = isinstance(count, types.IntegerLiteral)
    return LanesType(kind.value, width_of(count.literal_value) if is_known else WIDTH)


@rule_for_method(VectorType, "lanes", sees_numbers=True)
def _type_lanes(owner: VectorType, first: Any, *count: Any) -> Any:
    return _lanes_of(owner, *count), *([types.int64] * (1 + len(count)))


@rule_for(guards.lanes, sees_numbers=True)
def _type_guarded_lanes(owner: Any, first: Any, count: Any, is_inside: Any) -> Any:
    return _lanes_of(owner, count), owner, types.int64, types.int64, types.boolean


@rule_for_method(VectorType, "set_lanes")
def _type_set_lanes(owner: VectorType, first: Any, value: Any) -> Any:
    return types.none, types.int64, value


def _place(code: Emission, vector: Any, first: Any, count: Any, is_inside: Any = _UNKNOWN) -> Any:
    """Emit the check that elements are there, unless a guard says so; return their address."""
    builder, arguments = code.builder, [first, count, vector.length, vector.about]
    with builder.if_then(builder.not_(is_inside)):
        inside = call_named(builder, f"{SPAN}{code.kinds[0].number}", TRUTH, arguments)
        with builder.if_then(builder.not_(inside), likely=False):
            code.stop(OUTSIDE_STATUS)
    return builder.gep(vector.data, [first], inbounds=True)


@code_for_method(VectorType, "lanes", types.Integer)
def _emit_lanes_left(code: Emission, owner: Any, first: Any) -> Any:
    vector, builder = code.parts(code.kinds[0], owner), code.builder
    count = smaller_of(builder, builder.sub(vector.length, first), INDEX(WIDTH))
    return _loaded(code, vector, first, count)


@code_for_method(VectorType, "lanes", types.Integer, types.Integer)
@code_for(guards.lanes, VectorType, types.Integer, types.Integer, types.Boolean)
def _emit_lanes(code: Emission, owner: Any, *place: Any) -> Any:
    return _loaded(code, code.parts(code.kinds[0], owner), *place)


def _loaded(code: Emission, vector: Any, first: Any, count: Any, is_inside: Any = _UNKNOWN) -> Any:
    """Emit the load of lanes."""
    kind, width = code.kinds[0], code.result.width
    address = _place(code, vector, first, count, is_inside)
    values = ir.VectorType(lane_type(kind.value), width)
    name, arguments = f"{LANES}{kind.number}.{width}", [address, count, vector.about]
    return made(code, call_named(code.builder, name, values, arguments), count)


@code_for_method(VectorType, "set_lanes", types.Integer, LanesType)
def _emit_set_lanes(code: Emission, owner: Any, first: Any, lanes: Any) -> None:
    kind, _, stored = code.kinds
    vector, (values, count) = code.parts(kind, owner), parts(code.builder, lanes)
    address = _place(code, vector, first, count)
    arguments = [address, values, count, vector.about, *companions(kind, vector)]
    name = f"{SET_LANES}{kind.number}.{stored.width}"
    found = call_named(code.builder, name, ir.IntType(32), arguments)
    if code.watch is not None and kind.element is HALF:
        code.watch.stored(code, found)
