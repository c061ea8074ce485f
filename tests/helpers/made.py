"""Objects of classes that only poplite calls, for tests of these classes themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
Made = TypeVar("Made")


def made(cls: Callable[P, Made], *arguments: P.args, **named: P.kwargs) -> Made:
    """Return an object of a class, called as a module of poplite does."""
    names = {"cls": cls, "arguments": arguments, "named": named, "__name__": "poplite"}
    found: Any = eval("cls(*arguments, **named)", names)
    return found  # type: ignore[no-any-return]
