"""What strict checks find by values in place of unwritten ones, by the text, by workers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep, values_only
from helpers.running import both_forms, interpreted_sooner
from poplite.simulator.strict.looks import FILLS, numbers_of
from poplite.vertex.compute.meaning import loops_of, meaning_of


class Int(pl.Vertex):
    """One number of one."""

    n: pl.Input[pl.INT]
    y: pl.Output[pl.INT]


class IsNegative(Int):
    def compute(self) -> None:
        if self.n < 0:
            self.y = 1
        else:
            self.y = 2


class IsLarge(Int):
    def compute(self) -> None:
        self.y = 1 if self.n > 20_000 else 0


class IsOdd(Int):
    def compute(self) -> None:
        self.y = self.n % 2


class Turns(Int):
    """Counts, and so comes to the very number."""

    def compute(self) -> None:
        count = 0
        for _ in range(self.n):
            count += 1
        self.y = count


class TurnsBack(Int):
    def compute(self) -> None:
        count = 0
        for _ in range(self.n, 0):
            count += 1
        self.y = count


class TurnsInEachOther(Int):
    """A million turns for a hundred."""

    def compute(self) -> None:
        count = 0
        for i in range(self.n):
            for j in range(i):
                for k in range(j):
                    count += k
        self.y = count


class Bits(Int):
    """Never ends for a negative number."""

    def compute(self) -> None:
        n = self.n
        count = 0
        while n != 0:
            count += n & 1
            n >>= 1
        self.y = count


class Digits(Int):
    def compute(self) -> None:
        n = self.n
        count = 0
        while n < 0:
            n += 1000
            count += 1
        self.y = count


class Asserts(Int):
    """Goes wrong for other values alone."""

    def compute(self) -> None:
        assert self.n < 1000
        self.y = 5


class CountNegative(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.INT]

    def compute(self) -> None:
        count = 0
        for i in range(len(self.x)):
            if self.x[i] < 0:
                count += 1
        self.y = count


class Larger(pl.Vertex):
    """The place of the largest element."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.INT]

    def compute(self) -> None:
        best = 0
        for i in range(len(self.x)):
            if self.x[i] > self.x[best]:
                best = i
        self.y = best


class Smaller(Larger):
    def compute(self) -> None:
        best = 0
        for i in range(len(self.x)):
            if self.x[i] < self.x[best]:
                best = i
        self.y = best


class Turned(Larger):
    """Turns as often as a float says: not for ever."""

    def compute(self) -> None:
        count = 0
        for _ in range(int(self.x[1])):
            count += 1
        self.y = count + int(self.x[0]) % 2


class Differences(pl.Vertex):
    x: pl.Input[pl.Vector[pl.SHORT]]
    y: pl.Output[pl.INT]

    def compute(self) -> None:
        self.y = self.x[0] - self.x[1]


class AddHuge(pl.Vertex):
    x: pl.Input[pl.FLOAT]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        self.y = self.x + 1e30


class AddTo(pl.Vertex):
    """A sum that began with zero is what was added; it is no copy."""

    n: pl.Input[pl.INT]
    y: pl.InOut[pl.INT]

    def compute(self) -> None:
        self.y = self.y + self.n


class AddUp(pl.Vertex):
    x: pl.Input[pl.Vector[pl.INT]]
    y: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        total = 0
        for i in range(len(self.x)):
            total += self.x[i]
        self.y[0] = total


class AddZero(Int):
    """A result that is what an unwritten Output holds, too."""

    def compute(self) -> None:
        self.y = 0 + self.n


class TimesOne(pl.Vertex):
    x: pl.Input[pl.HALF]
    y: pl.Output[pl.HALF]

    def compute(self) -> None:
        self.y = self.x * 1.0


class TurnsUnsigned(pl.Vertex):
    n: pl.Input[pl.UNSIGNED_INT]
    y: pl.Output[pl.UNSIGNED_INT]

    def compute(self) -> None:
        count = 0
        for _ in range(self.n):
            count += 1
        self.y = count


class IsOddFloat(pl.Vertex):
    x: pl.Input[pl.FLOAT]
    y: pl.Output[pl.INT]

    def compute(self) -> None:
        self.y = int(self.x) % 2


class Differ(pl.Vertex):
    x: pl.Input[pl.Vector[pl.BOOL]]
    y: pl.Output[pl.BOOL]

    def compute(self) -> None:
        self.y = self.x[0] != self.x[1]


