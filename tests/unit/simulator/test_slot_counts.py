"""The cycles of a program are the same in all of its forms, whatever data decide."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

import poplite as pl
from helpers.depth import thinned
from helpers.running import simulated, words_of
from poplite.executable.executable import Checks
from poplite.report.execution import ExecutionStep
from poplite.simulator.pricing.class_slots import deciding_fields
from poplite.vertex.compute.data_flow import DataFlow
from poplite.vertex.compute.meaning import meaning_of


class Long(pl.Vertex):
    """Takes a while, for as long as a number says."""

    n: pl.Input[pl.INT]
    y: pl.Output[pl.INT]

    def compute(self) -> None:
        number = 1
        for _ in range(self.n):
            number = number * 5 % 10007 if number % 7 != 3 else number + 1
        self.y = number


@contextmanager
def interrupted(seconds: float) -> Iterator[None]:
    """Interrupt what runs in a `with` statement, as Ctrl-C does.

    Args:
        seconds: after which.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Find(pl.Vertex):
    """Where a number stands in a sorted vector; raises an exception for none."""

    x: pl.Input[pl.Vector[pl.INT]]
    wanted: pl.State[pl.INT]
    at: pl.Output[pl.INT]

    def compute(self) -> None:
        low = 0
        high = len(self.x)
        while high - low > 1:
            middle = (low + high) // 2
            if self.x[middle] <= self.wanted:
                low = middle
            else:
                high = middle
        if self.x[low] != self.wanted:
            raise ValueError("not there")
        self.at = low


class Sort(pl.Vertex):
    """Sorts by exchanges of neighbours; tells how often it went through."""

    x: pl.InOut[pl.Vector[pl.HALF]]
    rounds: pl.Output[pl.INT]

    def compute(self) -> None:
        rounds = 0
        moves = True
        while moves:
            moves = False
            for i in range(len(self.x) - 1):
                x, y = self.x[i], self.x[i + 1]
                if x > y:
                    self.x[i], self.x[i + 1] = y, x
                    moves = True
            rounds += 1
        self.rounds = rounds


class Collatz(pl.MultiVertex):
    """Half-way to one: as many steps as each number takes, two at most."""

    numbers: pl.InOut[pl.Vector[pl.INT]]

    def compute(self, worker: int) -> None:
        for i in range(worker, len(self.numbers), self.num_workers):
            number = self.numbers[i]
            steps = 0
            while number > 1 and steps < 2:
                number = number // 2 if number % 2 == 0 else 3 * number + 1
                steps += 1
            self.numbers[i] = number


class Sift(pl.Vertex):
    """Moves the largest number of each row to its end."""

    rows: pl.InOut[pl.Vector[pl.Vector[pl.FLOAT]]]
    scale: pl.Input[pl.FLOAT]

    def compute(self) -> None:
        for k in range(len(self.rows)):
            for i in range(len(self.rows[k]) - 1):
                if self.rows[k][i] * self.scale > self.rows[k][i + 1] * self.scale:
                    larger = self.rows[k][i]
                    self.rows[k][i] = self.rows[k][i + 1]
                    self.rows[k][i + 1] = larger


class Walk(pl.Vertex):
    """A step of a search in breadth: marks who is next to those that are marked."""

    neighbours: pl.Input[pl.Vector[pl.Vector[pl.INT]]]
    seen: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for k in range(len(self.neighbours)):
            if self.seen[k] > 0:
                for i in range(len(self.neighbours[k])):
                    self.seen[self.neighbours[k][i]] += 1


class Sum(pl.Vertex):
    """Adds up rows as long as the sum is small."""

    rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        total = 0.0
        k = 0
        while k < len(self.rows) and total < 1000:
            for value in self.rows[k]:
                total += value
            k += 1
        self.y = total


class Below(pl.Vertex):
    """Tells whether a number is small yet."""

    n: pl.InOut[pl.INT]

    def compute(self) -> bool:
        if self.n % 2 == 0:
            self.n = self.n // 2
        else:
            self.n = self.n - 1
        return self.n < 3


Built = tuple[pl.Graph, pl.Program]


