"""docs/development.md draws the tree that is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "development.md").read_text()


def drawn_entries() -> set[str]:
    """Return the files and folders of the drawn tree, by their paths."""
    tree = PAGE.split("```text\n", 1)[1].split("```", 1)[0]
    found: set[str] = set()
    above: list[tuple[int, str]] = []
    for line in tree.splitlines():
        entry = re.match(r"( *)([\w.]+/?)(?: {2,}\S|$)", line)
        if entry is None:
            continue
        indent, name = len(entry[1]), entry[2]
        above = [each for each in above if each[0] < indent]
        found.add("".join(folder for _, folder in above) + name)
        if name.endswith("/"):
            above.append((indent, name))
    return found


def test_every_room_is_drawn_and_every_drawn_room_is_there() -> None:
    drawn = drawn_entries()
    assert {path for path in drawn if not (ROOT / path).exists()} == set()
    rooms = {
        f"{path.parent.relative_to(ROOT)}/"
        for folder in ("poplite", "simulator", "tools", "vertices")
        for path in (ROOT / folder).rglob("__init__.py")
        if path == path.resolve()
    }
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "poplite").glob("*.py")}
    assert rooms | modules <= drawn


@pytest.mark.parametrize(
    ("page", "fewest"),
    [(ROOT / "docs" / "development.md", 30), (ROOT / "CONTRIBUTING.md", 10)]
    + [(page, 0) for page in sorted((ROOT / "docs" / "decisions").glob("*.md"))],
    ids=lambda value: value.stem if isinstance(value, Path) else "",
)
def test_paths_lead_to_files(page: Path, fewest: int) -> None:
    folders = r"poplite|simulator|tools|vertices|tests|docs|benchmarks"
    text = page.read_text()
    named = re.findall(rf"`((?:{folders})/[\w/.-]*)`", text)
    linked = [page.parent / link for link in re.findall(r"\]\(([\w/.-]+)\)", text)]
    assert len(named) >= fewest
    assert [path for path in (*linked, *(ROOT / path for path in named)) if not path.exists()] == []
