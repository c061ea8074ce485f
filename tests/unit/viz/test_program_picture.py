"""The program tree: its rows, what is folded, chosen or left out, and how it is drawn."""

from __future__ import annotations

import inspect
import itertools
import json
import re
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import poplite as pl
import poplite.program
from poplite import BOOL, FLOAT, INT, ControlProgramError, Target, UnknownName, ops
from poplite.display import Displayed
from poplite.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.program import (
    Call,
    Copy,
    Execute,
    If,
    PrintTensor,
    Program,
    Repeat,
    RepeatWhileTrue,
    Sequence,
    Switch,
    children_first,
    distinct_steps,
    walk,
)
from poplite.program.base import declared, part, reads, writes
from poplite.tools.viz.load_target import load_target
from poplite.viz import graph_text, program_svg, program_text, summary_text
from poplite.viz.colours import KINDS
from poplite.viz.dataflow.graph import dataflow_of
from poplite.viz.draw.words import Style, cells, cut
from poplite.viz.program import LONGEST_PLACE, MOST_LINES, ProgramTree, program_tree
from poplite.viz.program_nodes import MOST, label_of, leaf_kind, saved_programs

SVG = "{http://www.w3.org/2000/svg}"
AWKWARD = (
    "a 'quoted' \"name\"",
    "<b>&amp;</b>",
    "two\nlines",
    "\x1b[31mred\x00",
    "שלום 12",
    "😀広い名前",
    "\u202ereversed",
    "\ud800",
    "x" * 300,
    "{}{0}",
)


@pytest.fixture
def graph() -> Graph:
    return Graph(Target(tiles=4))


def execute(graph: Graph, name: str) -> Execute:
    return Execute(graph.add_compute_set(name))


def titles(tree: ProgramTree) -> list[str]:
    return ["  " * row.level + row.label.title for row in tree.rows]


def texts(picture: str) -> list[str]:
    """What the texts of a picture say, without tooltips."""
    found = []
    for text in ET.fromstring(picture).iter(f"{SVG}text"):
        inner = [text.text or ""] + [
            (part.text or "" if part.tag != f"{SVG}title" else "") + (part.tail or "")
            for part in text
        ]
        found.append("".join(inner))
    return found


def main_program(graph: Graph) -> Sequence:
    """Seven steps, two of them run a hundred times."""
    x = graph.add_variable(FLOAT, (3, 4), "x", mapping=0)
    y = graph.add_variable(FLOAT, (12,), "y", mapping=0)
    there, back = execute(graph, "there"), execute(graph, "back")
    return Sequence(
        Copy(x, y),
        Repeat(100, Sequence(there, back, name="loop")),
        Sequence(there, PrintTensor("result", y)),
        Sequence(),
        Repeat(0, back),
        Program(),
        name="main",
    )


def test_rows_say_what_every_node_is(graph: Graph) -> None:
    tree = program_tree(main_program(graph))
    assert titles(tree) == [
        "Sequence 'main'",
        "  Copy 'x' -> 'y'",
        "  Repeat 100 times",
        "    Sequence 'loop'",
        "      Execute 'there'",
        "      Execute 'back'",
        "  Sequence",
        "    Execute 'there'",
        "    PrintTensor 'result'",
        "  Sequence",
        "  Repeat 0 times",
        "    Execute 'back'",
        "  Program",
    ]
    details = {row.label.title: row.label.detail for row in tree.rows}
    assert details["Copy 'x' -> 'y'"] == "12 elements, 48 B"
    assert details["Execute 'back'"] == "0 vertices"
    assert details["PrintTensor 'result'"] == "float32[12]"
    assert details["Program"] == "empty"
    assert [row.runs for row in tree.rows] == [1, 1, 1, 100, 100, 100, 1, 1, 1, 1, 1, 0, 1]
    assert tree.runs == 1 + 200 + 2
    assert {row.label.kind for row in tree.rows} == {"compute", "control", "copy", "host"}


