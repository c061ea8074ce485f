"""Reports say what neighbour Copies of a Sequence would take as one."""

from __future__ import annotations

from pathlib import Path

import pytest

import poplite as pl
from poplite.report.findings import Finding


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
    text = f"one Copy of all would take {together.cycles:,} cycles, not {report.cycles:,}"
    assert text in finding.text
    assert f"{joined.code_bytes:,} B of code, not {joined.apart_bytes:,}" in finding.text


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
