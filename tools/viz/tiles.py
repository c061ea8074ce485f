"""`poplite-viz tiles`: the tile map."""

from __future__ import annotations

import argparse

from poplite.tools.viz.flags import Commands, add_picture, add_program, build_flags, set_run


def add(commands: Commands) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "tiles",
        help="the tile map: every tile, shaded by the bytes on it",
        description="Draw every tile of the target, shaded by the bytes mapped to it.",
    )
    add_picture(parser, formats=("txt", "svg", "png", "json", "html"))
    add_program(parser)
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
    graph, program = load_target(arguments.target, arguments.given, arguments.program)
    from poplite.viz.forms import tiles_forms
    from poplite.viz.tiles.modelled import judged_load

    forms = tiles_forms(judged_load(graph, arguments.variable, program))
    variables = ["--variable", *arguments.variable] if arguments.variable else []
    flags = build_flags(arguments)
    out.draw(forms, arguments, "tiles", arguments.target, *flags, *variables)
    return 0
