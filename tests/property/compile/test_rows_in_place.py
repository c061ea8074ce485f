"""Rows that vertices read where they lie: bits as of rows side by side, no copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from poplite.executable.step import ComputeStep
from poplite.graph.tensor.slices import Slices
from poplite.vertices.reduce import MaxColumns, SumColumns, SumColumnsOfTile

X: npt.NDArray[np.float32] = np.random.default_rng(3).standard_normal((12, 40)).astype(np.float32)


def sums_of(
    rows: list[npt.NDArray[Any]],
    checks: Any,
    *,
    cls: Any = SumColumns[pl.FLOAT, pl.FLOAT],
    columns: int | None = None,
    faster: bool = True,
    **state: int,
) -> tuple[npt.NDArray[Any], int]:
    """Return what a vertex writes of rows of elements of X, by number, and the bytes copied."""
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (X.size,), "x", mapping=1, initial_value=X.ravel())
    out = graph.add_variable(pl.FLOAT, (columns or len(rows[0]),), "out", mapping=0)
    compute_set = graph.add_compute_set("sums")
    joined = pl.concat([x[int(row[0]) : int(row[-1]) + 1] for row in rows])
    graph.add_vertex(compute_set, cls, tile=0, x=joined, out=out, stride=len(rows[0]), **state)
    engine = pl.Engine(graph, pl.Execute(compute_set), checks=checks, faster=faster)
    engine.run()
    step = engine.executable.steps[0]
    assert isinstance(step, ComputeStep)
    return engine.read(out), step.gather.size_bytes


@given(
    width=st.integers(1, 39),
    left=st.integers(0, 39),
    count=st.integers(2, 6),
    step=st.integers(1, 2),
    of_tile=st.booleans(),
)
def test_rows_at_even_distances_are_not_copied(
    width: int, left: int, count: int, step: int, of_tile: bool
) -> None:
    left = min(left, 40 - width)
    rows = [40 * step * k + left + np.arange(width) for k in range(count)]
    cls: Any = SumColumns[pl.FLOAT, pl.FLOAT]
    state: dict[str, Any] = {}
    if of_tile:
        cls, state = SumColumnsOfTile[pl.FLOAT], {"first": 0, "share": -(-width // 6)}
    found, copied = sums_of(rows, "fast", cls=cls, **state)
    expected = X.ravel()[rows[0]]
    for row in rows[1:]:
        expected = expected + X.ravel()[row]
    assert found.tobytes() == expected.tobytes()
    assert copied == 0


@pytest.mark.parametrize("faster", [True, False])
def test_all_forms_read_the_same_rows(faster: bool) -> None:
    rows = [40 * k + 5 + np.arange(11) for k in range(12)]
    cls, state = SumColumnsOfTile[pl.FLOAT], {"first": 0, "share": 2}
    found, copied = sums_of(rows, "fast", cls=cls, faster=faster, **state)
    strict, copied_by_strict = sums_of(rows, "strict", cls=cls, faster=faster, **state)
    assert found.tobytes() == strict.tobytes()
    assert (copied, copied_by_strict) == (0, 12 * 11 * 4)
    greatest, copied = sums_of(rows, "fast", cls=MaxColumns[pl.FLOAT, pl.FLOAT])
    np.testing.assert_array_equal(greatest, X[:, 5:16].max(0))
    assert copied == 0


@pytest.mark.parametrize(
    ("begins", "width", "state"),
    [
        pytest.param([0, 40, 90], 7, {}, id="uneven distances"),
        pytest.param([80, 40, 0], 7, {}, id="falling"),
        pytest.param([0, 7, 47], 7, {}, id="two of the rows are one run"),
        pytest.param([0, 40, 80], 7, {"columns": 9}, id="columns reach into the next row"),
        pytest.param(
            [0, 40, 80],
            7,
            {"cls": SumColumnsOfTile[pl.FLOAT], "first": 3, "share": 2},
            id="the first row is not complete",
        ),
    ],
)
def test_other_rows_are_copied(begins: list[int], width: int, state: dict[str, Any]) -> None:
    rows = [begin + np.arange(width) for begin in begins]
    found, copied = sums_of(rows, "fast", **state)
    strict, _ = sums_of(rows, "strict", **state)
    assert found.tobytes() == strict.tobytes()
    assert copied == 3 * width * 4


def test_some_vertices_of_many_read_in_place() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.FLOAT, X.shape, "x", mapping="linear", initial_value=X)
    out = graph.add_variable(pl.FLOAT, (12,), "out", mapping="linear")
    rows = [[0, 1, 2], [3, 5, 7], [4, 5, 9], [10]]
    begin = np.concatenate([40 * np.array(own) + 3 * k for k, own in enumerate(rows)])
    first = np.cumsum([0, *map(len, rows)])
    compute_set = graph.add_compute_set("sums")
    graph.add_vertices(
        compute_set,
        SumColumns[pl.FLOAT, pl.FLOAT],
        tile=np.arange(4),
        x=Slices(x.flatten(), 0, begin, begin + 3, first),
        out=Slices(out, 0, 3 * np.arange(4), 3 * np.arange(4) + 3),
        stride=3,
    )
    engine = pl.Engine(graph, pl.Execute(compute_set), checks="fast")
    engine.run()
    expected = [X[own[0], 3 * k : 3 * k + 3].copy() for k, own in enumerate(rows)]
    for k, own in enumerate(rows):
        for row in own[1:]:
            expected[k] += X[row, 3 * k : 3 * k + 3]
    assert engine.read(out).tobytes() == np.concatenate(expected).tobytes()
    step = engine.executable.steps[0]
    assert isinstance(step, ComputeStep)
    assert step.gather.size_bytes == 3 * 3 * 4
