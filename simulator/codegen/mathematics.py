"""Mathematical functions: kernels of `poplite.vertex.compute.mathematics` as LLVM instructions.

A kernel is called once, with values whose operations each emit an instruction::

    x * 0.5 + 1.0       %1 = fmul float %x, 0.5
                        %2 = fadd float %1, 1.0

No flags let LLVM contract or reorder operations. Importing this module imports llvmlite.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from poplite.vertex.compute.mathematics import DOUBLES, KERNELS

FLOAT, DOUBLE = ir.FloatType(), ir.DoubleType()
_INTEGERS = {FLOAT: ir.IntType(32), DOUBLE: ir.IntType(64)}
_FLOATS = {32: FLOAT, 64: DOUBLE}


def longs_in_hardware(features: str) -> bool:
    """Return whether a processor with these LLVM features converts a vector of int64 to doubles.

    >>> longs_in_hardware("+avx2,+avx512dq"), longs_in_hardware("+avx2,-avx512dq")
    (True, False)
    """
    return "+avx512dq" in features.split(",")


def define(
    builder: ir.IRBuilder, name: str, arguments: Sequence[Any], *, converts_longs: bool
) -> Any:
    """Emit a function of float32 or double values, and return its result.

    `converts_longs` is the result of `longs_in_hardware`; it does not affect the result's bits.
    """
    kernels = KERNELS if arguments[0].type == FLOAT else DOUBLES
    values = (_Value(builder, each) for each in arguments)
    return kernels[name](_Evaluator(builder, converts_longs=converts_longs), *values).emitted


class _Value:
    """A value of emitted code, with the operators of numbers."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, builder: ir.IRBuilder, emitted: Any) -> None:
        self.builder, self.emitted = builder, emitted

    def made(self, emitted: Any) -> _Value:
        """Return another value of the same code."""
        return _Value(self.builder, emitted)

    def beside(self, other: Any) -> Any:
        """Return another operand; a plain number gets the type of this value."""
        if isinstance(other, _Value):
            return other.emitted
        return self.emitted.type(float(other) if self.emitted.type in _INTEGERS else int(other))

    def _operation(self, floats: str, integers: str, other: Any) -> _Value:
        name = floats if self.emitted.type in _INTEGERS else integers
        return self.made(getattr(self.builder, name)(self.emitted, self.beside(other)))

    def __add__(self, other: Any) -> _Value:
        return self._operation("fadd", "add", other)

    def __sub__(self, other: Any) -> _Value:
        return self._operation("fsub", "sub", other)

    def __mul__(self, other: Any) -> _Value:
        return self._operation("fmul", "mul", other)

    def __truediv__(self, other: Any) -> _Value:
        return self._operation("fdiv", "", other)

    def __radd__(self, other: Any) -> _Value:
        return self.made(self.beside(other)) + self

    def __rsub__(self, other: Any) -> _Value:
        return self.made(self.beside(other)) - self

    def __rmul__(self, other: Any) -> _Value:
        return self.made(self.beside(other)) * self

    def __rtruediv__(self, other: Any) -> _Value:
        return self.made(self.beside(other)) / self

    def __lshift__(self, other: int) -> _Value:
        return self._operation("", "shl", other)

    def __rshift__(self, other: int) -> _Value:
        return self._operation("", "ashr", other)

    def __and__(self, other: Any) -> _Value:
        return self._operation("", "and_", other)

    def __or__(self, other: Any) -> _Value:
        return self._operation("", "or_", other)

    def __xor__(self, other: Any) -> _Value:
        return self._operation("", "xor", other)

    def __neg__(self) -> _Value:
        return self.made(self.builder.fneg(self.emitted))

    def __abs__(self) -> _Value:
        intrinsic = self.builder.module.declare_intrinsic("llvm.fabs", [self.emitted.type])
        return self.made(self.builder.call(intrinsic, [self.emitted]))

    def _compared(self, sign: str, other: Any) -> _Value:
        operands = self.emitted, self.beside(other)
        if self.emitted.type not in _INTEGERS:
            return self.made(self.builder.icmp_signed(sign, *operands))
        compare = self.builder.fcmp_unordered if sign == "!=" else self.builder.fcmp_ordered
        return self.made(compare(sign, *operands))

    def __lt__(self, other: Any) -> _Value:
        return self._compared("<", other)

    def __gt__(self, other: Any) -> _Value:
        return self._compared(">", other)

    def __eq__(self, other: object) -> Any:
        return self._compared("==", other)

    def __ne__(self, other: object) -> Any:
        return self._compared("!=", other)


