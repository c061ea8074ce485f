"""Flags that the subcommands of `poplite-viz` share.

A subcommand consists of two functions: one adds its flags, with its help as docstring; the other
runs it. Modules that load slowly are imported where they are used, so that `--help` is quick.

    >>> parser = argparse.ArgumentParser()
    >>> add_picture(parser, formats=("txt", "svg"))
    >>> parser.parse_args(["heat.py:build", "-o", "heat.svg"]).output
    'heat.svg'
"""

from __future__ import annotations

import argparse
import math
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

from poplite.errors import FileLoadError, InvalidOption, UnknownName

if TYPE_CHECKING:
    from poplite.tools.viz.output import Destination

file_error = partial(FileLoadError, at=None)
option_error = partial(InvalidOption, at=None)
name_error = partial(UnknownName, at=None)
"""Errors of a command line, which has no line of the user's."""

LEAST_WIDTH, USUAL_WIDTH = 40, 80

LEAST_FOLDED = 30
"""Minimum width of folded text; pictures need LEAST_WIDTH."""

Run: TypeAlias = Callable[[argparse.Namespace], int]
Drawing: TypeAlias = "Callable[[argparse.Namespace, Destination], int | None]"
"""Draws a picture to a destination; returns the exit code, or None for 0."""

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


SAVED = "file.py:callable, or a file of report.save, executable.save or graph.save"
"""The inputs from which a report can be made, for help texts."""


def add_subcommand(commands: Commands, add: Callable[[argparse.ArgumentParser], None]) -> None:
    """Add the subcommand `NAME` for a function `NAME_command`, which adds its flags.

    The docstring of the function is its help: the first line appears in the list of subcommands,
    the second paragraph above its flags, and a third paragraph below them.
    """
    first, *others = [" ".join(each.split()) for each in (add.__doc__ or "").split("\n\n")]
    description, epilog, *_ = [*others, None, None]
    is_word = first[1:2].islower()
    listed = (first[:1].lower() if is_word else first[:1]) + first[1:].removesuffix(".")
    name = add.__name__.strip("_").removesuffix("_command")
    add(commands.add_parser(name, help=listed, description=description, epilog=epilog))


def add_picture(parser: argparse.ArgumentParser, *, formats: Sequence[str]) -> None:
    """Add the arguments of a picture of a graph: the target or saved file, and the output."""
    parser.add_argument("target", metavar="TARGET|SAVED", type=_target, help=SAVED)
    add_call_arguments(parser)
    add_vertices(parser)
    add_output(parser, formats=formats)


def add_target(parser: argparse.ArgumentParser) -> None:
    """Add the target, and the arguments for its callable; `load_target` reads them."""
    what = "file.py:callable or module:callable"
    parser.add_argument("target", metavar="TARGET", type=_target, help=what)
    add_call_arguments(parser)


def add_report(parser: argparse.ArgumentParser, *, formats: Sequence[str]) -> None:
    """Add the arguments of a picture of a report: the target or saved file, and the output.

    `load_report` makes the report from them.
    """
    parser.add_argument("target", metavar="TARGET|SAVED", help=SAVED)
    add_call_arguments(parser)
    add_program(parser)
    add_vertices(parser)
    add_output(parser, formats=formats)


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say whether the program of a TARGET runs; `load_report` reads them."""
    runs = parser.add_mutually_exclusive_group()
    runs.add_argument(
        "--run",
        dest="execute",
        action="store_true",
        default=None,
        help="run it once, with zeros in its streams (default: run it only if it needs no data)",
    )
    runs.add_argument(
        "--no-run",
        dest="execute",
        action="store_false",
        help="only compile it, and show the costs of one run",
    )
    add_timeout(parser)


def add_timeout(parser: argparse.ArgumentParser) -> None:
    """Add the time after which a program that runs is ended; `load_report` reads it."""
    what = "end a run of its programs that takes longer, with an error that says where it was"
    parser.add_argument("--timeout", metavar="SECONDS", type=_seconds, help=what)


def add_all(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the flag that lists all rows of a text; `Destination.text_style` reads it."""
    text = f"list all {what} (default: standard output has the first 40)"
    parser.add_argument("--all", dest="all_rows", action="store_true", help=text)


