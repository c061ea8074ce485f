"""The programs of benchmarks/engine.py: the same bits on any number of threads, however stored."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import numpy.typing as npt
import pytest

import poplite as pl
from helpers.depth import deep
from helpers.running import python
from poplite.graph.partition import grid_blocks

Floats = npt.NDArray[np.float32]

ON_THREADS = '''
"""Run small programs, every launch shared by threads as soon as possible; print what they leave."""
import hashlib

import numpy as np

import engine_axpy, engine_bulk, engine_heat, engine_matmul, engine_reduction
import poplite as pl
from poplite.simulator.run import launches

launches.pays_ns()  # starts them
launches.LEAST_NS, launches.pays_ns = 0, lambda: 0

plate = np.random.default_rng(1).random((34, 40), np.float32)
axpy, y, *_ = engine_axpy.axpy_engine(100, 9, 3, 4)
values, positions = engine_bulk.inputs(1000)
regular, random = engine_bulk.Sums(values), engine_bulk.Sums(values, positions)
a, b = engine_matmul.operands(128, 32)
x = np.random.default_rng(2).random(6 * 6 * 50, np.float32)
graph = pl.Graph(pl.Target(tiles=4))
source = graph.add_variable(pl.FLOAT, (50, 3000), "source", mapping="linear", initial_value=2.5)
source = pl.concat([source[:, 1000:], source[:, :1000]], 1)
target = graph.add_variable(pl.FLOAT, (3000, 50), "target", mapping="linear")
programs = {
    "axpy": (axpy, y),
    "regular sums": (regular.engine(), regular.tensors[2]),
    "random sums": (random.engine(), random.tensors[2]),
    "plain heat": engine_heat.plain_engine(plate, (4, 3), 2),
    "tiled heat": engine_heat.Tiled(plate, (4, 3)).engine(2),
    "matmul": engine_matmul.matmul_engine(a, b, engine_matmul.SquareProduct),
    "reduction": engine_reduction.tree(x, (36, 6, 2, 1), 6),
    "copy": (pl.Engine(graph, pl.Copy(source.dim_shuffle((1, 0)), target)), target),
}
for name, (engine, tensor) in programs.items():
    for _ in range(6):  # the first runs are measured on one thread
        engine.run()
    (program,) = engine._loaded.runs.programs.values()
    shared = any(len(launch.shares) > 1 for launch in program._steps.table.launches)
    print(name, shared, hashlib.sha256(engine.read(tensor).tobytes()).hexdigest(), sep=": ")
'''


def left(root: Path, threads: int) -> list[list[str]]:
    """Run the programs on so many threads; return name, whether shared, and digest of each."""
    path = f"{root}{os.pathsep}{root / 'benchmarks'}"
    numbers = {"NUMBA_NUM_THREADS": str(threads), "PYTHONPATH": path}
    done = python(root, "-c", ON_THREADS, **numbers)
    return [line.split(": ") for line in done.stdout.splitlines()]


@deep  # tests/unit/simulator/test_processes.py has fewer programs
@pytest.mark.parametrize("threads", [2, 3])
def test_results_do_not_depend_on_the_number_of_threads(root: Path, threads: int) -> None:
    on_one = left(root, 1)
    assert len(on_one) == 8
    assert not any(shared == "True" for _, shared, _ in on_one)
    on_several = left(root, threads)
    assert all(shared == "True" for _, shared, _ in on_several), on_several
    assert [each[::2] for each in on_several] == [each[::2] for each in on_one]


Store = Callable[[pl.Graph, Floats], pl.Tensor]


def _variable(graph: pl.Graph, values: Floats) -> pl.Tensor:
    return graph.add_variable(pl.FLOAT, values.shape, mapping="linear", initial_value=values)


def _plain(graph: pl.Graph, plate: Floats) -> pl.Tensor:
    return _variable(graph, plate)


def _transposed(graph: pl.Graph, plate: Floats) -> pl.Tensor:
    return _variable(graph, plate.T.copy()).T


def _reversed(graph: pl.Graph, plate: Floats) -> pl.Tensor:
    return _variable(graph, plate[:, ::-1].copy())[:, ::-1]


def _every_second(graph: pl.Graph, plate: Floats) -> pl.Tensor:
    return _variable(graph, np.repeat(plate, 2, axis=1)).sub_sample(2, 1)


def _in_columns(graph: pl.Graph, plate: Floats) -> pl.Tensor:
    cut = [_variable(graph, plate[:, c : c + 3].copy()) for c in range(0, plate.shape[1], 3)]
    return pl.concat(cut, 1)


def _odd_rows_first(graph: pl.Graph, plate: Floats) -> pl.Tensor:
    odd, even = (_variable(graph, plate[first::2].copy()) for first in (1, 0))
    rows = [(odd if row % 2 else even)[row // 2 : row // 2 + 1] for row in range(len(plate))]
    return pl.concat(rows)


STORES: list[Store] = [_transposed, _reversed, _every_second, _in_columns, _odd_rows_first]


@pytest.mark.parametrize("interpret", [False, True])
@pytest.mark.parametrize("checks", ["strict", "fast"])
@pytest.mark.parametrize("store", STORES, ids=lambda store: store.__name__.strip("_"))
def test_results_do_not_depend_on_contiguity(
    heat: ModuleType, store: Store, checks: str, interpret: bool
) -> None:
    plate = np.random.default_rng(1).random((11, 14), np.float32)

    def after(store: Store) -> tuple[bytes, int]:
        graph = pl.Graph(pl.Target(tiles=6))
        buffers = [store(graph, plate) for _ in "ab"]
        steps = []
        for old, new in (buffers, buffers[::-1]):
            step = graph.add_compute_set("step")
            for tile, (r, c) in enumerate(grid_blocks((9, 12), (2, 3))):
                inside = new[r.start + 1 : r.stop + 1, c.start + 1 : c.stop + 1]
                around = old[r.start : r.stop + 2, c.start : c.stop + 2]
                graph.add_vertex(step, heat.Diffuse, tile=tile, old=around, new=inside)
            steps.append(pl.Execute(step))
        program = pl.Repeat(3, pl.Sequence(*steps))
        engine = pl.Engine(graph, program, checks=checks, interpret=interpret)  # type: ignore[arg-type]
        engine.run()
        return engine.read(buffers[0]).tobytes(), engine.report().bytes_gathered

    contents, gathered = after(_plain)
    stored, gathered_there = after(store)
    assert gathered == 0
    assert (gathered_there > 0) == (store is not _odd_rows_first)  # rows may lie anywhere
    assert stored == contents
