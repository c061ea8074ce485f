"""Every question of docs/viewing.md is answered by its command, with numbers of the report."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from poplite.report import Report
from poplite.tools.viz import main
from poplite.tools.viz.load_report import load

Words = Callable[[Report], list[str]]


def fullest(report: Report) -> int:
    tile = report.compilation.memory.including_gaps.worst_tile
    assert tile is not None
    return tile


def steps(report: Report) -> list[str]:
    return [f"{step.cycles:,}" for step in report.execution.steps]


def causes(report: Report) -> list[str]:
    phases = [phase for step in report.execution.steps for phase in step.phases]
    return [cause.what for phase in phases if phase.kind == "exchange" for cause in phase.causes]


def peak_of(report: Report) -> list[str]:
    return [f"{report.compilation.memory.including_gaps[5]:,} B of 638,976 B", "message of Execute"]


def most_waited(report: Report) -> list[str]:
    busy = report.execution.tile_cycles
    return [f"(tile {int(busy.argmin())})", f"(tile {int(busy.argmax())})"]


ANSWERS: dict[str, list[tuple[str, Words]]] = {
    "does it fit, and by how much?": [
        ("summary TARGET", lambda r: ["fits", f"tile {fullest(r)}", "638,976 B"])
    ],
    "what is on this tile at its peak?": [("tile SAVED 5", peak_of)],
    "what fills the tiles?": [
        ("memory SAVED --stack variable", lambda _: ["'matrix' float[96, 160]", "1,920"])
    ],
    "which tiles are worst, how uneven is it?": [
        ("tiles SAVED --by memory", lambda r: [f"(tile {fullest(r)})", "mean"]),
        ("tiles SAVED --by cycles", lambda r: [f"most {r.execution.tile_cycles.max():,} cycles"]),
    ],
    "when is memory needed, who frees late?": [
        ("liveness SAVED", lambda _: ["Execute 'dots'", "peak", "Execute 'sums'"])
    ],
    "where on the tile does it lie, where are gaps?": [("tile SAVED 5", lambda _: ["address"])],
    "where do cycles go?": [("steps SAVED", steps)],
    "what do all tiles do, in time?": [("steps SAVED --timeline", lambda _: ["blank waiting"])],
    "who waits for whom?": [("tiles SAVED --by waited", most_waited)],
    "how much is exchanged, why, from where to where?": [
        ("exchange SAVED", lambda r: [*causes(r), "examples/matvec.py:", "who receives (down)"])
    ],
    "what do I look at first?": [
        ("report SAVED", lambda r: [f"{each.cycles:,} cycles" for each in r.insights.findings])
    ],
    "what runs after what, and what does it cost?": [
        ("program TARGET --counts", lambda _: ["Execute 'dots'", "Execute 'sums'", "2 times"])
    ],
    "what reads and writes what?": [("graph TARGET", lambda _: ["reads:   'matrix'", "'y' 384 B"])],
    "which line of mine is it?": [("steps SAVED -f json", lambda _: ["examples/matvec.py:135"])],
    "where does a variable lie?": [("tensor TARGET x", lambda _: ["on 32 tiles (0-31), 640 B"])],
    "how does this view map to memory?": [
        ("regions TARGET matrix --op 'dimShuffle 1,0'", lambda _: ["160 × 96 intervals"])
    ],
    "why is this field put together from several places?": [
        ("regions TARGET --field 'dots#3.x'", lambda _: ["put together from 16 places"])
    ],
    "what would a real tile emulate, copy first, or get wrong?": [
        ("lint BFS", lambda _: ["3 findings: 2 division, 1 sub-word store", "try: divide by"])
    ],
    "which operation or layer takes it?": [("ops SAVED", lambda r: [f"{r.cycles:,}"])],
    "what ran in which order?": [("trace TARGET", lambda _: ['"dots"', '"sums"', "traceEvents"])],
    "did my change help?": [
        ("diff SAVED LATER", lambda r: [f"{r.cycles:,}", "fullest tile", "cycles of steps"])
    ],
    "may this change be merged?": [
        ("diff SAVED SAVED --fail-if 'cycles>+5%'", lambda r: ["passed", f"{r.cycles:,}"])
    ],
    "can a script ask?": [("exchange SAVED -f json", lambda _: ['"matrix"'])],
    "can I send what I see?": [("report SAVED -f html", lambda _: ["<!doctype html>"])],
}


@pytest.fixture(scope="module")
def saved(root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("reports")
    names = {"SAVED": "base.json", "LATER": "later.json"}
    target = f"{root / 'examples' / 'matvec.py'}:build"
    for place, given in (("SAVED", []), ("LATER", [("split", 8)])):
        load(target, given).report.save(folder / names[place])
    targets = {"TARGET": target, "BFS": f"{root / 'examples' / 'bfs.py'}:build"}
    return {place: str(folder / name) for place, name in names.items()} | targets


def test_all_questions_of_the_page_are_here(root: Path) -> None:
    page = (root / "docs" / "viewing.md").read_text()
    rows = re.findall(r"^\| ([a-z][^|]+\?) \|([^|]*)\|", page, re.MULTILINE)
    assert [question for question, _ in rows] == list(ANSWERS)
    for question, commands in rows:
        named = set(re.findall(r"`([a-z]+)[ `]", commands))
        assert named <= {line.split()[0] for line, _ in ANSWERS[question]} | {"steps", "tiles"}


@pytest.mark.parametrize("question", ANSWERS)
def test_the_answer_is_there(
    question: str,
    saved: dict[str, str],
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(root)
    report = Report.load(saved["SAVED"])
    for line, words in ANSWERS[question]:
        command = [saved.get(word, word) for word in shlex.split(line)]
        assert main([*command, "--width", "120"]) == 0
        said = capsys.readouterr().out
        for each in words(report):
            assert each in said, line
        if "json" in line:
            json.loads(said)
