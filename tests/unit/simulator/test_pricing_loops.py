"""Automatic estimates of loops: those of the fit, as vertices; addresses that they walk along."""

from __future__ import annotations

import llvmlite.binding as llvm
import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.vertices import MK2, Dot, slots
from poplite.simulator.pricing.blocks import Pointers, blocks_of, loops_of, pointers_of
from poplite.simulator.pricing.class_slots import slots_of
from poplite.vertex.fields import fields_of

MK1 = pl.Target(architecture="gc2")


class Triad(pl.Vertex):
    """STREAM triad with a constant factor and a bound that the compiler does not know."""

    n: pl.State[pl.INT]
    a: pl.Output[pl.Vector[pl.FLOAT]]
    b: pl.Input[pl.Vector[pl.FLOAT]]
    c: pl.Input[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(self.n):
            self.a[i] = self.b[i] + 3.0 * self.c[i]


class Shift(pl.Vertex):
    """x += c, up to a number."""

    n: pl.State[pl.INT]
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(self.n):
            self.x[i] += 1.5


class Heat3(pl.Vertex):
    """A row of the heat equation in three dimensions, its neighbours being rows of their own."""

    alpha: pl.State[pl.FLOAT]
    depth: pl.State[pl.INT]
    centre: pl.Input[pl.Vector[pl.FLOAT]]
    north: pl.Input[pl.Vector[pl.FLOAT]]
    south: pl.Input[pl.Vector[pl.FLOAT]]
    east: pl.Input[pl.Vector[pl.FLOAT]]
    west: pl.Input[pl.Vector[pl.FLOAT]]
    new: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        beta = 1.0 - 6.0 * self.alpha
        for z in range(1, self.depth - 1):
            near = self.north[z] + self.south[z] + self.east[z] + self.west[z]
            near = self.centre[z - 1] + self.centre[z + 1] + near
            self.new[z] = beta * self.centre[z] + self.alpha * near


class Blur(pl.Vertex):
    """Gaussian blur of pixels of four channels."""

    width: pl.State[pl.INT]
    height: pl.State[pl.INT]
    old: pl.Input[pl.Vector[pl.FLOAT]]
    new: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        row = 4 * self.width
        for y in range(1, self.height - 1):
            for x in range(1, self.width - 1):
                for channel in range(4):
                    i = y * row + 4 * x + channel
                    north = self.old[i - row - 4] + self.old[i - row + 4]
                    south = self.old[i + row - 4] + self.old[i + row + 4]
                    sides = self.old[i - row] + self.old[i - 4]
                    sides = sides + self.old[i + 4] + self.old[i + row]
                    edges = 0.0625 * (north + south) + 0.125 * sides
                    self.new[i] = edges + 0.25 * self.old[i]


class Heat2(pl.Vertex):
    """The heat equation on rows."""

    alpha: pl.State[pl.FLOAT]
    old: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    new: pl.Output[pl.Vector[pl.Vector[pl.FLOAT]]]

    def compute(self) -> None:
        for r in range(len(self.new)):
            for c in range(len(self.new[r])):
                near = self.old[r][c + 1] + self.old[r + 2][c + 1]
                near = near + self.old[r + 1][c] + self.old[r + 1][c + 2]
                self.new[r][c] = self.alpha * self.old[r + 1][c + 1] + 0.1 * near


# What the reference model says of the loops that it was fitted to, per unit: auto-cycles, section
# 4.  Blur is of four channels, priced for a machine of one pipe; addresses are free in it, where
# the reference left seven additions.
@pytest.mark.parametrize(
    ("cls", "target", "name", "model"),
    [
        (Blur, MK1, "width", 85.0),
        (Triad, MK1, "n", 6.0),
        (Dot, MK2, "a", 4.0),
        (Shift, MK2, "n", 4.0),
        (Heat3, MK2, "depth", 14.1),
    ],
)
def test_loops_are_priced_as_the_reference_model_does(
    cls: type[pl.Vertex], target: pl.Target, name: str, model: float
) -> None:
    few = slots(cls, target, **{name: 100, "height": 3})
    more = slots(cls, target, **{name: 1100, "height": 3})
    assert (more - few) / 1000 == pytest.approx(model, rel=0.05)


def test_a_pair_of_pipes_saves_what_the_share_of_pairs_allows() -> None:
    one, two = slots(Triad, MK1, n=1000), slots(Triad, MK2, n=1000)
    # Of 6 instructions of an iteration, 5 slots if all is paired that can be.
    assert (one - two) / 1000 == pytest.approx(0.65, abs=0.01)
    all_pairs = pl.Target(costs={"pairing": 1.0})
    assert slots(Triad, all_pairs, n=1000) - slots(Triad, all_pairs, n=0) == 5 * 1000


@pytest.mark.parametrize(
    ("cls", "formula"),
    [
        (Dot, "11 + 4 len(a)"),
        (Heat2, "11 + 18 len(new) + 10.41 len(new) len(new[0])"),
        (Shift, "10 + 4 n"),
    ],
)
def test_affine_loops_have_formulas(cls: type[pl.Vertex], formula: str) -> None:
    words = sum({"rows": 2, "nothing": 0}.get(each.kind, 1) for each in fields_of(cls))
    priced = slots_of(cls, np.ones((1, words), np.int64), MK2)
    assert (priced.formula, priced.source) == (formula, "estimated")


def test_formulas_are_what_is_taken() -> None:
    # 11 + 18 R + 10.41 R C, with 10.40625 in full.
    for rows, columns in ((1, 1), (2, 7), (40, 31)):
        expected = 11 + 18 * rows + (10 + 26 / 64) * rows * columns
        assert slots(Heat2, new=(rows, columns), old=(rows + 2, columns + 2)) == round(expected)


def test_the_hardware_repeats_loops_within_its_counter_only() -> None:
    limit = int(MK2.cost("repeat_limit"))
    within, beyond = slots(Dot, a=limit), slots(Dot, a=limit + 1)
    assert within == 11 + 4 * limit
    assert beyond == 11 + 5 * (limit + 1)
    assert slots(Dot, MK1, a=100) - slots(Dot, MK1, a=99) == 5  # there are no repeats on Mk1


# -- addresses that loops walk along: what is free, and what a row takes ---------------------------


FARTHEST = int(pl.Target().cost("farthest_step"))


def nest(body: str, row: str = "") -> Pointers:
    """Return what is known of two loops: `row` in the outer one, `body` in the inner one."""
    module = llvm.parse_assembly(f"""
define void @priced(ptr %x, ptr %y, i64 %n, i64 %m) {{
entry:
  br label %outer
outer:
  %r = phi i64 [ 0, %entry ], [ %r.next, %outer.end ]
  {row}
  br label %inner
inner:
  %i = phi i64 [ 0, %outer ], [ %i.next, %inner ]
  {body}
  %i.next = add i64 %i, 1
  %i.done = icmp eq i64 %i.next, %n
  br i1 %i.done, label %outer.end, label %inner
outer.end:
  %r.next = add i64 %r, 1
  %r.done = icmp eq i64 %r.next, %m
  br i1 %r.done, label %end, label %outer
end:
  ret void
}}""")
    blocks = blocks_of(module.get_function("priced"))
    return pointers_of(blocks, loops_of(blocks), FARTHEST)


ROW = "%row = mul i64 %r, %n"
LOADED = """%p = getelementptr float, ptr %x, i64 %at
  %v = load float, ptr %p, align 4"""


def test_a_row_is_one_pointer_whatever_its_offsets() -> None:
    found = nest(
        """%at = add i64 %i, %row
  %p = getelementptr float, ptr %x, i64 %at
  %v = load float, ptr %p, align 4
  %q = getelementptr i8, ptr %p, i64 8
  %w = load float, ptr %q, align 4
  %odd = or disjoint i64 %at, 1
  %o = getelementptr float, ptr %x, i64 %odd
  store float %v, ptr %o, align 4""",
        ROW,
    )
    assert found == Pointers(frozenset({"at", "odd", "row"}), {"outer": 1})


def test_each_row_has_its_pointer() -> None:
    below = """%p.below = getelementptr float, ptr %p, i64 %n
  %w = load float, ptr %p.below, align 4
  %q = getelementptr float, ptr %y, i64 %at
  store float %w, ptr %q, align 4"""
    found = nest(f"%at = add i64 %i, %row\n{LOADED}\n{below}", ROW)
    assert found.made == {"outer": 3}


def test_what_no_outer_loop_changes_needs_no_pointer_anew() -> None:
    found = nest(f"%at = add i64 %i, %m\n{LOADED}")
    assert found == Pointers(frozenset({"at"}), {})


def test_what_stays_where_it_is_in_a_row_is_a_pointer_too() -> None:
    body = """%q = getelementptr float, ptr %y, i64 %r
  %v = load float, ptr %q, align 4"""
    assert nest(body).made == {"outer": 1}


@pytest.mark.parametrize(
    "body",
    [
        # A number from memory.
        """%k = load i64, ptr %y, align 8
  %at = add i64 %k, %i""",
        # Steps that differ from row to row.
        "%at = mul i64 %i, %row",
        # Numbers that no sum makes.
        "%at = xor i64 %i, %row",
        "%at = or i64 %i, %row",
        """%square = mul i64 %i, %i
  %at = sub i64 %i, %square""",
        # Shifts that no number of 64 bits can take.
        """%more = add i64 %n, 1
  %less = sub i64 %n, %more
  %at = shl i64 %i, %less""",
        "%at = shl i64 %i, 64",
    ],
)
def test_other_addresses_are_computed(body: str) -> None:
    found = nest(f"{body}\n{LOADED}", ROW if "%row" in body else "")
    assert found == Pointers(frozenset(), {})


@pytest.mark.parametrize(("step", "free"), [(1, True), (FARTHEST, True), (FARTHEST + 1, False)])
def test_accesses_move_on_by_so_many_elements(step: int, free: bool) -> None:
    assert nest(f"%at = mul i64 %i, {step}\n{LOADED}").free == ({"at"} if free else frozenset())


def test_steps_are_in_elements_of_what_is_loaded() -> None:
    narrow = """%at = mul i64 %i, 128
  %p = getelementptr half, ptr %x, i64 %at
  %v = load {kind}, ptr %p, align 4"""
    assert nest(narrow.format(kind="half")).free == frozenset()
    assert nest(narrow.format(kind="float")).free == {"at"}


def test_numbers_of_64_bits_are_walked_along() -> None:
    wide = """%at = add i64 %i, %m
  %p = getelementptr i64, ptr %x, i64 %at
  %v = load i64, ptr %p, align 8"""
    assert nest(wide).free == {"at"}


@pytest.mark.parametrize(
    "use",
    [
        "store i64 %at, ptr %y, align 8",
        "store i64 %at, ptr %p, align 8",
        "%c = icmp eq i64 %at, %m",
        "%f = sitofp i64 %at to float",
    ],
)
def test_numbers_with_another_use_are_computed(use: str) -> None:
    found = nest(f"%at = add i64 %i, %row\n{LOADED}\n  {use}", ROW)
    assert found == Pointers(frozenset(), {"outer": 1})


def test_what_is_before_all_loops_is_computed() -> None:
    module = llvm.parse_assembly("""
define void @priced(ptr %x, i64 %n) {
entry:
  %far = add i64 %n, 3
  br label %loop
end:
  ret void
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = add i64 %i, %far
  %p = getelementptr float, ptr %x, i64 %at
  %v = load float, ptr %p, align 4
  %next = add i64 %i, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %end, label %loop
}""")
    blocks = blocks_of(module.get_function("priced"))
    assert pointers_of(blocks, loops_of(blocks), FARTHEST) == Pointers(frozenset(("at",)), {})


@given(
    st.permutations(["%i", "%row", "%n", "%m"]),
    st.lists(st.tuples(st.integers(0, 2), st.integers(-9, 9)), min_size=3, max_size=3),
)
def test_order_of_a_sum_does_not_matter(terms: list[str], order: list[tuple[int, int]]) -> None:
    lines = []
    for number, (place, constant) in enumerate(order):
        k = min(place, len(terms) - 2)
        lines.append(f"%s{number} = add i64 {terms[k]}, {terms[k + 1]}")
        lines.append(f"%c{number} = add i64 %s{number}, {constant}")
        terms[k : k + 2] = [f"%c{number}"]
    found = nest("\n".join(lines) + "\n" + LOADED.replace("%at", terms[0]), ROW)
    sums = {f"{kind}{number}" for kind in "sc" for number in range(3)}
    assert found == Pointers(frozenset(sums | {"row"}), {"outer": 1})


def pointers(body: str) -> Pointers:
    """Return what is known of a function with these blocks."""
    module = llvm.parse_assembly(f"define void @priced(ptr %x, i64 %n, i64 %m) {{\n{body}\n}}")
    blocks = blocks_of(module.get_function("priced"))
    return pointers_of(blocks, loops_of(blocks), FARTHEST)


def test_rows_of_a_loop_that_follows_another_are_made_before_both() -> None:
    found = pointers("""
entry:
  br label %outer
outer:
  %r = phi i64 [ 0, %entry ], [ %r.next, %outer.end ]
  %row = mul i64 %r, %n
  br label %first
first:
  %i = phi i64 [ 0, %outer ], [ %i.next, %first ]
  %i.next = add i64 %i, 1
  %i.done = icmp eq i64 %i.next, %n
  br i1 %i.done, label %second, label %first
second:
  %k = phi i64 [ 0, %first ], [ %k.next, %second ]
  %at = add i64 %k, %row
  %p = getelementptr float, ptr %x, i64 %at
  store float 1.0, ptr %p, align 4
  %k.next = add i64 %k, 1
  %k.done = icmp eq i64 %k.next, %n
  br i1 %k.done, label %outer.end, label %second
outer.end:
  %r.next = add i64 %r, 1
  %r.done = icmp eq i64 %r.next, %m
  br i1 %r.done, label %end, label %outer
end:
  ret void""")
    assert found.made == {"outer": 1}


def test_what_a_loop_before_found_is_no_row() -> None:
    found = pointers("""
entry:
  br label %first
first:
  %i = phi i64 [ 0, %entry ], [ %i.next, %first ]
  %i.next = add i64 %i, 3
  %i.done = icmp ugt i64 %i.next, %n
  br i1 %i.done, label %between, label %first
between:
  br label %second
second:
  %k = phi i64 [ 0, %between ], [ %k.next, %second ]
  %at = add i64 %k, %i
  %p = getelementptr float, ptr %x, i64 %at
  store float 1.0, ptr %p, align 4
  %k.next = add i64 %k, 1
  %k.done = icmp eq i64 %k.next, %n
  br i1 %k.done, label %end, label %second
end:
  ret void""")
    assert found == Pointers(frozenset({"at"}), {})


@pytest.mark.parametrize(
    ("again", "free"), [("%i.next", True), ("0", False), ("%m", False), ("%far", False)]
)
def test_a_loop_that_goes_on_from_two_places_moves_alike(again: str, free: bool) -> None:
    found = pointers(f"""
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ {again}, %loop ], [ %i.next, %other ]
  %at = add i64 %i, %m
  %p = getelementptr float, ptr %x, i64 %at
  %v = load float, ptr %p, align 4
  %i.next = add i64 %i, 1
  %far = add i64 %i, 2
  %c = fcmp ogt float %v, 0.0
  br i1 %c, label %loop, label %other
other:
  %done = icmp eq i64 %i.next, %n
  br i1 %done, label %end, label %loop
end:
  ret void""")
    assert ("at" in found.free) == free


class Steps(pl.Vertex):
    """Copies rows by numbers that go on from row to row."""

    x: pl.Input[pl.Vector[pl.LONGLONG]]
    y: pl.Output[pl.Vector[pl.LONGLONG]]
    rows: pl.State[pl.INT]

    def compute(self) -> None:
        for r in range(self.rows):
            for c in range(8 * r, 8 * r + self.rows):
                self.y[c] = self.x[c]


def test_where_a_row_begins_is_a_pointer_as_well() -> None:
    shapes = np.array([[90, 90, 9]])
    free, two = (
        slots_of(Steps, shapes, pl.Target(costs={"slot_row_pointer": each})).slots.item()
        for each in (0, 2)
    )
    assert two - free == 9 * 2 * 2


class Blend(pl.Vertex):
    """Two rows are blended into one."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]
    rows: pl.State[pl.INT]
    columns: pl.State[pl.INT]

    def compute(self) -> None:
        for r in range(self.rows):
            for c in range(self.columns):
                at = r * self.columns + c
                self.y[at] = self.x[at] + self.x[at + self.columns]


@pytest.mark.parametrize("each", [0, 4, 10])
def test_rows_take_what_the_machine_says(each: int) -> None:
    target = pl.Target(costs={"slot_row_pointer": each})
    shapes = np.array([[20, 20, rows, 5] for rows in (1, 2, 3)])
    one, two, three = slots_of(Blend, shapes, target).slots.tolist()
    # A row has three pointers and two branches; an element two loads, an addition, a store, a
    # branch, of which the addition runs beside nothing.
    assert two - one == three - two == 3 * each + 2 + 5 * 5
