"""Connecting the fields of vertices, and the rules for it.

These modules are loaded on first use: a graph without vertices needs none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poplite.public import loaded_on_use

if TYPE_CHECKING:
    from poplite.graph.connect.bulk import block_of as block_of
    from poplite.graph.connect.connect import (
        bind as bind,
        bind_edge as bind_edge,
        bind_state as bind_state,
        field_ref as field_ref,
        has_codelet as has_codelet,
        not_by_name as not_by_name,
        put_on_tile as put_on_tile,
        set_field_size as set_field_size,
        vertex_class_of as vertex_class_of,
    )
    from poplite.graph.connect.rules import (
        check_compute_set as check_compute_set,
        check_mapped as check_mapped,
        check_vertex as check_vertex,
    )

__all__, __getattr__, __dir__ = loaded_on_use(__name__)
