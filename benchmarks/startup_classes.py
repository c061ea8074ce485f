"""Eleven vertex classes of real size, as programs of eleven fields have them, and their baseline.

    python benchmarks/startup_classes.py strict     one engine that runs each of them once
    python benchmarks/startup_classes.py functions  prints a script: the same bodies under `@njit`

A number after that takes only that many, the first ones.
Lists of edges are matrices in the functions, and scalar edges arrays of one element.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Sequence
from typing import Literal

import numpy as np

import poplite as pl
from poplite import FLOAT, INT, InOut, Input, Output, State, Vector, Vertex
from poplite.vertex import Field

ROWS, LENGTH = 6, 12


class Align(Vertex):
    """A row of a Smith-Waterman table."""

    query: Input[Vector[INT]]
    subject: Input[Vector[INT]]
    table: InOut[Vector[Vector[INT]]]
    best: Output[INT]
    match: State[INT]
    gap: State[INT]

    def compute(self) -> None:
        best = 0
        for i in range(1, len(self.table)):
            for j in range(1, len(self.table[i])):
                score = self.table[i - 1][j - 1]
                if self.query[i - 1] == self.subject[j - 1]:
                    score += self.match
                else:
                    score -= self.match
                above = self.table[i - 1][j] - self.gap
                left = self.table[i][j - 1] - self.gap
                if above > score:
                    score = above
                if left > score:
                    score = left
                if score < 0:
                    score = 0
                self.table[i][j] = score
                if score > best:
                    best = score
        self.best = best


class Diffuse(Vertex):
    """Explicit diffusion on a block with walls, and how much it changed."""

    old: Input[Vector[Vector[FLOAT]]]
    wall: Input[Vector[Vector[INT]]]
    new: InOut[Vector[Vector[FLOAT]]]
    change: Output[FLOAT]
    rate: State[FLOAT]

    def compute(self) -> None:
        change = 0.0
        last = len(self.old) - 1
        for i in range(len(self.old)):
            for j in range(len(self.old[i])):
                value = self.old[i][j]
                if self.wall[i][j] != 0:
                    self.new[i][j] = value
                    continue
                total = 0.0
                if i > 0:
                    total += self.old[i - 1][j] - value
                if i < last:
                    total += self.old[i + 1][j] - value
                if j > 0:
                    total += self.old[i][j - 1] - value
                if j < len(self.old[i]) - 1:
                    total += self.old[i][j + 1] - value
                result = value + self.rate * total
                change = max(change, abs(result - value))
                self.new[i][j] = result
        self.change = change


class SparseRows(Vertex):
    """Rows of a sparse matrix times a vector."""

    starts: Input[Vector[INT]]
    columns: Input[Vector[INT]]
    values: Input[Vector[FLOAT]]
    x: Input[Vector[FLOAT]]
    y: InOut[Vector[FLOAT]]
    norm: Output[FLOAT]

    def compute(self) -> None:
        norm = 0.0
        for row in range(len(self.y)):
            total = 0.0
            diagonal = 1.0
            for at in range(self.starts[row], self.starts[row + 1]):
                column = self.columns[at]
                value = self.values[at]
                if column == row:
                    diagonal = value
                if column < 0 or column >= len(self.x):
                    continue
                total += value * self.x[column]
            if diagonal == 0.0:
                diagonal = 1.0
            residual = self.y[row] - total
            norm += residual * residual
            self.y[row] = total / diagonal
        self.norm = norm


class Nearest(Vertex):
    """The nearest of some centres for each point, and sums for the next centres."""

    points: Input[Vector[Vector[FLOAT]]]
    centres: Input[Vector[Vector[FLOAT]]]
    chosen: InOut[Vector[INT]]
    sums: InOut[Vector[Vector[FLOAT]]]
    counts: InOut[Vector[INT]]
    moved: Output[INT]

    def compute(self) -> None:
        moved = 0
        for k in range(len(self.counts)):
            self.counts[k] = 0
            for d in range(len(self.centres[k])):
                self.sums[k][d] = 0.0
        for p in range(len(self.points)):
            nearest = 0
            least = 1e30
            for k in range(len(self.centres)):
                distance = 0.0
                for d in range(len(self.centres[k])):
                    apart = self.points[p][d] - self.centres[k][d]
                    distance += apart * apart
                if distance < least:
                    least = distance
                    nearest = k
            if nearest != self.chosen[p]:
                moved += 1
            self.chosen[p] = nearest
            self.counts[nearest] += 1
            for d in range(len(self.points[p])):
                self.sums[nearest][d] += self.points[p][d]
        self.moved = moved


class Viterbi(Vertex):
    """One step of the most likely path through hidden states."""

    before: Input[Vector[FLOAT]]
    transitions: Input[Vector[Vector[FLOAT]]]
    emissions: Input[Vector[Vector[FLOAT]]]
    symbol: Input[INT]
    after: InOut[Vector[FLOAT]]
    came_from: InOut[Vector[INT]]
    best: Output[FLOAT]

    def compute(self) -> None:
        best = -1e30
        for state in range(len(self.after)):
            likely = -1e30
            origin = 0
            for other in range(len(self.before)):
                score = self.before[other] + self.transitions[other][state]
                if score > likely:
                    likely = score
                    origin = other
            symbol = self.symbol
            if symbol < 0:
                symbol = 0
            if symbol >= len(self.emissions[state]):
                symbol = len(self.emissions[state]) - 1
            likely += self.emissions[state][symbol]
            self.after[state] = likely
            self.came_from[state] = origin
            if likely > best:
                best = likely
        for state in range(len(self.after)):
            self.after[state] -= best
        self.best = best


class Life(Vertex):
    """A generation of the game of life on a block with its border."""

    cells: Input[Vector[Vector[INT]]]
    after: InOut[Vector[Vector[INT]]]
    alive: Output[INT]
    births: Output[INT]

    def compute(self) -> None:
        alive = 0
        births = 0
        for i in range(1, len(self.cells) - 1):
            for j in range(1, len(self.cells[i]) - 1):
                around = -self.cells[i][j]
                for di in range(-1, 2):
                    for dj in range(-1, 2):
                        around += self.cells[i + di][j + dj]
                if self.cells[i][j] == 1:
                    if around == 2 or around == 3:
                        self.after[i][j] = 1
                        alive += 1
                    else:
                        self.after[i][j] = 0
                elif around == 3:
                    self.after[i][j] = 1
                    alive += 1
                    births += 1
                else:
                    self.after[i][j] = 0
        self.alive = alive
        self.births = births


class Push(Vertex):
    """Particles pushed by a field, reflected at walls."""

    position: InOut[Vector[FLOAT]]
    velocity: InOut[Vector[FLOAT]]
    field: Input[Vector[FLOAT]]
    density: InOut[Vector[FLOAT]]
    energy: Output[FLOAT]
    step: State[FLOAT]
    width: State[FLOAT]

    def compute(self) -> None:
        cells = len(self.field)
        for cell in range(cells):
            self.density[cell] = 0.0
        energy = 0.0
        for p in range(len(self.position)):
            cell = int(self.position[p] / self.width * cells)
            cell = min(max(cell, 0), cells - 1)
            speed = self.velocity[p] + self.step * self.field[cell]
            place = self.position[p] + self.step * speed
            if place < 0.0:
                place = -place
                speed = -speed
            if place > self.width:
                place = 2.0 * self.width - place
                speed = -speed
            energy += 0.5 * speed * speed
            self.position[p] = place
            self.velocity[p] = speed
            cell = int(place / self.width * cells)
            cell = min(max(cell, 0), cells - 1)
            self.density[cell] += 1.0
        self.energy = energy


class Conjugate(Vertex):
    """The updates of one step of conjugate gradients on a block."""

    x: InOut[Vector[FLOAT]]
    r: InOut[Vector[FLOAT]]
    p: InOut[Vector[FLOAT]]
    ap: Input[Vector[FLOAT]]
    rr: Input[FLOAT]
    pap: Input[FLOAT]
    new_rr: Output[FLOAT]
    greatest: Output[FLOAT]
    tolerance: State[FLOAT]

    def compute(self) -> None:
        alpha = 0.0
        if self.pap != 0.0:
            alpha = self.rr / self.pap
        total = 0.0
        greatest = 0.0
        for i in range(len(self.x)):
            self.x[i] += alpha * self.p[i]
            residual = self.r[i] - alpha * self.ap[i]
            self.r[i] = residual
            total += residual * residual
            greatest = max(greatest, abs(residual))
        beta = 0.0
        if self.rr > self.tolerance:
            beta = total / self.rr
        for i in range(len(self.p)):
            if greatest < self.tolerance:
                self.p[i] = 0.0
            else:
                self.p[i] = self.r[i] + beta * self.p[i]
        self.new_rr = total
        self.greatest = greatest


class Histogram(Vertex):
    """Counts of values in bins, and of those outside all bins."""

    values: Input[Vector[FLOAT]]
    bins: InOut[Vector[INT]]
    below: Output[INT]
    above: Output[INT]
    mean: Output[FLOAT]
    low: State[FLOAT]
    high: State[FLOAT]

    def compute(self) -> None:
        below = 0
        above = 0
        inside = 0
        total = 0.0
        for b in range(len(self.bins)):
            self.bins[b] = 0
        scale = len(self.bins) / (self.high - self.low)
        for i in range(len(self.values)):
            value = self.values[i]
            if value < self.low:
                below += 1
            elif value >= self.high:
                above += 1
            else:
                where = int((value - self.low) * scale)
                if where >= len(self.bins):
                    where = len(self.bins) - 1
                self.bins[where] += 1
                inside += 1
                total += value
        self.mean = 0.0
        if inside > 0:
            self.mean = total / inside
        self.below = below
        self.above = above


class Merge(Vertex):
    """Two sorted lists of keys with payloads merged, or sorted by insertion where short."""

    left: Input[Vector[INT]]
    right: Input[Vector[INT]]
    out: InOut[Vector[INT]]
    origin: InOut[Vector[INT]]
    inversions: Output[INT]

    def compute(self) -> None:
        i = 0
        j = 0
        inversions = 0
        for k in range(len(self.out)):
            take_left = False
            if j >= len(self.right):
                take_left = True
            elif i < len(self.left):
                take_left = self.left[i] <= self.right[j]
            if take_left:
                self.out[k] = self.left[i]
                self.origin[k] = i
                i += 1
            else:
                self.out[k] = self.right[j]
                self.origin[k] = len(self.left) + j
                inversions += len(self.left) - i
                j += 1
        for k in range(1, len(self.out)):
            if self.out[k - 1] > self.out[k]:
                inversions = -1
        self.inversions = inversions


class Relax(Vertex):
    """Bellman-Ford relaxation of the edges of some nodes."""

    distances: Input[Vector[FLOAT]]
    starts: Input[Vector[INT]]
    sources: Input[Vector[INT]]
    lengths: Input[Vector[FLOAT]]
    own: InOut[Vector[FLOAT]]
    parents: InOut[Vector[INT]]
    changed: Output[INT]
    far: State[FLOAT]

    def compute(self) -> None:
        changed = 0
        for node in range(len(self.own)):
            best = self.own[node]
            parent = self.parents[node]
            for edge in range(self.starts[node], self.starts[node + 1]):
                source = self.sources[edge]
                if source < 0:
                    break
                through = self.distances[source] + self.lengths[edge]
                if through >= self.far:
                    continue
                if through < best:
                    best = through
                    parent = source
            if best < self.own[node]:
                changed += 1
                self.own[node] = best
                self.parents[node] = parent
        self.changed = changed


CLASSES = (
    *(Align, Diffuse, SparseRows, Nearest, Viterbi, Life),
    *(Push, Conjugate, Histogram, Merge, Relax),
)

SHAPES = {
    "starts": (LENGTH + 1,),
    "counts": (ROWS,),
    "transitions": (LENGTH, LENGTH),
    "emissions": (LENGTH, LENGTH),
    "out": (2 * LENGTH,),
    "origin": (2 * LENGTH,),
}
"""Shapes of fields for which the usual one, `LENGTH` elements or `ROWS` such rows, does not fit."""


def shape_of(field: Field) -> tuple[int, ...]:
    """Return the shape of a field's data."""
    return SHAPES.get(field.name, ((), (LENGTH,), (ROWS, LENGTH))[field.depth])


