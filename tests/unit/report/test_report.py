"""Reports: sums of hand-made numbers, the object model, JSON, differences, text."""

from __future__ import annotations

import json
import os
import tracemalloc
from base64 import b64encode
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import thinned
from helpers.made import made
from poplite import ops
from poplite.arrays.series import Listed, Rising, Runs, constant
from poplite.compile.compiler import compile_graph
from poplite.report import Change, Execution, Instrumentation, ProgramVisitor, Report
from poplite.report.compilation import ComputeSet
from poplite.report.execution import TIME_PARTS, Cause, ExecutionStep, Phase, TypeCycles
from poplite.report.memory import Held, Memory, MemoryStep, Steps
from poplite.report.per_tile import PerTile
from poplite.report.program_tree import Program, Programs
from poplite.simulator.reporting import compilation_of, execution_steps
from poplite.source import SourceLocation

GOLDEN = Path(__file__).parents[2] / "golden" / "reports" / "two_steps.txt"
TILES = 4
HERE = SourceLocation("model.py", 12, "<module>")


class Axpy(pl.Vertex):
    """y += x."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] += self.x[i]


class Gather(pl.Vertex):
    """Sums lists."""

    parts: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    total: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        self.total = 0.0


def tiles(*numbers: int) -> PerTile:
    """Return numbers of the first tiles; those of the others are 0."""
    return PerTile.of(np.array([*numbers, *[0] * (TILES - len(numbers))]))


COPIED = Cause("field 'x' of Axpy", "lies in 3 pieces", str(HERE.portable), 96)
MOVED = Cause("field 'x' of Axpy", "comes from other tiles", str(HERE.portable), 640)
IDLE = tiles()

PHASES = (
    Phase("exchange", 60, 180, tiles(30, 60), tiles(0, 640), tiles(640), IDLE, (MOVED,)),
    Phase("copy", 40, 0, tiles(40), IDLE, IDLE, tiles(192), (COPIED,)),
    Phase("compute", 240, 0, tiles(240, 120, 120), IDLE, IDLE, IDLE, ()),
)
"""Twice 90 + max(30 + 40 + 240, 60 + 120, 120) / 2."""

TARGET, NO_PROGRAMS = pl.Target(tiles=TILES), Programs(dict)

BLUR = ExecutionStep(
    *("blur", "execute", "main", 1, Path(__file__).name, 2, 490, PHASES),
    (TypeCycles("Axpy", 6, "formula", 300, 48), TypeCycles("Gather", 2, "guessed", 60, None)),
    *(TARGET, NO_PROGRAMS, "", 1, 0),
)
COPY = ExecutionStep(
    *("x to y", "copy", "main", 3, "", 1, 190),
    (Phase("exchange", 100, 90, tiles(0, 0, 0, 100), IDLE, tiles(0, 0, 0, 8), IDLE, ()),),
    *((), TARGET, NO_PROGRAMS, "", 2),
)
NEVER = replace(COPY, name="y to x", row=0, executions=0, cycles=0)


def held(name: str, category: str, size: PerTile, steps: Steps | None = None) -> Held:
    """Return something in memory."""
    return Held(name, size, category, steps, HERE.portable)


PLAN = Memory(
    including_gaps=tiles(504, 1004, 100, 100),
    not_always_live=tiles(0, 500),
    held=(
        held("x", "variable", tiles(400, 400)),
        held("blur", "vertex_code", tiles(100, 100, 100, 100)),
        held("buffer", "message", tiles(0, 300), ((0, 1), (3, 3))),
        held("y", "variable", tiles(0, 500), ((2, 2),)),
    ),
    steps=tuple(
        MemoryStep("main", f"step {n}", HERE.portable, most, 1, 1 + n)
        for n, most in enumerate([3, 3, 5, 3])
    ),
)


def report_of(*totals: ExecutionStep, ipus: int = 1, plan: Memory | None = PLAN) -> Report:
    """Return the report of hand-made totals and memory."""
    graph = pl.Graph(pl.Target(tiles=TILES, ipus=ipus, clock_hz=1e9, tile_memory_bytes=1000))
    x, y = (graph.add_variable(pl.FLOAT, (8,), name, mapping="linear") for name in "xy")
    blur = graph.add_compute_set("blur")
    for tile in range(3):
        part = slice(2 * tile, 2 * tile + 2)
        graph.add_vertex(blur, Axpy, tile=tile, x=x[part], y=y[part])
    graph.add_vertex(blur, Gather, tile=0, parts=[x[:1], x[2:3]], total=y[7])
    main = pl.Sequence(pl.Repeat(2, pl.Execute(blur)), *[pl.Copy(x, y)] * 3)
    unlimited = {"debug.allowOutOfMemory": True}
    executable = compile_graph(graph, {"main": main}, "fast", options=unlimited)
    compilation = compilation_of(replace(executable, memory=plan))
    vertices = tuple(replace(one, at="model.py:9") for one in compilation.compute_sets[0].vertices)
    compilation = replace(compilation, compute_sets=(ComputeSet("blur", vertices),))
    steps = execution_steps(
        replace(step, target=graph.target, programs=compilation.programs) for step in totals
    )
    return made(
        Report,
        compilation,
        Execution(
            runs=1,
            num_steps=3,
            vertices=8,
            bytes_copied=32,
            bytes_gathered=0,
            runs_again=0,
            steps=steps,
            cycles=None if plan is None else sum(step.cycles for step in steps),
            target=executable.target,
        ),
        Instrumentation(plan is not None, "fast", False),
    )


@pytest.fixture(scope="module")
def report() -> Report:
    """A report of two steps."""
    return report_of(BLUR, COPY, NEVER)


# -- compilation -----------------------------------------------------------------------------------


def test_counts_of_the_graph(report: Report) -> None:
    graph = report.compilation.graph
    assert (graph.num_vertices, graph.num_edges, graph.num_variables) == (4, 3 * 2 + 2 + 1, 2)
    assert (graph.num_compute_sets, graph.elements_per_tile) == (1, (4, 4))
    assert [(t.name, t.vertices) for t in report.compilation.vertex_types] == [
        ("Axpy", 3),
        ("Gather", 1),
    ]
    (blur,) = report.compilation.compute_sets
    assert [(v.type, list(v.count_by_tile)) for v in blur.vertices] == [
        ("Axpy", [1, 1, 1, 0]),
        ("Gather", [1, 0, 0, 0]),
    ]


def test_edges_of_many_vertices_are_counted() -> None:
    graph = pl.Graph(pl.Target(tiles=TILES))
    x = graph.add_variable(pl.FLOAT, (60,), "x", mapping="linear")
    y = graph.add_variable(pl.FLOAT, (6,), "y", mapping="linear")
    gather = graph.add_compute_set("gather")
    for k in range(4):  # of 0, 1, 4 and 9 rows
        rows = [x[i : i + 1] for i in range(k * k)]
        graph.add_vertex(gather, Gather, tile=0, parts=rows, total=y[k])
    executable = compile_graph(graph, pl.Execute(gather))
    assert compilation_of(executable).graph.num_edges == 0 + 1 + 4 + 9 + 4


def test_classes_of_one_name_are_told_apart() -> None:
    def another() -> type[pl.Vertex]:
        class Axpy(pl.Vertex):
            x: pl.Output[pl.FLOAT]

            def compute(self) -> None:
                self.x = 0.0

        return Axpy

    graph = pl.Graph(pl.Target(tiles=TILES))
    x = graph.add_variable(pl.FLOAT, (4,), "x", mapping=0)
    both = graph.add_compute_set("both")
    graph.add_vertex(both, Axpy, tile=0, x=x[:1], y=x[1:2])
    graph.add_vertex(both, another(), tile=0, x=x[2])
    names = [t.name for t in compilation_of(compile_graph(graph, pl.Execute(both))).vertex_types]
    assert names[0].endswith("test_report.Axpy")
    assert names[1].endswith("another.<locals>.Axpy")


def test_memory_of_a_tile(report: Report) -> None:
    memory = report.compilation.tiles[1].memory
    assert (memory.total.including_gaps, memory.total.excluding_gaps) == (1004, 1000)
    assert (memory.always_live_bytes, memory.not_always_live_bytes) == (500, 500)
    assert memory.category.variable.total == 900
    assert memory.category["variable"].always_live == 400
    assert [(v.type, v.code_bytes) for v in memory.vertices] == [("blur", 100)]
    assert {name: each.total for name, each in memory.category.items()} == {
        "variable": 900,
        "vertex_code": 100,
        "message": 300,
    }
    with pytest.raises(pl.UnknownName, match=r"'variabel' \(did you mean 'variable'\?\)"):
        _ = memory.category.variabel
    assert [tile.memory.total.including_gaps for tile in report.compilation.tiles] == [
        504,
        1004,
        100,
        100,
    ]


def test_liveness_adds_up_to_the_peak(report: Report) -> None:
    steps = report.compilation.liveness_program_steps
    beside = [step.not_always_live_memory_for_tile(1).bytes for step in steps]
    assert beside == [300, 300, 500, 300]
    names = [v.name for v in steps[2].not_always_live_memory_for_tile(1).variables]
    assert names == ["y"]
    tile = report.compilation.tiles[1].memory
    assert tile.always_live_bytes + max(beside) == tile.total.excluding_gaps
    memory = report.compilation.memory
    assert [memory.not_always_live_in(n).total for n in range(4)] == beside
    assert memory.num_over(1000) == 1


def test_variables_of_a_tile(report: Report) -> None:
    compilation = report.compilation
    found = compilation.lowered_variables.for_tile(1)
    assert [(v.name, v.bytes, v.is_always_live, v.at) for v in found] == [
        ("x", 400, True, "model.py:12"),
        ("blur", 100, True, "model.py:12"),
        ("buffer", 300, False, "model.py:12"),
        ("y", 500, False, "model.py:12"),
    ]
    assert [v.name for v in compilation.always_live_variables_for_tile(2)] == ["blur"]


def test_memory_of_a_report_is_frozen(report: Report) -> None:
    memory = report.compilation.memory
    for each in (memory.held[0], memory.steps[0]):
        with pytest.raises(FrozenInstanceError):
            each.name = "changed"  # type: ignore[misc]
    assert len(set(memory.steps)) == len(memory.steps)


def test_memory_that_is_not_modelled_is_refused() -> None:
    report = report_of(plan=None)
    with pytest.raises(pl.ControlProgramError, match=r"memory is not modelled(.|\n)*instrument"):
        _ = report.compilation.tiles
    assert report.cycles is None
    assert report.seconds is None
    assert str(report).count("not modelled: leave the option debug.instrument=False out") == 3


# -- execution -------------------------------------------------------------------------------------


def test_sums_of_steps_phases_and_types(report: Report) -> None:
    execution = report.execution
    assert [step.name for step in execution.steps] == ["blur", "x to y"]  # the other never ran
    assert report.cycles == 490 + 190 == sum(step.ipus[0].cycles for step in execution.steps)
    assert report.seconds == 680e-9
    assert execution.phase_cycles() == {
        "compute": (240 + 120 + 120) / 4,
        "copy": 40 / 4,
        "exchange": (30 + 60 + 100) / 4,
        "global exchange": 0,
        "host exchange": 0,
    }
    assert execution.sync_cycles == 180 + 90
    assert execution.active_cycles() == (240 + 120 + 120) / 3
    assert execution.worker_cycles() == (300 + 60) / 4
    types = [(t.name, t.vertices, t.cycles, t.source, t.flops) for t in execution.vertex_types()]
    assert types == [("Axpy", 6, 300, "formula", 48), ("Gather", 2, 60, "guessed", None)]


def test_numbers_of_a_step(report: Report) -> None:
    blur = report.execution.steps[0]
    assert blur.tile_cycles.tolist() == [310, 180, 120, 0]
    assert blur.tile_balance == (310 + 180 + 120) / 4 / 310
    assert (blur.bytes_sent.tolist(), blur.bytes_received.tolist()) == (
        [640, 0, 0, 0],
        [0, 640, 0, 0],
    )
    assert blur.phases[2].balance == (240 + 120 + 120) / 4 / 240
    assert blur.phases[1].causes[0].at == "model.py:12"
    assert [step.at for step in report.execution.steps] == ["test_report.py", ""]


def test_each_ipu_has_its_own_cycles() -> None:
    steps = report_of(BLUR, COPY, ipus=2).execution.steps
    assert [ipu.cycles for ipu in steps[0].ipus] == [180 + 310, 180 + 120]
    assert [ipu.cycles for ipu in steps[1].ipus] == [90, 190]
    assert steps[0].ipus[1].tile_cycles.tolist() == [120, 0]


def test_vertices_of_one_class_in_several_steps_add_up() -> None:
    other = replace(BLUR, row=3, vertex_types=(TypeCycles("Axpy", 10, "formula", 7, None),))
    types = report_of(BLUR, other).execution.vertex_types()
    assert [(t.name, t.vertices, t.cycles, t.flops) for t in types] == [
        ("Axpy", 6 + 10, 307, 48),
        ("Gather", 2, 60, None),
    ]


def test_insights(report: Report) -> None:
    insights = report.insights
    assert insights.busiest is not None
    assert (insights.busiest.tile, insights.busiest.most, insights.busiest.mean) == (0, 240, 120)
    assert insights.fullest is not None
    assert (insights.fullest.tile, insights.fullest.most) == (1, 1004)
    full, waiting, exchange, copied, idle, before, guessed = insights.findings
    assert (full.kind, full.tile, full.bytes, full.tiles) == ("out of memory", 1, 4, 1)
    assert "variable 'y' takes 500 of the 1,004 B; a tile has 1,000 B: spread 'y' over" in full.text
    assert (exchange.kind, exchange.names, exchange.cycles) == ("exchange", ("x to y",), 100)
    # Without its compute phase the group takes 70 of 310 cycles; tiles compute 120 on average.
    assert (waiting.kind, waiting.names, waiting.cycles) == ("waiting", ("blur",), 310 - 70 - 120)
    assert (waiting.tile, waiting.at) == (0, "test_report.py")  # where vertices are added
    assert "for tile 0, as tiles have 50.0% of its work on average" in waiting.text
    assert "; it runs 1 Gather (model.py:9), a tile 0.2 on average" in waiting.text
    assert (copied.kind, copied.cycles, copied.bytes) == ("copied on its tile", 40, 2 * 96)
    assert (copied.at, copied.tiles, copied.share) == ("model.py:12", 1, 40 / 680)
    assert (idle.kind, idle.cycles) == ("idle workers", 40)  # 360 issued in 480 cycles of 3 tiles
    assert (before.kind, before.cycles, before.bytes) == ("exchange", 30, 640)  # of tile 0's 310
    assert (guessed.kind, guessed.names, guessed.steps) == ("guessed", ("Gather",), (0,))


def test_idle_workers_are_found() -> None:
    idle = replace(BLUR, vertex_types=(TypeCycles("Axpy", 6, "formula", 120, None),))
    report = report_of(idle)
    (found,) = (each for each in report.insights.findings if each.kind == "idle workers")
    assert (found.names, found.cycles, found.share) == (("blur",), (480 - 120) // 3, 120 / 490)
    assert "(24.5%) in blur, as workers are idle 75.0% of the time: add more" in str(report)


def test_cycles_without_busy_tiles_are_no_finding() -> None:
    """A damaged file may have such a phase."""
    without = [replace(phase, tile_cycles=tiles()) for phase in BLUR.phases]
    report = report_of(replace(BLUR, phases=tuple(without), vertex_types=()))
    found = {each.kind for each in report.insights.findings}
    assert found.isdisjoint({"waiting", "idle workers"})


def test_little_is_no_finding() -> None:
    def waits(report: Report) -> bool:
        return "waiting" in {each.kind for each in report.insights.findings}

    assert waits(report_of(BLUR, replace(COPY, cycles=100 * 120 - 490)))
    assert not waits(report_of(BLUR, replace(COPY, cycles=100 * 120 + 1)))


def test_small_losses_of_one_line_are_one_finding() -> None:
    """Each of 200 steps loses under a hundredth of all cycles, and all of them four tenths."""
    small = [
        replace(BLUR, name=f"blur {number}", row=1, executions=1, cycles=300, vertex_types=())
        for number in range(200)
    ]
    found = report_of(*small).insights.findings
    waiting = next(each for each in found if each.kind == "waiting")
    assert (waiting.cycles, waiting.share) == (200 * 120, 0.4)
    assert len(waiting.steps) == len(waiting.names) == 200
    assert "24,000 cycles (40.0%) in blur 0 and 199 other steps for tile 0" in waiting.text
    assert [each.kind for each in found].count("copied on its tile") == 1


# -- programs --------------------------------------------------------------------------------------


def test_steps_are_visited_in_their_programs(report: Report) -> None:
    class Names(ProgramVisitor):
        def __init__(self) -> None:
            self.seen: list[str] = []

        def visit_execute(self, program: Program) -> None:
            self.seen.append(f"execute {program.name}")

        def visit_copy(self, program: Program) -> None:
            self.seen.append(f"copy {program.name}")

    visitor = Names()
    for step in report.execution.steps:
        step.program.accept(visitor)
    assert visitor.seen == ["execute blur", "copy x to y"]
    report.compilation.programs["main"].accept(visitor)
    assert visitor.seen[2:] == ["execute blur", *["copy x to y"] * 3]


# -- JSON ------------------------------------------------------------------------------------------


def test_json_round_trip(report: Report, tmp_path: Path) -> None:
    text = report.to_json()
    again = Report.from_json(text)
    assert again == report
    assert again.to_json() == text
    assert str(again) == str(report)
    assert again.execution.steps[0].program.name == "blur"
    report.save(tmp_path / "run.json")
    assert Report.load(tmp_path / "run.json") == report


@pytest.fixture(scope="module")
def report_of_1472() -> Report:
    """A report of one copy on 1,472 tiles."""
    graph = pl.Graph(pl.Target())
    x, y = (graph.add_variable(pl.INT, (1472,), name, mapping="linear") for name in "xy")
    engine = pl.Engine(graph, pl.Copy(x.reverse(0), y), interpret=True)
    engine.run()
    return engine.report()


@pytest.mark.parametrize("most", [3, 200, 60_000, 2**31, 2**40])
@pytest.mark.parametrize("used", [0.02, 0.5, 1])
def test_many_numbers_come_back(report_of_1472: Report, most: int, used: float) -> None:
    report, rng = report_of_1472, np.random.default_rng(most)
    numbers = rng.integers(0, most, 1472) * (rng.random(1472) < used)
    phase = report.execution.steps[0].phases[0]
    step = replace(report.execution.steps[0], phases=(replace(phase, sent=PerTile.of(numbers)),))
    changed = replace(report, execution=replace(report.execution, steps=(step,)))
    again = Report.from_json(changed.to_json())
    assert again.execution.steps[0].phases[0].sent.array().tolist() == numbers.tolist()


def test_a_file_that_names_the_same_numbers_too_often_is_refused(
    report_of_1472: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = PerTile.of(np.random.default_rng(1).integers(1, 200, 1472))
    (step,) = report_of_1472.execution.steps
    phases = (replace(step.phases[0], sent=numbers, received=numbers, copied=numbers),) * 100
    step = replace(step, phases=phases)
    report = replace(report_of_1472, execution=replace(report_of_1472.execution, steps=(step,)))
    text = report.to_json()
    assert Report.from_json(text) == report  # written once, and named 300 times
    monkeypatch.setattr("poplite.report.json_form.LOOKS_A_CHARACTER", 1)
    with pytest.raises(pl.FileLoadError, match="more array elements than a file of its length"):
        Report.from_json(text)


def test_reports_of_before_are_refused() -> None:
    message = "has version 1, but this version of poplite reads 6"
    with pytest.raises(pl.FileLoadError, match=message):
        Report.load(GOLDEN.with_name("version_1.json"))


def test_a_report_of_a_program_without_steps_is_loaded() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    flag = graph.add_variable(pl.BOOL, (), "flag", mapping=0)
    report = pl.Engine(graph, pl.RepeatWhileTrue(pl.Sequence(), flag, pl.Sequence())).report()
    assert Report.from_json(report.to_json()) == report


def test_json_is_plain_to_read(report: Report) -> None:
    data = json.loads(report.to_json())
    assert (data["poplite"], data["version"]) == ("report", 6)
    assert data["execution"]["cycles"] == 680
    compute = data["execution"]["steps"][0]["phases"][2]["tile_cycles"]
    assert compute == {"tiles": [[0, 2]], "values": [240, 120, 120]}
    code = data["compilation"]["modelled"]["held"][1]["bytes"]
    assert code == {"tiles": [[0, 3]], "values": 100}
    assert data["compilation"]["modelled"]["held"][2]["steps"] == [[0, 1], [3, 3]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.update(poplite="tiles"), "header is not that of a report"),
        (
            lambda data: data.update(version=3),
            "has version 3, but this version of poplite reads 6",
        ),
        (lambda data: data.pop("execution"), "the required field 'execution' is missing"),
        (lambda data: data["execution"].update(runs="1"), "'1' is not of type int"),
        (
            lambda data: data["instrumentation"].update(checks="some"),
            "'some' is not one of 'strict'",
        ),
        (lambda data: data["compilation"].update(vertex_types=3), "3 is not a valid list"),
        (
            lambda data: data["compilation"]["modelled"]["including_gaps"].update(of=2),
            "per-tile numbers must have the keys 'tiles' and 'values'; found {",
        ),
        (
            lambda data: data["compilation"]["modelled"]["including_gaps"].update(values=[1]),
            "4 numbers are needed; found 1: ",
        ),
        (
            lambda data: data["compilation"]["modelled"]["including_gaps"].update(
                tiles=[[0, 10**15]], values=1
            ),
            "less than 4; found 1,000,000,000,000,000",
        ),
        (
            lambda data: data["compilation"]["modelled"]["including_gaps"].update(values=[1.5] * 4),
            "is not a list of whole numbers",
        ),
        (lambda data: data["tables"].update(uint16="AAECAwQFBg=="), "buffer size must be a mult"),
        (lambda data: data["tables"].update(uint9=""), "'uint9' is not a valid type of numbers"),
        (lambda data: data.pop("tables"), "None is not a valid set of tables"),
        (
            lambda data: next(iter(data["compilation"]["programs"].values()))[0].pop(),
            "compilation.programs: .* is not a valid program",
        ),
        (lambda data: tabled(data, "uint8", 0, [4]), "tile numbers must be less than 4; found 11"),
        (lambda data: tabled(data, "uint8", 2, [3]), "is not in the file"),
        (
            lambda data: tabled(data, "uint8", 0, [2, 2]),
            "is not a valid reference to numbers",
        ),
        (lambda data: tabled(data, "int64", 0, [2]), "tiles must ascend; found the distances"),
        (lambda data: tabled(data, "float16", 0, [4]), "is not in the file"),
        (
            lambda data: data["compilation"]["modelled"]["including_gaps"].update(
                values=[4, -1, 4, 4]
            ),
            "has numbers below 0",
        ),
        (lambda data: data["compilation"]["target"].update(tiles=0), "at least 1 is needed"),
        (lambda data: data.update(cut=[1, 4]), r"Report.cut cannot be \(1, 4\)"),
        (lambda data: data.update(cut=[2, 1]), r"Report.cut cannot be \(2, 1\)"),
    ],
)
def test_damaged_json_is_refused(
    report: Report, change: Callable[[Any], object], message: str
) -> None:
    data = json.loads(report.to_json())
    change(data)
    with pytest.raises(pl.FileLoadError, match=message):
        Report.from_json(json.dumps(data))


def tabled(data: Any, *ref: object) -> None:
    """Let the tiles of some numbers be part of tables."""
    minus = np.array([2, -1], np.int64).tobytes()
    data["tables"].update(uint8="AAEBCQ==", int64=b64encode(minus).decode())
    data["compilation"]["modelled"]["including_gaps"].update(tiles=[*ref], values=1)


def test_files_that_are_no_reports(tmp_path: Path) -> None:
    with pytest.raises(pl.FileLoadError, match="cannot be loaded as a report"):
        Report.from_json("{")
    (path := tmp_path / "latin").write_bytes(b'{"\xff": 1}')
    for load in (Report.load, pl.Sweep.load):
        with pytest.raises(pl.FileLoadError, match="it is not text: "):
            load(path)
    with pytest.raises(pl.FileLoadError, match=r"cannot read .*absent\.json.*No such file"):
        Report.load(tmp_path / "absent.json")


# -- differences -----------------------------------------------------------------------------------


def test_changes_from_one_report_to_another(report: Report) -> None:
    faster = replace(BLUR, cycles=390, phases=PHASES[:2])
    fewer = replace(PLAN, including_gaps=tiles(504, 904, 100, 100), held=PLAN.held[1:])
    diff = report.diff(report_of(faster, replace(COPY, name="z to y"), plan=fewer))
    assert [(c.name, c.before, c.after) for c in diff.totals] == [
        ("cycles", 680, 580),
        ("fullest tile, B", 1004, 904),
        ("all tiles, B", 1708, 1608),
    ]
    assert [(c.name, c.change) for c in diff.steps] == [
        ("x to y", -190),
        ("z to y", 190),
        ("blur", -100),
    ]
    assert {c.name: c.change for c in diff.phases if c.change} == {"work": -120, "waiting": 20}
    assert {c.name: c.change for c in diff.memory if c.change} == {"variable": -800}
    assert repr(diff) == "<ReportDiff 3 steps changed>"
    lines = str(diff).splitlines()
    assert lines[:2] == [
        "                 before  after  change",
        "cycles              680    580    -100   -14.7%",
    ]
    assert "  x to y            190      0    -190  -100.0%" in lines
    assert "  z to y              0    190    +190      new" in lines
    assert "bytes of memory:" in lines


def test_names_of_reports_stand_above_their_columns(report: Report) -> None:
    diff = report.diff(report)
    assert diff.text(("base.json", "pr.json")).splitlines()[0].split() == [
        *("base.json", "pr.json"),
        "change",
    ]
    # Names that would be cut to the same, or leave no room, are told on lines of their own.
    long = f"{'a' * 30}1{'b' * 30}", f"{'a' * 30}2{'b' * 30}"
    for names, width in ((("base.json", "later.json"), 40), (long, None)):
        lines = diff.text(names, width=width).splitlines()
        assert lines[:2] == [f"before  {names[0]}", f"after   {names[1]}"]
        assert lines[2].split() == ["before", "after", "change"]


def test_reports_of_nothing_that_ran_are_compared_as_compiled() -> None:
    def built(times: int) -> Report:
        graph = pl.Graph(pl.Target(tiles=2))
        a, b = (graph.add_variable(pl.INT, (8,), name, mapping=0) for name in "ab")
        return pl.Engine(graph, pl.Repeat(times, pl.Copy(a, b))).report()

    assert list(built(1).places) == list(built(1).compilation.planned)
    cycles = built(1).diff(built(3)).totals[0]
    assert cycles.after == 3 * cycles.before > 0


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [(10, 30_900, "×3,090"), (10, 99, "+890.0%"), (10, 100, "×10"), (100, 1, "-99.0%")],
)
def test_from_tenfold_on_it_is_told_how_many_times(before: int, after: int, words: str) -> None:
    assert str(Change("x", before, after)).endswith(f"  {words}")


def test_no_change_is_said(report: Report) -> None:
    text = str(report.diff(report))
    assert "cycles of steps: no change" in text
    assert "680    680      +0  +0.0%" in text
    nothing = report_of(plan=None)
    assert str(nothing.diff(report)).startswith("neither cycles nor memory are modelled in both")


# -- text ------------------------------------------------------------------------------------------


def test_the_text_is_that_of_the_golden_file(report: Report) -> None:
    if os.environ.get("POPLITE_UPDATE_GOLDEN"):
        GOLDEN.write_text(f"{report}\n")
    assert f"{report}\n" == GOLDEN.read_text()


def test_the_first_lines_tell_most(report: Report) -> None:
    assert str(report).splitlines()[:6] == [
        "Summary:",
        "  Total cycles:  680 (approx 0.7 microseconds)",
        "  Spent on:      sync 39.7%, waiting for other tiles 34.2%, work 17.6%, "
        "IPU exchange 7.0%, on-tile copy 1.5%",
        "  Largest step:  blur, 72.1% of total",
        "  Vertex cycles: formula, guessed",
        "  Fullest tile:  1,004 of 1,000 B, on tile 1",
    ]


def test_repr_is_one_line(report: Report) -> None:
    assert repr(report) == "<Report 1 run, 3 steps, 8 vertices, 680 cycles>"
    assert repr(report_of(plan=None)) == "<Report 1 run, 3 steps, 8 vertices>"


def test_long_lists_are_cut() -> None:
    many = [replace(COPY, name=f"copy {n}", row=3) for n in range(13)]
    assert "... 3 more" in str(report_of(*many))


def test_before_a_run_text_and_insights_are_those_of_one_run() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    a = graph.add_variable(pl.INT, (64,), "a", mapping=0, initial_value=1)
    b = graph.add_variable(pl.INT, (64,), "b", mapping=2)
    engine = pl.Engine(graph, pl.Repeat(3, pl.Copy(a, b)))
    planned = engine.report()
    engine.run()
    ran = engine.report()
    assert planned.shown.cycles == ran.cycles
    assert ran.shown == ran.execution
    assert planned.insights == ran.insights
    assert ran.insights.findings
    before, after = str(planned), str(ran)
    assert before.count(f"{ran.cycles:,} (approx") == 2
    assert before.count(", as compiled)") == 2
    assert before.count("  Cycles are:   as compiled, of one run\n") == 1
    assert before[before.index("Largest steps") :] == after[after.index("Largest steps") :]
    assert "as compiled" in planned.rows()["cycles"]
    assert "as compiled" not in after


# -- numbers per tile ------------------------------------------------------------------------------


def test_numbers_per_tile() -> None:
    numbers = np.array([0, 7, 7, 0, 9])
    per_tile = PerTile.of(numbers)
    assert list(per_tile) == numbers.tolist()
    assert [per_tile[k] for k in range(-5, 5)] == [*numbers.tolist(), *numbers.tolist()]
    assert per_tile[1:4] == [7, 7, 0]
    assert (per_tile.total, per_tile.most, per_tile.mean) == (23, 9, 4.6)
    assert (per_tile.worst_tile, per_tile.num_used, len(per_tile)) == (4, 3, 5)
    with pytest.raises(IndexError):
        per_tile[5]
    with pytest.raises(ValueError, match="read-only"):
        per_tile.array()[0] = 1
    nothing = PerTile.nothing(3)
    assert (nothing.total, nothing.most, nothing.worst_tile, list(nothing)) == (0, 0, None, [0] * 3)
    assert nothing != PerTile.nothing(4)


# -- files that may hold anything ------------------------------------------------------------------


def peak_of(call: Callable[[], object]) -> int:
    """Return the most memory that a call takes, in bytes."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_equal_numbers_in_other_forms_are_equal() -> None:
    size = 1 << 50  # too many to write out
    forms = [
        PerTile(size, Listed(0, np.array([3, 9])), constant(5, 2)),
        PerTile(size, Runs(np.array([3, 9]), np.array([4, 10])), Listed(5, np.array([0, 0]))),
        PerTile(size, Rising(np.array([3, 1, 5])), Listed(0, np.array([5, 0, 5]))),
    ]
    assert all(one == other for one in forms for other in forms)
    others = [
        replace(forms[0], num_tiles=size - 1),
        replace(forms[0], tiles=Listed(0, np.array([3, 8]))),
        replace(forms[0], values=Listed(0, np.array([5, 6]))),
        replace(forms[2], values=constant(5, 3)),
    ]
    assert not any(one == other for one in forms for other in others)


