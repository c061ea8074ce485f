"""Named operations computed by NumPy, by labels and in double: it shares no code with lowering."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

import poplite.named as ng
from poplite.named.along_axes import AddRows, Count, DotProduct, Extreme, Reduce, Softmax, Take
from poplite.named.elementwise import AxisPositions, Elementwise, NumberOp, StopGradient
from poplite.named.op import Op, nodes_below
from poplite.named.shaping import Broadcast, Concat, Regrouped, Relabelled, Slice
from poplite.named.tensors import Gradient, Keep, PlacedByHint, TensorOp

Array = npt.NDArray[Any]

UNARY: dict[str, Any] = {
    **{name: getattr(np, name) for name in ("negative", "absolute", "sign", "square", "sqrt")},
    **{name: getattr(np, name) for name in ("reciprocal", "exp", "log", "sin", "cos", "tanh")},
    "logical_not": np.logical_not,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "softplus": lambda x: np.logaddexp(0, x),
    "relu": lambda x: np.maximum(x, 0),
}

BINARY: dict[str, Any] = {
    **{name: getattr(np, name) for name in ("add", "subtract", "multiply", "divide", "power")},
    **{name: getattr(np, name) for name in ("floor_divide", "remainder", "maximum", "minimum")},
    **{name: getattr(np, name) for name in ("equal", "not_equal", "less", "less_equal")},
    **{name: getattr(np, name) for name in ("greater", "greater_equal")},
    **{name: getattr(np, name) for name in ("logical_and", "logical_or")},
}

JOINS: dict[str, Any] = {
    **{"add": np.sum, "mul": np.prod, "min": np.min, "max": np.max},
    **{"logical_and": np.all, "logical_or": np.any},
}


def by_labels(value: Array, have: Any, want: Any) -> Array:
    """Return an array in the order of other labels; those that it lacks have size 1."""
    have, want = [each.root for each in have], [each.root for each in want]
    order = [have.index(root) for root in want if root in have]
    assert len(order) == len(have)
    moved = value.transpose(order)
    return moved.reshape([value.shape[have.index(r)] if r in have else 1 for r in want])


def evaluate(
    roots: list[Op], values: Mapping[TensorOp, Any], known: Mapping[Op, Array] | None = None
) -> list[Array]:
    """Return what operations come to, each in the order of its axes; some may be known already."""
    made: dict[Op, Array] = dict(known or {})
    for op in nodes_below(roots):
        if op in made:
            continue
        found = _value(op, [made[each] for each in op.args], values)
        made[op] = np.broadcast_to(found, op.shape)
    return [made[root] for root in roots]


def _value(op: Op, args: list[Array], values: Mapping[TensorOp, Any]) -> Array:
    shape = tuple(axis.length or 0 for axis in op.axes)
    if isinstance(op, TensorOp):
        given = values.get(op, op.value)
        given = given(op.axes) if callable(given) else given
        kind = float if op.element_type.is_floating_point else op.element_type.dtype
        return np.broadcast_to(np.asarray(given, kind), shape)
    if isinstance(op, NumberOp):
        return np.asarray(op.value)
    if isinstance(op, Count):
        return np.asarray(float(math.prod(axis.length or 0 for axis in op.counted)))
    if isinstance(op, AxisPositions):
        return np.arange(shape[0])
    if isinstance(op, Elementwise):
        aligned = [
            by_labels(value, each.axes, op.axes) for value, each in zip(args, op.args, strict=True)
        ]
        if op.operation == "cast":
            kind = op.element_type.dtype
            return aligned[0].astype(float if kind.kind == "f" else kind)
        if op.operation == "select":
            return np.where(aligned[2], aligned[0], aligned[1])
        with np.errstate(all="ignore"):
            return np.asarray((UNARY | BINARY)[op.operation](*aligned))
    if isinstance(op, StopGradient | Softmax | Gradient | Keep | PlacedByHint | Broadcast):
        return by_labels(args[0], op.args[0].axes, op.axes)
    if isinstance(op, Relabelled):
        return args[0]
    if isinstance(op, Regrouped):
        return args[0].reshape(shape)
    if isinstance(op, Slice):
        return args[0][tuple(op.parts.get(axis.root, slice(None)) for axis in op.args[0].axes)]
    if isinstance(op, Concat):
        return np.concatenate(args, op.axes.index(op.along))
    if isinstance(op, Reduce | Extreme):
        dims = tuple(op.args[0].axes.index(axis) for axis in op.reduced)
        if isinstance(op, Extreme):
            return np.asarray(getattr(np, op.how)(args[0], dims[0]))
        return np.asarray(JOINS[op.how](args[0], axis=dims))
    if isinstance(op, Take):
        along = op.args[0].axes.index(op.along)
        return np.asarray(np.moveaxis(args[0], along, 0)[args[1].astype(int)])
    if isinstance(op, AddRows):
        made = np.zeros(shape)
        rows = by_labels(args[0], op.args[0].axes, op.args[1].axes + op.rest)
        np.add.at(made, args[1].astype(int), rows)
        return made
    assert isinstance(op, DotProduct)
    letters: dict[object, str] = {}
    for each in (*op.args[0].axes, *op.args[1].axes):
        letters.setdefault(each.root, chr(97 + len(letters)))
    one, other, out = (
        "".join(letters[axis.root] for axis in axes)
        for axes in (op.args[0].axes, op.args[1].axes, op.axes)
    )
    return np.asarray(np.einsum(f"{one},{other}->{out}", *args))


def slope(y: Op, x: TensorOp, values: Mapping[TensorOp, Any], error: Array | None = None) -> Array:
    """Return the derivative of a result by a tensor, by central differences."""
    at = np.array(np.broadcast_to(values[x], x.shape), float)
    found = np.zeros(at.shape)
    for place in np.ndindex(at.shape):
        sides = []
        for sign in (1, -1):
            moved = at.copy()
            moved[place] += sign * 1e-6
            (value,) = evaluate([y], {**values, x: moved})
            sides.append((value * (1 if error is None else error)).sum())
        found[place] = (sides[0] - sides[1]) / 2e-6
    return found


def axes_of(text: str) -> list[ng.Axis]:
    """Return axes by name and length: `axes_of("H3 W4")`."""
    return [ng.make_axis(int(each[1:]), each[0]) for each in text.split()]
