"""One layer of an encoder, forward and backward, on tiles and in NumPy.

    python examples/attention.py [--tiles 16] [--seed 1] [--output-dir DIR]
    poplite-viz program examples/attention.py:build

Sequences of 16 positions, 32 numbers each, go through the layer of Vaswani et al. (2017)::

    y       layer_norm(x + attention of x to itself, 4 heads)
    out     layer_norm(y + gelu(y @ w0 + b0) @ w1 + b1)

Outputs are compared with NumPy's in double. So are the gradients of half the sum of their squares,
by x and all parameters: along a drawn direction, each has to be the slope that differences of
NumPy's layer show. What each position takes of the others is drawn, head by head, in a picture.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

import poplite as pl
from poplite import ops
from poplite.files import check_folder, write_bytes
from poplite.ops import nn
from poplite.tools.script import one_line_errors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Array = npt.NDArray[Any]

BATCH, POSITIONS, WIDTH, HEADS, INNER = 2, 16, 32, 4, 64

SHAPES = {
    "x": (BATCH, POSITIONS, WIDTH),
    **dict.fromkeys(("query", "key", "value", "output"), (WIDTH, WIDTH)),
    "gain 0": (WIDTH,),
    "bias 0": (WIDTH,),
    "w0": (WIDTH, INNER),
    "b0": (INNER,),
    "w1": (INNER, WIDTH),
    "b1": (WIDTH,),
    "gain 1": (WIDTH,),
    "bias 1": (WIDTH,),
}

TOLERANCE = 1e-5
"""How far outputs and slopes may be from NumPy's, of the largest of them."""

FILE = "attention.svg"


