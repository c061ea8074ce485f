"""Native code made by helper processes: the same as here, and made here where they cannot."""

from __future__ import annotations

import ctypes
import math
import os
import sys
import threading
from pathlib import Path

import llvmlite.binding as llvm
import pytest

import poplite as pl
from helpers.depth import thinned
from poplite.executable.rows import columns
from poplite.jit import object_cache, side_by_side
from poplite.jit.build import Builds, Job, built, exported, kernel_job
from poplite.jit.kernels.intervals import repeat_pattern
from poplite.jit.kernels.written import gather_held
from poplite.jit.numba_context import processor
from poplite.jit.side_by_side import Helper, SideBySide
from poplite.machine.facts import CODE_FACTS
from poplite.simulator.codegen import lowered
from poplite.simulator.codegen.compute_code import Counting, Variant
from poplite.simulator.compiled_parts import Driver, own_jobs
from poplite.simulator.pricing.native_slots import slots_job

OF_MULTI_VERTEX = ("supervisor_overhead", "workers")
MAKER = "poplite.jit.native_code:optimized_object"


def job_of(number: int, what: str = "add") -> Job:
    """Return a job whose function adds a number to its argument."""
    name = f"{number:032x}"
    text = f"define i64 @{exported(name)}(i64 %x) {{\n%y = {what} i64 %x, {number}\nret i64 %y\n}}"
    return Job(name, MAKER, (text, processor().words()))


def call(content: bytes, argument: int) -> int:
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(object_cache.load(content))
    return int(function(argument))


@pytest.fixture
def processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_by_side, "processors", lambda: 3)
    monkeypatch.setattr(side_by_side, "MOST_HELPERS", 7)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the jobs that this process does."""
    names: list[str] = []
    content = Job.content

    def noted(job: Job) -> bytes:
        names.append(job.name)
        return content(job)

    monkeypatch.setattr(Job, "content", noted)
    return names


def test_helpers_make_the_code_that_is_made_here(processors: None, here: list[str]) -> None:
    jobs = [job_of(number) for number in range(1, 41)]
    pool = SideBySide()
    found = [pool.add(job) for job in jobs]
    contents = [content() for content in found]
    pool.end()
    assert len(here) < len(jobs), "helpers do some of them"
    assert contents == [job.content() for job in jobs]
    assert [call(content, 100) for content in contents] == [101 + k for k in range(40)]


def test_few_jobs_start_no_helper(processors: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def start() -> None:
        raise AssertionError("a helper is started")

    monkeypatch.setattr(side_by_side, "Helper", start)
    pool = SideBySide()
    two = [pool.add(job_of(number)) for number in (1, 2)]
    assert [call(content(), 1) for content in two] == [2, 3]


@pytest.mark.parametrize("executable", ["/nowhere/python", "/bin/false"])
def test_without_helpers_all_is_made_here(
    processors: None, here: list[str], monkeypatch: pytest.MonkeyPatch, executable: str
) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    monkeypatch.setattr(side_by_side, "_is_python", lambda: True)
    pool = SideBySide()
    found = [pool.add(job_of(number)) for number in range(1, 9)]
    assert [call(content(), 1) for content in found] == list(range(2, 10))
    pool.end()
    assert sorted(here) == [job_of(number).name for number in range(1, 9)]


def test_what_goes_wrong_in_a_helper_is_raised_here(processors: None) -> None:
    pool = SideBySide()
    wrong = [pool.add(job_of(number, "no such instruction")) for number in range(1, 9)]
    for content in wrong:
        with pytest.raises(RuntimeError, match="LLVM IR parsing error"):
            content()
    pool.end()


def test_what_python_prints_when_it_starts_is_not_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('hello', flush=True)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    with Helper() as helper:
        assert helper.content(job_of(7)) == job_of(7).content()


def test_a_helper_that_ends_is_left(processors: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with Helper() as helper:
        helper._process.kill()
        helper._process.wait()
        assert helper.content(job_of(8)) is None
        assert not helper.is_alive()


def test_where_no_thread_can_be_started_all_is_made_here(
    processors: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    pool = SideBySide()
    found = [pool.add(job_of(number)) for number in range(1, 9)]
    assert [call(content(), 1) for content in found] == list(range(2, 10))


def test_a_program_that_embeds_python_starts_no_copy_of_itself(
    processors: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/opt/studio/bin/studio")
    assert SideBySide()._most_helpers == 0


def test_builds_are_kept(
    processors: None, here: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POPLITE_CACHE_DIR", str(tmp_path))
    job = job_of(123456)
    for _ in range(2):
        with Builds() as builds:
            builds.add(job.name, lambda: job)
            builds.finish()
    assert here == [job.name]
    assert object_cache.has(job.name)
    address = built(job.name, lambda: job).address
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)(4) == 123460


def test_a_class_is_lowered_once_for_all_its_uses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Search(pl.Vertex):
        x: pl.Input[pl.Vector[pl.FLOAT]]
        found: pl.Output[pl.INT]

        def compute(self) -> None:
            i = 0
            while i < len(self.x) and self.x[i] < 0.5:
                i += 1
            self.found = i

    monkeypatch.setenv("POPLITE_CACHE_DIR", str(tmp_path))
    names: list[str] = []
    lower = lowered.lowered_text

    def noted(cls: type[pl.Vertex], mode: int) -> str:
        names.append(cls.__name__)
        return lower(cls, mode)

    monkeypatch.setattr(lowered, "lowered_text", noted)
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (4,), "x", mapping=0, initial_value=[0, 0, 1, 0])
    found = graph.add_variable(pl.INT, (), "found", mapping=0)
    work = graph.add_compute_set("search")
    graph.add_vertex(work, Search, tile=0, x=x, found=found)
    for checks in ("fast", "strict"):
        engine = pl.Engine(graph, pl.Execute(work), checks=checks)
        engine.run()
        assert engine.read(found) == 2
        assert engine.report().execution.cycles
    assert names == ["Search"]


@pytest.fixture(autouse=True)
def _target() -> None:
    llvm.initialize_native_target()


class Gather(pl.Vertex):
    """A class whose loop ends where data say so, with a list."""

    rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    total: pl.Output[pl.FLOAT]
    least: pl.State[pl.FLOAT]

    def compute(self) -> None:
        total = 0.0
        for i in range(len(self.rows)):
            j = 0
            while j < len(self.rows[i]) and self.rows[i][j] > self.least:
                total += math.sqrt(self.rows[i][j])
                j += 1
        self.total = total


@pytest.mark.parametrize("several", thinned([False, True], keep=1))
def test_a_helper_can_do_every_kind_of_job(several: bool) -> None:
    """In a process where nothing else has been imported, or done before."""
    rows = columns(list(Gather.fields.values()), ("stride", None, None))
    target = pl.Target()
    costs = tuple((name, target.cost(name)) for name in (*CODE_FACTS, *OF_MULTI_VERTEX))
    drivers = [
        Driver(Gather, rows, variant)
        for variant in (Variant(), Variant(checked=True), Variant(counting=Counting(True, costs)))
    ]
    jobs = [driver.job() for driver in drivers]
    jobs.append(slots_job("0" * 32, Gather, dict(costs)))
    jobs += own_jobs(moves=True, counts=True)
    jobs += [kernel_job(each.__module__, each.__name__) for each in (repeat_pattern, gather_held)]
    for job in jobs if several else {job.maker: job for job in jobs}.values():
        with Helper() as helper:
            content = helper.content(job)
        assert content is not None, job.maker
        assert content == job.content(), job.maker