def searching() -> Built:
    """Searches for several numbers on each of a few tiles."""
    graph = pl.Graph(pl.Target(tiles=3))
    x = graph.add_variable(pl.INT, (40,), "x", mapping=0, initial_value=3 * np.arange(40))
    at = graph.add_variable(pl.INT, (15,), "at", mapping=1)
    work = graph.add_compute_set("find")
    for k in range(15):
        graph.add_vertex(work, Find, tile=k % 3, x=x[: 40 - k], wanted=3 * k, at=at[k])
    return graph, pl.Repeat(2, pl.Execute(work))


def sorting() -> Built:
    """Sorts on two replicas, of which each has its own numbers."""
    graph = pl.Graph(pl.Target(tiles=8, ipus=2), replication_factor=2)
    values = np.random.default_rng(3).standard_normal((30, 11)).astype(np.float16)
    x = graph.add_variable(pl.HALF, values.shape, "x", mapping="linear", initial_value=values)
    rounds = graph.add_variable(pl.INT, (30,), "rounds", mapping="linear")
    work = graph.add_compute_set("sort")
    graph.add_vertices(work, Sort, tile=np.arange(30) % 4, x=x, rounds=rounds)
    return graph, pl.Sequence(pl.Execute(work), pl.Repeat(2, pl.Execute(work)))


def halving() -> Built:
    """Steps as long as some number is large, by all workers of two tiles and by one alone."""
    graph = pl.Graph(pl.Target(tiles=2))
    numbers = np.array([97, 27, 6, 1, 54, 19, 3, 77, 2, 15])
    x = graph.add_variable(pl.INT, (10,), "x", mapping="linear", initial_value=numbers)
    n = graph.add_variable(pl.INT, (), "n", mapping=1, initial_value=45)
    small = graph.add_variable(pl.BOOL, (), "small", mapping=0)
    step, test = graph.add_compute_set("step"), graph.add_compute_set("test")
    for tile, own in enumerate((x[:7], x[7:])):
        graph.add_vertex(step, Collatz, tile=tile, numbers=own)
    graph.add_vertex(test, Below, tile=1, n=n)
    function = graph.add_function(pl.Execute(step))
    body = pl.Sequence(pl.Call(function), pl.Call(function))
    return graph, pl.RepeatWhileFalse(pl.Execute(test, small), small, body)


def sifting() -> Built:
    """Lists that are changed, in place and in copies, of one vertex and of many."""
    graph = pl.Graph(pl.Target(tiles=2))
    values = np.random.default_rng(5).standard_normal((12, 8)).astype(np.float32)
    x = graph.add_variable(pl.FLOAT, values.shape, "x", mapping="linear", initial_value=values)
    scale = graph.add_variable(pl.FLOAT, (), "scale", mapping=0, initial_value=2)
    work = graph.add_compute_set("sift")
    for k, rows in enumerate((x[:3], x[3:6, 1:], x[6:9, :5], x[9:, ::2])):
        graph.add_vertex(work, Sift, tile=k % 2, rows=rows, scale=scale)
    return graph, pl.Repeat(3, pl.Execute(work))


def uneven() -> Built:
    """Lists of rows of different lengths, of which some are changed and others read."""
    graph = pl.Graph(pl.Target(tiles=2))
    values = np.random.default_rng(6).standard_normal((12, 8)).astype(np.float32)
    x = graph.add_variable(pl.FLOAT, values.shape, "x", mapping="linear", initial_value=values)
    scale = graph.add_variable(pl.FLOAT, (), "scale", mapping=0, initial_value=2)
    sift, walk = graph.add_compute_set("sift"), graph.add_compute_set("walk")
    for k in range(4):
        ragged = [x[3 * k + row, row : 8 - k] for row in (2, 0, 1)]
        graph.add_vertex(sift, Sift, tile=k % 2, rows=ragged, scale=scale)
    numbers = [3, 1, 2, 2, 0, 3, 3, 1, 0]
    neighbours = graph.add_variable(pl.INT, (9,), "n", mapping=0, initial_value=numbers)
    seen = graph.add_variable(pl.INT, (4,), "seen", mapping=1, initial_value=[1, 0, 0, 0])
    cuts = [neighbours[a:b] for a, b in ((0, 1), (1, 4), (4, 4), (4, 9))]
    graph.add_vertex(walk, Walk, tile=1, neighbours=cuts, seen=seen)
    return graph, pl.Repeat(3, pl.Sequence(pl.Execute(sift), pl.Execute(walk)))


