"""QR by Householder's reflections, and the inverse.

columns 0 to b      some tiles find V and T of the block: a = (I - V T V') R
columns after       A -= V (T' (V' A)), three products that all tiles share
Q                   from the identity, block after block from the last: Q -= V (T (V' Q))

Blocks of columns that workers of some tiles reflect: `poplite.vertices.linear`.

rows       worker 0 of tile 0      each worker has some rows of all columns of the block,
           worker 1                and the same of V
           ...
           worker 0 of tile 1      a loop over the columns: two compute sets for each

T comes from V' V, a product of matrices, row by row.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from poplite.errors import GraphMemoryAllocationError, TensorCreationError, checked_truth
from poplite.expr.build import cast
from poplite.expr.operand import Operand
from poplite.expr.tree import ElementClass
from poplite.graph.partition import cut
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.convolutions.arguments import ConvolutionCall
from poplite.ops.elementwise import where
from poplite.ops.linalg.factorisations import (
    LinalgSteps,
    check_matrices,
    check_one_matrix,
    identity,
    triangle,
)
from poplite.ops.operands import called, described
from poplite.ops.record import copy, map as stored, zero
from poplite.program import Execute, Repeat, Sequence, Sequence as Steps
from poplite.program.recording import recorder
from poplite.types import FLOAT, INT
from poplite.vertices.linear import FOUND, JoinReflectors, ReflectColumn, UpdateColumns


def qr(
    a: Operand,
    *,
    complete: bool = False,
    block: int = 8,
    name: str = "qr",
    program: Steps | None = None,
) -> tuple[Tensor, Tensor]:
    """Record steps that factor a matrix into Q with orthogonal columns and a triangle R.

    Args:
        a: [m, n] of FLOAT or HALF with m >= n, a tensor or an expression.
        complete: whether Q is [m, m] and R [m, n], or [m, n] and [n, n]: NumPy's modes "complete"
            and "reduced".
        block: columns that are reflected at a time; fewer where tiles have no room for them.
        name: of the steps, and what those of the results begin with.
        program: where they go; left out, the block of `graph.steps()` that is open.

    Returns:
        New variables Q and R, of the type of a. A number on the diagonal of R has the other sign
        than what it was made of, as in LAPACK, so that it may be negative.

    Raises:
        ElementTypeError: for other types, and a `complete` that is not true or false.
        TensorCreationError: for a tensor that is not a matrix, or has more columns than rows.
        GraphMemoryAllocationError: for a column that is too long for all tiles.
        SizeOverflowError: for a block below 1.
        ControlProgramError: without `program=` outside of all steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> a = graph.add_variable(pl.FLOAT, (2, 1), "a", mapping=0, initial_value=[[3], [4]])
    >>> q, r = qr(a, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(r).tolist()
    [[-5.0]]
    """
    what = "ops.linalg.qr"
    call = ConvolutionCall(what, name, program)
    (given,) = call.operands((a, "a"))
    if given.rank != 2 or given.shape[0] < given.shape[1]:
        raise TensorCreationError(
            f"{what}: {called(given)} is of shape {given.shape}",
            found=described(given),
            fix="a matrix with as many rows as columns, or more",
        )
    m, n = given.shape
    width = m if checked_truth(complete, f"{what}: complete") else n
    work = LinalgSteps(call, block)
    width_of(work, m)
    r = call.zeros(given.element_type, (width, n), f"{name}/r")
    if not m * width:
        return call.zeros(given.element_type, (m, width), f"{name}/q"), r
    q = work.copied(identity(m, width), "orthogonal")[0]
    if n:
        rest = work.copied(given, "rest")[0]
        blocks = _reflected(work, rest, n)
        upper = where(triangle(n, n, lower=False), rest[:n], 0)
        upper = cast(upper, given.element_type)
        stored(upper, out=r[:n], name=f"{name}/upper", program=program)
        for each in reversed(blocks):
            _reflect(work, each.v, each.t, q[each.first :])
    return work.finished(q, given, (m, width), "q"), r


def inverse(
    a: Operand, *, block: int = 8, name: str = "inverse", program: Steps | None = None
) -> Tensor:
    """Record steps that invert a matrix: the solution of `R x = Q'`, of its factors.

    Args:
        a: [n, n] of FLOAT or HALF, a tensor or an expression.
        block: columns that are reflected, and rows that are solved, at a time.
        name: of the result and of the steps.
        program: where they go; left out, the block of `graph.steps()` that is open.

    Returns:
        A new variable of the shape and type of a; of a singular matrix infinities and NaN, or
        very large numbers.

    Raises:
        the errors of `qr`.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> a = graph.add_variable(pl.FLOAT, (2, 2), "a", mapping=0, initial_value=[[0, 2], [4, 0]])
    >>> x = inverse(a, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> abs(engine.read(x)).tolist()
    [[0.0, 0.25], [0.5, 0.0]]
    """
    what = "ops.linalg.inverse"
    call = ConvolutionCall(what, name, program)
    (given,) = call.operands((a, "a"))
    check_matrices(what, given, "a")
    check_one_matrix(what, given)
    n = given.shape[0]
    work = LinalgSteps(call, block)
    width_of(work, n)
    if not n:
        return call.zeros(given.element_type, given.shape, name)
    rest = work.copied(given, "rest")
    solution = work.copied(identity(n, n), "solution")
    _reflected(work, concat([rest[0], solution[0]], 1), n)
    work.solve(rest, solution, lower=False, unit=False)
    return work.finished(solution, given, given.shape)


def _reflected(work: LinalgSteps, x: Tensor, n: int) -> list[Reflected]:
    """Make R of the first n columns of x, in its upper triangle, and return the blocks.

    The other columns are multiplied by Q'.
    """
    m, columns = x.shape
    width, made = width_of(work, m), []
    for first in range(0, n, width):
        end = min(first + width, n)
        made.append(reflect_block(work, x, first, end - first))
        if end < columns:
            _reflect(work, made[-1].v, made[-1].t.transpose(), x[first:, end:])
    return made


def _reflect(work: LinalgSteps, v: Tensor, t: Tensor, x: Tensor) -> None:
    """Record `x -= v @ t @ v.T @ x`, small matrices first."""
    inner = work.product(v.transpose(), x, "inner")
    work.subtract(x, v, work.product(t, inner, "turned"))


# -- panel -----------------------------------------------------------------------------------------


MEMORY = 0.6
"""The share of a tile's memory that a block of columns and its V may take."""

WORKERS = 1.3
"""Workers for the root of the number of rows: what each adds up of all others takes about as long
as its own rows then, by the cost model."""


class Reflected(NamedTuple):
    """A block of columns that was reflected.

    Attributes:
        first: its first row and column.
        v: [rows, columns], from row `first` on.
        t: [columns, columns].
    """

    first: int
    v: Tensor
    t: Tensor


def width_of(work: LinalgSteps, rows: int) -> int:
    """Return how many columns are reflected at a time: tiles hold them, and as many of V."""
    target = work.graph.target
    memory = target.tiles * target.tile_memory_bytes
    pair = 2 * max(1, rows) * FLOAT.size_bytes
    room = int(MEMORY * memory) // pair
    if not room:
        raise GraphMemoryAllocationError(
            f"{work.call.what}: columns of {rows:,} elements are too long for the tiles",
            found=f"a column and its reflector take {pair:,} B, all tiles have {memory:,} B",
            fix="fewer rows, or more tiles",
        )
    return min(work.block, room)


def reflect_block(work: LinalgSteps, rest: Tensor, first: int, columns: int) -> Reflected:
    """Make R of some columns of a matrix, from row `first` on, in its upper triangle."""
    panel = _Panel(work, rest.shape[0] - first, columns)
    x = rest[first:, first : first + columns].transpose()
    program = work.program
    copy(x, panel.a, name=f"{work.name}/columns", program=program)
    zero(panel.column, name=f"{work.name}/column", program=program)
    panel.record_loop()
    copy(panel.a[:, :columns], x[:, :columns], name=f"{work.name}/columns", program=program)
    products = work.product(panel.v, panel.v.transpose(), "joined")
    t = panel.joined(products)
    return Reflected(first, panel.v.transpose(), t)


class _Panel:
    """What the workers of some tiles have of a block of columns.

    Attributes:
        a: [columns, rows], the columns.
        v: likewise, the reflectors.
        dots: [workers, columns], parts of products of a reflector and columns.
        taus: likewise, the factors of the reflectors, the same for all workers.
        found: [workers, FOUND], what each found of a column.
        column: [workers], which is next.
    """

    def __init__(self, work: LinalgSteps, rows: int, columns: int) -> None:
        self.work, self.rows = work, rows
        target = work.graph.target
        tiles = _tiles_of(work, rows, columns)
        self.parts = min(rows, tiles * target.workers)
        own = work.tiles(-(-self.parts // target.workers))
        self.tile = [tile for tile in own for _ in range(target.workers)][: self.parts]
        self.lows = [cut(part, rows, self.parts) for part in range(self.parts + 1)]
        self.a, self.v = (self._variable(role, columns) for role in "av")
        self.dots, self.taus, self.found, self.column = (
            self._of_workers(*each)
            for each in (
                ("dots", FLOAT, columns),
                ("taus", FLOAT, columns),
                ("found", FLOAT, FOUND),
                ("column", INT, 1),
            )
        )

    def record_loop(self) -> None:
        """Record the loop over the columns."""
        work, graph, columns = self.work, self.work.graph, len(self.a)
        record = recorder(graph, work.call.steps)
        update, reflect = (
            graph.add_compute_set(f"{work.name}/{role}") for role in ("update", "reflect")
        )
        dots, found = self.dots.flatten(), self.found.flatten()
        for part, tile in enumerate(self.tile):
            low, high = self.lows[part : part + 2]
            own = {
                "a": self.a[:, low:high],
                "v": self.v[:, low:high],
                "taus": self.taus[part],
                "column": self.column[part, 0],
                "first": low,
                "workers": self.parts,
            }
            graph.add_vertex(
                update, UpdateColumns, tile=tile, dots=dots, found=self.found[part], **own
            )
            graph.add_vertex(
                reflect, ReflectColumn, tile=tile, dots=self.dots[part], found=found, **own
            )
        record.add(Repeat(columns, Sequence(Execute(update), Execute(reflect))))
        changed = self.a, self.v, self.taus, self.column, self.dots, self.found
        record.uses(work.name, changed, changed)
        record.finish(work.call.steps, f"{work.name}/block")

    def joined(self, products: Tensor) -> Tensor:
        """Record T, whose rows are shared by workers, from V' V; and return it."""
        work, graph, columns = self.work, self.work.graph, len(self.a)
        t = graph.add_variable(FLOAT, (columns, columns), f"{work.name}/t")
        taus = self.taus[0]
        with work.step("join", t, reads=[products, taus]) as step:
            for row in range(columns):
                tile = self.tile[row % self.parts]
                graph.set_tile_mapping(t[row], tile)
                own = {"products": products, "taus": taus, "t": t[row], "row": row}
                graph.add_vertex(step, JoinReflectors, tile=tile, **own)
        return t

    def _variable(self, role: str, columns: int) -> Tensor:
        """Make a variable for numbers of the rows, which lie with their workers."""
        graph, name = self.work.graph, f"{self.work.name}/{role}"
        made = graph.add_variable(FLOAT, (columns, self.rows), name, initial_value=0)
        for part, tile in enumerate(self.tile):
            graph.set_tile_mapping(made[:, self.lows[part] : self.lows[part + 1]], tile)
        return made

    def _of_workers(self, role: str, element: ElementClass, count: int) -> Tensor:
        """Make a variable for numbers of each worker."""
        graph, name = self.work.graph, f"{self.work.name}/{role}"
        made = graph.add_variable(element, (self.parts, count), name, initial_value=0)
        for part, tile in enumerate(self.tile):
            graph.set_tile_mapping(made[part], tile)
        return made


def _tiles_of(work: LinalgSteps, rows: int, columns: int) -> int:
    """Return how many tiles take part: those that cost least, but as many as have to hold it."""
    target = work.graph.target
    held = 2 * rows * columns * FLOAT.size_bytes / (MEMORY * target.tile_memory_bytes)
    best = round(WORKERS * math.sqrt(rows) / target.workers)
    return min(max(1, best, math.ceil(held)), target.tiles)
