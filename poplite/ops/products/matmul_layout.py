"""Layouts of products: from a request to the blocks of two matrices that each tile multiplies.

A request holds sizes, types and options; a layout is one way to divide its product among tiles::

    [m, k] x [k, n]             grid 2 x 3 x 2 over 12 tiles

                           n            tile (i, j, l) multiplies block (i, j) of the left
                        +-----+-----+   by block (j, l) of the right matrix
             k          |     |     | j
         +---+---+---+  +-----+-----+   so block (i, l) of the product is made as 3 partials,
       m | i, j  |   |  | j, l|     |   one on each tile (i, *, l); each of these tiles then
         +---+---+---+  +-----+-----+   sums a third of the block
         |   |   |   |  |     |     |
         +---+---+---+  +-----+-----+

Tiles (*, j, l) are consecutive: the two tiles of a pair use the same block of the right matrix, and
receive it together. If there are several products (groups), there are `sets` grids of tiles, and
each grid makes every `sets`-th product. The compute sets of a layout:

    products    tile (i, j, l) gets block (i, j) of the left and (j, l) of the right matrix,
                and its AMP unit multiplies them
    sums        each of the tiles (i, *, l) sums a part of their partials, slice after slice of k;
                only if k is cut, or partials and result differ in type

Operands may have any mapping. Operands created by a plan are on the tiles that use them, block
after block, so that little data has to move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import (
    ElementTypeError,
    InvalidOption,
    SizeOverflowError,
    TensorCreationError,
    did_you_mean,
)
from poplite.frozen import frozen
from poplite.graph.graph import Graph
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import SliceLists, Slices, Tensor
from poplite.graph.tile_mapping import TileMapping
from poplite.machine.target import Target
from poplite.ops.planning import part_edges, segments
from poplite.program import WriteUndef
from poplite.program.recording import Recorder
from poplite.text import clipped, integer_or_none, of_type
from poplite.types import FLOAT, HALF, ElementType, ElementTypeLike, element_type
from poplite.vertex.vertex import Vertex
from poplite.vertices.amp import vertex_of
from poplite.vertices.estimators import binary, share
from poplite.vertices.reduce import AddPartials

# -- requests --------------------------------------------------------------------------------------

MOST_PRODUCTS = 2**50
"""Maximum number of multiplications in a product, so that its cycles fit in 64 bits."""

CONSTRAINTS = {
    "pm": "tiles over the rows of the left matrix",
    "pk": "tiles over the depth",
    "pn": "tiles over the columns of the right matrix",
    "pg": "sets of tiles over the groups",
    "split_m": "passes over the rows",
    "split_n": "passes over the columns",
}
"""The constraints of plans, with their meaning."""


@frozen
class Options:
    """A user's options for the plan of a product.

    Attributes:
        partials: the type in which tiles add products; None for FLOAT.
        result: the type of the product; None for the type of the matrices.
        memory: fraction of a tile's memory that blocks and partials may take.
        constraints: pairs of a name and a number, sorted.
        is_estimated: whether to choose by lower bounds on the cycles, which takes milliseconds.
        what: the call, for messages.
    """

    partials: type[ElementType[Any]] | None = None
    result: type[ElementType[Any]] | None = None
    memory: float = 0.6
    constraints: tuple[tuple[str, int], ...] = ()
    is_estimated: bool = False
    what: str = field(default="ops.matmul", compare=False)


@frozen
class ProductRequest:
    """A product of `groups` pairs of matrices, [m, k] by [k, n].

    Attributes:
        element_type: element type of the matrices.
        result: the element type of the products.
        partials: the element type of the partials that tiles make.
        memory: fraction of a tile's memory that blocks and partials may take.
        constraints: pairs of a name and a number, sorted.
    """

    groups: int
    m: int
    k: int
    n: int
    element_type: type[ElementType[Any]]
    result: type[ElementType[Any]]
    partials: type[ElementType[Any]]
    memory: float
    constraints: tuple[tuple[str, int], ...]

    @property
    def sizes(self) -> tuple[int, int, int]:
        """m, k and n."""
        return self.m, self.k, self.n

    @property
    def kinds(self) -> tuple[type[ElementType[Any]], type[ElementType[Any]]]:
        """The types in which the AMP unit multiplies and adds."""
        return self.element_type, self.partials

    @property
    def is_empty(self) -> bool:
        """Whether there are no multiplications."""
        return min(self.groups, *self.sizes) == 0

    def __str__(self) -> str:
        groups = f"{self.groups:,} of " if self.groups != 1 else ""
        result = f" to {self.result!r}" if self.result is not self.element_type else ""
        return (
            f"{groups}{self.m:,} x {self.k:,} times {self.k:,} x {self.n:,}, "
            f"{self.element_type!r}{result} with partials of {self.partials!r}"
        )


def checked_share(what: str, memory: object) -> float:
    """Return the fraction of a tile's memory that a plan may take; messages name `what`."""
    is_share = isinstance(memory, int | float) and not isinstance(memory, bool)
    if not is_share or not 0 < memory <= 1:  # type: ignore[operator]
        raise InvalidOption(
            f"{what}: memory must be greater than 0 and at most 1; found {clipped(memory)}",
            found="it is the share of a tile's memory that blocks and partials may take",
            fix="pass memory=0.6",
        )
    return float(memory)  # type: ignore[arg-type]


