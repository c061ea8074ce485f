"""The lines of the user's files, with what each takes, and their text where it is asked for."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import poplite as pl
from helpers.random_reports import random_report
from helpers.view_page import ViewPage
from poplite import source
from poplite.tools.viz import main
from poplite.tools.viz.load_target import load_target
from poplite.viz.draw.words import Style
from poplite.viz.lines import (
    CHANGED,
    NOT_HERE,
    NOT_KNOWN,
    FileLines,
    LineCost,
    line_list,
)
from poplite.viz.paint_svg import paint_svg
from poplite.viz.paint_text import paint_text

TEXT = '''"""A secret."""
import poplite as pl


def shift(a, b):
    return pl.Copy(a, b)


def build():
    graph = pl.Graph(pl.Target(tiles=4))
    a, b = (
        graph.add_variable(pl.INT, (4,), name, mapping=tile, initial_value=1)
        for tile, name in enumerate("ab")
    )
    first = pl.Repeat(3, shift(a, b))
    second = shift(b, a)
    return graph, pl.Sequence(first, second, pl.Copy(a, b))


def unnamed_one():
    pass


def unnamed_two():
    pass
'''

DIGEST = hashlib.sha256(TEXT.encode()).hexdigest()


def made(text: str = TEXT, name: str = "shifts.py") -> pl.Report:
    """Return the report of a run of a file in the working directory."""
    Path(name).write_text(text)
    graph, program = load_target(f"{name}:build")
    assert program is not None
    engine = pl.Engine(graph, program)
    engine.run()
    return engine.report()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory; files of other tests, which have the same names, are unknown."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(source, "_stamps", {})
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("shifts", "other"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def lines_of(report: pl.Report, *, source: bool = False) -> FileLines:
    """Return the lines of the only file."""
    (file,) = line_list(report, source=source).files
    return file


# -- numbers ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
def test_lines_have_what_is_made_at_them_and_by_what_they_call() -> None:
    report = made()
    first, second, last = report.execution.steps
    one = last.cycles
    assert (first.cycles, second.cycles) == (3 * one, one)
    (file,) = line_list(report).files
    called = ("shifts.py:6 in shift",)
    assert file == FileLines(
        "shifts.py",
        (
            LineCost(2, 4 * one, 0.8, (3 + 1) * 4 * 4, 0, 6, ("a to b", "b to a"), False),
            LineCost(0, 0, 0.0, 0, 2 * 4 * 4, 12, ("a", "b"), False),
            LineCost(1, 3 * one, 0.6, 3 * 4 * 4, 0, 15, called, True),
            LineCost(1, one, 0.2, 4 * 4, 0, 16, called, True),
            LineCost(1, one, 0.2, 4 * 4, 0, 17, ("a to b",), False),
        ),
    )
    assert line_list(report).cycles == 5 * one


RECURSIVE = """import poplite as pl


def nested(a, b, depth):
    return pl.Sequence(nested(a, b, depth - 1)) if depth else pl.Copy(a, b)


def build():
    graph = pl.Graph(pl.Target(tiles=2))
    a, b = (graph.add_variable(pl.INT, (4,), name, mapping=0, initial_value=1) for name in "ab")
    return graph, nested(a, b, 3)
