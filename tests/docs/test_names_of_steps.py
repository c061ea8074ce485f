"""docs/report.md explains names of steps; operations have the name of their call."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from poplite import ops
from poplite.expr.tree import Expr

PAGE = Path(__file__).parents[2] / "docs/report.md"


def variable(
    graph: pl.Graph, shape: tuple[int, ...], name: str = "x", element: Any = pl.FLOAT
) -> pl.Tensor:
    zeros = np.zeros(shape, np.float32 if element is pl.FLOAT else np.int32)
    if element is pl.UNSIGNED_INT:
        zeros = zeros.astype(np.uint32)
    return graph.add_variable(element, shape, name, mapping="linear", initial_value=zeros)


def loops(g: pl.Graph) -> None:
    x = variable(g, (64,))
    with ops.repeat(3) as i:
        ops.dynamic_update(x, ops.dynamic_slice(x, i, [0], [1]), i, [0], [1])
    with ops.while_(ops.sum(x) > 1e9):
        ops.assign(x, x - 1)
    with ops.if_(ops.any(x > 3)):
        ops.assign(x, x * 2)


RECORDED: dict[str, Callable[[pl.Graph], object]] = {
    "loops": loops,
    "sort": lambda g: ops.sort(variable(g, (64,))),
    "argsort": lambda g: ops.argsort(variable(g, (64,))),
    "top_k": lambda g: ops.top_k(variable(g, (4, 64)), 3),
    "top_k of all": lambda g: ops.top_k(variable(g, (64,)), 3),
    "cumulative_sum": lambda g: ops.cumulative_sum(variable(g, (64,))),
    "unique": lambda g: ops.unique_sorted(variable(g, (64,), "n", pl.INT)),
    "embedding": lambda g: ops.embedding(
        variable(g, (64, 8)), variable(g, (5,), "i", pl.UNSIGNED_INT)
    ),
    "update": lambda g: ops.multi_update_add(
        variable(g, (64, 8)), variable(g, (5, 8), "s"), variable(g, (5,), "i", pl.UNSIGNED_INT)
    ),
    "matmul": lambda g: ops.map(variable(g, (64, 64)) @ variable(g, (64, 64), "w")),
    "softmax": lambda g: ops.map(ops.nn.softmax(variable(g, (8, 64)), 1)),
    "sums": lambda g: ops.map(ops.sum(variable(g, (64, 64))) * 2 + 1),
    "cholesky": lambda g: ops.linalg.cholesky(variable(g, (16, 16))),
}


def suffixes(graph: pl.Graph) -> Iterator[str]:
    """Yield the last part of the names of steps that have several, without numbers."""
    for each in graph.compute_sets:
        parts = re.sub(r"\[.*\]", "", each.name).split("/")
        if len(parts) > 1:
            yield re.sub(r"[_ ]?\d+$", "", parts[-1])


@pytest.mark.parametrize("name", RECORDED)
def test_the_page_has_what_follows_the_names_of_steps(name: str) -> None:
    page = PAGE.read_text()
    section = page[page.index("The suffix of a step") : page.index("A generated vertex class")]
    table = re.findall(r"^\| (`.*?`) \|", section, re.M)
    known = {
        re.sub(r" \d+$", "", each.split("/")[-1])
        for row in table
        for each in re.findall(r"`(.*?)`", row)
    }
    graph = pl.Graph(pl.Target(tiles=4))
    with graph.steps():
        RECORDED[name](graph)
    assert set(suffixes(graph)) <= known


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (lambda x: ops.argmax(x, 1), "argmax"),
        (lambda x: ops.argmin(x), "argmin"),
        (lambda x: ops.mean(x, 1), "mean"),
        (lambda x: ops.variance(x), "variance"),
        (lambda x: ops.norm(x, 1, ord=1), "norm"),
        (lambda x: ops.nn.layer_norm(x), "layer_norm"),
        (lambda x: ops.nn.hard_sigmoid(x), "hard_sigmoid"),
        (lambda x: ops.nn.gelu_gradient(x, x), "gelu_gradient"),
        (lambda x: ops.nn.squared_error(x, x + 1), "squared_error"),
        (lambda x: ops.nn.softmax(x, 1), "softmax"),
        (lambda x: ops.nn.log_softmax(x, 1), "log_softmax"),
        (lambda x: ops.nn.softmax_gradient(x, x), "softmax_gradient"),
        (lambda x: ops.nn.log_softmax_gradient(x, x), "log_softmax_gradient"),
    ],
)
def test_an_operation_made_of_several_has_the_name_of_its_call(
    made: Callable[[pl.Tensor], Expr], name: str
) -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    with graph.steps():
        result = ops.map(made(variable(graph, (8, 8))))
    assert result.name == name
    assert [each.name for each in graph.operations] == [name]
    assert all(each.name.startswith(name) for each in graph.compute_sets)


def test_remedies_leave_scopes_out_of_names() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    with graph.scope("layer"):
        w = variable(graph, (8,), "w", pl.INT)
    x = variable(graph, (8,))
    with graph.steps(), ops.repeat(3) as i:
        for other, remedy in ((i, "index"), (i + 1, "index + 1"), (w, "w"), (w * w, "w * w")):
            with pytest.raises(pl.ElementTypeError) as caught:
                x * other
            assert caught.value.fix == f"ops.cast({remedy}, FLOAT)"
