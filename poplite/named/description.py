"""Descriptions of tensors: axes, type, and the positions of elements once they have storage.

For example:

    TensorDescription((H:3, W:4))               an allocation, whose layout is not fixed
        .slice({H: slice(None, None, -1)})      a view of it
        .flatten()                              a view of the view

`view` makes a `pl.Tensor` from a description as soon as there is storage: the steps are replayed
on it, so a layout that is chosen late does not change the description.
"""

from __future__ import annotations

from collections.abc import ItemsView, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple

from poplite.errors import (
    AxisError,
    AxisLengthError,
    InvalidOption,
    NeedsCopyError,
    TensorIndexError,
)
from poplite.expr.tree import ElementClass
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.machine.target import Target
from poplite.named import changed_axes, layout as layouts
from poplite.named.axes import (
    Axes,
    AxesLike,
    Axis,
    AxisRoot,
    FlattenedAxis,
    axes_of,
    check_kind,
    check_lengths,
    checked_length,
    chosen,
    missing,
    some,
)
from poplite.named.changed_axes import Named
from poplite.source import SourceLocation, here
from poplite.text import amount, clipped, integer_or_none
from poplite.types import FLOAT, ElementTypeLike, element_type

_TRANSPOSE, _REORDER = layouts.Ordered("transpose"), layouts.Ordered("reorder")
_BROADCAST, _CAST = layouts.Ordered("broadcast"), layouts.RelabelStep("cast")
_FLATTEN, _UNFLATTEN = (
    layouts.RegroupStep("flatten"),
    layouts.RegroupStep("unflatten"),
)


class Element(NamedTuple):
    """The position where an element is stored.

    Attributes:
        base: the description of the storage.
        offset: the position in the storage, in elements.
    """

    base: TensorDescription
    offset: int


