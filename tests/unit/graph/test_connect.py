"""Vertices and what may be connected to their fields."""

from typing import Any

import numpy as np
import pytest

from poplite.errors import (
    ElementTypeError,
    GraphConnectionError,
    InvalidTileMapping,
    SizeOverflowError,
    TensorIndexError,
    UnknownField,
    VertexDefinitionError,
)
from poplite.graph import ComputeSet, Graph
from poplite.graph.compute_sets.compute_set import VertexInstance
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.machine.target import Target
from poplite.types import FLOAT, INT
from poplite.vertex import InOut, Input, Output, State, Vector, Vertex


class Axpy(Vertex):
    a: Input[FLOAT]
    x: Input[Vector[FLOAT]]
    y: InOut[Vector[FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] += self.a * self.x[i]


class Gather(Vertex):
    first: State[INT]
    weights: State[Vector[FLOAT]]
    rows: Input[Vector[Vector[FLOAT]]]
    out: Output[Vector[FLOAT]]

    def compute(self) -> None:
        self.out[0] = self.weights[0] * self.rows[0][self.first]


class Scatter(Vertex):
    rows: Output[Vector[Vector[FLOAT]]]
    last: Output[FLOAT]

    def compute(self) -> None:
        self.last = 0.0


class Named(Vertex):
    compute_set: Input[FLOAT]
    vertex_class: Input[FLOAT]

    def compute(self) -> None:
        pass


class Empty(Vertex):
    pass


@pytest.fixture
def graph() -> Graph:
    return Graph(Target(tiles=4))


@pytest.fixture
def cs(graph: Graph) -> ComputeSet:
    return graph.add_compute_set("step")


@pytest.fixture
def x(graph: Graph) -> Tensor:
    return graph.add_variable(FLOAT, (8,), "x")


@pytest.fixture
def y(graph: Graph) -> Tensor:
    return graph.add_variable(FLOAT, (8,), "y")


class TestAddVertex:
    def test_connects_in_one_call(self, graph: Graph, cs: ComputeSet, x: Tensor, y: Tensor) -> None:
        vertex = graph.add_vertex(cs, Axpy, tile=3, a=x[0], x=x[:4], y=y[:4])
        assert vertex.connections == {"a": x[0], "x": x[:4], "y": y[:4]}
        assert (vertex.tile, vertex.index, vertex.vertex_class) == (3, 0, Axpy)
        assert vertex.location.function == "test_connects_in_one_call"
        assert cs.vertices == [vertex]
        assert graph.num_vertices == 1
        assert repr(vertex) == "<VertexInstance 0 of 'Axpy' on tile 3 of 'step'>"
        assert repr(cs) == "<ComputeSet 'step' 1 vertex on 1 tile>"

    def test_fields_may_be_connected_later(
        self, graph: Graph, cs: ComputeSet, x: Tensor, y: Tensor
    ) -> None:
        vertex = graph.add_vertex(cs, Axpy)
        assert repr(vertex) == "<VertexInstance 0 of 'Axpy' on no tile of 'step'>"
        graph.connect(vertex["a"], x[0])
        graph.connect((vertex, "x"), x[:4])
        graph.connect(vertex["y"], y[:4])
        graph.set_tile_mapping(vertex, 2)
        assert vertex.connections == {"a": x[0], "x": x[:4], "y": y[:4]}
        assert vertex.tile == 2

    def test_a_refused_vertex_leaves_nothing_behind(
        self, graph: Graph, cs: ComputeSet, x: Tensor
    ) -> None:
        with pytest.raises(GraphConnectionError):
            graph.add_vertex(cs, Axpy, tile=3, a=1.0, x=x[0])
        assert cs.vertices == []
        assert len(graph.variables) == 1

    def test_unknown_fields_are_named_with_the_declared_ones(
        self, graph: Graph, cs: ComputeSet, x: Tensor
    ) -> None:
        with pytest.raises(
            UnknownField,
            match=r"(?s)'Axpy' has no field 'xs' \(did you mean 'x'\?\).*test_connect.py"
            r".*declared: a: Input\[FLOAT\], x: Input\[Vector\[FLOAT\]\]",
        ):
            graph.add_vertex(cs, Axpy, xs=x)
        vertex = graph.add_vertex(cs, Axpy)
        with pytest.raises(UnknownField, match="'Axpy' has no field 'z'"):
            vertex["z"]

    def test_what_is_no_compute_set_or_class(self, graph: Graph, cs: ComputeSet) -> None:
        with pytest.raises(GraphConnectionError, match="'step' is not a compute set of <Graph"):
            graph.add_vertex("step", Axpy)  # type: ignore[arg-type]
        with pytest.raises(GraphConnectionError, match="is not a compute set of <Graph 4 tiles"):
            graph.add_vertex(Graph().add_compute_set(), Axpy)
        with pytest.raises(ElementTypeError, match="3 is not a vertex class"):
            graph.add_vertex(cs, 3)  # type: ignore[arg-type]
        with pytest.raises(
            GraphConnectionError, match=r"try: pass the compute set .*\(cs, Axpy, tile"
        ):
            graph.add_vertex(Axpy, cs)  # type: ignore[arg-type]
        with pytest.raises(ElementTypeError, match=r"try: class int\(pl.Vertex\)"):
            graph.add_vertex(cs, int)  # type: ignore[arg-type]

    def test_fields_are_given_by_name(self, graph: Graph, cs: ComputeSet) -> None:
        add: Any = graph.add_vertex
        with pytest.raises(ElementTypeError, match="fields are given by name") as caught:
            add(cs, Axpy, {"a": 1.0}, tile=0)
        assert caught.value.found == "given {'a': 1.0} after the class"
        assert caught.value.fix.startswith("graph.add_vertex(cs, V, tile=0, a=..., x=..., ")

    def test_a_variable_in_the_wrong_order_is_shown_in_the_right_one(self, graph: Graph) -> None:
        add: Any = graph.add_variable
        for given in (((64,), FLOAT, "x"), ("x", FLOAT, (64,))):
            with pytest.raises(ElementTypeError, match=r"name: \(FLOAT, \(64,\), 'x'\)"):
                add(*given)

    def test_the_tile_must_exist(self, graph: Graph, cs: ComputeSet) -> None:
        with pytest.raises(
            InvalidTileMapping, match=("^vertex 0 of 'Axpy': tile 4, but the graph has 4 tiles")
        ):
            graph.add_vertex(cs, Axpy, tile=4)
        vertex = graph.add_vertex(cs, Axpy, tile=1)
        with pytest.raises(InvalidTileMapping, match="^vertex 0 of 'Axpy': tile -2"):
            graph.set_tile_mapping(vertex, -2)
        with pytest.raises(InvalidTileMapping, match="is neither a tile number"):
            graph.set_tile_mapping(vertex, [[(0, 1)]])
        with pytest.raises(
            GraphConnectionError, match="vertex 0 of 'Axpy' on tile 1 belongs to another"
        ):
            Graph().set_tile_mapping(vertex, 0)

    def test_classes_that_cannot_run(self, graph: Graph, cs: ComputeSet) -> None:
        with pytest.raises(
            VertexDefinitionError, match="(?s)'Vertex' has no compute.*base of vertex classes"
        ):
            graph.add_vertex(cs, Vertex)
        with pytest.raises(
            VertexDefinitionError, match="(?s)'Empty' has no compute.*class Empty .*test_connect"
        ):
            graph.add_vertex(cs, Empty)
        assert cs.vertices == []

    def test_fields_may_be_called_like_the_arguments(self, graph: Graph, cs: ComputeSet) -> None:
        vertex = graph.add_vertex(cs, Named, tile=0, compute_set=1.0, vertex_class=2.0)
        assert sorted(vertex.connections) == ["compute_set", "vertex_class"]

    def test_vertices_have_no_name(self, graph: Graph, cs: ComputeSet) -> None:
        with pytest.raises(
            UnknownField,
            match=r"(?s)'Axpy' has no field 'name', which is not a valid .*a: Input\[FLOAT\]"
            r".*name a vertex by its class and number",
        ):
            graph.add_vertex(cs, Axpy, name="first")

    def test_what_is_no_field(self, graph: Graph, cs: ComputeSet, x: Tensor) -> None:
        vertex = graph.add_vertex(cs, Gather)
        for wrong in ("y", vertex, (vertex,), (x, "y")):
            with pytest.raises(
                GraphConnectionError,
                match=r"(?s)^connect: .* is not a field .*connect\(vertex\['x'\]",
            ):
                graph.connect(wrong, x)  # type: ignore[arg-type]
        with pytest.raises(
            TensorIndexError,
            match=("(?s)vertex 0 of 'Gather' .*row 'a' of field 'rows' is not a whole number"),
        ):
            vertex["rows"]["a"]  # type: ignore[index]
        message = "(?s)3 is not the name of a field.*first: State"
        with pytest.raises(ElementTypeError, match=message):
            vertex[3]  # type: ignore[index]


class TestRules:
    def test_doubled_edges(self, graph: Graph, cs: ComputeSet, x: Tensor) -> None:
        vertex = graph.add_vertex(cs, Axpy, x=x)
        with pytest.raises(
            GraphConnectionError,
            match="vertex 0 of 'Axpy' on no tile: field 'x' is already connected",
        ):
            graph.connect(vertex["x"], x)

    def test_another_element_type(self, graph: Graph, cs: ComputeSet) -> None:
        counts = graph.add_variable(INT, (4,), "counts")
        with pytest.raises(
            ElementTypeError,
            match=r"(?s)vertex 0 of 'Axpy' on tile 1: field 'x' needs FLOAT, but 'counts' is INT"
            r".*declared x: Input\[Vector\[FLOAT\]\].*try: pass FLOAT elements",
        ):
            graph.add_vertex(cs, Axpy, tile=1, x=counts)

    def test_a_scalar_edge_takes_one_element_of_any_rank(
        self, graph: Graph, cs: ComputeSet, x: Tensor
    ) -> None:
        graph.add_vertex(cs, Axpy, a=x[0:1])
        graph.add_vertex(cs, Axpy, a=x[0].expand([0, 0]))
        with pytest.raises(
            GraphConnectionError,
            match=r"(?s)field 'a' needs exactly 1 element, but 'x.*' has rank 1 and 2 elements"
            r".*connected float32\[2\]",
        ):
            graph.add_vertex(cs, Axpy, a=x[0:2])

    @pytest.mark.parametrize("value", ["1", [1.0], None])
    def test_what_is_neither_number_nor_tensor(
        self, graph: Graph, cs: ComputeSet, value: object
    ) -> None:
        with pytest.raises(
            ElementTypeError,
            match=r"(?s)field 'a' is given .*, not a tensor.*a plain number, or a tensor with one",
        ):
            graph.add_vertex(cs, Axpy, a=value)

    def test_a_vector_edge_takes_rank_1(self, graph: Graph, cs: ComputeSet, x: Tensor) -> None:
        with pytest.raises(
            GraphConnectionError,
            match=r"(?s)field 'x' needs rank 1, but 'x' has rank 2 and 8 elements.*flatten",
        ):
            graph.add_vertex(cs, Axpy, x=x.reshape((2, 4)))
        with pytest.raises(GraphConnectionError, match="needs rank 1, but 'x.*' has rank 0 and 1"):
            graph.add_vertex(cs, Axpy, x=x[0])
        graph.add_vertex(cs, Axpy, x=x[0:0])

    def test_lists_are_no_vectors(self, graph: Graph, cs: ComputeSet, x: Tensor) -> None:
        with pytest.raises(ElementTypeError, match="field 'x' is given a list, not a tensor"):
            graph.add_vertex(cs, Axpy, x=[x, x])
        with pytest.raises(
            ElementTypeError, match="(?s)field 'x' is given a ndarray.*graph.add_constant"
        ):
            graph.add_vertex(cs, Axpy, x=np.zeros(3))

    def test_tensors_of_another_graph(self, graph: Graph, cs: ComputeSet) -> None:
        foreign = Graph().add_variable(FLOAT, (4,), "foreign")
        with pytest.raises(
            GraphConnectionError, match="field 'x': 'foreign' belongs to another graph"
        ):
            graph.add_vertex(cs, Axpy, x=foreign)

    def test_constants_are_read_only(self, graph: Graph, cs: ComputeSet, x: Tensor) -> None:
        constant = graph.add_constant(FLOAT, (4,), 1, "ones")
        graph.add_vertex(cs, Axpy, x=constant)
        with pytest.raises(
            GraphConnectionError,
            match="(?s)field 'y' writes 'ones', which is constant.*'ones' is a constant.*and Copy",
        ):
            graph.add_vertex(cs, Axpy, y=constant)
        with pytest.raises(GraphConnectionError, match="field 'y' writes .*, which is constant"):
            graph.add_vertex(cs, Axpy, y=concat([x, constant]))

    def test_aliased_views_are_read_only(self, graph: Graph, cs: ComputeSet, x: Tensor) -> None:
        aliased = concat([x, x])
        graph.add_vertex(cs, Axpy, x=aliased)
        with pytest.raises(
            GraphConnectionError,
            match=r"(?s)field 'y' writes 'x', which contains some .*elements 'x'\[0:8\] occur more",
        ):
            graph.add_vertex(cs, Axpy, y=aliased)

    def test_a_vertex_may_read_what_it_writes(
        self, graph: Graph, cs: ComputeSet, x: Tensor
    ) -> None:
        graph.add_vertex(cs, Axpy, a=x[0], x=x, y=x)

    def test_two_outputs_may_not_overlap(self, graph: Graph, cs: ComputeSet, x: Tensor) -> None:
        with pytest.raises(
            GraphConnectionError,
            match=r"(?s)fields 'rows\[1\]' and 'last' both write elements of 'x'"
            r".*both contain 'x'\[5\]",
        ):
            graph.add_vertex(cs, Scatter, rows=[x[:4], x[4:6]], last=x[5])
        with pytest.raises(
            GraphConnectionError, match=r"fields 'rows\[0\]' and 'rows\[2\]' both write"
        ):
            graph.add_vertex(cs, Scatter, rows=[x[:4], x[6:], x[3:5]])
        vertex = graph.add_vertex(cs, Scatter, rows=x.reshape((2, 4)))
        with pytest.raises(GraphConnectionError, match="fields 'rows' and 'last' both write"):
            graph.connect(vertex["last"], x[7])


class TestLists:
    def test_a_list_or_the_rows_of_a_matrix(self, graph: Graph, cs: ComputeSet, x: Tensor) -> None:
        vertex = graph.add_vertex(cs, Gather, rows=[x[:1], x[1:4], x[0:0]])
        assert vertex.connections["rows"] == (x[:1], x[1:4], x[0:0])
        matrix = x.reshape((2, 4))
        assert graph.add_vertex(cs, Gather, rows=matrix).connections["rows"] == matrix
        assert graph.add_vertex(cs, Gather, rows=[]).connections["rows"] == ()

    @pytest.mark.parametrize(
        ("shape", "remedy"),
        [
            ((8,), "t.reshape((1, 8)) for a list of one edge"),
            ((), "t.reshape((1, 1)) for a list of one edge"),
            ((2, 3, 4), "t.reshape((6, 4)) for a list of 6 edges"),
            ((2, 0, 2, 4), "t.reshape((0, 4)) for a list of 0 edges"),
        ],
    )
    def test_a_remedy_for_another_rank_works(
        self, graph: Graph, cs: ComputeSet, shape: tuple[int, ...], remedy: str
    ) -> None:
        t = graph.add_variable(FLOAT, shape, "t")
        with pytest.raises(GraphConnectionError, match="needs rank 2, or a list") as caught:
            graph.add_vertex(cs, Gather, rows=t)
        assert caught.value.fix == remedy
        rows = eval(remedy.split(" for ")[0], {"t": t})
        assert graph.add_vertex(cs, Gather, rows=rows).connections["rows"] == rows

    def test_rows_of_a_list_have_rank_1(self, graph: Graph, cs: ComputeSet, x: Tensor) -> None:
        with pytest.raises(GraphConnectionError, match="field 'rows' needs rank 1, but 'x.*rank 0"):
            graph.add_vertex(cs, Gather, rows=[x[0]])
        with pytest.raises(GraphConnectionError, match="needs rank 2, or a list of tensors"):
            graph.add_vertex(cs, Gather, rows=x)
        with pytest.raises(ElementTypeError, match="field 'rows' is given 1.5, not a tensor"):
            graph.add_vertex(cs, Gather, rows=[x, 1.5])
        with pytest.raises(
            ElementTypeError, match=r"(?s)'rows' is given a generator, not a .*rows=list\("
        ):
            graph.add_vertex(cs, Gather, rows=(x[i:] for i in range(3)))

    def test_rows_one_by_one_in_any_order(self, graph: Graph, cs: ComputeSet, x: Tensor) -> None:
        vertex = graph.add_vertex(cs, Gather)
        graph.connect(vertex["rows"][1], x[1:4])
        assert "rows" not in vertex.connections
        graph.connect(vertex["rows"][0], x[:1])
        assert len(vertex.connections["rows"]) == 2
        graph.connect(vertex["rows"][2], x)
        assert vertex.connections["rows"] == (x[:1], x[1:4], x)
        with pytest.raises(GraphConnectionError, match=r"field 'rows\[1\]' is already connected"):
            graph.connect(vertex["rows"][1], x)
        with pytest.raises(GraphConnectionError, match="field 'rows' is already connected"):
            graph.connect(vertex["rows"], [x])

    def test_a_row_of_a_list_connected_as_a_whole(
        self, graph: Graph, cs: ComputeSet, x: Tensor
    ) -> None:
        vertex = graph.add_vertex(cs, Gather, rows=[x])
        with pytest.raises(GraphConnectionError, match=r"field 'rows\[1\]' is already connected"):
            graph.connect(vertex["rows"][1], x)

    def test_written_rows_may_not_overlap(self, graph: Graph, cs: ComputeSet, x: Tensor) -> None:
        vertex = graph.add_vertex(cs, Scatter)
        graph.connect(vertex["rows"][0], x[:4])
        with pytest.raises(GraphConnectionError, match=r"'rows\[0\]' and 'rows\[1\]' both write"):
            graph.connect(vertex["rows"][1], x[3:])
        assert vertex.connections["rows"] == (x[:4],)

    def test_field_references(self, graph: Graph, cs: ComputeSet) -> None:
        vertex = graph.add_vertex(cs, Gather)
        row = vertex["rows"][2]
        assert (row.is_indexed, row.isIndexed(), row.index, row.getIndex()) == (True, True, 2, 2)
        assert not vertex["rows"].is_indexed
        assert repr(row) == "<FieldRef 'rows'[2] of vertex 0 of 'Gather' on no tile>"
        with pytest.raises(TensorIndexError, match="field 'out' is not a list of edges"):
            vertex["out"][0]
        with pytest.raises(TensorIndexError, match="field 'rows' is not a list of edges"):
            row[0]
        with pytest.raises(TensorIndexError, match="field 'rows' has no row -1"):
            vertex["rows"][-1]


class TestNumbers:
    def test_a_number_becomes_a_constant_on_the_tile_of_the_vertex(
        self, graph: Graph, cs: ComputeSet
    ) -> None:
        vertex = graph.add_vertex(cs, Axpy, tile=3, a=0.5)
        constant = vertex.connections["a"]
        assert isinstance(constant, Tensor)
        assert constant.contains_constant()
        assert constant.shape == ()
        assert graph.tile_mapping(constant)[3] == [(0, 1)]
        assert graph.variables[0].initial_value == np.float32(0.5)

    def test_it_follows_the_vertex(self, graph: Graph, cs: ComputeSet) -> None:
        vertex = graph.add_vertex(cs, Axpy)
        graph.connect(vertex["a"], np.float64(2))
        assert not graph.variables[0].mapping.is_complete
        for tile in (1, 2):
            graph.set_tile_mapping(vertex, tile)
            assert graph.variables[0].mapping.tiles_used().tolist() == [tile]

    def test_only_for_a_scalar_input(self, graph: Graph, cs: ComputeSet) -> None:
        with pytest.raises(
            ElementTypeError, match=r"(?s)field 'y' is given 1.0, not a tensor.*FLOAT, \(n,\), map"
        ):
            graph.add_vertex(cs, Axpy, y=1.0)
        with pytest.raises(
            ElementTypeError, match=r"(?s)field 'x' is given 2, .*add_constant\(FLOAT, \(n,\), 2,"
        ):
            graph.add_vertex(cs, Axpy, x=2)
        with pytest.raises(
            ElementTypeError, match="(?s)field 'last' is given 1, not .*graph.add_variable"
        ):
            graph.add_vertex(cs, Scatter, last=1)

    def test_it_must_fit(self, graph: Graph, cs: ComputeSet) -> None:
        with pytest.raises(SizeOverflowError, match="field 'a': 1e\\+39 does not fit FLOAT"):
            graph.add_vertex(cs, Axpy, a=1e39)


class TestState:
    def vertex(self, graph: Graph, cs: ComputeSet, **fields: Any) -> VertexInstance:
        return graph.add_vertex(cs, Gather, **fields)

    def test_numbers_and_vectors(self, graph: Graph, cs: ComputeSet) -> None:
        host = np.array([1, 2])
        vertex = self.vertex(graph, cs, first=3, weights=host)
        host[0] = 9
        assert vertex.state["first"] == 3
        weights = vertex.state["weights"]
        assert isinstance(weights, np.ndarray)
        assert weights.tolist() == [1, 2]
        assert weights.dtype == np.float32
        assert not weights.flags.writeable

    def test_set_later_and_again(self, graph: Graph, cs: ComputeSet) -> None:
        vertex = self.vertex(graph, cs)
        graph.set_initial_value(vertex["first"], 3)
        graph.set_initial_value(vertex["first"], 4)
        assert vertex.state == {"first": 4}

    def test_values_that_do_not_fit(self, graph: Graph, cs: ComputeSet) -> None:
        with pytest.raises(SizeOverflowError, match="field 'first': 2147483648 does not fit INT"):
            self.vertex(graph, cs, first=2**31)
        with pytest.raises(ElementTypeError, match="field 'first': 0.5 cannot be stored as INT"):
            self.vertex(graph, cs, first=0.5)
        with pytest.raises(GraphConnectionError, match="needs values of rank 1, .* rank 2"):
            self.vertex(graph, cs, weights=[[1.0]])
        with pytest.raises(GraphConnectionError, match="needs values of rank 1, .* rank 0"):
            self.vertex(graph, cs, weights=1.0)

    def test_edges_and_state_are_not_confused(
        self, graph: Graph, cs: ComputeSet, x: Tensor
    ) -> None:
        with pytest.raises(ElementTypeError, match="'weights' is state, but was given tensor 'x'"):
            self.vertex(graph, cs, weights=x)
        vertex = self.vertex(graph, cs)
        with pytest.raises(
            GraphConnectionError,
            match="(?s)field 'first' is state, not an edge.*set_initial_value",
        ):
            graph.connect(vertex["first"], x[0])
        with pytest.raises(GraphConnectionError, match="(?s)field 'out' is an edge.*graph.connect"):
            graph.set_initial_value(vertex["out"], 1)
