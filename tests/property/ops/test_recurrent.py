"""Recurrent layers, then attention, against NumPy in double; gradients against differences."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import deep, examples, thinned
from helpers.running import words_of
from poplite import ops
from poplite.graph.compute_sets.edge_table import edge_table
from poplite.ops import nn

# -- LSTM and GRU ----------------------------------------------------------------------------------


Array = npt.NDArray[Any]
Doubles = npt.NDArray[np.float64]
KINDS = "lstm", "gru", "gru_reset_after"


def sigmoid(x: Doubles) -> Doubles:
    result: Doubles = 1 / (1 + np.exp(-x))
    return result


def numpy_layer(kind: str, lengths: Array, x: Doubles, w: Doubles, *rest: Doubles) -> Any:
    """The outputs of all steps, and the state behind them."""
    u, b, *state = rest
    outputs = [np.zeros((0, *state[0].shape))]
    for step, part in enumerate(x):
        h, *c = state
        by_x, by_h = np.einsum("bi,giu->gbu", part, w), np.einsum("bi,giu->gbu", h, u)
        if kind == "lstm":
            f, i, a, o = by_x + by_h + b[:, None]
            c = [sigmoid(f) * c[0] + sigmoid(i) * np.tanh(a)]
            made = [sigmoid(o) * np.tanh(c[0]), *c]
        else:
            one, other = (b, 0 * b) if b.ndim == 2 else (b[:, 0], b[:, 1])
            r, z = (sigmoid(by_x[n] + by_h[n] + one[n] + other[n]) for n in (0, 1))
            behind = r * (by_h[2] + other[2]) if b.ndim == 3 else (r * h) @ u[2]
            made = [z * h + (1 - z) * np.tanh(by_x[2] + one[2] + behind)]
        runs = (lengths > step)[:, None]
        state = [np.where(runs, one, other) for one, other in zip(made, state, strict=True)]
        outputs.append(np.where(runs, state[0], 0)[None])
    return np.concatenate(outputs), *state


def slopes_of_layer(
    kind: str, lengths: Array, operands: list[Doubles], by: list[Doubles]
) -> list[Doubles]:
    """The gradients of the sum of results times `by`, by differences in double."""

    def loss() -> float:
        return float(
            sum(
                (a * b).sum()
                for a, b in zip(numpy_layer(kind, lengths, *operands), by, strict=True)
            )
        )

    found = [np.empty_like(each) for each in operands]
    for each, slope in zip(operands, found, strict=True):
        for place in np.ndindex(each.shape):
            kept, ends = each[place], []
            for step in (1e-5, -1e-5):
                each[place] = kept + step
                ends.append(loss())
            each[place] = kept
            slope[place] = (ends[0] - ends[1]) / 2e-5
    return found


def layer(
    kind: str,
    sizes: tuple[int, int, int, int],
    dtype: str,
    seed: int,
    *,
    has_state: bool = True,
    lengths: list[int] | None = None,
    interpret: bool = True,
) -> list[Array]:
    """Run a layer and its gradients, compare them with NumPy, and return all results."""
    steps, batch, inputs, units = sizes
    random = np.random.default_rng(seed)
    gates = 4 if kind == "lstm" else 3
    biases = (gates, 2, units) if kind == "gru_reset_after" else (gates, units)
    shapes = [(steps, batch, inputs), (gates, inputs, units), (gates, units, units), biases]
    shapes += [(batch, units)] * (1 + (kind == "lstm"))
    results = [(steps, batch, units), *shapes[4:]]
    operands = [(0.5 * random.standard_normal(shape)).astype(dtype) for shape in shapes]
    by = [random.standard_normal(shape).astype(dtype) for shape in results]
    for each in () if has_state else (*operands[4:], *by[1:]):
        each[:] = 0
    graph, program = pl.Graph(pl.Target(tiles=3)), pl.Sequence()
    mappings: list[Any] = ["linear" if seed % 2 else 1, "linear", 2, "linear"]
    x, w, u, b, *state = (
        graph.add_variable(dtype, a.shape, f"x{n}", mapping=mappings[n % 4], initial_value=a)
        for n, a in enumerate(operands)
    )
    g, *by_state = (
        graph.add_variable(dtype, a.shape, f"g{n}", mapping="linear", initial_value=a)
        for n, a in enumerate(by)
    )
    weights = nn.RecurrentWeights(w, u, b)
    how: dict[str, Any] = {"program": program}
    if lengths is not None:
        how["lengths"] = graph.add_constant(pl.UNSIGNED_INT, (batch,), lengths, mapping=0)
    made: list[pl.Tensor]
    if kind == "lstm":
        first = nn.LstmState(*state) if has_state else None
        end = nn.LstmState(*by_state) if has_state else None
        forward = nn.lstm(x, weights, first, **how)
        back = nn.lstm_gradient(x, weights, forward, g, by_state=end, program=program)
        made = [forward.outputs, *forward.state, back.x, *back.weights, *back.state]
    else:
        after = b.rank == 3
        begin, last = (state[0], by_state[0]) if has_state else (None, None)
        recurrent = nn.gru(x, weights, begin, reset_after=after, **how)
        by_all = nn.gru_gradient(
            *(x, weights, recurrent, g), by_output=last, reset_after=after, program=program
        )
        made = [recurrent.outputs, recurrent.output, by_all.x, *by_all.weights, by_all.output]
    # Values alone count, at any depth.
    engine = pl.Engine(graph, program, interpret=interpret, options={"debug.instrument": False})
    engine.run()
    found = [engine.read(each) for each in made]
    wide = [each.astype(float) for each in operands]
    ends = np.full(batch, steps) if lengths is None else np.asarray(lengths)
    exact = [*numpy_layer(kind, ends, *wide)]
    exact += slopes_of_layer(kind, ends, wide, [each.astype(float) for each in by])
    near = {"float32": 2e-5, "float16": 3e-2}[dtype]
    for one, other in zip(found, exact, strict=True):
        assert one.dtype == dtype
        np.testing.assert_allclose(one, other, rtol=near, atol=near)
    return found


@pytest.mark.parametrize("kind", KINDS)
@examples(8, quick=1)
@given(
    sizes=st.sampled_from(
        [(2, 2, 2, 3), (5, 3, 4, 7), (1, 1, 1, 1), (0, 2, 2, 3), (2, 2, 0, 3), (2, 0, 2, 3)]
    ),
    dtype=st.sampled_from(["float32", "float16"]),
    has_state=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_layers_and_gradients_are_numpys(
    kind: str, sizes: tuple[int, int, int, int], dtype: str, has_state: bool, seed: int
) -> None:
    layer(kind, sizes, dtype, seed, has_state=has_state)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", thinned(["float32", "float16"], 1))
def test_sequences_of_several_lengths(kind: str, dtype: str) -> None:
    layer(kind, (3, 4, 2, 3), dtype, 5, lengths=[2, 0, 3, 9])


@deep
@pytest.mark.parametrize("kind", ["lstm", "gru_reset_after"])
def test_compiled_layers_have_the_same_bits(kind: str) -> None:
    sizes, ends = (3, 2, 4, 5), [3, 1]
    both = [
        layer(kind, sizes, "float32", 9, interpret=each, lengths=ends) for each in (True, False)
    ]
    for one, other in zip(*both, strict=True):
        np.testing.assert_array_equal(one, other)


@deep
def test_bits_are_the_same_on_any_number_of_threads(tmp_path: Path) -> None:
    script = """
