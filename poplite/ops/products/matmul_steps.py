"""The compute sets of matrix products, divided among tiles by a layout.

    products    tile (i, j, l) gets block (i, j) of the left and (j, l) of the right matrix,
                and its AMP unit multiplies them
    sums        each of the tiles (i, *, l) sums a part of their partials, slice after slice of k;
                only if k is cut, or partials and result differ in type

Operands may have any mapping. Operands created by a plan are on the tiles that use them, block
after block, so that little data has to move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import SliceLists, Slices, Tensor
from poplite.graph.tile_mapping import TileMapping
from poplite.machine.target import Target
from poplite.ops.planning import part_edges
from poplite.ops.products.layout import MatrixBlocks, ProductLayout, ProductRequest
from poplite.program import WriteUndef
from poplite.program.recording import Recorder
from poplite.types import FLOAT, ElementType
from poplite.vertex.vertex import Vertex
from poplite.vertices.amp import vertex_of
from poplite.vertices.estimators import binary, share
from poplite.vertices.reduce import AddPartials

# -- passes ----------------------------------------------------------------------------------------
# The vertices that make a product, as arrays: the tile and the operands of each vertex.
#
#     products  of block (i, j) of the left and (j, l) of the right matrix: the tile, the slices of
#               both matrices in flat order, and the destination of the product
#     sums      of the partials of block (i, l): the tile, the part of the block, and its slices
#
# These arrays depend only on the layout, so layers of a network with equal products share them.


MOST_KEPT = 1 << 14
"""Maximum number of products of blocks for which passes are cached."""

Spans = tuple[Int64, Int64]
"""The starts and ends of ranges, int64[n] each."""


class BlockParts(NamedTuple):
    """Parts of blocks of a product, each summed by one vertex; all int64[n].

    Attributes:
        group: the group of the block.
        i: the row of the block.
        l: the column of the block.
        low: the start of the part within the block.
        high: the end of the part within the block.
        begin: the start of the part in the flat order.
        end: the end of the part in the flat order.
    """

    group: Int64
    i: Int64
    l: Int64  # noqa: E741
    low: Int64
    high: Int64
    begin: Int64
    end: Int64


class Products(NamedTuple):
    """The products of blocks of a pass, by vertex.

    Attributes:
        tile: int64[n], the tile of each vertex.
        left: ranges of the left matrices in flat order.
        right: ranges of the right matrices in flat order.
        out: ranges of the partials, or of the product if there are no partials.
        columns: int64[n], the number of columns of the block of the right matrix.
    """

    tile: Int64
    left: Spans
    right: Spans
    out: Spans
    columns: Int64


class Sums(NamedTuple):
    """The sums of partials of a pass, by vertex.

    Attributes:
        tile: int64[n], the tile of each vertex.
        slices: ranges of the partials, vertex after vertex.
        first: int64[n + 1], the index of the first slice of each vertex.
        parts: the part of a block that each vertex sums.
    """

    tile: Int64
    slices: Spans
    first: Int64
    parts: BlockParts


class ProductPass(NamedTuple):
    """The vertices of a pass; `sums` is None without partials."""

    products: Products
    sums: Sums | None


def passes_of(target: Target, layout: ProductLayout, *, by_rows: bool) -> Iterable[ProductPass]:
    """Return the passes of a layout; with `by_rows`, each vertex sums complete rows of a block."""
    blocks = layout.product.groups * layout.product.in_group
    if blocks * layout.grid[1] <= MOST_KEPT:
        return _kept_passes(target, layout, by_rows)
    return _passes(target, layout, by_rows)


@lru_cache(maxsize=32)
def _kept_passes(target: Target, layout: ProductLayout, by_rows: bool) -> tuple[ProductPass, ...]:
    return tuple(_passes(target, layout, by_rows))


def _passes(target: Target, layout: ProductLayout, by_rows: bool) -> Iterator[ProductPass]:
    out, (tall, _, wide) = layout.product, layout.grid
    for top in range(0, out.down, tall):
        for first in range(0, out.across, wide):
            numbers = np.meshgrid(
                np.arange(out.groups),
                np.arange(top, min(top + tall, out.down)),
                np.arange(first, min(first + wide, out.across)),
                indexing="ij",
            )
            blocks = numbers[0].ravel(), numbers[1].ravel(), numbers[2].ravel()
            sums = _sums(target, layout, blocks, by_rows) if layout.has_partials else None
            yield ProductPass(_products(layout, blocks), sums)


def _products(layout: ProductLayout, blocks: tuple[Int64, Int64, Int64]) -> Products:
    """Return the products of a pass: all blocks of k for the given blocks of the result."""
    cuts = layout.grid[1]
    j = np.tile(np.arange(cuts), len(blocks[0]))
    group, i, l = (np.repeat(numbers, cuts) for numbers in blocks)  # noqa: E741
    # Products with the same block of the right matrix are consecutive, so that the block stays in
    # a cache on the simulator.
    order = np.lexsort((i, j, l, group))
    group, i, j, l = (numbers[order] for numbers in (group, i, j, l))  # noqa: E741
    height, width = layout.product.sizes(i, l)
    out = layout.product.spans(group, i, l)
    if layout.has_partials:
        begin = _room(layout, group, i, j, l)
        out = begin, begin + height * width
    left, right = layout.left.spans(group, i, j), layout.right.spans(group, j, l)
    return Products(layout.tile(group, i, j, l), left, right, out, width)


def _sums(
    target: Target, layout: ProductLayout, blocks: tuple[Int64, Int64, Int64], by_rows: bool
) -> Sums:
    """Return the sums of a pass, a part of each block on each of its tiles."""
    cuts = layout.grid[1]
    begin, end = layout.product.spans(*blocks)
    edges = part_edges(end - begin, cuts, grains(target, layout, blocks, by_rows))
    block, part = np.nonzero(np.diff(edges))  # small blocks leave tiles without a part
    low, high = edges[block, part], edges[block, part + 1]
    group, i, l = (numbers[block] for numbers in blocks)  # noqa: E741
    made = _room(layout, group[:, None], i[:, None], np.arange(cuts), l[:, None]) + low[:, None]
    slices = made.ravel(), (made + (high - low)[:, None]).ravel()
    parts = BlockParts(group, i, l, low, high, begin[block] + low, begin[block] + high)
    return Sums(layout.tile(group, i, part, l), slices, np.arange(len(low) + 1) * cuts, parts)


def _room(layout: ProductLayout, group: Int64, i: Int64, j: Int64, l: Int64) -> Int64:  # noqa: E741
    """Return the starts of the partials of blocks."""
    place = layout.tile(group, i, j, l) * layout.slots + group // layout.sets
    room: Int64 = place * layout.block[0] * layout.block[2]
    return room


# -- mappings --------------------------------------------------------------------------------------


def mapping_of_left(target: Target, layout: ProductLayout) -> TileMapping:
    """Return the mapping of the left matrices in flat order, on the tiles that use them."""
    group, i, j = (column[:, None] for column in layout.left.all())
    return mapping_of(
        target, layout, layout.left, layout.tile(group, i, j, np.arange(layout.grid[2]))
    )


def mapping_of_right(target: Target, layout: ProductLayout) -> TileMapping:
    """Return the mapping of the right matrices in flat order, on the tiles that use them."""
    group, j, l = (column[:, None] for column in layout.right.all())  # noqa: E741
    return mapping_of(
        target, layout, layout.right, layout.tile(group, np.arange(layout.grid[0]), j, l)
    )


@lru_cache(maxsize=32)
def mapping_of_product(target: Target, layout: ProductLayout, by_rows: bool) -> TileMapping:
    """Return the mapping of products in flat order, on the tiles that make them."""
    group, i, l = (column[:, None] for column in layout.product.all())  # noqa: E741
    tiles = layout.tile(group, i, np.arange(layout.grid[1]), l)
    return mapping_of(target, layout, layout.product, tiles, by_rows=by_rows)


@lru_cache(maxsize=32)
def mapping_of_partials(target: Target, layout: ProductLayout) -> TileMapping:
    """Return the mapping of the partials of a pass."""
    room = layout.slots * layout.block[0] * layout.block[2]
    return TileMapping(target.tiles, np.arange(layout.tiles), np.full(layout.tiles, room))


def mapping_of(
    target: Target,
    layout: ProductLayout,
    blocks: MatrixBlocks,
    tiles: Int64,
    *,
    by_rows: bool = False,
) -> TileMapping:
    """Return the mapping of blocks, each divided among several `tiles`, int64[blocks, parts]."""
    begin, end = blocks.spans(*blocks.all())
    edges = part_edges(end - begin, tiles.shape[1], grains(target, layout, blocks.all(), by_rows))
    sizes = np.diff(edges).ravel()
    return TileMapping(target.tiles, tiles.ravel()[sizes > 0], sizes[sizes > 0])


def grains(
    target: Target, layout: ProductLayout, blocks: tuple[Int64, Int64, Int64], by_rows: bool
) -> Int64:
    """Return the grain of the parts of each block: a row, or the elements summed at a time."""
    if by_rows:
        return np.maximum(1, layout.product.sizes(*blocks[1:])[1])
    return np.full(len(blocks[0]), grain_of(target, layout.request))


def grain_of(target: Target, request: ProductRequest) -> int:
    """Return the number of elements that are summed at a time."""
    return int(target.cost("add_partials_bytes")) // request.partials.size_bytes


def rows_cost_more(target: Target, layout: ProductLayout) -> bool:
    """Return whether summing complete rows idles so many tiles that a separate map is cheaper.

    If a block has fewer rows than slices of k, some tiles sum one row each and others none, so that
    more partials arrive at one tile.
    """
    (height, _, width), cuts = layout.block, layout.grid[1]
    grain = grain_of(target, layout.request)
    by_rows = -(-height // cuts) * width
    shared = -(-height * width // (grain * cuts)) * grain
    more = (by_rows - shared) * cuts * layout.request.partials.size_bytes
    step = target.workers * binary("add", FLOAT, share(shared, target), target)
    # A single row for all rows is on a different tile: it is received and copied into place.
    step += int(sum(map(target.cost, ("sync_cycles", "latency_cycles", "worker_call"))))
    return more > step * target.exchange_bytes_per_cycle


def part_sizes(target: Target, layout: ProductLayout, size: int, parts: int) -> Int64:
    """Return the number of elements of each part of a block."""
    sizes: Int64 = np.diff(part_edges(size, parts, grain_of(target, layout.request)))
    return sizes


# -- steps -----------------------------------------------------------------------------------------


def left_of(graph: Graph, layout: ProductLayout, name: str) -> Tensor:
    """Create a variable for the left matrices, [groups, m, k], on the tiles that use them."""
    mapping = mapping_of_left(graph.target, layout)
    return layout.left.matrices(_on_tiles(graph, layout, layout.left, mapping, name))


def right_of(graph: Graph, layout: ProductLayout, name: str) -> Tensor:
    """Create a variable for the right matrices, [groups, k, n], on the tiles that use them."""
    mapping = mapping_of_right(graph.target, layout)
    return layout.right.matrices(_on_tiles(graph, layout, layout.right, mapping, name))


def product_of(
    graph: Graph,
    layout: ProductLayout,
    name: str,
    element: type[ElementType[Any]] | None = None,
    *,
    by_rows: bool = False,
) -> Tensor:
    """Create a variable for the products, in flat order, on the tiles that make them.

    Its type is `element`, by default the result type of the layout. With `by_rows`, tiles have
    complete rows of blocks.
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
    """Create a variable for the elements of blocks, in flat order."""
    size = (blocks.groups * blocks.rows * blocks.columns,)
    element = element or layout.request.element_type
    return graph.add_variable(element, size, name, mapping=mapping)


