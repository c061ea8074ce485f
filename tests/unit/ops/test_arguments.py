"""Operations that take a graph refuse what is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poplite as pl
from poplite.compat import popops
from poplite.compat.popops import expr

GRAPH = pl.Graph(pl.Target(tiles=4))
X = GRAPH.add_variable(pl.FLOAT, (4, 4), "x", mapping="linear")
K = GRAPH.add_constant(pl.UNSIGNED_INT, (1,), 0, "k", mapping=0)
STEPS = pl.Sequence()

Call = Callable[[Any], object]

GRAPHS: dict[str, Call] = {
    "lower": lambda graph: pl.ops.lower(graph, [X + X], STEPS),
    "counted_loop": lambda graph: pl.counted_loop(graph, 0, 3, 1, STEPS),
    "ops.plan_matmul": lambda graph: pl.ops.plan_matmul(graph, m=2, k=2, n=2),
}


def refused(error: type[pl.PopliteError], call: Call, value: object) -> tuple[str, str, str]:
    """Return what, found and fix of the error, which is raised before anything is made."""
    with pytest.raises(error) as caught:
        call(value)
    assert caught.value.at is not None
    assert caught.value.at.file == __file__
    assert ([v.name for v in GRAPH.variables], GRAPH.compute_sets) == (["x", "k"], ())
    assert STEPS.is_empty
    return caught.value.what, caught.value.found, caught.value.fix


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("value", [None, GRAPH.target])
def test_a_graph_is_needed(name: str, value: object) -> None:
    what, found, fix = refused(pl.ControlProgramError, GRAPHS[name], value)
    assert what == f"{name}: {value!r} is not a graph"
    assert found == f"it is of type {type(value).__name__}"
    assert fix.startswith(f"{name}(graph, ")


WRONG: dict[str, tuple[Call, str, str]] = {
    "roots": (lambda x: pl.ops.lower(GRAPH, 3), "ops.lower: roots is 3, not a list", "[x + y"),  # type: ignore[arg-type]
    "gain": (
        lambda x: pl.ops.nn.batch_norm(x, gain=pl.ops.arg(0)),
        "ops.nn.batch_norm, gain: arguments of the expression are not given",
        "ops.map(expression, [tensors])",
    ),
    "sizes": (
        lambda x: pl.ops.dynamic_slice(x, K, [0], np.array(1), program=STEPS),  # type: ignore[arg-type]
        "ops.dynamic_slice: sizes is array(1), not a list",
        "sizes=[1]",
    ),
    "request": (
        lambda x: pl.ops.ConvolutionPlan(GRAPH, 3),  # type: ignore[arg-type]
        "ops.ConvolutionPlan: request is 3",
        "ops.plan_convolution(graph, ...) makes a plan",
    ),
    "inout": (
        lambda x: pl.graph_function(pl.ops.exp, inout=3),  # type: ignore[call-overload]
        "graph_function: inout is 3, not a list",
        "inout=('weights',)",
    ),
    "abs": (
        lambda x: popops.abs(GRAPH, [1], STEPS),
        "popops.abs: a is [1]",
        "a tensor, as graph.add_variable makes it, or a number",
    ),
    "neg": (
        lambda x: popops.neg(GRAPH, pl.QUARTER, STEPS),
        "popops.neg: a is QUARTER",
        "a tensor, as graph.add_variable makes it, or a number",
    ),
    "addInPlace": (
        lambda x: popops.addInPlace(GRAPH, np.arange(3), (1, 1), STEPS),
        "popops.addInPlace: a is array([0, 1, 2])",
        "a tensor, as graph.add_variable makes it, or a number",
    ),
    "pad": (
        lambda x: popops.pad(GRAPH, x, [0, 0], 3),  # type: ignore[arg-type]
        "popops.pad: padding_upper is 3",
        "a list of whole numbers",
    ),
    "text on the left": (
        lambda x: "1" - expr._1,  # type: ignore[arg-type]
        "popops.expr: '1' is not an expression",
        "expr._1, expr._2, ... are the tensors of popops.map",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_argument_of_another_kind_is_named(name: str) -> None:
    call, what, fix = WRONG[name]
    with pytest.raises(pl.ElementTypeError if name != "pad" else pl.InvalidOption) as caught:
        call(X.reshape((4, 4, 1)) if name == "gain" else X)
    assert caught.value.what == what
    assert fix in caught.value.fix
    assert caught.value.at is not None
    assert caught.value.at.file == __file__
