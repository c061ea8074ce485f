"""Axes: identity, lengths, parts, roles, flattened ones, and others in their place."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import poplite as pl
import poplite.named as ng
from helpers.named_oracle import evaluate
from poplite.errors import (
    AxisError,
    AxisLengthError,
    DuplicateAxisError,
    MissingAxisError,
    UnsetLengthError,
)
from poplite.named import ar, ax
from poplite.named.axes import check_lengths, chosen, joint_order
from poplite.named.changed_axes import by_roles

# -- axes ------------------------------------------------------------------------------------------


def test_an_axis_is_its_root_not_its_name_or_length() -> None:
    """Seed 002: "The op-graph uses the identity of Axis objects to pair and specify dimensions"."""
    H, other = ng.make_axis(3, "H"), ng.make_axis(3, "H")
    assert H == H.resized(7) == H.slice(slice(1, 2))
    assert len({H, H.resized(7), H.slice(slice(2)), other}) == 2
    assert other != H
    assert H.fresh() != H
    assert H != "H"


def test_the_hash_stays_when_the_length_comes() -> None:
    """Defect 5: it was made of the name and the length."""
    H = ng.make_axis(name="H")
    known = {H: 1}
    H.length = 5
    assert known[H] == 1


def test_axes_without_names_never_clash() -> None:
    one, other = ng.make_axis(3), ng.make_axis(3)
    assert one.name != other.name
    assert len(ng.make_axes([one, other, one.fresh(), other.fresh()])) == 4


def test_lengths_may_come_later_and_parts_follow() -> None:
    """Seed 002: "We can also delay the specification of the axis length"."""
    H = ng.make_axis(name="H")
    part, twin, again = H.slice(slice(1, None, 2)), H.fresh("G"), H.slice(slice(-2, None))
    assert (H.length, part.length, twin.length, repr(H)) == (None, None, None, "H:?")
    H.length = 6
    assert (H.length, part.length, twin.length, again.length) == (6, 3, 6, 2)
    H.length = 3
    assert (part.length, part.slice(slice(None, None, -1)).length) == (1, 1)
    assert repr(part) == "H[1::2]:1"


@pytest.mark.parametrize("part", [slice(9, 12), slice(3, 1), slice(0, 0)])
def test_parts_have_pythons_length(part: slice) -> None:
    assert ng.make_axis(4).slice(part).length == len(range(4)[part]) == 0


@pytest.mark.parametrize("length", [-1, 2.5, "3", True, [3]])
def test_lengths_are_whole_numbers(length: Any) -> None:
    with pytest.raises(AxisLengthError, match="the length of axis 'H' is ") as caught:
        ng.make_axis(length, "H")
    assert caught.value.fix == "pass a non-negative whole number"
    with pytest.raises(AxisLengthError):
        ng.make_axis(3).length = length
    with pytest.raises(AxisLengthError):
        ng.make_axis(3).resized(length)
    with pytest.raises(AxisLengthError):
        ng.make_axis(3).length = None  # type: ignore[assignment]


def test_the_length_of_a_part_is_not_set() -> None:
    H = ng.make_axis(5, "H")
    with pytest.raises(AxisLengthError, match=re.escape("length of 'H[1:3]' follows that of 'H'")):
        H.slice(slice(1, 3)).length = 4
    with pytest.raises(AxisLengthError, match="length of 'G' follows that of 'H'"):
        H.fresh("G").length = 4


def test_a_length_that_is_stored_stays() -> None:
    H = ng.make_axis(5, "H")
    H.slice(slice(1, 3)).keep_length("'x' (H:5)")
    H.length = 5
    with pytest.raises(AxisLengthError) as caught:
        H.length = 6
    assert caught.value.what == (
        "axis 'H' has length 5, and 'x' (H:5) relies on it; it cannot become 6"
    )
    assert "test_axes.py" in caught.value.found
    assert caught.value.fix == "use H.resized(6), or another axis"


def test_an_unknown_length_names_the_axis_and_who_needs_it() -> None:
    H = ng.make_axis(name="H")
    with pytest.raises(UnsetLengthError, match="storing 'x': the length of axis 'H' has not") as e:
        H.slice(slice(2)).known_length("storing 'x'")
    assert e.value.fix == "H.length = 16"
    H.length = 1
    assert H.slice(slice(2)).known_length("storing 'x'") == 1


def test_an_axis_is_true_and_no_sequence() -> None:
    """Defect 7: an axis of length 0 was false, one without a length raised."""
    H = ng.make_axis(0, "H")
    assert H
    uses: list[Callable[[Any], object]] = [len, list, lambda axis: axis[0]]
    for use in uses:
        with pytest.raises(AxisError, match="'H': "):
            use(H)


@pytest.mark.parametrize("part", [3, "ab", slice(0.5, 1), slice(0, 3, 0)])
def test_parts_are_slices_of_whole_numbers(part: Any) -> None:
    with pytest.raises(AxisError, match="axis 'H'"):
        ng.make_axis(3, "H").slice(part)


def test_names_are_texts() -> None:
    with pytest.raises(AxisError, match="the name of an axis must be text; found 3") as caught:
        ng.make_axis(3, 3)  # type: ignore[arg-type]
    assert caught.value.fix.endswith('make_axis(3, "H")')


def test_flattened_axes_are_their_parts_in_order() -> None:
    """Defect 6: only as many parts as the shorter one has were compared."""
    H, W, N = (ng.make_axis(length, name) for length, name in ((3, "H"), (4, "W"), (8, "N")))
    one = ng.FlattenedAxis(H + W)
    assert one == ng.FlattenedAxis(H + W.resized(9))
    assert one != ng.FlattenedAxis(W + H)
    assert one != ng.FlattenedAxis(H + W + N)
    assert ng.FlattenedAxis(ng.make_axes(H)) != ng.FlattenedAxis(ng.make_axes())
    assert (one.length, ng.FlattenedAxis(ng.make_axes()).length) == (12, 1)
    assert repr(ng.make_axes([[H, W], N])) == "((H,W):12, N:8)"
    assert ng.make_axes([[H, W], N]).full_lengths == ((3, 4), 8)
    with pytest.raises(AxisLengthError, match="follows from those of its parts"):
        one.length = 5


def test_a_flattened_length_follows_its_parts() -> None:
    H, W = ng.make_axis(name="H"), ng.make_axis(4, "W")
    one = (H + W).flatten()
    assert repr(one) == "(H,W):?"
    H.length = 2
    assert one.length == 8
    one.keep_length("'x'")
    with pytest.raises(AxisLengthError):
        W.length = 5


def test_flatten_returns_a_single_axis_unless_forced() -> None:
    H = ng.make_axis(3, "H")
    assert ng.make_axes(H).flatten() is H
    assert isinstance(ng.make_axes(H).flatten(force=True), ng.FlattenedAxis)
    assert ng.make_axes().flatten().length == 1


# -- axes ------------------------------------------------------------------------------------------
#
# Axes: the tables of seed 002, what is refused, and how messages read.


AXES = {name: ng.make_axis(length, name) for length, name in enumerate("ABCEHMNPW", 2)}


def axes(names: str) -> ng.Axes:
    return ng.make_axes([AXES[name] for name in names])


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        # "When matches, output the same axis."
        ("H", "H", "H"),
        ("HW", "HW", "HW"),
        # "Automatic broadcasting / dim shuffle"
        ("HW", "H", "HW"),
        ("HW", "W", "HW"),
        ("HW", "WN", "HWN"),
        ("HW", "NW", "HWN"),
        ("CH", "WHN", "CHWN"),
        # "If one operand's axes are a superset of the other's, use that operand's axis order"
        ("HWN", "NH", "HWN"),
        ("HW", "NHW", "NHW"),
        ("HW", "NWH", "NWH"),
        ("H", "CHW", "CHW"),
        # "Otherwise order is determined by concatenating"
        ("CHW", "NWH", "CHWN"),
        # "If the set of axes for both operands match exactly ... use the order of the left"
        ("NCHW", "CHWN", "NCHW"),
        ("HW", "WH", "HW"),
        ("WH", "HW", "WH"),
        # "Commutative property is as usual, though axis order ... can be different."
        ("H", "W", "HW"),
        ("W", "H", "WH"),
        ("C", "HW", "CHW"),
        ("HW", "C", "HWC"),
        # seed 003: "(C, H, W, N)" and "(W, H)"
        ("CHWN", "WH", "CHWN"),
        ("", "HW", "HW"),
        ("", "", ""),
    ],
)
def test_the_order_of_two_operands(left: str, right: str, result: str) -> None:
    """Defect 1: of equal sets the right operand's order was taken."""
    assert joint_order(axes(left), axes(right)) == axes(result)


