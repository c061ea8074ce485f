"""Poplar's order of arguments: what cannot be told from it, or is given twice, is refused."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.poplar_world import world

REFUSED = {
    "graph.addVariable(FLOAT)": "addVariable: missing a required argument: 'shape'",
    "graph.addVariable([4], FLOAT)": "a shape is needed, but FLOAT is an element type",
    "graph.addVariable(FLOAT, [4], 'x', 3)": "mappingMethod: 'x' is no Variable",
    "graph.addVariable(FLOAT, [4], nonsense=3)": "unexpected keyword argument 'nonsense'",
    "graph.addVariable(QUARTER, metadata, [4], metadata=metadata)": "metadata in order, .* by",
    "graph.addVariable(INT, [4], VariableMappingMethod.LINEAR, mapping=0)": "mapping in order",
    "graph.addConstant(QUARTER, metadata, [4], 1, metadata=metadata)": "metadata in order, .* by",
    "graph.addConstant(INT, [4])": "addConstant: missing a required argument: 'value'",
    "graph.addConstantHalf(HALF, [2], [[1], [2, 3]])": "rows of several lengths",
    "graph.clone(FLOAT, x, element_type=HALF)": "element_type in order, FLOAT, and by name",
    "graph.clone(metadata, q, metadata=metadata)": "metadata in order, .* and by name",
    "graph.clone(x, y, u)": "the name of a variable is text",
    "graph.clone(x, 'n', TensorCloneMethod.CREATE_NEW_ORDER, 3)": "clone: 1 argument too many",
    "graph.cloneN(x)": "cloneN: missing a required argument: 'n'",
    "graph.cloneN(3, 2)": "int is not a tensor",
    "graph.cloneN(FLOAT, x, 2, element_type=FLOAT)": "element_type in order, FLOAT, and by name",
    "graph.createHostWrite('w', x, 'yes')": "createHostWrite: rearrangeOnHost is 'yes', not",
    "graph.registerPerfEstimator(Scale, lambda: 3)": "too many positional arguments",
    "compileGraph(graph, Program(), 3)": "compileGraph: options 3 are no dictionary",
    "compileGraph(graph, Program(), True, {'oqt.x': 1})": "there is no option 'oqt.x'",
    "compileGraph(graph, Program(), {}, None, 'n', 3)": "what follows the third argument does",
    "compileGraph(graph, Program(), {}, print, progress=len)": "what follows the third",
    "compileGraph(graph, Program(), {}, lambda: None)": "progress .* is no function of two numbers",
    "Engine(graph, Program(), {}, 3)": "progress 3 is no function of two numbers",
    "Engine(graph, Program(), {}, None, 3)": "Engine: name 3 is no text",
    "layout.to_string('Span')": "'Span' is no layout",
    "VariableInterval(x.var_regions()[0].var, 3)": "has no whole numbers",
    "Interval(None, 3).size": "has no whole numbers",
}
"""Calls, and what the error says of them."""


@pytest.mark.parametrize("call", REFUSED)
def test_arguments_that_do_not_fit_are_refused(call: str) -> None:
    names = world("Graph")
    before = len(names["graph"].variables)
    with pytest.raises(pl.PopliteError, match=REFUSED[call]):
        eval(call, names)
    assert len(names["graph"].variables) == before


def test_clones_of_another_type_lie_as_those_of_the_tensor() -> None:
    names = world("Graph")
    graph, x, q = names["graph"], names["x"], names["q"]
    none = graph.cloneN(pl.HALF, x.T, 0)
    assert (none.element_type, none.shape) == (pl.HALF, (0, 3, 2))
    both = graph.cloneN(pl.HALF, x.T, 2, "k", pl.TensorCloneMethod.CREATE_NEW_ORDER)
    assert (both.element_type, both.shape, both[1].is_contiguous()) == (pl.HALF, (2, 3, 2), True)
    assert graph.tile_mapping(both[1]) == graph.tile_mapping(x.T)
    other = pl.QuarterMetadata("F152", -1)
    for clone in (graph.clone(other, q), graph.cloneN(other, q, 3)[2]):
        assert clone.metadata.constant_value() == other.to_byte() != q.metadata.constant_value()


def test_options_that_are_not_checked_are_left_out() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    options = {"opt.enableInlining": "true", "debug.instrument": "false", "nonsense": 3}
    assert pl.compileGraph(graph, pl.Program(), False, options).memory is None
    with pytest.raises(pl.InvalidOption):
        pl.compileGraph(graph, pl.Program(), True, options)


def test_progress_is_told_the_beginning_and_the_end() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    seen: list[tuple[int, int]] = []

    def note(done: int, total: int) -> None:
        seen.append((done, total))

    pl.compileGraph(graph, pl.Program(), True, {}, note, "name")
    pl.compileGraph(graph, pl.Program(), progress=note)
    pl.Engine(graph, [pl.Program()], {}, note, "name").add_program(pl.Program())
    assert seen == [(0, 1), (1, 1)] * 3
    with pytest.raises(pl.UnknownName):
        pl.Engine(graph, [], {}, note)
    assert seen[6:] == [(0, 1)]  # it did not reach the end


def written(engine: pl.Engine, place: Any, array: Any, **keywords: Any) -> list[Any]:
    """Return what the variable `x` holds when an array was written to it."""
    engine.write("x", 0)
    engine.writeTensor(place, array, **keywords)
    return engine.read("x").tolist()  # type: ignore[no-any-return]


def test_arrays_may_be_flat_for_names_handles_and_tensors() -> None:
    names = world("Engine")
    data, wanted = names["data"], [[0, 1, 2], [3, 4, 5]]
    for place in ("x", "hx", names["x"]):
        for array in (data, data.tolist(), tuple(data), data.reshape(2, 3)):
            assert written(names["engine"], place, array) == wanted
    saved = pl.Engine(names["engine"].executable, names["no_cycles"])
    saved.writeTensor("hx", data)
    with pytest.raises(pl.UnknownName):
        saved.writeTensor("x", data)
    with pytest.raises(pl.TensorCreationError, match="an array of shape"):
        names["engine"].writeTensor("x", data[:4])
    with pytest.raises(pl.ElementTypeError):
        names["engine"].writeTensor("x", [[1], [2, 3]])


def test_flat_arrays_hold_one_replica_after_the_other() -> None:
    graph = pl.Graph(pl.Target(tiles=4, ipus=2), replication_factor=2)
    x = graph.add_variable(pl.INT, (2, 2), "x", mapping=0)
    engine = pl.Engine(graph, pl.WriteUndef(x[:0]), {"debug.instrument": "false"})
    data = np.arange(8)
    assert written(engine, "x", data) == data.reshape(2, 2, 2).tolist()
    assert written(engine, "x", data[:4]) == [data[:4].reshape(2, 2).tolist()] * 2
    assert written(engine, "x", data[:4], replica=1)[1] == data[:4].reshape(2, 2).tolist()
    with pytest.raises(pl.TensorCreationError):
        engine.writeTensor("x", data, replica=1)


def test_names_of_poplar_that_stand_within_others() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (3,), "x", mapping=0, initial_value=[1, 20, 300])
    style = pl.PrintTensorFmt(0, 0, 0, 2, pl.PrintTensorFmt.FloatFormat.Scientific)
    assert style == pl.PrintTensorFormat(0, 0, 0, 2, "scientific")
    engine = pl.Engine(graph, pl.PrintTensor(x, style), {"debug.instrument": "false"})
    engine.setPrintStream(out := io.StringIO())
    engine.run()
    assert out.getvalue() == "x: [1.0e+00 2.0e+01 3.0e+02]\n"
    assert pl.QuarterMetadata(pl.QuarterMetadata.Format.F152).format is pl.QuarterFormat.F152
    assert pl.program.Copy is pl.Copy


HANDLES = [
    *("Tensor", "ComputeSet", "Function", "FunctionBuffer", "DataStream", "RemoteBuffer"),
    *("HostFunction", "FieldRef", "Executable", "VertexPerfEstimate"),
]


@pytest.mark.parametrize("name", HANDLES)
def test_there_are_no_handles_of_nothing(name: str) -> None:
    with pytest.raises(pl.AbsentMember, match=f"no empty {name}") as caught:
        getattr(pl, name)()
    assert caught.value.fix
    if name != "Tensor":
        with pytest.raises(pl.ElementTypeError, match=f"{name}: these arguments make none"):
            getattr(pl, name)(nonsense=1)


def test_what_is_not_broadcast_answers_valid_with_false() -> None:
    graph = pl.Graph()
    nothing = graph.findUnbroadcastTensor(graph.add_variable(pl.INT, (2, 3)))
    assert (nothing.valid(), bool(nothing)) == (False, False)
    with pytest.raises(pl.AbsentMember, match="so it has no 'flatten'"):
        nothing.flatten()


def test_bits_of_half_are_only_set_of_half() -> None:
    graph = pl.Graph()
    for kind in (pl.FLOAT, pl.INT, pl.UNSIGNED_SHORT):
        with pytest.raises(pl.ElementTypeError, match=f"is {kind.__name__}, the bits are of HALF"):
            graph.setInitialValueHalf(graph.add_variable(kind, (2,)), [1, 2])


def test_tensors_are_not_read_into_variables_of_another_type() -> None:
    one, other, file = pl.Graph(), pl.Graph(), io.StringIO()
    one.serialize_tensors(file, [one.add_variable(pl.INT, (6,), "x")])
    other.add_variable(pl.FLOAT, (6,), "x")
    with pytest.raises(pl.FileLoadError, match="'x' is FLOAT in this graph, but INT in the file"):
        other.deserialize_tensors(io.StringIO(file.getvalue()))


@pytest.mark.parametrize(
    ("name", "wrong", "right"),
    [
        ("target.syncMethod", "zzz", "hybrid"),
        ("target.syncPollPeriodUs", "zzz", 250),
        ("target.hostSyncTimeout", "-1", "300.00"),
        ("streamCallbacks.numaAware", "maybe", True),
        ("streamCallbacks.numWorkerThreads", "many", "auto"),
    ],
)
def test_values_of_options_of_a_run_are_checked(name: str, wrong: object, right: object) -> None:
    assert pl.RuntimeOptions({name: right})[name] == right
    with pytest.raises(pl.InvalidOption, match=f"{name}' of a run is '{wrong}', not"):
        pl.RuntimeOptions({name: wrong})
