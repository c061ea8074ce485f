"""Kernels that are compiled when vertices have been, by the arithmetic of vertices.

What compiles code knows every rule that is registered in the process.  Those of vertices may be
or not, when a kernel is compiled: here they always are, and the name of the code follows them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from poplite.jit import native
from poplite.jit.build import Builds, is_kept

SOURCE = f"{__name__}:kernel_source"
"""What `poplite.jit.native` compiles these kernels by."""


def compiled(kernel: Callable[..., int]) -> Callable[..., int]:
    """Return the compiled form of a kernel, as `native`.

    Args:
        kernel: from `poplite.jit.kernels`.
    """
    return native.native(kernel, SOURCE)


def are_kept(kernels: Sequence[Callable[..., int]]) -> bool:
    """Tell whether the compiled forms of kernels are loaded, or in the cache.

    Args:
        kernels: from `poplite.jit.kernels`.
    """
    return all(is_kept(native.job_of(kernel, SOURCE).name) for kernel in kernels)


def compile_all(kernels: Sequence[Callable[..., int]]) -> None:
    """Compile kernels that are nowhere, side by side.

    Args:
        kernels: from `poplite.jit.kernels`.
    """
    with Builds() as builds:
        for kernel in kernels:
            builds.add_job(native.job_of(kernel, SOURCE))
        builds.finish()


def kernel_source(module: str, name: str) -> tuple[Callable[..., Any], Sequence[Any], Any]:
    """Return a kernel and its Numba types, as that of `poplite.jit.native`, with the rules."""
    from poplite.simulator.codegen import functions  # noqa: F401  (this registers them)

    return native.kernel_source(module, name)
