"""Ctrl-C, threads and processes: runs end soon, memory is well defined, results are right."""

from __future__ import annotations

import itertools
import os
import signal
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep, thinned
from helpers.running import SOON, words_of
from helpers.vertices import Count, Spin
from poplite import ops
from poplite.executable import encoding as op
from poplite.simulator.compiled_program import CompiledProgram
from poplite.simulator.strict.looks import MovedRows
from poplite.simulator.strict.replay import Replay
from poplite.simulator.strict.shadow import Moving
from poplite.vertex.compute.meaning import meaning_of

# -- Ctrl-C ----------------------------------------------------------------------------------------


Checks = Literal["fast", "strict"]


@contextmanager
def interrupted(after: float = 0.3) -> Iterator[None]:
    """Press Ctrl-C, as it were, while the block runs, and expect it to end soon."""
    pressed: list[float] = []

    def press() -> None:
        pressed.append(time.monotonic())
        signal.raise_signal(signal.SIGINT)

    timer = threading.Timer(after, press)
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 (the timer must not fire outside)
        timer.start()
        yield
    timer.join()
    assert time.monotonic() - pressed[0] < SOON


class Bench:
    """One program that would take minutes, and others that take no time."""

    def __init__(self) -> None:
        self.graph = pl.Graph(pl.Target(tiles=8))
        self.n = self.graph.add_variable(pl.INT, (), "n", mapping=0, initial_value=0)
        self.one = self.graph.add_variable(pl.INT, (), "one", mapping=0, initial_value=1)
        cs = self.graph.add_compute_set("count")
        self.graph.add_vertex(cs, Count, tile=0, n=self.n)
        self.count = pl.Execute(cs)

    def slow(self, x: pl.Tensor, rounds: list[int]) -> pl.Execute:
        cs = self.graph.add_compute_set("slow")
        for k, number in enumerate(rounds):
            self.graph.add_vertex(cs, Spin, tile=k % 8, rounds=number, x=x[k])
        return pl.Execute(cs)

    def engine(self, program: pl.Program, checks: Checks = "fast") -> pl.Engine:
        programs, options = {"long": program, "once": self.count}, {"debug.allowOutOfMemory": True}
        return pl.Engine(self.graph, programs, checks=checks, options=options)

    def works_on(self, engine: pl.Engine) -> bool:
        before = int(engine.read(self.n))
        engine.run("once")
        return int(engine.read(self.n)) == before + 1


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_loops_without_work(bench: Bench) -> None:
    nothing = pl.Sequence()
    endless = pl.RepeatWhileTrue(nothing, bench.one, nothing)
    engine = bench.engine(pl.Repeat(2**32 - 1, pl.Sequence(endless, endless)))
    for _ in range(2):
        with interrupted():
            engine.run("long")
    assert bench.works_on(engine)


def test_many_small_steps(bench: Bench) -> None:
    engine = bench.engine(pl.Repeat(2**32 - 1, bench.count))
    with interrupted():
        engine.run("long")
    assert engine.read(bench.n) > 1000
    assert bench.works_on(engine)


def test_copies(bench: Bench) -> None:
    a = bench.graph.add_variable(pl.FLOAT, (4_000_000,), "a", mapping="linear")
    b = bench.graph.add_variable(pl.FLOAT, (4_000_000,), "b", mapping="linear")
    engine = bench.engine(
        pl.Repeat(2**32 - 1, pl.Sequence(pl.Copy(a, b), pl.Copy(b.reverse(0), a)))
    )
    with interrupted():
        engine.run("long")
    assert bench.works_on(engine)


ROUNDS = {
    "one run": [1_000_000] * 20_000,
    "many runs": [3_000_000 + 1000 * (k * k % 97) for k in range(20_000)],
    "slow ones": [10**8] * 999,
}
"""How long the vertices of one launch take."""


@pytest.mark.parametrize(
    ("name", "checks"),
    thinned(
        itertools.product(ROUNDS, ("fast", "strict")),
        keep=[("many runs", "strict"), ("slow ones", "fast")],
    ),
)
def test_one_launch_of_slow_vertices(bench: Bench, name: str, checks: Checks) -> None:
    rounds = ROUNDS[name]
    x = bench.graph.add_variable(pl.FLOAT, (len(rounds),), "x", mapping="linear")
    engine = bench.engine(bench.slow(x, rounds), checks)
    for _ in range(2):  # the second time threads share it from the start
        engine.write(x, 7)
        with interrupted():
            engine.run("long")
        left = set(engine.read(x).tolist())
        assert left == {7.0} if checks == "strict" else left == {2.0, 7.0}
    assert bench.works_on(engine)


