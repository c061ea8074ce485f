"""Tensors that hold values: constants, inputs, and state.

                        constant  persistent  trainable  input
    constant                yes        yes         no      no
    placeholder              no        yes         no     yes
    persistent_tensor        no        yes         no      no
    variable                 no        yes        yes      no

Source: seed 000 of nGraph's documentation, "Tensors".
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.errors import (
    AxisError,
    AxisLengthError,
    ElementTypeError,
    InvalidTileMapping,
    ReadOnlyError,
)
from poplite.expr.tree import ElementClass
from poplite.graph.host_values import converted_number, element_array
from poplite.graph.tile_mapping import TileMapping
from poplite.named.axes import Axes, AxesLike, Axis, axes_of, check_lengths, missing
from poplite.named.changed_axes import one_name
from poplite.named.description import TensorDescription
from poplite.named.elementwise import tensor_type, type_for
from poplite.named.layout import Layout, checked_layout
from poplite.named.op import Op, as_op, axes_for
from poplite.text import clipped, integer_or_none, of_type
from poplite.types import BOOL, FLOAT, ElementTypeLike, unmasked

_numbers = itertools.count()

Value = Any
"""A number, an array with the shape of the axes, a function of the axes that returns one, or a
constant with some of them."""


class TensorOp(Op):
    """A tensor with its own storage.

    Attributes:
        number: its number in order of creation.
        kind: "constant", "placeholder", "persistent tensor" or "variable".
        value: its initial value, or that of a constant; None if there is none.
        place: its tiles, as in `map=`; None for the transformer's rule.
        storage: the description of its storage, the base of all its views.
    """

    __slots__ = ("number", "kind", "value", "place", "storage")
    kind: str
    value: Value
    place: Any
    holds_values = True

    def __init__(
        self,
        kind: str,
        axes: Axes,
        dtype: ElementClass,
        value: Value,
        name: str | None,
        place: Any = None,
        layout: Any = None,
    ) -> None:
        super().__init__(axes, dtype, ())
        if name is not None and not isinstance(name, str):
            raise AxisError(
                f"the name of a {kind} must be text; found {clipped(name)}",
                found=f"{of_type(name)}; its axes are {axes}",
                fix="pass name='x'",
            )
        self.number: int = next(_numbers)
        self.kind, self.value, self.place = kind, value, place
        self.name: str = name or f"{kind.partition(' ')[0]}{self.number}"
        check_hint(f"map of '{self.name}'", axes, place)
        order = checked_layout(layout, axes, self.name)
        self.storage: TensorDescription = TensorDescription(
            axes, dtype, order, self.name, kind == "constant"
        )
        self.storage.line = self.line

    @property
    def what(self) -> str:  # type: ignore[override]
        """Its kind, for messages."""
        return self.kind

    @property
    def constant(self) -> bool:
        """Whether its value never changes."""
        return self.kind == "constant"

    @property
    def persistent(self) -> bool:
        """Whether it keeps its value between calls."""
        return True

    @property
    def trainable(self) -> bool:
        """Whether `variables()` lists it."""
        return self.kind == "variable"

    @property
    def input(self) -> bool:
        """Whether it gets its value from a call."""
        return self.kind == "placeholder"

    def first_value(self) -> npt.NDArray[Any] | None:
        """Return its initial value as an array of the shape of its axes; None if there is none."""
        if self.value is None:
            return None
        shape = tuple(axis.known_length(f"the value of {self.name}") for axis in self.axes)
        if isinstance(self.value, TensorOp):
            return filled_array(self._spread(self.value), shape, self)
        value = self.value(self.axes) if callable(self.value) else self.value
        return filled_array(value, shape, self)

    def _spread(self, given: TensorOp) -> npt.NDArray[Any]:
        """Return the value of a constant, broadcast to the axes of this tensor."""
        array = given.first_value()
        assert array is not None
        own = [axis for axis in self.axes if axis in given.axes]
        ordered = array.transpose([given.axes.index(axis) for axis in own])
        sizes = [(axis.length or 0) if axis in own else 1 for axis in self.axes]
        return np.broadcast_to(ordered.reshape(sizes), [axis.length or 0 for axis in self.axes])


def constant(
    value: Any,
    axes: AxesLike = None,
    dtype: ElementTypeLike | None = None,
    name: str | None = None,
    map: Any = None,  # noqa: A002  (the name for tiles in this module)
) -> TensorOp:
    """Return a tensor whose value never changes.

    Args:
        value: a number, or an array with the shape of the axes.
        axes: one for each dimension; a number fills all of them.
        dtype: the element type; by default, FLOAT for floats, INT for integers, BOOL for bools.
        name: the name in messages; by default, an automatic one.
        map: its tiles, as in `variable`.

    Raises:
        AxisError: for an array without axes, or with the wrong number of axes.
        AxisLengthError: for an array whose shape does not match the axes.

    >>> import poplite.named as ng
    >>> constant([1.0, 2.0], [ng.make_axis(2, "H")], name="c")
    <constant c (H:2) FLOAT>
    """
    listed = axes_of(axes)
    array = _array_of(value, "constant", listed)
    if array.ndim and array.ndim != len(listed):
        raise AxisError(
            f"constant: the array has shape {array.shape}, but there are {len(listed)} axes",
            found=f"the axes are {listed}",
            fix=f"pass an axis for each dimension: ng.constant(array, [{axes_for(array.shape)}])",
        )
    found = type_for(array, "constant") if dtype is None else tensor_type(dtype, "constant")
    made = TensorOp("constant", listed, found, array, name, map)
    if None not in listed.lengths:
        made.first_value()
    return made


def placeholder(
    axes: AxesLike = None,
    dtype: ElementTypeLike = FLOAT,
    name: str | None = None,
    map: Any = None,  # noqa: A002
    layout: Layout | None = None,
) -> TensorOp:
    """Return a tensor whose value is passed in each call of a computation.

    Args:
        axes: the axes of the tensor; none for a single number.
        dtype: the element type.
        name: the name in messages; by default, an automatic one.
        map: its tiles, as in `variable`.
        layout: the order in which its axes are stored, as in `variable`.

    >>> import poplite.named as ng
    >>> placeholder([ng.make_axis(2, "H")], name="x")
    <placeholder x (H:2) FLOAT>
    """
    found = tensor_type(dtype, "placeholder")
    return TensorOp("placeholder", axes_of(axes), found, None, name, map, layout)


def variable(
    axes: AxesLike = None,
    initial_value: Value = None,
    dtype: ElementTypeLike = FLOAT,
    name: str | None = None,
    map: Any = None,  # noqa: A002
    layout: Layout | None = None,
) -> TensorOp:
    """Return trainable state: `variables()` of its readers lists it.

    Args:
        axes: the axes of the tensor; none for a single number.
        initial_value: a number, an array with the shape of the axes, a function of the axes that
            returns one, or an `ng.constant`, which is repeated along the axes that it lacks.
            By default, zeros.
        dtype: the element type.
        name: the name in messages; by default, an automatic one.
        map: its tiles: a tile, a `pl.TileMapping`, another named tensor, or divisions of its axes,
            `{H: "tiles"}` or `{H: 4, W: 8}`. By default, the transformer decides.
        layout: the order and room in which its axes are stored: `ng.row_major(axes)`,
            `ng.column_major(axes)`, `ng.Layout([W, H])`. By default, its readers decide.

    >>> import poplite.named as ng
    >>> variable([ng.make_axis(2, "H")], 0.5, name="w")
    <variable w (H:2) FLOAT>
    """
    return _state("variable", axes, initial_value, dtype, name, map, layout)


def persistent_tensor(
    axes: AxesLike = None,
    initial_value: Value = None,
    dtype: ElementTypeLike = FLOAT,
    name: str | None = None,
    map: Any = None,  # noqa: A002
    layout: Layout | None = None,
) -> TensorOp:
    """Return state that is not trained, such as the velocity in gradient descent with momentum.

    Args:
        axes: the axes of the tensor; none for a single number.
        initial_value: as in `variable`.
        dtype: the element type.
        name: the name in messages; by default, an automatic one.
        map: its tiles, as in `variable`.
        layout: the order in which its axes are stored, as in `variable`.

    >>> import poplite.named as ng
    >>> persistent_tensor([ng.make_axis(2, "H")], name="v")
    <persistent tensor v (H:2) FLOAT>
    """
    return _state("persistent tensor", axes, initial_value, dtype, name, map, layout)


def _state(kind: str, axes: AxesLike, value: Value, dtype: ElementTypeLike, *how: Any) -> TensorOp:
    """Return a tensor of the given kind; `how` is its name, tiles and layout."""
    listed, found = axes_of(axes), tensor_type(dtype, kind)
    made = TensorOp(kind, listed, found, False if value is None else value, *how)
    if isinstance(value, Op):
        _check_constant(made, value)
    is_number = (
        value is None or converted_number(found, value) is not None
    )  # a number fits any axes
    if not is_number and not callable(value) and None not in listed.lengths:
        made.first_value()  # raises if the value does not fit
    return made


def _check_constant(state: TensorOp, value: Op) -> None:
    """Raise for an initial value that is a tensor but not a constant with axes of the state."""
    what = f"the initial value of '{state.name}'"
    if not isinstance(value, TensorOp) or not value.constant:
        raise ReadOnlyError(
            f"{what}: '{value.name or value.called}' has no value before a computation",
            found=value.text,
            fix=f"pass a number, an array, or an ng.constant; to write the value of a tensor, use "
            f"ng.assign({state.name}, x)",
        )
    for axis in value.axes:
        if axis not in state.axes:
            raise missing(f"{what}: axes of the tensor", axis, state.axes, value.text)
    check_lengths(what, state.axes, value.axes, (state, value))


def filled_array(value: Any, shape: tuple[int, ...], tensor: TensorOp) -> npt.NDArray[Any]:
    """Return a value as an array with a tensor's shape and type; a number fills all of it."""
    element = tensor.element_type
    if isinstance(value, np.ndarray) and value.dtype == element.dtype and value.shape == shape:
        return value
    held = converted_number(element, value)
    if held is not None:
        return np.broadcast_to(element.dtype.type(held), shape)
    array = _array_of(value, tensor.name, tensor.axes)
    type_for(array, tensor.name)
    if array.ndim and array.shape != shape:
        where = next(
            (d for d, (a, b) in enumerate(zip(array.shape, shape, strict=False)) if a != b), None
        )
        if array.ndim != len(shape) or where is None:
            raise AxisLengthError(
                f"{tensor.name}: the value has shape {array.shape}, but the axes are {tensor.axes}",
                found=tensor.text,
                fix=f"pass an array of shape {shape}, or a number",
            )
        raise AxisLengthError(
            f"{tensor.name}: axis '{tensor.axes[where].name}' has length {shape[where]}, but the "
            f"value has {array.shape[where]}",
            found=f"the value has shape {array.shape}; {tensor.text}",
            fix=f"pass an array of shape {shape}",
        )
    if not array.size:
        return np.zeros(shape, element.dtype)
    kinds = {"b": 0, "u": 1, "i": 1, "f": 2}
    if kinds[array.dtype.kind] > kinds[element.dtype.kind]:
        raise ElementTypeError(
            f"{tensor.name}: a value of dtype {array.dtype} cannot become {element!r}",
            found=f"{clipped(value)}; {tensor.text}",
            fix="pass array != 0" if element is BOOL else "pass whole numbers, or use pl.FLOAT",
        )
    made = element_array(element, array, what=f"{tensor.name} {tensor.axes}")
    return made if made.shape == shape else np.broadcast_to(made, shape)


