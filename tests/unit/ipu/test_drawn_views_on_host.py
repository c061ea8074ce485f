"""Drawn views as sources of copies and as edges, through tables and host program."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep, thinned
from helpers.mirrored import Mirrors
from poplite.testing import random_tensor, random_variables

VIEWS = 40


class Weigh(pl.Vertex):
    """A sum in which every place counts."""

    x: pl.Input[pl.Vector[pl.INT]]
    rows: pl.Input[pl.Vector[pl.Vector[pl.INT]]]
    out: pl.Output[pl.INT]

    def compute(self) -> None:
        total = len(self.rows)
        for i in range(len(self.x)):
            total = total * 3 + self.x[i]
        for r in range(len(self.rows)):
            for i in range(len(self.rows[r])):
                total = total * 5 + self.rows[r][i]
        self.out = total


@deep
@pytest.mark.parametrize("seed", thinned(range(20), keep=2))
def test_drawn_views_are_copied_and_connected(seed: int, mirrors: Mirrors) -> None:
    random, rng = Random(seed), np.random.default_rng(seed)
    sources = random_variables(random)
    graph = sources[0].tensor.graph
    for variable in graph.variables:
        tensor = graph.tensor(variable.name).flatten()
        breaks, tiles = variable.mapping.pieces()
        for k in np.flatnonzero(tiles < 0).tolist():
            graph.set_tile_mapping(tensor[breaks[k] : breaks[k + 1]], random.randrange(4))
        if not variable.constant:
            values = rng.integers(-(2**31), 2**31, tensor.num_elements)
            graph.set_initial_value(tensor, values)
    work = graph.add_compute_set("weigh")
    results = graph.add_variable(pl.INT, (VIEWS,), "results", mapping="linear")
    copies = []
    for k in range(VIEWS):
        view = random_tensor(random, sources).tensor
        kept = graph.add_variable(pl.INT, view.shape, "kept", mapping=k % 4)
        copies.append(pl.Copy(view, kept))
        lists = [row.flatten() for row in view[:5]] if view.rank else [view.flatten()]
        fields = {"x": view.flatten(), "rows": lists, "out": results[k]}
        graph.add_vertex(work, Weigh, tile=k % 4, **fields)
    program = pl.Sequence(*copies, pl.Execute(work))
    mirrors.mirrored(graph, program, interpret=True, checks="fast").run()
