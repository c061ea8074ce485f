"""Calls of PopLibs' functions, as `poplite.compat` has them."""

# ruff: noqa: E501  # one line a call reads as the table that it is

from __future__ import annotations

import io
import operator
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import poplite as pl
from poplite.compat import poplin, popnn, popops, poprand, popsparse, poputil
from poplite.compat.popops import expr as pe

CALLS = """
popops.addCodelets(graph)
poplin.addCodelets(graph)
popnn.addCodelets(graph)
poprand.addCodelets(graph)
poputil.addCodelets(graph)
popsparse.addCodelets(graph)
popops.allTrue(graph, flags, prog, "n")
popops.cast(graph, x, pl.HALF, prog, "n")
popops.cast(graph, k, x, "n")
popops.cast(graph, x, pl.HALF, cs, "n")
popops.cast(graph, k, x, cs)
popops.castWithOutput(graph, k, x, prog, "n")
popops.createSliceableTensor(graph, pl.FLOAT, (10, 6), [0], [1], 2, "n")
popops.createSliceableTensor(graph, pl.FLOAT, (10, 6), [0], [1], plan, None, "n")
popops.dynamicSlice(graph, table, offset, [0], [1], prog, "n", None)
popops.dynamicSliceWithOutput(graph, row, table, offset, [0], [1], prog, "n", None)
popops.dynamicUpdate(graph, table, row, offset, [0], [1], prog, "n", None)
popops.encodeOneHot(graph, rows, encoded, prog, 2.0, 1.0, "n")
popops.fill(graph, x, prog, 1.5, "n")
popops.fill(graph, x, [(0, 2)], 1, cs, 1.5)
popops.fill(graph, x, 1, cs, 1.5)
popops.fill(graph, x, [[(0, 2)], [(3, 4)]], cs, 1.5)
popops.iota(graph, rows, 1, prog, "n")
popops.map(graph, pe.Add(pe._1, pe._2), [x, y], prog, "n", None)
popops.map(graph, pe.BinaryOpType.ADD, x, y, prog, "n", None)
popops.mapInPlace(graph, pe._1 + pe._2, [x, y], prog, "n", None)
popops.mapWithOutput(graph, pe._1 + pe._2, [x, y], z, prog, "n", None)
popops.multiSlice(graph, table, offsets, [0], [1], prog, plan, None, "n")
popops.multiUpdate(graph, table, updates, offsets, [0], [1], prog, plan, None, "n")
popops.multiUpdateAdd(graph, table, updates, offsets, factor, [0], [1], prog, plan, None, "n")
popops.multiUpdateMax(graph, table, updates, offsets, [0], [1], prog, plan, None, "n")
popops.multiUpdateMul(graph, table, updates, offsets, [0], [1], prog, plan, None, "n")
popops.embedding.plan(graph, pl.FLOAT, 10, 6, 4, None)
popops.pad(graph, x, [0, 1], [1, 0], 1.5)
popops.reduce(graph, x, [0], popops.ReduceParams(popops.Operation.ADD, False, factor), prog, "n", None)
popops.reduce(graph, x, pl.FLOAT, [0], popops.Operation.MAX, prog, "n")
popops.reduce(graph, x, [0], popops.Operation.ADD, [cs], "n", None)
popops.reduceMany(graph, [popops.SingleReduceOp(x, [0], popops.ReduceParams(popops.Operation.ADD), pl.FLOAT)], [v], prog, "n", None)
popops.reduceWithOutput(graph, x, v, [0], popops.Operation.ADD, prog, "n", None)
popops.reduceWithOutput(graph, x, v, [0], popops.Operation.ADD, [cs], "n", None)
popops.scaledAddTo(graph, x, y, 0.5, prog, "n", None)
popops.scaledAddTo(graph, x, 0.5, y, 0.5, prog, "n", None)
popops.scaledAddTo(graph, x, y, factor, prog, "n", None)
popops.scaledSubtractFrom(graph, x, y, 0.5, prog, "n", None)
popops.selectScalarFromRows(graph, x, indices, prog, "n")
popops.hasNaN(graph, x, prog, "n")
popops.hasNaNOrInf(graph, x, prog, "n")
popops.histogram(graph, x, v, True, prog, "n")
popops.sort(graph, x, 1, prog, "n")
popops.sortInPlace(graph, x, 1, prog, "n")
popops.sortKeyValue(graph, x, y, 1, prog, "n")
popops.sortKeyValueInPlace(graph, x, y, 1, prog, "n")
popops.topK(graph, prog, x, popops.TopKParams(2, True, popops.SortOrder.ASCENDING, False), "n")
popops.topKKeyValue(graph, prog, x, y, popops.TopKParams(2, True, popops.SortOrder.NONE), "n")
popops.topKWithPermutation(graph, prog, x, popops.TopKParams(2, True, popops.SortOrder.NONE), "n")
popops.updateScalarInRows(graph, x, indices, prog, "n")
popops.zero(graph, x, prog, "n")
popops.zero(graph, x, [(0, 2)], 1, cs)
popops.zero(graph, x, 1, cs)
popops.zero(graph, x, [[(0, 2)], [(3, 4)]], cs)
pe.UnaryOp("ABSOLUTE", pe._1)
pe.BinaryOp("ADD", pe._1, pe._2)
pe.TernaryOp("SELECT", pe._1, pe._2, pe._3)
pe.Select(pe._1, pe._2, pe._3)
pe.Clamp(pe._1, pe.Const(0), pe._3)
pe.Cast(pe._1, pl.INT).of([x])
pe.Const(3).of([x])
pe.ConstHalf(3).of([x])
pe.PlaceHolder(1).of([x])
pe.Abs(pe._1).of([x])
poplin.matMul(graph, x, turned, prog, pl.FLOAT, "n", None, None)
poplin.matMulGrouped(graph, groups, turned_groups, prog, pl.FLOAT, "n", None, None)
poplin.matMulWithOutput(graph, x, turned, square, prog, "n", None, None)
poplin.matMulGroupedWithOutput(graph, groups, turned_groups, squares, prog, "n", None, None)
poplin.matMulAcc(graph, square, 1.0, x, turned, prog, "n", None, None)
poplin.matMulGroupedAcc(graph, squares, 1.0, groups, turned_groups, prog, "n", None, None)
poplin.createMatMulInputLHS(graph, pl.FLOAT, pl.FLOAT, (3, 4), (4, 3), "n", {"availableMemoryProportion": "0.6"}, None)
poplin.createMatMulInputRHS(graph, pl.FLOAT, (3, 4), (4, 3), "n", None, None)
poplin.createMatMulOutput(graph, pl.FLOAT, pl.FLOAT, (3, 4), (4, 3), "n", None, None)
poplin.createMatMulGroupedInputLHS(graph, pl.FLOAT, pl.FLOAT, (2, 3, 4), (2, 4, 3), "n", None, None)
poplin.createMatMulGroupedInputRHS(graph, pl.FLOAT, pl.FLOAT, (2, 3, 4), (2, 4, 3), "n", None, None)
poplin.createMatMulGroupedOutput(graph, pl.FLOAT, pl.FLOAT, (2, 3, 4), (2, 4, 3), "n", None, None)
poplin.transposeGroupedMatrix(groups)
poplin.matMulReportPlan(out, graph, pl.FLOAT, pl.FLOAT, (3, 4), (4, 3), None, None)
poplin.convolution(graph, acts, weights, conv, False, prog, "n", None, None)
poplin.convolutionWithOutput(graph, acts, weights, made, conv, False, prog, "n", None, None)
poplin.createInput(graph, conv, "n", None, None)
poplin.createWeights(graph, conv, "n", None, None)
poplin.createConvOutput(graph, conv, "n", None, None)
poplin.getGradientParams(conv)
poplin.ConvParams(pl.FLOAT, pl.FLOAT, 2, [5], [2], 4, 3, 1)
poplin.ConvParams(pl.FLOAT, 2, [5], [2], 4, 3, 1, poplin.InputTransform([0], [0], [1], [0], [0], [False]), poplin.InputTransform([0]), poplin.OutputTransform([0], [0], [1], [0], [0]))
poplin.createInput(graph, poplin.ConvParams(pl.FLOAT, 2, [5], [2], 4, 3, 1, poplin.InputTransform([0], [0], [1], [0], [0], [False]), poplin.InputTransform([0]), poplin.OutputTransform([0], [0], [1], [0], [0])))
poplin.calculateWeightDeltas(graph, made, acts, conv, prog, "n", None, None)
poplin.convolutionWeightUpdate(graph, made, weights, acts, conv, factor, prog, "n", None, None)
poplin.createBiases(graph, made, "n", None)
poplin.addBias(graph, made, channels, prog, "n", None)
poplin.convolutionBiasUpdate(graph, made, channels, 0.5, None, prog, "n")
poplin.weightsTransposeChansFlipXY(graph, weights, flipped, prog, "n")
poplin.cholesky(graph, square, True, prog, "n", None, None)
poplin.choleskyInPlace(graph, square, True, 8, prog, "n", None, None)
poplin.createCholeskyInput(graph, pl.FLOAT, (3, 3), True, 8, "n", None, None)
poplin.triangularMask(graph, square, True, True, prog, "n")
poplin.triangularSolve(graph, square, square, True, True, False, 8, prog, "n", None, None)
poplin.createTriangularSolveInputLHS(graph, pl.FLOAT, pl.FLOAT, (3, 3), (3, 4), True, 8, "n", None, None)
poplin.createTriangularSolveInputRHS(graph, pl.FLOAT, pl.FLOAT, (3, 3), (3, 4), True, 8, "n", None, None)
poplin.linspace(graph, pl.FLOAT, 0.0, 1.0, 5, "n")
poplin.meshgrid2d(graph, v, v)
poplin.experimental.LUFactorization(graph, square, prog, "n")
poplin.experimental.QRFactorization(graph, x.T, fours, prog, "n", None)
poplin.experimental.createQRFactorizationMatrices(graph, pl.FLOAT, 5, 3, "n")
poplin.PlanningCache()
popnn.nonLinearity(graph, relu, x, prog, "n")
popnn.nonLinearityInPlace(graph, relu, x, prog, "n")
popnn.nonLinearityInputGradient(graph, relu, x, y, prog, "n")
popnn.nonLinearityInPlace(graph, relu, x, cs, "n")
popnn.nonLinearityInputGradient(graph, relu, x, y, cs, "n")
popnn.calcLoss(graph, x, labels, loss, y, factor, factor, one, loss_type, "n")
popnn.calcLoss(graph, x, labels, loss, y, loss_type, "n")
popnn.calcAccuracy(graph, x, labels, one, "n")
popnn.argMax(graph, x, prog, "n")
popnn.argMin(graph, x, prog, "n")
popnn.maxAndArgMax(graph, x, prog, "n")
popnn.minAndArgMin(graph, x, prog, "n")
popnn.topK(graph, x, 2, True, prog, "n")
popnn.pool(graph, pool, acts, prog, "n", None)
popnn.poolInputGradient(graph, pool, acts, acts[:, :, 1:], acts[:, :, 1:], False, prog, "n", None)
popnn.pool(graph, popnn.PoolParams(popnn.PoolingType.MAX, [5], [2], [1], [0], [0], 4, 2, pl.FLOAT), acts, prog)
popnn.lstm.getDefaultBasicLstmCellOrder()
popnn.lstm.createInput(graph, lstm, "n", None, None)
popnn.lstm.createInitialState(graph, lstm, "n", None, None)
popnn.lstm.createWeights(graph, lstm, "n", None, None)
popnn.lstm.createWeights(graph, popnn.lstm.LstmParams(pl.FLOAT, 2, 2, [3, 4], popnn.NonLinearityType.TANH, popnn.NonLinearityType.SIGMOID, True, True, popnn.lstm.getDefaultBasicLstmCellOrder()))
popnn.lstm.lstmFwd(graph, lstm, popnn.lstm.LstmState(state, state), steps, popnn.lstm.LstmWeights(*gates), popnn.lstm.Intermediates(), prog, "n", None, None)
popnn.lstm.lstmBwdWithWU(graph, lstm, prog, popnn.lstm.LstmState(state, state), kept, popnn.lstm.LstmWeights(*gates), steps, outputs, outputs, state, "n", None, None)
popnn.gru.getDefaultBasicGruCellOrder()
popnn.gru.createInput(graph, gru, "n", None, None)
popnn.gru.createInitialState(graph, gru, "n", None, None)
popnn.gru.createWeights(graph, gru, "n", None, None)
popnn.gru.createWeights(graph, popnn.gru.GruParams(pl.FLOAT, 2, 2, [3, 4], popnn.NonLinearityType.TANH, popnn.NonLinearityType.SIGMOID, True, True, popnn.gru.getDefaultBasicGruCellOrder()))
popnn.gru.gruFwd(graph, gru, state, steps, gru_gates, popnn.gru.Intermediates(), prog, "n", None, None)
popnn.gru.gruBwdWithWU(graph, gru, prog, state, kept_of_gru, gru_gates, steps, outputs, outputs, "n", None, None)
poprand.bernoulli(graph, seed, 1, x, pl.BOOL, 0.5, prog, "n")
poprand.dropout(graph, seed, 1, x, x, 0.5, 2.0, prog, "n")
poprand.normal(graph, seed, 1, x, pl.FLOAT, 0.0, 1.0, prog, "n")
poprand.setSeed(graph, seed, 1, prog, "n")
poprand.truncatedNormal(graph, seed, 1, x, pl.FLOAT, 0.0, 1.0, 2.0, prog, "n")
poprand.uniform(graph, None, 1, x, pl.FLOAT, 0.0, 1.0, prog, "n")
poputil.broadcastToMatch(x, v)
poputil.broadcastToMatch(v, (3, 4))
poputil.canBroadcastToMatch(x, v)
poputil.createBroadcastOperand(graph, x, pl.FLOAT, 1, False, "n")
poputil.duplicate(graph, x, prog, "n")
poputil.mapTensorLinearly(graph, x, 1, 2)
poputil.mapTensorLinearlyWithOffset(graph, x, 1, 2, 0, True)
poputil.mapTensorLinearlyWithOffset(graph, x, offset=1, ascending=False)
poputil.splitRegions([(0, 4)], 1, 2, 1)
poputil.splitRegionsBetweenWorkers(graph.target, [(0, 4)], 1, 1)
layout.to_string(layout.Vector.SPAN)
"""

