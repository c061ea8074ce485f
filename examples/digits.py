"""Train a network of two layers on the handwritten digits of scikit-learn, on tiles.

A program trains an epoch: it repeats a step for each batch of 64 pictures, which two streams bring.
The step adds the mean of the cross entropy to the loss of the epoch, computes the gradients of the
parameters, back from the logits, and updates them by descent with momentum, all at once.
"""

from functools import partial

import numpy as np

import poplite as pl
from poplite import ops

BATCH, TESTS, RATE, MOMENTUM = 64, 389, 0.1, 0.9
NORMAL = np.random.default_rng(1).standard_normal
FIRST = {"w0": NORMAL((64, 64)), "b0": np.zeros(64), "w1": NORMAL((64, 10)), "b1": np.zeros(10)}


def load() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_digits

    pictures, digits = load_digits(return_X_y=True)
    return pictures.astype(np.float32) / 16, digits.astype(np.int32)


def build(batches: int = 1, tiles: int = 16) -> tuple[pl.Graph, dict[str, pl.Program]]:
    graph = pl.Graph(pl.Target(tiles=tiles))
    variable = partial(graph.add_variable, mapping="linear")
    weights = [
        variable(pl.FLOAT, v.shape, name, initial_value=0.18 * v) for name, v in FIRST.items()
    ]
    speeds = [variable(pl.FLOAT, w.shape, f"{w.name}/speed", initial_value=0) for w in weights]
    w0, b0, w1, b1 = weights
    loss = variable(pl.FLOAT, (), "loss", initial_value=0)
    x, labels = variable(pl.FLOAT, (BATCH, 64), "x"), variable(pl.INT, (BATCH,), "labels")
    pictures = graph.add_host_to_device_fifo("pictures", pl.FLOAT, x.num_elements)
    digits = graph.add_host_to_device_fifo("digits", pl.INT, BATCH)
    with graph.steps("epoch") as epoch:
        ops.zero(loss)
        with ops.repeat(batches):
            epoch.add(pl.Sequence(pl.Copy(pictures, x), pl.Copy(digits, labels)))
            hidden = ops.map(ops.relu(x @ w0 + b0), name="hidden")
            logits = ops.map(hidden @ w1 + b1, name="logits")
            ops.assign(loss, loss + ops.mean(ops.nn.cross_entropy(logits, labels)) / batches)
            by_logits = ops.map(ops.nn.cross_entropy_gradient(logits, labels) / BATCH)
            by_hidden = ops.map(ops.where(hidden > 0, by_logits @ w1.T, 0))
            by_w0, by_w1 = ops.map(x.T @ by_hidden), ops.map(hidden.T @ by_logits)
            by_b0, by_b1 = ops.map(ops.sum(by_hidden, 0)), ops.map(ops.sum(by_logits, 0))
            with ops.together():
                for w, by_w, v in zip(weights, (by_w0, by_b0, by_w1, by_b1), speeds, strict=True):
                    ops.nn.sgd(w, by_w, RATE, velocity=v, momentum=MOMENTUM)
    test = variable(pl.FLOAT, (TESTS, 64), "test")
    with graph.steps("test") as testing:
        answers = ops.map(ops.relu(test @ w0 + b0) @ w1 + b1)
    graph.create_host_read("answers", answers)
    return graph, {"train": epoch, "test": testing}


def main(epochs: int = 40, tiles: int = 16) -> None:
    (test, train), (expected, digits) = (np.split(each, [TESTS]) for each in load())
    engine = pl.Engine(*build(len(train) // BATCH, tiles), checks="fast")
    engine.write("test", test)
    for epoch in range(epochs):
        order = np.random.default_rng(epoch).permutation(len(train))
        engine.connect_stream("pictures", train[order])
        engine.connect_stream("digits", digits[order])
        engine.run("train")
        print(f"epoch {epoch}: loss {engine.read('loss'):.6f}")
    engine.run("test")
    answers = engine.read("answers")
    w0, b0, w1, b1 = (engine.read(name) for name in FIRST)
    print(f"{(answers.argmax(1) == expected).mean():.1%} of the test are right")
    np.testing.assert_allclose(answers, np.maximum(test @ w0 + b0, 0) @ w1 + b1, atol=1e-4)


if __name__ == "__main__":
    main()
