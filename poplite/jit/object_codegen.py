"""Code generation that ends in a native object, which is kept on disk, not run by Numba's engine.

    functions  ->  ObjectLibrary  ->  one visible function in an object file
                   (Numba's LLVM modules, linked and optimized by `ObjectCodegen`)

Importing this module imports Numba.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from numba.core import codegen

from poplite.jit import object_cache

_TRUNCATION = """
define half @__truncdfhf2(double %value) {
  %single = fptrunc double %value to float
  %half = fptrunc float %single to half
  ret half %half
}
"""
"""What LLVM calls for the sign of a product with 0.0 that is stored as HALF.

It is in the C compiler's run-time library, which a Python process does not have.
"""


class ObjectLibrary(codegen.CPUCodeLibrary):
    """A library that ends as an object file and is never run by Numba's own engine."""

    def emit_object(self, function: str, exported: str) -> bytes:
        """Return the library as an object file with one visible function.

        Args:
            function: name of the function to show.
            exported: its name in the object.
        """
        self._ensure_finalized()
        if "+f16c" in self._codegen._tm_features.split(","):  # elsewhere there is no half
            self._final_module.link_in(llvm.parse_assembly(_TRUNCATION))
        hide(self._final_module, function, exported)
        return bytes(self._codegen._tm.emit_object(self._final_module))

    def undefined_symbols(self, code: bytes) -> list[str]:
        """Return the names that an object takes from the process (C library, mathematics).

        An ELF file lists them, `memset` and the like included, which only code generation puts
        in; of another format, those are returned that the library itself calls.

        Args:
            code: the object file of this library.
        """
        if code.startswith(b"\x7fELF\x02\x01"):  # of 64 bits, least byte first
            return object_cache.undefined_symbols(code)
        return sorted(
            function.name
            for function in self._final_module.functions
            if function.is_declaration and not function.name.startswith("llvm.")
        )

    def optimize(self, module: llvm.ModuleRef, exported: str) -> None:
        """Take in a module that nothing is linked to, and optimize it for the host's processor.

        Args:
            module: the module, as it was emitted.
            exported: name of the function to show.
        """
        module.data_layout = self._codegen._data_layout
        hide(module, exported, exported)
        inlining = llvm.create_new_module_pass_manager()
        inlining.add_always_inliner_pass()
        inlining.run(module, self._codegen._pass_builder())
        self._final_module.link_in(module)
        codegen.CPUCodeLibrary._optimize_final_module(self)
        self._final_module.verify()
        self._finalized = True

    def _optimize_final_module(self) -> None:
        """Optimize what is exported, once all that it calls is inlined into it."""
        defined = [f for f in self._final_module.functions if not f.is_declaration]
        inner = [f for f in defined if not f.name.startswith("cfunc.")]
        if len(inner) < len(defined):
            for function in inner:
                function.linkage = "internal"
            super()._optimize_final_module()

    def _finalize_specific(self) -> None:
        pass


class ObjectCodegen(codegen.JITCPUCodegen):
    """Code generation for the host's processor, into libraries that end as objects."""

    _library_class = ObjectLibrary

    def _add_module(self, module: Any) -> None:
        pass

    def _customize_tm_features(self) -> str:
        """Ask for vectors of 32 bytes where there are longer ones.

        A tile's vectors are short: a loop over 64 elements should not fall through one made for
        128 at a time (measured: HALF axpy and the photograph run an eighth faster).
        """
        features = str(super()._customize_tm_features())
        return f"{features},+prefer-256-bit" if "+avx512f" in features.split(",") else features

    def _pass_builder(self, **options: Any) -> Any:
        """Let loops work on one vector at a time, not on four.

        A loop over 16 floats would fall through one made for 32, to smaller vectors or to single
        elements (measured: axpy of 8, 16 and 24 floats takes half the time, of HALF a quarter
        less up to 100; from 32 floats on there is no difference).
        """
        tuning = llvm.create_pipeline_tuning_options(options.get("opt", 3))
        tuning.loop_vectorization = options.get("loop_vectorize", True)
        tuning.slp_vectorization = options.get("slp_vectorize", False)
        tuning.loop_interleaving = False
        return llvm.create_pass_builder(self._tm, tuning)


def hide(module: llvm.ModuleRef, function: str, exported: str) -> None:
    """Let one function be all that a module shows.

    Numba numbers its symbols by process, so objects of several processes would clash.

    Args:
        module: the module.
        function: name of the function to show.
        exported: its name in the object.
    """
    for defined in module.functions:
        if defined.name == function:
            defined.name = exported
        elif not defined.is_declaration:
            defined.linkage = "internal"
    for variable in module.global_variables:
        if not variable.is_declaration:
            variable.linkage = "internal"
