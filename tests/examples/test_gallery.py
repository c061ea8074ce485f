"""Examples as pictures, and as texts that are read whole."""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest

from helpers.depth import thinned
from helpers.gallery_pictures import commands
from helpers.running import python
from helpers.viewing_pictures import QUESTIONS
from poplite.tools.viz.load_target import load_programs
from poplite.viz import graph_text, program_text, summary_text, tiles_text

# -- gallery.py ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def printed(root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[Path, str]:
    """The files written, each with the size that was printed."""
    folder = tmp_path_factory.mktemp("gallery") / "all"
    done = python(folder.parent, root / "examples" / "gallery.py", folder)
    lines = [line.split("  ") for line in done.stdout.splitlines()]
    return {Path(path): size for path, size in lines}


class Links(HTMLParser):
    """Collects what a page refers to."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {value for name, value in attrs if value and name in ("href", "src")}


def test_every_file_is_printed_with_its_size(printed: dict[Path, str]) -> None:
    folder = next(iter(printed)).parent
    assert {path for path in folder.iterdir() if path not in printed} == {folder / "index.html"}
    for path, size in printed.items():
        assert size == f"{path.stat().st_size:,} B"


def test_every_picture_can_be_read(printed: dict[Path, str]) -> None:
    for path in printed:
        text = path.read_text("utf-8")
        if path.suffix == ".svg":
            assert ET.fromstring(text).tag.endswith("svg")
        elif path.suffix == ".json":
            assert json.loads(text)["version"] == 1
        elif path.suffix == ".html":
            assert text.startswith("<!doctype html>")
        assert text.endswith("\n")


def test_the_index_leads_to_every_file(printed: dict[Path, str]) -> None:
    index = next(iter(printed)).parent / "index.html"
    assert Links(index.read_text("utf-8")).found >= {path.name for path in printed}


def test_no_file_is_large(printed: dict[Path, str]) -> None:
    assert max(path.stat().st_size for path in printed) < 500_000


def test_the_index_holds_a_cell_of_each_kind(printed: dict[Path, str]) -> None:
    page = (next(iter(printed)).parent / "index.html").read_text("utf-8")
    assert page.count('<div class="poplite">') == 7
    for words in ("Repeat 100 times", "elements per tile", "float32[66, 98]", "steps run"):
        assert words in page


@pytest.fixture(scope="module")
def answers(root: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The pictures of docs/viewing.md, and what was printed of them, where there is no browser."""
    folder = tmp_path_factory.mktemp("answers")
    script = root / "tests" / "helpers" / "viewing_pictures.py"
    done = python(root, script, folder / "pictures", PATH="/nowhere")
    return folder / "pictures", done.stdout


def words(picture: Path) -> set[str]:
    """Return the texts of a picture without their numbers, which other versions of LLVM change."""
    return {re.sub(r"[\d,.]+", "", each.text or "") for each in ET.parse(picture).iter()}


def test_each_question_has_its_picture(root: Path, answers: tuple[Path, str]) -> None:
    folder, said = answers
    page = (root / "docs" / "viewing.md").read_text()
    named = set(re.findall(r"\]\(pictures/([a-z-]+\.(?:svg|png))\)", page))
    drawn = {path.name for path in folder.iterdir()}
    assert (
        named
        == drawn | {"report-page.png"}
        == {p.name for p in (root / "docs" / "pictures").iterdir()}
    )
    for name in drawn:
        assert ET.parse(folder / name).getroot().tag.endswith("svg")
        assert words(folder / name) == words(root / "docs" / "pictures" / name)
    assert "report-page.png: not drawn, as there is no chromium" in said
    questions = re.findall(r"^\| ([a-z][^|]+\?) \|", page, re.MULTILINE)
    assert re.findall(r"\*\*([^*]+\?)\*\*", page) == sorted(
        questions, key=lambda each: page.index(f"**{each}**")
    )
    assert len(questions) == page.count("?**")


def test_a_picture_of_text_shows_its_first_lines(answers: tuple[Path, str]) -> None:
    shown = ET.parse(answers[0] / "checks.svg").getroot()
    lines = [each.text or "" for each in shown if each.tag.endswith("text")]
    assert lines[0] == "what changed from base.json to later.json"
    assert lines[-1].startswith("FAILED  cycles>+5%")


# -- docs/gallery.md -------------------------------------------------------------------------------


LARGEST_PICTURE = 60_000
"""Bytes of a picture of the gallery."""


def test_the_gallery_is_drawn_by_its_commands(root: Path, tmp_path: Path) -> None:
    python(tmp_path, root / "tests" / "helpers" / "gallery_pictures.py", tmp_path / "gallery")
    drawn = {path.name: path for path in (tmp_path / "gallery").iterdir()}
    kept = {path.name: path for path in (root / "docs" / "gallery").iterdir()}
    assert set(drawn) == set(kept)
    for name, path in drawn.items():
        titles = [ET.parse(each).getroot().attrib["aria-label"] for each in (path, kept[name])]
        assert re.sub(r"[\d,.]+", "", titles[0]) == re.sub(r"[\d,.]+", "", titles[1])
        assert words(path) == words(kept[name])
        assert max(path.stat().st_size, kept[name].stat().st_size) < LARGEST_PICTURE


def test_other_pictures_of_the_gallery_have_the_commands_that_draw_them() -> None:
    shown = commands("pictures")
    page = ["report", "examples/photo.py:build", "-o", "report.html"]
    assert shown.pop("report-page.png") == page
    of_matvec = dict.fromkeys(("TARGET", "SAVED"), "examples/matvec.py:build")
    for name, words in shown.items():
        assert words == [of_matvec.get(word, word) for word in QUESTIONS[Path(name).stem]]


def test_each_picture_of_the_gallery_has_a_command(root: Path) -> None:
    page = (root / "docs" / "gallery.md").read_text("utf-8")
    shown = re.findall(r"!\[[^]]+\]\((?:gallery|pictures)/([^)]+)\)", page)
    assert sorted(shown) == sorted([*commands("gallery"), *commands("pictures")])


# -- every example drawn ---------------------------------------------------------------------------


DRAWN = sorted(path.stem for path in (Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize("name", thinned(DRAWN, keep=[name for name in DRAWN if name != "photo"]))
def test_example_is_drawn(name: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, name, raising=False)
    graph, programs = load_programs(f"examples/{name}.py:build")
    program = next(iter(programs.values()))
    assert summary_text(graph, program).startswith("summary: fits")
    assert tiles_text(graph, program=program).startswith("bytes needed per tile: ")
    assert program_text(program).startswith("program: ")
    assert graph_text(graph, program).startswith("dataflow: ")


# -- lengths ---------------------------------------------------------------------------------------


FILES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_example_is_short(file: Path) -> None:
    text = file.read_text()
    assert len(text.splitlines()) <= (150 if file.stem == "photo" else 80)
    assert "\ndef build(" in text or "\nbuild = " in text
    assert 'if __name__ == "__main__":\n' in text
