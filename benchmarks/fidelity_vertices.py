"""Single vertices against hardware: STREAM, the AMP, copies on a tile, formulas of poplibs.

python benchmarks/fidelity_vertices.py [--only KEY] [--json FILE]
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

import poplite as pl
from fidelity_rows import Row, Rows, run, steps
from poplite.vertices.amp import AmpMatMulInHalf
from poplite.vertices.elementwise import Add
from poplite.vertices.linear import CholeskyBlock


class Triad(pl.Vertex):
    """STREAM's triad as one paces it in assembly: two loads, a store and an axpy at once."""

    q: pl.State[pl.FLOAT]
    b: pl.Input[pl.Vector[pl.FLOAT]]
    c: pl.Input[pl.Vector[pl.FLOAT]]
    a: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        """Add a multiple of c to b."""
        for i in range(len(self.a)):
            self.a[i] = self.b[i] + self.q * self.c[i]

    def cycles(self, target: pl.Target) -> int:
        """Return its slots: all three streams at the rate of paced accesses."""
        moved = 3 * 4 * len(self.a)
        return int(target.cost("slot_entry") + moved / target.cost("paced_bytes_per_cycle"))


class ScaleAdd(pl.MultiVertex):
    """An assembly vertex of tessellate-ipu's tile_copy family: scale and add."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self, worker: int) -> None:
        """Add a multiple of x to y, each worker its share."""
        for i in range(worker, len(self.y), self.num_workers):
            self.y[i] += 2.0 * self.x[i]

    def cycles(self, target: pl.Target) -> int:
        """Return tile cycles: two loads and a store a vector, and the call."""
        vectors = len(self.y) / target.vector_width(pl.FLOAT)
        return int(target.cost("tile_copy_call") + 3 * vectors * target.cost("slot_memory"))


class Rotate(pl.MultiVertex):
    """An assembly vertex of tessellate-ipu: two rows are rotated by an angle, for Jacobi's method.

    The AMP unit multiplies meanwhile, so that loads and stores decide.
    """

    cosine: pl.State[pl.FLOAT]
    sine: pl.State[pl.FLOAT]
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Input[pl.Vector[pl.FLOAT]]
    x_out: pl.Output[pl.Vector[pl.FLOAT]]
    y_out: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self, worker: int) -> None:
        """Rotate, each worker its share."""
        for i in range(worker, len(self.x), self.num_workers):
            self.x_out[i] = self.cosine * self.x[i] - self.sine * self.y[i]
            self.y_out[i] = self.sine * self.x[i] + self.cosine * self.y[i]

    def cycles(self, target: pl.Target) -> int:
        """Return tile cycles: two loads and two stores a vector, and the call."""
        vectors = len(self.x) / target.vector_width(pl.FLOAT)
        return int(target.cost("tile_copy_call") + 4 * vectors * target.cost("slot_memory"))


def stream() -> Iterable[Row]:
    """V1: 7,500 elements for each worker of all tiles, as simehaa/IPU runs it."""
    target = pl.Target()
    graph = pl.Graph(target)
    shape = target.tiles, target.workers, 7_500
    a, b, c = (graph.add_variable(pl.FLOAT, shape, name, mapping="linear") for name in "abc")
    triad = graph.add_compute_set("triad")
    tiles = np.repeat(np.arange(target.tiles), target.workers)
    whole = (target.tiles * target.workers, 7_500)
    fields = {"a": a.reshape(whole), "b": b.reshape(whole), "c": c.reshape(whole)}
    graph.add_vertices(triad, Triad, tile=tiles, q=3.0, **fields)
    (total,) = steps(graph, pl.Execute(triad))
    rate = 3 * 4 * a.num_elements * target.clock_hz / total.cycles / 1e12
    yield Row("V1", "STREAM triad, assembly", 1, "H WE", "TB/s", 46.55, rate, 0.02, "STREAM")


AMP = {
    16: 402, 32: 461, 48: 524, 64: 584, 80: 653, 96: 716, 112: 776, 128: 845, 144: 908, 160: 968,
    192: 1_100, 256: 1_352, 320: 1_613, 512: 2_381, 1024: 4_424, 1536: 6_476, 2032: 8_456,
    2048: 8_525,
}  # fmt: skip
"""Cycles of [columns, 16] halves times [16, 16] on a Bow, by columns."""


def amp() -> Iterable[Row]:
    """V2: the AMP vertex, one on every tile."""
    for columns, measured in AMP.items():
        (total,) = steps(*_amp(columns))
        large = columns >= 256
        yield Row(
            "V2", f"AMP f16, [{columns}, 16] x [16, 16]", 1, "H TI", "cycles", measured,
            total.cycles, 0.02 if large else 0.05, "AMP, 256 columns and more" if large else "",
        )  # fmt: skip


def amp_peak() -> Iterable[Row]:
    """V3: the same as a rate."""
    graph, program = _amp(2048)
    (total,) = steps(graph, program)
    flops = 2 * 16 * 16 * 2048 * graph.target.tiles * graph.target.clock_hz / total.cycles
    yield Row("V3", "AMP f16, whole chip", 1, "H TI", "TFLOP/s", 334.94, flops / 1e12, 0.01)


def _amp(columns: int) -> tuple[pl.Graph, pl.Program]:
    target = pl.Target(architecture="bow")
    graph, tiles = pl.Graph(target), target.tiles
    shapes = {"weights": (tiles, 256), "x": (tiles, 16 * columns), "out": (tiles, 16 * columns)}
    fields = {
        name: graph.add_variable(pl.HALF, shape, name, mapping="linear")
        for name, shape in shapes.items()
    }
    product = graph.add_compute_set("product")
    graph.add_vertices(product, AmpMatMulInHalf, tile=np.arange(tiles), columns=columns, **fields)
    return graph, pl.Execute(product)


def scale_add() -> Iterable[Row]:
    """V4: one tile; the call's share is the intercept of these four."""
    for n, measured in ((64, 375), (128, 467), (256, 665), (512, 1_043)):
        graph = pl.Graph(pl.Target(tiles=1))
        x, y = (graph.add_variable(pl.FLOAT, (n,), name, mapping=0) for name in "xy")
        step = graph.add_compute_set("scale_add")
        graph.add_vertex(step, ScaleAdd, tile=0, x=x, y=y)
        (total,) = steps(graph, pl.Execute(step))
        what = f"scale and add {n} floats, one tile"
        yield Row("V4", what, 1, "H TI", "cycles", measured, total.cycles, 0.10)


