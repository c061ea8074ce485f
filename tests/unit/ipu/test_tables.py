"""Tables: sizes, equal bytes, places of data, and what is refused with its line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poplite as pl
from poplite.arrays.series import Listed, Steps, compact
from poplite.ipu.tables import Tables, columns, tables_of
from poplite.ipu.tables.columns import SeriesTable


class Axpy(pl.Vertex):
    factor: pl.State[pl.FLOAT]
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] += self.factor * self.x[i]


class Quarters(pl.Vertex):
    x: pl.InOut[pl.QUARTER]

    def compute(self) -> None:
        self.x = 1.0


def regular(count: int) -> Tables:
    graph = pl.Graph(pl.Target(tiles=64))
    x, y = (graph.add_variable(pl.FLOAT, (count, 4), name, mapping="linear") for name in "xy")
    work = graph.add_compute_set("axpy")
    tile = np.arange(count) * 64 // count
    graph.add_vertices(work, Axpy, tile=tile, x=x, y=y, factor=2.0)
    return tables_of(graph, pl.Execute(work))


def irregular(count: int, seed: int = 0) -> Tables:
    rng = np.random.default_rng(seed)
    graph = pl.Graph(pl.Target(tiles=1472))
    x, y = (graph.add_variable(pl.FLOAT, (4 * count,), name, mapping="linear") for name in "xy")
    work = graph.add_compute_set("axpy")
    begins, tiles = 4 * rng.permutation(count), rng.integers(1472, size=count)
    lengths = rng.integers(1, 5, count)
    for k in range(count):
        parts = (slice(begin, begin + lengths[k]) for begin in (begins[k], 4 * k))
        fields = dict(zip("xy", (x[next(parts)], y[next(parts)]), strict=True))
        graph.add_vertex(work, Axpy, tile=int(tiles[k]), factor=float(rng.random()), **fields)
    return tables_of(graph, pl.Execute(work))


def test_regular_vertices_take_no_room() -> None:
    assert len(regular(100_000).data) <= 2 * len(regular(100).data)


def test_irregular_vertices_take_few_bytes() -> None:
    few, many = irregular(100), irregular(600)
    assert (len(many.data) - len(few.data)) / 500 <= 24


def test_equal_graphs_give_equal_bytes() -> None:
    assert irregular(50).data == irregular(50).data
    assert irregular(50).data != irregular(50, seed=1).data


@pytest.mark.parametrize(
    ("low", "high", "kind"),
    [(0, 255, "u1"), (-1, 127, "i1"), (0, 256, "u2"), (-129, 0, "i2"), (0, 2**31, "u4")]
    + [(-1, 2**31, "i8"), (0, 2**62, "u8")],
)
def test_columns_have_the_smallest_type(low: int, high: int, kind: str) -> None:
    found = columns.read(columns.file_of({"numbers": [low, high], "none": []}))
    assert found["numbers"].dtype == np.dtype(f"<{kind}")
    assert found["numbers"].tolist() == [low, high]
    assert found["none"].tolist() == []


def test_columns_begin_at_cache_lines() -> None:
    data = columns.file_of({"a": [1], "b.bytes": b"xyz", "c": [2] * 70})
    for begin in (64, 128, 192):
        assert int.from_bytes(data[begin + 48 : begin + 56], "little") % 64 == 0
    assert len(data) % 64 == 0


@pytest.mark.parametrize("data", [b"", b"poplite\0", b"x" * 64])
def test_other_files_are_refused(data: bytes) -> None:
    with pytest.raises(pl.FileLoadError, match="no file of tables"):
        columns.read(data)


def test_another_version_is_refused() -> None:
    data = bytearray(columns.file_of({}))
    data[8] = 9
    with pytest.raises(pl.FileLoadError, match="version 9, but 2"):
        columns.read(bytes(data))


def value_at(found: dict[str, Any], number: int, index: int) -> int:
    """Return a number of a series as the host program finds it."""
    first, which = int(found["series.first"][number]), int(found["series.list"][number])
    if which >= 0:
        begin, width = int(found["list.begin"][which]), int(found["list.width"][which])
        data = np.asarray(found["list.bytes"])[begin + index * width :][:width].tobytes()
        return first + int.from_bytes(data, "little")
    ends = [0, *found["series.digits_end"]]
    for k in reversed(range(ends[number], ends[number + 1])):
        index, digit = divmod(index, int(found["digit.extent"][k]))
        first += digit * int(found["digit.stride"][k])
    return first


@pytest.mark.parametrize(
    "series",
    [
        Steps(5, ((10, 3),)),
        Steps(-5, ((2, 100), (1, 7), (3, -4))),
        Steps(9, ((4, 0),)),
        compact(np.array([5, 1, 400, -3])),
        compact(np.array([0, 2**40, 5])),
        Listed(1000, np.array([7, 3, 70000], np.uint32)),
    ],
)
def test_series_are_found_number_by_number(series: Steps | Listed) -> None:
    table = SeriesTable()
    table.listed([3, 3, 4])  # another one before it
    number = table.add(series)
    found = columns.read(columns.file_of(table.columns()))
    made = [value_at(found, number, index) for index in range(series.count)]
    assert made == series.array().tolist()


def test_places_lie_apart_and_handles_at_the_beginning() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (3, 30), "x", mapping=0)
    constant = graph.add_constant(pl.FLOAT, (), 1, "one", mapping=0)
    flags = graph.add_variable(pl.BOOL, (5,), "flags", mapping=1)
    graph.create_host_read("corner", x[:1, :2])
    into = graph.add_host_to_device_fifo("in", pl.FLOAT, 90)
    graph.add_host_to_device_fifo("unused", pl.FLOAT, 90)
    graph.add_device_to_host_fifo("print:0", pl.BOOL, 5)  # the name of what is printed first
    program = pl.Sequence(pl.Copy(into, x), pl.PrintTensor(x), pl.PrintTensor("again", flags))
    tables = tables_of(graph, {"main": program, "other": program})
    assert set(tables.reads) == {"variable:x", "variable:flags", "handle:corner"}
    assert set(tables.writes) == {"variable:x", "variable:flags"}
    assert {place.offset for place in tables.reads.values()} == {0}
    assert constant.name not in str(tables.writes)
    assert list(tables.streams) == ["in", "print:1", "print:2"]
    assert [each.offset for each in tables.streams.values()] == [384, 768, 1152]
    assert tables.mapping_bytes == 1216
    assert [each.title for each in tables.prints.values()] == ["x", "again"]
    assert (tables.streams["in"].is_input, tables.streams["print:1"].is_input) == (True, False)


def test_temporaries_of_operations_are_not_for_the_host() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.FLOAT, (1000,), "x", mapping="linear", initial_value=1)
    with graph.steps("work") as work:
        pl.ops.map(pl.ops.sum(x), name="total")
    tables = tables_of(graph, work)
    assert set(tables.reads) == {"variable:x", "variable:total"}
    assert len(graph.variables) > 2


def refused(graph: pl.Graph, program: pl.Program) -> str:
    with pytest.raises(pl.ExportError) as caught:
        tables_of(graph, program)
    assert isinstance(caught.value, NotImplementedError)
    return str(caught.value)


def test_replicas_and_several_ipus_are_refused() -> None:
    graph = pl.Graph(pl.Target(tiles=4, ipus=2), replication_factor=2)
    a, b = (graph.add_variable(pl.FLOAT, (2,), name, mapping=0) for name in "ab")
    text = refused(graph, pl.CrossReplicaCopy(a, b, {0: 1, 1: 0}))
    assert "2 parts of this graph" in text
    assert "the graph has 2 replicas\n" in text
    assert "CrossReplicaCopy 'a' -> 'b': replicas (" in text
    graph = pl.Graph(pl.Target(tiles=4, ipus=2))
    assert "the graph has 2 IPUs" in refused(graph, pl.Sequence())


def test_what_a_device_is_not_given_is_refused_with_its_lines() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (2,), "x", mapping=0)
    table = graph.add_remote_buffer("table", pl.FLOAT, 2)
    sequence = pl.Sequence(pl.Copy(table, x), pl.Copy(x, table))
    text = refused(graph, sequence)
    assert "2 parts of this graph" in text
    for what in (
        "Copy 'table' -> 'x': remote buffers",
        "Copy 'x' -> 'table': remote buffers",
    ):
        assert what in text
    assert text.count("test_tables.py:") == 3  # the first one is also that of the error


@pytest.mark.parametrize("kind", ["variable", "stream", "program", "host read", "host function"])
def test_names_of_several_lines_are_refused(kind: str) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    name = "two\nlines"
    x = graph.add_variable(pl.FLOAT, (2,), name if kind == "variable" else "x", mapping=0)
    if kind == "stream":
        graph.add_host_to_device_fifo(name, pl.FLOAT, 2)
    if kind == "host function":
        graph.add_host_function(name, [], [(pl.FLOAT, 2)])
    if kind == "host read":
        graph.create_host_read(name, x)
    programs = {name if kind == "program" else "main": pl.Sequence()}
    with pytest.raises(pl.ExportError, match=f"the name of {kind} 'two.*lines' is more than"):
        tables_of(graph, programs)


def test_arithmetic_on_quarters_is_refused_by_the_class() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    metadata = pl.QuarterMetadata("F143")
    x = graph.add_variable(pl.QUARTER, (), "x", mapping=0, metadata=metadata)
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Quarters, tile=0, x=x)
    with pytest.raises(pl.VertexCompileError, match="cannot compute with QUARTER yet"):
        tables_of(graph, pl.Execute(work))
