"""`self.x.lanes(i, count)` and `self.y.set_lanes(i, value)`, as Numba types and emits them.

Like all accesses they call small functions that each use of a class defines
(`poplite.simulator.codegen.lanes.accessors`)::

    field.span.0(first, count, length, about)    whether these elements are there; else compute ends
    field.lanes.0(address, count)                their numbers, widened to what compute sees
    field.set_lanes.2(address, values, count)    the other way

Importing this module imports Numba, and registers the rules with `poplite.jit.numba_context`.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.callconv import RETCODE_EXC
from numba.core.typing.templates import AttributeTemplate, bound_function, signature

from poplite.jit.numba_context import lowerings, typing_rules
from poplite.simulator.codegen.accesses import call_accessor, companions
from poplite.simulator.codegen.accessors import LANES, SET_LANES, SPAN
from poplite.simulator.codegen.field_types import VectorType
from poplite.simulator.codegen.lanes.values import LanesType, lane_type, made, parts
from poplite.simulator.codegen.lanes.vectors import INDEX, TRUTH, smaller_of
from poplite.types import HALF
from poplite.vertex.compute.lanes import WIDTH


@typing_rules.register_attr
class _VectorAttributes(AttributeTemplate):
    key = VectorType

    @bound_function("vector.lanes")
    def resolve_lanes(self, kind: VectorType, args: Any, kws: Any) -> Any:
        return signature(LanesType(kind.value), *([types.int64] * len(args)), recvr=kind)

    @bound_function("vector.set_lanes")
    def resolve_set_lanes(self, kind: VectorType, args: Any, kws: Any) -> Any:
        return signature(types.none, types.int64, args[1], recvr=kind)


def _place(
    context: Any, builder: ir.IRBuilder, kind: VectorType, vector: Any, first: Any, count: Any
) -> Any:
    """Emit the check that elements are there; return their address."""
    arguments = [first, count, vector.length, vector.about]
    inside = call_accessor(builder, f"{SPAN}{kind.number}", TRUTH, arguments)
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
    address = _place(context, builder, kind, vector, first, count)
    values = ir.VectorType(lane_type(kind.value), WIDTH)
    loaded = call_accessor(builder, f"{LANES}{kind.number}", values, [address, count])
    return made(context, builder, sig.return_type, loaded, count)


@lowerings.lower("vector.set_lanes", VectorType, types.Integer, LanesType)
def _lower_set_lanes(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    kind, first = sig.args[0], args[1]
    vector = cgutils.create_struct_proxy(kind)(context, builder, value=args[0])
    values, count = parts(context, builder, sig.args[2], args[2])
    address = _place(context, builder, kind, vector, first, count)
    arguments = [address, values, count, vector.about, *companions(kind, vector)]
    found = call_accessor(builder, f"{SET_LANES}{kind.number}", ir.IntType(32), arguments)
    watch = context.typing_context.watch
    if watch is not None and kind.element is HALF:
        watch.stored(context, builder, found)
    return context.get_dummy_value()
