"""Operations that take a graph refuse what is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import poplite as pl

GRAPH = pl.Graph(pl.Target(tiles=4))
X = GRAPH.add_variable(pl.FLOAT, (4, 4), "x", mapping="linear")
STEPS = pl.Sequence()

Call = Callable[[Any], object]

GRAPHS: dict[str, Call] = {
    "lower": lambda graph: pl.ops.lower(graph, [X + X], STEPS),
    "counted_loop": lambda graph: pl.counted_loop(graph, 0, 3, 1, STEPS),
    "plan_matmul": lambda graph: pl.ops.plan_matmul(graph, m=2, k=2, n=2),
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
