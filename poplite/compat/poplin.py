"""poplin: products of matrices, with convolutions (`poplite.compat.convolutions`) as names.

    poplin::createMatMulInputLHS(graph, HALF, {64, 96}, {96, 32}, "w", options, &cache)
    poplin.createMatMulInputLHS(graph, HALF, (64, 96), (96, 32), "w", options, cache)

Arguments have the order of the C++ functions: the graph first, then operands, the program, the
debug name, options and the cache. Types of outputs may be left out where C++ has a second form
without them. Options that plans of poplite have are used, `availableMemoryProportion` and
`partialsType`; the others that PopLibs knows are taken, and change nothing.

Source: PopLibs, `poplin/MatMul.hpp`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

from poplite import ops
from poplite.compat.arguments import (
    Options,
    bound,
    check_known,
    checked,
    library_codelets as _library_codelets,
    memory_share,
    sizes_of,
)
from poplite.compat.convolution_params import (
    ConvParams as ConvParams,
    InputTransform as InputTransform,
    OutputTransform as OutputTransform,
)
from poplite.compat.convolutions import (
    addBias as addBias,
    calculateWeightDeltas as calculateWeightDeltas,
    convolution as convolution,
    convolutionBiasUpdate as convolutionBiasUpdate,
    convolutionWeightUpdate as convolutionWeightUpdate,
    convolutionWithOutput as convolutionWithOutput,
    createBiases as createBiases,
    createConvOutput as createConvOutput,
    createInput as createInput,
    createWeights as createWeights,
    getGradientParams as getGradientParams,
    weightsTransposeChansFlipXY as weightsTransposeChansFlipXY,
)
from poplite.compat.factorisations import (
    PRODUCTS,
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
from poplite.errors import ElementTypeError, TensorCreationError
from poplite.expr.tree import Expr
from poplite.graph.connect.rules import check_own
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.operands import beside, steps_for
from poplite.ops.products.layout import Options as PlanOptions, checked_options
from poplite.ops.products.matmul import plan_by, product
from poplite.poplar.absent import shown as _shown
from poplite.program import Sequence as Steps
from poplite.text import clipped, of_type
from poplite.types import FLOAT, HALF, ElementTypeLike, element_type

__all__ = _shown(
    globals(),
    """
    ConvParams InputTransform OutputTransform PlanningCache addBias addCodelets
    calculateWeightDeltas cholesky choleskyInPlace convolution convolutionBiasUpdate
    convolutionWeightUpdate convolutionWithOutput createBiases createCholeskyInput
    createConvOutput createInput createMatMulGroupedInputLHS createMatMulGroupedInputRHS
    createMatMulGroupedOutput createMatMulInputLHS createMatMulInputRHS createMatMulOutput
    createTriangularSolveInputLHS createTriangularSolveInputRHS createWeights experimental
    getGradientParams linspace matMul matMulAcc matMulGrouped matMulGroupedAcc
    matMulGroupedWithOutput matMulReportPlan matMulWithOutput meshgrid2d transposeGroupedMatrix
    triangularMask triangularSolve weightsTransposeChansFlipXY
    """,
    "poplin",
)


addCodelets = _library_codelets("poplin")


Shape = Sequence[int]

_TYPES = {"half": HALF, "float": FLOAT}


class PlanningCache:
    """What `poplin::PlanningCache` is; poplite keeps plans by itself."""


@bound("poplin")
def matMul(
    graph: Graph,
    A: Tensor,
    B: Tensor,
    prog: Steps,
    debug_context: str = "",
    options: Options = None,
    cache: PlanningCache | None = None,
    *,
    output_type: ElementTypeLike | None = None,
) -> Tensor:
    """Record the product of two matrices, `poplin::matMul`.

    Args:
        graph: of the matrices.
        A: [m, k] of HALF or FLOAT.
        B: [k, n] of the same type.
        prog: where the steps go.
        debug_context: name of the product.
        options: those of PopLibs, of which `availableMemoryProportion` and `partialsType` are used.
        cache: of plans, which poplite keeps by itself.
        output_type: of the product, as in C++ before the name; by default that of the matrices.

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
    return _product("matMul", graph, (A, B), prog, debug_context, options, output_type, 2)


