"""Every sentence of insights, and every number of ops and diff, is held against the report."""

from __future__ import annotations

import inspect
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

import poplite as pl
from helpers.depth import thinned
from helpers.view_page import ViewPage
from poplite.report import Report
from poplite.report.execution import ExecutionStep, Phase
from poplite.report.findings import REMEDIES, Finding, FindingKind
from poplite.report.trace import Trace
from poplite.tools.viz.load_report import load
from poplite.viz.exchange import traffic_of
from poplite.viz.page.pack import Arrays
from poplite.viz.page.report_data import report_data
from poplite.viz.steps import ScopeCost, scope_tree
from poplite.viz.summary import overview_of

EXAMPLES = Path(__file__).parents[3] / "examples"


class Total(pl.Vertex):
    """Adds five fields up."""

    a: pl.Input[pl.Vector[pl.FLOAT]]
    b: pl.Input[pl.Vector[pl.FLOAT]]
    c: pl.Input[pl.Vector[pl.FLOAT]]
    d: pl.Input[pl.Vector[pl.FLOAT]]
    e: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        total = 0.0
        for i in range(len(self.a)):
            total += self.a[i] + self.b[i] + self.c[i] + self.d[i] + self.e[i]
        self.y = total


class Work(pl.Vertex):
    """Works as long as its field is."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = self.x[i] * self.x[i]


def five_fields(*, stays: bool) -> Report:
    """Five fields of unlike lengths, put together on their tile or brought from another one."""
    graph = pl.Graph(pl.Target(tiles=4))
    y = graph.add_variable(pl.FLOAT, (), "y", mapping=1)
    work = graph.add_compute_set("total")
    fields = {}
    for number, name in enumerate("abcde"):
        tensor = graph.add_variable(
            pl.FLOAT, (8 * (number + 1),), name, mapping=1 if stays else 2, initial_value=1
        )
        fields[name] = tensor.reverse(0) if stays else tensor
    graph.add_vertex(work, Total, tile=1, y=y, **fields)
    return ran(graph, pl.Repeat(3, pl.Execute(work)))


def uneven() -> Report:
    """One tile works longer than others in the first set, another one in the second."""
    graph = pl.Graph(pl.Target(tiles=4))
    sets = []
    for slow in (0, 3):
        work = graph.add_compute_set("work")
        for tile in range(4):
            size = 800 if tile == slow else 100
            x = graph.add_variable(pl.FLOAT, (size,), mapping=tile, initial_value=1)
            graph.add_vertex(work, Work, tile=tile, x=x)
        sets.append(pl.Execute(work))
    return ran(graph, pl.Repeat(3, pl.Sequence(*sets)))


class Scale(pl.Vertex):
    """Takes as long as it says."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]
    y: pl.Input[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = self.x[i] * self.y[i]

    def cycles(self, target: pl.Target) -> int:
        """Return two cycles for each."""
        return 10 + 2 * len(self.x)


def between_ipus() -> Report:
    """Copies and vertices take elements from their own tile, from its IPU and from the other."""
    graph = pl.Graph(pl.Target(tiles=8, ipus=2))
    x = graph.add_variable(pl.FLOAT, (8, 40), "x", mapping="linear", initial_value=1)
    y = graph.add_variable(pl.FLOAT, (40, 8), "y", mapping="linear")
    z = graph.add_variable(pl.FLOAT, (8, 30), "z", mapping="linear", initial_value=1)
    scale = graph.add_compute_set("scale")
    for tile in range(8):
        part = y.flatten()[4 * tile :: 10][:30]
        graph.add_vertex(scale, Scale, tile=tile, x=z[(tile + 3) % 8], y=part)
    function = graph.add_function(pl.Execute(scale))
    calls = pl.Repeat(3, pl.Call(function)), pl.Call(function)
    return ran(graph, pl.Sequence(pl.Copy(x.T, y), *calls))


def through_the_host() -> Report:
    """Streams, and a remote buffer whose row is on a tile: bytes go both ways at once."""
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (20,), "x", mapping="linear", initial_value=1)
    row = graph.add_variable(pl.UNSIGNED_INT, (), "row", mapping=0, initial_value=1)
    buffer = graph.add_remote_buffer("rows", pl.FLOAT, 20, 4)
    out = graph.add_device_to_host_fifo("out", pl.FLOAT, 20)
    again = pl.Repeat(3, pl.Copy(buffer, x.reverse(0), row))
    return ran(graph, pl.Sequence(pl.Copy(x, buffer, row), again, pl.Copy(x, out)))


