"""Many assignments of one computation: their values, and work that grows with their number."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poplite.named as ng
from poplite.errors import AxisError
from poplite.jit.build import no_collection
from poplite.named.effects import Effect

H = ng.make_axis(4, "H")


def turned(count: int) -> Effect:
    """Assign to each of some variables what the next one has."""
    each = [ng.variable([H], 1, name=f"w{n}") for n in range(count)]
    return ng.parallel([ng.assign(w, each[(n + 1) % count] * 2) for n, w in enumerate(each)])


def rows(count: int) -> Effect:
    """Assign to each row of a tensor the one with which it changes places."""
    N = ng.make_axis(count, "N")
    t = ng.variable([N, H], 1, name="t")
    return ng.parallel([ng.assign(t[N, n], t[N, -1 - n] - 1) for n in range(count)])


def columns(count: int) -> Effect:
    """Change each column of a tensor."""
    N = ng.make_axis(count, "N")
    t = ng.variable([H, N], 1, name="t")
    return ng.parallel([ng.assign(t[N, n], t[N, n] - 1) for n in range(count)])


def chained(count: int) -> Effect:
    """Change variables one after the other, as Python writes it."""
    with ng.steps() as changes:
        for n in range(count):
            w = ng.variable([H], 1, name=f"w{n}")
            w -= 0.5
    return changes


def calls_for(items: Callable[[int], Effect], count: int) -> int:
    """Return how many functions are called to record a computation."""
    calls = 0

    def counted(frame: object, event: str, arg: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    item = items(count)
    work = ng.make_transformer(tiles=1).computation(item)
    with no_collection():  # each one calls a function of Hypothesis, where a test has used it
        sys.setprofile(counted)
        try:
            _ = work.program
        finally:
            sys.setprofile(None)
    return calls


@pytest.mark.parametrize("items", [turned, rows, columns, chained])
def test_twice_as_many_assignments_take_twice_the_work(items: Callable[[int], Any]) -> None:
    calls_for(items, 2)
    few, some, many = (calls_for(items, count) for count in (16, 32, 64))
    assert (many - some) / (some - few) < 2.02


def test_many_assignments_read_all_before_they_write() -> None:
    N = ng.make_axis(40, "N")
    first = np.arange(160.0).reshape(40, 4)
    t = ng.variable([N, H], first, name="t")
    each = [ng.variable([], n, name=f"w{n}") for n in range(6)]
    shared = each[0] + each[5]
    work = ng.make_transformer(tiles=4).computation(
        [
            ng.parallel(
                [
                    *[ng.assign(t[N, n], t[N, n - 1] + ng.sum(t[N, :2], [N])) for n in range(40)],
                    *[ng.assign(w, shared * each[(n + 1) % 6]) for n, w in enumerate(each)],
                ]
            ),
            t,
            *each,
        ]
    )
    _, rows_now, *numbers = work()
    assert np.array_equal(rows_now, np.roll(first, 1, axis=0) + first[:2].sum(axis=0))
    assert [each.item() for each in numbers] == [5, 10, 15, 20, 25, 0]


def test_of_many_assignments_the_two_that_write_the_same_elements_are_named() -> None:
    N = ng.make_axis(30, "N")
    t = ng.variable([H, N], 0, name="t")
    apart = [ng.assign(t[N, n], 1) for n in range(1, 30)]
    last = ng.assign(t[H, 2, N, 17], 2)
    with pytest.raises(AxisError, match="write the same elements of 't'") as caught:
        _ = ng.make_transformer(tiles=1).computation(ng.parallel([*apart, last])).program
    assert str(apart[16].line) in caught.value.found
    assert str(last.line) in caught.value.found
