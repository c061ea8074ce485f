"""Functions of popops along dimensions: reductions, sorts, the largest elements.

Source: PopLibs, `popops/Reduce.hpp`, `popops/OperationDef.hpp`, `popops/Sort.hpp`,
`popops/TopK.hpp`, `popops/SortOrder.hpp`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

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
)
from poplite.errors import (
    ElementTypeError,
    Enumeration,
    TensorCreationError,
    checked_items,
    checked_member,
    checked_truth,
)
from poplite.expr.operand import Operand
from poplite.expr.tree import Expr
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.operands import invalid_value
from poplite.program import Sequence as Steps
from poplite.text import items_or_none
from poplite.types import FLOAT, HALF, ElementTypeLike, element_type

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
        prog: where the steps go; or a list of compute sets, to each of which the vertices of one
            step are added; compute sets for further steps are appended.
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


# -- sorting ---------------------------------------------------------------------------------------


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
