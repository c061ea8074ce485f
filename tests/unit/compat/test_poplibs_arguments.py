"""Functions of poplin and popnn with one argument exchanged: an error of poplite, or a result."""

from __future__ import annotations

import io
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import poplite as pl
from poplite.compat import poplin, popnn

GRAPH, PROG = pl.Graph(pl.Target(tiles=3)), pl.Sequence()


def tensor(*shape: int, kind: Any = pl.FLOAT) -> pl.Tensor:
    """A variable of a shape."""
    return GRAPH.add_variable(kind, shape, "t", mapping="linear", initial_value=0)


MATRIX, TURNED, SQUARE, VECTOR = tensor(3, 4), tensor(4, 3), tensor(3, 3), tensor(4)
GROUPS, TURNED_GROUPS, SQUARES = tensor(2, 3, 4), tensor(2, 4, 3), tensor(2, 3, 3)
LABELS, LOSS, ONE = tensor(3, kind=pl.INT), tensor(3), tensor(kind=pl.UNSIGNED_INT)
ACTS, FACTOR = tensor(2, 4, 5), tensor()
POOL = popnn.PoolParams(popnn.PoolingType.MAX, [5], [2], [1], [0], [0], 4, 2, pl.FLOAT)
LOSS_TYPE, RELU = popnn.LossType.CROSS_ENTROPY_LOSS, popnn.NonLinearityType.RELU
CONV = poplin.ConvParams(pl.FLOAT, 2, [5], [2], 4, 3, 1)
WEIGHTS, OUT, CHANNELS = tensor(1, 3, 4, 2), tensor(2, 3, 4), tensor(3)
LSTM = popnn.lstm.LstmParams(pl.FLOAT, 2, 2, [3, 4])
GRU = popnn.gru.GruParams(pl.FLOAT, 2, 2, [3, 4])
KEPT, KEPT_OF_GRU = popnn.lstm.Intermediates(), popnn.gru.Intermediates()
STEPS, STATE, OUTPUTS = tensor(2, 2, 3), tensor(2, 4), tensor(2, 2, 4)
STATES = popnn.lstm.LstmState(STATE, STATE)
GATES = popnn.lstm.LstmWeights(tensor(4, 3, 4), tensor(4, 4, 4), tensor(4, 4))
GATES_OF_GRU = popnn.gru.GruWeights(*(each[:3] for each in GATES))
SHAPES, GROUP_SHAPES = ((3, 4), (4, 3)), ((2, 3, 4), (2, 4, 3))
END = ("n", None, None)

