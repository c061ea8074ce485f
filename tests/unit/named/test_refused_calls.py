"""Calls as people make them who come from NumPy: each is refused in words that show the way."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poplite as pl
import poplite.named as ng
from poplite.errors import (
    AxisError,
    AxisLengthError,
    DuplicateAxisError,
    ElementTypeError,
    InvalidOption,
    InvalidTileMapping,
    MissingAxisError,
    SizeOverflowError,
    TensorIndexError,
)

H, W, N = ng.make_axes({"H": 3, "W": 4, "N": 5})
x = ng.placeholder([H, W], name="x")
v = ng.variable([H], 1, name="v")
i = ng.variable([H], 1, pl.INT, name="i")


def computation(results: Any, *params: Any, **options: Any) -> ng.Computation:
    return ng.make_transformer(tiles=4, **options).computation(results, *params)


def mapped(hint: Any) -> ng.Op:
    return ng.variable([H], map=hint, name="u")


Call = Callable[[], Any]

REFUSED: list[tuple[Call, type[Exception], str, str]] = [
    (lambda: ng.sum(x, "H"), AxisError, "sum: 'H' is not an axis", "axes.find('H') of (H:3, W:4)"),
    (lambda: ng.sum(x, ["H"]), AxisError, "sum: 'H' is not an axis", "axes.find('H')"),
    (lambda: ng.softmax(x, 1), AxisError, "softmax: 1 is not an axis", "the axes are (H:3, W:4)"),  # type: ignore[arg-type]
    (lambda: ng.constant([1, 2]), AxisError, "constant: an array of shape (2,) with 0 axes", "[H"),
    (
        lambda: x[None],
        TensorIndexError,
        "axis 'H': None is not an index",
        "ng.expand_dims(x, axis)",
    ),
    (lambda: x[H, 0, H, 2], DuplicateAxisError, "x[(H:3, 0, H:3, 2)]: axis 'H' occurs t", "once"),
    (lambda: x[H, [0, 2]], TensorIndexError, "axis 'H': [0, 2] is not an index", "ng.concat joins"),
    (lambda: x[x > 0], TensorIndexError, "axis 'H': a tensor is not an index", "ng.where(p, x, 0)"),
    (lambda: ng.concat([x, v], H), MissingAxisError, "concat: axes of 'v': no axis 'W' among", ""),
    (lambda: ng.concat([v, i], H), ElementTypeError, "concat: FLOAT and INT are not mixed", "(i,"),
    (lambda: ng.assign(v, x), MissingAxisError, "assign: axes of the target: no axis 'W'", ""),
    (lambda: ng.assign(v, i), ElementTypeError, "assign: INT to FLOAT", "ng.cast(i, pl.FLOAT)"),
    (lambda: ng.assign(i, 0.5), ElementTypeError, "assign: 0.5 beside INT", "a whole number"),
    (lambda: ng.assign(i, 2**40), SizeOverflowError, "assign: 1099511627776 does not fit", ""),
    (lambda: -ng.assign(v, 1), AxisError, "<assign to 'v' (H:3)", "ng.sequential"),
    (lambda: ng.assign(v, 1) < 1, AxisError, "<assign to 'v' (H:3)", "ng.sequential"),
    (lambda: ng.assign(v, 1) % 2, AxisError, "<assign to 'v' (H:3)", "ng.sequential"),
    (lambda: bool(ng.assign(v, 1)), AxisError, "<assign to 'v' (H:3)", "ng.sequential"),
    (lambda: ng.assign(v, 1) + 1, AxisError, "<assign to 'v' (H:3)", "ng.sequential"),
    (lambda: 2 * ng.repeat(2, v), AxisError, "<repeat 2 times> changes tensors", "ng.sequential"),
    (lambda: computation(np.ones(3)), AxisError, "computation: an array of shape", "ng.constant"),
    (lambda: computation(each for each in [x]), ElementTypeError, "computation: <generator", ""),
    (lambda: ng.dot(x, v, out_axes=[H]), MissingAxisError, "dot: out_axes: no axis 'H'", "(W:4)"),
    (lambda: ng.dot(x, v, out_axes=[]), MissingAxisError, "dot: out_axes: axis 'W' is not", "[W]"),
    (lambda: ng.map_roles(x, ng.AxesMap({H: N})), AxisLengthError, "map_roles: axis 'H' has", ""),
    (lambda: ng.cast_role(x, [N]), AxisError, "cast_role: 1 axis (N:5) for 2", "of H, W"),
    (lambda: computation(x, [x]), AxisError, "computation: [<placeholder x (H:", "each by itself"),
    (lambda: computation(x, x)(x), AxisError, "x: a named tensor where values", "an array of axes"),
    (lambda: ng.constant([1, 2]), AxisError, "constant: an array of shape (2,)", "(array, [H])"),
    (lambda: ng.variable(np.ones(3), [H]), AxisError, "np.float64(1.0) is no", "the axes first"),
    (
        lambda: ng.assign(v, np.ones(4)),
        AxisLengthError,
        "assign: an array of shape (4,) for axes (H:3)",
        "an array of shape (3,)",
    ),
    (lambda: ng.repeat(ng.assign(v, 1), 3), AxisError, "repeat: <assign to", "first a whole"),  # type: ignore[arg-type]
    (lambda: x["W"], AxisError, "x['W']: a name where an axis is asked for", "x[W, 0]"),
    (lambda: ng.deriv(x, v), AxisError, "deriv: y has axes", "ng.deriv(x, v, error)"),
    (lambda: x.axes[5], TensorIndexError, "there is no axis 5 among (H:3, W:4)", "from -2 to 1"),
    (lambda: computation(x, x, x), AxisError, "computation 'computation0': parameter 'x'", "once"),
    (lambda: computation(v, map={"N": 2}), AxisError, "make_transformer: map has 'N'", "{N: "),
    (lambda: computation(v, map={H: "all"}), AxisError, "make_transformer: map: axis 'H' in", ""),
    (lambda: computation(v, checks="zz"), InvalidOption, "make_transformer: checks='zz'", "fast"),
    (lambda: mapped({W: "tiles"}), MissingAxisError, "map of 'u': no axis 'W' among", "(H:3)"),
    (lambda: mapped({W: 2}), MissingAxisError, "map of 'u': no axis 'W' among (H:3)", "(H:3)"),
    (lambda: mapped({H: -1}), AxisError, "map of 'u': axis 'H' in -1 blocks", "{H: 4}"),
    (lambda: mapped({H: "tile"}), AxisError, "map of 'u': axis 'H' in 'tile' blocks", "tiles"),
    (lambda: mapped("tiles"), AxisError, "map of 'u' (H:3): 'tiles'", '{H: "tiles"}'),
    (lambda: mapped(1.5), AxisError, "map of 'u' (H:3): 1.5", "a tile"),
    (lambda: mapped(-1), InvalidTileMapping, "map of 'u': tile -1", "from 0"),
    (lambda: mapped(v + 1), AxisError, "map of 'u' (H:3): <add (H:3) FLOAT>", "a named tensor"),
    (lambda: ng.place(x, {N: 2}), MissingAxisError, "place of 'x': no axis 'N' among (H:3,", ""),
    (
        lambda: computation(ng.variable([W], map=mapped({H: 2}))).program,
        MissingAxisError,
        "map",
        "",
    ),
]


@pytest.mark.parametrize(("call", "kind", "what", "fix"), REFUSED, ids=range(len(REFUSED)))
def test_a_call_is_refused_and_the_way_is_shown(
    call: Call, kind: type[pl.PopliteError], what: str, fix: str
) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    assert caught.value.what.startswith(what)
    assert fix in caught.value.fix


def test_an_operand_is_named_once() -> None:
    with pytest.raises(ElementTypeError) as caught:
        ng.logical_and(x, x)
    assert caught.value.found == x.text


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("T", "ng.axes_with_order(x, [W, H])"),
        ("sum", "ng.sum(x, reduction_axes=[W])"),
        ("reshape", "ng.flatten(x, [H, W]) and ng.unflatten"),
        ("sqrt", "ng.sqrt(x, ...)"),
        ("astype", "ng.cast(x, pl.INT)"),
    ],
)
def test_attributes_of_arrays_name_what_stands_for_them(name: str, way: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(way)) as caught:
        getattr(x + 1, name)
    assert "a named tensor has no" in str(caught.value)
    assert not hasattr(x, "colour")


def test_a_grid_may_have_axes_that_a_tensor_has_not() -> None:
    """Such a tensor lies on the first tile of each row of blocks."""
    u = ng.variable([H], map={H: 2, W: 2}, name="u")
    device = ng.make_transformer(tiles=4)
    work = device.computation(u)
    mapping = device.graph.tile_mapping(work.tensor(u))
    assert [tile for tile in range(4) if mapping.ptr[tile] < mapping.ptr[tile + 1]] == [0, 2]


def test_a_transformer_says_what_it_has() -> None:
    device = ng.make_transformer(tiles=4)
    device.computation(v)
    assert repr(device) == "<Transformer of 4 tiles, 1 computation>"


@pytest.mark.parametrize(
    ("call", "way"),
    [
        (lambda p, q: p & q, "ng.logical_and(p, q)"),
        (lambda p, q: True & q, "ng.logical_and(q, True)"),
        (lambda p, q: p | q, "ng.logical_or(p, q)"),
        (lambda p, q: p ^ q, "p ** q for a power, or ng.not_equal(p, q) of truths"),
        (lambda p, q: (x - 1) ^ 2, "(...) ** 2 for a power"),
        (lambda p, q: 2 ^ x, "2 ** x for a power"),
        (lambda p, q: ~p, "ng.logical_not(p)"),
        (lambda p, q: x @ v, "ng.dot(x, v) sums over H"),
        (
            lambda p, q: p @ q,
            "ng.dot(p, q) sums over H and W; ng.dot(p, q, axes=[W]) over W alone",
        ),
        (lambda p, q: len(x), "H.length, W.length"),
        (lambda p, q: list(x), "x[H, 0], x[H, 1], ..."),
    ],
)
def test_operators_name_the_functions_with_the_operands(call: Any, way: str) -> None:
    p, q = (ng.placeholder([H, W], pl.BOOL, name=name) for name in "pq")
    with pytest.raises(AxisError) as caught:
        call(p, q)
    assert caught.value.fix == way


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("AssignableTensorOp", "ng.variable makes such a tensor; it has the flags constant, pers"),
        ("matmul", "ng.dot(x, y)"),
        ("transpose", "axes pair in any order"),
        ("zeros", "ng.constant(0, axes)"),
    ],
)
def test_functions_of_other_libraries_name_what_stands_for_them(name: str, way: str) -> None:
    with pytest.raises(pl.AbsentMember, match=re.escape(way)):
        getattr(ng, name)
    with pytest.raises(AttributeError, match="module 'poplite.named' has no attribute 'colour'"):
        getattr(ng, "colour")  # noqa: B009


def test_a_misspelt_attribute_names_the_near_one() -> None:
    with pytest.raises(AttributeError, match=r"has no 'axess' \(did you mean 'axes'\?\)\n  'x'"):
        x.axess  # type: ignore[attr-defined]  # noqa: B018
