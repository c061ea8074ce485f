"""Costs and jumps in files: every number that a report, or compiled code, would trust."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import thinned
from poplite.codec.file_formats import Malformed
from poplite.executable import encoding as op
from poplite.executable.executable import Executable
from poplite.executable.program_trees import ControlFlow, Unstructured, program_trees
from poplite.executable.validate import validate
from poplite.viz.summary import summary_of_report

# -- costs -----------------------------------------------------------------------------------------


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
    (lambda e: e.update(costs=e["costs"] * 3), "it has costs for 9 of 4 steps"),
    (lambda e: e.update(costs=[]), "it has costs for 0 of 4 steps"),
    (lambda e: e.update(memory=None), "there are costs, but no memory"),
    (lambda e: e.update(action_costs=[]), "it has costs for 0 of 1 actions"),
    (lambda e: e["target"].update(workers=1 << 26), "8 tiles with 67,108,864 workers"),
    (lambda e: phase(e).update(sync=-1), r"before\[1\].sync: -1 is not a valid cost"),
    (
        lambda e: phase(e)["causes"][0].update(bytes=-1),
        r"causes\[0\].bytes: -1 is not a valid "
        r"cost",
    ),
    (
        lambda e: phase(e)["cycles"].update(tiles=[[0, 8]]),
        "cycles: tile numbers must be less than 8; found 8",
    ),
    (
        lambda e: phase(e)["cycles"].update(tiles=[[0, 3], [3, 7]]),
        "ranges of tiles must ascend; found 3 to 7",
    ),
    (
        lambda e: phase(e)["cycles"].update(tiles=[[7, 0]]),
        "ranges of tiles must ascend; found 7 to 0",
    ),
    (
        lambda e: phase(e)["cycles"].update(tiles=[[-1, 6]]),
        "ranges of tiles must ascend; found -1 to 6",
    ),
    (lambda e: phase(e)["cycles"].update(values=-4), "cycles: .* has numbers below 0"),
    (lambda e: phase(e)["cycles"].update(values=[1 << 41] * 8), "numbers above 1,099,511,627,776"),
    (
        lambda e: phase(e)["cycles"].update(values=[1] * 7),
        "cycles: 8 numbers are needed; found 7: ",
    ),
    (
        lambda e: phase(e)["sent"].update(of=8),
        "sent: per-tile numbers must have the keys 'tiles' and 'values'; found {",
    ),
    (
        lambda e: phase(e)["sent"].pop("tiles"),
        "sent: per-tile numbers must have the keys 'tiles' and 'values'; found {",
    ),
    (
        lambda e: phase(e).update(sent=[]),
        r"sent: per-tile numbers must have the keys .*; found \[\]",
    ),
    (lambda e: phase(e)["pairs"].update(block=0), "TilePairs, there must be a number for each"),
    (lambda e: phase(e)["pairs"].update(block=2), "TilePairs, there must be a number for each"),
    (lambda e: phase(e)["pairs"]["bytes"].update(of=65), "TilePairs, there must be a number"),
    (
        lambda e: phase(e)["pairs"]["bytes"].pop("of"),
        "per-tile numbers must have the keys 'of' and ",
    ),
    (lambda e: phase(e)["pairs"].update(largest=[[0, 8, 1]]), "TilePairs.largest cannot be"),
    (
        lambda e: e["costs"][2].update(vertices=e["costs"][0]["vertices"]),
        "it has costs of vertices, but runs none",
    ),
    (
        lambda e: family(e, "Scale").update(cls=family(e, "Sink")["cls"]),
        "the costs do not match the classes of 29 vertices",
    ),
    (lambda e: family(e, "Known").update(numbers=[0, 5, 1]), "no vertex has number 28"),
    (
        lambda e: family(e, "Scale").update(numbers=[6, 24, 1]),
        "numbers must be from 0 to 28; found 6 to 29",
    ),
    (
        lambda e: family(e, "Scale").update(source="formula"),
        "slots do not match their source 'formula'",
    ),
    (
        lambda e: family(e, "Scale").update(shape=[0, 24, 1]),
        "shape: numbers must be from 0 to 0; found 0 to 23",
    ),
    (lambda e: family(e, "Scale").update(shapes=None), "neither slots nor shapes"),
    (
        lambda e: family(e, "Scale").update(shapes=["int64", 0, [1, 2]]),
        r"1 words are needed; "
        r"found shape \(1, 2\)",
    ),
    (
        lambda e: family(e, "Scale")["shapes"].__setitem__(2, [0, 1]),
        r"1 words are needed; found "
        r"shape \(0, 1\)",
    ),
    (
        lambda e: family(e, "Scale").update(shapes=["int64", 0, [], [9, 1]]),
        "a shape is listed more than once",
    ),
    (
        lambda e: family(e, "Known").update(slots=[-1, 5, 0]),
        "slots: numbers must be from 0 to .*; found -1 to -1",
    ),
    (
        lambda e: family(e, "Known").update(flops=[1 << 60, 5, 0]),
        "flops: numbers must be from 0 to .*; found 1,152",
    ),
    (lambda e: family(e, "Known").update(flops=[1, 6, 0]), "flops: 5 numbers are needed; found 6"),
    (
        lambda e: family(e, "Sink")["tiles"].update(num_tiles=9),
        "its tiles are those of a target with 9 tiles",
    ),
    (lambda e: e["memory"]["held"][0].update(align=0), r"memory.held\[0\]: Held.align cannot be 0"),
    (
        lambda e: e["memory"]["held"][0].update(category="x"),
        r"memory.held\[0\]: 'x' is not a category of things",
    ),
    (
        lambda e: e["memory"].update(including_gaps={"tiles": [], "values": 0}),
        "no item may be larger than the memory of the fullest tile",
    ),
    (lambda e: e["memory"]["held"][0].update(steps=[[0, 8]]), "Held.steps cannot be"),
    (lambda e: e["memory"]["held"][0].update(steps=[]), r"Held.steps cannot be \(\)"),
    (lambda e: e["memory"]["held"][0].update(steps=[[1, 1], [0, 0]]), "Held.steps cannot be"),
    (lambda e: e["memory"]["held"][0].update(shape=[1 << 31] * 2), "Held.shape cannot be"),
    (lambda e: e["memory"]["held"][0].update(element_type="FLOTA"), "Held.element_type cannot be"),
    (
        lambda e: e["memory"]["held"][0].update(at=99),
        r"held\[0\].at: 99 is not the number of a line",
    ),
    (lambda e: e["memory"]["steps"][1].update(tile=8), "MemoryStep.tile cannot be 8"),
    (lambda e: e["memory"]["steps"][1].update(number=-1), "-1 is not a valid cost"),
    (lambda e: e["memory"]["steps"][1].update(number=5), "MemoryStep.number cannot be 5"),
    (
        lambda e: e["memory"]["steps"][1].update(number=0),
        r"steps\[1\]: MemoryStep.number cannot be",
    ),
    (
        lambda e: e["memory"]["steps"][1].update(number=1),
        "memory: in a Memory, the numbers of steps must ascend",
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
        "-1 is not a valid number in a report",
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
    with pytest.raises(
        pl.FileLoadError, match="it sums slots of a step that was not launched before"
    ):
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


# -- jumps -----------------------------------------------------------------------------------------


class Add(pl.Vertex):
    """Counts."""

    x: pl.InOut[pl.INT]

    def compute(self) -> None:
        """Add one."""
        self.x = self.x + 1


class Bench:
    """A graph with one step."""

    def __init__(self) -> None:
        self.graph = pl.Graph(pl.Target(tiles=2))
        self.x = self.graph.add_variable(pl.INT, (), "x", mapping=0, initial_value=1)
        self.p = self.graph.add_variable(pl.BOOL, (), "p", mapping=0, initial_value=False)
        compute_set = self.graph.add_compute_set("add")
        self.graph.add_vertex(compute_set, Add, tile=0, x=self.x)
        self.add = pl.Execute(compute_set)

    def compiled(self, program: pl.Program) -> Executable:
        return pl.compile_graph(self.graph, program)

    def nested(self, kind: str, depth: int) -> pl.Program:
        """Return the step within so many programs of one kind."""
        program: pl.Program = self.add
        for _ in range(depth):
            match kind:
                case "Repeat":
                    program = pl.Repeat(1, program)
                case "If":
                    program = pl.If(self.p, self.add, program)
                case "Switch":
                    program = pl.Switch(self.x, {1: program})
                case "RepeatWhile":
                    program = pl.RepeatWhileTrue(pl.Sequence(), self.p, program)
                case "Call":
                    program = pl.Call(self.graph.add_function(program))
        return program


def everything(bench: Bench) -> pl.Program:
    """Return a program of about 30 rows with every kind of jump."""
    function = bench.graph.add_function(pl.Repeat(2, bench.add))
    return pl.Sequence(
        pl.Repeat(3, pl.Sequence(bench.add, pl.Repeat(2, bench.add))),
        pl.If(bench.p, bench.add, pl.Sequence(bench.add, pl.Call(function))),
        pl.Switch(bench.x, {1: bench.add, 5: bench.add}, bench.add),
        pl.RepeatWhileTrue(bench.add, bench.p, bench.add),
        pl.If(bench.p, bench.add, pl.Sequence()),
        pl.Call(function),
    )


def test_each_jump_set_to_each_row_is_refused_or_has_a_report(tmp_path: Path) -> None:
    bench = Bench()
    executable = bench.compiled(everything(bench))
    (code,) = executable.programs.values()
    outcomes = {"refused": 0, "unchanged": 0, "other": 0}
    for row, kind in enumerate(code.ops[:, 0].tolist()):
        if kind not in op.TARGETS:
            continue
        for target in range(len(code.ops)):
            ops = code.ops.copy()
            ops[row, op.TARGETS[kind]] = target
            changed = replace(executable, programs={"0": replace(code, ops=ops)})
            try:
                validate(changed)
            except Malformed:
                outcomes["refused"] += 1
                continue
            outcomes["unchanged" if np.array_equal(ops, code.ops) else "other"] += 1
            assert program_trees(changed)["0"].type.name == "SEQUENCE"
    changed.save(tmp_path / "changed.poplite")  # the last jump, to the last row
    with pytest.raises(pl.FileLoadError, match="row 37 has a jump that does not form a program"):
        Executable.load(tmp_path / "changed.poplite", vertices=[Add])
    targets = int(np.isin(code.ops[:, 0], list(op.TARGETS)).sum())
    assert outcomes["unchanged"] == targets
    assert outcomes["refused"] > 20 * outcomes["other"] > 0


@pytest.mark.parametrize(
    "rows",
    [
        [(op.AGAIN, 0, 0), (op.END,)],
        [(op.JUMP, 1), (op.END,)],
        [(op.MARK,), (op.JUMP_IF_NONZERO, 0), (op.END,)],
        [(op.REPEAT, 0, 2, 2), (op.AGAIN, 1, 1), (op.END,)],
        [(op.CASE, 3, 1), (op.END,)],
        [(op.AGREE, 3), (op.MARK,), (op.MARK,), (op.END,)],
        [(op.REPEAT, 0, 2, 4), (op.MARK,), (op.JUMP, 0), (op.AGAIN, 0, 1), (op.END,)],
        [(op.JUMP_IF_ZERO, 3), (op.MARK,), (op.JUMP, 0), (op.END,)],
    ],
)
def test_rows_of_no_program(rows: list[tuple[int, ...]]) -> None:
    flow = ControlFlow(np.array([(*row, 0, 0, 0)[:4] for row in rows], np.int64))
    with pytest.raises(Unstructured, match="row"):
        list(flow.events(0, len(rows) - 1))


@pytest.mark.parametrize(
    "kind", thinned(["Repeat", "If", "Switch", "RepeatWhile", "Call"], keep={"Repeat", "Switch"})
)
def test_programs_nested_400_deep(kind: str, tmp_path: Path) -> None:
    bench = Bench()
    program = bench.nested(kind, 400)
    executable = bench.compiled(program)
    executable.save(tmp_path / "deep.poplite")
    again = Executable.load(tmp_path / "deep.poplite", vertices=[Add])
    report = pl.Engine(again, interpret=True).report()
    (tree,) = report.compilation.programs.values()
    assert sum(node.type.value == kind for node in tree.walk()) == 400
    report.save(tmp_path / "report.json")
    loaded = pl.Report.load(tmp_path / "report.json")
    assert loaded == report
    assert (str(loaded), loaded.to_html()) == (str(report), report.to_html())
    bench.graph.save(tmp_path / "deep.graph", program)
    graph, programs = pl.Graph.load(tmp_path / "deep.graph", vertices=[Add])
    assert programs["0"].num_steps == program.num_steps
    pl.compile_graph(graph, programs).save(tmp_path / "again.poplite")


# -- counts ----------------------------------------------------------------------------------------

MANY = 2**32 - 1


def test_more_steps_than_are_counted_are_refused() -> None:
    bench = Bench()
    with pytest.raises(pl.SizeOverflowError, match="would run more than 4,611,686,018,427,387,904"):
        bench.compiled(pl.Repeat(MANY, pl.Repeat(MANY, bench.add)))
    bench.compiled(pl.Repeat(MANY, pl.Repeat(MANY, pl.Repeat(9, pl.Sequence()))))


def test_what_is_counted_is_told_saved_and_loaded(tmp_path: Path) -> None:
    bench = Bench()
    executable = bench.compiled(pl.Repeat(MANY, pl.Repeat(2**20, bench.add)))
    executable.save(tmp_path / "many.poplite")
    again = Executable.load(tmp_path / "many.poplite", vertices=[Add])
    assert again.programs["0"].num_runs == MANY << 20
    report = pl.Engine(again, interpret=True).report()
    assert report.compilation.planned[0].executions == MANY << 20
    assert pl.Report.from_json(report.to_json()) == report
    assert pl.Report.from_json(report.to_json()).to_html() == report.to_html()


def test_of_more_cycles_than_are_counted_reports_say_so_and_tell_the_rest(tmp_path: Path) -> None:
    bench = Bench()
    executable = bench.compiled(pl.Repeat(MANY, pl.Repeat(2**30, bench.add)))
    executable.save(tmp_path / "many.poplite")
    again = Executable.load(tmp_path / "many.poplite", vertices=[Add])
    assert again.programs["0"].num_runs == MANY << 30
    report = pl.Engine(again, interpret=True).report()
    why = (
        "one run of program '0' takes more than 1,152,921,504,606,846,976 cycles, the limit of "
        f"reports: {MANY << 30:,} times add"
    )
    assert (report.cycles, report.note, report.run_note) == (None, why, why)
    assert f"Total cycles: {why}\n" in str(report)
    assert "Fullest tile:" in str(report)
    report.save(tmp_path / "report.json")
    loaded = pl.Report.load(tmp_path / "report.json")
    assert (loaded, str(loaded), loaded.to_html()) == (report, str(report), report.to_html())
    assert dict(summary_of_report(loaded).rows())["cycles"] == why


def test_a_file_of_more_steps_is_refused(tmp_path: Path) -> None:
    bench = Bench()
    executable = bench.compiled(pl.Repeat(MANY, pl.Repeat(9, pl.Repeat(9, bench.add))))
    (code,) = executable.programs.values()
    for count, why in (
        (MANY, "a run would take more than 4,611,686,018,427,387,904"),
        (-1, "the count of a REPEAT is out of range"),
    ):
        ops = code.ops.copy()
        ops[1, 2] = count
        replace(executable, programs={"0": replace(code, ops=ops)}).save(tmp_path / "more")
        with pytest.raises(pl.FileLoadError, match=why):
            Executable.load(tmp_path / "more", vertices=[Add])


def test_a_file_whose_steps_are_not_those_of_its_program_is_refused(tmp_path: Path) -> None:
    bench = Bench()
    executable = bench.compiled(pl.Sequence(bench.add, bench.add, bench.add))
    (code,) = executable.programs.values()
    numbers = np.zeros_like(code.step_numbers)  # as if all rows did the work of one step
    changed = replace(executable, programs={"0": replace(code, step_numbers=numbers)})
    changed.save(tmp_path / "other")
    with pytest.raises(pl.FileLoadError, match="row [0-9] is not a valid step of the program"):
        Executable.load(tmp_path / "other", vertices=[Add])
