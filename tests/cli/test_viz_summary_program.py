"""`poplite-viz summary` and `poplite-viz program`: flags, forms, files and faults."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from helpers.depth import thinned
from helpers.scripts import go_to
from poplite.tools.viz import main

SCRIPT = """
from poplite import FLOAT, Copy, Execute, Graph, Repeat, Sequence, Target

def build():
    graph = Graph(Target(tiles=4))
    x = graph.add_variable(FLOAT, (2, 8), "x", mapping="linear")
    y = graph.add_variable(FLOAT, (16,), "y", mapping=1)
    blur = Execute(graph.add_compute_set("blur"))
    return graph, Sequence(Copy(x, y), Repeat(10, Sequence(blur, blur)), name="main"), x

def several():
    graph, program, x = build()
    return graph, {"step": program, "copy": program.programs[0], "nothing": Sequence()}

def only():
    return build()[0]

def sized(elements, *, scale=1.0, wide=False, name: "str" = "x"):
    graph = Graph(Target(tiles=4))
    graph.add_variable(FLOAT, (int(elements * scale), 1 + wide), name, mapping="linear")
    return graph

def tight():
    graph = Graph(Target(tiles=2, tile_memory_bytes=30))
    graph.add_variable(FLOAT, (10,), "x", mapping=1)
    return graph

