"""Learn handwritten digits by named axes: logistic regression, then a network of two layers.

    python examples/named_digits.py [--epochs 80] [--tiles 16]

The 1,797 pictures are those of scikit-learn, a stratified fifth of which is kept for the test. All
of training is `ng.deriv` and one `ng.parallel` of assignments; where tensors lie follows from
`map={N: "tiles"}`. A computation that tests shares the weights of the one that trains.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

import poplite as pl
import poplite.named as ng
from poplite.tools.script import one_line_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Array = npt.NDArray[Any]

BATCH, HIDDEN = 128, 64
F, K, HID = ng.make_axis(64, "F"), ng.make_axis(10, "K"), ng.make_axis(HIDDEN, "hidden")
RATE = 0.5

NEEDED = 0.95
"""Share of the test that has to be right."""


class Data(NamedTuple):
    """Pictures with numbers from 0 to 1, and the digits that they show."""

    train: Array
    train_labels: Array
    test: Array
    test_labels: Array


def load() -> Data:
    """Return the pictures, a stratified fifth of them for the test."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    pictures, digits = load_digits(return_X_y=True)
    train, test, train_labels, test_labels = train_test_split(
        pictures / 16, digits, test_size=0.2, stratify=digits, random_state=0
    )
    return Data(train, train_labels, test, test_labels)


class Model(NamedTuple):
    """A model: its state, and its scores of pictures.

    Attributes:
        state: what is trained.
        scores: returns a score of each class, by K and the axis of the pictures.
    """

    state: list[Any]
    scores: Callable[[ng.Op], ng.Op]


def _weights(random: np.random.Generator, *axes: ng.Axis) -> ng.Op:
    shape = tuple(axis.known_length("weights") for axis in axes)
    first = random.standard_normal(shape) * np.sqrt(2 / shape[-1])
    return ng.variable(axes, first, name="w_" + "_".join(axis.name for axis in axes))


def regression() -> Model:
    """Return logistic regression: one product, and a bias."""
    w, b = ng.variable([K, F], 0, name="w"), ng.variable([K], 0, name="b")
    return Model([w, b], lambda x: ng.dot(w, x) + b)


def two_layers() -> Model:
    """Return a network of two layers."""
    random = np.random.default_rng(0)
    w1, w2 = _weights(random, HID, F), _weights(random, K, HID)
    b1, b2 = ng.variable([HID], 0, name="b1"), ng.variable([K], 0, name="b2")

    def scores(x: ng.Op) -> ng.Op:
        return ng.dot(w2, ng.relu(ng.dot(w1, x) + b1)) + b2

    return Model([w1, b1, w2, b2], scores)


class Trained(NamedTuple):
    """What training gave: the losses of all epochs, the share of the test, seconds of an epoch."""

    losses: list[float]
    share: float
    seconds: float


class Step(NamedTuple):
    """A step of training: its axis and placeholders, the loss, and the assignments."""

    N: ng.Axis
    x: ng.Op
    label: ng.Op
    loss: ng.Op
    update: Any


def step_of(model: Model) -> Step:
    """Return a step of training by gradient descent."""
    N = ng.make_axis(BATCH, "N")
    x, label = ng.placeholder([N, F], name="x"), ng.placeholder([N], pl.INT, name="label")
    p = ng.softmax(model.scores(x), [K])
    loss = ng.mean(ng.cross_entropy_multi(p, ng.one_hot(label, K), [K]), [N])
    gradients = ng.deriv(loss, model.state)
    update = ng.parallel(
        [ng.assign(each, each - RATE * g) for each, g in zip(model.state, gradients, strict=True)]
    )
    return Step(N, x, label, loss, update)


def build(tiles: int = 16) -> tuple[pl.Graph, pl.Program]:
    """Return the graph of a step of two layers and its program, for poplite-viz."""
    N, x, label, loss, update = step_of(two_layers())
    device = ng.make_transformer(tiles=tiles, map={N: "tiles"})
    work = device.computation([loss, update], x, label, name="step")
    return work.graph, work.program


def train(model: Model, data: Data, epochs: int, tiles: int) -> Trained:
    """Train a model on tiles, and test it there."""
    N, x, label, loss, update = step_of(model)
    M = ng.make_axis(len(data.test), "M")
    pictures, digit = ng.placeholder([M, F], name="pictures"), ng.placeholder([M], pl.INT)
    right = ng.equal(ng.argmax(model.scores(pictures), [K]), digit)
    share = ng.mean(ng.cast(right, pl.FLOAT), [M])
    random, losses = np.random.default_rng(1), []
    with ng.make_transformer(tiles=tiles, map={N: "tiles", M: "tiles"}) as device:
        step = device.computation([loss, update], x, label, name="step")
        test = device.computation(share, pictures, digit, name="test")
        device.initialize()
        begin = time.perf_counter()
        for _ in range(epochs):
            order = random.permutation(len(data.train))
            batches = [order[k : k + BATCH] for k in range(0, len(order) - BATCH + 1, BATCH)]
            values = [step(data.train[b], data.train_labels[b])[0] for b in batches]
            losses.append(float(np.mean(values)))
        seconds = (time.perf_counter() - begin) / max(1, epochs)
        return Trained(losses, float(test(data.test, data.test_labels)), seconds)


@one_line_errors
def main(argv: Sequence[str] | None = None) -> int:
    """Train both models; the exit code is 1 where one is right too seldom."""
    parser = argparse.ArgumentParser(description="Learn handwritten digits by named axes.")
    parser.add_argument("--epochs", type=int, default=80, metavar="N")
    parser.add_argument("--tiles", type=int, default=16, metavar="N")
    options = parser.parse_args(argv)
    if options.epochs < 1:
        parser.error(f"--epochs {options.epochs}: at least 1")
    data, is_right = load(), True
    for name, model in (("logistic regression", regression()), ("two layers", two_layers())):
        trained = train(model, data, options.epochs, options.tiles)
        is_enough = trained.share >= NEEDED
        is_right = is_right and is_enough
        print(
            f"{name}: loss {trained.losses[0]:.3f} to {trained.losses[-1]:.3f}, test "
            f"{trained.share:.1%}{'' if is_enough else ' TOO FEW'}, "
            f"{1000 * trained.seconds:.0f} ms an epoch"
        )
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
