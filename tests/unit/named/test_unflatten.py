"""Flattened axes that slices were taken of: their parts come back where all indices are there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import poplite as pl
import poplite.named as ng

H, W, N = ng.make_axes({"H": 3, "W": 4, "N": 2})
x = ng.placeholder([N, H, W], name="x")
VALUES = np.arange(24.0).reshape(2, 3, 4)

WHOLE: dict[str, Callable[[ng.Op, ng.Axis], ng.Op]] = {
    "by steps of 1": lambda f, F: f[F, ::1],
    "from 0": lambda f, F: f[F, 0:],
    "up to the length": lambda f, F: f[F, :12],
    "from the end": lambda f, F: f[F, -12:],
    "of a slice": lambda f, F: f[F, 0:][F, :99],
    "backwards twice": lambda f, F: f[F, ::-1][F, ::-1],
    "beside another slice": lambda f, F: f[N, ::-1][F, :12][N, ::-1],
    "of something computed": lambda f, F: (f * 2)[F, :12] / 2,
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_slices_have_the_parts_of_what_they_are_taken_of(name: str) -> None:
    f = ng.flatten(x, [H, W])
    made = ng.unflatten(WHOLE[name](f, f.axes[1]))
    assert made.axes == ng.make_axes([N, H, W])
    gradient = ng.deriv(ng.sum(made * made, ...), x)
    work = ng.make_transformer(tiles=2).computation([made, gradient], x)
    values, slope = work(VALUES)
    assert np.array_equal(values, VALUES)
    assert np.array_equal(slope, 2 * VALUES)


def test_parts_of_flattened_axes_say_how_to_take_them() -> None:
    f = ng.flatten(x, [H, W])
    for part in (f[f.axes[1], ::-1], f[f.axes[1], 1:]):
        with pytest.raises(pl.AxisError, match="no axis is a flattened one") as caught:
            ng.unflatten(part)
        begin = "ng.unflatten first, then slices of H, W: '(H,W)["
        assert caught.value.fix.startswith(begin)
        assert caught.value.fix.endswith("]' is a part of '(H,W)'")


def test_a_description_is_unflattened_likewise() -> None:
    described = ng.TensorDescription([H, W], layout=ng.row_major([H, W]), name="d").flatten()
    made = described.slice({described.axes[0]: slice(0, 12)}).unflatten()
    assert made.axes == ng.make_axes([H, W])
    assert (made.strides, made.offset) == ((4, 1), 0)


def test_all_of_an_axis_is_the_tensor_itself() -> None:
    assert x[H, ::1] is x
    assert x[H, 0:][W, 0::1] is x
    assert x[H, :3] is not x
