"""Automatic estimates: what they count, what they leave, where they guess; code of odd forms."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import poplite as pl
from helpers.depth import deep
from helpers.vertices import MK2, Dot, Sort, slots
from poplite.ops.fuse.classes import class_of
from poplite.ops.fuse.recipe import Body, Line, ReductionRecipe
from poplite.simulator.pricing.class_slots import is_data_dependent, slots_of
from poplite.vertex.compute.meaning import meaning_of


class Bump(pl.Vertex):
    """Adds to integers, as many as a number in memory says."""

    n: pl.InOut[pl.INT]
    x: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        i = 0
        while i < self.n:
            self.x[i] += 1
            i += 1


class Triangle(pl.Vertex):
    """Sums that get longer."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        total = 0.0
        for i in range(len(self.x)):
            for j in range(i):
                total += self.x[j]
        self.y = total


class Pairs(pl.Vertex):
    """Two elements at a time, and one that may be left over."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        half = len(self.x) // 2
        for i in range(half):
            self.x[2 * i] += 1.0
            self.x[2 * i + 1] += 1.0
        if len(self.x) % 2 == 1:
            self.x[len(self.x) - 1] += 1.0


class Primes(pl.Vertex):
    """Primes below a number: what is done depends on no data."""

    n: pl.State[pl.INT]
    found: pl.Output[pl.INT]

    def compute(self) -> None:
        count = 0
        for i in range(2, self.n):
            d = 2
            while d * d <= i and i % d != 0:
                d += 1
            if d * d > i:
                count += 1
        self.found = count


class Forever(pl.Vertex):
    """Ends for some numbers only."""

    n: pl.State[pl.INT]
    y: pl.Output[pl.INT]

    def compute(self) -> None:
        i = self.n
        while i != 1:
            i = i // 2 if i % 2 == 0 else 3 * i + 1
        self.y = i


class Scale(pl.MultiVertex):
    """The workers of a tile take turns."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self, worker: int) -> None:
        for i in range(worker, len(self.x), self.num_workers):
            self.x[i] = self.x[i] * 2.0


def test_formulas_have_higher_degrees_and_remainders() -> None:
    one = np.ones((1, 1), np.int64)
    triangle = slots_of(Triangle, one, MK2).formula
    assert triangle is not None
    assert triangle.endswith("len(x)^2")
    pairs = slots_of(Pairs, one, MK2).formula
    assert pairs is not None
    even, odd = pairs.split("; ")
    assert even.endswith("for len(x) % 2 == 0")
    assert odd.endswith("for len(x) % 2 == 1")
    assert slots_of(Primes, one, MK2).formula is None


def test_control_flow_without_data_is_followed() -> None:
    assert not is_data_dependent(Primes, MK2)
    divisions = 0
    for i in range(2, 30):
        d = 2
        while d * d <= i:
            divisions += d > 2  # a remainder by 2 is a bit
            if i % d == 0:
                break
            d += 1
    taken = slots(Primes, n=30)  # nearly all of it is division
    assert 270 * divisions < taken < 280 * divisions + 20 * 28
    assert slots(Primes, n=31) > taken


@pytest.mark.parametrize("cls", [Sort, Bump])
def test_data_that_decide_make_a_guess(cls: type[pl.Vertex]) -> None:
    assert is_data_dependent(cls, MK2)
    priced = slots_of(cls, np.full((1, 1), 100, np.int64), MK2)
    assert (priced.source, priced.formula) == ("guessed", None)


def test_a_guess_is_what_is_taken_where_all_data_are_zero() -> None:
    # Sorted already: a comparison for each element behind the first.
    step = slots(Sort, x=101) - slots(Sort, x=100)
    assert 4 <= step <= 12
    assert slots(Bump, x=100) == slots(Bump, x=0) < 20