def given() -> Built:
    """Searches of which some have an estimate, beside one another and on a tile of their own."""
    graph, program = searching()
    (work,) = graph.compute_sets
    for k, cycles in ((1, 1), (2, 5000), (9, 700)):
        graph.set_perf_estimate(work.vertices[k], cycles)
    return graph, program


CLASSES = [Find, Sort, Collatz, Sift, Walk, Below]
FORMS: Mapping[str, tuple[Checks, bool, bool]] = {
    "fast": ("fast", False, False),
    "strict": ("strict", False, False),
    "interpreted": ("fast", True, False),
    "strict and interpreted": ("strict", True, False),
    "from a file": ("strict", False, True),
    "interpreted from a file": ("fast", True, True),
}
"""Of each form its checks, whether it is interpreted, and whether it is loaded from a file."""


def engine_of(built: Built, folder: Path, form: str) -> pl.Engine:
    """Return an engine that runs a program in some form."""
    checks, interpret, is_loaded = FORMS[form]
    if not is_loaded:
        return pl.Engine(*built, checks=checks, interpret=interpret)
    file = folder / "program.poplite"
    pl.compile_graph(*built, checks, interpret=interpret).save(file)
    return pl.Engine(pl.Executable.load(file, CLASSES), interpret=interpret)


def taken(engine: pl.Engine) -> list[tuple[object, ...]]:
    """Return what each step took, in all detail."""
    return [
        (
            *(total.name, total.executions, total.cycles, total.vertex_types),
            *((p.kind, p.cycles, p.tile_cycles.array().tolist()) for p in total.phases),
        )
        for total in simulated(engine).accounts.totals()
    ]


def counted_of(engine: pl.Engine) -> ExecutionStep:
    """Return what the first step took that executes something."""
    return next(total for total in simulated(engine).accounts.totals() if total.kind == "execute")


@pytest.mark.parametrize(
    "build", thinned([searching, sorting, halving, sifting, uneven, given], keep=(searching, given))
)
def test_all_forms_count_alike(build: Callable[[], Built], tmp_path: Path) -> None:
    found, cycles, memory = [], [], []
    for form in FORMS:
        engine = engine_of(build(), tmp_path, form)
        engine.run()
        engine.run()
        sources = {
            each.source
            for total in simulated(engine).accounts.totals()
            for each in total.vertex_types
        }
        assert sources == ({"counted", "given"} if build is given else {"counted"})
        found.append(taken(engine))
        cycles.append(engine.report().cycles)
        size = engine.executable.layout.temporary_base
        memory.append([part[:size].tobytes() for part in simulated(engine).arena.parts])
    assert all(each == found[0] for each in found)
    assert len(set(cycles)) == 1
    assert all(each == memory[0] for each in memory)


@pytest.mark.parametrize("form", FORMS)
def test_given_estimates_stand_beside_counts(form: str, tmp_path: Path) -> None:
    counted, mixed = (engine_of(build(), tmp_path, form) for build in (searching, given))
    for engine in (counted, mixed):
        engine.run()
    (all_of_them,) = counted_of(counted).vertex_types
    told, rest = sorted(counted_of(mixed).vertex_types, key=lambda each: each.vertices)
    assert (told.source, told.vertices, told.cycles) == ("given", 2 * 3, 2 * (1 + 5000 + 700))
    assert (rest.source, rest.vertices) == ("counted", 2 * 12)
    assert 0 < all_of_them.cycles - rest.cycles < all_of_them.cycles // 2
    (compute,) = (p for p in counted_of(mixed).phases if p.kind == "compute")
    assert compute.tile_cycles.array()[2] == 2 * 6 * 5000  # five vertices, each with a worker


def test_uneven_rows_take_a_look_up_each() -> None:
    def slots(lengths: list[int]) -> int:
        graph = pl.Graph(pl.Target(tiles=1))
        x = graph.add_variable(pl.FLOAT, (4, 40), "x", mapping=0, initial_value=1)
        y = graph.add_variable(pl.FLOAT, (), "y", mapping=0)
        work = graph.add_compute_set("sum")
        rows = [x[k, :length] for k, length in enumerate(lengths)]
        graph.add_vertex(work, Sum, tile=0, rows=rows, y=y)
        engine = pl.Engine(graph, pl.Execute(work), checks="fast")
        engine.run()
        assert engine.read(y) == sum(lengths)
        (found,) = counted_of(engine).vertex_types
        assert found.source == "counted"
        return found.cycles

    even = slots([20, 20, 20, 20])
    assert even + 4 <= slots([7, 33, 1, 39]) <= even + 20
    assert slots([7, 33, 1, 39]) == slots([39, 7, 33, 1]) == slots([1, 40, 19, 20])


