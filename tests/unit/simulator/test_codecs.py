"""Compiled code: HALF and QUARTER exact against NumPy and ml_dtypes; `compute` as LLVM code."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import numpy.typing as npt
import pytest
from llvmlite import ir

import poplite as pl
from helpers.depth import deep
from helpers.running import words_of
from poplite.jit import build
from poplite.simulator.codegen import codecs, compute_code
from poplite.simulator.codegen.accessors import COMPUTE
from poplite.types import QuarterFormat, QuarterMetadata, decode, encode

Emit = Callable[[ir.IRBuilder, Any, Any], Any]
Convert = Callable[[npt.NDArray[Any], int], npt.NDArray[Any]]

HALVES = np.arange(1 << 16, dtype=np.uint16)
FEATURES = llvm.get_host_cpu_features().flatten()
HARDWARE = codecs.half_in_hardware(llvm.get_process_triple(), FEATURES)

_loaded: list[Any] = []  # engines live as long as their code is called


@pytest.fixture(autouse=True)
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
