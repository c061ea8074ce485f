"""`poplite-viz report`, and reports from targets and saved files for every subcommand."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tracemalloc
import xml.etree.ElementTree as ET
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import poplite as pl
from helpers.running import go_to
from helpers.view_page import ViewPage
from poplite.errors import FileLoadError, InvalidTileMapping, UnknownName
from poplite.executable import executable_file
from poplite.tools.viz import main
from poplite.tools.viz.flags import add_report, add_run, build_flags
from poplite.tools.viz.load_report import load, load_report

# -- report ----------------------------------------------------------------------------------------


@pytest.fixture
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
    assert "different runs" not in difference
    assert capsys.readouterr().out == f"{difference}\n"


@pytest.mark.usefixtures("reports")
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


@pytest.mark.usefixtures("reports")
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
    assert "pictures need at least 40 columns, but COLUMNS is 37" in said.err


def test_a_report_is_written_again(reports: dict[str, pl.Report], tmp_path: Path) -> None:
    assert main(["report", "run.json", "-q", "-o", "again.json"]) == 0
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "run.json").read_bytes()
    assert pl.Report.load("again.json") == reports["run"]


@pytest.mark.usefixtures("reports")
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


@pytest.mark.usefixtures("reports")
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


@pytest.mark.usefixtures("reports")
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


@pytest.mark.usefixtures("reports")
def test_flags_are_not_cut_short(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["report", "run.json", "--traceb"], ["diff", "run.json", "run.json", "--fail"]):
        with pytest.raises(SystemExit):
            main(words)
        assert "unrecognized arguments" in capsys.readouterr().err


@pytest.mark.usefixtures("reports")
@pytest.mark.parametrize("form", ["txt", "md", "svg", "html", "json"])
def test_a_diff_says_that_runs_are_unlike(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    report = pl.Report.load("run.json")
    execution = replace(report.execution, runs=3)
    replace(report, execution=execution).save("thrice.json")
    assert main(["diff", "run.json", "thrice.json", "-f", form]) == 0
    note = "different runs: run.json has 1 run, thrice.json has 3 runs"
    assert note in capsys.readouterr().out


@pytest.mark.usefixtures("reports")
def test_a_page_compares_two_reports() -> None:
    assert main(["report", "run.json", "later.json", "-q", "-o", "both.html"]) == 0
    page = ViewPage(Path("both.html").read_text())
    assert page.shown["names"] == ["run.json", "later.json"]
    assert [each["steps"][0]["times"] for each in page.reports] == [1, 3]


@pytest.mark.usefixtures("reports")
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


@pytest.mark.usefixtures("reports")
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
        (["run.json", "later.json", "-f", "svg"], "two reports can be compared only as text"),
        (["run.json", "later.json", "-o", "a.svg"], "two reports can be compared only as text"),
        (["run.json", "--title", "run"], "--title needs a page; found format txt"),
        (["run.json", "--trace"], "--trace records the order in which steps run, but nothing runs"),
        (["a.py:f", "--trace", "--no-run"], "--trace records the order in which steps run, but"),
        (["run.json", "--open", "-o", "a.svg"], "--open needs a page; found format svg"),
    ],
)
def test_faults_of_reports(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("text.json").write_text("a text")
    assert main(["report", *arguments]) == 1
    said = capsys.readouterr()
    assert said.err.startswith(f"poplite-viz: {message}")
    assert "\n  try: " in said.err
    assert said.out == ""


# -- from targets and files to reports -------------------------------------------------------------


WORK = """
import poplite as pl

class Double(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] *= 2

def build(times=3, size=8):
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (size,), "x", mapping=1)
    double = graph.add_compute_set("double")
    graph.add_vertex(double, Double, tile=1, x=x)
    return graph, pl.Repeat(times, pl.Execute(double))

def streams():
    graph, program = build()
    y = graph.add_variable(pl.FLOAT, (4,), "y", mapping=0)
    copy = pl.Copy(graph.add_host_to_device_fifo("numbers", pl.FLOAT, 4), y)
    host = graph.add_host_function("ask", [(pl.FLOAT, 4)], [(pl.FLOAT, 4)])
    return graph, {"fill": pl.Sequence(copy, pl.Call(host, [y], [y])), "double": program}

def unplaced():
    graph = pl.Graph(pl.Target(tiles=2))
    x, y = (graph.add_variable(pl.FLOAT, (4,), name) for name in "xy")
    return graph, pl.Copy(x, y)

