"""`compute` as LLVM code: lowered by Numba, or by anything else that keeps to its arguments."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

import poplite as pl
from poplite.jit import build
from poplite.simulator.codegen import compute_code
from poplite.simulator.codegen.accessors import COMPUTE


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