class IsNegativeQuarter(pl.Vertex):
    x: pl.Input[pl.QUARTER]
    y: pl.Output[pl.INT]

    def compute(self) -> None:
        self.y = 1 if self.x < 0 else 0


USES = [
    AddZero, TimesOne, TurnsUnsigned, IsOddFloat, Differ, IsNegativeQuarter,
    IsNegative, IsLarge, IsOdd, Turns, TurnsBack, TurnsInEachOther, Bits, Digits, Asserts,
    CountNegative, Larger, Smaller, Turned, Differences, AddHuge, AddTo, AddUp,
]  # fmt: skip


def engine_of(cls: type[pl.Vertex], interpret: bool, **values: Any) -> tuple[pl.Engine, Any]:
    """An engine that runs one vertex, and its variables; two elements behind a vector."""
    graph = pl.Graph(pl.Target(tiles=1))
    step = graph.add_compute_set("step")
    fields = {
        name: graph.add_variable(
            field.element,
            (2,) if field.depth else (),
            name,
            mapping=0,
            initial_value=values.get(name),
            metadata=pl.QuarterMetadata("F143", 0) if field.element is pl.QUARTER else None,
        )
        for name, field in cls.fields.items()
        if field.is_edge and not field.is_implicit  # the metadata of a QUARTER
    }
    graph.add_vertex(step, cls, tile=0, **fields)
    return pl.Engine(graph, pl.Execute(step), interpret=interpret, options=values_only()), fields


COMPILED = {AddZero, TurnsUnsigned, Differ, IsNegativeQuarter, Turns, Bits, Asserts, Turned, AddTo}
"""One of each kind of use; at full depth all of them are compiled."""


@pytest.mark.parametrize(
    ("cls", "interpret"),
    [
        pytest.param(
            *(cls, interpret),
            id=f"{cls.__name__}-{'interpreted' if interpret else 'compiled'}",
            marks=[] if interpret or cls in COMPILED else [deep],
        )
        for interpret in (True, False)
        for cls in USES
    ],
)
def test_a_use_is_found(interpret: bool, cls: type[pl.Vertex]) -> None:
    engine, fields = engine_of(cls, interpret, y=0 if cls is AddTo else None)
    name = next(iter(cls.fields))
    with pytest.raises(pl.UninitializedReadError, match=f"reads '{cls.__name__}.{name}'"):
        engine.run()
    engine.write(fields[name], True if fields[name].element_type is pl.BOOL else 1)
    engine.run()


class ByTwo(Int):
    """Ends for even numbers alone."""

    def compute(self) -> None:
        i = 0
        while i != self.n:
            i += 2
        self.y = i


class Against(Int):
    """Ends for zero alone, though it compares by order."""

    def compute(self) -> None:
        i, step = self.n * 1, 0 if self.n else 1
        while i * i >= self.n * self.n and i != 0:
            i += step
        self.y = i


class ByTwoTogether(pl.MultiVertex):
    n: pl.Input[pl.INT]
    y: pl.Output[pl.Vector[pl.INT]]

    def compute(self, worker: int) -> None:
        i = 0
        while i != self.n:
            i += 2
        if worker < 2:
            self.y[worker] = i


@pytest.mark.parametrize("cls", [ByTwo, Against, ByTwoTogether])
@both_forms
def test_a_loop_that_would_never_end_with_another_value(
    interpret: bool, cls: type[pl.Vertex]
) -> None:
    engine, fields = engine_of(cls, interpret)
    found = r"compute does not end within 1,048,576 iterations"
    with pytest.raises(pl.UninitializedReadError, match=f"reads '{cls.__name__}.n'") as error:
        engine.run()
    assert found in str(error.value)
    engine.write(fields["n"], 0)
    engine.run()


class UpToZero(pl.Vertex):
    """Looks at no element behind the first zero, and leaves the unwritten ones of y as they are."""

    x: pl.Input[pl.Vector[pl.INT]]
    y: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        i = turns = 0
        while self.x[i] != 0:
            while turns != 20:
                turns += 1
            i += 1
        self.y[0] = i


