"""PopLibs' names: their argument orders, and what they mean where NumPy means something else."""

from __future__ import annotations

import inspect
import math
import re
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import interpreted
from helpers.running import ROOT
from poplite.compat import poplin, popnn, popops, poprand, popsparse, poputil
from poplite.compat.popops import Operation, ReduceParams, SingleReduceOp, expr as pe, form_types


def untyped(value: object) -> Any:
    """Hide a type that is refused from type checkers."""
    return value


class Bench:
    """A graph, its program, and what tensors hold after a run."""

    def __init__(self) -> None:
        self.graph, self.prog = pl.Graph(pl.Target(tiles=4)), pl.Sequence()

    def tensor(self, values: Any, kind: Any = pl.FLOAT, name: str = "") -> pl.Tensor:
        values = np.asarray(values)
        return self.graph.add_variable(
            kind, values.shape, name, mapping="linear", initial_value=values
        )

    def after(self, *tensors: pl.Tensor) -> list[Any]:
        engine = pl.Engine(self.graph, self.prog, **interpreted())
        engine.run()
        return [engine.read(tensor).tolist() for tensor in tensors]


@pytest.fixture
def bench() -> Bench:
    return Bench()


INTS, OTHERS = [-7, 7, -8, 5], [2, -2, 3, 5]


@pytest.mark.parametrize(
    ("function", "a", "b", "kind", "expected"),
    [
        (popops.div, INTS, OTHERS, pl.INT, [-3, -3, -2, 1]),
        (popops.rem, INTS, OTHERS, pl.INT, [-1, 1, -2, 0]),
        (popops.rem, [-7.5, 7.5], [2, -2], pl.FLOAT, [-1.5, 1.5]),
        (popops.div, [1, -1], [4, 0], pl.FLOAT, [0.25, -math.inf]),
        (popops.shiftRight, [-1, 8], [28, 1], pl.INT, [15, 4]),
        (popops.shiftRightSignExtend, [-16, 8], [2, 1], pl.INT, [-4, 4]),
        (popops.max, [1, 2, -3], [2, 1, -4], pl.FLOAT, [2, 2, -3]),
        (popops.min, [1, 2, -3], [2, 1, -4], pl.INT, [1, 1, -4]),
        (popops.pow, [2, 3], [3, -1], pl.INT, [8, 0]),
        (popops.sub, INTS, OTHERS, pl.INT, [-9, 9, -11, 0]),
        (popops.lteq, INTS, OTHERS, pl.INT, [True, False, True, True]),
    ],
)
def test_operations_of_two(
    bench: Bench, function: Callable[..., pl.Tensor], a: Any, b: Any, kind: Any, expected: Any
) -> None:
    result = function(bench.graph, bench.tensor(a, kind), bench.tensor(b, kind), bench.prog, "r")
    assert result.name == "r"
    assert bench.after(result) == [expected]


def test_nan_of_the_generic_vertices(bench: Bench) -> None:
    nan, one = bench.tensor([math.nan]), bench.tensor([1.0])
    results = [
        function(bench.graph, *operands, bench.prog)
        for function in (popops.max, popops.min)
        for operands in ((nan, one), (one, nan))
    ]
    zero = popops.map(bench.graph, pe.Relu(pe._1), [nan], bench.prog)
    sign = popops.signum(bench.graph, nan, bench.prog)
    left, right, left_least, right_least, relu, signum = bench.after(*results, zero, sign)
    assert (math.isnan(left[0]), right) == (True, [1])
    assert (math.isnan(left_least[0]), right_least) == (True, [1])
    assert (relu, signum) == ([0], [0])


@pytest.mark.parametrize(
    ("function", "x", "kind", "expected"),
    [
        (popops.round, [0.5, 1.5, -2.5], pl.FLOAT, [1, 2, -3]),
        (popops.nearbyint, [0.5, 1.5, -2.5], pl.FLOAT, [0, 2, -2]),
        (popops.countLeadingZeros, [0, 1, -1], pl.INT, [32, 31, 0]),
        (popops.inv, [4, -0.5], pl.FLOAT, [0.25, -2]),
        (popops.neg, [-(2**31), 3], pl.INT, [-(2**31), -3]),
        (popops.isFinite, [1, math.inf], pl.FLOAT, [True, False]),
        (popops.sqrt, [16, 15, 2], pl.INT, [4, 3, 1]),
        (popops.logicalNot, [True, False], pl.BOOL, [False, True]),
    ],
)
def test_operations_of_one(
    bench: Bench, function: Callable[..., pl.Tensor], x: Any, kind: Any, expected: Any
) -> None:
    assert bench.after(function(bench.graph, bench.tensor(x, kind), bench.prog)) == [expected]


