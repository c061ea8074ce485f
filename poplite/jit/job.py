"""Native code that is to be made, as data: any process can make it.

Job("7f3a...", "poplite.jit.native_code:optimized_object", (text, processor))
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from poplite.frozen import frozen
from poplite.jit import object_cache

Made = tuple[bytes, list[str], Mapping[str, Any]]
"""An object file, the symbols that it takes from the process, and facts to keep with it, in values
that JSON has."""


@frozen(eq=False)
class Job:
    """One piece of native code.

    Attributes:
        name: `digest` of everything on which the code depends.
        maker: module and name of a function of poplite that makes it; it takes the name of the C
            function to export, and the arguments.
        arguments: values that JSON has.
    """

    name: str
    maker: str
    arguments: tuple[Any, ...]

    def content(self) -> bytes:
        """Make the code, and return the content of its cache file."""
        module, _, function = self.maker.partition(":")
        assert module.startswith("poplite."), "nobody else makes code"
        shown = exported(self.name)
        made: Made = getattr(import_module(module), function)(shown, *self.arguments)
        code, needed, about = made
        return object_cache.pack(code, shown, needed, about)


def exported(name: str) -> str:
    """Return the name of the C function of a job."""
    return f"poplite_{name}"
