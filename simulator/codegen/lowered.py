"""A vertex class's `compute`, typed and lowered once, as LLVM code that is used in several ways.

    define {i32, i1} @vertex.compute(ptr %x, i64 %x.length, ..., ptr %about)

Its accesses are calls of accessors, which are declared only; `linked_compute` links those of a use.
It returns a status, 0 where `compute` came to its end, and what that returned.  Whatever defines
this name may take its place: it need not be made by Numba.

Importing this module imports Numba.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import types

from poplite.jit.emission import Emission
from poplite.jit.inlined import call_compiled
from poplite.jit.llvm_modules import emitted_module
from poplite.machine.floating_point import INVALID, OVERFLOW, OVERFLOW_NAN, TRAPS
from poplite.simulator.codegen import accesses, functions  # noqa: F401  (this registers them)
from poplite.simulator.codegen.accessors import COMPUTE, TRUTH
from poplite.simulator.codegen.arguments import RESULT, arguments_of
from poplite.simulator.codegen.field_types import SelfType
from poplite.simulator.codegen.lanes import fields, operations  # noqa: F401  (and these)
from poplite.simulator.codegen.traps import Traps
from poplite.vertex.compute import check, compiled_form
from poplite.vertex.vertex import MultiVertex, Vertex

if TYPE_CHECKING:
    from poplite.vertex.compute import Checked


def lowered_text(cls: type[Vertex], mode: int) -> str:
    """Return `compute` of a class as the text of an LLVM module, not optimized.

    Raises `VertexCompileError` when it is outside the dialect.
    """
    checked, arguments = check(cls), {each.name: each.kind for each in arguments_of(cls)}

    def emit(code: Emission, operands: Sequence[Any]) -> Any:
        return _emit_call(code, cls, dict(zip(arguments, operands, strict=True)))

    called = list(checked.functions())
    module = emitted_module(
        COMPUTE,
        arguments,
        RESULT,
        emit,
        forms={each.function: compiled_form(each) for each in called},
        harmless=frozenset(
            each.function for each in called if not each.raises and not each.may_not_end
        ),
        watch=_traps(checked, mode),
    )
    return str(module)


def _emit_call(code: Emission, cls: type[Vertex], operands: dict[str, Any]) -> Any:
    """Emit a call of `compute`; return how it ended, and what it returned."""
    builder, kind = code.builder, SelfType(cls)
    kinds, values = [kind], [_self(code, kind, operands)]
    if issubclass(cls, MultiVertex):
        kinds.append(types.int64)
        values.append(operands["self.worker"])
    result = types.none if check(cls).result is None else types.boolean
    status, returned = call_compiled(code, cls.compute, kinds, values, result)
    ended = builder.insert_value(RESULT(ir.Undefined), status, 0)
    is_true = TRUTH(1) if result is types.none else returned
    return builder.insert_value(ended, is_true, 1)


def _traps(checked: Checked, mode: int) -> Traps | None:
    if not mode & TRAPS:
        return None
    stores = mode & (OVERFLOW | (INVALID if mode & OVERFLOW_NAN else 0))
    return Traps(mode & TRAPS, at_once=checked.may_not_end, stores=bool(stores))


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
