"""Edges of list fields: a tensor of two dimensions stands for its rows, however they lie."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import poplite as pl
from poplite.graph.compute_sets.edge_table import edge_table
from poplite.graph.compute_sets.edges import Edges
from poplite.view.contiguous.nested import MOST_RUNS


class Rows(pl.Vertex):
    rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        self.y = self.rows[0][0]


FORMS: dict[str, Callable[[pl.Tensor, pl.Tensor], pl.Tensor]] = {
    "whole": lambda x, _: x,
    "columns of rows": lambda x, _: x[:, 1:4],
    "one column": lambda x, _: x[:, 2:3],
    "every other element": lambda x, _: x[:, ::2],
    "upside down": lambda x, _: x[::-1],
    "backwards": lambda x, _: x[:, ::-1],
    "transposed": lambda x, _: x.T,
    "one row many times": lambda x, _: x[:1].broadcast(5, 0),
    "one element many times": lambda x, _: x[:2, :1].broadcast(3, 1),
    "rows of blocks": lambda x, _: (
        x.reshape((2, 2, 3, 2)).dim_shuffle((0, 2, 1, 3)).reshape((6, 4))
    ),
    "of two variables": lambda x, y: pl.concat([x[:2], y, x[2:]]),
    "rows in two variables": lambda x, y: pl.concat([x[:, 3:], y[:1].broadcast(4, 0)], 1),
    "no rows": lambda x, _: x[:0],
    "empty rows": lambda x, _: x[:, :0],
    "one row": lambda x, _: x[3:],
}


def edges_of(graph: pl.Graph, *several: pl.Tensor | list[pl.Tensor]) -> Edges:
    compute_set, y = graph.add_compute_set("cs"), graph.add_variable(pl.FLOAT, (9,), mapping=0)
    for k, rows in enumerate(several):
        graph.add_vertex(compute_set, Rows, tile=0, rows=rows, y=y[k])
    return edge_table(compute_set).families[0].fields[0].edges


@pytest.mark.parametrize("most_runs", [0, MOST_RUNS])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("other", ["whole", "transposed", "empty rows", "of two variables"])
def test_rows_of_a_tensor_are_as_rows_in_a_list(
    monkeypatch: pytest.MonkeyPatch, form: str, other: str, most_runs: int
) -> None:
    monkeypatch.setattr("poplite.graph.compute_sets.edge_table.MOST_RUNS", most_runs)
    graph = pl.Graph()
    x, y = (graph.add_variable(pl.FLOAT, (n, 6), mapping=0) for n in (4, 2))
    tensors = [FORMS[name](x, y) for name in (form, other)]
    lists = [[t[k] for k in range(t.shape[0])] for t in tensors]
    expected = edges_of(graph, *lists)
    for several in (tensors, (tensors[0], lists[1]), (lists[0], tensors[1])):
        found = edges_of(graph, *several)
        assert found.rows.array().tolist() == [t.shape[0] for t in tensors]
        lengths = [t.shape[1] for t in tensors for _ in range(t.shape[0])]
        assert found.length.array().tolist() == lengths
        assert (found.start is None) == (expected.start is None)
        if found.start is not None and expected.start is not None:
            assert found.start.array().tolist() == expected.start.array().tolist()
        for one, two in zip(found.runs(), expected.runs(), strict=True):
            assert one.tolist() == two.tolist()
