"""Transformers and computations: forms of results, parameters, shared state, where tensors lie."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
import poplite.named as ng
from helpers.depth import values_only
from poplite.errors import (
    AxisError,
    AxisLengthError,
    ElementTypeError,
    ImplicitOuterProductError,
    InvalidOption,
    InvalidTileMapping,
    MissingAxisError,
    ReadOnlyError,
    UnsetLengthError,
)
from poplite.simulator import running

H, W = ng.make_axis(3, "H"), ng.make_axis(2, "W")


def test_values_have_the_form_of_the_results() -> None:
    x = ng.placeholder([H], name="x")
    double, total = x + x, ng.sum(x, [H])
    device = ng.make_transformer(tiles=2)
    one = device.computation(double, x)([1, 2, 3])
    assert (one.dtype, one.tolist()) == (np.float32, [2, 4, 6])
    assert isinstance(device.computation([double, total], x)(1), tuple)
    assert device.computation((total,), x)(2)[0].shape == ()
    found = device.computation({"a": double, "b": total}, x)([1, 2, 3])
    assert (list(found), found["b"].item()) == (["a", "b"], 6)
    assert device.computation({double, total}, x)([1, 2, 3])[total] == 6
    assert device.computation(None, x)(1) is None


def test_calls_are_checked_fast_unless_asked_otherwise() -> None:
    """Trap 17: strict checks take longer than small programs do."""
    x = ng.placeholder([H], name="x")
    strict = ng.make_transformer(tiles=2, checks="strict")
    for device, checks in ((ng.make_transformer(tiles=2), "fast"), (strict, "strict")):
        work = device.computation(x + 1, x)
        assert work.engine.executable.checks == checks


def test_parameters_are_given_by_position_or_by_tensor() -> None:
    x, y = ng.placeholder([H], name="x"), ng.placeholder([H, W], name="y")
    work = ng.make_transformer(tiles=2).computation(y - x, x, y)
    values = np.arange(6.0).reshape(3, 2)
    expected = (values - np.array([[1], [2], [3]])).tolist()
    assert work([1, 2, 3], values).tolist() == expected
    assert work(feed_dict={y: values, x: [1, 2, 3]}).tolist() == expected
    assert work([1, 2, 3], (values.T, [W, H])).tolist() == expected
    assert work(0, 4).tolist() == [[4, 4]] * 3
    for given in ((1,), (1, 2, 3)):
        with pytest.raises(AxisError, match=f"takes 2 values; found {len(given)}") as caught:
            work(*given)
        assert caught.value.fix == "computation0(x, y)"


@pytest.mark.parametrize(
    ("given", "keys", "said"),
    [
        ((), "x", "feed_dict lacks 'y'"),
        ((), "", "feed_dict lacks 'x', 'y'"),
        ((), "xyz", "feed_dict has unknown keys: 'z'"),
        ((), ["x", "Y"], "feed_dict lacks 'y' and has unknown keys: the text 'y'"),
        ((1, 2), "xy", "feed_dict cannot be combined with 2 values by position"),
    ],
)
def test_what_is_wrong_with_a_feed_dict_is_named(given: Any, keys: Any, said: str) -> None:
    x, y, z = (ng.placeholder([H], name=name) for name in "xyz")
    by_key: dict[str, Any] = {"x": x, "y": y, "z": z, "Y": "y"}
    work = ng.make_transformer(tiles=2).computation(y - x, x, y)
    with pytest.raises(AxisError) as caught:
        work(*given, feed_dict={by_key[key]: 1 for key in keys})
    assert caught.value.what == f"'computation0': {said}"
    assert caught.value.fix.startswith("computation0(x, y)")


def test_all_stands_for_the_placeholders_in_order_of_creation() -> None:
    x, y = ng.placeholder([H], name="x"), ng.placeholder([], name="y")
    work = ng.make_transformer(tiles=2).computation(y * x, "all")
    assert [each.name for each in work.params] == ["x", "y"]
    assert repr(work) == "<Computation 'computation0' (x, y)>"


def test_missing_placeholders_are_all_named() -> None:
    x, y, z = (ng.placeholder([H], name=name) for name in "xyz")
    device = ng.make_transformer(tiles=2)
    with pytest.raises(AxisError, match="its parameters lack 2 placeholders: x, z") as caught:
        device.computation(x + y + z, y)
    assert caught.value.found.count("test_transformer.py") == 2
    with pytest.raises(AxisError, match="is not a parameter"):
        device.computation(x, x + 1)
    with pytest.raises(AxisError, match="is not a parameter"):
        device.computation(x, ng.constant(1.0))


def test_values_that_do_not_fit_are_refused() -> None:
    """Trap 21: doubles are converted at the border."""
    x = ng.placeholder([H, W], name="x")
    i = ng.placeholder([H], pl.INT, name="i")
    device = ng.make_transformer(tiles=2)
    work, whole = device.computation(x, x), device.computation(i, i)
    with pytest.raises(AxisLengthError, match="x: axis 'W' has length 2, but the value has 4"):
        work(np.ones((3, 4)))
    with pytest.raises(AxisLengthError, match=r"x: the value has shape \(3,\), but the axes are"):
        work([1, 2, 3])
    with pytest.raises(ElementTypeError, match="values of dtype complex128"):
        work(np.ones((3, 2), complex))
    with pytest.raises(ElementTypeError, match="i: a value of dtype float64 cannot become INT"):
        whole([0.5, 1, 2])
    with pytest.raises(AxisLengthError, match="the value has axes"):
        work((np.ones((2, 3)), [W, H.fresh()]))
    assert work(np.ones((3, 2), np.float64)).dtype == np.float32


def test_state_is_shared_and_kept_when_a_computation_comes_later() -> None:
    """Trap 19."""
    w = ng.variable([H], [1, 2, 3], name="w")
    device = ng.make_transformer(tiles=2)
    grow = device.computation(ng.assign(w, w * 2))
    grow()
    grow()
    later = device.computation(w + 0)
    assert later().tolist() == [4, 8, 12]
    grow()
    assert later().tolist() == [8, 16, 24]
    other = ng.make_transformer(tiles=2).computation(w)
    assert other().tolist() == [1, 2, 3]


def test_state_may_be_a_parameter_which_a_call_writes() -> None:
    w = ng.variable([H], 1, name="w")
    v = ng.persistent_tensor([H], lambda axes: np.arange(axes.size), name="v")
    device = ng.make_transformer(tiles=2)
    both = device.computation([w, v])
    assert [each.tolist() for each in both()] == [[1, 1, 1], [0, 1, 2]]
    device.computation(w, w)([7, 8, 9])
    assert both()[0].tolist() == [7, 8, 9]


def test_a_reset_forgets_state_and_computations() -> None:
    w = ng.variable([], 1, name="w")
    with ng.make_transformer(tiles=2) as device:
        device.computation(ng.assign(w, w + 1))()
        device.reset()
        assert device.computation(w)() == 1
        kept = device.computation(w + 1)
    for use in (kept, kept.report, kept.explain, lambda: kept.program, lambda: kept.tensor(w)):
        with pytest.raises(AxisError, match="'computation1': its transformer was closed or reset"):
            use()


def test_lengths_are_needed_at_the_first_call_only() -> None:
    N = ng.make_axis(name="N")
    x = ng.placeholder([N], name="x")
    work = ng.make_transformer(tiles=2).computation(ng.mean(x, [N]), x)
    with pytest.raises(UnsetLengthError, match="the length of axis 'N' has not been set"):
        work([1, 2])
    N.length = 4
    assert work([1, 2, 3, 6]) == 3
    with pytest.raises(AxisLengthError, match="axis 'N' has length 4, and 'x'"):
        N.length = 5


def test_a_computation_whose_lengths_come_later_holds_up_no_other_one() -> None:
    N = ng.make_axis(name="N")
    x, y = ng.placeholder([N], name="x"), ng.placeholder([H], name="y")
    device = ng.make_transformer(tiles=2)
    later, now = device.computation(ng.sum(x, [N]), x), device.computation(ng.sum(y, [H]), y)
    assert now([1, 2, 3]) == 6
    N.length = 2
    assert later([1, 2]) == 3


def test_means_of_many_halves_are_counted_in_float() -> None:
    N = ng.make_axis(100_000, "N")
    x = ng.placeholder([N], pl.HALF, name="x")
    mean = ng.mean(x, [N])
    assert mean.dtype is pl.HALF
    assert ng.make_transformer(tiles=64).computation(mean, x)(1.5) == 1.5


@pytest.mark.parametrize("operation", [ng.add, ng.dot])
def test_lengths_that_come_later_are_compared_when_they_are_known(operation: Any) -> None:
    N = ng.make_axis(name="N")
    x, y = ng.placeholder([N], name="x"), ng.placeholder([N.resized(3)], name="y")
    work = ng.make_transformer(tiles=2).computation(operation(x, y), x, y)
    N.length = 4
    with pytest.raises(AxisLengthError, match="axis 'N' has length 4 in the left") as caught:
        work([1, 2, 3, 4], [1, 2, 3])
    assert "'x'" in caught.value.found
    assert "'y'" in caught.value.found


def tiles_of(device: ng.Transformer, work: ng.Computation, op: ng.Op) -> list[int]:
    mapping = device.graph.tile_mapping(work.tensor(op))
    return [int(n) for n in mapping.elements_per_tile]


def test_tensors_lie_where_hints_say() -> None:
    N, K = ng.make_axis(8, "N"), ng.make_axis(40, "K")
    x = ng.placeholder([K, N], name="x")
    b = ng.variable([N], 0, name="b")
    s = ng.variable([K], 0, map=2, name="s")
    v = ng.persistent_tensor([N], 0, map=b, name="v")
    t = ng.variable([K], 0, map=0, name="t")
    device = ng.make_transformer(tiles=4, map={N: "tiles"})
    work = device.computation([x + b, s, v, t], x)
    assert work(np.ones((40, 8)))[0].tolist() == [[1] * 8] * 40
    assert tiles_of(device, work, x) == [80] * 4
    assert tiles_of(device, work, b) == tiles_of(device, work, v) == [2] * 4
    assert tiles_of(device, work, s) == [0, 0, 40, 0]
    assert tiles_of(device, work, t) == [40, 0, 0, 0]
    first = device.graph.tile_mapping(work.tensor(x)[:, :2])
    assert first.elements_per_tile.tolist() == [80, 0, 0, 0]


@pytest.mark.parametrize("hint", [{"F": "tiles"}, {"F": 2}, 3])
def test_a_gradient_lies_as_its_variable_where_a_hint_says(hint: Any) -> None:
    N, F, G = ng.make_axis(10, "N"), ng.make_axis(8, "F"), ng.make_axis(6, "G")
    x = ng.placeholder([N, F], name="x")
    place = {F: hint["F"]} if isinstance(hint, dict) else hint
    w, b = ng.variable([F], 1, map=place, name="w"), ng.variable([G, F], 1, map=place, name="b")
    loss = ng.sum(ng.square(ng.dot(x, w)), [N]) + ng.sum(ng.square(ng.dot(b, x, axes=[F])), ...)
    gradients = ng.deriv(loss, [w, b])
    assert [each.name for each in gradients] == ["deriv w", "deriv b"]
    assert ng.deriv(loss, w) is gradients[0]
    device = ng.make_transformer(tiles=4)
    work = device.computation(gradients, x)
    values = np.arange(80.0).reshape(10, 8) / 80
    expected = 2 * values.T @ values.sum(1)
    for found, each in zip(work(values), (expected, np.tile(expected, (6, 1))), strict=True):
        np.testing.assert_allclose(found, each, 1e-5)
    for op, gradient in zip((w, b), gradients, strict=True):
        mapping = device.graph.tile_mapping(work.tensor(gradient))
        assert mapping == device.graph.tile_mapping(work.tensor(op))


def test_a_derivative_of_a_derivative() -> None:
    H = ng.make_axis(3, "H")
    x = ng.variable([H], [1, 2, 3], name="x")
    first = ng.deriv(ng.sum(x**3, [H]), x)
    second = ng.deriv(ng.sum(first * x, [H]), x)
    found = ng.make_transformer(tiles=1).computation([first, second])()
    assert [each.tolist() for each in found] == [[3, 12, 27], [9, 36, 81]]


# Seed 000: the flags of tensors that are made with an initial value, of inputs and of state.
FLAGS = {
    "constant": (True, True, False, False),
    "placeholder": (False, True, False, True),
    "persistent tensor": (False, True, False, False),
    "variable": (False, True, True, False),
}


@pytest.mark.parametrize(("kind", "flags"), FLAGS.items())
def test_the_flags_of_tensors(kind: str, flags: tuple[bool, ...]) -> None:
    H = ng.make_axis(3, "H")
    made = {
        "constant": lambda: ng.constant(1.0, [H]),
        "placeholder": lambda: ng.placeholder([H]),
        "persistent tensor": lambda: ng.persistent_tensor([H]),
        "variable": lambda: ng.variable([H]),
    }[kind]()
    assert (made.constant, made.persistent, made.trainable, made.input) == flags
    assert made.kind == kind
    assert made.read_only is (kind == "constant")
    assert (made + 1).placeholders() == ([made] if made.input else [])
    assert (made + 1).variables() == ([made] if made.trainable else [])


def test_a_grid_of_blocks_and_a_tensor_on_the_first_of_its_tiles() -> None:
    N, K = ng.make_axis(8, "N"), ng.make_axis(6, "K")
    x, r = ng.placeholder([N, K], name="x"), ng.placeholder([N], name="r")
    device = ng.make_transformer(tiles=8, map={N: 2, K: 3})
    work = device.computation(x * r, x, r)
    values = np.arange(48.0).reshape(8, 6)
    assert work(values, 2).tolist() == (2 * values).tolist()
    assert tiles_of(device, work, x) == [8] * 6 + [0, 0]
    assert tiles_of(device, work, r) == [4, 0, 0, 4, 0, 0, 0, 0]
    with pytest.raises(InvalidTileMapping, match="3 x 4 = 12 blocks do not fit 8 tiles"):
        ng.make_transformer(tiles=8, map={N: 3, K: 4}).computation(x, x)(values)


def test_without_a_hint_a_tile_has_128_bytes_at_least() -> None:
    N = ng.make_axis(80, "N")
    x = ng.placeholder([N], name="x")
    device = ng.make_transformer(tiles=8)
    work = device.computation(x, x)
    work(0)
    assert tiles_of(device, work, x) == [32, 32, 16, 0, 0, 0, 0, 0]


def test_strict_refuses_outer_products_that_nobody_wrote() -> None:
    x, y = ng.placeholder([H], name="x"), ng.placeholder([W], name="y")
    with ng.strict(), pytest.raises(ImplicitOuterProductError) as caught:
        x + y
    assert caught.value.what == "add: only 'x' has axis 'H', and only 'y' 'W'"
    assert caught.value.found.count("test_transformer.py") == 2
    assert caught.value.fix == "use ng.broadcast(x, [H, W]) if all pairs are intended"
    with ng.strict():
        assert (ng.broadcast(x, [H, W]) + y).axes == H + W
        assert (x * 2 + ng.placeholder([W, H])).rank == 2
    strict = ng.make_transformer(tiles=2, strict=True)
    with pytest.raises(ImplicitOuterProductError, match="multiply: only 'x'"):
        strict.computation(x * y, x, y)(1, 1)
    assert ng.make_transformer(tiles=2).computation(x * y, x, y)(1, 1).shape == (3, 2)


def test_only_what_is_stored_has_a_tensor() -> None:
    x = ng.placeholder([H], name="x")
    inner = x * 2
    kept = ng.keep(x * 3)
    work = ng.make_transformer(tiles=2).computation(inner + kept, x)
    assert work([1, 2, 3]).tolist() == [5, 10, 15]
    assert work.tensor(x).shape == (3,)
    with pytest.raises(AxisError, match="multiply is not stored separately") as caught:
        work.tensor(inner)
    assert caught.value.fix == "make it a result, or use ng.keep(x)"


def test_options_are_checked() -> None:
    x, device = ng.placeholder([H]), ng.make_transformer(tiles=2)
    device.computation(x, x, name="same")
    with pytest.raises(InvalidOption, match="a computation named 'same' already exists"):
        device.computation(x, x, name="same")
    with pytest.raises(InvalidOption, match="target and tiles cannot be combined"):
        ng.make_transformer(pl.Target(tiles=2), tiles=2)
    bad: Any = "all"
    with pytest.raises(InvalidOption, match="fuse is 'all'"):
        ng.make_transformer(tiles=2, fuse=bad)


def step_of_descent(
    rate: float, length: int, place: int | None, function: Callable[[ng.Op], ng.Op] = ng.exp
) -> tuple[ng.Transformer, ng.Computation]:
    """A step along a gradient, and the sum of what it leads to."""
    axis = ng.make_axis(length, "N")
    w = ng.variable([axis], 1, name="w", map=place)
    step = ng.assign(w, w - rate * ng.deriv(ng.sum(function(w), ...), w))
    device = ng.make_transformer(tiles=2)
    return device, device.computation([step, ng.sum(w, ...)])


@pytest.mark.parametrize(
    ("rate", "length", "place"), [(0.25, 640, None), (0.5, 960, None), (0.5, 640, 1), (3.0, 320, 0)]
)
def test_another_number_length_or_place_compiles_nothing(
    rate: float, length: int, place: int | None
) -> None:
    """Trap 7: a learning rate is a field of vertices, not part of their text."""

    def classes(*given: Any) -> set[type[pl.Vertex]]:
        device, work = step_of_descent(*given)
        _ = work.program
        sets = device.graph.compute_sets
        return {vertex.vertex_class for each in sets for vertex in each.vertices}

    assert classes(rate, length, place) == classes(0.5, 640, None)


def test_a_second_engine_compiles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Trap 7, counted by what is told of compiling: once for each class, where none is known."""
    monkeypatch.setenv("POPLITE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("POPLITE_ENGINE_OPTIONS", json.dumps(values_only()))
    monkeypatch.setattr(running, "PATIENCE", 0.0)

    def compiled(rate: float, length: int, place: int | None) -> list[str]:
        _, work = step_of_descent(rate, length, place, lambda w: ng.square(w) * ng.relu(w))
        work()
        told = capfd.readouterr().err.splitlines()
        return [line for line in told if "compiling vertex class" in line]

    assert compiled(0.5, 640, None)
    assert compiled(0.25, 960, 1) == []


@pytest.mark.priced
def test_a_program_can_be_drawn_and_reported() -> None:
    x = ng.placeholder([H], name="x")
    with ng.make_transformer(tiles=2) as device:
        work = device.computation(x + 1, x, name="more")
        work([1, 2, 3])
        assert work.program.name == "more"
        assert work.engine is device.engine
        assert work.report().cycles
        assert work.graph is device.graph


class Labelled:
    """An array that names its dimensions, as xarray's do."""

    def __init__(self, array: np.ndarray[Any, Any], *dims: Any) -> None:
        self.array, self.dims = array, dims

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray[Any, Any]:
        return self.array


def test_an_array_that_names_its_dimensions_is_read_by_them() -> None:
    A, B = ng.make_axis(2, "A"), ng.make_axis(2, "B")
    x = ng.placeholder([A, B], name="x")
    array = np.array([[1, 2], [3, 4]], np.float32)
    work = ng.make_transformer(tiles=2).computation([x + 0, ng.sum(x, [B])], x)
    for value in (Labelled(array, "B", "A"), Labelled(array, B, A), (array, [B, A])):
        whole, rows = work(value)
        assert (whole.tolist(), rows.tolist()) == ([[1, 3], [2, 4]], [4, 6])
    assert work(Labelled(array, "A", "B"))[1].tolist() == [3, 7]
    first = ng.constant(Labelled(array, "B", "A"), [A, B]).first_value()
    assert first is not None
    assert first.tolist() == [[1, 3], [2, 4]]
    with pytest.raises(
        AxisError, match=r"x: the array has dimensions \('A', 'C'\), but the axes are"
    ) as caught:
        work(Labelled(array, "A", "C"))
    assert "np.asarray(array)" in caught.value.fix


def test_a_value_of_one_axis_may_say_it() -> None:
    A = ng.make_axis(3, "A")
    x = ng.placeholder([A], name="x")
    work = ng.make_transformer(tiles=2).computation(x + 0, x)
    assert work(([1, 2, 3], A)).tolist() == [1, 2, 3]
    with pytest.raises(AxisError, match="x: the value has axes"):
        work(([1, 2, 3], A.fresh("B")))


def test_a_constant_is_the_first_value_of_state_by_its_axes() -> None:
    row = ng.constant([1.0, 2.0], [W], name="row")
    x = ng.variable([H, W], row, name="x")
    y = ng.variable([W], ng.constant(4), name="y")
    turned = ng.persistent_tensor([W, H], ng.constant([[1, 2], [3, 4], [5, 6]], [H, W]))
    found = ng.make_transformer(tiles=2).computation([x, y, turned])()
    assert [each.tolist() for each in found] == [[[1, 2]] * 3, [4, 4], [[1, 3, 5], [2, 4, 6]]]
    with pytest.raises(ReadOnlyError, match="the initial value of 'z': 'add' has no value") as said:
        ng.variable([W], row + 1, name="z")
    assert "ng.assign(z, x)" in said.value.fix
    with pytest.raises(MissingAxisError, match="the initial value of 'z': .* no axis 'W' among"):
        ng.variable([H], row, name="z")
    with pytest.raises(AxisLengthError, match="the initial value of 'z': axis 'W' has length 5"):
        ng.variable([W.resized(5)], row, name="z")
    with pytest.raises(ElementTypeError):
        ng.variable([W], row, pl.INT)
