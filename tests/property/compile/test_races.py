"""The race check against a dense count of who writes and reads each element."""

import numpy as np
from hypothesis import given, strategies as st

from poplite.compile.checks import races
from poplite.graph import Graph
from poplite.graph.compute_sets.edge_table import edge_table
from poplite.machine.target import Target
from poplite.types import FLOAT
from poplite.vertex import InOut, Input, Vector, Vertex

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
