"""Heat on a plate: 4 x 4 tiles, overlapping reads, two buffers, and a race refused.

    python examples/heat.py [--double-steps 100]
    mpiexec -n 2 python examples/heat.py --mpi

The plate is 66 x 98 cells.  Its edge keeps its temperature, its inside of 64 x 96 cells is cut
into 16 blocks of 16 x 24, one a tile, and the rows of a block among the six workers of
the tile.  One step is u' = 0.6 u + 0.1 (up + down + left + right):

    . . . . . .
    . o o o o .        a vertex writes the cells o of one buffer
    . o o o o .        and reads o and . of the other one,
    . . . . . .        as a list of rows

Reading one buffer and writing the other makes the step independent of the order of the
vertices.  In a single buffer a vertex would read cells while its neighbour writes them;
that is a race, and the engine refuses it.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

import poplite as pl
from poplite.tools.script import one_line_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

ROWS, COLS = 66, 98
MOST_STEPS = 1_000_000  # double steps
GRID = (4, 4)

# Worked out in double precision for 200 steps; float32 stays this close.
EXPECTED_CELLS = {(1, 49): 0.875551, (20, 30): 0.283670, (30, 45): 0.869429, (45, 45): 0.188319}
CELL_TOLERANCE = 2e-5
EXPECTED_SUM = 1115.33200
SUM_TOLERANCE = 1e-5  # relative


class Diffuse(pl.Vertex):
    """One step on one worker's rows; `old` is a cell wider than `new` on every side."""

    old: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    new: pl.Output[pl.Vector[pl.Vector[pl.FLOAT]]]

    def compute(self) -> None:
        """Blend every cell with its four neighbours."""
        for r in range(len(self.new)):
            for c in range(len(self.new[r])):
                above_below = self.old[r][c + 1] + self.old[r + 2][c + 1]
                around = above_below + self.old[r + 1][c] + self.old[r + 1][c + 2]
                self.new[r][c] = 0.6 * self.old[r + 1][c + 1] + 0.1 * around


def plate() -> npt.NDArray[np.float32]:
    """Return the start: 0, with a hot top edge and a hot block."""
    u = np.zeros((ROWS, COLS), np.float32)
    u[0, :] = 1
    u[20:40, 30:60] = 1
    return u


def oracle(double_steps: int) -> npt.NDArray[np.float32]:
    """Return the plate afterwards, in NumPy: float32, the same order of operations."""
    u = plate()
    for _ in range(2 * double_steps):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        new = u.copy()
        new[1:-1, 1:-1] = np.float32(0.6) * u[1:-1, 1:-1] + np.float32(0.1) * around
        u = new
    return u


def build(double_steps: int = 100, buffers: int = 2) -> tuple[pl.Graph, pl.Program, pl.Tensor]:
    """Return the graph, its program, and the tensor that holds the result.

    Args:
        double_steps: how often to step from b to a and back.
        buffers: 2, or 1 for the variant with a race.
    """
    graph = pl.Graph(pl.Target(tiles=GRID[0] * GRID[1]))
    a = graph.add_variable(pl.FLOAT, (ROWS, COLS), name="a", initial_value=plate())
    blocks = [
        (slice(rows.start + 1, rows.stop + 1), slice(cols.start + 1, cols.stop + 1))
        for rows, cols in pl.grid_blocks((ROWS - 2, COLS - 2), GRID)
    ]
    for tile, (rows, cols) in enumerate(blocks):
        graph.set_tile_mapping(a[with_edge(rows, ROWS), with_edge(cols, COLS)], tile)
    if buffers == 1:
        b = a
    else:
        b = graph.add_variable(pl.FLOAT, (ROWS, COLS), name="b", initial_value=plate())
        graph.set_tile_mapping(b, graph.tile_mapping(a))
    program = pl.Repeat(
        double_steps,
        pl.Sequence(
            step(graph, b, a, blocks, "b to a"),
            step(graph, a, b, blocks, "a to b"),
        ),
    )
    return graph, program, b


def with_edge(block: slice, length: int) -> slice:
    """Give the plate's edge cells to the nearest block."""
    return slice(
        0 if block.start == 1 else block.start, length if block.stop == length - 1 else block.stop
    )


def step(
    graph: pl.Graph, old: pl.Tensor, new: pl.Tensor, blocks: list[tuple[slice, slice]], name: str
) -> pl.Execute:
    """Add one step from `old` to `new`: six vertices a tile."""
    work = graph.add_compute_set(name)
    workers = graph.target.workers
    for tile, (rows, cols) in enumerate(blocks):
        height = rows.stop - rows.start
        for worker in range(workers):
            top = rows.start + pl.cut(worker, height, workers)
            bottom = rows.start + pl.cut(worker + 1, height, workers)
            graph.add_vertex(
                work,
                Diffuse,
                tile=tile,
                old=old[top - 1 : bottom + 1, cols.start - 1 : cols.stop + 1],
                new=new[top:bottom, cols],
            )
    return pl.Execute(work)


def faults(got: npt.NDArray[np.float32], double_steps: int) -> list[str]:
    """Compare with NumPy bit by bit and, after 200 steps, with the numbers above."""
    found = []
    different = int(np.count_nonzero(got != oracle(double_steps)))
    if different:
        found.append(f"{different:,} of {got.size:,} cells differ from NumPy")
    if double_steps != 100:
        return found
    for cell, value in EXPECTED_CELLS.items():
        if not abs(got[cell] - value) < CELL_TOLERANCE:
            found.append(f"u{list(cell)} is {got[cell]:.6f}, expected {value:.6f}")
    total = got.sum(dtype=np.float64)
    if not abs(total / EXPECTED_SUM - 1) < SUM_TOLERANCE:
        found.append(f"the sum is {total:.5f}, expected {EXPECTED_SUM:.5f}")
    return found


def positive(text: str) -> int:
    """Read a whole number from 1; argparse reports what is none."""
    value = int(text)
    if value < 1:
        raise ValueError
    return value


@one_line_errors
def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Spread heat over a plate.")
    parser.add_argument("--double-steps", type=positive, default=100, help="default 100")
    parser.add_argument("--mpi", action="store_true", help="run on the ranks of mpiexec")
    options = parser.parse_args(argv)
    if options.double_steps > MOST_STEPS:
        parser.error(f"argument --double-steps: at most {MOST_STEPS:,}")

    graph, program, result = build(options.double_steps)
    device = pl.mpi.Device() if options.mpi else None
    engine = pl.Engine(graph, program, device=device)
    engine.run()
    u = engine.read(result)
    if device is not None and device.rank > 0:
        return 1 if faults(u, options.double_steps) else 0
    print(f"sum {u.sum(dtype=np.float64):.5f}")
    for cell in EXPECTED_CELLS:
        print(f"u{list(cell)} = {u[cell]:.6f}")
    print(engine.report())
    problems = faults(u, options.double_steps)

    racing, program, _ = build(options.double_steps, buffers=1)
    try:
        pl.Engine(racing, program)
    except pl.GraphCycleError as error:
        print(f"\nIn a single buffer the same program is refused:\n{error}")
    else:
        problems.append("the program with a single buffer races, but was accepted")
    for problem in problems:
        print(f"WRONG: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
