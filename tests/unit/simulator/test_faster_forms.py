"""Which engines run faster forms, and what remains that of `compute`.

Some forms here break their promise on purpose: the result says which of the two ran.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest

import poplite as pl
from poplite.compile.options import ENVIRONMENT, Faster
from poplite.simulator.codegen.compute_code import Variant
from poplite.simulator.compiled_parts import Driver
from poplite.simulator.engine import Engine
from poplite.vertex.compute.meaning import faster_form

Checks = Literal["strict", "fast", "none"]

DEFINED, FASTER = 1.0, 2.0


class Broken(pl.Vertex):
    """Says which form ran: 1 by the definition, 2 by the other."""

    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = DEFINED

    @pl.faster(bits="equal")
    def other(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = FASTER


class Rough(pl.Vertex):
    """A form within 1 percent."""

    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = DEFINED

    @pl.faster(rtol=0.01)
    def other(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = 1.0078125


class Rougher(Rough):
    """A form that is further away than it says."""

    @pl.faster(rtol=0.001)
    def other(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = 1.0078125


class Powers(pl.Vertex):
    """A form that reads what it wrote."""

    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        power = 1.0
        for i in range(len(self.y)):
            self.y[i] = power
            power = 2.0 * power

    @pl.faster(bits="equal")
    def by_twos(self) -> None:
        self.y[0] = 1.0
        for i in range(1, len(self.y)):
            self.y[i] = 2.0 * self.y[i - 1]


class Doubled(pl.Vertex):
    """A form that keeps its promise."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = 2.0 * self.x[i]

    @pl.faster(bits="equal")
    def added(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = self.x[i] + self.x[i]


ONE_TO_SEVEN = np.arange(1.0, 8.0)


def engine_of(
    vertex: type[pl.Vertex],
    initial: npt.NDArray[np.float64] = ONE_TO_SEVEN,
    *,
    times: int = 1,
    **arguments: Any,
) -> Engine:
    """Return an engine with two vertices of a class, on fields of 3 and 4 elements of 'v'."""
    graph, values = program_of(vertex, initial)
    return pl.Engine(graph, pl.Repeat(times, values), **arguments)


def program_of(
    vertex: type[pl.Vertex], initial: npt.NDArray[np.float64] = ONE_TO_SEVEN
) -> tuple[pl.Graph, pl.Program]:
    """Return a graph and its program; 'v' is read by the handle 'v'."""
    graph = pl.Graph(pl.Target(tiles=2))
    work = graph.add_compute_set("work")
    v = graph.add_variable(pl.FLOAT, (7,), "v", mapping=1, initial_value=initial)
    graph.create_host_read("v", v)
    (field,) = (each.name for each in vertex.fields.values() if each.is_edge)
    for part in (v[:3], v[3:]):
        graph.add_vertex(work, vertex, tile=1, **{field: part})
    return graph, pl.Execute(work)


def result_of(vertex: type[pl.Vertex], **arguments: Any) -> set[float]:
    """Return the values that a run leaves."""
    engine = engine_of(vertex, **arguments)
    engine.run()
    return set(engine.read("v").tolist())


# -- which form runs -------------------------------------------------------------------------------


@pytest.mark.parametrize("checks", ["fast", "none"])
def test_forms_of_equal_bits_run_by_default(checks: Checks) -> None:
    assert result_of(Broken, checks=checks) == {FASTER}
    assert result_of(Broken, checks=checks, faster="tolerant") == {FASTER}
    assert result_of(Broken, checks=checks, faster=False) == {DEFINED}


def test_forms_of_other_bits_run_where_they_are_asked_for() -> None:
    found = [result_of(Rough, checks="fast", faster=each) for each in (True, False, "tolerant")]
    assert found == [{DEFINED}, {DEFINED}, {1.0078125}]


def test_interpreted_vertices_run_compute() -> None:
    assert result_of(Broken, checks="fast", interpret=True) == {DEFINED}
    assert result_of(Broken, checks="fast", interpret=[Broken]) == {DEFINED}
    assert result_of(Broken, checks="strict", interpret=True) == {DEFINED}
    assert result_of(Broken, checks="strict", interpret=[Broken], times=2) == {DEFINED}


def test_the_option_is_one_of_the_environment() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENVIRONMENT, '{"faster": false}')
        assert result_of(Broken, checks="fast", faster=True) == {DEFINED}
        patch.setenv(ENVIRONMENT, '{"faster": "tolerant"}')
        assert result_of(Rough, checks="fast") == {1.0078125}
        patch.setenv(ENVIRONMENT, '{"faster": "no"}')
        with pytest.raises(
            pl.InvalidOption,
            match="option 'faster' must be true, false or \"tolerant\"; found 'no'",
        ):
            engine_of(Rough)


