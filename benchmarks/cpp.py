"""C++ codelets against the same classes in Python: times, compilation, and prices.

    python benchmarks/cpp.py [--samples 9] [--json FILE] [--small]

Needs the extra `cpp`. Each C++ class has a twin in Python; prices are slots of a vertex.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np

import poplite as pl
from poplite.simulator.pricing.class_slots import slots_of
from poplite.vertex.fields import WORDS, fields_of
from rows import SETTLING, Row, check, in_turn, run

HEAD = "#include <poplar/Vertex.hpp>\n#include <cmath>\nusing namespace poplar;\n"

TEXT = (
    HEAD
    + """
struct Axpy : Vertex { Input<Vector<float>> x; InOut<Vector<float>> y; float a;
  void compute() { for (unsigned i = 0; i < y.size(); ++i) y[i] += a * x[i]; } };
struct Dot : Vertex { Input<Vector<float>> x, y; Output<float> z;
  void compute() { float t = 0; for (unsigned i = 0; i < x.size(); ++i) t += x[i] * y[i];
    *z = t; } };
struct Roots : Vertex { InOut<Vector<float>> x;
  void compute() { for (unsigned i = 0; i < x.size(); ++i) x[i] = std::sqrt(x[i]); } };
struct Bytes : Vertex { Input<Vector<unsigned char>> x; InOut<Vector<unsigned>> counts;
  void compute() { for (unsigned i = 0; i < x.size(); ++i) counts[x[i]] += 1; } };
struct Scale : Vertex { InOut<Vector<float>> x; float a;
  void compute() { for (unsigned i = 0; i < x.size(); ++i) x[i] *= a; } };
struct Rows : Vertex { Vector<Input<Vector<float>>> x; Output<Vector<float>> y;
  void compute() { for (unsigned i = 0; i < x.size(); ++i) { float t = 0;
    for (unsigned j = 0; j < x[i].size(); ++j) t += x[i][j];
    y[i] = t; } } };
struct Blur : Vertex { Input<Vector<float>> x; Output<Vector<float>> y;
  void compute() { for (unsigned i = 0; i < y.size(); ++i)
    y[i] = (x[i] + x[i + 1] + x[i + 2]) * 0.5f; } };
struct Largest : Vertex { Input<Vector<float>> x; Output<float> y;
  void compute() { float m = x[0]; for (unsigned i = 1; i < x.size(); ++i) m = m < x[i] ? x[i] : m;
    *y = m; } };
struct Product : Vertex { Input<Vector<float>> a, x; Output<Vector<float>> y; int width;
  void compute() { for (int i = 0; i < (int)y.size(); ++i) { float t = 0;
    for (int j = 0; j < width; ++j) t += a[i * width + j] * x[j];
    y[i] = t; } } };
struct Sums : Vertex { InOut<Vector<int>> x;
  void compute() { int t = 0; for (unsigned i = 0; i < x.size(); ++i) { t += x[i]; x[i] = t; } } };
struct Bits : Vertex { InOut<Vector<int>> x;
  void compute() { for (unsigned i = 0; i < x.size(); ++i) x[i] = (x[i] ^ 21) & 255; } };
struct Horner : Vertex { InOut<Vector<float>> x;
  void compute() { for (unsigned i = 0; i < x.size(); ++i)
    x[i] = ((x[i] * 2 + 3) * x[i] + 4) * x[i] + 5; } };
"""
)


TWINS_TEXT = """
import math

import poplite as pl

class Axpy(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.InOut[pl.Vector[pl.FLOAT]]
    a: pl.State[pl.FLOAT]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] += self.a * self.x[i]

