"""Running sums or products along a dimension.

A row is divided into parts, which are processed in three steps:

    totals    TotalSum         each part of a row except the last
    before    CumulativeSum    the totals of a row
    running   CumulativeSum    each part

The parts, and therefore the bits of a result, depend only on the size of the dimension.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from poplite.errors import TensorCreationError, checked_truth
from poplite.expr.operand import Operand
from poplite.expr.tree import Expr
from poplite.graph.graph import Graph
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tile_mapping import TileMapping
from poplite.machine.target import Target
from poplite.ops.fuse.maps import Mappings, grain_of, variable
from poplite.ops.operands import (
    NUMBERS,
    called,
    check_placed,
    check_type,
    graph_of,
    operand,
    ordered_bits,
    steps_for,
)
from poplite.ops.planning import received_cycles
from poplite.ops.record import map as stored, zero
from poplite.ops.sorting import ORDERED, Rows, pieces, ranges
from poplite.program import Execute, Sequence
from poplite.program.recording import RecordedSteps as Block
from poplite.types import FLOAT, HALF, UNSIGNED_INT
from poplite.vertices.scans import (
    CumulativeProduct,
    CumulativeSum,
    TotalProduct,
    TotalSum,
    part_length,
    running_slots,
)
from poplite.vertices.slices import PackUnique, TakeRanks, pack_slots, rank_slots


def cumulative_sum(
    x: Operand,
    dim: int | None = -1,
    *,
    exclusive: bool = False,
    name: str = "cumulative_sum",
    program: Sequence | None = None,
) -> Tensor:
    """Record steps that sum the elements along a dimension, up to and including each element.

    A row of n elements is divided into parts of max(64, ceil(sqrt(n))) elements. Elements are added
    in order within each part; the totals of parts are added in order; and the total before a part
    is added to the sums within it. So the bits of a float sum depend only on the size of the
    dimension, not on tiles: `poplite.vertices.scans.running_reference` computes the same bits in
    NumPy. HALF is added in FLOAT and rounded once; integers wrap.

    Args:
        x: numbers of any type except QUARTER, of any shape. An expression is stored first.
        dim: the dimension; negative ones count from the last. None means all elements in row-major
            order, with a result of rank 1.
        exclusive: whether each sum excludes the element itself; the first sum is then 0.
        name: the name of the new variable and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        A new tensor with the shape and type of x, whose parts are spread over the tiles.

    Raises:
        ElementTypeError: for an x of an unsupported element type.
        TensorIndexError: for a dimension that x does not have.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (4,), "x", mapping="linear", initial_value=[3, 9, 4, 1])
    >>> y = cumulative_sum(x, program=program)
    >>> before = cumulative_sum(x, exclusive=True, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist(), engine.read(before).tolist()
    ([3, 12, 16, 17], [0, 3, 12, 16])
    """
    vertices = TotalSum, CumulativeSum
    return _running("ops.cumulative_sum", vertices, x, dim, exclusive, name, program)


def cumulative_product(
    x: Operand,
    dim: int | None = -1,
    *,
    exclusive: bool = False,
    name: str = "cumulative_product",
    program: Sequence | None = None,
) -> Tensor:
    """Record steps that multiply the elements along a dimension, up to and including each of them.

    The order is that of `cumulative_sum`; exclusive products start with 1.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (4,), "x", mapping="linear", initial_value=[3, 9, 4, 1])
    >>> y = cumulative_product(x, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [3, 27, 108, 108]
    """
    vertices = TotalProduct, CumulativeProduct
    return _running("ops.cumulative_product", vertices, x, dim, exclusive, name, program)


def _running(
    what: str,
    vertices: tuple[type[TotalSum[Any, Any]], type[CumulativeSum[Any, Any]]],
    x: Operand,
    dim: int | None,
    exclusive: bool,
    name: str,
    program: Sequence | None,
) -> Tensor:
    total_of, running_of = vertices
    rows = Rows(what, x, dim, NUMBERS, name, program)
    excludes = checked_truth(exclusive, f"{what}: exclusive")
    rows.begin()
    length = part_length(rows.size)
    parts = -(-rows.size // length)
    row, part = np.divmod(np.arange(rows.count * parts), max(parts, 1))
    begin = part * length
    size = np.minimum(begin + length, rows.size) - begin
    tile = np.arange(len(row)) * rows.graph.target.tiles // max(len(row), 1)
    out = rows.variable(rows.element_type, "", tile, size)
    wide = FLOAT if rows.element_type is HALF else rows.element_type
    inner = max(parts - 1, 0)  # parts of a row that are not the last
    ones = np.ones(rows.count * inner, np.int64)
    before = rows.variable(wide, "/before", tile[part > 0], ones)
    if len(ones):
        totals = rows.variable(wide, "/parts", tile[part < inner], ones)
        mine = part < inner
        rows.execute(
            "/totals",
            total_of,
            tile[mine],
            x=ranges(rows.rows, (row * rows.size + begin)[mine], size[mine]),
            total=totals,
        )
        shape = (rows.count, inner)
        rows.execute(
            "/before",
            running_of,
            tile[part == 0],
            x=totals.reshape(shape),
            before=before[:0].reshape((1, 0)).broadcast(rows.count, 0),
            out=before.reshape(shape),
            excludes=False,
        )
    if len(row):
        is_later = (part > 0).astype(np.int64)
        rows.execute(
            "/running",
            running_of,
            tile,
            x=ranges(rows.rows, row * rows.size + begin, size),
            before=ranges(before, np.cumsum(is_later) - is_later, is_later),
            out=ranges(out, np.cumsum(size) - size, size),
            excludes=excludes,
        )
    result = rows.back(out.reshape((rows.count, rows.size)))
    rows.finish([rows.x], [result])
    return result


# -- distinct elements -----------------------------------------------------------------------------


SHARE = 4
"""A part of the elements may take 1 / SHARE of a tile's memory."""


class Unique(NamedTuple):
    """The results of `unique_sorted`.

    Attributes:
        values: the distinct elements, padded with zeros to the size of x.
        length: the number of distinct elements, known when the program has run: UNSIGNED_INT[].
    """

    values: Tensor
    length: Tensor


def unique_sorted(
    x: Operand, *, name: str = "unique_sorted", program: Sequence | None = None
) -> Unique:
    """Record steps that pack the elements that differ from the previous one.

    In a sorted tensor, these are the distinct elements. 0.0 and -0.0 are equal (the first of them
    is kept), and so are any two NaNs.

    Args:
        x: FLOAT, HALF, or integers of up to 32 bits; rank 1. An expression is stored first.
        name: the name of the new variables and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        Values and length.

    Raises:
        ElementTypeError: for an x of any other element type.
        TensorCreationError: for an x whose rank is not 1.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=1)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (5,), "x", mapping="linear", initial_value=[1, 1, 2, 5, 5])
    >>> values, length = unique_sorted(x, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(values).tolist(), int(engine.read(length))
    ([1, 2, 5, 0, 0], 3)
    """
    what = "ops.unique_sorted"
    given = operand(what, x, program)
    check_type(what, given, ORDERED)
    check_placed(given)
    if given.rank != 1:
        raise TensorCreationError(
            f"{what}: {called(given)} has rank {given.rank}",
            found=f"shape {given.shape}",
            fix="pass x.flatten(), sorted",
        )
    graph = graph_of(what, given, program)
    place = steps_for(what, graph, name, program)
    if isinstance(given, Expr):
        given = stored(given, name=f"{name}/x", program=program)
    steps = Block(graph, name)
    found = _packed(graph, given, name, steps)
    place.add(steps)
    return found


def _packed(graph: Graph, x: Tensor, name: str, steps: Sequence) -> Unique:
    """Record steps in which blocks pack their new elements, and each tile takes its part."""
    values = variable(Mappings(graph), x.element_type, x.shape, name, [x])
    zero(values, name=f"{name}/zero", program=steps)
    none = graph.add_constant(UNSIGNED_INT, (1,), 0, f"{name}/none", mapping=0)
    if not x.num_elements:
        return Unique(values, none[0])
    size = x.element_type.size_bytes
    block = -(-x.num_elements // best_blocks(graph.target, x.num_elements, size))
    front, counts = _fronts(graph, x, block, name, steps)
    ends = cumulative_sum(counts, name=f"{name}/ranks", program=steps)
    starts, blocks = concat([none, ends]), ends.num_elements
    at_once = max(1, graph.target.tile_memory_bytes // SHARE // (4 + block * size))
    for low in range(0, blocks, at_once):
        high = min(low + at_once, blocks)
        part = front[low * block : high * block]
        _take(graph, part, starts[low : high + 1], values, block, f"{name}/take", steps)
    return Unique(values, ends[blocks - 1])


def _fronts(
    graph: Graph, x: Tensor, block: int, name: str, steps: Sequence
) -> tuple[Tensor, Tensor]:
    """Record the move of new elements to the front of blocks; return the blocks and the counts."""
    begin = np.arange(0, x.num_elements, block)
    end = np.minimum(begin + block, x.num_elements)
    tiles = graph.target.tiles
    tile = np.arange(len(begin)) * tiles // len(begin)
    front = graph.add_variable(
        x.element_type, x.shape, f"{name}/front", mapping=TileMapping(tiles, tile, end - begin)
    )
    ones = TileMapping(tiles, tile, np.ones(len(begin), np.int64))
    counts = graph.add_variable(UNSIGNED_INT, (len(begin),), f"{name}/counts", mapping=ones)
    pack = graph.add_compute_set(f"{name}/pack")
    graph.add_vertices(
        pack,
        PackUnique,
        tile=tile,
        x=ranges(x, begin, end - begin),
        before=ranges(x, np.maximum(begin - 1, 0), np.minimum(begin, 1)),
        out=ranges(front, begin, end - begin),
        count=counts,
    )
    steps.add(Execute(pack))
    return front, counts


def _take(
    graph: Graph,
    front: Tensor,
    starts: Tensor,
    values: Tensor,
    block: int,
    name: str,
    steps: Sequence,
) -> None:
    """Record steps in which tiles copy their elements from the blocks that have them."""
    size, workers = values.num_elements, graph.target.workers
    mapping, grain = graph.tile_mapping(values), grain_of(values.element_type)
    found = pieces(mapping, size, workers, grain)
    bits, out, count = ordered_bits(front), ordered_bits(values), len(found.tile)
    take = graph.add_compute_set(name)
    graph.add_vertices(
        take,
        TakeRanks,
        tile=found.tile,
        x=bits.expand([0]).broadcast(count, 0),
        starts=starts.expand([0]).broadcast(count, 0),
        out=ranges(out, found.begin, found.end - found.begin),
        first=found.begin,
        size=block,
    )
    steps.add(Execute(take))


@lru_cache(maxsize=256)
def best_blocks(target: Target, size: int, element_bytes: int) -> int:
    """Return the cheapest number of blocks in which elements are packed first.

    Args:
        target: the machine.
        size: the number of elements, at least one.
        element_bytes: the size of an element.
    """
    workers, tiles = target.workers, target.tiles
    most = max(1, min(size, tiles * workers, target.tile_memory_bytes // SHARE // 8))

    def cycles(blocks: int) -> float:
        """Return the modelled cycles of packing, of ranks, and of receiving and copying."""
        turns = -(-blocks // (tiles * workers))
        part = min(part_length(blocks), blocks)
        runs = pack_slots(-(-size // blocks)) * turns + running_slots(part) * (1 + (blocks > part))
        share = -(-size // (tiles * workers))
        runs += rank_slots(share, blocks, -(-share * blocks // size))
        received = (size * element_bytes + 4 * blocks) / target.cost("pair_tiles")
        return workers * runs + received_cycles(target, received, 3 if blocks <= part else 5)

    sizes = {1 << k for k in range(most.bit_length())} | {most, min(most, tiles)}
    return min(sorted(sizes), key=cycles)
