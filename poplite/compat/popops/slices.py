"""Slices by index, with popops' rules for out-of-range indices.

A plan is None, for PopLibs' `SlicePlan()`, or the result of `embedding.plan`.

Source: PopLibs, `popops/DynamicSlice.hpp`, `popops/EncodeOneHot.hpp`,
`popops/SelectScalarFromRows.hpp`, `popops/UpdateScalarInRows.hpp`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from poplite import ops
from poplite.compat.arguments import (
    Options,
    bound,
    check_options,
    checked,
    memory_share,
    namespace,
    sizes_of,
    with_first,
)
from poplite.errors import InvalidOption, TensorCreationError
from poplite.expr.operand import Operand
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.ops import EmbeddingPlan
from poplite.ops.operands import count_of, dimension
from poplite.ops.slices.dynamic import NO_ROW, sliceable
from poplite.program import Sequence as Steps
from poplite.types import (
    FLOAT,
    HALF,
    UNSIGNED_INT,
    ElementTypeLike,
    element_type as element_type_of,
)

_SLICE = ("remapOutOfBoundIndices", "paddingIndexUsed")

PLAN_OPTIONS = (
    *("usedForSlice", "usedForUpdate", "operationForUpdate", "availableMemoryProportion"),
    *("indicesDistribution", "indicesAreSorted", "validateIndices", "partialType"),
)


@bound("popops")
def createSliceableTensor(
    graph: Graph,
    element_type: ElementTypeLike,
    shape: Sequence[int],
    dims: Sequence[int],
    sizes: Sequence[int],
    min_grain_size: int | EmbeddingPlan = 0,
    options: Options = None,
    debug_context: str = "",
) -> Tensor:
    """Create a tensor for slices, `popops::createSliceableTensor`, or the table of a plan.

    Args:
        graph: the graph of the tensor.
        element_type: element type of its elements.
        shape: shape of the tensor.
        dims: which dimensions are sliced.
        sizes: sizes of the slices, in these dimensions.
        min_grain_size: minimum number of elements of a slice on a tile; 0 for the number that is
            fastest to read. Or a plan, as in C++.
        options: options of a plan.
        debug_context: name of the tensor; as a positional argument it follows the grain size, or
            the options.

    Raises:
        InvalidOption: for a plan of a different table, and unknown options.
    """
    what, name = "createSliceableTensor", debug_context or "sliceable"
    if isinstance(min_grain_size, EmbeddingPlan):
        table = min_grain_size.table
        check_options(what, options, (*_SLICE, *PLAN_OPTIONS))
        asked = (element_type_of(element_type), tuple(shape), list(dims), list(sizes))
        if asked != (table.element, (table.entries, table.width), [0], [1]):
            raise InvalidOption(
                f"popops.{what}: the plan was made for a different table",
                found=f"its table is {table.element!r}[{table.entries}, {table.width}]",
                fix="call popops.embedding.plan for this table, or plan.create_table(name)",
            )
        return min_grain_size.create_table(name)
    least = count_of(f"popops.{what}", "min_grain_size", min_grain_size)
    if least:
        return sliceable(f"popops.{what}", graph, element_type, shape, dims, sizes, name, least)
    return ops.create_sliceable(graph, element_type, shape, dims, sizes, name)


@checked("popops")
def dynamicSlice(
    graph: Graph,
    t: Tensor,
    offset: Tensor,
    dims: Sequence[int],
    sizes: Sequence[int],
    prog: Steps,
    debug_context: str = "",
    options: Options = None,
) -> Tensor:
    """Record a slice at an offset, `popops::dynamicSlice`; 0 where the offset is out of range."""
    _refuse_remapping("dynamicSlice", options)
    name = debug_context or "dynamicSlice"
    return ops.dynamic_slice(t, offset, dims, sizes, out_of_range="popops", name=name, program=prog)


@checked("popops")
def dynamicSliceWithOutput(
    graph: Graph,
    output: Tensor,
    t: Tensor,
    offset: Tensor,
    dims: Sequence[int],
    sizes: Sequence[int],
    prog: Steps,
    debug_context: str = "",
    options: Options = None,
) -> None:
    """Record a slice that is stored in a tensor, `popops::dynamicSliceWithOutput`."""
    made = dynamicSlice(graph, t, offset, dims, sizes, prog, debug_context, options)
    ops.copy(made, output, program=prog)


@checked("popops")
def dynamicUpdate(
    graph: Graph,
    t: Tensor,
    s: Tensor,
    offset: Tensor,
    dims: Sequence[int],
    sizes: Sequence[int],
    prog: Steps,
    debug_context: str = "",
    options: Options = None,
) -> None:
    """Record that a slice is replaced, `popops::dynamicUpdate`; not if it is out of range."""
    _refuse_remapping("dynamicUpdate", options)
    name = debug_context or "dynamicUpdate"
    ops.dynamic_update(t, s, offset, dims, sizes, out_of_range="popops", name=name, program=prog)


@checked("popops")
def multiSlice(
    graph: Graph,
    t: Tensor,
    offsets: Tensor,
    dims: Sequence[int],
    sizes: Sequence[int],
    prog: Steps,
    plan: EmbeddingPlan | None = None,
    options: Options = None,
    debug_context: str = "",
) -> Tensor:
    """Record slices at several offsets, `popops::multiSlice`: [n, ...], with the sliced size."""
    _refuse_remapping("multiSlice", options)
    dim, rows = _rows("multiSlice", t, offsets, dims, sizes)
    made = ops.multi_slice(
        t,
        rows,
        dim,
        plan=plan,
        out_of_range="popops",
        name=debug_context or "multiSlice",
        program=prog,
    )
    return made.dim_roll(dim, 0)


def _update(
    operation: tuple[str, Callable[..., Tensor]],
    graph: Graph,
    t: Tensor,
    s: Tensor,
    offsets: Tensor,
    dims: Sequence[int],
    sizes: Sequence[int],
    prog: Steps,
    plan: EmbeddingPlan | None = None,
    options: Options = None,
    debug_context: str = "",
) -> None:
    """Record that slices of `t` are updated by those of `s`, `popops::{name}`.

    They are replaced, multiplied, or, by `multiUpdateMax`, set to the greater elements.
    """
    what, record = operation
    _refuse_remapping(what, options)
    dim, rows = _rows(what, t, offsets, dims, sizes)
    how: dict[str, Any] = {"plan": plan, "out_of_range": "popops", "program": prog}
    record(t, s.dim_roll(0, dim), rows, dim, **how, name=debug_context or what)


multiUpdate, multiUpdateMax, multiUpdateMul = (
    checked("popops", each[0])(with_first(_update, each))
    for each in (
        ("multiUpdate", ops.multi_update),
        ("multiUpdateMax", ops.multi_update_max),
        ("multiUpdateMul", ops.multi_update_mul),
    )
)


@checked("popops")
def multiUpdateAdd(
    graph: Graph,
    t: Tensor,
    s: Tensor,
    offsets: Tensor,
    scale: Tensor,
    dims: Sequence[int],
    sizes: Sequence[int],
    prog: Steps,
    plan: EmbeddingPlan | None = None,
    options: Options = None,
    debug_context: str = "",
) -> None:
    """Record that slices are added to, `popops::multiUpdateAdd`.

    Slices of HALF may have a scale of FLOAT; the products are rounded to HALF before they are
    added.
    """

    def add(table: Tensor, slices: Operand, *rows: Any, **how: Any) -> Tensor:
        if not _is_half(t, s, scale):
            return ops.multi_update_add(table, slices, *rows, scale=scale, **how)
        scaled = ops.cast(slices, FLOAT) * ops.cast(scale.reshape(()), FLOAT)
        return ops.multi_update_add(table, ops.cast(scaled, HALF), *rows, **how)

    rest = dims, sizes, prog, plan, options, debug_context
    _update(("multiUpdateAdd", add), graph, t, s, offsets, *rest)


def _is_half(t: Tensor, s: Tensor, scale: Tensor) -> bool:
    """Return whether slices are HALF and their scale is one HALF or FLOAT number."""
    is_number = scale.num_elements == 1 and scale.element_type in (FLOAT, HALF)
    return is_number and t.element_type is HALF and s.element_type is HALF


def _rows(
    what: str, t: Tensor, offsets: Tensor, dims: Sequence[int], sizes: Sequence[int]
) -> tuple[int, Any]:
    """Return the sliced dimension, and the indices [n, size] of its elements, which wrap around."""
    dims, sizes = (
        sizes_of(f"popops.{what}", name, each) for name, each in (("dims", dims), ("sizes", sizes))
    )
    if len(dims) != 1 or len(sizes) != 1:
        raise InvalidOption(
            f"popops.{what}: expected one dimension and one size; found dims {list(dims)} "
            f"and sizes {list(sizes)}",
            fix="pass one dimension and one size",
        )
    dim = dimension(f"popops.{what}", t, dims[0])
    first, rows = offsets.reshape((offsets.num_elements, 1)), t.shape[dim]
    if sizes[0] == 1:
        return dim, first
    row = (first + ops.iota((sizes[0],), UNSIGNED_INT)) % max(1, rows)
    return dim, ops.where(first < rows, row, NO_ROW)


def _refuse_remapping(what: str, options: Options) -> None:
    check_options(what, options, (*_SLICE, *PLAN_OPTIONS))
    for name in _SLICE:
        if (options or {}).get(name, "false") != "false":
            raise InvalidOption(
                f"popops.{what}: option {name!r} is not supported",
                fix="clamp the offset first: ops.minimum(offset, size - 1)",
            )


@checked("popops")
def encodeOneHot(
    graph: Graph,
    indices: Tensor,
    encoded: Tensor,
    prog: Steps,
    on: float = 1,
    off: float = 0,
    debug_context: str = "",
) -> None:
    """Record rows that have the value `on` at one index, `popops::encodeOneHot`."""
    if not encoded.rank:
        raise TensorCreationError(
            f"popops.encodeOneHot: encoded '{encoded.name}' has rank 0",
            fix="pass a tensor of shape [indices, depth]",
        )
    made = ops.one_hot(
        indices,
        encoded.shape[-1],
        on=on,
        off=off,
        dtype=encoded.element_type,
        out_of_range="popops",
        name=debug_context or "encodeOneHot",
        program=prog,
    )
    ops.copy(made, encoded, program=prog)


@checked("popops")
def selectScalarFromRows(
    graph: Graph, params: Tensor, indices: Tensor, prog: Steps, debug_context: str = ""
) -> Tensor:
    """Record one element of each row, `popops::selectScalarFromRows`."""
    name = debug_context or "selectScalarFromRows"
    return ops.select_from_rows(params, indices, out_of_range="popops", name=name, program=prog)


@checked("popops")
def updateScalarInRows(
    graph: Graph, params: Tensor, indices: Tensor, prog: Steps, debug_context: str = ""
) -> None:
    """Record that 1 is subtracted from an element of each row, `popops::updateScalarInRows`."""
    name = debug_context or "updateScalarInRows"
    ops.update_from_rows(params, indices, out_of_range="popops", name=name, program=prog)


# -- plans of tables -------------------------------------------------------------------------------


@checked("popops.embedding")
def plan(
    graph: Graph,
    data_type: ElementTypeLike,
    num_entries: int,
    output_size: int,
    num_lookups: int,
    options: Options = None,
) -> EmbeddingPlan:
    """Return a plan, `popops::embedding::plan`; it takes one number of lookups, not a list."""
    check_options("embedding.plan", options, PLAN_OPTIONS)
    given = options or {}
    is_read, is_changed = (given.get(name, "true") == "true" for name in PLAN_OPTIONS[:2])
    used_for = "both" if is_read == is_changed else "read" if is_read else "change"
    return ops.plan_embedding(
        graph,
        entries=num_entries,
        width=output_size,
        lookups=num_lookups,
        type=data_type,
        used_for=used_for,
        memory=memory_share("popops.embedding.plan", options),
    )


embedding = namespace(
    "popops.embedding",
    """popops::embedding: plans of tables.

    Both calls make the same plan::

        popops::embedding::plan(graph, FLOAT, entries, width, {lookups}, {})
        popops.embedding.plan(graph, pl.FLOAT, entries, width, lookups)
    """,
    {"plan": plan},
)