def first_values(seed: int) -> dict[str, Array]:
    """Return x, sines and cosines of the positions beside noise, and the parameters."""
    random = np.random.default_rng(seed)
    made = {}
    for name, shape in SHAPES.items():
        scale = 1 / np.sqrt(shape[0]) if len(shape) == 2 else 0.1
        made[name] = scale * random.standard_normal(shape) + name.startswith("gain")
    angles = np.arange(POSITIONS)[:, None] / 100.0 ** (np.arange(WIDTH // 2) / (WIDTH // 2))
    made["x"] += np.concatenate([np.sin(angles), np.cos(angles)], 1)
    for name in ("query", "key"):
        made[name] *= 1.5  # so that heads look somewhere
    return {name: values.astype(np.float32) for name, values in made.items()}


class Layer:
    """The graph of a layer, and its program.

    Args:
        values: x and the parameters.
        tiles: of the machine.
    """

    def __init__(self, values: Mapping[str, Array], tiles: int) -> None:
        self.graph = pl.Graph(pl.Target(tiles=tiles))
        self.operands = {
            name: self.graph.add_variable(
                pl.FLOAT, each.shape, name, mapping="linear", initial_value=each
            )
            for name, each in values.items()
        }
        x, query, key, value, output, gain0, bias0, w0, b0, w1, b1, gain1, bias1 = (
            self.operands.values()
        )
        weights = nn.AttentionWeights(query, key, value, output)
        with self.graph.steps("layer") as self.program:
            mixed = nn.multi_head_attention(x, x, x, weights, HEADS)
            sum0 = ops.map(x + mixed.result, name="sum 0")
            y = ops.map(nn.layer_norm(sum0, gain0, bias0), name="y")
            inner = ops.map(y @ w0 + b0, name="inner")
            active = ops.map(ops.gelu(inner), name="active")
            sum1 = ops.map(y + (active @ w1 + b1), name="sum 1")
            self.out = ops.map(nn.layer_norm(sum1, gain1, bias1), name="out")
            # Half the sum of squares has the output itself as its gradient.
            norm1 = nn.layer_norm_gradient(sum1, self.out, gain1)
            by_sum1 = ops.map(norm1.x, name="by sum 1")
            by_inner = ops.map(nn.gelu_gradient(inner, by_sum1 @ w1.T), name="by inner")
            by_y = ops.map(by_sum1 + by_inner @ w0.T, name="by y")
            norm0 = nn.layer_norm_gradient(sum0, by_y, gain0)
            by_sum0 = ops.map(norm0.x, name="by sum 0")
            back = nn.multi_head_attention_gradient(x, x, x, weights, HEADS, mixed, by_sum0)
            rows = BATCH * POSITIONS
            made: list[pl.Expr | pl.Tensor] = [
                by_sum0 + back.query + back.key + back.value,
                *back.weights,
                *norm0[1:],
                y.reshape((rows, WIDTH)).T @ by_inner.reshape((rows, INNER)),
                ops.sum(by_inner, [0, 1]),
                active.reshape((rows, INNER)).T @ by_sum1.reshape((rows, WIDTH)),
                ops.sum(by_sum1, [0, 1]),
                *norm1[1:],
            ]
            self.gradients = {
                name: ops.map(each, name=f"by {name}")
                for name, each in zip(self.operands, made, strict=True)
            }
        self.shares = mixed.saved.shares


def build(tiles: int = 16) -> tuple[pl.Graph, pl.Program]:
    """Return the graph of the layer and its program, for poplite-viz."""
    layer = Layer(first_values(1), tiles)
    return layer.graph, layer.program


def normalised(x: Array, gain: Array, bias: Array) -> Array:
    """Return rows of mean 0 and variance 1, times a gain, plus a bias."""
    less = x - x.mean(-1, keepdims=True)
    scaled: Array = less / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * gain + bias
    return scaled


def numpy_layer(values: Mapping[str, Array]) -> Array:
    """Return what the layer makes."""
    x, query, key, value, output, gain0, bias0, w0, b0, w1, b1, gain1, bias1 = values.values()
    parted = BATCH, POSITIONS, HEADS, WIDTH // HEADS
    q, k, v = ((x @ w).reshape(parted) for w in (query, key, value))
    scores = np.einsum("bthd,bshd->bhts", q, k) / np.sqrt(WIDTH // HEADS)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    mixed = np.einsum("bhts,bshd->bthd", shares, v).reshape(x.shape)
    y = normalised(x + mixed @ output, gain0, bias0)
    inner = y @ w0 + b0
    gelu = 0.5 * inner * (1 + np.tanh(np.sqrt(2 / np.pi) * (inner + 0.044715 * inner**3)))
    return normalised(y + (gelu @ w1 + b1), gain1, bias1)


class Found(NamedTuple):
    """What a run came to.

    Attributes:
        distances: by name, how far outputs and slopes are from NumPy's, of the largest of them.
        shares: of one sequence, [heads, positions, positions].
        cycles: that the machine would take.
    """

    distances: dict[str, float]
    shares: Array
    cycles: int


def compared(tiles: int, seed: int) -> Found:
    """Run the layer, and compare it with NumPy."""
    values = first_values(seed)
    layer = Layer(values, tiles)
    engine = pl.Engine(layer.graph, layer.program)
    engine.run()
    wide = {name: each.astype(float) for name, each in values.items()}
    exact, out = numpy_layer(wide), engine.read(layer.out)
    distances = {"out": float(abs(out - exact).max() / abs(exact).max())}
    random, step = np.random.default_rng(seed), 1e-5
    for name, gradient in layer.gradients.items():
        along = random.standard_normal(SHAPES[name])
        ends = (
            (numpy_layer({**wide, name: wide[name] + way * along}) ** 2).sum() / 2
            for way in (step, -step)
        )
        slope = (next(ends) - next(ends)) / (2 * step)
        made = engine.read(gradient).astype(float)
        largest = float(np.linalg.norm(made) * np.linalg.norm(along))
        distances[f"by {name}"] = abs(float((made * along).sum()) - float(slope)) / largest
    return Found(distances, engine.read(layer.shares)[0], engine.report().cycles or 0)


def picture(shares: Array) -> str:
    """Return the shares of all heads as SVG: a row for each position that takes."""
    heads, rows, columns = shares.shape
    point, gap, top = 9, 24, 44
    width, height = gap + heads * (columns * point + gap), top + rows * point + gap
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="11">',
        f'<title>shares of {heads} heads</title><rect width="100%" height="100%" fill="white"/>',
        f'<text x="{gap}" y="18">what each position (row) takes of the others (columns)</text>',
    ]
    for head, matrix in enumerate(shares):
        left = gap + head * (columns * point + gap)
        parts.append(f'<text x="{left}" y="{top - 6}">head {head}</text>')
        for (row, column), share in np.ndenumerate(matrix):
            x, y = left + point * column, top + point * row
            parts.append(
                f'<rect x="{x}" y="{y}" width="{point}" height="{point}" fill="#0072b2" '
                f'fill-opacity="{share / matrix.max():.2f}"/>'
            )
    return "\n".join([*parts, "</svg>"]) + "\n"


@one_line_errors
def main(argv: Sequence[str] | None = None) -> int:
    """Compute, compare and draw; the exit code is 1 where something differs from NumPy."""
    parser = argparse.ArgumentParser(description="One layer of an encoder, with gradients.")
    parser.add_argument("--tiles", type=int, default=16, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--output-dir", type=Path, default=Path(), metavar="DIR")
    options = parser.parse_args(argv)
    check_folder(options.output_dir / FILE)
    found = compared(options.tiles, options.seed)
    write_bytes(options.output_dir / FILE, picture(found.shares).encode())
    for name, distance in found.distances.items():
        print(f"{name:<10} {distance:.1e} off{'' if distance <= TOLERANCE else ' WRONG'}")
    print(f"{found.cycles:,} cycles of the machine")
    print(f"wrote {options.output_dir / FILE}")
    return 0 if max(found.distances.values()) <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