@pytest.mark.parametrize("value", ["yes", 2, 0.5, [Broken], np.zeros(2)], ids=str)
def test_another_value_is_refused_with_the_choices(value: Any) -> None:
    with pytest.raises(pl.InvalidOption, match='faster must be true, false or "tolerant"; found '):
        engine_of(Broken, faster=value)


def test_an_engine_that_grows_keeps_the_option() -> None:
    graph, program = program_of(Broken)
    engine = pl.Engine(graph, pl.Sequence(), checks="fast", faster=False)
    engine.add_program(program, "more")
    engine.run("more")
    assert set(engine.read("v").tolist()) == {DEFINED}


def test_an_executable_from_a_file_runs_them_as_well(tmp_path: Path) -> None:
    engine_of(Broken, checks="fast").executable.save(tmp_path / "broken.poplite")
    loaded = pl.Executable.load(tmp_path / "broken.poplite", vertices=[Broken])
    found = []
    choices: tuple[Faster, ...] = (True, False)
    for faster in choices:
        engine = pl.Engine(loaded, faster=faster)
        engine.run()
        found.append(set(engine.read("v").tolist()))
    assert found == [{FASTER}, {DEFINED}]


def test_where_arithmetic_may_stop_a_vertex_compute_runs() -> None:
    options = {"debug.floatPointOpException": True}
    assert result_of(Broken, checks="fast", options=options) == {DEFINED}


def test_repr_and_report_name_the_forms_that_ran() -> None:
    engine = engine_of(Doubled, checks="fast")
    engine.run()
    assert repr(engine) == (
        "<Engine 1 program on 2 tiles, compiled with faster forms Doubled.added, fast checks>"
    )
    report = engine.report()
    assert report.instrumentation.faster == ("Doubled.added",)
    assert "fast, compiled, with faster forms Doubled.added" in str(report)
    assert pl.Report.from_json(report.to_json()) == report
    plain = engine_of(Doubled, checks="fast", faster=False)
    assert "faster" not in repr(plain)
    assert plain.report().instrumentation.faster == ()


# -- cycles and counts are those of compute --------------------------------------------------------


