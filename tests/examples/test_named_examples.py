"""The examples of named axes: each checks itself, and is run as it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.depth import deep
from helpers.scripts import script
from poplite.tools import viz


@pytest.mark.parametrize(
    ("name", "sizes", "said"),
    [
        ("named_seeds", {}, ["[[ True  True  True]"]),
        (
            "named_l2",
            {"length": 100_000, "tiles": 16},
            ["452 bytes besides the 800,000 of x and y"],
        ),
        pytest.param("named_attention", {"tiles": 4}, ["22 compute sets"], marks=deep),
        pytest.param("named_digits", {}, ["loss 0.13", "loss 0.017, 94."], marks=deep),
    ],
)
def test_examples_find_nothing_wrong(
    root: Path,
    name: str,
    sizes: dict[str, int],
    said: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    script(root / "examples" / f"{name}.py").main(**sizes)
    printed = capsys.readouterr().out
    assert all(each in printed for each in said), printed


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
