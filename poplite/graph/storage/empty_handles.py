"""Refusing handles of nothing: a call without arguments, which makes one in C++."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from poplite.errors import AbsentMember, ElementTypeError
from poplite.source import here

Made = TypeVar("Made")

NONE: Any = None
"""What an argument is that was left out, whatever its type."""


def refuse_empty(instead: str) -> Callable[[type[Made]], type[Made]]:
    """Make a class refuse a call without arguments, or with those that make none; say what does.

    >>> import poplite as pl
    >>> pl.ComputeSet()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    poplite.errors.AbsentMember: poplite has no empty ComputeSet  (...)
      what is not there yet is None
      try: graph.add_compute_set(name)
    """

    def decorated(cls: type[Made]) -> type[Made]:
        make: Any = cls.__init__

        @wraps(make)
        def checked(self: Made, *arguments: Any, **named: Any) -> None:
            if not arguments and not named:
                raise no_empty(cls.__name__, instead)
            try:
                make(self, *arguments, **named)
            except TypeError as error:
                if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
                    raise  # it is not this call that fits no signature
                found = str(error).removeprefix(f"{cls.__name__}.__init__() ")
                message = f"{cls.__name__}: these arguments make none"
                raise ElementTypeError(message, at=here(), found=found, fix=instead) from None

        cls.__init__ = checked  # type: ignore[method-assign, assignment]
        return cls

    return decorated


def no_empty(name: str, instead: str) -> AbsentMember:
    """Return the error of a class that was called without arguments."""
    found = "what is not there yet is None"
    return AbsentMember(f"poplite has no empty {name}", at=here(), found=found, fix=instead)
