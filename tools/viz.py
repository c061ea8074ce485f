"""`poplite-viz`: pictures of graphs from the command line.

    poplite-viz summary heat.py:build                       what it is, and whether it fits
    poplite-viz tiles heat.py:build                         the tile map, as text
    poplite-viz tensor heat.py:build a --view "20:40, ::2"  who owns what, a view pointed out
    poplite-viz tensor heat.py:build a -o a.svg             the same as a picture
    poplite-viz program heat.py:build --counts              the program tree
    poplite-viz graph heat.py:build -o heat.svg             what reads and writes what
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
from collections.abc import Sequence

from poplite.errors import PopliteError
from poplite.tools import graph, program, summary, tensor, tiles
from poplite.tools.flags import Commands, Run, set_run


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
        run: Run = arguments.run
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
    for command in (summary, tiles, tensor, program, graph):
        command.add(commands)
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


def _add_doctor(commands: Commands) -> None:
    parser = commands.add_parser(
        "doctor",
        help="what is installed, and where compiled vertices are kept",
        description="Say which versions are installed, and whether the cache works.",
    )
    set_run(parser, _doctor)


def _doctor(_: argparse.Namespace) -> int:
    from poplite.tools.doctor import doctor

    return doctor()


if __name__ == "__main__":
    sys.exit(main())