def rotation() -> Iterable[Row]:
    """V11: 512 elements of each row, one tile."""
    graph = pl.Graph(pl.Target(tiles=1))
    rows: dict[str, Any] = {
        name: graph.add_variable(pl.FLOAT, (512,), name, mapping=0)
        for name in ("x", "y", "x_out", "y_out")
    }
    step = graph.add_compute_set("rotate")
    graph.add_vertex(step, Rotate, tile=0, cosine=0.6, sine=0.8, **rows)
    (total,) = steps(graph, pl.Execute(step))
    yield Row(
        "V11",
        "rotation of 2 x 512 floats, one tile",
        1,
        "H TI",
        "cycles",
        1_436,
        total.cycles,
        0.10,
    )


def cholesky() -> Iterable[Row]:
    """V10: only the fit to what was measured is published, so this shows that it is what counts."""
    for n, fitted in ((8, 7_950), (16, 31_926), (32, 140_550), (64, 686_502)):
        graph = pl.Graph(pl.Target(tiles=1))
        a = graph.add_variable(pl.FLOAT, (n, n), "a", mapping=0)
        step = graph.add_compute_set("cholesky")
        graph.add_vertex(step, CholeskyBlock, tile=0, a=a)
        (total,) = steps(graph, pl.Execute(step))
        what, cycles = f"Cholesky of [{n}, {n}] floats", 6 * total.vertex_types[0].cycles
        # Slots of the one worker are whole.
        yield Row("V10", what, 1, "H PL", "cycles", fitted, cycles, 0.001, "vertices of the tables")


def copies() -> Iterable[Row]:
    """V5, V6: copies on a tile of a C600; V7: halves put in another order there."""
    for key, size, measured, tolerance in (("V5", 8, 288 + 1, 0.10), ("V6", 8_192, 1_308, 0.05)):
        graph = pl.Graph(pl.Target(tiles=2, architecture="c600"))
        x, y = (graph.add_variable(pl.INT, (size // 4,), name, mapping=0) for name in "xy")
        (total,) = steps(graph, pl.Copy(x, y))
        what = f"copy of {size:,} B on a tile"
        yield Row(key, what, 1, "H IS", "cycles", measured, total.cycles, tolerance)
    graph = pl.Graph(pl.Target(tiles=2, architecture="c600"))
    x = graph.add_variable(pl.HALF, (40, 16), "x", mapping=0)
    y = graph.add_variable(pl.HALF, (16, 40), "y", mapping=0)
    (total,) = steps(graph, pl.Copy(x.T, y))
    lacks = "the toolchain's own loop: 4 cycles an element"
    yield Row(
        "V7", "640 halves put in another order", 1, "H IS", "cycles", 2_364, total.cycles, 0.15,
        lacks=lacks,
    )  # fmt: skip


def tables() -> Iterable[Row]:
    """C2: additions of a tile, shared by its workers, by poplibs' own estimator."""
    for element, begin, lanes in ((pl.FLOAT, 29, 2), (pl.HALF, 26, 4)):
        graph = pl.Graph(pl.Target(tiles=1))
        a, b = (graph.add_variable(element, (1_536,), name, mapping=0) for name in "ab")
        c = graph.add_variable(element, (1_536,), "c", mapping=0)
        work = graph.add_compute_set("add")
        shares = {name: t.reshape((6, 256)) for name, t in (("a", a), ("b", b), ("out", c))}
        graph.add_vertices(work, Add, tile=0, **shares)
        (total,) = steps(graph, pl.Execute(work))
        estimate = 6 * (begin + 3 * (1_536 // 6) // lanes)
        what = f"add 1,536 of {element.__name__} on a tile"
        yield Row(
            "C2", what, 3, "S PL", "cycles", estimate, total.cycles, 0.0, "vertices of the tables"
        )


ROWS: Rows = {
    "V1": stream,
    "V2": amp,
    "V3": amp_peak,
    "V4": scale_add,
    "V5": copies,
    "V10": cholesky,
    "V11": rotation,
    "C2": tables,
}

if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], ROWS))
