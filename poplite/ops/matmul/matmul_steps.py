"""The compute sets of matrix products, shared among tiles as a layout says.

    products    tile (i, j, l) gets block (i, j) of the left and (j, l) of the right matrix,
                and its AMP unit multiplies them
    sums        the tiles (i, *, l) add up a part each of what they made, slice after slice of k;
                only where k is cut, or partials are of another type

Operands may lie anywhere. Those that a plan makes lie on the tiles that use them, block behind
block, so that little has to move.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from poplite.graph.graph import Graph
from poplite.graph.mapping.tile_mapping import TileMapping
from poplite.graph.tensor.slices import SliceLists, Slices
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.matmul.blocks import MatrixBlocks
from poplite.ops.matmul.layout import ProductLayout
from poplite.ops.matmul.passes import (
    BlockParts,
    Products,
    Sums,
    mapping_of,
    mapping_of_partials,
    mapping_of_product,
    passes,
)
from poplite.program import WriteUndef
from poplite.program.recording import Recorder
from poplite.types import ElementType
from poplite.vertex.vertex import Vertex
from poplite.vertices.amp import vertex_of
from poplite.vertices.partials import AddPartials


def left_of(graph: Graph, layout: ProductLayout, name: str) -> Tensor:
    """Make a variable for the left matrices, [groups, m, k], on the tiles that use them."""
    group, i, j = (column[:, None] for column in layout.left.all())
    tiles = layout.tile(group, i, j, np.arange(layout.grid[2]))
    mapping = mapping_of(graph.target, layout, layout.left, tiles)
    return layout.left.matrices(_on_tiles(graph, layout, layout.left, mapping, name))


def right_of(graph: Graph, layout: ProductLayout, name: str) -> Tensor:
    """Make a variable for the right matrices, [groups, k, n], on the tiles that use them."""
    group, j, l = (column[:, None] for column in layout.right.all())  # noqa: E741
    tiles = layout.tile(group, np.arange(layout.grid[0]), j, l)
    mapping = mapping_of(graph.target, layout, layout.right, tiles)
    return layout.right.matrices(_on_tiles(graph, layout, layout.right, mapping, name))


def product_of(
    graph: Graph,
    layout: ProductLayout,
    name: str,
    element: type[ElementType[Any]] | None = None,
    *,
    by_rows: bool = False,
) -> Tensor:
    """Make a variable for the products, in flat order, on the tiles that make them.

    It is of their type, or of another one; tiles may have complete rows of blocks.
    """
    mapping = mapping_of_product(graph.target, layout, by_rows)
    element = element or layout.request.result
    return _on_tiles(graph, layout, layout.product, mapping, name, element)


def _on_tiles(
    graph: Graph,
    layout: ProductLayout,
    blocks: MatrixBlocks,
    mapping: TileMapping,
    name: str,
    element: type[ElementType[Any]] | None = None,
) -> Tensor:
    """Make a variable of blocks."""
    size = (blocks.groups * blocks.rows * blocks.columns,)
    element = element or layout.request.element_type
    return graph.add_variable(element, size, name, mapping=mapping)


class Behind(NamedTuple):
    """What is computed of the sums of a product, by the vertices that make them.

    Attributes:
        vertex: their class.
        by_rows: whether parts of blocks are complete rows of them.
        fields: returns its fields beside the slices of k and the output.
    """

    vertex: type[Vertex]
    by_rows: bool
    fields: Callable[[BlockParts], dict[str, object]]


@dataclass(eq=False)
class Multiplication:
    """The steps of some products.

    Attributes:
        graph: whose tiles share them.
        recorder: what takes the steps.
        layout: how the products are shared among tiles.
        left: of shape (groups, m, k).
        right: of shape (groups, k, n).
    """

    graph: Graph
    recorder: Recorder
    layout: ProductLayout
    left: Tensor
    right: Tensor

    def products(self, product: Tensor, behind: Behind | None = None) -> None:
        """Store the products, or what is computed of them, in a tensor in flat order."""
        if not product.num_elements:
            return
        partials = self.partials if self.layout.has_partials else product
        if self.layout.has_partials:
            # Products begin at zero, so their memory may serve others before.
            self.recorder.add(WriteUndef(partials))
        by_rows = behind is not None and behind.by_rows
        for made in passes(self.graph.target, self.layout, by_rows=by_rows):
            self._multiply(made.products, partials)
            if made.sums is not None:
                self._add_up(made.sums, product, behind)

    @cached_property
    def partials(self) -> Tensor:
        """Room for what every tile makes in a pass."""
        layout, graph = self.layout, self.graph
        mapping = mapping_of_partials(graph.target, layout)
        size = (mapping.num_elements,)
        return graph.add_variable(layout.request.partials, size, "partials", mapping=mapping)

    def _multiply(self, made: Products, out: Tensor) -> None:
        """Make the products of a pass."""
        layout = self.layout
        self.graph.add_vertices(
            self.recorder.compute_set("products"),
            vertex_of(layout.request.partials),
            tile=made.tile,
            weights=Slices(layout.left.flat(self.left), 0, *made.left),
            x=Slices(layout.right.flat(self.right), 0, *made.right),
            out=Slices(out, 0, *made.out),
            columns=made.columns,
        )

    def _add_up(self, made: Sums, product: Tensor, behind: Behind | None) -> None:
        """Add up the partials of a pass."""
        lists = SliceLists(Slices(self.partials, 0, *made.slices), made.first)
        vertex: type[Vertex] = AddPartials
        fields: dict[str, object] = {"partials": lists}
        if behind is not None:
            vertex = behind.vertex
            fields = {"slices": lists, **behind.fields(made.parts)}
        self.graph.add_vertices(
            self.recorder.compute_set("sums"),
            vertex,
            tile=made.tile,
            out=Slices(product, 0, made.parts.begin, made.parts.end),
            **fields,
        )
