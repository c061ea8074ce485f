"""docs/development.md draws the tree that is there; pages name the platforms of the sources."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

# -- the tree --------------------------------------------------------------------------------------


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


# -- platforms -------------------------------------------------------------------------------------


ROW = re.compile(r"^\| (`.+?`) \| (.*?`.+?\.py`.*?) \| .+ \|$", re.MULTILINE)
UNIX_ONLY = re.compile(
    r"\b(register_at_fork|pass_fds|preexec_fn|setitimer|setrlimit|fork\(|fcntl)|CDLL\(None\)\.(\w+)"
)


def names(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def stated() -> dict[str, set[str]]:
    """What the page says is used, by file."""
    found: dict[str, set[str]] = {}
    for used, by in ROW.findall(PAGE):
        for file in names(by):
            if file.endswith(".py"):
                found.setdefault(file, set()).update(names(used))
    return found


def test_every_file_uses_what_the_page_says() -> None:
    assert stated()
    for file, used in stated().items():
        text = (ROOT / file).read_text()
        assert [name for name in used if name not in text] == []


def test_what_only_unix_has_is_on_the_page() -> None:
    listed = {(file, name.rpartition(".")[2]) for file, used in stated().items() for name in used}
    found = set()
    for folder in ("poplite", "simulator", "tools", "vertices"):
        for path in (ROOT / folder).rglob("*.py"):
            if path == path.resolve():
                uses = UNIX_ONLY.finditer(path.read_text())
                found |= {(str(path.relative_to(ROOT)), use[1] or use[2]) for use in uses}
    assert found <= listed


def test_the_readme_and_the_package_name_the_systems() -> None:
    readme = (ROOT / "README.md").read_text()
    assert "Linux and macOS" in readme
    assert "does not run on Windows" in readme
    assert "](docs/development.md#platforms)" in readme
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    systems = [each for each in project["classifiers"] if each.startswith("Operating System")]
    assert systems == ["Operating System :: MacOS", "Operating System :: POSIX :: Linux"]
