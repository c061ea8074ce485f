"""PopLibs' random numbers: their argument orders, seeds and ranges."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import interpreted
from poplite.compat import poprand
from poplite.vertices.random import words_reference


class Bench:
    """A graph, its program and a seed."""

    def __init__(self) -> None:
        self.graph, self.prog = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
        self.seed = self.graph.add_variable(
            pl.UNSIGNED_INT, (2,), "seed", mapping=1, initial_value=[5, 6]
        )
        self.reference = self.graph.add_variable(pl.FLOAT, (9, 7), "reference", mapping="linear")

    def after(self, *tensors: pl.Tensor) -> list[np.ndarray]:
        engine = pl.Engine(self.graph, self.prog, **interpreted())
        engine.run()
        return [engine.read(tensor) for tensor in tensors]


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_equal_seeds_and_modifiers_give_equal_numbers(bench: Bench) -> None:
    made = [
        poprand.uniform(bench.graph, bench.seed, k, bench.reference, pl.FLOAT, -1, 3, bench.prog)
        for k in (1, 1, 2)
    ]
    first, second, other = bench.after(*made)
    np.testing.assert_array_equal(first, second)
    assert (first != other).mean() > 0.9
    assert first.min() >= -1
    assert first.max() <= 3
    units = (words_reference(63, [5, 6, 0, 1]) >> 8).astype(np.float32) * np.float32(2**-24)
    np.testing.assert_array_equal(first.ravel(), units * np.float32(4) - np.float32(1))


def test_without_a_seed_every_draw_differs_until_the_state_is_set(bench: Bench) -> None:
    graph, prog, reference = bench.graph, bench.prog, bench.reference

    def draw() -> pl.Tensor:
        return poprand.normal(graph, None, 9, reference, pl.FLOAT, 1, 2, prog)

    poprand.setSeed(graph, bench.seed, 3, prog)
    first, second = draw(), draw()
    poprand.setSeed(graph, bench.seed, 3, prog)
    third = draw()
    a, b, c = bench.after(first, second, third)
    assert (a != b).mean() > 0.9
    np.testing.assert_array_equal(a, c)


@pytest.mark.parametrize(("least", "most"), [(-1, 1), (-1.5, 1.5)])
def test_integers_include_both_ends(bench: Bench, least: float, most: float) -> None:
    made = poprand.uniform(
        bench.graph, bench.seed, 0, bench.reference, pl.INT, least, most, bench.prog, "few"
    )
    assert "few" in made.name
    assert set(bench.after(made)[0].ravel().tolist()) == {-1, 0, 1}


def test_other_draws_lie_as_their_reference(bench: Bench) -> None:
    graph, prog, reference = bench.graph, bench.prog, bench.reference
    heads = poprand.bernoulli(graph, bench.seed, 0, reference, pl.HALF, 0.5, prog)
    near = poprand.truncatedNormal(graph, bench.seed, 0, reference, pl.FLOAT, 10, 1, 0.5, prog)
    assert graph.tile_mapping(heads) == graph.tile_mapping(near) == graph.tile_mapping(reference)
    some, close = bench.after(heads, near)
    assert some.dtype == np.float16
    assert set(some.ravel().tolist()) == {0, 1}
    assert abs(close - 10).max() <= 0.5


def test_dropout_scales_what_it_keeps(bench: Bench) -> None:
    x = bench.graph.add_variable(pl.FLOAT, (9, 7), "x", mapping=3, initial_value=2)
    y = poprand.dropout(bench.graph, bench.seed, 1, x, bench.reference, 0.75, 1.5, bench.prog)
    kept = words_reference(63, [5, 6, 0, 1]) < 0.75 * 2**32
    np.testing.assert_array_equal(bench.after(y)[0].ravel(), np.where(kept, 3, 0))
    assert bench.graph.tile_mapping(y) == bench.graph.tile_mapping(bench.reference)


def test_dropout_that_keeps_all_does_not_scale(bench: Bench) -> None:
    x = bench.graph.add_variable(pl.FLOAT, (9, 7), "x", mapping=3, initial_value=2)
    y = poprand.dropout(bench.graph, bench.seed, 1, x, bench.reference, 1.0, 1.5, bench.prog)
    np.testing.assert_array_equal(bench.after(y)[0], np.full((9, 7), 2))


def test_another_seed_is_refused(bench: Bench) -> None:
    with pytest.raises(
        pl.ElementTypeError, match=r"two words of UNSIGNED_INT[\s\S]*float32\[9, 7\]"
    ):
        poprand.setSeed(bench.graph, bench.reference, 0, bench.prog)


@pytest.mark.parametrize(
    ("function", "arguments", "what"),
    [
        ("uniform", (pl.FLOAT, 2, 1), "min_val 2 and max_val 1 are not a range of FLOAT"),
        ("uniform", (pl.FLOAT, 0, math.inf), "max_val is inf"),
        ("uniform", (pl.INT, 1.2, 1.8), "from min_val 1.2 to max_val 1.8 there are 0 whole"),
        ("uniform", (pl.INT, 0, 2**31), "max_val is 2147483648"),
        ("uniform", (pl.UNSIGNED_INT, -1, 3), "min_val is -1"),
        ("uniform", (pl.LONGLONG, 0, 2**32), "from min_val 0 to max_val 4294967296"),
        ("normal", (pl.FLOAT, 0, -1), "std_dev is -1"),
        ("truncatedNormal", (pl.FLOAT, 0, math.nan, 1), "std_dev is nan"),
        ("truncatedNormal", (pl.FLOAT, 0, 1, 0), "alpha is 0"),
    ],
)
def test_messages_have_the_names_that_the_caller_has(
    bench: Bench, function: str, arguments: tuple[Any, ...], what: str
) -> None:
    call: Any = getattr(poprand, function)
    with pytest.raises((pl.InvalidOption, pl.SizeOverflowError)) as raised:
        call(bench.graph, None, 0, bench.reference, *arguments, bench.prog)
    assert raised.value.what.startswith(f"poprand.{function}: {what}")
    with pytest.raises(pl.ElementTypeError, match=f"poprand.{function}: a seed is two words"):
        call(bench.graph, bench.reference, 0, bench.reference, *arguments, bench.prog)


def refused(bench: Bench) -> dict[str, Callable[[pl.Tensor | None], object]]:
    """Return draws that are refused, each of a seed or of the state of the graph."""
    graph, reference, prog = bench.graph, bench.reference, bench.prog
    f, i = pl.FLOAT, pl.INT
    return {
        "no range": lambda s: poprand.uniform(graph, s, 0, reference, f, 1, 1, prog),
        "no integers": lambda s: poprand.uniform(graph, s, 0, reference, i, 6, 1, prog),
        "no limit": lambda s: poprand.uniform(graph, s, 0, reference, i, 0, math.nan, prog),
        "modifier": lambda s: poprand.uniform(graph, s, 0.5, reference, f, 0, 1, prog),  # type: ignore[arg-type]
        "reference": lambda s: poprand.uniform(graph, s, 0, (9, 7), f, 0, 1, prog),  # type: ignore[arg-type]
        "bool": lambda s: poprand.uniform(graph, s, 0, reference, pl.BOOL, 0, 1, prog),
        "probability": lambda s: poprand.bernoulli(graph, s, 0, reference, f, 1.5, prog),
        "deviation": lambda s: poprand.normal(graph, s, 0, reference, f, 0, -1, prog),
        "of integers": lambda s: poprand.normal(graph, s, 0, reference, i, 0, 1, prog),
        "alpha": lambda s: poprand.truncatedNormal(graph, s, 0, reference, f, 0, 1, 0, prog),
        "other shape": lambda s: poprand.dropout(graph, s, 0, reference.T, reference, 0.5, 1, prog),
        "name": lambda s: poprand.dropout(graph, s, 0, reference, reference, 0.5, 1, prog, 3),  # type: ignore[arg-type]
        "keep": lambda s: poprand.dropout(graph, s, 0, reference, reference, 2, 1, prog),
    }


@pytest.mark.parametrize("name", refused(Bench()))
@pytest.mark.parametrize("has_seed", [True, False])
def test_a_refused_draw_leaves_the_graph_as_it_was(bench: Bench, name: str, has_seed: bool) -> None:
    before = len(bench.graph.variables)
    with pytest.raises((pl.ElementTypeError, pl.InvalidOption, pl.TensorCreationError)):
        refused(bench)[name](bench.seed if has_seed else None)
    assert len(bench.graph.variables) == before
    assert not bench.prog.children


def test_another_seed_is_refused_before_anything_is_made(bench: Bench) -> None:
    before = len(bench.graph.variables)
    with pytest.raises(pl.ElementTypeError, match="two words"):
        poprand.normal(bench.graph, bench.reference, 0, bench.reference, pl.FLOAT, 0, 1, bench.prog)
    with pytest.raises(pl.ElementTypeError, match="two words"):
        poprand.setSeed(bench.graph, bench.reference, 0, bench.prog)
    assert len(bench.graph.variables) == before
