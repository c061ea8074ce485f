"""Train a network of two layers on handwritten digits, on tiles, and compare it with NumPy.

    python examples/digits.py [--epochs 40] [--tiles 16] [--seed 1] [--output-dir DIR]

The 1,797 pictures of 8 by 8 points are those of scikit-learn; a fifth of each digit is kept for
the test. One program trains an epoch: it repeats a step for each batch, which two streams bring::

    x, labels           from the host, a batch of 64 pictures
    hidden              relu(x @ weights 0 + bias 0), 64 x 64
    logits              hidden @ weights 1 + bias 1, 64 x 10
    loss                mean of the cross entropy, added up over the epoch
    gradients           of logits, weights 1, bias 1, hidden, weights 0, bias 0
    update              descent with momentum, of all four parameters at once

NumPy does the same in float32, from the same weights and in the same order of pictures. The order
in which numbers are added differs, so that losses differ by roundings: each has to be within
`TOLERANCE` of NumPy's. A picture of both is written to the folder.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

import poplite as pl
from poplite import ops
from poplite.files import check_folder, write_bytes
from poplite.tools.script import one_line_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

Floats = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int32]

PIXELS, HIDDEN, CLASSES = 64, 64, 10
BATCH = 64
RATE, MOMENTUM = 0.1, 0.9

TOLERANCE = 1e-3
"""How far the loss of an epoch may be from NumPy's, of the largest of both and 0.01."""

NEEDED = 0.95
"""Share of the test that has to be right."""

FILE = "digits_loss.svg"


class Data(NamedTuple):
    """Pictures with numbers from 0 to 1, and the digits that they show."""

    train: Floats
    train_labels: Labels
    test: Floats
    test_labels: Labels


