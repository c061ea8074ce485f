"""Copies in few rows: every byte is moved once, to its place, by both engines."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

import poplite as pl
from poplite.arrays.intervals import Int64
from poplite.compile.copies import LIST_SPAN, Side, copied_runs, copied_views
from poplite.executable.rows import Moves
from poplite.simulator import compiled_parts
from poplite.view import Storage, addresses

Pair = tuple[int, int]
"""Position of a byte in the destination and in the source."""

small = st.integers(0, 3)


def moved(moves: Moves) -> list[Pair]:
    """Expand moves to the bytes they move."""
    pairs: list[Pair] = []
    for to, start, rows, size, far, near in moves.records.tolist():
        blocks = [(row * far, row * near, size) for row in range(rows)]
        if size == 0:
            blocks = moves.pieces[far : far + rows].tolist()
        pairs += [(to + t + i, start + s + i) for t, s, length in blocks for i in range(length)]
    return sorted(pairs)


def by_mover(words: Int64, records: int, size: int, streamed: bool = False) -> bytes:
    """Run words on a block of bytes by the compiled driver; return what it holds afterwards."""
    block = np.arange(size, dtype=np.int64).astype(np.uint8)
    pointers, numbers = [ctypes.c_void_p] * 2, [ctypes.c_int64] * 4
    driver = ctypes.CFUNCTYPE(None, *pointers, *numbers, ctypes.c_void_p)(
        compiled_parts.mover(streamed)
    )
    driver(block.ctypes.data, words.ctypes.data, 0, records, 0, 0, None)
    return block.tobytes()


def by_pairs(pairs: Sequence[Pair], size: int) -> bytes:
    block = np.arange(size, dtype=np.int64).astype(np.uint8)
    after = block.copy()
    for to, start in pairs:
        after[to] = block[start]
    return after.tobytes()


@st.composite
def runs_of(draw: st.DrawFn, total: int, *, shuffled: bool = False) -> tuple[Int64, Int64]:
    inner = draw(st.lists(st.integers(0, total), max_size=30))
    size = np.diff(np.unique([0, total, *inner])).astype(np.int64)
    gaps = np.array(draw(st.lists(small, min_size=len(size), max_size=len(size))), np.int64)
    begin = np.cumsum(size + gaps) - size
    if shuffled and len(size):
        order = draw(st.permutations(range(len(size))))
        begin, size = begin[order], size[order]
    return begin, size


@st.composite
def even_runs(draw: st.DrawFn) -> tuple[tuple[Int64, Int64], tuple[Int64, Int64]]:
    """Draw stretches of even distances beside each other, on both sides."""
    stretches = draw(st.lists(st.tuples(st.integers(1, 20), small, small), min_size=1, max_size=4))
    size = np.repeat(draw(st.integers(1, 9)), sum(rows for rows, _, _ in stretches))
    sides = []
    for side in (1, 2):
        gaps = np.repeat([each[side] for each in stretches], [each[0] for each in stretches])
        sides.append((np.cumsum(size + gaps) - size, size))
    return sides[0], sides[1]


def expected(destination: tuple[Int64, Int64], source: tuple[Int64, Int64]) -> list[Pair]:
    to, start = (
        [b + i for b, n in zip(*map(np.ndarray.tolist, side), strict=True) for i in range(n)]
        for side in (destination, source)
    )
    return sorted(zip(to, start, strict=True))


@given(st.data(), st.integers(0, 90))
def test_runs_move_every_byte_to_its_place(data: st.DataObject, total: int) -> None:
    destination = data.draw(runs_of(total, shuffled=True))
    source = data.draw(runs_of(total, shuffled=True))
    moves = copied_runs(destination, source)
    assert moved(moves) == expected(destination, source)
    assert moves.size_bytes == total


@given(even_runs())
def test_even_stretches_move_every_byte_to_its_place(
    sides: tuple[tuple[Int64, Int64], tuple[Int64, Int64]],
) -> None:
    assert moved(copied_runs(*sides)) == expected(*sides)


def test_forms_of_pieces() -> None:
    """What goes on is one block, even distances are rows, large pieces stand alone."""
    size = np.full(40, 64)
    dense, even = np.arange(40) * 64, np.arange(40) * 100
    assert copied_runs((dense[::-1], size), (5000 + dense[::-1], size)).records.tolist() == [
        [0, 5000, 1, 2560, 0, 0]
    ]
    assert copied_runs((dense, size), (even, size)).records.tolist() == [[0, 0, 40, 64, 64, 100]]
    apart = np.cumsum(np.arange(3) + 10_000)
    large = copied_runs((apart, np.full(3, 5000)), (apart + 1, np.full(3, 5000)))
    assert large.records[:, 3].tolist() == [5000] * 3
    assert not len(large.pieces)


def test_columns_beside_each_other_stay_columns() -> None:
    """Sorted by destination, two columns of one block would alternate; given so, they are two."""
    rows, size = np.arange(30) * 264, np.full(60, 4)
    to, start = np.append(rows, rows + 260), np.append(rows + 9000, rows + 20_000)
    moves = copied_runs((to, size), (start, size))
    assert moves.records.tolist() == [[0, 9000, 30, 4, 264, 264], [260, 20_000, 30, 4, 264, 264]]


@pytest.mark.parametrize(("last", "listed"), [(LIST_SPAN - 1, 4), (LIST_SPAN, 0)])
def test_pieces_too_far_apart_are_records(last: int, listed: int) -> None:
    size = np.full(4, 4)
    sides = (np.array([0, 4, 9, 20]), size), (np.array([0, 7, 19, last]), size)
    moves = copied_runs(*sides)
    assert len(moves.pieces) == listed
    assert moved(moves) == expected(*sides)


@st.composite
def views_of(draw: st.DrawFn) -> pl.Tensor:
    """Draw a view without repeats of a variable with 48 elements."""
    shape = draw(st.sampled_from([(48,), (6, 8), (2, 4, 6), (2, 2, 3, 4)]))
    tensor = pl.Graph().add_variable(pl.FLOAT, (48,)).reshape(shape)
    for _ in range(draw(st.integers(0, 3))):
        match draw(st.sampled_from(["shuffle", "reverse", "flatten", "reshape"])):
            case "shuffle":
                tensor = tensor.dim_shuffle(draw(st.permutations(range(tensor.rank))))
            case "reverse":
                tensor = tensor.reverse(draw(st.integers(0, tensor.rank - 1)))
            case "flatten":
                tensor = tensor.flatten()
            case "reshape":
                tensor = tensor.reshape(draw(st.sampled_from([(48,), (4, 12), (8, 6), (3, 16)])))
    assume(isinstance(tensor.view.space, Storage))  # a cut number is a concatenation
    return tensor


@given(views_of(), views_of(), st.sampled_from([1, 2, 4, 8]), st.booleans())
def test_views_move_every_element_to_its_place(
    to: pl.Tensor, start: pl.Tensor, size: int, broadcast: bool
) -> None:
    if broadcast:  # six elements, eight times each
        start = start.flatten()[:6].expand([0]).broadcast(8, 0)
        assume(isinstance(start.view.space, Storage))  # not where the six come of a cut number
    moves = copied_views(_side(to, size), _side(start, size), size)
    if moves is None:
        return
    places = [_positions(t) for t in (to, start)]
    pairs = [
        (t * size + i, s * size + i) for t, s in zip(*places, strict=True) for i in range(size)
    ]
    assert moved(moves) == sorted(pairs)
    assert moves.size_bytes == len(pairs)


def _side(tensor: pl.Tensor, size: int) -> Side:
    return tensor.view.off * size, [(e, s * size) for e, s in tensor.view.flat_digits()]


def _positions(tensor: pl.Tensor) -> list[int]:
    space = tensor.view.space
    assert isinstance(space, Storage)
    found: list[int] = (addresses(tensor.view).ravel() - space.base).tolist()
    return found


def test_a_transposed_matrix_is_a_record_for_each_row() -> None:
    """However large it is: elements are never listed."""
    rows, cols = 1 << 12, 1 << 14
    moves = copied_views((0, [(rows * cols, 4)]), (0, [(rows, 4), (cols, rows * 4)]), 4)
    assert moves is not None
    assert len(moves.records) == rows
    assert moves.records[1].tolist() == [cols * 4, 4, cols, 4, 4, rows * 4]


def test_digits_that_do_not_fit_are_left_to_runs() -> None:
    assert copied_views((0, [(3, 8), (2, 40)]), (100, [(2, 80), (3, 4)]), 4) is None


@given(st.data(), st.integers(1, 3000), st.floats(1, 60))
def test_split_moves_move_the_same_bytes(data: st.DataObject, total: int, limit: float) -> None:
    destination, source = data.draw(runs_of(total)), data.draw(runs_of(total))
    whole = copied_runs(destination, source)
    split = whole.split(limit)
    assert moved(split) == moved(whole)
    single = whole.pieces[:, 2].max(initial=0) // 4 + 8
    assert (split.weights <= max(limit + 24, 64 // 4 + 8, 2 * single)).all()


@pytest.mark.parametrize("streamed", [False, True])
@given(st.data(), st.integers(0, 300))
def test_the_driver_moves_what_the_records_say(
    streamed: bool, data: st.DataObject, total: int
) -> None:
    destination = data.draw(runs_of(total, shuffled=True))
    begin, size = data.draw(runs_of(total, shuffled=True))
    moves = copied_runs(destination, (begin + 600, size))
    words = moves.words()
    assert by_mover(words, len(moves.records), 1300, streamed) == by_pairs(moved(moves), 1300)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 8, 16, 32, 64, 65, 4096, 5003])
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize(("gap", "near"), [(0, 0), (5, 0), (0, 1), (3, 7)])
def test_blocks_of_every_size(streamed: bool, size: int, rows: int, gap: int, near: int) -> None:
    """At odd addresses, one source repeated, side by side and apart."""
    start = rows * (size + gap) + 13
    record = [[1, start, rows, size, size + gap, near and size + near]]
    moves = Moves(np.array(record, np.int64), np.zeros((0, 3), np.uint32))
    total = start + rows * (size + near) + 1
    assert by_mover(moves.words(), 1, total, streamed) == by_pairs(moved(moves), total)