@bound("poplin")
def matMulGrouped(
    graph: Graph,
    A: Tensor,
    B: Tensor,
    prog: Steps,
    debug_context: str = "",
    options: Options = None,
    cache: PlanningCache | None = None,
    *,
    output_type: ElementTypeLike | None = None,
) -> Tensor:
    """Record a product for each group, `poplin::matMulGrouped`: [g, m, k] by [g, k, n].

    Args:
        graph: of the matrices.
        A: [g, m, k].
        B: [g, k, n] of the same type.
        prog: where the steps go.
        debug_context: as of `matMul`, and what follows it.
        options: likewise.
        cache: likewise.
        output_type: likewise.

    Returns:
        A new tensor [g, m, n].

    Raises:
        the errors of `matMul`.
    """
    return _product("matMulGrouped", graph, (A, B), prog, debug_context, options, output_type, 3)


@checked("poplin")
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


@checked("poplin")
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


@checked("poplin")
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


@checked("poplin")
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


def _made_by_plan(
    name: str, rank: int, create: Callable[[ops.MatMulPlan, str], Tensor]
) -> Callable[..., Tensor]:
    """Return the function that makes one of the matrices of a product."""

    def made(
        graph: Graph,
        inputType: ElementTypeLike,
        aShape: Shape,
        bShape: Shape,
        debug_context: str = "",
        options: Options = None,
        cache: PlanningCache | None = None,
        *,
        output_type: ElementTypeLike | None = None,
    ) -> Tensor:
        """Make a matrix of a product where a plan wants it, or groups of them.

        Args:
            graph: where it goes.
            inputType: HALF or FLOAT.
            aShape: (m, k); of groups (g, m, k).
            bShape: (k, n); of groups (g, k, n).
            debug_context: name of the matrix.
            options: as of `matMul`.
            cache: likewise.
            output_type: of the product, as in C++ before the shapes; by default `inputType`.

        Returns:
            A new tensor of the shape of the left or right operand, or of the product.

        Raises:
            the errors of `poplite.ops.plan_matmul`, and InvalidOption for an unknown option.
        """
        plan = _planned(name, graph, inputType, output_type, (aShape, bShape), options, rank)
        matrix = create(plan, debug_context)
        return matrix if matrix.rank == rank else matrix.reshape((1, *matrix.shape))

    made.__name__ = made.__qualname__ = name
    return bound("poplin")(made)


def _left(plan: ops.MatMulPlan, name: str) -> Tensor:
    return plan.create_left(name or "lhs")


def _right(plan: ops.MatMulPlan, name: str) -> Tensor:
    return plan.create_right(name or "rhs")


def _output(plan: ops.MatMulPlan, name: str) -> Tensor:
    return plan.create_output(name or "out")


createMatMulInputLHS = _made_by_plan("createMatMulInputLHS", 2, _left)
createMatMulInputRHS = _made_by_plan("createMatMulInputRHS", 2, _right)
createMatMulOutput = _made_by_plan("createMatMulOutput", 2, _output)
createMatMulGroupedInputLHS = _made_by_plan("createMatMulGroupedInputLHS", 3, _left)
createMatMulGroupedInputRHS = _made_by_plan("createMatMulGroupedInputRHS", 3, _right)
createMatMulGroupedOutput = _made_by_plan("createMatMulGroupedOutput", 3, _output)


@checked("poplin")
def transposeGroupedMatrix(A: Tensor) -> Tensor:
    """Return a view of [g, r, c] as [g, c, r], `poplin::transposeGroupedMatrix`.

    >>> import poplite as pl
    >>> transposeGroupedMatrix(pl.Graph().add_variable(pl.HALF, (2, 3, 4))).shape
    (2, 4, 3)
    """
    return A.dim_shuffle((0, 2, 1))


