"""Checks of a whole program: graph, edges, tiles, races; every message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.running import both_forms
from poplite.compile.checks import check_program
from poplite.compile.races import races
from poplite.errors import (
    ControlProgramError,
    EmptyComputeSetWarning,
    GraphConnectionError,
    GraphCycleError,
    InvalidTileMapping,
)
from poplite.graph import ComputeSet, Graph
from poplite.graph.compute_sets.edge_table import EdgeTables, edge_table
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.machine.target import Target
from poplite.program import Call, Copy, Execute, PrintTensor, Program, Repeat, Sequence
from poplite.types import FLOAT, INT
from poplite.vertex import InOut, Input, Output, State, Vector, Vertex


class Move(Vertex):
    source: Input[Vector[FLOAT]]
    target: Output[Vector[FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.target)):
            self.target[i] = self.source[i]


class Twice(Vertex):
    x: InOut[Vector[FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] += self.x[i]


class Rows(Vertex):
    start: State[INT]
    rows: Output[Vector[Vector[FLOAT]]]

    def compute(self) -> None:
        self.rows[0][self.start] = 0.0


@pytest.fixture
def graph() -> Graph:
    return Graph(Target(tiles=4))


@pytest.fixture
def cs(graph: Graph) -> ComputeSet:
    return graph.add_compute_set("step")


def variable(graph: Graph, name: str, size: int = 8) -> Tensor:
    return graph.add_variable(FLOAT, (size,), name, mapping="linear")


def check(graph: Graph, programs: Program | Mapping[str, Program]) -> None:
    named = {"main": programs} if isinstance(programs, Program) else programs
    check_program(graph, named, EdgeTables(graph.space))


class TestGraph:
    def test_a_correct_program_passes(self, graph: Graph, cs: ComputeSet) -> None:
        x, y = variable(graph, "x"), variable(graph, "y")
        for tile in range(4):
            part = slice(2 * tile, 2 * tile + 2)
            graph.add_vertex(cs, Move, tile=tile, source=x, target=y[part])
        copied = Copy(y, x)
        check(graph, Sequence(Repeat(3, Sequence(Execute(cs), copied)), PrintTensor(x)))

    def test_no_vertices_and_no_steps_pass(self, graph: Graph, cs: ComputeSet) -> None:
        with pytest.warns(EmptyComputeSetWarning, match="'.*' is executed without vertices"):
            check(graph, Execute(cs))
        check(graph, Sequence())
        check(graph, {})

    def test_everything_belongs_to_the_graph(self, graph: Graph, cs: ComputeSet) -> None:
        other = Graph()
        program = Sequence(Execute(cs), PrintTensor(other.add_variable(FLOAT, (2,), "foreign")))
        with pytest.raises(
            ControlProgramError,
            match=r"(?s)the program uses 1 object from a graph other than <Graph 4 tiles.*"
            r"at step 2 of 2: PrintTensor 'foreign'.*tensor 'foreign' of <Graph 1,472 tiles",
        ):
            check(graph, program)
        with pytest.raises(ControlProgramError, match="uses 1 object .*<Graph 1,472 tiles"):
            check(other, Execute(cs))

    def test_a_foreign_tensor_without_elements(self, graph: Graph) -> None:
        shown = PrintTensor(Graph().add_variable(FLOAT, (0,), "none", mapping=0))
        with pytest.raises(
            ControlProgramError,
            match=r"(?s)uses 1 object .*tensor 'none' of <Graph 1,472",
        ) as caught:
            check(graph, shown)
        assert caught.value.at == shown.location

    def test_what_no_program_uses_is_not_checked(self, graph: Graph, cs: ComputeSet) -> None:
        graph.add_variable(FLOAT, (8,), "unused")
        graph.add_vertex(cs, Move)
        check(graph, Sequence())


class TestConnected:
    def test_a_missing_edge(self, graph: Graph, cs: ComputeSet) -> None:
        vertex = graph.add_vertex(cs, Move, tile=1, target=variable(graph, "y"))
        with pytest.raises(GraphConnectionError) as caught:
            check(graph, Sequence(PrintTensor(variable(graph, "x")), Execute(cs)))
        assert str(caught.value).splitlines() == [
            f"vertex 0 of 'Move' on tile 1 of 'step': field 'source' is not connected  "
            f"({vertex.location})",
            "  at step 2 of 2: Execute 'step'",
            "  declared source: Input[Vector[FLOAT]]",
            "  try: pass every field to add_vertex, or graph.connect(vertex['source'], tensor)",
        ]

    def test_missing_state(self, graph: Graph, cs: ComputeSet) -> None:
        graph.add_vertex(cs, Rows, tile=1, rows=[variable(graph, "y")])
        with pytest.raises(
            GraphConnectionError,
            match=r"(?s)field 'start' has no value.*set_initial_value\(vertex\['start'\], value\)",
        ):
            check(graph, Execute(cs))

    def test_gaps_in_a_list_of_edges(self, graph: Graph, cs: ComputeSet) -> None:
        vertex = graph.add_vertex(cs, Rows, tile=1, start=0)
        for row in (1, 4):
            graph.connect(vertex["rows"][row], variable(graph, "y"))
        with pytest.raises(
            GraphConnectionError, match="rows 0, 2-3 of field 'rows' are not connected"
        ):
            check(graph, Execute(cs))

    def test_many_are_counted_over_all_compute_sets(self, graph: Graph, cs: ComputeSet) -> None:
        second = graph.add_compute_set("second")
        for each in (cs, second):
            for tile in range(4):
                graph.add_vertex(each, Move, tile=tile, source=variable(graph, "x"))
        with pytest.raises(
            GraphConnectionError,
            match=r"(?s)^vertex 0 of 'Move' on tile 0 of 'step': field 'target' is not connected; "
            r"7 more fields have the same problem  \(.*vertex 0 of 'Move' on tile 0 of 'step'"
            r".*test_checks.py.*vertex 0 of 'Move' on tile 0 of 'second'.*and 3 more fields",
        ):
            check(graph, Sequence(Execute(cs), Execute(second)))


class TestMapped:
    def test_vertices_without_a_tile(self, graph: Graph, cs: ComputeSet) -> None:
        x = variable(graph, "x")
        for i in range(7):
            graph.add_vertex(cs, Twice, x=x[i : i + 1])
        with pytest.raises(
            InvalidTileMapping,
            match=r"(?s)^7 vertices have no tile .*test_checks.py.*at step 1 of 1: Execute 'step'"
            r".*vertex 0 of 'Twice' on no tile of 'step'.*vertex 4 of 'Twice' .*and 2 more vertices"
            r".*try: pass add_vertex\(\.\.\., tile=0\).*tiles are 0-3",
        ):
            check(graph, Execute(cs))
        for vertex in cs.vertices[1:]:
            graph.set_tile_mapping(vertex, 0)
        with pytest.raises(InvalidTileMapping, match="^1 vertex has no tile"):
            check(graph, Execute(cs))

    def test_elements_without_a_tile(self, graph: Graph, cs: ComputeSet) -> None:
        bias = graph.add_variable(FLOAT, (128,), "bias")
        line = graph.variables[0].location
        graph.set_tile_mapping(bias[:96], 2)
        graph.add_vertex(cs, Twice, tile=0, x=bias[4:8])
        with pytest.raises(InvalidTileMapping) as caught:
            check(graph, Sequence(Sequence(), Execute(cs)))
        assert str(caught.value).splitlines() == [
            f"'bias': elements [96, 128) of 128 have no tile  ({line})",
            "  at step 1 of 1: Execute 'step'",
            "  mapped so far: [0, 96) on tile 2; the graph has 4 tiles",
            '  try: graph.set_tile_mapping(bias.flatten()[96:128], tile), or mapping="linear"',
        ]

    def test_variables_of_copies_and_prints_and_constants(self, graph: Graph) -> None:
        tensors = [graph.add_variable(FLOAT, (8,), name) for name in ("a", "b")]
        c = graph.add_constant(FLOAT, (8,), 1, "c")
        program = Sequence(Copy(c[:4], tensors[0][:4]), PrintTensor(tensors[1]))
        with pytest.raises(
            InvalidTileMapping,
            match=r"(?s)^3 variables have elements without a tile.*at step 1 of 2: Copy 'c"
            r".*'c': elements \[0, 8\) of 8 have no tile .*'a': .*'b': ",
        ):
            check(graph, program)

    def test_the_program_is_named_when_there_are_several(
        self, graph: Graph, cs: ComputeSet
    ) -> None:
        graph.add_vertex(cs, Twice, x=variable(graph, "x"))
        with pytest.raises(
            InvalidTileMapping, match="at step 1 of 1: Execute 'step', of program 'train'"
        ):
            check(graph, {"init": Sequence(), "train": Execute(cs)})


class TestRaces:
    def test_two_vertices_write_one_element(self, graph: Graph, cs: ComputeSet) -> None:
        x, y = variable(graph, "x"), variable(graph, "y")
        first = graph.add_vertex(cs, Move, tile=0, source=x[:5], target=y[:5])
        second = graph.add_vertex(cs, Twice, tile=3, x=y[3:])
        with pytest.raises(GraphCycleError) as caught:
            check(graph, Execute(cs))
        assert str(caught.value).splitlines() == [
            "compute set 'step': vertex 0 of 'Move' on tile 0 writes what vertex 1 of "
            "'Twice' on tile 3 also writes"
            f"  ({first.location})",
            "  at step 1 of 1: Execute 'step'",
            "  'y'[3:5]: written by vertex 0 of 'Move' on tile 0, field 'target' "
            f"({first.location}); written by vertex 1 of 'Twice' on tile 3, field 'x' "
            f"({second.location})",
            "  try: give every element one writer, or put the vertices in two compute sets",
        ]

    def test_one_reads_what_another_writes(self, graph: Graph, cs: ComputeSet) -> None:
        variable(graph, "before")
        x, y = variable(graph, "x"), variable(graph, "y")
        reader = graph.add_vertex(cs, Move, tile=0, source=x[:5], target=y[:5])
        writer = graph.add_vertex(cs, Twice, tile=3, x=x[4:])
        with pytest.raises(GraphCycleError) as caught:
            check(graph, Execute(cs))
        assert str(caught.value).splitlines() == [
            "compute set 'step': vertex 1 of 'Twice' on tile 3 writes what vertex 0 of "
            "'Move' on tile 0 reads"
            f"  ({writer.location})",
            "  at step 1 of 1: Execute 'step'",
            "  'x'[4]: written by vertex 1 of 'Twice' on tile 3, field 'x' "
            f"({writer.location}); read by vertex 0 of 'Move' on tile 0, field 'source' "
            f"({reader.location})",
            "  try: use two buffers: read one variable, write another, and swap them in the next "
            "compute set; use InOut where only one vertex accesses an element",
        ]

    def test_many_races_are_counted(self, graph: Graph, cs: ComputeSet) -> None:
        cells = variable(graph, "cells", 34)
        for i in range(8):  # a stencil on one buffer: both neighbours race with each vertex
            part = slice(4 * i + 1, 4 * i + 5)
            halo = slice(4 * i, 4 * i + 6)
            graph.add_vertex(cs, Move, tile=i % 4, source=cells[halo], target=cells[part])
        with pytest.raises(
            GraphCycleError,
            match=r"(?s)writes what vertex 0 of 'Move' on tile 0 reads; \d+ races found"
            r".*'cells'\[5\].*and \d more races.*two buffers",
        ):
            check(graph, Execute(cs))

    def test_a_vertex_may_read_what_it_writes(self, graph: Graph, cs: ComputeSet) -> None:
        x = variable(graph, "x")
        graph.add_vertex(cs, Move, tile=0, source=x, target=x[::2])
        check(graph, Execute(cs))
        graph.add_vertex(cs, Move, tile=1, source=x[6:], target=variable(graph, "y")[:2])
        with pytest.raises(GraphCycleError, match=r"'x'\[6\]: written by vertex 0 of 'Move'"):
            check(graph, Execute(cs))

    def test_elements_are_named_in_their_own_indices(self, graph: Graph, cs: ComputeSet) -> None:
        cells = graph.add_variable(FLOAT, (96, 32), "cells", mapping=0)
        graph.add_vertex(cs, Twice, tile=0, x=cells[95])
        graph.add_vertex(cs, Twice, tile=1, x=cells[94:].flatten())
        with pytest.raises(
            GraphCycleError,
            match=(
                r"'cells'\[95, 0:32\]: written by "
                r"vertex 1 of 'Twice' on"
            ),
        ):
            check(graph, Execute(cs))

    def test_a_read_that_starts_in_its_own_writes(self, graph: Graph, cs: ComputeSet) -> None:
        x = variable(graph, "x")
        graph.add_vertex(cs, Move, tile=0, source=x[:6], target=x[:4])
        graph.add_vertex(cs, Twice, tile=1, x=x[5:])
        with pytest.raises(GraphCycleError, match=r"'x'\[5\]: written by vertex 1 of 'Twice'"):
            check(graph, Execute(cs))

    def test_readers_share(self, graph: Graph, cs: ComputeSet) -> None:
        x, y = variable(graph, "x"), variable(graph, "y")
        for tile in range(4):
            graph.add_vertex(
                cs, Move, tile=tile, source=concat([x, x]), target=y[2 * tile : 2 * tile + 2]
            )
        check(graph, Execute(cs))

    def test_interleaved_elements_do_not_race(self, graph: Graph, cs: ComputeSet) -> None:
        x = variable(graph, "x")
        for tile in range(2):
            graph.add_vertex(cs, Twice, tile=tile, x=x[tile::2])
        check(graph, Execute(cs))

    def test_compute_sets_are_checked_one_by_one(self, graph: Graph, cs: ComputeSet) -> None:
        x = variable(graph, "x")
        second = graph.add_compute_set("second")
        graph.add_vertex(cs, Twice, tile=0, x=x)
        graph.add_vertex(second, Twice, tile=1, x=x)
        check(graph, Sequence(Execute(cs), Execute(second)))

    def test_a_long_write_under_short_ones(self, graph: Graph, cs: ComputeSet) -> None:
        x = variable(graph, "x")
        graph.add_vertex(cs, Twice, tile=0, x=x)
        graph.add_vertex(cs, Twice, tile=1, x=x[1:2])
        graph.add_vertex(cs, Twice, tile=2, x=x[5:6])
        with pytest.raises(
            GraphCycleError, match=("(?s)2 races found.*vertex 1 of 'Twice' .*vertex 2 of 'Twice' ")
        ):
            check(graph, Execute(cs))

    def test_rows_of_lists_are_named(self, graph: Graph, cs: ComputeSet) -> None:
        x = variable(graph, "x")
        graph.add_vertex(cs, Rows, tile=0, start=0, rows=[x[:2], x[2:4]])
        graph.add_vertex(cs, Rows, tile=1, start=0, rows=x[3:5].reshape((2, 1)))
        with pytest.raises(
            GraphCycleError,
            match=r"field 'rows\[1\]' .*vertex 1 of 'Rows' on tile 1, field 'rows\[0\]'",
        ):
            check(graph, Execute(cs))


def test_functions_of_another_graph_are_refused_though_they_use_nothing_of_it() -> None:
    graph, other = Graph(), Graph()
    empty = other.add_function(Sequence(), "empty")
    with pytest.raises(
        ControlProgramError, match="Call 'empty': the function must belong to <Graph"
    ):
        check_program(graph, {"main": Repeat(2, Sequence(Call(empty)))}, EdgeTables(graph.space))
    with pytest.raises(ControlProgramError, match=r"(?s)Call 'empty'.*program 'two'"):
        check_program(
            graph, {"one": Sequence(), "two": Sequence(Call(empty))}, EdgeTables(graph.space)
        )


# -- edges that share elements ---------------------------------------------------------------------


class Add(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] += self.x[i]


class Shift(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = self.x[i]


class ReadRows(pl.Vertex):
    rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    total: pl.InOut[pl.FLOAT]
    other: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        self.total += self.rows[0][0]
        self.other = self.rows[1][0]


def graph_of(tiles: int = 2) -> tuple[pl.Graph, pl.Tensor, pl.ComputeSet]:
    graph = pl.Graph(pl.Target(tiles=tiles))
    x = graph.add_variable(pl.FLOAT, (16,), "cells", mapping=0, initial_value=np.arange(16.0))
    return graph, x, graph.add_compute_set("step")


def test_an_input_may_not_share_elements_with_an_inout() -> None:
    graph, x, cs = graph_of()
    graph.add_vertex(cs, Add, tile=0, x=x[8:12], y=x[12:16])
    graph.add_vertex(cs, Add, tile=1, x=x[0:5], y=x[2:7])
    with pytest.raises(pl.GraphConnectionError) as caught:
        pl.Engine(graph, pl.Execute(cs))
    error = caught.value
    assert error.what == (
        "compute set 'step': Input 'x' of vertex 1 of 'Add' on tile 1 shares "
        "elements with its InOut 'y'"
    )
    assert error.where == "step 1 of 1: Execute 'step'"
    assert error.found.startswith(
        "'cells'[2:5]: in Input 'x' and in InOut 'y' of vertex 1 of 'Add'"
    )
    assert error.fix.startswith(
        "read the elements through 'y', or make it an Output and read through 'x'"
    )


def test_a_row_is_named_and_pairs_are_numbered() -> None:
    graph, x, cs = graph_of()
    for first in (0, 4):
        rows = [x[first : first + 2], x[first + 1 : first + 3]]
        graph.add_vertex(cs, ReadRows, tile=0, rows=rows, total=x[first + 2], other=x[first])
    with pytest.raises(pl.GraphConnectionError) as caught:
        pl.Engine(graph, pl.Execute(cs))
    assert caught.value.what == (
        "compute set 'step': Input 'rows[1]' of vertex 0 of 'ReadRows' on tile 0 shares "
        "elements with its InOut "
        "'total'; 2 such pairs of fields"
    )
    assert "'cells'[2]: in Input 'rows[1]'" in caught.value.found


@pytest.mark.parametrize("count", [3, 2000])
def test_many_vertices_are_looked_at(count: int) -> None:
    """One of a million may be at fault: the sweep is compiled where there are many."""
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (4 * count,), "cells", mapping=0)
    cs = graph.add_compute_set("step")
    rows = x[4:].reshape((count - 1, 4))
    graph.add_vertices(cs, Add, tile=0, x=rows[:, 2:], y=rows[:, :2])
    pl.Engine(graph, pl.Execute(cs))
    graph.add_vertex(cs, Add, tile=0, x=x[0:3], y=x[2:4])
    with pytest.raises(
        pl.GraphConnectionError, match=f"'x' of vertex {count - 1} of 'Add' on tile 0 shares"
    ):
        pl.Engine(graph, pl.Execute(cs))


def copies(graph: pl.Graph, cs: pl.ComputeSet) -> list[tuple[int, int, str]]:
    """Run a compute set; return cycles and bytes of its copies before, and what is said of them."""
    engine = pl.Engine(graph, pl.Execute(cs))
    engine.run()
    (step,) = engine.report().execution.steps
    assert step.kind == "execute"
    return [
        (phase.cycles, sum(phase.copied), f"{cause.what} {cause.why}")
        for phase in step.phases
        for cause in phase.causes
        if phase.kind == "copy"
    ]


KEPT = "field 'x' of Shift is overwritten by an Output of its vertex"


def test_an_input_that_is_overwritten_is_copied_and_priced() -> None:
    graph, x, cs = graph_of()
    graph.add_vertex(cs, Shift, tile=0, x=x[0:8], y=x[1:9])
    assert copies(graph, cs) == [(288 + 9 + 4, 32, KEPT)]
    graph.add_vertex(cs, Shift, tile=0, x=x[10:11], y=x[10:11])
    assert copies(graph, cs) == [(288 + 9 + 4 + 9 + 1, 36, KEPT)]


def test_what_is_a_copy_as_it_is_costs_no_other_one() -> None:
    graph, x, cs = graph_of()
    graph.add_vertex(cs, Shift, tile=1, x=x[0:8], y=x[1:9])  # comes by exchange, to a buffer
    assert copies(graph, cs) == []
    graph, x, cs = graph_of()
    graph.add_vertex(cs, Shift, tile=0, x=x[0:8], y=x[8:16])  # nothing is shared
    assert copies(graph, cs) == []
    graph, x, cs = graph_of()
    graph.add_vertex(cs, Shift, tile=0, x=x[0:8:2], y=x[1:5])  # put together anyway
    assert [text for _, _, text in copies(graph, cs)] == [
        "field 'x' of Shift is gathered from several places"
    ]


@both_forms
def test_the_values_are_those_from_before(interpret: bool) -> None:
    graph, x, cs = graph_of()
    graph.add_vertex(cs, Shift, tile=0, x=x[0:8], y=x[1:9])
    engine: Any = pl.Engine(graph, pl.Execute(cs), interpret=interpret)
    engine.run()
    assert engine.read(x).tolist() == [0, *range(8), *range(9, 16)]
    (found,) = (e for e in engine.report().insights.findings if e.kind == "copied on its tile")
    assert (found.bytes, found.names, f"{found.what} {found.why}") == (32, ("step",), KEPT)


# -- races, by a dense count -----------------------------------------------------------------------


SIZE = 24


class Touch(Vertex):
    read: Input[Vector[FLOAT]]
    written: InOut[Vector[FLOAT]]

    def compute(self) -> None:
        self.written[0] = self.read[0]


spans = st.tuples(st.integers(0, SIZE), st.integers(0, 6), st.integers(1, 3))


@given(st.lists(st.tuples(spans, spans), max_size=6))
def test_races_are_found_exactly(
    vertices: list[tuple[tuple[int, int, int], tuple[int, int, int]]],
) -> None:
    graph = Graph(Target(tiles=1))
    cells = graph.add_variable(FLOAT, (SIZE,), "cells", mapping=0)
    cs = graph.add_compute_set("step")
    reads = np.zeros((len(vertices), SIZE), bool)
    writes = np.zeros((len(vertices), SIZE), bool)
    for number, spans in enumerate(vertices):
        read, written = (slice(a, a + size, step) for a, size, step in spans)
        reads[number, read] = True
        writes[number, written] = True
        graph.add_vertex(cs, Touch, tile=0, read=cells[read], written=cells[written])
    found = races(cs, edge_table(cs))
    written_twice = (writes.sum(0) > 1).any()
    read_by_others = ((writes.sum(0) > 0) & (reads & ~writes).any(0)).any()
    assert bool(found) == (written_twice or read_by_others)
    for race in found:
        assert race.verb == ("written" if written_twice else "read")
        assert race.writer is not race.other
        assert race.begin < race.end
        theirs = writes if race.verb == "written" else reads
        assert writes[race.writer.index, race.begin : race.end].all()
        assert theirs[race.other.index, race.begin : race.end].all()
