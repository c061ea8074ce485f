"""Train a small convolutional network on handwritten digits, on tiles.

    python examples/convnet.py [--epochs 12] [--tiles 64] [--seed 1] [--output-dir DIR]

The 1,797 pictures of 8 by 8 points are those of scikit-learn; a fifth of each digit is kept for
the test. One program trains an epoch: it repeats a step for each batch, which two streams bring::

    x                   32 pictures, [32, 1, 8, 8]
    layer 1             3 x 3 to 16 channels, a bias, relu, the greatest of 2 x 2: [32, 16, 4, 4]
    layer 2             3 x 3 to 32 channels, likewise: [32, 32, 2, 2]
    logits              128 numbers of a picture, by weights: [32, 10]
    gradients           back the same way: pooling, relu, weights, biases, inputs
    update              descent with momentum, of all six parameters

The plans of the convolutions say where x and weights lie. After the last epoch the share of the
test that is right has to be at least 97 %, and the logits of the test have to be those of NumPy,
from the same parameters. The kernels of the first layer are drawn, and the pictures that were
mistaken.
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
from poplite.ops import nn
from poplite.tools.script import one_line_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

Floats = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int32]

SIZE, CHANNELS, CLASSES = 8, (1, 16, 32), 10
BATCH = 32
RATE, MOMENTUM = 0.05, 0.9
TESTED = 90
"""Pictures that are tested at a time."""

TOLERANCE = 1e-3
"""How far a logit may be from NumPy's."""

NEEDED = 0.97
"""Share of the test that has to be right."""

FILE = "convnet.svg"


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
        (pictures / 16).astype(np.float32).reshape((-1, 1, SIZE, SIZE)),
        digits.astype(np.int32),
        test_size=0.2,
        stratify=digits,
        random_state=0,
    )
    return Data(train, train_labels, test, test_labels)


