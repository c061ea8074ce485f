"""Edges of list fields: a tensor of two dimensions stands for its rows, however they lie."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

import poplite as pl
from poplite.graph.compute_sets.edge_table import edge_table
from poplite.graph.compute_sets.edges import Edges
from poplite.graph.connect.bulk_inputs import edges_of as of_slices
from poplite.graph.tensor.slices import SliceLists, Slices
from poplite.vertex.fields import Field
from poplite.view import addresses
from poplite.view.contiguous_runs import MOST_RUNS

FIELD = Field("x", "input", pl.FLOAT, 1)


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


@pytest.mark.parametrize("form", ["whole", "every other element", "of two variables", "empty rows"])
def test_lists_of_slices_are_lists_of_tensors(form: str) -> None:
    graph = pl.Graph()
    x, y = (graph.add_variable(pl.FLOAT, (n, 6), mapping=0) for n in (4, 2))
    vector = FORMS[form](x, y).flatten()
    size = vector.num_elements
    bounds = [(0, size), (0, min(size, 3)), (size // 2, size), (0, 0), (size // 3, size)]
    begin, end = np.array(bounds).T
    lists = SliceLists(Slices(vector, 0, begin, end), np.array([0, 1, 1, 4, 5]))
    assert [len(each) for each in lists] == [1, 0, 3, 1]
    results = graph.add_variable(pl.FLOAT, (4,), mapping=0)
    found = []
    for rows in (lists, [list(each) for each in lists]):
        work = graph.add_compute_set("cs")
        graph.add_vertices(work, Rows, tile=0, rows=rows, y=results)
        found.append(edge_table(work).families[0].fields[0])
    assert found[0].edges.rows.array().tolist() == found[1].edges.rows.array().tolist()
    assert found[0].edges.length.array().tolist() == found[1].edges.length.array().tolist()
    runs = [(each.runs.begin.tolist(), each.runs.size.tolist()) for each in found]
    assert runs[0] == runs[1]


def test_lists_of_slices_for_a_field_that_is_no_list() -> None:
    graph = pl.Graph()
    x = graph.add_variable(pl.FLOAT, (6,), "x", mapping=0)
    begin, first = np.arange(2), np.arange(3)
    lists = SliceLists(Slices(x, 0, begin, begin + 1), first)
    with pytest.raises(pl.ElementTypeError, match="field 'y'"):
        graph.add_vertices(graph.add_compute_set("cs"), Rows, tile=0, rows=lists, y=lists)
    matrix = SliceLists(Slices(x.reshape((6, 1)), 0, begin, begin + 1), first)
    with pytest.raises(pl.GraphConnectionError, match="field 'rows'"):
        graph.add_vertices(graph.add_compute_set("cs"), Rows, tile=0, rows=matrix, y=x[:2])


@pytest.mark.parametrize(
    "intervals",
    [
        [(0, 3), (3, 6), (6, 12)],  # all consecutive
        [(0, 3), (4, 8), (8, 11)],  # the first is, the second is not
        [(4, 8), (0, 3), (9, 12)],  # the first is not
        [(0, 0), (4, 8), (0, 3)],  # the first is empty
        [(0, 0), (0, 3), (3, 3)],
        [(0, 0)] * 3,
        [],
    ],
)
def test_slices_of_joined_tensors_have_addresses_where_all_are_consecutive(
    intervals: list[tuple[int, int]],
) -> None:
    graph = pl.Graph()
    x, y = (graph.add_variable(pl.FLOAT, (6,), name, mapping=0) for name in "xy")
    joined = pl.concat([y, x])
    edges = of_slices(joined.slices(np.array(intervals, np.int64).reshape(-1, 2)), FIELD)
    places = addresses(joined.view)
    expected = [places[begin:end] for begin, end in intervals]
    is_consecutive = all((np.diff(each) == 1).all() for each in expected)
    assert (edges.start is not None) == is_consecutive
    first, begin, size = edges.runs()
    found = [
        np.r_[0:0, *map(np.arange, begin[a:b], begin[a:b] + size[a:b])] for a, b in pairwise(first)
    ]
    assert [each.tolist() for each in found] == [each.tolist() for each in expected]


def test_more_rows_than_are_listed_are_refused_by_name() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (1, 3), "x", mapping=0)
    told = (
        r"vertex 0 of 'Rows' on tile 0: field 'rows' is given 134,217,729 rows; at "
        r"most 134,217,728 are edges "
        "of one vertex"
    )
    with pytest.raises(pl.SizeOverflowError, match=told):
        edges_of(graph, x.broadcast(MOST_RUNS + 1, 0))
