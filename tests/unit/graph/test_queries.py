"""Numbers, names, shapes and types of what a program has are attributes, and answer to a call."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import poplite as pl

_GRAPH = pl.Graph(pl.Target(tiles=4))


def loop_index() -> Any:
    with _GRAPH.steps(), pl.ops.repeat(3) as index:
        return index


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
    "compute set": _GRAPH.add_compute_set("double"),
    "function": _GRAPH.add_function(pl.Sequence(), "blur"),
    "loop index": loop_index(),
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
        if is_number or name in ("name", "handle", "shape", "element_type", "architecture"):
            found[name] = value
    assert found
    assert {name: value() for name, value in found.items()} == found


def test_queries_have_their_values() -> None:
    x, y, target = QUERIED["tensor"], QUERIED["expression"], QUERIED["target"]
    assert (x.shape(), x.rank(), x.num_elements(), x.name()) == ((4, 6), 2, 24, "x")
    assert (y.shape(), y.rank(), y.num_elements()) == ((4, 6), 2, 24)
    assert (target.tiles(), target.clock_hz(), target.architecture()) == (4, 1.33e9, "gc200")
    assert (x.element_type(), y.element_type(), y.elementType()) == (pl.FLOAT,) * 3
    assert (y.numElements(), QUERIED["compute set"].name()) == (24, "double")
    index = QUERIED["loop index"]
    assert (index.rank(), index.ndim, index.num_elements, index.element_type()) == (
        *(0, 0, 1),
        pl.UNSIGNED_INT,
    )
    assert index.name == "repeat/index"
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


REFUSED: dict[str, tuple[Any, str]] = {
    "shape": (lambda x: x.shape(3), r"^a shape that .* takes no arguments, but \(3\).*t.dim\(i\)"),
    "number": (lambda x: x.rank(0), r"^a number that .* takes no arguments, but \(0\)"),
    "name": (lambda x: x.name(scope=1), r"^a name that .* takes no arguments, but \(1\)"),
    "view": (lambda x: x.view(np.int32), r"a.view\(dtype\).*t.reinterpret\(element_type\)"),
}


@pytest.mark.parametrize("query", REFUSED)
def test_a_query_takes_no_arguments(query: str) -> None:
    ask, text = REFUSED[query]
    with pytest.raises(pl.ElementTypeError, match=f"(?s){text}"):
        ask(QUERIED["tensor"])


def test_attributes_of_tensors_have_docstrings() -> None:
    for name in ("graph", "view", "element_type"):
        assert inspect.getdoc(inspect.getattr_static(pl.Tensor, name)), name
