"""poplin: matrix products, factorisations, triangular systems, grids.

    poplin::createMatMulInputLHS(graph, HALF, {64, 96}, {96, 32}, "w", options, &cache)
    poplin.createMatMulInputLHS(graph, HALF, (64, 96), (96, 32), "w", options, cache)

Arguments have the order of the C++ functions: the graph first, then operands, the program, the
debug name, options and the cache. Output types may be omitted where C++ has a second form without
them. The options `availableMemoryProportion` and `partialsType` are used, since plans of poplite
have them; the others that PopLibs knows are accepted and ignored. Convolutions are exported here
and defined in `poplite.compat.convolutions`.

Source: PopLibs, `poplin/MatMul.hpp`, `poplin/Cholesky.hpp`, `poplin/TriangularSolve.hpp`,
`poplin/MeshGrid.hpp`, `poplin/experimental/QRFactorization.hpp`,
`poplin/experimental/LuFactorization.hpp`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from poplite import ops
from poplite.compat.arguments import (
    Options,
    bound,
    check_known,
    check_name,
    checked,
    library_codelets as _library_codelets,
    memory_share,
    number_of,
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
from poplite.compat.poputil import mapTensorLinearly
from poplite.errors import ElementTypeError, InvalidOption, TensorCreationError
from poplite.expr.tree import Expr
from poplite.graph.graph import Graph
from poplite.graph.host_values import check_room
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor, check_own
from poplite.graph.tile_mapping import TileMapping
from poplite.ops.fuse.maps import grain_of
from poplite.ops.operands import count_of, invalid_value, steps_for
from poplite.ops.products.matmul import plan_by, product
from poplite.ops.products.matmul_layout import Options as PlanOptions, checked_options
from poplite.poplar.absent import shown as _shown
from poplite.program import Program, Sequence as Steps
from poplite.text import clipped, integer_or_none, of_type
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

_PRODUCT_OPTIONS = (
    *("availableMemoryProportion", "enableFastReduce", "enableMultiStageReduce"),
    *("fullyConnectedPass", "inputRHSIsPreArranged", "partialsType", "remapOutputTensor"),
    "use128BitConvUnitLoad",
)
"""Options of products of matrices."""


class PlanningCache:
    """Placeholder for `poplin::PlanningCache`; it is not used, since poplite has its own cache."""


class _Form(NamedTuple):
    """A product function: its name, and the rank of its operands, 3 if grouped."""

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
    """Record a product, `poplin::{name}`: of two matrices, or of two in each group.

    Args:
        graph: the graph of the matrices.
        A: [m, k] of HALF or FLOAT; grouped, [g, m, k].
        B: [k, n] of the same type; grouped, [g, k, n].
        prog: where the steps go.
        debug_context: name of the product.
        options: those of PopLibs; only `availableMemoryProportion` and `partialsType` are used.
        cache: PopLibs' cache of plans; not used, since poplite has its own.
        output_type: element type of the product, as in C++ before the name; by default that of the
            matrices.

    Returns:
        A new tensor [m, n]; grouped, [g, m, n].

    Raises:
        whatever `poplite.ops.matmul` raises, and InvalidOption for an unknown option.

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
    """Record a product into an existing tensor, `poplin::{name}`.

    Raises:
        whatever `matMul` raises.
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
        whatever `matMul` raises.
    """
    expr, name = _fitting(form, graph, (A, B), options, C), debug_context or form.name
    if isinstance(k, Tensor):
        check_own(graph, k, f"{form.called}, k")
    if not (k.num_elements == 1 if isinstance(k, Tensor) else isinstance(k, Real)):
        raise invalid_value(form.called, "k", k, "a number such as 1.0, or a tensor of one element")
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
        """Create a matrix of a product, or groups of them, mapped as planned.

        Args:
            graph: the graph of the matrix.
            inputType: HALF or FLOAT.
            aShape: (m, k); grouped, (g, m, k).
            bShape: (k, n); grouped, (g, k, n).
            debug_context: name of the matrix.
            options: as for `matMul`.
            cache: as for `matMul`.
            output_type: element type of the product, as in C++ before the shapes; by default
                `inputType`.

        Returns:
            A new tensor of the shape of the left or right operand, or of the product.

        Raises:
            whatever `poplite.ops.plan_matmul` raises, and InvalidOption for an unknown option.
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
        whatever `createMatMulInputLHS` raises.
    """
    rank = 3 if len(sizes_of("poplin.matMulReportPlan", "aShape", aShape)) == 3 else 2
    form = _Form("matMulReportPlan", rank)
    plan = _planned(form, graph, inputType, outputType, (aShape, bShape), options)
    if not callable(getattr(out, "write", None)):
        raise ElementTypeError(
            f"poplin.matMulReportPlan: out is {clipped(out)}",
            found=of_type(out),
            fix="pass a text file, or sys.stdout",
        )
    out.write(f"{plan}\n")


