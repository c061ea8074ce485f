"""An engine on a device: what it reads, writes, serves, refuses and reports.

The process behind it computes nothing: a program named "in:s out:t" moves blocks of streams.
"""

from __future__ import annotations

import gc
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.codelets import STAND_IN
from helpers.host_program import building
from poplite.errors import BY_POPLAR_NAME
from poplite.ipu.building import host_text
from poplite.ipu.device import Child, Halted, error_of
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
    with pytest.raises(pl.TensorCreationError, match="tensor's shape \\(5,\\); found \\(3,\\)"):
        case.engine.write(case.h, np.zeros(3))
    with pytest.raises(pl.GraphConnectionError, match="must belong to this engine.s graph"):
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
    with pytest.raises(pl.InvalidOption, match=f"an IPU does not support {next(iter(asked))}"):
        pl.Engine(case.graph, case.programs, device=device(), **asked)


def test_an_executable_is_not_enough() -> None:
    executable = pl.compile_graph(pl.Graph(pl.Target(tiles=1)), pl.Sequence(), checks="none")
    with pytest.raises(pl.ControlProgramError, match="needs a graph and programs"):
        pl.Engine(executable, device=device())


def test_steps_cannot_be_traced() -> None:
    with pytest.raises(pl.ControlProgramError, match="does not report its current step"):
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


# -- the process that drives a device --------------------------------------------------------------


@pytest.fixture
def child(tmp_path: Path) -> Child:
    shared = tmp_path / "shared"
    shared.write_bytes(bytes(64))
    made = Child([sys.executable, str(FAKE), "{}", "codelets", str(shared)])
    made.ask("start")
    return made


def test_commands_are_answered_whatever_is_written_to_standard_output(child: Child) -> None:
    assert child.ask("run nothing") == ["81250", "0.5"]
    assert child.ask("write variable:a b") == []


def test_an_error_is_raised_by_its_name_and_the_next_command_works(child: Child) -> None:
    with pytest.raises(pl.GraphMemoryAllocationError) as caught:
        child.ask("run raise:graph_memory_allocation_error")
    assert caught.value.what == "first line"
    assert "ok 1 2\nlast" in caught.value.found
    assert child.ask("run nothing") == ["81250", "0.5"]


def test_the_host_program_names_every_class_of_poplar_derived_ones_first() -> None:
    header = (STAND_IN / "poplar" / "exceptions.hpp").read_text(encoding="utf-8")
    bases = dict(re.findall(r"^POPLAR_ERROR\((\w+), (\w+)\)", header, re.MULTILINE))
    named = re.findall(r"^  POPLITE_CLASS\((\w+)\)", host_text("host.cpp"), re.MULTILINE)
    assert sorted(named) == sorted({*bases, "poplar_error"})
    assert set(BY_POPLAR_NAME) <= set(named)
    assert [name for name in bases if named.index(name) > named.index(bases[name])] == []
    for name in named:
        error = error_of(name, "what", "start")
        assert isinstance(error, pl.PopliteError)
        is_own = name in BY_POPLAR_NAME and name != "poplar_error"
        assert type(error).poplar == name if is_own else type(error) is pl.DeviceRuntimeError


def test_an_unknown_class_is_an_error_of_the_device(child: Child) -> None:
    with pytest.raises(pl.DeviceRuntimeError, match="first line"):
        child.ask("run raise:std::bad_alloc")


@pytest.mark.parametrize(
    ("program", "says"),
    [("die", r"status 7\b.*\n.*\n.*\n(.*\n)*  the last words"), ("crash", "signal SIGKILL")],
)
def test_a_dead_process_is_reported_with_how_it_ended(
    child: Child, program: str, says: str
) -> None:
    with pytest.raises(pl.DeviceRuntimeError, match=says):
        child.ask(f"run {program}")
    assert not child.is_alive


def test_a_process_that_breaks_the_protocol_is_ended(child: Child) -> None:
    with pytest.raises(pl.DeviceRuntimeError, match="replied 'what\\?'"):
        child.ask("run babble")
    assert not child.is_alive
    assert is_gone(child.pid)


def test_streams_are_served_in_order(child: Child) -> None:
    served: list[tuple[str, str]] = []

    def serve(verb: str, name: str) -> bool:
        served.append((verb, name))
        return True

    assert child.ask("run in:a out:b in:a", serve) == ["81250", "0.5"]
    assert served == [("fetch", "a"), ("sink", "b"), ("fetch", "a")]


def test_a_run_can_be_halted(child: Child) -> None:
    with pytest.raises(Halted):
        child.ask("run in:a in:b", lambda verb, name: name != "a")
    assert child.ask("run nothing") == ["81250", "0.5"]


