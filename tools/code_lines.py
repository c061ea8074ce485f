"""Count the code lines of each package, for developers of poplite.

    python -m poplite.tools.code_lines [CHECKOUT]

Blank lines, comments and docstrings do not count as code lines. The tests use the same rule to
measure files and functions.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from poplite.tools.viz.output import write_stdout

FOLDERS = ("poplite", "simulator", "tools", "vertices")
"""Folders of a checkout that contain code; links between them are not followed."""


def code_lines(text: str) -> set[int]:
    r"""Return the numbers of the code lines of a module.

    >>> sorted(code_lines("'''A module.'''\n\nx = 1  # one\n# two\n"))
    [3]
    """
    written = [line.strip() for line in text.split("\n")]
    lines = {i for i, line in enumerate(written, 1) if line and not line.startswith("#")}
    docs: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(ast.Constant(str())):  # a docstring, possibly of an attribute
                docs.update(_lines_of(node))
            case ast.Constant(str() | bytes()) | ast.JoinedStr():  # blank lines in it are code
                lines.update(_lines_of(node))
    return lines - docs


def _lines_of(node: ast.expr | ast.stmt) -> range:
    """Return the numbers of the lines of a node."""
    return range(node.lineno, (node.end_lineno or 0) + 1)


def counts_by_package(checkout: Path) -> dict[str, tuple[int, int]]:
    """Return the numbers of files and code lines of each package of a checkout."""
    files: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for folder in FOLDERS:
        for path in (checkout / folder).rglob("*.py"):
            if path == path.resolve():
                parts = path.relative_to(checkout).parent.parts
                package = "/".join(parts[:2] if folder == "poplite" else parts[:1])
                files[package] += 1
                lines[package] += len(code_lines(path.read_text(encoding="utf-8")))
    return {package: (files[package], lines[package]) for package in sorted(files)}


def table(packages: dict[str, tuple[int, int]]) -> str:
    """Return a table with a line for each package, and the sums with and without pictures."""
    rows = dict(packages)
    rows["all"] = _sum(packages.values())
    rows["all but poplite/viz"] = _sum(v for k, v in packages.items() if k != "poplite/viz")
    width = max(map(len, rows))
    head = f"{'package':{width}}{'files':>7}{'code lines':>12}\n"
    return head + "".join(f"{k:{width}}{v[0]:7,}{v[1]:12,}\n" for k, v in rows.items())


def _sum(counts: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """Return the sums of both columns."""
    files, lines = zip(*counts, strict=True)
    return sum(files), sum(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table for a checkout."""
    parser = argparse.ArgumentParser(
        prog="python -m poplite.tools.code_lines",
        description="Print the numbers of files and code lines of each package.",
    )
    parser.add_argument(
        "checkout", nargs="?", type=Path, default=Path(), help="default: this folder"
    )
    checkout = parser.parse_args(arguments).checkout.resolve()
    missing = [folder for folder in FOLDERS if not (checkout / folder).is_dir()]
    if missing:
        parser.error(f"{checkout} is not a checkout of poplite: it has no folder {missing[0]!r}")
    write_stdout(table(counts_by_package(checkout)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