def first_weights(seed: int) -> list[Floats]:
    """Return the parameters before training: weights and bias of each layer."""
    random = np.random.default_rng(seed)
    flat = CHANNELS[2] * (SIZE // 4) ** 2
    shapes = [(CHANNELS[1], CHANNELS[0], 3, 3), (CHANNELS[2], CHANNELS[1], 3, 3), (flat, CLASSES)]
    made = []
    for shape in shapes:
        inputs = shape[0] if len(shape) == 2 else 9 * shape[1]
        scale = np.sqrt(2 / inputs)
        made.append((scale * random.standard_normal(shape)).astype(np.float32))
        made.append(np.zeros(shape[-1] if len(shape) == 2 else shape[0], np.float32))
    return made


class Layer(NamedTuple):
    """What a layer of convolution keeps for its gradients."""

    x: pl.Tensor
    kept: pl.Tensor
    pooled: pl.Tensor


class Network:
    """The graph of a network, and the programs that train and test it.

    Args:
        weights: the parameters before training.
        batches: batches of an epoch.
        tiles: of the machine.
        batch: pictures of a batch.
        tested: pictures that are tested at a time.
    """

    def __init__(
        self,
        weights: list[Floats],
        batches: int,
        tiles: int,
        batch: int = BATCH,
        tested: int = TESTED,
    ) -> None:
        self.graph = graph = pl.Graph(pl.Target(tiles=tiles))
        plans = [
            ops.plan_convolution(
                graph,
                batch=batch,
                field=(SIZE >> layer, SIZE >> layer),
                inputs=CHANNELS[layer],
                outputs=CHANNELS[layer + 1],
                kernel=(3, 3),
                padding=1,
            )
            for layer in (0, 1)
        ]
        self.x = plans[0].create_input("x")
        self.labels = graph.add_variable(pl.INT, (batch,), "labels", mapping="linear")
        self.parameters = [
            plans[0].create_weights("weights 0"),
            graph.add_variable(pl.FLOAT, weights[1].shape, "bias 0", mapping="linear"),
            plans[1].create_weights("weights 1"),
            graph.add_variable(pl.FLOAT, weights[3].shape, "bias 1", mapping="linear"),
            graph.add_variable(pl.FLOAT, weights[4].shape, "weights 2", mapping="linear"),
            graph.add_variable(pl.FLOAT, weights[5].shape, "bias 2", mapping="linear"),
        ]
        self.velocities = [
            graph.clone(each, name=f"{each.name}/velocity") for each in self.parameters
        ]
        self.loss = graph.add_variable(pl.FLOAT, (), "loss", mapping=0, initial_value=0)
        pictures = graph.add_host_to_device_fifo("pictures", pl.FLOAT, self.x.num_elements)
        digits = graph.add_host_to_device_fifo("digits", pl.INT, batch)
        with graph.steps("begin") as begin:
            for each in self.velocities:
                ops.zero(each)
        with graph.steps("epoch") as epoch:
            ops.zero(self.loss)
            with ops.repeat(batches):
                epoch.add(pl.Copy(pictures, self.x))
                epoch.add(pl.Copy(digits, self.labels))
                self._step(batches)
        self.test = graph.add_variable(
            pl.FLOAT, (tested, CHANNELS[0], SIZE, SIZE), "test", mapping="linear"
        )
        with graph.steps("test") as test:
            self.answers = self._logits(self.test)[-1]
        self.programs: dict[str, pl.Program] = {"begin": begin, "train": epoch, "test": test}

    def _logits(self, x: pl.Tensor) -> tuple[list[Layer], pl.Tensor, pl.Tensor]:
        """Record the way forward; return the layers, their last output, and the logits."""
        layers = []
        for n in (0, 1):
            weights, bias = self.parameters[2 * n : 2 * n + 2]
            y = ops.convolution(x, weights, padding=1, name=f"layer {n}")
            kept = ops.map(ops.relu(y + bias.reshape((len(bias), 1, 1))), name=f"relu {n}")
            pooled = nn.max_pool(kept, 2, name=f"pool {n}")
            layers.append(Layer(x, kept, pooled))
            x = pooled
        flat = x.reshape((x.shape[0], x.num_elements // x.shape[0]))
        weights, bias = self.parameters[4:]
        return layers, flat, ops.map(flat @ weights + bias, name="logits")

    def _step(self, batches: int) -> None:
        """Record the step of a batch."""
        layers, flat, logits = self._logits(self.x)
        losses = nn.cross_entropy(logits, self.labels)
        ops.assign(self.loss, self.loss + ops.mean(losses) / batches, name="loss")
        by_logits = ops.map(
            nn.cross_entropy_gradient(logits, self.labels) / len(self.labels), name="by logits"
        )
        gradients: list[pl.Expr | pl.Tensor] = [flat.T @ by_logits, ops.sum(by_logits, 0)]
        back = ops.map(by_logits @ self.parameters[4].T, name="by flat")
        for n in (1, 0):
            x, kept, pooled = layers[n]
            back = nn.max_pool_gradient(
                back.reshape(pooled.shape), kept, pooled, 2, name=f"by pool {n}"
            )
            back = ops.map(ops.where(kept > 0, back, 0), name=f"by relu {n}")
            by_weights = ops.convolution_weights_gradient(
                back, x, (3, 3), padding=1, name=f"by weights {n}"
            )
            gradients = [by_weights, ops.sum(back, [0, 2, 3]), *gradients]
            if n:
                back = ops.convolution_input_gradient(
                    back, self.parameters[2], x.shape[2:], padding=1, name="by layer 0"
                )
        for each, gradient, velocity in zip(
            self.parameters, gradients, self.velocities, strict=True
        ):
            nn.sgd(each, gradient, RATE, velocity=velocity, momentum=MOMENTUM)


def build(batches: int = 1, tiles: int = 64) -> tuple[pl.Graph, dict[str, pl.Program]]:
    """Return the graph of the network and its programs, for poplite-viz."""
    network = Network(first_weights(1), batches, tiles)
    return network.graph, network.programs


def numpy_logits(x: Floats, weights: list[Floats]) -> Floats:
    """Return the logits of pictures in NumPy."""
    for n in (0, 1):
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        seen = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
        y = np.einsum("bihwuv,oiuv->bohw", seen, weights[2 * n], optimize=True)
        y = np.maximum(y + weights[2 * n + 1][:, None, None], 0)
        x = y.reshape((*y.shape[:2], y.shape[2] // 2, 2, y.shape[3] // 2, 2)).max((3, 5))
    logits: Floats = x.reshape((len(x), -1)) @ weights[4] + weights[5]
    return logits


class Trained(NamedTuple):
    """What training gave.

    Attributes:
        losses: of each epoch.
        share: of the test that is right.
        distance: how far a logit of the test is from NumPy's, at most.
        kernels: of the first layer.
        mistaken: pictures of the test that were, with the digit and the answer.
        seconds: that the epochs took.
        cycles: that they would take on the machine, with the test.
    """

    losses: list[float]
    share: float
    distance: float
    kernels: Floats
    mistaken: list[tuple[Floats, int, int]]
    seconds: float
    cycles: int


def train(data: Data, epochs: int, tiles: int, seed: int) -> Trained:
    """Train, printing the loss of each epoch, and test."""
    batches = len(data.train) // BATCH
    weights = first_weights(seed)
    network = Network(weights, batches, tiles)
    engine = pl.Engine(network.graph, network.programs, checks="fast")
    for each, values in zip(network.parameters, weights, strict=True):
        engine.write(each, values)
    engine.run("begin")
    random, seconds, losses = np.random.default_rng(seed), 0.0, []
    for epoch in range(1, epochs + 1):
        order = random.permutation(len(data.train))[: batches * BATCH]
        engine.connect_stream("pictures", data.train[order])
        engine.connect_stream("digits", data.train_labels[order])
        begin = time.perf_counter()
        engine.run("train")
        seconds += time.perf_counter() - begin
        losses.append(float(engine.read(network.loss)))
        done = "#" * (20 * epoch // epochs)
        print(f"epoch {epoch:>3} [{done:<20}] loss {losses[-1]:.6f}")
    answers = []
    for first in range(0, len(data.test), TESTED):
        part = data.test[first : first + TESTED]
        engine.write(network.test, np.pad(part, ((0, TESTED - len(part)), *[(0, 0)] * 3)))
        engine.run("test")
        answers.append(engine.read(network.answers)[: len(part)])
    logits = np.concatenate(answers)
    trained = [engine.read(each) for each in network.parameters]
    guesses = logits.argmax(1)
    wrong = np.nonzero(guesses != data.test_labels)[0]
    return Trained(
        losses,
        float((guesses == data.test_labels).mean()),
        float(abs(logits - numpy_logits(data.test, trained)).max()),
        trained[0],
        [(data.test[n, 0], int(data.test_labels[n]), int(guesses[n])) for n in wrong],
        seconds,
        engine.report().cycles or 0,
    )


def picture(trained: Trained) -> str:
    """Return the kernels of the first layer and the pictures that were mistaken, as SVG."""
    width, height, point = 560, 330, 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="11">',
        f"<title>{len(trained.kernels)} kernels, {len(trained.mistaken)} mistakes</title>"
        '<rect width="100%" height="100%" fill="white"/>',
        '<text x="20" y="24">kernels of the first layer: orange adds, blue takes away</text>',
    ]
    most = float(abs(trained.kernels).max()) or 1.0

    def cell(x: float, y: float, fill: str, opacity: float) -> str:
        return (
            f'<rect x="{x:g}" y="{y:g}" width="{point}" height="{point}" fill="{fill}" '
            f'fill-opacity="{opacity:.2f}"/>'
        )

    for n, kernel in enumerate(trained.kernels[:, 0]):
        for (row, column), value in np.ndenumerate(kernel):
            fill = "#d55e00" if value > 0 else "#0072b2"
            x, y = 20 + 33 * n + point * column, 36 + point * row
            parts.append(cell(x, y, fill, abs(value) / most))
    parts.append('<text x="20" y="96">mistaken: the digit, and the answer</text>')
    for n, (points, digit, guess) in enumerate(trained.mistaken[:14]):
        left, top = 20 + 75 * (n % 7), 108 + 105 * (n // 7)
        for (row, column), value in np.ndenumerate(points):
            parts.append(cell(left + point * column, top + point * row, "black", float(value)))
        parts.append(f'<text x="{left}" y="{top + 82}">{digit}, not {guess}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


@one_line_errors
def main(argv: Sequence[str] | None = None) -> int:
    """Train, compare and draw; the exit code is 1 where something is not as it should be."""
    parser = argparse.ArgumentParser(description="Train a convolutional network on digits.")
    parser.add_argument("--epochs", type=int, default=12, metavar="N")
    parser.add_argument("--tiles", type=int, default=64, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--output-dir", type=Path, default=Path(), metavar="DIR")
    options = parser.parse_args(argv)
    if options.epochs < 1:
        parser.error(f"--epochs {options.epochs}: at least 1")
    check_folder(options.output_dir / FILE)
    trained = train(load(), options.epochs, options.tiles, options.seed)
    write_bytes(options.output_dir / FILE, picture(trained).encode())
    is_near, is_right = trained.distance <= TOLERANCE, trained.share >= NEEDED
    step = 1000 * trained.seconds / options.epochs
    print(
        f"logits: {'as in NumPy' if is_near else 'NOT as in NumPy'}, {trained.distance:.1e} off "
        "at most"
    )
    print(f"test: {trained.share:.1%} are right, {'which is enough' if is_right else 'TOO FEW'}")
    print(f"time: {step:.0f} ms an epoch here, {trained.cycles:,} cycles of the machine")
    print(f"wrote {options.output_dir / FILE}")
    return 0 if is_near and is_right else 1


if __name__ == "__main__":
    sys.exit(main())
