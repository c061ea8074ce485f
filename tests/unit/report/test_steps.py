"""Steps in reports: one numbering, names, what each reads and writes."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples
from poplite.program import Program, walk
from poplite.report.compilation import Compilation, StepAccesses
from poplite.report.report import Report
from poplite.simulator.reporting import compilation_of
from poplite.tools.viz.load_target import load_target
from poplite.vertices.reduce import SumColumns
from poplite.viz.dataflow.links import Links, links_of

# -- numbers ---------------------------------------------------------------------------------------


class Count(pl.Vertex):
    """n += 1, and tell whether that is enough."""

    n: pl.InOut[pl.INT]
    goes_on: pl.Output[pl.BOOL]

    def compute(self) -> None:
        self.n = self.n + 1
        self.goes_on = self.n < 3


class Work:
    """Named steps on one tile."""

    def __init__(self) -> None:
        self.graph = pl.Graph(pl.Target(tiles=2))
        self.n = self.graph.add_variable(pl.INT, (), "n", mapping=0, initial_value=0)
        self.goes_on = self.graph.add_variable(pl.BOOL, (), "goes on", mapping=0)
        self.other = self.graph.add_variable(pl.INT, (), "other", mapping=1)

    def step(self, name: str) -> pl.Execute:
        compute_set = self.graph.add_compute_set(name)
        self.graph.add_vertex(compute_set, Count, tile=0, n=self.n, goes_on=self.goes_on)
        return pl.Execute(compute_set)


def nested(work: Work) -> Program:
    """A condition before its body, functions within functions, a copy between."""
    inner = work.graph.add_function(pl.Sequence(work.step("in 1"), work.step("in 2")))
    outer = work.graph.add_function(pl.Sequence(work.step("out"), pl.Call(inner)))
    return pl.Sequence(
        pl.RepeatWhileTrue(work.step("test"), work.goes_on, work.step("body")),
        pl.Copy(work.n, work.other),
        pl.Call(outer),
        pl.Repeat(2, pl.Call(inner)),
        pl.Call(outer),
    )


def shared(work: Work) -> Program:
    """One step in several places."""
    step = work.step("shared")
    return pl.Sequence(work.step("first"), step, pl.Repeat(2, pl.Sequence(step, work.step("own"))))


@pytest.mark.parametrize("made", [nested, shared])
def test_steps_have_the_numbers_of_their_programs(made) -> None:  # type: ignore[no-untyped-def]
    work = Work()
    program = made(work)
    engine = pl.Engine(work.graph, program)
    engine.run()
    report = engine.report()
    of_program = {step.number: str(step.program) for step in walk(program)}
    steps = report.execution.steps
    assert [step.number for step in steps] == sorted(step.number for step in steps)
    for step in steps:
        assert step.name.split(" to ")[0] in of_program[step.number]
    assert report.compilation.modelled is not None
    planned = report.compilation.modelled.steps
    for live in planned:
        assert live.name == f"step {live.number} of {program.num_steps}: {of_program[live.number]}"
    rows = [row for live in planned for row in live.rows]
    assert sorted(rows) == sorted({step.row for step in steps})


def test_a_step_of_a_function_has_the_number_of_its_first_call() -> None:
    work = Work()
    engine = pl.Engine(work.graph, nested(work))
    engine.run()
    found = {step.name: (step.number, step.executions) for step in engine.report().execution.steps}
    assert found == {
        "test": (1, 2),
        "body": (2, 1),
        "n to other": (3, 1),
        "out": (4, 2),
        "in 1": (5, 4),
        "in 2": (6, 4),
    }


def test_a_step_in_two_places_is_planned_once() -> None:
    work = Work()
    engine = pl.Engine(work.graph, shared(work))
    engine.run()
    report = engine.report()
    found = [(step.number, step.name, step.executions) for step in report.execution.steps]
    assert found == [(1, "first", 1), (2, "shared", 1), (3, "shared", 2), (4, "own", 2)]
    assert report.compilation.modelled is not None
    live = {step.number: len(step.rows) for step in report.compilation.modelled.steps}
    assert live == {1: 1, 2: 2, 4: 1}


def test_programs_know_their_lines_roles_and_counts() -> None:
    work = Work()
    engine = pl.Engine(work.graph, nested(work))
    (tree,) = engine.report().compilation.programs.values()
    loop, copy, call, repeat, again = tree.children
    assert [(node.role, node.name, node.count) for node in loop.children] == [
        ("condition", "test", None),
        ("body", "body", None),
    ]
    assert (loop.count, copy.count, call.count) == (1, 1, 1)
    assert (repeat.name, repeat.count, repeat.children[0].count) == ("2 times", 1, 2)
    outer, (inner,) = call.children[0], repeat.children[0].children
    assert again.children[0] is outer
    assert (outer.count, inner.count) == (2, 4)  # in all calls
    assert all("test_steps.py" in node.at for node in (loop, copy, call, repeat))


def test_branches_have_roles() -> None:
    work = Work()
    three = pl.Switch(work.n, {3: work.step("three")}, work.step("other"))
    program = pl.Sequence(
        pl.If(work.goes_on, work.step("yes"), work.step("no")),
        pl.Repeat(5, pl.If(work.goes_on, work.step("only"), pl.Sequence())),
        three,
    )
    (tree,) = pl.Engine(work.graph, program).report().compilation.programs.values()
    found = [
        (node.role, node.count, [leaf.name for leaf in node.walk() if not leaf.children])
        for node in tree.walk()
        if node.role
    ]
    assert found == [
        ("then", None, ["yes"]),
        ("else", None, ["no"]),
        ("then", None, ["only"]),
        ("case 3", None, ["three"]),
        ("default", None, ["other"]),
    ]


def test_what_has_not_run_says_what_a_run_would_take() -> None:
    work = Work()
    program = pl.Sequence(pl.Repeat(3, work.step("often")), pl.Copy(work.n, work.other))
    engine = pl.Engine(work.graph, program, options={"debug.allowOutOfMemory": True})
    report = engine.report()
    assert not report.is_run
    assert report.compilation.options == (("debug.allowOutOfMemory", "true"),)
    planned = report.compilation.planned
    again = pl.Report.from_json(report.to_json())
    engine.run()
    ran = engine.report()
    assert ran.is_run
    assert [(step.name, step.executions) for step in planned] == [("often", 3), ("n to other", 1)]
    assert tuple(planned) == tuple(again.compilation.planned) == ran.execution.steps
    assert ran.compilation.planned == ()


def test_what_data_decide_is_planned_once() -> None:
    work = Work()
    report = pl.Engine(work.graph, nested(work)).report()
    found = {step.name: step.executions for step in report.compilation.planned}
    assert found == {"test": 1, "body": 1, "n to other": 1, "out": 2, "in 1": 4, "in 2": 4}


def test_the_order_of_a_trace_is_kept(tmp_path: Path) -> None:
    work = Work()
    engine = pl.Engine(work.graph, nested(work))
    earlier = engine.report()
    with engine.tracing() as trace:
        engine.run()
    report = engine.report()
    report.save(tmp_path / "run.json", trace)
    order = pl.Report.load(tmp_path / "run.json").order
    names = [report.execution.steps[place].name for place, times in order for _ in range(times)]
    assert names == [step.name for step in trace.steps]
    assert names[:5] == ["test", "body", "test", "n to other", "out"]
    assert report.order == ()
    with pytest.raises(
        pl.UnknownName, match="step 'test' of the trace is not in the report"
    ) as caught:
        earlier.save(tmp_path / "no.json", trace)
    assert caught.value.found == "step 1 of program '0'"
    assert not (tmp_path / "no.json").exists()
    sets = report.compilation.compute_sets
    for step in report.execution.steps:
        assert (step.compute_set is None) == (step.kind == "copy")
        assert step.compute_set is None or sets[step.compute_set].name == step.name


# -- names -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def report() -> pl.Report:
    graph = pl.Graph(pl.Target(tiles=2))
    a, b = (graph.add_variable(pl.INT, (3,), name, mapping=0, initial_value=0) for name in "ab")
    forth, back = pl.Copy(a, b), pl.Copy(b, a)
    once = pl.Sequence(forth, back)
    programs = {"once": once, "often": pl.Repeat(5, forth), "twice": pl.Sequence(back, back)}
    engine = pl.Engine(graph, programs)
    for name in programs:
        engine.run(name)
    return engine.report()


def test_a_step_of_a_program(report: pl.Report) -> None:
    step = report.step("a to b", program="often")
    assert (step.program_name, step.executions) == ("often", 5)
    assert report.step("a to b", program=0).executions == 1
    first, second = (s for s in report.execution.steps if s.program_name == "twice")
    assert (first.name, first.row) == (second.name, second.row - 1) == ("b to a", first.row)
    assert report.step("b to a", program="twice", row=second.row) == second


def test_a_name_in_several_places(report: pl.Report) -> None:
    with pytest.raises(pl.UnknownName) as caught:
        report.step("a to b")
    assert caught.value.what == "report.step('a to b'): 2 steps have that name"
    assert "program 'once', row 0, run 1 time" in caught.value.found
    assert "run 5 times" in caught.value.found
    with pytest.raises(pl.UnknownName, match="row 99 has no step with that name"):
        report.step("a to b", row=99)


def test_a_number_is_answered_with_the_name(report: pl.Report) -> None:
    with pytest.raises(pl.UnknownName, match="chosen by name, not by number") as caught:
        report.step(3)  # type: ignore[arg-type]
    assert caught.value.found == "step 3 is 'a to b'"
    assert caught.value.fix.startswith("report.step('a to b', program='often', row=")


def test_the_text_says_the_program_of_a_step(report: pl.Report) -> None:
    assert re.search(r"Largest step: +often: a to b, ", str(report))
    assert "  twice: b to a (" in str(report)


def test_unknown_names_come_with_the_nearest(report: pl.Report) -> None:
    with pytest.raises(pl.UnknownName) as caught:
        report.step("a to bb")
    assert caught.value.what == (
        "report.step('a to bb'): no step with that name has run (did you mean 'a to b'?)"
    )
    with pytest.raises(pl.UnknownName) as caught:
        report.step("a to b", program="offen")
    assert caught.value.what == (
        "report.step('a to b'): there is no program 'offen' (did you mean 'often'?)"
    )
    assert caught.value.found == "programs: 'once', 'often', 'twice'"


def test_a_program_by_its_position(report: pl.Report) -> None:
    second: Any = np.int64(1)
    assert report.step("a to b", program=second).executions == 5
    for program in (True, 3, -1, 1.0):
        with pytest.raises(pl.UnknownName, match=f"there is no program {program}"):
            report.step("a to b", program=program)  # type: ignore[arg-type]
    with pytest.raises(pl.UnknownName, match="row False .* has no step with that name"):
        report.step("a to b", program="once", row=False)


def test_a_program_by_its_name(report: pl.Report) -> None:
    programs = report.compilation.programs
    assert programs["often"] is programs.get("often")
    assert "offen" not in programs
    assert programs.get("offen") is None
    with pytest.raises(pl.UnknownName) as caught:
        programs["offen"]
    assert caught.value.what == "there is no program 'offen' (did you mean 'often'?)"
    assert caught.value.found == "programs: 'once', 'often', 'twice'"


def test_without_costs_there_are_no_steps() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    engine = pl.Engine(graph, pl.Sequence(), options={"debug.instrument": False})
    with pytest.raises(pl.ControlProgramError, match=r"report.step\('x'\): cycles are not modell"):
        engine.report().step("x")


# -- what steps read and write ---------------------------------------------------------------------


GOLDEN = Path(__file__).resolve().parents[2] / "golden"

Flows = Counter[tuple[str, str, bool]]
"""Bytes by variable, field, and whether they are read."""


class Blend(pl.Vertex):
    """Has a field of every depth."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    one: pl.Input[pl.FLOAT]
    y: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        """Add something."""
        self.y[0] += self.x[0] + self.rows[0][0] + self.one