def test_a_launch_that_takes_a_million_times_as_long_after_a_while(bench: Bench) -> None:
    class Grow(pl.Vertex):
        n: pl.InOut[pl.INT]
        x: pl.Output[pl.FLOAT]

        def compute(self) -> None:
            total = 4.0
            for _ in range(self.n):
                total = total * 0.5 + 1.0
            self.x = total
            self.n = min(2 * self.n + 1, 2_000_000)

    n = bench.graph.add_variable(pl.INT, (300,), "n", mapping=0, initial_value=0)
    x = bench.graph.add_variable(pl.FLOAT, (300,), "x", mapping=0)
    cs = bench.graph.add_compute_set("grow")
    for k in range(300):
        bench.graph.add_vertex(cs, Grow, tile=0, n=n[k], x=x[k])
    engine = bench.engine(pl.Repeat(10_000, pl.Execute(cs)))
    with interrupted(0.05):
        engine.run("long")
    assert bench.works_on(engine)


def test_vertices_that_write_scattered_fields_have_run_or_not(bench: Bench) -> None:
    class Both(pl.Vertex):
        rounds: pl.State[pl.INT]
        x: pl.InOut[pl.Vector[pl.FLOAT]]
        y: pl.Output[pl.FLOAT]

        def compute(self) -> None:
            total = 4.0
            for _ in range(self.rounds):
                total = total * 0.5 + 1.0
            for i in range(len(self.x)):
                self.x[i] = total
            self.y = total

    x = bench.graph.add_variable(pl.FLOAT, (3, 5000), "x", mapping=0)
    y = bench.graph.add_variable(pl.FLOAT, (5000,), "y", mapping=0)
    cs = bench.graph.add_compute_set("both")
    for k in range(5000):
        bench.graph.add_vertex(cs, Both, tile=0, rounds=5_000_000, x=x[:, k], y=y[k])
    engine = bench.engine(pl.Execute(cs))
    with interrupted():
        engine.run("long")
    done = engine.read(y) == 2
    assert 0 < done.sum() < 5000
    assert np.array_equal(engine.read(x), np.where(done, 2, 0) * np.ones((3, 1)))


def test_a_launch_that_is_cut_many_times_gives_the_same(bench: Bench) -> None:
    """Runs for some tenths of a second: in slices, at first on one thread, then on several."""
    rounds = [1_000_000 + 1000 * (k * k % 31) for k in range(300)]
    x = bench.graph.add_variable(pl.FLOAT, (2, 300), "x", mapping="linear")
    engine = bench.engine(pl.Sequence(bench.slow(x[0], rounds), bench.slow(x[1, ::-1], rounds)))
    engine.run("long")
    assert (engine.read(x) == 2).all()
    assert engine.report().vertices == 600


def test_interpreted_vertices_are_undone(bench: Bench) -> None:
    x = bench.graph.add_variable(pl.FLOAT, (3,), "x", mapping=0, initial_value=[7, 7, 7])
    slow = bench.slow(x, [10, 10**9, 10])
    engine = pl.Engine(bench.graph, {"long": slow, "once": bench.count}, interpret=True)
    with interrupted():
        engine.run("long")
    assert engine.read(x).tolist() == [7, 7, 7]
    assert bench.works_on(engine)


def test_other_threads_run_meanwhile(bench: Bench) -> None:
    x = bench.graph.add_variable(pl.FLOAT, (200,), "x", mapping="linear")
    engine = bench.engine(bench.slow(x, [2_000_000] * 200))
    engine.run("once")
    turns = 0
    stop = threading.Event()

    def turn() -> None:
        nonlocal turns
        while not stop.wait(0.001):
            turns += 1

    thread = threading.Thread(target=turn)
    thread.start()
    engine.run("long")
    stop.set()
    thread.join()
    assert turns >= 10


# -- ctrl-C in the middle of strict checks: a step ran and is known to have run, or did neither ----


ROWS = 6


def interrupt(
    patch: pytest.MonkeyPatch,
    cls: type,
    name: str,
    call: int = 0,
    *,
    before: bool = False,
    of: Callable[..., bool] = lambda *arguments: True,
) -> None:
    """Press Ctrl-C, as it were, once: when a method returns, or `before` it begins.

    Of all calls those count for which `of` is true.
    """
    method = getattr(cls, name)
    others = iter(range(call))

    def interrupted(*arguments: Any, **options: Any) -> Any:
        is_now = of(*arguments) and next(others, None) is None
        if is_now:
            patch.setattr(cls, name, method)
        found = None if is_now and before else method(*arguments, **options)
        if is_now:
            raise KeyboardInterrupt
        return found

    patch.setattr(cls, name, interrupted)


