"""Warnings of a sweep whose points run in other processes: told once, by the filters of here.

    warnings.simplefilter("error")     a point that warns fails, as it does here
    script.py:31                       each line tells each text once

Each worker would else tell them again, and quote a line of what runs workers.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from poplite.simulator.sweeps.sent_function import is_importable
from poplite.source import SourceLocation, here

WarningThere = tuple[str, type[Warning], str, int]
"""Text, kind, file and line of a warning."""

T = TypeVar("T")


def filters() -> list[Any]:
    """Return what decides on warnings in this process now."""
    return list(warnings.filters)


def gathered(
    run: Callable[[], T], rules: Sequence[Any], at: SourceLocation
) -> tuple[T, list[WarningThere]]:
    """Return what `run` does, and its warnings, those of no line of the user as of line `at`.

    A thread that is not the main one changes nothing for the others of its process, which tells
    its warnings itself.
    """
    if threading.current_thread() is not threading.main_thread():
        return run(), []
    outside = here()
    with warnings.catch_warnings(record=True) as caught:
        warnings.resetwarnings()
        cast("list[Any]", warnings.filters).extend(rules)
        result = run()
    given = []
    for each in caught:
        file, line = each.filename, each.lineno
        if (file, line) == (outside.file, outside.line):
            file, line = at.file, at.line
        given.append((str(each.message), _known(each.category), file, line))
    return result, given


def _known(kind: type[Warning]) -> type[Warning]:
    """Return the nearest kind of warning that has a name in all processes."""
    return next(each for each in kind.__mro__ if is_importable(each.__module__))


def tell(given: Sequence[WarningThere], told: set[WarningThere]) -> None:
    """Give warnings here, but those that are `told`."""
    for each in given:
        if each not in told:
            told.add(each)
            text, kind, file, line = each
            warnings.warn_explicit(text, kind, file, line)
