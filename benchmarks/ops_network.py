"""Training a network on tiles against NumPy, and recurrent layers: ratios.

    python benchmarks/ops_network.py [--samples 9] [--json FILE] [--small]

An epoch of `examples/digits.py`: 22 steps of batches of 64 pictures, in float32. Eight steps of an
LSTM and of a GRU of 256 inputs and 256 units, 64 sequences at a time, against as many products a
step in NumPy. Each side runs a layer several times in its turn, since the first time finds its
threads asleep, whether ours or those of BLAS; ours begin when those of BLAS sleep.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

import poplite as pl
from ops_maps import least
from poplite import ops
from rows import BLAS_SPINS, SETTLING, Row, example, in_turn, run

Floats = npt.NDArray[np.float32]

TILES = 16

TOLERANCE = 1e-3
"""How far the loss of an epoch may be from NumPy's, as numbers are added in another order."""

IN_A_ROW = 16
"""Layers of a turn."""


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    layers = [a_recurrent_layer(kind, small, samples) for kind in ("LSTM", "GRU")]
    return [an_epoch(small, samples), *layers]


def sigmoid(x: Floats) -> Floats:
    """The sigmoid of each element."""
    result: Floats = np.reciprocal(1 + np.exp(-x))
    return result


def numpy_lstm(x: Floats, weights: Floats, bias: Floats) -> Floats:
    """The outputs of an LSTM, whose weights are one matrix."""
    h = c = np.zeros((x.shape[1], len(bias) // 4), np.float32)
    outputs = []
    for part in x:
        f, i, a, o = np.split(np.concatenate([part, h], 1) @ weights + bias, 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(a)
        h = sigmoid(o) * np.tanh(c)
        outputs.append(h)
    return np.stack(outputs)


def numpy_gru(x: Floats, of_gates: Floats, of_candidate: Floats, bias: Floats) -> Floats:
    """The outputs of a GRU, whose weights are two matrices."""
    units = len(bias) // 3
    h = np.zeros((x.shape[1], units), np.float32)
    outputs = []
    for part in x:
        gates = np.concatenate([part, h], 1) @ of_gates + bias[: 2 * units]
        r, u = np.split(sigmoid(gates), 2, 1)
        a = np.tanh(np.concatenate([part, r * h], 1) @ of_candidate + bias[2 * units :])
        h = u * h + (1 - u) * a
        outputs.append(h)
    return np.stack(outputs)


def a_recurrent_layer(kind: str, small: bool, samples: int) -> Row:
    """Steps of an LSTM or a GRU."""
    steps, batch, units = (2, 4, 8) if small else (8, 64, 256)
    graph = pl.Graph(pl.Target(tiles=TILES))
    plan_of = ops.nn.plan_lstm if kind == "LSTM" else ops.nn.plan_gru
    plan = plan_of(graph, batch=batch, inputs=units, units=units)
    x, weights = plan.create_input(steps, "x"), plan.create_weights("weights")
    random = np.random.default_rng(1)
    values: list[Any] = []
    for each in (x, *weights):
        values.append((0.1 * random.standard_normal(each.shape)).astype(np.float32))
        graph.set_initial_value(each, values[-1])
    with graph.steps("layer") as layer:
        layer_of = ops.nn.lstm if kind == "LSTM" else ops.nn.gru
        outputs = layer_of(x, weights, inference=True).outputs
    engine = pl.Engine(graph, layer, checks="fast")
    engine.run()
    both = np.concatenate(values[1:3], 1).transpose(1, 0, 2)
    parts = np.split(both.reshape(2 * units, -1), [] if kind == "LSTM" else [2 * units], 1)
    matrices, bias = [np.ascontiguousarray(part) for part in parts], values[3].ravel()
    numpy_layer: Callable[..., Floats] = numpy_lstm if kind == "LSTM" else numpy_gru
    by_numpy = partial(numpy_layer, values[0], *matrices, bias)
    if abs(engine.read(outputs) - by_numpy()).max() > 1e-5:
        sys.exit("the outputs differ")
    calls, warm_up, rest = (1, 0.0, 0.0) if small else (IN_A_ROW, SETTLING, BLAS_SPINS)
    before = partial(time.sleep, rest)
    ours, theirs = in_turn(engine.run, by_numpy, samples, before, warm_up, calls)
    what = f"{kind} of 256 units x 64: poplite / NumPy"
    return Row(what, least(ours, theirs), "x", "<=", 3.0, ours, theirs)


def numpy_step(
    digits: Any, x: Floats, labels: Any, weights: list[Floats], speeds: list[Floats]
) -> np.float32:
    """Train on one batch, in place, as a step of digits.py does; return its loss."""
    w0, b0, w1, b1 = weights
    hidden = np.maximum(x @ w0 + b0, 0)
    logits = hidden @ w1 + b1
    less = logits - logits.max(1, keepdims=True)
    powers = np.exp(less)
    sums = powers.sum(1, keepdims=True)
    row = np.arange(len(x))
    loss: np.float32 = (np.log(sums[:, 0]) - less[row, labels]).mean()
    by_logits = powers / sums
    by_logits[row, labels] -= 1
    by_logits /= np.float32(len(x))
    by_hidden = np.where(hidden > 0, by_logits @ w1.T, np.float32(0))
    gradients = (x.T @ by_hidden, by_hidden.sum(0), hidden.T @ by_logits, by_logits.sum(0))
    for each, gradient, speed in zip(weights, gradients, speeds, strict=True):
        speed *= np.float32(digits.MOMENTUM)
        speed += gradient
        each -= np.float32(digits.RATE) * speed
    return loss


def an_epoch(small: bool, samples: int) -> Row:
    """An epoch of training."""
    digits = example("digits")
    size, (pictures, labels) = digits.BATCH, (each[digits.TESTS :] for each in digits.load())
    batches = 2 if small else len(pictures) // size
    graph, programs = digits.build(batches, TILES)
    engine = pl.Engine(graph, programs["train"], checks="fast")
    x, labels = pictures[: batches * size], labels[: batches * size]
    engine.connect_stream("pictures", x)
    engine.connect_stream("digits", labels)
    weights = [engine.read(name) for name in digits.FIRST]
    speeds = [np.zeros_like(each) for each in weights]

    def by_numpy() -> float:
        parts = (slice(k, k + size) for k in range(0, len(x), size))
        steps = [numpy_step(digits, x[part], labels[part], weights, speeds) for part in parts]
        return float(np.mean(steps))

    engine.run()
    if abs(float(engine.read("loss")) / by_numpy() - 1) > TOLERANCE:
        sys.exit("the losses differ")
    warm_up = 0.0 if small else SETTLING
    ours, theirs = in_turn(engine.run, by_numpy, samples, warm_up=warm_up)
    what = "an epoch of digits.py: poplite / NumPy"
    return Row(what, least(ours, theirs), "x", "<=", 3.0, ours, theirs)


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
