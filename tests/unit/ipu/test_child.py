"""The process that drives a device: lines, errors, streams, and how it ends."""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import poplite as pl
from helpers.codelets import STAND_IN
from helpers.host_program import building
from poplite.errors import BY_POPLAR_NAME
from poplite.ipu.building import host_text
from poplite.ipu.device.child import Child, Halted, error_of

FAKE = Path(__file__).parents[2] / "helpers" / "fake_device.py"


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


class Case:
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
def case(sdk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    monkeypatch.setenv("STAND_IN_FAILS", os.fspath(tmp_path / "told"))
    return Case(sdk, tmp_path / "told")


def test_every_class_comes_back_by_its_name_and_the_next_run_works(case: Case) -> None:
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


def test_what_is_no_exception_of_poplars_is_an_error_of_the_device(case: Case) -> None:
    engine = case.engine()
    case.told.write_text("run bad_alloc")
    with pytest.raises(pl.DeviceRuntimeError, match="bad_alloc"):
        engine.run()


def test_what_is_thrown_while_a_graph_is_compiled_comes_back_by_its_name(case: Case) -> None:
    case.told.write_text("compile graph_memory_allocation_error")
    with pytest.raises(pl.GraphMemoryAllocationError, match="command 'start'"):
        case.engine().run()


def test_a_process_that_ends_is_reported_with_its_status_and_last_words(case: Case) -> None:
    engine = case.engine()
    case.told.write_text("run exit")
    with pytest.raises(pl.DeviceRuntimeError, match=r"status 7\b(.*\n)*.*the last words"):
        engine.run()
    case.told.unlink()
    with pytest.raises(pl.ControlProgramError, match="has ended, and memory with it") as caught:
        engine.write(case.x, np.zeros(4, np.int32))
    assert caught.value.fix.startswith("engine.load() starts it anew")
    engine.load()
    engine.run()
    assert engine.read(case.y).tolist() == [1, 1, 1, 1]
