"""`poplite-viz program`: the program tree."""

from __future__ import annotations

import argparse
import re

from poplite.errors import FileLoadError
from poplite.tools.viz.flags import Commands, add_picture, set_run


def add(commands: Commands) -> None:
    """Add the subcommand.

    Args:
        commands: of the command's parser.
    """
    parser = commands.add_parser(
        "program",
        help="the program tree, with step numbers and source lines",
        description="Draw the program as a tree, with the step numbers that messages use.",
    )
    add_picture(parser, formats=("txt", "svg", "json"))
    parser.add_argument(
        "--depth", metavar="N", type=_depth, help="fold what lies deeper than N levels"
    )
    parser.add_argument(
        "--match",
        metavar="REGEX",
        type=_regex,
        help="draw only steps whose line matches, with what they stand in",
    )
    parser.add_argument("--counts", action="store_true", help="say how often each step runs")
    set_run(parser, _run)


def _run(arguments: argparse.Namespace) -> int:
    from poplite.tools.viz.load_target import load_target
    from poplite.tools.viz.output import Destination

    out = Destination.of(arguments)
    graph, program = load_target(arguments.target)
    if program is None:
        raise FileLoadError(
            f"{arguments.target!r} returned a Graph without a program",
            found=f"it returned {graph!r}",
            fix="def build() -> tuple[Graph, Program]: ... return graph, program",
        )
    from poplite.viz.program.svg import draw_program_svg
    from poplite.viz.program.text import draw_program_text
    from poplite.viz.program.tree import MOST_LINES, program_json, program_tree

    all_lines = out.format == "json" or (out.format == "txt" and not out.is_stdout)
    tree = program_tree(
        program,
        depth=arguments.depth,
        match=arguments.match,
        most=None if all_lines else MOST_LINES,
    )
    match out.format:
        case "svg":
            out.write(draw_program_svg(tree, counts=arguments.counts))
        case "json":
            out.write(program_json(tree))
        case _:
            width, style = arguments.width, out.style
            out.write(draw_program_text(tree, counts=arguments.counts, width=width, style=style))
    return 0


def _depth(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of levels from 0 up")
    return int(text)


def _regex(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        message = f"{text!r} is not a regular expression: {error}"
        raise argparse.ArgumentTypeError(message) from None
    return text