ONE = "abs asin cbrt ceil cos erf exp exp2 expm1 floor geluErf inv log log1p nearbyint neg round rsqrt sigmoid signum sin sqrt square tan tanh isFinite"
TWO = "add atan2 div eq gt gteq invStdDevToVariance lt lteq max min mul neq pow rem sub varianceToInvStdDev"
INTEGER = "bitwiseNot countLeadingZeros popcount"
INTEGERS = "bitwiseAnd bitwiseOr bitwiseXnor bitwiseXor shiftLeft shiftRight shiftRightSignExtend"
TRUTHS = "logicalAnd logicalOr"
ACTIVATIONS = (
    "gelu geluErf logSoftmax relu scaledSoftmaxStable sigmoid softmax softmaxStable swish tanh"
)
NORMS = {"bn": "batchNorm", "gn": "groupNorm", "in_": "instanceNorm", "ln": "layerNorm"}
STATISTICS = {
    "bn": "acts, 0.1, prog, False, False, pl.FLOAT",
    "gn": "acts, 0.1, prog, 2, False, False, pl.FLOAT",
    "in_": "acts, 0.1, prog, False, False, pl.FLOAT",
    "ln": "acts, 0.1, prog, False, False, pl.FLOAT",
}
"""Arguments of functions of norms, which take the groups only of groups."""


