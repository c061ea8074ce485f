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
from numba.core import cgutils, types
from numba.core.typing.templates import signature

from poplite.jit.llvm_modules import emitted_module
from poplite.jit.numba_context import compile_inlined
from poplite.machine.floating_point import INVALID, OVERFLOW, OVERFLOW_NAN, TRAPS
from poplite.simulator.codegen import accesses, functions  # noqa: F401  (this registers them)
from poplite.simulator.codegen.accessors import COMPUTE
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
    arguments = {each.name: each.kind for each in arguments_of(cls)}

    def emit(context: Any, builder: ir.IRBuilder, operands: Sequence[Any]) -> Any:
        return _emit_call(context, builder, cls, mode, dict(zip(arguments, operands, strict=True)))

    return str(emitted_module(COMPUTE, arguments, RESULT, emit))


def _emit_call(
    context: Any, builder: ir.IRBuilder, cls: type[Vertex], mode: int, operands: dict[str, Any]
) -> Any:
    """Emit a call of `compute`; return how it ended, and what it returned."""
    checked, typing = check(cls), context.typing_context
    kind = SelfType(cls)
    worker = [types.int64] if issubclass(cls, MultiVertex) else []
    result = types.none if checked.result is None else types.boolean
    typing.forms = {each.function: compiled_form(each) for each in checked.functions()}
    typing.harmless = frozenset(
        each.function for each in checked.functions() if not each.raises and not each.may_not_end
    )
    typing.watch = _traps(checked, mode)
    try:
        compute = compile_inlined(context, cls.compute, [kind, *worker], result)
    finally:
        typing.watch, typing.harmless = None, frozenset()
    values = [_self(context, builder, kind, operands), *(operands["self.worker"] for _ in worker)]
    status, returned = context.call_internal_no_propagate(
        builder, compute, signature(result, kind, *worker), values
    )
    ended = builder.insert_value(RESULT(ir.Undefined), status.code, 0)
    is_true = ir.IntType(1)(1) if result is types.none else returned
    return builder.insert_value(ended, is_true, 1)


def _traps(checked: Checked, mode: int) -> Traps | None:
    if not mode & TRAPS:
        return None
    stores = mode & (OVERFLOW | (INVALID if mode & OVERFLOW_NAN else 0))
    return Traps(mode & TRAPS, at_once=checked.may_not_end, stores=bool(stores))


def _self(context: Any, builder: ir.IRBuilder, kind: SelfType, operands: dict[str, Any]) -> Any:
    members = [cgutils.create_struct_proxy(each)(context, builder) for _, each in kind.members]
    for argument in arguments_of(kind.cls):
        if argument.field is not None:
            setattr(members[argument.field], argument.part, operands[argument.name])
    proxy = cgutils.create_struct_proxy(kind)(context, builder)
    for (name, _), member in zip(kind.members, members, strict=True):
        member.about = operands["self.about"]
        setattr(proxy, name, member._getvalue())
    return proxy._getvalue()