class Filled:
    """A table that is filled row by row: of all columns of a variable, or of some, gathered."""

    def __init__(self, columns: slice, *, interpret: bool) -> None:
        graph = pl.Graph(pl.Target(tiles=2))
        wide = graph.add_variable(pl.FLOAT, (ROWS, 4), "wide", mapping="linear")
        self.table = wide[:, columns]
        row = graph.add_variable(pl.FLOAT, self.table[:1].shape, "row", mapping=0, initial_value=2)
        with graph.steps() as program, ops.repeat(ROWS) as i:
            ops.dynamic_update(self.table, row, i, [0], [1])
        self.engine = pl.Engine(graph, program, checks="strict", interpret=interpret)

    def run(self) -> int:
        """Run it to Ctrl-C; return how many executions count."""
        with pytest.raises(KeyboardInterrupt):
            self.engine.run()
        return self.engine.report().steps

    def rows(self) -> int:
        """Return how many rows are filled; no others may count as written, or hold anything."""
        width = self.table.shape[1]
        with pytest.warns(pl.UninitializedWarning) as caught:
            held = self.engine.read(self.table)
        rows = int((held == 2).all(axis=1).sum())
        assert not held[rows:].any()
        assert f"{(ROWS - rows) * width} of {ROWS * width}" in str(caught[0].message)
        return rows

    def goes_on(self) -> bool:
        """Return whether it runs to its end."""
        self.engine.run()
        return bool((self.engine.read(self.table) == 2).all())


def runs_rows(replay: Replay, *phases: int) -> bool:
    """Return whether vertices that move rows are launched."""
    return replay._moves_rows and op.COMPUTE in phases


