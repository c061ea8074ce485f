"""Drawn operations over named axes: for each public name a way to make one of drawn operands.

Operands lie between -2 and 2. What jumps (a comparison, a sign) is drawn of what is the same number
in float32 and in double: of tensors of eighths, and of what only moves, picks or compares these.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

import poplite as pl
import poplite.named as ng
from poplite.named.op import Op
from poplite.named.tensors import TensorOp

MOST = 200
"""Elements of an operand."""

ROLES = [ng.make_axis_role(name) for name in ("one", "two", "three", "four")]

LEAVES = ("placeholder", "variable", "persistent_tensor", "constant")


class Drawn:
    """Operands that are built of draws.

    Args:
        data: the draws.
        hints_all: whether every tensor has a hint of where it lies.
    """

    def __init__(self, data: st.DataObject, *, hints_all: bool = False) -> None:
        self.draw, self._hints_all = data.draw, hints_all
        lengths = [self.draw(st.sampled_from(few)) for few in ([2, 3], [3, 2], [0, 1, 5], [1, 2])]
        self._axes = [
            ng.make_axis(length, name, roles=[role])
            for length, name, role in zip(lengths, "ABCD", ROLES, strict=True)
        ]
        self._random = np.random.default_rng(self.draw(st.integers(0, 99)))
        self.values: dict[TensorOp, Any] = {}
        self.exact: list[Op] = [self.tensor(self._axes[:2], "placeholder")]
        for _ in range(self.draw(st.integers(0, 3))):
            axes = self.draw(st.permutations(self._axes))[: self.draw(st.integers(0, 3))]
            self.exact.append(self.tensor(axes, self.draw(st.sampled_from(LEAVES))))
        self.pool = [*self.exact]

    # -- tensors -----------------------------------------------------------------------------------

    def tensor(self, axes: list[ng.Axis], kind: str) -> Op:
        values = self._random.integers(-16, 17, [each.known_length("test") for each in axes]) / 8
        if kind == "constant":
            return ng.constant(values, axes, map=self._hint(axes) if self._hints_all else None)
        options: dict[str, Any] = {"layout": self._layout(axes), "map": self._hint(axes)}
        if kind != "placeholder":
            state: Op = getattr(ng, kind)(axes, values, **options)
            return state
        made = ng.placeholder(axes, **options)
        self.values[made] = values.astype(np.float32)
        return made

    def _layout(self, axes: list[ng.Axis]) -> ng.Layout | None:
        """An order of storage, with room behind some lengths; None for the readers' choice."""
        if not axes or self.draw(st.booleans()):
            return None
        room = {each: each.known_length("room") + self.draw(st.integers(0, 2)) for each in axes}
        return ng.row_major(self.draw(st.permutations(axes)), room)

    def _hint(self, axes: list[ng.Axis]) -> Any:
        if self._hints_all:
            first = self.draw(st.permutations(axes))[:1]
            return {first[0]: self.draw(st.sampled_from(["tiles", "tiles", 1]))} if first else 0
        hint = self.draw(st.sampled_from([None, 0, "tiles", 1]))
        return {axes[0]: hint} if axes and hint in ("tiles", 1) else None if hint else hint

    # -- operands ----------------------------------------------------------------------------------

    def one(self, which: Callable[[Op], bool] = lambda x: True, *, exact: bool = False) -> Op:
        """An operand; `exact` for one that is the same in float32 and in double."""
        return self.draw(
            st.sampled_from([x for x in (self.exact, self.pool)[not exact] if which(x)])
        )

    def filled(self, *, exact: bool = False) -> tuple[Op, list[ng.Axis]]:
        """An operand and some of its axes, at least one, that have elements."""
        x = self.one(lambda x: any(axis.length for axis in x.axes), exact=exact)
        full = [axis for axis in x.axes if axis.length]
        return x, self.draw(st.permutations(full))[: self.draw(st.integers(1, len(full)))]

    def ranked(self) -> Op:
        return self.one(lambda x: x.rank > 0)

    def two(self, *, exact: bool = False) -> tuple[Op, Op]:
        """Two operands, the second one cut to the lengths of axes that both have."""
        x, y = self.one(exact=exact), self.one(exact=exact)
        for axis in x.axes & y.axes:
            length = axis.known_length("test")
            if length > y.axes.own(axis).known_length("test"):
                return x, self.turned(x)
            y = y[axis, :length]
        return (x, y) if (x.axes | y.axes).size <= MOST else (x, self.turned(x))  # type: ignore[operator]

    def turned(self, x: Op) -> Op:
        return ng.axes_with_order(x, self.draw(st.permutations(list(x.axes))))

    def some(self, x: Op) -> list[ng.Axis]:
        return [axis for axis in x.axes if self.draw(st.booleans())]

    def positive(self, x: Op | None = None) -> Op:
        return ng.square(self.one() if x is None else x) + 0.5

    def joining(self, x: Op, axes: list[ng.Axis]) -> dict[str, Any]:
        """The arguments of a reduction along axes: these, or what is left, in any order."""
        left = [axis for axis in x.axes if axis not in axes]
        if not left and self.draw(st.booleans()):
            return {"reduction_axes": ...}
        if self.draw(st.booleans()):
            return {"out_axes": self.draw(st.permutations(left))}
        return {"reduction_axes": axes}

    def part(self, axis: ng.Axis) -> slice | int:
        length = axis.known_length("slice")
        if length and self.draw(st.booleans()):
            return self.draw(st.integers(-length, length - 1))
        ends = st.integers(-3, 4) | st.none()
        low, high = self.draw(ends), self.draw(ends)
        return slice(low, high, self.draw(st.sampled_from([None, 1, 2, -1, -2])))

    def take(self, name: str, made: Op) -> None:
        """Take what was made as an operand of others."""
        if made.rank > 4 or made.axes.size > MOST or made.element_type is not pl.FLOAT:  # type: ignore[operator]
            return
        is_exact = name in EXACT and all(each in self.exact for each in self._operands(made))
        self.pool.append(made if is_exact else ng.tanh(made))
        if is_exact:
            self.exact.append(made)

    def _operands(self, made: Op) -> list[Op]:
        """The drawn operands of what was made."""
        found, waiting = [], [made]
        while waiting:
            node = waiting.pop()
            if node in self.pool:
                found.append(node)
            else:
                waiting += node.args
        return found


