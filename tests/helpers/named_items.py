"""Drawn computations over named axes: results, views of results, and effects beside them.

All tensors have hints. What is assigned to tensors that operations jump on is the same number in
float32 and in double: these are added, negated, compared and moved, and stay eighths from -2 to 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

import poplite as pl
import poplite.named as ng
from helpers.named_drawing import STEPS, Drawn
from helpers.named_oracle import evaluate
from poplite.named.op import Op
from poplite.named.programs import Assign, Item, Parallel, RepeatEffect, Sequential
from poplite.named.tensors import TensorOp

Array = npt.NDArray[Any]

STATES = ("placeholder", "variable", "persistent_tensor")

OFTEN = (
    *("sum", "mean", "max", "dot", "softmax", "nmap", "place", "keep", "concat", "stack", "pad"),
    *["gradient"] * 11,
)
"""What is stored, or joins what is: half of all that is drawn."""


class Computation(Drawn):
    """A computation that is built of draws.

    Attributes:
        items: its results and effects, in order.
    """

    def __init__(self, data: st.DataObject) -> None:
        super().__init__(data, hints_all=True)
        for axes in (self.pool[0].axes.items, self.draw(st.permutations(self._axes))[:2]):
            self.exact.append(self.tensor(list(axes), self.draw(st.sampled_from(STATES))))
            self.pool.append(self.exact[-1])
        own = [self.tensor(self._axes[:2], "variable")]  # which is given any numbers
        self.pool += own
        self._exact_states = [each for each in self.exact if _is_state(each)]
        self._states = [*self._exact_states, *own]
        self._made: list[Op] = []
        for _ in range(self.draw(st.integers(2, 5))):
            name = self.draw(st.sampled_from(self.draw(st.sampled_from([OFTEN, [*STEPS]]))))
            made = self._gradient() if name == "gradient" else STEPS[name](self)
            self._made.append(made)
            self.take(name, made)
        self.items = [self._item(2) for _ in range(self.draw(st.integers(3, 6)))]

    # -- values ------------------------------------------------------------------------------------

    def _gradient(self) -> Op:
        """The gradient of a loss by a tensor that it reaches through views."""
        x = self.draw(st.sampled_from([each for each in self._states if each.rank]))
        seen = self._view(x, self.draw(st.sampled_from([2, 1, 0, 3])))
        if not seen.rank:
            of_one: Op = ng.deriv(ng.square(seen), x)
            return of_one
        axes = self.draw(st.permutations(list(seen.axes)))
        summed = axes[: self.draw(st.integers(1, len(axes)))]
        own = [ng.make_axis(self.draw(st.sampled_from([3, 2, 1])), "N")] * self.draw(
            st.sampled_from([1, 1, 0])
        )
        other = self.tensor(
            [*own, *summed], self.draw(st.sampled_from(["placeholder", "constant"]))
        )
        found = ng.dot(seen, other, axes=summed)
        loss = ng.sum(ng.square(found) / 8, ...)
        made: Op = ng.deriv(loss, x)
        return made

    def _view(self, x: Op, count: int = 1) -> Op:
        """A view of an operation, and of a plain tensor beside it."""
        for _ in range(count):
            if not x.rank:
                return x
            axis = self.draw(st.sampled_from(list(x.axes)))
            match self.draw(st.sampled_from("fopsjkc")):
                case "f":
                    first = self.draw(st.integers(0, x.rank - 1))
                    x = ng.flatten(x, x.axes[first : self.draw(st.integers(first + 1, x.rank))])
                case "o":
                    x = self.turned(x)
                case "p":
                    x = ng.pad(x, {axis: self.draw(st.sampled_from([1, (0, 2), (1, 0)]))})
                case "s":
                    x = x[axis, self.draw(st.sampled_from([slice(None, None, -1), slice(1, None)]))]
                case "j":
                    x = ng.concat(self.draw(st.permutations([x, self._plain(x)])), axis)
                case "k":
                    x = ng.keep(x)
                case "c":
                    x = ng.place(x, {axis: self.draw(st.sampled_from(["tiles", 1]))})
        return x

    def _plain(self, x: Op) -> Op:
        """A plain tensor with the axes of an operation: a state, if one has them, or itself."""
        like = [each for each in self._states if each.axes.is_equal_set(x.axes)]
        same = [each for each in like if all(axis in each.axes for axis in x.axes)]
        fits = [each for each in same if _lengths(each) == _lengths(x)]
        return self.draw(st.sampled_from([*fits, -x]))

    def _fitted(self, x: Op, target: Op) -> Op | float:
        """An operation cut to the axes of a target; a number where it is too short."""
        for axis in x.axes:
            if axis not in target.axes:
                if not axis.length:
                    return 0.75
                x = x[axis, self.draw(st.integers(0, axis.length - 1))]
                continue
            length = target.axes.own(axis).known_length("test")
            have = axis.known_length("test")
            if have < length:
                return -0.25
            if have > length:
                x = x[axis, have - length :]
        return x

    def _value(self, target: Op) -> Op | float:
        """What is assigned to a target."""
        is_exact = _base(target) in self._exact_states
        x = self.one(exact=True) if is_exact else self._result()
        x = x if x.element_type is pl.FLOAT else ng.cast(x, pl.FLOAT)
        if x.rank:
            axis = self.draw(st.sampled_from(list(x.axes)))
            match self.draw(st.sampled_from("xrnjs")):
                case "r":
                    x = x[axis, ::-1]
                case "n":
                    x = -x
                case "j":
                    x = ng.concat(self.draw(st.permutations([x, -x])), axis)
                case "s":
                    x = ng.sum(x, [axis])
        made = self._fitted(x, target)
        if self.draw(st.booleans()):
            made = made + target
        if not isinstance(made, Op):
            return made
        return ng.maximum(ng.minimum(made, 2), -2) if is_exact else ng.tanh(made)

    def _result(self) -> Op:
        x = self.draw(st.sampled_from(self.draw(st.sampled_from([self._made, self.pool]))))
        if x.element_type is not pl.FLOAT:
            return x
        return self._view(x, self.draw(st.sampled_from([0, 0, 1, 2])))

    # -- items -------------------------------------------------------------------------------------

    def _item(self, depth: int) -> Item:
        match self.draw(st.sampled_from("rrrbaaaps"[: None if depth else 7])):
            case "b":
                return self.draw(st.sampled_from(self._states))
            case "a":
                return self._assign(self.draw(st.sampled_from(self._states)))
            case "p":
                few = self.draw(st.permutations(self._states))[: self.draw(st.integers(2, 3))]
                return ng.parallel([self._assign(each) for each in few])
            case "s":
                items = [self._item(depth - 1) for _ in range(self.draw(st.integers(1, 3)))]
                if self.draw(st.booleans()):
                    return ng.sequential(items)
                return ng.repeat(self.draw(st.integers(0, 2)), items)
        return self._result()

    def _assign(self, target: Op) -> Assign:
        if target.rank:
            axis = self.draw(st.sampled_from(list(target.axes)))
            match self.draw(st.sampled_from("xxofs")):
                case "o":
                    target = self.turned(target)
                case "f":
                    target = ng.flatten(target)
                case "s":
                    target = target[axis, self.draw(st.sampled_from([slice(1, None), slice(0, 1)]))]
        return ng.assign(target, self._value(target))


def _is_state(x: Op) -> bool:
    return isinstance(x, TensorOp) and not x.constant


def _lengths(x: Op) -> dict[object, int | None]:
    return {axis.root: axis.length for axis in x.axes}


def _base(target: Op) -> Op:
    while not isinstance(target, TensorOp):
        (target,) = target.args
    return target


class Run:
    """What calls of a computation come to, by NumPy.

    Args:
        values: of all tensors that may change; they are changed.
    """

    def __init__(self, values: dict[TensorOp, Array]) -> None:
        self.values = values
        self._known: dict[Op, Array] = {}

    def call(self, items: list[Item]) -> list[Array | None]:
        """Return the values of items; None for effects."""
        self._known = {}
        return [self._item(each) for each in items]

    def _item(self, item: Item) -> Array | None:
        match item:
            case Assign():
                self._write([item])
            case Parallel():
                self._write(item.assigns)
            case Sequential():
                last = None
                for each in item.items:
                    last = self._item(each)
                return last
            case RepeatEffect():
                before = self._known
                for _ in range(item.count):
                    self._known = dict(before)
                    self._item(item.item)
                self._known = before
            case TensorOp():
                return self._of(item).copy()
            case Op():
                if item not in self._known:
                    self._known[item] = self._of(item)
                return self._known[item]
        return None

    def _of(self, op: Op) -> Array:
        (found,) = evaluate([op], self.values, self._known)
        return found

    def _write(self, assigns: tuple[Assign, ...] | list[Assign]) -> None:
        made = []
        for each in assigns:
            value, axes = self._of(each.value), each.target.axes
            dims = [each.value.axes.index(axis) for axis in axes if axis in each.value.axes]
            sizes = [(axis.length or 0) if axis in each.value.axes else 1 for axis in axes]
            made.append(np.broadcast_to(value.transpose(dims).reshape(sizes), each.target.shape))
        for each, value in zip(assigns, made, strict=True):
            base = _base(each.target)
            assert isinstance(base, TensorOp)
            where = np.arange(self.values[base].size, dtype=float).reshape(base.shape)
            (places,) = evaluate([each.target], {base: where})
            changed = np.array(self.values[base])
            changed.reshape(-1)[places.astype(int).reshape(-1)] = value.reshape(-1)
            self.values[base] = changed
