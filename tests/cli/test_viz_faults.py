"""What goes wrong for users of `poplite-viz`: a message with a remedy, and exit code 1."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from poplite.tools.viz import main

SCRIPT = """
import sys

from poplite import FLOAT, INT, Target
from poplite.graph import Graph
from poplite.program import Sequence

LIMIT = 3

def build():
    graph = Graph(Target(tiles=4))
    graph.add_variable(FLOAT, (4, 6), "weights", mapping="linear")
    graph.add_variable(INT, (8,), "bias", mapping=0)
    return graph

def both():
    return build(), Sequence()

def with_tensors():
    graph = build()
    return graph, Sequence(), graph.variables

def raises():
    return helper()

def helper():
    return [1, 2][LIMIT]

def lines():
    raise ValueError("first line" + chr(10) + "second line")

def unmapped():
    graph = build()
    graph.tile_mapping(graph.add_variable(FLOAT, (3,), "hole"))

def leaves():
    sys.exit("no camera")

def needs(rows, columns=4):
    return build()

def named():
    return build(), {"write": Sequence(), "read": Sequence()}

def listed():
    return build(), [Sequence(), Sequence()]

def no_program():
    return build(), {"write": Sequence(), "read": 7}

def no_name():
    return build(), {7: Sequence()}

def parses():
    import argparse
    argparse.ArgumentParser().parse_args()
    return build() if sys.argv == ["net.py"] else sys.argv

def nothing():
    pass

def number():
    return 7

def pair():
    return build(), 7

class Net:
    @staticmethod
    def build():
        return build()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `net.py` and broken scripts, which is where we are."""
    (tmp_path / "net.py").write_text(SCRIPT)
    (tmp_path / "typo.py").write_text("x = 1\ndef build(:\n    pass\n")
    (tmp_path / "imports.py").write_text("import no_such_package\n")
    (tmp_path / "ends.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "binary.py").write_bytes(b"\x00\xff\xfe")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return tmp_path


def fault(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run a command that fails; return its message."""
    assert main(arguments) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("poplite-viz: ")
    assert "\n  try: " in said.err
    assert "Traceback" not in said.err
    return said.err


USUAL = ["build", "both", "with_tensors", "Net.build"]


@pytest.mark.parametrize("name", [*USUAL, "named", "listed", "parses"])
def test_what_a_target_may_return(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = list(sys.argv)
    assert main(["tiles", f"net.py:{name}", "--width", "70"]) == 0
    assert "2 variables" in capsys.readouterr().out
    assert sys.argv == before


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("nett.py:build", r"no file 'nett\.py' \(did you mean 'net\.py'\?\)(.|\n)*binary\.py"),
        ("no/such/net.py:build", r"no file 'no/such/net\.py'"),
        ("nett:build", r"no module 'nett'(.|\n)*nett\.py:NAME if it is a file"),
        ("no.such:build", r"no module 'no\.such'"),
        ("typo.py:build", r"'typo\.py' cannot be run: SyntaxError: .*\(typo\.py:2\)"),
        ("binary.py:build", r"'binary\.py' cannot be run: \w+"),
        ("imports.py:build", r"ModuleNotFoundError: .*'no_such_package'  \(imports\.py:1\)"),
        ("imports:build", r"'imports' cannot be imported: ModuleNotFoundError"),
        ("ends.py:build", r"SystemExit: 3  \(ends\.py:2\)(.|\n)*if __name__ == '__main__'"),
        ("net.py:biuld", r"'net\.py' has no 'biuld' \(did you mean 'build'\?\)(.|\n)*  both\n"),
        ("net.py:Net.biuld", r"has no 'biuld' \(did you mean 'build'\?\)"),
        ("net.py:LIMIT", r"'net\.py:LIMIT' must be a callable; found an int"),
        ("net.py:needs", r"called without arguments but needs 'rows'\n"),
        ("net.py:raises", r"IndexError: list index out of range  \(net\.py:\d+ in helper\)"),
        ("net.py:lines", r"ValueError: first line  \(net\.py:\d+ in lines\)\n  second line\n"),
        ("net.py:leaves", r"raised SystemExit: no camera"),
        (
            "net.py:unmapped",
            r"raised InvalidTileMapping: 'hole': elements \[0, 3\) of 3 have no tile"
            r"  \(net\.py:\d+ in unmapped\)(.|\n)*set_tile_mapping",
        ),
        ("net.py:nothing", r"must return a Graph or \(Graph, Program\); found None"),
        ("net.py:number", r"must return a Graph or \(Graph, Program\); found an int"),
        (
            "net.py:pair",
            r"must return a Graph or \(Graph, Program\); found a tuple of \(Graph, "
            r"int\)",
        ),
        (
            "net.py:no_program",
            r"found a tuple of \(Graph, dict\)\n  its program 'read' is an "
            r"int\n",
        ),
        (
            "net.py:no_name",
            r"found a tuple of \(Graph, dict\)\n  the name of a program is an "
            r"int\n",
        ),
    ],
)
def test_a_target_that_gives_no_graph(
    target: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert re.search(message, fault(capsys, "tiles", target))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["weigths"], r"no variable 'weigths' \(did you mean 'weights'\?\)"),
        (["nothing"], r"it has:\n  weights  float32\[4, 6\]\n  bias  int32\[8\]\n"),
        (["weights", "--view", "a:b"], r"view 'a:b' is not an index\n  'a' is neither"),
        (["weights", "--view", "4"], r"index 4 in dimension 0 of size 4\n.*\[4, 6\]"),
        (["weights", "--view", "2:2"], r"view \[2:2\] selects no element"),
        (["bias", "--view", "1, 2"], r"2 indices for a tensor of rank 1"),
    ],
)
def test_a_tensor_that_cannot_be_drawn(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert re.search(message, fault(capsys, "tensor", "net.py:build", *arguments))


def test_an_unknown_variable_of_the_tile_map(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no variable 'x'" in fault(capsys, "tiles", "net.py:build", "--variable", "bias", "x")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("no/such/map.svg", r"there is no folder 'no/such'(.|\n)*try: mkdir -p no/such"),
        (".", r"cannot write '\.': it is a folder"),
        ("map.pdf", r"'map\.pdf' must have a known suffix; found '\.pdf'(.|\n)*-o map\.svg"),
        ("map", r"'map' must have a known suffix; found ''(.|\n)*-o map\.svg"),
    ],
)
def test_an_output_that_cannot_be_written_is_found_before_the_target_runs(
    path: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(folder.iterdir())
    assert re.search(message, fault(capsys, "tiles", "net.py:raises", "-o", path))
    assert sorted(folder.iterdir()) == before


def test_a_fault_leaves_an_old_picture_alone(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "map.svg").write_text("old")
    fault(capsys, "tensor", "net.py:build", "nothing", "-o", "map.svg")
    assert (folder / "map.svg").read_text() == "old"


def test_traceback_is_shown_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tiles", "net.py:raises", "--traceback"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("Traceback")
    assert "in helper" in said
    assert "IndexError: list index out of range" in said


def test_a_script_beside_the_target_can_be_imported(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "parts_of_net.py").write_text(SCRIPT)
    (folder / "sub" / "whole.py").write_text("from parts_of_net import build\n")
    assert main(["tiles", "sub/whole.py:build"]) == 0
    assert "2 variables" in capsys.readouterr().out


def test_a_script_named_like_a_loaded_module_does_not_replace_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "json.py").write_text(SCRIPT)
    import json

    assert main(["tiles", "json.py:build"]) == 0
    assert "2 variables" in capsys.readouterr().out
    assert sys.modules["json"] is json
