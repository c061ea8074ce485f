"""Plans of matrix products: the cheapest of all ways to share one among tiles.

The search prices all ways by formulas (`poplite.ops.products.search`); of the best eight the one is
taken that is cheapest by the cost model (`priced`). Those that cannot be, by bounds in closed form
(below, and `most_cycles`), are priced only to be shown. What a plan says becomes part of the graph:
which vertex multiplies what, and where. So an executable needs no plan.

The lower bound is the cycles that a layout takes at least by the cost model.

    of one tile   its own parts of its blocks are copied            worker call + a row for each
                  the other parts arrive, in words or in controls   sync + latency + the larger
                  its blocks are multiplied                         as exact
                  its part of the sums arrives, and is added up     likewise

Only tiles with complete blocks are considered, and the shortest way between tiles represents all;
else it is what `priced` finds on a graph. So it is near to that, never above, and takes no graph:
of several layouts few have to be priced to find the cheapest. `nearer_cycles` looks up the ways
between the tiles, and multiplies blocks at edges as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.cost.exchange.latency import has_map, places, route
from poplite.cost.model import step_costs
from poplite.cost.workers import tile_cycles
from poplite.errors import TensorCreationError
from poplite.graph.compute_sets.edge_table import edge_table
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.virtual import working_graph
from poplite.machine.target import Target
from poplite.ops.operands import check_parts
from poplite.ops.products.layout import (
    Options,
    ProductLayout,
    ProductRequest,
    Three,
    by,
    checked_options,
    held_text,
    request_of,
)
from poplite.ops.products.matmul_steps import (
    Multiplication,
    left_of,
    part_sizes,
    product_of,
    right_of,
)
from poplite.ops.products.search import cheapest_ways, most_cycles
from poplite.program.control import check_graph
from poplite.program.copy import TensorCopy
from poplite.program.recording import Recorder
from poplite.text import amount
from poplite.types import FLOAT, ElementTypeLike, element_type
from poplite.vertices.amp import amp_cycles
from poplite.vertices.partials import partials_cycles

# -- exact prices ----------------------------------------------------------------------------------
# What a layout costs by the cost model: its first pass is built on a graph of its own, and priced.
#
# Nothing is run or compiled. Passes cost as much as the first; only the last ones may be smaller.


def priced(target: Target, layout: ProductLayout) -> ProductLayout:
    """Return a layout with its exact cycles."""
    request, (height, _, width), (tall, _, wide) = layout.request, layout.block, layout.grid
    m, n = min(request.m, height * tall), min(request.n, width * wide)
    one = replace(layout, request=replace(request, m=m, n=n), passes=(1, 1))
    graph = Graph(target)
    recorder = Recorder(graph)
    work = Multiplication(
        graph, recorder, one, left_of(graph, one, "left"), right_of(graph, one, "right")
    )
    work.products(product_of(graph, one, "product"))
    return replace(layout, exact=layout.num_passes * cycles_of(graph))


def cycles_of(graph: Graph, copies: Sequence[TensorCopy] = ()) -> int:
    """Return the cycles of all compute sets of a graph, and of copies, each of them once."""
    costs = step_costs(graph, graph.compute_sets, edge_table, copies)
    cycles = 0
    for cost in costs:
        slots = [each.slots for each in cost.vertices if each.slots is not None]
        for phase in (*cost.before, *cost.after):
            cycles += phase.sync + phase.cycles.most
        cycles += tile_cycles(cost.vertices, slots, graph.target).most
    return cycles


# -- plans -----------------------------------------------------------------------------------------


class MatMulPlan:
    """How a product of matrices, or several of them, is shared among the tiles of a graph.

    `plan_matmul` makes it. `print(plan)` shows the grid of tiles, the blocks that each multiplies,
    the cycles and bytes by part, and the other ways that were considered.

    Attributes:
        graph: the graph it was made for.
        layout: the way that is taken.
    """

    def __init__(self, graph: Graph, layout: ProductLayout) -> None:
        check_parts("MatMulPlan", "plan_matmul", graph, "layout", layout, ProductLayout)
        self.graph, self.layout = graph, layout

    @property
    def runners_up(self) -> tuple[ProductLayout, ...]:
        """The layouts that came next, the best first."""
        return ranked(self.graph.target, self.layout.request)[1:]

    @property
    def grid(self) -> Three:
        """Tiles over m, k and n."""
        return self.layout.grid

    @property
    def block(self) -> Three:
        """Rows, depth and columns of the blocks that a tile multiplies."""
        return self.layout.block

    @property
    def passes(self) -> tuple[int, int]:
        """How often the grid goes over m, and over n, one time after the other."""
        return self.layout.passes

    @property
    def tiles(self) -> int:
        """How many tiles take part."""
        return self.layout.tiles

    @property
    def cycles(self) -> int:
        """Cycles by the cost model, with operands as `create_left` and `create_right` make them."""
        return self.layout.total_cycles

    @property
    def bytes(self) -> int:
        """Bytes of blocks and partials on a tile."""
        return self.layout.bytes

    def create_left(self, name: str = "left") -> Tensor:
        """Make a variable for the left matrix with the plan's mapping.

        Args:
            name: of the variable.

        Returns:
            A view of shape (m, k), with groups (groups, m, k). Each block lies on the tiles that
            use it, a part on each.

        Raises:
            TensorCreationError: for an invalid name.

        >>> import poplite as pl
        >>> graph = pl.Graph(pl.Target(tiles=4))
        >>> plan = plan_matmul(graph, m=32, k=64, n=100, type=pl.HALF)
        >>> plan.create_left("weights")
        <Tensor 'weights'.reshape((32, 64)) float16[32, 64] on 4 tiles (0-3), 4,096 B>
        """
        return self._matrix(left_of(self.graph, self.layout, name))

    def create_right(self, name: str = "right") -> Tensor:
        """Make a variable for the right matrix with the plan's mapping, as `create_left`.

        Args:
            name: of the variable.

        Returns:
            A view of shape (k, n), with groups (groups, k, n).

        Raises:
            TensorCreationError: for an invalid name.

        >>> import poplite as pl
        >>> graph = pl.Graph(pl.Target(tiles=4))
        >>> plan = plan_matmul(graph, m=32, k=64, n=100, type=pl.HALF)
        >>> plan.create_right("x")
        <Tensor 'x'.reshape((64, 100)) float16[64, 100] on 4 tiles (0-3), 12,800 B>
        """
        return self._matrix(right_of(self.graph, self.layout, name))

    def create_output(self, name: str = "product") -> Tensor:
        """Make a variable for the product where the plan makes it, for `ops.assign`.

        Args:
            name: of the variable.

        Returns:
            A view of shape (m, n), with groups (groups, m, n).

        Raises:
            TensorCreationError: for an invalid name.
        """
        flat = product_of(self.graph, self.layout, name)
        return self._matrix(self.layout.product.matrices(flat))

    def _matrix(self, matrices: Tensor) -> Tensor:
        return matrices if self.layout.request.groups != 1 else matrices[0]

    def __repr__(self) -> str:
        return f"<MatMulPlan {self.layout.request}, {amount(self.tiles, 'tile')}>"

    def __str__(self) -> str:
        layout = self.layout
        exchange, product, addition = layout.cycles
        parts = [f"exchange {exchange:,}", f"products {product:,}"]
        parts += [f"sums {addition:,}"] if layout.has_partials else []
        each = "" if layout.num_passes == 1 else f" in each of {layout.num_passes:,} passes"
        lines = [
            str(layout.request),
            f"  grid     {_grid(layout)}, {amount(layout.tiles, 'tile')}",
            f"  block    {by(layout.block[:2])} times {by(layout.block[1:])}",
            f"  cycles   {layout.total_cycles:,}; by formulas {' + '.join(parts)}{each}",
            f"  memory   {layout.bytes:,} B of a tile = {held_text(HELD, layout.held)}",
        ]
        lines += [
            f"  {'  ' if number else 'or'}       {_grid(other)}: {other.total_cycles:,} cycles, "
            f"{other.bytes:,} B"
            for number, other in enumerate(self.runners_up[:SHOWN])
        ]
        return "\n".join(lines)


SHOWN = 3
"""Runners-up that a plan shows."""

HELD = ("left", "right", "partials", "arriving partials")
"""What the memory of a tile is for."""


def _grid(layout: ProductLayout) -> str:
    sets = f"{layout.sets:,} sets of " if layout.request.groups > 1 else ""
    passes = f", {by(layout.passes)} passes over m and n" if layout.num_passes > 1 else ""
    return f"{sets}{by(layout.grid)} over m, k, n{passes}"


def plan_matmul(
    graph: Graph,
    *,
    m: int,
    k: int,
    n: int,
    groups: int = 1,
    type: ElementTypeLike = FLOAT,  # noqa: A002
    partials: ElementTypeLike | None = None,
    result: ElementTypeLike | None = None,
    memory: float = 0.6,
    constraints: Mapping[str, int] | None = None,
) -> MatMulPlan:
    """Return the cheapest way to multiply matrices of [m, k] and [k, n] on the tiles of a graph.

    Args:
        graph: where they will be multiplied; of several IPUs one is used.
        m: rows of the left matrix.
        k: columns of the left matrix, rows of the right one.
        n: columns of the right matrix.
        groups: how many such products there are, of [groups, m, k] and [groups, k, n].
        type: of the matrices, HALF or FLOAT.
        partials: the type in which tiles add up, FLOAT or that of the matrices. HALF takes less
            memory and less exchange, and is rounded after every 16 products. Left out, FLOAT.
        result: the type of the product; FLOAT of matrices of HALF keeps what partials of FLOAT
            hold. Left out, that of the matrices.
        memory: the share of a tile's memory that blocks and partials may take. Products for which
            that is too little are made in several passes.
        constraints: numbers that are fixed: "pm", "pk", "pn", tiles over m, k and n; "pg", sets of
            tiles over the groups; "split_m", "split_n", passes over m and n.

    Returns:
        The plan, for equal arguments the same. Of equally cheap ways it is the one with the fewest
        tiles, then the least memory, then the fewest cuts of k.

    Raises:
        GraphMemoryAllocationError: where no way fits, with what takes the memory.
        ElementTypeError: for types that the AMP unit does not multiply.
        TensorCreationError: for a size that is not a whole number from 0.
        SizeOverflowError: for more than 2**50 multiplications.
        InvalidOption: for a constraint of another name, and a `memory` that is not a share.
        ControlProgramError: for an invalid graph.

    >>> import poplite as pl
    >>> plan = plan_matmul(pl.Graph(pl.Target(tiles=4)), m=64, k=64, n=64)
    >>> plan.grid, plan.block, plan.passes
    ((4, 1, 1), (16, 64, 64), (1, 1))
    """
    what = "plan_matmul"
    check_graph(f"{what}(graph, m=64, k=64, n=64)", graph)
    options = checked_options(what, partials, result, memory, constraints)
    return plan_by(graph, (groups, m, k, n), type, options)


def plan_by(
    graph: Graph,
    sizes: tuple[object, object, object, object],
    element: ElementTypeLike,
    options: Options,
) -> MatMulPlan:
    """Return the cheapest way for groups, m, k and n, or refuse them by name of the call."""
    request = request_of(sizes, element_type(element), options)
    return MatMulPlan(graph, _planned_and_priced(graph.target, request))


@lru_cache(maxsize=256)
def _planned_and_priced(target: Target, request: ProductRequest) -> ProductLayout:
    """Return the best way with its exact cycles, which plans show."""
    layout = planned(target, request)
    return layout if request.is_empty or layout.exact else priced(target, layout)


@lru_cache(maxsize=256)
def planned(target: Target, request: ProductRequest) -> ProductLayout:
    """Return the best way: the cheapest by the cost model, of equal ones the first of the search.

    Ways are priced in the order of their least cycles, until no other one can be cheaper; and only
    those that may be cheaper than the first one at its most.
    """
    ways = cheapest_ways(target, request)
    if request.is_empty:
        return ways[0]
    rivals = list(range(len(ways)))
    for bound in (least_cycles, nearer_cycles):
        if len(rivals) > 1:
            bounds = sorted((bound(target, ways[k]), k) for k in rivals)
            first = bounds[0][1]
            most = most_cycles(target, ways[first]), first
            bounds = [each for each in bounds if each <= most]
            rivals = [k for _, k in bounds]
    if len(rivals) == 1:
        return ways[rivals[0]]
    best: tuple[int, int, ProductLayout] | None = None
    for least, number in bounds:
        if best is not None and (least, number) > best[:2]:
            break
        exact = priced(target, ways[number])
        found = exact.total_cycles, number, exact
        best = found if best is None or found[:2] < best[:2] else best
    assert best is not None, "a search returns a way, or raises"
    return best[2]


def estimated_plan(graph: Graph, what: str, sizes: Sizes, element: ElementTypeLike) -> MatMulPlan:
    """Return a plan by bounds alone, in milliseconds: for calls of hundreds of products."""
    request = request_of(sizes, element_type(element), Options(what=what))
    return MatMulPlan(graph, _estimated(graph.target, request))


@lru_cache(maxsize=256)
def _estimated(target: Target, request: ProductRequest) -> ProductLayout:
    """Return the way that takes the least cycles at least, of equal ones the first."""
    ways = cheapest_ways(target, request)
    return ways[0] if request.is_empty else min(ways, key=lambda way: least_cycles(target, way))


@lru_cache(maxsize=256)
def ranked(target: Target, request: ProductRequest) -> tuple[ProductLayout, ...]:
    """Return the best ways, the cheapest by the cost model first."""
    ways = cheapest_ways(target, request)
    if not request.is_empty:
        ways = [priced(target, way) for way in ways]
    return tuple(sorted(ways, key=lambda way: way.total_cycles))


def layout_for(
    graph: Graph, how: MatMulPlan | Options | None, sizes: Sizes, element: ElementTypeLike
) -> tuple[Graph, ProductLayout]:
    """Return the layout for groups, m, k and n, by a plan or by options, and whose tiles it has."""
    if isinstance(how, MatMulPlan):
        _check_plan(graph, how, sizes, element)
        return working_graph(how.graph), how.layout
    request = request_of(sizes, element_type(element), how or Options())
    return graph, planned(graph.target, request)


Sizes = tuple[int, int, int, int]
"""groups, m, k and n."""


def _check_plan(graph: Graph, plan: MatMulPlan, sizes: Sizes, element: ElementTypeLike) -> None:
    request = plan.layout.request
    is_same = (request.groups, *request.sizes) == sizes and request.element_type is element
    asked = f"m={sizes[1]}, k={sizes[2]}, n={sizes[3]}"
    asked += f", groups={sizes[0]}" if sizes[0] != 1 else ""
    if not is_same:
        raise TensorCreationError(
            f"ops.matmul: the plan is for {request.element_type!r} of "
            f"{(request.groups, *request.sizes)}, the matrices are {element!r} of {sizes}",
            found="sizes are groups, m, k and n",
            fix=f"ops.plan_matmul(graph, {asked}, type=pl.{element!r})",
        )
    if plan.graph.top_level_graph is not graph.top_level_graph:
        raise TensorCreationError(
            "ops.matmul: the plan was made for another graph",
            found=f"{plan.graph!r}, and the matrices are of {graph!r}",
            fix=f"ops.plan_matmul(graph, {asked}, type=pl.{element!r})",
        )


# -- lower bound -----------------------------------------------------------------------------------


def least_cycles(target: Target, layout: ProductLayout) -> int:
    """Return cycles of all passes that the cost model never goes below."""
    own = layout.slots * int(amp_cycles(*layout.block, *layout.request.kinds, target))
    return layout.num_passes * (own + _operands(target, layout) + _sums(target, layout))


def nearer_cycles(target: Target, layout: ProductLayout) -> int:
    """Return cycles as `least_cycles`, somewhat more of them for somewhat more work."""
    request = layout.request
    sizes = []
    for block, parts, size in zip(layout.block, layout.grid, request.sizes, strict=True):
        part = min(size, block * parts)  # of the first pass
        sizes.append(sorted({min(block, part), part % block or min(block, part)}))
    # Blocks at edges may take longer: workers wait for weights.
    height, deep, width = np.meshgrid(*sizes)
    found = amp_cycles(height, deep, width, *request.kinds, target)
    product = layout.slots * int(found.max())
    ways = _operands(target, layout, is_near=True) + _sums(target, layout, is_near=True)
    return layout.num_passes * (product + ways)


def _operands(target: Target, layout: ProductLayout, *, is_near: bool = False) -> int:
    """Return the least cycles in which tiles get the operands, and put their own parts between."""
    (height, deep, width), (tall, cuts, wide) = layout.block, layout.grid
    left = part_sizes(target, layout, height * deep, wide)
    right = part_sizes(target, layout, deep * width, tall)
    # Tiles (i, 0, l) of the first set, where blocks are complete.
    rows, columns = _complete(layout)
    i, l = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")  # noqa: E741
    tile = l * cuts * tall + i
    mate = tile ^ 1
    # Both tiles of a pair take what both want from others together, half of the words each.
    from_left = _received(left, l, mate, has_mate=(tall * cuts == 1) & (mate < wide))
    from_right = _received(right, i, mate % tall, has_mate=mate // tall == tile // tall)
    size = layout.slots * layout.request.element_type.size_bytes
    sources = np.count_nonzero(left) - (left[l] > 0) + np.count_nonzero(right) - (right[i] > 0)
    copied = [
        np.where((part > 0) & (part < whole.sum()), layout.slots * _row(target, layout, part), 0)
        for whole, part in ((left, left[l]), (right, right[i]))
    ]
    rows_copied = copied[0] + copied[1]
    call = np.where(rows_copied > 0, target.cost("worker_call"), 0)
    first: Any = 0
    if is_near:
        by_row, by_column = tile.astype(np.int64), tile.T.astype(np.int64)
        # Blocks that are not complete take part as well.
        others = np.arange(wide) * cuts * tall, np.arange(tall)
        first = np.minimum(
            _first_words(target, by_row, others[0] + i[:, :1]),
            _first_words(target, by_column, others[1] + (l[:1] * cuts * tall).T).T,
        )
    return int((rows_copied + call).max()) + _exchange(
        target, size * (from_left + from_right), sources, first
    )


def _sums(target: Target, layout: ProductLayout, *, is_near: bool = False) -> int:
    """Return the least cycles in which tiles get partials, and add them up."""
    if not layout.has_partials:
        return 0
    request, (height, _, width), (_, cuts, _) = layout.request, layout.block, layout.grid
    part = part_sizes(target, layout, height * width, cuts)
    received = layout.slots * request.partials.size_bytes * (cuts - 1) * part
    kinds = request.partials, request.result
    added = layout.slots * partials_cycles(part, cuts - 1, *kinds, target)
    first: Any = 0
    if is_near and cuts > 1:
        rows, columns = _complete(layout)
        i, l = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")  # noqa: E741
        tall = layout.grid[0]
        tiles = np.arange(cuts) * tall + (l * cuts * tall + i).reshape(-1, 1)
        first = _first_words(target, tiles, tiles).max(axis=0)
    return int(added.max()) + _exchange(target, received, (cuts - 1) * (part > 0), first)


def _received(parts: Int64, own: Int64, others: Int64, *, has_mate: Any) -> Any:
    """Return elements that tiles with parts `own` of a block receive; shared ones count half."""
    missing = parts.sum() - parts[own]
    of_mate = parts[np.minimum(others, len(parts) - 1)]
    return np.where(has_mate, (missing + of_mate) / 2, missing)


def _row(target: Target, layout: ProductLayout, elements: Int64) -> Any:
    """Return the cycles of copying a row, without the call of workers."""
    size = elements * layout.request.element_type.size_bytes
    return target.cost("copy_piece_cycles") + np.ceil(size / target.cost("memcpy_bytes_per_cycle"))


def _complete(layout: ProductLayout) -> tuple[int, int]:
    """Return how many rows and columns of tiles of the first set have complete blocks."""
    (height, _, width), (tall, _, wide) = layout.block, layout.grid
    return min(tall, layout.request.m // height), min(wide, layout.request.n // width)


def _first_words(target: Target, tiles: Int64, others: Int64) -> Any:
    """Return when tiles send or receive a first word at the earliest, beyond the shortest time.

    Tiles `[n, k]` exchange with others `[n, p]` of their row only.
    """
    if not has_map(target):
        return np.zeros(tiles.shape, np.int64)
    shape = (*tiles.shape, others.shape[1])
    one, other = (
        np.ascontiguousarray(np.broadcast_to(each, shape))
        for each in (tiles[:, :, None], others[:, None])
    )
    found = np.full(tiles.shape, np.iinfo(np.int64).max)
    for source, to in ((one, other), (other, one)):
        # A word leaves no earlier than its sender can send.
        time = np.maximum(route(target, source.ravel(), to.ravel()), 0).reshape(shape)
        time = time + int(target.cost("row_cycles")) * places(target)[to, 0]
        found = np.minimum(found, np.where(one == other, found.max(), time).min(axis=2))
    return np.where(found < np.iinfo(np.int64).max, found, 0)


def _exchange(target: Target, received: Any, sources: Int64, first: Any = 0) -> int:
    """Return the least cycles of an exchange by the bytes that tiles receive, and from how many.

    `first` is what the first word of each takes beyond the shortest time.
    """
    if not received.any():
        return 0
    start = target.cost("sync_cycles")
    if has_map(target):
        start += target.cost("setup_cycles") + target.cost("arrival_cycles")
    else:
        start += target.cost("exchange_cycles")
    words = np.ceil(received / target.exchange_bytes_per_cycle)
    work = np.maximum(words, target.cost("receive_controls") * sources)
    return int(start + np.where(received > 0, first + work, 0).max())