def load() -> Data:
    """Return the pictures, a stratified fifth of them for the test."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    pictures, digits = load_digits(return_X_y=True)
    train, test, train_labels, test_labels = train_test_split(
        (pictures / 16).astype(np.float32),
        digits.astype(np.int32),
        test_size=0.2,
        stratify=digits,
        random_state=0,
    )
    return Data(train, train_labels, test, test_labels)


def first_weights(seed: int) -> list[Floats]:
    """Return the parameters before training: weights 0, bias 0, weights 1, bias 1."""
    random = np.random.default_rng(seed)
    made = []
    for rows, columns in ((PIXELS, HIDDEN), (HIDDEN, CLASSES)):
        scale = np.sqrt(2 / rows)
        made.append((scale * random.standard_normal((rows, columns))).astype(np.float32))
        made.append(np.zeros(columns, np.float32))
    return made


class Network:
    """The graph of a network, and the programs that train and test it.

    Args:
        weights: the parameters before training.
        batches: batches of an epoch.
        tests: pictures of the test.
        tiles: of the machine.
    """

    def __init__(self, weights: list[Floats], batches: int, tests: int, tiles: int) -> None:
        self.graph = pl.Graph(pl.Target(tiles=tiles))
        self.parameters = [
            self.graph.add_variable(
                pl.FLOAT, values.shape, name, mapping="linear", initial_value=values
            )
            for name, values in zip(
                ("weights 0", "bias 0", "weights 1", "bias 1"), weights, strict=True
            )
        ]
        self.velocities = [
            self.graph.add_variable(
                pl.FLOAT, each.shape, f"{each.name}/velocity", mapping="linear", initial_value=0
            )
            for each in self.parameters
        ]
        self.loss = self.graph.add_variable(pl.FLOAT, (), "loss", mapping=0, initial_value=0)
        self.correct = self.graph.add_variable(pl.UNSIGNED_INT, (), "correct", mapping=0)
        self.programs = {"train": self._train(batches), "test": self._test(tests)}

    def _train(self, batches: int) -> pl.Program:
        """Return the program of an epoch."""
        graph, (w0, b0, w1, b1) = self.graph, self.parameters
        x = graph.add_variable(pl.FLOAT, (BATCH, PIXELS), "x", mapping="linear")
        labels = graph.add_variable(pl.INT, (BATCH,), "labels", mapping="linear")
        pictures = graph.add_host_to_device_fifo("pictures", pl.FLOAT, x.num_elements)
        digits = graph.add_host_to_device_fifo("digits", pl.INT, BATCH)
        with graph.steps("epoch") as epoch:
            ops.zero(self.loss)
            with ops.repeat(batches):
                epoch.add(pl.Copy(pictures, x))
                epoch.add(pl.Copy(digits, labels))
                hidden = ops.map(ops.relu(x @ w0 + b0), name="hidden")
                logits = ops.map(hidden @ w1 + b1, name="logits")
                losses = ops.nn.cross_entropy(logits, labels)
                ops.assign(self.loss, self.loss + ops.mean(losses) / batches, name="loss")
                by_logits = ops.map(
                    ops.nn.cross_entropy_gradient(logits, labels) / BATCH, name="logits gradient"
                )
                by_hidden = ops.map(
                    ops.where(hidden > 0, by_logits @ w1.T, 0), name="hidden gradient"
                )
                gradients = [
                    x.T @ by_hidden,
                    ops.sum(by_hidden, 0),
                    hidden.T @ by_logits,
                    ops.sum(by_logits, 0),
                ]
                made = [
                    ops.map(gradient, name=f"{each.name} gradient")
                    for each, gradient in zip(self.parameters, gradients, strict=True)
                ]
                with ops.together():
                    for each, gradient, velocity in zip(
                        self.parameters, made, self.velocities, strict=True
                    ):
                        ops.nn.sgd(each, gradient, RATE, velocity=velocity, momentum=MOMENTUM)
        return epoch

    def _test(self, tests: int) -> pl.Program:
        """Return the program that counts the pictures that are recognised."""
        w0, b0, w1, b1 = self.parameters
        self.pictures = self.graph.add_variable(pl.FLOAT, (tests, PIXELS), "test", mapping="linear")
        self.digits = self.graph.add_variable(pl.UNSIGNED_INT, (tests,), "digit", mapping="linear")
        with self.graph.steps("test") as program:
            hidden = ops.map(ops.relu(self.pictures @ w0 + b0), name="test hidden")
            logits = ops.map(hidden @ w1 + b1, name="test logits")
            right = ops.equal(ops.argmax(logits, 1), self.digits)
            ops.assign(self.correct, ops.sum(ops.cast(right, pl.UNSIGNED_INT)))
        return program


def build(
    batches: int = 1, tests: int = 100, tiles: int = 16
) -> tuple[pl.Graph, dict[str, pl.Program]]:
    """Return the graph of the network and its programs, for poplite-viz."""
    network = Network(first_weights(1), batches, tests, tiles)
    return network.graph, network.programs


def numpy_step(
    x: Floats, labels: Labels, weights: list[Floats], velocities: list[Floats]
) -> np.float32:
    """Train on one batch, in place; return its loss."""
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
    for each, gradient, velocity in zip(weights, gradients, velocities, strict=True):
        velocity *= np.float32(MOMENTUM)
        velocity += gradient
        each -= np.float32(RATE) * velocity
    return loss


class Trained(NamedTuple):
    """What training gave.

    Attributes:
        losses: of each epoch on tiles.
        expected: those of NumPy.
        share: of the test that is right.
        seconds: that the runs on tiles took.
        cycles: that they would take on the machine, with the test.
    """

    losses: list[float]
    expected: list[float]
    share: float
    seconds: float
    cycles: int


def train(data: Data, epochs: int, tiles: int, seed: int) -> Trained:
    """Train on tiles and in NumPy, and print the loss of each epoch."""
    batches = len(data.train) // BATCH
    weights = first_weights(seed)
    network = Network(weights, batches, len(data.test), tiles)
    engine = pl.Engine(network.graph, network.programs, checks="fast")
    engine.write(network.pictures, data.test)
    engine.write(network.digits, data.test_labels)
    velocities = [np.zeros_like(each) for each in weights]
    random, seconds = np.random.default_rng(seed), 0.0
    losses, expected = [], []
    for epoch in range(1, epochs + 1):
        order = random.permutation(len(data.train))[: batches * BATCH]
        x, labels = data.train[order], data.train_labels[order]
        engine.connect_stream("pictures", x)
        engine.connect_stream("digits", labels)
        begin = time.perf_counter()
        engine.run("train")
        seconds += time.perf_counter() - begin
        losses.append(float(engine.read(network.loss)))
        parts = (slice(k, k + BATCH) for k in range(0, len(x), BATCH))
        steps = [numpy_step(x[part], labels[part], weights, velocities) for part in parts]
        expected.append(float(np.mean(steps)))
        done = "#" * (20 * epoch // epochs)
        print(f"epoch {epoch:>3} [{done:<20}] loss {losses[-1]:.6f}, in NumPy {expected[-1]:.6f}")
    engine.run("test")
    share = int(engine.read(network.correct)) / len(data.test)
    return Trained(losses, expected, share, seconds, engine.report().cycles or 0)


def picture(trained: Trained) -> str:
    """Return the losses as SVG, on a logarithmic scale; those of NumPy are dots."""
    width, height, margin = 480, 280, 40
    losses = np.maximum([trained.losses, trained.expected], 1e-9)
    low, high = np.floor(np.log10(losses.min())), np.ceil(np.log10(losses.max()))
    across = margin + (width - 2 * margin) * np.arange(losses.shape[1]) / max(
        1, losses.shape[1] - 1
    )
    down = margin + (height - 2 * margin) * (high - np.log10(losses)) / (high - low)
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, down[0], strict=True))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="11">',
        f'<title>loss of {losses.shape[1]} epochs</title><rect width="100%" height="100%" '
        'fill="white"/>',
    ]
    for power in range(int(low), int(high) + 1):
        y = margin + (height - 2 * margin) * (high - power) / (high - low)
        parts.append(
            f'<path d="M{margin} {y:.1f}H{width - margin}" stroke="#ddd"/>'
            f'<text x="{margin - 6}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g}</text>'
        )
    parts += [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="#e69f00"/>'
        for x, y in zip(across, down[1], strict=True)
    ]
    parts += [
        f'<polyline points="{path}" fill="none" stroke="#0072b2" stroke-width="1.5"/>',
        f'<text x="{margin}" y="{margin - 14}">loss by epoch: on tiles, and in NumPy (dots)</text>',
        f'<text x="{width - margin}" y="{height - 12}" text-anchor="end">'
        f"epoch {losses.shape[1]}</text>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def farthest(trained: Trained) -> float:
    """Return how far a loss is from NumPy's at most, of the largest of both and 0.01."""
    ours, theirs = np.array([trained.losses, trained.expected])
    return float((abs(ours - theirs) / np.maximum(np.maximum(ours, theirs), 0.01)).max())