@pytest.mark.parametrize(
    ("one", "other", "result"),
    [
        # "Associative property is as usual."
        (lambda H, W, N: (H + W) + N, lambda H, W, N: H + (W + N), "HWN"),
        # "Distributive property is as usual."
        (lambda H, W, N: H * (W + N), lambda H, W, N: H * W + H * N, "HWN"),
    ],
)
def test_laws_of_sums_and_products(one: Any, other: Any, result: str) -> None:
    operands = [ng.placeholder(AXES[name]) for name in "HWN"]
    assert one(*operands).axes == other(*operands).axes == axes(result)


def test_sets_are_associative_and_orders_are_not() -> None:
    H, W, WH = axes("H"), axes("W"), axes("WH")
    one, other = joint_order(joint_order(H, W), WH), joint_order(H, joint_order(W, WH))
    assert one.is_equal_set(other)
    assert (one, other) == (axes("HW"), axes("WH"))


@pytest.mark.parametrize(
    ("sign", "left", "right", "result"),
    [
        # "__sub__: set operation, returns the ordered set difference of axes"
        ("-", "AB", "B", "A"),
        ("-", "ABC", "", "ABC"),
        # "__or__: set operation, returns ordered set union of axes"
        ("|", "AB", "BE", "ABE"),
        ("|", "AB", "BA", "AB"),
        # "__and__: set operation, returns ordered set intersection of axes"
        ("&", "BA", "AC", "A"),
        ("&", "ABC", "CB", "BC"),
        # "__add__: list operation, concatenated axes"
        ("+", "A", "BC", "ABC"),
    ],
)
@pytest.mark.parametrize("form", [lambda a: a, list, tuple], ids=["Axes", "list", "tuple"])
def test_algebra(sign: str, left: str, right: str, result: str, form: Any) -> None:
    a, b = axes(left), axes(right)
    for one, other in ((a, form(b)), (form(a), b)):
        found = {
            "-": lambda x, y: x - y,
            "|": lambda x, y: x | y,
            "&": lambda x, y: x & y,
            "+": lambda x, y: x + y,
        }[sign](one, other)
        assert found == axes(result)


