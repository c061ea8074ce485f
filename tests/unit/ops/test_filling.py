"""Numbers that no tensor takes part in: made where they are stored, and sent nowhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples, interpreted, thinned
from poplite import ops

TYPES = [pl.FLOAT, pl.HALF, pl.CHAR, pl.UNSIGNED_SHORT, pl.INT, pl.LONGLONG, pl.UNSIGNED_LONGLONG]


def stored(graph: pl.Graph, program: pl.Sequence, tensor: pl.Tensor, **options: Any) -> Any:
    """Run a program once and return what a tensor holds."""
    engine = pl.Engine(graph, program, **options)
    engine.run()
    return engine.read(tensor)


@pytest.mark.parametrize(("element", "most"), [(pl.FLOAT, 700), (pl.HALF, 450)])
def test_a_zero_of_all_tiles_sends_nothing(element: Any, most: int) -> None:
    graph, program = pl.Graph(pl.Target(tiles=1472)), pl.Sequence()
    x = graph.add_variable(element, (1472, 1000), "x", mapping="linear", initial_value=3)
    ops.zero(x, program=program)
    assert [variable.name for variable in graph.variables] == ["x"]
    engine = pl.Engine(graph, program, interpret=False)
    engine.run()
    report = engine.report()
    assert not engine.read(x).any()
    assert 0 < (report.execution.cycles or 0) <= most
    assert report.execution.bytes_copied == 0


@pytest.mark.parametrize("element", thinned([*TYPES, pl.BOOL], [pl.HALF, pl.LONGLONG, pl.BOOL]))
@pytest.mark.parametrize("how", ["all", "few", "columns", "transposed", "rows apart"])
def test_fill_stores_one_number_in_any_view(element: Any, how: str) -> None:
    graph, program = pl.Graph(pl.Target(tiles=3)), pl.Sequence()
    zeros = np.zeros((10, 24), element.dtype)
    x = graph.add_variable(element, zeros.shape, "x", mapping="linear", initial_value=zeros)
    views: dict[str, Callable[[Any], Any]] = {
        "all": lambda t: t,
        "few": lambda t: t[0, :1],
        "columns": lambda t: t[:, 3:9],
        "transposed": lambda t: t.T,
        "rows apart": lambda t: t[::4, ::2],
    }
    value = True if element is pl.BOOL else 7
    ops.fill(views[how](x), value, program=program)
    expected = zeros.copy()
    views[how](expected)[...] = value
    assert np.array_equal(stored(graph, program, x, **interpreted()), expected)


@examples(30, quick=5)
@given(
    element=st.sampled_from(TYPES),
    shape=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    start=st.integers(-40, 40),
    view=st.sampled_from(["whole", "transposed", "odd columns"]),
)
def test_iota_counts_by_position(
    element: Any, shape: tuple[int, int], start: int, view: str
) -> None:
    start = abs(start) if np.dtype(element.dtype).kind == "u" else start
    graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    rows, columns = shape
    whole = graph.add_variable(element, (rows, 2 * columns), "x", mapping="linear")
    square = graph.add_variable(element, (columns, rows), "y", mapping="linear")
    outs = {"whole": whole[:, :columns], "transposed": square.T, "odd columns": whole[:, 1::2]}
    ops.assign(outs[view], ops.iota(shape, element, start=start), program=program)
    expected = (np.arange(rows * columns) + start).astype(element.dtype).reshape(shape)
    found = stored(graph, program, outs[view], interpret=True)
    assert np.array_equal(found, expected)


def test_iota_of_floats_beyond_24_bits_is_rounded_once() -> None:
    graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    x = graph.add_variable(pl.FLOAT, (100,), "x", mapping="linear")
    ops.assign(x, ops.iota(100, pl.FLOAT, start=2**25 + 1), program=program)
    expected = (np.arange(100) + float(2**25 + 1)).astype(np.float32)
    assert np.array_equal(stored(graph, program, x), expected)


def test_iota_that_is_broadcast_starts_again_in_each_row() -> None:
    graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    x = graph.add_variable(pl.INT, (3, 40), "x", mapping="linear")
    ops.assign(x, ops.iota(40), program=program)
    assert np.array_equal(stored(graph, program, x), np.tile(np.arange(40), (3, 1)))


def test_a_number_of_four_bytes_is_copied_on_its_tile() -> None:
    """As PopLibs does (lib/popops/Fill.cpp): no vertex, and nothing sent."""
    graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    x = graph.add_variable(pl.FLOAT, (), "x", mapping=3)
    ops.fill(x, 0.5, program=program)
    engine = pl.Engine(graph, program)
    engine.run()
    assert engine.read(x) == 0.5
    (step,) = engine.report().execution.steps
    assert not any(phase.received.array().any() for phase in step.phases)
