"""Runs of views, at sizes where kernels take over, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

import numpy as np
import pytest

from poplite import FLOAT, Graph, SizeOverflowError
from poplite.arrays.intervals import Int64
from poplite.jit import build
from poplite.jit.kernels_intervals import repeat_joining, repeat_pattern
from poplite.jit.kernels_views import leaf_runs
from poplite.view import (
    Storage,
    View,
    addresses,
    all_of,
    chunks,
    concat,
    concat_slices,
    empty,
    num_runs,
    runs,
    runs_of_many,
    storages,
)
from poplite.view.concatenation_leaves import leaves_of
from poplite.view.view import Cat


def square(side: int, base: int = 0) -> View:
    return all_of(Storage(base, base, side * side), (side, side))


def variables(count: int, shape: tuple[int, int]) -> list[View]:
    size = shape[0] * shape[1]
    return [all_of(Storage(k, k * (size + 1), size), shape) for k in range(count)]


def shuffled_slices(count: int, size: int) -> View:
    order = np.random.default_rng(7).permutation(count)
    view = all_of(Storage(0, 0, count * size), (count * size,))
    return concat_slices(view, order * size, order * size + size, 0, 0)


def windows() -> View:
    """All 3x3 windows of a batch of images."""
    x = all_of(Storage(0, 0, 8 * 30 * 30 * 4), (8, 30, 30, 4))
    columns = concat([x.slice(i, i + 28, 2).expand([3]) for i in range(3)], 3)
    return concat([columns.slice(i, i + 28, 1).expand([3]) for i in range(3)], 3)


LARGE: dict[str, Callable[[], View]] = {
    "transposed": lambda: square(200).dim_shuffle((1, 0)),
    "three dimensions reversed": lambda: (
        all_of(Storage(0, 0, 30**3), (30, 30, 30)).dim_shuffle((2, 1, 0)).reverse(1)
    ),
    "blocks of three": lambda: square(300).sub_sample(2, 1).reshape((100, 3, 150)),
    "one digit": lambda: all_of(Storage(0, 9, 20_000), (20_000,)).reverse(0),
    "joins at every carry": lambda: all_of(Storage(0, 0, 9973), (9973,)).upsample(2, 0),
    "joins at every carry, repeated": lambda: (
        all_of(Storage(0, 0, 9973), (9973,)).upsample(2, 0).broadcast(3, 0)
    ),
    "windows that join at images": windows,
    "three leaves": lambda: square(150).dim_shuffle((1, 0)).reshape((22_500,)).slice(1, 22_499, 0),
    "variables side by side": lambda: concat(variables(70, (9, 11)), 1),
    "variables side by side, transposed": lambda: concat(variables(70, (9, 11)), 1).dim_shuffle(
        (1, 0)
    ),
    "transposed variables side by side": lambda: concat(
        [v.dim_shuffle((1, 0)) for v in variables(70, (9, 11))], 1
    ),
    "shuffled slices": lambda: shuffled_slices(700, 9),
    "shuffled slices, transposed": lambda: (
        shuffled_slices(700, 9).reshape((70, 90)).dim_shuffle((1, 0))
    ),
    "shuffled slices, transposed, in planes": lambda: (
        shuffled_slices(1400, 9).reshape((2, 70, 90)).dim_shuffle((0, 2, 1))
    ),
    "pairs of rows, transposed": lambda: (
        concat([square(100).slice(i, i + 1, 0) for i in (0, 1, 50, 3, 2, 9)], 0)
        .broadcast(20, 0)
        .dim_shuffle((1, 0))
    ),
    "two layers": lambda: (
        square(100).slice(0, 99, 1).reshape((99, 100)).dim_shuffle((1, 0)).reverse(0)
    ),
    "slices of a concatenation": lambda: concat_slices(
        concat(variables(3, (40, 50)), 0).reshape((6000,)),
        np.arange(600)[::-1] * 10,
        np.arange(600)[::-1] * 10 + 7,
        0,
        0,
    ),
}


def dense(view: View) -> Int64:
    """The addresses of a view, gathered one level at a time."""
    space = view.space
    found = np.array([view.off])
    for extent, stride in view.flat_digits():
        found = (found[:, None] + np.arange(extent) * stride).reshape(-1)
    if isinstance(space, Storage):
        return found + space.base
    kids: list[Int64] = [dense(kid).reshape(space.outer, -1) for kid in space.kids]
    positions = np.concatenate(kids, 1).reshape(-1)
    return np.take(positions, found)


@pytest.mark.parametrize("name", LARGE)
def test_many_runs_are_those_of_the_addresses(name: str) -> None:
    view = LARGE[name]()
    found = dense(view)
    first = np.flatnonzero(np.append(True, np.diff(found) != 1))
    begin, length = runs(view)
    np.testing.assert_array_equal(begin, found[first])
    np.testing.assert_array_equal(length, np.diff(first, append=len(found)))
    np.testing.assert_array_equal(addresses(view).reshape(-1), found)
    assert num_runs(view) == len(first) > 64
    parts = list(chunks(view, 100))
    np.testing.assert_array_equal(np.concatenate([part for part, _ in parts]), begin)
    np.testing.assert_array_equal(np.concatenate([part for _, part in parts]), length)
    assert max(len(part) for part, _ in parts) <= 100


def test_equal_lengths_take_no_memory() -> None:
    _, length = runs(square(100).dim_shuffle((1, 0)))
    assert (length.shape, length.strides) == ((10_000,), (0,))


def test_arrays_hold_no_room_for_runs_that_joined() -> None:
    rows = [square(40).slice(i, i + 1, 0).slice(0, 20, 1) for i in (0, 2, 1)] * 40
    begin, _ = runs(concat(rows, 0).reshape((2400,)).slice(3, 2300, 0))
    assert (begin if begin.base is None else begin.base).size < 2 * len(begin) + 1


def test_few_runs_need_no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(function: object) -> Callable[..., int]:
        raise AssertionError(f"{function} was wanted for a few runs")

    monkeypatch.setattr("poplite.jit.build.native", refuse)
    monkeypatch.setattr("poplite.arrays.series.native", refuse)
    wide = concat(variables(8, (4, 8)), 1)
    views = [square(8).dim_shuffle((1, 0)), wide, wide.slice(3, 60, 1), wide.reshape((256,))]
    assert [num_runs(view) for view in views] == [64, 32, 32, 32]
    assert [len(runs(view)[0]) for view in views] == [64, 32, 32, 32]
    assert runs_of_many(views)[0].tolist() == [0, 64, 96, 128, 160]
    assert [len(storages(view)) for view in views] == [1, 8, 8, 8]
    assert [len(part) for part, _ in chunks(wide)] == [32]
    with pytest.raises(AssertionError, match="through"):
        runs(concat(variables(8, (4, 80)), 1).dim_shuffle((1, 0)))


def test_runs_of_many_views_follow_each_other() -> None:
    rows = [square(20).slice(i, i + 2, 0).slice(5, 9, 1) for i in range(100)]
    rows[40] = empty((0, 4))
    rows[41] = concat([rows[7], rows[3]], 0)
    first, begin, length = runs_of_many(rows)
    assert first[[0, 1, 40, 41, 42, 100]].tolist() == [0, 2, 80, 80, 84, 200]
    for i, row in enumerate(rows):
        expected = [a.tolist() for a in runs(row)]
        assert [a[first[i] : first[i + 1]].tolist() for a in (begin, length)] == expected
    assert [len(a) for a in runs_of_many([empty((0,))] * 70)] == [71, 0, 0]
    assert [len(a) for a in runs_of_many([])] == [1, 0, 0]


def test_more_runs_than_fit_are_refused_with_their_number() -> None:
    big = square(2**15)
    expected = re.escape(
        "a view has 1,073,741,824 runs of consecutive elements; at most 134,217,728"
    )
    with pytest.raises(SizeOverflowError, match=expected) as caught:
        runs(big.dim_shuffle((1, 0)))
    assert "16 GiB" in str(caught.value)
    assert "chunks" in str(caught.value)
    with pytest.raises(SizeOverflowError, match="1,073,741,824 runs"):
        Graph().add_variable(FLOAT, (2**15, 2**15)).T.contiguous_regions()
    spread = concat([big.dim_shuffle((1, 0)), square(2**15, 2**31).dim_shuffle((1, 0))], 0)
    with pytest.raises(SizeOverflowError, match="2,147,483,648 runs"):
        runs(spread)


def test_a_concatenation_is_counted_without_visiting_it() -> None:
    big = [square(2**15, k * 2**31).dim_shuffle((1, 0)) for k in range(3)]
    assert num_runs(concat(big, 0)) == 3 * 2**30
    assert num_runs(concat(big, 1)) == 3 * 2**30
    plain = [square(2**15, k * 2**31) for k in range(100)]
    assert num_runs(concat(plain, 1)) == 100 * 2**15


def test_runs_that_join_in_some_repetitions_are_counted() -> None:
    # Row i of a ends at 10 * i + 3, row i of b begins at 11 * i: they meet where i is 4, and
    # row i of b ends where row i + 1 of a begins where 11 * i + 6 is 10 * i + 10.
    a = View((9, 4), (10, 1), 0, Storage(0, 0, 200))
    b = View((9, 6), (11, 1), 0, a.space)
    cat = Cat((a, b), 9)
    view = View((90,), (1,), 0, cat)
    found = dense(view)
    assert num_runs(view) == 1 + np.count_nonzero(np.diff(found) != 1) == 16


def test_parts_are_whole_runs_however_small_they_are() -> None:
    view = square(6).reshape((36,)).upsample(2, 0)
    assert [a.tolist() for a in next(chunks(view, 1))] == [[0], [1]]
    assert [n for _, part in chunks(view, 1) for n in part.tolist()] == [1, *[2] * 35, 1]
    joined = square(6).slice(0, 6, 0)
    assert [[a.tolist() for a in part] for part in chunks(joined, 1)] == [[[0], [36]]]
    assert list(chunks(empty((0, 3)))) == []


def test_leaves_are_kept_with_their_space() -> None:
    view = concat(variables(70, (9, 11)), 1)
    assert isinstance(view.space, Cat)
    runs(view)
    assert leaves_of(view.space) is leaves_of(view.space)
    assert leaves_of(view.space).columns == 2


def test_storages_of_more_runs_than_fit_are_found() -> None:
    big = concat([square(2**15, k * 2**31) for k in range(3)], 0)
    assert len(storages(big.slice(5, 2**16, 0).dim_shuffle((1, 0)))) == 2


def test_storages_beside_those_that_are_read_are_not_found() -> None:
    one, other = square(8), square(8, 100)
    both = concat([one, other], 0)
    assert isinstance(both.space, Cat)
    lower = both.slice(8, 16, 0)
    nested = concat([lower.slice(k, k + 3, 1) for k in (5, 0, 2)], 1).dim_shuffle((1, 0))
    assert storages(nested) == (other.space,)
    assert storages(concat([nested, both.slice(7, 8, 0).dim_shuffle((1, 0))], 1)) == (
        other.space,
        one.space,
    )


def compiled(function: Callable[..., int]) -> Callable[..., int]:
    """The compiled form, taking arrays."""
    call = build.native(function)

    def with_arrays(*arguments: Int64 | int) -> int:
        return call(*[a if isinstance(a, int) else build.address(a) for a in arguments])

    return with_arrays


def test_kernels_do_compiled_what_they_do_in_python() -> None:
    pattern, base = np.array([0, 3, 9]), np.array([100, 50, 20])
    joins = np.array([0, 1, 0], np.uint8)
    lengths = np.array([2, 4, 1])
    results = []
    for form in (lambda function: function, compiled):
        out = [np.zeros(8, np.int64) for _ in range(5)]
        counts = [
            form(repeat_pattern)(pattern, 3, base, 3, out[0], 8),
            form(repeat_joining)(pattern, lengths, 3, base, joins, 3, 2, out[1], out[2]),
            form(leaf_runs)(
                np.array([5, 9]), np.array([[2, 2], [1, 2]]).reshape(-1), np.array([7, 1, 0, 1]), 2,
                np.array([0, 1]), 2, np.zeros(2, np.int64), out[3], out[4], np.zeros(2, np.int64),
            ),
        ]  # fmt: skip
        results.append([counts, [a.tolist() for a in out]])
    assert results[0] == results[1]
    assert results[0][0] == [8, 7, 3]


# -- concatenation ---------------------------------------------------------------------------------


SPACE = Storage(0, 0, 4096)


def cat_of(view: View) -> Cat:
    assert isinstance(view.space, Cat)
    return view.space


def test_neighbouring_slices_become_one_strided_view() -> None:
    matrix = all_of(SPACE, (64, 64))
    joined = concat([matrix.slice(4, 10, 1), matrix.slice(10, 30, 1)], 1)
    assert joined == matrix.slice(4, 30, 1)
    assert joined.space is SPACE


def test_the_nine_windows_of_a_convolution_become_one_strided_view() -> None:
    image = all_of(SPACE, (8, 8, 64))
    windows = [
        image.slice(di, di + 6, 0).slice(dj, dj + 6, 1) for di in range(3) for dj in range(3)
    ]
    columns = concat(windows, 2)
    assert columns.shape == (6, 6, 576)
    assert columns.space is SPACE
    assert columns.dims[2] == ((3, 512), (192, 1))


def test_three_equal_steps_become_a_digit_but_two_do_not() -> None:
    matrix = all_of(SPACE, (64, 64))
    other = all_of(Storage(1, 5000, 64), (1, 64))
    rows = [matrix.slice(i, i + 1, 0) for i in (0, 5, 10)]
    assert len(cat_of(concat([*rows, other], 0)).kids) == 2
    assert len(cat_of(concat([*rows[:2], other], 0)).kids) == 3


def test_a_tensor_with_itself_is_a_broadcast() -> None:
    row = all_of(SPACE, (64, 64)).slice(0, 1, 0)
    assert concat([row] * 3, 0) == row.broadcast(3, 0)
    assert concat([row] * 2, 1) == row.broadcast(2, 1)


def test_shuffled_columns_stay_single_columns() -> None:
    matrix = all_of(SPACE, (64, 64))
    order = list(range(64))
    Random(1).shuffle(order)
    joined = concat([matrix.slice(i, i + 1, 1) for i in order], 1)
    assert len(cat_of(joined).kids) > 50
    np.testing.assert_array_equal(addresses(joined), addresses(matrix)[:, order])


def test_neighbouring_variables_never_join_even_when_their_addresses_touch() -> None:
    a, b = all_of(Storage(0, 0, 8), (8,)), all_of(Storage(1, 9, 8), (8,))
    assert num_runs(concat([a, b], 0)) == 2


def test_pieces_without_elements_disappear() -> None:
    matrix = all_of(SPACE, (64, 64))
    assert concat([matrix.slice(3, 3, 0), matrix, matrix.slice(9, 9, 0)], 0) is matrix
    nothing = concat([matrix.slice(3, 3, 0), matrix.slice(9, 9, 0)], 0)
    assert nothing.shape == (0, 64)


def test_appending_in_a_loop_stays_one_layer_deep() -> None:
    variables = [all_of(Storage(i, 100 * i, 12), (3, 4)) for i in range(50)]
    joined = variables[0]
    for variable in variables[1:]:
        joined = concat([joined, variable], 1)
    cat = cat_of(joined)
    assert cat.outer == 3
    assert len(cat.kids) == 50
    assert all(isinstance(kid.space, Storage) for kid in cat.kids)


def test_rotating_in_a_loop_stays_one_layer_deep() -> None:
    rotated = concat([all_of(Storage(i, 100 * i, 12), (3, 4)) for i in range(4)], 1)
    first = addresses(rotated)
    for _ in range(40):
        rotated = concat([rotated.slice(5, 16, 1), rotated.slice(0, 5, 1)], 1)
        assert all(isinstance(kid.space, Storage) for kid in cat_of(rotated).kids)
    np.testing.assert_array_equal(addresses(rotated), np.roll(first, -40 * 5, 1))


def test_a_slice_inside_one_piece_leaves_the_concatenation() -> None:
    variables = [all_of(Storage(i, 10_000 * i, 8192), (64, 128)) for i in range(100)]
    wide = concat(variables, 1)
    assert wide.slice(130, 200, 1) == variables[1].slice(2, 72, 1)
    assert wide.slice(3, 9, 0).slice(128, 256, 1) == variables[1].slice(3, 9, 0)
    assert wide.dim_shuffle((1, 0)).slice(256, 384, 0) == variables[2].dim_shuffle((1, 0))


def test_an_inner_concatenation_flattens_without_another_layer() -> None:
    a, b = all_of(Storage(0, 0, 6), (2, 3)), all_of(Storage(1, 7, 2), (2, 1))
    flat = concat([a, b], 1).reshape((8,))
    assert cat_of(flat).outer == 2
    begin, length = runs(flat)
    assert begin.tolist() == [0, 7, 3, 8]
    assert length.tolist() == [3, 1, 3, 1]


def test_equal_concatenations_are_equal_and_hash_alike() -> None:
    a, b = all_of(Storage(0, 0, 6), (2, 3)), all_of(Storage(1, 7, 6), (2, 3))
    assert concat([a, b], 0) == concat([a, b], 0)
    assert hash(concat([a, b], 0)) == hash(concat([a, b], 0))
    assert concat([a, b], 0) != concat([b, a], 0)


def test_reshaping_a_layer_back_removes_it() -> None:
    transposed = all_of(SPACE, (64, 64)).dim_shuffle((1, 0)).slice(0, 63, 1)
    layered = transposed.reshape((63, 64))
    assert isinstance(layered.space, Cat)
    assert layered.reshape((64, 63)) == transposed


def test_a_piece_at_the_right_distance_but_of_other_strides_is_kept_apart() -> None:
    flat = all_of(SPACE, (4096,))
    rows = all_of(SPACE, (2, 2048)).slice(0, 4, 1).reshape((8,))
    other = concat([flat.slice(4095, 4096, 0)] * 4, 0)
    assert len(cat_of(concat([rows, other], 0)).kids) == 2
    apart = flat.slice(0, 8, 0).reshape((2, 4)).slice(0, 2, 1).reshape((4,))
    strided = flat.slice(8, 12, 0).sub_sample(2, 0)
    assert addresses(concat([apart, strided], 0)).tolist() == [0, 1, 4, 5, 8, 10]


def test_a_reversed_view_across_periods_stays_on_the_concatenation() -> None:
    a, b = all_of(Storage(0, 0, 6), (2, 3)), all_of(Storage(1, 7, 2), (2, 1))
    flat = concat([a, b], 1).reshape((8,)).reverse(0)
    part = flat.slice(1, 7, 0)
    assert isinstance(part.space, Cat)
    assert addresses(part).tolist() == [5, 4, 3, 7, 2, 1]
    assert addresses(part.slice(0, 3, 0)).tolist() == [5, 4, 3]
    assert isinstance(part.slice(0, 3, 0).space, Storage)
