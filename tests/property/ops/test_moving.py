"""Views, triangles and transposed copies, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import poplite as pl
from helpers.depth import examples, interpreted, thinned
from poplite import ops

SHAPES = [(6,), (1,), (4, 5), (1, 3), (2, 3, 4)]


def values_of(shape: tuple[int, ...]) -> Any:
    """Return different numbers."""
    return np.arange(1, 1 + int(np.prod(shape)), dtype=np.int32).reshape(shape)


def moved(shape: tuple[int, ...], move: Callable[[pl.Tensor, pl.Sequence], Any]) -> Any:
    """Return what a view, an expression or a step makes of these numbers."""
    graph, program = pl.Graph(pl.Target(tiles=5)), pl.Sequence()
    x = graph.add_variable(pl.INT, shape, "x", mapping="linear", initial_value=values_of(shape))
    result = ops.map(move(x, program), program=program)
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    return engine.read(result)


@examples(40)
@given(data=st.data(), shape=st.sampled_from(SHAPES))
def test_views_are_what_numpy_makes(data: st.DataObject, shape: tuple[int, ...]) -> None:
    x, rank = values_of(shape), len(shape)
    dim = data.draw(st.integers(-rank, rank - 1))
    by = data.draw(st.integers(-9, 9))
    found = moved(shape, lambda t, _: ops.roll(t, by, dim))
    np.testing.assert_array_equal(found, np.roll(x, by, dim))
    np.testing.assert_array_equal(moved(shape, lambda t, _: ops.roll(t, by)), np.roll(x, by))
    count = abs(by) % 4
    found = moved(shape, lambda t, _: ops.repeat_elements(t, count, dim))
    np.testing.assert_array_equal(found, np.repeat(x, count, dim))
    repeats = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    np.testing.assert_array_equal(
        moved(shape, lambda t, _: ops.tile(t, repeats)), np.tile(x, repeats)
    )


@examples(40)
@given(
    data=st.data(),
    shape=st.sampled_from(SHAPES),
    mode=st.sampled_from(["constant", "edge", "reflect"]),
)
def test_padding(data: st.DataObject, shape: tuple[int, ...], mode: Any) -> None:
    most = [size - 1 if mode == "reflect" else 4 for size in shape]
    widths = [data.draw(st.tuples(*2 * [st.integers(0, each)])) for each in most]
    found = moved(shape, lambda t, _: ops.pad(t, widths, mode))
    np.testing.assert_array_equal(found, np.pad(values_of(shape), widths, mode))


def test_widths_of_padding_may_be_short_or_negative() -> None:
    x = values_of((4, 5))
    found = moved((4, 5), lambda t, _: ops.pad(t, (1, 2), value=7))
    np.testing.assert_array_equal(found, np.pad(x, (1, 2), constant_values=7))
    np.testing.assert_array_equal(moved((4, 5), lambda t, _: ops.pad(t, 1)), np.pad(x, 1))
    found = moved((4, 5), lambda t, _: ops.pad(t, [(-1, 0), (1, -2)], "edge"))
    np.testing.assert_array_equal(found, np.pad(x[1:, :-2], [(0, 0), (1, 0)], "edge"))


@pytest.mark.parametrize(
    ("shape", "k"),
    thinned(
        product([(4, 5), (1, 3), (2, 3, 4)], [-9, -1, 0, 2, 9]),
        [((4, 5), 2), ((4, 5), 9), ((1, 3), 0), ((2, 3, 4), -1), ((2, 3, 4), -9)],
    ),
)
def test_triangles(shape: tuple[int, ...], k: int) -> None:
    x = values_of(shape)
    np.testing.assert_array_equal(moved(shape, lambda t, _: ops.tril(t, k)), np.tril(x, k))
    np.testing.assert_array_equal(moved(shape, lambda t, _: ops.triu(2 * t, k)), np.triu(2 * x, k))


def test_a_transposed_copy_lies_in_its_own_order() -> None:
    graph, program = pl.Graph(pl.Target(tiles=6)), pl.Sequence()
    x = graph.add_variable(
        pl.INT, (2, 3, 4), "x", mapping="linear", initial_value=values_of((2, 3, 4))
    )
    found = [ops.transpose(x, program=program), ops.transpose(x + 1, (1, 0, 2), program=program)]
    for each in found:
        assert each.is_contiguous()
        assert len(graph.tile_mapping(each)[0]) == 1
    engine = pl.Engine(graph, program, **interpreted())
    engine.run()
    np.testing.assert_array_equal(engine.read(found[0]), values_of((2, 3, 4)).T)
    np.testing.assert_array_equal(
        engine.read(found[1]), values_of((2, 3, 4)).transpose(1, 0, 2) + 1
    )


REFUSED: list[tuple[Callable[[pl.Tensor], Any], type[pl.PopliteError], str]] = [
    (lambda x: ops.roll(x, 1, 2), pl.TensorIndexError, "dimension 2 of 'x', which has 2"),
    (lambda x: ops.roll(x, [1, 2, 3], [0, 1]), pl.InvalidOption, "3 shifts for 2 dimensions"),
    (lambda x: ops.roll(x, 0.5), pl.InvalidOption, "shift=0.5"),  # type: ignore[arg-type]
    (lambda x: ops.roll(x * 2, 1), pl.ElementTypeError, "is not a tensor"),  # type: ignore[arg-type]
    (lambda x: ops.pad(x, 1, "wrap"), pl.InvalidOption, "mode 'wrap'"),
    (lambda x: ops.pad(x, [(1, 1)]), pl.InvalidOption, "which has rank 2"),
    (lambda x: ops.pad(x, (4, 0), "reflect"), pl.TensorCreationError, "4 reflected of dimension 0"),
    (lambda x: ops.pad(x, (-3, -2)), pl.TensorCreationError, "5 left out of dimension 0"),
    (lambda x: ops.pad(x[:0], 1, "edge"), pl.TensorCreationError, "1 repeated of dimension 0"),
    (lambda x: ops.tile(x, (1, -2)), pl.SizeOverflowError, "-2 repeats of dimension 1"),
    (lambda x: ops.tril(x[0]), pl.TensorCreationError, "rank 1"),
    (lambda x: ops.triu(x, 0.5), pl.InvalidOption, "k is 0.5"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "error", "text"), REFUSED)
def test_what_is_refused_is_named_with_its_numbers(
    call: Callable[[pl.Tensor], Any], error: type[pl.PopliteError], text: str
) -> None:
    x = pl.Graph(pl.Target(tiles=2)).add_variable(pl.FLOAT, (4, 5), "x", mapping=0)
    with pytest.raises(error, match=text):
        call(x)
