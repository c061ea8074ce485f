"""How a script ends for those who run it: with one line where something is wrong.

    @one_line_errors
    def main(argv: Sequence[str] | None = None) -> int:
        ...

    if __name__ == "__main__":
        sys.exit(main())

The user corrects a path that is missing or a number that is too large, and need not know the
script: a traceback would only hide what is wrong.  A reader that has seen enough
(`script.py | head`) is no error.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec

from poplite.errors import PopliteError

P = ParamSpec("P")


def one_line_errors(main: Callable[P, int]) -> Callable[P, int]:
    """Return a `main` that prints what goes wrong on one line, and returns 1.

    That is a `PopliteError`, an error of the system, too little memory, or a package that is not
    installed.  The code is 0 when the reader of standard output has gone.

    >>> @one_line_errors
    ... def main() -> int:
    ...     raise FileNotFoundError(2, "No such file or directory", "heat.json")
    >>> main()
    1
    """

    @functools.wraps(main)
    def ending(*arguments: P.args, **named: P.kwargs) -> int:
        try:
            code = main(*arguments, **named)
            if sys.stdout is not None:  # a shell closes it by  >&-
                sys.stdout.flush()  # at exit it would be too late to see that nobody reads
        except BrokenPipeError:
            _discard_output()
            return 0
        except (PopliteError, OSError, OverflowError, MemoryError, ModuleNotFoundError) as error:
            script = Path(main.__code__.co_filename).name
            print(f"{script}: {_one_line(error)}", file=sys.stderr)
            return 1
        return code

    return ending


def _one_line(error: Exception) -> str:
    if isinstance(error, PopliteError):
        return "; ".join(line.strip() for line in str(error).splitlines())
    if isinstance(error, OSError) and error.filename is not None:
        return f"{str(error.filename)!r}: {error.strerror}"
    if isinstance(error, ModuleNotFoundError):
        return f"{error.name} is not installed; try: pip install '.[examples]'"
    kind = "not enough memory" if isinstance(error, MemoryError) else type(error).__name__
    return f"{kind}: {error}" if str(error) else kind


def _discard_output() -> None:
    """Let what is left of the output go nowhere, or Python would fail on it once more at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
