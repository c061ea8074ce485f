"""`poplite`: commands around a graph; `--help` has examples.

    poplite run -n 4 heat.py:build
    poplite export heat.py:build exported
    poplite ipu selftest
    poplite viz tiles heat.py:build

Anything slow is imported by the subcommand that needs it.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from poplite.errors import ControlProgramError
from poplite.tools.command.run import run_command
from poplite.tools.viz import main as viz
from poplite.tools.viz.flags import Commands, add_subcommand, add_target, set_run
from poplite.tools.viz.main import VersionAction, run_parsed

if TYPE_CHECKING:
    from poplite.graph.graph import Graph
    from poplite.program import Program

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
    return run_parsed(_parser(), words)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="poplite",
        description="Run poplite programs, export their graphs, test an SDK, draw pictures.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=VersionAction)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    add_subcommand(commands, _export_command)
    _ipu_command(commands)
    add_subcommand(commands, run_command)
    commands.add_parser("viz", help="pictures and reports: another name of poplite-viz")
    return parser


def _export_command(parser: argparse.ArgumentParser) -> None:
    """C++ and tables of a graph and its programs, for a machine with Poplar's SDK.

    Write codelets, host program, tables, a CMake file, a README and a client in Python to a folder.
    Needs no compiler. An unchanged graph gives equal bytes.
    """
    add_target(parser)
    parser.add_argument("folder", metavar="FOLDER", help="where to write; made if it is not there")
    parser.add_argument(
        "--checks",
        choices=("fast", "none"),
        default="none",
        help="fast: an index outside of a field stops the program (default none)",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="do not say what was written")
    set_run(parser, _export)


def _export(arguments: argparse.Namespace) -> int:
    from poplite.ipu.export_files import export
    from poplite.tools.viz.load_target import load_programs

    graph, programs = load_programs(arguments.target, arguments.given)
    if not programs:
        raise ControlProgramError(
            f"{arguments.target!r} returned a Graph alone, and nothing to run",
            at=None,
            fix="return graph, program",
        )
    folder = export(graph, programs, arguments.folder, checks=arguments.checks)
    if not arguments.quiet:
        print(f"wrote {folder}: read its README.md", file=sys.stderr)
    _say_fit(graph, programs)
    return 0


def _say_fit(graph: Graph, programs: dict[str, Program]) -> None:
    """Say on one line what the model holds against a program that is too large for a tile."""
    from poplite.compile.compiler import plan_memory

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of cycles, which are not printed here
        needed = plan_memory(graph, programs).including_gaps
    limit = graph.target.tile_memory_bytes
    if needed.most > limit:
        what = f"tile {needed.worst_tile:,} needs {needed.most:,} B of {limit:,} B"
        print(f"poplite: does not fit by the model: {what}", file=sys.stderr)


def _ipu_command(commands: Commands) -> None:
    """Add the subcommand and its own subcommands."""
    parser = commands.add_parser("ipu", help="what needs Poplar's SDK: selftest")
    below: Commands = parser.add_subparsers(metavar="WHAT", required=True)
    add_subcommand(below, _selftest_command)


def _selftest_command(parser: argparse.ArgumentParser) -> None:
    """Compare the SDK's IPU Model and hardware with the simulator.

    Compile codelets and host program with the SDK, run drawn data on the IPU Model and on hardware,
    and print how the results compare with the simulator's, as a table to paste into an issue.
    """
    parser.add_argument(
        "--kind",
        choices=("model", "hardware"),
        action="append",
        help="only this one; by default both",
    )
    parser.add_argument("--arch", help="of the hardware: ipu2 (the default) or ipu21")
    set_run(parser, _selftest)


def _selftest(arguments: argparse.Namespace) -> int:
    import poplite
    from poplite.ipu.building import find_sdk
    from poplite.ipu.device import Device
    from poplite.ipu.selftest import selftest, selftest_text

    sdk = find_sdk()

    def device(kind: str) -> Device:
        arch = arguments.arch if kind == "hardware" else None
        return Device("model" if kind == "model" else "hardware", arch=arch, sdk=sdk)

    outcomes = selftest(arguments.kind or ("model", "hardware"), device)
    print(f"poplite {poplite.__version__}, Python {sys.version.split()[0]}, {sdk.version()}\n")
    print(selftest_text(outcomes))
    return 0 if all(each.is_equal for each in outcomes) else 1
