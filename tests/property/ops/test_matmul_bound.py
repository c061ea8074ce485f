"""Prices of products: those of the cost model, above their bounds; plans are the cheapest ways."""

from __future__ import annotations

import sys
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import deep, examples
from poplite.ops.planning import cycles_of_graph
from poplite.ops.products.layout import ProductLayout, ProductRequest
from poplite.ops.products.matmul import MatMulPlan, estimated_plan, planned, ranked
from poplite.ops.products.matmul_steps import Multiplication, left_of, product_of, right_of
from poplite.ops.products.search import cheapest_ways, exact_cycles, least_cycles
from poplite.program.recording import Recorder


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


def cycles_of_steps(target: pl.Target, layout: ProductLayout) -> int:
    """Return the cycles of the steps of a layout of one pass, made on a graph and priced there."""
    graph = pl.Graph(target)
    recorder = Recorder(graph)
    operands = left_of(graph, layout, "left"), right_of(graph, layout, "right")
    work = Multiplication(graph, recorder, layout, *operands)
    work.products(product_of(graph, layout, "product"))
    return cycles_of_graph(graph, [])


@examples(150, quick=8)
@given(random=st.randoms(use_true_random=False))
def test_exact_cycles_are_those_of_the_steps_and_no_fewer_than_the_least(random: Random) -> None:
    target, request = drawn(random)
    for way in cheapest_ways(target, request):
        exact = exact_cycles(target, way)
        assert least_cycles(target, way) <= exact
        if way.num_passes == 1:
            assert exact == cycles_of_steps(target, way)


@pytest.mark.parametrize("sizes", [(1, 1000, 700, 900), (1, 1, 3000, 4000), (30, 100, 60, 8)])
@pytest.mark.parametrize("element", [pl.FLOAT, pytest.param(pl.HALF, marks=deep)])
def test_exact_cycles_of_all_tiles_are_those_of_the_steps(
    element: type[pl.ElementType[Any]], sizes: tuple[int, int, int, int]
) -> None:
    target = pl.Target()
    request = ProductRequest(*sizes, element, element, pl.FLOAT, 0.6, ())
    for way in cheapest_ways(target, request)[:3]:
        if way.num_passes == 1:
            assert exact_cycles(target, way) == cycles_of_steps(target, way)


@examples(50)
@given(random=st.randoms(use_true_random=False))
def test_the_plan_is_the_first_of_all_that_are_priced(random: Random) -> None:
    target, request = drawn(random)
    found = planned(target, request)
    first = ranked(target, request)[0]
    assert found in (first, replace(first, exact=None))
    assert MatMulPlan(pl.Graph(target), first).cycles == exact_cycles(target, found)


@pytest.mark.parametrize("element", [pl.FLOAT, pytest.param(pl.HALF, marks=deep)])
def test_of_eight_ways_few_are_priced(
    element: type[pl.ElementType[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[ProductLayout] = []

    def counted(target: pl.Target, way: ProductLayout) -> int:
        asked.append(way)
        return exact_cycles(target, way)

    monkeypatch.setattr(sys.modules[planned.__module__], "exact_cycles", counted)
    planned.cache_clear()
    counts = []
    for k in (496, 512, 464):
        planned(pl.Target(), ProductRequest(1, 512, k, k, element, element, pl.FLOAT, 0.6, ()))
        counts.append(len(asked))
    assert counts[0] == 1
    assert counts[-1] <= 9


@pytest.mark.parametrize("sizes", [(1, 8, 70, 248), (1, 194, 8, 8)])
def test_an_estimated_plan_is_not_priced_and_costs_little_more(
    sizes: tuple[int, int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = pl.Graph()
    with monkeypatch.context() as patch:
        patch.setattr(sys.modules[planned.__module__], "exact_cycles", None)
        way = estimated_plan(graph, "a product", sizes, pl.FLOAT).layout
    best = ranked(graph.target, way.request)[0]
    assert exact_cycles(graph.target, way) <= 1.03 * best.total_cycles
