"""Numbers, names and shapes of what a program is made of are attributes, and answer to a call."""

from __future__ import annotations

from typing import Any

import pytest

import poplite as pl

_GRAPH = pl.Graph(pl.Target(tiles=4))
_X = _GRAPH.add_variable(pl.FLOAT, (4, 6), "x", mapping=0)

QUERIED: dict[str, Any] = {
    "tensor": _X,
    "view": _X[1:3, ::2],
    "expression": _X + 1,
    "target": _GRAPH.target,
    "graph": _GRAPH,
    "interval": pl.Interval(1, 3),
    "stream": _GRAPH.add_host_to_device_fifo("images", pl.FLOAT, 24),
    "remote buffer": _GRAPH.add_remote_buffer("rows", pl.FLOAT, 24, 8),
    "host function": _GRAPH.add_host_function("sort", [(pl.FLOAT, 4)], [(pl.FLOAT, 4)]),
}


@pytest.mark.parametrize("kind", QUERIED)
def test_a_query_is_an_attribute_that_answers_to_a_call(kind: str) -> None:
    queried, found = QUERIED[kind], {}
    for name in (name for name in dir(type(queried)) if not name.startswith("_")):
        try:
            value = getattr(queried, name)
        except pl.PopliteError:  # a method of another class, which says so
            continue
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number or name in ("name", "handle", "shape", "architecture"):
            found[name] = value
    assert found
    assert {name: value() for name, value in found.items()} == found


def test_queries_have_their_values() -> None:
    x, y, target = QUERIED["tensor"], QUERIED["expression"], QUERIED["target"]
    assert (x.shape(), x.rank(), x.num_elements(), x.name()) == ((4, 6), 2, 24, "x")
    assert (y.shape(), y.rank(), y.num_elements()) == ((4, 6), 2, 24)
    assert (target.tiles(), target.clock_hz(), target.architecture()) == (4, 1.33e9, "gc200")
    assert (QUERIED["graph"].num_vertices(), QUERIED["stream"].size_bytes()) == (0, 96)


ELEMENTS = QUERIED["tensor"].num_elements


class CountDown(pl.Vertex):
    x: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(ELEMENTS):
            self.x[i] = ELEMENTS - i


@pytest.mark.parametrize("checks", ["strict", "fast"])
def test_a_query_is_a_constant_of_a_vertex(checks: Any) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (ELEMENTS,), "x", mapping=0)
    counts = graph.add_compute_set("count down")
    graph.add_vertex(counts, CountDown, tile=0, x=x)
    engine = pl.Engine(graph, pl.Execute(counts), checks=checks)
    engine.run()
    assert engine.read(x).tolist() == list(range(24, 0, -1))
