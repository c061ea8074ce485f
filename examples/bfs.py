"""Breadth-first search: how far every node of a graph is from node 0.

    python examples/bfs.py

The 192 x 192 adjacency matrix is cut into 4 x 4 blocks, one a tile; a block is kept by rows, as
column numbers and where each row begins.  Distances and the frontier, the nodes reached last, lie
12 a tile.  One pass takes one step along all edges at once::

    expand     tile (i, j) reads the frontier of the columns of its block,
               and says which of its rows they touch                        hit[i, j, row]
    reduce     a row is reached if any block of its row of blocks says so   or over j
    update     what is reached for the first time gets its distance and is the new frontier

Rows of blocks are the first dimension of `hit`, blocks the second, so `dim_shuffle` brings the
blocks of one row to the end for the reduction; no element moves for that.  The loop runs on
the machine, as long as a reduction finds a node in the frontier.
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

NODES, GRID = 192, 4
BLOCK = NODES // GRID
TILES = GRID * GRID
SHARE = NODES // TILES  # nodes of a tile
DRAWS, SEED = 840, 801
UNREACHED = 2147483647

# Worked out by hand-written Python.
EXPECTED_ENTRIES = [[62, 49, 62, 47], [49, 60, 52, 42], [62, 52, 52, 41], [47, 42, 41, 60]]
EXPECTED_LEVELS = [1, 3, 20, 62, 68, 32, 3]
EXPECTED_UNREACHED = 3
EXPECTED_PASSES = 7  # the last one reaches nothing
EXPECTED_NEAR = [4, 3, 4, 4, 3, 2, 5, 3]  # nodes 1 to 8
EXPECTED_SUM = 679  # of the nodes that are reached


class Expand(pl.Vertex):
    """Says which rows of a block have an entry in a column of the frontier."""

    starts: pl.Input[pl.Vector[pl.UNSIGNED_SHORT]]
    columns: pl.Input[pl.Vector[pl.UNSIGNED_SHORT]]
    frontier: pl.Input[pl.Vector[pl.BOOL]]
    hit: pl.Output[pl.Vector[pl.BOOL]]

    def compute(self) -> None:
        """Look at the entries of each row, until one is hit."""
        for row in range(len(self.hit)):
            found = False
            for k in range(self.starts[row], self.starts[row + 1]):
                if self.frontier[self.columns[k]]:
                    found = True
                    break
            self.hit[row] = found


class Count(pl.Vertex):
    """Counts how often it runs."""

    number: pl.InOut[pl.UNSIGNED_INT]

    def compute(self) -> None:
        """One more."""
        self.number = self.number + 1


class Update(pl.MultiVertex):
    """Gives new nodes their distance; the workers of a tile take them in turn."""

    reached: pl.Input[pl.Vector[pl.BOOL]]
    level: pl.Input[pl.UNSIGNED_INT]
    distance: pl.InOut[pl.Vector[pl.UNSIGNED_INT]]
    frontier: pl.Output[pl.Vector[pl.BOOL]]

    def compute(self, worker: int) -> None:
        """Update every node whose number is this worker's."""
        for i in range(worker, len(self.distance), self.num_workers):
            is_new = self.reached[i] and self.distance[i] == UNREACHED
            self.frontier[i] = is_new
            if is_new:
                self.distance[i] = self.level


def adjacency() -> npt.NDArray[np.bool_]:
    """Return the matrix: pairs of numbers from a small generator, in both directions."""
    state, drawn = SEED, []
    for _ in range(DRAWS):
        state = (1664525 * state + 1013904223) % 2**32
        drawn.append((state >> 8) % NODES)
    matrix = np.zeros((NODES, NODES), bool)
    matrix[drawn[::2], drawn[1::2]] = True
    matrix |= matrix.T
    np.fill_diagonal(matrix, False)
    return matrix


def oracle(matrix: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint32]:
    """Return the distances, one level after the other in NumPy."""
    distance = np.full(NODES, UNREACHED, np.uint32)
    frontier, level = np.arange(NODES) == 0, 0
    while frontier.any():
        distance[frontier] = level
        level += 1
        frontier = matrix[:, frontier].any(axis=1) & (distance == UNREACHED)
    return distance


def blocks(matrix: npt.NDArray[np.bool_]) -> list[npt.NDArray[np.bool_]]:
    """Return the blocks of the matrix, row by row."""
    rows = matrix.reshape(GRID, BLOCK, GRID, BLOCK).transpose(0, 2, 1, 3)
    return list(rows.reshape(TILES, BLOCK, BLOCK))


