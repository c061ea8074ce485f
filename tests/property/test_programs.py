"""Programs drawn at random: both engines against a walk over the tree in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import poplite as pl

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

    def execute(self, cls: type[pl.Vertex], **fields: object) -> pl.Execute:
        cs = self.graph.add_compute_set()
        self.graph.add_vertex(cs, cls, tile=0, **fields)
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

    def call(self, level: int) -> tuple[pl.Program, Meaning]:
        if not self.functions or self.random.random() < 0.5:
            program, meaning = self.sequence(level)
            self.functions.append((self.graph.add_function(program), meaning))
        function, meaning = self.random.choice(self.functions)
        return pl.Call(function), meaning


@pytest.mark.parametrize("interpret", [False, True], ids=["compiled", "interpreted"])
@given(seed=st.integers(0, 10**9))
def test_engines_do_what_the_tree_says(interpret: bool, seed: int) -> None:
    drawn = Drawn(Random(seed))
    expected = [1, 2, 3]
    engine = pl.Engine(drawn.graph, drawn.program, interpret=interpret)
    engine.write(drawn.numbers, np.array(expected))
    for _ in range(2):
        engine.run()
        drawn.meaning(expected)
        assert engine.read(drawn.numbers).tolist() == expected
