"""Every subcommand takes a saved report and a saved executable, of which nothing is executed."""

from __future__ import annotations

import json
import re
import shutil
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import poplite as pl
from helpers.scripts import go_to
from poplite.executable.file import vertex_classes
from poplite.tools.viz import main

GOLDEN = Path(__file__).parents[1] / "golden"

SCRIPT = '''
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
    (folder / "work.py").write_text(SCRIPT)
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


@pytest.fixture(autouse=True)
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, which is where we are."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return go_to(tmp_path, monkeypatch, work=SCRIPT)


def printed(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    """Return what a command prints, or its message, and check its exit code."""
    needs_classes = {"work.poplite", "work.graph"} & {*words}
    extra = ["--vertices", "work.py"] if needs_classes else []
    assert main([*words, *extra]) == code
    found = capsys.readouterr()
    return found.out if code == 0 else found.err


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
    cycles = re.search(r"\n  cycles .*", saved)
    assert cycles is not None
    assert saved.replace(cycles[0], "") == target
    assert len(flows(*both("graph", "-f", "json"))) == 7


PICTURES = ["summary", "tiles", "tiles --variable layer/x", "tensor x --view 1:3", "lint"]
PICTURES += ["regions x --op reverse,0", "regions --field layer/add#1.x", "program --counts"]
PICTURES += ["graph -f json", "graph -f dot", "memory", "report --no-run", "steps --no-run"]


@pytest.mark.parametrize("words", PICTURES)
def test_a_saved_graph_is_drawn_as_its_target(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command, *flags = (word.replace(",", " ") for word in words.split())
    target = printed(capsys, command, "work.py:build", *flags)
    given = [flag for flag in flags if flag != "--no-run"]
    assert printed(capsys, command, "work.graph", *given) == target


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
        assert "'Sum' is a class of which only the fields are known" in out
        assert "--vertices FILE.py" in out
    else:
        target = printed(capsys, command, "work.py:build", *flags).replace("Add", "Sum")
        if command in ("summary", "tiles"):  # what they say of code is not known
            assert re.search("variables fit|bytes of variables per tile", out)
            assert ("not counted: 'Sum' is a class" in out) is (words == "tiles")
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


def test_one_of_several_programs(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "graph", "run.json", "--program", "again")
    assert "step 4  'layer/add'" in out
    assert "Copy" not in out
    err = printed(capsys, "graph", "run.json", "--program", "agian", code=1)
    assert "did you mean 'again'?" in err
    err = printed(capsys, "program", "run.json", "-f", "svg", code=1)
    assert "svg shows one program, and 'run.json' has 2" in err
    assert "run 1 time in all" in printed(capsys, "summary", "run.json", "--program", "again")


def test_nothing_of_a_file_is_executed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("it runs")

    monkeypatch.setattr(pl.Engine, "run", refuse)
    for words in ("summary", "graph", "tensor x", "program", "tiles", "report"):
        command, *flags = words.split()
        printed(capsys, command, "work.poplite", *flags)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("tensor run.json z", "the graph has no variable 'z'"),
        ("regions run.json --field layer/add#1.x", "or a file of graph.save"),
        ("report work.graph --run", "which is never run"),
        ("summary work.graph --arg a=1", "is a saved graph"),
        ("tensor work.graph z", "the graph has no variable 'z'"),
        ("summary run.json --arg a=1", "--arg is for a TARGET"),
        ("steps run.json --program again", "its programs are 'main', 'again'"),
        ("diff run.json run.json --program again", "leave --program out; summary, program and"),
        ("diff run.json work.graph --program again", "'run.json' is a saved report or executable"),
        ("lint run.json", "does not hold the code and edges that lint looks at"),
        ("lint work.poplite", "or a file of graph.save"),
        ("graph run.json --around layer/z", "did you mean 'layer/y'?"),
        ("tiles run.json --variable layer/x --step 1", "--step has no effect"),
        ("summary nothing.json", "names no callable"),
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


def test_older_files_are_refused_and_those_of_the_format_drawn(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copy(GOLDEN / "reports" / "version_1.json", "old.json")
    assert "it has version 1" in printed(capsys, "summary", "old.json", code=1)
    shutil.copy(GOLDEN / "executables" / "format_7.poplite", "old.poplite")
    shutil.copy(GOLDEN / "executables" / "format_7_vertices.txt", "model.py")
    vertices = ["--vertices", "model.py"]
    assert "writes:" in printed(capsys, "graph", "old.poplite", *vertices)
    assert "on 8 tiles" in printed(capsys, "tensor", "old.poplite", "x", *vertices)


def test_a_class_of_the_user_hides_none_of_the_library(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a process that has imported nothing of the library, and has an `Add` of its own."""

    class Add(pl.Vertex):
        x: pl.InOut[pl.FLOAT]

        def compute(self) -> None:
            self.x += 1

    monkeypatch.setattr(vertex_classes, "defined_classes", lambda _: [Add])
    shutil.copy(GOLDEN / "executables" / "format_7.poplite", "old.poplite")
    shutil.copy(GOLDEN / "executables" / "format_7_vertices.txt", "model.py")
    assert "writes:" in printed(capsys, "graph", "old.poplite", "--vertices", "model.py")


def test_a_report_may_not_say_where_a_variable_lies(capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(Path("run.json").read_text())
    for each in data["compilation"]["variables"]:
        del each["first"], each["tiles"]
    Path("run.json").write_text(json.dumps(data))
    err = printed(capsys, "tensor", "run.json", "x", code=1)
    assert "the file does not say on which tiles 'x' lies" in err


def test_a_report_that_cannot_be_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(Path("run.json").read_text())
    known = data["compilation"]["variables"]
    (number,) = (n for n, each in enumerate(known) if each["name"] == "layer/x")
    known[number]["tiles"]["values"] = [0, 1, 2, 9]
    Path("run.json").write_text(json.dumps(data))
    assert "on no tile of the target" in printed(capsys, "tensor", "run.json", "x", code=1)
    known[number]["element_type"] = "FLAOT"
    Path("run.json").write_text(json.dumps(data))
    said = printed(capsys, "tensor", "run.json", "x", code=1)
    assert "Variable.element_type cannot be 'FLAOT'" in said
