"""Drawn expressions over named axes as the oracle has them, in every form of running them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, strategies as st

import poplite as pl
import poplite.named as ng
from helpers.depth import deep, examples
from helpers.named_oracle import evaluate
from poplite.named.ops.op import Op, below
from poplite.named.ops.reducing import Dot, Reduce
from poplite.named.ops.tensors import TensorOp


class Drawn:
    """An expression that is built of draws."""

    def __init__(self, data: st.DataObject) -> None:
        self._draw = data.draw
        lengths = self._draw(st.lists(st.sampled_from([0, 1, 2, 3, 5]), min_size=4, max_size=4))
        self._axes = list(ng.make_axes(dict(zip("ABCD", lengths, strict=True))))
        self._fresh = 0

    def tensor(self) -> TensorOp:
        axes = self._draw(st.permutations(self._axes))[: self._draw(st.integers(0, 3))]
        return ng.placeholder(axes, layout=self._layout(axes), map=self._hint(axes))

    def _layout(self, axes: list[ng.Axis]) -> ng.Layout | None:
        """An order of storage, with room behind some lengths; None for the readers' choice."""
        if not axes or self._draw(st.booleans()):
            return None
        room = {each: each.known_length("room") + self._draw(st.integers(0, 2)) for each in axes}
        return ng.row_major(self._draw(st.permutations(axes)), room)

    def _hint(self, axes: list[ng.Axis]) -> Any:
        hint = self._draw(st.sampled_from([None, 0, "tiles", 1]))
        return {axes[0]: hint} if axes and hint in ("tiles", 1) else None if hint else hint

    def some(self, x: Op) -> list[ng.Axis]:
        return [axis for axis in x.axes if self._draw(st.booleans())]

    def step(self, pool: list[Op]) -> Op:
        x, y = (self._draw(st.sampled_from(pool)) for _ in "xy")
        kind = self._draw(st.sampled_from([*"beurdslfpcok"]))
        match kind:
            case "b":
                y = self._fitting(x, y)
                made = self._draw(st.sampled_from([ng.add, ng.multiply, ng.maximum]))(x, y)
            case "e":
                made = ng.where(x > 0.25, x, 0.5)
            case "u":
                made = self._draw(st.sampled_from([ng.tanh, ng.negative, ng.sin]))(x)
            case "r":
                made = ng.sum(x, self.some(x))
            case "d":
                y = self._fitting(x, y)
                shared = [axis for axis in x.axes & y.axes if self._draw(st.booleans())]
                made = ng.tanh(ng.dot(x, y, axes=shared))
            case "s":
                made = x
                for axis in self.some(x):
                    length = axis.known_length("slice")
                    if length and self._draw(st.booleans()):
                        made = made[axis, self._draw(st.integers(0, length - 1))]
                        continue
                    ends = st.integers(-3, 4) | st.none()
                    low, high = self._draw(ends), self._draw(ends)
                    made = made[axis, slice(low, high, self._draw(st.sampled_from([1, 2, -1])))]
            case "l":
                made = ng.axes_with_order(x, self._draw(st.permutations(list(x.axes))))
            case "f":
                made = ng.flatten(x) * 1.0 if x.rank > 1 else x
                made = ng.unflatten(made) if x.rank > 1 and self._draw(st.booleans()) else x * 0.5
            case "p":
                made = ng.pad(x, {axis: (1, 2) for axis in self.some(x)[:1]}, 0.25)
            case "c":
                axes = self.some(x)[:1]
                made = ng.concat([x, x * 0.5], axes[0]) if axes else -x
            case "o":
                made = ng.cast_axes(x, [axis.fresh() for axis in x.axes])
            case _:
                made = ng.keep(x)
        size = made.axes.size
        return made if size is not None and size <= 400 and made.rank <= 4 else x

    @staticmethod
    def _fitting(x: Op, y: Op) -> Op:
        """The other operand, cut to the lengths of the axes that both have."""
        for axis in y.axes:
            if axis in x.axes:
                length = x.axes.own(axis).known_length("test")
                if length > axis.known_length("test"):
                    return x
                y = y[axis, :length]
        return y


def program(data: st.DataObject) -> tuple[list[Op], dict[TensorOp, Any]]:
    """Two results, and values for their parameters."""
    drawn = Drawn(data)
    tensors = [drawn.tensor() for _ in range(data.draw(st.integers(1, 3)))]
    pool: list[Op] = list(tensors)
    for _ in range(data.draw(st.integers(1, 7))):
        pool.append(drawn.step(pool))
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    values = {each: random.uniform(-1, 1, each.shape).astype(np.float32) for each in tensors}
    return [pool[-1], data.draw(st.sampled_from(pool))], values


def run(
    roots: list[Op], values: dict[TensorOp, Any], tiles: int, *, interpret: bool, **options: Any
) -> list[Any]:
    """What a program comes to in one form."""
    device = ng.make_transformer(tiles=tiles, **options)
    work = device.computation(roots, *values)
    if interpret:
        engine = pl.Engine(device.graph, work.program, interpret=True)
        for each, value in values.items():
            engine.write(work.tensor(each), value)
        engine.run()
        found = [engine.read(each) for each in work.results if each is not None]
    else:
        found = list(work(*values.values()))
    return found


def check(data: st.DataObject, forms: list[dict[str, Any]]) -> None:
    """Compare a program in several forms with the oracle, and maps with each other in all bits."""
    roots, values = program(data)
    tiles = data.draw(st.sampled_from([1, 3, 8]))
    first: list[Any] | None = None
    for form in forms:
        found = run(roots, values, tiles, **form)
        first = found if first is None else first
        exact = evaluate(roots, values)
        for root, value, same, expected in zip(roots, found, first, exact, strict=True):
            assert value.shape == root.shape
            np.testing.assert_allclose(value, expected, 1e-4, 1e-5)
            if not any(isinstance(node, Reduce | Dot) for node in below([root])):
                assert value.tobytes() == same.tobytes()


@examples(400, quick=25)
@given(data=st.data())
def test_interpreted(data: st.DataObject) -> None:
    check(data, [{"interpret": True}, {"interpret": True, "fuse": "none"}])


FORMS: list[dict[str, Any]] = [
    {"interpret": True},
    {"interpret": False},
    {"interpret": False, "fuse": "none"},
    {"interpret": False, "checks": "strict"},
]


@deep
@examples(40)
@given(data=st.data())
def test_in_every_form(data: st.DataObject) -> None:
    check(data, FORMS)
