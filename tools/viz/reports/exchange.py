"""`poplite-viz exchange`: what tiles send each other, why, and from where to where."""

from __future__ import annotations

import argparse

from poplite.tools.viz.flags import Commands, add_report, add_run, count, set_run


def add(commands: Commands) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "exchange",
        help="what tiles send each other, why, and from where to where",
        description="Draw what each tile sends and receives, the fields and lines that are the "
        "cause, and which tiles receive from which.",
    )
    add_report(parser, formats=("txt", "svg", "png", "json"))
    add_run(parser)
    parser.add_argument(
        "--step", metavar="N|A:B|NAME", help="only this step, or those from A to B, both included"
    )
    parser.add_argument(
        "--top", metavar="N", type=count, default=10, help="reasons that are listed (default: 10)"
    )
    set_run(parser, _run)


def _run(arguments: argparse.Namespace) -> int:
    from poplite.tools.viz.load_report import load_report
    from poplite.tools.viz.output import Destination
    from poplite.viz.exchange.traffic import traffic_of
    from poplite.viz.forms import exchange_forms

    out = Destination.of(arguments)
    traffic = traffic_of(load_report(arguments), step=arguments.step)
    out.draw(exchange_forms(traffic, arguments.top), arguments)
    return 0
