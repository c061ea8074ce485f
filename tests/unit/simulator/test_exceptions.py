"""`raise` and `assert` in `compute`: which error comes, and that memory is as before."""

from __future__ import annotations

import bdb
import copy
import math
import pickle
import sys
import warnings
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import llvmlite.binding as llvm
import numpy as np
import pytest

import poplite as pl
from helpers.depth import thinned, values_only
from helpers.running import python, simulated
from poplite.compile import places
from poplite.jit.build import Builds
from poplite.jit.object_cache import code
from poplite.simulator.compiled_parts import Driver
from poplite.simulator.run.interpreted_vertices import raised_error
from poplite.vertex.compute.meaning import meaning_of

Checks = Literal["strict", "fast"]
HERE = Path(__file__)
FILE = "tests/unit/simulator/test_exceptions.py"

every_way = pytest.mark.parametrize(
    ("interpret", "checks"),
    [(False, "strict"), (False, "fast"), (True, "strict"), (True, "fast")],
    ids=["compiled strict", "compiled fast", "interpreted strict", "interpreted fast"],
)


def line_of(text: str) -> int:
    """Number of the first line of this file that holds a text."""
    lines = HERE.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


class TooLarge(ArithmeticError):
    """An exception of a user's, with a say in what it is made of."""

    def __init__(self, value: float, index: int) -> None:
        super().__init__(f"{value} at {index}")
        self.index = index


class Grow(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]
    LIMIT = 8

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] *= 2
            if self.x[i] > self.LIMIT:
                raise TooLarge(self.x[i], i)


def grow(
    values: list[list[float]], *, interpret: bool, checks: Checks, times: int = 1
) -> tuple[pl.Engine, pl.Tensor]:
    graph = pl.Graph(pl.Target(tiles=len(values)))
    x = graph.add_variable(
        pl.FLOAT, np.shape(values), "x", mapping="linear", initial_value=np.array(values)
    )
    spare = graph.add_variable(pl.FLOAT, x.shape, "spare", mapping="linear", initial_value=0)
    work = graph.add_compute_set("grow")
    for tile in range(len(values)):
        graph.add_vertex(work, Grow, tile=tile, x=x[tile])
    program = pl.Sequence(pl.Copy(x, spare), pl.Repeat(times, pl.Execute(work)))
    return pl.Engine(graph, program, interpret=interpret, checks=checks, options=values_only()), x


@every_way
def test_the_error_is_of_both_classes_and_names_the_line(interpret: bool, checks: Checks) -> None:
    engine, x = grow([[1, 2], [3, 5], [9, 9]], interpret=interpret, checks=checks)
    vertex = engine._executable.origins[0][1]
    for _ in range(2):
        with pytest.raises(TooLarge) as caught:
            engine.run()
        error = caught.value
        assert isinstance(error, pl.ApplicationRuntimeError)
        assert str(error).splitlines() == [
            "vertex 1 of 'Grow' on tile 1: TooLarge: 10.0 at 1"
            f"  ({FILE}:{line_of('raise TooLarge(self')} in compute)",
            "  at step 2 of 2: Execute 'grow'",
            f"  the vertex was added at {vertex.location}",
            f"  try: {error.fix}",
        ]
        assert "Engine(..., interpret=True), with breakpoint()" in error.fix
        assert error.index == 1
        assert type(error.__cause__) is TooLarge
        assert error.__cause__.args == ("10.0 at 1",)
        assert engine.read(x).tolist() == [[1, 2], [3, 5], [9, 9]]
    engine.write(x, 1)
    engine.run()
    assert (engine.read(x) == 2).all()


@every_way
def test_steps_before_the_fault_stay_done(interpret: bool, checks: Checks) -> None:
    engine, x = grow([[1, 0.5], [0, 2]], interpret=interpret, checks=checks, times=5)
    with pytest.raises(TooLarge, match=r"vertex 1 of 'Grow' on tile 1: TooLarge: 16\.0 at 1"):
        engine.run()
    assert engine.read(x).tolist() == [[4, 2], [0, 8]]


# -- what a vertex did before it stopped -----------------------------------------------------------


