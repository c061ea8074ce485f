"""The fidelity benchmarks: how rows are judged and summed up, and rows that are cheap to build."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import poplite as pl
from helpers.depth import deep

# -- programs --------------------------------------------------------------------------------------


CHEAP = {"V1": 1, "V3": 1, "V4": 4, "V10": 4, "V11": 1, "C2": 2, "A1": 3, "C6": 2}
"""Keys of rows that take no time, and how many they make."""


@deep
def test_cheap_rows_are_within_their_tolerance(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    only = [f"--only={key}" for key in CHEAP]
    done = subprocess.run(
        [sys.executable, root / "benchmarks" / "fidelity.py", *only, "--json", file],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(root)},  # also where poplite is not installed
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    content = json.loads(file.read_text())
    rows = content["rows"]
    assert len(rows) == sum(CHEAP.values())
    assert all(row["reached"] for row in rows), done.stdout
    assert [gate["name"] for gate in content["gates"]] == ["STREAM", "vertices of the tables"]
    header, empty, *lines = done.stdout.splitlines()
    assert header == "errors are of cycles, of rates too: + is too slow"
    assert not empty
    for row, line in zip(rows, lines, strict=False):
        assert line.startswith(row["key"])
        assert row["what"] in line
        assert line.endswith("  ok")
    assert "tier 1: 14 rows, 14 within their tolerance" in done.stdout


@pytest.mark.parametrize(
    ("model", "reached", "end"),
    [
        (110.0, True, "+10.0 % of 10 %  ok"),
        (89.0, False, "-11.0 % of 10 %  MISS: a latency"),
    ],
)
def test_a_row_tells_its_error(
    fidelity_rows: ModuleType, model: float, reached: bool, end: str
) -> None:
    row = fidelity_rows.Row(
        "V0", "a vertex", 1, "H X", "cycles", 100, model, 0.10, lacks="a latency"
    )
    assert row.reached is reached
    assert str(row).startswith("V0    a vertex ")
    assert str(row).endswith(end)


@pytest.mark.parametrize(
    ("unit", "error"), [("cycles", 0.25), ("slots", 0.25), ("TFLOP/s", -0.2), ("TB/s", -0.2)]
)
def test_the_error_of_a_rate_is_that_of_its_cycles(
    fidelity_rows: ModuleType, unit: str, error: float
) -> None:
    row = fidelity_rows.Row("V0", "", 1, "H X", unit, 100, 125, 0.22)
    assert row.error == pytest.approx(error)
    assert row.reached is (error == -0.2)


def test_gates_judge_the_worst_and_the_median(fidelity_rows: ModuleType) -> None:
    def row(gate: str, error: float) -> object:
        return fidelity_rows.Row("V0", "", 1, "H", "", 100, 100 * (1 + error), 1, gate)

    found = fidelity_rows.summary([
        row("STREAM", 0.01), row("STREAM", -0.03), row("", 9),
        row("dense matmul", 0.3), row("dense matmul", -0.1), row("dense matmul", 0.05),
    ])  # fmt: skip
    assert found == [
        ("STREAM", "worst 3.0 % of 2 %", False),
        ("dense matmul", "median 10.0 % of 10 %, worst 30.0 % of 35 %, 3 rows", True),
    ]


def test_grids_are_cut_as_the_programs_that_were_measured_cut_them(root: Path) -> None:
    blocks = [[8_000, 8_000], [360, 360, 360], [360, 360, 180], [360, 360, 90]]
    code = f"import fidelity_stencils as f; print([f.best_cuts(c, 1472) for c in {blocks}])"
    paths = os.pathsep.join([str(root), str(root / "benchmarks")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=True,
    )
    # Blocks of 174 x 250, 16 x 45 x 45, 16 x 23 x 45 and 16 x 23 x 23 cells.
    assert done.stdout == "[(46, 32), (23, 8, 8), (23, 16, 4), (23, 16, 4)]\n"


def test_phases_are_told_apart_by_what_is_between(fidelity_rows: ModuleType) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    a = graph.add_variable(pl.FLOAT, (1_000,), "a", mapping=0)
    b = graph.add_variable(pl.FLOAT, (1_000,), "b", mapping=1)
    program = pl.Sequence()
    pl.ops.map(a + b, mapping=0, program=program)
    (step,) = fidelity_rows.steps(graph, program)
    found = fidelity_rows.phases(step)
    assert {kind for kind, cycles in found.items() if cycles} == {"exchange", "compute", "sync"}
    assert found["exchange"] >= 1_000  # words, one a cycle
    assert sum(found.values()) == step.cycles


# -- the library -----------------------------------------------------------------------------------


CHEAP_LIBRARY = {"maps": 24, "copies": 3, "exchanges": 6, "fills": 4}
"""Keys of rows that take no time, and how many they make."""


@pytest.fixture
def library(root: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script with all rows."""
    monkeypatch.syspath_prepend(root / "benchmarks")
    return importlib.import_module("fidelity_library")


