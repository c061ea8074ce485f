"""Every command of `poplite-viz` takes what computations over named axes are made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from poplite.tools.viz import main

SCRIPT = """
import poplite.named as ng

N, F = ng.make_axis(8, "N"), ng.make_axis(3, "F")
x, w = ng.placeholder([N, F], name="x"), ng.variable([F], 1, name="w")
device = ng.make_transformer(tiles=4, map={N: "tiles"})
train = device.computation(ng.assign(w, w + x[N, 0]), x, name="train")

def build():
    return train.graph, train.program
"""


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["summary", "model.py:build"], "summary: fits"),
        (["tiles", "model.py:build"], "on 4 of 4 tiles"),
        (["tensor", "model.py:build", "x"], "'x' float32[8, 3]"),
        (["program", "model.py:build"], "Sequence 'train'"),
        (["graph", "model.py:build"], "'assign w[out]'"),
        (["report", "run.json"], "Total cycles:"),
    ],
    ids=lambda each: each[0] if isinstance(each, list) else "",
)
def test_a_command_shows_a_computation(
    arguments: list[str],
    shown: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "model.py").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    if arguments[0] == "report":
        names: dict[str, object] = {}
        exec(SCRIPT + "\ntrain(1.0)\ntrain.report().save('run.json')", names)
    assert main(arguments) == 0
    assert shown in capsys.readouterr().out
