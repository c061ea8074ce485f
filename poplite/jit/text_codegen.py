"""Numba's code generation, ended before LLVM begins: modules are linked, and left as emitted.

`poplite.jit.native_code` compiles the result.

Importing this module imports Numba.
"""

from __future__ import annotations

from typing import Any

from numba.core import codegen, config

from poplite.jit.native_code import Processor, with_short_vectors


class _Library(codegen.CPUCodeLibrary):
    """A library that ends as a linked LLVM module and is never run."""

    def _optimize_functions(self, ll_module: Any) -> None:
        pass

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_specific(self) -> None:
        pass


class TextCodegen(codegen.JITCPUCodegen):
    """Code generation into libraries that are not optimized."""

    _library_class = _Library

    @property
    def processor(self) -> Processor:
        """The processor for which code is made, by Numba's options."""
        uses_svml, features = bool(config.USING_SVML), with_short_vectors(str(self._tm_features))
        return Processor(self._get_host_cpu_name(), features, int(config.OPT), uses_svml)

    def _add_module(self, module: Any) -> None:
        pass
