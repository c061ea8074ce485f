"""`assert_vertex` passes right vertices and finds wrong ones; the fixtures of the plugin."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from random import Random
from typing import Any, Generic, TypeVar

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.pages import blocks
from poplite import vertices
from poplite.testing import assert_vertex
from poplite.testing.vertices import laid_out
from poplite.vertices import Add, Fill

T = TypeVar("T", pl.INT, pl.UNSIGNED_SHORT)


class Move(pl.Vertex):
    """`y = x`, but for as many elements as are left out."""

    left_out: pl.State[pl.INT]
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.y) - self.left_out):
            self.y[i] = self.x[i]


class Rows(pl.MultiVertex, Generic[T]):
    """Sums of rows, one a worker at a time, and whether any is above a limit."""

    rows: pl.Input[pl.Vector[pl.Vector[T]]]
    limit: pl.Input[T]
    sums: pl.Output[pl.Vector[T]]
    above: pl.Output[pl.Vector[pl.BOOL]]

    def compute(self, worker: int) -> None:
        for r in range(worker, len(self.rows), self.num_workers):
            total = 0
            for i in range(len(self.rows[r])):
                total += self.rows[r][i]
            self.sums[r] = total
            self.above[r] = total > self.limit


class Scale(pl.Vertex):
    """Doubles in place."""

    x: pl.InOut[pl.Vector[pl.QUARTER]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = 2.0 * self.x[i]


def floats(*values: float) -> Any:
    return np.array(values, np.float32)


def test_right_vertices_pass() -> None:
    x = np.random.default_rng(0).standard_normal(9).astype(np.float16)
    assert_vertex(Add, {"a": x, "b": x}, Add.reference)
    assert_vertex(Move, {"left_out": 0, "x": x}, {"y": x})
    assert_vertex(Move, {"left_out": 0, "x": []}, {"y": []})
    assert_vertex(Scale, {"x": [1.0, -2.0]}, {"x": [2, -4]}, metadata=pl.QuarterMetadata("F143"))


@pytest.mark.parametrize("dtype", [np.int32, np.uint16])
def test_lists_templates_and_several_outputs(dtype: type[np.generic]) -> None:
    rows = [np.array(row, dtype) for row in ([1, 2], [], [9, 9, 9])]
    inputs = {"rows": rows, "limit": np.array(3, dtype)}
    assert_vertex(Rows, inputs, {"sums": [3, 0, 27], "above": [False, False, True]})


class Staged(pl.Vertex):
    """y = 2 * x, by way of memory that the vertex has for itself."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    work: pl.InOut[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.work[i] = 2.0 * self.x[i]
        for i in range(len(self.x)):
            self.y[i] = self.work[i]


def test_working_memory_is_not_compared() -> None:
    inputs = {"x": [1.0, -2.0], "work": [0.0] * 3}
    assert_vertex(Staged, inputs, {"y": [2, -4]})
    assert_vertex(Staged, inputs, {"y": [2, -4], "work": None})
    assert_vertex(Staged, inputs, lambda x, work: {"y": 2 * floats(*x)})
    assert_vertex(Staged, inputs, {"y": [2, -4], "work": [2, -4, 0]})
    with pytest.raises(AssertionError, match="'work'"):
        assert_vertex(Staged, inputs, {"y": [2, -4], "work": [2, -4, 1]})
    with pytest.raises(pl.UnknownField, match="expected leaves out 'y'"):
        assert_vertex(Staged, inputs, {"work": None})
    with pytest.raises(pl.UnknownField, match="expected leaves out 'x'"):
        assert_vertex(Scale, {"x": [1.0]}, {}, metadata=pl.QuarterMetadata("F143"))


def test_an_element_left_unwritten_is_found() -> None:
    message = (
        r"Move, compiled, layout 0 of seed 0: 'y': 1 of 3 elements wrong\n"
        r"  \[2\] is .*, expected 3\.0\n  in memory: 3 elements side by side on tile 1$"
    )
    x = floats(1, 2, 3)
    with (
        pytest.raises(AssertionError, match=message),
        pytest.warns(pl.UnwrittenOutputWarning, match=r"leaves 'Move\.y'\[2\] unwritten"),
    ):
        assert_vertex(Move, {"left_out": 1, "x": x}, {"y": x})


def test_wrong_rows_and_flags_are_named() -> None:
    inputs = {"rows": [np.array([1], np.int32), np.array([2], np.int32)], "limit": 5}
    text = r"'above': 1 of 2 elements.*\n  \[1\] is False, expected"
    with pytest.raises(AssertionError, match=text):
        assert_vertex(Rows[pl.INT], inputs, {"sums": [1, 2], "above": [False, True]})