def test_what_data_decide_on_runs_nobody_knows_how_often(graph: Graph) -> None:
    go, mode = graph.add_variable(BOOL, (), "go"), graph.add_variable(INT, (), "mode")
    test, step = execute(graph, "test"), execute(graph, "step")
    blur = graph.add_function(Repeat(2, step), "blur")
    switch = Switch.with_bounds_checking(mode, {4: step, -1: Repeat(0, step)})
    program = Sequence(
        Repeat(3, Call(blur)), RepeatWhileTrue(test, go, If(go, step, Program())), switch
    )
    tree = program_tree(program)
    lines = [f"{'  ' * row.level}{row.label.title}" for row in tree.rows]
    assert list(zip(lines, [row.runs for row in tree.rows], strict=True)) == [
        ("Sequence", 1),
        ("  Repeat 3 times", 1),
        ("    Call 'blur'", 3),
        ("      Repeat 2 times", 3),
        ("        Execute 'step'", 6),
        ("  RepeatWhileTrue 'go'", 1),
        ("    condition: Execute 'test'", None),
        ("    body: If 'go'", None),
        ("      then: Execute 'step'", None),
        ("      else: Program", None),
        ("  Switch 'mode'", 1),
        ("    case 4: Execute 'step'", None),
        ("    case -1: Repeat 0 times", None),
        ("      Execute 'step'", 0),
    ]
    assert replace(tree, has_counts=True).heading == "program: 5 steps, run as often as data decide"
    assert program_tree(program.programs[0]).runs == 6
    assert program_tree(program, match="test").runs is None
    rows = json.loads(tree.json())["rows"]
    assert [row["runs"] for row in rows][5:8] == [1, None, None]
    assert [row.as_compiled for row in tree.rows] == [1, 1, 3, 3, 6, 1, 1, 1, 1, 1, 1, 1, 1, 0]
    assert "   2    1?      condition: Execute 'test'" in program_text(program, counts=True)
    assert "<summary>" in program._repr_html_()
    assert "then: Execute &#x27;step&#x27;" in program._repr_html_()


def test_step_numbers_are_those_of_messages(graph: Graph) -> None:
    program = main_program(graph)
    expected = [(step.number, step.program.location) for step in walk(program)]
    rows = [row for row in program_tree(program).rows if row.label.kind != "control"]
    assert [(row.first_step, row.location) for row in rows] == expected
    assert [row.steps for row in rows] == [str(number) for number, _ in expected]


def test_parents_are_positions_of_rows(graph: Graph) -> None:
    rows = program_tree(main_program(graph)).rows
    assert rows[0].parent == -1
    for row in rows[1:]:
        assert rows[row.parent].level == row.level - 1


def test_a_large_shared_part_is_drawn_once(graph: Graph) -> None:
    block = Sequence(*(execute(graph, name) for name in "abc"), name="block")
    tree = program_tree(Sequence(execute(graph, "first"), block, Repeat(5, block), block))
    notes = [(row.steps, row.label.title, row.note, row.runs) for row in tree.rows if row.note]
    assert notes == [
        ("5-7", "Sequence 'block'", "as steps 2-4", 5),
        ("8-10", "Sequence 'block'", "as steps 2-4", 1),
    ]
    assert titles(tree).count("    Execute 'a'") == 1


def test_a_small_shared_part_is_drawn_again(graph: Graph) -> None:
    block = Sequence(execute(graph, "a"), execute(graph, "b"))
    tree = program_tree(Sequence(block, block))
    assert [row.steps for row in tree.rows if row.label.kind == "compute"] == ["1", "2", "3", "4"]
    assert not any(row.note for row in tree.rows)


def test_a_shared_part_without_steps_is_as_above() -> None:
    nothing = Sequence(Sequence(), Sequence(), Sequence())
    assert program_tree(Sequence(nothing, nothing)).rows[-1].note == "as above"


