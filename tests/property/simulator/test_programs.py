"""Programs drawn at random: both engines against a walk over the tree in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, reject, strategies as st

import poplite as pl
from helpers import fuzz_files
from helpers.depth import examples, values_only
from helpers.running import both_forms
from poplite.compile.compiler import compile_graph
from poplite.executable.validate import validate
from poplite.report.program_tree import Program, ProgramType, num_steps
from poplite.report.report import Report
from poplite.simulator.reporting import compilation_of

NUMBERS = 3
LEVELS = 4
MODULUS = 10_007

Meaning = Callable[[list[int]], None]
"""What a program does to the numbers."""


class Mix(pl.Vertex):
    """Depends on the order in which it runs."""

    by: pl.State[pl.INT]
    n: pl.InOut[pl.INT]

    def compute(self) -> None:
        self.n = (31 * self.n + self.by) % 10_007


class Less(pl.Vertex):
    """One less, down to 0."""

    n: pl.InOut[pl.INT]
    is_zero: pl.Output[pl.BOOL]

    def compute(self) -> None:
        if self.n > 0:
            self.n -= 1
        self.is_zero = self.n == 0


class Part(pl.Vertex):
    """The rest of a division, as a number and as a truth value."""

    by: pl.State[pl.INT]
    n: pl.Input[pl.INT]
    rest: pl.Output[pl.INT]
    unsigned: pl.Output[pl.UNSIGNED_INT]
    any: pl.Output[pl.BOOL]

    def compute(self) -> None:
        self.rest = self.n % self.by - 1
        self.unsigned = self.n % self.by
        self.any = self.n % self.by != 0


class MixIn(pl.Vertex):
    """As `Mix`, with a number that the program has."""

    by: pl.Input[pl.UNSIGNED_INT]
    n: pl.InOut[pl.INT]

    def compute(self) -> None:
        self.n = (31 * self.n + self.by) % 10_007


class Divides(pl.Vertex):
    """Whether a number is divided without a rest."""

    by: pl.State[pl.INT]
    n: pl.Input[pl.INT]

    def compute(self) -> bool:
        return self.n % self.by == 0


class Aborted(Exception):
    """What a program means that ends the run."""


class Drawn:
    """A graph, a program on it, and what that means."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.graph = pl.Graph(pl.Target(tiles=2))
        self.numbers = self.variable(pl.INT, (NUMBERS,))
        self.functions: list[tuple[pl.Function, Meaning]] = []
        self.program, self.meaning = self.sequence(LEVELS)

    def variable(
        self, element: type[pl.ElementType[int]], shape: tuple[int, ...] = ()
    ) -> pl.Tensor:
        return self.graph.add_variable(element, shape, mapping=self.random.randrange(2))

    def tile(self) -> int:
        """Return where a vertex runs."""
        return 0

    def execute(self, cls: type[pl.Vertex], **fields: object) -> pl.Execute:
        cs = self.graph.add_compute_set()
        self.graph.add_vertex(cs, cls, tile=self.tile(), **fields)
        return pl.Execute(cs)

    def sequence(self, level: int) -> tuple[pl.Program, Meaning]:
        least = 3 if level == LEVELS else 0
        parts = [self.part(level) for _ in range(self.random.randrange(least, 4 + least))]

        def meaning(n: list[int]) -> None:
            for _, inner in parts:
                inner(n)

        return pl.Sequence([program for program, _ in parts]), meaning

    def part(self, level: int) -> tuple[pl.Program, Meaning]:
        kinds = [self.mix, self.copy]
        if level:
            kinds += [self.repeat, self.branch, self.switch, self.loop, self.call, self.mix]
            kinds += [self.marked, self.returned, self.counted, self.abort]
            kinds += [self.endless] if self.random.random() < 0.2 else []
        return self.random.choice(kinds)(level - 1)

    def mix(self, level: int) -> tuple[pl.Program, Meaning]:
        which, by = self.random.randrange(NUMBERS), self.random.randrange(100)

        def meaning(n: list[int]) -> None:
            n[which] = (31 * n[which] + by) % MODULUS

        return self.execute(Mix, by=by, n=self.numbers[which]), meaning

    def copy(self, level: int) -> tuple[pl.Program, Meaning]:
        source, target = self.random.sample(range(NUMBERS), 2)

        def meaning(n: list[int]) -> None:
            n[target] = n[source]

        return pl.Copy(self.numbers[source], self.numbers[target]), meaning

    def repeat(self, level: int) -> tuple[pl.Program, Meaning]:
        times, (body, inner) = self.random.randrange(4), self.sequence(level)

        def meaning(n: list[int]) -> None:
            for _ in range(times):
                inner(n)

        return pl.Repeat(times, body), meaning

    def rest(self, by: int) -> tuple[int, pl.Execute, list[pl.Tensor]]:
        """A number, a step that divides it, and the rest as INT (less one), UNSIGNED_INT, BOOL."""
        which = self.random.randrange(NUMBERS)
        rests = [self.variable(element) for element in (pl.INT, pl.UNSIGNED_INT, pl.BOOL)]
        fields = dict(zip(("rest", "unsigned", "any"), rests, strict=True))
        return which, self.execute(Part, by=by, n=self.numbers[which], **fields), rests

    def branch(self, level: int) -> tuple[pl.Program, Meaning]:
        which, test, rests = self.rest(by=2)
        kind = self.random.randrange(3)
        (yes, inner), (no, other) = self.sequence(level), self.sequence(level)

        def meaning(n: list[int]) -> None:
            is_true = n[which] % 2 != (1 if kind == 0 else 0)
            (inner if is_true else other)(n)

        return pl.Sequence(test, pl.If(rests[kind], yes, no)), meaning

    def switch(self, level: int) -> tuple[pl.Program, Meaning]:
        which, test, rests = self.rest(by=5)
        kind = self.random.randrange(2)
        values = self.random.sample(range(-kind, 6), self.random.randrange(4)) if kind == 0 else []
        values = values or self.random.sample(range(6), self.random.randrange(4))
        cases = {value: self.sequence(level) for value in values}
        default, otherwise = self.sequence(level)

        def meaning(n: list[int]) -> None:
            value = n[which] % 5 - (1 if kind == 0 else 0)
            (cases[value][1] if value in cases else otherwise)(n)

        programs = {value: program for value, (program, _) in cases.items()}
        return pl.Sequence(test, pl.Switch(rests[kind], programs, default)), meaning

    def loop(self, level: int) -> tuple[pl.Program, Meaning]:
        times, until = self.random.randrange(4), self.random.random() < 0.5
        left, is_zero = self.variable(pl.INT), self.variable(pl.BOOL)
        start = self.graph.add_constant(pl.INT, (), times + 1)
        self.graph.set_tile_mapping(start, 0)
        test, before = self.sequence(level - 1) if level > 0 else self.mix(0)
        body, inner = self.sequence(level)
        condition = pl.Sequence(test, self.execute(Less, n=left, is_zero=is_zero))
        loop = (
            pl.RepeatWhileFalse(condition, is_zero, body)
            if until
            else pl.RepeatWhileTrue(condition, left, body)
        )

        def meaning(n: list[int]) -> None:
            before(n)
            for _ in range(times):
                inner(n)
                before(n)

        return pl.Sequence(pl.Copy(start, left), loop), meaning

    def marked(self, level: int) -> tuple[pl.Program, Meaning]:
        """A block among steps that change nothing, put together one by one."""
        inner, meaning = self.sequence(level)
        program = pl.Sequence(pl.Sync(self.random.choice(list(pl.SyncType))))
        program.add(pl.Block(inner, "inner")).add(pl.WriteUndef(self.variable(pl.INT)))
        return program, meaning

    def divided(self, most: int) -> tuple[pl.Program, pl.Tensor, Callable[[list[int]], bool]]:
        """A step whose vertices all return true where some numbers have no rest."""
        chosen = self.random.sample(range(NUMBERS), self.random.randrange(1, 3))
        by = {which: self.random.randrange(2, most) for which in chosen}
        cs = self.graph.add_compute_set()
        for which, divisor in by.items():
            self.graph.add_vertex(cs, Divides, tile=self.tile(), by=divisor, n=self.numbers[which])
        flag = self.variable(pl.BOOL)
        return pl.Execute(cs, flag), flag, lambda n: all(n[w] % d == 0 for w, d in by.items())

    def returned(self, level: int) -> tuple[pl.Program, Meaning]:
        test, flag, holds = self.divided(4)
        (yes, inner), (no, other) = self.sequence(level), self.sequence(level)

        def meaning(n: list[int]) -> None:
            (inner if holds(n) else other)(n)

        return pl.Sequence(test, pl.If(flag, yes, no)), meaning

    def abort(self, level: int) -> tuple[pl.Program, Meaning]:
        test, flag, holds = self.divided(100)

        def meaning(n: list[int]) -> None:
            if holds(n):
                raise Aborted

        return pl.Sequence(test, pl.AbortOnCondition(flag)), meaning

    def endless(self, level: int) -> tuple[pl.Program, Meaning]:
        test, flag, holds = self.divided(4)
        (body, inner), which = self.sequence(level), self.random.randrange(NUMBERS)
        change = self.execute(Mix, by=1, n=self.numbers[which])
        limit, start = self.variable(pl.INT), self.graph.add_constant(pl.INT, (), 9, mapping=0)
        is_over = self.variable(pl.BOOL)
        count = self.execute(Less, n=limit, is_zero=is_over)
        stops = pl.Sequence(test, pl.AbortOnCondition(flag), count, pl.AbortOnCondition(is_over))
        loop = pl.Loop(pl.Sequence(body, change, stops))

        def meaning(n: list[int]) -> None:
            for _ in range(9):
                inner(n)
                n[which] = (31 * n[which] + 1) % MODULUS
                if holds(n):
                    break
            raise Aborted

        return pl.Sequence(pl.Copy(start, limit), loop), meaning

    def counted(self, level: int) -> tuple[pl.Program, Meaning]:
        begin, end = self.random.randrange(4), self.random.randrange(6)
        step, which = self.random.randrange(1, 4), self.random.randrange(NUMBERS)
        program, inner = self.sequence(level)
        last = self.graph.add_constant(pl.UNSIGNED_INT, (), end, mapping=1)

        def body(index: pl.Tensor) -> pl.Program:
            return pl.Sequence(self.execute(MixIn, by=index, n=self.numbers[which]), program)

        def meaning(n: list[int]) -> None:
            for index in range(begin, end, step):
                n[which] = (31 * n[which] + index) % MODULUS
                inner(n)

        bound: int | pl.Tensor = last if self.random.random() < 0.5 else end
        return pl.counted_loop(self.graph, begin, bound, step, body), meaning

    def call(self, level: int) -> tuple[pl.Program, Meaning]:
        if not self.functions or self.random.random() < 0.5:
            program, meaning = self.sequence(level)
            self.functions.append((self.graph.add_function(program), meaning))
        function, meaning = self.random.choice(self.functions)
        return pl.Call(function), meaning


