"""What the arguments of operations on slices have to be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poplite.errors import InvalidOption, TensorIndexError, checked_items
from poplite.expr.tree import Expr
from poplite.graph.graph import Graph
from poplite.graph.tensor.slices import Slices
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import type_and_shape
from poplite.ops.fuse.placement import cuts, held
from poplite.ops.operands import (
    INDICES,
    Given,
    check_placed,
    check_type,
    count_of,
    dimension,
    own_operand,
)
from poplite.ops.record import map as stored
from poplite.program import Sequence as Steps
from poplite.program.recording import Recorder
from poplite.text import clipped
from poplite.vertices.slices import CheckIndices

MOST_ROWS = 1 << 31
"""Rows of a table: the index -1 is one of UNSIGNED_INT beyond them."""


def sliced(
    what: str, x: Tensor, dims: Sequence[int], sizes: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Return the dimensions that are sliced, and the sizes of slices."""
    listed = [
        checked_items(each, f"{what}: {name}", f"a list, such as {name}=[1]")
        for name, each in (("dims", dims), ("sizes", sizes))
    ]
    found = [dimension(what, x, dim) for dim in listed[0]]
    lengths = [count_of(what, "size", size) for size in listed[1]]
    if len(found) != len(lengths) or len(set(found)) != len(found):
        raise InvalidOption(
            f"{what}: dims {listed[0]} and sizes {listed[1]}",
            found="a dimension twice" if len(set(found)) != len(found) else "",
            fix="each dimension once, and a size for each",
        )
    for dim, size in zip(found, lengths, strict=True):
        if size > x.shape[dim]:
            raise TensorIndexError(
                f"{what}: a slice of {size} elements along dimension {dim} of '{x.name}'",
                found=type_and_shape(x),
                fix=f"from 0 to {x.shape[dim]}",
            )
    return found, lengths


def is_strict(what: str, out_of_range: object) -> bool:
    """Return whether an index out of range stops the run."""
    if not isinstance(out_of_range, str) or out_of_range not in ("error", "popops"):
        raise InvalidOption(
            f"{what}: out_of_range is {clipped(out_of_range)}", fix='"error" or "popops"'
        )
    return out_of_range == "error"


def indices_of(
    what: str,
    graph: Graph,
    x: object,
    program: Steps | None,
    *,
    is_read: bool,
    name: str = "indices",
) -> Given:
    """Return indices of INT or UNSIGNED_INT, or raise; those that are read here need tiles."""
    found = own_operand(what, graph, x, program, name)
    check_type(what, found, INDICES, name)
    if is_read:
        check_placed(found)
    return found


def as_tensor(x: Given, name: str, program: Steps | None) -> Tensor:
    """Return a tensor; an expression, which was checked, is stored."""
    return stored(x, name=name, program=program) if isinstance(x, Expr) else x


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
            found=type_and_shape(x),
            fix=f"from 1 to {MOST_ROWS - 1:,} rows",
        )