def test_depth_folds_what_lies_deeper(graph: Graph) -> None:
    program = main_program(graph)
    tree = program_tree(program, depth=1)
    assert max(row.level for row in tree.rows) == 1
    folded = {row.steps: (row.label.title, row.note) for row in tree.rows if row.note}
    assert folded["2-3"] == ("Repeat 100 times", "2 steps on 3 lines folded")
    assert folded["4-5"] == ("Sequence", "2 steps on 2 lines folded")
    assert program_tree(program, depth=0).rows[0].note == "6 steps on 12 lines folded"
    assert titles(program_tree(program, depth=3)) == titles(program_tree(program))


def test_what_was_folded_is_drawn_where_it_lies_higher(graph: Graph) -> None:
    block = Sequence(*(execute(graph, name) for name in "abc"), name="block")
    tree = program_tree(Sequence(Sequence(Sequence(block)), block), depth=2)
    assert [row.note for row in tree.rows if row.label.title == "Sequence"][-1] == (
        "3 steps on 4 lines folded"
    )
    assert titles(tree)[-3:] == ["    Execute 'a'", "    Execute 'b'", "    Execute 'c'"]


def test_match_keeps_steps_and_what_they_stand_in(graph: Graph) -> None:
    program = main_program(graph)
    tree = program_tree(program, match="there|result")
    assert titles(tree) == [
        "Sequence 'main'",
        "  Repeat 100 times",
        "    Sequence 'loop'",
        "      Execute 'there'",
        "  Sequence",
        "    Execute 'there'",
        "    PrintTensor 'result'",
    ]
    assert [row.steps for row in tree.rows if row.steps] == ["2", "4", "5"]
    assert replace(tree, has_counts=True).heading == (
        "program: 3 of 6 steps match 'there|result', run 102 times in all"
    )
    assert program_tree(program, match="48 B").heading == ("program: 1 of 6 steps matches '48 B'")
    assert program_tree(program, match=r"  \S+ in main_program, called").matched == 2


def test_match_sees_names_as_they_are(graph: Graph) -> None:
    program = Sequence(execute(graph, "two\nlines"), execute(graph, "other"))
    assert program_tree(program, match="two\nl").matched == 1


def test_no_match_says_how_many_steps_were_looked_at(graph: Graph) -> None:
    with pytest.raises(
        UnknownName,
        match=r"no step matches 'blurr': 6 steps looked at  \(.* in main_program, called .*\)\n"
        r"  the first are:\n  Copy 'x' -> 'y'\n  Execute 'there'\n(.|\n)*  try: .*\(\?i\)",
    ):
        program_tree(main_program(graph), match="blurr")
    with pytest.raises(UnknownName, match="0 steps looked at(.|\n)*the program is empty"):
        program_tree(Sequence(), match="")


def test_steps_that_a_helper_makes_have_the_lines_that_call_it(graph: Graph) -> None:
    there = execute(graph, "there")
    back = execute(graph, "back")
    line = Path(str(there.location.file)).name, there.location.line
    program = Sequence(there, back, Repeat(3, back))
    calls = [there.location.caller, back.location.caller, back.location.caller]
    assert [call.line - calls[0].line for call in calls if call and calls[0]] == [0, 1, 1]
    wide = program_text(program, width=200).splitlines()
    told = [row for row in wide if "Execute" in row]
    for row, call in zip(told, calls, strict=True):
        assert call is not None
        shown = [cut(f"{line[0]}:{number}", LONGEST_PLACE) for number in (call.line, line[1])]
        assert row.endswith("  ".join(["", *shown]))
    narrow = [row for row in program_text(program, width=80).splitlines() if "Execute" in row]
    for row, call in zip(narrow, calls, strict=True):
        assert call is not None
        assert row.endswith(f".py:{call.line}")


def test_an_expression_that_is_none_is_refused(graph: Graph) -> None:
    with pytest.raises(re.error, match="unterminated subpattern"):
        program_tree(main_program(graph), match="(")


