"""Traces: steps in the order they ran, and events that Perfetto can nest."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from poplite.compile.compiler import compile_graph
from poplite.cost.step_cost import PhaseCost, StepCost
from poplite.report.per_tile import PerTile
from poplite.report.trace import trace_of
from poplite.simulator.running import Recording

FORMS = [
    pytest.param({"interpret": interpret, "checks": checks}, id=f"{checks}-{form}")
    for interpret, form in ((False, "compiled"), (True, "interpreted"))
    for checks in ("strict", "fast")
]
forms = pytest.mark.parametrize("form", FORMS)


class Add(pl.Vertex):
    """y += x."""

    x: pl.Input[pl.Vector[pl.INT]]
    y: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] += self.x[i]


class Grow(pl.Vertex):
    """Takes longer each time."""

    n: pl.InOut[pl.INT]
    sum: pl.InOut[pl.INT]

    def compute(self) -> None:
        k = 0
        while k < self.n:
            self.sum += k
            k += 1
        self.n = self.n + 3


class Bench:
    """A graph with named steps."""

    def __init__(self) -> None:
        self.graph = pl.Graph(pl.Target(tiles=4))
        self.x, self.y, self.z, self.n = (
            self.graph.add_variable(pl.INT, (8,), name, mapping="linear", initial_value=1)
            for name in "xyzn"
        )

    def add(self, name: str) -> pl.Program:
        """Return an Execute whose fields are gathered and scattered."""
        compute_set = self.graph.add_compute_set(name)
        x, y = (t.reshape((4, 2)).transpose() for t in (self.x, self.y))
        for tile in range(2):
            self.graph.add_vertex(compute_set, Add, tile=tile, x=x[tile], y=y[tile])
        return pl.Execute(compute_set)


@forms
def test_steps_are_recorded_in_their_order(form: dict[str, Any]) -> None:
    bench = Bench()
    add, more = bench.add("add"), bench.add("more")
    there, back = pl.Copy(bench.y, bench.z), pl.Copy(bench.z, bench.y)
    function = bench.graph.add_function(pl.Sequence(more, pl.Repeat(2, there)))
    stamped = pl.Sequence()
    pl.cycle_stamp(bench.graph, stamped, name="now")
    programs = {
        "main": pl.Sequence(
            pl.Repeat(2, pl.Sequence(add, back)),
            pl.If(bench.n[0], pl.Call(function), add),
            stamped,
            pl.Call(function),
        ),
        "again": add,
    }
    engine = pl.Engine(bench.graph, programs, **form)
    engine.run("again")
    with engine.tracing() as trace:
        engine.run()
        engine.run("again")
    engine.run()
    called = ["more", "y to z", "y to z"]
    assert [step.name for step in trace.steps] == [
        *("add", "z to y", "add", "z to y"),
        *called,
        "CycleStamp 'now'",
        *called,
        "add",
    ]
    assert trace.is_complete
    before = engine.report()
    engine.run()
    engine.run("again")
    taken = engine.report().diff(before).totals[0].change
    assert trace.cycles == -taken


@pytest.mark.parametrize("checks", ["strict", "fast"])
def test_what_takes_longer_each_time_adds_up(checks: Any) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    n = graph.add_variable(pl.INT, (3,), "n", mapping=0, initial_value=[1, 20, 300])
    s = graph.add_variable(pl.INT, (3,), "s", mapping=0, initial_value=0)
    grow = graph.add_compute_set("grow")
    for k, tile in enumerate((0, 1, 1)):
        graph.add_vertex(grow, Grow, tile=tile, n=n[k], sum=s[k])
    engine = pl.Engine(graph, pl.Repeat(7, pl.Execute(grow)), checks=checks)
    engine.run()
    before = engine.report().cycles
    with engine.tracing() as trace:
        engine.run()
    after = engine.report().cycles
    assert before is not None
    assert after is not None
    assert after > 2 * before
    assert trace.cycles == after - before
    assert trace.steps[0].executions == 7
    assert sum(cycles for *_, cycles in events(trace.to_json())[0, "steps"]) == trace.cycles


@forms
def test_what_is_beyond_the_limit_runs_untold(form: dict[str, Any]) -> None:
    bench = Bench()
    engine = pl.Engine(bench.graph, pl.Repeat(10, bench.add("add")), **form)
    with engine.tracing(limit=3) as trace:
        engine.run()
    assert ([step.name for step in trace.steps], trace.is_complete) == (["add"] * 3, False)
    assert repr(trace).startswith("<Trace 3 steps, and more, ")
    assert engine.report().steps == 10
    with engine.tracing(limit=10) as trace:
        engine.run()
    assert (len(trace.steps), trace.is_complete) == (10, True)


def test_a_trace_within_a_trace_and_one_that_fails() -> None:
    bench = Bench()
    engine = pl.Engine(bench.graph, bench.add("add"))
    found = []

    def run_two() -> None:
        with engine.tracing() as trace:
            found.append(trace)
            engine.run()
            engine.run("other")

    with engine.tracing() as outer:
        engine.run()
        with pytest.raises(pl.UnknownName):
            run_two()
        engine.run()
    engine.run()
    assert (len(outer.steps), len(found[0].steps)) == (2, 1)


def test_a_trace_of_nothing() -> None:
    bench = Bench()
    with pl.Engine(bench.graph, bench.add("add")).tracing() as trace:
        pass
    assert (list(trace.steps), trace.cycles, trace.is_complete) == ([], 0, True)
    assert events(trace.to_json()) == {}


def test_a_trace_needs_the_model_and_room() -> None:
    bench = Bench()
    add = bench.add("add")
    engine = pl.Engine(bench.graph, add, options={"debug.instrument": False})
    with (
        pytest.raises(pl.ControlProgramError, match=r"not modelled(.|\n)*debug\.instrument"),
        engine.tracing(),
    ):
        pass
    with (
        pytest.raises(
            pl.ControlProgramError, match="limit must be from 1 to 134,217,728 steps; found 0"
        ),
        pl.Engine(bench.graph, add).tracing(limit=0),
    ):
        pass


# -- Chrome's format -------------------------------------------------------------------------------


def spread(*numbers: int) -> PerTile:
    """Return a number for each tile."""
    return PerTile.of(np.array(numbers, np.int64))


COST = StepCost(
    before=(
        PhaseCost("copy", spread(40, 0, 10, 0)),
        PhaseCost("exchange", spread(30, 70, 0, 0), 90),
        PhaseCost("copy", spread(5, 50, 60, 0)),
    )
)


def traced(ipus: int = 1) -> Any:
    """Return the trace of two Copies with costs by hand, at 1 GHz."""
    graph = pl.Graph(pl.Target(tiles=4, ipus=ipus, clock_hz=1e9))
    a, b = (graph.add_variable("int32", (4,), name, mapping="linear") for name in "ab")
    graph.create_host_write("a", a)
    executable = compile_graph(graph, pl.Repeat(2, pl.Copy(a, b)))
    engine = pl.Engine(replace(executable, costs=(COST,)))
    engine.write("a", [1, 2, 3, 4])
    with engine.tracing() as trace:
        engine.run()
    return trace


def events(text: str) -> dict[tuple[int, str], list[tuple[str, float, float, int]]]:
    """Return name, begin, end and cycles of the events of each track, by IPU and name."""
    data = json.loads(text)["traceEvents"]
    processes = {e["pid"]: int(e["args"]["name"][4:]) for e in data if e["name"] == "process_name"}
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in data if e["name"] == "thread_name"}
    assert min(processes) > 0
    assert min(names)[1] > 0
    found = defaultdict(list)
    for e in data:
        if e["ph"] == "X":
            end = round(e["ts"] + e["dur"], 6)
            track = processes[e["pid"]], names[e["pid"], e["tid"]]
            found[track].append((e["name"], e["ts"], end, e["args"]["cycles"]))
        else:
            assert e["ph"] in "MCi"
    return found


def test_events_of_steps_phases_and_tiles() -> None:
    found = events(traced().to_json(tiles=[2, 0]))
    assert list(found) == [(0, "steps"), (0, "phases"), (0, "tile 0"), (0, "tile 2")]
    assert found[0, "steps"] == [("a to b", 0, 0.25, 250), ("a to b", 0.25, 0.5, 250)]
    assert found[0, "phases"][:4] == [
        ("copy", 0, 0.04, 40),
        ("sync", 0.04, 0.13, 90),
        ("exchange", 0.13, 0.2, 70),  # of tile 1, the slowest
        ("copy", 0.2, 0.25, 50),
    ]
    assert found[0, "tile 0"][:3] == [
        ("copy", 0, 0.04, 40),
        ("exchange", 0.13, 0.16, 30),
        ("copy", 0.16, 0.165, 5),
    ]
    assert found[0, "tile 2"][2:] == [("copy", 0.25, 0.26, 10), ("copy", 0.38, 0.44, 60)]


def test_slices_say_where_they_come_from_and_what_moves() -> None:
    bench = Bench()
    engine = pl.Engine(bench.graph, pl.Repeat(3, bench.add("add")))
    with engine.tracing() as trace:
        engine.run()
    data = json.loads(trace.to_json())
    step = next(e for e in data["traceEvents"] if e.get("cat") == "step")["args"]
    assert step["at"].startswith("tests/unit/report/test_trace.py:")
    assert (step["step"], step["received"]) == (1, 72)
    moved = {
        (e["args"]["bytes"], e["args"]["why"], e["args"]["at"] == step["at"])
        for e in data["traceEvents"]
        if e.get("cat") == "exchange" and e["tid"] == 2
    }
    assert moved == {
        (
            48,
            "field 'x' of Add comes from other tiles; field 'y' of Add comes from other tiles",
            True,
        ),
        (24, "field 'y' of Add goes to other tiles", True),
    }


def test_slices_of_a_tile_are_its_own() -> None:
    bench = Bench()
    engine = pl.Engine(bench.graph, pl.Repeat(3, bench.add("add")))
    with engine.tracing() as trace:
        engine.run()
    tiles = range(engine.executable.target.tiles)
    data = json.loads(trace.to_json(tiles))["traceEvents"]
    (step,) = engine.report().places
    for tile in tiles:
        own = [e for e in data if e["ph"] == "X" and e["tid"] == 3 + tile]
        expected = []
        for phase in step.phases:
            moved = max(phase.received[tile], phase.sent[tile], phase.copied[tile]) // 3
            if phase.tile_cycles[tile]:
                expected.append((phase.kind, phase.tile_cycles[tile] // 3, moved))
        found = [(e["cat"], e["args"]["cycles"], e["args"].get("bytes", 0)) for e in own]
        assert found == 3 * expected
        assert all("balance" not in e["args"] for e in own)
    whole = [e["args"]["bytes"] for e in data if e.get("cat") == "exchange" and e["tid"] == 2]
    assert set(whole) == {48, 24}


def test_counters_say_who_waits_and_what_is_live() -> None:
    data = json.loads(traced().to_json())["traceEvents"]
    waiting = [(e["ts"], e["args"]["tiles"]) for e in data if e["name"] == "tiles waiting"]
    # Copying takes 40 and 10 cycles on 2 of 4 tiles; then 120 on the slowest, and 215 on all.
    once = [(0, 3), (0.04, 4), (0.13, 2)]
    assert waiting == [*once, *((round(at + 0.25, 2), tiles) for at, tiles in once), (0.5, 0)]
    syncs = [(e["ts"], e["args"]["cycles"]) for e in data if e["ph"] == "i"]
    assert syncs == [(0.04, 90), (0.29, 90)]
    live = [e["args"]["bytes"] for e in data if e["ph"] == "C" and "bytes" in e["args"]]
    assert len(live) == 2
    assert min(live) > 3000  # with the stacks


REQUIRED = {
    "X": {"name": str, "cat": str, "ts": float, "dur": float, "pid": int, "tid": int},
    "C": {"name": str, "ts": float, "pid": int},
    "i": {"name": str, "cat": str, "ts": float, "pid": int, "tid": int, "s": str},
    "M": {"name": str, "pid": int},
}
"""Fields of the events of each kind in the Trace Event Format, beside `ph` and `args`."""

NAMES = {
    "process_name": {"name": str},
    "thread_name": {"name": str},
    "thread_sort_index": {"sort_index": int},
}
"""What events that name things may say."""


@pytest.mark.parametrize("ipus", [1, 2])
def test_events_keep_to_the_format(ipus: int) -> None:
    data = json.loads(traced(ipus).to_json(tiles=range(4)))
    assert set(data) == {"displayTimeUnit", "otherData", "traceEvents"}
    assert data["displayTimeUnit"] in ("ms", "ns")
    assert data["otherData"]["replicas"] == 1
    assert {event["ph"] for event in data["traceEvents"]} == set(REQUIRED)
    tracks = {(e["pid"], e["tid"]) for e in data["traceEvents"] if e["name"] == "thread_name"}
    for event in data["traceEvents"]:
        needed = REQUIRED[event["ph"]]
        is_of_thread = event["name"].startswith("thread_")
        assert event.keys() == {*needed, "ph", "args", *(("tid",) if is_of_thread else ())}
        for name, kind in needed.items():
            assert isinstance(event[name], (int, float) if kind is float else kind), event
        said = {name: type(value) for name, value in event["args"].items()}
        assert event["name"]
        assert said
        if event["ph"] == "M":
            assert said == NAMES[event["name"]]
        assert set(said.values()) <= {str, int, float}
        assert event.get("s", "g") in ("g", "p", "t")
        if event["ph"] in "Xi":
            assert (event["pid"], event["tid"]) in tracks
        if event["ph"] == "C":
            assert all(isinstance(number, int) for number in event["args"].values())
        assert event.get("dur", 0) >= 0
        assert event.get("ts", 0) >= 0
    # What is on the track of steps holds all that happens on the others.
    begins = [(e["ts"], e["ts"] + e["dur"]) for e in data["traceEvents"] if e.get("cat") == "step"]
    for event in data["traceEvents"]:
        if event["ph"] == "X":
            inside = [(a, b) for a, b in begins if a <= event["ts"] + 1e-9]
            assert event["ts"] + event["dur"] <= inside[-1][1] + 1e-9


def test_a_report_keeps_what_its_trace_tells() -> None:
    bench = Bench()
    add, back = bench.add("add"), pl.Copy(bench.z, bench.y)
    engine = pl.Engine(bench.graph, pl.Sequence(pl.Repeat(2, pl.Sequence(add, back)), add))
    with engine.tracing() as trace:
        engine.run()
    report = pl.Report.from_json(engine.report().with_order(trace).to_json())
    assert trace_of(report).to_json() == trace.to_json()
    assert list(trace_of(engine.report()).steps) == []


def test_each_ipu_is_a_process() -> None:
    found = events(traced(ipus=2).to_json(tiles=[1, 2]))
    assert [name for ipu, name in found if ipu == 1] == ["steps", "phases", "tile 2"]
    assert found[1, "phases"][:1] == [("copy", 0, 0.01, 10)]  # of tile 2
    assert (0, "tile 1") in found


def test_a_few_tiles_are_chosen() -> None:
    tracks = events(traced().to_json())
    tiles = {name for _, name in tracks if name.startswith("tile")}
    assert tiles == {"tile 0", "tile 1", "tile 2"}


def test_tiles_that_are_not_there() -> None:
    with pytest.raises(pl.InvalidTileMapping, match=r"no tile 4 (.|\n)*tiles are 0 to 3"):
        traced().to_json(tiles=[0, 4])


@pytest.mark.parametrize("clock", [1.33e9, 1.6e9, 1.85e9])
def test_events_of_a_track_do_not_overlap(clock: float, tmp_path: Path) -> None:
    graph = pl.Graph(pl.Target(tiles=4, clock_hz=clock))
    x, y = (
        graph.add_variable(pl.INT, (8,), name, mapping="linear", initial_value=1) for name in "xy"
    )
    engine = pl.Engine(graph, pl.Repeat(50, pl.Copy(x.reverse(0), y)))
    with engine.tracing() as trace:
        engine.run()
    trace.save(tmp_path / "run.json", tiles=range(4))
    text = (tmp_path / "run.json").read_text()
    assert text == trace.to_json(tiles=[3, 2, 1, 0])
    data = json.loads(text)
    assert data["otherData"]["cycles"] == trace.cycles == engine.report().cycles
    tracks = defaultdict(list)
    for event in data["traceEvents"]:
        if event["ph"] == "X":  # whole nanoseconds, as Perfetto reads them
            begin, length = (round(1000 * event[key]) for key in ("ts", "dur"))
            tracks[event["tid"]].append((begin, begin + length))
    assert len(tracks) == 6
    for times in tracks.values():
        assert all(first[1] <= then[0] for first, then in zip(times, times[1:], strict=False))


def test_a_full_recording_takes_no_more() -> None:
    recording = Recording(3)
    recording.begin("a")
    recording.add([1, 2])
    recording.begin("b")
    assert not recording.is_full
    recording.add([3, 4])
    recording.begin("c")
    assert list(recording.rows()) == [("a", 1), ("a", 2), ("b", 3)]
    assert recording.is_full