@pytest.fixture
def rows_module(library: ModuleType) -> ModuleType:
    """What makes and prints rows."""
    return importlib.import_module("fidelity_rows")


@pytest.fixture
def page(root: Path) -> str:
    """The page with the tables."""
    return (root / "docs/fidelity.md").read_text()


def figures(page: str) -> dict[str, list[tuple[int, int, float, str, str]]]:
    """Return poplite, source, ratio, mark and origin of the rows of the page, by their table."""
    found: dict[str, list[tuple[int, int, float, str, str]]] = {}
    kind = ""
    for line in page.splitlines():
        if line.startswith("## "):
            kind = line[3:].lower()
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 6 and re.fullmatch(r"[\d,]+", cells[1]):
            _, poplite, source, ratio, mark, origin = cells
            numbers = int(poplite.replace(",", "")), int(source.replace(",", ""))
            found.setdefault(kind, []).append((*numbers, float(ratio), mark, origin))
    return found


@pytest.mark.parametrize("key", CHEAP_LIBRARY)
def test_the_page_has_the_rows_that_compile_fast(library: ModuleType, page: str, key: str) -> None:
    rows = list(library.ROWS[key]())
    assert len(rows) == CHEAP_LIBRARY[key]
    lines = set(page.splitlines())
    assert [row.markdown for row in rows if row.markdown not in lines] == []


@deep
def test_the_page_has_all_rows(library: ModuleType, rows_module: ModuleType, page: str) -> None:
    rows = [row for make in library.ROWS.values() for row in make()]
    _, _, written = page.partition(rows_module.WRITTEN)
    assert written.strip() == rows_module.markdown(rows).strip()


def test_the_page_has_as_many_rows_as_the_library_needs(rows_module: ModuleType, page: str) -> None:
    found = figures(page)
    assert set(found) == {kind for kind in rows_module.ASKED if kind in found}
    for kind, (least, most) in rows_module.ASKED.items():
        assert least <= len(found.get(kind, [])) <= most
    assert sum(map(len, found.values())) >= 60


def test_every_row_far_from_its_source_has_a_reason_and_all_have_a_file(page: str) -> None:
    for rows in figures(page).values():
        for poplite, source, ratio, mark, origin in rows:
            assert ratio == pytest.approx(poplite / source, abs=0.006)
            assert mark in {"", "formula", "other"}
            assert re.match(r"(lib|tests|measured; [a-z0-9-]+,)[/ ]", origin), origin
            if abs(poplite / source - 1) > 0.26:
                assert ";" in origin.removeprefix("measured;"), origin


def test_the_summary_of_the_page_is_that_of_its_rows(rows_module: ModuleType, page: str) -> None:
    rows = [
        rows_module.LibraryRow(kind, "", poplite, source, origin, mark, "known")
        for kind, table in figures(page).items()
        for poplite, source, _, mark, origin in table
    ]
    for text, _ in rows_module.library_summary(rows):
        counted, _, found = text.partition(", median error ")
        near = found.partition(", ")[2]
        (line,) = (line for line in page.splitlines() if line.startswith(f"- {counted}, "))
        assert line.endswith(f", {near}")


def test_errors_are_judged_over_rows_without_a_mark(rows_module: ModuleType) -> None:
    def row(poplite: int, mark: str = "", reason: str = "") -> object:
        return rows_module.LibraryRow("products", "x", poplite, 100, "lib/x", mark, reason)

    near = [row(105) for _ in range(8)]
    assert rows_module.library_summary([*near, row(124), row(500, reason="another plan")]) == [
        ("unmarked: 10 rows, median error 5.0 %, 9 within 25 %", True),
        ("unmarked products: 10 rows, median error 5.0 %, 9 within 25 %", True),
    ]
    assert (
        rows_module.library_summary([*near, row(126, reason="a"), row(70, reason="b")])[0][1]
        is False
    )
    assert rows_module.library_summary([row(111), row(112), row(100)])[0][1] is False
    marked = rows_module.library_summary(
        [*near, row(900, "formula", "copies"), row(10, "other", "older")]
    )
    assert [reached for _, reached in marked] == [True, True, True, True]
    assert rows_module.library_summary([row(130, "formula")])[1] == ("without a reason: x", False)


def test_a_row_prints_both_numbers_and_its_ratio(rows_module: ModuleType) -> None:
    row = rows_module.LibraryRow("movement", "fill", 1_500, 1_000, "lib/a.cpp: Fill", "", "a step")
    assert re.fullmatch(r"fill +1,500 +1,000 +1\.50 +lib/a\.cpp: Fill; a step", str(row))
    assert row.markdown == "| fill | 1,500 | 1,000 | 1.50 |  | lib/a.cpp: Fill; a step |"
