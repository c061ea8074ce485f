"""`Engine(..., interpret=[...])`: some classes and steps run as plain Python, others compiled."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest

import poplite as pl
from helpers.depth import thinned
from helpers.running import SOON, both_forms
from poplite.compile.options import ENVIRONMENT
from poplite.simulator.run import interpreted_vertices
from poplite.vertices import Add

Checks = Literal["fast", "strict"]
both_checks = pytest.mark.parametrize("checks", ["fast", "strict"])


class Double(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.y[i] = 2.0 * self.x[i]


class Third(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> bool:
        for i in range(len(self.x)):
            self.x[i] = self.x[i] / 3
        return self.x[0] > 0.5


class Below(pl.Vertex):
    """Raises below a limit; counts its rounds, which data decide on."""

    limit: pl.State[pl.FLOAT]
    x: pl.Input[pl.FLOAT]
    rounds: pl.InOut[pl.INT]

    def compute(self) -> None:
        if self.x < self.limit:
            raise ValueError(f"below {self.limit}")
        value = self.x
        while value > 1.0:
            value = value * 0.5
            self.rounds += 1


class Above(Below):
    """The same, as another class."""


class Workers(pl.MultiVertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self, worker: int) -> None:
        for i in range(worker, len(self.x), self.num_workers):
            self.x[i] = self.x[i] + worker


class Race(pl.MultiVertex):
    x: pl.InOut[pl.FLOAT]

    def compute(self, worker: int) -> None:
        self.x = self.x * 2 + worker


class Talking(pl.Vertex):
    x: pl.InOut[pl.FLOAT]

    def compute(self) -> None:
        print("x is", self.x)
        self.x += 1


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the classes whose vertices Python ran, one for each run."""
    ran: list[str] = []
    run = interpreted_vertices._run

    def noted(compute: Any, number: int, vertex: Any, *worker: int) -> bool:
        ran.append(vertex.__vertex__.__name__)
        return run(compute, number, vertex, *worker)

    monkeypatch.setattr(interpreted_vertices, "_run", noted)
    return ran


class Bench:
    """A compute set of two classes between others; on two replicas if need be."""

    def __init__(self, replicas: int = 1) -> None:
        target = pl.Target(tiles=4 * replicas, ipus=replicas)
        self.graph = graph = pl.Graph(target, replication_factor=replicas)
        values = np.arange(1, 9, dtype=np.float32)
        self.x = graph.add_variable(pl.FLOAT, (8,), "x", mapping=0, initial_value=values)
        self.y = graph.add_variable(pl.FLOAT, (8,), "y", mapping=1)
        self.w = graph.add_variable(pl.FLOAT, (8,), "w", mapping=2, initial_value=values)
        self.rounds = graph.add_variable(pl.INT, (8,), "rounds", mapping=0, initial_value=0)
        self.more = graph.add_variable(pl.BOOL, (), "more", mapping=0, initial_value=True)
        both = graph.add_compute_set("both")
        for k in range(4):
            pair = slice(2 * k, 2 * k + 2)
            graph.add_vertex(both, Double, tile=k, x=self.x[pair], y=self.y[pair])
            graph.add_vertex(both, Third, tile=k, x=self.w[k::4])
        self.counting = graph.add_compute_set("counting")
        for k in range(8):
            cls = (Below, Above)[k % 2]
            graph.add_vertex(
                self.counting, cls, tile=k % 4, limit=0, x=self.x[k], rounds=self.rounds[k]
            )
        workers = graph.add_compute_set("workers")
        graph.add_vertex(workers, Workers, tile=3, x=self.y)
        loop = pl.RepeatWhileTrue(
            pl.Execute(both, self.more), self.more, pl.Sequence(pl.Copy(self.y, self.x))
        )
        steps = [pl.Execute(self.counting), pl.Execute(workers), pl.Copy(self.y, self.x)]
        self.program = pl.Sequence(loop, pl.Repeat(2, pl.Sequence(*steps)))

    def ran(self, interpret: Any, checks: Checks) -> dict[str, Any]:
        """Return what a run leaves behind, and what it took."""
        engine = pl.Engine(self.graph, self.program, checks=checks, interpret=interpret)
        with engine.tracing() as trace:
            engine.run()
            engine.run()
        tensors = (self.x, self.y, self.w, self.rounds, self.more)
        report = engine.report()
        return {
            "values": [engine.read(tensor).tobytes() for tensor in tensors],
            "cycles": report.cycles,
            "steps": [replace(step, row=0) for step in report.execution.steps],
            "ran": (report.steps, report.vertices, report.runs_again),
            "trace": [step.name for step in trace.steps],
        }


