"""Pooling of large windows: its cycles beside those of reductions, its stages, and its values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import interpreted, thinned
from poplite import ops
from poplite.ops import nn
from poplite.ops.convolutions.request import request_of, spacings
from poplite.ops.nn.pooling import cheapest_way, pooling_layout

Element = type[pl.FLOAT] | type[pl.HALF]
Made = Callable[[pl.Tensor, pl.Sequence], pl.Tensor]


def cycles(shape: tuple[int, ...], element: Element, made: Made, tiles: int = 1472) -> int:
    """Return the modelled cycles of what is made of an input."""
    graph, program = pl.Graph(pl.Target(tiles=tiles)), pl.Sequence()
    made(graph.add_variable(element, shape, "x", mapping="linear"), program)
    engine = pl.Engine(graph, program, checks="fast", interpret=False)
    engine.run()
    return engine.report().execution.cycles or 0


FIELDS = [
    ((1, 1, 256, 256), pl.FLOAT, 1_900),
    ((2, 64, 64, 64), pl.FLOAT, 1_400),
    ((4, 512, 7, 7), pl.FLOAT, 1_000),
    ((1, 1, 256, 256), pl.HALF, 2_100),
]


@pytest.mark.parametrize(("shape", "element", "most"), thinned(FIELDS, keep=FIELDS[:1]))
def test_a_window_of_the_field_costs_what_a_reduction_does(
    shape: tuple[int, ...], element: Element, most: int
) -> None:
    field = list(shape[2:])
    pooled = cycles(shape, element, lambda x, p: nn.max_pool(x, field, program=p))
    reduced = cycles(shape, element, lambda x, p: ops.map(ops.max(x, [2, 3]), program=p))
    assert 0 < pooled <= min(most, 1.5 * reduced)
    added = cycles(shape, element, lambda x, p: nn.sum_pool(x, field, program=p))
    by_sum = cycles(shape, element, lambda x, p: ops.map(ops.sum(x, [2, 3]), program=p))
    assert 0 < added <= 1.5 * by_sum


WINDOWS: list[tuple[tuple[int, ...], int, dict[str, Any], int]] = [
    ((1, 1, 256, 256), 128, {"stride": 64, "padding": 32}, 5_000),  # 4,258,686 by vertices alone
    ((1, 1, 256, 256), 128, {}, 1_800),  # 4,244,236
    ((1, 1, 256, 256), 128, {"stride": 1}, 80_000),  # 4,539,838
    ((4, 64, 28, 28), 5, {"stride": 1, "padding": 2}, 8_500),  # 18,593
    ((8, 32, 1000), 50, {"stride": 10}, 4_600),  # 16,015
    ((8, 32, 16, 16, 16), 4, {}, 4_600),  # 20,700
]


@pytest.mark.parametrize(("shape", "window", "how", "most"), thinned(WINDOWS, keep=WINDOWS[:2]))
def test_large_windows_are_cut(
    shape: tuple[int, ...], window: int, how: dict[str, Any], most: int
) -> None:
    made = cycles(shape, pl.FLOAT, lambda x, p: nn.max_pool(x, window, **how, program=p))
    assert 0 < made <= most


GRADIENTS = [
    ((4, 512, 7, 7), 7, 750, 2_000),  # 55,370 and 62,524 place by place
    ((4, 64, 56, 56), 2, 1_300, 8_000),  # 7,788 and 16,860
]


@pytest.mark.parametrize(("shape", "window", "added", "most"), thinned(GRADIENTS, GRADIENTS[:1]))
def test_gradients_of_windows_that_do_not_overlap_are_maps(
    shape: tuple[int, ...], window: int, added: int, most: int
) -> None:
    def by_sum(x: pl.Tensor, program: pl.Sequence) -> pl.Tensor:
        gradient = windows_of(x, "gradient")
        return nn.sum_pool_gradient(gradient, x.shape[2:], window, program=program)

    def by_most(x: pl.Tensor, program: pl.Sequence) -> pl.Tensor:
        gradient, pooled = windows_of(x, "gradient"), windows_of(x, "pooled")
        return nn.max_pool_gradient(gradient, x, pooled, window, program=program)

    def windows_of(x: pl.Tensor, name: str) -> pl.Tensor:
        sizes = [size // window for size in x.shape[2:]]
        return x.graph.add_variable(x.element_type, (*x.shape[:2], *sizes), name, mapping="linear")

    assert 0 < cycles(shape, pl.FLOAT, by_sum) <= added
    assert 0 < cycles(shape, pl.FLOAT, by_most) <= most


def test_windows_are_pooled_whole_where_that_is_cheapest() -> None:
    target = pl.Target()
    for window, stride, stages in ((2, 2, [False]), (8, 8, [True]), (8, 4, [True, False, False])):
        how = spacings("pool", 2, stride, 0, 1)
        request = request_of("pool", 4, (1, 64, 64), (56, 56), (window,) * 2, how, pl.FLOAT, 0.6)
        way = cheapest_way(target, request, "max")
        assert [each.is_reduced for each in way.stages] == stages
        assert way.cycles <= sum(pooling_layout(target, request, "max").cycles)


@pytest.mark.parametrize("element", [pl.FLOAT, pl.HALF])
@pytest.mark.parametrize(("stride", "padding"), [(4, 2), (8, 0), (1, 0), (3, 1), (16, 4)])
def test_sums_of_parts_are_rounded_once(element: Element, stride: int, padding: int) -> None:
    rng = np.random.default_rng(stride)
    values = rng.integers(-40, 40, (2, 3, 16)).astype(element.dtype)
    graph, program = pl.Graph(pl.Target(tiles=9)), pl.Sequence()
    x = graph.add_variable(element, values.shape, "x", mapping="linear", initial_value=values)
    how: dict[str, Any] = {"stride": stride, "padding": padding, "program": program}
    made = nn.sum_pool(x, 8, **how), nn.average_pool(x, 8, **how), nn.max_pool(x, 8, **how)
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()

    def windows(array: Any, around: float) -> Any:
        sides = [(0, 0), (0, 0), (padding, padding)]
        wide = np.pad(array.astype(np.float32), sides, constant_values=around)
        return np.lib.stride_tricks.sliding_window_view(wide, 8, 2)[:, :, ::stride]

    total, most = windows(values, 0).sum(-1), windows(values, -np.inf).max(-1)
    count = windows(np.ones_like(values), 0).sum(-1)
    for found, right in zip(made, (total, total / count, most), strict=True):
        assert engine.read(found).tolist() == right.astype(element.dtype).tolist()
