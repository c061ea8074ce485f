"""Values of attributes that answer to a call as well.

Poplar's one-word members are functions in C++, and NumPy's habit makes them attributes::

    x.shape                  (4, 6)
    x.shape()                (4, 6), as Poplar's programs have it
"""

from __future__ import annotations

from typing import Self


class CalledInt(int):
    """A number that returns itself when it is called.

    >>> CalledInt(3)(), CalledInt(3) + 1
    (3, 4)
    """

    __slots__ = ()

    def __call__(self) -> Self:
        """Return the same."""
        return self


class CalledText(str):
    """A text that returns itself when it is called.

    >>> CalledText("images")()
    'images'
    """

    __slots__ = ()

    def __call__(self) -> Self:
        """Return the same."""
        return self


class CalledShape(tuple[int, ...]):
    """Sizes of dimensions that return themselves when they are called.

    >>> CalledShape((4, 6))(), CalledShape((4, 6)) + (1,)
    ((4, 6), (4, 6, 1))
    """

    __slots__ = ()

    def __call__(self) -> Self:
        """Return the same."""
        return self
