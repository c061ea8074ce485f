"""Matrix products as expressions, with plans of how they are divided among tiles.

    ops.map(a @ b)                             planned, and stored where the plan makes it
    ops.map(ops.maximum(a @ b + bias, 0))      the vertices that sum partials also compute the rest

Semantics: `numpy.matmul`, and poplibs' `poplin::matMul` and `matMulGrouped`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial

import poplite.ops.planning as planning
from poplite.errors import InvalidOption, TensorCreationError
from poplite.expr.build import apply, as_expr, contraction
from poplite.expr.operand import Operand
from poplite.expr.tree import Expr, Leaf, Weak, formula
from poplite.graph.graph import Graph, working_graph
from poplite.graph.tensor.tensor import Tensor
from poplite.machine.target import Target
from poplite.ops.operands import check_parts, wrong_kind
from poplite.ops.products.matmul_layout import (
    Options,
    ProductLayout,
    ProductRequest,
    Three,
    checked_options,
    left_of,
    product_of,
    request_of,
    right_of,
)
from poplite.ops.products.matmul_plan import HELD, cheapest_ways, exact_cycles, least_cycles
from poplite.program.control import check_graph
from poplite.text import amount, clipped
from poplite.types import FLOAT, ElementTypeLike, element_type

# -- plans -----------------------------------------------------------------------------------------


class MatMulPlan:
    """How one or several matrix products are divided among the tiles of a graph.

    `plan_matmul` creates it. `print(plan)` shows the grid of tiles, the blocks that each tile
    multiplies, the cycles and bytes by part, and the runners-up.

    Attributes:
        graph: the graph for which it was made.
        layout: the chosen layout.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> plan = pl.ops.plan_matmul(graph, m=32, k=64, n=100, type=pl.HALF)
    >>> plan.grid, plan.block, plan.tiles
    ((4, 1, 1), (8, 64, 100), 4)
    """

    graph: Graph
    layout: ProductLayout

    def __init__(self, graph: Graph, layout: ProductLayout) -> None:
        check_parts("MatMulPlan", "plan_matmul", graph, "layout", layout, ProductLayout)
        self.graph, self.layout = graph, layout

    @property
    def runners_up(self) -> tuple[ProductLayout, ...]:
        """The next best layouts, the best first."""
        return ranked(self.graph.target, self.layout.request)[1:]

    @property
    def grid(self) -> Three:
        """Number of tiles along m, k and n."""
        return self.layout.grid

    @property
    def block(self) -> Three:
        """Rows, depth and columns of the blocks that a tile multiplies."""
        return self.layout.block

    @property
    def passes(self) -> tuple[int, int]:
        """Number of successive passes of the grid over m, and over n."""
        return self.layout.passes

    @property
    def tiles(self) -> int:
        """Number of tiles that take part."""
        return self.layout.tiles

    @property
    def cycles(self) -> int:
        """Cycles by the cost model, with operands from `create_left` and `create_right`."""
        return self.layout.total_cycles

    @property
    def bytes(self) -> int:
        """Bytes of blocks and partials on a tile."""
        return self.layout.bytes

    def create_left(self, name: str = "left") -> Tensor:
        """Create a variable for the left matrix with the plan's mapping.

        Args:
            name: name of the variable.

        Returns:
            A view of shape (m, k), or (groups, m, k) with groups. Each block is spread over the
            tiles that use it.

        Raises:
            TensorCreationError: for an invalid name.

        >>> import poplite as pl
        >>> graph = pl.Graph(pl.Target(tiles=4))
        >>> plan = plan_matmul(graph, m=32, k=64, n=100, type=pl.HALF)
        >>> plan.create_left("weights")
        <Tensor 'weights'.reshape((32, 64)) float16[32, 64] on 4 tiles (0-3), 4,096 B>
        """
        return self._matrix(left_of(self.graph, self.layout, name))

    def create_right(self, name: str = "right") -> Tensor:
        """Create a variable for the right matrix with the plan's mapping; see `create_left`.

        Args:
            name: name of the variable.

        Returns:
            A view of shape (k, n), or (groups, k, n) with groups.

        Raises:
            TensorCreationError: for an invalid name.

        >>> import poplite as pl
        >>> graph = pl.Graph(pl.Target(tiles=4))
        >>> plan = plan_matmul(graph, m=32, k=64, n=100, type=pl.HALF)
        >>> plan.create_right("x")
        <Tensor 'x'.reshape((64, 100)) float16[64, 100] on 4 tiles (0-3), 12,800 B>
        """
        return self._matrix(right_of(self.graph, self.layout, name))

    def create_output(self, name: str = "product") -> Tensor:
        """Create a variable for the product where the plan makes it, for `ops.assign`.

        Args:
            name: name of the variable.

        Returns:
            A view of shape (m, n), or (groups, m, n) with groups.

        Raises:
            TensorCreationError: for an invalid name.
        """
        flat = product_of(self.graph, self.layout, name)
        return self._matrix(self.layout.product.matrices(flat))

    def _matrix(self, matrices: Tensor) -> Tensor:
        return matrices if self.layout.request.groups != 1 else matrices[0]

    def __repr__(self) -> str:
        return f"<MatMulPlan {self.layout.request}, {amount(self.tiles, 'tile')}>"

    def __str__(self) -> str:
        layout = self.layout
        formulas = planning.cycles_text(layout.cycles, has_partials=layout.has_partials)
        each = "" if layout.num_passes == 1 else f" in each of {layout.num_passes:,} passes"
        lines = [
            str(layout.request),
            f"  grid     {_grid(layout)}, {amount(layout.tiles, 'tile')}",
            f"  block    {planning.by(layout.block[:2])} times {planning.by(layout.block[1:])}",
            f"  cycles   {layout.total_cycles:,}; by formulas {formulas}{each}",
            f"  memory   {layout.bytes:,} B on a tile = {planning.held_text(HELD, layout.held)}",
        ]
        others = self.runners_up[:SHOWN]
        priced = [(_grid(each), f"{each.total_cycles:,} cycles", each.bytes) for each in others]
        return "\n".join(lines + planning.others_text(priced))


SHOWN = 3
"""Maximum number of runners-up that a plan shows."""


def _grid(layout: ProductLayout) -> str:
    sets = f"{amount(layout.sets, 'set')} of " if layout.request.groups > 1 else ""
    passes = f", {planning.by(layout.passes)} passes over m and n" if layout.num_passes > 1 else ""
    return f"{sets}{planning.by(layout.grid)} over m, k, n{passes}"


def plan_matmul(
    graph: Graph,
    *,
    m: int,
    k: int,
    n: int,
    groups: int = 1,
    type: ElementTypeLike = FLOAT,  # noqa: A002
    partials: ElementTypeLike | None = None,
    result: ElementTypeLike | None = None,
    memory: float = 0.6,
    constraints: Mapping[str, int] | None = None,
) -> MatMulPlan:
    """Return the cheapest way to multiply matrices of [m, k] and [k, n] on the tiles of a graph.

    Args:
        graph: the graph in which they will be multiplied; one IPU is used, even if there are more.
        m: rows of the left matrix.
        k: columns of the left matrix, rows of the right one.
        n: columns of the right matrix.
        groups: number of products, of [groups, m, k] and [groups, k, n].
        type: element type of the matrices, HALF or FLOAT.
        partials: the type in which tiles add products, FLOAT or that of the matrices; FLOAT by
            default. HALF takes less memory and less exchange, and is rounded after every 16
            products.
        result: the type of the product; by default, that of the matrices. FLOAT for HALF matrices
            keeps the precision of FLOAT partials.
        memory: the fraction of a tile's memory that blocks and partials may take. If a product
            needs more, it is made in several passes.
        constraints: fixed values by name: "pm", "pk", "pn" are the numbers of tiles along m, k and
            n; "pg" is the number of sets of tiles for the groups; "split_m" and "split_n" are the
            numbers of passes over m and n.

    Returns:
        The plan, which is the same for equal arguments. Among equally cheap ways, it is the way
        with the fewest tiles, then the least memory, then the fewest cuts of k.

    Raises:
        GraphMemoryAllocationError: if no way fits; the message lists the uses of the memory.
        ElementTypeError: for types that the AMP unit does not multiply.
        TensorCreationError: for a size that is not a non-negative integer.
        SizeOverflowError: for more than 2**50 multiplications.
        InvalidOption: for an unknown constraint, or a `memory` that is not a fraction.
        ControlProgramError: for an invalid graph.

    >>> import poplite as pl
    >>> plan = plan_matmul(pl.Graph(pl.Target(tiles=4)), m=64, k=64, n=64)
    >>> plan.grid, plan.block, plan.passes
    ((4, 1, 1), (16, 64, 64), (1, 1))
    """
    what = "ops.plan_matmul"
    check_graph(f"{what}(graph, m=64, k=64, n=64)", graph)
    options = checked_options(what, partials, result, memory, constraints)
    return plan_by(graph, (groups, m, k, n), type, options)


def plan_by(
    graph: Graph,
    sizes: tuple[object, object, object, object],
    element: ElementTypeLike,
    options: Options,
) -> MatMulPlan:
    """Return the plan for groups, m, k and n, or raise; messages name the call."""
    request = request_of(sizes, element_type(element), options)
    return MatMulPlan(graph, planned(graph.target, request, is_estimated=False))


@lru_cache(maxsize=256)
def planned(
    target: Target, request: ProductRequest, *, is_estimated: bool = False
) -> ProductLayout:
    """Return the best way by the cost model, or by its lower bounds; among equals, the first."""
    ways = cheapest_ways(target, request)
    if request.is_empty:
        return ways[0]
    least = partial(least_cycles, target)
    if is_estimated:
        return min(ways, key=least)
    way, cycles = planning.best_priced(ways, least, partial(exact_cycles, target))
    return replace(way, exact=cycles)


@lru_cache(maxsize=256)
def ranked(target: Target, request: ProductRequest) -> tuple[ProductLayout, ...]:
    """Return the best ways, the cheapest by the cost model first."""
    ways = cheapest_ways(target, request)
    if request.is_empty:
        return ways
    priced = [replace(way, exact=exact_cycles(target, way)) for way in ways]
    return tuple(sorted(priced, key=lambda way: way.total_cycles))


def layout_for(
    graph: Graph, how: MatMulPlan | Options | None, sizes: Sizes, element: ElementTypeLike
) -> tuple[Graph, ProductLayout]:
    """Return the graph whose tiles are used, and the layout for `sizes` by a plan or options."""
    if isinstance(how, MatMulPlan):
        _check_plan(graph, how, sizes, element)
        return working_graph(how.graph), how.layout
    options = how or Options()
    request = request_of(sizes, element_type(element), options)
    return graph, planned(graph.target, request, is_estimated=options.is_estimated)


Sizes = tuple[int, int, int, int]
"""groups, m, k and n."""


def _check_plan(graph: Graph, plan: MatMulPlan, sizes: Sizes, element: ElementTypeLike) -> None:
    request = plan.layout.request
    is_same = (request.groups, *request.sizes) == sizes and request.element_type is element
    asked = f"m={sizes[1]}, k={sizes[2]}, n={sizes[3]}"
    asked += f", groups={sizes[0]}" if sizes[0] != 1 else ""
    if not is_same:
        raise TensorCreationError(
            f"ops.matmul: the plan is for {request.element_type!r} of "
            f"{(request.groups, *request.sizes)}, but the matrices are {element!r} of {sizes}",
            found="sizes are groups, m, k and n",
            fix=f"ops.plan_matmul(graph, {asked}, type=pl.{element!r})",
        )
    if plan.graph.top_level_graph is not graph.top_level_graph:
        raise TensorCreationError(
            "ops.matmul: the plan was made for another graph",
            found=f"the plan's graph is {plan.graph!r}, that of the matrices is {graph!r}",
            fix=f"ops.plan_matmul(graph, {asked}, type=pl.{element!r})",
        )


# -- expressions -----------------------------------------------------------------------------------


def matmul(
    a: Operand,
    b: Operand,
    plan: MatMulPlan | None = None,
    *,
    partials: ElementTypeLike | None = None,
    result: ElementTypeLike | None = None,
    memory: float = 0.6,
    constraints: Mapping[str, int] | None = None,
) -> Expr:
    """Return the product of matrices, like `a @ b`, with options.

    Products are added in float32, in the order of k, for each slice of k in the plan; then the sums
    of slices are added in order. HALF is rounded once, at the end. A product with a single row or
    column is computed as `ops.sum(a * b)`, in the order of that sum, if this takes fewer cycles
    with the operands' mappings and neither a plan nor constraints, memory or HALF partials are
    given. Several products of a row and a column in one expression are always computed in this way.

    Args:
        a: a vector [k], a matrix [m, k], or several [..., m, k], of HALF or FLOAT.
        b: [k], [k, n] or [..., k, n] of the same type. Dimensions before the last two are
            broadcast.
        plan: how the work is divided among tiles, from `ops.plan_matmul`. By default, a plan is
            made with the following options when the product is recorded; equal plans are made only
            once.
        partials: the type in which tiles add products, as in `ops.plan_matmul`.
        result: the type of the product, as in `ops.plan_matmul`.
        memory: the fraction of a tile's memory that blocks may take, as in `ops.plan_matmul`.
        constraints: fixed values, as in `ops.plan_matmul`.

    Raises:
        ElementTypeError: for types that differ, or that the AMP unit does not multiply.
        TensorCreationError: for shapes that do not match, or an invalid plan.
        InvalidOption: for options given with a plan, and as in `ops.plan_matmul`.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> a = graph.add_variable(pl.FLOAT, (2, 3), "a", mapping=0, initial_value=[[1, 2, 3]] * 2)
    >>> b = graph.add_variable(pl.FLOAT, (3,), "b", mapping=1, initial_value=[1, 0, 2])
    >>> product = pl.ops.map(matmul(a, b) + 0.5, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(product)
    array([7.5, 7.5], dtype=float32)
    """
    what = "ops.matmul"
    options = checked_options(what, partials, result, memory, constraints)
    if plan is None:
        return product(a, b, options)
    if not isinstance(plan, MatMulPlan):
        raise wrong_kind(
            what, plan, "is not a plan", "ops.plan_matmul(graph, m=64, k=128, n=32, type=pl.HALF)"
        )
    if (partials, result, memory, constraints) != (None, None, 0.6, None):
        raise InvalidOption(
            f"{what}: options cannot be given with a plan, which has its own",
            found=f"partials={clipped(partials)}, result={clipped(result)}, "
            f"memory={clipped(memory)}, constraints={clipped(constraints)}",
            fix="pass these options to ops.plan_matmul",
        )
    return contraction(a, b, plan, result=plan.layout.request.result, what=what)


def product(a: Operand, b: Operand, options: Options, call: str = "ops.matmul({}, {})") -> Expr:
    """Return the product of matrices, planned by options; messages suggest `call`."""
    made = contraction(a, b, options, result=options.result, what=options.what, call=call)
    if not made.is_open:  # raises for unsupported types
        request_of((1, 1, 1, 1), made.operands[0].element_type, options)
    return made


def outer(a: Operand, b: Operand) -> Expr:
    """Return the outer product of two vectors, [m, n].

    It is an elementwise product, with `a` along rows and `b` along columns, and needs no plan.

    Args:
        a: a tensor [m] of any number type.
        b: a tensor or an expression [n] of the same type.

    Raises:
        TensorCreationError: for operands that are not vectors.
        ElementTypeError: for types that differ, or if `a` is an expression.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> a, b = (graph.add_variable(pl.INT, (size,), name) for size, name in ((2, "a"), (3, "b")))
    >>> outer(a, b).shape
    (2, 3)
    """
    one, other = as_expr(a, "ops.outer"), as_expr(b, "ops.outer")
    for each in (one, other):
        if isinstance(each, Weak) or each.is_open or each.rank != 1:
            raise TensorCreationError(
                f"ops.outer: {formula(each)} is not a vector",
                fix="pass two tensors of rank 1, such as t.flatten()",
            )
    if not isinstance(one, Leaf) or not isinstance(one.tensor, Tensor):
        raise TensorCreationError(
            "ops.outer: the left operand is an expression",
            found=repr(one),
            fix="a = ops.map(expression)",
        )
    return apply("multiply", one.tensor.reshape((one.tensor.shape[0], 1)), other)
