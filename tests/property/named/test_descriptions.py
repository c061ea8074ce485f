"""Drawn chains of views: descriptions, `pl.Tensor` and NumPy agree in every element."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import given, strategies as st

import poplite as pl
import poplite.named as ng
from helpers.depth import examples
from poplite.graph.graph import Graph
from poplite.machine.target import Target
from poplite.named.axes import joint_order
from poplite.named.description import TensorDescription

Array = npt.NDArray[Any]

BORDER = -1000
"""Where elements of the first border lie; those of the second lie at twice that, and so on."""

SIZES = st.sampled_from([0, 1, 2, 3, 4])


def allocation(data: st.DataObject) -> tuple[TensorDescription, Array]:
    """An allocation, and where each of its elements lies."""
    lengths = data.draw(st.lists(SIZES, max_size=3))
    axes = [ng.make_axis(length) for length in lengths]
    order = data.draw(st.permutations(axes))
    rooms = {axis: (axis.length or 0) + data.draw(st.integers(0, 2)) for axis in axes}
    layout = ng.Layout(order, rooms).by(ng.make_axes(axes))
    stored = np.arange(layout.size).reshape(layout.stored_shape)
    own = stored[tuple(slice(axis.length) for axis in order)]
    made = TensorDescription(axes, pl.INT, layout, "x")
    return made, own.transpose([order.index(axis) for axis in axes])


def lengths(made: TensorDescription) -> tuple[int, ...]:
    """The lengths of axes, all of which are known."""
    return tuple(axis.known_length("test") for axis in made.axes)


def seen(data: st.DataObject, made: TensorDescription, own: Array) -> tuple[Any, Array]:
    """A view of a view, and where each of its elements lies."""
    draw = data.draw
    items = list(made.axes)
    match draw(st.sampled_from("tobcsfujp")):
        case "t":
            return made.transpose(), own.T
        case "o":
            order = draw(st.permutations(items))
            return made.reorder(order), own.transpose([items.index(axis) for axis in order])
        case "b":
            new = ng.make_axis(draw(SIZES))
            wide = draw(st.permutations([new, *items]))
            all_of = np.broadcast_to(own, (new.length or 0, *own.shape))
            return made.broadcast(wide), all_of.transpose([[new, *items].index(a) for a in wide])
        case "c":
            return made.cast([axis.fresh() for axis in items]), own
        case "s" if items:
            axis = draw(st.sampled_from(items))
            part: Any = slice(
                draw(st.none() | st.integers(-5, 5)),
                draw(st.none() | st.integers(-5, 5)),
                draw(st.sampled_from([None, 1, 2, -1, -2])),
            )
            if axis.length and draw(st.booleans()):
                part = draw(st.integers(-axis.length, axis.length - 1))
            where: Any = [slice(None)] * len(items)
            where[items.index(axis)] = part
            return made.slice({axis: part}), own[tuple(where)]
        case "f" if len(items) > 1:
            first = draw(st.integers(0, len(items) - 2))
            last = draw(st.integers(first + 2, len(items)))
            flat = made.flatten(items[first:last], copy="view")
            return flat, own.reshape(lengths(flat))
        case "u" if any(isinstance(axis, ng.FlattenedAxis) for axis in items):
            parts = made.unflatten()
            return parts, own.reshape(lengths(parts))
        case "j" if items and own.size < 200:
            axis = draw(st.sampled_from(items))
            n = items.index(axis)
            return made.concat([made], axis), np.concatenate([own, own], n)
        case "p" if items and own.size < 200:
            widths = draw(st.tuples(st.integers(0, 2), st.integers(0, 2)))
            axis = draw(st.sampled_from(items))
            n = items.index(axis)
            padded = made.pad({axis: widths})
            number = len(made.bases)
            for base in padded.bases:
                if base.name == "border":  # a new one: the others have a number
                    base.name += str(number)
            both = [widths if d == n else (0, 0) for d in range(own.ndim)]
            return padded, np.pad(own, both, constant_values=BORDER * number)
    return made, own


@examples(400, quick=60)
@given(data=st.data())
def test_a_chain_of_views_leads_to_the_same_elements(data: st.DataObject) -> None:
    made, own = allocation(data)
    for _ in range(data.draw(st.integers(0, 5))):
        made, own = seen(data, made, own)
    assert made.shape == own.shape
    assert made.rank == own.ndim

    graph = Graph(Target(tiles=1))
    stored = [base.allocated(graph) for base in made.bases]
    tensor = made.view(*stored)
    assert tensor.shape == own.shape
    start = {
        of.var_regions()[0].variable: BORDER * int(base.name[len("border") :])
        for of, base in zip(stored, made.bases, strict=True)
        if base.name != "x" and of.num_elements
    }
    where = [
        start.get(each.variable, 0) + offset
        for each in tensor.flatten().var_regions()
        for offset in range(each.begin, each.end)
    ]
    assert where == own.reshape(-1).tolist()
    assert made.contains_aliases == (len(set(where)) < len(where))
    in_order = all(b - a == 1 for a, b in zip(where, where[1:], strict=False))
    assert made.is_contiguous == (in_order and len(stored) == 1)

    for index in list(np.ndindex(own.shape))[:: max(1, own.size // 9)]:
        found = made.at(index)
        assert found.offset == max(own[index], 0)
        assert (found.base.name != "x") == (own[index] < 0)
    if own.size and made.offset is not None:
        assert made.offset == own[(0,) * own.ndim]
        for dim, stride in enumerate(made.strides):
            if own.shape[dim] > 1 and stride is not None:
                assert (np.diff(own, axis=dim) == stride).all()


@examples(200, quick=40)
@given(data=st.data())
def test_a_known_stride_is_told(data: st.DataObject) -> None:
    """Where one stride reaches all elements of a flattened axis, it is found."""
    made, own = allocation(data)
    if made.rank > 1:
        made, own = made.reorder(made.axes.items[::-1]), own.T
        flat = made.flatten(copy="view")
        steps = np.diff(own.reshape(-1))
        if own.size > 1:
            is_one = bool((steps == steps[0]).all())
            assert flat.strides == (steps[0] if is_one else None,)
            if is_one:
                assert made.flatten(copy="never").strides == flat.strides


@examples(100, quick=20)
@given(data=st.data())
def test_a_layout_that_comes_late_changes_no_element(data: st.DataObject) -> None:
    fixed, _ = allocation(data)
    free = TensorDescription(fixed.axes, pl.INT, name="x")
    state = data.draw(st.integers(0, 2**30))
    views = []
    for start in (fixed, free):
        made = start
        random = np.random.default_rng(state)
        for _ in range(3):
            items = list(made.axes)
            if not items:
                break
            random.shuffle(items)
            made = made.reorder(items).slice({items[0]: slice(None, None, -1)})
            if len(items) > 1:
                made = made.flatten(made.axes[:2], copy="view")
        views.append(made)
    assert fixed.layout is not None
    late = views[1].with_layout(fixed.layout)
    assert late.strides == views[0].strides
    assert late.offset == views[0].offset
    assert not views[1].fixed
    assert views[1].strides == (None,) * views[1].rank


# -- algebra of axes -------------------------------------------------------------------------------


ALL = [ng.make_axis(length, name) for length, name in enumerate("ABCDEF")]

some = st.lists(st.sampled_from(ALL), unique=True, max_size=5)


@given(one=some, other=some)
def test_as_lists_and_sets(one: list[ng.Axis], other: list[ng.Axis]) -> None:
    a, b = ng.make_axes(one), ng.make_axes(other)
    assert list(a - b) == [each for each in one if each not in other]
    assert list(a & b) == [each for each in one if each in other]
    assert list(a | b) == [*one, *(each for each in other if each not in one)]
    assert a.is_sub_set(b) == (set(one) <= set(other))
    assert a.is_super_set(b) == (set(one) >= set(other))
    assert a.is_equal_set(b) == (set(one) == set(other)) != a.is_not_equal_set(b)
    assert (a == b) == (one == other)
    assert (a == b) <= (hash(a) == hash(b))
    assert (a | b) - b == a - b
    assert ((a - b) + (a & b)).is_equal_set(a)
    if not set(one) & set(other):
        assert list(a + b) == one + other


@given(one=some, other=some)
def test_the_order_of_operands_follows_the_rules(one: list[ng.Axis], other: list[ng.Axis]) -> None:
    a, b = ng.make_axes(one), ng.make_axes(other)
    found = list(joint_order(a, b))
    if set(other) <= set(one):
        assert found == one
    elif set(one) < set(other):
        assert found == other
    else:
        assert found == [*one, *(each for each in other if each not in one)]
    assert set(found) == set(joint_order(b, a))