def test_the_three_forms(bench: Bench) -> None:
    a, b, out = bench.tensor([1, 2]), bench.tensor([10, 20]), bench.tensor([0, 0])
    new = popops.add(bench.graph, a, b, bench.prog)
    popops.addInPlace(bench.graph, a, 0.5, bench.prog, "half more")
    popops.mulWithOutput(bench.graph, a, b, out, bench.prog, "product", {})
    popops.clampInPlace(bench.graph, b, 12, 15, bench.prog)
    assert bench.after(new, a, out, b) == [[11, 22], [1.5, 2.5], [15, 50], [12, 15]]


def test_select_has_its_predicate_last(bench: Bench) -> None:
    p = bench.tensor([True, False], pl.BOOL)
    a, b = bench.tensor([1, 2]), bench.tensor([10, 20])
    assert bench.after(popops.select(bench.graph, a, b, p, bench.prog)) == [[1, 20]]


def test_maps_of_expressions(bench: Bench) -> None:
    a, b, p = bench.tensor(INTS, pl.INT), bench.tensor(OTHERS, pl.INT), bench.tensor([0.0] * 4)
    both = pe._1 % pe._2 + pe.Const(100)
    new = popops.map(bench.graph, both, [a, b], bench.prog, "both")
    popops.mapWithOutput(
        bench.graph, pe.Cast(pe._1 == pe._2, pl.FLOAT) * pe.Const(0.5), [a, b], p, bench.prog
    )
    chosen = pe.Select(-pe._1, pe._2, pe.And(pe._1 < pe.Const(0), pe._2 > pe.Const(2)))
    popops.mapInPlace(bench.graph, chosen, [a, b], bench.prog)
    assert bench.after(new, p, a) == [[99, 101, 98, 100], [0, 0, 0, 0.5], [2, -2, 8, 5]]


def test_constants_of_half_are_beside_half_only(bench: Bench) -> None:
    h, f = bench.tensor([1, 2], pl.HALF), bench.tensor([1, 2])
    result = popops.map(bench.graph, pe._1 * pe.ConstHalf(0.1), [h], bench.prog)
    assert bench.after(result) == [[float(np.float16(0.1)), float(np.float16(0.2))]]
    with pytest.raises(pl.ElementTypeError, match="FLOAT"):
        popops.map(bench.graph, pe._1 * pe.ConstHalf(0.1), [f], bench.prog)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (pe.Add(pe._1, 3.0), "Add(_1, 3.0)"),
        (2 - pe._1 * pe._20, "Sub(2, Mul(_1, _20))"),
        (pe.Select(pe._1, pe._2, pe._1 == pe._2), "Select(_1, _2, Equal(_1, _2))"),
        (pe.Clamp(-pe._1, 0, True), "Clamp(Neg(_1), 0, True)"),
        (pe.Cast(pe._1 + pe.ConstHalf(2), pl.HALF), "Cast(Add(_1, ConstHalf(2)), HALF)"),
        (pe.UnaryOp("POPCOUNT", pe._1), "UnaryOp('POPCOUNT', _1)"),
        (pe.Const(3), "Const(3)"),
        (pe.PlaceHolder(21), "PlaceHolder(21)"),
    ],
)
def test_expressions_show_the_calls_that_make_them(expression: pe.Any, text: str) -> None:
    assert repr(expression) == text
    again = eval(text, {**vars(pe), "HALF": pl.HALF})  # noqa: S307 - a text of this file
    assert repr(again) == text


@pytest.mark.parametrize(
    ("library", "name", "text"),
    [
        (popnn, "spatialSoftMax", r"did you mean 'spatialSoftMax2D'\?"),
        (poplin, "reportConvPlan", r"did you mean 'reportPlanInfo'\?"),
        (popops, "collectives", r"(?s)no popops.collectives .*try: pl.CrossReplicaCopy"),
        (popsparse, "SparsityParams", r"(?s)SparsityParams .*try: pl.ops.sparse_matmul"),
    ],
)
def test_names_that_are_not_there_lead_to_a_remedy(library: Any, name: str, text: str) -> None:
    with pytest.raises((AttributeError, pl.AbsentMember), match=text):
        getattr(library, name)


