"""`poplite-viz memory`: what every tile needs, and what lies on the fullest one."""

from __future__ import annotations

import argparse

from poplite.tools.viz.flags import Commands, add_report, add_sort, add_top, set_run

STACKS = ("kind", "variable", "live")
SORTS = ("tile", "size")


def add(commands: Commands) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "memory",
        help="what every tile needs, and what fills the fullest one",
        description="Draw a bar for each tile, with the limit, and list what lies on the fullest "
        "tile when it is fullest.",
    )
    add_report(parser, formats=("txt", "svg", "png", "json", "csv"))
    parser.add_argument(
        "--stack",
        choices=STACKS,
        default="kind",
        help="what bars are made of: kinds of things, the largest variables and buffers, or what "
        "is always live (default: kind)",
    )
    add_sort(parser, SORTS, "tiles by number, or the fullest first")
    add_top(parser, 10, "things of the fullest tile that are listed")
    set_run(parser, _run)


def _run(arguments: argparse.Namespace) -> int:
    from poplite.tools.viz.load_report import load_report
    from poplite.tools.viz.output import Destination
    from poplite.viz.forms import memory_forms
    from poplite.viz.memory.memory_bars import memory_bars

    out = Destination.of(arguments)
    report = load_report(arguments, run=False)
    bars = memory_bars(report, stack=arguments.stack, sort=arguments.sort)
    out.draw(memory_forms(bars, arguments.top), arguments)
    return 0
