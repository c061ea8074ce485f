"""Public functions refuse arguments of wrong kinds, and say what fits, by poplite's own errors."""

from __future__ import annotations

import importlib
import inspect
import io
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
import poplite.named as ng
from helpers import public_names
from helpers.depth import thinned
from helpers.wrong_arguments import WRONG, faults_of
from poplite import ipu, ops, ops as typed_ops, testing
from poplite.compat import popnn, popops
from poplite.errors import Enumeration
from poplite.public import checked_call, loaded_on_use
from poplite.text import clipped
from poplite.vertices import Add

# -- arguments that fit no signature ---------------------------------------------------------------


unchecked_ops: Any = typed_ops
unchecked_testing: Any = testing

_GRAPH: Any = pl.Graph(pl.Target(tiles=4))
_X: Any = _GRAPH.add_variable(pl.FLOAT, (4, 6), "x", mapping=0)
_N = ng.make_axis(3, "N")
_NAMED = ng.variable([_N], 1.0, name="t")

MISFITS: dict[str, tuple[Callable[[], Any], str, str]] = {
    "ops.sum": (
        lambda: unchecked_ops.sum(_X, dim=0),
        "ops.sum(x, dims=None, *, keepdims=False)",
        "ops.sum(..., dims=0)",
    ),
    "ops.mean": (
        lambda: unchecked_ops.mean(_X, axes=(0, 1)),
        "ops.mean(x, dims=None, *, keepdims=False)",
        "ops.mean(..., dims=(0, 1))",
    ),
    "ops.nn.softmax": (
        lambda: unchecked_ops.nn.softmax(_X, dims=0),
        "ops.nn.softmax(x, dim=-1)",
        "ops.nn.softmax(..., dim=0)",
    ),
    "ops.clip": (
        lambda: unchecked_ops.clip(_X, a_min=0),
        "ops.clip(x, min=None, max=None)",
        "min=0",
    ),
    "ops.one_hot": (
        lambda: unchecked_ops.one_hot(_X, 4, axis=0),
        "ops.one_hot(indices, depth, *,",
        "",
    ),
    "ops.embedding": (lambda: unchecked_ops.embedding(_X), "ops.embedding(table, indices, *,", ""),
    "ops.plan_matmul": (
        lambda: unchecked_ops.plan_matmul(_GRAPH, (2, 3)),
        "ops.plan_matmul(graph, *, m, k, n,",
        "ops.plan_matmul(graph, m=..., k=..., n=...)",
    ),
    "x.sum": (
        lambda: _X.sum(dim=0),
        "x.sum(dims=None, *, keepdims=False, axis=None)",
        "x.sum(..., dims=0)",
    ),
    "pl.Graph": (
        lambda: vars(pl)["Graph"](tiles=4),
        "pl.Graph(target=None, replication_factor=1)",
        "pl.Graph(..., target=pl.Target(tiles=4))",
    ),
    "pl.Target": (lambda: vars(pl)["Target"](tile=4), "pl.Target(tiles=None,", "tiles=4)"),
    "graph.add_variable": (
        lambda: _GRAPH.add_variable(pl.FLOAT, (2,), nam="y"),
        "graph.add_variable(element_type, shape, name='', *, mapping=None,",
        "graph.add_variable(..., name='y')",
    ),
    "graph.add_constant": (
        lambda: _GRAPH.add_constant(pl.FLOAT, (2,), 1, tile=3),
        "graph.add_constant(element_type, shape, value, name='', *, mapping=None,",
        "graph.add_constant(..., mapping=3)",
    ),
    "testing.assert_vertex": (
        lambda: unchecked_testing.assert_vertex(pl.Vertex, x=1),
        "testing.assert_vertex(vertex, inputs, expected, *, rtol=0.0,",
        "testing.assert_vertex(V, {'x': values}, {'y': expected})",
    ),
    "ng.sum": (
        lambda: vars(ng)["sum"](_NAMED, axis=_N),
        "ng.sum(x, reduction_axes=None, out_axes=None)",
        "ng.sum(..., reduction_axes=",
    ),
}


@pytest.mark.parametrize("called", MISFITS)
def test_what_fits_is_said(called: str) -> None:
    call, signature, instead = MISFITS[called]
    with pytest.raises(
        pl.ElementTypeError, match=f"^{called}: (got an unexpected|missing|too many positional)"
    ) as caught:
        call()
    error = caught.value
    assert signature in error.found
    assert instead in error.fix
    assert bool(instead) == bool(error.fix)
    assert error.at is not None
    assert error.at.file == __file__


