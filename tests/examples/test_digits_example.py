"""examples/digits.py: the share of the test, losses as in NumPy, gradients, the picture."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep


@deep
def test_digits_are_learnt(
    digits: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert digits.main(["--epochs", "16", "--output-dir", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[15].startswith("epoch  16 [####################] loss 0.0")
    assert lines[16].startswith("loss: as in NumPy, ")
    assert lines[17].endswith("which is enough")
    picture = ElementTree.parse(tmp_path / "digits_loss.svg").getroot()
    circles = [each for each in picture if each.tag.endswith("circle")]
    assert len(circles) == 16


@deep
def test_too_little_training_fails(
    digits: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert digits.main(["--epochs", "1", "--tiles", "3", "--output-dir", str(tmp_path)]) == 1
    assert "TOO FEW" in capsys.readouterr().out


def test_a_wrong_loss_is_seen(digits: ModuleType) -> None:
    trained = digits.Trained([1.0, 0.5, 0.001], [1.0, 0.51, 0.001], 1.0, 0.0, 0)
    assert digits.farthest(trained) == pytest.approx(0.01 / 0.51)


def test_the_gradients_of_numpy_are_slopes_of_the_loss(digits: ModuleType) -> None:
    random = np.random.default_rng(1)
    x = random.random((7, digits.PIXELS))
    labels = random.integers(0, 10, 7)
    weights = [each.astype(np.float64) for each in digits.first_weights(1)]

    def loss(changed: list[np.ndarray]) -> float:
        copies = [each.copy() for each in changed]
        return float(digits.numpy_step(x, labels, copies, [np.zeros_like(w) for w in copies]))

    velocities = [np.zeros_like(each) for each in weights]
    digits.numpy_step(x, labels, [each.copy() for each in weights], velocities)
    for number, (values, gradient) in enumerate(zip(weights, velocities, strict=True)):
        place = tuple(random.integers(0, size) for size in values.shape)
        up, down = ([each.copy() for each in weights] for _ in range(2))
        up[number][place] += 1e-6
        down[number][place] -= 1e-6
        slope = (loss(up) - loss(down)) / 2e-6
        assert slope == pytest.approx(gradient[place], rel=1e-4, abs=1e-8)


@deep
def test_both_forms_of_a_step_agree(digits: ModuleType) -> None:
    data = digits.load()
    found = []
    for interpret in (False, True):
        network = digits.Network(digits.first_weights(2), 1, 20, 4)
        engine = pl.Engine(network.graph, network.programs["train"], interpret=interpret)
        engine.connect_stream("pictures", data.train[: digits.BATCH])
        engine.connect_stream("digits", data.train_labels[: digits.BATCH])
        engine.run()
        found.append([engine.read(each) for each in (*network.parameters, network.loss)])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