def _fitting(
    form: _Form, graph: Graph, operands: tuple[Tensor, Tensor], options: Options, out: Tensor
) -> Expr:
    """Return a product, or raise for an output that cannot hold it."""
    expr = _matmul(form, graph, operands, options, out.element_type)
    check_own(graph, out, form.called)
    if out.shape != expr.shape:
        raise TensorCreationError(
            f"{form.called}: '{out.name}' has shape {out.shape}",
            found=f"the product has shape {expr.shape}",
            fix=f"pass a tensor of shape {expr.shape}",
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
                fix="use poplin.matMul for matrices, or matMulGrouped for groups of matrices",
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
    """Return the plan for the given arguments."""
    what, rank = form.called, form.rank
    left, right = (
        sizes_of(what, name, shape) for name, shape in zip(("aShape", "bShape"), given, strict=True)
    )
    if [len(left), len(right)] != [rank, rank]:
        raise TensorCreationError(
            f"{what}: expected two shapes of {rank} sizes each; found "
            f"{', '.join(map(clipped, given))}",
            fix=f"{what}(graph, HALF, {(4, 64, 96)[-rank:]}, {(4, 96, 32)[-rank:]})",
        )
    if (*left[:-2], left[-1]) != right[:-1]:
        raise TensorCreationError(
            f"{what}: shapes {given[0]} and {given[1]} do not match",
            found="the left matrix must have as many columns as the right one has rows, "
            "and both the same number of groups",
            fix="pass the shapes of the operands of matMul",
        )
    element = element_type(kind)
    sizes = left[0] if rank == 3 else 1, left[-2], left[-1], right[-1]
    found = _plan_options(what, options, element, kind if result is None else result)
    return plan_by(graph, sizes, element, found)


def _plan_options(
    what: str, options: Options, element: ElementTypeLike, result: ElementTypeLike
) -> PlanOptions:
    """Return PopLibs' options as those of a plan."""
    check_known(what, options, _PRODUCT_OPTIONS)
    partials: ElementTypeLike | None = None
    if options and "partialsType" in options:
        value = options["partialsType"]
        if value not in _TYPES:
            raise invalid_value(what, "partialsType", value, "'half' or 'float'")
        partials = FLOAT if element_type(element) is FLOAT else _TYPES[value]
    return checked_options(what, partials, result, memory_share(what, options), None)


# -- factorisations, triangular systems, grids -----------------------------------------------------
# Where C++ has a second, older form with a block size before the program, both are accepted. The
# options `blockSize` and `rowsPerIteration` are used; those of products change nothing.


@checked("poplin")
def cholesky(graph: Graph, a: Tensor, lower: bool, *arguments: Any) -> Tensor:
    """Record the Cholesky factorisation, `poplin::cholesky`.

    Args:
        graph: the graph of the matrices.
        a: [..., n, n], of which one triangle is read.
        lower: whether the factor is a lower triangle rather than an upper one.
        *arguments: `[blockSize,] prog, debug_context="", options=None, cache=None`.

    Returns:
        A new tensor of the shape of a. For matrices that are not positive definite, see
        `ops.linalg.cholesky`.

    Raises:
        whatever `ops.linalg.cholesky` raises, and InvalidOption for an unknown option.

    >>> import poplite as pl
    >>> graph, prog = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> a = graph.add_constant(pl.FLOAT, (2, 2), [[4, 2], [2, 10]], mapping=0)
    >>> factor = cholesky(graph, a, True, prog, "factor", {"blockSize": "8"})
    >>> engine = pl.Engine(graph, prog)
    >>> engine.run()
    >>> engine.read(factor).tolist()
    [[2.0, 0.0], [1.0, 3.0]]
    """
    block, prog, name = _arguments("cholesky", arguments)
    return ops.linalg.cholesky(a, lower=lower, block=block, name=name, program=prog)


@checked("poplin")
def choleskyInPlace(graph: Graph, a: Tensor, lower: bool, *arguments: Any) -> None:
    """Record a factorisation that replaces the matrix, `poplin::choleskyInPlace`.

    Raises:
        whatever `cholesky` raises; it describes the arguments.
    """
    block, prog, name = _arguments("choleskyInPlace", arguments)
    made = ops.linalg.cholesky(a, lower=lower, block=block, name=name, program=prog)
    ops.copy(made, a, program=prog)


@checked("poplin")
def createCholeskyInput(
    graph: Graph, type: ElementTypeLike, shape: Sequence[int], lower: bool, *arguments: Any
) -> Tensor:
    """Create a variable for a matrix to factor, `poplin::createCholeskyInput`, linear over tiles.

    Args:
        graph: the graph of the variable.
        type: its element type.
        shape: [..., n, n].
        lower: as for `cholesky`.
        *arguments: `[blockSize,] debug_context="", options=None, cache=None`.

    Raises:
        whatever `graph.add_variable` raises, and InvalidOption for an unknown option.
    """
    _, _, name = _arguments("createCholeskyInput", arguments, is_recorded=False)
    sizes = sizes_of("poplin.createCholeskyInput", "shape", shape)
    return graph.add_variable(type, sizes, name, mapping="linear")


@checked("poplin")
def triangularMask(
    graph: Graph, a: Tensor, lower: bool, unitDiagonal: bool, prog: Steps, debug_context: str = ""
) -> Tensor:
    """Record a copy of a triangle, 0 elsewhere, `poplin::triangularMask`.

    Raises:
        whatever `ops.linalg.triangular_mask` raises.
    """
    mask = ops.linalg.triangular_mask(a, lower=lower, unit_diagonal=unitDiagonal)
    return ops.map(mask, name=debug_context or "triangularMask", program=prog)


@checked("poplin")
def triangularSolve(
    graph: Graph,
    a: Tensor,
    b: Tensor,
    leftSide: bool,
    lower: bool,
    unitDiagonal: bool,
    *arguments: Any,
) -> Tensor:
    """Record the solution of triangular systems, `poplin::triangularSolve`.

    Args:
        graph: the graph of the matrices.
        a: [..., n, n], of which one triangle is read.
        b: [..., n, k], or [..., k, n] if a is on the right.
        leftSide: solve `a x = b`, or `x a = b`.
        lower: whether the lower triangle is read; else the upper one.
        unitDiagonal: take the diagonal to be 1.
        *arguments: `[blockSize,] prog, debug_context="", options=None, cache=None`.

    Raises:
        whatever `ops.linalg.triangular_solve` raises, and InvalidOption for an unknown option.
    """
    block, prog, name = _arguments("triangularSolve", arguments)
    return ops.linalg.triangular_solve(
        a,
        b,
        left=leftSide,
        lower=lower,
        unit_diagonal=unitDiagonal,
        block=block,
        name=name,
        program=prog,
    )


@checked("poplin")
def createTriangularSolveInputLHS(
    graph: Graph,
    inputType: ElementTypeLike,
    outputType: ElementTypeLike,
    aShape: Sequence[int],
    bShape: Sequence[int],
    leftSide: bool,
    *arguments: Any,
) -> Tensor:
    """Create a variable for a triangular matrix, mapped over tiles by blocks of rows and columns.

    Blocks have the size `blockSize`, by default 64; a matrix of one block is mapped by rows.

    Raises:
        whatever `createCholeskyInput` raises; it describes the last arguments.
    """
    what = "createTriangularSolveInputLHS"
    block, _, name = _arguments(what, arguments, is_recorded=False, usual=64)
    sizes = sizes_of(f"poplin.{what}", "aShape", aShape)
    if len(sizes) < 2:
        raise TensorCreationError(
            f"poplin.{what}: expected a shape [..., n, n]; found {sizes}",
            fix="pass a shape whose last two sizes are equal",
        )
    rows, columns = sizes[-2:] if leftSide else sizes[:-3:-1]
    block = block if rows > block else 1
    down, across = -(-rows // block), -(-columns // block)
    shape = math.prod(sizes[:-2]), down, across, block, block
    made = graph.add_variable(inputType, shape, name)
    mapTensorLinearly(graph, made, block, grain_of(made.element_type))
    made = made.dim_shuffle((0, 1, 3, 2, 4)).reshape((shape[0], down * block, across * block))
    made = made[:, :rows, :columns]
    return (made if leftSide else made.dim_shuffle((0, 2, 1))).reshape(sizes)


@checked("poplin")
def createTriangularSolveInputRHS(
    graph: Graph,
    inputType: ElementTypeLike,
    outputType: ElementTypeLike,
    aShape: Sequence[int],
    bShape: Sequence[int],
    leftSide: bool,
    *arguments: Any,
) -> Tensor:
    """Create a variable for a right-hand side, of the type of the result.

    It is linear over tiles, in column order if the triangular matrix is on the left.

    Raises:
        whatever `createCholeskyInput` raises; it describes the last arguments.
    """
    what = "createTriangularSolveInputRHS"
    _, _, name = _arguments(what, arguments, is_recorded=False)
    sizes = sizes_of(f"poplin.{what}", "bShape", bShape)
    order = [*range(len(sizes) - 2), -1, -2] if leftSide and len(sizes) > 1 else range(len(sizes))
    places = [each % max(1, len(sizes)) for each in order]
    made = graph.add_variable(outputType, [sizes[each] for each in places], name)
    mapTensorLinearly(graph, made)
    return made.dim_shuffle(places)


class experimental:
    """The namespace `poplin::experimental` of PopLibs."""

    @staticmethod
    @checked("poplin.experimental")
    def LUFactorization(
        graph: Graph, input: Tensor, prog: Steps, debug_context: str = ""
    ) -> tuple[Tensor, Tensor]:
        """Record an LU factorisation without row exchanges: L, [m, m], and U, [m, n], of FLOAT.

        Raises:
            whatever `ops.linalg.lu` raises.
        """
        return ops.linalg.lu(input, name=debug_context or "LUFactorization", program=prog)

    @staticmethod
    @checked("poplin.experimental")
    def createQRFactorizationMatrices(
        graph: Graph, type: ElementTypeLike, m: int, n: int, debug_context: str = ""
    ) -> tuple[Tensor, Tensor]:
        """Create variables for A, [m, n], and Q, [m, m].

        The columns of A and the rows of Q are spread over tiles in order.

        Raises:
            whatever `graph.add_variable` raises.
        """
        a, q = (
            graph.add_variable(type, shape, f"{debug_context or 'QR'}/{name}")
            for name, shape in (("A", (n, m)), ("Q", (m, m)))
        )
        tiles = graph.target.tiles
        most, more = divmod(n + m, tiles)
        lines = most + (np.arange(tiles) < more)
        mapping = TileMapping(tiles, np.arange(tiles), lines * m)
        graph.set_tile_mapping(concat([a, q]), mapping)
        return a.transpose(), q

    @staticmethod
    @checked("poplin.experimental")
    def QRFactorization(
        graph: Graph,
        A: Tensor,
        Q: Tensor,
        prog: Steps,
        debug_context: str = "",
        options: Options = None,
    ) -> None:
        """Record a QR factorisation: A becomes R, Q is multiplied by the factor from the right.

        So a Q that is the identity before becomes the orthogonal factor.

        Raises:
            TensorCreationError: for a Q of the wrong shape, and as `ops.linalg.qr`.
            InvalidOption: for an unknown option.
        """
        what = "experimental.QRFactorization"
        check_known(f"poplin.{what}", options, ("rowsPerIteration",))
        if Q.shape != A.shape[:1] * 2 or not A.rank:
            raise TensorCreationError(
                f"poplin.{what}: Q has shape {Q.shape}, but A has shape {A.shape}",
                fix="create both with poplin.experimental.createQRFactorizationMatrices",
            )
        block = _size(what, "rowsPerIteration", (options or {}).get("rowsPerIteration", 8))
        q, r = ops.linalg.qr(
            A, complete=True, block=block, name=debug_context or "QRFactorization", program=prog
        )
        ops.assign(Q, Q @ q, name=f"{debug_context or 'QRFactorization'}/Q", program=prog)
        ops.copy(r, A, program=prog)


@checked("poplin")
def linspace(
    graph: Graph,
    type: ElementTypeLike,
    left: float,
    right: float,
    count: int,
    debug_prefix: str = "",
) -> Tensor:
    """Create a constant of equally spaced numbers, both ends included, `poplin::linspace`.

    It is on tile 0.

    Raises:
        SizeOverflowError: for a count below 0.
        InvalidOption: if the count is not a whole number, or an end is not finite.
        whatever `graph.add_constant` raises.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> linspace(graph, pl.FLOAT, 0, 1, 5).shape
    (5,)
    """
    number = count_of("poplin.linspace", "count", count)
    first, last = (
        number_of("poplin.linspace", name, x) for name, x in (("left", left), ("right", right))
    )
    if not math.isfinite(last - first):
        raise InvalidOption(
            f"poplin.linspace: both ends must be finite; found {clipped(left)} and "
            f"{clipped(right)}",
            fix="pass two finite numbers",
        )
    name = debug_prefix or "linspace"
    check_room(graph.space, element_type(type), (number,), "poplin.linspace, count")
    numbers = np.linspace(first, last, number)
    return graph.add_constant(type, (number,), numbers, name, mapping=0)


@checked("poplin")
def meshgrid2d(graph: Graph, x: Tensor, y: Tensor) -> list[Tensor]:
    """Return views of x along columns and of y along rows, both [y, x], as `numpy.meshgrid`.

    Raises:
        TensorCreationError: for tensors that are not vectors.
    """
    for each in (x, y):
        if each.rank != 1:
            raise TensorCreationError(
                f"poplin.meshgrid2d: '{each.name}' has shape {each.shape}", fix="pass two vectors"
            )
    return [
        x.reshape((1, len(x))).broadcast(len(y), 0),
        y.reshape((len(y), 1)).broadcast(len(x), 1),
    ]


def _arguments(
    what: str, arguments: tuple[Any, ...], *, is_recorded: bool = True, usual: int = 8
) -> tuple[int, Any, str]:
    """Return the block size, the program and the debug name from the last arguments.

    Args:
        what: the function.
        arguments: the last ones.
        is_recorded: whether a program is among them.
        usual: the block size if none is given.
    """
    block: Any = None
    if arguments and integer_or_none(arguments[0]) is not None:
        block, *arguments_left = arguments
        arguments = tuple(arguments_left)
    prog = None
    if is_recorded:
        if not arguments or not isinstance(arguments[0], Program):
            raise ElementTypeError(
                f"poplin.{what}: a program for its steps is missing",
                found=", ".join(map(clipped, arguments)) or "no more arguments",
                fix='pass [blockSize,] prog, debug_context="", options=None, cache=None',
            )
        prog, *rest = arguments
        arguments = tuple(rest)
    name, options = _last_arguments(f"poplin.{what}", arguments)
    check_known(f"poplin.{what}", options, ("blockSize", *_PRODUCT_OPTIONS))
    size = block if block is not None else (options or {}).get("blockSize", usual)
    return _size(what, "blockSize", size), prog, name or what


def _last_arguments(what: str, arguments: tuple[Any, ...]) -> tuple[str, Options]:
    """Return the debug name and the options, which may be omitted, as may the cache after them."""
    if len(arguments) > 3:
        raise ElementTypeError(
            f"{what}: too many arguments",
            found=", ".join(map(clipped, arguments)),
            fix='end with debug_context="", options=None, cache=None',
        )
    left_out: tuple[Any, ...] = ("", None)
    name, options, *_ = arguments + left_out[len(arguments) :]
    return check_name(what, name), options


def _size(what: str, name: str, value: object) -> int:
    """Return a whole number, which options may give as text, or raise."""
    is_text = isinstance(value, str) and value.strip().isdecimal()
    number = int(value) if is_text else integer_or_none(value)  # type: ignore[call-overload]
    if number is None or number < 1:
        raise invalid_value(f"poplin.{what}", name, value, f"a number of rows, such as {name}=8")
    return number
