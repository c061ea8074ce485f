"""Codelets of the vertex library, of the examples and of the pages have the bits of the simulator.

Fields are drawn by the recipes of `tests/helpers/recipes`, then once more with special floats. The
classes of pages are made without running the pages.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers import pages
from helpers.codelets import (
    EXACT,
    CompiledCodelets,
    arrays_of,
    compiled,
    difference,
    with_special_floats,
)
from helpers.depth import deep
from helpers.recipes import RECIPES
from helpers.vertex_classes import Key, vertex_classes
from poplite.types import element_type
from poplite.vertex.vertex import Vertex, has_compute

ROOT = Path(__file__).resolve().parents[3]

REFUSED = {
    ("docs/vertices.md", "Running"): "runs in the interpreted form only",
    ("docs/vertices.md", "Quantise"): "cannot compute with QUARTER yet",
}
"""Classes that no codelet can have, and why."""

Case = tuple[type[Vertex], dict[str, Any]]


def classes_of_pages() -> Iterator[tuple[Key, type[Vertex]]]:
    """Yield the vertex classes that pages define, by page and name."""
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        names: dict[str, Any] = {"__name__": f"definitions_of_{path.stem}"}
        for node in ast.parse(pages.python_of(path)).body:
            kinds = ast.Import | ast.ImportFrom | ast.ClassDef | ast.FunctionDef
            if isinstance(node, kinds) or _is_plain(node):
                code = compile(ast.Module([node], []), str(path), "exec", dont_inherit=True)
                exec(code, names)
        file = path.relative_to(ROOT).as_posix()
        for value in names.values():
            is_own = getattr(value, "__module__", "") == names["__name__"]
            is_vertex = isinstance(value, type) and issubclass(value, Vertex)
            if is_own and is_vertex and has_compute(value):
                yield (file, value.__name__), value


def _is_plain(node: ast.AST) -> bool:
    """Return whether a statement assigns numbers, a type variable or a layout."""
    if not isinstance(node, ast.Assign):
        return False
    if isinstance(node.value, ast.Call):
        return ast.unparse(node.value.func) in ("TypeVar", "pl.Layout")
    calls = ast.Name | ast.Call | ast.Subscript
    return not any(isinstance(each, calls) for each in ast.walk(node.value))


def classes_of_repository() -> dict[Key, type[Vertex]]:
    """Return the vertex classes of the library, of examples and of pages."""
    found = dict(classes_of_pages())
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "examples")
        for folder in ("vertices", "examples"):
            for path in sorted((ROOT / folder).rglob("*.py")):
                found |= {k: c for k, c in vertex_classes(path, ROOT) if has_compute(c)}
    return found


def with_element_types(cls: type[Vertex], values: dict[str, Any]) -> type[Vertex]:
    """Return a class, a template with the element types of drawn values."""
    if not cls.type_variables:
        return cls
    chosen: dict[Any, Any] = {}
    for field in cls.fields.values():
        if field.variable is not None and field.is_edge:
            chosen.setdefault(field.variable, element_type(np.asarray(values[field.name]).dtype))
    template: Any = cls
    made: type[Vertex] = template[tuple(chosen[each] for each in cls.type_variables)]
    return made


def drawn_cases(classes: dict[Key, type[Vertex]], seeds: int) -> list[Case]:
    """Return drawn fields for all classes that have codelets."""
    cases = []
    for key in sorted(classes.keys() - REFUSED.keys()):
        for seed in range(seeds):
            values, _ = RECIPES[key](np.random.default_rng(seed))
            cls = with_element_types(classes[key], dict(values))
            cases.append((cls, arrays_of(cls, values)))
    return cases


@pytest.fixture(scope="module")
def classes() -> dict[Key, type[Vertex]]:
    return classes_of_repository()


def assert_equal_bits(native: CompiledCodelets, cases: list[Case]) -> None:
    rng = np.random.default_rng(5)
    for cls, fields in cases:
        for share in (0.0, 0.3):
            found = difference(cls, native, with_special_floats(fields, rng, share))
            assert found is None, found


def test_all_classes_are_compared(classes: dict[Key, type[Vertex]]) -> None:
    expected = {key for key in RECIPES if not key[0].startswith("benchmarks/")}
    assert set(classes) == expected


@deep
def test_codelets_have_equal_bits(classes: dict[Key, type[Vertex]], tmp_path: Path) -> None:
    cases = drawn_cases(classes, 2)
    assert_equal_bits(compiled(dict.fromkeys(cls for cls, _ in cases), tmp_path), cases)


@deep
@pytest.mark.parametrize(
    "flags",
    [(*EXACT, "-O2"), (*EXACT, "-fsanitize=undefined", "-fno-sanitize-recover=all")],
    ids=["optimised", "ubsan"],
)
def test_codelets_have_equal_bits_under_other_flags(
    classes: dict[Key, type[Vertex]], flags: tuple[str, ...], tmp_path: Path
) -> None:
    cases = drawn_cases(classes, 6)
    native = compiled(dict.fromkeys(cls for cls, _ in cases), tmp_path, flags=flags)
    assert_equal_bits(native, cases)


@pytest.mark.parametrize("key", sorted(REFUSED), ids=lambda key: key[1])
def test_other_classes_are_refused(classes: dict[Key, type[Vertex]], key: Key) -> None:
    with pytest.raises(pl.VertexCompileError, match=REFUSED[key]):
        pl.ipu.codelet_text(classes[key])
