"""An engine runs on the device that it is given, and knows no other."""

from __future__ import annotations

from dataclasses import replace

import pytest

import poplite as pl
from poplite.compile.options import EngineOptions
from poplite.simulator.engine import Simulator
from poplite.simulator.engine_arguments import Setup, Source
from poplite.simulator.simulated import Simulated


class Remembering(Simulator):
    """The simulator, which remembers what it was asked to load."""

    def __init__(self) -> None:
        self.loaded: list[Simulated] = []

    def options(self, asked: EngineOptions) -> EngineOptions:
        return replace(asked, checks="none")

    def load(self, source: Source, setup: Setup) -> Simulated:
        self.loaded.append(super().load(source, setup))
        return self.loaded[-1]


def copied() -> tuple[pl.Graph, pl.Tensor, pl.Program]:
    graph = pl.Graph(pl.Target(tiles=1))
    a = graph.add_variable(pl.INT, (3,), "a", mapping=0, initial_value=[1, 2, 3])
    b = graph.add_variable(pl.INT, (3,), "b", mapping=0)
    return graph, b, pl.Copy(a, b)


def test_a_device_loads_and_decides_options() -> None:
    graph, b, program = copied()
    device = Remembering()
    engine = pl.Engine(graph, program, device=device)
    engine.run()
    assert engine.read(b).tolist() == [1, 2, 3]
    assert engine.checks == "none"
    assert device.loaded[0].runs.ended == 1


def test_an_engine_that_grows_stays_on_its_device() -> None:
    graph, b, program = copied()
    device = Remembering()
    engine = pl.Engine(graph, program, device=device)
    engine.add_program(pl.Sequence(), "again")
    engine.run("again")
    assert [each.runs.ended for each in device.loaded] == [0, 1]


def test_what_is_no_device_is_refused() -> None:
    graph, _, program = copied()
    with pytest.raises(pl.ControlProgramError, match="device 'hardware' is no device"):
        pl.Engine(graph, program, device="hardware")  # type: ignore[arg-type]
