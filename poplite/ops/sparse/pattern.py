"""Where the non-zeros of a sparse matrix are: compressed rows, fixed when the graph is built.

. 5 . 6      row_starts   0 2 2 3        row r has the non-zeros row_starts[r] to
. . . .      columns      1 3 0          row_starts[r + 1], in the columns that stand there
7 . . .      values       5 6 7          a tensor, which may change as the program runs
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.arrays.masked import unmasked
from poplite.errors import TensorCreationError
from poplite.ops.operands import count_of
from poplite.text import clipped, of_type

MOST = 2**63 - 1
"""The greatest number that a pattern holds."""


class SparsePattern:
    """The places of the non-zeros of a matrix, row after row.

    Args:
        shape: rows and columns.
        row_starts: int[rows + 1], where each row begins among the non-zeros; the last is how many
            there are.
        columns: int[non-zeros], the column of each. Within a row they may stand in any order, and
            equal ones are added.

    Raises:
        TensorCreationError: for numbers that do not fit together.
        SizeOverflowError: for a shape below 0.
        InvalidOption: for a shape that is none.

    >>> pattern = SparsePattern((3, 4), [0, 2, 2, 3], [1, 3, 0])
    >>> pattern
    <SparsePattern 3 x 4, 3 non-zeros>
    """

    def __init__(
        self, shape: tuple[int, int], row_starts: npt.ArrayLike, columns: npt.ArrayLike
    ) -> None:
        what = "ops.SparsePattern"
        if not isinstance(shape, tuple | list) or len(shape) != 2:
            raise TensorCreationError(
                f"{what}: shape={clipped(shape)} is not that of a matrix",
                found=of_type(shape),
                fix="shape=(rows, columns)",
            )
        self.shape = (count_of(what, "rows", shape[0]), count_of(what, "columns", shape[1]))
        self.row_starts = _whole(what, "row_starts", row_starts)
        self.columns = _whole(what, "columns", columns)
        self._check(what)

    @classmethod
    def of(cls, matrix: Any) -> SparsePattern:
        """Return the pattern of a matrix of SciPy in compressed rows; its `data` are the values.

        Args:
            matrix: `scipy.sparse.csr_array` or `csr_matrix`, or what has `shape`, `indptr` and
                `indices` like them.

        Raises:
            TensorCreationError: for anything else.

        >>> from types import SimpleNamespace
        >>> csr = SimpleNamespace(format="csr", shape=(1, 2), indptr=[0, 1], indices=[1])
        >>> SparsePattern.of(csr)
        <SparsePattern 1 x 2, 1 non-zero>
        """
        if getattr(matrix, "format", None) != "csr":
            raise TensorCreationError(
                f"ops.SparsePattern.of: {clipped(matrix)} is no matrix in compressed rows",
                found=of_type(matrix),
                fix="SparsePattern.of(matrix.tocsr())",
            )
        return cls(tuple(matrix.shape), matrix.indptr, matrix.indices)

    @property
    def count(self) -> int:
        """How many non-zeros there are."""
        return len(self.columns)

    @cached_property
    def rows(self) -> Int64:
        """The row of each non-zero."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self.row_starts))

    @cached_property
    def transposed(self) -> tuple[SparsePattern, Int64]:
        """The pattern of the transposed matrix, and for each of its non-zeros the number here."""
        order = np.argsort(self.columns, kind="stable")
        counts = np.bincount(self.columns, minlength=self.shape[1])
        starts = np.r_[0, np.cumsum(counts)]
        return SparsePattern(self.shape[::-1], starts, self.rows[order]), order

    def __repr__(self) -> str:
        rows, columns = self.shape
        many = "" if self.count == 1 else "s"
        return f"<SparsePattern {rows:,} x {columns:,}, {self.count:,} non-zero{many}>"

    def _check(self, what: str) -> None:
        """Raise where the numbers do not fit together."""
        rows, columns = self.shape
        starts, count = self.row_starts, self.count
        found = ""
        if len(starts) != rows + 1:
            found = f"row_starts has {len(starts):,} numbers for {rows:,} rows"
        elif starts[0] != 0 or starts[-1] != count:
            found = f"row_starts goes from {starts[0]:,} to {starts[-1]:,}, of {count:,} columns"
        elif (np.diff(starts) < 0).any():
            row = int(np.argmax(np.diff(starts) < 0))
            found = f"row {row:,} goes from {starts[row]:,} to {starts[row + 1]:,}"
        elif count and not 0 <= int(self.columns.min()) <= int(self.columns.max()) < columns:
            bad = (self.columns < 0) | (self.columns >= columns)
            at = int(np.argmax(bad))
            found = f"non-zero {at:,} is in column {self.columns[at]:,} of {columns:,}"
        if found:
            raise TensorCreationError(
                f"{what}: the non-zeros are not those of a matrix of {rows:,} x {columns:,}",
                found=found,
                fix="row_starts from 0 to len(columns), never falling; columns below shape[1]",
            )


def _whole(what: str, name: str, values: npt.ArrayLike) -> Int64:
    """Return a list of whole numbers as an array of its own."""
    try:
        array = np.asarray(unmasked(values, f"{what}, {name}"))
    except ValueError:  # lists of different lengths
        array = np.asarray(values, object)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise TensorCreationError(
            f"{what}: {name} is no list of whole numbers",
            found=f"{array.dtype} of shape {array.shape}",
            fix="as `indptr` and `indices` of a scipy.sparse.csr_array",
        )
    if array.dtype.kind == "u" and (array > MOST).any():  # they would become negative
        at = int(np.argmax(array > MOST))
        raise TensorCreationError(
            f"{what}: {name}[{at:,}] is {int(array[at]):,}",
            found=f"numbers of {array.dtype}",
            fix="numbers of no more than 63 bits",
        )
    kept = array.astype(np.int64)
    kept.flags.writeable = False
    return kept
