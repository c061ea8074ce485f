"""What strict checks find by the values that stand in for unwritten elements, and by the text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep, values_only
from helpers.running import both_forms
from poplite.simulator.strict.element_table import FILLS, numbers_of
from poplite.vertex.compute import flow_of, loops_of


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
        if not field.is_implicit  # the metadata of a QUARTER
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
    assert [flow_of(Swap).passes_on(name) for name in "yuw"] == [True] * 3
    assert not any(flow_of(cls).passes_on("y") for cls in (AddTo, AddUp, Turns, CountNegative))
    assert not any(flow_of(cls).passes_on("y") for cls in (Larger, Turned, IsOdd))


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
