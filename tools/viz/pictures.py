"""`poplite-viz memory`, `tile`, `liveness`, `steps`, `exchange`, `ops`, `sweep`: one picture each.

For each subcommand, one function adds its flags, and another makes the picture from the report.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import TYPE_CHECKING

from poplite.tools.viz.flags import (
    add_choice,
    add_number,
    add_output,
    add_report,
    add_run,
    add_steps,
    set_drawing,
)

if TYPE_CHECKING:
    from poplite.tools.viz.output import Destination

STACKS = ("kind", "variable", "live")
MEMORY_SORTS = ("tile", "size")
STEP_SORTS = ("cycles", "program", "balance", "times", "name")
SCOPE_SORTS = ("cycles", "received", "memory", "name", "program")


def _set_picture(parser: argparse.ArgumentParser, place: str, *names: str) -> None:
    """Set the function `module.name` of a report that makes a picture, and its arguments."""

    def draw(arguments: argparse.Namespace, out: Destination) -> None:
        from poplite.tools.viz.load_report import load_report

        module, _, name = place.rpartition(".")
        make = getattr(import_module(f"poplite.viz.{module}"), name)
        given = {each: getattr(arguments, each) for each in names}
        out.draw(make(load_report(arguments, run=False), **given), arguments)

    set_drawing(parser, draw)


# -- memory ----------------------------------------------------------------------------------------


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


# -- cycles and messages ---------------------------------------------------------------------------


def steps_command(parser: argparse.ArgumentParser) -> None:
    """Draw the costs of each step: cycles, phases, balance.

    Draw a row for each step: its cycles, how often it ran, how balanced its tiles are, and its
    phases. With --timeline, draw what all tiles do over time.
    """
    add_report(parser, formats=("txt", "svg", "png", "json"))
    add_run(parser)
    what = "draw tiles from top to bottom, and time from left to right"
    parser.add_argument("--timeline", action="store_true", help=what)
    what = "draw the timeline, with a row for this tile alone"
    parser.add_argument("--tile", metavar="N", help=what)
    add_choice(parser, "--sort", STEP_SORTS, "order of the rows")
    what = "show only steps with this text in their names"
    parser.add_argument("--match", metavar="TEXT", default="", help=what)
    add_steps(parser)
    _set_picture(parser, "steps.listed_or_in_time", "step", "match", "sort", "timeline", "tile")


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
    _set_picture(parser, "ops.scope_tree", "depth", "sort")


# -- a sweep ---------------------------------------------------------------------------------------


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
    set_drawing(parser, _sweep)


def _sweep(arguments: argparse.Namespace, out: Destination) -> None:
    from poplite.report.sweep import Sweep
    from poplite.viz.sweep import sweep_grid

    grid = sweep_grid(Sweep.load(arguments.target), arguments.by, arguments.over)
    out.draw(grid, arguments)
