"""The parts of a graph: variables on tiles, tensors over them, compute sets of vertices.

As in `poplite`, a name's module is imported when the name is first used, since running an
executable needs few of these modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poplite.public import loaded_on_use

if TYPE_CHECKING:
    from poplite.graph.compute_sets.compute_set import (
        ComputeSet as ComputeSet,
        FieldRef as FieldRef,
        VertexInstance as VertexInstance,
    )
    from poplite.graph.graph import Graph as Graph, VirtualGraph as VirtualGraph
    from poplite.graph.variables import MappingLike as MappingLike

__all__, __getattr__, __dir__ = loaded_on_use(__name__)
