"""An engine on a device: what it reads, writes, serves, refuses and reports.

The process behind it computes nothing: a program named "in:s out:t" moves blocks of streams.
"""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from poplite.ipu.tables import Tables

FAKE = Path(__file__).parents[2] / "helpers" / "fake_device.py"


class FakeToolchain:
    """Makes nothing, and starts the process that only keeps to the protocol."""

    def command(
        self, tables: Tables, folder: Path, shared: Path, kind: str, arch: str
    ) -> list[str]:
        places = {name: (p.offset, p.offset + p.size_bytes) for name, p in tables.streams.items()}
        return [sys.executable, str(FAKE), json.dumps(places), "codelets", str(shared)]


def device() -> pl.ipu.Device:
    return pl.ipu.Device(sdk=FakeToolchain())


class Case:
    """A graph with two streams, and an engine of it on the device."""

    def __init__(self, *programs: str) -> None:
        self.graph = graph = pl.Graph(pl.Target(tiles=2))
        self.x = graph.add_variable(pl.INT, (3, 4), "x", mapping=0, initial_value=7)
        self.h = graph.add_variable(pl.HALF, (5,), "h", mapping=1)
        self.c = graph.add_constant(pl.FLOAT, (2,), [1.5, 2.5], "c", mapping=0)
        graph.create_host_read("diagonal", self.x[1:3, 1])
        graph.create_host_write("diagonal", self.x[1:3, 1])
        self.into = graph.add_host_to_device_fifo("s", pl.INT, 12)
        self.out = graph.add_device_to_host_fifo("t", pl.INT, 12)
        program = pl.Sequence(pl.Copy(self.into, self.x), pl.Copy(self.x, self.out))
        self.programs: dict[str, pl.Program] = dict.fromkeys(programs or ("main",), program)
        self.engine = pl.Engine(graph, self.programs, device=device())
        self.engine.connect_stream("s", np.arange(24, dtype=np.int32))
        self.taken: list[list[int]] = []
        self.engine.connect_stream_to_callback("t", lambda a: self.taken.append(a.tolist()))


def test_parts_of_variables_are_written_and_read() -> None:
    case = Case()
    engine = case.engine
    engine.load()
    assert engine.read(case.x).tolist() == [[7] * 4] * 3
    engine.write(case.x[1], [1, 2, 3, 4])
    engine.write(case.x[:, 3].reverse(0), 9)
    engine.write("h", np.arange(5) / 2)
    assert engine.read(case.x).tolist() == [[7, 7, 7, 9], [1, 2, 3, 9], [7, 7, 7, 9]]
    assert engine.read(case.h[3:]).tolist() == [1.5, 2.0]
    assert engine.read("h").dtype == np.float16
    assert engine.read(pl.concat([case.x[0, 2:], case.x[1, :2]])).tolist() == [7, 9, 1, 2]
    assert engine.read(case.c).tolist() == [1.5, 2.5]


def test_handles_are_moved_under_their_own_names() -> None:
    engine = Case().engine
    engine.write("diagonal", [4, 5])
    assert engine.read("diagonal").tolist() == [4, 5]


def test_what_does_not_fit_is_refused_as_by_the_simulator() -> None:
    case = Case()
    with pytest.raises(pl.TensorCreationError, match="shape \\(3,\\)"):
        case.engine.write(case.h, np.zeros(3))
    with pytest.raises(pl.GraphConnectionError, match="another graph"):
        case.engine.read(Case().x)
    with pytest.raises(pl.UnknownName, match="no program 'mian' \\(did you mean 'main'\\?\\)"):
        case.engine.run("mian")


def test_streams_are_served_while_a_program_runs() -> None:
    case = Case("in:s out:t in:s out:t")
    case.engine.run()
    assert case.taken == [list(range(12)), list(range(12, 24))]


