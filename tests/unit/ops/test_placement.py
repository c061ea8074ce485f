"""Where results of maps lie: as an operand, or spread where that takes fewer cycles."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import poplite as pl
from helpers.depth import interpreted
from poplite import ops


def on_tiles(graph: pl.Graph, size: int, first: int, last: int, name: str) -> pl.Tensor:
    """A variable spread over the tiles from `first` up to `last`."""
    made = graph.add_variable(pl.FLOAT, (size,), name, initial_value=np.arange(size))
    count = last - first
    for k in range(count):
        part = made[k * size // count : (k + 1) * size // count]
        graph.set_tile_mapping(part, first + k)
    return made


def tiles_of(graph: pl.Graph, made: pl.Tensor) -> int:
    return len(graph.tile_mapping(made).tiles)


def test_the_sum_of_two_halves_uses_all_tiles() -> None:
    graph, program = pl.Graph(pl.Target(tiles=64)), pl.Sequence()
    x = on_tiles(graph, 16_384, 0, 64, "x")
    y = ops.map(x[:8192] + x[8192:], program=program)
    assert graph.tile_mapping(y).elements_per_tile.tolist() == [128] * 64
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    assert (engine.read(y) == 2 * np.arange(8192) + 8192).all()


@pytest.mark.parametrize(
    ("function", "used"),
    [
        (lambda x: -x, 32),  # sending takes as long as negating
        (lambda x: x + x, 32),
        (lambda x: x + ops.cast(x > 3, pl.FLOAT), 32),
    ],
)
def test_a_map_of_one_operand_stays_on_half_of_the_tiles(
    function: Callable[[pl.Tensor], pl.Expr], used: int
) -> None:
    graph, program = pl.Graph(pl.Target(tiles=64)), pl.Sequence()
    x = on_tiles(graph, 8192, 0, 32, "x")
    assert tiles_of(graph, ops.map(function(x), program=program)) == used


@pytest.mark.parametrize(("last", "used"), [(31, 64), (33, 33)])
def test_operands_on_few_tiles_are_not_followed(last: int, used: int) -> None:
    graph, program = pl.Graph(pl.Target(tiles=64)), pl.Sequence()
    x = on_tiles(graph, 8192, 0, last, "x")
    assert tiles_of(graph, ops.map(-x, program=program)) == used


def test_an_uneven_operand_beside_others_is_not_followed() -> None:
    graph, program = pl.Graph(pl.Target(tiles=8)), pl.Sequence()
    x, y = (graph.add_variable(pl.FLOAT, (8192,), name, initial_value=1) for name in "xy")
    for each, tile in ((x, 0), (y, 7)):
        graph.set_tile_mapping(each[:7000], tile)
        for k in range(8):
            graph.set_tile_mapping(each[7000 + 149 * k : 7149 + 149 * k], k)
    total = ops.map(x + y, program=program)
    assert graph.tile_mapping(total).elements_per_tile.max() == 1024
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    assert (engine.read(total) == 2).all()


def test_the_stages_of_a_transform_by_views_use_all_tiles() -> None:
    graph, size = pl.Graph(pl.Target(tiles=16)), 1024
    values = np.random.default_rng(3).integers(-3, 4, size).astype(np.float32)
    x = graph.add_variable(pl.FLOAT, (size,), "x", mapping="linear", initial_value=values)
    right = values
    with graph.steps("sums and differences") as program:
        for _ in range(4):
            low, high = x[: size // 2], x[size // 2 :]
            parts = [ops.map(each) for each in (low + high, low - high)]
            assert [tiles_of(graph, each) for each in parts] == [16, 16]
            x = pl.concat([part.expand([1]) for part in parts], 1).flatten()
            a, b = np.split(right, 2)
            right = np.stack([a + b, a - b], 1).ravel()
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    assert (engine.read(x) == right).all()
