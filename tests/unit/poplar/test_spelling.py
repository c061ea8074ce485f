"""The C++ spelling of members, and arguments in the order of a declaration."""

from __future__ import annotations

import inspect
import pickle
import pydoc
import re
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.poplar_spellings import FILE, written
from poplite.poplar.absent import absent_members
from poplite.poplar.binder import Binder, DeclaredParameter, parameters_of
from poplite.poplar.declarations import TEXTS, Row, declared_rows

ALL_ROWS = [row for owner in TEXTS for row in declared_rows(owner)]

# -- spelling --------------------------------------------------------------------------------------


def test_the_file_for_type_checkers_is_that_of_the_declarations() -> None:
    assert FILE.read_text() == written(), "python tests/helpers/poplar_spellings.py"


def test_a_method_with_poplars_order_is_the_same_function_checked() -> None:
    assert inspect.unwrap(pl.Tensor.dimShuffle) is pl.Tensor.dim_shuffle
    assert inspect.unwrap(pl.Tensor.getVarRegions) is pl.Tensor.var_regions


def test_what_is_made_has_its_name_and_its_declarations() -> None:
    made = pl.Tensor.getMetadata
    assert (made.__name__, made.__qualname__) == ("getMetadata", "Tensor.getMetadata")
    assert made.__doc__ is not None
    assert "Tensor getMetadata() const" in made.__doc__
    with pytest.raises(TypeError):
        pl.Graph().add_variable(pl.FLOAT, (2,)).getMetadata(3)  # type: ignore[call-arg]


def heard(values: Any = None) -> None:
    """A callback."""


def names() -> dict[str, Any]:
    """Return objects that calls are tried on."""
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (4, 6), "x", mapping="linear")
    stream = graph.add_host_to_device_fifo("in", pl.FLOAT, 24)
    engine = pl.Engine(graph, pl.Copy(stream, x))
    buffer = graph.add_remote_buffer("b", pl.FLOAT, 24)
    cs, seq = graph.add_compute_set("cs"), pl.Sequence()
    number = graph.add_variable(pl.INT, (), "number", mapping=0)
    metadata = pl.QuarterMetadata(pl.QuarterMetadata.Format.F143, 1)
    public = (
        "Graph FLOAT QUARTER Execute If WriteUndef Sync CrossReplicaCopy Target Device Repeat "
        "PrintTensor Copy Call Switch Abort cycleCount"
    )
    return {**locals(), "f": heard} | {name: getattr(pl, name) for name in public.split()}


