"""Views of 2**30 elements and more: any listing of their elements would need gigabytes.

Nothing here may allocate by the element, so every test holds its memory below a few MiB.
"""

from __future__ import annotations

import functools
import tracemalloc
from collections.abc import Iterator

import pytest

import poplite as pl
from poplite import FLOAT, Graph, SizeOverflowError, concat
from poplite.view import (
    Storage,
    View,
    all_of,
    concat as concat_views,
    contains_aliases,
    contains_constant,
    intersects,
    is_contiguous,
    num_runs,
    storages,
)

SIDE = 2**15
MOST_BYTES = 4 * 2**20


@pytest.fixture(autouse=True)
def _small_memory() -> Iterator[None]:
    tracemalloc.start()
    yield
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MOST_BYTES, f"{peak:,} bytes"


@functools.cache
def square(id: int = 0) -> View:
    return all_of(Storage(id, 2**31 * id, SIDE * SIDE), (SIDE, SIDE))


def test_a_transposed_square_is_counted_and_not_listed() -> None:
    transposed = square().dim_shuffle((1, 0))
    flat = transposed.reshape((2**30,))
    assert num_runs(flat) == 2**30
    assert num_runs(flat.slice(SIDE, 5 * SIDE, 0)) == 4 * SIDE
    assert not is_contiguous(flat)
    assert is_contiguous(square())
    assert not contains_aliases(flat)
    assert not contains_constant(flat)


def test_runs_that_join_only_at_a_carry_are_counted() -> None:
    rows = square().slice(1, SIDE, 1)
    assert num_runs(rows) == SIDE
    assert num_runs(square().reshape((2**30,)).upsample(2, 0)) == 2**30 + 1
    assert num_runs(rows.broadcast(2, 0)) == 2 * SIDE


def test_aliases_of_strided_views_are_known() -> None:
    windows = concat_views([square().slice(i, i + SIDE - 8, 1) for i in range(9)], 0)
    assert isinstance(windows.space, Storage)
    assert contains_aliases(windows)
    assert contains_aliases(square().broadcast(3, 1))
    assert not contains_aliases(square().sub_sample(3, 1).reverse(0))


def test_a_layered_reshape_is_answered_without_lowering_it() -> None:
    layered = square().dim_shuffle((1, 0)).slice(0, SIDE - 1, 1).reshape((SIDE - 1, SIDE))
    assert not isinstance(layered.space, Storage)
    assert not contains_aliases(layered.dim_shuffle((1, 0)))
    assert contains_aliases(layered.upsample(2, 0))
    assert not is_contiguous(layered)
    assert num_runs(layered) == SIDE * (SIDE - 1)


def test_halves_phases_and_columns_are_told_apart() -> None:
    a = square()
    flat = a.reshape((2**30,))
    even, odd = flat.sub_sample(2, 0), flat.slice(1, 2**30, 0).sub_sample(2, 0)
    assert not intersects(even, odd)
    assert intersects(even, flat.sub_sample(3, 0))
    assert not intersects(a.slice(0, 100, 1), a.slice(100, SIDE, 1).dim_shuffle((1, 0)))
    assert intersects(a.slice(0, 101, 1), a.slice(100, SIDE, 1).reverse(0))
    assert not intersects(square(0), square(1))


def test_a_concatenation_of_large_variables_is_answered() -> None:
    wide = concat_views([square(i) for i in range(8)], 1)
    assert wide.shape == (SIDE, 8 * SIDE)
    assert len(storages(wide)) == 8
    assert not contains_aliases(wide.dim_shuffle((1, 0)))
    assert intersects(wide, square(7))
    assert not is_contiguous(wide)


def test_equality_walks_no_elements() -> None:
    graph = Graph()
    a, b = graph.add_variable(FLOAT, (10**6, 10**6)), graph.add_variable(FLOAT, (10**6, 10**6))
    wide = concat([a, b], 1)
    assert wide == concat([a.T, b.T], 0).T
    assert concat([a.T, b.T], 1) == concat([a, b], 0).T
    three = concat([a.T, b, a], 0)
    assert three[: 2 * 10**6].T == concat([a.T, b], 0).T
    assert wide.reverse(1) == concat([b.reverse(1), a.reverse(1)], 1)


