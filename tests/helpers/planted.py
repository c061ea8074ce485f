"""Programs with planted faults, of which findings must speak, and what mends each.

layers      work work work slow work idle work ...     a step each, on all tiles alike
memory      a table lies on one tile                   mended: on all
overloaded  a tile has more vertices in one step       mended: all have some more elements
idle        tiles have one vertex in one step          mended: one for each worker
all-to-all  tiles read columns, but rows are mapped    mended: columns are mapped
gathered    a field is from as many tiles as it has    mended: it is on its tile
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np

import poplite as pl
from poplite.report import Report
from poplite.report.findings import FindingKind

FAULTS: dict[str, FindingKind] = {
    "memory": "out of memory",
    "overloaded": "waiting",
    "idle": "idle workers",
    "all-to-all": "exchange",
    "gathered": "exchange",
}
"""Each fault, and the kind of its finding."""


class Work(pl.Vertex):
    """Squares a field."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = self.x[i] * self.x[i]

    def cycles(self, target: pl.Target) -> int:
        """Return two cycles for each element."""
        return 10 + 2 * len(self.x)


class Read(pl.Vertex):
    """Adds a field up."""

    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        total = 0.0
        for i in range(len(self.x)):
            total += self.x[i]
        self.y = total

    def cycles(self, target: pl.Target) -> int:
        """Return a cycle for each element."""
        return 10 + len(self.x)


@dataclass(frozen=True)
class Planted:
    """A program with faults.

    Attributes:
        faults: names of `FAULTS`.
        tiles: tiles of the machine.
        steps: steps of the program.
        length: elements of each vertex of a step.
        tile: the tile of the faults that have one.
        extra: vertices that the overloaded tile has more.
        places: places of the gathered field.
        memory: bytes of a tile.
        table: elements of the table for each tile, if it were on all.
        seed: of the order of the steps, and of the places.
    """

    faults: frozenset[str]
    tiles: int = 1472
    steps: int = 100
    length: int = 100
    tile: int = 700
    extra: int = 24
    places: int = 1200
    memory: int = 638_976
    table: int = 120
    seed: int = 0

    @cached_property
    def at(self) -> dict[str, int]:
        """The step of each fault."""
        places = np.random.default_rng(self.seed).permutation(self.steps).tolist()
        return dict(zip(FAULTS, places, strict=False))

    def report(self, mended: Collection[str] = ()) -> Report:
        """Run the program, with some of its faults mended, and return the report."""
        return _Builder(self, frozenset(mended)).report()


class _Builder:
    def __init__(self, plan: Planted, mended: frozenset[str]) -> None:
        self.plan, self.mended = plan, mended
        self.graph = pl.Graph(pl.Target(tiles=plan.tiles, tile_memory_bytes=plan.memory))
        self.all = np.arange(plan.tiles)
        self.workers = self.graph.target.workers
        self.x = self._rows("x", self.workers * plan.length)

    def report(self) -> Report:
        plan, steps = self.plan, []
        add = {"overloaded": self._overloaded, "idle": self._idle, "all-to-all": self._columns}
        add["gathered"] = self._gathered
        by_step = {plan.at[name]: name for name in plan.faults if name in add}
        if "memory" in plan.faults:
            size = plan.table * plan.tiles
            table = self.graph.add_variable(pl.FLOAT, (size,), "table", initial_value=1)
            if "memory" in self.mended:
                pl.map_linearly(self.graph, table)
            else:
                self.graph.set_tile_mapping(table, plan.tile)
        for number in range(plan.steps):
            step = self.graph.add_compute_set(f"layer {number}")
            if number in by_step:
                add[by_step[number]](step)
            else:
                self._work(step, self.x.reshape((plan.tiles * self.workers, plan.length)))
            steps.append(pl.Execute(step))
        options = {"debug.allowOutOfMemory": True}
        engine = pl.Engine(self.graph, pl.Sequence(*steps), checks="fast", options=options)
        engine.run()
        return engine.report()

    def _rows(self, name: str, length: int) -> pl.Tensor:
        """Return a variable with a row for each tile, on it."""
        shape = (self.plan.tiles, length)
        x = self.graph.add_variable(pl.FLOAT, shape, name, initial_value=1)
        self.graph.set_tile_mapping(
            x, [[(t * length, t * length + length)] for t in self.all.tolist()]
        )
        return x

    def _work(self, step: pl.ComputeSet, x: pl.Tensor) -> None:
        """Add vertices for the rows of a tensor, equally many on each tile."""
        each = x.shape[0] // self.plan.tiles
        self.graph.add_vertices(step, Work, tile=np.repeat(self.all, each), x=x)

    def _overloaded(self, step: pl.ComputeSet) -> None:
        plan = self.plan
        vertices, more = plan.tiles * self.workers, plan.extra * plan.length
        if "overloaded" in self.mended:
            length = plan.length + -(-more // vertices)
            self._work(step, self._rows("even", self.workers * length).reshape((vertices, length)))
            return
        self._work(step, self.x.reshape((vertices, plan.length)))
        shape = plan.extra, plan.length
        heavy = self.graph.add_variable(
            pl.FLOAT, shape, "heavy", mapping=plan.tile, initial_value=1
        )
        for k in range(plan.extra):
            self.graph.add_vertex(step, Work, tile=plan.tile, x=heavy[k])

    def _idle(self, step: pl.ComputeSet) -> None:
        each = self.workers if "idle" in self.mended else 1
        length = self.workers * self.plan.length // each
        self._work(step, self.x.reshape((self.plan.tiles * each, length)))

    def _columns(self, step: pl.ComputeSet) -> None:
        """Add vertices that read columns: six a tile, of nearly equal length."""
        tiles = self.plan.tiles
        matrix = self._rows("matrix", tiles)
        columns = matrix if "all-to-all" in self.mended else matrix.T
        sums = self._rows("sums", self.workers)
        cuts = [pl.cut(k, tiles, self.workers) for k in range(self.workers + 1)]
        for k in range(self.workers):
            part = columns[:, cuts[k] : cuts[k + 1]]
            self.graph.add_vertices(step, Read, tile=self.all, x=part, y=sums[:, k])

    def _gathered(self, step: pl.ComputeSet) -> None:
        """Add a vertex for each worker of each tile; one reads its elements from many tiles."""
        plan = self.plan
        near, sums = self._rows("near", plan.places), self._rows("found", self.workers)
        far = self._rows("far", 3)
        random = np.random.default_rng(plan.seed)
        tiles = random.permutation(np.delete(self.all, plan.tile))[: plan.places]
        picked = pl.concat([far[int(t), int(random.integers(3))].reshape((1,)) for t in tiles])
        for k in range(self.workers):
            others = self.all if k else np.delete(self.all, plan.tile)
            rows = near if k else pl.concat([near[: plan.tile], near[plan.tile + 1 :]])
            y = sums[:, k] if k else pl.concat([sums[: plan.tile, k], sums[plan.tile + 1 :, k]])
            self.graph.add_vertices(step, Read, tile=others, x=rows, y=y)
        x = near[plan.tile] if "gathered" in self.mended else picked
        self.graph.add_vertex(step, Read, tile=plan.tile, x=x, y=sums[plan.tile, 0])