def number_of(field: Field) -> int:
    """Return the number that scalar state holds."""
    return 2 if field.name == "high" else 1


def run_vertices(checks: Literal["strict", "fast"], classes: Sequence[type[Vertex]]) -> None:
    """Make one engine of some classes, and run it."""
    graph = pl.Graph(pl.Target(tiles=len(classes)))
    steps = []
    for tile, cls in enumerate(classes):
        fields = {
            name: number_of(field)
            if field.role == "state"
            else graph.add_variable(
                field.element, shape_of(field), name, mapping=tile, initial_value=0
            )
            for name, field in cls.fields.items()
        }
        work = graph.add_compute_set(cls.__name__)
        graph.add_vertex(work, cls, tile=tile, **fields)
        steps.append(pl.Execute(work))
    engine = pl.Engine(graph, pl.Sequence(*steps), checks=checks)
    engine.run()
    print(len(classes), "classes")


def functions(classes: Sequence[type[Vertex]]) -> str:
    """Return a script that calls the bodies of some classes, compiled by Numba."""
    lines = ["import numpy as np", "from numba import njit", ""]
    calls = []
    for cls in classes:
        body = textwrap.dedent(inspect.getsource(cls.compute)).split("\n", 1)[1]
        arguments = []
        for name, field in cls.fields.items():
            is_scalar = field.depth == 0 and field.role != "state"
            body = re.sub(rf"self\.{name}\b", f"{name}_[0]" if is_scalar else f"{name}_", body)
            dtype = f"np.{np.dtype(field.element.dtype).name}"
            if field.role == "state":
                arguments.append(f"{dtype}({number_of(field)})")
            else:
                arguments.append(f"np.zeros({shape_of(field) or (1,)}, {dtype})")
        parameters = ", ".join(f"{name}_" for name in cls.fields)
        lines += ["", "@njit", f"def {cls.__name__}({parameters}):", body.replace("][", ", ")]
        calls.append(f"{cls.__name__}({', '.join(arguments)})")
    return "\n".join([*lines, *calls, f"print({len(classes)}, 'classes')", ""])


if __name__ == "__main__":
    some = CLASSES[: int(sys.argv[2])] if len(sys.argv) > 2 else CLASSES
    if sys.argv[1] == "functions":
        print(functions(some))
    else:
        run_vertices("strict" if sys.argv[1] == "strict" else "fast", some)