def _sum(name: str, d: Drawn) -> Op:
    x = d.one(lambda x: name != "prod" or x.axes.size <= 100)  # type: ignore[operator]
    made: Op = getattr(ng, name)(x, **d.joining(x, d.some(x)))
    return made


def _of_filled(name: str, d: Drawn) -> Op:
    x, axes = d.filled(exact=name in ("max", "min"))
    made: Op = getattr(ng, name)(x, **d.joining(x, axes))
    return made


def _extreme(name: str, d: Drawn) -> Op:
    x, axes = d.filled(exact=True)
    made: Op = getattr(ng, name)(x, **d.joining(x, axes[:1]))
    return made


def _holds(name: str, d: Drawn) -> Op:
    x = d.one(exact=True) > 0
    made: Op = getattr(ng, name)(x, **d.joining(x, d.some(x)))
    return made


def _unary(name: str, d: Drawn, *, exact: bool = False) -> Op:
    made: Op = getattr(ng, name)(d.one(exact=exact))
    return made


def _of_positive(name: str, d: Drawn) -> Op:
    made: Op = getattr(ng, name)(d.positive())
    return made


def _divide(d: Drawn) -> Op:
    x, y = d.two()
    return x / d.positive(y)


def _power(d: Drawn) -> Op:
    x, y = d.two()
    return d.positive(x) ** y


def _binary(name: str, d: Drawn, *, exact: bool = False) -> Op:
    made: Op = getattr(ng, name)(*d.two(exact=exact))
    return made


def _logical(name: str, d: Drawn) -> Op:
    x, y = d.two(exact=True)
    made: Op = getattr(ng, name)(x > 0, y <= 0.5)
    return made


def _rest(name: str, d: Drawn) -> Op:
    x, y = d.two(exact=True)
    made: Op = getattr(ng, name)(x, ng.where(y > 0, 0.75, -0.5))
    return made


def _where(d: Drawn) -> Op:
    x, y = d.two(exact=True)
    return ng.where(x > y, *d.draw(st.sampled_from([(x, 0.5), (y, x), (1.5, -1.0)])))


def _cast(d: Drawn) -> Op:
    return ng.cast(d.one(exact=True), d.draw(st.sampled_from([pl.INT, pl.BOOL])))


def _dot(d: Drawn) -> Op:
    x, y = d.two()
    shared = x.axes & y.axes
    axes = [axis for axis in shared if d.draw(st.booleans())]
    left = [axis for axis in x.axes | y.axes if axis not in axes]
    if d.draw(st.booleans()):
        return ng.dot(x, y, axes=axes, out_axes=d.draw(st.permutations(left)))
    return ng.dot(x, y, axes=axes) if len(axes) < len(shared) else ng.dot(x, y)


