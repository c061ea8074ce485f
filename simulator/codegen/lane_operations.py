"""Lanes in compiled code: a vector of numbers, with the number of lanes that are present.

    {<64 x float> values, i64 count}                 self.x.lanes(i)
    {<16 x float> values, i64 count}                 self.x.lanes(i, 16), in a quarter of the
                                                     registers
    a + b, a * 0.5, -a, abs(a), np.maximum(a, b)     instructions on vectors
    a.sum()                                          six instructions; each halves the lanes
    pl.lanes.map(f, a, 2.0)                          a loop over the lanes

A vector has 64 elements, or, if `compute` requests fewer by a literal, the smallest power of two
that suffices, but at least enough to fill a vector register of most processors. Operations are
instructions on all lanes. If the operands have different counts, a `select` preserves lanes that
only one of them has, and LLVM removes it if both counts are constants. An absent lane has a defined
but meaningless value. Sums are added in the order of the instructions: no flag lets LLVM reorder
them, so they have the same bits on every processor. If floating-point exceptions stop a vertex,
operations are tested for each lane that is present.

Like all accesses, those to lanes call small functions that each use of a class defines
(`poplite.simulator.codegen.lane_accessors`); the last number in a name is the width of the vector::

    field.span.0(first, count, length, about)    whether the elements exist; else compute ends
    field.lanes.0.64(address, count)             their values, widened to the type in compute
    field.set_lanes.2.64(address, values, count) stores values, narrowed to the element type

`poplite.vertex.compute.lanes` defines the meaning of lanes.  Importing this module imports Numba,
and registers the rules with `poplite.jit.rules`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial, reduce
from itertools import product
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from poplite.jit.kernel_code import OUTSIDE_STATUS, call_named
from poplite.jit.numba_context import Emission, replacements, type_of_call
from poplite.jit.rules import (
    WidenedType,
    code_for,
    code_for_cast,
    code_for_method,
    held_in_one,
    held_in_parts,
    is_harmless,
    rule_for,
    rule_for_method,
)
from poplite.simulator.codegen import functions  # noqa: F401  (importing it fills replacements)
from poplite.simulator.codegen.accesses import VectorType, companions
from poplite.simulator.codegen.accessors import INDEX, LANES, SET_LANES, SPAN, TRUTH
from poplite.simulator.codegen.lane_accessors import (
    BYTE,
    array_of,
    loop,
    present,
    smaller_of,
    splat,
    vector_of,
    widened,
)
from poplite.types import HALF
from poplite.vertex.compute import bounds as guards, lanes
from poplite.vertex.compute.arithmetic import Kind
from poplite.vertex.compute.dialect import FUSED
from poplite.vertex.compute.lanes import IDENTITIES, JOINS, WIDTH

# -- values ----------------------------------------------------------------------------------------


class LanesType(WidenedType):
    """At most `width` lanes of a type `lane`: boolean, int64, uint64 or float32."""

    def __init__(self, lane: Any, width: int = WIDTH) -> None:
        self.lane, self.width = lane, width
        super().__init__(f"Lanes({lane}, {width})")

    def is_within(self, other: Any) -> bool:
        """Return whether the other lanes have the same type, and at least the same width."""
        is_wider = isinstance(other, LanesType) and other.width >= self.width
        return is_wider and other.lane == self.lane


class _ValuesType(types.Type):
    def __init__(self, lane: Any, width: int) -> None:
        self.lane, self.width = lane, width
        super().__init__(f"LaneValues({lane}, {width})")


def lane_type(lane: Any) -> ir.Type:
    """Return the LLVM type of one lane."""
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
    """Emit lanes from values and a count."""
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


# -- lane by lane ----------------------------------------------------------------------------------


def each_lane(
    builder: ir.IRBuilder,
    result: Any,
    emit: Callable[[Sequence[Any]], Any],
    arguments: Sequence[tuple[Any, Any]],
    count: Any,
) -> Any:
    """Emit a loop that applies `emit` to the values of each lane; return the vector of results.

    `arguments` are pairs: a lane's type and a vector, or None and a number. The elements of a
    vector pass through an array, which becomes vectors again once LLVM has unrolled the loop.
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


# -- operations ------------------------------------------------------------------------------------


