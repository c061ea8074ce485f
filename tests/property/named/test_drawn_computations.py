"""Drawn computations, with hints, views of results and effects, as NumPy has them.

Each is called twice; several of one transformer, which share what effects change, in any order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

import poplite as pl
import poplite.named as ng
from helpers.depth import deep, examples, values_only
from helpers.named_drawing import STEPS, Drawn, public
from helpers.named_oracle import evaluate
from poplite.named.along_axes import DotProduct, Reduce
from poplite.named.op import Op, nodes_below
from poplite.named.programs import Assign, Item, Parallel, RepeatEffect, Sequential, roots_of
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


# -- tests -----------------------------------------------------------------------------------------


def check_computation(data: st.DataObject, forms: list[dict[str, Any]]) -> None:
    """Compare two calls of a computation, in several forms, with the oracle."""
    drawn = Computation(data)
    read = read_by(drawn.items)
    params = [each for each in read if each.input]
    tiles = data.draw(st.sampled_from([1, 3, 8]))
    start = {each: np.array(drawn.values.get(each, each.value), float) for each in read}
    random = np.random.default_rng(len(read))
    calls = [eighths(params, random) for _ in range(2)]
    for form in forms:
        oracle, interpret = Run(dict(start)), form["interpret"]
        options = {name: value for name, value in form.items() if name != "interpret"}
        device = ng.make_transformer(tiles=tiles, **options)
        work = device.computation(drawn.items, *params)
        engine = pl.Engine(
            device.graph,
            {work.name: work.program},
            interpret=interpret,
            checks=options.get("checks", "fast"),
            options=values_only() if interpret else {},
        )
        for values in calls:
            compare(engine, work, values, oracle)


def read_by(items: list[Item]) -> list[TensorOp]:
    return [each for each in nodes_below(roots_of(items)) if isinstance(each, TensorOp)]


def eighths(params: Iterable[TensorOp], random: np.random.Generator) -> dict[TensorOp, Any]:
    return {each: random.integers(-16, 17, each.shape) / 8 for each in params}


def compare(
    engine: pl.Engine, work: ng.Computation, values: dict[TensorOp, Any], oracle: Run
) -> None:
    """Call a computation with the values of its parameters, and compare with the oracle."""
    for each, value in values.items():
        engine.write(work.tensor(each), value.astype(np.float32))
    oracle.values |= values
    expected = oracle.call(list(work.items))
    engine.run(work.name)
    for item, tensor, right in zip(work.items, work.results, expected, strict=True):
        assert (tensor is None) == (right is None)
        if tensor is not None and right is not None:
            np.testing.assert_allclose(engine.read(tensor), right, 1e-4, 1e-4, err_msg=repr(item))


STRICT = {"interpret": True, "checks": "strict"}


@examples(60, quick=6)
@given(data=st.data())
def test_interpreted(data: st.DataObject) -> None:
    check_computation(data, [STRICT, {"interpret": True, "fuse": "none"}])


@examples(60, quick=3)
@given(data=st.data())
def test_several_of_one_transformer(data: st.DataObject) -> None:
    drawn = Computation(data)
    half = len(drawn.items) // 2
    parts = [drawn.items[:half], drawn.items[half:], [drawn._item(1)]]
    form: dict[str, Any] = data.draw(
        st.sampled_from([{"checks": "strict"}, {"checks": "fast", "fuse": "none"}])
    )
    device = ng.make_transformer(tiles=data.draw(st.sampled_from([1, 3, 8])), **form)
    works = []
    for items in parts:
        params = [each for each in read_by(items) if each.input]
        works.append(device.computation(items, *params))
    first, *later = works
    engine = pl.Engine(
        device.graph,
        {first.name: first.program},
        interpret=True,
        checks=form["checks"],
        options=values_only(),
    )
    for work in later:
        engine.add_program(work.program, work.name)
    tensors = {each for items in parts for each in read_by(items)}
    oracle = Run({each: np.array(drawn.values.get(each, each.value), float) for each in tensors})
    random = np.random.default_rng(len(tensors))
    for number in data.draw(st.lists(st.integers(0, 2), min_size=3, max_size=6)):
        work = works[number]
        compare(engine, work, eighths(work.params, random), oracle)


@deep
@examples(5)
@given(data=st.data())
def test_compiled(data: st.DataObject) -> None:
    check_computation(
        data, [{"interpret": False}, {"interpret": False, "fuse": "none", "checks": "strict"}]
    )


# -- drawn programs --------------------------------------------------------------------------------


PARTS = 6
"""In how many parts all operations are drawn: each program has all of one part."""


def program(data: st.DataObject, names: list[str]) -> tuple[list[Op], dict[TensorOp, Any]]:
    """An operation of each name, in any order, and values for their parameters."""
    drawn, made = Drawn(data), []
    for name in data.draw(st.permutations(names)):
        made.append(STEPS[name](drawn))
        drawn.take(name, made[-1])
    return made, drawn.values


def run(
    roots: list[Op],
    values: dict[TensorOp, Any],
    tiles: int,
    *,
    interpret: bool,
    checks: Any = "fast",
    **options: Any,
) -> list[Any]:
    """What a program comes to in one form."""
    options["checks"] = checks
    device = ng.make_transformer(tiles=tiles, **options)
    work = device.computation(roots, *values)
    if interpret:
        engine = pl.Engine(
            device.graph, work.program, interpret=True, checks=checks, options=values_only()
        )
        for each, value in values.items():
            engine.write(work.tensor(each), value)
        engine.run()
        found = [engine.read(each) for each in work.results if each is not None]
    else:
        found = list(work(*values.values()))
    return found


def check_program(data: st.DataObject, names: list[str], forms: list[dict[str, Any]]) -> None:
    """Compare a program in several forms with the oracle, and maps with each other in all bits."""
    roots, values = program(data, names)
    tiles = data.draw(st.sampled_from([1, 3, 8]))
    exact = evaluate(roots, values)
    first: list[Any] | None = None
    for form in forms:
        found = run(roots, values, tiles, **form)
        first = found if first is None else first
        for root, value, same, expected in zip(roots, found, first, exact, strict=True):
            assert (value.shape, value.dtype) == (root.shape, root.element_type.dtype)
            np.testing.assert_allclose(value, expected, 1e-4, 1e-4, err_msg=repr(root))
            if not any(isinstance(node, Reduce | DotProduct) for node in nodes_below([root])):
                assert value.tobytes() == same.tobytes()


def test_all_operations_are_drawn() -> None:
    assert sorted(STEPS) == sorted(public())


@pytest.mark.parametrize("part", range(PARTS))
@examples(30, quick=2)
@given(data=st.data())
def test_programs_interpreted(data: st.DataObject, part: int) -> None:
    check_program(data, [*STEPS][part::PARTS], [STRICT, {"interpret": True, "fuse": "none"}])


FORMS: list[dict[str, Any]] = [
    {"interpret": True},
    {"interpret": False},
    {"interpret": False, "fuse": "none"},
    {"interpret": False, "checks": "strict"},
]


@deep
@pytest.mark.parametrize("part", range(PARTS))
@examples(2)
@given(data=st.data())
def test_in_every_form(data: st.DataObject, part: int) -> None:
    check_program(data, [*STEPS][part::PARTS], FORMS)
