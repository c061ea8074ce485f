"""`poplite-viz exchange`: what tiles send each other, why, and from where to where."""

from __future__ import annotations

import argparse

from poplite.tools.viz.flags import Commands, add_report, add_run, add_steps, add_top, set_run


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
    add_steps(parser)
    add_top(parser, 10, "reasons that are listed")
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
