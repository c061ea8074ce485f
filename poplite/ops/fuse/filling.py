"""Numbers that no tensor takes part in: each worker makes its own, so that nothing is sent.

    zero of x[4, 10] on two tiles       Fill      out = x[0, 0:4], ...
    of its columns 2 to 5               FillRows  out = [x[0, 2:5], x[1, 2:5]], ...

Source: PopLibs, `lib/popops/Fill.cpp`: what has up to 4 B is a copy of a constant.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64, overlay
from poplite.expr.tree import IotaExpr, Number
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.tensor.slices import SliceLists, Slices
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.fuse.cuts import cuts
from poplite.ops.fuse.placement import Mappings, grain_of, held
from poplite.types import BOOL
from poplite.vertices import filling as library

FEW_BYTES = 4
"""What PopLibs copies from a constant."""

EXACT = 1 << 24
"""Whole numbers up to here are float32, so that counting on in it rounds nothing."""


def is_made_in_place(expr: Number | IotaExpr, out: Tensor) -> bool:
    """Return whether vertices store the numbers; the others are copied from a constant."""
    if isinstance(expr, Number):
        return out.num_elements * out.element_type.size_bytes > FEW_BYTES
    largest = max(abs(expr.start), abs(expr.start + expr.num_elements))
    if expr.element_type is BOOL or (expr.element_type.is_floating_point and largest > EXACT):
        return False
    is_long = 2 * out.num_regions() <= out.num_elements  # else each number is a row of its own
    return is_long and 0 < expr.num_elements == out.num_elements


def add_filling(
    mappings: Mappings, compute_set: ComputeSet, expr: Number | IotaExpr, out: Tensor
) -> str:
    """Add the vertices that store numbers in a tensor, and return the name of their class."""
    graph = mappings.graph
    tile, begin, end = held(mappings.of(out))
    memory = np.append(0, out.contiguous_regions().end)
    source, _, begin, end = overlay(begin, end, memory)
    found = cuts(tile[source], begin, end, graph.target.workers, grain_of(out.element_type))
    first = found.first
    ranges = Slices(out.flatten(), 0, found.begin, found.end)
    is_listed = len(first) < len(found.vertex)  # some vertices have several ranges
    ends = np.append(first, len(found.vertex))
    fields: dict[str, Any] = {"out": SliceLists(ranges, ends) if is_listed else ranges}
    if isinstance(expr, Number):
        template: Any = library.FillRows if is_listed else library.Fill
        fields["value"] = expr.value
    else:
        template = library.IotaRows if is_listed else library.Iota
        starts = _counted(expr, found.begin)
        fields["starts" if is_listed else "start"] = (
            np.split(starts, first[1:]) if is_listed else starts
        )
    cls = template[out.element_type]
    graph.add_vertices(compute_set, cls, tile=found.tile[first], **fields)
    return str(cls.__name__)


def positions(expr: IotaExpr) -> npt.NDArray[Any]:
    """Return the numbers of an `ops.iota`."""
    return _counted(expr, np.arange(expr.num_elements))


def _counted(expr: IotaExpr, places: Int64) -> npt.NDArray[Any]:
    """Return the numbers at some places; those of integers wrap on their way, not at its end."""
    dtype: np.dtype[Any] = expr.element_type.dtype
    if dtype.kind == "f":
        return (places + float(expr.start)).astype(dtype)
    numbers: npt.NDArray[Any] = places.astype(dtype)
    numbers += dtype.type(expr.start)
    return numbers
