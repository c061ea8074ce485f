"""Every element type on the engine, and HALF and QUARTER in compiled code."""

from __future__ import annotations

import copy
import ctypes
import json
import pickle
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Generic, TypeVar

import llvmlite.binding as llvm
import numpy as np
import numpy.typing as npt
import pytest
from llvmlite import ir

import poplite as pl
from helpers.depth import deep, thinned, values_only
from helpers.running import both_forms, words_of
from poplite.jit import build
from poplite.simulator.codegen import codecs, compute_code
from poplite.simulator.codegen.accessors import COMPUTE
from poplite.types import (
    ELEMENT_TYPES,
    NUMPY_TYPES,
    ElementType,
    QuarterFormat,
    QuarterMetadata,
    decode,
    encode,
)

# -- every type ------------------------------------------------------------------------------------


Element = type[ElementType[Any]]
T = TypeVar("T", bound=ElementType[Any])
METADATA = pl.QuarterMetadata("F143", scale=1)
KEPT = [pl.QUARTER, pl.FLOAT, pl.HALF, pl.SHORT, pl.UNSIGNED_CHAR, pl.LONGLONG, pl.BOOL]
"""Element types that vertices take by default: one of each kind and size."""


class Turn(pl.Vertex, Generic[T]):
    """Writes a vector backwards, by way of a scalar, state and rows."""

    x: pl.Input[pl.Vector[T]]
    rows: pl.Input[pl.Vector[pl.Vector[T]]]
    first: pl.Input[T]
    y: pl.Output[pl.Vector[T]]
    last: pl.Output[T]
    kept: pl.InOut[pl.Vector[T]]

    def compute(self) -> None:
        n = len(self.x)
        for i in range(n):
            self.y[n - 1 - i] = self.x[i]
        self.last = self.first
        for r in range(len(self.rows)):
            self.kept[r] = self.rows[r][0]


class Hold(pl.Vertex, Generic[T]):
    """Copies state to a tensor."""

    values: pl.State[pl.Vector[T]]
    one: pl.State[T]
    y: pl.Output[pl.Vector[T]]

    def compute(self) -> None:
        for i, value in enumerate(self.values):
            self.y[i] = value
        self.y[len(self.values)] = self.one


def samples(element: Element) -> np.ndarray:
    """Eight values with the extremes of the type among them."""
    if element.dtype.kind == "b":
        return np.array([1, 0, 0, 1, 1, 0, 1, 1], bool)
    if element is pl.QUARTER:
        return np.array([0, 0.5, -1, 480, -480, 2, 3, 2.0**-9], np.float32)
    limits: Any = np.iinfo(element.dtype.name) if element.dtype.kind in "iu" else None
    limits = limits or np.finfo(element.dtype)
    return np.array([0, 1, limits.max, limits.min, 2, 3, 5, 7], element.dtype)


def variable(graph: pl.Graph, element: Element, shape: tuple[int, ...], name: str) -> pl.Tensor:
    metadata = METADATA if element is pl.QUARTER else None
    return graph.add_variable(element, shape, name, mapping=0, metadata=metadata)


@pytest.mark.parametrize("element", ELEMENT_TYPES)
def test_the_host_takes_back_what_it_wrote(element: Element) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = variable(graph, element, (2, 8), "x")
    engine = pl.Engine(graph, pl.Sequence(), options=values_only())
    values = samples(element)
    engine.write(x, np.zeros((), values.dtype))
    engine.write(x.T[:, 1], values)
    found = engine.read(x)
    assert found.dtype == values.dtype
    assert found[1].tolist() == values.tolist()
    assert not found[0].any()


@pytest.mark.parametrize(
    "options", thinned([{}, {"interpret": True}, {"checks": "fast"}], keep=2), ids=str
)
@pytest.mark.parametrize("element", thinned(ELEMENT_TYPES, KEPT))
def test_vertices_read_and_write_every_type(element: Element, options: dict[str, Any]) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x, y = variable(graph, element, (8,), "x"), variable(graph, element, (8,), "y")
    last, kept = variable(graph, element, (), "last"), variable(graph, element, (2,), "kept")
    turn = graph.add_compute_set("turn")
    graph.add_vertex(
        turn, Turn, tile=0, x=x, rows=[x[2:3], x[3:6]], first=x[3], y=y, last=last, kept=kept
    )
    copied = variable(graph, element, (2, 4), "copied")
    program = pl.Sequence(pl.Execute(turn), pl.Copy(y.reshape((4, 2)).T, copied))
    engine = pl.Engine(graph, program, options=values_only(), **options)
    values = samples(element)
    engine.write(x, values)
    engine.run()
    assert engine.read(y).tolist() == values[::-1].tolist()
    assert engine.read(copied).tolist() == values[::-1].reshape(4, 2).T.tolist()
    assert engine.read(last) == values[3]
    assert engine.read(kept).tolist() == values[2:4].tolist()