def _elementwise() -> Iterator[str]:
    families = (
        (ONE, "x", "z"),
        (TWO, "x, y", "z"),
        (INTEGER, "k", "k2"),
        (INTEGERS, "k, k", "k2"),
        ("logicalNot", "flags", "flags2"),
        (TRUTHS, "flags, flags", "flags2"),
        ("select", "x, y, flags", "z"),
        ("clamp", "x, y, y", "z"),
    )
    ordering = {"gt", "gteq", "lt", "lteq"}  # in place they take nothing: BOOL has no order
    comparing = {"eq", "gt", "gteq", "lt", "lteq", "neq", "isFinite"}
    for names, operands, out in families:
        for name in names.split():
            target = "flags2" if name in comparing else out
            yield f'popops.{name}(graph, {operands}, prog, "n", None)'
            yield f'popops.{name}WithOutput(graph, {operands}, {target}, prog, "n", None)'
            if hasattr(popops, f"{name}InPlace") and name not in ordering:
                first = "flags, flags" if name in ("eq", "neq") else operands
                yield f'popops.{name}InPlace(graph, {first}, prog, "n", None)'


def _networks() -> Iterator[str]:
    for name in ACTIVATIONS.split():
        yield f'popnn.{name}(graph, x, prog, "n")'
        yield f'popnn.{name}InPlace(graph, x, prog, "n")'
    for room, norm in NORMS.items():
        statistic = {"bn": "fours_of", "ln": "twos", "gn": "groups_of", "in_": "eights"}[room]
        end = 'prog, pl.FLOAT, "n", None'
        ends = norm.removesuffix("Norm") + "Normalise"
        yield f'popnn.{room}.create{norm[0].upper()}{norm[1:]}Params(graph, acts, "n")'
        yield f'popnn.{room}.{norm}Statistics(graph, {STATISTICS[room]}, "n", None)'
        yield f'popnn.{room}.{norm}Whiten(graph, acts, {statistic}, {statistic}, prog, "n", None)'
        yield f'popnn.{room}.{ends}(graph, acts, c, c, {statistic}, {statistic}, prog, "n", None)'
        yield f"popnn.{room}.{norm}ParamGradients(graph, acts, acts, {statistic}, {statistic}, {end})"
        yield f"popnn.{room}.{norm}Gradients(graph, acts, acts, {statistic}, {statistic}, c, {end})"
        yield f'popnn.{room}.{norm}ParamUpdate(graph, c, c, 0.1, c, c, prog, "n", None)'


