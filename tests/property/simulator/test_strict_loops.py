"""Strict checks of loops drawn at random: compiled looks find what Python finds that looks at all.

In each turn a number is taken from a list, and rows of tables are written, read, copied or
undefined by it, in branches and inner loops.  So any turn may be the first to read what nothing
has written.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.running import simulated
from poplite import ops
from poplite.simulator.strict import checks, kernel_forms
from poplite.simulator.strict.checks import MOST_LOOKS, StrictChecks
from poplite.simulator.strict.replay import Replay

ROWS, WIDTH, TURNS = 6, 2, 14


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


class Drawn:
    """A loop over rows of tables."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.graph = pl.Graph(pl.Target(tiles=2))
        add = self.graph.add_variable
        self.tables = [
            add(pl.INT, (ROWS, WIDTH), f"table{n}", mapping="linear" if n else 0) for n in range(2)
        ]
        self.rows = [add(pl.INT, (1, WIDTH), f"row{n}", mapping=n) for n in range(2)]
        chosen = [random.randrange(ROWS) for _ in range(TURNS)]
        flags = [random.random() < 0.5 for _ in range(TURNS)]
        self.number = add(pl.UNSIGNED_INT, (1,), "number", mapping=0)
        self.flag = add(pl.BOOL, (), "flag", mapping=0)
        turn = add(pl.UNSIGNED_INT, (), "turn", mapping=0, initial_value=0)
        lists = [
            self.graph.add_constant(kind, (TURNS,), values, mapping=0)
            for kind, values in ((pl.UNSIGNED_INT, chosen), (pl.BOOL, flags))
        ]
        self.advance = self.execute(
            Advance,
            numbers=lists[0],
            flags=lists[1],
            turn=turn,
            number=self.number[0],
            flag=self.flag,
        )
        fill = [self.assigned(row) for row in self.rows if random.random() < 0.8]
        fill += [self.assigned(table) for table in self.tables if random.random() < 0.2]
        body = pl.Sequence(self.advance, *self.pieces(random.randrange(1, 7), depth=1))
        self.program = pl.Sequence(*fill, pl.Repeat(TURNS, body))

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
            case "copy":
                one, other = random.sample([self.tables, self.rows][random.randrange(2)], 2)
                return pl.Copy(one, other)
        return pl.WriteUndef(random.choice([table, row, table[:2], row[:, :1]]))

    def moved(self, vertex: type[pl.Vertex], table: pl.Tensor, row: pl.Tensor) -> pl.Program:
        if self.random.random() < 0.3:  # nothing is contiguous: gathered and scattered
            table, row = table[:, ::-1], row[:, ::-1]
        fields = {"table": table.flatten(), "row": row.flatten(), "number": self.number[0]}
        return self.execute(vertex, **fields)

    def execute(self, vertex: type[pl.Vertex], **fields: pl.Tensor) -> pl.Program:
        compute_set = self.graph.add_compute_set(vertex.__name__)
        self.graph.add_vertex(compute_set, vertex, tile=0, **fields)
        return pl.Execute(compute_set)

    def assigned(self, tensor: pl.Tensor) -> pl.Program:
        return self.recorded(lambda: ops.assign(tensor, 5))

    def recorded(self, record: Any) -> pl.Program:
        with self.graph.steps() as program:
            record()
        return program

    def found(self, runs: int) -> tuple[Any, ...]:
        """What the program raises and warns of, and all that is known of memory afterwards."""
        raised: list[str] = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            engine = pl.Engine(self.graph, self.program, checks="strict")
            for _ in range(runs):
                try:
                    engine.run()
                except (pl.UninitializedReadError, pl.WorkerRaceError) as error:
                    raised.append(str(error))
            held = [engine.read(each).tolist() for each in (*self.tables, *self.rows)]
        strict = simulated(engine).strict
        assert strict is not None
        written = [each.tolist() for each in strict.shadow.parts]
        layout = strict.shadow.layout
        known = [each[: layout.end_of_variables(len(layout.variables))] for each in written]
        report = engine.report()
        told = [str(each.message) for each in caught]
        return raised, told, held, known, (report.steps, report.vertices, report.cycles)


@contextmanager
def patched(**values: Any) -> Iterator[None]:
    """Change what decides how strict checks look, for a while."""
    with pytest.MonkeyPatch.context() as patch:
        for name, (where, value) in values.items():
            patch.setattr(where, name, value)
        yield


def _nothing(*_: object, **__: object) -> None:
    return None


def both(seed: int, most: int) -> list[tuple[Any, ...]]:
    """What compiled looks find, and Python that looks at everything and arms all after a loss."""
    in_python: dict[str, tuple[Any, Any]] = {
        "compiled_look": (StrictChecks, _nothing),
        "compiled_mark": (StrictChecks, _nothing),
        "_loss": (StrictChecks, _nothing),
    }
    if most == MOST_LOOKS:  # rows are looked at even where whole tables would be trusted
        in_python["run_by_rows"] = Replay, _nothing
    looks = {"CALLS_IN_NUMPY": (kernel_forms, 1), "MOST_LOOKS": (checks, most)}
    found = []
    for changes in (looks, looks | in_python):
        with patched(**changes):
            found.append(Drawn(Random(seed)).found(runs=2))
    return found


@given(seed=st.integers(0, 10**9), most=st.sampled_from([MOST_LOOKS, 5]))
def test_compiled_looks_find_what_python_finds(seed: int, most: int) -> None:
    compiled, in_python = both(seed, most)
    assert compiled == in_python
