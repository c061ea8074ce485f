"""Copies of few runs, found in plain Python, cost what the compiled kernels say."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Literal
from unittest import mock

import numpy as np
from hypothesis import given, strategies as st

import poplite as pl
from poplite.cost.exchange import phases as exchange
from poplite.cost.exchange.copies import phases_of_few
from poplite.cost.exchange.locations import locations_of
from poplite.cost.exchange.phases import phases_of_copy
from poplite.cost.step_cost import PhaseCost
from poplite.report.per_tile import PerTile
from poplite.report.phase_parts import TilePairs

SIZES = 1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 40
"""Around the numbers of pieces up to which plain Python does it."""


def machine(architecture: Literal["gc2", "c600"], ipus: int) -> pl.Target:
    return pl.Target(tiles=8, ipus=ipus, architecture=architecture)


def mapped(data: st.DataObject, graph: pl.Graph, tensor: pl.Tensor, pool: list[int]) -> None:
    """Put elements on one tile of a few, on some in a row, or on some round and round."""
    tiles, size = data.draw(st.lists(st.sampled_from(pool), min_size=1)), tensor.num_elements
    if data.draw(st.booleans()):
        owners = np.sort(np.arange(size) % len(tiles))
    else:
        owners = np.arange(size) // data.draw(st.integers(1, 3)) % len(tiles)
    intervals: list[list[tuple[int, int]]] = [[] for _ in range(graph.target.tiles)]
    for k, owner in enumerate(owners.tolist()):
        intervals[tiles[owner]].append((k, k + 1))
    graph.set_tile_mapping(tensor, intervals)


def seen(data: st.DataObject, tensor: pl.Tensor, other: pl.Tensor, *, often: bool) -> pl.Tensor:
    """Return elements of a vector in some order; `often` where one may come several times."""
    half = tensor.num_elements // 2
    ways = ["whole", "backwards", "turned", "every other", "of two", *["transposed"] * (half > 0)]
    way = data.draw(st.sampled_from(ways + ["again and again", "one of them"] * often))
    if way == "transposed":
        return tensor[: 2 * half].reshape((2, half)).dim_shuffle((1, 0)).flatten()
    ordered: dict[str, Any] = {
        "whole": lambda: tensor,
        "backwards": lambda: tensor[::-1],
        "turned": lambda: pl.concat([tensor[half:], tensor[:half]]),
        "every other": lambda: tensor[::2],
        "of two": lambda: pl.concat([tensor[:1], other, tensor[1:]]),
        "again and again": lambda: tensor.broadcast(3, 0),
        "one of them": lambda: tensor[-1:].broadcast(40, 0),
    }
    view: pl.Tensor = ordered[way]()
    return view


def told(phases: tuple[PhaseCost, ...], tiles: int) -> list[list[object]]:
    """Return all that phases say, whatever form their numbers have."""

    def numbers(value: object) -> object:
        match value:
            case PerTile():
                return value.array().tolist()
            case TilePairs():
                return value.block, value.matrix().tolist(), value.largest
        return value

    return [[numbers(getattr(phase, each.name)) for each in fields(phase)] for phase in phases]


@given(st.data(), st.sampled_from(["gc2", "c600"]), st.sampled_from([1, 1, 2]))
def test_a_copy_costs_the_same_either_way(
    data: st.DataObject, architecture: Literal["gc2", "c600"], ipus: int
) -> None:
    graph = pl.Graph(machine(architecture, ipus))
    kind = data.draw(st.sampled_from([pl.FLOAT, pl.HALF, pl.CHAR]))
    size = st.sampled_from(SIZES)
    drawn = [graph.add_variable(kind, (data.draw(size),), name) for name in "abcd"]
    pool = data.draw(st.lists(st.integers(0, graph.target.tiles - 1), min_size=1, max_size=3))
    for tensor in drawn:
        mapped(data, graph, tensor, pool)
    a, b, c, d = drawn
    tiles = graph.target.tiles
    for _ in range(3):  # the others may find what is kept of the first one
        source, to = seen(data, a, b, often=True), seen(data, c, d, often=False)
        most = min(source.num_elements, to.num_elements)
        count = data.draw(st.one_of(st.just(most), st.integers(1, most)))
        copy = pl.Copy(source[:count], to[:count])
        found = phases_of_copy(graph, copy)
        with mock.patch.object(exchange, "phases_of_few", return_value=None):
            compiled = phases_of_copy(graph, copy)
        assert told(found, tiles) == told(compiled, tiles)


def test_plain_copies_take_no_arrays() -> None:
    graph = pl.Graph(machine("c600", 2))
    a, b, d = (graph.add_variable(pl.FLOAT, (9,), mapping=tile) for tile in (1, 2, 2))
    c = graph.add_variable(pl.FLOAT, (16,), mapping="linear")

    def is_plain(source: pl.Tensor, to: pl.Tensor) -> bool:
        copy = pl.Copy(source, to)
        ends = source.view, to.view
        return phases_of_few(graph.target, locations_of(graph), copy, ends) is not None

    assert is_plain(a, b)
    assert is_plain(a[::-1], b)
    assert is_plain(d[::-1], b)
    assert is_plain(a[:6], c[:6])
    assert not is_plain(pl.concat([b[4:], c[:4]]), a)  # its runs are found by a kernel
    assert not is_plain(a, c[:9])  # to another IPU


def test_what_is_kept_tells_one_element_for_two_tiles_from_two() -> None:
    graph = pl.Graph(machine("c600", 1))
    a = graph.add_variable(pl.FLOAT, (2,), mapping=0)
    b = graph.add_variable(pl.FLOAT, (2,))
    graph.set_tile_mapping(b, [[], [], [(0, 1)], [], [(1, 2)]])
    sent = []
    for source in (a, a[:1].broadcast(2, 0), a[1:].broadcast(2, 0), a[::-1]):
        (phase,) = phases_of_copy(graph, pl.Copy(source, b))
        sent.append((phase.sent.total, phase.received.total))
    assert sent == [(8, 8), (4, 8), (4, 8), (8, 8)]
