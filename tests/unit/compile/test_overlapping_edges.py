"""Edges of one vertex that share elements: refused, or copied and priced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.running import both_forms


class Add(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] += self.x[i]


class Shift(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = self.x[i]


class Rows(pl.Vertex):
    rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    total: pl.InOut[pl.FLOAT]
    other: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        self.total += self.rows[0][0]
        self.other = self.rows[1][0]


def graph_of(tiles: int = 2) -> tuple[pl.Graph, pl.Tensor, pl.ComputeSet]:
    graph = pl.Graph(pl.Target(tiles=tiles))
    x = graph.add_variable(pl.FLOAT, (16,), "cells", mapping=0, initial_value=np.arange(16.0))
    return graph, x, graph.add_compute_set("step")


def test_an_input_may_not_share_elements_with_an_inout() -> None:
    graph, x, cs = graph_of()
    graph.add_vertex(cs, Add, tile=0, x=x[8:12], y=x[12:16])
    graph.add_vertex(cs, Add, tile=1, x=x[0:5], y=x[2:7])
    with pytest.raises(pl.GraphConnectionError) as caught:
        pl.Engine(graph, pl.Execute(cs))
    error = caught.value
    assert error.what == (
        "compute set 'step': Input 'x' of vertex 1 of 'Add' on tile 1 shares "
        "elements with its InOut 'y'"
    )
    assert error.where == "step 1 of 1: Execute 'step'"
    assert error.found.startswith(
        "'cells'[2:5]: in Input 'x' and in InOut 'y' of vertex 1 of 'Add'"
    )
    assert error.fix.startswith("read them through 'y', or make it an Output and read through 'x'")


def test_a_row_is_named_and_pairs_are_numbered() -> None:
    graph, x, cs = graph_of()
    for first in (0, 4):
        rows = [x[first : first + 2], x[first + 1 : first + 3]]
        graph.add_vertex(cs, Rows, tile=0, rows=rows, total=x[first + 2], other=x[first])
    with pytest.raises(pl.GraphConnectionError) as caught:
        pl.Engine(graph, pl.Execute(cs))
    assert caught.value.what == (
        "compute set 'step': Input 'rows[1]' of vertex 0 of 'Rows' on tile 0 shares "
        "elements with its InOut "
        "'total'; 2 pairs of fields do"
    )
    assert "'cells'[2]: in Input 'rows[1]'" in caught.value.found


@pytest.mark.parametrize("count", [3, 2000])
def test_many_vertices_are_looked_at(count: int) -> None:
    """One of a million may be at fault: the sweep is compiled where there are many."""
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (4 * count,), "cells", mapping=0)
    cs = graph.add_compute_set("step")
    rows = x[4:].reshape((count - 1, 4))
    graph.add_vertices(cs, Add, tile=0, x=rows[:, 2:], y=rows[:, :2])
    pl.Engine(graph, pl.Execute(cs))
    graph.add_vertex(cs, Add, tile=0, x=x[0:3], y=x[2:4])
    with pytest.raises(
        pl.GraphConnectionError, match=f"'x' of vertex {count - 1} of 'Add' on tile 0 shares"
    ):
        pl.Engine(graph, pl.Execute(cs))


def copies(graph: pl.Graph, cs: pl.ComputeSet) -> list[tuple[int, int, str]]:
    """Run a compute set; return cycles and bytes of its copies before, and what is said of them."""
    engine = pl.Engine(graph, pl.Execute(cs))
    engine.run()
    (step,) = engine.report().execution.steps
    assert step.kind == "execute"
    return [
        (phase.cycles, sum(phase.copied), f"{cause.what} {cause.why}")
        for phase in step.phases
        for cause in phase.causes
        if phase.kind == "copy"
    ]


KEPT = "field 'x' of Shift keeps its values from before, as an Output of its vertex overwrites them"


def test_an_input_that_is_overwritten_is_copied_and_priced() -> None:
    graph, x, cs = graph_of()
    graph.add_vertex(cs, Shift, tile=0, x=x[0:8], y=x[1:9])
    assert copies(graph, cs) == [(288 + 9 + 4, 32, KEPT)]
    graph.add_vertex(cs, Shift, tile=0, x=x[10:11], y=x[10:11])
    assert copies(graph, cs) == [(288 + 9 + 4 + 9 + 1, 36, KEPT)]


def test_what_is_a_copy_as_it_is_costs_no_other_one() -> None:
    graph, x, cs = graph_of()
    graph.add_vertex(cs, Shift, tile=1, x=x[0:8], y=x[1:9])  # comes by exchange, to a buffer
    assert copies(graph, cs) == []
    graph, x, cs = graph_of()
    graph.add_vertex(cs, Shift, tile=0, x=x[0:8], y=x[8:16])  # nothing is shared
    assert copies(graph, cs) == []
    graph, x, cs = graph_of()
    graph.add_vertex(cs, Shift, tile=0, x=x[0:8:2], y=x[1:5])  # put together anyway
    assert [text for _, _, text in copies(graph, cs)] == [
        "field 'x' of Shift is gathered from several places"
    ]


@both_forms
def test_the_values_are_those_from_before(interpret: bool) -> None:
    graph, x, cs = graph_of()
    graph.add_vertex(cs, Shift, tile=0, x=x[0:8], y=x[1:9])
    engine: Any = pl.Engine(graph, pl.Execute(cs), interpret=interpret)
    engine.run()
    assert engine.read(x).tolist() == [0, *range(8), *range(9, 16)]
    (found,) = (e for e in engine.report().insights.findings if e.kind == "copied on its tile")
    assert (found.bytes, found.names, f"{found.what} {found.why}") == (32, ("step",), KEPT)
