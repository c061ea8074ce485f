"""Matrix products within expressions.

    maximum(a @ b + bias, 0)     products     slices of k, each on separate tiles
                                 sums         the slices are summed, the bias is added, ...

An expression around a product is computed where its sums are made, by the vertices that make them.
If k is not cut, the expression is a map that follows the product.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64, overlay
from poplite.expr.build import apply, cast
from poplite.expr.tree import (
    Applied,
    Contraction,
    ElementClass,
    Expr,
    Leaf,
    Reduction,
    Shape,
    reshaped,
)
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Slices, Tensor
from poplite.graph.tile_mapping import TileMapping
from poplite.machine.target import Target
from poplite.ops import products, reductions
from poplite.ops.fuse.classes import class_of
from poplite.ops.fuse.maps import Mappings, broadcast_to, map_cycles, place, sent_to, share_of
from poplite.ops.fuse.pricing import (
    Bound,
    ReadOperand,
    compared,
    copied_cycles,
    exchange_cycles,
    followed,
)
from poplite.ops.fuse.recipe import OperandPart, Straight, SumRecipe, straight
from poplite.ops.fuse.storing import all_parts, rebuilt, replaced
from poplite.types import FLOAT
from poplite.vertices.estimators import Slots
from poplite.walks import top_down


def as_matrices(node: Contraction, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    """Return the operands of a product as tensors of shape (groups, m, k) and (groups, k, n)."""
    if left.rank == 1:
        left = left.reshape((1, *left.shape))
    if right.rank == 1:
        right = right.reshape((*right.shape, 1))
    if right.rank == 2:  # all groups share the right matrix: one product with more rows
        rows = math.prod(left.shape[:-1])
        return left.reshape((1, rows, left.shape[-1])), right.reshape((1, *right.shape))
    one, other = node.operands
    groups = node.shape[: node.rank - (one.rank > 1) - (other.rank > 1)]
    return _of_groups(left, groups), _of_groups(right, groups)


def layout_of(graph: Graph, node: Contraction) -> tuple[Graph, products.ProductLayout]:
    """Return the layout of a product and the graph of its tiles; raises if no layout fits."""
    one, other = (each.shape for each in node.operands)
    columns = other[-1] if len(other) > 1 else 1
    if len(other) > 2:
        groups = math.prod(node.shape[: node.rank - (len(one) > 1) - 1])
        sizes = groups, math.prod(one[-2:-1]), one[-1], columns
    else:  # all rows are multiplied by the same matrix
        sizes = 1, math.prod(one[:-1]), one[-1], columns
    how: Any = node.how
    return products.layout_for(graph, how, sizes, node.operands[0].element_type)


def made_where(layout: products.ProductLayout) -> str:
    """Return a description of where a product is made."""
    pm, pk, pn = layout.grid
    sets = f"{layout.sets} sets of " if layout.sets > 1 else ""
    passes = f", {layout.num_passes} passes" if layout.num_passes > 1 else ""
    return f"on {sets}{pm} x {pk} x {pn} tiles over m, k, n{passes}"


def _of_groups(tensor: Tensor, groups: Shape) -> Tensor:
    view = broadcast_to(tensor, (*groups, *tensor.shape[-2:]))
    return view.reshape((math.prod(groups), *view.shape[-2:]))


def epilogue_of(
    expr: Expr,
    node: Contraction,
    work: products.Multiplication,
    stored: Mapping[Expr, Tensor],
    kept: set[Expr],
) -> tuple[products.Epilogue, Straight]:
    """Return how vertices that sum slices of a product compute an expression of the sums."""
    total = Leaf(work.partials)
    by = {each: each for each in kept if each is not expr} | {node: cast(total, node.element_type)}
    body = straight(replaced([expr], by)[0], stored)
    number = next(n for n, each in enumerate(body.tensors) if each is work.partials)
    operands = [
        (OperandPart.ELEMENTS, each) if n == number else _operand(each, node.shape, work.layout)
        for n, each in enumerate(body.tensors)
    ]
    parts = tuple(part for part, _ in operands)
    by_rows = OperandPart.ROW in parts or OperandPart.COLUMN in parts
    vertex = class_of(SumRecipe(body.body, parts, expr.element_type, number))

    def fields(parts: products.BlockParts) -> dict[str, object]:
        made: dict[str, object] = {
            f"x{n}": _cut(part, tensor, work.layout, parts)
            for n, (part, tensor) in enumerate(operands)
            if n != number
        }
        if by_rows:
            made["columns"] = work.layout.product.sizes(parts.i, parts.l)[1]
        return made | {f"k{n}": each.value.item() for n, each in enumerate(body.numbers)}

    return products.Epilogue(vertex, by_rows, fields), body


def _operand(
    tensor: Tensor, shape: Shape, layout: products.ProductLayout
) -> tuple[OperandPart, Tensor]:
    """Return the part of an operand that vertices read, and the operand as a vector."""
    request = layout.request
    view = tensor.reshape((1,) * (len(shape) - tensor.rank) + tensor.shape)
    has_columns = bool(shape) and request.n == shape[-1] and request.n > 1
    along = has_columns and view.shape[-1] > 1
    down = any(size > 1 for size in (view.shape[:-1] if has_columns else view.shape))
    if not along and not down:
        return OperandPart.NUMBER, tensor.reshape((1,))
    matrices = broadcast_to(view, shape).reshape((request.groups, request.m, request.n))
    if along and down:
        return OperandPart.ELEMENTS, layout.product.flat(matrices)
    if along:
        return OperandPart.ROW, matrices[0, 0]
    return OperandPart.COLUMN, matrices[:, :, 0].flatten()


def _cut(
    part: OperandPart, tensor: Tensor, layout: products.ProductLayout, parts: products.BlockParts
) -> Tensor | Slices:
    """Return the slice of an operand for each vertex."""
    blocks = layout.product
    if part is OperandPart.NUMBER:
        return tensor.broadcast(len(parts.low), 0)
    if part is OperandPart.ELEMENTS:
        return Slices(tensor, 0, parts.begin, parts.end)
    width = blocks.sizes(parts.i, parts.l)[1]
    if part is OperandPart.ROW:
        left = parts.l * blocks.width
        return Slices(tensor, 0, left, left + width)
    top = parts.group * blocks.rows + parts.i * blocks.height
    return Slices(tensor, 0, top + parts.low // width, top + parts.high // width)


def products_of_epilogues(
    parts: Sequence[Expr], roots: Sequence[Expr], kept: set[Expr]
) -> dict[Expr, list[Contraction]]:
    """Return the products that are read only by the vertices of one expression of the same shape.

    Args:
        parts: all parts of the roots, including the roots themselves.
        roots: the expressions that are stored.
        kept: the parts that are stored.
    """
    parents: dict[Expr, list[Expr]] = {}
    for part in parts:
        for operand in part.operands:
            parents.setdefault(operand, []).append(part)
    times = Counter(roots)
    found: dict[Expr, list[Contraction]] = {}
    for part in parts:
        if not isinstance(part, Contraction) or part in times:
            continue
        readers = _readers(part, parents, times, kept)
        reader = readers.pop()
        is_alone = not readers and isinstance(reader, Applied) and times[reader] < 2
        if is_alone and reader.shape == part.shape:
            found.setdefault(reader, []).append(part)
    return found


def _readers(
    node: Expr, parents: Mapping[Expr, Sequence[Expr]], roots: Container[Expr], kept: set[Expr]
) -> set[Expr]:
    """Return the stored expressions whose vertices read a node directly."""
    reached = top_down(
        [node], lambda each: [p for p in parents[each] if p not in kept and p in parents]
    )
    return {p for each in reached for p in parents[each] if p in roots or p in kept}


# -- products by one row or one column -------------------------------------------------------------
# Products by one row or one column, expressed as sums.
#
#     p @ q                         sum(p * q)
#     ops.matmul(row, column)       the same, of shape (1, 1); one sum for each pair
#     a @ v, v @ b                  sum(a * v, 1), sum(v[:, None] * b, 0)
#
# Each product becomes a sum if that is cheaper, taking into account how the product is used
# (`UseOfProduct`). The AMP unit would use only one of its rows or columns; a sum reads both
# operands once, where they are mapped. HALF is multiplied and added in FLOAT, and rounded once, at
# the end.


class ProductPrices(NamedTuple):
    """Cycles of a product by one row or column, for operands in their current mapping.

    Attributes:
        multiplied: cycles with the plan of the product.
        summed: cycles as a sum.
        fits: whether the sum needs no more memory than the limit for the plan.
    """

    multiplied: Bound
    summed: Bound
    fits: bool = True

    @property
    def is_sum(self) -> bool:
        """Whether the product should be computed as a sum."""
        return self.fits and self.summed.cycles < self.multiplied.cycles

    def __str__(self) -> str:
        why = "" if self.fits else ", which needs more memory than the product may take"
        return f"{self.multiplied} cycles by a plan, {self.summed} as a sum{why}"


def with_dots(roots: Sequence[Expr]) -> list[Expr]:
    """Return expressions in which products of one row by one column are replaced by sums.

    Several sums share steps and are then always cheaper than plans; a single sum is priced.
    """
    several = [each for each in all_parts(roots) if isinstance(each, Contraction | Reduction)]
    if len(several) < 2:
        return [*roots]
    return rebuilt(roots, Contraction, lambda node: as_sum(node) if is_dot(node) else node)


def is_vector_product(node: Contraction) -> bool:
    """Return whether a product is by one row or column, without options for its plan."""
    return min(_ends(node)) == 1 and _may_be_sum(node)


def is_dot(node: Contraction) -> bool:
    """Return whether a product is of one row by one column, without options for its plan."""
    return max(_ends(node)) == 1 and _may_be_sum(node)


def _ends(node: Contraction) -> tuple[int, int]:
    """Return the number of rows of a product's left operand and of columns of its right operand."""
    one, other = (each.shape for each in node.operands)
    return one[-2] if len(one) > 1 else 1, other[-1] if len(other) > 1 else 1


