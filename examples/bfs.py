"""Breadth-first search: how far every node of a graph is from node 0.

The adjacency matrix is cut into 4 x 4 blocks, one a tile; a block is kept by rows, as column
numbers and where each row begins.  A pass takes a step along all edges at once: `Expand` finds the
rows of each block that the frontier touches, the nodes reached last.  The machine runs passes until
one reaches no new node.
"""

import numpy as np

import poplite as pl
from poplite import ops

NODES, GRID, TILES, BLOCK = 192, 4, 16, 48
MATRIX = np.triu(np.random.default_rng(1).random((NODES, NODES)) < 0.02, 1)
MATRIX |= MATRIX.T


class Expand(pl.Vertex):
    """Says which rows of a block have an entry in a column of the frontier."""

    starts: pl.Input[pl.Vector[pl.UNSIGNED_SHORT]]
    columns: pl.Input[pl.Vector[pl.UNSIGNED_SHORT]]
    frontier: pl.Input[pl.Vector[pl.BOOL]]
    hit: pl.Output[pl.Vector[pl.BOOL]]

    def compute(self) -> None:
        for row in range(len(self.hit)):
            found = False
            for k in range(self.starts[row], self.starts[row + 1]):
                if self.frontier[self.columns[k]]:
                    found = True
                    break
            self.hit[row] = found


def build(matrix: np.ndarray = MATRIX) -> tuple[pl.Graph, pl.Program, pl.Tensor, pl.Tensor]:
    graph = pl.Graph(pl.Target(tiles=TILES))
    blocks = matrix.reshape(GRID, BLOCK, GRID, BLOCK).swapaxes(1, 2).reshape(TILES, BLOCK, BLOCK)
    tile, row, column = np.nonzero(blocks)  # in the order of tiles and rows
    begin = [np.searchsorted(row[tile == k], range(BLOCK + 1)) for k in range(TILES)]
    ends = np.searchsorted(tile, range(TILES + 1)).tolist()
    parts = list(zip(ends, ends[1:], strict=False))  # columns of each block
    starts = graph.add_constant(pl.UNSIGNED_SHORT, (TILES, BLOCK + 1), begin, mapping="linear")
    columns = graph.add_constant(pl.UNSIGNED_SHORT, column.shape, column, "columns")
    for k, (first, last) in enumerate(parts):
        graph.set_tile_mapping(columns[first:last], k)
    root = np.arange(NODES) == 0
    frontier = graph.add_variable(pl.BOOL, (NODES,), "frontier", initial_value=root)
    distance = graph.add_variable(pl.INT, (NODES,), "distance", initial_value=NODES * ~root)
    hit = graph.add_variable(pl.BOOL, (GRID, GRID, BLOCK), "hit")
    passes = graph.add_variable(pl.INT, (), "passes", initial_value=0)
    for each in (frontier, distance, hit, passes):
        pl.map_linearly(graph, each)
    seen = frontier.reshape((GRID, BLOCK)).broadcast(GRID, 0)  # block k reads part k % 4
    fields = {"starts": starts, "columns": columns.slices(parts), "frontier": seen}
    expand = graph.add_compute_set("expand")
    graph.add_vertices(expand, Expand, tile=range(TILES), hit=hit.reshape((TILES, BLOCK)), **fields)
    with graph.steps("search") as program, ops.while_(ops.any(frontier)):
        program.add(pl.Execute(expand))
        reached = ops.map(ops.any(hit, 1), name="reached").flatten()
        ops.assign(passes, passes + 1)
        ops.assign(frontier, reached & ops.equal(distance, NODES))
        ops.assign(distance, ops.where(frontier, passes, distance))
    return graph, program, distance, passes


def main() -> None:
    graph, program, distance, passes = build()
    engine = pl.Engine(graph, program)
    engine.run()
    far = engine.read(distance)
    print(f"{(far < NODES).sum()} of {NODES} nodes are reached in {engine.read(passes)} passes")
    print(engine.report())
    near = np.where(MATRIX, far, NODES).min(1) + 1  # a step further than a neighbour
    np.testing.assert_array_equal(far[1:], np.minimum(near, NODES)[1:])


if __name__ == "__main__":
    main()
