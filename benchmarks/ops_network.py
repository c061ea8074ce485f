"""Training a network on tiles against NumPy: ratios.

    python benchmarks/ops_network.py [--samples 9] [--json FILE] [--small]

An epoch of `examples/digits.py`: 22 steps of batches of 64 pictures, in float32.
"""

from __future__ import annotations

import sys

import numpy as np

import poplite as pl
from ops_maps import least
from rows import SETTLING, Row, example, in_turn, run

TILES = 16


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
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
    return [Row(what, least(ours, theirs), "x", "<=", 3.0, ours, theirs)]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
