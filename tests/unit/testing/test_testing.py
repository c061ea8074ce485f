"""The public test helpers: they make what they say, and notice every wrong answer."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from random import Random
from typing import Any, Generic, TypeVar

import numpy as np
import pytest
from hypothesis import Phase, given, settings, strategies as st

import poplite as pl
from helpers.pages import blocks
from helpers.running import python
from poplite import testing, vertices
from poplite.graph.tensor.regions import SortedRegions
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tile_mapping import TileMapping
from poplite.testing import (
    AddressedTensor,
    assert_vertex,
    check_tensor,
    graphs_with_variables,
    random_tensor,
    random_variables,
    tensors,
    tile_mappings,
    variables,
)
from poplite.testing.vertices import laid_out
from poplite.vertices import Add, Fill
from poplite.view import Cat


@given(tensors())
def test_the_lines_of_a_tensor_make_it_again(t: AddressedTensor) -> None:
    names: dict[str, Any] = {}
    exec(str(t), names)
    again = names["t"]
    check_tensor(again, t.addresses)
    graph = t.tensor.graph
    assert names["graph"].tile_mapping(again, False) == graph.tile_mapping(t.tensor, False)


def test_a_seed_names_a_tensor() -> None:
    def drawn() -> str:
        random = Random(11)
        return str(random_tensor(random, random_variables(random)))

    assert drawn() == drawn()


def test_all_kinds_of_tensors_are_drawn() -> None:
    drawn = []
    for seed in range(300):
        random = Random(seed)
        drawn.append(random_tensor(random, random_variables(random), 10))
    found = Counter(kind for t in drawn for kind in kinds(t))
    assert min(found[kind] for kind in KINDS) >= 5, found


KINDS = (
    "rank 0", "rank 4", "empty", "extent 1", "several digits", "steps back", "inner concatenation",
    "concatenation of concatenations", "aliases", "constants and variables", "append", "slices",
)  # fmt: skip


def kinds(t: AddressedTensor) -> Iterator[str]:
    """Everything that a tensor is, of what tests need now and then."""
    tensor, program = t.tensor, str(t)
    yield f"rank {tensor.rank}"
    yield from [word for word in ("append", "slices") if f".{word}(" in program]
    if not tensor.num_elements:
        yield "empty"
        return
    if 1 in tensor.shape:
        yield "extent 1"
    if any([type(dim) is tuple for dim in tensor.view.dims]):
        yield "several digits"
    if -1 in np.diff(t.addresses.reshape(-1)):
        yield "steps back"
    space = tensor.view.space
    if isinstance(space, Cat):
        if space.outer > 1:
            yield "inner concatenation"
        if any([isinstance(kid.space, Cat) for kid in space.kids]):
            yield "concatenation of concatenations"
    if tensor.contains_aliases():
        yield "aliases"
    if {variable.constant for variable, _, _ in tensor.var_regions()} == {True, False}:
        yield "constants and variables"


@given(st.data())
def test_tensors_of_one_graph_and_mappings_that_fit_them(data: st.DataObject) -> None:
    sources = data.draw(graphs_with_variables(num_tiles=3))
    a, b = data.draw(tensors(sources)), data.draw(tensors(sources))
    graph = a.tensor.graph
    assert b.tensor.graph is graph
    assert graph.target.tiles == 3
    mapping = data.draw(tile_mappings(a.tensor.num_elements, 3))
    with warnings.catch_warnings():  # constants may be mapped already
        warnings.simplefilter("ignore", pl.ConstantRemappedWarning)
        graph.set_tile_mapping(a.tensor, mapping)
    check_tensor(b.tensor, b.addresses)


def test_a_failing_example_prints_as_a_program() -> None:
    @settings(phases=[Phase.generate])  # the smallest example would take long to find
    @given(tensors())
    def fails(t: AddressedTensor) -> None:
        assert t.tensor.num_elements == 0

    with pytest.raises(AssertionError) as raised:
        fails()
    notes = "\n".join(raised.value.__notes__)
    assert "t=import poplite as pl\n" in notes
    assert "graph = pl.Graph(pl.Target(tiles=4))" in notes


def test_an_operation_that_raises_tells_its_expression() -> None:
    (x,) = variables({"x": (2, 3)})
    with pytest.raises(pl.TensorIndexError) as raised:
        x.call("reverse", 0).call("slice", 1, 5, 0)
    assert raised.value.__notes__ == ["in: t = x.reverse(0).slice(1, 5, 0)"]


WRONG = {
    "contains_aliases": (Tensor, lambda self: False),
    "contains_constant": (Tensor, lambda self: False),
    "is_parallel_writeable": (Tensor, lambda self: True),
    "is_contiguous": (Tensor, lambda self: True),
    "intersects_with": (Tensor, lambda self, other: False),
    "contiguous_regions": (Tensor, lambda self: [(0, self.num_elements)]),
    "var_regions": (Tensor, lambda self: []),
    "elements_per_tile": (TileMapping, property(lambda self: np.zeros(len(self), np.int64))),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_answer_is_noticed_and_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, answer = WRONG[name]
    x, c = variables({"x": (4,), "c": (2,)}, constants=["c"], mappings={"x": [[(0, 4)]]})
    t = testing.concatenated([x.call("reverse", 0), c, x], 0)
    check_tensor(t.tensor, t.addresses)
    monkeypatch.setattr(owner, name, answer)
    with pytest.raises(AssertionError, match=rf"{name}.* is .*, expected "):
        check_tensor(t.tensor, t.addresses)


@pytest.mark.parametrize("column", ["begin", "length", "ptr", "aliases"])
def test_wrong_groups_are_noticed(column: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (x,) = variables({"x": (2, 3)})
    t = x.call("dim_shuffle", [1, 0])
    made = inspect.unwrap(SortedRegions.__init__)

    def spoilt(self: SortedRegions, *args: Any) -> None:
        made(self, *args)
        values = getattr(self, column)
        if values is not None:
            setattr(self, column, np.roll(values, 1) if column != "length" else values * 2)

    monkeypatch.setattr(SortedRegions, "__init__", spoilt)
    with pytest.raises(AssertionError):
        testing.check_sorted_regions(t.tensor, t.addresses, np.zeros(6, np.int64))


def test_all_but_the_strategies_work_without_hypothesis(root: Path) -> None:
    program = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "from poplite.testing import check_tensor, variables\n"
        "x, = variables({'x': (2,)}); check_tensor(x.tensor, x.addresses)\n"
        "import inspect, poplite as pl\n"
        "from poplite.testing import *\n"
        "assert hasattr(pl.testing, 'tensors') and inspect.getmembers(pl.testing)\n"
        "try:\n    tensors()\n"
        "except pl.AbsentMember as error:\n    print(error.what, error.fix, sep='; ')\n"
        "inspect.getdoc(tensors) and print(inspect.getdoc(tensors))\n"
    )
    assert python(root, "-c", program).stdout == (
        "poplite.testing.tensors needs hypothesis, which is not installed; "
        "pip install hypothesis\n"
        "Refused: it needs hypothesis, which is not installed.\n"
    )


def test_public_names() -> None:
    assert [name for name in testing.__all__ if not hasattr(testing, name)] == []
    with pytest.raises(AttributeError, match="module 'poplite.testing' has no attribute 'tensor'"):
        testing.tensor  # noqa: B018  (the lookup is the test)


# -- `assert_vertex` -------------------------------------------------------------------------------


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
    with pytest.raises(pl.UnknownField, match="expected lacks 'y'"):
        assert_vertex(Staged, inputs, {"work": None})
    with pytest.raises(pl.UnknownField, match="expected lacks 'x'"):
        assert_vertex(Scale, {"x": [1.0]}, {}, metadata=pl.QuarterMetadata("F143"))


def test_an_element_left_unwritten_is_found() -> None:
    message = (
        r"Move, compiled, layout 0 of seed 0: 'y': 1 of 3 elements is wrong\n"
        r"  \[2\] is .*, expected 3\.0\n  in memory: 3 elements contiguous on tile 1$"
    )
    x = floats(1, 2, 3)
    with (
        pytest.raises(AssertionError, match=message),
        pytest.warns(pl.UnwrittenOutputWarning, match=r"leaves 'Move\.y'\[2\] unwritten"),
    ):
        assert_vertex(Move, {"left_out": 1, "x": x}, {"y": x})


class Tenth(pl.Vertex):
    """A tenth of each element."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = self.x[i] * 0.1


