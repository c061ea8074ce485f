"""Examples through the whole path: tables, host program, codelets, and a stand-in that executes.

The stand-in records what the host program builds, which is compared with the Python graph element
by element; then it repeats every run of the example, and all variables have the simulator's bits.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import poplite as pl
from helpers.depth import thinned
from helpers.mirrored import Mirrors
from helpers.scripts import script
from poplite.named import transformer

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"

RUNS: dict[str, dict[str, Any]] = {
    "pi": {"tiles": 8, "slices": 20},
    "first_tiles": {},
    "sort": {},
    "heat": {"double_steps": 3},
    "bfs": {},
    "matvec": {},
    "streams": {},
    "photo": {"steps": 1},
    "digits": {"epochs": 1},
    "convnet": {"epochs": 1},
    "multigrid": {"size": 7},
    "attention": {},
    "named_digits": {"epochs": 1},
    "named_attention": {},
    "named_l2": {"length": 5000, "tiles": 8},
    "named_seeds": {},
}
"""Arguments with which examples are quick; gallery.py only draws."""


@pytest.mark.parametrize("name", thinned(RUNS, keep=["pi"]))
def test_examples_have_equal_graphs_and_bits(
    name: str, mirrors: Mirrors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pl, "Engine", mirrors)
    monkeypatch.setattr(transformer, "Engine", mirrors)
    monkeypatch.chdir(tmp_path)
    script(EXAMPLES / f"{name}.py").main(**RUNS[name])
    assert sum(engine.runs for engine in mirrors.made) > 0


def test_all_examples_are_listed() -> None:
    assert {each.stem for each in EXAMPLES.glob("*.py")} == {*RUNS, "gallery"}
