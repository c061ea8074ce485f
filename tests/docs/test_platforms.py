"""What the pages say of platforms is what the sources use."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/development.md").read_text()
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