@both_forms
@given(seed=st.integers(0, 10**9))
def test_engines_do_what_the_tree_says(interpret: bool, seed: int) -> None:
    drawn = Drawn(Random(seed))
    expected = [1, 2, 3]
    engine = pl.Engine(drawn.graph, drawn.program, interpret=interpret, options=values_only())
    engine.write(drawn.numbers, np.array(expected))
    for _ in range(2):
        try:
            drawn.meaning(expected)
        except Aborted:
            with pytest.raises(pl.ApplicationRuntimeError, match="AbortOnCondition 'var"):
                engine.run()
        else:
            engine.run()
        assert engine.read(drawn.numbers).tolist() == expected


# -- trees made of ops are the programs that were written down, whatever they are made of ----------


Tree = tuple[object, ...]

GRAPH = pl.Graph(pl.Target(tiles=2))
X, N = (GRAPH.add_variable(pl.INT, (), name, mapping=0, initial_value=0) for name in "xn")
COPIES = [pl.Copy(GRAPH.add_variable(pl.INT, (), f"v{k}", mapping=1), X) for k in range(4)]
leaves = st.sampled_from([*COPIES, pl.Sequence()])


def arranged(
    graph: pl.Graph, n: pl.Tensor
) -> Callable[[st.SearchStrategy[pl.Program]], st.SearchStrategy[pl.Program]]:
    """Return what makes programs of others; `n` decides."""

    def checked(cases: dict[int, pl.Program]) -> pl.Program:
        return pl.Switch.with_bounds_checking(n, cases)

    def extended(parts: st.SearchStrategy[pl.Program]) -> st.SearchStrategy[pl.Program]:
        cases = st.dictionaries(st.integers(-3, 3), parts, max_size=3)
        return st.one_of(
            st.lists(parts, max_size=4).map(pl.Sequence),
            st.builds(pl.Repeat, st.integers(0, 3), parts),
            st.builds(pl.RepeatWhileTrue, parts, st.just(n), parts),
            st.builds(pl.RepeatWhileFalse, parts, st.just(n), parts),
            st.builds(pl.If, st.just(n), parts, parts),
            st.builds(lambda given, default: pl.Switch(n, given, default=default), cases, parts),
            cases.map(checked),
            st.builds(pl.Loop, parts),
            st.builds(lambda part: pl.Call(graph.add_function(part)), parts),
        )

    return extended