def _broadcast(d: Drawn) -> Op:
    x = d.one()
    new = ng.make_axis(d.draw(st.sampled_from([0, 1, 2])))
    return ng.broadcast(x, d.draw(st.permutations([*x.axes, new])))


def _expand_dims(d: Drawn) -> Op:
    x = d.one()
    return ng.expand_dims(x, ng.make_axis(2), d.draw(st.integers(-x.rank - 1, x.rank)))


def _map_roles(d: Drawn) -> Op:
    x = d.one()
    return ng.map_roles(x, ng.AxesMap({axis: axis.fresh() for axis in d.some(x)}))


def _has_roles(x: Op) -> bool:
    """Whether each axis has a role of its own."""
    roles = [role for axis in x.axes for role in axis.roles]
    return len(set(roles)) == len(roles) == x.rank and all(axis.roles for axis in x.axes)


def _axes_by_role(d: Drawn) -> Op:
    x = d.one(_has_roles)
    own = [role for axis in x.axes for role in axis.roles]
    others = [role for role in ROLES if role not in own and d.draw(st.booleans())]
    return ng.axes_by_role(x, d.draw(st.permutations([*own, *others])))


def _flatten(d: Drawn) -> Op:
    x = d.ranked()
    first = d.draw(st.integers(0, x.rank - 1))
    return ng.flatten(x, x.axes[first : d.draw(st.integers(first + 1, x.rank))])


def _unflatten(d: Drawn) -> Op:
    flat = _flatten(d)
    made = flat * 0.5 if d.draw(st.booleans()) else flat
    parted = [axis for axis in made.axes if isinstance(axis, ng.FlattenedAxis)]
    return ng.unflatten(made, parted[0]) if parted else ng.unflatten(ng.flatten(d.pool[0]))


def _slice(d: Drawn) -> Op:
    x = d.ranked()
    parts = [d.part(axis) for axis in x.axes]
    match d.draw(st.sampled_from("slmi")):
        case "s":
            return ng.tensor_slice(x, parts)
        case "l":
            axes = d.draw(st.permutations(list(x.axes)))
            return ng.tensor_slice(x, [d.part(axis) for axis in axes], axes)
        case "m":
            return x[dict(zip(x.axes, parts, strict=True))]
    return x[tuple(parts)]


def _along(d: Drawn) -> Op:
    x, (axis, *_) = d.filled()
    return ng.slice_along_axis(x, axis, d.draw(st.integers(0, axis.known_length("test") - 1)))


def _concat(d: Drawn) -> Op:
    x = d.ranked()
    axis = d.draw(st.sampled_from(list(x.axes)))
    parts = [x, d.turned(x)[axis, d.draw(st.integers(0, 2)) :], x * 0.5]
    return ng.concat(parts[: d.draw(st.integers(1, 3))], axis)


def _stack(d: Drawn) -> Op:
    x = d.one()
    parts = [x, d.turned(x), -x][: d.draw(st.integers(1, 3))]
    return ng.stack(parts, ng.make_axis(len(parts)), d.draw(st.integers(-x.rank - 1, x.rank)))


def _pad(d: Drawn) -> Op:
    x = d.one()
    widths = st.tuples(st.integers(0, 2), st.integers(0, 2)) | st.integers(0, 1)
    return ng.pad(
        x, {axis: d.draw(widths) for axis in d.some(x)}, d.draw(st.sampled_from([0, 0.25]))
    )


def _one_hot(d: Drawn) -> Op:
    return ng.one_hot(ng.cast(d.one(exact=True), pl.INT), ng.make_axis(d.draw(st.integers(0, 3))))


def _take(d: Drawn) -> Op:
    x, (axis, *_) = d.filled()
    end = axis.known_length("test") - 1
    numbers = d.draw(st.lists(st.integers(0, end), min_size=1, max_size=3))
    of = ng.make_axis(len(numbers))
    hint = d._hint([of]) if d._hints_all else None
    return ng.take(x, ng.constant(numbers, [of], pl.INT, map=hint), axis)


def _shares(name: str, d: Drawn) -> Op:
    made: Op = getattr(ng, name)(*d.filled())
    return made


def _entropy(d: Drawn) -> Op:
    x, axes = d.filled()
    shares = ng.softmax(x, axes) if d.draw(st.booleans()) else ng.sigmoid(x)
    how = d.joining(x, axes)
    how["axes" if "reduction_axes" in how else "out_axes"] = how.popitem()[1]
    return ng.cross_entropy_multi(shares, d.turned(x), **how)


