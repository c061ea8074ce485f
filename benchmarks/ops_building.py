"""Graphs of 200 mixed operations on 1,472 tiles: what planning and building them takes.

    python benchmarks/ops_building.py [--samples 9] [--json FILE] [--small]

A network of 20 layers of ten operations: products with a bias and an activation, reductions along
rows and columns, softmax, random numbers, slices, rows by number, the largest elements, copies,
losses, and steps of optimizers. Its layers are all equal, or no two have the same shapes: then 49
products have to be planned instead of one. No engine is made, and every
sample plans its products anew. The baseline keeps what was asked for as plain objects.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial

import poplite as pl
from ops_maps import target
from poplite import ops
from poplite.ops.products.matmul import planned
from poplite.ops.products.search import cheapest_ways, exact_cycles
from rows import Row, in_turn, run

LAYERS = 20
OPERATIONS = 10
"""Of a layer."""

LARGEST = 8


class Network:
    """Layers that are recorded one after the other, in a program of their graph.

    Attributes:
        graph: where they go.
        rows: of a batch.
    """

    def __init__(self, rows: int, *, small: bool) -> None:
        self.graph = pl.Graph(target(small))
        self.rows = rows
        self._key = ops.random.key(self.graph, seed=1)
        self._numbers = self.graph.add_variable(pl.INT, (rows,), "numbers", mapping="linear")

    def variable(self, shape: tuple[int, ...], name: str) -> pl.Tensor:
        """Return a variable on all tiles."""
        return self.graph.add_variable(pl.FLOAT, shape, name, mapping="linear")

    def layer(self, x: pl.Tensor, width: int, *, is_even: bool) -> pl.Tensor:
        """Record the operations of a layer on rows, `x[rows, n]`; return rows of its width."""
        rising, square = (
            self.variable((x.shape[1], width), "rising"),
            self.variable((width,) * 2, "square"),
        )
        bias, gain, shift = (self.variable((width,), name) for name in ("bias", "gain", "shift"))
        hidden = ops.map(ops.relu(x @ rising + bias), name="hidden")
        mixed = ops.map(hidden @ square, name="mixed")
        scaled = ops.map(ops.nn.layer_norm(mixed, gain, shift), name="scaled")
        y = ops.map(hidden + 0.5 * scaled, name="y")
        mean = ops.map(ops.mean(y, 0), name="mean")
        return self._chosen(y, gain, mean) if is_even else self._trained(hidden, square, y)

    def _chosen(self, y: pl.Tensor, gain: pl.Tensor, mean: pl.Tensor) -> pl.Tensor:
        """Record the last five operations of every other layer."""
        shares = ops.map(ops.nn.softmax(y), name="shares")
        ops.top_k(shares, LARGEST)
        ops.transpose(shares)
        ops.nn.adam(gain, mean, ops.nn.adam_state(gain))
        return ops.random.dropout(self._key, y, 0.1)[0]

    def _trained(self, hidden: pl.Tensor, square: pl.Tensor, y: pl.Tensor) -> pl.Tensor:
        """Record the last five operations of the others."""
        width = y.shape[1]
        found = ops.multi_slice(self.variable((4 * width, width), "table"), self._numbers)
        ops.assign(y[:, : width // 2], y[:, width - width // 2 :] - found[:, : width // 2 * 2 : 2])
        ops.map(ops.mean(ops.nn.cross_entropy(y, self._numbers)), name="loss")
        ops.nn.sgd(square, hidden.T @ y, rate=0.01)
        ops.random.normal(self._key, y.shape, deviation=0.1)
        return y


def build(rows: int, widths: Sequence[int], *, small: bool) -> None:
    """Record a network of layers of these widths, and plan its products."""
    for each in (planned, cheapest_ways, exact_cycles):
        each.cache_clear()
    network = Network(rows, small=small)
    with network.graph.steps("network"):
        x = network.variable((rows, widths[0]), "x")
        for number, width in enumerate(widths):
            x = network.layer(x, width, is_even=number % 2 == 0)


def objects(rows: int, widths: Sequence[int]) -> list[tuple[str, int, tuple[int, int]]]:
    """Return a name, a number and a shape for each operation."""
    return [(f"operation {k}", k, (rows, width)) for width in widths for k in range(OPERATIONS)]


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    size, step, layers = (32, 2, 2) if small else (512, 16, LAYERS)
    made = []
    for what, widths, limit in (
        ("layers alike", [size] * layers, 2.0),
        ("layers all different", [size + (-1) ** k * step * k for k in range(layers)], 3.5),
    ):
        work = partial(build, size, widths, small=small)
        ours, baseline = in_turn(work, partial(objects, size, widths), min(samples, 3))
        name = f"{OPERATIONS * layers} mixed operations, {what}, planned and built"
        made.append(Row(name, min(ours), "s", "<=", limit, ours, baseline))
    return made


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