class Long(pl.Vertex):
    """A form of many more instructions."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = 2.0 * self.x[i]

    @pl.faster(bits="equal")
    def longer(self) -> None:
        for i in range(len(self.x)):
            value = self.x[i]
            for _ in range(50):
                value = value + 1.0 - 1.0
            self.x[i] = 2.0 * self.x[i] + 0.0 * value


@pytest.mark.parametrize("checks", ["strict", "fast", "none"])
def test_cycles_are_those_of_compute(checks: Checks) -> None:
    cycles = []
    choices: tuple[Faster, ...] = (True, False)
    for faster in choices:
        engine = engine_of(Long, checks=checks, faster=faster)
        engine.run()
        cycles.append(engine.report().cycles)
    assert cycles[0] == cycles[1]


class Counted(pl.Vertex):
    """Takes as long as data say; the form breaks its promise."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            while self.x[i] > 1.0:
                self.x[i] = self.x[i] * 0.5

    @pl.faster(bits="equal")
    def other(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = FASTER


def test_vertices_that_are_counted_run_compute() -> None:
    engine = engine_of(Counted, checks="fast")
    engine.run()
    assert engine.read("v").max() <= 1.0
    assert engine.report().instrumentation.faster == ()
    assert engine.report().cycles == _cycles(engine_of(Counted, checks="fast", faster=False))
    uncounted = {"debug.instrument": False}
    assert result_of(Counted, checks="fast", options=uncounted) == {FASTER}


class Search(pl.Vertex):
    """Takes as long as data say, and returns something, so that a driver of its own counts."""

    x: pl.Input[pl.Vector[pl.FLOAT]]

    def compute(self) -> bool:
        for i in range(len(self.x)):
            if self.x[i] > 3.0:
                return True
        return len(self.x) > 1000

    @pl.faster(bits="equal")
    def all_elements(self) -> bool:
        found = 0.0
        for i in range(len(self.x)):
            found = max(found, self.x[i])
        return found > 3.0 or len(self.x) > 1000


def test_vertices_that_are_counted_beside_their_run_take_what_compute_takes() -> None:
    engines = [engine_of(Search, checks="fast", faster=each) for each in (True, False)]
    cycles = [_cycles(each) for each in engines]
    assert cycles[0] == cycles[1]
    assert engines[0].report().instrumentation.faster == ("Search.all_elements",)


def _cycles(engine: Engine) -> int | None:
    engine.run()
    return engine.report().cycles


class Rounds(pl.Vertex):
    """Takes as long as data say, with a form that keeps its promise."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            while self.x[i] > 1.0:
                self.x[i] = self.x[i] - 1.0

    @pl.faster(bits="equal")
    def local(self) -> None:
        for i in range(len(self.x)):
            value = self.x[i]
            while value > 1.0:
                value = value - 1.0
            self.x[i] = value


def test_strict_checks_count_by_compute_beside_the_form() -> None:
    engines = [engine_of(Rounds, checks="strict", times=3, faster=each) for each in (True, False)]
    assert [_cycles(each) for each in engines] == [_cycles(engine_of(Rounds, times=3))] * 2
    assert engines[0].report().instrumentation.faster == ("Rounds.local",)


# -- strict checks ---------------------------------------------------------------------------------


def test_strict_checks_find_a_form_of_other_results() -> None:
    engine = engine_of(Broken, checks="strict")
    with pytest.raises(pl.VertexDefinitionError) as caught:
        engine.run()
    error = caught.value
    assert re.search(r"'Broken\.y'\[0\] is 1\.0 in compute, but 2\.0 in the faster", error.what)
    assert "Broken.other" in error.what
    assert "the element is 'v'[0]; 6 more elements of that field differ" in error.found
    assert "check_faster(Broken)" in error.fix
    assert "faster=False" in error.fix
    assert error.at is not None
    assert error.at.line == Broken.other.__code__.co_firstlineno
    assert engine.read("v").tolist() == [1, 2, 3, 4, 5, 6, 7]  # memory is as it was


def test_strict_checks_look_at_forms_within_their_tolerance() -> None:
    assert result_of(Rough, checks="strict", faster="tolerant") == {DEFINED}
    with pytest.raises(pl.VertexDefinitionError, match=r"1\.0078125 in the faster form Rougher"):
        result_of(Rougher, checks="strict", faster="tolerant")
    assert result_of(Rougher, checks="strict") == {DEFINED}


def test_forms_run_once_strict_checks_are_done() -> None:
    found = result_of(Rough, checks="strict", faster="tolerant", times=2)
    assert found == {1.0078125}
    engine = engine_of(Doubled, checks="strict", times=4)
    engine.run()
    assert engine.read("v").tolist() == [16, 32, 48, 64, 80, 96, 112]


class Library(pl.MultiVertex):
    """A class of the library's, as engines see it; its form says that it ran."""

    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self, worker: int) -> None:
        for i in range(worker, len(self.y), self.num_workers):
            self.y[i] = DEFINED

    @pl.faster(bits="equal")
    def other(self, worker: int) -> None:
        for i in range(worker, len(self.y), self.num_workers):
            self.y[i] = FASTER


Library.__module__ = "poplite.vertices.drawn"


def test_forms_of_the_librarys_multi_vertices_run_once_strict_checks_are_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("poplite.simulator.strict.checks.MOST_LOOKS", 2)
    engine, found = engine_of(Library, checks="strict"), []
    for _ in range(4):
        engine.run()
        found.append((set(engine.read("v")), "Library.other" in repr(engine)))
    assert found == [({DEFINED}, False), ({DEFINED}, True), ({FASTER}, True), ({FASTER}, True)]
    assert engine.report().instrumentation.faster == ("Library.other",)


def test_forms_of_the_librarys_run_at_once_without_strict_checks() -> None:
    assert result_of(Library, checks="fast") == {FASTER}