MISFITS = {
    "x.dimRoll(1, 0, 2)": (
        "dimRoll: too many positional",
        "arguments: 1, 0, 2",
        "dimRoll(unsigned",
    ),
    "x.dimShuffle(1, 0)": (
        "dimShuffle: too many",
        "arguments: 1, 0",
        "dimShuffle(ArrayRef<unsigned>",
    ),
    "x.slices([(0, 1)], dimension=1)": (
        "slices: got an unexpected keyword argument 'dimension'",
        "arguments: [(0, 1)], dimension",
        "in order; by name as slices(intervals, dim=None, *, axis=None)",
    ),
    "x.isContiguous(3)": ("isContiguous: too many", "arguments: 3", "bool isContiguous() const"),
    "stream.numElements(3)": (
        "numElements: too many",
        "arguments: 3",
        "size_t numElements() const",
    ),
    "buffer.getRepeats(2)": ("getRepeats: too many", "arguments: 2", "size_t getRepeats() const"),
    "Target.createIPUTarget()": (
        "createIPUTarget: missing",
        "arguments: none",
        "static Target createIPUTarget(StringRef systemType, const OptionFlags &opts = {})",
    ),
    "Target.createIPUTarget(1, 2, 3, 4, 5)": (
        "too many",
        "arguments: 1, 2, 3, 4, 5",
        "tilesPerIPU",
    ),
    "engine.reportTiming(1)": ("reportTiming: missing .*'end'", "arguments: 1", "&start, const"),
    "Device.createCPUDevice(1, 2)": ("createCPUDevice: too many", "arguments: 1, 2", "numIPUs = 1"),
    "graph.getTileMapping(x, requireComplete=False)": (
        "getTileMapping: got an unexpected keyword argument 'requireComplete'",
        "requireComplete",
        "in order; by name as tile_mapping(tensor, require_complete=True)",
    ),
    "graph.addVariable()": (
        "addVariable: missing a required argument: 'element_type'",
        "arguments: none",
        "Tensor addVariable(const Type &type, ArrayRef<std::size_t> shape, const DebugContext "
        "&debugContext = {})",
    ),
    "graph.addVariable(1, 2, 3, 4, 5, 6)": (
        "1 argument too many",
        "arguments: 1, 2, 3",
        "metadata",
    ),
    "engine.connectStreamToCallback('in', f, 0)": (
        "connectStreamToCallback: index is <function heard at .*>, not a whole number",
        "it is of type function",
        "(StringRef handle, unsigned index, StreamCallbackHandle f)",
    ),
    "engine.connectStreamToCallback('in', None, f)": (
        "connectStreamToCallback: index is None, not a whole number",
        "it is of type NoneType",
        "unsigned index",
    ),
    "Repeat(3)": (
        "Repeat: missing .*'body'",
        "arguments: 3",
        "Repeat(unsigned count, const Program",
    ),
    "PrintTensor()": ("PrintTensor: missing", "arguments: none", "const PrintTensorFmt &fmt = {}"),
    "Copy(x)": ("Copy: missing .*'destination'", "arguments: <Tensor", "Copy(Tensor src, "),
    "Call()": ("Call: missing", "arguments: none", "Call(Function f, const DebugContext"),
    "Switch(x, nonsense=1)": (
        "keyword argument 'nonsense'",
        "nonsense",
        "by name as Switch(control, cases=()",
    ),
    "Abort('a', 'b', 'c')": (
        "Abort: 1 argument too many",
        "arguments: 'a', 'b', 'c'",
        "std::string",
    ),
    "cycleCount(graph)": ("cycleCount: missing", "arguments: <Graph", "unsigned tile, SyncType"),
    "WriteUndef(3, 'n')": ("WriteUndef: 3 is not a tensor", "type int", "WriteUndef(tensor)"),
    "If(x[0, 0], seq, seq, 'n')": ("If: predicate .* is FLOAT", "", ""),
    "Execute(cs, 3, 'n')": ("Execute 'cs': result 3 is not a tensor", "", "all_done ="),
    "PrintTensor('t', x, 3, 'n')": ("PrintTensor 't': 3 is not a format", "type int", ""),
    "PrintTensor(3, 4, 5)": (r"PrintTensor\(3, 4\) has no tensor to print", "title 3", ""),
    "Sync('foo', 'n')": ("Sync: 'foo' is not in SyncType", "type str", ""),
    "CrossReplicaCopy(x, number, {0: 0}, 'n')": ("CrossReplicaCopy.*FLOAT to INT", "", ""),
    "Switch(3, 'n')": ("Switch: control 3 is not a tensor", "type int", ""),
    "graph.cloneN(FLOAT, x)": (
        "cloneN: missing a required argument: 'n'",
        "arguments: FLOAT, <Tensor 'x'",
        "Tensor cloneN(const Type &type, const Tensor &t, std::size_t N",
    ),
    "graph.addConstant(FLOAT, metadata, [4])": (
        "addConstant: missing a required argument: 'value'",
        "arguments: FLOAT, QuarterMetadata",
        "Tensor addConstant(const Type &type, const Tensor &metadata",
    ),
    "Graph.getTarget()": ("getTarget: missing .*'self'", "arguments: none", "getTarget() const"),
    "Graph.addVariable()": (
        "addVariable: missing .*'self'",
        "arguments: none",
        "addVariable(const",
    ),
    "Graph.addVariable(shape=3)": (
        "addVariable: missing .*'self'",
        "arguments: shape",
        "addVariable(",
    ),
    "Graph.getTarget(self=graph)": ("getTarget: .*'self'", "arguments: self", "getTarget() const"),
    "engine.connectHostFunction('in', f, 0)": ("index is <function", "function", "unsigned index"),
}
"""Calls that fit no declaration, and what the error says: its message, what was found, a remedy."""