def test_a_misspelt_name_gets_one_hint() -> None:
    with pytest.raises(AttributeError) as caught:
        _ = popops.ad  # type: ignore[attr-defined]
    text = "".join(traceback.format_exception(caught.value))
    assert text.lower().count("did you mean") == 1


def test_the_text_of_an_expression_is_short_however_large_it_is() -> None:
    expression: pe.Any = pe._1
    for _ in range(2_000):
        expression = expression + expression
    assert "..." in repr(expression)
    assert len(repr(expression)) < 2_000


def test_every_operation_of_an_expression_has_a_meaning() -> None:
    classes = {"Any", "BinaryOp", "BinaryOpType", "Cast", "Const", "ConstHalf", "PlaceHolder"}
    classes |= {"TernaryOp", "TernaryOpType", "UnaryOp", "UnaryOpType"}
    functions = {each for each in pe.__all__ if each[0].isupper()} - classes
    operands = pe._1, pe._2, pe._3
    made = {getattr(pe, n)(*operands[: _arity(n)]).operation for n in functions}
    # Two of them are reached by their operation type alone in popops as well.
    kinds = pe.UnaryOpType, pe.BinaryOpType, pe.TernaryOpType
    known = {each.name for kind in kinds for each in kind}
    assert made == known - {"COUNT_LEADING_ZEROS", "POPCOUNT"}


def _arity(name: str) -> int:
    for count in (1, 2, 3):
        try:
            getattr(pe, name)(*[pe._1] * count)
        except TypeError:
            continue
        return count
    raise AssertionError(name)


# -- reductions ------------------------------------------------------------------------------------

ROWS = [[1.0, 2.0, 3.0], [-4.0, 5.0, 0.5]]


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (Operation.ADD, [6, 1.5]),
        (Operation.SQUARE_ADD, [14, 41.25]),
        (Operation.MUL, [6, -10]),
        (Operation.MIN, [1, -4]),
        (Operation.MAX, [3, 5]),
        (Operation.LOG_ADD, np.logaddexp.reduce(np.array(ROWS), 1).tolist()),
    ],
)
def test_reductions(bench: Bench, operation: Operation, expected: list[float]) -> None:
    x = bench.tensor(ROWS)
    new = popops.reduce(bench.graph, x, [1, 1], operation, bench.prog, "new")
    out = bench.tensor([[0.0], [0.0]])
    popops.reduceWithOutput(bench.graph, x, out, [1], ReduceParams(operation), bench.prog)
    found, into = bench.after(new, out)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.testing.assert_allclose(np.ravel(into), expected, rtol=1e-6)


def test_reductions_of_truth_values(bench: Bench) -> None:
    p = bench.tensor([[True, False], [True, True]], pl.BOOL)
    both = [
        popops.reduce(bench.graph, p, [1], operation, bench.prog)
        for operation in (Operation.LOGICAL_AND, Operation.LOGICAL_OR)
    ]
    assert bench.after(*both, popops.allTrue(bench.graph, p, bench.prog)) == [
        [False, True],
        [True, True],
        False,
    ]


def test_scale_update_and_types(bench: Bench) -> None:
    x, out = bench.tensor(ROWS), bench.tensor([100.0, 200.0])
    scale = bench.tensor([0.5])
    params = ReduceParams(Operation.ADD, update=True, scale=scale)
    popops.reduceWithOutput(bench.graph, x, out, [1], params, bench.prog)
    half = popops.reduce(bench.graph, x, pl.HALF, [1], Operation.ADD, bench.prog, "half")
    many: list[pl.Tensor] = []
    reductions = [SingleReduceOp(x, [0], Operation.MAX), SingleReduceOp(x, [0, 1], Operation.ADD)]
    popops.reduceMany(bench.graph, reductions, many, bench.prog)
    assert half.element_type is pl.HALF
    assert bench.after(out, half, *many) == [[103, 200.75], [6, 1.5], [1, 5, 3], 7.5]


def test_an_update_of_logarithms_adds_what_is_there(bench: Bench) -> None:
    x, out = bench.tensor(ROWS), bench.tensor([1.0, 2.0])
    params = ReduceParams(Operation.LOG_ADD, update=True)
    popops.reduceWithOutput(bench.graph, x, out, [1], params, bench.prog)
    expected = np.logaddexp(np.logaddexp.reduce(np.array(ROWS), 1), [1.0, 2.0])
    np.testing.assert_allclose(bench.after(out)[0], expected, rtol=1e-6)


