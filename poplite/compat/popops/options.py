"""Arguments of PopLibs' functions: those that may be left out, and options.

Known options are taken, and change nothing here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from poplite.errors import ElementTypeError, InvalidOption, did_you_mean
from poplite.source import here

Options = Mapping[str, str] | None


def completed(form: str, arguments: tuple[Any, ...], size: int) -> tuple[Any, ...]:
    """Return arguments of which the debug name and the options, the last two, may be left out.

    >>> completed("f(graph, a, prog, debug_context, options)", ("a", "prog"), 4)
    ('a', 'prog', '', None)
    """
    missing = size - len(arguments)
    if not 0 <= missing <= 2:
        raise ElementTypeError(
            f"popops.{form.partition('(')[0]}: {len(arguments) + 1} arguments",
            at=here(),
            fix=f"popops.{form}",
        )
    return (*arguments, *("", None)[2 - missing :])


def check_options(what: str, options: Options, known: Collection[str]) -> None:
    """Refuse options that PopLibs does not know, as it does."""
    for name in options or ():
        if name not in known:
            raise InvalidOption(
                f"popops.{what}: there is no option {name!r}{did_you_mean(name, list(known))}",
                at=here(),
                found=f"options: {', '.join(known) or 'none'}",
            )
