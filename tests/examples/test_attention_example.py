"""examples/attention.py: outputs and slopes as in NumPy, wrong ones, the picture."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import numpy as np
import pytest

from helpers.depth import deep


@deep
def test_the_layer_is_numpys(
    attention: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert attention.main(["--tiles", "4", "--output-dir", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" off")[1] for line in lines[:14]] == [""] * 14
    ElementTree.parse(tmp_path / "attention.svg")


def test_a_wrong_slope_is_said(
    attention: ModuleType,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = attention.Found({"out": 1e-7, "by x": 2e-5}, np.full((2, 3, 3), 1 / 3), 1000)
    monkeypatch.setattr(attention, "compared", lambda tiles, seed: found)
    assert attention.main(["--output-dir", str(tmp_path)]) == 1
    assert capsys.readouterr().out.splitlines()[:2] == [
        "out        1.0e-07 off",
        "by x       2.0e-05 off WRONG",
    ]
    drawn = ElementTree.parse(tmp_path / "attention.svg").getroot()
    cells = [each for each in drawn if each.tag.endswith("rect")]
    assert [each.get("fill-opacity") for each in cells[1:]] == ["1.00"] * 18
