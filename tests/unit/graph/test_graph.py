"""Variables, constants, names, initial values and tile mappings of a graph."""

from __future__ import annotations

import inspect
import tracemalloc
from typing import Any

import numpy as np
import pytest

import poplite as pl
from poplite.errors import (
    ElementTypeError,
    GraphConnectionError,
    InvalidMachineModel,
    InvalidTileMapping,
    SizeOverflowError,
    TensorCreationError,
)
from poplite.graph import Graph
from poplite.graph.tensor.concat import concat
from poplite.machine.target import Target
from poplite.program import Copy, Execute, PrintTensor, Sequence, walk
from poplite.types import FLOAT, INT
from poplite.vertex import Vertex


class Nothing(Vertex):
    def compute(self) -> None:
        pass


@pytest.fixture
def graph() -> Graph:
    return Graph(Target(tiles=4))


class TestVariables:
    def test_a_variable_remembers_what_it_is_and_where_it_was_made(self, graph: Graph) -> None:
        tensor = graph.add_variable("float32", (2, 3), "x")
        (variable,) = graph.variables
        assert (tensor.shape, tensor.element_type, tensor.name) == ((2, 3), FLOAT, "x")
        assert (variable.name, variable.shape, variable.constant) == ("x", (2, 3), False)
        assert variable.location.file == __file__
        assert variable.location.function.startswith("test_a_variable_remembers")
        assert repr(variable) == "<Variable 'x' float32[2, 3]>"
        assert graph.variable_of(variable.storage) is variable

    def test_addresses_leave_a_gap_between_variables(self, graph: Graph) -> None:
        for shape in [(3,), (0,), (), (2,)]:
            graph.add_variable(INT, shape)
        assert [v.storage.base for v in graph.variables] == [0, 4, 5, 7]

    def test_a_plain_number_is_a_shape_of_rank_1(self, graph: Graph) -> None:
        assert graph.add_variable(INT, 5).shape == (5,)
        assert graph.add_variable(INT, np.int64(5)).shape == (5,)

    @pytest.mark.parametrize("shape", [(2, -1), (2.5,), "ab", None])
    def test_what_is_no_shape(self, graph: Graph, shape: object) -> None:
        with pytest.raises(TensorCreationError, match="'x': .* is not a shape"):
            graph.add_variable(INT, shape, "x")  # type: ignore[arg-type]
        with pytest.raises(TensorCreationError, match="'var0': .* is not a shape"):
            graph.add_variable(INT, shape)  # type: ignore[arg-type]

    def test_more_elements_than_addresses(self, graph: Graph) -> None:
        with pytest.raises(SizeOverflowError, match=f"{2**62:,} elements"):
            graph.add_variable(INT, (2**31, 2**31), "x")

    def test_unknown_element_types(self, graph: Graph) -> None:
        with pytest.raises(
            ElementTypeError, match=r"(?s)^'x': complex128 .*test_graph.py.*one of FLOAT"
        ):
            graph.add_variable(np.complex128, (2,), "x")
        with pytest.raises(
            ElementTypeError, match=r"(?s)^'x': 'float23' .*element type is 'float23'"
        ):
            graph.add_variable("float23", (2,), "x")

    def test_swapped_arguments(self, graph: Graph) -> None:
        with pytest.raises(
            ElementTypeError,
            match=r"(?s)a shape is needed, but FLOAT is an element type.*test_graph.py"
            r".*element type 'x', shape FLOAT, name \(4,\).*first.*\(FLOAT, \(4,\), 'x'\)",
        ):
            graph.add_variable("x", FLOAT, (4,))  # type: ignore[arg-type]

    def test_names_are_text(self, graph: Graph) -> None:
        message = "(?s)name of a variable must be a string, not 3 .*mapping="
        with pytest.raises(TensorCreationError, match=message):
            graph.add_variable(FLOAT, (4,), 3)  # type: ignore[arg-type]
        with pytest.raises(TensorCreationError, match=message):
            graph.add_constant(FLOAT, (4,), 1, 3)  # type: ignore[arg-type]
        with pytest.raises(TensorCreationError, match="compute set must be a string, not 3"):
            graph.add_compute_set(3)  # type: ignore[arg-type]
        assert graph.variables == ()
        assert graph.compute_sets == ()

    def test_a_huge_variable_allocates_nothing(self, graph: Graph) -> None:
        tracemalloc.start()
        x = graph.add_variable(FLOAT, (2**40,), "x", mapping="linear")
        assert repr(x).startswith("<Tensor 'x' float32[1099511627776] on 4 tiles (0-3), 4,398,")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 1 << 24

    def test_a_variable_that_is_refused_leaves_nothing_behind(self, graph: Graph) -> None:
        with pytest.raises(SizeOverflowError):
            graph.add_variable(INT, (1,), "x", initial_value=2**32)
        with pytest.raises(InvalidTileMapping):
            graph.add_constant(INT, (1,), 1, "x", mapping=4)
        assert graph.variables == ()
        assert graph.add_variable(INT, (1,), "x").name == "x"
        assert repr(graph) == "<Graph 4 tiles, 1 variable, 0 compute sets, 0 vertices>"

    def test_storage_of_another_graph(self, graph: Graph) -> None:
        other = Graph()
        other.add_variable(INT, (2,))
        with pytest.raises(GraphConnectionError, match="does not belong to <Graph 4 tiles"):
            graph.variable_of(other.variables[0].storage)

    def test_the_variable_of_a_tensor(self, graph: Graph) -> None:
        x, y = (graph.add_variable(INT, (4,), name) for name in "xy")
        assert graph.variable_of(x[1:].reshape((3, 1))) is graph.variables[0]
        with pytest.raises(GraphConnectionError, match="views 2 variables") as raised:
            graph.variable_of(concat([x, y]))
        assert "'x', 'y'" in str(raised.value)
        with pytest.raises(GraphConnectionError, match="views 0 variables"):
            graph.variable_of(x[:0])
        with pytest.raises(GraphConnectionError, match="does not belong to <Graph"):
            Graph().variable_of(x)


