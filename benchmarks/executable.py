"""Saving and loading programs and reports, against NumPy and JSON with the same content.

    python benchmarks/executable.py [--samples 9] [--json FILE] [--small]

Each vertex adds two numbers.  In the regular program vertex k works on element k of three
variables; in the irregular one all elements are at random places of one variable, so that the file
has three numbers for each vertex.  The baseline writes the arrays of the file with `np.savez`, and
reads them all with `np.load`.

A program of 600 steps, each on different tiles, has many small objects instead of large arrays.
The baseline of its executable writes and reads the same bytes as JSON and as one array of bytes,
that of its report the same text with `json`.
"""

from __future__ import annotations

import json
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import poplite as pl
from poplite.codec.archive import ArrayWriter
from poplite.codec.codec import Writer
from poplite.executable.executable_file import EXECUTABLE_CODEC
from poplite.report.json_form import written_tile_sets
from rows import Row, in_turn, run

TILES = 1472

FIELDS = ("a", "b", "total")

TARGET = 1.5

TARGETS_OF_STEPS = {
    "save an executable": 7,
    "load an executable": 8,
    "save a report": 5,
    "load a report": 6,
}
"""How many times as long as the baselines, which check nothing, it may take."""


class Add(pl.Vertex):
    """The sum of two numbers."""

    a: pl.Input[pl.FLOAT]
    b: pl.Input[pl.FLOAT]
    total: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        """Add them."""
        self.total = self.a + self.b