def test_what_may_never_end_is_left() -> None:
    priced = slots_of(Forever, np.array([[1], [6], [0]], np.int64), MK2)
    assert priced.source == "guessed"
    assert priced.slots[0] < priced.slots[1] < 5_000
    assert priced.slots[2] == 1 << 27


def test_a_multivertex_takes_what_its_slowest_worker_does() -> None:
    seven = slots(Scale, x=7)
    assert seven == slots(Scale, x=12) > slots(Scale, x=6)  # the first worker has two elements
    overhead = int(MK2.cost("supervisor_overhead"))
    assert (seven - overhead) % MK2.workers == 0
    # Addition, comparison and branch; no division for the number of iterations.
    per_element = (slots(Scale, x=6006) - slots(Scale, x=6)) / 1000
    assert per_element == pytest.approx(6 * 5.35, rel=0.01)
    assert slots(Scale, x=6) < 6 * 30 + overhead


def test_longer_fields_never_take_less() -> None:
    lengths = np.arange(0, 300, dtype=np.int64)
    for cls in (Triangle, Pairs, Sort):
        taken = slots_of(cls, lengths[:, None], MK2).slots
        assert (np.diff(taken) >= 0).all(), cls


def test_many_shapes_are_priced_at_once_and_alike() -> None:
    shapes = np.random.default_rng(3).integers(0, 5000, (10_000, 2))
    taken = slots_of(Dot, shapes, MK2).slots
    assert np.array_equal(taken, slots_of(Dot, shapes, MK2).slots)
    for k in (0, 17, 9_999):
        assert taken[k] == slots(Dot, a=int(shapes[k, 0]), b=int(shapes[k, 1]))


def test_helpers_half_and_calls_have_prices() -> None:
    class Mixed(pl.Vertex):
        x: pl.Input[pl.Vector[pl.HALF]]
        y: pl.Output[pl.Vector[pl.HALF]]
        k: pl.State[pl.FLOAT]

        def squashed(self, value: float) -> float:
            return 1.0 / (1.0 + math.exp(-value)) + math.tanh(value) * math.sqrt(abs(value))

        def compute(self) -> None:
            for i in range(len(self.x)):
                value = self.squashed(self.k * self.x[i]) + math.log(2.0 + self.x[i])
                self.y[i] = max(math.sin(value), math.cos(value)) + math.floor(value)

    step = slots(Mixed, x=11) - slots(Mixed, x=10)
    assert step > 2 * MK2.cost("slot_sin") + MK2.cost("slot_narrow_store")
    assert step < 3 * MK2.cost("slot_sin")


def test_a_product_rounded_with_its_sum_is_a_call_of_the_library() -> None:
    class Fused(pl.Vertex):
        x: pl.InOut[pl.Vector[pl.FLOAT]]
        wide: pl.State[pl.BOOL]

        def compute(self) -> None:
            if self.wide:
                self.x.set_lanes(0, pl.fma(self.x.lanes(0, 8), 0.5, self.x.lanes(2, 8)))
            else:
                for i in range(len(self.x)):
                    self.x[i] = pl.fma(self.x[i], 0.5, 0.25)

    call = MK2.cost("slot_fma")
    step = slots(Fused, x=11, wide=False) - slots(Fused, x=10, wide=False)
    assert call < step < call + 10
    assert 8 * call < slots(Fused, x=11, wide=True) < 9 * call


def test_loops_over_zeros_are_no_calls_of_the_library() -> None:
    class Clear(pl.Vertex):
        x: pl.Output[pl.Vector[pl.FLOAT]]

        def compute(self) -> None:
            for i in range(len(self.x)):
                self.x[i] = 0.0

    assert slots(Clear, x=11) - slots(Clear, x=10) == 1  # one store, repeated


