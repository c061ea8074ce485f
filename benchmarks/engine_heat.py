"""Heat on a plate of 2048 x 2048 cells in two forms, against prange over rows and NumPy.

    python benchmarks/engine_heat.py [--samples 9] [--json FILE] [--small]

A step is u' = 0.6 u + 0.1 (up + down + left + right), from one buffer to the other; a ring of
cells around the plate keeps its temperature.  The plate is cut into blocks, one for each of 1,472
tiles, and one vertex works on each:

    tile-shaped   a buffer is [tiles, rows + 2, cols + 2] of near-square blocks; before each step
                  one Copy moves the edges of all blocks into the rings of their neighbours
    plain         a buffer is [rows + 2, cols + 2]; a vertex reads its block, with one more cell
                  on every side, where it lies.  Blocks are wide, as the plate is stored by rows
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

import poplite as pl
from rows import Row, check, in_turn, run

Floats = npt.NDArray[np.float32]
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


def rows(small: bool, samples: int) -> list[Row]:
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


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