class Walk(pl.Vertex):
    """Advances its own index, in place and in a gathered field, until it stops."""

    at: pl.InOut[pl.INT]
    x: pl.InOut[pl.Vector[pl.INT]]
    gathered: pl.InOut[pl.Vector[pl.INT]]
    rows: pl.Output[pl.Vector[pl.Vector[pl.INT]]]

    def compute(self) -> None:
        while self.at < 10:
            assert self.x[self.at] == 0, f"{self.x[self.at]} at {self.at}"
            self.x[self.at] = 7
            self.gathered[0] = self.at
            self.rows[1][0] = self.at
            self.at += 1


@every_way
def test_the_replay_starts_from_restored_memory(interpret: bool, checks: Checks) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    at = graph.add_variable(pl.INT, (2,), "at", mapping=0, initial_value=[8, 1])
    start = np.zeros((2, 10), np.int32)
    start[1, 6] = 5
    x = graph.add_variable(pl.INT, (2, 10), "x", mapping=0, initial_value=start)
    g = graph.add_variable(pl.INT, (4, 2), "g", mapping=0, initial_value=0)
    r = graph.add_variable(pl.INT, (2, 2, 3), "r", mapping=0, initial_value=0)
    work = graph.add_compute_set("walk")
    for i in range(2):
        graph.add_vertex(work, Walk, tile=i, at=at[i], x=x[i], gathered=g[:, i], rows=r[i])
    engine = pl.Engine(
        graph, pl.Execute(work), interpret=interpret, checks=checks, options=values_only()
    )
    with pytest.raises(
        AssertionError, match="vertex 1 of 'Walk' on tile 1: AssertionError: 5 at 6 "
    ):
        engine.run()
    assert engine.read(at).tolist() == [8, 1]
    assert (engine.read(x) == start).all()
    assert not engine.read(g).any()
    assert not engine.read(r).any()
    engine.write(x[1, 6], 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pl.UnwrittenOutputWarning)
        engine.run()
    assert engine.read(at).tolist() == [10, 10]
    assert engine.read(g).tolist() == [[9, 9], [0, 0], [0, 0], [0, 0]]


class Fill(pl.Vertex):
    """Raises nothing, but shares a compute set with vertices that do."""

    y: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = 3


class Refuse(pl.Vertex):
    why: pl.State[pl.INT]
    x: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        self.x[0] = 9
        if self.why == 1:
            raise ValueError
        if self.why == 2:
            self.x[len(self.x) + self.why] = 1
        assert self.why != 3


@every_way
def test_what_other_vertices_of_the_compute_set_wrote_is_restored(
    interpret: bool, checks: Checks
) -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.INT, (4,), "x", mapping=0, initial_value=0)
    y = graph.add_variable(pl.INT, (6, 2), "y", mapping=0, initial_value=0)
    first, second = graph.add_compute_set("first"), graph.add_compute_set("second")
    graph.add_vertex(first, Fill, tile=0, y=y[0])
    for work in (first, second):
        graph.add_vertex(work, Fill, tile=1, y=y[1:, 0])
    graph.add_vertex(second, Refuse, tile=2, why=3, x=x)
    graph.add_vertex(second, Fill, tile=3, y=y[1:, 1])
    program = pl.Sequence(pl.Execute(first), pl.Execute(second))
    engine = pl.Engine(graph, program, interpret=interpret, checks=checks, options=values_only())
    with pytest.raises(AssertionError) as caught:
        engine.run()
    assert caught.value.what == "vertex 1 of 'Refuse' on tile 2: AssertionError"  # type: ignore[attr-defined]
    assert caught.value.where == "step 2 of 2: Execute 'second'"  # type: ignore[attr-defined]
    assert not engine.read(x).any()
    assert engine.read(y).tolist() == [[3, 3]] + 5 * [[3, 0]]


class Next(pl.Vertex):
    """Counts an index up, in place, and stops where it is too large."""

    at: pl.InOut[pl.INT]
    x: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        while self.x[self.at] == 0:
            self.x[self.at] = 1
            self.at += 1
            assert self.at < 3, f"{self.at}"


