"""Training a network on tiles against NumPy, and a recurrent layer: ratios.

    python benchmarks/ops_network.py [--samples 9] [--json FILE] [--small]

An epoch of `examples/digits.py`: 22 steps of batches of 64 pictures, in float32. Eight steps of an
LSTM of 256 inputs and 256 units, 64 sequences side by side, beside one product a step in NumPy.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

import poplite as pl
from ops_maps import least
from poplite import ops
from rows import SETTLING, Row, example, in_turn, run

Floats = npt.NDArray[np.float32]

TILES = 16


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    return [an_epoch(small, samples), a_recurrent_layer(small, samples)]


def numpy_lstm(x: Floats, weights: Floats, bias: Floats) -> Floats:
    """The outputs of an LSTM, whose weights are one matrix."""
    h = c = np.zeros((x.shape[1], len(bias) // 4), np.float32)
    outputs = []
    for part in x:
        f, i, a, o = np.split(np.concatenate([part, h], 1) @ weights + bias, 4, 1)
        c = c / (1 + np.exp(-f)) + np.tanh(a) / (1 + np.exp(-i))
        h = np.tanh(c) / (1 + np.exp(-o))
        outputs.append(h)
    return np.stack(outputs)


def a_recurrent_layer(small: bool, samples: int) -> Row:
    """Steps of an LSTM."""
    steps, batch, units = (2, 4, 8) if small else (8, 64, 256)
    graph = pl.Graph(pl.Target(tiles=TILES))
    plan = ops.nn.plan_lstm(graph, batch=batch, inputs=units, units=units)
    x, weights = plan.create_input(steps, "x"), plan.create_weights("weights")
    random = np.random.default_rng(1)
    values: list[Any] = []
    for each in (x, *weights):
        values.append((0.1 * random.standard_normal(each.shape)).astype(np.float32))
        graph.set_initial_value(each, values[-1])
    with graph.steps("layer") as layer:
        made = ops.nn.lstm(x, weights, inference=True)
    engine = pl.Engine(graph, layer, checks="fast")
    engine.run()
    both = np.concatenate(values[1:3], 1).transpose(1, 0, 2)
    matrix, bias = np.ascontiguousarray(both.reshape(2 * units, 4 * units)), values[3].ravel()

    def by_numpy() -> Floats:
        return numpy_lstm(values[0], matrix, bias)

    if abs(engine.read(made.outputs) - by_numpy()).max() > 1e-5:
        sys.exit("the outputs differ")
    warm_up = 0.0 if small else SETTLING
    ours, theirs = in_turn(engine.run, by_numpy, samples, warm_up=warm_up)
    what = "LSTM of 256 units x 64: poplite / NumPy"
    return Row(what, least(ours, theirs), "x", "<=", 3.0, ours, theirs)


def an_epoch(small: bool, samples: int) -> Row:
    """An epoch of training."""
    digits = example("digits")
    data, size = digits.load(), digits.BATCH
    batches = 2 if small else len(data.train) // size
    weights = digits.first_weights(1)
    network = digits.Network(weights, batches, len(data.test), TILES)
    engine = pl.Engine(network.graph, network.programs["train"], checks="fast")
    x, labels = data.train[: batches * size], data.train_labels[: batches * size]
    engine.connect_stream("pictures", x)
    engine.connect_stream("digits", labels)
    velocities = [np.zeros_like(each) for each in weights]

    def by_numpy() -> float:
        parts = (slice(k, k + size) for k in range(0, len(x), size))
        steps = [digits.numpy_step(x[part], labels[part], weights, velocities) for part in parts]
        return float(np.mean(steps))

    engine.run()
    if abs(float(engine.read(network.loss)) / by_numpy() - 1) > digits.TOLERANCE:
        sys.exit("the losses differ")
    warm_up = 0.0 if small else SETTLING
    ours, theirs = in_turn(engine.run, by_numpy, samples, warm_up=warm_up)
    what = "an epoch of digits.py: poplite / NumPy"
    return Row(what, least(ours, theirs), "x", "<=", 3.0, ours, theirs)


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