def operations() -> Report:
    """Operations in scopes, one of several steps, and results that are stored elsewhere."""
    graph, prog = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    with graph.scope("net"):
        x = graph.add_variable(pl.FLOAT, (8, 8), "x", mapping="linear", initial_value=1)
        scaled = pl.ops.map(x.T * 2 + x, program=prog, name="scaled")
        total = pl.ops.map(pl.ops.sum(scaled), program=prog, name="total")
        pl.ops.assign(x, scaled.T + total, program=prog)
    return ran(graph, prog)


def ran(graph: pl.Graph, program: pl.program.Program) -> Report:
    engine = pl.Engine(graph, program)
    for handle in engine.list_streams():
        engine.connect_stream_to_callback(handle, lambda block: None)
    engine.run()
    return engine.report()


def example(name: str) -> Callable[[], Report]:
    return lambda: load(f"{EXAMPLES / name}.py:build").report


PROGRAMS: dict[str, Callable[[], Report]] = {
    "fields put together": lambda: five_fields(stays=True),
    "fields from elsewhere": lambda: five_fields(stays=False),
    "uneven": uneven,
    "between IPUs": between_ipus,
    "through the host": through_the_host,
    "operations": operations,
    "matvec": example("matvec"),
    "bfs": example("bfs"),
    "heat": example("heat"),
    "multigrid": example("multigrid"),
}


SHOWN = thinned(PROGRAMS, keep=list(PROGRAMS)[:7])


@cache
def report_of(name: str) -> Report:
    return PROGRAMS[name]()


KIND = {"waiting": "compute", "idle workers": "compute", "copied on its tile": "copy"}


def parts(report: Report, finding: Finding) -> Iterator[tuple[ExecutionStep, Phase]]:
    """Yield the phases that a finding is of."""
    for number in finding.steps:
        step = report.shown.steps[number]
        for phase in step.phases:
            if phase.kind == KIND.get(finding.kind, finding.kind):
                yield step, phase


def moved(phase: Phase) -> int:
    """Return the bytes that move in a phase: a byte that is sent is received, but by the host."""
    if phase.kind == "host exchange":
        return phase.received.total + phase.sent.total
    return phase.copied.total if phase.kind == "copy" else phase.received.total


def of_cause(finding: Finding, step: ExecutionStep, phase: Phase) -> tuple[int, int]:
    """Return the bytes of a finding's cause, and of all causes, over all executions."""
    own = sum(
        each.bytes
        for each in phase.causes
        if (each.what, each.why, each.at or step.at) == (finding.what, finding.why, finding.at)
    )
    return own * step.executions, sum(each.bytes for each in phase.causes) * step.executions


@pytest.mark.parametrize("name", SHOWN)
def test_findings_say_what_the_report_says(name: str) -> None:
    report = report_of(name)
    whole = report.shown.cycles
    assert whole
    for finding in report.insights.findings:
        if finding.kind in ("guessed", "out of memory"):
            continue
        text, found = finding.text, list(parts(report, finding))
        assert text.startswith(
            f"{finding.kind}: {finding.cycles:,} cycles ({100 * finding.cycles / whole:.1f}%)"
        )
        others = len(set(finding.steps)) - 1
        assert (f"and {others:,} other step" in text) == (others > 0)
        assert set(finding.names) == {report.shown.steps[n].name for n in finding.steps}
        lines = {step.at for step, _ in found} | {c.at for _, p in found for c in p.causes}
        assert finding.at in lines
        if finding.kind == "waiting":
            check_waiting(finding, found)
        elif finding.kind == "idle workers":
            busy = sum(phase.tile_cycles.total / phase.tile_cycles.num_used for _, phase in found)
            issued = sum(
                sum(each.cycles for each in step.vertex_types) / phase.tile_cycles.num_used
                for step, phase in found
            )
            assert f"as workers are idle {100 * (1 - issued / busy):.1f}% of the time" in text
            assert finding.cycles == pytest.approx(busy - issued, abs=1)
        else:
            check_moved(finding, found)


