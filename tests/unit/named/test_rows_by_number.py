"""Rows of a table by number: values, derivatives, and what they cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poplite as pl
import poplite.named as ng
from poplite import ops

V, D, N, B = (ng.make_axis(n, name) for n, name in ((7, "V"), (4, "D"), (5, "N"), (2, "B")))
TABLE = np.arange(28, dtype=np.float32).reshape(7, 4)
NUMBERS = np.array([[6, 0, 3, 3, 1], [2, 2, 2, 5, 6]], np.int32)


def computed(made: list[ng.Op], tiles: int = 3) -> Any:
    return ng.make_transformer(tiles=tiles).computation(made)()


def test_rows_are_taken_along_any_axis_of_tensors_and_expressions() -> None:
    table = ng.variable([V, D], TABLE)
    turned = ng.variable([D, V], TABLE.T)
    numbers = ng.variable([B, N], NUMBERS, pl.INT)
    bare = ng.variable([N], NUMBERS[0].astype(np.uint32), pl.UNSIGNED_INT)
    made = [
        ng.take(table, numbers, V),
        ng.take(turned * 2, numbers + 0, V) + 1,
        ng.take(table, bare, V)[N, 1:3],
        ng.take(table, bare[N, 2], V),
        ng.take(table[D, 1], numbers, V),
        ng.sum(ng.take(table, numbers, V), [N]),
        ng.take(table, 6, V),
        ng.nmap(lambda row: ng.take(table, row, V), numbers, axes=[N]),
    ]
    assert made[0].axes == ng.make_axes([B, N, D])
    found = computed(made)
    rows = TABLE[NUMBERS]
    expected = [
        *(rows, 2 * rows + 1, rows[0, 1:3], TABLE[3], rows[..., 1], rows.sum(1), TABLE[6], rows),
    ]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_derivative_adds_to_the_rows_that_were_taken() -> None:
    table = ng.variable([V, D], TABLE, map={D: "tiles"})
    numbers = ng.variable([B, N], NUMBERS, pl.INT)
    weights = ng.constant(np.arange(10.0).reshape(2, 5), [B, N])
    taken = ng.take(table, numbers, V)
    slope = ng.deriv(ng.sum(weights * taken * taken, ...), table)
    unread = ng.deriv(ng.sum(ng.take(table, numbers, V)[B, 0], ...), table)
    twice = ng.deriv(ng.sum(slope, ...), table)
    assert slope.axes == ng.make_axes([V, D])
    w = np.arange(10.0).reshape(2, 5)
    first, second, count = np.zeros((7, 4)), np.zeros((7, 4)), np.zeros((7, 4))
    np.add.at(first, NUMBERS, 2 * w[..., None] * TABLE[NUMBERS])
    np.add.at(second, NUMBERS, 2 * w[..., None])
    np.add.at(count, NUMBERS[0], 1)
    found = computed([slope, twice, unread])
    for one, other in zip(found, [first, second, count], strict=True):
        np.testing.assert_allclose(one, other, 1e-6)


def test_a_table_is_trained_by_the_rows_of_each_call() -> None:
    table, numbers = ng.variable([V, D], TABLE, name="table"), ng.placeholder([N], pl.INT)
    loss = ng.sum(ng.take(table, numbers, V) ** 2, ...)
    step = ng.sequential([loss, ng.assign(table, table - 0.25 * ng.deriv(loss, table)), loss])
    device = ng.make_transformer(tiles=2)
    train = device.computation(step, numbers)
    expected = TABLE.astype(float)
    for row in NUMBERS:
        train(row)
        change = np.zeros_like(expected)
        np.add.at(change, row, expected[row] / 2)
        expected = expected - change
    (found,) = device.computation([table + 0])()
    np.testing.assert_allclose(found, expected, 1e-6)


def test_rows_are_those_of_an_embedding() -> None:
    table, numbers = ng.variable([V, D], TABLE, name="t"), ng.variable([N], NUMBERS[0], pl.INT)
    device = ng.make_transformer(tiles=4)
    device.computation(ng.take(table, numbers, V))()
    graph = pl.Graph(pl.Target(tiles=4))
    pair = []
    for op, values in ((table, TABLE), (numbers, NUMBERS[0])):
        like = device.tensor(op)
        made = graph.add_variable(like.element_type, like.shape, initial_value=values)
        graph.set_tile_mapping(made, like.graph.tile_mapping(like))
        pair.append(made)
    with graph.steps():
        ops.embedding(*pair)
    kinds = [
        sorted(v.vertex_class.__name__ for each in made.compute_sets for v in each.vertices)
        for made in (device.graph, graph)
    ]
    assert kinds[0] == kinds[1]


def test_numbers_that_the_axis_does_not_have_stop_the_run() -> None:
    table, numbers = ng.variable([V, D], TABLE), ng.placeholder([N], pl.INT)
    work = ng.make_transformer(tiles=2).computation(ng.take(table, numbers, V), numbers)
    with pytest.raises(pl.ApplicationRuntimeError, match="index 7 of 7 rows") as caught:
        work([0, 1, 7, 2, 3])
    assert "'take V by N/check'" in str(caught.value)


def test_what_is_no_number_of_a_row_is_refused() -> None:
    table, numbers = ng.placeholder([V, D]), ng.placeholder([N], pl.INT)
    shared = ng.placeholder([D], pl.INT)
    with pytest.raises(pl.ElementTypeError, match="take: indices of FLOAT"):
        ng.take(table, ng.placeholder([N]), V)
    with pytest.raises(pl.AxisError, match="take: both have axis 'D'") as caught:
        ng.take(table, shared, V)
    assert "ng.sum(ng.one_hot(indices, V) * table, [V])" in caught.value.fix
    with pytest.raises(pl.MissingAxisError, match="take"):
        ng.take(table, numbers, N)
    with pytest.raises(pl.TensorIndexError) as index:
        table[V, numbers]
    assert "ng.take(x, i, V) for rows" in index.value.fix
    with pytest.raises(pl.AxisError, match="nmap: a derivative by a table"):
        ng.nmap(
            lambda row: ng.deriv(ng.sum(ng.take(table, row, V), ...), table),
            ng.placeholder([B, N], pl.INT),
            axes=[N],
        )
