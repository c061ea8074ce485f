"""`self.x.lanes(i, count)` and `self.y.set_lanes(i, value)`, as Numba types and emits them.

Like all accesses they call small functions that each use of a class defines
(`poplite.simulator.codegen.lanes.accessors`)::

    field.span.0(first, count, length, about)    whether these elements are there; else compute ends
    field.lanes.0.64(address, count)             their numbers, widened to what compute sees
    field.set_lanes.2.64(address, values, count) the other way

The last number is the width of the vector. A number of lanes that `compute` says as such makes it
less than 64, the least power of two that is enough and fills a vector of most processors.

Importing this module imports Numba, and registers the rules with `poplite.jit.numba_context`.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.callconv import RETCODE_EXC
from numba.core.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    bound_function,
    signature,
)

from poplite.jit.instructions import call_named
from poplite.jit.numba_context import lowerings, typing_rules
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


class _Lanes(AbstractTemplate):
    key = "vector.lanes"
    prefer_literal = True

    def generic(self, args: Any, kws: Any) -> Any:
        return signature(
            _lanes_of(self.this, *args[1:]), *([types.int64] * len(args)), recvr=self.this
        )


class _GuardedLanes(AbstractTemplate):
    key = guards.lanes
    prefer_literal = True

    def generic(self, args: Any, kws: Any) -> Any:
        kind, _, count, _ = args
        return signature(_lanes_of(kind, count), kind, types.int64, types.int64, types.boolean)


typing_rules.register_global(guards.lanes, types.Function(_GuardedLanes))


@typing_rules.register_attr
class _VectorAttributes(AttributeTemplate):
    key = VectorType

    def resolve_lanes(self, kind: VectorType) -> Any:
        return types.BoundFunction(_Lanes, kind)

    @bound_function("vector.set_lanes")
    def resolve_set_lanes(self, kind: VectorType, args: Any, kws: Any) -> Any:
        return signature(types.none, types.int64, args[1], recvr=kind)


def _place(
    context: Any,
    builder: ir.IRBuilder,
    kind: VectorType,
    vector: Any,
    first: Any,
    count: Any,
    is_inside: Any = _UNKNOWN,
) -> Any:
    """Emit the check that elements are there, unless a guard says so; return their address."""
    arguments = [first, count, vector.length, vector.about]
    with builder.if_then(builder.not_(is_inside)):
        inside = call_named(builder, f"{SPAN}{kind.number}", TRUTH, arguments)
        with builder.if_then(builder.not_(inside), likely=False):
            context.call_conv._return_errcode_raw(builder, RETCODE_EXC)
    return builder.gep(vector.data, [first], inbounds=True)


@lowerings.lower("vector.lanes", VectorType, types.Integer)
@lowerings.lower("vector.lanes", VectorType, types.Integer, types.Integer)
def _lower_lanes(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    kind, first = sig.args[0], args[1]
    vector = cgutils.create_struct_proxy(kind)(context, builder, value=args[0])
    if len(args) > 2:
        count = args[2]
    else:
        count = smaller_of(builder, builder.sub(vector.length, first), INDEX(WIDTH))
    return _loaded(context, builder, sig, vector, first, count)


@lowerings.lower(guards.lanes, VectorType, types.Integer, types.Integer, types.Boolean)
def _lower_guarded_lanes(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    owner, first, count, is_inside = args
    vector = cgutils.create_struct_proxy(sig.args[0])(context, builder, value=owner)
    return _loaded(context, builder, sig, vector, first, count, is_inside)


def _loaded(
    context: Any,
    builder: ir.IRBuilder,
    sig: Any,
    vector: Any,
    first: Any,
    count: Any,
    is_inside: Any = _UNKNOWN,
) -> Any:
    """Emit the load of lanes."""
    kind, width = sig.args[0], sig.return_type.width
    address = _place(context, builder, kind, vector, first, count, is_inside)
    values = ir.VectorType(lane_type(kind.value), width)
    name, arguments = f"{LANES}{kind.number}.{width}", [address, count, vector.about]
    loaded = call_named(builder, name, values, arguments)
    return made(context, builder, sig.return_type, loaded, count)


@lowerings.lower("vector.set_lanes", VectorType, types.Integer, LanesType)
def _lower_set_lanes(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    kind, first = sig.args[0], args[1]
    vector = cgutils.create_struct_proxy(kind)(context, builder, value=args[0])
    values, count = parts(builder, args[2])
    address = _place(context, builder, kind, vector, first, count)
    arguments = [address, values, count, vector.about, *companions(kind, vector)]
    own = f"{SET_LANES}{kind.number}.{sig.args[2].width}"
    found = call_named(builder, own, ir.IntType(32), arguments)
    watch = context.typing_context.watch
    if watch is not None and kind.element is HALF:
        watch.stored(context, builder, found)
    return context.get_dummy_value()