def compiled(graph: pl.Graph, program: pl.Program) -> Compilation:
    """What a report says of a compiled program."""
    options = {"debug.instrument": False}
    return compilation_of(pl.compile_graph(graph, program, "fast", options=options))


def of_graph(links: Links) -> dict[tuple[int, ...], Flows]:
    """What each step reads and writes, by its numbers, as the graph says it."""
    numbers = {name for item in links.items for name in item.numbers}
    found: dict[tuple[int, ...], Flows] = {}
    columns = links.tail, links.head, links.size_bytes, links.field
    for tail, head, size, field in zip(*(each.tolist() for each in columns), strict=True):
        reads = links.items[tail].kind in ("variable", "constant")
        data, step = (tail, head) if reads else (head, tail)
        name = links.items[data].name
        name = "numbers" if name.removesuffix(" numbers") != name or name in numbers else name
        through = links.fields[field] if field >= 0 else ""
        found.setdefault(links.items[step].steps, Counter())[name, through, reads] += size
    return {steps: flows for steps, flows in found.items() if steps}


def of_report(compilation: Compilation, links: Links) -> dict[tuple[int, ...], Flows]:
    """The same as the report says it."""
    numbers = {name for item in links.items for name in item.numbers}
    found: dict[tuple[int, ...], Flows] = {}
    for step in compilation.accesses:
        flows = found.setdefault(tuple(number for _, number in step.places), Counter())
        for each in step.accesses:
            name = compilation.variables[each.variable].name
            name = "numbers" if name in numbers else name
            for size, reads in ((each.read, True), (each.written, False)):
                if size:
                    flows[name, each.field, reads] += size
    return found


