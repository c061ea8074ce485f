"""popops::embedding: plans of tables.

popops::embedding::plan(graph, FLOAT, entries, width, {lookups}, {})
popops.embedding.plan(graph, pl.FLOAT, entries, width, lookups)
"""

from typing import TYPE_CHECKING

from poplite.compat.popops.slices import plan_embedding as plan
from poplite.poplar.absent import absent_library_names as _absent_library_names

__all__ = ["plan"]


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # for which an unknown name is an error
    __getattr__ = _absent_library_names("popops.embedding", __all__)
