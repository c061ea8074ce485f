"""What messages call the vertices of an executable: as the graph does, in few bytes."""

from __future__ import annotations

import dataclasses

import numpy as np

import poplite as pl
from poplite.compile.lower import origins_of
from poplite.executable.step import Origins


class One(pl.Vertex):
    """Sets one."""

    x: pl.Output[pl.INT]

    def compute(self) -> None:
        """Set."""
        self.x = 1


class Two(One):
    """The same by another name."""


def num_bytes(origins: Origins) -> int:
    parts = [origins.class_of, origins.tile_of, origins.location_of]
    arrays = [getattr(p, f.name) for p in parts for f in dataclasses.fields(p)]
    return sum(a.nbytes for a in arrays if isinstance(a, np.ndarray))


def test_single_vertices_and_blocks_are_named_as_in_the_graph() -> None:
    graph = pl.Graph(pl.Target(tiles=300))
    x = graph.add_variable(pl.INT, (400,), "x", mapping="linear")
    work = graph.add_compute_set("work")
    for k in range(40):
        graph.add_vertex(work, (One, Two)[k % 2], tile=k * 7, x=x[k])
    graph.add_vertex(work, One, tile=3, x=x[40])
    graph.add_vertices(work, Two, tile=299 - np.arange(100), x=x[100:200])
    graph.add_vertices(work, Two, tile=5, x=x[200:250])
    for k in range(10):
        graph.add_vertex(work, Two, tile=1, x=x[300 + k])
    origins = origins_of(work)
    assert len(origins) == len(work.vertices) == 201
    for named, vertex in zip((origins[n] for n in range(201)), work.vertices, strict=True):
        assert str(named) == str(vertex)
        assert named.location == vertex.location
        assert (named.vertex_class, named.index) == (vertex.vertex_class, vertex.index)


def test_a_compute_set_without_vertices() -> None:
    assert len(origins_of(pl.Graph().add_compute_set())) == 0


def test_many_vertices_take_few_bytes() -> None:
    graph = pl.Graph(pl.Target(tiles=1472))
    x = graph.add_variable(pl.INT, (200_000,), "x", mapping="linear")
    work, spread = graph.add_compute_set("work"), graph.add_compute_set("spread")
    numbers = np.arange(100_000)
    for first in (0, 100_000):
        tile = numbers * 1472 // 100_000
        graph.add_vertices(work, One, tile=tile, x=x[first : first + 100_000])
    assert num_bytes(origins_of(work)) < 100_000
    graph.add_vertices(spread, One, tile=numbers % 1472, x=x[:100_000])
    assert num_bytes(origins_of(spread)) < 2.1 * 100_000
    shared = origins_of(spread).tile_of.tiles
    assert np.shares_memory(shared, next(iter(spread.vertices.blocks())).tiles.tiles)
