"""NumPy's names: those that work, against NumPy, and those that are refused by what to use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import poplite as pl

ops: Any = pl.ops  # its dims have one name for type checkers

VALUES = np.arange(24, dtype=np.float32).reshape(4, 6) % 7

RESULTS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: x.sum(),
    "sum of columns": lambda x: x.sum(axis=0),
    "mean": lambda x: x.mean(axis=1, keepdims=True),
    "max": lambda x: x.max(0),
    "min": lambda x: x.min(axis=(0, 1)),
    "astype": lambda x: (x * 0.5).astype(np.int32),
    "reshape": lambda x: x.reshape(6, 4) + 1,
    "flat": lambda x: x.reshape(-1) + 1,
    "left over": lambda x: x.reshape(3, -1, 2) + 1,
    "left over, in a list": lambda x: x.reshape((-1, 8)) + 1,
    "transpose": lambda x: x.transpose(1, 0) + 1,
    "transpose by a list": lambda x: x.transpose((1, 0)) + 1,
    "squeeze": lambda x: x[:1].squeeze() + 1,
}
"""By expressions that mean the same of an array and of a tensor."""

FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "sum": (lambda x: ops.sum(x, axis=0), lambda x: np.sum(x, axis=0)),
    "argmax": (lambda x: ops.argmax(x, axis=1), lambda x: np.argmax(x, axis=1)),
    "cumulative_sum": (
        lambda x: ops.cumulative_sum(x, axis=1) + 0,
        lambda x: np.cumsum(x, axis=1),
    ),
    "clip": (lambda x: ops.clip(x, 1, 3), lambda x: np.clip(x, 1, 3)),
    "concatenate": (
        lambda x: ops.concatenate([x, x], axis=1) + 0,
        lambda x: np.concatenate([x, x], axis=1),
    ),
    "stack": (lambda x: ops.stack([x, x]) + 0, lambda x: np.stack([x, x])),
    "stack behind": (lambda x: ops.stack([x, x], axis=2) + 0, lambda x: np.stack([x, x], 2)),
    "stack between": (lambda x: pl.stack([x, x], 1) + 0, lambda x: np.stack([x, x], 1)),
    "relu": (lambda x: ops.nn.relu(x - 3), lambda x: np.maximum(x - 3, 0)),
    "softmax": (
        lambda x: ops.nn.softmax(x, axis=0),
        lambda x: np.exp(x) / np.exp(x).sum(axis=0),
    ),
}


def _run(function: Callable[[Any], Any]) -> Any:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.FLOAT, VALUES.shape, "x", mapping="linear", initial_value=VALUES)
    with graph.steps() as steps:
        y = ops.map(function(x))
    engine = pl.Engine(graph, steps, interpret=True)
    engine.run()
    return engine.read(y)


@pytest.mark.parametrize("name", RESULTS)
def test_methods_mean_what_those_of_arrays_mean(name: str) -> None:
    found, expected = _run(RESULTS[name]), np.asarray(RESULTS[name](VALUES))
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_mean_what_those_of_numpy_mean(name: str) -> None:
    ours, numpy = FUNCTIONS[name]
    found, expected = _run(ours), numpy(VALUES)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_sizes_and_types_have_their_names_of_arrays() -> None:
    x = pl.Graph().add_variable(pl.HALF, (4, 6), "x")
    for each in (x, x + 1):
        assert (each.ndim, each.size) == (2, 24)
        assert each.dtype == np.float16


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "both": (lambda x: ops.sum(x, 1, axis=0), "sum: dimensions are given twice.*dims=1 and axis=0"),
    "both of a method": (lambda x: x.sum(1, axis=0), "sum: dimensions are given twice"),
    "both of concat": (
        lambda x: ops.concatenate([x, x], dim=1, axis=0),
        "concat: dimensions are given",
    ),
    "both of stack": (lambda x: pl.stack([x, x], 1, axis=0), "stack: dimensions are given twice"),
    "both of concat, one by place": (
        lambda x: cast("Any", pl).concat([x, x], 1, axis=0),
        "concat: dimensions are given twice.*dim=1 and axis=0",
    ),
    "both of stack, the first": (lambda x: pl.stack([x, x], 0, axis=1), "stack: dimensions are"),
    "nothing": (lambda x: pl.stack([]), "stack of 0 tensors"),
    "one": (lambda x: pl.stack(x), r"one tensor, not of a list.*pl.stack\(\[x, y\]\)"),
    "no size": (lambda x: x.reshape(5, -1), r"no size fits.*24 elements.*other sizes is 5"),
    "two gaps": (lambda x: x.reshape(-1, -1), r"shape\[0\] is -1, but the least is 0"),
    "unlike": (lambda x: pl.stack([x, x[1:]]), r"shapes \(4, 6\) and \(3, 6\).*pl.concat"),
    "std": (lambda x: x.std(), r"a tensor has no 'std'.*ops.sqrt\(ops.variance\(x, dims\)\)"),
    "argmax": (lambda x: x.argmax(), r"a tensor has no 'argmax'.*ops.argmax\(x, ...\)"),
    "repeat": (
        lambda x: x.repeat(2),
        r"a tensor has no 'repeat'.*ops.repeat_elements\(x, n, dim\)",
    ),
    "item": (lambda x: x.item(), r"engine.read\(x\) after a run"),
    "of an expression": (
        lambda x: (x + 1).reshape(24),
        "an expression has no 'reshape'.*store",
    ),
    "arange": (lambda x: vars(ops)["__getattr__"]("arange"), r"no ops.arange.*ops.iota"),
    "softmax": (lambda x: vars(ops)["__getattr__"]("softmax"), r"no ops.softmax.*ops.nn.softmax"),
    "zeros": (lambda x: getattr(pl, "zeros"), r"no pl.zeros.*graph.add_variable"),  # noqa: B009
    "sum of pl": (lambda x: getattr(pl, "sum"), r"poplite has no pl.sum.*ops.sum"),  # noqa: B009
}


@pytest.mark.parametrize("name", REFUSED)
def test_the_others_say_what_to_use(name: str) -> None:
    x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    use, text = REFUSED[name]
    with pytest.raises(pl.PopliteError, match=f"(?s){text}"):
        use(x)


def test_a_name_that_nothing_has_is_an_attribute_error() -> None:
    x: Any = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'nothing'"):
        _ = x.nothing
    with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'together'"):
        _ = x.together  # ops.together takes no tensor
    with pytest.raises(AttributeError, match="module 'poplite.ops' has no attribute 'nothing'"):
        vars(ops)["__getattr__"]("nothing")
