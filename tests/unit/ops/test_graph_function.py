"""Python functions that become functions of the graph, once for each signature."""

from __future__ import annotations

import numpy as np
import pytest

import poplite as pl
from helpers.depth import interpreted


def sum_of(a: pl.Tensor, b: pl.Tensor, out: pl.Tensor | None = None) -> pl.Tensor:
    """Record a + b."""
    return pl.ops.map(a + b, out=out)


def vector(graph: pl.Graph, name: str, value: float, size: int = 4, tile: int = 0) -> pl.Tensor:
    made = graph.add_variable(pl.FLOAT, (size,), name, mapping=tile, initial_value=value)
    graph.create_host_read(name, made)
    return made


@pytest.fixture
def graph() -> pl.Graph:
    return pl.Graph(pl.Target(tiles=2))


def test_results_of_calls_are_tensors_of_their_own(graph: pl.Graph) -> None:
    made: list[float] = []

    @pl.graph_function
    def twice(x: pl.Tensor, scale: float = 1.0) -> pl.Tensor:
        made.append(scale)
        return sum_of(x, x)

    x, y = vector(graph, "x", 1), vector(graph, "y", 10)
    with graph.steps() as step:
        first, second = twice(x), twice(y)
        both = sum_of(first, second)
    graph.create_host_read("both", both)
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    np.testing.assert_array_equal(engine.read("both"), np.full(4, 22.0))
    with graph.steps():
        twice(second)
    assert made == [1.0]


def test_signatures_are_recorded_once_each(graph: pl.Graph) -> None:
    made: list[tuple[object, ...]] = []

    @pl.graph_function
    def f(x: pl.Tensor, n: object = 1) -> None:
        made.append((x.shape, n))

    same = [vector(graph, "a", 1), vector(graph, "b", 2)]
    with graph.steps():
        for x in same:
            for n in (1, 1.0, True, 0.0, -0.0, "n"):
                f(x, n)
        f(vector(graph, "c", 1, tile=1))
        f(vector(graph, "d", 1, size=8))
        f(same[0], n=1)
    assert len(made) == 8
    other = pl.Graph()
    with other.steps():
        f(vector(other, "a", 1))
    assert len(made) == 9


def test_inout_arguments_are_copied_back(graph: pl.Graph) -> None:
    @pl.graph_function(inout=("total",))
    def accumulate(total: pl.Tensor, x: pl.Tensor) -> None:
        sum_of(total, x, total)

    a, b, x = vector(graph, "a", 1), vector(graph, "b", 2), vector(graph, "x", 10)
    with graph.steps() as step:
        accumulate(a, x)
        accumulate(b, x)
        accumulate(b, x)
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    assert (engine.read("a")[0], engine.read("b")[0], engine.read("x")[0]) == (11, 22, 10)


def test_functions_call_others_but_not_themselves(graph: pl.Graph) -> None:
    @pl.graph_function
    def twice(x: pl.Tensor) -> tuple[pl.Tensor, None]:
        return sum_of(x, x), None

    @pl.graph_function
    def four_times(x: pl.Tensor) -> pl.Tensor:
        return twice(twice(x)[0])[0]

    @pl.graph_function
    def endless(x: pl.Tensor) -> None:
        endless(x)

    with graph.steps() as step:
        y = four_times(vector(graph, "x", 1))
        with pytest.raises(pl.GraphRecursionError, match="'endless' calls itself"):
            endless(y)
    graph.create_host_read("y", y)
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    assert engine.read("y")[0] == 4


def test_wrong_uses_are_refused(graph: pl.Graph) -> None:
    x = vector(graph, "x", 1)

    @pl.graph_function
    def f(x: object, y: object = 0) -> object:
        return y

    with pytest.raises(pl.ControlProgramError, match=r"f\(...\): outside its graph's steps"):
        f(x)
    with graph.steps() as step:
        with pytest.raises(pl.ControlProgramError, match="no argument is a tensor"):
            f(7)
        with pytest.raises(pl.ControlProgramError, match=r"y=\[1\] is neither"):
            f(x, [1])
        with pytest.raises(pl.ElementTypeError, match="returns 3, which is not a tensor"):
            f(x, 3)
        with pytest.raises(pl.ElementTypeError, match=r"argument y is not(.|\n)*store it first"):
            f(x, x + 1)
    assert step.programs == ()
    with pytest.raises(pl.ControlProgramError, match="inout names no parameter 'z'"):
        pl.graph_function(inout=("z",))(f)


def test_what_is_copied_back_shares_no_elements(graph: pl.Graph) -> None:
    @pl.graph_function(inout=("a", "b"))
    def both(a: pl.Tensor, b: pl.Tensor) -> None:
        pl.ops.assign(a, a + 1)
        pl.ops.assign(b, b * 2)

    x = graph.add_variable(pl.INT, (4,), "x", mapping=0, initial_value=[1, 2, 3, 4])
    with graph.steps() as step:
        with pytest.raises(pl.ControlProgramError, match="'a' and 'b' share elements"):
            both(x[:3], x[2:])
        both(x[:2], x[2:])
    engine = pl.Engine(graph, step, **interpreted())
    engine.run()
    assert engine.read(x).tolist() == [2, 3, 6, 8]
