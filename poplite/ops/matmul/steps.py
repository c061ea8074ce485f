"""The compute sets of matrix products, shared among tiles as a layout says.

    products    tile (i, j, l) gets block (i, j) of the left and (j, l) of the right matrix,
                and its AMP unit multiplies them
    sums        the tiles (i, *, l) add up a part each of what they made, slice after slice of k;
                only where k is cut, or partials are of another type

Operands may lie anywhere. Those that a plan makes lie on the tiles that use them, block behind
block, so that little has to move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.graph.graph import Graph
from poplite.graph.mapping.tile_mapping import TileMapping
from poplite.graph.tensor.slices import SliceLists, Slices
from poplite.graph.tensor.tensor import Tensor
from poplite.machine.target import Target
from poplite.ops.matmul.blocks import Blocks
from poplite.ops.matmul.layout import Layout
from poplite.ops.matmul.request import Request
from poplite.program import WriteUndef
from poplite.program.recording import Recorder
from poplite.types import ElementType
from poplite.vertex.vertex import Vertex
from poplite.vertices.amp import vertex_of
from poplite.vertices.partials import AddPartials


def left_of(graph: Graph, layout: Layout, name: str) -> Tensor:
    """Make a variable for the left matrices, [groups, m, k], on the tiles that use them."""
    group, i, j = (column[:, None] for column in layout.left.all())
    tiles = layout.tile(group, i, j, np.arange(layout.grid[2]))
    return layout.left.matrices(_on_tiles(graph, layout, layout.left, tiles, name))


def right_of(graph: Graph, layout: Layout, name: str) -> Tensor:
    """Make a variable for the right matrices, [groups, k, n], on the tiles that use them."""
    group, j, l = (column[:, None] for column in layout.right.all())  # noqa: E741
    tiles = layout.tile(group, np.arange(layout.grid[0]), j, l)
    return layout.right.matrices(_on_tiles(graph, layout, layout.right, tiles, name))


def product_of(
    graph: Graph,
    layout: Layout,
    name: str,
    element: type[ElementType[Any]] | None = None,
    *,
    by_rows: bool = False,
) -> Tensor:
    """Make a variable for the products, in flat order, on the tiles that make them.

    It is of their type, or of another one; tiles may have complete rows of blocks.
    """
    group, i, l = (column[:, None] for column in layout.product.all())  # noqa: E741
    tiles = layout.tile(group, i, np.arange(layout.grid[1]), l)
    element = element or layout.request.result
    return _on_tiles(graph, layout, layout.product, tiles, name, element, by_rows=by_rows)


def _on_tiles(
    graph: Graph,
    layout: Layout,
    blocks: Blocks,
    tiles: Int64,
    name: str,
    element: type[ElementType[Any]] | None = None,
    *,
    by_rows: bool = False,
) -> Tensor:
    """Make a variable of blocks, each cut among tiles, int64[blocks, parts]."""
    begin, end = blocks.spans(*blocks.all())
    grain = _grain(graph, layout, blocks.all(), by_rows)
    edges = part_edges(end - begin, tiles.shape[1], grain)
    mapping = TileMapping(graph.target.tiles, tiles.ravel(), np.diff(edges).ravel())
    size = (blocks.groups * blocks.rows * blocks.columns,)
    element = element or layout.request.element_type
    return graph.add_variable(element, size, name, mapping=mapping)


def _grain(
    graph: Graph, layout: Layout, blocks: tuple[Int64, Int64, Int64], by_rows: bool
) -> Int64:
    """Return how many elements of each block stay together: what is added up at a time, or rows."""
    if by_rows:
        return np.maximum(1, layout.product.sizes(*blocks[1:])[1])
    return np.full(len(blocks[0]), grain_of(graph.target, layout.request))


def grain_of(target: Target, request: Request) -> int:
    """Return how many elements are added up at a time."""
    return int(target.cost("add_partials_bytes")) // request.partials.size_bytes


def part_edges(size: Int64, parts: int, grain: Int64) -> Int64:
    """Return where parts of some sizes begin and end, int64[sizes, parts + 1], in complete grains.

    >>> part_edges(np.array([10, 3]), 3, np.array([4, 4])).tolist()
    [[0, 4, 8, 10], [0, 0, 0, 3]]
    """
    grains = -(-size // grain)[:, None]
    edges = np.arange(parts + 1) * grains // parts * grain[:, None]
    return np.minimum(edges, size[:, None])


class Parts(NamedTuple):
    """Parts of blocks of a product, each added up by one vertex; all int64[n].

    Attributes:
        group: of the block.
        i: its row.
        l: its column.
        low: where the part begins within the block.
        high: where it ends.
        begin: where it begins in the flat order.
        end: where it ends there.
    """

    group: Int64
    i: Int64
    l: Int64  # noqa: E741
    low: Int64
    high: Int64
    begin: Int64
    end: Int64


class Behind(NamedTuple):
    """What is computed of the sums of a product, by the vertices that make them.

    Attributes:
        vertex: their class.
        by_rows: whether parts of blocks are complete rows of them.
        fields: returns its fields beside the slices of k and the output.
    """

    vertex: type[Vertex]
    by_rows: bool
    fields: Callable[[Parts], dict[str, object]]


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
    layout: Layout
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
        for blocks in self._passes():
            self._multiply(blocks, partials)
            if self.layout.has_partials:
                self._add_up(blocks, product, behind)

    @cached_property
    def partials(self) -> Tensor:
        """Room for what every tile makes in a pass."""
        layout, graph = self.layout, self.graph
        room = layout.slots * layout.block[0] * layout.block[2]
        tiles = np.arange(layout.tiles)
        mapping = TileMapping(graph.target.tiles, tiles, np.full(layout.tiles, room))
        size = (layout.tiles * room,)
        return graph.add_variable(layout.request.partials, size, "partials", mapping=mapping)

    def _room(self, group: Int64, i: Int64, j: Int64, l: Int64) -> Int64:  # noqa: E741
        """Return where the partials of blocks begin."""
        layout = self.layout
        place = layout.tile(group, i, j, l) * layout.slots + group // layout.sets
        room: Int64 = place * layout.block[0] * layout.block[2]
        return room

    def _passes(self) -> Iterator[tuple[Int64, Int64, Int64]]:
        """Yield group, row and column of the blocks of the product that each pass makes."""
        out, (tall, _, wide) = self.layout.product, self.layout.grid
        for top in range(0, out.down, tall):
            for first in range(0, out.across, wide):
                group, i, l = np.meshgrid(  # noqa: E741
                    np.arange(out.groups),
                    np.arange(top, min(top + tall, out.down)),
                    np.arange(first, min(first + wide, out.across)),
                    indexing="ij",
                )
                yield group.ravel(), i.ravel(), l.ravel()

    def _multiply(self, blocks: tuple[Int64, Int64, Int64], out: Tensor) -> None:
        """Make the products of a pass: all blocks of k for some blocks of the result."""
        layout = self.layout
        cuts = layout.grid[1]
        j = np.tile(np.arange(cuts), len(blocks[0]))
        group, i, l = (np.repeat(numbers, cuts) for numbers in blocks)  # noqa: E741
        # One after the other come those with the same block of the right matrix: on the simulator
        # it stays in a cache.
        order = np.lexsort((i, j, l, group))
        group, i, j, l = (numbers[order] for numbers in (group, i, j, l))  # noqa: E741
        height, width = layout.product.sizes(i, l)
        begin, end = layout.product.spans(group, i, l)
        if layout.has_partials:
            begin = self._room(group, i, j, l)
            end = begin + height * width
        self.graph.add_vertices(
            self.recorder.compute_set("products"),
            vertex_of(layout.request.partials),
            tile=layout.tile(group, i, j, l),
            weights=Slices(layout.left.flat(self.left), 0, *layout.left.spans(group, i, j)),
            x=Slices(layout.right.flat(self.right), 0, *layout.right.spans(group, j, l)),
            out=Slices(out, 0, begin, end),
            columns=width,
        )

    def _add_up(
        self, blocks: tuple[Int64, Int64, Int64], product: Tensor, behind: Behind | None
    ) -> None:
        """Add up the partials of a pass, a part of each block on each of its tiles."""
        layout, cuts = self.layout, self.layout.grid[1]
        begin, end = layout.product.spans(*blocks)
        by_rows = behind is not None and behind.by_rows
        edges = part_edges(end - begin, cuts, _grain(self.graph, layout, blocks, by_rows))
        block, part = np.nonzero(np.diff(edges))  # small blocks leave tiles without a part
        low, high = edges[block, part], edges[block, part + 1]
        group, i, l = (numbers[block] for numbers in blocks)  # noqa: E741
        slices = np.arange(cuts)
        made = self._room(group[:, None], i[:, None], slices, l[:, None]) + low[:, None]
        rows = Slices(self.partials, 0, made.ravel(), (made + (high - low)[:, None]).ravel())
        lists = SliceLists(rows, np.arange(len(low) + 1) * cuts)
        begin, end = begin[block] + low, begin[block] + high
        vertex: type[Vertex] = AddPartials
        fields: dict[str, object] = {"partials": lists}
        if behind is not None:
            vertex = behind.vertex
            fields = {"slices": lists, **behind.fields(Parts(group, i, l, low, high, begin, end))}
        self.graph.add_vertices(
            self.recorder.compute_set("sums"),
            vertex,
            tile=layout.tile(group, i, part, l),
            out=Slices(product, 0, begin, end),
            **fields,
        )
