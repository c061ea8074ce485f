"""Folders, links and package list agree; no module is imported under two names."""

from __future__ import annotations

import importlib
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import poplite.errors  # noqa: F401 (so that at least one module is there)
from helpers.source_tree import MODULES, ROOT

LINKED = ("simulator", "tools", "vertices")


def setuptools_config() -> dict[str, Any]:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    table = config["tool"]["setuptools"]
    assert isinstance(table, dict)
    return table


def packages_on_disk() -> set[str]:
    folders = {path.parent.relative_to(ROOT).parts for path in MODULES.values()}
    return {".".join(parts if parts[0] == "poplite" else ("poplite", *parts)) for parts in folders}


def test_every_package_is_listed() -> None:
    assert packages_on_disk() == set(setuptools_config()["packages"])


def test_every_package_has_an_init_file() -> None:
    missing = [p.parent for p in MODULES.values() if not (p.parent / "__init__.py").is_file()]
    assert missing == []


def test_package_dir_maps_the_linked_folders() -> None:
    expected = {f"poplite.{name}": name for name in LINKED} | {"poplite": "poplite"}
    assert setuptools_config()["package-dir"] == expected


@pytest.mark.parametrize("name", LINKED)
def test_link_or_its_text_is_committed(name: str) -> None:
    link = ROOT / "poplite" / name
    # A checkout without symbolic links holds a text file with the link's target.
    target = str(link.readlink()) if link.is_symlink() else link.read_text().strip()
    assert target == f"../{name}"
    assert (ROOT / name / "__init__.py").is_file()


@pytest.mark.parametrize("name", LINKED)
def test_a_folder_of_the_checkout_is_not_a_package_of_its_own(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT)
    with pytest.raises(ImportError, match=rf"^{name} is a part of poplite: import poplite\.{name}"):
        importlib.import_module(name)
    assert name not in sys.modules


def test_package_says_that_it_is_typed() -> None:
    assert (ROOT / "poplite" / "py.typed").read_bytes() == b""


def test_no_module_was_imported_under_two_names() -> None:
    """By now pytest has imported every module for its doctests."""
    names: dict[Path, set[str]] = {path: set() for path in MODULES.values()}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file is not None and (path := Path(file).resolve()) in names:
            names[path].add(name)
    assert {str(path): sorted(found) for path, found in names.items() if len(found) > 1} == {}
    assert names[ROOT / "poplite" / "errors.py"] == {"poplite.errors"}
