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
    from poplite.tools.viz.load_target import load_target
    from poplite.tools.viz.output import Destination

    out = Destination.of(arguments)
    from poplite.viz.forms import summary_forms

    saved = load_saved(arguments)
    if saved is not None:
        from poplite.viz.saved_summary import summary_of_report

        programs = programs_of(saved, arguments)
        name = programs[0] if arguments.program is not None else None
        out.draw(summary_forms(summary_of_report(saved, name)), arguments)
        return 0
    graph, program = load_target(
        arguments.target, arguments.given, arguments.program, arguments.vertices
    )
    from poplite.viz.summary import summary_of

    out.draw(summary_forms(summary_of(graph, program)), arguments)
    return 0
