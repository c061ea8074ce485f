"""What operations refuse: the graph is as it was; `==` of tensors is for Python."""

from __future__ import annotations

import copy
import ctypes
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest

import poplite as pl
import poplite.named as ng
from helpers.depth import interpreted
from poplite import ops
from poplite.compat import popops
from poplite.compat.popops import expr
from poplite.compat.popops.expr import And, Const, Gt, _1
from poplite.ops import nn, random

# -- the graph is as it was ------------------------------------------------------------------------


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
    """Return the plan was made for a different table."""
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
    "weights, dimension": lambda t: pl.map_by_weights(t.graph, t.bare, [1] * 9, dim=2),
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
        (
            lambda t: ops.sort(t.x * 2, 5, program=t.p),
            r"there is no dimension 5 in 'x \* 2.0', which has 1",
        ),
        (lambda t: ops.multi_slice(t.m, t.x * 2, program=t.p), r"indices: 'x \* 2.0' is FLOAT"),
        (lambda t: ops.multi_slice(t.m, t.k, plan=3, program=t.p), "plan is 3"),  # type: ignore[arg-type]
        (lambda t: ops.sort(t.x, name=3, program=t.p), "must be a string, not 3"),  # type: ignore[arg-type]
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


# -- arguments that are not a graph ----------------------------------------------------------------


GRAPH = pl.Graph(pl.Target(tiles=4))
X = GRAPH.add_variable(pl.FLOAT, (4, 4), "x", mapping="linear")
K = GRAPH.add_constant(pl.UNSIGNED_INT, (1,), 0, "k", mapping=0)
STEPS = pl.Sequence()


GRAPHS: dict[str, Call] = {
    "lower": lambda graph: pl.ops.lower(graph, [X + X], STEPS),
    "counted_loop": lambda graph: pl.counted_loop(graph, 0, 3, 1, STEPS),
    "ops.plan_matmul": lambda graph: pl.ops.plan_matmul(graph, m=2, k=2, n=2),
}


def refused_value(error: type[pl.PopliteError], call: Call, value: object) -> tuple[str, str, str]:
    """Return what, found and fix of the error, which is raised before anything is made."""
    with pytest.raises(error) as caught:
        call(value)
    assert caught.value.at is not None
    assert caught.value.at.file == __file__
    assert ([v.name for v in GRAPH.variables], GRAPH.compute_sets) == (["x", "k"], ())
    assert STEPS.is_empty
    return caught.value.what, caught.value.found, caught.value.fix


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("value", [None, GRAPH.target])
def test_a_graph_is_needed(name: str, value: object) -> None:
    what, found, fix = refused_value(pl.ControlProgramError, GRAPHS[name], value)
    assert what == f"{name}: {value!r} is not a graph"
    assert found == f"it is of type {type(value).__name__}"
    assert fix.startswith(f"{name}(graph, ")


