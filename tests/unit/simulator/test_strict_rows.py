"""Strict checks of vertices that move rows by number: they look at rows, and find the same."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import poplite as pl
from poplite import ops
from poplite.ops.loop import LoopIndex
from poplite.simulator.strict.replay import Replay

ROWS, WIDTH = 60, 3


class Rows:
    """A graph with a table that nothing has written, and a row that is or is not."""

    def __init__(self, rows: int = ROWS, row: float | None = 7) -> None:
        self.graph = pl.Graph(pl.Target(tiles=2))
        self.table = self.graph.add_variable(pl.FLOAT, (rows, WIDTH), "table", mapping="linear")
        self.row = self.graph.add_variable(
            pl.FLOAT, (1, WIDTH), "row", mapping=0, initial_value=row
        )
        self.out = self.graph.add_variable(pl.FLOAT, (1, WIDTH), "out", mapping=1)

    def engine(self, turns: int, *body: Callable[[Rows, LoopIndex], object]) -> pl.Engine:
        with self.graph.steps() as program, ops.repeat(turns) as i:
            for each in body:
                each(self, i)
        return pl.Engine(self.graph, program, checks="strict")


def put(at: Rows, i: LoopIndex) -> None:
    ops.dynamic_update(at.table, at.row, i, [0], [1])


def put_apart(at: Rows, i: LoopIndex) -> None:
    """Two rows at numbers from a table, the first of them from the end."""
    numbers = pl.stack([ops.map(ROWS - 1 - i), ops.map(i + 0)])
    ops.multi_update(at.table, pl.concat([at.row, at.row]), numbers)


def add(at: Rows, i: LoopIndex) -> None:
    ops.multi_update_add(at.table, at.row, i.tensor.reshape((1,)))


def get(at: Rows, i: LoopIndex) -> None:
    ops.assign(at.out, ops.dynamic_slice(at.table, i, [0], [1]) + 1)


def get_next(at: Rows, i: LoopIndex) -> None:
    """Row 0, from turn 50 on the row after that of the turn, which nothing has written."""
    ops.assign(at.out, ops.dynamic_slice(at.table, ops.where(i + 0 < 50, 0, i + 1), [0], [1]) + 1)


@pytest.mark.parametrize("rows", [100, 400])
def test_a_loop_that_fills_rows_is_looked_at_by_rows(rows: int) -> None:
    at = Rows(rows)
    engine = at.engine(rows, put, get)
    engine.run()
    assert engine.read(at.table).tolist() == [[7.0] * WIDTH] * rows
    assert engine.read(at.out).tolist() == [[8.0] * WIDTH]
    assert 0 < engine.report().runs_again <= rows // 2  # 4 in a turn, by whole tables


def found(engine: pl.Engine, at: Rows) -> tuple[str, list[str], list[Any]]:
    """What a program raises and warns of, and what the table holds."""
    raised = ""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            engine.run()
            engine.run()
        except pl.UninitializedReadError as error:
            raised = str(error)
        table = [] if raised else engine.read(at.table).tolist()
    return raised, [str(each.message) for each in warned], table


CASES: dict[str, tuple[int, float | None, tuple[Callable[[Rows, LoopIndex], object], ...]]] = {
    "all rows": (ROWS, 7, (put, get)),
    "some rows": (ROWS - 1, 7, (put, get)),
    "two in a turn": (ROWS // 2, 7, (put_apart,)),
    "two in a turn, not all": (ROWS // 2 - 1, 7, (put_apart, get)),
    "a row that nothing has written": (ROWS, None, (put,)),
    "its sum": (ROWS, None, (put, get)),
    "added to nothing": (ROWS, 7, (add,)),
    "added to what is written": (ROWS, 7, (put, add, get)),
    "read before": (ROWS - 1, 7, (put, get_next)),
}


@pytest.mark.parametrize("case", CASES)
def test_rows_give_what_whole_tables_give(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    turns, row, body = CASES[case]
    results = []
    for by_rows in (True, False):
        if not by_rows:
            monkeypatch.setattr(Replay, "run_by_rows", lambda *_, **__: False)
        at = Rows(row=row)
        results.append(found(at.engine(turns, *body), at))
    assert results[0] == results[1]
