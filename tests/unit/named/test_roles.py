"""Roles, namespaces, the standard axes, and maps of axes."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import poplite.named as ng
from poplite.errors import AxisError, DuplicateAxisError, MissingAxisError
from poplite.named import ar, ax
from poplite.named.roles import by_roles


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
    with pytest.raises(AttributeError, match="no axis or role 'K' here: Height, H, G"):
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
    with pytest.raises(AxisError, match="'Height' is not a role of an axis"):
        ng.make_axis(3, roles=["Height"])  # type: ignore[list-item]
    with pytest.raises(AxisError, match="takes no roles, but its parts do"):
        ng.FlattenedAxis(ax.H + ax.W).add_role(ar.Depth)


def test_axes_in_the_order_of_roles() -> None:
    axes = ng.make_axes([ax.W, ax.H])
    found = by_roles(axes, [ar.Channel, ar.Height, ar.Width])
    assert found[1:] == ng.make_axes([ax.H, ax.W])
    assert (found[0].length, found[0].roles) == (1, (ar.Channel,))
    with pytest.raises(DuplicateAxisError, match="'H' and 'P' both have the role"):
        by_roles(ng.make_axes([ax.H, ax.P]), [ar.Height])
    with pytest.raises(MissingAxisError, match="axis 'W' has none of the roles") as caught:
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
    with pytest.raises(AxisError, match="a map of axes with 3"):
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