class TestNames:
    def test_scopes_nest_and_end(self, graph: Graph) -> None:
        with graph.scope("m4"):
            with graph.scope("conv"):
                assert graph.add_variable(INT, (1,), "w").name == "m4/conv/w"
                assert graph.add_compute_set("step").name == "m4/conv/step"
            assert graph.add_variable(INT, (1,), "w").name == "m4/w"
        assert graph.add_variable(INT, (1,), "w").name == "w"

    def test_a_scope_ends_when_its_block_raises(self, graph: Graph) -> None:
        with pytest.raises(KeyError), graph.scope("m4"):
            raise KeyError
        assert graph.add_variable(INT, (1,), "w").name == "w"

    def test_names_left_out_are_made(self, graph: Graph) -> None:
        assert graph.add_variable(INT, (1,)).name == "var0"
        assert graph.add_constant(INT, (1,), 1).name == "const1"
        assert graph.add_compute_set().name == "cs0"

    def test_names_taken_get_a_number(self, graph: Graph) -> None:
        names = [graph.add_variable(INT, (1,), name).name for name in ["w", "w", "w_1", "w"]]
        assert names == ["w", "w_1", "w_1_1", "w_2"]
        assert graph.add_compute_set("w").name == "w"

    @pytest.mark.parametrize("name", ["", None, 3])
    def test_scopes_need_a_name(self, graph: Graph, name: object) -> None:
        with pytest.raises(
            TensorCreationError, match="is not a valid name for a scope.*test_graph.py"
        ):
            graph.scope(name)  # type: ignore[arg-type]


