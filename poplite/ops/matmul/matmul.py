"""Matrix products, shared among tiles as a plan says (`poplite.ops.matmul.plan`).

    left [m, k]    times    right [k, n]        one step or two for each pass of the plan

    products    tile (i, j, l) gets block (i, j) of the left and (j, l) of the right matrix,
                and its AMP unit multiplies them
    sums        the tiles (i, *, l) add up a part each of what they made; only where the depth is
                cut, or partials are of another type

Operands may lie anywhere.  Those that `create_matmul_input_lhs` and `create_matmul_input_rhs` make
lie on the tiles that use them, block behind block, so that little has to move.

Semantics: poplibs, `poplin::matMul`.
"""

from __future__ import annotations

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.graph.graph import Graph
from poplite.graph.mapping.tile_mapping import TileMapping
from poplite.graph.tensor.slices import Slices
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.matmul.blocks import Blocks
from poplite.ops.matmul.checks import check_operands, check_plan, check_sizes
from poplite.ops.matmul.grid import MatMulPlan
from poplite.ops.matmul.plan import plan_matmul
from poplite.program import Execute, Program, Sequence, WriteUndef
from poplite.vertices.amp import AmpMatMul
from poplite.vertices.partials import AddPartials


def matmul(
    graph: Graph,
    left: Tensor,
    right: Tensor,
    program: Sequence,
    *,
    plan: MatMulPlan | None = None,
    name: str = "matmul",
) -> Tensor:
    """Append the steps that multiply two matrices.

    Args:
        graph: the graph of both.
        left: [m, k] of HALF or FLOAT, whole or a view, every element on a tile.
        right: [k, n] of the same type, likewise.
        program: where the steps go.
        plan: how tiles share the work; left out, `plan_matmul` for these sizes, with partials
            of FLOAT.
        name: of the product; what else is made has names that begin with it.

    Returns:
        The product [m, n], a new variable of their type, on the tiles that make it. An element is
        the sum of its products in the order of k, where the plan cuts k of such sums: in float32,
        rounded to partials of HALF after every 16 products.

    Raises:
        ElementTypeError: for types that differ or that the AMP unit does not multiply.
        TensorCreationError: for shapes that do not fit each other or the plan, and an empty name.
        GraphConnectionError: for a tensor of another graph.
        InvalidTileMapping: when elements have no tile.
        ControlProgramError: for a graph or program that is none, and a program that takes no more
            steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> a = graph.add_variable(pl.FLOAT, (2, 3), "a", mapping=0, initial_value=[[1, 2, 3]] * 2)
    >>> b = graph.add_variable(pl.FLOAT, (3, 2), "b", mapping=1, initial_value=np.eye(3)[:, :2])
    >>> product = matmul(graph, a, b, program, name="product")
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(product)
    array([[1., 2.],
           [1., 2.]], dtype=float32)
    """
    check_operands(graph, left, right, program)
    sizes = left.shape[0], left.shape[1], right.shape[1]
    if plan is None:
        plan = plan_matmul(graph.target, left.element_type, *sizes)
    check_plan(graph, plan, "matmul")
    check_sizes(plan, left, sizes)
    scope = graph.scope(name)  # refuses names that are none
    product = _on_tiles(graph, plan, plan.product, _homes(plan), name)
    steps: list[Program] = []
    if product.num_elements:
        with scope:
            steps = _steps(graph, plan, left, right, product)
    program.add(Sequence(*steps, name=name))
    return plan.product.matrix(product)


def create_matmul_input_lhs(graph: Graph, plan: MatMulPlan, name: str = "lhs") -> Tensor:
    """Make a variable for the left matrix of a product, where a plan wants it.

    Args:
        graph: where it goes.
        plan: how the product will be made.
        name: of the variable.

    Returns:
        A view of shape [rows, depth]. Each block lies on the tiles that use it, a part on each.

    Raises:
        TensorCreationError: for a plan of more tiles than the graph has, and a name that is none.
        ControlProgramError: for a graph that is none.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> plan = plan_matmul(graph.target, pl.HALF, 32, 64, 100)
    >>> create_matmul_input_lhs(graph, plan, "weights")
    <Tensor 'weights' float16[32, 64] on 4 tiles (0-3), 4,096 B>
    """
    check_plan(graph, plan, "create_matmul_input_lhs")
    rows, columns = _all(plan.left)
    users = np.arange(plan.grid[2])
    tiles = plan.tile(rows[:, None], columns[:, None], users)
    return plan.left.matrix(_on_tiles(graph, plan, plan.left, tiles, name))


def create_matmul_input_rhs(graph: Graph, plan: MatMulPlan, name: str = "rhs") -> Tensor:
    """Make a variable for the right matrix of a product, where a plan wants it.

    Args:
        graph: where it goes.
        plan: how the product will be made.
        name: of the variable.

    Returns:
        A view of shape [depth, columns]. Each block lies on the tiles that use it, a part on each.

    Raises:
        TensorCreationError: for a plan of more tiles than the graph has, and a name that is none.
        ControlProgramError: for a graph that is none.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> plan = plan_matmul(graph.target, pl.HALF, 32, 64, 100)
    >>> create_matmul_input_rhs(graph, plan, "x")
    <Tensor 'x' float16[64, 100] on 4 tiles (0-3), 12,800 B>
    """
    check_plan(graph, plan, "create_matmul_input_rhs")
    rows, columns = _all(plan.right)
    users = np.arange(plan.grid[0])
    tiles = plan.tile(users, rows[:, None], columns[:, None])
    return plan.right.matrix(_on_tiles(graph, plan, plan.right, tiles, name))


