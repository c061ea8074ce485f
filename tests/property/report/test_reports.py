"""Reports: each changed value is refused or used, and peaks are as defined."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples
from helpers.mutated_files import report_forms
from poplite.codec.archive import ArrayReader
from poplite.codec.codec import Reader
from poplite.codec.file_formats import Malformed
from poplite.report import Report, compilation, execution, memory, report as whole
from poplite.report.json_form import MOST, PerTileCoder
from poplite.report.memory import (
    GAPS,
    NO_STEP,
    Held,
    Memory,
    MemoryStep,
    bytes_by_step,
    peaks_of,
    thing_kind,
)
from poplite.report.per_tile import PerTile

# -- reports with one value changed ----------------------------------------------------------------


Path = tuple[str | int, ...]

MODULES = (compilation, execution, memory, whole)


class Halve(pl.Vertex):
    """Halves numbers, in as many cycles as it says."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = self.x[i] * 0.5

    def cycles(self, target: pl.Target) -> int:
        """Return two cycles for each."""
        return 10 + 2 * len(self.x)


def branches(*, run: bool) -> Report:
    """A loop of copies, and a branch, traced or as compiled."""
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, 4, "x", mapping="linear", initial_value=1)
    y = graph.add_variable(pl.FLOAT, 4, "y", mapping=0, initial_value=1)
    flag = graph.add_variable(pl.BOOL, (), "flag", mapping=0, initial_value=True)
    loop = pl.Repeat(3, pl.Copy(x, y))
    engine = pl.Engine(graph, pl.Sequence(loop, pl.If(flag, pl.Copy(y, x), pl.Copy(x, y))))
    if not run:
        return engine.report()
    with engine.tracing() as trace:
        engine.run()
    return engine.report().with_order(trace)


def exchange() -> Report:
    """Two programs on two IPUs: a function called twice, an exchange, a remote buffer."""
    graph = pl.Graph(pl.Target(tiles=4, ipus=2))
    with graph.scope("model"):
        x = graph.add_variable(pl.FLOAT, (4, 6), "x", mapping="linear", initial_value=1)
        y = graph.add_variable(pl.FLOAT, (6, 4), "y", mapping="linear", initial_value=1)
    halve = graph.add_compute_set("halve")
    for tile in range(4):
        graph.add_vertex(halve, Halve, tile=tile, x=x[tile].reverse(0))
    shared = graph.add_function(pl.Execute(halve))
    rows = graph.add_remote_buffer("rows", pl.FLOAT, 24, 4)
    main = pl.Sequence(
        pl.Call(shared), pl.Copy(x.T, y), pl.Call(shared), pl.Copy(y.flatten(), rows)
    )
    engine = pl.Engine(graph, {"main": main, "back": pl.Copy(y.T, x)}, interpret=True)
    engine.run("main")
    engine.run("back")
    return engine.report()


def host() -> Report:
    """Streams, a host function, a switch, a constant, a print."""
    graph = pl.Graph(pl.Target(tiles=3))
    x = graph.add_variable(pl.INT, 5, "x", mapping=1)
    n = graph.add_variable(pl.INT, (), "n", mapping=2, initial_value=3)
    graph.set_tile_mapping(graph.add_constant(pl.HALF, (3,), [1, 2, 3], "table"), 0)
    stream = graph.add_host_to_device_fifo("in", pl.INT, 5)
    sort = graph.add_host_function("sort", [(pl.INT, 5)], [(pl.INT, 5)])
    switch = pl.Switch(n, {3: pl.Copy(x[:2], x[3:])})
    steps = pl.Copy(stream, x), pl.Call(sort, [x], [x]), switch, pl.PrintTensor("x", x)
    engine = pl.Engine(graph, pl.Sequence(*steps), interpret=True)
    engine.connect_stream("in", np.zeros(5, np.int32))
    engine.connect_host_function("sort", lambda given, taken: None)
    engine.run()
    return engine.report()


def not_modelled() -> Report:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.INT, 4, "x", mapping="linear", initial_value=1)
    engine = pl.Engine(graph, pl.Copy(x[:2], x[2:]), options={"debug.instrument": False})
    engine.run()
    return engine.report()


