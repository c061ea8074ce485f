"""The examples of named axes: each checks itself, and is run as it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.depth import deep
from helpers.scripts import script
from poplite.tools import viz


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("named_seeds", [], ["elementwise: 23 of 23 hold", "tensors: 8 of 8 hold"]),
        (
            "named_l2",
            ["--length", "100000", "--tiles", "16"],
            ["  beside x and y, of 800,000 bytes: 452 bytes"],
        ),
        pytest.param("named_attention", ["--tiles", "4"], ["by wo"], marks=deep),
        pytest.param(
            "named_digits",
            [],
            ["logistic regression: loss 1.9", "two layers: loss 1.7"],
            marks=deep,
        ),
    ],
)
def test_examples_find_nothing_wrong(
    root: Path,
    name: str,
    options: list[str],
    said: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert script(root / "examples" / f"{name}.py").main(options) == 0
    printed = capsys.readouterr().out
    assert all(each in printed for each in said), printed
    assert "WRONG" not in printed


@pytest.mark.parametrize(
    ("command", "said"),
    [("summary", "16 tiles"), ("program", "attention"), ("tiles", "tile"), ("graph", "'dot'")],
)
def test_computations_are_drawn_as_all_programs(
    root: Path, command: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = f"{root / 'examples' / 'named_attention.py'}:build"
    assert viz.main([command, target]) == 0
    assert said in capsys.readouterr().out
