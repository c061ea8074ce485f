"""Arguments of PopLibs' functions: every declaration, by names, and exchanged for others."""

from __future__ import annotations

import ast
import inspect
import io
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers import poplar_world, wrong_arguments
from helpers.depth import interpreted, thinned
from helpers.poplar_signatures import ROWS
from helpers.wrong_arguments import fault_of, faults_of
from poplite.compat import poplin, popnn, popops, poprand, poputil
from poplite.compat.popops import Operation, ReduceParams, expr as pe
from poplite.poplar.binder import Declaration
from poplite.poplar.declarations import LIBRARIES, declared_rows

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


# -- poplibs overloads -----------------------------------------------------------------------------
#
# Functions of PopLibs with several declarations: each form, in C++'s order and by names.


ADD = popops.Operation.ADD


class World:
    """A graph, a program and two matrices with values."""

    def __init__(self) -> None:
        self.graph, self.prog = pl.Graph(pl.Target(tiles=3)), pl.Sequence()
        rng = np.random.default_rng(3)
        self.x, self.y = rng.integers(-4, 5, (2, 4, 4)).astype(np.float32)
        self.a, self.b = (
            self.graph.add_variable(pl.FLOAT, (4, 4), name, mapping="linear", initial_value=values)
            for name, values in (("a", self.x), ("b", self.y))
        )

    def set(self) -> pl.ComputeSet:
        """Return a new compute set."""
        return self.graph.add_compute_set("cs")

    def read(self, made: pl.Tensor) -> Any:
        """Run, and return the values of a tensor."""
        engine = pl.Engine(self.graph, self.prog)
        engine.run()
        return engine.read(made)


@pytest.mark.parametrize(
    ("positional", "named"),
    [
        (lambda w: ([1], ADD, w.prog, "n", {}), {}),
        (lambda w: (pl.FLOAT, [1], ADD, w.prog), {}),
        (lambda w: ("float32", (1,), "ADD", w.prog, "n"), {}),
        (lambda w: ([1], ADD), {"output_type": pl.FLOAT, "debug_context": "n"}),
    ],
)
def test_reductions_take_the_type_first_or_by_its_name(positional: Any, named: Any) -> None:
    world = World()
    given = positional(world)
    program = {} if world.prog in given else {"prog": world.prog}
    made = popops.reduce(world.graph, world.a, *given, **program, **named)
    assert world.read(made).tolist() == world.x.sum(1).tolist()


@pytest.mark.parametrize("factor", [2.0, "tensor"])
def test_scaled_additions_take_the_factor_of_what_is_changed_first(factor: Any) -> None:
    for by_name in (False, True):
        world = World()
        scale = factor
        if factor == "tensor":
            scale = world.graph.add_constant(pl.FLOAT, (), 2, mapping=0)
        if by_name:
            popops.scaledSubtractFrom(
                world.graph, world.a, world.b, 3.0, prog=world.prog, scale=scale
            )
        else:
            popops.scaledSubtractFrom(world.graph, world.a, scale, world.b, 3.0, world.prog)
        assert world.read(world.a).tolist() == (2 * world.x - 3 * world.y).tolist()


def test_products_take_the_type_before_the_name_or_by_its_name() -> None:
    for given, named in (((pl.FLOAT, "n"), {}), (("n",), {"output_type": pl.FLOAT}), ((), {})):
        world = World()
        made = poplin.matMul(world.graph, world.a, world.b, world.prog, *given, **named)
        assert world.read(made).tolist() == (world.x @ world.y).tolist()
    graph = World().graph
    for shapes in ((pl.HALF, (4, 3), (3, 2), "n"), (pl.HALF, pl.FLOAT, (4, 3), (3, 2))):
        assert poplin.createMatMulOutput(graph, *shapes).shape == (4, 2)


def test_scaled_additions_take_expressions() -> None:
    world = World()
    popops.scaledAddTo(world.graph, world.a, world.b + 1, 2.0, world.prog)
    assert world.read(world.a).tolist() == (world.x + 2 * (world.y + 1)).tolist()


def test_what_begins_a_declaration_takes_the_rest_by_name() -> None:
    world = World()
    made = popops.reduce(world.graph, world.a, pl.FLOAT, [0], ADD, prog=world.prog)
    assert world.read(made).tolist() == world.x.sum(0).tolist()


