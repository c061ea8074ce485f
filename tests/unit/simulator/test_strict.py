"""Strict checks: what is read unwritten, left unwritten, raced for; and what is not."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import values_only
from helpers.vertices import Count
from poplite.executable import encoding as op
from poplite.simulator.strict.replay import Replay
from poplite.simulator.strict.shadow import Shadow, UnwrittenCopies


class Sum(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    total: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        total = 0.0
        for i in range(len(self.x)):
            total += self.x[i]
        self.total = total


class First(pl.Vertex):
    """Uses the first element of two."""

    x: pl.Input[pl.Vector[pl.INT]]
    y: pl.Output[pl.INT]

    def compute(self) -> None:
        self.y = self.x[0] + 1


class Pass(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.y[i] = self.x[i]


class Head(pl.Vertex):
    """Writes only so many elements."""

    count: pl.State[pl.INT]
    y: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(self.count):
            self.y[i] = i + 10


class At(pl.Vertex):
    at: pl.Input[pl.INT]
    x: pl.Input[pl.Vector[pl.INT]]
    y: pl.Output[pl.INT]

    def compute(self) -> None:
        self.y = self.x[self.at]


class Rows(pl.Vertex):
    rows: pl.Input[pl.Vector[pl.Vector[pl.INT]]]
    y: pl.Output[pl.INT]

    def compute(self) -> None:
        self.y = self.rows[1][2] + 1


class Race(pl.MultiVertex):
    x: pl.InOut[pl.FLOAT]

    def compute(self, worker: int) -> None:
        self.x = 2.0 * self.x + worker


class Partials(pl.MultiVertex):
    x: pl.Input[pl.Vector[pl.INT]]
    partials: pl.Output[pl.Vector[pl.INT]]

    def compute(self, worker: int) -> None:
        total = 0
        for i in range(worker, len(self.x), self.num_workers):
            total += self.x[i]
        self.partials[worker] = total


class Steps(pl.MultiVertex):
    x: pl.InOut[pl.Vector[pl.INT]]

    def compute(self, worker: int) -> None:
        self.x[worker] += 1


class Bench:
    """A graph to which programs of one vertex are added."""

    def __init__(self, interpret: bool) -> None:
        self.interpret = interpret
        self.graph = pl.Graph(pl.Target(tiles=4))

    def variable(self, kind: Any, shape: Any, name: str, value: Any = None) -> pl.Tensor:
        return self.graph.add_variable(kind, shape, name, mapping=0, initial_value=value)

    def step(self, cls: type[pl.Vertex], **fields: Any) -> pl.Execute:
        cs = self.graph.add_compute_set(cls.__name__)
        self.graph.add_vertex(cs, cls, tile=1, **fields)
        return pl.Execute(cs)

    def engine(self, *program: pl.Program, **options: Any) -> pl.Engine:
        return pl.Engine(self.graph, pl.Sequence(*program), interpret=self.interpret, **options)


@pytest.fixture(params=[False, True], ids=["compiled", "interpreted"])
def bench(request: pytest.FixtureRequest) -> Bench:
    return Bench(request.param)


# -- reads -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("gathered", [False, True])
def test_a_result_that_depends_on_what_nothing_has_written(bench: Bench, gathered: bool) -> None:
    x = bench.variable(pl.FLOAT, (2, 8), "x")
    total = bench.variable(pl.FLOAT, (), "total")
    view = x.T.flatten()[1::2] if gathered else x[1]
    engine = bench.engine(bench.step(Sum, x=view, total=total))
    engine.write(x[1, :5], 1)
    match = (
        r"(?s)vertex 0 of 'Sum' on tile 1 reads 'Sum.x'\[5\], which is 'x'\[1, 5\], "
        r"but nothing has written it"
        r".*at step 1 of 1: Execute 'Sum'.*'x' was made at .*'Sum.total', which is 'total', "
        r"depends on it: 5.0 with current memory.*3 elements of 'Sum.x' are not written"
        r".*write 'x'\[1, 5\]"
    )
    for _ in range(2):
        with pytest.raises(pl.UninitializedReadError, match=match):
            engine.run()
    engine.write(total, 9)
    with pytest.raises(pl.UninitializedReadError, match=match):
        engine.run()
    assert engine.read(total) == 9  # as before the compute set
    engine.write(x[1, 5:], 1)
    engine.run()
    assert engine.read(total) == 8


def test_an_element_that_is_connected_and_not_used_is_no_error(bench: Bench) -> None:
    x = bench.variable(pl.INT, (2,), "x")
    y = bench.variable(pl.INT, (), "y")
    engine = bench.engine(bench.step(First, x=x, y=y))
    engine.write(x[:1], 4)
    engine.run()
    assert engine.read(y) == 5
    before = engine.report().runs_again
    engine.run()
    assert engine.report().runs_again > before  # it might be used this time
    engine.write(x[1:], 4)
    for _ in range(3):
        engine.run()
    assert engine.report().runs_again == before + 2  # none of these


def test_what_is_passed_on_stays_unwritten(bench: Bench) -> None:
    x, y, z = (bench.variable(pl.FLOAT, (4,), name) for name in "xyz")
    total = bench.variable(pl.FLOAT, (), "total")
    passing = bench.step(Pass, x=x, y=y), pl.Copy(y, z)
    engine = bench.engine(*passing, bench.step(Sum, x=z, total=total))
    engine.write(x[1:], 3)
    with pytest.raises(pl.UninitializedReadError, match=r"reads 'Sum.x'\[0\], which is 'z'\[0\]"):
        engine.run()
    assert engine.read(y[1:]).tolist() == [3, 3, 3]
    engine.write(x[:1], 3)
    engine.run()
    assert engine.read(total) == 12


def test_written_elements_that_become_unwritten_are_looked_at_again(bench: Bench) -> None:
    x, y = bench.variable(pl.FLOAT, (2,), "x"), bench.variable(pl.FLOAT, (2,), "y")
    total = bench.variable(pl.FLOAT, (), "total")
    add = bench.step(Sum, x=y, total=total)
    program = {"add": add, "copy": pl.Copy(x, y)}
    engine = pl.Engine(bench.graph, program, interpret=bench.interpret, options=values_only())
    engine.write(y, 2)
    engine.run("add")
    engine.run("add")
    engine.run("copy")
    with pytest.raises(pl.UninitializedReadError, match=r"which is 'y'\[0\]"):
        engine.run("add")


def test_what_is_undefined_again_is_looked_at_each_time(bench: Bench) -> None:
    n = bench.variable(pl.INT, (), "n")
    programs = {"undo": pl.WriteUndef(n), "count": bench.step(Count, n=n)}
    engine = pl.Engine(bench.graph, programs, interpret=bench.interpret, options=values_only())
    for _ in range(2):
        engine.write(n, 3)
        engine.run("count")
        engine.run("undo")
        with pytest.raises(pl.UninitializedReadError, match="reads 'Count.n', which is 'n'"):
            engine.run("count")


def test_loading_begins_anew(bench: Bench) -> None:
    n = bench.variable(pl.INT, (), "n")
    engine = bench.engine(bench.step(Count, n=n))
    engine.write(n, 3)
    engine.run()
    engine.run()
    engine.load()
    with pytest.raises(pl.UninitializedReadError, match="reads 'Count.n', which is 'n'"):
        engine.run()


def test_a_program_that_was_saved(bench: Bench, tmp_path: Path) -> None:
    x, total = bench.variable(pl.FLOAT, (2, 3), "x"), bench.variable(pl.FLOAT, (), "total")
    bench.engine(bench.step(Sum, x=x.T.flatten(), total=total)).executable.save(tmp_path / "sum")
    executable = pl.Executable.load(tmp_path / "sum", [Sum])
    match = r"reads 'Sum.x'\[0\], which is 'x'\[0, 0\], but nothing has written it"
    with pytest.raises(pl.UninitializedReadError, match=match):
        pl.Engine(executable, interpret=bench.interpret).run()


def test_a_counter_that_nothing_has_set(bench: Bench) -> None:
    n = bench.variable(pl.INT, (), "n")
    engine = bench.engine(bench.step(Count, n=n))
    match = (
        r"(?s)vertex 0 of 'Count' on tile 1 reads 'Count.n', which is 'n'.*depends on it: 1 with"
    )
    with pytest.raises(pl.UninitializedReadError, match=match):
        engine.run()


def test_an_index_that_nothing_has_written(bench: Bench) -> None:
    at, x = bench.variable(pl.INT, (), "at"), bench.variable(pl.INT, (1,), "x", 7)
    y = bench.variable(pl.INT, (), "y", 0)
    engine = bench.engine(bench.step(At, at=at, x=x, y=y))
    match = (
        r"(?s)reads 'At.at', which is 'at'.*with a different value there: .*index -?\d+ of 1 "
        r"element"
    )
    with pytest.raises(pl.UninitializedReadError, match=match):
        engine.run()
    assert engine.read(y) == 0


def test_an_element_of_a_list(bench: Bench) -> None:
    x, y = bench.variable(pl.INT, (12,), "x"), bench.variable(pl.INT, (), "y")
    engine = bench.engine(bench.step(Rows, rows=[x[:3], x[4:9]], y=y))
    engine.write(x[:6], 1)
    match = r"reads 'Rows.rows'\[1\]\[2\], which is 'x'\[6\]"
    with pytest.raises(pl.UninitializedReadError, match=match):
        engine.run()


@pytest.mark.parametrize("kind", [pl.SIGNED_CHAR, pl.UNSIGNED_CHAR, pl.SHORT, pl.UNSIGNED_INT])
def test_a_shift_does_not_hide_what_is_read(bench: Bench, kind: Any) -> None:
    class Shift(pl.Vertex):
        x: pl.Input[kind]
        y: pl.Output[kind]

        def compute(self) -> None:
            self.y = (self.x >> 3) & 3

    x, y = bench.variable(kind, (), "x"), bench.variable(kind, (), "y")
    with pytest.raises(pl.UninitializedReadError, match="reads 'Shift.x', which is 'x'"):
        bench.engine(bench.step(Shift, x=x, y=y)).run()


@pytest.mark.parametrize("kind", [pl.HALF, pl.INT, pl.BOOL, pl.UNSIGNED_CHAR, pl.LONGLONG])
def test_every_size_of_element(bench: Bench, kind: Any) -> None:
    class Same(pl.Vertex):
        a: pl.Input[kind]
        b: pl.Input[kind]
        same: pl.Output[pl.BOOL]

        def compute(self) -> None:
            self.same = self.a == self.b

    a, b = bench.variable(kind, (), "a", np.zeros((), kind.dtype)), bench.variable(kind, (), "b")
    same = bench.variable(pl.BOOL, (), "same")
    engine = bench.engine(bench.step(Same, a=a, b=b, same=same))
    with pytest.raises(pl.UninitializedReadError, match="reads 'Same.b', which is 'b'"):
        engine.run()
    engine.write(b, np.zeros((), kind.dtype))
    engine.run()
    assert engine.read(same)


def test_a_scalar_that_decides(bench: Bench) -> None:
    go = bench.variable(pl.BOOL, (), "go")
    n = bench.variable(pl.INT, (), "n", 0)
    engine = bench.engine(pl.If(go, bench.step(Count, n=n), pl.Sequence()))
    match = r"(?s)'go' decides what runs next, but nothing has written it.*at step 1 of 1"
    with pytest.raises(pl.UninitializedReadError, match=match):
        engine.run()
    engine.write(go, True)
    engine.run()
    assert engine.read(n) == 1


def test_in_a_function_in_a_loop(bench: Bench) -> None:
    n, m = bench.variable(pl.INT, (), "n", 0), bench.variable(pl.INT, (), "m")
    inner = pl.Sequence(bench.step(Count, n=n), bench.step(Count, n=m))
    call = pl.Call(bench.graph.add_function(inner))
    engine = bench.engine(pl.Copy(n, bench.variable(pl.INT, (), "k")), pl.Repeat(3, call))
    match = r"(?s)which is 'm'.*at step 3 of 3: Execute 'Count_1'"
    with pytest.raises(pl.UninitializedReadError, match=match):
        engine.run()
    assert engine.read(n) == 1
    engine.write(m, 0)
    engine.run()
    assert [int(engine.read(each)) for each in (n, m)] == [4, 3]


def test_fast_checks_do_not_look(bench: Bench) -> None:
    n = bench.variable(pl.INT, (), "n")
    engine = bench.engine(bench.step(Count, n=n), pl.PrintTensor(n), checks="fast")
    engine.print_stream = io.StringIO()
    engine.run()
    assert engine.read(n) == 1
    assert engine.report().runs_again == 0


def test_the_host_is_warned_once_in_each_place(bench: Bench) -> None:
    x = bench.variable(pl.FLOAT, (2, 3), "x")
    engine = bench.engine(pl.Repeat(2, pl.PrintTensor("values", x)))
    engine.print_stream = io.StringIO()
    engine.write(x[0], 1)
    with pytest.warns(pl.UninitializedWarning) as caught:  # noqa: PT031
        engine.run()
        engine.run()
        for _ in range(2):
            engine.read(x[1:])
    first, second = (str(each.message) for each in caught)
    assert first.startswith("PrintTensor 'values': nothing has written 3 of 6 elements  (")
    assert "\n  at step 1 of 1" in first
    assert "the first is [1, 0]" in first
    assert second.startswith("engine.read of 'x': nothing has written 3 of 3 elements")
    assert "the first is [0, 0]" in second


def test_a_read_before_the_first_run_says_so(bench: Bench) -> None:
    x, y = (bench.variable(pl.FLOAT, (3,), name) for name in "xy")
    engine = bench.engine(pl.Copy(x, y))
    engine.write(x, 1)
    with pytest.warns(
        pl.UninitializedWarning, match=r"try: call engine.run\(\) first, or write 'y'"
    ):
        engine.read(y)
    engine.run()
    assert engine.read(y).tolist() == [1, 1, 1]


def test_a_long_loop_is_looked_at_in_its_beginning(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("poplite.simulator.strict.checks.MOST_LOOKS", 3)
    x, y = (bench.variable(pl.FLOAT, (4,), name) for name in "xy")
    passing = pl.Sequence(bench.step(Pass, x=x, y=y), pl.Copy(y, x))
    engine = bench.engine(pl.Repeat(9, passing))
    engine.write(x[1:], 3)
    engine.run()
    assert engine.report().runs_again == 3 * 2
    assert engine.read(y).tolist() == [0, 3, 3, 3]  # without a warning: it counts as written
    engine.run()
    assert engine.report().runs_again == 3 * 2


# -- outputs ---------------------------------------------------------------------------------------


def test_an_output_that_keeps_what_it_held(bench: Bench) -> None:
    y = bench.variable(pl.INT, (5,), "y", 7)
    engine = bench.engine(bench.step(Head, count=2, y=y))
    match = (
        r"(?s)vertex 0 of 'Head' on tile 1 leaves 'Head.y'\[2\] unwritten.*at step 1 "
        r"of 1: Execute 'Head'"
        r".*that is 'y'\[2\].*2 more elements of that field.*or declare y InOut"
    )
    with pytest.warns(pl.UnwrittenOutputWarning, match=match) as caught:  # noqa: PT031
        engine.run()
        engine.run()  # only the first execution is looked at
    assert len(caught) == 1
    assert engine.read(y).tolist() == [10, 11, 7, 7, 7]


def test_an_output_of_which_a_part_stays_unwritten(bench: Bench) -> None:
    y = bench.variable(pl.INT, (5,), "y")
    engine = bench.engine(bench.step(Head, count=2, y=y))
    engine.run()
    assert engine.read(y[:2]).tolist() == [10, 11]
    with pytest.warns(pl.UninitializedWarning, match="nothing has written 3 of 5 elements"):
        engine.read(y)


# -- workers ---------------------------------------------------------------------------------------


def test_workers_that_race(bench: Bench) -> None:
    x = bench.variable(pl.FLOAT, (), "x", 1)
    engine = bench.engine(bench.step(Race, x=x))
    match = (
        r"(?s)vertex 0 of 'Race' on tile 1: worker 1 reads 'Race.x', which worker 0 wrote.*"
        r"at step 1 of 1: Execute 'Race'.*the element is 'x'"
    )
    for _ in range(2):
        with pytest.raises(pl.WorkerRaceError, match=match):
            engine.run()
    assert engine.read(x) == 1


def test_workers_that_do_not_race(bench: Bench) -> None:
    x = bench.variable(pl.INT, (20,), "x", np.arange(20))
    partials = bench.variable(pl.INT, (6,), "partials")
    engine = bench.engine(pl.Repeat(5, bench.step(Partials, x=x, partials=partials)))
    engine.run()
    assert engine.read(partials).tolist() == [sum(range(k, 20, 6)) for k in range(6)]
    assert engine.report().runs_again == 1  # for what was unwritten
    assert "; 1 compute set run again" in str(engine.report())


class Added(pl.MultiVertex):
    """A sum whose order does not matter, and which a machine loses parts of."""

    x: pl.Input[pl.Vector[pl.INT]]
    total: pl.InOut[pl.INT]

    def compute(self, worker: int) -> None:
        for i in range(worker, len(self.x), self.num_workers):
            self.total += self.x[i]


class Largest(pl.MultiVertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    most: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self, worker: int) -> None:
        for i in range(worker, len(self.x), self.num_workers):
            self.most[1] = max(self.most[1], self.x[i])


class RowSums(pl.MultiVertex):
    x: pl.Input[pl.Vector[pl.INT]]
    rows: pl.InOut[pl.Vector[pl.Vector[pl.INT]]]

    def compute(self, worker: int) -> None:
        self.rows[worker // 2][0] += self.x[worker]


class Twins(pl.MultiVertex):
    """Workers 1 and 4 alone store the same element: other values than both together do."""

    n: pl.InOut[pl.INT]

    def compute(self, worker: int) -> None:
        if worker % 3 == 1:
            self.n += 1


class Overwritten(pl.MultiVertex):
    """Three workers store an element: the last one what the first did."""

    y: pl.InOut[pl.INT]

    def compute(self, worker: int) -> None:
        if worker == 0 or worker == 5:
            self.y = 7
        elif worker == 3:
            self.y = 8


class Says(pl.MultiVertex):
    x: pl.InOut[pl.INT]

    def compute(self, worker: int) -> None:
        print(worker, end="")
        self.x += worker


class AsItWas(pl.MultiVertex):
    """Worker 1 stores what is there before."""

    y: pl.InOut[pl.INT]

    def compute(self, worker: int) -> None:
        self.y = 5 if worker == 1 else 7


class Scratch(pl.MultiVertex):
    """All workers use one element, which holds the same before and behind each of them."""

    s: pl.InOut[pl.INT]
    y: pl.Output[pl.Vector[pl.INT]]

    def compute(self, worker: int) -> None:
        self.s = worker + 1
        self.y[worker] = self.s
        self.s = 0


class Spoiled(pl.MultiVertex):
    """Worker 5 writes what worker 2 has read."""

    h: pl.InOut[pl.Vector[pl.HALF]]
    y: pl.InOut[pl.FLOAT]

    def compute(self, worker: int) -> None:
        if worker == 2:
            self.y = self.h[1]
        if worker == 5:
            self.h[1] = 3.0


class Waits(pl.MultiVertex):
    """Worker 3 ends as others write before it, and by itself never would."""

    f: pl.InOut[pl.Vector[pl.INT]]

    def compute(self, worker: int) -> None:
        if worker == 3:
            while self.f[0] == 0 and self.f[5] == 0:
                self.f[3] = 1
        else:
            self.f[worker] = 1


class Together(pl.MultiVertex):
    """Workers store lanes of their own, but for the last one of each."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self, worker: int) -> None:
        first = 4 * worker
        self.x.set_lanes(first, self.x.lanes(first, 5) * 2.0)


