"""One layer of an encoder (Vaswani et al., 2017), forward and backward, on tiles and in NumPy.

y = layer_norm(x + attention of x to itself), out = layer_norm(y + gelu(y @ w0 + b0) @ w1 + b1)
"""

import numpy as np

import poplite as pl
from poplite import ops
from poplite.ops import nn

X, HEADS = (2, 16, 32), 4  # batch, positions, numbers
SHAPES = {"x": X, **dict.fromkeys(("query", "key", "value", "output"), (32, 32))}
SHAPES |= {"w0": (32, 64), "w1": (64, 32), "b0": (64,)}
SHAPES |= dict.fromkeys(("b1", "gain0", "bias0", "gain1", "bias1"), (32,))
RANDOM = np.random.default_rng(1)
VALUES = [0.3 * RANDOM.standard_normal(shape) for shape in SHAPES.values()]


def build(tiles: int = 16) -> tuple[pl.Graph, pl.Program, list[pl.Tensor]]:
    graph = pl.Graph(pl.Target(tiles=tiles))
    x, query, key, value, output, w0, w1, b0, b1, gain0, bias0, gain1, bias1 = (
        graph.add_variable(pl.FLOAT, v.shape, name, mapping="linear", initial_value=v)
        for name, v in zip(SHAPES, VALUES, strict=True)
    )
    weights = nn.AttentionWeights(query, key, value, output)
    with graph.steps("layer") as program:
        mixed = nn.multi_head_attention(x, x, x, weights, HEADS)
        sum0 = ops.map(x + mixed.result)
        y = ops.map(nn.layer_norm(sum0, gain0, bias0))
        inner = ops.map(y @ w0 + b0)
        active = ops.map(ops.gelu(inner))
        sum1 = ops.map(y + (active @ w1 + b1))
        out = ops.map(nn.layer_norm(sum1, gain1, bias1))
        norm1 = nn.layer_norm_gradient(sum1, out, gain1)  # of half the sum of squares of out
        by_sum1 = ops.map(norm1.x)
        by_inner = ops.map(nn.gelu_gradient(inner, by_sum1 @ w1.T))
        norm0 = nn.layer_norm_gradient(sum0, ops.map(by_sum1 + by_inner @ w0.T), gain0)
        by_sum0 = ops.map(norm0.x)
        back = nn.multi_head_attention_gradient(x, x, x, weights, HEADS, mixed, by_sum0)
        by_x = by_sum0 + back.query + back.key + back.value
        by_w0 = y.reshape((32, 32)).T @ by_inner.reshape((32, 64))
        by_w1 = active.reshape((32, 64)).T @ by_sum1.reshape((32, 32))
        by_b0, by_b1 = ops.sum(by_inner, [0, 1]), ops.sum(by_sum1, [0, 1])
        gradients = (by_x, *back.weights, by_w0, by_w1, by_b0, by_b1, *norm0[1:], *norm1[1:])
        return graph, program, [out, *(ops.map(each) for each in gradients)]


def normalised(x: np.ndarray, gain: np.ndarray, bias: np.ndarray) -> np.ndarray:
    scaled = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return np.asarray(scaled * gain + bias)


def in_numpy(values: list[np.ndarray]) -> np.ndarray:
    x, query, key, value, output, w0, w1, b0, b1, gain0, bias0, gain1, bias1 = values
    q, k, v = ((x @ w).reshape((*X[:2], HEADS, 8)) for w in (query, key, value))
    shares = np.exp(np.einsum("bthd,bshd->bhts", q, k) / np.sqrt(8))
    mixed = np.einsum("bhts,bshd->bthd", shares / shares.sum(-1, keepdims=True), v)
    y = normalised(x + mixed.reshape(X) @ output, gain0, bias0)
    inner = y @ w0 + b0
    gelu = 0.5 * inner * (1 + np.tanh(np.sqrt(2 / np.pi) * (inner + 0.044715 * inner**3)))
    return normalised(y + (gelu @ w1 + b1), gain1, bias1)


def main(tiles: int = 16) -> None:
    graph, program, tensors = build(tiles)
    engine = pl.Engine(graph, program)
    engine.run()
    out, *gradients = map(engine.read, tensors)
    np.testing.assert_allclose(out, in_numpy(VALUES), atol=1e-5)
    ways = [RANDOM.standard_normal(v.shape) for v in VALUES]
    ends = [[v + s * w for v, w in zip(VALUES, ways, strict=True)] for s in (1e-5, -1e-5)]
    high, low = ((in_numpy(values) ** 2).sum() / 2 for values in ends)
    slope = sum(map(np.vdot, gradients, ways))
    np.testing.assert_allclose(slope, (high - low) / 2e-5, rtol=1e-4)
    print(engine.report())


if __name__ == "__main__":
    main()
