"""Floating-point arithmetic that stops a program: what does, where, and what is left behind."""

from __future__ import annotations

import math
import operator
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import values_only
from poplite.machine.floating_point import TRAPS, reachable
from poplite.simulator.codegen.compute_code import modes_of

FORMS = pytest.mark.parametrize("interpret", [False, True])
INVALID = pl.ErrorCode.FLOATING_POINT_INVALID_OPERATION
DIVIDE = pl.ErrorCode.FLOATING_POINT_DIVIDE_BY_ZERO
OVERFLOW = pl.ErrorCode.FLOATING_POINT_OVERFLOW
BIG, INF, NAN = 3e38, math.inf, math.nan


def traps(inv: bool = False, div0: bool = False, oflo: bool = False) -> pl.Program:
    """A program that turns traps on."""
    return pl.SetFloatingPointBehaviour(pl.FloatingPointBehaviour(inv, div0, oflo, False, False))


ALL = traps(True, True, True)


class Operations(pl.Vertex):
    """One operation of two numbers, by its number."""

    a: pl.Input[pl.FLOAT]
    b: pl.Input[pl.FLOAT]
    i: pl.Input[pl.INT]
    which: pl.State[pl.INT]
    y: pl.InOut[pl.FLOAT]
    h: pl.InOut[pl.HALF]
    n: pl.InOut[pl.LONGLONG]
    flag: pl.InOut[pl.BOOL]

    def compute(self) -> None:
        a = self.a
        b = self.b
        if self.which == 0:
            self.y = a + b
        elif self.which == 1:
            self.y = a - b
        elif self.which == 2:
            self.y = a * b
        elif self.which == 3:
            self.y = a / b
        elif self.which == 4:
            self.y = a // b
        elif self.which == 5:
            self.y = a % b
        elif self.which == 6:
            self.y = a**2
        elif self.which == 7:
            self.y = math.sqrt(a)
        elif self.which == 8:
            self.y = math.exp(a)
        elif self.which == 9:
            self.y = math.log(a)
        elif self.which == 10:
            self.y = math.sin(a)
        elif self.which == 11:
            self.flag = a < b
        elif self.which == 12:
            self.flag = a != b
        elif self.which == 13:
            self.y = max(a, b)
        elif self.which == 14:
            self.n = int(a)
        elif self.which == 15:
            self.n = math.floor(a)
        elif self.which == 16:
            self.h = a
        elif self.which == 17:
            self.y = self.i / 0
        elif self.which == 18:
            self.y = 0 / self.i
        elif self.which == 19:
            self.y = math.sqrt(self.i)
        elif self.which == 20:
            self.y = a * 1e39
        elif self.which == 21:
            self.y = self.i * 1e300
        elif self.which == 22:
            self.y = -a + abs(b) * 0.0
        elif self.which == 23:
            self.y = self.i // 0 + self.i % 0
        else:
            a += b
            self.y = a


NAMES = (
    *("+", "-", "*", "/", "//", "%", "** 2", "sqrt", "exp", "log", "sin", "<", "!=", "max", "int"),
    *("floor", "half", "i / 0", "0 / i", "sqrt i", "* 1e39", "i * 1e300", "-a", "ints", "+="),
)

