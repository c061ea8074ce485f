"""Numba's code generation, ended in a native object that is kept on disk.

    functions  ->  ObjectLibrary  ->  one visible function in an object file
                   (Numba's LLVM modules, linked, and compiled by `poplite.jit.native_code`)

Importing this module imports Numba.
"""

from __future__ import annotations

from typing import Any

from numba.core import codegen, config

from poplite.jit.native_code import Processor, hide, object_of, passes


class ObjectLibrary(codegen.CPUCodeLibrary):
    """A library that ends as an object file and is never run by Numba's own engine."""

    def emit_object(self, function: str, exported: str) -> tuple[bytes, list[str]]:
        """Return the library as an object file, and the symbols that it takes from the process.

        Args:
            function: name of the function to show.
            exported: its name in the object.
        """
        self._ensure_finalized()
        hide(self._final_module, function, exported)
        return object_of(self._final_module, exported, self._codegen.processor)

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

    @property
    def processor(self) -> Processor:
        """What the code is for."""
        uses_svml = bool(config.USING_SVML)
        return Processor(self._get_host_cpu_name(), self._tm_features, int(config.OPT), uses_svml)

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
        vectors = options.get("loop_vectorize", True)
        return passes(self._tm, options.get("opt", 3), vectors=vectors)
