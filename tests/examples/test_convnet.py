"""examples/convnet.py: the share of the test, logits as in NumPy, a step, the picture."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep, values_only


@deep
def test_digits_are_learnt(
    convnet: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert convnet.main(["--output-dir", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[11].startswith("epoch  12 [####################] loss 0.0")
    assert lines[12].startswith("logits: as in NumPy, ")
    assert lines[13].endswith("which is enough")


def test_a_picture_shows_kernels_and_mistakes(convnet: ModuleType) -> None:
    kernels = np.linspace(-1, 1, 144, dtype=np.float32).reshape(16, 1, 3, 3)
    mistaken = [(np.eye(8, dtype=np.float32), 3, 5)] * 2
    trained = convnet.Trained([0.5], 0.9, 0.0, kernels, mistaken, 0.0, 0)
    drawn = ElementTree.fromstring(convnet.picture(trained))
    texts = [each.text for each in drawn if each.tag.endswith("text")]
    assert texts[2:] == ["3, not 5", "3, not 5"]
    assert len([each for each in drawn if each.tag.endswith("rect")]) == 1 + 144 + 2 * 64


def test_a_step_is_that_of_differences(convnet: ModuleType) -> None:
    """The weights of each layer move against the slope of NumPy's loss."""
    rng = np.random.default_rng(4)
    x = rng.random((2, 1, 8, 8)).astype(np.float32)
    labels = np.array([3, 8], np.int32)
    weights = convnet.first_weights(2)
    network = convnet.Network(weights, 1, 3, batch=2, tested=1)
    engine = pl.Engine(
        network.graph, network.programs, interpret=True, options=values_only(), checks="fast"
    )
    for each, values in zip(network.parameters, weights, strict=True):
        engine.write(each, values)
    engine.connect_stream("pictures", x)
    engine.connect_stream("digits", labels)
    engine.run("begin")
    engine.run("train")

    def loss(changed: list[np.ndarray]) -> float:
        logits = convnet.numpy_logits(x.astype(float), changed)
        return float((np.logaddexp.reduce(logits, 1) - logits[[0, 1], labels]).mean())

    wide = [each.astype(float) for each in weights]
    assert float(engine.read(network.loss)) == pytest.approx(loss(wide), rel=1e-5)
    for number, tensor in enumerate(network.parameters):
        moved = engine.read(tensor).astype(float) - wide[number]
        place = np.unravel_index(abs(moved).argmax(), moved.shape)
        up, down = ([each.copy() for each in wide] for _ in "ud")
        up[number][place] += 1e-6
        down[number][place] -= 1e-6
        slope = (loss(up) - loss(down)) / 2e-6
        assert moved[place] == pytest.approx(-convnet.RATE * slope, rel=1e-3)
