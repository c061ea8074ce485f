"""examples/bfs.py: every distance, both forms, other graphs."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

import poplite as pl
from helpers.depth import thinned


def by_queue(matrix: np.ndarray) -> list[int]:
    """The distances from node 0, node by node; 192 where there is no way."""
    distance, queue = [0, *[192] * 191], [0]
    for node in queue:
        for other in np.flatnonzero(matrix[node]).tolist():
            if distance[other] == 192:
                distance[other] = distance[node] + 1
                queue.append(other)
    return distance


@pytest.mark.parametrize("interpret", thinned([True, False], 1))
def test_distances(bfs: ModuleType, interpret: bool) -> None:
    graph, program, distance, passes = bfs.build()
    engine = pl.Engine(graph, program, interpret=interpret)
    engine.run()
    got = engine.read(distance)
    assert np.bincount(got)[:8].tolist() == [1, 4, 11, 42, 81, 39, 9, 2]
    assert got.tolist() == by_queue(bfs.MATRIX)
    assert engine.read(passes) == 8  # the last one reaches nothing


def test_what_lies_where(bfs: ModuleType) -> None:
    graph, _, distance, _ = bfs.build()
    assert graph.tile_mapping(distance).elements_per_tile.tolist() == [12] * 16
    (columns,) = (v for v in graph.variables if v.name == "columns")
    assert columns.element_type is pl.UNSIGNED_SHORT
    entries = bfs.MATRIX.reshape(4, 48, 4, 48).sum((1, 3)).flatten().tolist()
    assert np.diff(columns.mapping.pieces()[0]).tolist() == entries


def test_a_chain_takes_a_pass_for_every_node(bfs: ModuleType) -> None:
    matrix = np.eye(192, k=1, dtype=bool) | np.eye(192, k=-1, dtype=bool)
    graph, program, distance, passes = bfs.build(matrix)
    engine = pl.Engine(graph, program)
    engine.run()
    assert engine.read(distance).tolist() == list(range(192))
    assert engine.read(passes) == 192


def test_a_wrong_answer_fails_loudly(
    bfs: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bfs.main()
    assert "189 of 192 nodes are reached in 8 passes" in capsys.readouterr().out
    graph, program, _, passes = bfs.build()
    wrong = graph.add_constant(pl.INT, (192,), np.where(np.arange(192), 7, 0), mapping=0)
    monkeypatch.setattr(bfs, "build", lambda: (graph, program, wrong, passes))
    with pytest.raises(AssertionError, match="not equal"):
        bfs.main()
