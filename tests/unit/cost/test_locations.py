"""Places in the memory of tiles: what Copies and compute sets cost depends on nothing else."""

from __future__ import annotations

import gc
import weakref
from unittest import mock

import numpy as np
import pytest

import poplite as pl
from poplite.cost.exchange import locations
from poplite.cost.exchange.locations import locations_of
from poplite.cost.exchange.phases import phases_of_copy
from poplite.cost.step_cost import PhaseCost


def kinds(graph: pl.Graph, source: pl.Tensor, destination: pl.Tensor) -> list[str]:
    return [phase.kind for phase in phases_of_copy(graph, pl.Copy(source, destination))]


def gathered(sizes: list[int], tile: int) -> int:
    """Return the cycles of a Copy of four scalars, with other variables on a tile between them."""
    graph = pl.Graph(pl.Target(tiles=2))
    scalars = []
    for size in sizes:
        scalars.append(graph.add_variable(pl.FLOAT, (1,), mapping=0))
        if size:
            graph.add_variable(pl.FLOAT, (size,), mapping=tile)
    together = graph.add_variable(pl.FLOAT, (len(sizes),), mapping=0)
    (phase,) = phases_of_copy(graph, pl.Copy(pl.concat(scalars), together))
    return phase.cycles.most


def test_scalars_at_even_distances_in_memory_are_one_strided_copy() -> None:
    even = gathered([0, 0, 0, 0], 0)
    assert gathered([3, 3, 3, 0], 0) == even
    # What lies between them on their tile counts, what lies elsewhere does not.
    assert gathered([0, 5, 0, 0], 0) > even
    assert gathered([0, 5, 0, 0], 1) == even


def test_elements_on_no_tile_part_what_is_beside_them() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x, y = (graph.add_variable(pl.FLOAT, (size,)) for size in (6, 4))
    graph.set_tile_mapping(x, [[(0, 2), (4, 6)]])
    graph.set_tile_mapping(y, 0)
    (parted,) = phases_of_copy(graph, pl.Copy(pl.concat([x[:2], x[4:]]), y))
    graph.set_tile_mapping(x[2:4], 1)
    (joined,) = phases_of_copy(graph, pl.Copy(pl.concat([x[:2], x[4:]]), y))
    assert parted.copied.total == joined.copied.total == 16
    assert parted.cycles.most > joined.cycles.most


def test_a_mapping_that_changes_is_looked_at_again() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x, y = (graph.add_variable(pl.FLOAT, (8,), mapping=tile) for tile in (0, 1))
    assert kinds(graph, x, y) == ["exchange"]
    graph.set_tile_mapping(y, 0)
    assert kinds(graph, x, y) == ["copy"]
    graph.set_tile_mapping(y[4:], 2)
    assert kinds(graph, x, y) == ["copy", "exchange"]
    z = graph.add_variable(pl.FLOAT, (8,), mapping=3)
    assert kinds(graph, x, z) == ["exchange"]


def test_copies_alike_have_causes_of_their_own() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    tiles = {"a": 0, "b": 1, "c": 1}
    a, b, c = (graph.add_variable(pl.FLOAT, (8,), name, mapping=t) for name, t in tiles.items())
    one, other = (phases_of_copy(graph, pl.Copy(a, to))[0] for to in (b, c))
    assert one.cycles.array().tolist() == other.cycles.array().tolist()
    assert [phase.causes[0].what for phase in (one, other)] == ["'a' -> 'b'", "'a' -> 'c'"]
    longer = phases_of_copy(graph, pl.Copy(a[:4], c[4:]))[0]
    assert (longer.causes[0].bytes, longer.received.total) == (16, 16)


def test_what_is_found_does_not_keep_a_graph_alive() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    codes = graph.add_variable(pl.QUARTER, (4,), mapping=0, metadata=pl.QuarterMetadata("F143"))
    x, y = (graph.add_variable(pl.FLOAT, (4,), mapping=tile) for tile in (0, 1))
    assert kinds(graph, x, y) == ["exchange"]
    assert codes.metadata is not None
    lives = weakref.ref(graph)
    del graph, codes, x, y
    gc.collect()
    assert lives() is None


@pytest.mark.parametrize(("begin", "end"), [(0, 1), (5, 15), (3, 40), (0, 256), (255, 256)])
def test_slices_of_what_is_on_many_tiles(begin: int, end: int) -> None:
    graph = pl.Graph(pl.Target(tiles=64))
    x = graph.add_variable(pl.FLOAT, (256,), mapping="linear")
    y = graph.add_variable(pl.FLOAT, (256,))
    graph.set_tile_mapping(y, [[(4 * (k * 37 % 64), 4 * (k * 37 % 64) + 4)] for k in range(64)])
    for source, destination in ((x, y), (y, x)):
        copy = pl.Copy(source[begin:end], destination[: end - begin])
        phases = phases_of_copy(graph, copy)
        with mock.patch.object(locations, "FEW", 0):
            again = phases_of_copy(graph, copy)
        assert list(map(told, again)) == list(map(told, phases))
        assert sum(phase.received.total + phase.copied.total for phase in phases) == 4 * (
            end - begin
        )


def told(phase: PhaseCost) -> tuple[object, ...]:
    spreads = phase.cycles, phase.received, phase.sent, phase.copied, phase.controls
    return phase.kind, phase.causes, *[spread.array().tolist() for spread in spreads]


def test_tables_of_some_variables_say_what_that_of_all_does() -> None:
    graph = pl.Graph(pl.Target(tiles=8))
    tiles = np.random.default_rng(1).integers(0, 8, (20, 12))
    for own in tiles:
        graph.set_tile_mapping(
            graph.add_variable(pl.FLOAT, (12,)),
            [[(int(k), int(k) + 1) for k in np.flatnonzero(own == tile)] for tile in range(8)],
        )
    found = locations_of(graph)
    bases = np.array([variable.storage.base for variable in graph.variables])
    some, every = found.many(bases[[3, 5]]), found.many(np.repeat(bases, 12))
    assert len(some.tiles) < len(every.tiles)
    for number in (3, 5):
        for address in range(bases[number], bases[number] + 12):
            places = []
            for table in (some, every, found.few([address], [address + 1])):
                assert table is not None
                segment = int(np.searchsorted(table.breaks, address, side="right")) - 1
                places.append((table.tiles[segment], address + table.places[segment]))
            assert places[0] == places[1] == places[2]
            assert places[0][0] == tiles[number, address - bases[number]]


def test_reading_the_tiles_of_a_variable_leaves_what_is_known_of_the_graph() -> None:
    graph = pl.Graph(pl.Target(tiles=8))
    tensors = [graph.add_variable(pl.FLOAT, (4,), mapping=tile) for tile in range(8)]
    known = locations_of(graph)
    assert known.few([0], [4]) is not None
    assert graph.tile_mapping(tensors[1]).is_complete
    assert locations_of(graph) is known
    graph.set_tile_mapping(tensors[2], 3)
    assert locations_of(graph) is not known
