"""Lower a typed `compute` once to LLVM code for several uses.

    define {i32, i1} @vertex.compute(ptr %x, i64 %x.length, ..., ptr %about)

It accesses fields by calls to accessors, which are only declared; `linked_compute` links the
accessors for a particular use. It returns a status, 0 if `compute` reached its end, and the result.
Any function of this name and type can replace it, whether or not Numba compiled it.

If a driver's mode has traps, every operation, cast and store of `compute` is followed by the test
in `poplite.vertex.compute.arithmetic.happened`. Each function collects the results in the sign of
one integer, by integer operations on the bits, so that LLVM can still vectorize loops; the function
returns it as its status, and the driver stops. If an exception might prevent a `while` loop from
ending, the function returns at once.

The processor's flags are not read, since LLVM may also compute values that the program skips.

Importing this module imports Numba.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import types

from poplite.jit.kernel_code import TRAPPED_STATUS, on_stack
from poplite.jit.numba_context import Emission, emitted_module, replacements
from poplite.jit.rules import call_compiled
from poplite.machine.floating_point import DIVIDE_BY_ZERO, INVALID, OVERFLOW, OVERFLOW_NAN, TRAPS
from poplite.simulator.codegen import functions  # noqa: F401  (importing it fills the replacements)
from poplite.simulator.codegen.accesses import SelfType
from poplite.simulator.codegen.accessors import COMPUTE, RESULT, TRUTH, arguments_of
from poplite.simulator.codegen.codecs import appears, exceeds
from poplite.simulator.codegen.lane_operations import LanesType
from poplite.types import UNSIGNED_LONGLONG
from poplite.vertex.compute.arithmetic import (
    COMPARISONS,
    DIVISIONS,
    FUNCTIONS,
    MOST,
    OPERATORS_OF_FLOATS,
    POLES,
)
from poplite.vertex.compute.data_flow import DataFlow
from poplite.vertex.compute.dialect import FUSED
from poplite.vertex.compute.identity import compiled_form
from poplite.vertex.vertex import MultiVertex

if TYPE_CHECKING:
    from poplite.vertex.compute.typed_facts import Checked

# -- traps -----------------------------------------------------------------------------------------


STATUS = ir.IntType(32)

_NAMES: dict[object, str] = {
    **{
        getattr(operator, prefix + row.pythons): row.name
        for row in OPERATORS_OF_FLOATS
        for prefix in ("", "i")
        if hasattr(operator, prefix + row.pythons)
    },
    **{
        replacements.get(getattr(math, name), getattr(math, name)): name
        for name in FUNCTIONS | {"floor", "ceil"}
    },
    **{replacements[each]: "fma" for each in FUSED},
    replacements[builtins.int]: "truncate",
    replacements[UNSIGNED_LONGLONG]: "as_UNSIGNED_LONGLONG",
    replacements[builtins.min]: "minimum",
    replacements[builtins.max]: "maximum",
}
"""Names of operations in `poplite.vertex.compute.arithmetic`, by Numba's keys."""


