"""Flags that the subcommands of `poplite-viz` share.

A subcommand is two functions: one adds its flags, and has its help as docstring; the other runs it.
Anything slow is imported where it runs: `--help` must be quick.

    >>> parser = argparse.ArgumentParser()
    >>> add_picture(parser, formats=("txt", "svg"))
    >>> parser.parse_args(["heat.py:build", "-o", "heat.svg"]).output
    'heat.svg'
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias, get_args

if TYPE_CHECKING:
    from poplite.tools.viz.output import Destination

LEAST_WIDTH, USUAL_WIDTH = 40, 80

LEAST_FOLDED = 30
"""Columns of text that is folded; a picture needs LEAST_WIDTH."""

Run: TypeAlias = Callable[[argparse.Namespace], int]
Drawing: TypeAlias = "Callable[[argparse.Namespace, Destination], int | None]"
"""Writes what arguments ask for to a destination; returns an exit code other than 0, if any."""

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


SAVED = "file.py:callable, or a file of report.save, executable.save or graph.save"
"""What a report is made of, for help."""


def add_subcommand(commands: Commands, add: Callable[[argparse.ArgumentParser], None]) -> None:
    """Add the subcommand `NAME` of a function `NAME_command`, which adds its flags.

    The docstring of the function is its help: the first line in the list of all subcommands, the
    next paragraph above its flags, and a third one below them.
    """
    first, *others = [" ".join(each.split()) for each in (add.__doc__ or "").split("\n\n")]
    description, epilog, *_ = [*others, None, None]
    is_word = first[1:2].islower()
    listed = (first[:1].lower() if is_word else first[:1]) + first[1:].removesuffix(".")
    name = add.__name__.strip("_").removesuffix("_command")
    add(commands.add_parser(name, help=listed, description=description, epilog=epilog))


def add_picture(parser: argparse.ArgumentParser, *, formats: Sequence[str]) -> None:
    """Add what a picture of a graph takes: the target or saved file, where to write, and how."""
    parser.add_argument("target", metavar="TARGET|SAVED", type=_target, help=SAVED)
    add_call_arguments(parser)
    add_vertices(parser)
    add_output(parser, formats=formats)


def add_target(parser: argparse.ArgumentParser) -> None:
    """Add the target, and the arguments that its callable gets; `load_target` reads them."""
    parser.add_argument(
        "target", metavar="TARGET", type=_target, help="file.py:callable or module:callable"
    )
    add_call_arguments(parser)


def add_report(parser: argparse.ArgumentParser, *, formats: Sequence[str]) -> None:
    """Add what a picture of a report takes: the target or saved file, where to write, and how.

    `load_report` makes the report of it.
    """
    parser.add_argument("target", metavar="TARGET|SAVED", help=SAVED)
    add_call_arguments(parser)
    add_program(parser)
    add_vertices(parser)
    add_output(parser, formats=formats)


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add whether the program of a TARGET runs; `load_report` reads it."""
    runs = parser.add_mutually_exclusive_group()
    runs.add_argument(
        "--run",
        dest="execute",
        action="store_true",
        default=None,
        help="run it once, with zeros in its streams; else one that needs streams is not run",
    )
    runs.add_argument(
        "--no-run",
        dest="execute",
        action="store_false",
        help="only compile it, and tell what one run takes",
    )


