"""Partitioners: distribution of tensors over tiles, and of work over workers.

Every cut into pieces of nearly equal size uses one formula: part `i` of `parts` begins at
`i * n // parts`. The sizes of parts differ by at most one, nothing is left over, and part `i` does
not depend on the others::

    10 elements in 4 parts      0 1 | 2 3 4 | 5 6 | 7 8 9
    cut(i, 10, 4)               0     2       5     7       10

    map_linearly        0 0 0 1 1 1 2 2 2    in order
    map_round_robin     0 1 2 3 0 1 2 3 0    one grain per tile in turn
    map_by_weights      0 0 0 0 1 1 2 3 3    about equal weight per tile
    map_like            the mapping of another tensor

`map_blocks` puts blocks of a plane on tiles; `grid_blocks` returns the slices that vertices are
connected to::

    for tile, (rows, cols) in enumerate(map_blocks(graph, image, (32, 46))):
        graph.add_vertex(cs, Blur, tile=tile, out=image[rows, cols], ...)

`halo_blocks` cuts them among the workers of each tile, and adds each worker's block with its halo::

    for tile, own, around in halo_blocks(image.shape, (32, 46), workers=6):
        graph.add_vertex(cs, Blur, tile=tile, old=image[around], new=blurred[own])

`split_among_workers` returns, for each tile, the intervals of each worker, cut by
`split_regions`. `detect_innermost_grouping` returns the number of elements of the innermost
dimension that stay together.

Source: PopLibs `mapTensorLinearly` for the meaning of grain and minimum; `poputil::splitRegions`
for how regions are split; `poputil::detectInnermostGrouping`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import index as whole_number
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64, Interval
from poplite.errors import (
    ElementTypeError,
    InvalidTileMapping,
    SizeOverflowError,
    TensorCreationError,
    checked_integer,
    checked_items,
)
from poplite.graph.graph import Graph
from poplite.graph.space import MAX_ADDRESS
from poplite.graph.tensor.arguments import described, dimension, no_tensor, one_of
from poplite.graph.tensor.tensor import Tensor, check_own
from poplite.graph.tensor.tensor_mapping import paint_linearly
from poplite.graph.tile_mapping import TileMapping
from poplite.graph.variable_mapping import Linear
from poplite.machine.target import MOST_TILES
from poplite.text import amount, clipped, integer_or_none, items_or_none, of_type
from poplite.types import unmasked
from poplite.view import Storage, View, runs

Block = tuple[slice, slice]


class HaloBlock(NamedTuple):
    """A part of a block, for one worker, and the halo around it.

    Attributes:
        tile: the tile of the block.
        own: slices of its rows and columns.
        around: slices of its rows and columns with the halo.
    """

    tile: int
    own: Block
    around: Block


def cut(i: int, n: int, parts: int) -> int:
    """Return the first element of part `i` when `n` elements are cut into `parts` parts.

    Args:
        i: number of the part; `parts` for the end of the last part.
        n: number of elements.
        parts: number of parts, at least 1.

    Raises:
        TensorCreationError: when `parts` is less than 1.

    >>> [cut(i, 10, 4) for i in range(5)]
    [0, 2, 5, 7, 10]
    """
    i, n = checked_integer(i, "cut: i"), checked_integer(n, "cut: n")
    if checked_integer(parts, "cut: parts") < 1:
        raise TensorCreationError(
            f"cut: {amount(n, 'element')} into {parts} parts, but at least 1 part is needed",
            found=f"cut({i}, {n}, {parts})",
            fix=f"cut({i}, {n}, 1)",
        )
    return i * n // parts


def spread(
    num_elements: int, tiles: int, *, grain: int = 1, min_elements: int = 1
) -> tuple[Int64, Int64, Int64]:
    """Cut elements evenly and in order over tiles.

    Args:
        num_elements: number of elements.
        tiles: number of tiles.
        grain: number of elements that stay together; cuts fall on its multiples.
        min_elements: minimum number of elements on a tile, if there are enough; few
            elements then use fewer tiles.

    Returns:
        `(begin, end, tile)`, int64[used tiles].

    Raises:
        ElementTypeError: for anything but whole numbers.
        TensorCreationError: for tiles, a grain or a minimum less than 1.
        SizeOverflowError: for more elements than a graph has addresses, or more tiles than a
            target may have.

    >>> [a.tolist() for a in spread(10, 3, grain=2)]
    [[0, 2, 6], [2, 6, 10], [0, 1, 2]]
    """
    checked_integer(num_elements, "spread: num_elements", 0)
    if num_elements >= MAX_ADDRESS:
        raise SizeOverflowError(
            f"spread: num_elements is {clipped(num_elements)}",
            fix=f"pass fewer than {MAX_ADDRESS:,}, the number of addresses of a graph",
        )
    for name, count in (("tiles", tiles), ("grain", grain), ("min_elements", min_elements)):
        checked_integer(count, f"spread: {name}", 1)
    _check_most_tiles("spread", tiles)
    linear = Linear.over(num_elements, tiles, grain=grain, min_elements=min_elements)
    breaks, numbers = linear.pieces()
    return breaks[:-1], breaks[1:], numbers


def map_linearly(graph: Graph, tensor: Tensor, *, grain: int = 1, min_elements: int = 1) -> None:
    """Spread the flattened elements of a tensor evenly and in order over all tiles.

    Args:
        graph: the tensor's graph, or a virtual graph of it.
        tensor: any view.
        grain: number of elements that stay together on a tile.
        min_elements: minimum number of elements on a tile; small tensors then use fewer tiles.

    Raises:
        TensorCreationError: when `grain` or `min_elements` is not a positive integer.
        ElementTypeError: for anything but a graph and a tensor.

    >>> from poplite.graph import Graph
    >>> from poplite.machine.target import Target
    >>> graph = Graph(Target(tiles=4))
    >>> x = graph.add_variable("float32", (16,), "x")
    >>> map_linearly(graph, x, min_elements=8)
    >>> graph.tile_mapping(x)
    <TileMapping 16 elements, 2 tiles, max 8 min 8, 2 intervals>
    """
    check_pair("map_linearly", graph, tensor)
    check_counts(tensor, grain=grain, min_elements=min_elements)
    check_own(graph, tensor, "map_linearly")
    least = whole_number(min_elements)
    step = whole_number(grain)
    paint_linearly(graph.space, graph._tiles, tensor.view, grain=step, min_elements=least)


def map_blocks(
    graph: Graph, tensor: Tensor, grid: tuple[int, int] | None = None, *, halo: int = 0
) -> list[Block]:
    """Put each block of a grid over the first two dimensions on a tile of its own.

    Args:
        graph: the tensor's graph.
        tensor: a tensor of rank 2 or more; further dimensions stay together.
        grid: blocks down and across; by default nearly square blocks over all tiles.
        halo: rows and columns at each edge that are outside the grid; they are mapped with the
            adjacent block.

    Returns:
        The slices of every block, without the halo, row by row of the grid; block `t` is on
        tile `t`.

    Raises:
        TensorCreationError: for a tensor of rank 0 or 1, or a grid or a halo that does not fit.
        ElementTypeError: for anything but a graph and a tensor, or a halo that is not a number.
        InvalidTileMapping: when the grid has more blocks than the graph has tiles.

    >>> from poplite.graph import Graph
    >>> from poplite.machine.target import Target
    >>> graph = Graph(Target(tiles=6))
    >>> image = graph.add_variable("float32", (4, 6), "image")
    >>> map_blocks(graph, image, (2, 3))[5]
    (slice(2, 4, None), slice(4, 6, None))
    >>> map_blocks(graph, image, (1, 2), halo=1)
    [(slice(1, 3, None), slice(1, 3, None)), (slice(1, 3, None), slice(3, 5, None))]
    >>> graph.tile_mapping(image).elements_per_tile.tolist()
    [12, 12, 0, 0, 0, 0]
    """
    check_pair("map_blocks", graph, tensor)
    if tensor.rank < 2:
        raise TensorCreationError(
            f"'{tensor.name}': rank {tensor.rank}, but blocks need rank 2 or more",
            found=f"shape {tensor.shape}",
            fix=f"map_linearly(graph, {tensor.name})",
        )
    plane = tensor.shape[:2]
    inner = _inside("map_blocks", plane, halo)
    if grid is None:
        grid = near_square_grid(*inner, graph.target.tiles)
    blocks = [_shifted(block, halo) for block in grid_blocks(inner, grid)]
    for tile, block in enumerate(blocks):
        graph.set_tile_mapping(tensor[_to_edges(block, plane, halo)], tile)
    return blocks


def grid_blocks(shape: tuple[int, int], grid: tuple[int, int]) -> list[Block]:
    """Cut a plane into a grid of blocks.

    Args:
        shape: rows and columns of the plane.
        grid: blocks down and across.

    Returns:
        Slices of rows and columns, row by row of the grid.

    Raises:
        TensorCreationError: when a block would be empty, the grid is not positive, or an
            argument is not a pair of integers.
        SizeOverflowError: for more blocks than a target may have tiles.

    >>> grid_blocks((3, 4), (1, 2))
    [(slice(0, 3, None), slice(0, 2, None)), (slice(0, 3, None), slice(2, 4, None))]
    """
    _check_two("shape", shape)
    _check_two("grid", grid)
    if not all(1 <= parts <= max(extent, 1) for parts, extent in zip(grid, shape, strict=True)):
        raise TensorCreationError(
            f"a grid of {grid[0]} x {grid[1]} blocks over {shape[0]} x {shape[1]} elements "
            "leaves blocks empty",
            found=f"at most {max(shape[0], 1)} blocks down and {max(shape[1], 1)} across fit",
            fix=f"near_square_grid({shape[0]}, {shape[1]}, tiles)",
        )
    _check_most_tiles("grid_blocks", math.prod(grid))
    down, across = (
        [slice(cut(i, n, parts), cut(i + 1, n, parts)) for i in range(parts)]
        for n, parts in zip(shape, grid, strict=True)
    )
    return [(rows, cols) for rows in down for cols in across]


def halo_blocks(
    shape: Sequence[int], grid: tuple[int, int], *, halo: int = 1, workers: int = 1
) -> list[HaloBlock]:
    """Cut the interior of a plane into blocks, and divide the rows of each block among workers.

    A vertex that computes a cell from its neighbours writes its own cells in one tensor, and reads
    those cells and a halo around them in another. Cells within `halo` of the edge of the plane
    are only read.

    Args:
        shape: shape of a tensor including the edge, such as `x.shape`; it has two or more
            dimensions, and the first two are cut.
        grid: blocks down and across, as in `map_blocks(graph, x, grid, halo=halo)`, which puts
            block `t` on tile `t`.
        halo: number of cells that a vertex reads beyond its own, on every side.
        workers: number of parts that the rows of a block are cut into, such as
            `graph.target.workers`; a block with fewer rows is cut into single rows.

    Returns:
        `(tile, own, around)` for each part, block by block: its tile, the slices of its rows and
        columns, and the slices including the halo, all relative to `shape`.

    Raises:
        TensorCreationError: for a shape of fewer than two dimensions, for a grid or a halo that
            does not fit, or for fewer than one worker.
        ElementTypeError: for a halo or a number of workers that is not a whole number.

    >>> for tile, own, around in halo_blocks((6, 4), (1, 1), workers=2):
    ...     print(tile, own, around)
    0 (slice(1, 3, None), slice(1, 3, None)) (slice(0, 4, None), slice(0, 4, None))
    0 (slice(3, 5, None), slice(1, 3, None)) (slice(2, 6, None), slice(0, 4, None))
    """
    plane = tuple(shape)[:2] if isinstance(shape, Sequence) else shape
    _check_two("shape", plane)
    checked_integer(workers, "halo_blocks: workers", 1)
    found = []
    for tile, block in enumerate(grid_blocks(_inside("halo_blocks", plane, halo), grid)):
        rows, cols = _shifted(block, halo)
        height = rows.stop - rows.start
        parts = min(workers, height)
        for part in range(parts):
            first, last = (rows.start + cut(part + k, height, parts) for k in (0, 1))
            own = slice(first, last), cols
            around = slice(first - halo, last + halo), slice(cols.start - halo, cols.stop + halo)
            found.append(HaloBlock(tile, own, around))
    return found


def near_square_grid(
    rows: int, cols: int, tiles: int, *, workers: int | None = None
) -> tuple[int, int]:
    """Return the grid that uses the most tiles with nearly square blocks.

    A nearly square block is at most twice as long as wide. Among grids with the same number of
    tiles, the one with the smallest average half perimeter of a block (its halo) is chosen.

    With `workers`, the rows of each block are shared among these, as `halo_blocks` does, and whole
    rows seldom share evenly: of 14 rows two of six workers have 3, the others 2. The grid then is
    the one in which the worker with the most cells has the fewest, also where it uses fewer tiles.

    Args:
        rows: rows of the plane.
        cols: columns of the plane.
        tiles: maximum number of tiles to use, at least 1.
        workers: number of workers that share the rows of a block, such as
            `graph.target.workers`; None for blocks that are not shared by rows.

    Returns:
        Blocks down and across; their product is at most `tiles`, and no block is empty.

    Raises:
        TensorCreationError: when `tiles` or `workers` is less than 1.
        SizeOverflowError: for more tiles than a target may have.
        ElementTypeError: for anything but whole numbers.

    >>> near_square_grid(427, 640, 1472), near_square_grid(3, 3, 1472)
    ((32, 46), (3, 3))
    >>> near_square_grid(427, 640, 1472, workers=6)  # 2 rows of 16 cells a worker, not 3 of 14
    (36, 40)
    """
    for name, number in (("rows", rows), ("cols", cols), ("tiles", tiles)):
        checked_integer(number, f"near_square_grid: {name}")
    if workers is not None:
        checked_integer(workers, "near_square_grid: workers", 1)
    if tiles < 1:
        raise TensorCreationError(
            f"near_square_grid: {tiles} tiles, but at least 1 is needed",
            found=f"near_square_grid({rows}, {cols}, {tiles})",
            fix="near_square_grid(rows, cols, graph.target.tiles)",
        )
    _check_most_tiles("near_square_grid", tiles)
    if max(rows, cols) >= 2**63:
        raise SizeOverflowError(
            f"near_square_grid: a plane of {clipped(rows)} x {clipped(cols)} is too large",
            fix="use fewer than 2**63 rows and columns",
        )

    def rank(grid: tuple[int, int]) -> tuple[bool, int, int, float]:
        height, width = rows / grid[0], cols / grid[1]
        long = max(height, width) > 2 * min(height, width)
        slowest = 0
        if workers is not None:
            slowest = -(-math.ceil(height) // workers) * math.ceil(width)
        return long, slowest, -math.prod(grid), height + width

    rows, cols = max(rows, 1), max(cols, 1)
    candidates = [(r, min(cols, tiles // r)) for r in range(1, min(rows, tiles) + 1)]
    return min(candidates, key=rank)


def _check_most_tiles(call: str, tiles: int) -> None:
    """Refuse more tiles than a target may have."""
    if tiles > MOST_TILES:
        raise SizeOverflowError(
            f"{call}: tiles is {clipped(tiles)}",
            found=f"a target has at most {MOST_TILES:,}",
            fix="pass graph.target.tiles",
        )


def detect_innermost_grouping(graph: Graph, tensor: Tensor) -> int:
    """Return the size of the groups of elements in the innermost dimension.

    Fast vertices process channels in contiguous groups, such as the 16 channels that a tile
    convolves at once. The groups of a tensor follow from its view and its tiles: their size is
    the greatest common divisor of the lengths of two ranges of the first row, the first
    contiguous one and the longest one on a single tile, if it divides the row.

    Args:
        graph: the tensor's graph, or a virtual graph of it.
        tensor: a tensor of rank 1 or more, whose first row has tiles.

    Returns:
        Number of elements in a group; 1 without grouping.

    Raises:
        ElementTypeError: for anything but a graph and a tensor.
        TensorCreationError: for a tensor of rank 0.
        InvalidTileMapping: when elements of the first row have no tile.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x = graph.add_variable(pl.FLOAT, (4, 2, 16), "x", mapping=0)
    >>> detect_innermost_grouping(graph, x.dim_shuffle((1, 0, 2)).reshape((2, 64)))
    16
    >>> detect_innermost_grouping(graph, x.dim_shuffle((1, 0, 2)).reshape((8, 16)).T)
    1
    """
    check_pair("detect_innermost_grouping", graph, tensor)
    if tensor.rank == 0:
        raise TensorCreationError(
            "detect_innermost_grouping: a tensor of rank 0 has no innermost dimension",
            found=described(tensor),
            fix="pass t.reshape((1,))",
        )
    if tensor.num_elements == 0:
        return 1
    row = tensor.index([0] * (tensor.rank - 1))
    mapping = graph.tile_mapping(row)
    group = math.gcd(_first_run(row.view), int(np.max(mapping.end - mapping.begin)))
    return group if row.num_elements % group == 0 else 1


def check_pair(what: str, graph: object, tensor: object) -> None:
    """Refuse anything but a graph and a tensor, in this order."""
    if not isinstance(tensor, Tensor):
        raise no_tensor(what, tensor, f"{what}(graph, tensor)")
    if not isinstance(graph, Graph):
        raise ElementTypeError(
            f"{what}: {clipped(graph)} is not a graph",
            found=f"its type is {type(graph).__name__}",
            fix=f"{what}(graph, tensor)",
        )


def check_counts(tensor: Tensor, **counts: object) -> None:
    """Refuse anything but positive integers."""
    if not all(map(is_count, counts.values())):
        said = " and ".join(f"{name}={clipped(value)}" for name, value in counts.items())
        raise TensorCreationError(
            f"'{tensor.name}': {said}; "
            + ("both" if len(counts) > 1 else "it")
            + " must be at least 1",
            found=f"'{tensor.name}' has {amount(tensor.num_elements, 'element')}",
            fix=", ".join(f"{name}=1" for name in counts),
        )


def is_count(value: object) -> bool:
    """Return whether a value is a positive integer."""
    try:
        return whole_number(value) >= 1  # type: ignore[arg-type]  # checked by this very call
    except TypeError:
        return False


def _check_two(what: str, pair: object) -> None:
    """Refuse anything but two integers."""
    try:
        numbers = [whole_number(part) for part in pair]  # type: ignore[attr-defined]
    except TypeError:
        numbers = []
    if len(numbers) != 2:
        raise TensorCreationError(
            f"{what} {clipped(pair)} is not a pair of whole numbers",
            found=f"its type is {type(pair).__name__}",
            fix="pass rows and columns: (2, 3)",
        )


def _inside(what: str, plane: tuple[int, ...], halo: int) -> tuple[int, int]:
    """Return the numbers of rows and columns inside the halo of a plane."""
    rows, cols = plane
    width = 2 * checked_integer(halo, f"{what}: halo", 0)
    if width and min(rows, cols) <= width:
        raise TensorCreationError(
            f"{what}: a halo of {amount(halo, 'cell')} leaves nothing of {rows} x {cols} cells",
            found=f"halo={halo} takes {width} rows and {width} columns",
            fix=f"pass at least {width + 1} x {width + 1} cells, or a smaller halo",
        )
    return rows - width, cols - width


def _shifted(block: Block, halo: int) -> Block:
    """Return a block of the interior in coordinates of the plane."""
    rows, cols = (slice(each.start + halo, each.stop + halo) for each in block)
    return rows, cols


def _to_edges(block: Block, plane: Sequence[int], halo: int) -> Block:
    """Return a block extended by the adjacent cells of the halo."""
    rows, cols = (
        slice(
            0 if each.start == halo else each.start,
            length if each.stop == length - halo else each.stop,
        )
        for each, length in zip(block, plane, strict=True)
    )
    return rows, cols


def _first_run(row: View) -> int:
    """Return the number of elements in the first region of a 1-D view."""
    if isinstance(row.space, Storage):
        digits = row.flat_digits()
        return digits[-1][0] if digits and digits[-1][1] == 1 else 1
    size = row.num_elements
    length = 1
    while True:
        length = min(2 * length, size)
        first = int(runs(row.slice(0, length, 0))[1][0])
        if first < length or length == size:
            return first


def map_round_robin(graph: Graph, tensor: Tensor, *, grain: int = 1, first: int = 0) -> None:
    """Distribute the flattened elements of a tensor over all tiles, round robin.

    Work that grows or shrinks along a tensor is spread evenly in this way, but neighbours are on
    different tiles.

    Args:
        graph: the tensor's graph, or a virtual graph of it.
        tensor: any view.
        grain: number of consecutive elements on a tile.
        first: the tile that gets the first elements.

    Raises:
        TensorCreationError: when `grain` is not a positive integer.
        InvalidTileMapping: for a first tile that the graph does not have.
        ElementTypeError: for anything but a graph and a tensor.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=3))
    >>> x = graph.add_variable(pl.FLOAT, (10,), "x")
    >>> map_round_robin(graph, x, grain=2)
    >>> graph.tile_mapping(x)[0]
    [Interval(begin=0, end=2), Interval(begin=6, end=8)]
    """
    check_pair("map_round_robin", graph, tensor)
    check_counts(tensor, grain=grain)
    number = integer_or_none(first)
    if number is None or not 0 <= number < graph.target.tiles:
        raise InvalidTileMapping(
            f"map_round_robin: first={clipped(first)}, but the graph has "
            f"{amount(graph.target.tiles, 'tile')}",
            fix=f"pass first from 0 to {graph.target.tiles - 1}",
        )
    size, step = tensor.num_elements, whole_number(grain)
    begin = np.arange(0, size, step)
    tile = (number + np.arange(len(begin))) % graph.target.tiles
    length = np.minimum(begin + step, size) - begin
    graph.set_tile_mapping(tensor, TileMapping(graph.target.tiles, tile, length))


def map_by_weights(
    graph: Graph,
    tensor: Tensor,
    weights: npt.ArrayLike,
    *,
    dim: int | None = None,
    axis: int | None = None,
) -> None:
    """Spread the indices of a dimension over tiles in order, with about equal weight per tile.

    Args:
        graph: the tensor's graph, or a virtual graph of it.
        tensor: any view of rank 1 or more.
        weights: the weight of each index of the dimension, not negative, such as the number of
            elements in each row of a sparse matrix. No tile gets more than its share plus the
            largest weight. If all weights are 0, indices are spread evenly.
        dim: the dimension, by default 0; negative numbers count from the end.
        axis: NumPy's name for `dim`.

    Raises:
        TensorCreationError: for invalid weights.
        TensorIndexError: when the tensor has no such dimension.
        ElementTypeError: for anything but a graph and a tensor.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> x = graph.add_variable(pl.FLOAT, (4, 10), "x")
    >>> map_by_weights(graph, x, [5, 1, 1, 3])
    >>> graph.tile_mapping(x)[0]
    [Interval(begin=0, end=10)]
    """
    check_pair("map_by_weights", graph, tensor)
    given = one_of("dim", dim, axis)
    number = dimension(0 if given is None else given, tensor)
    size, weight = tensor.shape[number], _weights(weights)
    if weight.shape != (size,) or not (np.isfinite(weight) & (weight >= 0)).all():
        raise TensorCreationError(
            f"map_by_weights: weights of shape {weight.shape} for the {size} indices of dimension "
            f"{number} of '{tensor.name}'",
            found=f"the smallest weight is {weight.min(initial=np.inf)}",
            fix=f"pass {size} finite numbers of at least 0",
        )
    if not weight.any():
        weight = np.ones(size)
    middle = np.cumsum(weight) - weight / 2  # the middle of an index decides its tile
    tiles = graph.target.tiles
    tile = np.minimum((middle * tiles / weight.sum()).astype(np.int64), tiles - 1)
    each = tensor.num_elements // max(size, 1)
    rows = tensor.dim_roll(number, 0)
    graph.set_tile_mapping(rows, TileMapping(tiles, tile, np.full(size, each)))


def _weights(weights: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return weights as numbers; an empty array if they are not numbers."""
    unmasked(weights, "map_by_weights")
    try:
        given = np.asarray(weights)
        if given.dtype.kind == "c":
            raise TypeError("complex numbers have no order")
        return np.asarray(given, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise TensorCreationError(
            f"map_by_weights: weights are {clipped(weights)}, not numbers",
            found=str(error),
            fix="pass numbers of at least 0, one for each index",
        ) from error


def map_like(graph: Graph, tensor: Tensor, other: Tensor) -> None:
    """Put each element of a tensor on the tile of the corresponding element of another tensor.

    Args:
        graph: the graph of both, or a virtual graph of it.
        tensor: any view.
        other: a tensor of the same shape, or of a shape that NumPy's rules broadcast to it; every
            element needs a tile.

    Raises:
        TensorCreationError: for an `other` of any other shape.
        InvalidTileMapping: for elements without a tile.
        ElementTypeError: for anything but a graph and tensors.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> x = graph.add_variable(pl.FLOAT, (2, 3), "x", mapping="linear")
    >>> y = graph.add_variable(pl.HALF, (2, 3), "y")
    >>> map_like(graph, y, x)
    >>> graph.tile_mapping(y) == graph.tile_mapping(x)
    True
    """
    check_pair("map_like", graph, tensor)
    check_pair("map_like", graph, other)
    sizes = (1,) * (tensor.rank - other.rank) + other.shape
    fits = len(sizes) == tensor.rank and all(
        size in (1, wide) for size, wide in zip(sizes, tensor.shape, strict=True)
    )
    if not fits:
        raise TensorCreationError(
            f"map_like: '{other.name}' has shape {other.shape}, '{tensor.name}' {tensor.shape}",
            fix=f"pass a tensor of shape {tensor.shape}, or one that broadcasts to it",
        )
    wide = other.reshape(sizes)
    for dim, size in enumerate(tensor.shape):
        if sizes[dim] != size:
            wide = wide.broadcast(size, dim)
    graph.set_tile_mapping(tensor, graph.tile_mapping(wide))


def split_regions(
    regions: Iterable[tuple[int, int]], parts: int, *, grain: int = 1, min_elements: int = 1
) -> list[list[Interval]]:
    """Cut intervals into parts of nearly equal size, in order.

    Args:
        regions: intervals of elements, `(begin, end)`.
        parts: the maximum number of parts.
        grain: number of elements that stay together, counted along all intervals.
        min_elements: minimum number of elements of a part, if there are enough.

    Returns:
        The intervals of each part; no part is empty.

    Raises:
        TensorCreationError: when `parts`, `grain` or `min_elements` is not a positive integer.

    >>> split_regions([(0, 5), (8, 11)], 2)
    [[Interval(begin=0, end=4)], [Interval(begin=4, end=5), Interval(begin=8, end=11)]]
    """
    counts = {"parts": parts, "grain": grain, "min_elements": min_elements}
    if not all(map(is_count, counts.values())):
        raise TensorCreationError(
            "split_regions: " + ", ".join(f"{name}={clipped(n)}" for name, n in counts.items()),
            fix="pass positive whole numbers",
        )
    checked = checked_regions("split_regions", regions)
    size = sum(end - begin for begin, end in checked)
    _, high, _ = spread(size, parts, grain=grain, min_elements=min_elements)
    return cut_regions(checked, high)


def checked_regions(what: str, regions: object) -> list[tuple[int, int]]:
    """Return the intervals of elements that are not empty; refuse anything but intervals.

    >>> checked_regions("split_regions", [(0, 5), (8, 8)])
    [(0, 5)]
    """
    fix = "pass a list of intervals, such as [(0, 4), (6, 8)]"
    listed = [items_or_none(each) for each in checked_items(regions, f"{what}: regions", fix)]
    pairs = [[integer_or_none(number) for number in each or ()] for each in listed]
    if any(len(pair) != 2 or None in pair for pair in pairs):
        raise ElementTypeError(
            f"{what}: regions is {clipped(regions)}", found=of_type(regions), fix=fix
        )
    return [(begin, end) for begin, end in pairs if end > begin]  # type: ignore[operator, misc]


def cut_regions(regions: Sequence[tuple[int, int]], ends: Int64) -> list[list[Interval]]:
    """Return intervals cut into parts; `ends` are the parts' ends, counted along all intervals."""
    stops = np.cumsum([end - begin for begin, end in regions], dtype=np.int64)
    found: list[list[Interval]] = [[] for _ in ends]
    for begin, end in pairwise(sorted({0, *stops.tolist(), *ends.tolist()})):
        source = int(np.searchsorted(stops, begin, "right"))
        shift = regions[source][1] - int(stops[source])
        part = int(np.searchsorted(ends, begin, "right"))
        found[part].append(Interval(begin + shift, end + shift))
    return found


class WorkerParts(NamedTuple):
    """The result of `split_among_workers`: one item for each worker that has elements.

    Attributes:
        tile: int64[n], the tile of each worker.
        worker: int64[n], its number on the tile, from 0.
        intervals: its intervals over the flattened tensor.
    """

    tile: Int64
    worker: Int64
    intervals: list[list[Interval]]


def split_among_workers(
    graph: Graph, tensor: Tensor, *, grain: int = 1, min_elements: int = 1
) -> WorkerParts:
    """Cut the elements of a tensor on each tile into parts of nearly equal size, one per worker.

    The parts can be passed to `graph.add_vertices`::

        parts = pl.split_among_workers(graph, x, grain=2)
        graph.add_vertices(work, Scale, tile=parts.tile, x=x.flatten().slices(parts.intervals))

    Args:
        graph: the tensor's graph, or a virtual graph of it.
        tensor: any view, all of whose elements have tiles.
        grain: number of elements that stay together.
        min_elements: minimum number of elements per worker; small tensors then use fewer workers.

    Raises:
        TensorCreationError: when `grain` or `min_elements` is not a positive integer.
        InvalidTileMapping: for elements without a tile.
        ElementTypeError: for anything but a graph and a tensor.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2, workers=3))
    >>> x = graph.add_variable(pl.FLOAT, (12,), "x", mapping="linear")
    >>> parts = split_among_workers(graph, x, grain=2)
    >>> parts.tile.tolist(), parts.worker.tolist(), parts.intervals[1]
    ([0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [Interval(begin=2, end=4)])
    """
    check_pair("split_among_workers", graph, tensor)
    mapping = graph.tile_mapping(tensor)
    tile: list[int] = []
    worker: list[int] = []
    intervals: list[list[Interval]] = []
    workers = graph.target.workers
    for number in mapping.tiles.tolist():
        parts = split_regions(mapping[number], workers, grain=grain, min_elements=min_elements)
        tile += [number] * len(parts)
        worker += range(len(parts))
        intervals += parts
    return WorkerParts(np.array(tile, np.int64), np.array(worker, np.int64), intervals)