@checked("poplin")
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
    shapes = aShape, bShape
    rank = 3 if len(sizes_of("poplin.matMulReportPlan", "aShape", aShape)) == 3 else 2
    plan = _planned("matMulReportPlan", graph, inputType, outputType, shapes, options, rank)
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
    name: str,
    options: Options,
    output_type: ElementTypeLike | None,
    rank: int,
) -> Tensor:
    output = operands[0].element_type if output_type is None else element_type(output_type)
    expr = _matmul(what, graph, operands, options, rank, output)
    steps = steps_for(f"poplin.{what}", graph, name or what, prog)
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
    steps = steps_for(f"poplin.{what}", graph, name or what, prog)
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
        check_own(graph, k, f"poplin.{what}, k")
    if not (k.num_elements == 1 if isinstance(k, Tensor) else isinstance(k, Real)):
        raise beside(f"poplin.{what}", "k", k, "a number such as 1.0, or a tensor of one element")
    kind = FLOAT if C.element_type is HALF else C.element_type  # HALF is rounded once
    factor = ops.cast(k.reshape(()), kind) if isinstance(k, Tensor) else k
    changed = ops.cast(C, kind) + factor * ops.cast(expr, kind)
    steps = steps_for(f"poplin.{what}", graph, name or what, prog)
    ops.assign(C, ops.cast(changed, C.element_type), name=name or what, program=steps)


def _check_result(what: str, graph: Graph, out: Tensor, product: Expr) -> None:
    """Refuse what cannot take a product."""
    check_own(graph, out, f"poplin.{what}")
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
        check_own(graph, each, f"poplin.{what}")
        if each.rank != rank:
            form = "[g, m, k] by [g, k, n]" if rank == 3 else "[m, k] by [k, n]"
            raise TensorCreationError(
                f"poplin.{what}: '{each.name}' has shape {each.shape}",
                found=f"it multiplies {form}",
                fix="poplin.matMul of matrices, matMulGrouped of groups of them",
            )
    found = _plan_options(what, options, operands[0].element_type, result)
    return product(*operands, found, f"poplin.{what}(graph, {{}}, {{}}, ...)")


def _planned(
    what: str,
    graph: Graph,
    kind: ElementTypeLike,
    result: ElementTypeLike | None,
    given: tuple[Shape, Shape],
    options: Options,
    rank: int,
) -> ops.MatMulPlan:
    """Return the plan that arguments ask for."""
    left, right = (
        sizes_of(f"poplin.{what}", name, shape)
        for name, shape in zip(("aShape", "bShape"), given, strict=True)
    )
    if [len(left), len(right)] != [rank, rank]:
        raise TensorCreationError(
            f"poplin.{what}: shapes {', '.join(map(clipped, given))}",
            found=f"two shapes of {rank} sizes each are needed",
            fix=f"poplin.{what}(graph, HALF, (4, 64, 96)[-{rank}:], (4, 96, 32)[-{rank}:])",
        )
    if (*left[:-2], left[-1]) != right[:-1]:
        raise TensorCreationError(
            f"poplin.{what}: shapes {given[0]} and {given[1]} do not fit",
            found="columns of the left are rows of the right; groups are as many",
            fix="the shapes of the operands of matMul",
        )
    element = element_type(kind)
    sizes = left[0] if rank == 3 else 1, left[-2], left[-1], right[-1]
    found = _plan_options(what, options, element, kind if result is None else result)
    return plan_by(graph, sizes, element, found)


def _plan_options(
    what: str, options: Options, element: ElementTypeLike, result: ElementTypeLike
) -> PlanOptions:
    """Return PopLibs' options as those of a plan."""
    check_known(f"poplin.{what}", options, PRODUCTS)
    partials: ElementTypeLike | None = None
    for name, value in (options or {}).items():
        if name == "partialsType":
            if value not in _TYPES:
                raise beside(f"poplin.{what}", "partialsType", value, "'half' or 'float'")
            partials = FLOAT if element_type(element) is FLOAT else _TYPES[value]
    memory = memory_share(f"poplin.{what}", options)
    return checked_options(f"poplin.{what}", partials, result, memory, None)
