"""What Poplar's library throws comes through the host program as our class of the same name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import poplite as pl
from helpers.codelets import STAND_IN
from helpers.host_program import building
from poplite.errors import BY_POPLAR_NAME

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
