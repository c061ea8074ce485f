"""Virtual graphs: shared content, own tile numbers, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poplite as pl
from poplite.graph.partition import map_blocks

MACHINE = pl.Target(tiles=16, ipus=2)


class Scale(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]
    by: pl.Input[pl.FLOAT]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = self.by * self.x[i]


@pytest.mark.parametrize("interpret", [False, True])
def test_one_program_of_several_graphs_runs(interpret: bool) -> None:
    graph = pl.Graph(MACHINE)
    first, second = graph.create_virtual_graph(8), graph.create_virtual_graph(8, 16)
    x = first.add_variable(pl.FLOAT, (4,), "x", mapping="linear")
    y = second.add_variable(pl.FLOAT, (4,), "y", mapping=3)
    cs = second.add_compute_set("scale")
    first.add_vertex(cs, Scale, tile=1, x=x, by=2.0)
    second.add_vertices(cs, Scale, tile=[0], x=y.expand([0]), by=y.graph.add_constant(
        pl.FLOAT, (1,), [3.0], mapping=0))  # fmt: skip
    loop = first.add_function(pl.Execute(cs), "loop")
    program = pl.Sequence(pl.Copy(pl.concat([x, x])[2:6], y), pl.Call(loop), pl.Execute(cs))
    for by in (graph, first, second.create_virtual_graph([1, 0])):
        engine = pl.Engine(by, program, interpret=interpret)
        engine.write(x, [1, 2, 3, 4])
        engine.run()
        assert engine.read(x).tolist() == [4, 8, 12, 16]
        assert engine.read(y).tolist() == [27, 36, 9, 18]
    assert [vertex.tile for vertex in cs.vertices] == [1, 8]


def test_names_variables_and_scopes_are_shared() -> None:
    graph = pl.Graph(MACHINE)
    part = graph.create_virtual_graph(4, 8).create_virtual_graph([3, 1])
    with graph.scope("outer"), part.scope("inner"):
        a = part.add_variable(pl.FLOAT, (2,), "a", mapping="linear", initial_value=1)
        b = graph.add_constant(pl.FLOAT, (), 2, "a", mapping=0)
    assert (a.name, b.name) == ("outer/inner/a", "outer/inner/a_1")
    assert [variable.name for variable in part.variables] == [a.name, b.name]
    assert repr(graph) == "<Graph 16 tiles, 1 variable, 1 constant, 0 compute sets, 0 vertices>"
    assert repr(part) == f"<VirtualGraph of tiles 7, 5 of {graph!r}>"
    with pytest.raises(pl.InvalidTileMapping, match="tile 9, but the virtual graph has 2 tiles"):
        part.add_variable(pl.QUARTER, (2,), "bad", metadata=pl.QuarterMetadata("F143"), mapping=9)
    assert graph.add_variable(pl.FLOAT, (1,), "bad").name == "bad"


def test_metadata_and_blocks_stay_within_the_tiles() -> None:
    graph = pl.Graph(MACHINE)
    part = graph.create_virtual_graph([9, 14, 3, 4])
    x = part.add_variable(
        pl.QUARTER, (4, 6), "x", mapping=1, metadata=pl.QuarterMetadata("F143", scale=2)
    )
    assert x.metadata is not None
    assert graph.tile_mapping(x.metadata).tiles.tolist() == [9]
    y = part.clone(x)
    blocks = map_blocks(part, y)
    owners = [graph.tile_mapping(y[rows, cols]).tiles.tolist() for rows, cols in blocks]
    assert owners == [[9], [14], [3], [4]]


@pytest.mark.parametrize(
    ("tiles", "ipus"),
    [
        (range(8), 1),
        (range(16), 2),
        ([12, 0], 2),
        ([2, 3, 9, 8], 2),
        ([0, 9, 1], 1),
        ([0, 1, 9], 1),
        ([1, 9, 2, 10], 1),
    ],
)
def test_a_virtual_target_has_whole_shares_of_ipus_or_one(tiles: Any, ipus: int) -> None:
    target = pl.Graph(MACHINE).create_virtual_graph(list(tiles)).target
    assert (target.tiles, target.ipus) == (len(tiles), ipus)
    assert (target.workers, target.clock_hz) == (MACHINE.workers, MACHINE.clock_hz)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((17,), "tiles up to 17, but the graph has 16 tiles"),
        ((-1,), "tiles up to -1, but the graph has 16 tiles"),
        ((4, 17), "tiles up to 17, but the graph has 16 tiles"),
        ((0,), "tiles 0 up to 0 selects no tile, but at least 1 is needed"),
        ((8, 5), "tiles 8 up to 5 selects no tile, but at least 1 is needed"),
        (([],), r"tiles \[\] selects no tile, but at least 1 is needed"),
        (([3, 16],), "tile 16, but the graph has 16 tiles"),
        (([-1],), "tile -1, but the graph has 16 tiles"),
        (([5, 2, 5],), "tile 5 is listed as tile 0 and as tile 2"),
        (("all",), "'all' is not a list of tile numbers"),
        ((2.5,), "2.5 is not a list of tile numbers"),
        (([0.5],), r"\[0.5\] is not a list of tile numbers"),
        (([[1], [2, 3]],), r"\[\[1\], \[2, 3\]\] is not a list of tile numbers"),
        (([1, 2], 4), r"\[1, 2\] with upper=4 is not a list of tile numbers"),
        ((True,), "True is not a tile number"),
        ((0, 2.5), "2.5 is not a tile number"),
    ],
)
def test_tiles_of_a_virtual_graph_are_checked(arguments: tuple[Any, ...], message: str) -> None:
    graph = pl.Graph(MACHINE)
    match = rf"(?s)^create_virtual_graph: {message} .*test_virtual_graph.py.*tiles are 0-15 of <Gr"
    with pytest.raises(pl.InvalidTileMapping, match=match):
        graph.create_virtual_graph(*arguments)


def test_tiles_beyond_a_virtual_graph_are_refused() -> None:
    graph = pl.Graph(MACHINE)
    part = graph.create_virtual_graph(4, 8)
    x = part.add_variable(pl.FLOAT, (2,), "x", mapping="linear")
    cs = part.add_compute_set("scale")
    for listed in (
        lambda: part.set_tile_mapping(x, [[], [], [], [], [(0, 1)]]),
        lambda: part.add_vertices(cs, Scale, tile=[0, 4], x=x.reshape((2, 1)), by=1.0),
    ):
        with pytest.raises(pl.InvalidTileMapping, match="tile 4, but the graph has 4 tiles"):
            listed()
    message = (
        "(?s)tile 4, but the virtual graph has 4 tiles.*it counts from 0: <VirtualGraph of tiles "
        "4-7 of .*convert_top_level_graph_tile_to_tile.4"
    )
    for refused in (
        lambda: part.set_tile_mapping(x, 4),
        lambda: part.add_variable(pl.FLOAT, (2,), mapping=4),
        lambda: part.add_vertex(cs, Scale, tile=4),
        lambda: part.add_vertices(cs, Scale, tile=4, x=x.reshape((2, 1)), by=1.0),
        lambda: part.convert_tile_to_top_level_graph_tile(4),
    ):
        with pytest.raises(pl.InvalidTileMapping, match=message):
            refused()
    assert not cs.vertices


def test_tiles_are_converted_only_where_there_are_such() -> None:
    part = pl.Graph(MACHINE).create_virtual_graph(4, 8)
    outside = "(?s)^tile 3 of the top-level graph is not among this virtual graph's 4 .*tiles 4-7"
    with pytest.raises(pl.InvalidTileMapping, match=outside):
        part.convert_top_level_graph_tile_to_tile(3)
    outside = "^convert_top_level_graph_tile_to_tile: tile 16, but the graph has 16 tiles"
    with pytest.raises(pl.InvalidTileMapping, match=outside):
        part.convert_physical_tile_to_virtual_tile(16)
    assert part.convert_physical_tile_to_virtual_tile(0, 5) == 1
    with pytest.raises(pl.InvalidTileMapping, match="^IPU 2 of a pair .*, but there are 2 IPUs"):
        part.convert_physical_tile_to_virtual_tile(2, 0)
    with pytest.raises(pl.InvalidTileMapping, match="^tile 8 of a pair .*, but there are 8 tiles"):
        part.convert_physical_tile_to_virtual_tile(1, 8)


def test_elements_elsewhere_are_unmapped_here() -> None:
    graph = pl.Graph(MACHINE)
    part = graph.create_virtual_graph([6, 2])
    x = graph.add_variable(pl.FLOAT, (16,), "x", mapping="linear")
    message = (
        r"(?s)^'x': 14 of 16 elements, the first \[0, 2\), are on no tile of this virtual graph .*"
        r"test_virtual_graph.py.*top-level graph: on tiles 0-1, 3-5, 7-15; .*require_complete"
    )
    with pytest.raises(pl.InvalidTileMapping, match=message):
        part.tile_mapping(x)
    assert part.tile_mapping(x, require_complete=False) == [[(6, 7)], [(2, 3)]]
    holes = graph.add_variable(pl.FLOAT, (4,), "holes", mapping=[[(0, 2)]])
    with pytest.raises(
        pl.InvalidTileMapping, match=r"'holes': elements \[2, 4\) of 4 have no tile"
    ):
        part.tile_mapping(holes)


def test_what_the_host_sees_is_shared() -> None:
    graph = pl.Graph(MACHINE)
    part = graph.create_virtual_graph(4, 8)
    feed = part.add_host_to_device_fifo("feed", pl.FLOAT, 4)
    table = part.add_remote_buffer("table", pl.FLOAT, 4, repeats=2)
    function = part.add_host_function("report", [(pl.FLOAT, 4)], [])
    code = part.add_function(pl.Sequence(), "code")
    assert {feed.graph, table.graph, function.graph, code.graph} == {graph}
    part.add_function_buffer(code)
    x = part.add_variable(pl.FLOAT, (4,), "x", mapping="linear")
    part.create_host_read("x", x)
    engine = pl.Engine(part, pl.Copy(feed, x))
    engine.connect_stream("feed", np.arange(4, dtype=np.float32))
    engine.run()
    assert engine.read(x).tolist() == [0, 1, 2, 3]
    with pytest.raises(pl.PopliteError, match="'feed'"):
        graph.add_device_to_host_fifo("feed", pl.FLOAT, 4)


def test_replicas_share_the_virtual_graphs_of_one() -> None:
    graph = pl.Graph(MACHINE, replication_factor=2)
    part = graph.create_virtual_graph(4, 8)
    assert (graph.target.tiles, part.target.tiles, part.replication_factor) == (8, 4, 2)


def test_another_graph_is_still_another() -> None:
    part = pl.Graph(MACHINE).create_virtual_graph(4)
    foreign = pl.Graph(MACHINE).create_virtual_graph(4)
    x = foreign.add_variable(pl.FLOAT, (4,), "x", mapping=0)
    cs = part.add_compute_set("scale")
    with pytest.raises(pl.GraphConnectionError, match="'x' belongs to another graph"):
        part.set_tile_mapping(x, 0)
    with pytest.raises(pl.GraphConnectionError, match="'x' belongs to another graph"):
        part.add_vertex(cs, Scale, tile=0, x=x)
    with pytest.raises(pl.GraphConnectionError, match="is not a compute set of"):
        foreign.add_vertex(cs, Scale, tile=0)
    vertex = part.add_vertex(cs, Scale)
    with pytest.raises(pl.GraphConnectionError, match="belongs to another graph"):
        foreign.set_tile_mapping(vertex, 0)


def test_a_constant_that_moves_is_told_by_top_level_tiles() -> None:
    graph = pl.Graph(MACHINE)
    part = graph.create_virtual_graph(4, 8)
    taps = part.add_constant(pl.FLOAT, (2,), [1, 2], "taps", mapping=1)
    with pytest.warns(pl.ConstantRemappedWarning, match="was on tile 5 and is on tile 7 now"):
        part.set_tile_mapping(taps, 3)


def test_numpy_numbers_are_tiles() -> None:
    graph = pl.Graph(MACHINE)
    part = graph.create_virtual_graph(np.int32(4), np.int32(6))
    assert part.create_virtual_graph(np.array([1])).convert_tile_to_top_level_graph_tile(0) == 5


def test_what_is_set_on_a_virtual_graph_stays_there() -> None:
    graph = pl.Graph(pl.Target(tiles=8))
    virtual = graph.create_virtual_graph(4)
    virtual.note = "the left half"  # type: ignore[attr-defined]
    assert not hasattr(graph, "note")
    assert virtual.target.tiles == 4
    assert graph.target.tiles == 8
    with pytest.raises(AttributeError, match="'VirtualGraph' object has no attribute 'nothing'"):
        virtual.nothing  # type: ignore[attr-defined]  # noqa: B018
