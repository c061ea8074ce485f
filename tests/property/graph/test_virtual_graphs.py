"""Virtual graphs, nested at random, against arrays of top-level tile numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from poplite.graph.partition import map_linearly

Tiles = npt.NDArray[np.int64]


class Touch(pl.Vertex):
    x: pl.InOut[pl.FLOAT]
    a: pl.Input[pl.FLOAT]

    def compute(self) -> None:
        self.x = self.a * self.x


@dataclass
class Nested:
    """A graph, virtual or not, and the top-level number of each of its tiles."""

    graph: pl.Graph
    tiles: Tiles


@st.composite
def nests(draw: st.DrawFn) -> list[Nested]:
    """Draw a top-level graph, and virtual graphs each of an earlier one."""
    count = draw(st.integers(1, 12))
    made = [Nested(pl.Graph(pl.Target(tiles=count)), np.arange(count))]
    for _ in range(draw(st.integers(1, 4))):
        base = draw(st.sampled_from(made))
        size = len(base.tiles)
        match draw(st.sampled_from(["first", "range", "list"])):
            case "first":
                n = draw(st.integers(1, size))
                made.append(Nested(base.graph.create_virtual_graph(n), base.tiles[:n]))
            case "range":
                low = draw(st.integers(0, size - 1))
                high = draw(st.integers(low + 1, size))
                made.append(
                    Nested(base.graph.create_virtual_graph(low, high), base.tiles[low:high])
                )
            case _:
                order = draw(st.permutations(range(size)))[: draw(st.integers(1, size))]
                graph = base.graph.create_virtual_graph(order)
                made.append(Nested(graph, base.tiles[order]))
    return made


def tiles_by_element(mapping: pl.TileMapping) -> Tiles:
    """Return the tile of each element, -1 for none."""
    tiles = np.full(mapping.num_elements, -1)
    for tile, intervals in enumerate(mapping):
        for begin, end in intervals:
            tiles[begin:end] = tile
    return tiles


def own(nested: Nested, top: Tiles) -> Tiles:
    """Return a virtual graph's numbers of top-level tiles, -1 for those it is not over."""
    number = {int(tile): k for k, tile in enumerate(nested.tiles)}
    return np.array([number.get(int(tile), -1) for tile in top], np.int64)


@given(nests(), st.data())
def test_tiles_go_down_and_come_back(made: list[Nested], data: st.DataObject) -> None:
    top = made[0].graph
    by, other = data.draw(st.sampled_from(made)), data.draw(st.sampled_from(made))
    count = data.draw(st.integers(1, 9))
    x = by.graph.add_variable(pl.FLOAT, (count,), "x", mapping="linear")
    expected = _spread(count, by.tiles)
    for _ in range(data.draw(st.integers(0, 3))):
        low = data.draw(st.integers(0, count - 1))
        high = data.draw(st.integers(low, count))
        tile = data.draw(st.integers(0, len(other.tiles) - 1))
        match data.draw(st.sampled_from(["tile", "intervals", "linear"])):
            case "tile":
                other.graph.set_tile_mapping(x[low:high], tile)
                expected[low:high] = other.tiles[tile]
            case "intervals":
                nested: list[list[tuple[int, int]]] = [[] for _ in other.tiles]
                nested[tile] = [(low, high)]
                other.graph.set_tile_mapping(x, nested)
                expected[low:high] = other.tiles[tile]
            case _:
                map_linearly(other.graph, x[low:high])
                expected[low:high] = _spread(high - low, other.tiles)
    for asked in made:
        mapping = asked.graph.tile_mapping(x, require_complete=False)
        assert len(mapping) == asked.graph.target.tiles == len(asked.tiles)
        assert tiles_by_element(mapping).tolist() == own(asked, expected).tolist()
        assert asked.graph.variable_tile_mapping(x[0]) == mapping
        if np.isin(expected, asked.tiles).all():
            assert asked.graph.tile_mapping(x) == mapping
            regions = asked.graph.sorted_contiguous_regions_by_tile(x.reverse(0))
            for tile, groups in enumerate(regions):
                listed = [k for group in groups for begin, end in group for k in range(begin, end)]
                here = np.flatnonzero(asked.tiles[tile] == expected[::-1])
                assert sorted(listed) == here.tolist()
        else:
            with pytest.raises(pl.InvalidTileMapping, match="on no tile of this virtual graph"):
                asked.graph.tile_mapping(x)
            with pytest.raises(pl.InvalidTileMapping, match="on no tile of this virtual graph"):
                asked.graph.sorted_contiguous_regions_by_tile(x)
    assert x.graph is top
    assert top.clone(x).graph.tile_mapping(top.clone(x)) == top.tile_mapping(x)


def _spread(count: int, tiles: Tiles) -> Tiles:
    """Return the tile of each of some elements that are spread evenly over tiles."""
    used = min(count, len(tiles))
    shares = np.diff(np.arange(used + 1) * count // max(used, 1))
    return np.repeat(tiles[:used], shares)


@given(nests())
def test_tile_numbers_convert_both_ways(made: list[Nested]) -> None:
    for nested in made:
        graph = nested.graph
        assert graph.top_level_graph is made[0].graph
        for tile, top in enumerate(nested.tiles.tolist()):
            assert graph.convert_tile_to_top_level_graph_tile(tile) == top
            assert graph.convert_virtual_tile_to_physical_tile(tile) == top
            assert graph.convert_top_level_graph_tile_to_tile(top) == tile
            assert graph.convert_physical_tile_to_virtual_tile(0, top) == tile
        for top in set(made[0].tiles.tolist()) - set(nested.tiles.tolist()):
            with pytest.raises(pl.InvalidTileMapping, match=f"^tile {top} of the top-level graph"):
                graph.convert_top_level_graph_tile_to_tile(top)


@given(nests(), st.data())
def test_vertices_go_to_the_tiles_of_the_graph_that_adds_them(
    made: list[Nested], data: st.DataObject
) -> None:
    by, other = data.draw(st.sampled_from(made)), data.draw(st.sampled_from(made))
    cs = by.graph.add_compute_set("touch")
    count = data.draw(st.integers(1, 5))
    x = other.graph.add_variable(pl.FLOAT, (count + 1,), mapping="linear")
    own_tiles = data.draw(
        st.lists(st.integers(0, len(other.tiles) - 1), min_size=count, max_size=count)
    )
    block = other.graph.add_vertices(cs, Touch, tile=own_tiles, x=x[:count], a=2.0)
    assert [vertex.tile for vertex in block] == other.tiles[own_tiles].tolist()
    one = by.graph.add_vertex(cs, Touch, x=x[count], a=3.0)
    by.graph.set_tile_mapping(one, len(by.tiles) - 1)
    assert one.tile == by.tiles[-1]
    assert by.graph.top_level_graph.tile_mapping(one.constants[0]).tiles.tolist() == [one.tile]
    assert made[0].graph.num_vertices == by.graph.num_vertices == count + 1
    assert other.graph.compute_sets == (cs,)
