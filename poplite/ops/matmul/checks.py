"""What products of matrices and their plans refuse."""

from __future__ import annotations

import math
from keyword import iskeyword
from typing import Any

from poplite.errors import (
    ElementTypeError,
    InvalidMachineModel,
    SizeOverflowError,
    TensorCreationError,
)
from poplite.graph.connect.ownership import check_own
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.text import type_and_shape
from poplite.machine.target import Target
from poplite.ops.matmul.grid import MatMulPlan, Three
from poplite.program import Sequence
from poplite.program.sequence import check_appended, check_graph
from poplite.source import here
from poplite.text import clipped, integer_or_none
from poplite.types import FLOAT, HALF, ElementType
from poplite.view import Storage

MOST_PRODUCTS = 2**50
"""Multiplications of two elements; cycles of more might not fit 64 bits."""


def check_request(
    target: Target,
    element: type[ElementType[Any]],
    partials: type[ElementType[Any]],
    sizes: tuple[object, object, object],
) -> Three:
    """Refuse what no plan is made for.

    Args:
        target: the machine.
        element: of the matrices.
        partials: of what tiles come to.
        sizes: rows, depth and columns, as the user gave them.

    Returns:
        The sizes.

    Raises:
        InvalidMachineModel, ElementTypeError, TensorCreationError, SizeOverflowError: as
            `plan_matmul` says.

    >>> check_request(Target(), FLOAT, FLOAT, (4, 5, 6))
    (4, 5, 6)
    """
    at = here()
    if not isinstance(target, Target):
        raise InvalidMachineModel(
            f"plan_matmul: {clipped(target)} is no target",
            at=at,
            found=f"its type is {type(target).__name__}, where a Target is needed",
            fix="plan_matmul(graph.target, ...)",
        )
    if element not in (HALF, FLOAT) or partials not in (element, FLOAT):
        raise ElementTypeError(
            f"matmul of {element!r} with partials of {partials!r}",
            at=at,
            found="the AMP unit multiplies HALF with partials of HALF or FLOAT, FLOAT with FLOAT",
            fix="plan_matmul(target, HALF, ...); integers take a vertex of your own",
        )
    rows, depth, columns = (integer_or_none(size) for size in sizes)
    given = [clipped(size) for size in sizes]
    what = f"matmul of [{given[0]}, {given[1]}] and [{given[1]}, {given[2]}]"
    if rows is None or depth is None or columns is None or min(rows, depth, columns) < 0:
        raise TensorCreationError(
            what,
            at=at,
            found="sizes are whole numbers from 0",
            fix=f"plan_matmul(graph.target, {element!r}, *left.shape, right.shape[1])",
        )
    if rows * depth * columns > MOST_PRODUCTS:
        raise SizeOverflowError(
            what,
            at=at,
            found=f"that multiplies {rows * depth * columns:,} times, but the most is "
            f"{MOST_PRODUCTS:,}",
            fix="smaller matrices",
        )
    return rows, depth, columns


def check_operands(graph: Graph, left: Tensor, right: Tensor, program: Sequence) -> None:
    """Refuse what cannot be multiplied, or nowhere be appended.

    Args:
        graph: where it would be multiplied.
        left: the left matrix.
        right: the right matrix.
        program: where steps would go.

    Raises:
        ElementTypeError, TensorCreationError, GraphConnectionError, InvalidTileMapping,
        ControlProgramError: as `matmul` says.
    """
    at, usage = here(), "matmul(graph, left, right, program)"
    check_appended(usage, graph, program)
    for tensor in (left, right):
        check_own(graph, tensor, "matmul", at, usage)
    if left.element_type is not right.element_type or left.element_type not in (HALF, FLOAT):
        raise ElementTypeError(
            f"matmul: '{left.name}' is {left.element_type!r} and '{right.name}' is "
            f"{right.element_type!r}",
            at=at,
            found=f"{type_and_shape(left)} and {type_and_shape(right)}",
            fix="two tensors of HALF, or two of FLOAT; integers take a vertex of your own",
        )
    if left.rank != 2 or right.rank != 2 or left.shape[1] != right.shape[0]:
        raise TensorCreationError(
            f"matmul: shapes {left.shape} of '{left.name}' and {right.shape} of '{right.name}' do "
            "not fit",
            at=at,
            found="as many columns of the left as rows of the right matrix are needed",
            fix=_fitting(left, right),
        )
    for tensor in (left, right):
        graph.tile_mapping(tensor)  # raises where an element has no tile