def test_surplus_arguments_are_shown_by_keyword() -> None:
    add: Any = _GRAPH.add_variable
    with pytest.raises(pl.ElementTypeError, match="too many positional arguments") as caught:
        add(pl.FLOAT, (2,), "y", "linear")
    assert caught.value.fix == "graph.add_variable(..., mapping='linear')"


def test_a_type_error_within_a_call_stays_as_it_is() -> None:
    def fails(x: int) -> None:
        raise TypeError(f"of its own, {x}")

    with pytest.raises(TypeError, match="^of its own, 3$"):
        checked_call(fails, "fails")(3)


def test_signatures_and_docstrings_are_those_of_the_functions() -> None:
    assert list(inspect.signature(pl.Graph.add_variable).parameters)[:4] == [
        *("self", "element_type", "shape", "name"),
    ]
    assert str(inspect.signature(unchecked_ops.clip)).startswith("(x")
    assert inspect.getdoc(pl.Graph.add_variable).startswith("Create a variable")  # type: ignore[union-attr]


def test_a_name_that_two_threads_load_at_once_is_one_object(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, load, _ = loaded_on_use("poplite.ipu", shown_as=lambda name, value: object())
    monkeypatch.delattr(ipu, "lint", raising=False)
    first = load("lint")
    monkeypatch.setattr(ipu, "lint", first)  # is taken away in the end
    assert load("lint") is first


# -- values of wrong kinds -------------------------------------------------------------------------
# The calls are those of `helpers.public_calls`, in which each argument in turn is exchanged for
# each of `helpers.wrong_arguments.WRONG`.


# Lists that are nested by the thousand bring Python near its limit of recursion, where a callback
# of the garbage collector may fall; what is raised there is dropped, with a warning.

_MADE = {
    *("ComputeSet", "DataStream", "Executable", "Expr", "FieldData", "FieldRef", "Function"),
    *("FunctionBuffer", "HostFunction", "Intervals", "RemoteBuffer", "Report", "SortedRegions"),
    *("Tensor", "TensorRearranger", "TileRegions", "VarRegions", "Variable"),
    *("VertexBlock", "VertexInstance"),
}
FORMS = "CodeCopy", "HostCall", "RemoteCopy", "StreamCopy", "TensorCopy"
_PROGRAMS = {
    f"pl.{name}.mark_used": "engines call it"
    for name, value in vars(pl.program).items()
    if isinstance(value, type) and issubclass(value, pl.Program)
}

WITHOUT_CALL = {
    "core": {
        **{f"pl.{name}": "functions and methods of poplite return it" for name in _MADE},
        **{name: why for name, why in _PROGRAMS.items() if name[3:].split(".")[0] in pl.__all__},
        "pl.TileMapping.of": "graphs make it of views",
        "pl.TileMapping.renumbered": "virtual graphs make it of others",
        "pl.Variable.initial_value_of": "engines call it",
        "pl.Vertex": "users derive from it",
        **{
            f"pl.{name}": "users annotate fields with it"
            for name in ("Input", "InOut", "Output", "State")
        },
        "pl.MultiVertex": "users derive from it",
        "pl.MultiVertex.compute": "users write it",
        "pl.StreamCallback.fetch": "users write it",
        "pl.counted_loop": "among operations",
        "pl.graph_function": "among operations",
        "pl.sweep": "it starts processes; its own tests refuse what does not fit",
    },
    "around": {
        "testing.AddressedTensor": "testing.variables makes it",
        "testing.check_codelet": "it compiles C++; another test here has wrong vertices",
        "testing.check_faster": "it compiles; another test here has wrong vertices",
        "pl.mpi.Device": "it needs an MPI library; tests on ranks refuse what does not fit",
        "pl.ipu.Device": "it needs an SDK; its own tests refuse what does not fit",
        **{
            f"pl.{room}.Device.{name}": "engines call it"
            for room in ("mpi", "ipu")
            for name in ("load", "options")
        },
        "pl.ipu.Finding": "pl.ipu.lint makes it",
        "pl.program.RepeatWhile": "users make one of two kinds of it",
        **{
            f"pl.program.{name}": "another program makes it"
            for name in (*FORMS, "CycleStamp", "Step")
        },
        **{
            f"pl.program.{name}.{method}": "engines call it, and pl.Program has it"
            for name in (*FORMS, "CycleStamp", "Growing", "Mark", "RepeatWhile", "SetMode", "Stop")
            for method in ("mark_used", "same_as")
        },
    },
    "operations": {
        "LoopIndex": "ops.repeat makes it",
        "ops.Note": "operations write them down",
        "ops.Note.of": "operations write them down",
        "ops.nn.RecurrentPlan": "ops.nn.plan_lstm and ops.nn.plan_gru make it",
    },
    "named_axes": {
        "ng.Axis": "ng.make_axis makes it",
        "ng.AxisRole": "ng.make_axis_role makes it",
        "ng.Computation": "transformers make it",
        "ng.Computation.to_xarray": "it needs xarray; its own tests refuse what does not fit",
        "ng.Op": "operations make it",
        "ng.Transformer": "ng.make_transformer makes it",
        "ng.FlattenedAxis.add_role": "it refuses all roles",
        "ng.Transformer.variable": "computations call it",
        **{f"ng.Layout.{name}": "descriptions call it" for name in ("by", "size_of")},
        **{f"ng.TensorDescription.{name}": "descriptions call it" for name in ("on", "seen")},
    },
    "libraries": {
        "popops.expr.Any.of": "each kind of expression has its own",
        **{f"popops.{name}InPlace": "BOOL has no order" for name in ("gt", "gteq", "lt", "lteq")},
    },
}
"""What has no call that works, with the reason: most of it poplite makes itself."""

CALLED_BY_USERS = {"pl.mpi.Device", "pl.ipu.Device"}
"""Classes of these, for which something must be installed."""

ROOMS = sorted(WITHOUT_CALL)
PARTS = {"around": 6, "core": 6, "operations": 6, "named_axes": 6, "libraries": 24}
"""Of the exchanged calls, which are tried one part at a time; the libraries have most."""

SHARES = {"around": 24, "core": 24, "operations": 48, "named_axes": 24, "libraries": 192}
"""The first of so many parts is tried by default."""


def room_of(name: str) -> Any:
    return importlib.import_module(f"helpers.public_calls.{name}")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("room", ROOMS)
def test_every_public_function_has_a_call_that_works(room: str, tmp_path: Path) -> None:
    table = room_of(room)
    calls = [*table.calls(), *getattr(table, "OTHER_CALLS", ())]
    with table.world() as names:
        found = [each for call in calls for each in public_names.called(call, names)]
    known, methods = {id(each) for each in found}, [x for x in found if hasattr(x, "__self__")]
    listed = dict(getattr(public_names, room)())
    missing = {
        name
        for name, value in listed.items()
        if id(value) not in known and not any(value == each for each in methods)
    }
    assert missing == set(WITHOUT_CALL[room])


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::poplite.PopliteWarning")
@pytest.mark.parametrize("room", ROOMS)
def test_the_calls_work(room: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = room_of(room)
    calls = [call for call in table.calls() if not call.startswith("operator.")]
    with table.world() as names, redirect_stdout(io.StringIO()):
        for call in calls:
            eval(call, names)
    assert len(calls) > 50


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::poplite.PopliteWarning")
@pytest.mark.parametrize(
    ("room", "part", "parts"),
    thinned(
        [
            *((room, 0, SHARES[room]) for room in ROOMS),
            *((room, n, PARTS[room]) for room in ROOMS for n in range(PARTS[room])),
        ],
        len(ROOMS),
    ),
)
def test_wrong_kinds_end_in_errors_of_poplite(
    room: str, part: int, parts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table = room_of(room)
    calls = table.calls()
    with table.world() as names, redirect_stdout(io.StringIO()):
        faults, count = faults_of(calls, names, table.NOT_OURS, part, parts)
    assert count > len(calls) * len(WRONG) // parts
    assert faults == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("check", [testing.check_codelet, testing.check_faster])
def test_what_is_no_vertex_class_has_no_form_to_check(check: Callable[..., None]) -> None:
    for kind, value in WRONG.items():
        with pytest.raises(
            pl.ElementTypeError, match=rf"testing.{check.__name__}: vertex is"
        ) as of:
            check(value)
        assert of.value.fix == "pass a vertex class", kind
    with pytest.raises(pl.ElementTypeError, match="examples is 'x'"):
        check(Add[pl.FLOAT], examples="x")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("room", ["around", "core", "named_axes", "operations"])
def test_classes_that_only_poplite_calls_say_what_makes_their_objects(room: str) -> None:
    listed = dict(getattr(public_names, room)())
    refusing = {
        name: cls
        for name in WITHOUT_CALL[room]
        for cls in [listed[name]]
        if isinstance(cls, type) and name not in CALLED_BY_USERS
    }
    assert len(refusing) > 2
    faults = [
        f"{name}: {fault}"
        for name, cls in refusing.items()
        for count in range(5)
        for kind, value in WRONG.items()
        for fault in [_fault_of_made(cls, count, kind, value)]
        if fault
    ]
    assert faults == []


def _fault_of_made(cls: Any, count: int, kind: str, value: object) -> str:
    try:
        made = cls(*[value] * count)
    except pl.PopliteError as error:
        return "" if error.fix and error.at and error.at.file == __file__ else str(error)
    except TypeError as error:
        trace = error.__traceback__
        fits_none = trace is not None and trace.tb_next is None  # the signature refuses it
        return "" if fits_none else f"{count} x {kind}: {error!r}"
    return f"{count} x {kind} make {type(made).__name__}"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_users_make_no_parts_of_graphs_also_of_right_arguments() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    with pytest.raises(pl.ElementTypeError, match="Function: invalid arguments") as caught:
        pl.Function(graph, "f", pl.Sequence(), pl.SourceLocation.Current())
    assert caught.value.found == "only poplite calls this class"
    assert caught.value.fix == "graph.add_function(program)"
    report = pl.Engine(graph, pl.Sequence(), interpret=True).report()
    assert replace(report, order=()).execution == report.execution  # which has one to begin with


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_function_of_poplibs_is_called_by_its_name_where_arguments_fit_none() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (2,), "x", mapping=0)
    cast: Any = pl.compat.popops.cast
    with pytest.raises(TypeError, match=r"^popops\.cast: missing a required"):
        cast(graph, x, [0])
    assert cast.__qualname__ == "cast"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("rows", "shown"),
    [
        ([{"error": ""}], "row 0: 'grain' is None"),
        ([{"grain": 1, "error": ""}, {"grain": 2}], "row 1: 'error' is None"),
        ([{"grain": 1, "error": "", "cycles": "x"}], "row 0: 'cycles' is 'x'"),
        ([3], "row 0 is 3"),
        (3, "rows is 3, not a list"),
    ],
)
def test_rows_of_a_sweep_have_parameters_and_errors(rows: Any, shown: str) -> None:
    with pytest.raises(pl.ElementTypeError) as caught:
        pl.Sweep(["grain"], rows)
    assert caught.value.what == f"Sweep: {shown}"
    assert pl.Sweep(["grain"], [{"grain": np.int64(3), "cycles": 7, "error": ""}]).best() == {
        "grain": 3
    }


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ranks_are_whole_numbers_where_there_is_one() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (2,), "x", mapping=0, initial_value=3)
    engine: Any = pl.Engine(graph, pl.Sequence(), interpret=True)
    for root, found in (("x", "it is of type str"), (True, "it is of type bool"), (1, "ranks are")):
        with pytest.raises(
            pl.ControlProgramError, match=rf"root must be one of 1 rank; found {root!r}"
        ) as caught:
            engine.read(x, root=root)
        assert found in caught.value.found
    assert engine.read(x, root=0).tolist() == [3, 3]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_lists_in_lists_deeper_than_python_calls_are_named() -> None:
    graph, deep = pl.Graph(pl.Target(tiles=1)), WRONG["deep"]
    calls: list[Callable[[], object]] = [
        lambda: graph.add_variable(deep, (3,)),
        lambda: graph.add_constant(pl.INT, (1,), deep),
        lambda: pl.concat([deep]),
        lambda: ops.sqrt(deep),
        lambda: ng.placeholder(deep),
    ]
    for call in calls:
        with pytest.raises(pl.PopliteError) as caught:
            call()
        assert "list" in str(caught.value)
    assert clipped(deep) == "a very deep list"


