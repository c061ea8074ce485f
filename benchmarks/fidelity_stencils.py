"""Stencils on whole machines, compared with measurements."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

import poplite as pl
from fidelity_rows import Row, Rows, steps
from poplite.text import amount

# -- vertices --------------------------------------------------------------------------------------
# Where that handles two cells as a vector, so does this: an element represents a vector of two.


class Heat3D(pl.Vertex):
    """One step of heat in three dimensions, as simehaa/IPU's HeatEquationSimple writes it."""

    old: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    new: pl.Output[pl.Vector[pl.Vector[pl.FLOAT]]]
    height: pl.State[pl.INT]
    width: pl.State[pl.INT]
    depth: pl.State[pl.INT]
    alpha: pl.State[pl.FLOAT]

    def compute(self) -> None:
        """Blend every cell with its six neighbours."""
        beta = 1.0 - 6.0 * self.alpha
        wide = self.width + 2
        for x in range(self.height):
            for y in range(self.width):
                at = (x + 1) * wide + y + 1
                for z in range(self.depth):
                    around = self.old[at + wide][z + 1] + self.old[at - wide][z + 1]
                    around += self.old[at + 1][z + 1] + self.old[at - 1][z + 1]
                    around += self.old[at][z + 2] + self.old[at][z]
                    middle = beta * self.old[at][z + 1]
                    self.new[x * self.width + y][z] = middle + self.alpha * around


class Heat3DPairs(pl.Vertex):
    """The same with pairs of cells (HeatEquationOptimized): an element is a vector of two."""

    old: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    new: pl.Output[pl.Vector[pl.Vector[pl.FLOAT]]]
    height: pl.State[pl.INT]
    width: pl.State[pl.INT]
    pairs: pl.State[pl.INT]
    alpha: pl.State[pl.FLOAT]

    def compute(self) -> None:
        """Blend pairs with their neighbours; the two lanes are stored one by one."""
        beta = 1.0 - 6.0 * self.alpha
        wide = self.width + 2
        for x in range(self.height):
            for y in range(self.width):
                at = (x + 1) * wide + y + 1
                for z in range(1, self.pairs):
                    left = self.old[at][z - 1] + self.old[at][z]
                    right = self.old[at][z] + self.old[at][z + 1]
                    around = left + self.old[at - wide][z] + self.old[at + wide][z]
                    around += self.old[at - 1][z] + self.old[at + 1][z]
                    self.new[x * self.width + y][2 * z - 1] = (
                        beta * self.old[at][z] + self.alpha * around
                    )
                    self.new[x * self.width + y][2 * z] = right


class Heat2DPairs(pl.Vertex):
    """One step of heat on a plate by pairs of cells, an element a vector of two."""

    old: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    new: pl.Output[pl.Vector[pl.Vector[pl.FLOAT]]]
    height: pl.State[pl.INT]
    pairs: pl.State[pl.INT]
    alpha: pl.State[pl.FLOAT]

    def compute(self) -> None:
        """Blend pairs with their neighbours; the two lanes are stored one by one."""
        beta = 1.0 - 4.0 * self.alpha
        for r in range(self.height):
            for j in range(1, self.pairs):
                left = self.old[r + 1][j - 1] + self.old[r + 1][j]
                right = self.old[r + 1][j] + self.old[r + 1][j + 1]
                around = self.old[r][j] + left + self.old[r + 2][j]
                self.new[r][2 * j - 1] = beta * self.old[r + 1][j] + self.alpha * around
                self.new[r][2 * j] = right