@pytest.mark.parametrize("script", ["net", "ring", "fan"])
def test_steps_read_and_write_what_the_graph_says(script: str) -> None:
    graph, program = load_target(f"{GOLDEN / script}.py:build")
    assert program is not None
    compilation = compiled(graph, program)
    links = links_of(graph, program)
    mine, known = of_report(compilation, links), of_graph(links)
    for steps, flows in known.items():  # copies of the same name are one in a report
        at = next(own for own in mine if set(steps) <= set(own))
        assert mine[at] == flows


def test_every_kind_of_step_is_there() -> None:
    graph, program = load_target(f"{GOLDEN / 'every'}.py:build")
    assert program is not None
    compilation = compilation_of(pl.compile_graph(graph, program, "fast"))  # it stamps cycles
    found = {(each.kind, each.name): each for each in compilation.accesses}
    kinds = Counter(kind for kind, _ in found)
    assert kinds == {"execute": 3, "copy": 5, "host": 5, "control": 3}
    assert [number for _, number in found["execute", "work"].places] == [16, 17, 20, 25]
    assert found["control", "Switch"].places == (("0", 22),)
    (read,) = found["host", "PrintTensor 'all of x'"].accesses
    assert (read.read, read.written) == (16, 0)
    stream = found["copy", "Copy 'images' -> 'x'"].accesses
    assert [(each.read, each.written) for each in stream] == [(0, 16)]
    remote = found["copy", "Copy 'table' -> 'y'"].accesses
    assert [(each.read, each.written) for each in remote] == [(0, 16), (4, 0)]


