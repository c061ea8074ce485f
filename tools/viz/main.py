"""The command `poplite-viz`, which draws graphs; `--help` has examples.

    poplite-viz tiles heat.py:build

Anything slow is imported by the subcommand that needs it.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
import traceback
from collections.abc import Sequence

from poplite.errors import PopliteError
from poplite.tools.viz.commands import SUBCOMMANDS
from poplite.tools.viz.flags import Run, add_subcommand, terminal_columns
from poplite.tools.viz.progress import CurrentWork

EPILOG = """\
examples:
  poplite-viz summary heat.py:build                        does it fit?
  poplite-viz tiles heat.py:build                          the tile map
  poplite-viz tiles run.json --by waited                   which tiles wait?
  poplite-viz tensor heat.py:build a -o a.svg              where are its elements?
  poplite-viz tensor heat.py:build a --view '20:40, ::2'   where is a part of it?
  poplite-viz regions heat.py:build a --op 'reverse 0'     its intervals of memory
  poplite-viz program heat.py:build --counts               how often does a step run?
  poplite-viz graph heat.py:build --around a               dataflow near a variable
  poplite-viz lint heat.py:build                           what would a tile emulate?
  poplite-viz memory heat.py:build --stack variable        what fills the tiles?
  poplite-viz tile run.json 37                             what is on a tile?
  poplite-viz liveness run.json                            when is it needed?
  poplite-viz report heat.py:build --open                  cycles and memory
  poplite-viz diff base.json run.json --fail-if 'cycles>+5%'  is it slower?
  poplite-viz steps heat.py:build --timeline               when do tiles wait?
  poplite-viz sweep sweep.json --by fullest                which mapping is best?

TARGET is file.py:callable or module:callable; the callable gets the arguments
from --arg and returns a Graph, (Graph, Program) or (Graph, {name: Program}).
Pictures of reports also accept files from report.save or executable.save; a
file from graph.save is accepted in place of any TARGET.

exit codes: 0 success, 1 an error with a message, 2 a wrong command line,
3 a failed check of diff
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with the given arguments, or with those of the process.

    The exit code is 0 on success, 1 after a user's error, 130 after an interrupt from the keyboard.

    Args:
        argv: the arguments, without the command's name.

    Raises:
        SystemExit: with 2 for a wrong command line, with 0 after `--help` and `--version`.

    >>> main(["tiles", "no_such_file.py:build"])
    1
    """
    return run_parsed(parser_of_viz(), argv)


def run_parsed(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> int:
    """Run the subcommand that the arguments name, and return the exit code."""
    arguments = parser.parse_args(argv)
    is_shown = not getattr(arguments, "quiet", True)
    try:
        run: Run = arguments.run
        with CurrentWork(parser.prog, is_shown=is_shown):
            return run(arguments)
    except PopliteError as error:
        return failed(parser.prog, error, arguments)
    except KeyboardInterrupt:
        return 130  # a shell's exit code for an interrupted command


def failed(command: str, error: PopliteError, arguments: argparse.Namespace) -> int:
    """Print the message of a user's error, or the traceback if requested; return 1."""
    from poplite.viz.draw.words import name_text

    if arguments.traceback:
        traceback.print_exc()
    else:
        if error.at is not None and error.at.file == sys.argv[0]:
            error.at = None  # a line of the command itself, which no user can correct
        # Names may contain control characters, which a terminal would interpret.
        lines = map(name_text, str(error).split("\n"))
        print(f"{command}:", "\n".join(lines), file=sys.stderr)
    return 1


def parser_of_viz() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    columns = terminal_columns()
    parser = argparse.ArgumentParser(
        prog="poplite-viz",
        description=_folded("Draw the graphs and tile mappings of poplite programs.", columns),
        epilog=_folded(EPILOG, columns),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=VersionAction)
    add_subcommands(parser)
    return parser


def add_subcommands(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands, also below `poplite viz`."""
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for add in SUBCOMMANDS:
        add_subcommand(commands, add)


def _folded(text: str, width: int | None) -> str:
    """Fold lines of help without a module of pictures, which would be slow to import."""
    if width is None:
        return text
    lines = (textwrap.wrap(line, width, subsequent_indent="    ") for line in text.split("\n"))
    return "\n".join("\n".join(each) for each in lines)


class VersionAction(argparse.Action):
    """Prints the version, and looks it up only then."""

    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="print the version and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print the version, and exit."""
        import poplite

        print(f"{parser.prog} {poplite.__version__}")
        parser.exit()
