"""Engines on a device, from Python to C++ and back: the stand-in of the SDK records and executes.

Host program and codelets are found, compiled and kept as with an SDK; results are those of the
simulator, bit by bit.
"""

from __future__ import annotations

import importlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep
from helpers.host_program import building
from poplite.ipu.selftest import ROWS
from poplite.tools.command import main

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@pytest.fixture(scope="module")
def sdk(host_cache: Path) -> Iterator[Path]:
    """An SDK that is the stand-in; what it compiles is kept beside it."""
    with building(host_cache) as made:
        yield made.root


class Slope(pl.Vertex):
    """Divided differences in HALF and FLOAT, with a state and an output that is not all written."""

    step: pl.State[pl.FLOAT]
    x: pl.Input[pl.Vector[pl.HALF]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x) - 1):
            self.y[i] = (self.x[i + 1] - self.x[i]) / self.step


class Program:
    """A graph with vertices, copies, a loop, streams, a print and an abort."""

    def __init__(self) -> None:
        self.graph = graph = pl.Graph(pl.Target(tiles=4))
        self.x = graph.add_variable(pl.HALF, (4, 6), "x", mapping="linear")
        self.y = graph.add_variable(pl.FLOAT, (4, 6), "y", mapping="linear", initial_value=0.5)
        self.bad = graph.add_variable(pl.BOOL, (), "bad", mapping=0, initial_value=False)
        work = graph.add_compute_set("work")
        for tile in range(4):
            row = self.x[tile].reverse(0) if tile == 2 else self.x[tile]
            graph.add_vertex(work, Slope, tile=tile, step=0.3 + tile, x=row, y=self.y[tile])
        into = graph.add_host_to_device_fifo("in", pl.HALF, 24)
        out = graph.add_device_to_host_fifo("out", pl.FLOAT, 24)
        graph.create_host_read("corner", self.y[2:, :2])
        step = pl.Sequence(pl.Copy(into, self.x), pl.Execute(work), pl.Copy(self.y, out))
        self.programs: dict[str, pl.Program] = {
            "main": pl.Repeat(3, step),
            "show": pl.PrintTensor("y", self.y[0]),
            "check": pl.AbortOnCondition(self.bad, "it is bad"),
        }

    def run(self, engine: pl.Engine) -> list[bytes]:
        """Return all that the host sees of one use of an engine."""
        rng = np.random.default_rng(3)
        blocks = rng.standard_normal((3, 24)).astype(np.float16)
        blocks[1, 5], blocks[2, 7] = np.inf, 6e-8
        taken: list[bytes] = []
        engine.connect_stream("in", blocks)
        engine.connect_stream_to_callback("out", lambda array: taken.append(array.tobytes()))
        engine.run("main")
        engine.print_stream = io.StringIO()
        engine.run("show")
        engine.write(self.y[1:3, ::2], -1.25)
        read = [engine.read(self.y), engine.read("corner"), engine.read(self.x[:, 3])]
        return [*taken, engine.print_stream.getvalue().encode(), *(each.tobytes() for each in read)]


@pytest.mark.parametrize("kind", ["hardware", "model"])
def test_a_device_gives_what_the_simulator_gives(sdk: Path, kind: Any) -> None:
    program = Program()
    engine = pl.Engine(
        program.graph, program.programs, device=pl.ipu.Device(kind, sdk=sdk, arch="ipu2")
    )
    simulated = pl.Engine(program.graph, program.programs, interpret=True, checks="fast")
    assert program.run(engine) == program.run(simulated)
    engine.load()
    assert (engine.read(program.y) == 0.5).all()
    main, show = engine.report().measured
    assert (main.program, main.runs, show.program) == ("main", 1, "show")
    assert main.cycles if kind == "hardware" else main.cycles is None
    assert main.modelled == sum(
        step.cycles for step in simulated.report().execution.steps if step.program_name == "main"
    )


def test_quarter_is_moved_as_its_codes(sdk: Path) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    metadata = pl.QuarterMetadata("F143", scale=1)
    q = graph.add_variable(pl.QUARTER, (6,), "q", mapping=0, metadata=metadata)
    copied = graph.clone(q, name="copied")
    engines = [
        pl.Engine(graph, pl.Copy(q, copied), device=each) for each in (pl.ipu.Device(sdk=sdk), None)
    ]
    for engine in engines:
        engine.write(q, [0.25, -1.5, 3, 7, -0.125, 100])
        engine.write(q[1:3], 0.5)
        engine.run()
    device, simulated = (engine.read(copied) for engine in engines)
    assert device.tolist() == simulated.tolist()


def test_errors_of_a_device_are_ours_and_it_goes_on(sdk: Path) -> None:
    program = Program()
    engine = pl.Engine(program.graph, program.programs, device=pl.ipu.Device(sdk=sdk))
    engine.write(program.bad, True)
    with pytest.raises(pl.ApplicationRuntimeError, match="it is bad"):
        engine.run("check")
    engine.write(program.bad, False)
    engine.run("check")


def test_a_machine_that_is_too_small_is_an_error(
    sdk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN_TILES", "0")
    program = Program()
    with pytest.raises(pl.PopliteError, match="device"):
        pl.Engine(program.graph, program.programs, device=pl.ipu.Device(sdk=sdk))


def test_nothing_is_compiled_twice(sdk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program()
    device = pl.ipu.Device(sdk=sdk)
    pl.Engine(program.graph, program.programs, device=device)
    monkeypatch.setattr("poplite.ipu.building.sdk.compile_with", refused)
    pl.Engine(program.graph, program.programs, device=device)


def refused(*_: object) -> None:
    raise AssertionError("a compiler is called")


def test_what_the_compiler_refuses_is_shown(sdk: Path) -> None:
    class Wrong(pl.Vertex):
        x: pl.InOut[pl.FLOAT]
        cpp = "return no_such_name;"

        def compute(self) -> None:
            self.x = 1.0

    graph = pl.Graph(pl.Target(tiles=1))
    work = graph.add_compute_set("work")
    graph.add_vertex(work, Wrong, tile=0, x=graph.add_variable(pl.FLOAT, (), "x", mapping=0))
    with pytest.raises(pl.VertexCompileError, match="codelets: popc ended") as caught:
        pl.Engine(graph, pl.Execute(work), device=pl.ipu.Device(sdk=sdk))
    assert "no_such_name" in caught.value.found


@deep
@pytest.mark.parametrize("name", ["pi", "streams", "bfs"])
def test_an_example_passes_its_oracle(
    sdk: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(EXAMPLES), *sys.path])
    example = importlib.import_module(name)
    engines: list[pl.Engine] = []
    real, device = pl.Engine, pl.ipu.Device(sdk=sdk)

    def on_device(*given: Any, **named: Any) -> pl.Engine:
        engines.append(real(*given, device=device, **named))
        return engines[-1]

    monkeypatch.setattr(pl, "Engine", on_device)
    assert example.main([]) == 0
    assert engines[0].report().measured


def test_selftest_finds_no_difference(
    sdk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POPLAR_SDK_ENABLED", str(sdk))
    assert main(["ipu", "selftest", "--kind", "hardware"]) == 0
    said = capsys.readouterr().out
    assert "POPLAR version 0.0.0 (stand-in)" in said
    assert said.count("| equal |") == len(ROWS) + 1