# -- casts, fills, scaled additions ----------------------------------------------------------------


def test_casts_and_fills(bench: Bench) -> None:
    x = bench.tensor([1.75, -1.75])
    n = popops.cast(bench.graph, x, pl.INT, bench.prog, "n")
    h = bench.tensor([0, 0], pl.HALF)
    popops.castWithOutput(bench.graph, x, h, bench.prog)
    f, z, i = (bench.tensor([9, 9, 9], pl.INT, name) for name in "fzi")
    popops.fill(bench.graph, f, bench.prog, 3)
    popops.zero(bench.graph, z, bench.prog)
    popops.iota(bench.graph, i, 5, bench.prog)
    assert bench.after(n, h, f, z, i) == [
        [1, -1],
        [1.75, -1.75],
        [3, 3, 3],
        [0, 0, 0],
        [5, 6, 7],
    ]


def test_scaled_additions(bench: Bench) -> None:
    a, b, c, d = (bench.tensor([1.0, 2.0], name=name) for name in "abcd")
    k, by = bench.tensor([0.5]), bench.tensor([10, 20], pl.HALF)
    popops.scaledAddTo(bench.graph, a, by, 2.0, bench.prog)
    popops.scaledAddTo(bench.graph, b, by, k, bench.prog, "name", {"optimizeForSpeed": "true"})
    popops.scaledSubtractFrom(bench.graph, c, 3.0, by, 0.1, bench.prog)
    popops.scaledSubtractFrom(bench.graph, d, by, 1.0, bench.prog)
    assert bench.after(a, b, c, d) == [[21, 42], [6, 12], [2, 4], [-9, -18]]


def test_scaled_additions_of_half_are_rounded_once(bench: Bench) -> None:
    a, c = (bench.tensor([1.0, 2.0], pl.HALF, name=name) for name in "ac")
    b, k = bench.tensor([30000.0, 60000.0], pl.HALF), bench.tensor([1e-8])
    big, tiny = bench.tensor([1e5, 1e5], pl.FLOAT), bench.tensor([2.0**-15 / 3])
    popops.scaledAddTo(bench.graph, a, b, bench.tensor([3e-5]), bench.prog)
    popops.scaledSubtractFrom(bench.graph, c, big, tiny, bench.prog)
    popops.scaledAddTo(bench.graph, b, b, k, bench.prog)
    before, by = np.array([1, 2], np.float32), np.array([30000, 60000], np.float32)
    sums = (before + by * np.float32(3e-5)).astype(np.float16)
    less = (before - np.float32(1e5) * np.float32(2.0**-15 / 3)).astype(np.float16)
    assert bench.after(a, c, b) == [sums.tolist(), less.tolist(), [30000, 60000]]


def test_a_float_scales_half(bench: Bench) -> None:
    # 1 + 2^-21 is 1 but for 4.8e-7, 1 + 2^-19 but for 1.9e-6; 1e5 is infinite in HALF.
    values = np.array([2047 * 2.0**-24 * 3, 1.5, -0.25, 2**-13 / 3], np.float16)
    h = bench.tensor(values, pl.HALF, "h")
    scales = [np.float32(k) for k in (1 + 2**-21, 1 + 2**-19, 1e5, 0, 0.1, math.nan)]
    tensors = [bench.tensor(np.reshape(k, (1, 1))) for k in scales]
    found = [popops.mul(bench.graph, h, f, bench.prog) for f in tensors]
    turned = popops.map(bench.graph, pe._1 * pe._2, [tensors[4], h], bench.prog)
    own, other = (bench.tensor(values, pl.HALF) for _ in range(2))
    popops.mulInPlace(bench.graph, own, tensors[4], bench.prog)
    popops.mapInPlace(bench.graph, pe.Mul(pe._1, pe._2), [other, tensors[4]], bench.prog)
    exact = popops.mul(
        bench.graph,
        bench.tensor([1 + 2**-10], pl.HALF),
        bench.tensor([1 + 1.5 * 2**-11]),
        bench.prog,
        "rounded",
        {"scalarMultiplyFloatToHalfTolerance": "0.001"},
    )
    assert {(each.shape, each.element_type) for each in (*found, turned)} == {((4,), pl.HALF)}
    kept = [np.float32(1), *scales[1:]]
    with np.errstate(over="ignore"):
        products = [(values.astype(np.float32) * k).astype(np.float16) for k in kept]
    *read, last = bench.after(*found, turned, own, other, exact)
    np.testing.assert_array_equal(read, [*products, *[products[4]] * 3])
    assert last == [float(np.float16(1 + 2**-10) * np.float16(1 + 2**-10))]


