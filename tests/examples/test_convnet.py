"""examples/convnet.py: the share of the test, values as in NumPy, a step."""

from __future__ import annotations

import re
from types import ModuleType

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep, values_only


@deep
def test_digits_are_learnt(convnet: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    convnet.main()
    lines = capsys.readouterr().out.splitlines()
    assert [float(line.split()[-1]) < 0.1 for line in lines[:12:11]] == [False, True]
    (share,) = re.findall(r"^([\d.]+)% of the test are right$", lines[12])
    assert float(share) > 94


def numpy_logits(x: np.ndarray, weights: list[np.ndarray]) -> np.ndarray:
    """The logits of pictures."""
    for n in (0, 1):
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        seen = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
        y = np.einsum("bihwuv,oiuv->bohw", seen, weights[2 * n], optimize=True)
        y = np.maximum(y + weights[2 * n + 1], 0)
        x = y.reshape((*y.shape[:2], y.shape[2] // 2, 2, y.shape[3] // 2, 2)).max((3, 5))
    return np.asarray(x.reshape((len(x), -1)) @ weights[4] + weights[5])


def test_a_step_is_that_of_differences(
    convnet: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The weights of each layer move against the slope of NumPy's loss."""
    monkeypatch.setattr(convnet, "BATCH", 2)
    rng = np.random.default_rng(4)
    x = rng.random((2, 1, 8, 8)).astype(np.float32)
    labels = np.array([3, 8], np.int32)
    graph, programs = convnet.build(1, 3)
    engine = pl.Engine(graph, programs, interpret=True, options=values_only(), checks="fast")
    wide = [engine.read(name).astype(float) for name in convnet.FIRST]
    engine.connect_stream("pictures", x)
    engine.connect_stream("digits", labels)
    engine.run("train")

    def loss(changed: list[np.ndarray]) -> float:
        logits = numpy_logits(x.astype(float), changed)
        return float((np.logaddexp.reduce(logits, 1) - logits[[0, 1], labels]).mean())

    np.testing.assert_allclose(engine.read("logits"), numpy_logits(x, wide), atol=1e-5)
    assert float(engine.read("loss")) == pytest.approx(loss(wide), rel=1e-5)
    for number, name in enumerate(convnet.FIRST):
        moved = engine.read(name).astype(float) - wide[number]
        place = np.unravel_index(abs(moved).argmax(), moved.shape)
        up, down = ([each.copy() for each in wide] for _ in "ud")
        up[number][place] += 1e-6
        down[number][place] -= 1e-6
        slope = (loss(up) - loss(down)) / 2e-6
        assert moved[place] == pytest.approx(-0.3 * slope, rel=1e-3)
