"""examples/digits.py: a step, the share of the test, answers as in NumPy."""

from __future__ import annotations

import re
from types import ModuleType

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep, values_only


@deep
def test_digits_are_learnt(digits: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    digits.main(epochs=16)
    lines = capsys.readouterr().out.splitlines()
    losses = [float(line.split()[-1]) for line in lines[:16]]
    assert losses[0] > 1
    assert losses[-1] < 0.05
    (share,) = re.findall(r"^([\d.]+)% of the test are right$", lines[16])
    assert float(share) > 92


def logits(x: np.ndarray, weights: list[np.ndarray]) -> np.ndarray:
    w0, b0, w1, b1 = weights
    return np.asarray(np.maximum(x @ w0 + b0, 0) @ w1 + b1)


def test_a_step_is_that_of_differences(digits: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each parameter moves against the slope of NumPy's loss, where it moves most."""
    monkeypatch.setattr(digits, "BATCH", 8)
    random = np.random.default_rng(2)
    x, labels = random.random((8, 64), np.float32), random.integers(0, 10, 8, np.int32)
    graph, programs = digits.build(1, 3)
    engine = pl.Engine(
        graph, programs["train"], interpret=True, options=values_only(), checks="fast"
    )
    wide = [engine.read(name).astype(float) for name in digits.FIRST]
    engine.connect_stream("pictures", x)
    engine.connect_stream("digits", labels)
    engine.run()

    def loss(weights: list[np.ndarray]) -> float:
        found = logits(x.astype(float), weights)
        mine = found[np.arange(len(x)), labels]
        return float((np.logaddexp.reduce(found, 1) - mine).mean())

    assert float(engine.read("loss")) == pytest.approx(loss(wide), rel=1e-5)
    for number, name in enumerate(digits.FIRST):
        moved = engine.read(name).astype(float) - wide[number]
        place = np.unravel_index(abs(moved).argmax(), moved.shape)
        up, down = ([each.copy() for each in wide] for _ in "ud")
        up[number][place] += 1e-6
        down[number][place] -= 1e-6
        slope = (loss(up) - loss(down)) / 2e-6
        assert moved[place] == pytest.approx(-digits.RATE * slope, rel=1e-3)


@deep
def test_wrong_weights_fail_loudly(digits: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    build = digits.build

    def wrong(*given: int) -> tuple[pl.Graph, dict[str, pl.Program]]:
        graph, programs = build(*given)
        answers = graph.add_constant(pl.FLOAT, (digits.TESTS, 10), 0, mapping=0)
        graph.create_host_read("wrong", answers)
        return graph, programs

    read = pl.Engine.read
    monkeypatch.setattr(digits, "build", wrong)
    monkeypatch.setattr(
        pl.Engine, "read", lambda self, at: read(self, "wrong" if at == "answers" else at)
    )
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        digits.main(epochs=1)
