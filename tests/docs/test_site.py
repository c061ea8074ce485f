"""The documentation site: it is built without a warning, needs no network, and fits tutorials."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from helpers.depth import thinned

pytest.importorskip("sphinx", reason="the site needs the extra docs")
notebooks: Any = pytest.importorskip("helpers.notebooks", reason="tutorials need the extra docs")
pytest.importorskip("ipykernel", reason="tutorials need the extra docs")

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, as the page on development says that it is written."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going"]
    doctrees = folder / "doctrees"
    done = subprocess.run(
        [*command, "-d", doctrees, ROOT / "docs", folder / "html"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "html"


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    loaded = re.compile(
        r'<(?:script|img|iframe|source)[^>]* src="(https?:|//)[^"]*|url\(["\']?http'
    )
    linked = re.compile(r'<link[^>]* href="(?:https?:|//)')
    files = [path for end in ("html", "css") for path in site.rglob(f"*.{end}")]
    assert len(files) > 40
    assert [f for f in files if loaded.search(text := f.read_text()) or linked.search(text)] == []


def test_the_first_page_is_small(site: Path) -> None:
    page = (site / "index.html").read_text()
    parts = re.findall(r'(?:src|<link[^>]* href)="([^":?#]+\.(?:css|js|png|svg))', page)
    assert len(parts) > 8
    assert sum((site / part).stat().st_size for part in {*parts, "index.html"}) < 200_000


@pytest.mark.parametrize(
    "package",
    [
        *("poplite", "poplite.ops", "poplite.named", "poplite.viz", "poplite.compat.poplin"),
        *("poplite.compat.popnn.gru", "poplite.compat.popnn.pooling", "poplite.compat.gcl"),
    ],
)
def test_other_sites_can_link_to_every_public_name(site: Path, package: str) -> None:
    from sphinx.util.inventory import InventoryFile

    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="").data
    known = {name for kind, names in inventory.items() if kind.startswith("py:") for name in names}
    whole = import_module(package)
    names = [n for n in whole.__all__ if not inspect.ismodule(getattr(whole, n))]
    aliases = {"__version__", "append", "compileGraph"}
    assert {f"{package}.{name}" for name in names if name not in aliases} - known == set()


def test_each_function_of_poplibs_links_to_the_rules(site: Path) -> None:
    page = (site / "reference" / "compat.html").read_text()
    functions = re.split('<dl class="py (?:function|method)">', page)[1:]
    assert len(functions) > 300
    assert 'id="poplite.compat.poplin.experimental.QRFactorization"' in "".join(functions)
    assert [each for each in functions if "poplar-names.html" not in each] == []


def test_a_property_has_no_text_as_its_type(site: Path) -> None:
    page = (site / "reference" / "named.html").read_text()
    assert "The ids of the axis objects: axes" in page
    assert '">Type<' not in page


# -- tutorials -------------------------------------------------------------------------------------

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