class TestInitialValues:
    def test_variables_have_none_at_first(self, graph: Graph) -> None:
        graph.add_variable(INT, (2,))
        assert graph.variables[0].initial_value is None

    def test_one_number_or_an_array_or_a_flat_list(self, graph: Graph) -> None:
        graph.add_variable(INT, (2, 2), initial_value=7)
        graph.add_variable(INT, (2, 2), initial_value=[[1, 2], [3, 4]])
        graph.add_variable(INT, (2, 2), initial_value=[1, 2, 3, 4])
        values = [variable.initial_value for variable in graph.variables]
        assert [v.tolist() for v in values if v is not None] == [
            [[7, 7], [7, 7]], [[1, 2], [3, 4]], [[1, 2], [3, 4]],
        ]  # fmt: skip
        assert values[0] is not None
        assert values[0].dtype == np.int32

    def test_views_set_only_their_elements(self, graph: Graph) -> None:
        x = graph.add_variable(FLOAT, (2, 3), "x")
        y = graph.add_variable(FLOAT, (2,), "y")
        graph.set_initial_value(x[:, ::-1], [[1, 2, 3], [4, 5, 6]])
        graph.set_initial_value(concat([y, x[1, 1:]]), [7, 8, 9, 10])
        values = [variable.initial_value for variable in graph.variables]
        assert [v.tolist() for v in values if v is not None] == [
            [[3, 2, 1], [6, 9, 10]], [7, 8],
        ]  # fmt: skip

    def test_another_number_of_values(self, graph: Graph) -> None:
        message = r"'x': 3 values of shape \[3\] for 4 elements of shape \[2, 2\]"
        with pytest.raises(TensorCreationError, match=message):
            graph.add_variable(INT, (2, 2), "x", initial_value=[1, 2, 3])
        with pytest.raises(TensorCreationError, match="'c': 4 values of shape"):
            graph.add_constant(INT, (4,), [[1, 2], [3, 4]], "c")

    def test_values_that_do_not_fit(self, graph: Graph) -> None:
        with pytest.raises(SizeOverflowError, match="'x': 4294967296 does not fit INT"):
            graph.add_variable(INT, (1,), "x", initial_value=2**32)
        with pytest.raises(ElementTypeError, match="'x': 0.5 cannot be stored as INT"):
            graph.set_initial_value(graph.add_variable(INT, (1,), "x"), 0.5)

    def test_constants_and_aliased_views_are_refused(self, graph: Graph) -> None:
        constant = graph.add_constant(INT, (2,), 1, "c")
        with pytest.raises(
            GraphConnectionError, match="(?s)'c': .* is constant.*'c' is a constant.*add_constant"
        ):
            graph.set_initial_value(constant, 2)
        x = graph.add_variable(INT, (1,), "x")
        with pytest.raises(
            GraphConnectionError,
            match=r"(?s)'x.*contains some elements more than once.*elements 'x'\[0\] occur more",
        ):
            graph.set_initial_value(x.broadcast(2, 0), 2)

    def test_constants_cannot_be_changed_from_outside(self, graph: Graph) -> None:
        host = np.array([1, 2], np.int32)
        tensor = graph.add_constant(INT, (2,), host, "c")
        host[0] = 9
        value = graph.variables[0].initial_value
        assert value is not None
        assert value.tolist() == [1, 2]
        assert not value.flags.writeable
        assert tensor.contains_constant()
        assert repr(graph.variables[0]) == "<Constant 'c' int32[2]>"


