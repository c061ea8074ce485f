"""Bytes from tile to tile: of pieces, of blocks, and beside what tiles receive."""

from __future__ import annotations

import numpy as np
import pytest

import poplite as pl
from poplite.cost.exchange import pieces as module
from poplite.cost.exchange.pieces import MovedPieces, PairSums, pairs_of_few, sum_of_pairs

Drawn = tuple[np.ndarray, np.ndarray, np.ndarray]


def drawn(tiles: int, count: int, seed: int) -> Drawn:
    rng = np.random.default_rng(seed)
    source, to = rng.integers(0, tiles, (2, count))
    return source, to, rng.integers(1, 9, count)


def pieces_of(columns: Drawn) -> MovedPieces:
    source, to, size = columns
    order = np.argsort(to, kind="stable")
    four = np.full(len(to), 4)
    jumps = np.ones(len(to), np.bool_)
    return MovedPieces(source[order], to[order], four, size[order], four, jumps)


def dense(tiles: int, *several: Drawn) -> np.ndarray:
    """The matrix by receiver and source, in NumPy."""
    found = np.zeros((tiles, tiles), np.int64)
    for source, to, size in several:
        moves = source != to
        np.add.at(found, (to[moves], source[moves]), 4 * size[moves])
    return found


@pytest.mark.parametrize("tiles", [2, 9, 40])
def test_pieces_add_up_by_pair(tiles: int) -> None:
    parts = [drawn(tiles, 200, seed) for seed in range(3)]
    sums = PairSums(tiles)
    for part in parts:
        sums.add(pieces_of(part))
    found = sums.pairs()
    assert found is not None
    expected = dense(tiles, *parts)
    assert (found.block, found.largest) == (1, ())
    assert found.matrix().tolist() == expected.tolist()
    few = pairs_of_few(tiles, [(s, t, 4 * n) for s, t, n in zip(*map(list, parts[0]), strict=True)])
    other = PairSums(tiles)
    other.add(pieces_of(parts[1]))
    both = sum_of_pairs(tiles, [few, other.pairs()])
    assert both is not None
    assert both.bytes.array().sum() == dense(tiles, *parts[:2]).sum()
    assert both.matrix().tolist() == dense(tiles, *parts[:2]).tolist()


def test_very_many_pairs_are_blocks_and_the_largest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_PAIRS", 50)
    monkeypatch.setattr(module, "MOST_BLOCKS", 4)
    monkeypatch.setattr(module, "LARGEST", 3)
    tiles, columns = 10, drawn(10, 300, 0)
    sums = PairSums(tiles)
    sums.add(pieces_of(columns))
    found, expected = sums.pairs(), dense(tiles, columns)
    assert found is not None
    assert found.block == 3  # blocks of tiles 0 to 2, 3 to 5, 6 to 8, and 9
    padded = np.zeros((12, 12), np.int64)
    padded[:10, :10] = expected
    blocks = padded.reshape(4, 3, 4, 3).sum(axis=(1, 3))
    assert found.matrix().tolist() == blocks.tolist()
    sizes = np.sort(expected.ravel())[:-4:-1]
    assert [size for _, _, size in found.largest] == sizes.tolist()
    assert all(expected[to, source] == size for source, to, size in found.largest)
    again = sum_of_pairs(tiles, [found, found])
    assert again is not None
    assert again.bytes.array().tolist() == (2 * found.bytes.array()).tolist()


class Total(pl.Vertex):
    """Adds up."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    total: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        total = 0.0
        for i in range(len(self.x)):
            total += self.x[i]
        self.total = total


@pytest.mark.parametrize("ipus", [1, 2])
def test_rows_add_up_to_what_tiles_receive(ipus: int) -> None:
    graph = pl.Graph(pl.Target(tiles=8, ipus=ipus))
    x = graph.add_variable(pl.FLOAT, (30,), "x", mapping="linear", initial_value=1)
    y = graph.add_variable(pl.FLOAT, (30,), "y", mapping=3)
    totals = graph.add_variable(pl.FLOAT, (8,), "totals", mapping=0)
    add = graph.add_compute_set("add")
    for tile in range(8):
        graph.add_vertex(add, Total, tile=tile, x=x[2 * tile : 2 * tile + 9], total=totals[tile])
    program = pl.Sequence(pl.Repeat(2, pl.Execute(add)), pl.Copy(x, y))
    engine = pl.Engine(graph, program)
    engine.run()
    report = engine.report()
    phases = [phase for step in report.execution.steps for phase in step.phases]
    moving = [phase for phase in phases if "exchange" in phase.kind]
    assert len(moving) >= (3 if ipus == 1 else 5)
    for phase in moving:
        assert phase.pairs is not None
        received = phase.pairs.matrix().sum(axis=1)
        assert received.tolist() == phase.received.array().tolist()
        sent = phase.pairs.matrix().sum(axis=0)
        assert (sent >= phase.sent.array()).all()
        assert not phase.pairs.matrix().diagonal().any()
    assert pl.Report.from_json(report.to_json()) == report
    with engine.tracing() as trace:
        engine.run()
    assert trace.steps[0].phases[0].pairs == phases[0].pairs


def test_the_copy_of_very_many_runs_has_pairs_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from poplite.cost.exchange import copies

    monkeypatch.setattr(copies, "MOST_RUNS", 16)
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.INT, (10, 10), "x", mapping="linear", initial_value=1)
    y = graph.add_variable(pl.INT, (10, 10), "y", mapping="linear")
    engine = pl.Engine(graph, pl.Copy(x.transpose(), y))
    engine.run()
    (step,) = engine.report().execution.steps
    (phase,) = (each for each in step.phases if each.kind == "exchange")
    assert phase.pairs is not None
    assert phase.pairs.matrix().sum(axis=1).tolist() == phase.received.array().tolist()