class WritesRows(pl.Vertex):
    """Ones in every row."""

    rows: pl.Output[pl.Vector[pl.Vector[pl.INT]]]

    def compute(self) -> None:
        for r in range(len(self.rows)):
            for i in range(len(self.rows[r])):
                self.rows[r][i] = 1


def test_the_row_of_a_list_is_named_and_many_faults_are_counted() -> None:
    assert_vertex(WritesRows, {}, {"rows": np.ones((2, 3), int)})
    with pytest.raises(
        AssertionError,
        match=r"'rows\[1\]': 7 of 7 elements wrong\n(.*\n)*"
        r"  and 2 more",
    ):
        assert_vertex(WritesRows, {}, {"rows": [[1], [5] * 7]})


class Drifts(pl.Vertex):
    """An exponential."""

    x: pl.Input[pl.FLOAT]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        self.y = self.x * 1.0001


def test_tolerance() -> None:
    assert_vertex(Drifts, {"x": 1.0}, {"y": 1.0}, rtol=1e-3)
    assert_vertex(Drifts, {"x": 1.0}, {"y": 1.0}, atol=1e-3)
    with pytest.raises(AssertionError, match=r"1\.0001, expected 1\.0"):
        assert_vertex(Drifts, {"x": 1.0}, {"y": 1.0}, rtol=1e-6)


def test_signs_of_zero_differ_and_nans_are_alike() -> None:
    with pytest.raises(AssertionError, match=r"is -0\.0, expected 0\.0"):
        assert_vertex(Move, {"left_out": 0, "x": [-0.0]}, {"y": [0.0]})
    assert_vertex(Move, {"left_out": 0, "x": floats(np.nan)}, {"y": floats(-np.nan)})


def test_wrong_input() -> None:
    with pytest.raises(pl.UnknownField, match=r"inputs names 'xx' \(did you mean 'x'\?\)"):
        assert_vertex(Move, {"left_out": 0, "xx": [1.0]}, {"y": [1.0]})
    with pytest.raises(pl.UnknownField, match=r"expected leaves out 'y'(.*\n)*.*fields: left_out"):
        assert_vertex(Move, {"left_out": 0, "x": [1.0]}, {})
    with pytest.raises(pl.UnknownField, match="inputs leaves out 'left_out', 'x'"):
        assert_vertex(Move, {}, {"y": [1.0]})
    with pytest.raises(
        pl.ElementTypeError, match=r"shape \(1, 1\) for x: Input\[Vector\[FLOAT\]\]"
    ):
        assert_vertex(Move, {"left_out": 0, "x": [[1.0]]}, {"y": [1.0]})
    with pytest.raises(pl.ElementTypeError, match="expected is ndarray, not values by field"):
        assert_vertex(Rows[pl.INT], {"rows": [[1]], "limit": 0}, lambda rows, limit: floats(1))
    with pytest.raises(pl.TensorIndexError, match="index 1 of 1 elements"):
        assert_vertex(Move, {"left_out": 0, "x": [1.0]}, {"y": [1.0, 2.0]})


def test_the_element_type_is_that_of_numpys_numbers() -> None:
    assert_vertex(Fill, {"value": 2.0}, {"out": np.array([2, 2], np.float16)}, layouts=1)
    with pytest.raises(pl.ElementTypeError) as caught:
        assert_vertex(Fill, {"value": 2.0}, {"out": [2.0, 2.0]})
    error = caught.value
    assert error.what == "assert_vertex(Fill): 'out' does not say its element type"
    assert error.found == "[2.0, 2.0] is float64, which no element type stores"
    assert error.fix == "Fill[pl.FLOAT], or np.float32([2.0, 2.0])"


@given(length=st.integers(0, 40), seed=st.integers(0, 2**32))
def test_layouts_hold_each_element_once(length: int, seed: int) -> None:
    graph = pl.Graph(pl.Target(tiles=3))
    place = laid_out(graph, "x", pl.INT, length, Random(seed))
    assert place.tensor.shape == (length,)
    assert not place.tensor.contains_aliases()
    assert place.tensor.num_elements <= place.variable.num_elements
    assert graph.tile_mapping(place.variable).elements_per_tile.sum() == place.variable.num_elements


def test_the_documented_test_file_runs_with_the_plugin(root: Path, tmp_path: Path) -> None:
    page = blocks(root / "docs" / "testing.md", "python")
    (block,) = (text for _, text in page if "poplite_engine" in text)
    (tmp_path / "test_axpy.py").write_text(block)
    # By name: of packages whose plugins pytest finds by itself, it rewrites every module first.
    (found,) = (each for each in entry_points(group="pytest11") if each.name == "poplite")
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-W", "error"]
    command += ["--disable-plugin-autoload", "-p", found.value]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "7 passed" in ran.stdout, ran.stdout + ran.stderr
    for form in ("compiled", "interpreted"):
        assert f"test_axpy_twice_on_all_tiles[{form}] PASSED" in ran.stdout


