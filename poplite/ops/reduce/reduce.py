"""Reductions: sums, products, extremes, and truth along dimensions of a tensor.

    x of shape (3, 4)           reduce(graph, x, [0], "add", program)     of shape (4,)
    x of shape (2, 3, 4)        reduce(graph, x, [0, 2], "max", program)  of shape (3,)

Elements stay where they are as long as that helps.  First each tile joins what it holds of every
output; then what tiles came to is joined on one of them, in two steps or more where an output
has elements on many tiles::

    tile 0   0 0 0 0 1 1    ->   p0 p1
    tile 1   1 1 1 1 1 1    ->      p1     ->   p0, and p1 + p1 + p1
    tile 2   1 1 1 1 1 1    ->      p1

What is joined in which order follows from the shape, the mapping and the target alone, so float
sums and products have the same bits in every run; with another mapping their last bits may
differ (`poplite.vertices.reduce` says in which order a vertex goes).  Nothing else depends on it.

Semantics: poplibs, `popops::reduce`.  How the elements lie is found by the strides of the view, as
poplibs does with its grouping of regions; the plan is made by `pieces`, `ranges` and `stage`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from poplite.errors import ElementTypeError, GraphConnectionError, TensorCreationError
from poplite.graph.connect.ownership import check_own
from poplite.graph.graph import Graph
from poplite.graph.partition import map_linearly
from poplite.graph.tensor import indexing
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.text import why_not_writeable
from poplite.ops.reduce.build import OPERATIONS, Builder, Operation
from poplite.ops.reduce.order import ordered
from poplite.program import Copy, Program, Sequence as Steps
from poplite.program.recording import Recorder
from poplite.program.sequence import check_appended
from poplite.source import here
from poplite.text import amount, clipped
from poplite.types import BOOL, QUARTER, QUARTER_METADATA


def reduce(
    graph: Graph,
    tensor: Tensor,
    dims: Sequence[int],
    operation: str,
    program: Steps,
    *,
    output: Tensor | None = None,
    name: str = "reduce",
) -> Tensor:
    """Append the steps that reduce dimensions of a tensor.

    Args:
        graph: the tensor's graph.
        tensor: whole or a view, every element on a tile. "logical_and" and "logical_or" take
            BOOL, the others all numbers but QUARTER. Sums and products of HALF are made in FLOAT,
            and rounded once; those of integers wrap.
        dims: the dimensions that disappear, in any order; none of them is a copy.
        operation: "add", "mul", "min", "max", "logical_and" or "logical_or". NaN is the least and
            the greatest of numbers that it is among.
        program: where the steps go.
        output: where the result goes, of its shape and type; left out, a new variable, whose
            elements are on tiles of the elements they are made of.
        name: of the result; what else is made has names that begin with it.

    Returns:
        The result, of the other dimensions in their order.

    Raises:
        TensorIndexError: for a dimension that does not exist, or is listed twice.
        ElementTypeError: for an element type that the operation does not take, or another one of
            the output, or something that is no tensor.
        TensorCreationError: for an unknown operation, an output of another shape or that holds
            elements of the tensor, the least or greatest of no elements, and an empty name.
        GraphConnectionError: for a tensor of another graph, and an output that cannot be written.
        InvalidTileMapping: when elements have no tile.
        ControlProgramError: for a graph or program that is none, and a program that takes no more
            steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (12,), "x", mapping="linear", initial_value=range(12))
    >>> total = reduce(graph, x.reshape((2, 6)), [1], "add", program, name="total")
    >>> total
    <Tensor 'total' int32[2] on 2 tiles (0, 3), 8 B>
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(total)
    array([15, 51], dtype=int32)
    """
    kept, chosen = _checked(graph, tensor, dims, operation, program)
    if output is not None:
        _check_output(graph, tensor, output, kept, chosen)
    graph.scope(name)  # refuses names that are none
    recorder = Recorder(graph)
    result = reduce_into(recorder, tensor, chosen, operation, output, name)
    program.add(Steps(*recorder.steps, name=name))
    return result


def reduce_into(
    recorder: Recorder,
    tensor: Tensor,
    dims: Sequence[int],
    operation: str,
    output: Tensor | None,
    name: str,
) -> Tensor:
    """Reduce dimensions of a tensor, which were checked, and return the result."""
    graph = recorder.graph
    result = output
    if result is None:
        kept = tuple(size for d, size in enumerate(tensor.shape) if d not in dims)
        result = graph.add_variable(tensor.element_type, kept, name)
    with graph.scope(name):
        way = OPERATIONS[operation]
        if tensor.num_elements:
            order = ordered(tensor, dims, result)
            Builder(graph, way, order, output is not None, recorder).build()
        else:
            for step in _of_nothing(graph, way, result, output is not None):
                recorder.add(step)
    return result


def _checked(
    graph: Graph,
    tensor: Tensor,
    dims: Sequence[int],
    operation: str,
    program: Steps,
) -> tuple[tuple[int, ...], list[int]]:
    """Return the shape of the result, and the dimensions that disappear."""
    at, usage = here(), "reduce(graph, tensor, [0], 'add', program)"
    check_appended(usage, graph, program)
    check_own(graph, tensor, "reduce", at, usage)
    chosen = [indexing.dimension(d, tensor) for d in indexing.numbers(dims, "dims", tensor)]
    if len({*chosen}) < len(chosen):
        twice = next(d for d in chosen if chosen.count(d) > 1)
        raise indexing.outside(
            f"reduce: dimension {twice} is listed {chosen.count(twice)} times",
            tensor,
            tensor.rank,
            "dim",
        )
    if not isinstance(operation, str) or operation not in OPERATIONS:
        raise TensorCreationError(
            f"reduce: {clipped(operation)} is no operation",
            at=at,
            found=f"operations are {', '.join(map(repr, OPERATIONS))}",
            fix=usage,
        )
    is_logical, element = operation.startswith("logical"), tensor.element_type
    if element in (QUARTER, QUARTER_METADATA) or is_logical != (element is BOOL):
        raise ElementTypeError(
            f"reduce: '{operation}' of '{tensor.name}', which is {element!r}",
            at=at,
            found=indexing.described(tensor),
            fix="'logical_and' and 'logical_or' take BOOL"
            if is_logical or element is BOOL
            else "numbers other than QUARTER: let a vertex convert them to HALF or FLOAT",
        )
    kept = tuple(size for d, size in enumerate(tensor.shape) if d not in chosen)
    outputs = math.prod(kept)
    if outputs and not tensor.num_elements and OPERATIONS[operation].identity is None:
        raise TensorCreationError(
            f"reduce: '{operation}' of no elements, for {amount(outputs, 'output')}",
            at=at,
            found=indexing.described(tensor),
            fix="'add' gives 0, 'mul' 1, 'logical_and' true and 'logical_or' false",
        )
    graph.tile_mapping(tensor)  # raises where an element has no tile
    return kept, chosen


def _check_output(
    graph: Graph, tensor: Tensor, output: Tensor, kept: tuple[int, ...], chosen: list[int]
) -> None:
    """Refuse an output that the result does not fit, or that cannot take it."""
    at = here()
    check_own(graph, output, "reduce, output", at, "reduce(..., output=tensor)")
    if output.element_type is not tensor.element_type:
        raise ElementTypeError(
            f"reduce: output '{output.name}' is {output.element_type!r}, "
            f"'{tensor.name}' is {tensor.element_type!r}",
            at=at,
            found=indexing.described(output),
            fix=f"an output of {tensor.element_type!r}",
        )
    if output.shape != kept:
        raise TensorCreationError(
            f"reduce: output '{output.name}' has shape {output.shape}, but {kept} is needed",
            at=at,
            found=f"{indexing.described(tensor)}, without the dimensions {sorted(chosen)}",
            fix=f"output.reshape({kept})"
            if output.num_elements == math.prod(kept)
            else f"graph.add_variable({tensor.element_type!r}, {kept}, mapping=...)",
        )
    if output.intersects_with(tensor):
        raise TensorCreationError(
            f"reduce: output '{output.name}' holds elements that are reduced",
            at=at,
            found=f"'{tensor.name}' and '{output.name}' share elements",
            fix="another output; copy it back afterwards",
        )
    if not output.is_parallel_writeable():
        reason, fact = why_not_writeable(output)
        raise GraphConnectionError(
            f"reduce: output '{output.name}' {reason}",
            at=at,
            found=fact,
            fix="a variable of graph.add_variable, each element once",
        )
    graph.tile_mapping(output)  # raises where an element has no tile


def _of_nothing(graph: Graph, way: Operation, result: Tensor, has_tiles: bool) -> list[Program]:
    """Return the steps that fill a result that no element takes part in."""
    if not result.num_elements:
        return []
    if not has_tiles:
        map_linearly(graph, result)
    assert way.identity is not None, "checked before"
    one = graph.add_constant(result.element_type, (1,), [way.identity], "identity", mapping=0)
    return [Copy(one.broadcast(result.num_elements, 0), result)]
