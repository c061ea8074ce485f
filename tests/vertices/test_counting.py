"""The vertices that count: drawn bounds, in both forms, against Python's range."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

import poplite as pl
from helpers.running import both_forms
from poplite.vertices import CountFrom, CountOn
from poplite.vertices.filling import count_reference

LAST = 2**32 - 1
NUMBERS = st.one_of(st.integers(0, 9), st.integers(LAST - 9, LAST), st.integers(0, LAST))


def engine_of(interpret: bool, step: int) -> tuple[pl.Engine, dict[str, pl.Tensor]]:
    graph = pl.Graph(pl.Target(tiles=1))
    names = {"begin", "end", "index"}
    fields = {
        name: graph.add_variable(pl.UNSIGNED_INT, (), name, mapping=0) for name in sorted(names)
    }
    fields["goes_on"] = graph.add_variable(pl.BOOL, (), "goes_on", mapping=0)
    first, on = graph.add_compute_set("first"), graph.add_compute_set("on")
    graph.add_vertex(first, CountFrom, tile=0, **fields)
    rest = {name: field for name, field in fields.items() if name != "begin"}
    graph.add_vertex(on, CountOn, tile=0, step=step, **rest)
    programs = {"first": pl.Execute(first), "on": pl.Execute(on)}
    return pl.Engine(graph, programs, interpret=interpret), fields


@both_forms
@given(begin=NUMBERS, end=NUMBERS, step=st.one_of(st.integers(1, 9), st.integers(1, LAST)))
def test_the_first_indices(interpret: bool, begin: int, end: int, step: int) -> None:
    engine, fields = engine_of(interpret, step)
    engine.write(fields["begin"], np.uint32(begin))
    engine.write(fields["end"], np.uint32(end))
    engine.run("first")
    assert engine.read(fields["index"]) == begin
    for index in range(begin, min(end, begin + 5 * step), step):
        assert engine.read(fields["index"]) == index
        assert engine.read(fields["goes_on"])
        engine.run("on")
        assert engine.read(fields["goes_on"]) == (index + step < end)
        assert engine.read(fields["index"]) == min(index + step, end)
    if begin >= end:
        assert not engine.read(fields["goes_on"])


def test_the_reference_counts_as_range_does() -> None:
    assert count_reference(LAST - 4, LAST, 3) == [LAST - 4, LAST - 1]
    assert count_reference(5, 5, 1) == count_reference(6, 5, 1) == []
