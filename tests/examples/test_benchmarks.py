"""The benchmarks run in a tiny size: results agree, every row prints, nothing is judged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("script", "names"),
    [
        ("engine.py", ["photo", "axpy", "1,000 Executes"]),
        ("startup.py", ["import poplite", "examples/pi.py"]),
    ],
)
def test_every_row_prints_its_target(
    root: Path, tmp_path: Path, script: str, names: list[str]
) -> None:
    file = tmp_path / "rows.json"
    done = subprocess.run(
        [sys.executable, root / "benchmarks" / script, "--small", "--samples=2", "--json", file],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(root)},  # also where poplite is not installed
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == len(names)
    for line, name in zip(lines, names, strict=True):
        assert line.startswith(name)
        assert "= " in line
    rows = json.loads(file.read_text())["rows"]
    assert [min(len(row["ours"]), len(row["baseline"])) > 0 for row in rows] == [True] * len(names)
