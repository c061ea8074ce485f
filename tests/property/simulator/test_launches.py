"""How launches are cut: every vertex once, in order, balanced, and never again what has run."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from poplite.executable import opcodes as op
from poplite.simulator.run.launches import BoundPart


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