def program(count: int, *, regular: bool) -> pl.Executable:
    """Return the executable of a program.

    Args:
        count: its vertices.
        regular: whether their elements are in order.
    """
    random = np.random.default_rng(1)
    graph = pl.Graph(pl.Target(tiles=TILES))
    values = random.random(3 * count, np.float32)
    tensors = []
    if regular:
        for name, part in zip(FIELDS, np.split(values, 3), strict=True):
            tensors.append(
                graph.add_variable(pl.FLOAT, count, name, mapping="linear", initial_value=part)
            )
    else:
        variable = graph.add_variable(
            pl.FLOAT, 3 * count, "all", mapping="linear", initial_value=values
        )
        places = random.permutation(3 * count)
        ends = np.stack([places, places + 1], axis=1)
        tensors = [pl.concat(variable.slices(each, 0)) for each in np.split(ends, 3)]
    add = graph.add_compute_set("add")
    connected = dict(zip(FIELDS, tensors, strict=True))
    graph.add_vertices(add, Add, tile=np.arange(count) * TILES // count, **connected)
    return pl.compile_graph(graph, pl.Execute(add), "fast")


class AddRows(pl.Vertex):
    """Adds numbers to others."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        """Add them."""
        for i in range(len(self.x)):
            self.y[i] += self.x[i]

    def cycles(self, target: pl.Target) -> int:
        """Return what it takes."""
        return 10 + len(self.x)


def program_of_steps(count: int, tiles: int) -> pl.Executable:
    """Return the executable of a program of steps on different tiles, which exchange rows.

    Args:
        count: its steps.
        tiles: of the machine.
    """
    random, graph = np.random.default_rng(1), pl.Graph(pl.Target(tiles=tiles))
    tensors = []
    for number in range(8):
        tensors.append(graph.add_variable(pl.FLOAT, (tiles, 8), f"t{number}", initial_value=0))
        for row, tile in enumerate(random.permutation(tiles).tolist()):
            graph.set_tile_mapping(tensors[-1][row], tile)
    steps: list[pl.Program] = []
    for number in range(count // 2):
        used = int(random.integers(1, tiles))
        add = graph.add_compute_set(f"add {number}")
        x, y = tensors[number % 8][:used], tensors[(3 * number + 1) % 8][:used]
        chosen = np.sort(random.permutation(tiles)[:used])
        graph.add_vertices(add, AddRows, tile=chosen, x=x, y=y)
        moved = tensors[(number + 5) % 8][:used], tensors[(number + 2) % 8][tiles - used :]
        steps += [pl.Execute(add), pl.Copy(*moved)]
    return pl.compile_graph(graph, pl.Sequence(*steps), "fast", interpret=True)


def rows_of_steps(executable: pl.Executable, folder: Path, samples: int) -> list[Row]:
    """Return the rows of a program of many steps, and of its report.

    Args:
        executable: the program.
        folder: where files are written.
        samples: of each side.
    """
    whole, written = folder / "steps.poplite", folder / "steps.json"
    report = pl.Engine(executable, interpret=True).report()
    executable.save(whole)
    report.save(written)
    with zipfile.ZipFile(whole) as archive:
        manifest = json.loads(archive.read("manifest.json"))
    content = np.fromfile(whole, np.uint8)
    parsed = json.loads(written.read_text())
    array, text = folder / "content.npy", folder / "content.json"

    def write_both() -> None:
        np.save(array, content)
        text.write_text(json.dumps(manifest))

    def read_both() -> None:
        np.load(array)
        json.loads(text.read_text())

    write_both()
    pairs: list[tuple[str, Callable[[], object], Callable[[], object]]] = [
        ("save an executable", lambda: executable.save(whole), write_both),
        ("load an executable", lambda: pl.Executable.load(whole), read_both),
        (
            "save a report",
            lambda: report.save(written),
            lambda: (folder / "other").write_text(json.dumps(parsed, sort_keys=True)),
        ),
        (
            "load a report",
            lambda: pl.Report.load(written),
            lambda: json.loads(written.read_text()),
        ),
    ]
    made = []
    for what, ours, baseline in pairs:
        seconds = in_turn(ours, baseline, samples, lambda: None)
        name, most = f"{what} of 600 steps", TARGETS_OF_STEPS[what]
        made.append(Row(name, min(seconds[0]) / min(seconds[1]), "x", "<=", most, *seconds))
    return made


class _Collected(ArrayWriter):
    """Keeps the arrays of an executable one by one."""

    def __init__(self) -> None:
        super().__init__()
        self.arrays: list[npt.NDArray[Any]] = []

    def add_flat(
        self, name: str, contents: Iterable[bytes | memoryview], counts: Sequence[int]
    ) -> list[int]:
        contents = list(contents)
        self.arrays += [np.frombuffer(each, name) for each in contents if len(each)]
        return super().add_flat(name, contents, counts)


def arrays_of(executable: pl.Executable) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays that an executable's file holds.

    Args:
        executable: the executable.
    """
    to = Writer()
    to.arrays = kept = _Collected()
    EXECUTABLE_CODEC.coder_of(pl.Executable).encode(executable, to)
    written_tile_sets(to)
    return {f"array_{number}": array for number, array in enumerate(kept.arrays)}


def rows(small: bool, samples: int) -> list[Row]:
    """Return the rows.

    Args:
        small: whether to try tiny programs only.
        samples: of each side.
    """
    made = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind in ("regular", "irregular"):
            executable = program(2_000 if small else 1_000_000, regular=kind == "regular")
            arrays = arrays_of(executable)
            made += [*_of(f"{kind} vertices", executable, arrays, folder, samples)]
        steps = program_of_steps(20, 64) if small else program_of_steps(600, TILES)
        made += rows_of_steps(steps, folder, samples)
    return made


def _of(
    what: str,
    executable: pl.Executable,
    arrays: dict[str, npt.NDArray[Any]],
    folder: Path,
    samples: int,
) -> list[Row]:
    ours, baseline = folder / "ours.poplite", folder / "baseline.npz"

    def save() -> None:
        executable.save(ours)

    def savez() -> None:
        np.savez(baseline, **arrays)  # type: ignore[arg-type]  # its own flag is named, too

    def load() -> None:
        pl.Executable.load(ours)

    def load_npz() -> None:
        with np.load(baseline) as file:
            for name in file.files:
                file[name]

    def remove() -> None:
        ours.unlink(missing_ok=True)
        baseline.unlink(missing_ok=True)

    made = []
    pairs: list[tuple[str, Callable[[], None], Callable[[], None], Callable[[], None]]] = [
        ("save", save, savez, remove),  # so that neither has to replace a file
        ("load", load, load_npz, lambda: None),
    ]
    for verb, mine, numpys, before in pairs:
        seconds = in_turn(mine, numpys, samples, before)
        ratio = min(seconds[0]) / min(seconds[1])
        made.append(Row(f"{verb} {what}", ratio, "x", "<=", TARGET, *seconds))
    again = folder / "again.poplite"
    pl.Executable.load(ours).save(again)
    if again.read_bytes() != ours.read_bytes():
        sys.exit(f"{what}: loaded and saved again, the file is another")
    return made


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
