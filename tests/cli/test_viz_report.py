"""`poplite-viz report`: saved reports as text, as tile maps, and compared."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

import poplite as pl
from helpers.view_page import ViewPage
from poplite.tools.viz import main


@pytest.fixture(autouse=True)
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, pl.Report]:
    """Reports by file name, in the folder that we are in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    graph = pl.Graph(pl.Target(tiles=4))
    a = graph.add_variable(pl.INT, (64,), "a", mapping=0, initial_value=1)
    b = graph.add_variable(pl.INT, (64,), "b", mapping=2)
    made = {}
    for name, count, modelled in (("run", 1, True), ("later", 3, True), ("none", 1, False)):
        options = {"debug.instrument": modelled}
        engine = pl.Engine(graph, pl.Repeat(count, pl.Copy(a, b)), options=options)
        engine.run()
        made[name] = engine.report()
        made[name].save(f"{name}.json")
    return made


def test_a_report_is_printed(
    reports: dict[str, pl.Report], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", "run.json"]) == 0
    assert capsys.readouterr().out == f"{reports['run']}\n"
    assert main(["report", "run.json", "later.json"]) == 0
    difference = reports["run"].diff(reports["later"]).text(("run.json", "later.json"))
    assert "unlike runs" not in difference
    assert capsys.readouterr().out == f"{difference}\n"


@pytest.mark.parametrize("width", [60, 77])
def test_a_report_is_as_wide_as_is_said(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (["run.json"], ["run.json", "later.json"]):
        assert main(["report", *words]) == 0
        text = capsys.readouterr().out
        assert main(["report", *words, "--width", str(width)]) == 0
        fitted = capsys.readouterr().out
        assert max(map(len, fitted.splitlines())) <= width
        # Of a path that is longer than a line, a part may stand on the next one.
        assert "".join(fitted.split()) == "".join(text.split())
        with monkeypatch.context() as patch:
            patch.setenv("COLUMNS", str(width))
            assert main(["report", *words]) == 0
        assert capsys.readouterr().out == fitted


def test_a_report_in_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "37")
    for words in (["run.json"], ["run.json", "later.json"]):
        assert main(["report", *words]) == 0
        said = capsys.readouterr()
        assert max(map(len, said.out.splitlines())) <= 37
        assert said.err == ""
    assert main(["tiles", "run.json", "--by", "memory"]) == 0
    said = capsys.readouterr()
    assert max(map(len, said.out.splitlines())) <= 40
    assert "a picture takes 40 columns at least, and COLUMNS is 37" in said.err


def test_a_report_is_written_again(reports: dict[str, pl.Report], tmp_path: Path) -> None:
    assert main(["report", "run.json", "-q", "-o", "again.json"]) == 0
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "run.json").read_bytes()
    assert pl.Report.load("again.json") == reports["run"]


def test_where_time_and_memory_go_is_drawn(tmp_path: Path) -> None:
    assert main(["report", "run.json", "-o", "overview.svg"]) == 0
    picture = ET.parse(tmp_path / "overview.svg").getroot()
    assert picture.attrib["aria-label"] == "where time and memory go, and what to look at first"


TARGET = """
import poplite as pl

def build(count=2):
    graph = pl.Graph(pl.Target(tiles=4))
    a, b = (graph.add_variable(pl.INT, (64,), name, mapping="linear") for name in "ab")
    return graph, pl.Repeat(count, pl.Copy(a.reverse(0), b))
"""


