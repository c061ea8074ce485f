"""Compute sets that are equal but for their variables compile as each would by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
import poplite.named as ng
from helpers.depth import examples
from poplite.compile.compiler import compile_graph
from poplite.executable.parts import ComputeStep
from poplite.graph.compute_sets.edge_table import EdgeTable, EdgeTables, Form
from poplite.vertices.reduce import SumColumns

Programs = tuple[pl.Graph, pl.Program]


class Join(pl.Vertex):
    """Adds up what it reads; both fields may be gathered from several places."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] += self.x[i % len(self.x)]


class Shift(pl.Vertex):
    """Reads what it overwrites."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    scale: pl.State[pl.FLOAT]
    out: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.out)):
            self.out[i] = self.x[i + 1] * self.scale


def no_form(self: EdgeTables, table: EdgeTable) -> Form | None:
    return None


def forms_of(graph: pl.Graph) -> tuple[int, int]:
    """Return how many compute sets are like an earlier one, and how many are not."""
    tables = EdgeTables(graph.space)
    are_alike = [tables(each).alike is not None for each in graph.compute_sets]
    return sum(are_alike), are_alike.count(False)


def check(made: Programs, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare the file of an executable with one for which no two sets are alike."""
    graph, program = made
    for checks in ("fast", "strict"):
        files = [folder / f"{name}.{checks}" for name in ("alike", "apart")]
        compile_graph(graph, program, checks=checks).save(files[0])
        with monkeypatch.context() as changed:
            changed.setattr(EdgeTables, "_form", no_form)
            compile_graph(graph, program, checks=checks).save(files[1])
        assert files[0].read_bytes() == files[1].read_bytes()


def test_layers_of_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    N, F = ng.make_axis(24, "N"), ng.make_axis(24, "F")
    x = ng.placeholder([N, F], name="x")
    h: ng.Op = x
    weights: list[ng.Op] = []
    for _ in range(5):
        w, b = ng.variable([F.fresh("G"), F], 0.01), ng.variable([F], 0.0)
        weights += [w, b]
        h = ng.tanh(ng.dot(ng.cast_axes(h, [N, *w.axes[:1]]), w) + b) + h / 8
    loss = ng.sum(h, ...)
    work = ng.make_transformer(tiles=16).computation([loss, *ng.deriv(loss, weights)], x)
    made = work.graph, work.program
    alike, others = forms_of(work.graph)
    assert (alike, others) == (15, 20)
    check(made, tmp_path, monkeypatch)


def test_each_set_has_its_own_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, tile = pl.Graph(pl.Target(tiles=4)), [3, 2, 1, 0]
    sets = [graph.add_compute_set(name) for name in "abc"]
    pairs = [[graph.add_variable(pl.FLOAT, (4, 6), mapping="linear") for _ in "xy"] for _ in "abc"]
    for work, (x, y) in zip(sets[:2], pairs[:2], strict=True):
        graph.add_vertices(work, Join, tile=tile, x=x, y=y)
    graph.add_vertices(sets[2], Join, tile=tile, x=pairs[2][0], y=pairs[2][1])
    assert forms_of(graph) == (2, 1)
    program = pl.Sequence(*map(pl.Execute, sets))
    check((graph, program), tmp_path, monkeypatch)
    costs = compile_graph(graph, program, checks="fast").costs
    lines = [cost.before[0].causes[0].at for cost in costs]
    assert lines[0] == lines[1] == next(sets[0].vertices.blocks()).location.portable
    assert lines[2] == next(sets[2].vertices.blocks()).location.portable
    assert lines[1] != lines[2]


def executed(graph: pl.Graph, vertex: type[pl.Vertex], tile: Any, **fields: object) -> pl.Program:
    """Return what executes a new compute set of some vertices."""
    work = graph.add_compute_set("work")
    graph.add_vertices(work, vertex, tile=tile, **fields)
    return pl.Execute(work)


