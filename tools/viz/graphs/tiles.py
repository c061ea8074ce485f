"""`poplite-viz tiles`: the tile map, of variables of a graph, or of what a report knows."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from poplite.tools.viz.flags import Commands, add_report, add_run, add_steps, build_flags, set_run

if TYPE_CHECKING:
    from poplite.tools.viz.output import Destination
    from poplite.viz.tiles.quantities import Quantity
    from poplite.viz.tiles.tile_load import TileLoad

QUANTITIES = ("memory", "free", "vertices", "cycles", "waited", "sent", "received", "copied")
COMPILED = ("memory", "free", "vertices")
"""Numbers that are known without a run."""


def add(commands: Commands) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "tiles",
        help="the tile map: every tile, shaded by the bytes it needs, or by what it does",
        description="Draw every tile of the target, shaded by the bytes it needs: variables, code, "
        "messages, stacks and copies; with --by, by something else that the model knows of it.",
    )
    add_report(parser, formats=("txt", "svg", "png", "json", "html"))
    add_run(parser)
    parser.add_argument(
        "--variable",
        metavar="NAME",
        nargs="+",
        action="extend",
        default=[],
        help="shade by the bytes of these variables alone",
    )
    parser.add_argument(
        "--by",
        choices=QUANTITIES,
        help="memory that tiles need or have free, vertices, cycles busy or waiting for others, "
        "bytes sent, received, or copied on their tile",
    )
    add_steps(parser)
    parser.add_argument(
        "--from",
        dest="scale",
        choices=("zero", "least"),
        help="where colours begin (default: the least, where that is over half of the most)",
    )
    parser.add_argument(
        "--tiles", metavar="A:B", type=_range, help="only these tiles, both included"
    )
    set_run(parser, _run)


def _run(arguments: argparse.Namespace) -> int:
    from poplite.tools.viz.load_report import is_report_file
    from poplite.tools.viz.output import Destination

    out = Destination.of(arguments)
    is_saved = is_report_file(arguments.target)
    if arguments.by or (is_saved and not arguments.variable):
        _draw_quantity(arguments, out)
        return 0
    named = arguments.variable
    if named:
        _refuse(arguments, ("step", "scale", "tiles", "execute"), "leave --variable out")
    else:
        _refuse(arguments, ("step", "execute"), "--by cycles, or another quantity of what runs")
    from poplite.viz.forms import tiles_forms

    forms = tiles_forms(
        _load(arguments, is_saved=is_saved), scale=arguments.scale, tiles=arguments.tiles
    )
    words = ["--variable", *named] if named else _chosen(arguments)
    out.draw(forms, arguments, "tiles", arguments.target, *build_flags(arguments), *words)
    return 0


def _load(arguments: argparse.Namespace, *, is_saved: bool) -> TileLoad:
    """Return what the tiles of a target need, or what variables of it or of a file take."""
    from poplite.viz.tiles.modelled import judged_load
    from poplite.viz.tiles.tile_load import tile_load

    if is_saved:
        from poplite.tools.viz.load_variables import load_variables

        return tile_load(load_variables(arguments, arguments.variable), arguments.variable)
    from poplite.tools.viz.load_target import load_programs

    graph, programs = load_programs(
        arguments.target, arguments.given, arguments.vertices, arguments.program
    )
    if arguments.variable:
        return tile_load(graph, arguments.variable)
    return judged_load(graph, programs)


def _draw_quantity(arguments: argparse.Namespace, out: Destination) -> None:
    """Draw what a report knows of every tile."""
    from poplite.tools.viz.load_report import load_report
    from poplite.viz.forms import quantity_forms
    from poplite.viz.tiles.quantities import quantity_map

    _refuse(arguments, ("variable",), "leave --by out")
    by: Quantity = arguments.by or "memory"
    if by in COMPILED and arguments.execute is None:
        arguments.execute = False
    tiles = quantity_map(
        load_report(arguments),
        by,
        step=arguments.step,
        scale=arguments.scale,
        tiles=arguments.tiles,
    )
    step = ["--step", arguments.step] if arguments.step else []
    words = [*build_flags(arguments), "--by", by, *step, *_chosen(arguments)]
    out.draw(quantity_forms(tiles, by), arguments, "tiles", arguments.target, *words)


def _chosen(arguments: argparse.Namespace) -> list[str]:
    """Return the flags that say which tiles are drawn, and from where colours begin."""
    shown = arguments.tiles
    flags = {"--from": arguments.scale, "--tiles": shown and f"{shown.start}:{shown.stop - 1}"}
    return [word for flag, value in flags.items() if value for word in (flag, value)]


def _refuse(arguments: argparse.Namespace, names: tuple[str, ...], fix: str) -> None:
    """Refuse flags that mean nothing here."""
    from poplite.errors import InvalidOption

    flags = {"scale": "--from", "execute": "--run" if arguments.execute else "--no-run"}
    for name in names:
        if getattr(arguments, name) not in (None, []):
            flag = flags.get(name, f"--{name}")
            kind = "--by" if name == "variable" else "bytes on tiles"
            raise InvalidOption(f"{flag} means nothing for {kind}", at=None, fix=fix)


def _range(text: str) -> range:
    """Return the tiles of A:B, or one.

    >>> _range("3:7"), _range("5")
    (range(3, 8), range(5, 6))
    """
    first, colon, last = text.partition(":")
    if not first.isdecimal() or not (last.isdecimal() or not colon):
        raise argparse.ArgumentTypeError(f"{text!r} are no tiles; write A:B, for instance 0:63")
    return range(int(first), int(last or first) + 1)
