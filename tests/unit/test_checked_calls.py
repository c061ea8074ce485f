"""Arguments that fit no signature: what fits is said, by the name that users call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import poplite as pl
import poplite.named as ng
from poplite import ipu, ops as typed_ops
from poplite.public import checked_call, loaded_on_use

ops: Any = typed_ops

_GRAPH: Any = pl.Graph(pl.Target(tiles=4))
_X: Any = _GRAPH.add_variable(pl.FLOAT, (4, 6), "x", mapping=0)
_N = ng.make_axis(3, "N")
_NAMED = ng.variable([_N], 1.0, name="t")

MISFITS: dict[str, tuple[Callable[[], Any], str, str]] = {
    "ops.sum": (
        lambda: ops.sum(_X, dim=0),
        "ops.sum(x, dims=None, *, keepdims=False)",
        "ops.sum(..., dims=0)",
    ),
    "ops.mean": (
        lambda: ops.mean(_X, axes=(0, 1)),
        "ops.mean(x, dims=None, *, keepdims=False)",
        "ops.mean(..., dims=(0, 1))",
    ),
    "ops.nn.softmax": (
        lambda: ops.nn.softmax(_X, dims=0),
        "ops.nn.softmax(x, dim=-1)",
        "ops.nn.softmax(..., dim=0)",
    ),
    "ops.clip": (lambda: ops.clip(_X, a_min=0), "ops.clip(x, lower, upper)", ""),
    "ops.one_hot": (lambda: ops.one_hot(_X, 4, axis=0), "ops.one_hot(indices, depth, *,", ""),
    "ops.embedding": (lambda: ops.embedding(_X), "ops.embedding(table, indices, *,", ""),
    "ops.plan_matmul": (
        lambda: ops.plan_matmul(_GRAPH, (2, 3)),
        "ops.plan_matmul(graph, *, m, k, n,",
        "ops.plan_matmul(graph, m=..., k=..., n=...)",
    ),
    "x.sum": (
        lambda: _X.sum(dim=0),
        "x.sum(dims=None, *, keepdims=False, axis=None)",
        "x.sum(..., dims=0)",
    ),
    "pl.Graph": (
        lambda: vars(pl)["Graph"](tiles=4),
        "pl.Graph(target=None, replication_factor=1)",
        "pl.Graph(..., target=pl.Target(tiles=4))",
    ),
    "pl.Target": (lambda: vars(pl)["Target"](tile=4), "pl.Target(tiles=None,", "tiles=4)"),
    "graph.add_variable": (
        lambda: _GRAPH.add_variable(pl.FLOAT, (2,), nam="y"),
        "graph.add_variable(element_type, shape, name='', *, mapping=None,",
        "graph.add_variable(..., name='y')",
    ),
    "graph.add_constant": (
        lambda: _GRAPH.add_constant(pl.FLOAT, (2,), 1, tile=3),
        "graph.add_constant(element_type, shape, value, name='', *, mapping=None,",
        "graph.add_constant(..., mapping=3)",
    ),
    "ng.sum": (
        lambda: vars(ng)["sum"](_NAMED, axis=_N),
        "ng.sum(x, reduction_axes=None, out_axes=None)",
        "ng.sum(..., reduction_axes=",
    ),
}


@pytest.mark.parametrize("called", MISFITS)
def test_what_fits_is_said(called: str) -> None:
    call, signature, instead = MISFITS[called]
    with pytest.raises(
        pl.ElementTypeError, match=f"^{called}: (got an unexpected|missing|too many positional)"
    ) as caught:
        call()
    error = caught.value
    assert signature in error.found
    assert instead in error.fix
    assert bool(instead) == bool(error.fix)
    assert error.at is not None
    assert error.at.file == __file__


def test_a_type_error_within_a_call_stays_as_it_is() -> None:
    def fails(x: int) -> None:
        raise TypeError(f"of its own, {x}")

    with pytest.raises(TypeError, match="^of its own, 3$"):
        checked_call(fails, "fails")(3)


def test_signatures_and_docstrings_are_those_of_the_functions() -> None:
    assert list(inspect.signature(pl.Graph.add_variable).parameters)[:4] == [
        *("self", "element_type", "shape", "name"),
    ]
    assert str(inspect.signature(ops.clip)).startswith("(x")
    assert inspect.getdoc(pl.Graph.add_variable).startswith("Make a variable")  # type: ignore[union-attr]


def test_a_name_that_two_threads_load_at_once_is_one_object(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, load, _ = loaded_on_use("poplite.ipu", shown_as=lambda name, value: object())
    monkeypatch.delattr(ipu, "lint", raising=False)
    first = load("lint")
    monkeypatch.setattr(ipu, "lint", first)  # is taken away in the end
    assert load("lint") is first