def _expressions() -> Iterator[str]:
    for name in [
        "add",
        "sub",
        "mul",
        "truediv",
        "mod",
        "and_",
        "or_",
        "xor",
        "lshift",
        "rshift",
        "lt",
        "le",
        "gt",
        "ge",
        "eq",
        "ne",
    ]:
        yield f"operator.{name}(pe._1, pe.Const(1))"
    for name, value in sorted(vars(pe).items()):
        code = getattr(value, "__code__", None)
        if name[0].isupper() and code and code.co_name == "<lambda>":
            yield f"pe.{name}({', '.join(['pe._1', 'pe._2'][: code.co_argcount])})"


def calls() -> list[str]:
    """Return the calls, one a function or more."""
    return [*CALLS.strip().splitlines(), *_elementwise(), *_networks(), *_expressions()]


@contextmanager
def world() -> Iterator[dict[str, Any]]:
    """Give the names that the calls use, made anew."""
    graph, prog, out = pl.Graph(pl.Target(tiles=3)), pl.Sequence(), io.StringIO()

    def variable(kind: Any, *shape: int) -> pl.Tensor:
        value = kind is pl.BOOL or kind.is_floating_point
        return graph.add_variable(kind, shape, "t", mapping="linear", initial_value=value)

    x, y, z = (variable(pl.FLOAT, 3, 4) for _ in range(3))
    k, k2 = (variable(pl.INT, 3, 4) for _ in range(2))
    flags, flags2 = (variable(pl.BOOL, 3, 4) for _ in range(2))
    v, turned, square = variable(pl.FLOAT, 4), variable(pl.FLOAT, 4, 3), variable(pl.FLOAT, 3, 3)
    groups, turned_groups = variable(pl.FLOAT, 2, 3, 4), variable(pl.FLOAT, 2, 4, 3)
    squares, fours = variable(pl.FLOAT, 2, 3, 3), variable(pl.FLOAT, 4, 4)
    table, row, updates = (variable(pl.FLOAT, *s) for s in ((10, 6), (1, 6), (4, 1, 6)))
    rows, offset = variable(pl.INT, 4), variable(pl.UNSIGNED_INT, 1)
    offsets, encoded = variable(pl.UNSIGNED_INT, 4, 1), variable(pl.FLOAT, 4, 8)
    indices, factor = variable(pl.UNSIGNED_INT, 3), variable(pl.FLOAT)
    plan = popops.embedding.plan(graph, pl.FLOAT, 10, 6, 4)
    labels, loss, one = variable(pl.INT, 3), variable(pl.FLOAT, 3), variable(pl.UNSIGNED_INT)
    relu = popnn.NonLinearityType.RELU
    loss_type = popnn.LossType.CROSS_ENTROPY_LOSS
    acts, c, made, channels = (variable(pl.FLOAT, *s) for s in ((2, 4, 5), (4,), (2, 3, 4), (3,)))
    fours_of, twos, groups_of, eights = (variable(pl.FLOAT, n) for n in (4, 2, 4, 8))
    weights, flipped = variable(pl.FLOAT, 1, 3, 4, 2), variable(pl.FLOAT, 1, 4, 3, 2)
    conv = poplin.ConvParams(pl.FLOAT, 2, [5], [2], 4, 3, 1)
    pool = popnn.PoolParams(popnn.PoolingType.MAX, [5], [2], [1], [0], [0], 4, 2, pl.FLOAT)
    lstm = popnn.lstm.LstmParams(pl.FLOAT, 2, 2, [3, 4])
    gru = popnn.gru.GruParams(pl.FLOAT, 2, 2, [3, 4])
    state, steps, outputs = (variable(pl.FLOAT, *s) for s in ((2, 4), (2, 2, 3), (2, 2, 4)))
    gates = [variable(pl.FLOAT, *s) for s in ((4, 3, 4), (4, 4, 4), (4, 4))]
    gru_gates = popnn.gru.GruWeights(*(each[:3] for each in gates))
    kept, kept_of_gru = popnn.lstm.Intermediates(), popnn.gru.Intermediates()
    states = popnn.lstm.LstmState(state, state)
    popnn.lstm.lstmFwd(graph, lstm, states, steps, popnn.lstm.LstmWeights(*gates), kept, prog)
    popnn.gru.gruFwd(graph, gru, state, steps, gru_gates, kept_of_gru, prog)
    seed, cs = variable(pl.UNSIGNED_INT, 2), graph.add_compute_set("cs")
    libraries = {"popops": popops, "poplin": poplin, "popnn": popnn, "poprand": poprand}
    more = {
        "popsparse": popsparse,
        "poputil": poputil,
        "pe": pe,
        "layout": pl.layout,
        "operator": operator,
        "pl": pl,
    }
    yield {**locals(), **libraries, **more}


NOT_OURS: frozenset[str] = frozenset()
