"""Named dimensions: a single axis, the axes of a tensor, a flattened axis.

    H = make_axis(3, "H")       a new root
    H.slice(slice(1, 3))        the same root, length 2
    H.resized(5)                the same root, length 5
    H.fresh("G")                another root, with the length of H, even if set later

Two axes pair, and are equal, if they have the same root, whatever their names and lengths.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from types import EllipsisType
from typing import Any, NoReturn, overload

from poplite.errors import (
    AxisError,
    AxisLengthError,
    DuplicateAxisError,
    MissingAxisError,
    TensorIndexError,
    UnsetLengthError,
    checked_kind,
    did_you_mean,
    made_by,
)
from poplite.source import SourceLocation, here
from poplite.text import amount, clipped, integer_or_none, items_or_none, of_type

Slice = slice  # an axis has a method with this name


class AxisRoot:
    """The identity of an axis, shared by its slices and by copies with other lengths.

    Attributes:
        given: the name that a user gave; None if there is none.
        shown: the name in messages.
        joined: the roots of flattened axes that begin with it, by the roots of all parts.
    """

    __slots__ = ("given", "shown", "joined")
    _made = 0

    def __init__(self, given: str | None, shown: str = "") -> None:
        AxisRoot._made += 1
        self.given: str | None = given
        self.shown: str = given or shown or f"axis{AxisRoot._made}"
        self.joined: dict[tuple[AxisRoot, ...], AxisRoot] = {}


@made_by('ng.make_axis_role("Height")')
class AxisRole:
    """A kind of axis; two roles are the same only if they are one object.

    Attributes:
        name: the name in messages; None until it has one.
        docstring: its purpose.
        line: the user's line that made it.

    >>> import poplite.named as ng
    >>> Height = ng.make_axis_role("Height")
    >>> H = ng.make_axis(3, "H", roles=[Height])
    >>> H.has_role(Height), H.has_role(ng.make_axis_role("Height"))
    (True, False)
    """

    __slots__ = ("name", "docstring", "line")
    name: str | None
    docstring: str

    def __init__(self, name: str | None, docstring: str) -> None:
        self.name, self.docstring = name, docstring
        self.line: SourceLocation = here()

    def __repr__(self) -> str:
        return f"<AxisRole {self.name or 'without a name'}>"


def checked_roles(roles: Iterable[AxisRole]) -> list[AxisRole]:
    """Return roles as a list; raises AxisError for anything else."""
    found = items_or_none(roles)
    listed: list[Any] = [roles] if found is None else found
    for role in listed:
        if not isinstance(role, AxisRole):
            raise AxisError(
                f"{clipped(role)} is not an axis role",
                found=of_type(role),
                fix="pass roles=[ng.make_axis_role('Height')]",
            )
    return listed


@made_by('ng.make_axis(3, "H")')
class Axis:
    """A dimension of named tensors.

    Attributes:
        root: the identity that it shares with the axes that it pairs with.
        docstring: its purpose.
        line: the user's line that made it.

    >>> H = make_axis(3, "H")
    >>> H, H.slice(slice(1, 3)), H == H.resized(7), H == H.fresh()
    (H:3, H[1:3]:2, True, False)
    """

    __slots__ = ("root", "docstring", "line", "_length", "_source", "_roles", "_user")
    root: AxisRoot
    docstring: str

    def __init__(
        self,
        root: AxisRoot,
        length: int | None,
        source: tuple[Axis, slice] | None,
        roles: Iterable[AxisRole] = (),
        docstring: str = "",
    ) -> None:
        self.root, self.docstring = root, docstring
        self.line: SourceLocation = here()
        self._length, self._source = length, source
        self._roles = dict.fromkeys(roles)
        self._user = ""

    # -- pairing -----------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        return self.root is other.root if isinstance(other, Axis) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.root)

    # -- name and length ---------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name that it was given, or an automatic one that differs from those of other axes."""
        return self.root.shown

    @property
    def length(self) -> int | None:
        """The number of indices; None while it is not known.

        It may be set, and changed, until a tensor with the axis has storage, or an operation
        depends on it (an index from the end, `concat`, `stack`, `pad`, a derivative of parts);
        slices of the axis follow it.

        Raises:
            AxisLengthError: if it is not a non-negative integer; or if it is the length of a slice,
                or is already fixed.
        """
        if self._source is None:
            return self._length
        axis, part = self._source
        length = axis.length
        return None if length is None else len(range(*part.indices(length)))

    @length.setter
    def length(self, length: int) -> None:
        if self._source is not None:
            raise AxisLengthError(
                f"the length of '{self.text}' follows that of '{self._source[0].text}'",
                found=f"it was made at {self.line}",
                fix=f"{self._source[0].name}.length = ...",
            )
        found = checked_length(length, f"the length of axis '{self.name}'")
        if self._user and found != self._length:
            raise AxisLengthError(
                f"axis '{self.name}' has length {self._length}, and {self._user} relies on it;"
                f" it cannot become {found}",
                found=f"'{self.name}' was made at {self.line}",
                fix=f"use {self.name}.resized({found}), or another axis",
            )
        self._length = found

    @property
    def full_length(self) -> object:
        """The length; for a flattened axis, those of its parts, as a tuple."""
        return self.length

    def known_length(self, what: str) -> int:
        """Return the length; raises UnsetLengthError, naming `what`, if it is not set yet."""
        length = self.length
        if length is None:
            raise UnsetLengthError(
                f"{what}: the length of axis '{self.name}' has not been set",
                found=f"'{self.name}' was made at {self.line}",
                fix=f"{self.origin.name}.length = 16",
            )
        return length

    def keep_length(self, user: str) -> None:
        """Freeze the length, since `user`, a tensor, depends on it."""
        checked_kind(user, str, "axis.keep_length: user", "pass the name of a tensor")
        if self._source is not None:
            self._source[0].keep_length(user)
        elif not self._user:
            self._user = user

    @property
    def origin(self) -> Axis:
        """The axis that this is a part of; otherwise the axis itself."""
        return self if self._source is None else self._source[0].origin

    def has_all_in_order(self) -> bool:
        """Return whether it has all indices of its origin, in order; False for an unset length."""
        length = self.origin.length
        return length is not None and self._taken(length) == range(length)

    def _taken(self, length: int) -> range:
        """Return the indices that it takes from its origin, for a given length."""
        if self._source is None:
            return range(length)
        axis, part = self._source
        return axis._taken(length)[part]

    # -- derived axes ------------------------------------------------------------------------------

    def slice(self, part: slice) -> Axis:
        """Return a part, which pairs with this axis; its length follows from Python's slice rules.

        Args:
            part: `slice(1, 3)`, with a step of any sign.

        Raises:
            AxisError: for anything other than a slice of whole numbers.
        """
        if not is_slice(part):
            raise AxisError(
                f"axis '{self.name}': {clipped(part)} is not a slice of it",
                found=of_type(part),
                fix=f"{self.name}.slice(slice(1, 3))",
            )
        if part.step == 0:
            raise AxisError(
                f"axis '{self.name}': the step of a slice must not be 0", fix="slice(0, 4, 2)"
            )
        return self.part(part)

    def part(self, part: Slice) -> Axis:
        """Return a part, as `slice` does, for a slice that is known to be valid."""
        made = Axis.__new__(Axis)
        made.root, made.docstring, made.line = self.root, self.docstring, self.line
        made._length, made._source, made._roles, made._user = None, (self, part), self._roles, ""
        if made._roles:
            made._roles = made._roles.copy()
        return made

    def resized(self, length: int) -> Axis:
        """Return an axis with another length and the same root, which pairs with this one.

        Raises:
            AxisLengthError: if the length is not a non-negative integer.
        """
        number = checked_length(length, f"the length of axis '{self.name}'")
        return Axis(self.root, number, None, self._roles, self.docstring)

    def fresh(self, name: str | None = None) -> Axis:
        """Return a new axis with the same length and roles, which does not pair with this one.

        Args:
            name: the name of the new axis; by default, an automatic one.
        """
        check_axis_name(name)
        root = AxisRoot(name, "" if name else f"{self.name}'")
        return Axis(root, None, (self, slice(None)), self._roles, self.docstring)

    # -- roles -------------------------------------------------------------------------------------

    @property
    def roles(self) -> tuple[AxisRole, ...]:
        """Its roles, in the order in which they were added."""
        return tuple(self._roles)

    def has_role(self, role: AxisRole) -> bool:
        """Return whether it has a role."""
        return checked_roles([role])[0] in self._roles

    def add_role(self, role: AxisRole) -> Axis:
        """Add a role, and return the axis."""
        self._roles[checked_roles([role])[0]] = None
        return self

    # -- as a list of one axis ---------------------------------------------------------------------

    def __add__(self, other: AxesLike) -> Axes:
        return _alone(self) + other

    def __sub__(self, other: AxesLike) -> Axes:
        return _alone(self) - other

    def __or__(self, other: AxesLike) -> Axes:
        return _alone(self) | other

    def __and__(self, other: AxesLike) -> Axes:
        return _alone(self) & other

    # -- text, and unsupported uses ----------------------------------------------------------------

    @property
    def text(self) -> str:
        """Its name and part: `H`, `H[1:3]`."""
        if self._source is None or self._source[0].root is not self.root:
            return self.name
        axis, part = self._source
        step = "" if part.step is None else f":{part.step}"
        ends = ["" if each is None else str(each) for each in (part.start, part.stop)]
        return f"{axis.text}[{':'.join(ends)}{step}]"

    def __repr__(self) -> str:
        length = self.length
        return f"{self.text}:{'?' if length is None else length}"

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> NoReturn:
        raise self._no_sequence("an axis has no len", f"{self.name}.length")

    def __iter__(self) -> NoReturn:
        raise self._no_sequence("an axis cannot be iterated", f"range({self.name}.length)")

    def __getitem__(self, key: object) -> NoReturn:
        raise self._no_sequence("an axis cannot be indexed", f"{self.name}.slice(slice(1, 3))")

    def _no_sequence(self, what: str, fix: str) -> AxisError:
        return AxisError(f"'{self.name}': {what}", found=repr(self), fix=fix)