def test_constant_loops_are_written_out() -> None:
    class Taps(pl.Vertex):
        x: pl.Input[pl.Vector[pl.FLOAT]]
        w: pl.State[pl.Vector[pl.FLOAT]]
        y: pl.Output[pl.Vector[pl.FLOAT]]

        def compute(self) -> None:
            for i in range(len(self.y)):
                total = 0.0
                for k in range(3):
                    total += self.w[k] * self.x[i + k]
                self.y[i] = total

    # 7 accesses and 6 floats; no branches of the inner loop.
    assert slots(Taps, y=101) - slots(Taps, y=100) <= 13


def test_what_prints_is_never_compiled() -> None:
    class Talks(pl.Vertex):
        x: pl.Input[pl.FLOAT]

        def compute(self) -> None:
            print(self.x)

    priced = slots_of(Talks, np.zeros((1, 0), np.int64), MK2)
    assert (priced.slots.tolist(), priced.source) == ([8], "guessed")


SCRIPT = """
import sys
import numpy as np
import poplite as pl
from poplite.simulator.pricing.class_slots import slots_of

class Twice(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = 2.0 * self.x[i]

priced = slots_of(Twice, np.array([[10], [100]]), pl.Target())
print(priced.slots.tolist(), priced.source, priced.formula, "numba" in sys.modules)
"""


