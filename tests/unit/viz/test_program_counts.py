"""How often the steps of a program run, in its tree: as built, and as a run of it counted."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

import poplite as pl
from poplite import ops
from poplite.viz.program.of_report import saved_programs
from poplite.viz.program.tree import ProgramTree, program_tree


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
    assert tree.heading(counts=True) == "program: 7 steps, run 43 times in all"
    assert [row.runs for row in tree.rows if row.is_leaf] == [3, 3, 18, 15, 15, 1, 4, 3, 3]
    (loop,) = (row for row in tree.rows if row.label.detail == "5 times")
    assert (loop.label.title, loop.label.numbers) == (
        "RepeatWhileTrue 'repeat/goes_on'",
        {"times": 5},
    )
    assert "?" not in "".join(tree.columns(counts=True)[1][1])


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
    assert tree.heading(counts=True) == "program: 6 steps, run 25 times in all"


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
        (-1, "is not how often a loop runs"),
        (True, "True is not of type int"),
        ("5", "'5' is not of type int"),
        (2**32, "is not how often a loop runs"),
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
