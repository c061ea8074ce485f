"""Native code: kernels against their text as Python, helper processes, what is left out."""

from __future__ import annotations

import ctypes
import gc
import math
import os
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from hypothesis import given, strategies as st
from numba.core.typing.templates import _OverloadAttributeTemplate, _OverloadFunctionTemplate

import poplite as pl
from helpers.depth import examples, thinned
from poplite.executable import encoding
from poplite.executable.encoding import columns
from poplite.jit import object_cache, side_by_side
from poplite.jit.build import Builds, Job, built, exported, kernel_job
from poplite.jit.kernel_code import Primitive
from poplite.jit.kernels import Bytes, Int32s, Int64s
from poplite.jit.kernels_intervals import repeat_pattern
from poplite.jit.kernels_written import gather_held
from poplite.jit.numba_context import contexts, processor
from poplite.jit.side_by_side import Helper, SideBySide
from poplite.machine.facts import CODE_FACTS
from poplite.simulator.codegen import lowered
from poplite.simulator.codegen.compute_code import Counting, Variant, linked_compute
from poplite.simulator.codegen.lane_accessors import masks_in_hardware
from poplite.simulator.compiled_parts import Driver, own_jobs
from poplite.simulator.pricing.native_slots import slots_job
from poplite.vertex.compute.meaning import faster_form
from poplite.vertex.compute.typed_facts import Checked
from poplite.vertices.reduce import SumColumnsOfTile
from poplite.vertices.slices import AddListed

# -- kernels ---------------------------------------------------------------------------------------


SMALL = st.integers(-40, 40)
LIMIT, STEP = 7, -3


def arithmetic(a: int, b: int, out: Int64s) -> int:
    out[0], out[1], out[2] = a + b, a - b, a * b
    out[3] = a // b if b != 0 else 0
    out[4] = a % b if b != 0 else 0
    out[5], out[6], out[7] = a & b, a | b, a ^ b
    out[8], out[9] = a << (b & 7), a >> (b & 7)
    out[10], out[11] = -a, ~b
    out[12], out[13] = min(a, b), max(a, b)
    out[14] = a // 8
    out[15] = a % -5
    return 16


def conditions(a: int, b: int, values: Int64s) -> int:
    found = 0
    if a < b and values[a & 3] == values[b & 3]:
        found += 1
    elif a == b or (a > LIMIT and not b > LIMIT):
        found += 2
    else:
        found += 4
    between = -5 <= a <= 5
    if between:
        found += 8
    both = between and b >= 0
    found += 16 if both else 32
    found += 64 if a in (1, 2, STEP, encoding.RAISED) else 0
    found += (a != b) * 128
    return found if a else -found


def loops(a: int, b: int, out: Int64s) -> int:
    count = 0
    for i in range(a):
        if i == b:
            continue
        if i > 30:
            break
        out[0] += i
        i = 1000  # noqa: PLW2901  (the loop goes on where it was)
    for i in range(a, b):
        count += i
    for i in range(b, a, STEP):
        count -= i
        for j in range(i & 3):
            count += j
            if j == 2:
                break
    while True:
        count += 1
        if count % 11 == 0:
            break
        while count % 2 == 0:
            count += 3
    first = second = count
    first, second = second + 1, first
    out[1], out[2] = first, second
    return count


def is_odd(number: int) -> bool:
    return number % 2 == 1


def note(out: Int64s, number: int) -> None:
    if number < 0:
        return
    out[0] += number


def calls(a: int, b: int, out: Int64s) -> int:
    note(out, a)
    note(out, b)
    return 1 + is_odd(a) + (10 if is_odd(b) else 20)


def elements(bytes_: Bytes, halves: Int32s, words: Int64s, count: int) -> int:
    total = 0
    for i in range(count):
        total += bytes_[i] - halves[i] + words[i]
        bytes_[i] += 200
        halves[i] *= 3
        words[i] -= 1
    return total


@cache
def compiled(function: Callable[..., int]) -> Callable[..., int]:
    arguments = (function.__module__, function.__name__)
    content = Job("0" * 32, "poplite.jit.kernel_code:kernel_object", arguments).content()
    kinds = [kind for name, kind in function.__annotations__.items() if name != "return"]
    types = [ctypes.c_int64 if kind == "int" else ctypes.c_void_p for kind in kinds]
    return ctypes.CFUNCTYPE(ctypes.c_int64, *types)(object_cache.load(content))