def test_ranges_of_many_tiles_take_the_room_of_their_numbers(report: Report) -> None:
    data = json.loads(report.to_json())
    most = 1 << 22
    data["compilation"]["target"].update(tiles=most, ipus=1)

    def widen(value: Any) -> None:
        if isinstance(value, dict) and {"tiles", "values"} <= value.keys():
            size = most**2 if "of" in value else most
            value |= {"of": size} if "of" in value else {}
            value.update(tiles=[[0, size // 2], [size // 2 + 2, size - 1]], values=1)
        elif isinstance(value, dict | list):
            for each in value.values() if isinstance(value, dict) else value:
                widen(each)

    data["compilation"].update(variables=[], accesses=[])  # which have numbers of pieces
    widen(data)
    text = json.dumps(data)
    assert peak_of(lambda: Report.from_json(text)) < 32 * len(text)


def test_numbers_of_other_tiles_are_refused(report: Report) -> None:
    text = report.to_json().replace('"tiles":[[0,3]]', f'"tiles":[[0,{1 << 28}]]')
    with pytest.raises(pl.FileLoadError, match="must be less than 4; found 268,435,456"):
        Report.from_json(text)
    with pytest.raises(pl.FileLoadError, match="is not a valid number in a report"):
        Report.from_json(report.to_json().replace('"runs":1', f'"runs":{1 << 63}'))


@pytest.mark.parametrize("kind", ["device", "pipe", "folder", "huge"])
@pytest.mark.parametrize("load", [Report.load, pl.Sweep.load])
def test_only_files_are_read(load: Callable[[Path], object], kind: str, tmp_path: Path) -> None:
    path = {"device": Path("/dev/zero"), "folder": tmp_path}.get(kind, tmp_path / "file")
    if kind == "pipe":
        os.mkfifo(path)
    if kind == "huge":
        with path.open("wb") as file:
            file.truncate(1 << 40)
    told = {"folder": "it is a folder, not a file", "huge": "1,099,511,627,776 B"}
    with pytest.raises(pl.FileLoadError, match=told.get(kind, "a device or a pipe, not a file")):
        load(path)


@pytest.mark.parametrize("bomb", thinned(["[],", '{"":{}},', "{},", '"",', "[1],", "0,"], keep=2))
def test_texts_take_bounded_memory(bomb: str) -> None:
    text = '{"poplite": "report", "version": 6, "compilation": [' + bomb * (600_000 // len(bomb))

    def load() -> None:
        with pytest.raises(pl.FileLoadError):
            Report.from_json(text + "0]}")

    assert peak_of(load) < 32 * len(text)


def test_steps_become_a_data_frame() -> None:
    pytest.importorskip("pandas", reason="the data frame needs the extra sweep")
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.FLOAT, (8,), "x", mapping="linear", initial_value=1)
    with graph.steps() as program:
        ops.map(ops.sum(ops.map(2 * x, name="twice")), name="all")
    engine = pl.Engine(graph, program)
    assert engine.report().to_pandas()["executions"].tolist() == [1, 1, 1]  # as compiled
    for _ in range(3):
        engine.run()
    report = engine.report()
    table = report.to_pandas()
    assert table["name"].tolist() == ["twice[like x]", "all/tiles", "all/final"]
    assert table["executions"].tolist() == [3, 3, 3]
    assert table["cycles"].sum() == report.cycles
    np.testing.assert_allclose(table[list(TIME_PARTS)].sum(axis=1), table["cycles"])
    assert table["bytes_received"].tolist() == [0, 0, 3 * 3 * 4]  # all tiles but the one that adds
    empty = pl.Engine(graph, pl.Sequence()).report().to_pandas()
    assert list(empty.columns) == list(table.columns)