def _alone(axis: Axis) -> Axes:
    return Axes((axis,))


PLAIN = frozenset([int, type(None)])
"""The types of slice ends that need no further check."""


def is_slice(part: object) -> bool:
    """Return whether an object is a slice of whole numbers."""
    if not isinstance(part, slice):
        return False
    ends = part.start, part.stop, part.step
    return {*map(type, ends)} <= PLAIN or all(
        each is None or integer_or_none(each) is not None for each in ends
    )


def checked_length(value: object, what: str) -> int:
    """Return a length given by a user, `what`; raises AxisLengthError for anything else."""
    number = integer_or_none(value)
    if number is None or number < 0 or isinstance(value, bool):
        raise AxisLengthError(
            f"{what} is {clipped(value)}",
            found=of_type(value),
            fix="pass a non-negative whole number",
        )
    return number


def check_kind(value: object, kind: type | tuple[type, ...], what: str, fix: str) -> None:
    """Raise AxisError for an argument of the wrong kind."""
    if not isinstance(value, kind):
        raise AxisError(f"{what} is {clipped(value)}", found=of_type(value), fix=fix)


def check_axis_name(name: object) -> None:
    """Raise AxisError for a name that is not text."""
    if name is not None and not (isinstance(name, str) and name):
        raise AxisError(
            f"the name of an axis must be text; found {clipped(name)}",
            found=of_type(name),
            fix='pass the length first, and then the name: make_axis(3, "H")',
        )