@pytest.mark.parametrize("function", [arithmetic, conditions, loops, calls])
@examples(200)
@given(a=SMALL, b=SMALL)
def test_the_same_as_python(function: Callable[..., int], a: int, b: int) -> None:
    expected, found = np.arange(16) % 3, np.arange(16) % 3
    answer = function(a, b, expected)
    assert compiled(function)(a, b, found.ctypes.data) == answer
    assert found.tolist() == expected.tolist()


def test_elements_have_their_width_and_sign() -> None:
    kinds: tuple[type[np.generic], ...] = (np.uint8, np.int32, np.int64)
    tables = [np.array([250, 7, 0], kinds[0]), np.array([-5, 2**30, 1], kinds[1])]
    tables.append(np.array([-(2**62), 9, 2**40], kinds[2]))
    total = sum(int(b) - int(h) + int(w) for b, h, w in zip(*tables, strict=True))
    assert compiled(elements)(*[table.ctypes.data for table in tables], 3) == total
    assert tables[0].tolist() == [194, 207, 200]
    assert tables[1].tolist() == [-15, -(2**30), 3]  # they wrap around
    assert tables[2].tolist() == [-(2**62) - 1, 8, 2**40 - 1]


# -- what kernels do not have ----------------------------------------------------------------------


def with_division(a: int) -> int:
    return int(a / 2)


def with_keywords(a: int) -> int:
    return max(a, 2, key=abs)


def with_an_unknown_step(a: int) -> int:
    total = 0
    for i in range(0, 9, a):
        total += i
    return total


def with_an_unknown_constant(a: int) -> int:
    return a + encoding.Code  # type: ignore[operator]


def with_two_kinds(a: int, out: Int64s) -> int:
    place = a
    place = out  # type: ignore[assignment]
    return int(place)


def with_an_attribute(a: int) -> int:
    return a.real


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (with_division, "a / 2"),
        (with_keywords, "max(a, 2, key=abs)"),
        (with_an_unknown_step, "a"),
        (with_two_kinds, "place"),
        (with_an_attribute, "a.real"),
        (with_an_unknown_constant, "encoding.Code"),
    ],
)
def test_other_statements_are_refused_by_line(function: Callable[..., int], text: str) -> None:
    with pytest.raises(NotImplementedError) as caught:
        compiled(function)
    first = function.__code__.co_firstlineno
    found, line = str(caught.value).split(": kernels cannot use ")
    assert line == f"'{text}'"
    assert first < int(found.rpartition(" ")[2]) <= first + 4


def test_a_primitive_is_for_compiled_code() -> None:
    with pytest.raises(NotImplementedError, match="only compiled kernels can call a primitive"):
        Primitive(lambda builder, args: None)(1)


# -- helper processes ------------------------------------------------------------------------------


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


@pytest.mark.usefixtures("_target")
def test_helpers_make_the_code_that_is_made_here(processors: None, here: list[str]) -> None:
    jobs = [job_of(number) for number in range(1, 41)]
    pool = SideBySide()
    found = [pool.add(job) for job in jobs]
    contents = [content() for content in found]
    pool.end()
    assert len(here) < len(jobs), "helpers do some of them"
    assert contents == [job.content() for job in jobs]
    assert [call(content, 100) for content in contents] == [101 + k for k in range(40)]


