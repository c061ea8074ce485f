"""Kernels on the engine, compared with hand-written ones: sums at positions, heat, products.

python benchmarks/engine_kernels.py [--samples 9] [--json FILE] [--small]
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

import poplite as pl
from poplite.compile.races import races
from poplite.graph.compute_sets.edge_table import EdgeTable, edge_table
from rows import SETTLING, Row, check, in_turn, run

# -- sums at positions -----------------------------------------------------------------------------
# Each vertex adds two numbers.  In the regular graph vertex k works on element k of three
# variables; in the random one all elements are drawn from one variable, none twice.


Floats = npt.NDArray[np.float32]
Positions = npt.NDArray[np.uint32]

TILES = 1472

FIELDS = ("a", "b", "total")


class Add(pl.Vertex):
    """The sum of two numbers."""

    a: pl.Input[pl.FLOAT]
    b: pl.Input[pl.FLOAT]
    total: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        """Add them."""
        self.total = self.a + self.b


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def add_prange(a: Any, b: Any, total: Any) -> None:
    """What a Numba user writes."""
    for v in numba.prange(len(total)):
        total[v] = a[v] + b[v]


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def add_at_prange(values: Any, a: Any, b: Any, total: Any) -> None:
    """The same by positions; unsigned, as signed ones would be tested for a wrap."""
    for v in numba.prange(len(total)):
        values[total[v]] = values[a[v]] + values[b[v]]


class Sums:
    """A graph without vertices, and the tensors to connect them to.

    Args:
        values: float32[3, count], those of each field.
        positions: uint32[3, count], where they are in one variable; without, in three.
    """

    def __init__(self, values: Floats, positions: Positions | None = None) -> None:
        self.graph = pl.Graph(pl.Target(tiles=TILES))
        count = values.shape[1]
        self.tiles = np.arange(count) * TILES // count
        if positions is None:
            self.tensors = [self._variable(n, v) for n, v in zip(FIELDS, values, strict=True)]
        else:
            variable = self._variable("all", scattered(values, positions))
            ends = np.stack([positions, positions + 1], axis=2).astype(np.int64)
            self.tensors = [pl.concat(variable.slices(each, 0)) for each in ends]

    def _variable(self, name: str, values: Floats) -> pl.Tensor:
        return self.graph.add_variable(
            pl.FLOAT, values.shape, name, mapping="linear", initial_value=values
        )

    def add(self) -> pl.ComputeSet:
        """Add the vertices."""
        sums = self.graph.add_compute_set("sums")
        fields = dict(zip(FIELDS, self.tensors, strict=True))
        self.graph.add_vertices(sums, Add, tile=self.tiles, **fields)
        return sums

    def engine(self) -> pl.Engine:
        """Add the vertices, and make an engine for them."""
        return pl.Engine(self.graph, pl.Execute(self.add()), checks="fast")


def scattered(values: Floats, positions: Positions) -> Floats:
    """Return one array that holds each value at its position."""
    found = np.empty(values.size, np.float32)
    found[positions] = values
    return found


def inputs(count: int) -> tuple[Floats, Positions]:
    """Return the values of each field, and a random place for each value."""
    rng = np.random.default_rng(1)
    shape = (len(FIELDS), count)
    order = rng.permutation(len(FIELDS) * count).astype(np.uint32)
    return rng.random(shape, np.float32), order.reshape(shape)


def run_rows(count: int, samples: int, warm_up: float) -> list[Row]:
    """R3 and R4: regular and random vertices against prange."""
    values, positions = inputs(count)
    array = scattered(values, positions)
    regular, random = Sums(values), Sums(values, positions)

    def by_arrays() -> None:
        add_prange(*values)

    def by_positions() -> None:
        add_at_prange(array, *positions)

    by_arrays()
    by_positions()
    made = []
    for title, sums, hand, expected, target in (
        (f"R3 {count:,} sums, regular", regular, by_arrays, values[2], 1.5),
        (f"R4 {count:,} sums, random", random, by_positions, array[positions[2]], 1.3),
    ):
        engine = sums.engine()
        engine.run()
        name = f"{title}: poplite / prange"
        check(name, engine.read(sums.tensors[2]), expected)
        ours, theirs = in_turn(engine.run, hand, samples, warm_up=warm_up)
        made.append(Row(name, min(ours) / min(theirs), "x", "<=", target, ours, theirs))
    return made


def races_row(count: int, samples: int) -> Row:
    """R16: the race check of shuffled edges against sorting as many numbers."""
    sums = Sums(*inputs(count)).add()
    numbers = np.random.default_rng(1).integers(0, 2**63, len(FIELDS) * count, np.uint64)
    fresh: list[EdgeTable] = []

    def forget() -> None:
        fresh[:] = [edge_table(sums)]

    def find() -> None:
        assert not races(sums, fresh[0])

    forget()
    ours, theirs = in_turn(find, lambda: np.sort(numbers), samples, before=forget)
    name = f"R16 races of {numbers.size:,} shuffled edges: poplite / np.sort"
    return Row(name, min(ours) / min(theirs), "x", "<=", 5.0, ours, theirs)


def graph_row(count: int, form: str, sums: tuple[Any, ...], samples: int) -> Row:
    """R19: vertices added and an engine made, against sorting as many numbers by index."""
    numbers = np.random.default_rng(1).integers(0, 2**63, count, np.uint64)
    fresh: list[Sums] = []

    def renew() -> None:
        fresh[:] = [Sums(*sums)]

    renew()
    ours, theirs = in_turn(
        lambda: fresh[0].engine(), lambda: np.argsort(numbers), samples, before=renew
    )
    name = f"R19 graph of {count:,} vertices, {form}: poplite / np.argsort"
    return Row(name, min(ours) / min(theirs), "x", "<=", 40.0, ours, theirs)


def memory_row(count: int, form: str, sums: tuple[Any, ...], target: float) -> Row:
    """Memory kept for the vertices of an engine, besides the data."""
    Sums(*sums).engine()  # makes permanent data, such as compiled code

    made = Sums(*sums)
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    engine = made.engine()
    del made.tensors, made.tiles  # the graph keeps what it needs of them
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    loaded: Any = engine._loaded
    data = loaded.arena.bytes.nbytes
    name = f"memory of {count:,} vertices, {form}"
    return Row(name, (after - before - data) / count, "B each", "<=", target, [0.0], [0.0])


def rows_of_bulk(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    count = 20_000 if small else 1_000_000
    values, positions = inputs(count)
    forms: dict[str, tuple[Any, ...]] = {"regular": (values,), "random": (values, positions)}
    targets = {"regular": 16.0, "random": 16.0 + 4 * len(FIELDS)}
    return [
        *run_rows(count, samples, 0.0 if small else SETTLING),
        races_row(count, samples),
        *[graph_row(count, form, sums, samples) for form, sums in forms.items()],
        *[memory_row(count, form, sums, targets[form]) for form, sums in forms.items()],
    ]


# -- heat ------------------------------------------------------------------------------------------
# A step is u' = 0.6 u + 0.1 (up + down + left + right), from one buffer to the other; a ring of
# cells around the plate keeps its temperature.  The plate is cut into blocks, one for each of
# 1,472 tiles, and one vertex works on each:
#
#     tile-shaped   a buffer is [tiles, rows + 2, cols + 2] of near-square blocks; before each step
#                   one Copy moves the edges of all blocks into the rings of their neighbours
#     plain         a buffer is [rows + 2, cols + 2]; a vertex reads its block, with one more cell
#                   on every side, where it lies.  Blocks are wide, as the plate is stored by rows


Grid = tuple[int, int]


class Diffuse(pl.Vertex):
    """One step on one block; `old` is a cell wider than `new` on every side."""

    old: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    new: pl.Output[pl.Vector[pl.Vector[pl.FLOAT]]]

    def compute(self) -> None:
        """Blend every cell with its four neighbours."""
        for r in range(len(self.new)):
            for c in range(len(self.new[r])):
                above_below = self.old[r][c + 1] + self.old[r + 2][c + 1]
                around = above_below + self.old[r + 1][c] + self.old[r + 1][c + 2]
                self.new[r][c] = 0.6 * self.old[r + 1][c + 1] + 0.1 * around


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def heat_prange(u: Any, v: Any, double_steps: int) -> None:
    """What a Numba user writes: rows in parallel, the loop over steps compiled."""
    middle, side = np.float32(0.6), np.float32(0.1)
    for _ in range(double_steps):
        for r in numba.prange(1, u.shape[0] - 1):
            for c in range(1, u.shape[1] - 1):
                around = u[r - 1, c] + u[r + 1, c] + u[r, c - 1] + u[r, c + 1]
                v[r, c] = middle * u[r, c] + side * around
        for r in numba.prange(1, u.shape[0] - 1):
            for c in range(1, u.shape[1] - 1):
                around = v[r - 1, c] + v[r + 1, c] + v[r, c - 1] + v[r, c + 1]
                u[r, c] = middle * v[r, c] + side * around


def heat_numpy(u: Floats, v: Floats, double_steps: int) -> None:
    """What a NumPy user writes: temporaries made once, every operation in place."""
    around, middle = (np.empty_like(u[1:-1, 1:-1]) for _ in range(2))
    for _ in range(double_steps):
        for old, new in ((u, v), (v, u)):
            np.add(old[:-2, 1:-1], old[2:, 1:-1], out=around)
            around += old[1:-1, :-2]
            around += old[1:-1, 2:]
            around *= np.float32(0.1)
            np.multiply(old[1:-1, 1:-1], np.float32(0.6), out=middle)
            np.add(middle, around, out=new[1:-1, 1:-1])


def plain_engine(plate: Floats, grid: Grid, double_steps: int) -> tuple[pl.Engine, pl.Tensor]:
    """Return the engine of the plain form, and its plate."""
    graph = pl.Graph(pl.Target(tiles=grid[0] * grid[1]))
    buffers = [
        graph.add_variable(pl.FLOAT, plate.shape, name, mapping="linear", initial_value=plate)
        for name in "ab"
    ]
    blocks = pl.grid_blocks((plate.shape[0] - 2, plate.shape[1] - 2), grid)
    steps = []
    for old, new in (buffers, buffers[::-1]):
        step = graph.add_compute_set("step")
        for tile, (r, c) in enumerate(blocks):
            around = old[r.start : r.stop + 2, c.start : c.stop + 2]
            inside = new[r.start + 1 : r.stop + 1, c.start + 1 : c.stop + 1]
            graph.add_vertex(step, Diffuse, tile=tile, old=around, new=inside)
        steps.append(pl.Execute(step))
    program = pl.Repeat(double_steps, pl.Sequence(*steps))
    return pl.Engine(graph, program, checks="fast"), buffers[0]


class Tiled:
    """The tile-shaped form: a plate as an array of [tiles, rows + 2, cols + 2].

    Args:
        plate: float32[rows + 2, cols + 2].
        grid: blocks along rows and along columns.
    """

    def __init__(self, plate: Floats, grid: Grid) -> None:
        self.plate, self.grid = plate, grid
        self.blocks = pl.grid_blocks((plate.shape[0] - 2, plate.shape[1] - 2), grid)
        self.extents = [(r.stop - r.start, c.stop - c.start) for r, c in self.blocks]
        rows, cols = map(max, zip(*self.extents, strict=True))
        self.shape = (len(self.blocks), rows + 2, cols + 2)

    def cut(self) -> Floats:
        """Return the plate in blocks, each with its ring."""
        tiled = np.zeros(self.shape, np.float32)
        for tile, (r, c) in enumerate(self.blocks):
            block = self.plate[r.start : r.stop + 2, c.start : c.stop + 2]
            tiled[tile, : block.shape[0], : block.shape[1]] = block
        return tiled

    def joined(self, tiled: Floats) -> Floats:
        """Return the plate that blocks make, with the ring of the start."""
        plate = self.plate.copy()
        for tile, (r, c) in enumerate(self.blocks):
            rows, cols = self.extents[tile]
            plate[1:-1, 1:-1][r, c] = tiled[tile, 1 : rows + 1, 1 : cols + 1]
        return plate

    def halo(self, buffer: pl.Tensor) -> pl.Copy:
        """Return the copy of every block's edges into its neighbours' rings."""
        pairs = list(self._edges(buffer))
        source, destination = (pl.concat(list(side)) for side in zip(*pairs, strict=True))
        return pl.Copy(source, destination)

    def _edges(self, buffer: pl.Tensor) -> Iterator[tuple[pl.Tensor, pl.Tensor]]:
        """Yield every edge of a block with the part of the neighbour's ring it goes to."""
        across = self.grid[1]
        for tile, (rows, cols) in enumerate(self.extents):
            block, below, right = buffer[tile], tile + across, tile + 1
            if below < len(self.blocks):
                inside = slice(1, cols + 1)
                yield block[rows, inside], buffer[below][0, inside]
                yield buffer[below][1, inside], block[rows + 1, inside]
            if right % across:
                inside = slice(1, rows + 1)
                yield block[inside, cols], buffer[right][inside, 0]
                yield buffer[right][inside, 1], block[inside, cols + 1]

    def engine(self, double_steps: int) -> tuple[pl.Engine, pl.Tensor]:
        """Return the engine, and its blocks."""
        graph = pl.Graph(pl.Target(tiles=len(self.blocks)))
        start = self.cut()
        buffers = [
            graph.add_variable(pl.FLOAT, self.shape, name, mapping="linear", initial_value=start)
            for name in "ab"
        ]
        steps: list[pl.Program] = []
        for old, new in (buffers, buffers[::-1]):
            step = graph.add_compute_set("step")
            for tile, (rows, cols) in enumerate(self.extents):
                around = old[tile, : rows + 2, : cols + 2]
                inside = new[tile, 1 : rows + 1, 1 : cols + 1]
                graph.add_vertex(step, Diffuse, tile=tile, old=around, new=inside)
            steps += [self.halo(old), pl.Execute(step)]
        program = pl.Repeat(double_steps, pl.Sequence(*steps))
        return pl.Engine(graph, program, checks="fast"), buffers[0]


