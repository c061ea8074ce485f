"""Lanes in `compute`: the same bits compiled, interpreted and as NumPy says; what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import pytest

import poplite as pl
from helpers.depth import deep, thinned, values_only
from helpers.running import load, words_of
from poplite.errors import FloatingPointTrap, TensorIndexError, VertexCompileError
from poplite.vertex.compute.meaning import check

T = TypeVar("T", bound=pl.ElementType[Any])

SIZES = (0, 1, 2, 31, 63, 64, 65, 127, 128, 200)

Numbers = npt.NDArray[Any]


class Dot(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Input[pl.Vector[pl.FLOAT]]
    out: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        total = pl.lanes.full(0.0)
        for i in range(0, len(self.x), 64):
            total += self.x.lanes(i) * self.y.lanes(i)
        self.out = total.sum()


def halved(lanes: Numbers, join: Any) -> Any:
    """Join the second half of 64 lanes to the first, until one is left."""
    for half in (32, 16, 8, 4, 2, 1):
        above = lanes[half:]
        lanes = lanes[:half].copy()
        lanes[: len(above)] = join(lanes[: len(above)], above)
    return lanes[0]


def drawn(count: int, dtype: Any = np.float32) -> Numbers:
    rng = np.random.default_rng(count)
    if dtype == np.bool_:
        return rng.random(count) < 0.5
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, count, dtype, endpoint=True)
    return (rng.standard_normal(count) * 10.0 ** rng.integers(-3, 4, count)).astype(dtype)


def run(
    cls: type[pl.Vertex], *, interpret: bool = False, checks: Any = "strict", **fields: Any
) -> dict[str, Numbers]:
    graph = pl.Graph(pl.Target(tiles=1))
    work, tensors = graph.add_compute_set("work"), {}
    for name, value in fields.items():
        if cls.fields[name].is_edge:
            array = np.asarray(value)
            tensors[name] = graph.add_variable(
                cls.fields[name].element, array.shape, name, mapping=0, initial_value=array
            )
    graph.add_vertex(work, cls, tile=0, **{**fields, **tensors})
    engine = pl.Engine(
        graph, pl.Execute(work), interpret=interpret, checks=checks, options=values_only()
    )
    engine.run()
    return {n: engine.read(t) for n, t in tensors.items() if cls.fields[n].writes}


def both(cls: type[pl.Vertex], **fields: Any) -> dict[str, Numbers]:
    """Run both forms, which give the same bits."""
    made = run(cls, **fields)
    for name, value in run(cls, interpret=True, **fields).items():
        assert made[name].tobytes() == value.tobytes(), name
    return made


@pytest.mark.parametrize("count", SIZES)
def test_a_sum_of_products_is_what_numpy_says_lane_by_lane(count: int) -> None:
    x, y = drawn(count), drawn(count)[::-1].copy()
    lanes = np.zeros(64, np.float32)
    for i in range(0, count, 64):
        product = x[i : i + 64] * y[i : i + 64]
        lanes[: len(product)] += product
    assert both(Dot, x=x, y=y, out=0.0)["out"] == halved(lanes, np.add)


class Fold(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    out: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        lanes = self.x.lanes(0)
        self.out[0] = lanes.sum()
        self.out[1] = lanes.prod()
        self.out[2] = lanes.min()
        self.out[3] = lanes.max()


@pytest.mark.parametrize("count", [0, 1, 2, 3, 33, 63, 64])
def test_lanes_that_are_absent_take_no_part_in_folds(count: int) -> None:
    x = drawn(count)
    none = np.array([0, 1, np.inf, -np.inf], np.float32)
    expected = (
        none
        if not count
        else np.array([halved(x, join) for join in (np.add, np.multiply, np.minimum, np.maximum)])
    )
    assert both(Fold, x=x, out=np.zeros(4))["out"].tolist() == expected.tolist()


def test_nan_and_negative_zero_pass_through_folds() -> None:
    assert np.signbit(both(Fold, x=[-0.0] * 3, out=np.zeros(4))["out"][0])
    assert np.isnan(both(Fold, x=[1, np.nan, 2], out=np.zeros(4))["out"]).all()


class Kinds(pl.Vertex, Generic[T]):
    x: pl.Input[pl.Vector[T]]
    y: pl.InOut[pl.Vector[T]]
    most: pl.Output[pl.Vector[T]]

    def compute(self) -> None:
        for i in range(0, len(self.x), 64):
            x: Any = self.x.lanes(i)
            y: Any = self.y.lanes(i)
            self.y.set_lanes(i, abs(-x) - y * x + 3)
            self.most[0] = np.maximum(x, y).max()
            self.most[1] = np.minimum(x, y).min()
            self.most[2] = (x + y).sum()


@pytest.mark.parametrize(
    "element",
    thinned(
        [pl.FLOAT, pl.HALF, pl.INT, pl.UNSIGNED_CHAR]
        + [pl.UNSIGNED_INT, pl.SHORT, pl.LONGLONG, pl.UNSIGNED_LONGLONG],
        keep=4,
    ),
)
@pytest.mark.parametrize("count", [1, 63, 65, 130])
def test_all_types_have_lanes(element: type[pl.ElementType[Any]], count: int) -> None:
    x, y = drawn(count, element.dtype), drawn(count, element.dtype)[::-1].copy()
    template: Any = Kinds
    made = both(template[element], x=x, y=y, most=np.zeros(3, element.dtype))
    wide = {"f": np.float32, "i": np.int64, "u": np.int64}[element.dtype.kind]
    wide = np.uint64 if element is pl.UNSIGNED_LONGLONG else wide
    a, b = x.astype(wide), y.astype(wide)
    with np.errstate(all="ignore"):
        magnitude = -a if wide == np.uint64 else abs(-a)
        expected = magnitude - b * a + wide(3)
        if wide == np.float32:
            np.testing.assert_array_equal(made["y"], expected.astype(element.dtype))
        else:
            assert made["y"].tobytes() == expected.astype(element.dtype).tobytes()


class Truths(pl.Vertex):
    x: pl.Input[pl.Vector[pl.BOOL]]
    y: pl.Input[pl.Vector[pl.BOOL]]
    z: pl.Output[pl.Vector[pl.BOOL]]
    out: pl.Output[pl.Vector[pl.BOOL]]

    def compute(self) -> None:
        every, some = pl.lanes.full(True), pl.lanes.full(False)
        for i in range(0, len(self.x), 64):
            x = self.x.lanes(i)
            every &= x | self.y.lanes(i)
            some |= x & self.y.lanes(i)
            self.z.set_lanes(i, x ^ self.y.lanes(i))
        self.out[0] = every.all()
        self.out[1] = some.any()


@pytest.mark.parametrize("count", [0, 1, 65, 128])
def test_truth_values_have_lanes(count: int) -> None:
    x, y = drawn(count, np.bool_), drawn(count, np.bool_)[::-1].copy()
    made = both(Truths, x=x, y=y, z=np.zeros(count, np.bool_), out=np.zeros(2, np.bool_))
    assert made["z"].tolist() == (x ^ y).tolist()
    assert made["out"].tolist() == [(x | y).all(), (x & y).any()]


def steep(x: float, at: float) -> float:
    if x < at:
        return 2.0 * x
    return math.exp(x - at)


class Mapped(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    n: pl.Input[pl.Vector[pl.INT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]
    z: pl.Output[pl.Vector[pl.INT]]
    above: pl.Output[pl.Vector[pl.BOOL]]

    @staticmethod
    def share(x: float, n: int) -> int:
        return n // int(x) if x != 0 else 7

    @staticmethod
    def is_above(x: float, low: float = 0.5) -> bool:
        return x > low

    def twice(self, lanes: Any) -> Any:
        return lanes + lanes

    def compute(self) -> None:
        for i in range(0, len(self.x), 64):
            x = self.twice(self.x.lanes(i))
            self.y.set_lanes(i, pl.lanes.map(steep, x, 0.25) + pl.lanes.map(math.sqrt, abs(x)))
            self.z.set_lanes(i, pl.lanes.map(self.share, x, self.n.lanes(i)))
            self.above.set_lanes(i, pl.lanes.map(self.is_above, x))


@pytest.mark.parametrize("count", [1, 64, 70])
def test_functions_are_called_lane_by_lane_and_lanes_are_passed_to_methods(count: int) -> None:
    x, n = drawn(count), drawn(count, np.int32)
    outputs = {"y": np.zeros(count), "z": np.zeros(count, np.int32), "above": x > 0}
    made = both(Mapped, x=x, n=n, **outputs)
    twice = x + x
    low = twice < np.float32(0.25)
    with np.errstate(over="ignore"):
        steeper = np.exp(twice - np.float32(0.25))
    expected = np.where(low, 2 * twice, steeper) + np.sqrt(abs(twice))
    np.testing.assert_allclose(made["y"], expected, rtol=3e-7)
    assert made["above"].tolist() == (twice > 0.5).tolist()


class Rows(pl.Vertex):
    rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    out: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for r in range(len(self.rows)):
            self.out[r] = self.rows[r].lanes(1, 3).sum()


def test_rows_have_lanes_and_a_count_says_how_many() -> None:
    rows = np.arange(15, dtype=np.float32).reshape(3, 5)
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (3, 5), "x", mapping=0, initial_value=rows)
    out = graph.add_variable(pl.FLOAT, (3,), "out", mapping=0)
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Rows, tile=0, rows=x, out=out)
    engine = pl.Engine(graph, pl.Execute(work), options=values_only())
    engine.run()
    assert engine.read(out).tolist() == rows[:, 1:4].sum(axis=1).tolist()


class Reach(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    first: pl.Input[pl.INT]
    count: pl.Input[pl.INT]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        self.y.set_lanes(0, self.x.lanes(self.first, self.count))


class Place(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    first: pl.Input[pl.INT]
    at: pl.Input[pl.INT]
    y: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        self.y.set_lanes(self.at, self.x.lanes(self.first))


@pytest.mark.parametrize("interpret", [True, False])
@pytest.mark.parametrize(
    ("first", "count", "found"),
    [
        (-1, 2, "'Reach.x': index -1 of 9 elements"),
        (8, 2, "'Reach.x': index 9 of 9 elements"),
        (10, 0, "'Reach.x': index 10 of 9 elements"),
        (0, 65, "'Reach.x': 65 lanes, but the number must be from 0 to 64"),
        (0, 5, "'Reach.y': index 4 of 4 elements"),
        (0, 6, "'Reach.y': index 5 of 4 elements"),
        (0, -1, "'Reach.x': -1 lanes, but the number must be from 0 to 64"),
    ],
)
def test_lanes_outside_a_field_stop_the_vertex(
    first: int, count: int, found: str, interpret: bool
) -> None:
    with pytest.raises(TensorIndexError) as caught:
        run(Reach, interpret=interpret, x=np.zeros(9), first=first, count=count, y=np.zeros(4))
    assert found in str(caught.value)


@pytest.mark.parametrize("checks", ["strict", "fast"])
@pytest.mark.parametrize("interpret", [True, False])
@pytest.mark.parametrize(
    ("first", "at", "found"),
    [
        (10, 0, "'Place.x': index 10 of 9 elements"),
        (9, 5, "'Place.y': index 5 of 4 elements"),
        (9, -1, "'Place.y': index -1 of 4 elements"),
    ],
)
def test_no_lanes_have_a_place_in_a_field_too(
    first: int, at: int, found: str, interpret: bool, checks: str
) -> None:
    numbers = {"x": np.zeros(9), "y": np.zeros(4)}
    with pytest.raises(TensorIndexError) as caught:
        run(Place, interpret=interpret, checks=checks, first=first, at=at, **numbers)
    assert found in str(caught.value)
    assert checks == "fast" or "in compute" in str(caught.value)
    both(Place, first=9, at=4, **numbers)


def test_lanes_outside_a_field_stop_a_vertex_with_fast_checks() -> None:
    with pytest.raises(TensorIndexError, match="index 9 of 9 elements"):
        run(Reach, checks="fast", x=np.zeros(9), first=8, count=2, y=np.zeros(4))
    for count in (65, -1):
        message = f"'Reach.x': {count} lanes, but the number must be from 0 to 64"
        with pytest.raises(TensorIndexError, match=message):
            run(Reach, checks="fast", x=np.zeros(99), first=0, count=count, y=np.zeros(99))


class Few(pl.Vertex, Generic[T]):
    """Lanes of numbers that the text says, joined with each other and with as many as are there."""

    x: pl.Input[pl.Vector[T]]
    n: pl.State[pl.INT]
    sums: pl.Output[pl.Vector[T]]
    mixed: pl.Output[pl.Vector[T]]
    folds: pl.Output[pl.Vector[T]]

    def compute(self) -> None:
        total = self.x.lanes(0, 12)
        for i in range(1, self.n):
            total += self.x.lanes(i, 12)
        self.sums.set_lanes(0, total)
        self.folds[0], self.folds[1] = total.max(), self.x.lanes(1, 3).min()
        longer = total + self.x.lanes(2, 20)
        self.mixed.set_lanes(0, pl.lanes.map(self.less, longer, self.x.lanes(1)))
        for i in range(2):
            total -= self.x.lanes(i)
        self.folds[2] = total.min()

    @staticmethod
    def less(a: Any, b: Any) -> Any:
        return a - b


@pytest.mark.parametrize("element", [pl.FLOAT, pl.HALF, pl.INT])
def test_lanes_of_a_number_in_the_text_are_like_others(element: type[pl.ElementType[Any]]) -> None:
    x = np.random.default_rng(1).integers(-99, 99, 30).astype(element.dtype)
    sizes = {n: np.zeros(k, x.dtype) for n, k in (("sums", 12), ("mixed", 20), ("folds", 3))}
    made = both(Few[element], x=x, n=4, **sizes)  # type: ignore[valid-type]
    total = x[:12] + x[1:13] + x[2:14] + x[3:15]
    assert made["sums"].tolist() == total.tolist()
    longer = x[2:22].copy()
    longer[:12] += total
    assert made["mixed"].tolist() == (longer - x[1:21]).tolist()
    rest = np.zeros(30, x.dtype)  # lanes that only one has stay as they are
    rest[:12], rest[12:] = total, x[12:]
    rest[:12] -= x[:12]
    rest[:29] -= x[1:]
    assert made["folds"].tolist() == [total.max(), x[1:4].min(), rest.min()]


@pytest.mark.parametrize("checks", ["strict", "fast"])
def test_lanes_in_a_loop_that_leaves_a_field_stop_there(checks: str) -> None:
    sizes: dict[str, Any] = {"sums": np.zeros(12), "mixed": np.zeros(20), "folds": np.zeros(3)}
    with pytest.raises(TensorIndexError, match=r"index 30 of 30 elements"):
        run(Few[pl.FLOAT], checks=checks, x=np.zeros(30), n=99, **sizes)


class Inverse(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        self.y.set_lanes(0, 1 / self.x.lanes(0))


@pytest.mark.parametrize("interpret", [True, False])
def test_a_trap_stops_lanes_that_are_present_only(interpret: bool) -> None:
    def trapped(cls: type[pl.Vertex], field: str, x: list[float], size: int) -> list[float]:
        graph = pl.Graph(pl.Target(tiles=1))
        a = graph.add_variable(pl.FLOAT, (len(x),), "a", mapping=0, initial_value=x)
        b = graph.add_variable(pl.FLOAT, (size,), "b", mapping=0)
        work = graph.add_compute_set("work")
        graph.add_vertex(work, cls, tile=0, x=a, **{field: b})
        behaviour = pl.FloatingPointBehaviour(
            inv=True, div0=True, oflo=True, esr=False, nanoo=False
        )
        program = pl.Sequence(pl.SetFloatingPointBehaviour(behaviour), pl.Execute(work))
        engine = pl.Engine(graph, program, interpret=interpret, options=values_only())
        engine.run()
        numbers: list[float] = engine.read(b).tolist()
        return numbers

    assert trapped(Inverse, "y", [1, 2, 4], 3) == [1, 0.5, 0.25]
    with pytest.raises(FloatingPointTrap, match="DIVIDE_BY_ZERO"):
        trapped(Inverse, "y", [1, 0, 4], 3)
    for count in (1, 40, 63, 64):
        assert trapped(Fold, "out", [1.0] * count, 4) == [count, 1, 1, 1]
    with pytest.raises(FloatingPointTrap, match="OVERFLOW"):
        trapped(Fold, "out", [1.0] * 33 + [3e38] * 2, 4)
    with pytest.raises(FloatingPointTrap, match="INVALID"):
        trapped(Fold, "out", [1.0] * 50 + [math.inf, -math.inf], 4)


def huge(x: float) -> float:
    return int(x) * 1e39


class Doubles(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    way: pl.Input[pl.INT]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        x: Any = self.x.lanes(0)
        if self.way == 0:
            x = pl.lanes.full(1e39)
        elif self.way == 1:
            x = np.minimum(x, 1e39)
        elif self.way == 2:
            x = self.x.lanes(0, 0) + self.way * 1e39
        elif self.way == 3:
            x += 1e39
        elif self.way == 4:
            x = pl.lanes.map(huge, x)
        else:
            self.y[0] = np.minimum(self.x[0], 1e39)
        self.y.set_lanes(0, self.x.lanes(0) - self.x.lanes(0) * x)


@pytest.mark.parametrize("interpret", [True, False])
@pytest.mark.parametrize("way", range(6))
def test_a_double_too_large_for_a_float32_traps_operand_of_lanes(way: int, interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (3,), "x", mapping=0, initial_value=1)
    y = graph.add_variable(pl.FLOAT, (3,), "y", mapping=0)
    number = graph.add_variable(pl.INT, (), "way", mapping=0, initial_value=way)
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Doubles, tile=0, x=x, y=y, way=number)
    behaviour = pl.FloatingPointBehaviour(inv=True, div0=True, oflo=True, esr=False, nanoo=False)
    program = pl.Sequence(pl.SetFloatingPointBehaviour(behaviour), pl.Execute(work))
    with pytest.raises(FloatingPointTrap, match="OVERFLOW"):
        pl.Engine(graph, program, interpret=interpret, options=values_only()).run()


@deep
def test_lanes_have_the_same_bits_on_a_plain_processor(root: Path, tmp_path: Path) -> None:
    places = [str(root / "tests"), str(root / "tests" / "unit" / "vertex")]
    script = (
        f"import sys; sys.path[:0] = {places!r}\n"
        "import numpy as np, test_lanes as t\n"
        "x, halves = t.drawn(170), t.drawn(170).astype('e')\n"
        "kinds = t.Kinds[t.pl.HALF]\n"
        "print(t.run(t.Dot, x=x, y=x, out=0.0)['out'].tobytes().hex())\n"
        "print(t.run(kinds, x=halves, y=halves, most=np.zeros(3))['y'].tobytes().hex())\n"
        "print(t.run(t.Fold, x=x[:47], out=np.zeros(4))['out'].tobytes().hex())\n"
    )
    plain = words_of(tmp_path, script, NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="")
    assert plain == words_of(tmp_path, script)
    assert [len(word) // 2 for word in plain] == [4, 340, 16]


def test_lanes_cost_two_floats_a_cycle_and_less_than_elements_one_by_one() -> None:
    class Loop(pl.Vertex):
        x: pl.Input[pl.Vector[pl.FLOAT]]
        y: pl.Input[pl.Vector[pl.FLOAT]]
        out: pl.Output[pl.FLOAT]

        def compute(self) -> None:
            total = 0.0
            for i in range(len(self.x)):
                total += self.x[i] * self.y[i]
            self.out = total

    def cycles(cls: type[pl.Vertex], count: int) -> int:
        graph = pl.Graph(pl.Target(tiles=1))
        x, y = (graph.add_variable(pl.FLOAT, (count,), n, mapping=0, initial_value=1) for n in "xy")
        out = graph.add_variable(pl.FLOAT, (), "out", mapping=0)
        work = graph.add_compute_set("work")
        graph.add_vertex(work, cls, tile=0, x=x, y=y, out=out)
        engine = pl.Engine(graph, pl.Execute(work), checks="fast")
        engine.run()
        return engine.report().cycles or 0

    for_lanes = cycles(Dot, 64 * 40) - cycles(Dot, 64 * 20)
    assert 20 * 64 * 6 < for_lanes < cycles(Loop, 64 * 40) - cycles(Loop, 64 * 20)


class Until(pl.Vertex, Generic[T]):
    """Stores one number of x after the other until it meets one in y that is positive."""

    x: pl.Input[pl.Vector[T]]
    y: pl.InOut[pl.Vector[T]]

    def compute(self) -> None:
        i = 0
        while i < len(self.y) and self.y[i] < 1:
            self.y.set_lanes(i, self.x.lanes(i, 1))
            i += 1


@pytest.mark.parametrize("element", thinned([pl.FLOAT, pl.BOOL, pl.HALF, pl.INT, pl.SHORT], keep=2))
@pytest.mark.parametrize("checks", ["strict", "fast"])
def test_where_data_decide_lanes_that_are_absent_are_neither_stored_nor_counted(
    element: type[pl.ElementType[Any]], checks: str
) -> None:
    template: Any = Until

    def cycles(end: int, interpret: bool) -> int:
        graph = pl.Graph(pl.Target(tiles=1))
        values = {"x": np.ones(80, element.dtype), "y": np.zeros(80, element.dtype)}
        values["y"][end] = values["y"][end + 2] = 1
        tensors = {
            name: graph.add_variable(element, (80,), name, mapping=0, initial_value=value)
            for name, value in values.items()
        }
        work = graph.add_compute_set("work")
        graph.add_vertex(work, template[element], tile=0, **tensors)
        mode: Any = checks
        engine = pl.Engine(graph, pl.Execute(work), interpret=interpret, checks=mode)
        engine.run()
        values["y"][:end] = 1
        assert engine.read(tensors["y"]).tolist() == values["y"].tolist()
        return engine.report().cycles or 0

    spent = [cycles(end, False) for end in (10, 20, 60)]
    assert spent == [cycles(end, True) for end in (10, 20, 60)]
    assert 0 < 4 * (spent[1] - spent[0]) == spent[2] - spent[1]


def halvings(x: float) -> int:
    count = 0
    while x > 1:
        x = x / 2
        count += 1
    return count


class Halvings(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        self.y.set_lanes(0, pl.lanes.map(halvings, self.x.lanes(0)))


def test_what_a_function_takes_for_each_lane_is_counted_by_its_numbers() -> None:
    def cycles(number: float, checks: Any, interpret: bool) -> int:
        graph = pl.Graph(pl.Target(tiles=1))
        x = graph.add_variable(pl.FLOAT, (7,), "x", mapping=0, initial_value=number)
        y = graph.add_variable(pl.INT, (7,), "y", mapping=0)
        work = graph.add_compute_set("work")
        graph.add_vertex(work, Halvings, tile=0, x=x, y=y)
        engine = pl.Engine(graph, pl.Execute(work), interpret=interpret, checks=checks)
        engine.run()
        assert engine.read(y).tolist() == [math.log2(number)] * 7
        return engine.report().cycles or 0

    for number in (1.0, 4.0, 1024.0):
        spent = cycles(number, "fast", False)
        assert cycles(number, "strict", False) == spent
        assert cycles(number, "strict", True) == spent
        assert cycles(number, "fast", True) == spent
    assert cycles(1024.0, "strict", False) > cycles(4.0, "strict", False)


HEAD = """
import math
import poplite as pl