def test_single_axes_make_axes() -> None:
    H, W = AXES["H"], AXES["W"]
    assert (axes("HW"), axes("H"), axes(""), axes("H")) == (H + W, H | H, H & W, H - W)
    assert axes("HW") - H == axes("W")


def test_lists_and_sets_of_axes() -> None:
    """Defect 14: subset and superset were documented the wrong way round."""
    a = axes("HWN")
    assert (a[0], a[-1], a[1:], len(a)) == (AXES["H"], AXES["N"], axes("WN"), 3)
    assert (a.index(AXES["W"]), AXES["W"] in a, AXES["C"] in a, "H" in a) == (1, True, False, False)
    assert (a.names, a.lengths, a.size) == (("H", "W", "N"), (6, 10, 8), 480)
    assert a == axes("HWN") != axes("HNW")
    assert (a == (1, 2), a.is_equal_set(axes("NWH")), a.is_not_equal_set(axes("NWH"))) == (
        *(False, True),
        False,
    )
    assert axes("H").is_sub_set(a)
    assert not a.is_sub_set(axes("H"))
    assert a.is_super_set(axes("NH"))
    assert axes("").is_sub_set(axes(""))
    assert not axes("")
    assert ng.make_axes().size == 1
    assert ng.make_axes(each for each in a) == a == ng.make_axes(a)
    assert repr(ng.make_axes([(AXES["H"],), ()])) == "((H):6, ():1)"