def is_written(program: pl.Program) -> bool:
    """Return whether a program has a place in the tree: steps have one even if they never run."""
    endless = pl.Loop, pl.RepeatWhileTrue, pl.RepeatWhileFalse
    if isinstance(program, endless):
        return True
    if isinstance(program, pl.Switch) and program.unmatched != "default":
        return True
    return program.num_steps > 0 or any(map(is_written, below(program)))


def below(program: pl.Program) -> Sequence[pl.Program]:
    """Return the programs that a program runs."""
    is_idle = isinstance(program, pl.Repeat) and program.count == 0
    return () if is_idle else program.children


def expected(program: pl.Program) -> list[Tree]:
    """Return what the tree of a program is to be, Sequences joined with what is around them."""
    if not is_written(program):
        return []
    match program:
        case pl.Repeat():
            return [("Repeat", *expected(program.body))]
        case pl.Loop():
            return [("Loop", *expected(program.body))]
        case pl.RepeatWhileTrue() | pl.RepeatWhileFalse():
            return [("RepeatWhile", *expected(program.condition), *expected(program.body))]
        case pl.If() if not is_written(program.false_body):
            return [("If", *expected(program.true_body))]
        case pl.If():
            both = program.true_body, program.false_body
            return [("If", *(("Sequence", *expected(part)) for part in both))]
        case pl.Switch() if not program.cases:
            return [("Switch",), *expected(program.default)]
        case pl.Switch():
            parts = [("Sequence", *expected(part)) for part in program.cases.values()]
            default = expected(program.default)
            stops = program.unmatched != "default"
            return [("Switch", *parts, *([("Sequence", *default)] if default or stops else []))]
        case pl.Call(function=pl.Function() as function):
            return [("Call", ("Sequence", *expected(function.program)))]
        case leaf if not leaf.children:
            return [("Copy", int(str(leaf)[len("Copy 'v")]))]
    return [tree for part in program.children for tree in expected(part)]


