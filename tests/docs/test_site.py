"""The documentation site: it is built without a warning, and needs no network."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

pytest.importorskip("sphinx", reason="the site needs the extra docs")

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
    ["poplite", "poplite.ops", "poplite.named", "poplite.viz", "poplite.compat.popnn.gru"],
)
def test_other_sites_can_link_to_every_public_name(site: Path, package: str) -> None:
    from sphinx.util.inventory import InventoryFile

    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="").data
    known = {name for kind, names in inventory.items() if kind.startswith("py:") for name in names}
    whole = import_module(package)
    names = [n for n in whole.__all__ if not inspect.ismodule(getattr(whole, n))]
    aliases = {"__version__", "append", "compileGraph"}
    assert {f"{package}.{name}" for name in names if name not in aliases} - known == set()
