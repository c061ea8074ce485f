"""Compile LLVM text to an object file for one processor; needs llvmlite, not Numba.

    text  ->  inlined  ->  loops rotated  ->  optimized  ->  object file

Code passes through the same stages as in Numba, but in any process, because the processor is
described by a value that can be sent to another process.

Importing this module imports llvmlite.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import astuple
from functools import cache
from typing import Any, Literal

import llvmlite.binding as llvm

from poplite.frozen import frozen
from poplite.jit import object_cache
from poplite.jit.build import Made

_TRUNCATION = """
define half @__truncdfhf2(double %value) {
  %single = fptrunc double %value to float
  %half = fptrunc float %single to half
  ret half %half
}
"""
"""The conversion from double to half, which LLVM may call when a result is stored as HALF.

The function is in the C compiler's run-time library, which is not loaded in a Python process.
"""


@frozen
class Processor:
    """A processor for which code is compiled.

    Attributes:
        features: its features, in LLVM's notation.
        level: the optimization level of the code generator, from 0 to 3.
        uses_svml: whether loops may call Intel's Short Vector Math Library.
    """

    name: str
    features: str
    level: int
    uses_svml: bool

    def words(self) -> list[Any]:
        """Return its attributes as JSON values."""
        return list(astuple(self))


def host() -> Processor:
    """Return this machine's processor, unless Numba's environment variables select another."""
    found = llvm.get_host_cpu_features()
    if os.environ.get("NUMBA_ENABLE_AVX") == "0":
        found.update({name: False for name in found if name.startswith("avx")})
    name = os.environ.get("NUMBA_CPU_NAME", llvm.get_host_cpu_name())
    features = "" if name == "generic" else found.flatten()
    features = os.environ.get("NUMBA_CPU_FEATURES", features)
    return Processor(name, with_short_vectors(features), 3, uses_svml=False)


def with_short_vectors(features: str) -> str:
    """Request vectors of 32 bytes if the features of a processor include longer ones.

    Vectors on a tile are short: a loop over 64 elements would never enter a vectorized loop that
    processes 128 at a time (measured: with shorter vectors, HALF axpy and the photograph example
    take an eighth less time).
    """
    return f"{features},+prefer-256-bit" if "+avx512f" in features.split(",") else features


@cache
def _machine(processor: Processor) -> llvm.TargetMachine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    if processor.uses_svml:
        llvm.load_library_permanently("libsvml.so")
        llvm.set_option("SVML", "-vector-library=SVML")
    target = llvm.Target.from_triple(llvm.get_process_triple())
    static = target.name.startswith("x86")  # code loaded on x86 needs static relocation
    return target.create_target_machine(
        cpu=processor.name,
        features=processor.features,
        opt=processor.level,
        reloc="static" if static else "default",
        codemodel="jitdefault",
        jit=True,
    )


Effort = Literal["full", "rolled", "little", "simple"]
"""How hard LLVM optimizes.

full    as much as possible: for drivers
rolled  like full, without unrolling: for kernels; large ones compile in half the time and run as
        fast