def test_a_program_deeper_than_pythons_stack(graph: Graph) -> None:
    step = execute(graph, "a")
    program: Program = step
    for k in range(4_000):
        program = Repeat(2, program) if k % 2 else Sequence(program, step)
    tree = program_tree(program, most=MOST_LINES)
    assert len(tree.rows) == MOST_LINES
    assert len(tree.rows) + tree.hidden == 6_001
    assert tree.runs == MOST
    assert replace(tree, has_counts=True).heading == (
        "program: 2,001 steps, run 10^12 or more times in all"
    )
    text = program_text(program, counts=True)
    assert "... 5,701 more lines; --depth N or --match REGEX draws a part," in text
    assert re.search(r"\+2\d\d Repeat 2 times", text)
    assert max(map(len, text.splitlines())) <= 80
    assert len(program_text(program, full=True).splitlines()) == 6_001 + 3
    assert "5,701 more lines" in program_svg(program)
    assert len(json.loads(program_tree(program).json())["rows"]) == 6_001


@pytest.mark.parametrize("leaf", [Sequence, lambda: execute(Graph(), "a")])
def test_sharing_costs_what_was_built(leaf: type[Sequence]) -> None:
    program: Program = leaf()
    for _ in range(200):
        program = Sequence(program, program)
    tree = program_tree(program)
    assert len(tree.rows) < 500
    for width in (60, 80):
        text = program_text(program, counts=True, width=width)
        assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("counts", [False, True])
def test_text_keeps_its_columns_whatever_names_are(graph: Graph, width: int, counts: bool) -> None:
    steps = [execute(graph, name) for name in AWKWARD]
    tensors = [graph.add_variable(INT, (4,), name, mapping=0) for name in AWKWARD]
    steps += [Copy(a, b) for a, b in itertools.pairwise(tensors)]  # type: ignore[misc]
    program = Repeat(3, Sequence(Sequence(*steps, name="main")))
    lines = program_text(program, width=width, counts=counts).splitlines()
    assert len(lines) == 3 + 3 + len(steps)
    assert {cells(line) for line in lines[3:]} == {width}
    assert all(line.isprintable() for line in lines if "\u200e" not in line)
    assert not any("\x1b" in line or "\x00" in line or "\u202e" in line for line in lines)
    assert all(re.search(r"\.py:\d+$", line) for line in lines[3:])


@pytest.mark.parametrize("name", AWKWARD)
def test_every_form_tells_awkward_names(graph: Graph, name: str) -> None:
    program = Sequence(execute(graph, name), name=name)
    tree = json.loads(program_tree(program).json())
    assert tree["rows"][0]["names"] == [name]
    picture = program_svg(program)
    picture.encode()
    shown = name if name.isprintable() else repr(name)[1:-1]
    titles = [title.text or "" for title in ET.fromstring(picture).iter(f"{SVG}title")]
    assert titles[1].startswith(f"Execute '{shown}'\n0 vertices\n")


def test_a_name_from_right_to_left_is_closed(graph: Graph) -> None:
    text = program_text(execute(graph, "שלום"))
    assert "Execute 'שלום\u200e'  0 vertices" in text


def test_text_says_kinds_in_their_colours(graph: Graph) -> None:
    program = main_program(graph)
    plain, colored = program_text(program), program_text(program, color=True)
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == plain
    style = Style(color=True)
    assert style.category("Execute 'there'", KINDS["compute"]) in colored
    assert style.category("Copy 'x' -> 'y'", KINDS["copy"]) in colored


def test_text_shortens_names_before_it_leaves_out_facts(graph: Graph) -> None:
    program = execute(graph, "model/block4/conv/branch2/" * 4)
    wide, narrow = program_text(program).splitlines()[3], program_text(program, width=72)
    assert re.search(r"'model/.*\.\.\..*/'  0 vertices", wide)
    assert re.search(r"'model/.*\.\.\..*/'  0 vertices", narrow.splitlines()[3])