def check_waiting(finding: Finding, found: list[tuple[ExecutionStep, Phase]]) -> None:
    mean = sum(phase.tile_cycles.mean for _, phase in found)
    slowest = {phase.tile_cycles.worst_tile for _, phase in found}
    of = sum(phase.cycles for _, phase in found)
    assert finding.cycles <= of - mean + 1
    used = max(phase.tile_cycles.num_used for _, phase in found)
    if finding.tiles_without:
        assert f"as {finding.of_tiles - used:,} of {finding.of_tiles:,} tiles have" in finding.text
        busy = sum(p.tile_cycles.total / p.tile_cycles.num_used for _, p in found)
        assert busy - mean > of - busy  # the idle tiles are the larger part
        return
    assert f"as tiles have {100 * mean / of:.1f}% of its work on average" in finding.text
    if len(slowest) == 1:
        assert f"for tile {slowest.pop()}, " in finding.text
    else:
        assert "for the slowest tile of each, " in finding.text


def check_moved(finding: Finding, found: list[tuple[ExecutionStep, Phase]]) -> None:
    expected = 0
    for step, phase in found:
        own, every = of_cause(finding, step, phase)
        total = moved(phase)
        assert every == total  # all causes are there
        expected += round(total * own / every)
    assert finding.bytes == expected
    assert f" for {expected:,} B in " in finding.text
    found = [(step, phase) for step, phase in found if of_cause(finding, step, phase)[0]]
    assert finding.tiles == max(phase.tile_cycles.num_used for _, phase in found)
    assert finding.cycles <= sum(phase.cycles for _, phase in found)
    assert f": {finding.what} {finding.why}" in finding.text


def test_what_is_planted_is_said() -> None:
    copied = report_of("fields put together").insights.findings
    bytes_of = {each.what: each.bytes for each in copied if each.kind == "copied on its tile"}
    assert bytes_of == {
        "field 'e' of Total": 3 * 160,
        "field 'd' of Total": 3 * 128,
        "field 'c' of Total": 3 * 96,
        "each of 2 other fields": 3 * (64 + 32),
    }
    moved = report_of("fields from elsewhere").insights.findings
    bytes_of = {each.what: each.bytes for each in moved if each.kind == "exchange"}
    assert bytes_of["field 'e' of Total"] == 3 * 160
    assert bytes_of["each of 2 other fields"] == 3 * (64 + 32)
    (waiting,) = [e for e in report_of("uneven").insights.findings if e.kind == "waiting"]
    assert (waiting.tile, len(waiting.steps)) == (None, 2)
    assert "and 1 other step for the slowest tile of each, as tiles have " in waiting.text


def worked(lengths: Sequence[Sequence[int]], extra: Sequence[int] = ()) -> Report:
    """Return the report of a step in which each tile squares vectors of these lengths.

    `extra` are more vectors of tile 5, whose vertices are added at a line of their own.
    """
    graph = pl.Graph(pl.Target(tiles=len(lengths)))
    step = graph.add_compute_set("step")

    def fields(tile: int, own: Sequence[int]) -> Iterator[pl.Tensor]:
        x = graph.add_variable(pl.FLOAT, (sum(own),), mapping=tile, initial_value=1.0)
        for end, length in zip(np.cumsum(own).tolist(), own, strict=True):
            yield x[end - length : end]

    for tile, own in enumerate(lengths):
        for x in fields(tile, own):
            graph.add_vertex(step, Work, tile=tile, x=x)
    for x in fields(5, extra):
        graph.add_vertex(step, Work, tile=5, x=x)
    engine = pl.Engine(graph, pl.Execute(step), checks="fast")
    engine.run()
    return engine.report()


GAINS: dict[str, tuple[FindingKind, Callable[[], Report], Callable[[], Report]]] = {
    "half of the tiles have no work": (
        "waiting",
        partial(worked, [[60] * 6] * 8 + [[]] * 8),
        partial(worked, [[30] * 6] * 16),
    ),
    "a tile has too much work": (
        "waiting",
        partial(worked, [[60] * 6] * 16, [60] * 12),
        partial(worked, [[68] * 6] * 16),
    ),
    "five of six workers are idle": (
        "idle workers",
        partial(worked, [[360]] * 16),
        partial(worked, [[60] * 6] * 16),
    ),
    "rows are shared unevenly": (
        "idle workers",
        partial(worked, [[90, 90, 60, 60, 60, 60]] * 16),
        partial(worked, [[70] * 6] * 16),
    ),
    "two of six workers are idle": (
        "idle workers",
        partial(worked, [[90] * 4] * 16),
        partial(worked, [[60] * 6] * 16),
    ),
}