class Epilogue(NamedTuple):
    """A computation on the sums of a product, done by the vertices that make the sums.

    Attributes:
        vertex: the class of these vertices.
        by_rows: whether each vertex makes complete rows of a block.
        fields: returns the fields of the vertices, apart from the slices of k and the output.
    """

    vertex: type[Vertex]
    by_rows: bool
    fields: Callable[[BlockParts], dict[str, object]]


@dataclass(eq=False)
class Multiplication:
    """The steps of the products of one layout.

    Attributes:
        graph: the graph of the tiles.
        recorder: receives the steps.
        layout: how the products are divided among tiles.
        left: matrices of shape (groups, m, k).
        right: matrices of shape (groups, k, n).
    """

    graph: Graph
    recorder: Recorder
    layout: ProductLayout
    left: Tensor
    right: Tensor

    def products(self, product: Tensor, epilogue: Epilogue | None = None) -> None:
        """Store the products, or the results of an epilogue, in a tensor in flat order."""
        if not product.num_elements:
            return
        partials = self.partials if self.layout.has_partials else product
        if self.layout.has_partials:
            # Products start from zero, so other variables may use their memory until then.
            self.recorder.add(WriteUndef(partials))
        by_rows = epilogue is not None and epilogue.by_rows
        for made in passes_of(self.graph.target, self.layout, by_rows=by_rows):
            self._multiply(made.products, partials)
            if made.sums is not None:
                self._add_up(made.sums, product, epilogue)

    @cached_property
    def partials(self) -> Tensor:
        """A variable for the partials of a pass."""
        layout, graph = self.layout, self.graph
        mapping = mapping_of_partials(graph.target, layout)
        size = (mapping.num_elements,)
        return graph.add_variable(layout.request.partials, size, "partials", mapping=mapping)

    def _multiply(self, made: Products, out: Tensor) -> None:
        """Add the vertices for the products of a pass."""
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

    def _add_up(self, made: Sums, product: Tensor, epilogue: Epilogue | None) -> None:
        """Add the vertices that sum the partials of a pass."""
        lists = SliceLists(Slices(self.partials, 0, *made.slices), made.first)
        vertex: type[Vertex] = AddPartials
        fields: dict[str, object] = {"partials": lists}
        if epilogue is not None:
            vertex = epilogue.vertex
            fields = {"slices": lists, **epilogue.fields(made.parts)}
        self.graph.add_vertices(
            self.recorder.compute_set("sums"),
            vertex,
            tile=made.tile,
            out=Slices(product, 0, made.parts.begin, made.parts.end),
            **fields,
        )
