"""What runs `poplite-viz tiles`, `tensor` and `regions`."""

from __future__ import annotations

import argparse
from dataclasses import replace

from poplite.errors import InvalidOption
from poplite.graph.graph import Graph
from poplite.graph.space import variable_named
from poplite.tools.viz.flags import build_flags, command, option_error
from poplite.tools.viz.load_report import is_report_file, load_report, load_variables
from poplite.tools.viz.load_target import is_graph_file, load_programs, load_tensors
from poplite.tools.viz.output import Destination
from poplite.viz.tensors.frame_picture import RegionsPicture
from poplite.viz.tensors.frames import RegionFrames, frames_of, frames_of_field, frames_of_tensors
from poplite.viz.tensors.ownership import ownership_of
from poplite.viz.tensors.views import read_operation
from poplite.viz.tile_map import Quantity, TileLoad, judged_load, quantity_map, tile_load

# -- tiles -----------------------------------------------------------------------------------------


COMPILED = ("memory", "free", "vertices")
"""Measures that are known without a run."""


def draw_tiles(arguments: argparse.Namespace, out: Destination) -> None:
    """Draw the tile map of a measure, or of variables."""
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
    if is_saved:
        return tile_load(load_variables(arguments, arguments.variable), arguments.variable)

    graph, programs = load_programs(
        arguments.target, arguments.given, arguments.vertices, arguments.program
    )
    if arguments.variable:
        return tile_load(graph, arguments.variable)
    return judged_load(graph, programs)


def _draw_quantity(arguments: argparse.Namespace, out: Destination) -> None:
    """Draw a quantity of a report for every tile."""
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


# -- tensor ----------------------------------------------------------------------------------------


def draw_tensor(arguments: argparse.Namespace, out: Destination) -> None:
    """Draw which tile owns which elements of a variable."""
    graph = load_variables(arguments, [arguments.name])

    variable = variable_named(graph.space, arguments.name, at=None)
    owned = ownership_of(graph.tensor(variable.name), arguments.view)
    view = ["--view", arguments.view] if arguments.view is not None else []
    words = [arguments.target, arguments.name, *build_flags(arguments), *view]
    out.draw(owned, arguments, "tensor", *words)


# -- regions ---------------------------------------------------------------------------------------


def draw_regions(arguments: argparse.Namespace, out: Destination) -> None:
    """Draw the intervals of memory of a view, a field, or what is returned."""
    _check(arguments)
    if arguments.name is None and arguments.field is None:
        _draw_returned(arguments, out)
        return
    graph = load_variables(arguments, [arguments.name] if arguments.name else [])

    words = [arguments.target, *([arguments.name] if arguments.name else [])]
    words += build_flags(arguments)
    words += [word for operation in arguments.operations for word in ("--op", operation)]
    words += ["--field", arguments.field] if arguments.field is not None else []
    out.draw(RegionsPicture(_frames(graph, arguments)), arguments, "regions", *words)


def _draw_returned(arguments: argparse.Namespace, out: Destination) -> None:
    """Draw the tensors that the callable of the target returns."""
    found = load_tensors(arguments.target, arguments.given)
    if not found:
        raise _nothing_named(arguments, "neither is given, and no tensor is returned")
    shown = RegionsPicture(frames_of_tensors(list(found.values()), list(found)))
    out.draw(shown, arguments, "regions", arguments.target, *build_flags(arguments))


def _nothing_named(arguments: argparse.Namespace, found: str) -> InvalidOption:
    return option_error(
        "regions draws a variable, or a field of a vertex, or the tensors that are returned",
        found=found,
        fix="run " + command("regions", arguments.target, "NAME", "--op", "dimShuffle 1,0"),
    )


def _check(arguments: argparse.Namespace) -> None:
    """Reject missing or conflicting arguments, before the user's program runs."""
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

    if arguments.field is not None:
        return frames_of_field(graph, arguments.field)
    return frames_of(graph.tensor(arguments.name), list(map(read_operation, arguments.operations)))
