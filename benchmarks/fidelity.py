"""The cost model compared with measurements: each row has both numbers and the error.

    python benchmarks/fidelity.py [--only KEY] [--json FILE]

    vertices    V1 to V7, V10, V11, poplibs' tables   fidelity.py
    blur        V12 to V15, W9 to W11, W13            fidelity_blur.py
    stencils    W1 to W8                              fidelity_stencils.py
    programs    W14, L1, IPUModel's halo              fidelity_blur.py
    loops       V8, compiled inner loops              fidelity.py
    matmul      dense products of a whole chip, W18   fidelity_networks.py
    convolution layers of networks, C6                fidelity_networks.py

Every number of the model comes from a compiled graph, none from a formula for the row; nothing is
run.  Keys are those of the list of publications: V for rows of one vertex or phase, W for whole
programs, A for loops, B for tables, C for estimators, L for latencies.

Rows that cannot be reproduced from publications are left out: V9 and W19 to W21, programs of
another toolchain and of poplibs, without their steps; W12, whose time depends on poplibs' planner
for convolutions; W15 to W17 and W22, which are not times of a program but shares and remarks.  W4
and W5 stop at 4 and 2 IPUs because of their memory requirements.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

import poplite as pl
from fidelity_blur import BLURS, FORMS, PROGRAMS, Dot
from fidelity_networks import CONVOLUTIONS, PRODUCTS
from fidelity_rows import Row, Rows, run, steps
from fidelity_stencils import CONSTANTS, STENCILS, AlievPanfilov, Heat3DPairs
from poplite.machine.facts import Architecture
from poplite.vertices.amp import AmpMatMulInHalf
from poplite.vertices.elementwise import Add
from poplite.vertices.linear import CholeskyBlock

# -- vertices --------------------------------------------------------------------------------------


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


VERTICES: Rows = {
    "V1": stream,
    "V2": amp,
    "V3": amp_peak,
    "V4": scale_add,
    "V5": copies,
    "V10": cholesky,
    "V11": rotation,
    "C2": tables,
}


# -- loops -----------------------------------------------------------------------------------------
# Slots of one worker for one more element, so that beginning and end of a vertex do not count.
# Code that handles vectors is priced as plain code whose scalar is one vector.  Row 7 of the
# list, which is about data that are not aligned, is left out: fields have the alignment they ask
# for.


class TriadOfVectors(pl.Vertex):
    """STREAM's triad as compiled code."""

    b: pl.Input[pl.Vector[pl.FLOAT]]
    c: pl.Input[pl.Vector[pl.FLOAT]]
    a: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        """Add a multiple of c to b."""
        for i in range(len(self.a)):
            self.a[i] = self.b[i] + 3.0 * self.c[i]