@pytest.mark.parametrize("replicas", thinned([1, 2], keep=1))
@both_checks
def test_all_ways_of_choosing_do_the_same(checks: Checks, replicas: int) -> None:
    bench = Bench(replicas)
    expected = bench.ran(False, checks)
    for interpret in (
        True,
        [Double],
        ["Third", "Workers"],
        ["both"],
        ["counting", "workers", Third],
        [Above],
        [Double, Third, Below, Above, Workers],
    ):
        assert bench.ran(interpret, checks) == expected, interpret


def test_only_what_is_named_is_interpreted(runs: list[str]) -> None:
    bench = Bench()
    cases: list[tuple[Any, set[str]]] = [
        (["Third"], {"Third"}),
        (["both"], {"Double", "Third"}),
        ([Below], {"Below", "Above"}),  # one derives from the other
        ([Above, "workers"], {"Above", "Workers"}),
        (False, set()),
        ([], set()),
    ]
    for interpret, expected in cases:
        pl.Engine(bench.graph, bench.program, checks="fast", interpret=interpret).run()
        assert set(runs) == expected
        runs.clear()


@both_forms
def test_each_vertex_runs_once(interpret: bool, runs: list[str]) -> None:
    """In strict checks as well, where nothing that it reads is unwritten."""
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (4,), "x", mapping=0, initial_value=1)
    y = graph.add_variable(pl.FLOAT, (4,), "y", mapping=0)
    z = graph.add_variable(pl.FLOAT, (4,), "z", mapping=0, initial_value=1)
    step = graph.add_compute_set("step")
    for k in range(2):
        graph.add_vertex(step, Double, tile=k, x=x[2 * k : 2 * k + 2], y=(y, z)[k][:2])
    chosen: Any = True if interpret else ["Double"]
    for checks in ("fast", "strict"):
        engine = pl.Engine(graph, pl.Execute(step), checks=checks, interpret=chosen)
        for _ in range(2):
            engine.run()
            assert runs == ["Double"] * 2
            runs.clear()


def test_only_what_reads_unwritten_elements_runs_again(runs: list[str]) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (8,), "x", mapping=0)
    y = graph.add_variable(pl.FLOAT, (8,), "y", mapping=0)
    step = graph.add_compute_set("step")
    for k in range(4):
        pair = slice(2 * k, 2 * k + 2)
        graph.add_vertex(step, Double, tile=k % 2, x=x[pair], y=y[pair])
    engine = pl.Engine(graph, pl.Execute(step), checks="strict", interpret=True)
    engine.write(x[:7], 1)
    match = r"vertex 3 of 'Double' on tile 1 reads 'Double.x'\[1\], which is 'x'\[7\]"
    with pytest.raises(pl.UninitializedReadError, match=match):
        engine.run()
    assert len(runs) == 4 + engine.report().runs_again  # of one vertex
    assert engine.report().runs_again == 2


