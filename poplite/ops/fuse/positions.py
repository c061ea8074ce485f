"""Positions beside tensors that are reduced, as two short tensors instead of one of their size.

iota(10,000,000)     high: 0, 3163, 6326, ...    each repeated 3163 times, as a view
low:  0, 1, ... 3162        repeated 3162 times, as a view
high + low, computed where it is read

Positions by themselves are stored: each tile makes its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from poplite.expr.build import apply
from poplite.expr.operations import kind_of
from poplite.expr.tree import Expr, IotaExpr, Leaf, Reduction, new_parts
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.fuse.filling import EXACT
from poplite.ops.fuse.placement import Mappings, place
from poplite.ops.fuse.storing import with_operands
from poplite.types import FLOAT

MOST_STORED = 256
"""Positions that are stored one by one."""


def split_positions(mappings: Mappings, roots: Sequence[Expr]) -> list[Expr]:
    """Return expressions whose reductions of tensors read long positions as two short ones."""
    seen: set[Expr] = set()
    nodes = (node for root in roots for node in new_parts(root, seen))
    if not any(isinstance(node, IotaExpr) and _is_long(node) for node in nodes):
        return list(roots)
    made: dict[tuple[Expr, bool], Expr] = {}
    waiting = [(root, False, False) for root in reversed(roots)]
    while waiting:
        node, is_reduced, is_done = waiting.pop()
        if (node, is_reduced) in made:
            continue
        below = is_reduced or (isinstance(node, Reduction) and _has_tensor(node.operands[0]))
        if not is_done:
            waiting.append((node, is_reduced, True))
            waiting += [(each, below, False) for each in reversed(node.operands)]
            continue
        operands = tuple(made[each, below] for each in node.operands)
        if is_reduced and isinstance(node, IotaExpr) and _is_long(node):
            made[node, is_reduced] = _split(mappings, node)
        else:
            made[node, is_reduced] = with_operands(node, operands)
    return [made[root, False] for root in roots]


def _has_tensor(operand: Expr) -> bool:
    """Return whether what is reduced lies as one of its tensors."""
    return any(tensor.shape == operand.shape for tensor in operand.leaves)


def _is_long(positions: IotaExpr) -> bool:
    """Return whether sums of two are exact, and there are many."""
    last = abs(positions.start) + positions.num_elements
    is_exact = positions.element_type is FLOAT and last <= EXACT
    is_exact |= kind_of(positions.element_type) == "int"
    return positions.num_elements > MOST_STORED and is_exact


def _split(mappings: Mappings, positions: IotaExpr) -> Expr:
    size, dtype = positions.num_elements, positions.element_type.dtype
    columns = math.isqrt(size - 1) + 1
    rows = -(-size // columns)

    def stored(name: str, length: int, start: int, step: int) -> Tensor:
        values = (step * np.arange(length)).astype(dtype) + dtype.type(start)
        made = mappings.graph.add_constant(positions.element_type, (length,), values, name)
        place(mappings, made, (length,), [])
        return made

    high = stored("positions/high", rows, 0, columns).reshape((rows, 1)).broadcast(columns, 1)
    low = stored("positions/low", columns, positions.start, 1).reshape((1, columns))
    parts = [
        each.flatten()[:size].reshape(positions.shape) for each in (high, low.broadcast(rows, 0))
    ]
    return apply("add", *map(Leaf, parts))
