"""`poplite-viz tensor`: which tile owns which elements of a variable."""

from __future__ import annotations

import argparse

from poplite.tools.viz.flags import Commands, add_picture, build_flags, set_run


def add(commands: Commands) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "tensor",
        help="which tile owns which elements of a variable",
        description="Draw which tile owns which elements of a variable, with its intervals.",
    )
    add_picture(parser, formats=("txt", "svg", "png", "json", "html"))
    parser.add_argument("name", metavar="NAME", help="name of the variable, with its scopes")
    parser.add_argument(
        "--view", metavar="INDEX", help="point out a part of it, for instance '2:5, ::2'"
    )
    set_run(parser, _run)


def _run(arguments: argparse.Namespace) -> int:
    from poplite.tools.viz.load_variables import load_variables
    from poplite.tools.viz.output import Destination

    out = Destination.of(arguments)
    graph = load_variables(arguments, [arguments.name])
    from poplite.graph.storage.space import variable_named
    from poplite.viz.forms import tensor_forms
    from poplite.viz.tensor.ownership import ownership_of_variable

    variable = variable_named(graph.space, arguments.name, at=None)
    owned = ownership_of_variable(variable, arguments.view)
    view = ["--view", arguments.view] if arguments.view is not None else []
    words = [arguments.target, arguments.name, *build_flags(arguments), *view]
    out.draw(tensor_forms(owned), arguments, "tensor", *words)
    return 0
