"""Copies in few rows: every byte is moved once, to its place, by both engines."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, strategies as st

import poplite as pl
from poplite.arrays.intervals import Int64
from poplite.compile.lower_copies import LIST_SPAN, Side, copied_runs, copied_views
from poplite.compile.places import affine_runs
from poplite.executable.encoding import Moves, joined_moves
from poplite.executable.parts import ComputeStep
from poplite.graph.tensor.tensor import Slices
from poplite.simulator import compiled_parts
from poplite.simulator.run.interpreted_vertices import move_between
from poplite.vertices.reduce import MaxColumns, SumColumns, SumColumnsOfTile
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


# -- moves turned round ----------------------------------------------------------------------------


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


# -- compressed descriptor rows --------------------------------------------------------------------


@given(st.lists(st.tuples(small, small, st.integers(0, 1)), max_size=12))
def test_affine_runs_expand_to_the_rows(rows: list[tuple[int, int, int]]) -> None:
    table = np.array(rows, np.int64).reshape(-1, 3)
    moving, fixed = np.cumsum(table[:, :2], axis=0), table[:, 2:]
    first, count, steps = affine_runs(moving, fixed)
    numbers = np.repeat(np.arange(len(first)), count)
    k = np.arange(len(rows)) - first[numbers]
    assert np.array_equal(moving[first[numbers]] + k[:, None] * steps[numbers], moving)
    assert np.array_equal(fixed[first[numbers]], fixed)


def test_even_rows_are_one_run() -> None:
    first, count, steps = affine_runs(np.arange(0, 6400, 64)[:, None], np.ones((100, 1), np.int64))
    assert (first.tolist(), count.tolist(), steps.tolist()) == ([0], [100], [[64]])


# -- rows that are read in place -------------------------------------------------------------------


X: npt.NDArray[np.float32] = np.random.default_rng(3).standard_normal((12, 40)).astype(np.float32)


def sums_of(
    rows: list[npt.NDArray[Any]],
    checks: Any,
    *,
    cls: Any = SumColumns[pl.FLOAT, pl.FLOAT],
    columns: int | None = None,
    faster: bool = True,
    **state: int,
) -> tuple[npt.NDArray[Any], int]:
    """Return what a vertex writes of rows of elements of X, by number, and the bytes copied."""
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (X.size,), "x", mapping=1, initial_value=X.ravel())
    out = graph.add_variable(pl.FLOAT, (columns or len(rows[0]),), "out", mapping=0)
    compute_set = graph.add_compute_set("sums")
    joined = pl.concat([x[int(row[0]) : int(row[-1]) + 1] for row in rows])
    graph.add_vertex(compute_set, cls, tile=0, x=joined, out=out, stride=len(rows[0]), **state)
    engine = pl.Engine(graph, pl.Execute(compute_set), checks=checks, faster=faster)
    engine.run()
    step = engine.executable.steps[0]
    assert isinstance(step, ComputeStep)
    return engine.read(out), step.gather.size_bytes


@given(
    width=st.integers(1, 39),
    left=st.integers(0, 39),
    count=st.integers(2, 6),
    step=st.integers(1, 2),
    of_tile=st.booleans(),
)
def test_rows_at_even_distances_are_not_copied(
    width: int, left: int, count: int, step: int, of_tile: bool
) -> None:
    left = min(left, 40 - width)
    rows = [40 * step * k + left + np.arange(width) for k in range(count)]
    cls: Any = SumColumns[pl.FLOAT, pl.FLOAT]
    state: dict[str, Any] = {}
    if of_tile:
        cls, state = SumColumnsOfTile[pl.FLOAT], {"first": 0, "share": -(-width // 6)}
    found, copied = sums_of(rows, "fast", cls=cls, **state)
    expected = X.ravel()[rows[0]]
    for row in rows[1:]:
        expected = expected + X.ravel()[row]
    assert found.tobytes() == expected.tobytes()
    assert copied == 0


@pytest.mark.parametrize("faster", [True, False])
def test_all_forms_read_the_same_rows(faster: bool) -> None:
    rows = [40 * k + 5 + np.arange(11) for k in range(12)]
    cls, state = SumColumnsOfTile[pl.FLOAT], {"first": 0, "share": 2}
    found, copied = sums_of(rows, "fast", cls=cls, faster=faster, **state)
    strict, copied_by_strict = sums_of(rows, "strict", cls=cls, faster=faster, **state)
    assert found.tobytes() == strict.tobytes()
    assert (copied, copied_by_strict) == (0, 12 * 11 * 4)
    greatest, copied = sums_of(rows, "fast", cls=MaxColumns[pl.FLOAT, pl.FLOAT])
    np.testing.assert_array_equal(greatest, X[:, 5:16].max(0))
    assert copied == 0


@pytest.mark.parametrize(
    ("begins", "width", "state"),
    [
        pytest.param([0, 40, 90], 7, {}, id="uneven distances"),
        pytest.param([80, 40, 0], 7, {}, id="falling"),
        pytest.param([0, 7, 47], 7, {}, id="two of the rows are one run"),
        pytest.param([0, 40, 80], 7, {"columns": 9}, id="columns reach into the next row"),
        pytest.param(
            [0, 40, 80],
            7,
            {"cls": SumColumnsOfTile[pl.FLOAT], "first": 3, "share": 2},
            id="the first row is not complete",
        ),
    ],
)
def test_other_rows_are_copied(begins: list[int], width: int, state: dict[str, Any]) -> None:
    rows = [begin + np.arange(width) for begin in begins]
    found, copied = sums_of(rows, "fast", **state)
    strict, _ = sums_of(rows, "strict", **state)
    assert found.tobytes() == strict.tobytes()
    assert copied == 3 * width * 4


def test_some_vertices_of_many_read_in_place() -> None:
    graph = pl.Graph(pl.Target(tiles=4))
    x = graph.add_variable(pl.FLOAT, X.shape, "x", mapping="linear", initial_value=X)
    out = graph.add_variable(pl.FLOAT, (12,), "out", mapping="linear")
    rows = [[0, 1, 2], [3, 5, 7], [4, 5, 9], [10]]
    begin = np.concatenate([40 * np.array(own) + 3 * k for k, own in enumerate(rows)])
    first = np.cumsum([0, *map(len, rows)])
    compute_set = graph.add_compute_set("sums")
    graph.add_vertices(
        compute_set,
        SumColumns[pl.FLOAT, pl.FLOAT],
        tile=np.arange(4),
        x=Slices(x.flatten(), 0, begin, begin + 3, first),
        out=Slices(out, 0, 3 * np.arange(4), 3 * np.arange(4) + 3),
        stride=3,
    )
    engine = pl.Engine(graph, pl.Execute(compute_set), checks="fast")
    engine.run()
    expected = [X[own[0], 3 * k : 3 * k + 3].copy() for k, own in enumerate(rows)]
    for k, own in enumerate(rows):
        for row in own[1:]:
            expected[k] += X[row, 3 * k : 3 * k + 3]
    assert engine.read(out).tobytes() == np.concatenate(expected).tobytes()
    step = engine.executable.steps[0]
    assert isinstance(step, ComputeStep)
    assert step.gather.size_bytes == 3 * 3 * 4