class TestTileMapping:
    def test_linear(self, graph: Graph) -> None:
        x = graph.add_variable(INT, (10,), mapping="linear")
        assert graph.tile_mapping(x) == [[(0, 2)], [(2, 5)], [(5, 7)], [(7, 10)]]
        few = graph.add_variable(INT, (2,), mapping="linear")
        assert graph.tile_mapping(few) == [[(0, 1)], [(1, 2)]]

    def test_a_tile_or_intervals_at_once(self, graph: Graph) -> None:
        x = graph.add_variable(INT, (4,), mapping=3)
        assert graph.tile_mapping(x)[3] == [(0, 4)]
        y = graph.add_constant(INT, (4,), 0, mapping=[[(2, 4)], [(0, 2)]])
        assert graph.tile_mapping(y) == [[(2, 4)], [(0, 2)]]
        z = graph.add_variable(INT, (4,), mapping=graph.tile_mapping(y))
        assert graph.tile_mapping(z) == graph.tile_mapping(y)

    def test_elements_in_no_interval_stay(self, graph: Graph) -> None:
        x = graph.add_variable(INT, (4,), mapping=0)
        graph.set_tile_mapping(x, [[], [(1, 2)]])
        assert graph.tile_mapping(x) == [[(0, 1), (2, 4)], [(1, 2)]]

    def test_aliased_elements_are_listed_at_each_occurrence(self, graph: Graph) -> None:
        x = graph.add_variable(INT, (2,), mapping="linear")
        assert graph.tile_mapping(x.broadcast(2, 0)) == [[(0, 1), (2, 3)], [(1, 2), (3, 4)]]

    def test_the_tile_must_exist(self, graph: Graph) -> None:
        x = graph.add_variable(INT, (2,), "x")
        with pytest.raises(
            InvalidTileMapping,
            match=r"(?s)'x': tile 4, but the graph has 4 tiles.*tiles are 0-3.*tiles=5",
        ):
            graph.set_tile_mapping(x, 4)
        with pytest.raises(InvalidTileMapping, match="'x': tile -1, but the graph has 4 tiles"):
            graph.set_tile_mapping(x, -1)
        with pytest.raises(InvalidTileMapping, match="'x': 1.5 is neither a tile number"):
            graph.set_tile_mapping(x, 1.5)  # type: ignore[arg-type]
        with pytest.raises(InvalidTileMapping, match="'x': True is neither a tile number"):
            graph.set_tile_mapping(x, True)
        with pytest.raises(InvalidTileMapping, match="tile 4, but the graph has 4 tiles"):
            graph.set_tile_mapping(x, [[], [], [], [], [(0, 1)]])

    def test_unknown_methods_are_named(self, graph: Graph) -> None:
        with pytest.raises(
            InvalidTileMapping, match="mapping 'liner' is not known.*did you mean 'linear'"
        ):
            graph.add_variable(INT, (2,), "x", mapping="liner")  # type: ignore[arg-type]
        x = graph.add_variable(INT, (2,), "x")
        with pytest.raises(InvalidTileMapping, match="'x': mapping 'linea' is not known.*linear"):
            graph.set_tile_mapping(x, "linea")  # type: ignore[arg-type]

    def test_linear_spreads_any_view_in_order(self, graph: Graph) -> None:
        x, y = (graph.add_variable(INT, (2, 6), name) for name in "xy")
        graph.set_tile_mapping(x, "linear")
        assert graph.tile_mapping(x) == graph.tile_mapping(
            graph.add_variable(INT, (2, 6), mapping="linear")
        )
        graph.set_tile_mapping(concat([y.T, x.T[:2]]), "linear")
        assert graph.tile_mapping(y.T) == [[(0, 4)], [(4, 8)], [(8, 12)], []]
        assert graph.tile_mapping(x[:, :2]) == [[], [], [], [(0, 4)]]
        part = graph.create_virtual_graph([1, 3])
        part.set_tile_mapping(x[0], "linear")
        assert graph.tile_mapping(x[0]) == [[], [(0, 3)], [], [(3, 6)]]
        graph.set_tile_mapping(x[:0], "linear")

    def test_a_hole_is_refused_in_four_parts(self, graph: Graph) -> None:
        bias = graph.add_variable(FLOAT, (128,), "bias")
        line = graph.variables[0].location
        graph.set_tile_mapping(bias, [[(0, 32)], [(32, 64)], [(64, 96)]])
        with pytest.raises(InvalidTileMapping) as caught:
            graph.tile_mapping(bias)
        assert str(caught.value).splitlines() == [
            f"'bias': elements [96, 128) of 128 have no tile  ({line})",
            "  mapped so far: [0, 32), [32, 64), [64, 96) on tiles 0-2; the graph has 4 tiles",
            '  try: graph.set_tile_mapping(bias.flatten()[96:128], tile), or mapping="linear"',
        ]
        partial = graph.tile_mapping(bias, require_complete=False)
        assert partial.unmapped == [(96, 128)]
        assert graph.tile_mapping(bias[:96]).is_complete

    def test_holes_of_a_matrix_are_in_its_own_indices(self, graph: Graph) -> None:
        cells = graph.add_variable(FLOAT, (4, 6), "cells")
        graph.set_tile_mapping(cells[:2], 0)
        graph.set_tile_mapping(cells[2, :3], 1)
        graph.set_tile_mapping(cells[3, 1:4], 1)
        with pytest.raises(InvalidTileMapping) as caught:
            graph.tile_mapping(cells)
        assert caught.value.what == (
            "'cells': elements [2, 3] to [3, 0], [3, 4:6] of 24 have no tile"
        )
        assert "mapped so far: [0:2, 0:6], [2, 0:3], [3, 1:4] on tiles 0-1" in caught.value.found
        assert "set_tile_mapping(cells.flatten()[15:19], tile)" in caught.value.fix
        graph.set_tile_mapping(cells.flatten()[15:19], 2)
        with pytest.raises(InvalidTileMapping) as caught:
            graph.tile_mapping(cells)
        assert "set_tile_mapping(cells[3, 4:6], tile)" in caught.value.fix
        graph.set_tile_mapping(cells[3, 4:6], 2)
        assert graph.tile_mapping(cells).is_complete

    def test_a_hole_in_a_view_counts_the_elements_of_the_view(self, graph: Graph) -> None:
        with graph.scope("head"):
            bias = graph.add_variable(FLOAT, (128,), "bias", mapping=[[(0, 96)]])
        with pytest.raises(
            InvalidTileMapping,
            match=r"(?s)^view of 'head/bias': elements \[6, 8\) of 8 .*view.flatten\(\)\[6:8\]",
        ):
            graph.tile_mapping(bias[90:98])
        with pytest.raises(InvalidTileMapping, match=r"(?s)^'head/bias': .*\(bias.flatten"):
            graph.tile_mapping(bias)

    def test_many_holes_are_counted(self, graph: Graph) -> None:
        x = graph.add_variable(FLOAT, (20,), "x")
        graph.set_tile_mapping(x[::2], 1)
        with pytest.raises(
            InvalidTileMapping, match=r"\[1, 2\), .*\[9, 10\) and 5 more intervals of 20"
        ):
            graph.tile_mapping(x)

    def test_the_mapping_of_the_whole_variable(self, graph: Graph) -> None:
        x = graph.add_variable(FLOAT, (8,), "x")
        graph.set_tile_mapping(x[:4], 2)
        assert graph.variable_tile_mapping(x[6:]) == [[], [], [(0, 4)]]
        y = graph.add_variable(FLOAT, (8,), "y")
        with pytest.raises(TensorCreationError, match="views 2 variables, but exactly 1"):
            graph.variable_tile_mapping(concat([x, y]))

    def test_tensors_of_another_graph(self, graph: Graph) -> None:
        foreign = Graph().add_variable(FLOAT, (8,), "foreign")
        with pytest.raises(GraphConnectionError, match="'foreign' belongs to another graph"):
            graph.set_tile_mapping(foreign, 0)
        with pytest.raises(GraphConnectionError, match="'foreign' belongs to another graph"):
            graph.tile_mapping(foreign)
        with pytest.raises(GraphConnectionError, match="'foreign' belongs to another graph"):
            graph.set_initial_value(foreign, 0)

    def test_no_elements(self, graph: Graph) -> None:
        empty = graph.add_variable(FLOAT, (0, 3), "empty", mapping="linear")
        assert graph.tile_mapping(empty).is_complete
        graph.set_tile_mapping(empty, 0)
        graph.set_initial_value(empty, 1)

    def test_what_is_no_tensor_or_vertex(self, graph: Graph) -> None:
        cs, x = graph.add_compute_set("step"), graph.add_variable(FLOAT, (4,), "x")
        with pytest.raises(
            ElementTypeError, match=r"(?s)int is not a tensor.*it is 1.*set_tile_mapping\(tensor, t"
        ):
            graph.set_tile_mapping(1, x)  # type: ignore[arg-type]
        with pytest.raises(
            ElementTypeError, match="(?s)ComputeSet is not a tensor.*'step'.*in cs.vertices"
        ):
            graph.set_tile_mapping(cs, 1)  # type: ignore[arg-type]
        with pytest.raises(ElementTypeError, match="set_initial_value: str is not a tensor"):
            graph.set_initial_value("x", 1)  # type: ignore[arg-type]
        with pytest.raises(ElementTypeError, match="(?s)^tile_mapping: str is not a .*it is 'x'"):
            graph.tile_mapping("x")  # type: ignore[arg-type]
        with pytest.raises(ElementTypeError, match="variable_tile_mapping: str is not a tensor"):
            graph.variable_tile_mapping("x")  # type: ignore[arg-type]


