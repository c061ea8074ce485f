"""`poplite-viz` steps, exchange, ops, trace and diff: targets, saved files, flags and faults."""

from __future__ import annotations

import json
import shlex
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import poplite as pl
from helpers.scripts import go_to
from poplite.tools.viz import main
from poplite.tools.viz.load_report import load
from poplite.viz.page.pack import Arrays
from poplite.viz.page.report_data import report_data

SCRIPT = """
import poplite as pl

def build(times=3):
    graph = pl.Graph(pl.Target(tiles=4))
    a, b = (
        graph.add_variable(pl.INT, (8,), name, mapping="linear", initial_value=1) for name in "ab"
    )
    there, half = pl.Copy(a.reverse(0), b), pl.Copy(b[:4], a[4:])
    main = pl.Sequence(pl.Repeat(times, there), half)
    return graph, {"main": main, "back": pl.Copy(b, a)}

def streams():
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.INT, (8,), "x", mapping="linear")
    return graph, pl.Copy(graph.add_host_to_device_fifo("in", pl.INT, 8), x)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `ring.py`, which is where we are."""
    return go_to(tmp_path, monkeypatch, ring=SCRIPT)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    """Return what a command prints, and check its exit code."""
    assert main(arguments) == code
    return capsys.readouterr().out


def saved(name: str, times: int = 3) -> pl.Report:
    """Save a report, with its trace, and return it."""
    graph = pl.Graph(pl.Target(tiles=4))
    a, b = (
        graph.add_variable(pl.INT, (8,), each, mapping="linear", initial_value=1) for each in "ab"
    )
    engine = pl.Engine(graph, pl.Repeat(times, pl.Copy(a.reverse(0), b)))
    with engine.tracing() as trace:
        engine.run()
    engine.report().save(name, trace)
    return engine.report()


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["steps"], "steps"),
        (["steps", "--timeline"], "steps"),
        (["exchange"], "exchange"),
        (["ops"], "ops"),
    ],
)
def test_a_target_and_its_saved_report_look_the_same(
    words: list[str], kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(capsys, *words, "ring.py:build")
    data = printed(capsys, *words, "ring.py:build", "--format", "json")
    assert json.loads(data)["poplite"] == kind
    load("ring.py:build").report.save("run.json")
    assert printed(capsys, *words, "run.json") == text
    assert printed(capsys, *words, "run.json", "--format", "json") == data


def test_flags_choose_what_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    def names(*flags: str) -> list[str]:
        data = json.loads(printed(capsys, "steps", "ring.py:build", "--format", "json", *flags))
        return [f"{step['program']} {step['name']}" for step in data["steps"]]

    assert names("--sort", "program") == ["main a to b", "main b to a", "back b to a"]
    assert names("--step", "1", "--match", "a to") == ["main a to b"]
    assert names("--program", "back") == ["back b to a"]
    assert names("--step", "b to a", "--sort", "name") == ["main b to a", "back b to a"]
    data = json.loads(
        printed(capsys, "exchange", "ring.py:build", "--step", "1:1", "--format", "json")
    )
    assert data["steps"] == ["a to b"]
    lines = printed(capsys, "exchange", "ring.py:build", "--top", "1")
    assert "... " in lines
    table = printed(capsys, "ops", "ring.py:build", "--format", "csv", "--sort", "name")
    assert [line.split(",")[1] for line in table.splitlines()] == ["scope", "a to b", "b to a"]


def test_pictures_are_written(folder: Path) -> None:
    for words in (["steps"], ["steps", "--timeline"], ["exchange"]):
        assert main([*words, "ring.py:build", "-q", "-o", "a.svg"]) == 0
        assert ET.parse(folder / "a.svg").getroot().attrib["aria-label"].startswith(words[0])
    saved("with.json").save("plain.json")
    for words in (["ops", "ring.py:build"], ["diff", "plain.json", "plain.json"]):
        assert main([*words, "-q", "-o", "a.png"]) == 0
        assert (folder / "a.png").read_bytes().startswith(b"\x89PNG")
    assert main(["ops", "ring.py:build", "-q", "-o", "a.csv"]) == 0
    assert (folder / "a.csv").read_text().startswith("level,scope,")


def test_what_needs_data_is_shown_as_compiled(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["steps"], ["exchange"], ["ops"]):
        assert main([*words, "ring.py:streams"]) == 0
        said = capsys.readouterr()
        assert "as compiled, of one run" in said.out
        assert "--run gives zeros" in said.err
        assert "as compiled" not in printed(capsys, *words, "ring.py:streams", "--run")
        assert "as compiled" in printed(capsys, *words, "ring.py:build", "--no-run")


def test_what_trace_says_to_type_works(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "ring.py:streams"]) == 1
    typed = capsys.readouterr().err.partition("try: ")[2]
    assert main(shlex.split(typed)[1:]) == 0
    assert json.loads(capsys.readouterr().out)["traceEvents"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["steps", "ring.py:build", "--step", "7"], "there is no step '7'"),
        (["exchange", "ring.py:build", "--step", "a to c"], "there is no step 'a to c'"),
        (["ops", "absent.json"], "cannot read 'absent.json'"),
        (["trace", "ring.py:streams"], "'ring.py:streams' is not run: 1 stream"),
        (["trace", "ring.py:build", "--tiles", "9"], "trace: no tile 9"),
        (["trace", "plain.json"], "'plain.json' has no order of steps"),
        (["diff", "plain.json", "absent.json"], "cannot read 'absent.json'"),
    ],
)
def test_faults(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    saved("with.json").save("plain.json")
    assert main(arguments) == 1
    said = capsys.readouterr()
    assert said.err.split("poplite-viz: ")[-1].startswith(message)
    assert "\n  try: " in said.err
    assert said.out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["steps", "ring.py:build", "--sort", "size"],
        ["ops", "ring.py:build", "--depth", "0"],
        ["trace", "ring.py:build", "--limit", "no"],
        ["trace", "ring.py:build", "--tiles", "1,x"],
        ["diff", "a.json", "b.json", "--fail-if", "cycles"],
    ],
)
def test_wrong_command_lines(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as exit_code:
        main(arguments)
    assert exit_code.value.code == 2


# -- trace -----------------------------------------------------------------------------------------


def test_a_trace_is_of_what_ran(capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(printed(capsys, "trace", "ring.py:build", "--tiles", "0, 3"))
    steps = [e["name"] for e in data["traceEvents"] if e.get("cat") == "step"]
    assert steps == ["a to b"] * 3 + ["b to a"] * 2
    tracks = [e["args"]["name"] for e in data["traceEvents"] if e["name"] == "thread_name"]
    assert tracks == ["steps", "phases", "tile 0", "tile 3"]
    assert data["otherData"]["complete"]
    assert main(["trace", "ring.py:build", "--arg", "times=9", "--limit", "4"]) == 0
    said = capsys.readouterr()
    assert not json.loads(said.out)["otherData"]["complete"]
    assert said.err == (
        "the first 4 steps; for more: poplite-viz trace ring.py:build --arg times=9 --limit 40\n"
    )
    zeros = json.loads(printed(capsys, "trace", "ring.py:streams", "--run"))
    assert [e["args"]["received"] for e in zeros["traceEvents"] if e.get("cat") == "step"] == [32]


def test_a_trace_of_a_saved_report(capsys: pytest.CaptureFixture[str]) -> None:
    report = saved("with.json", times=5)
    data = json.loads(printed(capsys, "trace", "with.json"))
    assert data["otherData"]["cycles"] == report.cycles
    assert sum(e.get("cat") == "step" for e in data["traceEvents"]) == 5
    few = json.loads(printed(capsys, "trace", "with.json", "--limit", "2"))
    assert sum(e.get("cat") == "step" for e in few["traceEvents"]) == 2
    assert not few["otherData"]["complete"]


# -- diff ------------------------------------------------------------------------------------------


def test_what_changed_is_printed_and_checked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base, later = saved("base.json"), saved("later.json", times=6)
    out = printed(capsys, "diff", "base.json", "later.json")
    assert out.splitlines()[0].split() == ["base.json", "later.json", "change"]
    assert out == base.diff(later).text(("base.json", "later.json"), width=80) + "\n"
    checks = ["--fail-if", "cycles>+5%", "--fail-if", "fullest>600000"]
    out = printed(capsys, "diff", "base.json", "later.json", *checks, code=3)
    numbers = f"{base.cycles:,} -> {later.cycles:,}"
    assert f"\nFAILED  cycles>+5%: {numbers}\npassed  fullest>600000: " in out
    assert "passed" in printed(capsys, "diff", "later.json", "base.json", *checks)
    # A page holds the checks; they are printed too.
    words = ["diff", "base.json", "later.json", *checks, "-q", "-o", "a.html"]
    assert printed(capsys, *words, code=3).startswith(f"FAILED  cycles>+5%: {numbers}\n")
    assert f"cycles&gt;+5%: {numbers.replace('>', '&gt;')}" in (folder / "a.html").read_text()
    table = printed(capsys, "diff", "base.json", "later.json", "--format", "md")
    assert table.startswith("| | base.json | later.json | change | |\n")


def test_targets_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    saved("base.json")
    out = printed(capsys, "diff", "base.json", "ring.py:build", "--format", "json")
    assert json.loads(out)["names"] == ["base.json", "ring.py:build"]


def test_an_unknown_number_is_a_wrong_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    saved("base.json")
    assert main(["diff", "base.json", "base.json", "--fail-if", "cycels>+5%"]) == 2
    said = capsys.readouterr()
    assert "there is no number 'cycels' to check (did you mean 'cycles'?)" in said.err
    assert said.out == ""


def test_diff_hands_arguments_to_targets(capsys: pytest.CaptureFixture[str]) -> None:
    saved("three.json")
    out = printed(
        capsys, "diff", "ring.py:build", "ring.py:build", "--arg", "times=5", "--program", "main"
    )
    assert "no change" in out
    words = ["ring.py:build", "--arg", "times=5", "--no-run"]
    changed = json.loads(printed(capsys, "diff", "three.json", *words, "-f", "json"))
    once = json.loads(printed(capsys, "steps", *words, "-f", "json"))
    assert changed["totals"][0]["after"] == once["cycles"]
    assert main(["diff", "three.json", "three.json", "--arg", "times=5"]) == 1
    assert "--arg is for a TARGET" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        "report three.json -o three.json",
        "report ring.py:build three.json -o three.json -f html",
        "diff three.json ring.py:build -o three.json -f json",
        "steps ring.py:build -o ./ring.py -f txt",
        "steps three.json -o link.svg",
    ],
)
def test_what_is_read_is_not_written_over(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    saved("three.json")
    Path("link.svg").symlink_to("three.json")
    before = Path("three.json").read_bytes(), Path("ring.py").read_bytes()
    assert main(words.split()) == 1
    assert "would write over" in capsys.readouterr().err
    assert (Path("three.json").read_bytes(), Path("ring.py").read_bytes()) == before


def test_steps_of_several_programs_have_one_number_everywhere(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def named(command: str, title: str, *more: str) -> list[tuple[int, str]]:
        found = json.loads(printed(capsys, command, "ring.py:build", "-f", "json", *more))
        return sorted((step["number"], step[title]) for step in found["steps"])

    report = load("ring.py:build").report
    names = [(1, "a to b"), (2, "b to a"), (3, "b to a")]
    assert [(step.number, step.name) for step in report.execution.steps] == names
    assert named("steps", "name") == names
    assert named("steps", "name", "--step", "3") == names[2:]
    assert [number for number, _ in named("liveness", "title")] == [1, 2, 3]
    assert [step["n"] for step in report_data(report, Arrays())["steps"]] == [1, 2, 3]
    report.save("saved.json")
    for target in ("ring.py:build", "saved.json"):
        for more in ((), ("--program", "back")):
            lines = printed(capsys, "program", target, *more).splitlines()
            assert [line.split()[0] for line in lines if "'b' -> 'a'" in line][-1] == "3"
        assert "step 3  Copy" in printed(capsys, "graph", target, "--program", "back")
