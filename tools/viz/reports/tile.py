"""`poplite-viz tile`: what lies on one tile, what runs there, and what its cycles go into."""

from __future__ import annotations

import argparse

from poplite.tools.viz.flags import Commands, add_report, add_run, set_run


def add(commands: Commands) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "tile",
        help="one tile: its memory by address, its vertices, its cycles",
        description="Draw the memory of a tile by address, and list what lies there, its vertices "
        "and its cycles by phase.",
    )
    add_report(parser, formats=("txt", "svg", "png", "json"))
    add_run(parser)
    parser.add_argument("tile", metavar="N", help="number of the tile")
    parser.add_argument(
        "--step", metavar="N|NAME", help="a step (default: the one in which the tile needs most)"
    )
    set_run(parser, _run)


def _run(arguments: argparse.Namespace) -> int:
    from poplite.tools.viz.load_report import load_report
    from poplite.tools.viz.output import Destination
    from poplite.viz.forms import tile_forms
    from poplite.viz.one_tile.tile_contents import tile_contents

    out = Destination.of(arguments)
    report = load_report(arguments)
    contents = tile_contents(report, arguments.tile, step=arguments.step)
    out.draw(tile_forms(contents), arguments)
    return 0
