"""popops::embedding: plans of tables.

popops::embedding::plan(graph, FLOAT, entries, width, {lookups}, {})
popops.embedding.plan(graph, pl.FLOAT, entries, width, lookups)
"""

from poplite.compat.popops.slices import plan_embedding as plan

__all__ = ["plan"]


def __dir__() -> list[str]:
    return __all__
