"""`poplite-viz steps`: what each step takes, and all tiles in time."""

from __future__ import annotations

import argparse

from poplite.tools.viz.flags import Commands, add_report, add_run, add_sort, add_steps, set_run

SORTS = ("cycles", "program", "balance", "times", "name")


def add(commands: Commands) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "steps",
        help="what each step takes: cycles, phases, balance",
        description="Draw a row for each step: its cycles, how often it ran, how evenly tiles "
        "work, and its phases. With --timeline, draw what all tiles do in time.",
    )
    add_report(parser, formats=("txt", "svg", "png", "json"))
    add_run(parser)
    parser.add_argument(
        "--timeline", action="store_true", help="draw tiles from top to bottom, time to the right"
    )
    add_sort(parser, SORTS, "order of the rows")
    parser.add_argument(
        "--match", metavar="TEXT", default="", help="only steps with this in their names"
    )
    add_steps(parser)
    set_run(parser, _run)


def _run(arguments: argparse.Namespace) -> int:
    from poplite.tools.viz.load_report import load_report
    from poplite.tools.viz.output import Destination
    from poplite.viz.forms import steps_forms, timeline_forms
    from poplite.viz.steps.step_list import step_list
    from poplite.viz.steps.timeline import timeline_of

    out = Destination.of(arguments)
    report = load_report(arguments)
    step, match = arguments.step, arguments.match
    if arguments.timeline:
        forms = timeline_forms(timeline_of(report, step=step, match=match))
    else:
        forms = steps_forms(step_list(report, step=step, match=match, sort=arguments.sort))
    out.draw(forms, arguments)
    return 0