def failing():
    graph, program = build()
    always = graph.add_constant(pl.BOOL, (), True, mapping=0)
    return graph, pl.Sequence(program, pl.ErrorProgram("no luck", always))

def alone():
    return build()[0]
"""


@pytest.fixture
def work_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `work.py`, which is where we are."""
    return go_to(tmp_path, monkeypatch, work=WORK)


@pytest.mark.usefixtures("work_folder")
def test_a_target_runs_once_unless_that_is_not_wanted() -> None:
    ran = load("work.py:build", [("times", 5)])
    assert (ran.report.runs, ran.report.step("double").executions) == (1, 5)
    assert ran.graph is not None
    assert [name for name, _ in ran.programs] == ["0"]
    compiled = load("work.py:build", run=False).report
    assert (compiled.is_run, compiled.compilation.planned[0].executions) == (False, 3)
    assert load("work.py:alone").report.execution.steps == ()


@pytest.mark.usefixtures("work_folder")
def test_what_needs_data_runs_only_when_asked_to(capsys: pytest.CaptureFixture[str]) -> None:
    first = load("work.py:streams")
    assert not first.report.is_run
    assert "2 streams or host functions need data ('numbers', 'ask')" in first.note
    assert load("work.py:streams", run=True).report.runs == 2
    assert load("work.py:streams", (), "double", run=True).report.runs == 1
    parser = argparse.ArgumentParser()
    add_report(parser, formats=("txt",))
    add_run(parser)
    words = ["work.py:streams", "--program", "double", "--run", "--vertices", "work"]
    arguments = parser.parse_args(words)
    assert build_flags(arguments) == ["--program", "double", "--vertices", "work", "--run"]
    assert load_report(arguments).runs == 1
    load_report(parser.parse_args(["work.py:streams"]))
    assert capsys.readouterr().err.count("poplite-viz: work.py:streams is shown as compiled") == 1
    load_report(parser.parse_args(["work.py:streams", "-q"]))
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("work_folder")
def test_what_does_not_fit_has_a_report() -> None:
    report = load("work.py:build", [("size", 200_000)], run=False).report
    assert report.compilation.memory.num_over(report.compilation.target.tile_memory_bytes) == 1


@pytest.mark.usefixtures("work_folder")
def test_saved_files_are_read_and_not_run(tmp_path: Path) -> None:
    ran = load("work.py:build")
    ran.report.save("run.json")
    assert load("run.json").report == ran.report
    assert ran.graph is not None
    pl.compile_graph(ran.graph, dict(ran.programs)).save("program.poplite")
    (tmp_path / "work.py").write_text(WORK)
    sys.modules.pop("work", None)
    saved = load("program.poplite", vertices=["work.py"])
    assert saved.graph is None
    assert not saved.report.is_run
    assert saved.report.compilation.planned[0].executions == 3


@pytest.mark.usefixtures("work_folder")
@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        ("run.json", {}, "cannot read 'run.json': No such file"),
        ("work.py", {}, "'work.py' does not name a callable"),
        ("text.json", {}, "'text.json' cannot be loaded as a report"),
        ("text.json", {"run": True}, "--run needs a TARGET, but 'text.json' is a saved file"),
        ("text.json", {"given": [("a", 1)]}, "--arg needs a TARGET"),
        ("work.py:failing", {}, "'work.py:failing' cannot be run: .*no luck"),
    ],
)
def test_faults_of_targets(target: str, options: dict[str, object], message: str) -> None:
    Path("text.json").write_text("a text")
    with pytest.raises(FileLoadError, match=message) as caught:
        load(target, **options)  # type: ignore[arg-type]  # one of several keywords
    assert caught.value.fix


@pytest.mark.usefixtures("work_folder")
def test_faults_of_the_graph_are_its_own() -> None:
    with pytest.raises(InvalidTileMapping):
        load("work.py:unplaced")
    with pytest.raises(UnknownName, match="there is no program 'dubble'"):
        load("work.py:streams", (), "dubble")