def add_call_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that the callable of a target gets."""
    parser.add_argument(
        "--arg",
        metavar="NAME=VALUE",
        dest="given",
        type=_given,
        action="append",
        default=[],
        help="hand the callable an argument: a whole number, a number, true, false, or text, "
        "which may be in quotes; only text where it is annotated as str",
    )


def add_vertices(parser: argparse.ArgumentParser) -> None:
    """Add where a saved executable or graph finds its vertex classes."""
    parser.add_argument(
        "--vertices",
        metavar="FILE.py|MODULE",
        action="append",
        default=[],
        help="where the vertex classes of a saved executable or graph are defined",
    )


def add_program(parser: argparse.ArgumentParser) -> None:
    """Add which of several programs is meant."""
    parser.add_argument("--program", metavar="NAME", help="of several programs, only this one")


def add_steps(parser: argparse.ArgumentParser) -> None:
    """Add which steps are drawn."""
    parser.add_argument(
        "--step",
        metavar="N|A:B|NAME",
        help="of what runs, only this step, or those from A to B, both included",
    )


def add_sort(parser: argparse.ArgumentParser, choices: Sequence[str], what: str) -> None:
    """Add an order; the first choice is the default, `what` says what it is the order of."""
    help_text = f"{what} (default: {choices[0]})"
    parser.add_argument("--sort", choices=choices, default=choices[0], help=help_text)


def add_top(parser: argparse.ArgumentParser, default: int, what: str) -> None:
    """Add how many of the largest are listed; `what` says of what."""
    help_text = f"{what} (default: {default})"
    parser.add_argument("--top", metavar="N", type=number_from(1), default=default, help=help_text)


def add_output(parser: argparse.ArgumentParser, *, formats: Sequence[str]) -> None:
    """Add where to write, and how; the first format is the one of standard output."""
    suffixes = ", ".join(f".{name}" for name in formats)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="-",
        help=f"write to FILE, as its suffix says ({suffixes}); - is standard output",
    )
    parser.add_argument(
        "-f", "--format", choices=formats, help=f"{formats[0]} unless the suffix says otherwise"
    )
    parser.add_argument(
        "--width",
        type=number_from(LEAST_WIDTH, "columns"),
        default=terminal_columns() or USUAL_WIDTH,
        help=f"columns of text to fit, {LEAST_WIDTH} at least (default: the variable COLUMNS, "
        f"else {USUAL_WIDTH})",
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
    """Set the function that runs a subcommand and returns the exit code.

    Flags are taken as they are written: what begins like another one is a fault.
    """
    parser.allow_abbrev = False
    parser.add_argument(
        "--traceback", action="store_true", help="show Python's traceback of an error"
    )
    parser.set_defaults(run=run)


def set_drawing(parser: argparse.ArgumentParser, draw: Drawing) -> None:
    """Set the function that draws a picture; where it goes is known before anything is read."""

    def run(arguments: argparse.Namespace) -> int:
        from poplite.tools.viz.output import Destination

        return draw(arguments, Destination.of(arguments)) or 0

    set_run(parser, run)


def command(*words: str) -> str:
    """Return a command line of `poplite-viz` that a shell reads as these words.

    >>> command("tensor", "heat.py:build", "a", "--view", "2:5, ::2")
    "poplite-viz tensor heat.py:build a --view '2:5, ::2'"
    """
    return shlex.join(["poplite-viz", *words])


def build_flags(arguments: argparse.Namespace) -> list[str]:
    """Return the flags that say what a target builds, and which program of it is meant.

    Also those of a report: where vertex classes are, and whether the program runs.

    >>> build_flags(argparse.Namespace(given=[("rows", 20)], program="step"))
    ['--arg', 'rows=20', '--program', 'step']
    """
    flags = [word for name, value in arguments.given for word in ("--arg", f"{name}={value}")]
    program: str | None = getattr(arguments, "program", None)
    if program is not None:
        flags += ["--program", program]
    for place in getattr(arguments, "vertices", ()):
        flags += ["--vertices", place]
    run = {True: ["--run"], False: ["--no-run"], None: []}
    return flags + run[getattr(arguments, "execute", None)]


def _target(text: str) -> str:
    place, colon, name = text.rpartition(":")
    if os.path.isfile(text) and not text.endswith(".py"):
        return text
    if not (place and colon and name):
        raise argparse.ArgumentTypeError(
            f"{text!r} names no callable; write file.py:callable, for instance heat.py:build, "
            "or a file of report.save, executable.save or graph.save"
        )
    return text


def _given(text: str) -> tuple[str, Written]:
    """Return the name of an argument, and its value as written.

    >>> _given("rows=20"), _given("name=x=1")
    (('rows', '20'), ('name', 'x=1'))
    """
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE, for instance rows=20")
    return name, Written(value)


def number_from(least: int, of: str = "") -> Callable[[str], int]:
    """Return the type of a flag that is a whole number; `of` names what it counts.

    >>> number_from(1)("10")
    10
    """

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            counted = f" of {of}" if of else ""
            raise argparse.ArgumentTypeError(f"{text!r} is not a number{counted} from {least} up")
        return int(text)

    return read


def terminal_columns() -> int | None:
    """Return the width that the variable COLUMNS names; None where it is not set.

    >>> from unittest.mock import patch
    >>> with patch.dict(os.environ, COLUMNS="100"):
    ...     terminal_columns()
    100
    """
    text = os.environ.get("COLUMNS", "")
    return (int(text) or None) if text.isdecimal() else None


def drawn_width(arguments: argparse.Namespace) -> int:
    """Return the columns of a picture as text, and warn where a terminal has too few.

    >>> drawn_width(argparse.Namespace(width=100, quiet=False))
    100
    """
    width: int = arguments.width or USUAL_WIDTH
    if width < LEAST_WIDTH and not arguments.quiet:
        message = f"a picture takes {LEAST_WIDTH} columns at least, and COLUMNS is {width}"
        print(f"poplite-viz: {message}", file=sys.stderr)
    return max(width, LEAST_WIDTH)


def fitted(text: str, width: int | None) -> str:
    r"""Return lines folded at `width` columns, ended by a newline; None leaves them as they are.

    >>> fitted("cycles", None)
    'cycles\n'
    """
    from poplite.viz.draw.columns import folded

    if width is None:
        return f"{text}\n"
    width = max(width, LEAST_FOLDED)
    return "".join(f"{part}\n" for line in text.split("\n") for part in folded(line, width))


# -- values of --arg -------------------------------------------------------------------------------


NUMBERS = {"int", "float", "bool"}


class Written(str):
    """A value as written on the command line."""

    __slots__ = ()


def value_of(text: Written, annotation: object = None) -> object:
    """Return a number, a truth value or text; text where only that is declared, or in quotes.

    >>> [value_of(Written(text)) for text in ("20", "0.5", "true", '"20"', "x=1")]
    [20, 0.5, True, '20', 'x=1']
    >>> value_of(Written("20"), str), value_of(Written("20"), "str | None")
    ('20', '20')
    """
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return str(text[1:-1])
    if _is_text(annotation):
        return str(text)
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return str(text)


def _is_text(annotation: object) -> bool:
    """Return whether an annotation, or the text of one, has str in it and no number."""
    if isinstance(annotation, str):
        names = {part.strip() for part in annotation.split("|")}
    else:
        names = {getattr(each, "__name__", "") for each in get_args(annotation) or [annotation]}
    return "str" in names and not names & NUMBERS
