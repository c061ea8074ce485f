"""Sorting, the largest elements and padding of popops.

Source: PopLibs, `popops/Sort.hpp`, `popops/TopK.hpp`, `popops/SortOrder.hpp`, `popops/Pad.hpp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from poplite import ops
from poplite.compat.arguments import checked
from poplite.errors import Enumeration, InvalidOption, checked_member
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.program import Sequence as Steps
from poplite.text import clipped, of_type


class SortOrder(Enumeration):
    """Order of what `topK` returns, `popops::SortOrder`."""

    NONE = "NONE"
    ASCENDING = "ASCENDING"
    DESCENDING = "DESCENDING"


class TopKParams(NamedTuple):
    """What `topK` looks for, `popops::TopKParams`.

    Attributes:
        k: how many elements.
        largest: whether the largest, or the least.
        sortOrder: the order of the result.
        stableSort: of equal elements the first ones are taken in any case.
    """

    k: int
    largest: bool
    sortOrder: SortOrder
    stableSort: bool = False


@checked("popops")
def topK(
    graph: Graph, prog: Steps, t: Tensor, params: TopKParams, debug_context: str = ""
) -> Tensor:
    """Record the largest or least elements of the last dimension, `popops::topK`."""
    return topKWithPermutation(graph, prog, t, params, debug_context)[0]


@checked("popops")
def topKWithPermutation(
    graph: Graph, prog: Steps, t: Tensor, params: TopKParams, debug_context: str = ""
) -> tuple[Tensor, Tensor]:
    """Record these elements and their positions, `popops::topKWithPermutation`."""
    if not isinstance(params, TopKParams):
        raise InvalidOption(
            f"popops.topK: params is {clipped(params)}",
            found=of_type(params),
            fix="popops.TopKParams(3, True, popops.SortOrder.DESCENDING)",
        )
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
    """Record the largest or least keys and their values, `popops::topKKeyValue`."""
    name = debug_context or "topK"
    found, where = topKWithPermutation(graph, prog, keys, params, name)
    return found, ops.take_along_axis(values, where, name=f"{name}/values", program=prog)


@checked("popops")
def sort(graph: Graph, t: Tensor, dim: int, prog: Steps, debug_context: str = "") -> Tensor:
    """Record a sort along a dimension, `popops::sort`; it is stable here."""
    return ops.sort(t, dim, name=debug_context or "sort", program=prog)


@checked("popops")
def sortInPlace(graph: Graph, t: Tensor, dim: int, prog: Steps, debug_context: str = "") -> None:
    """Record a sort along a dimension in place, `popops::sortInPlace`."""
    ops.copy(sort(graph, t, dim, prog, debug_context), t, program=prog)


@checked("popops")
def sortKeyValue(
    graph: Graph, k: Tensor, v: Tensor, dim: int, prog: Steps, debug_context: str = ""
) -> Tensor:
    """Record values in the order of their keys, `popops::sortKeyValue`."""
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


@checked("popops")
def pad(
    graph: Graph,
    t: Tensor,
    padding_lower: Sequence[int],
    padding_upper: Sequence[int],
    val: bool | int | float = 0,
) -> Tensor:
    """Return a view with a constant before and after each dimension, `popops::pad`.

    The constant lies on tile 0, as with `MappingMethod::ZERO`; negative widths cut.

    Raises:
        InvalidOption: for widths of another number of dimensions.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> pad(graph, graph.add_variable(pl.FLOAT, (2, 3), "t"), [1, 0], [0, -1]).shape
    (3, 2)
    """
    if len(padding_lower) != t.rank or len(padding_upper) != t.rank:
        raise InvalidOption(
            f"popops.pad: {len(padding_lower)} lower and {len(padding_upper)} upper widths of "
            f"'{t.name}', which has rank {t.rank}",
            fix=f"{t.rank} of each",
        )
    return ops.pad(t, list(zip(padding_lower, padding_upper, strict=True)), value=val)