REPORTS: dict[str, Callable[[], Report]] = {
    "branches": lambda: branches(run=True),
    "branches as compiled": lambda: branches(run=False),
    "exchange": exchange,
    "host": host,
    "not modelled": not_modelled,
}


@cache
def report_of(name: str) -> Report:
    return REPORTS[name]()


@cache
def places(name: str) -> list[Path]:
    """Return where something is in the JSON of a report: every value, every list."""
    return list(_places(json.loads(report_of(name).to_json()), ()))


def _places(value: Any, path: Path) -> Iterator[Path]:
    if isinstance(value, dict):
        for key in sorted(value):
            yield from _places(value[key], (*path, key))
    else:
        yield path
        for number, each in enumerate(value if isinstance(value, list) else ()):
            yield from _places(each, (*path, number))


NUMBERS = (0, 1, -1, 2, 7, 1 << 31, 1 << 53, (1 << 62) - 1, MOST - 1, MOST, -MOST, 1e-300, 1.5)
TEXTS = ("", "x", "{0}", "\"'<", "\ud800", "a to b to c", "0 times", "u1:AAAA")


def changes(value: Any) -> list[Any]:
    """Return what a value is replaced by."""
    if isinstance(value, list):
        shorter = [value[:k] + value[k + 1 :] for k in range(len(value))]
        return [*shorter, *([*value[:k], value[k], *value[k:]] for k in range(len(value))), []]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [*NUMBERS, value + 1, value - 1, None]
    if isinstance(value, str):
        return [*TEXTS, value[:-1], f"{value}x", None]
    return [0, -1, MOST - 1, [], [[0, 0]], [[0, MOST - 1]], "x"]


def changed(name: str, path: Path, value: Any) -> str:
    """Return a report as JSON in which another value is at a place."""
    whole = json.loads(report_of(name).to_json())
    holder = whole
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return json.dumps(whole)


def at(name: str, path: Path) -> Any:
    found = json.loads(report_of(name).to_json())
    for key in path:
        found = found[key]
    return found


def make_all(report: Report, before: Report) -> None:
    for make in report_forms(report, before).values():
        with contextlib.suppress(pl.PopliteError):
            make()


IN_MEMORY = "compilation", "modelled"
FIRST_STEP = "execution", "steps", 0
PAIRS = *FIRST_STEP, "phases", 1, "pairs"
FIRST_ACCESS = "compilation", "accesses", 0
VARIABLE = "compilation", "variables", 0

MEASURED = {"program": "x", "runs": 1, "cycles": 1, "seconds": 0.5, "modelled": 1}
OPERATION = {"name": "a", "at": 0, "compute_sets": [0], "result_bytes": 0, "temporary_bytes": 0}

IDLE: dict[str, object] = {"tiles": [], "values": 0}

JOINED = {"program_name": "x", "rows": [], "cycles": 1, "code_bytes": 1, "apart_bytes": 1}