@pytest.mark.usefixtures("work_folder")
def test_unknown_vertex_classes_name_the_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    from poplite.executable import executable_file

    ran = load("work.py:build")
    assert ran.graph is not None
    pl.compile_graph(ran.graph, dict(ran.programs)).save("program.poplite")
    monkeypatch.setattr(executable_file, "defined_classes", lambda _: iter(()))
    with pytest.raises(FileLoadError, match="cannot be found") as caught:
        load("program.poplite")
    assert "--vertices" in caught.value.fix

    class Add(pl.Vertex):
        out: pl.Output[pl.INT]

        def compute(self) -> None:
            self.out = 1

    graph = pl.Graph(pl.Target(tiles=1))
    compute_set = graph.add_compute_set("one")
    x = graph.add_variable(pl.INT, (), "x", mapping=0)
    graph.add_vertex(compute_set, Add, tile=0, out=x)
    pl.compile_graph(graph, pl.Execute(compute_set)).save("add.poplite")
    with pytest.raises(FileLoadError, match="1 vertex class cannot be found") as caught:
        load("add.poplite")
    assert caught.value.found == "Add: the class in poplite.vertices.elementwise differs"
    assert "--vertices" in caught.value.fix


# -- saved files in every subcommand ---------------------------------------------------------------


GOLDEN = Path(__file__).parents[1] / "golden"

SAVED_WORK = '''
import poplite as pl

class Add(pl.Vertex):
    """Adds what is beside it."""

    x: pl.Input[pl.Vector[pl.INT]]
    y: pl.InOut[pl.INT]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.y += self.x[i]

def build():
    graph = pl.Graph(pl.Target(tiles=4))
    with graph.scope("layer"):
        x = graph.add_variable(pl.INT, (4, 2), "x", mapping="linear", initial_value=1)
        y = graph.add_variable(pl.INT, (4,), "y", mapping="linear", initial_value=0)
    three = graph.add_constant(pl.INT, (4,), 3, "three", mapping=2)
    done = graph.add_variable(pl.BOOL, (), "done", mapping=0, initial_value=True)
    add = graph.add_compute_set("layer/add")
    for tile in range(4):
        graph.add_vertex(add, Add, tile=tile, x=x[(tile + 1) % 4], y=y[tile])
    step = pl.Execute(add)
    main = pl.Sequence(
        pl.Copy(three, y), pl.Repeat(3, step), pl.If(done, pl.Copy(y, x[:, 1]), pl.Sequence())
    )
    return graph, {"main": main, "again": pl.Sequence(pl.Call(graph.add_function(step, "f")))}
'''

SAVED = ("run.json", "work.poplite")
FILES = (*SAVED, "work.graph")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a script, and what was saved of it."""
    folder = tmp_path_factory.mktemp("saved")
    (folder / "work.py").write_text(SAVED_WORK)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(str(folder))
        from poplite.tools.viz.load_target import load_programs

        graph, programs = load_programs("work.py:build")
        engine = pl.Engine(graph, programs)
        engine.executable.save("work.poplite")
        graph.save("work.graph", programs)
        for name in programs:
            engine.run(name)
        engine.report().save("run.json")
    sys.modules.pop("work", None)
    return folder


@pytest.fixture
def saved_folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, which is where we are."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return go_to(tmp_path, monkeypatch, work=SAVED_WORK)


def printed(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    """Return what a command prints, or its message, and check its exit code."""
    needs_classes = {"work.poplite", "work.graph"} & {*words}
    extra = ["--vertices", "work.py"] if needs_classes else []
    assert main([*words, *extra]) == code
    found = capsys.readouterr()
    return found.out if code == 0 else found.err


@pytest.mark.usefixtures("saved_folder")
@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize(
    "words",
    [
        *("summary", "tiles", "tiles --variable layer/x", "tensor x", "regions x --op reverse,0"),
        *("program --program main", "graph", "memory", "tile 1", "liveness", "report", "steps"),
        *("steps --timeline", "exchange", "ops"),
    ],
)
@pytest.mark.parametrize("form", ["txt", "json"])
def test_every_subcommand_takes_saved_files(
    file: str, words: str, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command, *flags = words.split()
    flags = [flag.replace(",", " ") for flag in flags]
    out = printed(capsys, command, file, *flags, "-f", form)
    assert len(out) > 40
    if form == "json":
        assert isinstance(json.loads(out), dict)


@pytest.mark.usefixtures("saved_folder")
@pytest.mark.parametrize("file", SAVED)
def test_a_saved_graph_looks_as_it_did(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What a file knows is drawn as of the graph itself."""

    def both(*words: str) -> tuple[str, str]:
        command, *flags = words
        target = printed(capsys, command, "work.py:build", *flags)
        return target, printed(capsys, command, file, *flags)

    target, saved = both("tensor", "x", "--view", "1:3")
    assert saved == target
    target, saved = both("tensor", "x", "-f", "json")
    assert saved == target
    target, saved = both("regions", "layer/x", "--op", "dimShuffle 1,0")
    assert saved == target
    target, saved = both("summary")
    cycles = re.search(r"\ncycles .*", saved)
    assert cycles is not None
    assert saved.replace(cycles[0], "") == target
    assert len(flows(*both("graph", "-f", "json"))) == 7


