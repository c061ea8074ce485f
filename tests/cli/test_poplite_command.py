"""The command `poplite`, and the command that counts lines of code."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

import poplite as pl
from helpers.running import go_to, python
from poplite.ipu import building, selftest
from poplite.source import SourceLocation
from poplite.tools.code_lines import code_lines, main as count_lines
from poplite.tools.command import main
from poplite.tools.viz import main as viz
from poplite.tools.viz.main import failed

SCRIPT = """
import poplite as pl

class Mean(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        total = 0.0
        for i in range(len(self.x)):
            total += self.x[i] / 2
        self.y = total * 0.5 + len(self.x) / 2

def build(size=8):
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (size,), "x", mapping=0)
    y = graph.add_variable(pl.FLOAT, (), "y", mapping=0)
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Mean, tile=0, x=x, y=y)
    return graph, pl.Execute(work)

def alone():
    return build()[0]

def copies():
    graph = pl.Graph(pl.Target(tiles=2), replication_factor=2)
    a, b = (graph.add_variable(pl.INT, (3,), name, mapping=0) for name in "ab")
    return graph, pl.Copy(a, b)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `net.py`, which is where we are."""
    return go_to(tmp_path, monkeypatch, net=SCRIPT)


def test_export_writes_a_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "net.py:build", "out", "--arg", "size=16"]) == 0
    assert "wrote out; see its README.md" in capsys.readouterr().err
    assert "class Mean" in (folder / "out" / "codelets.cpp").read_text()
    first = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    assert main(["export", "net.py:build", "again", "--arg", "size=16", "-q"]) == 0
    assert {path.name: path.read_bytes() for path in (folder / "again").iterdir()} == first
    assert capsys.readouterr().err == ""


def test_export_says_what_does_not_fit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "net.py:build", "out", "--arg", "size=200000", "-q"]) == 0
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith("poplite: does not fit according to the model: tile 0 needs 80")
    assert (folder / "out" / "tables.bin").exists()


def test_an_error_of_the_command_has_no_place(capsys: pytest.CaptureFixture[str]) -> None:
    for file, said in ((sys.argv[0], "poplite: no\n"), ("net.py", "poplite: no  (net.py:8)\n")):
        error = pl.PopliteError("no", at=SourceLocation(file, 8, "<module>"))
        assert failed("poplite", error, argparse.Namespace(traceback=False)) == 1
        assert capsys.readouterr().err == said


def test_the_command_of_the_page_runs(root: Path, folder: Path) -> None:
    (folder / "examples").symlink_to(root / "examples")
    (line,) = re.findall(r"^poplite (export .*)$", (root / "docs/ipu.md").read_text(), re.M)
    assert main(shlex.split(line)) == 0
    assert "class Diffuse" in (folder / "exported" / "codelets.cpp").read_text()


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("net.py:alone", "a Graph alone"),
        ("net.py:copies", "2 replicas"),
        ("no.py:build", "no file"),
    ],
)
def test_what_cannot_be_exported_is_said(
    target: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", target, "out"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("poplite: ")
    assert says in said


def test_viz_is_poplite_viz(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["viz", "tiles", "net.py:build"]) == 0
    own = capsys.readouterr().out
    assert viz(["tiles", "net.py:build"]) == 0
    assert own == capsys.readouterr().out


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    for flag, says in (("--help", "poplite export heat.py:build"), ("--version", pl.__version__)):
        with pytest.raises(SystemExit) as caught:
            main([flag])
        assert caught.value.code == 0
        assert says in capsys.readouterr().out


def test_lint_tells_findings_as_text_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert viz(["lint", "net.py:build"]) == 0
    text = capsys.readouterr().out
    assert "finding" in text.splitlines()[0]
    assert "net.py:12" in text
    assert "try: " in text
    assert viz(["lint", "net.py:build", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["rule"] for row in rows} == {"double"}
    assert rows[0]["line"] == 12
    assert Path(rows[0]["file"]).name == "net.py"


def test_selftest_without_an_sdk_says_what_to_set(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("POPLAR_SDK_ENABLED", raising=False)
    monkeypatch.setenv("PATH", "")
    assert main(["ipu", "selftest"]) == 1
    assert "POPLAR_SDK_ENABLED is not set" in capsys.readouterr().err


def test_selftest_counts_what_differs_and_goes_on_after_a_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = selftest._results

    def results(built: Any, device: Any) -> Any:
        found = real(built, None)
        if device == "model":
            found["integers //, %, *"][0][:3] += 1
        elif device == "hardware":
            raise pl.DeviceRuntimeError("no device is free")
        return found

    monkeypatch.setattr(selftest, "_results", results)
    own, kinds = [selftest.own_program], ["model", "hardware"]
    outcomes = selftest.selftest(kinds, lambda kind: kind, own)  # type: ignore[arg-type, return-value]
    assert [each.is_equal for each in outcomes] == [False, False]
    text = selftest.selftest_text(outcomes)
    assert "| integers //, %, * | 3 of 240 differ | not run |" in text
    assert "| float32 sqrt | equal | not run |" in text
    assert text.endswith("hardware: no device is free")


# -- lines of code ---------------------------------------------------------------------------------


MODULE = '''"""A module

