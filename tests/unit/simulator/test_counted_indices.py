"""Indices of vertices whose cycles data decide, with fast checks: none goes outside unseen."""

from __future__ import annotations

import numpy as np
import pytest

import poplite as pl


class Follow(pl.Vertex):
    """Follows indices from 0 on until one is 99; each place visited is counted in `seen`."""

    index: pl.Input[pl.Vector[pl.INT]]
    pairs: pl.Input[pl.Vector[pl.SHORT]]
    seen: pl.InOut[pl.Vector[pl.LONGLONG]]

    def compute(self) -> None:
        """Follow them."""
        i = 0
        while self.index[i] != 99:
            self.seen[self.pairs[i] + self.pairs[i + 4]] += 1
            i = self.index[i]


class Twice(pl.Vertex):
    """Looks at every other element until one is 99."""

    x: pl.InOut[pl.Vector[pl.SHORT]]
    step: pl.State[pl.LONGLONG]

    def compute(self) -> None:
        """Look at them."""
        i = 0
        while self.x[2 * i] != 99:
            i += self.step


class FollowRows(pl.Vertex):
    """Follows indices through the rows of a list until one is 99."""

    rows: pl.Input[pl.Vector[pl.Vector[pl.INT]]]
    steps: pl.Output[pl.INT]

    def compute(self) -> None:
        """Follow them."""
        row, column, steps = 0, 0, 0
        while self.rows[row][column] != 99:
            column = self.rows[row][column]
            row = 1 - row
            steps += 1
        self.steps = steps


@pytest.mark.parametrize(
    ("index", "pairs", "found"),
    [
        ([2, 99, 1, 0], [0] * 8, None),
        ([2, 99, 4, 0], [0] * 8, "Follow.index': index 4 of 4 elements"),
        ([2, 99, -1, 0], [0] * 8, "Follow.index': index -1 of 4 elements"),
        ([2, 99, 1 << 30, 0], [0] * 8, "Follow.index': index 1073741824 of 4 elements"),
        ([3, 99, 1, 1], [0] * 7, "Follow.pairs': index 7 of 7 elements"),
        ([2, 99, 1, 0], [1, 0, 3, 0, 0, 0, 2, 0], "Follow.seen': index 5 of 3 elements"),
        ([2, 99, 1, 0], [1, 0, 0, 0, 0, 0, -1, 0], "Follow.seen': index -1 of 3 elements"),
    ],
)
def test_each_access_is_compared_with_the_length_of_its_field(
    index: list[int], pairs: list[int], found: str | None
) -> None:
    cycles = []
    for checks in ("fast", "strict") if found is None else ("fast",):
        graph = pl.Graph(pl.Target(tiles=1))
        work, fields = graph.add_compute_set("follow"), {}
        for name, kind, values in (
            ("index", pl.INT, index),
            ("pairs", pl.SHORT, pairs),
            ("seen", pl.LONGLONG, [0, 0, 0]),
        ):
            shape = (len(values),)
            fields[name] = graph.add_variable(kind, shape, name, mapping=0, initial_value=values)
        graph.add_vertex(work, Follow, tile=0, **fields)
        engine = pl.Engine(graph, pl.Execute(work), checks=checks)
        if found is not None:
            with pytest.raises(pl.TensorIndexError, match=found):
                engine.run()
            continue
        engine.run()
        assert engine.read(fields["seen"]).tolist() == [2, 0, 0]
        cycles.append(engine.report().cycles)
    assert len(set(cycles)) <= 1


def test_an_index_that_is_beyond_all_memory_is_outside() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    x = graph.add_variable(pl.SHORT, (3,), "x", mapping=0, initial_value=[1, 0, 99])
    work = graph.add_compute_set("look")
    graph.add_vertex(work, Twice, tile=0, x=x, step=1 << 62)
    engine = pl.Engine(graph, pl.Execute(work), checks="fast")
    with pytest.raises(pl.TensorIndexError, match=f"index {-1 << 63} of 3 elements"):
        engine.run()


@pytest.mark.parametrize("outside", [False, True])
def test_an_index_within_the_next_row_is_outside_as_well(outside: bool) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    rows = np.array([[2, 1, 1], [0, 99, 3 if outside else 1]], np.int32)
    x = graph.add_variable(pl.INT, (2, 3), "x", mapping=0, initial_value=rows)
    steps = graph.add_variable(pl.INT, (), "steps", mapping=0)
    work = graph.add_compute_set("follow")
    graph.add_vertex(work, FollowRows, tile=0, rows=x, steps=steps)
    engine = pl.Engine(graph, pl.Execute(work), checks="fast")
    if outside:
        with pytest.raises(pl.TensorIndexError, match="index 3 of 3 rows or elements"):
            engine.run()
    else:
        engine.run()
        assert engine.read(steps) == 3