def found(program: Program) -> Tree:
    """Return a tree of ops in the same form."""
    if program.type is ProgramType.COPY:
        return ("Copy", int(program.name[1]))
    return (program.type.value, *map(found, program.children))


@given(st.recursive(leaves, arranged(GRAPH, N), max_leaves=12))
def test_trees_are_what_was_written(program: pl.Program) -> None:
    executable = compile_graph(GRAPH, pl.Sequence(program), "fast")
    tree = compilation_of(executable).programs["0"]
    assert found(tree) == ("Sequence", *expected(program))
    assert num_steps(tree) == program.num_steps


@given(st.recursive(leaves, arranged(GRAPH, N), max_leaves=12))
def test_reports_of_any_program_are_loaded(program: pl.Program) -> None:
    report = pl.Engine(GRAPH, pl.Sequence(program)).report()
    assert Report.from_json(report.to_json()) == report


EVERYTHING, PROGRAMS = fuzz_files.program()
DECIDING = EVERYTHING.add_variable(pl.INT, (), "deciding", mapping=0, initial_value=0)
steps = st.sampled_from(
    [
        *PROGRAMS["main"].children,
        pl.Sync(pl.SyncType.INTERNAL),
        pl.WriteUndef(DECIDING),
        pl.AbortOnCondition(DECIDING, "stop"),
    ]
)