def _fitting(left: Tensor, right: Tensor) -> str:
    """Return how two tensors could be multiplied whose shapes do not fit."""
    in_code = _is_variable(left) and _is_variable(right)
    pairs = [
        (one, other)
        for one in _as_matrix(left, (1, left.num_elements), "" if in_code else "left")
        for other in _as_matrix(right, (right.num_elements, 1), "" if in_code else "right")
    ]
    for (one, shape), (other, other_shape) in pairs:
        if len(shape) == len(other_shape) == 2 and shape[1] == other_shape[0]:
            how = f"matmul(graph, {one}, {other}, program)" if in_code else f"{one}, by {other}"
            return f"{how}: {shape} by {other_shape}"
    if max(left.rank, right.rank) > 2:
        return "one product for each pair of matrices, such as t[i] of a tensor of rank 3"
    depth = left.shape[-1] if left.shape else 1
    operand = f"'{right.name}'" if in_code else "a right operand"
    return f"{operand} of shape ({depth}, columns); no transposition of the two fits"


def _is_variable(tensor: Tensor) -> bool:
    """Tell whether a tensor is all of a variable, whose name may be that in the user's code."""
    space, name = tensor.view.space, tensor.name
    if not isinstance(space, Storage) or not name.isidentifier() or iskeyword(name):
        return False
    return tensor.num_elements > 0 and tensor.view == tensor.graph.variable_of(space).view


def _as_matrix(
    tensor: Tensor, vector: tuple[int, int], side: str
) -> list[tuple[str, tuple[int, ...]]]:
    """Return the matrices that a tensor may be meant as, with what makes them of it.

    Args:
        tensor: one of the operands.
        vector: its shape where it is a vector.
        side: which one, for words; empty for code.
    """
    name, shape = f"the {side} operand" if side else tensor.name, tensor.shape
    transposed, reshaped = (", transposed", ", reshaped to ") if side else (".T", ".reshape")
    if len(shape) == 2:
        return [(name, shape), (f"{name}{transposed}", shape[::-1])]
    rows = vector if len(shape) < 2 else (math.prod(shape[:-1]), shape[-1])
    if len(shape) > 2 and vector[0] != 1:
        return [(name, shape)]
    return [(f"{name}{reshaped}{rows}" if side else f"{name}{reshaped}({rows})", rows)]


def check_plan(graph: Graph, plan: MatMulPlan, what: str) -> None:
    """Refuse what is no plan, or none for this graph.

    Args:
        graph: where the product would be made.
        plan: how.
        what: the operation, for messages.

    Raises:
        TensorCreationError: when it is something else, leaves out products, or takes more tiles
            than there are.
        ControlProgramError: when the graph is none.
    """
    check_graph(f"{what}(graph, plan)", graph)
    again = "plan_matmul(graph.target, element, rows, depth, columns)"
    if not isinstance(plan, MatMulPlan):
        raise TensorCreationError(
            f"{what}: {clipped(plan)} is no plan",
            at=here(),
            found=f"its type is {type(plan).__name__}, where a MatMulPlan is needed",
            fix=again,
        )
    if min(*plan.block, *plan.grid) < 1 or plan.left.across != plan.grid[1]:
        raise TensorCreationError(
            f"{what}: a grid of {plan.grid} tiles for blocks of {plan.block} does not make the "
            "whole product",
            at=here(),
            found=f"tiles by rows, depth and columns; all {plan.depth:,} of the depth are "
            "multiplied in one pass",
            fix=again,
        )
    if plan.tiles > graph.target.tiles:
        raise TensorCreationError(
            f"{what}: the plan takes {plan.tiles:,} tiles, but the graph has "
            f"{graph.target.tiles:,}",
            at=here(),
            found="it was made for another target",
            fix=again,
        )


def check_sizes(plan: MatMulPlan, left: Tensor, sizes: Three) -> None:
    """Refuse a plan for other matrices.

    Args:
        plan: how the product would be made.
        left: the left matrix.
        sizes: rows, depth and columns.

    Raises:
        TensorCreationError: when it is.
    """
    planned = plan.rows, plan.depth, plan.columns
    if planned != sizes or plan.element_type is not left.element_type:
        raise TensorCreationError(
            f"matmul: the plan is for {plan.element_type!r} of sizes {planned}, but the matrices "
            f"are {left.element_type!r} of sizes {sizes}",
            at=here(),
            found="sizes are rows, depth and columns",
            fix=f"plan_matmul(graph.target, {left.element_type!r}, *{sizes})",
        )
