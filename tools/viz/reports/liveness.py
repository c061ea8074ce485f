"""`poplite-viz liveness`: what a tile needs, step by step."""

from __future__ import annotations

import argparse

from poplite.tools.viz.flags import Commands, add_report, count, set_run


def add(commands: Commands) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "liveness",
        help="what a tile needs, step by step, and what is largest",
        description="Draw a row for each step: what a tile needs in it besides what is always "
        "live, and the largest of it.",
    )
    add_report(parser, formats=("txt", "svg", "png", "json", "csv"))
    parser.add_argument(
        "--tile", metavar="N|worst", default="worst", help="which tile (default: the fullest one)"
    )
    parser.add_argument(
        "--top", metavar="N", type=count, help="only the N steps that need most, in their order"
    )
    set_run(parser, _run)


def _run(arguments: argparse.Namespace) -> int:
    from poplite.tools.viz.load_report import load_report
    from poplite.tools.viz.output import Destination
    from poplite.viz.forms import liveness_forms
    from poplite.viz.liveness.live_steps import live_steps

    out = Destination.of(arguments)
    report = load_report(arguments, run=False)
    out.draw(liveness_forms(live_steps(report, arguments.tile, top=arguments.top)), arguments)
    return 0
