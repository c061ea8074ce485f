"""`poplite-viz summary`: what a graph is, and whether it fits."""

from __future__ import annotations

import argparse

from poplite.tools.viz.flags import Commands, add_picture, add_program, set_run


def add(commands: Commands) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "summary",
        help="what the graph is, and whether it fits",
        description="Say what a graph holds, which tile holds most, and whether that fits.",
    )
    add_picture(parser, formats=("txt", "svg", "png", "json"))
    add_program(parser)
    set_run(parser, _run)


def _run(arguments: argparse.Namespace) -> int:
    from poplite.tools.viz.load_report import load_saved, programs_of
    from poplite.tools.viz.load_target import load_programs
    from poplite.tools.viz.output import Destination

    out = Destination.of(arguments)
    from poplite.viz.forms import summary_forms

    saved = load_saved(arguments)
    if saved is not None:
        from poplite.viz.saved_summary import summary_of_report

        names = programs_of(saved, arguments)
        name = names[0] if arguments.program is not None else None
        out.draw(summary_forms(summary_of_report(saved, name)), arguments)
        return 0
    graph, programs = load_programs(
        arguments.target, arguments.given, arguments.vertices, arguments.program
    )
    from poplite.viz.summary import summary_of

    out.draw(summary_forms(summary_of(graph, programs)), arguments)
    return 0