HAPPENS: tuple[tuple[str, float, float, pl.ErrorCode | None], ...] = (
    ("+", 1, 2, None),
    ("+", BIG, BIG, OVERFLOW),
    ("+", INF, BIG, None),
    ("+", INF, -INF, INVALID),
    ("+", NAN, 1, INVALID),
    ("-", -BIG, BIG, OVERFLOW),
    ("-", INF, INF, INVALID),
    ("*", 1e30, 1e30, OVERFLOW),
    ("*", INF, 2, None),
    ("*", 0, INF, INVALID),
    ("*", 1e-30, 1e-30, None),
    ("/", 1, 0, DIVIDE),
    ("/", -1, -0.0, DIVIDE),
    ("/", 0, 0, INVALID),
    ("/", INF, 0, None),
    ("/", INF, INF, INVALID),
    ("/", 1, INF, None),
    ("/", BIG, 1e-10, OVERFLOW),
    ("//", 1, 0, DIVIDE),
    ("//", 0, 0, INVALID),
    ("//", BIG, 1e-10, OVERFLOW),
    ("//", 7, 2, None),
    ("%", 1, 0, INVALID),
    ("%", 7, 2, None),
    ("%", -5, INF, None),
    ("** 2", 1e30, 0, OVERFLOW),
    ("** 2", INF, 0, None),
    ("** 2", NAN, 0, INVALID),
    ("sqrt", -1, 0, INVALID),
    ("sqrt", INF, 0, None),
    ("exp", 1000, 0, OVERFLOW),
    ("exp", INF, 0, None),
    ("exp", -1000, 0, None),
    ("log", 0, 0, DIVIDE),
    ("log", -1, 0, INVALID),
    ("log", INF, 0, None),
    ("sin", INF, 0, INVALID),
    ("sin", 1, 0, None),
    ("<", NAN, 1, INVALID),
    ("<", INF, 1, None),
    ("!=", 1, NAN, INVALID),
    ("max", NAN, 1, INVALID),
    ("max", INF, 1, None),
    ("int", NAN, 0, INVALID),
    ("int", 1e30, 0, INVALID),
    ("int", -(2.0**63), 0, None),
    ("int", 2.0**63, 0, INVALID),
    ("floor", INF, 0, INVALID),
    ("floor", -1.5, 0, None),
    ("half", 65519, 0, None),
    ("half", 65520, 0, OVERFLOW),
    ("half", INF, 0, None),
    ("half", NAN, 0, None),
    ("i / 0", 0, 0, DIVIDE),
    ("0 / i", 0, 0, None),
    ("sqrt i", 0, 0, INVALID),
    ("* 1e39", 1, 0, OVERFLOW),
    ("i * 1e300", 0, 0, OVERFLOW),
    ("-a", NAN, 1, INVALID),
    ("-a", INF, 1, None),
    ("ints", 0, 0, None),
    ("+=", BIG, BIG, OVERFLOW),
)


def operation(
    which: str, a: float, b: float, *steps: pl.Program, interpret: bool
) -> tuple[pl.Engine, dict[str, pl.Tensor]]:
    """An engine for one operation, and its results."""
    graph = pl.Graph(pl.Target(tiles=3))
    work = graph.add_compute_set("work")
    given = {"a": (pl.FLOAT, a), "b": (pl.FLOAT, b), "i": (pl.INT, -4)}
    ins = {
        name: graph.add_variable(kind, (), name, mapping=0, initial_value=value)
        for name, (kind, value) in given.items()
    }
    kinds = {"y": pl.FLOAT, "h": pl.HALF, "n": pl.LONGLONG, "flag": pl.BOOL}
    zeros = {n: np.zeros((), k.dtype) for n, k in kinds.items()}
    outs = {
        n: graph.add_variable(k, (), n, mapping=0, initial_value=zeros[n]) for n, k in kinds.items()
    }
    number = NAMES.index(which)
    graph.add_vertex(work, Operations, tile=2, which=number, **ins, **outs)
    program = pl.Sequence(*steps, pl.Execute(work))
    return pl.Engine(graph, program, interpret=interpret, options=values_only()), outs


@FORMS
@pytest.mark.parametrize(("which", "a", "b", "code"), HAPPENS)
def test_what_happens(
    which: str, a: float, b: float, code: pl.ErrorCode | None, interpret: bool
) -> None:
    plain, expected = operation(which, a, b, interpret=interpret)
    plain.run()
    engine, outs = operation(which, a, b, ALL, interpret=interpret)
    if code is None:
        engine.run()
        for name, tensor in outs.items():
            np.testing.assert_array_equal(engine.read(tensor), plain.read(expected[name]))
        return
    with pytest.raises(
        pl.FloatingPointTrap, match=f"vertex 0 of 'Operations' on tile 2: {code.name}: "
    ) as e:
        engine.run()
    assert e.value.code is code
    assert engine.read(outs["y"]) == 0
    # The others of the three do not look at it.
    others = traps(inv=code is not INVALID, div0=code is not DIVIDE, oflo=code is not OVERFLOW)
    engine, outs = operation(which, a, b, others, interpret=interpret)
    if (which, code) == ("* 1e39", OVERFLOW) or which in ("-a", "half"):
        return  # which do more than one thing
    engine.run()
    np.testing.assert_array_equal(engine.read(outs["y"]), plain.read(expected["y"]))


