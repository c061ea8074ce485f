"""What is refused by name where it is asked for, rather than ignored or found later."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import poplite as pl


class Rows(pl.Vertex):
    """A list of edges."""

    x: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    out: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        """Write the first element."""
        self.out = self.x[0][0]


def vertex() -> pl.VertexInstance:
    graph = pl.Graph(pl.Target(tiles=2))
    return graph.add_vertex(graph.add_compute_set("rows"), Rows, tile=0)


def test_rows_of_a_list_field_end_at_its_size() -> None:
    v = vertex()
    v.graph.set_field_size(v["x"], 2)
    assert [row.index for row in v["x"]] == [0, 1]
    with pytest.raises(pl.TensorIndexError, match="no row 9"):
        v["x"][9]


def test_rows_of_a_list_field_without_a_size_are_not_iterated_over() -> None:
    v = vertex()
    with pytest.raises(pl.NoSizeSpecified):
        list(v["x"])
    with pytest.raises(pl.TensorIndexError, match="not a list of edges"):
        list(v["out"])


def test_programs_that_grow_functions_and_vertices_are_not_copied() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    mode = graph.add_variable(pl.INT, (), "mode")
    owners = pl.Sequence(), pl.Switch(mode), graph.add_function(pl.Sequence()), vertex()
    for owner in owners:
        with pytest.raises(pl.CopyError):
            copy.copy(owner)


def test_a_function_that_calls_one_of_another_graph_is_refused() -> None:
    graph, other = pl.Graph(pl.Target(tiles=2)), pl.Graph(pl.Target(tiles=2))
    call = pl.Call(other.add_function(pl.Sequence(), "f"))
    with pytest.raises(pl.ControlProgramError, match="of another graph"):
        graph.add_function(pl.Sequence(call))
    other.add_function(call)


def test_a_tuple_for_the_list_of_aliases_is_refused() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (4,), "x")
    aliases: Any = (1,)
    with pytest.raises(pl.ElementTypeError, match="neither a bool nor a list"):
        graph.sorted_contiguous_regions(x, None, True, aliases)


def test_a_repeat_says_the_range_of_its_number() -> None:
    with pytest.raises(pl.ControlProgramError, match=r"0 to 2\*\*32 - 1 is needed"):
        pl.Repeat(2**32, pl.Sequence())
