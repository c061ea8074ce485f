"""Tables without a plan are read and changed where they lie, where that takes fewer cycles."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import poplite as pl
from helpers.depth import interpreted
from poplite import ops


def table(graph: pl.Graph, shape: tuple[int, int], lies: Any) -> tuple[pl.Tensor, Any]:
    values = np.arange(shape[0] * shape[1], dtype=np.float32).reshape(shape)
    if lies == "turned":
        made = graph.add_variable(
            pl.FLOAT, shape[::-1], "table", mapping="linear", initial_value=values.T
        )
        return made.T, values
    return graph.add_variable(pl.FLOAT, shape, "table", mapping=lies, initial_value=values), values


def number(graph: pl.Graph, value: int) -> pl.Tensor:
    return graph.add_variable(pl.UNSIGNED_INT, (1,), "k", mapping=0, initial_value=value)


def ran(graph: pl.Graph, program: pl.Program, result: pl.Tensor) -> tuple[npt.NDArray[Any], Any]:
    """What a tensor holds after a run, and the report of the run."""
    engine = pl.Engine(graph, program, interpret=False)
    engine.run()
    return engine.read(result), engine.report().execution


def of_rows(execution: Any) -> int:
    """The cycles of the step that reads or changes rows, which is the last one."""
    last = execution.steps[-1]
    assert last.name.endswith("/rows")
    return int(last.cycles)


@pytest.mark.parametrize(("lies", "most"), [("linear", 1_000), (0, 400), ("turned", 950)], ids=str)
def test_a_row_is_looked_up_where_the_table_lies(lies: Any, most: int) -> None:
    graph, program = pl.Graph(pl.Target(tiles=64)), pl.Sequence()
    x, values = table(graph, (100, 16), lies)
    y = ops.embedding(x, number(graph, 37), program=program)
    found, execution = ran(graph, program, y)
    assert (found == values[37]).all()
    assert execution.bytes_copied == 0
    assert of_rows(execution) <= most


def test_a_loop_over_slices_copies_no_table() -> None:
    graph = pl.Graph(pl.Target(tiles=64))
    x, values = table(graph, (24, 16), "linear")
    total = graph.add_variable(pl.FLOAT, (1, 16), "total", mapping="linear", initial_value=0)
    k = number(graph, 3)
    with graph.steps("loop") as program, ops.repeat(5):
        ops.assign(total, total + ops.dynamic_slice(x, k, [0], [1]))
        ops.assign(k, k + 1)
    found, execution = ran(graph, program, total)
    assert (found == values[3:8].sum(0)).all()
    assert execution.bytes_copied < x.num_elements * 4


def test_columns_that_lie_together_are_read_by_vertices_of_their_own() -> None:
    graph, program = pl.Graph(pl.Target(tiles=16)), pl.Sequence()
    x, values = table(graph, (500, 64), "linear")
    y = ops.dynamic_slice(x, number(graph, 63), [1], [2], program=program)
    found, execution = ran(graph, program, y)
    assert (found == values[:, [63, 0]]).all()
    assert execution.bytes_copied == 0
    assert of_rows(execution) <= 3_500


@pytest.mark.parametrize(("lies", "most"), [("linear", 900), (0, 1_500), ("turned", 900)])
def test_a_slice_is_changed_where_the_tensor_lies(lies: Any, most: int) -> None:
    graph, program = pl.Graph(pl.Target(tiles=64)), pl.Sequence()
    x, values = table(graph, (24, 16), lies)
    new = graph.add_variable(pl.FLOAT, (2, 16), "new", mapping="linear", initial_value=-1)
    ops.dynamic_update(x, new, number(graph, 23), [0], [2], program=program)
    found, execution = ran(graph, program, x)
    values[[23, 0]] = -1
    assert (found == values).all()
    assert execution.bytes_copied <= 128  # the new rows
    assert of_rows(execution) <= most


def test_a_table_that_is_mapped_later_is_copied() -> None:
    graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    values = np.arange(12, dtype=np.float32).reshape(6, 2)
    x = graph.add_variable(pl.FLOAT, (6, 2), "table", initial_value=values)
    y = ops.embedding(x.T[::-1].T, number(graph, 4), program=program)
    graph.set_tile_mapping(x, 3)
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    assert engine.read(y).tolist() == [[9, 8]]
