"""What the arguments of operations on slices have to be."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index as whole_number
from typing import Any

import numpy as np

from poplite.errors import (
    ElementTypeError,
    GraphConnectionError,
    InvalidOption,
    TensorCreationError,
    TensorIndexError,
)
from poplite.expr.operand import Operand
from poplite.expr.tree import Expr
from poplite.graph.connect.ownership import check_own
from poplite.graph.graph import Graph
from poplite.graph.tensor.refused import no_tensor
from poplite.graph.tensor.slices import Slices
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.text import type_and_shape, why_not_writeable
from poplite.ops.fuse.cuts import cuts
from poplite.ops.fuse.placement import held
from poplite.ops.record import map as stored
from poplite.ops.slices.grid import Element
from poplite.program import Sequence as Steps
from poplite.program.recording import Recorder
from poplite.source import here
from poplite.text import clipped
from poplite.types import (
    FLOAT,
    HALF,
    INT,
    LONGLONG,
    SHORT,
    SIGNED_CHAR,
    UNSIGNED_CHAR,
    UNSIGNED_INT,
    UNSIGNED_LONGLONG,
    UNSIGNED_SHORT,
)
from poplite.vertices.slices import CheckIndices

NUMBERS: tuple[Element, ...] = (
    *(FLOAT, HALF, INT, UNSIGNED_INT, SHORT, UNSIGNED_SHORT, SIGNED_CHAR, UNSIGNED_CHAR),
    *(LONGLONG, UNSIGNED_LONGLONG),
)
"""Types that rows may be added to; CHAR is not one with which arithmetic is done."""

_BITS: dict[int, Element] = {
    each.size_bytes: each
    for each in (UNSIGNED_CHAR, UNSIGNED_SHORT, UNSIGNED_INT, UNSIGNED_LONGLONG)
}

MOST_ROWS = 1 << 31
"""Rows of a table: the index -1 is one of UNSIGNED_INT beyond them."""


def bits_of(tensor: Tensor) -> Tensor:
    """Return a tensor as unsigned numbers of the same bits, for all that only moves elements."""
    element = _BITS[tensor.element_type.size_bytes]
    return tensor if tensor.element_type is element else tensor.reinterpret(element)


def the_tensor(what: str, name: str, x: object) -> Tensor:
    """Return a tensor, or raise."""
    if not isinstance(x, Tensor):
        raise no_tensor(f"{what}, {name}", x)
    return x


def writeable(what: str, x: object) -> Tensor:
    """Return a tensor that is changed in place, or raise."""
    tensor = the_tensor(what, "x", x)
    if not tensor.is_parallel_writeable():
        reason, fact = why_not_writeable(tensor)
        raise GraphConnectionError(
            f"{what}: x '{tensor.name}' {reason}",
            at=here(),
            found=fact,
            fix="a variable of graph.add_variable, each element once",
        )
    return tensor


def dim_of(what: str, dim: Any, x: Tensor) -> int:
    """Return a dimension of a tensor; negative ones count from the end."""
    try:
        number = whole_number(dim)
    except TypeError:
        number = x.rank
    if not -x.rank <= number < x.rank:
        raise TensorIndexError(
            f"{what}: dimension {clipped(dim)} of '{x.name}', which has {x.rank}",
            at=here(),
            found=type_and_shape(x),
            fix=f"from 0 to {x.rank - 1}",
        )
    return number % x.rank


def sliced(
    what: str, x: Tensor, dims: Sequence[int], sizes: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Return the dimensions that are sliced, and the sizes of slices."""
    found = [dim_of(what, dim, x) for dim in dims]
    lengths = [int(whole_number(size)) for size in sizes]
    if len(found) != len(lengths) or len(set(found)) != len(found):
        raise InvalidOption(
            f"{what}: dims {list(dims)} and sizes {list(sizes)}",
            at=here(),
            found="a dimension twice" if len(set(found)) != len(found) else "",
            fix="each dimension once, and a size for each",
        )
    for dim, size in zip(found, lengths, strict=True):
        if not 0 <= size <= x.shape[dim]:
            raise TensorIndexError(
                f"{what}: a slice of {size} elements along dimension {dim} of '{x.name}'",
                at=here(),
                found=type_and_shape(x),
                fix=f"from 0 to {x.shape[dim]}",
            )
    return found, lengths


def is_strict(what: str, out_of_range: object) -> bool:
    """Tell whether an index out of range stops the run."""
    if out_of_range not in ("error", "popops"):
        raise InvalidOption(
            f"{what}: out_of_range is {clipped(out_of_range)}", at=here(), fix='"error" or "popops"'
        )
    return out_of_range == "error"


def check_shape(what: str, name: str, x: Tensor, shape: tuple[int, ...], like: Tensor) -> None:
    """Refuse a tensor of another shape, or of another type than `like`."""
    if x.shape != shape or x.element_type is not like.element_type:
        raise TensorCreationError(
            f"{what}: {name} '{x.name}' is {type_and_shape(x)}",
            at=here(),
            found=f"x '{like.name}' is {type_and_shape(like)}",
            fix=f"{name} of {like.element_type!r} {list(shape)}",
        )


def stored_indices(
    what: str, graph: Graph, indices: Operand, name: str, program: Steps | None
) -> Tensor:
    """Return indices as a tensor of INT or UNSIGNED_INT; an expression is stored."""
    if isinstance(indices, Expr):
        indices = stored(indices, name=f"{name}/indices", program=program)
    tensor = the_tensor(what, "indices", indices)
    check_own(graph, tensor, f"{what}, indices", here())
    if tensor.element_type not in (INT, UNSIGNED_INT):
        raise ElementTypeError(
            f"{what}: indices '{tensor.name}' are {tensor.element_type!r}",
            at=here(),
            fix=f"ops.cast({tensor.name}, pl.UNSIGNED_INT)",
        )
    return tensor


def stored_operand(what: str, graph: Graph, x: Operand, name: str, program: Steps | None) -> Tensor:
    """Return a tensor; an expression is stored."""
    if isinstance(x, Expr):
        x = stored(x, name=name, program=program)
    tensor = the_tensor(what, name, x)
    check_own(graph, tensor, what, here())
    return tensor


def check_indices(recorder: Recorder, indices: Tensor, size: int, name: str) -> None:
    """Record that the run stops where an index is not that of one of `size` rows."""
    graph, flat = recorder.graph, indices.flatten()
    if not flat.num_elements:
        return
    found = cuts(*held(graph.tile_mapping(flat)), graph.target.workers, 2)
    graph.add_vertices(
        recorder.compute_set(f"{name}/check"),
        CheckIndices,
        tile=found.tile,
        index=Slices(flat, 0, found.begin, found.end),
        size=np.full(len(found.tile), size),
    )


def check_rows(what: str, x: Tensor, rows: int, lookups: int) -> None:
    """Refuse a table without rows, or with too many."""
    if lookups and not 0 < rows < MOST_ROWS:
        raise TensorIndexError(
            f"{what}: '{x.name}' has {rows:,} rows for {lookups:,} indices",
            at=here(),
            found=type_and_shape(x),
            fix=f"from 1 to {MOST_ROWS - 1:,} rows",
        )
