"""Many slices at once: the list that `slices` returns, and its concatenation as arrays."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import poplite as pl
from poplite import FLOAT, Graph, Tensor
from poplite.view import Cat, Storage, addresses
from poplite.view.slices import SlicedViews

ARRAY = np.arange(40 * 30).reshape(40, 30)


@pytest.fixture
def t() -> Tensor:
    """Shape (40, 30); element (i, j) is number 30 * i + j of the variable."""
    return Graph().add_variable(FLOAT, (40, 30), "t")


def shuffled(count: int, size: int) -> Any:
    """Return int64[count, 2]: disjoint intervals of a size, in a random order."""
    begin = np.random.default_rng(1).permutation(count) * size
    return np.stack([begin, begin + size], axis=1)


def pieces_of(tensor: Tensor) -> SlicedViews:
    assert isinstance(tensor.view.space, Cat)
    assert isinstance(tensor.view.space.kids, SlicedViews)
    return tensor.view.space.kids


@pytest.mark.parametrize(
    "intervals",
    [
        [(0, 4), (2, 3), (7, 7)],
        [pl.Interval(0, 4), (2, 3), pl.Interval(7, 7)],
        [(np.int32(0), 4), (2, np.int64(3)), (7, 7)],
        np.array([[0, 4], [2, 3], [7, 7]]),
        np.array([[0, 4], [2, 3], [7, 7]], np.uint8),
        np.array([[0, 4], [2, 3], [7, 7]], np.uint64),
    ],
)
def test_intervals_come_as_pairs_or_as_an_array(t: Tensor, intervals: Any) -> None:
    found = t.slices(intervals)
    assert found == [t[0:4], t[2:3], t[7:7]]
    assert [t[0:4], t[2:3], t[7:7]] == found
    assert found != [t[0:4], t[2:3]]
    assert found != [t[0:4], t[2:4], t[7:7]]
    assert (found[1], found[-1], found[:2]) == (t[2:3], t[7:7], [t[0:4], t[2:3]])
    assert list(found) == [t[0:4], t[2:3], t[7:7]]


def test_indices_keep_their_dimension(t: Tensor) -> None:
    assert t.slices(np.array([3, 0]), 1) == t.slices([3, 0], 1) == [t[:, 3:4], t[:, 0:1]]


def test_a_list_says_what_it_slices(t: Tensor) -> None:
    shape = list(t.shape)
    assert (
        repr(t.slices([(0, 4)] * 1000, 1))
        == f"<1,000 Slices of '{t.name}' float32{shape} along dimension 1>"
    )


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (np.array([[0, 2], [38, 41]]), r"slice \[38, 41\) in dimension 0 of size 40"),
        (np.array([[0, 2], [3, 1]]), r"slice \[3, 1\) in dimension 0"),
        (np.array([[-1, 2]]), r"begin is -1, but the least is 0"),
        (np.array([0, 40]), r"index 40 in dimension 0 of size 40"),
        (np.array([0.0, 1.0]), r"index is (np.float64\()?0.0\)?, not a whole number"),
        (np.array([[1, 2, 3]]), r"1 is not an interval"),
        (np.array(3), r"array\(3\) is not an interval"),
        ([(0, 2**70)], r"slice \[0, 1180591620717411303424\) in dimension 0"),
        ([(0, 2), (True, 3)], r"begin is True, not a whole number"),
        ([(0, 2), (1.0, 3)], r"begin is 1.0, not a whole number"),
        ([[(0, 2)], [(39, 41)]], r"slice \[39, 41\) in dimension 0 of size 40"),
    ],
)
def test_bad_intervals_are_named(t: Tensor, items: Any, message: str) -> None:
    with pytest.raises(pl.TensorIndexError, match=message):
        t.slices(items)


def test_an_index_outside_the_list_is_refused(t: Tensor) -> None:
    with pytest.raises(pl.TensorIndexError, match=r"slice 2 of 2(.|\n)*from -2 to 1"):
        t.slices([1, 2])[2]


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_concatenation_shows_what_numpy_shows(t: Tensor, dim: int, axis: int) -> None:
    chosen = np.random.default_rng(2).integers(0, t.shape[dim], 200)
    joined = pl.concat(t.slices(chosen, dim), axis)
    expected = np.concatenate([ARRAY.take([i], dim) for i in chosen], axis)
    assert len(pieces_of(joined)) > 100
    np.testing.assert_array_equal(addresses(joined.view), expected)


def test_lists_of_intervals_concatenate_like_their_tensors(t: Tensor) -> None:
    groups = [[(i % 37, i % 37 + 2), (i % 5, i % 5 + 1)] for i in range(80)]
    along, across = pl.concat(t.slices(groups)), pl.concat(t.slices(groups), 1)
    rows = [[*range(a, b), *range(c, d)] for (a, b), (c, d) in groups]
    np.testing.assert_array_equal(addresses(along.view), np.concatenate([ARRAY[r] for r in rows]))
    np.testing.assert_array_equal(
        addresses(across.view), np.concatenate([ARRAY[r] for r in rows], 1)
    )
    assert pl.concat(t.slices([[], [(0, 0)]])).shape == (0, 30)


def test_slices_that_do_not_fit_are_refused(t: Tensor) -> None:
    with pytest.raises(pl.TensorCreationError, match=r"tensor 2 has shape \(3, 30\), .*\(2, 30\)"):
        pl.concat(t.slices([(0, 2), (4, 6), (1, 4)]), 1)
    with pytest.raises(pl.TensorCreationError, match="concat of 0 tensors"):
        pl.concat(t.slices([]))


def test_all_slices_in_order_are_the_tensor(t: Tensor) -> None:
    flat = t.T.flatten()
    for whole, dim in ((t, 0), (t, 1), (t.T, 0), (t[::-1], 1), (flat, 0)):
        size = whole.shape[dim]
        for step in (1, 2, 5):
            cuts = [(i, i + step) for i in range(0, size, step)]
            joined = pl.concat(whole.slices(cuts, dim), dim)
            assert joined == whole
            assert isinstance(joined.view.space, Storage)


@pytest.mark.parametrize("stride", [2, 3])
def test_regular_slices_are_one_strided_view(stride: int) -> None:
    t = Graph().add_variable(FLOAT, (600, 4), "t")
    rows = t.slices(range(0, 600, stride))
    assert pl.concat(rows) == t.sub_sample(stride, 0)
    backwards = pl.concat(t.slices(np.arange(599, -1, -1)))
    assert backwards == t.reverse(0)
    grid = [(100 * i + 7 * j, 100 * i + 7 * j + 3) for i in range(5) for j in range(14)]
    assert isinstance(pl.concat(t.slices(grid)).view.space, Storage)


def test_few_progressions_among_many_slices_become_digits() -> None:
    t = Graph().add_variable(FLOAT, (4096,), "t")
    starts = [*range(0, 1000, 10), *range(3000, 2000, -5), 4000, 1500]
    joined = pl.concat(t.slices([(i, i + 2) for i in starts]))
    assert isinstance(joined.view.space, Cat)
    assert len(joined.view.space.kids) == 4
    expected = np.array([[i, i + 1] for i in starts]).reshape(-1)
    np.testing.assert_array_equal(addresses(joined.view), expected)


def test_a_concatenation_of_slices_equals_that_of_a_list(t: Tensor) -> None:
    flat = t.flatten()
    intervals = shuffled(120, 10)
    lazy = pl.concat(flat.slices(intervals))
    eager = pl.concat([flat[a:b] for a, b in intervals.tolist()])
    assert lazy == eager
    assert eager == lazy
    assert hash(lazy) == hash(eager)
    assert lazy != pl.concat(flat.slices(intervals[::-1]))
    assert lazy.contains_aliases() is False
    assert lazy.var_regions() == eager.var_regions()


def test_pieces_are_a_sequence_of_views(t: Tensor) -> None:
    pieces = pieces_of(pl.concat(t.slices(np.random.default_rng(3).permutation(40).repeat(2))))
    views: Sequence[Any] = tuple(pieces)
    assert len(pieces) == len(views)
    assert tuple(pieces[2:5]) == views[2:5]
    assert pieces[-1] == views[-1]
    assert pieces.are_cut_as(pieces[:])
    assert not pieces.are_cut_as(pieces[:-1])
    assert repr(pieces).startswith(f"<{len(pieces)} SlicedViews of View(shape=(1, 40, 30)")


def test_a_million_slices_make_no_object_each() -> None:
    t = Graph().add_variable(FLOAT, (2**24,), "t")
    intervals = shuffled(2**20, 16)
    tracemalloc.start()
    joined = pl.concat(t.slices(intervals))
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(pieces_of(joined)) > 2**20 - 100
    assert size < 40 * 2**20, f"{size:,} bytes"
    expected = np.arange(16) + intervals[100:200, :1]
    np.testing.assert_array_equal(addresses(joined[1600:3200].view), expected.reshape(-1))
    assert joined[1600:1616] == t.slice(*intervals[100].tolist())


def test_concatenations_beyond_all_indices_are_refused() -> None:
    t = Graph().add_variable(FLOAT, (2**61,), "t")
    with pytest.raises(pl.SizeOverflowError, match=r"6,917,529,027,641,081,856 elements"):
        pl.concat([t, t, t])
    with pytest.raises(pl.SizeOverflowError, match=r"230,584,300,921,369,395,200 elements"):
        pl.concat(t.slices([(0, 2**61)] * 100))
    with pytest.raises(pl.SizeOverflowError, match=r"9,223,372,036,854,775,808 elements"):
        t.slices([[(0, 2**61)] * 4])