def _array_of(value: Any, what: str, axes: Axes) -> npt.NDArray[Any]:
    """Return a user's values as an array; named dimensions are put in the order of the axes."""
    if isinstance(value, Op):
        raise AxisError(
            f"{what}: expected values; found a named tensor",
            found=value.text,
            fix=f"pass an array with axes {axes}, or a number",
        )
    try:
        array = np.asarray(unmasked(value, what))
    except ValueError as error:
        raise ElementTypeError(
            f"{what}: {clipped(value)} is not an array",
            found=f"its lists have different lengths; the axes are {axes}",
            fix="pass lists of one length in each dimension",
        ) from error
    dims = getattr(value, "dims", None)
    if not array.ndim or not isinstance(dims, tuple | list):
        return array
    names = [each.name if isinstance(each, Axis) else each for each in dims]
    is_each_once = len({*names}) == len(names) == array.ndim
    if not is_each_once or {*names} != {*axes.names}:
        raise AxisError(
            f"{what}: the array has dimensions {clipped(tuple(names))}, but the axes are {axes}",
            found=of_type(value),
            fix=f"name the dimensions {axes.names}, or pass np.asarray(array), read by position",
        )
    return array.transpose([names.index(name) for name in axes.names])


# -- hints for tiles -------------------------------------------------------------------------------


