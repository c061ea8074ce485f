"""Heat on a plate: 4 x 4 tiles, overlapping reads, two buffers, and a race refused.

The edge of the plate keeps its temperature.  Its inside is cut into blocks, one a tile, and the
rows of a block among the six workers of the tile.  A step is u' = 0.6 u + 0.1 (sum of neighbours):

    . . . . . .        a vertex writes the cells o of one buffer
    . o o o o .        and reads o and . of the other one, as a list of rows;
    . . . . . .        in a single buffer that is a race, which the engine refuses
On the ranks of an MPI job: `mpiexec -n 2 python examples/heat.py --mpi`
"""

import sys

import numpy as np

import poplite as pl

GRID = (4, 4)
PLATE = np.zeros((66, 98), np.float32)
PLATE[0] = PLATE[20:40, 30:60] = 1  # the top edge and a block are hot


class Diffuse(pl.Vertex):
    """One step on one worker's rows; `old` is a cell wider than `new` on every side."""

    old: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    new: pl.Output[pl.Vector[pl.Vector[pl.FLOAT]]]

    def compute(self) -> None:
        for r in range(len(self.new)):
            for c in range(len(self.new[r])):
                above_below = self.old[r][c + 1] + self.old[r + 2][c + 1]
                around = above_below + self.old[r + 1][c] + self.old[r + 1][c + 2]
                self.new[r][c] = 0.6 * self.old[r + 1][c + 1] + 0.1 * around


def step(graph: pl.Graph, old: pl.Tensor, new: pl.Tensor, name: str) -> pl.Program:
    work = graph.add_compute_set(name)
    for tile, own, around in pl.halo_blocks(old.shape, GRID, workers=graph.target.workers):
        graph.add_vertex(work, Diffuse, tile=tile, old=old[around], new=new[own])
    return pl.Execute(work)


def build(double_steps: int = 100, buffers: int = 2) -> tuple[pl.Graph, pl.Program, pl.Tensor]:
    graph = pl.Graph(pl.Target(tiles=16))
    a = graph.add_variable(pl.FLOAT, PLATE.shape, "a", initial_value=PLATE)
    b = graph.add_variable(pl.FLOAT, PLATE.shape, "b", initial_value=PLATE)
    for buffer in (a, b):
        pl.map_blocks(graph, buffer, GRID, halo=1)
    b = b if buffers == 2 else a
    both = pl.Sequence(step(graph, b, a, "b to a"), step(graph, a, b, "a to b"))
    return graph, pl.Repeat(double_steps, both), b


def in_numpy(double_steps: int) -> np.ndarray:
    u = PLATE.copy()
    for _ in range(2 * double_steps):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u[1:-1, 1:-1] = np.float32(0.6) * u[1:-1, 1:-1] + np.float32(0.1) * around
    return u


def main(double_steps: int = 100, device: pl.mpi.Device | None = None) -> None:
    graph, program, result = build(double_steps)
    engine = pl.Engine(graph, program, device=device)
    engine.run()
    u = engine.read(result)
    np.testing.assert_array_equal(u, in_numpy(double_steps))  # bit by bit
    if device is not None and device.rank > 0:
        return
    print(f"sum {u.sum(dtype=float):.5f}, u[20, 30] = {u[20, 30]:.6f}")
    print(engine.report())
    try:
        pl.Engine(*build(double_steps, buffers=1)[:2])
    except pl.GraphCycleError as error:
        print(f"\nIn a single buffer the same program is refused:\n{error}")


if __name__ == "__main__":
    main(device=pl.mpi.Device() if "--mpi" in sys.argv else None)
