"""Memory of tiles: when variables are live, and where they are placed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples
from poplite.cost import liveness, step_cost
from poplite.cost.liveness import Lifetimes, lifetimes
from poplite.cost.memory_plan import Placing, alike
from poplite.graph.compute_sets.edge_table import edge_table
from poplite.jit import build
from poplite.program import If, Loop, Program, Repeat, RepeatWhile, Switch, WriteUndef
from poplite.report.per_tile import PerTile
from poplite.view import addresses

# -- liveness --------------------------------------------------------------------------------------


NAMES = "abcd"
SIZE = 4

Elements = frozenset[int]


class Pass(pl.Vertex):
    x: pl.Input[pl.Vector[pl.INT]]
    y: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.y[i] = self.x[i]


@dataclass
class Point:
    """A place that control passes: what it touches there, and where it may go next."""

    leaf: Program | None
    reads: Elements
    writes: Elements
    next: list[Point] = field(default_factory=list)
    after: set[int] = field(default_factory=set)

    @property
    def before(self) -> set[int]:
        return set(self.reads) | (self.after - self.writes)


class Walk:
    """All points of a program."""

    def __init__(self, program: Program) -> None:
        self.points: list[Point] = []
        self.first = self.enter(program, self.point(None))
        changed = True
        while changed:
            changed = False
            for point in self.points:
                after = set().union(*(then.before for then in point.next))
                changed |= after != point.after
                point.after = after

    def point(self, leaf: Program | None, *then: Point, reads: Sequence[pl.Tensor] = ()) -> Point:
        writes = () if leaf is None else leaf.writes
        of_set: dict[str, list[pl.Tensor]] = {"x": [], "y": []}
        if isinstance(leaf, pl.Execute):
            for vertex in leaf.compute_set.vertices:
                for name in "xy":
                    connected = vertex.connections[name]
                    of_set[name] += [connected] if isinstance(connected, pl.Tensor) else connected
        reads = [*(reads if leaf is None else leaf.reads), *of_set["x"]]
        made = Point(leaf, elements(reads), elements([*writes, *of_set["y"]]), list(then))
        self.points.append(made)
        return made

    def enter(self, program: Program, then: Point) -> Point:
        """Return where control enters a program after which it goes on somewhere."""
        if isinstance(program, Repeat) and program.count == 0:
            return then
        if isinstance(program, Repeat | Loop):
            again = self.point(None, then)
            first = self.enter(program.body, again)
            again.next += [first] if not isinstance(program, Repeat) or program.count > 1 else []
            return first
        if isinstance(program, RepeatWhile):
            decides = self.point(None, then, reads=[program.predicate])
            first = self.enter(program.condition, decides)
            decides.next.append(self.enter(program.body, first))
            return first
        if isinstance(program, If | Switch):
            scalar = program.decided_by
            assert scalar is not None
            ways = [self.enter(child, then) for child in program.children]
            return self.point(None, *ways, reads=[scalar])
        if program.children:
            for child in reversed(program.children):
                then = self.enter(child, then)
            return then
        return self.point(program, then) if program.num_steps else then


def elements(tensors: Sequence[pl.Tensor]) -> Elements:
    return frozenset(int(a) for t in tensors for a in addresses(t.view).ravel())


def expected(graph: pl.Graph, program: Program) -> tuple[dict[str, set[Program]], set[str]]:
    """Return the steps in which each variable is live, and those that always are."""
    walk = Walk(program)
    of_name = {v.name: set(range(v.storage.base, v.storage.base + v.num_elements))
               for v in graph.variables}  # fmt: skip
    after: dict[Program, set[int]] = {}
    touched: dict[Program, Point] = {}
    for point in walk.points:
        if point.leaf is not None:
            after.setdefault(point.leaf, set()).update(point.after)
            touched[point.leaf] = point
    live: dict[str, set[Program]] = {}
    always = set()
    for name, own in of_name.items():
        used = [
            point
            for point in walk.points
            if own & (point.reads | point.writes) and not isinstance(point.leaf, WriteUndef)
        ]
        unread = [
            leaf
            for leaf, point in touched.items()
            if own & point.writes and not own & after[leaf] and not isinstance(leaf, WriteUndef)
        ]
        if own & walk.first.before or not used or unread:
            always.add(name)
            continue
        live[name] = set()
        for leaf, point in touched.items():
            written: Elements = frozenset() if isinstance(leaf, WriteUndef) else point.writes
            if own & (after[leaf] | point.reads | written):
                live[name].add(leaf)
    return live, always


def found_by(graph: pl.Graph, found: Lifetimes) -> tuple[dict[str, set[Program]], set[str]]:
    steps = [step.program for _, step in found.steps]
    names = [variable.name for variable in graph.variables]
    live = {
        names[n]: {steps[k] for first, last in s for k in range(first, last + 1)}
        for n, s in found.live.items()
    }
    return live, {names[n] for n in found.always}


@st.composite
def programs(draw: st.DrawFn, *, shared: bool) -> tuple[pl.Graph, Program]:
    graph = pl.Graph(pl.Target(tiles=2))
    variables = [graph.add_variable(pl.INT, (SIZE,), name, mapping=0) for name in NAMES]
    scalar = graph.add_variable(pl.BOOL, (), "scalar", mapping=0)
    made: list[Program] = []

    def parts() -> tuple[pl.Tensor, pl.Tensor]:
        source, destination = draw(st.permutations(variables))[:2]
        count = draw(st.sampled_from([SIZE, SIZE, SIZE // 2]))
        here, there = (draw(st.sampled_from([0, SIZE - count])) for _ in range(2))
        return source[here : here + count], destination[there : there + count]

    def leaf() -> Program:
        kind = draw(st.sampled_from(["copy", "copy", "execute", "undef", "scalar", "print"]))
        x, y = parts()
        if kind == "execute":
            compute_set = graph.add_compute_set("pass")
            graph.add_vertex(compute_set, Pass, tile=0, x=x, y=y)
            return pl.Execute(compute_set)
        if kind == "undef":
            return WriteUndef(y)
        if kind == "scalar":
            return pl.Copy(graph.add_constant(pl.BOOL, (), True, mapping=0), scalar)
        return pl.PrintTensor(x) if kind == "print" else pl.Copy(x, y)

    def tree(depth: int) -> Program:
        if shared and made and draw(st.integers(0, 3)) == 0:
            return draw(st.sampled_from(made))
        kinds = ["sequence", "repeat", "if", "while", "switch", "loop"] if depth else []
        kind = draw(st.sampled_from([*kinds, "leaf"])) if depth < 3 else "sequence"
        below = depth - 1
        match kind:
            case "sequence":
                program: Program = pl.Sequence(
                    *(tree(below) for _ in range(draw(st.integers(0, 4))))
                )
            case "repeat":
                program = pl.Repeat(draw(st.integers(0, 3)), tree(below))
            case "loop":
                program = Loop(tree(below))
            case "if":
                program = If(scalar, tree(below), tree(below))
            case "while":
                program = pl.RepeatWhileTrue(tree(below), scalar, tree(below))
            case "switch":
                cases = {number: tree(below) for number in range(draw(st.integers(1, 2)))}
                control = graph.add_constant(pl.INT, (), 0, mapping=0)
                program = Switch(control, cases, tree(below))
            case _:
                program = leaf()
        made.append(program)
        return program

    return graph, tree(3)


@examples(150)
@given(programs(shared=False), st.booleans())
def test_lifetimes_are_those_of_a_walk(case: tuple[pl.Graph, Program], one_by_one: bool) -> None:
    """In one go, and a variable at a time."""
    graph, program = case
    live, always = expected(graph, program)
    constants = {v.name for v in graph.variables if v.constant}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(liveness, "BLOCK", 1 if one_by_one else liveness.BLOCK)
        found = found_by(graph, lifetimes(graph, {"main": program}, edge_table))
    assert found == ({n: s for n, s in live.items() if n not in constants}, always | constants)


@examples(150)
@given(programs(shared=True))
def test_parts_that_stand_in_several_places_live_no_shorter(
    case: tuple[pl.Graph, Program],
) -> None:
    graph, program = case
    live, always = expected(graph, program)
    found, kept = found_by(graph, lifetimes(graph, {"main": program}, edge_table))
    assert kept <= always | {v.name for v in graph.variables if v.constant}
    for name, steps in live.items():
        assert name in kept or steps <= found[name]


# -- addresses -------------------------------------------------------------------------------------


BORDER, LIMIT = 256, 384


@dataclass(frozen=True)
class Thing:
    align: int
    interleaved: bool
    first: int | None
    last: int
    sizes: tuple[int, int]


def _thing(align: int, upper: bool, first: int | None, more: int, sizes: tuple[int, int]) -> Thing:
    return Thing(align, upper, first, (first or 0) + more, sizes)


THINGS = st.lists(
    st.builds(
        _thing,
        st.sampled_from([1, 4, 8, 32]),
        st.sampled_from([False, False, False, True]),
        st.none() | st.integers(0, 4),
        st.integers(0, 3),
        st.tuples(*2 * [st.sampled_from([0, 1, 4, 12, 40, 100])]),
    ),
    max_size=12,
)


def placing_of(things: list[Thing]) -> Placing:
    steps = [None if t.first is None else ((t.first, t.last),) for t in things]
    aligns, upper = [t.align for t in things], [t.interleaved for t in things]
    return Placing(aligns, upper, steps, BORDER, LIMIT)


def placed(things: list[Thing]) -> tuple[list[dict[int, int]], list[int]]:
    """Return where things are on each of two tiles, by their number, and the bytes in use."""
    placing = placing_of(things)
    order = placing.order.tolist()
    there = [[n for n in order if things[n].sizes[tile]] for tile in range(2)]
    sizes = [things[n].sizes[tile] for tile in range(2) for n in there[tile]]
    places = np.array([order.index(n) for numbers in there for n in numbers], np.int64)
    counts = [len(numbers) for numbers in there]
    found, used = placing.addresses(np.array(sizes, np.int64), counts, places)
    sides = np.split(found, counts[:1])
    by_number = [dict(zip(n, f.tolist(), strict=True)) for n, f in zip(there, sides, strict=True)]
    return by_number, used.tolist()


def meet(one: Thing, other: Thing) -> bool:
    always = one.first is None or other.first is None
    return always or (one.first <= other.last and other.first <= one.last)  # type: ignore[operator]


@given(THINGS)
def test_what_is_needed_together_does_not_overlap(things: list[Thing]) -> None:
    found, used = placed(things)
    for tile in range(2):
        there = [(things[n], at, at + things[n].sizes[tile]) for n, at in found[tile].items()]
        assert len(there) == sum(thing.sizes[tile] > 0 for thing in things)
        for k, (thing, begin, end) in enumerate(there):
            assert begin % thing.align == 0
            assert begin >= (BORDER if thing.interleaved else 0)
            for other, its_begin, its_end in there[:k]:
                assert not meet(thing, other) or end <= its_begin or its_end <= begin
        if any(thing.interleaved for thing, _, _ in there):
            # The two parts of memory are told apart, and nothing lies in both.  What is free
            # below the border counts only where the other part has not enough.
            low = max([end for _, begin, end in there if begin < BORDER], default=0)
            high = max([end for _, begin, end in there if begin >= BORDER], default=BORDER)
            assert low <= BORDER
            assert used[tile] == (high if high > LIMIT else low + high - BORDER)
            assert (used[tile] > LIMIT) == (high > LIMIT)
        else:
            assert used[tile] == max([end for _, _, end in there], default=0)


@given(THINGS)
def test_compiled_and_not_the_addresses_are_the_same(things: list[Thing]) -> None:
    plain = placed(things)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(build, "FEW", -1)
        assert placed(things) == plain


@given(st.lists(st.lists(st.integers(0, 2), min_size=5, max_size=5), max_size=4), st.booleans())
def test_tiles_are_alike_that_hold_the_same(rows: list[list[int]], few: bool) -> None:
    spreads = [PerTile.of(np.array(row)) for row in rows]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(step_cost, "FEW", step_cost.FEW if few else 0)
        tiles, kinds = alike(spreads, 5)
    columns = [tuple(row[tile] for row in rows) for tile in range(5)]
    for tile in range(5):
        assert columns[tiles[kinds[tile]]] == columns[tile]
    assert len(tiles) == len(set(columns))


def test_many_steps_may_have_gaps_between_them() -> None:
    steps = [((0, 0), (5, 5)), ((2, 3),)]
    placing = Placing([8, 8], [False, False], steps, BORDER, LIMIT)
    found, used = placing.addresses(np.array([10, 10]), [2])
    # A thing keeps its place from its first step to its last.
    assert (found.tolist(), used.tolist()) == ([0, 16], [26])