def check_hint(what: str, axes: Axes, hint: Any) -> None:
    """Raise if a hint is invalid on every device.

    Raises:
        AxisError: if the hint is malformed or names an axis that the tensor lacks.
        InvalidTileMapping: for a tile below 0.
    """
    is_stored = isinstance(hint, Op) and hint.holds_values
    if hint is None or isinstance(hint, TileMapping) or is_stored:
        return
    if isinstance(hint, Mapping):
        check_by_axes(what, axes, hint)
        return
    tile = None if isinstance(hint, Op) else integer_or_none(hint)
    if tile is None or isinstance(hint, bool):
        raise AxisError(
            f"{what} {axes} is {clipped(hint)}",
            found=of_type(hint),
            fix="pass a tile, a pl.TileMapping, a named tensor, or divisions of its axes: "
            f'{{{one_name(axes)}: "tiles"}}, {{{one_name(axes)}: 4}}',
        )
    if tile < 0:
        raise InvalidTileMapping(
            f"{what}: there is no tile {tile}",
            found=f"the axes are {axes}",
            fix="pass a tile from 0",
        )


def check_by_axes(what: str, axes: Axes, hint: Mapping[Any, Any]) -> None:
    """Raise for a hint with axes that the tensor lacks, or with invalid divisions.

    A tensor may lack an axis of a grid: it is then placed at the beginning of that axis.
    """
    for axis, count in hint.items():
        if not isinstance(axis, Axis):
            raise missing(what, axis, axes)
        if axis_blocks(what, axis, count, 1) is None or axis in axes:
            continue
        if count == "tiles" or not any(each in axes for each in hint):
            raise missing(what, axis, axes)