class OneRow(pl.Vertex):
    """The sum of a row; data say which one."""

    rows: pl.Input[pl.Vector[pl.Vector[pl.INT]]]
    k: pl.Input[pl.INT]
    y: pl.Output[pl.INT]

    def compute(self) -> None:
        total = 0
        for i in range(len(self.rows[self.k])):
            total += self.rows[self.k][i]
        self.y = total


class OneRowByName(OneRow):
    def compute(self) -> None:
        total = 0
        row = self.rows[1 - self.k]
        n = len(row)
        for i in range(n):
            total += row[i]
        self.y = total


class EachRow(OneRow):
    """Its loop counter alone says which row it is."""

    def sum_of(self, i: int) -> int:
        total = 0
        for k in range(len(self.rows[i])):
            total += self.rows[i][k]
        return total

    def compute(self) -> None:
        total = 0
        for i in range(len(self.rows)):
            total += self.sum_of(i)
        self.y = total


def cycles_of_rows(cls: type[pl.Vertex], sizes: tuple[int, int], k: int) -> tuple[int, str]:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (sum(sizes),), "x", mapping=0, initial_value=1)
    row = graph.add_variable(pl.INT, (), "k", mapping=0, initial_value=k)
    y = graph.add_variable(pl.INT, (), "y", mapping=0)
    step = graph.add_compute_set("step")
    fields = {"rows": [x[: sizes[0]], x[sizes[0] :]], "k": row, "y": y}
    graph.add_vertex(step, cls, tile=0, **fields)
    engine = pl.Engine(graph, pl.Execute(step), checks="fast")
    engine.run()
    (vertices,) = total_of(engine).vertex_types
    return vertices.cycles, vertices.source


@pytest.mark.parametrize("cls", [OneRow, OneRowByName])
def test_which_of_uneven_rows_is_walked_may_depend_on_data(cls: type[pl.Vertex]) -> None:
    assert meaning_of(cls).flow.may_depend_on_data
    found = {cycles_of_rows(cls, (2, 500), k) for k in (0, 1)}
    assert {source for _, source in found} == {"counted"}
    assert 10 * min(found)[0] < max(found)[0]
    assert {cycles_of_rows(cls, (251, 251), k)[1] for k in (0, 1)} == {"estimated"}
    assert "k" in deciding_fields(cls, pl.Target(), is_uneven=True)
    assert not deciding_fields(cls, pl.Target())


def test_uneven_rows_that_a_counter_chooses_are_estimated() -> None:
    assert cycles_of_rows(EachRow, (2, 500), 0)[1] == "estimated"


def test_what_faults_is_told_by_python_and_leaves_no_count() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.INT, (20,), "x", mapping=0, initial_value=np.arange(20))
    at = graph.add_variable(pl.INT, (2,), "at", mapping=1, initial_value=[7, 8])
    work = graph.add_compute_set("find")
    for k in (0, 1):
        graph.add_vertex(work, Find, tile=k, x=x, wanted=12, at=at[k])
    engine = pl.Engine(graph, pl.Execute(work), interpret=True)
    engine.write(x, np.zeros(20, np.int32))
    with pytest.raises(pl.ApplicationRuntimeError, match="not there"):
        engine.run()
    assert engine.read(at).tolist() == [7, 8]
    assert (counted_of(engine).executions, counted_of(engine).vertex_types[0].cycles) == (0, 0)
    engine.load()
    engine.run()
    assert engine.read(at).tolist() == [12, 12]
    assert counted_of(engine).executions == 1