WRONG: dict[str, tuple[Call, str, str]] = {
    "roots": (lambda x: pl.ops.lower(GRAPH, 3), "ops.lower: roots is 3, not a list", "[x + y"),  # type: ignore[arg-type]
    "gain": (
        lambda x: pl.ops.nn.batch_norm(x, gain=pl.ops.arg(0)),
        "ops.nn.batch_norm, gain: the arguments of the expression have no tensors",
        "ops.map(expression, [tensors])",
    ),
    "sizes": (
        lambda x: pl.ops.dynamic_slice(x, K, [0], np.array(1), program=STEPS),  # type: ignore[arg-type]
        "ops.dynamic_slice: sizes is array(1), not a list",
        "sizes=[1]",
    ),
    "request": (
        lambda x: pl.ops.ConvolutionPlan(GRAPH, 3),  # type: ignore[arg-type]
        "ops.ConvolutionPlan: request is 3",
        "make a plan with ops.plan_convolution(graph, ...)",
    ),
    "inout": (
        lambda x: pl.graph_function(pl.ops.exp, inout=3),  # type: ignore[call-overload]
        "graph_function: inout is 3, not a list",
        "inout=('weights',)",
    ),
    "abs": (
        lambda x: popops.abs(GRAPH, [1], STEPS),  # type: ignore[arg-type]
        "popops.abs: a is [1]",
        "pass a tensor, such as one from graph.add_variable, or a number",
    ),
    "neg": (
        lambda x: popops.neg(GRAPH, pl.QUARTER, STEPS),  # type: ignore[arg-type]
        "popops.neg: a is QUARTER",
        "pass a tensor, such as one from graph.add_variable, or a number",
    ),
    "addInPlace": (
        lambda x: popops.addInPlace(GRAPH, np.arange(3), (1, 1), STEPS),  # type: ignore[arg-type]
        "popops.addInPlace: a is array([0, 1, 2])",
        "pass a tensor, such as one from graph.add_variable, or a number",
    ),
    "pad": (
        lambda x: popops.pad(GRAPH, x, [0, 0], 3),  # type: ignore[arg-type]
        "popops.pad: padding_upper is 3",
        "a list of whole numbers",
    ),
    "text on the left": (
        lambda x: "1" - expr._1,  # type: ignore[arg-type]
        "popops.expr: '1' is not an expression",
        "use expr._1, expr._2, ... for the tensors passed to popops.map",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_argument_of_another_kind_is_named(name: str) -> None:
    call, what, fix = WRONG[name]
    with pytest.raises(pl.ElementTypeError if name != "pad" else pl.InvalidOption) as caught:
        call(X.reshape((4, 4, 1)) if name == "gain" else X)
    assert caught.value.what == what
    assert fix in caught.value.fix
    assert caught.value.at is not None
    assert caught.value.at.file == __file__


# -- `==` of tensors -------------------------------------------------------------------------------


COMPARES = "compare elements with {0}.{1}(a, b)"
EITHER = "compare elements with {0}.equal(a, b) or {0}.not_equal(a, b)"
MEANT = EITHER + ", or use Python's `if` with the bool"


@contextmanager
def refused_comparison(what: str, fix: str) -> Iterator[None]:
    """Expect an ElementTypeError with words in its first line, and a remedy."""
    with pytest.raises(pl.ElementTypeError) as caught:
        yield
    assert what in caught.value.what
    assert caught.value.fix == fix


@pytest.fixture
def graph() -> pl.Graph:
    return pl.Graph(pl.Target(tiles=2))


def variables(graph: pl.Graph) -> list[Any]:
    """Untyped: checkers refuse most of what is tried."""
    n = graph.add_variable(pl.INT, (4,), "n", mapping="linear", initial_value=[0, 1, 2, 3])
    flags = graph.add_variable(pl.BOOL, (4,), "flags", mapping="linear", initial_value=False)
    return [n, flags, graph.add_variable(pl.BOOL, (), "flag", mapping=0, initial_value=False)]


class Holder(pl.Vertex):
    value: pl.State[pl.BOOL]
    out: pl.Output[pl.BOOL]

    def compute(self) -> None:
        self.out = self.value


VALUES = {
    "number": lambda n: 2,
    "bool": lambda n: True,
    "NumPy's number": lambda n: np.int32(2),
    "array": lambda n: np.arange(4),
    "list": lambda n: [0, 1, 2, 3],
    "range": lambda n: range(4),
    "set": lambda n: {1.0},
    "dictionary": lambda n: {},
    "generator": lambda n: (each for each in (0, 1, 2, 3)),
    "expression": lambda n: n + 1,
    "equality": lambda n: n == n[:],
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_a_tensor_is_not_compared_with_values(graph: pl.Graph, value: Callable[[Any], Any]) -> None:
    n, *_ = variables(graph)
    other = value(n)
    for compare in (lambda: n == other, lambda: other == n, lambda: n in [None, other]):
        with refused_comparison("'==' of a", COMPARES.format("ops", "equal")):
            compare()
    for compare in (lambda: n != other, lambda: other != n):
        with refused_comparison("'!=' of a", COMPARES.format("ops", "not_equal")):
            compare()


def test_equality_of_tensors_is_a_truth_value(graph: pl.Graph) -> None:
    n, flags, _ = variables(graph)
    same, changed = n.reshape((2, 2)).flatten(), n.reverse(0)
    assert n == same
    assert n != changed
    assert n in [flags, None, "n", same]
    assert [flags, same].index(n) == 1
    assert {n: "n"}[same] == "n"
    assert {n, same, changed} == {same, changed}
    truths = [n == same, n != same, n == changed, n != changed, n == None, n != None]  # noqa: E711
    assert truths == [True, False, False, True, False, True]
    assert {*truths} == {True, False}
    assert not any(isinstance(truth, bool) for truth in truths)
    assert repr(n == same) == "<same elements: True (not ops.equal)>"
    yes, no = np.array([True, False])
    assert [(n == same) == yes, yes == (n == same), (n == same) != no] == [True] * 3
    assert [(n == same) == no, no != (n != same), np.array(False) == (n == same)] == [False] * 3

    @dataclass
    class Layer:
        weight: pl.Tensor
        width: int

    assert Layer(n, 4) == Layer(same, 4)
    assert Layer(n, 4) != Layer(changed, 4)


def test_expressions_indices_and_named_tensors_are_alike(graph: pl.Graph) -> None:
    n, *_ = variables(graph)
    total: Any = n + 1
    x: Any = ng.placeholder([ng.make_axis(3, "H")], name="x")
    y: Any = ng.placeholder([ng.make_axis(3, "H")], name="y")
    assert total in [total]
    assert total == total
    assert x == x
    assert x != y
    assert [x, y].index(y) == 1
    with graph.steps(), ops.repeat(3) as i:
        index: Any = i
        assert index == index
        with refused_comparison("'==' of the index of a loop", COMPARES.format("ops", "equal")):
            _ = index == 3
    with refused_comparison("'==' of an expression", COMPARES.format("ops", "equal")):
        _ = total == total + 1
    for value in (2, np.arange(3), n, [1]):
        with pytest.raises(
            pl.ElementTypeError, match=r"named tensor(\n|.)*compare elements with ng\.equal\(a, b\)"
        ):
            _ = x == value
    for value in (np.float32(2), np.array(2), np.arange(3)):
        with refused_comparison("'==' of a named tensor", COMPARES.format("ng", "equal")):
            _ = x == value
        with refused_comparison("'==' of a named tensor", COMPARES.format("ng", "equal")):
            _ = value == x
        with refused_comparison("'!=' of a named tensor", COMPARES.format("ng", "not_equal")):
            _ = value != x
    assert repr(x == y) == "<same elements: False (not ng.equal)>"
    uses: dict[str, Callable[[], object]] = {
        "where": lambda: ng.where(x == y, x, 0),
        "add": lambda: x + (x == y),
        "'*' of (a == b)": lambda: (x == y) * x,
        "constant": lambda: ng.constant(x == y),
        "v": lambda: ng.variable(x.axes, [x == y] * 3, name="v"),
        "np.logical_and": lambda: np.logical_and(True, x != y),
    }
    for what, use in uses.items():
        with refused_comparison(f"{what}: '==' of two tensors", EITHER.format("ng")):
            use()
    for use in (lambda: ng.where(True, x, 0), lambda: ng.logical_or(x > 0, False)):
        with refused_comparison("a Python bool", MEANT.format("ng")):
            use()


USES: dict[str, Callable[[pl.Graph, Any, Any, Any, Any], object]] = {
    "assign": lambda g, n, flags, flag, e: ops.assign(flags, e),
    "map": lambda g, n, flags, flag, e: ops.map(e),
    "where": lambda g, n, flags, flag, e: ops.where(e, n, 0),
    "or": lambda g, n, flags, flag, e: e | (n > 2),
    "and": lambda g, n, flags, flag, e: (n > 2) & e,
    "two": lambda g, n, flags, flag, e: e ^ e,
    "not": lambda g, n, flags, flag, e: ~e,
    "plus": lambda g, n, flags, flag, e: 1 + e,
    "sum": lambda g, n, flags, flag, e: ops.sum(e),
    "logical": lambda g, n, flags, flag, e: ops.logical_and(e, flags),
    "fill": lambda g, n, flags, flag, e: ops.fill(flags, e),
    "one_hot": lambda g, n, flags, flag, e: ops.one_hot(e, 3),
    "Copy": lambda g, n, flags, flag, e: pl.Copy(e, flag),
    "If": lambda g, n, flags, flag, e: pl.If(e, pl.Sequence(), pl.Sequence()),
    "initial value": lambda g, n, flags, flag, e: g.set_initial_value(flag, e),
    "constant": lambda g, n, flags, flag, e: g.add_constant(pl.BOOL, (1,), [e]),
    "state": lambda g, n, flags, flag, e: g.add_vertex(
        g.add_compute_set("cs"), Holder, tile=0, value=e, out=flag
    ),
    "states": lambda g, n, flags, flag, e: g.add_vertices(
        g.add_compute_set("cs"), Holder, tile=[0], value=[e], out=flags[:1]
    ),
    "PrintTensor": lambda g, n, flags, flag, e: pl.PrintTensor(e),
    "titled": lambda g, n, flags, flag, e: pl.PrintTensor("equal", e),
    "write": lambda g, n, flags, flag, e: pl.Engine(g, pl.Sequence()).write(flag, e),
    "array": lambda g, n, flags, flag, e: np.array([e, e]),
    "int": lambda g, n, flags, flag, e: int(e),
    "len": lambda g, n, flags, flag, e: len(e),
    "index of it": lambda g, n, flags, flag, e: e[0],
    "loop over it": lambda g, n, flags, flag, e: [*e],
    "divmod": lambda g, n, flags, flag, e: divmod(e, 2),
    "NumPy": lambda g, n, flags, flag, e: np.array([True]) & e,
    "while": lambda g, n, flags, flag, e: ops.while_(e).__enter__(),
    "if": lambda g, n, flags, flag, e: ops.if_(lambda: e).__enter__(),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_operations_refuse_the_equality_of_tensors(
    graph: pl.Graph, use: Callable[..., Any]
) -> None:
    n, flags, flag = variables(graph)
    with graph.steps() as step:
        with refused_comparison("", EITHER.format("ops")):
            use(graph, n, flags, flag, n == n.reverse(0))
        assert not step.programs


CALLED = {
    "constant": ("'c': '=='", lambda g, n, flag, e: g.add_constant(pl.BOOL, (1,), [e], "c")),
    "write": (
        "engine.write to 'flag': '=='",
        lambda g, n, flag, e: pl.Engine(g, pl.Sequence()).write(flag, e),
    ),
    "state": (
        "vertex 0 of 'Holder' on tile 0: field 'value': '=='",
        lambda g, n, flag, e: g.add_vertex(
            g.add_compute_set("cs"), Holder, tile=0, value=e, out=flag
        ),
    ),
    "where": ("ops.where or ops.select: '=='", lambda g, n, flag, e: ops.where(e, n, 0)),
    "asarray": ("np.asarray: '=='", lambda g, n, flag, e: np.asarray(e)),
    "Repeat": (
        "Repeat: <same elements: False (not ops.equal)> times",
        lambda g, n, flag, e: pl.Repeat(e, pl.Sequence()),
    ),
    "index": (
        "indexed with Equality <same elements: False (not ops.equal)>",
        lambda g, n, flag, e: n[e],
    ),
}


@pytest.mark.parametrize(("what", "use"), CALLED.values(), ids=CALLED)
def test_refusals_name_the_call_and_what_compares_elements(
    graph: pl.Graph, what: str, use: Callable[..., Any]
) -> None:
    n, _, flag = variables(graph)
    with pytest.raises(pl.PopliteError) as caught:
        use(graph, n, flag, n == n.reverse(0))
    assert what in caught.value.what
    with pytest.raises(
        AttributeError, match=r"has no 'all': compare elements with ops\.equal\(a, b\)"
    ):
        (n == n).all()


def test_calls_by_numpy_are_at_the_users_line(graph: pl.Graph) -> None:
    n, *_ = variables(graph)
    x: Any = ng.placeholder([ng.make_axis(3, "H")], name="x")
    for value in (n, n + 1, x):
        with pytest.raises(pl.PopliteError, match=r"np\.(sum|add\.reduce)") as caught:
            np.sum(value)
        assert caught.value.at is not None
        assert caught.value.at.file == __file__


@pytest.mark.parametrize("truth", [True, np.False_])
@pytest.mark.parametrize("name", ["or", "and", "where", "logical", "while", "if"])
def test_python_truth_values_do_not_join_those_of_elements(
    graph: pl.Graph, name: str, truth: Any
) -> None:
    n, flags, flag = variables(graph)
    with (
        graph.steps(),
        refused_comparison("a Python bool", MEANT.format("ops")),
    ):
        USES[name](graph, n, flags, flag, truth)


def test_elements_are_compared_by_ops_equal(graph: pl.Graph) -> None:
    n, flags, _ = variables(graph)
    k = graph.add_variable(pl.INT, (), "k", mapping=0, initial_value=9)
    with graph.steps() as step:
        ops.assign(flags, ops.equal(n, 2))
        chosen = ops.map(ops.where(ops.equal(n, 2) | (n > 2), n, 0))
        with ops.while_(ops.not_equal(k, 3) & (k < 10)):
            ops.assign(k, k - 1)
        filled = ops.map(ops.where(flags, True, flags))
        said = popops.map(graph, And(Gt(_1, Const(1)), Const(True)), [n], step)
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    assert (
        engine.read(flags).tolist() == engine.read(filled).tolist() == [False, False, True, False]
    )
    assert [*engine.read(chosen).tolist(), int(engine.read(k))] == [0, 0, 2, 3, 3]
    assert engine.read(said).tolist() == [False, False, True, True]


def test_what_holds_no_numbers_is_unlike_by_the_same_kind_of_truth(graph: pl.Graph) -> None:
    n, *_ = variables(graph)
    flags = graph.add_variable(pl.BOOL, n.shape, "flags", mapping=0)
    for other in ("2", b"2", pl.INT, graph, ctypes.c_int(2)):
        equality: Any = n == other
        assert not equality
        with pytest.raises(pl.ElementTypeError, match=r"ops\.equal"):
            ops.assign(flags, equality, program=pl.Sequence())
    assert n == mock.ANY


def test_a_truth_value_is_copied_and_pickled(graph: pl.Graph) -> None:
    n, *_ = variables(graph)
    same: Any = n == n
    for made in (copy.copy(same), copy.deepcopy(same), pickle.loads(pickle.dumps(same))):
        assert made
        assert repr(made) == repr(same)


def test_a_field_of_a_vertex_is_not_compared_with_values(graph: pl.Graph) -> None:
    class Keep(pl.Vertex):
        x: pl.InOut[pl.INT]

        def compute(self) -> None:
            pass

    n = graph.add_variable(pl.INT, (), "kept", mapping=0)
    vertex: Any = graph.add_vertex(graph.add_compute_set("keep"), Keep, tile=0, x=n)
    assert vertex["x"] == vertex["x"]
    for other in (2, n, [1]):
        with pytest.raises(pl.ElementTypeError, match=r"a field of a vertex(.|\n)*ops\.equal"):
            _ = vertex["x"] != other


def test_arguments_in_another_order_are_shown_in_the_right_one() -> None:
    graph, any_of = pl.Graph(pl.Target(tiles=2)), {"ops": ops, "pl": pl}
    x: Any = graph.add_variable(pl.FLOAT, (8, 2), "x", mapping="linear")
    stream: Any = graph.add_host_to_device_fifo("in", pl.FLOAT, 16)
    back: Any = graph.add_device_to_host_fifo("out", pl.FLOAT, 16)
    calls: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
        "assign": (lambda o, _: o.assign(3, x), "the target first: ops.assign(x, 3)"),
        "sum": (
            lambda o, _: o.sum([x, x]),
            "combine tensors with pl.concat(tensors, dim) or ops.stack(tensors)",
        ),
        "in": (lambda _, p: p.Copy(x, stream), "Copy(stream, tensor), or a stream of graph.add_d"),
        "out": (lambda _, p: p.Copy(back, x), "Copy(tensor, stream), or a stream of graph.add_h"),
        "formula": (lambda _, p: p.Copy(x + 1, back), "ops.map(expression)"),
        "repeat": (lambda _, p: p.Repeat(p.Copy(stream, x), 3), "Repeat(3, program)"),
    }
    for call, fix in calls.values():
        with pytest.raises(pl.PopliteError) as caught:
            call(*any_of.values())
        assert fix in caught.value.fix
    engine: Any = pl.Engine(graph, pl.Copy(stream, x))
    with pytest.raises(pl.StreamConnectionError, match="try: pass its handle, 'in'"):
        engine.connect_stream(stream, np.zeros(16, np.float32))
    with pytest.raises(pl.TensorCreationError, match=r"try: array\.T, or array\.reshape"):
        engine.write(x, np.zeros((2, 8)))
