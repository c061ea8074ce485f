"""Other graphs: virtual ones that share content, then clones."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from poplite.graph.partitioners import map_blocks, map_linearly
from poplite.testing import check_tensor
from poplite.view import Storage, addresses

# -- virtual graphs --------------------------------------------------------------------------------


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
        ((0,), "tiles 0 up to 0 selects no tile; at least 1 is needed"),
        ((8, 5), "tiles 8 up to 5 selects no tile; at least 1 is needed"),
        (([],), r"tiles \[\] selects no tile; at least 1 is needed"),
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
    match = rf"(?s)^create_virtual_graph: {message} .*test_virtual_graph.py.*tiles are 0-15 in <Gr"
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
        "(?s)tile 4, but the virtual graph has 4 tiles.*its tiles are numbered from 0: "
        "<VirtualGraph of tiles 4-7 of .*convert_top_level_graph_tile_to_tile.4"
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
    outside = "(?s)^tile 3 of the top-level graph is not among the 4 tiles .*tiles 4-7"
    with pytest.raises(pl.InvalidTileMapping, match=outside):
        part.convert_top_level_graph_tile_to_tile(3)
    outside = "^convert_top_level_graph_tile_to_tile: tile 16, but the graph has 16 tiles"
    with pytest.raises(pl.InvalidTileMapping, match=outside):
        part.convert_physical_tile_to_virtual_tile(16)
    assert part.convert_physical_tile_to_virtual_tile(0, 5) == 1
    with pytest.raises(pl.InvalidTileMapping, match="^IPU 2 in a pair .*, but there are 2 IPUs"):
        part.convert_physical_tile_to_virtual_tile(2, 0)
    with pytest.raises(pl.InvalidTileMapping, match="^tile 8 in a pair .*, but there are 8 tiles"):
        part.convert_physical_tile_to_virtual_tile(1, 8)


def test_elements_elsewhere_are_unmapped_here() -> None:
    graph = pl.Graph(MACHINE)
    part = graph.create_virtual_graph([6, 2])
    x = graph.add_variable(pl.FLOAT, (16,), "x", mapping="linear")
    message = (
        r"(?s)^'x': 14 of 16 elements, the first \[0, 2\), are on no tile of this virtual graph .*"
        r"test_virtual_graph.py.*on tiles 0-1, 3-5, 7-15 of the top-level graph; .*require_complete"
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


# -- clones ----------------------------------------------------------------------------------------


Method = pl.TensorCloneMethod
BY_TILE = pl.TensorCloneDuplicationMethod.DUPLICATE_BY_TILE_CONTIGUOUS_REGION


def graph_of(tiles: int = 4) -> pl.Graph:
    return pl.Graph(pl.Target(tiles=tiles))


def order(graph: pl.Graph, clone: pl.Tensor) -> list[int]:
    """Where in the last variable the clone's elements lie."""
    flat = addresses(clone.view).reshape(-1) - graph.variables[-1].storage.base
    return [int(i) for i in flat]


def test_a_clone_of_a_transposed_tensor_keeps_the_order_of_memory() -> None:
    graph = graph_of()
    x = graph.add_variable(pl.FLOAT, (2, 3), "x", mapping="linear")
    clone = graph.clone(x.T)
    assert (clone.shape, clone.name, clone.element_type) == ((3, 2), "x_1", pl.FLOAT)
    assert order(graph, clone) == [0, 3, 1, 4, 2, 5]
    assert graph.tile_mapping(clone) == graph.tile_mapping(x.T)
    assert order(graph, graph.clone(x.T, method=Method.CREATE_NEW_ORDER)) == [0, 1, 2, 3, 4, 5]


def test_gaps_close_and_reversed_elements_stay_reversed() -> None:
    graph = graph_of()
    x = graph.add_variable(pl.FLOAT, (12,), "x")
    assert order(graph, graph.clone(x[10:1:-3])) == [2, 1, 0]
    assert graph.variables[-1].num_elements == 3
    joined = pl.concat([x[8:10], x[1:3], x[4:5]])
    assert order(graph, graph.clone(joined)) == [3, 4, 0, 1, 2]
    assert graph.variables[-1].num_elements == 5


