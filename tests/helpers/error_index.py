"""The page of errors, whose programs are run to write the messages below them.

python tests/helpers/error_index.py        writes them anew
"""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "tools/errors.md"

ENTRY = re.compile(
    r"^## (\w+)\n(?:(?!## )[^\n]*\n)*?```python\n(.*?)^```\n\n```text\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


def entries(page: str) -> dict[str, tuple[str, str]]:
    """Return the program and the message of each class that has them."""
    return {match[1]: (match[2], match[3]) for match in ENTRY.finditer(page)}


def message(program: str, folder: Path) -> str:
    """Return what the last line of a program raises or warns of, as Python shows it."""
    path = folder / "program.py"
    path.write_text(program)
    before = os.getcwd()
    os.chdir(folder)
    shown: Exception | str
    try:
        with warnings.catch_warnings(record=True) as issued:
            warnings.simplefilter("always")
            exec(compile(program, path.name, "exec"), {"__name__": "program"})
        shown = issued[-1].message
    except Exception as error:
        shown = error
    finally:
        os.chdir(before)
    return f"{type(shown).__name__}: {shown}\n"


def made(page: str, folder: Path) -> str:
    """Return the page with the messages of its programs."""

    def again(match: re.Match[str]) -> str:
        start = match[0][: match.start(3) - match.start()]
        return f"{start}{message(match[2], folder)}```"

    return ENTRY.sub(again, page)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as scratch:
        PAGE.write_text(made(PAGE.read_text(), Path(scratch)))