@pytest.mark.parametrize(("target", "tiles"), [(4, 4), (64, 64), (Target, 4), ("4", 4)])
def test_what_is_no_target(target: object, tiles: int) -> None:
    with pytest.raises(
        InvalidMachineModel,
        match=rf"(?s)^Graph: .* is not a target .*test_graph.py.*Graph\(Target\(tiles={tiles}\)\)",
    ):
        Graph(target)  # type: ignore[arg-type]


def test_reprs_are_one_line_however_long_the_names_are(graph: Graph) -> None:
    name = "m4/" + "conv/" * 20 + "w" * 47
    assert len(name) == 150
    x, y = graph.add_variable(FLOAT, (4,), name), graph.add_variable(FLOAT, (4,), name)
    cs = graph.add_compute_set(name)
    objects: list[object] = [
        x, x[1:], concat([x, y]), graph.variables[0], x.var_regions()[0], cs, graph,
        Copy(x, y), PrintTensor(x), Execute(cs), Sequence(name=name),
        graph.add_vertex(cs, Nothing, tile=0), *walk(Copy(x, y)),
    ]  # fmt: skip
    for shown in objects:
        assert len(repr(shown)) <= 100
        assert "\n" not in repr(shown)
    assert repr(x).startswith("<Tensor 'm4/conv/conv/")
    assert repr(x).endswith("www' float32[4] on no tile, 16 B>")
    short = graph.add_variable(FLOAT, (4,), "a")
    assert repr(Copy(short, x)).startswith("<Copy 'a' -> 'm4/conv/conv/conv/")
    assert len(repr(Copy(short, x))) == 100
    odd = graph.add_variable(FLOAT, (4,), "two\nlines")
    assert repr(odd) == r"<Tensor 'two\nlines' float32[4] on no tile, 16 B>"