of two paragraphs.
"""

# a comment

LIMIT = 3  # lines
"""What is said below an attribute."""

TEXT = """one

# three
"""


def called(
    x: int,
) -> int:
    """Return it."""

    # why
    return x
'''


def test_lines_with_tokens_count_without_docstrings_comments_and_blank_lines() -> None:
    lines = MODULE.splitlines()
    expected = ["LIMIT = 3  # lines", 'TEXT = """one', "", "# three", '"""']
    expected += ["def called(", "    x: int,", ") -> int:", "    return x"]
    assert [lines[number - 1] for number in sorted(code_lines(MODULE))] == expected


def test_a_module_without_code_has_no_code_lines() -> None:
    assert code_lines("") == set()
    assert code_lines('"""Only a docstring."""\n# and a comment\n') == set()


def small_checkout(root: Path) -> Path:
    """Make a checkout of a few files, with a link to the simulator as the real one has."""
    for name in ("poplite", "poplite/viz", "poplite/viz/draw", "simulator", "tools", "vertices"):
        (root / name).mkdir()
        (root / name / "module.py").write_text(f'"""In {name}."""\n\nx = 1\n')
    (root / "simulator" / "other.py").write_text("x = 1\ny = (\n    2\n)\n")
    (root / "poplite" / "simulator").symlink_to(root / "simulator")
    return root


def test_the_command_sums_by_package(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert count_lines([str(small_checkout(tmp_path))]) == 0
    rows = [line.rsplit(maxsplit=2) for line in capsys.readouterr().out.splitlines()]
    assert rows[1:] == [
        ["poplite", "1", "1"],
        ["poplite/viz", "2", "2"],
        ["simulator", "2", "5"],
        ["tools", "1", "1"],
        ["vertices", "1", "1"],
        ["all", "7", "10"],
        ["all but poplite/viz", "5", "8"],
    ]


def test_a_folder_that_is_not_a_checkout_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        count_lines([str(tmp_path)])
    assert "is not a checkout of poplite: it has no folder 'poplite'" in capsys.readouterr().err


# -- explain, doctor, cache ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["GraphCycleError", "graphcycleerror", "graph_cycle_error", "poplite.errors.GraphCycleError"],
)
def test_an_error_is_explained(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", name]) == 0
    said = capsys.readouterr().out
    assert said.startswith("GraphCycleError\n\nVertices of one compute set race")
    assert "graph.add_vertex(work, DoubleFirst, tile=1, x=x[4:])" in said
    assert said.rstrip().endswith("or put the vertices in two compute sets")
    assert "```" not in said


@pytest.mark.parametrize(
    ("name", "starts"),
    [
        ("poplar_error", "PopliteError\n\nThe base class"),
        ("poplar::index_error", "TensorIndexError\n\nAn index"),
        ("FLOATING_POINT_DIVIDE_BY_ZERO", "FloatingPointTrap\n\nA vertex"),
        ("link_error", "poplite has no link_error: nothing is linked.\n\nVertexCompileError\n"),
        ("poplibs_error", "poplite has no poplibs_error: all errors have classes of poplite."),
    ],
)
def test_poplar_names_lead_to_classes(
    name: str, starts: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", name]) == 0
    assert capsys.readouterr().out.startswith(starts)


@pytest.mark.parametrize(
    ("name", "classes"),
    [
        ("graph_program_compilation_error", ["VertexCompileError", "VertexDefinitionError"]),
        ("runtime_error", ["ApplicationRuntimeError", "DeviceRuntimeError"]),
    ],
)
def test_a_poplar_name_of_several_classes_explains_each(
    name: str, classes: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", name]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line in classes] == classes


def test_an_unknown_error_suggests_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "UnknownFeld"]) == 1
    said = capsys.readouterr().err
    assert "there is no error class 'UnknownFeld' (did you mean 'UnknownField'?)" in said
    assert "try: poplite explain UnknownField\n" in said


def test_compiled_vertices_are_counted_and_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("POPLITE_CACHE_DIR", str(cache))
    assert main(["cache", "info"]) == 0
    assert capsys.readouterr().out == f"0 compiled files, 0 B, {cache}\n"
    cache.mkdir()
    (cache / "a.o").write_bytes(b"12345")
    (cache / "notes.txt").write_text("of the user")
    with monkeypatch.context() as of_ipu:
        of_ipu.setattr(building, "_own_folder", lambda: pytest.fail("the cache can be written"))
        building.kept("codelets.gp", ["source"]).write_bytes(b"1234567")
    assert main(["cache", "info"]) == 0
    assert capsys.readouterr().out == f"2 compiled files, 12 B, {cache}\n"
    assert main(["cache", "clear"]) == 0
    assert capsys.readouterr().out == f"deleted 2 compiled files, 12 B, {cache}\n"
    assert {each.name for each in cache.rglob("*")} == {"notes.txt", "ipu"}
    (cache / "folder.o").mkdir()
    assert main(["cache", "clear"]) == 1
    assert "cannot delete compiled vertices: " in capsys.readouterr().err


def test_the_package_is_the_command(folder: Path) -> None:
    assert "poplite " in python(folder, "-m", "poplite", "--version").stdout
    assert "numba" in python(folder, "-m", "poplite", "doctor").stdout
