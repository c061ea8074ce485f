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
from typing import Any, NamedTuple

from poplite import ops
from poplite.compat.arguments import (
    Options,
    bound,
    check_known,
    checked,
    library_codelets as _library_codelets,
    memory_share,
    sizes_of,
    with_first,
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
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor, check_own
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


class _Form(NamedTuple):
    """A function of products: its name, and how many dimensions it multiplies, 3 of groups."""

    name: str
    rank: int

    @property
    def called(self) -> str:
        """The name in messages."""
        return f"poplin.{self.name}"


def _multiply(  # noqa: D417  (users do not give the form)
    form: _Form,
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
    """Record a product, `poplin::{name}`: of two matrices, or of those of each group.

    Args:
        graph: of the matrices.
        A: [m, k] of HALF or FLOAT; of groups [g, m, k].
        B: [k, n] of the same type; of groups [g, k, n].
        prog: where the steps go.
        debug_context: name of the product.
        options: those of PopLibs, of which `availableMemoryProportion` and `partialsType` are used.
        cache: of plans, which poplite keeps by itself.
        output_type: of the product, as in C++ before the name; by default that of the matrices.

    Returns:
        A new tensor [m, n]; of groups [g, m, n].

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
    output = A.element_type if output_type is None else element_type(output_type)
    expr, name = _matmul(form, graph, (A, B), options, output), debug_context or form.name
    return ops.map(expr, name=name, program=steps_for(form.called, graph, name, prog))


def _store(
    form: _Form,
    graph: Graph,
    A: Tensor,
    B: Tensor,
    out: Tensor,
    prog: Steps,
    debug_context: str = "",
    options: Options = None,
    cache: PlanningCache | None = None,
) -> None:
    """Record a product that goes into a tensor, `poplin::{name}`.

    Raises:
        the errors of `matMul`.
    """
    expr, name = _fitting(form, graph, (A, B), options, out), debug_context or form.name
    ops.assign(out, expr, name=name, program=steps_for(form.called, graph, name, prog))


def _accumulate(
    form: _Form,
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
    """Record `C += k * A B`, `poplin::{name}`; k is a number or a tensor of one element.

    Raises:
        the errors of `matMul`.
    """
    expr, name = _fitting(form, graph, (A, B), options, C), debug_context or form.name
    if isinstance(k, Tensor):
        check_own(graph, k, f"{form.called}, k")
    if not (k.num_elements == 1 if isinstance(k, Tensor) else isinstance(k, Real)):
        raise beside(form.called, "k", k, "a number such as 1.0, or a tensor of one element")
    kind = FLOAT if C.element_type is HALF else C.element_type  # HALF is rounded once
    factor = ops.cast(k.reshape(()), kind) if isinstance(k, Tensor) else k
    changed = ops.cast(ops.cast(C, kind) + factor * ops.cast(expr, kind), C.element_type)
    ops.assign(C, changed, name=name, program=steps_for(form.called, graph, name, prog))


matMul = bound("poplin", "matMul")(with_first(_multiply, _Form("matMul", 2)))
matMulGrouped = bound("poplin", "matMulGrouped")(with_first(_multiply, _Form("matMulGrouped", 3)))
matMulWithOutput, matMulGroupedWithOutput = (
    checked("poplin", form.name)(with_first(_store, form))
    for form in (_Form("matMulWithOutput", 2), _Form("matMulGroupedWithOutput", 3))
)
matMulAcc, matMulGroupedAcc = (
    checked("poplin", form.name)(with_first(_accumulate, form))
    for form in (_Form("matMulAcc", 2), _Form("matMulGroupedAcc", 3))
)


def _made_by_plan(
    form: _Form, create: Callable[[ops.MatMulPlan, str], Tensor], usual: str
) -> Callable[..., Tensor]:
    """Return the function that makes one of the matrices of a product."""

    @bound("poplin", form.name)
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
        plan = _planned(form, graph, inputType, output_type, (aShape, bShape), options)
        matrix = create(plan, debug_context or usual)
        return matrix if matrix.rank == form.rank else matrix.reshape((1, *matrix.shape))

    return made


_LEFT, _RIGHT = (ops.MatMulPlan.create_left, "lhs"), (ops.MatMulPlan.create_right, "rhs")
_OUTPUT = ops.MatMulPlan.create_output, "out"

createMatMulInputLHS = _made_by_plan(_Form("createMatMulInputLHS", 2), *_LEFT)
createMatMulInputRHS = _made_by_plan(_Form("createMatMulInputRHS", 2), *_RIGHT)
createMatMulOutput = _made_by_plan(_Form("createMatMulOutput", 2), *_OUTPUT)
createMatMulGroupedInputLHS = _made_by_plan(_Form("createMatMulGroupedInputLHS", 3), *_LEFT)
createMatMulGroupedInputRHS = _made_by_plan(_Form("createMatMulGroupedInputRHS", 3), *_RIGHT)
createMatMulGroupedOutput = _made_by_plan(_Form("createMatMulGroupedOutput", 3), *_OUTPUT)


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
    rank = 3 if len(sizes_of("poplin.matMulReportPlan", "aShape", aShape)) == 3 else 2
    form = _Form("matMulReportPlan", rank)
    plan = _planned(form, graph, inputType, outputType, (aShape, bShape), options)
    if not callable(getattr(out, "write", None)):
        raise ElementTypeError(
            f"poplin.matMulReportPlan: out is {clipped(out)}",
            found=of_type(out),
            fix="a text file, or sys.stdout",
        )
    out.write(f"{plan}\n")


def _fitting(
    form: _Form, graph: Graph, operands: tuple[Tensor, Tensor], options: Options, out: Tensor
) -> Expr:
    """Return a product, or refuse what cannot take it."""
    expr = _matmul(form, graph, operands, options, out.element_type)
    check_own(graph, out, form.called)
    if out.shape != expr.shape:
        raise TensorCreationError(
            f"{form.called}: '{out.name}' has shape {out.shape}",
            found=f"the product has shape {expr.shape}",
            fix=f"a tensor of shape {expr.shape}",
        )
    return expr


def _matmul(
    form: _Form,
    graph: Graph,
    operands: tuple[Tensor, Tensor],
    options: Options,
    result: ElementTypeLike,
) -> Expr:
    for each in operands:
        check_own(graph, each, form.called)
        if each.rank != form.rank:
            sizes = "[g, m, k] by [g, k, n]" if form.rank == 3 else "[m, k] by [k, n]"
            raise TensorCreationError(
                f"{form.called}: '{each.name}' has shape {each.shape}",
                found=f"it multiplies {sizes}",
                fix="poplin.matMul of matrices, matMulGrouped of groups of them",
            )
    found = _plan_options(form.called, options, operands[0].element_type, result)
    return product(*operands, found, f"{form.called}(graph, {{}}, {{}}, ...)")


def _planned(
    form: _Form,
    graph: Graph,
    kind: ElementTypeLike,
    result: ElementTypeLike | None,
    given: tuple[Shape, Shape],
    options: Options,
) -> ops.MatMulPlan:
    """Return the plan that arguments ask for."""
    what, rank = form.called, form.rank
    left, right = (
        sizes_of(what, name, shape) for name, shape in zip(("aShape", "bShape"), given, strict=True)
    )
    if [len(left), len(right)] != [rank, rank]:
        raise TensorCreationError(
            f"{what}: shapes {', '.join(map(clipped, given))}",
            found=f"two shapes of {rank} sizes each are needed",
            fix=f"{what}(graph, HALF, (4, 64, 96)[-{rank}:], (4, 96, 32)[-{rank}:])",
        )
    if (*left[:-2], left[-1]) != right[:-1]:
        raise TensorCreationError(
            f"{what}: shapes {given[0]} and {given[1]} do not fit",
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
    check_known(what, options, PRODUCTS)
    partials: ElementTypeLike | None = None
    if options and "partialsType" in options:
        value = options["partialsType"]
        if value not in _TYPES:
            raise beside(what, "partialsType", value, "'half' or 'float'")
        partials = FLOAT if element_type(element) is FLOAT else _TYPES[value]
    return checked_options(what, partials, result, memory_share(what, options), None)
