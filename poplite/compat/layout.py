"""Poplar's namespace `layout`: layouts of vector fields in memory, for estimators.

Members can be compared with the layouts of fields::

    from poplite.compat import layout
    vertex.field_info("x").getProfilerVectorLayout(0) is layout.Vector.Span
"""

from __future__ import annotations

from poplite.errors import ElementTypeError
from poplite.poplar.absent import shown as _shown
from poplite.text import clipped, of_type
from poplite.vertex.fields import (
    ProfilerVectorLayout as Vector,
    ProfilerVectorListLayout as VectorList,
)

__all__ = _shown(globals(), "Vector VectorList to_string")


def to_string(layout: Vector | VectorList) -> str:
    """Return the name of a layout.

    Args:
        layout: a member of `Vector` or `VectorList`.

    Raises:
        ElementTypeError: for anything else.

    >>> to_string(Vector.ShortSpan)
    'SHORT_SPAN'
    """
    if not isinstance(layout, Vector | VectorList):
        raise ElementTypeError(
            f"layout.to_string: {clipped(layout)} is not a layout",
            found=of_type(layout),
            fix="layout.to_string(layout.Vector.Span)",
        )
    return layout.name
