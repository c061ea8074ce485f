"""examples/bfs.py: every known number, both forms, another graph."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

import poplite as pl
from helpers.running import both_forms


def test_the_known_numbers_are_reached(bfs: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert bfs.main([]) == 0
    captured = capsys.readouterr()
    assert "820 entries; 189 of 192 nodes reached in 7 passes" in captured.out
    assert "68 nodes at distance 4" in captured.out
    assert "WRONG" not in captured.err


@both_forms
def test_distances(bfs: ModuleType, interpret: bool) -> None:
    matrix = bfs.adjacency()
    entries = [
        [int(block.sum()) for block in bfs.blocks(matrix)[4 * i : 4 * i + 4]] for i in range(4)
    ]
    assert entries == [[62, 49, 62, 47], [49, 60, 52, 42], [62, 52, 52, 41], [47, 42, 41, 60]]
    graph, program, distance, level = bfs.build(matrix)
    engine = pl.Engine(graph, program, interpret=interpret)
    engine.run()
    got = engine.read(distance)
    reached = got[got != 2147483647]
    assert np.bincount(reached).tolist() == [1, 3, 20, 62, 68, 32, 3]
    assert len(got) - len(reached) == 3
    assert got[1:9].tolist() == [4, 3, 4, 4, 3, 2, 5, 3]
    assert reached.sum() == 679
    assert engine.read(level) == 7
    assert got.tolist() == bfs.oracle(matrix).tolist()


def test_what_lies_where(bfs: ModuleType) -> None:
    graph, _, distance, _ = bfs.build(bfs.adjacency())
    assert graph.tile_mapping(distance).elements_per_tile.tolist() == [12] * 16
    (columns,) = (v for v in graph.variables if v.name == "columns")
    assert columns.element_type is pl.UNSIGNED_SHORT
    assert np.diff(columns.mapping.pieces()[0]).tolist()[:4] == [62, 49, 62, 47]


def test_a_chain_takes_a_pass_for_every_node(bfs: ModuleType) -> None:
    matrix = np.eye(192, k=1, dtype=bool) | np.eye(192, k=-1, dtype=bool)
    graph, program, distance, level = bfs.build(matrix)
    engine = pl.Engine(graph, program)
    engine.run()
    assert engine.read(distance).tolist() == list(range(192))
    assert engine.read(level) == 192


def test_wrong_distances_are_reported(bfs: ModuleType) -> None:
    matrix = bfs.adjacency()
    right = bfs.oracle(matrix)
    assert bfs.faults(matrix, right, 7) == []
    wrong = right.copy()
    wrong[1] = 5
    assert bfs.faults(matrix, wrong, 8) == [
        "1 of 192 distances differ from NumPy",
        "nodes by distance: [1, 3, 20, 62, 67, 33, 3], expected [1, 3, 20, 62, 68, 32, 3]",
        "passes: 8, expected 7",
        "distances of nodes 1 to 8: [5, 3, 4, 4, 3, 2, 5, 3], expected [4, 3, 4, 4, 3, 2, 5, 3]",
        "sum of distances: 680, expected 679",
    ]


def test_a_wrong_answer_fails_loudly(
    bfs: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bfs, "EXPECTED_SUM", 680)
    assert bfs.main([]) == 1
    assert "WRONG: sum of distances: 679, expected 680" in capsys.readouterr().err