@pytest.mark.parametrize("strides", [[3, 3, 3], [3, 6, 3], [6, 3, 3]])
def test_rows_that_are_read_in_place(
    strides: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where they lie follows from the state of vertices, which need not be equal."""
    graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    for stride in strides:
        x = graph.add_variable(pl.FLOAT, (8, 12), mapping="linear")
        y = graph.add_variable(pl.FLOAT, (4, 3), mapping="linear")
        views = [x[:, 3 * k : 3 * k + 3].flatten() for k in range(4)]
        columns = SumColumns[pl.FLOAT, pl.FLOAT]
        program.add(executed(graph, columns, [3, 0, 1, 2], x=views, out=y, stride=stride))
    assert forms_of(graph) == (2, 1)
    check((graph, program), tmp_path, monkeypatch)
    steps = compile_graph(graph, program, checks="fast").steps
    are_copied = [isinstance(each, ComputeStep) and len(each.gather.records) > 0 for each in steps]
    assert are_copied == [stride == 6 for stride in strides]


def test_a_race_is_found_in_each_set() -> None:
    graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    for name in ("first", "second"):
        x = graph.add_variable(pl.FLOAT, (5,), name, mapping=0)
        views = [x[0:3], x[2:5]]
        program.add(executed(graph, Join, 0, x=views, y=views[::-1]))
    assert forms_of(graph) == (1, 1)
    with pytest.raises(pl.GraphCycleError) as error:
        compile_graph(graph, program)
    assert "'first'[2]" in error.value.found
    assert "'second'[2]" in error.value.found


def test_elements_without_a_tile_are_named_in_each_set() -> None:
    graph, program = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    for name in ("first", "second"):
        x, y = (graph.add_variable(pl.FLOAT, (2, 4), f"{name}/{each}") for each in "xy")
        graph.set_tile_mapping(x, 0)
        graph.set_tile_mapping(y[0], 1)
        program.add(executed(graph, Join, 0, x=x, y=y))
    assert forms_of(graph) == (1, 1)
    with pytest.raises(pl.InvalidTileMapping) as error:
        compile_graph(graph, program)
    assert error.value.what == "2 variables have elements without a tile"
    assert "'first/y'" in error.value.found
    assert "'second/y'" in error.value.found


READ = 7
"""How many kinds of fields there are that read."""

WRITTEN = 6
"""And how many that write."""


@given(seed=st.integers(0, 2**16))
@examples(75)
def test_layers_of_any_views(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    random = np.random.default_rng(seed)
    graph, program = pl.Graph(pl.Target(tiles=8)), pl.Sequence()
    mappings: list[Any] = [
        int(random.integers(8)) if random.random() < 0.4 else "linear" for _ in "xyz"
    ]
    tiles, scale = random.integers(0, 8, 6), random.random(2)
    read, written = int(random.integers(READ)), int(random.integers(WRITTEN))
    order, gap = random.permutation(6).tolist(), int(random.integers(0, 40))
    for layer in range(3):
        if layer == 1:
            graph.add_variable(pl.FLOAT, (gap,), mapping=0)
        x, y, z = (graph.add_variable(pl.FLOAT, (6, 6), mapping=each) for each in mappings)
        fields = {"x": fields_that_read(x, z, order)[read], "y": fields_that_write(y)[written]}
        program.add(executed(graph, Join, tiles, **fields))
        wide = [y.flatten()[6 * k : 6 * k + 6] for k in range(6)]
        narrow = [each[:5] for each in wide]
        factor = float(scale[layer % 2])
        program.add(executed(graph, Shift, tiles, x=wide, scale=factor, out=narrow))
    with pytest.MonkeyPatch.context() as changed:
        check((graph, program), tmp_path_factory.mktemp("files"), changed)


def fields_that_read(x: pl.Tensor, z: pl.Tensor, order: list[int]) -> list[object]:
    """Return what six vertices may read of (6, 6) elements each."""
    both = pl.concat(x, z).flatten()
    found: list[object] = [
        x,
        x.T,
        [x.T[k] for k in order],
        x[::-1, ::2],
        [both[5 * k : 7 * k + 1] for k in order],
        pl.concat(x[:, :2], z[:, 3:], 1),
        [x[k] if k % 2 else z[k] for k in order],
    ]
    assert len(found) == READ
    return found


def fields_that_write(y: pl.Tensor) -> list[object]:
    """Return what six vertices may write of (6, 6) elements."""
    found: list[object] = [y, y.T, y[::-1], y.T[::-1], y[:, 1:4], y.T[:, ::2]]
    assert len(found) == WRITTEN
    return found