def _may_be_sum(node: Contraction) -> bool:
    """Return whether a product has no options for its plan, FLOAT partials, and fits a sum."""
    how, has_sums = node.how, node.operands[0].shape[-1] > 0
    if not isinstance(how, products.Options):
        return has_sums and how is None
    is_free = how.partials in (None, FLOAT) and how == products.Options(how.partials, how.result)
    return has_sums and is_free


def as_sum(node: Expr) -> Reduction:
    """Return a product by one row or column as a sum."""
    left, right = node.operands
    is_kept = left.rank > 1 and right.rank > 1
    along = -1
    if right.rank > 1 and right.shape[-1] == 1:  # a column as a row
        right = reshaped(right, (*right.shape[:-2], 1, right.shape[-2]))
    elif right.rank > 1:  # a row as a column
        left, along = reshaped(left, (*left.shape[:-2], left.shape[-1], 1)), -2
    product = apply("multiply", cast(left, FLOAT), cast(right, FLOAT))
    shape = list(product.shape)
    shape[along] = 1
    if not is_kept:
        del shape[along]
    dims = (product.rank + along,)
    made = Reduction("add", product, dims, is_kept, tuple(shape), node.element_type)
    made.location, made.label, made.origin = node.location, node.label, node.origin
    return made


class UseOfProduct(NamedTuple):
    """How a product is used: stored as it is, or as an operand of a further computation.

    Attributes:
        mappings: the mappings of tensors.
        product: a placeholder for the product, without a mapping.
        out: the tensor for the result, if it exists already.
        element: the element type of the result.
        body: the computation on the product; None if the product is stored unchanged.
    """

    mappings: Mappings
    product: Tensor
    out: Tensor | None
    element: ElementClass
    body: Straight | None

    @classmethod
    def of(
        cls,
        mappings: Mappings,
        node: Contraction,
        out: Tensor | None,
        behind: Expr | None,
        stored: Mapping[Expr, Tensor],
    ) -> UseOfProduct:
        """Return the use of a product, including the computation that follows it."""
        if out is not None and (out.contains_aliases() or not mappings.is_complete(out)):
            out = None
        made = Graph(mappings.graph.target).add_variable(node.element_type, node.shape, "product")
        if behind is None:
            return cls(mappings, made, out, node.element_type, None)
        body = straight(behind, {**stored, node: made})
        return cls(mappings, made, out, behind.element_type, body)

    @property
    def key(self) -> object:
        """Everything that the price depends on, except the product; None if not cacheable."""
        read = [*self._read, *([] if self.out is None else [self.out])]
        key = self.mappings.key(*read)
        return None if key is None else (key, self.out is None, self.body and self.body.body)

    @property
    def _read(self) -> list[Tensor]:
        """The tensors that are read in addition to the product."""
        tensors = [] if self.body is None else self.body.tensors
        return [each for each in tensors if each is not self.product]

    def after_sum(self, mapping: TileMapping) -> float:
        """Return the cycles of the computation that follows a sum with the given mapping."""
        return 0 if self.body is None else self._map(self._trial(mapping), self.body, self.out)

    def after_plan(self, layout: products.ProductLayout) -> float:
        """Return the cycles of the computation after a planned product, or fused with it."""
        body, target = self.body, self.mappings.graph.target
        by_rows = any(each.num_elements > 1 for each in self._read)
        joins = layout.has_partials and not (by_rows and products.rows_cost_more(target, layout))
        trial = self._trial(products.mapping_of_product(target, layout, by_rows and joins))
        in_place = self.product if self.element is self.product.element_type else None
        if body is not None and not joins:
            return self._map(trial, body, in_place if self.out is None else self.out)
        cycles = 0.0
        if body is not None:
            cycles = self._map(trial, body, self.product)
            cycles -= target.workers * target.cost("unary_entry")
            if layout.grid[1] > 1 and sent_to(trial, self.product, self._read).cycles:
                cycles -= exchange_cycles(target, 0, 0)
        if self.out is not None and self.out.shape == self.product.shape:
            cycles += sent_to(trial, self.out, [self.product]).cycles
        return cycles

    def _map(self, trial: Mappings, body: Straight, out: Tensor | None) -> float:
        """Return the cycles of the computation as a map in a separate step."""
        if out is None:
            out = trial.graph.add_variable(self.element, self.product.shape, "out")
            place(trial, out, out.shape, body.tensors)
        shares = [share_of(trial, each, out) for each in body.tensors]
        target, mapping = trial.graph.target, trial.of(out)
        computed = map_cycles(body, out.shape, self.element, mapping, target, shares)
        return sent_to(trial, out, body.tensors).cycles + computed

    def _trial(self, mapping: TileMapping) -> Mappings:
        """Return mappings in which the product has the given mapping."""
        trial = Mappings(self.product.graph)
        trial.suppose(self.product, mapping)
        for each in (*self._read, *([] if self.out is None else [self.out])):
            trial.suppose(each, self.mappings.of(each))
        return trial