class AddConstant(pl.Vertex):
    """A constant is added in place."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        """Add."""
        for i in range(len(self.x)):
            self.x[i] += 1.0


class Count(pl.Vertex):
    """The same of integers, with a bound in memory."""

    n: pl.State[pl.INT]
    x: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        """Add."""
        for i in range(self.n):
            self.x[i] += 1


class Greater(pl.Vertex):
    """The greater of two vectors, element by element."""

    a: pl.Input[pl.Vector[pl.FLOAT]]
    b: pl.Input[pl.Vector[pl.FLOAT]]
    out: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        """Choose."""
        for i in range(len(self.out)):
            self.out[i] = max(self.a[i], self.b[i])


class AddInts(pl.Vertex):
    """The sum of two vectors of integers."""

    a: pl.Input[pl.Vector[pl.INT]]
    b: pl.Input[pl.Vector[pl.INT]]
    out: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        """Add."""
        for i in range(len(self.out)):
            self.out[i] = self.a[i] + self.b[i]


class Gelu(pl.Vertex):
    """GELU of halves, one by one, by tanh: the kernel that was measured has not been published."""

    x: pl.Input[pl.Vector[pl.HALF]]
    out: pl.Output[pl.Vector[pl.HALF]]

    def compute(self) -> None:
        """Weigh every element by its place in a normal distribution."""
        for i in range(len(self.out)):
            x = self.x[i]
            self.out[i] = 0.5 * x * (1.0 + math.tanh(0.79788456 * (x + 0.044715 * x * x * x)))


Lengths = dict[str, int | tuple[int, ...]]

FEW, MANY = 12, 36
"""Lengths whose difference is taken."""


def slope(
    cls: Any,
    lengths: Callable[[int], Lengths],
    state: Callable[[int], dict[str, float]] = lambda n: {},
    architecture: Architecture = "gc200",
    element: type[pl.ElementType[Any]] = pl.FLOAT,
) -> float:
    """Return the slots of one more element.

    Args:
        cls: the vertex.
        lengths: returns the lengths of its fields for some elements.
        state: returns its state for them.
        architecture: the machine.
        element: of all fields.
    """
    slots = []
    for n in (FEW, MANY):
        graph = pl.Graph(pl.Target(tiles=1, architecture=architecture))
        fields: dict[str, Any] = {
            name: graph.add_variable(element, shape if isinstance(shape, tuple) else (shape,), name,
                                     mapping=0)
            for name, shape in lengths(n).items()
        }  # fmt: skip
        step = graph.add_compute_set("priced")
        graph.add_vertex(step, cls, tile=0, **fields, **state(n))
        (total,) = steps(graph, pl.Execute(step))
        slots.append(total.vertex_types[0].cycles)
    return (slots[1] - slots[0]) / (MANY - FEW)


def vectors(*names: str) -> Callable[[int], Lengths]:
    """Return lengths of vectors that are all equally long."""
    return lambda n: dict.fromkeys(names, n)


PIXELS = 8
"""What a worker has of each row of the image that was measured."""


def blurs() -> Iterator[Row]:
    """1 to 3: a pixel of the blurs on Mk1, whose compiler paired nothing, in rows of 8 pixels."""
    for number, (name, measured) in enumerate(
        {"float": 93.2, "float2": 44.4, "half4": 28.2}.items(), 1
    ):
        form = FORMS[name]

        def lengths(n: int, size: int = form.vectors) -> Lengths:
            return {"x": (PIXELS + 2) * size * (n + 2), "y": PIXELS * size * n}

        row = slope(form.priced, lengths, lambda n: {"width": PIXELS, "height": n}, "gc2")
        model, lacks = row / PIXELS, "constants and moves of halves that plain code does not have"
        yield Row(
            f"A{number}", f"blur {name}, a pixel", 1, "H LBM", "slots", measured, model, 0.20, "",
            lacks,
        )  # fmt: skip


def loops() -> Iterator[Row]:
    """4 to 10: loops of one line or more."""
    triad = slope(TriadOfVectors, vectors("a", "b", "c"), architecture="gc2")
    yield Row("A4", "STREAM triad, C++, Mk1, 2 elements", 1, "H CB", "slots", 5.84, triad, 0.10)
    dot = slope(Dot, lambda n: {"a": n, "b": n, "out": ()})
    yield Row("A5", "dot product, an element", 1, "H T6", "slots", 4.05, dot, 0.10)
    add = slope(AddConstant, vectors("x"))
    yield Row(
        "A6", "x += c, 2 elements", 3, "L", "slots", 4, add, 0.10, "",
        "a counted branch where the repeat instruction would do",
    )  # fmt: skip
    count = slope(Count, vectors("x"), lambda n: {"n": n}, element=pl.INT)
    yield Row(
        "A8", "integer x += 1, bound in memory", 3, "L", "slots", 7, count, 0.10, "",
        "the bound, which the compiler loads again each time",
    )  # fmt: skip

    def cells(n: int) -> Lengths:
        return {"e_in": (3, n + 2), "e_out": (1, n), "r": (1, n)}

    constants = dict.fromkeys(CONSTANTS, 0.5)
    heart = slope(AlievPanfilov, cells, lambda n: {"height": 1, "width": n, **constants})
    yield Row("A9", "Aliev-Panfilov, a cell", 3, "L WE", "slots", 40, heart, 0.20)

    def pairs(n: int) -> Lengths:
        return {"old": (9, n + 1), "new": (1, 2 * n)}

    state = {"height": 1, "width": 1, "alpha": 0.1}
    heat = slope(Heat3DPairs, pairs, lambda n: {**state, "pairs": n})
    yield Row("A10", "heat 3-D, a pair of cells", 3, "L DV", "slots", 16, heat, 0.20)


def gelu() -> Iterator[Row]:
    """V8: GELU on a C600, where six busy workers make a slot of each a cycle of the tile."""
    model = slope(Gelu, vectors("x", "out"), architecture="c600", element=pl.HALF)
    lacks = "vectors of halves: here a store of one is a call, and tanh that of a float"
    yield Row("V8", "GELU of halves, an element", 1, "H IS", "slots", 10, model, 0.15, "", lacks)


def generic() -> Iterator[Row]:
    """Operations of poplibs that are generic C++, by its own estimator."""
    greater = slope(Greater, vectors("a", "b", "out"))
    lacks = "the generic loop around a functor"
    yield Row("C2", "max of 2 floats, generic C++", 3, "S PL", "slots", 8, greater, 0.20, "", lacks)
    add = slope(AddInts, vectors("a", "b", "out"), element=pl.INT)
    yield Row("C2", "sum of integers, generic C++", 3, "S PL", "slots", 7, add, 0.20, "", lacks)


LOOPS: Rows = {"V8": gelu, "A1": blurs, "A4": loops, "C2-generic": generic}


# -- all -------------------------------------------------------------------------------------------


ROWS: Rows = {
    **VERTICES,
    **BLURS,
    **STENCILS,
    **PROGRAMS,
    **LOOPS,
    **PRODUCTS,
    **CONVOLUTIONS,
}


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], ROWS))
