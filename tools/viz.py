"""`poplite-viz`: pictures of graphs from the command line.

    poplite-viz tiles heat.py:build                         the tile map, as text
    poplite-viz tensor heat.py:build a --view "20:40, ::2"  who owns what, a view pointed out
    poplite-viz tensor heat.py:build a -o a.svg             the same as a picture
    poplite-viz doctor                                      what is installed

TARGET is `file.py:callable` or `module:callable`; the callable takes no arguments and
returns a Graph or (Graph, Program).  Exit codes: 0 done, 1 a message says what is wrong,
2 the command line is wrong.  Anything slow is imported by the subcommand that needs it.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import TypeAlias

from poplite.errors import PopliteError

FORMATS = ("txt", "svg")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        argv: arguments after the command's name; those of the process when omitted.

    Returns:
        Exit code: 0 done, 1 user error.

    Raises:
        SystemExit: with code 2 for a wrong command line, 0 after `--help`, `--version`.

    >>> main(["tiles", "no_such_file.py:build"])
    1
    """
    arguments = _parser().parse_args(argv)
    try:
        run: _Run = arguments.run
        return run(arguments)
    except PopliteError as error:
        if arguments.traceback:
            traceback.print_exc()
        else:
            print(f"poplite-viz: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader (`head`, a pager) has seen enough; Python must not flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="poplite-viz",
        description="Draw the graphs and tile mappings of poplite programs.",
        epilog="TARGET is file.py:callable or module:callable; the callable takes no arguments "
        "and returns a Graph or (Graph, Program).",
    )
    parser.add_argument("--version", action=_Version)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_tiles(commands)
    _add_tensor(commands)
    _add_doctor(commands)
    return parser


class _Version(argparse.Action):
    """Prints the version; looks it up only when asked."""

    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="print the version and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        import poplite

        print(f"{parser.prog} {poplite.__version__}")
        parser.exit()


_Run: TypeAlias = Callable[[argparse.Namespace], int]
_Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def _add_picture(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target", metavar="TARGET", type=_target, help="file.py:callable or module:callable"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="-",
        help="write to FILE, as its suffix says (.txt, .svg); - is standard output",
    )
    parser.add_argument("--format", choices=FORMATS, help="txt unless the suffix says otherwise")
    parser.add_argument(
        "--width", type=_width, default=80, help="columns of text to fit (default 80)"
    )
    parser.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="colour text: auto is in a terminal, unless NO_COLOR is set",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="do not say what was written")


def _add_tiles(commands: _Commands) -> None:
    parser = commands.add_parser(
        "tiles",
        help="the tile map: every tile, shaded by the bytes on it",
        description="Draw every tile of the target, shaded by the bytes mapped to it.",
    )
    _add_picture(parser)
    parser.add_argument(
        "--variable",
        metavar="NAME",
        nargs="+",
        action="extend",
        default=[],
        help="count only these variables",
    )
    _add_traceback(parser, _tiles)


def _add_tensor(commands: _Commands) -> None:
    parser = commands.add_parser(
        "tensor",
        help="which tile owns which elements of a variable",
        description="Draw which tile owns which elements of a variable, with its intervals.",
    )
    _add_picture(parser)
    parser.add_argument("name", metavar="NAME", help="name of the variable, with its scopes")
    parser.add_argument(
        "--view", metavar="INDEX", help="point out a part of it, for instance '2:5, ::2'"
    )
    _add_traceback(parser, _tensor)


def _add_doctor(commands: _Commands) -> None:
    parser = commands.add_parser(
        "doctor",
        help="what is installed, and where compiled vertices are kept",
        description="Say which versions are installed, and whether the cache works.",
    )
    _add_traceback(parser, _doctor)


def _add_traceback(parser: argparse.ArgumentParser, run: _Run) -> None:
    parser.add_argument(
        "--traceback", action="store_true", help="show Python's traceback of an error"
    )
    parser.set_defaults(run=run)


def _target(text: str) -> str:
    place, colon, name = text.rpartition(":")
    if not (place and colon and name):
        raise argparse.ArgumentTypeError(
            f"{text!r} names no callable; write file.py:callable, for instance heat.py:build"
        )
    return text


def _width(text: str) -> int:
    if not text.isdecimal() or int(text) < 60:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of columns from 60 up")
    return int(text)


def _tiles(arguments: argparse.Namespace) -> int:
    from poplite.tools.output import Destination
    from poplite.tools.target import load_target

    out = Destination.of(arguments)
    graph, _ = load_target(arguments.target)
    from poplite.viz.load import tile_load
    from poplite.viz.tiles import draw_tiles_svg, draw_tiles_text

    load = tile_load(graph, arguments.variable)
    if out.format == "svg":
        out.write(draw_tiles_svg(load))
    else:
        out.write(draw_tiles_text(load, width=arguments.width, style=out.style))
    return 0


def _tensor(arguments: argparse.Namespace) -> int:
    from poplite.tools.output import Destination
    from poplite.tools.target import load_target

    out = Destination.of(arguments)
    graph, _ = load_target(arguments.target)
    from poplite.viz.load import find_variable
    from poplite.viz.ownership import ownership_of_variable
    from poplite.viz.tensor_svg import draw_tensor_svg
    from poplite.viz.tensor_text import draw_tensor_text

    owned = ownership_of_variable(find_variable(graph, arguments.name), arguments.view)
    if out.format == "svg":
        out.write(draw_tensor_svg(owned))
    else:
        text = draw_tensor_text(
            owned, width=arguments.width, style=out.style, full=not out.is_stdout
        )
        out.write(text)
    return 0


def _doctor(_: argparse.Namespace) -> int:
    from poplite.tools.doctor import doctor

    return doctor()


if __name__ == "__main__":
    sys.exit(main())