def test_an_error_shows_what_was_written() -> None:
    world = World()
    for name, *given in (("fill", 1), ("scaledSubtractFrom", 3)):
        with pytest.raises(pl.ElementTypeError) as caught:
            vars(popops)[name](world.graph, world.a, *given)
        assert caught.value.found.startswith("arguments: <Graph ")
        assert caught.value.found.endswith(f">, {given[0]}")


MISFITS: dict[str, tuple[Any, str, str]] = {
    "reduce": (
        lambda w: popops.reduce(w.graph, w.a, [1], ADD),
        "popops.reduce: missing a required argument: 'prog'",
        "Tensor reduce(Graph &graph, const Tensor &in, const std::vector<std::size_t> &dims,",
    ),
    "matMul": (
        lambda w: poplin.matMul(w.graph, w.a, w.b, w.prog, nonsense=1),
        "poplin.matMul: got an unexpected keyword argument 'nonsense'",
        "by name as matMul(graph, A, B, prog, debug_context='', options=None, cache=None",
    ),
    "too many": (
        lambda w: vars(popops)["zero"](w.graph, w.a, w.prog, "n", 3, 4, 5),
        "popops.zero: 3 arguments too many",
        "void zero(Graph &graph, const Tensor &t, program::Sequence &prog,",
    ),
    "one declaration": (
        lambda w: vars(popops)["sort"](w.graph, w.a, 0),
        "popops.sort: missing a required argument: 'prog'",
        "",
    ),
    "no tensor": (
        lambda w: popops.scaledAddTo(w.graph, w.a, 2, 3, w.prog),
        "popops.scaledAddTo: b is 2",
        "a tensor",
    ),
    "no truth value": (
        lambda w: poputil.mapTensorLinearlyWithOffset(w.graph, w.a, 1, "yes"),
        "poputil.mapTensorLinearlyWithOffset: ascendingOrder is 'yes', not True or False",
        "pass True or False",
    ),
    "no element type": (
        lambda w: popops.reduce(w.graph, w.a, 3, [0], ADD, w.prog),
        "3 is not an element type",
        "one of FLOAT",
    ),
    "a factor missing": (
        lambda w: vars(popops)["scaledAddTo"](w.graph, w.a, 2.0, w.b, 3.0),
        "popops.scaledAddTo: missing a required argument: 'prog'",
        "void scaledAddTo(Graph &graph, Tensor A, float scaleA, Tensor B, float scaleB",
    ),
    "an offset twice": (
        lambda w: poputil.mapTensorLinearlyWithOffset(w.graph, w.a, 2, 1, offset=1),
        "multiple values for argument 'offset'",
        "unsigned offset = 0, bool ascendingOrder",
    ),
    "misspelt": (
        lambda w: vars(popops)["fill"](w.graph, w.a, w.prog, 3, debug_contxt="n"),
        "popops.fill: got an unexpected keyword argument 'debug_contxt'",
        "by name as fill(graph, t, prog, value, debug_context='', *, cs=None",
    ),
    "misspelt for zero": (
        lambda w: vars(popops)["zero"](w.graph, w.a, prog=w.prog, nme="n"),
        "popops.zero: got an unexpected keyword argument 'nme'",
        "by name as zero(graph, t, prog,",
    ),
    "a tile of a program": (
        lambda w: vars(popops)["fill"](w.graph, w.a, w.prog, 3, tile=1),
        "popops.fill: tile cannot be given without a compute set",
        "popops.fill(graph, t, tile, cs, ...)",
    ),
    "a program beside a compute set": (
        lambda w: vars(popops)["zero"](w.graph, w.a, w.prog, cs=w.set(), tile=1),
        "popops.zero: prog cannot be given together with a compute set",
        "popops.zero(graph, t, prog, ...)",
    ),
    "a tile and a mapping": (
        lambda w: vars(popops)["fill"](
            w.graph, w.a, None, 3, cs=w.set(), tile=1, mapping=[[(0, 4)]]
        ),
        "popops.fill: tile and mapping",
        "pass mapping alone, or tile and regions",
    ),
    "twice": (
        lambda w: popops.reduce(w.graph, w.a, pl.INT, [1], ADD, w.prog, output_type=pl.FLOAT),
        "popops.reduce: output_type is passed by position, INT, and by name",
        "pass it once",
    ),
}


