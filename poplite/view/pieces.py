"""Many slices of one view as arrays: what `Cat` holds instead of a view for each of them.

All pieces are alike but for where they begin and how long they are, so two numbers tell one
from the next.  The template is the view they are cut from, as (outer, axis, inner)::

    a = whole(storage, (4, 6))              rows 1 to 3, row 0, rows 2 to 3
    template    shape (1, 4, 6), dims (0, 6, 1)
    extent      2  1  1                     of each piece along the axis
    off         6  0  12                    of its first element in the space

A piece becomes a `View` only when it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np
import numpy.typing as npt

from poplite.arrays.digits import coalesce, digits_of, pack
from poplite.view.view import View

Int64 = npt.NDArray[np.int64]


class Pieces(Sequence[View]):
    """Views of shape (outer, extent * inner), made one by one when indexed.

    Attributes:
        template: shape (outer, axis, inner); `dims[1]` is a plain stride.
        extent: int64[P], at least 1, sizes along the axis.
        off: int64[P], positions of the first elements in the template's space.

    >>> from poplite.view.space import Storage
    >>> from poplite.view.view import whole
    >>> rows = whole(Storage(0, 0, 24), (1, 4, 6))
    >>> pieces = Pieces(rows, np.array([2, 1]), np.array([6, 0]))
    >>> len(pieces), pieces[1].shape, pieces[1].off
    (2, (1, 6), 0)
    """

    __slots__ = ("extent", "off", "template")

    def __init__(self, template: View, extent: Int64, off: Int64) -> None:
        self.template = template
        self.extent = extent
        self.off = off

    def breaks(self) -> Int64:
        """Return int64[P + 1]: where each piece begins in a repetition, and its length."""
        breaks = np.zeros(len(self) + 1, np.int64)
        np.cumsum(self.extent * self.template.shape[2], out=breaks[1:])
        return breaks

    def __len__(self) -> int:
        return len(self.off)

    @overload
    def __getitem__(self, key: int) -> View: ...
    @overload
    def __getitem__(self, key: slice) -> Pieces: ...

    def __getitem__(self, key: int | slice) -> View | Pieces:
        if isinstance(key, slice):
            return Pieces(self.template, self.extent[key], self.off[key])
        (outer, _, inner), (first, stride, rest) = self.template.shape, self.template.dims
        extent = int(self.extent[key])
        digits = coalesce([*digits_of(extent, stride), *digits_of(inner, rest)])
        return View(
            (outer, extent * inner), (first, pack(digits)), int(self.off[key]), self.template.space
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pieces | tuple):
            return NotImplemented
        if self is other:
            return True
        if len(self) != len(other):
            return False
        if isinstance(other, Pieces) and self._alike() == other._alike():
            return bool((self.off == other.off).all() and (self.extent == other.extent).all())
        return all(one == another for one, another in zip(self, other, strict=True))

    def _alike(self) -> tuple[object, ...]:
        (outer, _, inner), view = self.template.shape, self.template
        return outer, inner, view.dims, view.space

    def __hash__(self) -> int:
        return hash((len(self), self[0], self[-1]))

    def __repr__(self) -> str:
        return f"<{len(self):,} Pieces of {self.template!r}>"
