"""A tensor as rows along one of its dimensions, and the steps of an operation on them.

x [2, n, 3], dimension 1        rows [6, n]: x.dim_roll(1, 2).reshape((6, n))
result [6, k]                   the same back: [2, k, 3]
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from operator import index as whole_number
from typing import Any, NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import ElementTypeError, TensorIndexError
from poplite.expr.operand import Operand
from poplite.expr.tree import ElementClass, Expr
from poplite.graph.connect.ownership import check_own
from poplite.graph.graph import Graph
from poplite.graph.mapping.tile_mapping import TileMapping
from poplite.graph.tensor.refused import no_tensor
from poplite.graph.tensor.slices import Slices
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.fuse.cuts import cuts
from poplite.ops.fuse.placement import Mappings, held
from poplite.ops.record import map as stored
from poplite.program import Sequence as Steps
from poplite.program.recording import Recorder, recorder, target
from poplite.source import here
from poplite.text import clipped, of_type
from poplite.types import FLOAT, HALF, element_type as type_of
from poplite.vertex.vertex import Vertex

INTEGERS: tuple[ElementClass, ...] = tuple(
    type_of(name) for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32")
)
"""Integers that fit into a key, without CHAR, which arithmetic does not know."""

ORDERED: tuple[ElementClass, ...] = (FLOAT, HALF, *INTEGERS)
"""What can be sorted."""


class Rows:
    """Rows of a tensor along a dimension, and the operation on them that is recorded.

    Args:
        what: the call, for messages.
        x: an expression is stored first.
        dim: the dimension; None for all elements in row-major order.
        types: those that are allowed.
        name: of the steps.
        program: where the steps go; None for the open block.

    Attributes:
        x: the tensor.
        dim: the dimension, not negative.
        rows: Tensor [count, size].
        count: number of rows.
        size: length of a row.
    """

    def __init__(
        self,
        what: str,
        x: Operand,
        dim: int | None,
        types: tuple[ElementClass, ...],
        name: str,
        program: Steps | None,
    ) -> None:
        self.x = tensor_of(what, x, types, name, program)
        if dim is None:
            self.x, dim = self.x.flatten(), 0
        self.dim = dimension(what, self.x, dim)
        self.what, self.name = what, name
        self.graph: Graph = self.x.graph
        self.size = self.x.shape[self.dim]
        self.count = math.prod(self.x.shape[: self.dim] + self.x.shape[self.dim + 1 :])
        self.rows = self.of(self.x)
        self.mappings = Mappings(self.graph)
        self._target = target(self.graph, program, what)
        self.recorder: Recorder = recorder(self.graph, self._target)

    def of(self, tensor: Tensor) -> Tensor:
        """Return the rows of a tensor of this shape, but for the size of the dimension."""
        last = tensor.rank - 1
        return tensor.dim_roll(self.dim, last).reshape((self.count, tensor.shape[self.dim]))

    def back(self, rows: Tensor) -> Tensor:
        """Return [count, k] as a tensor of the shape of x, with k in the dimension."""
        others = self.x.shape[: self.dim] + self.x.shape[self.dim + 1 :]
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


def tensor_of(
    what: str, x: Operand, types: tuple[ElementClass, ...], name: str, program: Steps | None
) -> Tensor:
    """Return a tensor of one of some types; an expression is stored."""
    if isinstance(x, Expr):
        x = stored(x, name=f"{name}/x", program=program)
    if not isinstance(x, Tensor):
        raise no_tensor(what, x)
    check_own(x.graph, x, what, here())
    if x.element_type not in types:
        raise ElementTypeError(
            f"{what}: '{x.name}' is {x.element_type!r}",
            at=here(),
            fix="one of " + ", ".join(repr(each) for each in types) + "; ops.cast converts",
        )
    return x


def dimension(what: str, x: Tensor, dim: object) -> int:
    """Return a dimension of a tensor; negative ones count from the last."""
    try:
        number = whole_number(dim)  # type: ignore[arg-type]  # checked by this very call
    except TypeError:
        raise TensorIndexError(
            f"{what}: dim={clipped(dim)} is no dimension", at=here(), found=of_type(dim)
        ) from None
    if not -x.rank <= number < x.rank:
        raise TensorIndexError(
            f"{what}: dimension {number} of '{x.name}', which has {x.rank}",
            at=here(),
            found=f"shape {x.shape}",
            fix=f"a dimension from {-x.rank} to {x.rank - 1}" if x.rank else "x.reshape((1,))",
        )
    return number % x.rank


def bits_of(x: Tensor) -> Tensor:
    """Return the elements as integers that have their bits."""
    if x.element_type in (FLOAT, HALF):
        return x.reinterpret("int32" if x.element_type is FLOAT else "int16")
    return x


class Pieces(NamedTuple):
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


def pieces(mapping: TileMapping, size: int, workers: int, grain: int) -> Pieces:
    """Cut rows of so many elements at tiles, workers and the ends of rows."""
    if not mapping.num_elements:
        return Pieces(*(np.empty(0, np.int64) for _ in range(4)))
    found = cuts(*held(mapping), workers, grain)
    first, last = found.begin // size, (found.end - 1) // size
    count = last - first + 1
    source = np.repeat(np.arange(len(first)), count)
    row = first[source] + np.arange(len(source)) - np.repeat(np.cumsum(count) - count, count)
    begin = np.maximum(found.begin[source] - row * size, 0)
    return Pieces(found.tile[source], row, begin, np.minimum(found.end[source] - row * size, size))


def ranges(x: Tensor, begin: Int64, length: Int64) -> Slices:
    """Return slices of a flattened tensor."""
    return Slices(x.flatten(), 0, begin, begin + length)
