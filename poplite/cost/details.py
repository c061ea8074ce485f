"""What estimators may look at beyond shapes: values of state, lengths of the rows of a list.

As columns of numbers that are equal where the values are, beside those of
`poplite.graph.compute_sets.vertex_shapes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.series import Series
from poplite.graph.compute_sets.vertex_block import Vectors
from poplite.graph.compute_sets.vertex_shapes import Column

if TYPE_CHECKING:
    from poplite.graph.compute_sets.edge_table import Family


def details_of(family: Family) -> list[Column]:
    """Return columns that tell vertices apart whose shapes are equal.

    Args:
        family: at least one vertex.
    """
    columns: list[Column] = []
    for values in family.state.values():
        if isinstance(values, Vectors):
            columns.append(alike(values.values, values.length))
        elif isinstance(values, np.ndarray) and values.dtype.kind == "f":
            columns.append(_numbered(values[:, None]))
    for part in family.fields:
        if part.field.depth == 2 and part.edges.length.only is None:
            columns.append(alike(part.edges.length.array(), part.edges.rows))
    return columns


def alike(values: npt.NDArray[Any], lengths: Series) -> Column:
    """Number parts of an array so that parts of equal bits have equal numbers.

    Args:
        values: all parts, one after the other.
        lengths: of each part.

    >>> from poplite.arrays.series import compact
    >>> alike(np.array([1, 2, 3, 1, 2]), compact(np.array([2, 1, 2]))).tolist()
    [1, 0, 1]
    """
    count, length = lengths.count, lengths.only
    if length is not None:
        return _numbered(values.reshape(count, length)) if length else 0
    sizes = lengths.array()
    begins, numbers = np.cumsum(sizes) - sizes, np.zeros(count, np.int64)
    most = 0
    for size in np.unique(sizes):
        chosen = np.flatnonzero(sizes == size)
        if size:
            own = _numbered(values[begins[chosen, None] + np.arange(size)])
            numbers[chosen] = own + most
        most = int(numbers.max()) + 1
    return numbers


def _numbered(rows: npt.NDArray[Any]) -> Column:
    """Return a number for each row, the same for rows of equal bits."""
    if (rows == rows[0]).all():
        return 0
    size = rows.dtype.itemsize * rows.shape[1]
    bits = np.ascontiguousarray(rows).view(np.dtype((np.void, size)))[:, 0]
    numbers = np.unique(bits, return_inverse=True)[1]
    return numbers.astype(np.int64)
