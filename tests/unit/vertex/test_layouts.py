"""Layouts of vector fields: how they are declared, what they limit, what classes ask of memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Generic, TypeVar

import numpy as np
import pytest

import poplite as pl
from helpers.depth import values_only
from poplite.vertex.fields import PLAIN
from poplite.vertex.vertex import Constraint

T = TypeVar("T", pl.FLOAT, pl.HALF)
SHORT = pl.Layout(pl.VectorLayout.SHORT_SPAN, min_align=8)


class Sums(pl.Vertex, Generic[T]):
    x: Annotated[pl.Input[pl.Vector[T]], SHORT]
    rows: Annotated[pl.Input[pl.Vector[pl.Vector[T]]], "a note", SHORT]
    table: Annotated[pl.State[pl.Vector[pl.INT]], SHORT]
    y: pl.Output[T]

    def compute(self) -> None:
        total = 0.0
        for value in self.x:
            total += value
        for i in range(len(self.rows)):
            for value in self.rows[i]:
                total += value
        for number in self.table:
            total += number
        self.y = total


def test_a_layout_stands_beside_the_type() -> None:
    fields = Sums[pl.HALF].fields
    assert fields["x"].layout == SHORT
    assert fields["y"].layout is PLAIN
    assert str(fields["x"]) == "x: Input[Vector[HALF]] with SHORT_SPAN, min_align 8"
    assert str(fields["y"]) == "y: Output[HALF]"
    assert repr(SHORT) == "Layout(VectorLayout.SHORT_SPAN, min_align=8)"
    assert str(replace(SHORT, interleaved=True)) == "SHORT_SPAN, min_align 8, interleaved"


def test_layouts_are_inherited_and_written_as_text_too() -> None:
    class More(Sums[pl.FLOAT]):
        lists: "Annotated[pl.InOut[pl.Vector[pl.Vector[pl.INT]]], pl.Layout(pl.VectorListLayout.DELTAN)]"  # noqa: E501, UP037

        def compute(self) -> None:
            self.lists[0][0] = 1

    assert More.fields["rows"].layout == SHORT
    assert More.fields["lists"].layout.vector is pl.VectorListLayout.DELTAN


@pytest.mark.parametrize("interpret", [False, True])
def test_a_layout_changes_nothing_that_is_computed(interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (3, 4), "x", mapping=0, initial_value=np.arange(12))
    y = graph.add_variable(pl.FLOAT, (2,), "y", mapping=1)
    cs = graph.add_compute_set("sums")
    graph.add_vertex(cs, Sums, tile=0, x=x[0], rows=x[1:], table=[100, 200], y=y[0])
    graph.add_vertices(
        cs, Sums, tile=1, x=x[2:], rows=x[:2].expand([0]), table=[[1, 2, 3]], y=y[1:]
    )
    engine = pl.Engine(graph, pl.Execute(cs), interpret=interpret, options=values_only())
    engine.run()
    assert engine.read(y).tolist() == [66 + 300, 66 + 6]


@pytest.fixture
def graph() -> pl.Graph:
    return pl.Graph(pl.Target(tiles=4))


def test_a_short_span_counts_to_2047(graph: pl.Graph) -> None:
    cs = graph.add_compute_set("sums")
    most = graph.add_variable(pl.FLOAT, (2, 2047), "most", mapping=0)
    more = graph.add_variable(pl.FLOAT, (2, 2048), "more", mapping=0)
    vertex = graph.add_vertex(cs, Sums, tile=3, x=most[0], rows=most)
    message = r"^Sums\[FLOAT\] 1 on tile 3: field 'x' takes 2,047 elements, but 'more' has 2,048 "
    with pytest.raises(pl.GraphConnectionError, match=message):
        graph.add_vertex(cs, Sums, tile=3, x=more[0])
    with pytest.raises(pl.GraphConnectionError, match="each row of 'more' has 2,048 "):
        graph.add_vertex(cs, Sums, tile=3, rows=more)
    with pytest.raises(pl.GraphConnectionError, match=r"but row 1 \('more'\) has 2,048 "):
        graph.add_vertex(cs, Sums, tile=3, rows=[most[0], more[0]])
    with pytest.raises(pl.GraphConnectionError, match="but what it is given has 2,048 "):
        graph.set_initial_value(vertex["table"], np.zeros(2048, np.int32))
    graph.set_initial_value(vertex["table"], np.zeros(2047, np.int32))
    other = graph.add_vertex(cs, Sums[pl.FLOAT], tile=3)
    graph.connect(other["rows"][0], most[1])
    with pytest.raises(pl.GraphConnectionError, match=r"but row 1 \('more'\) has 2,048 "):
        graph.connect(other["rows"][1], more[1])


def test_vertices_added_together_are_limited_too(graph: pl.Graph) -> None:
    cs = graph.add_compute_set("sums")
    x = graph.add_variable(pl.FLOAT, (5 * 2100,), "x", mapping="linear")
    y = graph.add_variable(pl.FLOAT, (5,), "y", mapping="linear")
    lengths = [2047, 2048, 3, 2100, 0]
    cuts = [(2100 * k, 2100 * k + n) for k, n in enumerate(lengths)]
    plenty: dict[str, Any] = {"x": x.slices([(0, 1)] * 5), "rows": [[]] * 5, "table": [[1]] * 5}
    for name, value, found in (
        ("x", x.slices(cuts), "but 'x' has 2,048"),
        ("x", [x[a:b] for a, b in cuts], "but 'x' has 2,048"),
        ("rows", [[x[:2], x[a:b]] for a, b in cuts], r"but row 1 \('x'\) has 2,048"),
        ("table", [np.zeros(n, np.int32) for n in lengths], "but what it is given has 2,048"),
    ):
        message = (
            rf"(?s)^Sums(\[FLOAT\])? 1 on tile 0: field '{name}' takes 2,047 elements, {found} "
            r".*the same of Sums(\[FLOAT\])? 3\n"
        )
        with pytest.raises(pl.GraphConnectionError, match=message):
            graph.add_vertices(cs, Sums, tile=0, **(plenty | {name: value}), y=y)
    assert not cs.vertices


def test_limits_are_told(graph: pl.Graph) -> None:
    assert graph.max_field_dim(Sums, "x") == graph.max_field_dim(Sums, "table", 0) == 2047
    assert [graph.max_field_dim(Sums[pl.HALF], "rows", dim) for dim in (0, 1)] == [2**32 - 1, 2047]
    with pytest.raises(pl.TensorIndexError, match="field 'x' has 1 dimension, and no dimension 1 "):
        graph.max_field_dim(Sums, "x", 1)
    with pytest.raises(pl.TensorIndexError, match="'y' has 0 dimensions, and no dimension 0 "):
        graph.max_field_dim(Sums, "y")
    with pytest.raises(pl.TensorIndexError, match="'x' has 1 dimension, and no dimension 'a' "):
        graph.max_field_dim(Sums, "x", "a")  # type: ignore[arg-type]
    with pytest.raises(pl.TensorIndexError, match="no dimension False"):
        graph.max_field_dim(Sums, "x", False)
    with pytest.raises(pl.UnknownField, match=r"has no field 'rosw' \(did you mean 'rows'\?\)"):
        graph.max_field_dim(Sums, "rosw")
    with pytest.raises(pl.ElementTypeError, match="3 is not a vertex class"):
        graph.max_field_dim(3, "x")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("element", "largest"),
    [
        (pl.FLOAT, float(np.finfo(np.float32).max)),
        (pl.HALF, 65504.0),
        (pl.BOOL, 1),
        (pl.SIGNED_CHAR, 127),
        (pl.UNSIGNED_SHORT, 65535),
        (pl.LONGLONG, 2**63 - 1),
        (pl.UNSIGNED_LONGLONG, 2**64 - 1),
    ],
)
def test_the_largest_number_of_a_field(graph: pl.Graph, element: Any, largest: float) -> None:
    Any_ = TypeVar("Any_")

    class Holds(pl.Vertex, Generic[Any_]):
        x: pl.Input[Any_]

        def compute(self) -> None:
            pass

    assert graph.max_vertex_field_value(Holds[element], "x") == largest
    with pytest.raises(pl.ElementTypeError, match=r"(?s)^Holds: field 'x' has no largest.*FLOAT\]"):
        graph.max_vertex_field_value(Holds, "x")
    with pytest.raises(pl.ElementTypeError, match=r"(?s)'x' has no largest.*format and scale"):
        graph.max_vertex_field_value(Holds[pl.QUARTER], "x")


@pytest.mark.parametrize("align", [0, 3, -8, 8.0, True, "8"])
def test_alignments_are_powers_of_two(align: Any) -> None:
    with pytest.raises(pl.VertexDefinitionError, match=f"min_align={align!r} is no power of two"):
        pl.Layout(min_align=align)


@pytest.mark.parametrize(
    ("kind", "layouts", "why"),
    [
        (pl.Input[pl.FLOAT], [SHORT], "is one element, which has no Layout"),
        (pl.Input[pl.Vector[pl.FLOAT]], [SHORT, PLAIN], "has 2 layouts; a field has one"),
        (
            pl.Input[pl.Vector[pl.FLOAT]],
            [pl.Layout(pl.VectorListLayout.DELTAN)],
            "is no list of edges",
        ),
    ],
)
def test_layouts_that_do_not_fit_are_refused(kind: Any, layouts: list[Any], why: str) -> None:
    with pytest.raises(pl.VertexDefinitionError, match=rf"^vertex class 'V': field 'x' {why}"):
        type("V", (pl.Vertex,), {"__annotations__": {"x": Annotated[kind, *layouts]}})
    with pytest.raises(pl.VertexDefinitionError, match="^Layout: 'Spam' is not in VectorLayout"):
        pl.Layout("Spam")  # type: ignore[arg-type]


def test_constraints_are_data() -> None:
    class Apart(Sums[pl.FLOAT]):
        constraints = ("elem(*x) != elem(**rows)", " region( *x )!=region(*y) ")

    assert Apart.memory_constraints == (
        Constraint("elem", "x", "rows"),
        Constraint("region", "x", "y"),
    )
    assert Sums.memory_constraints == ()

    class Still(Apart):
        pass

    assert Still.memory_constraints == Apart.memory_constraints


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("elem(*x) == elem(*y)", r"'elem\(\*x\) == elem\(\*y\)' is no memory constraint"),
        ("elem(*x) != region(*y)", "compares elem with region"),
        ("elem(*x) != elem(*z)", "names field 'z', but there is none"),
        ("elem(*x) != elem(**row)", r"names field 'row', but there is none \(did you mean 'rows'"),
        ("elem(**x) != elem(*y)", r"says \*\*x, where \*x is needed"),
        ("elem(*x) != elem(*table)", r"says \*table, where an edge is needed"),
        ("elem(*x) != elem(*x)", "keeps field 'x' apart from itself"),
        (3, "3 is no memory constraint"),
    ],
)
def test_constraints_name_fields(text: Any, why: str) -> None:
    with pytest.raises(pl.MemoryElemConstraintsError, match=f"(?s)^vertex class 'V': .*{why}"):
        type("V", (Sums[pl.FLOAT],), {"constraints": (text,)})


@pytest.mark.parametrize("texts", ["elem(*x) != elem(*y)", 3])
def test_constraints_are_a_tuple(texts: Any) -> None:
    with pytest.raises(pl.MemoryElemConstraintsError, match="constraints is .*, not a tuple"):
        type("V", (Sums[pl.FLOAT],), {"constraints": texts})
