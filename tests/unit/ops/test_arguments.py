"""Operations over tensors refuse what is no graph, no tensor and no sequence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import poplite as pl

GRAPH = pl.Graph(pl.Target(tiles=4))
X = GRAPH.add_variable(pl.FLOAT, (4, 4), "x", mapping="linear")
PLAN = pl.ops.plan_matmul(GRAPH.target, pl.FLOAT, 4, 4, 4)
STEPS = pl.Sequence()

Call = Callable[[Any], object]

GRAPHS: dict[str, Call] = {
    "lower": lambda graph: pl.ops.lower(graph, [X + X], STEPS),
    "counted_loop": lambda graph: pl.counted_loop(graph, 0, 3, 1, STEPS),
    "create_matmul_input_lhs": lambda graph: pl.ops.create_matmul_input_lhs(graph, PLAN),
    "create_matmul_input_rhs": lambda graph: pl.ops.create_matmul_input_rhs(graph, PLAN),
    "matmul": lambda graph: pl.ops.matmul(graph, X, X, STEPS),
}
TENSORS: dict[str, Call] = {
    "matmul": lambda tensor: pl.ops.matmul(GRAPH, tensor, X, STEPS),
}
SEQUENCES: dict[str, Call] = {
    "matmul": lambda program: pl.ops.matmul(GRAPH, X, X, program),
}


def refused(error: type[pl.PopliteError], call: Call, value: object) -> tuple[str, str, str]:
    """Return what, found and fix of the error, which is raised before anything is made."""
    with pytest.raises(error) as caught:
        call(value)
    assert caught.value.at is not None
    assert caught.value.at.file == __file__
    assert ([v.name for v in GRAPH.variables], GRAPH.compute_sets) == (["x"], ())
    assert STEPS.is_empty
    return caught.value.what, caught.value.found, caught.value.fix


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("value", [None, GRAPH.target])
def test_a_graph_is_needed(name: str, value: object) -> None:
    what, found, fix = refused(pl.ControlProgramError, GRAPHS[name], value)
    assert what == f"{name}: {value!r} is no graph"
    assert found == f"it is of type {type(value).__name__}"
    assert fix.startswith(f"{name}(graph, ")


@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.parametrize("value", [None, 2.5])
def test_a_tensor_is_needed(name: str, value: object) -> None:
    what, found, fix = refused(pl.ElementTypeError, TENSORS[name], value)
    assert what == f"{name}: {type(value).__name__} is not a tensor"
    assert found == f"given {value}"
    assert fix.startswith(f"{name}(graph, ")


@pytest.mark.parametrize("name", TENSORS)
def test_the_tensor_is_of_the_graph(name: str) -> None:
    other = pl.Graph(GRAPH.target).add_variable(pl.FLOAT, (4, 4), "other", mapping=0)
    what, _, fix = refused(pl.GraphConnectionError, TENSORS[name], other)
    assert what == "'other' belongs to another graph"
    assert fix == "use the graph that made the tensor: tensor.graph"


@pytest.mark.parametrize("name", SEQUENCES)
@pytest.mark.parametrize("value", [None, pl.Program()])
def test_a_sequence_is_needed(name: str, value: object) -> None:
    what, found, fix = refused(pl.ControlProgramError, SEQUENCES[name], value)
    assert what == f"{name}: {value!r} is no sequence"
    assert found == f"it is of type {type(value).__name__}"
    assert fix.endswith("program)")
