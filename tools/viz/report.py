"""`poplite-viz report`: what an engine's report says, that was saved to a file."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from poplite.tools.viz.flags import (
    Commands,
    add_output,
    fitted,
    set_run,
    terminal_columns,
)

if TYPE_CHECKING:
    from poplite.report import Report
    from poplite.tools.viz.output import Destination


def add(commands: Commands) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "report",
        help="what runs took, or what changed from one report to another",
        description="Print a report that report.save(FILE) wrote: cycles, memory, and what to "
        "look at first. With a second one, print what changed.",
    )
    parser.add_argument("report", metavar="REPORT", help="a file that report.save wrote")
    parser.add_argument("later", metavar="LATER", nargs="?", help="another one to compare with")
    parser.add_argument(
        "--by",
        choices=("memory", "cycles"),
        help="draw the tile map: bytes that each tile holds, or cycles that it was busy",
    )
    add_output(parser, formats=("txt", "svg", "png", "json"))
    parser.set_defaults(width=terminal_columns())  # else lines are as long as they are
    set_run(parser, _run)


def _run(arguments: argparse.Namespace) -> int:
    from poplite.errors import InvalidOption
    from poplite.report import Report
    from poplite.tools.viz.output import Destination
    from poplite.viz.compare.names import column_names

    out = Destination.of(arguments)
    report = Report.load(arguments.report)
    if arguments.later is not None:
        if arguments.by or out.format != "txt":
            raise InvalidOption(
                "two reports are compared as text",
                found=f"--by {arguments.by}" if arguments.by else f"the format is {out.format}",
                fix=f"poplite-viz report {arguments.report} {arguments.later}",
            )
        later = Report.load(arguments.later)
        names = column_names(arguments.report, arguments.later)
        text = report.diff(later).text(names, width=arguments.width)
        text = text.replace("×", "x") if out.style.ascii_only else text
        out.write(fitted(text, arguments.width))
    elif out.format == "json":
        out.write(report.to_json())
    elif arguments.by is None and out.format == "txt":
        out.write(fitted(str(report), arguments.width))
    else:
        _draw(report, arguments, out)
    return 0


def _draw(report: Report, arguments: argparse.Namespace, out: Destination) -> None:
    from poplite.errors import InvalidOption
    from poplite.viz.forms import map_forms
    from poplite.viz.tiles.report_maps import report_maps

    maps = dict(zip(("memory", "cycles"), report_maps(report), strict=False))
    if not maps:
        raise InvalidOption(
            f"{arguments.report!r} has no numbers to draw",
            found="cycles and memory are not modelled in it: debug.instrument was False",
            fix="leave that option out, and save a report again",
        )
    out.draw(map_forms(maps[arguments.by or "memory"]), arguments)