class Dot(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Input[pl.Vector[pl.FLOAT]]
    z: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        t = 0.0
        for i in range(len(self.x)):
            t += self.x[i] * self.y[i]
        self.z = t

class Roots(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = math.sqrt(self.x[i])

class Bytes(pl.Vertex):
    x: pl.Input[pl.Vector[pl.UNSIGNED_CHAR]]
    counts: pl.InOut[pl.Vector[pl.UNSIGNED_INT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.counts[self.x[i]] += 1

class Scale(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]
    a: pl.State[pl.FLOAT]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] *= self.a

class Rows(pl.Vertex):
    x: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            t = 0.0
            for j in range(len(self.x[i])):
                t += self.x[i][j]
            self.y[i] = t

class Blur(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.y)):
            self.y[i] = (self.x[i] + self.x[i + 1] + self.x[i + 2]) * 0.5

class Largest(pl.Vertex):
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.FLOAT]

    def compute(self) -> None:
        m = self.x[0]
        for i in range(1, len(self.x)):
            m = self.x[i] if m < self.x[i] else m
        self.y = m

class Product(pl.Vertex):
    a: pl.Input[pl.Vector[pl.FLOAT]]
    x: pl.Input[pl.Vector[pl.FLOAT]]
    y: pl.Output[pl.Vector[pl.FLOAT]]
    width: pl.State[pl.INT]

    def compute(self) -> None:
        for i in range(len(self.y)):
            t = 0.0
            for j in range(self.width):
                t += self.a[i * self.width + j] * self.x[j]
            self.y[i] = t

class Sums(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        t = 0
        for i in range(len(self.x)):
            t += self.x[i]
            self.x[i] = t

class Bits(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.INT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = (self.x[i] ^ 21) & 255

class Horner(pl.Vertex):
    x: pl.InOut[pl.Vector[pl.FLOAT]]

    def compute(self) -> None:
        for i in range(len(self.x)):
            self.x[i] = ((self.x[i] * 2 + 3) * self.x[i] + 4) * self.x[i] + 5
"""

TWINS = {
    name: pl.vertex_from_source(TWINS_TEXT, name) for name in re.findall(r"class (\w+)", TWINS_TEXT)
}
"""The same classes in Python."""

VERTICES = 8832
"""As many as a machine has workers."""


def axpy_row(small: bool, samples: int, elements: int, limit: float) -> Row:
    """Return the row of axpy on all workers, with so many elements each."""
    count = 12 if small else VERTICES
    engines = []
    for cls in ("Axpy", TWINS["Axpy"]):
        graph = pl.Graph(pl.Target(tiles=count // 6))
        graph.add_codelets(TEXT)
        x, y = (
            graph.add_variable(pl.FLOAT, (count, elements), name, mapping="linear", initial_value=1)
            for name in "xy"
        )
        step = graph.add_compute_set("axpy")
        vertex = graph.add_codelets(TEXT)["Axpy"] if isinstance(cls, str) else cls
        tiles = np.arange(count) // 6
        graph.add_vertices(step, vertex, tile=tiles, x=x, y=y, a=0.5)
        engine = pl.Engine(graph, pl.Execute(step), checks="fast")
        engine.run()
        engines.append((engine, y))
    (ours, y), (twin, other) = engines
    check("axpy", ours.read(y), twin.read(other))
    warm_up = 0.0 if small else SETTLING
    calls = 1 if small else 20
    one, two = in_turn(ours.run, twin.run, samples, warm_up=warm_up, calls=calls)
    name = f"axpy, {count:,} vertices of {elements} elements / Python"
    return Row(name, min(one) / min(two), "x", "<=", limit, one, two)


def compilation_rows(small: bool) -> list[Row]:
    """Return the rows of twelve classes in one file: the first time, and again.

    An engine is made before, since every program makes one: what it loads is not of C++.
    """
    program = (
        "import sys, time, poplite as pl\n"
        "graph, text = pl.Graph(), sys.stdin.read()\n"
        "pl.Engine(pl.Graph(pl.Target(tiles=1)), pl.Sequence())\n"
        "begin = time.perf_counter()\ngraph.add_codelets(text)\n"
        "print(time.perf_counter() - begin)\n"
    )
    taken = []
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "POPLITE_CACHE_DIR": folder}
        for _ in range(2):
            done = subprocess.run(
                [sys.executable, "-c", program],
                input=TEXT,
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            )
            taken.append(float(done.stdout))
    names = "a file of twelve codelets, first", "the same, again in another process"
    limits = (1e9, 1e9) if small else (3.0, 0.05)
    return [
        Row(name, seconds, "s", "<=", limit, [seconds], [seconds])
        for name, seconds, limit in zip(names, taken, limits, strict=True)
    ]


def price_rows() -> list[Row]:
    """Return the rows of prices: each class, with 100 elements, and how many are close."""
    target, graph = pl.Target(), pl.Graph()
    classes: Any = graph.add_codelets(TEXT)
    found, close, taken = list[Row](), 0, [0.0]
    for name, twin in TWINS.items():
        words = sum(WORDS[field.kind] for field in fields_of(twin))
        shapes = np.full((1, words), 100)
        if name == "Rows":
            shapes = np.array([[10, 1000, 10]])
        ours, theirs = (slots_of(c, shapes, target) for c in (classes[name], twin))
        ratio = int(ours.slots[0]) / int(theirs.slots[0])
        close += abs(ratio - 1) <= 0.05
        text = f"price of {name}: {ours.formula} / {theirs.formula}"
        found.append(Row(text, max(ratio, 1 / ratio), "x", "<=", 1.3, taken, taken))
    return [*found, Row("classes of 12 within a twentieth", close, "", ">=", 9, taken, taken)]


def rows(small: bool, samples: int) -> list[Row]:
    """Return all rows."""
    found = [axpy_row(small, samples, n, limit) for n, limit in ((8, 1.5), (60, 1.2), (600, 1.2))]
    return [*found, *compilation_rows(small), *price_rows()]


if __name__ == "__main__":
    raise SystemExit(run("C++ codelets against the same classes in Python", rows))
