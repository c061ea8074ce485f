"""Sizes of fields: set, told by what is connected, missing, and in conflict."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np
import pytest

import poplite as pl
from poplite.graph.compute_sets.edge_table import edge_table
from poplite.graph.compute_sets.vertex_block import Edges
from poplite.graph.connect.bulk import edges_of as of_slices
from poplite.graph.tensor.tensor import SliceLists, Slices
from poplite.vertex.fields import Field
from poplite.view import addresses
from poplite.view.concatenation_leaves import MOST_RUNS

T = TypeVar("T", pl.FLOAT, pl.HALF)


class Gather(pl.Vertex, Generic[T]):
    rows: pl.Input[pl.Vector[pl.Vector[T]]]
    weights: pl.State[pl.Vector[T]]
    shift: pl.State[T]
    y: pl.Output[pl.Vector[T]]

    def compute(self) -> None:
        for i in range(len(self.rows)):
            total = 0.0 + self.shift
            if i < len(self.weights):
                total += self.weights[i]
            for value in self.rows[i]:
                total += value
            self.y[i] = total


class Scene:
    def __init__(self) -> None:
        self.graph = pl.Graph(pl.Target(tiles=2))
        self.cs = self.graph.add_compute_set("gather")
        self.x = self.graph.add_variable(
            pl.FLOAT, (12,), "x", mapping=0, initial_value=np.arange(12)
        )
        self.y = self.graph.add_variable(pl.FLOAT, (3,), "y", mapping=1)

    def vertex(self, kind: type[pl.Vertex] = Gather[pl.FLOAT], **fields: Any) -> pl.VertexInstance:
        return self.graph.add_vertex(self.cs, kind, tile=1, **fields)


@pytest.fixture
def scene() -> Scene:
    return Scene()


@pytest.mark.parametrize("interpret", [False, True])
@pytest.mark.parametrize("kind", [Gather, Gather[pl.FLOAT]])
def test_sizes_are_set_then_rows_connected(scene: Scene, interpret: bool, kind: Any) -> None:
    graph, x = scene.graph, scene.x
    vertex = scene.vertex(kind, y=scene.y, shift=0.5)
    graph.set_field_size(vertex["rows"], 3)
    graph.set_field_size(vertex["weights"], 2)
    graph.connect(vertex["rows"][0], x[:2])
    graph.connect(vertex["rows"][1], x[2:3])
    assert "rows" not in vertex.connections
    with pytest.raises(pl.GraphConnectionError, match="rows 2 of field 'rows' are not connected"):
        pl.Engine(graph, pl.Execute(scene.cs))
    with pytest.raises(
        pl.GraphConnectionError, match="field 'shift' has no size .|\n*set_initial_v"
    ):
        graph.set_field_size(vertex["shift"], 1)
    graph.connect(vertex["rows"][2], x[:0])
    assert [graph.field_size(vertex["rows"][row]) for row in range(3)] == [2, 1, 0]
    engine = pl.Engine(graph, pl.Execute(scene.cs), interpret=interpret)
    engine.run()
    assert engine.read(scene.y).tolist() == [1.5, 2.5, 0.5]  # the weights are zeros
    graph.set_initial_value(vertex["weights"], [10, 20])
    engine = pl.Engine(graph, pl.Execute(scene.cs), interpret=interpret)
    engine.run()
    assert engine.read(scene.y).tolist() == [11.5, 22.5, 0.5]


def test_a_list_of_no_rows_is_complete(scene: Scene) -> None:
    vertex = scene.vertex(y=scene.y, shift=0, weights=[])
    scene.graph.set_field_size(vertex["rows"], 0)
    scene.graph.set_field_size((vertex, "rows"), 0)
    pl.Engine(scene.graph, pl.Execute(scene.cs)).run()
    assert vertex.connections["rows"] == ()


def test_a_size_may_follow_what_it_tells(scene: Scene) -> None:
    graph, x = scene.graph, scene.x
    whole = scene.vertex(rows=x.reshape((3, 4)), weights=[1, 2])
    graph.set_field_size(whole["rows"], 3)
    graph.set_field_size(whole["weights"], 2)
    one = scene.vertex()
    graph.connect(one["rows"][0], x)
    graph.set_field_size(one["rows"], 2)
    assert "rows" not in one.connections
    graph.connect(one["rows"][1], x)
    assert len(one.connections["rows"]) == 2


def test_sizes_are_told(scene: Scene) -> None:
    graph, x = scene.graph, scene.x
    vertex = scene.vertex(rows=[x[:5], x], weights=np.ones(4), shift=1, y=scene.y)
    names = ("rows", "weights", "shift", "y")
    assert [graph.field_size(vertex[name]) for name in names] == [2, 4, 1, 3]
    assert graph.field_size(vertex["rows"][1]) == 12
    matrix = scene.vertex(rows=x.reshape((3, 4)))
    assert (graph.field_size(matrix["rows"]), graph.field_size(matrix["rows"][2])) == (3, 4)
    with pytest.raises(pl.TensorIndexError, match="field 'rows' has 3 rows, and no row 3 "):
        graph.field_size(matrix["rows"][3])


def test_nothing_tells_a_size(scene: Scene) -> None:
    graph = scene.graph
    vertex = scene.vertex()
    for name, why in (
        ("rows", r"nothing connected, and no size  .*try: graph.set_field_size\(vertex\['rows'\]"),
        ("weights", "neither values nor a size  .*try: graph.set_field_size"),
        ("y", r"nothing connected, and no size  .*try: graph.connect\(vertex\['y'\]"),
    ):
        why = rf"(?s)^vertex 0 of 'Gather.* field '{name}' has {why}"
        with pytest.raises(pl.NoSizeSpecified, match=why):
            graph.field_size(vertex[name])
    graph.set_field_size(vertex["rows"], 2)
    assert graph.field_size(vertex["rows"]) == 2
    with pytest.raises(pl.NoSizeSpecified, match="row 1 of field 'rows' has nothing connected"):
        graph.field_size(vertex["rows"][1])
    with pytest.raises(pl.TensorIndexError, match="field 'rows' has 2 rows, and no row 2 "):
        graph.field_size(vertex["rows"][2])


def test_an_engine_asks_for_sizes(scene: Scene) -> None:
    vertex = scene.vertex(y=scene.y, shift=0, rows=[])
    message = "(?s)field 'weights' has no value .*test_field_sizes.py.*set_field_size"
    with pytest.raises(pl.NoSizeSpecified, match=message):
        pl.Engine(scene.graph, pl.Execute(scene.cs))
    scene.graph.set_field_size(vertex["weights"], 3)
    pl.Engine(scene.graph, pl.Execute(scene.cs))
    gap = scene.vertex(y=scene.y[:1], shift=0, weights=[])
    scene.graph.connect(gap["rows"][1], scene.x)
    with pytest.raises(pl.NoSizeSpecified, match="(?s)rows 0 of field 'rows' are not connected "):
        pl.Engine(scene.graph, pl.Execute(scene.cs))


def test_a_list_that_nothing_tells_the_size_of_is_refused_as_such(scene: Scene) -> None:
    scene.vertex(y=scene.y[:1], shift=0, weights=[])
    with pytest.raises(
        pl.NoSizeSpecified, match="(?s)field 'rows' is not connected.*set_field_size"
    ):
        pl.Engine(scene.graph, pl.Execute(scene.cs))


def test_conflicting_sizes_name_both(scene: Scene) -> None:
    graph, x = scene.graph, scene.x
    vertex = scene.vertex()
    graph.set_field_size(vertex["rows"], 2)
    refusals: list[tuple[Callable[[], None], str]] = [
        (lambda: graph.set_field_size(vertex["rows"], 3), "is given size 3, but has size 2 "),
        (lambda: graph.connect(vertex["rows"], [x]), "is given 1 row, but has size 2 "),
        (
            lambda: graph.connect(vertex["rows"], x.reshape((3, 4))),
            "is given 3 rows, but has size 2 ",
        ),
    ]
    for refused, why in refusals:
        with pytest.raises(pl.GraphConnectionError, match=f"on tile 1: field 'rows' {why}"):
            refused()
    with pytest.raises(pl.TensorIndexError, match=r"'rows' has 2 rows, and no row 2 (?s:.*)0 to 1"):
        graph.connect(vertex["rows"][2], x)
    graph.set_field_size(vertex["weights"], 4)
    with pytest.raises(pl.GraphConnectionError, match="'weights' is given 3 values, but has size "):
        graph.set_initial_value(vertex["weights"], [1, 2, 3])
    full = scene.vertex(rows=[x, x[:1]], weights=[1, 2, 3])
    with pytest.raises(pl.GraphConnectionError, match="'rows' is given size 5, but contains 2 "):
        graph.set_field_size(full["rows"], 5)
    with pytest.raises(pl.GraphConnectionError, match="'weights' is given size 2, but contains 3 "):
        graph.set_field_size(full["weights"], 2)
    late = scene.vertex()
    graph.connect(late["rows"][3], x)
    with pytest.raises(pl.GraphConnectionError, match="given size 3, but has row 3 connected "):
        graph.set_field_size(late["rows"], 3)
    assert not late.sizes


def test_other_fields_have_no_size_to_set(scene: Scene) -> None:
    graph = scene.graph
    vertex = scene.vertex()
    for ref, what in (
        (vertex["y"], "field 'y'"),
        (vertex["shift"], "field 'shift'"),
        (vertex["rows"][1], "row 1 of field 'rows'"),
    ):
        with pytest.raises(pl.GraphConnectionError, match=f": {what} has no size to set "):
            graph.set_field_size(ref, 3)
    for size in (-1, 1.5, "3", None, True, 2**32):
        with pytest.raises(pl.TensorIndexError, match=f"field 'rows' is given size {size!r} "):
            graph.set_field_size(vertex["rows"], size)  # type: ignore[arg-type]
    with pytest.raises(pl.GraphConnectionError, match="'rows' is not a field of a vertex"):
        graph.set_field_size("rows", 3)  # type: ignore[arg-type]


def test_vertices_added_together_have_their_sizes(scene: Scene) -> None:
    graph, x = scene.graph, scene.x
    block = graph.add_vertices(
        scene.cs, Gather[pl.FLOAT], tile=0, rows=[[x], [x, x[:3]]], weights=[[1], []], shift=2.0,
        y=scene.y[:2].reshape((2, 1)),
    )  # fmt: skip
    assert [graph.field_size(vertex["rows"]) for vertex in block] == [1, 2]
    assert graph.field_size(block[1]["rows"][1]) == 3
    assert [graph.field_size(vertex["weights"]) for vertex in block] == [1, 0]
    with pytest.raises(pl.GraphConnectionError, match="is one of 2 vertices that were added toget"):
        graph.set_field_size(block[0]["rows"], 1)


def test_a_size_far_beyond_the_rows_is_told_at_once(scene: Scene) -> None:
    vertex = scene.vertex(Gather, y=scene.y, shift=0.5, weights=[1, 1])
    scene.graph.set_field_size(vertex["rows"], 2**32 - 1)
    for row in (0, 1, 4, 6, 8, 10, 12):
        scene.graph.connect(vertex["rows"][row], scene.x[:1])
    message = r"rows 2-3, 5, 7, 9, 11, \.\.\. of field 'rows' are not connected"
    with pytest.raises(pl.GraphConnectionError, match=message):
        pl.Engine(scene.graph, pl.Execute(scene.cs))


def test_a_field_is_asked_for_by_its_name(scene: Scene) -> None:
    with pytest.raises(pl.ElementTypeError, match="3 is not the name of a field"):
        scene.graph.max_field_dim(Gather, 3)  # type: ignore[arg-type]


# -- edges of list fields --------------------------------------------------------------------------


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
        r"vertex 0 of 'Rows' on tile 0: field 'rows' is given 134,217,729 rows; a "
        r"vertex has at most 134,217,728 edges"
    )
    with pytest.raises(pl.SizeOverflowError, match=told):
        edges_of(graph, x.broadcast(MOST_RUNS + 1, 0))