@pytest.mark.parametrize("interpret", [False, True])
@pytest.mark.parametrize(
    "element", thinned([t for t in ELEMENT_TYPES if t is not pl.QUARTER], KEPT[1:])
)
def test_state_of_every_type(element: Element, interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    y = variable(graph, element, (9,), "y")
    hold = graph.add_compute_set("hold")
    values = samples(element)
    one = values[2].item()
    graph.add_vertex(hold, Hold[element], tile=0, values=values, one=one, y=y)  # type: ignore[valid-type]
    engine = pl.Engine(graph, pl.Execute(hold), interpret=interpret, options=values_only())
    engine.run()
    assert engine.read(y).tolist() == [*values.tolist(), one]


@pytest.mark.parametrize("element", [t for t in NUMPY_TYPES if t.dtype.kind in "iu"])
def test_integers_outside_the_range_are_refused(element: Element) -> None:
    graph = pl.Graph()
    x = graph.add_variable(element, (2,), "x")
    limits = np.iinfo(element.dtype.name)
    for beyond in (limits.max + 1, limits.min - 1):
        message = f"^'x': {beyond} does not fit {element!r}"
        with pytest.raises(pl.SizeOverflowError, match=message) as caught:
            graph.set_initial_value(x, beyond)
        assert caught.value.found == f"{element!r} ranges from {limits.min} to {limits.max}"


def test_a_half_too_large_is_refused_and_others_are_rounded_once() -> None:
    graph = pl.Graph()
    x = graph.add_variable(pl.HALF, (2,), "x", initial_value=[0.1, 2049.0000001])
    assert graph.variables[0].initial_value is not None
    # By way of float32 the second would be 2049 exactly, half-way, and go to 2048.
    assert graph.variables[0].initial_value.tolist() == [float(np.float16(0.1)), 2050]
    with pytest.raises(pl.SizeOverflowError, match=r"^'x': 65520\.0 does not fit HALF") as caught:
        graph.set_initial_value(x, 65520.0)
    assert caught.value.found == "HALF ranges from -65504.0 to 65504.0"


@pytest.mark.parametrize(
    ("one", "other"), [(pl.CHAR, pl.SIGNED_CHAR), (pl.HALF, pl.SHORT), (pl.INT, pl.FLOAT)]
)
def test_no_type_stands_for_another(one: Element, other: Element) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    a, b = variable(graph, one, (4,), "a"), variable(graph, other, (4,), "b")
    with pytest.raises(pl.ElementTypeError, match=f"does not convert {one!r} to {other!r}"):
        pl.Copy(a, b)
    with pytest.raises(pl.ElementTypeError, match=f"concat: tensor 1 is {other!r}, tensor 0 is"):
        pl.concat(a, b)
    compute_set = graph.add_compute_set()
    message = f"field 'y' needs {one!r}, but 'b' is {other!r}"
    with pytest.raises(pl.ElementTypeError, match=message):
        graph.add_vertex(compute_set, Hold[one], tile=0, values=[1], one=1, y=b)  # type: ignore[valid-type]
    assert not compute_set.vertices
    assert pl.concat(a, b.reinterpret(one)).shape == (8,)


@pytest.mark.parametrize("element", ELEMENT_TYPES)
def test_bits_are_read_as_another_type_of_equal_size(element: Element) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    bits = np.arange(1, 9).astype(f"u{element.size_bytes}")
    raw = variable(graph, element, (8,), "x").reinterpret(bits.dtype)
    engine = pl.Engine(graph, pl.Sequence(), options=values_only())
    engine.write(raw, bits)
    stored = engine.read(raw)
    assert stored.tolist() == bits.tolist()
    if element in NUMPY_TYPES and element is not pl.BOOL:
        values = engine.read(raw.reinterpret(element))
        assert values.tobytes() == bits.tobytes()
    wider = pl.LONGLONG if element.size_bytes < 8 else pl.INT
    message = f"has {element.size_bytes} bytes?, but {wider!r} has {wider.size_bytes}"
    with pytest.raises(pl.ElementTypeError, match=message):
        raw.reinterpret(wider)


# -- variables of which a part has initial values: the other elements are zeros, and unwritten -----


class Next(pl.Vertex):
    x: pl.Input[pl.Vector[pl.INT]]
    out: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(len(self.out)):
            self.out[i] = self.x[i] + 1


def built(*, replicas: int = 1) -> tuple[pl.Graph, pl.Tensor, dict[str, pl.Program]]:
    """A graph with `b` of 8 elements, and programs that read two of them each, from 0 to 6."""
    graph = pl.Graph(pl.Target(tiles=2, ipus=replicas), replication_factor=replicas)
    b = graph.add_variable(pl.INT, (8,), "b", mapping=0)
    out = graph.add_variable(pl.INT, (2,), "out", mapping=0)
    programs: dict[str, pl.Program] = {}
    for at in range(0, 8, 2):
        compute_set = graph.add_compute_set(f"next {at}")
        graph.add_vertex(compute_set, Next, tile=0, x=b[at : at + 2], out=out)
        programs[str(at)] = pl.Execute(compute_set)
    return graph, b, programs


def unwritten(engine: pl.Engine) -> list[int]:
    """Return the first element that each program finds that nothing has written."""
    found: list[int] = []
    for at in range(0, 8, 2):
        try:
            engine.run(str(at))
        except pl.UninitializedReadError as error:
            said = re.findall(r"which is 'b'\[(\d)\], but nothing has written it", error.what)
            found += map(int, said)
    return found


@both_forms
def test_elements_without_a_value_are_unwritten(interpret: bool) -> None:
    graph, b, programs = built()
    graph.set_initial_value(b[:4], [1, 2, 3, 4])
    engine = pl.Engine(graph, programs, checks="strict", interpret=interpret)
    assert unwritten(engine) == [4, 6]
    engine.run("2")
    assert engine.read(graph.tensor("out")).tolist() == [4, 5]
    with pytest.warns(pl.UninitializedWarning, match="written 4 of 8 elements"):
        assert engine.read(b).tolist() == [1, 2, 3, 4, 0, 0, 0, 0]
    engine.write(b[4:], [5, 6, 7, 8])
    assert unwritten(engine) == []
    engine.load()
    assert unwritten(engine) == [4, 6]


def test_a_value_set_in_parts_is_whole() -> None:
    graph, b, programs = built()
    graph.set_initial_value(b[6:], 7)
    graph.set_initial_value(b[1::2].reverse(0), [1, 2, 3, 4])
    assert unwritten(pl.Engine(graph, programs, checks="strict")) == [0, 2, 4]
    graph.set_initial_value(b[:6], 9)
    executable = pl.compile_graph(graph, programs)
    assert executable.layout.variables[0].with_value is None
    assert unwritten(pl.Engine(executable)) == []


def test_each_replica_has_its_own() -> None:
    graph, b, programs = built(replicas=2)
    graph.set_initial_value(b[:2], {1: 3})
    graph.set_initial_value(b[:4], 5)
    graph.set_initial_value(b[4:], {0: 6})
    executable = pl.compile_graph(graph, programs)
    held = executable.layout.variables[0].with_value
    assert held is not None
    assert {replica: np.unpackbits(bits).tolist() for replica, bits in held.items()} == {
        -1: [1, 1, 1, 1, 0, 0, 0, 0],
        1: [1, 1, 1, 1, 0, 0, 0, 0],
    }
    assert unwritten(pl.Engine(executable)) == [4, 6]
    graph.set_initial_value(b, {1: 8})
    assert unwritten(pl.Engine(graph, programs, checks="strict")) == []


def saved(folder: Path) -> tuple[Path, Path]:
    """Files of an executable and of a graph in which `b` has four values."""
    graph, b, programs = built()
    graph.set_initial_value(b[2:6], 1)
    paths = folder / "run.poplite", folder / "run.graph"
    pl.compile_graph(graph, programs).save(paths[0])
    graph.save(paths[1], programs)
    return paths


def test_files_say_which_elements_have_a_value(tmp_path: Path) -> None:
    of_executable, of_graph = saved(tmp_path)
    executable = pl.Executable.load(of_executable, [Next])
    graph, programs = pl.Graph.load(of_graph, [Next])
    assert unwritten(pl.Engine(executable)) == [0, 6]
    assert unwritten(pl.Engine(graph, programs, checks="strict")) == [0, 6]
    executable.save(tmp_path / "again.poplite")
    graph.save(tmp_path / "again.graph", programs)
    assert (tmp_path / "again.poplite").read_bytes() == of_executable.read_bytes()
    assert (tmp_path / "again.graph").read_bytes() == of_graph.read_bytes()


@pytest.mark.parametrize(
    "wrong", [[[-1, ["uint8", 0, [0]]]], [[1, ["uint8", 0, [1]]]], [[-1, ["int32", 0, [1]]]]]
)
def test_files_that_cannot_be(wrong: Any, tmp_path: Path) -> None:
    for path, load in zip(saved(tmp_path), (pl.Executable.load, pl.Graph.load), strict=True):
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        manifest = json.loads(members["manifest.json"])
        whole = manifest.get("graph") or manifest["executable"]["layout"]
        whole["variables"][0]["with_value"] = wrong
        members["manifest.json"] = json.dumps(manifest).encode()
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in members.items():
                archive.writestr(name, data)
        with pytest.raises(pl.FileLoadError, match="'b' does not say which elements have a value"):
            load(path, [Next])


# -- what can be copied and pickled, and what refuses to be ----------------------------------------


class Scaled(pl.Vertex, Generic[T]):
    """Doubles elements of any type."""

    x: pl.InOut[pl.Vector[T]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = self.x[i] + self.x[i]


class Halves(Scaled[pl.HALF]):
    """A class that is made of one that was made of a template."""


@pytest.fixture(scope="module")
def engine() -> pl.Engine:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (8,), "x", mapping="linear", initial_value=1)
    y = graph.add_variable(pl.FLOAT, (8,), "y", mapping=1)
    scale = graph.add_compute_set("scale")
    graph.add_vertex(scale, Scaled, tile=0, x=x)
    engine = pl.Engine(graph, {"all": pl.Sequence(pl.Execute(scale), pl.Copy(x, y))})
    engine.run()
    return engine


def pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_a_report_survives_copying_and_pickling(
    engine: pl.Engine, copied: Callable[[Any], Any], tmp_path: Path
) -> None:
    report = engine.report()
    again = copied(report)
    assert again == report
    assert str(again) == str(report)
    for name, each in (("one", report), ("other", again)):
        each.save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    assert copied(again) == report


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_graphs_and_engines_refuse_by_name(engine: pl.Engine, copied: Callable[[Any], Any]) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    compute_set = graph.add_compute_set("scale")
    for value, name in (
        (graph, "a Graph"),
        (graph.create_virtual_graph([1]), "a VirtualGraph"),
        (engine, "an Engine"),
        (compute_set, "a ComputeSet"),
    ):
        with pytest.raises(pl.CopyError, match=f"^{name} cannot be copied or pickled(?s:.*)try:"):
            copied(value)


@pytest.mark.parametrize("copied", [copy.deepcopy, pickled])
def test_what_belongs_to_a_graph_is_not_copied_without_it(copied: Callable[[Any], Any]) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (8,), "x", mapping=0)
    step = pl.Execute(graph.add_compute_set("scale"))
    stream = graph.add_host_to_device_fifo("in", pl.FLOAT, 8)
    vertex = graph.add_vertex(step.compute_set, Scaled, tile=0, x=x)
    nested: pl.Program = step
    for _ in range(400):  # deeper than pickle and copy go
        nested = pl.Repeat(2, nested)
    for value in (x, x[::2], x[:0], [x], x.var_regions(), step, pl.Copy(stream, x), vertex, nested):
        with pytest.raises(pl.CopyError, match="cannot be copied or pickled"):
            copied(value)


