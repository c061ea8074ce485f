"""Options of PopLibs' functions, mappings of names that it knows; and their parameters."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

from poplite.compat.arguments import check_name
from poplite.errors import ElementTypeError, InvalidOption, did_you_mean
from poplite.text import clipped, of_type

Options = Mapping[str, str] | None


def check_known(what: str, options: Options, known: Collection[str]) -> None:
    """Refuse options that PopLibs does not know, as it does, and what is no mapping."""
    names = ", ".join(known) or "none"
    if not isinstance(options, Mapping | None):
        raise InvalidOption(
            f"{what}: options is {clipped(options)}",
            found=of_type(options),
            fix=f"None, or a mapping of names: {names}",
        )
    for name in options or ():
        if name not in known:
            raise InvalidOption(
                f"{what}: there is no option {clipped(name)}{did_you_mean(name, list(known))}",
                found=f"options: {names}",
            )


def memory_share(what: str, options: Options, default: float = 0.6) -> float:
    """Return `availableMemoryProportion` as a number."""
    share = (options or {}).get("availableMemoryProportion", default)
    try:
        number = float(share)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 < number <= 1:
        raise InvalidOption(
            f"{what}: availableMemoryProportion is {clipped(share)}",
            found=of_type(share),
            fix='a share of the memory of a tile, above 0 and at most 1, such as "0.6"',
        )
    return number


def last_arguments(what: str, arguments: tuple[Any, ...]) -> tuple[str, Options, object]:
    """Return the debug name, the options and the cache, each of which may be left out."""
    if len(arguments) > 3:
        raise ElementTypeError(
            f"{what}: too many arguments",
            found=", ".join(map(clipped, arguments)),
            fix='at the end: debug_context="", options=None, cache=None',
        )
    left_out: tuple[Any, ...] = ("", None, None)
    name, options, cache = arguments + left_out[len(arguments) :]
    return check_name(what, name), options, cache


def check_params(what: str, params: object, kind: type, name: str = "params") -> None:
    """Refuse parameters of another class."""
    if not isinstance(params, kind):
        raise ElementTypeError(
            f"{what}: {name} is {clipped(params)}",
            found=of_type(params),
            fix=f"{name}={kind.__name__}(...)",
        )
