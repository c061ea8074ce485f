"""Random orders and choices: the same on any tiles, and with the odds that were asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import thinned, values_only
from helpers.running import both_forms
from poplite import ops
from poplite.vertices.random import words_reference


def drawn(record: Any, tiles: int, *, interpret: bool = True, seed: int = 7) -> list[Any]:
    """Return what steps draw from a key, run twice."""
    graph = pl.Graph(pl.Target(tiles=tiles))
    key = ops.random.key(graph, seed)
    with graph.steps() as steps:
        result = record(graph, key)
    engine = pl.Engine(graph, steps, interpret=interpret, options=values_only())
    found = []
    for _ in range(2):
        engine.run()
        found.append(engine.read(result))
    return found


@both_forms
@pytest.mark.parametrize("n", thinned([0, 1, 2, 1000, 2000], keep=[1, 2000]))
def test_orders_are_those_of_drawn_words(interpret: bool, n: int) -> None:
    record = lambda graph, key: ops.random.permutation(key, n)  # noqa: E731
    first, second = drawn(record, 3, interpret=interpret)
    assert [each.tolist() for each in drawn(record, 8)] == [first.tolist(), second.tolist()]
    for each in (first, second):
        assert np.sort(each).tolist() == list(range(n))
    if n > 1000:
        words = [words_reference(n, [7, 0, k, 0]) for k in range(2)]
        order = np.argsort(words[0], kind="stable")
        assert first.tolist() == order[np.argsort(words[1], kind="stable")].tolist()
        assert first.tolist() != second.tolist()


@pytest.mark.parametrize("element", [pl.FLOAT, pl.HALF])
@pytest.mark.parametrize("dim", [0, -1])
def test_choices_have_the_odds_of_their_logits(element: Any, dim: int) -> None:
    odds = np.array([1, 5, 0, 3, 1], np.float32)
    with np.errstate(divide="ignore"):
        logits = np.log(np.broadcast_to(odds, (3000, 5)))
    logits = logits.T if dim == 0 else logits

    def record(graph: pl.Graph, key: pl.Tensor) -> pl.Tensor:
        x = graph.add_variable(element, logits.shape, "x", mapping="linear", initial_value=logits)
        return ops.random.categorical(key, x, dim)

    first, second = drawn(record, 3)
    assert np.array_equal(drawn(record, 16)[0], first)
    assert not np.array_equal(first, second)
    shares = np.bincount(first, minlength=5) / 3000
    assert np.abs(shares - odds / 10).max() < 0.03
    assert shares[2] == 0


@both_forms
def test_both_forms_choose_the_same(interpret: bool) -> None:
    def record(graph: pl.Graph, key: pl.Tensor) -> pl.Tensor:
        return ops.random.categorical(key, ops.map(ops.iota((4, 9), pl.FLOAT) * 0.1))

    assert np.array_equal(drawn(record, 2, interpret=interpret), drawn(record, 2))


def test_calls_that_do_not_fit_are_refused() -> None:
    graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    key = ops.random.key(graph, 1)
    x = graph.add_variable(pl.FLOAT, (2, 3), "x", mapping=0)
    whole = graph.add_variable(pl.INT, (2, 3), "whole", mapping=0)
    variables = len(graph.variables)
    with pytest.raises(pl.ElementTypeError, match="key must be UNSIGNED_INT"):
        ops.random.permutation(x, 3, program=program)
    with pytest.raises(pl.SizeOverflowError, match="n is -1"):
        ops.random.permutation(key, -1, program=program)
    with pytest.raises(pl.ElementTypeError, match="logits: 'whole' is INT"):
        ops.random.categorical(key, whole, program=program)
    with pytest.raises(pl.TensorIndexError, match="no dimension 2 in 'x'"):
        ops.random.categorical(key, x, 2, program=program)
    with pytest.raises(pl.TensorCreationError, match="no elements|without elements"):
        ops.random.categorical(key, x[:, :0], program=program)
    assert len(graph.variables) == variables
    assert program.is_empty