@pytest.mark.parametrize(
    "call",
    [
        lambda b, h, f: popops.mulInPlace(b.graph, f, h, b.prog),
        lambda b, h, f: popops.mulWithOutput(b.graph, h, f, h, b.prog),
        lambda b, h, f: popops.map(b.graph, pe._2 * pe._1, [h, f], b.prog),
        lambda b, h, f: popops.map(b.graph, pe._1 * pe._2, [h, f, f], b.prog),
        lambda b, h, f: popops.add(b.graph, h, f, b.prog),
        lambda b, h, f: popops.mul(b.graph, h, b.tensor([1.0, 2.0]), b.prog),
    ],
)
def test_other_mixtures_of_half_and_float_are_refused(bench: Bench, call: Any) -> None:
    with pytest.raises(pl.ElementTypeError, match="HALF|FLOAT"):
        call(bench, bench.tensor([1.0, 2.0], pl.HALF, "h"), bench.tensor([2.0], name="f"))


@pytest.mark.parametrize("op", [pe.Const(7) / pe.Const(2), pe.Sqrt(pe.Const(4))])
def test_constants_alone_have_no_type(bench: Bench, op: pe.Any) -> None:
    with pytest.raises(pl.ElementTypeError, match="alone has no element type"):
        popops.map(bench.graph, op, [bench.tensor([1.0])], bench.prog)


# -- poputil ---------------------------------------------------------------------------------------


def test_mappings_and_broadcasts(bench: Bench) -> None:
    t = bench.graph.add_variable(pl.HALF, (256,), "t")
    poputil.mapTensorLinearly(bench.graph, t)
    assert bench.graph.tile_mapping(t).elements_per_tile.tolist() == [64] * 4
    poputil.mapTensorLinearly(bench.graph, t, 1, 128)
    assert bench.graph.tile_mapping(t).elements_per_tile.tolist() == [128, 128, 0, 0]
    x = bench.tensor(np.ones((3, 4)))
    bias = poputil.createBroadcastOperand(bench.graph, x, pl.FLOAT, 1, name="bias")
    assert (bias.shape, bias.name) == ((4,), "bias")
    both = poputil.broadcastToMatch(x, bias)
    assert isinstance(both, tuple)
    assert [each.shape for each in both] == [(3, 4), (3, 4)]
    assert poputil.canBroadcastToMatch(x, bias)
    assert not poputil.canBroadcastToMatch(x, t)
    copy = poputil.duplicate(bench.graph, x, bench.prog, "copy")
    assert bench.graph.tile_mapping(copy) == bench.graph.tile_mapping(x)
    assert bench.after(copy) == [[[1] * 4] * 3]


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda b, x: popops.add(b.graph, x, b.prog),  # type: ignore[call-arg]
            pl.ElementTypeError,
            "popops.add: invalid call with 3 arguments",
        ),
        (
            lambda b, x: popops.add(b.graph, x, x, b.prog, "", {"fast": "true"}),
            pl.InvalidOption,
            "no option 'fast'",
        ),
        (
            lambda b, x: popops.mul(
                b.graph, x, x, b.prog, "", {"scalarMultiplyFloatToHalfTolerance": "small"}
            ),
            pl.InvalidOption,
            "is 'small'",
        ),
        (
            lambda b, x: popops.mul(
                b.graph, x, x, b.prog, "", {"scalarMultiplyFloatToHalfTolerance": "nan"}
            ),
            pl.InvalidOption,
            "is 'nan'",
        ),
        (
            lambda b, x: popops.map(b.graph, pe._1 + pe._3, [x], b.prog),
            pl.ElementTypeError,
            "expected at least 3 tensors, for _3; found 1",
        ),
        (
            lambda b, x: pe.Add(pe._1, untyped("2")),
            pl.ElementTypeError,
            "'2' is not an expression",
        ),
        (lambda b, x: bool(pe._1 == pe._2), pl.ElementTypeError, "no truth value"),
        (
            lambda b, x: popops.map(b.graph, x + 1, [x], b.prog),
            pl.ElementTypeError,
            "is not an expression of popops.expr",
        ),
        (
            lambda b, x: ReduceParams(Operation.MAX, update=True),
            pl.ElementTypeError,
            "MAX takes neither",
        ),
        (
            lambda b, x: popops.reduce(
                b.graph, x, [0], ReduceParams(Operation.ADD, update=True), b.prog
            ),
            pl.ElementTypeError,
            "update=True needs an output",
        ),
        (
            lambda b, x: popops.reduceMany(
                b.graph, [SingleReduceOp(x, [0], Operation.ADD)] * 2, [x], b.prog
            ),
            pl.TensorCreationError,
            "expected an output for each of 2 reductions; found 1",
        ),
        (
            lambda b, x: poputil.createBroadcastOperand(b.graph, x, pl.FLOAT, 3),
            pl.TensorIndexError,
            "there is no dimension 3 in 'x'",
        ),
        (
            lambda b, x: popops.castWithOutput(b.graph, x, untyped(None), b.prog),
            pl.ElementTypeError,
            "castWithOutput: out is None",
        ),
        (
            lambda b, x: popops.multiSlice(b.graph, x, x, untyped(0), [1], b.prog),
            pl.InvalidOption,
            "multiSlice: dims is 0",
        ),
        (
            lambda b, x: popops.reduce(b.graph, x, untyped([None]), Operation.ADD, b.prog),
            pl.InvalidOption,
            r"reduce: dims is \[None\]",
        ),
        (
            lambda b, x: popops.reduce(b.graph, x, [0], untyped("ADDING"), b.prog),
            pl.ElementTypeError,
            "'ADDING' is not in Operation",
        ),
        (
            lambda b, x: popops.topK(b.graph, b.prog, x, untyped(3)),
            pl.InvalidOption,
            "params is 3",
        ),
        (
            lambda b, x: poputil.broadcastToMatch(x, [3]),
            pl.TensorCreationError,
            r"shapes \(2,\) and \(3,\)",
        ),
    ],
)
def test_refused(
    bench: Bench, call: Callable[[Bench, pl.Tensor], object], error: type, message: str
) -> None:
    x = bench.tensor([1.0, 2.0], name="x")
    with pytest.raises(error, match=message):
        call(bench, x)