def test_parts_pair_with_the_axis_and_keep_their_length() -> None:
    part = ng.make_axes(AXES["H"].slice(slice(1, 3)))
    assert part == axes("H")
    assert (part.lengths, (part | axes("HW")).lengths) == ((2,), (2, 10))


def test_axes_of_a_dictionary_have_its_names_and_lengths() -> None:
    made = ng.make_axes({"H": 3, "W": None})
    assert repr(made) == "(H:3, W:?)"
    made.set_shape([4, 5])
    assert (made.lengths, made.size, made.find("W")) == ((4, 5), 20, made[1])
    with pytest.raises(AxisLengthError, match="1 length for 2 axes"):
        made.set_shape([4])


def test_an_axis_twice_is_refused() -> None:
    """Seed 002: "An axis can occur at most once in the axes of a tensor"."""
    H = ng.make_axis(2, "H")
    for items in ([H, H], [H, H.resized(3)], [H, AXES["W"], H.slice(slice(1))]):
        with pytest.raises(DuplicateAxisError, match="^axis 'H' occurs twice") as caught:
            ng.make_axes(items)
        assert caught.value.found.startswith("(H:2, ")
        assert caught.value.fix == "use H.fresh(), which does not pair with any other axis"
    with pytest.raises(DuplicateAxisError):
        H + (AXES["W"] + H)


def test_two_axes_of_one_name_are_refused_by_both_lines() -> None:
    one, other = ng.make_axis(2, "H"), ng.make_axis(3, "H")
    with pytest.raises(DuplicateAxisError, match="^two different axes are named 'H'") as caught:
        one + other
    assert caught.value.found.count("test_axes.py") == 2


@pytest.mark.parametrize("items", ["HW", {AXES["H"]}, 3, [3], [AXES["H"], None], [...]])
def test_what_is_no_axis_is_refused(items: Any) -> None:
    """Defect 17: a text was taken apart without end."""
    with pytest.raises(AxisError) as caught:
        ng.make_axes(items)
    assert caught.value.fix


def test_names_are_found_or_the_nearest_is_named() -> None:
    made = ng.make_axes({"height": 3, "width": 4})
    with pytest.raises(MissingAxisError, match="'heigt'.*did you mean 'height'") as caught:
        made.find("heigt")
    assert caught.value.found == "the names are height, width"
    assert isinstance(caught.value, LookupError)
    with pytest.raises(MissingAxisError, match="there is no axis"):
        ng.make_axes().find("x")


def test_dots_stand_for_all_others() -> None:
    a = axes("CHWN")
    assert chosen([AXES["N"], ...], a, "order") == axes("NCHW")
    assert chosen([AXES["N"], ..., AXES["C"]], a, "order") == axes("NHWC")
    assert chosen(..., a, "sum") == a
    assert chosen([*axes("WH")], a, "sum") == axes("WH")
    assert chosen(None, a, "sum") == axes("")
    with pytest.raises(DuplicateAxisError, match="sum: '...' occurs twice"):
        chosen([..., ...], a, "sum")
    with pytest.raises(MissingAxisError, match=r"sum: no axis 'P' among \(C:4, H:6") as caught:
        chosen([AXES["P"]], a, "sum")
    assert "test_axes.py" in caught.value.found
    assert caught.value.fix.startswith("the axes are (C:4, ")
    with pytest.raises(AxisError, match="^sum: 3 is not an axis"):
        chosen([3], a, "sum")


