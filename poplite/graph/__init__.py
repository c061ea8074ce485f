"""What a user builds with: variables on tiles, tensors over them, compute sets of vertices.

As in `poplite`, a name's module is imported when the name is first used: what runs an executable
needs few of these modules.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from poplite.graph.compute_sets.compute_set import (
        ComputeSet as ComputeSet,
        FieldRef as FieldRef,
        VertexInstance as VertexInstance,
    )
    from poplite.graph.graph import Graph as Graph
    from poplite.graph.variables import MappingLike as MappingLike
    from poplite.graph.virtual import VirtualGraph as VirtualGraph

_HOME = {
    "ComputeSet": "compute_sets.compute_set",
    "FieldRef": "compute_sets.compute_set",
    "Graph": "graph",
    "MappingLike": "variables",
    "VertexInstance": "compute_sets.compute_set",
    "VirtualGraph": "virtual",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'poplite.graph' has no attribute '{name}'")
    value = getattr(import_module(f"poplite.graph.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