def test_every_operation_of_the_vertex_is_tried() -> None:
    assert {which for which, *_ in HAPPENS} == set(NAMES)


class Masked(pl.Vertex):
    """Divides where it may; compiled code may divide everywhere and choose."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            if self.x[i] > 0.0:
                self.y[i] += math.sqrt(self.x[i]) / self.x[i]


class Invert(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.InOut[pl.Vector[pl.FLOAT]]

    @staticmethod
    def inverse(x: float) -> float:
        return 1.0 / x

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.y[i] += self.inverse(self.x[i])


class Newton(pl.Vertex):
    """Goes on until it is close, which it never is when it meets NaN."""

    x: pl.InOut[pl.FLOAT]
    square: pl.Input[pl.FLOAT]

    def compute(self) -> None:
        while not abs(self.x * self.x - self.square) < 0.001:
            self.x = (self.x + self.square / self.x) / 2


class Store(pl.Vertex):
    x: pl.Input[pl.FLOAT]
    h: pl.Output[pl.HALF]

    def compute(self) -> None:
        self.h = self.x


class Sums(pl.MultiVertex):
    x: pl.Input[pl.Vector[pl.HALF]]
    y: pl.Output[pl.Vector[pl.HALF]]

    def compute(self, worker: int) -> None:
        for i in range(worker, len(self.x), self.num_workers):
            self.y[i] = self.x[i] + self.x[i]


def pairs(
    cls: type[pl.Vertex], values: Any, *steps: pl.Program, vertices: int = 4, **options: Any
) -> tuple[pl.Engine, pl.Tensor, pl.Tensor]:
    """An engine whose vertices have equal parts of x and y, and these."""
    values = np.asarray(values, np.float32)
    graph = pl.Graph(pl.Target(tiles=vertices))
    x = graph.add_variable(pl.FLOAT, values.shape, "x", mapping=0, initial_value=values)
    y = graph.add_variable(pl.FLOAT, values.shape, "y", mapping=0, initial_value=1.0)
    work = graph.add_compute_set("work")
    size = len(values) // vertices
    for tile in range(vertices):
        part = slice(tile * size, (tile + 1) * size)
        graph.add_vertex(work, cls, tile=tile, x=x[part], y=y[part])
    return pl.Engine(graph, pl.Sequence(*steps, pl.Execute(work)), **options), x, y


@FORMS
@pytest.mark.parametrize("checks", ["strict", "fast"])
def test_what_a_program_skips_does_not_stop_it(
    checks: Literal["strict", "fast"], interpret: bool
) -> None:
    values = np.tile(np.array([4, 0, -1, 1, NAN, 0, 9, -INF], np.float32), 8)
    values[np.isnan(values)] = -2
    engine, _, y = pairs(Masked, values, ALL, interpret=interpret, checks=checks)
    for times in (1, 2, 3):
        engine.run()
        with np.errstate(all="ignore"):
            root = np.where(values > 0, np.sqrt(values) / values, 0).astype(np.float32)
        expected = np.ones(64, np.float32)
        for _ in range(times):
            expected += root
        np.testing.assert_array_equal(engine.read(y), expected)


@FORMS
@pytest.mark.parametrize("checks", ["strict", "fast"])
def test_the_error_names_vertex_tile_line_and_step(
    checks: Literal["strict", "fast"], interpret: bool
) -> None:
    values = np.ones(40, np.float32)
    values[[25, 37]] = 0
    engine, x, y = pairs(Invert, values, traps(div0=True), interpret=interpret, checks=checks)
    with pytest.raises(pl.FloatingPointTrap) as raised:
        engine.run()
    error = raised.value
    assert error.what == "vertex 2 of 'Invert' on tile 2: FLOATING_POINT_DIVIDE_BY_ZERO: 1.0 / 0.0"
    assert error.at is not None
    assert (error.at.function, error.at.file) == ("inverse", __file__)
    assert error.where == "step 2 of 2: Execute 'work'"
    assert "called from" in error.found
    assert "the vertex was added at" in error.found
    assert isinstance(error, FloatingPointError)
    assert isinstance(error, pl.ApplicationRuntimeError)
    # Memory is as before that compute set, and the engine goes on.
    assert (engine.read(y) == 1).all()
    engine.write(x, 2.0)
    engine.run()
    assert (engine.read(y) == 1.5).all()


@FORMS
def test_a_loop_that_would_not_end_is_stopped(interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (), "x", mapping=0, initial_value=1.0)
    square = graph.add_variable(pl.FLOAT, (), "square", mapping=0, initial_value=NAN)
    work = graph.add_compute_set("newton")
    graph.add_vertex(work, Newton, tile=0, x=x, square=square)
    program = pl.Sequence(traps(inv=True), pl.Execute(work))
    engine = pl.Engine(graph, program, interpret=interpret, options=values_only())
    with pytest.raises(pl.FloatingPointTrap, match=r"INVALID_OPERATION: 1\.0 - nan"):
        engine.run()
    assert engine.read(x) == 1.0
    engine.write(square, 2.0)
    engine.run()
    assert abs(engine.read(x) - math.sqrt(2)) < 0.001


@FORMS
def test_a_worker_is_named(interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    values = np.ones(20, np.float16)
    values[10] = 60000
    x = graph.add_variable(pl.HALF, (20,), "x", mapping=0, initial_value=values)
    y = graph.add_variable(pl.HALF, (20,), "y", mapping=0, initial_value=0)
    work = graph.add_compute_set("sums")
    graph.add_vertex(work, Sums, tile=0, x=x, y=y)
    engine = pl.Engine(
        graph,
        pl.Sequence(traps(oflo=True), pl.Execute(work)),
        interpret=interpret,
        options=values_only(),
    )
    with pytest.raises(pl.FloatingPointTrap) as raised:
        engine.run()
    expected = "vertex 0 of 'Sums' on tile 0, worker 4: FLOATING_POINT_OVERFLOW: 120000.0 as HALF"
    assert raised.value.what == expected
    # NaN on overflow makes it an invalid operation as well.
    nanoo = pl.FloatingPointBehaviour(inv=True, div0=False, oflo=False, esr=False, nanoo=True)
    engine = pl.Engine(
        graph,
        pl.Sequence(pl.SetFloatingPointBehaviour(nanoo), pl.Execute(work)),
        interpret=interpret,
        options=values_only(),
    )
    with pytest.raises(pl.FloatingPointTrap, match="INVALID_OPERATION: 120000.0 as HALF"):
        engine.run()


@FORMS
def test_traps_go_on_and_off_while_a_program_runs(interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (4,), "x", mapping=0, initial_value=0)
    y = graph.add_variable(pl.FLOAT, (4,), "y", mapping=0, initial_value=0)
    work = graph.add_compute_set("invert")
    graph.add_vertex(work, Invert, tile=0, x=x, y=y)
    engine = pl.Engine(
        graph,
        {
            "run": pl.Execute(work),
            "on": ALL,
            "off": traps(),
            "both": pl.Repeat(2, pl.Sequence(traps(), pl.Execute(work), ALL)),
            "twice": pl.Repeat(2, pl.Sequence(pl.Execute(work), ALL)),
        },
        interpret=interpret,
        options=values_only(),
    )
    engine.run("run")
    assert (engine.read(y) == INF).all()
    engine.run("on")
    for _ in range(2):
        with pytest.raises(pl.FloatingPointTrap, match="DIVIDE_BY_ZERO"):
            engine.run("run")
    engine.run("both")
    engine.run("off")
    with pytest.raises(pl.FloatingPointTrap, match="DIVIDE_BY_ZERO"):
        engine.run("twice")


@FORMS
def test_the_first_of_many_vertices_is_reported(interpret: bool) -> None:
    values = np.ones(4000, np.float32)
    values[[1234, 2345, 3999]] = 0
    engine, _, y = pairs(Invert, values, ALL, vertices=400, interpret=interpret)
    with pytest.raises(pl.FloatingPointTrap, match="vertex 123 of 'Invert' on tile 123"):
        engine.run()
    assert (engine.read(y) == 1).all()


@FORMS
def test_options_set_the_first_mode_and_load_goes_back_to_it(interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (4,), "x", mapping=0, initial_value=1.0)
    y = graph.add_variable(pl.FLOAT, (4,), "y", mapping=0, initial_value=0)
    h = graph.add_variable(pl.HALF, (), "h", mapping=0, initial_value=0)
    big = graph.add_constant(pl.FLOAT, (), BIG, "big", mapping=0)
    zeros = graph.add_constant(pl.FLOAT, (4,), 0.0, "zeros", mapping=0)
    invert, store = graph.add_compute_set("invert"), graph.add_compute_set("store")
    graph.add_vertex(invert, Invert, tile=0, x=x, y=y)
    graph.add_vertex(store, Store, tile=0, x=big, h=h)
    programs = {
        "invert": pl.Sequence(pl.Copy(zeros, x), pl.Execute(invert)),
        "store": pl.Execute(store),
        "off": traps(),
    }
    option = {"debug.floatPointOpException": True}
    engine = pl.Engine(graph, programs, interpret=interpret, options=option)
    for _ in range(2):
        with pytest.raises(pl.FloatingPointTrap, match="DIVIDE_BY_ZERO"):
            engine.run("invert")
        with pytest.raises(pl.FloatingPointTrap, match=r"OVERFLOW: 3e\+38 as HALF"):
            engine.run("store")
        engine.run("off")
        engine.run("invert")
        engine.run("store")
        assert engine.read(h) == 65504
        engine.load()
    option = {"debug.nanOverflowMode": True}
    engine = pl.Engine(graph, programs, interpret=interpret, options=option)
    engine.run("invert")
    engine.run("store")
    assert np.isnan(engine.read(h))


def test_a_saved_program_keeps_its_traps(tmp_path: Path) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (4,), "x", mapping=0, initial_value=0)
    y = graph.add_variable(pl.FLOAT, (4,), "y", mapping=0, initial_value=0)
    work = graph.add_compute_set("invert")
    graph.add_vertex(work, Invert, tile=0, x=x, y=y)
    pl.compile_graph(graph, pl.Sequence(ALL, pl.Execute(work))).save(tmp_path / "file")
    engine = pl.Engine(pl.Executable.load(tmp_path / "file"))
    with pytest.raises(
        pl.FloatingPointTrap, match="vertex 0 of 'Invert' on tile 0: FLOATING_POINT_DIVIDE"
    ):
        engine.run()


def test_modes_that_may_be_reached() -> None:
    # Traps on, then off again by either of two steps, from an initial mode of its own.
    assert reachable(32, [(TRAPS, 1), (TRAPS, 2), (1, 0)]) == (32, 33, 34)
    assert reachable(7, []) == (7,)


def test_a_class_is_compiled_only_for_the_modes_that_it_feels() -> None:
    assert modes_of(Store, (0,)) == ()
    assert modes_of(Store, (0, 8, 16)) == (0, 8, 16)
    # Invert stores no HALF: how that is rounded changes nothing there.
    assert modes_of(Invert, (0, 8, 16)) == ()
    assert modes_of(Invert, (9, 8, 1)) == (0, 1)
    assert modes_of(Invert, (7, 15)) == (7,)


def test_the_error_can_be_sent_to_another_process() -> None:
    error = pl.FloatingPointTrap("what", code=OVERFLOW, fix="less")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert (again.what, again.code, again.fix) == ("what", OVERFLOW, "less")


# -- traps against NumPy ---------------------------------------------------------------------------
# NumPy raises for what IEEE 754 signals.  Here NaN among the operands is invalid as well.


OPERATIONS: tuple[Callable[[Any, Any], Any], ...] = (
    *(operator.add, operator.sub, operator.mul, operator.truediv),
    lambda x, y: np.float32(np.float16(x)),
    lambda x, y: np.sqrt(x),
    operator.lt,
)

SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.1, 1e-45, 3e38, -3e38, 65504.0, 65520.0, 2e19, np.inf, np.nan)
NUMBERS = st.sampled_from(SPECIAL) | st.floats(width=32)
CODES = {"invalid": "INVALID_OPERATION", "divide": "DIVIDE_BY_ZERO", "overflow": "OVERFLOW"}


class Work(pl.Vertex):
    """One operation on every element; enough of them for vectors."""

    which: pl.State[pl.INT]
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Input[pl.Vector[pl.FLOAT]]
    z: pl.InOut[pl.Vector[pl.FLOAT]]
    h: pl.InOut[pl.Vector[pl.HALF]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            if self.which == 0:
                self.z[i] = self.x[i] + self.y[i]
            elif self.which == 1:
                self.z[i] = self.x[i] - self.y[i]
            elif self.which == 2:
                self.z[i] = self.x[i] * self.y[i]
            elif self.which == 3:
                self.z[i] = self.x[i] / self.y[i]
            elif self.which == 4:
                self.h[i] = self.x[i]
            elif self.which == 5:
                self.z[i] = math.sqrt(self.x[i])
            elif self.x[i] < self.y[i]:
                self.z[i] = 1.0


def first_trap(which: int, x: Any, y: Any, enabled: frozenset[str]) -> tuple[int, str] | None:
    """Return the first element that stops a vertex, and why."""
    for at, (left, right) in enumerate(zip(x, y, strict=True)):
        has_nan = np.isnan(left) or (which not in (4, 5) and np.isnan(right))
        if has_nan:
            if "invalid" in enabled and which != 4:
                return at, "invalid"
            continue
        for kind in CODES:
            does: list[Literal["raise", "ignore"]]
            does = ["raise" if kind == each else "ignore" for each in CODES]
            with np.errstate(invalid=does[0], divide=does[1], over=does[2], under="ignore"):
                try:
                    OPERATIONS[which](left, right)
                except FloatingPointError:
                    if kind in enabled:
                        return at, kind
    return None


@given(
    which=st.integers(0, len(OPERATIONS) - 1),
    values=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=40),
    enabled=st.sampled_from([*(frozenset({kind}) for kind in CODES), frozenset(CODES)]),
    interpret=st.booleans(),
)
def test_what_numpy_raises_for_stops_the_vertex(
    which: int, values: Any, enabled: frozenset[str], interpret: bool
) -> None:
    x, y = (np.array(column, np.float32) for column in zip(*values, strict=True))
    graph = pl.Graph(pl.Target(tiles=1))
    fields = {
        "x": graph.add_variable(pl.FLOAT, x.shape, "x", mapping=0, initial_value=x),
        "y": graph.add_variable(pl.FLOAT, x.shape, "y", mapping=0, initial_value=y),
        "z": graph.add_variable(pl.FLOAT, x.shape, "z", mapping=0),
        "h": graph.add_variable(pl.HALF, x.shape, "h", mapping=0),
    }
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Work, tile=0, which=which, **fields)
    inv, div0, oflo = (kind in enabled for kind in CODES)
    behaviour = pl.FloatingPointBehaviour(inv, div0, oflo, esr=False, nanoo=False)
    program = pl.Sequence(pl.SetFloatingPointBehaviour(behaviour), pl.Execute(work))
    engine = pl.Engine(graph, program, interpret=interpret, checks="fast", options=values_only())
    expected = first_trap(which, x, y, enabled)
    if expected is None:
        engine.run()
        if which != 4:
            with np.errstate(all="ignore"):
                results = OPERATIONS[which](x, y)
            np.testing.assert_array_equal(engine.read(fields["z"]), results.astype(np.float32))
        return
    at, kind = expected
    with pytest.raises(pl.FloatingPointTrap, match=f"{CODES[kind]}: ") as raised:
        engine.run()
    shown = [str(value) for value in (x[at], y[at])]
    assert shown[0] in raised.value.what
    assert which in (4, 5) or shown[1] in raised.value.what
    assert not engine.read(fields["z"]).any()