def test_another_axis_of_the_name_is_told_apart() -> None:
    twin = ng.make_axis(6, "H")
    with pytest.raises(MissingAxisError, match="'H' is not the same axis as 'H' of ") as caught:
        chosen([twin], axes("HW"), "sum")
    assert caught.value.found.count("test_axes.py") == 2
    with pytest.raises(MissingAxisError, match="^axes: 'H' is not the same axis"):
        axes("HW").index(twin)


def test_lengths_are_compared_where_axes_meet() -> None:
    """Defect 4: they were not."""
    H = ng.make_axis(4, "H")
    part = H.slice(slice(0, 3))
    check_lengths("add", ng.make_axes(H), axes("W"))
    with pytest.raises(AxisLengthError) as caught:
        check_lengths("add", ng.make_axes([AXES["N"], part]), ng.make_axes(H))
    assert str(caught.value).startswith(
        "add: axis 'H' has length 3 in the left operand and 4 in the right"
    )
    assert caught.value.found == ("left  (N:8, H[0:3]:3); its H is H[0:3] of H:4\nright (H:4)")
    assert caught.value.fix == (
        "take x[H, 0:3] of the longer one, or use H.fresh() if they are different axes"
    )


def test_unknown_lengths_are_compared_once_they_are_known() -> None:
    H = ng.make_axis(name="H")
    left, right = ng.make_axes(H), ng.make_axes(H.resized(3))
    check_lengths("add", left, right)
    H.length = 4
    with pytest.raises(AxisLengthError, match="has length 4 in the left operand and 3"):
        check_lengths("add", left, right)


# -- roles -----------------------------------------------------------------------------------------


def test_roles_without_names_are_different_ones() -> None:
    """Defect 19: names were compared, and None equalled None."""
    assert ng.make_axis_role() != ng.make_axis_role()
    assert ng.make_axis_role("R") != ng.make_axis_role("R")


def test_a_namespace_names_what_has_no_name() -> None:
    space = ng.Namespace()
    space.Height = ng.make_axis_role()
    space.H = ng.make_axis(3, roles=[space.Height])
    space.G = ng.make_axis(3, "mine")
    assert (repr(space.H), repr(space.G), repr(space.Height)) == (
        *("H:3", "mine:3"),
        "<AxisRole Height>",
    )
    with pytest.raises(
        AttributeError, match="no axis or role is named 'K'; the names are Height, H, G"
    ):
        _ = space.K


def test_the_standard_axes_are_those_of_the_seed() -> None:
    names = ["N", "C", "D", "H", "W", "R", "S", "T", "J", "K", "M", "P", "Q", "REC", "Y"]
    assert [getattr(ax, each).name for each in names] == [*names[:13], "R", "Y"]
    assert ax.H.roles == ax.R.roles == ax.P.roles == (ar.Height,)
    assert ax.REC.has_role(ar.Time)
    assert (ax.N.roles, ax.N.length, ax.N.docstring) == ((), None, "minibatch size")
    assert ax.R != ax.REC
    assert len(ng.make_axes([getattr(ax, each) for each in names])) == 15


def test_axes_of_a_role() -> None:
    axes = ng.make_axes([ax.C, ax.H, ax.W])
    assert axes.role_axes(ar.Width) == ng.make_axes(ax.W)
    assert axes.role_axes(ar.Time) == ng.make_axes()
    role = ng.make_axis_role("spatial")
    H, W = ng.make_axis(3, "H"), ng.make_axis(4, "W")
    assert (H + W).add_role(role).role_axes(role) == H + W
    assert H.slice(slice(2)).roles == H.fresh().roles == (role,)
    assert H.add_role(role) is H


def test_roles_are_roles() -> None:
    with pytest.raises(AxisError, match="'Height' is not an axis role"):
        ng.make_axis(3, roles=["Height"])  # type: ignore[list-item]
    with pytest.raises(AxisError, match="cannot have roles, but its parts can"):
        ng.FlattenedAxis(ax.H + ax.W).add_role(ar.Depth)


