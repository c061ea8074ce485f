"""Compute sets: vertices, their edges and their costs.

These modules are loaded on first use: a graph without vertices needs none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poplite.public import loaded_on_use

if TYPE_CHECKING:
    from poplite.graph.compute_sets.compute_set import (
        ComputeSet as ComputeSet,
        FieldRef as FieldRef,
        VertexInstance as VertexInstance,
        largest_number as largest_number,
        max_dim as max_dim,
        new_vertex as new_vertex,
        size_of as size_of,
    )
    from poplite.graph.compute_sets.perf_estimates import (
        checked_estimator as checked_estimator,
        estimate_of as estimate_of,
    )
    from poplite.graph.compute_sets.vertex_block import (
        VertexBlock as VertexBlock,
        set_estimate as set_estimate,
    )

__all__, __getattr__, __dir__ = loaded_on_use(__name__)