def test_what_faults_while_it_is_counted_is_found_where_it_runs() -> None:
    class Walk(pl.Vertex):
        x: pl.InOut[pl.Vector[pl.INT]]

        def compute(self) -> None:
            i = 0
            while self.x[i] != -1:
                self.x[i] = 100 // self.x[i]
                i += self.x[i]

    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (5,), "x", mapping=0, initial_value=[50, 1, 4, 1, 3])
    work = graph.add_compute_set("walk")
    graph.add_vertex(work, Walk, tile=0, x=x)
    found = []
    for interpret in (True, False):
        engine = pl.Engine(graph, pl.Execute(work), checks="strict", interpret=interpret)
        with pytest.raises(pl.TensorIndexError, match="27") as caught:
            engine.run()
        found.append(str(caught.value))
        assert engine.read(x).tolist() == [50, 1, 4, 1, 3]
    assert found[0] == found[1]


def test_what_prints_is_never_compiled_and_runs_once(capsys: pytest.CaptureFixture[str]) -> None:
    class Tell(pl.Vertex):
        n: pl.Input[pl.INT]

        def compute(self) -> None:
            i = 0
            while i < self.n:
                print("step", i)
                i += 1

    graph = pl.Graph(pl.Target(tiles=1))
    n = graph.add_variable(pl.INT, (), "n", mapping=0, initial_value=2)
    work = graph.add_compute_set("tell")
    graph.add_vertex(work, Tell, tile=0, n=n)
    engine = pl.Engine(graph, pl.Execute(work), interpret=True)
    engine.run()
    assert capsys.readouterr().out == "step 0\nstep 1\n"
    assert counted_of(engine).vertex_types[0].source == "guessed"
    assert engine.report().execution.vertex_types()[0].source == "guessed"


def test_an_interrupted_run_leaves_counts_that_go_on() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    n = graph.add_variable(pl.INT, (), "n", mapping=0, initial_value=100_000_000)
    y = graph.add_variable(pl.INT, (), "y", mapping=0)
    work = graph.add_compute_set("long")
    graph.add_vertex(work, Long, tile=0, n=n, y=y)
    engine, other = (pl.Engine(graph, pl.Execute(work), interpret=i) for i in (True, False))
    with pytest.raises(KeyboardInterrupt), interrupted(0.01):
        engine.run()
    assert (counted_of(engine).executions, counted_of(engine).vertex_types[0].cycles) == (0, 0)
    for each in (engine, other):
        each.write(n, 30)
        each.run()
    assert taken(engine) == taken(other)


PROGRAM = """
import sys

import poplite as pl


class Down(pl.Vertex):
    n: pl.InOut[pl.INT]

    def compute(self) -> None:
        while self.n > 5:
            self.n = self.n - 3


graph = pl.Graph(pl.Target(tiles=1))
n = graph.add_variable(pl.INT, (), "n", mapping=0, initial_value=100)
work = graph.add_compute_set()
graph.add_vertex(work, Down, tile=0, n=n)
options = {{"debug.instrument": {instrument}}}
engine = pl.Engine(graph, pl.Execute(work), interpret=True, options=options)
engine.run()
print(engine.read(n), *(name for name in ("numba", "llvmlite") if name in sys.modules))
print(engine.report().cycles is not None)
"""


@pytest.mark.parametrize(
    ("instrument", "said"),
    thinned(
        [(False, ["4", "llvmlite", "False"]), (True, ["4", "numba", "llvmlite", "True"])], keep=1
    ),
)
def test_nothing_is_compiled_where_nothing_is_counted(
    instrument: bool, said: list[str], tmp_path: Path
) -> None:
    # That variable forbids only what compiled engines do.
    variables = {"POPLITE_CACHE_DIR": str(tmp_path / "cache"), "NUMBA_DISABLE_JIT": "1"}
    assert words_of(tmp_path, PROGRAM.format(instrument=instrument), **variables) == said


# -- counted vertices against their estimates, and where runs are left in the middle ---------------