REFUSED: list[tuple[str, Path, object, str | None]] = [
    ("branches", (*FIRST_ACCESS, "accesses", 0, "variable"), 3, "Access.variable cannot be 3"),
    ("branches", (*FIRST_ACCESS, "places", 0), ["0", 4], r"StepAccesses.places cannot be"),
    ("branches", (*FIRST_ACCESS, "places", 0), ["1", 0], r"StepAccesses.places cannot be"),
    ("branches", (*FIRST_ACCESS, "places", 0), ["1", 1], r"StepAccesses.places cannot be"),
    ("branches", (*FIRST_ACCESS, "compute_set"), 0, "StepAccesses.compute_set cannot be 0"),
    ("branches", (*FIRST_STEP, "compute_set"), 0, "ExecutionStep.compute_set cannot be 0"),
    ("branches", (*FIRST_STEP, "executions"), 0, "ExecutionStep.executions cannot be 0"),
    ("branches", (*FIRST_STEP, "operation"), "add", "ExecutionStep.operation cannot be 'add'"),
    ("branches", (*FIRST_STEP, "program_name"), "1", "ExecutionStep.program_name cannot be '1'"),
    ("branches", (*FIRST_STEP, "row"), 9, "in a ExecutionStep, its program does not have this row"),
    ("branches", (*IN_MEMORY, "addresses"), [], None),
    ("branches", (*FIRST_STEP, "phases"), [], None),
    ("branches", (*FIRST_STEP, "phases", 1, "causes", 0, "bytes"), 0, None),
    ("exchange", (*FIRST_STEP, "phases", 2, "tile_cycles"), IDLE, None),
    ("branches", ("compilation", "target", "tile_memory_bytes"), (1 << 62) - 1, None),
    ("branches", ("compilation", "programs", "0", 3, 5), "{0}", None),
    ("branches", ("compilation", "accesses", 1, "accesses"), [], None),
    ("host", ("compilation", "accesses", 2, "name"), "\ud800", "text with a lone surrogate"),
    ("branches", (*IN_MEMORY, "including_gaps"), IDLE, "no item may be larger than the memory"),
    ("branches", (*IN_MEMORY, "held"), [], "there must be addresses for each item"),
    ("branches", (*IN_MEMORY, "held", 0, "steps"), [[0, 3]], "Held.steps cannot be"),
    ("branches", (*IN_MEMORY, "held", 0, "steps"), [[1, 0]], "Held.steps cannot be"),
    ("branches", (*IN_MEMORY, "held", 0, "steps"), [], r"Held.steps cannot be \(\)"),
    ("branches", (*IN_MEMORY, "held", 0, "steps"), [[0, 1], [1, 2]], "Held.steps cannot be"),
    ("branches", (*IN_MEMORY, "held", 0, "align"), 0, "Held.align cannot be 0"),
    ("branches", (*IN_MEMORY, "held", 0, "element_type"), "X", "Held.element_type cannot be 'X'"),
    ("branches", (*IN_MEMORY, "held", 0, "shape"), [1 << 31] * 2, "Held.shape cannot be"),
    ("branches", (*IN_MEMORY, "steps", 0, "number"), 4, "MemoryStep.number cannot be 4"),
    ("branches", (*IN_MEMORY, "steps", 0, "number"), 0, r"steps\[0\]: MemoryStep.number cannot be"),
    ("branches", (*IN_MEMORY, "steps", 0, "number"), 2, "the numbers of steps must ascend"),
    ("branches", (*IN_MEMORY, "steps", 0, "tile"), 2, "MemoryStep.tile cannot be 2"),
    ("branches", (*IN_MEMORY, "steps", 0, "program"), "x", "MemoryStep.program cannot be 'x'"),
    ("branches", (*VARIABLE, "shape"), [1 << 60], "the bytes of variables is too large"),
    ("branches", ("compilation", "replicas"), 0, "Compilation.replicas cannot be 0"),
    ("branches", ("compilation", "graph", "num_variables"), 4, "must be that of its graph"),
    (
        "branches",
        ("compilation", "programs", "0", 1, 1),
        "x times",
        "like '3 times'; found 'x times'",
    ),
    ("not modelled", ("execution", "cycles"), 1, "in a Execution, there are cycles, but no steps"),
    ("branches", ("order", 0), [3, 1], "Report.order cannot be"),
    ("branches", ("order", 0), [0, 0], "Report.order cannot be"),
    ("branches", ("order", 0), [0, (1 << 27) + 1], "Report.order cannot be"),
    ("branches", ("cut",), [1, 0], "Report.cut cannot be"),
    ("branches", ("cut",), [1 << 20], "Report.cut cannot be"),
    ("branches", (*VARIABLE, "element_type"), "X", "Variable.element_type cannot be 'X'"),
    ("branches", (*VARIABLE, "shape"), [2], "in a Variable, pieces must ascend"),
    ("branches", (*VARIABLE, "first", "values"), [1, 2], "in a Variable, pieces must ascend"),
    ("branches", (*VARIABLE, "first"), None, "in a Variable, pieces must ascend"),
    ("branches", (*VARIABLE, "tiles", "values"), [0, 2], "each on a tile of the target"),
    ("branches", (*VARIABLE, "tiles", "values"), [-2, 0], "has numbers below -1"),
    (
        "branches",
        ("instrumentation", "is_modelled"),
        False,
        "cycles and memory must both be modelled",
    ),
    ("branches", (*FIRST_STEP, "cycles"), -1, "-1 is not a valid number in a report"),
    (
        "branches",
        (*FIRST_STEP, "cycles"),
        1 << 62,
        "sum of ExecutionStep.cycles must be less than 4,611,",
    ),
    ("branches", (*PAIRS, "largest"), [[2, 0, 1]], "TilePairs.largest"),
    (
        "branches",
        (*PAIRS, "block"),
        0,
        "in a TilePairs, there must be a number for each pair of blocks",
    ),
    (
        "branches",
        (*PAIRS, "block"),
        2,
        "in a TilePairs, there must be a number for each pair of blocks",
    ),
    ("branches", ("measured",), [MEASURED], "Measured.program cannot be 'x'"),
    ("branches", ("compilation", "joined"), [JOINED], "JoinedCopies.program_name cannot be 'x'"),
    ("branches", ("compilation", "joined"), [JOINED | {"program_name": "0"}], None),
    ("branches", ("measured",), [MEASURED | {"seconds": float("nan")}], "nan is not a finite"),
    ("branches", ("compilation", "operations"), [OPERATION], "Operation.compute_sets cannot be"),
]


