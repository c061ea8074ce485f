"""Ctrl-C where vertices took no time in the runs before: data decide how often a loop turns."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import numpy as np
import pytest

import poplite as pl
from poplite.vertex.compute import flow_of


class Spin(pl.Vertex):
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
    assert flow_of(Spin).varies
    assert not flow_of(Steady).varies


@pytest.mark.parametrize("checks", ["strict", "fast"])
def test_vertices_that_were_quick_are_cut_when_they_are_slow(checks: Any) -> None:
    count = 2000
    graph = pl.Graph(pl.Target(tiles=1))
    n = graph.add_variable(pl.INT, (count,), "n", mapping=0, initial_value=0)
    y = graph.add_variable(pl.FLOAT, (count,), "y", mapping=0, initial_value=0)
    spin = graph.add_compute_set("spin")
    graph.add_vertices(spin, Spin, tile=0, n=n, y=y)
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
