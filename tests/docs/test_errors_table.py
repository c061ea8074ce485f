"""docs/errors.md and the classes of poplite.errors agree, both ways."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import poplite as pl
from poplite import errors

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| (\w+) \| (\w+) \| (\w+) \| (.+) \|$", re.MULTILINE)
TEXT = (ROOT / "docs/errors.md").read_text()
TABLE = ROW.findall(TEXT)
CLASSES = {
    name: cls
    for name, cls in vars(errors).items()
    if isinstance(cls, type) and issubclass(cls, errors.PopliteError)
}
WARNINGS = [
    cls
    for cls in vars(errors).values()
    if isinstance(cls, type) and issubclass(cls, errors.PopliteWarning)
]
SOURCES = [
    path.read_text()
    for folder in ("poplite", "simulator", "tools", "vertices")
    for path in (ROOT / folder).rglob("*.py")
    if path.name != "errors.py"
]
RAISED = re.findall(r"\braise (\w+)\(", (ROOT / "poplite/errors.py").read_text())
CALLED = {*RAISED, *(name for text in SOURCES for name in re.findall(r"\b(\w+)\(", text))}


def test_every_class_has_one_row_and_every_row_a_class() -> None:
    assert [row[0] for row in TABLE] == list(CLASSES)


@pytest.mark.parametrize(("name", "poplar", "builtin", "meaning"), TABLE)
def test_a_row_tells_what_the_class_is(name: str, poplar: str, builtin: str, meaning: str) -> None:
    cls = CLASSES[name]
    parent = next(base for base in cls.__mro__ if base.__module__ == "builtins")
    assert (cls.poplar, parent.__name__) == (poplar, builtin)
    assert cls.__doc__ is not None
    assert cls.__doc__.splitlines()[0] == f"{meaning}."


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_is_public(name: str) -> None:
    assert getattr(pl, name) is CLASSES[name]
    assert name in pl.__all__


def test_every_warning_has_a_row_with_its_meaning() -> None:
    rows = re.findall(r"^\| (\w+Warning) \| (.+) \|$", TEXT, re.MULTILINE)
    assert rows == [(cls.__name__, (cls.__doc__ or "").splitlines()[0][:-1]) for cls in WARNINGS]
    assert all(getattr(pl, name) and name in pl.__all__ for name, _ in rows)


NAMES = [*CLASSES, *(cls.__name__ for cls in WARNINGS)]


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("PopliteError", "PopliteWarning")])
def test_every_class_is_raised_somewhere(name: str) -> None:
    assert name in CALLED


def test_only_classes_that_need_it_share_a_name_of_poplar() -> None:
    names = [cls.poplar for cls in CLASSES.values()]
    shared = {name for name in names if names.count(name) > 1}
    assert shared == {
        "application_runtime_error",  # what a program does, and what its arithmetic does
        "graph_program_compilation_error",  # the class, and the text of compute
        "poplar_error",  # what Poplar does not find
    }