class Sign(pl.Vertex):
    """A form that loses the sign of zero, and keeps another NaN."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = -self.x[i]

    @pl.faster(bits="equal")
    def subtracted(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = 0.0 - self.x[i]


def test_zeros_of_other_signs_differ_and_nans_do_not() -> None:
    for values, is_equal in (
        ([1, np.nan, np.inf, 2, 3, 4, 5], True),
        ([1, 0, 2, 3, 4, 5, 6], False),
    ):
        engine = engine_of(Sign, np.array(values), checks="strict")
        if is_equal:
            engine.run()
        else:
            with pytest.raises(pl.VertexDefinitionError, match=r"\[1\] is -0\.0 in compute, but 0"):
                engine.run()


class Positive(pl.Vertex):
    """Returns whether all elements are positive."""

    x: pl.Input[pl.Vector[pl.FLOAT]]

    def compute(self) -> bool:
        found = len(self.x) > 0
        for i in range(len(self.x)):
            found = found and self.x[i] > 0.0
        return found

    @pl.faster(bits="equal")
    def until(self) -> bool:
        for i in range(len(self.x)):
            if self.x[i] <= 0.0:
                return False
        return len(self.x) > 0


class Never(Positive):
    @pl.faster(bits="equal")
    def until(self) -> bool:
        return False


def returned_by(vertex: type[pl.Vertex], values: list[float], **arguments: Any) -> list[bool]:
    """Return what two executions of one vertex return."""
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.FLOAT, (len(values),), "x", mapping=0, initial_value=values)
    results = [graph.add_variable(pl.BOOL, (), f"r{n}", mapping=0) for n in range(2)]
    work = graph.add_compute_set("work")
    graph.add_vertex(work, vertex, tile=0, x=x)
    engine = pl.Engine(graph, pl.Sequence(*(pl.Execute(work, r) for r in results)), **arguments)
    engine.run()
    return [bool(engine.read(each)) for each in results]


@pytest.mark.parametrize("checks", ["strict", "fast"])
def test_what_a_form_returns_is_the_result(checks: Checks) -> None:
    options = {"debug.instrument": False}
    assert returned_by(Positive, [1, 2], checks=checks, options=options) == [True, True]
    assert returned_by(Positive, [1, -2], checks=checks, options=options) == [False, False]
    if checks == "fast":
        assert returned_by(Never, [1, 2], checks=checks, options=options) == [False, False]
    else:
        with pytest.raises(pl.VertexDefinitionError, match="compute returns a different value"):
            returned_by(Never, [1, 2], checks=checks, options=options)


class Doubling(pl.Vertex):
    """A form that adds to an Output, which is right once, in memory of zeros."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = 2.0 * self.x[i]

    @pl.faster(bits="equal")
    def added(self) -> None:
        for i in range(len(self.y)):
            self.y[i] += self.x[i] + self.x[i]


class LeavesOne(pl.Vertex):
    """A form that writes an element which `compute` leaves alone."""

    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        self.y[0] = 1.0

    @pl.faster(bits="equal")
    def both(self) -> None:
        self.y[0] = 1.0
        self.y[1] = 0.0


class WritesOne(LeavesOne):
    """A form that leaves an element alone which `compute` writes."""

    def compute(self) -> None:
        self.y[0] = 1.0
        self.y[1] = 0.0

    @pl.faster(bits="equal")
    def first(self) -> None:
        self.y[0] = 1.0


def outputs_of(vertex: type[pl.Vertex], initial: float | None, **arguments: Any) -> list[float]:
    """Return what two executions leave in the Output of one vertex, of four elements."""
    graph = pl.Graph(pl.Target(tiles=1))
    y = graph.add_variable(pl.FLOAT, (4,), "y", mapping=0, initial_value=initial)
    fields = {"y": y}
    if "x" in vertex.fields:
        fields["x"] = graph.add_constant(pl.FLOAT, (4,), [1, 2, 3, 4], mapping=0)
    work = graph.add_compute_set("work")
    graph.add_vertex(work, vertex, tile=0, **fields)
    engine = pl.Engine(graph, pl.Repeat(2, pl.Execute(work)), **arguments)
    engine.run()
    found: list[float] = engine.read(y).tolist()
    return found


@pytest.mark.parametrize("initial", [None, 0.0])
@pytest.mark.parametrize(
    ("vertex", "at", "defined", "faster"),
    [
        (Doubling, 0, "2.0", "-1.25"),
        (LeavesOne, 1, "-3.25", "0.0"),
        (WritesOne, 1, "0.0", "-3.25"),
    ],
)
def test_forms_that_depend_on_what_outputs_held_are_found(
    vertex: type[pl.Vertex], at: int, defined: str, faster: str, initial: float | None
) -> None:
    with pytest.raises(pl.VertexDefinitionError) as caught:
        outputs_of(vertex, initial)
    name = vertex.__name__
    assert f"'{name}.y'[{at}] is {defined} in compute, but {faster} in the" in caught.value.what
    assert "its previous value was -3.25 in both forms" in caught.value.found


def test_forms_may_read_what_they_wrote_to_outputs() -> None:
    assert outputs_of(Powers, None) == [1, 2, 4, 8]