@pytest.mark.parametrize("case", GAINS)
def test_doing_what_a_finding_says_gives_its_gain(case: str) -> None:
    kind, make, mend = GAINS[case]
    before, after = make(), mend()
    first = before.insights.findings[0]
    assert first.kind == kind
    gain = (before.execution.cycles or 0) - (after.execution.cycles or 0)
    assert first.cycles == pytest.approx(gain, rel=1 / 3)
    assert first.remedy in first.text
    assert all(each.share < 0.1 for each in after.insights.findings)


def test_tiles_that_work_in_another_step_of_a_finding_are_not_said_to_be_idle() -> None:
    graph, steps = pl.Graph(pl.Target(tiles=8)), []
    for tiles in (range(2), [*range(8), *[7] * 6]):  # most of the loss is in the first step
        step = graph.add_compute_set("step")
        for tile in tiles:
            x = graph.add_variable(pl.FLOAT, (200,), mapping=tile, initial_value=1)
            graph.add_vertex(step, Work, tile=tile, x=x)
        steps.append(pl.Execute(step))
    (waiting,) = (
        e for e in ran(graph, pl.Sequence(*steps)).insights.findings if e.kind == "waiting"
    )
    assert (waiting.tiles, waiting.tiles_without, len(waiting.steps)) == (8, 0, 2)
    assert "no work" not in waiting.text


def test_uneven_rows_have_a_remedy_of_their_own() -> None:
    uneven, few = (
        GAINS[case][1]().insights.findings[0]
        for case in ("rows are shared unevenly", "two of six workers are idle")
    )
    assert (uneven.vertices, few.vertices) == (6, 4)
    assert "use the grid of `pl.near_square_grid(..., workers=6)`" in uneven.text
    assert "more vertices of equal work to each tile" in few.text


def test_remedies_for_an_operation_are_what_its_user_can_do() -> None:
    graph, program = pl.Graph(pl.Target(tiles=8)), pl.Sequence()
    with graph.scope("net"):
        x, y = (
            graph.add_variable(pl.FLOAT, (48, 48), name, mapping="linear", initial_value=1)
            for name in "xy"
        )
        z = graph.add_variable(pl.FLOAT, (48, 48), "z", mapping=3, initial_value=1)
        pl.ops.map(pl.ops.sum(x.T * y + z, 1), program=program, name="sums")
        pl.ops.map(pl.ops.matmul(x, y), program=program, name="product")
        pl.ops.map(pl.ops.sin(x[:, 0]), program=program, name="few for each worker")
    report = ran(graph, program)
    own = set(REMEDIES.values())
    kinds = set()
    for finding in report.insights.findings:
        step = report.shown.steps[finding.steps[0]]
        assert step.operation
        assert finding.remedy not in own
        assert re.search("mapping|operands|plan", finding.remedy)
        assert ("plan" in finding.remedy) == ("matmul" in step.name)
        kinds.add(finding.kind)
    assert {"exchange", "copied on its tile", "idle workers"} <= kinds


def test_the_vertices_that_a_tile_has_too_many_of_are_named() -> None:
    none, much = (
        GAINS[case][1]() for case in ("half of the tiles have no work", "a tile has too much work")
    )
    assert "as 8 of 16 tiles have no work: spread it over more than 8 tiles" in str(none)
    (waiting,) = (each for each in much.insights.findings if each.kind == "waiting")
    text, first = inspect.getsourcelines(worked)
    line = first + text.index("        graph.add_vertex(step, Work, tile=5, x=x)\n")
    assert "for tile 5, as tiles have 37.5% of its work" in waiting.text
    assert re.search(rf"; it runs 12 Work \(\S+:{line} in worked\), a tile 0.8 on", waiting.text)


@pytest.mark.parametrize("name", SHOWN)
def test_the_parts_of_time_add_up_to_all_cycles(name: str) -> None:
    report = report_of(name)
    spent, shown = report.shown.time_parts(), report.shown
    assert sum(spent.values()) == pytest.approx(shown.cycles)
    assert all(cycles >= 0 for cycles in spent.values())
    assert spent["work"] + spent["idle workers"] == pytest.approx(shown.phase_cycles()["compute"])
    ran = sum(step.kind == "execute" for step in shown.steps)
    if ran and all(step.kind != "host" for step in shown.steps):
        assert spent["work"] == pytest.approx(shown.worker_cycles())
    parts = overview_of(report).time
    assert sum(size for _, size in parts) == pytest.approx(shown.cycles)
    for step in shown.steps:
        for phase in step.phases:
            if phase.idle is not None:
                assert phase.kind == "compute"
                assert (phase.idle.array() <= phase.tile_cycles.array()).all()


