"""In how many levels reductions join results across tiles: the cheapest way, and never worse."""

from __future__ import annotations

import importlib
import math

import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples, thinned
from poplite.ops.reduce.levels import (
    Levels,
    Spread,
    cheapest_levels,
    cycles_of,
    levels_to_try,
)

PLAN = importlib.import_module("poplite.ops.reduce.plan")


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
    spread = Spread(element, rows, rows * outputs, tiles, wanted)
    found, tried = cheapest_levels(target, spread), levels_to_try(spread)
    assert found in tried
    assert cycles_of(target, spread, found) == min(cycles_of(target, spread, w) for w in tried)
    cheapest_levels.cache_clear()
    assert cheapest_levels(target, spread) == found


def test_ways_have_fewer_groups_in_each_level() -> None:
    tried = levels_to_try(Spread(pl.FLOAT, 1472, 1472, 1472))
    assert len({*tried}) == len(tried)
    assert {len(way) for way in tried} == {0, 1, 2}
    assert all(2 <= b <= a // 2 for a, b in (way for way in tried if len(way) == 2))
    assert levels_to_try(Spread(pl.FLOAT, 3, 3000, 1472)) == [()]


def test_dear_synchronisation_makes_fewer_levels() -> None:
    spread = Spread(pl.FLOAT, 500, 500, 500)
    assert len(cheapest_levels(pl.Target(), spread)) == 1
    assert cheapest_levels(pl.Target(costs={"sync_cycles": 10**5}), spread) == ()
    free = pl.Target(costs={"sync_cycles": 0, "latency_cycles": 0, "reduce_one_entry": 0})
    assert len(cheapest_levels(free, spread)) == 2


def former_rule(target: pl.Target, spread: Spread) -> Levels:
    """As many groups as the root of the number of rows, where there are more than 64."""
    return () if spread.rows <= 64 else (math.isqrt(spread.rows - 1) + 1,)


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
    def cycles() -> int:
        graph, program = pl.Graph(pl.Target(tiles=1472)), pl.Sequence()
        x = graph.add_variable(pl.FLOAT, shape, "x", mapping="linear", initial_value=0)
        pl.ops.map(pl.ops.sum(x, dim), program=program)
        engine = pl.Engine(graph, program)
        engine.run()
        found = engine.report().cycles
        assert found is not None
        return found

    planned = cycles()
    monkeypatch.setattr(PLAN, "cheapest_levels", former_rule)
    assert planned <= cycles()
