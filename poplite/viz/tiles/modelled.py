"""What the memory model says of a graph and its program, before anything runs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from poplite.errors import PopliteError
from poplite.frozen import frozen
from poplite.report.memory import Memory, peaks_of
from poplite.viz.tiles.tile_load import TileLoad, tile_load

if TYPE_CHECKING:
    from poplite.graph.graph import Graph
    from poplite.program import Program


@frozen(eq=False)
class Modelled:
    """The memory of tiles, or why it is not known.

    Attributes:
        plan: what tiles hold; None for a graph that cannot be compiled so far.
        missing: why it cannot.
    """

    plan: Memory | None
    missing: str = ""


def modelled(graph: Graph, programs: Program | Mapping[str, Program] | None = None) -> Modelled:
    """Return what tiles hold when programs run; without any, what lies there all the time.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> _ = graph.add_variable(pl.FLOAT, (100,), "x", mapping=1)
    >>> list(modelled(graph).plan.including_gaps)
    [3168, 3568]
    """
    from poplite.compile.compiler import plan_memory  # and with it all that prices steps
    from poplite.program import Sequence

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return Modelled(plan_memory(graph, programs or Sequence()))
        except PopliteError as error:
            return Modelled(None, error.what)


def judged_load(graph: Graph, programs: Program | Mapping[str, Program] | None = None) -> TileLoad:
    """Count what tiles need in all, and what of it variables take.

    What cannot be compiled yet has its variables counted alone, and says why.
    """
    load = tile_load(graph)
    model = modelled(graph, programs)
    if model.plan is None:
        return replace(load, unmodelled=model.missing)
    title = load.title if programs else f"{load.title}, no program"
    replicas = graph.replication_factor
    title += f"; of one of {replicas:,} replicas" if replicas > 1 else ""
    return replace(load, title=title, needed=model.plan.including_gaps.array())


def kinds_on(plan: Memory, tile: int) -> dict[str, int]:
    """Return the bytes of each kind of thing on a tile in its fullest step, and between them.

    They add up to the bytes that the tile needs.
    """
    step = int(peaks_of(plan).step[tile])
    found: dict[str, int] = {}
    for held in plan.held:
        size = held.bytes[tile] if held.steps is None or held.is_in(step) else 0
        if size:
            kind = held.category.replace("_", " ")
            found[kind] = found.get(kind, 0) + size
    found = dict(sorted(found.items(), key=lambda each: -each[1]))
    gaps = plan.including_gaps[tile] - sum(found.values())
    return found | ({"gaps": gaps} if gaps else {})
