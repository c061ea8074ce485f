"""First steps on four tiles: variables, mapping, copies, library adds, a first vertex.

    python examples/first_tiles.py

Three parts, each checked against numbers worked out by hand:

(a) copies between tensors that lie on different tiles, into a slice of a matrix, and from a stream;
(b) sums of tensors by the vertex library, whatever tiles the operands lie on;
(c) suffix sums by four vertices of our own, vertex i reading elements i to the end.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

import numpy as np

import poplite as pl
from poplite.tools.script import one_line_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

TILES = 4


class SuffixSum(pl.Vertex):
    """Adds up all elements it is given."""

    tail: pl.Input[pl.Vector[pl.FLOAT]]
    total: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        """Add from left to right."""
        total = 0.0
        for i in range(len(self.tail)):
            total += self.tail[i]
        self.total = total


def copies() -> list[tuple[str, np.ndarray, object]]:
    """(a) A constant to tile 0, from there over four tiles and into a matrix row; a stream."""
    graph = pl.Graph(pl.Target(tiles=TILES))
    c = graph.add_constant(pl.FLOAT, (4,), [1, 1.5, 2, 2.5], name="c", mapping=0)
    v1 = graph.add_variable(pl.FLOAT, (4,), name="v1", mapping=0)
    v2 = graph.add_variable(pl.FLOAT, (4,), name="v2", mapping="linear")
    v3 = graph.add_variable(pl.FLOAT, (4, 4), name="v3", mapping=0)
    v4 = graph.add_variable(pl.INT, (10,), name="v4", mapping=0)
    numbers = graph.add_host_to_device_fifo("numbers", pl.INT, 10)
    program = pl.Sequence(
        pl.Copy(c, v1),
        pl.Copy(v1, v2),
        pl.Copy(v1[0:3], v3[1, 1:4]),
        pl.PrintTensor("v3", v3),
        pl.Repeat(2, pl.Sequence(pl.Copy(numbers, v4), pl.PrintTensor("v4", v4))),
    )
    engine = pl.Engine(graph, program)
    engine.write(v3, np.zeros((4, 4)))
    engine.connect_stream("numbers", np.arange(30, dtype=np.int32))  # ten at each Copy
    engine.run()
    matrix = np.zeros((4, 4))
    matrix[1, 1:4] = [1, 1.5, 2]
    return [
        ("v1", engine.read(v1), [1, 1.5, 2, 2.5]),
        ("v2", engine.read(v2), [1, 1.5, 2, 2.5]),
        ("v3", engine.read(v3), matrix),
        ("v4", engine.read(v4), np.arange(10, 20)),
    ]


def build() -> tuple[pl.Graph, pl.Program, pl.Tensor, pl.Tensor, pl.Tensor]:
    """Return the graph of (b), its program, and its three sums."""
    graph = pl.Graph(pl.Target(tiles=TILES))
    p = graph.add_variable(pl.FLOAT, (2, 2), name="p", initial_value=[[1, 1.5], [2, 2.5]])
    q = graph.add_variable(pl.FLOAT, (2, 2), name="q", initial_value=[[4, 3], [2, 1]])
    for i in range(2):
        for j in range(2):
            graph.set_tile_mapping(p[i, j], 2 * i + j)
            graph.set_tile_mapping(q[i, j], 2 * j + i)
    with graph.steps() as sums:
        once = pl.ops.map(p + q, name="once")
        twice = pl.ops.map(once + q, name="twice")
        turned = pl.ops.map(p + q.T, name="turned")
    return graph, sums, once, twice, turned


def library_adds() -> list[tuple[str, np.ndarray, object]]:
    """(b) p + q, that + q, and p + q transposed; p lies row by row, q column by column."""
    graph, program, once, twice, turned = build()
    engine = pl.Engine(graph, program)
    engine.run()
    return [
        ("p + q", engine.read(once), [[5, 4.5], [4, 3.5]]),
        ("p + q + q", engine.read(twice), [[9, 7.5], [6, 4.5]]),
        ("p + q transposed", engine.read(turned), [[5, 3.5], [5, 3.5]]),
    ]


def suffix_sums() -> list[tuple[str, np.ndarray, object]]:
    """(c) Vertex i on tile i adds c[i], c[i + 1], ... to the end."""
    graph = pl.Graph(pl.Target(tiles=TILES))
    c = graph.add_constant(pl.FLOAT, (4,), [1, 1.5, 2, 2.5], name="c", mapping=0)
    sums = graph.add_variable(pl.FLOAT, (4,), name="sums", mapping="linear")
    work = graph.add_compute_set("suffix sums")
    for i in range(TILES):
        graph.add_vertex(work, SuffixSum, tile=i, tail=c[i:4], total=sums[i])
    engine = pl.Engine(graph, pl.Execute(work))
    engine.run()
    return [("suffix sums", engine.read(sums), [7, 6, 4.5, 2.5])]


@one_line_errors
def main(argv: Sequence[str] | None = None) -> int:
    argparse.ArgumentParser(description="First steps on four tiles.").parse_args(argv)
    wrong = 0
    for title, got, expected in (*copies(), *library_adds(), *suffix_sums()):
        right = np.array_equal(got, np.asarray(expected, got.dtype))
        wrong += not right
        verdict = "as expected" if right else f"WRONG, expected {expected}"
        print(f"{title}: {got.tolist()}  {verdict}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