import zlib
import numpy as np
import poplite as pl
from poplite.ops import nn

graph, program = pl.Graph(pl.Target(tiles=32)), pl.Sequence()
plan = nn.plan_lstm(graph, batch=16, inputs=32, units=48)
x, weights = plan.create_input(4, "x"), plan.create_weights("weights")
for each in (x, *weights):
    values = np.random.default_rng(0).standard_normal(each.shape)
    graph.set_initial_value(each, values.astype(np.float32))
made = nn.lstm(x, weights, program=program)
back = nn.lstm_gradient(x, weights, made, made.outputs, program=program)
engine = pl.Engine(graph, program, options={"debug.instrument": False})
engine.run()
print(*(zlib.crc32(engine.read(each).tobytes()) for each in (made.outputs, back.x, *back.weights)))
"""
    found = [words_of(tmp_path, script, NUMBA_NUM_THREADS=threads) for threads in ("1", "3")]
    assert found[0] == found[1]


def test_layers_stand_beside_operations_that_run_together() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    plan = nn.plan_lstm(graph, batch=1, inputs=1, units=2)
    x, weights = plan.create_input(1, "x"), plan.create_weights("weights")
    with graph.steps(), pl.ops.together():
        pl.ops.map(x + 1, name="one")
        nn.lstm(x, weights, inference=True)
        nn.lstm(x, weights, inference=True)
        pl.ops.map(x + 2, name="two")
    assert [each.name for each in graph.operations] == ["one", "lstm", "lstm_1", "two"]


def test_plans_make_weights_that_are_read_where_they_lie() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    plan = nn.plan_gru(graph, batch=2, inputs=3, units=4, reset_after=True, type=pl.HALF)
    x, weights = plan.create_input(5, "x"), plan.create_weights("w")
    assert x.shape == (5, 2, 3)
    assert weights.bias.shape == (3, 2, 4)
    for each in (x, *weights):
        assert each.element_type is pl.HALF
        graph.set_initial_value(each, np.zeros(each.shape))
    with graph.steps() as steps:
        made = nn.gru(x * 2, weights, reset_after=True, inference=True, name="layer")
    assert made.saved is None
    engine = pl.Engine(graph, steps, interpret=True, options={"debug.instrument": False})
    engine.run()
    assert not engine.read(made.outputs).any()
    read = [
        np.diff(field.runs.first)
        for each in graph.compute_sets
        if "products" in each.name
        for family in edge_table(each).families
        for field in family.fields
        if field.field.name == "x"
    ]
    # Weights, the right matrices of the three products, are in one piece.
    assert [pieces.tolist() for pieces in read] == [[1], [1], [1]]
    assert [each.name for each in graph.operations] == ["layer"]


def hidden(value: object) -> Any:
    """A value of a type that is refused."""
    return value


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x, w, s: nn.lstm(x[0], w), "x 'x' is float32[2, 3]"),
        (lambda x, w, s: nn.lstm(x, hidden((1, 2))), "(1, 2) are not weights"),
        (lambda x, w, s: nn.lstm(x, w._replace(bias=x)), "weights.bias 'x' is float32[4, 2, 3]"),
        (lambda x, w, s: nn.lstm(x, w, hidden(x)), "is not a state"),
        (lambda x, w, s: nn.lstm(x, w, nn.LstmState(s, x)), "state.cell 'x' is float32[4, 2, 3]"),
        (lambda x, w, s: nn.lstm(x, w, inference=hidden("no")), "inference is 'no'"),
        (lambda x, w, s: nn.lstm(x, w, lengths=s), "lengths 's' is float32[2, 5]"),
        (lambda x, w, s: nn.lstm(x, w, lengths=hidden([1, 2])), "ops.nn.lstm, lengths"),
        (lambda x, w, s: nn.gru(x, w, reset_after=hidden("no")), "reset_after is 'no'"),
        (lambda x, w, s: nn.gru(x, w), "weights.input 'w' is float32[4, 3, 5]"),
        (lambda x, w, s: nn.lstm(hidden(3), w), "ops.nn.lstm"),
        (
            lambda x, w, s: nn.lstm_gradient(x, w, nn.lstm(x, w, inference=True), x),
            "is not a result of ops.nn.lstm with saved values",
        ),
        (
            lambda x, w, s: nn.lstm_gradient(x, w, nn.lstm(x, w), x),
            "gradient 'x' is float32[4, 2, 3]",
        ),
    ],
)
def test_refused_layers(function: Callable[..., Any], text: str) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    shapes = ("x", (4, 2, 3)), ("w", (4, 3, 5)), ("u", (4, 5, 5)), ("b", (4, 5)), ("s", (2, 5))
    x, w, u, b, s = (
        graph.add_variable(pl.FLOAT, shape, name, mapping="linear") for name, shape in shapes
    )
    with graph.steps(), pytest.raises(pl.PopliteError) as raised:
        function(x, nn.RecurrentWeights(w, u, b), s)
    assert text in str(raised.value)
    assert raised.value.at is not None
    assert raised.value.at.file.endswith("test_recurrent.py")


# -- attention -------------------------------------------------------------------------------------


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


def slopes_of_attention(
    operands: list[Doubles], heads: int, seen: Array, by: Doubles
) -> list[Doubles]:
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
    exact = [numpy_attention(wide, heads, seen), *slopes_of_attention(wide, heads, seen, gradient)]
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
        (lambda x, w, f: f(x, x[:, :0], x[:, :0], w, 2), "there are no keys"),
        (
            lambda x, w, f: f(x, x, x, w, 3),
            "4 columns of weights.query cannot be divided among 3 heads",
        ),
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
            "is not a result of ops.nn.multi_head_attention",
        ),
        *(
            (partial(backward, role=role), f"forward.saved.{role} 'x' is float32[2, 1, 4]")
            for role in ("query", "key", "value", "shares", "mixed")
        ),
    ],
)
def test_refused_attention(function: Callable[..., Any], text: str) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (2, 3, 4), "x", mapping="linear")
    weights = [graph.add_variable(pl.FLOAT, (4, 4), name, mapping=0) for name in "qkvo"]
    with graph.steps(), pytest.raises(pl.PopliteError) as raised:
        function(x, nn.AttentionWeights(*weights), nn.multi_head_attention)
    assert text in str(raised.value)
    assert raised.value.at is not None
    assert raised.value.at.file.endswith("test_recurrent.py")
    assert not graph.compute_sets