def test_axes_in_the_order_of_roles() -> None:
    axes = ng.make_axes([ax.W, ax.H])
    found = by_roles(axes, [ar.Channel, ar.Height, ar.Width])
    assert found[1:] == ng.make_axes([ax.H, ax.W])
    assert (found[0].length, found[0].roles) == (1, (ar.Channel,))
    with pytest.raises(DuplicateAxisError, match="'H' and 'P' both have the role"):
        by_roles(ng.make_axes([ax.H, ax.P]), [ar.Height])
    with pytest.raises(MissingAxisError, match="axis 'W' has none of the listed roles") as caught:
        by_roles(axes, [ar.Height])
    assert "<AxisRole Width>" in caught.value.found


def test_maps_of_axes() -> None:
    H, W, G = ng.make_axis(3, "H"), ng.make_axis(4, "W"), ng.make_axis(3, "G")
    assert ng.AxesMap({H: G}).map_axes(H + W) == G + W
    renamed = ng.AxesMap({"H": "rows"})
    once, again = renamed.map_axes(H + W), renamed.map_axes(W + H)
    assert repr(once) == "(rows:3, W:4)"
    assert once.is_equal_set(again)
    assert repr(renamed) == "AxesMap({'H': 'rows'})"
    with pytest.raises(DuplicateAxisError, match="'H' and 'W' would both become 'G'"):
        ng.AxesMap({H: G, W: G})
    with pytest.raises(DuplicateAxisError, match="axis 'W' occurs twice"):
        ng.AxesMap({H: W}).map_axes(H + W)
    bad: Any = {H: 3}
    with pytest.raises(AxisError, match="AxesMap: 3 is neither an axis nor a name"):
        ng.AxesMap(bad)