@pytest.mark.parametrize("case", MISFITS)
def test_what_fits_no_declaration_is_refused_with_it(case: str) -> None:
    call, message, fix = MISFITS[case]
    world = World()
    with pytest.raises(pl.PopliteError) as caught:
        call(world)
    assert message in str(caught.value)
    assert fix in caught.value.fix
    assert caught.value.at is not None
    assert caught.value.at.file == __file__
    assert world.prog.is_empty


def test_every_declaration_of_a_library_names_its_function_here() -> None:
    modules = {"popops": popops, "poplin": poplin, "popnn": popnn, "poputil": poputil}
    assert set(modules) == set(LIBRARIES)
    for owner, module in modules.items():
        for row in declared_rows(owner):
            assert Declaration(row).method == row.member
            assert row.member in dir(module)


# -- wrong arguments -------------------------------------------------------------------------------
#
# Calls in Poplar's spelling with wrong arguments end in an error with four parts, or in a result.
#
# Each call is one of the table of signatures with one argument exchanged, added or left out.


NOT_OURS = frozenset(
    {"np", "io", "int", "list", "sorted", "print", "type", "str", "float", "len", "dict", "data"}
)
"""What rows call beside poplite."""


def mutants(call: str) -> Iterator[str]:
    """Yield a call with one argument more, one less and an unknown keyword."""
    tree = ast.parse(call, mode="eval")
    for node in [each for each in ast.walk(tree) if isinstance(each, ast.Call)]:
        if ast.unparse(node.func).split(".")[0] in NOT_OURS:
            continue
        args = node.args
        node.args = [*args, ast.Constant(3)]
        yield ast.unparse(tree)
        node.args = args[:-1]
        yield ast.unparse(tree)
        node.args = args
        node.keywords.append(ast.keyword("nonsense", ast.Constant(1)))
        yield ast.unparse(tree)
        node.keywords.pop()


@pytest.mark.parametrize(
    ("called", "function"),
    [
        ("poplin.matMulGrouped", poplin.matMulGrouped),
        ("poplin.matMulGroupedAcc", poplin.matMulGroupedAcc),
        ("poplin.createMatMulOutput", poplin.createMatMulOutput),
        ("popops.multiUpdateMax", popops.multiUpdateMax),
        ("popops.scaledSubtractFrom", popops.scaledSubtractFrom),
        ("popops.embedding.plan", popops.embedding.plan),
        ("popnn.reluInPlace", popnn.reluInPlace),
        ("popnn.minAndArgMin", popnn.minAndArgMin),
        ("popnn.layerNormWhiten", popnn.ln.layerNormWhiten),
        ("popnn.lstm.createWeights", popnn.lstm.createWeights),
    ],
)
def test_functions_that_are_made_alike_have_their_own_names_and_errors(
    called: str, function: Any
) -> None:
    """Each is made of a function with one argument more, which users neither see nor give."""
    name = called.rpartition(".")[2]
    assert function.__name__ == name
    assert next(iter(inspect.signature(function).parameters)) == "graph"
    assert "{" not in function.__doc__
    with pytest.raises(pl.ElementTypeError, match=f"^{called}: missing a required argument"):
        function()


LENIENT = ("<string>", wrong_arguments.__file__, poplar_world.__file__)
"""Files in whose lines Python may refuse members of what a row was given instead."""

PARTS = 8
"""Of the calls of a class, which are tried one part at a time."""

OWNERS = sorted({row.owner for row in ROWS})
CASES = [(owner, part) for part in range(PARTS) for owner in OWNERS]