def test_svg_draws_every_row_with_its_mark(graph: Graph) -> None:
    program = main_program(graph)
    picture = program_svg(program, counts=True)
    said = texts(picture)
    assert "program: 6 steps, run 203 times in all" in said
    assert "Copy 'x' -> 'y'12 elements, 48 B" in said
    marks = [r.get("class") for r in ET.fromstring(picture).iter(f"{SVG}rect")]
    in_rows = marks[1 + 4 :]  # after the page and the legend
    assert in_rows == [f"c{KINDS[row.label.kind]}" for row in program_tree(program).rows]
    assert [said.count(kind) for kind in ("compute", "copy", "control", "host")] == [1] * 4
    assert picture == program_svg(program, counts=True)


def test_svg_of_a_part(graph: Graph) -> None:
    program = main_program(graph)
    assert "host" not in texts(program_svg(program, match="there"))
    assert any("on 3 lines folded" in text for text in texts(program_svg(program, depth=1)))


def test_texts_stay_inside_the_picture(graph: Graph) -> None:
    picture = program_svg(Sequence(*(execute(graph, name) for name in AWKWARD)), counts=True)
    width = float(ET.fromstring(picture).get("width") or 0)
    assert width < 1200
    assert all(float(t.get("x") or 0) < width for t in ET.fromstring(picture).iter(f"{SVG}text"))


def test_json_is_flat_and_sorted(graph: Graph) -> None:
    text = program_tree(main_program(graph), match="Copy").json()
    data = json.loads(text)
    assert text.endswith("}\n")
    assert list(data) == sorted(data)
    assert (data["poplite"], data["version"]) == ("program", 1)
    assert (data["match"], data["matched"], data["num_steps"], data["runs"]) == ("Copy", 1, 6, 1)
    copy = data["rows"][1]
    assert " in main_program, called at " in copy["at"]
    assert copy["numbers"] == {"bytes": 48, "elements": 12}
    assert (copy["kind"], copy["parent"], copy["names"]) == ("copy", 0, ["x", "y"])


# -- how often steps run ---------------------------------------------------------------------------


class Add(pl.Vertex):
    """Adds 1, and compares."""

    n: pl.InOut[pl.UNSIGNED_INT]
    is_below: pl.Output[pl.BOOL]
    limit: pl.State[pl.UNSIGNED_INT]

    def compute(self) -> None:
        self.n = self.n + 1
        self.is_below = self.n < self.limit

    def cycles(self, target: pl.Target) -> int:
        return 1


class Bench:
    """A graph with a number, whether it is below a limit, and a program."""

    def __init__(self) -> None:
        self.graph, self.main = pl.Graph(pl.Target(tiles=2)), pl.Sequence(name="main")
        self.n = self.number("n")
        self.below = self.graph.add_variable(pl.BOOL, (), "below", mapping=0)

    def number(self, name: str) -> pl.Tensor:
        """A number that begins at 0."""
        return self.graph.add_variable(pl.UNSIGNED_INT, (), name, mapping=0, initial_value=0)

    def add(self, name: str, limit: int = 0) -> pl.Program:
        """A step that adds 1 to the number, and compares it with a limit."""
        step = self.graph.add_compute_set(name)
        self.graph.add_vertex(step, Add, tile=0, n=self.n, is_below=self.below, limit=limit)
        return pl.Execute(step)

    def copy(self, name: str) -> pl.Program:
        """A step that copies the number to another."""
        return pl.Copy(self.n, self.number(name))

    def tree(self, runs: int = 1) -> ProgramTree:
        """Run the program, and return its tree as the report has it."""
        engine = pl.Engine(self.graph, self.main, interpret=True)
        for _ in range(runs):
            engine.run()
        report = engine.report()
        (program,) = saved_programs(report).values()
        assert report.execution.runs == runs
        self.executions = [each.executions for each in report.execution.steps]
        return program_tree(program)


