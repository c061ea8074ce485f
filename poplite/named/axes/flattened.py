"""An axis that stands for several, one inside the other."""

from __future__ import annotations

from typing import Any, NoReturn

from poplite.errors import AxisError, AxisLengthError
from poplite.named.axes.axes import Axes, AxesLike, axes_of
from poplite.named.axes.axis import Axis, AxisRoot
from poplite.source import SourceLocation, here

_NOTHING = AxisRoot(None, "()")


def _joined(roots: tuple[AxisRoot, ...]) -> AxisRoot:
    """Return the root of what joins axes, which is one object for all that do."""
    first = roots[0] if roots else _NOTHING
    found = first.joined.get(roots)
    if found is None:
        found = AxisRoot(None, f"({','.join([each.shown for each in roots])})")
        first.joined[roots] = found
    return found


class FlattenedAxis(Axis):
    """One axis for several: its indices are theirs in row-major order.

    It pairs with other flattened axes whose parts pair with its own, in the same order.

    Args:
        axes: the parts, as a list or Axes; of none, its length is 1.
        line: where it was made; left out, where the call stands.

    >>> from poplite.named.axes.axes import make_axes
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
        self.axes = axes

    @property
    def length(self) -> int | None:
        """Product of the lengths of its parts; None while one is not set."""
        return self.axes.size

    @length.setter
    def length(self, length: int) -> None:
        raise AxisLengthError(
            f"the length of '{self.name}' is that of its parts",
            found=f"{self.axes}",
            fix=f"{self.axes[0].name}.length = ..." if self.axes.items else "",
        )

    @property
    def full_length(self) -> Any:
        """The lengths of its parts."""
        return self.axes.full_lengths

    def keep_length(self, user: str) -> None:
        """Let nobody change the lengths of its parts."""
        for axis in self.axes:
            axis.keep_length(user)

    def add_role(self, role: object) -> NoReturn:
        """Refused: parts have roles."""
        raise AxisError(
            f"'{self.name}' takes no roles, but its parts do", fix=f"add_role of one of {self.axes}"
        )


def leaves(axes: Axes) -> list[Axis]:
    """Return the axes that these are made of, in order: for a flattened one its parts."""
    found: list[Axis] = []
    for axis in axes:
        found += leaves(axis.axes) if isinstance(axis, FlattenedAxis) else [axis]
    return found