class AlievPanfilov(pl.Vertex):
    """One step of the Aliev-Panfilov model of the heart (simehaa/IPU)."""

    e_in: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    e_out: pl.Output[pl.Vector[pl.Vector[pl.FLOAT]]]
    r: pl.InOut[pl.Vector[pl.Vector[pl.FLOAT]]]
    height: pl.State[pl.INT]
    width: pl.State[pl.INT]
    delta: pl.State[pl.FLOAT]
    epsilon: pl.State[pl.FLOAT]
    my1: pl.State[pl.FLOAT]
    my2: pl.State[pl.FLOAT]
    h: pl.State[pl.FLOAT]
    dt: pl.State[pl.FLOAT]
    k: pl.State[pl.FLOAT]
    a: pl.State[pl.FLOAT]
    b: pl.State[pl.FLOAT]

    def compute(self) -> None:
        """Excite and recover every cell."""
        d_h2 = self.delta / (self.h * self.h)
        b_plus_one = self.b + 1.0
        for i in range(self.height):
            for j in range(self.width):
                e = self.e_in[i + 1][j + 1]
                around = self.e_in[i + 2][j + 1] + self.e_in[i][j + 1]
                around += self.e_in[i + 1][j + 2] + self.e_in[i + 1][j]
                change = d_h2 * (-4.0 * e + around)
                change -= self.k * e * (e - self.a) * (e - 1.0)
                change -= e * self.r[i][j]
                self.e_out[i][j] = e + change * self.dt
                recovery = -self.epsilon - self.my1 * self.r[i][j] / (self.my2 + e)
                recovery *= self.r[i][j] + self.k * e * (e - b_plus_one)
                self.r[i][j] = self.r[i][j] + recovery * self.dt


class Diffusion(pl.Vertex):
    """One step of diffusion in three dimensions, by differences of the fourth order."""

    old: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    new: pl.Output[pl.Vector[pl.Vector[pl.FLOAT]]]
    height: pl.State[pl.INT]
    width: pl.State[pl.INT]
    depth: pl.State[pl.INT]
    alpha: pl.State[pl.FLOAT]
    dt: pl.State[pl.FLOAT]
    r0: pl.State[pl.FLOAT]
    r1: pl.State[pl.FLOAT]
    r2: pl.State[pl.FLOAT]
    r3: pl.State[pl.FLOAT]

    def compute(self) -> None:
        """Blend every cell with two neighbours on each of its six sides."""
        wide = self.width + 4
        for x in range(self.height):
            for y in range(self.width):
                at = (x + 2) * wide + y + 2
                for z in range(self.depth):
                    e = self.old[at][z + 2]
                    middle = -2.5 * e
                    far = self.old[at - 2 * wide][z + 2] + self.old[at + 2 * wide][z + 2]
                    near = self.old[at - wide][z + 2] + self.old[at + wide][z + 2]
                    change = self.r1 * (middle - 0.083333333 * far + 1.3333333 * near)
                    far = self.old[at - 2][z + 2] + self.old[at + 2][z + 2]
                    near = self.old[at - 1][z + 2] + self.old[at + 1][z + 2]
                    change += self.r2 * (middle - 0.083333333 * far + 1.3333333 * near)
                    far = self.old[at][z] + self.old[at][z + 4]
                    near = self.old[at][z + 1] + self.old[at][z + 3]
                    change += self.r3 * (middle - 0.083333333 * far + 1.3333333 * near)
                    self.new[x * self.width + y][z] = self.dt * (self.alpha * change + self.r0 * e)


