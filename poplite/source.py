"""The user's file and line behind every object.

Errors are only as good as the line they point at, so every variable, compute set,
vertex and program step remembers where the user made it.  `here()` walks the stack out
of the package: the first frame whose module is not part of poplite is the user's.  The
standard library's modules that call back into poplite are passed over as well.
Walking `sys._getframe` costs a fraction of a microsecond (`inspect.stack` costs
thousands of times that), cheap enough for every vertex; and a line that a loop comes back
to has one `SourceLocation`, found by the instruction that makes the call.

What a module of poplite makes while it is imported, such as its vertex classes, has its line there.

    >>> here().line > 0
    True
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from types import CodeType

_BETWEEN = frozenset({"contextlib", "types", "typing"})
"""Standard modules that stand between the user's line and poplite: in a `with` statement of
`contextlib`, and where `typing` and `types` make a class."""


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A place in the user's program.

    Attributes:
        file: path as Python reported it.
        line: line number, from 1.
        function: name of the enclosing function, `<module>` at top level.
    """

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        place = f"{shortest(self.file)}:{self.line}"
        return place if self.function == "<module>" else f"{place} in {self.function}"


def shortest(file: str) -> str:
    """Return a path as it is shown: relative below the working directory, else unchanged.

    Args:
        file: path as Python reported it.
    """
    if not os.path.isabs(file):
        return file
    try:
        path = os.path.relpath(file)
    except (OSError, ValueError):  # no working directory any more; on Windows, another drive
        return file
    return file if path.startswith(os.pardir) else path


def here() -> SourceLocation:
    """Return the innermost stack frame outside the package.

    Returns:
        The user's location, or that of a module of poplite that is being imported; the outermost
        frame when every frame is poplite's own.
    """
    frame = sys._getframe(1)
    while True:
        module, code = frame.f_globals.get("__name__", ""), frame.f_code
        if module[:7] == "poplite" and module[7:8] in (".", ""):
            is_outside = code.co_name == "<module>"  # it is being imported
        else:
            is_outside = module not in _BETWEEN
        if is_outside or frame.f_back is None:
            break
        frame = frame.f_back
    instruction = frame.f_lasti
    known = _known.get((id(code), instruction))
    if known is not None:
        return known[1]
    location = SourceLocation(code.co_filename, frame.f_lineno, code.co_name)
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    _known[id(code), instruction] = code, location
    return location


_known: dict[tuple[int, int], tuple[CodeType, SourceLocation]] = {}
"""By code and instruction.  Each entry holds its code, so that no other code gets that id; codes
are not looked up by `==`, which does not compare their files."""

_MOST_KNOWN = 1024
"""Places that are remembered, with their code."""