class OnlyFormStops(pl.Vertex):
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = 1.0

    @pl.faster(bits="equal")
    def by_three(self) -> None:
        for i in range(3):
            self.y[i] = 1.0


def test_of_several_forms_the_one_that_stops_is_named() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    work = graph.add_compute_set("work")
    for n, vertex in enumerate((Powers, OnlyFormStops)):
        y = graph.add_variable(pl.FLOAT, (2,), f"y{n}", mapping=0)
        graph.add_vertex(work, vertex, tile=0, y=y)
    with pytest.raises(pl.VertexDefinitionError, match="form OnlyFormStops.by_three") as caught:
        pl.Engine(graph, pl.Execute(work)).run()
    assert caught.value.at is not None
    assert caught.value.at.line == OnlyFormStops.by_three.__code__.co_firstlineno
    assert caught.value.fix.startswith("poplite.testing.check_faster(OnlyFormStops) finds")


class NeverPositive(Positive):
    @pl.faster(bits="equal")
    def never(self) -> bool:
        return len(self.x) < 0


def test_of_several_forms_any_may_return_another_value() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    work, x = graph.add_compute_set("work"), graph.add_constant(pl.FLOAT, (2,), 1, mapping=0)
    result = graph.add_variable(pl.BOOL, (), "result", mapping=0)
    for vertex in (Positive, NeverPositive):
        graph.add_vertex(work, vertex, tile=0, x=x)
    what = "in one of the faster forms Positive.until, NeverPositive.never only: compute returns"
    with pytest.raises(pl.VertexDefinitionError, match=what):
        pl.Engine(graph, pl.Execute(work, result), options={"debug.instrument": False}).run()


# -- workers ---------------------------------------------------------------------------------------


class Shares(pl.MultiVertex):
    """Each worker has its own elements; in the form they are side by side."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self, worker: int) -> None:
        for i in range(worker, len(self.x), self.num_workers):
            self.x[i] = 2.0 * self.x[i]

    @pl.faster(bits="equal")
    def all_at_once(self, worker: int) -> None:
        if worker == 0:
            for i in range(len(self.x)):
                self.x[i] = 2.0 * self.x[i]


class Racing(pl.MultiVertex):
    """Workers race in the definition, and not in the form."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self, worker: int) -> None:
        self.x[0] = float(worker)

    @pl.faster(bits="equal")
    def last(self, worker: int) -> None:
        if worker == self.num_workers - 1:
            self.x[0] = float(worker)


@pytest.mark.parametrize("checks", ["strict", "fast"])
def test_forms_of_multi_vertices_run(checks: Checks) -> None:
    engine = engine_of(Shares, checks=checks, times=2)
    engine.run()
    assert engine.read("v").tolist() == [4, 8, 12, 16, 20, 24, 28]
    assert engine.report().instrumentation.faster == ("Shares.all_at_once",)


def test_races_are_those_of_compute() -> None:
    with pytest.raises(pl.WorkerRaceError):
        engine_of(Racing, checks="strict").run()


# -- faults ----------------------------------------------------------------------------------------


class Beyond(pl.Vertex):
    """Both forms index outside, in other lines and at other indices."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x) + 1):
            self.x[i] = 2.0 * self.x[i]

    @pl.faster(bits="equal")
    def backwards(self) -> None:
        for i in range(len(self.x) + 1):
            self.x[len(self.x) - i] = 2.0


class BeyondAlone(pl.Vertex):
    """Only the form indexes outside, and only of three elements."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = self.x[i]

    @pl.faster(bits="equal")
    def by_four(self) -> None:
        for i in range(4):
            self.x[i] = self.x[i]