@given(st.recursive(steps, arranged(EVERYTHING, DECIDING), max_leaves=6))
def test_executables_of_any_steps_are_valid(program: pl.Program) -> None:
    programs = {"any": pl.Sequence(program), "back": PROGRAMS["back"]}
    try:
        executable = compile_graph(EVERYTHING, programs, "fast", interpret=True)
    except pl.PopliteError:  # as cases of values that cannot be
        reject()
    validate(executable)
    report = pl.Engine(executable, interpret=True).report()
    assert Report.from_json(report.to_json()) == report


# -- programs on replicas --------------------------------------------------------------------------


ROWS, COLUMNS, TILES = 4, 6, 3

Values = npt.NDArray[np.int32]


class Blend(pl.Vertex):
    """Depends on the replica, and on the order in which it runs."""

    by: pl.State[pl.INT]
    index: pl.Input[pl.UNSIGNED_INT]
    x: pl.Input[pl.Vector[pl.INT]]
    y: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = (31 * self.y[i] + self.x[i] + self.by + self.index) % 10_007


class Decide(pl.Vertex):
    """A number that all replicas share, from how often it ran."""

    by: pl.State[pl.INT]
    n: pl.InOut[pl.INT]
    rest: pl.Output[pl.INT]

    def compute(self) -> None:
        self.n += 1
        self.rest = self.n % self.by


class DrawnReplicated:
    """A graph of some replicas, or one of them alone, with the same program drawn for each."""

    def __init__(self, seed: int, replicas: int, alone: int | None = None) -> None:
        self.random, self.replicas, self.alone = Random(seed), replicas, alone
        ipus = replicas if alone is None else 1
        self.graph = pl.Graph(pl.Target(tiles=TILES * ipus, ipus=ipus), replication_factor=ipus)
        self.index = self.graph.add_replication_index_constant(mapping=0)
        if alone is not None:
            self.index = self.graph.add_constant(pl.UNSIGNED_INT, (), alone, mapping=0)
        self.tensors = [self.variable((ROWS, COLUMNS)) for _ in range(3)]
        self.count = self.variable(())
        self.initial()
        parts: list[pl.Program] = [self.part(2) for _ in range(5)]
        self.program = pl.Sequence(parts)

    def variable(self, shape: tuple[int, ...]) -> pl.Tensor:
        tile = self.random.randrange(TILES)
        mapping: Any = self.random.choice([tile, "linear"]) if shape else tile
        return self.graph.add_variable(pl.INT, shape, mapping=mapping, initial_value=0)

    def initial(self) -> None:
        for tensor in self.tensors:
            own = {
                replica: [[self.random.randrange(100) for _ in range(COLUMNS)] for _ in range(ROWS)]
                for replica in range(self.replicas)
                if self.random.random() < 0.5
            }
            common = self.random.randrange(100)
            self.graph.set_initial_value(tensor, common)
            if self.alone is not None:
                self.graph.set_initial_value(tensor, own.get(self.alone, common))
            elif own:
                self.graph.set_initial_value(tensor, own)

    def view(self, tensor: pl.Tensor) -> pl.Tensor:
        """Half of the elements, in one of several orders."""
        kind = self.random.randrange(4)
        if kind == 0:
            return tensor[:2].flatten()
        if kind == 1:
            return tensor[1:3].T.flatten()
        if kind == 2:
            return tensor.flatten()[::2]
        return pl.concat([tensor[3], tensor[0].reverse(0)])

    def part(self, level: int) -> pl.Program:
        kinds = [self.blend, self.blend, self.copy]
        if level:
            kinds += [self.repeat, self.branch, self.switch]
        return self.random.choice(kinds)(level - 1)

    def blend(self, level: int) -> pl.Program:
        cs = self.graph.add_compute_set()
        source, target = self.random.sample(self.tensors, 2)
        x, y = self.view(source), self.view(target)
        cuts = sorted(self.random.sample(range(1, len(x)), 2))
        for begin, end in zip([0, *cuts], [*cuts, len(x)], strict=True):
            fields = {"by": begin, "index": self.index, "x": x[begin:end], "y": y[begin:end]}
            tile = self.random.randrange(TILES)
            self.graph.add_vertex(cs, Blend, tile=tile, **fields)
        return pl.Execute(cs)

    def copy(self, level: int) -> pl.Program:
        source, target = self.random.sample(self.tensors, 2)
        return pl.Copy(self.view(source), self.view(target))

    def repeat(self, level: int) -> pl.Program:
        return pl.Repeat(self.random.randrange(4), self.part(level))

    def decision(self, by: int) -> tuple[pl.Program, pl.Tensor]:
        cs, rest = self.graph.add_compute_set(), self.variable(())
        self.graph.add_vertex(cs, Decide, tile=0, by=by, n=self.count, rest=rest)
        return pl.Execute(cs), rest

    def branch(self, level: int) -> pl.Program:
        test, rest = self.decision(2)
        return pl.Sequence(test, pl.If(rest, self.part(level), self.part(level)))

    def switch(self, level: int) -> pl.Program:
        test, rest = self.decision(3)
        cases = {0: self.part(level), 2: self.part(level)}
        return pl.Sequence(test, pl.Switch(rest, cases, self.part(level)))