@both_checks
def test_outputs_that_keep_what_they_held_are_told_of(checks: Checks) -> None:
    class Half(pl.Vertex):
        y: pl.Output[pl.Vector[pl.INT]]
        rows: pl.Output[pl.Vector[pl.Vector[pl.INT]]]

        def compute(self) -> None:
            for i in range(len(self.y) // 2):
                self.y[i] = 0
            self.rows[1][0] = 0

    graph = pl.Graph(pl.Target(tiles=1))
    y = graph.add_variable(pl.INT, (4,), "y", mapping=0, initial_value=0)
    rows = graph.add_variable(pl.INT, (2, 2), "rows", mapping=0, initial_value=0)
    step = graph.add_compute_set("step")
    graph.add_vertex(step, Half, tile=0, y=y, rows=[rows[0], rows[1]])
    texts = []
    for interpret in (False, True, ["Half"]):
        engine = pl.Engine(graph, pl.Execute(step), checks=checks, interpret=interpret)
        with pytest.warns() as caught:  # noqa: PT031 (strict checks warn, and fast ones do not)
            engine.run()
            pl.errors.warn(pl.PopliteWarning("another"))
        texts.append([str(each.message) for each in caught])
        assert len(texts[-1]) == (3 if checks == "strict" else 1)
    assert texts[0] == texts[1] == texts[2]


@both_checks
@pytest.mark.parametrize("interpret", [True, [Below], [Above], ["counting"], False])
@pytest.mark.parametrize("bad", [2, 3, 5])
def test_the_first_fault_is_raised_whoever_ran_it(bad: int, interpret: Any, checks: Checks) -> None:
    bench = Bench()
    engine = pl.Engine(bench.graph, pl.Execute(bench.counting), checks=checks, interpret=interpret)
    engine.write(bench.x[bad], -1)
    engine.write(bench.x[6:], -1)
    cls = ("Below", "Above")[bad % 2]
    match = rf"vertex {bad} of '{cls}' on tile {bad % 4}: ValueError: below 0.0"
    with pytest.raises(ValueError, match=match) as caught:
        engine.run()
    assert caught.value.where == "step 1 of 1: Execute 'counting'"  # type: ignore[attr-defined]
    assert not engine.read(bench.rounds).any()
    engine.write(bench.x, 4)
    engine.run()
    assert engine.read(bench.rounds).tolist() == [2] * 8


def test_races_of_workers_are_found() -> None:
    bench = Bench()
    race = bench.graph.add_compute_set("race")
    bench.graph.add_vertex(race, Race, tile=0, x=bench.x[0])
    bench.graph.add_vertex(race, Third, tile=0, x=bench.w[:1])
    for interpret in (["Race"], ["Third"], ["race"]):
        engine = pl.Engine(bench.graph, pl.Execute(race), checks="strict", interpret=interpret)
        with pytest.raises(
            pl.WorkerRaceError, match="vertex 0 of 'Race' on tile 0: worker 1 reads 'Race.x'"
        ):
            engine.run()
        assert engine.read(bench.x[0]) == 1


def test_a_class_that_prints_runs_beside_compiled_ones(
    capsys: pytest.CaptureFixture[str], runs: list[str]
) -> None:
    bench = Bench()
    talk = bench.graph.add_compute_set("talk")
    bench.graph.add_vertex(talk, Talking, tile=0, x=bench.x[0])
    program = pl.Sequence(bench.program, pl.Execute(talk))
    with pytest.raises(pl.VertexCompileError, match="runs in the interpreted form only"):
        pl.Engine(bench.graph, program)
    pl.Engine(bench.graph, program, checks="strict", interpret=["Talking"]).run()
    assert capsys.readouterr().out == "x is 2.0\n"
    assert runs == ["Talking"]


@both_checks
def test_a_run_is_stopped_in_the_middle_of_a_vertex_set(checks: Checks) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    n = graph.add_variable(pl.FLOAT, (200, 400), "n", mapping=0, initial_value=3)
    step = graph.add_compute_set("step")
    for k in range(200):
        graph.add_vertex(step, Third, tile=0, x=n[k])
    options = {"debug.allowOutOfMemory": True}
    programs = {"long": pl.Repeat(2**32 - 1, pl.Execute(step)), "once": pl.Execute(step)}
    engine = pl.Engine(graph, programs, checks=checks, interpret=["step"], options=options)
    threading.Timer(0.3, engine.stop).start()
    begin = time.monotonic()
    engine.run("long")
    assert time.monotonic() - begin < SOON
    assert len(np.unique(engine.read(n))) == 1  # a step has run, or has not
    engine.load()
    engine.run("once")
    assert (engine.read(n) == 1).all()


def test_templates_are_named_without_their_types(runs: list[str]) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (2,), "x", mapping=0, initial_value=1)
    step = graph.add_compute_set("step")
    graph.add_vertex(step, Add[pl.FLOAT], tile=0, a=x[:1], b=x[:1], out=x[1:])
    for interpret in (["Add"], [Add], ["Add[FLOAT]"]):
        pl.Engine(graph, pl.Execute(step), checks="fast", interpret=interpret).run()
        assert runs == ["Add[FLOAT]"]
        runs.clear()


