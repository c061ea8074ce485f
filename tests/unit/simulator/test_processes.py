"""Engines in several threads and processes: right results, whatever was there before."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from helpers.depth import deep, thinned
from helpers.running import words_of

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
