"""Values of attributes that answer to a call as well.

Sizes and names are functions in C++, and NumPy's habit makes them attributes.  The rule of tensors,
expressions, graphs, targets, intervals, streams and buffers: each number, name and shape that they
have is an attribute, and calling it returns it::

    x.shape                  (4, 6)
    x.shape()                (4, 6), as Poplar's programs have it
"""

from __future__ import annotations

from typing import Any, Self


class _Called:
    __slots__ = ()

    def __call__(self) -> Self:
        """Return the same."""
        return self


class CalledInt(_Called, int):
    """A number that returns itself when it is called.

    >>> CalledInt(3)(), CalledInt(3) + 1
    (3, 4)
    """

    __slots__ = ()


class CalledFloat(_Called, float):
    """A number that returns itself when it is called.

    >>> CalledFloat(1.5)()
    1.5
    """

    __slots__ = ()


class CalledText(_Called, str):
    """A text that returns itself when it is called.

    >>> CalledText("images")()
    'images'
    """

    __slots__ = ()


class CalledShape(_Called, tuple[int, ...]):
    """Sizes of dimensions that return themselves when they are called.

    >>> CalledShape((4, 6))(), CalledShape((4, 6)) + (1,)
    ((4, 6), (4, 6, 1))
    """

    __slots__ = ()


_KINDS: dict[type, type] = {int: CalledInt, float: CalledFloat, str: CalledText}
_PLAIN: dict[type, type] = {kind: plain for plain, kind in _KINDS.items()}


def called(value: Any) -> Any:
    """Return a number or a text as one that answers to a call, and anything else as it is."""
    kind = _KINDS.get(type(value))
    return value if kind is None else kind(value)


def number_or_text(value: Any) -> Any:
    """Return a number or a text that answers to a call without that, anything else as it is."""
    kind = _PLAIN.get(type(value))
    return value if kind is None else kind(value)
