"""Functions of networks against NumPy in double, and their gradients against differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import deep, examples, forms, values_only
from helpers.running import interpreted_sooner
from poplite import ops
from poplite.compat import popnn
from poplite.compat.popnn import NonLinearityType as Kind
from poplite.ops import nn

# -- softmax, losses, normalisation, optimizers ----------------------------------------------------


Array = npt.NDArray[Any]
Doubles = npt.NDArray[np.float64]
Inputs = tuple[Array, ...]

SOONER = forms()[0]
"""The form that is tried where a test names none: by default the interpreted one."""


def run(function: Callable[..., Any], arrays: Inputs, interpret: bool = SOONER) -> list[Array]:
    """What expressions of tensors come to."""
    graph, program = pl.Graph(pl.Target(tiles=5)), pl.Sequence()
    tensors = [
        graph.add_variable(x.dtype, x.shape, f"x{n}", mapping="linear", initial_value=x)
        for n, x in enumerate(arrays)
    ]
    made = function(*tensors)
    made = made if isinstance(made, tuple) else (made,)
    results = [ops.map(each, program=program) for each in made]
    engine = pl.Engine(graph, program, interpret=interpret, options=values_only())
    engine.run()
    return [engine.read(each) for each in results]


def slope(function: Callable[[Doubles], Doubles], x: Array, weights: Doubles) -> Doubles:
    """The gradient of the sum of results times weights, by differences in double."""
    x = x.astype(np.float64)
    found, step = np.empty_like(x), 1e-5
    for place in np.ndindex(x.shape):
        moved = np.zeros_like(x)
        moved[place] = step
        change = function(x + moved) - function(x - moved)
        found[place] = (change * weights).sum() / (2 * step)
    return found


def softmax(x: Doubles, dim: int = -1) -> Doubles:
    powers = np.exp(x - x.max(dim, keepdims=True))
    result: Doubles = powers / powers.sum(dim, keepdims=True)
    return result


def log_softmax(x: Doubles, dim: int = -1) -> Doubles:
    less = x - x.max(dim, keepdims=True)
    result: Doubles = less - np.log(np.exp(less).sum(dim, keepdims=True))
    return result


def layer_norm(x: Doubles, gain: Any = 1.0, bias: Any = 0.0, epsilon: float = 1e-5) -> Doubles:
    centred = x - x.mean(-1, keepdims=True)
    result: Doubles = centred / np.sqrt(x.var(-1, keepdims=True) + epsilon) * gain + bias
    return result


SHAPES = st.sampled_from([(1, 1), (7, 3), (3, 40), (2, 3, 5)])
DTYPES = st.sampled_from(["float32", "float16"])


def close(found: Array, expected: Doubles, scale: float = 1.0) -> None:
    """Compare with a tolerance of some 8 roundings of the type."""
    step = {"float32": 1e-6, "float16": 5e-3}[found.dtype.name]
    np.testing.assert_allclose(found.astype(float), expected, rtol=step * 3, atol=step * scale)


@interpreted_sooner
@examples(10, quick=1)
@given(shape=SHAPES, dtype=DTYPES, seed=st.integers(0, 2**32 - 1), spread=st.sampled_from([1, 30]))
def test_softmax(
    interpret: bool, shape: tuple[int, ...], dtype: str, seed: int, spread: int
) -> None:
    random = np.random.default_rng(seed)
    dim = int(random.integers(-len(shape), len(shape)))
    x = (spread * random.standard_normal(shape)).astype(dtype)
    g = random.standard_normal(shape).astype(dtype)
    y, logarithm = run(lambda x: (nn.softmax(x, dim), nn.log_softmax(x, dim)), (x,), interpret)
    close(y, softmax(x.astype(float), dim))
    close(logarithm, log_softmax(x.astype(float), dim), spread)
    by_softmax, by_logarithm = run(
        lambda y, z, g: (nn.softmax_gradient(y, g, dim), nn.log_softmax_gradient(z, g, dim)),
        (y, logarithm, g),
        interpret,
    )
    close(by_softmax, slope(lambda x: softmax(x, dim), x, g.astype(float)), 20)
    close(by_logarithm, slope(lambda x: log_softmax(x, dim), x, g.astype(float)), 100)


@interpreted_sooner
@examples(10, quick=1)
@given(
    shape=st.sampled_from([(1,), (6,), (2, 5)]),
    classes=st.sampled_from([1, 4, 11]),
    dtype=DTYPES,
    label=st.sampled_from(["int32", "uint8", "uint32"]),
    is_ignored=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_cross_entropy(
    interpret: bool,
    shape: tuple[int, ...],
    classes: int,
    dtype: str,
    label: str,
    is_ignored: bool,
    seed: int,
) -> None:
    random = np.random.default_rng(seed)
    x = (5 * random.standard_normal((*shape, classes))).astype(dtype)
    labels = random.integers(0, classes, shape).astype(label)
    ignored = int(np.iinfo(label).max) if is_ignored else None
    kept = random.random(shape) < (0.6 if is_ignored else 1)
    shown = np.where(kept, labels, labels.dtype.type(np.iinfo(label).max))
    loss, gradient = run(
        lambda x, y: (
            nn.cross_entropy(x, y, ignored=ignored),
            nn.cross_entropy_gradient(x, y, ignored=ignored),
        ),
        (x, shown),
        interpret,
    )

    def exact(x: Doubles) -> Doubles:
        chosen = np.take_along_axis(log_softmax(x), labels[..., None].astype(int), -1)[..., 0]
        result: Doubles = -np.where(kept, chosen, 0)
        return result

    assert loss.dtype == np.float32
    close(loss, exact(x.astype(float)), 20)
    assert gradient.dtype == dtype
    close(gradient, slope(exact, x, np.ones(shape)), 100)


def test_a_class_that_is_not_there_shows_at_once() -> None:
    x, labels = np.zeros((4, 3), np.float32), np.array([0, 3, -1, 2], np.int32)
    loss, gradient = run(
        lambda x, y: (nn.cross_entropy(x, y), nn.cross_entropy_gradient(x, y)), (x, labels)
    )
    assert np.isinf(loss).tolist() == [False, True, True, False]
    assert np.isnan(gradient).all(1).tolist() == [False, True, True, False]
    assert np.isnan(gradient).any(1).tolist() == [False, True, True, False]


@interpreted_sooner
@examples(20, quick=2)
@given(dtype=DTYPES, seed=st.integers(0, 2**32 - 1))
def test_other_losses(interpret: bool, dtype: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    x = np.r_[20 * random.standard_normal(8), 200, -200].astype(dtype)
    t = np.r_[random.random(8), 1, 0].astype(dtype)
    found = run(
        lambda x, t: (
            nn.binary_cross_entropy(x, t),
            nn.binary_cross_entropy_gradient(x, t),
            nn.squared_error(x, t),
            nn.squared_error_gradient(x, t),
        ),
        (x, t),
        interpret,
    )
    wide, target = x.astype(float), t.astype(float)
    exact = (
        np.logaddexp(0, wide) - wide * target,
        1 / (1 + np.exp(-wide)) - target,
        (wide - target) ** 2 / 2,
        wide - target,
    )
    for each, expected in zip(found, exact, strict=True):
        close(each, expected, 200)
    assert [each.dtype for each in found] == ["float32", dtype, "float32", dtype]


@interpreted_sooner
@examples(10, quick=1)
@given(shape=st.sampled_from([(1, 3), (7, 12), (2, 3, 5)]), seed=st.integers(0, 2**32 - 1))
def test_layer_norm(interpret: bool, shape: tuple[int, ...], seed: int) -> None:
    random = np.random.default_rng(seed)
    x, g = (random.standard_normal(shape).astype(np.float32) for _ in "xg")
    gain, bias = (random.standard_normal(shape[-1:]).astype(np.float32) for _ in "ab")
    x += 3
    (y,) = run(nn.layer_norm, (x, gain, bias), interpret)
    close(y, layer_norm(x.astype(float), gain, bias), 50)
    by_x, by_gain, by_bias = run(nn.layer_norm_gradient, (x, g, gain), interpret)
    weights = g.astype(float)
    close(by_x, slope(lambda x: layer_norm(x, gain.astype(float), bias), x, weights), 200)
    wide = x.astype(float)
    close(by_gain, slope(lambda gain: layer_norm(wide, gain, bias), gain, weights), 100)
    close(by_bias, slope(lambda bias: layer_norm(wide, gain, bias), bias, weights), 100)


def test_layer_norm_of_half_is_rounded_once() -> None:
    x = np.random.default_rng(1).standard_normal((9, 64)).astype(np.float16)
    (y,) = run(lambda x: nn.layer_norm(x, 1.5, 0.25), (x,))
    exact = layer_norm(x.astype(float), 1.5, 0.25)
    assert y.dtype == np.float16
    assert (abs(y - exact) <= np.spacing(abs(y).astype(np.float16)) * 0.51).all()


def rms_norm(x: Doubles, gain: Any = 1.0, epsilon: float = 1e-5) -> Doubles:
    result: Doubles = x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * gain
    return result


@interpreted_sooner
@examples(10, quick=1)
@given(shape=st.sampled_from([(3,), (1, 3), (7, 12), (2, 3, 5)]), seed=st.integers(0, 2**32 - 1))
def test_rms_norm(interpret: bool, shape: tuple[int, ...], seed: int) -> None:
    random = np.random.default_rng(seed)
    x, g = (random.standard_normal(shape).astype(np.float32) for _ in "xg")
    gain = random.standard_normal(shape[-1:]).astype(np.float32)
    (y,) = run(nn.rms_norm, (x, gain), interpret)
    close(y, rms_norm(x.astype(float), gain), 50)
    by_x, by_gain = run(nn.rms_norm_gradient, (x, g, gain), interpret)
    wide, weights = x.astype(float), g.astype(float)
    close(by_x, slope(lambda x: rms_norm(x, gain.astype(float)), x, weights), 200)
    close(by_gain, slope(lambda gain: rms_norm(wide, gain), gain, weights), 100)
    (half,) = run(lambda x: nn.rms_norm(x, 1.5), (x.astype(np.float16),))
    exact = rms_norm(x.astype(np.float16).astype(float), 1.5)
    assert (abs(half - exact) <= np.spacing(abs(half)) * 0.51).all()


@interpreted_sooner
@pytest.mark.parametrize("limit", [0.5, 1e6])
def test_gradients_are_scaled_to_a_norm(interpret: bool, limit: float) -> None:
    random = np.random.default_rng(2)
    v, w = random.standard_normal((7, 9)).astype(np.float32), np.array([3, -4, 0], np.float16)

    def clipped(a: pl.Tensor, b: pl.Tensor) -> Any:
        graph = a.graph
        most = graph.add_constant(pl.FLOAT, (), limit, "most", mapping=1)
        for each in (limit, most):
            program = pl.Sequence()
            made = nn.clip_by_global_norm([a, b * 2], each, program=program)
            results = [*(ops.map(g, program=program) for g in made.gradients), made.norm]
            engine = pl.Engine(graph, program, interpret=interpret, options=values_only())
            engine.run()
            yield [engine.read(result) for result in results]

    graph = pl.Graph(pl.Target(tiles=5))
    a, b = (
        graph.add_variable(x.dtype, x.shape, name, mapping="linear", initial_value=x)
        for x, name in ((v, "a"), (w, "b"))
    )
    norm = np.sqrt((v.astype(float) ** 2).sum() + ((w.astype(float) * 2) ** 2).sum())
    factor = min(1.0, limit / norm)
    for first, second, found in clipped(a, b):
        close(first, v * factor)
        close(second, w.astype(float) * 2 * factor, 5)
        np.testing.assert_allclose(found, norm, rtol=1e-6)


def steps(
    record: Callable[..., Any], dtype: str, count: int, interpret: bool
) -> tuple[Array, Array]:
    """A parameter after some updates, of the gradient of (w - goal)^2, and as it began."""
    random = np.random.default_rng(3)
    begin, goal = random.standard_normal((2, 6, 5)).astype(dtype)
    graph = pl.Graph(pl.Target(tiles=4))
    w = graph.add_variable(dtype, (6, 5), "w", mapping="linear", initial_value=begin)
    target = graph.add_constant(dtype, (6, 5), goal, "goal", mapping=1)
    with graph.steps() as program, ops.repeat(count):
        record(graph, w, 2 * (w - target))
    engine = pl.Engine(graph, program, interpret=interpret, options=values_only())
    engine.run()
    return engine.read(w), np.stack([begin, goal]).astype(float)


@interpreted_sooner
@pytest.mark.parametrize("momentum", [None, 0.9])
def test_sgd(interpret: bool, momentum: float | None) -> None:
    def record(graph: pl.Graph, w: pl.Tensor, gradient: pl.Expr) -> None:
        velocity = None
        if momentum is not None:
            velocity = graph.add_variable(pl.FLOAT, w.shape, "v", mapping="linear", initial_value=0)
        rate = graph.add_constant(pl.FLOAT, (), 0.05, "rate", mapping=0)
        nn.sgd(w, gradient, rate, velocity=velocity, momentum=momentum or 0, decay=0.01)

    found, (w, goal) = steps(record, "float32", 7, interpret)
    v = np.zeros_like(w)
    for _ in range(7):
        v = (momentum or 0) * v + 2 * (w - goal) + 0.01 * w
        w = w - 0.05 * v
    np.testing.assert_allclose(found, w, rtol=1e-5, atol=1e-6)


@interpreted_sooner
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_adam(interpret: bool, dtype: str, decay: float) -> None:
    def record(graph: pl.Graph, w: pl.Tensor, gradient: pl.Expr) -> None:
        nn.adam(w, gradient, nn.adam_state(w), 0.1, decay=decay)

    found, (w, goal) = steps(record, dtype, 9, interpret)
    m, v = np.zeros_like(w), np.zeros_like(w)
    for step in range(1, 10):
        g = 2 * (w - goal)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        change = m / (1 - 0.9**step) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
        w = w - 0.1 * (change + decay * w)
    tolerance = 2e-2 if dtype == "float16" else 1e-5
    np.testing.assert_allclose(found, w, rtol=tolerance, atol=tolerance)


def hidden(value: object) -> Any:
    """A value of a type that is refused."""
    return value


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x, i: nn.softmax(i), "ops.nn.softmax: the operand is INT"),
        (lambda x, i: nn.softmax(x, 2), "2"),
        (
            lambda x, i: nn.softmax_gradient(x, x[0]),
            "the gradient must be FLOAT [4, 3]; found FLOAT [3]",
        ),
        (
            lambda x, i: nn.softmax_gradient(x[0], x),
            "the gradient must be FLOAT [3]; found FLOAT [4, 3]",
        ),
        (lambda x, i: nn.softmax_gradient(x, i), "ops.nn.softmax_gradient: the operand is INT"),
        (
            lambda x, i: nn.log_softmax_gradient(x, x[:, :1]),
            "the gradient must be FLOAT [4, 3]; found FLOAT [4, 1]",
        ),
        (
            lambda x, i: nn.log_softmax_gradient(x, pl.ops.cast(x, pl.HALF)),
            "the gradient must be FLOAT [4, 3]; found HALF [4, 3]",
        ),
        (
            lambda x, i: nn.layer_norm_gradient(x, x[0]),
            "the gradient must be FLOAT [4, 3]; found FLOAT [3]",
        ),
        (lambda x, i: nn.layer_norm(x, x[:, :1]), "gain has shape (4, 1), but x has (4, 3)"),
        (lambda x, i: nn.layer_norm(x, 1.0, x.expand([0])), "bias has shape (1, 4, 3)"),
        (lambda x, i: nn.layer_norm_gradient(x, x, x), "gain has shape (4, 3), but x has (4, 3)"),
        (lambda x, i: nn.cross_entropy(x, i), r"labels have shape (4, 3), but logits have (4, 3)"),
        (lambda x, i: nn.cross_entropy(x, x[0]), "labels 'x' are FLOAT"),
        (lambda x, i: nn.cross_entropy(x, hidden(i[0] + 1)), "store it first"),
        (lambda x, i: nn.sgd(hidden(x * 2), x, 0.1), "parameter"),
        (lambda x, i: nn.rms_norm(x, x[:, :1]), "gain has shape (4, 1), but x has (4, 3)"),
        (
            lambda x, i: nn.rms_norm_gradient(x, x[0]),
            "the gradient must be FLOAT [4, 3]; found FLOAT [3]",
        ),
        (lambda x, i: nn.clip_by_global_norm([], 1.0), "there are no gradients"),
        (lambda x, i: nn.clip_by_global_norm([i], 1.0), "the operand is INT"),
        (lambda x, i: nn.clip_by_global_norm([x], 0.0), "limit is 0.0"),
        (lambda x, i: nn.clip_by_global_norm([x], math.nan), "limit is nan"),
        (lambda x, i: nn.clip_by_global_norm([x], x), "limit is x, not a scalar of FLOAT"),
        (lambda x, i: nn.sgd(i, i, 0.1), "parameter 'i' is INT"),
        (lambda x, i: nn.sgd(x, x[0], 0.1), "the gradient has shape (3,), but 'x' has (4, 3)"),
        (lambda x, i: nn.sgd(x, x, 0.1, velocity=x[0]), "velocity 'x' is float32[3]"),
        (
            lambda x, i: nn.adam(x, x, nn.AdamState(x, i, x[0])),
            "state.second 'i' is int32[4, 3]",
        ),
    ],
)
def test_refusals(function: Callable[..., Any], text: str) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (4, 3), "x", mapping="linear")
    i = graph.add_variable(pl.INT, (4, 3), "i", mapping="linear")
    with graph.steps(), pytest.raises(pl.PopliteError) as raised:
        function(x, i)
    assert text in str(raised.value)
    assert raised.value.at is not None
    assert raised.value.at.file.endswith("test_networks.py")


# -- activations -----------------------------------------------------------------------------------


def sigmoid(x: Doubles) -> Doubles:
    result: Doubles = 0.5 * (1 + np.tanh(x / 2))
    return result


def hard_sigmoid(x: Doubles) -> Doubles:
    result: Doubles = np.clip(0.2 * x + 0.5, 0, 1)
    return result


def gelu(x: Doubles) -> Doubles:
    result: Doubles = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return result


def gelu_erf(x: Doubles) -> Doubles:
    result: Doubles = x * (1 + np.vectorize(math.erf, otypes=[float])(x / math.sqrt(2))) / 2
    return result


EXACT: dict[Kind, Callable[[Doubles], Doubles]] = {
    Kind.SIGMOID: sigmoid,
    Kind.HARD_SIGMOID: hard_sigmoid,
    Kind.RELU: lambda x: np.maximum(x, 0),
    Kind.TANH: np.tanh,
    Kind.GELU: gelu,
    Kind.GELU_ERF: gelu_erf,
    Kind.SWISH: lambda x: x * sigmoid(x),
    Kind.SOFTMAX: softmax,
    Kind.SOFTMAX_STABLE: softmax,
    Kind.SOFTMAX_SCALED: lambda x: softmax(x) * popnn.SOFTMAX_SCALING,
}
OF_INPUT = (Kind.HARD_SIGMOID, Kind.GELU, Kind.GELU_ERF, Kind.SWISH)
"""Those whose gradient is computed of what they were given."""


@deep
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_compiled_gradients_have_the_same_bits(dtype: str) -> None:
    """All of one expression, so that one vertex class is compiled."""
    values, g = np.random.default_rng(8).standard_normal((2, 40)).astype(dtype)
    found = []
    for interpret in (True, False):
        graph, prog = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
        x, by_y = (
            graph.add_variable(dtype, (40,), name, mapping="linear", initial_value=each)
            for name, each in (("x", values), ("g", g))
        )
        total: Any = nn.hard_sigmoid(x)
        for each in (*OF_INPUT, Kind.SIGMOID, Kind.TANH, Kind.RELU):
            total = total + getattr(nn, f"{each.value}_gradient")(x, by_y)
        made = ops.map(total, program=prog)
        engine = pl.Engine(graph, prog, interpret=interpret, options=values_only())
        engine.run()
        found.append(engine.read(made))
    np.testing.assert_array_equal(found[0], found[1])


@examples(8, quick=1)
@given(
    shape=st.sampled_from([(2, 5), (1, 1), (0, 3)]),
    dtype=st.sampled_from(["float32", "float16"]),
    mapping=st.sampled_from(["linear", 1]),
    seed=st.integers(0, 2**32 - 1),
)
def test_all_types_of_popnn(shape: tuple[int, ...], dtype: str, mapping: Any, seed: int) -> None:
    random = np.random.default_rng(seed)
    values, g = (3 * random.standard_normal((2, *shape))).astype(dtype)
    values[abs(abs(values) - 2.5) < 1e-2] = 0.25  # where the hard one has two slopes
    graph, prog = pl.Graph(pl.Target(tiles=3)), pl.Sequence()
    x, by_y = (
        graph.add_variable(dtype, shape, name, mapping=mapping, initial_value=each)
        for name, each in (("x", values), ("g", g))
    )
    made = {}
    for kind in Kind:
        y = popnn.nonLinearity(graph, kind, x, prog, kind.name)
        act = x if kind in OF_INPUT else y
        made[kind] = y, popnn.nonLinearityInputGradient(graph, kind, act, by_y, prog)
    popnn.nonLinearityInPlace(graph, Kind.SWISH, x, prog)
    # Values alone count, at any depth: some sixty vertex classes would be priced.
    engine = pl.Engine(graph, prog, interpret=True, options={"debug.instrument": False})
    engine.run()
    swish = engine.read(made[Kind.SWISH][0])
    np.testing.assert_array_equal(engine.read(x), swish)
    wide, weights = values.astype(float), g.astype(float)
    step = {"float32": 2e-6, "float16": 2e-3}[dtype]
    for kind, (y, by_x) in made.items():
        scale = popnn.SOFTMAX_SCALING if kind is Kind.SOFTMAX_SCALED else 1.0
        found = engine.read(y)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, EXACT[kind](wide), step, step * scale, err_msg=kind.name)
        found, exact = engine.read(by_x), slope(EXACT[kind], wide, weights)
        assert found.dtype == dtype
        most = float(np.finfo(dtype).max)  # which those scaled come near, and go beyond
        found, exact = (np.clip(each.astype(float), -most, most) for each in (found, exact))
        near = 20 * step * scale
        np.testing.assert_allclose(found, exact, 20 * step, near, err_msg=kind.name)


def test_gradients_far_out_are_limits() -> None:
    far = np.array([-np.inf, -1e30, -120, 120, 1e30, np.inf, np.nan], np.float32)
    graph, prog = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    x = graph.add_variable(pl.FLOAT, far.shape, "x", mapping="linear", initial_value=far)
    one = graph.add_constant(pl.FLOAT, far.shape, 1.0, "one", mapping="linear")
    functions = nn.gelu_gradient, nn.gelu_erf_gradient, nn.swish_gradient
    made = [ops.map(function(x, one), program=prog) for function in functions]
    pair = nn.relu_gradient, nn.hard_sigmoid_gradient
    flat = [ops.map(function(x, one), program=prog) for function in pair]
    engine = pl.Engine(graph, prog, interpret=True, options=values_only())
    engine.run()
    for each in made:
        np.testing.assert_array_equal(engine.read(each), [0, 0, 0, 1, 1, 1, np.nan])
    # PopLibs' have no gradient of NaN.
    for each, expected in zip(flat, ([0, 0, 0, 1, 1, 1, 0], [0] * 7), strict=True):
        np.testing.assert_array_equal(engine.read(each), expected)


def test_what_popnn_names_one_by_one() -> None:
    values = np.array([[-1.0, 0.5, 2.0]], np.float32)
    graph, prog = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    x, z = (
        graph.add_variable(pl.FLOAT, (1, 3), name, mapping=0, initial_value=values) for name in "xz"
    )
    names = "sigmoid", "relu", "tanh", "gelu", "geluErf", "swish", "softmax", "softmaxStable"
    kinds = (
        *(Kind.SIGMOID, Kind.RELU, Kind.TANH, Kind.GELU, Kind.GELU_ERF, Kind.SWISH, Kind.SOFTMAX),
        Kind.SOFTMAX_STABLE,
    )
    made = [getattr(popnn, name)(graph, x, prog) for name in names]
    scaled, scale = popnn.scaledSoftmaxStable(graph, x, prog)
    logarithm = popnn.logSoftmax(graph, x, prog)
    popnn.logSoftmaxInPlace(graph, x, prog)
    popnn.geluInPlace(graph, z, prog)
    engine = pl.Engine(graph, prog, interpret=True, options=values_only())
    engine.run()
    for each, kind in zip(made, kinds, strict=True):
        np.testing.assert_allclose(engine.read(each), EXACT[kind](values.astype(float)), 1e-5)
    np.testing.assert_allclose(engine.read(scaled), softmax(values.astype(float)) * scale, 1e-5)
    np.testing.assert_allclose(engine.read(x), np.log(softmax(values.astype(float))), 1e-5)
    np.testing.assert_array_equal(engine.read(x), engine.read(logarithm))
    np.testing.assert_array_equal(engine.read(z), engine.read(made[3]))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda g, x, i, p: nn.hard_sigmoid(i), "ops.nn.hard_sigmoid: the operand is INT"),
        (
            lambda g, x, i, p: nn.tanh_gradient(x, x[0]),
            "the gradient must be FLOAT [4, 3]; found FLOAT [3]",
        ),
        (lambda g, x, i, p: popnn.nonLinearity(g, Kind.SWISH, i, p), "ops.swish: 'i' is INT"),
    ],
)
def test_refused_activations(call: Callable[..., Any], text: str) -> None:
    graph, prog = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    x = graph.add_variable(pl.FLOAT, (4, 3), "x", mapping="linear")
    i = graph.add_variable(pl.INT, (4, 3), "i", mapping="linear")
    with pytest.raises(pl.PopliteError) as raised:
        call(graph, x, i, prog)
    assert text in str(raised.value)
    assert raised.value.at is not None


# -- batch, group and instance normalisation -------------------------------------------------------


def run_each(function: Callable[..., Any], arrays: list[Any], interpret: bool) -> list[Any]:
    """What expressions of tensors come to."""
    graph, program = pl.Graph(pl.Target(tiles=5)), pl.Sequence()
    tensors = [
        graph.add_variable(x.dtype, x.shape, f"x{n}", mapping="linear", initial_value=x)
        for n, x in enumerate(arrays)
    ]
    made = [ops.map(each, program=program) for each in function(*tensors)]
    engine = pl.Engine(graph, program, interpret=interpret, options=values_only())
    engine.run()
    return [engine.read(each) for each in made]


def normalised(x: Doubles, groups: int | None, gain: Doubles, bias: Doubles) -> Doubles:
    """Channels with mean 0 and variance 1: of a batch where groups is None."""
    parted = x[None] if groups is None else x.reshape((len(x), groups, -1, *x.shape[2:]))
    dims = tuple(d for d in range(1, parted.ndim) if groups is not None or d != 2)
    if groups is not None:
        dims = dims[1:]
    less = parted - parted.mean(dims, keepdims=True)
    made = (less / np.sqrt(parted.var(dims, keepdims=True) + 1e-5)).reshape(x.shape)
    shape = (-1, *[1] * (x.ndim - 2))
    result: Doubles = made * gain.reshape(shape) + bias.reshape(shape)
    return result


@examples(20, quick=2)
@given(
    kind=st.sampled_from(["batch", "group", "instance"]),
    field=st.sampled_from([(5,), (3, 4), (2, 2, 2)]),
    dtype=st.sampled_from(["float32", "float16"]),
    interpret=st.sampled_from(forms()),
    seed=st.integers(0, 2**32 - 1),
)
def test_norms_and_gradients_are_numpys(
    kind: str, field: tuple[int, ...], dtype: str, interpret: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x, g = (rng.standard_normal((3, 4, *field)).astype(dtype) for _ in "xg")
    gain, bias = (rng.standard_normal(4).astype(dtype) for _ in "ab")
    x += dtype == "float32"
    groups = {"batch": None, "group": 2, "instance": 4}[kind]
    more = (2,) if kind == "group" else ()
    norm = getattr(nn, f"{kind}_norm")
    gradient = getattr(nn, f"{kind}_norm_gradient")
    found = run_each(
        lambda x, g, gain, bias: (
            norm(x, *more, gain, bias),
            *gradient(x, g, *more, gain),
        ),
        [x, g, gain, bias],
        interpret,
    )
    wide, weights, a, b = (each.astype(float) for each in (x, g, gain, bias))
    expected = (
        normalised(wide, groups, a, b),
        slope(lambda x: normalised(x, groups, a, b), wide, weights),
        slope(lambda a: normalised(wide, groups, a, b), a, weights),
        slope(lambda b: normalised(wide, groups, a, b), b, weights),
    )
    step = {"float32": 1e-4, "float16": 1e-2}[dtype]
    for each, exact in zip(found, expected, strict=True):
        assert each.dtype == dtype
        np.testing.assert_allclose(each, exact, rtol=step, atol=step)


def test_running_statistics_and_inference() -> None:
    rng = np.random.default_rng(2)
    batches = rng.normal(2, 3, (4, 6, 3, 5)).astype(np.float32)
    graph = pl.Graph(pl.Target(tiles=3))
    x = graph.add_variable(pl.FLOAT, batches.shape[1:], "x", mapping="linear")
    mean, variance = (
        graph.add_variable(pl.FLOAT, (3,), name, mapping="linear", initial_value=begin)
        for name, begin in (("mean", 0), ("variance", 1))
    )
    with graph.steps() as step:
        nn.running_statistics(x, mean, variance, momentum=0.25)
        statistics = [ops.map(each) for each in nn.batch_statistics(x)]
    with graph.steps() as inference:
        y = ops.map(nn.batch_norm_inference(x, mean, variance, 2.0, 1.0))
    engine = pl.Engine(graph, [step, inference], interpret=True, options=values_only())
    m, v = np.zeros(3), np.ones(3)
    for batch in batches:
        engine.write(x, batch)
        engine.run(0)
        m += 0.25 * (batch.mean((0, 2)) - m)
        v += 0.25 * (batch.var((0, 2), ddof=1) - v)
    engine.run(1)
    np.testing.assert_allclose(engine.read(mean), m, rtol=1e-5)
    np.testing.assert_allclose(engine.read(variance), v, rtol=1e-5)
    np.testing.assert_allclose(engine.read(statistics[1]), batches[-1].var((0, 2)), rtol=1e-5)
    exact = (batches[-1] - m[:, None]) / np.sqrt(v[:, None] + 1e-5) * 2 + 1
    np.testing.assert_allclose(engine.read(y), exact, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x, i: nn.batch_norm(i), "ops.nn.batch_norm: the operand is INT"),
        (lambda x, i: nn.batch_norm(x[0, 0]), "x has shape (3,)"),
        (lambda x, i: nn.group_norm(x, 3), "groups is 3 for 4 channels"),
        (lambda x, i: nn.group_norm(x, 0), "groups is 0 for 4 channels"),
        (lambda x, i: nn.group_norm(x, hidden(None)), "ops.nn.group_norm: groups is None"),
        (lambda x, i: nn.softmax(x, hidden(None)), "ops.nn.softmax: dim=None is not a dimension"),
        (lambda x, i: nn.batch_norm(x, x[0, 0]), "has shape (3,), but x has (2, 4, 3)"),
        (
            lambda x, i: nn.batch_norm_gradient(x, x[0]),
            "the gradient must be FLOAT [2, 4, 3]; found FLOAT [4, 3]",
        ),
        (lambda x, i: nn.running_statistics(x, x[0, :, 0], hidden(1)), "variance"),
        (
            lambda x, i: nn.running_statistics(ops.cast(i, pl.FLOAT), x[0, :, 0], x[0, :, 0]),
            "mean 'x' and variance 'x' share elements",
        ),
        (
            lambda x, i: nn.running_statistics(2 * x[:, :, :2], x[0, :, 0], x[0, :, 2]),
            "x 'x' and mean 'x' share elements",
        ),
        (
            lambda x, i: nn.running_statistics(x[:, :, :2], x[0, :, 2], x[0, :, 0]),
            "x 'x' and variance 'x' share elements",
        ),
        (
            lambda x, i: nn.running_statistics(x[:1, :, 0], x[0, :, 0], x[1, :, 0]),
            "needs at least 2 values in a channel; found 1",
        ),
    ],
)
def test_refused_channel_norms(function: Callable[..., Any], text: str) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (2, 4, 3), "x", mapping="linear")
    i = graph.add_variable(pl.INT, (2, 4, 3), "i", mapping="linear")
    with graph.steps(), pytest.raises(pl.PopliteError) as raised:
        function(x, i)
    assert text in str(raised.value)
