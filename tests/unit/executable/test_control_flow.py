"""Jumps in the file of an executable: those of loops and branches, or the file is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import poplite as pl
from helpers.depth import thinned
from poplite.codec.loading import Malformed
from poplite.executable import opcodes as op
from poplite.executable.control_flow import ControlFlow, Unstructured
from poplite.executable.executable import Executable
from poplite.executable.file.validate import validate
from poplite.executable.program_trees import program_trees
from poplite.viz.saved_summary import summary_of_report


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
    with pytest.raises(pl.FileLoadError, match="row 37 jumps elsewhere"):
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
        "one run of program '0' takes more than 1,152,921,504,606,846,976 cycles, and reports count"
        f" no further: {MANY << 30:,} times add"
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
        (MANY, "takes more than 4,611,686,018,427,387,904"),
        (-1, "a number that no program has"),
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
