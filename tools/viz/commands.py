"""The subcommands of `poplite-viz`: their help, their flags, and the functions that run them.

A subcommand is a function `NAME_command`, whose docstring is its help; the help lists them in the
order of this file. What runs it is imported then.
"""

from __future__ import annotations

import argparse
import re
from importlib import import_module
from typing import TYPE_CHECKING

from poplite.tools.viz.flags import (
    SAVED,
    add_all,
    add_call_arguments,
    add_choice,
    add_number,
    add_output,
    add_picture,
    add_program,
    add_report,
    add_run,
    add_source,
    add_steps,
    add_timeout,
    add_vertices,
    named,
    set_drawing,
    set_run,
    terminal_columns,
)

if TYPE_CHECKING:
    from poplite.tools.viz.output import Destination
    from poplite.viz.compare import Check

QUANTITIES = ("memory", "free", "vertices", "cycles", "waited", "sent", "received", "copied")
STACKS = ("kind", "variable", "live")
MEMORY_SORTS = ("tile", "size")
STEP_SORTS = (
    *("cycles", "program", "balance", "times", "name"),
    *("work", "idle workers", "waiting", "copy"),
    *("exchange", "global exchange", "host exchange", "sync"),
)
SCOPE_SORTS = ("cycles", "received", "memory", "name", "program")

LEAST_NODES = 10
MOST_TRACED = 10_000
"""Maximum number of steps whose order `--trace` records."""


def _set_picture(parser: argparse.ArgumentParser, place: str, *names: str) -> None:
    """Set the function `module.name` of a report that makes a picture, and its arguments."""

    def draw(arguments: argparse.Namespace, out: Destination) -> None:
        from poplite.tools.viz.load_report import load_report

        module, _, name = place.rpartition(".")
        make = getattr(import_module(f"poplite.viz.{module}"), name)
        given = {each: getattr(arguments, each) for each in names}
        out.draw(make(load_report(arguments, run=False), **given), arguments)

    set_drawing(parser, draw)


