"""The README's `poplite-viz` commands, run as they stand there."""

from __future__ import annotations

import re
import shlex
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from helpers.depth import deep
from poplite.tools.viz import main


@deep
def test_commands_of_the_readme(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "examples").symlink_to(root / "examples")
    monkeypatch.chdir(tmp_path)
    lines = re.findall(r"^\.venv/bin/poplite-viz (.*)$", (root / "README.md").read_text(), re.M)
    commands = ["report", "summary", "tiles", "tensor", "program", "graph", "doctor"]
    assert [line.split()[0] for line in lines] == commands
    for line in lines:
        assert main(shlex.split(line)) == 0, capsys.readouterr().err
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    printed = capsys.readouterr().out
    assert "192 on 16 tiles: Diffuse 192" in printed
    assert "256 B on 64 of 64 tiles" in printed  # 64 partial sums of 4 bytes
    assert "program: 2 steps, run 200 times in all" in printed
    for name, title in (
        ("plate.svg", "'a' float32[66, 98]"),
        ("heat.svg", "dataflow: 2 variables"),
    ):
        picture = ET.parse(tmp_path / name).getroot()
        assert picture.tag.endswith("svg")
        assert picture.attrib["aria-label"].startswith(title)