def build(
    matrix: npt.NDArray[np.bool_] | None = None,
) -> tuple[pl.Graph, pl.Program, pl.Tensor, pl.Tensor]:
    """Return the graph, its program, the distances, and the count of passes.

    Args:
        matrix: who is whose neighbour; by default that of `adjacency`.
    """
    matrix = adjacency() if matrix is None else matrix
    graph = pl.Graph(pl.Target(tiles=TILES))
    tiles = np.arange(TILES)

    # The matrix: constants, block k on tile k.
    entries = [np.nonzero(block) for block in blocks(matrix)]
    starts = [np.searchsorted(rows, np.arange(BLOCK + 1)) for rows, _ in entries]
    ends = np.cumsum([len(rows) for rows, _ in entries])
    intervals = list(zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True))
    row_starts = graph.add_constant(
        pl.UNSIGNED_SHORT, (TILES, BLOCK + 1), starts, name="starts", mapping="linear"
    )
    columns = graph.add_constant(
        pl.UNSIGNED_SHORT,
        (int(ends[-1]),),
        np.concatenate([columns for _, columns in entries]),
        name="columns",
        mapping=[[interval] for interval in intervals],
    )

    # The nodes: 12 on each tile.
    is_first = np.arange(NODES) == 0
    distance = graph.add_variable(
        pl.UNSIGNED_INT,
        (NODES,),
        name="distance",
        mapping="linear",
        initial_value=np.where(is_first, 0, UNREACHED),
    )
    frontier = graph.add_variable(
        pl.BOOL, (NODES,), name="frontier", mapping="linear", initial_value=is_first
    )
    reached = graph.add_variable(pl.BOOL, (GRID, BLOCK), name="reached", mapping="linear")
    hit = graph.add_variable(pl.BOOL, (GRID, GRID, BLOCK), name="hit", mapping="linear")
    level = graph.add_variable(pl.UNSIGNED_INT, (), name="level", mapping=0, initial_value=0)

    expand = graph.add_compute_set("expand")
    graph.add_vertices(
        expand,
        Expand,
        tile=tiles,
        starts=row_starts,
        columns=columns.slices(intervals),
        frontier=frontier.reshape((GRID, BLOCK)).broadcast(GRID, 0),  # block k reads k % 4
        hit=hit.reshape((TILES, BLOCK)),
    )
    graph.add_vertex(expand, Count, tile=0, number=level)
    one_pass = pl.Sequence(pl.Execute(expand))
    by_row = hit.dim_shuffle((0, 2, 1))
    pl.ops.map(pl.ops.any(by_row, 2), out=reached, name="reach", program=one_pass)
    update = graph.add_compute_set("update")
    graph.add_vertices(
        update,
        Update,
        tile=tiles,
        reached=reached.reshape((TILES, SHARE)),
        level=level.reshape((1,)).broadcast(TILES, 0),
        distance=distance.reshape((TILES, SHARE)),
        frontier=frontier.reshape((TILES, SHARE)),
    )
    one_pass.add(pl.Execute(update))

    look = pl.Sequence()
    go_on = pl.ops.map(pl.ops.any(frontier), name="go on", program=look)
    return graph, pl.RepeatWhileTrue(look, go_on, one_pass), distance, level


def faults(
    matrix: npt.NDArray[np.bool_], distance: npt.NDArray[np.uint32], passes: int
) -> list[str]:
    """Compare with NumPy, and with the numbers above."""
    found = []
    different = int(np.count_nonzero(distance != oracle(matrix)))
    if different:
        found.append(f"{different} of {NODES} distances differ from NumPy")
    reached = distance[distance != UNREACHED]
    entries = np.reshape([np.count_nonzero(block) for block in blocks(matrix)], (GRID, GRID))
    for what, got, expected in (
        ("entries by block", entries.tolist(), EXPECTED_ENTRIES),
        ("nodes by distance", np.bincount(reached).tolist(), EXPECTED_LEVELS),
        ("nodes not reached", NODES - len(reached), EXPECTED_UNREACHED),
        ("passes", passes, EXPECTED_PASSES),
        ("distances of nodes 1 to 8", distance[1:9].tolist(), EXPECTED_NEAR),
        ("sum of distances", int(reached.sum()), EXPECTED_SUM),
    ):
        if got != expected:
            found.append(f"{what}: {got}, expected {expected}")
    return found


@one_line_errors
def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Search a graph of 192 nodes on 16 tiles.")
    parser.parse_args(argv)
    matrix = adjacency()
    graph, program, distance, level = build(matrix)
    engine = pl.Engine(graph, program)
    engine.run()
    got, passes = engine.read(distance), int(engine.read(level))
    reached = got[got != UNREACHED]
    print(f"{matrix.sum()} entries; {len(reached)} of {NODES} nodes reached in {passes} passes")
    for step, count in enumerate(np.bincount(reached)):
        print(f"{count:4} nodes at distance {step}")
    print(engine.report())
    problems = faults(matrix, got, passes)
    for problem in problems:
        print(f"WRONG: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
