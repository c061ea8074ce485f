"""A refused operation leaves the graph as it was: no variable, no compute set, no step, no tile."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import poplite as pl
from poplite import ops
from poplite.ops import nn, random

Call = Callable[[Any], object]
"""A call on the tensors that `things` makes."""

RANDOM: dict[str, Call] = {
    "uniform, no range": lambda t: random.uniform(t.key, (9,), 1.0, 1.0, program=t.p),
    "uniform, no number": lambda t: random.uniform(t.key, (9,), "a", program=t.p),  # type: ignore[arg-type]
    "uniform, mapping": lambda t: random.uniform(t.key, (9,), mapping=99, program=t.p),
    "uniform, name": lambda t: random.uniform(t.key, (9,), name=3, program=t.p),  # type: ignore[arg-type]
    "uniform, out": lambda t: random.uniform(t.bare_key, out=t.bare, program=t.p),
    "integers": lambda t: random.integers(t.key, (9,), 0, 1 << 40, program=t.p),
    "bernoulli": lambda t: random.bernoulli(t.key, (9,), 1.5, program=t.p),
    "normal": lambda t: random.normal(t.key, (9,), 0.0, -1.0, program=t.p),
    "normal, no shape": lambda t: random.normal(t.key, program=t.p),
    "truncated_normal": lambda t: random.truncated_normal(t.key, (9,), bound=0, program=t.p),
    "no key": lambda t: random.uniform(t.x, (9,), program=t.p),
    "key without a tile": lambda t: random.uniform(t.bare_key, (9,), program=t.p),
    "dropout, rate": lambda t: random.dropout(t.key, t.x * 2, 2.0, program=t.p),
    "dropout, type": lambda t: random.dropout(t.key, t.k * 2, 0.5, program=t.p),
    "dropout, out": lambda t: random.dropout(t.key, t.x * 2, 0.5, out=t.x[:3], program=t.p),
    "dropout, constant": lambda t: random.dropout(t.key, t.x * 2, 0.5, out=t.one, program=t.p),
    "dropout, no out": lambda t: random.dropout(t.key, t.x * 2, 0.5, out=3, program=t.p),  # type: ignore[arg-type]
    "dropout, no tensor": lambda t: random.dropout(t.key, 3, 0.5, program=t.p),  # type: ignore[arg-type]
    "dropout, other graph": lambda t: random.dropout(t.key, t.other * 2, 0.5, program=t.p),
    "dropout, argument": lambda t: random.dropout(t.key, ops.arg(0) * 2, 0.5, program=t.p),
    "dropout, no tile": lambda t: random.dropout(t.key, t.bare, 0.5, program=t.p),
    "dropout, key": lambda t: random.dropout(t.bare_key, t.x * 2, 0.5, program=t.p),
    "dropout_gradient": lambda t: random.dropout_gradient(t.key, t.x * 2, -1.0, program=t.p),
}

ORDER: dict[str, Call] = {
    "sort, dimension": lambda t: ops.sort(t.x * 2, 5, program=t.p),
    "sort, no dimension": lambda t: ops.sort(t.x * 2, "first", program=t.p),  # type: ignore[arg-type]
    "sort, type": lambda t: ops.sort(t.x > 0, program=t.p),
    "sort, name": lambda t: ops.sort(t.x, name=3, program=t.p),  # type: ignore[arg-type]
    "argsort, no program": lambda t: ops.argsort(t.x),
    "cumulative_sum": lambda t: ops.cumulative_sum(t.x > 0, program=t.p),
    "cumulative_product": lambda t: ops.cumulative_product(t.x * 2, 3, program=t.p),
    "top_k, count": lambda t: ops.top_k(t.x * 2, 10, program=t.p),
    "top_k, no count": lambda t: ops.top_k(t.x * 2, 1.5, program=t.p),  # type: ignore[arg-type]
    "sort_key_value, shape": lambda t: ops.sort_key_value(t.x * 2, t.m * 2, program=t.p),
    "sort_key_value, graph": lambda t: ops.sort_key_value(t.x * 2, t.other, program=t.p),
    "sort_key_value, dimension": lambda t: ops.sort_key_value(t.x * 2, t.x * 3, 4, program=t.p),
    "sort_key_value, no program": lambda t: ops.sort_key_value(t.x, t.x),
    "take, type": lambda t: ops.take_along_axis(t.x * 2, t.x * 2, program=t.p),
    "take, shape": lambda t: ops.take_along_axis(t.m * 2, t.k * 2, program=t.p),
    "take, no tensor": lambda t: ops.take_along_axis(3, t.k * 2, program=t.p),  # type: ignore[arg-type]
    "take, no tile": lambda t: ops.take_along_axis(t.x, t.bare_key, program=t.p),
    "unique, rank": lambda t: ops.unique_sorted(t.m * 2, program=t.p),
    "unique, no tile": lambda t: ops.unique_sorted(t.bare, program=t.p),
    "unique, no program": lambda t: ops.unique_sorted(t.x),
}


def plan(t: Any) -> ops.EmbeddingPlan:
    """Return a plan of another table."""
    return ops.plan_embedding(t.x.graph, entries=7, width=6, lookups=4)


SLICES: dict[str, Call] = {
    "slice, type": lambda t: ops.dynamic_slice(t.m, t.x * 2, [0], [1], program=t.p),
    "slice, offsets": lambda t: ops.dynamic_slice(t.m, t.k * 2, [0], [1], program=t.p),
    "slice, no tile": lambda t: ops.dynamic_slice(t.m, t.bare_key[:1], [0], [1], program=t.p),
    "slice, size": lambda t: ops.dynamic_slice(t.m, t.k[:1] * 2, [0], ["a"], program=t.p),  # type: ignore[list-item]
    "update, offsets": lambda t: ops.dynamic_update(
        t.m, t.m[:1] * 2, t.k * 2, [0], [1], program=t.p
    ),
    "update, shape": lambda t: ops.dynamic_update(
        t.m, t.m[:2] * 2, t.k[:1] * 2, [0], [1], program=t.p
    ),
    "multi_slice, dimension": lambda t: ops.multi_slice(t.m, t.k * 2, 5, program=t.p),
    "multi_slice, type": lambda t: ops.multi_slice(t.m, t.x * 2, program=t.p),
    "multi_slice, plan": lambda t: ops.multi_slice(t.m, t.k * 2, plan=plan(t), program=t.p),
    "multi_slice, no plan": lambda t: ops.multi_slice(t.m, t.k * 2, plan=3, program=t.p),  # type: ignore[arg-type]
    "multi_slice, no rows": lambda t: ops.multi_slice(t.m[:0], t.k * 2, program=t.p),
    "multi_slice, no tile": lambda t: ops.multi_slice(t.m, t.bare_key, program=t.p),
    "multi_update, type": lambda t: ops.multi_update(t.m, t.m * 2, t.x * 2, program=t.p),
    "multi_update, shape": lambda t: ops.multi_update(t.m, t.m[:2] * 2, t.k * 2, program=t.p),
    "multi_update, graph": lambda t: ops.multi_update(t.x, t.other, t.k * 2, program=t.p),
    "multi_update, plan": lambda t: ops.multi_update(
        t.m, t.m * 2, t.k * 2, plan=plan(t), program=t.p
    ),
    "multi_update_max, type": lambda t: ops.multi_update_max(t.true, t.true, t.k * 2, program=t.p),
    "multi_update_add, scale": lambda t: ops.multi_update_add(
        t.m, t.m * 2, t.k * 2, scale=t.x * 2, program=t.p
    ),
    "multi_update_add, no whole scale": lambda t: ops.multi_update_add(
        t.k, t.k * 2, t.k * 2, scale=2.5, program=t.p
    ),
    "multi_update_mul, no tile": lambda t: ops.multi_update_mul(
        t.m, t.m * 2, t.bare_key, program=t.p
    ),
    "dynamic_slice, no list": lambda t: ops.dynamic_slice(t.m, t.k[:1], 0, [1], program=t.p),  # type: ignore[arg-type]
    "one_hot, type": lambda t: ops.one_hot(t.x * 2, 3, program=t.p),
    "one_hot, depth": lambda t: ops.one_hot(t.k * 2, -3, program=t.p),
    "one_hot, number": lambda t: ops.one_hot(t.k, 3, on=2.5, dtype=pl.INT, program=t.p),
    "one_hot, no number": lambda t: ops.one_hot(t.k, 3, on="a", program=t.p),  # type: ignore[arg-type]
    "one_hot, nothing": lambda t: ops.one_hot(t.k, 3, off=None, program=t.p),  # type: ignore[arg-type]
    "one_hot, element type": lambda t: ops.one_hot(t.k, 3, dtype=pl.QUARTER, program=t.p),
    "select, shape": lambda t: ops.select_from_rows(t.m, t.k[:2], program=t.p),
    "select, graph": lambda t: ops.select_from_rows(t.m, t.other_k, program=t.p),
    "select, no tile": lambda t: ops.select_from_rows(t.m + t.bare[0], t.k, program=t.p),
    "update_from_rows, by a matrix": lambda t: ops.update_from_rows(t.m, t.k, by=t.m, program=t.p),
    "create_sliceable, shape": lambda t: ops.create_sliceable(t.graph, pl.INT, None, [0], [1]),  # type: ignore[arg-type]
    "update_from_rows, by": lambda t: ops.update_from_rows(t.m, t.k * 2, by="a", program=t.p),  # type: ignore[arg-type]
}

REST: dict[str, Call] = {
    "transpose": lambda t: ops.transpose(t.m * 2, [0, 2], program=t.p),
    "transpose, no program": lambda t: ops.transpose(t.m * 2, [0, 1]),
    "transpose, no list": lambda t: ops.transpose(t.m * 2, 3, program=t.p),  # type: ignore[arg-type]
    "top_k, sorted": lambda t: ops.top_k(t.m, 2, sorted="no", program=t.p),  # type: ignore[arg-type]
    "pad, widths": lambda t: ops.pad(t.m, None),  # type: ignore[arg-type]
    "triangle of a number": lambda t: ops.tril(3),  # type: ignore[arg-type]
    "triangle, k": lambda t: ops.triu(t.m, [1, 2]),  # type: ignore[arg-type]
    "sum, keepdims": lambda t: ops.sum(t.m, 0, keepdims="x"),  # type: ignore[arg-type]
    "map, arguments": lambda t: ops.map(t.m * 2, None, program=t.p),  # type: ignore[arg-type]
    "reduce_many, no list": lambda t: ops.reduce_many(3, program=t.p),  # type: ignore[arg-type]
    "reduce_many, outputs": lambda t: ops.reduce_many([("max", t.m, 0)], None, program=t.p),  # type: ignore[arg-type]
    "plan_embedding, memory": lambda t: ops.plan_embedding(
        t.graph,
        entries=4,
        width=4,
        lookups=4,
        memory=None,  # type: ignore[arg-type]
    ),
    "round robin, first": lambda t: pl.map_round_robin(t.graph, t.bare, first=None),  # type: ignore[arg-type]
    "weights, text": lambda t: pl.map_by_weights(t.graph, t.bare, "x"),
    "weights, dimension": lambda t: pl.map_by_weights(t.graph, t.bare, [1] * 9, dim=None),  # type: ignore[arg-type]
    "matmul, plan": lambda t: ops.map(
        ops.matmul(t.m * 2, t.m.T, ops.plan_matmul(t.m.graph, m=3, k=6, n=1)) * 2, program=t.p
    ),
    "matmul, memory": lambda t: ops.map(
        ops.matmul(t.m * 2, t.m[0], memory=1e-9) + ops.sum(t.m, 1), program=t.p
    ),
    "matmul, constraints": lambda t: ops.map(
        ops.matmul(t.m * 2, t.m[0], constraints={"pm": 3, "pk": 4}), program=t.p
    ),
    "map, name": lambda t: ops.map(ops.sum(t.x * 2) * t.x, name=3, program=t.p),  # type: ignore[arg-type]
    "sgd, gradient": lambda t: nn.sgd(t.m, t.x * 2, 0.1, program=t.p),
    "sgd, velocity": lambda t: nn.sgd(t.m, t.m * 2, 0.1, velocity=t.x, program=t.p),
    "sgd, constant": lambda t: nn.sgd(t.one, t.x * 2, 0.1, velocity=t.x, program=t.p),
    "adam, state": lambda t: nn.adam(t.m, t.m * 2, (t.m, t.m, t.m), program=t.p),  # type: ignore[arg-type]
    "adam, no state": lambda t: nn.adam(t.m, t.m * 2, None, program=t.p),  # type: ignore[arg-type]
    "adam_state": lambda t: nn.adam_state(t.bare),
}

CALLS = RANDOM | ORDER | SLICES | REST


def things() -> SimpleNamespace:
    """Return tensors of a graph, and a program."""
    graph = pl.Graph(pl.Target(tiles=3))
    others = pl.Graph(pl.Target(tiles=3))
    return SimpleNamespace(
        graph=graph,
        p=pl.Sequence(),
        key=random.key(graph, seed=1),
        x=graph.add_variable(pl.FLOAT, (9,), "x", mapping="linear"),
        m=graph.add_variable(pl.FLOAT, (4, 6), "m", mapping="linear"),
        k=graph.add_variable(pl.UNSIGNED_INT, (4,), "k", mapping="linear"),
        true=graph.add_variable(pl.BOOL, (4,), "true", mapping="linear"),
        one=graph.add_constant(pl.FLOAT, (9,), 1.0, "one", mapping=0),
        bare=graph.add_variable(pl.FLOAT, (9,), "bare"),
        bare_key=graph.add_variable(pl.UNSIGNED_INT, (4,), "bare key"),
        other=others.add_variable(pl.FLOAT, (9,), "other", mapping="linear"),
        other_k=others.add_variable(pl.UNSIGNED_INT, (4,), "k", mapping="linear"),
    )


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_left_of_a_refused_operation(name: str) -> None:
    given = things()
    graph, before = given.graph, [each.name for each in given.graph.variables]
    with pytest.raises(pl.PopliteError):
        CALLS[name](given)
    assert [each.name for each in graph.variables] == before
    assert (len(graph.compute_sets), len(given.p.children)) == (0, 0)
    assert len(graph.tile_mapping(given.bare, require_complete=False).unmapped) == 1


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda t: ops.sort(t.x * 2, 5, program=t.p), r"dimension 5 of 'x \* 2.0', which has 1"),
        (lambda t: ops.multi_slice(t.m, t.x * 2, program=t.p), r"indices: 'x \* 2.0' is FLOAT"),
        (lambda t: ops.multi_slice(t.m, t.k, plan=3, program=t.p), "plan is 3"),  # type: ignore[arg-type]
        (lambda t: ops.sort(t.x, name=3, program=t.p), "the name of a step is text, but 3"),  # type: ignore[arg-type]
        (lambda t: ops.one_hot(t.k, -3, program=t.p), "depth is -3"),
        (lambda t: ops.dynamic_slice(t.m, t.x, [0], [1], program=t.p), "offset: 'x' is FLOAT"),
        (lambda t: ops.dynamic_slice(t.m, t.k[:1], [0], 1, program=t.p), "sizes is 1"),  # type: ignore[arg-type]
        (lambda t: nn.softmax(t.m, 2), "a dimension from -2 to 1"),
        (lambda t: ops.one_hot(t.k, 3, on="a", program=t.p), "on is 'a'"),  # type: ignore[arg-type]
        (lambda t: nn.adam(t.m, t.m, None, program=t.p), r"ops\.nn\.adam_state\(m\)"),  # type: ignore[arg-type]
        (
            lambda t: nn.adam(t.m, t.m, nn.adam_state(t.m), betas=0.9, program=t.p),  # type: ignore[arg-type]
            "betas is 0.9",
        ),
    ],
)
def test_an_expression_is_named_as_it_is_written(call: Call, text: str) -> None:
    with pytest.raises(pl.PopliteError, match=text):
        call(things())
