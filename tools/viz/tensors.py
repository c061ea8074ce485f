"""`poplite-viz tiles`, `tensor`, `regions`: show where elements of variables and views are."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from poplite.tools.viz.flags import (
    add_picture,
    add_report,
    add_run,
    add_steps,
    build_flags,
    command,
    option_error,
    set_drawing,
)

if TYPE_CHECKING:
    from poplite.errors import InvalidOption
    from poplite.graph.graph import Graph
    from poplite.tools.viz.output import Destination
    from poplite.viz.tensors.frames import RegionFrames
    from poplite.viz.tile_map import Quantity, TileLoad

# -- tiles -----------------------------------------------------------------------------------------


QUANTITIES = ("memory", "free", "vertices", "cycles", "waited", "sent", "received", "copied")
COMPILED = ("memory", "free", "vertices")
"""Measures that are known without a run."""


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
    set_drawing(parser, _tiles)


def _tiles(arguments: argparse.Namespace, out: Destination) -> None:
    from poplite.tools.viz.load_report import is_report_file

    is_saved = is_report_file(arguments.target)
    if arguments.by or (is_saved and not arguments.variable):
        _draw_quantity(arguments, out)
        return
    named = arguments.variable
    if named:
        _refuse(arguments, ("step", "scale", "tiles", "execute"), "leave out --variable")
    else:
        _refuse(arguments, ("step", "execute"), "pass --by cycles, or another measure of a run")
    load = replace(
        _load(arguments, is_saved=is_saved), scale=arguments.scale, tiles=arguments.tiles
    )
    words = ["--variable", *named] if named else _chosen(arguments)
    out.draw(load, arguments, "tiles", arguments.target, *build_flags(arguments), *words)


def _load(arguments: argparse.Namespace, *, is_saved: bool) -> TileLoad:
    """Return the memory of the tiles of a target, or of variables of a target or file."""
    from poplite.viz.tile_map import judged_load, tile_load

    if is_saved:
        from poplite.tools.viz.load_report import load_variables

        return tile_load(load_variables(arguments, arguments.variable), arguments.variable)
    from poplite.tools.viz.load_target import load_programs

    graph, programs = load_programs(
        arguments.target, arguments.given, arguments.vertices, arguments.program
    )
    if arguments.variable:
        return tile_load(graph, arguments.variable)
    return judged_load(graph, programs)


def _draw_quantity(arguments: argparse.Namespace, out: Destination) -> None:
    """Draw a quantity of a report for every tile."""
    from poplite.tools.viz.load_report import load_report
    from poplite.viz.tile_map import quantity_map

    _refuse(arguments, ("variable",), "leave out --by")
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
    out.draw(tiles, arguments, "tiles", arguments.target, *words)


def _chosen(arguments: argparse.Namespace) -> list[str]:
    """Return the flags for the tiles to draw and the start of the colour scale."""
    shown = arguments.tiles
    flags = {"--from": arguments.scale, "--tiles": shown and f"{shown.start}:{shown.stop - 1}"}
    return [word for flag, value in flags.items() if value for word in (flag, value)]


def _refuse(arguments: argparse.Namespace, names: tuple[str, ...], fix: str) -> None:
    """Reject flags that have no effect here."""
    flags = {"scale": "--from", "execute": "--run" if arguments.execute else "--no-run"}
    for name in names:
        if getattr(arguments, name) not in (None, []):
            flag = flags.get(name, f"--{name}")
            kind = "--by" if name == "variable" else "bytes on tiles"
            raise option_error(f"{flag} has no effect with {kind}", fix=fix)


def _range(text: str) -> range:
    """Return the tiles from A up to and including B for A:B, or a single tile.

    >>> _range("3:7"), _range("5")
    (range(3, 8), range(5, 6))
    """
    first, colon, last = text.partition(":")
    if not first.isdecimal() or not (last.isdecimal() or not colon):
        raise argparse.ArgumentTypeError(f"must be A:B, such as 0:63; found {text!r}")
    return range(int(first), int(last or first) + 1)


# -- tensor ----------------------------------------------------------------------------------------


def tensor_command(parser: argparse.ArgumentParser) -> None:
    """Draw which tile owns which elements of a variable.

    Draw which tile owns which elements of a variable, with its intervals.
    """
    add_picture(parser, formats=("txt", "svg", "png", "json", "html"))
    parser.add_argument("name", metavar="NAME", help="name of the variable, with its scopes")
    parser.add_argument(
        "--view", metavar="INDEX", help="highlight a part of the variable, such as '2:5, ::2'"
    )
    set_drawing(parser, _tensor)


def _tensor(arguments: argparse.Namespace, out: Destination) -> None:
    from poplite.tools.viz.load_report import load_variables

    graph = load_variables(arguments, [arguments.name])
    from poplite.graph.space import variable_named
    from poplite.viz.tensors.ownership import ownership_of_variable, tensor_forms

    variable = variable_named(graph.space, arguments.name, at=None)
    owned = ownership_of_variable(variable, arguments.view)
    view = ["--view", arguments.view] if arguments.view is not None else []
    words = [arguments.target, arguments.name, *build_flags(arguments), *view]
    out.draw(tensor_forms(owned), arguments, "tensor", *words)


# -- regions ---------------------------------------------------------------------------------------


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
    set_drawing(parser, _regions)


def _regions(arguments: argparse.Namespace, out: Destination) -> None:
    from poplite.tools.viz.load_report import load_variables

    _check(arguments)
    if arguments.name is None and arguments.field is None:
        _draw_returned(arguments, out)
        return
    graph = load_variables(arguments, [arguments.name] if arguments.name else [])
    from poplite.viz.tensors.frame_picture import regions_forms

    words = [arguments.target, *([arguments.name] if arguments.name else [])]
    words += build_flags(arguments)
    words += [word for operation in arguments.operations for word in ("--op", operation)]
    words += ["--field", arguments.field] if arguments.field is not None else []
    out.draw(regions_forms(_frames(graph, arguments)), arguments, "regions", *words)


def _draw_returned(arguments: argparse.Namespace, out: Destination) -> None:
    """Draw the tensors that the callable of the target returns."""
    from poplite.tools.viz.load_target import load_tensors
    from poplite.viz.tensors.frame_picture import regions_forms
    from poplite.viz.tensors.frames import frames_of_tensors

    found = load_tensors(arguments.target, arguments.given)
    if not found:
        raise _nothing_named(arguments, "neither is given, and no tensor is returned")
    forms = regions_forms(frames_of_tensors(list(found.values()), list(found)))
    out.draw(forms, arguments, "regions", arguments.target, *build_flags(arguments))


def _nothing_named(arguments: argparse.Namespace, found: str) -> InvalidOption:
    return option_error(
        "regions draws a variable, or a field of a vertex, or the tensors that are returned",
        found=found,
        fix="run " + command("regions", arguments.target, "NAME", "--op", "dimShuffle 1,0"),
    )


def _check(arguments: argparse.Namespace) -> None:
    """Reject missing or conflicting arguments, before the user's program runs."""
    from poplite.tools.viz.load_report import is_report_file
    from poplite.tools.viz.load_target import is_graph_file
    from poplite.viz.tensors.views import read_operation

    target = arguments.target
    if arguments.name is not None and arguments.field is not None:
        raise _nothing_named(arguments, "both are given")
    is_of_all = arguments.name is None and arguments.field is None
    if is_of_all and (arguments.operations or is_report_file(target) or is_graph_file(target)):
        raise _nothing_named(arguments, "neither is given")
    if arguments.field is not None and arguments.operations:
        raise option_error(
            "--op needs a variable, not a field",
            found=f"--op {arguments.operations[0]!r} with --field {arguments.field!r}",
            fix="leave out --op, or pass the name of a variable",
        )
    if arguments.field is not None and is_report_file(arguments.target):
        raise option_error(
            "a saved report or executable does not contain the connections of single vertices",
            found=f"--field {arguments.field!r} with {arguments.target!r}",
            fix="pass file.py:callable, which builds the graph, or a file from graph.save",
        )
    for operation in arguments.operations:
        read_operation(operation)


def _frames(graph: Graph, arguments: argparse.Namespace) -> RegionFrames:
    from poplite.viz.tensors.field import frames_of_field
    from poplite.viz.tensors.frames import frames_of
    from poplite.viz.tensors.views import read_operation

    if arguments.field is not None:
        return frames_of_field(graph, arguments.field)
    return frames_of(graph.tensor(arguments.name), list(map(read_operation, arguments.operations)))
