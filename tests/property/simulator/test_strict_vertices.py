"""What strict checks say of drawn vertices: unwritten values, and workers in any order."""

from __future__ import annotations

import linecache
import re
import warnings
from collections import defaultdict
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples, thinned

# -- values of what is unwritten -------------------------------------------------------------------
# The text of a drawn `compute` is also run as plain Python: once on numbers that note what is done
# with those that nothing has written, and many times with any numbers in their place.


LENGTH = 4
VERTEX_TEXT = """class Drawn(pl.Vertex):
    a: pl.Input[pl.Vector[pl.INT]]
    b: pl.Input[pl.Vector[pl.INT]]
    n: pl.Input[pl.INT]
    y: pl.Output[pl.Vector[pl.INT]]
    z: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        s = 0
        t = self.n
"""


class VertexLines:
    """Statements drawn at random, each a line."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.lines: list[str] = []
        for _ in range(random.randrange(1, 5)):
            self.statement(2, 0)

    def add(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def element(self, loop: int) -> str:
        name = self.random.choice("aabbnzst")
        if name == "n":
            return "self.n"
        if name in "st":
            return name
        return f"self.{name}[{self.index(loop)}]"

    def index(self, loop: int) -> str:
        return "i" if loop and self.random.random() < 0.7 else str(self.random.randrange(LENGTH))

    def value(self, loop: int) -> str:
        kind = self.random.choice(["move"] * 4 + ["sum", "less", "times", "rest", "larger", "any"])
        one, other = self.element(loop), self.element(loop)
        number = self.random.choice([0, 1, 2, 3, 10, 100])
        match kind:
            case "sum":
                return f"{one} + {other}"
            case "less":
                return f"{one} - {other}"
            case "times":
                return f"{one} * {self.random.choice([0, 1, 2])} + {number}"
            case "rest":
                return f"{one} % 2"
            case "larger":
                return f"{self.random.choice(['max', 'min'])}({one}, {other})"
            case "any":
                return f"{one} if {self.condition(loop)} else {other}"
        return one

    def condition(self, loop: int) -> str:
        one, other = self.element(loop), self.element(loop)
        if self.random.random() < 0.3:
            return f"{one} {self.random.choice(['==', '!='])} {self.random.choice([other, '0'])}"
        return (
            f"{one} {self.random.choice(['<', '>', '<='])} {self.random.choice([other, '0', '50'])}"
        )

    def statement(self, indent: int, loop: int) -> None:
        kind = self.random.choice(["store"] * 4 + ["local", "local", "if", "for", "turns"])
        if indent > 4:
            kind = "store"
        match kind:
            case "store":
                target = self.random.choice("yyz")
                self.add(indent, f"self.{target}[{self.index(loop)}] = {self.value(loop)}")
            case "local":
                self.add(indent, f"{self.random.choice('st')} = {self.value(loop)}")
            case "if":
                self.add(indent, f"if {self.condition(loop)}:")
                self.statement(indent + 1, loop)
                if self.random.random() < 0.5:
                    self.add(indent, "else:")
                    self.statement(indent + 1, loop)
            case "for":
                self.add(indent, f"for i in range({LENGTH}):")
                self.statement(indent + 1, 1)
            case "turns":
                self.add(indent, f"for _ in range(min(50, {self.element(loop)})):")
                self.add(indent + 1, "s = s + 1")


class Number:
    """A number that knows which unwritten element it is, and notes what becomes of such."""

    def __init__(self, value: int, hole: object = None, *, is_derived: bool = False) -> None:
        self.value, self.hole, self.is_derived = value, hole, is_derived

    noted: bool = False

    @property
    def is_tainted(self) -> bool:
        return self.hole is not None or self.is_derived

    def _with(self, other: Any, value: Callable[[int, int], int]) -> Number:
        other = other if isinstance(other, Number) else Number(other)
        is_derived = self.is_tainted or other.is_tainted
        return Number(value(self.value, other.value), is_derived=is_derived)

    def __add__(self, other: Any) -> Number:
        return self._with(other, lambda a, b: a + b)

    def __sub__(self, other: Any) -> Number:
        return self._with(other, lambda a, b: a - b)

    def __mul__(self, other: Any) -> Number:
        return self._with(other, lambda a, b: a * b)

    def __mod__(self, other: Any) -> Number:
        return self._with(other, lambda a, b: a % b)

    __radd__ = __add__

    def __rsub__(self, other: int) -> Number:
        return Number(other) - self

    def _decides(self, other: Any) -> int:
        than = other if isinstance(other, Number) else Number(other)
        Number.noted |= self.is_tainted or than.is_tainted
        return self.value - than.value

    def __lt__(self, other: Any) -> bool:
        return self._decides(other) < 0

    def __gt__(self, other: Any) -> bool:
        return self._decides(other) > 0

    def __le__(self, other: Any) -> bool:
        return self._decides(other) <= 0

    def __ge__(self, other: Any) -> bool:
        return self._decides(other) >= 0

    def __eq__(self, other: object) -> bool:
        return self._decides(other) == 0

    def __ne__(self, other: object) -> bool:
        return self._decides(other) != 0

    def __hash__(self) -> int:
        raise TypeError

    def __index__(self) -> int:
        Number.noted |= self.is_tainted
        return self.value


class VertexFields:
    """The fields of a vertex as lists."""

    def __init__(self, a: Any, b: Any, n: Any, y: Any, z: Any) -> None:
        self.a, self.b, self.n, self.y, self.z = a, b, n, y, z


class DrawnVertex:
    """A vertex class, and what is in its fields."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.text = VERTEX_TEXT + "\n".join(VertexLines(random).lines) + "\n"
        name = f"<drawn {random.random()}>"
        linecache.cache[name] = len(self.text), None, self.text.splitlines(keepends=True), name
        found = {"pl": pl, "__name__": __name__}
        exec(compile(self.text, name, "exec"), found)
        self.cls: Any = found["Drawn"]
        names = [(name, i) for name in "abyz" for i in range(LENGTH)]
        some = random.choice([0.0, 0.2, 0.5, 0.9])
        self.holes = {each for each in [*names, ("n", 0)] if random.random() < some}
        self.values = {each: random.choice([0, 0, 0, 1, 2, -3, 60]) for each in [*names, ("n", 0)]}

    def run(self, value: Callable[[Any], Any]) -> dict[Any, Any]:
        """Run it as plain Python; return what is in the fields that it writes."""
        vectors = {name: [value((name, i)) for i in range(LENGTH)] for name in "abyz"}
        fields = VertexFields(n=value(("n", 0)), **vectors)
        self.cls.compute(fields)
        return {(name, i): getattr(fields, name)[i] for name in "yz" for i in range(LENGTH)}

    def noted(self) -> tuple[bool, set[Any]]:
        """Return whether a result may depend on what is unwritten, and which are unwritten."""
        Number.noted = False

        def value(at: Any) -> Number:
            is_hole = at in self.holes
            return Number(0 if is_hole else self.values[at], at if is_hole else None)

        after = self.run(value)
        numbers = {at: n if isinstance(n, Number) else Number(n) for at, n in after.items()}
        depends = Number.noted or any(each.is_derived for each in numbers.values())
        return depends, {at for at, each in numbers.items() if each.hole is not None}

    def depends(self) -> bool:
        """Return whether any result varies, and is more than one of the unwritten elements."""
        runs = []
        for _ in range(40):
            top = self.random.choice([1, 3, 60, 20_000])
            held = {at: self.random.randint(-top, top) for at in self.holes}
            values = {**self.values, **held}
            runs.append((held, self.run(values.__getitem__)))
        for at in runs[0][1]:
            results = [result[at] for _, result in runs]
            is_passed_on = all(result[at] in held.values() for held, result in runs)
            if len(set(results)) > 1 and not is_passed_on:
                return True
        return False

    def engine(self, interpret: bool) -> tuple[pl.Engine, dict[str, Any]]:
        graph = pl.Graph(pl.Target(tiles=1))
        sizes = {name: () if name == "n" else (LENGTH,) for name in "abnyz"}
        tensors = {
            name: graph.add_variable(pl.INT, shape, name, mapping=0)
            for name, shape in sizes.items()
        }
        step = graph.add_compute_set("step")
        graph.add_vertex(step, self.cls, tile=0, **tensors)
        options = {"debug.instrument": False}  # which would compile them for their prices
        engine = pl.Engine(graph, pl.Execute(step), interpret=interpret, options=options)
        for (name, i), value in self.values.items():
            if (name, i) not in self.holes:
                tensor = tensors[name]
                engine.write(tensor if name == "n" else tensor[i], value)
        return engine, tensors