@pytest.mark.parametrize(("name", "path", "value", "message"), REFUSED)
def test_what_cannot_be_looked_up_is_refused(
    name: str, path: Path, value: object, message: str | None
) -> None:
    text = changed(name, path, value)
    if message is None:  # it says nonsense, of which all can be made
        make_all(Report.from_json(text), report_of(name))
        return
    with pytest.raises(pl.FileLoadError, match=message) as caught:
        Report.from_json(text)
    assert caught.value.fix == "save it again: report.save(path)"


def test_every_rule_is_shown() -> None:
    messages = [str(message) for *_, message in REFUSED]
    every = [cls for module in MODULES for cls in vars(module).values()]
    classes = [cls for cls in every if isinstance(cls, type) and is_dataclass(cls)]
    named = {
        f"{cls.__name__}.{each.name}"
        for cls in classes
        for each in fields(cls)
        if "holds" in each.metadata
    }
    said = {
        f"in a {cls.__name__}, {words}" for cls in classes for words, _ in getattr(cls, "RULES", ())
    }
    assert len(named) > 15
    assert len(said) > 5
    assert all(any(name in each for each in messages) for name in named)
    assert all(any(each in words for each in messages) for words in said)


@pytest.mark.parametrize("name", REPORTS)
def test_all_is_made_of_what_is_loaded(name: str) -> None:
    loaded = Report.from_json(report_of(name).to_json())
    assert loaded == report_of(name)
    for make in report_forms(loaded, report_of(name)).values():
        make()


def test_the_largest_numbers_are_read_in_any_order() -> None:
    values = [MOST - 9, MOST - 2, MOST - 5]
    data = {"of": 3, "tiles": [[0, 2]], "values": values}
    of = Reader(ArrayReader({}), (), (), ())
    assert list(PerTileCoder(range(MOST)).decode(data, of)) == values
    with pytest.raises(Malformed, match="numbers above"):
        PerTileCoder(range(MOST - 2)).decode(data, of)


def test_a_branch_before_the_first_step_in_all_replicas_loads() -> None:
    graph = pl.Graph(pl.Target(tiles=4, ipus=2), replication_factor=2)
    x, y = (graph.add_variable(pl.INT, 2, name, mapping=0, initial_value=1) for name in "xy")
    flag = graph.add_variable(pl.BOOL, (), "flag", mapping=0, initial_value=False)
    report = pl.Engine(graph, pl.If(flag, pl.Copy(x, y), pl.Sequence()), interpret=True).report()
    assert Report.from_json(report.to_json()) == report