def _bits_of(number: float) -> int:
    """Return the bits of a double."""
    return int(np.float64(number).view(np.int64))


class _Evaluator:
    """Emits the functions that kernels call; see `poplite.vertex.compute.mathematics_singles`."""

    def __init__(self, builder: ir.IRBuilder, *, converts_longs: bool) -> None:
        self._builder, self._converts_longs = builder, converts_longs
        self._tables: dict[Sequence[int], Any] = {}

    def choose(self, condition: _Value, one: Any, other: Any) -> _Value:
        strong = one if isinstance(one, _Value) else other
        return strong.made(
            self._builder.select(condition.emitted, strong.beside(one), strong.beside(other))
        )

    def bits(self, value: _Value) -> _Value:
        kind = _INTEGERS[value.emitted.type]
        return value.made(self._builder.bitcast(value.emitted, kind))

    def floats(self, bits: _Value) -> _Value:
        kind = _FLOATS[bits.emitted.type.width]
        return bits.made(self._builder.bitcast(bits.emitted, kind))

    def double(self, value: _Value) -> _Value:
        if value.emitted.type == FLOAT:
            return value.made(self._builder.fpext(value.emitted, DOUBLE))
        if self._converts_longs:
            return value.made(self._builder.sitofp(value.emitted, DOUBLE))
        return self._double_of_integer(value)

    def _double_of_integer(self, value: _Value) -> _Value:
        """Emit the conversion of an int64 to double, in operations that all processors vectorize.

        Both halves become exact doubles, in the lowest digits of a large double: 2^52 plus the
        lower half, and 2^84 plus 2^32 times the sum of the upper half and 2^31. Only the sum of the
        two is rounded.
        """
        half = (1 << 32) - 1
        lower = self.floats((value & half) | _bits_of(2.0**52))
        raised = value ^ -(1 << 63)
        upper = self.floats(((raised >> 32) & half) | _bits_of(2.0**84))
        return (upper - (2.0**84 + 2.0**63 + 2.0**52)) + lower

    def single(self, value: _Value) -> _Value:
        return value.made(self._builder.fptrunc(value.emitted, FLOAT))

    def sqrt(self, value: _Value) -> _Value:
        return self._intrinsic("llvm.sqrt", value)

    def rint(self, value: _Value) -> _Value:
        return self._intrinsic("llvm.rint", value)

    def _intrinsic(self, name: str, value: _Value) -> _Value:
        intrinsic = self._builder.module.declare_intrinsic(name, [value.emitted.type])
        return value.made(self._builder.call(intrinsic, [value.emitted]))

    def lookup(self, table: Sequence[int], index: _Value) -> _Value:
        place = self._builder.gep(
            self._table(table), [ir.IntType(64)(0), index.emitted], inbounds=True
        )
        return index.made(self._builder.load(place))

    def _table(self, table: Sequence[int]) -> Any:
        if table not in self._tables:
            module = self._builder.module
            kind = ir.ArrayType(ir.IntType(64), len(table))
            constant = ir.GlobalVariable(module, kind, f"table.{len(module.globals)}")
            constant.global_constant, constant.linkage = True, "private"
            constant.initializer = ir.Constant(kind, list(table))
            self._tables[table] = constant
        return self._tables[table]