PICTURES = ["summary", "tiles", "tiles --variable layer/x", "tensor x --view 1:3", "lint"]
PICTURES += ["regions x --op reverse,0", "regions --field layer/add#1.x", "program --counts"]
PICTURES += ["graph -f json", "graph -f dot", "memory", "report --no-run", "steps --no-run"]


@pytest.mark.usefixtures("saved_folder")
@pytest.mark.parametrize("words", PICTURES)
def test_a_saved_graph_is_drawn_as_its_target(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command, *flags = (word.replace(",", " ") for word in words.split())
    target = printed(capsys, command, "work.py:build", *flags)
    given = [flag for flag in flags if flag != "--no-run"]
    assert printed(capsys, command, "work.graph", *given) == target


@pytest.mark.usefixtures("saved_folder")
@pytest.mark.parametrize("words", [*PICTURES[:10], "memory", "report", "lint"])
def test_a_saved_graph_is_drawn_without_its_classes(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What needs their code is refused, and says how to give it."""
    content = Path("work.graph").read_bytes()
    with zipfile.ZipFile("work.graph") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile("other.graph", "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data.replace(b'"Add"', b'"Sum"'))
    assert content != Path("other.graph").read_bytes()
    command, *flags = (word.replace(",", " ") for word in words.split())
    needs_code = command in ("memory", "report", "lint")
    out = printed(capsys, command, "other.graph", *flags, code=int(needs_code))
    if needs_code:
        assert "only the fields of class 'Sum' are known" in out
        assert "--vertices FILE.py" in out
    else:
        target = printed(capsys, command, "work.py:build", *flags).replace("Add", "Sum")
        if command in ("summary", "tiles"):  # what they say of code is not known
            assert re.search("variables fit|bytes of variables per tile", out)
            assert ("not counted: only the fields of class 'Sum'" in out) is (words == "tiles")
        else:
            assert out == target


def flows(target: str, saved: str) -> set[tuple[Any, ...]]:
    """The edges of two graphs as JSON, which are the same; a file calls parts by their variable."""
    found: list[set[tuple[Any, ...]]] = []
    for text in (target, saved):
        data = json.loads(text)
        names = [
            (node["kind"], node["name"] if node["kind"] != "copy" else node["steps"][0])
            for node in data["nodes"]
        ]
        found.append(
            {
                (names[edge["from"]], names[edge["to"]], edge["bytes"], str(edge["fields"]))
                for edge in data["edges"]
            }
        )
    assert found[0] == found[1]
    return found[0]


@pytest.mark.usefixtures("saved_folder")
def test_programs_have_the_same_steps(capsys: pytest.CaptureFixture[str]) -> None:
    for file in SAVED:
        out = printed(capsys, "program", file, "--counts")
        assert "program 'main': 3 steps, run as often as data decide" in out
        assert "program 'again': 1 step, run 1 time in all" in out
        for text in (
            "1     1    Copy 'three' -> 'layer/y'  16 B",
            "2     3      Execute 'layer/add'  4 vertices",
            "If 'done'",
            "3    1?      then: Copy 'layer/y' -> 'layer/x'  16 B",
        ):
            assert text in out


@pytest.mark.usefixtures("saved_folder")
def test_one_of_several_programs(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "graph", "run.json", "--program", "again")
    assert "   4  'layer/add'" in out
    assert "Copy" not in out
    err = printed(capsys, "graph", "run.json", "--program", "agian", code=1)
    assert "did you mean 'again'?" in err
    err = printed(capsys, "program", "run.json", "-f", "svg", code=1)
    assert "svg shows one program, but 'run.json' has 2" in err
    assert "run 1 time in all" in printed(capsys, "summary", "run.json", "--program", "again")


@pytest.mark.usefixtures("saved_folder")
def test_nothing_of_a_file_is_executed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("it runs")

    monkeypatch.setattr(pl.Engine, "run", refuse)
    for words in ("summary", "graph", "tensor x", "program", "tiles", "report"):
        command, *flags = words.split()
        printed(capsys, command, "work.poplite", *flags)


@pytest.mark.usefixtures("saved_folder")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("tensor run.json z", "the graph has no variable 'z'"),
        ("regions run.json --field layer/add#1.x", "or a file from graph.save"),
        ("report work.graph --run", "which is never run"),
        ("summary work.graph --arg a=1", "is a saved graph"),
        ("tensor work.graph z", "the graph has no variable 'z'"),
        ("summary run.json --arg a=1", "--arg needs a TARGET"),
        ("steps run.json --program again", "its programs are 'main', 'again'"),
        ("diff run.json run.json --program again", "leave out --program; summary, program and"),
        ("diff run.json work.graph --program again", "'run.json' is a saved report or executable"),
        (
            "lint run.json",
            "lint needs code and edges, which a saved report or executable does not contain",
        ),
        ("lint work.poplite", "or a file from graph.save"),
        ("graph run.json --around layer/z", "did you mean 'layer/y'?"),
        ("tiles run.json --variable layer/x --step 1", "--step has no effect"),
        ("summary nothing.json", "does not name a callable"),
    ],
)
def test_faults_say_what_to_do(
    words: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if "nothing" in words:
        with pytest.raises(SystemExit):
            main(words.split())
        assert message in capsys.readouterr().err
    else:
        assert message in printed(capsys, *words.split(), code=1)


@pytest.mark.usefixtures("saved_folder")
def test_older_files_are_refused_and_those_of_the_format_drawn(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copy(GOLDEN / "reports" / "version_1.json", "old.json")
    assert "it has version 1" in printed(capsys, "summary", "old.json", code=1)
    shutil.copy(GOLDEN / "executables" / "format_7.poplite", "old.poplite")
    shutil.copy(GOLDEN / "executables" / "format_7_vertices.txt", "model.py")
    vertices = ["--vertices", "model.py"]
    assert "writes" in printed(capsys, "graph", "old.poplite", *vertices)
    assert "on 8 tiles" in printed(capsys, "tensor", "old.poplite", "x", *vertices)


@pytest.mark.usefixtures("saved_folder")
def test_a_class_of_the_user_hides_none_of_the_library(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a process that has imported nothing of the library, and has an `Add` of its own."""

    class Add(pl.Vertex):
        x: pl.InOut[pl.FLOAT]

        def compute(self) -> None:
            self.x += 1

    monkeypatch.setattr(executable_file, "defined_classes", lambda _: [Add])
    shutil.copy(GOLDEN / "executables" / "format_7.poplite", "old.poplite")
    shutil.copy(GOLDEN / "executables" / "format_7_vertices.txt", "model.py")
    assert "writes" in printed(capsys, "graph", "old.poplite", "--vertices", "model.py")


@pytest.mark.usefixtures("saved_folder")
def test_a_report_may_not_say_where_a_variable_lies(capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(Path("run.json").read_text())
    for each in data["compilation"]["variables"]:
        del each["first"], each["tiles"]
    Path("run.json").write_text(json.dumps(data))
    err = printed(capsys, "tensor", "run.json", "x", code=1)
    assert "the file does not say on which tiles 'x' lies" in err


@pytest.mark.usefixtures("saved_folder")
def test_a_report_that_cannot_be_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(Path("run.json").read_text())
    known = data["compilation"]["variables"]
    (number,) = (n for n, each in enumerate(known) if each["name"] == "layer/x")
    known[number]["tiles"]["values"] = [0, 1, 2, 9]
    Path("run.json").write_text(json.dumps(data))
    assert "each on a tile of the target" in printed(capsys, "tensor", "run.json", "x", code=1)
    known[number]["element_type"] = "FLAOT"
    Path("run.json").write_text(json.dumps(data))
    said = printed(capsys, "tensor", "run.json", "x", code=1)
    assert "Variable.element_type cannot be 'FLAOT'" in said


def test_a_file_that_is_compressed_is_refused_before_it_is_unpacked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with zipfile.ZipFile(bomb := tmp_path / "bomb", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", bytes(1 << 24))
    content = bomb.read_bytes()
    torn = content[:43] + b"\xff" * 4 + content[47:]  # where what is compressed begins
    (tmp_path / "torn").write_bytes(torn)
    for name in ("bomb", "torn"):
        tracemalloc.start()
        try:
            said = printed(capsys, "summary", str(tmp_path / name), code=1)
            assert tracemalloc.get_traced_memory()[1] < 1 << 24
        finally:
            tracemalloc.stop()
        assert "its member 'manifest.json' is compressed" in said
