"""The cycles of products of sparse and dense matrices on a tile.

Source: PopLibs, `lib/popsparse/PerformanceEstimation.hpp`: `sparseDenseElementwiseMultiply` and
`sparseDenseGradWElementwiseMultiply`, without what they spend on buckets, which a fixed pattern
does not have, and without the shorter entries for exactly two, four or eight columns. For the
last two of an uneven number of columns the first counts all columns once more; here it does not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.machine.target import Target
from poplite.types import FLOAT, ElementType

Element = type[ElementType[Any]]
Count = int | Int64


FOUR, EIGHT = 4, 8
"""Columns that a step of the inner loops takes, of FLOAT and of HALF."""


def sparse_rows(
    element: Element, rows: Count, values: Count, columns: int, target: Target
) -> Int64:
    """Return the tile cycles of adding up rows of a dense matrix, for each row of a sparse one.

    Args:
        element: of both matrices, FLOAT or HALF.
        rows: of the sparse matrix, of the busiest worker.
        values: non-zeros in them.
        columns: of the dense matrix.
        target: the machine.

    >>> int(sparse_rows(FLOAT, 2, 20, 64, Target()))     # 30 + 6 * (27 + 2 * 25 + 20 * 48)
    6252
    """
    cost = target.cost
    if element is FLOAT:
        fours, pairs, rest = columns // FOUR, columns // 2 % 2, columns % 2
        each = cost("sparse_float_row") + (cost("sparse_float_four") if fours else 0)
        each += (pairs + rest) * cost("sparse_float_rest")
        each += cost("sparse_float_rest_end" if pairs + rest else "sparse_float_end")
        value = fours * cost("sparse_float_four_each")
        value += (pairs + rest) * cost("sparse_float_rest_each")
        entry = cost("sparse_float_entry")
    else:
        eights, four, rest = columns // EIGHT, columns // FOUR % 2, columns % FOUR
        each = cost("sparse_half_row") + (cost("sparse_half_eight") if eights else 0)
        each += four * cost("sparse_half_four") + (cost("sparse_half_rest") if rest else 0)
        value = eights * cost("sparse_half_eight_each")
        value += (four + rest) * cost("sparse_half_rest_each")
        entry = cost("sparse_half_entry")
    slots = entry + rows * each + values * value
    return np.asarray(cost("sparse_launch") + target.workers * slots, np.int64)


def sparse_dots(
    element: Element, rows: Count, values: Count, columns: int, target: Target
) -> Int64:
    """Return the tile cycles of multiplying rows of two dense matrices, for each non-zero.

    Args:
        element: of both matrices, FLOAT or HALF.
        rows: of the sparse matrix, of the busiest worker.
        values: non-zeros in them.
        columns: of the dense matrices.
        target: the machine.

    >>> int(sparse_dots(FLOAT, 2, 20, 64, Target()))     # 37 + 6 * (32 + 2 * 7 + 20 * 41)
    5233
    """
    cost = target.cost
    kind = "float" if element is FLOAT else "half"
    value = cost(f"sparse_dots_{kind}_value")
    if element is FLOAT:
        value += (columns // 2 + columns % 2) * cost("sparse_dots_loop")
    else:
        value += columns // FOUR * cost("sparse_dots_loop")
        value += columns // 2 % 2 * cost("sparse_dots_half_two")
        value += columns % 2 * cost("sparse_dots_half_one")
    each = cost(f"sparse_dots_{kind}_row")
    slots = cost(f"sparse_dots_{kind}_entry") + rows * each + values * value
    return np.asarray(cost("sparse_dots_launch") + target.workers * slots, np.int64)
