"""Workers drawn at random: where strict checks accept them, they do the same in any order.

The text of a drawn `compute` also runs as plain Python, on a memory that notes who reads and stores
each element: worker by worker in several orders, and each worker by itself on what was before.
"""

from __future__ import annotations

import linecache
from collections import defaultdict
from random import Random
from typing import Any

import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples, thinned

WORKERS = LENGTH = 6
FIELDS = "a", "x", "y", "r0", "r1"
TEXT = """class Drawn(pl.MultiVertex):
    a: pl.Input[pl.Vector[pl.INT]]
    x: pl.InOut[pl.Vector[pl.INT]]
    y: pl.Output[pl.Vector[pl.INT]]
    r: pl.InOut[pl.Vector[pl.Vector[pl.INT]]]

    def compute(self, worker: int) -> None:
        s = 0
        i = 0
"""
INDICES = ["worker"] * 6 + ["i", "i", "0", "5", "5 - worker", "worker // 2", "worker % 3"]
INDICES += ["(worker + 1) % 6", "(worker + 3) % 6"]
ROWS = ["worker % 2", "worker // 3", "0", "1"]
RANGES = ["6", "2", "worker, 6, 6", "worker, worker + 1"]

pytestmark = pytest.mark.filterwarnings("ignore::poplite.UnwrittenOutputWarning")

Place = tuple[str, int]
Memory = dict[Place, int]


