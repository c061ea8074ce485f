"""A million vertices added in one call: their speed, their races, their graph, their memory.

    python benchmarks/engine_bulk.py [--samples 9] [--json FILE] [--small]

Each vertex adds two numbers.  In the regular graph vertex k works on element k of three variables;
in the random one all elements are drawn from one variable, none twice.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

import poplite as pl
from poplite.compile.checks import races
from poplite.graph.compute_sets.edge_table import EdgeTable, edge_table
from rows import SETTLING, Row, check, in_turn, run

Floats = npt.NDArray[np.float32]
Positions = npt.NDArray[np.uint32]

TILES = 1472

FIELDS = ("a", "b", "total")


class Add(pl.Vertex):
    """The sum of two numbers."""

    a: pl.Input[pl.FLOAT]
    b: pl.Input[pl.FLOAT]
    total: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        """Add them."""
        self.total = self.a + self.b


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def add_prange(a: Any, b: Any, total: Any) -> None:
    """What a Numba user writes."""
    for v in numba.prange(len(total)):
        total[v] = a[v] + b[v]


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def add_at_prange(values: Any, a: Any, b: Any, total: Any) -> None:
    """The same by positions; unsigned, as signed ones would be tested for a wrap."""
    for v in numba.prange(len(total)):
        values[total[v]] = values[a[v]] + values[b[v]]


class Sums:
    """A graph without vertices, and the tensors to connect them to.

    Args:
        values: float32[3, count], those of each field.
        positions: uint32[3, count], where they are in one variable; without, in three.
    """

    def __init__(self, values: Floats, positions: Positions | None = None) -> None:
        self.graph = pl.Graph(pl.Target(tiles=TILES))
        count = values.shape[1]
        self.tiles = np.arange(count) * TILES // count
        if positions is None:
            self.tensors = [self._variable(n, v) for n, v in zip(FIELDS, values, strict=True)]
        else:
            variable = self._variable("all", scattered(values, positions))
            ends = np.stack([positions, positions + 1], axis=2).astype(np.int64)
            self.tensors = [pl.concat(variable.slices(each, 0)) for each in ends]

    def _variable(self, name: str, values: Floats) -> pl.Tensor:
        return self.graph.add_variable(
            pl.FLOAT, values.shape, name, mapping="linear", initial_value=values
        )

    def add(self) -> pl.ComputeSet:
        """Add the vertices."""
        sums = self.graph.add_compute_set("sums")
        fields = dict(zip(FIELDS, self.tensors, strict=True))
        self.graph.add_vertices(sums, Add, tile=self.tiles, **fields)
        return sums

    def engine(self) -> pl.Engine:
        """Add the vertices, and make an engine for them."""
        return pl.Engine(self.graph, pl.Execute(self.add()), checks="fast")


def scattered(values: Floats, positions: Positions) -> Floats:
    """Return one array that holds each value at its position."""
    found = np.empty(values.size, np.float32)
    found[positions] = values
    return found


def inputs(count: int) -> tuple[Floats, Positions]:
    """Return the values of each field, and a random place for each value."""
    rng = np.random.default_rng(1)
    shape = (len(FIELDS), count)
    order = rng.permutation(len(FIELDS) * count).astype(np.uint32)
    return rng.random(shape, np.float32), order.reshape(shape)


def run_rows(count: int, samples: int, warm_up: float) -> list[Row]:
    """R3 and R4: regular and random vertices against prange."""
    values, positions = inputs(count)
    array = scattered(values, positions)
    regular, random = Sums(values), Sums(values, positions)

    def by_arrays() -> None:
        add_prange(*values)

    def by_positions() -> None:
        add_at_prange(array, *positions)

    by_arrays()
    by_positions()
    made = []
    for title, sums, hand, expected, target in (
        (f"R3 {count:,} sums, regular", regular, by_arrays, values[2], 1.5),
        (f"R4 {count:,} sums, random", random, by_positions, array[positions[2]], 1.3),
    ):
        engine = sums.engine()
        engine.run()
        name = f"{title}: poplite / prange"
        check(name, engine.read(sums.tensors[2]), expected)
        ours, theirs = in_turn(engine.run, hand, samples, warm_up=warm_up)
        made.append(Row(name, min(ours) / min(theirs), "x", "<=", target, ours, theirs))
    return made


def races_row(count: int, samples: int) -> Row:
    """R16: the race check of shuffled edges against sorting as many numbers."""
    sums = Sums(*inputs(count)).add()
    numbers = np.random.default_rng(1).integers(0, 2**63, len(FIELDS) * count, np.uint64)
    fresh: list[EdgeTable] = []

    def forget() -> None:
        fresh[:] = [edge_table(sums)]

    def find() -> None:
        assert not races(sums, fresh[0])

    forget()
    ours, theirs = in_turn(find, lambda: np.sort(numbers), samples, before=forget)
    name = f"R16 races of {numbers.size:,} shuffled edges: poplite / np.sort"
    return Row(name, min(ours) / min(theirs), "x", "<=", 5.0, ours, theirs)


def graph_row(count: int, form: str, sums: tuple[Any, ...], samples: int) -> Row:
    """R19: vertices added and an engine made, against sorting as many numbers by index."""
    numbers = np.random.default_rng(1).integers(0, 2**63, count, np.uint64)
    fresh: list[Sums] = []

    def renew() -> None:
        fresh[:] = [Sums(*sums)]

    renew()
    ours, theirs = in_turn(
        lambda: fresh[0].engine(), lambda: np.argsort(numbers), samples, before=renew
    )
    name = f"R19 graph of {count:,} vertices, {form}: poplite / np.argsort"
    return Row(name, min(ours) / min(theirs), "x", "<=", 40.0, ours, theirs)


def memory_row(count: int, form: str, sums: tuple[Any, ...], target: float) -> Row:
    """Memory kept for the vertices of an engine, besides the data."""
    Sums(*sums).engine()  # makes permanent data, such as compiled code

    made = Sums(*sums)
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    engine = made.engine()
    del made.tensors, made.tiles  # the graph keeps what it needs of them
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    loaded: Any = engine._loaded
    data = loaded.arena.bytes.nbytes
    name = f"memory of {count:,} vertices, {form}"
    return Row(name, (after - before - data) / count, "B each", "<=", target, [0.0], [0.0])


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    count = 20_000 if small else 1_000_000
    values, positions = inputs(count)
    forms: dict[str, tuple[Any, ...]] = {"regular": (values,), "random": (values, positions)}
    targets = {"regular": 16.0, "random": 16.0 + 4 * len(FIELDS)}
    return [
        *run_rows(count, samples, 0.0 if small else SETTLING),
        races_row(count, samples),
        *[graph_row(count, form, sums, samples) for form, sums in forms.items()],
        *[memory_row(count, form, sums, targets[form]) for form, sums in forms.items()],
    ]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
