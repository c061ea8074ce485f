"""Bounds of what a product costs: on both sides of the cost model, and plans are the same."""

from __future__ import annotations

import sys
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import deep, examples
from poplite.ops.products.layout import ProductLayout, ProductRequest
from poplite.ops.products.plan import (
    MatMulPlan,
    estimated_plan,
    least_cycles,
    nearer_cycles,
    planned,
    priced,
    ranked,
)
from poplite.ops.products.search import cheapest_ways, most_cycles


def drawn(random: Random) -> tuple[pl.Target, ProductRequest]:
    """Return a machine of few tiles, and a product."""
    tiles = random.choice([1, 2, 3, 7, 16, 41, 100])
    target = pl.Target(tiles=tiles, architecture=random.choice(["gc2", "gc200", "bow"]))
    m, k, n = (random.choice([random.randint(1, 64), random.randint(1, 300)]) for _ in range(3))
    element = random.choice([pl.FLOAT, pl.HALF])
    result = random.choice([element, pl.FLOAT])
    partials = random.choice([pl.FLOAT, result])
    groups = random.choice([1, random.randint(1, min(20, 2 * tiles))])
    return target, ProductRequest(groups, m, k, n, element, result, partials, 0.6, ())


@examples(150, quick=8)
@given(random=st.randoms(use_true_random=False))
def test_the_cost_model_is_between_the_bounds(random: Random) -> None:
    target, request = drawn(random)
    for way in cheapest_ways(target, request):
        exact = priced(target, way).total_cycles
        nearer = nearer_cycles(target, way)
        assert least_cycles(target, way) <= nearer <= exact <= most_cycles(target, way)


@examples(50)
@given(random=st.randoms(use_true_random=False))
def test_the_plan_is_the_first_of_all_that_are_priced(random: Random) -> None:
    target, request = drawn(random)
    found = planned(target, request)
    first = ranked(target, request)[0]
    assert found in (first, replace(first, exact=None))
    assert MatMulPlan(pl.Graph(target), first).cycles == priced(target, found).total_cycles


@pytest.mark.parametrize("element", [pl.FLOAT, pytest.param(pl.HALF, marks=deep)])
def test_of_eight_ways_few_are_priced(
    element: type[pl.ElementType[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[ProductLayout] = []

    def counted(target: pl.Target, way: ProductLayout) -> ProductLayout:
        asked.append(way)
        return priced(target, way)

    monkeypatch.setattr(sys.modules[planned.__module__], "priced", counted)
    planned.cache_clear()
    counts = []
    for k in (496, 512, 464):
        planned(pl.Target(), ProductRequest(1, 512, k, k, element, element, pl.FLOAT, 0.6, ()))
        counts.append(len(asked))
    assert counts[0] == 0
    assert counts[-1] <= 4


@pytest.mark.parametrize("sizes", [(1, 8, 70, 248), (1, 194, 8, 8)])
def test_an_estimated_plan_is_not_priced_and_costs_little_more(
    sizes: tuple[int, int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = pl.Graph()
    with monkeypatch.context() as patch:
        patch.setattr(sys.modules[planned.__module__], "priced", None)
        way = estimated_plan(graph, "a product", sizes, pl.FLOAT).layout
    best = ranked(graph.target, way.request)[0]
    assert priced(graph.target, way).total_cycles <= 1.03 * best.total_cycles