def long():
    graph, program, _ = build()
    return graph, Sequence(*[Sequence(program.programs[0]) for _ in range(200)])
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `net.py`, which is where we are."""
    return go_to(tmp_path, monkeypatch, net=SCRIPT)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    said = capsys.readouterr()
    assert said.err == ""
    return said.out


def test_summary_of_a_graph_with_its_program(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "summary", "net.py:build")
    assert text.startswith("summary: fits\n")
    assert "\n  program       3 steps, run 21 times in all\n" in text
    assert "\n  worst tile    tile 1: 3,360 B of 638,976 B, 0.5 %\n" in text
    assert "\n  memory        stack 3,168 B, variable 80 B, internal exchange code 56 B,\n" in text


def test_summary_of_a_graph_without_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert "\n  program       none given\n" in printed(capsys, "summary", "net.py:only")


def test_what_does_not_fit_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "summary", "net.py:tight", "--color", "always")
    assert "tile 1 needs 3,208 B, has 30 B (3,178 B over)" in text
    assert text.startswith("\x1b[1;31m! summary: does not fit")


def test_program_prints_the_tree(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "program", "net.py:build").splitlines()
    assert lines[0] == "program: 3 steps"
    assert lines[4].startswith("     1    Copy 'x' -> 'y'  16 elements, 64 B  ")
    assert lines[-1].startswith("     3        Execute 'blur'  0 vertices  ")
    assert all(line.endswith(" net.py:9") for line in lines[3:6])


def test_counts(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "program", "net.py:build", "--counts")
    assert text.startswith("program: 3 steps, run 21 times in all\n")
    assert "\n     3    10        Execute 'blur'" in text


def test_depth_and_match(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "program", "net.py:build", "--depth", "1")
    assert "   2-3    Repeat 10 times  2 steps on 3 lines folded" in text
    text = printed(capsys, "program", "net.py:build", "--match", "(?i)COPY")
    assert text.startswith("program: 1 of 3 steps matches '(?i)COPY'\n")
    assert "blur" not in text


def test_a_long_program_is_cut_but_in_a_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(capsys, "program", "net.py:long")
    assert "\n... 101 more lines; --depth N or --match REGEX draws a part," in text
    assert len(text.splitlines()) < 310
    assert main(["program", "net.py:long", "-q", "-o", "all.txt"]) == 0
    assert len((folder / "all.txt").read_text().splitlines()) == 401 + 3
    assert (
        len(json.loads(printed(capsys, "program", "net.py:long", "--format", "json"))["rows"])
        == 401
    )


def test_programs_by_name_are_drawn_one_after_the_other(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(capsys, "program", "net.py:several", "--counts")
    headings = [line for line in text.splitlines() if line.startswith("program")]
    assert headings == [
        "program 'step': 3 steps, run 21 times in all",
        "program 'copy': 1 step, run 1 time in all",
        "program 'nothing': 0 steps, run 0 times in all",
    ]
    text = printed(capsys, "program", "net.py:several", "--match", "Execute")
    assert [line for line in text.splitlines() if line.startswith("program")] == [
        "program 'step': 2 of 3 steps match 'Execute'"
    ]
    assert printed(capsys, "program", "net.py:several", "--program", "step") == printed(
        capsys, "program", "net.py:build"
    )
    assert main(["program", "net.py:several", "--program", "copy", "-q", "-o", "a.svg"]) == 0
    assert "program: 1 step" in (folder / "a.svg").read_text()
    text = printed(capsys, "summary", "net.py:several")
    assert "\n  program       4 steps, run 22 times in all\n" in text  # each of them once


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--format", "svg"],
            "svg shows one program, and 'net.py:several' has 3\n"
            "  they are 'step', 'copy', 'nothing'\n"
            "  try: poplite-viz program net.py:several --program step\n",
        ),
        (
            ["--program", "cpoy"],
            "there is no program 'cpoy' (did you mean 'copy'?)\n"
            "  there are 'step', 'copy', 'nothing'\n",
        ),
        (["--match", "Nothing"], "no step matches 'Nothing': 3 steps looked at"),
    ],
)
def test_a_program_that_is_not_there(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["program", "net.py:several", *arguments]) == 1
    assert capsys.readouterr().err.startswith(f"poplite-viz: {message}")


@pytest.mark.parametrize("command", ["summary", "program"])
def test_every_form_goes_to_a_file(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for suffix in ("txt", "svg", "json"):
        assert main([command, "net.py:build", "-o", f"a.{suffix}"]) == 0
        assert capsys.readouterr() == ("", f"wrote a.{suffix}\n")
    assert (folder / "a.txt").read_text().startswith(f"{command}: ")
    assert ET.parse(folder / "a.svg").getroot().tag.endswith("svg")
    data = json.loads((folder / "a.json").read_text())
    assert (data["poplite"], data["version"]) == (command, 1)


@pytest.mark.parametrize(
    ("given", "variable"),
    [
        (["elements=20"], "'x' float32[20, 1]"),
        (["elements=20", "scale=0.5", "wide=True"], "'x' float32[10, 2]"),
        (["elements=2", "name=a=b"], "'a=b' float32[2, 1]"),
        (["elements=2", "name=5"], "'5' float32[2, 1]"),
        (["elements=2", 'name="x"'], "'x' float32[2, 1]"),
    ],
)
def test_arguments_are_handed_to_the_callable(
    given: list[str], variable: str, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = [flag for each in given for flag in ("--arg", each)]
    name = variable.split("'")[1]
    assert variable in printed(capsys, "tensor", "net.py:sized", name, *flags)
    summary = printed(capsys, "summary", "net.py:sized", *flags)
    assert summary.startswith("summary: variables fit; no program given\n")


def test_a_page_names_the_command_with_its_arguments(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = "--arg elements=20 --arg wide=True"
    assert main(["tiles", "net.py:sized", *given.split(), "-o", "tiles.html"]) == 0
    assert f"poplite-viz tiles net.py:sized {given}" in (folder / "tiles.html").read_text()
    assert main(["tensor", "net.py:sized", "x", *given.split(), "-o", "x.html"]) == 0
    assert f"poplite-viz tensor net.py:sized x {given}" in (folder / "x.html").read_text()


def test_one_of_several_programs_is_summarised(capsys: pytest.CaptureFixture[str]) -> None:
    rows = "\n  program       {}, run {} in all\n"
    whole = printed(capsys, "summary", "net.py:several")
    copy = printed(capsys, "summary", "net.py:several", "--program", "copy")
    assert rows.format("4 steps", "22 times") in whole
    assert "\n  program       1 step, run 1 time in all\n" in copy
    assert "digraph" in printed(
        capsys, "graph", "net.py:several", "--program", "copy", "--format", "dot"
    )


EXAMPLES = [("pi", ""), ("heat", ""), ("matvec", "split=4"), ("first_tiles", ""), ("photo", "")]


@pytest.mark.parametrize(("example", "given"), thinned(EXAMPLES, keep=3))
def test_examples(root: Path, example: str, given: str, capsys: pytest.CaptureFixture[str]) -> None:
    target = f"{root / 'examples' / example}.py:build"
    flags = ["--arg", given] if given else []
    assert printed(capsys, "summary", target, *flags).startswith("summary: fits\n")
    assert f"{example}.py:" in printed(capsys, "program", target, *flags)


def fault(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 1
    said = capsys.readouterr()
    assert said.out == ""
    return said.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["summary", "net.py:sized"], "called without arguments but needs 'elements'"),
        (
            ["summary", "net.py:sized", "--arg", "scale=2"],
            "called with these arguments but needs 'elements'\n  try: --arg elements=VALUE",
        ),
        (
            ["tiles", "net.py:sized", "--arg", "element=2"],
            "takes no argument 'element' (did you mean 'elements'?)",
        ),
        (["tiles", "net.py:only", "--arg", "a=2"], "it takes none\n  try: leave --arg out"),
        (["summary", "net.py:several", "--program", "coppy"], "did you mean 'copy'"),
        (["summary", "net.py:only", "--program", "a"], "'net.py:only' returned a Graph alone"),
    ],
)
def test_wrong_arguments_are_named(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in fault(capsys, *arguments)


def test_a_target_without_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert fault(capsys, "program", "net.py:only") == (
        "poplite-viz: 'net.py:only' returned a Graph without a program\n"
        "  it returned <Graph 4 tiles, 2 variables, 1 compute set, 0 vertices>\n"
        "  try: def build() -> tuple[Graph, Program]: ... return graph, program\n"
    )


def test_no_step_that_matches(capsys: pytest.CaptureFixture[str]) -> None:
    said = fault(capsys, "program", "net.py:build", "--match", "sharpen")
    assert "no step matches 'sharpen': 3 steps looked at  (net.py:9 in build)\n" in said
    assert "\n  Copy 'x' -> 'y'\n  Execute 'blur'\n  try: " in said


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--match", "("], "'(' is not a regular expression: missing ), unterminated"),
        (["--depth", "-1"], "'-1' is not a number of levels from 0 up"),
        (["--depth", "two"], "'two' is not a number of levels from 0 up"),
    ],
)
def test_flags_that_cannot_be(
    flags: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["program", "net.py:build", *flags])
    assert caught.value.code == 2
    assert message in capsys.readouterr().err