@one_line_errors
def main(argv: Sequence[str] | None = None) -> int:
    """Train, compare and draw; the exit code is 1 where something is not as it should be."""
    parser = argparse.ArgumentParser(description="Train a network on handwritten digits.")
    parser.add_argument("--epochs", type=int, default=40, metavar="N")
    parser.add_argument("--tiles", type=int, default=16, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--output-dir", type=Path, default=Path(), metavar="DIR")
    options = parser.parse_args(argv)
    if options.epochs < 1:
        parser.error(f"--epochs {options.epochs}: at least 1")
    check_folder(options.output_dir / FILE)
    trained = train(load(), options.epochs, options.tiles, options.seed)
    write_bytes(options.output_dir / FILE, picture(trained).encode())
    distance, step = farthest(trained), trained.seconds / options.epochs
    is_near, is_right = distance <= TOLERANCE, trained.share >= NEEDED
    print(f"loss: {'as in NumPy' if is_near else 'NOT as in NumPy'}, {distance:.1e} off at most")
    print(f"test: {trained.share:.1%} are right, {'which is enough' if is_right else 'TOO FEW'}")
    print(f"time: {1000 * step:.1f} ms an epoch here, {trained.cycles:,} cycles of the machine")
    print(f"wrote {options.output_dir / FILE}")
    return 0 if is_near and is_right else 1


if __name__ == "__main__":
    sys.exit(main())