def rows_of_heat(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    cells, double_steps = (26, 2) if small else (2048, 50)
    grid, wide = ((4, 3), (6, 2)) if small else ((46, 32), (368, 4))
    start = np.random.default_rng(1).random((cells + 2, cells + 2), np.float32)
    tiled = Tiled(start, grid)
    with_copies, blocks = tiled.engine(double_steps)
    direct, plate = plain_engine(start, wide, double_steps)
    u, v = start.copy(), start.copy()
    x, y = start.copy(), start.copy()

    def hand() -> None:
        heat_prange(u, v, double_steps)

    def by_numpy() -> None:
        heat_numpy(x, y, double_steps)

    with_copies.run()
    direct.run()
    hand()
    by_numpy()
    check("heat, NumPy", x, u)
    check("heat, tile-shaped", tiled.joined(with_copies.read(blocks)), u)
    check("heat, plain", direct.read(plate), u)

    name = f"heat {cells} x {cells} x {2 * double_steps}"
    made = []
    for number, form, engine, target in (
        ("R5", "halo copies", with_copies, 1.5),
        ("R6", "row views", direct, 1.8),
    ):
        ours, theirs = in_turn(engine.run, hand, samples)
        title = f"{number} {name}, {form}: poplite / prange"
        made.append(Row(title, min(ours) / min(theirs), "x", "<=", target, ours, theirs))
    ours, theirs = in_turn(with_copies.run, by_numpy, min(samples, 5))
    title = f"R7 {name}, halo copies: NumPy / poplite"
    return [*made, Row(title, min(theirs) / min(ours), "x", ">=", 8.0, ours, theirs)]


# -- products --------------------------------------------------------------------------------------
# A vertex computes one block of C from whole rows of A and columns of B.  B and C are stored in
# blocks, as is natural on tiles and best for caches; how large a block is, both sides know when
# they are compiled.  Both add four products to four rows at a time.


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


def rows_of_products(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    n, warm_up = (128, 0.0) if small else (1024, SETTLING)
    return [row(n, product, samples, warm_up) for product in (Product, SquareProduct)]


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    parts = (rows_of_bulk, rows_of_heat, rows_of_products)
    return [row for part in parts for row in part(small, samples)]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