def runs_of(tree: ProgramTree) -> dict[str, int | None]:
    """Return how often each step runs, by the last name in it."""
    return {row.label.names[-1]: row.runs for row in tree.rows if row.is_leaf}


def test_a_loop_whose_index_is_read_is_counted() -> None:
    bench = Bench()
    with bench.main:
        with ops.repeat(3):
            bench.main.add(bench.copy("outer"))
            with ops.repeat(5) as i:
                ops.assign(bench.n, i)
        bench.main.add(pl.counted_loop(bench.graph, 2, 9, 3, lambda i: pl.Copy(i, bench.n)))
    tree = program_tree(bench.main)
    assert replace(tree, has_counts=True).heading == "program: 7 steps, run 43 times in all"
    assert [row.runs for row in tree.rows if row.is_leaf] == [3, 3, 18, 15, 15, 1, 4, 3, 3]
    (loop,) = (row for row in tree.rows if row.label.detail == "5 times")
    assert (loop.label.title, loop.label.numbers) == (
        "RepeatWhileTrue 'repeat/goes_on'",
        {"times": 5},
    )
    assert None not in [row.runs for row in tree.rows]


def test_a_loop_whose_end_is_a_tensor_is_not() -> None:
    bench = Bench()
    with bench.main:
        bench.main.add(pl.counted_loop(bench.graph, 0, bench.n, 1, lambda i: pl.Copy(i, bench.n)))
    assert program_tree(bench.main).runs is None


def test_saved_graphs_keep_how_often_a_loop_runs(tmp_path: Path) -> None:
    bench = Bench()
    with bench.main, ops.repeat(5) as i:
        ops.assign(bench.n, i)
    bench.graph.save(tmp_path / "a.graph", bench.main)
    _, programs = pl.Graph.load(tmp_path / "a.graph")
    (program,) = programs.values()
    assert program_tree(program).runs == program_tree(bench.main).runs == 11


def decided_by_data() -> Bench:
    """A program whose number decides: 4 additions, 2 of which are below 3; then on to 12."""
    bench = Bench()
    branch = pl.If(bench.below, bench.copy("then"), bench.copy("otherwise"))
    bench.main.add(pl.Repeat(4, pl.Sequence(bench.add("outer", 3), branch)))
    body = pl.Sequence(bench.add("grow"), pl.Repeat(2, bench.copy("twice")))
    bench.main.add(pl.RepeatWhileTrue(bench.add("test", 12), bench.below, body))
    return bench


def test_the_report_of_a_run_counts_what_data_decide() -> None:
    bench = decided_by_data()
    tree = bench.tree()
    assert runs_of(tree) == {
        **{"outer": 4, "then": 2, "otherwise": 2},
        **{"test": 5, "grow": 4, "twice": 8},
    }
    assert [*runs_of(tree).values()] == bench.executions
    assert replace(tree, has_counts=True).heading == "program: 6 steps, run 25 times in all"


def test_the_report_of_two_runs_does_not_say_what_one_takes() -> None:
    tree = decided_by_data().tree(runs=2)
    assert tree.runs is None
    assert runs_of(tree) == {
        **{"outer": 4, "then": None, "otherwise": None},
        **{"test": None, "grow": None, "twice": None},
    }


def test_what_several_calls_share_is_not_counted_by_a_run() -> None:
    bench = Bench()
    loop = pl.RepeatWhileTrue(bench.add("test", 9), bench.below, bench.copy("body"))
    function = bench.graph.add_function(loop, "reach")
    bench.main.add(pl.Call(function)).add(pl.Call(function))
    assert runs_of(bench.tree()) == {"test": None, "body": None}
    assert bench.executions == [10, 8]


