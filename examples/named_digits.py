"""Learn handwritten digits by named axes: logistic regression, then a network of two layers.

All of training is `ng.deriv` and one `ng.parallel` of assignments; where tensors lie follows from
`map={N: "tiles"}`. A computation that tests shares the weights of the one that trains.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

import poplite as pl
import poplite.named as ng

BATCH, TESTS, RATE = 128, 389, 0.5
F, K, HID = ng.make_axis(64, "F"), ng.make_axis(10, "K"), ng.make_axis(64, "hidden")
N, M = ng.make_axis(BATCH, "N"), ng.make_axis(TESTS, "M")

Model = tuple[list[ng.Op], Callable[[ng.Op], ng.Op]]
"""The trained variables, and the function that scores pictures."""


def regression() -> Model:
    w, b = ng.variable([K, F], 0, name="w"), ng.variable([K], 0, name="b")
    return [w, b], lambda x: ng.dot(w, x) + b


def two_layers() -> Model:
    normal = np.random.default_rng(0).standard_normal
    w1 = ng.variable([HID, F], 0.18 * normal((64, 64)), name="w1")
    w2 = ng.variable([K, HID], 0.18 * normal((10, 64)), name="w2")
    b1, b2 = ng.variable([HID], 0, name="b1"), ng.variable([K], 0, name="b2")
    return [w1, b1, w2, b2], lambda x: ng.dot(w2, ng.relu(ng.dot(w1, x) + b1)) + b2


def step_of(model: Model) -> tuple[Any, ...]:
    """Return the loss, the update by gradient descent, and their placeholders."""
    state, scores = model
    x, label = ng.placeholder([N, F], name="x"), ng.placeholder([N], pl.INT, name="label")
    p = ng.softmax(scores(x), [K])
    loss = ng.mean(ng.cross_entropy_multi(p, ng.one_hot(label, K), [K]), [N])
    pairs = zip(state, ng.deriv(loss, state), strict=True)
    update = ng.parallel([ng.assign(each, each - RATE * by_each) for each, by_each in pairs])
    return loss, update, x, label


def build(tiles: int = 16) -> tuple[pl.Graph, pl.Program]:
    loss, update, *placeholders = step_of(two_layers())
    device = ng.make_transformer(tiles=tiles, map={N: "tiles"})
    work = device.computation([loss, update], *placeholders, name="step")
    return work.graph, work.program


def main(epochs: int = 80, tiles: int = 16) -> None:
    from sklearn.datasets import load_digits

    pictures, digits = load_digits(return_X_y=True)
    (test, train), (expected, labels) = (np.split(v, [TESTS]) for v in (pictures / 16, digits))
    for state, scores in (regression(), two_layers()):
        loss, update, *placeholders = step_of((state, scores))
        seen = ng.placeholder([M, F], name="seen")
        device = ng.make_transformer(tiles=tiles, map={N: "tiles", M: "tiles"})
        step = device.computation([loss, update], *placeholders, name="step")
        answer = device.computation([scores(seen), *state], seen, name="answer")
        device.initialize()
        for epoch in range(epochs):
            order = np.random.default_rng(epoch).permutation(len(train))
            batches = np.split(order, len(order) // BATCH)
            losses = [step(train[each], labels[each])[0] for each in batches]
        found, *weights = answer(test)
        share = (found.argmax(0) == expected).mean()
        print(f"loss {np.mean(losses):.3f}, {share:.1%} of the test are right")
    w1, b1, w2, b2 = weights  # of two layers
    hidden = np.maximum(w1 @ test.T + b1[:, None], 0)
    np.testing.assert_allclose(found, w2 @ hidden + b2[:, None], rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    main()