class Lines:
    """Statements drawn at random, each a line."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.lines: list[str] = []
        for _ in range(random.randint(1, 4)):
            self.statement(2, 2)

    def add(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def element(self, names: str = "xxr") -> str:
        name = self.random.choice(names)
        row = f"[{self.random.choice(ROWS)}]" if name == "r" else ""
        return f"self.{name}{row}[{self.random.choice(INDICES)}]"

    def value(self) -> str:
        one, other = self.element(), self.element("a")
        return self.random.choice(
            [one, one, other, "s", "worker", "1", "7", "0", f"{one} + 1", f"{one} + {other}"]
        )

    def condition(self) -> str:
        one = f"{self.element('xra')} > 2"
        return self.random.choice(["worker == 0", "worker > 2", "worker % 2 == 0", "s > 3", one])

    def statement(self, indent: int, depth: int) -> None:
        kind = self.random.choice(["store"] * 4 + ["add", "local", "swap", "return"])
        if depth:
            kind = self.random.choice([kind] * 7 + ["if", "if", "for"])
        match kind:
            case "store":
                self.add(indent, f"{self.element('xxyyr')} = {self.value()}")
            case "add":
                self.add(indent, f"{self.element()} += {self.value()}")
            case "local":
                self.add(indent, f"s = {self.value()}")
            case "swap":
                one, other = self.element(), self.element()
                self.add(indent, f"{one}, {other} = {other}, {one}")
            case "return":
                self.add(indent, f"if {self.condition()}:")
                self.add(indent + 1, "return")
            case "if":
                self.add(indent, f"if {self.condition()}:")
                self.statement(indent + 1, depth - 1)
            case "for":
                self.add(indent, f"for i in range({self.random.choice(RANGES)}):")
                self.statement(indent + 1, depth - 1)
                self.statement(indent + 1, depth - 1)


class Noted:
    """The elements of a field, in a memory, and what a worker does to them."""

    def __init__(self, name: str, memory: Memory, read: set[Place], stored: set[Place]) -> None:
        self.name, self.memory, self.read, self.stored = name, memory, read, stored

    def __getitem__(self, index: int) -> int:
        self.read.add((self.name, index))
        return self.memory[self.name, index]

    def __setitem__(self, index: int, value: int) -> None:
        self.stored.add((self.name, index))
        self.memory[self.name, index] = value


class Fields:
    """The fields of a vertex in such a memory."""

    num_workers = WORKERS

    def __init__(self, memory: Memory) -> None:
        self.read: set[Place] = set()
        self.stored: set[Place] = set()
        fields = [Noted(name, memory, self.read, self.stored) for name in FIELDS]
        self.a, self.x, self.y, *self.r = fields


class Drawn:
    """A vertex class, and what is in its fields."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        self.text = TEXT + "\n".join(Lines(random).lines) + "\n"
        name = f"<drawn {seed}>"
        linecache.cache[name] = len(self.text), None, self.text.splitlines(keepends=True), name
        found = {"pl": pl, "__name__": __name__}
        exec(compile(self.text, name, "exec"), found)
        self.cls: Any = found["Drawn"]
        self.start = {
            (field, index): random.choice([0, 1, 2, 3, 4, 7])
            for field in FIELDS
            for index in range(LENGTH)
        }
        self.is_gathered = random.random() < 0.3
        self.orders = [random.sample(range(WORKERS), WORKERS) for _ in range(3)]

    def result(self, order: list[int]) -> Memory:
        """Run worker after worker."""
        memory = dict(self.start)
        for worker in order:
            self.cls.compute(Fields(memory), worker)
        return memory

    def result_at_once(self) -> Memory:
        """Run each worker on what was before."""
        result = dict(self.start)
        for worker in range(WORKERS):
            memory = dict(self.start)
            fields = Fields(memory)
            self.cls.compute(fields, worker)
            result |= {place: memory[place] for place in fields.stored}
        return result

    def share(self) -> bool:
        """Return whether a worker stores an element that another one reads or stores."""
        memory, stored = dict(self.start), defaultdict[Place, set[int]](set)
        read = defaultdict[Place, set[int]](set)
        for worker in range(WORKERS):
            fields = Fields(memory)
            self.cls.compute(fields, worker)
            for place in fields.stored:
                stored[place].add(worker)
            for place in fields.read:
                read[place].add(worker)
        return any(len(workers | read[place]) > 1 for place, workers in stored.items())

    def found(self, *, interpret: bool) -> Memory | None:
        """What an engine with strict checks leaves in the fields; None where it refuses."""
        graph = pl.Graph(pl.Target(tiles=1))
        every = 2 if self.is_gathered else 1
        tensors = {}
        for name in FIELDS:
            values = [self.start[name, index] for index in range(LENGTH) for _ in range(every)]
            tensors[name] = graph.add_variable(
                pl.INT, (LENGTH * every,), name, mapping=0, initial_value=values
            )[::every]
        a, x, y, *r = tensors.values()
        work = graph.add_compute_set("work")
        graph.add_vertex(work, self.cls, tile=0, a=a, x=x, y=y, r=r)
        options = {"debug.instrument": False}
        engine = pl.Engine(graph, pl.Execute(work), interpret=interpret, options=options)
        try:
            engine.run()
        except pl.WorkerRaceError:
            return None
        return {
            (name, index): int(value)
            for name, tensor in tensors.items()
            for index, value in enumerate(engine.read(tensor))
        }


@examples(1_000, quick=20)
@given(seed=st.integers(0, 10**9))
def test_accepted_workers_do_the_same_in_any_order(seed: int) -> None:
    drawn = Drawn(seed)
    found = drawn.found(interpret=True)
    if found is None:
        assert drawn.share(), drawn.text
        return
    for order in ([*range(WORKERS)], [*range(WORKERS)][::-1], *drawn.orders):
        assert found == drawn.result(order), drawn.text
    assert found == drawn.result_at_once(), drawn.text


@pytest.mark.parametrize("seed", thinned(range(20), 2))
def test_compiled_workers(seed: int) -> None:
    drawn = Drawn(seed)
    assert drawn.found(interpret=False) == drawn.found(interpret=True), drawn.text


def test_some_drawn_workers_are_accepted_and_some_are_not() -> None:
    found = [Drawn(seed).found(interpret=True) is None for seed in range(40)]
    assert 10 < sum(found) < 30