@every_way
@pytest.mark.parametrize("shuffled", [False, True], ids=["regular", "shuffled"])
def test_vertices_added_together(
    shuffled: bool, interpret: bool, checks: Checks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "FEW_VERTICES", 10)  # so that few have tables of offsets, too
    number = 100
    order = np.random.default_rng(0).permutation(number) if shuffled else np.arange(number)
    graph = pl.Graph(pl.Target(tiles=4))
    at = graph.add_variable(pl.INT, (number,), "at", mapping="linear", initial_value=0)
    start = np.zeros((number, 3), np.int32)
    start[:, 2] = 7
    start[order[[61, 62, 90]]] = 0
    x = graph.add_variable(pl.INT, (number, 3), "x", mapping="linear", initial_value=start)
    work = graph.add_compute_set("work")
    lists = {"at": [at[k] for k in order], "x": [x[k] for k in order]}
    graph.add_vertices(work, Next, tile=np.arange(number) % 4, **lists)
    engine = pl.Engine(
        graph, pl.Execute(work), interpret=interpret, checks=checks, options=values_only()
    )
    (group,) = engine._executable.steps[0].groups  # type: ignore[union-attr]
    assert ("flat" in {column.kind for column in group.columns}) == shuffled
    for _ in range(2):
        with pytest.raises(
            AssertionError, match="vertex 61 of 'Next' on tile 1: AssertionError: 3 "
        ):
            engine.run()
        assert not engine.read(at).any()
        assert (engine.read(x) == start).all()
    engine.write(x[:, 2], 7)
    engine.run()
    assert (engine.read(at) == 2).all()


def test_only_compute_sets_that_may_fault_are_saved_in_fast_checks() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (4,), "x", mapping=0, initial_value=0)
    quiet, raising = graph.add_compute_set("quiet"), graph.add_compute_set("raising")
    graph.add_vertex(quiet, Fill, tile=0, y=x)
    graph.add_vertex(raising, Fill, tile=0, y=x[1:])
    graph.add_vertex(raising, Refuse, tile=0, why=0, x=x[:1])
    program = pl.Sequence(pl.Execute(quiet), pl.Execute(raising))
    steps = pl.Engine(graph, program, checks="fast", options=values_only())._executable.steps
    assert [step.save.size_bytes for step in steps] == [0, 16]  # type: ignore[union-attr]


# -- which fault is reported -----------------------------------------------------------------------


class Twin(Refuse):
    """The same work under another name."""


@every_way
@pytest.mark.parametrize(
    ("reasons", "told"),
    [
        ([0, 3, 1], "vertex 1 of 'Twin' on tile 1: AssertionError"),
        ([0, 0, 1], "vertex 2 of 'Refuse' on tile 0: ValueError"),
        ([1, 3, 1], "vertex 0 of 'Refuse' on tile 0: ValueError"),
    ],
)
def test_the_first_in_the_order_of_vertices_is_reported(
    reasons: list[int], told: str, interpret: bool, checks: Checks
) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.INT, (3, 2), "x", mapping=0, initial_value=0)
    work = graph.add_compute_set()
    for i, (cls, why) in enumerate(zip((Refuse, Twin, Refuse), reasons, strict=True)):
        graph.add_vertex(work, cls, tile=i % 2, why=why, x=x[i])
    engine = pl.Engine(
        graph, pl.Execute(work), interpret=interpret, checks=checks, options=values_only()
    )
    with pytest.raises(pl.ApplicationRuntimeError) as caught:
        engine.run()
    assert caught.value.what == told
    assert not engine.read(x).any()


@pytest.mark.parametrize("interpret", [False, True])
def test_an_index_fault_and_an_exception_come_in_the_order_of_vertices(interpret: bool) -> None:
    for reasons, told in (
        ([2, 1], "'Refuse.x': index 4"),
        ([1, 2], "vertex 0 of 'Refuse' .*: ValueError"),
    ):
        graph = pl.Graph(pl.Target(tiles=1))
        x = graph.add_variable(pl.INT, (2, 2), "x", mapping=0, initial_value=0)
        work = graph.add_compute_set()
        for i, why in enumerate(reasons):
            graph.add_vertex(work, Refuse, tile=0, why=why, x=x[i])
        engine = pl.Engine(graph, pl.Execute(work), interpret=interpret, options=values_only())
        with pytest.raises(pl.PopliteError, match=told):
            engine.run()
        assert not engine.read(x).any()


