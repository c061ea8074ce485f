"""Train two layers of convolution, bias, relu and pooling, and one of weights, on small digits."""

from functools import partial

import numpy as np

import poplite as pl
from poplite import ops
from poplite.ops import nn

BATCH, NORMAL = 32, np.random.default_rng(1).standard_normal
FIRST = {"w0": NORMAL((16, 1, 3, 3)), "b0": np.zeros((1, 16, 1, 1))}
FIRST |= {"w1": NORMAL((32, 16, 3, 3)), "b1": np.zeros((1, 32, 1, 1))}
FIRST |= {"w2": NORMAL((128, 10)), "b2": np.zeros(10)}


def build(batches: int = 1, tiles: int = 64) -> tuple[pl.Graph, dict[str, pl.Program]]:
    graph = pl.Graph(pl.Target(tiles=tiles))
    variable = partial(graph.add_variable, pl.FLOAT, mapping="linear")
    parameters = [variable(v.shape, name, initial_value=0.15 * v) for name, v in FIRST.items()]
    w0, b0, w1, b1, w2, b2 = parameters
    x, loss = variable((BATCH, 1, 8, 8), "x"), variable((), "loss", initial_value=0)
    labels = graph.add_variable(pl.INT, (BATCH,), "labels", mapping="linear")
    pictures = graph.add_host_to_device_fifo("pictures", pl.FLOAT, x.num_elements)
    digits = graph.add_host_to_device_fifo("digits", pl.INT, BATCH)
    layers, pooled = [], x
    with graph.steps("forward") as forward:
        forward.add(pl.Copy(pictures, x))
        for w, b in ((w0, b0), (w1, b1)):
            kept = ops.map(ops.relu(ops.convolution(pooled, w, padding=1) + b))
            layers.append((w, pooled, kept, pooled := nn.max_pool(kept, 2)))
        flat = pooled.reshape((BATCH, 128))
        logits = ops.map(flat @ w2 + b2)
    with graph.steps("epoch") as epoch:
        ops.zero(loss)
        with ops.repeat(batches):
            epoch.add(pl.Sequence(forward, pl.Copy(digits, labels)))
            ops.assign(loss, loss + ops.mean(nn.cross_entropy(logits, labels)) / batches)
            by_logits = ops.map(nn.cross_entropy_gradient(logits, labels) / BATCH)
            gradients: list[pl.Tensor | pl.Expr] = [flat.T @ by_logits, ops.sum(by_logits, 0)]
            back = ops.map(by_logits @ w2.T).reshape(pooled.shape)
            for w, before, kept, after in reversed(layers):
                back = ops.map(ops.where(kept > 0, nn.max_pool_gradient(back, kept, after, 2), 0))
                by_w = ops.convolution_weights_gradient(back, before, (3, 3), padding=1)
                gradients = [by_w, ops.sum(back, [0, 2, 3], keepdims=True), *gradients]
                back = ops.convolution_input_gradient(back, w, before.shape[2:], padding=1)
            for parameter, gradient in zip(parameters, gradients, strict=True):
                nn.sgd(parameter, gradient, rate=0.3)
    graph.create_host_read("logits", logits)
    graph.create_host_read("kept", layers[0][2])
    return graph, {"train": epoch, "test": forward}


def main(epochs: int = 12, tiles: int = 64) -> None:
    from sklearn.datasets import load_digits

    data = load_digits()  # the first 384 are for the test
    pictures, digits = (data.images / 16).astype(np.float32), data.target.astype(np.int32)
    engine = pl.Engine(*build(44, tiles), checks="fast")
    for epoch in range(epochs):
        order = 384 + np.random.default_rng(epoch).permutation(1413)[:1408]
        engine.connect_stream("pictures", pictures[order])
        engine.connect_stream("digits", digits[order])
        engine.run("train")
        print(f"epoch {epoch}: loss {engine.read('loss'):.6f}")
    engine.connect_stream("pictures", pictures[:384])
    answers = []
    for _ in range(0, 384, BATCH):
        engine.run("test")
        answers.extend(engine.read("logits").argmax(1))
    print(f"{(answers == digits[:384]).mean():.1%} of the test are right")
    y = np.einsum("bij,oij->bo", pictures[352:384, 2:5, 3:6], engine.read("w0")[:, 0])
    y += engine.read("b0")[..., 0, 0]
    np.testing.assert_allclose(engine.read("kept")[..., 3, 4], np.maximum(y, 0), atol=1e-5)


if __name__ == "__main__":
    main()
