"""The documents on named axes: their code, run on tiles, and their tables."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poplite as pl
import poplite.named as ng
import poplite.named as ngt
from poplite.errors import (
    AxisError,
    AxisLengthError,
    DuplicateAxisError,
    ImplicitOuterProductError,
    MissingAxisError,
    NeedsCopyError,
    ReadOnlyError,
    UnsetLengthError,
)
from poplite.named import Namespace, ax

# -- code ------------------------------------------------------------------------------------------
# What the documents print is compared. Where they are prose, or contradict themselves, the
# comment says what holds.


def test_axes_and_delayed_lengths() -> None:
    """Section "Axis and Axes" of the document on axes."""
    H = ng.make_axis(length=3, name="height")
    W = ng.make_axis(length=4, name="width")
    axes = ng.make_axes([H, W])
    image = ng.placeholder(axes)
    assert image.shape == (3, 4), "the shape of an image"

    # "We can also delay the specification of the axis length."
    H = ng.make_axis(name="height")
    W = ng.make_axis(name="width")
    image = ng.placeholder([H, W])
    H.length = 3
    W.length = 4
    assert image.shape == (3, 4), "lengths that come later"


def test_properties() -> None:
    """Section "Properties"."""
    H = ng.make_axis(length=2)
    W = ng.make_axis(length=3)
    np_val = np.random.rand(2, 3)
    x = ng.constant(np_val, [H, W])
    y = ng.constant(np_val.T, [W, H])
    z = ng.equal(x, y)

    trans = ngt.make_transformer(tiles=4)
    comp = trans.computation([z])
    z_val = comp()[0]
    assert str(z_val) == "[[ True  True  True]\n [ True  True  True]]", "equal"

    H = ng.make_axis(length=2)
    W = ng.make_axis(length=2)
    with pytest.raises(DuplicateAxisError):
        ng.constant(np.ones((2, 2)), [H, H])
    ng.constant(np.ones((2, 2)), [H, W])  # good


def test_contexts() -> None:
    """Section "Axes have context"."""
    ar = Namespace()
    ar.Height = ng.make_axis_role()
    ar.Width = ng.make_axis_role()
    ar.Depth = ng.make_axis_role()
    ar.Channel = ng.make_axis_role()
    ar.Channelout = ng.make_axis_role()
    ar.Time = ng.make_axis_role()
    ax = Namespace()
    ax.N = ng.make_axis(name="N", docstring="minibatch size")
    ax.C = ng.make_axis(roles=[ar.Channel], docstring="number of input feature maps")
    ax.D = ng.make_axis(roles=[ar.Depth], docstring="input image depth")
    ax.H = ng.make_axis(roles=[ar.Height], docstring="input image height")
    ax.W = ng.make_axis(roles=[ar.Width], docstring="input image width")
    ax.R = ng.make_axis(roles=[ar.Height], docstring="filter height")
    ax.S = ng.make_axis(roles=[ar.Width], docstring="filter width")
    ax.T = ng.make_axis(roles=[ar.Depth], docstring="filter depth")
    ax.J = ng.make_axis(roles=[ar.Channel], docstring="filter channel size")
    ax.K = ng.make_axis(roles=[ar.Channelout], docstring="number of output feature maps")
    ax.M = ng.make_axis(roles=[ar.Depth], docstring="output image depth")
    ax.P = ng.make_axis(roles=[ar.Height], docstring="output image height")
    ax.Q = ng.make_axis(roles=[ar.Width], docstring="output image width")
    ax.REC = ng.make_axis(name="R", roles=[ar.Time], docstring="recurrent axis")
    ax.Y = ng.make_axis(docstring="target")
    assert len(ng.make_axes([ax.R, ax.REC])) == 2, "axes of one shown name"
    found = ng.make_axes(list(vars(ax).values()))
    assert len(found) == 15, "all of them are different axes"
    for role, names in (
        (ar.Height, "H R P"),
        (ar.Width, "W S Q"),
        (ar.Depth, "D T M"),
        (ar.Channel, "C J"),
        (ar.Channelout, "K"),
        (ar.Time, "R"),
    ):
        right = tuple(each.name for each in found.role_axes(role)) == tuple(names.split())
        assert right, f"axes of the role {role.name}"


def test_elementwise() -> None:
    """Section "Elementwise Binary Ops"."""
    C, H, W, N = ng.make_axes({"C": 5, "H": 2, "W": 3, "N": 4})
    for left, right, expected in (
        ([H], [H], [H]),
        ([H, W], [H, W], [H, W]),
        ([H, W], [H], [H, W]),
        ([H, W], [W], [H, W]),
        ([H, W], [W, N], [H, W, N]),
        ([H, W], [N, W], [H, W, N]),
        ([C, H], [W, H, N], [C, H, W, N]),
        ([H, W, N], [N, H], [H, W, N]),
        ([H, W], [N, H, W], [N, H, W]),
        ([H, W], [N, W, H], [N, W, H]),
        ([C, H, W], [N, W, H], [C, H, W, N]),
        ([N, C, H, W], [C, H, W, N], [N, C, H, W]),
        ([H], [W], [H, W]),
        ([W], [H], [W, H]),
        ([C], [H, W], [C, H, W]),
        ([H, W], [C], [H, W, C]),
    ):
        total = ng.placeholder(left) + ng.placeholder(right)
        assert total.axes == ng.make_axes(expected), f"{left} + {right}"

    x = ng.constant(np.ones((2, 3)), [H, W])
    y = ng.constant(np.ones((3, 2)), [W, H])
    trans = ngt.make_transformer(tiles=4)
    for z, shape, printed in (
        (x + y, (2, 3), "[[2. 2. 2.]\n [2. 2. 2.]]"),
        (y + x, (3, 2), "[[2. 2.]\n [2. 2.]\n [2. 2.]]"),  # <== changed order
    ):
        comp = trans.computation([z])
        z_val = comp()[0]
        assert (str(z_val), z_val.shape) == (printed, shape), f"a sum of shape {shape}"

    h, w, n = ng.placeholder([H]), ng.placeholder([W]), ng.placeholder([N])
    for what, one, other in (
        ("associative", (h + w) + n, h + (w + n)),
        ("distributive", h * (w + n), h * w + h * n),
    ):
        assert one.axes == other.axes == ng.make_axes([H, W, N]), f"{what}: axes"
        values = trans.computation(ng.all(ng.equal(one, other), ...), h, w, n)
        assert values(*(np.arange(each) for each in (2, 3, 4))), f"{what}: values"
    # "we need to switch (W, H) to (H, W)", in the document on tensor types.
    difference = ng.placeholder([C, H, W, N]) - ng.placeholder([W, H])
    assert difference.axes == ng.make_axes([C, H, W, N]), "(C, H, W, N) - (W, H)"


def test_products_and_sums() -> None:
    """Sections "Dot Operation" and "Axes Reduction"."""
    M, C, H, W, N = ng.make_axes({"M": 2, "C": 3, "H": 4, "W": 5, "N": 6})
    for left, right, expected in (
        ([H, W], [W, N], [H, N]),
        ([M, C, H, W], [C, H, W, N], [M, N]),
        ([M, W, H, C], [C, H, W, N], [M, N]),
    ):
        product = ng.dot(ng.placeholder(left), ng.placeholder(right))
        assert product.axes == ng.make_axes(expected), f"{left} . {right}"
    x = ng.placeholder([ax.C, ax.H, ax.W])
    for reduced, left in (
        ([], [ax.C, ax.H, ax.W]),
        ([ax.C], [ax.H, ax.W]),
        ([ax.C, ax.W], [ax.H]),
        ([ax.W, ax.C], [ax.H]),
        (x.axes, []),
    ):
        assert ng.sum(x, reduction_axes=reduced).axes == ng.make_axes(left), f"sum over {reduced}"


def test_casts_and_broadcasts() -> None:
    """Sections "Axes Casting", "Axes Broadcasting" and "Axes reordering"."""
    C1, C2, N = ng.make_axis(100, "C1"), ng.make_axis(100, "C2"), ng.make_axis(128, "N")
    hidden_1 = ng.constant(np.ones((100, 128)), [C1, N])
    hidden_2 = ng.constant(np.ones((100, 128)), [C2, N])
    # The document says [C1, C2, N] here; by its third rule N stands before C2.
    sum_direct = hidden_1 + hidden_2
    assert sum_direct.axes == ng.make_axes([C1, N, C2]), "a sum without a cast"
    hidden_2_cast = ng.cast_axes(hidden_2, [C1, N])
    sum_cast = hidden_1 + hidden_2_cast
    assert sum_cast.axes == ng.make_axes([C1, N]), "a sum after a cast"
    x = ng.placeholder([ax.C, ax.H])
    for wide in ([ax.C, ax.H, ax.W], [ax.W, ax.H, ax.C]):
        assert ng.broadcast(x, wide).axes == ng.make_axes(wide), f"broadcast to {wide}"
    x = ng.placeholder([ax.C, ax.H, ax.W])
    ordered = ng.axes_with_order(x, [ax.H, ax.W, ax.C])
    assert ordered.axes == ng.make_axes([ax.H, ax.W, ax.C]), "axes_with_order"


def test_tensors() -> None:
    """Section "Tensors" of the document on tensors: flags, and what can be assigned."""
    H = ng.make_axis(4, "H")
    table = {
        ng.constant(1.0, [H]): (True, True, False, False),
        ng.placeholder([H]): (False, True, False, True),
        ng.persistent_tensor([H]): (False, True, False, False),
        ng.variable([H]): (False, True, True, False),
    }
    for tensor, flags in table.items():
        found = (tensor.constant, tensor.persistent, tensor.trainable, tensor.input)
        assert found == flags, f"flags of a {tensor.kind}"
    x, y = ng.variable([H], name="x"), ng.variable([H], np.arange(4), name="y")
    with ng.steps() as update:
        x[...] = y
    comp = ngt.make_transformer(tiles=2).computation([update, x])
    assert comp()[1].tolist() == [0, 1, 2, 3], "x[...] = y"
    assert ((x + y).read_only, x.read_only) == (True, False), "x + y is read only"
    axes = ng.make_axes({"A": 5, "B": 3, "C": 2})
    for layout, strides in ((ng.row_major, (6, 2, 1)), (ng.column_major, (1, 5, 15))):
        described = ng.TensorDescription(axes, layout=layout(axes))
        assert (described.shape, described.strides) == ((5, 3, 2), strides), f"strides {strides}"


def L2(x: Any, y: Any) -> Any:
    t = x - y
    return ng.dot(t, t)


def test_l2_in_both_forms() -> None:
    """The function L2 in both forms; the loop of the second one is a sum here."""
    H = ng.make_axis(1000, "H")
    x, y = ng.placeholder([H]), ng.placeholder([H])
    values = np.random.rand(2, 1000).astype(np.float32)
    comp = ngt.make_transformer(tiles=4).computation([L2(x, y), ng.sum((x - y) ** 2, [H])], x, y)
    expected = ((values[0] - values[1]).astype(float) ** 2).sum()
    for found in comp(*values):
        assert abs(float(found) - expected) < 1e-4 * expected, "L2"


# -- tables for products and reductions, errors, what is stored ------------------------------------


LENGTHS = {"H": 2, "W": 3, "N": 4, "C": 5, "M": 6}
AXES = {name: ng.make_axis(length, name) for name, length in LENGTHS.items()}
H, W, N, C, M = AXES.values()


def axes(names: str) -> ng.Axes:
    return ng.make_axes([AXES[name] for name in names])


def tensor(names: str) -> ng.Op:
    return ng.placeholder(axes(names), name=names.lower() or "scalar")


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        # Seed 002: "2d dot"
        ("HW", "WN", "HN"),
        # "4d dot": "the axes that match are contracted", in any order
        ("MCHW", "CHWN", "MN"),
        ("MWHC", "CHWN", "MN"),
        ("NWC", "HWC", "NH"),
        ("HWC", "NWC", "HN"),
        # Nothing shared: an outer product. All shared: rank 0. A rank-0 operand scales.
        ("HW", "N", "HWN"),
        ("HW", "WH", ""),
        ("", "HW", "HW"),
        ("HW", "", "HW"),
    ],
)
def test_the_axes_of_a_dot(left: str, right: str, result: str) -> None:
    assert ng.dot(tensor(left), tensor(right)).axes == axes(result)


REDUCTIONS = [
    *(ng.sum, ng.prod, ng.max, ng.min, ng.mean, ng.variance),
    *(ng.squared_L2, ng.L1_norm, ng.L2_norm),
]


@pytest.mark.parametrize(
    ("options", "result"),
    [
        # Seed 002: "When reduction_axes is empty, reduction is performed on NONE of the axes."
        ({"reduction_axes": []}, "CHW"),
        # "ng.sum(x, reduction_axes=[ax.C]) -> [ax.H, ax.W]"; one bare axis is accepted
        ({"reduction_axes": [C]}, "HW"),
        ({"reduction_axes": H}, "CW"),
        # "Reduction operations can have arbitrary number of reduction axes."
        ({"reduction_axes": [C, W]}, "H"),
        # "The order of the reduction axes can be arbitrary."
        ({"reduction_axes": [W, C]}, "H"),
        # "ng.sum(x, reduction_axes=x.axes) -> []"
        ({"reduction_axes": axes("CHW")}, ""),
        ({"reduction_axes": ...}, ""),
        # With out_axes, the result follows their order; no axes are the full reduction.
        ({"out_axes": [W, C]}, "WC"),
        ({"out_axes": [W, ...]}, "WCH"),
        ({"out_axes": []}, ""),
        ({"reduction_axes": [H], "out_axes": [W, C]}, "WC"),
    ],
)
def test_the_axes_of_a_reduction(options: dict[str, Any], result: str) -> None:
    for reduce in REDUCTIONS:
        assert reduce(tensor("CHW"), **options).axes == axes(result)
    for reduce in (ng.any, ng.all):
        assert reduce(tensor("CHW") > 0, **options).axes == axes(result)


@pytest.mark.parametrize(
    ("options", "kind", "what"),
    [
        # Nothing is reduced by default: upstream spared axes of some names.
        ({}, AxisError, "reduction_axes or out_axes is required"),
        ({"reduction_axes": [H], "out_axes": [W]}, AxisError, "do not list every axis once"),
        ({"reduction_axes": [H], "out_axes": [H, C, W]}, AxisError, "do not list every axis once"),
        ({"reduction_axes": [N]}, MissingAxisError, "no axis 'N'"),
        ({"out_axes": [N]}, MissingAxisError, "no axis 'N'"),
        ({"reduction_axes": [H, H]}, DuplicateAxisError, "axis 'H' occurs twice"),
    ],
)
def test_what_reductions_refuse(options: dict[str, Any], kind: type[AxisError], what: str) -> None:
    for reduce in (*REDUCTIONS, ng.argmax, ng.argmin):
        with pytest.raises(kind, match=what) as caught:
            reduce(tensor("CHW"), **options)
        assert kind is DuplicateAxisError or caught.value.what.startswith(f"{reduce.__name__}: ")


def test_no_elements_have_no_extreme_and_no_mean() -> None:
    """Of no elements the sum is 0 and the product 1; for others there is nothing to return."""
    none = tensor("CHW")[H, 1:1]
    for reduce in (ng.max, ng.min, ng.mean, ng.variance, ng.argmax, ng.argmin, ng.softmax):
        with pytest.raises(pl.TensorCreationError) as caught:
            reduce(none, [H])
        assert caught.value.what == f"{reduce.__name__}: axis 'H' has length 0"
        assert caught.value.found.startswith("(C:5, H[1:1]:0, W:3), slice made at ")
        assert "an axis 'H' of length 1 or more" in caught.value.fix
        assert reduce(none, [W]).axes.find("H").length == 0


def late() -> ng.Op:
    return ng.sum(ng.placeholder([ng.make_axis(name="late")], name="x"), ...)


def outer() -> None:
    with ng.strict():
        _ = tensor("H") + tensor("W")


def copied() -> None:
    described = ng.TensorDescription(axes("HW"), layout=ng.column_major(axes("HW")), name="x")
    described.flatten()


REFUSED: list[tuple[type[AxisError], Callable[[], Any], str, str, str]] = [
    (
        AxisError,
        lambda: ng.sum(tensor("CHW"), [H], [W]),
        r"sum: reduction_axes \(H:2\) and out_axes \(W:3\) do not list every axis once",
        r"'chw' \(C:5, H:2, W:3\), placeholder made at .*test_documents",
        "pass only one of the two lists",
    ),
    (
        DuplicateAxisError,
        lambda: ng.sum(tensor("CHW"), [H, H]),
        "axis 'H' occurs twice",
        r"\(H:2, H:2\)",
        r"H\.fresh\(\)",
    ),
    (
        DuplicateAxisError,
        lambda: ng.make_axes([H, ng.make_axis(2, "H")]),
        "two different axes are named 'H'",
        "one was made at .*test_documents.*, the other at .*test_documents",
        "use one axis object for both, or another name",
    ),
    (
        AxisLengthError,
        lambda: tensor("CHW") + ng.placeholder([W.resized(4)], name="y"),
        "add: axis 'W' has length 3 in the left operand and 4 in the right",
        r"(?s)left  'chw' .* made at .*test_documents"
        r".*right 'y' \(W:4\), placeholder made at .*test_documents",
        r"take x\[W, 0:3\] of the longer one, or use W\.fresh\(\)",
    ),
    (
        MissingAxisError,
        lambda: ng.sum(tensor("CHW"), [N]),
        r"sum: no axis 'N' among \(C:5, H:2, W:3\)",
        "'N' was made at .*test_documents",
        r"the axes are \(C:5, H:2, W:3\)",
    ),
    (
        UnsetLengthError,
        lambda: ng.make_transformer(tiles=1).computation(late(), "all").engine,
        "storing 'x': the length of axis 'late' has not been set",
        "'late' was made at .*test_documents",
        "late.length = 16",
    ),
    (
        ReadOnlyError,
        lambda: ng.assign(tensor("HW") + 1, 2),
        "assign: 'add' is computed, and has no storage",
        r"\(H:2, W:3\), add made at .*test_documents",
        r"ng\.variable\(\[H, W\]\)",
    ),
    (
        NeedsCopyError,
        copied,
        r"axis '\(H,W\)' has no stride: 'H' has stride 1, and 6 = 3 x 2 is needed over 'W'",
        r"'x' \(H:2, W:3\), description made at .*test_documents",
        'copy="view"',
    ),
    (
        ImplicitOuterProductError,
        outer,
        "add: only 'h' has axis 'H', and only 'w' 'W'",
        r"(?s)left  'h' \(H:2\), placeholder made .*test_documents"
        r".*right 'w' \(W:3\), .*test_documents",
        r"ng\.broadcast\(h, \[H, W\]\)",
    ),
]


@pytest.mark.parametrize(
    ("kind", "wrong", "what", "found", "fix"), REFUSED, ids=[each[0].__name__ for each in REFUSED]
)
def test_errors_have_four_parts(
    kind: type[AxisError], wrong: Callable[[], Any], what: str, found: str, fix: str
) -> None:
    """Defect 21: messages were empty."""
    with pytest.raises(kind) as caught:
        wrong()
    error = caught.value
    assert type(error) is kind
    assert error.at is not None
    assert error.at.file.endswith("test_documents.py")
    for text, pattern in ((error.what, what), (error.found, found), (error.fix, fix)):
        assert re.search(pattern, text), text


def described() -> ng.TensorDescription:
    return ng.TensorDescription(axes("HW"), layout=ng.row_major(axes("HW")), name="x")


def computation() -> ng.Computation:
    x = tensor("HW")
    return ng.make_transformer(tiles=1).computation(x, x)


WRONG: list[tuple[Callable[[Any], Any], str]] = [
    (ng.FlattenedAxis, "not an axis|no axes"),
    (ng.AxesMap, "AxesMap: mapping is"),
    (lambda wrong: ng.map_roles(tensor("HW"), wrong), "map_roles: .* is not an AxesMap"),
    (lambda wrong: ng.AxesMap({H: "G"}).map_axis(wrong), "map_axis: axis is"),
    (lambda wrong: axes("HW")[wrong], "the index of an axis is"),
    (lambda wrong: axes("HW").find(wrong), r"no axis of \(H:2, W:3\) is named"),
    (
        lambda wrong: axes("HW").set_shape(wrong),
        "set_shape: lengths is|set_shape: [12] length|the length of axis",
    ),
    (lambda wrong: axes("HW").add_role(wrong), "is not an axis role"),
    (lambda wrong: H.has_role(wrong), "is not an axis role"),
    (lambda wrong: ng.expand_dims(tensor("H"), wrong), "not an axis|no axes"),
    (lambda wrong: ng.tensor_slice(tensor("H"), wrong), "tensor_slice: "),
    (lambda wrong: ng.slice_along_axis(tensor("H"), wrong, 0), "not an axis|no axes"),
    (lambda wrong: ng.placeholder([H], name=wrong), "the name of a placeholder must be text"),
    (lambda wrong: ng.make_transformer(tiles=1, map=wrong), "make_transformer: map is"),
    (lambda wrong: ng.make_transformer(wrong), "make_transformer: .* is not a target"),
    (lambda wrong: ng.make_transformer(tiles=1, fuse=wrong), "make_transformer: fuse is"),
    (lambda wrong: computation()(feed_dict=wrong), "feed_dict is"),
    (lambda wrong: computation().tensor(wrong), "tensor: .* (is not a named tensor|has no axes)"),
    (
        lambda wrong: computation().description(wrong),
        "description: .* (is not a named tensor|has no axes)",
    ),
    (lambda wrong: described().at(wrong), "at: "),
    (lambda wrong: described().slice(wrong), "slice: parts is"),
    (lambda wrong: described().flatten(copy=wrong), "flatten: copy is"),
    (lambda wrong: described().concat(wrong, H), "concat: others is"),
    (lambda wrong: described().pad(wrong), "pad: widths is"),
    (lambda wrong: described().pad({H: wrong}), "pad: the widths of 'H' is|widths? for axis 'H'"),
    (lambda wrong: described().with_layout(wrong), "with_layout: layout is"),
    (lambda wrong: described().allocated(wrong), "allocated: graph is"),
    (lambda wrong: described().view(wrong), "view: storage is"),
]


@pytest.mark.parametrize(
    "wrong", [object(), np.zeros((2, 3)), b"a"], ids=["object", "array", "bytes"]
)
def test_arguments_of_another_kind_are_refused_in_words(wrong: object) -> None:
    for call, text in WRONG:
        with pytest.raises((AxisError, pl.ElementTypeError, pl.InvalidOption), match=text):
            call(wrong)


def test_all_kinds_of_errors_are_in_the_table() -> None:
    kinds = {each for each in vars(pl.errors).values() if isinstance(each, type)}
    assert {each for each in kinds if issubclass(each, AxisError)} == {kind for kind, *_ in REFUSED}


# -- what is stored --------------------------------------------------------------------------------


@pytest.mark.priced
@pytest.mark.parametrize("name", ["sum", "dot"])
def test_a_difference_that_is_summed_is_nowhere_stored(name: str) -> None:
    """Seed 003: "we can compute it without storing the tensor". Trap 6: nothing is gathered."""
    beside = []
    for length in (1_000_000, 1_030_400, 10_000_000):
        axis = ng.make_axis(length, "X")
        x, y = ng.placeholder([axis], name="x"), ng.placeholder([axis], name="y")
        total = ng.sum((x - y) ** 2, ...) if name == "sum" else ng.dot(x - y, x - y)
        work = ng.make_transformer(tiles=1472).computation(total, x, y)
        assert work(np.full(length, 3, np.float32), np.ones(length, np.float32)) == 4 * length
        report = work.report()
        own = int(report.compilation.memory.categories()["variable"].array().sum()) - 8 * length
        beside.append(own)
        assert report.bytes_gathered == report.bytes_copied == 0
    assert beside[-1] <= 0.002 * 8 * 10_000_000
    assert beside[1] == beside[2]
    # Of 10^6 elements, 680 on a tile, 400 are left for tile 1470 and 0 for 1471: of that one, six
    # partial sums of workers are missing, and one of the tile.
    assert beside[0] == beside[2] - 4 * (6 + 1)


def test_scalars_take_few_compute_sets() -> None:
    """Trap 8: updates of rank 0 run beside others."""
    rows, columns = ng.make_axis(569, "N"), ng.make_axis(30, "F")
    x, y = ng.placeholder([rows, columns], name="x"), ng.placeholder([rows], name="y")
    w, b = ng.variable([columns], 0, name="w"), ng.variable([], 0, name="b")
    loss = ng.mean(ng.cross_entropy_binary(ng.sigmoid(ng.dot(x, w) + b), y), [rows])
    pairs = zip([w, b], ng.deriv(loss, [w, b]), strict=True)
    update = ng.parallel([ng.assign(v, v - 0.5 * g) for v, g in pairs])
    device = ng.make_transformer(tiles=64, map={rows: "tiles"})
    work = device.computation([loss, update], x, y)
    _ = work.engine
    sets = device.graph.compute_sets
    assert len(sets) <= 7
    assert sum(len(each.vertices) == 1 for each in sets) <= 2


# -- the package -----------------------------------------------------------------------------------


def test_no_vertex_is_defined_in_named() -> None:
    for found in pkgutil.walk_packages(ng.__path__, "poplite.named."):
        module = importlib.import_module(found.name)
        own = [
            each for each in vars(module).values() if getattr(each, "__module__", "") == found.name
        ]
        assert not [each for each in own if isinstance(each, type) and issubclass(each, pl.Vertex)]


def test_nobody_is_told_to_import_all_names() -> None:
    """Trap 24: `sum`, `max` and others would hide those of Python."""
    root = Path(pl.__file__).resolve().parents[1]
    pages = [root / "README.md", *(root / "docs").glob("*.md"), *(root / "examples").glob("*.py")]
    assert len(pages) > 20
    assert not [each for each in pages if "poplite.named import *" in each.read_text()]