def make_axis(
    length: int | None = None,
    name: str | None = None,
    roles: Iterable[AxisRole] = (),
    docstring: str = "",
) -> Axis:
    """Return a new axis, which does not pair with any other.

    Args:
        length: the number of indices; by default, it is set later: `axis.length = 128`.
        name: the name in messages and pictures; by default, an automatic one.
        roles: its meanings, such as `ar.Height`.
        docstring: its purpose.

    Raises:
        AxisLengthError: if the length is not a non-negative integer.
        AxisError: if the name is not text, or a role is unknown.

    >>> make_axis(3, "height")
    height:3
    """
    check_axis_name(name)
    root = AxisRoot(name)
    what = f"the length of axis '{root.shown}'"
    number = None if length is None else checked_length(length, what)
    return Axis(root, number, None, checked_roles(roles), docstring)


# -- the axes of a tensor --------------------------------------------------------------------------
#
#     (H, W) + (N,)    concatenated; a repeated axis is rejected
#     (H, W) | (W, N)  (H, W, N)
#     (H, W) & (W, N)  (W,)
#     (H, W) - (W, N)  (H,)
#
# Axes are compared by their roots, never by their names or lengths.


AxesLike = Axis | Iterable[Any] | EllipsisType | None
"""An Axis, or a list, tuple or Axes of them; an inner list is one flattened axis."""


