"""LLVM modules made from Python functions, to be changed before they are compiled.

`emitted_module` leaves the code as it was emitted; `poplite.jit.native_code` compiles the changed
module.

Importing this module imports Numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core.compiler_lock import global_compiler_lock

from poplite.jit.emission import Emission
from poplite.jit.native_code import hide
from poplite.jit.numba_context import codegen, contexts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from poplite.jit.native_code import Processor
    from poplite.jit.numba_context import Watch


@global_compiler_lock
def emitted_module(
    exported: str,
    arguments: Mapping[str, ir.Type],
    result: ir.Type,
    emit: Callable[[Emission, Sequence[Any]], Any],
    *,
    forms: Mapping[Any, Any],
    harmless: frozenset[Any],
    watch: Watch | None,
) -> llvm.ModuleRef:
    """Return an LLVM module with one visible function, linked with all it calls, not optimized.

    `arguments` are the types by name.  `emit` emits the body of the function, given the values of
    the arguments, and returns its result.  For `forms`, `harmless` and `watch` see
    `WeakNumberContext`.
    """
    typing_context, context = contexts()
    library = context.codegen().create_library(exported)
    module = context.create_module(exported)
    kind = ir.FunctionType(result, arguments.values())
    function = ir.Function(module, kind, exported)
    for argument, name in zip(function.args, arguments, strict=True):
        argument.name = name
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    with typing_context.alone(forms, harmless, watch), context.push_code_library(library):
        builder.ret(emit(Emission(context, builder), function.args))
    library.add_ir_module(module)
    library.finalize()
    hide(library._final_module, exported)
    return library._final_module


def processor() -> Processor:
    """Return the processor of the code: this machine, unless the environment says otherwise."""
    return codegen().processor
