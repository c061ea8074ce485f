"""Workers of a MultiVertex that share fields and do not race, and programs near them that do."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import poplite as pl
from helpers.running import interpreted_sooner


class SwapPairs(pl.MultiVertex):
    """Swaps neighbours, `step` elements from one pair of a worker to that of the next one."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]
    step: pl.State[pl.INT]

    def compute(self, worker: int) -> None:
        i = self.step * worker
        if i + 1 < len(self.x):
            self.x[i], self.x[i + 1] = self.x[i + 1], self.x[i]


class Mirror(pl.MultiVertex):
    """Swaps elements with those at the same distance from the end, up to `end`."""

    x: pl.InOut[pl.Vector[pl.LONGLONG]]
    end: pl.State[pl.INT]

    def compute(self, worker: int) -> None:
        for i in range(worker, self.end, self.num_workers):
            held = self.x[i]
            self.x[i] = self.x[len(self.x) - 1 - i]
            self.x[len(self.x) - 1 - i] = held


class RunningSums(pl.MultiVertex):
    """Adds to each element the one before, in as many blocks."""

    x: pl.InOut[pl.Vector[pl.INT]]
    blocks: pl.State[pl.INT]

    def compute(self, worker: int) -> None:
        size = len(self.x) // self.blocks
        if worker < self.blocks:
            for i in range(max(1, worker * size), (worker + 1) * size):
                self.x[i] += self.x[i - 1]