"""


@pytest.mark.usefixtures("folder")
def test_a_line_that_calls_itself_counts_a_step_once() -> None:
    report = made(RECURSIVE)
    (step,) = report.execution.steps
    assert step.at == "shifts.py:5 in nested, called at shifts.py:5 in nested"
    line = line_list(report).files[0].lines[0]
    assert line == LineCost(1, step.cycles, 1.0, 0, 0, 5, ("a to b",), False)


def test_lines_of_several_files_and_without_any() -> None:
    report = random_report(4, 3, 0)
    (file,) = line_list(report).files
    assert [line.number for line in file.lines] == [1, 2]
    assert sum(line.cycles for line in file.lines) == report.cycles
    memory = report.compilation.memory
    assert file.lines[1].memory == sum(held.bytes.total for held in memory.held)
    empty = line_list(pl.Engine(pl.Graph(pl.Target(tiles=1)), pl.Sequence()).report())
    assert empty.files == ()
    heading = "lines: 0 lines of 0 files, 0 cycles; as compiled, of one run\n"
    assert paint_text(empty.picture()) == heading


# -- text of files ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
def test_text_is_that_of_lines_and_five_around_each() -> None:
    report = made()
    (plain,), (shown,) = (line_list(report, source=each).files for each in (False, True))
    assert (plain.text, plain.digest, plain.note) == ((), "", "")
    assert shown.lines == plain.lines
    assert (shown.note, shown.digest) == ("", DIGEST)
    lines = TEXT.split("\n")
    assert shown.text == tuple((number, lines[number - 1]) for number in range(1, 17 + 5 + 1))
    assert "unnamed_two" not in json.dumps(shown.text)


@pytest.mark.usefixtures("folder")
def test_a_saved_report_has_name_size_and_hash_of_each_file() -> None:
    report = made()
    (known,) = (file for file in report.compilation.sources if file.name == "shifts.py")
    assert (known.size, known.digest) == (len(TEXT.encode()), DIGEST)
    assert "A secret" not in report.to_json()
    loaded = pl.Report.from_json(report.to_json())
    assert loaded == report
    assert list(loaded.compilation.sources) == list(report.compilation.sources)
    assert line_list(loaded, source=True) == line_list(report, source=True)


def test_a_file_that_has_changed_is_not_shown(folder: Path) -> None:
    report = pl.Report.from_json(made().to_json())
    for text, note in (
        (TEXT.replace("secret", "Secret"), CHANGED),  # as long as before
        (TEXT + "# more", CHANGED),
        ("", CHANGED),
        (TEXT, ""),
    ):
        (folder / "shifts.py").write_text(text)
        (file,) = line_list(report, source=True).files
        assert (file.note, bool(file.text), bool(file.digest)) == (note, not note, not note)
        picture = line_list(report, source=True).picture()
        assert (note or DIGEST) in paint_text(picture, Style(width=160))
    (folder / "shifts.py").unlink()
    (file,) = line_list(report, source=True).files
    assert (file.note, file.text) == (NOT_HERE, ())


def test_a_file_that_changes_before_the_report_is_made_has_no_hash(folder: Path) -> None:
    Path("shifts.py").write_text(TEXT)
    graph, program = load_target("shifts.py:build")
    assert program is not None
    (folder / "shifts.py").write_text(TEXT.replace("secret", "Secret"))
    os.utime(folder / "shifts.py", ns=(1, 1))
    report = pl.Engine(graph, program).report()
    assert "shifts.py" not in {file.name for file in report.compilation.sources}
    (file,) = line_list(report, source=True).files
    assert (file.note, file.text) == (NOT_KNOWN, ())


def test_files_that_cannot_be_told_apart_have_no_hash(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        (folder / name).mkdir()
        (folder / name / "other.py").write_text(
            f"def add(graph):\n    graph.add_variable('int32', (4,), '{name}', mapping=0)\n"
        )
    graph = pl.Graph(pl.Target(tiles=1))
    for name in ("one", "two"):
        monkeypatch.syspath_prepend(folder / name)
        monkeypatch.delitem(sys.modules, "other", raising=False)
        __import__("other").add(graph)
    monkeypatch.chdir(folder / "one")  # one is `other.py` below it, and two by its name alone
    report = pl.Engine(graph, pl.Sequence()).report()
    assert "other.py" not in {file.name for file in report.compilation.sources}


@pytest.mark.usefixtures("folder")
def test_what_is_no_file_has_no_hash() -> None:
    scope: dict[str, object] = {}
    exec(compile(TEXT, "<cell 3>", "exec"), scope)
    graph, program = scope["build"]()  # type: ignore[operator]
    report = pl.Engine(graph, program).report()
    found = {file.name: file for file in line_list(report, source=True).files}
    assert found["<cell 3>"].note == NOT_KNOWN


@pytest.mark.usefixtures("folder")
def test_a_loaded_graph_has_no_hash_as_its_file_may_have_changed() -> None:
    Path("shifts.py").write_text(TEXT)
    graph, program = load_target("shifts.py:build")
    assert program is not None
    graph.save("shifts.graph", program)
    again, programs = pl.Graph.load("shifts.graph")
    report = pl.Engine(again, programs).report()
    assert [file.name for file in line_list(report).files] == ["shifts.py"]
    assert list(report.compilation.sources) == []


def test_text_is_of_one_line_without_control_characters(folder: Path) -> None:
    lines = [
        *(
            "import poplite as pl",
            "def build():",
            "\tgraph = pl.Graph(pl.Target(tiles=1)) # \x1b[31m",
        ),
        *(f"\tgraph.add_variable(pl.INT, (4,), 'x', mapping=0) # {'x' * 300}", "\treturn graph"),
    ]
    (folder / "shifts.py").write_bytes("\r\n".join(lines).encode())
    graph, _ = load_target("shifts.py:build")
    (file,) = line_list(pl.Engine(graph, pl.Sequence()).report(), source=True).files
    first, second, third, fourth, fifth = (text for _, text in file.text)
    assert (first, second, fifth) == ("import poplite as pl", "def build():", "    return graph")
    assert third == r"    graph = pl.Graph(pl.Target(tiles=1)) # \x1b[31m"
    assert (len(fourth), fourth[-4:]) == (200, "x...")


# -- pages -----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
def test_a_page_has_text_only_where_it_is_asked_for() -> None:
    report = made()
    plain, shown = report.to_html(), report.to_html(source=True)
    assert "A secret" not in ViewPage(plain).json
    assert DIGEST not in ViewPage(plain).json
    assert ViewPage(plain).reports[0]["sources"] == {}
    lines = TEXT.split("\n")
    text = [[number, lines[number - 1]] for number in range(1, 23)]
    assert ViewPage(shown).reports[0]["sources"] == {"shifts.py": ["", DIGEST, text]}
    assert "unnamed_two" not in ViewPage(shown).json


def test_equal_reports_give_equal_pages_whatever_their_files(folder: Path) -> None:
    report = made()
    loaded = pl.Report.from_json(report.to_json())
    assert loaded.to_html(source=True) == report.to_html(source=True)
    (folder / "shifts.py").write_text(TEXT + "# more")
    again = pl.Report.from_json(report.to_json())
    assert again.to_html() == report.to_html() == loaded.to_html()
    assert ViewPage(again.to_html(source=True)).reports[0]["sources"] == {
        "shifts.py": [CHANGED, "", []]
    }
    with pytest.raises(pl.ElementTypeError, match="report.to_html: source is 'yes'"):
        report.to_html(source="yes")  # type: ignore[arg-type]


# -- picture and command ---------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("width", [40, 80, 160])
def test_text_and_svg_say_the_same(width: int) -> None:
    lines = line_list(made(), source=True)
    text = paint_text(lines.picture(), Style(width=width))
    assert max(map(len, text.splitlines())) <= width
    svg = "\n".join(ET.fromstring(paint_svg(lines.picture())).itertext())
    for words in ("608", "456", "shifts.py", "unnamed_one", "lines: 5 lines of 1 file"):
        assert words in text
        assert words in svg
    assert (DIGEST[:12] if width == 40 else DIGEST) in text
    assert DIGEST in svg
    assert "second = shift(b, a)" in text
    assert "unnamed_two" not in text + svg


@pytest.mark.usefixtures("folder")
def test_the_command_writes_lines(capsys: pytest.CaptureFixture[str]) -> None:
    report = made()
    report.save("run.json")
    assert main(["lines", "run.json", "-f", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data == json.loads(line_list(report).json())
    assert [row["number"] for row in data["files"][0]["lines"]] == [6, 12, 15, 16, 17]
    assert data["files"][0]["text"] == []
    assert main(["lines", "shifts.py:build", "--source", "-f", "json", "-q"]) == 0
    assert (
        dict(json.loads(capsys.readouterr().out)["files"][0]["text"])[15]
        == "    first = pl.Repeat(3, shift(a, b))"
    )
    assert main(["lines", "run.json", "-f", "csv"]) == 0
    out = capsys.readouterr().out
    assert out == line_list(report).csv()
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["received_bytes"] for row in rows] == ["64", "0", "48", "16", "16"]
    assert rows[2]["names"] == "calls shifts.py:6 in shift"


@pytest.mark.usefixtures("folder")
def test_the_command_writes_a_page_with_text(capsys: pytest.CaptureFixture[str]) -> None:
    made().save("run.json")
    assert main(["report", "run.json", "-o", "plain.html", "-q"]) == 0
    assert main(["report", "run.json", "-o", "shown.html", "--source", "-q"]) == 0
    assert "A secret" not in ViewPage(Path("plain.html").read_text()).json
    assert "A secret" in ViewPage(Path("shown.html").read_text()).json
    assert main(["report", "run.json", "run.json", "-o", "both.html", "--source", "-q"]) == 0
    assert [len(each["sources"]) for each in ViewPage(Path("both.html").read_text()).reports] == [
        1,
        1,
    ]
    assert main(["report", "run.json", "--source"]) == 1
    said = capsys.readouterr().err
    assert "--source needs a page; found format txt" in said
    assert "run poplite-viz report run.json -o report.html --source" in said