CALLS: list[tuple[Any, tuple[Any, ...]]] = [
    (poplin.matMul, (GRAPH, MATRIX, TURNED, PROG, pl.FLOAT, *END)),
    (poplin.matMulGrouped, (GRAPH, GROUPS, TURNED_GROUPS, PROG, *END)),
    (poplin.matMulWithOutput, (GRAPH, MATRIX, TURNED, SQUARE, PROG, *END)),
    (poplin.matMulGroupedWithOutput, (GRAPH, GROUPS, TURNED_GROUPS, SQUARES, PROG, *END)),
    (poplin.matMulAcc, (GRAPH, SQUARE, 1.0, MATRIX, TURNED, PROG, *END)),
    (poplin.matMulGroupedAcc, (GRAPH, SQUARES, 1.0, GROUPS, TURNED_GROUPS, PROG, *END)),
    (poplin.createMatMulInputLHS, (GRAPH, pl.FLOAT, *SHAPES, *END)),
    (poplin.createMatMulOutput, (GRAPH, pl.FLOAT, pl.FLOAT, *SHAPES, *END)),
    (poplin.createMatMulGroupedInputRHS, (GRAPH, pl.FLOAT, pl.FLOAT, *GROUP_SHAPES, *END)),
    (poplin.transposeGroupedMatrix, (GROUPS,)),
    (poplin.matMulReportPlan, (io.StringIO(), GRAPH, pl.FLOAT, pl.FLOAT, *SHAPES, *END[1:])),
    (poplin.convolution, (GRAPH, ACTS, WEIGHTS, CONV, False, PROG, *END)),
    (poplin.convolutionWithOutput, (GRAPH, ACTS, WEIGHTS, OUT, CONV, False, PROG, *END)),
    (poplin.createInput, (GRAPH, CONV, *END)),
    (poplin.createWeights, (GRAPH, CONV, *END)),
    (poplin.createConvOutput, (GRAPH, CONV, *END)),
    (poplin.getGradientParams, (CONV,)),
    (poplin.calculateWeightDeltas, (GRAPH, OUT, ACTS, CONV, PROG, *END)),
    (poplin.convolutionWeightUpdate, (GRAPH, OUT, WEIGHTS, ACTS, CONV, FACTOR, PROG, *END)),
    (poplin.createBiases, (GRAPH, OUT, *END[:2])),
    (poplin.addBias, (GRAPH, OUT, CHANNELS, PROG, *END[:2])),
    (poplin.convolutionBiasUpdate, (GRAPH, OUT, CHANNELS, 0.5, None, PROG, "n")),
    (poplin.weightsTransposeChansFlipXY, (GRAPH, WEIGHTS, tensor(1, 4, 3, 2), PROG, "n")),
    (popnn.lstm.createInput, (GRAPH, LSTM, *END)),
    (popnn.lstm.createInitialState, (GRAPH, LSTM, *END)),
    (popnn.lstm.createWeights, (GRAPH, LSTM, *END)),
    (popnn.lstm.lstmFwd, (GRAPH, LSTM, STATES, STEPS, GATES, KEPT, PROG, *END)),
    (
        popnn.lstm.lstmBwdWithWU,
        (GRAPH, LSTM, PROG, STATES, KEPT, GATES, STEPS, OUTPUTS, OUTPUTS, STATE, *END),
    ),
    (popnn.gru.createInput, (GRAPH, GRU, *END)),
    (popnn.gru.createInitialState, (GRAPH, GRU, *END)),
    (popnn.gru.createWeights, (GRAPH, GRU, *END)),
    (popnn.gru.gruFwd, (GRAPH, GRU, STATE, STEPS, GATES_OF_GRU, KEPT_OF_GRU, PROG, *END)),
    (
        popnn.gru.gruBwdWithWU,
        (GRAPH, GRU, PROG, STATE, KEPT_OF_GRU, GATES_OF_GRU, STEPS, OUTPUTS, OUTPUTS, *END),
    ),
    (poplin.cholesky, (GRAPH, SQUARE, True, PROG, *END)),
    (poplin.choleskyInPlace, (GRAPH, SQUARE, True, 8, PROG, *END)),
    (poplin.createCholeskyInput, (GRAPH, pl.FLOAT, (3, 3), True, *END)),
    (poplin.triangularMask, (GRAPH, SQUARE, True, True, PROG, "n")),
    (poplin.triangularSolve, (GRAPH, SQUARE, SQUARE, True, True, False, PROG, *END)),
    (poplin.createTriangularSolveInputLHS, (GRAPH, pl.FLOAT, pl.FLOAT, *SHAPES, True, *END)),
    (poplin.createTriangularSolveInputRHS, (GRAPH, pl.FLOAT, pl.FLOAT, *SHAPES, True, *END)),
    (poplin.linspace, (GRAPH, pl.FLOAT, 0.0, 1.0, 5, "n")),
    (poplin.meshgrid2d, (GRAPH, VECTOR, LOSS)),
    (poplin.experimental.LUFactorization, (GRAPH, SQUARE, PROG, "n")),
    (poplin.experimental.QRFactorization, (GRAPH, MATRIX.T, tensor(4, 4), PROG, "n", None)),
    (poplin.experimental.createQRFactorizationMatrices, (GRAPH, pl.FLOAT, 5, 3, "n")),
    (popnn.nonLinearity, (GRAPH, RELU, MATRIX, PROG, "n")),
    (popnn.nonLinearityInPlace, (GRAPH, RELU, MATRIX, PROG, "n")),
    (popnn.nonLinearityInputGradient, (GRAPH, RELU, MATRIX, MATRIX, PROG, "n")),
    (popnn.logSoftmax, (GRAPH, MATRIX, PROG, "n")),
    (popnn.calcLoss, (GRAPH, MATRIX, LABELS, LOSS, MATRIX, FACTOR, FACTOR, ONE, LOSS_TYPE, "n")),
    (popnn.calcAccuracy, (GRAPH, MATRIX, LABELS, ONE, "n")),
    (popnn.argMax, (GRAPH, MATRIX, PROG, "n")),
    (popnn.topK, (GRAPH, MATRIX, 2, True, PROG, "n")),
    (popnn.pool, (GRAPH, POOL, ACTS, PROG, *END[:2])),
    (
        popnn.poolInputGradient,
        (GRAPH, POOL, ACTS, ACTS[:, :, 1:], ACTS[:, :, 1:], False, PROG, *END[:2]),
    ),
    (popnn.gn.createGroupNormParams, (GRAPH, ACTS, "n")),
    (popnn.gn.groupNormStatistics, (GRAPH, ACTS, 0.1, PROG, 2, False, False, pl.FLOAT, *END[:2])),
    (popnn.gn.groupNormWhiten, (GRAPH, ACTS, VECTOR, VECTOR, PROG, *END[:2])),
    (popnn.gn.groupNormalise, (GRAPH, ACTS, *[VECTOR] * 4, PROG, *END[:2])),
    (
        popnn.bn.batchNormParamGradients,
        (GRAPH, ACTS, ACTS, VECTOR, VECTOR, PROG, pl.FLOAT, *END[:2]),
    ),
    (popnn.bn.batchNormGradients, (GRAPH, ACTS, ACTS, *[VECTOR] * 3, PROG, pl.FLOAT, *END[:2])),
    (popnn.bn.batchNormParamUpdate, (GRAPH, VECTOR, VECTOR, 0.1, VECTOR, VECTOR, PROG, *END[:2])),
]
"""Functions, and arguments that fit."""

