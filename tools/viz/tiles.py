"""`poplite-viz tiles`: the tile map."""

from __future__ import annotations

import argparse

from poplite.tools.viz.flags import Commands, add_picture, command, drawn_width, set_run


def add(commands: Commands) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "tiles",
        help="the tile map: every tile, shaded by the bytes on it",
        description="Draw every tile of the target, shaded by the bytes mapped to it.",
    )
    add_picture(parser, formats=("txt", "svg", "json", "html"))
    parser.add_argument(
        "--variable",
        metavar="NAME",
        nargs="+",
        action="extend",
        default=[],
        help="count only these variables",
    )
    set_run(parser, _run)


def _run(arguments: argparse.Namespace) -> int:
    from poplite.tools.viz.load_target import load_target
    from poplite.tools.viz.output import Destination

    out = Destination.of(arguments)
    graph, _ = load_target(arguments.target)
    from poplite.viz.tiles.page import tiles_page
    from poplite.viz.tiles.tile_load import tile_load
    from poplite.viz.tiles.tile_map import draw_tiles_svg, draw_tiles_text, tiles_json

    load = tile_load(graph, arguments.variable)
    match out.format:
        case "svg":
            out.write(draw_tiles_svg(load))
        case "json":
            out.write(tiles_json(load))
        case "html":
            variables = ["--variable", *arguments.variable] if arguments.variable else []
            out.write(tiles_page(load, command=command("tiles", arguments.target, *variables)))
        case _:
            out.write(draw_tiles_text(load, width=drawn_width(arguments), style=out.style))
    return 0
