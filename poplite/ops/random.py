"""Random numbers, the same on any tiles: `poplite.ops.random`.

    key = ops.random.key(graph, seed=7)
    with graph.steps() as step, ops.repeat(3):
        x = ops.random.uniform(key, (1000,))          different numbers each time
        y, counter = ops.random.dropout(key, x, 0.1)

A key is a tensor of four words: the seed, and the number of the next draw. Every draw takes that
number and increments it when the program runs, so a repeated draw gives different numbers, and
programs that draw in the same order from equal keys get the same ones. Element i of a draw, in
row-major order, depends only on the key and on i, not on tiles, shapes or element types.
"""

from typing import TYPE_CHECKING

from poplite.expr.numpy_names import operations_on_use as _operations_on_use

if TYPE_CHECKING:
    from poplite.ops.random_choices import categorical as categorical, permutation as permutation
    from poplite.ops.random_numbers import (
        Dropped as Dropped,
        bernoulli as bernoulli,
        dropout as dropout,
        dropout_gradient as dropout_gradient,
        integers as integers,
        key as key,
        normal as normal,
        truncated_normal as truncated_normal,
        uniform as uniform,
    )

__all__, __getattr__, __dir__ = _operations_on_use("ops.random")
