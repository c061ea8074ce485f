"""Addresses of things in memory: nothing overlaps, everything lies where it may."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, strategies as st

from poplite.cost import step_cost
from poplite.cost.memory.addresses import Placing, alike
from poplite.jit import build
from poplite.report.per_tile import PerTile

BORDER, LIMIT = 256, 384


@dataclass(frozen=True)
class Thing:
    align: int
    interleaved: bool
    first: int | None
    last: int
    sizes: tuple[int, int]


def _thing(align: int, upper: bool, first: int | None, more: int, sizes: tuple[int, int]) -> Thing:
    return Thing(align, upper, first, (first or 0) + more, sizes)


THINGS = st.lists(
    st.builds(
        _thing,
        st.sampled_from([1, 4, 8, 32]),
        st.sampled_from([False, False, False, True]),
        st.none() | st.integers(0, 4),
        st.integers(0, 3),
        st.tuples(*2 * [st.sampled_from([0, 1, 4, 12, 40, 100])]),
    ),
    max_size=12,
)


def placing_of(things: list[Thing]) -> Placing:
    steps = [None if t.first is None else ((t.first, t.last),) for t in things]
    aligns, upper = [t.align for t in things], [t.interleaved for t in things]
    return Placing(aligns, upper, steps, BORDER, LIMIT)


def placed(things: list[Thing]) -> tuple[list[dict[int, int]], list[int]]:
    """Return where things are on each of two tiles, by their number, and the bytes in use."""
    placing = placing_of(things)
    order = placing.order.tolist()
    there = [[n for n in order if things[n].sizes[tile]] for tile in range(2)]
    sizes = [things[n].sizes[tile] for tile in range(2) for n in there[tile]]
    places = np.array([order.index(n) for numbers in there for n in numbers], np.int64)
    counts = [len(numbers) for numbers in there]
    found, used = placing.addresses(np.array(sizes, np.int64), counts, places)
    sides = np.split(found, counts[:1])
    by_number = [dict(zip(n, f.tolist(), strict=True)) for n, f in zip(there, sides, strict=True)]
    return by_number, used.tolist()


def meet(one: Thing, other: Thing) -> bool:
    always = one.first is None or other.first is None
    return always or (one.first <= other.last and other.first <= one.last)  # type: ignore[operator]


@given(THINGS)
def test_what_is_needed_together_does_not_overlap(things: list[Thing]) -> None:
    found, used = placed(things)
    for tile in range(2):
        there = [(things[n], at, at + things[n].sizes[tile]) for n, at in found[tile].items()]
        assert len(there) == sum(thing.sizes[tile] > 0 for thing in things)
        for k, (thing, begin, end) in enumerate(there):
            assert begin % thing.align == 0
            assert begin >= (BORDER if thing.interleaved else 0)
            for other, its_begin, its_end in there[:k]:
                assert not meet(thing, other) or end <= its_begin or its_end <= begin
        if any(thing.interleaved for thing, _, _ in there):
            # The two parts of memory are told apart, and nothing lies in both.  What is free
            # below the border counts only where the other part has not enough.
            low = max([end for _, begin, end in there if begin < BORDER], default=0)
            high = max([end for _, begin, end in there if begin >= BORDER], default=BORDER)
            assert low <= BORDER
            assert used[tile] == (high if high > LIMIT else low + high - BORDER)
            assert (used[tile] > LIMIT) == (high > LIMIT)
        else:
            assert used[tile] == max([end for _, _, end in there], default=0)


@given(THINGS)
def test_compiled_and_not_the_addresses_are_the_same(things: list[Thing]) -> None:
    plain = placed(things)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(build, "FEW", -1)
        assert placed(things) == plain


@given(st.lists(st.lists(st.integers(0, 2), min_size=5, max_size=5), max_size=4), st.booleans())
def test_tiles_are_alike_that_hold_the_same(rows: list[list[int]], few: bool) -> None:
    spreads = [PerTile.of(np.array(row)) for row in rows]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(step_cost, "FEW", step_cost.FEW if few else 0)
        tiles, kinds = alike(spreads, 5)
    columns = [tuple(row[tile] for row in rows) for tile in range(5)]
    for tile in range(5):
        assert columns[tiles[kinds[tile]]] == columns[tile]
    assert len(tiles) == len(set(columns))


def test_many_steps_may_have_gaps_between_them() -> None:
    steps = [((0, 0), (5, 5)), ((2, 3),)]
    placing = Placing([8, 8], [False, False], steps, BORDER, LIMIT)
    found, used = placing.addresses(np.array([10, 10]), [2])
    # A thing keeps its place from its first step to its last.
    assert (found.tolist(), used.tolist()) == ([0, 16], [26])
