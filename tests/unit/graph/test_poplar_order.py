"""What the C++ spelling of the graph's members refuses, and tensors as text."""

from __future__ import annotations

import io

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
    with pytest.raises(pl.InvalidOption, match="'depth'"):
        graph.addDeviceToHostFIFO("s", pl.INT, 4, {"depth": "2"})


def test_bits_of_halves_are_16_bits(graph: pl.Graph) -> None:
    for wrong in ([1.5], [1 << 16], [-1]):
        with pytest.raises(pl.TensorCreationError, match="are not the bits of HALF"):
            graph.addConstantHalf(pl.HALF, [1], wrong)


def test_connections_are_a_dictionary(graph: pl.Graph) -> None:
    class Idle(pl.Vertex):
        x: pl.Input[pl.INT]

        def compute(self) -> None:
            pass

    with pytest.raises(pl.ElementTypeError, match="connections 3 are no dictionary"):
        graph.addVertex(graph.add_compute_set("cs"), Idle, 3)  # type: ignore[arg-type]


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
    shared: pl.Program = pl.Copy(x, y)
    other: pl.Program = pl.Copy(x, y)
    for _ in range(60):  # 2 ** 60 paths
        shared, other = pl.Sequence(shared, shared), pl.Sequence(other, other)
    assert shared.same_as(other)
