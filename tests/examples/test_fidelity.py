"""The fidelity benchmark: how rows are judged and summed up, and rows that are cheap to build."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import poplite as pl
from helpers.depth import deep

CHEAP = {"V1": 1, "V3": 1, "V4": 4, "V10": 4, "V11": 1, "C2": 2, "A1": 3, "C6": 2}
"""Keys of rows that take no time, and how many they make."""


@deep
def test_cheap_rows_are_within_their_tolerance(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    only = [f"--only={key}" for key in CHEAP]
    done = subprocess.run(
        [sys.executable, root / "benchmarks" / "fidelity.py", *only, "--json", file],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(root)},  # also where poplite is not installed
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    content = json.loads(file.read_text())
    rows = content["rows"]
    assert len(rows) == sum(CHEAP.values())
    assert all(row["reached"] for row in rows), done.stdout
    assert [gate["name"] for gate in content["gates"]] == ["STREAM", "vertices of the tables"]
    header, empty, *lines = done.stdout.splitlines()
    assert header == "errors are of cycles, of rates too: + is too slow"
    assert not empty
    for row, line in zip(rows, lines, strict=False):
        assert line.startswith(row["key"])
        assert row["what"] in line
        assert line.endswith("  ok")
    assert "tier 1: 14 rows, 14 within their tolerance" in done.stdout


@pytest.mark.parametrize(
    ("model", "reached", "end"),
    [
        (110.0, True, "+10.0 % of 10 %  ok"),
        (89.0, False, "-11.0 % of 10 %  MISS: a latency"),
    ],
)
def test_a_row_tells_its_error(
    fidelity_rows: ModuleType, model: float, reached: bool, end: str
) -> None:
    row = fidelity_rows.Row(
        "V0", "a vertex", 1, "H X", "cycles", 100, model, 0.10, lacks="a latency"
    )
    assert row.reached is reached
    assert str(row).startswith("V0    a vertex ")
    assert str(row).endswith(end)


@pytest.mark.parametrize(
    ("unit", "error"), [("cycles", 0.25), ("slots", 0.25), ("TFLOP/s", -0.2), ("TB/s", -0.2)]
)
def test_the_error_of_a_rate_is_that_of_its_cycles(
    fidelity_rows: ModuleType, unit: str, error: float
) -> None:
    row = fidelity_rows.Row("V0", "", 1, "H X", unit, 100, 125, 0.22)
    assert row.error == pytest.approx(error)
    assert row.reached is (error == -0.2)


def test_gates_judge_the_worst_and_the_median(fidelity_rows: ModuleType) -> None:
    def row(gate: str, error: float) -> object:
        return fidelity_rows.Row("V0", "", 1, "H", "", 100, 100 * (1 + error), 1, gate)

    found = fidelity_rows.summary([
        row("STREAM", 0.01), row("STREAM", -0.03), row("", 9),
        row("dense matmul", 0.3), row("dense matmul", -0.1), row("dense matmul", 0.05),
    ])  # fmt: skip
    assert found == [
        ("STREAM", "worst 3.0 % of 2 %", False),
        ("dense matmul", "median 10.0 % of 10 %, worst 30.0 % of 35 %, 3 rows", True),
    ]


def test_grids_are_cut_as_the_programs_that_were_measured_cut_them(root: Path) -> None:
    blocks = [[8_000, 8_000], [360, 360, 360], [360, 360, 180], [360, 360, 90]]
    code = f"import fidelity_stencils as f; print([f.best_cuts(c, 1472) for c in {blocks}])"
    paths = os.pathsep.join([str(root), str(root / "benchmarks")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=True,
    )
    # Blocks of 174 x 250, 16 x 45 x 45, 16 x 23 x 45 and 16 x 23 x 23 cells.
    assert done.stdout == "[(46, 32), (23, 8, 8), (23, 16, 4), (23, 16, 4)]\n"


def test_phases_are_told_apart_by_what_is_between(fidelity_rows: ModuleType) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    a = graph.add_variable(pl.FLOAT, (1_000,), "a", mapping=0)
    b = graph.add_variable(pl.FLOAT, (1_000,), "b", mapping=1)
    program = pl.Sequence()
    pl.ops.map(a + b, mapping=0, program=program)
    (step,) = fidelity_rows.steps(graph, program)
    found = fidelity_rows.phases(step)
    assert {kind for kind, cycles in found.items() if cycles} == {"exchange", "compute", "sync"}
    assert found["exchange"] >= 1_000  # words, one a cycle
    assert sum(found.values()) == step.cycles
