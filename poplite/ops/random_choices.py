"""Random orders, and random choices with given odds, made of draws of `poplite.ops.random`."""

from __future__ import annotations

import math

import poplite.ops.operands as checks
from poplite.expr.build import apply, cast
from poplite.expr.operand import Operand
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.operands import FLOATS
from poplite.ops.random_numbers import TWO_32, RandomDraw, integers, uniform
from poplite.ops.record import map as stored, one_operation
from poplite.ops.reductions.expressions import argmax
from poplite.ops.sorting import argsort, sort_key_value
from poplite.program import Sequence as Steps
from poplite.types import FLOAT, UNSIGNED_INT

LEAST = 2.0**-25
"""The least number drawn, half the distance of uniform numbers: its logarithm is finite."""


def permutation(
    key: Tensor, n: int, *, name: str = "permutation", program: Steps | None = None
) -> Tensor:
    """Record a draw of the numbers 0 to n - 1 in random order.

    They are sorted by drawn words of 32 bits; for a large n, several times, so that equal words
    do not make any order more likely: for n up to 1,625 once, up to 2.6 million twice.

    Args:
        key: the key to draw from; see `ops.random.key`.
        n: the number of elements.
        name: name of the new variable and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        UNSIGNED_INT[n]; `ops.multi_slice(x, permutation)` are the rows of x in this order.

    Raises:
        SizeOverflowError: for a negative n.
        InvalidOption: for an n that is not an integer.
        whatever `ops.random.uniform` raises.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> order = permutation(pl.ops.random.key(graph, seed=7), 5, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> sorted(engine.read(order).tolist())
    [0, 1, 2, 3, 4]
    """
    what = "ops.random.permutation"
    count = checks.count_of(what, "n", n)
    draw = RandomDraw(what, key, name, program)
    place = checks.steps_for(what, draw.graph, name, program)
    rounds = math.ceil(3 * math.log(max(2, count)) / math.log(TWO_32))
    with one_operation(draw.graph, name, place):
        words = [
            integers(key, (count,), 0, TWO_32, element_type=UNSIGNED_INT, name=f"words {each}")
            for each in range(rounds)
        ]
        order = argsort(words[0], name="order")
        for number, each in enumerate(words[1:], 1):
            order = sort_key_value(each, order, name=f"order {number}").values
        return order


def categorical(
    key: Tensor,
    logits: Operand,
    dim: int = -1,
    *,
    name: str = "categorical",
    program: Steps | None = None,
) -> Tensor:
    """Record a draw of positions along a dimension, with odds of `exp(logits)`.

    The position is that of the largest `logits - log(-log(u))`, for uniform numbers u, computed in
    FLOAT: the Gumbel trick. A position of -inf is not drawn, unless all are.

    Args:
        key: the key to draw from; see `ops.random.key`.
        logits: FLOAT or HALF, the logarithms of odds, which need not add up to 1.
        dim: the dimension; negative ones count from the last.
        name: name of the new variable and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        Positions, UNSIGNED_INT, with the shape of the logits without the dimension.

    Raises:
        ElementTypeError: for logits that are not floats.
        TensorIndexError: for a dimension that they do not have.
        TensorCreationError: for a dimension without elements.
        whatever `ops.random.uniform` raises.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> odds = graph.add_variable(pl.FLOAT, (3,), "odds", mapping=0, initial_value=[1, 6, 3])
    >>> rows = odds.expand([0]).broadcast(1000, 0)
    >>> key = pl.ops.random.key(graph, seed=7)
    >>> drawn = categorical(key, pl.ops.log(rows), program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> 550 < (engine.read(drawn) == 1).sum() < 650
    np.True_
    """
    what = "ops.random.categorical"
    given = checks.operand(what, logits, program, "logits")
    checks.check_type(what, given, FLOATS, "logits")
    checks.check_placed(given)
    at = checks.dimension(what, given, dim)
    argmax(given, at)  # refuses a dimension without elements
    draw = RandomDraw(what, key, name, program, given)
    place = checks.steps_for(what, draw.graph, name, program)
    with one_operation(draw.graph, name, place):
        drawn = uniform(key, given.shape, LEAST, 1.0, name="uniform")
        noise = apply("negative", apply("log", apply("negative", apply("log", drawn))))
        total = apply("add", cast(given, FLOAT), noise)
        return stored(argmax(total, at), name="positions")