class Larger(pl.Vertex):
    """How many elements are above a half."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        count = 0
        for value in self.x:
            if value > 0.5:
                count += 1
        self.y = count


def test_a_reference_in_float64_is_told_the_type_of_the_field() -> None:
    x = np.random.default_rng(1).standard_normal(34)
    message = (
        r"\n  'x' and 'y' are float64, but FLOAT is float32\n"
        r"  try: compute the reference in float32, from x\.astype\(np\.float32\)$"
    )
    with pytest.raises(AssertionError, match=message):
        assert_vertex(Tenth, {"x": x}, {"y": x * 0.1})
    x = x.astype(np.float32)
    assert_vertex(Tenth, {"x": x}, {"y": x * np.float32(0.1)})


def test_a_reference_gets_the_values_that_the_fields_hold() -> None:
    def larger(x: Any) -> Any:
        return np.float32((x > 0.5).sum())

    x = np.nextafter(np.full(3, 0.5), 1)  # 0.5 in float32
    assert_vertex(Larger, {"x": x}, larger)


def test_one_number_for_many_elements_is_told_both_remedies() -> None:
    with pytest.raises(pl.ElementTypeError) as caught:
        assert_vertex(Larger, {"x": floats(1, 2)}, {"y": floats(1, 2)})
    assert caught.value.fix == "pass a number; or declare y: Output[Vector[FLOAT]]"


def test_nearly_equal_floats_are_told_the_tolerance_that_they_need() -> None:
    x = floats(1, 2, 3)
    near, far = x * np.float32(1 + 3e-6), x * np.float32(1.01)
    with pytest.raises(AssertionError, match=r"\n  try: rtol=1e-05, if another order of rounding"):
        assert_vertex(Move, {"left_out": 0, "x": x}, {"y": near})
    assert_vertex(Move, {"left_out": 0, "x": x}, {"y": near}, rtol=1e-5)
    with pytest.raises(AssertionError, match="contiguous on tile 1$"):
        assert_vertex(Move, {"left_out": 0, "x": x}, {"y": far})


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
        match=r"'rows\[1\]': 7 of 7 elements are wrong\n(.*\n)*"
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
    with pytest.raises(
        pl.UnknownField, match=r"inputs has an unknown name 'xx' \(did you mean 'x'\?\)"
    ):
        assert_vertex(Move, {"left_out": 0, "xx": [1.0]}, {"y": [1.0]})
    with pytest.raises(pl.UnknownField, match=r"expected lacks 'y'(.*\n)*.*fields: left_out"):
        assert_vertex(Move, {"left_out": 0, "x": [1.0]}, {})
    with pytest.raises(pl.UnknownField, match="inputs lacks 'left_out', 'x'"):
        assert_vertex(Move, {}, {"y": [1.0]})
    with pytest.raises(
        pl.ElementTypeError, match=r"shape \(1, 1\) for x: Input\[Vector\[FLOAT\]\]"
    ):
        assert_vertex(Move, {"left_out": 0, "x": [[1.0]]}, {"y": [1.0]})
    with pytest.raises(
        pl.ElementTypeError, match="expected must be values by field; found ndarray"
    ):
        assert_vertex(Rows[pl.INT], {"rows": [[1]], "limit": 0}, lambda rows, limit: floats(1))
    with pytest.raises(pl.TensorIndexError, match="index 1 of 1 elements"):
        assert_vertex(Move, {"left_out": 0, "x": [1.0]}, {"y": [1.0, 2.0]})


def test_the_element_type_is_that_of_numpys_numbers() -> None:
    assert_vertex(Fill, {"value": 2.0}, {"out": np.array([2, 2], np.float16)}, layouts=1)
    with pytest.raises(pl.ElementTypeError) as caught:
        assert_vertex(Fill, {"value": 2.0}, {"out": [2.0, 2.0]})
    error = caught.value
    assert error.what == "assert_vertex(Fill): 'out' does not determine the element type"
    assert error.found == "[2.0, 2.0] is float64, which no element type stores"
    assert error.fix == "pass Fill[pl.FLOAT], or np.float32([2.0, 2.0])"


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


def test_tracebacks_of_poplites_errors_show_the_users_lines(root: Path, tmp_path: Path) -> None:
    (tmp_path / "test_past.py").write_text(
        "import numpy as np\nimport poplite as pl\nfrom poplite.testing import assert_vertex\n\n"
        "class Past(pl.Vertex):\n    x: pl.Input[pl.Vector[pl.FLOAT]]\n    y: pl.Output[pl.FLOAT]\n"
        "    def compute(self) -> None:\n        self.y = self.x[len(self.x)]\n\n"
        "def test_past():\n    assert_vertex(Past, {'x': np.ones(3, np.float32)}, {'y': 1})\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "--disable-plugin-autoload"]
    command += ["-p", "poplite.testing.plugin", "-p", "no:cacheprovider"]
    runs = [
        subprocess.run([*command, *more], cwd=tmp_path, capture_output=True, text=True, check=False)
        for more in ([], ["--full-trace"])
    ]
    short, full = (run.stdout for run in runs)
    assert "index 3 of 3 elements  (test_past.py:9 in compute)" in short
    assert len(short.splitlines()) < 30
    assert "simulator" not in short
    assert "simulator" in full


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
        (
            {"tmp": None},
            {"out": X},
            "'tmp': None",
            "pass an array, .*; or pass the number of its elements",
        ),
        (
            {"tmp": 0.5},
            {"out": X},
            "'tmp': 0.5",
            "pass an array, its contents before the vertex runs",
        ),
        (
            {"x": None},
            {"out": X},
            "'x': None",
            "pass an array, its contents before the vertex runs",
        ),
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
    assert "reference, size=...) for an output of that size" in caught.value.fix
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
