"""Blocked matmul and elementwise vertices against JAX Pallas with `interpret=True`.

    python benchmarks/engine_pallas.py [--samples 9] [--json FILE] [--small]

Pallas runs the same grid of blocks, compiled by `jax.jit` before the samples.  The rows are
skipped where jax is not installed; nothing but these rows uses it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from engine_axpy import axpy_engine
from engine_matmul import SquareProduct, matmul_engine, operands
from rows import Row, check, in_turn, run

Floats = npt.NDArray[np.float32]


class Pallas:
    """What the rows use of jax.

    Raises:
        ImportError: when it is not installed.
    """

    def __init__(self) -> None:
        self.jax = import_module("jax")
        self._pallas = import_module("jax.experimental.pallas")

    def matmul(self, n: int, block: int) -> Any:
        """Return the product of n x n matrices, by square blocks of whole rows times columns."""

        def kernel(a: Any, b: Any, c: Any) -> None:
            c[...] = a[...] @ b[...]

        specs = self._pallas.BlockSpec
        return self._jitted(
            kernel,
            grid=(n // block, n // block),
            out_shape=self.jax.ShapeDtypeStruct((n, n), np.float32),
            in_specs=[
                specs((block, n), lambda i, j: (i, 0)),
                specs((n, block), lambda i, j: (0, j)),
            ],
            out_specs=specs((block, block), lambda i, j: (i, j)),
        )

    def axpy(self, a: float, vertices: int, length: int) -> Any:
        """Return `a * x + y`, one grid step a row."""

        def kernel(x: Any, y: Any, out: Any) -> None:
            out[...] = y[...] + np.float32(a) * x[...]

        row = self._pallas.BlockSpec((1, length), lambda v: (v, 0))
        return self._jitted(
            kernel,
            grid=(vertices,),
            out_shape=self.jax.ShapeDtypeStruct((vertices, length), np.float32),
            in_specs=[row, row],
            out_specs=row,
        )

    def _jitted(self, kernel: Any, **options: Any) -> Any:
        call = self.jax.jit(self._pallas.pallas_call(kernel, interpret=True, **options))
        return lambda *arrays: self.jax.block_until_ready(call(*arrays))


def matmul_row(pallas: Pallas, small: bool, samples: int) -> Row:
    """1024^3 in blocks of 32 x 32."""
    n, block = 64 if small else 1024, SquareProduct.ROWS
    a, b = operands(n, block)
    engine, tensor = matmul_engine(a, b, SquareProduct)
    plain = np.ascontiguousarray(b.transpose(1, 0, 2)).reshape(n, n)
    x, y = (pallas.jax.device_put(value) for value in (a, plain))
    product = pallas.matmul(n, block)
    engine.run()
    c = engine.read(tensor).reshape(n // block, -1, block, block).transpose(0, 2, 1, 3)
    # It adds in another order: equal to the accuracy of float32 only.
    np.testing.assert_allclose(c.reshape(n, n), np.asarray(product(x, y)), rtol=0, atol=1e-6 * n)
    ours, theirs = in_turn(engine.run, lambda: product(x, y), samples)
    name = f"matmul {n}^3, {block} x {block} blocks: Pallas interpret / poplite"
    return Row(name, min(theirs) / min(ours), "x", ">=", 3.0, ours, theirs)


def axpy_row(pallas: Pallas, small: bool, samples: int) -> Row:
    """8,832 vertices of 64."""
    vertices, tiles = (96, 16) if small else (8832, 1472)
    times = 10
    engine, tensor, x, y = axpy_engine(vertices, 64, times, tiles)
    once, result, *_ = axpy_engine(vertices, 64, 1, tiles)
    axpy = pallas.axpy(0.5, vertices, 64)
    once.run()
    left, right = (pallas.jax.device_put(value) for value in (x, y))
    name = f"axpy, {vertices:,} vertices of 64: Pallas interpret / poplite"
    check(name, once.read(result), np.asarray(axpy(left, right)))
    ours, theirs = in_turn(engine.run, lambda: axpy(left, right), min(samples, 5))
    ours = [sample / times for sample in ours]
    return Row(name, min(theirs) / min(ours), "x", ">=", 1000.0, ours, theirs)


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    try:
        pallas = Pallas()
    except ImportError:
        names = ("matmul, 32 x 32 blocks", "axpy, 8,832 vertices of 64")
        return [Row.skipped(f"{name}: Pallas interpret / poplite") for name in names]
    return [make(pallas, small, samples) for make in (matmul_row, axpy_row)]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
