"""Ctrl-C in the middle of strict checks: a step ran and is known to have run, or did neither."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import poplite as pl
from helpers.running import words_of
from poplite import ops
from poplite.executable import opcodes as op
from poplite.simulator.compiled_program import CompiledProgram
from poplite.simulator.strict.compiled_look import MovedRows
from poplite.simulator.strict.replay import Replay
from poplite.simulator.strict.shadow import Moving

ROWS = 6


def interrupt(
    patch: pytest.MonkeyPatch,
    cls: type,
    name: str,
    call: int = 0,
    *,
    before: bool = False,
    of: Callable[..., bool] = lambda *arguments: True,
) -> None:
    """Press Ctrl-C, as it were, once: when a method returns, or `before` it begins.

    Of all calls those count for which `of` is true.
    """
    method = getattr(cls, name)
    others = iter(range(call))

    def interrupted(*arguments: Any, **options: Any) -> Any:
        is_now = of(*arguments) and next(others, None) is None
        if is_now:
            patch.setattr(cls, name, method)
        found = None if is_now and before else method(*arguments, **options)
        if is_now:
            raise KeyboardInterrupt
        return found

    patch.setattr(cls, name, interrupted)


class Filled:
    """A table that is filled row by row: of all columns of a variable, or of some, gathered."""

    def __init__(self, columns: slice, *, interpret: bool) -> None:
        graph = pl.Graph(pl.Target(tiles=2))
        wide = graph.add_variable(pl.FLOAT, (ROWS, 4), "wide", mapping="linear")
        self.table = wide[:, columns]
        row = graph.add_variable(pl.FLOAT, self.table[:1].shape, "row", mapping=0, initial_value=2)
        with graph.steps() as program, ops.repeat(ROWS) as i:
            ops.dynamic_update(self.table, row, i, [0], [1])
        self.engine = pl.Engine(graph, program, checks="strict", interpret=interpret)

    def run(self) -> int:
        """Run it to Ctrl-C; return how many executions count."""
        with pytest.raises(KeyboardInterrupt):
            self.engine.run()
        return self.engine.report().steps

    def rows(self) -> int:
        """Return how many rows are filled; no others may count as written, or hold anything."""
        width = self.table.shape[1]
        with pytest.warns(pl.UninitializedWarning) as caught:
            held = self.engine.read(self.table)
        rows = int((held == 2).all(axis=1).sum())
        assert not held[rows:].any()
        assert f"{(ROWS - rows) * width} of {ROWS * width}" in str(caught[0].message)
        return rows

    def goes_on(self) -> bool:
        """Tell whether it runs to its end."""
        self.engine.run()
        return bool((self.engine.read(self.table) == 2).all())


def runs_rows(replay: Replay, *phases: int) -> bool:
    """Tell whether vertices that move rows are launched."""
    return replay._moves_rows and op.COMPUTE in phases


@pytest.mark.parametrize("columns", [slice(0, 4), slice(1, 3)])
@pytest.mark.parametrize("interpret", [False, True])
@pytest.mark.parametrize("turn", [0, 1])  # compiled code looks at others
def test_rows_are_written_and_known_to_be_or_neither(
    columns: slice, interpret: bool, turn: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, complete, marked = (Filled(columns, interpret=interpret) for _ in range(3))
    interrupt(monkeypatch, Replay, "_launch", turn, of=runs_rows)
    steps = left.run()
    assert left.rows() == turn
    interrupt(monkeypatch, Replay, "_finish_rows", turn, before=True)
    assert complete.run() == steps + 1
    assert complete.rows() == turn + 1
    interrupt(monkeypatch, MovedRows, "write", turn)
    assert marked.run() == steps + 1
    assert marked.rows() == turn + 1
    assert all(each.goes_on() for each in (left, complete, marked))


@pytest.mark.parametrize("interpret", [False, True])
def test_a_copy_moves_elements_and_what_is_known_of_them_or_neither(
    interpret: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.INT, (8,), "x", mapping="linear", initial_value=3)
    y = graph.add_variable(pl.INT, (8,), "y", mapping=1)
    engine = pl.Engine(graph, pl.Copy(x, y), checks="strict", interpret=interpret)
    interrupt(monkeypatch, CompiledProgram, "run_launches", before=True)
    with pytest.raises(KeyboardInterrupt):
        engine.run()
    assert engine.report().steps == 0
    with pytest.warns(pl.UninitializedWarning, match="8 of 8"):
        assert not engine.read(y).any()
    interrupt(monkeypatch, Moving, "__call__")
    with pytest.raises(KeyboardInterrupt):
        engine.run()
    assert engine.report().steps == 1
    assert engine.read(y).tolist() == [3] * 8
    engine.run()
    assert engine.report().steps == 2


IMPORTED_HALF = """
import os
import signal
import sys

from poplite.simulator.run import launches


class Pressed:
    def find_spec(self, name, path=None, target=None):
        if name == "numba.core.callconv":
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)


sys.meta_path.insert(0, Pressed())
try:
    launches.pays_ns()
except KeyboardInterrupt:
    print("interrupted")
print(launches.pays_ns() > 0, launches.has_threads())
"""


def test_threads_that_ctrl_c_keeps_from_starting_start_later(tmp_path: Path) -> None:
    assert words_of(tmp_path, IMPORTED_HALF) == ["interrupted", "True", "True"]
