"""poplin's linear algebra: Cholesky, triangular systems, QR, grids.

    poplin::triangularSolve(graph, a, b, true, true, false, prog, "x", options, &cache)
    poplin.triangularSolve(graph, a, b, True, True, False, prog, "x", options, cache)

Where C++ has a second, older form with a block size in front of the program, both are taken. The
options `blockSize` and `rowsPerIteration` are used; those of products change nothing.

Source: PopLibs, `poplin/Cholesky.hpp`, `poplin/TriangularSolve.hpp`, `poplin/MeshGrid.hpp`,
`poplin/experimental/QRFactorization.hpp`, `poplin/experimental/LuFactorization.hpp`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np

from poplite import ops
from poplite.compat.arguments import (
    Options,
    check_known,
    check_name,
    checked,
    number_of,
    sizes_of,
)
from poplite.compat.poputil import mapTensorLinearly
from poplite.errors import ElementTypeError, InvalidOption, TensorCreationError
from poplite.graph.graph import Graph
from poplite.graph.host_values import check_room
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tile_mapping import TileMapping
from poplite.ops.fuse.placement import grain_of
from poplite.ops.operands import beside, count_of
from poplite.program import Program, Sequence as Steps
from poplite.text import clipped, integer_or_none
from poplite.types import ElementTypeLike, element_type

PRODUCTS = (
    *("availableMemoryProportion", "enableFastReduce", "enableMultiStageReduce"),
    *("fullyConnectedPass", "inputRHSIsPreArranged", "partialsType", "remapOutputTensor"),
    "use128BitConvUnitLoad",
)
"""Options of products of matrices."""


@checked("poplin")
def cholesky(graph: Graph, a: Tensor, lower: bool, *arguments: Any) -> Tensor:
    """Record the Cholesky factorisation, `poplin::cholesky`.

    Args:
        graph: of the matrices.
        a: [..., n, n], of which one triangle is looked at.
        lower: whether the factor is a lower triangle, or an upper one.
        *arguments: `[blockSize,] prog, debug_context="", options=None, cache=None`.

    Returns:
        A new tensor of the shape of a. `ops.linalg.cholesky` describes matrices that are not
        positive definite.

    Raises:
        the errors of `ops.linalg.cholesky`, and InvalidOption for an unknown option.

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
        the errors of `cholesky`, which has the arguments.
    """
    block, prog, name = _arguments("choleskyInPlace", arguments)
    made = ops.linalg.cholesky(a, lower=lower, block=block, name=name, program=prog)
    ops.copy(made, a, program=prog)


@checked("poplin")
def createCholeskyInput(
    graph: Graph, type: ElementTypeLike, shape: Sequence[int], lower: bool, *arguments: Any
) -> Tensor:
    """Make a variable for a matrix to factor, `poplin::createCholeskyInput`, linear over tiles.

    Args:
        graph: gets the variable.
        type: its element type.
        shape: [..., n, n].
        lower: as of `cholesky`.
        *arguments: `[blockSize,] debug_context="", options=None, cache=None`.

    Raises:
        the errors of `graph.add_variable`, and InvalidOption for an unknown option.
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
        the errors of `ops.linalg.triangular_mask`.
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
        graph: of the matrices.
        a: [..., n, n], of which one triangle is read.
        b: [..., n, k], or [..., k, n] if a is on the right.
        leftSide: solve `a x = b`, or `x a = b`.
        lower: which triangle.
        unitDiagonal: take the diagonal for 1.
        *arguments: `[blockSize,] prog, debug_context="", options=None, cache=None`.

    Raises:
        the errors of `ops.linalg.triangular_solve`, and InvalidOption for an unknown option.
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
    """Make a variable for a triangular matrix, block after block of rows and columns over tiles.

    Blocks are of `blockSize`, by default 64; a matrix of one block is mapped row after row.

    Raises:
        the errors of `createCholeskyInput`, which has the last arguments.
    """
    what = "createTriangularSolveInputLHS"
    block, _, name = _arguments(what, arguments, is_recorded=False, usual=64)
    sizes = sizes_of(f"poplin.{what}", "aShape", aShape)
    if len(sizes) < 2:
        raise TensorCreationError(f"poplin.{what}: a shape of {sizes}", fix="[..., n, n]")
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
    """Make a variable for a right side, of the type of the result.

    It is linear over tiles, column after column where the triangular matrix is on the left.

    Raises:
        the errors of `createCholeskyInput`, which has the last arguments.
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
    """What PopLibs has in the namespace `poplin::experimental`."""

    @staticmethod
    @checked("poplin.experimental")
    def LUFactorization(
        graph: Graph, input: Tensor, prog: Steps, debug_context: str = ""
    ) -> tuple[Tensor, Tensor]:
        """Record LU without exchanging rows: L, [m, m], and U, [m, n], of FLOAT.

        Raises:
            the errors of `ops.linalg.lu`.
        """
        return ops.linalg.lu(input, name=debug_context or "LUFactorization", program=prog)

    @staticmethod
    @checked("poplin.experimental")
    def createQRFactorizationMatrices(
        graph: Graph, type: ElementTypeLike, m: int, n: int, debug_context: str = ""
    ) -> tuple[Tensor, Tensor]:
        """Make variables for A, [m, n], and Q, [m, m].

        The columns of A and the rows of Q are spread over tiles, one after the other.

        Raises:
            the errors of `graph.add_variable`.
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
        """Record QR: A becomes R, and Q is multiplied by the orthogonal matrix from the right.

        So Q is the identity before, to be the orthogonal matrix.

        Raises:
            TensorCreationError: for a Q of another shape, and as `ops.linalg.qr`.
            InvalidOption: for an unknown option.
        """
        what = "experimental.QRFactorization"
        check_known(f"poplin.{what}", options, ("rowsPerIteration",))
        if Q.shape != A.shape[:1] * 2 or not A.rank:
            raise TensorCreationError(
                f"poplin.{what}: Q of shape {Q.shape} for A of shape {A.shape}",
                fix="as poplin.experimental.createQRFactorizationMatrices makes them",
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
    """Make a constant of numbers at equal distances, both ends included, `poplin::linspace`.

    It is on tile 0.

    Raises:
        SizeOverflowError: for a count below 0.
        InvalidOption: if the count is not a whole number, or an end is not finite.
        the errors of `graph.add_constant`.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> linspace(graph, pl.FLOAT, 0, 1, 5).shape
    (5,)
    """
    number = count_of("poplin.linspace", "count", count)
    first, last = (
        number_of("poplin.linspace", name, x) for name, x in (("left", left), ("right", right))
    )
    if not isfinite(last - first):
        raise InvalidOption(
            f"poplin.linspace: from {clipped(left)} to {clipped(right)}",
            found="there are no equal distances between",
            fix="two finite numbers",
        )
    name = debug_prefix or "linspace"
    check_room(graph.space, element_type(type), (number,), "poplin.linspace, count")
    numbers = np.linspace(first, last, number)
    return graph.add_constant(type, (number,), numbers, name, mapping=0)


@checked("poplin")
def meshgrid2d(graph: Graph, x: Tensor, y: Tensor) -> list[Tensor]:
    """Return views of x along columns and of y along rows, [y, x] both: `numpy.meshgrid`.

    Raises:
        TensorCreationError: for tensors that are not vectors.
    """
    for each in (x, y):
        if each.rank != 1:
            raise TensorCreationError(
                f"poplin.meshgrid2d: '{each.name}' is of shape {each.shape}", fix="two vectors"
            )
    return [
        x.reshape((1, len(x))).broadcast(len(y), 0),
        y.reshape((len(y), 1)).broadcast(len(x), 1),
    ]


def _arguments(
    what: str, arguments: tuple[Any, ...], *, is_recorded: bool = True, usual: int = 8
) -> tuple[int, Any, str]:
    """Return the block size, the program and the debug name of the last arguments.

    Args:
        what: the function.
        arguments: the last ones.
        is_recorded: whether a program is among them.
        usual: the block size where none is given.
    """
    block: Any = None
    if arguments and integer_or_none(arguments[0]) is not None:
        block, *arguments_left = arguments
        arguments = tuple(arguments_left)
    prog = None
    if is_recorded:
        if not arguments or not isinstance(arguments[0], Program):
            raise ElementTypeError(
                f"poplin.{what}: no program takes its steps",
                found=", ".join(map(clipped, arguments)) or "no more arguments",
                fix='[blockSize,] prog, debug_context="", options=None, cache=None',
            )
        prog, *rest = arguments
        arguments = tuple(rest)
    name, options = _last_arguments(f"poplin.{what}", arguments)
    check_known(f"poplin.{what}", options, ("blockSize", *PRODUCTS))
    size = block if block is not None else (options or {}).get("blockSize", usual)
    return _size(what, "blockSize", size), prog, name or what


def _last_arguments(what: str, arguments: tuple[Any, ...]) -> tuple[str, Options]:
    """Return the debug name and the options, which may be left out as the cache behind them."""
    if len(arguments) > 3:
        raise ElementTypeError(
            f"{what}: too many arguments",
            found=", ".join(map(clipped, arguments)),
            fix='at the end: debug_context="", options=None, cache=None',
        )
    left_out: tuple[Any, ...] = ("", None)
    name, options, *_ = arguments + left_out[len(arguments) :]
    return check_name(what, name), options


def _size(what: str, name: str, value: object) -> int:
    """Return a whole number, which options may have as text, or raise."""
    is_text = isinstance(value, str) and value.strip().isdecimal()
    number = int(value) if is_text else integer_or_none(value)  # type: ignore[call-overload]
    if number is None or number < 1:
        raise beside(f"poplin.{what}", name, value, f"a number of rows, such as {name}=8")
    return number