def axis_blocks(what: str, axis: Axis, count: Any, tiles: int) -> int | None:
    """Return the number of blocks into which a hint divides an axis; None if it does not."""
    number = tiles if isinstance(count, str) and count == "tiles" else integer_or_none(count)
    if count is not None and (number is None or number < 1 or isinstance(count, bool)):
        raise AxisError(
            f"{what}: cannot divide axis '{axis.name}' into {clipped(count)} blocks",
            found=of_type(count),
            fix=f'pass {{{axis.name}: "tiles"}}, {{{axis.name}: 4}}, or None for one block',
        )
    return number


# -- values that are always stored -----------------------------------------------------------------


class Keep(Op):
    """An operand that is always stored."""

    __slots__ = ()
    what = "keep"


class PlacedByHint(Op):
    """An operand that is stored as a hint specifies.

    Attributes:
        place: the hint, as in `map=` of a tensor.
    """

    __slots__ = ("place",)
    what = "place"

    def __init__(self, x: Op, place: Any) -> None:
        super().__init__(x.axes, x.dtype, (x,))
        self.place: Any = place


class Gradient(Op):
    """A derivative with respect to a tensor: if it is a result, it takes the tensor's tiles.

    Attributes:
        by: the tensor.
    """

    __slots__ = ("by",)
    what = "deriv"

    def __init__(self, x: Op, by: TensorOp) -> None:
        super().__init__(x.axes, x.dtype, (x,), f"deriv {by.name}")
        self.by: TensorOp = by


def keep(x: Any) -> Op:
    """Return x, stored where it is computed, even if recomputing it would be cheaper.

    Args:
        x: a tensor.

    >>> import poplite.named as ng
    >>> x = ng.placeholder([ng.make_axis(3, "H")], name="x")
    >>> device = ng.make_transformer(tiles=2)
    >>> works = [device.computation(2 * each, x) for each in (x + 1, ng.keep(x + 1))]
    >>> [work.explain().count("stored: ") for work in works]
    [1, 2]
    """
    operand = as_op(x, "keep")
    return Keep(operand.axes, operand.dtype, (operand,))


def place(x: Any, map: Any) -> Op:  # noqa: A002  (the name in `ng.variable`)
    """Return x, stored as a hint specifies.

    Args:
        x: a tensor.
        map: as in `ng.variable`.

    Raises:
        AxisError: if the hint is malformed or names an axis that x lacks.
        InvalidTileMapping: for a tile below 0.

    >>> import poplite.named as ng
    >>> N, H = ng.make_axis(8, "N"), ng.make_axis(3, "H")
    >>> ng.place(ng.placeholder([N, H]) * 2, map=0)
    <place (N:8, H:3) FLOAT>
    """
    operand = as_op(x, "place")
    check_hint(f"place of '{operand.name or operand.called}'", operand.axes, map)
    return PlacedByHint(operand, map)
