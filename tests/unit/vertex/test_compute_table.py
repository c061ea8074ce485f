"""Every row of the tables in docs/arithmetic.md, compiled and interpreted."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers import scripts
from helpers.arithmetic_rows import ROWS, SECTIONS, TYPES, Row, source
from helpers.depth import thinned
from poplite.types import ElementType

METADATA = pl.QuarterMetadata("F143")
MINIMUM_ROWS = 180
LONG = ("Integers", "Functions")
"""Sections whose class takes seconds to compile."""


def load(text: str, folder: Path) -> type[pl.Vertex]:
    path = folder / "table.py"
    path.write_text(text)
    vertex: type[pl.Vertex] = scripts.load(path).Table
    return vertex


def variable(graph: pl.Graph, element: type[ElementType[Any]], name: str) -> pl.Tensor:
    metadata = METADATA if element is pl.QUARTER else None
    return graph.add_variable(element, (1,), name, mapping=0, metadata=metadata)


def host_type(element: type[ElementType[Any]]) -> np.dtype[Any]:
    """What the host reads: quarters as float32."""
    return np.dtype(np.float32) if element is pl.QUARTER else element.dtype


def results(rows: list[Row], vertex: type[pl.Vertex], *, interpret: bool) -> list[Any]:
    """Run one vertex and return what each row left in its field."""
    graph = pl.Graph(pl.Target(tiles=1))
    work = graph.add_compute_set("work")
    fields: dict[str, Any] = {}
    outs = []
    for row in rows:
        for name, kind, value in row.fields:
            held = variable(graph, TYPES[kind], name)
            graph.set_initial_value(held, np.array([value], host_type(TYPES[kind])))
            fields[f"{name}{row.line}"] = held[0]
        out = variable(graph, TYPES[row.element], f"out{row.line}")
        fields[f"out{row.line}"] = out[0]
        outs.append(out)
    graph.add_vertex(work, vertex, tile=0, **fields)
    # No prices, which would be compiled.
    options = {"debug.instrument": False}
    engine = pl.Engine(graph, pl.Execute(work), interpret=interpret, options=options)
    engine.run()
    return [engine.read(out)[0] for out in outs]


def test_the_tables_are_found() -> None:
    assert len(ROWS) >= MINIMUM_ROWS
    assert {row.element for row in ROWS} == set(TYPES)
    assert {kind for row in ROWS for _, kind, _ in row.fields} == set(TYPES)


@pytest.mark.parametrize(
    ("section", "interpret"),
    thinned(
        product(SECTIONS, [True, False]),
        [each for each in product(SECTIONS, [True, False]) if each[1] or each[0] not in LONG],
    ),
)
def test_rows(section: str, interpret: bool, tmp_path: Path) -> None:
    rows = [row for row in ROWS if row.section == section]
    found = results(rows, load(source(rows), tmp_path), interpret=interpret)
    wrong = []
    for row, value in zip(rows, found, strict=True):
        expected = np.array([row.value], host_type(TYPES[row.element]))[0]
        same = value.tobytes() == expected.tobytes() or (np.isnan(value) and np.isnan(expected))
        if not same:
            wrong.append(f"line {row.line}: {row.expression} gives {value!r}, not {expected!r}")
    assert wrong == []