class TensorDescription:
    """The axes of a tensor, its element type, and the positions of its elements.

    It is immutable; each method returns a new description, of the same storage.

    Args:
        axes: the axes of the tensor.
        dtype: the element type.
        layout: the order of its axes in storage and the room for each; None while it is not fixed.
        name: the name used in messages.
        read_only: whether it cannot be assigned to, such as a constant or a result.

    Attributes:
        axes: its axes, in its order.
        dtype: the element type.
        sources: the descriptions that it views, in order; none for an allocation, which
            has storage of its own.
        step: the step that makes it from `sources`; None for an allocation.
        name: the name used in messages.
        line: the user's line that created it.

    Source: "Tensor descriptions" and "Views" of seeds 000, 001 and 003.

    >>> import poplite.named as ng
    >>> H, W = ng.make_axis(3, "H"), ng.make_axis(4, "W")
    >>> image = TensorDescription([H, W], layout=ng.row_major([H, W], {W: 8}), name="image")
    >>> image.strides, image.transpose().strides, image.slice({H: slice(None, None, -1)}).strides
    ((8, 1), (1, 8), (-8, 1))
    >>> image.at((2, 3)).offset
    19
    """

    line: SourceLocation

    name: str = ""
    sources: tuple[TensorDescription, ...] = ()
    step: layouts.DescriptionStep | None = None
    _layout: layouts.Layout | None = None
    _is_read_only: bool = False

    def __init__(
        self,
        axes: AxesLike,
        dtype: ElementTypeLike = FLOAT,
        layout: layouts.Layout | None = None,
        name: str = "",
        read_only: bool = False,
    ) -> None:
        check_kind(name, str, "TensorDescription: name", 'name="image"')
        self.axes: Axes = axes_of(axes)
        self.dtype: ElementClass = element_type(dtype)
        self.name, self.line = name, here()
        self._layout = layouts.checked_layout(layout, self.axes, f"description {name}".rstrip())
        self._is_read_only = read_only

    def seen(
        self,
        axes: Axes,
        step: layouts.DescriptionStep,
        *more: TensorDescription,
        line: SourceLocation | None = None,
    ) -> TensorDescription:
        """Return the view that one step makes of this description and of others after it."""
        made = TensorDescription.__new__(TensorDescription)
        made.axes, made.dtype, made.line = axes, self.dtype, line or here(3)
        made.sources, made.step = (self, *more), step
        return made

    # -- facts -------------------------------------------------------------------------------------

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.axes)

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The length of each axis; None for a length that is not set."""
        return self.axes.lengths

    @property
    def is_view(self) -> bool:
        """Whether it does not have storage of its own."""
        return self.step is not None

    @cached_property
    def bases(self) -> tuple[TensorDescription, ...]:
        """The allocations that it views, each once, in order; for an allocation, itself."""
        if not self.sources:
            return (self,)
        found = [base for each in self.sources for base in each.bases]
        return tuple({id(each): each for each in found}.values())

    @property
    def base(self) -> TensorDescription | None:
        """The only allocation that it views; None for an allocation, or for several."""
        return self.bases[0] if self.is_view and len(self.bases) == 1 else None

    @property
    def layout(self) -> layouts.Layout | None:
        """The layout of its storage; None while it is not fixed, or for several allocations."""
        return self.bases[0]._layout if len(self.bases) == 1 else None

    @property
    def fixed(self) -> bool:
        """Whether the layout of all its storage is known."""
        return all(each._layout is not None for each in self.bases)

    @cached_property
    def read_only(self) -> bool:
        """Whether it cannot be assigned to.

        This holds for constants and results, and for a view that repeats an element or shows
        several tensors. Other views are like their sources.
        """
        if not self.sources:
            return self._is_read_only
        if isinstance(self.step, layouts.ConcatStep):
            return True
        if isinstance(self.step, layouts.Ordered) and len(self.axes) > len(self.sources[0].axes):
            return True
        return self.sources[0].read_only

    @property
    def sizes(self) -> tuple[int | None, ...]:
        """The room for each axis in storage; for views, the lengths."""
        layout = None if self.is_view else self._layout
        return self.shape if layout is None else layout.sizes

    @cached_property
    def _strided(self) -> layouts.StridedAxes | None:
        """The positions of elements as strides; None if there are none, or no fixed layout."""
        if not self.sources:
            if self._layout is None:
                return None
            return layouts.StridedAxes.of(self._layout)
        if len(self.sources) > 1:
            return None
        (source,) = self.sources
        assert self.step is not None
        where = source._strided
        return None if where is None else self.step.strided(source.axes, where, self.axes)

    @property
    def strides(self) -> tuple[int | None, ...]:
        """The signed distance between the elements of neighbouring indices, in elements.

        None for an axis whose elements are not at a single stride, and for all axes while the
        layout is not fixed or if a view shows several allocations. It is meaningless for lengths 0
        and 1.
        """
        where = self._strided
        return (None,) * len(self.axes) if where is None else where.strides

    @property
    def offset(self) -> int | None:
        """The position of the element at index 0 of all axes; None if no stride is known."""
        return None if self._strided is None else self._strided.offset

    @property
    def is_contiguous(self) -> bool:
        """Whether its elements, in row-major order, are consecutive in one storage."""
        if self._strided is None:
            return self.fixed and len(self.bases) == 1 and self._example.is_contiguous()
        digits = [each for own in self._strided.digits if own is not None for each in own]
        if None in self._strided.digits:
            return self._example.is_contiguous()
        found = layouts.fewest_digits(digits)
        return len(found) == 1 and (found[0][1] == 1 or found[0][0] < 2)

    @property
    def contains_aliases(self) -> bool:
        """Whether several of its elements share one element of storage."""
        return self._example.contains_aliases()

    @cached_property
    def _example(self) -> Tensor:
        """The view of variables in a separate graph that is used only for queries."""
        graph = Graph(Target(tiles=1))
        return self.view(*(each.allocated(graph) for each in self.bases))

    def at(self, index: Sequence[int]) -> Element:
        """Return the position at which an element is stored.

        Args:
            index: an index for each axis; negative indices count from the end.

        Raises:
            TensorIndexError: for an index out of range, or the wrong number of indices.
            AxisError: while the layout is not fixed.
        """
        base, own = self, checked_index(index, self.axes, self)
        while base.step is not None:
            which, own = base.step.origin([s.axes for s in base.sources], own, base.axes)
            base = base.sources[which]
        if base._layout is None:
            raise AxisError(
                "at: the layout is not fixed yet", found=base.text, fix=_LAYOUTS.format(base.axes)
            )
        strides = base._layout.strides
        return Element(base, sum(i * s for i, s in zip(own, strides, strict=True)))

    # -- views -------------------------------------------------------------------------------------

    def transpose(self) -> TensorDescription:
        """Return a description with the axes reversed."""
        return self.seen(some(reversed(self.axes.items)), _TRANSPOSE)

    def reorder(self, axes: AxesLike) -> TensorDescription:
        """Return a description with the axes in the given order; `...` means the unlisted axes.

        Raises:
            MissingAxisError: for a listed axis that it lacks, or an axis that is not listed.
        """
        return self.seen(changed_axes.ordered_axes(self.axes, axes, self, "reorder"), _REORDER)

    def broadcast(self, axes: AxesLike) -> TensorDescription:
        """Return a description with more axes, along which the elements are repeated.

        Args:
            axes: all of its axes and the additional ones, in any order.

        Raises:
            MissingAxisError: if one of its own axes is not listed.
            AxisLengthError: for an axis whose length differs.
        """
        return self.seen(changed_axes.broader(self.axes, axes, self), _BROADCAST)

    def cast(self, axes: AxesLike) -> TensorDescription:
        """Return a description with its axes replaced one-to-one by axes of equal lengths.

        Raises:
            AxisLengthError: for a length that differs.
            AxisError: for the wrong number of axes.
        """
        return self.seen(changed_axes.relabelled(self.axes, axes, self, "cast"), _CAST)

    def slice(self, parts: Mapping[Axis, Any]) -> TensorDescription:
        """Return a description of the selected indices.

        Args:
            parts: a slice for an axis, with a step of any sign, or an index, which drops the axis.

        Raises:
            MissingAxisError: for an axis that it lacks.
            TensorIndexError: for an index out of range.
        """
        made: dict[AxisRoot, changed_axes.Part] = {}
        for axis, part in listed_parts(parts, "slice: parts", "slice({H: slice(1, None)})"):
            try:
                own = self.axes.own(axis)
            except (AttributeError, ValueError):
                raise missing("slice", axis, self.axes) from None
            made[own.root] = changed_axes.axis_part(own, part, self)
        return self.seen(changed_axes.without(self.axes, made), layouts.PartsStep(made))

    def flatten(
        self,
        axes: AxesLike = None,
        *,
        copy: Literal["never", "view"] | None = None,
    ) -> TensorDescription:
        """Return a description with several adjacent axes joined into one.

        Args:
            axes: the axes, in their order; by default, all of them.
            copy: "never" to reject a flat axis that needs more than one stride, so that reading it
                never needs a copy; "view" to make it a view of several pieces. By default, "never"
                if the layout is known, "view" while it is not fixed.

        Raises:
            NeedsCopyError: if the elements are not at a single stride.
            AxisError: for axes that are not adjacent.

        Source: seed 003, "flattening"; the condition is `stride == inner length * inner stride`
        for each pair of adjacent axes whose lengths are not 1.
        """
        if copy is not None and not (isinstance(copy, str) and copy in ("never", "view")):
            raise InvalidOption(
                f"flatten: copy is {clipped(copy)}",
                found=self.text,
                fix='pass copy="never" or copy="view"',
            )
        line = here(2)
        joined, first = changed_axes.joined_axes(self.axes, axes, None, self, line)
        if copy != "view":
            self._check_stride(joined.items[first], first)
        return self.seen(joined, _FLATTEN, line=line)

    def unflatten(self, axis: Axis | None = None) -> TensorDescription:
        """Return a description with a flattened axis replaced by its parts; by default, all axes.

        Raises:
            AxisError: for an axis that is not flattened.
        """
        whole = changed_axes.unsliced(self.axes, self)
        if whole is not self.axes:
            return self.seen(whole, _CAST).unflatten(axis)
        return self.seen(changed_axes.parted_axes(self.axes, axis, self), _UNFLATTEN)

    def concat(self, others: Sequence[TensorDescription], axis: Axis) -> TensorDescription:
        """Return a description followed by others along an axis: a view of several allocations.

        Args:
            others: descriptions with the same axes, in any order, and the same element type;
                lengths differ only along `axis`.
            axis: the axis along which they are concatenated.

        Raises:
            MissingAxisError: for a description without an axis that this one has.
            AxisLengthError: for a length that differs.
        """
        own = changed_axes.only_axis(chosen([axis], self.axes, "concat"), "concat")
        total = own.known_length("concat")
        listed = []
        fix = "description.concat([another], H)"
        check_kind(others, (list, tuple), "concat: others", fix)
        for each in others:
            check_kind(each, TensorDescription, "concat: others", fix)
            other = changed_axes.only_axis(chosen([axis], each.axes, "concat"), "concat")
            total += other.known_length("concat")
            order = changed_axes.ordered_axes(each.axes, self.axes, each, "concat")
            check_lengths("concat", self.axes - own, order - own, (self, each))
            if each.dtype is not self.dtype:
                raise AxisError(
                    f"concat: cannot mix {self.dtype!r} and {each.dtype!r}",
                    found=f"{self.text}\n{each.text}",
                    fix="use descriptions with one element type",
                )
            listed.append(each if each.axes == order else each.reorder(order))
        along = own if own.length == total else own.origin.resized(total)
        axes = some([along if each == own else each for each in self.axes])
        return self.seen(axes, layouts.ConcatStep(along.root), *listed)

    def pad(self, widths: Mapping[Axis, tuple[int, int]]) -> TensorDescription:
        """Return a description with a border of constants: a view of several allocations.

        Args:
            widths: for each axis the numbers of elements before and after, 0 or more.

        Raises:
            MissingAxisError: for an axis that it lacks.
            AxisLengthError: if a width is not a non-negative integer.
        """
        made = self
        for axis, pair in listed_parts(widths, "pad: widths", "pad({H: (1, 2)})"):
            own = changed_axes.only_axis(chosen([axis], made.axes, "pad"), "pad")
            border = TensorDescription(
                (), self.dtype, layouts.row_major(()), "border", read_only=True
            )
            parts = []
            for count in pair_of(pair, own):
                number = checked_length(count, f"pad: a width of axis '{own.name}'")
                wide = [own.resized(number) if each == own else each for each in made.axes]
                parts.append([border.broadcast(wide)] if number else [])
            listed = [*parts[0], made, *parts[1]]
            first, others = listed[0], listed[1:]
            made = first.concat(others, own) if others else made
        return made

    # -- storage -----------------------------------------------------------------------------------

    def with_layout(self, layout: layouts.Layout) -> TensorDescription:
        """Return the same view of storage with the given layout, by replaying all steps.

        Args:
            layout: the layout of the storage.

        Raises:
            AxisError: if the layout is already fixed, or for a view of several allocations.
            MissingAxisError: for a layout with other axes.
        """
        check_kind(layout, layouts.Layout, "with_layout: layout", "pass ng.row_major([H, W])")
        if len(self.bases) > 1:
            raise AxisError(
                f"with_layout: the view shows {amount(len(self.bases), 'allocation')}, not one",
                found=self.text,
                fix="call with_layout on each of them before they are joined",
            )
        if self.fixed and self.layout != layout:
            raise AxisError(
                f"with_layout: the layout is already fixed, {self.layout!r}",
                found=self.text,
                fix="make the description without layout=",
            )
        (base,) = self.bases
        stored = TensorDescription(base.axes, base.dtype, layout, base.name, base.read_only)
        stored.line = base.line
        return self.on({id(base): stored})

    def on(self, bases: Mapping[int, TensorDescription]) -> TensorDescription:
        """Return the same view of new allocations, given by the `id` of the replaced ones."""
        if not self.sources:
            return bases.get(id(self), self)
        assert self.step is not None
        first, *more = (each.on(bases) for each in self.sources)
        made = first.seen(self.axes, self.step, *more)
        made.name, made.line = self.name, self.line
        return made

    def allocated(self, graph: Graph, mapping: Any = 0, initial_value: Any = None) -> Tensor:
        """Return a new variable for the storage of an allocation, in its stored shape.

        Args:
            graph: the graph of the variable.
            mapping: the mapping of its elements, as stored.
            initial_value: an array of the stored shape.
        """
        check_kind(graph, Graph, "allocated: graph", "pass a pl.Graph()")
        shape = (self._layout or layouts.row_major(self.axes)).stored_shape
        return graph.add_variable(
            self.dtype, shape, self.name, mapping=mapping, initial_value=initial_value
        )

    def view(self, *storage: Tensor) -> Tensor:
        """Return the elements as a `pl.Tensor`, with a dimension for each axis.

        Args:
            storage: for each of `bases`, a tensor of its stored shape, or in the order of its axes
                while its layout is not fixed.

        Raises:
            AxisError: for the wrong number of tensors, or a tensor of the wrong shape.

        >>> import poplite as pl, poplite.named as ng
        >>> H, W = ng.make_axis(3, "H"), ng.make_axis(4, "W")
        >>> x = TensorDescription([H, W], layout=ng.column_major([H, W]))
        >>> stored = pl.Graph().add_variable(pl.FLOAT, (4, 3), "x", mapping=0)
        >>> x.flatten(copy="view").view(stored).shape, x.slice({H: 1}).view(stored).shape
        ((12,), (4,))
        """
        if len(storage) != len(self.bases):
            raise AxisError(
                f"view: {amount(len(storage), 'tensor')} for "
                f"{amount(len(self.bases), 'allocation')}",
                found=self.text,
                fix="pass a tensor for each of description.bases",
            )
        for each in storage:
            check_kind(each, Tensor, "view: storage", "pass description.allocated(graph)")
        of = {id(base): tensor for base, tensor in zip(self.bases, storage, strict=True)}
        return self._view(of)

    def _view(self, storage: Mapping[int, Tensor]) -> Tensor:
        if self.sources:
            assert self.step is not None
            tensors = [each._view(storage) for each in self.sources]
            return self.step.view([each.axes for each in self.sources], tensors, self.axes)
        layout, tensor = self._layout or layouts.row_major(self.axes), storage[id(self)]
        if tensor.shape != layout.stored_shape:
            raise AxisError(
                f"view: storage has shape {tensor.shape}, but the layout is {layout!r}",
                found=self.text,
                fix=f"pass a tensor of shape {layout.stored_shape}",
            )
        lengths = [axis.known_length("a view") for axis in layout.order]
        if tensor.shape != tuple(lengths):
            tensor = tensor[tuple(slice(length) for length in lengths)]
        if layout.order == self.axes:
            return tensor
        return tensor.dim_shuffle([layout.order.roots.index(root) for root in self.axes.roots])

    def _check_stride(self, axis: Axis, first: int) -> None:
        """Raise NeedsCopyError if the elements of a joined axis are not at a single stride."""
        where = self._strided
        if where is None or not isinstance(axis, FlattenedAxis):
            return
        own = where.digits[first : first + len(axis.axes)]
        known = [digit for each in own if each is not None for digit in each]
        if None in own or len(layouts.fewest_digits(known)) > 1:
            raise needs_copy(self.text, axis, axis.axes, own)

    # -- text --------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """Its description in messages."""
        what = f"view by {self.step.what}" if self.step is not None else "description"
        name = f"'{self.name}' " if self.name else ""
        return f"{name}{self.axes}, {what} made at {self.line}"

    def explain(self) -> str:
        """Return its axes, layout, steps and the positions of its elements, one per line."""
        pieces = 0 if self._strided is not None or not self.fixed else self._example.num_regions()
        return explained(self, pieces)

    def __repr__(self) -> str:
        kind = (
            f"view by {self.step.what}" if self.step is not None else repr(self._layout or "free")
        )
        return f"<TensorDescription {self.name + ' ' if self.name else ''}{self.axes} {kind}>"


_LAYOUTS = "pass layout=ng.row_major({0}), or call with_layout"


# -- checks of the arguments of views --------------------------------------------------------------


def listed_parts(parts: Mapping[Axis, Any], what: str, fix: str) -> ItemsView[Axis, Any]:
    """Return axes, each with the requested change."""
    try:
        return parts.items()
    except (AttributeError, TypeError):
        check_kind(parts, Mapping, what, f"description.{fix}")
        raise


def pair_of(pair: Sequence[int], own: Axis) -> Sequence[int]:
    """Return the widths of a border before and after an axis."""
    fix = f"description.pad({{{own.name}: (1, 2)}})"
    check_kind(pair, (list, tuple), f"pad: the widths of '{own.name}'", fix)
    if len(pair) != 2:
        found = amount(len(pair), "width")
        raise AxisLengthError(f"pad: {found} for axis '{own.name}'", fix=fix)
    return pair


def checked_index(index: Sequence[int], axes: Axes, of: Named) -> tuple[int, ...]:
    """Return the indices of an element, with negative ones made positive."""
    check_kind(index, (list, tuple), "at: index", "description.at((0, 1))")
    numbers = [integer_or_none(each) for each in index]
    lengths = [axis.known_length("at") for axis in axes]
    is_inside = len(numbers) == len(lengths) and all(
        each is not None and -length <= each < length
        for each, length in zip(numbers, lengths, strict=True)
    )
    if not is_inside:
        raise TensorIndexError(
            f"at: there is no index {clipped(tuple(index))}",
            found=of.text,
            fix=f"pass an index for each axis, less than {tuple(lengths)}; -1 is the last",
        )
    return tuple((each or 0) % length for each, length in zip(numbers, lengths, strict=True))


# -- texts of descriptions -------------------------------------------------------------------------


NO_COPY = "; no copy"
"""The cost of a view."""


def explained(description: TensorDescription, pieces: int) -> str:
    """Return axes, layout, steps and positions of elements; `pieces` is 0 if strides give them."""
    name = description.name or ("view" if description.is_view else "tensor")
    lines = [f"{name} {description.axes} {description.dtype!r}"]
    taken: list[str] = []
    node = description
    while node.step is not None:
        taken.insert(0, node.step.what)
        node = node.sources[0]
    if description.is_view:
        names = ", ".join(f"{_quoted(each.name)}{each.axes}" for each in description.bases)
        lines.append(f"  view of {names}: {', '.join(taken)}{NO_COPY}")
    for base in description.bases:
        room = "layout free" if base.layout is None else repr(base.layout)
        lines.append(f"  {base.name or 'storage'}: {room}")
    if pieces:
        lines.append(f"  in {amount(pieces, 'piece')}, which no strides describe")
    elif description.offset is not None and description.rank:
        told = ", ".join("several" if s is None else str(s) for s in description.strides)
        lines.append(f"  strides {told}; offset {description.offset}")
    return "\n".join(lines)


def _quoted(name: str) -> str:
    return f"'{name}' " if name else ""


def needs_copy(
    text: str, axis: Axis, parts: Axes, digits: Sequence[layouts.Digits | None]
) -> NeedsCopyError:
    """Return the error for the first two parts of an axis that have no common stride."""
    fix = 'pass copy="view" for a view of several pieces, or use another layout'
    long = [(p, own) for p, own in zip(parts, digits, strict=True) if p.length != 1]
    for (outer, left), (inner, right) in zip(long, long[1:], strict=False):
        if left is None or right is None or len(left) != 1 or len(right) != 1:
            continue
        ((_, have),), ((length, stride),) = left, right
        if have != length * stride:
            return NeedsCopyError(
                f"flatten: axis '{axis.name}' has no stride: '{outer.name}' has stride {have}, "
                f"and {length * stride} = {length} x {stride} is needed over '{inner.name}'",
                found=text,
                fix=fix,
            )
    return NeedsCopyError(
        f"flatten: axis '{axis.name}' has no stride: a part has several", found=text, fix=fix
    )