WRONG: tuple[Any, ...] = (None, np.ones((2, 2)), "x", [[1], [2, 3]], -1, 1.5, {"partialsType": 3})


def place_of_fault(function: Any, arguments: list[Any]) -> str:
    """Call a function, and return the file that its error names; "" where there is none."""
    try:
        function(*arguments)
    except pl.PopliteError as error:
        return error.at.file if error.at else "nowhere"
    return ""


@pytest.mark.parametrize(("function", "fitting"), CALLS, ids=lambda each: "")
def test_a_wrong_argument_is_refused_with_its_place(function: Any, fitting: Any) -> None:
    function(*fitting)
    for place in range(len(fitting)):
        for number in range(place, place + 3):
            arguments = list(fitting)
            arguments[place] = WRONG[number % len(WRONG)]
            assert place_of_fault(function, arguments) in ("", __file__)


@pytest.mark.parametrize(
    ("kind", "made", "function"),
    [
        (poplin.ConvParams, partial(replace, CONV), poplin.createConvOutput),
        (popnn.lstm.LstmParams, partial(replace, LSTM), popnn.lstm.createInitialState),
        (popnn.gru.GruParams, partial(replace, GRU), popnn.gru.createInitialState),
        (
            poplin.InputTransform,
            lambda **field: replace(CONV, inputTransform=poplin.InputTransform(**field)),
            poplin.createWeights,
        ),
        (
            poplin.OutputTransform,
            lambda **field: replace(CONV, outputTransform=poplin.OutputTransform(**field)),
            poplin.createWeights,
        ),
    ],
)
def test_wrong_parameters_are_refused_with_their_place(kind: Any, made: Any, function: Any) -> None:
    def called(name: str, value: Any) -> None:
        function(GRAPH, made(**{name: value}))

    for name in kind.__slots__:
        for value in WRONG:
            assert place_of_fault(called, [name, value]) in ("", __file__)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("poolingType", "max"),
        ("inputFieldShape", 5),
        ("kernelShape", "2"),
        ("stride", None),
        ("inputTruncationOrPaddingLower", 0),
        ("batchSize", [1]),
        ("dType", pl.HALF),
    ],
)
def test_parameters_of_pooling_are_checked(field: str, value: object) -> None:
    names = POOL.__dataclass_fields__
    given: Any = {**{name: getattr(POOL, name) for name in names}, field: value}
    with pytest.raises(pl.PopliteError, match="popnn.pool|PoolParams"):
        popnn.pool(GRAPH, popnn.PoolParams(**given), ACTS, PROG)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("MAX", [0, 5, 7, 0]), ("SUM", [5, 5, 7, 7]), ("AVG", [2.5, 2.5, 3.5, 3.5])],
)
def test_gradients_of_pooling(kind: str, expected: list[float]) -> None:
    graph, prog = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    x, g = (
        graph.add_constant(pl.FLOAT, (1, 1, len(values)), [[values]], mapping=0)
        for values in ([1, 3, 4, 2], [5, 7])
    )
    kinds = popnn.PoolingType
    params = popnn.PoolParams(kinds[kind], [4], [2], [2], [0], [0], 1, 1, pl.FLOAT)
    y = popnn.pool(graph, params, x, prog)
    by_x = popnn.poolInputGradient(graph, params, x, y, g, False, prog, "by_x")
    engine = pl.Engine(graph, prog, interpret=True)
    engine.run()
    assert engine.read(by_x).tolist() == [[expected]]
    if kind == "MAX":
        with pytest.raises(pl.InvalidOption, match="use_scaled_gradient is true"):
            popnn.poolInputGradient(graph, params, x, y, g, True, prog)
