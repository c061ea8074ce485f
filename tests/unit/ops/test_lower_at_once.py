"""Parts of expressions that do not depend on each other share compute sets."""

from __future__ import annotations

import numpy as np
import pytest

import poplite as pl
from helpers.depth import interpreted, values_only
from helpers.running import both_forms
from poplite import ops


@pytest.fixture
def graph() -> pl.Graph:
    return pl.Graph(pl.Target(tiles=4))


def drawn(graph: pl.Graph, shape: tuple[int, ...], name: str) -> tuple[pl.Tensor, np.ndarray]:
    values = np.random.default_rng(len(name)).integers(-3, 4, shape).astype(np.float32)
    return (
        graph.add_variable(pl.FLOAT, shape, name, mapping="linear", initial_value=values),
        values,
    )


@both_forms
def test_sums_of_several_roots_take_the_steps_of_one(graph: pl.Graph, interpret: bool) -> None:
    (x, a), (y, b) = drawn(graph, (40, 30), "x"), drawn(graph, (40, 30), "yy")
    alone, program = pl.Sequence(), pl.Sequence()
    ops.map(ops.sum(x), program=alone)
    steps = len(graph.compute_sets)
    roots = [ops.sum(x), ops.sum(x * y), ops.sum(y) * 2 + ops.sum(x - y), ops.sum(x, 0)]
    made = ops.lower(graph, roots, program)
    assert len(graph.compute_sets) - steps <= steps + 1
    engine = pl.Engine(graph, program, interpret=interpret, options=values_only())
    engine.run()
    expected = [a.sum(), (a * b).sum(), b.sum() * 2 + (a - b).sum(), a.sum(0)]
    for tensor, values in zip(made, expected, strict=True):
        np.testing.assert_array_equal(engine.read(tensor), values)


def test_what_depends_on_a_sum_comes_behind_it(graph: pl.Graph) -> None:
    x, a = drawn(graph, (12, 10), "x")
    program = pl.Sequence()
    mean = ops.mean(x, 1, keepdims=True)
    roots = [ops.sum((x - mean) ** 2), x - mean, ops.max(x - mean, 0), mean]
    made = ops.lower(graph, roots, program)
    engine = pl.Engine(graph, program, checks="strict", **interpreted())
    engine.run()
    d = a - a.mean(1, keepdims=True)
    for tensor, values in zip(
        made, [(d**2).sum(), d, d.max(0), a.mean(1, keepdims=True)], strict=True
    ):
        np.testing.assert_allclose(engine.read(tensor), values, rtol=1e-5, atol=1e-6)


def test_roots_that_write_are_done_in_their_order(graph: pl.Graph) -> None:
    x, a = drawn(graph, (12,), "x")
    program = pl.Sequence()
    roots = [
        ops.Root(ops.sum(x)),
        ops.Root(x * 2, out=x),
        ops.Root(ops.sum(x)),
    ]
    before, _, after = ops.lower(graph, roots, program)
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    assert (engine.read(before), engine.read(after)) == (a.sum(), 2 * a.sum())


def test_products_and_what_stands_around_them(graph: pl.Graph) -> None:
    (x, a), (y, b) = drawn(graph, (8, 6), "x"), drawn(graph, (6, 5), "yy")
    program = pl.Sequence()
    roots = [ops.maximum(x @ y, 0), x @ y + 1, ops.sum(x), ops.sum((x + 1) @ y)]
    made = ops.lower(graph, roots, program)
    engine = pl.Engine(graph, program, checks="strict", **interpreted())
    engine.run()
    expected = [np.maximum(a @ b, 0), a @ b + 1, a.sum(), ((a + 1) @ b).sum()]
    for tensor, values in zip(made, expected, strict=True):
        np.testing.assert_array_equal(engine.read(tensor), values)


def test_equal_roots_are_two_tensors(graph: pl.Graph) -> None:
    x, a = drawn(graph, (12,), "x")
    program = pl.Sequence()
    one, other = ops.lower(graph, [ops.exp(x), ops.exp(x)], program)
    assert not one.intersects_with(other)
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    assert engine.read(one).tobytes() == engine.read(other).tobytes()


@pytest.mark.parametrize("is_first", [True, False])
def test_a_root_that_another_one_reads(graph: pl.Graph, is_first: bool) -> None:
    x, a = drawn(graph, (12,), "x")
    program = pl.Sequence()
    total = x + x
    roots = [total, total * total - ops.sum(total)]
    made = ops.lower(graph, roots if is_first else roots[::-1], program)
    engine = pl.Engine(graph, program, checks="strict", **interpreted())
    engine.run()
    expected = [2 * a, 4 * a * a - (2 * a).sum()]
    for tensor, values in zip(made, expected if is_first else expected[::-1], strict=True):
        np.testing.assert_array_equal(engine.read(tensor), values)


def test_sums_with_and_without_their_dimensions_are_one(graph: pl.Graph) -> None:
    x, a = drawn(graph, (4, 6), "x")
    program = pl.Sequence()
    made = ops.lower(graph, [x - ops.sum(x, 1, keepdims=True), ops.exp(0 * ops.sum(x, 1))], program)
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    np.testing.assert_array_equal(engine.read(made[0]), a - a.sum(1, keepdims=True))
    assert engine.read(made[1]).tolist() == [1] * 4