@pytest.mark.parametrize("kind", [ValueError, SystemExit])
def test_what_a_callback_raises_ends_the_run_first(child: Child, kind: type[BaseException]) -> None:
    with pytest.raises(kind, match="my own"):
        child.ask("run in:a in:b", raising(kind("my own")))
    assert child.ask("run nothing") == ["81250", "0.5"]


def test_an_interrupt_ends_the_process(child: Child) -> None:
    with pytest.raises(KeyboardInterrupt):
        child.ask("run in:a", raising(KeyboardInterrupt()))
    assert not child.is_alive
    assert is_gone(child.pid)


def test_the_process_ends_with_its_object(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.write_bytes(bytes(64))
    child = Child([sys.executable, str(FAKE), "{}", "codelets", str(shared)])
    pid = child.pid
    del child
    gc.collect()
    assert is_gone(pid)


def test_what_cannot_be_started_is_an_error() -> None:
    with pytest.raises(pl.DeviceRuntimeError, match="'?/nowhere/host'? cannot be started"):
        Child(["/nowhere/host"])


def raising(error: BaseException) -> Callable[[str, str], bool]:
    def serve(verb: str, name: str) -> bool:
        raise error

    return serve


def is_gone(pid: int) -> bool:
    """Return whether a process has ended, and its end was noticed."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


# -- thrown by the library -------------------------------------------------------------------------
#
# What Poplar's library throws comes through the host program as our class of the same name.


HEADER = (STAND_IN / "poplar" / "exceptions.hpp").read_text(encoding="utf-8")
NAMES = ["poplar_error", *re.findall(r"^POPLAR_ERROR\((\w+), \w+\)", HEADER, re.MULTILINE)]


@pytest.fixture(scope="module")
def sdk(host_cache: Path) -> Iterator[Path]:
    with building(host_cache) as made:
        yield made.root


class FailingCase:
    """An engine on the stand-in, which fails as a file says."""

    def __init__(self, sdk: Path, told: Path) -> None:
        self.graph = graph = pl.Graph(pl.Target(tiles=2))
        self.x = graph.add_variable(pl.INT, (4,), "x", mapping="linear", initial_value=1)
        self.y = graph.clone(self.x, name="y")
        self._sdk, self.told = sdk, told

    def engine(self) -> pl.Engine:
        device = pl.ipu.Device("model", sdk=self._sdk)
        return pl.Engine(self.graph, pl.Copy(self.x, self.y), device=device)


@pytest.fixture
def case(sdk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FailingCase:
    monkeypatch.setenv("STAND_IN_FAILS", os.fspath(tmp_path / "told"))
    return FailingCase(sdk, tmp_path / "told")


def test_every_class_comes_back_by_its_name_and_the_next_run_works(case: FailingCase) -> None:
    engine = case.engine()
    for name in NAMES:
        case.told.write_text(f"run {name}")
        with pytest.raises(pl.PopliteError) as caught:
            engine.run()
        error = caught.value
        is_own = name in BY_POPLAR_NAME and name != "poplar_error"
        assert type(error).poplar == name if is_own else type(error) is pl.DeviceRuntimeError
        assert error.what == name
        assert f"as a file says\nPoplar calls it {name}" in error.found
        assert "command 'run" in error.where
        case.told.unlink()
        engine.run()
    assert engine.read(case.y).tolist() == [1, 1, 1, 1]


def test_what_is_no_exception_of_poplars_is_an_error_of_the_device(case: FailingCase) -> None:
    engine = case.engine()
    case.told.write_text("run bad_alloc")
    with pytest.raises(pl.DeviceRuntimeError, match="bad_alloc"):
        engine.run()


def test_what_is_thrown_while_a_graph_is_compiled_comes_back_by_its_name(case: FailingCase) -> None:
    case.told.write_text("compile graph_memory_allocation_error")
    with pytest.raises(pl.GraphMemoryAllocationError, match="command 'start'"):
        case.engine().run()


def test_a_process_that_ends_is_reported_with_its_status_and_last_words(case: FailingCase) -> None:
    engine = case.engine()
    case.told.write_text("run exit")
    with pytest.raises(pl.DeviceRuntimeError, match=r"status 7\b(.*\n)*.*the last words"):
        engine.run()
    case.told.unlink()
    with pytest.raises(pl.ControlProgramError, match="has ended, and its memory is lost") as caught:
        engine.write(case.x, np.zeros(4, np.int32))
    assert caught.value.fix.startswith("call engine.load() to start it again")
    engine.load()
    engine.run()
    assert engine.read(case.y).tolist() == [1, 1, 1, 1]
