"""Inner loops of compiled vertices against hardware and listings of the IPU's own compiler.

    python benchmarks/fidelity_loops.py [--only KEY] [--json FILE]

Slots of one worker for one more element, so that beginning and end of a vertex do not count.  Code
that handles vectors is priced as plain code whose scalar is one vector.  Row 7 of the list, which
is about data that are not aligned, is left out: fields have the alignment they ask for.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import poplite as pl
from fidelity_blur import FORMS
from fidelity_heat import AlievPanfilov, Heat3DPairs
from fidelity_programs import Dot
from fidelity_rows import Row, Rows, run, steps
from fidelity_stencils import CONSTANTS
from poplite.machine.facts import Architecture


class TriadOfVectors(pl.Vertex):
    """STREAM's triad as compiled code."""

    b: pl.Input[pl.Vector[pl.FLOAT]]
    c: pl.Input[pl.Vector[pl.FLOAT]]
    a: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        """Add a multiple of c to b."""
        for i in range(len(self.a)):
            self.a[i] = self.b[i] + 3.0 * self.c[i]


class AddConstant(pl.Vertex):
    """A constant is added in place."""

    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        """Add."""
        for i in range(len(self.x)):
            self.x[i] += 1.0


class Count(pl.Vertex):
    """The same of integers, with a bound in memory."""

    n: pl.State[pl.INT]
    x: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        """Add."""
        for i in range(self.n):
            self.x[i] += 1


class Greater(pl.Vertex):
    """The greater of two vectors, element by element."""

    a: pl.Input[pl.Vector[pl.FLOAT]]
    b: pl.Input[pl.Vector[pl.FLOAT]]
    out: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        """Choose."""
        for i in range(len(self.out)):
            self.out[i] = max(self.a[i], self.b[i])


class AddInts(pl.Vertex):
    """The sum of two vectors of integers."""

    a: pl.Input[pl.Vector[pl.INT]]
    b: pl.Input[pl.Vector[pl.INT]]
    out: pl.Output[pl.Vector[pl.INT]]

    def compute(self) -> None:
        """Add."""
        for i in range(len(self.out)):
            self.out[i] = self.a[i] + self.b[i]


class Gelu(pl.Vertex):
    """GELU of halves, one by one, by tanh: the kernel that was measured has not been published."""

    x: pl.Input[pl.Vector[pl.HALF]]
    out: pl.Output[pl.Vector[pl.HALF]]

    def compute(self) -> None:
        """Weigh every element by its place in a normal distribution."""
        for i in range(len(self.out)):
            x = self.x[i]
            self.out[i] = 0.5 * x * (1.0 + math.tanh(0.79788456 * (x + 0.044715 * x * x * x)))


Lengths = dict[str, int | tuple[int, ...]]

FEW, MANY = 12, 36
"""Lengths whose difference is taken."""


def slope(
    cls: Any,
    lengths: Callable[[int], Lengths],
    state: Callable[[int], dict[str, float]] = lambda n: {},
    architecture: Architecture = "gc200",
    element: type[pl.ElementType[Any]] = pl.FLOAT,
) -> float:
    """Return the slots of one more element.

    Args:
        cls: the vertex.
        lengths: returns the lengths of its fields for some elements.
        state: returns its state for them.
        architecture: the machine.
        element: of all fields.
    """
    slots = []
    for n in (FEW, MANY):
        graph = pl.Graph(pl.Target(tiles=1, architecture=architecture))
        fields: dict[str, Any] = {
            name: graph.add_variable(element, shape if isinstance(shape, tuple) else (shape,), name,
                                     mapping=0)
            for name, shape in lengths(n).items()
        }  # fmt: skip
        step = graph.add_compute_set("priced")
        graph.add_vertex(step, cls, tile=0, **fields, **state(n))
        (total,) = steps(graph, pl.Execute(step))
        slots.append(total.vertex_types[0].cycles)
    return (slots[1] - slots[0]) / (MANY - FEW)


