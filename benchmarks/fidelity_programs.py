"""A matrix-vector product against hardware, distances on a die, a halo under Graphcore's model.

python benchmarks/fidelity_programs.py [--only KEY] [--json FILE]
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

import poplite as pl
from fidelity_rows import Row, Rows, phases, run, steps

if TYPE_CHECKING:
    from poplite.report.execution import ExecutionStep


class Fixed(pl.Vertex):
    """A vertex whose slots are given."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    around: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        """Copy."""
        for i in range(len(self.y)):
            self.y[i] = self.x[i]


class Dot(pl.Vertex):
    """The product of two vectors (tutorial 6)."""

    a: pl.Input[pl.Vector[pl.FLOAT]]
    b: pl.Input[pl.Vector[pl.FLOAT]]
    out: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        """Add products."""
        total = 0.0
        for i in range(len(self.a)):
            total += self.a[i] * self.b[i]
        self.out = total


class Sum(pl.Vertex):
    """The sum of a vector."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    out: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        """Add elements."""
        total = 0.0
        for i in range(len(self.x)):
            total += self.x[i]
        self.out = total


def halo() -> Iterable[Row]:
    """B5: 2 x 608 blocks of 100 x 100 under IPUModel, vertices of 100 slots.

    In that model both tiles of a pair send at once.  It does not say where sync ends and exchange
    begins, so they are one row.
    """
    columns, rows, n = 2, 608, 100
    graph = pl.Graph(pl.Target(architecture="gc2", costs={"send_lanes": 2}))
    x, y = (graph.add_variable(pl.FLOAT, (rows * n, columns * n), name) for name in "xy")
    zeros = graph.add_variable(pl.FLOAT, (rows * columns, n), "zeros", mapping="linear")
    step = graph.add_compute_set("halo")

    def side(r: int, c: int, tile: int, cells: tuple[Any, Any]) -> pl.Tensor:
        """Return cells of a neighbour, or zeros where there is none."""
        if 0 <= r < rows and 0 <= c < columns:
            return x[r * n : (r + 1) * n, c * n : (c + 1) * n][cells].flatten()
        length = math.prod(len(range(*s.indices(n))) for s in cells)
        return zeros[tile, :length]

    every, first, last = slice(None), slice(0, 1), slice(n - 1, n)
    for tile, (r, c) in enumerate(itertools.product(range(rows), range(columns))):
        inside = slice(r * n, (r + 1) * n), slice(c * n, (c + 1) * n)
        for tensor in (x, y):
            graph.set_tile_mapping(tensor[inside], tile)
        sides = [(-1, 0, last, every), (1, 0, first, every), (0, -1, every, last),
                 (0, 1, every, first), (-1, -1, last, last), (-1, 1, last, first),
                 (1, -1, first, last), (1, 1, first, first)]  # fmt: skip
        around = [side(r + dr, c + dc, tile, (rr, cc)) for dr, dc, rr, cc in sides]
        vertex = graph.add_vertex(
            step, Fixed, tile=tile, x=x[inside].flatten(), y=y[inside].flatten(), around=around
        )
        graph.set_perf_estimate(vertex, 100)
    (total,) = steps(graph, pl.Execute(step), {"debug.allowOutOfMemory": True})
    found = phases(total)
    between = mean([total], "exchange", graph.target.tiles) + found["sync"]
    for what, measured, model, tolerance, gate in (
        ("compute", 600, found["compute"], 0.0, ""),
        ("exchange and sync", 284 + 166, between, 0.15, "exchange phases"),
        ("step", 1_050, total.cycles, 0.15, ""),
    ):
        name = f"IPUModel's halo, 302 words: {what}"
        yield Row("B5", name, 3, "S LBM", "cycles", measured, model, tolerance, gate)


def matvec() -> Iterable[Row]:
    """W14: a matrix of 10,000 x 1,000 times a vector, in 7 parts of each row."""
    for model, source, tier in (("C++", "H T6", 2), ("guessed", "S T6", 3)):
        compute, exchange = _matvec(is_guessed=model == "guessed")
        measured = 28_300.3 if tier == 2 else 3_801.8
        what = f"tutorial matvec, {model} vertices: compute"
        yield Row("W14", what, tier, source, "cycles", measured, compute, 0.05)
        if tier == 2:
            yield Row(
                "W14", "tutorial matvec: exchange", 2, source, "cycles", 8_743.1, exchange, 0.15,
                "", "the data of the streams, which the measured number has, go to their tiles",
            )  # fmt: skip


def _matvec(*, is_guessed: bool) -> tuple[float, float]:
    """Return the cycles of compute and exchange of the average tile."""
    rows, columns, split = 10_000, 1_000, 7
    target = pl.Target()
    graph, tiles = pl.Graph(target), target.tiles
    x = graph.add_variable(pl.FLOAT, (columns,), "x")
    for tile, part in _runs(np.arange(columns) * tiles // columns):
        graph.set_tile_mapping(x[part], tile)
    partials = graph.add_variable(pl.FLOAT, (split, rows), "partials")
    y = graph.add_variable(pl.FLOAT, (rows,), "y")
    multiply, reduce = graph.add_compute_set("mul"), graph.add_compute_set("reduce")
    for i in range(split):
        part = slice(i * columns // split, (i + 1) * columns // split)
        length = part.stop - part.start
        matrix = graph.add_variable(pl.FLOAT, (rows, length), f"matrix{i}")
        on = (i * rows + np.arange(rows)) * tiles // (split * rows)
        for tile, share in _runs(on):
            graph.set_tile_mapping(matrix[share], tile)
            graph.set_tile_mapping(partials[i, share], tile)
        vertices = graph.add_vertices(
            multiply, Dot, tile=on, a=matrix, b=x[part].broadcast(rows, 0).reshape((rows, length)),
            out=partials[i],
        )  # fmt: skip
        if is_guessed:
            graph.set_perf_estimate(vertices, 5 + (length + 1) // 2)
    on = np.arange(rows) * tiles // rows
    for tile, share in _runs(on):
        graph.set_tile_mapping(y[share], tile)
    vertices = graph.add_vertices(reduce, Sum, tile=on, x=partials.T, out=y)
    if is_guessed:
        graph.set_perf_estimate(vertices, 5 + (split + 1) // 2)
    totals = steps(graph, pl.Sequence(pl.Execute(multiply), pl.Execute(reduce)))
    return mean(totals, "compute", tiles), mean(totals, "exchange", tiles)


def mean(totals: Iterable[ExecutionStep], kind: str, tiles: int) -> float:
    """Return the cycles of the average tile in phases of a kind."""
    chosen = [phase for total in totals for phase in total.phases if phase.kind == kind]
    return sum(phase.tile_cycles.total for phase in chosen) / tiles


def _runs(tiles: np.ndarray[Any, Any]) -> Iterable[tuple[int, slice]]:
    """Yield each tile and the range of elements that are on it; tiles rise."""
    ends = np.flatnonzero(np.diff(tiles, append=-1)) + 1
    begins = [0, *ends[:-1].tolist()]
    for begin, end in zip(begins, ends.tolist(), strict=True):
        yield int(tiles[begin]), slice(begin, end)


def distances() -> Iterable[Row]:
    """L1: phases of a C600, whose tile map is known; the map was checked on hardware to 2.6 %."""
    words = 100

    def phase(source: int, to: int | None) -> int:
        """Return the cycles of sending some words to a tile, or to all."""
        graph = pl.Graph(pl.Target(architecture="c600"))
        tiles = graph.target.tiles if to is None else 1
        x = graph.add_variable(pl.INT, (words,), "x", mapping=source)
        y = graph.add_variable(pl.INT, (tiles, words), "y", mapping="linear" if to is None else to)
        every = x.broadcast(tiles, 0).reshape((tiles, words))
        (total,) = steps(graph, pl.Copy(every, y))
        return phases(total)["exchange"]

    pairs = itertools.product(range(0, 1472, 97), range(5, 1472, 101))
    between = [phase(source, to) for source, to in pairs if source != to]
    to_all = [phase(source, None) for source in range(0, 1472, 64)]
    for what, measured, found in (
        ("between two tiles, mean", 87, np.mean(between)),
        ("to all tiles, mean", 153, np.mean(to_all)),
        ("to all tiles, longest", 199, max(to_all)),
    ):
        yield Row(
            "L1", f"C600: {words} words {what}", 3, "D IS", "cycles", words + measured,
            float(found), 0.05, "exchange phases, known tile map",
        )  # fmt: skip


ROWS: Rows = {"W14": matvec, "L1": distances, "B5": halo}

if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], ROWS))
