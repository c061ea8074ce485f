"""Arguments of PopLibs' functions: those that may be left out, and options.

Known options are taken, and change nothing here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from poplite.compat.arguments import check_name
from poplite.compat.options import Options as Options, check_known
from poplite.errors import ElementTypeError

EMPTY: Mapping[str, Any] = MappingProxyType({})


def completed(
    form: str, arguments: tuple[Any, ...], size: int, keywords: Mapping[str, Any] = EMPTY
) -> tuple[Any, ...]:
    """Return arguments of which the debug name and the options may be left out, if there are any.

    >>> completed("f(graph, a, prog, debug_context, options)", ("a", "prog"), 4)
    ('a', 'prog', '', None)
    >>> completed("f(graph, a, prog, debug_context, options)", ("a", "prog"), 4, {"options": {}})
    ('a', 'prog', '', {})
    """
    names = form.partition("(")[2].rstrip(")").split(", ")[-size:]
    given = dict(zip(names, arguments, strict=False))
    unfit = sorted(name for name in keywords if name not in names or name in given)
    left_out = {"debug_context": "", "options": None}
    given = {name: left_out[name] for name in names if name in left_out} | given | dict(keywords)
    if len(arguments) > size or unfit or len(given) < size:
        missing = [name for name in names if name not in given]
        raise ElementTypeError(
            f"popops.{form.partition('(')[0]}: {len(arguments) + 1} arguments",
            found="; ".join(
                f"{what}: {', '.join(found)}"
                for what, found in (("missing", missing), ("not to be named", unfit))
                if found
            ),
            fix=f"popops.{form}",
        )
    check_name(f"popops.{form.partition('(')[0]}", given["debug_context"])
    return tuple(given[name] for name in names)


def check_options(what: str, options: Options, known: Collection[str]) -> None:
    """Refuse options that PopLibs does not know, as it does."""
    check_known(f"popops.{what}", options, known)