def verdict(drawn: DrawnVertex, interpret: bool) -> tuple[bool, list[int]]:
    """What strict checks say: whether a result depends on what is unwritten, and what stays so.

    Of the latter the number, in y and in z.
    """
    engine, tensors = drawn.engine(interpret)
    left = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            engine.run()
        except pl.UninitializedReadError:
            return True, []
        for name in "yz":
            caught.clear()
            engine.read(tensors[name])
            match = re.search(r"written (\d+) of 4", str(caught[0].message)) if caught else None
            left.append(int(match[1]) if match else 0)
    return False, left


@examples(1_000, quick=100)
@given(seed=st.integers(0, 10**9))
def test_nothing_is_said_where_nothing_depends(seed: int) -> None:
    drawn = DrawnVertex(Random(seed))
    may, unwritten = drawn.noted()
    said, left = verdict(drawn, True)
    assert may or not said, drawn.text
    numbers = [sum(name == each for each, _ in unwritten) for name in "yz"]
    assert said or may or left == numbers, drawn.text


def test_most_of_what_depends_is_found() -> None:
    """Two runs do not find equality with one number, nor all that two elements decide together."""
    depending = [each for seed in range(80) if (each := DrawnVertex(Random(seed))).depends()]
    found = [drawn for drawn in depending if verdict(drawn, True)[0]]
    assert len(depending) > 15
    assert len(found) >= 0.9 * len(depending)


