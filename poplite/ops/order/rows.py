"""A tensor as rows along one of its dimensions, and the steps of an operation on them.

x [2, n, 3], dimension 1        rows [6, n]: x.dim_roll(1, 2).reshape((6, n))
result [6, k]                   the same back: [2, k, 3]
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import SizeOverflowError
from poplite.expr.operand import Operand
from poplite.expr.tree import ElementClass, Expr
from poplite.graph.graph import Graph
from poplite.graph.mapping.tile_mapping import TileMapping
from poplite.graph.tensor.slices import Slices
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.fuse.placement import Mappings, cuts, held
from poplite.ops.operands import (
    FLOATS,
    INTEGERS_32,
    called,
    check_type,
    dimension,
    graph_of,
    operand,
    ordered_bits,
    steps_for,
)
from poplite.ops.record import map as stored
from poplite.program import Sequence as Steps
from poplite.program.recording import Recorder, recorder
from poplite.types import UNSIGNED_INT
from poplite.vertex.vertex import Vertex
from poplite.vertices.order import POSITIONS, KeyRule, Positions, Values

ORDERED: tuple[ElementClass, ...] = (*FLOATS, *INTEGERS_32)
"""What can be sorted."""


class Rows:
    """Rows of a tensor along a dimension, and the operation on them.

    Arguments are checked when it is made; `begin` records the first steps, once callers have
    checked theirs.

    Args:
        what: the call, for messages.
        x: an expression is stored first, by `begin`.
        dim: the dimension; None for all elements in row-major order.
        types: those that are allowed.
        name: of the steps.
        program: where the steps go; None for the open block.
        others: its other operands.

    Attributes:
        given: the expression that is stored first, or the tensor.
        shape: of x; of rank 1 where there is no dimension.
        dim: the dimension, not negative.
        count: number of rows.
        size: length of a row.
        x: the tensor, from `begin` on, as are these:
        rows: Tensor [count, size].
        recorder: what takes the steps.
    """

    x: Tensor
    rows: Tensor
    recorder: Recorder

    def __init__(
        self,
        what: str,
        x: Operand,
        dim: int | None,
        types: tuple[ElementClass, ...],
        name: str,
        program: Steps | None,
        *others: object,
    ) -> None:
        self.given = operand(what, x, program)
        check_type(what, self.given, types)
        self.what, self.name, self.element_type = what, name, self.given.element_type
        self.shape = self.given.shape if dim is not None else (self.given.num_elements,)
        self.dim = dimension(what, self.given, dim) if dim is not None else 0
        self.size = self.shape[self.dim]
        self.count = math.prod(self.shape[: self.dim] + self.shape[self.dim + 1 :])
        self.graph: Graph = graph_of(what, self.given, program, *others)
        self.mappings = Mappings(self.graph)
        self._program, self._target = program, steps_for(what, self.graph, name, program)

    def begin(self) -> None:
        """Store an expression; from here on, steps are recorded."""
        x = self.given
        if isinstance(x, Expr):
            x = stored(x, name=f"{self.name}/x", program=self._program)
        self.x = x if x.shape == self.shape else x.flatten()
        self.rows = self.of(self.x)
        self.recorder = recorder(self.graph, self._target)

    def of(self, tensor: Tensor) -> Tensor:
        """Return the rows of a tensor of this shape, but for the size of the dimension."""
        last = tensor.rank - 1
        return tensor.dim_roll(self.dim, last).reshape((self.count, tensor.shape[self.dim]))

    def back(self, rows: Tensor) -> Tensor:
        """Return [count, k] as a tensor of the shape of x, with k in the dimension."""
        others = self.shape[: self.dim] + self.shape[self.dim + 1 :]
        return rows.reshape((*others, rows.shape[1])).dim_roll(len(others), self.dim)

    def variable(self, element_type: ElementClass, part: str, tile: Int64, length: Int64) -> Tensor:
        """Return a new variable of rank 1: so many elements on each of some tiles, in order."""
        mapping = TileMapping(self.graph.target.tiles, tile, length)
        shape = (int(length.sum()),)
        return self.graph.add_variable(element_type, shape, f"{self.name}{part}", mapping=mapping)

    def execute(self, part: str, vertex: type[Vertex], tile: Int64, **fields: Any) -> None:
        """Record a compute set of vertices."""
        self.graph.add_vertices(
            self.recorder.compute_set(f"{self.name}{part}"), vertex, tile=tile, **fields
        )

    def finish(self, reads: Iterable[Tensor], writes: Iterable[Tensor]) -> None:
        """Append the steps to the program."""
        self.recorder.uses(self.name, list(reads), list(writes))
        self.recorder.finish(self._target, self.name)


class RowRanges(NamedTuple):
    """Ranges of rows, one for each vertex; all int64[n].

    Attributes:
        tile: where they are.
        row: which row.
        begin: the first element, in the row.
        end: one past the last.
    """

    tile: Int64
    row: Int64
    begin: Int64
    end: Int64


def pieces(mapping: TileMapping, size: int, workers: int, grain: int) -> RowRanges:
    """Cut rows of so many elements at tiles, workers and the ends of rows."""
    if not mapping.num_elements:
        return RowRanges(*(np.empty(0, np.int64) for _ in range(4)))
    found = cuts(*held(mapping), workers, grain)
    first, last = found.begin // size, (found.end - 1) // size
    count = last - first + 1
    source = np.repeat(np.arange(len(first)), count)
    row = first[source] + np.arange(len(source)) - np.repeat(np.cumsum(count) - count, count)
    begin = np.maximum(found.begin[source] - row * size, 0)
    return RowRanges(
        found.tile[source], row, begin, np.minimum(found.end[source] - row * size, size)
    )


def ranges(x: Tensor, begin: Int64, length: Int64) -> Slices:
    """Return slices of a flattened tensor."""
    return Slices(x.flatten(), 0, begin, begin + length)


# -- from sorted words to elements and positions ---------------------------------------------------


LEAST = 8
"""Words of a worker, at least, where several share those of a tile."""


def check_positions(rows: Rows) -> None:
    """Refuse rows that are too long for positions."""
    if rows.size > POSITIONS:
        raise SizeOverflowError(
            f"{rows.what}: {rows.size:,} elements along dimension {rows.dim} of "
            f"{called(rows.given)}",
            fix=f"at most {POSITIONS:,}",
        )


def write(
    rows: Rows, words: Tensor, count: int, rule: KeyRule | None, *, positions: bool = True
) -> list[Tensor]:
    """Record the values (with a rule) and the positions of the first words of each row.

    Words are [rows, at least count]; a tile writes those that it has.
    """
    first = words[:, :count]
    mapping = rows.graph.tile_mapping(first)
    begin, stop, tile = mapping.in_order()
    length = stop - begin
    workers = rows.graph.target.workers
    parts = np.clip(length // LEAST, 1, workers)
    source = np.repeat(np.arange(len(tile)), parts)
    part = np.arange(len(source)) - np.repeat(np.cumsum(parts) - parts, parts)
    low, high = (length[source] * (part + end) // parts[source] for end in (0, 1))
    tile, begin, length = tile[source], begin[source] + low, high - low
    made = []
    for name, vertex, element_type, state in (
        ("/values", Values, rows.element_type, {} if rule is None else rule._asdict()),
        ("/indices", Positions, UNSIGNED_INT, {}),
    ):
        if (vertex is Values and rule is None) or (vertex is Positions and not positions):
            continue
        out = rows.variable(element_type, name, tile, length)
        made.append(rows.back(out.reshape((rows.count, count))))
        if len(tile):
            fields = {
                "words": ranges(first, begin, length),
                "out": ranges(ordered_bits(out), begin, length),
            }
            rows.execute(name, vertex, tile, **fields, **state)
    return made
