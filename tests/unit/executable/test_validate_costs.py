"""Costs in files: every number that a report, or compiled code, would trust."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl


class Scale(pl.Vertex):
    """Priced from its code."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = 2.0 * self.x[i]


class Known(Scale):
    def cycles(self, target: pl.Target) -> pl.VertexPerfEstimate:
        return pl.VertexPerfEstimate(10 + 3 * len(self.x), len(self.x))


class Sink(pl.Vertex):
    """Counted while it runs."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            while self.x[i] > 1:
                self.x[i] = 0.5 * self.x[i]


def compiled(**options: object) -> pl.Executable:
    graph = pl.Graph(pl.Target(tiles=8))
    x = graph.add_variable(pl.FLOAT, (24, 5), "x", mapping="linear", initial_value=3)
    y = graph.add_variable(pl.FLOAT, (5, 24), "y", mapping="linear", initial_value=1)
    out = graph.add_device_to_host_fifo("out", pl.FLOAT, 120)
    scale, sink = (graph.add_compute_set(name) for name in ("scale", "sink"))
    tiles = np.random.default_rng(2).integers(0, 8, 24)
    graph.add_vertices(scale, Scale, tile=tiles, x=x)
    for k in range(5):
        graph.add_vertex(scale, Known, tile=k, x=y[k, : 3 + k])
    graph.add_vertices(sink, Sink, tile=np.arange(24) // 3, x=x)
    steps = pl.Sequence(pl.Execute(scale), pl.Execute(sink), pl.Copy(x.T, y), pl.Copy(y, out))
    return pl.compile_graph(graph, steps, options=options)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("costs") / "whole.poplite"
    compiled().save(path)
    return path


Damage = Callable[[dict[str, Any]], object]


def changed(whole: Path, path: Path, damage: Damage) -> Path:
    """Write the file with another manifest."""
    with zipfile.ZipFile(whole) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members["manifest.json"])
    damage(manifest["executable"])
    members["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def phase(executable: dict[str, Any]) -> Any:
    """Return the exchange of the copy."""
    return executable["costs"][2]["before"][1]


def family(executable: dict[str, Any], kind: str) -> Any:
    """Return vertices of a compute set: of `Scale`, `Known` or `Sink`."""
    families = executable["costs"][kind == "Sink"]["vertices"]
    return next(each for each in families if bool(each["slots"]) == (kind == "Known"))


DAMAGE: list[tuple[Damage, str]] = [
    (lambda e: e["costs"].pop(0), r"costs\[0\]"),
    (lambda e: e.update(costs=e["costs"] * 3), "costs of 9 steps, there are 4"),
    (lambda e: e.update(costs=[]), "costs of 0 steps"),
    (lambda e: e.update(memory=None), "there are costs, but no memory"),
    (lambda e: e.update(action_costs=[]), "costs of 0 actions, there are 1"),
    (lambda e: e["target"].update(workers=1 << 26), "8 tiles of 67,108,864 workers"),
    (lambda e: phase(e).update(sync=-1), r"before\[1\].sync: -1 is not among the numbers"),
    (lambda e: phase(e)["causes"][0].update(bytes=-1), r"causes\[0\].bytes: -1 is not among"),
    (lambda e: phase(e)["cycles"].update(tiles=[[0, 8]]), "cycles: tile 8 of 8"),
    (lambda e: phase(e)["cycles"].update(tiles=[[0, 3], [3, 7]]), "tiles 3 to 7 do not rise"),
    (lambda e: phase(e)["cycles"].update(tiles=[[7, 0]]), "tiles 7 to 0 do not rise"),
    (lambda e: phase(e)["cycles"].update(tiles=[[-1, 6]]), "tiles -1 to 6 do not rise"),
    (lambda e: phase(e)["cycles"].update(values=-4), "cycles: .* has numbers below 0"),
    (lambda e: phase(e)["cycles"].update(values=[1 << 41] * 8), "numbers above 1,099,511,627,776"),
    (
        lambda e: phase(e)["cycles"].update(values=[1] * 7),
        "cycles: .* is not a valid number for each tile",
    ),
    (lambda e: phase(e)["sent"].update(of=8), "sent: .* are not valid numbers of tiles"),
    (lambda e: phase(e)["sent"].pop("tiles"), "sent: .* are not valid numbers of tiles"),
    (lambda e: phase(e).update(sent=[]), r"sent: \[\] are not valid numbers of tiles"),
    (lambda e: phase(e)["pairs"].update(block=0), "TilePairs, numbers are not those of pairs"),
    (lambda e: phase(e)["pairs"].update(block=2), "TilePairs, numbers are not those of pairs"),
    (lambda e: phase(e)["pairs"]["bytes"].update(of=65), "TilePairs, numbers are not those of"),
    (lambda e: phase(e)["pairs"]["bytes"].pop("of"), "are not valid numbers of tiles"),
    (lambda e: phase(e)["pairs"].update(largest=[[0, 8, 1]]), "TilePairs.largest cannot be"),
    (lambda e: e["costs"][2].update(vertices=e["costs"][0]["vertices"]), "where none run"),
    (lambda e: family(e, "Scale").update(cls=family(e, "Sink")["cls"]), "other classes than"),
    (lambda e: family(e, "Known").update(numbers=[0, 5, 1]), "no vertex has number 28"),
    (lambda e: family(e, "Scale").update(numbers=[6, 24, 1]), "numbers 6 to 29 of 0 to 28"),
    (lambda e: family(e, "Scale").update(source="formula"), "slots are said to be formula"),
    (lambda e: family(e, "Scale").update(shape=[0, 24, 1]), "shape: numbers 0 to 23 of 0 to 0"),
    (lambda e: family(e, "Scale").update(shapes=None), "neither slots nor shapes"),
    (lambda e: family(e, "Scale").update(shapes=["int64", 0, [1, 2]]), r"\(1, 2\), 1 words are"),
    (lambda e: family(e, "Scale")["shapes"].__setitem__(2, [0, 1]), r"\(0, 1\), 1 words are"),
    (
        lambda e: family(e, "Scale").update(shapes=["int64", 0, [], [9, 1]]),
        "one shape several times",
    ),
    (lambda e: family(e, "Known").update(slots=[-1, 5, 0]), "slots: numbers -1 to -1 of 0"),
    (lambda e: family(e, "Known").update(flops=[1 << 60, 5, 0]), "flops: numbers 1,152"),
    (lambda e: family(e, "Known").update(flops=[1, 6, 0]), "flops: 6 of 5 vertices"),
    (lambda e: family(e, "Sink")["tiles"].update(num_tiles=9), "tiles of a target of 9"),
    (lambda e: e["memory"]["held"][0].update(align=0), r"memory.held\[0\]: Held.align cannot be 0"),
    (
        lambda e: e["memory"]["held"][0].update(category="x"),
        r"memory.held\[0\]: 'x' is not a category of things",
    ),
    (
        lambda e: e["memory"].update(including_gaps={"tiles": [], "values": 0}),
        "no tile has room for the largest thing",
    ),
    (lambda e: e["memory"]["held"][0].update(steps=[[0, 8]]), "Held.steps cannot be"),
    (lambda e: e["memory"]["held"][0].update(steps=[]), r"Held.steps cannot be \(\)"),
    (lambda e: e["memory"]["held"][0].update(steps=[[1, 1], [0, 0]]), "Held.steps cannot be"),
    (lambda e: e["memory"]["held"][0].update(shape=[1 << 31] * 2), "Held.shape cannot be"),
    (lambda e: e["memory"]["held"][0].update(element_type="FLOTA"), "Held.element_type cannot be"),
    (lambda e: e["memory"]["held"][0].update(at=99), r"held\[0\].at: 99 is the number of no line"),
    (lambda e: e["memory"]["steps"][1].update(tile=8), "MemoryStep.tile cannot be 8"),
    (lambda e: e["memory"]["steps"][1].update(number=-1), "-1 is not among the numbers of costs"),
    (lambda e: e["memory"]["steps"][1].update(number=5), "MemoryStep.number cannot be 5"),
    (
        lambda e: e["memory"]["steps"][1].update(number=0),
        r"steps\[1\]: MemoryStep.number cannot be",
    ),
    (
        lambda e: e["memory"]["steps"][1].update(number=1),
        "memory: in a Memory, numbers of steps do",
    ),
    (lambda e: e["memory"]["steps"][1].update(rows=[99]), r"memory.steps\[1\]: rows \(99,\) do no"),
    (lambda e: e["memory"]["steps"][1].update(program="other"), "MemoryStep.program cannot be"),
    (
        lambda e: e.update(
            operations=[
                {"name": "", "at": 0, "compute_sets": [2], "result_bytes": 0, "temporary_bytes": 0}
            ]
        ),
        "Operation.compute_sets cannot be",
    ),
    (
        lambda e: e.update(
            operations=[
                {"name": "", "at": 0, "compute_sets": [-1], "result_bytes": 0, "temporary_bytes": 0}
            ]
        ),
        "-1 is not among the numbers of a report",
    ),
]


@pytest.mark.parametrize(("damage", "message"), DAMAGE)
def test_numbers_that_cannot_be(whole: Path, tmp_path: Path, damage: Damage, message: str) -> None:
    path = changed(whole, tmp_path / "changed", damage)
    with pytest.raises(pl.FileLoadError, match=message):
        pl.Executable.load(path, [Scale, Known, Sink])


def test_what_is_counted_runs_before(whole: Path, tmp_path: Path) -> None:
    executable = pl.Executable.load(whole, [Scale, Known, Sink])
    (code,) = executable.programs.values()
    assert code.ops[code.step_rows[:2], 1].tolist() == [0, 1]

    def damage(e: dict[str, Any]) -> None:
        ref = e["programs"][0][1]["step_rows"]
        e["programs"][0][1]["step_rows"] = ["int64", ref[1], [1]]

    path = changed(whole, tmp_path / "changed", damage)
    with pytest.raises(pl.FileLoadError, match="it counts what does not run"):
        pl.Executable.load(path, [Scale, Known, Sink])


def test_a_file_has_the_costs_of_its_graph(tmp_path: Path) -> None:
    made, first, again = compiled(), tmp_path / "first.poplite", tmp_path / "again.poplite"
    made.save(first)
    loaded = pl.Executable.load(first, [Scale, Known, Sink])
    loaded.save(again)
    assert again.read_bytes() == first.read_bytes()
    reports = []
    for executable in (made, loaded):
        engine = pl.Engine(executable)
        engine.connect_stream("out", np.zeros(120, np.float32))
        engine.run()
        reports.append(str(engine.report()))
    assert reports[0] == reports[1]
    assert "Sink" in reports[0]


def test_a_file_without_costs(tmp_path: Path) -> None:
    path = tmp_path / "none.poplite"
    compiled(**{"debug.instrument": False}).save(path)
    engine = pl.Engine(pl.Executable.load(path, [Scale, Known, Sink]))
    assert engine.report().execution.cycles is None


def test_what_is_nothing_is_left_out(whole: Path) -> None:
    with zipfile.ZipFile(whole) as archive:
        executable = json.loads(archive.read("manifest.json"))["executable"]
    rearranged, exchanged, *_ = executable["costs"][2]["before"]
    assert rearranged.keys() == {"kind", "cycles", "copied", "causes"}
    assert exchanged.keys() >= {"kind", "cycles", "sync", "received", "sent", "causes"}
    assert "copied" not in exchanged
    assert rearranged["copied"] == {"tiles": [[0, 7]], "values": 12}