def test_reprs(graph: Graph) -> None:
    assert repr(graph) == "<Graph 4 tiles, 0 variables, 0 compute sets, 0 vertices>"
    graph.add_variable(INT, (2,))
    graph.add_constant(INT, (2,), 0)
    graph.add_compute_set("step")
    assert repr(graph) == ("<Graph 4 tiles, 1 variable, 1 constant, 1 compute set, 0 vertices>")
    assert repr(graph.compute_sets[0]) == "<ComputeSet 'step' 0 vertices on 0 tiles>"


def test_poplar_spelling(graph: Graph) -> None:
    x = graph.addVariable(INT, (2,), "x")
    graph.setTileMapping(x, 1)
    graph.setInitialValue(x, 3)
    assert graph.getTileMapping(x, True) == graph.getVariableTileMapping(x)
    assert graph.addConstant(INT, (1,), 1).contains_constant()
    assert graph.addComputeSet("cs").name == "cs"
    assert graph.getTarget() is graph.target
    assert graph.getNumVertices() == graph.num_vertices == 0


# -- tensors by name -------------------------------------------------------------------------------


@pytest.fixture
def scoped_graph() -> pl.Graph:
    graph = pl.Graph(pl.Target(tiles=2))
    for scope in ("blocks", "head"):
        with graph.scope(scope):
            graph.add_variable(pl.INT, (2, 3), "w", mapping=0, initial_value=1)
    with graph.scope("blocks"):
        graph.add_constant(pl.FLOAT, (4,), [1, 2, 3, 4], "taps", mapping=1)
    return graph


def test_a_tensor_by_its_name(scoped_graph: pl.Graph) -> None:
    w = scoped_graph.tensor("blocks/w")
    assert (w.name, w.shape, w.element_type) == ("blocks/w", (2, 3), pl.INT)
    assert scoped_graph.tensor("taps") == scoped_graph.tensor("blocks/taps")
    assert scoped_graph.create_virtual_graph(1).tensor("taps") == scoped_graph.tensor("blocks/taps")


