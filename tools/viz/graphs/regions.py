"""`poplite-viz regions`: which intervals of memory a view of a variable is, or a vertex's field."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from poplite.tools.viz.flags import Commands, add_picture, build_flags, command, set_run

if TYPE_CHECKING:
    from poplite.graph.graph import Graph
    from poplite.viz.regions.frames import RegionFrames


def add(commands: Commands) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "regions",
        help="which intervals of memory a view is, operation by operation",
        description="Draw what operations make of a variable, one frame each, and the intervals "
        "of memory that it is made of; or a field of a vertex, and the copies it forces.",
    )
    add_picture(parser, formats=("txt", "svg", "png", "json", "html"))
    parser.add_argument(
        "name", metavar="NAME", nargs="?", help="name of the variable, with its scopes"
    )
    parser.add_argument(
        "--op",
        metavar="OP",
        dest="operations",
        action="append",
        default=[],
        help="an operation, again and again: an index ('2:5, ::2'), or one of Poplar's with its "
        "arguments ('dimShuffle 1,0', 'broadcast 3 0', 'concat NAME 0')",
    )
    parser.add_argument(
        "--field",
        metavar="'SET#VERTEX.FIELD'",
        help="draw what a field of a vertex is connected to, for instance 'blur#3.x'",
    )
    set_run(parser, _run)


def _run(arguments: argparse.Namespace) -> int:
    from poplite.tools.viz.load_variables import load_variables
    from poplite.tools.viz.output import Destination

    out = Destination.of(arguments)
    _check(arguments)
    graph = load_variables(arguments, [arguments.name] if arguments.name else [])
    from poplite.viz.forms import regions_forms

    words = [arguments.target, *([arguments.name] if arguments.name else [])]
    words += build_flags(arguments)
    words += [word for operation in arguments.operations for word in ("--op", operation)]
    words += ["--field", arguments.field] if arguments.field is not None else []
    out.draw(regions_forms(_frames(graph, arguments)), arguments, "regions", *words)
    return 0


def _check(arguments: argparse.Namespace) -> None:
    """Refuse, before the user's program runs, what says nothing or too much."""
    from poplite.errors import InvalidOption
    from poplite.tools.viz.load_report import is_report_file
    from poplite.viz.regions.operations import read_operation

    if (arguments.name is None) == (arguments.field is None):
        both = arguments.name is not None
        raise InvalidOption(
            f"regions draws {'either' if both else 'a variable, or'} a field of a vertex"
            f"{' or a variable' if both else ''}",
            at=None,
            found="both are given" if both else "neither is given",
            fix=command("regions", arguments.target, "NAME", "--op", "dimShuffle 1,0"),
        )
    if arguments.field is not None and arguments.operations:
        raise InvalidOption(
            "operations are those of a variable",
            at=None,
            found=f"--op {arguments.operations[0]!r} with --field {arguments.field!r}",
            fix="leave --op out, or give the name of a variable",
        )
    if arguments.field is not None and is_report_file(arguments.target):
        raise InvalidOption(
            "a saved report or executable does not say what a single vertex is connected to",
            at=None,
            found=f"--field {arguments.field!r} with {arguments.target!r}",
            fix="give file.py:callable, which builds the graph, or a file of graph.save",
        )
    for operation in arguments.operations:
        read_operation(operation)


def _frames(graph: Graph, arguments: argparse.Namespace) -> RegionFrames:
    from poplite.viz.regions.field import frames_of_field
    from poplite.viz.regions.frames import frames_of
    from poplite.viz.regions.operations import read_operation

    if arguments.field is not None:
        return frames_of_field(graph, arguments.field)
    return frames_of(graph.tensor(arguments.name), list(map(read_operation, arguments.operations)))