def test_a_second_process_prices_alike_and_without_numba(tmp_path: Path) -> None:
    script = tmp_path / "twice.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "POPLITE_CACHE_DIR": str(tmp_path / "cache")}

    def run() -> str:
        command = [sys.executable, str(script)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    assert run() == "[40, 310] estimated 10 + 3 len(x) True"
    assert run() == "[40, 310] estimated 10 + 3 len(x) False"


def test_a_long_compute_has_a_price() -> None:
    """LLVM would call it, and not put it into the function that is priced."""
    lines = [Line("multiply", pl.FLOAT, ("a0", "a1"))]
    lines += [Line("multiply", pl.FLOAT, (f"v{n}", "a1")) for n in range(255)]
    body = Body(tuple(lines), "v255", (pl.FLOAT, pl.FLOAT), ())
    cls = class_of(ReductionRecipe(body, (), "add", pl.FLOAT, is_columns=False))
    few, many = (slots(cls, out=1, x0=n, x1=n) for n in (100, 200))
    assert many - few > 100 * 256


# -- automatic estimates of code that is written seldom: they end, and leave nothing out -----------


MOST = 1 << 27


class Misses(pl.Vertex):
    """Ends for even numbers only."""

    n: pl.State[pl.INT]
    y: pl.Output[pl.INT]

    def compute(self) -> None:
        i = 0
        steps = 0
        while i != self.n:
            i += 2
            steps += 1
        self.y = steps


class MissesLength(pl.Vertex):
    """The same, and its hardware loop would be free."""

    x: pl.Input[pl.Vector[pl.INT]]
    y: pl.Output[pl.INT]

    def compute(self) -> None:
        i = 0
        while i != len(self.x):
            i += 2
        self.y = i


class Often(pl.Vertex):
    """Runs longer than anybody waits, where all data are zero."""

    x: pl.Input[pl.Vector[pl.INT]]
    y: pl.Output[pl.INT]

    def compute(self) -> None:
        count = 0
        for i in range(2_000_000_000 - self.x[0]):
            for j in range(2_000_000_000 - self.x[1]):
                if self.x[2] == 7 + i * j:
                    count += 1
                    break
        self.y = count


class All(pl.Vertex):
    """Only returns something."""

    x: pl.Input[pl.Vector[pl.INT]]

    def compute(self) -> bool:
        for i in range(len(self.x)):  # noqa: SIM110  (compiled: there are no generators)
            if self.x[i] < 0:
                return False
        return True


class Refuses(pl.Vertex):
    """Does nothing but raise exceptions."""

    x: pl.Input[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            if self.x[i] < 0:
                raise ValueError("less than none")


class Quotients(pl.Vertex):
    """Divides by data."""

    a: pl.Input[pl.Vector[pl.INT]]
    b: pl.Input[pl.Vector[pl.INT]]
    y: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = self.a[i] // self.b[i]


class Remainders(pl.Vertex):
    """The remainders of floats, and numbers that stop at zero."""

    a: pl.Input[pl.Vector[pl.FLOAT]]
    b: pl.Input[pl.Vector[pl.UNSIGNED_INT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = self.a[i] % 2.5 + float(max(self.b[i], 7) - 7)


class Between(pl.Vertex):
    """Compares three values."""

    a: pl.Input[pl.Vector[pl.INT]]
    y: pl.Output[pl.Vector[pl.BOOL]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = 0 < self.a[i] < self.a[i + 1]


@deep
def test_loops_that_miss_their_bound_are_left() -> None:
    priced = slots_of(Misses, np.array([[8], [-3]]), MK2)
    assert (priced.source, priced.formula) == ("guessed", None)
    assert priced.slots[0] < 30
    assert priced.slots[1] == MOST
    assert slots_of(Misses, np.array([[8]]), MK2).source == "estimated"


@deep
def test_loops_of_nothing_are_left_as_well() -> None:
    taken = slots_of(MissesLength, np.array([[8], [7]]), MK2).slots.tolist()
    assert taken[0] < 30
    assert taken[1] == MOST


def test_what_takes_too_long_on_zeros_is_left() -> None:
    assert slots_of(Often, np.array([[5]]), MK2).slots.tolist() == [MOST]


@pytest.mark.parametrize("cls", [All, Refuses])
def test_what_only_decides_how_it_ends_is_priced(cls: type[pl.Vertex]) -> None:
    assert is_data_dependent(cls, MK2)
    short, long = slots_of(cls, np.array([[10], [110]]), MK2).slots.tolist()
    assert 200 < long - short < 1200


def test_zeros_are_divided_by_like_other_numbers() -> None:
    assert not is_data_dependent(Quotients, MK2)
    short, long = slots_of(Quotients, np.array([[9, 9, 10], [9, 9, 20]]), MK2).slots.tolist()
    divide = int(MK2.cost("slot_integer_divide"))
    assert 10 * divide < long - short < 20 * divide + 200


def test_remainders_and_saturating_numbers_have_prices() -> None:
    short, long = slots_of(Remainders, np.array([[9, 9, 10], [9, 9, 20]]), MK2).slots.tolist()
    assert long - short > 10 * MK2.cost("slot_integer_divide")


def test_comparisons_of_three_values_may_hang_on_data() -> None:
    assert is_data_dependent(Between, MK2)
    assert meaning_of(Between).flow.may_depend_on_data


class NamedLikeOurs(pl.Vertex):
    """Fields with words that the counting function may have for itself; data decide its steps."""

    taken: pl.Input[pl.Vector[pl.INT]]
    nowhere: pl.Input[pl.Vector[pl.INT]]
    arena: pl.Input[pl.Vector[pl.INT]]
    budget: pl.State[pl.INT]
    entry: pl.State[pl.INT]
    copy: pl.InOut[pl.Vector[pl.INT]]
    over: pl.Output[pl.INT]

    def compute(self) -> None:
        total = self.budget + self.entry
        while total < self.taken[0]:
            total += 1 + self.nowhere[total % len(self.nowhere)] + self.arena[0]
            self.copy[0] += 1
        self.over = total


def test_fields_may_have_any_names() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    names = ("taken", "nowhere", "arena", "copy")
    fields = {n: graph.add_variable(pl.INT, (3,), n, mapping=0, initial_value=9) for n in names}
    over = graph.add_variable(pl.INT, (), "over", mapping=0)
    work = graph.add_compute_set("work")
    graph.add_vertex(work, NamedLikeOurs, tile=0, budget=1, entry=2, over=over, **fields)
    engine = pl.Engine(graph, pl.Execute(work))
    engine.run()
    assert engine.read(over) == 22
    assert engine.report().cycles