class InLanes(pl.MultiVertex):
    """Doubles 8 elements of a worker's own, and stores `width`."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]
    width: pl.State[pl.INT]

    def compute(self, worker: int) -> None:
        first = 8 * worker
        if first + self.width <= len(self.x):
            self.x.set_lanes(first, self.x.lanes(first, self.width) * 2.0)


class Found(pl.MultiVertex):
    """Stores that an element is large; looks first whether another worker did, from `looks` on."""

    x: pl.Input[pl.Vector[pl.INT]]
    found: pl.InOut[pl.BOOL]
    looks: pl.State[pl.INT]

    def compute(self, worker: int) -> None:
        if worker >= self.looks and self.found:
            return
        if self.x[worker] > 3:
            self.found = True


class Stored(pl.MultiVertex):
    """Stores NaN by all workers, or zeros of both signs."""

    y: pl.Output[pl.FLOAT]
    is_nan: pl.State[pl.BOOL]

    def compute(self, worker: int) -> None:
        if self.is_nan:
            self.y = math.nan
        else:
            self.y = 0.0 if worker == 0 else -0.0


class LargeTimes(pl.MultiVertex):
    """Numbers that differ in bits above 32 only."""

    y: pl.Output[pl.UNSIGNED_LONGLONG]
    factor: pl.State[pl.INT]

    def compute(self, worker: int) -> None:
        self.y = (worker * self.factor) << 40


class RowsInPlace(pl.MultiVertex):
    """Turns rows by an element; each row is one worker's, or the first of `by` that of several."""

    rows: pl.InOut[pl.Vector[pl.Vector[pl.HALF]]]
    by: pl.State[pl.INT]

    def compute(self, worker: int) -> None:
        row = self.rows[worker // self.by]
        first = row[0]
        for i in range(len(row) - 1):
            row[i] = row[i + 1]
        row[len(row) - 1] = first


_LARGE = 2**40 + np.arange(7)
_ROWS = np.arange(30).reshape(6, 5)

CASES = [
    (SwapPairs, {"step": 2}, {"step": 1}, {"x": range(6)}, {"x": [1, 0, 3, 2, 5, 4]}),
    (Mirror, {"end": 3}, {"end": 7}, {"x": _LARGE}, {"x": _LARGE[::-1]}),
    (RunningSums, {"blocks": 1}, {"blocks": 3}, {"x": [1] * 9}, {"x": range(1, 10)}),
    (InLanes, {"width": 8}, {"width": 9}, {"x": range(32)}, {"x": range(0, 64, 2)}),
    (Found, {"looks": 6}, {"looks": 2}, {"x": [9] * 6, "found": False}, {"found": True}),
    (Stored, {"is_nan": True}, {"is_nan": False}, {"y": 1}, {"y": math.nan}),
    (LargeTimes, {"factor": 0}, {"factor": 1}, {"y": 1}, {"y": 0}),
    (RowsInPlace, {"by": 1}, {"by": 2}, {"rows": _ROWS}, {"rows": np.roll(_ROWS, -1, 1)}),
]


@interpreted_sooner
@pytest.mark.parametrize("is_apart", [False, True])
@pytest.mark.parametrize(
    ("vertex", "right", "wrong", "start", "expected"),
    CASES,
    ids=[each[0].__name__ for each in CASES],
)
def test_workers_with_elements_of_their_own_and_one_too_many(
    vertex: type[pl.Vertex],
    right: dict[str, Any],
    wrong: dict[str, Any],
    start: dict[str, Any],
    expected: dict[str, Any],
    is_apart: bool,
    interpret: bool,
) -> None:
    """`is_apart`: every second element of a variable, so that fields are gathered."""
    graph = pl.Graph(pl.Target(tiles=1))
    fields = {}
    for name, values in start.items():
        held = np.repeat(np.array(values)[..., np.newaxis], 2 if is_apart else 1, axis=-1)
        kind = vertex.fields[name].element
        fields[name] = graph.add_variable(kind, held.shape, name, mapping=0, initial_value=held)
    programs = {}
    for which, state in (("right", right), ("wrong", wrong)):
        work = graph.add_compute_set(which)
        own = {name: each[..., 0] for name, each in fields.items()}
        graph.add_vertex(work, vertex, tile=0, **own, **state)
        programs[which] = pl.Execute(work)
    engine = pl.Engine(graph, programs, interpret=interpret, options={"debug.instrument": False})
    with pytest.raises(pl.WorkerRaceError, match=f"^{vertex.__name__} 0 on tile 0: worker "):
        engine.run("wrong")
    for name, values in start.items():  # as before
        np.testing.assert_array_equal(engine.read(fields[name])[..., 0], np.array(values))
    engine.run("right")
    for name, values in expected.items():
        np.testing.assert_array_equal(engine.read(fields[name])[..., 0], np.array(values))


class Backwards(pl.MultiVertex):
    x: pl.Input[pl.Vector[pl.INT]]
    y: pl.Output[pl.Vector[pl.INT]]

    def compute(self, worker: int) -> None:
        for i in range(worker, len(self.y), self.num_workers):
            self.y[i] = self.x[len(self.x) - 1 - i]


class BackwardsInPlace(pl.MultiVertex):
    x: pl.Input[pl.Vector[pl.INT]]
    y: pl.InOut[pl.Vector[pl.INT]]

    def compute(self, worker: int) -> None:
        for i in range(worker, len(self.y), self.num_workers):
            self.y[i] = self.x[len(self.x) - 1 - i]


@interpreted_sooner
def test_an_input_of_all_workers_that_an_output_overlaps(interpret: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (8,), "x", mapping=0, initial_value=np.arange(8))
    part = graph.add_variable(pl.INT, (8,), "part", mapping=0, initial_value=np.arange(8))
    work = graph.add_compute_set("backwards")
    graph.add_vertex(work, Backwards, tile=0, x=x, y=x)
    graph.add_vertex(work, Backwards, tile=0, x=part[:5], y=part.reverse(0)[2:7])
    options = {"debug.instrument": False}
    engine = pl.Engine(graph, pl.Execute(work), interpret=interpret, options=options)
    engine.run()
    assert engine.read(x).tolist() == [7, 6, 5, 4, 3, 2, 1, 0]
    assert engine.read(part).tolist() == [0, 0, 1, 2, 3, 4, 6, 7]


def test_an_input_of_all_workers_that_is_changed_in_place() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.INT, (8,), "x", mapping=0, initial_value=0)
    work = graph.add_compute_set("backwards")
    graph.add_vertex(work, BackwardsInPlace, tile=0, x=x[:5].reverse(0), y=x[3:])
    what = "Input 'x' of BackwardsInPlace 0 on tile 0 shares elements with its InOut 'y'"
    with pytest.raises(pl.GraphConnectionError, match=what) as caught:
        pl.Engine(graph, pl.Execute(work), options={"debug.instrument": False})
    assert "'x'[3" in caught.value.found
