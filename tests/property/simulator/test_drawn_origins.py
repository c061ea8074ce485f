"""Where unwritten elements come from, in drawn programs, against a model that follows each one."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples, values_only
from helpers.running import both_forms
from poplite import ops

LENGTH, ROWS = 3, 2


class Pass(pl.Vertex):
    x: pl.Input[pl.Vector[pl.INT]]
    z: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.z[i] = self.x[i]


class Origin(NamedTuple):
    """What an unwritten element is, as the graph calls it, and how it got to where it is.

    Attributes:
        owner: what it is of.
        is_undefined: whether a WriteUndef made it unwritten.
        passed: how often vertices passed it on.
    """

    name: str
    owner: str
    is_undefined: bool = False
    passed: int = 0


Elements = list[Origin | None]
"""The origin of each element; None for written ones."""


class Drawn:
    """A program that moves vectors between variables and a remote buffer, and what it does."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.graph = pl.Graph(pl.Target(tiles=1))
        self.elements: list[Elements] = []
        self.tensors = [self.tensor(f"v{n}", random.random() < 0.4) for n in range(5)]
        self.buffer = self.graph.add_remote_buffer("rows", pl.INT, LENGTH, repeats=ROWS)
        self.rows: list[Elements] = []
        self.numbers = []
        for row in range(ROWS):
            name, owner = f"row {row} of remote buffer 'rows'", "remote buffer 'rows'"
            self.rows.append([Origin(name, owner)] * LENGTH)
            self.numbers.append(self.graph.add_constant(pl.UNSIGNED_INT, (), row, mapping=0))
        self.seven = self.graph.add_constant(pl.INT, (LENGTH,), 7, mapping=0)
        self.program, self.meaning = self.steps(random.randrange(3, 14), depth=0)

    def tensor(self, name: str, is_written: bool) -> pl.Tensor:
        each: Elements = [Origin(f"'{name}'[{k}]", f"'{name}'") for k in range(LENGTH)]
        self.elements.append([None] * LENGTH if is_written else each)
        value = 1 if is_written else None
        return self.graph.add_variable(pl.INT, (LENGTH,), name, mapping=0, initial_value=value)

    def steps(self, count: int, depth: int) -> tuple[pl.Sequence, Callable[[], None]]:
        each = [self.step(depth) for _ in range(count)]
        return pl.Sequence(*(program for program, _ in each)), in_turn([does for _, does in each])

    def step(self, depth: int) -> tuple[pl.Program, Callable[[], None]]:
        """Return a step, or a loop, and what it does to the model."""
        kinds = ["copy", "copy", "copy", "turn", "part", "write", "undefine", "put", "get", "pass"]
        kind = self.random.choice(kinds if depth == 2 else [*kinds, "loop"])
        if kind == "loop":
            times = self.random.randrange(2, 5)
            body, meaning = self.steps(self.random.randrange(1, 5), depth + 1)
            return pl.Repeat(times, body), in_turn([meaning] * times)
        a, b = self.random.sample(range(len(self.tensors)), 2)
        row = self.random.randrange(ROWS)
        x, y, elements, rows = self.tensors[a], self.tensors[b], self.elements, self.rows

        def set_to(make: Callable[[], Elements]) -> Callable[[], None]:
            return lambda: elements.__setitem__(b, make())

        match kind:
            case "copy":
                return pl.Copy(x, y), set_to(lambda: elements[a])
            case "turn":
                return pl.Copy(x[::-1], y), set_to(lambda: elements[a][::-1])
            case "part":
                return pl.Copy(x[:1], y[2:]), set_to(lambda: [*elements[b][:2], elements[a][0]])
            case "write":
                return pl.Copy(self.seven, y), set_to(lambda: [None] * LENGTH)
            case "undefine":
                made = [Origin(f"'v{b}'[{k}]", f"'v{b}'", True) for k in range(LENGTH)]
                return pl.WriteUndef(y), set_to(lambda: [*made])
            case "put":
                put = pl.Copy(y, self.buffer, self.numbers[row])
                return put, lambda: rows.__setitem__(row, elements[b])
            case "get":
                return pl.Copy(self.buffer, y, self.numbers[row]), set_to(lambda: rows[row])
        cs = self.graph.add_compute_set()
        self.graph.add_vertex(cs, Pass, tile=0, x=x, z=y)
        return pl.Execute(cs), set_to(lambda: passed_on(elements[a]))


def in_turn(each: list[Callable[[], None]]) -> Callable[[], None]:
    """Return what does one after the other."""

    def all_of_them() -> None:
        for does in each:
            does()

    return all_of_them


def passed_on(elements: Elements) -> Elements:
    """Return what a vertex makes: messages follow the first unwritten element that it takes."""
    first = next((each for each in elements if each is not None), None)
    if first is None:
        return [None] * LENGTH
    passed = first._replace(passed=first.passed + 1)
    return [None if each is None else passed for each in elements]


def check(error: pl.UninitializedReadError, origin: Origin) -> None:
    """Look for an origin in a message."""
    what, found, fix = error.what.partition(" which is ")[2], str(error.found), str(error.fix)
    assert f"{origin.owner} was made at " in found
    assert found.count("left it unwritten: its vertex") == origin.passed
    if origin.passed:
        assert "nothing has written it since Execute " in what
        assert fix.startswith(f"write {origin.owner} ")
    else:
        copied = re.search("copied from (.*?)( by way of| before|, but nothing)", what)
        assert (copied[1] if copied else what.partition(", but")[0]) == origin.name
        assert ("since WriteUndef" in what) == origin.is_undefined
        assert fix.startswith(f"write {origin.name} ")
    is_variable = not origin.owner.startswith("remote")
    assert is_variable or "engine.copy_to_remote_buffer" in fix
    takes_value = is_variable and not origin.is_undefined
    assert fix.endswith(", or give it an initial_value") == takes_value


@both_forms
@examples(150)
@given(seed=st.integers(0, 10**9))
def test_messages_name_where_unwritten_elements_come_from(interpret: bool, seed: int) -> None:
    drawn = Drawn(Random(seed))
    number = Random(seed).randrange(len(drawn.tensors))
    with drawn.graph.steps() as last:
        ops.map(drawn.tensors[number] * 2)
    program = pl.Sequence(drawn.program, last)
    engine = pl.Engine(drawn.graph, program, interpret=interpret, options=values_only())
    drawn.meaning()
    elements = drawn.elements[number]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pl.UninitializedWarning)
        if not any(elements):
            engine.run()
            return
        with pytest.raises(pl.UninitializedReadError) as caught:
            engine.run()
    index = re.search(rf" which is 'v{number}'\[(\d)\]", caught.value.what)
    assert index is not None
    origin = elements[int(index[1])]
    assert origin is not None
    check(caught.value, origin)
