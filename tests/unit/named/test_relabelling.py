"""Axes in place of others: by maps, by roles, by position; and labels of operations."""

from __future__ import annotations

import numpy as np
import pytest

import poplite as pl
import poplite.named as ng
from helpers.named_oracle import evaluate
from poplite.errors import AxisError, DuplicateAxisError, MissingAxisError
from poplite.named import ar, ax

H, W, G = ng.make_axis(3, "H"), ng.make_axis(4, "W"), ng.make_axis(3, "G")
X = ng.placeholder([H, W], name="x")
VALUES = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_a_map_renames_axes_and_its_derivative_renames_them_back() -> None:
    renamed = ng.map_roles(X, ng.AxesMap({H: G}))
    assert renamed.axes == ng.make_axes([G, W])
    assert (renamed + X).axes == ng.make_axes([G, W, H])
    gradient = ng.deriv(ng.sum(renamed * ng.constant([1.0, 2.0, 3.0], [G]), ...), X)
    assert gradient.axes == X.axes
    found = evaluate([renamed * 1, gradient], {X: VALUES})
    assert [each.tolist() for each in found] == [VALUES.tolist(), [[1] * 4, [2] * 4, [3] * 4]]
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
    with pytest.raises(AxisError, match="cast_role: 1 axis"):
        ng.cast_role(X, [short])


def test_axes_come_in_the_order_of_roles() -> None:
    """Seed 002: an axis for each role, of length 1 where the tensor has none."""
    height, width = (ng.make_axis(n, roles=[role]) for n, role in ((3, ar.Height), (4, ar.Width)))
    x = ng.placeholder([width, height], name="x")
    made = ng.axes_by_role(x, [ar.Channel, ar.Height, ar.Width])
    assert [axis.length for axis in made.axes] == [1, 3, 4]
    assert made.axes[0].roles == (ar.Channel,)
    work = ng.make_transformer(tiles=2).computation(made, x)
    assert work(VALUES.T).tolist() == [VALUES.tolist()]
    with pytest.raises(MissingAxisError, match="has none of the roles"):
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
