"""Codelets of the classes that operations on tensors make have the bits of the simulator."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import poplite as pl
from helpers.codelets import compiled, difference, drawn
from poplite import ops
from poplite.vertex.vertex import Vertex


def generated_classes() -> list[type[Vertex]]:
    """Return the classes of a graph with maps of several shapes and types."""
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (6, 8), "x", mapping="linear")
    h = graph.add_variable(pl.HALF, (6, 8), "h", mapping="linear")
    row = graph.add_variable(pl.FLOAT, (8,), "row", mapping=0)
    n = graph.add_variable(pl.INT, (6, 8), "n", mapping="linear")
    with graph.steps():
        ops.map(ops.tanh(x * 0.3 + row) / (x - 1.5))
        ops.map(ops.exp(-h) * h + 2)
        ops.map(ops.sigmoid(x) - ops.cast(h, pl.FLOAT))
        ops.map(n * 3 - n % 5)
    items = (item for cs in graph.compute_sets for item in cs.vertices.items())
    return list(dict.fromkeys(item.vertex_class for item in items))


def test_generated_classes_have_equal_bits(tmp_path: Path) -> None:
    classes = generated_classes()
    assert len(classes) >= 4
    native, rng = compiled(classes, tmp_path), np.random.default_rng(2)
    for cls in classes:
        for _ in range(6):
            found = difference(cls, native, drawn(cls, rng, 9))
            assert found is None, found
