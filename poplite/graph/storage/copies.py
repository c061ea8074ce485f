"""Refusing copies of objects that belong to a graph, since they refer to it and to this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from poplite.errors import CopyError

Owner = TypeVar("Owner")


def refuse_copies(fix: str) -> Callable[[type[Owner]], type[Owner]]:
    """Make a class refuse `copy.copy`, `copy.deepcopy` and `pickle`; `fix` says what to do instead.

    >>> import copy, poplite as pl
    >>> copy.deepcopy(pl.Graph())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    poplite.errors.CopyError: a Graph cannot be copied or pickled...
    """

    def refused(self: object, *_: object) -> NoReturn:
        name = type(self).__name__
        raise CopyError(
            f"{'an' if name[0] in 'AEIOU' else 'a'} {name} cannot be copied or pickled",
            at=None,
            found="all that belongs to a graph refers to it, as tensors and programs do; an engine "
            "holds memory of this process",
            fix=fix,
        )

    def decorated(cls: type[Owner]) -> type[Owner]:
        for name in ("__copy__", "__deepcopy__", "__reduce_ex__"):
            setattr(cls, name, refused)
        return cls

    return decorated
