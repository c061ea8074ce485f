"""What concatenation merges, and what it keeps apart."""

from __future__ import annotations

from random import Random

import numpy as np

from poplite.view import Cat, Storage, View, addresses, all_of, concat, num_runs, runs

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
