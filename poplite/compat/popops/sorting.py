"""Sorting functions of popops: `sort` and `topK`, with or without keys.

Source: PopLibs, `popops/Sort.hpp`, `popops/TopK.hpp`, `popops/SortOrder.hpp`.
"""

from __future__ import annotations

from typing import NamedTuple

from poplite import ops
from poplite.compat.arguments import checked
from poplite.errors import Enumeration, checked_member
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.operands import invalid_value
from poplite.program import Sequence as Steps


class SortOrder(Enumeration):
    """Order of the results of `topK`, `popops::SortOrder`."""

    NONE = "NONE"
    ASCENDING = "ASCENDING"
    DESCENDING = "DESCENDING"


_TOP = "popops.TopKParams(3, True, popops.SortOrder.DESCENDING)"


class TopKParams(NamedTuple):
    """Parameters of `topK`, `popops::TopKParams`.

    Attributes:
        k: the number of elements.
        largest: whether to find the largest elements rather than the smallest.
        sortOrder: the order of the result.
        stableSort: has no effect; among equal elements, the first ones are always taken.
    """

    k: int
    largest: bool
    sortOrder: SortOrder
    stableSort: bool = False


@checked("popops")
def topK(
    graph: Graph, prog: Steps, t: Tensor, params: TopKParams, debug_context: str = ""
) -> Tensor:
    """Record the largest or smallest elements of the last dimension, `popops::topK`."""
    return topKWithPermutation(graph, prog, t, params, debug_context)[0]


@checked("popops")
def topKWithPermutation(
    graph: Graph, prog: Steps, t: Tensor, params: TopKParams, debug_context: str = ""
) -> tuple[Tensor, Tensor]:
    """Record the elements of `topK` and their positions, `popops::topKWithPermutation`."""
    if not isinstance(params, TopKParams):
        raise invalid_value("popops.topK", "params", params, _TOP)
    order = checked_member(params.sortOrder, SortOrder, "popops.topK: sortOrder")
    found = ops.top_k(
        t, params.k, largest=params.largest, name=debug_context or "topK", program=prog
    )
    rises = order is SortOrder.ASCENDING
    if order is SortOrder.NONE or rises != params.largest:
        return found.values, found.indices
    return found.values.reverse(t.rank - 1), found.indices.reverse(t.rank - 1)


@checked("popops")
def topKKeyValue(
    graph: Graph,
    prog: Steps,
    keys: Tensor,
    values: Tensor,
    params: TopKParams,
    debug_context: str = "",
) -> tuple[Tensor, Tensor]:
    """Record the largest or smallest keys and their values, `popops::topKKeyValue`."""
    name = debug_context or "topK"
    found, where = topKWithPermutation(graph, prog, keys, params, name)
    return found, ops.take_along_axis(values, where, name=f"{name}/values", program=prog)


@checked("popops")
def sort(graph: Graph, t: Tensor, dim: int, prog: Steps, debug_context: str = "") -> Tensor:
    """Record a sort along a dimension, `popops::sort`; in poplite the sort is stable."""
    return ops.sort(t, dim, name=debug_context or "sort", program=prog)


@checked("popops")
def sortInPlace(graph: Graph, t: Tensor, dim: int, prog: Steps, debug_context: str = "") -> None:
    """Record a sort along a dimension in place, `popops::sortInPlace`."""
    ops.copy(sort(graph, t, dim, prog, debug_context), t, program=prog)


@checked("popops")
def sortKeyValue(
    graph: Graph, k: Tensor, v: Tensor, dim: int, prog: Steps, debug_context: str = ""
) -> Tensor:
    """Record the values sorted by their keys, `popops::sortKeyValue`."""
    return ops.sort_key_value(k, v, dim, name=debug_context or "sortKeyValue", program=prog).values


@checked("popops")
def sortKeyValueInPlace(
    graph: Graph, k: Tensor, v: Tensor, dim: int, prog: Steps, debug_context: str = ""
) -> None:
    """Record a sort of keys and values in place, `popops::sortKeyValueInPlace`."""
    name = debug_context or "sortKeyValue"
    for made, target in zip(
        ops.sort_key_value(k, v, dim, name=name, program=prog), (k, v), strict=True
    ):
        ops.copy(made, target, program=prog)
