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
each grid makes every `sets`-th product.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

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
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.planning import segments
from poplite.text import clipped, integer_or_none, of_type
from poplite.types import FLOAT, HALF, ElementType, ElementTypeLike, element_type

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
                found=f"the number of {CONSTRAINTS[name]} must be a whole number from 1",
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
            found="sizes must be whole numbers from 0",
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
    exact: int | None = None

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
