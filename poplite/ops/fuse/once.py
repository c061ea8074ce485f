"""Reductions along what is repeated: each element is read once.

    max(x.broadcast(n, 0), 0)      max(x)
    sum(x.broadcast(n, 0), 0)      sum(x) * n, of HALF in FLOAT and rounded once
    prod(x.broadcast(n, 0), 0)     prod(x) ** n, by squares
    argmax(x.broadcast(n, 0), 0)   argmax(x), the first of equal ones

So neither time nor memory grows with n. A dimension counts as repeated, or a part of one, where all
operands of the expression are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import compress
from typing import NamedTuple

import numpy as np

from poplite.arrays.digits import digits_of
from poplite.expr.build import apply, cast, power_by_squares
from poplite.expr.tree import Applied, Expr, Leaf, Number, Reduction
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.fuse.storing import rebuilt
from poplite.ops.fuse.straight import in_order
from poplite.types import FLOAT, HALF


class DimensionParts(NamedTuple):
    """The parts of a dimension, the outermost first.

    Attributes:
        sizes: of each.
        are_read: which have different elements; the others repeat them.
    """

    sizes: tuple[int, ...]
    are_read: tuple[bool, ...]

    @property
    def size(self) -> int:
        """Elements that differ."""
        return math.prod(compress(self.sizes, self.are_read))

    @property
    def times(self) -> int:
        """How often each is repeated."""
        return math.prod(self.sizes) // self.size

    @property
    def step(self) -> int:
        """From the first of one element to that of the next; 0 where that is not always as far."""
        read = [n for n, is_read in enumerate(self.are_read) if is_read]
        if read and len(read) <= read[-1] - read[0]:
            return 0
        return math.prod(self.sizes[read[-1] + 1 :]) if read else 1


def read_once(roots: Sequence[Expr]) -> list[Expr]:
    """Return expressions whose reductions read no element again along what they reduce."""
    return rebuilt(roots, lambda node: _once(node) if isinstance(node, Reduction) else node)


def distinct(tensor: Tensor) -> Tensor:
    """Return a view of what a tensor shows, without what it repeats along dimensions.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (2, 3), "x")
    >>> distinct(x.broadcast(9, 0)) == x
    <same elements: True (not ops.equal)>
    """
    for d in range(tensor.rank):
        parts = _parts(tensor, d)
        if parts.size and parts.times > 1:
            tensor = _first(tensor, d, parts)
    return tensor


def _parts(tensor: Tensor, d: int) -> DimensionParts:
    digits = digits_of(tensor.shape[d], tensor.view.dims[d])
    return DimensionParts(tuple([n for n, _ in digits]), tuple([step != 0 for _, step in digits]))


def _first(tensor: Tensor, d: int, parts: DimensionParts) -> Tensor:
    """Return what a dimension of a tensor repeats, once."""
    before, after = tensor.shape[:d], tensor.shape[d + 1 :]
    split = tensor.reshape((*before, *parts.sizes, *after))
    for k, is_read in enumerate(parts.are_read):
        if not is_read:
            split = split.slice(0, 1, d + k)
    return split.reshape((*before, parts.size, *after))


def _once(node: Reduction) -> Expr:
    """Return a reduction, or what it comes to where elements are repeated."""
    operand = node.operands[0]
    if not operand.num_elements or node.how.startswith("arg"):  # positions of repeated ones differ
        return node
    leaves, dims = _leaves(operand), [each - operand.rank for each in node.dims or ()]
    along = _repeated(leaves, dims)
    if not along:
        return node
    element, times = node.element_type, math.prod(parts.times for parts in along.values())
    read = _reading(operand, leaves, along)
    if element is HALF and node.how in ("add", "mul"):
        read = cast(read, FLOAT)
    kind = read.element_type
    made: Expr = Reduction(node.how, read, node.dims, node.keepdims, node.shape, kind)
    if node.how == "add":
        value = np.float64(times) if kind.is_floating_point else np.uint64(times % 2**64)
        made = apply("multiply", made, Number(value.astype(kind.dtype), kind))
    elif node.how == "mul":
        made = power_by_squares(made, times)
    made = cast(made, element)
    made.location, made.label, made.origin = node.location, node.label, node.origin
    return made


def first_of_repeated(operand: Expr, dims: Sequence[int]) -> tuple[Expr, list[int]]:
    """Return an expression that has the elements of another along dimensions once.

    With it the steps, for each of the dimensions, from one element to the next where they were. A
    dimension whose elements were not at even distances has all of them.
    """
    leaves, rank = _leaves(operand), operand.rank
    along = _repeated(leaves, [d - rank for d in dims]) if operand.num_elements else {}
    along = {d: parts for d, parts in along.items() if parts.step}
    read = _reading(operand, leaves, along) if along else operand
    return read, [along[d - rank].step if d - rank in along else 1 for d in dims]


def _repeated(leaves: Sequence[Expr], dims: Sequence[int]) -> dict[int, DimensionParts]:
    """Return the parts of those dimensions, counted from the end, that repeat elements."""
    found = {d: _common(leaves, d) for d in dims}
    return {d: parts for d, parts in found.items() if parts.times > 1}


def _leaves(root: Expr) -> list[Expr]:
    """Return what an expression reads, and what is stored before it."""
    found: list[Expr] = []
    seen, waiting = {root}, [root]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, Applied):
            found.append(node)
            continue
        waiting += [each for each in node.operands if each not in seen]
        seen.update(node.operands)
    return found


def _common(leaves: Sequence[Expr], d: int) -> DimensionParts:
    """Return the parts of a dimension, counted from the end; one where operands' differ."""
    sizes: tuple[int, ...] | None = None
    are_read: list[bool] = []
    size = 1
    for leaf in leaves:
        if leaf.rank < -d or leaf.shape[d] == 1:
            continue
        size = leaf.shape[d]
        if not isinstance(leaf, Leaf) or not isinstance(leaf.tensor, Tensor):
            return DimensionParts((size,), (True,))
        parts = _parts(leaf.tensor, leaf.rank + d)
        if not any(parts.are_read):
            continue
        if sizes is None:
            sizes, are_read = parts.sizes, list(parts.are_read)
        elif sizes != parts.sizes:
            return DimensionParts((size,), (True,))
        are_read = [one or other for one, other in zip(are_read, parts.are_read, strict=True)]
    return (
        DimensionParts((size,), (False,))
        if sizes is None
        else DimensionParts(sizes, tuple(are_read))
    )


def _reading(root: Expr, leaves: Sequence[Expr], along: Mapping[int, DimensionParts]) -> Expr:
    """Return an expression that reads the first of what is repeated."""
    made: dict[Expr, Expr] = {}
    below = {*leaves}
    for node in in_order(root, below):
        shape = list(node.shape)
        for d, parts in along.items():
            if node.rank >= -d and shape[d] != 1:
                shape[d] = parts.size
        if tuple(shape) == node.shape:
            made[node] = node
        elif isinstance(node, Applied):
            operands = tuple([made[each] for each in node.operands])
            made[node] = Applied(node.operation, operands, tuple(shape), node.element_type)
        else:
            assert isinstance(node, Leaf), node
            tensor = node.tensor
            assert isinstance(tensor, Tensor)
            for d, parts in along.items():
                if tensor.rank >= -d and tensor.shape[d] != 1:
                    tensor = _first(tensor, tensor.rank + d, parts)
            made[node] = Leaf(tensor)
    return made[root]
