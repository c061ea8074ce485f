"""The process that drives a device: lines, errors, streams, and how it ends."""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import poplite as pl
from helpers.codelets import STAND_IN
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
    """Tell whether a process has ended, and its end was noticed."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False