def test_the_first_of_many_threads_is_reported() -> None:
    graph = pl.Graph()
    x = graph.add_variable(pl.INT, (30_000, 3), "x", mapping="linear", initial_value=0)
    work = graph.add_compute_set()
    for i in range(30_000):
        why = 1 if i in (7_001, 7_003, 8_000, 29_000) else 0
        graph.add_vertex(work, (Refuse, Twin)[i % 2], tile=i % 1472, why=why, x=x[i])
    engine = pl.Engine(graph, pl.Execute(work), checks="fast", options=values_only())
    for _ in range(3):
        with pytest.raises(ValueError, match="vertex 7001 of 'Twin' on tile 1113: ValueError"):
            engine.run()
        assert not engine.read(x).any()


class Threshold(pl.Vertex):
    """Stops where e^x exceeds a limit."""

    x: pl.InOut[pl.FLOAT]

    def compute(self) -> None:
        value = math.exp(self.x)
        self.x = 0.0
        assert value <= 1.0


def test_an_exception_that_only_the_compiled_form_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (), "x", mapping=0, initial_value=1)
    work = graph.add_compute_set()
    graph.add_vertex(work, Threshold, tile=0, x=x)
    engine = pl.Engine(graph, pl.Execute(work), checks="fast", options=values_only())
    # Stands for a number that another vertex writes meanwhile.
    monkeypatch.setitem(simulated(engine).runs.computes, Threshold, lambda vertex: None)
    with pytest.raises(
        pl.ApplicationRuntimeError,
        match="vertex 0 of 'Threshold' on tile 0: compute raised an exception",
    ) as caught:
        engine.run()
    assert "as plain Python, it does not stop" in caught.value.found
    assert engine.read(x) == 1


# -- where an exception may stand ------------------------------------------------------------------


def limited(value: float, limit: float = 3.0) -> float:
    assert value <= limit, f"{value} is above {limit}"
    return value


def never(value: float) -> None:
    raise RuntimeError(f"{value:.2f}", 3, value)


T = TypeVar("T", pl.FLOAT, pl.INT)


class Helped(pl.MultiVertex, Generic[T]):
    x: pl.InOut[pl.Vector[T]]
    error: pl.State[pl.BOOL]

    def checked(self, value: Any) -> Any:
        return limited(limit=5, value=value)

    def compute(self, worker: int) -> None:
        if self.error and worker == 2:
            never(0.125)
        self.x[worker] += self.checked(worker + self.x[worker]) + limited(0.5) - 0.5


class Lone(pl.Vertex):
    x: pl.InOut[pl.FLOAT]

    def compute(self) -> None:
        raise ZeroDivisionError(f"{self.x}")


@every_way
def test_exceptions_of_helpers_and_workers(interpret: bool, checks: Checks) -> None:
    graph = pl.Graph(pl.Target(tiles=1, workers=3))
    x = graph.add_variable(pl.FLOAT, (3,), "x", mapping=0, initial_value=[0, 5, 1])
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Helped, tile=0, error=True, x=x)
    engine = pl.Engine(
        graph, pl.Execute(work), interpret=interpret, checks=checks, options=values_only()
    )
    with pytest.raises(AssertionError) as caught:
        engine.run()
    error: Any = caught.value
    assert error.what == (
        "vertex 0 of 'Helped[FLOAT]' on tile 0, worker 1: AssertionError: 6.0 is above 5"
    )
    assert (error.at.function, error.at.line) == ("limited", line_of("is above {limit}"))
    assert error.found.splitlines()[:2] == [
        f"called from {FILE}:{line_of('return limited(')} in checked",
        f"called from {FILE}:{line_of('self.checked(worker')} in compute",
    ]
    assert engine.read(x).tolist() == [0, 5, 1]
    engine.write(x, 0)
    with pytest.raises(RuntimeError, match="worker 2: RuntimeError: .*'0.12', 3") as caught_again:
        engine.run()
    cause: Any = caught_again.value.__cause__
    assert cause.args == ("0.12", 3, 0.125)
    assert not engine.read(x).any()


@every_way
def test_a_compute_that_always_raises(interpret: bool, checks: Checks) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (), "x", mapping=0, initial_value=0.1)
    work = graph.add_compute_set()
    graph.add_vertex(work, Lone, tile=0, x=x)
    engine = pl.Engine(
        graph, pl.Execute(work), interpret=interpret, checks=checks, options=values_only()
    )
    with pytest.raises(
        ZeroDivisionError, match="vertex 0 of 'Lone' on tile 0: ZeroDivisionError: 0.1 "
    ):
        engine.run()


