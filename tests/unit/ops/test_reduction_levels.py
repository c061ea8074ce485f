"""In how many levels reductions join results across tiles: the cheapest way, and never worse."""

from __future__ import annotations

import importlib
import math
from typing import Any

import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples, thinned
from poplite.ops.fuse.pricing import Remembered
from poplite.ops.reductions.plan import (
    Levels,
    RemainingPartials,
    cheapest_levels,
    cycles_of,
    levels_to_try,
)

PLAN = importlib.import_module("poplite.ops.reductions.plan")


@examples(60)
@given(
    element=st.sampled_from([pl.FLOAT, pl.HALF, pl.INT, pl.BOOL]),
    rows=st.integers(2, 3000),
    outputs=st.integers(1, 3000),
    tiles=st.integers(2, 3000),
    wanted=st.integers(0, 3),
    sync=st.sampled_from([0, 90, 5000]),
)
def test_the_cheapest_of_those_tried(
    element: type[pl.ElementType[int]], rows: int, outputs: int, tiles: int, wanted: int, sync: int
) -> None:
    target = pl.Target(tiles=4000, costs={"sync_cycles": sync})
    spread = RemainingPartials(element, rows, rows * outputs, tiles, wanted)
    found, tried = cheapest_levels(target, spread), levels_to_try(spread)
    assert found in tried
    assert cycles_of(target, spread, found) == min(cycles_of(target, spread, w) for w in tried)
    cheapest_levels.cache_clear()
    assert cheapest_levels(target, spread) == found


def test_ways_have_fewer_groups_in_each_level() -> None:
    tried = levels_to_try(RemainingPartials(pl.FLOAT, 1472, 1472, 1472))
    assert len({*tried}) == len(tried)
    assert {len(way) for way in tried} == {0, 1, 2}
    assert all(2 <= b <= a // 2 for a, b in (way for way in tried if len(way) == 2))
    assert levels_to_try(RemainingPartials(pl.FLOAT, 3, 3000, 1472)) == [()]


def test_dear_synchronisation_makes_fewer_levels() -> None:
    spread = RemainingPartials(pl.FLOAT, 500, 500, 500)
    assert len(cheapest_levels(pl.Target(), spread)) == 1
    assert cheapest_levels(pl.Target(costs={"sync_cycles": 10**5}), spread) == ()
    free = pl.Target(costs={"sync_cycles": 0, "latency_cycles": 0, "reduce_one_entry": 0})
    assert len(cheapest_levels(free, spread)) == 2


def former_rule(target: pl.Target, spread: RemainingPartials) -> Levels:
    """As many groups as the root of the number of rows, where there are more than 64."""
    return () if spread.rows <= 64 else (math.isqrt(spread.rows - 1) + 1,)


def cycles(shape: tuple[int, ...], dims: list[int]) -> int:
    """Return what a sum over some dimensions takes."""
    graph, program = pl.Graph(pl.Target(tiles=1472)), pl.Sequence()
    x = graph.add_variable(pl.FLOAT, shape, "x", mapping="linear", initial_value=0)
    pl.ops.map(pl.ops.sum(x, dims), program=program)
    engine = pl.Engine(graph, program)
    engine.run()
    found = engine.report().cycles
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("shape", "dim"),
    thinned(
        [
            ((10_000, 1000), 1),
            ((1472, 64), 0),
            ((500,), 0),
            ((10_000_000,), 0),
            ((10_000, 1000), 0),
            ((1_000_000, 10), 0),
        ],
        keep=3,
    ),
)
def test_no_more_cycles_than_by_a_fixed_number_of_groups(
    shape: tuple[int, ...], dim: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = cycles(shape, [dim])
    monkeypatch.setattr(PLAN, "_PLANS", Remembered[Any](most=1))
    monkeypatch.setattr(PLAN, "cheapest_levels", former_rule)
    assert planned <= cycles(shape, [dim])


def test_partials_that_are_apart_are_few_in_a_group() -> None:
    # Of 208 partials in a row, 97 groups of 16 tiles have 16 each; spread over all tiles, three.
    in_a_row = RemainingPartials(pl.FLOAT, rows=208, elements=53_160, tiles=1_457)
    apart = in_a_row._replace(span=1_457)
    assert cheapest_levels(pl.Target(), in_a_row) == (97,)
    assert cheapest_levels(pl.Target(), apart) == (14,)


@pytest.mark.parametrize("shape", [(200, 300, 17), (64, 64, 64)])
def test_reductions_of_outer_dimensions_know_how_far_their_partials_are_apart(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = cycles(shape, [0, 2])
    monkeypatch.setattr(PLAN, "_PLANS", Remembered[Any](most=1))
    monkeypatch.setattr(
        PLAN, "cheapest_levels", lambda t, spread: cheapest_levels(t, spread._replace(span=0))
    )
    assert planned < 0.98 * cycles(shape, [0, 2])  # 2,685 of 5,058; 1,921 of 1,982
