"""`poplite-viz sweep`: what a sweep found, by one of its parameters or two."""

from __future__ import annotations

import argparse

from poplite.tools.viz.flags import Commands, add_output, set_run


def add(commands: Commands) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "sweep",
        help="what a sweep of mappings or parameters found",
        description="Draw a measure of a sweep over one parameter or two. Of points that differ in "
        "other parameters, the least is shown.",
        epilog="NAME of --by: cycles, compute, copy, exchange, waiting, received, fullest, bytes, "
        "build_seconds, compile_seconds, run_seconds. A sweep is made in Python, by "
        "pl.sweep(build, grid).save(FILE).",
    )
    parser.add_argument("target", metavar="FILE", help="what sweep.save wrote")
    parser.add_argument("--by", metavar="NAME", default="cycles", help="measure (default: cycles)")
    parser.add_argument(
        "--over",
        metavar="NAME",
        nargs="+",
        default=[],
        help="one parameter or two (default: the first with several values)",
    )
    add_output(parser, formats=("txt", "svg", "png", "json", "csv"))
    set_run(parser, _run)


def _run(arguments: argparse.Namespace) -> int:
    from poplite.report.sweep import Sweep
    from poplite.tools.viz.output import Destination
    from poplite.viz.forms import sweep_forms
    from poplite.viz.sweep.grid import sweep_grid

    out = Destination.of(arguments)
    grid = sweep_grid(Sweep.load(arguments.target), arguments.by, arguments.over)
    out.draw(sweep_forms(grid), arguments)
    return 0
