"""Attention of several heads against NumPy in double, and its gradients against differences."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import deep, examples
from poplite import ops
from poplite.ops import nn

Array = npt.NDArray[Any]
Doubles = npt.NDArray[np.float64]


def numpy_attention(operands: list[Doubles], heads: int, seen: Array) -> Doubles:
    """The result, in double."""
    query, key, value, wq, wk, wv, wo = operands
    q, k, v = (
        (x @ w).reshape((*x.shape[:2], heads, w.shape[1] // heads))
        for x, w in ((query, wq), (key, wk), (value, wv))
    )
    scores = np.einsum("bthd,bshd->bhts", q, k) / max(1, q.shape[3]) ** 0.5
    scores = np.where(seen, scores, -np.inf)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    mixed = np.einsum("bhts,bshd->bthd", shares, v)
    result: Doubles = mixed.reshape((*query.shape[:2], wo.shape[0])) @ wo
    return result


def slopes(operands: list[Doubles], heads: int, seen: Array, by: Doubles) -> list[Doubles]:
    """The gradients of the sum of results times `by`, by differences in double."""
    found = [np.empty_like(each) for each in operands]
    for each, slope in zip(operands, found, strict=True):
        for place in np.ndindex(each.shape):
            kept, ends = each[place], []
            for step in (1e-5, -1e-5):
                each[place] = kept + step
                ends.append((numpy_attention(operands, heads, seen) * by).sum())
            each[place] = kept
            slope[place] = (ends[0] - ends[1]) / 2e-5
    return found


def attention(
    sizes: tuple[int, ...], dtype: str, is_masked: bool, seed: int, interpret: bool = True
) -> list[Array]:
    """Run an attention and its gradients, compare them with NumPy, and return all results."""
    batch, queries, keys, elements, heads, depth, width = sizes
    random = np.random.default_rng(seed)
    shapes: list[tuple[int, ...]] = [(batch, queries, elements), (batch, keys, 3), (batch, keys, 2)]
    shapes += [(elements, heads * depth), (3, heads * depth), (2, heads * width)]
    shapes += [(heads * width, 4), (batch, queries, 4)]
    operands = [(0.7 * random.standard_normal(shape)).astype(dtype) for shape in shapes]
    graph, program = pl.Graph(pl.Target(tiles=3)), pl.Sequence()
    query, key, value, *weights, by = (
        graph.add_variable(
            dtype, a.shape, f"x{n}", mapping="linear" if (seed + n) % 3 else 1, initial_value=a
        )
        for n, a in enumerate(operands)
    )
    sees = ops.iota((queries, 1)) + 1 >= ops.iota((keys,)) if is_masked else None
    own = nn.AttentionWeights(*weights)
    made = nn.multi_head_attention(query, key, value, own, heads, mask=sees, program=program)
    back = nn.multi_head_attention_gradient(
        query, key, value, own, heads, made, by, program=program
    )
    # Values alone count, at any depth.
    engine = pl.Engine(graph, program, interpret=interpret, options={"debug.instrument": False})
    engine.run()
    results = [made.result, *back[:3], *back.weights]
    found = [engine.read(each) for each in results]
    *wide, gradient = (each.astype(float) for each in operands)
    seen = np.arange(queries)[:, None] + 1 >= np.arange(keys) if is_masked else np.ones((), bool)
    exact = [numpy_attention(wide, heads, seen), *slopes(wide, heads, seen, gradient)]
    near = {"float32": 2e-5, "float16": 3e-2}[dtype]
    for one, other in zip(found, exact, strict=True):
        assert one.dtype == dtype
        np.testing.assert_allclose(one, other, rtol=near, atol=near)
    return found


@examples(12, quick=1)
@given(
    sizes=st.sampled_from(
        [
            *[(1, 3, 4, 3, 2, 2, 1), (2, 5, 3, 4, 3, 1, 2), (1, 1, 1, 1, 1, 1, 1)],
            *[(0, 2, 2, 1, 1, 1, 1), (2, 0, 2, 1, 1, 1, 1), (1, 2, 3, 0, 2, 2, 1)],
            *[(1, 2, 3, 2, 2, 0, 1), (1, 2, 3, 2, 2, 1, 0)],
        ]
    ),
    dtype=st.sampled_from(["float32", "float16"]),
    is_masked=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_attention_and_gradients_are_numpys(
    sizes: tuple[int, ...], dtype: str, is_masked: bool, seed: int
) -> None:
    attention(sizes, dtype, is_masked, seed)


@deep
def test_compiled_attention_has_the_same_bits() -> None:
    sizes = (2, 3, 4, 5, 2, 3, 2)
    both = [attention(sizes, "float16", True, 5, interpret=each) for each in (True, False)]
    for one, other in zip(*both, strict=True):
        np.testing.assert_array_equal(one, other)


def hidden(value: object) -> Any:
    """A value of a type that is refused."""
    return value


def backward(x: pl.Tensor, w: nn.AttentionWeights, f: object, role: str) -> object:
    """Call for a gradient with something else among what was saved."""
    own = x.graph.add_variable(pl.FLOAT, (2, 2, 3, 3), "shares", mapping=0)
    saved = nn.AttentionSaved(x, x, x, own, x)._replace(**{role: x[:, :1]})
    made = nn.Attention(x, saved)
    return nn.multi_head_attention_gradient(x, x, x, w, 2, made, x)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x, w, f: f(x[0], x, x, w, 2), "query 'x' is float32[3, 4]"),
        (lambda x, w, f: f(x, x[:1], x, w, 2), "key 'x' is float32[1, 3, 4]"),
        (lambda x, w, f: f(x, x[:, :0], x[:, :0], w, 2), "there is no key"),
        (lambda x, w, f: f(x, x, x, w, 3), "3 heads of 4 columns of weights.query"),
        (lambda x, w, f: f(x, x, x, hidden(x), 2), "are not weights"),
        (lambda x, w, f: f(x, x, x, w._replace(key=x), 2), "weights.key 'x' is float32[2, 3, 4]"),
        (
            lambda x, w, f: f(x, x, x, w._replace(key=x[0]), 2),
            "weights.key 'x' is float32[3, 4]",
        ),
        (lambda x, w, f: f(x, x, x, w, 2, mask=x), "the mask is FLOAT"),
        (lambda x, w, f: f(x, x, x, w, 2, mask=x > 0), "the mask has shape (2, 3, 4)"),
        (
            lambda x, w, f: nn.multi_head_attention_gradient(x, x, x, w, 2, hidden(x), x),
            "is nothing that ops.nn.multi_head_attention made",
        ),
        *(
            (partial(backward, role=role), f"forward.saved.{role} 'x' is float32[2, 1, 4]")
            for role in ("query", "key", "value", "shares", "mixed")
        ),
    ],
)
def test_refusals(function: Callable[..., Any], text: str) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (2, 3, 4), "x", mapping="linear")
    weights = [graph.add_variable(pl.FLOAT, (4, 4), name, mapping=0) for name in "qkvo"]
    with graph.steps(), pytest.raises(pl.PopliteError) as raised:
        function(x, nn.AttentionWeights(*weights), nn.multi_head_attention)
    assert text in str(raised.value)
    assert raised.value.at is not None
    assert raised.value.at.file.endswith("test_attention.py")
    assert not graph.compute_sets
