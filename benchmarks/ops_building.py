"""Graphs of 200 mixed operations on 1,472 tiles: what planning and building them takes.

    python benchmarks/ops_building.py [--samples 9] [--json FILE] [--small]

A network of 20 layers of ten operations each: products with a bias and an activation, reductions
along rows and columns, softmax, random numbers, slices, rows by number, the largest elements,
copies, losses, and steps of optimizers. Layers are all alike, or no two have the same shapes. No
engine is made. Every sample plans its products from the beginning. The baseline keeps what was
asked for as plain objects.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import poplite as pl
from ops_maps import target
from poplite import ops
from poplite.ops.matmul.plan import planned
from rows import Row, in_turn, run

LAYERS = 20
ROWS, WIDTH, LARGEST = 512, 512, 8


class Layers:
    """A network of layers that are recorded one after the other.

    Attributes:
        graph: what has its variables.
        rows: how many rows are in a batch.
        recorded: how many operations are recorded.
    """

    def __init__(self, small: bool) -> None:
        self.graph = pl.Graph(target(small))
        self.rows = ROWS // (16 if small else 1)
        self.recorded = 0
        self.key = ops.random.key(self.graph, seed=1)
        self.numbers = self.variable((self.rows,), "numbers", pl.INT)

    def variable(self, shape: tuple[int, ...], name: str, kind: pl.ElementType = pl.FLOAT) -> Any:
        """Return a variable on all tiles."""
        return self.graph.add_variable(kind, shape, name, mapping="linear")

    def layer(self, number: int, x: pl.Tensor, width: int) -> pl.Tensor:
        """Record ten operations of rows [rows, n]; return rows [rows, width]."""
        rising = self.variable((x.shape[1], width), "rising")
        square = self.variable((width, width), "square")
        bias, gain, shift = (self.variable((width,), name) for name in ("bias", "gain", "shift"))
        hidden = ops.map(ops.relu(x @ rising + bias), name="hidden")
        mixed = ops.map(hidden @ square, name="mixed")
        scaled = ops.map(ops.nn.layer_norm(mixed, gain, shift), name="scaled")
        y = ops.map(hidden + 0.5 * scaled, name="y")
        mean = ops.map(ops.mean(y, 0), name="mean")
        if number % 2 == 0:
            shares = ops.map(ops.nn.softmax(y), name="shares")
            ops.top_k(shares, LARGEST)
            y, _ = ops.random.dropout(self.key, y, 0.1)
            ops.transpose(shares)
            ops.nn.adam(gain, mean, ops.nn.adam_state(gain))
        else:
            table = self.variable((4 * width, width), "table")
            found = ops.multi_slice(table, self.numbers)
            ops.assign(y[:, : width // 2], y[:, width // 2 :] - found[:, ::2])
            ops.map(ops.mean(ops.nn.cross_entropy(y, self.numbers)), name="loss")
            ops.nn.sgd(square, hidden.T @ y, rate=0.01)
            ops.random.normal(self.key, (self.rows, width), deviation=0.1)
        self.recorded += 10
        return y


def build(small: bool, widths: Sequence[int]) -> None:
    """Record a network of layers of these widths; every product is planned."""
    planned.cache_clear()
    layers = Layers(small)
    with layers.graph.steps("network"):
        x = layers.variable((layers.rows, widths[0]), "x")
        for number, width in enumerate(widths):
            x = layers.layer(number, x, width)
    if layers.recorded != 10 * len(widths):
        sys.exit(f"{layers.recorded} operations of {len(widths)} layers")