@every_way
def test_exceptions_and_numbers_of_an_enclosing_function(interpret: bool, checks: Checks) -> None:
    class Local(Exception):
        pass

    bound, named = 4, "unused by the compiler"

    def half(value: Any) -> Any:
        if value > bound:
            raise Local(f"{value}, not {bound}")
        return value / 2

    class Halve(pl.Vertex):
        x: pl.InOut[pl.FLOAT]

        def compute(self) -> None:
            self.x = half(self.x)

    assert named
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (), "x", mapping=0, initial_value=3)
    work = graph.add_compute_set()
    graph.add_vertex(work, Halve, tile=0, x=x)
    engine = pl.Engine(
        graph, pl.Execute(work), interpret=interpret, checks=checks, options=values_only()
    )
    engine.run()
    assert engine.read(x) == 1.5
    engine.write(x, 5)
    with pytest.raises(Local, match=r"Local: 5\.0, not 4 "):
        engine.run()
    assert engine.read(x) == 5


class First(Exception):
    pass


class Second(Exception):
    pass


Raised: type[Exception] = First


class Named(pl.Vertex):
    x: pl.InOut[pl.FLOAT]

    def compute(self) -> None:
        if self.x > 0:
            raise Raised


@pytest.mark.parametrize("interpret", [False, True])
def test_a_name_that_stands_for_another_exception(
    interpret: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (), "x", mapping=0, initial_value=3)
    work = graph.add_compute_set()
    graph.add_vertex(work, Named, tile=0, x=x)
    before = pl.Engine(graph, pl.Execute(work), interpret=interpret, options=values_only())
    monkeypatch.setattr(sys.modules[__name__], "Raised", Second)
    after = pl.Engine(graph, pl.Execute(work), interpret=interpret, options=values_only())
    with pytest.raises(First):
        before.run()
    with pytest.raises(Second):
        after.run()


