"""Where what functions of PopLibs make lies: on the graph of a call, where PopLibs puts it."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable
from functools import partial
from itertools import product
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep, interpreted, thinned, values_only
from helpers.made import tiles_made
from poplite import ops
from poplite.compat import poplin, popnn, popops, poprand, poputil
from poplite.compat.popops import Operation, ReduceParams, TopKParams, expr as pe
from poplite.program.recording import ComputeSetList

TOP = pl.Graph(pl.Target(tiles=16))
OWN = {4, 5, 6, 7, 9}
GRAPH = TOP.create_virtual_graph(4, 12).create_virtual_graph([5, 1, 2, 3, 0])
PROG, END = pl.Sequence(), ("n", None, None)

LIBRARIES = {
    "poplin": poplin,
    "poplin.experimental": poplin.experimental,
    "popnn": popnn,
    "popnn.bn": popnn.bn,
    "popnn.gn": popnn.gn,
    "popnn.lstm": popnn.lstm,
    "popnn.gru": popnn.gru,
    "popops": popops,
    "popops.embedding": popops.embedding,
    "poprand": poprand,
    "poputil": poputil,
}
NOT_OF_POPLIBS = {"sequence_gradient", "state_like", "check_own", "of_variable", "steps_for"}
"""What modules import for themselves."""


def functions_of(library: Any) -> dict[str, Callable[..., Any]]:
    """Return the functions of a library that take a graph, by name."""
    found = {name: getattr(library, name) for name in dir(library) if name not in NOT_OF_POPLIBS}
    return {
        name: each
        for name, each in found.items()
        if (isinstance(each, FunctionType) or hasattr(each, "__wrapped__")) and name[0] != "_"
        if "graph" in inspect.signature(each).parameters
    }


def tensor(graph: pl.Graph, *shape: int, kind: Any = pl.FLOAT) -> pl.Tensor:
    """Return a new variable of a shape."""
    return graph.add_variable(kind, shape, "t", mapping="linear")


LSTM = popnn.lstm.LstmParams(pl.FLOAT, 2, 2, [3, 4])
GRU = popnn.gru.GruParams(pl.FLOAT, 2, 2, [3, 4])
CONV = poplin.ConvParams(pl.FLOAT, 2, [9], [2], 4, 3, 1)
POOL = popnn.PoolParams(popnn.PoolingType.MAX, [9], [2], [1], [0], [0], 4, 2, pl.FLOAT)
RELU, LOSS = popnn.NonLinearityType.RELU, popnn.LossType.CROSS_ENTROPY_LOSS
SHAPES, GROUPS = ((30, 40), (40, 30)), ((2, 30, 40), (2, 40, 30))


def calls(made: Any) -> dict[str, list[tuple[Any, ...]]]:
    """Return arguments of all functions but elementwise ones, by name; `made` makes tensors."""
    matrix, turned, square = made(30, 40), made(40, 30), made(30, 30)
    whole, groups, many = made(40, 40), made(2, 30, 40), made(2, 40, 30)
    row, column, one = made(40), made(30), made()
    labels, count = made(30, kind=pl.UNSIGNED_INT), made(kind=pl.UNSIGNED_INT)
    offset, flags = made(1, kind=pl.UNSIGNED_INT), made(30, 40, kind=pl.BOOL)
    seed = made(2, kind=pl.UNSIGNED_INT)
    acts, weights, out = made(2, 4, 9), made(1, 3, 4, 2), made(2, 3, 8)
    four, three = made(4), made(3)
    kept, kept_of_gru = popnn.lstm.Intermediates(), popnn.gru.Intermediates()
    steps, state, outputs = made(2, 2, 3), made(2, 4), made(2, 2, 4)
    states = popnn.lstm.LstmState(state, made(2, 4))
    gates = popnn.lstm.LstmWeights(made(4, 3, 4), made(4, 4, 4), made(4, 4))
    gates_of_gru = popnn.gru.GruWeights(*(each[:3] for each in gates))
    sums = popops.ReduceParams(Operation.ADD)
    lookups = labels.reshape((30, 1))
    updates = groups.reshape((60, 40))[:30].reshape((30, 1, 40))
    drawn = seed, 1, matrix
    norm = {
        "Params": (acts, "n"),
        "Whiten": (acts, four, four, PROG, *END[:2]),
        "alise": (acts, four, four, four, four, PROG, *END[:2]),
        "ParamGradients": (acts, acts, four, four, PROG, pl.FLOAT, *END[:2]),
        "Gradients": (acts, acts, four, four, four, PROG, pl.FLOAT, *END[:2]),
        "ParamUpdate": (four, made(4), 0.1, made(4), made(4), PROG, *END[:2]),
    }
    found: dict[str, list[tuple[Any, ...]]] = {
        "poplin.matMul": [(matrix, turned, PROG, pl.FLOAT, *END)],
        "poplin.matMulGrouped": [(groups, many, PROG, *END)],
        "poplin.matMulWithOutput": [(matrix, turned, square, PROG, *END)],
        "poplin.matMulGroupedWithOutput": [(groups, many, made(2, 30, 30), PROG, *END)],
        "poplin.matMulAcc": [(square, 1.0, matrix, turned, PROG, *END)],
        "poplin.matMulGroupedAcc": [(made(2, 30, 30), 1.0, groups, many, PROG, *END)],
        "poplin.createMatMulInputLHS": [(pl.FLOAT, *SHAPES, *END)],
        "poplin.createMatMulInputRHS": [(pl.FLOAT, *SHAPES, *END)],
        "poplin.createMatMulOutput": [(pl.FLOAT, pl.FLOAT, *SHAPES, *END)],
        "poplin.createMatMulGroupedInputLHS": [(pl.FLOAT, pl.FLOAT, *GROUPS, *END)],
        "poplin.createMatMulGroupedInputRHS": [(pl.FLOAT, pl.FLOAT, *GROUPS, *END)],
        "poplin.createMatMulGroupedOutput": [(pl.FLOAT, pl.FLOAT, *GROUPS, *END)],
        "poplin.matMulReportPlan": [(pl.FLOAT, pl.FLOAT, *SHAPES, *END[1:])],
        "poplin.convolution": [(acts, weights, CONV, False, PROG, *END)],
        "poplin.convolutionWithOutput": [(acts, weights, out, CONV, False, PROG, *END)],
        "poplin.createInput": [(CONV, *END)],
        "poplin.createWeights": [(CONV, *END)],
        "poplin.createConvOutput": [(CONV, *END)],
        "poplin.calculateWeightDeltas": [(out, acts, CONV, PROG, *END)],
        "poplin.convolutionWeightUpdate": [(out, weights, acts, CONV, one, PROG, *END)],
        "poplin.createBiases": [(out, *END[:2])],
        "poplin.addBias": [(out, three, PROG, *END[:2])],
        "poplin.convolutionBiasUpdate": [(out, three, 0.5, None, PROG, "n")],
        "poplin.weightsTransposeChansFlipXY": [(weights, made(1, 4, 3, 2), PROG, "n")],
        "poplin.cholesky": [(square, True, PROG, *END)],
        "poplin.choleskyInPlace": [(square, True, 8, PROG, *END)],
        "poplin.createCholeskyInput": [(pl.FLOAT, (30, 30), True, *END)],
        "poplin.triangularMask": [(square, True, True, PROG, "n")],
        "poplin.triangularSolve": [(square, square, True, True, False, PROG, *END)],
        "poplin.createTriangularSolveInputLHS": [(pl.FLOAT, pl.FLOAT, *SHAPES, True, *END)],
        "poplin.createTriangularSolveInputRHS": [(pl.FLOAT, pl.FLOAT, *SHAPES, True, *END)],
        "poplin.linspace": [(pl.FLOAT, 0.0, 1.0, 50, "n")],
        "poplin.meshgrid2d": [(row, column)],
        "poplin.experimental.LUFactorization": [(square, PROG, "n")],
        "poplin.experimental.QRFactorization": [(turned, whole, PROG, "n", None)],
        "poplin.experimental.createQRFactorizationMatrices": [(pl.FLOAT, 50, 30, "n")],
        "popnn.nonLinearity": [(kind, matrix, PROG, "n") for kind in popnn.NonLinearityType],
        "popnn.nonLinearityInPlace": [(RELU, matrix, PROG, "n")],
        "popnn.nonLinearityInputGradient": [(RELU, matrix, matrix, PROG, "n")],
        "popnn.calcLoss": [(matrix, labels, column, groups[0], one, one, count, LOSS, "n")],
        "popnn.calcAccuracy": [(matrix, labels, count, "n")],
        "popnn.topK": [(matrix, 2, True, PROG, "n")],
        "popnn.pool": [(POOL, acts, PROG, *END[:2])],
        "popnn.poolInputGradient": [
            (POOL, acts, made(2, 4, 8), made(2, 4, 8), False, PROG, *END[:2])
        ],
        "popnn.lstm.createInput": [(LSTM, *END)],
        "popnn.lstm.createInitialState": [(LSTM, *END)],
        "popnn.lstm.createWeights": [(LSTM, *END)],
        "popnn.lstm.lstmFwd": [(LSTM, states, steps, gates, kept, PROG, *END)],
        "popnn.lstm.lstmBwdWithWU": [
            (LSTM, PROG, states, kept, gates, steps, outputs, outputs, state, *END)
        ],
        "popnn.gru.createInput": [(GRU, *END)],
        "popnn.gru.createInitialState": [(GRU, *END)],
        "popnn.gru.createWeights": [(GRU, *END)],
        "popnn.gru.gruFwd": [(GRU, state, steps, gates_of_gru, kept_of_gru, PROG, *END)],
        "popnn.gru.gruBwdWithWU": [
            (GRU, PROG, state, kept_of_gru, gates_of_gru, steps, outputs, outputs, *END)
        ],
        "popops.map": [(pe._1 + pe._2, [matrix, row], PROG)],
        "popops.mapInPlace": [(pe._1 + pe._2, [matrix, row], PROG)],
        "popops.mapWithOutput": [(pe._1 + pe._2, [matrix, row], groups[0], PROG)],
        "popops.reduce": [(matrix, [1], sums, PROG), (matrix, pl.FLOAT, [0, 1], sums, PROG)],
        "popops.reduceWithOutput": [(matrix, row, [0], sums, PROG)],
        "popops.reduceMany": [([popops.SingleReduceOp(matrix, [0], sums)], [], PROG)],
        "popops.pad": [(matrix, [1, 0], [0, 2], 3.0)],
        "popops.hasNaN": [(matrix, PROG)],
        "popops.hasNaNOrInf": [(matrix, PROG)],
        "popops.histogram": [(matrix, row, False, PROG)],
        "popops.sort": [(matrix, 1, PROG)],
        "popops.sortInPlace": [(matrix, 1, PROG)],
        "popops.sortKeyValue": [(matrix, groups[0], 1, PROG)],
        "popops.sortKeyValueInPlace": [(matrix, groups[0], 1, PROG)],
        "popops.createSliceableTensor": [(pl.FLOAT, (30, 40), [0], [1])],
        "popops.dynamicSlice": [(matrix, offset, [1], [3], PROG)],
        "popops.dynamicSliceWithOutput": [(made(30, 3), matrix, offset, [1], [3], PROG)],
        "popops.dynamicUpdate": [(matrix, groups[0][:, :3], offset, [1], [3], PROG)],
        "popops.multiSlice": [(whole, lookups, [0], [1], PROG)],
        "popops.multiUpdate": [(whole, updates, lookups, [0], [1], PROG)],
        "popops.multiUpdateAdd": [(whole, updates, lookups, one, [0], [1], PROG)],
        "popops.multiUpdateMax": [(whole, updates, lookups, [0], [1], PROG)],
        "popops.multiUpdateMul": [(whole, updates, lookups, [0], [1], PROG)],
        "popops.encodeOneHot": [(labels, matrix, PROG)],
        "popops.selectScalarFromRows": [(matrix, labels, PROG)],
        "popops.updateScalarInRows": [(matrix, labels, PROG)],
        **{f"{library}.addCodelets": [()] for library in LIBRARIES},
        "popops.cast": [(matrix, pl.HALF, PROG)],
        "popops.castWithOutput": [(matrix, made(30, 40, kind=pl.INT), PROG)],
        "popops.fill": [(matrix, PROG, 2.0)],
        "popops.zero": [(matrix, PROG)],
        "popops.iota": [(labels, 5, PROG)],
        "popops.allTrue": [(flags, PROG)],
        "popops.scaledAddTo": [(matrix, groups[0], 2.0, PROG), (row, one, row, one, PROG)],
        "popops.scaledSubtractFrom": [(matrix, groups[0], one, PROG)],
        "popops.embedding.plan": [(pl.FLOAT, 100, 20, 7)],
        "poprand.setSeed": [(seed, 1, PROG)],
        "poprand.uniform": [
            (*drawn, pl.FLOAT, 0.0, 1.0, PROG),
            (None, *drawn[1:], pl.INT, 0, 9, PROG),
        ],
        "poprand.bernoulli": [(*drawn, pl.FLOAT, 0.5, PROG)],
        "poprand.normal": [(*drawn, pl.FLOAT, 0.0, 1.0, PROG)],
        "poprand.truncatedNormal": [(*drawn, pl.FLOAT, 0.0, 1.0, 2.0, PROG)],
        "poprand.dropout": [(seed, 1, matrix, matrix, 0.5, 2.0, PROG)],
        "poputil.createBroadcastOperand": [
            (matrix, pl.FLOAT, d, dither) for d in (0, 1) for dither in (False, True)
        ],
        "poputil.duplicate": [(matrix, PROG)],
        "poputil.mapTensorLinearly": [(groups,), (groups, 1, 1)],
        "poputil.mapTensorLinearlyWithOffset": [(groups, 3), (groups, 1, 1, 3, False)],
    }
    for name in ("topK", "topKWithPermutation"):
        found[f"popops.{name}"] = [(PROG, matrix, TopKParams(3, True, popops.SortOrder.NONE))]
    found["popops.topKKeyValue"] = [
        (PROG, matrix, groups[0], TopKParams(3, True, popops.SortOrder.NONE))
    ]
    for name in ("argMax", "argMin", "maxAndArgMax", "minAndArgMin", "logSoftmax"):
        found[f"popnn.{name}"] = [(matrix, PROG, "n")]
    for name in functions_of(popnn):
        found.setdefault(f"popnn.{name}", [(matrix, PROG, "n")])
    for library, title, parts in (("bn", "batch", ()), ("gn", "group", (2,))):
        found[f"popnn.{library}.{title}NormStatistics"] = [
            (acts, 0.1, PROG, *parts, False, False, pl.FLOAT, *END[:2])
        ]
        for name, arguments in norm.items():
            full = f"create{title.title()}NormParams" if name == "Params" else f"{title}Norm{name}"
            found[f"popnn.{library}.{full}"] = [arguments]
    return found


_LISTED = calls(partial(tensor, pl.Graph(pl.Target(tiles=2))))

ELEMENTWISE = [name for name in functions_of(popops) if f"popops.{name}" not in _LISTED]
"""Functions of popops that take operands of one shape; and of some type."""

OTHERS = [
    f"{library}.{name}"
    for library, module in LIBRARIES.items()
    for name in functions_of(module)
    if library != "popops" or name not in ELEMENTWISE
]


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("of", [pytest.param(GRAPH, marks=deep), TOP], ids=["own", "all"])
def test_the_graph_decides_the_tiles(name: str, of: pl.Graph) -> None:
    library, _, last = name.rpartition(".")
    function = functions_of(LIBRARIES[library])[last]
    ahead = [io.StringIO()] if last == "matMulReportPlan" else []
    needed = calls(partial(tensor, of))
    before = {"popnn.lstm.lstmBwdWithWU": "lstmFwd", "popnn.gru.gruBwdWithWU": "gruFwd"}
    if name in before:
        forward = functions_of(LIBRARIES[library])[before[name]]
        forward(GRAPH, *needed[f"{library}.{before[name]}"][0])
    for arguments in needed[name]:
        assert tiles_made(GRAPH, partial(function, *ahead, GRAPH, *arguments)) <= OWN


@pytest.mark.parametrize("name", thinned(ELEMENTWISE, keep=ELEMENTWISE[::8]))
def test_elementwise_functions_use_the_tiles_of_their_graph(name: str) -> None:
    function = functions_of(popops)[name]
    count = len(inspect.signature(function).parameters) - 4  # graph, prog, name and options
    kinds: tuple[Any, ...] = (pl.FLOAT, pl.INT, pl.BOOL)
    for kind, last in product(kinds, (None, pl.BOOL)):
        operands = [tensor(TOP, 30, 40, kind=kind) for _ in range(count)]
        operands[-1:] = [tensor(TOP, 30, 40, kind=last or kind)]
        try:
            made = tiles_made(GRAPH, partial(function, GRAPH, *operands, PROG))
        except pl.PopliteError:
            continue
        assert made <= OWN
        return
    assert name in ("gtInPlace", "gteqInPlace", "ltInPlace", "lteqInPlace")  # of no type


def test_values_are_those_of_all_tiles() -> None:
    found = []
    for tiles in (None, [9, 5, 6, 7, 4]):
        top = pl.Graph(pl.Target(tiles=16))
        own = top if tiles is None else top.create_virtual_graph(tiles)
        numbers = np.arange(64, dtype=np.float32).reshape(8, 8) % 11
        x = top.add_variable(pl.FLOAT, (8, 8), "x", mapping="linear", initial_value=numbers)
        rows = top.add_constant(pl.UNSIGNED_INT, (3, 1), [[7], [0], [7]], mapping=2)
        seed = top.add_constant(pl.UNSIGNED_INT, (2,), [5, 6], mapping=0)
        one = top.add_constant(pl.FLOAT, (), 1, mapping=15)
        changed = top.add_variable(pl.FLOAT, (8, 8), "c", mapping="linear", initial_value=numbers)
        prog = pl.Sequence()
        made = [
            poplin.matMul(own, x, x, prog),
            popops.sort(own, x, 0, prog),
            popops.multiSlice(own, x, rows, [0], [1], prog),
            popnn.softmax(own, x, prog),
            poprand.uniform(own, seed, 3, x, pl.FLOAT, 0.0, 1.0, prog),
            popops.reduce(own, x, [0, 1], popops.ReduceParams(Operation.MAX), prog),
        ]
        popops.addInPlace(own, changed, x, prog)
        popops.multiUpdateAdd(own, changed, x[:3].expand([1]), rows, one, [0], [1], prog)
        engine = pl.Engine(top, prog, interpret=True, options=values_only())
        engine.run()
        found.append([engine.read(each) for each in (*made, changed)])
    for first, second in zip(*found, strict=True):
        np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(found[1][0], numbers @ numbers)
    np.testing.assert_array_equal(found[1][1], np.sort(numbers, 0))
    np.testing.assert_array_equal(found[1][2][:, 0], numbers[[7, 0, 7]])


# -- poplibs places --------------------------------------------------------------------------------
#
# What functions of PopLibs make lies where PopLibs puts it.


def held(graph: pl.Graph, tensor: pl.Tensor) -> dict[int, list[int]]:
    """Return the elements of each tile that has some."""
    mapping = graph.tile_mapping(tensor)
    return {
        tile: [each for begin, end in mapping[tile] for each in range(begin, end)]
        for tile in mapping.tiles.tolist()
    }


@pytest.fixture
def graph() -> pl.Graph:
    return pl.Graph(pl.Target(tiles=4))


def test_results_lie_as_the_input_that_is_spread_best(graph: pl.Graph) -> None:
    prog = pl.Sequence()
    few, many, pieces = (
        graph.add_variable(pl.FLOAT, (8,), "x", mapping=mapping)
        for mapping in (
            [[(0, 8)]],
            [[(0, 4)], [], [(4, 6)], [(6, 8)]],
            [[(0, 1), (2, 4), (6, 7)], [(1, 2), (4, 6), (7, 8)]],
        )
    )
    half = graph.add_variable(pl.FLOAT, (8,), "half", mapping=[[(0, 4)], [(4, 8)]])
    row, one = (graph.add_variable(pl.FLOAT, size, "s", mapping=3) for size in ((1,), ()))
    made = {
        "alone": popops.exp(graph, few, prog),
        "cast": popops.cast(graph, few, pl.INT, prog),
        "less on a tile": popops.add(graph, few, many, prog),
        "more tiles": popops.add(graph, half, many, prog),
        "fewer pieces": popops.map(graph, pe._1 * pe._2 - pe._3, [pieces, half, row], prog),
        "first": popops.add(graph, pieces, pieces, prog),
        "type": popnn.nonLinearity(graph, popnn.NonLinearityType.TANH, few, prog),
        "scalar": popops.square(graph, one, prog),
        "broadcast": popops.add(graph, row.broadcast(8, 0), row, prog),
    }
    places = {name: held(graph, each) for name, each in made.items()}
    assert places["alone"] == places["cast"] == places["type"] == held(graph, few)
    assert places["less on a tile"] == places["more tiles"] == held(graph, many)
    assert places["fewer pieces"] == held(graph, half)
    assert places["first"] == held(graph, pieces)
    assert places["scalar"] == {3: [0]}
    assert places["broadcast"] == {0: [0, 1], 1: [2, 3], 2: [4, 5], 3: [6, 7]}


def test_broadcast_operands_are_shared_among_their_users(graph: pl.Graph) -> None:
    def made(dim: int, mapping: Any, shape: tuple[int, ...], dither: bool = False) -> Any:
        x = graph.add_variable(pl.FLOAT, shape, "x", mapping=mapping)
        return held(graph, poputil.createBroadcastOperand(graph, x, pl.FLOAT, dim, dither))

    # All tiles use all columns, so each gets some of them, two at a time.
    assert made(1, "linear", (4, 8)) == {0: [0, 1], 1: [2, 3], 2: [4, 5], 3: [6, 7]}
    assert made(0, "linear", (4, 8)) == {0: [0], 1: [1], 2: [2], 3: [3]}
    # A tile begins in the middle of row 1: both tiles share all that either uses.
    assert made(0, [[(0, 6)], [(6, 16)]], (4, 4)) == {0: [0, 1], 1: [2, 3]}
    # Columns of a tile of their own stay there.
    columns = [[(0, 2), (6, 8)], [], [], [(2, 6), (8, 12)]]
    assert made(1, columns, (2, 6)) == {0: [0, 1], 3: [2, 3, 4, 5]}
    plain, moved = (made(1, "linear", (2, 6), dither) for dither in (False, True))
    assert sorted(map(len, plain.values())) == sorted(map(len, moved.values()))
    assert made(1, "linear", (0, 6)) == {0: [*range(6)]}


def test_parameters_of_norms_lie_where_activations_use_them(graph: pl.Graph) -> None:
    acts = graph.add_variable(pl.HALF, (2, 32, 4), "acts")
    for tile in range(4):
        graph.set_tile_mapping(acts[:, 8 * tile : 8 * tile + 8], tile)
    gamma, beta = popnn.bn.createBatchNormParams(graph, acts)
    own = poputil.createBroadcastOperand(graph, acts, pl.HALF, 1, True)
    assert held(graph, gamma) == held(graph, beta) == held(graph, own)
    assert sorted(held(graph, gamma).values()) == [[*range(a, a + 8)] for a in (0, 8, 16, 24)]


def test_operands_of_solutions(graph: pl.Graph) -> None:
    small = poplin.createTriangularSolveInputLHS(graph, pl.FLOAT, pl.FLOAT, (4, 4), (4, 3), True)
    assert held(graph, small)[1] == [4, 5, 6, 7]
    blocks = poplin.createTriangularSolveInputLHS(
        graph, pl.FLOAT, pl.FLOAT, (4, 4), (4, 3), True, 2, "a"
    )
    assert held(graph, blocks)[1] == [2, 3, 6, 7]
    turned = poplin.createTriangularSolveInputLHS(
        graph, pl.FLOAT, pl.FLOAT, (4, 4), (3, 4), False, 2, "a"
    )
    assert held(graph, turned)[1] == [8, 9, 12, 13]
    odd = poplin.createTriangularSolveInputLHS(
        graph, pl.FLOAT, pl.FLOAT, (2, 5, 5), (2, 5, 3), True, 2, "a"
    )
    assert odd.shape == (2, 5, 5)
    with pytest.raises(pl.TensorCreationError, match="expected a shape"):
        poplin.createTriangularSolveInputLHS(graph, pl.FLOAT, pl.FLOAT, (4,), (4,), True)
    right = poplin.createTriangularSolveInputRHS(graph, pl.HALF, pl.FLOAT, (4, 4), (4, 32), True)
    assert (right.element_type, right.shape) == (pl.FLOAT, (4, 32))
    assert held(graph, right)[0] == [r * 32 + c for r in range(4) for c in range(8)]
    a, q = poplin.experimental.createQRFactorizationMatrices(graph, pl.FLOAT, 5, 3)
    assert (a.shape, q.shape) == ((5, 3), (5, 5))
    assert held(graph, a) == {0: [0, 1, 3, 4, 6, 7, 9, 10, 12, 13], 1: [2, 5, 8, 11, 14]}
    assert held(graph, q)[3] == [*range(15, 25)]
    assert held(graph, poplin.linspace(graph, pl.FLOAT, 0, 1, 9)) == {0: [*range(9)]}


def test_a_solution_with_operands_of_blocks(graph: pl.Graph) -> None:
    prog, rng = pl.Sequence(), np.random.default_rng(0)
    a = poplin.createTriangularSolveInputLHS(graph, pl.FLOAT, pl.FLOAT, (5, 5), (5, 3), True, 2)
    b = poplin.createTriangularSolveInputRHS(graph, pl.FLOAT, pl.FLOAT, (5, 5), (5, 3), True, 2)
    left = np.tril(rng.uniform(1, 2, (5, 5))).astype(np.float32)
    right = rng.uniform(-1, 1, (5, 3)).astype(np.float32)
    x = poplin.triangularSolve(graph, a, b, True, True, False, prog)
    engine = pl.Engine(graph, prog, interpret=True, options=values_only())
    engine.write(a, left)
    engine.write(b, right)
    engine.run()
    np.testing.assert_allclose(left @ engine.read(x), right, atol=1e-5)


# -- compute sets in the place of a program --------------------------------------------------------


ELEMENTS = [
    *(pl.HALF, pl.BOOL, pl.LONGLONG, pl.FLOAT, pl.INT, pl.UNSIGNED_INT, pl.SHORT),
    *(pl.UNSIGNED_SHORT, pl.CHAR, pl.SIGNED_CHAR, pl.UNSIGNED_CHAR, pl.UNSIGNED_LONGLONG),
]
X = np.array([[-1.5, 2.5, 0, 7], [4, -0.5, 3, 1]], np.float32)


class Bench:
    """A graph, a tensor of X and a compute set."""

    def __init__(self, tiles: int = 4) -> None:
        self.graph = pl.Graph(pl.Target(tiles=tiles))
        self.x = self.variable("x", X)
        self.cs = self.graph.addComputeSet("cs")

    def variable(self, name: str, value: Any = None, kind: Any = pl.FLOAT) -> pl.Tensor:
        """A tensor of the shape of X, over all tiles."""
        return self.graph.add_variable(kind, X.shape, name, mapping="linear", initial_value=value)

    def read(self, *tensors: pl.Tensor, sets: Any = ()) -> list[np.ndarray]:
        """Execute the compute set, or a list of them, and return tensors."""
        program = pl.Sequence(*map(pl.Execute, sets or [self.cs]))
        engine = pl.Engine(self.graph, program, **interpreted())
        engine.run()
        return [engine.read(each) for each in tensors]


def test_casts_share_the_compute_set_of_the_user() -> None:
    bench = Bench()
    graph, x, cs = bench.graph, bench.x, bench.cs
    own = graph.add_variable(pl.INT, (), "own", mapping=3)
    graph.add_vertex(cs, Store, tile=3, out=own)
    h, same = bench.variable("h", kind=pl.HALF), bench.variable("same")
    assert popops.cast(graph, x, h, cs) is None
    popops.cast(graph, x, same, cs)
    n = popops.cast(graph, x, pl.INT, cs, "n")
    assert n.name == "n"
    assert len(graph.compute_sets) == 1
    found = bench.read(own, h, same, n)
    expected = [np.array(5), X.astype(np.float16), X, X.astype(np.int32)]
    for made, value in zip(found, expected, strict=True):
        assert made.tolist() == value.tolist()


class Store(pl.Vertex):
    """A vertex of the user."""

    out: pl.Output[pl.INT]

    def compute(self) -> None:
        self.out = 5


def test_races_between_what_shares_a_compute_set_are_found() -> None:
    bench = Bench()
    h = bench.variable("h", kind=pl.HALF)
    popops.cast(bench.graph, bench.x, h, bench.cs)
    popops.zero(bench.graph, h, 0, bench.cs)
    with pytest.raises(pl.GraphCycleError, match="'h'"):
        bench.read(h)
    bench = Bench()
    y = popops.cast(bench.graph, bench.x, pl.INT, bench.cs)
    popnn.nonLinearityInPlace(bench.graph, "RELU", bench.x, bench.cs)
    with pytest.raises(pl.GraphCycleError, match="'x'"):
        bench.read(y)


@pytest.mark.parametrize("kind", thinned(ELEMENTS, ELEMENTS[:3]))
def test_fills_of_every_type(kind: Any) -> None:
    bench = Bench()
    value, old = (True, False) if kind is pl.BOOL else (7, 1)
    t = bench.variable("t", old, kind)
    popops.fill(bench.graph, t, bench.graph.getTileMapping(t), bench.cs, value)
    z = bench.variable("z", value, kind)
    popops.zero(bench.graph, z, bench.graph.getTileMapping(z), bench.cs)
    full, none = bench.read(t, z)
    assert full.tolist() == np.full(X.shape, value).tolist()
    assert not none.any()


def test_fills_of_some_elements_are_on_the_tile_that_is_named() -> None:
    bench = Bench()
    graph, x, cs = bench.graph, bench.x, bench.cs
    popops.fill(graph, x, [pl.Interval(6, 8), (0, 2)], 1, cs, 9)
    assert {vertex.tile for vertex in cs.vertices} == {1}
    popops.zero(graph, x, [[], [], [(2, 3)], [(4, 6)]], cs)
    assert {vertex.tile for vertex in cs.vertices} == {1, 2, 3}
    popops.zero(graph, x, [], 0, cs)
    assert {vertex.tile for vertex in cs.vertices} == {1, 2, 3}
    assert bench.read(x)[0].tolist() == [[9, 9, 0, 7], [0, 0, 9, 9]]
    bench = Bench()
    popops.fill(bench.graph, bench.x, 2, bench.cs, 0.5)
    assert {vertex.tile for vertex in bench.cs.vertices} == {2}
    assert (bench.read(bench.x)[0] == 0.5).all()


def test_reductions_share_the_compute_sets_of_a_list() -> None:
    bench = Bench()
    graph, x = bench.graph, bench.x
    css: list[pl.ComputeSet] = []
    one = popops.reduce(graph, x, [0], Operation.ADD, css, "one")
    before = [*css]
    assert len(before) > 0
    many = popops.reduce(graph, x, pl.HALF, [0, 1], ReduceParams(Operation.MAX), css, "many")
    out = graph.add_variable(pl.FLOAT, (2, 1), "out", mapping=0, initial_value=[[10], [20]])
    popops.reduceWithOutput(graph, x, out, [1], ReduceParams(Operation.ADD, True), css)
    assert css[: len(before)] == before
    assert css == list(graph.compute_sets)[1:]
    found = bench.read(one, many, out, sets=css)
    assert found[0].tolist() == X.sum(0).tolist()
    assert found[1] == 7
    assert found[2].tolist() == (X.sum(1, keepdims=True) + [[10], [20]]).tolist()


def test_reductions_begin_in_compute_sets_that_are_there() -> None:
    bench = Bench()
    css = [bench.cs]
    y = popops.cast(bench.graph, bench.x, pl.INT, bench.cs)
    total = popops.reduce(bench.graph, bench.x, [0, 1], Operation.ADD, css)
    assert css[0] is bench.cs
    assert len(css) > 1
    assert [each.tolist() for each in bench.read(y, total, sets=css)] == [
        X.astype(np.int32).tolist(),
        X.sum(),
    ]


@pytest.mark.parametrize(
    ("shape", "dims", "operation", "expected"),
    [
        ((2, 0), [1], Operation.MIN, [np.inf, np.inf]),
        ((0,), [0], Operation.MUL, 1.0),
        ((3, 1), [1], Operation.ADD, [2.0, 2.0, 2.0]),
        ((3,), [], Operation.ADD, [2.0, 2.0, 2.0]),
    ],
)
def test_reductions_that_join_nothing_are_vertices_too(
    shape: Any, dims: list[int], operation: Operation, expected: Any
) -> None:
    bench = Bench()
    x = bench.graph.add_variable(pl.FLOAT, shape, "y", mapping="linear", initial_value=2)
    css: list[pl.ComputeSet] = []
    made = popops.reduce(bench.graph, x, dims, operation, css)
    assert [len(each.vertices) > 0 for each in css] == [True]
    assert bench.read(made, sets=css)[0].tolist() == expected


KINDS = [each for each in popnn.NonLinearityType if "SOFTMAX" not in each.name]


@pytest.mark.parametrize("kind", thinned(KINDS, KINDS[:2]))
def test_non_linearities_are_those_of_a_program(kind: popnn.NonLinearityType) -> None:
    bench = Bench()
    graph, x, cs = bench.graph, bench.x, bench.cs
    g, y, prog = bench.variable("g", X[:, ::-1] / 4), bench.variable("y", X), pl.Sequence()
    by_x = popnn.nonLinearityInputGradient(graph, kind, g, y, cs, "by_x")
    popnn.nonLinearityInPlace(graph, kind, x, cs)
    assert len(graph.compute_sets) == 1
    expected = [
        popnn.nonLinearity(graph, kind, y, prog),
        popnn.nonLinearityInputGradient(graph, kind, g, y, prog),
    ]
    engine = pl.Engine(graph, pl.Sequence(pl.Execute(cs), prog), **interpreted())
    engine.run()
    for one, other in zip((x, by_x), expected, strict=True):
        np.testing.assert_array_equal(engine.read(one), engine.read(other))


def test_the_graph_of_a_call_decides_the_tiles() -> None:
    top = pl.Graph(pl.Target(tiles=8))
    own = top.create_virtual_graph([5, 1, 6])
    x = top.add_variable(pl.FLOAT, (30, 4), "x", mapping="linear", initial_value=1)
    n = own.add_variable(pl.INT, (30, 4), "n", mapping="linear")

    def call() -> None:
        cs = top.add_compute_set("cs")
        popops.cast(own, x, pl.HALF, cs)
        popops.fill(own, n, own.tile_mapping(n), cs, 3)
        popops.reduce(own, x, [0], Operation.ADD, [cs])

    assert tiles_made(own, call) == {1, 5, 6}


SOFTMAX = popnn.NonLinearityType.SOFTMAX_STABLE

REFUSED: dict[str, tuple[Callable[[Bench], object], type[Exception], str]] = {
    "softmax": (
        lambda b: popnn.nonLinearityInPlace(b.graph, SOFTMAX, b.x, any_of(b.cs)),
        pl.ControlProgramError,
        "popnn.nonLinearityInPlace: SOFTMAX_STABLE cannot be added to compute set 'cs'",
    ),
    "gradient of softmax": (
        lambda b: popnn.nonLinearityInputGradient(b.graph, SOFTMAX, b.x, b.x, any_of(b.cs)),
        pl.ControlProgramError,
        "popnn.nonLinearityInputGradient: SOFTMAX_STABLE cannot be added to compute set 'cs'",
    ),
    "other view of itself": (
        lambda b: popops.cast(b.graph, b.x.reshape((4, 2)), b.x.reverse(0).reshape((4, 2)), b.cs),
        pl.ControlProgramError,
        "popops.cast: 'x' shares elements with 'x', which compute set 'cs' would",
    ),
    "another graph": (
        lambda b: popops.cast(b.graph, b.x, pl.INT, Bench().cs),
        pl.GraphConnectionError,
        "popops.cast: compute set 'cs' belongs to another graph",
    ),
    "one for a list": (
        lambda b: popops.reduce(b.graph, b.x, [0], Operation.ADD, b.cs),
        pl.ControlProgramError,
        "popops.reduce: expected a list of compute sets; found compute set 'cs'",
    ),
    "a list of others": (
        lambda b: popops.reduce(b.graph, b.x, [0], Operation.ADD, [b.cs, 3]),
        pl.ElementTypeError,
        "popops.reduce: expected a compute set; found 3",
    ),
    "no such tile": (
        lambda b: popops.fill(b.graph, b.x, 4, b.cs, 1),
        pl.InvalidTileMapping,
        "popops.fill",
    ),
    "an enormous tile": (
        lambda b: popops.zero(b.graph, b.x, 2**40, b.cs),
        pl.InvalidTileMapping,
        "popops.zero",
    ),
    "no such element": (
        lambda b: popops.fill(b.graph, b.x, [(0, 9)], 1, b.cs, 1),
        pl.InvalidTileMapping,
        "popops.fill",
    ),
    "twice": (
        lambda b: popops.zero(b.graph, b.x, [[(0, 3)], [(2, 4)]], b.cs),
        pl.InvalidTileMapping,
        "popops.zero: element 2 is mapped to tile 0 and to tile 1",
    ),
    "no tile": (
        lambda b: popops.fill(b.graph, b.x, any_of(b.cs), 1),
        pl.ControlProgramError,
        "compute set 'cs' is not a sequence",
    ),
    "other functions": (
        lambda b: popops.add(b.graph, b.x, b.x, any_of(b.cs)),
        pl.ControlProgramError,
        "compute set 'cs' is not a sequence",
    ),
}


def any_of(value: object) -> Any:
    """A value in a place that is not typed for it."""
    return value


@pytest.mark.parametrize("case", REFUSED)
def test_what_compute_sets_cannot_take_is_refused_and_leaves_them_empty(case: str) -> None:
    call, error, message = REFUSED[case]
    bench = Bench()
    with pytest.raises(error) as caught:
        call(bench)
    assert message in str(caught.value)
    assert __name__.rpartition(".")[2] in str(caught.value)
    assert not bench.cs.vertices


def test_steps_that_are_no_vertices_have_no_place_in_compute_sets() -> None:
    bench = Bench()
    with pytest.raises(
        pl.ControlProgramError, match="needs another compute set, 'final'"
    ) as caught:
        ops.map(ops.sum(bench.x), name="s", program=ComputeSetList([bench.cs], most=1))
    assert "1 compute set: 'cs'" in caught.value.found
    x = bench.x.reshape((1, 1, 8))
    with pytest.raises(pl.ControlProgramError, match="compute sets needs <Copy") as caught:
        ops.convolution(x, x[:, :, :3], program=ComputeSetList([bench.cs]))
    assert caught.value.fix == "pass a program, which takes all steps"
