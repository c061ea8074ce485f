"""Operations on lanes, as Numba types and emits them.

    a + b, a * 0.5, -a, abs(a), np.maximum(a, b)     instructions on vectors
    a.sum()                                          six of them, on half as many lanes each time
    pl.lanes.map(f, a, 2.0)                          a loop over the lanes

Where floating-point exceptions stop a vertex, operations are tested lane by lane, on those that are
present. Importing this module imports Numba, and registers the rules with `poplite.jit.rules`.
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

from poplite.jit.emission import Emission
from poplite.jit.inlined import is_harmless
from poplite.jit.numba_context import replacements, type_of_call
from poplite.jit.rules import code_for, code_for_method, rule_for, rule_for_method
from poplite.simulator.codegen import functions  # noqa: F401  (importing it fills replacements)
from poplite.simulator.codegen.lanes.values import LanesType, each_lane, lane_type, made, parts
from poplite.simulator.codegen.lanes.vectors import INDEX, present, smaller_of, splat, widened
from poplite.vertex.compute import lanes
from poplite.vertex.compute.lanes import IDENTITIES, JOINS, WIDTH
from poplite.vertex.compute.parse.dialect import FUSED
from poplite.vertex.compute.typing.kinds import Kind

Emit = Callable[[ir.IRBuilder, Any, Any, Any], Any]
"""Emits an operation on two vectors of lanes of a type."""

EmitJoined = Callable[..., tuple[Any, Any]]
"""Emits an operation for an `Emission` and operands, each given as values and count, where the
count of a number is None; returns its values and their count."""

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
    """Return what emits the smaller or larger of two numbers, or NaN if one is."""

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
"""By name in `poplite.vertex.compute.arithmetic`: what emits it, and Numba's keys of it."""


def _emit(code: Emission, lane: Any, name: str, a: Any, b: Any, count: Any) -> Any:
    """Emit an operation on two vectors of which `count` lanes matter."""
    emit, keys = _OPERATIONS[name]
    if code.watch is None:
        return emit(code.builder, lane, a, b)
    tested = code.operation(keys[0], lane, lane, lane)
    arguments = [(lane, a), (lane, b)]
    return each_lane(code.builder, lane, lambda pair: tested(*pair), arguments, count)


def _joined(code: Emission, lane: Any, name: str, one: Any, other: Any) -> tuple[Any, Any]:
    """Emit an operation on lanes, each given as values and count; the count of a number is None."""
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
    """Return the widest type of lanes among some types; None if there is none."""
    own = [kind for kind in kinds if isinstance(kind, LanesType)]
    return max(own, key=lambda kind: kind.width, default=None)


def _register(key: Any, operands: int, emit: EmitJoined) -> None:
    """Let Numba compile a function of so many lanes and numbers, of which one is lanes."""

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
    """Return what emits an operation on two operands."""

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
    """Emit `x * y + z` of vectors of which `count` lanes matter."""
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

# -- folds ---------------------------------------------------------------------------------------


def _fold(code: Emission, name: str, value: Any) -> Any:
    """Emit the join of all lanes that are present: the second half to the first, ... 1."""
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
    """Return a number as llvmlite writes it."""
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

# -- functions -----------------------------------------------------------------------------------


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
