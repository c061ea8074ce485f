"""Every command of `poplite-viz` takes what computations over named axes are made of."""

from __future__ import annotations

import re
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


CASES: list[tuple[str, str]] = [
    ("summary model.py:build", "summary: fits"),
    ("tiles model.py:build", "on 4 of 4 tiles"),
    ("tensor model.py:build x", "'x' float32[8, 3]"),
    ("regions model.py:build x", "x: float32[8, 3], 1 interval of 24 elements"),
    ("program model.py:build", "Sequence 'train'"),
    ("graph model.py:build", "'assign w[out]'"),
    ("lint model.py:build", "a tile would emulate nothing"),
    ("memory run.json", "memory: fits; fullest tile 0"),
    ("tile run.json 1", "'x' float[8, 3]"),
    ("liveness run.json", "Execute 'assign w[out]'"),
    ("report run.json", "Total cycles:"),
    ("steps run.json", "assign w[out]"),
    ("exchange run.json", "exchange: 0 B sent"),
    ("ops run.json", "1     366  100.0%           0         0  assign w\n"),
    ("trace model.py:build --run", '"name":"assign w[out]"'),
    ("diff run.json run.json", "cycles of steps: no change"),
]
"""A command line of each, and what it prints of the computation."""


@pytest.mark.parametrize(("line", "shown"), CASES, ids=[line.split()[0] for line, _ in CASES])
def test_a_command_shows_a_computation(
    line: str,
    shown: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "model.py").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    if "run.json" in line:
        names: dict[str, object] = {}
        exec(SCRIPT + "\ntrain(1.0)\ntrain.report().save('run.json')", names)
    assert main(line.split()) == 0
    assert shown in capsys.readouterr().out


def test_all_commands_that_take_a_program_are_above(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    table = capsys.readouterr().out.partition("COMMAND\n")[2].partition("\n\n")[0]
    commands = re.findall(r"^ {4}([a-z]+) ", table, re.M)
    assert commands == [*(line.split()[0] for line, _ in CASES), "sweep", "doctor"]