def test_functions_of_the_host_are_called() -> None:
    calls: list[list[int]] = []
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (3,), "x", mapping=0)
    function = graph.add_host_function("f", [(pl.INT, 3)], [(pl.INT, 2)])
    program = pl.Repeat(2, pl.Call(function, [x], [x[:2]]))
    engine = pl.Engine(graph, {"call:f call:f": program}, device=device())
    with pytest.raises(pl.StreamConnectionError, match="host function 'f' is not connected"):
        engine.run()

    def fails(inputs: Any, outputs: Any) -> None:
        calls.append([len(inputs[0]), len(outputs[0])])
        raise ValueError("mine")

    engine.connect_host_function("f", fails)
    with pytest.raises(ValueError, match="mine") as caught:
        engine.run()
    assert "in the callback of host function 'f'" in caught.value.__notes__[0]
    engine.connect_host_function("f", lambda inputs, outputs: calls.append([0]))
    engine.run()
    assert calls == [[3, 2], [0], [0]]


def test_a_stream_must_be_connected() -> None:
    case = Case()
    engine = pl.Engine(case.graph, case.programs, device=device())
    with pytest.raises(pl.StreamConnectionError, match="are not connected"):
        engine.run()


def test_a_callback_that_raises_is_named_and_the_engine_remains() -> None:
    case = Case("in:s out:t", "nothing")

    def fails(array: Any) -> None:
        raise ValueError("mine")

    case.engine.connect_stream_to_callback("t", fails)
    with pytest.raises(ValueError, match="mine") as caught:
        case.engine.run()
    assert "in the callback of stream 't'" in caught.value.__notes__[0]
    case.engine.run("nothing")


def test_stop_ends_a_run_at_its_next_block() -> None:
    case = Case("in:s out:t in:s out:t")
    blocks = []

    def last(array: Any) -> None:
        blocks.append(array.copy())
        case.engine.stop()

    case.engine.connect_stream_to_callback("t", last)
    case.engine.run()
    assert len(blocks) == 1
    assert case.engine.report().runs == 0


def test_an_engine_runs_one_program_at_a_time() -> None:
    case = Case("in:s out:t")
    for call in (case.engine.run, case.engine.load, lambda: case.engine.read(case.x)):
        case.engine.connect_stream_to_callback("t", lambda array, call=call: call())  # type: ignore[misc]
        with pytest.raises(pl.ControlProgramError, match="running"):
            case.engine.run()


def test_a_dead_device_is_started_anew_by_load() -> None:
    case = Case("crash", "nothing")
    with pytest.raises(pl.DeviceRuntimeError, match="SIGKILL"):
        case.engine.run("crash")
    with pytest.raises(pl.ControlProgramError, match="has ended"):
        case.engine.read(case.x)
    case.engine.load()
    case.engine.run("nothing")


def test_what_is_printed_goes_to_the_print_stream() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (2,), "x", mapping=0)
    engine = pl.Engine(graph, {"out:print:0": pl.PrintTensor("now", x)}, device=device())
    engine.print_stream = io.StringIO()
    engine.run()
    assert engine.print_stream.getvalue() == "now: [0 0]\n"


def test_the_report_has_what_was_measured_beside_the_model() -> None:
    case = Case("nothing", "idle")
    for _ in range(3):
        case.engine.run("nothing")
    report = case.engine.report()
    (measured,) = report.measured
    simulated = pl.Engine(case.graph, case.programs)
    simulated.connect_stream("s", np.zeros(12, np.int32))
    simulated.connect_stream("t", np.zeros(12, np.int32))
    simulated.run("nothing")
    assert (measured.program, measured.runs, measured.cycles) == ("nothing", 3, 243_750)
    assert measured.modelled == 3 * (simulated.report().cycles or 0)
    assert report.runs == 3
    assert "'nothing': 3 runs, 243,750 cycles in 1.5e+03 ms; the model says" in str(report)
    assert pl.Report.from_json(report.to_json()) == report


def test_an_engine_goes_on_where_one_of_the_simulator_was() -> None:
    case = Case()
    simulated = pl.Engine(case.graph, pl.Sequence())
    simulated.write(case.x[0], 3)
    engine = pl.Engine(case.graph, case.programs, device=device(), state=simulated)
    assert engine.read(case.x[:2]).tolist() == [[3] * 4, [7] * 4]
    further = pl.Engine(case.graph, case.programs, device=device(), state=engine)
    assert further.read(case.x[0]).tolist() == [3] * 4
    back = pl.Engine(case.graph, pl.Sequence(), state=further)
    assert back.read(case.x[:2]).tolist() == [[3] * 4, [7] * 4]