@pytest.mark.parametrize(
    ("interpret", "what"),
    [
        (["Tird"], r"no class or step that runs has the name 'Tird' \(did you mean 'Third'\?\)"),
        (["Third", "countin"], r"'countin' \(did you mean 'counting'\?\)"),
        ([Talking], "no class or step that runs has the name 'Talking'"),
    ],
)
def test_names_that_nothing_has_are_refused(interpret: Any, what: str) -> None:
    bench = Bench()
    compiled = pl.compile_graph(bench.graph, bench.program)
    calls: list[Callable[[], object]] = [
        lambda: pl.Engine(bench.graph, bench.program, interpret=interpret),
        lambda: pl.compile_graph(bench.graph, bench.program, interpret=interpret),
        lambda: pl.Engine(compiled, interpret=interpret),
    ]
    for call in calls:
        with pytest.raises(pl.UnknownName, match=what) as caught:
            call()
        assert "steps: both, counting, workers" in caught.value.found
        assert "test_interpret_some.py" in str(caught.value.at)


@pytest.mark.parametrize("interpret", ["Third", Third, [3], [None]])
def test_anything_but_a_list_of_names_is_refused(interpret: Any) -> None:
    bench = Bench()
    with pytest.raises(pl.InvalidOption, match="a list of classes and names of steps") as caught:
        pl.Engine(bench.graph, bench.program, interpret=interpret)
    assert 'interpret=["Align"]' in caught.value.fix


def test_the_environment_chooses_too(monkeypatch: pytest.MonkeyPatch, runs: list[str]) -> None:
    monkeypatch.setenv(ENVIRONMENT, json.dumps({"interpret": ["Third"]}))
    bench = Bench()
    engine = pl.Engine(bench.graph, bench.program, checks="fast")
    engine.run()
    assert set(runs) == {"Third"}
    assert engine.interpret == ("Third",)
    monkeypatch.setenv(ENVIRONMENT, '{"interpret": [1]}')
    with pytest.raises(pl.InvalidOption, match="true or false, or a list of classes"):
        pl.Engine(bench.graph, bench.program)


def test_repr_says_which() -> None:
    bench = Bench()
    cases: list[tuple[Any, str]] = [
        (["Third", Double], "interpret=['Third', Double] and the others compiled"),
        (True, "interpreted"),
        ([], "compiled"),
    ]
    for interpret, form in cases:
        engine = pl.Engine(bench.graph, bench.program, checks="fast", interpret=interpret)
        assert repr(engine) == f"<Engine 1 program on 4 tiles, {form}, fast checks>"


def test_an_executable_is_to_be_compiled_for_it() -> None:
    bench = Bench()
    compiled = pl.compile_graph(bench.graph, bench.program, checks="fast", interpret=["both"])
    pl.Engine(compiled, interpret=["both"]).run()
    pl.Engine(compiled, interpret=["counting"]).run()  # which raises, and is saved anyway
    match = r"interpret=\['workers'\] needs an executable that saves elements before 'workers'"
    with pytest.raises(pl.InvalidOption, match=match):
        pl.Engine(compiled, interpret=["workers"])
