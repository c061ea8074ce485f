"""`compute` as an LLVM function of its own, as the IPU's compiler would see it.

    define i1 @priced(ptr %x, i64 %x.length, i64 %count, ptr %scale, ...)

The arguments are those of `poplite.simulator.pricing.parameters`; values in memory are read where
they are used.  LLVM folds what can be folded, for no processor in particular.  It neither
vectorizes nor unrolls, except loops with a constant number of iterations, which it writes out.

Importing this module imports llvmlite.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import llvmlite.binding as llvm
from llvmlite import ir

from poplite.jit.native_code import hide
from poplite.simulator.codegen.accessors import COMPUTE, INDEX, TRUTH
from poplite.simulator.codegen.arguments import RESULT, DriverArgument, arguments_of
from poplite.simulator.codegen.compute_code import linked_compute
from poplite.simulator.pricing.blocks import blocks_of, has_constant_trip, loops_of
from poplite.simulator.pricing.parameters import POINTERS, PRICED, parameters_of
from poplite.vertex.compute import check
from poplite.vertex.vertex import Vertex

if TYPE_CHECKING:
    from poplite.executable.descriptor import Forms

_BYTES = ir.IntType(8).as_pointer()


def priced_text(cls: type[Vertex], forms: Forms = ()) -> str:
    """Return the text of a module in which the function `PRICED` is `compute`, as it was lowered.

    Rows of lists are evenly spaced unless `forms` says otherwise.  Raises `VertexCompileError` when
    `compute` is outside the dialect.
    """
    forms = forms or tuple("stride" if f.depth == 2 else None for f in cls.fields.values())
    module = ir.Module()
    parameters = parameters_of(cls, forms)
    kinds = [_BYTES if p.what in POINTERS else INDEX for p in parameters]
    function = ir.Function(module, ir.FunctionType(TRUTH, kinds), PRICED)
    for argument, parameter in zip(function.args, parameters, strict=True):
        argument.name = parameter.name
    operands = {argument.name: argument for argument in function.args}
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    arguments = arguments_of(cls)
    compute = ir.Function(module, ir.FunctionType(RESULT, [a.kind for a in arguments]), COMPUTE)
    given = [_argument(builder, each, forms, operands) for each in arguments]
    # However long it is: a call has no price.
    result = builder.call(compute, given, attrs=("alwaysinline",))
    # The status is returned, as LLVM would otherwise drop what only decides it.
    status, returned = (builder.extract_value(result, number) for number in range(2))
    failed = builder.icmp_signed("!=", status, status.type(0))
    has_result = check(cls).result is not None
    builder.ret(builder.or_(failed, returned) if has_result else failed)
    linked = llvm.parse_assembly(str(module))
    linked.link_in(linked_compute(cls, COMPUTE, forms, priced=True))
    hide(linked, PRICED)
    return str(linked)


def _argument(
    builder: ir.IRBuilder, argument: DriverArgument, forms: Forms, operands: Mapping[str, Any]
) -> Any:
    """Emit an argument of `compute`; arguments that are not priced are undefined."""
    value = operands.get(argument.name)
    if argument.part == "table" and (form := forms[argument.field or 0]) in ("pairs", "wide"):
        value = operands[f"{argument.name.removesuffix('.table')}.{form}"]
    elif argument.part in ("data", "value"):
        value = operands.get(argument.name.removesuffix(".value"))
        is_address = value is not None and isinstance(value.type, ir.PointerType)
        value = value if is_address == (argument.part == "data") else None
    if value is None:
        return ir.Constant(argument.kind, ir.Undefined)
    if isinstance(argument.kind, ir.PointerType):
        return builder.bitcast(value, argument.kind)
    if argument.kind == TRUTH:  # a tile tests a bit; a mere `trunc` would be free
        return builder.icmp_unsigned("!=", builder.and_(value, INDEX(1)), INDEX(0))
    return value


def folded(text: str) -> llvm.ModuleRef:
    """Return a lowered module as it is priced: optimized, with a name for every value."""
    module = llvm.parse_assembly(_DEFINITION.sub(rf"\1 {_MARKED} {{", text))
    optimize(module, unrolling=False)
    _name(module)
    module = llvm.parse_assembly(_rolled(module))
    optimize(module)
    _name(module)
    return module


def optimize(module: llvm.ModuleRef, *, unrolling: bool = True) -> None:
    """Optimize a module in place, for no processor in particular and without vectors."""
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
    # For no processor in particular, so that prices are the same on all.
    llvm.initialize_native_target()
    return llvm.Target.from_default_triple().create_target_machine(cpu="generic", opt=2)


def _rolled(module: llvm.ModuleRef) -> str:
    """Return a module's text with loops of varying trip counts marked as not to be unrolled.

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
"""Otherwise LLVM replaces loops by calls of the C library, and choices of constants by tables."""

_MARKS = 1 << 20
"""First number of our metadata, beyond those that LLVM assigns."""
