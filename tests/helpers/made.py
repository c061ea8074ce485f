"""What calls make: objects of classes that only poplite calls, and tiles in a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import poplite as pl

P = ParamSpec("P")
Made = TypeVar("Made")


def made(cls: Callable[P, Made], *arguments: P.args, **named: P.kwargs) -> Made:
    """Return an object of a class, called as a module of poplite does."""
    names = {"cls": cls, "arguments": arguments, "named": named, "__name__": "poplite"}
    found: Any = eval("cls(*arguments, **named)", names)
    return found  # type: ignore[no-any-return]


def tiles_made(graph: pl.Graph, call: Callable[[], object]) -> set[int]:
    """Return the top-level tiles of all variables, constants and vertices that a call makes."""
    top = graph.top_level_graph
    variables, compute_sets = len(top.variables), len(top.compute_sets)
    call()
    used: set[int] = set()
    for variable in top.variables[variables:]:
        assert variable.mapping.is_complete, variable
        used |= {*variable.mapping.pieces()[1].tolist()}
    for compute_set in top.compute_sets[compute_sets:]:
        tiles = [vertex.tile for vertex in compute_set.vertices]
        assert None not in tiles
        used |= {tile for tile in tiles if tile is not None}
    return used
