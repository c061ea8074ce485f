"""`t[...]` beside NumPy's basic indexing, for all keys that NumPy takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import array_shapes, basic_indices

from poplite import FLOAT, Graph, TensorIndexError
from poplite.view import addresses

shapes = array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)


@given(st.data(), shapes)
def test_a_key_selects_what_numpy_selects(data: st.DataObject, shape: tuple[int, ...]) -> None:
    key: Any = data.draw(basic_indices(shape, allow_newaxis=True, max_dims=6))
    tensor = Graph().add_variable(FLOAT, shape)
    expected = addresses(tensor.view)[key]
    selected = addresses(tensor[key].view)
    assert selected.shape == np.shape(expected)
    np.testing.assert_array_equal(selected, expected)


@given(shapes, st.lists(st.integers(-7, 7), max_size=5))
def test_numbers_outside_raise_where_numpy_raises(shape: tuple[int, ...], key: list[int]) -> None:
    tensor = Graph().add_variable(FLOAT, shape)
    try:
        expected = addresses(tensor.view)[tuple(key)]
    except IndexError:
        with pytest.raises(TensorIndexError, match=r"index|indices"):
            tensor[tuple(key)]
    else:
        np.testing.assert_array_equal(addresses(tensor[tuple(key)].view), expected)


@given(st.data(), array_shapes(max_dims=3, max_side=4))
def test_iteration_yields_the_indices_of_dimension_0(
    data: st.DataObject, shape: tuple[int, ...]
) -> None:
    tensor = Graph().add_variable(FLOAT, shape)
    order = data.draw(st.permutations(range(len(shape))))
    tensor = tensor.dim_shuffle(order)
    assert len(tensor) == tensor.shape[0]
    assert list(tensor) == [tensor[i] for i in range(tensor.shape[0])]


@given(shapes.filter(bool), st.none() | st.integers(-7, 7), st.none() | st.integers(-7, 7))
def test_a_range_alone_is_the_view_that_it_is_with_others(
    shape: tuple[int, ...], begin: int | None, end: int | None
) -> None:
    tensor = Graph().add_variable(FLOAT, shape)
    alone, others = tensor[begin:end].view, tensor[begin:end, ...].view
    assert (alone.shape, alone.dims, alone.off) == (others.shape, others.dims, others.off)
    assert alone.space is others.space
    np.testing.assert_array_equal(addresses(alone), addresses(tensor.view)[begin:end])
