"""The kernels of strict checks, compiled, do what NumPy does, on tables drawn at random."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given, strategies as st

import helpers.written_in_numpy as written_in_numpy
from poplite.executable import encoding as op
from poplite.jit import kernels_written as kernels
from poplite.jit.build import BoundKernel
from poplite.simulator.run.launches import BoundPart

STRIDE = 256


def forms(kernel: Any) -> tuple[Callable[..., int], Callable[..., int]]:
    """Return what calls a kernel, compiled, and what does the same in NumPy."""
    in_numpy: Callable[..., int] = getattr(written_in_numpy, kernel.__name__)
    return lambda *arguments: BoundKernel(kernel, *arguments)(), in_numpy


def same(kernel: Any, *arguments: Any) -> int:
    """Run both forms on copies of the arrays; compare all; leave in the arrays what they wrote."""
    results, outcomes = [], []
    for call in forms(kernel):
        own = [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]
        results.append(call(*own))
        outcomes.append([each for each in own if isinstance(each, np.ndarray)])
    assert results[0] == results[1]
    arrays = [each for each in arguments if isinstance(each, np.ndarray)]
    for array, compiled, interpreted in zip(arrays, *outcomes, strict=True):
        assert compiled.tolist() == interpreted.tolist()
        array[...] = compiled
    return results[0]


class Table:
    """Fields with elements of all sizes, in the memory of some replicas."""

    def __init__(self, random: np.random.Generator) -> None:
        self.random, self.replicas = random, int(random.integers(1, 4))
        self.sizes = random.choice([1, 2, 4, 8], size=random.integers(0, 5)).tolist()
        # Elements of each field lie in a part of their own, in any order.
        places = []
        for number, size in enumerate(self.sizes):
            chosen = random.permutation(48 // size)[: random.integers(0, 7)]
            places.append(48 * number + chosen * size)
        ends = np.cumsum([len(each) for each in places]).astype(np.int64)
        writes = random.integers(0, 2, len(places))
        reads = random.integers(0, 2, len(places))
        passes = random.integers(0, 2, len(places))
        rows = [ends, self.sizes, reads, writes, np.zeros(len(places)), passes]
        self.rows = np.array(rows, np.int64).T.copy().reshape(-1, kernels.FIELD_WORDS)
        self.places = np.concatenate([np.zeros(0, np.int64), *places])
        self.total = len(self.places)
        self.memory = random.integers(0, 256, self.replicas * STRIDE).astype(np.uint8)
        self.shadow = random.choice([0, 1, 1, 1], self.replicas * STRIDE).astype(np.uint8)
        self.holes = np.zeros((self.replicas, self.total), np.bool_)
        self.found = np.full((self.replicas, self.total), kernels.WRITTEN, np.uint8)
        self.ways = kernels.VARIANTS * int(random.integers(1, 3))
        fills = random.integers(0, 3, (len(places), self.ways, 3, 2))
        fills[..., 1] = fills[..., 0] + 1
        self.fills = fills.astype(np.int64)

    def of(self, memory: Any) -> tuple[Any, ...]:
        """The first arguments of most kernels."""
        layout = memory, STRIDE, self.replicas
        return *layout, self.rows, len(self.rows), self.places, self.total

    def values(self) -> Any:
        return self.random.integers(0, 3, (self.replicas, self.total)).astype(np.int64)


@given(seed=st.integers(0, 10**9))
def test_both_forms_do_the_same(seed: int) -> None:
    table = Table(np.random.default_rng(seed))
    runs = same(kernels.find_holes, *table.of(table.shadow), table.holes)
    assert table.holes.sum() == table.rows[:, kernels.FIELD_HOLES].sum()
    assert (runs > 0) == table.holes.any()
    old, result, first, second = (table.values() for _ in range(4))
    for only_results in (0, 1):
        same(kernels.move_values, *table.of(table.memory), only_results, old, 0)
        before = table.memory.copy()
        same(kernels.move_values, *table.of(table.memory), only_results, old, 1)
        assert (table.memory == before).all()
        same(kernels.move_values, *table.of(table.memory), only_results, table.values(), 1)
    old = table.values()
    for fill in range(3):
        filling = *table.of(table.memory), table.fills, table.ways
        same(kernels.put_other, *filling, 1, old, fill, table.holes)
        kept = same(kernels.put_other, *filling, 0, old, fill, table.holes)
        assert kept == np.count_nonzero(table.holes)
        table.memory[:: int(table.random.integers(1, 99))] += 1
        assert same(kernels.put_other, *filling, 0, old, fill, table.holes) <= kept
    held = np.zeros(old.size, np.int64)
    count = same(kernels.gather_held, table.holes, old, old.size, held)
    held[:count].sort()
    assert set(held[:count]) == set(old[table.holes])
    rows = table.rows, len(table.rows), table.total
    for runs in (1, 2):
        places = table.replicas, *rows, table.places
        tables = *places, table.fills, table.ways, table.holes, table.found
        same(kernels.judge, *tables, old, result, first, second, held, count, runs)
    same(kernels.mark, *table.of(table.shadow), table.holes, table.found)


@given(seed=st.integers(0, 10**9))
def test_both_forms_move_the_same(seed: int) -> None:
    random = np.random.default_rng(seed)
    there, here = (random.choice([0, 1, 1], 256).astype(np.uint8) for _ in range(2))
    unit = int(random.choice([1, 8]))  # words of eight bytes move in another way
    size, step = (unit * int(each) for each in random.integers(1, 9 if unit == 1 else 3, 2))
    rows = int(random.integers(1, 8 if unit == 1 else 4))
    ends = np.cumsum(random.integers(1, 9, 6)).tolist()
    pieces = np.array(
        [(2 * begin, begin, end - begin) for begin, end in zip(ends, ends[1:], strict=False)],
        np.uint32,
    )
    records = np.array(
        [
            (0, 8 if unit == 8 else 7, rows, size, size + step, step),
            (128, 60, 3, 0, 2, 0),
            (128, 60, 2, 0, 0, 0),
        ],
        np.int64,
    )
    for known in (kernels.MOVED, 0, 1):
        for count in range(len(records) + 1):
            same_moves(records, count, pieces, known, there, here)


def same_moves(records: Any, count: int, pieces: Any, known: int, there: Any, here: Any) -> None:
    """Compare both forms of `carry`, byte by byte; leave in `there` what they wrote."""
    outcomes = []
    for call in forms(kernels.carry):
        own = there.copy()
        words = own.view(np.int64), here.view(np.int64)
        flags = call(records, count, pieces, known, own, here, *words)
        outcomes.append((flags, own.tolist()))
    assert outcomes[0] == outcomes[1]
    if known == kernels.MOVED:
        written = BoundKernel(kernels.moved_are_written, records, count, pieces, here)()
        assert written == (outcomes[0][0] & kernels.INCOMPLETE == 0)
    there[...] = outcomes[0][1]


@given(seed=st.integers(0, 10**9))
def test_both_forms_look_at_the_same_rows(seed: int) -> None:
    random = np.random.default_rng(seed)
    memory = np.zeros(512, np.uint8)
    shadow = random.choice([0, *[1] * 30], 512).astype(np.uint8)
    count, width = int(random.integers(0, 5)), int(random.integers(1, 5))
    memory[: 4 * count].view(np.uint32)[...] = random.integers(0, 9, count)
    stride = width + int(random.integers(0, 3))
    numbers = np.arange(count)
    lookups = np.stack(
        [4 * numbers, 64 + numbers * width, 128 + 64 * numbers, *np.full((3, count), stride)]
        + [np.full(count, width), numbers * width],
        axis=1,
    ).astype(np.int64)
    lookups[:, kernels.LOOKUP_ROWS], lookups[:, kernels.LOOKUP_FIRST] = 5, 2
    others, rows = np.array([500, 504]), np.zeros(1 + 2 * count, np.int64)
    for reads in (kernels.READS_NEAR, kernels.READS_TABLE, 3):
        table = lookups, count, reads, others, int(random.integers(0, 3)), 4, rows
        are_written = [call(memory, shadow, *table) for call in forms(kernels.rows_are_written)]
        assert are_written[0] == are_written[1]
        if are_written[0]:  # otherwise what is listed says nothing
            same(kernels.rows_are_written, memory, shadow, *table)
            before = shadow.copy()
            gained = same(kernels.mark_rows, shadow, lookups, rows)
            assert gained == np.count_nonzero(shadow != before)
            for lookup, at in rows[1:].reshape(-1, 2)[: rows[0]].tolist():
                assert shadow[at : at + width].all()
                assert reads & kernels.READS_NEAR or at == 64 + lookup * width


# -- how launches are cut: every vertex once, in order, balanced, and never again what has run -----


@st.composite
def parts(draw: st.DrawFn) -> BoundPart:
    """A part of a launch with rows of any length and weight."""
    vertices = draw(st.lists(st.integers(1, 30), min_size=1, max_size=12))
    each = draw(st.lists(st.integers(1, 50), min_size=len(vertices), max_size=len(vertices)))
    weights = np.array(vertices, np.int64) * np.array(each, np.int64)
    return BoundPart((7, 8, 9, 4), weights, np.array(vertices, np.int64), weights)


def spans(part: BoundPart, chunks: np.ndarray) -> list[tuple[int, int, int]]:
    """First vertex, end and next vertex of each chunk, counted over all rows."""
    before = np.append(0, np.cumsum(part.vertices))
    return [
        (
            int(before[chunk[op.CHUNK_LOW]] + chunk[op.CHUNK_FIRST]),
            int(before[chunk[op.CHUNK_HIGH] - 1] + chunk[op.CHUNK_LAST]),
            int(before[chunk[op.CHUNK_ROW]] + chunk[op.CHUNK_VERTEX]),
        )
        for chunk in chunks
    ]


@given(parts(), st.integers(1, 20))
def test_chunks_cover_all_vertices_and_are_balanced(part: BoundPart, pieces: int) -> None:
    chunks = part.cut(pieces)
    assert 1 <= len(chunks) <= pieces
    assert (chunks[:, :4] == part.call).all()
    found = spans(part, chunks)
    assert [begin for begin, _, _ in found] == [0, *(end for _, end, _ in found[:-1])]
    assert found[-1][1] == part.vertices.sum()
    assert all(begin < end for begin, end, _ in found)
    assert all(begin == at for begin, _, at in found)
    weight = np.repeat(part.weights / part.vertices, part.vertices)
    most = weight.sum() / pieces + 2 * weight.max()
    assert all(weight[begin:end].sum() <= most for begin, end, _ in found)


@given(parts(), st.integers(1, 20), st.data())
def test_what_has_run_does_not_run_again(part: BoundPart, pieces: int, data: st.DataObject) -> None:
    total = int(part.vertices.sum())
    done = data.draw(st.integers(0, total))
    left = [
        vertex
        for begin, end, at in spans(part, part.cut(pieces, done))
        for vertex in range(max(begin, at), end)
    ]
    assert left == list(range(done, total))


@given(parts(), st.data())
def test_the_whole_part_says_how_far_it_came(part: BoundPart, data: st.DataObject) -> None:
    whole = np.array(part.one_chunk(), np.int64)
    row = data.draw(st.integers(0, len(part.vertices)))
    inside = int(part.vertices[row]) - 1 if row < len(part.vertices) else 0
    whole[op.CHUNK_ROW], whole[op.CHUNK_VERTEX] = row, data.draw(st.integers(0, inside))
    assert part.done(whole) == part.vertices[:row].sum() + whole[op.CHUNK_VERTEX]
    assert spans(part, whole[None])[0][:2] == (0, part.vertices.sum())