class Below(pl.Vertex):
    """Raises an exception of the user's."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            if self.x[i] > 5.0:
                raise ValueError("above 5")
            self.x[i] = 2.0 * self.x[i]

    @pl.faster(bits="equal")
    def at_first(self) -> None:
        for i in range(len(self.x)):
            assert self.x[i] <= 5.0
        for i in range(len(self.x)):
            self.x[i] = self.x[i] + self.x[i]


class Alone(Below):
    """Raises in the form alone."""

    @pl.faster(bits="equal")
    def at_first(self) -> None:
        assert self.x[0] < 0.0


def test_an_index_outside_is_reported_as_that_of_compute() -> None:
    with pytest.raises(pl.TensorIndexError, match=r"'Beyond\.x': index 3 of 3") as caught:
        engine_of(Beyond, checks="strict").run()
    assert caught.value.at is not None
    assert caught.value.at.line == Beyond.compute.__code__.co_firstlineno + 2
    with pytest.raises(pl.TensorIndexError, match=r"'Beyond\.x': index 3 of 3") as caught:
        engine_of(Beyond, checks="fast").run()
    assert "its faster form Beyond.backwards ran" in caught.value.found


def test_an_index_outside_of_the_form_alone_names_it() -> None:
    with pytest.raises(pl.VertexDefinitionError, match=r"form BeyondAlone\.by_four only") as caught:
        engine_of(BeyondAlone, checks="strict").run()
    assert "index 3 of 3" in caught.value.what
    with pytest.raises(pl.TensorIndexError, match="index 3 of 3") as index:
        engine_of(BeyondAlone, checks="fast").run()
    assert "its faster form BeyondAlone.by_four ran" in index.value.found


class Follow(pl.Vertex):
    """Takes as long as data say, and may index outside; the form stays inside."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        i = 0
        while self.x[i] > 0.0:
            i += 1

    @pl.faster(bits="equal")
    def nothing(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = self.x[i]


def test_an_index_outside_is_found_where_compute_runs_beside_forms() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    v = graph.add_variable(pl.FLOAT, (4,), "v", mapping=0, initial_value=1)
    estimated, counted = (graph.add_compute_set(name) for name in ("estimated", "counted"))
    graph.set_perf_estimate(graph.add_vertex(estimated, Follow, tile=0, x=v), 10)
    graph.add_vertex(counted, Follow, tile=0, x=v)
    program = pl.Sequence(pl.Execute(estimated), pl.Execute(counted))
    engine = pl.Engine(graph, program, checks="fast")
    assert engine.report().instrumentation.faster == ("Follow.nothing",)
    with pytest.raises(pl.TensorIndexError, match="index 4 of 4") as caught:
        engine.run()
    assert "Execute 'counted'" in str(caught.value)
    assert "faster form" not in str(caught.value)


def test_what_compute_raises_is_raised_where_the_form_stops() -> None:
    options = {"debug.instrument": False}
    engine = engine_of(Below, checks="fast", options=options)
    with pytest.raises(ValueError, match="above 5") as caught:
        engine.run()
    error: Any = caught.value
    assert error.at.line == Below.compute.__code__.co_firstlineno + 3
    assert engine.read("v").tolist() == [1, 2, 3, 4, 5, 6, 7]


def test_what_the_form_alone_raises_names_it() -> None:
    options = {"debug.instrument": False}
    with pytest.raises(pl.ApplicationRuntimeError, match="raised an exception") as caught:
        engine_of(Alone, checks="fast", options=options).run()
    assert "its faster form Alone.at_first ran" in caught.value.found
    assert "poplite.testing.check_faster(Alone)" in caught.value.fix


# -- code ------------------------------------------------------------------------------------------


def driver_name(cls: type[pl.Vertex], *, is_faster: bool) -> str:
    """Return the name of a driver's code."""
    form = faster_form(cls)
    assert form is not None
    return Driver(cls, (), Variant(), form if is_faster else None).name


def test_editing_either_form_compiles_the_form_anew() -> None:
    class Definition(Doubled):
        def compute(self) -> None:
            for i in range(len(self.x)):
                self.x[i] = self.x[i] * 2.0

        @pl.faster(bits="equal")
        def added(self) -> None:
            for i in range(len(self.x)):
                self.x[i] = self.x[i] + self.x[i]

    class Form(pl.Vertex):
        x: pl.InOut[pl.Vector[pl.FLOAT]]

        def compute(self) -> None:
            for i in range(len(self.x)):
                self.x[i] = 2.0 * self.x[i]

        @pl.faster(bits="equal")
        def added(self) -> None:
            for i in range(len(self.x)):
                self.x[i] = self.x[i] / 0.5

    classes = (Doubled, Definition, Form)
    assert len({driver_name(cls, is_faster=True) for cls in classes}) == 3
    assert len({driver_name(cls, is_faster=False) for cls in classes}) == 2


@pytest.mark.parametrize("checks", ["strict", "fast"])
def test_a_form_may_read_the_outputs_it_wrote(checks: Checks) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    y = graph.add_variable(pl.FLOAT, (5,), "y", mapping=0)
    powers = graph.add_compute_set("powers")
    graph.add_vertex(powers, Powers, tile=0, y=y)
    engine = pl.Engine(graph, pl.Execute(powers), checks=checks)
    assert "Powers.by_twos" in str(engine)
    engine.run()
    assert engine.read(y).tolist() == [1, 2, 4, 8, 16]
