"""popops::embedding: plans of tables.

Both calls make the same plan::

    popops::embedding::plan(graph, FLOAT, entries, width, {lookups}, {})
    popops.embedding.plan(graph, pl.FLOAT, entries, width, lookups)
"""

from __future__ import annotations

from poplite import ops
from poplite.compat.arguments import Options, check_options, checked, memory_share
from poplite.compat.popops.along_dimensions import PLAN_OPTIONS
from poplite.graph.graph import Graph
from poplite.ops import EmbeddingPlan
from poplite.poplar.absent import shown as _shown
from poplite.types import ElementTypeLike

__all__ = _shown(globals(), "plan", "popops.embedding")


@checked("popops.embedding")
def plan(
    graph: Graph,
    data_type: ElementTypeLike,
    num_entries: int,
    output_size: int,
    num_lookups: int,
    options: Options = None,
) -> EmbeddingPlan:
    """Return a plan, `popops::embedding::plan`; it takes one number of lookups, not a list."""
    check_options("embedding.plan", options, PLAN_OPTIONS)
    given = options or {}
    is_read, is_changed = (given.get(name, "true") == "true" for name in PLAN_OPTIONS[:2])
    used_for = "both" if is_read == is_changed else "read" if is_read else "change"
    return ops.plan_embedding(
        graph,
        entries=num_entries,
        width=output_size,
        lookups=num_lookups,
        type=data_type,
        used_for=used_for,
        memory=memory_share("popops.embedding.plan", options),
    )
