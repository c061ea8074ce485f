"""`poplite-viz diff`: what changed from one report to another, with checks."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from poplite.tools.viz.flags import (
    SAVED,
    Commands,
    add_call_arguments,
    add_output,
    add_program,
    add_run,
    add_top,
    add_vertices,
    build_flags,
    command,
    set_run,
)

if TYPE_CHECKING:
    from poplite.tools.viz.output import Destination
    from poplite.viz.compare.checks import Check
    from poplite.viz.compare.forms import Comparison

FAILED = 3
"""The exit code when a check fails."""

WRONG = 2
"""The exit code of a wrong command line."""


def add(commands: Commands) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "diff",
        help="what changed from one report to another, with checks for CI",
        description="Print what changed from A to B: cycles, steps, phases, memory. "
        "With --fail-if, check the change; the exit code is 3 when a check fails.",
        epilog="NAME of --fail-if: cycles, fullest (bytes of the fullest tile), bytes (of all "
        "tiles), balance (percent), a phase (compute, copy, exchange, 'global exchange', "
        "'host exchange', sync), step:NAME, kind:NAME (of memory). OP: > or <. AMOUNT: +5% or "
        "+1000 for a change, 600000 for the later number.",
    )
    for name, which in (("before", "A"), ("after", "B")):
        parser.add_argument(name, metavar=which, help=SAVED)
    parser.add_argument(
        "--fail-if",
        metavar="NAME OP AMOUNT",
        dest="checks",
        type=_check,
        action="append",
        default=[],
        help="fail when this is the case, for instance 'cycles>+5%%'; may be repeated",
    )
    add_top(parser, 20, "changes of one kind")
    add_call_arguments(parser)
    add_program(parser)
    add_vertices(parser)
    add_output(parser, formats=("txt", "svg", "png", "md", "html", "json"))
    add_run(parser)
    set_run(parser, _run)


def _run(arguments: argparse.Namespace) -> int:
    from poplite.errors import UnknownName
    from poplite.tools.viz.load_report import load_each
    from poplite.tools.viz.output import Destination
    from poplite.viz.compare.checks import outcomes
    from poplite.viz.compare.forms import Comparison
    from poplite.viz.compare.names import column_names

    out = Destination.of(arguments)
    files = arguments.before, arguments.after
    before, after = load_each(arguments, *files)
    try:
        checked = outcomes(before.report, after.report, arguments.checks)
    except UnknownName as error:
        print(f"poplite-viz: {error}", file=sys.stderr)
        return WRONG
    diff = before.report.diff(after.report)
    comparison = Comparison(column_names(*files), diff, tuple(checked), arguments.top)
    _write(comparison, arguments, out)
    return FAILED if any(each.failed for each in checked) else 0


def _write(comparison: Comparison, arguments: argparse.Namespace, out: Destination) -> None:
    """Write what changed; what was checked is printed too where that goes to a file."""
    from poplite.tools.viz.output import write_stdout
    from poplite.viz.compare import forms

    match out.format:
        case "svg":
            out.write(forms.comparison_svg(comparison))
        case "png":
            out.write_png(forms.comparison_svg(comparison))
        case "md":
            out.write(forms.comparison_markdown(comparison))
        case "json":
            out.write(forms.comparison_json(comparison))
        case "html":
            checks = [word for c in arguments.checks for word in ("--fail-if", c.text)]
            by = command(
                "diff", arguments.before, arguments.after, *build_flags(arguments), *checks
            )
            out.write(forms.comparison_html(comparison, by))
        case _:
            out.write(forms.comparison_text(comparison, out.text_style(arguments)))
    if not out.is_stdout:
        write_stdout(comparison.checks_text())


def _check(text: str) -> Check:
    from poplite.viz.compare.checks import parsed

    try:
        return parsed(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