# -- members of enumerations -----------------------------------------------------------------------


Use = Callable[[pl.Graph, pl.Tensor, Any], object]


def _serialized(graph: pl.Graph, x: pl.Tensor, format: Any) -> str:
    stream = io.StringIO()
    graph.serialize_tensors(stream, [x], format)
    return stream.getvalue()


def _reduced(graph: pl.Graph, x: pl.Tensor, operation: Any) -> str:
    program = pl.Sequence()
    popops.reduce(graph, x, [0], operation, program)
    return repr(program)


def _lstm(order: Any) -> popnn.lstm.LstmParams:
    named: Any = {"activation": "TANH", "recurrentActivation": "SIGMOID"}
    return popnn.lstm.LstmParams(pl.FLOAT, 2, 2, [3, 4], **named, cellOrder=order)


USES: dict[str, tuple[Enum, Use]] = {
    "upsample": (pl.UpsampleMethod.REPEAT, lambda g, x, m: x.upsample(2, 0, m).shape),
    "clone": (
        pl.TensorCloneMethod.CREATE_NEW_ORDER,
        lambda g, x, m: g.tile_mapping(g.clone(x, method=m)),
    ),
    "clone_n": (
        pl.TensorCloneDuplicationMethod.DUPLICATE_BY_OUTER_DIMENSION,
        lambda g, x, m: g.clone_n(x, 2, duplication=m).shape,
    ),
    "stream": (
        pl.ReplicatedStreamMode.BROADCAST,
        lambda g, x, m: (
            pl.Graph(g.target).add_host_to_device_fifo("a", pl.INT, 4, m).replicated_mode
        ),
    ),
    "function buffer": (
        pl.FunctionBufferMappingType.REMOTE,
        lambda g, x, m: repr(g.addFunctionBuffer(g.addFunction(pl.Sequence()), m))[:15],
    ),
    "serialize_tensors": (pl.SerializationFormat.JSON, _serialized),
    "Sync": (pl.SyncType.GLOBAL, lambda g, x, m: repr(pl.Sync(m))),
    "cycle_stamp": (
        pl.SyncType.EXTERNAL,
        lambda g, x, m: pl.cycle_stamp(g, pl.Sequence(), 0, m).shape,
    ),
    "getDevices": (
        pl.TargetType.CPU,
        lambda g, x, m: [repr(each) for each in pl.DeviceManager().getDevices(m)],
    ),
    "Layout": (pl.VectorLayout.ONE_PTR, lambda g, x, m: pl.Layout(m)),
    "QuarterMetadata": (pl.QuarterMetadata.Format.F152, lambda g, x, m: pl.QuarterMetadata(m)),
    "reduce": (popops.Operation.ADD, _reduced),
    "ReduceParams": (popops.Operation.MAX, lambda g, x, m: popops.ReduceParams(m).op),
    "topK": (
        popops.SortOrder.ASCENDING,
        lambda g, x, m: popops.topK(g, pl.Sequence(), x, popops.TopKParams(2, True, m)).shape,
    ),
    "nonLinearity": (
        popnn.NonLinearityType.RELU,
        lambda g, x, m: popnn.nonLinearity(g, m, x, pl.Sequence()).shape,
    ),
    "pool": (
        popnn.PoolingType.MAX,
        lambda g, x, m: popnn.PoolParams(
            m, [4], [2], [2], [0], [0], 1, 1, pl.FLOAT
        ).getOutputFieldShape(),
    ),
}


