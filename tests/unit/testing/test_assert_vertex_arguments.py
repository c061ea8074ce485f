"""`assert_vertex` takes working memory by its size, references without it, and says what lacks."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import poplite as pl
from poplite import vertices
from poplite.testing import assert_vertex

X = np.array([1, 2, 3], np.float32)
once = partial(assert_vertex, layouts=1)


class Twice(pl.Vertex):
    """out = 2 x, by way of working memory."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    tmp: pl.InOut[pl.Vector[pl.FLOAT]]
    out: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.tmp[i] = self.x[i] * 2
        for i in range(len(self.x)):
            self.out[i] = self.tmp[i]


class Adds(pl.Vertex):
    """out = x plus memory that should be zeros, which is a mistake."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    tmp: pl.InOut[pl.Vector[pl.FLOAT]]
    out: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.tmp[i] += self.x[i]
            self.out[i] = self.tmp[i]


@pytest.mark.parametrize("tmp", [3, np.int64(3), np.zeros(3), [9.0, 8.0, 7.0]])
def test_memory_is_given_by_its_size_or_its_values(tmp: Any) -> None:
    once(Twice, {"x": X, "tmp": tmp}, {"out": X * 2})
    with pytest.raises(AssertionError, match="expected 3.0"):
        once(Twice, {"x": X, "tmp": tmp}, {"out": X})


def test_memory_of_a_size_holds_something_before() -> None:
    once(Adds, {"x": X, "tmp": np.zeros(3)}, {"out": X})
    with pytest.raises(AssertionError, match=r"\[0\] is 100.0, expected 1.0"):
        once(Adds, {"x": X, "tmp": 3}, {"out": X})


def test_memory_that_is_too_small_is_an_index_out_of_range() -> None:
    with pytest.raises(pl.PopliteError, match="index 2"):
        once(Twice, {"x": X, "tmp": 2}, {"out": X * 2})


def test_a_reference_need_not_take_working_memory() -> None:
    once(Twice, {"x": X, "tmp": 3}, lambda x: x * 2)
    once(Twice, {"x": X, "tmp": 3}, lambda **given: {"out": given["x"] * 2})
    once(Twice, {"x": X, "tmp": 3}, lambda x, tmp: {"out": x * 2, "tmp": None})


@pytest.mark.parametrize(
    ("inputs", "reference", "told", "instead"),
    [
        ({"tmp": None}, {"out": X}, "'tmp': None", "an array, .*; or the number of its elements"),
        ({"tmp": 0.5}, {"out": X}, "'tmp': 0.5", "an array, which it holds before"),
        ({"x": None}, {"out": X}, "'x': None", "an array, which it holds before"),
        ({}, lambda: X, "does not take 'x'", r"def reference\(x, tmp\)"),
        ({}, lambda tmp: X, "does not take 'x'", r"def reference\(x, tmp\)"),
        ({}, lambda x, tmp, out: X, "needs 'out'", r"def reference\(x, tmp\)"),
    ],
)
def test_what_does_not_fit_is_named(
    inputs: dict[str, Any], reference: Callable[..., Any], told: str, instead: str
) -> None:
    with pytest.raises(pl.PopliteError, match=told) as caught:
        once(Twice, {"x": X, "tmp": 3} | inputs, reference)
    assert caught.value.at is not None
    assert re.search(instead, caught.value.fix)


@pytest.mark.parametrize(
    ("cls", "inputs", "size"),
    [
        (vertices.Fill[pl.FLOAT], {"value": 2.0}, 5),
        (vertices.Iota[pl.INT], {"start": 3}, 4),
        (vertices.SumRows[pl.FLOAT, pl.FLOAT], {"x": X}, 1),
    ],
)
def test_a_reference_that_needs_a_size_says_how_it_gets_one(
    cls: Any, inputs: dict[str, Any], size: int
) -> None:
    with pytest.raises(pl.UnknownField, match="reference needs 'size'") as caught:
        once(cls, inputs, cls.reference)
    assert "reference, size=...), the number of elements of the output" in caught.value.fix
    once(cls, inputs, partial(cls.reference, size=size))


def test_a_missing_field_of_several_is_named_with_their_number() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (3,), "x", mapping=0, initial_value=X)
    out = graph.add_variable(pl.FLOAT, (3,), "out", mapping=0)
    running = vertices.CumulativeSum[pl.FLOAT, pl.FLOAT]
    sets = [graph.add_compute_set(name) for name in ("short", "full")]
    graph.add_vertex(sets[0], running, tile=0, x=x, out=out)
    graph.add_vertex(sets[1], running, tile=0, x=x, out=out, before=x[:0], excludes=False)
    with pytest.raises(pl.GraphConnectionError, match="'before' is .*; 1 more field has the same"):
        pl.Engine(graph, pl.Execute(sets[0]))
    engine = pl.Engine(graph, pl.Execute(sets[1]), interpret=True)
    engine.run()
    assert engine.read(out).tolist() == [1, 3, 6]
