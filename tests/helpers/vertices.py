"""Vertices that several modules run or price, with their slots; what a class declares."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers import pages
from helpers.running import script
from poplite.simulator.pricing.class_slots import slots_of
from poplite.vertex.fields import fields_of
from poplite.vertex.vertex import has_compute


def declared(vertex: type[pl.Vertex]) -> list[str]:
    """Return the fields of a class as texts."""
    return [str(field) for field in vertex.fields.values()]


class Count(pl.Vertex):
    """Counts how often it runs."""

    n: pl.InOut[pl.INT]

    def compute(self) -> None:
        self.n += 1


class Spin(pl.Vertex):
    """Takes about a nanosecond a round, and leaves 2 in `x` when it is done."""

    rounds: pl.State[pl.INT]
    x: pl.InOut[pl.FLOAT]

    def compute(self) -> None:
        self.x = 1.0
        total = 4.0
        for _ in range(self.rounds):
            total = total * 0.5 + 1.0
        self.x = total


MK2 = pl.Target()


class Dot(pl.Vertex):
    """A row of a matrix by a vector."""

    a: pl.Input[pl.Vector[pl.FLOAT]]
    b: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        total = 0.0
        for i in range(len(self.a)):
            total += self.b[i] * self.a[i]
        self.y = total


class Sort(pl.Vertex):
    """Insertion sort: what is done depends on data."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(1, len(self.x)):
            j = i
            while j > 0 and self.x[j - 1] > self.x[j]:
                larger = self.x[j - 1]
                self.x[j - 1] = self.x[j]
                self.x[j] = larger
                j -= 1


def slots(cls: type[pl.Vertex], target: pl.Target = MK2, **words: int | tuple[int, int]) -> int:
    """Return the slots of one vertex; a list is (rows, length of each)."""
    shape: list[int] = []
    for field in fields_of(cls):
        given = words.get(field.name, target.workers if field.name == "num_workers" else 0)
        if field.kind == "rows":
            rows, length = given if isinstance(given, tuple) else (0, 0)
            shape += [rows, rows * length]
        elif field.kind != "nothing":
            assert isinstance(given, int)
            shape.append(given)
    return int(slots_of(cls, np.array([shape], np.int64), target).slots[0])


Key = tuple[str, str]
"""A file, from the root of the repository, and a class in it."""


def all_classes(root: Path) -> dict[Key, type[pl.Vertex]]:
    """Return the vertex classes of the repository, without bases that compute nothing."""
    folders = [root / name for name in ("vertices", "examples", "benchmarks")]
    files = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    files.remove(root / "benchmarks" / "startup_classes.py")  # whose classes are only compiled
    files += [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    with pytest.MonkeyPatch.context() as patch:
        for folder in folders:
            patch.syspath_prepend(folder)  # scripts import each other
        found = (found for path in files for found in vertex_classes(path, root))
        return {key: cls for key, cls in found if has_compute(cls)}


def vertex_classes(path: Path, root: Path) -> Iterator[tuple[Key, type[pl.Vertex]]]:
    """Yield the vertex classes that a file or page defines; refuse those it hides."""
    names = _names(path, root)
    own = [
        value
        for value in names.values()
        if isinstance(value, type)
        and issubclass(value, pl.Vertex)
        and value.__module__ == names["__name__"]
    ]
    file = path.relative_to(root).as_posix()
    text = pages.python_of(path) if path.suffix == ".md" else path.read_text()
    hidden = len(list(_class_statements(ast.parse(text)))) - len(own)
    assert hidden <= 0, f"{file} defines {hidden} vertex classes twice or inside functions"
    yield from (((file, value.__name__), value) for value in own)


def _names(path: Path, root: Path) -> dict[str, Any]:
    """Import a file, or run what the classes of a page need; return what that defines."""
    if path.suffix == ".md":
        return pages.classes_of(path, f"page_{path.stem}")
    if path.is_relative_to(root / "vertices"):
        module_name = ".".join(("poplite", *path.relative_to(root).with_suffix("").parts))
        return vars(importlib.import_module(module_name.removesuffix(".__init__")))
    return vars(script(path))


def _class_statements(node: ast.AST) -> Iterator[ast.ClassDef]:
    """Yield the statements that define a class upon one called Vertex; not those tried."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            bases = {ast.unparse(base).split(".")[-1] for base in child.bases}
            if bases & {"Vertex", "MultiVertex"}:
                yield child
        elif not isinstance(child, ast.Try):  # a page shows that a class is refused
            yield from _class_statements(child)