@pytest.mark.parametrize(
    ("times", "why"),
    [
        (-1, "is not a valid number of iterations"),
        (True, "True is not of type int"),
        ("5", "'5' is not of type int"),
        (2**32, "is not a valid number of iterations"),
    ],
)
def test_a_saved_loop_of_another_count_is_refused(times: Any, why: str, tmp_path: Path) -> None:
    bench = Bench()
    with bench.main, ops.repeat(5) as i:
        ops.assign(bench.n, i)
    bench.graph.save(tmp_path / "a.graph", bench.main)
    with zipfile.ZipFile(tmp_path / "a.graph") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members["manifest.json"])
    (loop,) = (node for node in manifest["nodes"] if node[0] == "RepeatWhileTrue")
    assert loop[2][3] == 5
    loop[2][3] = times
    with zipfile.ZipFile(tmp_path / "b.graph", "w") as archive:
        for name, data in (members | {"manifest.json": json.dumps(manifest).encode()}).items():
            archive.writestr(zipfile.ZipInfo(name), data)
    with pytest.raises(pl.FileLoadError, match=why):
        pl.Graph.load(tmp_path / "b.graph")


# -- every kind of program -------------------------------------------------------------------------


EVERY = Path(__file__).parents[2] / "golden" / "every.py"


@declared()
class Odd(Program):
    """A kind of step that no picture knows."""

    read: Tensor | None = reads(default=None)
    written: Tensor | None = writes(default=None)

    def _titled(self) -> str:
        ends = {"read": self.read, "written": self.written}
        names = [f" '{{{end}.name}}'" for end, tensor in ends.items() if tensor is not None]
        return "Odd {{0}}" + "".join(names)


@declared()
class Twice(Program):
    """A kind of program that runs another, nobody knows how often."""

    _title = "Twice"
    body: Program = part()


def test_every_kind_is_drawn() -> None:
    graph, program = load_target(f"{EVERY}:build")
    assert program is not None
    nodes = list(children_first(program))
    kinds = [kind for _, kind in inspect.getmembers(poplite.program, inspect.isclass)]
    kinds = [kind for kind in kinds if issubclass(kind, Program) and kind is not Program]
    bases = {base for kind in kinds for base in kind.__mro__[1:]}
    assert {kind for kind in kinds if kind not in bases} <= {type(node) for node in nodes}
    tree = program_text(program, width=120)
    for node in nodes:
        assert label_of(node).title in tree
    drawn = {number for node in dataflow_of(graph, program).nodes for number in node.steps}
    for step in distinct_steps(program):
        touches = step.program.reads or step.program.writes
        known = {"compute", "control"}
        assert step.number in drawn or not touches or label_of(step.program).kind in known


def test_steps_that_are_new_are_drawn_by_what_they_say_and_touch() -> None:
    graph = Graph()
    x, y = graph.add_variable(INT, (2,), "x {}"), graph.add_variable(INT, (3,), "y")
    nothing, read, moved = Odd(), Odd(x), Odd(x, y)
    assert [leaf_kind(leaf) for leaf in (nothing, read, moved)] == ["control", "host", "copy"]
    label = label_of(moved)
    assert (label.title, label.names) == ("Odd {0} 'x {}' 'y'", ("x {}", "y"))
    assert (label.numbers, label.detail) == ({"bytes": 12, "elements": 3}, "3 elements, 12 B")
    tree = program_text(Sequence(nothing, read, moved))
    for number, text in enumerate(("Odd {0}", "Odd {0} 'x {}'  int32[2]", label.title), 1):
        assert f"  {number}    {text}" in tree
    flow = graph_text(graph, Sequence(nothing, read, moved))
    assert "\n   1  " not in flow
    for told in ("\n   2  Odd 'x {}'", "\n   3  Odd  12 B", "1 copy, 1 host step"):
        assert told in flow


@pytest.mark.parametrize(
    "draw",
    [
        program_text,
        program_svg,
        Displayed._repr_html_,
        lambda program: summary_text(Graph(), program),
    ],
)
def test_what_no_picture_knows_is_refused(draw: Callable[[Program], str]) -> None:
    with pytest.raises(ControlProgramError, match="no picture shows what a Twice does"):
        draw(Sequence(Twice(Odd())))