def test_one_other_element_among_many_is_found() -> None:
    graph = Graph()
    a = graph.add_variable(FLOAT, (10**6, 10**6)).T.flatten()
    one = graph.add_variable(FLOAT, (1,))
    place = 123_456_789_012
    other = concat([a[:place], one, a[place + 1 :]])
    same = concat([other[: place + 1], other[place + 1 :]])
    assert other != a
    assert hash(other) == hash(a)  # nothing is sampled there
    assert same == other
    undone = concat([other[place:].reverse(0), other[:place].reverse(0)]).reverse(0)
    assert undone == other
    assert undone != a


def test_repetitions_of_both_are_compared_once() -> None:
    graph = Graph()
    x = graph.add_variable(FLOAT, (100,))
    r = x.reverse(0)
    one, other = concat([r, x]), concat([x[50:].reverse(0), x[:50].reverse(0), x])
    wrong = concat([x[50:].reverse(0), x[48:49], x[49:50], x[:48].reverse(0), x])
    for t, equal in ((other, True), (wrong, False)):
        assert (t.broadcast(10**12, 0) == one.broadcast(10**12, 0)) == equal
        assert (t.upsample(10**12, 0) == one.upsample(10**12, 0)) == equal
        assert (concat([one.broadcast(10**9, 0), t]) == one.broadcast(10**9 + 1, 0)) == equal


def test_a_repr_is_cheap() -> None:
    tensor = Graph().add_variable(FLOAT, (SIDE, SIDE), "big")
    assert repr(tensor.T) == "<Tensor 'big'.T float32[32768, 32768] on no tile, 4,294,967,296 B>"
    assert repr(tensor.T[1:]) == "<Tensor 'big'[:, 1:].T float32[32767, 32768], 4,294,836,224 B>"
    assert "float32[65536, 32768]" in repr(concat([tensor, tensor.T]))


def test_more_elements_than_an_index_can_count_are_refused() -> None:
    tensor = Graph().add_variable(FLOAT, (SIDE, SIDE))
    most = tensor.broadcast(2**32, 0)
    assert most.num_elements == 2**62
    with pytest.raises(SizeOverflowError, match=r"9,223,372,036,854,775,808 .*4,611,686,018,427,"):
        most.broadcast(2, 1)
    with pytest.raises(SizeOverflowError, match=r"13,835,058,055,282,163,712 elements"):
        most.upsample(3, 1)


def test_repetitions_of_different_lengths_or_phases_are_compared_once() -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    a, b = graph.add_variable(pl.INT, (7,), "a"), graph.add_variable(pl.INT, (5,), "b")
    s, many = pl.concat([a, b]), 2**40

    def shifted(t: pl.Tensor, times: int) -> pl.Tensor:
        turned = pl.concat([t[3:], t[:3]])
        return pl.concat([t[:3], turned.broadcast(times - 1, 0), t[3:]])

    assert a.broadcast(many, 0) == shifted(a, many)
    assert s.broadcast(2**26, 0) == shifted(s, 2**26)
    assert s.broadcast(many, 0) == pl.concat([a, b, a, b]).broadcast(many // 2, 0)
    other = pl.concat([a[:6], a[:1]])
    assert a.broadcast(many, 0) != pl.concat([shifted(a, many - 1), other])
    assert s.broadcast(many, 0) != pl.concat([a, b, other, b]).broadcast(many // 2, 0)


def test_views_too_long_to_compare_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("poplite.view.equality.STEPS", 0)
    monkeypatch.setattr("poplite.view.equality.MOST_STEPS", 0)
    monkeypatch.setattr("poplite.view.equality.MOST_STREAMED", 0)
    a = pl.Graph(pl.Target(tiles=1)).add_variable(pl.INT, (2,), "a")
    with pytest.raises(pl.SizeOverflowError, match="too long to compare"):
        assert pl.concat([a.reverse(0), a]) == pl.concat([a[1:2], a[:1], a])