@pytest.mark.parametrize(("member", "use"), USES.values(), ids=USES)
def test_names_stand_for_members(member: Enum, use: Use) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (4, 3), "x", mapping="linear")
    assert use(graph, x, member.name) == use(graph, x, member)
    with pytest.raises(
        pl.PopliteError, match=f": 'NOTHING' is not in {type(member).__name__}"
    ) as caught:
        use(graph, x, "NOTHING")
    assert ", ".join(each.name for each in type(member)) in caught.value.found
    assert f"{next(iter(type(member))).name!r}" in caught.value.fix


def test_gates_of_cells_and_layouts_of_lists_have_names() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    order = popnn.lstm.getDefaultBasicLstmCellOrder()
    names = [each.name for each in order]
    made = [popnn.lstm.createWeights(graph, _lstm(each)) for each in (order, names)]
    assert made[0].inputWeights.shape == made[1].inputWeights.shape
    layout: Any = "DELTAN"
    assert pl.Layout(layout) == pl.Layout(pl.VectorListLayout.DELTAN)


def test_every_enumeration_finds_its_members_by_name() -> None:
    values = [*vars(popnn).values(), *vars(popops).values()]
    values += [getattr(pl, name) for name in pl.__all__]
    kinds: set[Any] = {each for each in values if inspect.isclass(each) and issubclass(each, Enum)}
    assert len(kinds) > 20
    for kind in kinds:
        assert issubclass(kind, Enumeration), kind
        assert [kind(each.name) for each in kind] == [*kind]
        for wrong in ("x", 7.5, None, [1]):
            with pytest.raises(pl.InvalidOption, match=rf"is not in {kind.__name__}"):
                kind(wrong)
