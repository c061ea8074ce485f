"""Functions of popops along dimensions: reductions, sorts, the largest elements, slices by index.

A plan of slices is None, for PopLibs' `SlicePlan()`, or the result of `embedding.plan`.

Source: PopLibs, `popops/Reduce.hpp`, `popops/OperationDef.hpp`, `popops/Sort.hpp`,
`popops/TopK.hpp`, `popops/SortOrder.hpp`, `popops/DynamicSlice.hpp`, `popops/EncodeOneHot.hpp`,
`popops/SelectScalarFromRows.hpp`, `popops/UpdateScalarInRows.hpp`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from poplite import ops
from poplite.compat.arguments import (
    Options,
    Places,
    bound,
    check_options,
    check_params,
    check_tensors,
    checked,
    list_of_sets,
    sizes_of,
    with_first,
)
from poplite.errors import (
    ElementTypeError,
    Enumeration,
    InvalidOption,
    TensorCreationError,
    checked_items,
    checked_member,
    checked_truth,
)
from poplite.expr.operand import Operand
from poplite.expr.tree import Expr
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.ops import EmbeddingPlan
from poplite.ops.operands import count_of, dimension, invalid_value
from poplite.ops.slices.dynamic import NO_ROW, sliceable
from poplite.program import Sequence as Steps
from poplite.text import items_or_none
from poplite.types import (
    FLOAT,
    HALF,
    UNSIGNED_INT,
    ElementTypeLike,
    element_type,
    element_type as element_type_of,
)

_KNOWN = ("accumType.interTile", "accumType.inVertex")


class Operation(Enumeration):
    """The operation that combines elements, `popops::Operation`."""

    ADD = "add"
    SQUARE_ADD = "square_add"
    MUL = "mul"
    MIN = "min"
    MAX = "max"
    LOGICAL_AND = "logical_and"
    LOGICAL_OR = "logical_or"
    LOG_ADD = "log_add"


_HOW = "popops.ReduceParams(popops.Operation.ADD), or popops.Operation.ADD"

_SCALED = (Operation.ADD, Operation.SQUARE_ADD, Operation.LOG_ADD)


@dataclass(slots=True, eq=False)
class ReduceParams:
    """An operation, a scale and an update, `popops::ReduceParams`.

    Attributes:
        op: the operation.
        update: whether to combine the result with the output's old value: ADD, SQUARE_ADD, LOG_ADD.
        scale: a FLOAT tensor of one element that multiplies the result, or for LOG_ADD is added.
    """

    op: Operation
    update: bool = False
    scale: Tensor | None = None

    def __post_init__(self) -> None:
        self._check()

    def _check(self) -> None:
        """Reject inconsistent members, which may also have been assigned, as in C++."""
        self.op = checked_member(self.op, Operation, "popops.ReduceParams: op")
        checked_truth(self.update, "popops.ReduceParams: update")
        if self.scale is not None:
            check_tensors("popops.ReduceParams", scale=self.scale)
        if (self.update or self.scale is not None) and self.op not in _SCALED:
            raise ElementTypeError(
                f"popops.ReduceParams: {self.op.name} takes neither scale nor update",
                fix="use ADD, SQUARE_ADD or LOG_ADD, or leave out scale and update",
            )


class SingleReduceOp(NamedTuple):
    """One reduction of `reduceMany`, `popops::SingleReduceOp`.

    Attributes:
        in_: the tensor.
        dims: the dimensions to reduce.
        params: the operation, or the parameters of the reduction.
        output_type: the element type of the result; None for that of the tensor.
    """

    in_: Tensor
    dims: Collection[int]
    params: ReduceParams | Operation | str
    output_type: ElementTypeLike | None = None


@bound("popops")
def reduce(
    graph: Graph,
    in_: Tensor,
    dims: Collection[int],
    params: ReduceParams | Operation | str,
    prog: Places,
    debug_context: str = "",
    options: Options = None,
    *,
    output_type: ElementTypeLike | None = None,
) -> Tensor:
    """Record a reduction, `popops::reduce`.

    Args:
        graph: the graph of the tensor.
        in_: the tensor.
        dims: the dimensions to reduce.
        params: the operation, or the parameters of the reduction.
        prog: the program that gets the steps; or a list of compute sets, each of which gets the
            vertices of one step; compute sets for further steps are appended.
        debug_context: name of the result.
        options: PopLibs' options, which have no effect here.
        output_type: element type of the result, as in C++ before the dimensions; by default that of
            the tensor.

    Returns:
        A new tensor without the reduced dimensions.

    Raises:
        ElementTypeError: for `update`, which needs an output, and as `poplite.ops.sum`.
        TensorIndexError: for a dimension that the tensor does not have.

    >>> import poplite as pl
    >>> graph, prog = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> a = graph.add_variable(pl.FLOAT, (2, 3), "a", mapping=0, initial_value=[[1, 2, 3]] * 2)
    >>> total = reduce(graph, a, [1], Operation.ADD, prog, "total")
    >>> engine = pl.Engine(graph, prog)
    >>> engine.run()
    >>> engine.read(total)
    array([6., 6.], dtype=float32)
    """
    check_options("reduce", options, _KNOWN)
    how = _params(params)
    if how.update:
        raise ElementTypeError(
            "popops.reduce: update=True needs an output",
            fix="call popops.reduceWithOutput(graph, in_, out, dims, params, prog)",
        )
    reduced = _reduced(SingleReduceOp(in_, dims, how, output_type))
    steps = list_of_sets("popops.reduce", graph, prog)
    return ops.map(reduced, name=debug_context or "reduce", program=steps)


@checked("popops")
def reduceWithOutput(
    graph: Graph,
    in_: Tensor,
    out: Tensor,
    dims: Collection[int],
    params: ReduceParams | Operation | str,
    prog: Places,
    debug_context: str = "",
    options: Options = None,
) -> None:
    """Record a reduction to a tensor, `popops::reduceWithOutput`.

    The output may have extra sizes of 1. `prog` may be a list of compute sets, see `reduce`.
    """
    check_options("reduceWithOutput", options, _KNOWN)
    expr, target = _to(SingleReduceOp(in_, dims, params), out)
    steps = list_of_sets("popops.reduceWithOutput", graph, prog)
    ops.lower(graph, [ops.Root(expr, out=target, name=debug_context or "reduce")], steps)


@checked("popops")
def reduceMany(
    graph: Graph,
    reductions: Sequence[SingleReduceOp],
    outputs: list[Tensor],
    prog: Steps,
    debug_context: str = "",
    options: Options = None,
) -> None:
    """Record several reductions, `popops::reduceMany`.

    Args:
        graph: the graph of the tensors.
        reductions: each with its tensor, dimensions and operation.
        outputs: a tensor for each of them; an empty list is filled with new ones.
        prog: where the steps go.
        debug_context: name of the results.
        options: PopLibs' options, which have no effect here.

    Raises:
        TensorCreationError: unless there is an output for each, or for `update` without outputs.
    """
    check_options("reduceMany", options, _KNOWN)
    name = debug_context or "reduce"
    what, fix = "popops.reduceMany", "pass [popops.SingleReduceOp(a, [0], popops.Operation.ADD)]"
    reductions = checked_items(reductions, f"{what}: reductions", fix)
    for place, each in enumerate(reductions):
        check_params(what, each, SingleReduceOp, f"reductions[{place}]")
    check_params(what, outputs, list, "outputs")
    check_tensors(what, **{f"outputs[{place}]": each for place, each in enumerate(outputs)})
    wants_output = any(_params(each.params).update for each in reductions)
    if len(outputs) not in (0, len(reductions)) or (wants_output and not outputs):
        raise TensorCreationError(
            f"popops.reduceMany: expected an output for each of {len(reductions)} reductions; "
            f"found {len(outputs)}",
            fix="pass an output for each, or an empty list if no reduction updates its output",
        )
    outs: Sequence[Tensor | None] = outputs or (None,) * len(reductions)
    pairs = [_to(each, out) for each, out in zip(reductions, outs, strict=True)]
    targets = [target for _, target in pairs if target is not None]
    made = ops.reduce_many([expr for expr, _ in pairs], targets, name=name, program=prog)
    outputs[:] = outputs or made


def _params(params: ReduceParams | Operation | str) -> ReduceParams:
    if not isinstance(params, ReduceParams | Operation | str):
        raise invalid_value("popops.reduce", "params", params, _HOW)
    if isinstance(params, ReduceParams):
        params._check()
        return params
    return ReduceParams(checked_member(params, Operation, "popops.reduce: params"))


def _to(reduction: SingleReduceOp, out: Tensor | None) -> tuple[Expr, Tensor | None]:
    """Return a reduction, and the output reshaped to the shape of its result."""
    check_tensors("popops.reduceMany", in_=reduction.in_)
    if out is None:
        return _reduced(reduction), None
    kept = [n for d, n in enumerate(reduction.in_.shape) if d not in _dims(reduction)]
    target = out.reshape(kept) if out.shape != tuple(kept) else out
    update = target if _params(reduction.params).update else None
    return _reduced(reduction._replace(output_type=out.element_type), update), target


def _dims(reduction: SingleReduceOp) -> tuple[int, ...]:
    return sizes_of("popops.reduce", "dims", items_or_none(reduction.dims) or reduction.dims)


def _reduced(reduction: SingleReduceOp, update: Tensor | None = None) -> Expr:
    """Return a reduction as an expression; a FLOAT result of HALF is not rounded to HALF."""
    params, x = _params(reduction.params), reduction.in_
    check_tensors("popops.reduceMany", in_=x)
    source, kept = x.element_type, x.element_type
    if reduction.output_type is not None:
        kept = element_type(reduction.output_type)
    operand = ops.cast(x, FLOAT) if (source, kept) == (HALF, FLOAT) else x
    scale: Operand | None = None
    if params.scale is not None:
        scale = params.scale.reshape(())
        scale = scale if source.is_floating_point else ops.cast(scale, source)
    dims = sorted({*_dims(reduction)})
    return ops.cast(ops.reduce(operand, dims, params.op.value, scale=scale, update=update), kept)


@checked("popops")
def hasNaN(graph: Graph, src: Tensor, prog: Steps, debug_context: str = "") -> Tensor:
    """Record whether any element is NaN, `popops::hasNaN`: a BOOL."""
    return ops.map(ops.has_nan(src), name=debug_context or "hasNaN", program=prog)


@checked("popops")
def hasNaNOrInf(graph: Graph, src: Tensor, prog: Steps, debug_context: str = "") -> Tensor:
    """Record whether any element is NaN or infinite, `popops::hasNaNOrInf`: a BOOL."""
    return ops.map(ops.has_nan_or_inf(src), name=debug_context or "hasNaNOrInf", program=prog)


# -- sorting ---------------------------------------------------------------------------------------


@checked("popops")
def histogram(
    graph: Graph,
    input: Tensor,  # noqa: A002  (PopLibs' name)
    levels: Tensor,
    absolute_of_input: bool,
    prog: Steps,
    debug_context: str = "",
) -> Tensor:
    """Record how many elements are below the first level, from it to the next, and so on.

    `popops::histogram`: an element that equals a level is counted above it, and so is NaN.

    Args:
        graph: the graph.
        input: floats.
        levels: ascending numbers of the type of the input.
        absolute_of_input: whether the magnitudes of elements are counted.
        prog: where the steps go.
        debug_context: the name of the steps.

    Returns:
        UNSIGNED_INT, one more than levels.
    """
    name = debug_context or "histogram"
    is_absolute = checked_truth(absolute_of_input, "popops.histogram: absolute_of_input")
    check_tensors("popops.histogram", input=input, levels=levels)
    x = ops.absolute(input) if is_absolute else input
    bins = ops.searchsorted(levels, x, "right", name=f"{name}/bins", program=prog)
    return ops.bincount(bins, levels.num_elements + 1, name=name, program=prog)


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


# -- slices by index ------------------------------------------------------------------------------

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