def prices_of(
    use: UseOfProduct,
    node: Contraction,
    fused: reductions.FusedReduction,
    left: Tensor,
    right: Tensor,
) -> ProductPrices:
    """Return the cycles of a product by one row or column, by its plan and as a sum."""
    mappings = use.mappings
    _, layout = layout_of(mappings.graph, node)
    sent = sent_to_sums(mappings, node, fused, left, right)
    sums = (each.and_also(sent) for each in fused.bounds())
    products = bounds_of_product(mappings, layout, *as_matrices(node, left, right))
    prices = ProductPrices(
        *compared(
            followed(products, lambda: use.after_plan(layout)),
            followed(sums, lambda: use.after_sum(fused.result_mapping())),
        )
    )
    if prices.is_sum:
        share = layout.request.memory
        fits = _fits_as_sum(mappings, node, fused, share, left, right)
        prices = prices._replace(fits=fits)
    return prices


def _fits_as_sum(
    mappings: Mappings,
    node: Contraction,
    fused: reductions.FusedReduction,
    share: float,
    left: Tensor,
    right: Tensor,
) -> bool:
    """Return whether the memory that a sum needs is within the limit for a plan."""
    whole = mappings.graph.target.tile_memory_bytes
    if not fused.is_in_one:
        return fused.stored_bytes() <= share * whole
    matrix, other = put_together_for_sums(mappings, node, left, right)
    return other <= share * (whole - matrix)