def _homes(plan: MatMulPlan) -> Int64:
    """Return the tiles that make each block of the product, int64[blocks, parts]."""
    rows, columns = _all(plan.product)
    return plan.tile(rows[:, None], np.arange(plan.grid[1]), columns[:, None])


def _all(blocks: Blocks) -> tuple[Int64, Int64]:
    """Return row and column of every block, row by row."""
    rows, columns = np.divmod(np.arange(blocks.down * blocks.across), blocks.across)
    return rows, columns


def _on_tiles(graph: Graph, plan: MatMulPlan, blocks: Blocks, tiles: Int64, name: str) -> Tensor:
    """Make a variable of blocks, each cut among tiles.

    Args:
        graph: where it goes.
        plan: whose element type it has.
        blocks: of which matrix.
        tiles: int64[blocks, parts], where parts of each block lie.
        name: of the variable.
    """
    begin, end = blocks.spans(*_all(blocks))
    edges = _edges(end - begin, tiles.shape[1], _grain(graph, plan))
    mapping = TileMapping(graph.target.tiles, tiles.ravel(), np.diff(edges).ravel())
    size = (blocks.rows * blocks.columns,)
    return graph.add_variable(plan.element_type, size, name, mapping=mapping)


def _grain(graph: Graph, plan: MatMulPlan) -> int:
    """Return how many elements stay together: what is added up at a time."""
    return int(graph.target.cost("add_partials_bytes")) // plan.partials.size_bytes


def _edges(size: Int64, parts: int, grain: int) -> Int64:
    """Return where parts of some sizes begin and end, int64[sizes, parts + 1], in whole grains.

    >>> _edges(np.array([10, 3]), 3, 4).tolist()
    [[0, 4, 8, 10], [0, 0, 0, 3]]
    """
    grains = -(-size[:, None] // grain)
    edges: Int64 = np.minimum(np.arange(parts + 1) * grains // parts * grain, size[:, None])
    return edges


def _steps(
    graph: Graph, plan: MatMulPlan, left: Tensor, right: Tensor, product: Tensor
) -> list[Program]:
    """Make the compute sets of all passes."""
    x, y, out = plan.left.flat(left), plan.right.flat(right), plan.product
    room = plan.block[0] * plan.block[2]
    partials = product
    if plan.has_partials:
        partials = graph.add_variable(
            plan.partials,
            (plan.tiles * room,),
            "partials",
            mapping=TileMapping(
                graph.target.tiles, np.arange(plan.tiles), np.full(plan.tiles, room)
            ),
        )
    # Products begin at zero, so their memory may serve others before.
    steps: list[Program] = [WriteUndef(partials)]
    for top in range(0, out.down, plan.grid[0]):
        for first in range(0, out.across, plan.grid[2]):
            rows, columns = (
                a.ravel()
                for a in np.meshgrid(
                    np.arange(top, min(top + plan.grid[0], out.down)),
                    np.arange(first, min(first + plan.grid[2], out.across)),
                    indexing="ij",
                )
            )
            steps.append(_products(graph, plan, (rows, columns), (x, y), partials))
            if plan.has_partials:
                steps.append(_sums(graph, plan, (rows, columns), partials, product))
    return steps


def _products(
    graph: Graph,
    plan: MatMulPlan,
    blocks: tuple[Int64, Int64],
    operands: tuple[Tensor, Tensor],
    out: Tensor,
) -> Execute:
    """Make the products of a pass: all blocks of the depth for some blocks of the result."""
    depth = np.tile(np.arange(plan.grid[1]), len(blocks[0]))
    row, column = (np.repeat(numbers, plan.grid[1]) for numbers in blocks)
    tile = plan.tile(row, depth, column)
    height, width = plan.product.sizes(row, column)
    begin, end = plan.product.spans(row, column)
    if plan.has_partials:
        begin = tile * plan.block[0] * plan.block[2]
        end = begin + height * width
    work = graph.add_compute_set("products")
    graph.add_vertices(
        work,
        AmpMatMul,
        tile=tile,
        weights=Slices(operands[0], 0, *plan.left.spans(row, depth)),
        x=Slices(operands[1], 0, *plan.right.spans(depth, column)),
        out=Slices(out, 0, begin, end),
        columns=width,
    )
    return Execute(work)


def _sums(
    graph: Graph,
    plan: MatMulPlan,
    blocks: tuple[Int64, Int64],
    partials: Tensor,
    product: Tensor,
) -> Execute:
    """Add up the partials of a pass, a part of each block on each of its tiles."""
    row, column = (numbers[:, None] for numbers in blocks)
    cuts = plan.grid[1]
    begin, end = plan.product.spans(*blocks)
    edges = _edges(end - begin, cuts, _grain(graph, plan))
    block, part = np.nonzero(np.diff(edges))  # small blocks leave tiles without a part
    low, high = edges[block, part], edges[block, part + 1]
    made = plan.tile(row, np.arange(cuts), column)[block] * plan.block[0] * plan.block[2]
    own = np.arange(cuts) == part[:, None]
    reads = (made + low[:, None])[~own]
    work = graph.add_compute_set("sums")
    graph.add_vertices(
        work,
        AddPartials,
        tile=plan.tile(blocks[0][block], part, blocks[1][block]),
        own=Slices(partials, 0, made[own] + low, made[own] + high),
        others=Slices(
            partials,
            0,
            reads,
            reads + np.repeat(high - low, cuts - 1),
            (cuts - 1) * np.arange(len(low) + 1),
        ),
        out=Slices(product, 0, begin[block] + low, begin[block] + high),
    )
    return Execute(work)
