"""Attribute values that can also be called, as in Poplar.

Sizes and names are functions in C++, and attributes in NumPy's style.  The rule for tensors,
expressions, indices of loops, graphs, targets, compute sets, functions, intervals, streams and
buffers: each of their numbers, names, shapes and element types is an attribute, and calling it
returns it::

    x.shape                  (4, 6)
    x.shape()                (4, 6), as in Poplar's programs

Element types (`types`) and directions of streams implement the call in their own classes.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self


class _Called:
    __slots__ = ()
    _kind: ClassVar[str] = "a number"
    _instead: ClassVar[str] = "omit the parentheses to get the number"

    def __call__(self, *arguments: Any, **keywords: Any) -> Self:
        """Return the value itself."""
        if arguments or keywords:
            raise self._takes_none([*arguments, *keywords.values()])
        return self

    def _takes_none(self, arguments: list[Any]) -> Exception:
        from poplite.errors import ElementTypeError  # it imports this module
        from poplite.text import clipped

        given = ", ".join(clipped(each, 40) for each in arguments)
        return ElementTypeError(
            f"a call of {self._kind} takes no arguments, but has ({given})",
            found=f"it is {self!r}",
            fix=self._instead,
        )


class CalledInt(_Called, int):
    """An integer that returns itself when it is called.

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
    """A string that returns itself when it is called.

    >>> CalledText("images")()
    'images'
    """

    __slots__ = ()
    _kind, _instead = "a name", "omit the parentheses to get the text"


class CalledShape(_Called, tuple[int, ...]):
    """Sizes of dimensions that return themselves when they are called.

    >>> CalledShape((4, 6))(), CalledShape((4, 6)) + (1,)
    ((4, 6), (4, 6, 1))
    """

    __slots__ = ()
    _kind, _instead = "a shape", "use t.dim(i), or t.shape[i], for the size of one dimension"


_KINDS: dict[type, type] = {int: CalledInt, float: CalledFloat, str: CalledText}
_PLAIN: dict[type, type] = {kind: plain for plain, kind in _KINDS.items()}


def called(value: Any) -> Any:
    """Return a number or a string as one that can also be called, and anything else unchanged."""
    kind = _KINDS.get(type(value))
    return value if kind is None else kind(value)


def number_or_text(value: Any) -> Any:
    """Return a callable number or string as a plain one, and anything else unchanged."""
    kind = _PLAIN.get(type(value))
    return value if kind is None else kind(value)
