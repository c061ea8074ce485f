"""`compute` as an LLVM function of its own, as the IPU's compiler would see it.

    define i1 @priced(ptr %x, i64 %x.length, i64 %count, ptr %scale, ...)

The arguments are those of `poplite.simulator.pricing.parameters`; what is in memory is read where
it is used.  LLVM folds what can be folded, for no processor in particular, and neither vectorizes
nor unrolls, but for loops that run a constant number of times, which are written out.

Importing this module imports Numba.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.templates import signature

from poplite.jit.llvm_modules import emitted_module
from poplite.jit.numba_context import compile_inlined
from poplite.simulator.codegen import accesses, functions  # noqa: F401  (this registers them)
from poplite.simulator.codegen.field_types import (
    INDEX,
    RowsType,
    SelfType,
    VectorType,
    pair_type,
    storage_type,
)
from poplite.simulator.codegen.variant import Variant
from poplite.simulator.pricing.blocks import blocks_of, has_constant_trip, loops_of
from poplite.simulator.pricing.parameters import POINTERS, PRICED, parameters_of
from poplite.vertex.compute import check, compiled_form
from poplite.vertex.vertex import MultiVertex, Vertex

if TYPE_CHECKING:
    from poplite.executable.descriptor import Forms

_BYTES = ir.IntType(8).as_pointer()


def priced_module(cls: type[Vertex], forms: Forms = ()) -> llvm.ModuleRef:
    """Return a module in which the function `PRICED` is `compute`, ready to be priced.

    Args:
        cls: the vertex class.
        forms: of each field, how the rows of a list are found; by default they are evenly spaced.

    Raises:
        VertexCompileError: when its `compute` is outside the dialect.
    """
    forms = forms or tuple("stride" if f.depth == 2 else None for f in cls.fields.values())
    parameters = parameters_of(cls, forms)
    arguments = {p.name: _BYTES if p.what in POINTERS else INDEX for p in parameters}

    def emit(context: Any, builder: ir.IRBuilder, args: Sequence[Any]) -> Any:
        return _emit_call(context, builder, cls, forms, dict(zip(arguments, args, strict=True)))

    return folded(emitted_module(PRICED, arguments, emit))


def _emit_call(
    context: Any, builder: ir.IRBuilder, cls: type[Vertex], forms: Forms, given: dict[str, Any]
) -> Any:
    """Emit a call of `compute`; return how it ended, lest LLVM drop what only decides that."""
    checked = check(cls)
    kind = SelfType(cls, forms, Variant(priced=True))
    worker = [types.int64] if issubclass(cls, MultiVertex) else []
    result = types.none if checked.result is None else types.boolean
    context.typing_context.forms = {e.function: compiled_form(e) for e in checked.functions()}
    compute = compile_inlined(context, cls.compute, [kind, *worker], result)
    proxy = cgutils.create_struct_proxy(kind)(context, builder)
    for (name, member), field in zip(kind.members, cls.fields.values(), strict=True):
        value = given[name]
        if isinstance(value.type, ir.PointerType):
            held = cgutils.create_struct_proxy(member)(context, builder)
            held.data = builder.bitcast(value, storage_type(field.element).as_pointer())
            if isinstance(member, VectorType):
                held.length = given[f"{name}.length"]
            elif isinstance(member, RowsType):
                held.rows = given[f"{name}.rows"]
                if member.form == "stride":
                    held.stride, held.length = given[f"{name}.stride"], given[f"{name}.length"]
                else:
                    table = given[f"{name}.{member.form}"]
                    held.table = builder.bitcast(table, pair_type(member.form).as_pointer())
            value = held._getvalue()
        elif member == types.boolean:
            value = builder.trunc(value, ir.IntType(1))
        setattr(proxy, name, value)
    values = [proxy._getvalue(), *(given["self.worker"] for _ in worker)]
    status, returned = context.call_internal_no_propagate(
        builder, compute, signature(result, kind, *worker), values
    )
    if checked.result is None:
        return status.is_error
    return builder.or_(status.is_error, returned)


def folded(module: llvm.ModuleRef) -> llvm.ModuleRef:
    """Return a module as it is priced: optimized, with a name for every value.

    Args:
        module: as it was emitted; it is changed.
    """
    module = llvm.parse_assembly(_DEFINITION.sub(rf"\1 {_MARKED} {{", str(module)))
    optimize(module, unrolling=False)
    _name(module)
    module = llvm.parse_assembly(_rolled(module))
    optimize(module)
    _name(module)
    return module


def optimize(module: llvm.ModuleRef, *, unrolling: bool = True) -> None:
    """Optimize a module for no processor in particular, without vectors.

    Args:
        module: the module; it is changed.
        unrolling: whether loops may be written out.
    """
    tuning = llvm.create_pipeline_tuning_options(2)
    tuning.loop_vectorization = tuning.slp_vectorization = tuning.loop_interleaving = False
    tuning.loop_unrolling = unrolling
    builder = llvm.create_pass_builder(_machine(), tuning)
    builder.getModulePassManager().run(module, builder)


def _name(module: llvm.ModuleRef) -> None:
    passes = llvm.create_new_module_pass_manager()
    passes.add_instruction_namer_pass()
    passes.run(module, llvm.create_pass_builder(_machine(), llvm.create_pipeline_tuning_options(0)))


def _machine() -> llvm.TargetMachine:
    # Of no processor in particular, so that prices are the same on all.
    return llvm.Target.from_default_triple().create_target_machine(cpu="generic", opt=2)


def _rolled(module: llvm.ModuleRef) -> str:
    """Return a module's text in which loops that run a varying number of times say so.

    LLVM would unroll them by four, for the sake of processors that a tile does not resemble.
    """
    blocks = blocks_of(module.get_function(PRICED))
    varying = (loop for loop in loops_of(blocks) if not has_constant_trip(loop, blocks))
    latches = {latch for loop in varying for latch in loop.latches}
    lines: list[str] = []
    marks: list[str] = []
    block = None
    for line in str(module).splitlines():
        if line.startswith("define"):
            block = "" if f"@{PRICED}(" in line else None
        elif block is not None and (label := re.match(r'("[^"]+"|[\w.$-]+):', line)):
            block = label[1].strip('"')
        elif block in latches and line.lstrip().startswith("br "):
            number = _MARKS + len(marks)
            line = re.sub(r", !llvm\.loop !\d+", "", line) + f", !llvm.loop !{number}"
            marks.append(f"!{number} = distinct !{{!{number}, !{_MARKS - 1}}}")
        lines.append(line)
    return "\n".join([*lines, *marks, f'!{_MARKS - 1} = !{{!"llvm.loop.unroll.disable"}}', ""])


_DEFINITION = re.compile(r"^(define .*) \{$", re.MULTILINE)
"""Beginning of a function."""

_MARKED = '"no-builtins" "no-jump-tables"="true"'
"""LLVM would make calls of the C library of loops, and tables of what is chosen from constants."""

_MARKS = 1 << 20
"""First number of our metadata, beyond those that LLVM counts up."""
