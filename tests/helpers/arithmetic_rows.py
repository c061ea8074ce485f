"""The rows of the tables in docs/arithmetic.md, and a vertex class that evaluates them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import poplite as pl
from poplite.types import ELEMENT_TYPES, ElementType

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "arithmetic.md"
TYPES: dict[str, type[ElementType[Any]]] = {
    t.__name__: t for t in ELEMENT_TYPES if t is not pl.QUARTER_METADATA
}
EXACT = {"inf": np.inf, "-inf": -np.inf, "nan": np.nan, "True": True, "False": False}


class Row(NamedTuple):
    """An expression, what its fields hold, and what it leaves in a field."""

    line: int
    section: str
    expression: str
    fields: tuple[tuple[str, str, float], ...]
    element: str
    value: float


def number(text: str) -> float:
    """Return what a cell of a table holds."""
    return EXACT[text] if text in EXACT else float(text) if re.search(r"[.e]", text) else int(text)


def parse(path: Path) -> list[Row]:
    """Return the rows of a page."""
    rows, section, counted = [], "", False
    for line, text in enumerate(path.read_text().splitlines(), 1):
        if text.startswith("#"):
            section = text.strip("# ")
        if not text.startswith("|"):
            counted = False
            continue
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", text)[1:-1]]
        if cells == ["expression", "fields", "gives"]:
            counted = True
        elif counted and not cells[0].startswith("---"):
            fields = [part.split() for part in cells[1].split(", ")]
            element, value = cells[2].split()
            drawn = tuple((name, kind, number(held)) for name, kind, held in fields)
            rows.append(Row(line, section, cells[0].strip("`"), drawn, element, number(value)))
    return rows


ROWS = parse(DOCUMENT)
SECTIONS = sorted({row.section for row in ROWS})


def source(rows: list[Row]) -> str:
    """Return a module with one vertex class that evaluates all rows."""
    declared, body = [], []
    for row in rows:
        expression = row.expression
        for name, kind, _ in row.fields:
            declared.append(f"    {name}{row.line}: pl.Input[pl.{kind}]")
            expression = re.sub(rf"\b{name}\b(?!\()", f"self.{name}{row.line}", expression)
        declared.append(f"    out{row.line}: pl.Output[pl.{row.element}]")
        body.append(f"        self.out{row.line} = {expression}")
    head = ["import math", "import numpy as np", "import poplite as pl", "class Table(pl.Vertex):"]
    return "\n".join([*head, *declared, "    def compute(self):", *body]) + "\n"