def test_names_of_variables_that_are_made_and_refused_later(scoped_graph: pl.Graph) -> None:
    assert scoped_graph.tensor("head/w").name == "head/w"
    with pytest.raises(pl.TensorCreationError):
        scoped_graph.add_variable(pl.INT, (2,), "late", mapping=0, initial_value=[1, 2, 3])
    with pytest.raises(pl.UnknownName):
        scoped_graph.tensor("late")
    with scoped_graph.scope("net"), scoped_graph.scope("blocks"):
        late = scoped_graph.add_variable(pl.INT, (2,), "late", mapping=0)
        w = scoped_graph.add_variable(pl.INT, (2,), "w", mapping=0)
    assert scoped_graph.tensor("late") == scoped_graph.tensor("blocks/late") == late
    assert scoped_graph.tensor("net/blocks/w") == w
    assert scoped_graph.tensor("blocks/w") != w  # all of a name before a part of one


def test_unknown_names_come_with_the_nearest(scoped_graph: pl.Graph) -> None:
    with pytest.raises(pl.UnknownName) as caught:
        scoped_graph.tensor("block/w")
    assert caught.value.what == (
        "graph.tensor('block/w'): the graph has no variable 'block/w' (did you mean 'blocks/w'?)"
    )
    assert caught.value.found == (
        "it has:\nblocks/w  int32[2, 3]\nhead/w  int32[2, 3]\nblocks/taps  float32[4]"
    )
    with pytest.raises(pl.UnknownName, match=r"no variable 'tap' \(did you mean 'taps'\?\)"):
        scoped_graph.tensor("tap")
    with pytest.raises(pl.ElementTypeError, match=r"graph.tensor\(3\): 3 is not a name"):
        scoped_graph.tensor(3)  # type: ignore[arg-type]


def test_a_name_of_several_needs_its_scopes(scoped_graph: pl.Graph) -> None:
    with pytest.raises(pl.UnknownName) as caught:
        scoped_graph.tensor("w")
    assert caught.value.what == "graph.tensor('w'): 2 variables of the graph are called 'w'"
    assert "head/w  int32[2, 3]" in caught.value.found
    assert caught.value.fix == "pass the name with its scopes: 'blocks/w'"


def test_an_engine_reads_and_writes_by_name(scoped_graph: pl.Graph) -> None:
    scoped_graph.create_host_read("taps", scoped_graph.tensor("blocks/w"))
    engine = pl.Engine(scoped_graph, pl.Sequence())
    engine.write("head/w", 7)
    assert engine.read("head/w").tolist() == [[7] * 3] * 2
    assert engine.read("blocks/taps").tolist() == [1, 2, 3, 4]
    assert engine.read("taps").shape == (2, 3)  # of one name, the handle is meant
    with pytest.raises(pl.UnknownName) as caught:
        engine.read("heads/w")
    assert caught.value.what == (
        "engine.read: there is no variable and no host read 'heads/w' (did you mean 'head/w'?)"
    )
    assert caught.value.found.endswith("handles: 'taps'")
    scoped_graph.add_host_to_device_fifo("late words", pl.INT, 4)
    with pytest.raises(pl.UnknownName, match="'late words' is a stream, not a variable") as caught:
        engine.write("late words", 1)
    assert caught.value.fix == "engine.connect_stream('late words', array)"
    with pytest.raises(pl.UnknownName, match=r"engine.write: 2 variables .* are called 'w'"):
        engine.write("w", 1)
    with pytest.raises(pl.GraphConnectionError, match="the tensor has constant elements|constant"):
        engine.write("blocks/taps", 1)
    scoped_graph.add_variable(pl.INT, (), "late", mapping=0)
    with pytest.raises(pl.GraphConnectionError, match="'late' was added to the graph after this"):
        engine.read("late")


def test_an_executable_knows_handles_only(scoped_graph: pl.Graph) -> None:
    engine = pl.Engine(pl.compile_graph(scoped_graph, pl.Sequence()))
    with pytest.raises(pl.UnknownName) as caught:
        engine.read("blocks/w")
    assert caught.value.what == "engine.read: there is no host read 'blocks/w'"
    assert caught.value.found == "handles: none; an executable has no variables by name"


# -- attributes that answer to a call --------------------------------------------------------------


_GRAPH = pl.Graph(pl.Target(tiles=4))