class Axes:
    """An ordered list of distinct axes.

    Args:
        items: an axis, or several as a list, a tuple, a generator, an Axes or a dictionary of names
            and lengths, which makes new axes. A nested list is one flattened axis.

    Raises:
        DuplicateAxisError: for an axis that occurs twice, or two axes to which a user gave the same
            name.
        AxisError: for anything else that is not an axis.

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
        """The ids of the axis objects: axes that two lists share by id also have equal lengths."""
        try:
            return self._identities
        except AttributeError:
            self._identities = frozenset(map(id, self.items))
            return self._identities

    # -- a list ------------------------------------------------------------------------------------

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
            fix = "use axes[0], axes.find('H') or axes.index(H)"
            check_kind(key, int, "the index of an axis", fix)
            raise
        except IndexError:
            raise TensorIndexError(
                f"there is no axis {key} among {self}",
                found=amount(len(self), "axis", "axes"),
                fix=f"pass an index from {-len(self)} to {len(self) - 1}"
                if self.items
                else "use a tensor with axes",
            ) from None

    def __contains__(self, axis: object) -> bool:
        return isinstance(axis, Axis) and axis.root in self.root_set

    def index(self, axis: Axis) -> int:
        """Return the position of an axis; raises MissingAxisError if it is not in the list."""
        try:
            return self.roots.index(axis.root)
        except (AttributeError, ValueError):
            raise missing("axes", axis, self) from None

    def own(self, axis: Axis) -> Axis:
        """Return the axis in this list that pairs with the given one."""
        return self.items[self.index(axis)]

    # -- algebra -----------------------------------------------------------------------------------

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
        """Return whether all axes of this list are in `other`."""
        return self.root_set <= axes_of(other).root_set

    def is_super_set(self, other: AxesLike) -> bool:
        """Return whether all axes of `other` are in this list."""
        return self.root_set >= axes_of(other).root_set

    def is_equal_set(self, other: AxesLike) -> bool:
        """Return whether this list and `other` have the same axes, in any order."""
        return self.root_set == axes_of(other).root_set

    def is_not_equal_set(self, other: AxesLike) -> bool:
        """Return whether this list and `other` have different sets of axes."""
        return self.root_set != axes_of(other).root_set

    # -- properties ----------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple([each.name for each in self.items])

    @property
    def lengths(self) -> tuple[int | None, ...]:
        """The lengths, in order; None for a length that is not set yet."""
        return tuple([each.length for each in self.items])

    @property
    def full_lengths(self) -> tuple[Any, ...]:
        """The lengths; for a flattened axis, those of its parts as a tuple."""
        return tuple([each.full_length for each in self.items])

    @property
    def size(self) -> int | None:
        """The number of elements of a tensor with these axes; None while a length is not set."""
        lengths = self.lengths
        return None if None in lengths else math.prod(lengths)  # type: ignore[arg-type]

    def find(self, name: str) -> Axis:
        """Return the axis with a name; raises MissingAxisError, which lists the names."""
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
        """Add a role to all of them, and return them."""
        for axis in self.items:
            axis.add_role(role)
        return self

    def set_shape(self, lengths: Iterable[int]) -> None:
        """Set all lengths; raises AxisLengthError for the wrong number of lengths."""
        found = items_or_none(lengths)
        if found is None:
            raise AxisError(
                f"set_shape: lengths is {clipped(lengths)}",
                found=f"{of_type(lengths)}; the axes are {self}",
                fix="pass a list of lengths, one for each axis",
            )
        listed = tuple(found)
        if len(listed) != len(self.items):
            raise AxisLengthError(
                f"set_shape: {amount(len(listed), 'length')} for "
                f"{amount(len(self.items), 'axis', 'axes')}",
                found=f"{self} and {clipped(listed)}",
                fix="pass a length for each axis",
            )
        for axis, length in zip(self.items, listed, strict=True):
            axis.length = length

    def flatten(self, force: bool = False) -> Axis:
        """Return all of them as one axis.

        Args:
            force: whether a single axis is flattened too; otherwise it is returned unchanged.
        """
        return self.items[0] if len(self.items) == 1 and not force else FlattenedAxis(self)

    def __repr__(self) -> str:
        return f"({', '.join(map(repr, self.items))})"


def some(items: Iterable[Axis]) -> Axes:
    """Return axes that are known to be distinct."""
    made = Axes.__new__(Axes)
    made.items = tuple(items)
    made.roots = tuple([each.root for each in made.items])
    made.root_set = frozenset(made.roots)
    return made


def paired_axes(items: list[Axis], axes: Axes) -> Axes:
    """Return axes that pair one-to-one with others, in order, and may have different lengths."""
    made = Axes.__new__(Axes)
    made.items, made.roots, made.root_set = tuple(items), axes.roots, axes.root_set
    return made


def make_axes(items: AxesLike = ()) -> Axes:
    """Return axes from a list of them, or from a dictionary of names and lengths.

    Args:
        items: axes, in order; or a dictionary of names and lengths.

    Raises:
        DuplicateAxisError: for an axis that occurs twice, or two axes with the same name.
        AxisError: for anything else that is not an axis.

    >>> make_axes({"H": 3, "W": 4})
    (H:3, W:4)
    """
    return Axes(items)


def axes_of(like: AxesLike) -> Axes:
    """Return a user's argument as axes: an axis, several, or None for none."""
    if like.__class__ is Axes:
        return like
    return Axes(() if like is None else like)


