"""popnn: losses, normalisations and recurrent layers mean what PopLibs says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import poplite as pl
from helpers.depth import thinned
from poplite.compat import popnn
from poplite.compat.popnn import LossType
from poplite.ops import nn

Array = npt.NDArray[Any]


class Bench:
    """A graph whose tensors hold given values, and a program."""

    def __init__(self) -> None:
        self.graph, self.prog = pl.Graph(pl.Target(tiles=2)), pl.Sequence()

    def tensor(self, values: Any, dtype: str = "float32", name: str = "") -> pl.Tensor:
        array = np.asarray(values, dtype)
        return self.graph.add_variable(
            dtype, array.shape, name, mapping="linear", initial_value=array
        )

    def read(self, tensors: Sequence[pl.Tensor]) -> list[Array]:
        """Run the program, and return what tensors hold."""
        # Values alone count, at any depth.
        options = {"debug.instrument": False}
        engine = pl.Engine(self.graph, self.prog, interpret=True, options=options)
        engine.run()
        return [engine.read(each) for each in tensors]


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.mark.parametrize(
    ("kind", "labels", "is_scaled"),
    [
        (LossType.CROSS_ENTROPY_LOSS, "int32", False),
        (LossType.CROSS_ENTROPY_LOSS, "uint32", True),
        (LossType.SUM_SQUARED_LOSS, "int32", True),
    ],
)
def test_losses(bench: Bench, kind: LossType, labels: str, is_scaled: bool) -> None:
    p = np.array([[0.5, 0.25, 0.25], [0, 1, 0], [0.1, 0.2, 0.7], [0.3, 0.3, 0.4]])
    expected = np.array([0, 1, 0, -1]).astype(labels)
    m, s = (64.0, 8.0) if is_scaled else (1.0, 1.0)
    is_cross = kind is LossType.CROSS_ENTROPY_LOSS
    output = bench.tensor(p * (m if is_cross else 1))
    label = bench.tensor(expected, labels)
    loss, deltas = bench.tensor([9.0] * 4), bench.tensor(np.full((4, 3), 9.0))
    correct = bench.tensor([9], "uint32")
    scales = [bench.tensor(s), bench.tensor([m])] if is_scaled else []
    program = popnn.calcLoss(
        bench.graph, output, label, loss, deltas, *scales, correct, kind, "loss"
    )
    bench.prog.add(program)
    found = bench.read([loss, deltas, correct])
    target = np.eye(3)[[0, 1, 0, 0]]
    if is_cross:
        exact = -np.log(p[[0, 1, 2, 0], [0, 1, 0, 0]]), (p - target) * s
    else:
        exact = ((p - target) ** 2).sum(1) / 2, p - target
    kept = [1, 1, 1, 0]
    np.testing.assert_allclose(found[0], exact[0] * kept, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found[1], exact[1] * np.c_[kept], rtol=1e-5, atol=1e-6)
    assert found[2].tolist() == [9 + 2]


def test_right_rows_are_added_up(bench: Bench) -> None:
    p = bench.tensor([[0.75, 0.25], [0.25, 0.75]])
    label = bench.tensor([0, 0], "uint32")
    loss, deltas = bench.tensor([0.0] * 2), bench.tensor(np.zeros((2, 2)))
    counts = [bench.tensor(10, "uint32"), bench.tensor([10], "uint32")]
    program = popnn.calcAccuracy(bench.graph, p, label, counts[0])
    kind = LossType.SUM_SQUARED_LOSS
    other = popnn.calcLoss(bench.graph, p, label, loss, deltas, counts[1], kind)
    bench.prog.add(pl.Repeat(3, pl.Sequence(program, other)))
    first, second = bench.read(counts)
    assert (int(first), second.tolist()) == (13, [13])


def test_the_greatest_of_rows(bench: Bench) -> None:
    x = bench.tensor([[1, 7, 7], [9, 2, 4]], "int32")
    made = [
        popnn.argMax(bench.graph, x, bench.prog),
        popnn.argMin(bench.graph, x, bench.prog),
        *popnn.maxAndArgMax(bench.graph, x, bench.prog),
        *popnn.minAndArgMin(bench.graph, x, bench.prog),
        *popnn.topK(bench.graph, x, 2, True, bench.prog),
    ]
    found = [each.tolist() for each in bench.read(made)]
    assert found[:2] == [[1, 0], [0, 1]]
    assert found[2:6] == [[7, 9], [1, 0], [1, 2], [0, 1]]
    assert found[6:] == [[[7, 7], [9, 4]], [[1, 2], [0, 2]]]


NORMS: dict[str, tuple[Any, Callable[..., Any], Callable[..., Any], list[int]]] = {
    "batchNorm": (popnn.bn, nn.batch_norm, nn.batch_norm_gradient, []),
    "groupNorm": (popnn.gn, nn.group_norm, nn.group_norm_gradient, [2]),
    "layerNorm": (popnn.ln, nn.group_norm, nn.group_norm_gradient, [1]),
    "instanceNorm": (popnn.in_, nn.instance_norm, nn.instance_norm_gradient, []),
}


@pytest.mark.parametrize("name", NORMS)
def test_norms_and_gradients_are_those_of_ops(bench: Bench, name: str) -> None:
    module, norm, norm_gradient, groups = NORMS[name]
    graph, prog = bench.graph, bench.prog
    random = np.random.default_rng(3)
    acts, g = (bench.tensor(random.standard_normal((3, 4, 2))) for _ in "ag")
    gamma, beta = (bench.tensor(random.standard_normal(4)) for _ in "gb")
    more = groups if name == "groupNorm" else []

    def call(function: str, *arguments: Any) -> Any:
        return getattr(module, f"{name}{function}")(graph, *arguments)

    mean, istd = call("Statistics", acts, 1e-3, prog, *more, False, True, pl.FLOAT, "statistics")
    y, white = call("alise", acts, gamma, beta, mean, istd, prog)
    again = call("Whiten", acts, mean, istd, prog)
    parameters = [
        *call("ParamGradients", acts, g, mean, istd, prog),
        *call("ParamGradients", white, g, prog, pl.FLOAT, "deltas"),
    ]
    by_acts = [
        call("Gradients", acts, g, mean, istd, gamma, prog),
        call("Gradients", white, g, istd, gamma, prog),
    ]
    old = pl.ops.map(gamma + 0.0, program=prog)
    expected = [
        pl.ops.map(norm(acts, *groups, gamma, beta, 1e-3), program=prog),
        *(pl.ops.map(each, program=prog) for each in norm_gradient(acts, g, *groups, gamma, 1e-3)),
    ]
    scale = bench.tensor([0.5])
    call("ParamUpdate", parameters[0], parameters[1], scale, gamma, beta, prog)
    call("ParamUpdate", parameters[0], parameters[1], -0.25, beta, gamma, prog)
    found = bench.read([y, *by_acts, *parameters, *expected, white, again, old, gamma])
    y_, by, other, *deltas = found[:7]
    exact, by_exact, by_gamma, by_beta, white_, again_, old_, gamma_ = found[7:]
    np.testing.assert_allclose(y_, exact, 1e-4, 1e-5)
    np.testing.assert_allclose(by, by_exact, 1e-4, 1e-5)
    np.testing.assert_allclose(other, by_exact, 1e-4, 1e-5)
    np.testing.assert_allclose(deltas[::2], [by_gamma] * 2, 1e-4, 1e-5)
    np.testing.assert_allclose(deltas[1::2], [by_beta] * 2, 1e-4, 1e-5)
    np.testing.assert_array_equal(white_, again_)
    np.testing.assert_allclose(gamma_, old_ + 0.5 * by_gamma - 0.25 * by_beta, 1e-4, 1e-5)


def test_an_unbiased_estimate_and_a_combined_form(bench: Bench) -> None:
    acts = bench.tensor([[1.0, 5.0], [3.0, 9.0]])
    mean, istd = popnn.bn.batchNormStatistics(bench.graph, acts, 0.5, bench.prog, True)
    gamma, beta = popnn.bn.createBatchNormParams(bench.graph, acts, "norm")
    factor, addend = bench.tensor([2.0, 3.0]), bench.tensor([1.0, -1.0])
    y = popnn.bn.batchNormalise(bench.graph, acts, factor, addend, bench.prog, "y")
    found = bench.read([mean, istd, y])
    assert gamma.shape == beta.shape == (2,)
    assert found[0].tolist() == [2, 7]
    np.testing.assert_allclose(found[1], 1 / np.sqrt((np.array([1, 4]) + 0.5) * 2), rtol=1e-6)
    assert found[2].tolist() == [[3, 14], [7, 26]]


@pytest.mark.parametrize("is_full", thinned([False, True], keep=1))
def test_lstm_with_gates_in_another_order(bench: Bench, is_full: bool) -> None:
    lstm = popnn.lstm
    units = lstm.BasicLstmCellUnit
    order = [
        units.BASIC_LSTM_CELL_INPUT_GATE,
        units.BASIC_LSTM_CELL_OUTPUT_GATE,
        units.BASIC_LSTM_CELL_FORGET_GATE,
        units.BASIC_LSTM_CELL_CANDIDATE,
    ]
    steps = bench.tensor([3, 1], "uint32")
    params = lstm.LstmParams(
        *(pl.FLOAT, 2, 3, [2, 3]), cellOrder=order, outputFullSequence=is_full, varTimeSteps=steps
    )
    graph, prog, random = bench.graph, bench.prog, np.random.default_rng(4)
    x = lstm.createInput(graph, params, "x", {"inferenceOnly": "false"})
    state, weights = lstm.createInitialState(graph, params), lstm.createWeights(graph, params)
    for each in (x, *state, *weights):
        graph.set_initial_value(each, random.standard_normal(each.shape))
    g = bench.tensor(random.standard_normal((3, 2, 3) if is_full else (2, 3)))
    by_cell = bench.tensor(random.standard_normal((2, 3)))
    kept = lstm.Intermediates()
    output, cell = lstm.lstmFwd(graph, params, state, x, weights, kept, prog)
    by_state, by_x, by_weights = lstm.lstmBwdWithWU(
        graph, params, prog, state, kept, weights, x, output, g, by_cell
    )
    assert by_x is not None
    # Ours are forget, input, candidate, output.
    own = nn.RecurrentWeights(*(pl.concat([w[n : n + 1] for n in (2, 0, 3, 1)]) for w in weights))
    made = nn.lstm(x, own, nn.LstmState(*state), lengths=steps, program=prog)
    zeros = bench.tensor(np.zeros((3, 2, 3)))
    end = nn.LstmState(bench.tensor(np.zeros((2, 3))) if is_full else g, by_cell)
    back = nn.lstm_gradient(x, own, made, g if is_full else zeros, by_state=end, program=prog)
    pairs = [
        (output, made.outputs if is_full else made.state.output),
        (cell, made.state.cell),
        (by_x, back.x),
        *zip(by_state, back.state, strict=True),
        *(
            (pl.concat([one[n : n + 1] for n in (2, 0, 3, 1)]), other)
            for one, other in zip(by_weights, back.weights, strict=True)
        ),
    ]
    found = bench.read([each for pair in pairs for each in pair])
    for one, other in zip(found[::2], found[1::2], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    assert any(abs(each).max() > 0.1 for each in found)


def test_gru_with_a_reset_behind_the_product(bench: Bench) -> None:
    gru = popnn.gru
    params = gru.GruParams(
        *(pl.FLOAT, 2, 3, [2, 3]),
        resetAfter=True,
        calcInputGradients=False,
        varTimeSteps=bench.tensor([2], "uint32"),
    )
    graph, prog, random = bench.graph, bench.prog, np.random.default_rng(5)
    x, first = gru.createInput(graph, params), gru.createInitialState(graph, params)
    weights = gru.createWeights(graph, params)
    assert weights.biases.shape == (3, 2, 3)
    for each in (x, first, *weights):
        graph.set_initial_value(each, random.standard_normal(each.shape))
    g = bench.tensor(random.standard_normal((3, 2, 3)))
    kept = gru.Intermediates()
    output = gru.gruFwd(graph, params, first, x, weights, kept, prog)
    by_first, by_x, by_weights = gru.gruBwdWithWU(
        graph, params, prog, first, kept, weights, x, output, g
    )
    assert by_x is None
    own = nn.RecurrentWeights(*weights)
    both = bench.tensor([2, 2], "uint32")
    made = nn.gru(x, own, first, reset_after=True, lengths=both, program=prog)
    back = nn.gru_gradient(x, own, made, g, reset_after=True, program=prog)
    pairs = [
        *((output, made.outputs), (by_first, back.output)),
        *zip(by_weights, back.weights, strict=True),
    ]
    found = bench.read([each for pair in pairs for each in pair])
    for one, other in zip(found[::2], found[1::2], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


PARAMS = popnn.lstm.LstmParams(pl.FLOAT, 2, 4, [3, 5])
GRU = popnn.gru.GruParams(pl.FLOAT, 4, 3, [5, 5])
GATE = popnn.lstm.BasicLstmCellUnit.BASIC_LSTM_CELL_CANDIDATE


def hidden(value: object) -> Any:
    """A value of a type that is refused."""
    return value


def pooled(field: list[int], window: list[int], lower: list[int]) -> popnn.pooling.PoolParams:
    """Parameters of a pooling with padding before the input."""
    kind = popnn.pooling.PoolingType.MAX
    return popnn.pooling.PoolParams(kind, field, window, [1], lower, [0], 1, 1, pl.FLOAT)


def lstm_of(
    graph: pl.Graph,
    params: popnn.lstm.LstmParams,
    prog: pl.Sequence,
    x: pl.Tensor | None = None,
    state: object = (),
) -> object:
    """A layer of tensors that other parameters make."""
    own_state = state if state is None else popnn.lstm.createInitialState(graph, PARAMS)
    weights = popnn.lstm.createWeights(graph, PARAMS)
    own = popnn.lstm.createInput(graph, PARAMS) if x is None else x
    return popnn.lstm.lstmFwd(graph, params, hidden(own_state), own, weights, None, prog)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda g, x, p: popnn.calcLoss(g, x[0], x[0, 0], x, x),
            "popnn.calcLoss: missing a required argument: 'loss_type'",
        ),
        (
            lambda g, x, p: popnn.calcLoss(g, x[0], x[0], x, x, LossType.SUM_SQUARED_LOSS),
            "expected 'x' is FLOAT",
        ),
        (
            lambda g, x, p: popnn.gn.groupNormStatistics(g, x, 1e-3, p, 3, False),
            "4 channels cannot be divided into 3 groups",
        ),
        (lambda g, x, p: popnn.bn.batchNormWhiten(g, x, x[0, 0], x[0, 0], p), "have shape (5,)"),
        (lambda g, x, p: popnn.bn.batchNormalise(g, x, x, x, x, p), "3 tensors and a program"),
        (
            lambda g, x, p: popnn.bn.batchNormParamGradients(
                *(g, x, x.dim_shuffle((1, 0, 2)), x[0, :, 0], x[0, :, 0], p)
            ),
            "gradsIn 'x' is float32[4, 3, 5], but acts 'x' are float32[3, 4, 5]",
        ),
        (
            lambda g, x, p: popnn.bn.batchNormGradients(
                *(g, x, x.dim_shuffle((1, 0, 2)), *[x[0, :, 0]] * 3, p)
            ),
            "gradsIn 'x' is float32[4, 3, 5], but acts 'x' are float32[3, 4, 5]",
        ),
        (
            lambda g, x, p: popnn.nonLinearityInputGradient(
                g, popnn.NonLinearityType.SOFTMAX, x, x[0], p
            ),
            "the gradient must be FLOAT [3, 4, 5]; found FLOAT [4, 5]",
        ),
        (
            lambda g, x, p: popnn.gn.groupNormStatistics(
                *(g, x, 1e-3, p, 2, False, False, pl.FLOAT, ""),
                {"groupNormStridedChannelGrouping": "true"},
            ),
            "groupNormStridedChannelGrouping is 'true'",
        ),
        (
            lambda g, x, p: popnn.lstm.createInput(g, PARAMS, "x", {"partialType": "half"}),
            "no option 'partialType'",
        ),
        (
            lambda g, x, p: popnn.lstm.createWeights(
                g, popnn.lstm.LstmParams(pl.FLOAT, 2, 4, [3, 5, 6])
            ),
            "layerSizes is [3, 5, 6]",
        ),
        (
            lambda g, x, p: lstm_of(
                g, popnn.lstm.LstmParams(pl.FLOAT, 2, 4, [3, 5], cellOrder=[GATE] * 4), p
            ),
            "cellOrder is",
        ),
        (
            lambda g, x, p: lstm_of(g, replace(PARAMS, cellOrder=hidden([0, 1, 2, 3])), p),
            "cellOrder is [0, 1, 2, 3]",
        ),
        (
            lambda g, x, p: popnn.lstm.createInput(g, replace(PARAMS, layerSizes=hidden(3))),
            "layerSizes is 3",
        ),
        (
            lambda g, x, p: lstm_of(g, replace(PARAMS, outputFullSequence=hidden("no")), p),
            "outputFullSequence is 'no'",
        ),
        (
            lambda g, x, p: popnn.gru.createInput(g, GRU, "x", {"partialsType": "quarter"}),
            "gru.createInput: partialsType is 'quarter'",
        ),
        (
            lambda g, x, p: lstm_of(g, PARAMS, p, x),
            "in 'x' is float32[3, 4, 5], but the parameters say FLOAT [4, 2, 3]",
        ),
        (
            lambda g, x, p: popnn.gru.createWeights(
                g, popnn.gru.GruParams(pl.FLOAT, 2, 4, [3, 5], popnn.NonLinearityType.RELU)
            ),
            "activation is",
        ),
        (
            lambda g, x, p: popnn.lstm.createWeights(g, hidden(None)),
            "createWeights: params is None",
        ),
        (lambda g, x, p: popnn.pooling.pool(g, hidden(None), x, p), "popnn.pool: params is None"),
        (lambda g, x, p: lstm_of(g, PARAMS, p, state=None), "stateInit is None"),
        (
            lambda g, x, p: popnn.gru.gruFwd(g, GRU, x[0], x, hidden(None), None, p),
            "gru.gruFwd: weights is None",
        ),
        (
            lambda g, x, p: popnn.gru.gruFwd(g, GRU, hidden(None), x, hidden(None), None, p),
            "popnn.gru.gruFwd: state_init is None",
        ),
        (
            lambda g, x, p: hidden(popnn.gru.gruBwdWithWU)(
                *(g, GRU, p, x, hidden(None), (x, x, x), x, x, x),
            ),
            "fwdOutputInit 'x' is float32[3, 4, 5], but the parameters say FLOAT [4, 5]",
        ),
        (
            lambda g, x, p: hidden(popnn.lstm.lstmBwdWithWU)(
                *(g, popnn.lstm.LstmParams(pl.FLOAT, 4, 3, [5, 5]), p, (x[0], x[0])),
                *(hidden(None), (x, x, x), x, x, x),
            ),
            "intermediates is None",
        ),
        (
            lambda g, x, p: popnn.gru.gruFwd(
                *(g, GRU, x[0], x, popnn.gru.createWeights(g, GRU), hidden(3), p)
            ),
            "gru.gruFwd: intermediates is 3",
        ),
        (
            lambda g, x, p: popnn.nonLinearityInputGradient(
                g,
                popnn.NonLinearityType.SOFTMAX_SCALED,
                x,
                g.add_variable(pl.HALF, x.shape, mapping=0),
                p,
            ),
            "the gradient must be FLOAT [3, 4, 5]; found HALF [3, 4, 5]",
        ),
        (
            lambda g, x, p: popnn.softmaxInPlace(g, g.add_variable(pl.INT, x.shape, mapping=0), p),
            "the operand is INT",
        ),
        (
            lambda g, x, p: popnn.gru.gruFwd(
                *(g, replace(GRU, varTimeSteps=x[0, 0]), x[0], x),
                *(popnn.gru.createWeights(g, GRU), None, p),
            ),
            "lengths 'x' is float32[5]",
        ),
        (lambda g, x, p: pooled([3], [4], [0]).getOutputFieldShape(), "the kernel has 4 places"),
        (lambda g, x, p: pooled([3], [2], [0, 1]).getOutputFieldShape(), "Lower is (0, 1)"),
    ],
)
def test_refusals(bench: Bench, call: Callable[..., Any], text: str) -> None:
    x = bench.tensor(np.zeros((3, 4, 5)), name="x")
    with pytest.raises(pl.PopliteError) as raised:
        call(bench.graph, x, bench.prog)
    assert text in str(raised.value)
    assert raised.value.at is not None
