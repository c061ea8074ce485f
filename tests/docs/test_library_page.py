"""docs/library.md names every operation, with its name in PopLibs and the types that it takes."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest

import poplite as pl
from poplite import ops
from poplite.compat.popops.expr import BinaryOpType, TernaryOpType, UnaryOpType
from poplite.expr.operations import OPERATIONS

PAGES = Path(__file__).resolve().parents[2] / "docs"
LIBRARY = (PAGES / "library.md").read_text()
ROWS = [line for line in LIBRARY.splitlines() if line.startswith("| `")]


@pytest.mark.parametrize("module", [ops, ops.nn, ops.random], ids=["ops", "nn", "random"])
def test_every_operation_is_on_the_page(module: ModuleType) -> None:
    functions = [
        name
        for name, value in inspect.getmembers(module, inspect.isfunction)
        if not name.startswith("_")
    ]
    assert len(functions) > 5
    # How steps are recorded is on a page of its own.
    texts = LIBRARY + (PAGES / "operations.md").read_text()
    assert [name for name in functions if not re.search(rf"\b{name}\b", texts)] == []


def test_every_elementwise_operation_has_a_row_with_its_types() -> None:
    for name, operation in OPERATIONS.items():
        rows = [row for row in ROWS if f"`ops.{name}(" in row]
        assert rows, name
        kinds = {"floats": pl.FLOAT, "integers": pl.INT, "BOOL": pl.BOOL}
        taken = [word for word, kind in kinds.items() if operation.text_for(kind) is not None]
        assert rows[0].rstrip("| ").rsplit(" | ", 1)[1] == ", ".join(taken), name


@pytest.mark.parametrize("kind", [UnaryOpType, BinaryOpType, TernaryOpType])
def test_the_names_of_poplibs_stand_in_the_rows_of_what_they_mean(
    kind: type[UnaryOpType | BinaryOpType | TernaryOpType],
) -> None:
    for theirs in kind:
        rows = [row for row in ROWS if f"`{theirs.name}`" in row]
        assert rows, theirs
        ours = getattr(theirs.meaning, "__name__", "")
        if ours in OPERATIONS and getattr(ops, ours) is theirs.meaning:
            assert any(f"`ops.{ours}(" in row for row in rows), theirs
