"""What strict checks say of drawn programs, against NumPy with masks; of loops, against Python."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples, values_only
from helpers.running import both_forms, simulated
from poplite import ops
from poplite.executable import encoding as op
from poplite.jit import kernels_written as kernels
from poplite.jit.build import BoundKernel
from poplite.simulator.strict import checks, replay
from poplite.simulator.strict.checks import MOST_LOOKS, StrictChecks
from poplite.simulator.strict.looks import CompiledLook, KernelCall, LookPlan
from poplite.vertices.slices import MultiSlice, MultiUpdate

# -- programs --------------------------------------------------------------------------------------


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


# -- loops that compiled code looks at -------------------------------------------------------------
# In each turn a number is taken from a list, and rows of tables are written, read, copied or
# undefined by it, in branches and inner loops.  So any turn may be the first to read what nothing
# has written, to stop a vertex, or to be ended by the host.  Then the program runs again with
# other numbers.  All that a user sees is compared, and all memory, written or not.


ROWS, WIDTH, TURNS, RUNS = 6, 2, 14, 3


class Advance(pl.Vertex):
    """Takes the next number and the next flag."""

    numbers: pl.Input[pl.Vector[pl.UNSIGNED_INT]]
    flags: pl.Input[pl.Vector[pl.BOOL]]
    turn: pl.InOut[pl.UNSIGNED_INT]
    number: pl.Output[pl.UNSIGNED_INT]
    flag: pl.Output[pl.BOOL]

    def compute(self) -> None:
        at = self.turn % len(self.numbers)
        self.number = self.numbers[at]
        self.flag = self.flags[at]
        self.turn = self.turn + 1


class PutRow(pl.Vertex):
    table: pl.InOut[pl.Vector[pl.INT]]
    row: pl.Input[pl.Vector[pl.INT]]
    number: pl.Input[pl.UNSIGNED_INT]

    def compute(self) -> None:
        for j in range(len(self.row)):
            self.table[self.number * len(self.row) + j] = 2 * self.row[j] + 1


class PassRow(pl.Vertex):
    """Passes elements on as they stand, and leaves Outputs as they are for one number."""

    table: pl.Input[pl.Vector[pl.INT]]
    row: pl.Output[pl.Vector[pl.INT]]
    number: pl.Input[pl.UNSIGNED_INT]

    def compute(self) -> None:
        for j in range(len(self.row)):
            if self.number != 4:
                self.row[j] = self.table[self.number * len(self.row) + j]


class Stop(pl.Vertex):
    """Writes a part of its row, then stops for one number."""

    row: pl.Output[pl.Vector[pl.INT]]
    number: pl.Input[pl.UNSIGNED_INT]
    stops: pl.Input[pl.UNSIGNED_INT]

    def compute(self) -> None:
        for j in range(len(self.row)):
            self.row[j] = self.number + j
            if self.number == self.stops:
                raise ValueError("this number")


class Exceed(pl.MultiVertex):
    """Each worker counts on; for one number one of them takes an element that is not there."""

    row: pl.InOut[pl.Vector[pl.INT]]
    number: pl.Input[pl.UNSIGNED_INT]
    stops: pl.Input[pl.UNSIGNED_INT]

    def compute(self, worker: int) -> None:
        for j in range(worker, len(self.row), self.num_workers):
            self.row[j] = self.row[j] + 1
        if worker == 1 and self.number == self.stops:
            self.row[len(self.row)] = 1


class AddUp(pl.MultiVertex):
    """Each worker adds some elements; for one number two of them may race."""

    table: pl.Input[pl.Vector[pl.INT]]
    row: pl.Output[pl.Vector[pl.INT]]
    number: pl.Input[pl.UNSIGNED_INT]

    def compute(self, worker: int) -> None:
        for j in range(worker, len(self.row), self.num_workers):
            self.row[j] = 3 * self.table[self.number * len(self.row) + j]
        if self.number == 5 and worker == 3:
            self.row[0] = self.table[10]


class DrawnLoop:
    """A loop over rows of tables."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.graph = pl.Graph(pl.Target(tiles=2))
        add = self.graph.add_variable
        self.tables = [self.table(f"table{n}", "linear" if n else 0) for n in range(2)]
        self.rows = [add(pl.INT, (1, WIDTH), f"row{n}", mapping=n) for n in range(2)]
        flags = [random.random() < 0.5 for _ in range(TURNS)]
        self.tick = pl.Call(self.graph.add_host_function("tick", [], []), [], [])
        self.ends = [random.randrange(4 * TURNS) for _ in range(RUNS)]
        self.chosen = [[random.randrange(ROWS) for _ in range(TURNS)] for _ in range(RUNS)]
        self.stops = self.graph.add_constant(
            pl.UNSIGNED_INT, (), random.randrange(2 * ROWS), mapping=0
        )
        self.numbers = add(pl.UNSIGNED_INT, (TURNS,), "numbers", mapping=0)
        self.number = add(pl.UNSIGNED_INT, (1,), "number", mapping=0)
        self.flag = add(pl.BOOL, (), "flag", mapping=0)
        turn = add(pl.UNSIGNED_INT, (), "turn", mapping=0, initial_value=0)
        self.advance = self.execute(
            Advance,
            numbers=self.numbers,
            flags=self.graph.add_constant(pl.BOOL, (TURNS,), flags, mapping=0),
            turn=turn,
            number=self.number[0],
            flag=self.flag,
        )
        fill = [self.assigned(row) for row in self.rows if random.random() < 0.8]
        fill += [self.assigned(table) for table in self.tables if random.random() < 0.2]
        body = pl.Sequence(self.advance, *self.pieces(random.randrange(1, 7), depth=1))
        self.program = pl.Sequence(*fill, self.tick, pl.Repeat(TURNS, body))

    def table(self, name: str, mapping: Any) -> pl.Tensor:
        """A table, at times of columns that are not all of a variable: vertices gather it."""
        kind, add = self.random.choice(["all", "all", "some", "turned"]), self.graph.add_variable
        if kind == "turned":
            return add(pl.INT, (WIDTH, ROWS), name, mapping=mapping).T
        wider = 2 if kind == "some" else 0
        return add(pl.INT, (ROWS, WIDTH + wider), name, mapping=mapping)[:, wider // 2 :][:, :WIDTH]

    def pieces(self, count: int, depth: int) -> list[pl.Program]:
        return [self.piece(depth) for _ in range(count)]

    def piece(self, depth: int) -> pl.Program:
        """A step, a branch or an inner loop."""
        random = self.random
        if depth and random.random() < 0.25:
            inner = pl.Sequence(*self.pieces(random.randrange(1, 4), depth - 1))
            if random.random() < 0.5:
                return pl.If(self.flag, inner, pl.Sequence(*self.pieces(1, 0)))
            return pl.Repeat(2, pl.Sequence(self.advance, inner))
        table, row = random.choice(self.tables), random.choice(self.rows)
        kinds = ["update", "update", "add", "slice", "put", "pass", "sum", "copy", "undefine"]
        kinds += ["stop", "exceed", "tick", "set", "get"]
        match random.choice(kinds):
            case "update":
                return self.recorded(lambda: ops.multi_update(table, row, self.number))
            case "add":
                return self.recorded(lambda: ops.multi_update_add(table, row, self.number))
            case "slice":
                return self.recorded(
                    lambda: ops.assign(row, ops.multi_slice(table, self.number).reshape(row.shape))
                )
            case "put":
                return self.moved(PutRow, table, row)
            case "pass":
                return self.moved(PassRow, table, row)
            case "sum":
                return self.moved(AddUp, table, row)
            case "stop":
                return self.stopped(Stop, row)
            case "exceed":
                return self.stopped(Exceed, row)
            case "set":
                return self.by_number(MultiUpdate[pl.INT], table, s=row)
            case "get":
                return self.by_number(MultiSlice[pl.INT], table, out=row)
            case "tick":
                return self.tick
            case "copy":
                one, other = random.sample([self.tables, self.rows][random.randrange(2)], 2)
                return pl.Copy(one, other)
        return pl.WriteUndef(random.choice([table, row, table[:2], row[:, :1]]))

    def moved(self, vertex: type[pl.Vertex], table: pl.Tensor, row: pl.Tensor) -> pl.Program:
        if self.random.random() < 0.3:  # nothing is contiguous: gathered and scattered
            table, row = table[:, ::-1], row[:, ::-1]
        fields = {"table": table.flatten(), "row": row.flatten(), "number": self.number[0]}
        return self.execute(vertex, **fields)

    def by_number(self, vertex: type[pl.Vertex], table: pl.Tensor, **rows: pl.Tensor) -> pl.Program:
        """A vertex that moves a row, of half a table at times."""
        first = self.random.choice([0, 0, ROWS // 2])
        rows = {
            name: row[:, :: self.random.choice([1, 1, 1, -1])].flatten()
            for name, row in rows.items()
        }
        x = table[first:].flatten()
        return self.execute(vertex, x=x, index=self.number, first=first, width=WIDTH, **rows)

    def stopped(self, vertex: type[pl.Vertex], row: pl.Tensor) -> pl.Program:
        row = row[:, ::-1] if self.random.random() < 0.3 else row
        fields = {"row": row.flatten(), "number": self.number[0], "stops": self.stops}
        return self.execute(vertex, **fields)

    def execute(self, vertex: type[pl.Vertex], **fields: Any) -> pl.Program:
        compute_set = self.graph.add_compute_set(vertex.__name__)
        self.graph.add_vertex(compute_set, vertex, tile=0, **fields)
        return pl.Execute(compute_set)

    def assigned(self, tensor: pl.Tensor) -> pl.Program:
        return self.recorded(lambda: ops.assign(tensor, 5))

    def recorded(self, record: Any) -> pl.Program:
        with self.graph.steps() as program:
            record()
        return program

    def found(self) -> list[Any]:
        """What each run raises, warns of and leaves behind."""
        found: list[Any] = []
        engine = pl.Engine(self.graph, self.program, checks="strict")
        strict, arena = simulated(engine).strict, simulated(engine).arena
        assert strict is not None
        layout = strict.shadow.layout
        end = layout.end_of_variables(len(layout.variables))
        for number, ends in zip(self.chosen, self.ends, strict=True):
            raised: object = None
            ticks = iter(range(ends))

            def tick(inputs: Any, outputs: Any, ticks: Iterator[int] = ticks) -> None:
                if next(ticks, None) is None:
                    raise KeyboardInterrupt

            engine.connect_host_function("tick", tick)
            engine.write(self.numbers, number)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    engine.run()
                except (pl.PopliteError, KeyboardInterrupt) as error:
                    raised = type(error).__name__, str(error)
                found.append([engine.read(each).tolist() for each in (*self.tables, *self.rows)])
            memory = [part[:end].tolist() for part in (*arena.parts, *strict.shadow.parts)]
            found.append((raised, [str(each.message) for each in caught], memory))
            report = engine.report()
            found.append((report.steps, report.vertices, report.cycles, report.runs_again))
        return found


@contextmanager
def patched(**values: Any) -> Iterator[None]:
    """Change what decides how strict checks look, for a while."""
    with pytest.MonkeyPatch.context() as patch:
        for name, (where, value) in values.items():
            patch.setattr(where, name, value)
        yield


def _nothing(*_: object, **__: object) -> None:
    return None


def both(seed: int, most: int) -> list[list[Any]]:
    """What compiled looks find, and Python without them."""
    in_python = {"compiled_look": (StrictChecks, _nothing)}
    looks = {
        "MOST_LOOKS": (checks, most),
        "LOOKS_IN_PYTHON": (checks, 1 + seed % 3),
    }
    found = []
    for changes in (looks, looks | in_python):
        with patched(**changes):
            found.append(DrawnLoop(Random(seed)).found())
    return found


@examples(50, quick=5)
@given(seed=st.integers(0, 10**9), most=st.sampled_from([MOST_LOOKS, 5]))
def test_compiled_looks_find_what_python_finds(seed: int, most: int) -> None:
    compiled, in_python = both(seed, most)
    assert compiled == in_python


@examples(50, quick=5)
@given(seed=st.integers(0, 10**9), item=st.integers(0, 12), keeps_failing=st.booleans())
def test_a_look_that_fails_anywhere_leaves_no_trace(
    seed: int, item: int, keeps_failing: bool
) -> None:
    class Failing(CompiledLook):
        """Fails before or behind an item of the step, for ever or the first time."""

        def __init__(self, plan: LookPlan, *arguments: Any) -> None:
            begins, runs = [*plan.begins], [*plan.runs]
            if runs:
                refused = KernelCall(refusing(keeps_failing=keeps_failing), op.RULE_REFUSED)
                some, at = (begins, item) if item < len(begins) else (runs, item - len(begins))
                some.insert(at, refused)
            super().__init__(replace(plan, begins=begins, runs=runs), *arguments)

    with pytest.MonkeyPatch.context() as patch:
        for where in (checks, replay):
            patch.setattr(where, "CompiledLook", Failing)
        compiled, in_python = both(seed, MOST_LOOKS)
    assert compiled == in_python


def refusing(*, keeps_failing: bool) -> BoundKernel:
    """A call that returns 1: always, or the first time only."""
    if keeps_failing:
        return BoundKernel(
            kernels.gather_held,
            np.ones(1, np.bool_),
            *np.zeros((1, 1), np.int64),
            1,
            np.zeros(1, np.int64),
        )
    lookups = np.ones((1, kernels.LOOKUP_WORDS), np.int64)
    return BoundKernel(kernels.mark_rows, np.zeros(1, np.uint8), lookups, np.array([1, 0, 0]))
