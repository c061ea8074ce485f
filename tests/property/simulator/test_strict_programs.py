"""What strict checks say of programs drawn at random: against NumPy with masks."""

from __future__ import annotations

import re
import warnings
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import values_only
from helpers.running import both_forms

LENGTH = 6


class Mix(pl.Vertex):
    """Its result is that of no unwritten element as it stands."""

    x: pl.Input[pl.Vector[pl.INT]]
    y: pl.Input[pl.Vector[pl.INT]]
    z: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.z[i] = (3 * self.x[i] + self.y[i] + 1) % 10_007


class Pass(pl.Vertex):
    x: pl.Input[pl.Vector[pl.INT]]
    z: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.z[i] = self.x[i]


class Some(pl.Vertex):
    """Uses every second element of x."""

    x: pl.Input[pl.Vector[pl.INT]]
    z: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(len(self.z)):
            self.z[i] = 5 * self.x[2 * i] + 3


class Unwritten(Exception):
    """A result would depend on unwritten elements."""


class Drawn:
    """A graph, a program on it, and what NumPy says that it does."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.graph = pl.Graph(pl.Target(tiles=2))
        self.tensors = [
            self.graph.add_variable(pl.INT, (2 * LENGTH,), f"v{n}", mapping="linear")
            for n in range(4)
        ]
        self.values = np.zeros((4, 2 * LENGTH), np.int64)
        self.known = np.zeros((4, 2 * LENGTH), np.bool_)
        steps = [self.step() for _ in range(random.randrange(1, 8))]
        self.meanings = [meaning for _, meaning in steps]
        self.program = pl.Repeat(2, pl.Sequence([program for program, _ in steps]))

    def view(self, variable: int, length: int) -> tuple[pl.Tensor, Any]:
        """A part of a variable, in one run or scattered, and the same of an array."""
        first = self.random.randrange(2 * LENGTH - length + 1)
        spot: Any = (variable, slice(first, first + length))
        tensor = self.tensors[variable][first : first + length]
        if self.random.random() < 0.4:
            order = self.random.sample(range(2 * LENGTH), length)
            return pl.concat([self.tensors[variable][i : i + 1] for i in order]), (variable, order)
        return tensor, spot

    def step(self) -> tuple[pl.Program, Any]:
        """One step, and what it does to values and to what is known."""
        kind = self.random.choice(["mix", "pass", "some", "copy"])
        length = self.random.randrange(1, LENGTH // 2 + 1)
        source, other, to = self.random.sample(range(4), 3)
        x, at_x = self.view(source, 2 * length if kind == "some" else length)
        y, at_y = self.view(other, length)
        z, at_z = self.view(to, length)

        def meaning() -> None:
            held, known = self.values[at_x], self.known[at_x]
            if kind == "mix":
                if not (known.all() and self.known[at_y].all()):
                    raise Unwritten
                self.values[at_z] = (3 * held + self.values[at_y] + 1) % 10_007
                self.known[at_z] = True
            elif kind == "some":
                if not known[::2].all():
                    raise Unwritten
                self.values[at_z] = 5 * held[::2] + 3
                self.known[at_z] = True
            else:
                self.values[at_z], self.known[at_z] = held, known

        if kind == "copy":
            return pl.Copy(x, z), meaning
        cs = self.graph.add_compute_set()
        if kind == "mix":
            self.graph.add_vertex(cs, Mix, tile=0, x=x, y=y, z=z)
        else:
            self.graph.add_vertex(cs, Pass if kind == "pass" else Some, tile=1, x=x, z=z)
        return pl.Execute(cs), meaning

    def run(self, engine: pl.Engine) -> bool:
        """Run the program in both; return whether it came to its end."""
        try:
            for _ in range(2):
                for meaning in self.meanings:
                    meaning()
        except Unwritten:
            with pytest.raises(pl.UninitializedReadError, match="nothing has written it"):
                engine.run()
            return False
        engine.run()
        return True

    def check(self, engine: pl.Engine) -> None:
        """Compare memory, and how many elements are said to be unwritten."""
        for tensor, values, known in zip(self.tensors, self.values, self.known, strict=True):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                read = engine.read(tensor)
            assert read[known].tolist() == values[known].tolist()
            said = [re.search(r"written (\d+) of 12", str(each.message)) for each in caught]
            counts = [int(match[1]) for match in said if match]
            assert counts == ([] if known.all() else [int((~known).sum())])


@both_forms
@given(seed=st.integers(0, 10**9))
def test_strict_checks_say_what_masks_say(interpret: bool, seed: int) -> None:
    random = Random(seed)
    drawn = Drawn(random)
    engine = pl.Engine(drawn.graph, drawn.program, interpret=interpret, options=values_only())
    for variable, tensor in enumerate(drawn.tensors):
        for _ in range(random.randrange(3)):
            first = random.randrange(2 * LENGTH)
            engine.write(tensor[first:], 7 + first)
            drawn.values[variable, first:], drawn.known[variable, first:] = 7 + first, True
    drawn.run(engine)
    engine.write(drawn.tensors[0], 3)
    engine.write(drawn.tensors[1], 4)
    drawn.values[:2], drawn.known[:2] = [[3], [4]], True
    for _ in range(2):
        drawn.run(engine)
    fresh = pl.Engine(drawn.graph, drawn.program, interpret=interpret, options=values_only())
    for tensor in drawn.tensors:
        fresh.write(tensor, 1)
    drawn.values[:], drawn.known[:] = 1, True
    assert drawn.run(fresh)
    drawn.check(fresh)


@both_forms
@given(seed=st.integers(0, 10**9))
def test_what_stays_unwritten_is_known(interpret: bool, seed: int) -> None:
    random = Random(seed)
    drawn = Drawn(random)
    engine = pl.Engine(drawn.graph, drawn.program, interpret=interpret, options=values_only())
    for variable in random.sample(range(4), 3):
        engine.write(drawn.tensors[variable], variable)
        drawn.values[variable], drawn.known[variable] = variable, True
    drawn.run(engine)
    drawn.check(engine)
