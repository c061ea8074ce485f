"""The code of nGraph's documents on axes and tensors, in their spelling, run on tiles.

What the documents print is compared. Where they are prose, or contradict themselves, the comment
says what holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poplite.named as ng
import poplite.named as ngt
from poplite.errors import DuplicateAxisError
from poplite.named import Namespace, ax


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
