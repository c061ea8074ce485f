"""pl.ops.reduce_many: one compute set for each stage of all, and the values of each by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import interpreted
from poplite import ops


def graph_of(shape: tuple[int, ...] = (60, 50), tiles: int = 8) -> tuple[pl.Graph, pl.Tensor, Any]:
    graph = pl.Graph(pl.Target(tiles=tiles))
    values = np.random.default_rng(0).integers(-50, 50, shape).astype(np.float32)
    x = graph.add_variable(pl.FLOAT, shape, "x", mapping="linear", initial_value=values)
    return graph, x, values


def test_stages_of_all_share_compute_sets() -> None:
    graph, x, values = graph_of()
    p = graph.add_variable(pl.BOOL, (300,), "p", mapping="linear", initial_value=True)
    h = graph.add_variable(pl.HALF, (30, 40), "h", mapping="linear", initial_value=2)
    with graph.steps() as step:
        made = ops.reduce_many(
            [
                ("min", x, [0]),
                ("max", x, [0]),
                ("add", x - 1, None),
                ("logical_and", p, 0),
                ops.sum(x * x, 1),
                ops.reduce(h, 0, "square_add", scale=0.5),
            ],
            name="many",
        )
    alone = pl.Graph(pl.Target(tiles=8))
    y = alone.add_variable(pl.FLOAT, x.shape, "x", mapping="linear")
    z = alone.add_variable(pl.HALF, h.shape, "h", mapping="linear")
    longest = 0
    for expr in (ops.min(y, 0), ops.sum(y - 1), ops.reduce(z, 0, "square_add", scale=0.5)):
        before = len(alone.compute_sets)
        ops.map(expr, program=pl.Sequence())
        longest = max(longest, len(alone.compute_sets) - before)
    assert len(graph.compute_sets) == longest
    assert [t.name for t in made][:3] == ["many/min", "many/max", "many/sum"]
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    found = [engine.read(each).tolist() for each in made]
    assert found[0] == values.min(0).tolist()
    assert found[1] == values.max(0).tolist()
    assert found[2] == (values - 1).sum()
    assert found[3] is True
    assert found[4] == (values**2).sum(1).tolist()
    assert found[5] == [60] * 40


def test_bits_are_those_of_each_by_itself() -> None:
    graph, x, _ = graph_of((7, 900))
    program = pl.Sequence()
    many = ops.reduce_many([("add", x * 0.1, 1), ("log_add", x, 0)], program=program)
    one = [ops.map(e, program=program) for e in (ops.sum(x * 0.1, 1), ops.log_sum_exp(x, 0))]
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    for a, b in zip(many, one, strict=True):
        assert engine.read(a).tobytes() == engine.read(b).tobytes()


def test_outputs_and_mappings() -> None:
    graph, x, values = graph_of()
    low = graph.add_variable(pl.FLOAT, (50,), "low", mapping=3)
    high = graph.add_variable(pl.FLOAT, (1, 50), "high")
    with graph.steps() as step:
        made = ops.reduce_many([("min", x, 0), ops.max(x, 0, keepdims=True)], [low, high])
        (total,) = ops.reduce_many([("add", x, 1)], mapping=5)
        assert ops.reduce_many([]) == []
    assert made == [low, high]
    assert graph.tile_mapping(total).tiles.tolist() == [5]
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    assert engine.read(low).tolist() == values.min(0).tolist()
    assert engine.read(high).tolist() == [values.max(0).tolist()]
    assert engine.read(total).tolist() == values.sum(1).tolist()


def test_within_a_block_of_together_it_shares_with_the_others() -> None:
    graph, x, _ = graph_of()
    with graph.steps(), ops.together():
        ops.map(ops.sum(x, 0))
        ops.reduce_many([("min", x, 0), ("max", x, 0)])
    assert len(graph.compute_sets) == 2


def test_what_is_refused() -> None:
    graph, x, _ = graph_of()
    out = graph.add_variable(pl.FLOAT, (50,), "out", mapping=0)
    with graph.steps() as step:
        with pytest.raises(pl.TensorCreationError, match="1 output for 2 reductions"):
            ops.reduce_many([("min", x, 0), ("max", x, 0)], [out])
        with pytest.raises(pl.GraphCycleError, match="writes 'out'"):
            ops.reduce_many([("min", x, 0), ("max", x, 0)], [out, out])
        with pytest.raises(pl.TensorCreationError, match="a mapping and outputs"):
            ops.reduce_many([("min", x, 0)], [out], mapping=2)
        with pytest.raises(pl.TensorCreationError, match="'minn' is not an operation"):
            ops.reduce_many([("minn", x, 0)])
        for entry in (x, x + 1, ("min", x), "min"):
            with pytest.raises(pl.ElementTypeError, match="entry 1 is not a reduction"):
                ops.reduce_many([("min", x, 0), entry])  # type: ignore[list-item]
    assert step.is_empty
    with pytest.raises(pl.ControlProgramError, match="outside its graph's steps"):
        ops.reduce_many([("min", x, 0)])