def test_rows_that_are_read_where_they_lie_count_without_gaps() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (5, 12), "x", mapping=0, initial_value=1)
    y = graph.add_variable(pl.FLOAT, (4,), "y", mapping=1)
    sums = graph.add_compute_set("sums")
    rows = x[:, :4].flatten()
    graph.add_vertex(sums, SumColumns[pl.FLOAT, pl.FLOAT], tile=1, x=rows, stride=4, out=y)
    (step,) = compiled(graph, pl.Execute(sums)).accesses
    assert [(each.field, each.read, each.written) for each in step.accesses] == [
        ("x", 5 * 4 * 4, 0),
        ("out", 0, 16),
    ]


def drawn(draw: st.DrawFn) -> tuple[pl.Graph, pl.Program]:
    """A graph of vertices that are connected to parts of variables, in order or not."""
    graph = pl.Graph(pl.Target(tiles=4))
    sizes = st.integers(16, 40)
    x, z = (
        graph.add_variable(pl.FLOAT, (draw(sizes),), name, mapping="linear", initial_value=1)
        for name in "xz"
    )
    y = graph.add_variable(pl.FLOAT, (64,), "y", mapping="linear", initial_value=1)
    blend = graph.add_compute_set("blend")

    def part() -> pl.Tensor:
        whole = draw(st.sampled_from([x, z, pl.concat([x, z]), pl.concat([z[3:], x[::2]])]))
        step = draw(st.integers(1, 3))
        begin = draw(st.integers(0, 8))
        return draw(st.sampled_from([whole[begin::step], whole.reverse(0)[begin:]]))

    for k in range(draw(st.integers(1, 4))):
        own = y[16 * k : 16 * k + 16]
        graph.add_vertex(
            blend,
            Blend,
            tile=k,
            x=part(),
            rows=[part() for _ in range(draw(st.integers(1, 3)))],
            one=x[draw(st.integers(0, 15))],
            y=draw(st.sampled_from([own, own[::2], own[:3], own.reverse(0)])),
        )
    return graph, pl.Sequence(pl.Execute(blend), pl.Copy(x[:9].reverse(0), z[4:13]))


@given(st.data())
@examples(60)
def test_vertices_read_and_write_what_they_are_connected_to(data: st.DataObject) -> None:
    graph, program = data.draw(st.composite(drawn)())
    links = links_of(graph, program)
    assert of_report(compiled(graph, program), links) == of_graph(links)


@given(st.lists(st.integers(-1, 3), min_size=1, max_size=12), st.booleans())
@examples(40)
def test_variables_have_the_tiles_of_their_elements(tiles: list[int], is_constant: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    shape = (len(tiles),)
    if is_constant:
        x = graph.add_constant(pl.FLOAT, shape, 1, "x")
    else:
        x = graph.add_variable(pl.FLOAT, shape, "x")
    for number, tile in enumerate(tiles):
        if tile >= 0:
            graph.set_tile_mapping(x[number], tile)
    (known,) = compiled(graph, pl.Sequence()).variables
    assert known.first is not None
    assert known.tiles is not None
    first = known.first.array()
    assert np.repeat(known.tiles.array(), np.diff(first, append=len(tiles))).tolist() == tiles
    assert (known.constant, known.element_type, known.shape) == (is_constant, "FLOAT", shape)


def test_a_saved_report_has_them() -> None:
    graph, program = load_target(f"{GOLDEN / 'ring'}.py:build")
    assert program is not None
    report = pl.Engine(graph, program, interpret=True).report()
    loaded = Report.from_json(report.to_json())
    assert loaded == report
    step = loaded.compilation.accesses[0]
    assert isinstance(step, StepAccesses)
    assert [each.field for each in step.accesses] == ["x", "y"]
    assert len(loaded.compilation.variables) == 3