@pytest.mark.parametrize("call", MISFITS)
def test_arguments_that_fit_no_declaration_are_refused_with_it(call: str) -> None:
    message, found, fix = MISFITS[call]
    with pytest.raises(pl.ElementTypeError, match=message) as caught:
        eval(call, names())
    assert found in caught.value.found
    assert fix in caught.value.fix
    assert caught.value.at is not None


def test_callbacks_are_connected_to_all_replicas_or_to_one() -> None:
    objects = names()
    for call in ("('in', f)", "('in', 0, f)"):
        assert eval(f"engine.connectStreamToCallback{call}", objects) is None


def test_what_begins_a_declaration_takes_the_rest_by_name() -> None:
    objects = names()
    for call, shape in {
        "graph.cloneN(FLOAT, x, n=2)": (2, 4, 6),
        "graph.cloneN(QUARTER, metadata, x, n=2)": (2, 4, 6),
        "graph.addConstant(QUARTER, metadata, [4, 4], value=3)": (4, 4),
        "graph.addVariable(QUARTER, metadata, shape=[4, 4])": (4, 4),
    }.items():
        made = eval(call, objects)
        assert made.shape == shape
        assert made.element_type is (pl.FLOAT if "FLOAT" in call else pl.QUARTER)


def test_none_stands_for_a_default_in_order() -> None:
    objects = names()
    for call in ("{0: seq}, None", "{0: seq}, None, 'n'", "{0: seq}, None, name='n'"):
        switch = eval(f"Switch(number, {call})", objects)
        assert switch.same_as(pl.Switch(objects["number"], {0: objects["seq"]}))
    switch = eval("Switch(number, seq, None)", objects)
    assert switch.default is objects["seq"]
    for call in ("x, None, None", "x, None, None, 'n'"):
        assert eval(f"PrintTensor({call})", objects).same_as(pl.PrintTensor(objects["x"]))
    short = pl.PrintTensorFormat(digits=3)
    assert eval("PrintTensor(x, None, short)", objects | {"short": short}).format is short


@pytest.mark.parametrize("call", ["Switch(number, {0: seq}, 3)", "Switch(number, {}, None, 3)"])
def test_what_is_no_default_or_no_name_is_told(call: str) -> None:
    message = "default: 3 is not a program" if "seq" in call else "Switch: name 3 is not a string"
    with pytest.raises(pl.ControlProgramError, match=message):
        eval(call, names())


@pytest.mark.parametrize(
    "name",
    [
        "Tensor.dimRoll",
        "Tensor.getMetadata",
        "Graph.addComputeSet",
        "Graph.addVariable",
        "Target.createIPUTarget",
        "cycleCount",
    ],
)
def test_a_name_of_poplar_is_pickled_by_reference(name: str) -> None:
    function = eval(f"pl.{name}")
    assert pickle.loads(pickle.dumps(function)) is function
    assert function.__qualname__ == name


# -- order of arguments ----------------------------------------------------------------------------


class Ours:
    """A class with a method, which returns what it was given."""

    def add(self, shape: Any, name: str = "", *, mapping: Any = None) -> tuple[Any, ...]:
        """Return the arguments."""
        return shape, name, mapping

    def count(self) -> float:
        """Return a number that C++ declares whole."""
        return 3.0


def bound(*lines: tuple[str, str]) -> Binder:
    """Return a binder of declarations with what each is here."""
    return Binder(
        [Row("Ours", declaration, ours, "it is returned", "") for declaration, ours in lines]
    )


ADD = (
    (
        "T f(S shape, VariableMappingMethod m, const DebugContext &name = {})",
        "add(shape, name, mapping=m)",
    ),
    ("T f(S shape, const DebugContext &name = {})", "add(shape, name)"),
)