def sent_to_sums(
    mappings: Mappings,
    node: Contraction,
    fused: reductions.FusedReduction,
    left: Tensor,
    right: Tensor,
) -> float:
    """Return the cycles of sending each tile the factors for its elements of a matrix."""
    if left.num_elements == right.num_elements:  # the vector is sent element by element
        return 0 if fused.is_spread else sent_to(mappings, fused.main, fused.body.tensors).cycles
    is_down = _ends(node)[1] > 1  # a row by a matrix, whose columns are traversed
    vector, matrix = (left, right) if is_down else (right, left)
    mapping, target = mappings.of(matrix), mappings.graph.target
    if len(mapping.tiles) == 1 and mappings.of(vector).tiles.tolist() == mapping.tiles.tolist():
        return 0
    most, count = int(mapping.elements_per_tile.max()), vector.num_elements
    read = min(-(-most // matrix.shape[-1]) + 1 if is_down else most, count)
    pieces = math.ceil(read * len(mappings.of(vector).begin) / count)
    return exchange_cycles(target, read * vector.element_type.size_bytes, pieces)


def put_together_for_sums(
    mappings: Mappings, node: Contraction, left: Tensor, right: Tensor
) -> tuple[int, int]:
    """Return the bytes of a matrix on its fullest tile, and an upper bound for the vector there.

    The vector is the row or column that multiplies the matrix, repeated for the vertices. Workers
    that process rows have one of two numbers of rows, and all workers with the same number read the
    same copy of the tile's own elements; elements from other tiles are read as they arrive.
    """
    is_down = _ends(node)[1] > 1
    vector, matrix = (left, right) if is_down else (right, left)
    target, most = mappings.graph.target, int(mappings.of(matrix).elements_per_tile.max())
    repeated: float = most
    if not is_down:
        own = int(mappings.of(vector).elements_per_tile.max()) / vector.num_elements
        repeated = min(most, 2 * -(-most // target.workers) + matrix.shape[-1]) * own
    return most * matrix.element_type.size_bytes, int(repeated * vector.element_type.size_bytes)


# -- products whose operands are mapped elsewhere --------------------------------------------------
# The cycles of a matrix product whose operands are not mapped as its plan expects.
#
#     block (i, j) of the left matrix, for tile t     the part on tile t itself is copied
#                                                     the other parts are received
#
# Products and sums are those of the plan (`poplite.ops.products.matmul`).


class Arrivals(NamedTuple):
    """The cost of gathering an operand, by tile.

    Attributes:
        received: float64[tiles], bytes from other tiles.
        pieces: float64[tiles], the number of contiguous pieces that arrive.
        sent: float64[tiles], bytes for other tiles; data that several tiles receive is sent once.
        copied: float64[tiles], cycles of copying the tile's own part into place.
    """

    received: Slots
    pieces: Slots
    sent: Slots
    copied: Slots


def bounds_of_product(
    mappings: Mappings, layout: products.ProductLayout, left: Tensor, right: Tensor
) -> Iterator[Bound]:
    """Yield bounds on the cycles of a product of [groups, m, k] and [groups, k, n] as mapped."""
    (_, product, sums), passes = layout.cycles, layout.num_passes
    yield Bound(passes * (product + sums))
    target, (tall, _, wide) = mappings.graph.target, layout.grid
    group, i, j = (numbers[:, None] for numbers in layout.left.all())
    of_left = layout.tile(group, i, j, np.arange(wide))
    group, j, l = (numbers[:, None] for numbers in layout.right.all())  # noqa: E741
    of_right = layout.tile(group, np.arange(tall), j, l)
    one, other = (
        _arrivals(mappings, blocks, matrices, tiles)
        for blocks, matrices, tiles in (
            (layout.left, left, of_left),
            (layout.right, right, of_right),
        )
    )
    copied = one.copied + other.copied
    cycles = passes * product + float(copied.max())
    if copied.any():
        cycles += passes * target.cost("worker_call")
    received, pieces, sent = (
        (one.received + other.received) / passes,
        (one.pieces + other.pieces) / passes,
        (one.sent + other.sent) / passes,
    )
    if received.any():  # a tile that only sends does not wait
        multiplies = np.zeros(target.tiles, np.bool_)
        multiplies[of_left] = True
        cycles += passes * exchange_cycles(target, received, pieces, np.where(multiplies, sent, 0))
        cycles = max(cycles, passes * exchange_cycles(target, 0, 0, sent))
    yield Bound(float(cycles + passes * sums), is_exact=True)


def _arrivals(
    mappings: Mappings, blocks: products.MatrixBlocks, matrices: Tensor, tiles: Int64
) -> Arrivals:
    """Return the cost of gathering blocks of matrices on `tiles`, int64[blocks, copies]."""
    target, size = mappings.graph.target, matrices.element_type.size_bytes
    begin, end = blocks.spans(*blocks.all())
    whole, copies = (end - begin)[:, None], tiles.shape[1]
    low, high, tile = mappings.of(blocks.flat(matrices)).in_order()
    source, block, low, high = overlay(low, high, np.append(begin, end[-1]))
    is_own = tile[source][:, None] == tiles[block]
    elements = (high - low)[:, None] * is_own
    place = (block[:, None] * copies + np.arange(copies)).ravel()
    own, pieces = (
        np.bincount(place, values.ravel(), tiles.size).astype(np.float64).reshape(tiles.shape)
        for values in (elements, ~is_own)
    )
    leaves = (high - low) * (is_own.sum(1) < copies)
    width = blocks.sizes(*blocks.all()[1:])[1][:, None]
    copied = _copied(target, matrices, own, whole, width)

    def by_tile(tiles: Int64, values: Slots) -> Slots:
        return np.bincount(tiles.ravel(), values.ravel(), target.tiles).astype(np.float64)

    return Arrivals(
        by_tile(tiles, (whole - own) * size),
        by_tile(tiles, pieces),
        by_tile(tile[source], leaves * float(size)),
        by_tile(tiles, copied),
    )


def _copied(target: Target, matrices: Tensor, own: Slots, whole: Int64, width: Int64) -> Slots:
    """Return the cycles of copying the tiles' own parts of blocks into place."""
    digits = matrices.view.flat_digits()
    length, stride = digits[-1] if digits else (1, 1)
    is_one = (width == matrices.shape[2]) & (length == matrices.num_elements) & (stride == 1)
    runs = np.where(is_one, 1, np.ceil(own / width))
    operand = ReadOperand(((0, 0), (0, stride)), matrices.element_type.size_bytes)
    is_put = (own > 0) & ((own < whole) | (runs > 1))
    copied = copied_cycles(target, np.maximum(runs, 1), np.maximum(own, 1), operand)
    return np.where(is_put, copied, 0)
