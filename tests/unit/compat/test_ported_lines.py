"""Lines that ported programs have, as tutorials and PopLibs' headers write them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import interpreted, values_only
from poplite.compat import arguments, poplin, popnn, popops, poprand, poputil
from poplite.compat.popops import expr as pe

A = [-3.0, -1.0, 2.0, 5.0]


class Bench:
    """A graph with two tensors of FLOAT, one of HALF, and a program."""

    def __init__(self) -> None:
        self.graph, self.prog = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
        self.a = self.graph.add_variable(pl.FLOAT, (4,), "a", mapping="linear", initial_value=A)
        self.b = self.graph.add_variable(pl.FLOAT, (4,), "b", mapping="linear", initial_value=2)
        self.h = self.graph.add_variable(pl.HALF, (4,), "h", mapping="linear", initial_value=0)

    def read(self, *tensors: pl.Tensor) -> list[Any]:
        """Run the program, and return tensors."""
        engine = pl.Engine(self.graph, self.prog, options=values_only())
        engine.run()
        return [engine.read(each).tolist() for each in tensors]


def test_codelets_of_libraries_need_not_be_added() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    for library in (poplin, popnn, popops, poprand, poputil):
        library.addCodelets(graph)
        with pytest.raises(pl.ElementTypeError, match="addCodelets: graph is 3"):
            library.addCodelets(3)
    assert graph.num_vertices == 0


def test_numbers_of_an_expression_are_constants_on_both_sides() -> None:
    bench = Bench()
    given = [
        (1.0 - pe._1 * 2, 1 - 2 * np.array(A)),
        (3 + pe._1, 3 + np.array(A)),
        (2 / pe._1, 2 / np.array(A, np.float32)),
        (pe.Max(pe._1, 0), np.maximum(A, 0)),
        (pe.Select(pe._1, np.float32(0.5), pe._1 > 0), np.where(np.array(A) > 0, A, 0.5)),
        (pe.Select(1, pe._1, pe._1 > 0), np.where(np.array(A) > 0, 1, A)),
    ]
    made = [popops.map(bench.graph, expr, [bench.a], bench.prog) for expr, _ in given]
    for found, (_, expected) in zip(bench.read(*made), given, strict=True):
        assert np.array_equal(found, np.asarray(expected, np.float32))


def test_maps_take_one_operation_and_its_operands() -> None:
    bench = Bench()
    graph, a, b, prog = bench.graph, bench.a, bench.b, bench.prog
    total = popops.map(graph, pe.BinaryOpType.SUBTRACT, a, b, prog, "less")
    minus = popops.map(graph, pe.UnaryOpType.NEGATE, a, prog)
    held = popops.map(graph, pe.TernaryOpType.CLAMP, a, minus, b, prog=prog)
    popops.mapWithOutput(graph, pe.BinaryOpType.MULTIPLY, a, b, b, prog)
    popops.mapInPlace(graph, pe.UnaryOpType.SQUARE, a, prog)
    assert total.name == "less"
    assert bench.read(total, minus, held, b, a) == [
        [-5, -3, 0, 3],
        [3, 1, -2, -5],
        [2, 1, 2, 2],
        [-6, -2, 4, 10],
        [9, 1, 4, 25],
    ]
    with pytest.raises(pl.ElementTypeError, match="missing: b, prog"):
        popops.map(graph, pe.BinaryOpType.ADD, a)
    assert pe.BinaryOp(pe.BinaryOpType.ADD, pe._1, 1).operation == "ADD"
    with pytest.raises(pl.PopliteError, match="'ADDD'.*ADD"):
        pe.BinaryOp("ADDD", pe._1, 1)


def test_a_cast_to_a_tensor_returns_its_steps() -> None:
    bench = Bench()
    bench.prog.add(popops.cast(bench.graph, bench.a, bench.h))
    assert bench.read(bench.h) == [A]


def test_members_of_unscoped_enumerations_are_names() -> None:
    assert popnn.CROSS_ENTROPY_LOSS is popnn.LossType.CROSS_ENTROPY_LOSS
    assert popnn.SUM_SQUARED_LOSS is popnn.LossType.SUM_SQUARED_LOSS
    cell = popnn.lstm.BasicLstmCellUnit
    assert popnn.lstm.BASIC_LSTM_CELL_OUTPUT_GATE is cell.BASIC_LSTM_CELL_OUTPUT_GATE
    assert popnn.gru.BASIC_GRU_CELL_CANDIDATE is popnn.gru.BasicGruCellUnit.BASIC_GRU_CELL_CANDIDATE


def test_convolutions_are_made_as_in_cpp() -> None:
    sizes = (1, [8, 8], [3, 3], 4, 4, 1)
    plain = poplin.ConvParams(pl.FLOAT, *sizes)
    transforms = (
        poplin.ConvParams.InputTransform(2),
        poplin.ConvParams.InputTransform([0, 0], [0, 0], [1, 1], [0, 0], [0, 0], [False, False]),
        poplin.ConvParams.OutputTransform(2),
    )
    whole = poplin.ConvParams(pl.FLOAT, np.dtype(np.float32), *sizes, *transforms)
    assert whole.inputType is whole.outputType is pl.FLOAT
    assert whole.getOutputFieldShape() == plain.getOutputFieldShape() == [6, 6]
    assert transforms[0] == transforms[1]
    assert transforms[2].stride == [1, 1]
    with pytest.raises(pl.ElementTypeError, match="inputType is HALF, but outputType is FLOAT"):
        poplin.ConvParams(pl.HALF, pl.FLOAT, *sizes)
    with pytest.raises(pl.ElementTypeError, match="missing a required argument: 'numConvGroups'"):
        poplin.ConvParams(pl.HALF, *sizes[:-1])  # type: ignore[call-overload]


def test_parameters_are_assigned_one_by_one_as_members_of_cpp() -> None:
    params = poplin.ConvParams()
    with pytest.raises(pl.ElementTypeError, match="poplin.createInput: inputType of the parameter"):
        poplin.createInput(pl.Graph(pl.Target(tiles=1)), params)
    params.inputType = params.outputType = pl.HALF
    with pytest.raises(pl.InvalidOption, match="ConvParams: numConvGroups is None"):
        params.getNumInputChans()
    params.numConvGroups, params.batchSize = 2, 3
    params.inputFieldShape, params.kernelShape = [9, 9], [3, 3]
    params.inputChannelsPerConvGroup, params.outputChannelsPerConvGroup = 4, 5
    params.inputTransform.paddingLower = params.inputTransform.paddingUpper = [1, 1]
    params.outputTransform.stride = [2, 2]
    padded = poplin.InputTransform(paddingLower=[1, 1], paddingUpper=[1, 1])
    by_two = poplin.OutputTransform(stride=[2, 2])
    sizes = (3, [9, 9], [3, 3], 4, 5, 2)
    made = poplin.ConvParams(pl.HALF, *sizes, padded, poplin.InputTransform(), by_two)
    assert params == made == replace(made)
    assert params.getOutputFieldShape() == [5, 5]
    assert (params.getNumInputChans(), params.getNumOutputChans()) == (8, 10)
    params.outputType = pl.FLOAT
    with pytest.raises(pl.ElementTypeError, match="inputType is HALF, but outputType is FLOAT"):
        params.getOutputFieldShape()


def test_parameters_hold_copies_as_in_cpp() -> None:
    zeros, sizes = [0, 0], (1, [8, 8], [3, 3], 4, 4, 1)
    padded = poplin.InputTransform(zeros, zeros, [1, 1], zeros, zeros)
    params = poplin.ConvParams(pl.FLOAT, *sizes, padded, padded)
    other = replace(params, batchSize=2)
    params.inputTransform.paddingLower[0] = 3  # type: ignore[index]
    assert zeros == padded.paddingLower == padded.truncationLower == [0, 0]
    assert params.kernelTransform == other.inputTransform == padded
    assert params.getOutputFieldShape() == [9, 6]
    assert (other.batchSize, other.getOutputFieldShape()) == (2, [6, 6])


def test_members_of_other_parameters_are_assigned() -> None:
    bench = Bench()
    lstm = popnn.lstm.LstmParams(pl.FLOAT, 2, 3, [4, 5])
    gru = popnn.gru.GruParams(pl.FLOAT, 2, 3, [4, 5])
    lstm.layerSizes = gru.layerSizes = [4, 6]
    assert popnn.lstm.createInitialState(bench.graph, lstm).output.shape == (2, 6)
    assert popnn.gru.createInitialState(bench.graph, gru).shape == (2, 6)
    acts = bench.a.reshape((1, 1, 4))
    pool = popnn.PoolParams("MAX", [4], [2], [2], [0], [0], 1, 1, pl.FLOAT)  # type: ignore[arg-type]
    greatest = popnn.pool(bench.graph, pool, acts, bench.prog)
    pool.poolingType = popnn.PoolingType.SUM
    total = popnn.pool(bench.graph, pool, acts, bench.prog)
    how = popops.ReduceParams(popops.Operation.MAX)
    how.op, how.update = popops.Operation.ADD, True
    popops.reduceWithOutput(bench.graph, bench.a, bench.b[0], [0], how, bench.prog)
    assert bench.read(greatest, total, bench.b) == [[[[-1, 5]]], [[[-4, 7]]], [5, 2, 2, 2]]
    how.op = popops.Operation.MAX
    with pytest.raises(pl.ElementTypeError, match="MAX takes neither scale nor update"):
        popops.reduceWithOutput(bench.graph, bench.a, bench.b[0], [0], how, bench.prog)
    pool.poolingType = "MEAN"  # type: ignore[assignment]
    with pytest.raises(pl.PopliteError, match="'MEAN'"):
        popnn.pool(bench.graph, pool, acts, bench.prog)


def test_a_program_is_loaded_on_a_device_that_its_program_made() -> None:
    for device in (
        pl.IPUModel().createDevice(),
        pl.Device.createCPUDevice(),
        pl.Device.createSimulatorDevice(pl.Target(tiles=8)),
    ):
        graph = pl.Graph(device)
        x = graph.add_variable(pl.INT, (4,), "x", mapping=0, initial_value=3)
        engine = pl.Engine(graph, pl.Sequence())
        engine.load(device)
        assert engine.read(x).tolist() == [3, 3, 3, 3]


def test_host_reads_and_writes_may_come_before_the_mapping() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.addVariable(pl.FLOAT, [3], "x")
    graph.createHostWrite("in", x)
    graph.createHostRead("out", x)
    with pytest.raises(pl.InvalidTileMapping, match=r"'x': elements \[0, 3\)") as caught:
        pl.Engine(graph, pl.Sequence())
    assert "create_host_read 'out'" in caught.value.where
    assert "test_ported_lines.py" in caught.value.where
    graph.setTileMapping(x, 1)
    engine = pl.Engine(graph, pl.Sequence())
    engine.writeTensor("in", np.array([1, 2, 3], np.float32))
    found = np.zeros(3, np.float32)
    engine.readTensor("out", found)
    assert found.tolist() == [1, 2, 3]


def test_calls_in_a_function_of_the_graph_go_to_its_steps() -> None:
    bench = Bench()

    @pl.graph_function
    def added(x: pl.Tensor, y: pl.Tensor) -> pl.Tensor:
        total = popops.add(x.graph, x, y, None)
        popops.mulInPlace(x.graph, total, 2, None)
        return total

    with bench.graph.steps() as bench.prog:
        total = added(bench.a, bench.b)
    assert bench.read(total) == [[-2, 2, 8, 14]]


# -- first tries -----------------------------------------------------------------------------------
#
# Spellings of PopLibs that are nearly right: they work, or say which call was meant.


@pytest.fixture
def graph() -> pl.Graph:
    return pl.Graph(pl.Target(tiles=2))


def variable(graph: pl.Graph, name: str, values: Any = (1, -2, 3)) -> pl.Tensor:
    shape = np.shape(values)
    return graph.add_variable(pl.FLOAT, shape, name, mapping="linear", initial_value=values)


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (lambda g, a, s: popops.cast(g, a, a, s), "call popops.castWithOutput, "),
        (
            lambda g, a, s: popops.reduce(g, a, a, [0], popops.Operation.ADD, s),
            "call popops.reduceWithOutput, ",
        ),
        (
            lambda g, a, s: popops.map(g, pe._1 + 1, [a], a, s),
            "call popops.mapWithOutput, ",
        ),
        (lambda g, a, s: popops.add(g, a, a, a, s), "pass the program right before the name, "),
    ],
)
def test_a_program_behind_an_output_names_the_call_that_takes_one(
    graph: pl.Graph, call: Callable[..., object], meant: str
) -> None:
    with pytest.raises(pl.ElementTypeError, match="debug_context is <Sequence") as caught:
        call(graph, variable(graph, "a"), pl.Sequence())
    assert caught.value.fix.startswith(meant)


def test_every_form_with_an_output_that_is_named_exists() -> None:
    modules = {"popops": popops, "poplin": poplin}
    for name in arguments.HAVE_OUTPUTS:
        library, function = name.split(".")
        assert hasattr(modules[library], function)
        assert hasattr(modules[library], f"{function}WithOutput")


def test_a_map_takes_its_operation_by_name(graph: pl.Graph) -> None:
    a, b = variable(graph, "a"), variable(graph, "b", (4, 5, 6))
    prog = pl.Sequence()
    made = [
        popops.map(graph, "ADD", a, b, prog),
        popops.map(graph, "SQUARE", a, prog),
        popops.map(graph, "CLAMP", a, b, b, prog),
    ]
    popops.mapInPlace(graph, "NEGATE", b, prog)
    engine = pl.Engine(graph, prog, **interpreted())
    engine.run()
    found = [engine.read(each).tolist() for each in (*made, b)]
    assert found == [[5, 3, 9], [1, 4, 9], [4, 5, 6], [-4, -5, -6]]


def test_the_method_of_a_mapping_goes_by_name(graph: pl.Graph) -> None:
    assert len(graph.tile_mapping(graph.addVariable(pl.FLOAT, [4], "LINEAR", "a")).tiles) == 2
    nameless = graph.addVariable(pl.FLOAT, [4], "LINEAR")
    assert nameless.name != "LINEAR"
    assert len(graph.tile_mapping(nameless).tiles) == 2
    assert "on no tile" in repr(graph.addVariable(pl.FLOAT, [4], "NONE", "b"))
    assert graph.addVariable(pl.FLOAT, [4], "c").name == "c"
    assert graph.addVariable(pl.FLOAT, [4], name="LINEAR").name == "LINEAR"
    with pytest.raises(pl.ElementTypeError, match=r"'LINAER' is not in VariableMap.*mean 'LINEAR'"):
        graph.addVariable(pl.FLOAT, [4], "LINAER", "d")  # type: ignore[call-overload]


def test_powers_and_absolute_values_of_placeholders(graph: pl.Graph) -> None:
    a, prog = variable(graph, "a"), pl.Sequence()
    made = [popops.map(graph, each, [a], prog) for each in (pe._1**2, 2**pe._1, abs(pe._1))]
    engine = pl.Engine(graph, prog, **interpreted())
    engine.run()
    assert [engine.read(each).tolist() for each in made] == [[1, 4, 9], [2, 0.25, 8], [1, 2, 3]]


@pytest.mark.parametrize(
    ("function", "instead"),
    [
        (lambda a: a // 2, "Floor(a / b)"),
        (lambda a: 2 // a, "Floor(a / b)"),
        (lambda a: divmod(a, 2), "a % b"),
        (lambda a: a @ a, "poplin.matMul"),
        (operator.pos, "use the operand itself"),
        (round, "NearbyInt(a)"),
        (lambda a: a[0], "use views of the tensors"),
        (list, "use views of the tensors"),
        (float, "engine.read("),
    ],
)
def test_operators_without_a_meaning_say_what_to_write(
    function: Callable[[Any], object], instead: str
) -> None:
    with pytest.raises(pl.ElementTypeError, match="is not defined for expressions") as caught:
        function(pe._1)
    assert instead in caught.value.fix
