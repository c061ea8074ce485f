"""Flags that the subcommands of `poplite-viz` share.

A subcommand is a module with `add(commands)`, which describes its flags, and a function
that runs it.  Anything slow is imported where it runs: `--help` must be quick.

    >>> parser = argparse.ArgumentParser()
    >>> add_picture(parser, formats=("txt", "svg"))
    >>> parser.parse_args(["heat.py:build", "-o", "heat.svg"]).output
    'heat.svg'
"""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Callable, Sequence
from typing import TypeAlias

LEAST_WIDTH, USUAL_WIDTH = 60, 80

Run: TypeAlias = Callable[[argparse.Namespace], int]
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_picture(parser: argparse.ArgumentParser, *, formats: Sequence[str]) -> None:
    """Add what every picture takes: the target, where to write, and how.

    Args:
        parser: of the subcommand.
        formats: forms that the picture can take; the first is the one of standard output.
    """
    parser.add_argument(
        "target", metavar="TARGET", type=_target, help="file.py:callable or module:callable"
    )
    add_output(parser, formats=formats)


def add_output(parser: argparse.ArgumentParser, *, formats: Sequence[str]) -> None:
    """Add where to write, and how.

    Args:
        parser: of the subcommand.
        formats: forms that the picture can take; the first is the one of standard output.
    """
    suffixes = ", ".join(f".{name}" for name in formats)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="-",
        help=f"write to FILE, as its suffix says ({suffixes}); - is standard output",
    )
    parser.add_argument(
        "--format", choices=formats, help=f"{formats[0]} unless the suffix says otherwise"
    )
    parser.add_argument(
        "--width",
        type=_width,
        default=terminal_columns() or USUAL_WIDTH,
        help=f"columns of text to fit (default: the variable COLUMNS, else {USUAL_WIDTH})",
    )
    parser.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="colour text: auto is in a terminal, unless NO_COLOR is set",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="do not say what was written")
    parser.set_defaults(formats=tuple(formats))


def set_run(parser: argparse.ArgumentParser, run: Run) -> None:
    """Say what runs a subcommand.

    Args:
        parser: of the subcommand.
        run: takes the parsed arguments and returns the exit code.
    """
    parser.add_argument(
        "--traceback", action="store_true", help="show Python's traceback of an error"
    )
    parser.set_defaults(run=run)


def command(*words: str) -> str:
    """Return a command line of `poplite-viz` that a shell reads as these words.

    Args:
        *words: the subcommand and its arguments.

    >>> command("tensor", "heat.py:build", "a", "--view", "2:5, ::2")
    "poplite-viz tensor heat.py:build a --view '2:5, ::2'"
    """
    return shlex.join(["poplite-viz", *words])


def _target(text: str) -> str:
    place, colon, name = text.rpartition(":")
    if not (place and colon and name):
        raise argparse.ArgumentTypeError(
            f"{text!r} names no callable; write file.py:callable, for instance heat.py:build"
        )
    return text


def _width(text: str) -> int:
    if not text.isdecimal() or int(text) < LEAST_WIDTH:
        message = f"{text!r} is not a number of columns from {LEAST_WIDTH} up"
        raise argparse.ArgumentTypeError(message)
    return int(text)


def terminal_columns() -> int | None:
    """Return the width that the variable COLUMNS names, or the least one; None where it is not set.

    >>> from unittest.mock import patch
    >>> with patch.dict(os.environ, COLUMNS="100"):
    ...     terminal_columns()
    100
    """
    text = os.environ.get("COLUMNS", "")
    return max(int(text), LEAST_WIDTH) if text.isdecimal() and int(text) else None
