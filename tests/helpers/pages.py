"""The code blocks of pages: fenced by three backticks and a language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(path: Path, language: str) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of a page's blocks in one language."""
    text = path.read_text()
    for match in BLOCK.finditer(text):
        if match[1] == language:
            yield text[: match.start()].count("\n") + 2, match[2]


def python_of(path: Path) -> str:
    """Return the Python of a page, its blocks on the page's own lines."""
    text = ""
    for line, block in blocks(path, "python"):
        text += "\n" * (line - 1 - text.count("\n")) + block
    return text


def run(path: Path, name: str) -> dict[str, Any]:
    """Run the Python of a page as a module of this name; return what it defines."""
    names: dict[str, Any] = {"__name__": name}
    exec(compile(python_of(path), str(path), "exec", dont_inherit=True), names)
    return names
