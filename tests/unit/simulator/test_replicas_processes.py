"""Replicas in several threads, after a fork, and when Ctrl-C is pressed."""

from __future__ import annotations

import signal
import textwrap
import threading
from itertools import product
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep, thinned
from helpers.running import words_of
from helpers.vertices import Spin

PRELUDE = """
import os, threading
import numpy as np
import poplite as pl


class Blend(pl.Vertex):
    by: pl.Input[pl.UNSIGNED_INT]
    x: pl.InOut[pl.Vector[pl.UNSIGNED_INT]]

    def compute(self) -> None:
        for round in range(20):
            for i in range(len(self.x)):
                self.x[i] = (self.x[i] * 5 + self.by + round) % 1000


def build():
    graph = pl.Graph(pl.Target(tiles=200, ipus=2), replication_factor=2)
    index = graph.add_replication_index_constant(mapping=0)
    x = graph.add_variable(pl.UNSIGNED_INT, (100, 1000), "x", mapping="linear")
    y = graph.add_variable(pl.UNSIGNED_INT, (100, 1000), "y", mapping="linear")
    work = graph.add_compute_set("work")
    for k in range(100):
        graph.add_vertex(work, Blend, tile=k, by=index, x=x[k])
    swap = pl.CrossReplicaCopy(x, y, [1, 0])
    steps = pl.Sequence(pl.Execute(work), swap, pl.Copy(y, x))
    return pl.Engine(graph, pl.Repeat(5, steps), options={"debug.instrument": False}), x


def is_right(engine, x):
    values = np.arange(200_000, dtype=np.uint32).reshape(2, 100, 1000)
    engine.write(x, values)
    engine.run()
    for _ in range(5):
        for round in range(20):
            values = (values * 5 + np.arange(2)[:, None, None] + round) % 1000
        values = values[::-1]
    return np.array_equal(engine.read(x), values)
"""


def run(tmp_path: Path, script: str, **variables: str) -> list[str]:
    """Run a script in a process of its own and return the words it prints."""
    return words_of(tmp_path, PRELUDE + textwrap.dedent(script), **variables)


@deep
@pytest.mark.parametrize("threads", thinned(["3", "2", "1"], keep=1))
def test_results_do_not_depend_on_the_number_of_threads(tmp_path: Path, threads: str) -> None:
    script = """
        engine, x = build()
        print(*(is_right(engine, x) for _ in range(3)))
    """
    assert run(tmp_path, script, NUMBA_NUM_THREADS=threads) == ["True"] * 3


@deep
def test_engines_with_replicas_in_threads_and_after_a_fork(tmp_path: Path) -> None:
    script = """
        right = []
        threads = [
            threading.Thread(target=lambda: right.append(is_right(*build()))) for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(right == [True] * 3)
        engine, x = build()
        print(is_right(engine, x))
        child = os.fork()
        if not child:
            right = is_right(engine, x) and is_right(*build())
            os._exit(not right)
        print(os.waitpid(child, 0)[1])
        print(is_right(engine, x))
    """
    assert run(tmp_path, script) == ["True", "True", "0", "True"]


@pytest.mark.parametrize(
    ("checks", "interpret"),
    thinned(product(["fast", "strict"], [False, True]), keep=[("fast", False), ("strict", True)]),
)
def test_ctrl_c_cuts_all_replicas(checks: Literal["fast", "strict"], interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=6, ipus=3), replication_factor=3)
    x = graph.add_variable(pl.FLOAT, (20_000,), "x", mapping="linear")
    long, short = graph.add_compute_set("long"), graph.add_compute_set("short")
    graph.add_vertices(long, Spin, tile=0, rounds=1_000_000, x=x)
    graph.add_vertices(short, Spin, tile=0, rounds=60, x=x[:5])
    programs = {"long": pl.Execute(long), "short": pl.Execute(short)}
    engine = pl.Engine(graph, programs, checks=checks, interpret=interpret)
    for _ in range(2):  # the second time threads share it from the start
        engine.write(x, [[7] * 20_000, [8] * 20_000, [9] * 20_000])
        timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012 (the timer must not fire outside)
            timer.start()
            engine.run("long")
        timer.join()
        for replica, before in enumerate((7, 8, 9)):
            left = set(engine.read(x, replica=replica).tolist())
            if checks == "strict" or interpret:
                assert left == {before}
            else:
                assert left <= {before, 2}
    engine.run("short")
    assert np.array_equal(engine.read(x)[:, :5], np.full((3, 5), 2))
