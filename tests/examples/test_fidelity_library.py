"""The table of fidelity for the library: rows that compile fast, and what the page says of all."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

from helpers.depth import deep

CHEAP = {"maps": 24, "copies": 3, "exchanges": 6, "fills": 4}
"""Keys of rows that take no time, and how many they make."""


@pytest.fixture
def library(root: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script with all rows."""
    monkeypatch.syspath_prepend(root / "benchmarks")
    return importlib.import_module("fidelity_library")


@pytest.fixture
def rows_module(library: ModuleType) -> ModuleType:
    """What makes and prints rows."""
    return importlib.import_module("fidelity_library_rows")


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


@pytest.mark.parametrize("key", CHEAP)
def test_the_page_has_the_rows_that_compile_fast(library: ModuleType, page: str, key: str) -> None:
    rows = list(library.ROWS[key]())
    assert len(rows) == CHEAP[key]
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
    for text, _ in rows_module.summary(rows):
        counted, _, found = text.partition(", median error ")
        near = found.partition(", ")[2]
        (line,) = (line for line in page.splitlines() if line.startswith(f"- {counted}, "))
        assert line.endswith(f", {near}")


def test_errors_are_judged_over_rows_without_a_mark(rows_module: ModuleType) -> None:
    def row(poplite: int, mark: str = "", reason: str = "") -> object:
        return rows_module.LibraryRow("products", "x", poplite, 100, "lib/x", mark, reason)

    near = [row(105) for _ in range(8)]
    assert rows_module.summary([*near, row(124), row(500, reason="another plan")]) == [
        ("unmarked: 10 rows, median error 5.0 %, 9 within 25 %", True),
        ("unmarked products: 10 rows, median error 5.0 %, 9 within 25 %", True),
    ]
    assert rows_module.summary([*near, row(126, reason="a"), row(70, reason="b")])[0][1] is False
    assert rows_module.summary([row(111), row(112), row(100)])[0][1] is False
    marked = rows_module.summary([*near, row(900, "formula", "copies"), row(10, "other", "older")])
    assert [reached for _, reached in marked] == [True, True, True, True]
    assert rows_module.summary([row(130, "formula")])[1] == ("without a reason: x", False)


def test_a_row_prints_both_numbers_and_its_ratio(rows_module: ModuleType) -> None:
    row = rows_module.LibraryRow("movement", "fill", 1_500, 1_000, "lib/a.cpp: Fill", "", "a step")
    assert re.fullmatch(r"fill +1,500 +1,000 +1\.50 +lib/a\.cpp: Fill; a step", str(row))
    assert row.markdown == "| fill | 1,500 | 1,000 | 1.50 |  | lib/a.cpp: Fill; a step |"
