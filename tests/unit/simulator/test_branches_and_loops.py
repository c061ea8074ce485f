"""Branches, loops, functions on the engine; indices in loops whose turns data decide."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep
from helpers.running import both_forms


class Add(pl.Vertex):
    by: pl.State[pl.INT]
    n: pl.InOut[pl.INT]

    def compute(self) -> None:
        self.n += self.by


class Append(pl.Vertex):
    """Writes a number behind those already in `log`."""

    number: pl.State[pl.INT]
    size: pl.InOut[pl.INT]
    log: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        self.log[self.size] = self.number
        self.size += 1


class Below(pl.Vertex):
    limit: pl.State[pl.INT]
    n: pl.Input[pl.INT]
    yes: pl.Output[pl.BOOL]

    def compute(self) -> None:
        self.yes = self.n < self.limit


class Bench:
    """A graph with a log that programs write numbers to, so that a test sees what ran."""

    def __init__(self) -> None:
        self.graph = pl.Graph(pl.Target(tiles=4))
        self.size = self.graph.add_variable(pl.INT, (), "size", mapping=0, initial_value=0)
        self.log = self.graph.add_variable(pl.INT, (40,), "log", mapping=0, initial_value=0)

    def step(self, number: int) -> pl.Execute:
        """A step that logs a number."""
        cs = self.graph.add_compute_set(f"log {number}")
        self.graph.add_vertex(cs, Append, tile=0, number=number, size=self.size, log=self.log)
        return pl.Execute(cs)

    def scalar(self, element: type[pl.ElementType[int]] = pl.INT, value: int = 0) -> pl.Tensor:
        start = np.array(value, element.dtype)
        return self.graph.add_variable(element, (), "x", mapping=1, initial_value=start)

    def add(self, n: pl.Tensor, by: int) -> pl.Execute:
        cs = self.graph.add_compute_set("add")
        self.graph.add_vertex(cs, Add, tile=1, by=by, n=n)
        return pl.Execute(cs)

    def below(self, n: pl.Tensor, limit: int, yes: pl.Tensor) -> pl.Execute:
        cs = self.graph.add_compute_set("below")
        self.graph.add_vertex(cs, Below, tile=1, limit=limit, n=n, yes=yes)
        return pl.Execute(cs)

    def logged(self, engine: pl.Engine) -> list[int]:
        """What the runs so far logged; the log is empty afterwards."""
        numbers: list[int] = engine.read(self.log)[: engine.read(self.size)].tolist()
        engine.write(self.size, 0)
        return numbers


@pytest.fixture
def bench() -> Bench:
    return Bench()


@both_forms
@pytest.mark.parametrize("element", [pl.BOOL, pl.INT, pl.UNSIGNED_INT])
def test_if_runs_one_of_its_bodies(
    bench: Bench, interpret: bool, element: type[pl.ElementType[int]]
) -> None:
    x = bench.scalar(element)
    program = pl.Sequence(bench.step(1), pl.If(x, bench.step(2), bench.step(3)), bench.step(4))
    engine = pl.Engine(bench.graph, program, interpret=interpret)
    engine.run()
    assert bench.logged(engine) == [1, 3, 4]
    for value in {pl.BOOL: [1], pl.INT: [1, -1, 256, -(2**31)]}.get(element, [1, 256, 2**31]):
        engine.write(x, np.array(value, element.dtype))
        engine.run()
        assert bench.logged(engine) == [1, 2, 4]


@both_forms
def test_if_with_one_empty_body(bench: Bench, interpret: bool) -> None:
    x, y = bench.scalar(), bench.scalar()
    nothing = pl.Sequence()
    program = pl.Sequence(
        pl.If(x, nothing, bench.step(1)),
        pl.If(y, bench.step(2), nothing),
        pl.If(x, nothing, nothing),
    )
    engine = pl.Engine(bench.graph, program, interpret=interpret)
    for values, numbers in {(0, 0): [1], (1, 0): [], (0, 1): [1, 2], (1, 1): [2]}.items():
        engine.write(x, values[0])
        engine.write(y, values[1])
        engine.run()
        assert bench.logged(engine) == numbers


@both_forms
def test_a_predicate_is_any_one_element(bench: Bench, interpret: bool) -> None:
    flags = bench.graph.add_variable(pl.BOOL, (3, 2), "flags", mapping="linear")
    program = pl.If(flags[1:2, 1:].T, bench.step(1), bench.step(2))
    engine = pl.Engine(bench.graph, program, interpret=interpret)
    for place in np.ndindex(3, 2):
        values = np.zeros((3, 2), bool)
        values[place] = True
        engine.write(flags, values)
        engine.run()
        assert bench.logged(engine) == [1 if place == (1, 1) else 2]


@both_forms
@pytest.mark.parametrize("limit", [0, 1, 5])
@pytest.mark.parametrize("until", [False, True], ids=["while_true", "while_false"])
def test_while_tests_before_each_iteration(
    bench: Bench, interpret: bool, limit: int, until: bool
) -> None:
    n, yes = bench.scalar(), bench.scalar(pl.BOOL)
    condition = pl.Sequence(bench.step(0), bench.below(n, limit, yes))
    body = pl.Sequence(bench.add(n, 1), bench.step(1))
    loop: pl.Program = pl.RepeatWhileTrue(condition, yes, body)
    if until:

        class AtLeast(pl.Vertex):
            limit: pl.State[pl.INT]
            n: pl.Input[pl.INT]
            done: pl.Output[pl.BOOL]

            def compute(self) -> None:
                self.done = not self.n < self.limit

        cs = bench.graph.add_compute_set("at least")
        bench.graph.add_vertex(cs, AtLeast, tile=1, limit=limit, n=n, done=yes)
        loop = pl.RepeatWhileFalse(pl.Sequence(bench.step(0), pl.Execute(cs)), yes, body)
    engine = pl.Engine(bench.graph, pl.Sequence(loop, bench.step(9)), interpret=interpret)
    engine.run()
    assert bench.logged(engine) == [0, *([1, 0] * limit), 9]
    assert engine.read(n) == limit
    engine.run()  # the predicate is made anew
    assert bench.logged(engine) == [0, 9]


@both_forms
def test_loops_nest(bench: Bench, interpret: bool) -> None:
    """Counts n down from 3, and for each runs an inner loop of as many iterations."""
    n, k = bench.scalar(value=3), bench.scalar()
    inner = pl.RepeatWhileTrue(pl.Sequence(), k, pl.Sequence(bench.add(k, -1), bench.step(1)))
    body = pl.Sequence(pl.Copy(n, k), inner, pl.Repeat(2, bench.step(2)), bench.add(n, -1))
    program = pl.RepeatWhileTrue(pl.Sequence(), n, body)
    engine = pl.Engine(bench.graph, program, interpret=interpret)
    engine.run()
    assert bench.logged(engine) == [1, 1, 1, 2, 2, 1, 1, 2, 2, 1, 2, 2]


@both_forms
@pytest.mark.parametrize("element", [pl.INT, pl.UNSIGNED_INT])
def test_switch_runs_the_case_of_its_control(
    bench: Bench, interpret: bool, element: type[pl.ElementType[int]]
) -> None:
    x = bench.scalar(element)
    large = 2**32 - 1 if element is pl.UNSIGNED_INT else -1
    switch = pl.Switch(x, {7: bench.step(7), 0: bench.step(0)}, default=bench.step(30))
    switch.add(large, bench.step(20)).add(2**31 - 1, bench.step(21)).add(3, pl.Sequence())
    program = pl.Sequence(switch, bench.step(9))
    engine = pl.Engine(bench.graph, program, interpret=interpret)
    expected = {0: [0, 9], 7: [7, 9], 1: [30, 9], 6: [30, 9], 8: [30, 9], 3: [9], 4: [30, 9]}
    for value, numbers in {**expected, large: [20, 9], 2**31 - 1: [21, 9]}.items():
        engine.write(x, np.array(value, element.dtype))
        engine.run()
        assert bench.logged(engine) == numbers


@both_forms
def test_switch_of_many_cases(bench: Bench, interpret: bool) -> None:
    x = bench.scalar()
    cases = [(value, bench.step(value)) for value in range(-40, 41, 5)]
    engine = pl.Engine(bench.graph, pl.Switch(x, cases), interpret=interpret)
    for value in range(-50, 50):
        engine.write(x, value)
        engine.run()
        found = value % 5 == 0 and -40 <= value <= 40
        assert bench.logged(engine) == ([value] if found else [])


@both_forms
@pytest.mark.parametrize(
    ("make", "found"),
    [
        (pl.Switch.with_bounds_checking, "cases: 1, 2"),
        (pl.Switch.with_unreachable_default, "cases: 1, 2; its default was declared unreach"),
    ],
)
def test_switch_without_default_stops_the_run(
    bench: Bench, interpret: bool, make: Callable[..., pl.Switch], found: str
) -> None:
    x = bench.scalar(value=5)
    switch = make(x, {1: bench.step(1)}).add(2, bench.step(2))
    program = pl.Sequence(bench.step(0), switch, bench.step(9))
    engine = pl.Engine(bench.graph, program, interpret=interpret)
    with pytest.raises(
        pl.ApplicationRuntimeError, match="^Switch 'x': there is no case for 5 "
    ) as caught:
        engine.run()
    assert found in caught.value.found
    assert caught.value.at == switch.location
    assert bench.logged(engine) == [0]
    engine.write(x, 2)  # the engine works on
    engine.run()
    assert bench.logged(engine) == [0, 2, 9]


@both_forms
def test_functions_run_where_they_are_called(bench: Bench, interpret: bool) -> None:
    inner = bench.graph.add_function(pl.Sequence(bench.step(1), bench.step(2)), "inner")
    outer = bench.graph.add_function(pl.Repeat(2, pl.Call(inner)), "outer")
    program = pl.Sequence(
        pl.Call(inner), bench.step(3), pl.Repeat(2, pl.Call(outer)), pl.Call(inner)
    )
    engine = pl.Engine(bench.graph, [program, pl.Call(outer)], interpret=interpret)
    engine.run()
    assert bench.logged(engine) == [1, 2, 3, *[1, 2] * 4, 1, 2]
    engine.run(1)
    assert bench.logged(engine) == [1, 2, 1, 2]


@both_forms
def test_a_function_may_be_left_from_inside_a_loop_of_its_own(
    bench: Bench, interpret: bool
) -> None:
    n = bench.scalar()
    count_down = pl.RepeatWhileTrue(pl.Sequence(), n, bench.add(n, -1))
    function = bench.graph.add_function(pl.Sequence(bench.add(n, 3), count_down))
    program = pl.Repeat(5, pl.Sequence(pl.Call(function), bench.step(1)))
    engine = pl.Engine(bench.graph, program, interpret=interpret)
    engine.run()
    assert bench.logged(engine) == [1] * 5
    assert engine.read(n) == 0


@deep
@both_forms
def test_a_long_chain_of_functions(bench: Bench, interpret: bool) -> None:
    function = bench.graph.add_function(bench.step(1))
    for _ in range(3000):
        function = bench.graph.add_function(pl.Sequence(pl.Call(function)))
    engine = pl.Engine(bench.graph, pl.Call(function), interpret=interpret)
    engine.run()
    assert bench.logged(engine) == [1]


class Reach(pl.Vertex):
    at: pl.Input[pl.INT]
    x: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        self.x[self.at] = 1


@both_forms
def test_a_fault_in_a_function_names_the_step_of_that_call(bench: Bench, interpret: bool) -> None:
    at = bench.scalar()
    x = bench.graph.add_variable(pl.INT, (3,), "v", mapping=0)
    cs = bench.graph.add_compute_set("reach")
    bench.graph.add_vertex(cs, Reach, tile=0, at=at, x=x)
    inner = bench.graph.add_function(pl.Sequence(pl.Execute(cs), bench.add(at, 1)))
    outer = bench.graph.add_function(pl.Sequence(bench.step(0), pl.Call(inner), pl.Call(inner)))
    program = pl.Sequence(bench.step(1), pl.Call(outer), pl.If(at, pl.Call(outer), pl.Call(inner)))
    engine = pl.Engine(bench.graph, program, interpret=interpret)
    # 1: step, 2: step, 3-4: inner, 5-6: inner, 7: step, 8-9: inner, 10-11: inner, 12-13: inner
    with pytest.raises(pl.TensorIndexError, match=r"at step 10 of 13: Execute 'reach'"):
        engine.run()
    assert engine.read(at) == 3


@both_forms
def test_counts_of_steps_that_ran(bench: Bench, interpret: bool) -> None:
    n = bench.scalar(value=6)
    function = bench.graph.add_function(bench.add(n, -1))
    program = pl.RepeatWhileTrue(
        pl.Sequence(), n, pl.If(n, pl.Sequence(pl.Call(function), pl.Call(function)), bench.step(1))
    )
    engine = pl.Engine(bench.graph, program, interpret=interpret)
    engine.run()
    report = engine.report()
    assert (report.steps, report.vertices) == (6, 6)


def test_long_while_returns_to_python_and_goes_on(bench: Bench) -> None:
    n = bench.scalar(value=20_000_000)
    engine = pl.Engine(bench.graph, pl.RepeatWhileTrue(pl.Sequence(), n, bench.add(n, -1)))
    engine.run()
    assert engine.read(n) == 0
    assert engine.report().steps == 20_000_000


def test_predicates_are_checked_when_the_engine_is_made(bench: Bench) -> None:
    x = bench.graph.add_variable(pl.BOOL, (), "loose")
    with pytest.raises(pl.InvalidTileMapping, match="'loose'") as caught:
        pl.Engine(bench.graph, pl.Sequence(bench.step(1), pl.If(x, bench.step(2), bench.step(3))))
    assert "at steps 2-3 of 3, which If 'loose' decides on" in str(caught.value)
    foreign = pl.Graph().add_variable(pl.BOOL, (), "foreign", mapping=0)
    with pytest.raises(pl.ControlProgramError, match="1 object from a graph other than"):
        pl.Engine(bench.graph, pl.RepeatWhileFalse(pl.Sequence(), foreign, pl.Sequence()))


# -- indices of vertices whose cycles data decide, with fast checks: none goes outside unseen ------


class Follow(pl.Vertex):
    """Follows indices from 0 on until one is 99; each place visited is counted in `seen`."""

    index: pl.Input[pl.Vector[pl.INT]]
    pairs: pl.Input[pl.Vector[pl.SHORT]]
    seen: pl.InOut[pl.Vector[pl.LONGLONG]]

    def compute(self) -> None:
        """Follow them."""
        i = 0
        while self.index[i] != 99:
            self.seen[self.pairs[i] + self.pairs[i + 4]] += 1
            i = self.index[i]


class Twice(pl.Vertex):
    """Looks at every other element until one is 99."""

    x: pl.InOut[pl.Vector[pl.SHORT]]
    step: pl.State[pl.LONGLONG]

    def compute(self) -> None:
        """Look at them."""
        i = 0
        while self.x[2 * i] != 99:
            i += self.step


class FollowRows(pl.Vertex):
    """Follows indices through the rows of a list until one is 99."""

    rows: pl.Input[pl.Vector[pl.Vector[pl.INT]]]
    steps: pl.Output[pl.INT]

    def compute(self) -> None:
        """Follow them."""
        row, column, steps = 0, 0, 0
        while self.rows[row][column] != 99:
            column = self.rows[row][column]
            row = 1 - row
            steps += 1
        self.steps = steps


@pytest.mark.parametrize(
    ("index", "pairs", "found"),
    [
        ([2, 99, 1, 0], [0] * 8, None),
        ([2, 99, 4, 0], [0] * 8, "Follow.index': index 4 of 4 elements"),
        ([2, 99, -1, 0], [0] * 8, "Follow.index': index -1 of 4 elements"),
        ([2, 99, 1 << 30, 0], [0] * 8, "Follow.index': index 1073741824 of 4 elements"),
        ([3, 99, 1, 1], [0] * 7, "Follow.pairs': index 7 of 7 elements"),
        ([2, 99, 1, 0], [1, 0, 3, 0, 0, 0, 2, 0], "Follow.seen': index 5 of 3 elements"),
        ([2, 99, 1, 0], [1, 0, 0, 0, 0, 0, -1, 0], "Follow.seen': index -1 of 3 elements"),
    ],
)
def test_each_access_is_compared_with_the_length_of_its_field(
    index: list[int], pairs: list[int], found: str | None
) -> None:
    cycles = []
    for checks in ("fast", "strict") if found is None else ("fast",):
        graph = pl.Graph(pl.Target(tiles=1))
        work, fields = graph.add_compute_set("follow"), {}
        for name, kind, values in (
            ("index", pl.INT, index),
            ("pairs", pl.SHORT, pairs),
            ("seen", pl.LONGLONG, [0, 0, 0]),
        ):
            shape = (len(values),)
            fields[name] = graph.add_variable(kind, shape, name, mapping=0, initial_value=values)
        graph.add_vertex(work, Follow, tile=0, **fields)
        engine = pl.Engine(graph, pl.Execute(work), checks=checks)
        if found is not None:
            with pytest.raises(pl.TensorIndexError, match=found):
                engine.run()
            continue
        engine.run()
        assert engine.read(fields["seen"]).tolist() == [2, 0, 0]
        cycles.append(engine.report().cycles)
    assert len(set(cycles)) <= 1


def test_an_index_that_is_beyond_all_memory_is_outside() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.SHORT, (3,), "x", mapping=0, initial_value=[1, 0, 99])
    work = graph.add_compute_set("look")
    graph.add_vertex(work, Twice, tile=0, x=x, step=1 << 62)
    engine = pl.Engine(graph, pl.Execute(work), checks="fast")
    with pytest.raises(pl.TensorIndexError, match=f"index {-1 << 63} of 3 elements"):
        engine.run()


@pytest.mark.parametrize("outside", [False, True])
def test_an_index_within_the_next_row_is_outside_as_well(outside: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    rows = np.array([[2, 1, 1], [0, 99, 3 if outside else 1]], np.int32)
    x = graph.add_variable(pl.INT, (2, 3), "x", mapping=0, initial_value=rows)
    steps = graph.add_variable(pl.INT, (), "steps", mapping=0)
    work = graph.add_compute_set("follow")
    graph.add_vertex(work, FollowRows, tile=0, rows=x, steps=steps)
    engine = pl.Engine(graph, pl.Execute(work), checks="fast")
    if outside:
        with pytest.raises(pl.TensorIndexError, match="index 3 of 3 rows or elements"):
            engine.run()
    else:
        engine.run()
        assert engine.read(steps) == 3