def chosen(like: AxesLike, all_axes: Axes, what: str) -> Axes:
    """Return axes that a user listed, among those of a tensor; `...` means all others.

    Raises MissingAxisError for an axis that the tensor lacks, and DuplicateAxisError for an axis
    that is listed twice.
    """
    listed: Any = [like] if like is ... else like
    if listed.__class__ in (list, tuple) and EllipsisType in map(type, listed):
        named = Axes([each for each in listed if each is not ...])
        others = (all_axes - named).items
        if sum(each is ... for each in listed) > 1:
            raise DuplicateAxisError(
                f"{what}: '...' occurs twice in the list",
                found=f"the axes are {all_axes}",
                fix="list '...' once",
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
    return paired_axes([own[where(root)] for root in axes.roots], axes)


def joint_order(left: Axes, right: Axes) -> Axes:
    """Return the combined axes of two operands.

    For equal sets, those of the left; if one contains the other, the larger; otherwise those of
    the left, then those that only the right has. Source: seed 002, "Elementwise Binary Ops".
    """
    one, other = left.root_set, right.root_set
    if other <= one:
        return left
    return right if one < other else left | right


def same_lengths(left: Axes, right: Axes) -> AxisRoot | None:
    """Return the first root whose lengths are known in both and differ; None if there is none."""
    for axis in left.items:
        root = axis.root
        if root in right.root_set:
            other = right.items[right.roots.index(root)]
            if axis is not other:
                one, two = axis.length, other.length
                if one != two and one is not None and two is not None:
                    return root
    return None


def check_lengths(what: str, left: Axes, right: Axes, of: tuple[Any, Any] | None = None) -> None:
    """Raise AxisLengthError if two axes that pair have different lengths.

    Args:
        what: the operation.
        left: axes of one operand.
        right: axes of the other.
        of: the two operands, or texts in their place; by default their axes.
    """
    root = same_lengths(left, right)
    if root is None:
        return
    one, other = (next(a for a in axes if a.root is root) for axes in (left, right))
    texts = [getattr(each, "text", each) for each in of or (left, right)]
    lines = [
        f"{side:<5} {text}{_part_of(axis)}"
        for side, text, axis in zip(("left", "right"), texts, (one, other), strict=True)
    ]
    long, short = sorted((one, other), key=lambda axis: -(axis.length or 0))
    raise AxisLengthError(
        f"{what}: axis '{root.shown}' has length {one.length} in the left operand and "
        f"{other.length} in the right",
        found="\n".join(lines),
        fix=f"take x[{long.name}, 0:{short.length}] of the longer one, "
        f"or use {long.name}.fresh() if they are different axes",
    )


def _part_of(axis: Axis) -> str:
    origin = axis.origin
    is_part = origin is not axis and origin.root is axis.root
    return f"; its {axis.name} is {axis.text} of {origin!r}" if is_part else ""


def missing(what: str, axis: object, axes: Axes, of: str = "") -> AxisError:
    """Return the error for an object that is not among axes; `of` is their owner."""
    known = f"the axes are {axes}" if axes.items else "there are no axes"
    if not isinstance(axis, Axis):
        fix = known
        if isinstance(axis, str) and axis in axes.names:
            fix = f"pass the axis itself: axes.find({axis!r}) of {axes}"
        elif isinstance(axis, int) and -len(axes.items) <= axis < len(axes.items):
            fix = f"pass {axes.names[axis]}; {known}"
        return AxisError(f"{what}: {clipped(axis)} is not an axis", found=of_type(axis), fix=fix)
    twin = next((each for each in axes if each.name == axis.name), None)
    if twin is not None:
        return MissingAxisError(
            f"{what}: '{axis.name}' is not the same axis as '{twin.name}' of {axes}",
            found=f"it was made at {axis.line}, the other at {twin.line}",
            fix="use the same object for both, or ng.cast_axes",
        )
    return MissingAxisError(
        f"{what}: no axis '{axis.name}' among {axes}{did_you_mean(axis.name, axes.names)}",
        found="\n".join(filter(None, [of, f"'{axis.name}' was made at {axis.line}"])),
        fix=known,
    )


def _twice(items: tuple[Axis, ...]) -> DuplicateAxisError:
    """Return the error for the first axis that occurs twice, or whose name does."""
    seen: dict[object, Axis] = {}
    for axis in items:
        other = seen.setdefault(axis.root, axis)
        if other is not axis or sum(each is axis for each in items) > 1:
            return DuplicateAxisError(
                f"axis '{axis.name}' occurs twice",
                found=f"({', '.join(map(repr, items))})",
                fix=f"use {axis.name}.fresh(), which does not pair with any other axis",
            )
        if axis.root.given is not None:
            twin = seen.setdefault(axis.root.given, axis)
            if twin is not axis:
                return DuplicateAxisError(
                    f"two different axes are named '{axis.name}'",
                    found=f"one was made at {twin.line}, the other at {axis.line}",
                    fix="use one axis object for both, or another name",
                )
    raise AssertionError(items)


def _listed(items: object) -> list[Any]:
    """Return the items of an iterable that is not a list or tuple."""
    if isinstance(items, Axis):
        return [items]
    if isinstance(items, Mapping):
        return [make_axis(length, name) for name, length in items.items()]
    if isinstance(items, str):
        raise AxisError(
            f"axes cannot be given as the text {clipped(items)}",
            found="an axis is an object, not a name",
            fix="H, W = ng.make_axis(3, 'H'), ng.make_axis(4, 'W'); ng.make_axes([H, W])",
        )
    if isinstance(items, set | frozenset):
        raise AxisError(
            "axes cannot be given as a set, which has no order",
            found=clipped(items),
            fix="pass a list",
        )
    listed = items_or_none(items)
    if listed is None:
        raise _no_axis(items)
    return listed


MOST_NESTED = 50
"""Maximum depth of nested lists, each of which becomes one flattened axis."""


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
    fix = "make an axis with ng.make_axis(3, 'H')"
    if hasattr(item, "dtype"):
        fix = "pass the axes before the values: ng.variable(axes, array); for a constant, after"
    if isinstance(item, EllipsisType):
        fix = "list the axes; '...' means the other axes of a tensor, but there is no tensor here"
    return AxisError(f"{clipped(item)} is not an axis", found=of_type(item), fix=fix)


# -- one axis for several --------------------------------------------------------------------------


_NOTHING = AxisRoot(None, "()")


def _joined(roots: tuple[AxisRoot, ...]) -> AxisRoot:
    """Return the root of a flattened axis: one object for equal parts."""
    first = roots[0] if roots else _NOTHING
    found = first.joined.get(roots)
    if found is None:
        found = AxisRoot(None, f"({','.join([each.shown for each in roots])})")
        first.joined[roots] = found
    return found


class FlattenedAxis(Axis):
    """One axis for several: its indices are those of the parts in row-major order.

    It pairs with other flattened axes whose parts pair with its own, in the same order.

    Args:
        axes: the parts, as a list or Axes; without any, its length is 1.
        line: where it was made; by default, the line of the call.

    >>> from poplite.named.axes import make_axes
    >>> one = FlattenedAxis(make_axes({"H": 3, "W": 4}))
    >>> one, one.axes, one == FlattenedAxis(one.axes)
    ((H,W):12, (H:3, W:4), True)
    """

    __slots__ = ("axes",)

    def __init__(self, axes: AxesLike, line: SourceLocation | None = None) -> None:
        axes = axes_of(axes)
        self.root, self.docstring, self.line = (
            _joined(axes.roots),
            "",
            line if isinstance(line, SourceLocation) else here(),
        )
        self._length, self._source, self._roles, self._user = None, None, {}, ""
        self.axes: Axes = axes

    @property
    def length(self) -> int | None:
        """The product of the lengths of its parts; None while one is not set."""
        return self.axes.size

    @length.setter
    def length(self, length: int) -> None:
        raise AxisLengthError(
            f"the length of '{self.name}' follows from those of its parts",
            found=f"{self.axes}",
            fix=f"{self.axes[0].name}.length = ..." if self.axes.items else "",
        )

    @property
    def full_length(self) -> Any:
        """The lengths of its parts."""
        return self.axes.full_lengths

    def keep_length(self, user: str) -> None:
        """Freeze the lengths of its parts."""
        for axis in self.axes:
            axis.keep_length(user)

    def add_role(self, role: object) -> NoReturn:
        """Raise AxisError: only the parts can have roles."""
        raise AxisError(
            f"'{self.name}' cannot have roles, but its parts can",
            fix=f"call add_role on one of {self.axes}",
        )


def leaves(axes: Axes) -> list[Axis]:
    """Return the axes in order, with each flattened axis replaced by its parts."""
    found: list[Axis] = []
    for axis in axes:
        found += leaves(axis.axes) if isinstance(axis, FlattenedAxis) else [axis]
    return found