Emit = Callable[[ir.IRBuilder, Any, Any, Any], Any]
"""Emits an operation on two vectors of lanes of a type."""

EmitJoined = Callable[..., tuple[Any, Any]]
"""Emits an operation for an `Emission` and operands, each given as values and count (None for a
number); returns its values and their count."""

_KINDS = {
    types.boolean: Kind.BOOL,
    types.int64: Kind.INT,
    types.uint64: Kind.UINT,
    types.float32: Kind.F32,
}


def _instruction(floats: str, integers: str) -> Emit:
    def emit(builder: ir.IRBuilder, lane: Any, a: Any, b: Any) -> Any:
        return getattr(builder, floats if lane == types.float32 else integers)(a, b)

    return emit


def _extreme(sign: str) -> Emit:
    """Return an emitter of the smaller or larger of two numbers, or of NaN if either is NaN."""

    def emit(builder: ir.IRBuilder, lane: Any, a: Any, b: Any) -> Any:
        if lane == types.float32:
            is_first = builder.fcmp_ordered(sign, a, b)
            is_first = builder.or_(is_first, builder.fcmp_unordered("uno", a, a))
        else:
            compare = builder.icmp_unsigned if lane == types.uint64 else builder.icmp_signed
            is_first = compare(sign, a, b)
        return builder.select(is_first, a, b)

    return emit


_OPERATIONS: dict[str, tuple[Emit, tuple[Any, ...]]] = {
    "add": (_instruction("fadd", "add"), (operator.add, operator.iadd)),
    "subtract": (_instruction("fsub", "sub"), (operator.sub, operator.isub)),
    "multiply": (_instruction("fmul", "mul"), (operator.mul, operator.imul)),
    "divide": (_instruction("fdiv", ""), (operator.truediv, operator.itruediv)),
    "bit_and": (_instruction("", "and_"), (operator.and_, operator.iand)),
    "bit_or": (_instruction("", "or_"), (operator.or_, operator.ior)),
    "bit_xor": (_instruction("", "xor"), (operator.xor, operator.ixor)),
    "larger": (_extreme(">"), (replacements[np.maximum],)),
    "smaller": (_extreme("<"), (replacements[np.minimum],)),
}
"""Emitters and Numba's keys, by names in `poplite.vertex.compute.arithmetic`."""


def _emit(code: Emission, lane: Any, name: str, a: Any, b: Any, count: Any) -> Any:
    """Emit an operation on the first `count` lanes of two vectors."""
    emit, keys = _OPERATIONS[name]
    if code.watch is None:
        return emit(code.builder, lane, a, b)
    tested = code.operation(keys[0], lane, lane, lane)
    arguments = [(lane, a), (lane, b)]
    return each_lane(code.builder, lane, lambda pair: tested(*pair), arguments, count)


def _joined(code: Emission, lane: Any, name: str, one: Any, other: Any) -> tuple[Any, Any]:
    """Emit an operation on lanes, each given as values and count, None for a number."""
    builder, (a, m), (b, n) = code.builder, one, other
    width = max(a.type.count, b.type.count)
    a, b = (widened(builder, each, width) for each in (a, b))
    if m is None or n is None or m is n:
        count = n if m is None else m
        return _emit(code, lane, name, a, b, count), count
    both = smaller_of(builder, m, n)
    result = _emit(code, lane, name, a, b, both)
    has_more = builder.icmp_signed(">", m, n)
    longer = builder.select(has_more, a, b)
    count = builder.select(has_more, m, n)
    return builder.select(present(builder, both, width), result, longer), count


def _operand(code: Emission, kind: Any, value: Any, width: int) -> tuple[Any, Any]:
    if isinstance(kind, LanesType):
        return parts(code.builder, value)
    return splat(code.builder, value, width), None


def _widest(kinds: Sequence[Any]) -> Any:
    """Return the widest of the given types that is a type of lanes; None if none is."""
    own = [kind for kind in kinds if isinstance(kind, LanesType)]
    return max(own, key=lambda kind: kind.width, default=None)


