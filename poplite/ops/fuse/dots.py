"""Products by one row or one column, as the sums that they are.

    p @ q                         sum(p * q)
    ops.matmul(row, column)       the same, of shape (1, 1); of several pairs, as many sums
    a @ v, v @ b                  sum(a * v, 1), sum(v[:, None] * b, 0), where that is cheaper

The unit that multiplies matrices would be used for one of its rows or columns; a sum reads both
operands once, where they lie. HALF is multiplied and added in FLOAT, and rounded once, at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from poplite.expr.build import apply, cast
from poplite.expr.tree import Contraction, Expr, Reduction
from poplite.expr.viewed import reshaped
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.fuse.placement import Mappings
from poplite.ops.fuse.storing import rebuilt
from poplite.ops.matmul.layout import Options
from poplite.types import FLOAT


class ProductPrices(NamedTuple):
    """Cycles of a product by one row or column, with its operands where they lie.

    Attributes:
        summed: as a sum.
        multiplied: as its plan has it.
    """

    summed: int
    multiplied: int

    @property
    def is_sum(self) -> bool:
        """Whether the product is to be a sum."""
        return self.summed < self.multiplied

    def __str__(self) -> str:
        return f"{self.multiplied:,} cycles by a plan, {self.summed:,} as a sum"


def with_dots(roots: Sequence[Expr]) -> list[Expr]:
    """Return expressions with sums in the place of products of one row by one column."""
    return rebuilt(roots, lambda node: as_sum(node) if is_dot(node) else node)


def is_vector_product(node: Contraction) -> bool:
    """Return whether a product is by one row or column, and nothing is asked of its plan."""
    return min(_ends(node)) == 1 and _may_be_sum(node)


def is_dot(node: Expr) -> bool:
    """Return whether a product is by one row and one column, and nothing is asked of its plan."""
    return isinstance(node, Contraction) and max(_ends(node)) == 1 and _may_be_sum(node)


def _ends(node: Contraction) -> tuple[int, int]:
    """Return the rows of the left operand of a product, and the columns of the right one."""
    one, other = (each.shape for each in node.operands)
    return one[-2] if len(one) > 1 else 1, other[-1] if len(other) > 1 else 1


def _may_be_sum(node: Contraction) -> bool:
    """Return whether a plan may be any, with partial sums of FLOAT, and there are such sums."""
    how, has_sums = node.how, node.operands[0].shape[-1] > 0
    if not isinstance(how, Options):
        return has_sums and how is None
    is_free = how.partials in (None, FLOAT) and how == Options(how.partials, how.result)
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


def sent_to_sums(mappings: Mappings, node: Contraction, left: Tensor, right: Tensor) -> float:
    """Return the cycles of sending tiles what their elements of a matrix are multiplied by."""
    is_down = _ends(node)[1] > 1  # a row by a matrix, down whose columns it goes
    vector, matrix = (left, right) if is_down else (right, left)
    lies, target = mappings.of(matrix), mappings.graph.target
    if len(lies.tiles) == 1 and mappings.of(vector).tiles.tolist() == lies.tiles.tolist():
        return 0
    most = int(lies.elements_per_tile.max())
    read = -(-most // matrix.shape[-1]) + 1 if is_down else most
    received = min(read, vector.num_elements) * vector.element_type.size_bytes
    start = target.cost("sync_cycles") + target.cost("latency_cycles")
    return float(start + received / target.exchange_bytes_per_cycle)
