"""poplite.vertices.reduce: what adding up takes, against the estimator of poplibs."""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from poplite.vertices.reduce import AddPartials, partials_cycles

TYPES = st.sampled_from([pl.FLOAT, pl.HALF])


@given(loops=st.integers(0, 100), others=st.integers(0, 50), partials=TYPES, result=TYPES)
def test_it_is_the_estimate_of_poplibs_for_whole_loops(
    loops: int,
    others: int,
    partials: type[pl.ElementType[float]],
    result: type[pl.ElementType[float]],
) -> None:
    at_once = 4 if partials is pl.FLOAT else 8
    beside = {(True, True): 8, (True, False): 7, (False, True): 10, (False, False): 9}
    each = beside[partials is pl.FLOAT, result is pl.FLOAT] + 2 * others
    found = partials_cycles(loops * at_once, others, partials, result, pl.Target())
    assert found == 33 + 6 * (20 + ceil(loops / 6) * each)


def test_a_part_of_a_loop_takes_as_long_as_a_whole_one() -> None:
    outputs = np.arange(1, 60)
    found = partials_cycles(outputs, 3, pl.FLOAT, pl.FLOAT, pl.Target())
    assert found.tolist() == [33 + 6 * (20 + 14 * ceil(n / 24)) for n in outputs.tolist()]


@pytest.mark.parametrize(("outputs", "others"), [(16, 3), (16, 0), (0, 0)])
def test_a_vertex_costs_what_its_lengths_say(outputs: int, others: int) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    partials = graph.add_variable(pl.HALF, (others + 1, outputs), "partials", mapping=0)
    out = graph.add_variable(pl.HALF, (outputs,), "out", mapping=0)
    work = graph.add_compute_set("one")
    vertex = graph.add_vertex(work, AddPartials, tile=0, partials=partials, out=out)
    cycles = int(partials_cycles(outputs, others, pl.HALF, pl.HALF, graph.target))
    assert graph.perf_estimate(vertex) == pl.VertexPerfEstimate(cycles, outputs * others)