@pytest.mark.parametrize("asked", [{"checks": "strict"}, {"interpret": True}])
def test_what_an_ipu_cannot_do_is_refused(asked: dict[str, Any]) -> None:
    case = Case()
    with pytest.raises(pl.InvalidOption, match=f"an IPU has no {next(iter(asked))}"):
        pl.Engine(case.graph, case.programs, device=device(), **asked)


def test_an_executable_is_not_enough() -> None:
    executable = pl.compile_graph(pl.Graph(pl.Target(tiles=1)), pl.Sequence(), checks="none")
    with pytest.raises(pl.ControlProgramError, match="needs the graph"):
        pl.Engine(executable, device=device())


def test_steps_cannot_be_traced() -> None:
    with pytest.raises(pl.ControlProgramError, match="does not tell which step"):
        Case().engine.tracing()


def test_an_engine_says_where_it_runs() -> None:
    assert repr(Case().engine) == "<Engine 1 program on 2 tiles, on an IPU, no checks>"
    assert repr(device()) == "<Device hardware, ipu2>"


def test_without_an_sdk_the_error_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POPLAR_SDK_ENABLED", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(pl.DeviceRuntimeError, match="no Poplar SDK") as caught:
        pl.ipu.Device()
    assert "POPLAR_SDK_ENABLED" in caught.value.fix
    assert "poplite export FILE.py:build FOLDER" in caught.value.fix


def test_a_device_is_one_of_poplar() -> None:
    found = device()
    assert isinstance(found, pl.Device)
    assert found.attach()
    assert found.getTarget() == pl.Target()
    graph = pl.Graph(found.getTarget())
    x = graph.add_variable(pl.INT, (2,), "x", mapping=0)
    engine = pl.Engine(graph, {"nothing": pl.Copy(x[0], x[1])}, device=found)
    engine.load(found)
    engine.run()


def test_a_device_fits_where_poplar_has_one() -> None:
    ipu = device()
    graph = pl.Graph(ipu)
    assert graph.getTarget() == ipu.getTarget() == pl.Target()
    x = graph.addVariable(pl.INT, [4], pl.VariableMappingMethod.LINEAR, "x")
    stream = graph.addHostToDeviceFIFO("s", pl.INT, 4)
    engine = pl.Engine(graph, {"in:s": pl.Copy(stream, x)}, device=ipu)
    engine.connectStream("s", np.arange(4, dtype=np.int32))
    with pytest.raises(pl.InvalidMachineModel, match="is not attached"):
        engine.loadAndRun(ipu, 0)
    assert ipu.attach()
    engine.prepare(ipu, pl.RuntimeOptions())
    engine.deploy()
    engine.loadAndRun(ipu, 0)


def test_an_engine_is_not_loaded_on_a_device_that_it_does_not_run_on() -> None:
    ipu, other = device(), device()
    graph = pl.Graph(ipu)
    x = graph.add_variable(pl.INT, (4,), "x", mapping=0, initial_value=3)
    simulated = pl.Engine(graph, pl.WriteUndef(x))
    for each in (ipu, other):
        each.attach()
    for call in (simulated.load, simulated.prepare, simulated.loadAndRun):
        with pytest.raises(pl.InvalidMachineModel, match="does not run on <Device hardware") as e:
            call(ipu)
        assert "it runs on the simulator" in e.value.found
    engine = pl.Engine(graph, {"nothing": pl.Copy(x[0], x[1])}, device=ipu)
    engine.load(ipu)
    with pytest.raises(pl.InvalidMachineModel, match="does not run on <Device hardware"):
        engine.load(other)


def test_runs_that_are_left_out_of_reports_are_not_measured() -> None:
    case = Case("in:s out:t", "other")
    case.engine.run(0)
    case.engine.disableExecutionProfiling()
    for program in (0, 0, 1):
        case.engine.run(program)
    case.engine.enableExecutionProfiling()
    assert [(each.program, each.runs) for each in case.engine.getReport().measured] == [
        ("in:s out:t", 1)
    ]
    case.engine.run(1)
    assert [(each.program, each.runs) for each in case.engine.getReport().measured] == [
        ("in:s out:t", 1),
        ("other", 1),
    ]
