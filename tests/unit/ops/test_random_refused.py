"""A refused draw leaves the graph as it was: no variable, no compute set, no step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import poplite as pl
from poplite import ops
from poplite.ops import random

REFUSED: dict[str, Callable[[pl.Tensor, pl.Tensor, pl.Sequence], Any]] = {
    "uniform, no range": lambda k, x, p: random.uniform(k, (9,), 1.0, 1.0, program=p),
    "uniform, no number": lambda k, x, p: random.uniform(k, (9,), "a", program=p),  # type: ignore[arg-type]
    "integers": lambda k, x, p: random.integers(k, (9,), 0, 1 << 40, program=p),
    "bernoulli": lambda k, x, p: random.bernoulli(k, (9,), 1.5, program=p),
    "normal": lambda k, x, p: random.normal(k, (9,), 0.0, -1.0, program=p),
    "truncated_normal": lambda k, x, p: random.truncated_normal(k, (9,), bound=0, program=p),
    "dropout, rate": lambda k, x, p: random.dropout(k, x, 2.0, program=p),
    "dropout, type": lambda k, x, p: random.dropout(k, ops.cast(x, pl.INT), 0.5, program=p),
    "dropout, out": lambda k, x, p: random.dropout(k, x * 2, 0.5, out=x[:3], program=p),
    "dropout, no tensor": lambda k, x, p: random.dropout(k, 3, 0.5, program=p),  # type: ignore[arg-type]
    "dropout_gradient": lambda k, x, p: random.dropout_gradient(k, x, -1.0, program=p),
    "no key": lambda k, x, p: random.uniform(x, (9,), program=p),
    "no shape": lambda k, x, p: random.normal(k, program=p),
}


@pytest.mark.parametrize("name", REFUSED)
def test_nothing_is_left_of_a_refused_draw(name: str) -> None:
    graph, program = pl.Graph(pl.Target(tiles=3)), pl.Sequence()
    key = random.key(graph, seed=1)
    x = graph.add_variable(pl.FLOAT, (9,), "x", mapping="linear")
    with pytest.raises(pl.PopliteError):
        REFUSED[name](key, x, program)
    assert [each.name for each in graph.variables] == ["key", "x"]
    assert (len(graph.compute_sets), len(program.children)) == (0, 0)
