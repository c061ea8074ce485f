"""What the C++ spelling of the graph's members refuses, and tensors as text."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

import poplite as pl


@pytest.fixture
def graph() -> pl.Graph:
    return pl.Graph(pl.Target(tiles=4))


def test_options_of_streams_are_poplars(graph: pl.Graph) -> None:
    with pytest.raises(pl.InvalidOption, match=r"'bufferingDept' \(did you mean 'bufferingDepth'"):
        graph.addHostToDeviceFIFO("s", pl.INT, 4, {"bufferingDept": "2"})
    with pytest.raises(pl.InvalidOption, match="bufferingDepth is 'two', not a whole number"):
        graph.addHostToDeviceFIFO("s", pl.INT, 4, {"bufferingDepth": "two"})
    with pytest.raises(pl.InvalidOption, match="bufferingDepth is '-1', not a whole number from 0"):
        graph.addHostToDeviceFIFO("s", pl.INT, 4, {"bufferingDepth": "-1"}, buffering_depth=2)
    with pytest.raises(pl.InvalidOption, match="options .* and "):
        graph.addHostToDeviceFIFO("s", pl.INT, 4, {"bufferingDepth": "2"}, {"splitLimit": "1"})
    with pytest.raises(pl.InvalidOption, match="options 3 are not a dictionary"):
        graph.addDeviceToHostFIFO("s", pl.INT, 4, 3)  # type: ignore[arg-type]
    with pytest.raises(pl.InvalidOption, match="'depth'"):
        graph.addDeviceToHostFIFO("s", pl.INT, 4, {"depth": "2"})


def test_bits_of_halves_are_16_bits(graph: pl.Graph) -> None:
    assert graph.addConstantHalf(pl.HALF, [0], []).shape == (0,)
    with pytest.raises(pl.ElementTypeError, match="a constant of FLOAT"):
        graph.addConstantHalf(pl.FLOAT, [1], [0])
    ragged: list[Any] = [[1], [2, 3]]
    for wrong in ([1.5], [1 << 16], [-1], ragged):
        with pytest.raises(pl.TensorCreationError, match="are not the bits of HALF"):
            graph.addConstantHalf(pl.HALF, [1], wrong)


def test_variables_and_ways_to_map_a_buffer_are_checked(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.INT, (2,), "x", mapping=0)
    for call in (graph.getVariable, graph.isConstant):
        with pytest.raises(pl.ElementTypeError, match="is not a variable"):
            call(x)  # type: ignore[arg-type]
    function = graph.add_function(pl.WriteUndef(x))
    with pytest.raises(pl.ElementTypeError, match="3 is not in FunctionBufferMappingType"):
        graph.addFunctionBuffer(function, 3)  # type: ignore[arg-type]


def test_connections_are_a_dictionary(graph: pl.Graph) -> None:
    class Idle(pl.Vertex):
        x: pl.Input[pl.INT]

        def compute(self) -> None:
            pass

    cs, x = graph.add_compute_set("cs"), graph.add_variable(pl.INT, (), "x")
    for wrong, match in (
        (3, "connections 3 are neither a dictionary"),
        ({1: x}, "1 is not the name of a field"),
        ([("x", x, x)], "are neither a dictionary"),
    ):
        with pytest.raises(pl.ElementTypeError, match=match):
            graph.addVertex(cs, Idle, wrong)  # type: ignore[arg-type]
    with pytest.raises(pl.UnknownField, match="'tile', which no vertex has"):
        graph.addVertex(cs, Idle, {"tile": x})
    with pytest.raises(pl.GraphConnectionError, match=r"field 'x'.*twice"):
        graph.addVertex(cs, Idle, [("x", x), ("x", 3)])
    with pytest.raises(pl.GraphConnectionError, match=r"field 'x'.*twice(?s:.*)to 4 and to 3"):
        graph.addVertex(cs, Idle, {"x": 4}, x=3)
    assert not cs.vertices


def test_a_class_can_be_named_where_no_other_has_its_name(graph: pl.Graph) -> None:
    class OnlyHere(pl.Vertex):
        x: pl.Input[pl.Vector[pl.INT]]

        def compute(self) -> None:
            pass

    vertex = graph.addVertex(graph.add_compute_set("cs"), "OnlyHere", tile=1)
    assert vertex.vertex_class is OnlyHere
    assert graph.hasCodelet("OnlyHere")
    assert graph.getMaxFieldDim("OnlyHere", "x", 0) == graph.max_field_dim(OnlyHere, "x")
    graph.registerPerfEstimator("OnlyHere", lambda vertex, target: 7)
    estimate = graph.getPerfEstimate(vertex)
    assert estimate is not None
    assert estimate.cycles == 7
    with pytest.raises(pl.UnknownVertexType, match="0 vertex classes called 'Nowhere'"):
        graph.addVertex(graph.add_compute_set("cs"), "Nowhere")
    same = type("OnlyHere", (OnlyHere,), {})
    with pytest.raises(pl.UnknownVertexType, match="2 vertex classes called 'OnlyHere'"):
        graph.addVertex(graph.add_compute_set("cs"), "OnlyHere")
    assert same.__name__ == "OnlyHere"


def test_streams_of_a_remote_buffer_are_not_copied(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.INT, (4,), "x", mapping=0)
    buffer = graph.add_remote_buffer("table", pl.INT, 4)
    with pytest.raises(pl.ControlProgramError, match="a part of remote buffer 'table'"):
        pl.Copy(buffer.getHostToIpuStream(), x)


def test_tensors_are_read_by_another_graph_with_the_same_variables(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.INT, (2, 3), "x")
    y = graph.add_variable(pl.INT, (2,), "y")
    views = [x.T, pl.concat([y, x[1, ::2]]), x.reinterpret(pl.FLOAT), y[0]]
    file = io.BytesIO()
    graph.serialize_tensors(file, views, pl.SerializationFormat.BINARY)
    other = pl.Graph()
    x = other.add_variable(pl.INT, (2, 3), "x")
    y = other.add_variable(pl.INT, (2,), "y")
    read = other.deserialize_tensors(io.BytesIO(file.getvalue()))
    assert read == [x.T, pl.concat([y, x[1, ::2]]), x.reinterpret(pl.FLOAT), y[0]]


def test_tensors_of_mixed_types_and_without_elements_are_read(graph: pl.Graph) -> None:
    x, y = graph.add_variable(pl.INT, (6,), "x"), graph.add_variable(pl.FLOAT, (4,), "y")
    mixed = pl.concat(x[::2].reinterpret(pl.FLOAT), y[1:3])
    columns = graph.add_variable(pl.INT, (300, 300), "columns").T
    views = [mixed, x[3:3], columns, pl.concat(x[4:], x[:2]).reverse(0), x.broadcast(2, 0)]
    file = io.StringIO()
    graph.serialize_tensors(file, views)
    assert graph.deserialize_tensors(io.StringIO(file.getvalue())) == views


def test_tensors_are_written_as_a_list_in_a_known_format(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.INT, (6,), "x")
    with pytest.raises(pl.ElementTypeError, match="is not a list of tensors"):
        graph.serialize_tensors(io.StringIO(), x)  # type: ignore[arg-type]
    with pytest.raises(pl.InvalidOption, match="format: 'json' is not in SerializationFormat"):
        graph.serialize_tensors(io.StringIO(), [x], "json")
    with pytest.raises(pl.InvalidOption, match="format: 3 is not in SerializationFormat"):
        graph.deserialize_tensors(io.StringIO(), 3)  # type: ignore[arg-type]


def test_files_of_another_kind_are_refused(graph: pl.Graph) -> None:
    x = graph.add_variable(pl.INT, (6,), "x", mapping=0)
    executable = pl.compile_graph(graph, pl.WriteUndef(x))
    binary = pl.SerializationFormat.BINARY
    calls: list[Callable[[], object]] = [
        lambda: graph.serialize_tensors(io.BytesIO(), [x]),
        lambda: graph.serialize_tensors(io.StringIO(), [x], binary),
        lambda: graph.serialize_tensors("x.json", [x]),  # type: ignore[arg-type]
        lambda: graph.deserialize_tensors("x.json"),  # type: ignore[arg-type]
        lambda: graph.output_vertex_graph(io.BytesIO()),  # type: ignore[arg-type]
        lambda: pl.dump_program(graph, pl.Program(), io.BytesIO()),  # type: ignore[arg-type]
        lambda: executable.serialize(io.StringIO()),  # type: ignore[arg-type]
        lambda: pl.Executable.deserialize(io.StringIO()),  # type: ignore[arg-type]
    ]
    for call in calls:
        with pytest.raises(pl.ElementTypeError, match=r"is not a file of (text|bytes) to"):
            call()


def test_what_is_drawn_is_a_list_of_programs(graph: pl.Graph) -> None:
    for wrong, match in ((pl.Program(), "are no list"), (3, "are no list"), ([3], "3 is no")):
        with pytest.raises(pl.ControlProgramError, match=match):
            graph.output_vertex_graph(io.StringIO(), wrong)  # type: ignore[arg-type]
    with pytest.raises(pl.ControlProgramError, match="3 is not a program"):
        pl.dump_program(graph, 3, io.StringIO())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"format": "other"}', '{"format": "poplite tensors 1", "tensors": [{}]}'],
)
def test_other_files_are_no_tensors(graph: pl.Graph, text: str) -> None:
    with pytest.raises(pl.FileLoadError, match="the file holds no tensors"):
        graph.deserialize_tensors(io.StringIO(text))


def test_a_variable_that_is_not_there_is_named(graph: pl.Graph) -> None:
    file = io.StringIO()
    graph.serialize_tensors(file, [graph.add_variable(pl.INT, (2,), "weights")])
    with pytest.raises(pl.UnknownName, match="'weights'"):
        pl.Graph().deserialize_tensors(io.StringIO(file.getvalue()))


def test_a_tensor_outside_a_smaller_variable_is_refused(graph: pl.Graph) -> None:
    file = io.StringIO()
    graph.serialize_tensors(file, [graph.add_variable(pl.INT, (4,), "w")])
    other = pl.Graph()
    other.add_variable(pl.INT, (3,), "w")
    with pytest.raises(pl.FileLoadError, match="the file holds no tensors"):
        other.deserialize_tensors(io.StringIO(file.getvalue()))


def test_a_name_of_a_program_is_text(graph: pl.Graph) -> None:
    x, y = (graph.add_variable(pl.INT, (4,), name, mapping=0) for name in "xy")
    name: Any = 3
    makers: list[Callable[[], object]] = [
        lambda: pl.Copy(x, y, False, name),
        lambda: pl.Repeat(2, pl.Program(), name),
        lambda: pl.WriteUndef(x, name),
        lambda: pl.Sequence(pl.Program(), name=name),
        lambda: pl.PrintTensor("t", x, pl.PrintTensorFormat(), name),
    ]
    for make in makers:
        with pytest.raises(pl.ControlProgramError, match="name 3 is not text"):
            make()


def test_programs_are_the_same_when_they_do_the_same(graph: pl.Graph) -> None:
    x, y = (graph.add_variable(pl.INT, (4,), name, mapping=0) for name in "xy")
    flag = graph.add_variable(pl.BOOL, (), "flag", mapping=0)
    row = graph.add_variable(pl.INT, (), "row", mapping=0)

    def program(count: int = 3, case: int = 1, source: pl.Tensor = x) -> pl.Program:
        switch = pl.Switch(row, {case: pl.Copy(y, x), 2: pl.PrintTensor("t", x)})
        body = pl.If(flag, pl.Copy(source, y), switch)
        return pl.Sequence(pl.Repeat(count, body), pl.WriteUndef(y), name=f"{count}")

    assert program().same_as(program())
    assert program() != program()
    assert not program().same_as(program(count=4))
    assert not program().same_as(program(case=3))
    assert not program().same_as(program(source=x[::-1]))
    assert not program().same_as(pl.Sequence(program()))
    assert pl.Block(program(), "a").same_as(pl.Block(program(), "a"))
    assert not pl.Block(program(), "a").same_as(pl.Block(program(), "b"))
    one, other_order = pl.Copy(x, y), [(2, pl.Copy(y, x)), (1, pl.Copy(x, y))]
    assert pl.Switch(row, {1: one, 2: pl.Copy(y, x)}).same_as(pl.Switch(row, other_order))
    mapped = [pl.Switch(row, {n: pl.Copy(x, y) for n in range(200)}) for _ in range(2)]
    assert mapped[0].same_as(mapped[1])
    assert not mapped[0].same_as(pl.Switch(row, {n: pl.Copy(y, x) for n in range(200)}))
    shared: pl.Program = pl.Copy(x, y)
    other: pl.Program = pl.Copy(x, y)
    for _ in range(60):  # 2 ** 60 paths
        shared, other = pl.Sequence(shared, shared), pl.Sequence(other, other)
    assert shared.same_as(other)
