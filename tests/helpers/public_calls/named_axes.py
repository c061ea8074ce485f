"""Calls of `poplite.named`."""

# ruff: noqa: E501  # one line a call reads as the table that it is

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import poplite as pl
import poplite.named as ng

CALLS = """
ng.make_axis(3, "A", [role], "a dimension")
ng.make_axis_role("role", "a role")
ng.make_axes([H, W])
ng.make_axes({"A": 3})
ng.Axes([H, W])
ng.AxesMap({H: H2})
ng.FlattenedAxis([H, W])
ng.Layout([W, H], {H: 4})
ng.row_major([H, W], {W: 8})
ng.column_major([H, W], {W: 8})
ng.TensorDescription([H, W], pl.FLOAT, ng.row_major([H, W]), "n", False)
ng.make_transformer(target, map={H: 2}, strict=False, fuse="cost", checks="fast")
ng.make_transformer(tiles=4)
ng.placeholder([H, W], pl.FLOAT, "n", {H: 2}, ng.row_major([H, W]))
ng.variable([H, W], 1.0, pl.FLOAT, "n", {H: 2}, ng.row_major([H, W]))
ng.persistent_tensor([H, W], 1.0, pl.FLOAT, "n", {H: 2}, ng.row_major([H, W]))
ng.constant([1.0, 2.0, 3.0], [H], pl.FLOAT, "n", {H: 2})
ng.L1_norm(x, [H], [W])
ng.L2_norm(x, [H], [W])
ng.squared_L2(x, [H], [W])
ng.all(flags, [H], [W])
ng.any(flags, [H], [W])
ng.argmax(x, [H], [W])
ng.argmin(x, [H], [W])
ng.max(x, [H], [W])
ng.mean(x, [H], [W])
ng.min(x, [H], [W])
ng.prod(x, [H], [W])
ng.sum(x, [H], [W])
ng.variance(x, [H], [W])
ng.dot(x, v, [H], [W])
ng.assign(w, x + 1)
ng.axes_by_role(described, role)
ng.axes_with_order(x, [W, H])
ng.broadcast(v, [H, W])
ng.cast(x, pl.HALF)
ng.cast_axes(x, [H2, W])
ng.cast_role(x, [H2, W])
ng.concat([v, v], H)
ng.cross_entropy_binary(x, x)
ng.cross_entropy_multi(x, x, [H], [W])
ng.deriv(ng.sum(w * w, [H, W]), w, ng.constant(1.0))
ng.expand_dims(v, ng.make_axis(1, "one"), 0)
ng.flatten(x, [H, W], "n")
ng.unflatten(ng.flatten(x, [H, W]), None)
ng.keep(x)
ng.place(x, {H: 2})
ng.log_softmax(x, [W])
ng.softmax(x, [W])
ng.map_roles(x, ng.AxesMap({H: H2}))
entered(ng.metadata(label="a"))
ng.nmap(lambda a: a + 1, x, axes=[H], out_axes=None)
ng.one_hot(i, W)
ng.pad(x, {H: (1, 2)}, 0.5)
ng.parallel([ng.assign(w, x), ng.assign(v2, v)])
ng.sequential([ng.assign(w, x), x])
ng.repeat(3, ng.assign(w, x))
ng.slice_along_axis(x, H, 1)
ng.stack([v, v], C, 0)
ng.stop_gradient(x)
ng.take(v, i, H)
entered(ng.strict(True))
ng.tensor_slice(x, [1, slice(0, 2)], [H, W])
ng.where(x > 0, x, 0.0)
H.add_role(role)
H.fresh("n")
H.has_role(role)
H.part(slice(0, 2))
H.slice(slice(0, 2))
H.resized(5)
H.keep_length("user")
H.known_length("what")
flat.keep_length("user")
axes.add_role(role)
axes.find("H")
axes.flatten(False)
axes.index(H)
axes.is_equal_set([H, W])
axes.is_not_equal_set([H])
axes.is_sub_set([H, W])
axes.is_super_set([H])
axes.own(H)
axes.role_axes(role)
ng.make_axes([ng.make_axis(name="A"), ng.make_axis(name="B")]).set_shape([2, 3])
axes_map.map_axes([H, W])
axes_map.map_axis(H)
description.allocated(graph, 0, 1.0)
description.with_layout(ng.row_major([H, W])).at([1, 2])
description.broadcast([H, W, C])
description.cast([H2, W])
description.concat([description], H)
description.flatten([H, W], copy=None)
description.pad({H: (1, 1)})
description.reorder([W, H])
description.slice({H: slice(0, 2)})
description.flatten([H, W]).unflatten(None)
description.view(variable)
description.with_layout(ng.column_major([H, W]))
transformer.computation([x + 1, v], x, name="n")
transformer.computation({"a": x + 1}, x)
transformer.description(w)
transformer.tensor(w)
transformer.check_has(computation)
transformer.engine_for(computation)
transformer.is_hinted(w)
transformer.stored_order(w)
transformer.why(w)
computation.description(w)
computation.tensor(w)
x[1, 2]
x.axes[0]
"""

ONE = "absolute cos exp log negative reciprocal relu safelog sigmoid sign sin sqrt square tanh"
TWO = "add divide floordivide maximum minimum mod multiply power subtract equal greater greater_equal less less_equal not_equal"
OPERATORS = "add sub mul truediv floordiv mod pow matmul and_ or_ xor lt le gt ge eq ne"


def calls() -> list[str]:
    """Return the calls, one a function or more."""
    lines = CALLS.strip().splitlines()
    lines += [f"ng.{name}(x)" for name in ONE.split()]
    lines += [f"ng.{name}(x, w)" for name in TWO.split()]
    lines += ["ng.logical_not(flags)"]
    lines += [f"ng.logical_{name}(flags, flags)" for name in ("and", "or")]
    return [*lines, *(f"operator.{name}(x, w)" for name in OPERATORS.split())]


def entered(manager: AbstractContextManager[Any]) -> Any:
    """Enter a block, and leave it."""
    with manager as value:
        return value


@contextmanager
def world() -> Iterator[dict[str, Any]]:
    """Give the names that the calls use, made anew."""
    H, W, C = ng.make_axes({"H": 3, "W": 4, "C": 2})
    H2, role = ng.make_axis(3, "H2"), ng.make_axis_role("role")
    axes, axes_map, flat = ng.Axes([H, W]), ng.AxesMap({H: H2}), ng.FlattenedAxis([H, W])
    x, w = ng.placeholder([H, W], name="x"), ng.variable([H, W], 1.0, name="w")
    v, v2 = ng.variable([H], 1.0, name="v"), ng.variable([H], 1.0, name="v2")
    i = ng.variable([H], 1, pl.INT, name="i")
    kept = ng.make_axis(3, "R", [role])
    described = ng.variable([kept], 1.0, name="described")
    flags = ng.variable([H, W], True, pl.BOOL, name="flags")
    target = pl.Target(tiles=4)
    graph, layout = pl.Graph(target), ng.row_major([H, W])
    variable = graph.add_variable(pl.FLOAT, (3, 4), "t", mapping=0)
    description = ng.TensorDescription([H, W], name="t")
    transformer = ng.make_transformer(target)
    computation = transformer.computation(w + 1, name="computation")
    names = {"ng": ng, "pl": pl, "operator": operator, "entered": entered, "slice": slice}
    yield {**locals(), **names}


NOT_OURS = frozenset({"entered", "slice"})