@pytest.mark.filterwarnings("ignore::poplite.PopliteWarning")
@pytest.mark.parametrize(("owner", "part"), thinned(CASES, len(OWNERS)))
def test_no_wrong_argument_ends_in_a_bare_error(
    owner: str, part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [each for row in ROWS if row.owner == owner for each in (row.camel, row.ours) if each]
    names = poplar_world.world(owner)
    with redirect_stdout(io.StringIO()):
        faults, count = faults_of(rows, names, NOT_OURS, part, PARTS, *LENIENT)
        for call in (each for row in rows[part::PARTS] for each in mutants(row)):
            faults.append(fault_of(call, call, names, *LENIENT))
    assert count > len(rows)
    assert not list(filter(None, faults))


# -- programs that are run twice -------------------------------------------------------------------


X = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
Y = np.array([[2, 0, 1], [1, 1, 2]], np.float32)

Call = Callable[[pl.Graph, pl.Tensor, pl.Tensor, pl.Tensor, pl.Sequence], object]


def conv(bias: bool) -> Call:
    """Return an update of weights [1, 2, 1, 2], or of 2 biases, by a gradient of all ones."""
    params = poplin.ConvParams(pl.FLOAT, 1, [3], [2], 1, 2, 1)

    def call(
        graph: pl.Graph, a: pl.Tensor, b: pl.Tensor, half: pl.Tensor, prog: pl.Sequence
    ) -> None:
        ones = graph.add_constant(pl.FLOAT, (1, 2, 2), 1, mapping=0)
        if bias:
            poplin.convolutionBiasUpdate(graph, ones, a[:, 0], half, {}, prog)
        else:
            weights = a[:, :2].reshape((1, 2, 1, 2))
            poplin.convolutionWeightUpdate(
                graph, ones, weights, b[:1].expand([1]), params, half, prog
            )

    return call


ROW_NUMBERS = np.array([[1], [0], [1]], np.uint32)
DOWN = np.array([[0.5, 0.5], [0.5, 0.5]], np.float32)

RUN_TWICE: dict[str, tuple[Call, np.ndarray]] = {
    "addInPlace": (lambda g, a, b, h, p: popops.addInPlace(g, a, b, p), X + 2 * Y),
    "mapInPlace": (
        lambda g, a, b, h, p: popops.mapInPlace(g, pe._1 * pe.Const(2) + pe._2, [a, b], p),
        4 * X + 3 * Y,
    ),
    "mapWithOutput": (lambda g, a, b, h, p: popops.mapWithOutput(g, pe._1, [b], a, p), Y),
    "scaledAddTo": (lambda g, a, b, h, p: popops.scaledAddTo(g, a, b, h, p), X + Y),
    "scaledAddTo of both": (
        lambda g, a, b, h, p: popops.scaledAddTo(g, a, 0.5, b, 3.0, p),
        X / 4 + 4.5 * Y,
    ),
    "scaledSubtractFrom": (
        lambda g, a, b, h, p: popops.scaledSubtractFrom(g, a, b, 2.0, p),
        X - 4 * Y,
    ),
    "reduceWithOutput": (
        lambda g, a, b, h, p: popops.reduceWithOutput(g, b, a[0], [0], Operation.ADD, p),
        np.stack([Y.sum(0), X[1]]),
    ),
    "reduceWithOutput with update": (
        lambda g, a, b, h, p: popops.reduceWithOutput(
            g, b, a[0], [0], ReduceParams(Operation.ADD, True), p
        ),
        np.stack([X[0] + 2 * Y.sum(0), X[1]]),
    ),
    "multiUpdate": (
        lambda g, a, b, h, p: popops.multiUpdate(
            g,
            a,
            b.expand([1]),
            g.add_constant(pl.UNSIGNED_INT, (2, 1), [[1], [0]], mapping=0),
            [0],
            [1],
            p,
        ),
        Y[::-1],
    ),
    "multiUpdateAdd": (
        lambda g, a, b, h, p: popops.multiUpdateAdd(
            g,
            a,
            pl.concat([b, b[:1]]).expand([1]),
            g.add_constant(pl.UNSIGNED_INT, (3, 1), ROW_NUMBERS, mapping=0),
            h,
            [0],
            [1],
            p,
        ),
        X + np.stack([Y[1], 2 * Y[0]]),
    ),
    "updateScalarInRows": (
        lambda g, a, b, h, p: popops.updateScalarInRows(
            g, a, g.add_constant(pl.UNSIGNED_INT, (2,), [2, 0], mapping=0), p
        ),
        X - 2 * np.array([[0, 0, 1], [1, 0, 0]]),
    ),
    "encodeOneHot": (
        lambda g, a, b, h, p: popops.encodeOneHot(
            g, g.add_constant(pl.UNSIGNED_INT, (2,), [2, 0], mapping=0), a, p
        ),
        np.array([[0, 0, 1], [1, 0, 0]]),
    ),
    "matMulAcc": (
        lambda g, a, b, h, p: poplin.matMulAcc(
            g, a, h, g.add_constant(pl.FLOAT, (2, 2), DOWN, mapping=0), b, p
        ),
        X + DOWN @ Y,
    ),
    "addBias": (lambda g, a, b, h, p: poplin.addBias(g, a, b[0], p), X + 2 * Y[0]),
    "convolutionWeightUpdate": (
        conv(bias=False),
        np.c_[X[:, :2] + [Y[0, 0] + Y[0, 1], Y[0, 1] + Y[0, 2]], X[:, 2]],
    ),
    "convolutionBiasUpdate": (conv(bias=True), np.c_[X[:, 0] + 2, X[:, 1:]]),
    "batchNormParamUpdate": (
        lambda g, a, b, h, p: popnn.bn.batchNormParamUpdate(g, b[0], b[1], h, a[0], a[1], p),
        X + Y,
    ),
    "groupNormParamUpdate": (
        lambda g, a, b, h, p: popnn.gn.groupNormParamUpdate(g, b[0], b[1], -2.0, a[0], a[1], p),
        X - 4 * Y,
    ),
}


@pytest.mark.parametrize("name", RUN_TWICE)
def test_what_is_there_is_changed_each_time(name: str) -> None:
    call, expected = RUN_TWICE[name]
    graph, prog = pl.Graph(pl.Target(tiles=3)), pl.Sequence()
    a, b = (
        graph.add_variable(pl.FLOAT, X.shape, each, mapping="linear", initial_value=values)
        for each, values in (("a", X), ("b", Y))
    )
    half = graph.add_constant(pl.FLOAT, (), 0.5, mapping=1)
    call(graph, a, b, half, prog)
    engine = pl.Engine(graph, pl.Repeat(2, prog), **interpreted())
    engine.run()
    np.testing.assert_array_equal(engine.read(a), expected)


def test_q_is_multiplied() -> None:
    graph, prog = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    a, q = poplin.experimental.createQRFactorizationMatrices(graph, pl.FLOAT, 3, 2)
    poplin.experimental.QRFactorization(graph, a, q, prog)
    before = np.array([[1, 2, 0], [0, 1, 0], [3, 0, 1]], np.float32)
    engine = pl.Engine(graph, prog, **interpreted())
    engine.write(a, X.T)
    engine.write(q, before)
    engine.run()
    np.testing.assert_allclose(engine.read(q) @ engine.read(a), before @ X.T, rtol=1e-5, atol=1e-5)


def test_random_numbers_of_a_seed_repeat_and_those_without_go_on() -> None:
    graph, prog = pl.Graph(pl.Target(tiles=3)), pl.Sequence()
    seed = graph.add_constant(pl.UNSIGNED_INT, (2,), [1, 2], mapping=0)
    like = graph.add_variable(pl.FLOAT, (50,), "like", mapping="linear")
    same, other, free = (
        poprand.uniform(graph, which, modifier, like, pl.FLOAT, 0.0, 1.0, prog)
        for which, modifier in ((seed, 3), (seed, 4), (None, 0))
    )
    start = pl.Sequence()
    poprand.setSeed(graph, seed, 7, start)
    engine = pl.Engine(graph, [start, prog], **interpreted())
    drawn = []
    for programs in ((0, 1), (1,), (0, 1)):
        for number in programs:
            engine.run(number)
        drawn.append([engine.read(each) for each in (same, other, free)])
    first, second, again = drawn
    np.testing.assert_array_equal(first[0], second[0])
    assert (first[0] != first[1]).any()
    assert (first[2] != second[2]).any()
    np.testing.assert_array_equal(first[2], again[2])
    assert graph.tile_mapping(same) == graph.tile_mapping(free) == graph.tile_mapping(like)


def test_slices_have_a_least_number_of_elements_on_each_tile() -> None:
    graph = pl.Graph(pl.Target(tiles=16))

    def most_tiles(least: int) -> int:
        x = popops.createSliceableTensor(graph, pl.FLOAT, (5, 4, 12), [1], [1], least)
        assert x.shape == (5, 4, 12)
        return max(len(graph.tile_mapping(x[:, k]).tiles) for k in range(4))

    assert [most_tiles(least) for least in (1, 4, 7, 20, 60, 100)] == [15, 15, 6, 3, 1, 1]
    with pytest.raises(pl.PopliteError, match="min_grain_size is -1"):
        most_tiles(-1)
