"""What each public module shows: `__all__`, `dir()`, and the list that is held in a file."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

from helpers.pages import blocks
from helpers.source_tree import ROOT
from poplite.poplar.spelling import names_here

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))

LIST = Path(__file__).with_name("public_names.txt")

HELD = {
    module: names.split()
    for module, names in re.findall(r"(?m)^(poplite\S*)\n((?:    .*\n)*)", LIST.read_text())
}


def _loads_late(name: str) -> bool:
    return hasattr(importlib.import_module(name), "__getattr__")


@pytest.mark.parametrize("name", HELD)
def test_a_module_shows_the_names_that_are_held_here(name: str) -> None:
    """A name that is added or taken away is added or taken away in public_names.txt as well."""
    module = importlib.import_module(name)
    assert dir(module) == sorted(HELD[name])
    assert sorted(module.__all__) == sorted(HELD[name])
    assert [each for each in HELD[name] if not hasattr(module, each)] == []


@pytest.mark.parametrize("name", [each for each in HELD if _loads_late(each)])
def test_a_name_is_the_same_whichever_module_is_loaded_first(name: str) -> None:
    """Python makes a module an attribute of its package, in place of a function of that name."""
    package = importlib.import_module(name)
    modules = {each.name for each in pkgutil.iter_modules(getattr(package, "__path__", []))}
    for each in modules & set(HELD[name]):
        assert getattr(package, each) is importlib.import_module(f"{name}.{each}")


def _used(text: str) -> set[tuple[str, str]]:
    """Return the modules of poplite that a text imports, each with a name that it takes from it."""
    tree, modules, used = ast.parse(text), {"pl": "poplite"}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                modules[each.asname or each.name.partition(".")[0]] = each.name
        elif isinstance(node, ast.ImportFrom) and str(node.module).startswith("poplite"):
            for each in node.names:
                inner = f"{node.module}.{each.name}"
                used.add((str(node.module), each.name))
                if inner in HELD:
                    modules[each.asname or each.name] = inner
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = modules.get(node.value.id, "")
            if module.startswith("poplite"):
                used.add((module, node.attr))
    return used


def _texts(path: Path) -> list[str]:
    return (
        [path.read_text()] if path.suffix == ".py" else [each for _, each in blocks(path, "python")]
    )


@pytest.mark.parametrize("path", [*PAGES, *EXAMPLES], ids=lambda path: path.name)
def test_pages_and_examples_use_what_is_public(path: Path) -> None:
    held = {**HELD, "poplite": [*HELD["poplite"], *names_here()]}
    used = {each for text in _texts(path) for each in _used(text)}
    assert {(module, name) for module, name in used if name not in held.get(module, [])} == set()
