"""`poplite-viz lint`: what a tile would emulate, copy first, or get wrong."""

from __future__ import annotations

import argparse

from poplite.tools.viz.flags import Commands, add_picture, set_run


def add(commands: Commands) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "lint",
        help="what a real tile would emulate, copy first, or get wrong",
        description="Go through the vertices of a graph, and say with lines and remedies what a "
        "real tile would emulate, copy first, or get wrong.",
    )
    add_picture(parser, formats=("txt", "json"))
    set_run(parser, _run)


def _run(arguments: argparse.Namespace) -> int:
    from poplite.tools.viz.flags import drawn_width, fitted
    from poplite.tools.viz.load_target import load_target
    from poplite.tools.viz.output import Destination

    out = Destination.of(arguments)
    _check(arguments)
    graph, _ = load_target(arguments.target, vertices=arguments.vertices, given=arguments.given)
    from poplite.ipu.linting import findings_json, findings_text, is_placed, lint

    found = lint(graph)
    if out.format == "json":
        out.write(findings_json(found))
    else:
        unplaced = sum(not is_placed(graph, each) for each in graph.compute_sets)
        out.write(fitted(findings_text(found, unplaced), drawn_width(arguments)))
    return 0


def _check(arguments: argparse.Namespace) -> None:
    from poplite.errors import InvalidOption
    from poplite.tools.viz.load_report import is_report_file

    if is_report_file(arguments.target):
        raise InvalidOption(
            "a saved report or executable does not hold the code and edges that lint looks at",
            at=None,
            found=f"{arguments.target!r} is one",
            fix="give file.py:callable, which builds the graph, or a file of graph.save",
        )