class Traps:
    """The tests of one function and of the functions it calls.

    Args:
        enabled: the exceptions that stop a vertex (`poplite.machine.floating_point`).
        at_once: whether functions return at the first exception instead of at their end.
        stores: whether storing a value that is too large also stops a vertex.
    """

    def __init__(self, enabled: int, *, at_once: bool, stores: bool) -> None:
        self._enabled, self._at_once, self._stores = enabled, at_once, stores
        self._found: dict[str, Any] = {}
        self._is_inside = False

    def concerns(self, key: object, kinds: Sequence[Any]) -> bool:
        """Return whether an operation, given by Numba's `key`, has its own test."""
        # Operations on lanes consist of operations on numbers.
        has_lanes = any(isinstance(each, LanesType) for each in kinds)
        return key in _NAMES and not self._is_inside and not has_lanes

    def operation(
        self, code: Emission, key: object, operands: Sequence[Any], emit: Callable[[], Any]
    ) -> Any:
        """Emit an operation and its test; return its result."""
        self._is_inside = True  # the parts of an operation have no tests of their own
        try:
            result = emit()
        finally:
            self._is_inside = False
        self._test(code, _NAMES[key], operands, result)
        return result

    def cast(self, code: Emission, value: Any, result: Any) -> None:
        """Emit the test for a double that was converted to float32."""
        if self._enabled & OVERFLOW and not self._is_inside:
            self.note(code, appears(code.builder, exceeds(code.builder, result), value))

    def stored(self, code: Emission, found: Any) -> None:
        """Emit the test for a store; `found` (i32) is negative if the value was too large."""
        if self._stores:
            self.note(code, found)

    def note(self, code: Emission, found: Any) -> None:
        """Emit code that stops the vertex if `found` (i32) is negative."""
        builder = code.builder
        if self._at_once:
            happened = builder.icmp_signed("<", found, STATUS(0))
            with builder.if_then(happened, likely=False):
                code.stop(TRAPPED_STATUS)
            return
        place = self._found.get(builder.function.name)
        if place is None:
            place = self._found[builder.function.name] = on_stack(builder, STATUS)
        builder.store(builder.or_(builder.load(place), found), place)

    def status(self, builder: ir.IRBuilder) -> Any:
        """Emit the status that the function returns; None means success."""
        place = self._found.get(builder.function.name)
        if place is None:
            return None
        happened = builder.icmp_signed("<", builder.load(place), STATUS(0))
        return builder.select(happened, TRAPPED_STATUS, STATUS(0))

    def _test(self, code: Emission, name: str, args: Sequence[Any], result: Any) -> None:
        builder, operands = code.builder, zip(args, code.kinds, strict=True)
        floats = [value for value, kind in operands if isinstance(kind, types.Float)]
        found: list[Any] = []
        if name in MOST:
            if floats and isinstance(code.result, types.Integer):
                found += self._if(INVALID, lambda: _does_not_fit(builder, floats[0], MOST[name]))
        elif name in COMPARISONS:
            for operand in floats:
                found += self._if(INVALID, partial(exceeds, builder, operand, 1))
        elif isinstance(code.result, types.Float):
            found += self._if(INVALID, lambda: exceeds(builder, result, 1))
            if name != "modulo":
                found += self._infinite(builder, name, args[-1], floats, result)
        if found:
            self.note(code, reduce(builder.or_, found))

    def _infinite(
        self, builder: ir.IRBuilder, name: str, last: Any, floats: Sequence[Any], result: Any
    ) -> list[Any]:
        """Emit the test for a result that is infinite although no operand is."""
        meant = DIVIDE_BY_ZERO if name in POLES else OVERFLOW
        if name in DIVISIONS:
            meant |= DIVIDE_BY_ZERO
        enabled = meant & self._enabled
        if not enabled:
            return []
        found = exceeds(builder, result)
        if not self._enabled & INVALID:  # with INVALID, NaN is detected anyway
            found = builder.and_(found, builder.not_(exceeds(builder, result, 1)))
        found = appears(builder, found, *floats)
        if enabled != meant:
            is_float = isinstance(last.type, (ir.FloatType, ir.DoubleType))
            compare = builder.fcmp_ordered if is_float else builder.icmp_unsigned
            divides = builder.sext(compare("==", last, last.type(None)), STATUS)
            by_zero = enabled == DIVIDE_BY_ZERO
            found = builder.and_(found, divides if by_zero else builder.not_(divides))
        return [found]

    def _if(self, bit: int, emit: Callable[[], Any]) -> list[Any]:
        return [emit()] if self._enabled & bit else []


def _does_not_fit(builder: ir.IRBuilder, value: Any, most: float) -> Any:
    above = builder.fcmp_ordered(">=", value, value.type(-(2.0**63)))
    below = builder.fcmp_ordered("<", value, value.type(most))
    return builder.sext(builder.not_(builder.and_(above, below)), STATUS)


# -- lowering --------------------------------------------------------------------------------------


def lowered_text(checked: Checked, mode: int) -> str:
    """Return a checked `compute` as the text of an unoptimized LLVM module."""
    arguments = {each.name: each.kind for each in arguments_of(checked.vertex)}

    def emit(code: Emission, operands: Sequence[Any]) -> Any:
        return _emit_call(code, checked, dict(zip(arguments, operands, strict=True)))

    called = list(checked.functions())
    module = emitted_module(
        COMPUTE,
        arguments,
        RESULT,
        emit,
        forms={each.function: compiled_form(each) for each in called},
        harmless=frozenset(
            each.function for each in called if not each.raises and not DataFlow(each).may_not_end
        ),
        watch=_traps(checked, mode),
    )
    return str(module)


def _emit_call(code: Emission, checked: Checked, operands: dict[str, Any]) -> Any:
    """Emit a call to `compute`; return its status and its result."""
    cls = checked.vertex
    builder, kind = code.builder, SelfType(cls)
    kinds, values = [kind], [_self(code, kind, operands)]
    if issubclass(cls, MultiVertex):
        kinds.append(types.int64)
        values.append(operands["self.worker"])
    result = types.none if checked.result is None else types.boolean
    status, returned = call_compiled(code, cls.compute, kinds, values, result)
    ended = builder.insert_value(RESULT(ir.Undefined), status, 0)
    is_true = TRUTH(1) if result is types.none else returned
    return builder.insert_value(ended, is_true, 1)


def _traps(checked: Checked, mode: int) -> Traps | None:
    if not mode & TRAPS:
        return None
    stores = mode & (OVERFLOW | (INVALID if mode & OVERFLOW_NAN else 0))
    at_once = DataFlow(checked).may_not_end
    return Traps(mode & TRAPS, at_once=at_once, stores=bool(stores))


def _self(code: Emission, kind: SelfType, operands: dict[str, Any]) -> Any:
    members = [code.parts(each) for _, each in kind.members]
    for argument in arguments_of(kind.cls):
        if argument.field is not None:
            setattr(members[argument.field], argument.part, operands[argument.name])
    owner = code.parts(kind)
    for (name, _), member in zip(kind.members, members, strict=True):
        member.about = operands["self.about"]
        setattr(owner, name, code.value_of(member))
    return code.value_of(owner)
