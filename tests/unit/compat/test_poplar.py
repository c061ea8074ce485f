"""Poplar's members and signatures: each is here as declared, or refused by name."""

from __future__ import annotations

import copy
import io
import json
import pickle
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.cpp import skip_without_cpp
from helpers.poplar_members import ENUMERATIONS, NAMES, NESTED
from helpers.poplar_signatures import REFUSALS, ROWS, Example, Refusal
from helpers.poplar_world import world
from poplite.poplar.binder import parameters_of
from poplite.poplar.declarations import TEXTS, Row, declared_rows
from poplite.poplar.spelling import names_here

ALL_ROWS = [row for owner in TEXTS for row in declared_rows(owner)]

REFUSED = {
    "graph.addVariable(FLOAT)": "addVariable: missing a required argument: 'shape'",
    "graph.addVariable([4], FLOAT)": "a shape is needed, but FLOAT is an element type",
    "graph.addVariable(FLOAT, [4], 'x', 3)": "mappingMethod: 'x' is not in Variable",
    "graph.addVariable(FLOAT, [4], nonsense=3)": "unexpected keyword argument 'nonsense'",
    "graph.addVariable(QUARTER, metadata, [4], metadata=metadata)": "metadata .* by position",
    "graph.addVariable(INT, [4], VariableMappingMethod.LINEAR, mapping=0)": (
        "mapping is passed by position"
    ),
    "graph.addConstant(QUARTER, metadata, [4], 1, metadata=metadata)": "metadata .* by position",
    "graph.addConstant(INT, [4])": "addConstant: missing a required argument: 'value'",
    "graph.addConstantHalf(HALF, [2], [[1], [2, 3]])": "rows of different lengths",
    "graph.clone(FLOAT, x, element_type=HALF)": (
        "element_type is passed by position, FLOAT, and by name"
    ),
    "graph.clone(metadata, q, metadata=metadata)": "metadata is passed by position, .* and by name",
    "graph.clone(x, y, u)": "the name of a variable must be a string",
    "graph.clone(x, 'n', TensorCloneMethod.CREATE_NEW_ORDER, 3)": "clone: 1 argument too many",
    "graph.cloneN(x)": "cloneN: missing a required argument: 'n'",
    "graph.cloneN(3, 2)": "int is not a tensor",
    "graph.cloneN(FLOAT, x, 2, element_type=FLOAT)": (
        "element_type is passed by position, FLOAT, and by name"
    ),
    "graph.createHostWrite('w', x, 'yes')": "createHostWrite: rearrangeOnHost is 'yes', not",
    "graph.registerPerfEstimator(Scale, lambda: 3)": "too many positional arguments",
    "compileGraph(graph, Program(), 3)": "compileGraph: options 3 are not a dictionary",
    "compileGraph(graph, Program(), True, {'oqt.x': 1})": "there is no option 'oqt.x'",
    "compileGraph(graph, Program(), {}, None, 'n', 3)": "the arguments after the third are not",
    "compileGraph(graph, Program(), {}, print, progress=len)": "the arguments after the third",
    "compileGraph(graph, Program(), {}, lambda: 0)": "progress .* is not a function of two numbers",
    "Engine(graph, Program(), {}, 3)": "progress 3 is not a function of two numbers",
    "Engine(graph, Program(), {}, None, 3)": "Engine: name 3 is not a string",
    "layout.to_string('Span')": "'Span' is not a layout",
    "VariableInterval(x.var_regions()[0].var, 3)": "must be whole numbers",
    "Interval(None, 3).size": "needs whole numbers",
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
    with pytest.raises(pl.TensorCreationError, match="the array must have the tensor's shape"):
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
        with pytest.raises(pl.ElementTypeError, match=f"{name}: invalid arguments"):
            getattr(pl, name)(nonsense=1)


def test_what_is_not_broadcast_answers_valid_with_false() -> None:
    graph = pl.Graph()
    nothing = graph.findUnbroadcastTensor(graph.add_variable(pl.INT, (2, 3)))
    assert (nothing.valid(), bool(nothing)) == (False, False)
    with pytest.raises(pl.AbsentMember, match="an invalid tensor has no attribute 'flatten'"):
        nothing.flatten()


def test_bits_of_half_are_only_set_of_half() -> None:
    graph = pl.Graph()
    for kind in (pl.FLOAT, pl.INT, pl.UNSIGNED_SHORT):
        with pytest.raises(pl.ElementTypeError, match=f"is {kind.__name__}, but must be HALF"):
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
    with pytest.raises(pl.InvalidOption, match=f"run option '{name}' is '{wrong}', not"):
        pl.RuntimeOptions({name: wrong})


# -- poplar members --------------------------------------------------------------------------------
#
# Every member that Poplar has is here, with its signature in the table, or is refused by name.


TYPE = {"Type": "FLOAT"}
"""What stands for a class of which Poplar has objects."""


def found(path: str) -> Any:
    """Return what a path of Poplar's names leads to; None where poplite refuses it."""
    here: Any = pl
    try:
        for name in path.split("."):
            # The numbers of a model are those of an object.
            here = getattr(pl.IPUModel() if here is pl.IPUModel else here, name)
    except pl.AbsentMember:
        return None
    return here


def path_of(row: Row) -> str:
    """Return the names that lead to a member."""
    owner, name = TYPE.get(row.owner, row.owner), row.member
    name = {"operator[]": "__getitem__", "operator==": "__eq__", "operator<": "__eq__"}.get(
        name, name
    )
    return owner if name == owner else f"{owner}.{name}".removeprefix(".")


def name_of(row: Example | Refusal) -> str:
    """Return the member of a row, without its class."""
    return row.poplar.partition("(")[0].rpartition(".")[2].strip()


def count_of(row: Example | Refusal) -> int:
    """Return the number of arguments of a row."""
    arguments = row.poplar.partition("(")[2].partition(")")[0]
    return len(arguments.split(",")) if arguments else 0


@pytest.mark.parametrize("path", [*NAMES, *NESTED, *ENUMERATIONS])
def test_every_name_is_there_or_refused(path: str) -> None:
    found(path)


@pytest.mark.parametrize("path", ENUMERATIONS)
def test_every_member_of_an_enumeration_is_there(path: str) -> None:
    members = {found(f"{path}.{name}") for name in ENUMERATIONS[path].split()}
    assert None not in members
    assert len(members) == len(ENUMERATIONS[path].split())


def test_every_declaration_has_an_example_or_is_refused() -> None:
    calls: list[Example | Refusal] = [*ROWS, *REFUSALS]
    described = {(each.owner, name_of(each), count_of(each)) for each in calls}
    missing = []
    for row in ALL_ROWS:
        is_program = hasattr(pl.program, names_here().get(row.owner, row.owner))
        parameters = parameters_of(row.declaration)
        least = sum(not each.default for each in parameters)
        counts = range(least - row.member.startswith("operator="), len(parameters) + 1)
        has_example = any(
            (owner, row.member, count) in described
            for owner in {row.owner, "Program" if is_program else row.owner}
            for count in counts
        )
        if not has_example and found(path_of(row)) is not None:
            missing.append(row.declaration)
    assert len(ALL_ROWS) > 380
    assert not missing


@pytest.mark.parametrize("refusal", REFUSALS, ids=[each.poplar for each in REFUSALS])
def test_refused_signature_says_why(refusal: Refusal) -> None:
    with pytest.raises(pl.PopliteError) as caught:
        eval(refusal.call, world(refusal.owner))
    assert refusal.reason in f"{caught.value.what} {caught.value.found}"
    assert caught.value.fix == refusal.instead


# -- poplar signatures -----------------------------------------------------------------------------
#
# Each documented signature, in Poplar's order and in ours, does the same.


def picture(value: Any) -> Any:
    """Return what can be compared of a value that two worlds made."""
    if isinstance(value, pl.Tensor):
        regions = [(v.name, begin, end) for v, begin, end in value.var_regions()]
        mapping = value.graph.tile_mapping(value, require_complete=False)
        tiles = [list(intervals) for intervals in mapping]
        return value.element_type, value.shape, regions, tiles
    if isinstance(value, pl.Graph):
        return state_of(value)
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tolist()
    if isinstance(value, Mapping):
        return {key: picture(each) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [picture(each) for each in value]
    if isinstance(value, io.StringIO):
        return value.getvalue()
    return value if isinstance(value, int | float | type | pl.Target) else repr(value)


def state_of(graph: pl.Graph) -> Any:
    """Return what a graph holds."""
    variables = [
        (picture(graph.getVariable(v)), v.initial_value, v.replica_values) for v in graph.variables
    ]
    vertices = [
        (repr(v), {name: picture(t) for name, t in v.connections.items()}, repr(v.state), v.tile)
        for compute_set in graph.compute_sets
        for v in compute_set.vertices
    ]
    handles = sorted(graph.host_reads), sorted(graph.host_writes), sorted(graph.function_buffers)
    return repr(graph), repr(variables), repr(vertices), handles


@pytest.mark.parametrize("row", ROWS, ids=[f"{r.owner}::{r.poplar}" for r in ROWS])
def test_both_spellings_do_the_same(row: Example, capsys: pytest.CaptureFixture[str]) -> None:
    if row.member == "addCodelets":
        skip_without_cpp()
    made: dict[str, Any] = {}
    seen: dict[str, tuple[Any, ...]] = {}
    for call in filter(None, (row.camel, row.ours, row.expected)):
        names = world(row.owner)
        made[call] = eval(call, names)
        result = picture(made[call])
        printed = capsys.readouterr().out, names["out"].getvalue()
        seen[call] = result, printed, state_of(names["graph"])
    assert row.ours or row.expected, "the row says nothing of what the call returns"
    assert not row.ours or seen[row.ours] == seen[row.camel]
    assert not row.expected or seen[row.expected][0] == seen[row.camel][0]
    if isinstance(made[row.camel], pl.Program) and "FunctionBuffer(" not in row.camel:
        # What it prints as hides its parts.
        names = world(row.owner)
        assert eval(row.camel, names).same_as(eval(row.ours or row.camel, names))


def test_functions_of_one_word_are_called_as_in_cpp() -> None:
    for row in ROWS:
        is_function = "(" in row.poplar and "operator" not in row.poplar
        name = row.member.rpartition(".")[2]
        assert not is_function or f"{name}(" in row.camel, row.poplar


def test_what_answers_to_a_call_is_a_plain_value() -> None:
    x = pl.Graph().add_variable(pl.FLOAT, (2, 3), "x")
    assert repr(x.shape) == "(2, 3)"
    assert x.shape() == x.shape
    assert json.loads(json.dumps({"shape": x.shape, "rank": x.rank()})) == {
        "shape": [2, 3],
        "rank": 2,
    }
    assert (
        np.zeros(x.shape()).shape == copy.deepcopy(x.shape) == pickle.loads(pickle.dumps(x.shape))
    )
    odd: Any = pl.Interval("a", 2.5)  # type: ignore[arg-type]
    assert (odd.begin, odd.end) == ("a", 2.5)  # whoever uses it says what is wrong