def add_call_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flag for arguments of a target's callable."""
    parser.add_argument(
        "--arg",
        metavar="NAME=VALUE",
        dest="given",
        type=_given,
        action="append",
        default=[],
        help="pass an argument to the callable: an int, a float, true, false, or text, which may "
        "be in quotes; always text for a parameter annotated as str",
    )


def add_vertices(parser: argparse.ArgumentParser) -> None:
    """Add the flag for modules with the vertex classes of a saved executable or graph."""
    parser.add_argument(
        "--vertices",
        metavar="FILE.py|MODULE",
        action="append",
        default=[],
        help="file or module that defines vertex classes of a saved executable or graph",
    )


def add_program(parser: argparse.ArgumentParser) -> None:
    """Add the flag that selects one of several programs."""
    parser.add_argument("--program", metavar="NAME", help="use only this program")


def add_steps(parser: argparse.ArgumentParser) -> None:
    """Add the flag that selects steps."""
    what = "show only this step, or steps A to B inclusive"
    parser.add_argument("--step", metavar="N|A:B|NAME", help=what)


def add_source(parser: argparse.ArgumentParser) -> None:
    """Add the flag that shows the text of lines."""
    what = (
        "show the text of the lines that are named, with five lines around each, of files that are "
        "the same as when the report was made"
    )
    parser.add_argument("--source", action="store_true", help=what)


def add_choice(
    parser: argparse.ArgumentParser, flag: str, choices: Sequence[str], what: str
) -> None:
    """Add a flag that takes one of several words; the first is the default."""
    help_text = f"{what} (default: {choices[0]})"
    parser.add_argument(flag, choices=choices, default=choices[0], help=help_text)


def add_number(
    parser: argparse._ActionsContainer,
    flag: str,
    what: str,
    default: int | None = None,
    least: int = 1,
    of: str = "",
) -> None:
    """Add a flag that takes a number, and is None or has a default; `of` names what is counted."""
    known = "" if default is None else f" (default: {default:,})"
    kind = number_from(least, of)
    parser.add_argument(flag, metavar="N", type=kind, default=default, help=f"{what}{known}")


def add_output(parser: argparse.ArgumentParser, *, formats: Sequence[str]) -> None:
    """Add the output and its format; the first format is that of standard output."""
    suffixes = ", ".join(f".{name}" for name in formats)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="-",
        help=f"write to FILE in the format of its suffix ({suffixes}); - is standard output",
    )
    known = f"output format (default: from the suffix, else {formats[0]})"
    parser.add_argument("-f", "--format", choices=formats, help=known)
    parser.add_argument(
        "--width",
        type=number_from(LEAST_WIDTH, "columns"),
        default=terminal_columns() or USUAL_WIDTH,
        help=f"width of text in columns, at least {LEAST_WIDTH} (default: the variable COLUMNS, "
        f"else {USUAL_WIDTH})",
    )
    colors = "use colours in text; auto: in a terminal, unless NO_COLOR is set"
    choices = ("auto", "always", "never")
    parser.add_argument("--color", choices=choices, default="auto", help=colors)
    parser.add_argument("-q", "--quiet", action="store_true", help="do not report written files")
    parser.set_defaults(formats=tuple(formats))


def set_run(parser: argparse.ArgumentParser, run: Run) -> None:
    """Set the function that runs a subcommand and returns the exit code.

    Flags must be written in full; abbreviations are errors.
    """
    parser.allow_abbrev = False
    parser.add_argument(
        "--traceback", action="store_true", help="show Python's traceback for an error"
    )
    parser.set_defaults(run=run)


def named(place: str) -> Callable[..., Any]:
    """Return the function `module.name` of this package, which is imported when it is called."""

    def call(*given: Any) -> Any:
        module, _, name = place.partition(".")
        return getattr(import_module(f"poplite.tools.viz.{module}"), name)(*given)

    return call


