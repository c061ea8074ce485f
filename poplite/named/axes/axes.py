"""The axes of a tensor: a list, with the questions and the algebra of a set.

    (H, W) + (N,)    one behind the other; an axis twice is refused
    (H, W) | (W, N)  (H, W, N)
    (H, W) & (W, N)  (W,)
    (H, W) - (W, N)  (H,)

What counts is the roots of axes, never their names or lengths.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import EllipsisType
from typing import TYPE_CHECKING, Any, overload

from poplite.errors import (
    AxisError,
    AxisLengthError,
    DuplicateAxisError,
    MissingAxisError,
    TensorIndexError,
    did_you_mean,
)
from poplite.named.axes.axis import Axis, AxisRoot, check_kind, make_axis
from poplite.text import amount, clipped, items_or_none, of_type

if TYPE_CHECKING:
    from poplite.named.axes.roles import AxisRole

AxesLike = Axis | Iterable[Any] | EllipsisType | None
"""An Axis, or a list, tuple or Axes of them; a list in a list stands for one flattened axis."""


class Axes:
    """Some axes in an order, each at most once.

    Args:
        items: an axis, or several as a list, a tuple, a generator, an Axes or a dictionary of names
            and lengths, which makes new ones. A list in it is one flattened axis.

    Raises:
        DuplicateAxisError: for an axis that occurs twice, and for two that a user gave one name.
        AxisError: for anything else that is no axis.

    >>> H, W, N = (make_axis(length, name) for length, name in ((3, "H"), (4, "W"), (8, "N")))
    >>> Axes([H, W]) | Axes([W, N]), Axes([H, W]) - W, (H + W).size
    ((H:3, W:4, N:8), (H:3), 12)
    """

    __slots__ = ("items", "roots", "root_set", "_identities")
    items: tuple[Axis, ...]
    roots: tuple[AxisRoot, ...]
    root_set: frozenset[AxisRoot]
    _identities: frozenset[int]

    def __init__(self, items: AxesLike = ()) -> None:
        if isinstance(items, Axes):
            self.items, self.roots, self.root_set = items.items, items.roots, items.root_set
            return
        if items.__class__ not in (list, tuple):
            items = _listed(items)
        try:
            roots = tuple([each.root for each in items])
        except AttributeError:
            items = [_item(each) for each in items]
            roots = tuple([each.root for each in items])
        self.items = tuple(items)
        self.roots = roots
        self.root_set = frozenset(roots)
        if len(roots) > 1:
            names = {root.given or root for root in roots}
            if len(names) < len(roots):
                raise _twice(self.items)

    @property
    def identities(self) -> frozenset[int]:
        """The numbers of the axis objects: of those that two lists share, all lengths agree."""
        try:
            return self._identities
        except AttributeError:
            self._identities = frozenset(map(id, self.items))
            return self._identities

    # -- a list ----------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Axis]:
        return iter(self.items)

    @overload
    def __getitem__(self, key: int) -> Axis: ...

    @overload
    def __getitem__(self, key: slice) -> Axes: ...

    def __getitem__(self, key: int | slice) -> Axis | Axes:
        try:
            return some(self.items[key]) if isinstance(key, slice) else self.items[key]
        except TypeError:
            check_kind(key, int, "an index of axes", "axes[0], axes.find('H') or axes.index(H)")
            raise
        except IndexError:
            raise TensorIndexError(
                f"there is no axis {key} among {self}",
                found=amount(len(self), "axis", "axes"),
                fix=f"from {-len(self)} to {len(self) - 1}" if self.items else "axes that has some",
            ) from None

    def __contains__(self, axis: object) -> bool:
        return isinstance(axis, Axis) and axis.root in self.root_set

    def index(self, axis: Axis) -> int:
        """Return the position of an axis; raises MissingAxisError where it is not among these."""
        try:
            return self.roots.index(axis.root)
        except (AttributeError, ValueError):
            raise missing("axes", axis, self) from None

    def own(self, axis: Axis) -> Axis:
        """Return the axis of these that pairs with another one."""
        return self.items[self.index(axis)]

    # -- algebra ---------------------------------------------------------------------------------

    def __add__(self, other: AxesLike) -> Axes:
        right = axes_of(other)
        return Axes(self.items + right.items)

    def __radd__(self, other: AxesLike) -> Axes:
        return axes_of(other) + self

    def __sub__(self, other: AxesLike) -> Axes:
        others = axes_of(other).root_set
        return some([each for each in self.items if each.root not in others])

    def __rsub__(self, other: AxesLike) -> Axes:
        return axes_of(other) - self

    def __or__(self, other: AxesLike) -> Axes:
        right = axes_of(other)
        if right.root_set <= self.root_set:
            return self
        mine = self.root_set
        return Axes([*self.items, *[each for each in right.items if each.root not in mine]])

    def __ror__(self, other: AxesLike) -> Axes:
        return axes_of(other) | self

    def __and__(self, other: AxesLike) -> Axes:
        others = axes_of(other).root_set
        return some([each for each in self.items if each.root in others])

    def __rand__(self, other: AxesLike) -> Axes:
        return axes_of(other) & self

    def __eq__(self, other: object) -> bool:
        return self.roots == other.roots if isinstance(other, Axes) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.roots)

    def is_sub_set(self, other: AxesLike) -> bool:
        """Tell whether all of these are among others."""
        return self.root_set <= axes_of(other).root_set

    def is_super_set(self, other: AxesLike) -> bool:
        """Tell whether all others are among these."""
        return self.root_set >= axes_of(other).root_set

    def is_equal_set(self, other: AxesLike) -> bool:
        """Tell whether these are the others, in any order."""
        return self.root_set == axes_of(other).root_set

    def is_not_equal_set(self, other: AxesLike) -> bool:
        """Tell whether these and the others differ, in any order."""
        return self.root_set != axes_of(other).root_set

    # -- questions -------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple([each.name for each in self.items])

    @property
    def lengths(self) -> tuple[int | None, ...]:
        """The lengths, in order; None for one that is not set yet."""
        return tuple([each.length for each in self.items])

    @property
    def full_lengths(self) -> tuple[Any, ...]:
        """The lengths, and for a flattened axis those of its parts as a tuple."""
        return tuple([each.full_length for each in self.items])

    @property
    def size(self) -> int | None:
        """Number of elements of a tensor with these axes: 1 for none; None while one is not set."""
        lengths = self.lengths
        return None if None in lengths else math.prod(lengths)  # type: ignore[arg-type]

    def find(self, name: str) -> Axis:
        """Return the axis of a name; raises MissingAxisError, with the names there are."""
        for axis in self.items:
            if isinstance(name, str) and axis.name == name:
                return axis
        raise MissingAxisError(
            f"no axis of {self} is named {clipped(name)}{did_you_mean(name, self.names)}",
            found=f"the names are {', '.join(self.names)}" if self.items else "there is no axis",
            fix=f"axes.find('{self.names[0]}')" if self.items else "",
        )

    def role_axes(self, role: AxisRole) -> Axes:
        """Return the axes that have a role, in order."""
        return some([each for each in self.items if each.has_role(role)])

    def add_role(self, role: AxisRole) -> Axes:
        """Give all of them a role, and return them."""
        for axis in self.items:
            axis.add_role(role)
        return self

    def set_shape(self, lengths: Iterable[int]) -> None:
        """Set all lengths; raises AxisLengthError for another number of them."""
        found = items_or_none(lengths)
        if found is None:
            raise AxisError(
                f"set_shape: lengths is {clipped(lengths)}",
                found=f"{of_type(lengths)}; the axes are {self}",
                fix="a list of lengths, one for each axis",
            )
        listed = tuple(found)
        if len(listed) != len(self.items):
            raise AxisLengthError(
                f"{amount(len(listed), 'length')} for {amount(len(self.items), 'axis', 'axes')}",
                found=f"{self} and {clipped(listed)}",
                fix="a length for each axis",
            )
        for axis, length in zip(self.items, listed, strict=True):
            axis.length = length

    def flatten(self, force: bool = False) -> Axis:
        """Return one axis for all of them.

        Args:
            force: whether a single axis is flattened too; otherwise it is returned itself.
        """
        from poplite.named.axes.flattened import FlattenedAxis  # which is made of axes

        return self.items[0] if len(self.items) == 1 and not force else FlattenedAxis(self)

    def __repr__(self) -> str:
        return f"({', '.join(map(repr, self.items))})"


def some(items: Iterable[Axis]) -> Axes:
    """Return axes that are known to be different ones."""
    made = Axes.__new__(Axes)
    made.items = tuple(items)
    made.roots = tuple([each.root for each in made.items])
    made.root_set = frozenset(made.roots)
    return made


def alike(items: list[Axis], axes: Axes) -> Axes:
    """Return axes that pair with others, one for one in their order, and may have other lengths."""
    made = Axes.__new__(Axes)
    made.items, made.roots, made.root_set = tuple(items), axes.roots, axes.root_set
    return made


def make_axes(items: AxesLike = ()) -> Axes:
    """Return axes of a list of them, or of a dictionary of names and lengths.

    Raises:
        DuplicateAxisError: for an axis that occurs twice, and for two of one name.
        AxisError: for anything else that is no axis.

    >>> make_axes({"H": 3, "W": 4})
    (H:3, W:4)
    """
    return Axes(items)


def axes_of(like: AxesLike) -> Axes:
    """Return what a user gave as axes: an axis, several, or None for none."""
    if like.__class__ is Axes:
        return like
    return Axes(() if like is None else like)


def chosen(like: AxesLike, all_axes: Axes, what: str) -> Axes:
    """Return axes that a user listed, among those of a tensor; `...` stands for all others.

    Raises MissingAxisError for one that the tensor has not, and DuplicateAxisError for one that is
    listed twice.
    """
    listed: Any = [like] if like is ... else like
    if listed.__class__ in (list, tuple) and EllipsisType in map(type, listed):
        named = Axes([each for each in listed if each is not ...])
        others = (all_axes - named).items
        if sum(each is ... for each in listed) > 1:
            raise DuplicateAxisError(
                f"{what}: '...' stands twice in the list",
                found=f"the axes are {all_axes}",
                fix="once",
            )
        listed = [axis for each in listed for axis in (others if each is ... else (each,))]
    try:
        axes = axes_of(listed)
    except AxisError:
        given = listed if isinstance(listed, list | tuple) else [listed]
        for each in given:
            if isinstance(each, str | int):
                raise missing(what, each, all_axes) from None
        raise
    if not axes.root_set <= all_axes.root_set:
        raise missing(what, next(each for each in axes if each not in all_axes), all_axes)
    own, where = all_axes.items, all_axes.roots.index
    return alike([own[where(root)] for root in axes.roots], axes)


def order_of(left: Axes, right: Axes) -> Axes:
    """Return the axes of two operands together.

    Of one set, those of the left; where one has all of the other's, the larger's; otherwise the
    left's, then those that only the right has. Source: seed 002, "Elementwise Binary Ops".
    """
    one, other = left.root_set, right.root_set
    if other <= one:
        return left
    return right if one < other else left | right


def same_lengths(left: Axes, right: Axes) -> AxisRoot | None:
    """Return the first root whose lengths in both are known and differ; None for none."""
    for axis in left.items:
        if axis.root in right.root_set:
            other = right.own(axis)
            if axis is not other:
                one, two = axis.length, other.length
                if one != two and one is not None and two is not None:
                    return axis.root
    return None


def check_lengths(
    what: str, left: Axes, right: Axes, told: Callable[[], tuple[str, str]] | None = None
) -> None:
    """Raise AxisLengthError where two axes that pair have different lengths.

    Args:
        what: the operation.
        left: axes of one operand.
        right: axes of the other.
        told: returns what messages say of the two operands, by default their axes.
    """
    root = same_lengths(left, right)
    if root is None:
        return
    one, other = (next(a for a in axes if a.root is root) for axes in (left, right))
    texts = told() if told is not None else (repr(left), repr(right))
    lines = [
        f"{side:<5} {text}{_part_of(axis)}"
        for side, text, axis in zip(("left", "right"), texts, (one, other), strict=True)
    ]
    long, short = sorted((one, other), key=lambda axis: -(axis.length or 0))
    raise AxisLengthError(
        f"{what}: axis '{root.shown}' has length {one.length} in the left operand and "
        f"{other.length} in the right",
        found="\n".join(lines),
        fix=f"x[{long.name}, 0:{short.length}] of the longer one, "
        f"or {long.name}.fresh() if they are different axes",
    )


def _part_of(axis: Axis) -> str:
    origin = axis.origin
    is_part = origin is not axis and origin.root is axis.root
    return f"; its {axis.name} is {axis.text} of {origin!r}" if is_part else ""


def missing(what: str, axis: object, axes: Axes, of: str = "") -> AxisError:
    """Return the error for something that is not among axes; `of` tells whose they are."""
    known = f"the axes are {axes}" if axes.items else "there are no axes"
    if not isinstance(axis, Axis):
        fix = known
        if isinstance(axis, str) and axis in axes.names:
            fix = f"the axis itself: axes.find({axis!r}) of {axes}"
        return AxisError(f"{what}: {clipped(axis)} is no axis", found=of_type(axis), fix=fix)
    twin = next((each for each in axes if each.name == axis.name), None)
    if twin is not None:
        return MissingAxisError(
            f"{what}: '{axis.name}' is another axis than the '{twin.name}' of {axes}",
            found=f"it was made at {axis.line}, the other at {twin.line}",
            fix="the same object for both, or ng.cast_axes",
        )
    return MissingAxisError(
        f"{what}: no axis '{axis.name}' among {axes}{did_you_mean(axis.name, axes.names)}",
        found="\n".join(filter(None, [of, f"'{axis.name}' was made at {axis.line}"])),
        fix=known,
    )


def _twice(items: tuple[Axis, ...]) -> DuplicateAxisError:
    """Return the error for the first axis that occurs twice, itself or by its name."""
    seen: dict[object, Axis] = {}
    for axis in items:
        other = seen.setdefault(axis.root, axis)
        if other is not axis or sum(each is axis for each in items) > 1:
            return DuplicateAxisError(
                f"axis '{axis.name}' occurs twice",
                found=f"({', '.join(map(repr, items))})",
                fix=f"{axis.name}.fresh() pairs with nothing else",
            )
        if axis.root.given is not None:
            twin = seen.setdefault(axis.root.given, axis)
            if twin is not axis:
                return DuplicateAxisError(
                    f"two different axes are named '{axis.name}'",
                    found=f"one was made at {twin.line}, the other at {axis.line}",
                    fix="one axis object for both, or another name",
                )
    raise AssertionError(items)


def _listed(items: object) -> list[Any]:
    """Return the items of what is no list and no tuple."""
    if isinstance(items, Axis):
        return [items]
    if isinstance(items, Mapping):
        return [make_axis(length, name) for name, length in items.items()]
    if isinstance(items, str):
        raise AxisError(
            f"axes of a text, {clipped(items)}",
            found="an axis is an object, not a name",
            fix="H, W = ng.make_axis(3, 'H'), ng.make_axis(4, 'W'); ng.make_axes([H, W])",
        )
    if isinstance(items, set | frozenset):
        raise AxisError("axes of a set, which has no order", found=clipped(items), fix="a list")
    listed = items_or_none(items)
    if listed is None:
        raise _no_axis(items)
    return listed


MOST_NESTED = 50
"""Lists in lists of axes, each of which makes one axis of those in it."""


def _item(item: object) -> Axis:
    """Return an item of a list of axes."""
    if isinstance(item, Axis):
        return item
    if not isinstance(item, list | tuple | Axes):
        raise _no_axis(item)
    inner: list[Any] = [item]
    for _ in range(MOST_NESTED):
        inner = [each for part in inner for each in part if isinstance(each, list | tuple)]
    if inner:
        raise _no_axis(item)
    return Axes(item).flatten(force=True)


def _no_axis(item: object) -> AxisError:
    fix = "ng.make_axis(3, 'H') makes an axis"
    if hasattr(item, "dtype"):
        fix = "the axes first, then values: ng.variable(axes, array); for a constant values first"
    if isinstance(item, EllipsisType):
        fix = "list the axes; '...' stands for others only where a tensor has them"
    return AxisError(f"{clipped(item)} is no axis", found=of_type(item), fix=fix)