@pytest.mark.parametrize("columns", [slice(0, 4), slice(1, 3)])
@pytest.mark.parametrize("interpret", [False, True])
@pytest.mark.parametrize("turn", [0, 1])  # compiled code looks at others
def test_rows_are_written_and_known_to_be_or_neither(
    columns: slice, interpret: bool, turn: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, complete, marked = (Filled(columns, interpret=interpret) for _ in range(3))
    interrupt(monkeypatch, Replay, "_launch", turn, of=runs_rows)
    steps = left.run()
    assert left.rows() == turn
    interrupt(monkeypatch, Replay, "_finish_rows", turn, before=True)
    assert complete.run() == steps + 1
    assert complete.rows() == turn + 1
    interrupt(monkeypatch, MovedRows, "write", turn)
    assert marked.run() == steps + 1
    assert marked.rows() == turn + 1
    assert all(each.goes_on() for each in (left, complete, marked))


@pytest.mark.parametrize("interpret", [False, True])
def test_a_copy_moves_elements_and_what_is_known_of_them_or_neither(
    interpret: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.INT, (8,), "x", mapping="linear", initial_value=3)
    y = graph.add_variable(pl.INT, (8,), "y", mapping=1)
    engine = pl.Engine(graph, pl.Copy(x, y), checks="strict", interpret=interpret)
    interrupt(monkeypatch, CompiledProgram, "run_launches", before=True)
    with pytest.raises(KeyboardInterrupt):
        engine.run()
    assert engine.report().steps == 0
    with pytest.warns(pl.UninitializedWarning, match="8 of 8"):
        assert not engine.read(y).any()
    interrupt(monkeypatch, Moving, "__call__")
    with pytest.raises(KeyboardInterrupt):
        engine.run()
    assert engine.report().steps == 1
    assert engine.read(y).tolist() == [3] * 8
    engine.run()
    assert engine.report().steps == 2


IMPORTED_HALF = """
import os
import signal
import sys

from poplite.simulator.run import launches


class Pressed:
    def find_spec(self, name, path=None, target=None):
        if name == "numba.core.callconv":
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)


sys.meta_path.insert(0, Pressed())
try:
    launches.pays_ns()
except KeyboardInterrupt:
    print("interrupted")
print(launches.pays_ns() > 0, launches.has_threads())
"""


def test_threads_that_ctrl_c_keeps_from_starting_start_later(tmp_path: Path) -> None:
    assert words_of(tmp_path, IMPORTED_HALF) == ["interrupted", "True", "True"]


# -- Ctrl-C in loops that data end -----------------------------------------------------------------


class VaryingSpin(pl.Vertex):
    n: pl.Input[pl.INT]
    y: pl.InOut[pl.FLOAT]

    def compute(self) -> None:
        for _ in range(self.n):
            self.y = self.y * 0.999 + 1.5


class Steady(pl.Vertex):
    k: pl.State[pl.INT]
    y: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(self.k, len(self.y) - 1):
            self.y[i] = self.y[i + 1] if i > 2 else 0.0


def test_a_class_tells_whether_its_time_hangs_on_data() -> None:
    assert meaning_of(VaryingSpin).flow.varies
    assert not meaning_of(Steady).flow.varies


@pytest.mark.parametrize("checks", ["strict", "fast"])
def test_vertices_that_were_quick_are_cut_when_they_are_slow(checks: Any) -> None:
    count = 2000
    graph = pl.Graph(pl.Target(tiles=1))
    n = graph.add_variable(pl.INT, (count,), "n", mapping=0, initial_value=0)
    y = graph.add_variable(pl.FLOAT, (count,), "y", mapping=0, initial_value=0)
    spin = graph.add_compute_set("spin")
    graph.add_vertices(spin, VaryingSpin, tile=0, n=n, y=y)
    engine = pl.Engine(graph, pl.Repeat(1000, pl.Execute(spin)), checks=checks)
    engine.run()
    engine.write(n, np.full(count, 1_000_000))  # seconds for one launch, an hour for all
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        engine.run()
    assert (engine.read(y) == 0).any()  # not even the first launch came to its end
    engine.write(n, 0)
    engine.run()


# -- threads and processes -------------------------------------------------------------------------


PRELUDE = """
import hashlib, multiprocessing, os, sys, threading
import numpy as np
import poplite as pl


class Blend(pl.Vertex):
    a: pl.State[pl.FLOAT]
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = self.a * self.x[i] + 0.25


class Spin(pl.Vertex):
    rounds: pl.State[pl.INT]
    x: pl.InOut[pl.FLOAT]

    def compute(self) -> None:
        for k in range(self.rounds):
            self.x = self.x * 0.75 + k


def build(cls=Blend, rows=300):
    graph = pl.Graph(pl.Target(tiles=rows))
    x = graph.add_variable(pl.FLOAT, (rows, 1000), "x", mapping="linear")
    work, turn, spin = (graph.add_compute_set(name) for name in ("work", "turn", "spin"))
    for k in range(rows):
        graph.add_vertex(work, cls, tile=k, a=0.5 + k / rows, x=x[k])
        graph.add_vertex(spin, Spin, tile=k, rounds=5_000, x=x[k, 3])
    for k in range(100):
        graph.add_vertex(turn, cls, tile=k, a=0.75, x=x[:, k])
    steps = pl.Sequence(pl.Repeat(20, pl.Execute(work)), pl.Execute(turn), pl.Execute(spin))
    return pl.Engine(graph, steps, options={"debug.instrument": False}), x


def result(engine, x):
    engine.write(x, np.arange(300_000, dtype=np.float32).reshape(300, 1000) / 300_000)
    engine.run()
    return hashlib.sha256(engine.read(x).tobytes()).hexdigest()


def expected():
    x = np.arange(300_000, dtype=np.float32).reshape(300, 1000) / np.float32(300_000)
    a = np.array([0.5 + k / 300 for k in range(300)], np.float32)[:, None]
    for _ in range(20):
        x = a * x + np.float32(0.25)
    x[:, :100] = np.float32(0.75) * x[:, :100] + np.float32(0.25)
    for k in range(5_000):
        x[:, 3] = x[:, 3] * np.float32(0.75) + np.float32(k)
    return hashlib.sha256(x.tobytes()).hexdigest()
"""


def run(tmp_path: Path, script: str, **variables: str) -> list[str]:
    """Run a script in a process of its own and return the words it prints."""
    return words_of(tmp_path, PRELUDE + textwrap.dedent(script), **variables)


@pytest.mark.parametrize("threads", thinned(["4", "2", "1"], keep=1))
def test_results_do_not_depend_on_the_number_of_threads(tmp_path: Path, threads: str) -> None:
    script = """
        engine, x = build()
        print(*(result(engine, x) == expected() for _ in range(3)))
    """
    assert run(tmp_path, script, NUMBA_NUM_THREADS=threads) == ["True"] * 3


@deep
def test_reports_do_not_depend_on_threads_or_hashes(tmp_path: Path) -> None:
    script = """
        class Collatz(pl.Vertex):
            number: pl.Input[pl.INT]
            steps: pl.Output[pl.INT]

            def compute(self) -> None:
                number, steps = self.number, 0
                while number > 1:
                    number = number // 2 if number % 2 == 0 else 3 * number + 1
                    steps += 1
                self.steps = steps

        numbers = np.arange(20_000) % 997
        graph = pl.Graph(pl.Target(tiles=64))
        x, y = (graph.add_variable(pl.INT, (20_000,), name, mapping="linear") for name in "xy")
        work = graph.add_compute_set("work")
        graph.add_vertices(work, Collatz, tile=numbers % 64, number=x, steps=y)
        engine = pl.Engine(graph, pl.Sequence(pl.Execute(work), pl.Copy(y, x)))
        engine.write(x, numbers)
        engine.run()
        report = engine.report()
        (types,) = report.execution.vertex_types()
        print(types.source, report.cycles, hashlib.sha256(report.to_json().encode()).hexdigest())
    """
    found = [
        run(tmp_path, script, NUMBA_NUM_THREADS=threads, PYTHONHASHSEED=seed)
        for threads, seed in (("1", "0"), ("2", "1"), ("4", "2"))
    ]
    assert found[0][0] == "counted"
    assert found[0] == found[1] == found[2]


FORK = """
    if BEFORE:
        engine, x = build()
    if RUN:
        assert result(engine, x) == expected()
    for generations in (1, 2):
        child = os.fork()
        if not child:
            if generations == 2 and os.fork():
                os._exit(os.wait()[1] >> 8)
            if not BEFORE:
                engine, x = build()
            wrong = result(engine, x) != expected()
            engine, x = build()  # also one that is made in the child
            wrong += result(engine, x) != expected()
            os._exit(wrong)
        print(os.waitpid(child, 0)[1])
    engine, x = build()
    print(result(engine, x) == expected())
"""


@pytest.mark.parametrize(
    ("before", "ran"),
    thinned([(False, False), (True, False), (True, True)], keep=[(True, True)]),
    ids=["none", "made", "ran"],
)
def test_engines_work_after_a_fork(tmp_path: Path, before: bool, ran: bool) -> None:
    script = FORK.replace("BEFORE", str(before)).replace("RUN", str(ran))
    assert run(tmp_path, script) == ["0", "0", "True"]


@deep
def test_a_pool_of_forked_workers(tmp_path: Path) -> None:
    script = """
        def work(seed):
            return result(*build())

        assert result(*build()) == expected()
        with multiprocessing.get_context("fork").Pool(2) as pool:
            print(set(pool.map(work, range(4))) == {expected()})
    """
    assert run(tmp_path, script) == ["True"]


@deep
def test_spawned_processes(tmp_path: Path) -> None:
    script = """
        def work(seed):
            return result(*build())

        if __name__ == "__main__":
            assert result(*build()) == expected()
            with multiprocessing.get_context("spawn").Pool(2) as pool:
                print(set(pool.map(work, range(2))) == {expected()})
    """
    assert run(tmp_path, script) == ["True"]


@pytest.mark.parametrize(
    ("layer", "number"), thinned([("workqueue", 2), ("workqueue", 4), ("omp", 4)], keep=1)
)
def test_engines_in_threads_of_one_process(
    tmp_path: Path, engine_cache: Path, layer: str, number: int
) -> None:
    """Each thread compiles a class of its own and one that all share, and runs both."""
    script = """
        def own_class(number):
            class Own(pl.Vertex):
                NUMBER = number
                a: pl.State[pl.FLOAT]
                x: pl.InOut[pl.Vector[pl.FLOAT]]

                def compute(self) -> None:
                    for i in range(len(self.x)):
                        self.x[i] = self.a * self.x[i] + 0.25 + (self.NUMBER - self.NUMBER)

            return Own

        right = []

        def work(number):
            for cls in (Blend, own_class(number)):
                engine, x = build(cls)
                for _ in range(3):
                    right.append(result(engine, x) == expected())

        threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(len(right), all(right))
    """
    cache = str(engine_cache)  # so that they really compile
    script = script.replace("THREADS", str(number))
    words = run(tmp_path, script, NUMBA_THREADING_LAYER=layer, POPLITE_CACHE_DIR=cache)
    assert words == [str(6 * number), "True"]
