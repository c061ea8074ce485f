"""Kernels that are compiled when vertices have been, by the arithmetic of vertices.

What compiles code knows every rule that is registered in the process.  Those of vertices may be
or not, when a kernel is compiled: here they always are, and the name of the code follows them.
"""

from __future__ import annotations

from collections.abc import Callable

from poplite.jit.native import native


def compiled(kernel: Callable[..., int]) -> Callable[..., int]:
    """Return the compiled form of a kernel, as `native`.

    Args:
        kernel: from `poplite.jit.kernels`.
    """
    return native(kernel, __name__, _register)


def _register() -> None:
    from poplite.simulator.codegen import functions  # noqa: F401
