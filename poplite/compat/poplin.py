"""poplin: products of matrices; convolutions (`poplite.compat.convolutions`) and factorisations.

    poplin::createMatMulInputLHS(graph, HALF, {64, 96}, {96, 32}, "w", options, &cache)
    poplin.createMatMulInputLHS(graph, HALF, (64, 96), (96, 32), "w", options, cache)

Arguments stand in the order of the C++ functions: the graph first, then operands, the program, the
debug name, options and the cache. Types of outputs may be left out where C++ has a second form
without them. Options that plans of poplite have are used, `availableMemoryProportion` and
`partialsType`; the others that PopLibs knows are taken, and change nothing.

Source: PopLibs, `poplin/MatMul.hpp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real as _Real
from typing import TYPE_CHECKING, Any

from poplite import ops
from poplite.compat.arguments import (
    checked as _checked,
    sizes_of as _sizes_of,
)
from poplite.compat.codelets import library_codelets as _library_codelets
from poplite.compat.convolution_params import (
    ConvParams as ConvParams,
    InputTransform as InputTransform,
    OutputTransform as OutputTransform,
)
from poplite.compat.convolution_training import (
    addBias as addBias,
    calculateWeightDeltas as calculateWeightDeltas,
    convolutionBiasUpdate as convolutionBiasUpdate,
    convolutionWeightUpdate as convolutionWeightUpdate,
    convolutionWithOutput as convolutionWithOutput,
    createBiases as createBiases,
    createConvOutput as createConvOutput,
    getGradientParams as getGradientParams,
    weightsTransposeChansFlipXY as weightsTransposeChansFlipXY,
)
from poplite.compat.convolutions import (
    convolution as convolution,
    createInput as createInput,
    createWeights as createWeights,
)
from poplite.compat.factorisations import (
    PRODUCTS as _KNOWN,
    cholesky as cholesky,
    choleskyInPlace as choleskyInPlace,
    createCholeskyInput as createCholeskyInput,
    createTriangularSolveInputLHS as createTriangularSolveInputLHS,
    createTriangularSolveInputRHS as createTriangularSolveInputRHS,
    experimental as experimental,
    linspace as linspace,
    meshgrid2d as meshgrid2d,
    triangularMask as triangularMask,
    triangularSolve as triangularSolve,
)
from poplite.compat.options import (
    Options,
    check_known as _check_known,
    last_arguments as _last_arguments,
    memory_share as _memory_share,
)
from poplite.errors import (
    ElementTypeError,
    InvalidOption,
    TensorCreationError,
)
from poplite.expr.tree import Expr
from poplite.graph.connect.ownership import check_own as _check_own
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.matmul.matmul import product as _matrix_product
from poplite.ops.matmul.plan import plan_by as _plan_by
from poplite.ops.matmul.request import (
    Options as _PlanOptions,
    checked_options as _checked_options,
)
from poplite.ops.operands import steps_for as _steps_for
from poplite.poplar.absent import absent_library_names as _absent_library_names
from poplite.program import Sequence as Steps
from poplite.source import here
from poplite.text import clipped, of_type
from poplite.types import FLOAT, HALF, ElementTypeLike, element_type

__all__ = [
    "ConvParams",
    "InputTransform",
    "OutputTransform",
    "PlanningCache",
    "addBias",
    "addCodelets",
    "calculateWeightDeltas",
    "cholesky",
    "choleskyInPlace",
    "convolution",
    "convolutionBiasUpdate",
    "convolutionWeightUpdate",
    "convolutionWithOutput",
    "createBiases",
    "createCholeskyInput",
    "createConvOutput",
    "createInput",
    "createMatMulGroupedInputLHS",
    "createMatMulGroupedInputRHS",
    "createMatMulGroupedOutput",
    "createMatMulInputLHS",
    "createMatMulInputRHS",
    "createMatMulOutput",
    "createTriangularSolveInputLHS",
    "createTriangularSolveInputRHS",
    "createWeights",
    "experimental",
    "getGradientParams",
    "linspace",
    "matMul",
    "matMulAcc",
    "matMulGrouped",
    "matMulGroupedAcc",
    "matMulGroupedWithOutput",
    "matMulReportPlan",
    "matMulWithOutput",
    "meshgrid2d",
    "transposeGroupedMatrix",
    "triangularMask",
    "triangularSolve",
    "weightsTransposeChansFlipXY",
]


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # for which an unknown name is an error
    __getattr__ = _absent_library_names("poplin", __all__)


addCodelets = _library_codelets("poplin")


Shape = Sequence[int]

_TYPES = {"half": HALF, "float": FLOAT}


class PlanningCache:
    """What `poplin::PlanningCache` is; poplite keeps plans by itself."""


@_checked("poplin")
def matMul(
    graph: Graph,
    A: Tensor,
    B: Tensor,
    prog: Steps,
    *arguments: Any,
) -> Tensor:
    """Record the product of two matrices, `poplin::matMul`.

    Args:
        graph: of the matrices.
        A: [m, k] of HALF or FLOAT.
        B: [k, n] of the same type.
        prog: where the steps go.
        *arguments: `[outputType,] debug_context="", options=None, cache=None`.

    Returns:
        A new tensor [m, n].

    Raises:
        the errors of `poplite.ops.matmul`, and InvalidOption for an unknown option.

    >>> import poplite as pl
    >>> graph, prog = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> a = graph.add_variable(pl.FLOAT, (2, 3), "a", mapping=0, initial_value=[[1, 2, 3]] * 2)
    >>> c = matMul(graph, a, a.transpose(), prog, "c")
    >>> engine = pl.Engine(graph, prog)
    >>> engine.run()
    >>> engine.read(c)
    array([[14., 14.],
           [14., 14.]], dtype=float32)
    """
    return _product("matMul", graph, (A, B), prog, arguments, 2)


@_checked("poplin")
def matMulGrouped(
    graph: Graph,
    A: Tensor,
    B: Tensor,
    prog: Steps,
    *arguments: Any,
) -> Tensor:
    """Record a product for each group, `poplin::matMulGrouped`: [g, m, k] by [g, k, n].

    Args:
        graph: of the matrices.
        A: [g, m, k].
        B: [g, k, n] of the same type.
        prog: where the steps go.
        *arguments: as of `matMul`.

    Returns:
        A new tensor [g, m, n].

    Raises:
        the errors of `matMul`.
    """
    return _product("matMulGrouped", graph, (A, B), prog, arguments, 3)


@_checked("poplin")
def matMulWithOutput(
    graph: Graph,
    A: Tensor,
    B: Tensor,
    out: Tensor,
    prog: Steps,
    debug_context: str = "",
    options: Options = None,
    cache: PlanningCache | None = None,
) -> None:
    """Record a product that goes into a tensor, `poplin::matMulWithOutput`.

    Raises:
        the errors of `matMul`.
    """
    _store("matMulWithOutput", graph, out, (A, B), prog, debug_context, options, 2)


@_checked("poplin")
def matMulGroupedWithOutput(
    graph: Graph,
    A: Tensor,
    B: Tensor,
    out: Tensor,
    prog: Steps,
    debug_context: str = "",
    options: Options = None,
    cache: PlanningCache | None = None,
) -> None:
    """Record products of groups that go into a tensor, `poplin::matMulGroupedWithOutput`.

    Raises:
        the errors of `matMul`.
    """
    _store("matMulGroupedWithOutput", graph, out, (A, B), prog, debug_context, options, 3)


@_checked("poplin")
def matMulAcc(
    graph: Graph,
    C: Tensor,
    k: float | Tensor,
    A: Tensor,
    B: Tensor,
    prog: Steps,
    debug_context: str = "",
    options: Options = None,
    cache: PlanningCache | None = None,
) -> None:
    """Record `C += k * A B`, `poplin::matMulAcc`; k is a number or a tensor of one element.

    Raises:
        the errors of `matMul`.
    """
    _accumulate("matMulAcc", graph, C, k, (A, B), prog, debug_context, options, 2)


@_checked("poplin")
def matMulGroupedAcc(
    graph: Graph,
    C: Tensor,
    k: float | Tensor,
    A: Tensor,
    B: Tensor,
    prog: Steps,
    debug_context: str = "",
    options: Options = None,
    cache: PlanningCache | None = None,
) -> None:
    """Record `C += k * A B` for each group, `poplin::matMulGroupedAcc`.

    Raises:
        the errors of `matMul`.
    """
    _accumulate("matMulGroupedAcc", graph, C, k, (A, B), prog, debug_context, options, 3)


@_checked("poplin")
def createMatMulInputLHS(graph: Graph, inputType: ElementTypeLike, *arguments: Any) -> Tensor:
    """Make the left matrix where a plan wants it, `poplin::createMatMulInputLHS`.

    Args:
        graph: where it goes.
        inputType: HALF or FLOAT.
        *arguments: `[outputType,] aShape, bShape, debug_context="", options=None, cache=None`.

    Returns:
        A new tensor of aShape, (m, k).

    Raises:
        the errors of `poplite.ops.plan_matmul`, and InvalidOption for an unknown option.
    """
    plan, name = _planned("createMatMulInputLHS", graph, inputType, arguments, 2)
    return plan.create_left(name or "lhs")


@_checked("poplin")
def createMatMulInputRHS(graph: Graph, inputType: ElementTypeLike, *arguments: Any) -> Tensor:
    """Make the right matrix where a plan wants it: bShape, (k, n); else as the left one.

    Raises:
        the errors of `createMatMulInputLHS`.
    """
    plan, name = _planned("createMatMulInputRHS", graph, inputType, arguments, 2)
    return plan.create_right(name or "rhs")


@_checked("poplin")
def createMatMulOutput(graph: Graph, inputType: ElementTypeLike, *arguments: Any) -> Tensor:
    """Make the product where a plan makes it: (m, n); else as the left matrix.

    Raises:
        the errors of `createMatMulInputLHS`.
    """
    plan, name = _planned("createMatMulOutput", graph, inputType, arguments, 2)
    return plan.create_output(name or "out")


@_checked("poplin")
def createMatMulGroupedInputLHS(
    graph: Graph,
    inputType: ElementTypeLike,
    *arguments: Any,
) -> Tensor:
    """Make the left matrices of groups: aShape, (g, m, k); else as of one product.

    Raises:
        the errors of `createMatMulInputLHS`.
    """
    plan, name = _planned("createMatMulGroupedInputLHS", graph, inputType, arguments, 3)
    return _grouped(plan.create_left(name or "lhs"))


@_checked("poplin")
def createMatMulGroupedInputRHS(
    graph: Graph,
    inputType: ElementTypeLike,
    *arguments: Any,
) -> Tensor:
    """Make the right matrices of groups: bShape, (g, k, n); else as of one product.

    Raises:
        the errors of `createMatMulInputLHS`.
    """
    plan, name = _planned("createMatMulGroupedInputRHS", graph, inputType, arguments, 3)
    return _grouped(plan.create_right(name or "rhs"))


@_checked("poplin")
def createMatMulGroupedOutput(
    graph: Graph,
    inputType: ElementTypeLike,
    *arguments: Any,
) -> Tensor:
    """Make the products of groups where a plan makes them: (g, m, n).

    Raises:
        the errors of `createMatMulInputLHS`.
    """
    plan, name = _planned("createMatMulGroupedOutput", graph, inputType, arguments, 3)
    return _grouped(plan.create_output(name or "out"))


@_checked("poplin")
def transposeGroupedMatrix(A: Tensor) -> Tensor:
    """Return a view of [g, r, c] as [g, c, r], `poplin::transposeGroupedMatrix`.

    >>> import poplite as pl
    >>> transposeGroupedMatrix(pl.Graph().add_variable(pl.HALF, (2, 3, 4))).shape
    (2, 4, 3)
    """
    return A.dim_shuffle((0, 2, 1))


@_checked("poplin")
def matMulReportPlan(
    out: Any,
    graph: Graph,
    inputType: ElementTypeLike,
    outputType: ElementTypeLike,
    aShape: Shape,
    bShape: Shape,
    options: Options = None,
    cache: PlanningCache | None = None,
) -> None:
    """Write the plan of a product to a text file or stream, `poplin::matMulReportPlan`.

    Raises:
        the errors of `createMatMulInputLHS`.
    """
    arguments = (outputType, aShape, bShape, "", options)
    rank = 3 if len(_sizes_of("poplin.matMulReportPlan", "aShape", aShape)) == 3 else 2
    plan, _ = _planned("matMulReportPlan", graph, inputType, arguments, rank)
    if not callable(getattr(out, "write", None)):
        raise ElementTypeError(
            f"poplin.matMulReportPlan: out is {clipped(out)}",
            found=of_type(out),
            fix="a text file, or sys.stdout",
        )
    out.write(f"{plan}\n")


def _product(
    what: str,
    graph: Graph,
    operands: tuple[Tensor, Tensor],
    prog: Steps,
    arguments: tuple[Any, ...],
    rank: int,
) -> Tensor:
    output = operands[0].element_type
    if arguments and not isinstance(arguments[0], str):
        output = element_type(arguments[0])
        arguments = arguments[1:]
    name, options, _ = _last_arguments(f"poplin.{what}", arguments)
    expr = _matmul(what, graph, operands, options, rank, output)
    steps = _steps_for(f"poplin.{what}", graph, name or what, prog)
    return ops.map(expr, name=name or what, program=steps)


def _store(
    what: str,
    graph: Graph,
    out: Tensor,
    operands: tuple[Tensor, Tensor],
    prog: Steps,
    name: str,
    options: Options,
    rank: int,
) -> None:
    expr = _matmul(what, graph, operands, options, rank, out.element_type)
    _check_result(what, graph, out, expr)
    steps = _steps_for(f"poplin.{what}", graph, name or what, prog)
    ops.assign(out, expr, name=name or what, program=steps)


def _accumulate(
    what: str,
    graph: Graph,
    C: Tensor,
    k: float | Tensor,
    operands: tuple[Tensor, Tensor],
    prog: Steps,
    name: str,
    options: Options,
    rank: int,
) -> None:
    expr = _matmul(what, graph, operands, options, rank, C.element_type)
    _check_result(what, graph, C, expr)
    if isinstance(k, Tensor):
        _check_own(graph, k, f"poplin.{what}, k", here())
    if not (k.num_elements == 1 if isinstance(k, Tensor) else isinstance(k, _Real)):
        raise InvalidOption(
            f"poplin.{what}: k is {clipped(k)}",
            found=of_type(k),
            fix="a number such as 1.0, or a tensor of one element",
        )
    kind = FLOAT if C.element_type is HALF else C.element_type  # HALF is rounded once
    factor = ops.cast(k.reshape(()), kind) if isinstance(k, Tensor) else k
    changed = ops.cast(C, kind) + factor * ops.cast(expr, kind)
    steps = _steps_for(f"poplin.{what}", graph, name or what, prog)
    ops.assign(C, ops.cast(changed, C.element_type), name=name or what, program=steps)


def _check_result(what: str, graph: Graph, out: Tensor, product: Expr) -> None:
    """Refuse what cannot take a product."""
    _check_own(graph, out, f"poplin.{what}", here())
    if out.shape != product.shape:
        raise TensorCreationError(
            f"poplin.{what}: '{out.name}' has shape {out.shape}",
            found=f"the product has shape {product.shape}",
            fix=f"a tensor of shape {product.shape}",
        )


def _matmul(
    what: str,
    graph: Graph,
    operands: tuple[Tensor, Tensor],
    options: Options,
    rank: int,
    result: ElementTypeLike,
) -> Expr:
    for each in operands:
        _check_own(graph, each, f"poplin.{what}", here())
        if each.rank != rank:
            form = "[g, m, k] by [g, k, n]" if rank == 3 else "[m, k] by [k, n]"
            raise TensorCreationError(
                f"poplin.{what}: '{each.name}' has shape {each.shape}",
                found=f"it multiplies {form}",
                fix="poplin.matMul of matrices, matMulGrouped of groups of them",
            )
    found = _plan_options(what, options, operands[0].element_type, result)
    return _matrix_product(*operands, found, f"poplin.{what}(graph, {{}}, {{}}, ...)")


def _planned(
    what: str, graph: Graph, kind: ElementTypeLike, arguments: tuple[Any, ...], rank: int
) -> tuple[ops.MatMulPlan, str]:
    """Return the plan and the name that arguments ask for."""
    result = kind
    if arguments and not isinstance(arguments[0], Sequence):
        result, arguments = arguments[0], arguments[1:]
    shapes = [
        _sizes_of(f"poplin.{what}", name, shape)
        for name, shape in zip(("aShape", "bShape"), arguments, strict=False)
    ]
    if [len(shape) for shape in shapes] != [rank, rank]:
        raise TensorCreationError(
            f"poplin.{what}: shapes {', '.join(map(clipped, arguments[:2])) or 'are left out'}",
            found=f"two shapes of {rank} sizes each are needed",
            fix=f"poplin.{what}(graph, HALF, (4, 64, 96)[-{rank}:], (4, 96, 32)[-{rank}:])",
        )
    left, right = shapes
    if (*left[:-2], left[-1]) != right[:-1]:
        raise TensorCreationError(
            f"poplin.{what}: shapes {arguments[0]} and {arguments[1]} do not fit",
            found="columns of the left are rows of the right; groups are as many",
            fix="the shapes of the operands of matMul",
        )
    name, options, _ = _last_arguments(f"poplin.{what}", arguments[2:])
    element = element_type(kind)
    sizes = left[0] if rank == 3 else 1, left[-2], left[-1], right[-1]
    found = _plan_options(what, options, element, result)
    return _plan_by(graph, sizes, element, found), name


def _grouped(tensor: Tensor) -> Tensor:
    return tensor if tensor.rank == 3 else tensor.reshape((1, *tensor.shape))


def _plan_options(
    what: str, options: Options, element: ElementTypeLike, result: ElementTypeLike
) -> _PlanOptions:
    """Return PopLibs' options as those of a plan."""
    _check_known(f"poplin.{what}", options, _KNOWN)
    partials: ElementTypeLike | None = None
    for name, value in (options or {}).items():
        if name == "partialsType":
            if value not in _TYPES:
                raise InvalidOption(
                    f"poplin.{what}: partialsType is {clipped(value)}",
                    found=of_type(value),
                    fix="'half' or 'float'",
                )
            partials = FLOAT if element_type(element) is FLOAT else _TYPES[value]
    memory = _memory_share(f"poplin.{what}", options)
    return _checked_options(f"poplin.{what}", partials, result, memory, None)