def _regex(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        message = f"{text!r} is not a regular expression: {error}"
        raise argparse.ArgumentTypeError(message) from None
    return text


def _range(text: str) -> range:
    """Return the tiles from A up to and including B for A:B, or a single tile.

    >>> _range("3:7"), _range("5")
    (range(3, 8), range(5, 6))
    """
    first, colon, last = text.partition(":")
    if not first.isdecimal() or not (last.isdecimal() or not colon):
        raise argparse.ArgumentTypeError(f"must be A:B, such as 0:63; found {text!r}")
    return range(int(first), int(last or first) + 1)


def _parsed_check(text: str) -> Check:
    from poplite.viz.compare import parsed

    try:
        return parsed(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _tile_list(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise argparse.ArgumentTypeError(f"must be numbers of tiles, such as 0,7; found {text!r}")
    return [int(part) for part in parts]


def summary_command(parser: argparse.ArgumentParser) -> None:
    """Show the contents of a graph, and whether it fits.

    Show the contents of a graph, the fullest tile, and whether that fits in memory.
    """
    add_picture(parser, formats=("txt", "svg", "png", "json"))
    add_program(parser)
    set_drawing(parser, named("graphs.draw_summary"))


def tiles_command(parser: argparse.ArgumentParser) -> None:
    """Draw the tile map: every tile, shaded by the bytes it needs, or by another measure.

    Draw every tile of the target, shaded by the bytes it needs: variables, code, messages, stacks
    and copies; with --by, by another measure of the model.
    """
    add_report(parser, formats=("txt", "svg", "png", "json", "html"))
    add_run(parser)
    what = "count only the bytes of these variables"
    parser.add_argument(
        "--variable", metavar="NAME", nargs="+", action="extend", default=[], help=what
    )
    what = (
        "measure: memory that tiles need or have free, vertices, cycles busy or waiting for "
        "other tiles, bytes sent, received, or copied within the tile"
    )
    parser.add_argument("--by", choices=QUANTITIES, help=what)
    add_steps(parser)
    what = (
        "start of the colour scale (default: least if the least value is over half of the "
        "greatest, else zero)"
    )
    parser.add_argument("--from", dest="scale", choices=("zero", "least"), help=what)
    what = "show only tiles A to B inclusive"
    parser.add_argument("--tiles", metavar="A:B", type=_range, help=what)
    set_drawing(parser, named("tensors.draw_tiles"))


def tensor_command(parser: argparse.ArgumentParser) -> None:
    """Draw which tile owns which elements of a variable.

    Draw which tile owns which elements of a variable, with its intervals.
    """
    add_picture(parser, formats=("txt", "svg", "png", "json", "html"))
    parser.add_argument("name", metavar="NAME", help="name of the variable, with its scopes")
    parser.add_argument(
        "--view", metavar="INDEX", help="highlight a part of the variable, such as '2:5, ::2'"
    )
    set_drawing(parser, named("tensors.draw_tensor"))


def regions_command(parser: argparse.ArgumentParser) -> None:
    """Draw the intervals of memory in a view, operation by operation.

    Draw the view after each operation on a variable, one frame each, with its intervals of memory;
    or a field of a vertex, and the copies that it forces.
    """
    add_picture(parser, formats=("txt", "svg", "png", "json", "html"))
    what = "name of the variable, with its scopes; without one, all tensors that are returned"
    parser.add_argument("name", metavar="NAME", nargs="?", help=what)
    what = (
        "an operation: an index ('2:5, ::2'), or a Poplar operation with its arguments "
        "('dimShuffle 1,0', 'broadcast 3 0', 'concat NAME 0'); may be repeated"
    )
    parser.add_argument(
        "--op", metavar="OP", dest="operations", action="append", default=[], help=what
    )
    what = "draw the elements connected to a field of a vertex, such as 'blur#3.x'"
    parser.add_argument("--field", metavar="'SET#VERTEX.FIELD'", help=what)
    set_drawing(parser, named("tensors.draw_regions"))


def program_command(parser: argparse.ArgumentParser) -> None:
    """Draw the program tree, with step numbers and source lines.

    Draw the program as a tree, with step numbers that are consecutive over all programs.
    """
    add_picture(parser, formats=("txt", "svg", "png", "json"))
    add_program(parser)
    what = "fold programs that are nested deeper than N levels"
    add_number(parser, "--depth", what, least=0, of="levels")
    parser.add_argument(
        "--match",
        metavar="REGEX",
        type=_regex,
        help="draw only steps whose line matches, with the programs around them",
    )
    parser.add_argument("--counts", action="store_true", help="show how often each step runs")
    set_drawing(parser, named("graphs.draw_program"))


def graph_command(parser: argparse.ArgumentParser) -> None:
    """Draw the dataflow graph: variables, and the steps that read and write them.

    Draw variables, compute sets and copies, and the bytes that move between them.
    """
    add_picture(parser, formats=("txt", "svg", "json", "dot", "png", "pdf"))
    add_program(parser)
    parser.add_argument(
        "--around", metavar="NAME", help="draw only nodes near a variable or compute set"
    )
    add_number(parser, "--hops", "maximum number of edges away from it", 2, 0, "edges")
    parser.add_argument(
        "--scope",
        metavar="A/B",
        help="draw only the steps of a scope or an operation, and adjacent nodes",
    )
    what = "collapse scopes, then numbered names, until N nodes remain"
    add_number(parser, "--max-nodes", what, 300, LEAST_NODES, "nodes")
    what = "layout for svg or png; auto: Graphviz if it is installed, else the built-in layout"
    parser.add_argument("--layout", choices=("auto", "dot", "builtin"), default="auto", help=what)
    set_drawing(parser, named("graphs.draw_graph"))


def lint_command(parser: argparse.ArgumentParser) -> None:
    """Check vertices for work that a real tile would emulate, copy first, or get wrong.

    Check the vertices of a graph, and report, with source lines and remedies, work that a real tile
    would emulate, copy first, or get wrong.
    """
    add_picture(parser, formats=("txt", "json"))
    set_drawing(parser, named("graphs.draw_lint"))


def memory_command(parser: argparse.ArgumentParser) -> None:
    """Draw the memory of every tile, and list the contents of the fullest one.

    Draw a bar for each tile, with the limit, and list the contents of the fullest tile at its peak.
    """
    add_report(parser, formats=("txt", "svg", "png", "json", "csv"))
    what = (
        "parts of the bars: kinds of contents, the largest variables and buffers, or whether "
        "contents are always live"
    )
    add_choice(parser, "--stack", STACKS, what)
    what = "order of tiles: by number, or the fullest first"
    add_choice(parser, "--sort", MEMORY_SORTS, what)
    add_number(parser, "--top", "number of listed contents of the fullest tile", 10)
    _set_picture(parser, "memory.memory_bars", "stack", "sort", "top")


def tile_command(parser: argparse.ArgumentParser) -> None:
    """Draw one tile: its memory by address, its vertices, its cycles.

    Draw the memory of a tile by address, and list its contents, its vertices and its cycles by
    phase.
    """
    add_report(parser, formats=("txt", "svg", "png", "json"))
    add_run(parser)
    parser.add_argument("tile", metavar="N", help="number of the tile")
    what = "the step to show (default: the one in which the tile is fullest)"
    parser.add_argument("--step", metavar="N|NAME", help=what)
    _set_picture(parser, "one_tile.tile_contents", "tile", "step")


def liveness_command(parser: argparse.ArgumentParser) -> None:
    """Draw the memory of a tile in each step, with its largest parts.

    Draw a row for each step: the memory of a tile during it, without always-live memory, and its
    largest parts.
    """
    add_report(parser, formats=("txt", "svg", "png", "json", "csv"))
    what = "the tile to show (default: the fullest one)"
    parser.add_argument("--tile", metavar="N|worst", default="worst", help=what)
    what = "show only the N steps that need the most memory, in program order"
    add_number(parser, "--top", what)
    _set_picture(parser, "memory.live_steps", "tile", "top")


def report_command(parser: argparse.ArgumentParser) -> None:
    """Show the costs of runs, or the changes from one report to another.

    Build, compile and run a target once, or read a file that report.save or executable.save wrote,
    and show cycles, memory, and the main findings: as text, or as an interactive page (-o
    FILE.html). With a second report, show the changes.
    """
    add_report(parser, formats=("txt", "html", "svg", "png", "json"))
    parser.add_argument("later", metavar="LATER", nargs="?", help="a later report for comparison")
    add_run(parser)
    parser.add_argument("--title", metavar="T", help="title of the page (default: the target)")
    add_source(parser)
    what = "show the page in a browser; without -o FILE in a new file"
    parser.add_argument("--open", action="store_true", help=what)
    parser.set_defaults(width=terminal_columns())  # with None, lines are not folded
    what = f"record the order in which the first {MOST_TRACED:,} steps run"
    parser.add_argument("--trace", action="store_true", help=what)
    set_run(parser, named("reports.draw_report"))


def steps_command(parser: argparse.ArgumentParser) -> None:
    """Draw the costs of each step: cycles, phases, balance.

    Draw a row for each step: its cycles, how often it ran, how balanced its tiles are, its
    operations and bytes per cycle beside the limits of a tile, and its phases. With --timeline,
    draw what all tiles do over time.
    """
    add_report(parser, formats=("txt", "svg", "png", "json", "csv"))
    add_run(parser)
    what = "draw tiles from top to bottom, and time from left to right"
    parser.add_argument("--timeline", action="store_true", help=what)
    what = "draw the timeline, with a row for this tile alone"
    parser.add_argument("--tile", metavar="N", help=what)
    parts = parser.add_mutually_exclusive_group()
    for flag, of in (("--ipu", "IPU"), ("--rank", "rank of an MPI run")):
        what = f"draw the timeline of the tiles of this {of} only"
        add_number(parts, flag, what, least=0)
    add_choice(parser, "--sort", STEP_SORTS, "order of the rows")
    add_all(parser, "steps")
    what = "show only steps with this text in their names"
    parser.add_argument("--match", metavar="TEXT", default="", help=what)
    add_steps(parser)
    names = ("step", "match", "sort", "timeline", "tile", "ipu", "rank")
    _set_picture(parser, "steps.listed_or_in_time", *names)


def exchange_command(parser: argparse.ArgumentParser) -> None:
    """Draw the data that tiles send each other, and the causes.

    Draw the bytes that each tile sends and receives, the fields and lines that cause them, and
    which tiles receive from which.
    """
    add_report(parser, formats=("txt", "svg", "png", "json"))
    add_run(parser)
    add_steps(parser)
    add_number(parser, "--top", "number of listed causes", 10)
    _set_picture(parser, "exchange.traffic_of", "step", "top")


def ops_command(parser: argparse.ArgumentParser) -> None:
    """List cycles and bytes by operation and name scope.

    List the cost of operations and name scopes, including their contents: cycles, bytes that tiles
    receive, bytes of variables.
    """
    add_report(parser, formats=("txt", "svg", "png", "json", "csv"))
    add_run(parser)
    add_number(parser, "--depth", "number of levels to list", 2)
    add_choice(parser, "--sort", SCOPE_SORTS, "order within a scope")
    add_all(parser, "scopes")
    _set_picture(parser, "steps.scope_tree", "depth", "sort")


def lines_command(parser: argparse.ArgumentParser) -> None:
    """List cycles, bytes and memory by line of your files.

    List the lines that made steps and variables, and those that called their functions: cycles,
    bytes that tiles receive, bytes in memory.
    """
    add_report(parser, formats=("txt", "svg", "png", "json", "csv"))
    add_run(parser)
    add_source(parser)
    _set_picture(parser, "lines.line_list", "source")


def trace_command(parser: argparse.ArgumentParser) -> None:
    """Write the order of steps in a run, for Perfetto.

    Run a program and write the times of its steps and phases and of some tiles, for
    https://ui.perfetto.dev. A saved report must be one that report.save(FILE, trace) wrote.
    """
    add_report(parser, formats=("json",))
    what = "run it with zeros in its streams (default: run it only if it needs no data)"
    parser.add_argument("--run", dest="execute", action="store_true", default=None, help=what)
    add_timeout(parser)
    what = "tiles with their own tracks (default: the busiest, the least busy, one in between)"
    parser.add_argument("--tiles", metavar="N,...", type=_tile_list, help=what)
    add_number(parser, "--limit", "number of steps to record", 10_000)
    set_drawing(parser, named("reports.draw_trace"))


def diff_command(parser: argparse.ArgumentParser) -> None:
    """Show the changes from one report to another, with checks for CI.

    Print the changes from A to B: cycles, steps, phases, memory. With --fail-if, check the changes;
    the exit code is 3 if a check fails.

    NAME of --fail-if: cycles, fullest (bytes of the fullest tile), bytes (of all tiles), balance
    (percent), a phase (compute, copy, exchange, 'global exchange', 'host exchange', sync), a part
    of time (work, 'idle workers', waiting), step:NAME, kind:NAME (of memory). OP: > or <. AMOUNT:
    +5% or +1000 for a change, 600000 for the later number.
    """
    for name, which in (("before", "A"), ("after", "B")):
        parser.add_argument(name, metavar=which, help=SAVED)
    parser.add_argument(
        "--fail-if",
        metavar="NAME OP AMOUNT",
        dest="checks",
        type=_parsed_check,
        action="append",
        default=[],
        help="fail if this is true, such as 'cycles>+5%%'; may be repeated",
    )
    add_number(parser, "--top", "number of changes of each kind", 20)
    add_call_arguments(parser)
    add_program(parser)
    add_vertices(parser)
    add_output(parser, formats=("txt", "svg", "png", "md", "html", "json"))
    add_run(parser)
    set_drawing(parser, named("reports.draw_diff"))


def sweep_command(parser: argparse.ArgumentParser) -> None:
    """Draw the results of a sweep of mappings or parameters.

    Draw a measure of a sweep over one or two parameters. Of points that differ only in other
    parameters, the minimum is shown.

    NAME of --by: cycles, compute, copy, exchange, waiting, received, fullest, bytes, build_seconds,
    compile_seconds, run_seconds. A sweep is made in Python, by pl.sweep(build, grid).save(FILE).
    """
    parser.add_argument("target", metavar="FILE", help="a file from sweep.save")
    parser.add_argument("--by", metavar="NAME", default="cycles", help="measure (default: cycles)")
    what = "one or two parameters (default: the first ones with several values)"
    parser.add_argument("--over", metavar="NAME", nargs="+", default=[], help=what)
    add_output(parser, formats=("txt", "svg", "png", "json", "csv"))
    set_drawing(parser, named("reports.draw_sweep"))


def doctor_command(parser: argparse.ArgumentParser) -> None:
    """Show installed versions, and the folder of compiled vertices.

    Show which versions are installed, and whether the cache works.
    """
    set_run(parser, named("doctor.doctor"))


SUBCOMMANDS = [each for name, each in [*globals().items()] if name.endswith("_command")]
"""The functions that add the subcommands."""
