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
    add_report(parser, formats=("txt", "json", "csv"))
    add_run(parser)
    parser.add_argument(
        "--depth", metavar="N", type=count, default=2, help="levels that are listed (default: 2)"
    )
    add_sort(parser, SORTS, "order within a scope")
    set_run(parser, _run)


def _run(arguments: argparse.Namespace) -> int:
    from poplite.tools.viz.load_report import load_report
    from poplite.tools.viz.output import Destination
    from poplite.viz.ops.scopes import scope_tree, scopes_json
    from poplite.viz.ops.text import draw_scopes_text, scopes_csv

    out = Destination.of(arguments)
    tree = scope_tree(load_report(arguments), depth=arguments.depth, sort=arguments.sort)
    match out.format:
        case "json":
            out.write(scopes_json(tree))
        case "csv":
            out.write(scopes_csv(tree))
        case _:
            out.write(draw_scopes_text(tree, out.text_style(arguments)))
    return 0
