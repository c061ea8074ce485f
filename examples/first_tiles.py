"""First steps on four tiles: copies, sums by the library, and a first vertex."""

import numpy as np

import poplite as pl
from poplite import ops


class SuffixSum(pl.Vertex):
    """Adds up all elements it is given."""

    tail: pl.Input[pl.Vector[pl.FLOAT]]
    total: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        total = 0.0
        for x in self.tail:
            total += x
        self.total = total


def copies() -> None:
    """A constant to one tile, then over four tiles, and into a row of a matrix; a stream."""
    graph = pl.Graph(pl.Target(tiles=4))
    c = graph.add_constant(pl.FLOAT, (4,), [1, 1.5, 2, 2.5], name="c", mapping=0)
    v = graph.add_variable(pl.FLOAT, (4,), name="v", mapping="linear")  # an element a tile
    matrix = graph.add_variable(pl.FLOAT, (4, 4), name="matrix", mapping=0, initial_value=0)
    n = graph.add_variable(pl.INT, (10,), name="n", mapping=3)
    numbers = graph.add_host_to_device_fifo("numbers", pl.INT, 10)
    program = pl.Sequence(
        pl.Copy(c, v),
        pl.Copy(v[0:3], matrix[1, 1:4]),
        pl.Repeat(2, pl.Sequence(pl.Copy(numbers, n), pl.PrintTensor("n", n))),
    )
    engine = pl.Engine(graph, program)
    engine.connect_stream("numbers", np.arange(30, dtype=np.int32))  # ten at each Copy
    engine.run()
    print(f"matrix =\n{engine.read(matrix)}")
    np.testing.assert_array_equal(engine.read(matrix)[1], [0, 1, 1.5, 2])
    np.testing.assert_array_equal(engine.read(n), np.arange(10, 20))


def build() -> tuple[pl.Graph, pl.Program, pl.Tensor, pl.Tensor]:
    """Sums of tensors, whatever tiles they lie on, and of suffixes, one for each tile."""
    graph = pl.Graph(pl.Target(tiles=4))
    p = graph.add_variable(pl.FLOAT, (2, 2), name="p", initial_value=[[1, 1.5], [2, 2.5]])
    q = graph.add_variable(pl.FLOAT, (2, 2), name="q", initial_value=[[4, 3], [2, 1]])
    for i, j in np.ndindex(2, 2):
        graph.set_tile_mapping(p[i, j], 2 * i + j)  # row by row
        graph.set_tile_mapping(q[i, j], 2 * j + i)  # column by column
    sums = graph.add_variable(pl.FLOAT, (4,), name="sums", mapping="linear")
    suffixes = graph.add_compute_set("suffix sums")
    for i in range(4):
        graph.add_vertex(suffixes, SuffixSum, tile=i, tail=p.flatten()[i:], total=sums[i])
    with graph.steps() as program:
        turned = ops.map(p + q.T, name="turned")
        program.add(pl.Execute(suffixes))
    return graph, program, turned, sums


def main() -> None:
    copies()
    graph, program, turned, sums = build()
    engine = pl.Engine(graph, program)
    engine.run()
    print(f"p + q.T =\n{engine.read(turned)}\nsuffix sums of p = {engine.read(sums)}")
    np.testing.assert_array_equal(engine.read(turned), [[5, 3.5], [5, 3.5]])
    np.testing.assert_array_equal(engine.read(sums), [7, 6, 4.5, 2.5])


if __name__ == "__main__":
    main()
