"""Products of matrices within expressions: what is multiplied how, and what is computed behind it.

    maximum(a @ b + bias, 0)     products     slices of k, each on tiles of its own
                                 sums         adds up the slices, adds the bias, ...

An expression around a product is computed where its sums are made, by the vertices that make them.
Where k is not cut it is a map in the place of the product.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from typing import Any

from poplite.expr.build import cast
from poplite.expr.tree import Applied, Contraction, Expr, Leaf, Shape
from poplite.graph.graph import Graph
from poplite.graph.tensor.slices import Slices
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.fuse.classes import class_of
from poplite.ops.fuse.recipe import OperandPart, SumRecipe
from poplite.ops.fuse.storing import with_operands
from poplite.ops.fuse.straight import Straight, in_order, straight
from poplite.ops.matmul.layout import ProductLayout
from poplite.ops.matmul.matmul_steps import Behind, BlockParts, Multiplication
from poplite.ops.matmul.plan import layout_for


def as_matrices(node: Contraction, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    """Return the operands of a product as tensors of shape (groups, m, k) and (groups, k, n)."""
    if left.rank == 1:
        left = left.reshape((1, *left.shape))
    if right.rank == 1:
        right = right.reshape((*right.shape, 1))
    if right.rank == 2:  # all groups have the same right matrix: they are one with more rows
        rows = math.prod(left.shape[:-1])
        return left.reshape((1, rows, left.shape[-1])), right.reshape((1, *right.shape))
    one, other = node.operands
    groups = node.shape[: node.rank - (one.rank > 1) - (other.rank > 1)]
    return _of_groups(left, groups), _of_groups(right, groups)


def layout_of(graph: Graph, node: Contraction) -> tuple[Graph, ProductLayout]:
    """Return how a product is shared among tiles, and of which graph; raises where it cannot be."""
    one, other = (each.shape for each in node.operands)
    columns = other[-1] if len(other) > 1 else 1
    if len(other) > 2:
        groups = math.prod(node.shape[: node.rank - (len(one) > 1) - 1])
        sizes = groups, math.prod(one[-2:-1]), one[-1], columns
    else:  # all rows are multiplied by the same matrix
        sizes = 1, math.prod(one[:-1]), one[-1], columns
    how: Any = node.how
    return layout_for(graph, how, sizes, node.operands[0].element_type)


def made_where(layout: ProductLayout) -> str:
    """Return where a product is made."""
    pm, pk, pn = layout.grid
    sets = f"{layout.sets} sets of " if layout.sets > 1 else ""
    passes = f", {layout.num_passes} passes" if layout.num_passes > 1 else ""
    return f"on {sets}{pm} x {pk} x {pn} tiles over m, k, n{passes}"


def _of_groups(tensor: Tensor, groups: Shape) -> Tensor:
    rank = len(groups) + 2
    view = tensor.reshape((1,) * (rank - tensor.rank) + tensor.shape)
    for d, size in enumerate(groups):
        if view.shape[d] != size:
            view = view.broadcast(size, d)
    return view.reshape((math.prod(groups), *view.shape[-2:]))


def computed_behind(
    expr: Expr,
    node: Contraction,
    work: Multiplication,
    stored: Mapping[Expr, Tensor],
    kept: set[Expr],
) -> tuple[Behind, Straight]:
    """Return how vertices that add up slices of a product compute an expression of its sums."""
    total = Leaf(work.partials)
    body = straight(_replaced(expr, {node: cast(total, node.element_type)}, kept), stored)
    number = next(n for n, each in enumerate(body.tensors) if each is work.partials)
    operands = [
        (OperandPart.ELEMENTS, each) if n == number else _operand(each, node.shape, work.layout)
        for n, each in enumerate(body.tensors)
    ]
    parts = tuple(part for part, _ in operands)
    by_rows = OperandPart.ROW in parts or OperandPart.COLUMN in parts
    vertex = class_of(SumRecipe(body.body, parts, expr.element_type, number))

    def fields(parts: BlockParts) -> dict[str, object]:
        made: dict[str, object] = {
            f"x{n}": _cut(part, tensor, work.layout, parts)
            for n, (part, tensor) in enumerate(operands)
            if n != number
        }
        if by_rows:
            made["columns"] = work.layout.product.sizes(parts.i, parts.l)[1]
        return made | {f"k{n}": each.value.item() for n, each in enumerate(body.numbers)}

    return Behind(vertex, by_rows, fields), body


def _operand(tensor: Tensor, shape: Shape, layout: ProductLayout) -> tuple[OperandPart, Tensor]:
    """Return what vertices have of an operand of a product's shape, and that as a vector."""
    request = layout.request
    view = tensor.reshape((1,) * (len(shape) - tensor.rank) + tensor.shape)
    has_columns = bool(shape) and request.n == shape[-1] and request.n > 1
    along = has_columns and view.shape[-1] > 1
    down = any(size > 1 for size in (view.shape[:-1] if has_columns else view.shape))
    if not along and not down:
        return OperandPart.NUMBER, tensor.reshape((1,))
    for d, size in enumerate(shape):
        if view.shape[d] != size:
            view = view.broadcast(size, d)
    matrices = view.reshape((request.groups, request.m, request.n))
    if along and down:
        return OperandPart.ELEMENTS, layout.product.flat(matrices)
    if along:
        return OperandPart.ROW, matrices[0, 0]
    return OperandPart.COLUMN, matrices[:, :, 0].flatten()


def _cut(
    part: OperandPart, tensor: Tensor, layout: ProductLayout, parts: BlockParts
) -> Tensor | Slices:
    """Return what each vertex has of an operand."""
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


def products_behind(
    parts: Sequence[Expr], roots: Sequence[Expr], kept: set[Expr]
) -> dict[Expr, list[Contraction]]:
    """Return the products that nothing reads but the vertices of one expression of their shape.

    Args:
        parts: of the roots, and these themselves.
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
    """Return the stored expressions whose vertices read what stores a node."""
    found: set[Expr] = set()
    seen, waiting = {node}, [node]
    while waiting:
        for each in parents[waiting.pop()]:
            if each in roots or each in kept:
                found.add(each)
            if each not in kept and each not in seen and each in parents:
                seen.add(each)
                waiting.append(each)
    return found


def _replaced(expr: Expr, by: Mapping[Expr, Expr], kept: set[Expr]) -> Expr:
    """Return an expression with others in the place of some of its nodes."""
    made: dict[Expr, Expr] = dict(by)
    for node in in_order(expr, kept):
        if node in made:
            continue
        if node in kept and node is not expr:
            made[node] = node
        else:
            made[node] = with_operands(node, tuple(made[each] for each in node.operands))
    return made[expr]