def test_aliases_are_kept_or_resolved_as_the_method_says() -> None:
    graph = graph_of()
    x = graph.add_variable(pl.FLOAT, (5,), "x", mapping="linear")
    windows = pl.concat([x[i : i + 3].expand([0]) for i in range(3)])
    assert order(graph, graph.clone(windows)) == list(range(9))
    kept = graph.clone(windows, method=Method.PRESERVE_ORDER_AND_ALIASES)
    assert order(graph, kept) == [0, 1, 2, 1, 2, 3, 2, 3, 4]
    assert graph.variables[-1].num_elements == 5
    repeated = graph.clone(x[:2].broadcast(3, 0), method=Method.PRESERVE_ORDER_AND_ALIASES)
    assert order(graph, repeated) == [0, 1] * 3


def test_gathering_puts_the_elements_of_a_tile_side_by_side_unmapped_ones_last() -> None:
    graph = graph_of()
    x = graph.add_variable(pl.FLOAT, (8,), "x")
    for begin, tile in ((0, 1), (2, 0), (6, 1)):
        graph.set_tile_mapping(x[begin : begin + 2], tile)
    method = Method.GATHER_AND_PRESERVE_TILE_ORDER_AND_ALIASES
    clone = graph.clone(x[::-1], method=method)
    #  memory of the clone: elements 2 3 of tile 0, 0 1 6 7 of tile 1, then 4 5
    assert order(graph, clone) == [5, 4, 7, 6, 1, 0, 3, 2]
    mapping = graph.variable_tile_mapping(clone)
    assert mapping == [[(0, 2)], [(2, 6)], [], []]
    assert mapping.unmapped == [(6, 8)]


def test_copies_lie_side_by_side_for_each_range_of_memory_on_one_tile() -> None:
    graph = graph_of()
    x = graph.add_variable(pl.FLOAT, (5,), "x", mapping=[[(0, 2)], [(2, 5)]])
    clones = graph.clone_n(x, 2, duplication=BY_TILE)
    assert clones.shape == (2, 5)
    assert order(graph, clones) == [0, 1, 4, 5, 6, 2, 3, 7, 8, 9]
    assert graph.variable_tile_mapping(clones) == [[(0, 4)], [(4, 10)]]
    outer = graph.clone_n(x, 2, "copy")
    assert [variable.name for variable in graph.variables[-2:]] == ["copy", "copy_1"]
    assert outer[0].is_contiguous()
    assert not outer.contains_aliases()


@pytest.mark.parametrize("method", Method)
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1, 1)])
def test_small_shapes(method: pl.TensorCloneMethod, shape: tuple[int, ...]) -> None:
    graph = graph_of()
    x = graph.add_variable(pl.FLOAT, shape, "x", mapping="linear")
    clone = graph.clone(x, method=method)
    size = int(np.prod(shape))
    first = graph.variables[-1].storage.base
    check_tensor(clone, np.arange(first, first + size).reshape(shape))
    assert graph.clone_n(x, 3, method=method).shape == (3, *shape)
    assert graph.clone_n(x, 0, method=method).shape == (0, *shape)
    if method is not Method.CREATE_NEW_ORDER:
        assert graph.clone_n(x, 2, method=method, duplication=BY_TILE).shape == (2, *shape)


def test_what_was_constant_is_variable_without_a_value() -> None:
    graph = graph_of()
    taps = graph.add_constant(pl.INT, (3,), [1, 2, 3], "taps", mapping=2)
    clone = graph.clone(taps)
    assert not graph.variables[-1].constant
    assert graph.variables[-1].initial_value is None
    assert clone.is_parallel_writeable()
    assert graph.tile_mapping(clone)[2] == [(0, 3)]


def test_another_element_type_and_name_within_the_scope() -> None:
    graph = graph_of()
    with graph.scope("layer"):
        x = graph.add_variable(pl.HALF, (4,), "x")
        clone = graph.clone(x, "sum", element_type=pl.FLOAT)
        same = graph.clone(x)
    assert (clone.name, clone.element_type) == ("layer/sum", pl.FLOAT)
    assert (same.name, same.element_type) == ("layer/x_1", pl.HALF)