def _register(key: Any, operands: int, emit: EmitJoined) -> None:
    """Register a function of `operands` lanes or numbers, at least one of which is lanes."""

    @rule_for(key)
    def rule(*args: Any) -> Any:
        kind = _widest(args)
        if kind is None or len(args) != operands:
            return None
        return kind, *(each if isinstance(each, LanesType) else kind.lane for each in args)

    def emit_call(code: Emission, *args: Any) -> Any:
        pairs = zip(code.kinds, args, strict=True)
        given = [_operand(code, *each, code.result.width) for each in pairs]
        values, count = emit(code, *given)
        return made(code, values, count)

    for kinds in product((LanesType, types.Any), repeat=operands):
        if LanesType in kinds:
            code_for(key, *kinds)(emit_call)


def _joined_by(name: str) -> EmitJoined:
    """Return an emitter of an operation on two operands."""

    def emit(code: Emission, *operands: Any) -> tuple[Any, Any]:
        return _joined(code, code.result.lane, name, *operands)

    return emit


for _name, (_, _keys) in _OPERATIONS.items():
    for _key in _keys:
        _register(_key, 2, _joined_by(_name))


def _fused(code: Emission, *operands: Any) -> tuple[Any, Any]:
    """Emit `x * y + z` of lanes."""
    builder, width = code.builder, code.result.width
    (x, m), (y, n), (z, count) = [(widened(builder, a, width), k) for a, k in operands]
    counts = [each for each in (m, n) if each is not None]
    if not counts or count is None or all(each is count for each in counts):
        both = count if not counts else smaller_of(builder, counts[0], counts[-1])
        return _emit_fused(code, x, y, z, both), both
    both = smaller_of(builder, counts[0], counts[-1])
    nothing = ir.Constant(z.type, [-0.0] * width)
    beside = builder.select(present(builder, count, width), z, nothing)
    result = _emit_fused(code, x, y, beside, both)
    has_more = builder.icmp_signed(">", both, count)
    count = builder.select(has_more, both, count)
    return builder.select(present(builder, both, width), result, z), count


def _emit_fused(code: Emission, x: Any, y: Any, z: Any, count: Any) -> Any:
    """Emit `x * y + z` for the first `count` lanes of vectors."""
    builder, lane = code.builder, types.float32
    if code.watch is None:
        kind = ir.FunctionType(x.type, [x.type] * 3)
        name = f"llvm.fma.v{x.type.count}f32"
        return builder.call(builder.module.declare_intrinsic(name, (), kind), [x, y, z])
    tested = code.operation(replacements[FUSED[0]], lane, lane, lane, lane)
    arguments = [(lane, each) for each in (x, y, z)]
    return each_lane(builder, lane, lambda three: tested(*three), arguments, count)


for _function in FUSED:
    _register(replacements[_function], 3, _fused)


def _register_unary(key: Any, emit: Callable[[ir.IRBuilder, Any, Any], Any]) -> None:
    @rule_for(key)
    def rule(*args: Any) -> Any:
        is_lanes = len(args) == 1 and isinstance(args[0], LanesType)
        return (args[0], args[0]) if is_lanes else None

    @code_for(key, LanesType)
    def emit_call(code: Emission, lanes: Any) -> Any:
        values, count = parts(code.builder, lanes)
        values = emit(code.builder, code.result.lane, values)
        return made(code, values, count)


def _emit_negative(builder: ir.IRBuilder, lane: Any, values: Any) -> Any:
    return builder.fneg(values) if lane == types.float32 else builder.neg(values)


def _emit_absolute(builder: ir.IRBuilder, lane: Any, values: Any) -> Any:
    if lane == types.float32:
        name = f"llvm.fabs.v{values.type.count}f32"
        kind = ir.FunctionType(values.type, [values.type])
        return builder.call(builder.module.declare_intrinsic(name, (), kind), [values])
    if lane == types.uint64:
        return values
    is_negative = builder.icmp_signed("<", values, values.type(None))
    return builder.select(is_negative, builder.neg(values), values)


_register_unary(operator.neg, _emit_negative)
_register_unary(replacements[abs], _emit_absolute)

# -- folds -----------------------------------------------------------------------------------------