def loop_index() -> Any:
    with _GRAPH.steps(), pl.ops.repeat(3) as index:
        return index


_X = _GRAPH.add_variable(pl.FLOAT, (4, 6), "x", mapping=0)

QUERIED: dict[str, Any] = {
    "tensor": _X,
    "view": _X[1:3, ::2],
    "expression": _X + 1,
    "target": _GRAPH.target,
    "graph": _GRAPH,
    "interval": pl.Interval(1, 3),
    "stream": _GRAPH.add_host_to_device_fifo("images", pl.FLOAT, 24),
    "remote buffer": _GRAPH.add_remote_buffer("rows", pl.FLOAT, 24, 8),
    "compute set": _GRAPH.add_compute_set("double"),
    "function": _GRAPH.add_function(pl.Sequence(), "blur"),
    "loop index": loop_index(),
    "host function": _GRAPH.add_host_function("sort", [(pl.FLOAT, 4)], [(pl.FLOAT, 4)]),
}


@pytest.mark.parametrize("kind", QUERIED)
def test_a_query_is_an_attribute_that_answers_to_a_call(kind: str) -> None:
    queried, found = QUERIED[kind], {}
    for name in (name for name in dir(type(queried)) if not name.startswith("_")):
        try:
            value = getattr(queried, name)
        except pl.PopliteError:  # a method of another class, which says so
            continue
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number or name in ("name", "handle", "shape", "element_type", "architecture"):
            found[name] = value
    assert found
    assert {name: value() for name, value in found.items()} == found


def test_queries_have_their_values() -> None:
    x, y, target = QUERIED["tensor"], QUERIED["expression"], QUERIED["target"]
    assert (x.shape(), x.rank(), x.num_elements(), x.name()) == ((4, 6), 2, 24, "x")
    assert (y.shape(), y.rank(), y.num_elements()) == ((4, 6), 2, 24)
    assert (target.tiles(), target.clock_hz(), target.architecture()) == (4, 1.33e9, "gc200")
    assert (x.element_type(), y.element_type(), y.elementType()) == (pl.FLOAT,) * 3
    assert (y.numElements(), QUERIED["compute set"].name()) == (24, "double")
    index = QUERIED["loop index"]
    assert (index.rank(), index.ndim, index.num_elements, index.element_type()) == (
        *(0, 0, 1),
        pl.UNSIGNED_INT,
    )
    assert index.name == "repeat/index"
    assert (QUERIED["graph"].num_vertices(), QUERIED["stream"].size_bytes()) == (0, 96)


ELEMENTS = QUERIED["tensor"].num_elements


class CountDown(pl.Vertex):
    x: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(ELEMENTS):
            self.x[i] = ELEMENTS - i


@pytest.mark.parametrize("checks", ["strict", "fast"])
def test_a_query_is_a_constant_of_a_vertex(checks: Any) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (ELEMENTS,), "x", mapping=0)
    counts = graph.add_compute_set("count down")
    graph.add_vertex(counts, CountDown, tile=0, x=x)
    engine = pl.Engine(graph, pl.Execute(counts), checks=checks)
    engine.run()
    assert engine.read(x).tolist() == list(range(24, 0, -1))


REFUSED: dict[str, tuple[Any, str]] = {
    "shape": (
        lambda x: x.shape(3),
        r"^a call of a shape takes no arguments, but has \(3\).*t.dim\(i\)",
    ),
    "number": (lambda x: x.rank(0), r"^a call of a number takes no arguments, but has \(0\)"),
    "name": (lambda x: x.name(scope=1), r"^a call of a name takes no arguments, but has \(1\)"),
    "view": (lambda x: x.view(np.int32), r"a.view\(dtype\).*t.reinterpret\(element_type\)"),
}


@pytest.mark.parametrize("query", REFUSED)
def test_a_query_takes_no_arguments(query: str) -> None:
    ask, text = REFUSED[query]
    with pytest.raises(pl.ElementTypeError, match=f"(?s){text}"):
        ask(QUERIED["tensor"])


def test_attributes_of_tensors_have_docstrings() -> None:
    for name in ("graph", "view", "element_type"):
        assert inspect.getdoc(inspect.getattr_static(pl.Tensor, name)), name
