"""Blocks of columns that workers of some tiles reflect: `poplite.vertices.reflectors`.

rows       worker 0 of tile 0      each worker has some rows of all columns of the block,
           worker 1                and the same of V
           ...
           worker 0 of tile 1      a loop over the columns: two compute sets for each

T comes from V' V, a product of matrices, row by row.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from poplite.errors import GraphMemoryAllocationError
from poplite.expr.tree import ElementClass
from poplite.graph.partition import cut
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.filling_and_copying import copy, zero
from poplite.ops.linalg.work import LinalgSteps
from poplite.program import Execute, Repeat, Sequence
from poplite.program.recording import recorder
from poplite.types import FLOAT, INT
from poplite.vertices.reflectors import FOUND, JoinReflectors, ReflectColumn, UpdateColumns

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
        taus: likewise, the factors of the reflectors, of which all workers have the same.
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