@pytest.mark.parametrize("name", SHOWN)
def test_the_page_has_the_numbers_of_which_time_is_made_up(name: str) -> None:
    """What a tile does, by the page's arrays, adds up to its busy cycles; as in derived.js."""
    report = report_of(name)
    shown = ViewPage(report.to_html())
    (of,), tiles = shown.reports, report.tiles
    spent: Counter[str] = Counter()
    for step in of["steps"]:
        for phase in step["phases"]:
            busy, idle = (shown.array(phase[each], tiles) for each in ("busy", "idle"))
            assert (idle <= busy).all()
            spent[phase["kind"]] += (busy - idle).sum() / tiles
            spent["idle workers"] += idle.sum() / tiles
            spent["sync"] += phase["sync"]
    expected = dict(report.shown.time_parts())
    spent["waiting"] = of["cycles"] - sum(spent.values())
    spent["work"] = spent.pop("compute", 0)
    assert dict(spent) == pytest.approx({k: v for k, v in expected.items() if k in spent})


@pytest.mark.parametrize("name", SHOWN)
def test_the_worst_tiles_are_those_of_the_report(name: str) -> None:
    report = report_of(name)
    busy = np.zeros(report.tiles, np.int64)
    for step in report.shown.steps:
        for phase in step.phases:
            busy += phase.tile_cycles.array() if phase.kind == "compute" else 0
    assert (report.insights.busiest is None) == (not busy.any())
    if (busiest := report.insights.busiest) is not None:
        assert (busiest.tile, busiest.most) == (int(busy.argmax()), busy.max())
        assert busiest.mean == busy.mean()
    needed = report.compilation.memory.including_gaps.array()
    assert report.insights.fullest is not None
    assert report.insights.fullest.tile == int(needed.argmax())
    assert report.insights.fullest.most == needed.max()


@pytest.mark.parametrize("name", SHOWN)
def test_operations_add_up_to_the_report(name: str) -> None:
    report = report_of(name)
    tree = scope_tree(report, depth=99)
    steps = report.shown.steps
    received = sum(phase.received.total for step in steps for phase in step.phases)
    assert (tree.whole.steps, tree.whole.cycles) == (len(steps), report.shown.cycles)
    assert tree.whole.received == received
    assert re.match(
        rf"operations: {len(steps):,} steps?, {report.shown.cycles:,} cycles", tree.heading
    )

    def adds_up(scope: ScopeCost) -> None:
        if scope.inside:
            for number in ("steps", "cycles", "received"):
                total = sum(getattr(each, number) for each in scope.inside)
                assert total <= getattr(scope, number)
                if not scope.name or all(each.steps for each in scope.inside):
                    assert total == getattr(scope, number)
        assert scope.share == pytest.approx(scope.cycles / (report.shown.cycles or 1))
        for each in scope.inside:
            adds_up(each)

    adds_up(tree.whole)
    for operation in report.shown.operations():
        own = [step for step in steps if step.operation == operation.name]
        assert operation.cycles == sum(step.cycles for step in own)
        assert operation.steps == len(own)


@pytest.mark.parametrize("name", SHOWN)
def test_operations_have_the_memory_that_the_report_says(name: str) -> None:
    report = report_of(name)
    tree = scope_tree(report, depth=99)

    def memory_of(scope: ScopeCost, path: str) -> int:
        if scope.path == path:
            return scope.memory
        return sum(
            memory_of(each, path) for each in scope.inside if f"{path}/".startswith(f"{each.path}/")
        )

    known = {
        each.name: each.result_bytes + each.temporary_bytes
        for each in report.compilation.operations
    }
    for operation in report.shown.operations():
        assert memory_of(tree.whole, operation.name) == known[operation.name], operation