def near(x, y):
    return x < y


class V(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    n: pl.Input[pl.Vector[pl.INT]]
    q: pl.Input[pl.Vector[pl.QUARTER]]
    flag: pl.Input[pl.Vector[pl.BOOL]]
    rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    y: pl.Output[pl.Vector[pl.FLOAT]]
    out: pl.Output[pl.FLOAT]

    def own(self, x):
        return x

    def compute(self):
        x = self.x.lanes(0)
"""


@pytest.mark.parametrize(
    ("line", "what", "fix"),
    [
        ("self.out = x", "lanes of float32s cannot be stored as one number", "set_lanes"),
        ("self.out = x + 1", "lanes of float32s cannot be stored as one number", ".sum()"),
        ("self.y[0] = x[0]", "lanes of float32s cannot be indexed", "self.x[i]"),
        (
            "z = x + self.n.lanes(0)",
            "lanes of float32s cannot be combined with lanes of ints",
            "of one kind",
        ),
        (
            "z = self.n.lanes(0) * 0.5",
            "lanes of ints cannot be combined with a Python float",
            "of one kind",
        ),
        ("z = self.n.lanes(0) / 2", "'/' is not defined for lanes of ints", "pl.lanes.map"),
        ("z = x % 2", "'%' is not defined for lanes of float32s", "pl.lanes.map"),
        (
            "z = self.flag.lanes(0) + 1",
            "lanes of truth values cannot be combined with an int",
            "of one kind",
        ),
        ("z = ~x", "'~' is not defined for lanes of float32s", "pl.lanes.map"),
        ("z = math.exp(x)", "math.exp is not defined for lanes", "pl.lanes.map(math.exp, x)"),
        ("z = x < 1", "lanes of float32s are used as a number", "x.sum()"),
        ("z = self.rows.lanes(0)", "a list of vectors of 'rows' has no lanes", "self.rows[r]"),
        ("z = self.q.lanes(0)", "lanes cannot be of QUARTER", "self.x[i]"),
        ("z = self.x.lanes(0.5)", "an index must be an int", "int(...)"),
        ("z = self.x.lanes()", "lanes takes the first index", "self.x.lanes(i)"),
        ("z = self.y.lanes(0)", "output 'y' is read", "InOut"),
        ("self.x.set_lanes(0, x)", "field 'x' is read-only", "InOut"),
        (
            "self.y.set_lanes(0, self.n.lanes(0))",
            "lanes of ints cannot be stored",
            "lanes of float32s",
        ),
        (
            "self.y.set_lanes(0, 2.0)",
            "a Python float cannot be stored in lanes",
            "pl.lanes.full(2.0)",
        ),
        ("self.y.set_lanes(0, 2)", "an int cannot be stored in lanes", "pl.lanes.full(float(2))"),
        (
            "self.y.set_lanes(0, self.x)",
            "a vector of 'x' cannot be stored in lanes",
            "self.x.lanes(i)",
        ),
        ("self.y = x", "lanes of float32s are stored in vector 'y'", "set_lanes(i, value)"),
        ("self.out = x.sum", "sum of lanes of float32s must be called", "x.sum()"),
        ("self.out = x.mean", "lanes of float32s have no mean", "use a method of lanes: sum, prod"),
        ("z = self.x.lanes", "lanes of a vector of 'x' must be called", "self.x.lanes(i)"),
        ("self.y.set_lanes(0)", "set_lanes takes the first index and the lanes", "(i, value)"),
        ("z = pl.lanes.map(near, 1.0, 2.0)", "map is called without lanes", "itself"),
        ("z = pl.lanes.map(near)", "map takes a function", "pl.lanes.map(f"),
        ("z = pl.lanes.map(self.own, x)", "cannot take self", "@staticmethod"),
        ("z = x.any()", "any is not defined for lanes of float32s", "truth values"),
        ("z = x.sum(0)", "sum of lanes takes no arguments", "remove them"),
        ("z = pl.lanes.full()", "full takes one number", "(0.0)"),
        (
            "z = x if x.max() > 1 else x + 1",
            "a conditional expression cannot contain lanes",
            "if and else",
        ),
        ("if x > 1:\n            self.out = 1.0", "used as a number", "pl.lanes.map(f, x)"),
        ("z = len(x)", "len does not take lanes", "self.x.lanes(i, count)"),
        ("for e in x:\n            self.out = e", "this is lanes of float32s", "pl.lanes.map(f"),
        ("z = sum(x)", "sum does not take lanes of float32s", "use x.sum()"),
        ("z = max(x)", "max does not take lanes of float32s", "x.max()"),
        ("z = x.mean()", "lanes of float32s have no mean", "use a method of lanes: sum, prod"),
        ("x.sum()", "a call used as a statement has no effect", "assign"),
        ("self.x.lanes(0)", "a call used as a statement has no effect", "assign"),
        ("z = self.y.set_lanes(0, x)", "set_lanes returns nothing", "as a statement"),
        ("if x.max() > 1:\n            x = 1.0\n        self.out = x", "lanes of float32s", ""),
    ],
)
def test_what_lanes_cannot_do_is_refused(line: str, what: str, fix: str, tmp_path: Path) -> None:
    file = tmp_path / "lanes_refused.py"
    file.write_text(HEAD + f"        {line}\n")
    with pytest.raises(VertexCompileError) as caught:
        check(load(file).V)
    assert what in caught.value.what
    assert fix in (caught.value.fix or "")


FLOATS: Any = pl.lanes.full(2.0)
INTS: Any = pl.lanes.full(2)


@pytest.mark.parametrize(
    ("made", "what"),
    [
        (lambda: FLOATS + None, "'+': the value combined with lanes is None"),
        (lambda: "2" * FLOATS, "'*': the value combined with lanes is '2'"),
        (lambda: np.ones(64) - FLOATS, "'-': the value combined with lanes is array"),
        (lambda: INTS + 0.5, "'+': lanes of ints cannot be combined with a Python float"),
        (lambda: FLOATS + INTS, "'+': lanes of float32s cannot be combined with lanes of ints"),
        (lambda: INTS / 2, "'/' is not defined for lanes of ints"),
        (lambda: FLOATS & FLOATS, "'&' is not defined for lanes of float32s"),
        (lambda: -pl.lanes.full(True), "'-' is not defined for lanes of truth values"),
        (lambda: pl.lanes.full("2"), "full: the number is '2'"),  # type: ignore[arg-type]
        (lambda: pl.lanes.Lanes(np.ones(4)), "pl.lanes.Lanes: float64 of shape (4,)"),
        (lambda: pl.lanes.Lanes(np.ones(65, np.float32)), "float32 of shape (65,)"),
    ],
)
def test_outside_of_compute_the_same_is_refused(made: Callable[[], Any], what: str) -> None:
    with pytest.raises(pl.ElementTypeError) as raised:
        made()
    assert what in raised.value.what
    assert raised.value.fix


def test_numbers_of_numpy_are_taken_as_those_of_fields() -> None:
    narrow: Any = pl.lanes.Lanes(np.arange(3, dtype=np.int16))
    assert (np.int8(3) * narrow).numbers() == [0, 3, 6]
    assert (np.float16(0.5) * FLOATS).max() == np.float32(1)