class Wave(pl.Vertex):
    """One step of a damped wave in three dimensions, by differences of the fourth order."""

    now: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    before: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    damp: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    speed: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    new: pl.Output[pl.Vector[pl.Vector[pl.FLOAT]]]
    height: pl.State[pl.INT]
    width: pl.State[pl.INT]
    depth: pl.State[pl.INT]
    r0: pl.State[pl.FLOAT]
    r1: pl.State[pl.FLOAT]

    def compute(self) -> None:
        """Advance every cell from its own and its neighbours' present and past values."""
        wide = self.width + 4
        for x in range(self.height):
            for y in range(self.width):
                row, at = x * self.width + y, (x + 2) * wide + y + 2
                for z in range(self.depth):
                    e, damp = self.now[at][z + 2], self.damp[row][z]
                    r2 = 1.0 / (self.speed[row][z] * self.speed[row][z])
                    inertia = r2 * (2.0 * self.r0 * e - self.r0 * self.before[row][z])
                    far = self.now[at - 2 * wide][z + 2] + self.now[at - 2][z + 2]
                    far += self.now[at][z] + self.now[at][z + 4]
                    far += self.now[at + 2][z + 2] + self.now[at + 2 * wide][z + 2]
                    near = self.now[at - wide][z + 2] + self.now[at - 1][z + 2]
                    near += self.now[at][z + 1] + self.now[at][z + 3]
                    near += self.now[at + 1][z + 2] + self.now[at + wide][z + 2]
                    pull = 0.013333333 * near - 0.00083333332 * far - 0.075 * e
                    force = self.r1 * damp * e + inertia + pull
                    self.new[row][z] = force / (self.r0 * r2 + self.r1 * damp)


# -- programs --------------------------------------------------------------------------------------
# On one IPU every tile has the block of the largest tile that was measured, and there are only so
# many that one has neighbours all around; the others do nothing that would not happen at the same
# time.  On several, the whole grid is built, as all tiles at a border share the links, and cut as
# the programs cut it: a share of the last dimension for each IPU, then blocks with the least
# surface. Left out are 8 and 16 IPUs, and the cube of 508 cells on 4, whose tens of millions of
# rows take more memory than a benchmark should.


ALPHA = 0.1

Cells = tuple[slice, ...]
"""A range along each dimension; variables have one cell more on every side."""


def slots(cls: type[pl.Vertex], lengths: dict[str, tuple[int, int]], **state: float) -> int:
    """Return the slots of one vertex with lists of (rows, length)."""
    graph = pl.Graph(pl.Target(tiles=1))
    fields: dict[str, Any] = {
        name: graph.add_variable(pl.FLOAT, shape, name, mapping=0)
        for name, shape in lengths.items()
    }
    step = graph.add_compute_set("priced")
    graph.add_vertex(step, cls, tile=0, **fields, **state)
    (total,) = steps(graph, pl.Execute(step), {"debug.allowOutOfMemory": True})
    return total.vertex_types[0].cycles


class Grid:
    """A grid of cells over tiles, and what its workers do.

    Args:
        target: the machine.
        cells: cells along each dimension.
        cuts: blocks along each dimension, one for each tile.
        split: workers' shares of a block along each dimension.
        tile: returns the tile of a block; left out, tiles are row by row.
        border: cells around all others.
    """

    def __init__(
        self,
        target: pl.Target,
        cells: Sequence[int],
        cuts: Sequence[int],
        split: Sequence[int],
        tile: Callable[[Sequence[int]], int] | None = None,
        border: int = 1,
    ) -> None:
        self.graph, self.cells, self.split = pl.Graph(target), cells, split
        self.border = border
        self.step = self.graph.add_compute_set("step")
        whole = tuple(slice(0, n) for n in cells)
        places = list(itertools.product(*map(range, cuts)))
        self.blocks = [
            (n if tile is None else tile(at), _part(whole, at, cuts)) for n, at in enumerate(places)
        ]

    def variable(self, name: str) -> pl.Tensor:
        """Add a variable of all cells and a border, every block on its tile."""
        border = self.border
        tensor = self.graph.add_variable(pl.FLOAT, [n + 2 * border for n in self.cells], name)
        for tile, block in self.blocks:
            part = tuple(
                slice(s.start + border * (s.start > 0), s.stop + border * (1 + (s.stop == n)))
                for s, n in zip(block, self.cells, strict=True)
            )
            self.graph.set_tile_mapping(tensor[part], tile)
        return tensor

    def around(self, tensor: pl.Tensor, cells: Cells) -> pl.Tensor:
        """Return rows of cells with the border's width more on every side."""
        return _rows(tensor[tuple(slice(s.start, s.stop + 2 * self.border) for s in cells)])

    def inside(self, tensor: pl.Tensor, cells: Cells) -> pl.Tensor:
        """Return rows of cells."""
        begin = self.border
        return _rows(tensor[tuple(slice(s.start + begin, s.stop + begin) for s in cells)])

    def shares(self) -> Iterable[tuple[int, Cells]]:
        """Yield the tile and the cells of each worker."""
        for tile, block in self.blocks:
            for at in itertools.product(*map(range, self.split)):
                yield tile, _part(block, at, self.split)

    def cycles(self) -> int:
        """Return the cycles of the step."""
        options = {"debug.allowOutOfMemory": True}
        (total,) = steps(self.graph, pl.Execute(self.step), options)
        return total.cycles


