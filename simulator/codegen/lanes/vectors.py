"""Vectors of numbers as LLVM instructions: all at once, some of them, or one after the other.

Importing this module imports llvmlite, not Numba.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from llvmlite import ir

from poplite.vertex.compute.lanes import WIDTH

INDEX, BYTE, PLACE, TRUTH = ir.IntType(64), ir.IntType(8), ir.IntType(32), ir.IntType(1)


def present(builder: ir.IRBuilder, count: Any, width: int = WIDTH) -> Any:
    """Emit which of some lanes are below a count: <width x i1>."""
    some = splat(builder, builder.trunc(count, BYTE), width)
    return builder.icmp_signed("<", _numbers(width), some)


@cache
def _numbers(width: int) -> ir.Constant:
    return ir.Constant(ir.VectorType(BYTE, width), list(range(width)))


@cache
def _zeros(width: int) -> ir.Constant:
    return ir.Constant(ir.VectorType(PLACE, width), [0] * width)


def splat(builder: ir.IRBuilder, value: Any, width: int = WIDTH) -> Any:
    """Emit a vector of the same number."""
    kind = ir.VectorType(value.type, width)
    if isinstance(value, ir.Constant):
        return ir.Constant(kind, [value] * width)
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, PLACE(0))
    return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), _zeros(width))


def widened(builder: ir.IRBuilder, values: Any, width: int) -> Any:
    """Emit a vector with zeros behind the numbers of another one, `width` in all."""
    count = values.type.count
    if count == width:
        return values
    places = [min(place, count) for place in range(width)]
    kind = ir.VectorType(PLACE, width)
    return builder.shuffle_vector(values, ir.Constant(values.type, None), ir.Constant(kind, places))


def smaller_of(builder: ir.IRBuilder, a: Any, b: Any) -> Any:
    """Emit the smaller of two counts."""
    return a if a is b else builder.select(builder.icmp_signed("<", a, b), a, b)


@contextmanager
def loop(builder: ir.IRBuilder, count: Any) -> Iterator[Any]:
    """Emit a loop that LLVM makes vector instructions of, rather than 64 copies of its body."""
    before = builder.basic_block
    head, body, end = (builder.append_basic_block(f"lanes.{name}") for name in ("", "body", "end"))
    builder.branch(head)
    builder.position_at_end(head)
    turn = builder.phi(INDEX)
    builder.cbranch(builder.icmp_signed("<", turn, count), body, end)
    builder.position_at_end(body)
    yield turn
    following = builder.add(turn, INDEX(1), flags=("nuw", "nsw"))
    last = builder.branch(head)
    unrolls_not = builder.module.add_metadata(["llvm.loop.unroll.disable"])
    last.set_metadata("llvm.loop", builder.module.add_metadata([unrolls_not]))
    turn.add_incoming(INDEX(0), before)
    turn.add_incoming(following, builder.basic_block)
    builder.position_at_end(end)


def array_of(builder: ir.IRBuilder, value: Any) -> Any:
    """Emit an array on the stack with the numbers of a vector; truth values are bytes there."""
    kind = value.type
    if kind.element == TRUTH:
        kind = ir.VectorType(BYTE, kind.count)
        value = builder.zext(value, kind)
    with builder.goto_entry_block():
        array = builder.alloca(ir.ArrayType(kind.element, kind.count))
    builder.store(value, builder.bitcast(array, kind.as_pointer()), align=4)
    return array


def vector_of(builder: ir.IRBuilder, array: Any, kind: ir.VectorType) -> Any:
    """Emit the load of the vector of an array."""
    stored = kind if kind.element != TRUTH else ir.VectorType(BYTE, kind.count)
    values = builder.load(builder.bitcast(array, stored.as_pointer()), align=4)
    return values if stored is kind else builder.trunc(values, kind)