def test_a_tensor_is_copied_as_the_view_that_it_is() -> None:
    x = pl.Graph().add_variable(pl.FLOAT, (8,), "x")
    assert copy.copy(x) == x
    assert copy.copy(x).graph is x.graph
    assert copy.copy(x[:0]).name == "x"


@pytest.mark.parametrize("cls", [Scaled, Scaled[pl.HALF], Scaled[pl.INT], Halves])
def test_vertex_classes_are_copied_and_pickled_as_themselves(cls: type[pl.Vertex]) -> None:
    assert pickled(cls) is copy.copy(cls) is copy.deepcopy(cls) is cls


# -- codecs ----------------------------------------------------------------------------------------


Emit = Callable[[ir.IRBuilder, Any, Any], Any]
Convert = Callable[[npt.NDArray[Any], int], npt.NDArray[Any]]

HALVES = np.arange(1 << 16, dtype=np.uint16)
FEATURES = llvm.get_host_cpu_features().flatten()
HARDWARE = codecs.half_in_hardware(llvm.get_process_triple(), FEATURES)

_loaded: list[Any] = []  # engines live as long as their code is called


@pytest.fixture
def _quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def compiled(emit: Emit, source: ir.Type, result: ir.Type, dtype: npt.DTypeLike) -> Convert:
    """Return a loop over an array that converts every element."""
    word = ir.IntType(64)
    module = ir.Module()
    arguments = [source.as_pointer(), result.as_pointer(), word, ir.IntType(8)]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), arguments), "convert")
    entry, body, end = (function.append_basic_block(name) for name in ("entry", "body", "end"))
    builder = ir.IRBuilder(entry)
    builder.branch(body)
    builder.position_at_end(body)
    index = builder.phi(word)
    index.add_incoming(word(0), entry)
    value = emit(builder, builder.load(builder.gep(function.args[0], [index])), function.args[3])
    builder.store(value, builder.gep(function.args[1], [index]))
    following = builder.add(index, word(1))
    index.add_incoming(following, body)
    builder.cbranch(builder.icmp_unsigned("<", following, function.args[2]), body, end)
    builder.position_at_end(end)
    builder.ret_void()

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    machine = target.create_target_machine(
        opt=3, jit=True, cpu=llvm.get_host_cpu_name(), features=FEATURES
    )
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(str(module)), machine)
    engine.finalize_object()
    _loaded.append(engine)
    pointer, size, byte = ctypes.c_void_p, ctypes.c_int64, ctypes.c_uint8
    call = ctypes.CFUNCTYPE(None, pointer, pointer, size, byte)(
        engine.get_function_address("convert")
    )

    def convert(values: npt.NDArray[Any], metadata: int = 0) -> npt.NDArray[Any]:
        out = np.zeros(len(values), dtype)
        call(values.ctypes.data, out.ctypes.data, len(values), metadata)
        return out

    return convert


