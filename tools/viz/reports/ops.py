"""`poplite-viz ops`: what operations and scopes of names take."""

from __future__ import annotations

import argparse

from poplite.tools.viz.flags import Commands, add_report, add_run, add_sort, count, set_run

SORTS = ("cycles", "received", "memory", "name", "program")


def add(commands: Commands) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "ops",
        help="cycles and bytes by operation and scope of names",
        description="List what operations and scopes of names take, a scope with all that is "
        "inside: cycles, bytes that tiles receive, bytes of variables.",
    )
    add_report(parser, formats=("txt", "svg", "png", "json", "csv"))
    add_run(parser)
    parser.add_argument(
        "--depth", metavar="N", type=count, default=2, help="levels that are listed (default: 2)"
    )
    add_sort(parser, SORTS, "order within a scope")
    set_run(parser, _run)


def _run(arguments: argparse.Namespace) -> int:
    from poplite.tools.viz.load_report import load_report
    from poplite.tools.viz.output import Destination
    from poplite.viz.forms import ops_forms
    from poplite.viz.ops.scopes import scope_tree

    out = Destination.of(arguments)
    tree = scope_tree(load_report(arguments), depth=arguments.depth, sort=arguments.sort)
    out.draw(ops_forms(tree), arguments)
    return 0