@both_forms
@pytest.mark.parametrize("most", [10, 1000])
def test_loops_that_do_not_depend_on_what_is_unwritten(
    interpret: bool, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where they turn more often than is counted."""
    monkeypatch.setattr("poplite.vertex.compute.interpret.MOST_TURNS", most)
    engine, fields = engine_of(UpToZero, interpret)
    engine.write(fields["x"], [1, 0])
    engine.write(fields["y"][0], 5)
    engine.run()
    assert engine.read(fields["y"][0]) == 1
    with pytest.warns(pl.UninitializedWarning, match="written 1 of 2"):
        engine.read(fields["y"])


class Swap(pl.Vertex):
    """Passes elements on by locals, by a condition, and by a helper."""

    x: pl.Input[pl.Vector[pl.INT]]
    back: pl.Input[pl.BOOL]
    y: pl.Output[pl.Vector[pl.INT]]
    u: pl.Output[pl.Vector[pl.UNSIGNED_INT]]
    w: pl.Output[pl.LONGLONG]

    def same(self, value: int) -> int:
        return value

    def compute(self) -> None:
        first = self.x[0]
        second = first if self.back else self.x[1]
        self.y[0], self.y[1] = second, self.same(first)
        for i in range(2):
            self.u[i] = self.x[i]
        self.w = self.x[1]


@both_forms
def test_what_is_passed_on_in_many_ways_is_no_use(interpret: bool) -> None:
    engine, fields = engine_of(Swap, interpret, back=False)
    engine.run()
    for name in "yuw":
        count = r"2 of 2" if name != "w" else "1 of 1"
        with pytest.warns(pl.UninitializedWarning, match=f"written {count} element"):
            engine.read(fields[name])
    engine.write(fields["x"][1], 7)
    engine.run()
    assert [engine.read(fields["y"][0]), engine.read(fields["u"][1])] == [7, 7]
    assert engine.read(fields["w"]) == 7


class Pass(pl.Vertex):
    x: pl.Input[pl.Vector[pl.INT]]
    z: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.INT]]
    v: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(2):
            self.y[i] = self.x[i]
            self.v[i] = self.z[i]


@both_forms
def test_an_element_that_is_connected_as_two_types_may_be_passed_on(interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x, y = (graph.add_variable(pl.INT, (2,), name, mapping=0) for name in "xy")
    v = graph.add_variable(pl.FLOAT, (2,), "v", mapping=0)
    step = graph.add_compute_set("step")
    graph.add_vertex(step, Pass, tile=0, x=x, z=x.reinterpret(pl.FLOAT), y=y, v=v)
    engine = pl.Engine(graph, pl.Execute(step), interpret=interpret, options=values_only())
    engine.run()
    with pytest.warns(pl.UninitializedWarning, match="written 2 of 2"):
        engine.read(v)


def test_what_texts_say_of_fields() -> None:
    assert [meaning_of(Swap).flow.passes_on(name) for name in "yuw"] == [True] * 3
    assert not any(
        meaning_of(cls).flow.passes_on("y") for cls in (AddTo, AddUp, Turns, CountNegative)
    )
    assert not any(meaning_of(cls).flow.passes_on("y") for cls in (Larger, Turned, IsOdd))


def test_what_texts_say_of_loops() -> None:
    ends = {cls: loops_of([cls]).ends for cls in (Turns, Bits, Digits)}
    assert ends == {Turns: "always", Bits: "perhaps", Digits: "by order"}
    depths = {cls: loops_of([cls]).depth for cls in (Larger, Turns, TurnsInEachOther, Bits)}
    assert depths == {Larger: 0, Turns: 1, TurnsInEachOther: 3, Bits: 1}
    assert loops_of([Turns, Bits]) == loops_of([Bits])


@pytest.mark.parametrize("kind", [pl.FLOAT, pl.HALF, pl.INT, pl.SHORT, pl.LONGLONG, pl.CHAR])
@pytest.mark.parametrize("cls", [Larger, Turns, Digits, TurnsInEachOther])
def test_values_part_on_sign_size_and_parity(kind: Any, cls: type[pl.Vertex]) -> None:
    first, second = (numbers_of(kind, fill, loops_of([cls])).astype(kind.dtype) for fill in FILLS)
    assert (np.sign(first) == -np.sign(second)).all()
    finite = np.abs([first, second])
    most = 127 if cls is TurnsInEachOther or kind is pl.CHAR else 2**15
    assert finite[np.isfinite(finite)].max() <= most
    for each in (first, second) if kind.dtype.kind == "i" else ():
        assert len(np.unique(each)) == each.size
        assert (each % 2 == each[:, :1] % 2).all()
    if kind.dtype.kind == "i":
        assert (first % 2 != second % 2).all()


# -- workers of a MultiVertex that share fields and do not race, and programs near them that do ----


class SwapPairs(pl.MultiVertex):
    """Swaps neighbours, `step` elements from one pair of a worker to that of the next one."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]
    step: pl.State[pl.INT]

    def compute(self, worker: int) -> None:
        i = self.step * worker
        if i + 1 < len(self.x):
            self.x[i], self.x[i + 1] = self.x[i + 1], self.x[i]


class Mirror(pl.MultiVertex):
    """Swaps elements with those at the same distance from the end, up to `end`."""

    x: pl.InOut[pl.Vector[pl.LONGLONG]]
    end: pl.State[pl.INT]

    def compute(self, worker: int) -> None:
        for i in range(worker, self.end, self.num_workers):
            held = self.x[i]
            self.x[i] = self.x[len(self.x) - 1 - i]
            self.x[len(self.x) - 1 - i] = held


class RunningSums(pl.MultiVertex):
    """Adds to each element the one before, in as many blocks."""

    x: pl.InOut[pl.Vector[pl.INT]]
    blocks: pl.State[pl.INT]

    def compute(self, worker: int) -> None:
        size = len(self.x) // self.blocks
        if worker < self.blocks:
            for i in range(max(1, worker * size), (worker + 1) * size):
                self.x[i] += self.x[i - 1]


class InLanes(pl.MultiVertex):
    """Doubles 8 elements of a worker's own, and stores `width`."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]
    width: pl.State[pl.INT]

    def compute(self, worker: int) -> None:
        first = 8 * worker
        if first + self.width <= len(self.x):
            self.x.set_lanes(first, self.x.lanes(first, self.width) * 2.0)


class Found(pl.MultiVertex):
    """Stores that an element is large; looks first whether another worker did, from `looks` on."""

    x: pl.Input[pl.Vector[pl.INT]]
    found: pl.InOut[pl.BOOL]
    looks: pl.State[pl.INT]

    def compute(self, worker: int) -> None:
        if worker >= self.looks and self.found:
            return
        if self.x[worker] > 3:
            self.found = True


class Stored(pl.MultiVertex):
    """Stores NaN by all workers, or zeros of both signs."""

    y: pl.Output[pl.FLOAT]
    is_nan: pl.State[pl.BOOL]

    def compute(self, worker: int) -> None:
        if self.is_nan:
            self.y = math.nan
        else:
            self.y = 0.0 if worker == 0 else -0.0


class LargeTimes(pl.MultiVertex):
    """Numbers that differ in bits above 32 only."""

    y: pl.Output[pl.UNSIGNED_LONGLONG]
    factor: pl.State[pl.INT]

    def compute(self, worker: int) -> None:
        self.y = (worker * self.factor) << 40


class RowsInPlace(pl.MultiVertex):
    """Turns rows by an element; each row is one worker's, or the first of `by` that of several."""

    rows: pl.InOut[pl.Vector[pl.Vector[pl.HALF]]]
    by: pl.State[pl.INT]

    def compute(self, worker: int) -> None:
        row = self.rows[worker // self.by]
        first = row[0]
        for i in range(len(row) - 1):
            row[i] = row[i + 1]
        row[len(row) - 1] = first


_LARGE = 2**40 + np.arange(7)
_ROWS = np.arange(30).reshape(6, 5)

CASES = [
    (SwapPairs, {"step": 2}, {"step": 1}, {"x": range(6)}, {"x": [1, 0, 3, 2, 5, 4]}),
    (Mirror, {"end": 3}, {"end": 7}, {"x": _LARGE}, {"x": _LARGE[::-1]}),
    (RunningSums, {"blocks": 1}, {"blocks": 3}, {"x": [1] * 9}, {"x": range(1, 10)}),
    (InLanes, {"width": 8}, {"width": 9}, {"x": range(32)}, {"x": range(0, 64, 2)}),
    (Found, {"looks": 6}, {"looks": 2}, {"x": [9] * 6, "found": False}, {"found": True}),
    (Stored, {"is_nan": True}, {"is_nan": False}, {"y": 1}, {"y": math.nan}),
    (LargeTimes, {"factor": 0}, {"factor": 1}, {"y": 1}, {"y": 0}),
    (RowsInPlace, {"by": 1}, {"by": 2}, {"rows": _ROWS}, {"rows": np.roll(_ROWS, -1, 1)}),
]


@interpreted_sooner
@pytest.mark.parametrize("is_apart", [False, True])
@pytest.mark.parametrize(
    ("vertex", "right", "wrong", "start", "expected"),
    CASES,
    ids=[each[0].__name__ for each in CASES],
)
def test_workers_with_elements_of_their_own_and_one_too_many(
    vertex: type[pl.Vertex],
    right: dict[str, Any],
    wrong: dict[str, Any],
    start: dict[str, Any],
    expected: dict[str, Any],
    is_apart: bool,
    interpret: bool,
) -> None:
    """`is_apart`: every second element of a variable, so that fields are gathered."""
    graph = pl.Graph(pl.Target(tiles=1))
    fields = {}
    for name, values in start.items():
        held = np.repeat(np.array(values)[..., np.newaxis], 2 if is_apart else 1, axis=-1)
        kind = vertex.fields[name].element
        fields[name] = graph.add_variable(kind, held.shape, name, mapping=0, initial_value=held)
    programs = {}
    for which, state in (("right", right), ("wrong", wrong)):
        work = graph.add_compute_set(which)
        own = {name: each[..., 0] for name, each in fields.items()}
        graph.add_vertex(work, vertex, tile=0, **own, **state)
        programs[which] = pl.Execute(work)
    engine = pl.Engine(graph, programs, interpret=interpret, options={"debug.instrument": False})
    with pytest.raises(
        pl.WorkerRaceError, match=f"^vertex 0 of '{vertex.__name__}' on tile 0: worker "
    ):
        engine.run("wrong")
    for name, values in start.items():  # as before
        np.testing.assert_array_equal(engine.read(fields[name])[..., 0], np.array(values))
    engine.run("right")
    for name, values in expected.items():
        np.testing.assert_array_equal(engine.read(fields[name])[..., 0], np.array(values))


class Backwards(pl.MultiVertex):
    x: pl.Input[pl.Vector[pl.INT]]
    y: pl.Output[pl.Vector[pl.INT]]

    def compute(self, worker: int) -> None:
        for i in range(worker, len(self.y), self.num_workers):
            self.y[i] = self.x[len(self.x) - 1 - i]


class BackwardsInPlace(pl.MultiVertex):
    x: pl.Input[pl.Vector[pl.INT]]
    y: pl.InOut[pl.Vector[pl.INT]]

    def compute(self, worker: int) -> None:
        for i in range(worker, len(self.y), self.num_workers):
            self.y[i] = self.x[len(self.x) - 1 - i]


@interpreted_sooner
def test_an_input_of_all_workers_that_an_output_overlaps(interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (8,), "x", mapping=0, initial_value=np.arange(8))
    part = graph.add_variable(pl.INT, (8,), "part", mapping=0, initial_value=np.arange(8))
    work = graph.add_compute_set("backwards")
    graph.add_vertex(work, Backwards, tile=0, x=x, y=x)
    graph.add_vertex(work, Backwards, tile=0, x=part[:5], y=part.reverse(0)[2:7])
    options = {"debug.instrument": False}
    engine = pl.Engine(graph, pl.Execute(work), interpret=interpret, options=options)
    engine.run()
    assert engine.read(x).tolist() == [7, 6, 5, 4, 3, 2, 1, 0]
    assert engine.read(part).tolist() == [0, 0, 1, 2, 3, 4, 6, 7]


def test_an_input_of_all_workers_that_is_changed_in_place() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (8,), "x", mapping=0, initial_value=0)
    work = graph.add_compute_set("backwards")
    graph.add_vertex(work, BackwardsInPlace, tile=0, x=x[:5].reverse(0), y=x[3:])
    what = (
        "Input 'x' of vertex 0 of 'BackwardsInPlace' on tile 0 shares elements with its InOut 'y'"
    )
    with pytest.raises(pl.GraphConnectionError, match=what) as caught:
        pl.Engine(graph, pl.Execute(work), options={"debug.instrument": False})
    assert "'x'[3" in caught.value.found
