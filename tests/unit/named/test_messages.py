"""Calls that are refused: each message names an axis, and no name that only we use.

`conftest.py` looks at the messages of all tests of this folder; here stand those that no other
test provokes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import poplite as pl
import poplite.named as ng
from helpers.named_messages import INTERNAL, LINE, axes_of

H, W, N = ng.make_axes({"H": 3, "W": 4, "N": 5})
x = ng.placeholder([H, W], name="x")
v = ng.variable([H], 1, name="v")
i = ng.variable([H], 1, pl.INT, name="i")
described = ng.TensorDescription([H, W], name="d")
stored = ng.TensorDescription([H, W], layout=ng.row_major([H, W]), name="d")
anything: Any = object()

REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: ng.cast_axes(x, [H]), "cast_axes: 1 axis (H:3) for 2"),
    (lambda: ng.slice_along_axis(x, [H, W], 0), "slice_along_axis: 2 axes where one is asked"),  # type: ignore[arg-type]
    (lambda: ng.deriv(x, x), "deriv: y has axes (H:3, W:4), and no error says"),
    (lambda: ng.deriv(v, v, x), "deriv: the error has axes (H:3, W:4), y (H:3)"),
    (lambda: ng.pad(x, {H: (1, 2, 3)}), "pad: (1, 2, 3) for axis 'H'"),
    (lambda: ng.pad(x, {H: (-1, 2)}), "pad: "),
    (lambda: ng.pad(x, anything), "pad: <object object"),
    (lambda: ng.pad(x, {H: anything}), "pad: <object object"),
    (lambda: described.at((1, 1)), "at: the layout is free"),
    (lambda: stored.reorder([W, H]).flatten([W, H]), "flatten: axis '(W,H)' has no stride: 'W'"),
    (lambda: ng.row_major([H, W], anything), "layout: sizes <object object"),
    (lambda: ng.concat(anything, H), "concat: <object object"),
    (lambda: ng.concat([], H), "concat: no tensor"),
    (lambda: ng.stack([v, v], N), "stack: 2 tensors along axis 'N' of 5"),
    (lambda: ng.stack([v] * 5, N, pos=4), "stack: position 4 of 2"),
    (lambda: ng.one_hot(v, N), "one_hot: numbers of FLOAT are not positions"),
    (lambda: ng.cross_entropy_multi(v, ng.placeholder([W]), [H]), "cross_entropy_multi: neither"),
    (lambda: ng.mean(x), "mean: neither reduction_axes nor out_axes"),
    (lambda: ng.argmax(x, ...), "argmax: along 2 axes, (H:3, W:4)"),
    (lambda: ng.expand_dims(x, N, 4), "expand_dims: position 4 of 3"),
    (lambda: ng.expand_dims(x, anything), "<object object"),
    (lambda: ng.stack([v] * 3, H), "stack: axis 'H' is there already"),
    (lambda: ng.tensor_slice(x, [0]), "tensor_slice: 1 slice for 2 axes"),
    (lambda: x[0, 1, 2], "3 indices for 2 axes"),
    (lambda: x[..., 0, ...], "'...' occurs twice in brackets"),
    (lambda: x[H], "x["),
    (lambda: ng.unflatten(x), "unflatten: no axis is a flattened one"),
    (
        lambda: ng.make_transformer(tiles=2).computation(
            ng.variable([H], map=anything, name="u")
        ).program,
        "map of 'u' (H:3): <object object",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("call", "what"), REFUSED, ids=range(len(REFUSED)))
def test_a_call_is_refused_with_the_axes(call: Callable[[], Any], what: str) -> None:
    with pytest.raises(pl.PopliteError) as caught:
        call()
    assert caught.value.what.startswith(what)
    assert caught.value.fix


@pytest.mark.parametrize("text", ["Elementwise", "it is of type TensorOp", "x of _pair"])
def test_names_that_only_we_use_are_known(text: str) -> None:
    assert INTERNAL.search(text) is not None
    assert INTERNAL.search(LINE.sub("", "made at model.py:3 in _pair")) is None


def test_axes_are_found_in_what_a_function_holds() -> None:
    assert {*axes_of([[v], {"a": [H]}, ng.make_axes([W]), N.root])} == {"H", "W", "N"}
