"""Moves turned round, put together and run between two blocks, against a loop over bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import given, strategies as st

from poplite.compile.copies import copied_runs
from poplite.executable.rows import Moves, joined_moves
from poplite.simulator.run.interpreted_vertices import move_between

SPACE = 4096


@st.composite
def gathers(draw: Any) -> tuple[Moves, npt.NDArray[np.int64]]:
    """Moves of pieces from anywhere to a dense block, and the source of each of its bytes."""
    even = draw(st.booleans())
    count = draw(st.integers(1, 40))
    if even:
        size, step = draw(st.sampled_from([1, 2, 3, 4, 8])), draw(st.integers(8, 60))
        begin, sizes = np.arange(count) * step, np.full(count, size)
    else:
        places = draw(st.permutations(range(64)))[:count]
        sizes = np.array(draw(st.lists(st.integers(1, 60), min_size=count, max_size=count)), int)
        begin = np.array(places, int) * 64
    dense = np.array([0]), np.array([sizes.sum()])
    chosen = [np.arange(b, b + n) for b, n in zip(begin, sizes, strict=True)]
    sources = np.concatenate([np.zeros(0, np.int64), *chosen]).astype(np.int64)
    return copied_runs(dense, (begin.astype(np.int64), sizes.astype(np.int64))), sources


@given(gathers(), st.integers(0, 99))
def test_there_and_back(gather: tuple[Moves, npt.NDArray[np.int64]], distance: int) -> None:
    moves, sources = gather
    memory = np.random.default_rng(0).integers(0, 256, SPACE, np.uint8)
    block = np.zeros(SPACE, np.uint8)
    moves = moves.moved(distance)
    move_between(moves, block, memory)
    assert (block[distance : distance + len(sources)] == memory[sources]).all()
    assert not block[:distance].any()
    assert not block[distance + len(sources) :].any()
    restored = np.zeros(SPACE, np.uint8)
    move_between(moves.reversed(), restored, block)
    expected = np.zeros(SPACE, np.uint8)
    expected[sources] = memory[sources]
    assert (restored == expected).all()


@given(st.lists(gathers(), max_size=4))
def test_together(several: list[tuple[Moves, npt.NDArray[np.int64]]]) -> None:
    memory = np.random.default_rng(1).integers(0, 256, SPACE, np.uint8)
    block, expected = np.zeros((2, 4 * SPACE), np.uint8)
    placed = [moves.moved(number * SPACE) for number, (moves, _) in enumerate(several)]
    for number, (_, sources) in enumerate(several):
        expected[number * SPACE : number * SPACE + len(sources)] = memory[sources]
    move_between(joined_moves(placed), block, memory)
    assert (block == expected).all()
    assert joined_moves(placed).size_bytes == sum(len(sources) for _, sources in several)