def with_middles(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Values, what lies half-way between neighbours, and what lies next to that."""
    values = np.sort(values[np.isfinite(values)])
    middle = ((values[1:].astype(np.float64) + values[:-1]) / 2).astype(np.float32)
    beside = [np.nextafter(middle, np.float32(end)) for end in (np.inf, -np.inf)]
    return np.concatenate([values, middle, *beside])


def drawn() -> npt.NDArray[np.float32]:
    """Random bits, and the special values."""
    bits = np.random.default_rng(0).integers(0, 1 << 32, 200_000, np.uint32)
    special = np.array([0, -0.0, np.inf, -np.inf, np.nan, 65519.99, 65520, 1e-45], np.float32)
    return np.concatenate([bits.view(np.float32), special])


def assert_same(found: npt.NDArray[Any], expected: npt.NDArray[Any]) -> None:
    """Compare bits, except those of a NaN."""
    nan = np.isnan(expected)
    assert np.array_equal(np.isnan(found), nan)
    bits = np.dtype(f"u{expected.itemsize}")
    assert np.array_equal(found.view(bits)[~nan], expected.view(bits)[~nan])


@pytest.mark.usefixtures("_quiet")
@pytest.mark.parametrize(
    "hardware",
    [pytest.param(True, marks=pytest.mark.skipif(not HARDWARE, reason="no F16C here")), False],
    ids=["hardware", "bit_code"],
)
def test_halves(hardware: bool) -> None:
    half, single = ir.IntType(16), ir.FloatType()
    decoded = compiled(
        lambda builder, code, _: codecs.decode_half(builder, code, hardware=hardware),
        half,
        single,
        np.float32,
    )
    encoded = compiled(
        lambda builder, value, _: codecs.encode_half(builder, value, hardware=hardware),
        single,
        half,
        np.float16,
    )
    expected = HALVES.view(np.float16).astype(np.float32)
    assert_same(decoded(HALVES, 0), expected)
    values = np.concatenate([with_middles(expected), drawn()])
    assert_same(encoded(values, 0), values.astype(np.float16))


@pytest.mark.usefixtures("_quiet")
@pytest.mark.parametrize("scale", [-32, -7, 0, 5, 31])
@pytest.mark.parametrize("format", QuarterFormat)
def test_quarters(format: QuarterFormat, scale: int) -> None:
    metadata = QuarterMetadata(format, scale)
    byte, single, code = metadata.to_byte(), ir.FloatType(), ir.IntType(8)
    decoded = compiled(codecs.decode_quarter, code, single, np.float32)
    encoded = compiled(codecs.encode_quarter, single, code, np.uint8)
    codes = np.arange(256, dtype=np.uint8)
    expected = decode(codes, metadata)
    assert_same(decoded(codes, byte), expected)
    near = np.ldexp(np.random.default_rng(1).normal(size=50_000), scale).astype(np.float32)
    values = np.concatenate([with_middles(expected), near, drawn()])
    assert np.array_equal(encoded(values, byte), encode(values, metadata))


@pytest.mark.usefixtures("_quiet")
@pytest.mark.parametrize(
    ("triple", "features", "expected"),
    [
        ("x86_64-unknown-linux-gnu", "+avx,+f16c", True),
        ("x86_64-unknown-linux-gnu", "+avx,-f16c", False),
        ("x86_64-pc-windows-msvc", "", False),
        ("arm64-apple-darwin23", "", True),
        ("aarch64-unknown-linux-gnu", "", True),
    ],
)
def test_where_the_processor_converts(triple: str, features: str, expected: bool) -> None:
    assert codecs.half_in_hardware(triple, features) is expected


PROGRAM = """
import numpy as np

import poplite as pl
from poplite.jit.numba_context import processor
from poplite.simulator.codegen.codecs import half_in_hardware


class Triple(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.HALF]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = 3 * self.x[i]


features = processor().features
values = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
graph = pl.Graph(pl.Target(tiles=1))
x = graph.add_variable(pl.HALF, (1 << 16,), mapping=0, initial_value=values)
triple = graph.add_compute_set()
graph.add_vertex(triple, Triple, tile=0, x=x)
engine = pl.Engine(graph, pl.Execute(triple), checks="fast")
engine.run()
with np.errstate(all="ignore"):
    expected = (np.float32(3) * values.astype(np.float32)).astype(np.float16)
found = engine.read(x)
same = (found.view(np.uint16) == expected.view(np.uint16)) | (np.isnan(found) & np.isnan(expected))
print("f16c" in features.replace("-f16c", ""), bool(same.all()))
"""


@pytest.mark.usefixtures("_quiet")
@deep
def test_a_processor_without_f16c_gets_the_bit_code(tmp_path: Path) -> None:
    processor = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    cache = str(tmp_path / "cache")
    assert words_of(tmp_path, PROGRAM, POPLITE_CACHE_DIR=cache, **processor) == ["False", "True"]


# -- `compute` as LLVM code: lowered by Numba, or by anything else that keeps to its arguments -----


class Clear(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]
    n: pl.State[pl.INT]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = self.n


@pytest.mark.usefixtures("_quiet")
def test_code_that_calls_a_function_by_its_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here the C library's; the driver hands it what it would hand to Numba's."""
    address = ctypes.cast(ctypes.CDLL(None).memset, ctypes.c_void_p).value
    text = f"""
        define {{i32, i1}} @{COMPUTE}(ptr %x, i64 %x.length, ptr %n, i64 %n.value, ptr %about) {{
          %memset = inttoptr i64 {address} to ptr
          %size = mul i64 %x.length, 4
          %byte = trunc i64 %n.value to i32
          %same = call ptr %memset(ptr %x, i32 %byte, i64 %size)
          ret {{i32, i1}} {{i32 0, i1 true}}
        }}
    """
    monkeypatch.setenv("POPLITE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(build, "_known", {})
    monkeypatch.setattr(compute_code, "compute_code", lambda cls, mode=0: text)
    graph = pl.Graph(pl.Target(tiles=3))
    x = graph.add_variable(pl.FLOAT, (3, 5), "x", mapping="linear", initial_value=7)
    work = graph.add_compute_set("clear")
    for row in range(1, 3):
        graph.add_vertex(work, Clear, tile=row, x=x[row], n=row - 1)
    engine = pl.Engine(graph, pl.Execute(work), checks="fast")
    engine.run()
    expected = np.full((3, 5), 7, np.float32)
    expected[1], expected[2] = 0, np.full(4, 1, np.uint8).view(np.float32)
    assert engine.read(x).tolist() == expected.tolist()
