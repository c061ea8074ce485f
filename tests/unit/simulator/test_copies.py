"""What can be copied and pickled, and what refuses to be."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

import pytest

import poplite as pl

T = TypeVar("T", bound=pl.ElementType[Any])


class Scaled(pl.Vertex, Generic[T]):
    """Doubles elements of any type."""

    x: pl.InOut[pl.Vector[T]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = self.x[i] + self.x[i]


class Halves(Scaled[pl.HALF]):
    """A class that is made of one that was made of a template."""


@pytest.fixture(scope="module")
def engine() -> pl.Engine:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (8,), "x", mapping="linear", initial_value=1)
    y = graph.add_variable(pl.FLOAT, (8,), "y", mapping=1)
    scale = graph.add_compute_set("scale")
    graph.add_vertex(scale, Scaled, tile=0, x=x)
    engine = pl.Engine(graph, {"all": pl.Sequence(pl.Execute(scale), pl.Copy(x, y))})
    engine.run()
    return engine


def pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_a_report_survives_copying_and_pickling(
    engine: pl.Engine, copied: Callable[[Any], Any], tmp_path: Path
) -> None:
    report = engine.report()
    again = copied(report)
    assert again == report
    assert str(again) == str(report)
    for name, each in (("one", report), ("other", again)):
        each.save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    assert copied(again) == report


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_graphs_and_engines_refuse_by_name(engine: pl.Engine, copied: Callable[[Any], Any]) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    compute_set = graph.add_compute_set("scale")
    for value, name in (
        (graph, "a Graph"),
        (graph.create_virtual_graph([1]), "a VirtualGraph"),
        (engine, "an Engine"),
        (compute_set, "a ComputeSet"),
    ):
        with pytest.raises(pl.CopyError, match=f"^{name} cannot be copied or pickled(?s:.*)try:"):
            copied(value)


@pytest.mark.parametrize("copied", [copy.deepcopy, pickled])
def test_what_belongs_to_a_graph_is_not_copied_without_it(copied: Callable[[Any], Any]) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (8,), "x", mapping=0)
    step = pl.Execute(graph.add_compute_set("scale"))
    stream = graph.add_host_to_device_fifo("in", pl.FLOAT, 8)
    vertex = graph.add_vertex(step.compute_set, Scaled, tile=0, x=x)
    nested: pl.Program = step
    for _ in range(400):  # deeper than pickle and copy go
        nested = pl.Repeat(2, nested)
    for value in (x, x[::2], x[:0], [x], x.var_regions(), step, pl.Copy(stream, x), vertex, nested):
        with pytest.raises(pl.CopyError, match="cannot be copied or pickled"):
            copied(value)


def test_a_tensor_is_copied_as_the_view_that_it_is() -> None:
    x = pl.Graph().add_variable(pl.FLOAT, (8,), "x")
    assert copy.copy(x) == x
    assert copy.copy(x).graph is x.graph
    assert copy.copy(x[:0]).name == "x"


@pytest.mark.parametrize("cls", [Scaled, Scaled[pl.HALF], Scaled[pl.INT], Halves])
def test_vertex_classes_are_copied_and_pickled_as_themselves(cls: type[pl.Vertex]) -> None:
    assert pickled(cls) is copy.copy(cls) is copy.deepcopy(cls) is cls