def test_the_documentation_lists_what_there_is() -> None:
    text = (ROOT / "docs" / "poplar-names.md").read_text()
    section = text.partition("## PopLibs' names")[2].partition("\n## ")[0]
    listed = set(re.findall(r"`(\w+)`", section))
    public = {
        name.removesuffix("InPlace").removesuffix("WithOutput")
        for module in (popnn, popops, poplin, poprand, poputil)
        for name in module.__all__
        if callable(getattr(module, name))
    }
    assert public <= listed, sorted(public - listed)
    assert listed <= public


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (popops.abs, form_types.OneOperand),
        (popops.absInPlace, form_types.OneOperand),
        (popops.absWithOutput, form_types.OneOperandWithOutput),
        (popops.add, form_types.TwoOperands),
        (popops.addInPlace, form_types.TwoOperands),
        (popops.addWithOutput, form_types.TwoOperandsWithOutput),
        (popops.clamp, form_types.ThreeOperands),
        (popops.clampInPlace, form_types.ThreeOperands),
        (popops.clampWithOutput, form_types.ThreeOperandsWithOutput),
    ],
)
def test_type_checkers_see_the_parameters_of_each_form(
    function: Callable[..., object], kind: type[Callable[..., object]]
) -> None:
    _, *stated = inspect.signature(kind.__call__).parameters.values()
    plain = [each.replace(annotation=inspect.Parameter.empty) for each in stated]
    assert plain == [*inspect.signature(function).parameters.values()]


def test_arguments_may_be_named_and_signatures_are_seen() -> None:
    names = ["graph", "a", "b", "prog", "debug_context", "options"]
    assert list(inspect.signature(popops.mul).parameters) == names
    assert "out" in inspect.signature(popops.absWithOutput).parameters
    graph, prog = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    x = graph.add_variable(pl.INT, (3,), "x", mapping=0, initial_value=[1, 2, 3])
    made = popops.mul(graph, x, prog=prog, b=x, options={})
    engine = pl.Engine(graph, prog)
    engine.run()
    assert engine.read(made).tolist() == [1, 4, 9]
    for wrong, message in (
        ({"b": x, "nonsense": 1, "prog": prog}, "unexpected by name: nonsense"),
        ({"a": x, "b": x, "prog": prog}, "unexpected by name: a"),
        ({"b": x}, "missing: prog"),
    ):
        with pytest.raises(pl.ElementTypeError) as caught:
            popops.mul(graph, x, **wrong)
        assert message in caught.value.found