little  like rolled, without unswitching loops on invariant conditions: for code that seldom runs
simple  only moves variables to registers: for code without loops; takes a sixth of the time
"""


def passes(
    machine: llvm.TargetMachine, level: int, *, vectors: bool, unrolls: bool = True
) -> llvm.PassBuilder:
    """Return the builder of LLVM's passes; `level` is their optimization level, from 0 to 3.

    With `vectors`, loops are vectorized with one vector per iteration instead of four: a loop over
    16 floats would never enter a vectorized loop that processes 32 at a time, and would use smaller
    vectors or single elements. Measured: axpy on 8, 16 and 24 floats takes half the time, and axpy
    on up to 100 halves takes a quarter less; from 32 floats on, the time is the same.
    """
    tuning = llvm.create_pipeline_tuning_options(level)
    tuning.loop_vectorization, tuning.loop_unrolling = vectors, unrolls
    tuning.slp_vectorization = tuning.loop_interleaving = False
    return llvm.create_pass_builder(machine, tuning)


def simplify(module: llvm.ModuleRef, processor: Processor) -> None:
    """Move the variables of functions to registers, in place, and simplify each function by itself.

    Numba leaves every variable on the stack, which is costly for vectors of lanes: with this step,
    code inlined later is a fifth as long, and `optimize` takes two thirds of the time.
    """
    machine = _machine(processor)
    module.triple = llvm.get_process_triple()
    module.data_layout = str(machine.target_data)
    manager = llvm.create_new_module_pass_manager()
    manager.add_sroa_pass()
    manager.add_instruction_combine_pass()
    manager.add_simplify_cfg_pass()
    manager.run(module, passes(machine, 0, vectors=False))


def optimize(module: llvm.ModuleRef, processor: Processor, effort: Effort = "full") -> None:
    """Optimize a module in place for a processor; always-inline functions are inlined first."""
    machine = _machine(processor)
    module.triple = llvm.get_process_triple()
    module.data_layout = str(machine.target_data)
    inlining = llvm.create_new_module_pass_manager()
    inlining.add_always_inliner_pass()
    inlining.run(module, passes(machine, 0, vectors=False))
    if effort == "simple":
        _simplify_all(module, machine)
        return
    # Loops must be rotated early; otherwise, phis that the vectorizer does not know remain.
    rotating = passes(machine, 0, vectors=False)
    manager = rotating.getModulePassManager()
    manager.add_loop_rotate_pass()
    manager.add_instruction_combine_pass()
    manager.add_jump_threading_pass()
    manager.run(module, rotating)
    level = 2 if effort == "little" else 3
    full = passes(machine, level, vectors=True, unrolls=effort == "full")
    full.getModulePassManager().run(module, full)
    module.verify()


def _simplify_all(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    """Move variables to registers, and simplify the rest of each function."""
    manager = llvm.create_new_module_pass_manager()
    manager.add_global_dead_code_eliminate_pass()
    manager.add_sroa_pass()
    for _ in range(2):  # once for original loops, once for rotated ones
        manager.add_simplify_cfg_pass()
        manager.add_instruction_combine_pass()
        manager.add_loop_rotate_pass()
    manager.run(module, passes(machine, 0, vectors=False))


def object_of(
    module: llvm.ModuleRef, exported: str, processor: Processor
) -> tuple[bytes, list[str]]:
    """Return an object file of a module, and the symbols that it needs from the process.

    An ELF file lists these symbols, including `memset` and the like, which only code generation
    adds; for other formats, they are the functions that the module itself calls.  The module is
    changed: only `exported` stays visible.
    """
    if "+f16c" in processor.features.split(","):  # other processors lack instructions for half
        module.link_in(llvm.parse_assembly(_TRUNCATION))
    hide(module, exported)
    code = bytes(_machine(processor).emit_object(module))
    if code.startswith(b"\x7fELF\x02\x01"):  # 64 bits, little-endian
        return code, object_cache.undefined_symbols(code)
    return code, sorted(
        function.name
        for function in module.functions
        if function.is_declaration and not function.name.startswith("llvm.")
    )


def optimized_object(
    exported: str, text: str, processor: list[Any], effort: Effort = "full"
) -> Made:
    """Compile the text of a module, as a job; `processor` is from `Processor.words`."""
    module, made_for = llvm.parse_assembly(text), Processor(*processor)
    hide(module, exported)
    optimize(module, made_for, effort)
    return *object_of(module, exported, made_for), {}


def hide(module: llvm.ModuleRef, exported: str) -> None:
    """Make all symbols of a module internal, except one function.

    Numba numbers symbols per process, so objects from several processes would clash.
    """
    for defined in module.functions:
        if not defined.is_declaration and defined.name != exported:
            defined.linkage = "internal"
    for variable in module.global_variables:
        if not variable.is_declaration:
            variable.linkage = "internal"


# -- the text of other compilers -------------------------------------------------------------------

_OF_MACHINE = re.compile(
    r'^(?:target|source_filename) .*\n|^\$.*\n|"[^"\n]+"="[^"\n]*"', re.MULTILINE
)
"""Lines and attributes that describe the compiler's machine, or how a linker joins files."""

_OF_LINKER = re.compile(r"^(define .*?)( comdat(\([^)]*\))?)?( align \d+)? \{$", re.MULTILINE)
"""The first line of a function, with such attributes at its end."""

_VARIABLE_OF_LINKER = re.compile(r"^(@.*), comdat(?:\([^)]*\))?", re.MULTILINE)
"""The same for variables."""

_ATTRIBUTES = re.compile(r"^(attributes #\d+ = \{ )(?!.*\bnounwind\b)", re.MULTILINE)

TURN = "vertex.turn"
"""Name of the function that is called before each iteration of a loop but the first."""

_ITERATION = re.compile(r"^( *br .*!llvm\.loop !\d+.*)$", re.MULTILINE)
"""The branch at the end of an iteration."""


def narrowed(text: str, function: str, name: str, others: Sequence[str] = ()) -> str:
    """Return the text of a compiler with one visible function, which gets another name.

    All that it calls is inlined into it later; it may be defined in `others`. A call of
    `vertex.turn` precedes each iteration of a loop but the first.
    """
    module = _neutral(text)
    module.get_function(function).name = name
    for other in others:
        own = _neutral(other)
        for each in own.functions:
            if not each.is_declaration and each.name.startswith(function.rpartition(".")[0]):
                each.linkage = "internal"
        module.link_in(own)
    for each in module.functions:
        if not each.is_declaration and each.name != name:
            each.linkage = "internal"
        if not each.is_declaration:
            each.add_function_attribute("alwaysinline")
    manager = llvm.create_new_module_pass_manager()
    manager.add_global_dead_code_eliminate_pass()
    manager.run(module, passes(_machine(host()), 0, vectors=False))
    return str(module)


def _neutral(text: str) -> llvm.ModuleRef:
    """Return the module of a text without what describes a machine, with counted iterations."""
    text = _OF_LINKER.sub(r"\1 {", _OF_MACHINE.sub("", text)).replace(" noinline ", " ")
    text = _VARIABLE_OF_LINKER.sub(r"\1", text)
    text = _ATTRIBUTES.sub(r"\1nounwind ", text)  # a group must not be empty
    turned = _ITERATION.sub(rf"  call void @{TURN}()\n\1", text)
    return llvm.parse_assembly(f"{turned}\ndeclare void @{TURN}()\n")


def instructions(text: str, function: str) -> int:
    """Return the number of instructions of a function, with all that is inlined into it."""
    module = llvm.parse_assembly(text)
    optimize(module, host(), "simple")
    blocks = module.get_function(function).blocks
    return sum(1 for block in blocks for each in block.instructions if each.opcode != "alloca")