def one_ipu(block: Sequence[int], split: Sequence[int], border: int = 1) -> Grid:
    """Return blocks on tiles of one IPU, one of them with neighbours all around."""
    target = pl.Target(tiles=3 ** len(block))
    return Grid(target, [3 * n for n in block], [3] * len(block), split, border=border)


def ipus(side: int, dimensions: int, count: int, border: int = 1) -> Grid:
    """Return a grid with equal sides that some IPUs share."""
    target = pl.Target(ipus=count)
    cuts = best_cuts([side] * (dimensions - 1) + [side // count], target.tiles_per_ipu)

    def tile(at: Sequence[int]) -> int:
        ipu, last = divmod(at[-1], cuts[-1])
        within = np.ravel_multi_index((*at[:-1], last), cuts)
        return ipu * target.tiles_per_ipu + int(within)

    split = (6, 1) if dimensions == 2 else (2, 3, 1)
    return Grid(target, [side] * dimensions, (*cuts[:-1], count * cuts[-1]), split, tile, border)


def best_cuts(cells: Sequence[int], tiles: int) -> tuple[int, ...]:
    """Return the number of parts along each dimension that minimises the surface of blocks.

    Ties go to the most parts along the first dimension, then the second.
    """
    factors = [n for n in range(1, tiles + 1) if tiles % n == 0]
    ways = itertools.product(factors, repeat=len(cells) - 1)
    whole = [(*way, tiles // math.prod(way)) for way in ways if tiles % math.prod(way) == 0]

    def surface(cuts: tuple[int, ...]) -> float:
        lengths = [n / parts for n, parts in zip(cells, cuts, strict=True)]
        faces = itertools.combinations(lengths, len(cells) - 1)
        return round(sum(map(math.prod, faces)), 6)

    return min(reversed(whole), key=surface)


def _part(cells: Cells, at: Sequence[int], parts: Sequence[int]) -> Cells:
    """Return one of the parts that cells are cut into."""
    lengths = [s.stop - s.start for s in cells]
    return tuple(
        slice(s.start + length * k // n, s.start + length * (k + 1) // n)
        for s, length, k, n in zip(cells, lengths, at, parts, strict=True)
    )


def _rows(tensor: pl.Tensor) -> pl.Tensor:
    return tensor.flatten(0, tensor.rank - 1)


def _size(cells: Cells) -> list[int]:
    return [s.stop - s.start for s in cells]


def add_heat(grid: Grid, cls: type[pl.Vertex], taken: Callable[..., int] | None = None) -> None:
    """Add the vertices of one step of heat.

    Args:
        grid: where.
        cls: the vertex.
        taken: returns the slots of a share of some size; left out, they are those of the class.
    """
    old, new = grid.variable("old"), grid.variable("new")
    names = ["height", "width"][: old.rank - 1] + ["depth" if cls is Heat3D else "pairs"]
    for tile, cells in grid.shares():
        state: dict[str, Any] = dict(zip(names, _size(cells), strict=True))
        vertex = grid.graph.add_vertex(
            grid.step, cls, tile=tile, alpha=ALPHA, old=grid.around(old, cells),
            new=grid.inside(new, cells), **state,
        )  # fmt: skip
        if taken is not None:
            grid.graph.set_perf_estimate(vertex, taken(*_size(cells)))


@cache
def slots_3d(height: int, width: int, depth: int) -> int:
    """Return the slots of a share with pairs; both ends of a row are handled separately."""
    count, wide = height * width, (height + 2) * (width + 2)
    state = {"height": height, "width": width, "alpha": ALPHA}
    pairs = depth // 2 + depth % 2
    rows = {"old": (wide, pairs + 1), "new": (count, depth)}
    ends = 2 - depth % 2  # the last cell of a row of odd length has a partner
    edge = {"old": (wide, ends + 2), "new": (count, ends)}
    return slots(Heat3DPairs, rows, pairs=pairs, **state) + slots(Heat3D, edge, depth=ends, **state)


@cache
def slots_2d(height: int, width: int) -> int:
    """Return the same on a plate."""
    state = {"height": height, "alpha": ALPHA}
    pairs = width // 2 + width % 2
    rows = {"old": (height + 2, pairs + 1), "new": (height, width)}
    edge = {"old": (height + 2, 5), "new": (height, 4)}
    return slots(Heat2DPairs, rows, pairs=pairs, **state) + slots(
        Heat2DPairs, edge, pairs=2, **state
    )


LOADED = "row pointers of 5 rows and more, which are loaded again for every cell"
PLATE = "not known: the same in a cube, with more neighbours, is closer"


def _of_cell(key: str, what: str, seconds: float, cells: float, model: int, lacks: str) -> Row:
    """Return the row of a step on one IPU, as tile cycles of a cell of the average tile."""
    measured = seconds * pl.Target().clock_hz / cells
    return Row(key, what, 2, "H WE", "cycles", measured, model / cells, 0.15, "", lacks)


def heat_3d() -> Iterable[Row]:
    """W2: a cube of 360 cells along each side; the largest tile has 16 x 45 x 45 of them."""
    cells = 360**3 / 1472
    for form, cls, taken, seconds in (
        ("simple", Heat3D, None, 0.43e-3),
        ("by pairs", Heat3DPairs, slots_3d, 0.26e-3),
    ):
        grid = one_ipu((16, 45, 45), (2, 3, 1))
        add_heat(grid, cls, taken)
        what = f"heat 3-D 360^3, {form}, a cell of a tile"
        yield _of_cell("W2", what, seconds, cells, grid.cycles(), LOADED)


HEAT = {
    "W4": (2, {2: (10_000, 0.28), 4: (14_000, 0.27)}),
    "W5": (3, {2: (403, 0.23)}),
    "W6": (3, {2: (360, 0.16), 4: (360, 0.11)}),
}
"""Dimensions of heat, and by the number of IPUs the side in cells and milliseconds of a step."""


def heat_of_ipus(key: str) -> Iterable[Row]:
    """W4, W5: heat on a plate and in a cube that grow with the IPUs; W6: in the same cube."""
    dimensions, runs = HEAT[key]
    cls, taken = (Heat2DPairs, slots_2d) if dimensions == 2 else (Heat3DPairs, slots_3d)
    for count, (side, milliseconds) in runs.items():
        grid = ipus(side, dimensions, count)
        add_heat(grid, cls, taken)
        measured = milliseconds / 1e3 * grid.graph.target.clock_hz
        what = f"heat {dimensions}-D {side}^{dimensions}, by pairs, {count} IPUs"
        source, lacks = "H DV" if key == "W6" else "H WE", LOADED if dimensions == 3 else PLATE
        yield Row(key, what, 2, source, "cycles", measured, grid.cycles(), 0.30, "", lacks)


RATES = {"W7": (342, {1: 36.5, 2: 66.1, 4: 108.1}), "W8": (225, {1: 26.5, 2: 49.7, 4: 68.7})}
"""Cells along each side, with a border of two, and 10^9 of them a second by the number of IPUs."""


def fourth_order(key: str) -> Iterable[Row]:
    """W7, W8: diffusion and waves by differences of the fourth order, in cubes."""
    side, rates = RATES[key]
    inner = side - 4
    for count, rate in rates.items():
        split = 2, 3, 1
        if count == 1:
            cuts = best_cuts([inner] * 3, pl.Target().tiles)
            grid = one_ipu([-(-inner // parts) for parts in cuts], split, border=2)
        else:
            grid = ipus(inner, 3, count, border=2)
        (add_diffusion if key == "W7" else add_wave)(grid)
        measured = side**3 / rate / 1e9 * grid.graph.target.clock_hz
        name = "diffusion" if key == "W7" else "wave"
        what = f"{name} {side}^3, order 4, {amount(count, 'IPU')}"
        yield Row(
            key, what, 2, "H DV", "cycles", measured, grid.cycles(), 0.15 if count == 1 else 0.30,
            "", LOADED,
        )  # fmt: skip


def add_diffusion(grid: Grid) -> None:
    """Add the vertices of one step of diffusion."""
    old, new = grid.variable("old"), grid.variable("new")
    factors = dict.fromkeys(("alpha", "dt", "r0", "r1", "r2", "r3"), 0.5)
    for tile, cells in grid.shares():
        state = dict(zip(("height", "width", "depth"), _size(cells), strict=True))
        grid.graph.add_vertex(
            grid.step, Diffusion, tile=tile, old=grid.around(old, cells),
            new=grid.inside(new, cells), **state, **factors,
        )  # fmt: skip


def add_wave(grid: Grid) -> None:
    """Add the vertices of one step of a wave."""
    now, *others = (grid.variable(name) for name in ("now", "before", "damp", "speed", "new"))
    for tile, cells in grid.shares():
        fields = {tensor.name: grid.inside(tensor, cells) for tensor in others}
        state = dict(zip(("height", "width", "depth"), _size(cells), strict=True))
        grid.graph.add_vertex(
            grid.step, Wave, tile=tile, now=grid.around(now, cells), r0=0.5, r1=0.5,
            **fields, **state,
        )  # fmt: skip


def heat_2d() -> Iterable[Row]:
    """W1: a plate of 8,000 x 8,000 cells in blocks of 174 x 250."""
    grid = one_ipu((174, 250), (6, 1))
    add_heat(grid, Heat2DPairs, slots_2d)
    what = "heat 2-D 8000^2, by pairs, a cell of a tile"
    yield _of_cell("W1", what, 0.30e-3, 8_000**2 / 1472, grid.cycles(), PLATE)


CONSTANTS = ("delta", "epsilon", "my1", "my2", "h", "dt", "k", "a", "b")
"""State fields of the Aliev-Panfilov vertex; their values do not matter."""


def aliev_panfilov() -> Iterable[Row]:
    """W3: a tissue of 7,000 x 7,000 cells in blocks of 153 x 219."""
    grid = one_ipu((153, 219), (6, 1))
    e_in, e_out, r = (grid.variable(name) for name in ("e_in", "e_out", "r"))
    for tile, cells in grid.shares():
        height, width = _size(cells)
        grid.graph.add_vertex(
            grid.step, AlievPanfilov, tile=tile, height=height, width=width,
            e_in=grid.around(e_in, cells), e_out=grid.inside(e_out, cells), r=grid.inside(r, cells),
            **dict.fromkeys(CONSTANTS, 0.5),
        )  # fmt: skip
    what = "Aliev-Panfilov 7000^2, a cell of a tile"
    yield _of_cell("W3", what, 1.09e-3, 7_000**2 / 1472, grid.cycles(), "")


STENCILS: Rows = {
    "W1": heat_2d,
    "W2": heat_3d,
    "W3": aliev_panfilov,
    **{key: partial(heat_of_ipus, key) for key in HEAT},
    **{key: partial(fourth_order, key) for key in RATES},
}