# -- arguments -------------------------------------------------------------------------------------


X = np.array([1, 2, 3], np.float32)
once = partial(assert_vertex, layouts=1)


class Twice(pl.Vertex):
    """out = 2 x, by way of working memory."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    tmp: pl.InOut[pl.Vector[pl.FLOAT]]
    out: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.tmp[i] = self.x[i] * 2
        for i in range(len(self.x)):
            self.out[i] = self.tmp[i]


class Adds(pl.Vertex):
    """out = x plus memory that should be zeros, which is a mistake."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    tmp: pl.InOut[pl.Vector[pl.FLOAT]]
    out: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.tmp[i] += self.x[i]
            self.out[i] = self.tmp[i]


@pytest.mark.parametrize("tmp", [3, np.int64(3), np.zeros(3), [9.0, 8.0, 7.0]])
def test_memory_is_given_by_its_size_or_its_values(tmp: Any) -> None:
    once(Twice, {"x": X, "tmp": tmp}, {"out": X * 2})
    with pytest.raises(AssertionError, match="expected 3.0"):
        once(Twice, {"x": X, "tmp": tmp}, {"out": X})


def test_memory_of_a_size_holds_something_before() -> None:
    once(Adds, {"x": X, "tmp": np.zeros(3)}, {"out": X})
    with pytest.raises(AssertionError, match=r"\[0\] is 100.0, expected 1.0"):
        once(Adds, {"x": X, "tmp": 3}, {"out": X})


def test_memory_that_is_too_small_is_an_index_out_of_range() -> None:
    with pytest.raises(pl.PopliteError, match="index 2"):
        once(Twice, {"x": X, "tmp": 2}, {"out": X * 2})


def test_a_reference_need_not_take_working_memory() -> None:
    once(Twice, {"x": X, "tmp": 3}, lambda x: x * 2)
    once(Twice, {"x": X, "tmp": 3}, lambda **given: {"out": given["x"] * 2})
    once(Twice, {"x": X, "tmp": 3}, lambda x, tmp: {"out": x * 2, "tmp": None})


@pytest.mark.parametrize(
    ("inputs", "reference", "told", "instead"),
    [
        ({"tmp": None}, {"out": X}, "'tmp': None", "an array, .*; or the number of its elements"),
        ({"tmp": 0.5}, {"out": X}, "'tmp': 0.5", "an array, which it holds before"),
        ({"x": None}, {"out": X}, "'x': None", "an array, which it holds before"),
        ({}, lambda: X, "does not take 'x'", r"def reference\(x, tmp\)"),
        ({}, lambda tmp: X, "does not take 'x'", r"def reference\(x, tmp\)"),
        ({}, lambda x, tmp, out: X, "needs 'out'", r"def reference\(x, tmp\)"),
    ],
)
def test_what_does_not_fit_is_named(
    inputs: dict[str, Any], reference: Callable[..., Any], told: str, instead: str
) -> None:
    with pytest.raises(pl.PopliteError, match=told) as caught:
        once(Twice, {"x": X, "tmp": 3} | inputs, reference)
    assert caught.value.at is not None
    assert re.search(instead, caught.value.fix)


@pytest.mark.parametrize(
    ("cls", "inputs", "size"),
    [
        (vertices.Fill[pl.FLOAT], {"value": 2.0}, 5),
        (vertices.Iota[pl.INT], {"start": 3}, 4),
        (vertices.SumRows[pl.FLOAT, pl.FLOAT], {"x": X}, 1),
    ],
)
def test_a_reference_that_needs_a_size_says_how_it_gets_one(
    cls: Any, inputs: dict[str, Any], size: int
) -> None:
    with pytest.raises(pl.UnknownField, match="reference needs 'size'") as caught:
        once(cls, inputs, cls.reference)
    assert "reference, size=...), the number of elements of the output" in caught.value.fix
    once(cls, inputs, partial(cls.reference, size=size))


def test_a_missing_field_of_several_is_named_with_their_number() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (3,), "x", mapping=0, initial_value=X)
    out = graph.add_variable(pl.FLOAT, (3,), "out", mapping=0)
    running = vertices.CumulativeSum[pl.FLOAT, pl.FLOAT]
    sets = [graph.add_compute_set(name) for name in ("short", "full")]
    graph.add_vertex(sets[0], running, tile=0, x=x, out=out)
    graph.add_vertex(sets[1], running, tile=0, x=x, out=out, before=x[:0], excludes=False)
    with pytest.raises(pl.GraphConnectionError, match="'before' is .*; 1 more field has the same"):
        pl.Engine(graph, pl.Execute(sets[0]))
    engine = pl.Engine(graph, pl.Execute(sets[1]), interpret=True)
    engine.run()
    assert engine.read(out).tolist() == [1, 3, 6]
