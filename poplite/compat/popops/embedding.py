"""popops::embedding: plans of tables.

popops::embedding::plan(graph, FLOAT, entries, width, {lookups}, {})
popops.embedding.plan(graph, pl.FLOAT, entries, width, lookups)
"""

from poplite.compat.popops.slices import plan_embedding as _plan_embedding
from poplite.poplar.absent import shown as _shown

plan = _plan_embedding

__all__ = _shown(globals(), "plan", "popops.embedding")
