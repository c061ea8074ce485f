"""Lowered steps: launches of drivers over descriptor rows, without any address in them.

A compute set becomes up to three launches, which run one after the other::

    gather      copy fields whose elements are not contiguous into temporaries
    vertices    run the drivers
    scatter     copy written temporaries back

A Copy becomes one launch.  The engine turns launches into chunks once it knows where the
arena and the compiled drivers are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poplite.compile.descriptor import Forms
from poplite.vertex import Vertex

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Moves:
    """Copy records (`poplite.compile.records`).

    Attributes:
        records: int64[records, 6].
    """

    records: Integers

    @property
    def weights(self) -> Integers:
        """Work of each record, in bytes and block overheads."""
        return np.asarray(self.records[:, 2] * (self.records[:, 3] + 8))

    @property
    def size_bytes(self) -> int:
        """Bytes moved."""
        return int((self.records[:, 2] * self.records[:, 3]).sum())


@dataclass(frozen=True, slots=True)
class Vertices:
    """Runs of vertices of one class whose list fields have one form.

    Attributes:
        cls: the vertex class.
        forms: form of each list field.
        words: int64[...], descriptor rows, then the tables they refer to.
        num_rows: number of descriptor rows.
        weights: int64[num_rows], work of each row, in elements and vertex overheads.
    """

    cls: type[Vertex]
    forms: Forms
    words: Integers
    num_rows: int
    weights: Integers


@dataclass(frozen=True, slots=True)
class ComputeStep:
    """A lowered compute set."""

    name: str
    num_vertices: int
    gather: Moves
    groups: tuple[Vertices, ...]
    scatter: Moves


@dataclass(frozen=True, slots=True)
class CopyStep:
    """A lowered Copy."""

    name: str
    moves: Moves
