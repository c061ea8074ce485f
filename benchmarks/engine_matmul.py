"""C = A B of 1024 x 1024 float32 in blocks, against prange over the same blocks.

    python benchmarks/engine_matmul.py [--samples 9] [--json FILE] [--small]

A vertex computes one block of C from whole rows of A and columns of B.  B and C are stored in
blocks, as is natural on tiles and best for caches; how large a block is, both sides know when
they are compiled.  Both add four products to four rows at a time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

import poplite as pl
from rows import SETTLING, Row, check, in_turn, run

Floats = npt.NDArray[np.float32]


class Product(pl.Vertex):
    """`c = a b` of one block, with consecutive rows in c."""

    a: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    b: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    c: pl.InOut[pl.Vector[pl.FLOAT]]
    ROWS = 16
    COLS = 128

    def compute(self) -> None:
        """Add four products to four rows at a time."""
        for i in range(len(self.c)):
            self.c[i] = 0.0
        for k in range(0, len(self.b), 4):
            b0, b1, b2, b3 = self.b[k], self.b[k + 1], self.b[k + 2], self.b[k + 3]
            for i in range(0, self.ROWS, 4):
                a0, a1, a2, a3 = self.a[i], self.a[i + 1], self.a[i + 2], self.a[i + 3]
                a00, a01, a02, a03 = a0[k], a0[k + 1], a0[k + 2], a0[k + 3]
                a10, a11, a12, a13 = a1[k], a1[k + 1], a1[k + 2], a1[k + 3]
                a20, a21, a22, a23 = a2[k], a2[k + 1], a2[k + 2], a2[k + 3]
                a30, a31, a32, a33 = a3[k], a3[k + 1], a3[k + 2], a3[k + 3]
                for j in range(self.COLS):
                    p, q, r, s = b0[j], b1[j], b2[j], b3[j]
                    to = i * self.COLS + j
                    self.c[to] = self.c[to] + a00 * p + a01 * q + a02 * r + a03 * s
                    to += self.COLS
                    self.c[to] = self.c[to] + a10 * p + a11 * q + a12 * r + a13 * s
                    to += self.COLS
                    self.c[to] = self.c[to] + a20 * p + a21 * q + a22 * r + a23 * s
                    to += self.COLS
                    self.c[to] = self.c[to] + a30 * p + a31 * q + a32 * r + a33 * s


class SquareProduct(Product):
    """The same for square blocks."""

    ROWS = 32
    COLS = 32


def matmul_prange(rows: int, cols: int) -> Callable[[Any, Any, Any], None]:
    """Return what an expert writes in Numba: extents fixed, the sums of a block in the cache."""

    @numba.njit  # type: ignore[untyped-decorator]
    def product(a: Any, b: Any, c: Any) -> None:
        sums = np.empty((rows, cols), np.float32)
        for i in range(rows):
            for j in range(cols):
                sums[i, j] = 0
        for k in range(0, len(b), 4):
            b0, b1, b2, b3 = b[k], b[k + 1], b[k + 2], b[k + 3]
            for i in range(0, rows, 4):
                a0, a1, a2, a3 = a[i], a[i + 1], a[i + 2], a[i + 3]
                a00, a01, a02, a03 = a0[k], a0[k + 1], a0[k + 2], a0[k + 3]
                a10, a11, a12, a13 = a1[k], a1[k + 1], a1[k + 2], a1[k + 3]
                a20, a21, a22, a23 = a2[k], a2[k + 1], a2[k + 2], a2[k + 3]
                a30, a31, a32, a33 = a3[k], a3[k + 1], a3[k + 2], a3[k + 3]
                for j in range(cols):
                    p, q, r, s = b0[j], b1[j], b2[j], b3[j]
                    sums[i, j] = sums[i, j] + a00 * p + a01 * q + a02 * r + a03 * s
                    sums[i + 1, j] = sums[i + 1, j] + a10 * p + a11 * q + a12 * r + a13 * s
                    sums[i + 2, j] = sums[i + 2, j] + a20 * p + a21 * q + a22 * r + a23 * s
                    sums[i + 3, j] = sums[i + 3, j] + a30 * p + a31 * q + a32 * r + a33 * s
        for i in range(rows):
            for j in range(cols):
                c[i, j] = sums[i, j]

    @numba.njit(parallel=True)  # type: ignore[untyped-decorator]
    def matmul(a: Any, b: Any, c: Any) -> None:
        across = len(b)
        for block in numba.prange(len(c)):
            top = block // across * rows
            product(a[top : top + rows], b[block % across], c[block])

    return matmul  # type: ignore[no-any-return]


def matmul_engine(a: Floats, b: Floats, product: type[Product]) -> tuple[pl.Engine, pl.Tensor]:
    """Return the engine of one product, and C in blocks.

    Args:
        a: float32[n, k].
        b: float32[blocks, k, cols].
        product: the vertex of a block of C.
    """
    rows = product.ROWS
    shape = (len(a) // rows, len(b), rows * product.COLS)
    graph = pl.Graph(pl.Target(tiles=shape[0] * shape[1]))
    x = graph.add_variable(pl.FLOAT, a.shape, "a", mapping="linear", initial_value=a)
    y = graph.add_variable(pl.FLOAT, b.shape, "b", mapping="linear", initial_value=b)
    c = graph.add_variable(pl.FLOAT, shape, "c", mapping="linear")
    work = graph.add_compute_set("product")
    for tile in range(shape[0] * shape[1]):
        i, j = divmod(tile, shape[1])
        mine = x[i * rows : (i + 1) * rows]
        graph.add_vertex(work, product, tile=tile, a=mine, b=y[j], c=c[i, j])
    return pl.Engine(graph, pl.Execute(work), checks="fast"), c


def operands(n: int, cols: int) -> tuple[Floats, Floats]:
    """Return A, and B in blocks of columns."""
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((n, n), np.float32) for _ in "ab")
    return a, np.ascontiguousarray(b.reshape(n, -1, cols).transpose(1, 0, 2))


def row(n: int, product: type[Product], samples: int, warm_up: float) -> Row:
    """One shape of blocks against prange over the same blocks."""
    rows, cols = product.ROWS, product.COLS
    a, b = operands(n, cols)
    engine, tensor = matmul_engine(a, b, product)
    c = np.empty((n // rows * len(b), rows, cols), np.float32)
    hand = matmul_prange(rows, cols)
    engine.run()
    hand(a, b, c)
    name = f"R8 matmul {n}^3, {rows} x {cols} blocks"
    check(name, engine.read(tensor).reshape(c.shape), c)
    ours, theirs = in_turn(engine.run, lambda: hand(a, b, c), samples, warm_up=warm_up)
    title = f"{name}: poplite / prange"
    return Row(title, min(ours) / min(theirs), "x", "<=", 1.25, ours, theirs)


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    n, warm_up = (128, 0.0) if small else (1024, SETTLING)
    return [row(n, product, samples, warm_up) for product in (Product, SquareProduct)]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
