"""Products of matrices within expressions: what is multiplied how, and what is computed behind it.

    maximum(a @ b + bias, 0)     products     slices of k, each on tiles of its own
                                 map          adds up the slices, adds the bias, ...

An expression around a product is computed where the sums of the product end: one vertex class, in
which the slices of k are operands. Where k is not cut it is computed in the place of the product.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from poplite.expr.build import apply, cast
from poplite.expr.tree import Applied, Contraction, Expr, Leaf, Shape
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.fuse.storing import with_operands
from poplite.ops.fuse.straight import in_order
from poplite.ops.matmul.layout import Layout
from poplite.types import FLOAT

MOST_SLICES = 48
"""Slices of k that one vertex adds up beside other operands."""


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


def _of_groups(tensor: Tensor, groups: Shape) -> Tensor:
    rank = len(groups) + 2
    view = tensor.reshape((1,) * (rank - tensor.rank) + tensor.shape)
    for d, size in enumerate(groups):
        if view.shape[d] != size:
            view = view.broadcast(size, d)
    return view.reshape((math.prod(groups), *view.shape[-2:]))


def may_add_slices(layout: Layout) -> bool:
    """Tell whether what is behind a product can add up its slices of k itself."""
    return layout.has_partials and layout.num_passes == 1 and layout.grid[1] <= MOST_SLICES


def sum_of_slices(node: Contraction, slices: Sequence[Tensor]) -> Expr:
    """Return a product as the sum of its slices of k, from the first to the last, rounded once."""
    total = cast(Leaf(slices[0]), FLOAT)
    for each in slices[1:]:
        total = apply("add", total, cast(Leaf(each), FLOAT))
    return cast(total, node.element_type)


def products_within(expr: Expr, roots: Sequence[Expr], kept: set[Expr]) -> list[Contraction]:
    """Return the products that nothing reads but the vertices of an expression of their shape."""
    if not isinstance(expr, Applied) or sum(expr is root for root in roots) != 1:
        return []
    members = in_order(expr, kept)
    own = {node for node in members if node is expr or node not in kept}
    parents: dict[Expr, list[Expr]] = {}
    for node in dict.fromkeys(each for root in roots for each in in_order(root, ())):
        for operand in node.operands:
            parents.setdefault(operand, []).append(node)
    others = {*roots} - {expr}
    return [
        node
        for node in members
        if isinstance(node, Contraction) and node.shape == expr.shape and node not in others
        if _above(node, parents) <= own
    ]


def _above(node: Expr, parents: Mapping[Expr, Sequence[Expr]]) -> set[Expr]:
    found: set[Expr] = set()
    waiting = [node]
    while waiting:
        new = [each for each in parents.get(waiting.pop(), ()) if each not in found]
        found.update(new)
        waiting += new
    return found


def replaced(expr: Expr, by: Mapping[Expr, Expr], kept: set[Expr]) -> Expr:
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
