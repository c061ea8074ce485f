"""One named dimension.

    H = make_axis(3, "H")       a root of its own
    H.slice(slice(1, 3))        the same root, length 2
    H.resized(5)                the same root, length 5
    H.fresh("G")                another root, of the length that H has or will get

Two axes pair, and are equal, when they have the same root; neither names nor lengths count.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NoReturn

from poplite.errors import AxisError, AxisLengthError, UnsetLengthError, checked_kind, made_by
from poplite.source import SourceLocation, here
from poplite.text import clipped, integer_or_none, of_type

if TYPE_CHECKING:
    from poplite.named.axes.axes import Axes, AxesLike
    from poplite.named.axes.roles import AxisRole


Slice = slice  # an axis has a method of this name


class AxisRoot:
    """What makes axes the same: one object for an axis, its slices and its other lengths.

    Attributes:
        given: the name that a user gave; None for an axis that got none.
        shown: how it is named in messages.
        joined: the roots of flattened axes that begin with it, by those of all parts.
    """

    __slots__ = ("given", "shown", "joined")
    _made = 0

    def __init__(self, given: str | None, shown: str = "") -> None:
        AxisRoot._made += 1
        self.given = given
        self.shown = given or shown or f"axis{AxisRoot._made}"
        self.joined: dict[tuple[AxisRoot, ...], AxisRoot] = {}


@made_by('ng.make_axis(3, "H")')
class Axis:
    """A dimension of named tensors.

    Attributes:
        root: what it shares with the axes that it pairs with.
        docstring: what it is for.
        line: the user's line that made it.

    >>> H = make_axis(3, "H")
    >>> H, H.slice(slice(1, 3)), H == H.resized(7), H == H.fresh()
    (H:3, H[1:3]:2, True, False)
    """

    __slots__ = ("root", "docstring", "line", "_length", "_source", "_roles", "_user")

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

    # -- what pairs ------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        return self.root is other.root if isinstance(other, Axis) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.root)

    # -- name and length -------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name that it was given, or an automatic one, which is no other axis's."""
        return self.root.shown

    @property
    def length(self) -> int | None:
        """Number of indices; None as long as it is not known.

        It may be set, and set again, until a tensor with the axis has storage, or an operation
        counts with it (an index from the end, `concat`, `stack`, `pad`, a derivative of parts);
        slices of the axis follow it.

        Raises:
            AxisLengthError: for something else than a whole number from 0; for the length of a
                slice, or of an axis whose length is fixed so.
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
        found = length_of(length, self.name)
        if self._user and found != self._length:
            raise AxisLengthError(
                f"axis '{self.name}' has length {self._length}, and {self._user} relies on it;"
                f" it cannot become {found}",
                found=f"'{self.name}' was made at {self.line}",
                fix=f"{self.name}.resized({found}), or another axis",
            )
        self._length = found

    @property
    def full_length(self) -> object:
        """The length; of a flattened axis those of its parts, as a tuple."""
        return self.length

    def known_length(self, what: str) -> int:
        """Return the length; raises UnsetLengthError, for `what`, where there is none yet."""
        length = self.length
        if length is None:
            raise UnsetLengthError(
                f"{what}: the length of axis '{self.name}' has not been set",
                found=f"'{self.name}' was made at {self.line}",
                fix=f"{self.origin.name}.length = 16",
            )
        return length

    def keep_length(self, user: str) -> None:
        """Let nobody change the length any more, since a tensor, `user`, relies on it."""
        checked_kind(user, str, "axis.keep_length: user", "the name of a tensor")
        if self._source is not None:
            self._source[0].keep_length(user)
        elif not self._user:
            self._user = user

    @property
    def origin(self) -> Axis:
        """The axis that this is a part of, or itself."""
        return self if self._source is None else self._source[0].origin

    def has_all_in_order(self) -> bool:
        """Return whether it has all indices of its origin, in their order, as far as is known."""
        length = self.origin.length
        return length is not None and self._taken(length) == range(length)

    def _taken(self, length: int) -> range:
        """Return the indices that it has of its origin, of a length."""
        if self._source is None:
            return range(length)
        axis, part = self._source
        return axis._taken(length)[part]

    # -- others of the same root -----------------------------------------------------------------

    def slice(self, part: slice) -> Axis:
        """Return a part: it pairs with this axis, and has Python's length of the slice.

        Args:
            part: `slice(1, 3)`, with a step of any sign.

        Raises:
            AxisError: for something else than a slice of whole numbers.
        """
        if not is_slice(part):
            raise AxisError(
                f"axis '{self.name}': {clipped(part)} is no slice of it",
                found=of_type(part),
                fix=f"{self.name}.slice(slice(1, 3))",
            )
        if part.step == 0:
            raise AxisError(f"axis '{self.name}': a slice with steps of 0", fix="slice(0, 4, 2)")
        return self.part(part)

    def part(self, part: Slice) -> Axis:
        """Return a part, as `slice` does of a slice that is known to be one."""
        made = Axis.__new__(Axis)
        made.root, made.docstring, made.line = self.root, self.docstring, self.line
        made._length, made._source, made._roles, made._user = None, (self, part), self._roles, ""
        if made._roles:
            made._roles = made._roles.copy()
        return made

    def resized(self, length: int) -> Axis:
        """Return an axis of another length, which pairs with this one where lengths are equal.

        Raises:
            AxisLengthError: for something else than a whole number from 0.
        """
        number = length_of(length, self.name)
        return Axis(self.root, number, None, self._roles, self.docstring)

    def fresh(self, name: str | None = None) -> Axis:
        """Return another axis, which does not pair with this one, of equal length and roles.

        Args:
            name: of the other axis; left out, an automatic one.
        """
        check_name(name)
        root = AxisRoot(name, "" if name else f"{self.name}'")
        return Axis(root, None, (self, slice(None)), self._roles, self.docstring)

    # -- roles -----------------------------------------------------------------------------------

    @property
    def roles(self) -> tuple[AxisRole, ...]:
        """Its roles, in the order in which they were given."""
        return tuple(self._roles)

    def has_role(self, role: AxisRole) -> bool:
        """Tell whether it has a role."""
        from poplite.named.axes.roles import checked_roles

        return checked_roles([role])[0] in self._roles

    def add_role(self, role: AxisRole) -> Axis:
        """Give it a role, and return it."""
        from poplite.named.axes.roles import checked_roles

        self._roles[checked_roles([role])[0]] = None
        return self

    # -- axes of one -----------------------------------------------------------------------------

    def __add__(self, other: AxesLike) -> Axes:
        return _alone(self) + other

    def __sub__(self, other: AxesLike) -> Axes:
        return _alone(self) - other

    def __or__(self, other: AxesLike) -> Axes:
        return _alone(self) | other

    def __and__(self, other: AxesLike) -> Axes:
        return _alone(self) & other

    # -- text, and what it is not ----------------------------------------------------------------

    @property
    def text(self) -> str:
        """Its name, and which part it is: `H`, `H[1:3]`."""
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
        raise self._no_sequence("len of an axis", f"{self.name}.length")

    def __iter__(self) -> NoReturn:
        raise self._no_sequence("an axis is not iterated", f"range({self.name}.length)")

    def __getitem__(self, key: object) -> NoReturn:
        raise self._no_sequence("an axis is not indexed", f"{self.name}.slice(slice(1, 3))")

    def _no_sequence(self, what: str, fix: str) -> AxisError:
        return AxisError(f"'{self.name}': {what}", found=repr(self), fix=fix)


def _alone(axis: Axis) -> Axes:
    from poplite.named.axes.axes import Axes  # which are made of axes

    return Axes((axis,))


PLAIN = frozenset([int, type(None)])
"""The types of ends of slices that need no closer look."""


def is_slice(part: object) -> bool:
    """Tell whether something is a slice of whole numbers."""
    if not isinstance(part, slice):
        return False
    ends = part.start, part.stop, part.step
    return {*map(type, ends)} <= PLAIN or all(
        each is None or integer_or_none(each) is not None for each in ends
    )


def length_of(value: object, name: str) -> int:
    """Return a length that a user gave; raises AxisLengthError for what is none."""
    number = integer_or_none(value)
    if number is None or number < 0 or isinstance(value, bool):
        raise AxisLengthError(
            f"axis '{name}': a length of {clipped(value)}",
            found=of_type(value),
            fix="a whole number from 0",
        )
    return number


def check_kind(value: object, kind: type | tuple[type, ...], what: str, fix: str) -> None:
    """Raise AxisError for an argument of another kind."""
    if not isinstance(value, kind):
        raise AxisError(f"{what} is {clipped(value)}", found=of_type(value), fix=fix)


def check_name(name: object) -> None:
    """Raise AxisError for a name that is no text."""
    if name is not None and not (isinstance(name, str) and name):
        raise AxisError(
            f"an axis is named {clipped(name)}",
            found=of_type(name),
            fix='make_axis(3, "H"): first the length, then the name',
        )


def make_axis(
    length: int | None = None,
    name: str | None = None,
    roles: Iterable[AxisRole] = (),
    docstring: str = "",
) -> Axis:
    """Return a new axis, which pairs with no other one.

    Args:
        length: number of indices; left out, it is set later: `axis.length = 128`.
        name: for messages and pictures; left out, an automatic one.
        roles: what it stands for, such as `ar.Height`.
        docstring: what it is for.

    Raises:
        AxisLengthError: for a length that is no whole number from 0.
        AxisError: for a name that is no text, and roles that are none.

    >>> make_axis(3, "height")
    height:3
    """
    from poplite.named.axes.roles import checked_roles  # whose texts name axes

    check_name(name)
    root = AxisRoot(name)
    number = None if length is None else length_of(length, root.shown)
    return Axis(root, number, None, checked_roles(roles), docstring)