def _entropy_binary(d: Drawn) -> Op:
    x = d.one()
    p = ng.sigmoid(x) if d.draw(st.booleans()) else ng.sigmoid(x) * 0.5 + 0.25
    return ng.cross_entropy_binary(p, d.turned(x))


def _place(d: Drawn) -> Op:
    x, (axis, *_) = d.filled()
    return ng.place(x, d.draw(st.sampled_from([0, {axis: "tiles"}, {axis: 1}])))


def _nmap(d: Drawn) -> Op:
    x, axes = d.filled()
    if d.draw(st.booleans()):
        return ng.nmap(lambda row: row / (ng.sum(row * row, ...) + 1), x, axes=axes)
    return ng.nmap(lambda row, other: ng.dot(row, other), x, d.turned(x), axes=axes)


def _deriv(d: Drawn) -> Op:
    x = d.draw(st.sampled_from([each for each in d.exact if isinstance(each, TensorOp)]))
    y = d.one(exact=True)
    if d.draw(st.booleans()):
        made: Op = ng.deriv(ng.sum(ng.square(y), ...), x)
    else:
        made = ng.deriv(ng.sin(y), x, d.turned(y))
    return made


STEPS: dict[str, Callable[[Drawn], Op]] = {
    **{name: partial(_unary, name) for name in ("negative", "absolute", "square", "stop_gradient")},
    **{name: partial(_unary, name) for name in ("exp", "sin", "cos", "tanh", "sigmoid", "relu")},
    "keep": partial(_unary, "keep"),
    "sign": partial(_unary, "sign", exact=True),
    "safelog": lambda d: ng.safelog(ng.relu(d.one(exact=True))),
    **{name: partial(_of_positive, name) for name in ("log", "sqrt", "reciprocal")},
    **{name: partial(_binary, name) for name in ("add", "subtract", "multiply")},
    **{name: partial(_binary, name) for name in ("maximum", "minimum")},
    **{
        name: partial(_binary, name, exact=True)
        for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
    },
    "divide": _divide,
    "power": _power,
    **{name: partial(_rest, name) for name in ("floordivide", "mod")},
    **{name: partial(_logical, name) for name in ("logical_and", "logical_or")},
    "logical_not": lambda d: ng.logical_not(d.one(exact=True) < 0.25),
    "where": _where,
    "cast": _cast,
    **{name: partial(_sum, name) for name in ("sum", "prod", "squared_L2", "L1_norm", "L2_norm")},
    **{name: partial(_of_filled, name) for name in ("max", "min", "mean", "variance")},
    **{name: partial(_extreme, name) for name in ("argmax", "argmin")},
    **{name: partial(_holds, name) for name in ("all", "any")},
    "dot": _dot,
    "broadcast": _broadcast,
    "axes_with_order": lambda d: d.turned(d.one()),
    "expand_dims": _expand_dims,
    "cast_axes": lambda d: (lambda x: ng.cast_axes(x, [axis.fresh() for axis in x.axes]))(d.one()),
    "map_roles": _map_roles,
    "cast_role": lambda d: (lambda x: ng.cast_role(x, [ng.make_axis(7) for _ in x.axes]))(d.one()),
    "axes_by_role": _axes_by_role,
    "flatten": _flatten,
    "unflatten": _unflatten,
    "tensor_slice": _slice,
    "slice_along_axis": _along,
    "concat": _concat,
    "stack": _stack,
    "pad": _pad,
    "one_hot": _one_hot,
    "take": _take,
    **{name: partial(_shares, name) for name in ("softmax", "log_softmax")},
    "cross_entropy_multi": _entropy,
    "cross_entropy_binary": _entropy_binary,
    "place": _place,
    "nmap": _nmap,
    "deriv": _deriv,
}
"""By public name, what makes an operation of drawn operands."""

EXACT = {
    *("negative", "absolute", "relu", "keep", "sign", "stop_gradient", "maximum", "minimum", "max"),
    *("min", "axes_with_order", "tensor_slice", "broadcast", "pad", "flatten", "concat"),
}
"""What moves, picks or compares: of exact operands it makes exact ones."""


CHAPTERS = {"along_axes", "derivative", "elementwise", "shaping", "tensors"}
"""The modules of `poplite.named` whose functions make operations."""


def public() -> set[str]:
    """The public functions that make an operation, and are no tensor with a value."""
    return {
        name
        for name in ng.__all__
        if inspect.isfunction(each := getattr(ng, name))
        and each.__module__.removeprefix("poplite.named.") in CHAPTERS
        and name not in {"strict", *LEAVES}
    }
