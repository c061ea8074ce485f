"""The tiles of what a call makes in a graph."""

from __future__ import annotations

from collections.abc import Callable

import poplite as pl


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
