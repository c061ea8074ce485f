"""The tutorials print what is stored in them, end with exercises, and fit the site."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from helpers.depth import thinned

notebooks: Any = pytest.importorskip("helpers.notebooks", reason="tutorials need the extra docs")
pytest.importorskip("ipykernel", reason="tutorials need the extra docs")

TUTORIALS: list[Path] = notebooks.TUTORIALS
TITLES = re.compile(r"^#+ (.*)$", re.MULTILINE)


def stem(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("path", thinned(TUTORIALS, TUTORIALS[:2]), ids=stem)
def test_cells_give_the_stored_outputs(path: Path, tmp_path: Path) -> None:
    assert notebooks.text(notebooks.executed(path, tmp_path)) == path.read_text(), (
        f"python tests/helpers/notebooks.py {path.stem} stores them"
    )


@pytest.mark.parametrize("path", TUTORIALS, ids=stem)
def test_each_ends_with_two_exercises_whose_answers_are_checked(path: Path) -> None:
    cells = notebooks.nbformat.read(path, as_version=4).cells
    titles = [title for cell in cells for title in TITLES.findall(cell.source)]
    assert titles[-2:] == ["Exercises", "Answers"]
    answers = [cell for cell in cells if "hide-input" in cell.metadata.get("tags", ())]
    assert len(answers) >= 2
    assert all("assert" in cell.source for cell in answers)


@pytest.mark.parametrize("path", TUTORIALS, ids=stem)
def test_links_lead_to_files(path: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text())
    assert [t for t in targets if not (path.parent / t).exists()] == []