def test_leaving_the_debugger_is_no_fault_of_the_vertex(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, _ = grow([[9]], interpret=True, checks="fast")

    def leave(vertex: object) -> None:
        raise bdb.BdbQuit

    monkeypatch.setitem(simulated(engine).runs.computes, Grow, leave)
    with pytest.raises(bdb.BdbQuit):
        engine.run()


PROGRAM = """
import poplite as pl

class Check(pl.Vertex):
    x: pl.InOut[pl.INT]

    def compute(self) -> None:
        assert self.x > 0, f"x is {self.x}"
        self.x += 1
        if self.x == 8:
            raise ValueError("eight")

for interpret in (False, True):
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (), "x", mapping=0, initial_value=0)
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Check, tile=0, x=x)
    options = {"debug.instrument": False}  # no prices, which would be compiled
    engine = pl.Engine(
        graph, pl.Execute(work), interpret=interpret, checks="fast", options=options
    )
    for value in (-1, 7):
        engine.write(x, value)
        try:
            engine.run()
        except (AssertionError, ValueError) as error:
            print(error.what)
        print(engine.read(x))
"""


@pytest.mark.parametrize("ways", thinned(["-O", "-B -O"], keep=0))
def test_assertions_as_python_has_them(tmp_path: Path, engine_cache: Path, ways: str) -> None:
    """In a file that pytest does not rewrite, with and without -O, from one cache folder."""
    script = tmp_path / "check.py"
    script.write_text(PROGRAM)
    cache = str(engine_cache)
    eight = "vertex 0 of 'Check' on tile 0: ValueError: eight\n7\n"
    refused = "vertex 0 of 'Check' on tile 0: AssertionError: x is -1\n-1\n"
    for way in ways.split():
        done = python(tmp_path, way, script, POPLITE_CACHE_DIR=cache)
        assert done.stdout == 2 * (("0\n" if way == "-O" else refused) + eight)


# -- what it costs ---------------------------------------------------------------------------------


class Plain(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] += 1.0


class Unused(pl.Vertex):
    """The same, and a method that raises, which nothing calls."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] += 1.0

    def stop(self) -> None:
        raise ValueError


class Stops(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] += 1.0
        assert len(self.x) < 9


class Built(NamedTuple):
    """A driver: its name in the cache folder, and its instructions."""

    name: str
    code: bytes


def built(cls: type[pl.Vertex], monkeypatch: pytest.MonkeyPatch) -> Built:
    """Return the unchecked driver of a class with one vector."""
    needed: dict[str, Driver] = {}

    def note(driver: Driver, builds: Builds) -> None:
        needed[driver.name] = driver

    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (3,), "x", mapping=0, initial_value=0)
    work = graph.add_compute_set()
    graph.add_vertex(work, cls, tile=0, x=x)
    with monkeypatch.context() as patched:
        patched.setattr(Driver, "add_to", note)
        pl.Engine(graph, pl.Execute(work), checks="fast", options=values_only())
    ((name, driver),) = needed.items()
    sections = llvm.ObjectFileRef.from_data(code(driver.job().content())).sections()
    return Built(name, b"".join(each.data() for each in sections if each.is_text()))


def test_a_class_that_cannot_raise_has_the_code_it_would_have_anyway(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert not meaning_of(Unused).raises
    plain, unused, stops = (built(cls, monkeypatch) for cls in (Plain, Unused, Stops))
    assert b"" != plain.code == unused.code != stops.code


def test_a_driver_has_another_name_where_it_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    class Work(pl.Vertex):
        x: pl.InOut[pl.Vector[pl.FLOAT]]

        def helper(self) -> None:
            pass

        def compute(self) -> None:
            self.helper()

    quiet = built(Work, monkeypatch)
    monkeypatch.setattr(Work, "helper", Unused.stop)
    assert built(Work, monkeypatch).name != quiet.name


# -- the error's class -----------------------------------------------------------------------------


class Final(Exception):
    def __init_subclass__(cls) -> None:
        raise TypeError("derive from something else")


class FinalInItsOwnWords(Exception):
    def __init_subclass__(cls) -> None:
        raise ValueError("derive from something else")


class Speechless(Exception):
    def __str__(self) -> str:
        raise LookupError("no words")


class Made(Exception):
    def __new__(cls, one: int, two: int) -> Made:
        return super().__new__(cls, one, two)

    def __init__(self, one: int, two: int) -> None:
        self.pair, self.what = (one, two), "shadowed"


@pytest.mark.parametrize(
    "raised",
    [
        ValueError("text"),
        KeyError("key"),
        FileNotFoundError(2, "no file"),
        UnicodeDecodeError("utf-8", b"", 0, 1, "reason"),
        Made(1, 2),
        pl.ElementTypeError("text", fix="no"),
        pl.ApplicationRuntimeError("text"),
    ],
)
def test_errors_of_any_exception(raised: Exception) -> None:
    error = raised_error(raised, "what", found="found", fix="fix")
    assert isinstance(error, type(raised))
    assert isinstance(error, pl.ApplicationRuntimeError)
    assert str(error) == "what\n  found\n  try: fix"
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(twin) is type(error)
        assert str(twin) == str(error)


def test_what_the_exception_holds_is_kept() -> None:
    error: Any = raised_error(Made(1, 2), "what")
    assert error.pair == (1, 2)
    assert error.what == "what"


@pytest.mark.parametrize(
    "raised", [Final("text"), FinalInItsOwnWords("text"), ExceptionGroup("two", [ValueError()])]
)
def test_classes_that_nothing_can_be_made_of(raised: Exception) -> None:
    error = raised_error(raised, "what")
    assert type(error) is pl.ApplicationRuntimeError
    assert str(error) == "what"


class Mute(pl.Vertex):
    x: pl.InOut[pl.INT]

    def compute(self) -> None:
        self.x = 5
        raise Speechless(self.x)


@every_way
def test_an_exception_whose_text_cannot_be_made(interpret: bool, checks: Checks) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (), "x", mapping=0, initial_value=1)
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Mute, tile=0, x=x)
    engine = pl.Engine(
        graph, pl.Execute(work), interpret=interpret, checks=checks, options=values_only()
    )
    with pytest.raises(Speechless) as caught:
        engine.run()
    what = "vertex 0 of 'Mute' on tile 0: Speechless: its text cannot be produced: LookupError"
    assert isinstance(caught.value, pl.ApplicationRuntimeError)
    assert caught.value.what == what
    assert engine.read(x) == 1