def checked_options(
    what: str,
    partials: ElementTypeLike | None,
    result: ElementTypeLike | None,
    memory: object,
    constraints: object,
) -> Options:
    """Return the options of a user after checking them; messages name the operation `what`."""
    share = checked_share(what, memory)
    if constraints is not None and not isinstance(constraints, Mapping):
        raise InvalidOption(
            f"{what}: constraints is {clipped(constraints)}",
            found=of_type(constraints),
            fix='pass constraints={"pk": 1}',
        )
    fixed = []
    for name, value in (constraints or {}).items():
        if name not in CONSTRAINTS:
            near = did_you_mean(name, CONSTRAINTS) if isinstance(name, str) else ""
            raise InvalidOption(
                f"{what}: {clipped(name)} is not a constraint{near}",
                found="; ".join(f"{each}: {about}" for each, about in CONSTRAINTS.items()),
                fix='pass constraints={"pk": 1}',
            )
        number = integer_or_none(value)
        if number is None or number < 1:
            raise InvalidOption(
                f"{what}: constraint {name} is {clipped(value)}",
                found=f"the number of {CONSTRAINTS[name]} must be a positive whole number",
                fix=f'pass constraints={{"{name}": 1}}',
            )
        fixed.append((name, number))
    return Options(
        None if partials is None else element_type(partials),
        None if result is None else element_type(result),
        share,
        tuple(sorted(fixed)),
        what=what,
    )


def request_of(
    sizes: tuple[object, object, object, object],
    element: type[ElementType[Any]],
    options: Options,
) -> ProductRequest:
    """Return the request for groups, m, k and n, or raise."""
    what = options.what
    result = options.result or element
    partials = FLOAT if options.partials is None else options.partials
    if element in (HALF, FLOAT) and result not in (element, FLOAT):
        raise ElementTypeError(
            f"{what}: the result cannot be {result!r} for matrices of {element!r}",
            found="products have the type of the matrices, or FLOAT",
            fix=f"use ops.cast(product, {result!r})",
        )
    if element not in (HALF, FLOAT) or partials not in (element, FLOAT):
        raise ElementTypeError(
            f"{what}: cannot multiply {element!r} with partials of {partials!r}",
            found="the AMP unit multiplies HALF with partials of HALF or FLOAT, FLOAT with FLOAT",
            fix="use ops.cast(x, FLOAT) for integers, exact up to 2**24",
        )
    groups, m, k, n = (integer_or_none(size) for size in sizes)
    shown = [clipped(size) for size in sizes]
    about = f"{what}: {shown[0]} of " if groups != 1 else f"{what}: "
    about += f"[{shown[1]}, {shown[2]}] by [{shown[2]}, {shown[3]}]"
    if groups is None or m is None or k is None or n is None or min(groups, m, k, n) < 0:
        raise TensorCreationError(
            about,
            found="sizes must be non-negative whole numbers",
            fix="plan_matmul(graph, m=64, k=128, n=32, type=pl.HALF)",
        )
    if groups * m * k * n > MOST_PRODUCTS:
        raise SizeOverflowError(
            about,
            found=f"it needs {groups * m * k * n:,} multiplications; the maximum is "
            f"{MOST_PRODUCTS:,}",
            fix="use smaller matrices",
        )
    if result is FLOAT:
        partials = FLOAT  # as in PopLibs
    return ProductRequest(
        groups, m, k, n, element, result, partials, options.memory, options.constraints
    )