@examples(400, quick=4)
@given(data=st.data())
@pytest.mark.parametrize("name", REPORTS)
def test_changed_reports_are_refused_or_all_is_made_of_them(name: str, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(places(name)))
    value = data.draw(st.sampled_from(changes(at(name, path))))
    try:
        report = Report.from_json(changed(name, path, value))
    except pl.FileLoadError:
        return
    make_all(report, report_of(name))


# -- peaks of tiles --------------------------------------------------------------------------------


CATEGORIES = ("variable", "constant", "message", "rearrangement", "vertex_code", "stack", "new")


@st.composite
def stretches(draw: st.DrawFn, steps: int) -> tuple[tuple[int, int], ...] | None:
    """Always, or some stretches of steps that do not touch."""
    live = draw(st.none() | st.lists(st.booleans(), min_size=steps, max_size=steps))
    if live is None:
        return None
    edges = np.flatnonzero(np.diff([False, *live, False]))
    return tuple((int(first), int(stop) - 1) for first, stop in edges.reshape(-1, 2))


@st.composite
def memories(draw: st.DrawFn) -> Memory:
    """The memory of a few tiles, with gaps."""
    tiles, steps = draw(st.integers(1, 5)), draw(st.integers(0, 6))
    sizes = st.lists(st.integers(0, 9), min_size=tiles, max_size=tiles)
    held = tuple(
        Held(f"h{k}", PerTile.of(np.array(draw(sizes))), category, draw(stretches(steps)), "")
        for k, category in enumerate(draw(st.lists(st.sampled_from(CATEGORIES), max_size=6)))
    )
    named = tuple(MemoryStep("main", f"s{k}", "", 0, 0, k + 1, (k,)) for k in range(steps))
    beside = [[sum(_live(held, step, tile)) for tile in range(tiles)] for step in range(steps)]
    most = np.array([*beside, [0] * tiles]).max(axis=0)
    always = np.array([sum(h.bytes[t] for h in held if h.steps is None) for t in range(tiles)])
    needed = always + most + np.array(draw(sizes))
    return Memory(PerTile.of(needed), PerTile.of(most), held, named)


def _live(held: tuple[Held, ...], step: int, tile: int) -> list[int]:
    return [each.bytes[tile] for each in held if each.is_in(step)]


@given(memories())
def test_fullest_step_of_each_tile_is_the_first_with_the_most(memory: Memory) -> None:
    peaks = peaks_of(memory)
    for tile in range(len(memory.including_gaps)):
        sizes = [sum(_live(memory.held, step, tile)) for step in range(len(memory.steps))]
        most = max(sizes, default=0)
        assert peaks.step[tile] == (sizes.index(most) if most else NO_STEP)
        assert bytes_by_step(memory, tile).tolist() == sizes


@given(memories())
def test_stacks_hold_what_lies_there_in_the_fullest_step(memory: Memory) -> None:
    peaks = peaks_of(memory)
    kinds = peaks.kinds()
    for tile, step in enumerate(peaks.step.tolist()):
        expected: dict[str, int] = {}
        for held in memory.held:
            if held.steps is None or held.is_in(step):
                kind = thing_kind(held.category)
                expected[kind] = expected.get(kind, 0) + held.bytes[tile]
                assert peaks.bytes_of(held)[tile] == held.bytes[tile]
            else:
                assert peaks.bytes_of(held)[tile] == 0
        expected[GAPS] = memory.including_gaps[tile] - sum(expected.values())
        found = {name: int(sizes[tile]) for name, sizes in kinds.items() if sizes[tile]}
        assert found == {name: size for name, size in expected.items() if size}


def test_kinds_of_a_report_add_up_to_what_tiles_need() -> None:
    import poplite as pl

    graph = pl.Graph(pl.Target(tiles=4))
    a, b = (graph.add_variable(pl.FLOAT, (400,), name, mapping=t) for t, name in enumerate("ab"))
    engine = pl.Engine(graph, pl.Sequence(pl.Copy(a, b), pl.Copy(b[:10], a[5:15])))
    memory = engine.report().compilation.memory
    total = np.sum([*peaks_of(memory).kinds().values()], axis=0)
    assert total.tolist() == memory.including_gaps.array().tolist()
    assert {"variables", "code", "stacks"} <= peaks_of(memory).kinds().keys()