@both_forms
@examples(50, quick=4)
@given(
    seed=st.integers(0, 10**9),
    replicas=st.integers(2, 3),
    checks=st.sampled_from(["fast", "strict"]),
)
def test_replicas_do_what_each_does_alone(
    interpret: bool, seed: int, replicas: int, checks: Literal["fast", "strict"]
) -> None:
    def engine_of(drawn: DrawnReplicated) -> pl.Engine:
        return pl.Engine(
            drawn.graph, drawn.program, checks=checks, interpret=interpret, options=values_only()
        )

    together = DrawnReplicated(seed, replicas)
    engine = engine_of(together)
    lone = [DrawnReplicated(seed, replicas, alone=replica) for replica in range(replicas)]
    engines = [engine_of(each) for each in lone]
    written = np.random.default_rng(seed).integers(0, 100, (replicas, ROWS, COLUMNS))
    for run in range(3):
        engine.run()
        for each in engines:
            each.run()
        if run == 1:
            engine.write(together.tensors[0], written)
        for replica, (drawn, each) in enumerate(zip(lone, engines, strict=True)):
            if run == 1:
                each.write(drawn.tensors[0], written[replica])
            for own, shared in zip(drawn.tensors, together.tensors, strict=True):
                expected: Values = each.read(own)
                np.testing.assert_array_equal(engine.read(shared, replica=replica), expected)


@both_forms
@given(seed=st.integers(0, 10**9), replicas=st.integers(1, 4))
def test_copies_between_replicas_do_what_numpy_does(
    interpret: bool, seed: int, replicas: int
) -> None:
    random = Random(seed)
    drawn = DrawnReplicated(seed, replicas, None)
    positions = np.arange(ROWS * COLUMNS, dtype=np.int32).reshape(ROWS, COLUMNS)
    finder = pl.Engine(drawn.graph, pl.Sequence(), options=values_only())
    for tensor in drawn.tensors:
        finder.write(tensor, positions)
    values = np.random.default_rng(seed).integers(0, 1000, (3, replicas, ROWS * COLUMNS))
    expected, steps = values.copy(), []
    for _ in range(4):
        (a, source), (b, target) = random.sample(list(enumerate(drawn.tensors)), 2)
        read, written = drawn.view(source), drawn.view(target)
        to = random.sample(range(replicas), replicas)
        steps.append(pl.CrossReplicaCopy(read, written, to))
        at = [finder.read(view, replica=0) for view in (read, written)]
        before = expected.copy()
        for replica in range(replicas):
            expected[b, to[replica], at[1]] = before[a, replica, at[0]]
    engine = pl.Engine(drawn.graph, pl.Sequence(steps), interpret=interpret, options=values_only())
    for tensor, given_values in zip(drawn.tensors, values, strict=True):
        for replica, own in enumerate(given_values.reshape(replicas, ROWS, COLUMNS)):
            engine.write(tensor, own, replica=replica)
    engine.run()
    for tensor, found in zip(drawn.tensors, expected, strict=True):
        each = engine.read(tensor).reshape(replicas, -1)
        np.testing.assert_array_equal(each, found)
