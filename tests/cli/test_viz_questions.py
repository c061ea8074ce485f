"""Every question of docs/viewing.md is answered by its command, with numbers of the report.

What a tab answers is looked for in `tests/browser/test_questions_of_page.py`.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from helpers import answers
from helpers.answers import Line, cycles_of, fit, fullest, missing
from poplite.report import Report
from poplite.report.memory import Held
from poplite.tools.viz import main
from poplite.tools.viz.load_report import load
from poplite.viz.lines import line_list
from poplite.viz.steps import rates_of
from poplite.viz.tile_map import quantity_map

Lines = Callable[[Report], Iterable[Line]]

TILE = 5


def on_the_tile(report: Report) -> list[Line]:
    """All that lies on it, by address, and what it needs."""
    needed = report.compilation.memory.including_gaps[TILE]
    things = answers.on_tile(report, TILE)
    return [
        (f"tile {TILE}", f"{needed:,} B", "638,976 B"),
        (f"{answers.peak(report, TILE):,} B live",),
        *((f"{address:,}", f"{size:,}", named(each)) for each, address, size in things),
    ]


def largest(report: Report) -> list[Line]:
    """The three largest things on the fullest tile, with their share of what it needs."""
    tile = fullest(report)
    needed = report.compilation.memory.including_gaps[tile]
    sizes = sorted(((size, each) for each, _, size in answers.on_tile(report, tile)), key=by_size)
    return [(f"{size:,}", answers.share(size, needed), named(each)) for size, each in sizes[-3:]]


def named(held: Held) -> str:
    """What the text calls a thing."""
    return "stack" if held.category == "stack" else held.name


def by_size(found: tuple[int, object]) -> int:
    return found[0]


def needed_in_steps(report: Report) -> list[Line]:
    """What each step needs on the fullest tile, and which needs most."""
    live = answers.live_bytes(report, fullest(report))
    steps = report.compilation.memory.steps
    told = [
        (f"{size:,} B", *(["peak"] if size == max(live) else []))
        for step, size in zip(steps, live, strict=True)
    ]
    names = [step.name.rpartition(": ")[2] for step in steps]
    return [(name, *rest) for name, rest in zip(names, told, strict=True)]


def mean_memory(report: Report) -> list[Line]:
    needed = report.compilation.memory.including_gaps
    return [*answers.most_and_least(report, "memory", "B"), (f"{needed.total:,} B", "mean")]


def exchanged(report: Report) -> list[Line]:
    total, found = answers.received(report), answers.causes(report)
    shares = [answers.share(int(size.replace(",", "")), total) for _, size, _ in found]
    whats = [(size, part, what) for (what, size, _), part in zip(found, shares, strict=True)]
    return [(f"{total:,} B received",), *whats, *((at,) for _, _, at in found)]


def findings(report: Report) -> list[Line]:
    found = report.insights.findings
    return [
        (f"{each.cycles:,} cycles", answers.share(each.cycles, cycles_of(report)), each.what)
        for each in found
    ]


def counted(report: Report) -> list[Line]:
    return [
        (str(step.number), f"{step.executions}", f"Execute '{step.name}'")
        for step in report.execution.steps
    ]


def accesses(report: Report) -> list[Line]:
    """What each step reads and writes, with bytes, which stand in a column for each."""
    names = [each.name for each in report.compilation.variables]
    return [
        (f"'{names[each.variable]}'", f" {size:,} B")
        for step in report.compilation.accesses
        for each in step.accesses
        for size in (each.read, each.written)
        if size
    ]


def named_lines(report: Report) -> list[Line]:
    return [(f'"{step.at}"',) for step in report.execution.steps]


def rates(report: Report) -> list[Line]:
    assert any(step.flops for step in report.execution.steps)
    steps = [
        (*(word for word in rates_of(step) if word), step.name) for step in report.execution.steps
    ]
    return [*steps, ("2 of floats and 4 of halves in vectors, 32 and 128",), ("at most 4,",)]


def numbers_of_lines(report: Report) -> list[Line]:
    return [
        (f"{line.cycles:,}", f"{line.received:,}", f"{line.memory:,}", f"{line.number}")
        for file in line_list(report).files
        for line in file.lines
    ]


def field_pieces(report: Report) -> list[Line]:
    """The field x of the fourth vertex is half of the variable, on the tiles of that half."""
    tiles = [tile for tile in range(32) if answers.intervals(report, "x", tile)[0][0] < 80]
    return [(f"gathered from {len(tiles)} places",), ("[0, 80)", "x[0, 80)", f"0-{tiles[-1]}")]


def changed(report: Report) -> list[Line]:
    later = load(MATVEC, [("split", 8)]).report
    both = report, later
    fullest_tiles = [each.compilation.memory.including_gaps.most for each in both]
    steps = zip(*(each.execution.steps for each in both), strict=True)
    numbers = [("cycles", cycles_of(report), cycles_of(later))]
    numbers += [("fullest tile, B", fullest_tiles[0], fullest_tiles[1])]
    numbers += [(one.name, one.cycles, other.cycles) for one, other in steps]
    return [(name, f"{a:,}", f"{b:,}", f"{b - a:+,}") for name, a, b in numbers]


ROOT = Path(__file__).parents[2]
MATVEC, BFS = (f"{ROOT / 'examples' / name}.py:build" for name in ("matvec", "bfs"))

ANSWERS: dict[str, list[tuple[str, Lines]]] = {
    "does it fit, and by how much?": [("summary TARGET", lambda r: [("fits",), fit(r)])],
    "what is on this tile at its peak?": [(f"tile SAVED {TILE}", on_the_tile)],
    "what fills the tiles?": [("memory SAVED --stack variable", largest)],
    "which tiles are worst, how uneven is it?": [
        ("tiles TARGET", mean_memory),
        ("tiles SAVED --by memory", mean_memory),
        ("tiles SAVED --by cycles", lambda r: answers.most_and_least(r, "cycles", "cycles")),
    ],
    "when is memory needed, who frees late?": [("liveness SAVED", needed_in_steps)],
    "where on the tile does it lie, where are gaps?": [(f"tile SAVED {TILE}", on_the_tile)],
    "where do cycles go?": [("steps SAVED", answers.steps)],
    "how near is it to the limits of a tile?": [("steps SAVED", rates)],
    "what do all tiles do, in time?": [("steps SAVED --timeline", answers.steps)],
    "who waits for whom?": [
        ("tiles SAVED --by waited", lambda r: answers.most_and_least(r, "waited", "cycles"))
    ],
    "how much is exchanged, why, from where to where?": [
        ("exchange SAVED", exchanged),
        ("steps SAVED --sort exchange", answers.steps),
    ],
    "what do I look at first?": [("report SAVED", findings)],
    "what runs after what, and what does it cost?": [
        ("program TARGET --counts", counted),
        ("steps SAVED --sort program", answers.steps),
    ],
    "what reads and writes what?": [("graph TARGET", accesses)],
    "which line of mine is it?": [
        ("lines SAVED", numbers_of_lines),
        ("steps SAVED -f json", named_lines),
    ],
    "where does a variable lie?": [
        ("tensor TARGET x", lambda _: [("on 32 tiles (0-31), 640 B",), ("0-31", "5 each", "20 B")])
    ],
    "how does this view map to memory?": [
        (
            "regions TARGET matrix --op 'dimShuffle 1,0'",
            lambda _: [("160 × 96 intervals",), ("[7, 8)", "matrix[1,120, 1,121)", "1")],
        )
    ],
    "why is this field gathered from several places?": [
        ("regions TARGET --field 'dots#3.x'", field_pieces)
    ],
    "what would a real tile emulate, copy first, or get wrong?": [
        (
            "lint BFS",
            lambda _: [
                ("6 findings: 3 copy, 2 division, 1 sub-word store",),
                ("examples/bfs.py:58",),
            ],
        )
    ],
    "which operation or layer takes it?": [("ops SAVED", answers.steps)],
    "what ran in which order?": [
        ("trace TARGET", lambda r: [('"dots"', '"cycles":795', '"sums"', '"cycles":542')])
    ],
    "did my change help?": [("diff SAVED LATER", changed)],
    "may this change be merged?": [
        (
            "diff SAVED SAVED --fail-if 'cycles>+5%'",
            lambda r: [("passed", "cycles>+5%", f"{r.cycles:,} -> {r.cycles:,}")],
        ),
        (
            "diff SAVED LATER --fail-if 'cycles>+5%'",
            lambda r: [("FAILED", "cycles>+5%", f"{r.cycles:,} -> 1,431")],
        ),
    ],
    "can a script ask?": [("exchange SAVED -f json", lambda _: [('"matrix"',)])],
    "can I send what I see?": [("report SAVED -f html", lambda _: [("<!doctype html>",)])],
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("reports")
    names = {"SAVED": "base.json", "LATER": "later.json"}
    for place, given in (("SAVED", []), ("LATER", [("split", 8)])):
        load(MATVEC, given).report.save(folder / names[place])
    targets = {"TARGET": MATVEC, "BFS": BFS}
    return {place: str(folder / name) for place, name in names.items()} | targets


def test_all_questions_of_the_page_are_here(root: Path) -> None:
    page = (root / "docs" / "viewing.md").read_text()
    rows = re.findall(r"^\| ([a-z][^|]+\?) \|([^|]*)\|", page, re.MULTILINE)
    assert [question for question, _ in rows] == list(ANSWERS)
    for question, commands in rows:
        named = set(re.findall(r"`([a-z]+)[ `]", commands))
        assert named <= {line.split()[0] for line, _ in ANSWERS[question]} | {"steps", "tiles"}


def printed(line: str, saved: dict[str, str], capsys: pytest.CaptureFixture[str]) -> str:
    words = [saved.get(word, word) for word in shlex.split(line)]
    assert main([*words, "--width", "140"]) == (3 if "LATER --fail-if" in line else 0)
    return capsys.readouterr().out


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
    for line, wanted in ANSWERS[question]:
        said = printed(line, saved, capsys)
        told = list(wanted(report))
        assert told
        assert missing(said, told) == [], line
        if "json" in line:
            json.loads(said)


def test_a_row_of_pairs_shows_whom_a_tile_receives_from(
    saved: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    said = printed("exchange SAVED", saved, capsys).partition("who receives")[2]
    found = re.findall(r"^ *(\d+) │(.*)│$", said, re.MULTILINE)
    assert len(found) == 32
    report = Report.load(saved["SAVED"])
    for tile, row in found:
        drawn = [k for k in range(32) if row[2 * k] != " "]
        assert drawn == answers.sources(report, int(tile))


def test_rows_of_time_are_as_long_as_what_tiles_do(
    saved: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    said = printed("steps SAVED --timeline", saved, capsys)
    report = Report.load(saved["SAVED"])
    waited = quantity_map(report, "waited").value
    rows = re.findall(r"^ *\d+ │(.*)│$", said, re.MULTILINE)
    assert len(rows) == 32
    for row, cycles in zip(rows, waited.tolist(), strict=True):
        assert row.count(":") / len(row) == pytest.approx(cycles / cycles_of(report), abs=0.03)
