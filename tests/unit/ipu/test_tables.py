"""Tables: sizes, equal bytes, places of data, what is refused, and other numbers in them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from random import Random
from struct import unpack_from
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import thinned
from helpers.host_program import host_binary, library_of, read_columns
from poplite.arrays.series import Listed, Steps, compact
from poplite.ipu.table_columns import SeriesTable, file_of, with_checksum
from poplite.ipu.tables import Tables, tables_of


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
    found = read_columns(file_of({"numbers": [low, high], "none": []}))
    assert found["numbers"].dtype == np.dtype(f"<{kind}")
    assert found["numbers"].tolist() == [low, high]
    assert found["none"].tolist() == []


def test_columns_begin_at_cache_lines() -> None:
    data = file_of({"a": [1], "b.bytes": b"xyz", "c": [2] * 70})
    for begin in (64, 128, 192):
        assert int.from_bytes(data[begin + 48 : begin + 56], "little") % 64 == 0
    assert len(data) % 64 == 0


@pytest.mark.parametrize("data", [b"", b"poplite\0", b"x" * 64])
def test_other_files_are_refused(data: bytes) -> None:
    with pytest.raises(pl.FileLoadError, match="no file of tables"):
        read_columns(data)


def test_another_version_is_refused() -> None:
    data = bytearray(file_of({}))
    data[8] = 9
    with pytest.raises(pl.FileLoadError, match="version 9, but 2"):
        read_columns(bytes(data))


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
    found = read_columns(file_of(table.columns()))
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
    assert "2 features of this graph" in text
    assert "the graph has 2 replicas\n" in text
    assert "CrossReplicaCopy 'a' -> 'b' uses replicas (" in text
    graph = pl.Graph(pl.Target(tiles=4, ipus=2))
    assert "the graph has 2 IPUs" in refused(graph, pl.Sequence())


def test_what_a_device_is_not_given_is_refused_with_its_lines() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (2,), "x", mapping=0)
    table = graph.add_remote_buffer("table", pl.FLOAT, 2)
    sequence = pl.Sequence(pl.Copy(table, x), pl.Copy(x, table))
    text = refused(graph, sequence)
    assert "2 features of this graph" in text
    for what in (
        "Copy 'table' -> 'x' uses remote buffers",
        "Copy 'x' -> 'table' uses remote buffers",
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
    with pytest.raises(pl.ExportError, match=f"the name of {kind} 'two.*lines' must be printable"):
        tables_of(graph, programs)


def test_arithmetic_on_quarters_is_refused_by_the_class() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    metadata = pl.QuarterMetadata("F143")
    x = graph.add_variable(pl.QUARTER, (), "x", mapping=0, metadata=metadata)
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Quarters, tile=0, x=x)
    with pytest.raises(pl.VertexCompileError, match="cannot compute with QUARTER yet"):
        tables_of(graph, pl.Execute(work))


# -- damaged tables --------------------------------------------------------------------------------
#
# The host program and tables with other numbers: it refuses them, or does what they say.


NUMBERS = (0, 1, -1, 2, 7, 64, 1 << 12, 1 << 31, 1 << 40, -(1 << 31), 1 << 62, (1 << 63) - 1)


class Sum(pl.Vertex):
    """Adds rows."""

    rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    weights: pl.State[pl.Vector[pl.INT]]
    scale: pl.State[pl.INT]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        """Add."""
        total = 0.0
        for row in range(len(self.rows)):
            for i in range(len(self.rows[row])):
                total += self.rows[row][i] * self.weights[row]
        self.y = total * self.scale


@pytest.fixture(scope="module")
def tables() -> Tables:
    """Tables with every kind of column."""
    graph = pl.Graph(pl.Target(tiles=8))
    x = graph.add_variable(pl.FLOAT, (8, 6), "x", mapping="linear", initial_value=1)
    y = graph.add_variable(pl.FLOAT, (8,), "y", mapping=[[(0, 3)], [(5, 8)], [(3, 5)]])
    n = graph.add_variable(pl.INT, (), "n", mapping=1, initial_value=1)
    c = graph.add_constant(pl.FLOAT, (6,), np.arange(6), "c", mapping=2)
    cs = graph.add_compute_set("sum")
    rows = [x[k : k + 2, ::2] for k in range(6)]
    graph.add_vertices(
        cs, Sum, tile=np.arange(6), rows=rows, weights=np.ones((6, 2), int), scale=2, y=y[:6]
    )
    apart = graph.add_vertex(cs, Sum, tile=7, rows=[x.T[1, :4], c], weights=[1, 2], scale=3, y=y[7])
    graph.set_perf_estimate(apart, 12)
    fifo = graph.add_host_to_device_fifo("in", pl.FLOAT, 6)
    out = graph.add_device_to_host_fifo("out", pl.FLOAT, 8)
    sort = graph.add_host_function("sort", [(pl.FLOAT, 8)], [(pl.FLOAT, 8)])
    graph.create_host_read("columns", x.T[:2].flatten())
    graph.create_host_write("some", y.reverse(0)[:4])
    twice = graph.add_function(pl.Repeat(2, pl.Execute(cs)))
    main = pl.Sequence(
        pl.Copy(fifo, x[3]),
        pl.Call(twice),
        pl.Copy(x[:, 0].reverse(0), y),
        pl.Switch(n, {1: pl.Execute(cs), 3: pl.Call(twice)}),
        pl.Call(sort, [y], [y]),
        pl.Copy(y, out),
        pl.PrintTensor("n", n),
    )
    return tables_of(graph, {"main": main, "back": pl.Copy(c.broadcast(8, 0), x.flatten())})


@pytest.fixture(scope="module")
def built(tables: Tables, host_cache: Path) -> tuple[Path, Path]:
    """The host program, and the library of the codelets."""
    return host_binary(host_cache), library_of(tables, host_cache)


def outcome(tables: Tables, data: bytes, built: tuple[Path, Path], folder: Path) -> tuple[int, str]:
    """Return how the host program ends with a file, after some commands, and its words."""
    (folder / "tables.bin").write_bytes(data)
    (folder / "mapping").write_bytes(bytes(tables.mapping_bytes))
    commands = "".join(
        f"{line}\n"
        for line in ("start", "read handle:columns", "write handle:some", "read variable:x", "quit")
    )
    (folder / "commands").write_text(commands)
    words = [
        *(built[0], folder / "tables.bin", built[1]),
        *(folder / "mapping", "--device", "hardware"),
    ]
    replies, made = folder / "replies", os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    with (folder / "commands").open() as given, replies.open("wb") as answers:
        process = os.posix_spawn(
            built[0],
            [*map(str, words)],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, given.fileno(), 3),
                (os.POSIX_SPAWN_DUP2, answers.fileno(), 4),
                (os.POSIX_SPAWN_OPEN, 2, str(folder / "errors"), made, 0o600),
            ],
        )
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    texts = [each.read_text(errors="replace") for each in (folder / "errors", replies)]
    return status, "".join(texts)


def changed(data: bytes, random: Random) -> bytes:
    """Return tables in which some numbers are others, with the checksum of these."""
    content = bytearray(data)
    (count,) = unpack_from("<Q", content, 16)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        if random.random() < 0.1:
            at = random.randrange(64 + 64 * count)
            content[at] = random.choice((0, 1, 255, content[at] ^ 1 << random.randrange(8)))
            continue
        row = 64 + 64 * random.randrange(count)
        code, at, size = unpack_from("<c7xQQ", content, row + 40)
        if size == 0 or at + 8 * size > len(content) or code not in b"BbHhIiq":
            continue  # changed before
        kind = np.dtype(code.decode()).newbyteorder("<")
        place = at + random.randrange(size) * kind.itemsize
        (number,) = np.frombuffer(content, kind, 1, place).tolist()
        near = number + random.choice((-1, 1, 8, -8))
        value = np.array(random.choice((*NUMBERS, near, near))).astype(kind, casting="unsafe")
        content[place : place + kind.itemsize] = value.tobytes()
    return with_checksum(bytes(content))


@pytest.mark.parametrize("seed", thinned(range(12), keep=1))
def test_numbers_of_tables_lead_nowhere(
    tables: Tables, built: tuple[Path, Path], tmp_path: Path, seed: int
) -> None:
    random = Random(seed)
    refused = 0
    for _ in range(25):
        status, words = outcome(tables, changed(tables.data, random), built, tmp_path)
        assert status in (0, 1), words
        refused += "error" in words or status
    assert refused > 5


def test_the_checksum_is_compared_before_anything_else(
    tables: Tables, built: tuple[Path, Path], tmp_path: Path
) -> None:
    status, words = outcome(tables, tables.data, built, tmp_path)
    assert (status, words.startswith("ready ")) == (0, True), words
    assert words.endswith("\nok\nok\nok\n")
    for place in (16, 24, 70, len(tables.data) // 2, len(tables.data) - 1):
        data = bytearray(tables.data)
        data[place] ^= 4
        status, words = outcome(tables, bytes(data), built, tmp_path)
        assert (status, "its checksum is another one" in words) == (1, True)
        with pytest.raises(pl.FileLoadError, match="their checksum differs"):
            read_columns(bytes(data))
    assert "its checksum" in outcome(tables, tables.data[:-64], built, tmp_path)[1]


def test_tables_are_a_file(tables: Tables, built: tuple[Path, Path], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        words = [built[0], path, path, path]
        done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (1, f"host: cannot read {path}\n")
