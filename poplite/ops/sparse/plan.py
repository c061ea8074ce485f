"""Plans of sparse products: which tile has which rows, and variables for values that lie there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poplite.errors import ElementTypeError
from poplite.graph.graph import Graph
from poplite.graph.mapping.tile_mapping import TileMapping
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.operands import FLOATS, check_parts, count_of
from poplite.ops.sparse.layout import SparseLayout, best_layout
from poplite.ops.sparse.pattern import SparsePattern
from poplite.program.sequence import check_graph
from poplite.text import clipped, of_type
from poplite.types import FLOAT, ElementTypeLike, element_type

if TYPE_CHECKING:
    import numpy.typing as npt


class SparsePlan:
    """How a product of a sparse and a dense matrix is shared among the tiles of a graph.

    `plan_sparse_matmul` makes it, and products find the same one by themselves.

    Attributes:
        graph: the graph it was made for.
        layout: the rows of each tile and worker.
    """

    def __init__(self, graph: Graph, layout: SparseLayout) -> None:
        check_parts("SparsePlan", "plan_sparse_matmul", graph, "layout", layout, SparseLayout)
        self.graph, self.layout = graph, layout

    @property
    def tiles(self) -> int:
        """How many tiles take part."""
        return (len(self.layout.blocks) - 1) * self.layout.parts

    @property
    def cycles(self) -> int:
        """Cycles by formulas: what arrives at the tile that gets most, and the busiest worker."""
        return self.layout.cycles

    @property
    def bytes(self) -> int:
        """Bytes of rows, values and results on the fullest tile."""
        return self.layout.bytes

    def create_values(
        self, name: str = "values", *, initial_value: npt.ArrayLike | None = None
    ) -> Tensor:
        """Make a variable for the values of the non-zeros, each on a tile that uses it.

        Args:
            name: of the variable.
            initial_value: of the variable, as in `graph.add_variable`.

        Returns:
            A tensor of shape (non-zeros,).

        Raises:
            TensorCreationError: for a name that is none.

        >>> import poplite as pl
        >>> graph = pl.Graph(pl.Target(tiles=4))
        >>> pattern = SparsePattern((3, 4), [0, 2, 2, 3], [1, 3, 0])
        >>> plan_sparse_matmul(graph, pattern, 8).create_values("a").shape
        (3,)
        """
        layout = self.layout
        pattern = layout.pattern
        counts = pattern.row_starts[layout.blocks[1:]] - pattern.row_starts[layout.blocks[:-1]]
        mapping = TileMapping(self.graph.target.tiles, layout.tile(0), counts)
        return self.graph.add_variable(
            layout.element, (pattern.count,), name, mapping=mapping, initial_value=initial_value
        )

    def __str__(self) -> str:
        layout = self.layout
        return "\n".join(
            (
                f"{layout.pattern!r} times {layout.pattern.shape[1]:,} x {layout.columns:,}, "
                f"{layout.element!r}",
                f"  grid     {len(layout.blocks) - 1:,} x {layout.parts:,} over rows and columns, "
                f"{self.tiles:,} tiles",
                f"  busiest  {int(layout.busiest.max(initial=0)):,} non-zeros of a worker, "
                f"{layout.width:,} columns",
                f"  cycles   {self.cycles:,} by formulas",
                f"  memory   {self.bytes:,} B of a tile",
            )
        )

    def __repr__(self) -> str:
        return f"<SparsePlan of {self.layout.pattern!r} on {self.tiles:,} tiles>"


def plan_sparse_matmul(
    graph: Graph, pattern: SparsePattern, columns: int, type: ElementTypeLike = FLOAT
) -> SparsePlan:
    """Plan the product of a sparse matrix and a dense one: rows by their non-zeros.

    Args:
        graph: whose tiles share it.
        pattern: of the sparse matrix.
        columns: of the dense matrix.
        type: of both, FLOAT or HALF.

    Raises:
        ElementTypeError: for another type, or no pattern.
        SizeOverflowError: for columns below 0, or from 2**31 on.
        ControlProgramError: for no graph.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> pattern = SparsePattern((3, 4), [0, 2, 2, 3], [1, 3, 0])
    >>> print(plan_sparse_matmul(graph, pattern, columns=8))
    <SparsePattern 3 x 4, 3 non-zeros> times 4 x 8, FLOAT
      grid     3 x 1 over rows and columns, 3 tiles
      busiest  2 non-zeros of a worker, 8 columns
      cycles   609 by formulas
      memory   124 B of a tile
    """
    what = "ops.plan_sparse_matmul"
    check_graph("ops.plan_sparse_matmul(graph, pattern, columns)", graph)
    check_pattern(what, pattern)
    element = element_type(type)
    if element not in FLOATS:
        raise ElementTypeError(
            f"{what}: type={element!r}",
            found="sparse products are of FLOAT or HALF",
            fix="type=pl.FLOAT",
        )
    count = count_of(what, "columns", columns, end=1 << 31)
    return SparsePlan(graph, best_layout(graph.target, pattern, element, count))


def check_pattern(what: str, pattern: object) -> None:
    """Refuse what is no pattern."""
    if not isinstance(pattern, SparsePattern):
        raise ElementTypeError(
            f"{what}: pattern is {clipped(pattern)}",
            found=of_type(pattern),
            fix="ops.SparsePattern(shape, row_starts, columns), or SparsePattern.of(csr)",
        )
