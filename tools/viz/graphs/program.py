"""`poplite-viz program`: the program tree."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from poplite.errors import FileLoadError, InvalidOption, UnknownName
from poplite.tools.viz.flags import (
    Commands,
    add_picture,
    add_program,
    build_flags,
    command,
    set_run,
)

if TYPE_CHECKING:
    from poplite.program import Program
    from poplite.viz.program.tree import ProgramTree


def add(commands: Commands) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "program",
        help="the program tree, with step numbers and source lines",
        description="Draw the program as a tree, with step numbers, which count over all programs.",
    )
    add_picture(parser, formats=("txt", "svg", "png", "json"))
    add_program(parser)
    parser.add_argument(
        "--depth", metavar="N", type=_depth, help="fold what lies deeper than N levels"
    )
    parser.add_argument(
        "--match",
        metavar="REGEX",
        type=_regex,
        help="draw only steps whose line matches, with the programs around them",
    )
    parser.add_argument("--counts", action="store_true", help="say how often each step runs")
    set_run(parser, _run)


def _run(arguments: argparse.Namespace) -> int:
    from poplite.tools.viz.output import Destination

    out = Destination.of(arguments)
    programs, firsts = _programs(arguments)
    from poplite.viz.forms import program_forms

    if len(programs) > 1 and out.format != "txt":
        raise InvalidOption(
            f"{out.format} shows one program, and {arguments.target!r} has {len(programs)}",
            at=None,
            found=f"they are {', '.join(map(repr, programs))}",
            fix=command(
                "program",
                arguments.target,
                *build_flags(arguments),
                "--program",
                next(iter(programs)),
            ),
        )
    all_lines = out.format == "json" or (out.format == "txt" and not out.is_stdout)
    trees = _trees(programs, firsts, arguments, all_lines=all_lines)
    forms = [program_forms(tree, counts=arguments.counts) for tree in trees]
    if out.format == "txt":
        style = out.text_style(arguments)
        out.write("\n".join(each.text(style) for each in forms))
    else:
        out.draw(forms[0], arguments)
    return 0


def _programs(arguments: argparse.Namespace) -> tuple[dict[str, Program], dict[str, int]]:
    """Return the programs to draw by name, and the numbers of the first steps of all programs."""
    from poplite.tools.viz.load_report import load_saved, programs_of
    from poplite.tools.viz.load_target import first_steps, load_programs, program_named

    saved = load_saved(arguments)
    if saved is not None:
        from poplite.viz.program.of_report import saved_programs

        nodes = saved_programs(saved)
        return {name: nodes[name] for name in programs_of(saved, arguments)}, first_steps(nodes)
    graph, programs = load_programs(arguments.target, arguments.given, arguments.vertices)
    if not programs:
        raise FileLoadError(
            f"{arguments.target!r} returned a Graph without a program",
            at=None,
            found=f"it returned {graph!r}",
            fix="def build() -> tuple[Graph, Program]: ... return graph, program",
        )
    firsts = first_steps(programs)
    if arguments.program is None:
        return programs, firsts
    name = arguments.program
    return {name: program_named(programs, name, arguments.target)}, firsts


def _trees(
    programs: dict[str, Program],
    firsts: dict[str, int],
    arguments: argparse.Namespace,
    *,
    all_lines: bool,
) -> list[ProgramTree]:
    """Return the trees to draw: of several programs, those with a matching step."""
    from poplite.viz.program.tree import MOST_LINES, program_tree

    trees, refusals = [], []
    for name, program in programs.items():
        try:
            tree = program_tree(
                program,
                name=name if len(programs) > 1 else "",
                depth=arguments.depth,
                match=arguments.match,
                most=None if all_lines else MOST_LINES,
                first=firsts[name],
            )
        except UnknownName as error:
            refusals.append(error)
        else:
            trees.append(tree)
    if not trees:
        raise refusals[0]
    return trees


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