class Triangle(pl.Vertex):
    """Sums that get longer, of which lengths decide."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.HALF]]
    most: pl.State[pl.INT]
    scale: pl.State[pl.FLOAT]

    def compute(self) -> None:
        for i in range(len(self.y)):
            total = 0.0
            for j in range(min(i, self.most)):
                if j % 3 != 1:
                    total += self.scale * self.x[j]
            self.y[i] = total


class Choose(pl.Vertex):
    """One of many constants for each number."""

    k: pl.Input[pl.Vector[pl.INT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            k = self.k[i]
            value = 0.5
            if k == 0:
                value = 1.0
            elif k == 1:
                value = 7.0
            elif k == 2:
                value = 3.5
            elif k == 3:
                value = 2.25
            elif k == 4:
                value = 9.0
            j = 0
            while j < k:
                j += 1
                value += 0.25
            self.y[i] = value


def total_of(engine: pl.Engine) -> ExecutionStep:
    """Return what the only step took that executes something."""
    (found,) = [total for total in simulated(engine).accounts.totals() if total.kind == "execute"]
    return found


@pytest.mark.parametrize("checks", ["fast", "strict"])
def test_where_both_exist_the_count_is_the_estimate(
    checks: Checks, monkeypatch: pytest.MonkeyPatch
) -> None:
    def total(checks: Checks) -> ExecutionStep:
        graph = pl.Graph(pl.Target(tiles=3))
        work = graph.add_compute_set("work")
        for k, length in enumerate((1, 5, 12, 0, 30, 7)):
            x, y = (
                graph.add_variable(kind, (length,), name, mapping=k % 3, initial_value=1.5)
                for kind, name in ((pl.FLOAT, "x"), (pl.HALF, "y"))
            )
            graph.add_vertex(work, Triangle, tile=k % 3, x=x, y=y, most=9, scale=2.0)
        engine = pl.Engine(graph, pl.Repeat(3, pl.Execute(work)), checks=checks)
        engine.run()
        return total_of(engine)

    estimated = total("fast")
    monkeypatch.setattr(DataFlow, "may_depend_on_data", True)
    monkeypatch.setattr(
        "poplite.simulator.pricing.class_slots.is_data_dependent", lambda *_, **__: True
    )
    counted = total(checks)
    assert (estimated.vertex_types[0].source, counted.vertex_types[0].source) == (
        "estimated",
        "counted",
    )
    assert counted.vertex_types[0].cycles == estimated.vertex_types[0].cycles
    assert counted.cycles == estimated.cycles


def test_chosen_constants_are_counted() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    numbers = np.arange(-1, 7, dtype=np.int32)
    k = graph.add_variable(pl.INT, (8,), "k", mapping=0, initial_value=numbers)
    y = graph.add_variable(pl.FLOAT, (8,), "y", mapping=0)
    work = graph.add_compute_set("choose")
    graph.add_vertex(work, Choose, tile=0, k=k, y=y)
    engine = pl.Engine(graph, pl.Execute(work), checks="fast")
    engine.run()
    assert total_of(engine).vertex_types[0].source == "counted"
    assert engine.read(y).tolist() == [0.5, 1.0, 7.25, 4.0, 3.0, 10.0, 1.75, 2.0]


def test_an_execution_that_was_done_when_the_run_was_left_is_counted() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    n = graph.add_variable(pl.INT, (), "n", mapping=0, initial_value=100_000_000)
    y = graph.add_variable(pl.INT, (), "y", mapping=0)
    work = graph.add_compute_set("long")
    graph.add_vertex(work, Long, tile=0, n=n, y=y)
    engine = pl.Engine(graph, pl.Execute(work), checks="fast")
    # Python hears of it once the vertex has run, behind which the slice is over.
    with pytest.raises(KeyboardInterrupt), interrupted(0.01):
        engine.run()
    left = total_of(engine)
    assert left.executions == 1
    assert left.vertex_types[0].cycles > 100_000_000
    engine.write(n, 3)
    engine.run()
    assert total_of(engine).executions == 2
    assert 0 < total_of(engine).vertex_types[0].cycles - left.vertex_types[0].cycles < 3_000


def test_targets_count_by_their_own_prices() -> None:
    slots = []
    for price in (270, 500, 270):
        target = pl.Target(tiles=1, costs={"slot_integer_divide": price})
        graph = pl.Graph(target)
        n = graph.add_variable(pl.INT, (), "n", mapping=0, initial_value=10)
        y = graph.add_variable(pl.INT, (), "y", mapping=0)
        work = graph.add_compute_set("long")
        graph.add_vertex(work, Long, tile=0, n=n, y=y)
        engine = pl.Engine(graph, pl.Execute(work))
        engine.run()
        slots.append(total_of(engine).vertex_types[0].cycles)
    assert slots[0] == slots[2] < slots[1]