class Alike(pl.MultiVertex):
    """Equal values, stored by several workers, and elements that one worker changes in place."""

    x: pl.Input[pl.Vector[pl.INT]]
    y: pl.InOut[pl.Vector[pl.INT]]

    def compute(self, worker: int) -> None:
        self.y[0] = self.x[0]
        self.y[1 + worker] += self.x[worker]


@pytest.mark.parametrize(
    ("vertex", "fields", "match"),
    [
        (Added, {"x": range(12), "total": 5}, r"1 reads 'Added.total', which worker 0 wrote"),
        (Largest, {"x": range(12), "most": [0, 0]}, r"1 reads 'Largest.most'\[1\], .* 0 wrote"),
        (RowSums, {"x": range(6), "rows": [[0]] * 3}, r"1 reads .*\[0\]\[0\], .* 0 wrote.*2 more"),
        (Twins, {"n": 10}, "4 reads 'Twins.n', which worker 1 wrote.*the element is 'n'"),
        (Overwritten, {"y": 0}, "3 changes 'Overwritten.y', which worker 0 wrote"),
        (AsItWas, {"y": 5}, "1 changes 'AsItWas.y', which worker 0 wrote"),
        (Scratch, {"s": 0, "y": [0] * 6}, "1 changes 'Scratch.s', which worker 0 wrote"),
        (Spoiled, {"h": [0, 3], "y": 0}, r"5 writes 'Spoiled.h'\[1\], which worker 2 read"),
        (Waits, {"f": [0] * 6}, r"3 reads 'Waits.f'\[0\], which worker 0 wrote"),
        (Together, {"x": range(25)}, r"1 reads 'Together.x'\[4\], .* 0 wrote.* 4 more"),
    ],
)
def test_workers_that_use_what_others_store(
    bench: Bench, vertex: type[pl.Vertex], fields: dict[str, Any], match: str
) -> None:
    variables = {}
    for name, values in fields.items():
        start = np.array(values)
        kind = vertex.fields[name].element
        variables[name] = bench.variable(kind, start.shape, name, start)
    engine = bench.engine(bench.step(vertex, **variables))
    for _ in range(2):
        with pytest.raises(
            pl.WorkerRaceError, match=f"(?s)^vertex 0 of '{vertex.__name__}' .*worker {match}"
        ):
            engine.run()
    for name, values in fields.items():  # as before the compute set
        assert engine.read(variables[name]).tolist() == np.array(values).tolist()


