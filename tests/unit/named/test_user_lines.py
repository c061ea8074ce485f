"""Whatever is made remembers the line of the user's call, through all functions in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import poplite.named as ng

H, W, D = ng.make_axis(3, "H"), ng.make_axis(4, "W"), ng.make_axis(4, "D")
x = ng.variable([H, W], name="x")
described = ng.TensorDescription([H, W], layout=ng.row_major([H, W]), name="described")

MAKERS: list[Callable[[], Any]] = [
    lambda: x + x,
    lambda: 2 * x,
    lambda: -x,
    lambda: abs(x),
    lambda: x < 1,
    lambda: x[H, 1:],
    lambda: ng.add(x, 1),
    lambda: ng.exp(x),
    lambda: ng.where(x < 1, x, 2),
    lambda: ng.cast(x, int),
    lambda: ng.sum(x, [H]),
    lambda: ng.mean(x, ...),
    lambda: ng.argmax(x, [W]),
    lambda: ng.dot(x, x),
    lambda: ng.broadcast(x, [H, W, D]),
    lambda: ng.cast_axes(x, [H, D]),
    lambda: ng.axes_with_order(x, [W, H]),
    lambda: ng.flatten(x),
    lambda: ng.stack([x, x], D.fresh("S").resized(2)),
    lambda: ng.pad(x, {H: (1, 0)}),
    lambda: ng.softmax(x, [W]),
    lambda: ng.deriv(ng.sum(x * x, ...), x),
    lambda: ng.constant(1.0),
    lambda: ng.placeholder([H]),
    lambda: ng.assign(x, 1),
    lambda: ng.keep(x),
    lambda: ng.TensorDescription([H]),
    lambda: described.transpose(),
    lambda: described.slice({H: 1}),
    lambda: described.flatten(),
    lambda: described.concat([described], H),
    lambda: described.pad({H: (1, 1)}),
    lambda: ng.make_axis(3),
    lambda: H.fresh(),
    lambda: H.resized(7),
]


@pytest.mark.parametrize("make", MAKERS, ids=range(len(MAKERS)))
def test_the_line_is_that_of_the_call(make: Callable[[], Any]) -> None:
    made = make()
    code = make.__code__
    assert (made.line.file, made.line.line) == (code.co_filename, code.co_firstlineno)