@pytest.mark.parametrize(
    ("arguments", "keywords", "passed"),
    [
        ((4,), {}, (4, "", None)),
        ((4, "x"), {}, (4, "x", None)),
        ((4, "LINEAR"), {}, (4, "", "linear")),
        ((4, pl.VariableMappingMethod.NONE, "x"), {}, (4, "x", None)),
        ((4,), {"name": "x", "mapping": 2}, (4, "x", 2)),
        ((), {"shape": 4}, (4, "", None)),
    ],
)
def test_the_first_declaration_that_fits_is_meant(
    arguments: tuple[Any, ...], keywords: dict[str, Any], passed: tuple[Any, ...]
) -> None:
    assert bound(*ADD).call(Ours(), arguments, keywords) == passed


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        ((4, "LINEAR"), {"mapping": 2}, "f: mapping is passed by position, 'linear', and by name"),
        ((4, "x", 1, 2), {}, "f: 2 arguments too many"),
        ((), {}, "f: missing a required argument: 'shape'"),
        ((4,), {"nonsense": 1}, "f: got an unexpected keyword argument 'nonsense'"),
        ((4, "x", 3), {}, "f: m: 'x' is not in VariableMappingMethod"),
    ],
)
def test_what_fits_no_declaration_is_refused(
    arguments: tuple[Any, ...], keywords: dict[str, Any], message: str
) -> None:
    with pytest.raises(pl.PopliteError, match=message):
        bound(*ADD).call(Ours(), arguments, keywords)


def test_a_pointer_that_ours_does_not_take_is_refused_with_the_note() -> None:
    binder = bound(("bool count(T *result)", "count()"))
    assert binder.call(Ours(), (), {}) == 3
    with pytest.raises(
        pl.ElementTypeError, match=r"count: result is \[1\], but is a pointer in C\+\+"
    ) as caught:
        binder.call(Ours(), ([1],), {})
    assert (caught.value.found, caught.value.fix) == ("it is returned", "omit result")


def test_results_are_whole_where_the_declaration_says_so() -> None:
    found = bound(("unsigned count() const", "count()")).call(Ours(), (), {})
    assert (found, type(found)) == (3, int)


def test_errors_of_our_method_are_its_own() -> None:
    class Failing:
        def add(self, shape: Any) -> None:
            raise TypeError("inside")

    with pytest.raises(TypeError, match="^inside$"):
        bound(("T f(S shape)", "add(shape)")).call(Failing(), (1,), {})


def test_parameters_are_read_with_types_names_and_defaults() -> None:
    text = 'V f(const std::map<unsigned, T> &m, T *p, const D &c = {"<const>"}, R r = R(1)) const'
    assert parameters_of(text) == (
        DeclaredParameter("std::map<unsigned, T>", "m", ""),
        DeclaredParameter("T *", "p", ""),
        DeclaredParameter("D", "c", '{"<const>"}'),
        DeclaredParameter("R", "r", "R(1)"),
    )


def test_every_declaration_can_be_read() -> None:
    for row in ALL_ROWS:
        assert row.member.isidentifier() or row.member.startswith("operator")
        for parameter in parameters_of(row.declaration):
            assert parameter.type
            assert parameter.name.isidentifier()
        if "(" in row.ours:
            Binder([row])


@pytest.mark.parametrize("truth", [False, np.bool_(False)])
def test_truth_values_of_python_and_numpy_choose_the_same_declaration(truth: Any) -> None:
    graph: Any = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (4,), "x", mapping="linear")
    assert graph.getTileMapping(x, truth) == graph.tile_mapping(x)


@pytest.mark.parametrize("owner", ["Graph", "Engine", "Tensor", "Target", "Device", "IPUModel"])
def test_absent_members_are_listed_neither_by_dir_nor_by_help(owner: str) -> None:
    cls: type = getattr(pl, owner)
    listed, absent = set(dir(cls)), set(absent_members(owner))
    assert listed.isdisjoint(absent)
    assert all(hasattr(cls, name) for name in listed - {"__abstractmethods__"})
    documented = set(re.findall(r"^ \|  (\w+)$", pydoc.plain(pydoc.render_doc(cls)), re.MULTILINE))
    assert documented.isdisjoint(absent)
    assert "einsum" not in documented


def test_absent_members_of_an_object_are_refused_and_not_listed() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x: Any = graph.add_variable(pl.FLOAT, (3,), "x")
    for owner, name in (
        (graph, "addExternalVariable"),
        (graph.target, "makeFpIctlValue"),
        (x, "einsum"),
    ):
        assert name not in dir(owner)
        with pytest.raises(pl.AbsentMember, match=name):
            getattr(owner, name)