# -- blocks ----------------------------------------------------------------------------------------
#
#     matrix [4, 6], blocks [2, 4]          flat
#     0  1  2  3 | 4  5                     0 1 2 3  6 7 8 9 | 4 5  10 11 | 12 13 14 15 ...
#     6  7  8  9 | 10 11                    block (0, 0)       (0, 1)       (1, 0)
#     -----------+------
#     12 13 14 15| 16 17
#     18 19 20 21| 22 23
#
# Blocks of matrices are stored one after another, so a block is one range of elements; blocks at
# the lower and right edges may be smaller. All blocks of a matrix come before those of the next.


@frozen
class MatrixBlocks:
    """The blocks of `groups` matrices, each of `rows` by `columns` elements.

    Attributes:
        height: rows of a block, at least 1.
        width: columns of a block, at least 1.
    """

    groups: int
    rows: int
    columns: int
    height: int
    width: int

    @property
    def down(self) -> int:
        """Number of blocks from top to bottom; at least one, which may be empty."""
        return max(1, -(-self.rows // self.height))

    @property
    def across(self) -> int:
        """Number of blocks from left to right; at least one, which may be empty."""
        return max(1, -(-self.columns // self.width))

    def all(self) -> tuple[Int64, Int64, Int64]:
        """Return the group, row and column of every block, in their order."""
        group, block = np.divmod(np.arange(self.groups * self.down * self.across), self.in_group)
        return group, *np.divmod(block, self.across)

    @property
    def in_group(self) -> int:
        """Number of blocks of a matrix."""
        return self.down * self.across

    def sizes(self, row: Int64, column: Int64) -> tuple[Int64, Int64]:
        """Return the heights and widths of blocks.

        >>> blocks = MatrixBlocks(1, 4, 6, 2, 4)
        >>> [a.tolist() for a in blocks.sizes(np.array([0, 1]), np.array([0, 1]))]
        [[2, 2], [4, 2]]
        """
        return (
            np.minimum(self.height, self.rows - row * self.height),
            np.minimum(self.width, self.columns - column * self.width),
        )

    def spans(self, group: Int64, row: Int64, column: Int64) -> tuple[Int64, Int64]:
        """Return the starts and ends of blocks in the flat order.

        >>> blocks = MatrixBlocks(2, 4, 6, 2, 4)
        >>> [a.tolist() for a in blocks.spans(*np.array([[0, 1], [0, 1], [1, 0]]))]
        [[8, 36], [12, 44]]
        """
        height, width = self.sizes(row, column)
        begin = (group * self.rows + row * self.height) * self.columns
        begin = begin + height * column * self.width
        return begin, begin + height * width

    def flat(self, matrices: Tensor) -> Tensor:
        """Return the elements of a tensor of shape (groups, rows, columns) in flat order."""
        if not matrices.num_elements:
            return matrices.flatten()
        groups, parts = self.groups, []
        for down in segments(self.rows, self.height):
            band = []
            for across in segments(self.columns, self.width):
                part = matrices[:, down.begin : down.end, across.begin : across.end]
                part = part.reshape((groups, down.count, down.part, across.count, across.part))
                part = part.dim_shuffle((0, 1, 3, 2, 4))
                band.append(part.reshape((groups, down.count, down.part * across.size)))
            parts.append(concat(band, 2).reshape((groups, down.size * self.columns)))
        return concat(parts, 1).flatten()

    def matrices(self, flat: Tensor) -> Tensor:
        """Return the tensor of shape (groups, rows, columns) whose elements are in flat order."""
        if not flat.num_elements:
            return flat.reshape((self.groups, self.rows, self.columns))
        groups, parts = self.groups, []
        flat = flat.reshape((groups, self.rows * self.columns))
        for down in segments(self.rows, self.height):
            band = []
            rows = flat[:, down.begin * self.columns : down.end * self.columns]
            rows = rows.reshape((groups, down.count, down.part * self.columns))
            for across in segments(self.columns, self.width):
                part = rows[:, :, down.part * across.begin : down.part * across.end]
                part = part.reshape((groups, down.count, across.count, down.part, across.part))
                part = part.dim_shuffle((0, 1, 3, 2, 4))
                band.append(part.reshape((groups, down.size, across.size)))
            parts.append(concat(band, 2))
        return concat(parts, 1)


# -- layouts ---------------------------------------------------------------------------------------


Three = tuple[int, int, int]


@frozen
class ProductLayout:
    """One way to divide a product among tiles, with its cost.

    Attributes:
        request: the product.
        block: rows, depth and columns of the blocks that a tile multiplies.
        grid: tiles along m, k and n.
        sets: number of grids, among which the groups are divided.
        passes: number of passes of the grid over m, and over n.
        cycles: the cycles of one pass: exchange of operands, products, and the addition of
            partials.
        held: bytes on a tile for the left block, the right block, its partials, and received
            partials; 0 for those that do not exist.
        exact: cycles of all passes by the cost model; None if they were not computed.
    """

    request: ProductRequest
    block: Three
    grid: Three
    sets: int
    passes: tuple[int, int]
    cycles: Three
    held: tuple[int, int, int, int]
    # Equal layouts share their passes and mappings, before and after they are priced.
    exact: int | None = field(default=None, compare=False)

    @property
    def tiles(self) -> int:
        """Number of tiles that take part."""
        return self.sets * self.tiles_of_set

    @property
    def tiles_of_set(self) -> int:
        """Number of tiles of a grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def num_passes(self) -> int:
        """The total number of passes."""
        return self.passes[0] * self.passes[1]

    @property
    def total_cycles(self) -> int:
        """Cycles of all passes: by the cost model, or by the formulas of the search."""
        return self.num_passes * sum(self.cycles) if self.exact is None else self.exact

    @property
    def bytes(self) -> int:
        """Bytes of the blocks and partials on a tile."""
        return sum(self.held)

    @property
    def slots(self) -> int:
        """Number of groups with a block on a tile in each pass."""
        return -(-self.request.groups // self.sets)

    @property
    def has_partials(self) -> bool:
        """Whether tiles write partials, which are added up or rounded afterwards."""
        return self.grid[1] > 1 or self.request.partials is not self.request.result

    @property
    def left(self) -> MatrixBlocks:
        """The blocks of the left matrices."""
        request = self.request
        return MatrixBlocks(request.groups, request.m, request.k, self.block[0], self.block[1])

    @property
    def right(self) -> MatrixBlocks:
        """The blocks of the right matrices."""
        request = self.request
        return MatrixBlocks(request.groups, request.k, request.n, self.block[1], self.block[2])

    @property
    def product(self) -> MatrixBlocks:
        """The blocks of the products."""
        request = self.request
        return MatrixBlocks(request.groups, request.m, request.n, self.block[0], self.block[2])

    def tile(self, group: Int64, i: Int64, j: Int64, l: Int64) -> Int64:  # noqa: E741
        """Return the tiles that multiply blocks (i, j) and (j, l) of groups.

        Tiles that share a right block are consecutive.
        """
        across = l % self.grid[2] * self.grid[1] + j
        tile: Int64 = across * self.grid[0] + i % self.grid[0]
        return tile + group % self.sets * self.tiles_of_set


# -- compute sets ----------------------------------------------------------------------------------


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
