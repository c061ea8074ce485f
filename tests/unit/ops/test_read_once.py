"""Reductions along what is repeated read each element once, whatever the number of times."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import interpreted, thinned
from poplite import ops

Made = Callable[[pl.Tensor], Any]


def stored(x: pl.Tensor, expr: Made) -> tuple[Any, int]:
    """Return the value of an expression of a tensor, and the elements of all that is stored."""
    graph = x.graph
    with graph.steps() as steps:
        result = ops.map(expr(x))
    engine = pl.Engine(graph, steps, **interpreted())
    engine.run()
    return engine.read(result), sum(each.num_elements for each in graph.variables)


def tensor(element: type[pl.ElementType[Any]], values: Any) -> pl.Tensor:
    given = np.asarray(values, element.dtype)
    graph = pl.Graph(pl.Target(tiles=4))
    return graph.add_variable(element, given.shape, "x", mapping="linear", initial_value=given)


N = 2**26
"""As often is repeated: the elements would take 256 MiB."""

OF_MANY: list[tuple[Made, Any]] = [
    (lambda x: ops.sum(x.broadcast(N, 0)), 6 * N),
    (lambda x: ops.mean(x.broadcast(N, 0)), 2),
    (lambda x: ops.max(x.broadcast(N, 0)), 3),
    (lambda x: ops.min(x.broadcast(N, 0)), 1),
    (lambda x: ops.any(x.broadcast(N, 0) > 2), True),
    (lambda x: ops.all(x.broadcast(N, 0) > 2), False),
    (lambda x: ops.sum(x.broadcast(N, 0) * 2 + 1), 15 * N),
    (lambda x: ops.sum(x.upsample(N, 0)), 6 * N),
    (lambda x: ops.sum(x.reshape((1, 3)).broadcast(N, 0), 0), [N, 2 * N, 3 * N]),
    (lambda x: ops.prod(x.reshape((1, 3)).broadcast(N + 1, 0) - 2, 0), [-1, 0, 1]),
    (lambda x: ops.norm(x.broadcast(N, 0)), np.sqrt(14.0 * N)),
    (lambda x: ops.variance(x.broadcast(N, 0)), 2 / 3),
    (lambda x: ops.argmax(x.broadcast(N, 0)), 2),
    (lambda x: ops.argmax(x.upsample(N, 0)), 2 * N),
    (lambda x: ops.argmin(x.broadcast(N, 0) + 1, 0), 0),
]


@pytest.mark.parametrize("number", thinned(range(len(OF_MANY)), keep=[0, 2, 5, 6, 9, 12]))
def test_time_and_memory_do_not_grow_with_what_is_repeated(number: int) -> None:
    expr, expected = OF_MANY[number]
    found, held = stored(tensor(pl.FLOAT, [1, 2, 3]), expr)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert held < 100


@pytest.mark.parametrize("element", [pl.HALF, pl.INT, pl.UNSIGNED_CHAR])
@pytest.mark.parametrize("how", ["add", "mul", "max"])
@pytest.mark.parametrize("view", ["broadcast", "upsample"])
def test_values_are_those_of_what_is_repeated(
    element: type[pl.ElementType[Any]], how: str, view: str
) -> None:
    values = np.array([[3, 1, 2], [1, 5, 1]], element.dtype)
    x = tensor(element, values)
    found, _ = stored(x, lambda x: ops.reduce(getattr(x, view)(3, 1), 1, how))
    again = np.concatenate([values] * 3, 1)
    joined = {"add": np.add, "mul": np.multiply, "max": np.maximum}[how]
    np.testing.assert_array_equal(found, joined.reduce(again, 1, dtype=element.dtype))


def test_a_sum_of_half_is_multiplied_before_it_is_rounded() -> None:
    third = np.float16(1 / 3)
    found, _ = stored(tensor(pl.HALF, [third, third]), lambda x: ops.sum(x.broadcast(5001, 0)))
    assert found == np.float16(np.float32(third) * 2 * 5001)


def test_what_is_repeated_beside_what_is_not_is_read_each_time() -> None:
    x = tensor(pl.FLOAT, [[1, 2, 3]])
    y = x.graph.add_variable(pl.FLOAT, (4, 3), "y", mapping="linear", initial_value=np.eye(4, 3))
    found, _ = stored(x, lambda x: ops.sum(x.broadcast(4, 0) * y, 0))
    assert found.tolist() == [1, 2, 3]
    mixed, _ = stored(
        x, lambda x: ops.sum(x.flatten().broadcast(2, 0) * x.flatten().upsample(2, 0))
    )
    assert mixed == np.dot([1, 2, 3, 1, 2, 3], [1, 1, 2, 2, 3, 3])


def test_part_of_a_dimension_is_repeated() -> None:
    x = tensor(pl.FLOAT, np.arange(12).reshape(2, 6))
    found, _ = stored(x, lambda x: ops.sum(x.broadcast(3, 1) * 2, 1))
    assert found.tolist() == [90, 306]


REPEATED: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "rows": (lambda x: x.broadcast(5, 0), lambda v: np.tile(v, (5, 1))),
    "columns": (lambda x: x.broadcast(5, 1), lambda v: np.tile(v, (1, 5))),
    "each column": (lambda x: x.upsample(5, 1), lambda v: np.repeat(v, 5, 1)),
    "each row, computed": (lambda x: x.upsample(5, 0) * 2 + 1, lambda v: np.repeat(v, 5, 0)),
    "flat": (lambda x: x.broadcast(5, 1).flatten(), lambda v: np.tile(v, (1, 5)).ravel()),
    "both": (
        lambda x: x.upsample(5, 1).broadcast(3, 0),
        lambda v: np.tile(np.repeat(v, 5, 1), (3, 1)),
    ),
    "with another": (
        lambda x: x[1].reshape((1, 4)).broadcast(3, 0) + x,
        lambda v: v + v[1],
    ),
}
"""Views of a matrix that repeat its elements, as poplite and as NumPy make them."""


@pytest.mark.parametrize("how", thinned(REPEATED, keep=["columns", "flat", "both"]))
@pytest.mark.parametrize("dim", [None, 0, 1])
def test_the_first_of_what_is_repeated_is_the_largest(how: str, dim: int | None) -> None:
    values = np.array([[2, 3, 0, 3], [1, 3, 0, 0], [2, 0, 3, np.nan if dim else 1]])
    view, expected = REPEATED[how]
    again = expected(values)
    along = dim if dim is None or dim < again.ndim else 0
    for find, numpy in ((ops.argmax, np.argmax), (ops.argmin, np.argmin)):
        found, _ = stored(tensor(pl.FLOAT, values), partial(_found, find, view, along))
        np.testing.assert_array_equal(found, numpy(again, axis=along))


def _found(find: Any, view: Any, dim: int | None, x: pl.Tensor) -> Any:
    return find(view(x), dim)


def test_positions_by_themselves_are_made_on_their_tiles() -> None:
    x = tensor(pl.INT, [7])
    found, held = stored(x, lambda x: ops.sum(ops.iota(5000)) + x)
    assert found == sum(range(5000)) + 7
    assert not any("positions" in each.name for each in x.graph.variables)
    assert held < 5100
    assert not any(each.constant for each in x.graph.variables)