def test_a_page_of_a_saved_report(
    reports: dict[str, pl.Report], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", "run.json", "-o", "run.html"]) == 0
    assert capsys.readouterr().err == "wrote run.html\n"
    html = Path("run.html").read_text()
    assert html == reports["run"].to_html(title="run.json")
    page = ViewPage(html)
    assert page.text(page.shown["graph"]).startswith("<svg")


def test_a_page_of_a_target_has_the_dataflow_graph() -> None:
    Path("work.py").write_text(TARGET)
    words = ["report", "work.py:build", "--arg", "count=5", "-q", "-o", "work.html"]
    assert main([*words, "--title", "five"]) == 0
    page = ViewPage(Path("work.html").read_text())
    assert page.shown["title"] == "five"
    assert page.reports[0]["steps"][0]["times"] == 5
    assert page.reports[0]["run"]
    assert page.text(page.shown["graph"]).startswith("<svg")
    first = Path("work.html").read_bytes()
    assert main([*words, "--title", "five"]) == 0
    assert Path("work.html").read_bytes() == first
    assert main([*words, "--no-run"]) == 0
    assert not ViewPage(Path("work.html").read_text()).reports[0]["run"]


def test_a_trace_keeps_the_order(capsys: pytest.CaptureFixture[str]) -> None:
    Path("turns.py").write_text(
        "import poplite as pl\n"
        "def build():\n"
        "    graph = pl.Graph(pl.Target(tiles=2))\n"
        "    a = graph.add_variable(pl.INT, (4,), 'a', mapping=0, initial_value=1)\n"
        "    b = graph.add_variable(pl.INT, (4,), 'b', mapping=0)\n"
        "    return graph, pl.Sequence(pl.Repeat(3, pl.Copy(a, b)), pl.Copy(b, a))\n"
    )
    assert main(["report", "turns.py:build", "--trace", "-f", "json", "-q"]) == 0
    assert pl.Report.from_json(capsys.readouterr().out).order == ((0, 3), (1, 1))
    assert main(["report", "turns.py:build", "-f", "json", "-q"]) == 0
    assert pl.Report.from_json(capsys.readouterr().out).order == ()


def test_flags_are_not_cut_short(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["report", "run.json", "--traceb"], ["diff", "run.json", "run.json", "--fail"]):
        with pytest.raises(SystemExit):
            main(words)
        assert "unrecognized arguments" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["txt", "md", "svg", "html", "json"])
def test_a_diff_says_that_runs_are_unlike(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    report = pl.Report.load("run.json")
    execution = replace(report.execution, runs=3)
    replace(report, execution=execution).save("thrice.json")
    assert main(["diff", "run.json", "thrice.json", "-f", form]) == 0
    note = "unlike runs: run.json is of 1 run, thrice.json of 3 runs"
    assert note in capsys.readouterr().out


def test_a_page_compares_two_reports() -> None:
    assert main(["report", "run.json", "later.json", "-q", "-o", "both.html"]) == 0
    page = ViewPage(Path("both.html").read_text())
    assert page.shown["names"] == ["run.json", "later.json"]
    assert [each["steps"][0]["times"] for each in page.reports] == [1, 3]


def test_a_page_is_opened(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    opened: list[str] = []

    def open_once(url: str) -> bool:
        opened.append(url)
        return len(opened) == 1

    monkeypatch.setattr("webbrowser.open", open_once)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert main(["report", "run.json", "--open"]) == 0
    path = Path(opened[0].removeprefix("file://"))
    assert path.parent == tmp_path
    assert path.read_text().startswith("<!doctype html>")
    assert capsys.readouterr().err == f"wrote {path}\n"
    assert main(["report", "run.json", "--open", "-q", "-o", "run.html"]) == 0
    assert opened[1].endswith("/run.html")
    assert "no browser found; open run.html in one" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.json"], "cannot read 'absent.json': No such file or directory"),
        (
            ["text.json"],
            "'text.json' cannot be loaded as a report: it is not JSON: Expecting value",
        ),
        (
            ["run.json", "text.json"],
            "'text.json' cannot be loaded as a report: it is not JSON: Expecting",
        ),
        (["none.json", "-f", "svg"], "'none.json' has no numbers to draw"),
        (["run.json", "later.json", "-f", "svg"], "two reports are compared as text"),
        (["run.json", "later.json", "-o", "a.svg"], "two reports are compared as text"),
        (["run.json", "--title", "run"], "--title is for a page, and the format is txt"),
        (["run.json", "--trace"], "--trace keeps the order in which steps run, and nothing runs"),
        (["a.py:f", "--trace", "--no-run"], "--trace keeps the order in which steps run, and"),
        (["run.json", "--open", "-o", "a.svg"], "--open is for a page, and the format is svg"),
    ],
)
def test_faults(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("text.json").write_text("a text")
    assert main(["report", *arguments]) == 1
    said = capsys.readouterr()
    assert said.err.startswith(f"poplite-viz: {message}")
    assert "\n  try: " in said.err
    assert said.out == ""