def set_drawing(parser: argparse.ArgumentParser, draw: Drawing) -> None:
    """Set the function that draws a picture; its destination is checked before input is read."""

    def run(arguments: argparse.Namespace) -> int:
        from poplite.tools.viz.output import Destination

        return draw(arguments, Destination.of(arguments)) or 0

    set_run(parser, run)


def command(*words: str) -> str:
    """Return a `poplite-viz` command line, quoted for a shell.

    >>> command("tensor", "heat.py:build", "a", "--view", "2:5, ::2")
    "poplite-viz tensor heat.py:build a --view '2:5, ::2'"
    """
    return shlex.join(["poplite-viz", *words])


def build_flags(arguments: argparse.Namespace) -> list[str]:
    """Return the flags that determine what a target builds, and which of its programs is used.

    Includes flags for a report: where its vertex classes are, and whether the program runs.

    >>> build_flags(argparse.Namespace(given=[("rows", 20)], program="step"))
    ['--arg', 'rows=20', '--program', 'step']
    """
    program: str | None = getattr(arguments, "program", None)
    pairs = [("--arg", f"{name}={value}") for name, value in arguments.given]
    pairs += [] if program is None else [("--program", program)]
    pairs += [("--vertices", place) for place in getattr(arguments, "vertices", ())]
    run = {True: ["--run"], False: ["--no-run"], None: []}
    return [word for pair in pairs for word in pair] + run[getattr(arguments, "execute", None)]


def _target(text: str) -> str:
    place, colon, name = text.rpartition(":")
    if os.path.isfile(text) and not text.endswith(".py"):
        return text
    if not (place and colon and name):
        raise argparse.ArgumentTypeError(
            f"{text!r} does not name a callable; pass file.py:callable, such as heat.py:build, or "
            "a file from report.save, executable.save or graph.save"
        )
    return text


def _given(text: str) -> tuple[str, Written]:
    """Return the name of an argument, and its value as written.

    >>> _given("rows=20"), _given("name=x=1")
    (('rows', '20'), ('name', 'x=1'))
    """
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE, such as rows=20; found {text!r}")
    return name, Written(value)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number of seconds above 0; found {text!r}")
    return seconds


def number_from(least: int, of: str = "") -> Callable[[str], int]:
    """Return the argparse type for a whole number; `of` names the counted items.

    >>> number_from(1)("10")
    10
    """

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            counted = f" of {of}" if of else ""
            raise argparse.ArgumentTypeError(
                f"must be a number{counted}, at least {least}; found {text!r}"
            )
        return int(text)

    return read


def terminal_columns() -> int | None:
    """Return the width given by the variable COLUMNS, or None if it is not set.

    >>> from unittest.mock import patch
    >>> with patch.dict(os.environ, COLUMNS="100"):
    ...     terminal_columns()
    100
    """
    text = os.environ.get("COLUMNS", "")
    return (int(text) or None) if text.isdecimal() else None


def drawn_width(arguments: argparse.Namespace) -> int:
    """Return the width of a picture drawn as text, and warn if the terminal is too narrow.

    >>> drawn_width(argparse.Namespace(width=100, quiet=False))
    100
    """
    width: int = arguments.width or USUAL_WIDTH
    if width < LEAST_WIDTH and not arguments.quiet:
        message = f"pictures need at least {LEAST_WIDTH} columns, but COLUMNS is {width}"
        print(f"poplite-viz: {message}", file=sys.stderr)
    return max(width, LEAST_WIDTH)


def fitted(text: str, width: int | None) -> str:
    r"""Return lines folded at `width` columns, with a final newline; None does not fold them.

    >>> fitted("cycles", None)
    'cycles\n'
    """
    from poplite.viz.draw.words import folded

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
    """Return a number, a bool or text; always text if in quotes, or if declared as text only.

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
    """Return whether an annotation, or its text, contains str and no number type."""
    if isinstance(annotation, str):
        names = {part.strip() for part in annotation.split("|")}
    else:
        names = {getattr(each, "__name__", "") for each in get_args(annotation) or [annotation]}
    return "str" in names and not names & NUMBERS
