"""Programs drawn at random on replicas, against as many engines that run them alone."""

from __future__ import annotations

from random import Random
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples, values_only
from helpers.running import both_forms

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


class Drawn:
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
    def engine_of(drawn: Drawn) -> pl.Engine:
        return pl.Engine(
            drawn.graph, drawn.program, checks=checks, interpret=interpret, options=values_only()
        )

    together = Drawn(seed, replicas)
    engine = engine_of(together)
    lone = [Drawn(seed, replicas, alone=replica) for replica in range(replicas)]
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
    drawn = Drawn(seed, replicas, None)
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
