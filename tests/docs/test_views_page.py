"""The commands of the page on views, run as they stand there."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from helpers.pages import blocks
from poplite.tools.viz import main


def test_commands_draw_regions(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(root)
    lines = [
        line for _, text in blocks(root / "docs" / "views.md", "sh") for line in text.splitlines()
    ]
    assert len(lines) == 2
    for line in lines:
        command, *words = shlex.split(line)
        assert command == "poplite-viz"
        assert main(words) == 0
    printed = capsys.readouterr().out
    assert (
        "3  dimShuffle(1, 0): float32[3, 4], 3 \u00d7 4 intervals of 1 element (were 4 of 3)"
        in printed
    )
    assert "480 B are copied on tile 6, as they lie apart" in printed
