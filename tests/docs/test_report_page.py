"""docs/report.md lists every field of every object of a report, and which numbers are totals."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path

import pytest

from poplite.report import (
    compilation,
    diff,
    execution,
    findings,
    memory,
    per_tile,
    program_tree,
    report,
    trace,
)
from poplite.report.phase_parts import Cause

PAGE = (Path(__file__).resolve().parents[2] / "docs/report.md").read_text()
ROWS = dict(re.findall(r"^\| `(\w+\.\w+)(?:\([^`]*\))?` \| (.*) \|$", PAGE, re.M))
MODULES = (report, execution, compilation, memory, findings, diff, trace, program_tree, per_tile)
OBJECTS = [
    cls
    for module in MODULES
    for name, cls in vars(module).items()
    if inspect.isclass(cls) and cls.__module__ == module.__name__ and not name.startswith("_")
    and name not in ("ProgramType", "ProgramVisitor", "LazySequence", "LateSequence", "Peaks")
]  # fmt: skip

ONE = {
    "Execution.runs",
    "ExecutionStep.row",
    "ExecutionStep.number",
    "ExecutionStep.compute_set",
    "ExecutionStep.executions",
    "IpuStep.ipu",
}
"""Numbers of executions, places and IPUs."""


def names(cls: type) -> set[str]:
    """Return the fields, properties and methods that users see."""
    fields = set(getattr(cls, "_fields", ()))
    fields |= {f.name for f in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
    members = {n for n, v in vars(cls).items() if callable(v) or isinstance(v, property)}
    members |= {n for n, v in vars(cls).items() if isinstance(v, staticmethod | classmethod)}
    return {name for name in fields | members if not name.startswith("_")}


@pytest.mark.parametrize("cls", OBJECTS, ids=lambda cls: cls.__name__)
def test_every_field_has_a_row(cls: type) -> None:
    rows = {row.split(".")[1] for row in ROWS if row.startswith(f"{cls.__name__}.")}
    rows -= {"variable"} if cls is memory.MemoryCategories else set()
    assert rows == names(cls)
    assert f"| **{cls.__name__}** |" in PAGE


@pytest.mark.parametrize(
    "cls",
    [execution.Execution, execution.ExecutionStep, execution.Phase, execution.TypeCycles,
     execution.IpuStep, Cause],
)  # fmt: skip
def test_numbers_say_whether_they_are_totals(cls: type) -> None:
    numbers = [f.name for f in dataclasses.fields(cls) if re.match(r"int|PerTile|Int64", f.type)]  # type: ignore[arg-type]
    assert numbers
    for name in numbers:
        row = f"{cls.__name__}.{name}"
        assert row in ONE or re.search(r"\btotal\b|in one execution", ROWS[row]), row
        documented = re.search(rf"^ +{name}: (.*)$", inspect.getdoc(cls) or "", re.M)
        assert documented is not None
        assert row in ONE or re.search(r"\btotal\b|in one execution", documented[1]), row