def test_the_metadata_of_quarter_is_kept_replaced_or_asked_for() -> None:
    graph = graph_of()
    metadata = pl.QuarterMetadata("F143", scale=-2)
    x = graph.add_variable(pl.QUARTER, (4,), "x", metadata=metadata)
    assert graph.clone(x).metadata == x.metadata
    other = graph.clone(x, metadata=pl.QuarterMetadata("F152")).metadata
    assert other is not None
    assert other != x.metadata
    assert graph.clone(x, element_type=pl.HALF).metadata is None
    assert graph.clone_n(x, 2).metadata == x.metadata
    before = graph.variables
    plain = graph.add_variable(pl.UNSIGNED_CHAR, (4,), "plain")
    with pytest.raises(pl.TensorMetadataError, match="plain"):
        graph.clone(plain, element_type=pl.QUARTER)
    assert graph.variables == (*before, graph.variables[-1])


def test_huge_transposed_tensors_are_cloned_as_strides() -> None:
    graph = graph_of(1472)
    x = graph.add_variable(pl.FLOAT, (1 << 20, 1 << 20), "x", mapping="linear")
    for method in set(Method) - {Method.CREATE_NEW_ORDER}:
        clone = graph.clone(x.T, method=method)
        assert isinstance(clone.view.space, Storage)
        assert clone[1, 2].var_regions() == [(graph.variables[-1], (2 << 20) + 1, (2 << 20) + 2)]
    half = graph.clone(x.T[:, ::2])
    assert graph.variables[-1].num_elements == 1 << 39
    assert half[7, 5].var_regions()[0].begin == (5 << 20) + 7


def test_a_reshape_that_fits_no_strides_is_cloned_without_listing_elements() -> None:
    graph = graph_of()
    x = graph.add_variable(pl.FLOAT, (3 << 20, 1 << 20), "x", mapping=0)
    clone = graph.clone(x.T.reshape((1 << 21, 3 << 19)).T)
    assert graph.variables[-1].num_elements == 3 << 40
    #  element 1 of row-major x.T is x[1, 0]
    assert clone[1, 0].var_regions()[0].begin == 1 << 20


def test_wrong_arguments_are_refused_with_what_was_given() -> None:
    graph = graph_of()
    x = graph.add_variable(pl.FLOAT, (4,), "x")
    with pytest.raises(pl.ElementTypeError, match="'new' is not in TensorCloneMethod") as raised:
        graph.clone(x, method="new")  # type: ignore[call-overload]
    assert "try: pass TensorCloneMethod.PRESERVE_ORDER_AND_ALIASES" in str(raised.value)
    with pytest.raises(
        pl.ElementTypeError, match="duplication: 2 is not in TensorCloneDuplication"
    ):
        graph.clone_n(x, 2, duplication=2)  # type: ignore[arg-type]
    with pytest.raises(pl.TensorIndexError, match="-1"):
        graph.clone_n(x, -1)
    with pytest.raises(pl.ElementTypeError, match="list is not a tensor"):
        graph.clone([1.0])  # type: ignore[call-overload]
    with pytest.raises(pl.GraphConnectionError, match="'x' belongs to another graph"):
        graph_of().clone(x)
    assert len(graph.variables) == 1


def test_copies_by_tile_are_refused_where_the_order_is_new() -> None:
    graph = graph_of()
    x = graph.add_variable(pl.FLOAT, (4,), "x")
    told = "keep the order of 'x', but CREATE_NEW_ORDER creates a new order"
    with pytest.raises(pl.TensorCreationError, match=told) as raised:
        graph.clone_n(x, 2, method=Method.CREATE_NEW_ORDER, duplication=BY_TILE)
    assert re.search(r"\(.*test_virtual_graph\.py:\d+ in test_copies", str(raised.value))
    assert "or duplication=pl.TensorCloneDuplicationMethod.DUPLICATE_BY_OUTER" in raised.value.fix
    with pytest.raises(pl.TensorCreationError, match="since 'x' contains elements twice"):
        graph.clone_n(x.broadcast(2, 0), 2, duplication=BY_TILE)


def test_a_billion_elements_in_a_new_order_keep_their_tiles() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.FLOAT, (2**15, 2**15), "x", mapping="linear")
    new = graph.clone(x.T, method=pl.TensorCloneMethod.CREATE_NEW_ORDER)
    assert new.is_contiguous()
    assert graph.tile_mapping(new) == graph.tile_mapping(x.T)
    half = graph.clone(x[:, ::2])
    assert graph.variables[-1].num_elements == 2**29
    assert graph.tile_mapping(half) == graph.tile_mapping(x[:, ::2])


# -- virtual graphs nested at random ---------------------------------------------------------------


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
