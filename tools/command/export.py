"""`poplite export`: a graph and its programs as C++ and tables, for a machine with Poplar's SDK."""

from __future__ import annotations

import argparse
import sys
import warnings
from typing import TYPE_CHECKING

from poplite.tools.viz.flags import Commands, add_target, set_run

if TYPE_CHECKING:
    from poplite.graph.graph import Graph
    from poplite.program import Program


def add(commands: Commands) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "export",
        help="C++ and tables of a graph and its programs, for a machine with Poplar's SDK",
        description="Write codelets, host program, tables, a CMake file, a README and a client in "
        "Python to a folder. Needs no compiler. An unchanged graph gives equal bytes.",
    )
    add_target(parser)
    parser.add_argument("folder", metavar="FOLDER", help="where to write; made if it is not there")
    parser.add_argument(
        "--checks",
        choices=("fast", "none"),
        default="none",
        help="fast: an index outside of a field stops the program (default none)",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="do not say what was written")
    set_run(parser, _run)


def _run(arguments: argparse.Namespace) -> int:
    from poplite.errors import ControlProgramError
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