def test_workers_run_on_when_they_are_looked_at_no_more(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("poplite.simulator.strict.checks.MOST_LOOKS", 3)
    x = bench.variable(pl.INT, (20,), "x", np.arange(20))
    partials = bench.variable(pl.INT, (6,), "partials")
    engine = bench.engine(bench.step(Partials, x=x, partials=partials))
    for run in range(6):
        engine.write(x, np.arange(run, run + 20))
        engine.run()
        sums = [sum(range(run + k, run + 20, 6)) for k in range(6)]
        assert engine.read(partials).tolist() == sums


def test_workers_may_store_equal_values(bench: Bench) -> None:
    x = bench.variable(pl.INT, (6,), "x", np.arange(1, 7))
    y = bench.variable(pl.INT, (7,), "y", 0)
    engine = bench.engine(pl.Repeat(4, bench.step(Alike, x=x, y=y)))
    engine.run()
    assert engine.read(y).tolist() == [1, 4, 8, 12, 16, 20, 24]
    assert engine.report().runs_again == 0


def test_a_stop_while_workers_log(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    x = bench.variable(pl.INT, (6, 400), "x", 0)
    cs = bench.graph.add_compute_set("steps")
    for vertex in range(400):  # no elements in a row, so that they are gathered
        bench.graph.add_vertex(cs, Steps, tile=1, x=x[:, vertex])
    engine = bench.engine(pl.Repeat(3, pl.Execute(cs)))
    launch = Replay._launch

    def stopped(replay: Replay, *phases: int) -> None:
        if op.DEFINED in phases:
            engine.stop()
        launch(replay, *phases)

    monkeypatch.setattr(Replay, "_launch", stopped)
    engine.run()
    # The execution that began is completed; of interpreted vertices, undone.
    assert np.unique(engine.read(x)).tolist() == [0 if bench.interpret else 1]


def test_workers_of_a_class_that_prints_are_looked_at_once(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    x = bench.variable(pl.INT, (), "x", 0)
    engine = pl.Engine(bench.graph, bench.step(Says, x=x), interpret=True)
    with pytest.raises(pl.WorkerRaceError, match="worker 1 reads 'Says.x', which worker 0 wrote"):
        engine.run()
    assert capsys.readouterr().out == "012345"
    assert engine.read(x) == 0


# -- replicas --------------------------------------------------------------------------------------


def test_the_replica_is_named(bench: Bench) -> None:
    bench.graph = pl.Graph(pl.Target(tiles=4, ipus=2), replication_factor=2)
    x, total = bench.variable(pl.FLOAT, (4,), "x"), bench.variable(pl.FLOAT, (), "total")
    raced = bench.variable(pl.FLOAT, (), "raced", 1)
    engine = bench.engine(bench.step(Sum, x=x, total=total), bench.step(Race, x=raced))
    engine.write(x[:2], 1)
    engine.write(x, 1, replica=0)
    match = (
        r"(?s)vertex 0 of 'Sum' on tile 1, replica 1 reads 'Sum.x'\[2\].*\n  2 "
        r"elements of 'Sum.x'"
    )
    with pytest.raises(pl.UninitializedReadError, match=match):
        engine.run()
    engine.write(x, 1)
    with pytest.raises(
        pl.WorkerRaceError, match=r"vertex 0 of 'Race' on tile 1, replica 0: worker 1 reads"
    ):
        engine.run()


# -- whatever the checks ---------------------------------------------------------------------------


def test_compute_sets_without_vertices(bench: Bench) -> None:
    empty = [bench.graph.add_compute_set(name) for name in ("a", "b")]
    match = r"(?s)compute set 'a' is executed without vertices.*step 1 of 1: Execute 'a'"
    with pytest.warns(pl.EmptyComputeSetWarning, match=match):
        bench.engine(pl.Execute(empty[0]), checks="fast")
    match = r"(?s)2 compute sets are executed without vertices.*'a' .*'b' "
    with pytest.warns(pl.EmptyComputeSetWarning, match=match):
        bench.engine(*map(pl.Execute, empty))


def test_constants_that_are_mapped_twice() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    taps = graph.add_constant(pl.INT, (6,), 1, "taps")
    for part in range(3):  # each element once
        graph.set_tile_mapping(taps[2 * part : 2 * part + 2], part)
    graph.set_tile_mapping(taps[:2], 0)  # where it was
    match = (
        r"(?s)constant 'taps': 3 of 4 elements move to another tile.*element 1 was on tile 1 and "
        r"is on tile 3 now; the constant was made at "
    )
    graph.set_tile_mapping(graph.add_variable(pl.INT, (6,), "x", mapping=0), 3)
    with pytest.warns(pl.ConstantRemappedWarning, match=match):
        graph.set_tile_mapping(taps[1:5], [[(0, 1)], [], [], [(1, 4)]])


def test_elements_behind_all_variables_are_named_too() -> None:
    """As vertices of a damaged file may read them."""
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (3,), "x", mapping=0)
    stream = graph.add_host_to_device_fifo("in", pl.INT, 3)
    executable = pl.compile_graph(graph, pl.Copy(stream, x))
    behind = executable.layout.end_of_variables(1)
    assert behind < executable.layout.size_bytes
    copies = UnwrittenCopies(executable, Shadow(executable.layout))
    assert copies.origin(behind).variable.name == "x"
