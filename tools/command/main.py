"""`poplite`: commands around a graph; `--help` has examples.

    poplite run -n 4 heat.py:build
    poplite export heat.py:build exported
    poplite ipu selftest
    poplite viz tiles heat.py:build

A subcommand is a module. Anything slow is imported by the one that needs it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from poplite.errors import PopliteError
from poplite.tools.command import export, ipu, run as running
from poplite.tools.viz import main as viz
from poplite.tools.viz.flags import Run
from poplite.tools.viz.main import VersionAction, failed

EPILOG = """\
examples:
  poplite run -n 4 heat.py:build            on four ranks, in as many processes
  poplite export heat.py:build exported     C++ and tables for a machine with an SDK
  poplite export heat.py:build exported --arg rows=20
  poplite ipu selftest                      does the SDK of this machine do as it should?
  poplite viz tiles heat.py:build           the same as poplite-viz tiles heat.py:build

TARGET is file.py:callable or module:callable; the callable gets what --arg says
and returns (Graph, Program) or (Graph, {name: Program}).

exit codes: 0 done, 1 an error with a message, 2 the command line is wrong
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with these arguments, or with those of the process.

    The exit code is 0 when done, 1 after a user's error, 130 after an interrupt from the keyboard.
    SystemExit is raised with 2 for a wrong command line, with 0 after `--help` and `--version`.

    >>> main(["export", "no_such_file.py:build", "exported"])
    1
    """
    words = sys.argv[1:] if argv is None else list(argv)
    if words[:1] == ["viz"]:
        return viz(words[1:])
    arguments = _parser().parse_args(words)
    try:
        run: Run = arguments.run
        return run(arguments)
    except PopliteError as error:
        return failed("poplite", error, arguments)
    except KeyboardInterrupt:
        return 130  # as a shell says of a command that was interrupted


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="poplite",
        description="Run poplite programs, export their graphs, test an SDK, draw pictures.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=VersionAction)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    export.add(commands)
    ipu.add(commands)
    running.add(commands)
    commands.add_parser("viz", help="pictures and reports: another name of poplite-viz")
    return parser