@pytest.mark.parametrize("name", SHOWN)
def test_all_that_moves_has_its_reasons(name: str) -> None:
    report = report_of(name)
    moving = Counter[tuple[str, str, str]]()
    total = 0
    for step in report.shown.steps:
        for phase in step.phases:
            named = sum(each.bytes for each in phase.causes) * step.executions
            # Fields of a tile may share elements from other tiles, which it receives once.
            assert (named > moved(phase)) <= (phase.kind == "exchange" and len(phase.causes) > 1)
            assert named >= moved(phase)
            if phase.kind not in ("copy", "compute"):
                total += moved(phase)
                for each in phase.causes:
                    moving[each.what, each.why, each.at or step.at] += each.bytes * step.executions
    reasons = traffic_of(report).reasons
    assert sum(each.bytes for each in reasons) == pytest.approx(total, abs=len(reasons))
    assert {(each.what, each.why, each.at) for each in reasons} == set(moving)
    page = report_data(report, Arrays())["steps"]
    for step, shown in zip(report.shown.steps, page, strict=True):
        for phase, own in zip(step.phases, shown["phases"], strict=True):
            said = sum(size for *_, size in own["causes"])
            assert said == pytest.approx(moved(phase), abs=len(phase.causes))


@pytest.mark.parametrize("name", SHOWN)
def test_traces_say_what_the_report_says(name: str) -> None:
    report = report_of(name)
    steps = report.shown.steps
    trace = Trace(report.compilation.target, steps)
    data = json.loads(trace.to_json([]))
    events = [each for each in data["traceEvents"] if each["ph"] == "X" and each["pid"] == 1]
    taken = [each for each in events if each["cat"] == "step"]
    assert data["otherData"]["cycles"] == sum(each["args"]["cycles"] for each in taken)
    for step, own in zip(steps, taken, strict=True):
        assert own["args"]["cycles"] == step.cycles // step.executions
        assert own["args"].get("received", 0) == sum(
            phase.received.total // step.executions for phase in step.phases
        )
    told = [each["args"] for each in events if each["cat"] not in ("step", "sync")]
    phases = [
        (phase, step)
        for step in steps
        for phase in step.phases
        if phase.tile_cycles.array()[: report.tiles // report.compilation.target.ipus].any()
    ]
    for found, (phase, step) in zip(told, phases, strict=True):
        assert found.get("bytes", 0) == moved(phase) // step.executions
        assert [each.what in found["why"] for each in phase.causes] == [True] * len(phase.causes)


@pytest.mark.parametrize(
    ("before", "after"),
    thinned(
        [("matvec", "uneven"), ("uneven", "uneven"), ("multigrid", "bfs"), ("heat", "matvec")],
        keep=[("matvec", "uneven"), ("uneven", "uneven")],
    ),
)
def test_what_changed_is_the_difference_of_the_reports(before: str, after: str) -> None:
    one, other = report_of(before), report_of(after)
    found = one.diff(other)
    totals = {each.name: (each.before, each.after) for each in found.totals}
    assert totals["cycles"] == (one.shown.cycles, other.shown.cycles)
    sizes = [each.compilation.memory.including_gaps for each in (one, other)]
    assert totals["fullest tile, B"] == tuple(each.most for each in sizes)
    assert totals["all tiles, B"] == tuple(each.total for each in sizes)
    cycles = [Counter[str](), Counter[str]()]
    for count, report in zip(cycles, (one, other), strict=True):
        for step in report.shown.steps:
            count[step.name] += step.cycles
    assert {each.name: (each.before, each.after) for each in found.steps} == {
        name: (cycles[0][name], cycles[1][name]) for name in cycles[0] | cycles[1]
    }
    for each in found.phases:
        for report, said in ((one, each.before), (other, each.after)):
            assert said == round(dict(report.shown.time_parts())[each.name])  # type: ignore[index]
    assert (found.note() == "") == (one.is_run == other.is_run)
    if before == after:
        assert not any(found.sections().values())


# -- copies that could be one ----------------------------------------------------------------------


class Rows:
    """A graph with rows on tiles of their own, and Copies of a row to the next tile."""

    def __init__(self, count: int = 8) -> None:
        self.graph, self.count = pl.Graph(pl.Target(tiles=count)), count
        self.x, self.y = (
            self.graph.add_variable(pl.FLOAT, (count, 8), name, mapping="linear", initial_value=k)
            for k, name in enumerate("xy")
        )

    def halos(self) -> list[pl.Program]:
        return [pl.Copy(self.x[k], self.y[k + 1]) for k in range(self.count - 1)]


def found(graph: pl.Graph, program: pl.Program) -> tuple[list[Finding], pl.Report]:
    """What a report says of neighbour Copies."""
    engine = pl.Engine(graph, program, checks="fast")
    engine.run()
    report = engine.report()
    return [each for each in report.insights.findings if each.kind == "copies apart"], report


def test_cycles_and_code_are_those_of_one_copy() -> None:
    rows = Rows()
    (finding,), report = found(rows.graph, pl.Repeat(3, pl.Sequence(*rows.halos())))
    one = pl.Repeat(3, pl.Copy(rows.x[:-1], rows.y[1:]))
    _, together = found(rows.graph, one)
    assert report.cycles is not None
    assert together.cycles is not None
    assert finding.cycles == report.cycles - together.cycles
    assert finding.steps == tuple(range(7))
    (joined,) = report.compilation.joined
    code = []
    for each in (report, together):
        kinds = each.compilation.memory.categories()
        code.append((kinds["control_code"].array() + kinds["internal_exchange_code"].array()).max())
    assert joined.apart_bytes - joined.code_bytes == code[0] - code[1]
    text = f"one Copy of all would take {together.cycles:,} cycles instead of {report.cycles:,}"
    assert text in finding.text
    assert f"{joined.code_bytes:,} B of code instead of {joined.apart_bytes:,}" in finding.text


def test_copies_that_depend_on_each_other_stay_apart() -> None:
    rows = Rows()
    x, y = rows.x, rows.y
    z = rows.graph.add_variable(pl.FLOAT, (8, 8), "z", mapping="linear", initial_value=0)
    n = rows.graph.add_variable(pl.INT, (8,), "n", mapping=0, initial_value=0)
    m = rows.graph.add_variable(pl.INT, (8,), "m", mapping=1, initial_value=0)
    reads = pl.Sequence(pl.Copy(x[0], y[1]), pl.Copy(y[1], z[2]))
    writes = pl.Sequence(pl.Copy(x[0], y[1]), pl.Copy(x[3], y[1]))
    overwrites = pl.Sequence(pl.Copy(x[0], y[1]), pl.Copy(y[2], x[0]))
    types = pl.Sequence(pl.Copy(x[0], y[1]), pl.Copy(n, m))
    apart = pl.Sequence(pl.Copy(x[0], y[1]), pl.Repeat(2, pl.Copy(x[3], y[4])))
    for program in (reads, writes, overwrites, types, apart):
        assert found(rows.graph, program)[1].compilation.joined == ()


def test_codes_of_another_scale_begin_a_series() -> None:
    graph = pl.Graph(pl.Target(tiles=8))

    def codes(tile: int, scale: int) -> pl.Tensor:
        metadata = pl.QuarterMetadata("F143", scale=scale)
        return graph.add_variable(pl.QUARTER, (4,), mapping=tile, metadata=metadata)

    scales = (-2, -2, 3)
    copies = [pl.Copy(codes(k, scale), codes(k + 4, scale)) for k, scale in enumerate(scales)]
    compilation = pl.Engine(graph, pl.Sequence(*copies)).report().compilation
    assert [each.rows for each in compilation.joined] == [(0, 1)]


def test_a_copy_that_depends_on_those_before_begins_a_series() -> None:
    rows = Rows()
    z = rows.graph.add_variable(pl.FLOAT, (8, 8), "z", mapping="linear", initial_value=0)
    more = [pl.Copy(rows.y[k], z[k - 1]) for k in range(1, 8)]
    _, report = found(rows.graph, pl.Sequence(*rows.halos(), *more))
    assert [len(each.rows) for each in report.compilation.joined] == [7, 7]


@pytest.mark.parametrize("form", ["executable", "report"])
def test_files_have_what_one_copy_takes(form: str, tmp_path: Path) -> None:
    rows = Rows()
    engine = pl.Engine(rows.graph, pl.Sequence(*rows.halos()))
    engine.run()
    report = engine.report()
    if form == "report":
        report.save(tmp_path / "report.json")
        loaded = pl.Report.load(tmp_path / "report.json")
    else:
        engine.executable.save(tmp_path / "program.poplite")
        again = pl.Engine(pl.Executable.load(tmp_path / "program.poplite"))
        again.run()
        loaded = again.report()
    assert list(loaded.compilation.joined) == list(report.compilation.joined)
    assert loaded.insights.findings[0].text == report.insights.findings[0].text