def _fold(code: Emission, name: str, value: Any) -> Any:
    """Emit the reduction of all present lanes: combine the two halves until one lane is left."""
    builder, kind = code.builder, code.kinds[0]
    values, count = parts(builder, value)
    half = kind.width // 2
    while half:
        low, high = (_half(builder, values, begin, half) for begin in (0, half))
        above = smaller_of(builder, builder.sub(count, INDEX(half)), INDEX(half))
        above = builder.select(builder.icmp_signed(">", above, INDEX(0)), above, INDEX(0))
        result = _emit(code, kind.lane, JOINS[name], low, high, above)
        values = builder.select(present(builder, above, half), result, low)
        half //= 2
    number = builder.extract_element(values, INDEX(0))
    none = lane_type(kind.lane)(_plain(IDENTITIES[name][_KINDS[kind.lane]]))
    return builder.select(builder.icmp_signed(">", count, INDEX(0)), number, none)


def _plain(number: Any) -> Any:
    """Return a number in the form that llvmlite writes."""
    return number if isinstance(number, bool | int) else number.item()


def _half(builder: ir.IRBuilder, values: Any, begin: int, count: int) -> Any:
    places = ir.Constant(ir.VectorType(ir.IntType(32), count), list(range(begin, begin + count)))
    return builder.shuffle_vector(values, ir.Constant(values.type, ir.Undefined), places)


def _register_fold(name: str) -> None:
    @rule_for_method(LanesType, name)
    def rule(owner: LanesType) -> Any:
        return (owner.lane,)

    @code_for_method(LanesType, name)
    def emit(code: Emission, lanes: Any) -> Any:
        return _fold(code, name, lanes)


for _name in JOINS:
    _register_fold(_name)

# -- functions -------------------------------------------------------------------------------------


@rule_for(lanes.full)
def _type_full(number: Any) -> Any:
    number = types.unliteral(number)
    lane = types.float32 if isinstance(number, types.Float) else number
    if isinstance(number, types.Integer) and number != types.uint64:
        lane = types.int64
    return LanesType(lane), lane


@code_for(lanes.full, types.Any)
def _emit_full(code: Emission, number: Any) -> Any:
    values = splat(code.builder, number)
    return made(code, values, INDEX(WIDTH))


@rule_for(lanes.map)
def _type_map(function: Any, *passed: Any) -> Any:
    numbers = [a.lane if isinstance(a, LanesType) else types.unliteral(a) for a in passed]
    called = type_of_call(function, numbers)
    if called is None:
        return None
    result, arguments = called
    result = types.float32 if result == types.float64 else result
    casts = [
        a if isinstance(a, LanesType) else number
        for a, number in zip(passed, arguments, strict=False)
    ]
    return LanesType(result, _widest(passed).width), function, *casts


@code_for(lanes.map)
def _emit_map(code: Emission, _: Any, *passed: Any) -> Any:
    builder, (function, *kinds) = code.builder, code.kinds
    lane, width = code.result.lane, code.result.width
    numbers = [each.lane if isinstance(each, LanesType) else each for each in kinds]
    call, result = code.function(function, numbers)
    arguments, counts = [], []
    for kind, value in zip(kinds, passed, strict=True):
        if isinstance(kind, LanesType):
            values, count = parts(builder, value)
            arguments.append((kind.lane, widened(builder, values, width)))
            counts.append(count)
        else:
            arguments.append((None, value))
    count = reduce(partial(smaller_of, builder), counts)

    def emit(values: Sequence[Any]) -> Any:
        return code.cast(call(*values), result, lane)

    turns = INDEX(width) if is_harmless(code, function) else count
    values = each_lane(builder, lane, emit, arguments, turns)
    return made(code, values, count)


# -- elements of fields ----------------------------------------------------------------------------


_UNKNOWN = ir.Constant(TRUTH, 0)
"""Marks the missing guard of an access."""

LEAST = 8
"""Minimum width of a vector: eight floats are 32 bytes."""


def width_of(count: int) -> int:
    """Return the width of the vector for a known number of lanes.

    >>> [width_of(count) for count in (0, 8, 10, 64, 65)]
    [8, 8, 16, 64, 64]
    """
    return min(WIDTH, max(LEAST, 1 << (count - 1).bit_length())) if count > 0 else LEAST


def _lanes_of(kind: VectorType, count: Any = None) -> LanesType:
    """Return the type of lanes of a vector; `count` is the type of the number of lanes."""
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
    """Emit the check that elements exist, unless a guard ensures it; return their address."""
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
