"""Views of expressions: what is viewed is stored once, and read through the view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import interpreted
from poplite import ops
from poplite.expr.formula import formula
from poplite.expr.tree import Expr, Leaf, viewed


@dataclass(frozen=True)
class Transposed:
    """The transpose of a matrix."""

    def __call__(self, tensor: pl.Tensor) -> pl.Tensor:
        return tensor.T


def transposed(expr: Expr) -> Expr:
    rows, columns = expr.shape
    return viewed([expr], Transposed(), (columns, rows), expr.element_type)


@pytest.fixture
def x() -> pl.Tensor:
    graph = pl.Graph(pl.Target(tiles=3))
    values = np.arange(6).reshape(2, 3)
    return graph.add_variable(pl.FLOAT, (2, 3), "x", mapping="linear", initial_value=values)


def computed(x: pl.Tensor, *exprs: Expr, out: pl.Tensor | None = None) -> list[Any]:
    program = pl.Sequence()
    if out is not None:
        made = [ops.map(exprs[0], out=out, program=program)]
    else:
        made = ops.lower(x.graph, exprs, program)
    engine = pl.Engine(x.graph, program, **interpreted())
    engine.run()
    return [engine.read(each).tolist() for each in made]


def test_a_view_of_a_tensor_is_a_tensor(x: pl.Tensor) -> None:
    view = transposed(Leaf(x))
    assert isinstance(view, Leaf)
    assert view.tensor == x.T


def test_what_is_viewed_is_stored_once(x: pl.Tensor) -> None:
    one, other = transposed(x * 2 + 1), transposed(x * 2 + 1)
    assert formula(one) == "view(x * 2.0 + 1.0)"
    assert computed(x, one - 1, other * 10) == [
        [[0, 6], [2, 8], [4, 10]],
        [[10, 70], [30, 90], [50, 110]],
    ]
    stored = [each for each in x.graph.variables if each.shape == (2, 3)]
    assert len(stored) == 2  # x, and what is viewed


def test_sums_and_products_are_viewed(x: pl.Tensor) -> None:
    product = ops.matmul(x, x.T)
    total = viewed([ops.sum(x, 0)], Reshaped((3, 1)), (3, 1), pl.FLOAT)
    assert computed(x, transposed(product), total * total) == [
        [[5, 14], [14, 50]],
        [[9], [25], [49]],
    ]


@dataclass(frozen=True)
class Reshaped:
    """A tensor in another shape."""

    shape: tuple[int, ...]

    def __call__(self, tensor: pl.Tensor) -> pl.Tensor:
        return tensor.reshape(self.shape)


@dataclass(frozen=True)
class Joined:
    """Rows behind each other."""

    def __call__(self, *tensors: pl.Tensor) -> pl.Tensor:
        return pl.concat(tensors, dim=0)


def test_several_expressions_make_one_view(x: pl.Tensor) -> None:
    both = viewed([x + 1, x * x], Joined(), (4, 3), pl.FLOAT)
    assert computed(x, both + 0) == [[[1, 2, 3], [4, 5, 6], [0, 1, 4], [9, 16, 25]]]


def test_a_view_goes_where_it_is_asked_for(x: pl.Tensor) -> None:
    out = x.graph.add_variable(pl.FLOAT, (3, 2), "out", mapping="linear")
    assert computed(x, transposed(-x), out=out) == [[[0, -3], [-1, -4], [-2, -5]]]


def test_a_view_is_computed_anew_where_its_tensor_changed(x: pl.Tensor) -> None:
    program = pl.Sequence()
    view = transposed(x + 1)
    roots = [
        ops.Root(view * 1),
        ops.Root(x * 10, out=x),
        ops.Root(view * 1),
    ]
    first, _, last = ops.lower(x.graph, roots, program)
    engine = pl.Engine(x.graph, program, **interpreted())
    engine.run()
    assert engine.read(first).tolist() == [[1, 4], [2, 5], [3, 6]]
    assert engine.read(last).tolist() == [[1, 31], [11, 41], [21, 51]]
