"""Records the accesses of workers in the text of other compilers, which has no accessors for them.

    %v = load float, ptr %p             call void @log.load.4(ptr %p, ptr %self.about)
                                        %v = load float, ptr %p

    store float %v, ptr %p      ->      %log.7 = load i32, ptr %p
                                        store float %v, ptr %p
                                        call void @log.store.4(ptr %p, i32 %log.7, ptr %self.about)

Everything that `compute` calls is inlined first, so that the accesses which remain are those to
fields. Variables on the stack and constants are omitted; a vector is recorded element by element.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from poplite.jit.native_code import optimize
from poplite.jit.numba_context import processor
from poplite.simulator.codegen.accessors import COMPUTE, INDEX, log_load, log_store

_ACCESS = re.compile(
    r"  (?:%\S+ = load (?P<loaded>[^,]+)|store (?P<stored>i\d+|half|float|double|ptr|<[^>]+>) .+)"
    r", ptr (?P<at>%[^\s,]+)"
)
_KIND = re.compile(r"(?:<(?P<count>\d+) x )?(?P<kind>i\d+|half|float|double|ptr)>?")
_BITS = {"half": 16, "float": 32, "double": 64, "ptr": 64, "i1": 8}


def with_logged_accesses(module: llvm.ModuleRef, fields: Collection[str]) -> llvm.ModuleRef:
    """Return a module whose `compute` records its accesses to fields; the argument is changed.

    `fields` are the names of its arguments that are addresses of elements.
    """
    optimize(module, processor(), "simple")
    names = llvm.create_new_module_pass_manager()
    names.add_instruction_namer_pass()
    names.run(module, llvm.create_pass_builder(_machine(), llvm.create_pipeline_tuning_options(0)))
    of_fields = _pointers_of_fields(module.get_function(COMPUTE), fields)
    lines, sizes, is_inside = list[str](), set[int](), False
    for line in str(module).splitlines():
        is_inside = line != "}" and (is_inside or f"@{COMPUTE}(" in line.partition("%")[0])
        access = _ACCESS.match(line) if is_inside and not line.startswith("define") else None
        if access is None or access["at"] not in of_fields:
            lines.append(line)
            continue
        before, after = _records(access, len(lines), sizes)
        lines += [*before, line, *after]
    linked = llvm.parse_assembly("\n".join([*lines, *map(_declared, sorted(sizes))]))
    linked.link_in(llvm.parse_assembly(_functions(sizes)))
    for each in linked.functions:
        if not each.is_declaration and each.name != COMPUTE:
            each.linkage = "internal"
    return linked


def _machine() -> llvm.TargetMachine:
    llvm.initialize_native_target()
    return llvm.Target.from_default_triple().create_target_machine()


def _records(access: re.Match[str], number: int, sizes: set[int]) -> tuple[list[str], list[str]]:
    """Return the lines before and after an access that record it; its size is added to `sizes`."""
    kind = _KIND.fullmatch(access["loaded"] or access["stored"])
    assert kind is not None, "fields have numbers, addresses, and vectors of numbers"
    size = (_BITS.get(kind["kind"]) or int(kind["kind"][1:])) // 8
    sizes.add(size)
    before, after = list[str](), list[str]()
    for element in range(int(kind["count"] or 1)):
        at, old = f"%log.{number}.{element}", f"%log.{number}.{element}.old"
        before.append(f"  {at} = getelementptr i8, ptr {access['at']}, i64 {element * size}")
        if access["loaded"]:
            before.append(f"  call void @log.load.{size}(ptr {at}, ptr %self.about)")
            continue
        bits = 8 * size
        before.append(f"  {old} = load i{bits}, ptr {at}, align 1")
        after.append(f"  call void @log.store.{size}(ptr {at}, i{bits} {old}, ptr %self.about)")
    return before, after


def _declared(size: int) -> str:
    """Return the declarations of the functions for elements of a size in bytes."""
    return (
        f"declare void @log.load.{size}(ptr, ptr)\n"
        f"declare void @log.store.{size}(ptr, i{8 * size}, ptr)"
    )


def _functions(sizes: set[int]) -> str:
    """Return the text of a module with these functions."""
    module, about = ir.Module(), INDEX.as_pointer()
    for size in sizes:
        bits = ir.IntType(8 * size)
        at = bits.as_pointer()
        load = ir.Function(module, ir.FunctionType(ir.VoidType(), [at, about]), f"log.load.{size}")
        builder = ir.IRBuilder(load.append_basic_block())
        log_load(builder, *load.args)
        builder.ret_void()
        kinds = [at, bits, about]
        store = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), f"log.store.{size}")
        builder = ir.IRBuilder(store.append_basic_block())
        place, before, record = store.args
        log_store(builder, place, record, before, builder.load(place, align=1))
        builder.ret_void()
    return str(module)


def _pointers_of_fields(function: llvm.ValueRef, fields: Collection[str]) -> set[str]:
    """Return the names of the addresses in a function that may be of elements of fields."""
    found = {f"%{each}" for each in fields}
    values = [each for block in function.blocks for each in block.instructions]
    pointers = {f"%{each.name}": each for each in values if str(each.type) == "ptr"}
    size = -1
    while size != len(found):
        size = len(found)
        found |= {name for name, each in pointers.items() if _may_be_of_field(each, found)}
    return found


def _may_be_of_field(value: Any, found: set[str]) -> bool:
    """Return whether an instruction results in an address of a field, given those found so far."""
    if value.opcode == "alloca":
        return False
    if value.opcode in ("getelementptr", "phi", "select", "bitcast"):
        return any(f"%{each.name}" in found for each in value.operands)
    return True  # loaded from the object of a row, or computed
