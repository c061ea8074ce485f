"""The host program and tables with other numbers: it refuses them, or does what they say."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from random import Random
from struct import unpack_from

import numpy as np
import pytest

import poplite as pl
from helpers.depth import thinned
from helpers.host_program import host_binary, library_of
from poplite.ipu.tables import Tables, columns, tables_of

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
    return columns.with_checksum(bytes(content))


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
            columns.read(bytes(data))
    assert "its checksum" in outcome(tables, tables.data[:-64], built, tmp_path)[1]


def test_tables_are_a_file(tables: Tables, built: tuple[Path, Path], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        words = [built[0], path, path, path]
        done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (1, f"host: cannot read {path}\n")