def test_poplite_alone_loads_no_named_axes() -> None:
    """Nor do named axes load Numba."""
    script = (
        "import sys, poplite as pl\n"
        "pl.Graph()\n"
        "assert 'poplite.named' not in sys.modules\n"
        "import poplite.named\n"
        "assert 'numba' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


# -- flattened axes that slices were taken of ------------------------------------------------------


H, W, N = ng.make_axes({"H": 3, "W": 4, "N": 2})
x = ng.placeholder([N, H, W], name="x")
VOLUME = np.arange(24.0).reshape(2, 3, 4)

WHOLE: dict[str, Callable[[ng.Op, ng.Axis], ng.Op]] = {
    "by steps of 1": lambda f, F: f[F, ::1],
    "from 0": lambda f, F: f[F, 0:],
    "up to the length": lambda f, F: f[F, :12],
    "from the end": lambda f, F: f[F, -12:],
    "of a slice": lambda f, F: f[F, 0:][F, :99],
    "backwards twice": lambda f, F: f[F, ::-1][F, ::-1],
    "beside another slice": lambda f, F: f[N, ::-1][F, :12][N, ::-1],
    "of something computed": lambda f, F: (f * 2)[F, :12] / 2,
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_slices_have_the_parts_of_what_they_are_taken_of(name: str) -> None:
    f = ng.flatten(x, [H, W])
    made = ng.unflatten(WHOLE[name](f, f.axes[1]))
    assert made.axes == ng.make_axes([N, H, W])
    gradient = ng.deriv(ng.sum(made * made, ...), x)
    work = ng.make_transformer(tiles=2).computation([made, gradient], x)
    values, slope = work(VOLUME)
    assert np.array_equal(values, VOLUME)
    assert np.array_equal(slope, 2 * VOLUME)


def test_parts_of_flattened_axes_say_how_to_take_them() -> None:
    f = ng.flatten(x, [H, W])
    for part in (f[f.axes[1], ::-1], f[f.axes[1], 1:]):
        with pytest.raises(pl.AxisError, match="no axis is flattened") as caught:
            ng.unflatten(part)
        begin = "call ng.unflatten before slicing H, W: '(H,W)["
        assert caught.value.fix.startswith(begin)
        assert caught.value.fix.endswith("]' is a part of '(H,W)'")


def test_a_description_is_unflattened_likewise() -> None:
    described = ng.TensorDescription([H, W], layout=ng.row_major([H, W]), name="d").flatten()
    made = described.slice({described.axes[0]: slice(0, 12)}).unflatten()
    assert made.axes == ng.make_axes([H, W])
    assert (made.strides, made.offset) == ((4, 1), 0)


def test_all_of_an_axis_is_the_tensor_itself() -> None:
    assert x[H, ::1] is x
    assert x[H, 0:][W, 0::1] is x
    assert x[H, :3] is not x


# -- axes in place of others -----------------------------------------------------------------------


G = ng.make_axis(3, "G")
X = ng.placeholder([H, W], name="x")
TABLE = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_a_map_renames_axes_and_its_derivative_renames_them_back() -> None:
    renamed = ng.map_roles(X, ng.AxesMap({H: G}))
    assert renamed.axes == ng.make_axes([G, W])
    assert (renamed + X).axes == ng.make_axes([G, W, H])
    gradient = ng.deriv(ng.sum(renamed * ng.constant([1.0, 2.0, 3.0], [G]), ...), X)
    assert gradient.axes == X.axes
    found = evaluate([renamed * 1, gradient], {X: TABLE})
    assert [each.tolist() for each in found] == [TABLE.tolist(), [[1] * 4, [2] * 4, [3] * 4]]
    with pytest.raises(DuplicateAxisError, match="axis 'W' occurs twice"):
        ng.map_roles(X, ng.AxesMap({H: W}))


def test_roles_are_cast_by_position_with_the_lengths_that_are_there() -> None:
    """Filter, image and result have one role and different lengths."""
    short, wide = ng.make_axis(2, "R", roles=[ar.Height]), ng.make_axis(9, "S", roles=[ar.Width])
    made = ng.cast_role(X, [short, wide])
    assert made.axes == ng.make_axes([short, wide])
    assert made.axes.lengths == (3, 4)
    assert (short.length, wide.length) == (2, 9)
    assert ng.cast_role(X, [G, W]).axes[0] is G
    with pytest.raises(AxisError, match="cast_role: expected 2 axes; found 1"):
        ng.cast_role(X, [short])


def test_axes_come_in_the_order_of_roles() -> None:
    """Seed 002: an axis for each role, of length 1 where the tensor has none."""
    height, width = (ng.make_axis(n, roles=[role]) for n, role in ((3, ar.Height), (4, ar.Width)))
    x = ng.placeholder([width, height], name="x")
    made = ng.axes_by_role(x, [ar.Channel, ar.Height, ar.Width])
    assert [axis.length for axis in made.axes] == [1, 3, 4]
    assert made.axes[0].roles == (ar.Channel,)
    work = ng.make_transformer(tiles=2).computation(made, x)
    assert work(TABLE.T).tolist() == [TABLE.tolist()]
    with pytest.raises(MissingAxisError, match="has none of the listed roles"):
        ng.axes_by_role(x, [ar.Height])
    with pytest.raises(DuplicateAxisError, match="both have the role"):
        ng.axes_by_role(ng.placeholder([ax.H.resized(2), ax.P.resized(3)]), [ar.Height])


def test_operations_keep_the_labels_of_the_blocks_around_them() -> None:
    with ng.metadata(layer="first"):
        outer = X + 1
        with ng.metadata(step="2", layer="inner"):
            inner = outer * 2
        with pytest.raises(pl.ElementTypeError), ng.metadata(step="3"):
            X + "a"
        again = outer - 1
    assert (outer.metadata, again.metadata) == ({"layer": "first"},) * 2
    assert inner.metadata == {"layer": "inner", "step": "2"}
    assert (inner + outer).metadata == {}