@pytest.mark.usefixtures("_target")
def test_few_jobs_start_no_helper(processors: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def start() -> None:
        raise AssertionError("a helper is started")

    monkeypatch.setattr(side_by_side, "Helper", start)
    pool = SideBySide()
    two = [pool.add(job_of(number)) for number in (1, 2)]
    assert [call(content(), 1) for content in two] == [2, 3]


@pytest.mark.usefixtures("_target")
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


@pytest.mark.usefixtures("_target")
def test_what_goes_wrong_in_a_helper_is_raised_here(processors: None) -> None:
    pool = SideBySide()
    wrong = [pool.add(job_of(number, "no such instruction")) for number in range(1, 9)]
    for content in wrong:
        with pytest.raises(RuntimeError, match="LLVM IR parsing error"):
            content()
    pool.end()


@pytest.mark.usefixtures("_target")
def test_what_python_prints_when_it_starts_is_not_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('hello', flush=True)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    with Helper() as helper:
        assert helper.content(job_of(7)) == job_of(7).content()


@pytest.mark.usefixtures("_target")
def test_a_helper_that_ends_is_left(processors: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with Helper() as helper:
        helper._process.kill()
        helper._process.wait()
        assert helper.content(job_of(8)) is None
        assert not helper.is_alive()


@pytest.mark.usefixtures("_target")
def test_where_no_thread_can_be_started_all_is_made_here(
    processors: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    pool = SideBySide()
    found = [pool.add(job_of(number)) for number in range(1, 9)]
    assert [call(content(), 1) for content in found] == list(range(2, 10))


@pytest.mark.usefixtures("_target")
def test_a_program_that_embeds_python_starts_no_copy_of_itself(
    processors: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/opt/studio/bin/studio")
    assert SideBySide()._most_helpers == 0


@pytest.mark.usefixtures("_target")
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


@pytest.mark.usefixtures("_target")
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

    def noted(checked: Checked, mode: int) -> str:
        names.append(checked.vertex.__name__)
        return lower(checked, mode)

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


@pytest.fixture
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


@pytest.mark.usefixtures("_target")
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


# -- what compiling leaves out ---------------------------------------------------------------------


class Doubled(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(0, len(self.x), 64):
            self.x.set_lanes(i, self.x.lanes(i) + self.x.lanes(i))


def _rules() -> Iterator[Any]:
    typing = contexts()[0]
    for installed in (typing._functions, typing._attributes):
        for templates in installed.values():
            yield from map(type, templates)
    for kind in typing._globals.values():
        yield from getattr(kind, "templates", ())


def test_typing_has_no_rules_that_are_functions_in_python() -> None:
    """Installing them, Numba imports all that it knows of arrays and containers."""
    import numba.np.arraymath  # registers hundreds, as users' own code does

    assert numba.np.arraymath
    rules = list(_rules())
    in_python = (_OverloadAttributeTemplate, _OverloadFunctionTemplate)
    assert len(rules) > 100
    assert [rule for rule in rules if issubclass(rule, in_python)] == []


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_of_cycles_waits_while_code_is_made(enabled: bool) -> None:
    found = []

    def job() -> Job:
        found.append(gc.isenabled())
        raise RuntimeError("it cannot be compiled")

    def by_builds() -> None:
        with Builds() as builds:
            builds.add("no code has this name", job)

    was_enabled = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        for make in (by_builds, lambda: built("no code has this name", job)):
            with pytest.raises(RuntimeError, match="cannot be compiled"):
                make()
            assert gc.isenabled() == enabled
    finally:
        (gc.enable if was_enabled else gc.disable)()
    assert found == [False, False]


def test_lanes_are_in_registers_before_what_they_access_is_inlined() -> None:
    """Prices are those of the code as it was lowered."""
    loads = [
        sum(
            instruction.opcode in ("load", "store")
            for function in linked_compute(Doubled, "compute", (None,), priced=priced).functions
            if Doubled.__name__ in function.name
            for block in function.blocks
            for instruction in block.instructions
        )
        for priced in (False, True)
    ]
    assert loads[0] < loads[1] / 4, loads


@pytest.mark.parametrize("fetched", [None, "x"])
def test_rows_are_fetched_before_they_are_read_where_the_variant_asks_for_it(
    fetched: str | None,
) -> None:
    form = faster_form(SumColumnsOfTile[pl.FLOAT])
    assert form is not None
    forms = (None,) * len(form.vertex.fields)
    made = linked_compute(form.vertex, "compute", forms, fetched=fetched)
    is_one_load = masks_in_hardware(processor().features)
    is_fetched = any("prefetch" in each.name for each in made.functions)
    assert is_fetched == (fetched is not None and is_one_load)


@pytest.mark.parametrize("scattered", [None, "x"])
def test_what_the_next_vertex_accesses_in_no_order_is_fetched_where_the_variant_asks_for_it(
    scattered: str | None,
) -> None:
    cls = AddListed[pl.FLOAT]
    rows = columns(list(cls.fields.values()), (None,) * len(cls.fields))
    text = Driver(cls, rows, Variant(scattered=scattered)).job().arguments[0]
    assert ("@llvm.prefetch" in text) == (scattered is not None)