@pytest.mark.parametrize("seed", thinned(range(20), 3))
def test_compiled_vertices(seed: int) -> None:
    drawn = DrawnVertex(Random(seed))
    assert verdict(drawn, False) == verdict(drawn, True)


# -- workers in any order --------------------------------------------------------------------------
# The text of a drawn `compute` also runs as plain Python, on a memory that notes who reads and
# stores each element: worker by worker in several orders, and each worker by itself on what was
# before.


WORKERS = WORKER_LENGTH = 6
FIELDS = "a", "x", "y", "r0", "r1"
WORKER_TEXT = """class Drawn(pl.MultiVertex):
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


Place = tuple[str, int]
Memory = dict[Place, int]


class WorkerLines:
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


class WorkerFields:
    """The fields of a vertex in such a memory."""

    num_workers = WORKERS

    def __init__(self, memory: Memory) -> None:
        self.read: set[Place] = set()
        self.stored: set[Place] = set()
        fields = [Noted(name, memory, self.read, self.stored) for name in FIELDS]
        self.a, self.x, self.y, *self.r = fields


class DrawnWorkers:
    """A vertex class, and what is in its fields."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        self.text = WORKER_TEXT + "\n".join(WorkerLines(random).lines) + "\n"
        name = f"<drawn {seed}>"
        linecache.cache[name] = len(self.text), None, self.text.splitlines(keepends=True), name
        found = {"pl": pl, "__name__": __name__}
        exec(compile(self.text, name, "exec"), found)
        self.cls: Any = found["Drawn"]
        self.start = {
            (field, index): random.choice([0, 1, 2, 3, 4, 7])
            for field in FIELDS
            for index in range(WORKER_LENGTH)
        }
        self.is_gathered = random.random() < 0.3
        self.orders = [random.sample(range(WORKERS), WORKERS) for _ in range(3)]

    def result(self, order: list[int]) -> Memory:
        """Run worker after worker."""
        memory = dict(self.start)
        for worker in order:
            self.cls.compute(WorkerFields(memory), worker)
        return memory

    def result_at_once(self) -> Memory:
        """Run each worker on what was before."""
        result = dict(self.start)
        for worker in range(WORKERS):
            memory = dict(self.start)
            fields = WorkerFields(memory)
            self.cls.compute(fields, worker)
            result |= {place: memory[place] for place in fields.stored}
        return result

    def share(self) -> bool:
        """Return whether a worker stores an element that another one reads or stores."""
        memory, stored = dict(self.start), defaultdict[Place, set[int]](set)
        read = defaultdict[Place, set[int]](set)
        for worker in range(WORKERS):
            fields = WorkerFields(memory)
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
            values = [
                self.start[name, index] for index in range(WORKER_LENGTH) for _ in range(every)
            ]
            tensors[name] = graph.add_variable(
                pl.INT, (WORKER_LENGTH * every,), name, mapping=0, initial_value=values
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


@pytest.mark.filterwarnings("ignore::poplite.UnwrittenOutputWarning")
@examples(1_000, quick=20)
@given(seed=st.integers(0, 10**9))
def test_accepted_workers_do_the_same_in_any_order(seed: int) -> None:
    drawn = DrawnWorkers(seed)
    found = drawn.found(interpret=True)
    if found is None:
        assert drawn.share(), drawn.text
        return
    for order in ([*range(WORKERS)], [*range(WORKERS)][::-1], *drawn.orders):
        assert found == drawn.result(order), drawn.text
    assert found == drawn.result_at_once(), drawn.text


@pytest.mark.filterwarnings("ignore::poplite.UnwrittenOutputWarning")
@pytest.mark.parametrize("seed", thinned(range(20), 2))
def test_compiled_workers(seed: int) -> None:
    drawn = DrawnWorkers(seed)
    assert drawn.found(interpret=False) == drawn.found(interpret=True), drawn.text


@pytest.mark.filterwarnings("ignore::poplite.UnwrittenOutputWarning")
def test_some_drawn_workers_are_accepted_and_some_are_not() -> None:
    found = [DrawnWorkers(seed).found(interpret=True) is None for seed in range(40)]
    assert 10 < sum(found) < 30