def vectors(*names: str) -> Callable[[int], Lengths]:
    """Return lengths of vectors that are all equally long."""
    return lambda n: dict.fromkeys(names, n)


PIXELS = 8
"""What a worker has of each row of the image that was measured."""


def blurs() -> Iterator[Row]:
    """1 to 3: a pixel of the blurs on Mk1, whose compiler paired nothing, in rows of 8 pixels."""
    for number, (name, measured) in enumerate(
        {"float": 93.2, "float2": 44.4, "half4": 28.2}.items(), 1
    ):
        form = FORMS[name]

        def lengths(n: int, size: int = form.vectors) -> Lengths:
            return {"x": (PIXELS + 2) * size * (n + 2), "y": PIXELS * size * n}

        row = slope(form.priced, lengths, lambda n: {"width": PIXELS, "height": n}, "gc2")
        model, lacks = row / PIXELS, "constants and moves of halves that plain code does not have"
        yield Row(
            f"A{number}", f"blur {name}, a pixel", 1, "H LBM", "slots", measured, model, 0.20, "",
            lacks,
        )  # fmt: skip


def loops() -> Iterator[Row]:
    """4 to 10: loops of one line or more."""
    triad = slope(TriadOfVectors, vectors("a", "b", "c"), architecture="gc2")
    yield Row("A4", "STREAM triad, C++, Mk1, 2 elements", 1, "H CB", "slots", 5.84, triad, 0.10)
    dot = slope(Dot, lambda n: {"a": n, "b": n, "out": ()})
    yield Row("A5", "dot product, an element", 1, "H T6", "slots", 4.05, dot, 0.10)
    add = slope(AddConstant, vectors("x"))
    yield Row(
        "A6", "x += c, 2 elements", 3, "L", "slots", 4, add, 0.10, "",
        "a counted branch where the repeat instruction would do",
    )  # fmt: skip
    count = slope(Count, vectors("x"), lambda n: {"n": n}, element=pl.INT)
    yield Row(
        "A8", "integer x += 1, bound in memory", 3, "L", "slots", 7, count, 0.10, "",
        "the bound, which the compiler loads again each time",
    )  # fmt: skip

    def cells(n: int) -> Lengths:
        return {"e_in": (3, n + 2), "e_out": (1, n), "r": (1, n)}

    constants = dict.fromkeys(CONSTANTS, 0.5)
    heart = slope(AlievPanfilov, cells, lambda n: {"height": 1, "width": n, **constants})
    yield Row("A9", "Aliev-Panfilov, a cell", 3, "L WE", "slots", 40, heart, 0.20)

    def pairs(n: int) -> Lengths:
        return {"old": (9, n + 1), "new": (1, 2 * n)}

    state = {"height": 1, "width": 1, "alpha": 0.1}
    heat = slope(Heat3DPairs, pairs, lambda n: {**state, "pairs": n})
    yield Row("A10", "heat 3-D, a pair of cells", 3, "L DV", "slots", 16, heat, 0.20)


def gelu() -> Iterator[Row]:
    """V8: GELU on a C600, where six busy workers make a slot of each a cycle of the tile."""
    model = slope(Gelu, vectors("x", "out"), architecture="c600", element=pl.HALF)
    lacks = "vectors of halves: here a store of one is a call, and tanh that of a float"
    yield Row("V8", "GELU of halves, an element", 1, "H IS", "slots", 10, model, 0.15, "", lacks)


def generic() -> Iterator[Row]:
    """Operations of poplibs that are generic C++, by its own estimator."""
    greater = slope(Greater, vectors("a", "b", "out"))
    lacks = "the generic loop around a functor"
    yield Row("C2", "max of 2 floats, generic C++", 3, "S PL", "slots", 8, greater, 0.20, "", lacks)
    add = slope(AddInts, vectors("a", "b", "out"), element=pl.INT)
    yield Row("C2", "sum of integers, generic C++", 3, "S PL", "slots", 7, add, 0.20, "", lacks)


ROWS: Rows = {"V8": gelu, "A1": blurs, "A4": loops, "C2-generic": generic}

if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], ROWS))
